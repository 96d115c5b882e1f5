# Projected Newton over the hyperparameters against L-BFGS-B.

learn_newton <- function(model, ...) learn_model(model, hyper_method = "newton", ...)

test_that("both searches find the same optimum", {
  for (likelihood in c("gaussian", "poisson", "binomial_logit", "binomial_probit")) {
    for_seeds(1:3, function(seed) {
      model <- learnable_model(seed, likelihood)
      newton <- learn_newton(model, hyper_tol = 1e-10)
      lbfgs <- learn_model(model, hyper_tol = 1e-10)
      expect_true(newton$converged)
      expect_equal(newton$message, "")
      expect_close(newton$elbo, lbfgs$elbo, 1e-7)
      expect_close(log(newton$hyper), log(lbfgs$hyper), 1e-3)
    })
  }
})

test_that("so they do with columns, priors and other methods", {
  set.seed(1)
  n <- 200
  W <- matrix(rnorm(4 * n), n)
  y <- rbinom(n, 1, plogis(W %*% c(1.5, 0.05, 2, 0)))
  model <- new_model(y, list(columns_term(W, c(1, 1, 2, 2))), c(sd1 = 10, sd2 = 0.1))
  expect_close(learn_newton(model)$elbo, learn_model(model)$elbo, 1e-6)

  model <- learnable_model(2, "poisson")
  model$hyper$prior[[2]] <- list(type = "log_normal", meanlog = log(5), sdlog = 0.1)
  expect_close(learn_newton(model)$hyper, learn_model(model)$hyper, 1e-3)

  model <- learnable_model(1, "binomial_probit")
  for (method in c("mean_field", "ep")) {
    newton <- fit_model(model, method, "optimise", quiet_control(hyper_method = "newton"), NULL)
    expect_true(newton$converged)
    expect_close(newton$elbo, learn_model(model, method = method)$elbo, 1e-6)
  }
})

test_that("starts where the Hessian is not positive definite lead to the optimum too", {
  # far out the profile is flat or bends the wrong way
  for_seeds(1:6, function(seed) {
    model <- learnable_model(turn(seed, 1:3), turn(seed, c("gaussian", "binomial_logit")))
    best <- learn_model(model, hyper_tol = 1e-10)
    model$hyper$value <- model$hyper$value * exp(rnorm(length(model$hyper$value), sd = 1.5))
    fit <- learn_newton(model, hyper_tol = 1e-10)
    expect_true(fit$converged)
    at <- bound_at(model, fit$hyper)
    expect_lt(max(abs(at$unconstrained_gradient[!fit$at_bound])), 5e-3)
    expect_true(all(diff(fit$trace$elbo[nrow(fit$trace) - 1:0]) >= -1e-6))
    expect_gte(fit$elbo, fit_at(model)$elbo - 1e-9)
  })
})

test_that("bounds are kept, flagged, and left again", {
  model <- learnable_model(1, "poisson")
  free <- learn_newton(model)
  model$hyper$upper[2] <- 0.7
  fit <- learn_newton(model)
  expect_lte(fit$hyper[2], 0.7 * (1 + 1e-12))
  expect_identical(fit$at_bound, c(FALSE, TRUE))
  expect_true(fit$converged)
  expect_close(fit$elbo, learn_model(model)$elbo, 1e-6)
  # a start at a bound that the optimum is away from
  model <- learnable_model(1, "poisson")
  model$hyper$lower[2] <- model$hyper$value[2]
  expect_close(learn_newton(model)$elbo, free$elbo, 1e-6)
})

test_that("it takes fewer steps, and threads do not matter", {
  model <- learnable_model(4, "binomial_logit", 60)
  same <- c("hyper", "elbo", "mean", "variance", "alpha", "lambda")
  expect_identical(learn_newton(model, threads = 2)[same], learn_newton(model)[same])
})

test_that("many hyperparameters are refused in a sentence", {
  set.seed(1)
  n <- 60
  W <- matrix(rnorm(51 * n), n)
  y <- rbinom(n, 1, 0.5)
  model <- new_model(y, list(columns_term(W, 1:51)), stats::setNames(rep(1, 51), paste0("sd", 1:51)))
  expect_error(learn_newton(model), "51 here and 50 at most: use hyper_method = \"lbfgs\"")
})
