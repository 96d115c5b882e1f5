# Survival responses: every kind of row against R's distribution functions and integrate().

skip_on_cran()

every_row <- function(check) {
  for (type in names(survival_examples)) {
    rows <- survival_rows(type)
    for (kind in rownames(rows)) check(type, rows[kind, ], survival_examples[[type]]$value, paste(type, kind))
  }
}

at_eta <- function(type, row, eta, h, constants = list(censored = 1, bounded = 1, truncated = 1)) {
  n <- length(eta)
  range <- matrix(row, n, 3, byrow = TRUE)
  probe_likelihood(survival_spec(type, constants), h, rep(1, n), rep(1, n), eta, range)
}

# where the density of a row bends, in eta
bends_of_row <- function(type, row) {
  row <- row[is.finite(row) & row != 0]
  unique(if (survival_examples[[type]]$times) log(row) else row)
}

test_that("densities and probabilities of every kind of row are R's, with their derivatives", {
  skip_if_not_installed("numDeriv")
  eta <- c(-6, -2, -0.5, 0.4, 1.1, 3, 6)
  checked <- 0
  every_row(function(type, row, h, info) {
    ours <- at_eta(type, row, eta, h)
    expect_close(ours[, 1], reference_survival(type, row, eta), 1e-12)
    expect_close(ours[, 1], ours[, 2], 1e-13)
    for (x in eta) {
      for (k in 1:4) {
        slope <- numDeriv::grad(function(z) at_eta(type, row, z, h)[1, k + 1], x)
        expect_close(at_eta(type, row, x, h)[1, k + 2], slope, tol$gradient)
      }
      if (!length(h)) next
      slope <- numDeriv::grad(function(p) reference_survival(type, row, x, p), h)
      expect_close(at_eta(type, row, x, h)[1, 7], slope, tol$gradient)
      checked <<- checked + 1
    }
  })
  expect_some(checked, "slopes in hyperparameters")
})

test_that("expectations and their derivatives are those of integrate()", {
  grid <- expand.grid(mean = c(-5, -1, 0.3, 1.1, 2, 4), variance = c(0, 1e-8, 1e-4, 0.01, 0.5, 1, 4, 10))
  every_row(function(type, row, h, info) {
    ours <- survival_sweep(type, row, grid$mean, grid$variance)
    mean_of <- function(f) {
      mapply(function(m, v) gaussian_expectation(f, m, v, bends_of_row(type, row)), grid$mean, grid$variance)
    }
    expect_close(ours$value, mean_of(function(eta) reference_survival(type, row, eta)), tol$expectation)
    derivative <- function(k) mean_of(function(eta) at_eta(type, row, eta, h)[, k + 2])
    expect_close(ours$d_m, derivative(1), tol$expectation)
    expect_close(ours$d_v, derivative(2) / 2, tol$expectation)
    expect_close(ours$d_mm, derivative(2), tol$expectation)
    expect_close(ours$d_mv, derivative(3) / 2, tol$expectation)
    expect_close(ours$d_vv, derivative(4) / 4, tol$expectation)
  })
})

test_that("the expected gradient in hyperparameters is that of the value", {
  skip_if_not_installed("numDeriv")
  checked <- 0
  every_row(function(type, row, h, info) {
    if (!length(h)) return()
    for (x in list(c(0.4, 0.02), c(0.4, 1), c(2, 8), c(-1, 0))) {
      slope <- numDeriv::grad(function(p) survival_sweep(type, row, x[1], x[2], p)$value, h)
      expect_close(survival_sweep(type, row, x[1], x[2])$gradient, slope, tol$gradient)
      checked <<- checked + 1
    }
  })
  expect_some(checked, "gradients in hyperparameters")
})

test_that("a closed form serves rows that need no integral, and is the same", {
  plain <- list(censored = 1, bounded = 0, truncated = 1)
  for (type in c("weibull", "exponential")) {
    for (kind in c("observed", "right", "late", "late_right")) {
      row <- survival_rows(type)[kind, ]
      at <- function(constants) {
        survival_sweep(type, row, c(-2, 0.4, 3), c(0, 0.3, 4), constants = constants)
      }
      closed <- at(plain)
      numeric <- at(list(censored = 1, bounded = 1, truncated = 1))
      expect_identical(c(closed$name, numeric$name), c("closed_form", "quadrature"))
      for (part in c("value", "d_m", "d_v", "d_mm", "d_mv", "d_vv", "gradient")) {
        expect_close(closed[[part]], numeric[[part]], 1e-12)
      }
    }
    expect_error(survival_sweep(type, survival_rows(type)["left", ], 0, 1, constants = plain), "closed form")
  }
})

test_that("wide and distant posteriors keep nine digits, and nothing is missing", {
  g <- function(x) ifelse(x < -30, x - exp(x) / 2, ifelse(x < 0, log(-expm1(-exp(x))), log1p(-exp(-exp(x)))))
  # E g under N(m, v): left of the bend in long pieces, over it in short ones; nothing is right of 6
  reference <- function(f, m, v) {
    low <- m - 12 * sqrt(v)
    breaks <- sort(unique(c(low, m + c(-6, -3, -1, 0, 1, 3, 6) * sqrt(v), seq(-45, 6, by = 0.75), 6)))
    breaks <- breaks[breaks >= low & breaks <= min(m + 12 * sqrt(v), 6)]
    sum(mapply(function(from, to) {
      integrate(function(x) f(x) * dnorm(x, m, sqrt(v)), from, to, rel.tol = 1e-12, abs.tol = 1e-15,
        stop.on.error = FALSE)$value
    }, breaks[-length(breaks)], breaks[-1]))
  }
  grid <- expand.grid(m = c(-50, -20, -5, -1, 0, 1, 3, 5), v = c(0.009, 0.011, 0.1, 1, 10, 100, 1e3, 1e4))
  # a left-censored exponential time of 1: g(-eta)
  left <- c(0, 1, 0)
  ours <- survival_sweep("exponential", left, -grid$m, grid$v)
  expect_close(ours$value, mapply(reference, m = grid$m, v = grid$v, MoreArgs = list(f = g)), tol$expectation)
  for (k in 1:2) {
    of <- function(x) at_eta("exponential", left, -x, numeric())[, k + 2]
    expected <- mapply(reference, m = grid$m, v = grid$v, MoreArgs = list(f = of))
    # below -50 sds of 12 the pieces end before the Gaussian does; derivatives are 1 and 0 there
    expect_close(if (k == 1) ours$d_m else 2 * ours$d_v, expected, tol$expectation)
  }
  wild <- expand.grid(m = c(-1e30, -1e5, -300, 0, 300, 1e5, 1e30), v = c(0, 1e-8, 1, 1e4, 1e6, 1e8))
  every_row(function(type, row, h, info) {
    eta <- c(-1e30, -1e5, -300, 300, 1e5, 1e30)
    expect_false(anyNA(at_eta(type, row, eta, h)), info = info)
    ours <- survival_sweep(type, row, wild$m, wild$v)
    expect_false(anyNA(unlist(ours[c("value", "d_m", "d_v")])), info = info)
  })
})

test_that("all rows are log-concave but truncated ones of the log-logistic", {
  eta <- seq(-15, 15, by = 0.05)
  every_row(function(type, row, h, info) {
    second <- at_eta(type, row, eta, h)[, 4]
    convex <- type == "loglogistic" && row[3] > 0
    expect_identical(any(second > 0), convex && is.infinite(row[2]), info = info)
    sweep <- survival_sweep(type, row, 0.3, 1)
    expect_identical(sweep$one_optimum, type != "loglogistic", info = info)
    untruncated <- survival_sweep(type, row * c(1, 1, 0), 0.3, 1, constants = list(censored = 1, bounded = 1))
    if (survival_examples[[type]]$times) expect_true(untruncated$one_optimum)
  })
  truncated <- survival_spec("loglogistic", list(censored = 1, truncated = 1))
  expect_match(probe_expectation_refuses("log", truncated), "not a bound where rows are truncated")
  expect_identical(probe_expectation_refuses("log", survival_spec("loglogistic", list(censored = 1))), "")
})

# ---- fits ----

test_that("bounds of models with a process over age are the reference values", {
  d <- lung_data()
  gold <- list(
    weibull = list(family = weibull(1.3), elbo = -1145.4156164111, slope = 6.92641341),
    exponential = list(family = exponential(), elbo = -1155.1391216967),
    lognormal = list(family = lognormal(1), elbo = -1159.5264292052, slope = 13.1939796)
  )
  for (case in gold) {
    kernel <- se(variance = 0.25, lengthscale = 10)
    fit <- galvi(
      survival::Surv(time, event) ~ sex + ph.ecog + gp(age, kernel = kernel, center = FALSE), d, case$family, hyper = "fixed",
      prior = list(intercept = normal(0, 10), sex = normal(0, 1), ph.ecog = normal(0, 1))
    )
    expect_lt(abs(fit$elbo - case$elbo), 1e-6)
    expect_lt(fit$convergence$gap, 1e-6)
    if (is.null(case$slope)) next
    # the gold slope of the bound, every q at its optimum
    parameter <- fit$hyper$parameter[nrow(fit$hyper)]
    at <- fit$hyper$estimate[nrow(fit$hyper)]
    bounds <- vapply(at * (1 + 2e-3 * c(-2, -1, 1, 2)), function(value) {
      family <- do.call(galvi_family, stats::setNames(list(case$family$family, value), c("family", parameter)))
      update(fit, family = family, control = galvi_control(tol = 1e-11))$elbo
    }, 1)
    expect_equal(sum(c(1, -8, 8, -1) * bounds) / (12 * 2e-3 * at), case$slope, tolerance = 1e-7)
  }
})

test_that("with wide priors coefficients are those of survreg(), for all kinds of censoring", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- lung_data()
  near <- function(fit, survreg) {
    expect_true(fit$convergence$converged)
    expect_lt(max(abs(coef(fit) - coef(survreg)) / sqrt(diag(vcov(fit)))), 0.1)
    expect_lt(max(abs(sqrt(diag(vcov(fit))) / sqrt(diag(survreg$var)[1:3]) - 1)), 0.06)
  }
  families <- list(
    weibull = function(s) weibull(fixed(1 / s)), exponential = function(s) exponential(),
    lognormal = function(s) lognormal(fixed(s)), loglogistic = function(s) loglogistic(fixed(1 / s)),
    gaussian = function(s) galvi_family("gaussian", variance = fixed(s^2))
  )
  low <- pmax(d$time - 100, 1)
  # events, intervals and times before the first look
  kind <- rep(1:3, length.out = nrow(d))
  from <- ifelse(d$event == 0 | kind == 1, d$time, ifelse(kind == 2, low, NA))
  to <- ifelse(d$event == 1, d$time, NA)
  for (name in names(families)) {
    responses <- list(
      quote(Surv(time, event)), quote(Surv(time, event, type = "left")),
      quote(Surv(low, ifelse(event == 1, time, NA), type = "interval2")), quote(Surv(from, to, type = "interval2"))
    )
    for (response in responses) {
      formula <- eval(bquote(.(response) ~ sex + ph.ecog))
      theirs <- survival::survreg(formula, d, dist = name)
      near(galvi(formula, d, families[[name]](theirs$scale), prior = normal(0, 1e3)), theirs)
    }
  }
  # the shape itself, learned with the coefficients integrated out
  fit <- galvi(Surv(time, event) ~ sex + ph.ecog, d, weibull())
  expect_equal(fit$hyper$estimate[fit$hyper$name == "weibull.shape"], 1 / 0.7310, tolerance = 0.02)
})

test_that("a counting process of pieces of time is the whole, and late entries are subtracted", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- transform(lung_data(), cut = time / 3)
  pieces <- rbind(
    transform(d, start = 0, stop = cut, event = 0), transform(d, start = cut, stop = time)
  )
  families <- list(
    weibull(fixed(1.3)), exponential(), lognormal(fixed(1)), loglogistic(fixed(1.9))
  )
  prior <- list(intercept = normal(0, 10), sex = normal(0, 2))
  for (family in families) {
    whole <- galvi(Surv(time, event) ~ sex, d, family, prior = prior)
    split <- galvi(Surv(start, stop, event) ~ sex, pieces, family, prior = prior)
    expect_equal(split$elbo, whole$elbo, tolerance = 1e-7)
    expect_equal(coef(split), coef(whole), tolerance = 1e-4)
  }
  # loglogistic has no certificate with late entries
  expect_identical(is.na(split$convergence$gap), TRUE)
})

test_that("responses without censoring give the same as survival objects of events, and plain families", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- transform(lung_data(), log_time = log(time))
  for (family in list(weibull(), exponential(), lognormal(), loglogistic())) {
    plain <- galvi(time ~ sex, d, family, hyper = "fixed")
    marked <- galvi(Surv(time, rep(1, nrow(d))) ~ sex, d, family, hyper = "fixed")
    expect_equal(marked$elbo, plain$elbo, tolerance = 1e-9)
    quantiles <- predict(plain, d[1:3, ], type = "quantile")
    expect_equal(predict(marked, d[1:3, ], type = "quantile"), quantiles, tolerance = 1e-5)
    expect_error(residuals(plain, "deviance"), if (family$family == "exponential") NA else "no deviance")
  }
  # log-normal is gaussian on log y
  prior <- list(intercept = normal(0, 10), sex = normal(0, 2))
  log_normal <- galvi(time ~ sex, d, lognormal(fixed(0.8)), prior = prior)
  gaussian <- galvi(log_time ~ sex, d, galvi_family("gaussian", variance = fixed(0.64)), prior = prior)
  expect_equal(log_normal$elbo, gaussian$elbo - sum(d$log_time), tolerance = 1e-9)
  expect_equal(coef(log_normal), coef(gaussian), tolerance = 1e-7)
})

test_that("a complementary log-log model is glm()'s with wide priors", {
  d <- data.frame(dose = rep(1:6, each = 2), n = 20, dead = c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16))
  fit <- galvi(cbind(dead, n - dead) ~ dose, d, binomial("cloglog"), prior = normal(0, 100))
  theirs <- glm(cbind(dead, n - dead) ~ dose, binomial("cloglog"), d)
  expect_lt(max(abs(coef(fit) - coef(theirs)) / sqrt(diag(vcov(theirs)))), 0.1)
  expect_equal(residuals(fit, "deviance")^2, residuals(theirs, "deviance")^2, tolerance = 0.1)
  p <- predict(fit, data.frame(dose = 3), type = "prob")
  expect_equal(sum(p), 1)
})

# ---- predictions ----

test_that("survival probabilities, quantiles and means are integrals over the posterior", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- lung_data()
  new <- data.frame(sex = 1:2)
  times <- c(50, 365, 1500)
  above <- list(
    weibull = function(t, eta, h) pweibull(t, h, exp(eta), FALSE),
    exponential = function(t, eta, h) pexp(t, exp(-eta), FALSE),
    lognormal = function(t, eta, h) plnorm(t, eta, h, FALSE),
    loglogistic = function(t, eta, h) plogis(log(t), eta, 1 / h, FALSE)
  )
  mean_of_one <- list(
    weibull = function(h) gamma(1 + 1 / h), exponential = function(h) 1, lognormal = function(h) exp(h^2 / 2),
    loglogistic = function(h) (pi / h) / sin(pi / h)
  )
  for (name in names(above)) {
    joint <- galvi(Surv(time, event) ~ sex, d, name)
    fit <- at_estimates(joint)
    h <- fit$hyper$estimate[grepl(name, fit$hyper$name)]
    eta <- predict(fit, new, type = "link", se.fit = TRUE)
    expected <- t(mapply(function(m, s) vapply(times, function(time) {
      gaussian_expectation(function(e) above[[name]](time, e, h), m, s^2, log(time))
    }, 1), eta$fit, eta$se.fit))
    survival <- predict(fit, new, type = "survival", times = times)
    expect_close(as.vector(survival), as.vector(expected), 1e-9)
    expect_identical(dimnames(survival), list(c("1", "2"), c("50", "365", "1500")))
    expect_equal(predict(fit, new, type = "cdf", q = times), 1 - survival, tolerance = 1e-9)
    band <- predict(fit, new, type = "survival", times = times, interval = "credible")
    expect_identical(dim(band), c(2L, 3L, 3L))
    limits <- eta$fit + outer(eta$se.fit, qnorm(c(0.025, 0.975)))
    expect_close(band[, 2, "lwr"], above[[name]](365, limits[, 1], h), 1e-9)
    expect_close(band[, 2, "upr"], above[[name]](365, limits[, 2], h), 1e-9)
    median <- predict(fit, new, type = "quantile", probs = 0.5)
    at <- mapply(function(q, i) {
      predict(fit, new[i, , drop = FALSE], type = "survival", times = q)
    }, median, 1:2)
    expect_close(unname(at), c(0.5, 0.5), 1e-8)
    mean <- exp(eta$fit + eta$se.fit^2 / 2) * mean_of_one[[name]](h)
    expect_equal(predict(fit, new), mean, tolerance = 1e-9)
    ends <- predict(fit, new, type = "survival", times = c(0, Inf))
    expect_equal(ends, cbind(c(1, 1), c(0, 0)), ignore_attr = TRUE)
    if (name == "exponential") next
    # by default they are sums over weighted points
    expect_identical(uncertainty_method(joint), "points")
    w <- joint$points$weight
    h <- hyper_at_points(joint)[, joint$points$at]
    eta <- fixed_at_points(joint) %*% rbind(1, new$sex)
    expected <- vapply(times, function(time) colSums(w * above[[name]](time, eta, h)), numeric(2))
    expect_close(predict(joint, new, type = "survival", times = times), expected, 1e-9)
    expect_close(predict(joint, new), colSums(w * exp(eta) * mean_of_one[[name]](h)), 1e-9)
    ends <- predict(joint, new, type = "survival", times = c(0, Inf))
    expect_identical(unname(ends), cbind(c(1, 1), c(0, 0)))
  }
})

test_that("an infinite mean says so and names the median", {
  skip_if_not_installed("survival")
  d <- lung_data()
  fit <- galvi(survival::Surv(time, event) ~ sex, d, loglogistic(fixed(0.9)))
  expect_warning(mean <- predict(fit, d[1, ]), "infinite.*median", class = "galvi_warning_numeric")
  expect_identical(unname(mean), Inf)
  expect_true(is.finite(predict(fit, d[1, ], type = "quantile", probs = 0.5)))
})

test_that("the hazard at time 0 is its limit there", {
  skip_if_not_installed("survival")
  d <- lung_data()
  at_zero <- function(family) {
    fit <- galvi(survival::Surv(time, event) ~ sex, d, family, verbose = FALSE)
    unname(predict(fit, d[1, ], type = "hazard", times = c(0, 1), interval = "credible")[1, 1, ])
  }
  infinite <- function(x) {
    expect_warning(x, "hazard at time 0 is infinite.*shape below 1", class = "galvi_warning_numeric")
  }
  infinite(falls <- at_zero(weibull(shape = fixed(0.8))))
  expect_identical(falls, c(Inf, Inf, Inf))
  expect_identical(at_zero(weibull(shape = fixed(1.4))), c(0, 0, 0))
  expect_equal(at_zero(weibull(shape = fixed(1))), at_zero(exponential()), tolerance = 1e-3)
  expect_identical(at_zero(lognormal()), c(0, 0, 0))
  # points with shapes below 1 are rare, and the interval leaves them out
  infinite(learned <- at_zero(weibull()))
  expect_identical(learned, c(Inf, 0, 0))
})

test_that("densities of held-out rows are those of what is known of them", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- lung_data()
  for (name in c("weibull", "exponential", "lognormal", "loglogistic")) {
    fit <- galvi(Surv(time, event) ~ sex, d[1:150, ], name, hyper = "fixed")
    new <- d[151:160, ]
    density <- predict(fit, new, type = "density")
    above <- vapply(1:10, function(i) predict(fit, new[i, ], type = "survival", times = new$time[i]), 1)
    expect_close(unname(density[new$event == 0]), log(above)[new$event == 0], 1e-9)
    expect_true(all(density[new$event == 1] < log(above)[new$event == 1]))
    cavity <- loo::loo(fit)$pointwise[, "elpd_loo"]
    expect_false(anyNA(cavity))
  }
  # of a row that is censored everywhere beyond its entry nothing is known that was not
  fit <- galvi(Surv(start, time, event) ~ sex, transform(d, start = time / 2), weibull(fixed(1.3)))
  at <- function(stop) {
    predict(fit, data.frame(start = 100, time = stop, event = 0, sex = 1), type = "density")
  }
  expect_equal(unname(at(100.0000001)), 0, tolerance = 1e-6)
  expect_lt(at(200), at(150))
})

test_that("quantile residuals of censored rows lie between the bounds, others are refused by name", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- lung_data()
  fit <- galvi(Surv(time, event) ~ sex, d, weibull())
  set.seed(1)
  u <- pnorm(residuals(fit, "quantile"))
  below <- 1 - vapply(seq_len(nrow(d)), function(i) {
    predict(fit, d[i, ], type = "survival", times = d$time[i])
  }, 1)
  # some hundred points of the posterior stand for thousands
  thinned <- 3e-3
  expect_close(unname(u[d$event == 1]), below[d$event == 1], thinned)
  expect_true(all(u[d$event == 0] >= below[d$event == 0] - thinned))
  # Kolmogorov's statistic exceeds this in one of 100 right models
  expect_lt(max(abs(sort(u) - ppoints(length(u)))), 1.63 / sqrt(length(u)))
  for (type in c("response", "pearson", "deviance")) {
    expect_error(residuals(fit, type), "type = \"quantile\"", class = "galvi_error_argument")
  }
  expect_error(deviance(fit), "quantile", class = "galvi_error_argument")
  late <- transform(d, start = time * runif(nrow(d)) / 2)
  for (family in list(weibull(fixed(1.3)), lognormal(fixed(1)), loglogistic(fixed(1.9)))) {
    fit <- galvi(Surv(start, time, event) ~ sex, late, family)
    set.seed(2)
    expect_false(anyNA(residuals(fit, "quantile")))
    expect_true(all(simulate(fit, 1, seed = 1)[[1]] > late$start))
  }
  # of which the fit is a mixture over shapes
  few <- galvi(Surv(start, time, event) ~ sex, late[1:12, ], weibull(), hyper = "integrate")
  expect_true(few$convergence$converged)
  expect_false(anyNA(residuals(few, "quantile")))
})

test_that("simulated times have the distribution that is predicted", {
  skip_if_not_installed("survival")
  d <- lung_data()
  fit <- galvi(survival::Surv(time, event) ~ sex, d, loglogistic())
  draws <- unlist(simulate(fit, 1000, seed = 3, newdata = data.frame(sex = 1)))
  below <- predict(fit, data.frame(sex = 1), type = "cdf", q = quantile(draws, c(0.2, 0.5, 0.8)))
  expect_lt(max(abs(below - c(0.2, 0.5, 0.8))), 4 * sqrt(0.25 / 1000))
})

test_that("survival curves are drawn for typical values and for new data", {
  skip_if_not_installed("survival")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  d <- lung_data()
  fit <- galvi(survival::Surv(time, event) ~ sex + age, d, weibull())
  typical <- plot(fit, "survival")
  expect_named(typical, c("time", "fit", "lwr", "upr"))
  expect_true(all(diff(typical$fit) < 0) && typical$fit[1] == 1)
  new <- data.frame(sex = 1:2, age = 60)
  two <- plot(fit, "survival", newdata = new, n = 11, level = 0.5, xlim = c(0, 300))
  expect_identical(levels(two$series), c("sex = 1", "sex = 2"))
  expected <- predict(fit, data.frame(sex = 2, age = 60), type = "survival", times = two$time[12:22],
    interval = "credible", level = 0.5)
  expect_equal(as.matrix(two[12:22, c("fit", "lwr", "upr")]), expected[1, , ], ignore_attr = TRUE)
  for (which in c("effects", "calibration", "relevance", "trace")) expect_error(plot(fit, which), NA)
  expect_error(plot(fit, "trace", newdata = d), "newdata", class = "galvi_error_argument")
})

# ---- what is refused ----

test_that("bad survival responses are named", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- data.frame(t = c(1, 2, 3), s = c(1, 0, 1), x = c(0, 1, 1))
  refused <- function(code, pattern) expect_error(code, pattern, class = "galvi_error_response")
  refused(galvi(Surv(t - 1, s) ~ x, d, weibull()), "positive times.*row 1")
  refused(galvi(Surv(t, 0 * s) ~ x, d, weibull()), "right-censored in every row")
  refused(galvi(Surv(t, 0 * s, type = "left") ~ x, d, weibull()), "left-censored in every row")
  refused(galvi(Surv(t, s) ~ x, d, poisson()), "cox()")
  refused(galvi(Surv(t, s) ~ x, d, Gamma("log")), "weibull\\(\\)")
  refused(galvi(Surv(t, factor(c("a", "b", "a"))) ~ x, d, weibull()), "has a factor of events: .*status == \"b\"")
  refused(galvi(Surv(t - 3, t, s) ~ x, d, weibull()), "negative")
  broken <- Surv(d$t, d$t + 1, type = "interval2")
  broken[2, ] <- c(5, 4, 3)
  refused(galvi(broken ~ x, d, lognormal()), "left end.*row 2")
  late <- Surv(d$t, d$t + 1, d$s)
  late[2, ] <- c(5, 4, 1)
  refused(galvi(late ~ x, d, lognormal()), "after the entry.*row 2")
  refused(galvi(Surv(c(1, Inf, 2), s) ~ x, d, weibull()), "finite")
  d$t[2] <- NA
  fit <- galvi(Surv(t, s) ~ x, d, exponential())
  expect_identical(nobs(fit), 2L)
  expect_error(predict(fit, d, type = "survival"), "needs `times`", class = "galvi_error_argument")
  expect_error(predict(fit, d, times = 1), "for type = \"survival\"", class = "galvi_error_argument")
  d <- data.frame(x = 0:2)
  d$y <- Surv(c(1, 2, 4), c(1, 0, 1))
  fit <- galvi(y ~ x, d, exponential())
  d$y <- Surv(c(1, 2, 4), c(1, 0, 1), type = "left")
  expect_error(predict(fit, d, type = "density"), "type \"left\" in `newdata`", class = "galvi_error_newdata")
})

test_that("a survival object is read by its attributes, from blocks of rows and by workers' parts too", {
  skip_if_not_installed("survival")
  d <- lung_data()
  d <- d[rep(seq_len(nrow(d)), 3), ]
  fit <- galvi(survival::Surv(time, event) ~ sex, d, weibull(fixed(1.3)), method = "natural_gradient")
  read <- galvi(survival::Surv(time, event) ~ sex, rows_of_three(d), weibull(fixed(1.3)),
    method = "natural_gradient")
  expect_equal(read$elbo, fit$elbo, tolerance = 1e-8)
  more <- add_data(galvi(survival::Surv(time, event) ~ sex, d[1:300, ], weibull(fixed(1.3)),
    method = "natural_gradient"), d[-(1:300), ])
  expect_equal(coef(more), coef(fit), tolerance = 1e-3)
})

# ---- pieces ----

test_that("pieces of survival times have the rows of survSplit() and the model of coxph()", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- lung_data()
  cuts <- c(100, 250, 500)
  ours <- survival_pieces(Surv(time, event) ~ sex + age, d, cuts)
  theirs <- survival::survSplit(Surv(time, event) ~ sex + age, d, cut = cuts, episode = "part")
  expect_identical(ours$interval, as.integer(theirs$part))
  expect_equal(ours$event, theirs$event)
  expect_equal(exp(ours$log_exposure), theirs$time - theirs$tstart)
  expect_named(ours, c("sex", "age", "event", "log_exposure", "interval", "time", "row"))
  # an interval ends where an event is, as in coxph()
  edge <- survival_pieces(Surv(c(100, 101), c(1, 1)) ~ 1, data.frame(x = 1:2), cuts = 100)
  expect_identical(edge$interval, c(1L, 1L, 2L))
  expect_identical(edge$event, c(1L, 0L, 1L))
  expect_equal(exp(edge$log_exposure), c(100, 100, 1))
  late <- survival_pieces(Surv(start, time, event) ~ sex, transform(d, start = time / 2), cuts)
  expect_equal(sum(exp(late$log_exposure)), sum(d$time / 2))
  expect_equal(sum(late$event), sum(d$event))

  # Cox's model with Breslow's ties, where all that is at risk is so to the end of the interval
  dead <- d[d$event == 1, ]
  pieces <- survival_pieces(Surv(time, event) ~ sex + ph.ecog, dead, cuts = sort(unique(dead$time)))
  poisson_fit <- glm(event ~ factor(interval) + sex + ph.ecog + offset(log_exposure), poisson, pieces)
  cox <- survival::coxph(Surv(time, event) ~ sex + ph.ecog, dead, ties = "breslow")
  expect_equal(coef(poisson_fit)[names(coef(cox))], coef(cox), tolerance = 1e-6)
  # a baseline that is free to move gives about the same
  cases <- list(
    list(Surv(time, event) ~ sex + ph.ecog, d), list(Surv(time, status) ~ karno, survival::veteran)
  )
  for (case in cases) {
    pieces <- survival_pieces(case[[1]], case[[2]], cuts = 40)
    baseline <- quote(rw1(interval, variance = fixed(1)))
    formula <- eval(bquote(event ~ .(baseline) + .(case[[1]][[3]]) + offset(log_exposure)))
    fit <- galvi(formula, pieces, poisson())
    cox <- survival::coxph(case[[1]], case[[2]])
    at <- names(coef(cox))
    expect_lt(max(abs(coef(fit)[at] - coef(cox)) / sqrt(diag(vcov(cox)))), 0.1)
    expect_lt(max(abs(sqrt(diag(vcov(fit))[at] / diag(vcov(cox))) - 1)), 0.03)
  }

  refused <- function(code, text, what) expect_error(code, text, class = paste0("galvi_error_", what))
  refused(survival_pieces(time ~ sex, d), "Surv", "response")
  refused(survival_pieces(Surv(time, event) ~ sex, d, cuts = c(5, 2)), "`cuts`", "argument")
  refused(survival_pieces(Surv(time, event) ~ nowhere, d), "nowhere", "data")
  refused(survival_pieces(Surv(time, event) ~ row, transform(d, row = 1)), "rename", "data")
})

test_that("all methods meet at censored rows, with inducing points too", {
  skip_if_not_installed("survival")
  Surv <- survival::Surv
  d <- transform(lung_data(), low = pmax(time - 100, 1))
  between <- Surv(low, ifelse(event == 1, time, NA), type = "interval2") ~ sex + age
  prior <- list(intercept = normal(6, 5), default = normal(0, 1))
  for (family in list(weibull(fixed(1.3)), loglogistic(fixed(1.9)), lognormal(fixed(1)))) {
    bound <- function(method) galvi(between, d, family, method = method, prior = prior)$elbo
    methods <- c("fixed_point", "incremental", "natural_gradient", "newton", "cholesky_gradient")
    expect_lt(diff(range(vapply(methods, bound, 1))), 1e-6)
    expect_lt(abs(bound("ep") - bound("newton")), 0.01)
    kernel <- se(0.3, 10)
    full <- galvi(Surv(time, event) ~ gp(age, kernel = kernel), d, family, hyper = "fixed")
    ages <- galvi(Surv(time, event) ~ gp(age, kernel = kernel, inducing = 25), d, family, hyper = "fixed")
    expect_lt(abs(full$elbo - ages$elbo), 1e-4)
  }
  # the dual of a bound whose sigmoids have a coefficient
  of_log <- function(method) {
    galvi(Surv(time, event) ~ gp(age, kernel = se(0.3, 10)), d, loglogistic(fixed(1.9)), hyper = "fixed",
      expectation = "log", method = method)$elbo
  }
  expect_lt(abs(of_log("dual") - of_log("newton")), 1e-5)
})

test_that("intervals with a predictor of sigma are fitted in time by every method", {
  set.seed(1)
  d <- data.frame(y = exp(rnorm(20)))
  d$hi <- d$y + rexp(20)
  surv <- survival::Surv
  limit <- within_seconds(60)  # seconds; it takes two or three, and took hours
  for (family in list(lognormal(), gaussian())) {
    bounds <- numeric()
    took <- system.time(for (method in c("auto", "incremental", "fixed_point")) {
      fit <- galvi(list(surv(y, hi, type = "interval2") ~ 1, sigma ~ 1), d, family, method = method)
      expect_true(fit$convergence$converged)
      bounds <- c(bounds, fit$elbo)
    })[["elapsed"]]
    expect_lt(took, limit)
    expect_lt(diff(range(bounds)), tol$fuzz_learned)
  }
})

test_that("hazards average over the points' own shapes", {
  set.seed(1)
  d <- data.frame(x = rnorm(80), time = rexp(80) + 0.01)
  times <- c(0.01, 1, 5, 50)
  for (family in c("Gamma", "inverse.gaussian")) {
    fit <- galvi(time ~ x, d, galvi_family(family))
    expect_true(has_points(fit))
    draws <- as.matrix(fit, ndraws = 4000, seed = 1)
    mean <- exp(draws[, 1] + draws[, 2] * d$x[1])
    above <- if (family == "Gamma") gamma_log_upper else inverse_gaussian_log_upper
    by_draws <- vapply(times, function(t) mean(-above(t, mean, list(shape = draws[, 3], dispersion = draws[, 3]))), 0)
    expect_equal(unname(predict(fit, d[1, ], type = "cumhaz", times = times)[1, ]), by_draws, tolerance = 0.05)
  }
  # inside the near tail the formula of the far one has no value
  y <- 10^(-4:9)
  expect_silent(far <- inverse_gaussian_log_upper(y, 0.4, list(dispersion = 1.3)))
  expect_true(all(diff(far) <= 0) && all(is.finite(far)))
  # a limit between two infinite values is one
  values <- matrix(c(0, Inf, Inf, Inf), 1L)
  expect_identical(weighted_quantiles(values, rep(0.25, 4L), c(0.025, 0.975)), matrix(c(0, Inf), 1L))
})

test_that("hazards of fits with a second predictor are refused with what there is", {
  skip_if_not_installed("survival")
  set.seed(1)
  d <- data.frame(x = rnorm(40))
  d$y <- rgamma(40, 2, 2 / exp(0.3 * d$x))
  for (fit in list(
    galvi(list(y ~ x, shape ~ x), d, Gamma("log"), hyper = "fixed"),
    galvi(list(survival::Surv(y) ~ x, sigma ~ x), d, "lognormal", hyper = "fixed")
  )) {
    for (type in c("hazard", "cumhaz", "rmst")) {
      expect_error(predict(fit, d[1:2, ], type = type, times = 1), "has a formula too: use type = \"survival\"",
        class = "galvi_error_argument")
    }
    expect_length(predict(fit, d[1:2, ], type = "survival", times = 1), 2L)
  }
})
