# Inference with every likelihood and every expectation that serves it.

skip_on_cran()

test_that("every registered likelihood has a case", {
  expect_setequal(names(likelihood_cases), likelihood_facts()$type)
})

one_optimum_of <- function(fit) !all(is.na(fit$trace$gap))

# Rows of these take milliseconds to seconds: two methods, of sites and of sums, stand for all, and the gradient, which is
# that of the expectation (test-expectation.R), is not compared with fits.
long_rows <- c(
  "gamma_softplus_log_shape", "negbinomial_softplus_log_size", "exgaussian_log_sigma_log_beta",
  "skew_normal_log_sigma_alpha", "cumulative_probit_log_disc", "sequential_probit_log_disc",
  "adjacent_category_log_disc", "zero_inflated_negbinomial_log_size", "zero_inflated_nbinom1_log_phi"
)
# Three linear predictors of these are fitted in test-skewed.R.
fitted_elsewhere <- c("exgaussian_log_sigma_log_beta", "skew_normal_log_sigma_alpha")

test_that("where a bound has one optimum all methods meet there; elsewhere they stop where the bound is flat", {
  seed <- 0
  for (type in setdiff(names(likelihood_cases), fitted_elsewhere)) {
    for (expectation in setdiff(served_expectations(type), "taylor")) {
      nested <- type %in% names(predictor_densities) && type != "gaussian_log_sd"
      for (kind in if (nested) "columns" else c("gp", "sum", "columns")) {
        seed <- seed + 1
        for_seeds(seed, function(seed) {
          n <- if (nested) 8 else 20  # a mean over a plane takes its time
          weights <- if (seed %% 2) sample(c(0, 0.5, 1, 2), n, TRUE)
          model <- likelihood_model(type, kind, n, expectation = expectation, weights = weights)
          methods <- applicable_methods(model)
          if (type %in% long_rows) methods <- intersect(methods, c("newton", "natural_gradient"))
          fits <- lapply(methods, function(method) fit_at(model, method, quiet_control(tol = 1e-8)))
          best <- max(vapply(fits, `[[`, 0, "elbo"))
          for (i in seq_along(fits)) {
            fit <- fits[[i]]
            label <- paste(type, expectation, kind, methods[i])
            # steps across a narrow valley may end where they gain no more than rounding
            flat <- best - fit$elbo < 1e-6
            # undamped steps of both predictors may cycle, and then say that they have not converged
            cycles <- methods[i] == "fixed_point_batch" && grepl("stopped", fit$message)
            there <- fit$converged || (!one_optimum_of(fit) && (flat || cycles))
            expect_true(there, label = label)
            if (one_optimum_of(fit)) {
              expect_lte(best - fit$elbo, 1e-6, label = label)
              expect_identical(fit$message, "", label = label)
              expect_gte(min(0, diff(fit$trace$elbo)), -slack(best), label = label)
              if (methods[i] != "exact") expect_true(all(fit$lambda >= -1e-12), label = label)
            }
          }
        })
      }
    }
  }
})

test_that("a bound's optimum lies below the exact one's", {
  checked <- 0
  for (type in names(likelihood_cases)) {
    expectations <- setdiff(served_expectations(type), "taylor")
    if (length(expectations) < 2) next  # the exact one is all that there is
    for_seeds(1:2, function(seed) {
      model <- likelihood_model(type, "gp", 25)
      exact <- fit_at(model)$elbo
      for (expectation in expectations) {
        model$expectation <- expectation
        expect_lte(fit_at(model)$elbo, exact + 1e-7, label = paste(type, expectation))
        checked <<- checked + 1
      }
    })
  }
  expect_some(checked, "bounds")
})

# Unconstrained scale: log, but for thresholds and the power of tweedie(). The bound re-optimised at every point.
numeric_gradient <- function(model, method = "auto") {
  h <- model$hyper
  forward <- function(value) {
    x <- value
    x[h$transform == "log"] <- log(value[h$transform == "log"])
    power <- h$transform == "one_to_two"
    x[power] <- qlogis(value[power] - 1)
    above <- which(h$transform == "above")
    x[above] <- log(value[above] - value[above - 1])
    x
  }
  backward <- function(x) {
    value <- x
    value[h$transform == "log"] <- exp(x[h$transform == "log"])
    power <- h$transform == "one_to_two"
    value[power] <- 1 + plogis(x[power])
    for (j in which(h$transform == "above")) value[j] <- value[j - 1] + exp(x[j])
    value
  }
  central_gradient(function(x) bound_at(model, backward(x), method = method)$elbo, forward(h$value))
}

test_that("the gradient in all hyperparameters, the likelihood's too, is that of the re-optimised bound", {
  seed <- 100
  for (type in setdiff(names(likelihood_cases), long_rows)) {
    for (expectation in served_expectations(type)) {
      seed <- seed + 1
      for_seeds(seed, function(seed) {
        kind <- turn(seed, c("gp", "columns", "sum"))
        model <- likelihood_model(type, kind, 15, 1, expectation, weights = sample(c(0.5, 1, 2), 15, TRUE))
        got <- bound_at(model, model$hyper$value)$unconstrained_gradient
        # values are good to about 1e-12, taylor's parameters to their differences of order four
        expect_close(got, numeric_gradient(model), if (expectation == "taylor") 1e-4 else 1e-5)
      })
    }
  }
})

test_that("taylor ends in the mode, and its bound is Laplace's approximation of the evidence", {
  for (type in c("binomial_logit", "poisson", "gamma")) {
    for_seeds(1:3, function(seed) {
      model <- likelihood_model(type, "gp", 8, expectation = "taylor")
      fit <- fit_at(model, "fixed_point", quiet_control(tol = 1e-14))
      C <- prior_covariance(model)
      at <- function(f) {
        eta <- model$offset[, 1] + prior_mean_of(model) + f
        probe_likelihood(model$likelihood, model$hyper$value, model$y, model$size, eta)
      }
      l <- at(C %*% fit$alpha)
      expect_close(fit$alpha[, 1], l[, 3], 1e-6)
      expect_close(fit$lambda[, 1], -l[, 4], 1e-6)
      W <- -l[, 4]
      evidence <- sum(l[, 1]) - sum(fit$alpha * (C %*% fit$alpha)) / 2 -
        as.numeric(determinant(diag(8) + C * rep(W, each = 8))$modulus) / 2
      expect_close(fit$elbo, evidence, 1e-8)
    })
  }
  model <- likelihood_model("poisson", "gp", 8, expectation = "taylor")
  expect_identical(applicable_methods(model), c("fixed_point", "laplace"))
})

test_that("a fit with several optima reports the best and says so", {
  set.seed(6)
  x <- rnorm(40)
  y <- c(rnorm(20, -5, 0.1), rnorm(20, 5, 0.1))
  kernel <- kernel_spec_of("se", list(variance = 1L, lengthscale = 2L))
  hyper <- c(variance = 25, lengthscale = 0.5, df = 1, scale = 0.3)
  model <- new_model(y, list(kernel_term(cbind(x), kernel)), hyper, "poisson")
  model$likelihood <- list(type = "student", hyper = list(df = 3L, scale = 4L), constants = list())
  fit <- fit_at(model, "fixed_point")
  expect_true(fit$converged)
  expect_match(fit$message, "several optima.* from 3 starts ended at")
  bounds <- as.numeric(regmatches(fit$message, gregexpr("-[0-9]+[.][0-9]{3}", fit$message))[[1]])
  expect_close(fit$elbo, max(bounds), 1e-3)
  expect_gt(diff(range(bounds)), 1e-3)
  expect_true(is.na(fit$gap))
})

test_that("a row that says nothing of a latent has a site of zeros", {
  for_seeds(1:4, function(seed) {
    model <- likelihood_model("stick_breaking", turn(seed, c("gp", "columns")), 20)
    model$weights[1:2] <- 0
    # opper_archambeau keeps lambda positive
    for (method in setdiff(applicable_methods(model), "opper_archambeau")) {
      fit <- fit_at(model, method)
      decided <- model$y == 0
      expect_identical(unique(c(fit$lambda[decided, 2], fit$alpha[decided, 2])), 0, label = method)
      expect_identical(unique(c(fit$lambda[1:2, ], fit$alpha[1:2, ])), 0, label = method)
    }
  })
})
