# L-BFGS over mean and Cholesky factor ends where the others end.

free_form <- function(model, control = quiet_control(tol = 1e-8), ...) {
  fit_at(model, "cholesky_gradient", control, ...)
}

one_optimum_types <- with(likelihood_facts(), type[log_concave])

test_that("it meets newton's optimum, climbs, and knows how far it is", {
  for_seeds(1:52, function(seed) {
    model <- likelihood_model(turn(seed, one_optimum_types), turn(seed, c("gp", "sum", "columns")),
                              sample(2:20, 1), exp(runif(1, -3, 3)))
    n <- length(model$y)
    model$weights <- sample(c(0, 1, 1, 2, 0.5), n, replace = TRUE)
    best <- fit_at(model, "newton", quiet_control(tol = 1e-9))
    fit <- free_form(model)
    expect_true(fit$converged)
    expect_close(fit$elbo, best$elbo, 1e-6)
    expect_lte(fit$gap, 1e-8 + fit$rounding)
    expect_gte(min(0, diff(fit$trace$elbo)), -slack(best$elbo))
    expect_true(all(fit$trace$gap >= best$elbo - fit$trace$elbo - slack(best$elbo)))
    expect_close(fit$mean, best$mean, 1e-3)
  })
})

test_that("bounds are served as well, and wide priors", {
  checked <- 0
  for_seeds(61:76, function(seed) {
    model <- random_model(turn(seed, c("gp", "columns")), sample(2:40, 1), "binomial_logit",
                          10^runif(1, 1, 4))
    model$expectation <- turn(seed, c("quadrature", "piecewise", "log", "jaakkola"))
    best <- fit_at(model, "fixed_point", quiet_control(tol = 1e-8))
    fit <- free_form(model)
    if (fit$converged) expect_close(fit$elbo, best$elbo, 1e-6)
    expect_lte(best$elbo - fit$elbo, 1e-3)
    expect_gte(fit$elbo, max(fit$trace$elbo) - 1e-6)
    checked <<- checked + fit$converged
  })
  expect_some(checked, "fits that converged")
})

test_that("from a cold start it moves in the raw coordinates", {
  for_seeds(81:88, function(seed) {
    model <- random_model(turn(seed, c("gp", "columns")), sample(2:15, 1), turn(seed, inexact_likelihoods), 1)
    best <- fit_at(model, "newton")
    fit <- free_form(model, quiet_control(tol = 1e-7, max_iterations = 2000, cold = TRUE))
    expect_true(fit$converged)
    expect_close(fit$elbo, best$elbo, 1e-6)
    # the prior's bound is the first
    if (turn(seed, inexact_likelihoods) != "poisson") {
      prior <- prior_covariance(model)
      e <- probe_expectation(model$likelihood, "auto", model$hyper$value, model$y, model$size, model$weights,
                             model$offset[, 1] + prior_mean_of(model), diag(prior), 1L, 1L)
      expect_close(fit$trace$elbo[1], sum(e$value), 1e-8)
    }
  })
})

test_that("likelihoods with several optima end at one of them", {
  for_seeds(91:96, function(seed) {
    model <- likelihood_model(turn(seed, c("student", "beta")), turn(seed, c("gp", "columns")), 20, 1.5)
    fit <- free_form(model)
    expect_true(fit$converged)
    expect_true(is.na(fit$gap))
    again <- fit_at(model, "natural_gradient", start = fit[c("lambda", "b")])
    expect_close(again$elbo, fit$elbo, 1e-6)
  })
})

test_that("a gaussian's bound is the log evidence", {
  for_seeds(101:106, function(seed) {
    model <- random_model(turn(seed, c("gp", "sum", "columns")), sample(2:30, 1), "gaussian", 3)
    fit <- free_form(model)
    expect_true(fit$converged)
    expect_close(fit$elbo, gaussian_log_evidence(model), 1e-7)
  })
})

test_that("a warm start at the optimum has nothing to do, and flat priors are refused", {
  set.seed(111)
  model <- random_model("gp", 20, "binomial_logit", 2)
  cold <- free_form(model)
  expect_equal(nrow(free_form(model, quiet_control(tol = 1e-7), cold[c("lambda", "b")])$trace), 1)
  flat <- random_model("flat", 40, "binomial_logit", 1)
  expect_match(inference_refusals(flat)[["cholesky_gradient"]], "flat prior")
})
