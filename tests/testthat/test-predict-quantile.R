# Quantiles with credible limits, and the units of the response.

test_that("credible limits of a quantile are those of eta, transformed", {
  skip_if_not_installed("survival")
  lung <- survival::lung
  fit <- galvi(survival::Surv(time, status) ~ age + sex, lung, weibull())
  new <- data.frame(age = c(50, 70), sex = c(1, 2))
  median <- predict(fit, new, type = "quantile", probs = c(0.1, 0.5), interval = "credible", level = 0.9)
  expect_identical(dim(median), c(2L, 2L, 3L))
  # at a known shape
  known <- at_estimates(fit)
  link <- predict(known, new, type = "link", interval = "credible", level = 0.9)
  shape <- fit$hyper$estimate[fit$hyper$name == "weibull.shape"]
  for (p in c(0.1, 0.5)) {
    found <- predict(known, new, type = "quantile", probs = p, interval = "credible", level = 0.9)
    wanted <- exp(link) * (-log(1 - p))^(1 / shape)
    expect_equal(found[, 1, ], wanted, tolerance = 1e-6, ignore_attr = TRUE)
  }
  # near survreg()'s, whose scale is uncertain as well
  reference <- survival::survreg(survival::Surv(time, status) ~ age + sex, lung)
  theirs <- predict(reference, new, type = "uquantile", p = 0.5, se.fit = TRUE)
  expect_lt(max(abs(log(median[, 2, "fit"]) - theirs$fit) / theirs$se.fit), 0.1)
  width <- log(median[, 2, "upr"] / median[, 2, "lwr"]) / (2 * qnorm(0.95))
  expect_equal(unname(width), unname(theirs$se.fit), tolerance = 0.05)
})

test_that("with two predictors they are those of draws", {
  draws_of <- function(fit, new, quantile) {
    set.seed(1)
    eta <- over_draws(fit, draws_target(fit, new), 20000, function(fit, target, eta) eta, c("mu", "second"))
    t(vapply(seq_len(nrow(new)), function(i) {
      stats::quantile(quantile(eta[, i, 1], eta[, i, 2]), c(0.5, 0.025, 0.975), type = 1, names = FALSE)
    }, numeric(3)))
  }
  new <- mtcars[c(1, 5, 16), ]
  # of 20,000 draws, in posterior standard deviations
  of_draws <- 0.05
  numbers <- galvi(list(mpg ~ wt, sigma ~ wt), mtcars)
  found <- predict(numbers, new, type = "quantile", probs = 0.9, interval = "credible")[, 1, ]
  wanted <- draws_of(numbers, new, function(mu, log_sd) mu + exp(log_sd) * qnorm(0.9))
  expect_lt(max(abs(found - wanted) / (wanted[, 3] - wanted[, 2])), of_draws)
  counts <- galvi(list(carb ~ wt, shape ~ 1), mtcars, negbinomial())
  found <- predict(counts, new, type = "quantile", probs = 0.9, interval = "credible")[, 1, ]
  wanted <- draws_of(counts, new, function(eta, shape) qnbinom(0.9, mu = exp(eta), size = exp(shape)))
  expect_true(all(found == round(found)))
  expect_lte(max(abs(found - wanted)), 1)
  expect_gt(mean(found == wanted), 0.7)
})

test_that("limits of counts are counts, and the median lies between them", {
  for (family in list(poisson(), negbinomial(), binomial())) {
    d <- transform(mtcars, y = if (family$family == "binomial") am else carb)
    fit <- galvi(y ~ wt, d, family, hyper = "fixed")
    found <- predict(fit, type = "quantile", probs = 0.9, interval = "credible")[, 1, ]
    expect_true(all(found == round(found)))
    expect_true(all(found[, "lwr"] <= found[, "fit"] & found[, "fit"] <= found[, "upr"]))
  }
  classes <- family_fit("categorical")
  expect_error(predict(classes, type = "quantile", interval = "credible"), class = "galvi_error_argument")
})

test_that("quantiles and distribution functions have the units of the response as it was typed", {
  d <- transform(mtcars, n = gear + carb)
  for (family in list(binomial(), beta_binomial(precision = 5))) {
    counts <- galvi(cbind(gear, carb) ~ wt, d, family, hyper = "fixed")
    shares <- galvi(gear / n ~ wt, d, family, weights = n, hyper = "fixed")
    expect_equal(coef(counts), coef(shares))
    for (p in c(0.05, 0.5, 0.95)) {
      q <- predict(counts, type = "quantile", probs = p)
      share <- predict(shares, type = "quantile", probs = p)
      expect_equal(q, share * d$n, ignore_attr = TRUE)
      expect_true(all(q == round(q)))
      for (i in c(1, 20, 31)) {
        below <- predict(counts, d[i, ], type = "cdf", q = c(q[i] - 1, q[i]))
        expect_true(below[1] < p && below[2] >= p)
        expect_equal(predict(shares, d[i, ], type = "cdf", q = c(share[i] - 1 / d$n[i], share[i])), below,
          ignore_attr = TRUE)
        expect_equal(predict(shares, d[i, ], type = "survival", times = share[i])[1], 1 - below[2])
      }
    }
    # intervals of a prediction are on the scale of the prediction
    interval <- predict(counts, interval = "prediction")
    expect_equal(interval, predict(shares, interval = "prediction"))
    expect_true(all(interval >= 0 & interval <= 1))
  }
})

test_that("predictions for no rows have no rows, and those for rows without values are NA", {
  skip_if_not_installed("survival")
  d <- transform(survival::lung, ph = factor(ph.ecog))
  survival <- galvi(survival::Surv(time, status) ~ splines::ns(age, 3) + ph, d, weibull())
  two <- galvi(list(survival::Surv(time, status) ~ age, sigma ~ 1), d, lognormal())
  types <- list(
    list(type = "cdf", q = 1:2), list(type = "survival", times = 1:2),
    list(type = "survival", times = 1:2, interval = "credible"), list(type = "quantile"),
    list(type = "quantile", interval = "credible"), list(interval = "credible"), list(type = "terms"),
    list(type = "link", se.fit = TRUE)
  )
  for (fit in list(survival, two)) {
    for (arguments in types) {
      for (new in list(d[0, ], transform(d[1:2, ], age = NA), transform(d[1:3, ], age = c(NA, 60, 61)))) {
        found <- suppressWarnings(do.call(predict, c(list(fit, new), arguments)))
        if (is.list(found)) found <- found$fit
        expect_identical(NROW(found), nrow(new))
        known <- matrix(as.numeric(found), nrow(new))
        expect_identical(rowSums(is.na(known)) > 0, is.na(new$age))
      }
    }
  }
  Y <- data.frame(x = seq(-1, 1, length.out = 20))
  Y$Y <- cbind(a = rpois(20, 3), b = rpois(20, 2))
  wide <- galvi(responses(Y) ~ x + factors(1), Y, poisson(), hyper = "fixed")
  for (arguments in list(list(type = "response"), list(type = "quantile"), list(type = "cdf", q = 1:3))) {
    expect_identical(dim(do.call(predict, c(list(wide, Y[0, ]), arguments)))[1:2], c(0L, 2L))
  }
})

test_that("a mixture of monotone functions has its distribution function and quantiles", {
  z <- seq(-7, 7, by = 0.35)
  # rising and falling lines: normal variables
  mean <- c(-1, 0, 3)
  slope <- c(1, -0.5, 2)
  share <- c(0.2, 0.5, 0.3)
  lines <- list(values = list(outer(z, slope[1:2]) + rep(mean[1:2], each = length(z)), cbind(mean[3] + slope[3] * z)),
    shares = list(share[1:2], share[3]), z = z)
  below <- function(x) sum(share * stats::pnorm(x, mean, abs(slope)))
  for (x in c(-3, -1, 0, 0.4, 5)) expect_equal(mixture_below(lines, x), below(x), tolerance = 1e-12)
  p <- c(0.025, 0.5, 0.975)
  expect_equal(vapply(mixture_quantiles(lines, p), below, 0), p, tolerance = 1e-8)
  # a constant is a step; what is beyond every number is infinite
  steps <- list(values = list(cbind(rep(2, length(z)), rep(Inf, length(z)))), shares = list(c(0.6, 0.4)), z = z)
  expect_identical(c(mixture_below(steps, 1.9), mixture_below(steps, 2)), c(0, 0.6))
  expect_equal(mixture_quantiles(steps, c(0.3, 0.9)), c(2, Inf), tolerance = 1e-9)
  # finite in the right half alone
  half <- list(values = list(cbind(ifelse(z < 0, -Inf, z))), shares = list(1), z = z)
  expect_identical(mixture_quantiles(half, 0.2), -Inf)
  expect_equal(mixture_quantiles(half, 0.9), stats::qnorm(0.9), tolerance = 1e-8)
  # constant but for rounding
  values <- 1e-16 * cbind(sin(seq_along(z)), cos(seq_along(z)))
  noise <- list(values = list(values), shares = list(c(0.5, 0.5)), z = z)
  expect_equal(mixture_quantiles(noise, stats::pnorm(-3:3)), rep(0, 7L), tolerance = 1e-9)
})

test_that("probabilities without quantiles are refused, not ignored", {
  fit <- galvi(dist ~ speed, cars)
  for (type in c("response", "link", "survival")) {
    expect_error(predict(fit, cars[1:2, ], type = type, probs = c(0.1, 0.9), times = if (type == "survival") 10),
      "type = \"quantile\"", class = "galvi_error_argument")
  }
  expect_identical(dim(predict(fit, cars[1:2, ], type = "quantile", probs = c(0.1, 0.9))), c(2L, 2L))
})

test_that("quantiles of counts are whole numbers whose distribution function reaches the probability first", {
  counts <- data.frame(y = as.numeric(discoveries), year = 1860:1959)
  fit <- galvi(y ~ year, counts, galvi_family("poisson", link = "softplus"))
  for (p in c(0.1, 0.5, 0.8, 0.9, 0.95, 0.975, 0.999)) {
    q <- predict(fit, type = "quantile", probs = p)
    reached <- function(q) diag(predict(fit, counts, type = "cdf", q = q))
    expect_true(all(reached(q) >= p))
    expect_true(all(q == 0 | reached(pmax(q - 1, 0)) < p))
  }
  expect_false(anyNA(predict(fit, counts[1:3, ], type = "cdf", q = 10^(20:30))))
})
