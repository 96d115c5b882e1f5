# Models with two linear predictors, each with its own terms, design and solver.

# The position of every hyperparameter of a term moved by a number.
moved_term <- function(term, by) {
  if (!is.null(term$kernel)) term$kernel <- moved_positions(term$kernel, by)
  if (!is.null(term$field)) term$field$hyper <- lapply(term$field$hyper, `+`, by)
  if (!is.null(term$factors)) term$factors[] <- ifelse(term$factors > 0, term$factors + by, 0)
  if (!is.null(term$inducing)) term$inducing$coordinates[] <- term$inducing$coordinates + as.integer(by)
  term
}

# `first`, `second`: priors as random_prior() has them.
two_predictors <- function(y, first, second, type = "gaussian_log_sd", weights = rep(1, length(y))) {
  prefixed <- function(x, prefix) if (length(x)) stats::setNames(x, paste0(prefix, names(x)))
  hyper <- c(prefixed(first$hyper, "first_"), prefixed(second$hyper, "second_"))
  settings <- c(prefixed(first$settings, "first_"), prefixed(second$settings, "second_"))
  of_one <- function(terms) new_model(y, terms, hyper, type, weights = weights, settings = settings)
  model <- of_one(first$terms)
  other <- of_one(lapply(second$terms, moved_term, length(first$hyper)))
  other$predictors[[1]][c("design", "latents")] <- list(2L, 2L)
  model$designs <- c(model$designs, other$designs)
  model$predictors <- c(model$predictors, other$predictors)
  model$offset <- matrix(0, length(y), 2)
  check_model(model)
}

# A Gaussian process over x, and columns.
process_prior <- function(x, variance, lengthscale) {
  kernel <- kernel_spec_of("se", list(variance = 1L, lengthscale = 2L))
  list(terms = list(kernel_term(cbind(x), kernel)), hyper = c(variance = variance, lengthscale = lengthscale))
}
columns_prior <- function(W, sd) {
  list(terms = list(columns_term(W, seq_len(ncol(W)))), hyper = c(sd = rep_len(sd, ncol(W))))
}

# A response whose mean and log sd change with x.
varying_noise <- function(n) {
  x <- sort(runif(n, 0, 6))
  list(x = x, y = sin(x) + exp(-1.5 + 0.3 * x) * rnorm(n))
}

# Predictions of a response with two predictors at mean and variance c(m_1, m_2), c(v_1, v_2); one per y.
predictive_two <- function(type, what, y, mean, variance, probability = 0.5) {
  n <- max(length(y), length(probability))
  rows <- function(x) matrix(x, n, 2, byrow = TRUE)
  predict_response(likelihood_spec(type), numeric(), 1, y, rows(mean), rows(variance), what, probability)
}
