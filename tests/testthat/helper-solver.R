# What a solver must return, by dense algebra.

solve_by <- function(model, lambda, b, x, threads = 1, backend = "eigen", changes = numeric()) {
  probe_solver(model, lambda, b, x, threads, backend, changes)
}

random_solver_model <- function(kind, n) {
  prior <- random_prior(kind, n)
  new_model(numeric(n), prior$terms, prior$hyper)
}

# The verbs from C, for proper priors.
dense_verbs <- function(C, lambda, b, x) {
  n <- nrow(C)
  B <- diag(n) + C * rep(lambda, each = n)
  V <- solve(B, C)
  mean <- drop(V %*% b)
  alpha <- b - lambda * mean
  list(
    log_det = as.numeric(determinant(B)$modulus), variances = diag(V), mean = mean, alpha = alpha,
    # KL(N(C alpha, V) || N(0, C)): tr(C^-1 V) = tr(B^-1)
    kl = (as.numeric(determinant(B)$modulus) + sum(diag(solve(B))) - n + sum(alpha * mean)) / 2,
    apply_prior = drop(C %*% x), apply_covariance = drop(V %*% x),
    apply_squared_covariance = drop(V^2 %*% x), covariance = V[, c(1, n)],
    gap_bound = (sum(x * (C %*% x)) + sum(b * ((C * V) %*% b))) / 2,
    squared_norm = sum(x * (V %*% x)) + sum(b * (V^2 %*% b)) / 2
  )
}

# The same from columns, where V = W A^-1 W' and some precisions may be zero.
column_verbs <- function(columns, lambda, b, x) {
  W <- columns$W
  n <- nrow(W)
  flat <- is.infinite(columns$variance)
  precision <- ifelse(flat, 0, 1 / columns$variance)
  covariance <- solve(diag(precision, length(precision)) + crossprod(W, lambda * W))
  V <- W %*% covariance %*% t(W)
  z <- drop(covariance %*% crossprod(W, b))
  log_det <- -as.numeric(determinant(covariance)$modulus)
  mean <- drop(W %*% z)
  list(
    log_det = log_det + sum(log(columns$variance[!flat])), variances = diag(V), mean = mean,
    alpha = b - lambda * mean,
    # E log q - E log p over z, where a flat direction has density one
    kl = -(length(z) * (1 + log(2 * pi)) - log_det) / 2 +
      sum((log(2 * pi * columns$variance) + (z^2 + diag(covariance)) / columns$variance)[!flat]) / 2,
    apply_covariance = drop(V %*% x), apply_squared_covariance = drop(V^2 %*% x), covariance = V[, c(1, n)],
    squared_norm = sum(x * (V %*% x)) + sum(b * (V^2 %*% b)) / 2
  )
}

verbs_of <- function(model, lambda, b, x) {
  if (has_flat(model)) return(column_verbs(prior_columns(model), lambda, b, x))
  dense_verbs(prior_covariance(model), lambda, b, x)
}

expect_verbs <- function(got, wanted, tolerance = tol$identity) {
  expect_true(got$ok)
  for (verb in names(wanted)) {
    scale <- max(1, abs(wanted[[verb]]))
    expect_close(got[[verb]] / scale, wanted[[verb]] / scale, tolerance)
  }
}
