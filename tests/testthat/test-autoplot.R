# ggplot2::autoplot(): every plot there is, from the numbers of the base plots.

# Builds it, which finds columns and scales that do not fit.
expect_builds <- function(plot) {
  plots <- if (inherits(plot, "galvi_plots")) unclass(plot) else list(plot)
  for (one in plots) {
    expect_s3_class(one, "ggplot")
    expect_warning(built <- ggplot2::ggplot_build(one), NA)
    expect_gt(length(built$data), 0L)
  }
  invisible(plots)
}

test_that("effects of all kinds of terms and responses are drawn", {
  skip_if_not_installed("ggplot2")
  d <- car_data()
  iris3 <- iris[seq(1, 150, 5), ]
  binary <- galvi(am ~ gp(wt, hp), d, binomial(), hyper = "fixed")
  fits <- c(other_fits(), list(
    surface = galvi(mpg ~ gp(wt, hp), d, hyper = "fixed"), binary_surface = binary,
    regions = galvi(Species ~ gp(Sepal.Length, Sepal.Width), iris3, categorical(), hyper = "fixed"),
    classes = galvi(Species ~ gp(Petal.Width), iris3, categorical(), hyper = "fixed"),
    ordinal = galvi(factor(gear, ordered = TRUE) ~ gp(wt), d, cumulative()),
    curves = galvi(mpg ~ gp(wt, cyl), d, hyper = "fixed"),
    sparse = galvi(mpg ~ gp(wt, inducing = 4), d, hyper = "fixed"),
    robust = galvi(stack.loss ~ gp(Air.Flow), stackloss, student(), hyper = "fixed"),
    slopes = galvi(Reaction ~ Days + (Days | Subject), sleepstudy, hyper = "fixed"),
    walk = galvi(y ~ rw1(t), data.frame(t = 1:20, y = sin(1:20)), hyper = "fixed"),
    volatility = galvi(y ~ gp(t), data.frame(t = 1:30, y = sin(7 * 1:30)), stochastic_volatility(), hyper = "fixed")
  ))
  for (name in names(fits)) {
    drawn <- expect_builds(ggplot2::autoplot(fits[[name]]))
    data <- plot_away(fits[[name]])
    expect_length(drawn, length(data))
    if (length(drawn) > 1L) expect_named(drawn, names(data))
  }
  # the layer of the curve has plot()'s numbers
  curve <- ggplot2::ggplot_build(ggplot2::autoplot(fits$sparse))$data
  base <- plot_away(fits$sparse)[[1]]
  lines <- Filter(function(layer) nrow(layer) == 101 && "y" %in% names(layer) && !"ymin" %in% names(layer), curve)
  expect_equal(lines[[1]]$y, base$fit)
})

test_that("maps, traces, relevance, calibration and survival are drawn", {
  skip_if_not_installed("ggplot2")
  graph <- lattice_of(4, letters[1:4])
  d <- data.frame(g = rep(letters[1:4], 5), y = rep(1:4, 5) + 0.1 * sin(1:20))
  map <- stats::setNames(squares(4), letters[1:4])
  field <- galvi(y ~ gmrf(g, graph = graph), d, hyper = "fixed")
  expect_builds(ggplot2::autoplot(field, map = map))
  expect_builds(ggplot2::autoplot(field))
  for (fit in list(small_fit("binary"), small_fit("gaussian"), family_fit("categorical"), family_fit("cumulative"))) {
    for (which in c("trace", "relevance", "calibration")) expect_builds(ggplot2::autoplot(fit, which))
  }
  learned <- galvi(am ~ gp(wt), mtcars, binomial())
  expect_length(expect_builds(ggplot2::autoplot(learned, "trace")), 2L)
  # the gap of a factor model is known at the end only, which is no path
  factors <- galvi(responses(log(USArrests)) ~ factors(1))
  expect_length(expect_builds(ggplot2::autoplot(factors, "trace")), 1L)
  weibull <- family_fit("weibull")
  expect_builds(ggplot2::autoplot(weibull, "survival"))
  expect_builds(ggplot2::autoplot(weibull, "survival", newdata = data.frame(x = c(-1, 1))))
  expect_builds(ggplot2::autoplot(field, map = map, what = c("mean", "sd")))
  expect_builds(ggplot2::autoplot(picture_fit("places"), what = c("mean", "sd"), n = 5))
  expect_builds(ggplot2::autoplot(picture_fit("factors")))
  one <- scale(log(USArrests))
  expect_builds(ggplot2::autoplot(galvi(responses(one) ~ factors(1))))
})

test_that("a comparison is drawn, and wrong arguments are refused", {
  skip_if_not_installed("ggplot2")
  compared <- galvi_compare(am ~ gp(wt), mtcars, binomial(), methods = c("newton", "fixed_point"))
  expect_length(expect_builds(ggplot2::autoplot(compared)), 2L)
  expect_builds(ggplot2::autoplot(compared, against = "flops"))
  expect_error(ggplot2::autoplot(compared, "density"), "newdata", class = "galvi_error_argument")
  fit <- small_fit("gaussian")
  expect_error(ggplot2::autoplot(fit, "trace", n = 5), "`n`", class = "galvi_error_argument")
  expect_error(ggplot2::autoplot(fit, scales = "link"), "Did you mean `scale`", class = "galvi_error_argument")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_invisible(print(ggplot2::autoplot(compared)))
})
