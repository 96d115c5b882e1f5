# y | trials(n) + weights(w) ~ x: each word gives the fit of what it stands for.

left_data <- function() {
  set.seed(8)
  d <- data.frame(x = rnorm(60), n = rep(c(3, 5, 8), 20), t = runif(60, 0.5, 2), w = rep(1:3, 20), s = runif(60, 0.2, 1))
  d$successes <- rbinom(60, d$n, plogis(d$x))
  d$count <- rpois(60, d$t * exp(0.3 + 0.5 * d$x))
  d$y <- rnorm(60, d$x, d$s)
  d$time <- exp(d$x / 2 + log(rexp(60)))
  d$state <- rep(c("none", "right", "none", "left", "interval"), 12)
  d$upper <- d$time + 1
  d
}

expect_fit_of <- function(fit, reference) {
  expect_identical(fit$elbo, reference$elbo)
  expect_identical(coef(fit), coef(reference))
  expect_identical(fitted(fit), fitted(reference))
}

test_that("trials, rates and weights are those of other formulas", {
  d <- left_data()
  fit <- galvi(successes | trials(n) ~ x, d, binomial())
  reference <- galvi(cbind(successes, n - successes) ~ x, d, binomial())
  expect_fit_of(fit, reference)
  new <- d[1:4, ]
  expect_identical(predict(fit, new, type = "density"), predict(reference, new, type = "density"))
  expect_identical(predict(fit, data.frame(x = 1), interval = "credible"),
    predict(reference, data.frame(x = 1), interval = "credible"))
  expect_fit_of(galvi(successes | trials(8) ~ x, d, beta_binomial()),
    galvi(cbind(successes, 8 - successes) ~ x, d, beta_binomial()))
  expect_fit_of(galvi(I(count > 1) | trials(1) ~ x, d, binomial()), galvi(I(count > 1) ~ x, d, binomial()))
  fit <- galvi(count | rate(t) + weights(w) ~ x, d, poisson())
  reference <- galvi(count ~ x + offset(log(t)), d, poisson(), weights = frequency(w))
  expect_fit_of(fit, reference)
  expect_identical(predict(fit, new), predict(reference, new))
  expect_fit_of(update(fit, . ~ . + n), update(reference, . ~ . + n))
  expect_fit_of(galvi(list(count | rate(t) ~ x, phi ~ 1), d, nbinom1()),
    galvi(list(count ~ x + offset(log(t)), phi ~ 1), d, nbinom1()))
})

test_that("rate(t) of a negative binomial count has t times its size, too", {
  set.seed(9)
  d <- data.frame(x = rnorm(200), t = exp(rnorm(200)))
  d$count <- rnbinom(200, mu = d$t * exp(0.5 + 0.4 * d$x), size = 1.5 * d$t)
  advised <- function(formula, family) {
    said <- message_of_error(eval(substitute(galvi(formula, data = d, family = family))))
    expect_match(said, "multiplies `shape` as well as the mean in brms", fixed = TRUE)
    str2lang(sub(".*In full: (galvi\\(.*)[.]$", "\\1", said))
  }
  call <- advised(count | rate(t) ~ x, negbinomial())
  expect_identical(call[[2L]], quote(list(count ~ x + offset(log(t)), shape ~ offset(log(t)))))
  fit <- eval(call)
  # brms' likelihood
  loss <- function(b) -sum(dnbinom(d$count, mu = d$t * exp(b[1L] + b[2L] * d$x), size = d$t * exp(b[3L]), log = TRUE))
  own <- stats::optim(c(0, 0, 0), loss, method = "BFGS", hessian = TRUE)
  expect_lt(max(abs(coef(fit) - own$par) / sqrt(diag(solve(own$hessian)))), 0.15)
  expect_equal(unname(sqrt(diag(vcov(fit))))[1:2], sqrt(diag(solve(own$hessian)))[1:2], tolerance = 0.05)
  # a size that is fixed, other words, a formula of the size
  geometric <- advised(count | rate(t) ~ x, geometric())
  expect_lt(abs(coef(eval(geometric))[["shape_(Intercept)"]]), 0.01)
  expect_identical(advised(count | rate(t) + weights(x^2) ~ x, negbinomial())[[2L]][[2L]],
    quote(count | weights(x^2) ~ x + offset(log(t))))
  expect_identical(advised(list(count | rate(t) ~ 1, shape ~ x), negbinomial())[[2L]],
    quote(list(count ~ 1 + offset(log(t)), shape ~ x + offset(log(t)))))
})

test_that("a response with a known error of measurement is not one with missing values", {
  d <- left_data()
  expect_error(galvi(y | mi(s) ~ x, d), "the standard error s is y | se(s, sigma = TRUE)", fixed = TRUE,
    class = "galvi_error_formula")
  expect_error(galvi(y | mi() ~ x, d), "has nothing to do", class = "galvi_error_formula")
})

test_that("known standard errors are variances: the meta-analysis of 13 trials of the BCG vaccine", {
  # Colditz et al. (1994): log relative risks and their variances; REML: Viechtbauer (2010), table 1
  bcg <- data.frame(trial = 1:13,
    y = c(-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459,
      -0.0173),
    v = c(0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714))
  fit <- galvi(y | se(sqrt(v)) ~ 1 + (1 | trial), bcg, prior = list(intercept = normal(0, Inf)),
    control = galvi_control(uncertainty = "factorised", hyper_tol = 1e-9))
  expect_equal(coef(fit)[[1L]], -0.7145, tolerance = 1e-3)
  expect_equal(sqrt(vcov(fit)[[1L]]), 0.1798, tolerance = 1e-3)
  expect_equal(fit$hyper$estimate[fit$hyper$name == "iid(trial).variance"], 0.3132, tolerance = 1e-3)

  d <- left_data()
  fit <- galvi(y | se(s) ~ x, d)
  weighted <- stats::lm(y ~ x, d, weights = 1 / s^2)
  V <- solve(crossprod(cbind(1, d$x) / d$s))
  expect_equal(unname(coef(fit)), unname(coef(weighted)), tolerance = 1e-3) # the default prior is weak
  expect_equal(unname(sqrt(diag(vcov(fit)))), sqrt(diag(V)), tolerance = 1e-3)
  new <- data.frame(x = 0, s = c(0.1, 2))
  wide <- predict(fit, new, interval = "prediction")
  expect_equal(unname(wide[, "upr"] - wide[, "fit"]), qnorm(0.975) * sqrt(V[1L, 1L] + new$s^2), tolerance = 1e-3)
})

test_that("sigma beside known standard errors is the variance between studies: REML's", {
  d <- left_data()
  flat <- list(intercept = normal(0, Inf), x = normal(0, Inf))
  control <- galvi_control(uncertainty = "factorised", hyper_tol = 1e-9)
  minus_reml <- function(log_variance, y = d$y, X = cbind(1, d$x), known = d$s^2, w = 1) {
    v <- known + exp(log_variance) / w
    root <- X / sqrt(v)
    beta <- solve(crossprod(root), crossprod(X / v, y))
    0.5 * (sum(log(2 * pi * v) + (y - X %*% beta)^2 / v) + determinant(crossprod(root))$modulus - ncol(X) * log(2 * pi))
  }
  d$y <- d$y + rnorm(60, 0, 0.4)
  for (w in list(rep(1, 60), d$w)) {
    d$weight <- w
    fit <- galvi(y | se(s, sigma = TRUE) ~ x, d, weights = weight, prior = flat, control = control)
    best <- optimize(minus_reml, c(-8, 3), w = w, tol = 1e-10)
    expect_equal(sigma(fit)^2, exp(best$minimum), tolerance = 1e-5)
    expect_equal(fit$elbo, -c(best$objective), tolerance = tol$elbo) # the value is flat at the optimum
    V <- solve(crossprod(cbind(1, d$x) / sqrt(d$s^2 + sigma(fit)^2 / w)))
    expect_equal(unname(sqrt(diag(vcov(fit)))), sqrt(diag(V)), tolerance = 1e-8)
  }
  # new responses have the s of their rows, and weights of one
  new <- data.frame(x = 0, s = c(0, 2))
  wide <- predict(fit, new, interval = "prediction")
  half <- qnorm(0.975) * sqrt(V[1L, 1L] + new$s^2 + sigma(fit)^2)
  expect_equal(unname(wide[, "upr"] - wide[, "fit"]), half, tolerance = 1e-6)
  expect_equal(unname(predict(fit, data.frame(x = 0))), unname(coef(fit)[1L]))
  expect_error(predict(fit, data.frame(x = 0), interval = "prediction"), "needs? `?s", class = "galvi_error_newdata")
  m <- predict(fit, new[2, ], type = "link", se.fit = TRUE)
  sd <- sqrt(m$se.fit^2 + 4 + sigma(fit)^2)
  expect_equal(predict(fit, cbind(new[2, ], y = 1), type = "density")[[1L]], dnorm(1, m$fit, sd, TRUE)[[1L]],
    tolerance = 1e-8)
  expect_equal(unname(residuals(fit, type = "quantile")), unname((d$y - fitted(fit)) / sqrt(
    predict(fit, type = "link", se.fit = TRUE)$se.fit^2 + d$s^2 + sigma(fit)^2 / d$w)), tolerance = 1e-6)

  # metafor 3.8.1, rma(y, v, method = "REML") of these numbers: tau^2, mean and its standard error
  reml <- c(0.3132527787, -0.7145342670, 0.1797828430)
  bcg <- data.frame(trial = 1:13,
    y = c(-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694, -1.3713, -0.3394, 0.4459,
      -0.0173),
    v = c(0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564, 0.0730, 0.0124, 0.5325, 0.0714))
  fit <- galvi(y | se(sqrt(v), sigma = TRUE) ~ 1, bcg, prior = list(intercept = normal(0, Inf)), control = control)
  effects <- galvi(y | se(sqrt(v)) ~ 1 + (1 | trial), bcg, prior = list(intercept = normal(0, Inf)), control = control)
  expect_equal(sigma(fit)^2, effects$hyper$estimate[effects$hyper$name == "iid(trial).variance"], tolerance = 1e-4)
  expect_equal(fit$elbo, effects$elbo, tolerance = 1e-6)
  expect_equal(c(sigma(fit)^2, coef(fit), sqrt(vcov(fit))), reml, tolerance = 1e-5, ignore_attr = TRUE)
  # and so are their posteriors, also where the known variances are a matrix
  V <- diag(bcg$v)
  dimnames(V) <- list(bcg$trial, bcg$trial)
  posterior <- lapply(list(
    y | se(sqrt(v)) ~ 1 + (1 | trial), y | se(sqrt(v), sigma = TRUE) ~ 1, y ~ 1 + equalto(0 + trial | 1, V)
  ), function(formula) {
    fit <- galvi(formula, bcg, verbose = FALSE)
    c(coef(fit), sqrt(vcov(fit)), stats::na.omit(fit$hyper$upr))
  })
  for (same in posterior[-1L]) expect_equal(same, posterior[[1L]], tolerance = 1e-4, ignore_attr = TRUE)
  # priors that are shown can be typed
  fit <- galvi(y | se(sqrt(v), sigma = TRUE) ~ 1, bcg, hyper = "integrate", verbose = FALSE)
  expect_named(fit$prior, c("(Intercept)", "sigma"))
  expect_no_error(galvi(y | se(sqrt(v), sigma = TRUE) ~ 1, bcg, prior = fit$prior["sigma"], verbose = FALSE))
})

test_that("new responses need s of se(s) and t of trials(t), their means do not", {
  d <- left_data()
  d$t <- rep(1:6, 10)
  d$k <- d$t %/% 2
  new <- data.frame(x = c(0, 1))
  for (case in list(list(galvi(y | se(s) ~ x, d), "se\\(s\\).*need `s`"),
    list(galvi(k | trials(t) ~ x, d, binomial()), "trials\\(t\\).*need `t`"))) {
    fit <- case[[1L]]
    needs <- function(expr) expect_error(expr, case[[2L]], class = "galvi_error_newdata")
    needs(predict(fit, new, interval = "prediction"))
    needs(predict(fit, new, type = "quantile"))
    needs(simulate(fit, newdata = new))
    if (requireNamespace("rstantools", quietly = TRUE)) needs(rstantools::posterior_predict(fit, new))
    for (type in c("response", "link")) {
      whole <- cbind(new, s = 1, t = 1)
      expect_identical(predict(fit, new, type, interval = "credible"), predict(fit, whole, type, interval = "credible"))
    }
    # a missing value is one of a predictor
    one <- predict(fit, cbind(new, s = c(1, NA), t = c(1, NA)), interval = "prediction")
    expect_identical(unname(is.na(one[, "upr"])), c(FALSE, TRUE))
  }
  expect_error(conditional_effects(galvi(y | se(s) ~ x, d), method = "posterior_predict"), "se\\(s\\)",
    class = "galvi_error_newdata")
  # also where all rows of the data have one trial, or the s of 1
  fit <- galvi(k | trials(t) ~ x, transform(d, t = 1, k = t %% 2), binomial())
  expect_gt(predict(fit, cbind(new, t = 50), type = "quantile", probs = 0.5)[1L], 1)
  fit <- galvi(y | se(s) ~ x, transform(d, s = 1))
  expect_gt(predict(fit, cbind(new, s = 9), interval = "prediction")[1L, "upr"], 10)
})

test_that("beside known standard errors there is no residual standard deviation", {
  d <- left_data()
  d$g <- gl(6, 10)
  fit <- galvi(y | se(s) ~ x + (1 | g), d)
  expect_identical(sigma(fit), 0)
  expect_false("Residual" %in% as.data.frame(VarCorr(fit))$grp)
  expect_no_match(capture.output(print(fit)), "Residual")
  # standardised residuals are in units of s
  plain <- galvi(y | se(s) ~ x, d)
  expect_equal(unname(rstandard(plain)), unname((d$y - fitted(plain)) / d$s / sqrt(1 - hatvalues(plain))))
  skip_if_not_installed("insight")
  expect_equal(insight::get_variance(fit)$var.residual, mean(d$s^2))
})

test_that("known variances go with a predicted sigma, and are the scale of student()", {
  spec <- list(type = "gaussian_log_sd", hyper = list(), constants = list(noisy = 1))
  for (noise in c(0, 0.3, 4)) for (size in c(1, 3)) {
    at <- function(m, v) {
      probe_expectation(spec, "auto", numeric(), 1.2, size, 1, m, v, 2L, 1L, known = cbind(noise, -Inf, Inf))
    }
    m <- c(0.4, -0.3)
    v <- c(0.2, 0.5)
    expected <- stats::integrate(function(z) {
      s2 <- exp(2 * (m[2] + sqrt(v[2]) * z)) / size + noise
      dnorm(z) * (dnorm(1.2, m[1], sqrt(s2), TRUE) - v[1] / s2 / 2)
    }, -12, 12, rel.tol = 1e-12)$value
    ours <- at(m, v)
    expect_equal(ours$value, expected, tolerance = tol$expectation)
    expect_close(ours$d_m, numDeriv::grad(function(m) at(m, v)$value, m), tol$gradient)
    expect_close(ours$d_v, numDeriv::grad(function(v) at(m, v)$value, v), tol$gradient)
  }
  d <- left_data()
  fit <- galvi(list(y | se(s, sigma = TRUE) ~ x, sigma ~ x), d)
  expect_true(fit$convergence$converged)
  wide <- predict(fit, data.frame(x = 0, s = c(0, 3)), interval = "prediction")
  expect_gt(diff(wide[, "upr"]), 3)
  # with sigma nearly constant it is the model with one sigma
  tight <- galvi(list(y | se(s, sigma = TRUE) ~ x, sigma ~ 1), d, control = galvi_control(uncertainty = "factorised"))
  one <- galvi(y | se(s, sigma = TRUE) ~ x, d, control = galvi_control(uncertainty = "factorised"))
  expect_equal(unname(coef(tight)[1:2]), unname(coef(one)), tolerance = 0.02)

  fit <- galvi(y | se(s) ~ x, d, student(), control = galvi_control(uncertainty = "factorised"))
  minus <- function(b) -sum(dt((d$y - b[1] - b[2] * d$x) / d$s, 4, log = TRUE) - log(d$s))
  best <- optim(c(0, 1), minus, method = "BFGS", hessian = TRUE)
  expect_lt(max(abs(coef(fit) - best$par) / sqrt(diag(solve(best$hessian)))), 0.1)
  p <- predict(fit, data.frame(x = 0, s = c(0.1, 5)), type = "quantile", probs = 0.975)
  expect_gt(p[2], qt(0.975, 4) * 5 - 0.3)
})

test_that("censored responses are survival objects", {
  skip_if_not_installed("survival")
  d <- left_data()
  status <- c(none = 1, right = 0, left = 2, interval = 3)[d$state]
  reference <- galvi(survival::Surv(time, upper, status, type = "interval") ~ x, transform(d, status = status), weibull())
  expect_fit_of(galvi(time | cens(state, upper) ~ x, d, weibull()), reference)
  d$code <- c(none = 0, right = 1, left = -1, interval = 2)[d$state]
  fit <- galvi(time | cens(code, y2 = upper) ~ x, d, weibull())
  expect_fit_of(fit, reference)
  # new rows need not have all of the words
  expect_length(predict(fit, d[d$code == 0, ], type = "density"), 24L)
  right <- d[d$code %in% 0:1, ]
  expect_equal(galvi(time | cens(code == 1) ~ x, right, weibull())$elbo,
    galvi(survival::Surv(time, code == 0) ~ x, right, weibull())$elbo, tolerance = tol$identity)
})

# What a variable of a word may be by mistake: in row 3, or in all rows.
wrong_values <- function(x) {
  in_row <- function(value) replace(x, 3L, value)
  list(
    negative = in_row(-1), zero = in_row(0), infinite = in_row(Inf), missing = in_row(NA), not_a_number = in_row(NaN),
    fraction = in_row(2.5), factor = factor(x), text = as.character(x), logical = x > 1,
    date = as.Date("2020-01-01") + x, list = as.list(x)
  )
}

test_that("each word says which numbers it takes", {
  skip_if_not_installed("survival")
  d <- left_data()
  d$low <- d$y - 1
  d$high <- d$y + 1
  d$end <- ifelse(d$state == "interval", d$upper, NA)
  # rows 3 and 5 are intervals
  d$state[3] <- "interval"
  d$end[3] <- d$upper[3]
  types <- c("factor", "text", "logical", "date", "list")
  # formula, family, variable, and by mistake: what is said, or "" where it is none (NA leaves out the row)
  table <- list(
    list(y | se(s) ~ x, gaussian(), "s", c(negative = "-1", zero = "has 0", infinite = "Inf", missing = "",
      not_a_number = "", fraction = ""), "^`se\\(s\\)` must"),
    list(y | se(s) ~ x, student(), "s", c(negative = "-1", zero = "has 0", infinite = "Inf", missing = "",
      not_a_number = "", fraction = ""), "^`se\\(s\\)` must"),
    list(y | se(s, sigma = TRUE) ~ x, gaussian(), "s", c(negative = "-1", zero = "", infinite = "Inf", missing = "",
      not_a_number = "", fraction = ""), "^`se\\(s, sigma = TRUE\\)` must"),
    list(successes | trials(n) ~ x, binomial(), "n", c(negative = "-1", zero = "1 of 0", infinite = "Inf", missing = "",
      not_a_number = "", fraction = "2.5"), "^`(successes \\| )?trials\\(n\\)`:? .*(must be|must have)"),
    list(count | rate(t) ~ x, poisson(), "t", c(negative = "-1", zero = "has 0", infinite = "Inf", missing = "",
      not_a_number = "", fraction = ""), "^`rate\\(t\\)` must"),
    list(y | weights(w) ~ x, gaussian(), "w", c(negative = "-1", zero = "", infinite = "Inf", missing = "",
      not_a_number = "", fraction = ""), "^`weights(\\(w\\))?` must"),
    list(y | trunc(lb = low) ~ x, gaussian(), "low", c(negative = "", zero = "outside", infinite = "Inf",
      missing = "", not_a_number = "", fraction = "outside"), "trunc\\(lb = low\\)` must|must lie within|lb below ub"),
    list(y | trunc(ub = high) ~ x, gaussian(), "high", c(negative = "outside", zero = "", infinite = "", missing = "",
      not_a_number = "", fraction = ""), "trunc\\(ub = high\\)` must|must lie within|lb below ub"),
    list(time | cens(state, end) ~ x, weibull(), "end", c(negative = "to -1", zero = "to 0", infinite = "",
      missing = "row 3", not_a_number = "row 3", fraction = ""), "^`cens\\(state, end\\)`")
  )
  for (row in table) for (what in names(wrong_values(1:5))) {
    wrong <- d
    wrong[[row[[3L]]]] <- wrong_values(d[[row[[3L]]]])[[what]]
    said <- if (what %in% types) "not (an object|a vector)" else row[[4L]][[what]]
    info <- paste(deparse(row[[1L]]), what)
    found <- tryCatch({
      galvi_design(row[[1L]], wrong, row[[2L]])
      ""
    }, galvi_error = conditionMessage, warning = function(w) paste("warning:", conditionMessage(w)))
    if (!nzchar(said)) {
      expect_identical(found, "", info = info)
    } else {
      expect_match(found, said, info = info)
      expect_match(found, row[[5L]], info = info)
      if (!what %in% types) expect_match(found, "row 3", info = info)
    }
  }
})

test_that("words have one value per row, or one for all where that says something", {
  skip_if_not_installed("survival")
  d <- left_data()
  short <- 1:3
  nothing <- NULL
  fails <- function(formula, family, pattern, class = "argument") {
    expect_error(galvi_design(formula, d, family), pattern, class = paste0("galvi_error_", class))
  }
  fails(y | se(short) ~ x, gaussian(), "`se\\(short\\)` must have one value per row, which are 60, or one number for")
  fails(y | se(short, sigma = TRUE) ~ x, gaussian(), "`se\\(short, sigma = TRUE\\)` must have one value per row")
  fails(successes | trials(short) ~ x, binomial(), "`trials\\(short\\)` must have one value per row")
  fails(count | rate(short) ~ x, poisson(), "`rate\\(short\\)` must have one value per row, which are 60; it has 3")
  fails(count | rate(2) ~ x, poisson(), "it has 1")
  fails(y | weights(short) ~ x, gaussian(), "`weights\\(short\\)` must have one value")
  fails(y | weights(nothing) ~ x, gaussian(), "it has 0")
  fails(y | trunc(ub = short + 100) ~ x, gaussian(), "`trunc\\(ub = short \\+ 100\\)` must have one value")
  fails(time | cens(short) ~ x, weibull(), "`cens\\(short\\)` must have one value")
  fails(time | cens(state, short) ~ x, weibull(), "must have one value")
  fails(time | cens(cbind(0, 1)) ~ x, weibull(), "must have one value")
  fails(y | se(log("a")) ~ x, gaussian(), "`se\\(log\\(\"a\"\\)\\)` cannot be evaluated")
  fails(y | se(sd) ~ x, gaussian(), "not a function")
  fit <- galvi(y | se(2) ~ x, d)
  expect_fit_of(fit, galvi(y | se(rep(2, nrow(d))) ~ x, d))
  expect_equal(predict(fit, d[1:3, ], type = "density"), predict(galvi(y | se(two) ~ x, cbind(d, two = 2)),
    cbind(d[1:3, ], two = 2), type = "density"))
})

test_that("what responses, bounds and codes contradict is said", {
  skip_if_not_installed("survival")
  d <- left_data()
  fails <- function(formula, family, pattern, class = "response") {
    expect_error(galvi_design(formula, d, family), pattern, class = paste0("galvi_error_", class))
  }
  fails(successes | trials(2) ~ x, binomial(), "from 0 to the trials; row 2 has 3 of 2, and 24 more rows")
  fails(I(-successes) | trials(n) ~ x, binomial(), "from 0 to the trials")
  fails(I(successes / n) | trials(n) ~ x, binomial(), "must be whole numbers.*0.6 of 5")
  fails(factor(successes) | trials(n) ~ x, binomial(), "numbers of successes, not an object of class \"factor\"")
  fails(cbind(successes, n) | trials(n) ~ x, categorical(), "leave trials\\(\\) out")
  fails(y | trunc(lb = 5, ub = -5) ~ x, gaussian(), "lb below ub; row 1 has trunc\\(5, -5\\)", "argument")
  fails(y | trunc(lb = y, ub = y) ~ x, gaussian(), "lb below ub", "argument")
  fails(y | trunc(lb = 0) ~ x, gaussian(), "within its bounds; row 1 has -1.117219 outside of trunc\\(0, Inf\\)")
  fails(count | trunc(ub = 2.5) ~ x, poisson(), "within its bounds")
  fails(time | cens(3) ~ x, weibull(), "`cens\\(3\\)`: cens\\(\\) takes .*row 1 has 3, and 59 more rows")
  fails(time | cens(factor(n)) ~ x, weibull(), "row 1 has \"3\"")
  fails(time | cens(state, time - 1) ~ x, weibull(), "not be below the response; row 5 has 0.7531143 to -0.2468857")
  fails(factor(time) | cens(state, upper) ~ x, weibull(), "the response must be numbers")
  fails(I(-time) | cens(0) ~ x, weibull(), "`I\\(-time\\) \\| cens\\(0\\)` must have positive times")
  fails(count | cens("right") ~ x, poisson(), "`count \\| cens\\(\"right\"\\)` is a survival object")
})

test_that("rows that a subset leaves out may have anything, and new rows are checked as well", {
  skip_if_not_installed("survival")
  d <- left_data()
  bad <- transform(d, t = replace(t, 3L, -1), n = replace(n, 3L, -1), state = replace(state, 3L, "lost"),
    upper = replace(upper, 5L, 0))
  good <- bad[-c(3, 5), ]
  expect_identical(galvi(count | rate(t) ~ x, bad, poisson(), subset = t > 0)$elbo,
    galvi(count | rate(t) ~ x, bad[-3, ], poisson())$elbo)
  expect_identical(galvi(successes | trials(n) ~ x, bad, binomial(), subset = -3)$elbo,
    galvi(successes | trials(n) ~ x, bad[-3, ], binomial())$elbo)
  expect_warning(fit <- galvi(time | cens(state, upper) ~ x, bad, weibull(), subset = -c(3, 5)), NA)
  expect_identical(fit$elbo, galvi(time | cens(state, upper) ~ x, good, weibull())$elbo)

  rates <- galvi(count | rate(t) ~ x, d, poisson())
  expect_error(predict(rates, bad), "In `newdata`: `rate\\(t\\)` must be positive, finite numbers; row 3 has -1",
    class = "galvi_error_newdata")
  expect_identical(is.na(predict(rates, transform(d[1:3, ], t = c(1, NA, 2)))), c(`1` = FALSE, `2` = TRUE, `3` = FALSE))
  expect_error(predict(fit, bad, type = "density"), "row 3 has \"lost\"", class = "galvi_error_newdata")
  expect_length(predict(fit, bad), 60L)
  # rows that come block after block
  at <- 0
  source <- function(reset = FALSE) {
    if (reset) return(at <<- 0)
    at <<- at + 20
    if (at <= 60) bad[at - 19:0, ]
  }
  expect_error(galvi(count | rate(t) ~ x, source, poisson(), control = galvi_control(chunk_rows = 20)),
    "`rate\\(t\\)` must be positive", class = "galvi_error_argument")
})

test_that("one bar stands after the response", {
  d <- left_data()
  expect_fit_of(galvi((y | se(s)) ~ x, d), galvi(y | se(s) ~ x, d))
  # R's own or
  either <- galvi((count > 2 | y > 1) ~ x, d, binomial())
  expect_identical(either$elbo, galvi(z ~ x, transform(d, z = count > 2 | y > 1), binomial())$elbo)
  for (formula in list(y || se(s) ~ x, y | se(s) | weights(w) ~ x)) {
    expect_error(galvi_design(formula, d), "one bar follows the response", class = "galvi_error_formula")
  }
  expect_error(galvi_design(y | se(s) - weights(w) ~ x, d), "not `- weights\\(w\\)`", class = "galvi_error_formula")
  expect_error(galvi_design(y | se(s, NA) ~ x, d), "`se\\(s, NA\\)`: `sigma`", class = "galvi_error_formula")
})

test_that("errors name the word, the argument and the row", {
  d <- left_data()
  fails <- function(formula, class, pattern, family = gaussian(), data = d, ...) {
    expect_error(galvi(formula, data, family, ...), pattern, class = paste0("galvi_error_", class))
  }
  for (bad in list(0, -1, Inf)) {
    wrong <- replace(d$s, 3L, bad)
    fails(y | se(s) ~ x, "argument", "`se\\(s\\)` must be positive.*row 3", data = transform(d, s = wrong))
  }
  fails(y | se("s") ~ x, "formula", "not `se\\(\"s\"\\)`")
  for (bad in list(-1, Inf)) {
    fails(y | se(s, sigma = TRUE) ~ x, "argument", "`se\\(s, sigma = TRUE\\)` must be.*not negative; row 3",
      data = transform(d, s = replace(s, 3L, bad)))
  }
  fails(y | se(s) ~ x, "argument", "positive and finite; row 3", student(), data = transform(d, s = replace(s, 3L, 0)))
  fails(y | se(s) ~ x, "family", "student\\(\\) one", laplace())
  fails(y | se(s, sigma = TRUE) ~ x, "family", "sigma\\^2", student())
  fails(y | se(s, sigma = 2) ~ x, "formula", "TRUE or FALSE")
  fails(y | se(s) ~ x, "family", "without a parameter", galvi_family("gaussian", variance = fixed(2)))
  fails(y | se(s) + weights(w) ~ x, "argument", "both weights")
  fails(y | weights(w) ~ x, "argument", "both weights", weights = w)
  fails(y | se() ~ x, "formula", "se\\(s, sigma\\)")
  fails(y | se(s) + se(s) ~ x, "formula", "twice")
  fails(y | mi() ~ x, "formula", "left out")
  fails(y | dec(choice) ~ x, "formula", "may be trials\\(n\\), weights\\(w\\)")
  fails(y | s ~ x, "formula", "may be trials")
  fails(successes | trials(n) ~ x, "response", "family = binomial\\(\\)")
  fails(y | rate(t) ~ x, "formula", "log link")
  skip_if_not_installed("survival")
  fails(time | cens("up") ~ x, "response", "\"none\", \"left\"", weibull())
  fails(time | cens(state) ~ x, "response", "upper end", weibull())
  fails(successes | cens("right") ~ x, "response", "survival object", binomial())
})

test_that("words of brms are also resp_trials() and its like", {
  d <- data.frame(s = c(2, 4, 3, 5, 6), n = 10, x = 1:5, y = c(1.2, 2, 2.8, 4.4, 5), w = 1:5)
  expect_equal(coef(galvi(s | resp_trials(n) ~ x, d, binomial())), coef(galvi(s | trials(n) ~ x, d, binomial())))
  expect_equal(coef(galvi(y | resp_weights(w) ~ x, d)), coef(galvi(y | weights(w) ~ x, d)))
  expect_equal(coef(galvi(y | resp_trunc(lb = 0) ~ x, d)), coef(galvi(y | trunc(lb = 0) ~ x, d)))
  expect_error(galvi(y | resp_rubbish(w) ~ x, d), "resp_rubbish", class = "galvi_error_formula")
})

test_that("rows in which a word has a missing value are left out", {
  d <- data.frame(x = c(1, 3, 2, 5, 4, 2), y = c(1, 2, 3, 2, 1, 2), s = c(0.1, 0.2, NA, 0.1, 0.1, 0.3), n = 5)
  d$n[3] <- NA
  words <- list(
    y | se(s) ~ x, y | se(s, sigma = TRUE) ~ x, y | trunc(lb = s - 1) ~ x, y | trunc(ub = n) ~ x, y | weights(s) ~ x,
    y | trials(n) ~ x, y | rate(s) ~ x
  )
  families <- list("gaussian", "gaussian", "gaussian", "gaussian", "gaussian", "binomial", "poisson")
  for (k in seq_along(words)) {
    fit <- suppressMessages(galvi(words[[k]], d, families[[k]], hyper = "fixed"))
    expect_identical(unclass(fit$na.action)[[1]], 3L)
    expect_equal(fit$elbo, suppressMessages(galvi(words[[k]], d[-3, ], families[[k]], hyper = "fixed"))$elbo)
  }
  expect_error(galvi(y | se(s) ~ x, d, na.action = na.fail), "Missing values", class = "galvi_error_data")
  fit <- suppressMessages(galvi(y | se(s, sigma = TRUE) ~ x, d, hyper = "fixed"))
  expect_identical(is.na(unname(predict(fit, d, interval = "prediction")[, "lwr"])), seq_len(6) == 3)
  expect_error(galvi(y | se(s) ~ x, transform(d, s = replace(s, 4, -1))), "row 4 has -1", class = "galvi_error_argument")
})
