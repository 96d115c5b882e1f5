# Gradients of the bound by differences.

bound_at <- function(model, hyper, sites = NULL, method = "auto") {
  model$hyper$value <- hyper
  probe_bound(model, quiet_control(tol = 1e-13), method, sites)
}

# d f / d x_j by central differences of order four; f is good to about 1e-12.
central_gradient <- function(f, x, at = seq_along(x), h = 2e-3) {
  vapply(at, function(j) {
    e <- replace(numeric(length(x)), j, h)
    (8 * (f(x + e) - f(x - e)) - f(x + 2 * e) + f(x - 2 * e)) / (12 * h)
  }, 0)
}

# d bound / d log hyper by differences, re-optimised or at fixed sites.
log_gradient <- function(model, sites = NULL, method = "auto") {
  h <- model$hyper$value
  at <- which(is.finite(h))
  central_gradient(function(x) bound_at(model, exp(x), sites, method)$elbo, log(h), at)
}

kernel_model <- function(name, likelihood, n = 12) {
  case <- kernel_cases()[[name]]
  X <- matrix(rnorm(2 * n), n)
  y <- if (likelihood == "gaussian") rnorm(n) else rbinom(n, 1, 0.5)
  hyper <- case[[2]]
  names(hyper) <- paste0("h", seq_along(hyper))
  if (likelihood == "gaussian") hyper <- c(hyper, noise = 0.4)
  new_model(y, list(kernel_term(X, case[[1]])), hyper, likelihood)
}

# A table entry that no term uses, with a prior: only its log prior depends on it.
prior_only_model <- function(prior, transform = "log", value = 1, lower = 1e-300, upper = 1e300) {
  entry <- list(prior = prior, transform = transform, lower = lower, upper = upper)
  new_model(1, list(columns_term(matrix(1), 1)), c(sd = 1, free = value), "binomial_logit",
            settings = list(free = entry, sd = list(learned = FALSE)))
}

log_prior_at <- function(prior, value) {
  bound_at(prior_only_model(prior), c(1, value), NULL, "fixed_point")$log_prior
}

# Data from the model, so that hyperparameters have an optimum inside.
learnable_model <- function(seed, likelihood, n = 40) {
  set.seed(seed)
  x <- sort(runif(n, -3, 3))
  f <- 1.5 * sin(1.5 * x)
  y <- switch(likelihood,
    gaussian = rnorm(n, f, 0.3), poisson = rpois(n, exp(f)), rbinom(n, 3, plogis(2 * f))
  )
  size <- rep(if (startsWith(likelihood, "binomial")) 3 else 1, n)
  kernel <- kernel_spec_of("se", list(variance = 1L, lengthscale = 2L))
  hyper <- c(variance = 1, lengthscale = 0.5, if (likelihood == "gaussian") c(noise = 1))
  new_model(y, list(kernel_term(cbind(x), kernel)), hyper, likelihood, size)
}

learn_model <- function(model, ..., method = "auto") fit_model(model, method, "optimise", quiet_control(...), NULL)
