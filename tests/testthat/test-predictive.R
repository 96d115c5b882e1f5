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

test_that("missing rows stay missing, and unknown quantities are refused", {
  expect_identical(is.na(predictive("poisson", "mean", c(NA, 0), c(1, 1))), c(TRUE, FALSE))
  expect_identical(predictive("poisson", "mean", numeric(), numeric()), numeric())
  expect_error(predictive("poisson", "median", 0, 1), "median")
  expect_error(predictive("poisson", "quantile", 0, 1, probability = 1.2), "between 0 and 1")
})
