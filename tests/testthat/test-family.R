# What a user may call a family, and what comes of it.

family_refused <- function(family, text) {
  expect_error(as_galvi_family(family), text, class = "galvi_error_family")
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

test_that("every family is made by its constructor, its name and galvi_family() alike", {
  own <- c(
    mget(intersect(names(family_types), getNamespaceExports("galvi")), asNamespace("galvi")),
    zero_inflated_poisson = zero_inflated, hurdle_poisson = hurdle,
    zero_inflated_negbinomial = function() zero_inflated(negbinomial),
    zero_inflated_binomial = function() zero_inflated("binomial"), hurdle_binomial = function() hurdle("binomial"),
    hurdle_negbinomial = function() hurdle(negbinomial()),
    zero_inflated_nbinom1 = function() zero_inflated(nbinom1), hurdle_nbinom1 = function() hurdle("nbinom1"),
    hurdle_gamma = function() hurdle(Gamma("log")),
    hurdle_lognormal = function() hurdle(lognormal), weibull_ph = function() weibull(form = "ph")
  )
  base <- list(gaussian = gaussian, binomial = binomial, poisson = poisson, Gamma = function() Gamma("log"),
    inverse.gaussian = function() inverse.gaussian("log"))
  expect_setequal(c(names(own), names(base)), names(family_types))
  for (name in names(own)) {
    made <- own[[name]]()
    expect_s3_class(made, c("galvi_family", "family"), exact = TRUE)
    for (same in list(as_galvi_family(own[[name]]), as_galvi_family(name), galvi_family(name))) {
      expect_equal(same, made, ignore_function_env = TRUE, info = name)
    }
  }
  for (name in names(base)) {
    made <- as_galvi_family(base[[name]])
    expect_equal(made$family, name)
    expect_equal(galvi_family(name), made, ignore_function_env = TRUE)
  }
})

test_that("every family prints, survives saveRDS and says what it holds", {
  for (name in names(family_types)) {
    family <- galvi_family(name)
    expect_output(print(family), paste("Family:", name))
    file <- local_file()
    saveRDS(family, file)
    expect_equal(readRDS(file), family, ignore_function_env = TRUE)
  }
  expect_output(print(student()), "df: fixed\\(4\\)\nscale: learned, from a start taken from the data")
  expect_output(print(student(6, fixed(2))), "df: learned, from 6\nscale: fixed\\(2\\)")
  expect_output(print(negbinomial(log_normal(0, 1))), "size: log_normal\\(0, 1\\)")
  expect_output(print(cumulative(thresholds = fixed(c(-1, 0.5)))), "thresholds: fixed\\(-1.0, 0.5\\)")
  expect_output(print(categorical("a")), "refcat: \"a\"")
  expect_output(print(categorical()), "refcat: none")
  expect_output(print(asymmetric_laplace(0.9)), "quantile: 0.9")
  expect_output(print(galvi(mpg ~ wt, mtcars, tweedie(1.4))), "Family: tweedie (log link, power 1.4)", fixed = TRUE)
})

test_that("links and families that cannot be are refused by name", {
  family_refused(binomial("log"), "avg_comparisons.*for risk ratios")
  family_refused(quasibinomial(), "beta_binomial\\(\\)")
  family_refused(quasipoisson(), "negbinomial\\(\\)")
  family_refused(quasi(), "quasi")
  family_refused(Gamma(), "inverse link.*Gamma\\(\"log\"\\)")
  family_refused(Gamma, "inverse link")
  family_refused(Gamma("identity"), "Gamma\\(\"log\"\\)")
  family_refused(inverse.gaussian(), "1/mu\\^2 link.*inverse.gaussian\\(\"log\"\\)")
  family_refused(gaussian("inverse"), "pole")
  family_refused("binomail", "Did you mean `binomial`")
  family_refused(3, "must be a family")
  family_refused(function() stop("broken"), "broken")
  expect_error(cumulative("log"), "\"logit\", \"probit\"", class = "galvi_error_family")
  expect_error(galvi_family("laplace", link = "log"), "laplace\\(\\)", class = "galvi_error_family")
  expect_error(acat("probit"), "\"logit\"", class = "galvi_error_family")
  expect_error(cumulative(2), class = "galvi_error_family")
})

test_that("parameters that are not legal are errors when the family is made", {
  bad <- function(family, text) expect_error(family, text, class = "galvi_error_family")
  bad(galvi_family("gaussian", varaince = 1), "varaince")
  bad(galvi_family("gaussian", variance = -1), "`variance`")
  bad(galvi_family("gaussian", 1), "need names")
  bad(galvi_family("poisson", variance = 1), "none")
  bad(student(df = 0), "`df` must be a positive number, not 0")
  bad(student(df = fixed(-1)), "`df`")
  bad(student(scale = 0), "`scale`")
  bad(laplace(fixed(0)), "`scale` must be a positive number")
  bad(laplace(c(1, 2)), "`scale`")
  for (q in list(0, 1, -1, NaN, "a", c(0.1, 0.9), fixed(0.5))) {
    bad(asymmetric_laplace(q), "`quantile` must be a number between 0 and 1")
  }
  bad(negbinomial("a"), "`size`")
  bad(beta_family(Inf), "`precision`")
  bad(beta_family(pc(1)), "not a variance")
  bad(negbinomial(normal(0, 1)), "log_normal")
  bad(cumulative(thresholds = fixed(c(1, 1))), "must increase: 1 is followed by 1")
  bad(cumulative(thresholds = c(2, -1)), "must increase: 2 is followed by -1")
  bad(cumulative(thresholds = c(1, NA)), "increasing numbers")
  bad(cumulative(thresholds = "low"), "increasing numbers")
  bad(cumulative(thresholds = learn(1)), "increasing numbers")
  bad(categorical(c("a", "b")), "`refcat`")
  bad(categorical(list("a")), "`refcat`")
})

test_that("a family with parameters can be given another link or more parameters", {
  f <- galvi_family(galvi_family("gaussian", variance = fixed(2)))
  expect_equal(f$parameters$variance$value, 2)
  both <- galvi_family(student(df = 5), scale = fixed(2))
  expect_equal(both$parameters$df, 5)
  expect_equal(both$parameters$scale, fixed(2))
  probit <- galvi_family(cumulative(thresholds = c(0, 1)), link = "probit")
  expect_equal(probit$parameters$thresholds, c(0, 1))
  expect_equal(galvi_family(categorical("a"))$options$refcat, "a")
  expect_equal(galvi_family("categorical", refcat = 2)$options$refcat, "2")
})

test_that("geometric() is R's geometric distribution", {
  d <- data.frame(y = c(0, 1, 2, 5, 9))
  fit <- galvi(y ~ 1, d, geometric(), prior = list(intercept = normal(log(2), 1e-6)))
  expect_equal(unname(predict(fit, d, type = "density")), dgeom(d$y, 1 / 3, log = TRUE), tolerance = 1e-5)
})
