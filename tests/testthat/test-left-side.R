# y | trials(n) + weights(w) ~ x: each word gives the fit of what it stands for.

left_data <- function() {
  set.seed(8)
  d <- data.frame(x = rnorm(60), n = rep(c(3, 5, 8), 20), t = runif(60, 0.5, 2), w = rep(1:3, 20), s = runif(60, 0.2, 1))
  d$successes <- rbinom(60, d$n, plogis(d$x))
  d$count <- rpois(60, d$t * exp(0.3 + 0.5 * d$x))
  d$y <- rnorm(60, d$x, d$s)
  d$time <- exp(d$x / 2 + log(rexp(60)))
  d$state <- rep(c("none", "right", "none", "left", "interval"), 12)
  d$upper <- d$time + 1
  d
}

expect_fit_of <- function(fit, reference) {
  expect_identical(fit$elbo, reference$elbo)
  expect_identical(coef(fit), coef(reference))
  expect_identical(fitted(fit), fitted(reference))
}

test_that("trials, rates and weights are those of other formulas", {
  d <- left_data()
  fit <- galvi(successes | trials(n) ~ x, d, binomial())
  reference <- galvi(cbind(successes, n - successes) ~ x, d, binomial())
  expect_fit_of(fit, reference)
  new <- d[1:4, ]
  expect_identical(predict(fit, new, type = "density"), predict(reference, new, type = "density"))
  expect_identical(predict(fit, data.frame(x = 1), interval = "credible"),
    predict(reference, data.frame(x = 1), interval = "credible"))
  expect_fit_of(galvi(successes | trials(8) ~ x, d, beta_binomial()),
    galvi(cbind(successes, 8 - successes) ~ x, d, beta_binomial()))
  expect_fit_of(galvi(I(count > 1) | trials(1) ~ x, d, binomial()), galvi(I(count > 1) ~ x, d, binomial()))
  fit <- galvi(count | rate(t) + weights(w) ~ x, d, poisson())
  reference <- galvi(count ~ x + offset(log(t)), d, poisson(), weights = frequency(w))
  expect_fit_of(fit, reference)
  expect_identical(predict(fit, new), predict(reference, new))
  expect_fit_of(update(fit, . ~ . + n), update(reference, . ~ . + n))
  expect_fit_of(galvi(list(count | rate(t) ~ x, shape ~ 1), d, negbinomial()),
    galvi(list(count ~ x + offset(log(t)), shape ~ 1), d, negbinomial()))
})

test_that("known standard errors are variances: the meta-analysis of 13 trials of the BCG vaccine", {
  # Colditz et al. (1994): log relative risks and their variances; REML: Viechtbauer (2010), table 1
  bcg <- data.frame(trial = 1:13,
    y = c(-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459,
      -0.0173),
    v = c(0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714))
  fit <- galvi(y | se(sqrt(v)) ~ 1 + (1 | trial), bcg, prior = list(intercept = normal(0, Inf)),
    control = galvi_control(uncertainty = "factorised", hyper_tol = 1e-9))
  expect_equal(coef(fit)[[1L]], -0.7145, tolerance = 1e-3)
  expect_equal(sqrt(vcov(fit)[[1L]]), 0.1798, tolerance = 1e-3)
  expect_equal(fit$hyper$estimate[fit$hyper$name == "iid(trial).variance"], 0.3132, tolerance = 1e-3)

  d <- left_data()
  fit <- galvi(y | se(s) ~ x, d)
  weighted <- stats::lm(y ~ x, d, weights = 1 / s^2)
  V <- solve(crossprod(cbind(1, d$x) / d$s))
  expect_equal(unname(coef(fit)), unname(coef(weighted)), tolerance = 1e-3) # the default prior is weak
  expect_equal(unname(sqrt(diag(vcov(fit)))), sqrt(diag(V)), tolerance = 1e-3)
  new <- data.frame(x = 0, s = c(0.1, 2))
  wide <- predict(fit, new, interval = "prediction")
  expect_equal(unname(wide[, "upr"] - wide[, "fit"]), qnorm(0.975) * sqrt(V[1L, 1L] + new$s^2), tolerance = 1e-3)
})

test_that("sigma beside known standard errors is the variance between studies: REML's", {
  d <- left_data()
  flat <- list(intercept = normal(0, Inf), x = normal(0, Inf))
  control <- galvi_control(uncertainty = "factorised", hyper_tol = 1e-9)
  minus_reml <- function(log_variance, y = d$y, X = cbind(1, d$x), known = d$s^2, w = 1) {
    v <- known + exp(log_variance) / w
    root <- X / sqrt(v)
    beta <- solve(crossprod(root), crossprod(X / v, y))
    0.5 * (sum(log(2 * pi * v) + (y - X %*% beta)^2 / v) + determinant(crossprod(root))$modulus - ncol(X) * log(2 * pi))
  }
  d$y <- d$y + rnorm(60, 0, 0.4)
  for (w in list(rep(1, 60), d$w)) {
    d$weight <- w
    fit <- galvi(y | se(s, sigma = TRUE) ~ x, d, weights = weight, prior = flat, control = control)
    best <- optimize(minus_reml, c(-8, 3), w = w, tol = 1e-10)
    expect_equal(sigma(fit)^2, exp(best$minimum), tolerance = 1e-5)
    expect_equal(fit$elbo, -c(best$objective), tolerance = tol$elbo) # the value is flat at the optimum
    V <- solve(crossprod(cbind(1, d$x) / sqrt(d$s^2 + sigma(fit)^2 / w)))
    expect_equal(unname(sqrt(diag(vcov(fit)))), sqrt(diag(V)), tolerance = 1e-8)
  }
  # new responses have the s of their rows, and weights of one
  new <- data.frame(x = 0, s = c(0, 2))
  wide <- predict(fit, new, interval = "prediction")
  half <- qnorm(0.975) * sqrt(V[1L, 1L] + new$s^2 + sigma(fit)^2)
  expect_equal(unname(wide[, "upr"] - wide[, "fit"]), half, tolerance = 1e-6)
  expect_equal(unname(predict(fit, data.frame(x = 0))), unname(coef(fit)[1L]))
  expect_error(predict(fit, data.frame(x = 0), interval = "prediction"), "needs? `?s", class = "galvi_error_newdata")
  m <- predict(fit, new[2, ], type = "link", se.fit = TRUE)
  sd <- sqrt(m$se.fit^2 + 4 + sigma(fit)^2)
  expect_equal(predict(fit, cbind(new[2, ], y = 1), type = "density")[[1L]], dnorm(1, m$fit, sd, TRUE)[[1L]],
    tolerance = 1e-8)
  expect_equal(unname(residuals(fit, type = "quantile")), unname((d$y - fitted(fit)) / sqrt(
    predict(fit, type = "link", se.fit = TRUE)$se.fit^2 + d$s^2 + sigma(fit)^2 / d$w)), tolerance = 1e-6)

  # metafor 3.8.1, rma(y, v, method = "REML") of these numbers: tau^2, mean and its standard error
  reml <- c(0.3132527787, -0.7145342670, 0.1797828430)
  bcg <- data.frame(trial = 1:13,
    y = c(-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459,
      -0.0173),
    v = c(0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714))
  fit <- galvi(y | se(sqrt(v), sigma = TRUE) ~ 1, bcg, prior = list(intercept = normal(0, Inf)), control = control)
  effects <- galvi(y | se(sqrt(v)) ~ 1 + (1 | trial), bcg, prior = list(intercept = normal(0, Inf)), control = control)
  expect_equal(sigma(fit)^2, effects$hyper$estimate[effects$hyper$name == "iid(trial).variance"], tolerance = 1e-4)
  expect_equal(fit$elbo, effects$elbo, tolerance = 1e-6)
  expect_equal(c(sigma(fit)^2, coef(fit), sqrt(vcov(fit))), reml, tolerance = 1e-5, ignore_attr = TRUE)
})

test_that("known variances go with a predicted sigma, and are the scale of student()", {
  skip_if_not_installed("statmod")
  rule <- statmod::gauss.quad.prob(60, "normal")
  spec <- list(type = "gaussian_log_sd", hyper = list(), constants = list(noisy = 1))
  for (noise in c(0, 0.3, 4)) for (size in c(1, 3)) {
    at <- function(m, v) {
      probe_expectation(spec, "auto", numeric(), 1.2, size, 1, m, v, 2L, 1L, known = cbind(noise, -Inf, Inf))
    }
    m <- c(0.4, -0.3)
    v <- c(0.2, 0.5)
    s2 <- exp(2 * (m[2] + sqrt(v[2]) * rule$nodes)) / size + noise
    expected <- sum(rule$weights * (dnorm(1.2, m[1], sqrt(s2), TRUE) - v[1] / s2 / 2))
    ours <- at(m, v)
    expect_equal(ours$value, expected, tolerance = tol$expectation)
    expect_close(ours$d_m, numDeriv::grad(function(m) at(m, v)$value, m), tol$gradient)
    expect_close(ours$d_v, numDeriv::grad(function(v) at(m, v)$value, v), tol$gradient)
  }
  d <- left_data()
  fit <- galvi(list(y | se(s, sigma = TRUE) ~ x, sigma ~ x), d)
  expect_true(fit$convergence$converged)
  wide <- predict(fit, data.frame(x = 0, s = c(0, 3)), interval = "prediction")
  expect_gt(diff(wide[, "upr"]), 3)
  # with sigma nearly constant it is the model with one sigma
  tight <- galvi(list(y | se(s, sigma = TRUE) ~ x, sigma ~ 1), d, control = galvi_control(uncertainty = "factorised"))
  one <- galvi(y | se(s, sigma = TRUE) ~ x, d, control = galvi_control(uncertainty = "factorised"))
  expect_equal(unname(coef(tight)[1:2]), unname(coef(one)), tolerance = 0.02)

  fit <- galvi(y | se(s) ~ x, d, student(), control = galvi_control(uncertainty = "factorised"))
  minus <- function(b) -sum(dt((d$y - b[1] - b[2] * d$x) / d$s, 4, log = TRUE) - log(d$s))
  best <- optim(c(0, 1), minus, method = "BFGS", hessian = TRUE)
  expect_lt(max(abs(coef(fit) - best$par) / sqrt(diag(solve(best$hessian)))), 0.1)
  p <- predict(fit, data.frame(x = 0, s = c(0.1, 5)), type = "quantile", probs = 0.975)
  expect_gt(p[2], qt(0.975, 4) * 5 - 0.3)
})

test_that("censored responses are survival objects", {
  skip_if_not_installed("survival")
  d <- left_data()
  status <- c(none = 1, right = 0, left = 2, interval = 3)[d$state]
  reference <- galvi(survival::Surv(time, upper, status, type = "interval") ~ x, transform(d, status = status), weibull())
  expect_fit_of(galvi(time | cens(state, upper) ~ x, d, weibull()), reference)
  d$code <- c(none = 0, right = 1, left = -1, interval = 2)[d$state]
  fit <- galvi(time | cens(code, y2 = upper) ~ x, d, weibull())
  expect_fit_of(fit, reference)
  # new rows need not have all of the words
  expect_length(predict(fit, d[d$code == 0, ], type = "density"), 24L)
  right <- d[d$code %in% 0:1, ]
  expect_equal(galvi(time | cens(code == 1) ~ x, right, weibull())$elbo,
    galvi(survival::Surv(time, code == 0) ~ x, right, weibull())$elbo, tolerance = tol$identity)
})

test_that("errors name the word, the argument and the row", {
  d <- left_data()
  fails <- function(formula, class, pattern, family = gaussian(), data = d, ...) {
    expect_error(galvi(formula, data, family, ...), pattern, class = paste0("galvi_error_", class))
  }
  for (bad in list(0, -1, NA, Inf)) {
    wrong <- replace(d$s, 3L, bad)
    fails(y | se(s) ~ x, "argument", "`se\\(s\\)` must be positive.*row 3", data = transform(d, s = wrong))
  }
  fails(y | se("s") ~ x, "formula", "not `se\\(\"s\"\\)`")
  for (bad in list(-1, NA, Inf)) {
    fails(y | se(s, sigma = TRUE) ~ x, "argument", "`se\\(s, sigma = TRUE\\)` must be.*not negative; row 3",
      data = transform(d, s = replace(s, 3L, bad)))
  }
  fails(y | se(s) ~ x, "argument", "positive and finite; row 3", student(), data = transform(d, s = replace(s, 3L, 0)))
  fails(y | se(s) ~ x, "family", "student\\(\\) one", laplace())
  fails(y | se(s, sigma = TRUE) ~ x, "family", "sigma\\^2", student())
  fails(y | se(s, sigma = 2) ~ x, "formula", "TRUE or FALSE")
  fails(y | se(s) ~ x, "family", "without a parameter", galvi_family("gaussian", variance = fixed(2)))
  fails(y | se(s) + weights(w) ~ x, "argument", "both weights")
  fails(y | weights(w) ~ x, "argument", "both weights", weights = w)
  fails(y | se() ~ x, "formula", "se\\(s, sigma\\)")
  fails(y | se(s) + se(s) ~ x, "formula", "twice")
  fails(y | mi() ~ x, "formula", "left out")
  fails(y | dec(choice) ~ x, "formula", "may be trials\\(n\\), weights\\(w\\)")
  fails(y | s ~ x, "formula", "may be trials")
  fails(successes | trials(n) ~ x, "response", "family = binomial\\(\\)")
  fails(y | rate(t) ~ x, "formula", "log link")
  skip_if_not_installed("survival")
  fails(time | cens("up") ~ x, "response", "\"none\", \"left\"", weibull())
  fails(time | cens(state) ~ x, "response", "upper end", weibull())
  fails(successes | cens("right") ~ x, "response", "survival object", binomial())
})
