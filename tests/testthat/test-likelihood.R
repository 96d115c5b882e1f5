test_that("every registered likelihood has a twin, with a density unless its response is a class of several latents", {
  facts <- likelihood_facts()
  expect_setequal(names(likelihood_twins), facts$type)
  expect_setequal(names(reference_log_density), scalar_types(facts))
  expect_setequal(names(predictor_densities), setdiff(facts$type[facts$latents > 1], c("categorical", "stick_breaking")))
  # an example has as many classes as the registry's, or the response is a number
  expect_identical(facts$classes > 0, vapply(likelihood_twins[facts$type], function(twin) {
    is.factor(twin$response)
  }, NA, USE.NAMES = FALSE))
})

every_response <- function(check) {
  for (type in scalar_types()) {
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
    expect_close(ours[, 1], ours[, 2], 1e-13)
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
  checked <- 0
  every_response(function(type, example, i, reference) {
    if (length(example$hyper) == 0L) return()
    ours <- probe_likelihood(likelihood_spec(type), example$hyper, example$y[i], example$size[i], 0.4)
    expect_close(ours[-(1:6)], numDeriv::grad(function(h) reference(0.4, h), example$hyper), tol$gradient)
    checked <<- checked + 1
  })
  expect_some(checked, "likelihoods with hyperparameters")
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
  of <- function(type, y, eta) {
    probe_likelihood(likelihood_spec(type), likelihood_examples[[type]]$hyper, y, 1, eta)[1, 2:6]
  }
  expect_identical(of("exponential", 2, 1e30), c(-1e30, -1, 0, 0, 0))
  expect_identical(of("stochastic_volatility", 0, -1e30), c(5e29, -0.5, 0, 0, 0))
  expect_identical(of("negbinomial", 0, -1e30), c(0, 0, 0, 0, 0))
  expect_equal(of("negbinomial", 2, 1e30)[1:2], c(-1.7e30, -1.7))
  expect_equal(of("laplace", 2, 1e30)[1:2], c(-1e30, -1) / 0.7)
  expect_equal(of("student", 2, 1e30)[1:2], c(-4.5 * log(1e30), 0), tolerance = 0.02)
  expect_equal(of("beta", 0.4, 1e30), c(-1e30, -1, 0, 0, 0))
  expect_equal(of("beta", 0.4, -1e30), c(-1e30, 1, 0, 0, 0))
  # between thresholds the slope is the distance to the nearer one
  expect_equal(of("cumulative_probit", 1, 1e30)[1:3], c(-5e59, -1e30, -1))
  expect_equal(of("cumulative_probit", 2, -1e30)[1:3], c(-5e59, 1e30, -1))
  expect_equal(of("cumulative_logit", 1, 1e30)[1:3], c(-1e30, -1, 0))
  for (type in scalar_types()) {
    example <- likelihood_examples[[type]]
    for (eta in c(-1e30, 1e30)) {
      n <- length(example$y)
      ours <- probe_likelihood(likelihood_spec(type), example$hyper, example$y, example$size, rep(eta, n))
      expect_false(anyNA(ours))
    }
  }
})

test_that("a linear predictor that is not a number has no density", {
  every_response(function(type, example, i, reference) {
    spec <- likelihood_spec(type)
    alone <- probe_likelihood(spec, example$hyper, example$y[i], example$size[i], NaN)[1, 1]
    swept <- probe_log_densities(spec, example$hyper, example$y[i], example$size[i], 1, NaN)[1, 1]
    expect_identical(is.nan(c(alone, swept)), c(TRUE, TRUE), label = type)
  })
  # nor has it a P(Y <= y), unless that is the same at any
  every_response(function(type, example, i, reference) {
    cdf <- probe_conditional(likelihood_spec(type), example$hyper, rep(example$y[i], 3), rep(example$size[i], 3),
      c(NaN, -1, 1))$cdf
    expect_true(is.nan(cdf[1]) || all(cdf == cdf[1]), label = type)
  })
})

test_that("the distribution function of a precise beta response takes no time", {
  y <- 0.3 + c(-2e-6, -1e-7, 0, 3e-7, 1e-6)
  cdf <- function(precision) {
    probe_conditional(list(type = "beta", hyper = list(precision = 1), constants = list()), precision, y, rep(1, 5),
      rep(qlogis(0.3), 5))$cdf
  }
  # the share of rounding of y is 1e-16 sqrt(precision)
  expect_close(cdf(1e12), pbeta(y, 0.3e12, 0.7e12), 1e-8)
  expect_identical(cdf(1e30)[-3], c(0, 0, 1, 1))
})

test_that("the derivatives of log Phi keep their accuracy far on the left", {
  x <- c(-1e3, -200, -30, -9, -6, -5.9)
  ours <- probe_likelihood(likelihood_spec("binomial_probit"), numeric(), rep(1, 6), rep(1, 6), x)[, 3:6]
  reference <- do.call(cbind, reference_derivatives$binomial_probit(x))
  expect_close(ours, reference, 1e-11)
  # f''' = -2 / x^3 + 24 / x^5 - ..., small beside the f' = -x that it comes from
  expect_close(ours[1, 3] * 1e9, 2 - 24e-6, 1e-9)
})

test_that("derivatives of an interval's probability keep their digits in tails and for narrow intervals", {
  thresholds <- c(-1, -1 + 1e-9, 3)
  at <- function(y, eta) {
    probe_likelihood(likelihood_spec("cumulative_probit"), thresholds, y, 1, eta)[1, 2:6]
  }
  for (eta in c(-300, -40, -7, -1, 0.3, 7, 40, 300)) {
    # an interval of no width: log p = log width + log phi, whose t is uniform over it
    t <- -1 + 5e-10 - eta
    expect_close(at(1, eta)[1:3], c(log(thresholds[2] + 1) + dnorm(t, log = TRUE), t, -1), 1e-9)
    expect_lt(abs(at(1, eta)[4]), 1e-15)
  }
  # far from a wide one the other end does not count
  for (eta in c(60, 200, 1e3)) {
    upper <- c(1, -1, 1, -1, 1) *
      probe_likelihood(likelihood_spec("binomial_probit"), numeric(), 1, 1, 3 - eta)[1, 2:6]
    expect_close(at(2, eta), upper, 1e-11)
    expect_close(at(2, eta)[4:5] * eta^(3:4), upper[4:5] * eta^(3:4), 1e-9)
  }
})

test_that("large counts, shapes and precisions lose no digits", {
  at <- function(type, hyper, y, eta) {
    probe_likelihood(likelihood_spec(type), hyper, y, 1, eta)[, 1]
  }
  # Stirling's and the normal approximations, right to the next order
  shape <- 1e10
  expect_close(at("gamma", shape, 3, log(3)), log(shape / (2 * pi)) / 2 - 1 / (12 * shape) - log(3), 1e-12)
  expect_close(at("beta", shape, 0.3, qlogis(0.3)), log(shape / (2 * pi)) / 2 - 1.5 * log(0.21) + log(0.21),
               1e-6)  # a sum of 1e10 (log y - log mu) whose terms are zero to rounding
  expect_close(at("negbinomial", 1e12, 7, log(5)), dpois(7, 5, log = TRUE), 1e-9)
  expect_close(at("student", c(1e12, 0.7), 0.3, 1), dnorm(0.3, 1, 0.7, log = TRUE), 1e-10)
})

test_that("the density of a sum of more parts than a number can say is zero", {
  expect_equal(probe_likelihood(likelihood_spec("tweedie"), c(1e-200, 1.5), 1e250, 1, 575)[1], -Inf)
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
  mean <- exp(eta)
  for (y in c(0.01, 1, 6)) {
    expect_close(conditional("gamma", y, 1)$cdf, pgamma(y, 2.3, rate = 2.3 / mean))
    expect_close(conditional("inverse_gaussian", y, 1)$cdf, inverse_gaussian_cdf(y, mean, 0.7))
    expect_close(conditional("exponential", y, 1)$cdf, pexp(y, 1 / mean))
    expect_close(conditional("stochastic_volatility", y, 1)$cdf, pnorm(y, 0, sqrt(mean)))
    expect_close(conditional("student", y, 1)$cdf, pt((y - eta) / 0.7, 3.5))
    expect_close(conditional("asymmetric_laplace", y, 1)$cdf, ifelse(
      y < eta, 0.3 * exp(0.7 * (y - eta) / 0.7), 1 - 0.7 * exp(0.3 * (eta - y) / 0.7)
    ))
    expect_close(conditional("laplace", y, 1)$cdf,
                 ifelse(y < eta, exp((y - eta) / 0.7) / 2, 1 - exp((eta - y) / 0.7) / 2))
    p <- y / 7
    expect_close(conditional("beta", p, 1)$cdf, pbeta(p, 3.5 * plogis(eta), 3.5 * plogis(-eta)))
  }
  for (y in c(0, 3, 20)) expect_close(conditional("negbinomial", y, 1)$cdf, pnbinom(y, 1.7, mu = mean))
  expect_close(conditional("gamma", 1, 1)$variance, mean^2 / 2.3)
  expect_close(conditional("inverse_gaussian", 1, 1)$variance, 0.7 * mean^3)
  expect_close(conditional("exponential", 1, 1)$mean, mean)
  expect_close(conditional("negbinomial", 1, 1)$variance, mean + mean^2 / 1.7)
  expect_identical(conditional("stochastic_volatility", 1, 1)$mean, numeric(4))
  expect_close(conditional("stochastic_volatility", 1, 1)$variance, mean)
  expect_close(conditional("laplace", 1, 1)$variance, 2 * 0.7^2)
  expect_close(conditional("student", 1, 1)$variance, 0.7^2 * 3.5 / 1.5)
  expect_close(conditional("beta", 0.5, 1)$mean, plogis(eta))
  expect_close(conditional("beta", 0.5, 1)$variance, plogis(eta) * plogis(-eta) / 4.5)
  # without a variance, and without a mean: eta as location
  heavy <- probe_conditional(likelihood_spec("student"), c(1, 0.7), 1, 1, 0.4)
  expect_identical(heavy$variance, Inf)
  expect_identical(heavy$mean, 0.4)
  # classes as scores 0, 1, ..
  for (type in c("cumulative_logit", "cumulative_probit")) {
    cdf <- if (type == "cumulative_logit") plogis else pnorm
    below <- rbind(cdf(-1 - eta), cdf(0.5 - eta), cdf(0.9 - eta), 1)
    p <- rbind(below[1, ], diff(below))
    ours <- lapply(0:3, function(y) conditional(type, y, 1))
    for (y in 0:3) expect_close(ours[[y + 1]]$cdf, below[y + 1, ])
    expect_close(ours[[1]]$mean, colSums(0:3 * p))
    expect_close(ours[[1]]$variance, colSums((0:3)^2 * p) - colSums(0:3 * p)^2)
    expect_identical(conditional(type, -1, 1)$cdf, numeric(4))
  }
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
  start <- function(type, y) {
    probe_conditional(likelihood_spec(type), likelihood_examples[[type]]$hyper, y, rep(1, length(y)),
                      numeric(length(y)))$start
  }
  extreme <- list(gamma = c(1e-300, 1e300), stochastic_volatility = c(0, 1e-200, 1e200),
                  beta = c(1e-300, 1e-12, 0.5, 1 - 1e-15))
  for (type in names(extreme)) expect_true(all(is.finite(start(type, extreme[[type]]))))
  # the mode of a beta response's mean
  eta <- start("beta", 0.2)
  expect_close(digamma(3.5 * plogis(eta)) - digamma(3.5 * plogis(-eta)), qlogis(0.2), 1e-9)
})

test_that("wrong specifications are refused", {
  expect_error(probe_likelihood(list(type = "gausian"), numeric(), 1, 1, 0), "known are gaussian")
  expect_error(probe_likelihood(list(type = "gaussian", hyper = list()), 1, 1, 1, 0), "variance")
  expect_error(probe_likelihood(likelihood_spec("gaussian"), -1, 1, 1, 0), ">= 0")
  expect_error(probe_likelihood(likelihood_spec("gaussian"), numeric(), 1, 1, 0), "outside the table")
  for (type in c("gamma", "inverse_gaussian", "negbinomial", "laplace", "asymmetric_laplace", "student", "beta")) {
    spec <- likelihood_spec(type)
    hyper <- likelihood_examples[[type]]$hyper
    for (name in names(spec$hyper)) {
      without <- replace(spec, "hyper", list(spec$hyper[names(spec$hyper) != name]))
      expect_error(probe_likelihood(without, hyper, 1, 1, 0), name)
      for (bad in c(0, -1, NaN, Inf)) {
        expect_error(probe_likelihood(spec, replace(hyper, spec$hyper[[name]], bad), 1, 1, 0), "must be > 0")
      }
    }
    expect_error(probe_likelihood(spec, numeric(), 1, 1, 0), "outside the table")
  }
  spec <- likelihood_spec("asymmetric_laplace")
  for (bad in list(list(), list(quantile = 0), list(quantile = 1), list(quantile = NaN))) {
    expect_error(probe_likelihood(replace(spec, "constants", list(bad)), 1, 1, 1, 0), "`quantile`")
  }
  for (type in c("cumulative_logit", "cumulative_probit")) {
    spec <- likelihood_spec(type)
    expect_error(probe_likelihood(list(type = type, hyper = list()), numeric(), 1, 1, 0), "thresholds")
    for (bad in list(c(0, 0, 1), c(1, 0, 2), c(0, NaN, 1), c(0, 1, Inf))) {
      expect_error(probe_likelihood(spec, bad, 1, 1, 0), "increasing order")
    }
    expect_error(probe_likelihood(spec, c(0, 1), 1, 1, 0), "outside the table")
  }
})
