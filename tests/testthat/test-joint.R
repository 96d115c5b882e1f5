# Everything moved together: the optimum is that of learning in turn.

sparse_learnable <- function(seed, likelihood, n = 60, M = 5) {
  set.seed(seed)
  random_inducing(n, M, likelihood = likelihood)
}

test_that("with inducing points both ways climb to the same bound", {
  for (likelihood in c("binomial_logit", "poisson", "gaussian")) {
    for_seeds(c(1, 8), function(seed) {
      model <- sparse_learnable(seed, likelihood)
      nested <- learn_model(model)
      joint <- learn_model(model, joint = TRUE)
      # points may settle elsewhere, and either search in the better place: what counts is the bound
      expect_gt(joint$elbo, fit_at(model)$elbo)
      expect_lt(abs(nested$elbo - joint$elbo), 1)
      held <- model
      held$hyper$learned[grepl("^z", held$hyper$name)] <- FALSE
      expect_close(learn_model(held, joint = TRUE)$elbo, learn_model(held)$elbo, 1e-5)
    })
  }
})

test_that("columns, several latents and hyperparameters of the likelihood move too", {
  for (type in c("negbinomial", "cumulative_logit", "categorical")) {
    set.seed(2)
    model <- likelihood_model(type, "columns", 60, 1.5)
    log_scale <- model$hyper$transform == "log"
    model$hyper$prior[log_scale] <- list(list(type = "log_normal", meanlog = 0, sdlog = 1))
    expect_close(learn_model(model, joint = TRUE)$elbo, learn_model(model)$elbo, 1e-5)
  }
})

test_that("the bound never ends below where it began, and freeze may be 0", {
  model <- sparse_learnable(3, "binomial_logit")
  for (freeze in c(0, 5)) {
    fit <- learn_model(model, joint = TRUE, freeze = freeze)
    expect_gt(fit$elbo, fit_at(model)$elbo)
  }
})

test_that("methods with another aim are refused in a sentence", {
  model <- learnable_model(1, "binomial_probit")
  for (method in c("ep", "mean_field")) {
    expect_error(learn_model(model, joint = TRUE, method = method), "leave it FALSE")
  }
})

test_that("the search of q and hyperparameters together ends where the search by inferences does", {
  set.seed(1)
  d <- data.frame(x = runif(300, -3, 3))
  d$y <- rpois(300, exp(2 * sin(2 * d$x)))
  d$z <- rnorm(300)
  apart <- galvi(y ~ gp(x) + gp(z), d, poisson())
  joint <- galvi(y ~ gp(x) + gp(z), d, poisson(), control = galvi_control(joint = TRUE))
  expect_true(joint$convergence$converged)
  expect_lt(abs(joint$elbo - apart$elbo), 0.01)
})
