# Conditions that an inference must satisfy with any method.

# These find the optimum of every model that they accept; the others may run out of iterations, and say so.
sure_methods <- c("exact", "newton", "fixed_point")

# A random model of every kind of prior, likelihood and size; prior variances from 1e-2 to 1e4.
random_case <- function(seed, likelihood = NULL) {
  kind <- turn(seed, c("gp", "sum", "columns", "flat"))
  types <- c("binomial_logit", "binomial_probit", "poisson", "gaussian")
  if (is.null(likelihood)) likelihood <- sample(types, 1)
  # under a flat prior a few rows of one class would have no optimum
  random_model(kind, if (kind == "flat") sample(30:60, 1) else sample(60, 1), likelihood)
}

has_flat <- function(model) any(is.infinite(model$hyper$value))

slack <- function(elbo) 1e-9 * (1 + abs(elbo))  # rounding of a bound that is a sum of n terms

# C and V of a fit's sites; the expected log likelihood's derivatives at its marginals.
fit_algebra <- function(model, fit) {
  C <- prior_covariance(model)
  list(
    C = C, V = posterior_covariance(C, fit$lambda[, 1]),
    e = probe_expectation(model$likelihood, "auto", model$hyper$value, model$y, model$size, model$weights,
                          fit$mean[, 1], fit$variance[, 1], 1L, 1L)
  )
}

# The certificate as design and ARCHITECTURE.md state it.
reference_gap <- function(model, fit) {
  at <- fit_algebra(model, fit)
  r <- at$e$d_m - fit$alpha[, 1]
  d <- fit$lambda[, 1] + 2 * at$e$d_v
  (sum(r * (at$C %*% r)) + sum(d * ((at$C * at$V) %*% d))) / 2
}

# Algorithms that need the rows for sums alone.
methods_by_sums <- function() with(galvi:::inference_facts(), name[sums])

# Is the posterior one of a short latent vector, found from sums over rows, and not one of sites?
is_global_method <- function(model) {
  projected <- all(vapply(model$predictors, `[[`, "", "solver") == "projected")
  by_sums <- c(methods_by_sums(), "incremental", "stochastic")
  function(method) projected && method %in% by_sums
}

# Such a posterior in whitened coordinates: its columns W, mean m and covariance S, and its certificate, half
# the squared norm of the bound's gradient in m and the factor U, S = U'U.
latent_algebra <- function(model, fit) {
  columns <- prior_columns(model)
  sd <- sqrt(columns$variance)
  mu <- unlist(lapply(terms_of(model), `[[`, "mean"))
  W <- columns$W %*% diag(sd, length(sd))
  m <- (fit$latent[[1]]$mean - mu) / sd
  S <- tcrossprod(fit$latent[[1]]$chol / sd)
  U <- solve(t(chol(solve(S))))
  e <- fit_algebra(model, fit)$e
  slope <- crossprod(W, e$d_m) - m
  in_factor <- diag(1 / diag(U), nrow(U)) - U - U %*% crossprod(W, -2 * c(e$d_v) * W)
  list(W = W, m = m, S = S, e = e, gap = (sum(slope^2) + sum(in_factor[lower.tri(U, TRUE)]^2)) / 2)
}

# log p(y) of a gaussian model: weights divide the noise, and a row of weight 0 is not there. Columns with a
# flat prior are integrated against the density one.
gaussian_log_evidence <- function(model) {
  columns <- Filter(function(term) term$type == "columns", terms_of(model))
  noise <- model$hyper$value[model$likelihood$hyper$variance]
  w <- model$weights
  use <- w > 0
  finite <- model
  finite$hyper$value[is.infinite(model$hyper$value)] <- 0
  S <- (prior_covariance(finite) + diag(noise / pmax(w, 1e-300), length(w)))[use, use, drop = FALSE]
  r <- (model$y - model$offset[, 1] - prior_mean_of(model))[use]
  root <- chol(S)
  z <- backsolve(root, r, transpose = TRUE)
  out <- -sum(z^2) / 2 - sum(log(diag(root))) - length(r) * log(2 * pi) / 2 -
    sum((w[use] * log(2 * pi * noise) - log(2 * pi * noise / w[use])) / 2)
  if (!has_flat(model)) return(out)
  flat <- prior_columns(model)
  X <- backsolve(root, flat$W[use, is.infinite(flat$variance), drop = FALSE], transpose = TRUE)
  fit <- qr(X)
  out + sum(qr.fitted(fit, z)^2) / 2 - sum(log(abs(diag(qr.R(fit))))) + ncol(X) * log(2 * pi) / 2
}

# log int p(y | eta) N(eta | mean, C) d eta by the trapezium rule in whitened coordinates; one or two rows.
grid_log_evidence <- function(model, step = 0.02) {
  t <- seq(-9, 9, by = step)
  n <- length(model$y)
  u <- as.matrix(expand.grid(rep(list(t), n)))
  eta <- u %*% chol(prior_covariance(model)) + rep(model$offset[, 1] + prior_mean_of(model), each = nrow(u))
  log_likelihood <- Reduce(`+`, lapply(seq_len(n), function(i) {
    model$weights[i] * reference_log_density[[model$likelihood$type]](model$y[i], eta[, i], model$size[i])
  }))
  log(sum(exp(log_likelihood - rowSums(u^2) / 2))) + n * (log(step) - log(2 * pi) / 2)
}

# One gp over one input.
small_gp <- function(x, y, likelihood, variance, lengthscale = 1, ...) {
  kernel <- kernel_spec_of("se", list(variance = 1L, lengthscale = 2L))
  hyper <- c(variance = variance, lengthscale = lengthscale)
  new_model(y, list(kernel_term(cbind(x), kernel)), hyper, likelihood, ...)
}

# The same data under a gp and under an intercept and a slope with that prior variance.
start_models <- function(x, y, likelihood, variance) {
  x <- x[seq_along(y)]
  columns <- columns_term(cbind(1, x, deparse.level = 0), c(1, 1))
  list(
    small_gp(x, y, likelihood, variance), new_model(y, list(columns), c(sd = sqrt(variance)), likelihood)
  )
}
