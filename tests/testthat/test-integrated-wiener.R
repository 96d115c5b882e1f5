# integrated_wiener(): cubic smoothing splines as a process from an origin.

test_that("the optimum beside level and slope is the reference value's", {
  d <- gold_data("markov_poisson_wiener2")
  d$u <- d$t - min(d$t)
  formula <- y ~ 0 + gp(u, kernel = constant(9) + linear(9)) + gp(t, kernel = integrated_wiener(0.4))
  fit <- galvi(formula, d, poisson(), hyper = "fixed", verbose = FALSE, control = galvi_control(tol = 1e-11))
  expect_identical(fit$solver, "markov")
  # the dense computation of the reference loses digits: 7e-9
  expect_close(fit$elbo, -116.867780353522, 1e-8)
  expect_close(fit$posterior$mean[, 1], d$mean, 1e-6)
  expect_close(fit$posterior$variance[, 1], d$var, 1e-6)
})

test_that("models are those of the dense kernel, before the origin, beyond the end and between", {
  d <- series(50)
  new <- data.frame(t = c(-3, -3, -1, min(d$t), 1.234, 2, 30), z = 0, g = factor("a", levels = levels(d$g)))
  for (case in list(
    list(y ~ t + gp(t, kernel = integrated_wiener()), "gaussian"),
    list(count ~ t + gp(t, kernel = integrated_wiener()), "poisson"),
    list(count ~ t + z + gp(t, kernel = integrated_wiener(), center = FALSE), "poisson"),
    list(y ~ g * t + gp(t, by = g, kernel = integrated_wiener()), "gaussian"),
    list(y ~ t + gp(t, kernel = integrated_wiener() + matern12()), "gaussian"),
    list(y ~ t + gp(t, kernel = integrated_wiener()) + (1 | g), "gaussian")
  )) {
    fits <- both_ways(case[[1]], d, case[[2]])
    expect_identical(vapply(fits, solver_name, ""), c(chain = "markov", dense = "dense_kernel"))
    expect_close(fits$chain$elbo, fits$dense$elbo, 1e-7)
    expect_close(log(fits$chain$posterior$hyper), log(fits$dense$posterior$hyper), 1e-4)
    at <- lapply(fits, predict, new, type = "link", se.fit = TRUE, covariance = TRUE)
    expect_close(at$chain$fit, at$dense$fit, 1e-5)
    # as far as the hyperparameters agree
    expect_close(at$chain$covariance, at$dense$covariance, 1e-4)
  }
})

test_that("it is a smoothing spline: lines at the ends, with variances that grow as a cube", {
  set.seed(1)
  d <- data.frame(t = seq(0, 1, length.out = 80))
  d$y <- sin(6 * d$t) + rnorm(80, 0, 0.2)
  fit <- galvi(y ~ t + gp(t, kernel = integrated_wiener()), d, verbose = FALSE)
  spline <- stats::smooth.spline(d$t, d$y, all.knots = TRUE)
  # two ways to choose the smoothness, so near and not equal
  expect_lt(max(abs(predict(fit, d) - spline$y)), 0.1)
  for (at in list(c(1, 2, 3), c(-2, -1, 0))) {
    ends <- predict(fit, data.frame(t = at))
    expect_close(ends[2], mean(ends[c(1, 3)]), 1e-6)
  }
  variance <- predict(fit, data.frame(t = c(101, 201)), type = "link", se.fit = TRUE)$se.fit^2
  expect_close(variance[2] / variance[1], 8, 0.2)
})

test_that("units and origin of the input do not matter, nor where rows are sorted", {
  set.seed(2)
  d <- data.frame(t = runif(60, 0, 10))
  d$y <- sin(d$t) + rnorm(60, 0, 0.2)
  d$ms <- 1e6 * d$t + 1e9
  fits <- list(
    galvi(y ~ t + gp(t, kernel = integrated_wiener()), d, verbose = FALSE),
    galvi(y ~ ms + gp(ms, kernel = integrated_wiener()), d, verbose = FALSE)
  )
  expect_close(fits[[1]]$elbo, fits[[2]]$elbo, 1e-5)
  variance <- vapply(fits, function(fit) fit$hyper$estimate[grepl("gp.*variance", fit$hyper$name)], 1)
  expect_close(variance[2] * 1e18 / variance[1], 1, 1e-3)
})

# From the stiff start a search would end at a straight line with much noise.
test_that("functions of many bends are found", {
  d <- data.frame(t = seq(0, 20, length.out = 600))
  set.seed(3)
  d$y <- sin(2 * pi * d$t) + rnorm(600, 0, 0.2)
  fit <- galvi(y ~ t + gp(t, kernel = integrated_wiener()), d, verbose = FALSE)
  expect_gt(stats::cor(predict(fit, d), sin(2 * pi * d$t)), 0.98)
})

test_that("a slope that is left out is said", {
  d <- series(30)
  expect_message(galvi(y ~ gp(t, kernel = integrated_wiener()), d, hyper = "fixed", verbose = FALSE),
    "write t \\+ gp", class = "galvi_message_slope")
  expect_message(galvi(y ~ g + t + gp(t, by = g, kernel = integrated_wiener()), d, hyper = "fixed", verbose = FALSE),
    "write g \\* t", class = "galvi_message_slope")
  for (formula in list(y ~ t + gp(t, kernel = integrated_wiener()), y ~ 0 + gp(t, kernel = integrated_wiener()),
    y ~ gp(t, kernel = integrated_wiener() + linear()), y ~ g * t + gp(t, by = g, kernel = integrated_wiener()))) {
    expect_no_message(galvi(formula, d, hyper = "fixed", verbose = FALSE), class = "galvi_message_slope")
  }
})

test_that("it has one input and no neighbours", {
  d <- series(30)
  expect_error(galvi(y ~ gp(t, z, kernel = integrated_wiener()), d), "one numeric input", class = "galvi_error_kernel")
  expect_error(galvi(y ~ gp(t, kernel = integrated_wiener(), neighbours = 3), d), "needs none",
    class = "galvi_error_argument")
  fit <- galvi(y ~ t + gp(t, kernel = integrated_wiener(), inducing = 10), d, hyper = "fixed", verbose = FALSE)
  expect_true(is.finite(fit$elbo))
})

test_that("text that looks like numbers or dates is told", {
  d <- series(30)
  d$text <- as.character(round(d$t, 2))
  d$day <- as.character(as.Date("2024-01-01") + 1:30)
  d$code <- sample(c("u", "v", "w1"), 30, TRUE)
  fit <- function(formula) galvi(formula, d, hyper = "fixed", verbose = FALSE)
  expect_message(fit(y ~ gp(text, kernel = matern32())), "as.numeric\\(text\\)", class = "galvi_message_text")
  expect_message(fit(y ~ gp(day, kernel = matern32())), "as.Date\\(day\\)", class = "galvi_message_text")
  for (formula in list(y ~ gp(code), y ~ gp(factor(text)), y ~ gp(t, code))) {
    expect_no_message(fit(formula), class = "galvi_message_text")
  }
})
