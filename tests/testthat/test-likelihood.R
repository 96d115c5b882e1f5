test_that("every registered likelihood has a reference and an example", {
  types <- likelihood_facts()$type
  expect_setequal(names(reference_log_density), types)
  expect_setequal(names(likelihood_examples), types)
})

every_response <- function(check) {
  for (type in likelihood_facts()$type) {
    example <- likelihood_examples[[type]]
    for (i in seq_along(example$y)) check(type, example, i, reference_of(type, i))
  }
}

test_that("log densities equal R's, with their constants", {
  eta <- c(-40, -8, -1.3, 0, 0.4, 3, 25)
  every_response(function(type, example, i, reference) {
    ours <- probe_likelihood(likelihood_spec(type), example$hyper, rep(example$y[i], 7),
                             rep(example$size[i], 7), eta)
    expect_close(ours[, 1], reference(eta))
    expect_identical(ours[, 1], ours[, 2])
  })
  binary <- function(type, y, size, eta) probe_likelihood(likelihood_spec(type), numeric(), y, size, eta)[, 1]
  expect_close(binary("binomial_logit", 3, 8, 0.4), dbinom(3, 8, plogis(0.4), log = TRUE))
  expect_close(binary("binomial_probit", 3, 8, 0.4), dbinom(3, 8, pnorm(0.4), log = TRUE))
  expect_close(binary("binomial_logit", 4e5, 1e6, 0.4), dbinom(4e5, 1e6, plogis(0.4), log = TRUE),
               1e-9)  # lgamma(1e6) itself is good to 1e-9
  expect_close(binary("poisson", 7, 1, 0.4), dpois(7, exp(0.4), log = TRUE))
})

test_that("derivatives in eta follow from one another", {
  skip_if_not_installed("numDeriv")
  every_response(function(type, example, i, reference) {
    derivatives <- function(eta) {
      probe_likelihood(likelihood_spec(type), example$hyper, example$y[i], example$size[i], eta)[1, 2:6]
    }
    for (eta in c(-14, -6.01, -5.99, -1.3, 0, 0.4, 3)) {
      for (k in 1:4) {
        slope <- numDeriv::grad(function(x) derivatives(x)[k], eta)
        expect_close(derivatives(eta)[k + 1], slope, tol$gradient)
      }
    }
  })
})

test_that("the gradient in hyperparameters is the density's", {
  skip_if_not_installed("numDeriv")
  every_response(function(type, example, i, reference) {
    if (length(example$hyper) == 0L) return()
    ours <- probe_likelihood(likelihood_spec(type), example$hyper, example$y[i], example$size[i], 0.4)
    expect_close(ours[-(1:6)], numDeriv::grad(function(h) reference(0.4, h), example$hyper), tol$gradient)
  })
})

test_that("extreme linear predictors give the finite answer wherever there is one", {
  at <- function(type, y, size, eta) probe_likelihood(likelihood_spec(type), numeric(), y, size, eta)[1, -1]
  expect_identical(at("binomial_logit", 1, 1, 1e30), c(0, 0, 0, 0, 0))
  expect_identical(at("binomial_logit", 0, 1, 1e30), c(-1e30, -1, 0, 0, 0))
  expect_identical(at("binomial_logit", 1, 1, -1e30), c(-1e30, 1, 0, 0, 0))
  expect_identical(at("binomial_probit", 1, 1, 1e30), c(0, 0, 0, 0, 0))
  expect_equal(at("binomial_probit", 1, 1, -1e30)[1:3], c(-5e59, 1e30, -1))
  expect_equal(at("binomial_probit", 0, 3, 1e30)[1:3], c(-15e59, -3e30, -3))
  expect_identical(at("poisson", 0, 1, -1e30), c(0, 0, 0, 0, 0))
  expect_identical(at("poisson", 2, 1, -1e30)[2], 2)
  expect_identical(at("poisson", 2, 1, 1e30)[1], -Inf)
  expect_identical(at("binomial_logit", 0, 1, -800)[1], 0)
  expect_close(at("binomial_probit", 1, 1, -38)[1], pnorm(-38, log.p = TRUE))
  for (type in likelihood_facts()$type) {
    example <- likelihood_examples[[type]]
    for (eta in c(-1e30, 1e30)) {
      n <- length(example$y)
      ours <- probe_likelihood(likelihood_spec(type), example$hyper, example$y, example$size, rep(eta, n))
      expect_false(anyNA(ours))
    }
  }
})

test_that("the derivatives of log Phi keep their accuracy far on the left", {
  x <- c(-1e3, -200, -30, -9, -6, -5.9)
  ours <- probe_likelihood(likelihood_spec("binomial_probit"), numeric(), rep(1, 6), rep(1, 6), x)[, 3:6]
  reference <- do.call(cbind, reference_derivatives$binomial_probit(x))
  expect_close(ours, reference, 1e-11)  # 44 terms of the continued fraction at -6
  # f''' = -2 / x^3 + 24 / x^5 - ..., small beside the f' = -x that it comes from
  expect_close(ours[1, 3] * 1e9, 2 - 24e-6, 1e-9)
})

test_that("conditional moments and distribution functions are R's", {
  eta <- c(-3, -0.2, 0.5, 2)
  conditional <- function(type, y, size) {
    probe_conditional(likelihood_spec(type), likelihood_examples[[type]]$hyper, rep(y, 4), rep(size, 4), eta)
  }
  for (type in c("binomial_logit", "binomial_probit")) {
    p <- if (type == "binomial_logit") plogis(eta) else pnorm(eta)
    for (y in c(0, 3, 20)) {
      ours <- conditional(type, y, 20)
      expect_close(ours$mean, 20 * p)
      expect_close(ours$variance, 20 * p * (1 - p))
      expect_close(ours$cdf, pbinom(y, 20, p))
    }
    expect_identical(conditional(type, -1, 20)$cdf, numeric(4))
    expect_close(conditional(type, 1, 1)$cdf, 1)
    expect_close(conditional(type, 430, 1000)$cdf, pbinom(430, 1000, p))
  }
  for (y in c(0, 3, 20)) expect_close(conditional("poisson", y, 1)$cdf, ppois(y, exp(eta)))
  expect_close(conditional("poisson", 3, 1)$variance, exp(eta))
  expect_close(conditional("gaussian", 0.3, 1)$cdf, pnorm(0.3, eta, sqrt(0.7)))
  large <- function(y, rate) {
    probe_conditional(likelihood_spec("poisson"), numeric(), y, rep(1, length(y)), log(rate))$cdf
  }
  expect_close(large(c(9990, 10001, 10300, 1e8 + 5e3), c(1e4, 1e4, 1e4, 1e8)),
               ppois(c(9990, 10001, 10300, 1e8 + 5e3), exp(log(c(1e4, 1e4, 1e4, 1e8)))))
})

test_that("inference starts at a finite eta that leans to the response", {
  every_response(function(type, example, i, reference) {
    start <- probe_conditional(likelihood_spec(type), example$hyper, example$y[i], example$size[i], 0)$start
    expect_true(is.finite(start))
    expect_gte(reference(start), reference(0) - 0.1)  # a count of 1 starts at log 1.5
  })
})

test_that("wrong specifications are refused", {
  expect_error(probe_likelihood(list(type = "gausian"), numeric(), 1, 1, 0), "known are gaussian")
  expect_error(probe_likelihood(list(type = "gaussian", hyper = list()), 1, 1, 1, 0), "variance")
  expect_error(probe_likelihood(likelihood_spec("gaussian"), -1, 1, 1, 0), ">= 0")
  expect_error(probe_likelihood(likelihood_spec("gaussian"), numeric(), 1, 1, 0), "outside the table")
})
