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

# Models of which one hyperparameter or another has every role.
kernel_cases <- function() {
  one <- function(type) kernel_spec_of(type, list(variance = 1L, lengthscale = 2:3), 1:2)
  white <- kernel_spec_of("white", list(variance = 4L), 1:2)
  sum_of <- function(...) kernel_spec_of("sum", list(), integer(), parts = list(...))
  list(
    se = list(one("se"), c(1.5, 0.8, 2)),
    matern12 = list(one("matern12"), c(1.5, 0.8, 2)),
    matern32 = list(one("matern32"), c(1.5, 0.8, 2)),
    matern52 = list(one("matern52"), c(1.5, 0.8, 2)),
    rational_quadratic = list(
      kernel_spec_of("rational_quadratic", list(variance = 1L, lengthscale = 2:3, alpha = 4L), 1:2),
      c(2, 0.7, 1, 1.3)
    ),
    periodic = list(
      kernel_spec_of("periodic", list(variance = 1L, lengthscale = 2L, period = 3L), 1L), c(1, 1.2, 2.5)
    ),
    cosine = list(kernel_spec_of("cosine", list(variance = 1L, period = 2L), 1L), c(1, 2.5)),
    linear = list(sum_of(kernel_spec_of("linear", list(variance = 1:2), 1:2), one("se")), c(0.6, 1.1, 2)),
    polynomial = list(
      kernel_spec_of("polynomial", list(variance = 1L, constant = 2L), 1:2, list(degree = 2)), c(0.4, 1.2)
    ),
    arc_cosine = list(
      kernel_spec_of("arc_cosine", list(variance = 1L, constant = 2L), 1:2, list(order = 1)), c(0.4, 1.2)
    ),
    constant = list(sum_of(one("matern52"), kernel_spec_of("constant", list(variance = 4L))), c(1, 1, 1, 3)),
    white = list(sum_of(one("se"), white), c(1, 1, 0.7, 0.2)),
    product = list(
      kernel_spec_of("product", list(), integer(), parts = list(one("se"), kernel_spec_of(
        "periodic", list(variance = 4L, lengthscale = 5L, period = 6L), 1L
      ))), c(1, 1.5, 2, 0.9, 1, 3)
    )
  )
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
