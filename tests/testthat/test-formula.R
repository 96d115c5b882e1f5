parse <- function(formula, data = mtcars, ...) parse_formula(formula, data, ...)
labels_of <- function(formula, data = mtcars, ...) {
  vapply(parse(formula, data, ...)$specs, `[[`, "", "label", USE.NAMES = FALSE)
}
inputs_of <- function(formula, data = mtcars, ...) {
  vapply(parse(formula, data, ...)$specs[[1L]]$inputs, variable_name, "")
}

test_that("terms, fixed effects and offsets are told apart", {
  parsed <- parse(mpg ~ wt + gp(hp, disp) + offset(log(qsec)) + factor(cyl):wt + gp(drat))
  expect_equal(attr(parsed$fixed, "term.labels"), c("wt", "wt:factor(cyl)"))
  expect_equal(attr(parsed$fixed, "intercept"), 1L)
  expect_equal(unname(vapply(parsed$specs, `[[`, "", "label")), c("gp(hp, disp)", "gp(drat)"))
  expect_equal(parsed$offsets, list(quote(offset(log(qsec)))))
})

test_that("the intercept goes with `0 +` and `- 1`", {
  expect_equal(attr(parse(mpg ~ 0 + gp(hp))$fixed, "intercept"), 0L)
  expect_equal(attr(parse(mpg ~ gp(hp) - 1)$fixed, "intercept"), 0L)
  expect_equal(attr(parse(mpg ~ -1 + gp(hp))$fixed, "intercept"), 0L)
  expect_equal(attr(parse(mpg ~ gp(hp))$fixed, "intercept"), 1L)
  expect_equal(attr(parse(mpg ~ 1 + gp(hp))$fixed, "intercept"), 1L)
})

test_that("parentheses around terms, and galvi:: in front, change nothing", {
  expect_equal(labels_of(mpg ~ wt + (gp(hp) + gp(disp))), c("gp(hp)", "gp(disp)"))
  expect_equal(labels_of(mpg ~ (gp(hp))), "gp(hp)")
  parsed <- parse(mpg ~ galvi::gp(hp, kernel = galvi::matern32()))
  expect_equal(parsed$specs[[1L]]$kernel$type, "matern32")
})

test_that("a dot in gp() is every column that is used nowhere else", {
  d <- mtcars[c("mpg", "wt", "hp", "disp", "qsec", "drat", "cyl")]
  expect_equal(inputs_of(mpg ~ gp(.), d), setdiff(names(d), "mpg"))
  expect_equal(inputs_of(log(mpg) ~ wt + gp(.), d), setdiff(names(d), c("mpg", "wt")))
  expect_equal(inputs_of(mpg ~ gp(.) + gp(log(wt)) + offset(hp), d), c("disp", "qsec", "drat", "cyl"))
  expect_equal(inputs_of(mpg ~ gp(., by = cyl) + I(wt^2), d), c("hp", "disp", "qsec", "drat"))
  expect_equal(inputs_of(cbind(mpg, wt) ~ gp(.), d), c("hp", "disp", "qsec", "drat", "cyl"))
  expect_equal(inputs_of(mpg ~ gp(.), d, elsewhere = c("hp", "cyl")), c("wt", "disp", "qsec", "drat"))
  expect_equal(inputs_of(mpg ~ gp(log(wt), .), d), c("log(wt)", "hp", "disp", "qsec", "drat", "cyl"))
  # `- wt` names wt, so the dot does not have it
  expect_equal(inputs_of(mpg ~ gp(.) - wt, d), c("hp", "disp", "qsec", "drat", "cyl"))
})

test_that("a kernel's arguments are not columns", {
  d <- data.frame(y = 1:3, x = 1:3, k = 1:3, se = 3:1)
  k <- matern52()
  parsed <- parse(y ~ gp(., kernel = k), d)
  expect_equal(parsed$specs[[1L]]$kernel$type, "matern52")
  expect_equal(inputs_of(y ~ gp(., kernel = k), d), c("x", "k", "se"))
  expect_equal(parse(y ~ gp(x, kernel = se()), d)$specs[[1L]]$kernel$type, "se")
})

test_that("galvi's words win over functions of their name; the rest is from the formula's environment", {
  se <- function(...) stop("not this one")
  fixed <- 3
  start <- 2
  spec <- parse(mpg ~ gp(wt, kernel = se(fixed(fixed), lengthscale = start)))$specs[[1L]]
  expect_equal(spec$kernel$settings$variance$value, 3)
  expect_equal(spec$kernel$settings$lengthscale, 2)
  expect_equal(parse(mpg ~ gp(wt, kernel = matern12))$specs[[1L]]$kernel$type, "matern12")
  mine <- list(linear = matern52())
  expect_equal(parse(mpg ~ gp(wt, kernel = mine$linear))$specs[[1L]]$kernel$type, "matern52")
  expect_equal(parse(mpg ~ gp(wt, kernel = galvi::linear))$specs[[1L]]$kernel$type, "linear")
  make <- function() {
    inner <- periodic(12)
    mpg ~ gp(wt, kernel = inner * se())
  }
  expect_equal(parse(make())$specs[[1L]]$kernel$type, "product")
})

test_that("a dot outside terms is what lm() makes of it, less the columns of terms", {
  d <- mtcars[c("mpg", "wt", "hp", "disp")]
  fixed <- function(f, ...) attr(parse(f, d, ...)$fixed, "term.labels")
  expect_equal(fixed(mpg ~ .), c("wt", "hp", "disp"))
  expect_equal(fixed(mpg ~ . - wt), c("hp", "disp"))
  expect_equal(fixed(mpg ~ . + gp(wt)), c("hp", "disp"))
  expect_equal(fixed(mpg ~ . + wt:hp), c("wt", "hp", "disp", "wt:hp"))
  expect_equal(fixed(mpg ~ . + offset(log(hp))), c("wt", "disp"))
  expect_equal(fixed(mpg ~ ., elsewhere = "disp"), c("wt", "hp"))
  both <- parse(mpg ~ wt + . + gp(.), d)
  expect_equal(vapply(both$specs[[1L]]$inputs, variable_name, ""), c("hp", "disp"))
})

test_that("labels name the inputs, and tell terms apart", {
  d <- mtcars[c("mpg", "wt", "hp", "disp")]
  expect_equal(labels_of(mpg ~ gp(.), d), "gp(wt, hp, disp)")
  expect_equal(labels_of(mpg ~ gp(.)), "gp(.)")
  expect_equal(labels_of(mpg ~ gp(wt, by = factor(cyl))), "gp(wt, by = factor(cyl))")
  expect_equal(
    labels_of(mpg ~ gp(wt) + gp(wt, kernel = linear())), c("gp(wt)", "gp(wt, kernel = linear())")
  )
  expect_equal(
    labels_of(mpg ~ gp(wt, kernel = matern32(lengthscale = 9) * cosine(2)) + gp(wt, kernel = matern12(fixed(1)))),
    c("gp(wt, kernel = matern32() * cosine())", "gp(wt, kernel = matern12())")
  )
  expect_equal(
    labels_of(mpg ~ gp(wt, kernel = cosine(1)) + gp(wt, kernel = cosine(2)) + gp(wt, kernel = per_class(se(2)))),
    c("gp(wt, kernel = cosine(1))", "gp(wt, kernel = cosine(2))", "gp(wt, kernel = per_class(se()))")
  )
  expect_equal(labels_of(mpg ~ gp(wt) + gp(wt)), c("gp(wt)", "gp(wt) #2"))
})

test_that("names that are looked up are not those of parts and arguments", {
  expr <- quote(a + d$w * f(x, function(v) v) - stats::pi[i, ] + z[, 1])
  expect_setequal(looked_up(expr), c("a", "d", "x", "i", "z"))
  expect_equal(looked_up(quote(x)), "x")
  expect_equal(looked_up(3), character())
})

test_that("a formula of thousands of columns is read", {
  names <- paste0("x", 1:3000)
  f <- stats::as.formula(paste("y ~", paste(names, collapse = " + "), "+ gp(z)"))
  expect_length(summands(f[[3L]]), 3001L)
})

test_that("what belongs to other packages is named with galvi's way", {
  expect_error(parse(mpg ~ lo(wt)), "s(wt)", fixed = TRUE, class = "galvi_error_formula")
  for (f in list(mpg ~ te(wt, .), mpg ~ f(wt), mpg ~ car(wt), mpg ~ (0 | cyl), mpg ~ wt * gp(hp),
    mpg ~ wt:gp(hp), mpg ~ se(wt), mpg ~ log(gp(wt)), mpg ~ 1 | cyl, mpg ~ wt - gp(hp), ~ gp(wt))) {
    expect_error(parse(f), class = "galvi_error_formula")
  }
})

test_that("update() knows the columns of a dot, and a dot without a group says what holds anyway", {
  set.seed(1)
  d <- data.frame(x = rnorm(30), z = rnorm(30), g = gl(3, 10))
  d$y <- d$x + rnorm(30)
  fit <- galvi(y ~ ., d)
  expect_identical(formula(update(fit, . ~ . - g)), y ~ x + z, ignore_formula_env = TRUE)
  expect_named(coef(update(fit, . ~ . + I(x^2))), c("(Intercept)", "x", "z", "g2", "g3", "I(x^2)"))
  expect_no_warning(grouped <- galvi(y ~ . - g + (1 | g), d))
  expect_named(coef(grouped), c("(Intercept)", "x", "z"))
  expect_identical(formula(update(grouped, . ~ . - z)), y ~ x + (1 | g), ignore_formula_env = TRUE)
  inside <- galvi(y ~ gp(.), d[c("x", "z", "y")], hyper = "fixed")
  expect_identical(formula(update(inside, . ~ . + 1)), y ~ gp(.), ignore_formula_env = TRUE)
})
