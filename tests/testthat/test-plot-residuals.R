test_that("a QQ plot has the residuals of rows that were not used, as qqnorm() has them", {
  fit <- galvi(dist ~ speed, cars[1:40, ], hyper = "fixed")
  data <- plot_away(fit, "residuals", newdata = cars[30:50, ])
  own <- stats::qqnorm(residuals(fit, "quantile", newdata = cars[30:50, ]), plot.it = FALSE)
  expect_equal(data$theoretical, sort(own$x))
  expect_equal(data$residual, unname(sort(own$y)))
  # of the fitted rows those of refits without each
  noise <- galvi_family("gaussian", variance = fixed(200))
  prior <- list(intercept = normal(20, 30), default = normal(0, 5))
  d <- cars[1:15, ]
  left_out <- vapply(seq_len(nrow(d)), function(i) {
    without <- galvi(dist ~ speed, d[-i, ], noise, prior = prior, hyper = "fixed")
    eta <- predict(without, d[i, ], type = "link", se.fit = TRUE)
    (d$dist[i] - eta$fit) / sqrt(eta$se.fit^2 + 200)
  }, 1)
  all <- galvi(dist ~ speed, d, noise, prior = prior, hyper = "fixed")
  expect_close(plot_away(all, "residuals")$residual, sort(left_out))
})

test_that("the band has order statistics with the probability that it says", {
  for (n in c(1, 7, 400)) {
    data <- qq_table(rep(0, n), 0.9)
    # the i-th of n is below x where i or more of them are
    below <- function(x) stats::pbinom(seq_len(n) - 1, n, stats::pnorm(x), lower.tail = FALSE)
    expect_equal(below(data$lwr), rep(0.05, n), tolerance = 1e-8)
    expect_equal(below(data$upr), rep(0.95, n), tolerance = 1e-8)
  }
  far <- normal_band(1e6, 0.95)
  expect_true(all(is.finite(unlist(far))))
  expect_equal(far$lower, -rev(far$upper))
})

test_that("a worm plot shows the distances from the line, by groups of a variable", {
  fit <- small_fit("gaussian")
  qq <- plot_away(fit, "residuals")
  expect_equal(plot_away(fit, "worm"), qq)
  lines <- calls_of(drawn(fit, "worm"), "C_plotXY")
  points <- Filter(function(call) length(call[[1]]$x) == 50, lines)[[1]]
  expect_equal(points[[1]]$y, qq$residual - qq$theoretical)
  by <- plot_away(fit, "worm", by = "speed")
  expect_identical(sum(table(by$group)), 50L)
  expect_length(levels(by$group), 4L)
  expect_equal(sort(by$residual), qq$residual)
  factor <- plot_away(small_fit("flat"), "residuals", by = "factor(gear)")
  expect_equal(as.vector(table(factor$group)), as.vector(table(mtcars$gear)))
  # a polynomial is its own cubic fit
  x <- seq(-2, 2, length.out = 30)
  curve <- worm_curve(data.frame(theoretical = x, deviation = 1 - x + 0.5 * x^3))
  expect_equal(curve$y, 1 - curve$x + 0.5 * curve$x^3)
})

test_that("whole weights stand for as many rows, and rows of weight zero are left out", {
  d <- as.data.frame(Titanic)
  fit <- galvi(Survived ~ Class + Sex, d, binomial(), weights = Freq, hyper = "fixed")
  set.seed(1)
  expect_identical(nrow(plot_away(fit, "residuals")), as.integer(sum(d$Freq)))
  halves <- galvi(mpg ~ wt, mtcars, weights = rep(c(0, 0.5), 16), hyper = "fixed")
  expect_identical(nrow(plot_away(halves, "residuals")), 16L)
})

test_that("residual plots refuse in words", {
  counts <- cbind(a = c(1, 4, 2), b = c(3, 1, 2), c = c(0, 2, 2))
  multinomial <- galvi(counts ~ 1, data.frame(x = 1:3), categorical(), hyper = "fixed")
  fit <- small_fit("gaussian")
  expect_error_snapshot({
    plot(multinomial, "residuals")
    plot(fit, "worm", by = "sped")
    plot(fit, "worm", newdata = data.frame(speed = 3))
    plot(fit, "trace", by = "speed")
  })
})

test_that("plots that need the rows say so where the fit has none, and take new data", {
  # more rows than the sample that a fit keeps
  table <- cars[rep(1:50, 1200), ]
  read <- FALSE
  source <- function(reset) {
    given <- if (!reset && !read) table
    read <<- !reset
    given
  }
  fit <- galvi(dist ~ speed, source, hyper = "fixed")
  for (which in c("residuals", "worm", "predictive", "calibration")) {
    expect_error(plot(fit, which), "`newdata`, a data frame with the response", class = "galvi_error_data")
    expect_no_error(plot_away(fit, which, newdata = cars))
  }
  expect_identical(plot_away(fit, "coefficients")$coefficient, "speed")
})
