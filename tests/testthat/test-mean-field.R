# The mean-field method against its bound written out, its neighbours in order, and differences.

# One latent g per Bernoulli trial: which row, and sign y of g.
latents_of <- function(model) {
  successes <- model$weights * model$y
  failures <- model$weights * (model$size - model$y)
  rows <- seq_along(model$y)
  data.frame(row = c(rep(rows, successes), rep(rows, failures)),
             sign = rep(c(1, -1), c(sum(successes), sum(failures))))
}

known_part <- function(model) {
  columns <- vapply(terms_of(model), function(term) term$type == "columns", NA)
  model$offset[, 1] + if (any(columns)) prior_mean_of(model) else 0
}

# 002, eq. 12, at free a (one per latent), by its own terms.   C: covariance of f through z, extra: c_n
equation_12 <- function(model, a, C = prior_covariance(model), extra = numeric(nrow(C))) {
  latent <- latents_of(model)
  prior <- known_part(model)[latent$row]
  Q <- C[latent$row, latent$row] + diag(nrow(latent))
  P <- solve(Q)
  sd <- sqrt(1 / diag(P))
  z <- latent$sign * a / sd
  hazard <- exp(dnorm(z, log = TRUE) - pnorm(z, log.p = TRUE))
  mean <- a + latent$sign * sd * hazard
  variance <- sd^2 * (1 - hazard * (hazard + z))
  r <- mean - prior
  sum(pnorm(z, log.p = TRUE)) - as.numeric(determinant(Q)$modulus) / 2 -
    sum(P * (outer(r, r) + diag(variance))) / 2 +
    sum(log(sd^2) + (variance + (a - mean)^2) / sd^2) / 2 - sum(extra[latent$row]) / 2 +
    sum((model$weights * lchoose(model$size, model$y))[model$weights > 0])
}

# The free a of a fit: q(g_n) is the prior given the other latents' means, truncated.
free_means <- function(model, fit, C = prior_covariance(model)) {
  latent <- latents_of(model)
  prior <- known_part(model)[latent$row]
  P <- solve(C[latent$row, latent$row] + diag(nrow(latent)))
  f <- (fit$mean[, 1] - known_part(model))[latent$row]
  # a solves E g = f + prior + (E g - a) / sd^2
  vapply(seq_len(nrow(latent)), function(i) {
    sd <- sqrt(1 / P[i, i])
    away <- function(a) {
      z <- latent$sign[i] * a / sd
      hazard <- latent$sign[i] * sd * exp(dnorm(z, log = TRUE) - pnorm(z, log.p = TRUE))
      a + hazard - f[i] - prior[i] - hazard / sd^2
    }
    uniroot(away, c(-1e4, 1e4), tol = 1e-13, maxiter = 1e4)$root
  }, 0)
}

probit_model <- function(seed, kinds = c("gp", "sum", "columns"), n = 12) {
  model <- random_model(turn(seed, kinds), n, "binomial_probit", 10^runif(1, -1, 2))
  model$weights <- sample(c(1, 1, 2, 0), n, replace = TRUE)
  model
}

binary_probit <- function(n, variance, kind = "gp") {
  model <- random_model(kind, n, "binomial_probit", variance)
  model$size <- model$weights <- rep(1, n)
  model$y <- rbinom(n, 1, 0.5)
  model
}

test_that("the bound is equation 12 at its best a", {
  for_seeds(1:12, function(seed) {
    model <- probit_model(seed)
    fit <- fit_at(model, "mean_field", quiet_control(tol = 1e-14))
    expect_true(fit$converged)
    a <- free_means(model, fit)
    expect_close(fit$elbo, equation_12(model, a), 1e-9)
    slope <- central_gradient(function(a) equation_12(model, a), a)
    expect_lt(max(abs(slope)), 1e-5)
    # no latent alone can do better
    i <- sample(length(a), 1)
    alone <- optimize(function(x) equation_12(model, replace(a, i, x)), a[i] + c(-2, 2), maximum = TRUE)
    expect_lte(alone$objective, fit$elbo + 1e-8)
    # sites: one per latent, their b the mean of g
    expect_equal(fit$lambda[, 1], model$weights * model$size)
    C <- prior_covariance(model)
    V <- posterior_covariance(C, fit$lambda[, 1])
    expect_close(fit$variance, diag(V), 1e-9)
    expect_close(fit$mean[, 1] - model$offset[, 1] - prior_mean_of(model), V %*% fit$b, 1e-8)
  })
})

test_that("two_stage <= mean_field <= log p(y), and a single trial is exact", {
  for_seeds(21:35, function(seed) {
    model <- binary_probit(2, 10^runif(1, -1, 1.5))
    evidence <- grid_log_evidence(model)
    bound <- fit_at(model, "mean_field")$elbo
    lower <- model
    lower$expectation <- "two_stage"
    expect_lte(fit_at(lower)$elbo, bound + 1e-9)
    expect_lte(bound, evidence + 1e-7)
    alone <- binary_probit(1, 10^runif(1, -2, 4))
    sd <- sqrt(1 + prior_covariance(alone)[1])
    exact <- pnorm((2 * alone$y - 1) * alone$offset[1] / sd, log.p = TRUE)
    # 1 - v_n = 1 / (1 + prior variance) loses digits under wide priors
    expect_close(fit_at(alone, "mean_field")$elbo, exact, 1e-9)
  })
  for_seeds(41:50, function(seed) {
    model <- probit_model(seed, n = 40)
    lower <- model
    lower$expectation <- "two_stage"
    expect_lte(fit_at(lower)$elbo, fit_at(model, "mean_field")$elbo + 1e-8)
  })
})

test_that("where rows share what they say, the bound is below the Gaussian one", {
  for_seeds(51:56, function(seed) {
    x <- sort(runif(60, -3, 3))
    y <- rbinom(60, 1, pnorm(2 * sin(x)))
    model <- small_gp(x, y, "binomial_probit", 4)
    expect_lt(fit_at(model, "mean_field")$elbo, fit_at(model, "newton")$elbo)
  })
})

test_that("the certificate is never below what is missing", {
  for_seeds(61:75, function(seed) {
    model <- probit_model(seed, n = 25)
    best <- fit_at(model, "mean_field", quiet_control(tol = 1e-13))
    for (iterations in 1:3) {
      fit <- fit_at(model, "mean_field", quiet_control(tol = 1e-13, max_iterations = iterations))
      expect_gte(fit$gap, best$elbo - fit$elbo - 1e-10)
      expect_true(all(diff(fit$trace$elbo) >= -slack(fit$elbo)))
    }
    expect_true(all(best$trace$factorisations == 1))
    warm <- fit_at(model, "mean_field", quiet_control(tol = 1e-10), start = best[c("lambda", "b")])
    expect_lte(nrow(warm$trace), 2)
  })
})

test_that("the gradient is that of the re-optimised bound", {
  for_seeds(81:92, function(seed) {
    model <- probit_model(seed)
    got <- bound_at(model, model$hyper$value, method = "mean_field")
    expect_close(got$gradient * model$hyper$value, log_gradient(model, method = "mean_field"), 1e-6)
  })
  for (name in c("se", "white", "product")) {
    set.seed(3)
    model <- kernel_model(name, "binomial_probit")
    got <- bound_at(model, model$hyper$value, method = "mean_field")
    expect_close(got$gradient * model$hyper$value, log_gradient(model, method = "mean_field"), 1e-6)
  }
})

test_that("both solvers agree, threads do not matter, weights are copies of rows", {
  for_seeds(101:106, function(seed) {
    model <- probit_model(seed, "columns", 30)
    dense <- replace(model, "solver", "dense_kernel")
    fit <- fit_at(model, "mean_field")
    expect_close(fit$elbo, fit_at(dense, "mean_field")$elbo, 1e-8)
    same <- c("elbo", "mean", "b")
    expect_identical(fit_at(model, "mean_field", quiet_control(threads = 2))[same], fit[same])
    copies <- rep(seq_along(model$y), model$weights)
    long <- model_of_rows(model, copies)
    long$weights <- rep(1, length(copies))
    expect_close(fit_at(long, "mean_field")$elbo, fit$elbo, 1e-8)
  })
})

test_that("with inducing points the bound has the trace term of equation 12, and an exact gradient", {
  for_seeds(111:116, function(seed) {
    model <- random_inducing(15, 4, likelihood = "binomial_probit")
    prior <- inducing_covariance(terms_of(model)[[1]], model$hyper$value)
    fit <- fit_at(model, "mean_field", quiet_control(tol = 1e-14))
    expect_close(fit$elbo, equation_12(model, free_means(model, fit, prior$Q), prior$Q, prior$c), 1e-8)
    value <- model$hyper$value
    expect_close(
      bound_at(model, value, method = "mean_field")$gradient,
      central_gradient(function(h) bound_at(model, h, method = "mean_field")$elbo, value), 1e-6
    )
    lower <- model
    lower$expectation <- "two_stage"
    expect_lte(fit_at(lower)$elbo, fit$elbo + 1e-9)
  })
})

test_that("wide priors and separated classes converge", {
  x <- seq(-2, 2, length.out = 12)
  for (variance in 10^(-2:6)) {
    for (y in list(as.numeric(x > 0), rep(1, 12), rep(0:1, 6))) {
      for (model in start_models(x, y, "binomial_probit", variance)) {
        fit <- fit_at(model, "mean_field", quiet_control(tol = 1e-7))
        expect_true(fit$converged)
        expect_true(all(is.finite(fit$mean), fit$variance > 0))
      }
    }
  }
})

test_that("learned hyperparameters are where the bound is flat", {
  model <- learnable_model(1, "binomial_probit")
  fit <- learn_model(model, hyper_tol = 1e-8, method = "mean_field")
  expect_true(fit$converged)
  at <- bound_at(model, fit$hyper, method = "mean_field")
  expect_lt(max(abs(at$unconstrained_gradient)), 5e-3)
  expect_gt(fit$elbo, fit_at(model, "mean_field")$elbo)
})

test_that("mean_field refuses what it cannot do", {
  refusal <- function(model) inference_refusals(model)[["mean_field"]]
  expect_match(refusal(random_model("gp", 5, "binomial_logit", 1)), "probit")
  model <- binary_probit(5, 1)
  expect_identical(refusal(model), "")
  expect_match(refusal(replace(model, "expectation", "two_stage")), "bound of its own")
  expect_match(refusal(replace(model, "weights", list(rep(0.5, 5)))), "whole numbers")
  flat <- random_model("flat", 5, "binomial_probit")
  expect_match(refusal(replace(flat, "weights", list(rep(1, 5)))), "flat")
})
