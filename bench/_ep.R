# Expectation propagation for a Gaussian process with logit link in plain R, the rival in hyperparameters.R:
# parallel updates, damped, moments by 61-point Gauss-Hermite quadrature. y is -1 or 1, K the prior
# covariance.

# Golub and Welsch: nodes and weights for the standard normal.
hermite <- local({
  k <- sqrt(seq_len(60))
  J <- matrix(0, 61, 61)
  J[cbind(1:60, 2:61)] <- J[cbind(2:61, 1:60)] <- k
  e <- eigen(J, symmetric = TRUE)
  list(nodes = e$values, weights = e$vectors[1, ]^2)
})

# Mass, mean and variance of logistic(y f) N(f; mean, variance).
tilted <- function(y, mean, variance) {
  f <- outer(sqrt(variance), hermite$nodes) + mean
  w <- plogis(y * f) * rep(hermite$weights, each = length(mean))
  mass <- rowSums(w)
  m <- rowSums(w * f) / mass
  list(mass = mass, mean = m, variance = rowSums(w * (f - m)^2) / mass)
}

# -> log_evidence, sites (precision, linear) and posterior mean
ep <- function(K, y, start = NULL, sweeps = 200) {
  n <- length(y)
  precision <- if (is.null(start)) rep(0.05, n) else start$precision
  linear <- if (is.null(start)) 0.1 * y else start$linear
  for (sweep in seq_len(sweeps)) {
    # V = K - K S B^-1 S K, B = I + S K S, S = sqrt(precision)
    s <- sqrt(precision)
    L <- chol(diag(n) + outer(s, s) * K)
    V <- K - crossprod(backsolve(L, s * K, transpose = TRUE))
    m <- drop(V %*% linear)
    v <- diag(V)
    cavity_precision <- 1 / v - precision
    cavity_linear <- m / v - linear
    q <- tilted(y, cavity_linear / cavity_precision, 1 / cavity_precision)
    new_precision <- pmax(1 / q$variance - cavity_precision, 1e-10)
    change <- max(abs(new_precision - precision) * v)
    if (change < 1e-6) break
    precision <- precision + 0.7 * (new_precision - precision)
    linear <- linear + 0.7 * (q$mean / q$variance - cavity_linear - linear)
  }
  log_evidence <- sum(log(q$mass)) + sum(log1p(precision / cavity_precision)) / 2 - sum(log(diag(L))) +
    sum(linear * m) / 2 + sum(cavity_linear^2 / cavity_precision) / 2 -
    sum((linear + cavity_linear)^2 / (precision + cavity_precision)) / 2
  list(log_evidence = log_evidence, precision = precision, linear = linear, mean = m, factor = L)
}

squared_distances <- function(A, B) pmax(outer(rowSums(A^2), rowSums(B^2), "+") - 2 * tcrossprod(A, B), 0)

# Test log loss after learning variance and lengthscale; the intercept's prior is N(0, 10^2), galvi's default.
ep_loss <- function(X, y, new_X, new_y) {
  inner <- squared_distances(X, X)
  kernel <- function(theta, d) exp(theta[1] - d / (2 * exp(2 * theta[2]))) + 100
  warm <- NULL
  objective <- function(theta) {
    fit <- tryCatch(ep(kernel(theta, inner), y, warm), error = function(e) NULL)
    if (is.null(fit) || !is.finite(fit$log_evidence)) return(1e6)
    warm <<- fit
    -fit$log_evidence
  }
  theta <- optim(c(5, 2), objective, control = list(maxit = 60, reltol = 1e-7))$par
  fit <- ep(kernel(theta, inner), y)
  cross <- kernel(theta, squared_distances(X, new_X))
  mean <- crossprod(cross, fit$linear - fit$precision * fit$mean)
  shrunk <- backsolve(fit$factor, sqrt(fit$precision) * cross, transpose = TRUE)
  -mean(log(tilted(new_y, drop(mean), exp(theta[1]) + 100 - colSums(shrunk^2))$mass))
}
