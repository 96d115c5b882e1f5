# The best joint Gaussian of all coefficients, and linear response at it (src/fit/coupled_response.h).

# Tolerances of this file.
exact_sd <- 0.025      # of linear response, against exact posteriors
exact_mean <- 0.05     # in sds
balanced <- 1e-6       # what steps of 1e-10 sds and other nodes leave
by_difference <- 1e-5  # central differences
three_axes <- 1e-4     # the same with 11 nodes an axis instead of 17, for three latent values

# ---- exact posteriors: importance sampling, 4e5 draws or more ----

exact_models <- list(
  cars = function() {
    W <- list(cbind(1, (cars$speed - 15) / 5))
    list(
      model = column_model("gaussian_log_sd", cars$dist / 10, c(W, W), 5),
      mean = c(4.0803, 1.7670, 0.35755, 0.29404), sd = c(0.22053, 0.19650, 0.10472, 0.11601)
    )
  },
  zip = function() {
    d <- read.csv(test_path("fixtures", "biochemists.csv"))[seq(1, 915, 4), ]
    ment <- (d$ment - 9) / 10
    list(
      model = column_model("zero_inflated_poisson", d$art, list(cbind(1, d$fem == "Women", ment), cbind(1, ment)),
                           c(5, 5, 5, 2, 2)),
      mean = c(0.82886, -0.3602, 0.16799, -2.2359, -2.0672), sd = c(0.076016, 0.11247, 0.048739, 0.51888, 0.75641)
    )
  },
  quine = function() {
    skip_if_not_installed("MASS")
    d <- MASS::quine
    W <- list(unname(stats::model.matrix(~ Eth + Age, d)), unname(stats::model.matrix(~ Eth, d)))
    W <- lapply(W, function(W) matrix(W, nrow(d)))
    list(
      model = column_model("negbinomial_log_size", d$Days, W, 5),
      mean = c(2.9578, -0.5306, -0.27279, 0.32608, 0.27577, 0.43909, -0.49519),
      sd = c(0.20743, 0.16397, 0.23956, 0.24836, 0.24323, 0.18478, 0.26732)
    )
  },
  petrol = function() {
    skip_if_not_installed("MASS")
    d <- MASS::petrol
    ep <- (d$EP - 330) / 70
    list(
      model = column_model("beta_log_precision", d$Y / 100, list(cbind(1, ep, (d$V10 - 240) / 40), cbind(1, ep)), 5),
      mean = c(-1.5383, 0.72255, -0.51983, 5.3333, 0.41725), sd = c(0.039307, 0.04458, 0.04038, 0.27112, 0.34749)
    )
  }
)

test_that("means and standard deviations are those of exact posteriors", {
  for (name in names(exact_models)) {
    case <- exact_models[[name]]()
    found <- coupled_at(case$model)
    expect_identical(found$refused, "", label = name)
    expect_true(found$best)
    expect_close(sqrt(diag(found$covariance)) / case$sd, 1, exact_sd)
    expect_close((found$mean - case$mean) / case$sd, 0, exact_mean)
    # the factorised posterior is too narrow
    expect_lt(min(sqrt(diag(found$factorised)) / case$sd), 0.95)
  }
})

# ---- the definitions ----

response_cases <- function() {
  set.seed(2)
  n <- 40
  x <- rnorm(n)
  zeros <- runif(n) > 0.3
  two <- list(cbind(1, x), cbind(1, x))
  one <- list(cbind(1, x))
  list(
    gaussian_log_sd = list(
      y = x + exp(-0.5 + 0.5 * x) * rnorm(n), W = two,
      f = function(y, eta) dnorm(y, eta[, 1], exp(eta[, 2]), log = TRUE)
    ),
    negbinomial_log_size = list(
      y = rnbinom(n, mu = exp(1 + 0.5 * x), size = 2), W = two,
      f = function(y, eta) dnbinom(y, mu = exp(eta[, 1]), size = exp(eta[, 2]), log = TRUE)
    ),
    zero_inflated_poisson = list(
      y = rpois(n, exp(1 + 0.3 * x)) * zeros, W = list(cbind(1, x), cbind(rep(1, n))),
      f = function(y, eta) log((y == 0) * plogis(eta[, 2]) + plogis(-eta[, 2]) * dpois(y, exp(eta[, 1])))
    ),
    gamma = list(
      y = rgamma(n, 2, exp(x)), W = one, values = list(shape = 2),
      f = function(y, eta) dgamma(y, 2, 2 * exp(-eta[, 1]), log = TRUE)
    ),
    weibull = list(
      y = rweibull(n, 1.5, exp(x)), W = one, values = list(shape = 1.5),
      f = function(y, eta) dweibull(y, 1.5, exp(eta[, 1]), log = TRUE)
    )
  )
}

case_model <- function(type, case, ...) {
  column_model(type, case$y, case$W, 2, values = if (is.null(case$values)) list() else case$values, ...)
}

test_that("prior, expected slopes and expected curvatures balance at the best Gaussian", {
  cases <- response_cases()
  for (type in names(cases)) {
    case <- cases[[type]]
    best <- coupled_exactly(case_model(type, case), responds = FALSE)
    expect_identical(best$refused, "", label = type)
    V <- best$covariance
    nodes <- if (length(case$W) == 1) 41L else 17L
    left <- unbalanced(case$W, case$y, case$f, rep(2, nrow(V)), best$mean, V, nodes)
    expect_close(left$slope * sqrt(diag(V)), 0, balanced)
    expect_close(left$precision * sqrt(outer(diag(V), diag(V))), 0, balanced)
  }
})

test_that("linear response is the change of that balance, solved for the mean", {
  cases <- response_cases()
  for (type in names(cases)) {
    case <- cases[[type]]
    model <- case_model(type, case)
    best <- coupled_exactly(model, responds = FALSE)
    found <- coupled_exactly(model)
    twin <- response_by_differences(case$W, case$y, case$f, rep(2, nrow(best$covariance)), best$mean, best$covariance)
    expect_close(in_sds(found$covariance, twin), in_sds(twin, twin), by_difference)
  }
})

test_that("it is what the mean of the best Gaussian does when prior means move", {
  cases <- response_cases()
  h <- 1e-3
  moved <- function(type, case, j, by) {
    mean <- replace(numeric(sum(vapply(case$W, ncol, 1L))), j, by)
    coupled_exactly(case_model(type, case, mean = mean), responds = FALSE)$mean
  }
  set.seed(3)
  y <- rnbinom(60, mu = 3, size = 2) * (runif(60) > 0.3)
  x <- rnorm(60)
  cases$zero_inflated_negbinomial_log_size <- list(y = y, W = list(cbind(1, x), cbind(rep(1, 60)), cbind(rep(1, 60))))
  for (type in names(cases)) {
    V <- coupled_exactly(case_model(type, cases[[type]]))$covariance
    for (j in seq_len(nrow(V))) {
      slope <- (moved(type, cases[[type]], j, h) - moved(type, cases[[type]], j, -h)) / (2 * h)
      expect_close(4 * slope / sqrt(diag(V) * V[j, j]), in_sds(V, V)[, j],
                   if (length(cases[[type]]$W) == 3) three_axes else by_difference)
    }
  }
})

test_that("linear response is no narrower than the best Gaussian, and no block narrower than the factorised one's", {
  smallest <- function(A, B) min(eigen(in_sds(A - B, B), symmetric = TRUE)$values)
  cases <- response_cases()
  for (type in names(cases)) {
    model <- case_model(type, cases[[type]])
    V <- coupled_exactly(model, responds = FALSE)$covariance
    found <- coupled_exactly(model)
    expect_gt(smallest(found$covariance, V), -1e-8)
    expect_lt(found$radius, 1)
    expect_identical(found$worst, which.max(diag(found$covariance) / diag(V)))
    block <- rep(seq_along(cases[[type]]$W), vapply(cases[[type]]$W, ncol, 1L))
    for (k in unique(block)) {
      at <- block == k
      expect_gt(smallest(found$covariance[at, at, drop = FALSE], found$factorised[at, at, drop = FALSE]), -1e-6)
    }
  }
})

# V_LR^-1 = V^-1 - W' D3 (I - Q o Q D4 / 2)^-1 (Q o Q) D3 W / 2 with Q = W V W', D3 and D4 the third and fourth
# derivatives: of a Poisson log density all are -exp(m + v / 2).
test_that("with one latent value it is a formula in the rows", {
  set.seed(4)
  x <- rnorm(15)
  W <- cbind(1, x)
  model <- column_model("poisson", rpois(15, exp(x)), list(W), 2)
  best <- coupled_exactly(model, responds = FALSE)
  V <- best$covariance
  Q <- W %*% V %*% t(W)
  D <- -exp(drop(W %*% best$mean) + diag(Q) / 2)
  inner <- solve(diag(15) - t(t(Q^2) * D) / 2, Q^2)
  expected <- solve(solve(V) - t(W) %*% (D * t(t(inner) * D)) %*% W / 2)
  expect_close(in_sds(coupled_exactly(model)$covariance, expected), in_sds(expected, expected), 1e-8)
})

# ---- what it is given ----

test_that("the default accuracy is far below what matters", {
  case <- exact_models$cars()
  exact <- coupled_exactly(case$model)$covariance
  expect_close(in_sds(coupled_at(case$model)$covariance, exact), in_sds(exact, exact), 1e-3)
})

test_that("results are in the units of the columns, whatever these are", {
  case <- response_cases()$gaussian_log_sd
  found <- coupled_exactly(case_model("gaussian_log_sd", case))
  unit <- c(1e6, 1, 1e-5, 1e3)
  W <- list(case$W[[1]] * rep(unit[1:2], each = 40), case$W[[2]] * rep(unit[3:4], each = 40))
  moved <- coupled_exactly(column_model("gaussian_log_sd", case$y, W, 2 / unit))
  expect_close(moved$mean * unit, found$mean, 1e-7)
  expect_close(moved$covariance * outer(unit, unit), found$covariance, 1e-7)
})

test_that("rows of weight zero are not there, and a weight is a number of rows", {
  case <- response_cases()$negbinomial_log_size
  of <- function(rows, weights) {
    W <- lapply(case$W, function(W) W[rows, ])
    coupled_exactly(column_model("negbinomial_log_size", case$y[rows], W, 2, weights = weights))
  }
  weighted <- of(1:40, rep(c(0, 1, 2, 1), 10))
  repeated <- of(rep(1:40, rep(c(0, 1, 2, 1), 10)), rep(1, 40))
  expect_close(weighted$covariance, repeated$covariance, 1e-8)
})

test_that("a row may say nothing of a latent value", {
  case <- response_cases()$gaussian_log_sd
  empty <- seq_along(case$y) %% 3 == 0
  case$W <- list(case$W[[1]], case$W[[2]] * !empty)
  small <- case
  small$W[[2]][empty, ] <- c(1e-5, 0)[col(small$W[[2]][empty, ])]
  found <- coupled_exactly(case_model("gaussian_log_sd", case))
  expect_identical(found$refused, "")
  expect_close(found$covariance, coupled_exactly(case_model("gaussian_log_sd", small))$covariance, 1e-4)
})

test_that("the number of threads does not matter", {
  set.seed(5)
  n <- 1500
  W <- list(cbind(1, matrix(rnorm(5 * n), n)), cbind(1, rnorm(n)))
  model <- column_model("gaussian_log_sd", rnorm(n), W, 5)
  one <- coupled_at(model)
  two <- coupled_at(model, control = quiet_control(tol = 1e-12, threads = 2))
  same <- setdiff(names(one), "seconds")
  expect_identical(one[same], two[same])
})

test_that("densities that are functions of R give the same", {
  set.seed(6)
  d <- data.frame(x = rnorm(30))
  d$y <- rpois(30, exp(d$x))
  custom <- custom_family("r_poisson", function(y, eta) dpois(y, exp(eta), log = TRUE), links = "log",
                          support = "count", log_concave = TRUE)
  of <- function(family) coupled_exactly(prepare_model(y ~ x, d, family, prior = normal(0, 2))$model)
  expect_close(of(custom)$covariance, of(poisson())$covariance, 1e-6)
})

# ---- where it is too expensive, or there is none ----

test_that("where rows are many one step takes the place of the best Gaussian, and linear response what is left", {
  set.seed(7)
  n <- 2000
  W <- list(cbind(1, rnorm(n)), cbind(1, rnorm(n)))
  y <- rpois(n, exp(drop(W[[1]] %*% c(1, 0.3)))) * (runif(n) > plogis(drop(W[[2]] %*% c(-1, 0.5))))
  model <- column_model("zero_inflated_poisson", y, W, 5)
  best <- coupled_at(model)
  stepped <- coupled_at(model, evaluations = 1e6)
  expect_identical(c(best$best, stepped$best), c(TRUE, FALSE))
  expect_close(sqrt(diag(stepped$covariance) / diag(best$covariance)), 1, 0.005)
  # nor that
  step <- coupled_at(model, evaluations = 1e5)
  expect_identical(step$radius, NaN)
  expect_identical(step$refused, "")
  expect_close(sqrt(diag(step$covariance) / diag(best$covariance)), 1, 0.02)
})

test_that("there is none where a flat prior leaves separated classes alone", {
  x <- c(-2, -1, -0.5, 0.5, 1, 2)
  flat <- coupled_at(column_model("binomial_logit", as.numeric(x > 0), list(cbind(1, x)), Inf))
  expect_match(flat$refused, "joint Gaussian|positive definite|strict maximum|not finite")
  expect_identical(flat$radius, NaN)
  proper <- coupled_at(column_model("binomial_logit", as.numeric(x > 0), list(cbind(1, x)), 3))
  expect_identical(proper$refused, "")
})
