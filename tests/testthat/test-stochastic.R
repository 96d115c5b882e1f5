skip_on_cran()

surface_rows <- function(n) {
  i <- seq_len(n)
  x1 <- -3 + 6 * ((0.6180339887498949 * i) %% 1)
  x2 <- -3 + 6 * ((0.41421356237309515 * i) %% 1)
  eta <- 3 * sin(1.5 * x1) * cos(x2)
  data.frame(x1, x2, y = as.numeric((0.7320508075688772 * i) %% 1 < plogis(eta)))
}

test_that("minibatches learn most of what full passes learn", {
  data <- surface_rows(4000)
  learn <- function(...) galvi(y ~ gp(x1, x2, inducing = 20), data, binomial(), ...)
  full <- learn()$elbo
  gain <- full - learn(hyper = "fixed")$elbo
  set.seed(1)
  fit <- learn(method = "stochastic")
  expect_true(fit$convergence$converged)
  expect_gt(fit$elbo, full - 0.1 * gain)
  # the posterior is the best one at what was learned; the mean of gp() is that of 2000 of the rows, not of all, which
  # moves the wide prior of the intercept alone
  mean_of_some <- 1e-6
  expect_close(update(fit, method = "fixed_point", hyper = "fixed", start = fit)$elbo, fit$elbo, mean_of_some)
})

test_that("points that stood in each other's way are used once they are apart", {
  data <- surface_rows(3000)
  centre <- data.frame(x1 = c(-2, 0, 2, 2), x2 = c(0, 0, 0, 0))  # the last two are one
  set.seed(2)
  fit <- galvi(y ~ gp(x1, x2, inducing = centre), data, binomial(), method = "stochastic")
  expect_true(is.finite(fit$elbo))
  expect_true(fit$convergence$converged)
})

test_that("many coordinates are learned from many rows by minibatches", {
  set.seed(3)
  x <- matrix(rnorm(6000 * 180), 6000)
  data <- data.frame(y = rbinom(6000, 1, plogis(2 * x[, 1])), x = I(x))
  learn <- function(points) {
    control <- galvi_control(passes = 0.5, hyper_iterations = 1)
    galvi(y ~ gp(x, inducing = points, kernel = se(1, 10)), data, binomial(), control = control)$method
  }
  expect_identical(learn(100), "stochastic")
})

test_that("what part of the rows says of an input is not the last word", {
  set.seed(1)
  n <- 12000
  x <- matrix(rnorm(n * 16), n, dimnames = list(NULL, paste0("x", 1:16)))
  data <- data.frame(x, y = rbinom(n, 1, plogis(2 * sin(1.5 * x[, 1]) + x[, 2] * x[, 4] + cos(2 * x[, 3]))))
  fit <- galvi(y ~ gp(., kernel = se(ard = TRUE), inducing = 20), data, binomial())
  lengthscales <- fit$hyper$estimate[grep("lengthscale", fit$hyper$name)]
  expect_true(all(lengthscales[1:4] < 20))
})

test_that("a minibatch has no more rows than there are", {
  control <- galvi_control(batch_rows = 301)
  expect_error(
    galvi(y ~ x1, surface_rows(300), binomial(), method = "stochastic", control = control),
    "`batch_rows` is 301, and there are 300 rows", class = "galvi_error_argument"
  )
})
