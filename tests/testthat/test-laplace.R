# Laplace's approximation against Newton's method in plain R, glm() and the Taylor fixed point.

laplace_types <- c("binomial_logit", "binomial_probit", "poisson", "negbinomial", "gamma", "exponential",
                   "stochastic_volatility", "cumulative_logit", "cumulative_probit", "student", "beta",
                   "weibull", "weibull_ph", "loglogistic", "lognormal", "binomial_cloglog")

laplace_fit <- function(model, ...) {
  model$expectation <- "taylor"
  fit_at(model, "laplace", ...)
}

# l', l'' of every row, weights included.
row_derivatives <- function(model, eta) {
  at <- probe_likelihood(model$likelihood, model$hyper$value, model$y, model$size, eta)
  model$weights * at[, 2:4, drop = FALSE]
}

test_that("it stands at the mode with the curvature there, and reports Laplace's evidence", {
  for_seeds(1:33, function(seed) {
    n <- sample(2:25, 1)
    model <- likelihood_model(turn(seed, laplace_types), turn(seed, c("gp", "sum", "columns")), n,
                              exp(runif(1, -2, 3)))
    model$weights <- sample(c(0, 1, 2, 0.5), n, replace = TRUE)
    fit <- laplace_fit(model, quiet_control(tol = 1e-10))
    expect_true(fit$converged)
    C <- prior_covariance(model)
    l <- row_derivatives(model, fit$mean[, 1])
    f <- fit$mean[, 1] - model$offset[, 1] - prior_mean_of(model)
    expect_close(f, C %*% fit$alpha[, 1], 1e-9)
    # the gradient of the log joint density, in units of the posterior's standard deviations
    expect_close(sqrt(fit$variance[, 1]) * (fit$alpha[, 1] - l[, 2]), 0, 1e-6)
    expect_close(fit$lambda[, 1], -l[, 3], 1e-6)
    expect_close(fit$variance[, 1], diag(posterior_covariance(C, -l[, 3])), 1e-6)
    log_det <- as.numeric(determinant(diag(n) + C * rep(-l[, 3], each = n))$modulus)
    expect_close(fit$elbo, sum(l[, 1]) - (sum(fit$alpha[, 1] * f) + log_det) / 2, 1e-7)
  })
})

test_that("it is the Taylor expectation's fixed point", {
  for_seeds(41:52, function(seed) {
    model <- likelihood_model(turn(seed, setdiff(laplace_types, c("student", "beta"))),
                              turn(seed, c("gp", "columns")), 15, 2, "taylor")
    fit <- laplace_fit(model, quiet_control(tol = 1e-12))
    other <- fit_at(model, "fixed_point", quiet_control(tol = 1e-14))
    expect_close(fit$elbo, other$elbo, 1e-6)
    expect_close(fit$mean, other$mean, 1e-5)
    expect_true(all(is.na(fit$trace$gap)))
  })
})

test_that("under flat priors it is glm()", {
  set.seed(53)
  x <- rnorm(40)
  counts <- rpois(40, exp(0.5 + 0.4 * x))
  trials <- rbinom(40, 5, plogis(x - 0.3))
  flat <- function(y, likelihood, size = rep(1, 40)) {
    columns <- columns_term(cbind(1, x, deparse.level = 0), c(1, 1))
    laplace_fit(new_model(y, list(columns), c(sd = Inf), likelihood, size), quiet_control(tol = 1e-12))
  }
  same <- function(fit, reference) {
    expect_true(fit$converged)
    expect_close(fit$coefficients[[1]]$mean, coef(reference), 1e-6)
    expect_close(fit$coefficients[[1]]$covariance[[1]], vcov(reference), 1e-5)
    expect_close(fit$elbo, as.numeric(logLik(reference)) + log(det(vcov(reference))) / 2 + log(2 * pi), 1e-5)
  }
  exact <- glm.control(epsilon = 1e-14, maxit = 100)
  same(flat(counts, "poisson"), glm(counts ~ x, poisson(), control = exact))
  same(flat(trials, "binomial_logit", rep(5, 40)),
       glm(cbind(trials, 5 - trials) ~ x, binomial(), control = exact))
})

test_that("wide priors, separated classes and large counts converge", {
  x <- seq(-2, 2, length.out = 12)
  cases <- list(
    list("poisson", c(1000, numeric(11))), list("poisson", round(1e5 * exp(x))),
    list("binomial_logit", as.numeric(x > 0)), list("binomial_probit", as.numeric(x > 0))
  )
  for (variance in 10^(-2:4)) {
    for_seeds(seq_along(cases), function(seed) {
      for (model in start_models(x, cases[[seed]][[2]], cases[[seed]][[1]], variance)) {
        fit <- laplace_fit(model, quiet_control(tol = 1e-7))
        expect_true(fit$converged)
        expect_lte(nrow(fit$trace), 30)
      }
    })
  }
})

test_that("the evidence's slope in the hyperparameters is right", {
  for_seeds(61:65, function(seed) {
    type <- turn(seed, c("binomial_logit", "negbinomial", "gamma", "poisson", "student"))
    model <- likelihood_model(type, turn(seed, c("gp", "columns")), 12, 1.5, "taylor")
    gradient <- bound_at(model, model$hyper$value, method = "laplace")$gradient
    expect_close(gradient * model$hyper$value, log_gradient(model, method = "laplace"), 1e-5)
  })
})

test_that("laplace needs the Taylor expectation and says so", {
  set.seed(1)
  model <- likelihood_model("binomial_logit", "gp", 5)
  expect_identical(inference_refusals(model)[["laplace"]], "")  # "auto" is taylor for it
  expect_identical(fit_at(model, "laplace")$expectation, "taylor")
  model$expectation <- "quadrature"
  expect_match(inference_refusals(model)[["laplace"]], "expectation = \"taylor\"")
  model$expectation <- "taylor"
  expect_identical(inference_refusals(model)[["laplace"]], "")
})
