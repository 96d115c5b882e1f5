# Hyperparameters: gradients, priors, bounds and the ways to learn them.

test_that("every registered kernel has a gradient case", {
  expect_setequal(names(kernel_cases()), setdiff(names(kernel_facts()), "sum"))  # sums are in most of them
})

test_that("the bound's gradient at the optimum is that of the re-optimised bound, for every kernel", {
  for (likelihood in c("binomial_logit", "gaussian")) {
    for (name in names(kernel_cases())) {
      set.seed(1)
      model <- kernel_model(name, likelihood)
      got <- bound_at(model, model$hyper$value)
      label <- paste(name, likelihood)
      expect_lt(max(abs(got$gradient * model$hyper$value - log_gradient(model))), 1e-6, label = label)
      expect_equal(got$unconstrained_gradient, got$gradient * model$hyper$value, label = label)
    }
  }
})

test_that("so it is for every prior, likelihood and method", {
  for_seeds(1:28, function(seed) {
    model <- random_model(turn(seed, prior_kinds), 30, turn(seed %/% 7, c("gaussian", inexact_likelihoods)), 2)
    finite <- is.finite(model$hyper$value)
    differences <- log_gradient(model)
    for (method in c("auto", if (model$likelihood$type == "gaussian") "fixed_point")) {
      got <- bound_at(model, model$hyper$value, method = method)
      expect_close(got$gradient[finite] * model$hyper$value[finite], differences, 5e-6)
    }
  })
})

test_that("the gradient at fixed sites is right away from the optimum", {
  for_seeds(21:36, function(seed) {
    n <- 15
    model <- random_model(turn(seed, setdiff(prior_kinds, flat_kinds)), n,
                          turn(seed, c("gaussian", inexact_likelihoods)), 1)
    sites <- list(lambda = matrix(rexp(n)), b = matrix(rnorm(n)))
    if (seed %% 2) sites$lambda[1:3] <- c(0, 1e-8, -0.01)
    got <- bound_at(model, model$hyper$value, sites)
    expect_close(got$gradient * model$hyper$value, log_gradient(model, sites), 1e-6)
  })
  for (name in names(kernel_cases())) {
    set.seed(2)
    model <- kernel_model(name, "binomial_logit")
    sites <- list(lambda = matrix(rexp(12)), b = matrix(rnorm(12)))
    got <- bound_at(model, model$hyper$value, sites)$gradient * model$hyper$value
    expect_lt(max(abs(got - log_gradient(model, sites))), 1e-6, label = name)
  }
})

test_that("variances and sds of columns, shared or not, have the same gradient in both solvers", {
  set.seed(4)
  n <- 20
  W <- matrix(rnorm(4 * n), n)
  # columns 1 and 2: one variance each; 3: that of column 2 times a variance; 4: an sd
  term <- list(type = "columns", label = "fixed", W = W, mean = c(0, 0.5, 0, -1),
               factors = rbind(c(1L, 0L), c(2L, 0L), c(2L, 3L), c(4L, 4L)))
  hyper <- c(v1 = 0.5, v2 = 2, v3 = 1.5, sd = 0.8)
  y <- rbinom(n, 1, 0.5)
  projected <- new_model(y, list(term), hyper)
  dense <- replace(projected, "solver", "dense_kernel")
  sites <- list(lambda = matrix(rexp(n)), b = matrix(rnorm(n)))
  for (at in list(NULL, sites)) {
    got <- bound_at(projected, hyper, at)
    expect_close(got$gradient * hyper, log_gradient(projected, at), 1e-6)
    other <- bound_at(dense, hyper, at)
    expect_close(other$elbo, got$elbo, 1e-10)
    expect_close(other$gradient, got$gradient, 1e-6)
  }
})

test_that("priors are the densities that they are called, on the log scale", {
  # log density of theta plus the Jacobian log(theta)
  references <- list(
    list(list(type = "log_normal", meanlog = 0.3, sdlog = 0.8), function(t) dlnorm(t, 0.3, 0.8, log = TRUE)),
    list(list(type = "half_normal", sd = 1.4), function(t) log(2) + dnorm(t, 0, 1.4, log = TRUE)),
    # of the square root s of a variance: ds / dt = 1 / (2 s)
    list(list(type = "half_normal", sd = 1.4, quantity = "root"),
         function(t) log(2) + dnorm(sqrt(t), 0, 1.4, log = TRUE) - log(2 * sqrt(t))),
    list(list(type = "log_normal", meanlog = 0.3, sdlog = 0.8, quantity = "root"),
         function(t) dlnorm(sqrt(t), 0.3, 0.8, log = TRUE) - log(2 * sqrt(t))),
    list(list(type = "pc", upper = 2, prob = 0.05),
         function(t) dexp(sqrt(t), -log(0.05) / 2, log = TRUE) - log(2 * sqrt(t))),
    list(list(type = "pc", upper = 2, prob = 0.05, quantity = "sd"),
         function(t) dexp(t, -log(0.05) / 2, log = TRUE)),
    list(list(type = "pc_range", lower = 0.4, prob = 0.05),
         function(t) dexp(1 / t, -log(0.05) * 0.4, log = TRUE) - 2 * log(t)),
    list(list(type = "gamma_prior", shape = 1.3, rate = 0.4),
         function(t) dgamma(1 / t, 1.3, 0.4, log = TRUE) - 2 * log(t)),
    list(list(type = "gamma_prior", shape = 1.3, rate = 0.4, quantity = "sd"),
         function(t) dgamma(1 / t^2, 1.3, 0.4, log = TRUE) + log(2) - 3 * log(t))
  )
  for (reference in references) {
    prior <- reference[[1]]
    theta <- exp(seq(-4, 4, by = 0.5))
    got <- vapply(theta, log_prior_at, 0, prior = prior)
    expect_lt(max(abs(got - reference[[2]](theta) - log(theta))), 1e-10, label = prior$type)
    x <- seq(-40, 40, by = 0.2)
    mass <- 0.2 * sum(exp(vapply(exp(x), log_prior_at, 0, prior = prior)))
    expect_lt(abs(mass - 1), 1e-4, label = prior$type)
    for (value in c(0.2, 1, 5)) {
      got <- bound_at(prior_only_model(prior), c(1, value), NULL, "fixed_point")$unconstrained_gradient
      slope <- central_gradient(function(x) log_prior_at(prior, exp(x)), log(value))
      expect_lt(abs(got - slope), 1e-7, label = prior$type)
    }
  }
})

test_that("the Jacobian of every transform is in the density and in its gradient", {
  prior <- list(type = "half_normal", sd = 1.4)
  transforms <- list(
    log = list(exp, 0.7), identity = list(identity, 0.7), logit = list(plogis, -0.4),
    one_to_two = list(function(x) 1 + plogis(x), -0.4), atanh = list(tanh, 0.6)
  )
  for (name in names(transforms)) {
    backward <- transforms[[name]][[1]]
    at <- function(x) {
      top <- c(log = 50, identity = 50, logit = 1 - 1e-9, one_to_two = 2 - 1e-9, atanh = 1 - 1e-9)[[name]]
      probe_bound(prior_only_model(prior, name, backward(x), 1e-9, top), quiet_control(), "fixed_point", NULL)
    }
    x <- transforms[[name]][[2]]
    wanted <- function(x) log(2) + dnorm(backward(x), 0, 1.4, log = TRUE) + log(numDeriv::grad(backward, x))
    expect_lt(abs(at(x)$log_prior - wanted(x)), 1e-8, label = name)
    slope <- central_gradient(function(x) at(x)$log_prior, x)
    expect_lt(abs(at(x)$unconstrained_gradient - slope), 1e-7, label = name)
  }
})

test_that("with priors the whole objective's gradient is right", {
  set.seed(3)
  model <- kernel_model("se", "binomial_logit")
  model$hyper$prior <- list(
    list(type = "pc", upper = 1, prob = 0.1), list(type = "log_normal", meanlog = 0, sdlog = 1),
    list(type = "gamma_prior", shape = 2, rate = 1)
  )
  objective <- function(x) {
    at <- bound_at(model, exp(x))
    at$elbo + at$log_prior
  }
  x <- log(model$hyper$value)
  expect_close(bound_at(model, exp(x))$unconstrained_gradient, central_gradient(objective, x), 1e-6)
})

test_that("learning ends where the gradient vanishes", {
  for (likelihood in c("gaussian", "poisson", "binomial_logit", "binomial_probit")) {
    for_seeds(1:3, function(seed) {
      model <- learnable_model(seed, likelihood)
      fit <- learn_model(model, hyper_tol = 1e-8)
      expect_true(fit$converged)
      expect_equal(fit$message, "")
      expect_false(any(fit$at_bound))
      expect_lt(max(abs(bound_at(model, fit$hyper)$unconstrained_gradient)), 5e-3)
      expect_gt(fit$elbo, fit_at(model)$elbo)
      # no nearby point is better
      for (j in seq_along(fit$hyper)) {
        for (factor in exp(c(-0.1, 0.1))) {
          nearby <- replace(fit$hyper, j, factor * fit$hyper[j])
          expect_lte(bound_at(model, nearby)$elbo, fit$elbo + 1e-6)
        }
      }
    })
  }
})

test_that("prior sds of columns are learned", {
  for_seeds(1:3, function(seed) {
    n <- 200
    W <- matrix(rnorm(4 * n), n)
    y <- rbinom(n, 1, plogis(W %*% c(1.5, 0.05, 2, 0)))
    model <- new_model(y, list(columns_term(W, rep(1, 4))), c(sd = 10))
    fit <- learn_model(model)
    expect_true(fit$converged)
    expect_lt(abs(bound_at(model, fit$hyper)$unconstrained_gradient), 5e-3)
  })
})

test_that("bounds are kept, flagged, and held values stay", {
  model <- learnable_model(1, "poisson")
  model$hyper$upper[2] <- 0.7
  fit <- learn_model(model)
  expect_lte(fit$hyper[2], 0.7 * (1 + 1e-12))
  expect_identical(fit$at_bound, c(FALSE, TRUE))
  expect_true(fit$converged)
  gradient <- bound_at(model, fit$hyper)$unconstrained_gradient
  expect_gt(gradient[2], 0)
  expect_lt(abs(gradient[1]), 5e-3)

  model <- learnable_model(1, "poisson")
  model$hyper$learned[1] <- FALSE
  fit <- learn_model(model)
  expect_identical(fit$hyper[1], 1)
  expect_false(fit$hyper[2] == 0.5)
})

test_that("moving everything together ends where learning in turn does", {
  for (likelihood in c("poisson", "binomial_logit")) {
    for_seeds(1:3, function(seed) {
      model <- learnable_model(seed, likelihood)
      nested <- learn_model(model)
      joint <- learn_model(model, joint = TRUE)
      expect_true(joint$converged)
      expect_close(joint$elbo, nested$elbo, 1e-4 / max(1, abs(nested$elbo)))
    })
  }
  model <- learnable_model(1, "gaussian")
  expect_close(learn_model(model, joint = TRUE)$elbo, learn_model(model)$elbo, 1e-8)
})

test_that("methods learn the same hyperparameters", {
  model <- learnable_model(2, "binomial_logit")
  newton <- learn_model(model, method = "newton")
  for (method in c("fixed_point", "natural_gradient")) {
    expect_close(learn_model(model, method = method)$elbo, newton$elbo, 1e-6)
  }
})

test_that("priors move estimates to where objective, not bound, is best", {
  model <- learnable_model(2, "poisson")
  free <- learn_model(model)
  model$hyper$prior[[2]] <- list(type = "log_normal", meanlog = log(5), sdlog = 0.1)
  held <- learn_model(model)
  expect_lt(max(abs(bound_at(model, held$hyper)$unconstrained_gradient)), 5e-3)
  expect_gt(held$hyper[2], free$hyper[2])
  expect_lt(held$elbo, free$elbo)
  expect_close(held$log_prior, dnorm(log(held$hyper[2]), log(5), 0.1, log = TRUE), 1e-9)
})

test_that("of several starts the best is kept and all are told", {
  model <- learnable_model(3, "binomial_logit")
  run <- function() {
    set.seed(7)
    learn_model(model, starts = 4)
  }
  fit <- run()
  expect_length(fit$starts$elbo, 4)
  expect_close(fit$elbo + fit$log_prior, max(fit$starts$elbo), 1e-7)
  expect_close(fit$elbo, bound_at(model, fit$hyper)$elbo, 1e-7)
  best <- which.max(fit$starts$elbo)
  expect_equal(fit$starts$hyper[best, ], fit$hyper)
  again <- run()
  same <- setdiff(names(fit), "trace")
  expect_identical(again[same], fit[same])
})

test_that("threads do not change what is learned", {
  same <- c("hyper", "elbo", "mean", "variance", "alpha", "lambda")
  for (likelihood in c("gaussian", "binomial_logit")) {
    model <- learnable_model(4, likelihood, 60)
    expect_identical(learn_model(model, threads = 2)[same], learn_model(model)[same])
  }
})

test_that("a sparse process is learned alike on two threads, run after run", {
  set.seed(1)
  d <- data.frame(x = rnorm(3000), z = runif(3000))
  d$y <- d$x + rnorm(3000)
  bound <- function(threads) {
    control <- galvi_control(threads = threads, hyper_iterations = 1)
    suppressWarnings(galvi(y ~ gp(x, z, inducing = 40), d, control = control))$elbo
  }
  expect_length(unique(c(bound(1), replicate(4, bound(2)))), 1L)
})
