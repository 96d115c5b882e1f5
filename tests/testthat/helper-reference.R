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

# log P(low < X < high), from whichever tail keeps the digits; cdf = pnorm or plogis.
log_interval <- function(cdf, low, high) {
  right <- low + high > 0
  from <- ifelse(right, -high, low)
  to <- ifelse(right, -low, high)
  log_to <- cdf(to, log.p = TRUE)
  log_to + log1p(-exp(cdf(from, log.p = TRUE) - log_to))
}
cumulative_log_density <- function(cdf) {
  function(y, eta, size = 1, thresholds) {
    log_interval(cdf, c(-Inf, thresholds)[y + 1] - eta, c(thresholds, Inf)[y + 1] - eta)
  }
}

# The inverse Gaussian's distribution function, with its digits where the second term's factor overflows, and
# its quantiles.
inverse_gaussian_cdf <- function(y, mean, dispersion) {
  z <- 1 / sqrt(dispersion * y)
  pnorm(z * (y / mean - 1)) + exp(2 / (dispersion * mean) + pnorm(-z * (y / mean + 1), log.p = TRUE))
}
inverse_gaussian_quantile <- function(p, mean, dispersion) {
  mapply(function(p, m, dispersion) {
    exp(uniroot(function(l) inverse_gaussian_cdf(exp(l), m, dispersion) - p, log(m) + c(-30, 30),
                tol = 1e-10)$root)
  }, p, mean, dispersion)
}

# log p(y | eta) of likelihoods with one latent value, with R's own functions; y of binomial ones counts
# successes in `trials`; elsewhere these divide the dispersion, where there is one. Parameters have the names that C++
# gives them.
reference_log_density <- list(
  gaussian = function(y, eta, trials = 1, variance = 1) dnorm(y, eta, sqrt(variance / trials), log = TRUE),
  binomial_logit = function(y, eta, trials = 1) {
    lchoose(trials, y) + y * plogis(eta, log.p = TRUE) + (trials - y) * plogis(-eta, log.p = TRUE)
  },
  binomial_probit = function(y, eta, trials = 1) {
    lchoose(trials, y) + y * pnorm(eta, log.p = TRUE) + (trials - y) * pnorm(-eta, log.p = TRUE)
  },
  binomial_cloglog = function(y, eta, trials = 1) {
    log_p <- ifelse(eta < 0, log(-expm1(-exp(eta))), log1p(-exp(-exp(eta))))
    lchoose(trials, y) + y * log_p - (trials - y) * exp(eta)
  },
  poisson = function(y, eta, trials = 1) y * eta - exp(eta) - lgamma(y + 1),
  gamma = function(y, eta, trials = 1, shape = 1) {
    dgamma(y, trials * shape, rate = trials * shape * exp(-eta), log = TRUE)
  },
  inverse_gaussian = function(y, eta, trials = 1, dispersion = 1) {
    dispersion <- dispersion / trials
    -log(2 * pi * dispersion * y^3) / 2 - expm1(log(y) - eta)^2 / (2 * dispersion * y)
  },
  tweedie = function(y, eta, trials = 1, dispersion = 1, power = 1.5) {
    dispersion <- dispersion / trials
    rate <- exp((2 - power) * eta) / ((2 - power) * dispersion)
    if (y == 0) return(-rate)
    scale <- dispersion * (power - 1) * exp((power - 1) * eta)
    shape <- (2 - power) / (power - 1)
    # the number of gamma variables: terms fall on both sides of y^(2-p) / ((2-p) phi)
    j <- seq_len(ceiling(40 + 4 * y^(2 - power) / ((2 - power) * dispersion)))
    vapply(seq_along(eta), function(i) {
      terms <- -rate[i] + j * log(rate[i]) - lgamma(j + 1) + dgamma(y, j * shape, scale = scale[i], log = TRUE)
      max(terms) + log(sum(exp(terms - max(terms))))
    }, 0)
  },
  exponential = function(y, eta, trials = 1) dexp(y, exp(-eta), log = TRUE),
  weibull = function(y, eta, trials = 1, shape = 1) {
    x <- shape * (log(y) - eta)
    log(shape) - log(y) + x - exp(x)
  },
  weibull_ph = function(y, eta, trials = 1, shape = 1, reference = 50) {
    x <- shape * log(y / reference) + eta
    log(shape) - log(y) + x - exp(x)
  },
  loglogistic = function(y, eta, trials = 1, shape = 1) dlogis(log(y), eta, 1 / shape, log = TRUE) - log(y),
  lognormal = function(y, eta, trials = 1, sigma = 1) dlnorm(y, eta, sigma, log = TRUE),
  censored_gaussian = function(y, eta, trials = 1, variance = 1) dnorm(y, eta, sqrt(variance), log = TRUE),
  negbinomial = function(y, eta, trials = 1, size = 1) {
    lgamma(y + size) - lgamma(size) - lgamma(y + 1) + y * plogis(eta - log(size), log.p = TRUE) +
      size * plogis(log(size) - eta, log.p = TRUE)
  },
  stochastic_volatility = function(y, eta, trials = 1) dnorm(y, 0, exp(eta / 2), log = TRUE),
  laplace = function(y, eta, trials = 1, scale = 1) -log(2 * scale) - abs(y - eta) / scale,
  asymmetric_laplace = function(y, eta, trials = 1, scale = 1, quantile = 0.3) {
    r <- (y - eta) / scale
    log(quantile * (1 - quantile) / scale) - r * (quantile - (r < 0))
  },
  student = function(y, eta, trials = 1, df = 4, scale = 1) {
    dt((y - eta) / scale, df, log = TRUE) - log(scale)
  },
  beta = function(y, eta, trials = 1, precision = 1) {
    a <- precision * plogis(eta)
    b <- precision * plogis(-eta)
    # log Gamma(a) = log Gamma(1 + a) - log(a), where a may be tiny
    log_a <- log(precision) + plogis(eta, log.p = TRUE)
    log_b <- log(precision) + plogis(-eta, log.p = TRUE)
    lgamma(precision) - lgamma(1 + a) - lgamma(1 + b) + log_a + log_b + (a - 1) * log(y) + (b - 1) * log1p(-y)
  },
  beta_binomial = function(y, eta, trials = 1, precision = 1) {
    # lbeta(y + a, n - y + b) - lbeta(a, b), where a and b may be tiny
    rising <- function(y, log_a) if (y == 0) 0 else log_a + lgamma(y + exp(log_a)) - lgamma(1 + exp(log_a))
    lchoose(trials, y) - rising(trials, log(precision)) +
      rising(y, log(precision) + plogis(eta, log.p = TRUE)) +
      rising(trials - y, log(precision) + plogis(-eta, log.p = TRUE))
  },
  cumulative_logit = cumulative_log_density(plogis),
  cumulative_probit = cumulative_log_density(pnorm)
)

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
