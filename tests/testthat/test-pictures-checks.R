test_that("coefficients look as they did", {
  expect_pictures(list(
    "coefficients" = function() plot(picture_fit("two"), "coefficients"),
    "odds-ratios" = function() plot(picture_fit("coefficients"), "coefficients", exponentiate = TRUE),
    "coefficients-of-classes" = function() plot(picture_fit("class_coefficients"), "coefficients")
  ))
})

test_that("residuals look as they did", {
  expect_pictures(list(
    "qq" = function() plot(picture_fit("few"), "residuals"),
    "worm" = function() plot(picture_fit("few"), "worm", ylim = c(-1, 1))
  ))
})

test_that("predictive checks look as they did", {
  expect_pictures(list(
    "densities" = function() plot(picture_fit("line"), "predictive", ndraws = 2),
    "bars-of-counts" = function() plot(small_fit("counts"), "predictive", ndraws = 50),
    "bars-of-levels" = function() plot(picture_fit("ordinal_line"), "predictive", ndraws = 50),
    "survival-curves" = function() plot(picture_fit("survival"), "predictive", ndraws = 2)
  ))
})

test_that("calibration, survival and relevance look as they did", {
  expect_pictures(list(
    "calibration-of-binary" = function() plot(small_fit("binary"), "calibration", bins = 4),
    "calibration-of-classes" = function() plot(picture_fit("classes"), "calibration", bins = 4),
    "calibration-of-counts" = function() plot(small_fit("counts"), "calibration"),
    "survival" = function() {
      plot(picture_fit("survival"), "survival", newdata = data.frame(sex = 1:2, age = 60), n = 21)
    },
    "relevance" = function() plot(small_fit("binary"), "relevance")
  ))
})

test_that("checks look as they did in ggplot2", {
  skip_if_other_ggplot2()
  drawn <- function(...) {
    set.seed(1)
    ggplot2::autoplot(...)
  }
  expect_pictures(list(
    "gg-odds-ratios" = drawn(picture_fit("coefficients"), "coefficients", exponentiate = TRUE),
    "gg-coefficients-of-classes" = drawn(picture_fit("class_coefficients"), "coefficients"),
    "gg-qq" = drawn(picture_fit("few"), "residuals"),
    "gg-densities" = drawn(picture_fit("line"), "predictive", ndraws = 2),
    "gg-bars-of-levels" = drawn(picture_fit("ordinal_line"), "predictive", ndraws = 50)
  ))
})
