# One example of every registered likelihood: its parameters by the names that C++ asks for, and legal
# responses. `latents` and `constants` where there are several latent values. One without an entry here, or
# (with one latent value) in reference_log_density, fails the tests that loop over likelihood_facts(). Where a dispersion
# is divided by `size`, sizes are anything.
likelihood_example <- function(y, size = rep(1, length(y)), parameters = list(), constants = NULL,
                               latents = NULL) {
  list(y = y, size = size, parameters = parameters, hyper = as.numeric(unlist(parameters)),
       constants = constants, latents = latents)
}
likelihood_examples <- list(
  gaussian = likelihood_example(c(-3, 0, 1.5), c(1, 0.3, 7), parameters = list(variance = 0.7)),
  gaussian_log_sd = likelihood_example(c(-3, 0, 1.5), c(1, 0.3, 7), latents = 2L),
  student_log_scale = likelihood_example(c(0.1, -0.35, 4), parameters = list(df = 3.5), latents = 2L),
  laplace_log_scale = likelihood_example(c(0.1, -0.35, 4), latents = 2L),
  gamma_log_shape = likelihood_example(c(0.02, 1, 40), c(1, 6, 0.4), latents = 2L),
  inverse_gaussian_log_shape = likelihood_example(c(0.02, 1, 40), c(1, 6, 0.4), latents = 2L),
  tweedie_log_dispersion = likelihood_example(
    c(0, 0.02, 1, 40), c(3, 1, 0.4, 2), constants = list(power = 1.5), latents = 2L
  ),
  censored_gaussian_log_sd = likelihood_example(c(-3, 0, 1.5), latents = 2L),
  lognormal_log_sigma = likelihood_example(c(0.02, 1, 40), latents = 2L),
  loglogistic_log_shape = likelihood_example(c(0.02, 1, 40), latents = 2L),
  weibull_ph_log_shape = likelihood_example(c(0.02, 1, 40), constants = list(reference = 50), latents = 2L),
  negbinomial_log_size = likelihood_example(c(0, 1, 7, 40), latents = 2L),
  beta_log_precision = likelihood_example(c(0.03, 0.5, 0.999), latents = 2L),
  beta_binomial = likelihood_example(c(0, 1, 3, 0, 8), c(1, 1, 8, 8, 8), parameters = list(precision = 3.5)),
  beta_binomial_log_precision = likelihood_example(c(0, 1, 3, 0, 8), c(1, 1, 8, 8, 8), latents = 2L),
  zero_inflated_poisson = likelihood_example(c(0, 1, 7), latents = 2L),
  zero_inflated_binomial = likelihood_example(c(0, 1, 3, 8), c(8, 1, 8, 8), latents = 2L),
  zero_inflated_negbinomial = likelihood_example(c(0, 1, 7), parameters = list(size = 1.7), latents = 2L),
  hurdle_poisson = likelihood_example(c(0, 1, 7), latents = 2L),
  hurdle_binomial = likelihood_example(c(0, 1, 3, 8), c(8, 1, 8, 8), latents = 2L),
  hurdle_negbinomial = likelihood_example(c(0, 1, 7), parameters = list(size = 1.7), latents = 2L),
  hurdle_gamma = likelihood_example(c(0, 0.4, 7), parameters = list(shape = 2.3), latents = 2L),
  hurdle_lognormal = likelihood_example(c(0, 0.4, 7), parameters = list(sigma = 0.7), latents = 2L),
  binomial_logit = likelihood_example(c(0, 1, 3, 0, 8), c(1, 1, 8, 8, 8)),
  binomial_probit = likelihood_example(c(0, 1, 3, 0, 8), c(1, 1, 8, 8, 8)),
  binomial_cloglog = likelihood_example(c(0, 1, 3, 0, 8), c(1, 1, 8, 8, 8)),
  poisson = likelihood_example(c(0, 1, 7, 400)),
  gamma = likelihood_example(c(0.002, 1, 40), c(1, 6, 0.4), parameters = list(shape = 2.3)),
  inverse_gaussian = likelihood_example(c(0.02, 1, 40), c(1, 6, 0.4), parameters = list(dispersion = 0.7)),
  tweedie = likelihood_example(c(0, 0.02, 1, 40), c(3, 1, 0.4, 2), parameters = list(dispersion = 0.7),
                               constants = list(power = 1.5)),
  exponential = likelihood_example(c(0.002, 1, 40)),
  weibull = likelihood_example(c(0.002, 1, 40), parameters = list(shape = 1.6)),
  weibull_ph = likelihood_example(
    c(0.002, 1, 40), parameters = list(shape = 1.6), constants = list(reference = 50)
  ),
  loglogistic = likelihood_example(c(0.002, 1, 40), parameters = list(shape = 1.6)),
  lognormal = likelihood_example(c(0.002, 1, 40), parameters = list(sigma = 0.7)),
  censored_gaussian = likelihood_example(c(-3, 0, 1.5), parameters = list(variance = 0.7)),
  negbinomial = likelihood_example(c(0, 1, 7, 400), parameters = list(size = 1.7)),
  stochastic_volatility = likelihood_example(c(0, -0.3, 4)),
  laplace = likelihood_example(c(0.1, -0.35, 4), parameters = list(scale = 0.7)),
  asymmetric_laplace = likelihood_example(
    c(0.1, -0.35, 4), parameters = list(scale = 0.7), constants = list(quantile = 0.3)
  ),
  student = likelihood_example(c(0.1, -0.35, 4), parameters = list(df = 3.5, scale = 0.7)),
  beta = likelihood_example(c(0.03, 0.5, 0.999), parameters = list(precision = 3.5)),
  cumulative_logit = likelihood_example(0:3, parameters = list(thresholds = c(-1, 0.5, 0.9))),
  cumulative_probit = likelihood_example(0:3, parameters = list(thresholds = c(-1, 0.5, 0.9))),
  categorical = likelihood_example(0:2, constants = list(classes = 3, reference = -1), latents = 3L),
  stick_breaking = likelihood_example(0:2, constants = list(classes = 3), latents = 2L)
)

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
