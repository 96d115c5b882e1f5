test_that("newton leaves a start at which probit derivatives underflow in a few factorisations", {
  # without a prior's pull the start is far in the tails, where dE/dm of the rows that fit is exactly zero
  set.seed(12)
  n <- 120
  X <- matrix(rnorm(3 * n), n)
  data <- data.frame(y = rbinom(n, 1, pnorm(2 * sin(2 * X[, 1]) + X[, 2])), X)
  fit <- galvi(y ~ 0 + gp(., kernel = se(variance = 1e4, lengthscale = 2)), data = data,
    family = binomial("probit"), method = "newton", hyper = "fixed")
  expect_true(fit$convergence$converged)
  expect_lte(fit$cost$factorisations, 12)
})
