# What weights mean: frequency(2) is two rows, in the likelihood and in what is read off the data (default priors,
# starts, inducing points); where they divide a dispersion they have no unit, and lm(), lmer(), glm() and gam() mean the
# same; elsewhere they multiply the log likelihood.

skip_on_cran()

weighted_data <- function(name, n = 24) {
  set.seed(7)
  d <- family_data(name, n)
  d$z <- runif(n)
  d$g <- factor(rep(letters[1:4], length.out = n))
  d$t <- rep(1:6, length.out = n)
  d$w <- rep(c(2, 1, 3, 0, 1, 2), length.out = n)
  d
}

family_for <- function(name) if (name == "Gamma") Gamma("log") else name

test_that("frequency(2) is two rows under default priors and starts, in every family", {
  formulas <- list(
    y ~ x + z, y ~ z + gp(x), y ~ gp(x, z, kernel = matern32(ard = TRUE), scale = TRUE),
    y ~ z + (1 | g), y ~ x + rw2(t), y ~ gp(x, inducing = 4), y ~ gp(x, kernel = linear() + constant())
  )
  # to more digits than weighted points have
  control <- galvi_control(tol = 1e-10, threads = 1, uncertainty = "factorised")
  for (name in names(family_types)) {
    d <- weighted_data(name)
    rows <- rep(seq_len(nrow(d)), d$w)
    twice <- d[sample(rows), ]
    for (formula in formulas) {
      fit <- function(data, ...) {
        suppressMessages(galvi(formula, data, family_for(name), hyper = "fixed", control = control, ...))
      }
      one <- fit(d, weights = frequency(w))
      two <- fit(twice)
      expect_close(one$hyper$estimate, two$hyper$estimate, 1e-12)
      expect_close(one$elbo, two$elbo, tol$elbo)
      # in posterior sds, where these are large
      scale <- pmax(1, sqrt(diag(vcov(one))))
      in_order <- function(b) if (is.matrix(b)) t(b) else b  # of vcov()
      expect_close(in_order(coef(one)) / scale, in_order(coef(two)) / scale, tol$optimum)
      if (!is.null(one$inducing)) expect_close(one$inducing[[1]], two$inducing[[1]], 1e-12)
    }
  }
})

test_that("learning goes the same way with frequency() as with repeated rows", {
  for (name in c("gaussian", "Gamma", "student", "negbinomial")) {
    d <- weighted_data(name)
    two <- galvi(y ~ x + (1 | g), d[rep(seq_len(nrow(d)), d$w), ], family_for(name))
    one <- galvi(y ~ x + (1 | g), d, family_for(name), weights = frequency(w))
    expect_close(one$elbo, two$elbo, 1e-6)
    expect_identical(one$hyper$lower, two$hyper$lower)
    # the joint posterior, in sds: weighted points have noise
    expect_identical(uncertainty_method(one), uncertainty_method(two))
    sd <- sqrt(diag(vcov(two)))
    expect_close(sqrt(diag(vcov(one))) / sd, rep(1, 2), 0.03)
    expect_close((coef(one) - coef(two)) / sd, rep(0, 2), 0.03)
  }
})

test_that("weights that sum to 1 or less count every row as one", {
  d <- weighted_data("gaussian")
  share <- galvi(y ~ x, d, weights = frequency(rep(1 / 30, 24)), hyper = "fixed")
  expect_close(share$hyper$estimate, galvi(y ~ x, d, hyper = "fixed")$hyper$estimate, 1e-14)
})

# ---- weights that divide a dispersion ----

dividing <- c("gaussian", "Gamma", "inverse.gaussian", "tweedie")

# Weights that are no numbers of rows.
divided_data <- function(name, n = 40) {
  set.seed(11)
  d <- family_data(name, n)
  d$z <- runif(n)
  d$g <- factor(rep(letters[1:5], length.out = n))
  d$w <- exp(rnorm(n))
  d$c <- 1e4
  d
}

test_that("weights divide the dispersion in the exponential dispersion families, and in no other", {
  for (name in names(family_types)) {
    family <- as_galvi_family(family_for(name))
    expect_identical(weights_divide(family), name %in% dividing)
    for (likelihood in unlist(family_type(family)$with_predictors)) {
      expect_identical(fact(likelihood_facts(), likelihood, "divides_dispersion"), name %in% dividing)
    }
    # the likelihoods of Surv() responses
    expect_false(length(family_type(family)$censored) > 0L && weights_divide(family, survival = TRUE))
    d <- weighted_data(name)
    d$w <- d$w / 2
    design <- galvi_design(y ~ x, d, family, weights = w)
    used <- as.numeric(d$w > 0)
    expect_identical(design$weights, if (name %in% dividing) used else d$w)
    expect_identical(design$size[d$w > 0], if (name %in% dividing) d$w[d$w > 0] else rep(1, sum(used)))
    quick <- galvi_control(uncertainty = "factorised")
    fit <- galvi(y ~ x, d, family, weights = w, hyper = "fixed", control = quick)
    expect_identical(unname(weights(fit)), d$w)
    again <- galvi(y ~ x, d, family, weights = frequency(w), hyper = "fixed", control = quick)
    expect_identical(unname(weights(again)), d$w)
  }
})

test_that("predictions of a row of size c are those of a dispersion divided by c", {
  # the parameter of a row of size 1 that has the same distribution
  rescaled <- list(
    gaussian = function(h, c) h / c, gamma = function(h, c) h * c, inverse_gaussian = function(h, c) h / c,
    tweedie = function(h, c) h / c(c, 1), gaussian_log = function(h, c) h / c, gamma_softplus = function(h, c) h * c
  )
  shifts <- list(
    gaussian_log_sd = -0.5, gamma_log_shape = 1, inverse_gaussian_log_shape = 1, tweedie_log_dispersion = -1,
    gaussian_log_log_sd = -0.5, gamma_softplus_log_shape = 1
  )
  expect_setequal(subset(likelihood_facts(), divides_dispersion)$type, c(names(rescaled), names(shifts)))
  whats <- c("mean", "mean_variance", "variance", "log_density", "cdf", "upper", "quantile")
  for (type in c(names(rescaled), names(shifts))) {
    h <- as.numeric(likelihood_examples[[type]]$hyper)
    for (c in c(0.2, 5)) {
      for (what in whats) {
        at <- function(size, h, shift) {
          m <- cbind(0.3, if (type %in% names(shifts)) 0.4 + shift)
          v <- cbind(0.5, if (type %in% names(shifts)) 0.3)
          predict_response(likelihood_spec(type), h, size, 1.3, m, v, what, 0.8)
        }
        same <- if (type %in% names(shifts)) at(1, h, shifts[[type]] * log(c)) else at(1, rescaled[[type]](h, c), 0)
        # of the dispersion's logarithm quadrature has other nodes
        expect_close(at(c, h, 0), same, tol$expectation)
      }
    }
  }
})

test_that("a constant times such weights changes the dispersion alone", {
  formulas <- list(
    y ~ x + z, y ~ z + gp(x), y ~ gp(x, inducing = 5), y ~ x + (1 | g), y ~ z + rw2(t), y ~ gp(x, kernel = linear())
  )
  powers <- c(gaussian = 1, Gamma = -1, inverse.gaussian = 1, tweedie = 1)
  for (name in dividing) {
    d <- divided_data(name)
    d$t <- rep(1:8, 5)
    for (formula in formulas[if (name == "gaussian") 1:6 else c(1, 3, 4)]) {
      fit <- function(...) suppressMessages(galvi(formula, d, family_for(name), ...))
      one <- fit(weights = w)
      two <- fit(weights = c * w)
      expect_close(one$elbo, two$elbo, tol$elbo)
      # estimates, and what follows from them, have half the digits of the bound
      expect_close(coef(one), coef(two), tol$optimum)
      expect_close(sqrt(diag(vcov(one))), sqrt(diag(vcov(two))), tol$optimum)
      own <- one$hyper$name == "variance" | grepl("shape|dispersion|variance", one$hyper$name) &
        startsWith(one$hyper$name, name)
      expect_identical(sum(own), 1L)
      expect_close(two$hyper$estimate[own] / one$hyper$estimate[own], 1e4^powers[[name]], tol$optimum)
      # a process that the data hardly show has a flat bound
      expect_close(two$hyper$estimate[!own], one$hyper$estimate[!own], 10 * tol$optimum)
      expect_identical(format(one$prior), format(two$prior))
      expect_close(predict(one, type = "quantile"), predict(two, type = "quantile"), tol$optimum)
      # a row that moves the hyperparameters far moves them by the skewness at a mode that the search finds roughly
      expect_close(loo.galvi(one)$pointwise[, "elpd_loo"], loo.galvi(two)$pointwise[, "elpd_loo"], 20 * tol$optimum)
      expect_close(residuals(one, "pearson"), residuals(two, "pearson"), tol$optimum)
    }
  }
})

# Mean log predictive density of the fitted rows.
log_score <- function(fit) mean(predict(fit, type = "density"))

test_that("with a predictor of the dispersion, weights of another unit move its intercept alone", {
  shifts <- c(gaussian = 0.5, Gamma = -1, inverse.gaussian = -1, tweedie = 1)
  for (name in dividing) {
    d <- divided_data(name)
    family <- as_galvi_family(family_for(name))
    second <- stats::as.formula(paste(family$dpars[2L], "~ z"))
    one <- galvi(list(y ~ x, second), d, family, weights = w)
    two <- galvi(list(y ~ x, second), d, family, weights = c * w)
    moved <- c(0, 0, shifts[[name]] * log(1e4), 0)
    expect_close(one$elbo, two$elbo, tol$elbo)
    expect_close(coef(two), coef(one) + moved, tol$solve)
    expect_close(vcov(one), vcov(two), tol$solve)
    # equal weights are an offset of the second predictor
    equal <- galvi(list(y ~ x, second), d, family, weights = rep(3, 40))
    plain <- galvi(list(y ~ x, second), d, family)
    expect_close(coef(equal), coef(plain) + shifts[[name]] * log(3) * c(0, 0, 1, 0), tol$solve)
    expect_close(log_score(equal), log_score(plain), tol$solve)
  }
})

test_that("sources, subsets, steps and rows of weight zero have the weights of data in memory", {
  for (name in dividing) {
    d <- divided_data(name, 60)
    d$w[7] <- 0
    family <- family_for(name)
    flat <- list(intercept = normal(0, 10), x = normal(0, 10))
    hyper <- function(fit) fit$hyper$estimate[fit$hyper$status == "learned"]
    same <- function(a, b) {
      expect_close(a$elbo, b$elbo, tol$elbo)
      expect_close(coef(a), coef(b), tol$optimum)
      expect_close(hyper(a), hyper(b), tol$optimum)
    }
    fit <- galvi(y ~ x, d, family, weights = w, prior = flat)
    same(fit, galvi(y ~ x, d[-7, ], family, weights = w, prior = flat))
    same(fit, galvi(y ~ x, d, family, weights = w, prior = flat, subset = seq_len(60) != 7))
    expect_identical(residuals(fit, "pearson")[[7]], 0)
    # by the steps
    design <- galvi_design(y ~ x, d, family, weights = w)
    model <- galvi_model(design, prior = flat)
    same(fit, galvi_fit(model, galvi_infer(model)))
    design <- galvi_design(y ~ x, d, family)
    design$size <- unit_if_zero(d$w)
    design$weights[7] <- 0
    model <- galvi_model(design, prior = flat)
    same(fit, galvi_fit(model, galvi_infer(model)))
    design$size[1] <- 0
    expect_error(galvi_model(design), "`design\\$size` must be 60 finite positive", class = "galvi_error_argument")
    model$size[1] <- -1
    expect_error(galvi_infer(model), "size must be positive", class = "galvi_error_argument")
    # new rows without the old ones
    by_columns <- function(d) {
      galvi(y ~ x, d, family, weights = w, prior = flat, hyper = "fixed", method = "natural_gradient", start = fit)
    }
    whole <- by_columns(d)
    added <- add_data(by_columns(d[1:30, ]), d[31:60, ], method = "natural_gradient")
    # elsewhere what is remembered of the first rows is an approximation
    if (name == "gaussian") expect_close(coef(added), coef(whole), tol$solve)
    expect_identical(nobs(added), 59L)
    held <- galvi(y ~ x, d, family, weights = w, prior = flat, hyper = "integrate")
    expect_close(coef(held), coef(fit), 0.1)  # the mean over the dispersion, of which coefficients depend little
  }
})

test_that("rows of weight zero are not counted, as by glm(), and keep their place in augment()", {
  d <- transform(mtcars, w = rep(c(0, 1, 2), length.out = 32), n = rep(c(0, 3), 16))
  fit <- galvi(mpg ~ hp, d, weights = w)
  theirs <- lm(mpg ~ hp, d, weights = w)
  expect_identical(nobs(fit), nobs(theirs))
  expect_identical(df.residual(fit), df.residual(theirs))
  expect_identical(attr(logLik(fit), "nobs"), nobs(theirs))
  expect_identical(nobs(galvi(mpg ~ hp, d, weights = frequency(w))), nobs(theirs))
  # no trials
  trials <- cbind(d$am * d$n, (1 - d$am) * d$n)
  expect_identical(nobs(galvi(trials ~ hp, d, family = binomial())), nobs(glm(trials ~ hp, binomial, d)))
  first <- galvi(am ~ hp, d[1:16, ], family = binomial(), weights = w)
  expect_identical(nobs(add_data(first, d[17:32, ])), nobs(theirs))
  skip_if_not_installed("generics")
  table <- generics::glance(fit)
  expect_identical(c(table$nobs, table$df.residual), c(nobs(theirs), df.residual(theirs)))
  expect_identical(nrow(generics::augment(fit, data = d)), 32L)
  skip_if_not_installed("survival")
  lung <- transform(survival::lung, w = rep(0:2, length.out = 228))
  cox <- galvi(survival::Surv(time, status) ~ age, lung, family = cox(), weights = w)
  expect_identical(nobs(cox), sum(lung$w > 0))
})

test_that("a source of rows has such weights, and a change of them between passes is noticed", {
  set.seed(3)
  n <- 51000
  d <- data.frame(x = runif(n), w = exp(rnorm(n)))
  d$y <- 1 + d$x + rnorm(n) / sqrt(d$w)
  chunks <- function(change = FALSE) {
    at <- pass <- 0
    function(reset = FALSE) {
      if (reset) return(at <<- 0)
      if (at == 0) pass <<- pass + 1
      if (at >= n) return(NULL)
      out <- d[at + seq_len(17000), ]
      at <<- at + 17000
      if (change && pass > 3) out$w <- rev(out$w)
      out
    }
  }
  # nothing is read off the sample
  given <- list(intercept = normal(0, 10), default = normal(0, 10))
  fit <- function(data, ...) {
    galvi(y ~ x, data, gaussian(), weights = w, prior = given, method = "natural_gradient",
      start = c(gaussian.variance = 1), ...)
  }
  read <- fit(chunks(), hyper = "fixed")
  whole <- fit(d, hyper = "fixed")
  expect_close(coef(read), coef(whole), tol$identity)
  expect_close(read$elbo, whole$elbo, tol$identity)
  expect_close(coef(whole), coef(lm(y ~ x, d, weights = w)), 1e-4)  # normal(0, 10) counts some 1e-6 of the rows
  expect_error(fit(chunks(TRUE)), "differ from those of the first pass", class = "galvi_error_data")
})

test_that("sds are those of lm(), glm(), gam() and lmer() with their weights", {
  # the issue's figure for standard errors, which take the dispersion as known; priors are the default ones
  known <- galvi_control(uncertainty = "factorised")
  expect_se <- function(fit, theirs, tolerance = 0.01) {
    ours <- sqrt(diag(vcov(fit)))
    expect_lt(max(abs(ours / theirs - 1)), tolerance)
  }
  of_lm <- function(fit) sqrt(diag(vcov(fit)))
  fit <- galvi(dist ~ speed, cars, weights = 1 / speed, control = known)
  expect_se(fit, of_lm(lm(dist ~ speed, cars, weights = 1 / speed)))
  fit <- galvi(mpg ~ wt + hp, mtcars, weights = qsec, control = known)
  reference <- lm(mpg ~ wt + hp, mtcars, weights = qsec)
  expect_se(fit, of_lm(reference))
  expect_close(sigma(fit), sigma(reference), 0.01)
  expect_close(deviance(fit), deviance(reference), 0.01)
  for (name in dividing[2:4]) {
    d <- divided_data(name, 200)
    family <- if (name == "tweedie") tweedie(power = 1.5) else family_for(name)
    fit <- galvi(y ~ x, d, family, weights = w, control = known)
    theirs <- if (name == "tweedie") mgcv::Tweedie(1.5) else get(name)("log")
    reference <- mgcv::gam(y ~ x, theirs, d, weights = w)
    # at our dispersion, which is not Pearson's
    at <- fit$hyper$estimate[match(paste0(name, c(".dispersion", ".shape")), fit$hyper$name)]
    phi <- if (name == "Gamma") 1 / at[2] else at[1]
    # observed and expected information differ by the noise of 200 rows
    expect_se(fit, of_lm(reference) * sqrt(phi / reference$sig2), 0.03)
    expect_close(deviance(fit), sum(theirs$dev.resids(d$y, fitted(fit), d$w)), tol$identity)
  }
  skip_if_not_installed("lme4")
  d <- lme4::sleepstudy
  set.seed(2)
  d$w <- runif(180, 0.2, 5)
  fit <- galvi(Reaction ~ Days + (1 | Subject), d, weights = w, control = known)
  reference <- lme4::lmer(Reaction ~ Days + (1 | Subject), d, weights = w)
  expect_se(fit, sqrt(diag(as.matrix(vcov(reference)))))
  expect_close(sigma(fit), sigma(reference), 0.01)
})

test_that("sds are those of lm() where weights differ by orders of magnitude", {
  set.seed(1)
  d <- data.frame(x = rnorm(60))
  d$y <- 1 + d$x + rnorm(60)
  for (ratio in c(1e2, 1e8)) {
    d$w <- rep(c(1, ratio), 30)
    ours <- galvi(y ~ x, d, weights = w)
    theirs <- lm(y ~ x, d, weights = w)
    expect_close(sigma(ours), summary(theirs)$sigma, 1e-3)
    # those of a t distribution with 58 degrees of freedom
    expect_lt(max(abs(sqrt(diag(vcov(ours)) / diag(vcov(theirs))) / sqrt(58 / 56) - 1)), 0.01)
  }
})

test_that("a new response has the weight of its row, 1 where newdata has none", {
  fit <- galvi(dist ~ speed, cars, weights = 1 / speed, hyper = "fixed", start = c(gaussian.variance = 14))
  at <- function(...) {
    interval <- predict(fit, ..., interval = "prediction", level = 0.9)
    variance <- predict(fit, ..., type = "link", se.fit = TRUE)$se.fit^2
    unname(((interval[, "upr"] - interval[, "lwr"]) / 2 / qnorm(0.95))^2 - variance)
  }
  expect_close(at(), 14 * cars$speed, tol$expectation)
  expect_close(at(cars[3:5, ]), 14 * cars$speed[3:5], tol$expectation)
  given <- cars
  given$share <- 1 / cars$speed
  fit <- galvi(dist ~ speed, given, weights = share, hyper = "fixed", start = c(gaussian.variance = 14))
  expect_close(at(cars[3:5, ]), rep(14, 3), tol$expectation)
  expect_close(at(data.frame(speed = 10, share = 4)), 14 / 4, tol$expectation)
  expect_close(at(data.frame(speed = 10, share = NA)), 14, tol$expectation)
  expect_error(at(data.frame(speed = 10, share = -1)), "`weights` must be finite and not negative",
    class = "galvi_error_newdata")
  # noise of draws: 1.96 standard errors of an sd from 4000 draws are 2%; three times that
  noise <- function(draws) apply(draws, 2, sd)
  set.seed(5)
  wanted <- sqrt(14 * cars$speed + predict(fit, type = "link", se.fit = TRUE)$se.fit^2)
  expect_lt(max(abs(noise(t(simulate(fit, 4000))) / wanted - 1)), 0.06)
  expect_lt(max(abs(noise(t(simulate(fit, 4000, newdata = given))) / wanted - 1)), 0.06)
  if (requireNamespace("rstantools", quietly = TRUE)) {
    expect_lt(max(abs(noise(rstantools::posterior_predict(fit, ndraws = 4000)) / wanted - 1)), 0.06)
    one <- rstantools::log_lik(fit, ndraws = 20)
    mu <- rstantools::posterior_linpred(fit, ndraws = 20)
    expect_identical(dim(one), dim(mu))
    # of a row the densities at all means have the peak of its own variance
    expect_true(all(one <= rep(dnorm(0, 0, sqrt(14 * cars$speed), log = TRUE), each = 20)))
  }
  expect_close(predict(fit, type = "density"), dnorm(cars$dist, fitted(fit), wanted, log = TRUE), tol$expectation)
})

test_that("weights, offset and subset that another function passes on are those of where they were typed", {
  set.seed(1)
  d <- data.frame(x = rnorm(12), col = 12:1)
  d$y <- d$x + rnorm(12)
  given <- rep(1, 12)  # what the formula's environment finds under this name
  fit <- function(data, ...) galvi(y ~ x, data, ...)
  design <- function(data, ...) galvi_design(y ~ x, data, ...)
  typed <- function(data, given) {
    list(fit(data, weights = given), fit(data, offset = given), fit(data, subset = given > 3),
         design(data, weights = given))
  }
  got <- typed(d, 1:12)
  expect_equal(coef(got[[1]]), coef(galvi(y ~ x, d, weights = 1:12)))
  expect_equal(coef(got[[2]]), coef(galvi(y ~ x, d, offset = 1:12)))
  expect_equal(coef(got[[3]]), coef(galvi(y ~ x, d[4:12, ])))
  expect_equal(galvi_model(got[[4]])$size, 1:12)
  expect_equal(coef(fit(d, weights = col)), coef(galvi(y ~ x, d, weights = col)))
  of_degree <- function(k) y ~ poly(x, k)
  k <- 3
  passed <- function(formula, ...) galvi(formula, d, ...)
  expect_error(passed(of_degree(2), weights = col * k), "`k` is one variable in `weights` and another in the formula",
               class = "galvi_error_argument")
  expect_equal(unname(coef(passed(of_degree(3), weights = col * k))),
               unname(coef(galvi(y ~ poly(x, 3), d, weights = 3 * col))))
})

test_that("frequency() is a word of `weights` alone, and says what it takes", {
  d <- weighted_data("poisson")
  expect_identical(stats::frequency, frequency)
  same <- function(a, b) expect_identical(coef(a), coef(b))
  plain <- galvi(y ~ x, d, poisson(), weights = w)
  same(plain, galvi(y ~ x, d, poisson(), weights = frequency(w)))
  same(plain, update(galvi(y ~ x, d, poisson()), weights = frequency(w)))
  wrapper <- function(...) galvi(y ~ x, d, poisson(), ...)
  same(plain, wrapper(weights = frequency(w)))
  same(plain, do.call(galvi, list(y ~ x, d, poisson(), weights = quote(frequency(w)))))
  same(plain, galvi(list(y ~ x)[[1]], d, poisson(), weights = frequency(w * 1)))
  counts <- with(d, galvi(data.frame(x), y, family = poisson(), kernel = linear(), weights = frequency(w)))
  same(counts, with(d, galvi(data.frame(x), y, family = poisson(), kernel = linear(), weights = w)))
  # gp(.) leaves its variable out
  expect_false("w" %in% galvi_design(y ~ gp(.), d, poisson(), weights = frequency(w))$parts$specs[[1]]$inputs)
  expect_error(galvi(y ~ x, d, weights = frequency(w, 2)), "takes one vector", class = "galvi_error_argument")
  expect_error(galvi(y ~ x, d, weights = frequency()), "takes one vector", class = "galvi_error_argument")
  expect_error(galvi(y ~ x, d, weights = frequency("w")), "without quotes", class = "galvi_error_argument")
  d$share <- (d$y %% 5) / 4
  expect_error(galvi(share ~ x, d, binomial(), weights = frequency(w)), "cbind\\(successes, failures\\)",
    class = "galvi_error_response")
})

test_that("columns of responses() have the weights of their own families", {
  set.seed(9)
  Y <- data.frame(a = rnorm(30), b = rpois(30, 2), c = rnorm(30))
  w <- matrix(runif(90, 0.5, 2), 30)
  fit <- galvi(responses(Y) ~ factors(1), family = list(gaussian(), poisson(), gaussian()), weights = w,
    hyper = "fixed")
  of <- function(name, column) fit$model[[name]][fit$model$part == column]
  for (column in c(1, 3)) {
    expect_identical(of("size", column), w[, column])
    expect_identical(of("weights", column), rep(1, 30))
  }
  expect_identical(of("size", 2), rep(1, 30))
  expect_identical(of("weights", 2), w[, 2])
  expect_identical(unname(weights(fit)), w)
  r <- residuals(fit)
  expect_close(r[, 1], Y$a - fitted(fit)[, 1], tol$identity)
  counted <- galvi(responses(Y) ~ factors(1), family = list(gaussian(), poisson(), gaussian()), weights = frequency(w),
    hyper = "fixed")
  expect_identical(counted$model$weights, as.vector(w))
})

test_that("weights that no number of a model bears are refused, small and large ones are not", {
  refused <- function(w, family = gaussian()) {
    expect_error(galvi(dist ~ speed, cars, family, weights = w), "between 1e-100 and 1e\\+100; row 3 has",
      class = "galvi_error_argument")
  }
  refused(replace(rep(1, 50), 3, 1e308))
  refused(replace(rep(1, 50), 3, 1e-300), poisson())
  reference <- galvi(dist ~ speed, cars)
  for (w in c(1e-100, 1e100)) {
    fit <- galvi(dist ~ speed, cars, weights = rep(w, 50))
    expect_close(coef(fit), coef(reference), tol$solve)
    expect_close(sigma(fit) / sqrt(w), sigma(reference), tol$optimum)
  }
})

test_that("rows of next to no weight leave the prior, whatever the method", {
  set.seed(1)
  d <- data.frame(x = rnorm(16))
  d$count <- rpois(16, exp(0.3 * d$x))
  d$time <- rexp(16)
  d$event <- rbinom(16, 1, 0.5)
  surv <- survival::Surv
  kinds <- list(
    list(count ~ x, poisson()), list(time ~ x, exponential()), list(time ~ x, Gamma("log")),
    list(count ~ x, negbinomial()), list(surv(time, event) ~ x, exponential()),
    list(surv(time, event) ~ x, weibull())
  )
  far <- 3  # prior sds times those of eta: no bound at the prior is lower where fits converge
  for (kind in kinds) {
    for (w in c(1e-3, 1e-5)) {
      d$w <- w
      fits <- lapply(c("auto", "newton", "natural_gradient"), function(method) {
        suppressMessages(galvi(kind[[1L]], d, kind[[2L]], weights = frequency(w), method = method, hyper = "fixed",
          prior = normal(0, 10)))
      })
      info <- paste(deparse(kind[[1L]]), w)
      for (fit in fits) {
        expect_true(fit$convergence$converged, info = info)
        expect_lt(abs(fit$elbo - fits[[1L]]$elbo), tol$fuzz_learned)
      }
      expect_gt(fits[[1L]]$elbo, -far, label = info)
    }
  }
})

test_that("counts of which only zeros have a weight are fitted", {
  d <- data.frame(y = c(0, 1, 2, 4, 0, 3), x = 1:6, w = c(1, 0, 0, 0, 1, 0))
  for (family in c("hurdle_negbinomial", "hurdle_poisson", "zero_inflated_negbinomial")) {
    fit <- suppressWarnings(galvi(y ~ x, d, family, weights = w))
    expect_true(all(is.finite(fitted(fit))))
  }
})
