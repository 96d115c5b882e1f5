# nbinom1(), compois(), softplus links, gaussian("log") and the learned power of tweedie().

skip_on_cran()

flat <- list(intercept = normal(0, 20), default = normal(0, 20))
# Our log likelihood at the estimates of another package: of means, in rows of a fit's response.
log_likelihood <- function(type, hyper, y, eta, size = rep(1, length(y))) {
  sum(probe_likelihood(likelihood_spec(type), hyper, y, size, eta)[, 1])
}
# Posterior means of coefficients within a share of a standard error of the maximum, sds close to standard errors.
expect_near_maximum <- function(ours, estimate, se, share = 0.1, sds = 0.05) {
  expect_lt(max(abs(coef(ours) - estimate) / se), share)
  expect_lt(max(abs(sqrt(diag(vcov(ours))) / se - 1)), sds)
}
softplus_link <- structure(
  list(
    linkfun = function(mu) log(expm1(mu)), linkinv = function(eta) log1p(exp(eta)), mu.eta = stats::plogis,
    valideta = function(eta) TRUE, name = "softplus"
  ),
  class = "link-glm"
)

# ---- compois ----

test_that("compois is its sums, from the geometric distribution to underdispersed counts", {
  eta <- c(-8, -1.3, 0, 0.7, 2.1, 3.4)
  y <- c(0, 1, 3, 12)
  for (nu in c(5e-9, 0.05, 0.6, 1.5, 4, 9, 25)) {
    ours <- probe_likelihood(likelihood_spec("compois"), nu, rep(y, 6), rep(1, 24), rep(eta, each = 4))[, 1]
    expect_close(ours, of_compois(y, eta, nu = nu), 1e-10)
  }
  geometric <- probe_likelihood(likelihood_spec("compois"), 1e-10, 0:5, rep(1, 6), rep(1.2, 6))[, 1]
  expect_close(geometric, dgeom(0:5, 1 / (1 + exp(1.2)), log = TRUE), 1e-8)
  poisson <- probe_likelihood(likelihood_spec("compois"), 1, c(0, 3, 1e6, 1e9), rep(1, 4), log(c(2, 3, 1e6, 1e9)))[, 1]
  expect_close(poisson, dpois(c(0, 3, 1e6, 1e9), c(2, 3, 1e6, 1e9), log = TRUE), 1e-9)
})

test_that("expectations of compois are integrals, also where singularities are near", {
  for (nu in c(0.1, 2.5, 6)) {
    for (y in c(0, 2, 9)) {
      for (x in list(c(0.3, 0.04), c(1.1, 0.6))) {
        ours <- probe_expectation(likelihood_spec("compois"), "quadrature", nu, y, 1, 1, x[1], x[2], 2, 1)
        exact <- gaussian_expectation(function(eta) of_compois(y, pmax(eta, -30), nu = nu), x[1], x[2], reach = 9)
        expect_close(ours$value, exact, tol$expectation)
        slope <- central_gradient(function(h) {
          probe_expectation(likelihood_spec("compois"), "quadrature", h, y, 1, 1, x[1], x[2], 1, 1)$value
        }, nu)
        expect_close(ours$gradient, slope, 1e-6)
      }
    }
  }
})

test_that("probabilities of compois add up, of large means too", {
  cdf <- function(nu, y, mean) {
    predict_response(likelihood_spec("compois"), nu, 1, y, log(mean), 0, "cdf", 0.5)
  }
  for (nu in c(0.3, 2.5)) {
    p <- with(conway_maxwell(log(7), nu), cumsum(p))
    for (y in c(0, 3, 7, 15)) expect_close(cdf(nu, y, 7), p[y + 1], 1e-10)
  }
  expect_close(cdf(1, 1e8 + 5e3, 1e8), ppois(1e8 + 5e3, 1e8), 1e-9)
  expect_close(cdf(1, 1e4 - 300, 1e4), ppois(1e4 - 300, 1e4), 1e-9)
})

test_that("compois has no predictor of nu, and says why", {
  d <- data.frame(x = 1:20 / 10, y = rep(0:3, 5))
  for (f in c(nu ~ x, shape ~ x)) {
    expect_error(galvi(list(y ~ x, f), d, compois()), "tabulated for one `nu`.*nbinom1", class = "galvi_error_formula")
  }
})

# ---- against other packages ----

test_that("log likelihoods are glmmTMB's at its maximum", {
  skip_if_not_installed("glmmTMB")
  data <- new.env()
  utils::data("Salamanders", package = "glmmTMB", envir = data)
  theirs <- glmmTMB::glmmTMB(count ~ spp + mined, data$Salamanders, family = glmmTMB::nbinom1())
  y <- data$Salamanders$count
  eta <- stats::predict(theirs)
  expect_close(log_likelihood("nbinom1", stats::sigma(theirs), y, eta), c(stats::logLik(theirs)), 1e-8)
  # its fit takes a minute: glmmTMB 1.1.5 found this maximum, near the geometric distribution
  beta <- c(
    -1.44189857200773353, -1.25087415045003336, 0.38116074370685693, -0.68371918752308491, 0.63355240683424596,
    0.80254823590855173, 0.32311276363324287, 2.03541524044046085
  )
  eta <- drop(stats::model.matrix(~ spp + mined, data$Salamanders) %*% beta)
  expect_close(log_likelihood("compois", 1 / 196929129.20929772, y, eta), -839.037704714992, 1e-8)
  theirs <- glmmTMB::glmmTMB(count ~ spray, InsectSprays, family = glmmTMB::compois())
  ours <- log_likelihood("compois", 1 / stats::sigma(theirs), InsectSprays$count, stats::predict(theirs))
  expect_close(ours, c(stats::logLik(theirs)), 1e-8)
})

test_that("posteriors of nbinom1 and compois are near glmmTMB's maximum", {
  skip_if_not_installed("glmmTMB")
  set.seed(4)
  d <- data.frame(x = rnorm(400))
  d$over <- rnbinom(400, exp(1 + 0.4 * d$x) / 1.5, mu = exp(1 + 0.4 * d$x))
  d$under <- rbinom(400, 12, plogis(-0.5 + 0.4 * d$x))
  compare <- function(formula, family, theirs, dispersion) {
    theirs <- glmmTMB::glmmTMB(formula, d, family = theirs)
    ours <- galvi(formula, d, family, prior = flat)
    se <- sqrt(diag(stats::vcov(theirs)$cond))
    expect_near_maximum(ours, glmmTMB::fixef(theirs)$cond, se)
    parameter <- paste0(family$family, c(nbinom1 = ".phi", compois = ".nu")[[family$family]])
    estimate <- ours$hyper$estimate[ours$hyper$name == parameter]
    expect_equal(estimate, dispersion(stats::sigma(theirs)), tolerance = 0.03)
  }
  compare(over ~ x, nbinom1(), glmmTMB::nbinom1(), identity)
  compare(under ~ x, compois(), glmmTMB::compois(), function(sigma) 1 / sigma)
})

test_that("zeros beside nbinom1 are glmmTMB's ziformula, and its truncated family", {
  skip_if_not_installed("glmmTMB")
  set.seed(3)
  d <- data.frame(x = rnorm(500))
  d$y <- rnbinom(500, exp(0.8 + 0.5 * d$x) / 1.5, mu = exp(0.8 + 0.5 * d$x)) * rbinom(500, 1, 0.7)
  kinds <- list(
    list(name = "zi", family = zero_inflated(nbinom1()), theirs = glmmTMB::nbinom1()),
    list(name = "hu", family = hurdle(nbinom1()), theirs = glmmTMB::truncated_nbinom1())
  )
  for (kind in kinds) {
    ml <- glmmTMB::glmmTMB(y ~ x, d, kind$theirs, ziformula = ~1)
    fit <- galvi(y ~ x, d, kind$family)
    expect_named(coef(fit), c("(Intercept)", "x", paste0(kind$name, "_(Intercept)")))
    maximum <- unlist(glmmTMB::fixef(ml)[c("cond", "zi")])
    expect_lt(max(abs(coef(fit) - maximum) / sqrt(diag(vcov(fit)))), 0.5)
    phi <- fit$hyper[fit$hyper$parameter == "phi", ]
    expect_true(phi$lwr < stats::sigma(ml) && stats::sigma(ml) < phi$upr)
    # and with a formula of phi, which is 1.5 everywhere
    both <- suppressMessages(galvi(list(y ~ x, phi ~ x), d, kind$family))
    expect_true(all(abs(coef(both)[3:4] - c(log(1.5), 0)) < 3 * sqrt(diag(vcov(both)))[3:4]))
  }
  said <- message_of_error(galvi(y ~ x, d, glmmTMB::nbinom1, ziformula = ~x))
  expect_match(said, "zi ~ x), data = d, family = zero_inflated(glmmTMB::nbinom1)", fixed = TRUE)
})

test_that("softplus links are glm()'s with that link", {
  set.seed(5)
  d <- data.frame(x = runif(300, 0, 3))
  mean <- log1p(exp(0.3 + 1.5 * d$x))
  d$count <- rpois(300, mean)
  d$amount <- rgamma(300, 4, 4 / mean)
  theirs <- stats::glm(count ~ x, stats::poisson(softplus_link), d)
  ours <- galvi(count ~ x, d, galvi_family("poisson", link = "softplus"), prior = flat)
  expect_near_maximum(ours, coef(theirs), sqrt(diag(vcov(theirs))))
  expect_close(predict(ours, d[1:3, ]), unname(stats::predict(theirs, d[1:3, ], type = "response")), 0.02)
  expect_close(deviance(ours), deviance(theirs), 1e-3)
  theirs <- stats::glm(amount ~ x, stats::Gamma(softplus_link), d)
  ours <- galvi(amount ~ x, d, galvi_family("Gamma", link = "softplus"), prior = flat)
  # whose dispersion is a moment estimate
  expect_near_maximum(ours, coef(theirs), sqrt(diag(vcov(theirs))), sds = 0.1)
  # an offset adds to eta, and is no exposure
  expect_error(galvi(count | rate(x) ~ 1, d, galvi_family("poisson", link = "softplus")), "needs a log link",
               class = "galvi_error_formula")
  skip_if_not_installed("brms")
  expect_identical(as_galvi_family(brms::brmsfamily("poisson", "softplus"))$link, "softplus")
})

test_that("gaussian(\"log\") is glm()'s", {
  set.seed(6)
  d <- data.frame(x = runif(300))
  d$y <- exp(0.5 + d$x) + rnorm(300, 0, 0.7)
  theirs <- stats::glm(y ~ x, stats::gaussian("log"), d, start = c(0.5, 1))
  ours <- galvi(y ~ x, d, stats::gaussian("log"), prior = flat)
  expect_near_maximum(ours, coef(theirs), sqrt(diag(vcov(theirs))))
  expect_equal(sigma(ours), stats::sigma(theirs), tolerance = 0.02)
  # with a predictor of sigma that is known to be constant
  both <- galvi(list(y ~ x, sigma ~ 1), d, stats::gaussian("log"), prior = flat)
  expect_near_maximum(both, c(coef(theirs), log(stats::sigma(theirs))), c(sqrt(diag(vcov(theirs))), 1 / sqrt(600)))
  skip_if_not_installed("survival")
  expect_error(galvi(survival::Surv(exp(y)) ~ x, d, stats::gaussian("log")), "gaussian family with the log link",
               class = "galvi_error_response")
})

test_that("a learned power of tweedie() is mgcv's and glmmTMB's", {
  skip_if_not_installed("mgcv")
  skip_if_not_installed("glmmTMB")
  set.seed(7)
  d <- data.frame(x = runif(300))
  d$y <- mgcv::rTweedie(exp(0.5 + d$x), 1.3, 0.8)
  theirs <- glmmTMB::glmmTMB(y ~ x, d, family = glmmTMB::tweedie())
  power <- unname(plogis(theirs$fit$parfull[["psi"]]) + 1)
  at <- log_likelihood("tweedie", c(stats::sigma(theirs), power), d$y, stats::predict(theirs))
  expect_close(at, c(stats::logLik(theirs)), 1e-8)
  # what tw() maximises
  for (p in c(1.1, 1.3, 1.7)) {
    at <- probe_likelihood(likelihood_spec("tweedie"), c(0.8, p), d$y, rep(1, 300), 0.5 + d$x)[, 1]
    expect_close(at, mgcv::ldTweedie(d$y, exp(0.5 + d$x), p = p, phi = 0.8)[, 1], 1e-8)
  }
  ours <- galvi(y ~ x, d, tweedie(), prior = flat)
  expect_near_maximum(ours, glmmTMB::fixef(theirs)$cond, sqrt(diag(stats::vcov(theirs)$cond)))
  learned <- stats::setNames(ours$hyper$estimate, ours$hyper$name)
  expect_equal(learned[["tweedie.power"]], power, tolerance = 5e-3)
  expect_equal(learned[["tweedie.dispersion"]], stats::sigma(theirs), tolerance = 0.02)
  both <- galvi(list(y ~ x, phi ~ x), d, mgcv::tw(), prior = flat)
  expect_true("tweedie.power" %in% both$hyper$name)
  held <- galvi(y ~ x, d, tweedie(1.4))
  expect_false(any(held$hyper$name == "tweedie.power" & held$hyper$learned %in% TRUE))
  expect_error(tweedie(2.5), "`power` must be a number between 1 and 2", class = "galvi_error")
})

test_that("compois() has an answer, not a number, where the linear predictor is none", {
  density <- value_in_time(seconds = 60, code = {
    fit <- galvi(count ~ spray, InsectSprays, compois(fixed(20)))
    galvi:::predict_response(fit$model$likelihood, fit$posterior$hyper, 1, 1, matrix(NaN), matrix(0), "log_density", 0.5,
      NULL, NULL, NULL)
  })
  expect_true(is.na(density))
})

test_that("half of compois() is below a large mean, where sums have lost their digits", {
  below <- value_in_time(seconds = 60, code = {
    eta <- c(24, 28, 40, 60, 72, 99)
    vapply(c(0.1, 0.5, 2, 10), function(nu) {
      fit <- galvi(count ~ 1, InsectSprays, compois(fixed(nu)), hyper = "fixed")
      galvi:::response_moment(fit, galvi:::certain(eta), "cdf", size = 1, y = floor(exp(eta)))
    }, eta)
  })
  expect_close(below, rep(0.5, 24), 1e-4)  # a step of the distribution function at a mean of exp(24)
})
