# Zeros of another kind under posteriors of any width: expectations against sums over panels, and fits whose priors
# let q be as wide.

# Gauss-Legendre nodes and weights on panels that grow by a constant factor away from `kinks`.
panel_rule <- function(low, high, kinks, least) {
  n <- 16
  b <- seq_len(n - 1) / sqrt(4 * seq_len(n - 1)^2 - 1)
  J <- diag(0, n)
  J[cbind(1:(n - 1), 2:n)] <- J[cbind(2:n, 1:(n - 1))] <- b
  e <- eigen(J, symmetric = TRUE)
  grown <- least * 1.7^(0:90)
  breaks <- unlist(lapply(kinks, function(kink) kink + c(-grown, 0, grown)))
  breaks <- sort(unique(c(low, high, breaks[breaks > low & breaks < high], seq(low, high, length.out = 30))))
  breaks <- breaks[c(TRUE, diff(breaks) > 1e-13 * max(1, abs(breaks)))]
  half <- diff(breaks) / 2
  list(x = as.vector(outer(e$values, half) + rep(breaks[-1] - half, each = n)),
       w = as.vector(outer(2 * e$vectors[1, ]^2, half)))
}

softplus <- function(x) pmax(x, 0) + log1p(exp(-abs(x)))

# E softplus(x) under x ~ N(mean, variance) and its first two derivatives in the mean.   length(mean) x 3
softplus_means <- function(mean, variance) {
  sd <- sqrt(variance)
  if (sd <= 1) {
    rule <- panel_rule(-9.5, 9.5, 0, 0.1)
    by <- rule$w * dnorm(rule$x) * cbind(1, rule$x / sd, (rule$x^2 - 1) / variance)
    return(softplus(outer(mean, sd * rule$x, `+`)) %*% by)
  }
  # max(x, 0), whose mean has a formula, and what is left around 0
  rule <- panel_rule(-40, 40, 0, 1e-3)
  z <- outer(mean, rule$x, `-`) / sd
  left <- rule$w * log1p(exp(-abs(rule$x))) / sd
  density <- dnorm(z)
  t <- mean / sd
  cbind(mean * pnorm(t) + sd * dnorm(t) + density %*% left, pnorm(t) - (z * density) %*% left / sd,
        dnorm(t) / sd + ((z^2 - 1) * density) %*% left / variance)
}

# E log p(0 | eta) and its slopes in both means and variances; kinks: where log p(0 | eta_1) is eta_2.
zero_by_panels <- function(hazard, mean, variance, kinks) {
  sd <- sqrt(variance[1])
  rule <- panel_rule(mean[1] - 9.5 * sd, mean[1] + 9.5 * sd, c(0, kinks), 1e-4)
  z <- (rule$x - mean[1]) / sd
  by <- rule$w * dnorm(z) / sd * cbind(1, z / sd, (z^2 - 1) / (2 * variance[1]))
  second <- softplus_means(-mean[2] - pmin(hazard(rule$x), 1e6), variance[2])
  sums <- crossprod(by, second)
  beside <- softplus_means(-mean[2], variance[2])
  c(sums[1, 1] - beside[1], sums[2, 1], beside[2] - sums[1, 2], sums[3, 1], (sums[1, 3] - beside[3]) / 2)
}

test_that("the mean of a zero's log probability is right however wide the posterior is", {
  bases <- list(
    poisson = list(hazard = exp, where = log, size = 1, hyper = numeric()),
    binomial = list(hazard = function(x) 8 * softplus(x), where = function(L) L / 8, size = 8, hyper = numeric()),
    negbinomial = list(hazard = function(x) 0.3 * softplus(x - log(0.3)), where = function(L) L / 0.3 + log(0.3),
                       size = 1, hyper = 0.3),
    nbinom1 = list(hazard = function(x) exp(x) * log1p(0.3) / 0.3, where = function(L) log(L * 0.3 / log1p(0.3)),
                   size = 1, hyper = 0.3)
  )
  points <- list(c(0, 0, 0.5, 0.2), c(1, -1, 0.02, 3), c(-3, 2, 30, 30), c(2, -8, 100, 1), c(4, -40, 0.2, 25),
                 c(0, 0, 1e4, 1e4), c(-20, 1, 1e4, 0.05), c(5, -150, 2, 900), c(1, 30, 300, 1e4),
                 c(10, -2, 1e3, 0.3), c(0, 0, 0.01, 1e4), c(5.2, -181, 1, 1))
  for (name in names(bases)) {
    base <- bases[[name]]
    for (x in points) {
      ours <- probe_expectation(likelihood_spec(paste0("zero_inflated_", name)), "quadrature", base$hyper, 0,
                                base$size, 1, x[1:2], x[3:4], 1, 1)
      kinks <- if (x[2] < -3) base$where(-x[2])
      expect_close(c(ours$value, ours$d_m, ours$d_v), zero_by_panels(base$hazard, x[1:2], x[3:4], kinks),
                   tol$expectation)
    }
  }
})

test_that("the gradient in a size, or a dispersion, is right under wide posteriors too", {
  for (type in c("zero_inflated_negbinomial", "hurdle_negbinomial", "zero_inflated_nbinom1", "hurdle_nbinom1")) {
    # counts have the mean exp(5000) in the widest, which log p of negbinomial() alone survives
    widest <- if (grepl("nbinom1", type)) c(-50, 0, 9, 1e4) else c(0, 0, 1e4, 1e4)
    for (y in c(0, 3)) {
      for (x in list(c(0, 0, 0.001, 0.2), c(2, -8, 100, 1), widest, c(-4, 1, 3, 900))) {
        at <- function(size) {
          probe_expectation(likelihood_spec(type), "quadrature", size, y, 1, 1, x[1:2], x[3:4], 1, 1)
        }
        step <- 1e-4
        slope <- (at(0.3 * exp(step))$value - at(0.3 * exp(-step))$value) / (2 * step)
        expect_close(0.3 * at(0.3)$gradient, slope, tol$derivative)
      }
    }
  }
})

test_that("nothing changes where one way to take the mean of a zero gives way to another", {
  spec <- likelihood_spec("zero_inflated_poisson")
  at <- function(m, v) {
    e <- probe_expectation(spec, "quadrature", numeric(), 0, 1, 1, m, v, 2, 1)
    unlist(e[c("value", "d_m", "d_v", "d_mm", "d_mv", "d_vv")])
  }
  # series, tables and Gauss-Hermite nodes end at these variances; values move with the square of 1 + 1e-9
  for (v in c(1 / 70^2, 1 / 28^2, 0.03^2, 0.04^2, 0.3^2) * 1.26^2)
    expect_close(at(c(0.4, 0.3), c(v * (1 + 1e-9), 0.1)), at(c(0.4, 0.3), c(v * (1 - 1e-9), 0.1)), 1e-7)
  for (v in c(0.0025, 0.01, 1e4))
    expect_close(at(c(0.4, 0.3), c(0.1, v * (1 + 1e-12))), at(c(0.4, 0.3), c(0.1, v * (1 - 1e-12))), 1e-7)
})

test_that("counts above zero of a hurdle keep their digits under wide posteriors", {
  cases <- list(
    list(type = "hurdle_poisson", y = c(1, 7), size = 1, hyper = numeric(), variances = c(0.01, 1, 20)),
    list(type = "hurdle_binomial", y = c(1, 3), size = 8, hyper = numeric(), variances = c(0.01, 1, 100, 1e4)),
    list(type = "hurdle_negbinomial", y = c(1, 7), size = 1, hyper = 0.3, variances = c(0.01, 1, 100, 1e4)),
    list(type = "hurdle_negbinomial", y = c(1, 7), size = 1, hyper = 40, variances = c(0.01, 1, 100, 1e4)),
    list(type = "hurdle_nbinom1", y = c(1, 7), size = 1, hyper = 2, variances = c(0.01, 1, 20)),
    list(type = "hurdle_nbinom1", y = c(1, 7), size = 1, hyper = 1e-3, variances = c(0.01, 1, 20))
  )
  # log p of eta_1 alone, with digits far on the left, where the probability of a zero is 1 - L, L a multiple of exp(eta_1)
  log_truncated <- function(case, y, a) {
    r <- case$hyper
    log_zero <- switch(case$type, hurdle_poisson = -exp(a), hurdle_binomial = case$size * plogis(-a, log.p = TRUE),
                       hurdle_negbinomial = r * plogis(log(r) - a, log.p = TRUE), hurdle_nbinom1 = of_nbinom1(0, a, 1, r))
    log_p <- switch(
      case$type, hurdle_poisson = y * a - exp(a) - lgamma(y + 1), hurdle_binomial = of_binomial(y, a, case$size, 0),
      hurdle_negbinomial = lgamma(y + r) - lgamma(r) - lgamma(y + 1) + y * plogis(a - log(r), log.p = TRUE) + log_zero,
      hurdle_nbinom1 = of_nbinom1(y, a, 1, r)
    )
    log_multiple <- if (case$type == "hurdle_nbinom1") log(log1p(r) / r) else log(case$size)
    log_p - ifelse(a < -30, a + log_multiple, log(-expm1(log_zero)))
  }
  for (case in cases) {
    for (y in case$y) {
      for (v in case$variances) {
        for (m in c(-4, 0.7, 3)) {
          ours <- probe_expectation(likelihood_spec(case$type), "quadrature", case$hyper, y, case$size, 1,
                                    c(m, 0), c(v, 0), 1, 1)
          value <- function(weight) {
            f <- function(a) log_truncated(case, y, a) * weight((a - m) / sqrt(v))
            gaussian_expectation(f, m, v, kinks = c(-30, 0, 2, if (length(case$hyper)) log(case$hyper)),
                                 reach = if (case$type %in% c("hurdle_poisson", "hurdle_nbinom1")) 20 else 12)
          }
          expect_close(ours$value + log(2), value(function(z) 1), tol$expectation)
          expect_close(ours$d_m[1], value(function(z) z / sqrt(v)), 10 * tol$expectation)
        }
      }
    }
  }
})

test_that("positive counts have their limit where the mean of all counts vanishes", {
  limits <- list(
    hurdle_poisson = list(hyper = numeric(), mean = 1), hurdle_negbinomial = list(hyper = 0.3, mean = 1),
    hurdle_nbinom1 = list(hyper = 2, mean = 2 / log1p(2))
  )
  for (type in names(limits)) {
    for (m in c(-29, -31, -300, -2000)) {
      found <- predict_response(
        likelihood_spec(type), limits[[type]]$hyper, 1, 1, rbind(c(m, 0)), rbind(c(0, 0)), "mean", 0.5
      )
      expect_close(found, limits[[type]]$mean / 2)
    }
  }
})

test_that("priors that say nothing are no obstacle, nor are responses without counts or without zeros", {
  set.seed(4)
  d <- data.frame(x = rnorm(12))
  responses <- list(rep(0, 12), c(1, rep(0, 11)), 1 + rpois(12, 1), rpois(12, 1) * rbinom(12, 1, 0.5))
  for (name in c(
    "zero_inflated_poisson", "zero_inflated_negbinomial", "zero_inflated_nbinom1", "hurdle_poisson", "hurdle_negbinomial",
    "hurdle_nbinom1"
  )) {
    for (y in responses) {
      d$y <- y
      # a single count of one fits ever better as its mean goes to zero: that fit may end with a warning
      fit <- suppressWarnings(
        galvi(y ~ x, d, name, prior = normal(0, 1e4), hyper = "fixed", control = galvi_control(threads = 1))
      )
      expect_true(fit$convergence$converged || nzchar(fit$convergence$message))
      expect_true(is.finite(fit$elbo))
      expect_true(all(is.finite(fit$posterior$mean)))
    }
  }
})
