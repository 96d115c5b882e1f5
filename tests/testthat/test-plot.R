skip_on_cran()

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
    plot(fit, kind = "trace")
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

test_that("two inputs may be dates or times, and their axes know", {
  d <- data.frame(day = as.Date("2020-01-01") + 10 * (1:12), x = sin(1:12), y = cos(1:12))
  d$time <- as.POSIXct("2020-01-01", tz = "UTC") + 86400 * (12:1)
  d$class <- factor(rep(c("a", "b", "c"), 4))
  for (formula in list(y ~ gp(day, x), y ~ gp(x, day), y ~ gp(day, time), class ~ gp(day, x))) {
    family <- if (identical(formula[[2]], quote(class))) "categorical" else "gaussian"
    fit <- suppressMessages(galvi(formula, d, family, hyper = "fixed"))
    panel <- plot_away(fit, n = 11)[[1]]
    expect_true(all(is.finite(panel$fit)))
    if (!is.null(panel$day)) expect_s3_class(panel$day, "Date")
  }
  sides <- list(d$day[c(1, 12)], c(0, 1))
  grid <- list(sides = sides, distance = matrix(0, 2, 2), too_far = 1)
  expect_s3_class(fine_picture(grid, list(1:4))$sides[[1]], "Date")
  expect_identical(data_distance(sides, list(d$day[1], 0)), matrix(sqrt(c(0, 1, 1, 2)), 2))
  expect_match(tick_text(as.Date(c("2020-01-01", "2020-05-01")), FALSE)[1], "[A-Z]")
  expect_identical(format_ticks(c(0.05, 0.1, 0.2)), c("0.05", "0.1", "0.2"))
  expect_identical(as.character(format_ticks(c(5e7, 1e8, 2e8))), c("5 %.% 10^7", "10^8", "2 %.% 10^8"))
})

test_that("inputs of one value have the interval of that value", {
  one <- data.frame(x = 0.3, z = -1, y = 1, time = as.Date("2020-01-01"))
  for (formula in list(y ~ gp(x, z), y ~ gp(x), y ~ x + gp(x, z), y ~ gp(time))) {
    panels <- plot_away(suppressWarnings(galvi(formula, one, hyper = "fixed")))
    expect_identical(nrow(panels[[length(panels)]]), 1L)
    expect_true(all(is.finite(panels[[length(panels)]]$fit)))
  }
  same <- data.frame(x = rep(1e9, 6) + c(0, 1e-7, 0, 0, 0, 0), z = 2, y = sin(1:6))
  expect_identical(nrow(plot_away(suppressMessages(galvi(y ~ gp(x, z), same, hyper = "fixed")))[[1]]), 1L)
})

test_that("a panel draws what is finite and says what it leaves out", {
  strings <- function(x) if (is.character(x)) x else if (is.list(x)) lapply(as.list(x), strings)
  drawn_text <- function(...) {
    grDevices::pdf(NULL)
    on.exit(grDevices::dev.off())
    grDevices::dev.control("enable")
    plot(..., n = 11)
    calls <- grDevices::recordPlot()[[1L]]
    paste(unlist(lapply(calls, function(call) strings(as.list(call[[2L]])))), collapse = " ")
  }
  d <- data.frame(x = 1:6, z = c(2, 1, 4, 3, 6, 5), y = exp(100 * (1:6)))
  nothing <- "nothing is drawn: no value is a number"
  rest <- "not drawn: values beyond 1e+300"
  curve <- galvi(y ~ 0 + gp(x, kernel = linear(variance = 1e4)), d, exponential(), hyper = "fixed")
  surface <- galvi(y ~ 0 + gp(x, z, kernel = linear(variance = 1e4)), d, exponential(), hyper = "fixed")
  for (fit in list(curve, surface)) {
    expect_no_match(drawn_text(fit, scale = "link"), paste0(nothing, "|", rest))
    some <- drawn_text(fit, scale = "response", xlim = c(1, 20), too_far = Inf)
    expect_match(some, rest, fixed = TRUE)
    expect_no_match(some, nothing)
    expect_match(drawn_text(fit, scale = "response", xlim = c(30, 40), too_far = Inf), nothing)
  }
  expect_identical(drawn_range(1, NaN, Inf, 1e301, -2), c(-2, 1))
  expect_null(drawn_range(Inf, NA))
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
    f <- frame_marginals(fit, fit$data)$mean[, 1]
    expect_equal(partial_residuals(fit, f, "response"), fit$model$y, tolerance = 1e-8)
  }
  fit <- family_fit("stochastic_volatility", formula = y ~ gp(x, kernel = se(variance = 1, lengthscale = 1)))
  f <- frame_marginals(fit, fit$data)$mean[, 1]
  expect_equal(partial_residuals(fit, f, "response"), abs(fit$model$y), tolerance = 1e-8)
})

test_that("a beta distribution's limits have its moments, and degenerate ones stay at the mean", {
  limits <- beta_limits(c(0.3, 1, 0), c(0.1, 0, 0), 0.9)
  expect_equal(limits[1, ], qbeta(c(0.05, 0.95), 0.3 * 20, 0.7 * 20))
  expect_equal(limits[2:3, ], matrix(c(1, 0, 1, 0), 2))
  # all sd that a probability can have: it is one of the two outcomes
  expect_equal(beta_limits(c(0.3, 0.01), sqrt(c(0.3 * 0.7, 0.01 * 0.99)), 0.95), rbind(c(0, 1), c(0, 0)))
})

test_that("a beta distribution's limits cut off their tails, however small its shapes are", {
  for (mean in c(1e-6, 0.02, 0.5, 0.9)) {
    for (precision in c(1e-4, 0.01, 0.3, 2, 1e4)) {
      a <- mean * precision
      b <- (1 - mean) * precision
      # of u = log odds, whose density has no pole
      log_density <- function(u) a * plogis(u, log.p = TRUE) + b * plogis(-u, log.p = TRUE) - lbeta(a, b)
      upto <- function(q) {
        # from where the lower tail, exp(a u) / a, is below 1e-14, in pieces that integrate() sees
        places <- sort(unique(pmin(c(-33 / a, -1e4, -700, seq(-100, 40, by = 0.5), 700), q)))
        places <- places[places >= min(-33 / a, -20)]
        pieces <- Map(function(from, to) {
          integrate(function(u) exp(log_density(u)), from, to, rel.tol = 1e-8)$value
        }, places[-length(places)], places[-1L])
        sum(unlist(pieces))
      }
      limits <- beta_limits(mean, sqrt(mean * (1 - mean) / (1 + precision)), 0.9)
      label <- sprintf("mean %g, precision %g", mean, precision)
      for (side in 1:2) {
        target <- c(0.05, 0.95)[side]
        q <- limits[side]
        if (q > 1e-300 && q < 1 - 1e-10) {
          expect_equal(upto(qlogis(q)), target, tolerance = 1e-5, label = label)
        } else if (q <= 1e-300) {
          expect_gte(upto(-690) + 1e-6, target, label = label)
        } else {
          expect_lte(upto(22) - 1e-6, target, label = label)
        }
      }
    }
  }
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

# ---- graphical arguments ----

test_that("titles, limits and colours of the user arrive in every kind of panel", {
  d <- transform(mtcars, kind = factor(gear))
  d$o <- cut(d$mpg, c(0, 17, 22, 40), c("low", "mid", "high"), ordered_result = TRUE)
  fit <- function(formula, family = gaussian()) galvi(formula, data = d, family = family, hyper = "fixed")
  own <- list(
    list(small_fit("gaussian")), list(small_fit("binary"), terms = "gp(hp, qsec)"), list(fit(mpg ~ kind)),
    list(fit(mpg ~ gp(kind))), list(fit(mpg ~ gp(wt, kind))), list(fit(mpg ~ iid(kind))),
    list(fit(o ~ gp(wt), cumulative())), list(fit(o ~ gp(wt), cumulative()), scale = "response"),
    list(fit(kind ~ gp(wt, hp, scale = TRUE), categorical())), list(fit(mpg ~ rw1(carb))),
    list(fit(mpg ~ gmrf(carb, lattice_of(8))), map = squares(8)),
    list(fit(mpg ~ spde(wt, qsec, mesh = galvi_mesh(cbind(c(0, 9), c(0, 25)), 1.5))), terms = "spde(wt, qsec)"),
    list(small_fit("gaussian"), "trace"), list(small_fit("binary"), "trace"),
    list(small_fit("binary"), "relevance"), list(small_fit("binary"), "calibration"),
    list(small_fit("counts"), "calibration"), list(fit(kind ~ gp(wt), categorical()), "calibration"),
    list(small_fit("flat"), "coefficients"), list(small_fit("flat"), "coefficients", exponentiate = TRUE),
    list(small_fit("gaussian"), "residuals"), list(small_fit("gaussian"), "worm"),
    list(small_fit("gaussian"), "predictive"), list(small_fit("counts"), "predictive"),
    list(small_fit("binary"), "predictive"),
    list(picture_fit("factors")), list(picture_fit("survival"), "survival"),
    list(picture_fit("surface"), what = "sd"), list(picture_fit("field"), map = squares(4), what = "sd"),
    list(galvi_compare(am ~ wt, data = mtcars, family = binomial(), methods = c("newton", "laplace")))
  )
  for (i in seq_along(own)) {
    one <- own[[i]]
    limits <- list(xlim = c(1, 9), ylim = c(2, 8))
    titles <- list(main = "My title", xlab = "My x", ylab = "My y", col = "#123456")
    calls <- do.call(drawn, c(one, limits, titles, list(mfrow = c(2, 2))))
    text <- drawn_text(calls)
    expect_true(all(c("My title", "My x", "My y") %in% text), label = paste("titles of", i))
    windows <- calls_of(calls, "C_plot_window")
    for (window in windows) expect_identical(window[1:2], list(limits$xlim, limits$ylim), ignore_attr = TRUE)
    expect_match(paste(deparse(calls), collapse = ""), "123456", label = paste("colour of", i))
  }
})

test_that("titles are one for all panels or one for each, and may be expressions", {
  fit <- small_fit("binary")
  count <- length(plot_away(fit))
  expect_gt(count, 1L)
  text <- drawn_text(drawn(fit, main = paste("panel", seq_len(count)), xlab = quote(x^2), mfrow = c(2, 2)))
  expect_true(all(paste("panel", seq_len(count)) %in% text))
  expect_identical(sum(text == "x^2"), count)
  expect_error(plot(fit, main = rep("title", count + 1)), "panels", class = "galvi_error_argument")
})

test_that("curves and images follow the limits, beyond the data too", {
  fit <- small_fit("gaussian")
  data <- plot_away(fit, xlim = c(-10, 60), n = 5)[[1]]
  expect_identical(range(data$speed), c(-10, 60))
  expect_equal(data$fit, predict(fit, data["speed"], type = "link"), ignore_attr = TRUE, tolerance = 1e-8)
  two <- small_fit("binary")
  data <- plot_away(two, terms = "gp(hp, qsec)", n = 5, xlim = c(0, 500), ylim = c(30, 10))[[1]]
  expect_identical(c(range(data$hp), range(data$qsec)), c(0, 500, 10, 30))
  day <- galvi(y ~ gp(day), data.frame(day = as.Date("2020-01-01") + 1:20, y = sin(1:20)), hyper = "fixed")
  data <- plot_away(day, xlim = as.Date(c("2019-12-01", "2020-03-01")), n = 3)[[1]]
  expect_identical(range(data$day), as.Date(c("2019-12-01", "2020-03-01")))
  walk <- galvi(y ~ rw1(t), data.frame(t = 1:20, y = sin(1:20)), hyper = "fixed")
  expect_identical(range(plot_away(walk, xlim = c(10.5, 30))[[1]]$t), c(11, 30))
})

test_that("graphical arguments that cannot be are refused by name", {
  fit <- small_fit("gaussian")
  expect_error_snapshot({
    plot(fit, xlims = c(0, 1))
    plot(fit, xlim = 3)
    plot(fit, ylim = c(1, NA))
    plot(fit, col = "no colour")
    plot(fit, main = NA)
    plot(fit, xlab = list(1))
    plot(fit, too_far = -1)
  })
})

# ---- room ----

test_that("titles and notes stay in their figure, beside other panels and in small ones", {
  for (mfrow in list(c(1, 1), c(2, 2), c(1, 4))) {
    grDevices::pdf(NULL, width = 6, height = 6)
    graphics::par(mfrow = mfrow, mar = rep(0, 4))
    graphics::plot.new()
    note <- "other variables at typical values; 95% bands: of the mean and, lighter, of new observations"
    heads <- panel_heads(strrep("long", 30), note)
    wide <- mapply(graphics::strwidth, heads$text, units = "inches", cex = heads$size)
    expect_true(all(wide <= graphics::par("fin")[1]))
    expect_identical(heads$lines, sum(heads$size) * 1.15)
    grDevices::dev.off()
  }
  for (size in list(c(3, 3), c(1.5, 1.5), c(12, 4))) {
    for (name in c("gaussian", "binary", "flat")) {
      for (which in c("effects", "trace", "relevance", "calibration")) {
        expect_no_error(drawn(small_fit(name), which, size = size))
      }
    }
  }
})

test_that("the name of every level is drawn", {
  d <- data.frame(g = factor(sprintf("the level with number %02d", rep(1:12, 3))), y = sin(1:36))
  for (formula in list(y ~ gp(g), y ~ iid(g), y ~ 0 + g)) {
    fit <- galvi(formula, d, hyper = "fixed")
    for (size in list(c(3, 3), c(7, 7))) {
      ends <- sprintf("%02d$", 1:12)
      text <- drawn_text(drawn(fit, size = size))
      expect_true(all(vapply(ends, function(end) any(grepl(end, text)), NA)))
    }
  }
})

test_that("the title of a colour key keeps clear of its numbers", {
  grDevices::pdf(NULL, width = 4, height = 4)
  on.exit(grDevices::dev.off())
  grDevices::dev.control("enable")
  graphics::par(mar = rep(0, 4))
  graphics::plot.new()
  scale <- list(reach = c(-12345.5, 23456.5), palette = "Viridis", title = "linear predictor (log scale)")
  panel <- coloured(new_panel("title", NULL, list(), c("x", "y"), xlim = 0:1, ylim = 0:1, scale = scale, tight = TRUE),
    NULL)
  open_panel(panel, list())
  colour_key(panel$scale)
  text <- calls_of(recorded_calls(), "C_text")
  inches <- graphics::par("pin")[1]  # the panel is one unit wide
  ends <- text[[1]][[1]]$x[1] * inches + max(graphics::strwidth(text[[1]][[2]], units = "inches", cex = 0.8))
  half <- 0.5 * graphics::strheight("M", units = "inches", cex = 0.9)
  expect_gt(text[[2]][[1]]$x * inches - half, ends)
  expect_lt(text[[2]][[1]]$x * inches + half, inches + graphics::par("mai")[4])
})

# ---- what is drawn ----

test_that("calibration predicts every observation from the others", {
  skip_if_not_installed("MASS")
  fit <- galvi(y ~ trt + week + (1 | ID), MASS::bacteria, binomial())
  lowest <- plot_away(fit, "calibration", bins = 5)[1, ]
  # in sample 0.54 and 0.34
  expect_close(lowest$predicted, 0.54, 0.01)
  expect_close(lowest$observed, 0.58, 0.02)
  expect_true("Leave-one-out calibration" %in% drawn_text(drawn(fit, "calibration")))
  expect_true("Calibration on new data" %in% drawn_text(drawn(fit, "calibration", newdata = MASS::bacteria)))
})

test_that("the PIT of the gaussian family is that of refits without each row", {
  d <- cars[1:20, ]
  formula <- dist ~ gp(speed, kernel = se(200, 5))
  family <- galvi_family("gaussian", variance = fixed(100))
  prior <- list(intercept = normal(20, 30))
  fit <- galvi(formula, d, family, hyper = "fixed", prior = prior)
  pit <- vapply(seq_len(nrow(d)), function(i) {
    without <- galvi(formula, d[-i, ], family, hyper = "fixed", prior = prior)
    eta <- predict(without, d[i, ], type = "link", se.fit = TRUE)
    pnorm(d$dist[i], eta$fit, sqrt(eta$se.fit^2 + 100))
  }, 1)
  expected <- as.vector(table(cut(pit, 0:5 / 5))) / nrow(d)
  expect_close(plot_away(fit, "calibration", bins = 5)$share, expected)
})

test_that("rows that nothing else determines are left out of the calibration, which says so", {
  d <- data.frame(x = c(rep(0, 9), 1), y = sin(1:10))
  # an open intercept would know the predictor at the mean of x, and with it a little of the slope
  flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
  fit <- galvi(y ~ x, d, prior = flat, hyper = "fixed")
  expect_equal(loo_target(fit)$n, 9)
  expect_true("without 1 row that nothing else determines" %in% drawn_text(drawn(fit, "calibration")))
})

test_that("with an offset the response scale is a rate per unit of exposure, without a band of new counts", {
  set.seed(2)
  d <- data.frame(x = 1:40 / 10, exposure = 1000 * 1:40)
  d$y <- rpois(40, 1e-3 * d$exposure * exp(sin(d$x)))
  fit <- galvi(y ~ gp(x) + offset(log(exposure)), d, poisson(), hyper = "fixed")
  data <- plot_away(fit, n = 5)[[1]]
  expect_named(data, c("x", "fit", "lwr", "upr"))
  rate <- predict(fit, cbind(data["x"], exposure = 1))
  expect_equal(data$fit, rate, ignore_attr = TRUE, tolerance = 1e-8)
  text <- drawn_text(drawn(fit))
  expect_true(all(c("mean of y per unit of exposure", "rates per unit of exposure (offset 0)") %in% text))
  expect_true("linear predictor (log scale, without the offset)" %in% drawn_text(drawn(fit, scale = "link")))
  # the offset of other links has no unit
  logit <- galvi(am ~ gp(wt) + offset(hp / 100), mtcars, binomial(), hyper = "fixed")
  expect_true("at offset 0" %in% drawn_text(drawn(logit, scale = "response")))
})

test_that("a gp() of a number and a factor has a curve for each level, of two factors intervals", {
  d <- transform(ToothGrowth, dose = jitter(dose, 0.1), half = rep_len(0:1, 60), kind = gl(3, 20))
  for (second in c("supp", "half")) {
    fit <- galvi(stats::reformulate(sprintf("gp(dose, %s)", second), "len"), d, hyper = "fixed")
    panels <- plot_away(fit, n = 5)
    expect_named(panels, sprintf("gp(dose, %s)", second))
    data <- panels[[1]]
    expect_identical(levels(data$series), as.character(sort(unique(d[[second]]))))
    new <- data.frame(dose = data$dose, second = rep(sort(unique(d[[second]])), each = 5))
    names(new)[2] <- second
    expect_equal(data$fit, predict(fit, new), ignore_attr = TRUE, tolerance = 1e-8)
  }
  both <- galvi(len ~ gp(supp, kind), d, hyper = "fixed")
  data <- plot_away(both)[[1]]
  expect_named(data, c("kind", "series", "fit", "lwr", "upr"))
  by <- plot_away(galvi(len ~ gp(dose, kind, by = supp), d, hyper = "fixed"), n = 5)
  expect_named(by, paste0("gp(dose, kind, by = supp), supp = ", c("OJ", "VC")))
  # where the margin has the levels of the response there is a panel for each
  ordered <- transform(d, len = cut(len, c(0, 10, 15, 20, 25, 40), ordered_result = TRUE))
  expect_no_warning(panels <- plot_away(galvi(len ~ gp(dose, supp), ordered, cumulative(), hyper = "fixed")))
  expect_length(panels, 2L)
})

test_that("images are blank where the data are far", {
  fit <- small_fit("binary")
  for (too_far in c(0.05, 0.2)) {
    data <- plot_away(fit, terms = "gp(hp, qsec)", n = 21, too_far = too_far)[[1]]
    unit <- function(x, name) (x - min(mtcars[[name]])) / diff(range(mtcars[[name]]))
    nearest <- vapply(seq_len(nrow(data)), function(i) {
      sqrt(min((unit(data$hp[i], "hp") - unit(mtcars$hp, "hp"))^2 +
        (unit(data$qsec[i], "qsec") - unit(mtcars$qsec, "qsec"))^2))
    }, 1)
    # distances are taken to a hundredth of a side
    sure <- abs(nearest - too_far) > 0.01
    expect_identical(data$far[sure], (nearest > too_far)[sure])
    expect_true(any(data$far) && all(is.finite(data$fit)))
  }
  expect_false(any(plot_away(fit, terms = "gp(hp, qsec)", n = 21, too_far = Inf)[[1]]$far))
  raster <- function(...) {
    picture <- calls_of(drawn(fit, terms = "gp(hp, qsec)", ...), "C_raster")[[1]][[1]]
    mean(is.na(as.character(picture)))
  }
  expect_gt(raster(), 0.2)
  expect_identical(raster(too_far = Inf), 0)
})

# ---- the trace ----

test_that("the trace tells hyperparameter steps from the iterations within them", {
  fixed <- small_fit("binary")
  expect_true(all(fixed$trace$start == 1L & fixed$trace$step == 0L))
  fit <- galvi(am ~ gp(wt), mtcars, binomial())
  steps <- fit$trace$step
  expect_identical(sort(unique(steps)), 0:max(steps, na.rm = TRUE))
  ends <- fit$trace[!is.na(steps), ]
  ends <- ends[!duplicated(ends$step, fromLast = TRUE), ]
  # no prior on hyperparameters: the bound itself climbs, to the optimum of q at each step
  expect_true(all(diff(ends$elbo) > -1e-6))
  expect_identical(ends$elbo[nrow(ends)], fit$elbo)
  expect_gt(sum(!is.na(steps)), nrow(ends))
  # a point per step in the first panel
  lines <- calls_of(drawn(fit, "trace", mfrow = c(1, 2)), "C_plotXY")
  expect_equal(lines[[1]][[1]]$x, ends$step)
  expect_equal(lines[[1]][[1]]$y, ends$elbo)
  joint <- galvi(am ~ gp(wt), mtcars, binomial(), control = galvi_control(joint = TRUE))
  expect_true(max(joint$trace$step, na.rm = TRUE) > 0)
})

test_that("several searches for hyperparameters have their numbers, the one taken comes last", {
  set.seed(1)
  fit <- galvi(dist ~ gp(speed), cars, control = galvi_control(starts = 3))
  expect_identical(unique(fit$trace$start)[1:3], 1:3)
  last <- fit$trace[nrow(fit$trace), ]
  expect_identical(last$start, which.max(fit$starts$elbo))
  own <- fit$trace$step[fit$trace$start == last$start]
  expect_identical(last$step, max(own, na.rm = TRUE))
  expect_no_error(plot_away(fit, "trace"))
})

test_that("names in a biplot hide neither each other nor the edge of the panel", {
  set.seed(1)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  graphics::plot(NULL, xlim = c(-3, 3), ylim = c(-3, 3), asp = 1, xlab = "", ylab = "")
  data <- data.frame(x = c(2, 2.05, -2, rnorm(40)), y = c(2, 2, 0, rnorm(40)), item = rep(c(TRUE, FALSE), c(3, 40)),
    text = c("first", "second", "third", sprintf("unit number %d", 1:40)))
  texts <- place_names(data)
  expect_true(all(data$text[1:3] %in% texts$text))
  expect_identical(texts$text, data$text[texts$row])
  expect_gt(sum(!texts$item), 10)
  inch <- graphics::par("pin") / diff(graphics::par("usr"))[c(1, 3)]
  half <- cbind(text_width(texts$text, texts$cex), graphics::strheight(texts$text, "inches", cex = texts$cex)) / 2
  places <- cbind(texts$x * inch[1], texts$y * inch[2])
  edges <- matrix(graphics::par("usr"), 2) * rep(inch, each = 2)
  for (i in seq_len(nrow(texts))) {
    expect_true(all(places[i, ] - half[i, ] >= edges[1, ] & places[i, ] + half[i, ] <= edges[2, ]))
    for (j in seq_len(i - 1)) expect_true(any(abs(places[i, ] - places[j, ]) >= half[i, ] + half[j, ]))
  }
})

test_that("intensities that differ by factors have colours on a logarithmic scale", {
  z <- matrix(c(1e-9, 0.5, 5, 50), 2)
  scale <- log_sequence_of(z, "Viridis")
  # a thousandth of the largest and below have the first colour
  expect_equal(scale$reach, log10(c(0.05, 50)))
  scale$palette <- scale_palette(scale$palette, NULL)
  expect_identical(colour_of(c(1e-9, 0.05, 50), scale), scale$palette[c(1, 1, 101)])
  expect_equal(10^strip_ticks(scale)$at, c(0.1, 1, 10))
  expect_null(log_sequence_of(matrix(1:4, 2), "Viridis")$log)
  expect_null(log_sequence_of(matrix(NA_real_, 2, 2), "Viridis")$log)
})
