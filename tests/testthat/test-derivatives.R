# derivatives() and difference_smooths(): against differences of joint predictions.

# Central differences of the term's joint posterior.
by_differences <- function(fit, d, order, h) {
  input <- names(d)[ncol(d)]
  by <- d$.by[1L]
  steps <- -2:2
  w <- if (order == 1) c(1, -8, 0, 8, -1) / (12 * h) else c(-1, 16, -30, 16, -1) / (12 * h^2)
  new <- data.frame(as.vector(t(outer(d[[input]], steps * h, "+"))))
  names(new) <- input
  if (!is.na(by)) new[[by]] <- rep(d[[by]], each = 5L)
  p <- predict(fit, new, type = "link", covariance = TRUE, terms = d$.smooth[1L])
  L <- kronecker(diag(nrow(d)), t(w))
  list(mean = drop(L %*% p$fit), se = sqrt(diag(L %*% p$covariance %*% t(L))))
}

expect_derivative <- function(fit, order = 1, h = 0.2, tolerance = 2e-5, tolerance_se = tolerance, ...) {
  d <- derivatives(fit, order = order, n = 6, ...)
  known <- by_differences(fit, d, order, h)
  expect_equal(d$.derivative, known$mean, tolerance = tolerance)
  expect_equal(d$.se, known$se, tolerance = tolerance_se)
  invisible(d)
}

wave <- function() {
  set.seed(1)
  data.frame(x = seq(0, 60, length.out = 50), y = sin(seq(0, 12, length.out = 50)) + rnorm(50, 0, 0.3))
}

test_that("derivatives are limits of differences, for every kernel that has them", {
  d <- wave()
  kernels <- list(
    se(lengthscale = 8), rational_quadratic(lengthscale = 8), periodic(30) + se(lengthscale = 20),
    cosine(20) * se(lengthscale = 15)
  )
  for (kernel in kernels) {
    fit <- galvi(y ~ gp(x, kernel = kernel), d, hyper = "fixed")
    expect_derivative(fit)
    expect_derivative(fit, 2, tolerance = 1e-4)
  }
  # rougher kernels: the prior of a difference is off by a multiple of the step
  fit <- galvi(y ~ gp(x, kernel = matern32(lengthscale = 8)), d, hyper = "fixed")
  expect_derivative(fit, h = 1e-3, tolerance_se = 1e-3)
  fit <- galvi(y ~ gp(x, kernel = matern52(lengthscale = 8) + se(lengthscale = 15) * matern52(lengthscale = 30)), d,
    hyper = "fixed")
  expect_derivative(fit, h = 0.05)
  expect_derivative(fit, 2, h = 0.05, tolerance = 1e-3, tolerance_se = 0.01)
})

test_that("levels of `by`, other terms, scaled inputs and counts", {
  fit <- galvi(uptake ~ Type + gp(conc, by = Type) + (1 | Plant), CO2)
  d <- expect_derivative(fit, h = 5, tolerance = 1e-4)
  expect_named(d, c(".smooth", ".by", ".fs", ".derivative", ".se", ".crit", ".lower_ci", ".upper_ci", "Type", "conc"))
  expect_identical(as.character(d$Type), rep(c("Quebec", "Mississippi"), each = 6L))
  expect_identical(unique(d$.by), "Type")
  set.seed(1)
  counts <- data.frame(n = rpois(40, exp(sin(1:40 / 6))), x = 1:40, z = rnorm(40))
  fit <- galvi(n ~ gp(x, scale = TRUE) + z, counts, family = poisson(), hyper = "fixed")
  expect_derivative(fit)
  multiplied <- galvi(n ~ gp(x, by = z), counts, family = poisson(), hyper = "fixed")
  one <- derivatives(multiplied, data = data.frame(x = c(5, 20)))
  new <- data.frame(x = c(5, 20) + rep(c(-1, 1) * 1e-3, each = 2L), z = 1)
  p <- matrix(predict(multiplied, new, type = "link", terms = "gp(x, by = z)"), 2L)
  expect_equal(one$.derivative, (p[, 2L] - p[, 1L]) / 2e-3, tolerance = 1e-5)
  # a mixture over hyperparameters
  fit <- galvi(dist ~ gp(speed), cars, hyper = "integrate")
  expect_derivative(fit, h = 0.1)
})

test_that("simultaneous bands contain the whole derivative", {
  d <- wave()
  fit <- galvi(y ~ gp(x), d, hyper = "fixed")
  point <- derivatives(fit, n = 40)
  band <- derivatives(fit, n = 40, interval = "simultaneous", level = 0.9)
  expect_equal(point$.upper_ci, point$.derivative + qnorm(0.975) * point$.se)
  expect_identical(derivatives(fit, n = 40, interval = "simultaneous", level = 0.9), band)
  expect_gt(band$.crit[1], qnorm(0.95))
  # draws of differences of the function lie in it as often as they should
  x <- point$x
  p <- predict(fit, data.frame(x = c(x - 0.05, x + 0.05)), type = "link", covariance = TRUE)
  L <- cbind(diag(-10, 40), diag(10, 40))
  V <- L %*% p$covariance %*% t(L)
  set.seed(2)
  e <- eigen(V, symmetric = TRUE)
  draws <- e$vectors %*% (sqrt(pmax(e$values, 0)) * matrix(rnorm(40 * 4000), 40))
  inside <- mean(colSums(abs(draws) > band$.crit * band$.se) == 0)
  # two samples of thousands
  expect_lt(abs(inside - 0.9), 0.025)
})

test_that("functions without a derivative are refused by the name of the kernel", {
  refused <- function(fit, message, ...) expect_error(derivatives(fit, ...), message, class = "galvi_error_argument")
  fit <- galvi(dist ~ gp(speed, kernel = matern12()), cars, hyper = "fixed")
  refused(fit, "matern12\\(\\).*no derivative")
  refused(galvi(dist ~ gp(speed, kernel = se() + white()), cars, hyper = "fixed"), "white\\(\\).*noise")
  refused(galvi(dist ~ gp(speed, kernel = matern32()), cars, hyper = "fixed"), "matern32\\(\\).*order 2", order = 2)
  refused(galvi(dist ~ gp(speed, kernel = polynomial() * se()), cars, hyper = "fixed"), "polynomial\\(\\).*not known")
  refused(galvi(dist ~ gp(speed, inducing = 5), cars, hyper = "fixed"), "inducing points")
  refused(galvi(dist ~ gp(speed, kernel = linear()), cars, hyper = "fixed"), "linear in its input")
  refused(galvi(mpg ~ gp(wt, hp), mtcars, hyper = "fixed"), "gp\\(\\) or smooth of one input")
  refused(galvi(dist ~ speed, cars), "no term")
  fit <- galvi(dist ~ gp(speed), cars, hyper = "fixed")
  refused(fit, "\"gp\\(speed\\)\"", select = "gp(sped)")
  refused(fit, "order", order = 3)
  refused(fit, "speed", data = data.frame(x = 1))
  refused(fit, "numbers", data = data.frame(speed = "a"))
  refused(fit, "eps", eps = 1e-4)
  expect_error(derivatives(1), class = "galvi_error_argument")
})

test_that("differences of levels are contrasts of joint predictions", {
  fit <- galvi(uptake ~ Type + gp(conc, by = Type) + (1 | Plant), CO2)
  d <- difference_smooths(fit, n = 5)
  expect_named(d, c(".smooth", ".by", ".level_1", ".level_2", ".diff", ".se", ".lower_ci", ".upper_ci", "conc"))
  new <- expand.grid(conc = d$conc, Type = levels(CO2$Type))
  L <- cbind(diag(5), -diag(5))
  p <- predict(fit, new, type = "link", covariance = TRUE, terms = "gp(conc, by = Type)")
  expect_equal(d$.diff, drop(L %*% p$fit), tolerance = 1e-8)
  expect_equal(d$.se, sqrt(diag(L %*% p$covariance %*% t(L))), tolerance = 1e-8)
  whole <- difference_smooths(fit, n = 5, group_means = TRUE, ci_level = 0.9)
  p <- predict(fit, new, type = "link", covariance = TRUE, re_formula = NA)
  expect_equal(whole$.diff, drop(L %*% p$fit), tolerance = 1e-8)
  expect_equal(whole$.se, sqrt(diag(L %*% p$covariance %*% t(L))), tolerance = 1e-8)
  expect_equal(whole$.upper_ci, whole$.diff + qnorm(0.95) * whole$.se)
  expect_identical(difference_smooths(fit, "gp(conc)", n = 5), d)
  expect_error(difference_smooths(fit, "gp(Plant)"), "by = Type", class = "galvi_error_argument")
  expect_error(difference_smooths(fit, unconditional = TRUE), class = "galvi_error_argument")
  expect_error(difference_smooths(galvi(dist ~ gp(speed), cars, hyper = "fixed")), "factor", class = "galvi_error_argument")
  # three levels, inducing points
  set.seed(1)
  data <- data.frame(x = runif(90), f = factor(rep(c("a", "b", "c"), 30)))
  data$y <- sin(6 * data$x) * as.integer(data$f) + rnorm(90, 0, 0.2)
  three <- difference_smooths(galvi(y ~ f + gp(x, by = f, inducing = 8), data), n = 3)
  expect_identical(paste(three$.level_1, three$.level_2)[c(1, 4, 7)], c("a b", "a c", "b c"))
})
