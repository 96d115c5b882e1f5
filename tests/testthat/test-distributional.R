# Two linear predictors that are not classes: a gaussian response with a log sd of its own.

# ---- the likelihood and its expectation ----

test_that("the density, moments and distribution function given eta are those of the normal distribution", {
  grid <- expand.grid(y = c(-3, 0, 1.5), mean = c(-2, 0, 0.3), log_sd = c(-3, -0.4, 0, 2))
  at <- probe_conditional(likelihood_spec("gaussian_log_sd"), numeric(), grid$y, rep(1, nrow(grid)),
                          cbind(grid$mean, grid$log_sd))
  sd <- exp(grid$log_sd)
  expect_close(at$log_density, dnorm(grid$y, grid$mean, sd, log = TRUE))
  expect_close(at$mean, grid$mean)
  expect_close(at$variance, sd^2)
  expect_close(at$cdf, pnorm(grid$y, grid$mean, sd))
  # sds beyond the range of doubles
  far <- probe_conditional(likelihood_spec("gaussian_log_sd"), numeric(), c(2, 2), c(1, 1),
                           cbind(0, c(-500, 500)))
  expect_identical(far$log_density[1], -Inf)
  expect_close(far$log_density[2], -500 - log(2 * pi) / 2)
})

test_that("the expectation is the integral over both predictors, and its slopes those of the integral", {
  skip_if_not_installed("numDeriv")
  # the trapezium rule in two dimensions
  z <- seq(-12, 12, by = 0.1)
  weight <- 0.1 * dnorm(z)
  integral <- function(y, x) {
    log_p <- function(m, s) dnorm(y, m, exp(s), log = TRUE)
    drop(weight %*% outer(x[1] + sqrt(x[3]) * z, x[2] + sqrt(x[4]) * z, log_p) %*% weight)
  }
  for (y in c(-3, 0.4, 20)) {
    for (x in list(c(0.4, -0.3, 0.5, 0.2), c(-2, 1, 3, 1.5), c(0.4, 0, 0.01, 0.05))) {
      ours <- probe_expectation(
        likelihood_spec("gaussian_log_sd"), "auto", numeric(), y, 1, 1, x[1:2], x[3:4], 2, 1
      )
      expect_identical(ours$name, "closed_form")
      expect_close(ours$value, integral(y, x), tol$expectation)
      # second derivatives are checked against these in test-bounds.R
      expect_close(c(ours$d_m, ours$d_v), 
                   numDeriv::grad(integral, x, y = y, method.args = list(d = 0.01)),  # 1e-4 is rounding's
                   tol$derivative)
    }
  }
})

# ---- predictions ----

test_that("densities and tails are integrals over the log sd, moments have their formula", {
  cases <- list(
    list(c(0.3, -0.5), c(0.4, 0.3)), list(c(0.3, 1), c(0, 2)), list(c(-1, 0), c(2, 0)),
    list(c(0, -3), c(1e-4, 4)), list(c(5, 2), c(30, 0.01))
  )
  y <- c(-20, -1, 0.2, 3, 9)
  for (case in cases) {
    m <- case[[1]]
    v <- case[[2]]
    at <- function(what) predictive_two("gaussian_log_sd", what, y, m, v)
    mean_over <- function(f) {
      vapply(y, function(y) gaussian_expectation(function(s) f(y, sqrt(v[1] + exp(2 * s))), m[2], v[2]), 0)
    }
    density <- mean_over(function(y, sd) dnorm(y, m[1], sd))
    known <- density > 1e-20
    expect_close(at("log_density")[known], log(density[known]), tol$expectation)
    lower <- mean_over(function(y, sd) pnorm(y, m[1], sd))
    upper <- mean_over(function(y, sd) pnorm(y, m[1], sd, lower.tail = FALSE))
    expect_close(at("cdf"), lower, tol$expectation)
    expect_close(at("upper"), upper, tol$expectation)
    far <- pmin(lower, upper) > 1e-20
    expect_close(log(pmin(at("cdf"), at("upper")))[far], log(pmin(lower, upper))[far], tol$expectation)
    expect_close(at("mean"), m[1])
    expect_close(at("mean_variance"), v[1])
    expect_close(at("variance"), v[1] + exp(2 * m[2] + 2 * v[2]))
    p <- c(1e-10, 0.001, 0.3, 0.5, 0.975, 1 - 1e-10)
    q <- predictive_two("gaussian_log_sd", "quantile", 0, m, v, p)
    reached <- predictive_two("gaussian_log_sd", "cdf", q, m, v)
    expect_true(all(abs(reached - p) <= 1e-9 * p + 1e-15))
    expect_false(is.unsorted(q))
  }
})

test_that("far responses are found wherever the log sd that they ask for is", {
  # without variance of the mean: E exp(-s - y^2 exp(-2 s) / 2) over s, on a fine lattice
  lattice <- function(y, m, v) {
    s <- seq(-200, 200, by = 0.001)
    h <- dnorm(y, 0, exp(s), log = TRUE) + dnorm(s, m, sqrt(v), log = TRUE)
    max(h) + log(sum(exp(h - max(h))) * 0.001)
  }
  for (y in c(1e-6, 1, 1e8)) {
    for (v in c(0.01, 1, 30)) {
      ours <- predictive_two("gaussian_log_sd", "log_density", y, c(0, 0), c(0, v))
      expect_close(ours, lattice(y, 0, v), tol$expectation)
    }
  }
  # E exp(-eta_2), where a variance of the mean does not hide it
  expect_close(predictive_two("gaussian_log_sd", "log_density", 0, c(0, 0.3), c(0, 1e4)),
               dnorm(0, log = TRUE) - 0.3 + 5e3)
  expect_error(predictive_two("gaussian_log_sd", "quantile", 0, c(0, 0), c(1, 1), 1.2), "between 0 and 1")
  expect_identical(predictive_two("gaussian_log_sd", "mean", 1, c(0, NA), c(1, 1)), NA_real_)
  spec <- likelihood_spec("gaussian_log_sd")
  expect_error(predict_response(spec, numeric(), 1, 0, 1:3, 1:3, "mean", 0.5), "N x K")
})

# ---- reference values ----

gold_predictors <- function(name) {
  of <- function(file) {
    values <- read.csv(test_path("fixtures", file))
    values[values$model == name, ]
  }
  list(bound = of("predictors.csv"), hyper = of("predictors_hyper.csv"), eta = of("predictors_eta.csv"))
}

gold_data <- function(name) {
  switch(name,
    hetgauss_mcycle = {
      skip_if_not_installed("MASS")
      data.frame(x = MASS::mcycle$times, y = MASS::mcycle$accel)
    },
    hetgauss_toy1 = data.frame(x = 0, y = 3),
    hetgauss_toy2 = data.frame(x = c(0, 1), y = c(3, -2)),
    hetgauss_toy3 = data.frame(x = c(0, 1, 2.5), y = c(1, 2.5, -1)),
    hetgauss_two_optima1 = data.frame(x = 0, y = 100)
  )
}

gold_model <- function(name) {
  d <- gold_data(name)
  h <- with(gold_predictors(name)$hyper, stats::setNames(value, hyper))
  second <- process_prior(d$x, h[["sigma_var"]], h[["sigma_ls"]])
  if ("sigma_int_sd" %in% names(h)) {
    intercept <- columns_term(matrix(1, nrow(d)), 1L)
    second <- list(terms = c(list(intercept), lapply(second$terms, moved_term, 1)),
                   hyper = c(sd = h[["sigma_int_sd"]], second$hyper))
  }
  two_predictors(d$y, process_prior(d$x, h[["mu_var"]], h[["mu_ls"]]), second)
}

test_that("every method finds the reference optima", {
  for (name in read.csv(test_path("fixtures", "predictors.csv"))$model) {
    model <- gold_model(name)
    gold <- gold_predictors(name)
    eta <- subset(gold$eta, optimum == 1)
    methods <- applicable_methods(model)
    expect_true(all(c("newton", "fixed_point", "natural_gradient", "coordinate_ascent") %in% methods))
    for (method in methods) {
      fit <- fit_at(model, method, quiet_control(tol = 1e-12))
      expect_true(fit$converged, label = paste(name, method))
      expect_close(fit$elbo, gold$bound$elbo, 1e-9)
      at <- cbind(eta$row, eta$latent)
      expect_close(fit$mean[at], eta$mean, 1e-5)
      expect_close(fit$variance[at], eta$variance, 1e-5)
      expect_true(is.na(fit$gap))
      expect_true(all(fit$lambda >= 0))
      expect_gte(min(0, diff(fit$trace$elbo)), -slack(fit$elbo))
    }
  }
})

test_that("the gradient in all hyperparameters is the reference's", {
  for (name in c("hetgauss_toy2", "hetgauss_toy3", "hetgauss_two_optima1", "hetgauss_mcycle")) {
    model <- gold_model(name)
    expect_close(bound_at(model, model$hyper$value)$gradient, gold_predictors(name)$hyper$gradient, 1e-6)
  }
})

test_that("of two optima the better is reported, and the other named", {
  model <- gold_model("hetgauss_two_optima1")
  gold <- gold_predictors("hetgauss_two_optima1")
  for (method in applicable_methods(model)) {
    expect_match(fit_at(model, method)$message, "several optima.* 2 starts ended at -15[.]170, -16[.]948")
  }
  # the other one, where the mean takes the response for signal: lambda = 1 / v - 1 / C, b = m / v
  eta <- subset(gold$eta, optimum == 2)
  sites <- list(lambda = rbind(1 / eta$variance - 1 / c(400, 1)), b = rbind(eta$mean / eta$variance))
  other <- bound_at(model, model$hyper$value, sites)
  expect_close(other$elbo, gold$bound$second_optimum, 1e-9)
  expect_lt(other$norm, 1e-4)
})

# ---- solvers ----

# Two predictors of the same rows, by the solvers that they have.
solver_pairs <- function(n) {
  d <- varying_noise(n)
  columns <- function(degree, sd) columns_prior(outer(d$x / 3 - 1, 0:degree, `^`), sd)
  field <- random_field("rw1", n, size = 8L, all = TRUE)
  field <- list(terms = list(field$term), hyper = field$hyper)
  models <- list(
    `dense_kernel projected` = two_predictors(d$y, process_prior(d$x, 1.5, 1), columns(1, 1)),
    `dense_kernel dense_kernel` = two_predictors(d$y, process_prior(d$x, 1.5, 1), process_prior(d$x, 0.5, 3)),
    `projected projected` = two_predictors(d$y, columns(4, 2), columns(1, 1)),
    `projected dense_kernel` = two_predictors(d$y, columns(3, 2), process_prior(d$x, 0.5, 2)),
    `sparse projected` = two_predictors(d$y, field, columns(1, 1)),
    `projected sparse` = two_predictors(d$y, columns(3, 1), field)
  )
  lapply(models, function(model) {
    model$offset <- matrix(rnorm(2 * n, sd = 0.2), n)
    model$weights <- sample(c(0.5, 1, 2), n, replace = TRUE)
    model
  })
}

solvers_of <- function(model) paste(vapply(model$predictors, `[[`, "", "solver"), collapse = " ")

test_that("whatever solvers two predictors have, all methods that accept the model find one optimum", {
  for_seeds(1:3, function(seed) {
    models <- solver_pairs(sample(15:40, 1))
    for (name in names(models)) {
      model <- models[[name]]
      expect_identical(solvers_of(model), name)
      methods <- applicable_methods(model)
      expect_true(all(c("fixed_point", "natural_gradient", "newton") %in% methods))
      expect_identical("coordinate_ascent" %in% methods, !grepl("sparse", name))
      fits <- lapply(methods, function(method) fit_at(model, method))
      best <- max(vapply(fits, `[[`, 0, "elbo"))
      for (i in seq_along(fits)) {
        expect_true(fits[[i]]$converged, label = paste(name, methods[i]))
        expect_lte(best - fits[[i]]$elbo, 1e-6 * (1 + abs(best)), label = paste(name, methods[i]))
      }
      best_method <- if (name == "dense_kernel dense_kernel") "newton" else "fixed_point"
      expect_identical(fit_at(model)$method, best_method)
    }
  })
})

test_that("the gradient in all hyperparameters of both predictors is that of the re-optimised bound", {
  for_seeds(11:12, function(seed) {
    for (model in solver_pairs(15)) {
      h <- model$hyper$value
      expect_close(bound_at(model, h)$gradient * h, log_gradient(model), tol$gradient)
    }
  })
})

test_that("flat priors of one predictor or of both are served", {
  set.seed(13)
  d <- varying_noise(40)
  X <- cbind(1, d$x)
  for (sd in list(c(Inf, Inf), c(Inf, 1), c(2, Inf))) {
    model <- two_predictors(d$y, columns_prior(X, sd[1]), columns_prior(X, sd[2]))
    fits <- lapply(applicable_methods(model), function(method) fit_at(model, method))
    expect_gte(length(fits), 2)
    for (fit in fits) {
      expect_true(fit$converged)
      expect_close(fit$elbo, fits[[1]]$elbo, tol$elbo)
    }
  }
})

test_that("new rows are predicted by each predictor's own solver", {
  for_seeds(21:22, function(seed) {
    for (model in solver_pairs(20)) {
      fit <- fit_at(model, control = modifyList(quiet_control(), list(keep_factor = seed == 21)))
      ours <- predict_latent(model, fit, model$designs, list(terms = TRUE))
      expect_close(ours$mean, fit$mean - model$offset, tol$solve)
      expect_close(ours$variance, fit$variance, tol$solve)
      expect_close(apply(ours$terms$mean, c(1, 3), sum), ours$mean, tol$solve)
      labels <- vapply(fit$coefficients, `[[`, "", "label")
      latents <- vapply(fit$coefficients, `[[`, 1L, "latents")
      with_columns <- which(vapply(model$predictors, function(p) p$terms[[1]]$type == "columns", NA))
      expect_identical(latents[labels == "fixed"], with_columns)
      for (block in fit$coefficients[labels == "fixed"]) {
        k <- block$latents
        W <- model$designs[[k]][[1]]$W
        expect_close(W %*% block$mean, ours$mean[, k], tol$solve)
        expect_close(rowSums((W %*% block$covariance[[1]]) * W), ours$variance[, k], tol$solve)
      }
    }
  })
})

# ---- what it must agree with ----

test_that("with a known log sd it is the gaussian model, with a known mean that of stochastic volatility", {
  for_seeds(31:33, function(seed) {
    d <- varying_noise(20)
    known <- columns_prior(matrix(1, 20), 1e-7)
    log_sd <- known
    log_sd$terms[[1]]$mean <- log(0.4)
    model <- two_predictors(d$y, process_prior(d$x, 1.5, 1), log_sd)
    model$weights <- sample(c(0, 1, 2), 20, replace = TRUE)
    plain <- small_gp(d$x, d$y, "gaussian", 1.5)
    plain$hyper <- hyper_table(c(variance = 1.5, lengthscale = 1, noise = 0.16))
    plain$likelihood$hyper <- list(variance = 3L)
    plain$weights <- model$weights
    expect_close(fit_at(model)$elbo, gaussian_log_evidence(plain), tol$expectation)
    # y ~ N(0, exp(2 eta_2)), with 2 eta_2 as the log variance
    volatile <- small_gp(d$x, d$y, "stochastic_volatility", 4 * 0.7, 2)
    model <- two_predictors(d$y, known, process_prior(d$x, 0.7, 2))
    expect_close(fit_at(model)$elbo, fit_at(volatile)$elbo, tol$elbo)
  })
})

test_that("a row of weight two is two rows, one of weight zero none", {
  set.seed(41)
  d <- varying_noise(15)
  weights <- rep_len(0:2, 15)
  at <- rep(seq_len(15), weights)
  model_of <- function(rows, ...) {
    X <- cbind(1, d$x[rows])
    two_predictors(d$y[rows], columns_prior(X, 3), columns_prior(X, 0.5), ...)
  }
  weighted <- fit_at(model_of(seq_len(15), weights = weights))
  repeated <- fit_at(model_of(at))
  expect_close(weighted$elbo, repeated$elbo, tol$elbo)
  expect_close(weighted$mean[at, ], repeated$mean, tol$optimum)
})

test_that("hyperparameters of both predictors are learned", {
  set.seed(42)
  d <- varying_noise(80)
  model <- two_predictors(d$y, process_prior(d$x, 1, 1), process_prior(d$x, 1, 4))
  fit <- learn_model(model)
  expect_true(fit$converged)
  expect_gt(fit$elbo, fit_at(model)$elbo)
  model$hyper$value <- fit$hyper
  expect_lt(max(abs(log_gradient(model))), 1e-2)
  # the noise rises with x as it was made to
  expect_gt(fit$mean[80, 2] - fit$mean[1, 2], 1)
})

test_that("responses of any scale, constant ones and wide priors have an optimum or say what is wrong", {
  set.seed(43)
  x <- as.numeric(1:20)
  y <- rnorm(20)
  fit_two <- function(y, first = 1, second = 1, offset = 0) {
    x <- x[seq_along(y)]
    model <- two_predictors(y, process_prior(x, first, 2), process_prior(x, second, 2))
    model$offset[, 2] <- offset
    fit_at(model, control = quiet_control(tol = 1e-7))
  }
  fits <- list(
    fit_two(1e6 * y, 1e12), fit_two(1e-6 * y, 1e-12), fit_two(rep(3, 20)), fit_two(numeric(20)),
    fit_two(0), fit_two(5), fit_two(c(1e8, -3)), fit_two(y, 1, 1e4), fit_two(y, 1, 1, -20)
  )
  for (fit in fits) {
    expect_true(is.finite(fit$elbo))
    expect_true(fit$converged)
  }
  # without noise to speak of, a bound beyond all measure: it must say so
  hopeless <- fit_two(y, 1, 0.01, -300)
  expect_false(hopeless$converged)
  expect_match(hopeless$message, "stopped")
  # the scale of the response is that of the mean's sd and of the noise
  one <- two_predictors(y, process_prior(x, 2, 2), process_prior(x, 1, 2))
  other <- two_predictors(1e3 * y, process_prior(x, 2e6, 2), process_prior(x, 1, 2))
  other$offset[, 2] <- log(1e3)
  expect_close(fit_at(other)$elbo, fit_at(one)$elbo - 20 * log(1e3), tol$elbo)
})

test_that("what cannot serve two predictors says so in a sentence", {
  reasons <- inference_refusals(gold_model("hetgauss_toy2"))
  expect_match(reasons[["exact"]], "gaussian likelihood and normal priors only")
  expect_match(reasons[["dual"]], "not jointly concave")
  expect_match(reasons[["laplace"]], "one latent value per observation; use \"auto\"")
  expect_match(reasons[["ep"]], "one latent value")
  expect_match(reasons[["mean_field"]], "probit")
  facts <- subset(likelihood_facts(), type == "gaussian_log_sd")
  expect_identical(facts$latents, 2L)
  expect_false(facts$log_concave || facts$separable || facts$conjugate)
})
