# Fits of the families against each other, where one contains the other, and against standard software, where
# many rows and wide priors leave the posterior at the maximum of the likelihood.

model_fit <- function(...) galvi(..., verbose = FALSE)
wide <- list(intercept = normal(0, 100), default = normal(0, 100))
sd_of <- function(fit) sqrt(diag(vcov(fit)))

# |ours - theirs| in posterior standard deviations. Half an sd would be a wrong model; the mean of a skewed
# posterior is some hundredths of one away from the mode.
expect_same_coefficients <- function(ours, sd, theirs, within = 0.1) {
  expect_lt(max(abs(ours - theirs) / sd), within)
}

test_that("a family that contains another is it at the right parameter", {
  d <- data.frame(x = c(1, 2, 3, 5, 4, 6), y = c(0.5, 2, 1, 3, 0.2, 4), n = c(0, 1, 4, 2, 7, 3))
  # a prior of its own, as the default one is another for families with wild responses
  elbo <- function(formula, family) model_fit(formula, d, family, hyper = "fixed", prior = wide)$elbo
  for (rhs in c(~ x, ~ gp(x, kernel = se(2, 1.5)))) {
    f <- function(y) stats::update(rhs, stats::as.formula(paste(y, "~ .")))
    expect_equal(
      elbo(f("y"), exponential()), elbo(f("y"), galvi_family("Gamma", shape = fixed(1))), tolerance = 1e-8
    )
    # at the limits' own rate, 1 / df and 1 / size
    expect_equal(
      elbo(f("y"), student(df = fixed(1e8), scale = fixed(0.7))),
      elbo(f("y"), galvi_family("gaussian", variance = fixed(0.49))), tolerance = 1e-6
    )
    expect_equal(elbo(f("n"), negbinomial(fixed(1e8))), elbo(f("n"), poisson()), tolerance = 1e-6)
    for (link in c("logit", "probit")) {
      two <- elbo(f("factor(y > 1, ordered = TRUE)"), cumulative(link, thresholds = fixed(0)))
      expect_equal(two, elbo(f("(y > 1)"), binomial(link)), tolerance = 1e-8)
    }
  }
})

test_that("a stick is a sequence of binomial fits", {
  rows <- c(1:12, 51:62, 101:112)
  d <- iris[rows, ]
  fits <- function(rhs) {
    f <- function(y) stats::update(rhs, stats::as.formula(paste(y, "~ .")))
    # by weighted points they agree up to the noise of these
    held <- function(...) {
      model_fit(..., hyper = "fixed", prior = wide, control = galvi_control(uncertainty = "factorised"))
    }
    whole <- held(f("Species"), d, stick_breaking())
    first <- held(f("(Species == \"setosa\")"), d, binomial())
    rest <- d[d$Species != "setosa", ]
    second <- held(f("(Species == \"versicolor\")"), rest, binomial())
    expect_equal(whole$elbo, first$elbo + second$elbo, tolerance = 1e-7)
    expect_equal(whole$posterior$mean[, 1L], unname(first$posterior$mean[, 1L]), tolerance = tol$optimum)
  }
  fits(~ Sepal.Width)
  fits(~ gp(Sepal.Width, kernel = se(2, 0.8)))
})

test_that("cumulative() is MASS's polr()", {
  skip_if_not_installed("MASS")
  for (link in c("logit", "probit")) {
    method <- if (link == "logit") "logistic" else link
    theirs <- MASS::polr(Sat ~ Infl + Type + Cont, weights = Freq, data = MASS::housing, method = method,
      Hess = TRUE)
    ours <- model_fit(Sat ~ Infl + Type + Cont, MASS::housing, cumulative(link), weights = Freq, prior = wide)
    expect_named(coef(ours), names(coef(theirs)))
    expect_same_coefficients(coef(ours), sd_of(ours), coef(theirs))
    at <- startsWith(ours$hyper$name, "cumulative.")
    expect_identical(sub("cumulative.", "", ours$hyper$name[at], fixed = TRUE), names(theirs$zeta))
    sd <- sqrt(diag(vcov(theirs)))[names(theirs$zeta)]
    expect_same_coefficients(ours$hyper$estimate[at], sd, theirs$zeta)
  }
})

test_that("sds of cumulative() are polr() ones with the thresholds integrated over; else a line says so", {
  skip_if_not_installed("MASS")
  theirs <- MASS::polr(Sat ~ Infl + Cont, weights = Freq, data = MASS::housing, Hess = TRUE)
  default <- galvi(Sat ~ Infl + Cont, MASS::housing, weights = Freq, family = cumulative(), prior = wide)
  integrated <- update(default, hyper = "integrate")
  known <- update(default, control = galvi_control(uncertainty = "factorised"))
  given <- update(default, family = cumulative(thresholds = fixed(unname(theirs$zeta))))
  se <- sqrt(diag(vcov(theirs)))[names(coef(theirs))]
  # the posterior's sds and inverse Hessians differ by terms of order 1 / n, n = 1681
  for (fit in list(default, integrated)) {
    expect_equal(sd_of(fit), unname(se), tolerance = 0.01, ignore_attr = TRUE)
    expect_output(print(summary(fit)), "Standard deviations and intervals: ")
  }
  # thresholds belong to the means of the columns in the core: their uncertainty is hardly that of the slopes
  expect_true(all(sd_of(known) > 0.97 * se & sd_of(known) < 1.01 * se))
  said <- gsub("\\s+", " ", paste(capture.output(print(summary(known))), collapse = " "))
  expect_match(said, "intervals take thresholds as known: they may be too small")
  expect_no_match(paste(capture.output(print(summary(given))), collapse = " "), "as known")
})

test_that("categorical() with a reference is nnet's multinom()", {
  skip_if_not_installed("MASS")
  skip_if_not_installed("nnet")
  theirs <- nnet::multinom(Sat ~ Infl + Cont, weights = Freq, data = MASS::housing, trace = FALSE,
    reltol = 1e-12)
  d <- transform(MASS::housing, Sat = factor(Sat, ordered = FALSE))
  ours <- model_fit(Sat ~ Infl + Cont, d, categorical("Low"), weights = Freq, prior = wide)
  expect_equal(dim(coef(ours)), dim(coef(theirs)))
  expect_same_coefficients(as.vector(t(coef(ours))), sd_of(ours), as.vector(t(coef(theirs))))
})

test_that("negbinomial() is MASS's glm.nb()", {
  skip_if_not_installed("MASS")
  theirs <- MASS::glm.nb(Days ~ Sex + Age + Lrn, data = MASS::quine)
  ours <- model_fit(Days ~ Sex + Age + Lrn, MASS::quine, negbinomial(), prior = wide)
  expect_same_coefficients(coef(ours), sd_of(ours), coef(theirs), within = 0.2)
  size <- ours$hyper$estimate[ours$hyper$name == "negbinomial.size"]
  expect_lt(abs(size - theirs$theta) / theirs$SE.theta, 0.5)
})

test_that("geometric() is the maximum likelihood of MASS's geometric regression", {
  skip_if_not_installed("MASS")
  theirs <- glm(Days ~ Sex + Age, MASS::negative.binomial(1), MASS::quine, epsilon = 1e-12)
  ours <- model_fit(Days ~ Sex + Age, MASS::quine, geometric(), prior = wide)
  expect_same_coefficients(coef(ours), sd_of(ours), coef(theirs))
  expect_identical(ours$hyper$status[ours$hyper$name == "negbinomial.size"], "fixed")
  density <- predict(ours, MASS::quine[1:3, ], type = "density")
  link <- predict(ours, MASS::quine[1:3, ], type = "link", se.fit = TRUE)
  y <- MASS::quine$Days[1:3]
  wanted <- mapply(function(y, m, s) {
    gaussian_expectation(function(eta) dgeom(y, 1 / (1 + exp(eta))), m, s^2)
  }, y, link$fit, link$se.fit)
  expect_close(density, log(wanted), tol$expectation)
})

test_that("Gamma(\"log\") and exponential() are glm()'s", {
  theirs <- glm(Volume ~ log(Girth) + log(Height), Gamma("log"), trees, epsilon = 1e-12)
  ours <- model_fit(Volume ~ log(Girth) + log(Height), trees, Gamma("log"), prior = wide)
  expect_same_coefficients(coef(ours), sd_of(ours), coef(theirs))
  shape <- ours$hyper$estimate[ours$hyper$name == "Gamma.shape"]
  # the bound integrates the three coefficients out, as the degrees of freedom do
  expect_equal(1 / shape, summary(theirs)$dispersion, tolerance = 0.1)
  exponential_fit <- model_fit(Volume ~ log(Girth) + log(Height), trees, exponential(), prior = wide)
  expect_same_coefficients(coef(exponential_fit), sd_of(exponential_fit), coef(theirs))
})

test_that("student() and laplace() leave outliers alone", {
  clean <- lm(dist ~ speed, cars)
  d <- rbind(cars, data.frame(speed = 20, dist = c(900, 950)))
  bent <- coef(lm(dist ~ speed, d))[["speed"]]
  for (family in list(student(), laplace())) {
    fit <- model_fit(dist ~ speed, d, family)
    ours <- coef(fit)[["speed"]]
    expect_lt(abs(ours - coef(clean)[["speed"]]), 0.2 * abs(bent - coef(clean)[["speed"]]))
  }
})

test_that("tweedie() is glm()'s with mgcv's family of that power", {
  skip_if_not_installed("mgcv")
  set.seed(8)
  x <- runif(400)
  d <- data.frame(x, y = likelihood_cases$tweedie$draw(0.5 + x, 0.8))
  theirs <- glm(y ~ x, mgcv::Tweedie(1.5, "log"), d, epsilon = 1e-12)
  ours <- model_fit(y ~ x, d, tweedie(1.5), prior = wide)
  expect_same_coefficients(coef(ours), sd_of(ours), coef(theirs))
  dispersion <- ours$hyper$estimate[ours$hyper$name == "tweedie.dispersion"]
  expect_equal(dispersion, summary(theirs)$dispersion, tolerance = 0.1)
})

test_that("inverse.gaussian(\"log\") is glm()'s", {
  theirs <- glm(Volume ~ log(Girth) + log(Height), inverse.gaussian("log"), trees, epsilon = 1e-12)
  ours <- model_fit(Volume ~ log(Girth) + log(Height), trees, inverse.gaussian("log"), prior = wide)
  expect_same_coefficients(coef(ours), sd_of(ours), coef(theirs))
  dispersion <- ours$hyper$estimate[ours$hyper$name == "inverse.gaussian.dispersion"]
  expect_equal(dispersion, summary(theirs)$dispersion, tolerance = 0.1)
  expect_equal(deviance(ours), deviance(theirs), tolerance = 0.05)
})

test_that("asymmetric_laplace() is quantile regression", {
  d <- data.frame(x = c(1, 2, 3, 5, 4, 6), y = c(0.5, 2, 1, 3, 0.2, 4))
  half <- model_fit(y ~ x, d, asymmetric_laplace(0.5, fixed(0.4)), hyper = "fixed", prior = wide)
  whole <- model_fit(y ~ x, d, laplace(fixed(0.8)), hyper = "fixed", prior = wide)
  expect_equal(half$elbo, whole$elbo, tolerance = 1e-10)
  # the check function's minimum, at which a share q of the responses lies below
  set.seed(6)
  x <- runif(2000)
  y <- 1 + 2 * x + (0.5 + x) * rnorm(2000)
  check <- function(beta, q) {
    r <- y - beta[1] - beta[2] * x
    sum(r * (q - (r < 0)))
  }
  for (q in c(0.1, 0.75)) {
    fit <- model_fit(y ~ x, data.frame(x, y), asymmetric_laplace(q), prior = wide)
    best <- optim(coef(fit), check, q = q, control = list(reltol = 1e-14, maxit = 2000))
    expect_same_coefficients(coef(fit), sd_of(fit), best$par, within = 0.5)
    expect_equal(mean(y < predict(fit, type = "link")), q, tolerance = 0.02)
    # the scale is the mean of the check function
    scale <- fit$hyper$estimate[fit$hyper$name == "asymmetric_laplace.scale"]
    expect_equal(scale, best$value / 2000, tolerance = 0.01)
  }
})

test_that("beta_family() finds the shapes of its data", {
  set.seed(4)
  x <- runif(400, -1, 1)
  m <- plogis(0.3 + x)
  fit <- model_fit(y ~ x, data.frame(x, y = rbeta(400, 12 * m, 12 * (1 - m))), beta_family(), prior = wide)
  expect_same_coefficients(coef(fit), sd_of(fit), c(0.3, 1), within = 3)
  expect_equal(fit$hyper$estimate[fit$hyper$name == "beta_family.precision"], 12, tolerance = 0.2)
})

test_that("stochastic_volatility() finds the size of the noise", {
  set.seed(5)
  x <- seq(-2, 2, length.out = 300)
  y <- rnorm(300, 0, exp(sin(2 * x) / 2 - 2))
  fit <- model_fit(y ~ gp(x), data.frame(x, y), stochastic_volatility())
  expect_gt(cor(predict(fit, type = "link"), sin(2 * x)), 0.9)
  expect_equal(mean(predict(fit, type = "link")), -4, tolerance = 0.1)
})
