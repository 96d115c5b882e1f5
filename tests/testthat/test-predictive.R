predictive_grid <- function() {
  expand.grid(mean = c(-8, -1, 0, 0.3, 3), variance = c(0, 1e-8, 0.01, 1, 20, 400), size = c(1, 7))
}
# E g(eta) over the rows of a grid; g(eta, size)
grid_mean <- function(grid, g) {
  mapply(function(m, v, size) gaussian_expectation(function(x) g(x, size), m, v),
         grid$mean, grid$variance, grid$size)
}
inverse_links <- list(binomial_logit = plogis, binomial_probit = pnorm)

test_that("moments of a binomial response are integrals over eta", {
  grid <- predictive_grid()
  for (type in names(inverse_links)) {
    g <- inverse_links[[type]]
    ours <- function(what) predictive(type, what, grid$mean, grid$variance, grid$size)
    mean <- grid_mean(grid, function(x, size) size * g(x))
    explained <- grid_mean(grid, function(x, size) (size * g(x))^2) - mean^2
    noise <- grid_mean(grid, function(x, size) size * g(x) * g(-x))
    expect_close(ours("mean"), mean, tol$expectation)
    expect_close(ours("mean_variance"), explained, tol$expectation)
    expect_close(ours("variance"), explained + noise, tol$expectation)
  }
})

test_that("densities and distribution functions of counts are integrals over eta", {
  grid <- predictive_grid()
  for (type in names(inverse_links)) {
    g <- inverse_links[[type]]
    for (y in 0:1) {
      density <- grid_mean(grid, function(x, size) dbinom(y, size, g(x)))
      expect_close(predictive(type, "log_density", grid$mean, grid$variance, grid$size, y), log(density),
                   tol$expectation)
      cdf <- grid_mean(grid, function(x, size) pbinom(y, size, g(x)))
      expect_close(predictive(type, "cdf", grid$mean, grid$variance, grid$size, y), cdf, tol$expectation)
    }
  }
  counts <- subset(predictive_grid(), variance <= 1 & mean > -8 & size == 1)
  for (y in c(0, 1, 9)) {
    density <- grid_mean(counts, function(x, size) dpois(y, exp(x)))
    cdf <- grid_mean(counts, function(x, size) ppois(y, exp(x)))
    expect_close(predictive("poisson", "log_density", counts$mean, counts$variance, y = y), log(density),
                 tol$expectation)
    expect_close(predictive("poisson", "cdf", counts$mean, counts$variance, y = y), cdf, tol$expectation)
  }
})

test_that("the probabilities of all counts sum to one, far from the mean and for many trials too", {
  for (type in names(inverse_links)) {
    for (variance in c(0.1, 3, 100)) {
      p <- predictive(type, "log_density", rep(1.5, 301), variance, 300, 0:300)
      expect_close(sum(exp(p)), 1)
      cdf <- predictive(type, "cdf", rep(1.5, 301), variance, 300, 0:300)
      expect_close(cumsum(exp(p)), cdf, tol$expectation)
    }
  }
  p <- predictive("poisson", "log_density", rep(2, 5001), 0.5, y = 0:5000)
  expect_close(sum(exp(p)), 1)
  # log E exp(-eta) = -mean + variance / 2: the mass lies 60 nats out
  expect_close(predictive("binomial_logit", "log_density", 60, 0.8, y = 0), -60 + 0.4)
})

test_that("poisson moments are log-normal ones", {
  expect_close(predictive("poisson", "mean", 0.3, 2), exp(1.3))
  expect_close(predictive("poisson", "mean_variance", 0.3, 2), exp(2.6) * expm1(2))
  expect_close(predictive("poisson", "variance", 0.3, 2), exp(1.3) + exp(2.6) * expm1(2))
  expect_identical(predictive("poisson", "mean_variance", 800, 0), 0)
})

test_that("a gaussian response is gaussian", {
  sd <- sqrt(0.7 + 2)
  expect_close(predictive("gaussian", "mean", 0.3, 2), 0.3)
  expect_close(predictive("gaussian", "mean_variance", 0.3, 2), 2)
  expect_close(predictive("gaussian", "variance", 0.3, 2), 2.7)
  expect_close(predictive("gaussian", "log_density", 0.3, 2, y = 1.4), dnorm(1.4, 0.3, sd, log = TRUE))
  expect_close(predictive("gaussian", "cdf", 0.3, 2, y = 1.4), pnorm(1.4, 0.3, sd))
  p <- c(1e-300, 1e-10, 0.025, 0.5, 0.9, 1 - 1e-10)
  expect_close(predictive("gaussian", "quantile", rep(0.3, 6), 2, probability = p), qnorm(p, 0.3, sd))
  exact <- function(what) predict_response(likelihood_spec("gaussian"), 0, 1, 0.3, 0.3, 0, what, 0.2)
  expect_identical(exact("quantile"), 0.3)
  expect_identical(exact("variance"), 0)
})

test_that("quantiles of counts are the smallest that reach the probability", {
  for (type in c(names(inverse_links), "poisson")) {
    grid <- expand.grid(mean = c(-9, 0, 4), variance = c(0, 0.01, 2), p = c(0.001, 0.3, 0.5, 0.9, 0.999))
    q <- predictive(type, "quantile", grid$mean, grid$variance, 20, probability = grid$p)
    expect_identical(q, floor(q))
    expect_true(all(predictive(type, "cdf", grid$mean, grid$variance, 20, q) >= grid$p))
    expect_true(all(predictive(type, "cdf", grid$mean, grid$variance, 20, q - 1) < grid$p))
  }
  expect_identical(predictive("poisson", "quantile", log(7.5), 0, probability = 0.8), qpois(0.8, 7.5))
  expect_identical(predictive("poisson", "quantile", c(3, 3), 1, probability = 0:1), c(0, Inf))
  expect_identical(predictive("binomial_logit", "quantile", c(3, 3), 1, 12, probability = 0:1), c(0, 12))
})

# E g(eta) for a function that bends where log p(y | eta) does.
response_mean <- function(type, y, mean, variance, g) {
  bend <- switch(type,
                 gamma = , inverse_gaussian = , tweedie = , exponential = , weibull = , loglogistic = ,
                 lognormal = log(y), weibull_ph = -1.6 * log(y / 50), stochastic_volatility = 2 * log(abs(y)),
                 beta = qlogis(y), negbinomial = log(y + 0.5), y)
  mapply(function(m, v) gaussian_expectation(g, m, v, kinks = bend), mean, variance)
}
reference_cdfs <- list(
  gamma = function(y, eta) pgamma(y, 2.3, rate = 2.3 * exp(-eta)),
  inverse_gaussian = function(y, eta) inverse_gaussian_cdf(y, exp(eta), 0.7),
  tweedie = function(y, eta) {
    mapply(function(y, eta) {
      rate <- 2 * exp(eta / 2) / 0.7
      if (rate > 1e4) return(0)  # the mean is 0.7^2 rate^2 / 4
      j <- seq_len(qpois(1e-16, rate, lower.tail = FALSE) + 20)
      exp(-rate) + if (y > 0) sum(dpois(j, rate) * pgamma(y, j, scale = 0.35 * exp(eta / 2))) else 0
    }, y, eta)
  },
  exponential = function(y, eta) pexp(y, exp(-eta)),
  weibull = function(y, eta) pweibull(y, 1.6, exp(eta)),
  weibull_ph = function(y, eta) -expm1(-exp(eta + 1.6 * log(y / 50))),
  loglogistic = function(y, eta) plogis(log(y), eta, 1 / 1.6),
  lognormal = function(y, eta) plnorm(y, eta, 0.7),
  censored_gaussian = function(y, eta) pnorm(y, eta, sqrt(0.7)),
  negbinomial = function(y, eta) pnbinom(y, 1.7, mu = exp(eta)),
  stochastic_volatility = function(y, eta) pnorm(y, 0, exp(eta / 2)),
  laplace = function(y, eta) {
    z <- (y - eta) / 0.7
    ifelse(z < 0, exp(-abs(z)) / 2, 1 - exp(-abs(z)) / 2)
  },
  asymmetric_laplace = function(y, eta) {
    z <- (y - eta) / 0.7
    ifelse(z < 0, 0.3 * exp(-0.7 * abs(z)), 1 - 0.7 * exp(-0.3 * abs(z)))
  },
  student = function(y, eta) pt((y - eta) / 0.7, 3.5),
  beta = function(y, eta) pbeta(y, 3.5 * plogis(eta), 3.5 * plogis(-eta)),
  cumulative_logit = function(y, eta) plogis(c(-1, 0.5, 0.9, Inf)[y + 1] - eta),
  cumulative_probit = function(y, eta) pnorm(c(-1, 0.5, 0.9, Inf)[y + 1] - eta)
)

test_that("densities and distribution functions of every likelihood are integrals over eta", {
  grid <- expand.grid(mean = c(-3, 0, 0.3, 2), variance = c(0, 1e-6, 0.01, 0.06, 0.3, 1, 9))
  for (type in names(reference_cdfs)) {
    example <- likelihood_examples[[type]]
    for (i in seq_along(example$y)) {
      y <- example$y[i]
      if (type == "stochastic_volatility" && y == 0) next  # has a formula, below
      density <- response_mean(type, y, grid$mean, grid$variance, function(x) exp(reference_of(type, i)(x)))
      ours <- predictive(type, "log_density", grid$mean, grid$variance, example$size[i], y)
      known <- density > 1e-20  # less, and what lies 12 sds out may count
      expect_close(ours[known], log(density)[known], tol$expectation)
      cdf <- response_mean(type, y, grid$mean, grid$variance, function(x) reference_cdfs[[type]](y, x))
      expect_close(predictive(type, "cdf", grid$mean, grid$variance, y = y), cdf, tol$expectation)
    }
  }
  # E exp(-eta / 2) = exp(-mean / 2 + variance / 8)
  expect_close(predictive("stochastic_volatility", "log_density", 0.3, 40, y = 0),
               dnorm(0, log = TRUE) - 0.15 + 5)
})

test_that("moments of every likelihood's response are integrals over eta", {
  log_normal <- list(mean = exp(0.3 + 1), mean_variance = exp(2.6) * expm1(2), square = exp(0.6 + 4))
  moments <- function(type, hyper = likelihood_examples[[type]]$hyper) {
    vapply(c("mean", "mean_variance", "variance"), function(what) {
      predictive(type, what, 0.3, 2, hyper = hyper)
    }, 0)
  }
  with_noise <- function(noise) {
    c(log_normal$mean, log_normal$mean_variance, log_normal$mean_variance + noise)
  }
  expect_close(moments("gamma"), with_noise(log_normal$square / 2.3))
  expect_close(moments("inverse_gaussian"), with_noise(0.7 * exp(0.9 + 9)))
  expect_close(moments("tweedie"), with_noise(0.7 * exp(0.45 + 1.5^2)))
  expect_close(moments("exponential"), with_noise(log_normal$square))
  # y = exp(eta) T: mean E exp(eta) E T, noise E exp(2 eta) Var T
  scaled <- function(one, two) {
    c(log_normal$mean * one, log_normal$mean_variance * one^2,
      log_normal$mean_variance * one^2 + log_normal$square * (two - one^2))
  }
  expect_close(moments("weibull"), scaled(gamma(1 + 1 / 1.6), gamma(1 + 2 / 1.6)))
  # exp(-eta / shape) scales times
  expect_close(moments("weibull_ph"), vapply(c("mean", "mean_variance", "variance"), function(what) {
    predictive("weibull", what, log(50) - 0.3 / 1.6, 2 / 1.6^2)
  }, 0))
  expect_close(moments("lognormal"), scaled(exp(0.7^2 / 2), exp(2 * 0.7^2)))
  logistic <- function(p, k) (pi * p / k) / sin(pi * p / k)
  expect_close(moments("loglogistic", 2.6), scaled(logistic(1, 2.6), logistic(2, 2.6)))
  expect_identical(unname(moments("loglogistic", 2)[3]), Inf)
  expect_identical(unname(moments("loglogistic", 1)), c(Inf, Inf, Inf))
  expect_close(moments("censored_gaussian"), c(0.3, 2, 2.7))
  expect_close(moments("negbinomial"), with_noise(log_normal$mean + log_normal$square / 1.7))
  expect_close(moments("stochastic_volatility"), c(0, 0, log_normal$mean))
  expect_close(moments("laplace"), c(0.3, 2, 2 + 2 * 0.7^2))
  shift <- 0.7 * (1 - 2 * 0.3) / 0.21
  noise <- 0.7^2 * (0.3^2 + 0.7^2) / 0.21^2
  expect_close(moments("asymmetric_laplace"), c(0.3 + shift, 2, 2 + noise))
  expect_close(moments("student"), c(0.3, 2, 2 + 0.7^2 * 3.5 / 1.5))
  expect_identical(unname(moments("student", c(2, 0.7))), c(0.3, 2, Inf))
  mean_of <- function(g) gaussian_expectation(g, 0.3, 2)
  p <- mean_of(plogis)
  explained <- mean_of(function(x) (plogis(x) - p)^2)
  noise <- mean_of(function(x) plogis(x) * plogis(-x)) / 4.5
  expect_close(moments("beta"), c(p, explained, explained + noise))
})

test_that("quantiles of continuous responses meet their probability, in both tails", {
  p <- c(1e-10, 0.001, 0.025, 0.5, 0.9, 0.999, 1 - 1e-10)
  for (type in setdiff(names(reference_cdfs), likelihood_facts()$type[likelihood_facts()$discrete])) {
    for (variance in c(0, 0.01, 2, 30)) {
      q <- predictive(type, "quantile", rep(0.3, 7), variance, probability = p)
      expect_false(is.unsorted(q))
      # next to 0 or 1 there are no more numbers; a zero has a probability of its own
      inside <- !(type == "beta" & (q == 0 | q == 1) | type == "tweedie" & q == 0)
      cdf <- predictive(type, "cdf", rep(0.3, 7), variance, y = q)
      expect_true(all((abs(cdf - p) <= 1e-9 * p + 1e-15)[inside]))
      if (type == "tweedie") {
        expect_true(all(cdf[!inside] >= p[!inside]))
      } else if (variance < 0.1) {
        expect_true(all(inside))
      }
      if (variance == 0) expect_close(reference_cdfs[[type]](q, 0.3)[inside], p[inside])
    }
  }
  expect_close(predictive("laplace", "quantile", 0.3, 0, probability = 0.05), 0.3 + 0.7 * log(0.1))
  sharp <- predictive("student", "quantile", 0.3, 0, probability = 1e-10)
  expect_close(sharp, 0.3 + 0.7 * qt(1e-10, 3.5), 1e-9)
  # Cauchy noise of width 0.7 around a latent value that is known to 1e-6
  far <- predictive("student", "quantile", 0.3, 1e-12, probability = 1e-10, hyper = c(1, 0.7))
  expect_close(far, 0.3 + 0.7 * qcauchy(1e-10), 1e-9)
  expect_identical(predictive("gamma", "quantile", c(0, 0), 1, probability = 0:1), c(0, Inf))
  expect_identical(predictive("beta", "quantile", c(0, 0), 1, probability = 0:1), c(0, 1))
})

test_that("narrow noise in a wide latent distribution, and the other way round", {
  # y = eta + noise: whichever is the narrower hardly counts
  for (type in c("laplace", "student")) {
    hyper <- if (type == "laplace") 1e-6 else c(4, 1e-6)
    ours <- function(what, y, p = 0.5) predictive(type, what, 0.3, 9, y = y, probability = p, hyper = hyper)
    expect_close(ours("log_density", 4), dnorm(4, 0.3, 3, log = TRUE), 1e-9)
    expect_close(ours("cdf", -4), pnorm(-4, 0.3, 3), 1e-9)
    expect_close(ours("quantile", 0, 0.01), qnorm(0.01, 0.3, 3), 1e-9)
  }
  expect_close(predictive("student", "log_density", 0.3, 9, y = 50, hyper = c(1e6, 1e-3)),
               dnorm(50, 0.3, sqrt(9 + 1e-6), log = TRUE), 1e-4)  # 16 sds out the last tail of t counts
  expect_close(predictive("beta", "log_density", 0.3, 4, y = 0.2, hyper = 1e8),
               dnorm(qlogis(0.2), 0.3, 2, log = TRUE) - log(0.2 * 0.8), 1e-6)  # of order 1 / precision
  # a response far from where the latent value has it
  for (y in c(1e-4, 0.03)) {
    density <- response_mean("beta", y, 3, 2, function(x) dbeta(y, 30 * plogis(x), 30 * plogis(-x)))
    expect_close(predictive("beta", "log_density", 3, 2, y = y, hyper = 30), log(density), tol$expectation)
  }
})

test_that("missing rows stay missing, and unknown quantities are refused", {
  expect_identical(is.na(predictive("poisson", "mean", c(NA, 0), c(1, 1))), c(TRUE, FALSE))
  expect_identical(predictive("poisson", "mean", numeric(), numeric()), numeric())
  expect_error(predictive("poisson", "median", 0, 1), "median")
  expect_error(predictive("poisson", "quantile", 0, 1, probability = 1.2), "between 0 and 1")
})
