# Custom families of several predictors: sums over products, copies of families of the core, predictions, and what is
# refused.

several_fit <- function(...) galvi(..., verbose = FALSE)

r_gaussian <- function(...) {
  custom_family("r_gaussian", function(y, mu, sigma) dnorm(y, mu, sigma, log = TRUE), dpars = c("mu", "sigma"),
                links = c("identity", "log"), ...)
}
r_negbinomial <- function() {
  custom_family("r_negbinomial", function(y, mu, shape) dnbinom(y, shape, mu = mu, log = TRUE),
                dpars = c("mu", "shape"), links = c("log", "log"), support = "count")
}
r_student <- function(...) {
  custom_family("r_student", function(y, mu, sigma, nu) dt((y - mu) / sigma, nu, log = TRUE) - log(sigma),
                dpars = c("mu", "sigma", "nu"), links = c("identity", "log", "log"), ...)
}
several_data <- function(n = 60) {
  set.seed(2)
  x <- runif(n, -1, 1)
  data.frame(x = x, g = rep(letters[1:6], length.out = n), y = 1 + x + exp(-0.5 + 0.7 * x) * rnorm(n),
             k = rnbinom(n, size = exp(1 + 0.5 * x), mu = exp(1 + 0.4 * x)))
}
several_sweep <- function(family, predicted, y, m, v, order = 2L) {
  registry <- new_registry()
  spec <- family_likelihood(family, list(y = y), registry, predicted = predicted)
  n <- nrow(m)
  probe_expectation(spec, "auto", as.numeric(registry$table()$value), rep_len(y, n), rep(1, n), rep(1, n), m, v, order,
                    1L, 20L)
}
several_points <- function(K) {
  set.seed(4)
  m <- rbind(matrix(rnorm(6 * K), 6), 0)
  v <- rbind(matrix(exp(runif(4 * K, -5, 0)), 4), rep(1e-4, K), rep(1e-8, K), rep(0.2, K))
  list(m = m, v = v)
}

test_that("expectations, slopes and bends of two are those of the closed form", {
  at <- several_points(2)
  for (y in c(0, 0.7, -4)) {
    ours <- several_sweep(r_gaussian(), "sigma", y, at$m, at$v)
    r2 <- (y - at$m[, 1])^2 + at$v[, 1]
    p <- exp(-2 * at$m[, 2] + 2 * at$v[, 2])
    expect_close(ours$value, -0.5 * log(2 * pi) - at$m[, 2] - 0.5 * r2 * p, tol$expectation)
    expect_close(ours$d_m, cbind((y - at$m[, 1]) * p, -1 + r2 * p), tol$expectation)
    # differences of values over a spread that is wide enough to see a change
    expect_close(ours$d_v, cbind(-0.5 * p, -r2 * p), 1e-8)
    expect_close(ours$d_mm, cbind(-p, -2 * (y - at$m[, 1]) * p, -2 * (y - at$m[, 1]) * p, -2 * r2 * p), 1e-7)
  }
})

test_that("expectations are sums over the plane and the space", {
  z <- seq(-9, 9, by = 0.2)
  w <- 0.2 * dnorm(z)
  slopes <- function(f, m, v) {
    nodes <- as.matrix(expand.grid(rep(list(z), length(m))))
    mass <- f(sweep(sweep(nodes, 2, sqrt(v), `*`), 2, m, `+`)) * apply(matrix(w[match(nodes, z)], nrow(nodes)), 1, prod)
    c(sum(mass), colSums(mass * sweep(nodes, 2, sqrt(v), `/`)), colSums(mass * sweep(nodes^2 - 1, 2, 2 * v, `/`)))
  }
  check <- function(family, predicted, f, y, m, v, allowed = tol$expectation) {
    ours <- several_sweep(family, predicted, y, rbind(m), rbind(v), 1L)
    expect_close(c(ours$value, ours$d_m, ours$d_v), slopes(function(e) f(y, e), m, v), allowed)
  }
  counts <- function(y, e) dnbinom(y, exp(e[, 2]), mu = exp(e[, 1]), log = TRUE)
  for (y in c(0, 3, 20)) {
    check(r_negbinomial(), "shape", counts, y, c(0.5, 0.3), c(0.05, 0.1))
    check(r_negbinomial(), "shape", counts, y, c(-1, 1), c(0.8, 0.5))
  }
  student <- function(y, e) dt((y - e[, 1]) * exp(-e[, 2]), exp(e[, 3]), log = TRUE) - e[, 2]
  for (y in c(0.1, 4)) {
    check(r_student(), c("sigma", "nu"), student, y, c(0, 0.2, 1), c(0.02, 0.05, 0.1))
    # 25 nodes on an axis leave this much of three Gaussians that are wide relative to log p's bends
    check(r_student(), c("sigma", "nu"), student, y, c(0.5, 0.2, 0.5), c(0.3, 0.2, 0.4), 1e-7)
  }
})

same_fit <- function(ours, copy, rename = identity, sds = 1e-3) {
  expect_close(copy$elbo, ours$elbo, tol$elbo * 10)
  expect_close(coef(copy), coef(ours), tol$optimum)
  expect_identical(rename(names(coef(copy))), names(coef(ours)))
  expect_close(sqrt(diag(vcov(copy))) / sqrt(diag(vcov(ours))), rep(1, length(coef(ours))), sds)
}

test_that("a copy of gaussian() has its fits with `sigma ~`", {
  skip_on_cran()
  d <- several_data()
  prior <- list(default = normal(0, 3), intercept = normal(0, 5), sigma = list(default = normal(0, 2)))
  ours <- several_fit(list(y ~ x, sigma ~ x), d, gaussian(), prior = prior)
  copy <- several_fit(list(y ~ x, sigma ~ x), d, r_gaussian(), prior = prior)
  same_fit(ours, copy)
  new <- data.frame(x = c(-0.5, 0.8), y = c(0, 2))
  expect_close(predict(copy, new), predict(ours, new), 1e-6)
  # over 150 of the points of the joint posterior, whose means and variances are those of all
  for (type in c("quantile", "density")) {
    expect_close(predict(copy, new, type = type), predict(ours, new, type = type), 0.02)
  }
  expect_close(predict(copy, new, type = "link"), predict(ours, new, type = "link"), tol$optimum)
  expect_close(predict(copy, new, dpar = "sigma", type = "link"), predict(ours, new, dpar = "sigma", type = "link"),
               tol$optimum)
  expect_close(predict(copy, new, dpar = "sigma"), predict(ours, new, dpar = "sigma"), 0.01)
})

test_that("a copy of negbinomial() has its fits with `shape ~`, and with one learned shape", {
  d <- several_data(80)
  prior <- list(default = normal(0, 2), intercept = normal(0, 3), shape = list(default = normal(0, 1)))
  same_fit(several_fit(list(k ~ x, shape ~ x), d, negbinomial(), prior = prior),
           several_fit(list(k ~ x, shape ~ x), d, r_negbinomial(), prior = prior))
  ours <- several_fit(k ~ x, d, negbinomial(), prior = prior[1:2])
  copy <- several_fit(k ~ x, d, r_negbinomial(), prior = prior[1:2])
  expect_close(copy$elbo, ours$elbo, tol$elbo * 10)
  expect_close(coef(copy), coef(ours), 1e-3)  # means over points of the learned shape
  expect_close(copy$hyper$estimate[copy$hyper$parameter == "shape"],
               ours$hyper$estimate[ours$hyper$parameter == "size"], tol$optimum)
})

test_that("a copy of student() has its fits with three predictors", {
  d <- several_data(40)
  prior <- list(default = normal(0, 2), intercept = normal(0, 5), sigma = list(default = normal(0, 1)),
                nu = list(default = normal(0, 1), intercept = normal(2, 0.5)))
  for (formulas in list(list(y ~ x, sigma ~ x, nu ~ 1), list(y ~ x, nu ~ 1, sigma ~ x))) {
    same_fit(several_fit(formulas, d, student(), prior = prior), several_fit(formulas, d, r_student(), prior = prior))
  }
})

test_that("a sinh-arcsinh family of three predictors has the exact posterior", {
  sinh_arcsinh <- function(y, mu, sigma, skew) {
    z <- (y - mu) / sigma
    s <- sinh(asinh(z) - skew)
    -log(sigma) - 0.5 * (log(2 * pi) + log1p(z^2) + s^2) + 0.5 * log1p(s^2)
  }
  family <- custom_family("sinh_arcsinh", sinh_arcsinh, dpars = c("mu", "sigma", "skew"),
                          links = c("identity", "log", "identity"))
  d <- na.omit(airquality[c("Ozone", "Temp")])
  d$t <- (d$Temp - 78) / 9.5
  prior <- list(default = normal(0, 20), intercept = normal(40, 30), sigma = list(default = normal(0, 1),
                intercept = normal(3, 1)), skew = list(default = normal(0, 0.5), intercept = normal(0, 0.5)))
  fit <- several_fit(list(Ozone ~ t, sigma ~ t, skew ~ 1), d, family, prior = prior)
  # importance sampling by a Student distribution of eight degrees of freedom, wider than the fit
  set.seed(1)
  p <- 5L
  draws <- 20000L
  w <- sqrt(8 / rchisq(draws, 8))
  z <- matrix(rnorm(draws * p), p)
  u <- coef(fit) + t(chol(1.2 * vcov(fit))) %*% (z * rep(w, each = p))
  log_target <- vapply(seq_len(draws), function(s) {
    b <- u[, s]
    sum(sinh_arcsinh(d$Ozone, b[1] + b[2] * d$t, exp(b[3] + b[4] * d$t), b[5])) +
      sum(dnorm(b, c(40, 0, 3, 0, 0), c(30, 20, 1, 1, 0.5), log = TRUE))
  }, 0)
  log_weight <- log_target + (8 + p) / 2 * log1p(colSums((z * rep(w, each = p))^2) / 8)
  weight <- exp(log_weight - max(log_weight))
  weight <- weight / sum(weight)
  expect_gt(1 / sum(weight^2), 5000)  # errors of 1.5 % of a sd, and of sds
  mean <- drop(u %*% weight)
  sd <- sqrt(drop((u - mean)^2 %*% weight))
  expect_lt(max(abs(coef(fit) - mean) / sd), 0.08)
  expect_close(sqrt(diag(vcov(fit))) / sd, rep(1, p), 0.06)
})

test_that("parameters start where the responses put them, whatever their units", {
  skip_on_cran()
  d <- several_data(40)
  fit <- function(unit, family) {
    several_fit(list(y ~ x, sigma ~ x, nu ~ 1), transform(d, y = unit * y), family,
                prior = list(nu = list(intercept = normal(2, 0.5))))
  }
  one <- fit(1, r_student())
  for (unit in c(1e-6, 1e6)) {
    moved <- fit(unit, r_student())
    expect_close(moved$elbo, one$elbo - 40 * log(unit), 1e-5)
    # means over other points of the joint posterior, whose sd is 0.2
    expect_close(predict(moved, d, dpar = "sigma", type = "link") - log(unit),
                 predict(one, d, dpar = "sigma", type = "link"), 0.01)
  }
  # without formulas, too
  one <- several_fit(y ~ x, d, r_gaussian())
  moved <- several_fit(y ~ x, transform(d, y = 1e6 * y), r_gaussian())
  expect_close(moved$hyper$estimate[1] / 1e6, one$hyper$estimate[1], tol$optimum)
})

test_that("predictions, residuals, draws and plots", {
  skip_on_cran()
  d <- several_data(40)
  own <- r_gaussian(simulate = function(mu, sigma) mu + 1e6 * sigma)
  fit <- several_fit(list(y ~ x, sigma ~ 1 + iid(g)), d, r_gaussian())
  same <- several_fit(list(y ~ x, sigma ~ 1 + iid(g)), d, gaussian())
  for (type in c("response", "pearson")) {
    expect_close(residuals(fit, type), residuals(same, type), 0.05)  # of fewer points
  }
  quantile <- function(fit) { set.seed(2); residuals(fit, "quantile") }
  expect_close(quantile(fit), quantile(same), 0.1)
  drawn <- function(fit) simulate(fit, 2, seed = 1)
  expect_close(unlist(drawn(fit)), unlist(drawn(same)), 1e-3)
  expect_gt(min(simulate(several_fit(list(y ~ x, sigma ~ x), d, own), 1)[[1]]), 1e4)
  skip_if_not_installed("loo")
  loo <- function(fit) { set.seed(1); suppressWarnings(loo::loo(fit))$estimates[, 1] }
  # fewer points are too few to weigh anew without a row
  known <- function(fit) update(fit, control = galvi_control(uncertainty = "factorised"))
  expect_close(loo(known(fit)), loo(known(same)), 0.02)
  pdf(NULL)
  on.exit(dev.off())
  expect_no_error(plot(fit))
  expect_output(print(fit), "sigma")
})

test_that("parameters without a formula are learned or held, and start where they are told to", {
  d <- several_data(40)
  held <- custom_family("held", function(y, mu, sigma, nu) dt((y - mu) / sigma, nu, log = TRUE) - log(sigma),
                        dpars = c("mu", "sigma"), parameters = list(nu = fixed(4), sigma = 2))
  prior <- list(default = normal(0, 3), intercept = normal(0, 5), sigma = list(default = normal(0, 2)))
  fit <- several_fit(list(y ~ x, sigma ~ x), d, held, prior = prior)
  same <- several_fit(list(y ~ x, sigma ~ x), d, student(df = fixed(4)), prior = prior)
  expect_close(fit$elbo, same$elbo, tol$elbo * 10)
  hyper <- several_fit(y ~ x, d, r_student(parameters = list(nu = fixed(3))))$hyper
  expect_identical(hyper$status[hyper$term == "r_student"], c("learned", "fixed"))
})

test_that("what is wrong with several predictors is said", {
  refused <- function(expr, message, what = "family") {
    expect_error(expr, message, class = paste0("galvi_error_", what))
  }
  normal <- function(y, mu, sigma) dnorm(y, mu, sigma, log = TRUE)
  two <- function(...) custom_family("f", ..., dpars = c("mu", "sigma"))
  refused(custom_family("f", normal, dpars = c("mu", "a", "b", "c")), "`dpars` must be one to three")
  refused(custom_family("f", normal, dpars = c("sigma", "mu")), "first of which is \"mu\"")
  refused(custom_family("f", normal, dpars = 2), "`dpars` must be")
  refused(custom_family("f", normal, dpars = c("mu", "")), "`dpars` must be one to three")
  refused(two(normal, parameters = list(mu = 1)), "`parameters` must not have `mu`")
  refused(two(function(y, m, s) dnorm(y, m, s, log = TRUE)), "no argument `mu`", "callback")
  refused(two(normal, simulate = function(mu) mu), "`simulate` must be a function\\(mu, sigma\\)", "callback")
  refused(two(function(y, mu, sigma) rep("a", length(y))), "must return a number for each y", "callback")
  refused(two(normal, derivatives = function(y, eta) list(y, y)), "`derivatives`")
  refused(two(normal, links = c("identity", "tan")), "links")
  refused(two(normal, links = c("identity", "probit")), "links")
  refused(two(normal, links = c("identity", "log", "log")), "links")
  refused(two(normal, links = c(nu = "log")), "not `nu`")
  refused(two(function(y, mu) dnorm(y, mu, log = TRUE)), "function\\(y, mu, sigma\\)", "callback")
  refused(two(function(y, mu, sigma) 1), "number for each y", "callback")
  refused(two(function(y, mu, sigma) y / 0 * 0), "is NaN at y = .*mu = .*sigma = ", "callback")
  refused(two(function(y, mu, sigma) -(y - mu)^2 / sigma^2 / 2), "does not integrate to one", "callback")
  d <- several_data(20)
  two_normal <- two(normal)
  refused(several_fit(list(y ~ x, nu ~ x), d, two_normal), "no linear predictor of `nu`", "formula")
  wrong <- two(function(y, mu, sigma) if (length(sigma) > 1) 1 else dnorm(y, mu, sigma, log = TRUE))
  refused(several_fit(list(y ~ x, sigma ~ x), d, wrong), "number for each y", "callback")
  broken <- two(function(y, mu, sigma) dnorm(y, mu, sigma, log = TRUE) + ifelse(sigma > 0.2 & sigma < 0.9, NaN, 0))
  refused(several_fit(list(y ~ x, sigma ~ x), d, broken), "is NaN at y = .*sigma = ", "callback")
})
