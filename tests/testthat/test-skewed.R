# Skewed responses: exgaussian() and skew_normal().

skip_on_cran()

log_density_at <- function(type, h, y, eta) {
  predict_response(likelihood_spec(type), h, 1, y, eta, 0, "log_density", 0.5)
}

test_that("log densities are those of brms", {
  skip_if_not_installed("brms")
  y <- c(-3, 0.2, 1, 7, 60)
  for (x in list(c(0.5, 0.7, 1.3), c(2, 3, 0.2), c(-1, 0.05, 4))) {
    ours <- vapply(y, function(y) log_density_at("exgaussian", x[2:3], y, x[1]), 0)
    theirs <- brms::dexgaussian(y, x[1], x[2], x[3], log = TRUE)
    # theirs has no digits where it is the logarithm of a tiny difference
    fine <- is.finite(theirs) & abs(theirs) < 200
    expect_close(ours[fine], theirs[fine], tol$identity)
  }
  for (x in list(c(0.5, 0.7, 3), c(2, 3, -0.2), c(-1, 0.5, 0))) {
    ours <- vapply(y, function(y) log_density_at("skew_normal", x[2:3], y, x[1]), 0)
    expect_close(ours, brms::dskew_normal(y, x[1], x[2], x[3], log = TRUE), tol$identity)
  }
})

at_each <- function(case, y, eta, what) {
  predict_response(likelihood_spec(case[[1]]), case[[2]], 1, rep(y, length(eta)), eta, 0 * eta, what, 0.5)
}

test_that("both have the mean eta, and distribution functions that are integrals of the density", {
  cases <- list(
    list("exgaussian", c(0.7, 1.3), 2.18), list("exgaussian", c(2, 0.3), 4.09), list("exgaussian", c(0.1, 3), 9.01),
    list("skew_normal", c(0.7, 3), 0.49), list("skew_normal", c(2, -0.6), 4), list("skew_normal", c(1, 30), 1)
  )
  for (case in cases) {
    density <- reference_log_density[[case[[1]]]]
    of <- function(y) vapply(y, function(y) exp(do.call(density, c(list(y, 0.4, 1), as.list(case[[2]])))), 0)
    at <- function(what, y, v = 0, p = 0.5) {
      predict_response(likelihood_spec(case[[1]]), case[[2]], 1, y, rep(0.4, length(y)), v, what, p)
    }
    ends <- 0.4 + c(-1, 0, 1) * sqrt(case[[3]])
    over <- function(f) {
      pieces <- c(-Inf, ends, Inf)
      sum(vapply(1:4, function(i) integrate(f, pieces[i], pieces[i + 1], rel.tol = 1e-10, abs.tol = 1e-14)$value, 0))
    }
    expect_close(over(function(y) y * of(y)), 0.4, 1e-8)
    expect_close(over(function(y) (y - 0.4)^2 * of(y)), case[[3]], 1e-7)
    for (y in 0.4 + c(-2.5, -0.5, 0, 1, 4) * sqrt(case[[3]])) {
      upper <- integrate(of, y, Inf, rel.tol = 1e-11, abs.tol = 0)$value
      expect_lt(abs(at("upper", y) / upper - 1), 1e-7)
      expect_close(at("cdf", y) + at("upper", y), 1, tol$identity)
    }
    expect_close(at("cdf", at("quantile", 0, p = 0.2)), 0.2, 1e-9)
    # with an uncertain eta; the density given eta may be steep at its start
    kink <- function(y) y + if (case[[1]] == "exgaussian") case[[2]][2] else case[[2]][1] * sign(case[[2]][2])
    for (y in c(-3, 0, 9)) {
      mixed <- gaussian_expectation(function(eta) at_each(case, y, eta, "cdf"), 0.4, 0.3, kink(y))
      expect_lt(abs(at("cdf", y, 0.3) / mixed - 1), 1e-6)
      mixed <- gaussian_expectation(function(eta) at_each(case, y, eta, "upper"), 0.4, 0.3, kink(y))
      expect_lt(abs(at("upper", y, 0.3) / mixed - 1), 1e-6)
      mixed <- gaussian_expectation(function(eta) exp(at_each(case, y, eta, "log_density")), 0.4, 0.3, kink(y))
      expect_lt(abs(at("log_density", y, 0.3) - log(mixed)), 1e-6)
    }
  }
})
test_that("sigma, beta and alpha have formulas of their own", {
  set.seed(4)
  n <- 60
  d <- data.frame(x = rnorm(n), w = rnorm(n))
  d$y <- 1 + d$x + rnorm(n, 0, exp(-0.5 + 0.4 * d$w)) + exp(0.2 + 0.3 * d$w) * (rexp(n) - 1)
  fit <- galvi(list(y ~ x, sigma ~ w, beta ~ w), d, exgaussian())
  names <- c("(Intercept)", "x", "sigma_(Intercept)", "sigma_w", "beta_(Intercept)", "beta_w")
  expect_named(coef(fit), names)
  expect_lt(max(abs(coef(fit) - c(1, 1, -0.5, 0.4, 0.2, 0.3)) / sqrt(diag(vcov(fit)))), 3)
  # beta alone: sigma has an intercept; sigma alone: beta is a number
  one <- galvi(list(y ~ x, beta ~ w), d, exgaussian())
  expect_named(coef(one), names[-4])
  other <- galvi(list(y ~ x, sigma ~ w), d, exgaussian())
  expect_identical(other$hyper$name, "exgaussian.beta")
  expect_true(all(predict(other, d[1:3, ], interval = "prediction", level = 0.8)[, 2] < d$y[1:3] + 10))
  d$s <- 1 + d$x + exp(-0.3 + 0.3 * d$w) * draw_skew_normal(numeric(n), 1, 1.5 + d$w)
  fit <- galvi(list(s ~ x, sigma ~ w, alpha ~ w), d, skew_normal())
  expect_named(coef(fit), sub("beta", "alpha", names))
  expect_lt(max(abs(coef(fit) - c(1, 1, -0.3, 0.3, 1.5, 1)) / sqrt(diag(vcov(fit)))), 3.5)
})

test_that("alpha takes any sign, a number, fixed() and a normal prior", {
  set.seed(2)
  d <- data.frame(x = rnorm(300))
  d$y <- d$x + draw_skew_normal(numeric(300), 1, -4)
  fit <- galvi(y ~ x, d, skew_normal())
  expect_lt(family_parameter(fit, "alpha"), -1)
  # from the wrong side, past 0, where the likelihood is flat in alpha
  expect_close(galvi(y ~ x, d, skew_normal(alpha = 3))$elbo, fit$elbo, 1e-4)
  held <- galvi(y ~ x, d, skew_normal(alpha = fixed(0)))
  expect_close(coef(held), coef(galvi(y ~ x, d)), 1e-3)
  strong <- galvi(y ~ x, d, skew_normal(), prior = list(alpha = normal(-2, 0.01)))
  expect_close(family_parameter(strong, "alpha"), -2, 0.05)
  expect_error(skew_normal(alpha = "a"), "alpha", class = "galvi_error_family")
  expect_error(skew_normal(alpha = half_normal(1)), "normal()", fixed = TRUE, class = "galvi_error_family")
  expect_output(print(skew_normal(alpha = normal(0, 2))), "alpha: normal(0, 2)", fixed = TRUE)
})

test_that("points that settle slowly are waited for", {
  for (seed in c(15, 24, 28)) {
    set.seed(seed)
    d <- data.frame(x = rnorm(10))
    d$y <- 1 + d$x + rnorm(10) * exp(0.3 * d$x)
    fit <- suppressMessages(galvi(list(y ~ x, sigma ~ x), d))
    expect_identical(fit$convergence$uncertainty$method, "points")
    expect_gt(fit$convergence$uncertainty$rounds, 4L)
  }
})
