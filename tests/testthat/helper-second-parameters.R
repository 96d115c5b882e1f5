# log p(y | eta_1, eta_2) of the likelihoods with two linear predictors, by R's own densities. h: hyperparameters. size:
# trials, or what divides the dispersion.

zero_inflated_reference <- function(log_f) {
  function(y, a, b, size, h) {
    rest <- plogis(-b, log.p = TRUE) + log_f(y, a, size, h)
    if (y > 0) return(rest)
    zero <- plogis(b, log.p = TRUE)
    pmax(zero, rest) + log1p(exp(-abs(zero - rest)))
  }
}
hurdle_reference <- function(log_f, discrete = TRUE) {
  function(y, a, b, size, h) {
    if (y == 0) return(plogis(b, log.p = TRUE) + 0 * a)
    none <- if (discrete) log(-expm1(log_f(0, a, size, h))) else 0
    plogis(-b, log.p = TRUE) + log_f(y, a, size, h) - none
  }
}
of_poisson <- function(y, a, size, h) dpois(y, exp(a), log = TRUE)
of_negbinomial <- function(y, a, size, h) dnbinom(y, h, mu = exp(a), log = TRUE)
of_binomial <- function(y, a, size, h) {
  lchoose(size, y) + y * plogis(a, log.p = TRUE) + (size - y) * plogis(-a, log.p = TRUE)
}

# log Gamma(y + a) / Gamma(a) for a whole number y, a = exp(x), as a sum that keeps its digits where a is large
log_rising <- function(y, x) {
  if (y == 0) return(0 * x)
  if (y == 1) return(x)
  x + (y - 1) * pmax(x - 300, 0) + rowSums(log(outer(exp(pmin(x, 300)), seq_len(y - 1), `+`)))
}
of_beta_binomial <- function(y, a, b, size, h) {
  lchoose(size, y) + log_rising(y, b + plogis(a, log.p = TRUE)) +
    log_rising(size - y, b + plogis(-a, log.p = TRUE)) - log_rising(size, b + 0 * a)
}
# dnbinom(y, exp(b), mu = exp(a), log = TRUE), at any size
of_negbinomial_size <- function(y, a, b, size, h) {
  softplus <- function(x) pmax(x, 0) + log1p(exp(-abs(x)))
  log_rising(y, b + 0 * a) - lfactorial(y) - y * softplus(b - a) - exp(b) * softplus(a - b)
}

two_predictor_densities <- list(
  gaussian_log_sd = function(y, a, b, size, h) dnorm(y, a, exp(b) / sqrt(size), log = TRUE),
  student_log_scale = function(y, a, b, size, h) dt((y - a) / exp(b), h, log = TRUE) - b,
  laplace_log_scale = function(y, a, b, size, h) -log(2) - b - abs(y - a) * exp(-b),
  inverse_gaussian_log_shape = function(y, a, b, size, h) {
    b <- b + log(size)
    b / 2 - log(2 * pi * y^3) / 2 - exp(b) * expm1(log(y) - a)^2 / (2 * y)
  },
  tweedie_log_dispersion = function(y, a, b, size, h) {
    n <- max(length(a), length(b))
    mapply(function(a, b) reference_log_density$tweedie(y, a, size, exp(b)), rep_len(a, n), rep_len(b, n))
  },
  censored_gaussian_log_sd = function(y, a, b, size, h) dnorm(y, a, exp(b), log = TRUE),
  lognormal_log_sigma = function(y, a, b, size, h) dlnorm(y, a, exp(b), log = TRUE),
  loglogistic_log_shape = function(y, a, b, size, h) {
    x <- exp(b) * (log(y) - a)
    b - log(y) + plogis(x, log.p = TRUE) + plogis(-x, log.p = TRUE)
  },
  weibull_ph_log_shape = function(y, a, b, size, h) {
    x <- exp(b) * log(y / 50) + a
    b - log(y) + x - exp(x)
  },
  gamma_log_shape = function(y, a, b, size, h) dgamma(y, size * exp(b), size * exp(b - a), log = TRUE),
  negbinomial_log_size = of_negbinomial_size,
  beta_log_precision = function(y, a, b, size, h) {
    dbeta(y, exp(b) * plogis(a), exp(b) * plogis(-a), log = TRUE)
  },
  beta_binomial_log_precision = of_beta_binomial,
  zero_inflated_poisson = zero_inflated_reference(of_poisson),
  zero_inflated_binomial = zero_inflated_reference(of_binomial),
  zero_inflated_negbinomial = zero_inflated_reference(of_negbinomial),
  hurdle_poisson = hurdle_reference(of_poisson),
  hurdle_binomial = hurdle_reference(of_binomial),
  hurdle_negbinomial = hurdle_reference(of_negbinomial),
  hurdle_gamma = hurdle_reference(function(y, a, size, h) dgamma(y, h, h / exp(a), log = TRUE), FALSE),
  hurdle_lognormal = hurdle_reference(function(y, a, size, h) dlnorm(y, a, h, log = TRUE), FALSE)
)
