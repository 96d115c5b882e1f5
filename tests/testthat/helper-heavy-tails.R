# expect_close() in a loop: `what` says in which round.
near <- function(object, expected, tolerance, what) {
  away <- max(abs(unname(object) - unname(expected)) / pmax(1, abs(unname(expected))))
  testthat::expect_lte(away, tolerance, label = sprintf("%s: %s is off by %.3g, which", what, deparse(substitute(object))[1L], away))
}

# Gibbs sampling of y ~ N(X beta, sigma^2), beta_j double exponential: given tau_j the coefficients are normal with
# variances tau_j, and 1 / tau_j is inverse Gaussian (Park and Casella 2008).
laplace_gibbs <- function(y, X, scale, sigma, draws, warmup = 500) {
  p <- ncol(X)
  XX <- crossprod(X) / sigma^2
  Xy <- drop(crossprod(X, y)) / sigma^2
  beta <- drop(solve(XX + diag(p), Xy))
  kept <- matrix(0, draws, p)
  for (s in seq_len(draws + warmup)) {
    mu <- 1 / (scale * pmax(abs(beta), 1e-10))
    inverse_tau <- inverse_gaussian_draws(mu, 1 / scale^2)
    R <- chol(XX + diag(inverse_tau))
    mean <- backsolve(R, forwardsolve(t(R), Xy))
    beta <- mean + backsolve(R, rnorm(p))
    if (s > warmup) kept[s - warmup, ] <- beta
  }
  list(mean = colMeans(kept), sd = apply(kept, 2, sd))
}

# Michael, Schucany and Haas (1976)
inverse_gaussian_draws <- function(mu, lambda) {
  v <- rnorm(length(mu))^2
  x <- mu + mu^2 * v / (2 * lambda) - mu / (2 * lambda) * sqrt(4 * mu * lambda * v + mu^2 * v^2)
  ifelse(runif(length(mu)) <= mu / (mu + x), x, mu^2 / x)
}
