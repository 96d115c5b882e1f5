test_that("curves, intervals and classes look as they did", {
  expect_pictures(list(
    "curve" = function() plot(picture_fit("few"), n = 21),
    "curve-with-arguments" = function() {
      plot(picture_fit("few"), n = 11, main = "Title", xlab = "mph", xlim = c(0, 40), col = "darkgreen")
    },
    "curves-by-factor" = function() plot(picture_fit("curves"), n = 11),
    "rates" = function() plot(picture_fit("rates"), n = 11),
    "ordinal" = function() plot(picture_fit("ordinal"), n = 21),
    "ordinal-probabilities" = function() plot(picture_fit("ordinal"), n = 21, scale = "response"),
    "classes" = function() plot(picture_fit("classes"), n = 11),
    "conditional-curve" = function() plot(picture_fit("coefficients"), terms = "wt", n = 21),
    "conditional-levels" = function() plot(picture_fit("interaction"), terms = "gear", n = 11),
    "conditional-lines" = function() plot(picture_fit("interaction"), terms = "wt:gear", n = 11),
    "conditional-numbers" = function() plot(picture_fit("interaction"), terms = "wt:drat", n = 11),
    "conditional-classes" = function() plot(picture_fit("class_coefficients"), terms = "wt", n = 11),
    "conditional-ordinal" = function() plot(picture_fit("ordinal_line"), n = 11),
    "groups" = function() plot(picture_fit("groups"))
  ))
})

test_that("images and maps look as they did", {
  map <- stats::setNames(squares(4), letters[1:4])
  expect_pictures(list(
    "surface-sd" = function() plot(picture_fit("surface"), n = 5, what = "sd"),
    "regions" = function() plot(picture_fit("regions"), n = 5),
    "map" = function() plot(picture_fit("field"), map = map),
    "map-sd" = function() plot(picture_fit("field"), map = map, what = "sd"),
    "map-without-a-region" = function() plot(picture_fit("blank"), map = map),
    "factors" = function() plot(picture_fit("factors")),
    "places-sd" = function() plot(picture_fit("places"), terms = "spde(wt, drat)", what = "sd", n = 11)
  ))
})

test_that("effects look as they did in ggplot2", {
  skip_if_other_ggplot2()
  map <- stats::setNames(squares(4), letters[1:4])
  expect_pictures(list(
    "gg-conditional-levels" = ggplot2::autoplot(picture_fit("interaction"), terms = "gear"),
    "gg-conditional-lines" = ggplot2::autoplot(picture_fit("interaction"), terms = "wt:gear", n = 11),
    "gg-curve" = ggplot2::autoplot(picture_fit("few"), n = 21),
    "gg-ordinal" = ggplot2::autoplot(picture_fit("ordinal"), n = 11),
    "gg-surface-sd" = ggplot2::autoplot(picture_fit("surface"), n = 5, what = "sd"),
    "gg-map" = ggplot2::autoplot(picture_fit("blank"), map = map)
  ))
})
