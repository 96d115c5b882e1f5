# Families of brms, mgcv and MASS.

brms_family <- function(family, link, ...) {
  structure(list(family = family, link = link, ...), class = c("brmsfamily", "family"))
}

expect_translated <- function(object, family, link, parameters = list()) {
  ours <- as_galvi_family(object)
  expect_s3_class(ours, "galvi_family")
  expect_equal(ours[c("family", "link")], list(family = family, link = link))
  expect_equal(unname(ours$parameters), unname(parameters))
  expect_identical(as.character(names(ours$parameters)), as.character(names(parameters)))
  ours
}

foreign_refused <- function(object, text) {
  expect_error(as_galvi_family(object), text, class = "galvi_error_family")
}

test_that("families of brms are translated by name and link", {
  expect_translated(brms_family("gaussian", "identity"), "gaussian", "identity")
  expect_translated(brms_family("bernoulli", "probit"), "binomial", "probit")
  expect_translated(brms_family("poisson", "log"), "poisson", "log")
  expect_translated(brms_family("negbinomial", "log", link_shape = "log"), "negbinomial", "log")
  expect_translated(brms_family("geometric", "log"), "negbinomial", "log", list(size = fixed(1)))
  expect_translated(brms_family("student", "identity"), "student", "identity", list(df = 4))
  expect_translated(brms_family("gamma", "log"), "Gamma", "log")
  expect_translated(brms_family("exponential", "log"), "exponential", "log")
  expect_translated(brms_family("beta", "logit"), "beta_family", "logit")
  for (link in c("probit", "cloglog", "cauchit")) {
    for (name in c("cumulative", "sratio", "cratio")) {
      expect_translated(brms_family(name, link, threshold = "flexible"), name, link)
    }
  }
  expect_translated(brms_family("acat", "logit", threshold = "flexible"), "acat", "logit")
  expect_translated(brms_family("cumulative", "probit", threshold = "flexible"), "cumulative", "probit")
  expect_translated(brms_family("exgaussian", "identity"), "exgaussian", "identity")
  expect_translated(brms_family("skew_normal", "identity"), "skew_normal", "identity")
  expect_translated(brms_family("zero_one_inflated_beta", "logit"), "zero_one_inflated_beta", "logit")
  expect_translated(list(family = "ordbeta", link = "logit"), "ordbeta", "logit")
})

test_that("the reference of brms's categorical is kept", {
  refcat <- function(...) as_galvi_family(brms_family("categorical", "logit", ...))$options$refcat
  expect_identical(refcat(refcat = "b"), "b")
  expect_true(is.na(refcat(refcat = NA)))
  # brms takes the first level without a word
  first <- as_galvi_family(brms_family("categorical", "logit"))
  expect_identical(categorical_latents(c("a", "b", "c"), first), c("b", "c"))
})

test_that("families of brms without a counterpart are refused with what to use", {
  foreign_refused(brms_family("acat", "probit"), "acat\\(\"logit\"\\)")
  foreign_refused(brms_family("sratio", "logit", threshold = "equidistant"), "use sratio\\(\\)")
  foreign_refused(brms_family("cumulative", "logit", threshold = "equidistant"), "equidistant")
  foreign_refused(brms_family("mixture", "identity"), "custom_family\\(\\)")
  foreign_refused(brms_family("gamma", "inverse"), "Gamma\\(\"log\"\\)")
  foreign_refused(brms_family("zero_inflated_beta", "logit"), "zero_one_inflated_beta\\(\\).*ordbeta\\(\\)")
  foreign_refused(brms_family("hurdle_cumulative", "logit"), "hurdle\\(\\)")
  foreign_refused(brms_family("asym_laplace", "identity"), "asymmetric_laplace\\(quantile = 0.5\\)")
  foreign_refused(brms_family("von_mises", "tan_half"),
    "default of brms.: use von_mises\\(\\), the model of brms::von_mises\\(\"identity\"\\)")
  expect_translated(brms_family("von_mises", "identity"), "von_mises", "identity")
  expect_translated(brms_family("multinomial", "logit"), "categorical", "logit")
  foreign_refused(brms_family("frechet", "log"), "Gamma")
  foreign_refused(brms_family("exgaussian", "log"), "identity")
})

test_that("`threshold` of brms and ordinal is understood by our families", {
  for (ours in list(cumulative, sratio, cratio, acat)) {
    expect_identical(ours(threshold = "flexible"), ours())
    expect_error(ours(threshold = "equidistant"), "\"equidistant\" is not available.*whose thresholds are free",
      class = "galvi_error_family")
  }
})

test_that("parameters that brms::bf() fixes are those of the family of the call", {
  d <- data.frame(x = 1:20, y = rnorm(20), count = rpois(20, 2), share = runif(20), time = rexp(20))
  fixes <- function(formula, ...) structure(list(formula = formula, pfix = list(...)), class = c("brmsformula", "bform"))
  advised <- function(formula, family) {
    call <- str2lang(sub(".* In full: (.*)[.]$", "\\1", message_of_error(galvi(formula, d, family))))
    fit <- suppressMessages(eval(call))
    expect_s3_class(fit, "galvi")
    list(call = call, hyper = stats::setNames(fit$hyper$estimate, fit$hyper$name), coef = coef(fit))
  }
  number <- function(formula, family, ...) advised(fixes(formula, ...), family)$hyper
  expect_identical(number(y ~ x, gaussian(), sigma = 2)[["gaussian.variance"]], 4)
  expect_identical(number(y ~ x, student(), sigma = 2, nu = 5)[c("student.scale", "student.df")],
    c(student.scale = 2, student.df = 5))
  expect_identical(number(time ~ x, lognormal(), sigma = 0.5)[["lognormal.sigma"]], 0.5)
  expect_identical(number(time ~ x, Gamma("log"), shape = 3)[["Gamma.shape"]], 3)
  expect_identical(number(time ~ x, weibull(), shape = 3)[["weibull.shape"]], 3)
  expect_identical(number(share ~ x, beta_family(), phi = 3)[["beta_family.precision"]], 3)
  expect_identical(number(count ~ x, negbinomial(), shape = 3)[["negbinomial.size"]], 3)
  expect_identical(number(y ~ x, von_mises(), kappa = 2)[["von_mises.kappa"]], 2)
  quantile <- advised(fixes(y ~ x, quantile = 0.25), asymmetric_laplace())$call
  expect_identical(quantile$family, quote(galvi_family("asymmetric_laplace", quantile = 0.25)))
  # a parameter that is no number
  zeros <- advised(fixes(count ~ x, zi = 0.1, shape = 3), zero_inflated(negbinomial()))
  expect_equal(zeros$coef[["zi_(Intercept)"]], qlogis(0.1), tolerance = 1e-4)
  expect_identical(zeros$hyper[["zero_inflated_negbinomial.size"]], 3)
  expect_error(galvi(fixes(y ~ x, bias = 0.5), d), "`formula` fixes `bias`, which the gaussian family does not have",
    class = "galvi_error_formula")
  expect_error(galvi(fixes(factor(count) ~ x, disc = 1), d, cumulative()), "which is 1 without a formula: leave it out",
    class = "galvi_error_formula")
})

test_that("nbinom2 is negbinomial() here, also within other families", {
  d <- data.frame(x = 1:20, y = rpois(20, 2))
  said <- message_of_error(galvi(y ~ x, d, zero_inflated(nbinom2())))
  expect_match(said, "In galvi it is negbinomial().", fixed = TRUE)
})

test_that("survival families of brms are ours", {
  expect_translated(brms_family("weibull", "log"), "weibull", "log")
  expect_translated(brms_family("lognormal", "identity"), "lognormal", "log")
})

test_that("families of mgcv are translated with what they hold", {
  skip_if_not_installed("mgcv")
  expect_translated(mgcv::nb(), "negbinomial", "log")
  expect_translated(mgcv::nb(theta = -2), "negbinomial", "log")
  expect_translated(mgcv::nb(theta = 2), "negbinomial", "log", list(size = fixed(2)))
  expect_translated(mgcv::nb, "negbinomial", "log")
  expect_translated(mgcv::negbin(3), "negbinomial", "log", list(size = fixed(3)))
  expect_translated(mgcv::ocat(R = 4), "cumulative", "logit")
  held <- mgcv::ocat(theta = c(1, 2))
  expect_translated(held, "cumulative", "logit", list(thresholds = fixed(c(-1, 0, 2))))
  # there is no lower limit of df here
  expect_message(expect_translated(mgcv::scat(), "student", "identity", list(df = 4)), "min.df = 3.*log[(]9[)]",
    class = "galvi_message_family")
  expect_message(as_galvi_family(mgcv::scat(min.df = 5)), "min.df = 5.*log[(]15[)]")
  expect_no_message(expect_translated(
    mgcv::scat(theta = c(5, 2)), "student", "identity", list(df = fixed(5), scale = fixed(2))
  ))
  expect_no_message(as_galvi_family(brms_family("student", "identity")))
  expect_translated(mgcv::betar(), "beta_family", "logit")
  expect_translated(mgcv::betar(theta = 3), "beta_family", "logit", list(precision = fixed(3)))
  expect_equal(expect_translated(mgcv::multinom(2), "categorical", "logit")$options$refcat, 1L)
  foreign_refused(mgcv::nb(link = "sqrt"), "negbinomial\\(\\)")
  foreign_refused(mgcv::betar(link = "probit"), "beta_family\\(\\)")
  expect_translated(mgcv::tw(), "tweedie", "log", list(power = learn(1.5)))
  expect_translated(mgcv::tw(theta = 1.6), "tweedie", "log", list(power = fixed(1.6)))
  expect_translated(mgcv::Tweedie(1.3, "log"), "tweedie", "log", list(power = fixed(1.3)))
  foreign_refused(mgcv::ziP(), "hurdle\\(poisson\\(\\)\\), or zero_inflated\\(poisson")
  foreign_refused(mgcv::ziplss(), "hurdle\\(poisson\\(\\)\\) with list\\(y ~ x, hu ~ z\\)")
  foreign_refused(mgcv::gaulss(), "sigma ~ x")
  foreign_refused(mgcv::gammals(), "shape ~ x.*Gamma")
  foreign_refused(mgcv::twlss(), "phi ~ x.*tweedie")
  foreign_refused(mgcv::shash(), "skew_normal\\(\\).*student\\(\\)")
  foreign_refused(mgcv::gumbls(), "does not have its likelihood")
  foreign_refused(mgcv::mvn(2), "mvbind\\(y1, y2\\).*gaussian\\(\\)")
  expect_match(family_hint("mvn"), "mvbind")
  foreign_refused(structure(list(family = "censored normal", link = "identity"), class = "family"), "survival::Surv")
})

test_that("families of glmmTMB are translated", {
  skip_if_not_installed("glmmTMB")
  expect_translated(glmmTMB::nbinom1(), "nbinom1", "log")
  expect_translated(glmmTMB::nbinom2(), "negbinomial", "log")
  expect_translated(glmmTMB::tweedie(), "tweedie", "log")
  expect_translated(glmmTMB::compois(), "compois", "log")
  expect_translated(glmmTMB::betabinomial(), "beta_binomial", "logit")
  expect_translated(glmmTMB::beta_family(), "beta_family", "logit")
  foreign_refused(glmmTMB::truncated_poisson(), "trunc\\(lb = 1\\).*poisson\\(\\)")
  foreign_refused(glmmTMB::truncated_nbinom1(), "trunc\\(lb = 1\\).*nbinom1\\(\\).*hurdle")
  foreign_refused(glmmTMB::genpois(), "no finite bound exists.*compois\\(\\)")
  foreign_refused(structure(list(family = "com_poisson", link = "log"), class = "family"), "mu is not the mean")
  foreign_refused(structure(list(family = "gen_extreme_value", link = "identity"), class = "family"), "no finite bound")
})

test_that("links without a finite bound are refused with the way round", {
  foreign_refused(stats::poisson("identity"), "could turn negative.*poisson\\(\"log\"\\), or link = \"softplus\"")
  foreign_refused(stats::poisson("sqrt"), "softplus")
  foreign_refused(stats::Gamma("identity"), "softplus")
  foreign_refused(stats::Gamma(), "could turn negative")
  foreign_refused(stats::binomial("log"), "exceed 1.*avg_comparisons")
  foreign_refused(stats::gaussian("inverse"), "pole")
})

test_that("MASS's negative binomial keeps its theta", {
  skip_if_not_installed("MASS")
  expect_message(
    expect_translated(MASS::negative.binomial(2), "negbinomial", "log", list(size = fixed(2))), "fixed at 2, the theta",
    class = "galvi_message_family"
  )
  foreign_refused(MASS::negative.binomial(2, link = "identity"), "negbinomial\\(\\)")
  # nothing in its family says that theta is an estimate
  fit <- MASS::glm.nb(Days ~ Sex, MASS::quine)
  expect_message(
    expect_translated(family(fit), "negbinomial", "log", list(size = fixed(fit$theta))), "negbinomial\\(\\) learns it"
  )
})

test_that("what a fit has left in its family is not fixed", {
  skip_if_not_installed("glmmTMB")
  skip_if_not_installed("mgcv")
  skip_if_not_installed("MASS")
  data <- MASS::quine
  # glmmTMB writes into the family that it is given
  given <- glmmTMB::nbinom2()
  fit <- glmmTMB::glmmTMB(Days ~ Sex, data, family = given)
  expect_equal(unname(environment(given$variance)$.Theta), sigma(fit))
  expect_no_message(expect_translated(given, "negbinomial", "log"))
  expect_no_message(expect_translated(family(fit), "negbinomial", "log"))
  of_gam <- function(y, family) stats::family(mgcv::gam(stats::as.formula(paste(y, "~ Sex")), family, data))
  expect_translated(of_gam("Days", mgcv::nb()), "negbinomial", "log")
  expect_translated(of_gam("Days", mgcv::nb(theta = 2)), "negbinomial", "log", list(size = fixed(2)))
  # as gam() does, for which mgcv must be attached here
  power <- mgcv::tw()
  power$putTheta(0.3)
  expect_true(is_learned(as_galvi_family(power)$parameters$power))
  data$share <- (data$Days + 1) / 100
  expect_translated(of_gam("share", mgcv::betar()), "beta_family", "logit")
})

test_that("other packages' names are names", {
  expect_translated("bernoulli", "binomial", "logit")
  expect_translated("geometric", "negbinomial", "log", list(size = fixed(1)))
  expect_translated(geometric, "negbinomial", "log", list(size = fixed(1)))
  expect_translated("gamma", "Gamma", "log")
  expect_translated("nb", "negbinomial", "log")
  expect_translated("nbinom2", "negbinomial", "log")
  expect_true(is.na(as_galvi_family("categorical")$options$refcat))
})

test_that("the family of a formula of brms is that of the fit, or must agree with the argument", {
  skip_if_not_installed("brms")
  counts <- brms::bf(carb ~ wt, family = poisson())
  plain <- galvi(carb ~ wt, mtcars, poisson())
  for (fit in list(
    galvi(counts, mtcars), galvi(counts, mtcars, family = poisson()), galvi(brms::bf(carb ~ wt) + poisson(), mtcars),
    galvi(mtcars, counts))) {
    expect_identical(fit$family$family, "poisson")
    expect_equal(coef(fit), coef(plain))
  }
  expect_identical(galvi_design(counts, mtcars)$family$family, "poisson")
  expect_identical(default_prior(counts, mtcars), default_prior(carb ~ wt, mtcars, poisson()))
  expect_error(galvi(counts, mtcars, family = gaussian()), "different families", class = "galvi_error_family")
  expect_equal(coef(update(galvi(counts, mtcars), . ~ . + hp)), coef(galvi(carb ~ wt + hp, mtcars, poisson())))
  fit <- local({
    gone <- counts
    galvi(gone, mtcars)
  })
  expect_equal(coef(update(fit, . ~ . + hp)), coef(galvi(carb ~ wt + hp, mtcars, poisson())))
  scale <- brms::brmsformula(dist ~ speed, sigma ~ speed, family = brms::student())
  expect_identical(galvi(scale, cars)$family$family, "student")
  several <- brms::bf(mvbind(speed, dist) ~ 1, family = poisson()) + brms::set_rescor(FALSE)
  fit <- galvi(several, cars)
  expect_identical(unname(vapply(fit$family$parts, `[[`, "", "family")), rep("poisson", 2))
  compared <- galvi_compare(counts, mtcars, methods = "newton")
  expect_identical(compared$fits[[1L]]$family$family, "poisson")
})

test_that("brms' hurdle_lognormal() and the classes of mgcv's multinom() are ours", {
  expect_translated(brms_family("hurdle_lognormal", "identity"), "hurdle_lognormal", "log")
  skip_if_not_installed("mgcv")
  fit <- galvi(Species ~ Petal.Length, iris, mgcv::multinom(K = 2), prior = normal(0, 1))
  expect_identical(rownames(coef(fit)), c("versicolor", "virginica"))
  expect_error(galvi_family("hurdle_lognormal", link = "identity"), "hurdle(\"lognormal\")", fixed = TRUE)
})

test_that("other links of further parameters in families of brms are refused", {
  d <- data.frame(x = sin(1:30), y = cos(1:30))
  of_brms <- function(...) structure(list(family = "gaussian", link = "identity", ...), class = c("brmsfamily", "family"))
  plain <- galvi(list(y ~ x, sigma ~ x), d)
  expect_equal(coef(galvi(list(y ~ x, sigma ~ x), d, of_brms(link_sigma = "log"))), coef(plain))
  expect_error(galvi(list(y ~ x, sigma ~ x), d, of_brms(link_sigma = "identity")),
    "link_sigma = \"identity\"` of the gaussian family is not available: a formula of `sigma` has the link log", fixed = TRUE,
    class = "galvi_error_family")
})
