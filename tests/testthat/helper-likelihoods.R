# Random models of every registered likelihood: parameters, constants, and how responses are drawn given eta.

draw_class <- function(P) apply(P, 1, function(p) sample(length(p), 1, prob = p)) - 1

softmax <- function(eta) exp(eta - apply(eta, 1, max)) / rowSums(exp(eta - apply(eta, 1, max)))

# cells of an ordered response: P(y <= c) = g(threshold_c - eta)
draw_cell <- function(eta, thresholds, g) {
  vapply(eta, function(e) findInterval(runif(1), g(thresholds - e)), 0)
}

likelihood_cases <- list(
  gaussian = list(hyper = c(variance = 0.5), draw = function(eta, h) rnorm(length(eta), eta, sqrt(h))),
  gaussian_log_sd = list(latents = 2, draw = function(eta, h) rnorm(nrow(eta), eta[, 1], exp(eta[, 2]))),
  student_log_scale = list(hyper = c(df = 4), latents = 2, draw = function(eta, h) {
    eta[, 1] + exp(eta[, 2]) * rt(nrow(eta), h)
  }),
  laplace_log_scale = list(latents = 2, draw = function(eta, h) {
    eta[, 1] + exp(eta[, 2]) * rexp(nrow(eta)) * sample(c(-1, 1), nrow(eta), TRUE)
  }),
  inverse_gaussian_log_shape = list(latents = 2, draw = function(eta, h) {
    inverse_gaussian_quantile(runif(nrow(eta)), exp(eta[, 1]), exp(-eta[, 2]))
  }),
  tweedie_log_dispersion = list(constants = list(power = 1.5), latents = 2, draw = function(eta, h) {
    number <- rpois(nrow(eta), 2 * exp(eta[, 1] / 2 - eta[, 2]))
    ifelse(number > 0, rgamma(nrow(eta), pmax(number, 1), 2 * exp(-eta[, 2] - eta[, 1] / 2)), 0)
  }),
  censored_gaussian_log_sd = list(latents = 2, draw = function(eta, h) rnorm(nrow(eta), eta[, 1], exp(eta[, 2]))),
  lognormal_log_sigma = list(latents = 2, draw = function(eta, h) rlnorm(nrow(eta), eta[, 1], exp(eta[, 2]))),
  loglogistic_log_shape = list(latents = 2, draw = function(eta, h) {
    exp(rlogis(nrow(eta), eta[, 1], exp(-eta[, 2])))
  }),
  weibull_ph_log_shape = list(constants = list(reference = 50), latents = 2, draw = function(eta, h) {
    pmin(pmax(50 * (rexp(nrow(eta)) * exp(-eta[, 1]))^exp(-eta[, 2]), 1e-6), 50)
  }),
  gamma_log_shape = list(latents = 2, draw = function(eta, h) {
    pmax(rgamma(nrow(eta), exp(eta[, 2]), exp(eta[, 2] - eta[, 1])), 1e-12)
  }),
  negbinomial_log_size = list(latents = 2, draw = function(eta, h) {
    rnbinom(nrow(eta), exp(eta[, 2]), mu = exp(eta[, 1]))
  }),
  beta_log_precision = list(latents = 2, draw = function(eta, h) {
    p <- plogis(eta[, 1])
    pmin(pmax(rbeta(nrow(eta), p * exp(eta[, 2]), (1 - p) * exp(eta[, 2])), 1e-6), 1 - 1e-6)
  }),
  beta_binomial = list(hyper = c(precision = 5), draw = function(eta, h) rbinom(length(eta), 1, plogis(eta))),
  beta_binomial_log_precision = list(latents = 2, draw = function(eta, h) {
    rbinom(nrow(eta), 1, plogis(eta[, 1]))
  }),
  zero_inflated_poisson = list(latents = 2, draw = function(eta, h) {
    rpois(nrow(eta), exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
  }),
  zero_inflated_binomial = list(latents = 2, draw = function(eta, h) {
    rbinom(nrow(eta), 1, plogis(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
  }),
  zero_inflated_negbinomial = list(hyper = c(size = 1.7), latents = 2, draw = function(eta, h) {
    rnbinom(nrow(eta), h, mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
  }),
  hurdle_poisson = list(latents = 2, draw = function(eta, h) {
    qpois(runif(nrow(eta), dpois(0, exp(eta[, 1])), 1), exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
  }),
  hurdle_binomial = list(latents = 2, draw = function(eta, h) rbinom(nrow(eta), 1, plogis(-eta[, 2]))),
  hurdle_negbinomial = list(hyper = c(size = 1.7), latents = 2, draw = function(eta, h) {
    none <- dnbinom(0, h, mu = exp(eta[, 1]))
    qnbinom(runif(nrow(eta), none, 1), h, mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
  }),
  hurdle_gamma = list(hyper = c(shape = 2.3), latents = 2, draw = function(eta, h) {
    rgamma(nrow(eta), h, h / exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
  }),
  hurdle_lognormal = list(hyper = c(sigma = 0.7), latents = 2, draw = function(eta, h) {
    rlnorm(nrow(eta), eta[, 1], h) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
  }),
  binomial_logit = list(draw = function(eta, h) rbinom(length(eta), 1, plogis(eta))),
  binomial_probit = list(draw = function(eta, h) rbinom(length(eta), 1, pnorm(eta))),
  binomial_cloglog = list(draw = function(eta, h) rbinom(length(eta), 1, -expm1(-exp(eta)))),
  poisson = list(draw = function(eta, h) rpois(length(eta), exp(eta))),
  negbinomial = list(hyper = c(size = 1.7), draw = function(eta, h) rnbinom(length(eta), h, mu = exp(eta))),
  gamma = list(hyper = c(shape = 2.3), draw = function(eta, h) rgamma(length(eta), h, h / exp(eta))),
  inverse_gaussian = list(hyper = c(dispersion = 0.4), draw = function(eta, h) {
    inverse_gaussian_quantile(runif(length(eta)), exp(eta), h)
  }),
  tweedie = list(hyper = c(dispersion = 0.8), constants = list(power = 1.5), draw = function(eta, h) {
    number <- rpois(length(eta), 2 * exp(eta / 2) / h)
    ifelse(number > 0, rgamma(length(eta), pmax(number, 1), 2 / (h * exp(eta / 2))), 0)
  }),
  exponential = list(draw = function(eta, h) rexp(length(eta), exp(-eta))),
  weibull = list(hyper = c(shape = 1.6), draw = function(eta, h) rweibull(length(eta), h, exp(eta))),
  weibull_ph = list(hyper = c(shape = 1.6), constants = list(reference = 50), draw = function(eta, h) {
    50 * (rexp(length(eta)) * exp(-eta))^(1 / h)
  }),
  loglogistic = list(hyper = c(shape = 1.6), draw = function(eta, h) exp(rlogis(length(eta), eta, 1 / h))),
  lognormal = list(hyper = c(sigma = 0.7), draw = function(eta, h) rlnorm(length(eta), eta, h)),
  censored_gaussian = list(hyper = c(variance = 0.5), draw = function(eta, h) {
    rnorm(length(eta), eta, sqrt(h))
  }),
  stochastic_volatility = list(draw = function(eta, h) rnorm(length(eta), 0, exp(eta / 2))),
  laplace = list(hyper = c(scale = 0.6), draw = function(eta, h) {
    eta + h * rexp(length(eta)) * sample(c(-1, 1), length(eta), TRUE)
  }),
  asymmetric_laplace = list(hyper = c(scale = 0.6), constants = list(quantile = 0.3), draw = function(eta, h) {
    eta + h * (rexp(length(eta)) / 0.3 - rexp(length(eta)) / 0.7)
  }),
  student = list(hyper = c(df = 4, scale = 0.7), draw = function(eta, h) {
    eta + h[["scale"]] * rt(length(eta), h[["df"]])
  }),
  beta = list(hyper = c(precision = 5), draw = function(eta, h) {
    p <- plogis(eta)
    pmin(pmax(rbeta(length(eta), p * h, (1 - p) * h), 1e-6), 1 - 1e-6)
  }),
  cumulative_logit = list(hyper = c(t1 = -1, t2 = 0.4, t3 = 1.5), ordered = TRUE, draw = function(eta, h) {
    draw_cell(eta, h, plogis)
  }),
  cumulative_probit = list(hyper = c(t1 = -1, t2 = 0.4, t3 = 1.5), ordered = TRUE, draw = function(eta, h) {
    draw_cell(eta, h, pnorm)
  }),
  categorical = list(latents = 3, constants = list(classes = 3, reference = -1), draw = function(eta, h) {
    draw_class(softmax(eta))
  }),
  stick_breaking = list(latents = 2, constants = list(classes = 3), draw = function(eta, h) {
    first <- plogis(eta[, 1])
    second <- (1 - first) * plogis(eta[, 2])
    draw_class(cbind(first, second, 1 - first - second))
  })
)

latents_of <- function(type) max(1, likelihood_cases[[type]]$latents)

# The border's list for a prior of helper-models.R and one of these; `expectation` as the interface names it.
likelihood_model <- function(type, kind, n, variance = exp(rnorm(1)), expectation = "auto", weights = NULL,
                             prior = random_prior(kind, n, variance)) {
  case <- likelihood_cases[[type]]
  K <- latents_of(type)
  force(prior)
  offset <- matrix(rnorm(n * K, sd = 0.3), n)
  eta <- offset + rnorm(n * K)
  y <- case$draw(if (K == 1) drop(eta) else eta, case$hyper)
  settings <- prior$settings
  if (!is.null(case$ordered)) {
    settings <- c(list(t1 = list(transform = "identity", lower = -1e3, upper = 1e3)), lapply(
      stats::setNames(nm = names(case$hyper)[-1]),
      function(name) list(transform = "above", lower = 1e-8, upper = 1e3)
    ))
  }
  hyper <- c(prior$hyper, case$hyper)
  model <- new_model(y, prior$terms, hyper, "poisson", offset = numeric(n), settings = settings)
  model$offset <- offset
  if (!is.null(weights)) model$weights <- weights
  at <- as.list(length(prior$hyper) + seq_along(case$hyper))
  names(at) <- names(case$hyper)
  if (!is.null(case$ordered)) at <- list(thresholds = unlist(at, use.names = FALSE))
  constants <- if (is.null(case$constants)) list() else case$constants
  model$likelihood <- list(type = type, hyper = at, constants = constants)
  if (!is.null(prior$per_class)) {
    model$predictors <- unlist(Map(function(terms, k) {
      own <- with_terms(model, terms)$predictors
      own[[1]]$latents <- k
      own
    }, prior$per_class, seq_along(prior$per_class)), recursive = FALSE)
  } else {
    model$predictors[[1]]$latents <- seq_len(ncol(offset))
  }
  model$expectation <- expectation
  model
}

# The expectations that are possible for a likelihood.
served_expectations <- function(type) {
  set.seed(1)
  likelihood <- likelihood_model(type, "gp", 3)$likelihood
  names <- expectation_facts()$name
  names[vapply(names, function(name) probe_expectation_refuses(name, likelihood) == "", NA)]
}
