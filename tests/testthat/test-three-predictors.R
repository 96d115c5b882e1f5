# Three linear predictors: expectations, inference and predictions.

three_types <- names(three_predictor_densities)

sweep_of_three <- function(type, i, m, v, order = 2) {
  example <- likelihood_examples[[type]]
  probe_expectation(likelihood_spec(type), "quadrature", numeric(), example$y[i], example$size[i], 1, m, v, order, 1)
}

# The trapezium rule in three dimensions, with Hermite's polynomials for derivatives in means and variances, further
# out where a log density grows with exp(c |eta|).
space_growth <- list(
  student_log_scale_log_df = list(c(0, 0), c(0, 0), c(1, 1)), hurdle_gamma_log_shape = list(c(1, 0), c(0, 1), c(0, 0)),
  hurdle_lognormal_log_sigma = list(c(0, 0), c(2, 0), c(0, 0)),
  zero_inflated_negbinomial_log_size = list(c(0, 1), c(0, 1), c(0, 0)),
  hurdle_negbinomial_log_size = list(c(0, 1), c(0, 1), c(0, 0))
)
brute_force_three <- function(type, i, m, v) {
  example <- likelihood_examples[[type]]
  axis <- function(k) {
    s <- sqrt(v[k])
    further <- s * space_growth[[type]][[k]]
    step <- min(0.25, 0.28 / s)
    z <- seq(-8 - further[1], 8 + further[2], by = step)
    list(x = m[k] + s * z, weights = step * dnorm(z) * cbind(1, z / s, (z^2 - 1) / (2 * v[k])))
  }
  axes <- lapply(1:3, axis)
  first <- axes[[1]]
  planes <- vapply(axes[[3]]$x, function(c) {
    sums <- vapply(axes[[2]]$x, function(b) {
      drop(three_predictor_densities[[type]](example$y[i], first$x, b, c, example$size[i]) %*% first$weights)
    }, numeric(3))
    sums %*% axes[[2]]$weights
  }, matrix(0, 3, 3))
  space <- matrix(planes, 9) %*% axes[[3]]$weights  # (first, second) x third
  c(space[1, 1], space[2, 1], space[4, 1], space[1, 2], space[3, 1], space[7, 1], space[1, 3])
}

test_that("expectations and their slopes are sums over a space", {
  for (type in setdiff(three_types, "student_log_scale_log_df")) {
    for (i in seq_along(likelihood_examples[[type]]$y)) {
      for (x in list(c(0.4, -0.3, 0.2, 0.5, 0.2, 0.3), c(-1, 1, 2, 2, 1.5, 1), c(0.4, 0.5, -1, 0.01, 0.02, 0.001))) {
        ours <- sweep_of_three(type, i, x[1:3], x[4:6])
        expect_close(c(ours$value, ours$d_m, ours$d_v), brute_force_three(type, i, x[1:3], x[4:6]), tol$expectation)
      }
    }
  }
})

test_that("those of a student with a scale and degrees of freedom are means over the latter of ones with a scale", {
  spec <- likelihood_spec("student_log_scale")
  for (y in c(0.1, 4, -40)) {
    for (x in list(c(0.4, -0.3, 0.2, 0.5, 0.2, 0.3), c(-1, 1, 2, 2, 1.5, 1), c(0, -3, 4, 0.01, 0.02, 0.001))) {
      s <- sqrt(x[6])
      step <- min(0.05, 0.25 / s)
      z <- seq(-9 - s, 9 + s, by = step)
      given <- vapply(z, function(z) {
        at <- probe_expectation(spec, "quadrature", exp(x[3] + s * z), y, 1, 1, x[1:2], x[4:5], 1, 1)
        c(at$value, at$d_m, at$d_v)
      }, numeric(5))
      mean_of <- function(weight) drop(given %*% (step * dnorm(z) * weight))
      plain <- mean_of(1)
      slope <- sum((given[1, ] - plain[1]) * step * dnorm(z) * z / s)
      bend <- sum((given[1, ] - plain[1]) * step * dnorm(z) * (z^2 - 1) / (2 * x[6]))
      ours <- probe_expectation(
        likelihood_spec("student_log_scale_log_df"), "quadrature", numeric(), y, 1, 1, x[1:3], x[4:6], 1, 1
      )
      expect_close(c(ours$value, ours$d_m, ours$d_v), c(plain[1:3], slope, plain[4:5], bend), tol$expectation)
    }
  }
})

test_that("without variance, and with next to none, the expectation of three is the log density", {
  for (type in three_types) {
    example <- likelihood_examples[[type]]
    for (i in seq_along(example$y)) {
      exact <- three_predictor_densities[[type]](example$y[i], 0.4, 1.3, -0.2, example$size[i])
      for (v in c(0, 1e-14)) expect_close(sweep_of_three(type, i, c(0.4, 1.3, -0.2), rep(v, 3))$value, exact, tol$identity)
    }
  }
})
