# Processes that the levels of a factor share, gp(t, by = g, share = R): f_j = sum_r a_jr u_r.

# The same model by states and by the covariance of all rows.
shared_both_ways <- function(formula, data, family, ..., method = "auto", control = galvi_control()) {
  model <- galvi_model(galvi_design(formula, data, family), control = control, ...)
  by_states <- change_terms(model, function(term, t) {
    if (!is_full_term(term)) return(term)
    replace(term, "type", if (is.null(term$loadings)) "chain" else "shared_chain")
  })
  by_states$predictors[[1]]$solver <- "markov"
  lapply(list(chain = by_states, dense = with_full_terms(model)), function(model) {
    suppressMessages(galvi_fit(model, galvi_infer(model, method = method, verbose = FALSE)))
  })
}

outputs <- function(n = 60, seed = 1, noise = 0.2) {
  set.seed(seed)
  t <- sort(runif(n, 0, 10))
  u <- cbind(sin(t), cos(2.3 * t))
  g <- factor(sample(c("a", "b", "c"), n, TRUE))
  A <- rbind(c(1, 0.3), c(-0.8, 0.5), c(0.5, 1))
  f <- rowSums(u * A[g, ])
  data.frame(t = t, g = g, y = f + c(1, 2, 0)[g] + rnorm(n, 0, noise), count = rpois(n, exp(0.8 + f)))
}

known <- rbind(a = c(1, 0.3), b = c(-0.8, 0.5), c = c(0.5, 1))

test_that("with known loadings the posterior is that of the covariance written out", {
  d <- outputs()
  a <- c(1.2, -0.7, 0.4)
  fit <- galvi(y ~ 0 + gp(t, by = g, share = fixed(cbind(a)), kernel = matern32(lengthscale = fixed(1.5))), d,
    galvi_family("gaussian", variance = fixed(0.04)), hyper = "fixed", verbose = FALSE)
  matern <- function(r) (1 + sqrt(3) * abs(r)) * exp(-sqrt(3) * abs(r))
  covariance <- function(t, g, s, h) outer(a[g], a[h]) * matern(outer(t, s, "-") / 1.5)
  C <- covariance(d$t, d$g, d$t, d$g)
  S <- C + diag(0.04, nrow(d))
  expect_close(fit$elbo, -0.5 * (determinant(S)$modulus + sum(d$y * solve(S, d$y)) + nrow(d) * log(2 * pi)), 1e-8)
  new <- data.frame(t = c(-1, 3.3, 12), g = factor(c("a", "b", "c")))
  K <- covariance(new$t, new$g, d$t, d$g)
  got <- predict(fit, new, type = "link", se.fit = TRUE)
  expect_close(got$fit, drop(K %*% solve(S, d$y)), 1e-8)
  expect_close(got$se.fit^2, a[new$g]^2 - rowSums(K * t(solve(S, t(K)))), 1e-8)
})

test_that("states and covariances are the same model", {
  d <- outputs(90)
  new <- data.frame(t = c(-3, 1.234, 5, 5, 30), g = factor(c("a", "b", "c", "a", "b")))
  formulas <- list(
    poisson = list(
      count ~ g + gp(t, by = g, share = known, kernel = matern32(lengthscale = 2)),
      count ~ g + gp(t, by = g, share = 1, kernel = matern12()) + gp(t, by = g, kernel = matern32(), by_hyper = "shared")
    ),
    gaussian = list(
      y ~ g + gp(t, by = g, share = 2, kernel = matern52(), by_hyper = "shared"),
      y ~ g + gp(t, by = g, share = 1, kernel = matern32() + matern12()) + gp(t, kernel = matern12(1, 3))
    )
  )
  for (family in names(formulas)) for (formula in formulas[[family]]) {
    info <- deparse1(formula)
    at_start <- shared_both_ways(formula, d, family, hyper = "fixed")
    expect_identical(vapply(at_start, function(fit) unname(fit$solver), ""),
      c(chain = "markov", dense = "dense_kernel"), info = info)
    expect_close(at_start$chain$elbo, at_start$dense$elbo, 1e-8)
    for (type in c("link", "terms")) {
      own <- lapply(at_start, predict, new, type = type, se.fit = TRUE)
      expect_close(own$chain$fit, own$dense$fit, 1e-6)
      expect_close(own$chain$se.fit, own$dense$se.fit, 1e-6)
    }
    fits <- shared_both_ways(formula, d, family)
    # searches end within their tolerance of one optimum, which may be flat
    expect_close(fits$chain$elbo, fits$dense$elbo, 1e-5)
    predicted <- lapply(fits, predict, new, type = "link", se.fit = TRUE)
    expect_close(predicted$chain$fit, predicted$dense$fit, 1e-2)
  }
})

test_that("the gradient is that of differences, at the optimum of q and away from it, for loadings of any sign", {
  d <- outputs(40)
  formula <- count ~ g + gp(t, by = g, share = known, kernel = matern32(lengthscale = 2)) +
    gp(t, by = g, kernel = matern12(0.3, 1))
  model <- prepare_model(formula, d, poisson())$model
  models <- list(
    chain = with_solver(change_terms(model, function(term, t) {
      if (!is_full_term(term)) return(term)
      replace(term, "type", if (is.null(term$loadings)) "chain" else "shared_chain")
    }), "markov"),
    dense = with_full_terms(model),
    inducing = prepare_model(count ~ g + gp(t, by = g, share = known, kernel = se(), inducing = 6), d, poisson())$model
  )
  set.seed(2)
  away <- list(lambda = matrix(rexp(40)), b = matrix(rnorm(40)))
  for (name in names(models)) for (sites in list(NULL, if (name != "inducing") away)) {
    model <- models[[name]]
    at <- which(model$hyper$learned)
    value <- model$hyper$value
    differences <- vapply(at, function(h) {
      step <- 1e-4 * max(0.1, abs(value[h]))
      moved <- function(k) bound_at(model, replace(value, h, value[h] + k * step), sites)$elbo
      (8 * (moved(1) - moved(-1)) - (moved(2) - moved(-2))) / (12 * step)
    }, 1)
    got <- bound_at(model, value, sites)$gradient[at]
    # the differences' own noise: the bound's 1e-9 over the step
    expect_close(got, differences, 2e-5)
  }
})

test_that("every algorithm finds the same posterior", {
  d <- outputs(40)
  formula <- count ~ g + gp(t, by = g, share = fixed(known), kernel = matern32(lengthscale = 1.5))
  reference <- NULL
  for (method in c("newton", "natural_gradient", "fixed_point", "coordinate_ascent", "dual", "ep")) {
    fits <- shared_both_ways(formula, d, "poisson", hyper = "fixed", method = method)
    expect_close(fits$chain$elbo, fits$dense$elbo, 1e-6)
    expect_close(fits$chain$posterior$mean, fits$dense$posterior$mean, 1e-4)
    expect_close(fits$chain$posterior$variance, fits$dense$posterior$variance, 1e-4)
    if (method == "ep") next
    if (is.null(reference)) reference <- fits$chain$elbo
    expect_close(fits$chain$elbo, reference, 1e-5)
  }
})

# Draws of functions of levels by the kernel of each process.
simulate_outputs <- function(A, lengthscales, t, seed) {
  set.seed(seed)
  u <- vapply(lengthscales, function(l) {
    r <- sqrt(3) * abs(outer(t, t, "-")) / l
    drop(t(chol((1 + r) * exp(-r) + diag(1e-9, length(t)))) %*% rnorm(length(t)))
  }, numeric(length(t)))
  f <- tcrossprod(u, A)
  data.frame(t = rep(t, nrow(A)), g = factor(rep(letters[seq_len(nrow(A))], each = length(t))), f = c(f))
}

test_that("the functions' covariances are learned", {
  A <- rbind(c(1, 0), c(0.8, 0.6), c(-0.5, 1), c(0.2, -0.9))
  d <- simulate_outputs(A, c(1, 1), seq(0, 120, length.out = 240), 1)
  d$y <- d$f + rnorm(nrow(d), 0, 0.3)
  # what 240 places, 120 lengthscales long, determine: of a correlation about 1 / sqrt(120)
  truth <- stats::cov(matrix(d$f, 240))
  for (by_hyper in c("shared", "each")) {
    fit <- eval(substitute(
      galvi(y ~ 0 + g + gp(t, by = g, share = 2, kernel = matern32(), by_hyper = h), d, verbose = FALSE),
      list(h = by_hyper)
    ))
    expect_identical(unname(fit$solver), "markov")
    A_hat <- loadings(fit)
    expect_identical(dim(A_hat), c(4L, 2L))
    expect_lt(max(abs(attr(A_hat, "covariance") - truth)), 0.35)
    expect_lt(max(abs(attr(A_hat, "correlation") - stats::cov2cor(truth))), 0.15)
    expect_close(sigma(fit), 0.3, 0.05)
  }
  counts <- d
  counts$count <- rpois(nrow(d), exp(1 + d$f))
  fit <- galvi(count ~ 0 + g + gp(t, by = g, share = 2, kernel = matern32(), by_hyper = "shared"), counts, poisson(),
    verbose = FALSE)
  expect_lt(max(abs(attr(loadings(fit), "correlation") - stats::cov2cor(truth))), 0.2)
})

test_that("what is missing of one output is filled in by the others", {
  A <- rbind(c(1, 0), c(0.9, 0.3), c(-0.8, 0.5))
  d <- simulate_outputs(A, c(2, 1), seq(0, 60, length.out = 121), 3)
  d$y <- d$f + 2 + rnorm(nrow(d), 0, 0.1)
  missing <- d$g == "b" & d$t > 20 & d$t < 40
  rmse <- function(fit) sqrt(mean((predict(fit, d[missing, ]) - d$f[missing] - 2)^2))
  shared <- galvi(y ~ g + gp(t, by = g, share = 2, kernel = matern32()), d[!missing, ], verbose = FALSE)
  alone <- galvi(y ~ g + gp(t, by = g, kernel = matern32()), d[!missing, ], verbose = FALSE)
  # f has a standard deviation of about one
  expect_lt(rmse(shared), 0.15)
  expect_gt(rmse(alone), 0.5)
  limits <- predict(shared, d[missing, ], interval = "credible", level = 0.95)
  inside <- mean(limits[, "lwr"] < d$f[missing] + 2 & d$f[missing] + 2 < limits[, "upr"])
  expect_gt(inside, 0.8)
  # with something of its own for each output
  both <- galvi(y ~ g + gp(t, by = g, share = 1, kernel = matern32()) + gp(t, by = g, kernel = matern32(),
    by_hyper = "shared"), d[!missing, ], verbose = FALSE)
  expect_lt(rmse(both), rmse(alone))
})

test_that("inducing points give nearly the full processes", {
  d <- outputs(60)
  at <- seq(-0.5, 10.5, length.out = 40)
  full <- galvi(count ~ g + gp(t, by = g, share = fixed(known), kernel = se(lengthscale = fixed(1.5))), d, poisson(),
    hyper = "fixed", verbose = FALSE)
  few <- galvi(count ~ g + gp(t, by = g, share = fixed(known), kernel = se(lengthscale = fixed(1.5)),
    inducing = cbind(at)), d, poisson(), hyper = "fixed", verbose = FALSE)
  expect_identical(unname(few$solver), "projected")
  expect_close(few$elbo, full$elbo, 1e-4)
  new <- data.frame(t = c(2.2, 7), g = c("b", "c"))
  expect_close(predict(few, new, type = "link"), predict(full, new, type = "link"), 1e-3)
  learned <- galvi(count ~ g + gp(t, by = g, share = 2, kernel = se(), inducing = 12), d, poisson(), verbose = FALSE)
  expect_gt(learned$elbo, galvi(count ~ g, d, poisson(), verbose = FALSE)$elbo)
  expect_identical(dim(loadings(learned)), c(3L, 2L))
})

test_that("fits show loadings, covariances and limits", {
  d <- outputs(120)
  fit <- galvi(y ~ g + gp(t, by = g, share = 2, kernel = matern32(), by_hyper = "shared"), d, verbose = FALSE)
  own <- fit$hyper[startsWith(fit$hyper$parameter, "loading["), ]
  expect_identical(own$name[1:2], sprintf("gp(t, by = g, share = 2).loading[%s,1]", c("a", "b")))
  # of all rotations the one with a zero above the diagonal
  expect_identical(own$status, c(rep("learned", 3), "fixed", rep("learned", 2)))
  expect_equal(own$estimate[4], 0)
  expect_true(all(own$lwr < own$estimate & own$estimate < own$upr, na.rm = TRUE))
  expect_true(all(is.finite(own$lwr[own$status == "learned"])))
  A <- loadings(fit)
  expect_identical(rownames(A), c("a", "b", "c"))
  raw <- matrix(own$estimate, 3)
  expect_equal(unname(attr(A, "covariance")), tcrossprod(raw), tolerance = 1e-10)
  expect_equal(crossprod(A)[1, 2], 0, tolerance = 1e-10)
  expect_equal(unname(attr(A, "stddev")), sqrt(rowSums(raw^2)))
  printed <- capture.output(print(summary(fit)))
  expect_true(any(grepl("gp(t, by = g, share = 2): 3 functions of 2 processes", printed, fixed = TRUE)))
  expect_false(any(grepl("loading[", printed, fixed = TRUE)))
  expect_true(any(grepl("correlations of the functions", capture.output(print(A)))))
  expect_equal(attr(logLik(fit), "df"), 7)  # five loadings, a lengthscale, the noise
  expect_length(names(fit$hyper$name[grepl("variance", fit$hyper$name) & fit$hyper$term != "the family"]), 0)
  path <- tempfile(fileext = ".pdf")
  grDevices::pdf(path)
  on.exit({
    grDevices::dev.off()
    unlink(path)
  })
  expect_setequal(as.character(unique(plot(fit, which = "effects")[[1]]$g)), c("a", "b", "c"))
  # axes of processes with kernels of their own stay
  each <- galvi(y ~ g + gp(t, by = g, share = 2, kernel = matern32()), d, verbose = FALSE)
  expect_true(all(sprintf("gp(t, by = g, share = 2)[%d].matern32.lengthscale", 1:2) %in% each$hyper$name |
    sprintf("gp(t, by = g, share = 2)[%d].lengthscale", 1:2) %in% each$hyper$name))
  raw <- matrix(each$hyper$estimate[startsWith(each$hyper$parameter, "loading[")], 3)
  expect_equal(abs(unclass(loadings(each))), abs(raw), ignore_attr = TRUE)
  # a prior of all loadings
  tight <- galvi(y ~ g + gp(t, by = g, share = 2, kernel = matern32()), d,
    prior = list("gp(t, by = g, share = 2)" = list(loading = normal(0, 0.1))), verbose = FALSE)
  expect_lt(max(abs(loadings(tight))), max(abs(loadings(each))))
})

test_that("random models of the fit agree with a refit from its own start", {
  d <- outputs(80)
  fit <- galvi(y ~ g + gp(t, by = g, share = 2, kernel = matern32()), d, verbose = FALSE)
  again <- update(fit, start = fit)
  expect_close(again$elbo, fit$elbo, 1e-4)
})

test_that("wrong input is refused with what is accepted", {
  d <- outputs(30)
  d$z <- rnorm(30)
  fit <- function(...) galvi(..., data = d, verbose = FALSE)
  for (bad in list(0, -1, 1.5, NA_real_, "two", c(1, 2), Inf)) {
    expect_error(eval(substitute(fit(y ~ gp(t, by = g, share = s)), list(s = bad))), "positive whole number",
      class = "galvi_error_argument")
  }
  expect_error(fit(y ~ gp(t, by = g, share = 4)), "has 3 levels", class = "galvi_error_argument")
  expect_error(galvi(y ~ gp(t, by = g, share = 2), d, weights = 1 * (g != "b"), verbose = FALSE), "no rows of \"b\"",
    class = "galvi_error_data")
  expect_error(fit(y ~ gp(t, share = 2)), "needs `by`", class = "galvi_error_argument")
  expect_error(fit(y ~ gp(t, by = z, share = 2)), "by = factor\\(z\\)", class = "galvi_error_argument")
  expect_error(fit(y ~ gp(t, by = g, share = 2, neighbours = 3)), "inducing", class = "galvi_error_argument")
  expect_error(fit(y ~ gp(t, by = g, share = 2, center = TRUE)), "not centred", class = "galvi_error_argument")
  expect_error(fit(y ~ gp(t, by = g, share = 2, kernel = matern32(variance = 2))), "variance 1",
    class = "galvi_error_argument")
  expect_error(fit(y ~ gp(t, by = g, share = 2, kernel = linear())), "columns", class = "galvi_error_argument")
  expect_error(fit(y ~ gp(t, by = g, share = matrix(1, 2, 1))), "3 levels", class = "galvi_error_argument")
  expect_error(fit(y ~ gp(t, by = g, share = 1),
    prior = list("gp(t, by = g, share = 1)" = list(loading = half_normal(1)))), "normal",
    class = "galvi_error_prior")
})
