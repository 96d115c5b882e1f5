# The front ends: all ways to say the same give the same fit.

quick <- function(...) galvi(..., hyper = "fixed", verbose = FALSE)
same_fit <- function(a, b, tolerance = 1e-10) {
  expect_equal(a$elbo, b$elbo, tolerance = tolerance)
  expect_equal(a$posterior$mean, b$posterior$mean, tolerance = tolerance)
}

test_that("formula and data in any order and by any name", {
  d <- data.frame(y = c(1.5, 2, 4, 3, 5, 6), x = c(1, 2, 3, 5, 4, 6))
  first <- quick(y ~ gp(x), d)
  same_fit(first, quick(y ~ gp(x), data = d))
  same_fit(first, quick(formula = y ~ gp(x), data = d))
  same_fit(first, quick(data = d, formula = y ~ gp(x)))
  same_fit(first, quick(family = gaussian(), formula = y ~ gp(x), data = d))
  same_fit(first, quick(d, y ~ gp(x)))
  same_fit(first, quick(d, formula = y ~ gp(x)))
  same_fit(first, quick(as.matrix(d), y ~ gp(x)))
  same_fit(first, quick(x = y ~ gp(x), data = d))
  same_fit(first, with(d, quick(y ~ gp(x))))
  f <- y ~ gp(x)
  same_fit(first, quick(f, d))
  same_fit(first, do.call(quick, list(f, quote(d))))
  expect_equal(formula(quick(d, y ~ gp(x))), y ~ gp(x), ignore_formula_env = TRUE)
})

test_that("the call is recorded with the formula in its place", {
  d <- data.frame(y = c(1.5, 2, 4, 3, 5, 6), x = c(1, 2, 3, 5, 4, 6))
  call <- galvi(d, y ~ gp(x), hyper = "fixed", verbose = FALSE)$call
  expect_identical(call[[1L]], quote(galvi))
  expect_identical(call$formula, quote(y ~ gp(x)))
  expect_identical(call$data, quote(d))
  expect_identical(galvi::galvi(y ~ gp(x), d, hyper = "fixed", verbose = FALSE)$call[[1L]], quote(galvi))
})

test_that("x, y is y ~ gp(.) over the columns of x", {
  x <- data.frame(a = c(1, 2, 3, 5, 4, 6), b = c(2, 1, 4, 3, 6, 5))
  y <- c(1.5, 2, 4, 3, 5, 6)
  by_formula <- quick(y ~ gp(a, b, kernel = matern32()), cbind(x, y))
  by_columns <- quick(x, y, kernel = matern32())
  same_fit(by_formula, by_columns)
  same_fit(by_columns, quick(as.matrix(x), y, kernel = matern32()))
  same_fit(quick(y ~ 0 + gp(a, b), cbind(x, y)), quick(x, y, intercept = FALSE))
  expect_equal(predict(by_columns, x), predict(by_formula, x))
  unnamed <- quick(unname(as.matrix(x)), y)
  again <- predict(unnamed, unname(as.matrix(x))[2:3, ])
  expect_equal(again, unname(fitted(unnamed)[2:3]), ignore_attr = TRUE)
  # a column called y is a column
  z <- cbind(x, y = 6:1)
  expect_equal(quick(z, y)$design$specs[[2L]]$input_names, c("a", "b", "y"))
})

test_that("weights, offset and subset are expressions of the data in every front end", {
  d <- data.frame(y = c(1.5, 2, 4, 3, 5, 6), x = c(1, 2, 3, 5, 4, 6), w = c(1, 2, 1, 1, 1, 1))
  twice <- d[c(1, 2, 2, 3:6), ]
  held <- se(fixed(4), fixed(2))
  family <- galvi_family("gaussian", variance = fixed(0.5))
  prior <- normal(0, 3)
  a <- quick(y ~ 0 + gp(x, kernel = held), d, family = family, weights = frequency(w))
  b <- quick(y ~ 0 + gp(x, kernel = held), twice, family = family)
  expect_equal(a$elbo, b$elbo, tolerance = 1e-8)
  c <- galvi(
    d["x"], d$y, kernel = held, intercept = FALSE, family = family, weights = frequency(d$w), hyper = "fixed",
    verbose = FALSE
  )
  same_fit(a, c)
  part <- quick(y ~ x, d, subset = x > 2)
  expect_equal(nobs(part), 4L)
  wrapper <- function(data, ...) galvi(y ~ x, data, ..., hyper = "fixed", verbose = FALSE)
  same_fit(wrapper(d, weights = w), quick(y ~ x, d, weights = w))
})

test_that("galvi works without being attached", {
  skip_on_cran()
  skip_if(!file.exists(file.path(system.file(package = "galvi"), "Meta")), "galvi is not installed")
  code <- paste(
    "f <- galvi::galvi(dist ~ gp(speed, kernel = se(fixed(100)) + linear()), data = cars, verbose = FALSE,",
    "prior = galvi::normal(0, 1)); stopifnot(is.finite(f$elbo), !'package:galvi' %in% search());",
    "p <- predict(f, cars[1:2, ]); cat('unattached')"
  )
  env <- paste0("R_LIBS=", shQuote(paste(.libPaths(), collapse = .Platform$path.sep)))
  out <- system2(file.path(R.home("bin"), "Rscript"), c("-e", shQuote(code)), stdout = TRUE, env = env)
  expect_match(out, "unattached", all = FALSE)
})

test_that("refusals of the core have galvi's classes", {
  d <- data.frame(n = c(0, 1, 3, 2, 5, 4), x = c(1, 2, 3, 5, 4, 6))
  expect_error(quick(n ~ gp(x), d, family = poisson(), method = "exact"), class = "galvi_error_method")
})

test_that("a factor goes with columns as with a formula, and so do its classes", {
  x <- iris[c(1:8, 51:58, 101:108), 1:2]
  y <- iris$Species[c(1:8, 51:58, 101:108)]
  held <- se(fixed(4), fixed(1.5))
  by_columns <- quick(x, y, family = stick_breaking(), kernel = held)
  formula <- y ~ gp(Sepal.Length, Sepal.Width, kernel = held)
  by_formula <- quick(formula, cbind(x, y), family = "stick_breaking")
  same_fit(by_columns, by_formula)
  expect_equal(by_columns$design$response$levels, levels(y))
  expect_equal(by_columns$design$response$latents, c("setosa", "versicolor"))
  text <- quick(x, as.character(y), family = stick_breaking, kernel = held)
  same_fit(text, by_columns)
  weighted <- quick(x, y, family = stick_breaking(), kernel = held, offset = cbind(0, Sepal.Width))
  expect_gt(abs(weighted$elbo - by_columns$elbo), 1e-3)
})

test_that("the table of methods has every combination and a reason for each that does not run", {
  table <- galvi_methods()
  expect_s3_class(table, "galvi_methods")
  expect_setequal(unique(table$family), names(family_types))
  expect_setequal(unique(table$method), inference_facts()$name)
  expect_true(all(nzchar(table$reason) == !table$runs))
  # what a reason names runs in its place
  key <- function(t, method = t$method) paste(t$family, t$link, t$prior, t$expectation, method)
  named <- regmatches(table$reason, regexpr("; use [a-z_]+", table$reason))
  advised <- table[grepl("; use [a-z_]+", table$reason), ]
  method <- sub("; use ", "", named)
  other <- method %in% inference_facts()$name
  expect_true(all(key(advised, method)[other] %in% key(table)[table$runs]))
  expect_setequal(unique(method[!other]), c("auto", "expectation"))
  # every family has an exact expectation, with both kinds of prior
  exact <- table[table$method == "natural_gradient" & table$expectation %in% c("closed_form", "quadrature"), ]
  expect_true(all(tapply(exact$runs, paste(exact$family, exact$link, exact$prior), any)))
  expect_false(any(table$runs[table$method == "exact" & table$family != "gaussian"]))
  expect_output(print(table), "Why not")
})

test_that("every expectation runs with the families that its form is for, and with no other", {
  table <- galvi_methods()
  runs <- function(expectation) {
    sort(unique(table$family[table$runs & table$expectation == expectation]))
  }
  expect_setequal(unique(table$expectation), expectation_facts()$name)
  sigmoids <- c("binomial", "cratio", "cumulative", "loglogistic", "negbinomial", "sratio", "stick_breaking")
  facts <- likelihood_facts()
  has_closed_form <- function(type) any(facts$closed_form[match(type$links, facts$type)])
  closed <- names(Filter(has_closed_form, family_types))
  expect_equal(runs("closed_form"), sort(closed))
  # a kink is not for nodes
  expect_equal(runs("quadrature"), sort(setdiff(names(family_types), c("asymmetric_laplace", "laplace"))))
  for (name in c("piecewise", "jaakkola")) expect_equal(runs(name), sigmoids)
  expect_equal(runs("log"), sort(c("categorical", sigmoids)))
  for (name in c("bouchard", "bouchard_jaakkola", "bouchard_piecewise")) {
    expect_equal(runs(name), "categorical")
  }
  expect_equal(runs("two_stage"), c("binomial", "cratio", "sratio"))
  expect_equal(runs("super_gaussian"), c("laplace", "student"))
  expect_setequal(expectation_facts()$name, c(
    "closed_form", "quadrature", "piecewise", "log", "jaakkola", "bouchard", "bouchard_jaakkola",
    "bouchard_piecewise", "taylor", "two_stage", "super_gaussian"
  ))
})

test_that("settings reach the expectation", {
  d <- data.frame(y = c(0, 1, 1, 0, 1, 0), x = c(1, 2, 3, 5, 4, 6))
  bound <- function(pieces) {
    quick(y ~ gp(x), d, family = binomial(), expectation = "piecewise", control = list(pieces = pieces))$elbo
  }
  exact <- quick(y ~ gp(x), d, family = binomial())$elbo
  expect_lt(bound(3), bound(20))
  expect_lt(bound(20), exact)
})

test_that("the table of methods of one family is that part of the whole table", {
  table <- galvi_methods()
  own <- galvi_methods(binomial("probit"))
  part <- table[table$family == "binomial" & table$link == "probit", ]
  expect_equal(as.data.frame(own), as.data.frame(part), ignore_attr = TRUE)
  expect_equal(unique(galvi_methods("poisson")$family), "poisson")
  expect_error(galvi_methods("poison"), "poisson", class = "galvi_error_family")
  own_density <- custom_family("half", function(y, eta) dnorm(y, eta, 0.5, log = TRUE))
  expect_error(galvi_methods(own_density), "custom_family", class = "galvi_error_family")
})
