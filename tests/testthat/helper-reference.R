# Plain-R twins of what the core computes: slow, short and independent of it.

# E[f(eta)] under eta ~ N(mean, variance) to about 1e-12, for f smooth but for a kink or bend at each of
# `kinks`; `reach`: how many sds of eta count, more than twelve where f grows fast.
gaussian_expectation <- function(f, mean, variance, kinks = 0, reach = 12) {
  if (variance == 0) return(f(mean))
  sd <- sqrt(variance)
  # Pieces between the kinks, and none so long that integrate() can miss where f changes.
  inner <- (kinks - mean) / sd
  inner <- inner[abs(inner) < reach]
  near <- (rep(kinks, each = 2) + c(-30, 30) - mean) / sd
  breaks <- sort(unique(c(-reach, -6, -3, 0, 3, 6, reach, inner, near[abs(near) < reach])))
  pieces <- mapply(function(from, to) {
    integrate(function(t) f(mean + sd * t) * dnorm(t), from, to, rel.tol = 1e-12, abs.tol = 1e-15,
              subdivisions = 1000, stop.on.error = FALSE)$value
  }, breaks[-length(breaks)], breaks[-1])
  sum(pieces)
}

# variance exp(-|x - z|^2 / (2 lengthscale^2)).   X: a x p, Z: b x p.
reference_se <- function(X, Z = X, lengthscale = 1, variance = 1) {
  X <- as.matrix(X)
  Z <- as.matrix(Z)
  squared <- Reduce(`+`, lapply(seq_len(ncol(X)), function(j) outer(X[, j], Z[, j], "-")^2))
  variance * exp(-squared / (2 * lengthscale^2))
}

# The bound of q(eta) = N(mean, V) with V = (K^-1 + diag(lambda))^-1 and mean = offset + K alpha:
#   sum_n w_n E log p(y_n | eta_n) - [alpha' K alpha + log|B| + tr(B^-1) - N] / 2,   B = I + K diag(lambda).
# log_density(y, eta) as above; K: N x N.
reference_elbo <- function(K, alpha, lambda, y, log_density, offset = 0, weights = 1) {
  n <- length(y)
  B <- diag(n) + K * rep(lambda, each = n)
  variance <- diag(solve(B, K))
  mean <- offset + drop(K %*% alpha)
  expected <- mapply(function(y, m, v) {
    gaussian_expectation(function(eta) log_density(y, eta), m, v)
  }, y, mean, variance)
  kl <- (sum(alpha * (K %*% alpha)) + as.numeric(determinant(B)$modulus) + sum(diag(solve(B))) - n) / 2
  sum(weights * expected) - kl
}

# Draws from the posterior of z ~ N(0, I_n) by elliptical slice sampling (Murray, Adams and MacKay 2010).
# log_likelihood(z) is a number. Returns draws x n, after `burn_in`.
elliptical_slice_sample <- function(n, log_likelihood, draws, burn_in = 500, start = numeric(n)) {
  kept <- matrix(NA_real_, draws, n)
  z <- start
  current <- log_likelihood(z)
  for (i in seq_len(burn_in + draws)) {
    nu <- rnorm(n)
    threshold <- current + log(runif(1))
    angle <- runif(1, 0, 2 * pi)
    from <- angle - 2 * pi
    to <- angle
    repeat {
      proposal <- z * cos(angle) + nu * sin(angle)
      value <- log_likelihood(proposal)
      if (value > threshold) break
      if (angle < 0) from <- angle else to <- angle
      angle <- runif(1, from, to)
    }
    z <- proposal
    current <- value
    if (i > burn_in) kept[i - burn_in, ] <- z
  }
  kept
}

# Standard error of the mean of a chain's columns by batch means.
batch_standard_error <- function(chain, batches = 30) {
  chain <- as.matrix(chain)
  size <- nrow(chain) %/% batches
  means <- vapply(seq_len(batches), function(b) {
    colMeans(chain[(b - 1) * size + seq_len(size), , drop = FALSE])
  }, numeric(ncol(chain)))
  apply(matrix(means, ncol = batches), 1, sd) / sqrt(batches)
}

# Log densities of the rows of x under N(mean, covariance).
log_dmvnorm <- function(x, mean, covariance) {
  root <- chol(covariance)
  z <- backsolve(root, t(x) - mean, transpose = TRUE)
  -colSums(z^2) / 2 - sum(log(diag(root))) - ncol(x) * log(2 * pi) / 2
}

log_mean_exp <- function(x) max(x) + log(mean(exp(x - max(x))))
