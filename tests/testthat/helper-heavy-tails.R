# expect_close() in a loop: `what` says in which round.
near <- function(object, expected, tolerance, what) {
  away <- max(abs(unname(object) - unname(expected)) / pmax(1, abs(unname(expected))))
  testthat::expect_lte(away, tolerance, label = sprintf("%s: %s is off by %.3g, which", what, deparse(substitute(object))[1L], away))
}

# Means and standard deviations by Gibbs sampling, and of infert by rstanarm (bench/coefficient-priors.R).
sampled_prior <- function(case) {
  known <- gold("coefficient_priors")
  known[known$case == case & grepl("^b", known$name), ]
}
gold <- function(name) utils::read.csv(test_path("fixtures", paste0(name, ".csv")))

# Those of a fit are within `mean` standard deviations, and `sd` times those of the draws: c(least, most). Both with 4
# Monte Carlo errors.
expect_near_draws <- function(fit, case, mean, sd) {
  known <- sampled_prior(case)
  error <- (abs(coef(fit) - known$mean) - 4 * known$mean_error) / known$sd
  testthat::expect_lte(max(error), mean, label = sprintf("%s: the largest error of a mean", case))
  ratio <- sqrt(diag(vcov(fit))) / known$sd
  slack <- 4 * known$sd_error / known$sd
  testthat::expect_gte(min(ratio + slack), sd[1], label = sprintf("%s: the smallest ratio of sds", case))
  testthat::expect_lte(max(ratio - slack), sd[2], label = sprintf("%s: the largest ratio of sds", case))
}

sparse_slopes <- function() {
  set.seed(4)
  X <- matrix(rnorm(100 * 50), 100)
  y <- drop(X %*% c(2, -1.5, 1, rep(0, 47))) + rnorm(100)
  data.frame(y, X)
}

# ---- horseshoe ----

horseshoe_sd <- function(l, tau, c) 1 / sqrt(1 / (tau * l)^2 + 1 / c^2)

horseshoe_density <- function(b, df, tau, c) {
  vapply(b, function(b) {
    f <- function(u) {
      exp(dnorm(b, 0, horseshoe_sd(exp(u), tau, c), log = TRUE) + log(2) + dt(exp(u), df, log = TRUE) + u)
    }
    ends <- sort(c(-60, -15, 0, 5, 20, 80, log(abs(b) / tau) + c(-2, -1, 0, 1, 4)))
    sum(mapply(function(from, to) {
      integrate(f, from, to, rel.tol = 1e-12, stop.on.error = FALSE)$value
    }, ends[-length(ends)], ends[-1]))
  }, 0)
}

# E f(b), b ~ N(mean, variance), f a function of log |b|, by integrate() in log |b|.
mean_over_log <- function(f, mean, variance) {
  sd <- sqrt(variance)
  near <- log(abs(abs(mean) + sd * c(-9, -6, -3, -1, 0, 1, 3, 6, 9)))
  ends <- sort(unique(pmin(pmax(c(-50, -20, log(sd) + c(-8, -4, -2, -1, 0, 1, 2.3), near), -50), max(near))))
  one <- function(sign) function(s) f(s) * dnorm(sign * exp(s), mean, sd) * exp(s)
  sum(mapply(function(from, to) {
    sum(vapply(c(-1, 1), function(sign) {
      integrate(one(sign), from, to, rel.tol = 1e-11, stop.on.error = FALSE)$value
    }, 0))
  }, ends[-length(ends)], ends[-1]))
}

# log evidence of y ~ N(X beta, sigma^2) with two horseshoe slopes: the trapezium rule in the logarithms of both scales.
horseshoe_evidence <- function(y, X, sigma, tau, c) {
  u <- seq(-30, 40, 0.1)
  l <- exp(u)
  weight <- log(0.1) + log(2) + dt(l, 1, log = TRUE) + u
  v <- horseshoe_sd(l, tau, c)^2 / sigma^2
  G <- crossprod(X)
  r <- drop(crossprod(X, y))
  grid <- expand.grid(i = seq_along(u), j = seq_along(u))
  # I + D G with D = diag(v1, v2), and r' (D^-1 + G)^-1 r
  a <- 1 / v[grid$i] + G[1, 1]
  d <- 1 / v[grid$j] + G[2, 2]
  det <- a * d - G[1, 2]^2
  square <- (r[1]^2 * d - 2 * r[1] * r[2] * G[1, 2] + r[2]^2 * a) / det
  terms <- weight[grid$i] + weight[grid$j] - 0.5 * (log(det) + log(v[grid$i]) + log(v[grid$j])) + 0.5 * square / sigma^2
  sum(dnorm(y, 0, sigma, log = TRUE)) + max(terms) + log(sum(exp(terms - max(terms))))
}
