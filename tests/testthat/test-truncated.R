# y | trunc(lb, ub): densities given that the response lies in its interval, by R's densities and distributions.

skip_on_cran()

# d: log density; p: distribution function, NULL where integrate() gives it; h: hyperparameters.
truncated_cases <- list(
  gaussian = list(
    h = 1.7, y = c(0.4, 2), low = c(-0.5, 0.3), high = c(2.5, 2.1),
    d = function(y, eta, h) dnorm(y, eta, sqrt(h), TRUE),
    p = function(y, eta, h) pnorm(y, eta, sqrt(h))
  ),
  lognormal = list(
    h = 0.6, y = c(0.4, 2), low = c(0.1, 0.3), high = c(2.5, 2.1), d = function(y, eta, h) dlnorm(y, eta, h, TRUE),
    p = function(y, eta, h) plnorm(y, eta, h)
  ),
  weibull = list(
    h = 1.6, y = c(0.4, 2), low = c(0.1, 0.3), high = c(2.5, 2.1),
    d = function(y, eta, h) dweibull(y, h, exp(eta), TRUE), p = function(y, eta, h) pweibull(y, h, exp(eta))
  ),
  exponential = list(
    h = numeric(), y = c(0.4, 2), low = c(0.1, 0.3), high = c(2.5, 2.1),
    d = function(y, eta, h) dexp(y, exp(-eta), TRUE), p = function(y, eta, h) pexp(y, exp(-eta))
  ),
  loglogistic = list(
    h = 2.4, y = c(0.4, 2), low = c(0.1, 0.3), high = c(2.5, 2.1),
    d = function(y, eta, h) dlogis(log(y), eta, 1 / h, TRUE) - log(y),
    p = function(y, eta, h) plogis(log(y), eta, 1 / h)
  ),
  gamma = list(
    h = 2.3, y = c(0.4, 2), low = c(0.1, 0.3), high = c(2.5, 2.1),
    d = function(y, eta, h) dgamma(y, h, h / exp(eta), log = TRUE), p = function(y, eta, h) pgamma(y, h, h / exp(eta))
  ),
  inverse_gaussian = list(
    h = 0.5, y = c(0.4, 2), low = c(0.1, 0.3), high = c(2.5, 2.1),
    d = function(y, eta, h) -0.5 * log(2 * pi * h * y^3) - (y / exp(eta) - 1)^2 / (2 * h * y)
  ),
  student = list(
    h = c(3.5, 0.8), y = c(0.4, 2), low = c(-0.5, 0.3), high = c(2.5, 2.1),
    d = function(y, eta, h) dt((y - eta) / h[2], h[1], log = TRUE) - log(h[2]),
    p = function(y, eta, h) pt((y - eta) / h[2], h[1])
  ),
  beta = list(
    h = 4.2, y = c(0.3, 0.6), low = c(0.1, 0.2), high = c(0.9, 0.7),
    d = function(y, eta, h) dbeta(y, h * plogis(eta), h * plogis(-eta), log = TRUE),
    p = function(y, eta, h) pbeta(y, h * plogis(eta), h * plogis(-eta))
  ),
  poisson = list(
    h = numeric(), y = c(1, 4), low = c(1, 3), high = c(9, 5), d = function(y, eta, h) dpois(y, exp(eta), TRUE)
  ),
  negbinomial = list(
    h = 1.4, y = c(1, 4), low = c(1, 3), high = c(9, 5),
    d = function(y, eta, h) dnbinom(y, size = h, mu = exp(eta), log = TRUE)
  ),
  binomial_logit = list(
    h = numeric(), size = 8, y = c(1, 4), low = c(1, 3), high = c(7, 5),
    d = function(y, eta, h) dbinom(y, 8, plogis(eta), TRUE)
  ),
  binomial_probit = list(
    h = numeric(), size = 8, y = c(1, 4), low = c(1, 3), high = c(7, 5),
    d = function(y, eta, h) dbinom(y, 8, pnorm(eta), TRUE)
  ),
  binomial_cloglog = list(
    h = numeric(), size = 8, y = c(1, 4), low = c(1, 3), high = c(7, 5),
    d = function(y, eta, h) dbinom(y, 8, -expm1(-exp(eta)), TRUE)
  ),
  binomial_loglog = list(
    h = numeric(), size = 8, y = c(1, 4), low = c(1, 3), high = c(7, 5),
    d = function(y, eta, h) dbinom(y, 8, exp(-exp(-eta)), TRUE)
  ),
  binomial_cauchit = list(
    h = numeric(), size = 8, y = c(1, 4), low = c(1, 3), high = c(7, 5),
    d = function(y, eta, h) dbinom(y, 8, pcauchy(eta), TRUE)
  ),
  beta_binomial = list(
    h = 3.1, size = 8, y = c(1, 4), low = c(1, 3), high = c(7, 5),
    d = function(y, eta, h) {
      a <- h * plogis(eta)
      b <- h * plogis(-eta)
      lchoose(8, y) + lbeta(y + a, 8 - y + b) - lbeta(a, b)
    }
  )
)

is_whole_case <- function(case) case$low[1L] == 1
lowest_of <- function(type) if (type %in% c("gaussian", "student")) -Inf else 0
highest_of <- function(case, type) if (!is.null(case$size)) case$size else if (type == "beta") 1 else Inf

# Response number i between both, the lower, the upper bound.
each_truncation <- function(check) {
  for (type in names(truncated_cases)) {
    case <- truncated_cases[[type]]
    for (i in seq_along(case$y)) for (ends in list(c(TRUE, TRUE), c(TRUE, FALSE), c(FALSE, TRUE))) {
      low <- if (ends[1L]) case$low[i] else -Inf
      high <- if (ends[2L]) case$high[i] else Inf
      check(type, case, case$y[i], low, high)
    }
  }
}

truncated_spec <- function(type) c(likelihood_spec(type), truncated = TRUE)
truncated_row <- function(case, low, high) cbind(0, if (is_whole_case(case)) low - 1 else low, high)

# The mean of f(y) over the responses in the interval times its probability; f NULL: the probability.
over_interval <- function(type, case, low, high, eta, h = case$h, f = function(y) 1) {
  low <- max(low, lowest_of(type))
  high <- min(high, highest_of(case, type))
  if (is_whole_case(case)) {
    y <- seq(low, min(high, 4000))
    return(sum(exp(case$d(y, eta, h)) * f(y)))
  }
  stats::integrate(function(y) exp(case$d(y, eta, h)) * f(y), low, high, rel.tol = 1e-12, abs.tol = 0,
    subdivisions = 2000L)$value
}
probability_of <- function(type, case, low, high, eta, h = case$h) {
  if (is.null(case$p)) return(over_interval(type, case, low, high, eta, h))
  p <- function(y) case$p(y, eta, h)
  (if (high < highest_of(case, type)) p(high) else 1) - (if (low > lowest_of(type)) p(low) else 0)
}

test_that("log densities are those given the interval", {
  each_truncation(function(type, case, y, low, high) {
    size <- if (is.null(case$size)) 1 else case$size
    for (eta in c(-0.8, 0.4, 1.1)) {
      ours <- probe_likelihood(truncated_spec(type), case$h, y, size, eta, known = truncated_row(case, low, high))
      expect_close(ours[1, 1:2], rep(case$d(y, eta, case$h) - log(probability_of(type, case, low, high, eta)), 2), 1e-9)
    }
  })
  # outside
  none <- probe_likelihood(truncated_spec("poisson"), numeric(), 0, 1, 0.4, known = cbind(0, 0, Inf))
  expect_identical(none[1, 1], -Inf)
})

test_that("derivatives in eta and in hyperparameters are those of the density", {
  skip_if_not_installed("numDeriv")
  each_truncation(function(type, case, y, low, high) {
    size <- if (is.null(case$size)) 1 else case$size
    at <- function(eta, h = case$h) {
      probe_likelihood(truncated_spec(type), h, y, size, eta, known = truncated_row(case, low, high))[1, ]
    }
    ours <- at(0.4)
    for (k in 1:4) expect_close(ours[k + 2], numDeriv::grad(function(eta) at(eta)[k + 1], 0.4), tol$gradient)
    if (length(case$h)) expect_close(ours[-(1:6)], numDeriv::grad(function(h) at(0.4, h)[1], case$h), tol$gradient)
  })
})

test_that("means, variances and distribution functions are those of the responses in the interval", {
  each_truncation(function(type, case, y, low, high) {
    size <- if (is.null(case$size)) 1 else case$size
    eta <- c(-0.8, 0.4)
    ours <- probe_conditional(truncated_spec(type), case$h, rep(y, 2), rep(size, 2), eta,
      known = truncated_row(case, low, high)[c(1, 1), ])
    for (j in 1:2) {
      of <- function(f) over_interval(type, case, low, high, eta[j], f = f)
      P <- of(function(y) 1)
      mean <- of(function(y) y) / P
      expect_close(ours$mean[j], mean, 1e-8)
      # integrate() is not accurate over a half-line with such tails
      heavy <- type %in% c("student", "loglogistic") && is.infinite(max(low, lowest_of(type)) + high)
      if (!heavy) expect_close(ours$variance[j], of(function(y) (y - mean)^2) / P, 1e-7)
      expect_close(ours$cdf[j], over_interval(type, case, low, y, eta[j]) / P, 1e-8)
    }
  })
})

test_that("far out in the tails densities keep their digits", {
  at <- function(type, h, y, eta, low, high) {
    probe_likelihood(truncated_spec(type), h, y, 1, eta, known = cbind(0, low, high))[1, ]
  }
  # a Gaussian 30 sds below its interval is exponential there: log density is log(rate) - rate (y - low)
  z <- 30
  expect_close(at("gaussian", 1, 0.01, -z, 0, Inf)[1],
    dnorm(0.01, -z, 1, TRUE) - pnorm(0, -z, 1, lower.tail = FALSE, log.p = TRUE), 1e-10)
  expect_close(at("poisson", numeric(), 1, -25, 0, Inf)[1], -log1p(exp(-25) / 2), 1e-10)
  expect_close(at("poisson", numeric(), 40, 0, 30, Inf)[1],
    dpois(40, 1, TRUE) - ppois(30, 1, lower.tail = FALSE, log.p = TRUE), 1e-10)
  expect_close(at("gamma", 2, 60, 0, 50, Inf)[1],
    dgamma(60, 2, 2, log = TRUE) - pgamma(50, 2, 2, lower.tail = FALSE, log.p = TRUE), 1e-9)
  expect_close(at("student", c(4, 1), -2e4, 0, -Inf, -1e4)[1],
    dt(-2e4, 4, log = TRUE) - pt(-1e4, 4, log.p = TRUE), 1e-9)
  for (type in c("gaussian", "poisson", "gamma")) for (eta in c(-20, 20)) {
    expect_true(all(is.finite(at(type, if (type == "poisson") numeric() else 1.5, 3, eta, 1, 4))))
  }
})

test_that("intervals of very many counts cost no time that grows with them, and have all of their digits", {
  at <- function(type, h, y, size, eta, low, high) {
    probe_likelihood(truncated_spec(type), h, y, size, eta, known = cbind(0, low, high))[1, ]
  }
  start <- proc.time()[["elapsed"]]
  for (high in c(1e3, 1e5, 1e9)) for (eta in c(0, 6, 15, 30)) {
    log_p <- function(eta) pnbinom(high, size = 1.4, mu = exp(eta), log.p = TRUE)
    ours <- at("negbinomial", 1.4, 7, 1, eta, -Inf, high)
    expect_close(ours[1], dnbinom(7, size = 1.4, mu = exp(eta), log = TRUE) - log_p(eta), 1e-9)
    h <- 1e-3
    slope <- function(f) (8 * (f(eta + h) - f(eta - h)) - f(eta + 2 * h) + f(eta - 2 * h)) / (12 * h)
    expect_close(ours[3], slope(function(eta) dnbinom(7, size = 1.4, mu = exp(eta), log = TRUE) - log_p(eta)), 1e-7)
  }
  for (eta in c(-0.4, 0, 3)) {
    between <- diff(pbinom(c(399999, 1e6 - 2e4), 1e6, plogis(eta)))
    expect_close(at("binomial_logit", numeric(), 5e5, 1e6, eta, 399999, 1e6 - 2e4)[1],
      dbinom(5e5, 1e6, plogis(eta), TRUE) - log(between), 1e-8)
  }
  expect_lt(proc.time()[["elapsed"]] - start, within_seconds(2))
})

test_that("expectations are integrals", {
  gold <- gold_data("truncated_expectations")
  for (i in seq_len(nrow(gold))) {
    row <- gold[i, ]
    h <- if (row$type == "gaussian") 1 else numeric()
    ours <- probe_expectation(truncated_spec(row$type), "quadrature", h, row$y, 1, 1, row$m, row$v, 2L, 1L,
      known = cbind(0, row$lb - (row$type == "poisson"), row$ub))
    expect_close(c(ours$value, ours$d_m, ours$d_v), unlist(row[c("expectation", "slope_m", "slope_v")]), 2e-9)
  }
  each_truncation(function(type, case, y, low, high) {
    size <- if (is.null(case$size)) 1 else case$size
    known <- truncated_row(case, low, high)
    for (v in c(0.3, 4)) {
      value <- function(eta) {
        again <- rep(1, length(eta))
        known <- known[again, , drop = FALSE]
        probe_likelihood(truncated_spec(type), case$h, y * again, size * again, eta, known = known)[, 1]
      }
      # a trapezium sum with sixteen times the nodes that the rule takes at most
      t <- seq(-14, 14, by = 1 / 64)
      wanted <- sum(value(0.2 + sqrt(v) * t) * dnorm(t)) / 64
      ours <- probe_expectation(truncated_spec(type), "quadrature", case$h, y, size, 1, 0.2, v, 2L, 1L, known = known)
      expect_close(ours$value, wanted, tol$expectation)
    }
  })
})

# ---- fits ----

truncated_data <- function() {
  set.seed(41)
  d <- data.frame(x = rnorm(150))
  d$mu <- 0.4 + 0.7 * d$x
  d$y <- d$mu + rnorm(150)
  d$count <- rpois(150, exp(d$mu))
  d$low <- runif(150, -1.5, 0)
  d
}

test_that("a fit has the posterior of the truncated likelihood, and predicts truncated responses", {
  d <- subset(truncated_data(), y > low)
  flat <- list(intercept = normal(0, Inf), x = normal(0, Inf))
  fit <- galvi(y | trunc(lb = low) ~ x, d, prior = flat)
  minus <- function(p) {
    mu <- p[1] + p[2] * d$x
    -sum(dnorm(d$y, mu, exp(p[3]), TRUE) - pnorm(d$low, mu, exp(p[3]), lower.tail = FALSE, log.p = TRUE))
  }
  best <- optim(c(0, 0, 0), minus, method = "BFGS", hessian = TRUE, control = list(reltol = 1e-14))
  V <- solve(best$hessian)
  se <- sqrt(diag(V))
  # importance sampling: 20,000 draws of a multivariate t
  set.seed(1)
  Z <- matrix(rnorm(60000), 3) / rep(sqrt(rchisq(20000, 5) / 5), each = 3)
  draws <- best$par + 1.3 * t(chol(V)) %*% Z
  log_weight <- 4 * log1p(colSums(Z^2) / 5) - apply(draws, 2L, minus)
  weight <- exp(log_weight - max(log_weight)) / sum(exp(log_weight - max(log_weight)))
  expect_gt(1 / sum(weight^2), 10000)
  mean <- drop(draws %*% weight)
  sd <- sqrt(drop((draws - mean)^2 %*% weight))
  expect_lt(max(abs(coef(fit) - mean[1:2]) / sd[1:2]), 0.05)
  expect_lt(max(abs(sqrt(diag(vcov(fit))) / sd[1:2] - 1)), 0.05)
  # which the untruncated fit does not meet
  expect_gt(max(abs(coef(galvi(y ~ x, d, prior = flat)) - best$par[1:2]) / se[1:2]), 1)
  expect_lt(abs(log(sigma(fit)) - best$par[3]) / se[3], 0.5)

  new <- data.frame(x = c(-1, 0.5), low = c(-0.5, 0.2))
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  s <- sigma(fit)
  mean_of <- function(eta, low) eta + s * exp(dnorm((low - eta) / s, log = TRUE) -
    pnorm((low - eta) / s, lower.tail = FALSE, log.p = TRUE))
  known <- galvi(y | trunc(lb = low) ~ x, d, galvi_family("gaussian", variance = fixed(s^2)), prior = flat,
    control = galvi_control(uncertainty = "factorised"))
  link <- predict(known, new, type = "link", se.fit = TRUE)
  mean <- vapply(1:2, function(i) integrate(function(e) dnorm(e, link$fit[i], link$se.fit[i]) * mean_of(e, new$low[i]),
    link$fit[i] - 9 * link$se.fit[i], link$fit[i] + 9 * link$se.fit[i], rel.tol = 1e-10)$value, 0)
  expect_equal(unname(predict(known, new)), mean, tolerance = 1e-8)
  interval <- predict(known, new, interval = "prediction")
  expect_true(all(interval[, "lwr"] > new$low))
  expect_equal(predict(known, new, type = "cdf", q = 0.1)[1, 1], integrate(function(e) {
    share <- (pnorm(0.1, e, s) - pnorm(-0.5, e, s)) / pnorm(-0.5, e, s, lower.tail = FALSE)
    dnorm(e, link$fit[1], link$se.fit[1]) * share
  }, link$fit[1] - 9 * link$se.fit[1], link$fit[1] + 9 * link$se.fit[1], rel.tol = 1e-10)$value, tolerance = 1e-7)
  p <- predict(known, new, type = "quantile", probs = 0.3)
  expect_equal(unname(predict(known, new[1, ], type = "cdf", q = p[1, 1])[1, 1]), 0.3, tolerance = 1e-7)
  set.seed(1)
  draws <- simulate(known, 20)
  expect_true(all(vapply(draws, function(y) all(y > d$low), NA)))
  r <- residuals(known, type = "quantile")
  expect_lt(abs(mean(r)), 0.25)
  expect_lt(abs(sd(r) - 1), 0.15)
  expect_true(all(is.finite(residuals(known, type = "pearson"))))
  expect_error(residuals(known, type = "deviance"), class = "galvi_error_argument")
  expect_true(is.finite(loo::loo(known)$estimates["elpd_loo", "Estimate"]))
  density <- predict(known, cbind(new, y = c(0, 1)), type = "density")
  expect_true(all(is.finite(density)))
  expect_equal(unname(predict(known, data.frame(x = 0), type = "link")), unname(coef(known)[1L]))
  expect_error(predict(known, data.frame(x = 0)), "trunc\\(lb = low\\).*`low`", class = "galvi_error_newdata")
})

test_that("counts from 1 on are those of a hurdle's positive part", {
  d <- truncated_data()
  cut <- galvi(count | trunc(lb = 1) ~ x, subset(d, count > 0), poisson(), control = galvi_control(tol = 1e-9))
  hurdle <- galvi(count ~ x, d, hurdle("poisson"), prior = list(intercept = normal(0, 10), x = normal(0, 10)),
    control = galvi_control(tol = 1e-9, uncertainty = "factorised"))
  cut <- update(cut, prior = list(intercept = normal(0, 10), x = normal(0, 10)),
    control = galvi_control(tol = 1e-9, uncertainty = "factorised"))
  expect_equal(unname(coef(cut)), unname(coef(hurdle)[1:2]), tolerance = 1e-5)
  expect_true(all(predict(cut, data.frame(x = c(-4, 0))) > 1))
  expect_true(min(unlist(simulate(cut, 5, seed = 1))) >= 1)
  both <- galvi(count | trunc(1, 6) + rate(t) ~ x, transform(subset(d, count > 0 & count < 7), t = 2), poisson())
  expect_equal(unname(coef(both)["x"]), unname(coef(update(both, count | trunc(1, 6) ~ x))["x"]), tolerance = 1e-2)
  limits <- predict(both, data.frame(x = c(-4, 0, 4), t = 1), interval = "prediction")
  expect_true(all(limits[, c("lwr", "upr")] %in% 1:6))
})

test_that("other families fit, and an interval that holds all responses changes nothing", {
  d <- truncated_data()[1:25, ] # one integral for each node of a row, where a base has no closed form
  d$time <- exp(d$y)
  cases <- list(
    list(time ~ x, Gamma("log")), list(time ~ x, weibull()), list(time ~ x, lognormal()), list(y ~ x, student()),
    list(count ~ x, negbinomial()), list(time ~ x, inverse.gaussian("log"))
  )
  control <- galvi_control(uncertainty = "factorised", hyper_tol = 1e-2)
  for (case in cases) {
    plain <- galvi(case[[1L]], d, case[[2L]], control = control)
    formula <- case[[1L]]
    formula[[2L]] <- call("|", formula[[2L]], quote(trunc(lb = -100, ub = 200)))
    wide <- galvi(formula, d, case[[2L]], control = control)
    expect_equal(coef(wide), coef(plain), tolerance = 1e-2)
    formula[[2L]][[3L]] <- quote(trunc(lb = 1))
    used <- d[plain$model$y >= 1, ]
    cut <- galvi(formula, used, case[[2L]], control = control)
    expect_true(all(is.finite(predict(cut, used[1:3, ], interval = "prediction"))))
  }
})

test_that("bad bounds are errors that name the row", {
  d <- truncated_data()
  fails <- function(formula, class, pattern, family = gaussian(), data = d, ...) {
    expect_error(galvi(formula, data, family, ...), pattern, class = paste0("galvi_error_", class))
  }
  d$lb <- -100
  fails(y | trunc(lb = 0) ~ x, "response", "row .* has .* outside of trunc\\(0, Inf\\)")
  fails(y | trunc(lb = lb, ub = ub) ~ x, "argument", "lb below ub; row 3",
    data = transform(d, ub = replace(rep(99, 150), 3, -100)))
  fails(count | trunc(0.2, 0.8) ~ x, "argument", "lb below ub", poisson())
  fails(y | trunc(lb = "a") ~ x, "formula", "may be")
  fails(y | trunc() ~ x, "formula", "may be")
  fails(list(y | trunc(lb = -9) ~ x, sigma ~ x), "formula", "one linear predictor")
  fails(cbind(count, 99) | trunc(lb = 0) ~ x, "family", "binomial", binomial())
  fails(I(count > 1) | trunc(lb = 0) ~ x, "family", "trunc", galvi_family("cumulative"))
  fails(y | trunc(lb = 0) + cens(x) ~ x, "formula", "cannot be combined")
})

test_that("means of truncated responses have limits, and effects are at typical ends", {
  set.seed(3)
  d <- data.frame(x = rnorm(60), low = rep(c(-1, -0.5, 0), 20))
  d$y <- 1 + 0.5 * d$x + rnorm(60)
  d <- d[d$y > d$low, ]
  fits <- list(
    galvi(y | trunc(lb = -1) ~ x, d), galvi(y | trunc(lb = low, ub = 9) ~ x, d, student()),
    galvi(y | trunc(lb = low) ~ x + s(x, k = 5), d)
  )
  new <- data.frame(x = c(0, 1, 2), low = c(-1, 0, -1))
  for (fit in fits) {
    limits <- predict(fit, new, type = "response", interval = "credible")
    expect_true(all(limits[, "lwr"] < limits[, "fit"] & limits[, "fit"] < limits[, "upr"]))
    # a total is a sum of these means
    total <- predict(fit, new, aggregate = ~ 1, se.fit = TRUE, interval = "credible")
    expect_close(total$fit, sum(limits[, "fit"]), tol$fuzz_rounding)
    expect_true(total$se.fit > 0 && total$lwr < total$fit && total$fit < total$upr)
    # a row's limits are its own
    alone <- do.call(rbind, lapply(1:3, function(i) {
      predict(fit, new[i, ], type = "response", interval = "credible")
    }))
    expect_close(unname(limits), unname(alone), tol$fuzz_rounding)
    low <- stats::median(if (is.null(fit$design$known$lb)) -1 else eval(fit$design$known$lb, d) + numeric(nrow(d)))
    effects <- conditional_effects(fit, "x", resolution = 5, robust = FALSE)[[1L]]
    expect_close(
      effects$estimate__,
      unname(predict(fit, data.frame(x = effects$x, low = low), type = "response", interval = "credible")[, "fit"]), 0.05
    )  # a median beside a mean
    predicted <- conditional_effects(fit, "x", method = "posterior_predict", resolution = 5)[[1L]]
    expect_true(all(predicted$lower__ >= low))
  }
  # means do not depend on how exactly a row was measured, new responses do
  d$error <- runif(nrow(d), 0.1, 0.3)
  measured <- galvi(y | se(error, sigma = TRUE) + trunc(lb = -1) ~ x, d)
  expect_true(all(is.finite(conditional_effects(measured, "x")[[1L]]$estimate__)))
  expect_error(conditional_effects(measured, "x", method = "posterior_predict"), "`error`")
})

test_that("hazards of truncated responses are refused, survival probabilities are not", {
  set.seed(3)
  d <- data.frame(x = runif(20), y = rexp(20))
  fit <- galvi(y | trunc(lb = 0.01) ~ x, transform(d, y = y + 0.01), Gamma("log"), hyper = "fixed")
  expect_error(predict(fit, d, type = "cumhaz", times = 1), "survival", class = "galvi_error_argument")
  expect_true(all(predict(fit, d, type = "survival", times = 1) < 1))
})
