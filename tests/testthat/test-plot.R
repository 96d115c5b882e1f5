test_that("every plot of every kind of fit draws and returns finite data", {
  for (name in c("gaussian", "binary", "trials", "counts", "flat")) {
    for (which in c("effects", "trace", "relevance", "calibration")) {
      data <- plot_away(small_fit(name), which)
      frames <- if (is.data.frame(data)) list(data) else data
      expect_true(length(frames) > 0L && all(vapply(frames, is.data.frame, NA)), label = paste(name, which))
    }
  }
})

test_that("the effect of one input is the prediction along it", {
  fit <- small_fit("gaussian")
  data <- plot_away(fit, n = 21)[["gp(speed)"]]
  expect_named(data, c("speed", "fit", "lwr", "upr"))
  expect_identical(range(data$speed), range(cars$speed) + 0)
  expected <- predict(fit, data["speed"], type = "link", interval = "credible")
  expect_equal(as.matrix(data[c("fit", "lwr", "upr")]), expected, tolerance = 1e-8, ignore_attr = TRUE)
})

test_that("the effect of two inputs is a grid with the other variables at typical values", {
  fit <- small_fit("binary")
  data <- plot_away(fit, terms = "gp(hp, qsec)", n = 11)[["gp(hp, qsec)"]]
  expect_identical(nrow(data), 36L)
  new <- cbind(data[c("hp", "qsec")], wt = median(mtcars$wt))
  expect_equal(data$fit, predict(fit, new, type = "link"), tolerance = 1e-8, ignore_attr = TRUE)
  response <- plot_away(fit, terms = "gp(hp, qsec)", n = 11, scale = "response")[["gp(hp, qsec)"]]
  expect_equal(response$fit, predict(fit, new), tolerance = 1e-8, ignore_attr = TRUE)
})

test_that("effects know factors, `by` and more than two inputs", {
  d <- transform(ToothGrowth, dose = jitter(dose, 0.1), third = seq_along(len) %% 7)
  by <- galvi(len ~ supp + gp(dose, by = supp), data = d, hyper = "fixed")
  data <- plot_away(by, terms = "gp(dose, by = supp)", n = 5)[[1]]
  expect_identical(levels(data$series), c("OJ", "VC"))
  new <- data.frame(dose = data$dose, supp = data$series)
  expect_equal(data$fit, predict(by, new, type = "link"), tolerance = 1e-8, ignore_attr = TRUE)
  many <- galvi(len ~ gp(supp, dose, third), data = d, hyper = "fixed")
  panels <- plot_away(many, max_inputs = 2, n = 5)
  expect_length(panels, 2L)
  factor_panel <- plot_away(many, n = 5)[["gp(supp, dose, third): supp"]]
  expect_identical(nrow(factor_panel), 2L)
})

test_that("coefficients are drawn without the intercept", {
  data <- plot_away(small_fit("flat"))$fixed
  expect_identical(data$coefficient, c("wt", "factor(gear)4", "factor(gear)5"))
  expect_equal(data$fit, unname(coef(small_fit("flat"))[-1]))
})

test_that("relevance of additive terms is their standard deviation, of an idle input nothing", {
  fit <- small_fit("flat")
  data <- plot_away(fit, "relevance")
  wt <- coef(fit)[["wt"]] * mtcars$wt
  population_sd <- sqrt(mean((wt - mean(wt))^2))
  expect_equal(data$relevance[data$name == "wt"], population_sd, tolerance = 0.1)

  d <- data.frame(x1 = seq(-2, 2, length.out = 60), x2 = rep_len(c(0.3, -1, 0.9, 0.1, -0.4), 60))
  # without noise its variance would run to its bound, and the last digits of the search with it
  d$y <- sin(2 * d$x1) + 0.1 * cos(40 * seq_len(60)^2)
  idle <- galvi(y ~ gp(x1, x2, kernel = se(variance = 1, lengthscale = 1, ard = TRUE)), data = d,
    family = galvi_family("gaussian", variance = 0.01))
  data <- plot_away(idle, "relevance")
  expect_lt(data$relevance[data$name == "x2"], 0.1 * data$relevance[data$name == "x1"])
})

test_that("relevance splits sums of kernels and leaves the generator alone", {
  fit <- galvi(mpg ~ gp(wt, hp, kernel = se() + linear()), data = mtcars, hyper = "fixed")
  set.seed(1)
  before <- .Random.seed
  data <- plot_away(fit, "relevance")
  expect_identical(.Random.seed, before)
  expect_identical(data$name[data$kind == "part"], c("gp(wt, hp): se", "gp(wt, hp): linear"))
  expect_true(all(is.finite(data$relevance)))
})

test_that("calibration counts every observation", {
  data <- plot_away(small_fit("binary"), "calibration", bins = 4)
  expect_identical(sum(data$n), 32L)
  expect_true(all(data$lower <= data$observed & data$observed <= data$upper))
  pit <- plot_away(small_fit("counts"), "calibration", bins = 8)
  expect_equal(sum(pit$share), 1)
  pit <- plot_away(small_fit("gaussian"), "calibration", newdata = cars[1:20, ])
  expect_equal(sum(pit$share), 1)
})

test_that("the PIT of a right model is flat", {
  set.seed(8)
  d <- data.frame(x = runif(2000))
  d$y <- rpois(2000, exp(d$x))
  fit <- galvi(y ~ x, data = d, family = poisson(), hyper = "fixed")
  data <- plot_away(fit, "calibration", bins = 5)
  expect_equal(data$share, rep(0.2, 5), tolerance = 0.1)
})

test_that("plots refuse in words", {
  fit <- small_fit("gaussian")
  expect_error_snapshot({
    plot(fit, which = "effect")
    plot(fit, terms = "gp(sped)")
    plot(fit, what = "trace")
    plot(fit, "calibration", newdata = data.frame(speed = 3))
  })
  expect_error(plot(galvi(dist ~ 1, data = cars, hyper = "fixed")), class = "galvi_error_argument")
})

test_that("plots take text, constant inputs, dates and matrices", {
  d <- transform(mtcars, kind = as.character(gear), same = 1, day = as.Date("2020-01-01") + seq_along(mpg))
  d$inputs <- as.matrix(mtcars[c("wt", "hp")])
  for (formula in list(mpg ~ kind + gp(wt), mpg ~ gp(wt, same), mpg ~ gp(day), mpg ~ gp(inputs, scale = TRUE),
    mpg ~ poly(wt, 2) + gp(hp, by = am), mpg ~ wt * kind + gp(wt, kernel = linear()))) {
    fit <- galvi(formula, data = d, hyper = "fixed")
    expect_true(all(vapply(plot_away(fit, n = 5), function(x) all(is.finite(x$fit)), NA)))
    expect_true(all(is.finite(plot_away(fit, "relevance")$relevance)))
  }
})

test_that("every family is drawn by default, of one and two inputs and fixed effects, on both scales", {
  for (name in family_names()) {
    for (formula in list(y ~ x, y ~ gp(x, kernel = se(variance = 1, lengthscale = 1)),
      y ~ gp(x, z, kernel = se(variance = 1, lengthscale = 1)))) {
      data <- transform(family_data(name), z = rep_len(c(0.1, -1, 0.8, 2), 60))
      fit <- galvi(formula, data = data, family = true_family(name), hyper = "fixed")
      for (scale in c("auto", "link", "response")) {
        panels <- plot_away(fit, scale = scale, n = 11)
        expect_true(all(vapply(panels, function(x) all(is.finite(x$fit)), NA)), label = paste(name, scale))
      }
    }
    for (which in c("trace", "relevance", "calibration")) {
      data <- plot_away(fit, which)
      expect_gt(nrow(data), 0L)
    }
  }
})

test_that("class probabilities along an input are the predictions, with bands around them", {
  formula <- y ~ gp(x, kernel = se(variance = 1, lengthscale = 1))
  for (name in c("categorical", "stick_breaking")) {
    fit <- family_fit(name, formula = formula)
    data <- plot_away(fit, n = 11)[[1]]
    expect_named(data, c("x", "series", "fit", "lwr", "upr"))
    expect_identical(levels(data$series), c("cat", "dog", "eel"))
    expect_equal(matrix(data$fit, 11), unname(predict(fit, data.frame(x = data$x[1:11]))), tolerance = 1e-8)
    expect_true(all(data$lwr <= data$fit & data$fit <= data$upr & data$lwr >= 0 & data$upr <= 1))
  }
  link <- plot_away(fit, scale = "link", n = 11)[[1]]
  expect_identical(levels(link$series), c("cat", "dog"))
})

test_that("a level of `by` may have no row of some class", {
  d <- data.frame(x = rep(1:6, 2), f = rep(c("u", "v"), each = 6), y = rep(c("a", "b", "c"), c(3, 6, 3)))
  fit <- galvi(y ~ gp(x, by = f), d, stick_breaking(), hyper = "fixed", control = galvi_control(threads = 1))
  expect_no_error(plot_away(fit))
})

test_that("effects on four levels leave room for the outer thresholds", {
  d <- data.frame(x = 1:40, y = rep(c(1, 2, 1, 3, 2, 4, 3, 4), 5))
  fit <- galvi(y ~ rw1(x), d, family = cumulative(), hyper = "fixed", control = galvi_control(threads = 1))
  expect_no_warning(plot_away(fit), message = "object length")
})

test_that("ordinal effects are on the link scale, their probabilities on the response scale", {
  fit <- family_fit("cumulative", formula = y ~ gp(x, kernel = se(variance = 1, lengthscale = 1)))
  link <- plot_away(fit, n = 7)[[1]]
  expect_equal(link$fit, predict(fit, link["x"], type = "link"), ignore_attr = TRUE, tolerance = 1e-8)
  prob <- plot_away(fit, n = 7, scale = "response")[[1]]
  expect_equal(as.vector(tapply(prob$fit, prob$x, sum)), rep(1, 7))
})

test_that("numbers with a link have a prediction band where a panel shows all variables", {
  formula <- y ~ gp(x, kernel = se(variance = 1, lengthscale = 1))
  for (name in c("poisson", "negbinomial", "Gamma", "exponential", "beta_family")) {
    fit <- family_fit(name, formula = formula)
    data <- plot_away(fit, n = 7)[[1]]
    new <- predict(fit, data["x"], interval = "prediction")
    expect_equal(as.matrix(data[c("fit", "y_lwr", "y_upr")]), new, ignore_attr = TRUE, tolerance = 1e-7)
  }
  volatility <- family_fit("stochastic_volatility", formula = formula)
  data <- plot_away(volatility, n = 7)[[1]]
  expect_equal(data$fit, predict(volatility, data["x"]), ignore_attr = TRUE, tolerance = 1e-8)
  expect_null(plot_away(family_fit("poisson", formula = y ~ x))$fixed$y_lwr)
})

test_that("a factor `by` has a panel per level where curves are classes", {
  d <- transform(family_data("categorical"), half = gl(2, 30, labels = c("left", "right"))[order(y)])
  fit <- galvi(y ~ gp(x, by = half), data = d, family = categorical(), hyper = "fixed")
  panels <- plot_away(fit, n = 5)
  expect_named(panels, paste0("gp(x, by = half), half = ", c("left", "right")))
  new <- data.frame(x = panels[[2]]$x[1:5], half = "right")
  expect_equal(matrix(panels[[2]]$fit, 5), unname(predict(fit, new)), tolerance = 1e-8)
})

test_that("partial residuals on the response scale are the observations where nothing else matters", {
  for (name in c("poisson", "Gamma", "beta_family", "student")) {
    fit <- family_fit(name, formula = y ~ gp(x, kernel = se(variance = 1, lengthscale = 1)))
    expect_equal(partial_residuals(fit, fit$data, "response"), fit$model$y, tolerance = 1e-8)
  }
  fit <- family_fit("stochastic_volatility", formula = y ~ gp(x, kernel = se(variance = 1, lengthscale = 1)))
  expect_equal(partial_residuals(fit, fit$data, "response"), abs(fit$model$y), tolerance = 1e-8)
})

test_that("a beta distribution's limits have its moments, and degenerate ones stay at the mean", {
  limits <- beta_limits(c(0.3, 1, 0), c(0.1, 0, 0), 0.9)
  expect_equal(limits[1, ], qbeta(c(0.05, 0.95), 0.3 * 20, 0.7 * 20))
  expect_equal(limits[2:3, ], matrix(c(1, 0, 1, 0), 2))
})

test_that("labels in the margin keep their distance and stay inside", {
  at <- spread_out(c(1, 1.1, 1.2, 5), 1, c(0, 6))
  expect_true(all(diff(at) > 0.99) && at[1] >= 0 && at[4] <= 6)
})

test_that("calibration of classes counts every observation once per class", {
  data <- plot_away(family_fit("categorical"), "calibration", bins = 4)
  expect_identical(as.vector(tapply(data$n, data$series, sum)), rep(60L, 3))
  pit <- plot_away(family_fit("cumulative", 500), "calibration", bins = 5)
  expect_equal(pit$share, rep(0.2, 5), tolerance = 0.15)
})
