respond <- function(y, family = binomial(), weights = NULL, levels = NULL) {
  family_response(as_galvi_family(family), y, weights, "y", levels)
}

test_that("names, functions and objects are families", {
  for (f in list("binomial", binomial, binomial(), galvi_family("binomial"))) {
    family <- as_galvi_family(f)
    expect_equal(family$family, "binomial")
    expect_equal(family$link, "logit")
    expect_s3_class(family, c("galvi_family", "family"), exact = TRUE)
  }
  expect_equal(as_galvi_family(binomial("probit"))$link, "probit")
  expect_equal(as_galvi_family(gaussian)$link, "identity")
  expect_equal(as_galvi_family(poisson())$linkinv(0), 1)
  expect_equal(galvi_family("binomial", link = "probit")$link, "probit")
})

test_that("families of brms, mgcv and MASS are translated or refused by name", {
  brms <- function(family, link) {
    structure(list(family = family, link = link), class = c("brmsfamily", "family"))
  }
  translated <- as_galvi_family(brms("bernoulli", "probit"))
  expect_equal(translated[c("family", "link")], list(family = "binomial", link = "probit"))
  refused <- function(f, text) expect_error(as_galvi_family(f), text, class = "galvi_error_family")
  refused(brms("student", "identity"), "student.*not available in this version")
  refused(brms("cumulative", "logit"), "cumulative")
  skip_if_not_installed("mgcv")
  skip_if_not_installed("MASS")
  refused(mgcv::nb(), "negbinomial")
  refused(mgcv::ocat(R = 4), "cumulative")
  refused(mgcv::scat(), "student")
  refused(mgcv::betar(), "beta_family")
  refused(MASS::negative.binomial(2), "negbinomial")
})

test_that("links and families that cannot be are refused by name", {
  refused <- function(f, text) expect_error(as_galvi_family(f), text, class = "galvi_error_family")
  refused(binomial("cloglog"), "cloglog")
  refused(quasibinomial(), "binomial\\(\\)")
  refused(quasipoisson(), "poisson\\(\\)")
  refused(quasi(), "quasi")
  refused(Gamma(), "inverse link")
  refused(Gamma("log"), "not available in this version")
  refused(inverse.gaussian(), "inverse.gaussian")
  refused(gaussian("log"), "identity")
  refused("binomail", "Did you mean `binomial`")
  refused(3, "must be a family")
  refused(function() stop("broken"), "broken")
})

test_that("parameters start, are held or have a prior", {
  b <- function(family, y = mtcars$mpg) prepare_model(y ~ 1, data.frame(y = y), family)$model
  learned <- b(gaussian())
  at <- learned$likelihood$hyper$variance
  expect_equal(learned$hyper$name[at], "gaussian.variance")
  expect_equal(learned$hyper$value[at], var(mtcars$mpg) / 2)
  expect_equal(c(learned$hyper$lower[at], learned$hyper$upper[at]), c(1e-8, 1e2) * var(mtcars$mpg))
  expect_true(learned$hyper$learned[at])
  held <- b(galvi_family(gaussian(), variance = fixed(0)))
  expect_equal(held$hyper$value[at], 0)
  expect_false(held$hyper$learned[at])
  map <- b(galvi_family("gaussian", variance = gamma_prior(2, 3)))
  expect_equal(map$hyper$prior[[at]]$type, "gamma_prior")
  expect_equal(b(gaussian(), rep(2, 5))$hyper$value[at], 0.5)
  expect_error(galvi_family("gaussian", varaince = 1), "varaince", class = "galvi_error_family")
  expect_error(galvi_family("gaussian", variance = -1), class = "galvi_error_family")
  expect_error(galvi_family("gaussian", 1), class = "galvi_error_family")
  expect_error(galvi_family("poisson", variance = 1), "none", class = "galvi_error_family")
})

test_that("a family with parameters can be given another link or none", {
  f <- galvi_family(galvi_family("gaussian", variance = fixed(2)))
  expect_equal(f$parameters$variance$value, 2)
})

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

test_that("bad responses are errors of class response", {
  bad <- function(...) expect_error(respond(...), class = "galvi_error_response")
  bad(c(1, 1, 1))
  bad(factor(c("a", "a"), c("a", "b")))
  bad(factor(c("a", "b", "c")))
  bad(c(-1, 1))
  bad(c(1, 2))
  bad(c(0.5, 1))
  bad(c(0.3, 1), weights = c(2, 1))
  bad(c(NaN, 1, 0))
  bad(cbind(c(1, -1), c(1, 1)))
  bad(cbind(c(0.5, 1), c(1, 1)))
  bad(cbind(1, 2, 3))
  bad(list(1, 2))
  bad(c(-1, 2), poisson())
  bad(c(0.5, 2), poisson())
  bad(c(Inf, 2), poisson())
  bad(factor(1:2), gaussian())
  bad(c("a", "b"), gaussian())
  bad(c(1, Inf), gaussian())
  bad(cbind(1:2, 1:2), gaussian())
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
