test_that("an image of standard deviations has those of predict()", {
  fit <- small_fit("binary")
  two <- plot_away(fit, terms = "gp(hp, qsec)", n = 11, what = c("mean", "sd"))
  expect_named(two, c("gp(hp, qsec)", "sd of gp(hp, qsec)"))
  for (scale in c("link", "response")) {
    data <- plot_away(fit, terms = "gp(hp, qsec)", n = 11, what = "sd", scale = scale)[[1]]
    new <- cbind(data[c("hp", "qsec")], wt = median(mtcars$wt))
    expect_equal(data$fit, predict(fit, new, type = scale, se.fit = TRUE)$se.fit, ignore_attr = TRUE, tolerance = 1e-8)
  }
  iris3 <- iris[seq(1, 150, 5), ]
  classes <- galvi(Species ~ gp(Sepal.Length, Sepal.Width), iris3, categorical(), hyper = "fixed")
  data <- plot_away(classes, n = 5, what = "sd")
  expect_named(data, paste("sd of gp(Sepal.Length, Sepal.Width):", levels(iris$Species)))
  sd <- predict(classes, data[[2]][1:2], type = "prob", se.fit = TRUE)$se.fit
  expect_equal(data[[2]]$fit, sd[, 2], ignore_attr = TRUE, tolerance = 1e-8)
})

test_that("a map of standard deviations has those of ranef(), and spde() has one of the two where that is asked for", {
  d <- data.frame(g = rep(letters[1:4], 1:4), y = sin(1:10))
  graph <- lattice_of(4, letters[1:4])
  fit <- galvi(y ~ gmrf(g, graph = graph), d, hyper = "fixed")
  map <- stats::setNames(squares(4), letters[1:4])
  expect_equal(plot_away(fit, map = map, what = "sd")[[1]]$fit, nlme::ranef(fit)[[1]]$sd)
  places <- picture_fit("places")
  expect_length(plot_away(places, n = 5), 2L)
  expect_named(plot_away(places, n = 5, what = "sd"), paste("sd of", places$design$labels[2]))
  expect_named(plot_away(places, n = 5, what = "mean"), places$design$labels[2])
})

test_that("what has no picture of standard deviations says what has", {
  expect_error_snapshot({
    plot(small_fit("gaussian"), what = "sd")
    plot(small_fit("gaussian"), what = "variance")
  })
})

test_that("panels of a second predictor's fit draw curves and images of the first", {
  fit <- galvi(list(mpg ~ gp(wt) + gp(hp, qsec, scale = TRUE), sigma ~ hp), mtcars, hyper = "fixed")
  panels <- plot_away(fit, n = 5)
  expect_named(panels, c("gp(wt)", "gp(hp, qsec)", "sigma.hp"))
})
