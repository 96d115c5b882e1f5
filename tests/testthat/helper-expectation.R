likelihood_spec <- function(type) {
  example <- likelihood_examples[[type]]
  positions <- relist(seq_along(example$hyper), example$parameters)
  list(type = type, hyper = positions, constants = example$constants)
}

# Types with one latent value per observation.
scalar_types <- function(facts = likelihood_facts()) facts$type[facts$latents == 1]

# log p(y | eta) of an example's response number i, as a function of eta and of hyperparameters if any.
reference_of <- function(type, i) {
  example <- likelihood_examples[[type]]
  function(eta, hyper = example$hyper) {
    parameters <- relist(hyper, example$parameters)
    do.call(reference_log_density[[type]], c(list(example$y[i], eta, example$size[i]), parameters))
  }
}

# Points where log p(y | eta) bends so sharply that integrate() must be split there.
bends_of <- function(type, y) if (type %in% c("laplace", "asymmetric_laplace", "student")) y else 0

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
predictive <- function(type, what, mean, variance, size = 1, y = 1, probability = 0.5,
                       hyper = likelihood_examples[[type]]$hyper) {
  predict_response(likelihood_spec(type), hyper, size, y, mean, variance, what, probability)
}

# probe_tilted() of one response; `h`: positions of the hyperparameters.
tilted_at <- function(type, hyper, y, weight, mean, variance, size = 1, h = seq_along(hyper)) {
  spec <- list(type = type, hyper = as.list(setNames(h, names(hyper))),
               constants = likelihood_examples[[type]]$constants)
  probe_tilted(spec, as.numeric(hyper), y, size, weight, mean, variance)
}
