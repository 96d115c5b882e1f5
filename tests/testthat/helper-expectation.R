# One specification of every registered likelihood as C++ reads it, with hyperparameters and legal responses.
# One without an entry here, or in reference_log_density, fails the tests that loop over likelihood_facts().
likelihood_examples <- list(
  gaussian = list(hyper = 0.7, y = c(-3, 0, 1.5), size = c(1, 1, 1)),
  binomial_logit = list(hyper = numeric(), y = c(0, 1, 3, 0, 8), size = c(1, 1, 8, 8, 8)),
  binomial_probit = list(hyper = numeric(), y = c(0, 1, 3, 0, 8), size = c(1, 1, 8, 8, 8)),
  poisson = list(hyper = numeric(), y = c(0, 1, 7, 400), size = c(1, 1, 1, 1))
)

likelihood_spec <- function(type) {
  list(type = type, hyper = if (type == "gaussian") list(variance = 1L) else list())
}

# log p(y | eta) of an example's response number i, as a function of eta and of hyperparameters if any.
reference_of <- function(type, i) {
  example <- likelihood_examples[[type]]
  function(eta, hyper = example$hyper) {
    parameters <- if (type == "gaussian") list(variance = hyper) else list()
    do.call(reference_log_density[[type]], c(list(example$y[i], eta, example$size[i]), parameters))
  }
}

# d^k f / dx^k, k = 1..4, of f = log plogis and f = log pnorm. Left of -5 phi / Phi = t + d, t = -x, by its
# continued fraction d = 1 / (t + e), e = 2 / (t + 3 / (t + ...)), because phi / Phi and x cancel.
reference_derivatives <- list(
  binomial_logit = function(x) {
    p <- plogis(x)
    q <- plogis(-x)
    list(q, -p * q, p * q * (p - q), -p * q * (1 - 6 * p * q))
  },
  binomial_probit = function(x) {
    left <- x < -5
    e <- 0
    for (k in 60:2) e <- k / (ifelse(left, -x, 5) + e)
    d <- ifelse(left, 1 / (-x + e), x + exp(dnorm(x, log = TRUE) - pnorm(x, log.p = TRUE)))
    r <- ifelse(left, d - x, exp(dnorm(x, log = TRUE) - pnorm(x, log.p = TRUE)))
    slope <- ifelse(left, d * (e - d), 1 - r * d)  # of d
    third <- r * ifelse(left, d * (2 * d - e), d^2 - slope)
    list(r, -r * d, third, r * (3 * d * slope - d^3 - third))
  }
)

# predict_response() of a likelihood's example parameters.
predictive <- function(type, what, mean, variance, size = 1, y = 1, probability = 0.5) {
  predict_response(likelihood_spec(type), likelihood_examples[[type]]$hyper, size, y, mean, variance, what,
                   probability)
}
