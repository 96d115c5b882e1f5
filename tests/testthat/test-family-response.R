# Responses of every family: what is read, and what is refused.

respond <- function(y, family = binomial(), weights = NULL, levels = NULL) {
  family_response(as_galvi_family(family), y, weights, "y", levels)
}
bad_response <- function(y, family, text = NULL, ...) {
  expect_error(respond(y, family, ...), text, class = "galvi_error_response")
}

test_that("all of glm's binomial responses are read", {
  numbers <- respond(c(0, 1, 1))
  expect_equal(numbers[c("y", "size")], list(y = c(0, 1, 1), size = c(1, 1, 1)))
  expect_equal(numbers$levels, c("0", "1"))
  expect_equal(respond(c(TRUE, FALSE))[c("y", "levels")], list(y = c(1, 0), levels = c("FALSE", "TRUE")))
  classes <- respond(factor(c("b", "a", "b")))
  expect_equal(classes[c("y", "levels")], list(y = c(1, 0, 1), levels = c("a", "b")))
  expect_equal(respond(c("no", "yes"))$levels, c("no", "yes"))
  counts <- respond(cbind(c(3, 0, 2), c(1, 0, 2)))
  expect_equal(counts$y, c(3, 0, 2))
  expect_equal(counts$size, c(4, 1, 4))
  expect_equal(counts$weights, c(1, 0, 1))
  # more than the largest integer together
  large <- respond(cbind(c(2000000000L, 1L), c(2000000000L, 2L)))
  expect_identical(large[c("y", "size")], list(y = c(2e9, 1), size = c(4e9, 3)))
  share <- respond(c(0.25, 1, 0), weights = c(4, 2, 3))
  expect_equal(share$y, c(1, 2, 0))
  expect_equal(share$size, c(4, 2, 3))
  expect_equal(share$weights, c(1, 1, 1))
  weighted <- respond(c(0, 1, 1), weights = c(1.5, 2, 0))
  expect_equal(weighted$size, c(1, 1, 1))
  expect_equal(weighted$weights, c(1.5, 2, 0))
})

test_that("the likelihood of grouped and of single trials is glm's", {
  d <- data.frame(x = c(1, 2, 3), s = c(1, 3, 2), n = c(4, 5, 2))
  a <- prepare_model(cbind(s, n - s) ~ x, d, binomial())$model
  b <- prepare_model(s / n ~ x, d, binomial(), args = list(weights = quote(n)))$model
  expect_equal(a[c("y", "size", "weights")], b[c("y", "size", "weights")])
})

test_that("bad binomial, count and gaussian responses are errors of class response", {
  bad_response(c(1, 1, 1), binomial())
  bad_response(factor(c("a", "a"), c("a", "b")), binomial())
  # one level does not tell what the other class is, in a single row too
  bad_response("a", binomial(), "only one class \\(\"a\"\\)")
  bad_response(factor("a"), binomial(), "only one class \\(\"a\"\\)")
  bad_response(factor("b", c("a", "b", "c")), binomial(), "only one class \\(\"b\"\\)")
  expect_identical(respond(factor("b", c("a", "b")))[c("y", "levels")], list(y = 1, levels = c("a", "b")))
  bad_response(factor(c("a", "b", "c")), binomial())
  bad_response(c(-1, 1), binomial())
  bad_response(c(1, 2), binomial())
  bad_response(c(0.5, 1), binomial())
  bad_response(c(0.3, 1), binomial(), weights = c(2, 1))
  bad_response(c(NaN, 1, 0), binomial())
  bad_response(cbind(c(1, -1), c(1, 1)), binomial())
  bad_response(cbind(c(0.5, 1), c(1, 1)), binomial())
  bad_response(cbind(1, 2, 3), binomial())
  bad_response(list(1, 2), binomial())
  for (family in list(poisson(), negbinomial())) {
    bad_response(c(-1, 2), family, "whole numbers from 0; row 1 has -1")
    bad_response(c(0.5, 2), family, "row 1 has 0.5")
    bad_response(c(Inf, 2), family, "finite")
    bad_response(cbind(1:2, 1:2), family, "one column")
  }
  for (family in list(gaussian(), student(), laplace())) {
    bad_response(factor(1:2), family, "binomial\\(\\)")
    bad_response(c("a", "b", "c"), family, "categorical\\(\\)")
    bad_response(c(1, Inf), family)
    bad_response(cbind(1:2, 1:2), family)
  }
  expect_error(respond(c(0, 1), weights = c(-1, 1)), class = "galvi_error_argument")
  expect_error(respond(c(0, 1), weights = c(0, 0)), class = "galvi_error_argument")
  expect_error(respond(c(0, 1), weights = c(NA, 1)), class = "galvi_error_argument")
})

test_that("a single row has one class and is legal; so is one class in new data", {
  expect_equal(respond(1)$y, 1)
  expect_equal(respond(factor("b", c("a", "b")))[c("y", "levels")], list(y = 1, levels = c("a", "b")))
  one <- prepare_model(y ~ x, data.frame(y = factor("b", c("a", "b")), x = 1), binomial())
  expect_equal(one$model$y, 1)
  expect_equal(respond(factor(c("a", "c"), c("a", "b", "c")))$levels, c("a", "c"))
  expect_equal(respond(factor(c("b", "b")), levels = c("a", "b"))$y, c(1, 1))
  expect_error(respond(factor(c("c", "b")), levels = c("a", "b")), class = "galvi_error_newdata")
})

test_that("numbers outside the support are named with their row", {
  for (family in list(Gamma("log"), exponential())) {
    bad_response(c(1, 0, 2), family, "positive.*row 2 has 0")
    bad_response(c(1, 2, -3, -4), family, "row 3 has -3, and 1 more row")
    expect_equal(respond(c(1, 2), family)$y, c(1, 2))
  }
  bad_response(c(0.5, 1.5), beta_family(), "between 0 and 1, both excluded.*row 2 has 1.5")
  bad_response(c(0.5, 0, 1), beta_family(), "row 2 has 0, and 1 more row. With zeros and ones use ordbeta.*n = 3")
  expect_equal(respond(c(0.5, 0.1), beta_family())$y, c(0.5, 0.1))
})

test_that("counts that are all zero are data", {
  for (family in list(poisson(), negbinomial())) expect_equal(respond(c(0, 0, 0), family)$y, c(0, 0, 0))
})

test_that("a volatility response may be 0, but not everywhere", {
  expect_equal(respond(c(0, 1, -2), stochastic_volatility())$y, c(0, 1, -2))
  bad_response(c(0, 0, 0), stochastic_volatility(), "0 in every row")
  bad_response(c(0, 1, 0), stochastic_volatility(), "0 in every row", weights = c(1, 0, 1))
  # new rows say nothing of the fit
  expect_equal(respond(c(0, 0), stochastic_volatility(), levels = character())$y, c(0, 0))
})

test_that("classes are factors, text, logical or whole numbers", {
  for (family in list(categorical(), stick_breaking())) {
    expect_equal(respond(factor(c("b", "a", "c")), family)[c("y", "levels")],
      list(y = c(1, 0, 2), levels = c("a", "b", "c")))
    expect_equal(respond(factor(c("b", "a"), c("b", "a")), family)$levels, c("b", "a"))
    expect_equal(respond(c("b", "a", "b"), family)$y, c(1, 0, 1))
    flags <- respond(c(TRUE, FALSE), family)
    expect_equal(flags[c("y", "levels")], list(y = c(1, 0), levels = c("FALSE", "TRUE")))
    codes <- respond(c(10, 2, 7), family)
    expect_equal(codes[c("y", "levels")], list(y = c(2, 0, 1), levels = c("2", "7", "10")))
    bad_response(c(1, 1.5), family, "whole numbers; row 2 has 1.5")
    bad_response(c("a", "a"), family, "only one class \\(\"a\"\\)")
    bad_response("a", family, "only one class \\(\"a\"\\)")
    bad_response(factor(c("a", "b"), c("a", "b", "c", "d")), family, "levels \"c\", \"d\".*droplevels\\(\\)")
    bad_response(c("a", "b", "c"), family, "level \"b\"", weights = c(1, 0, 1))
    if (family$family == "stick_breaking") bad_response(cbind(c(1, 0), c(0, 1)), family, "`weights`")
    bad_response(complex(3), family, "classes")
    expect_error(respond("d", family, levels = c("a", "b")), "\"d\"", class = "galvi_error_newdata")
    expect_equal(respond(c(7, 2), family, levels = c("2", "7", "10"))$y, c(1, 0))
  }
})

test_that("ordered classes are ordered factors or whole numbers", {
  grades <- factor(c("mid", "low", "high"), c("low", "mid", "high"), ordered = TRUE)
  expect_equal(respond(grades, cumulative())[c("y", "levels")], list(y = c(1, 0, 2), levels = levels(grades)))
  expect_equal(respond(c(3, 1, 2), cumulative())$y, c(2, 0, 1))
  expect_equal(respond(c(3L, 10L), cumulative())$levels, c("3", "10"))
  expect_equal(respond(c(TRUE, FALSE), cumulative())$y, c(1, 0))
  bad_response(
    factor(c("mid", "low")), cumulative(), "factor\\(y, levels = c\\(\"low\", \"mid\"\\), ordered = TRUE\\)"
  )
  bad_response(letters[1:6], cumulative(), "not text.*\"d\", \\.\\.\\.\\)")
  bad_response(c(1, 2.5), cumulative(), "row 2 has 2.5")
  bad_response(cbind(1:3, 3:1), cumulative(), "a class per row")
  bad_response(grades[c(1, 1)], cumulative(), "only one class")
  bad_response(grades[1:2], cumulative(), "level \"high\".*droplevels")
  # held thresholds need no rows to learn from
  held <- cumulative(thresholds = fixed(c(0, 1)))
  expect_equal(respond(grades[c(1, 1)], held)$y, c(1, 1))
  bad_response(factor(c("a", "a"), ordered = TRUE), held, "only one class")
  # any way to write a class will do in new data
  expect_equal(respond(c("low", "mid"), cumulative(), levels = levels(grades))$y, c(0, 1))
})

test_that("subset and missing values may leave a level without rows", {
  d <- data.frame(y = factor(c("a", "b", "c", "a")), x = c(1, 2, 3, 4))
  expect_error(
    prepare_model(y ~ x, d, categorical(), args = list(subset = quote(x < 3))), "level \"c\"",
    class = "galvi_error_response"
  )
  expect_error(
    prepare_model(y ~ x, transform(d, x = replace(x, 2, NA)), categorical()), "level \"b\"",
    class = "galvi_error_response"
  )
})

test_that("the latent values are those of the levels, in their order", {
  latents <- function(family, y = c("a", "b", "c")) {
    d <- prepare_model(y ~ x, data.frame(y, x = seq_along(y)), family)$design
    expect_equal(d$K, max(1L, length(d$response$latents)))
    d$response$latents
  }
  expect_equal(latents(categorical()), c("a", "b", "c"))
  expect_equal(latents(categorical("b")), c("a", "c"))
  expect_equal(latents(categorical(NULL)), c("b", "c"))
  expect_equal(latents(categorical(2), c(1, 2, 3)), c("1", "3"))
  expect_equal(latents(stick_breaking()), c("a", "b"))
  expect_equal(latents(categorical("a"), c("a", "b")), "b")
  expect_null(latents(cumulative(), 1:3))
  expect_error(latents(categorical("d")), "\"a\", \"b\", \"c\", not \"d\"", class = "galvi_error_family")
  constants <- function(family) {
    unlist(prepare_model(y ~ 1, data.frame(y = c("a", "b", "c")), family)$model$likelihood$constants)
  }
  expect_equal(constants(categorical()), c(classes = 3, reference = -1))
  expect_equal(constants(categorical("b")), c(classes = 3, reference = 1))
  expect_equal(constants(stick_breaking()), c(classes = 3))
})
