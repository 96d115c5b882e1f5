# Every method on random models: they meet, climb, and know how far they are.

test_that("all methods meet, climb, and certify what they reached", {
  for_seeds(1:60, function(seed) {
    model <- random_case(seed)
    methods <- applicable_methods(model)
    fits <- lapply(methods, function(method) fit_at(model, method, quiet_control(tol = 1e-8)))
    best <- max(vapply(fits, `[[`, 0, "elbo"))
    for (i in seq_along(fits)) {
      fit <- fits[[i]]
      gap <- fit$trace$gap
      if (methods[i] %in% sure_methods) expect_true(fit$converged, label = methods[i])
      if (fit$converged) expect_lte(best - fit$elbo, 1e-6, label = methods[i])
      expect_identical(fit$converged, fit$message == "", label = methods[i])
      expect_gte(min(0, diff(fit$trace$elbo)), -slack(best), label = methods[i])
      expect_gte(fit$elbo, max(fit$trace$elbo) - slack(best), label = methods[i])
      # a null space has no certificate, but for exact inference
      expect_identical(all(is.na(gap)), has_flat(model) && methods[i] != "exact", label = methods[i])
      expect_true(all(gap >= best - fit$trace$elbo - slack(best), na.rm = TRUE), label = methods[i])
    }
  })
})

test_that("methods other than the sure ones also converge where the prior is moderate", {
  for_seeds(101:124, function(seed) {
    kind <- turn(seed, c("gp", "columns", "flat"))
    likelihood <- turn(seed, c("binomial_logit", "poisson"))
    model <- random_model(kind, sample(30:40, 1), likelihood, exp(runif(1, -2, 1)))
    best <- fit_at(model)$elbo
    for (method in applicable_methods(model)) {
      fit <- fit_at(model, method, quiet_control(tol = 1e-7))
      expect_close(fit$elbo, best, 1e-4)
      expect_true(fit$converged, label = method)
    }
  })
})

test_that("the gaussian bound is the log evidence, by every method", {
  for_seeds(201:216, function(seed) {
    model <- random_case(seed, "gaussian")
    evidence <- gaussian_log_evidence(model)
    for (method in applicable_methods(model)) {
      fit <- fit_at(model, method)
      if (method %in% sure_methods) expect_true(fit$converged, label = method)
      if (fit$converged) expect_close(fit$elbo, evidence, 1e-8)
    }
  })
})

test_that("noise-free observations are interpolated", {
  for_seeds(221:224, function(seed) {
    n <- sample(2:8, 1)
    x <- sort(sample(20, n))
    f <- rnorm(n)
    model <- small_gp(x, f, "gaussian", 2)
    held <- list(noise = list(learned = FALSE))
    model$hyper <- hyper_table(c(variance = 2, lengthscale = 1, noise = 0), held)
    model$likelihood$hyper <- list(variance = 3L)
    refusals <- inference_refusals(model)
    expect_identical(names(refusals)[refusals == ""], "exact")
    expect_match(setdiff(refusals, ""), "use exact$")
    fit <- fit_at(model)
    expect_true(fit$converged)
    expect_equal(fit$jitter, 0)
    expect_close(fit$mean[, 1], f, 1e-8)
    expect_equal(fit$variance[, 1], numeric(n))
    expect_close(fit$elbo, log_dmvnorm(rbind(f), numeric(n), prior_covariance(model)), 1e-8)
    again <- fit_at(local({
      model$y <- c(f, f[1])
      model[c("size", "weights")] <- list(rep(1, n + 1))
      model$offset <- matrix(0, n + 1)
      model$designs[[1]][[1]]$inputs <- cbind(c(x, x[1]))
      model
    }))
    expect_gt(again$jitter, 0)
    expect_close(again$mean[, 1], c(f, f[1]), 1e-4)  # jitter acts as noise of its size
  })
})

test_that("the posterior is that of its sites, and the certificate is the formula's", {
  checked <- 0
  for_seeds(231:242, function(seed) {
    model <- random_model(turn(seed, c("gp", "sum", "columns")), sample(2:40, 1),
                          turn(seed, inexact_likelihoods), 10^runif(1, -2, 2))
    for (method in Filter(Negate(is_global_method(model)), applicable_methods(model))) {
      fit <- fit_at(model, method, quiet_control(tol = 1e-6))
      at <- fit_algebra(model, fit)
      expect_close(fit$mean[, 1], model$offset[, 1] + prior_mean_of(model) + at$C %*% fit$alpha[, 1], 1e-9)
      expect_close(fit$variance[, 1], diag(at$V), 1e-9)
      expect_close(fit$b[, 1], fit$alpha[, 1] + fit$lambda[, 1] * (at$C %*% fit$alpha[, 1]), 1e-9)
      expect_true(all(fit$lambda[model$weights > 0, 1] >= 0))
      gap <- reference_gap(model, fit)
      # the dual's gap may be the smaller one
      if (method == "dual") expect_lte(fit$gap, gap + 1e-9) else expect_close(fit$gap, gap, 1e-9)
      if (fit$converged) expect_lte(gap, 1e-6 + 1e-9)
      checked <<- checked + 1
    }
  })
  expect_some(checked, "methods with sites")
})

test_that("a posterior of a short latent vector is what its rows show, with its certificate", {
  checked <- 0
  for_seeds(231:242, function(seed) {
    model <- random_model("columns", sample(2:40, 1), turn(seed, inexact_likelihoods), 10^runif(1, -2, 2))
    for (method in Filter(is_global_method(model), applicable_methods(model))) {
      fit <- fit_at(model, method, quiet_control(tol = 1e-6))
      at <- latent_algebra(model, fit)
      expect_close(fit$mean[, 1], model$offset[, 1] + prior_mean_of(model) + at$W %*% at$m, 1e-9)
      expect_close(fit$variance[, 1], rowSums((at$W %*% at$S) * at$W), 1e-9)
      expect_close(fit$alpha[, 1], at$e$d_m, 1e-8)
      expect_close(fit$lambda[, 1], -2 * at$e$d_v, 1e-8)
      expect_close(fit$b[, 1], fit$alpha[, 1] + fit$lambda[, 1] * (at$W %*% at$m), 1e-8)
      expect_close(fit$gap, at$gap, 1e-8)
      if (fit$converged) expect_lte(at$gap, 1e-6 + 1e-9)
      checked <<- checked + 1
    }
  })
  expect_some(checked, "methods of sums")
})

test_that("tight optima satisfy alpha = dE/dm and lambda = -2 dE/dv", {
  for_seeds(251:258, function(seed) {
    likelihood <- turn(seed, inexact_likelihoods)
    model <- random_model("gp", sample(2:30, 1), likelihood, 1)
    fit <- fit_at(model, "newton", quiet_control(tol = 1e-13))
    at <- fit_algebra(model, fit)
    expect_close(fit$alpha[, 1], at$e$d_m, 1e-5)
    expect_close(fit$lambda[, 1], -2 * at$e$d_v, 1e-5)
  })
})

test_that("the bound is the textbook's", {
  for_seeds(261:266, function(seed) {
    likelihood <- turn(seed, inexact_likelihoods)
    model <- random_model(turn(seed, c("gp", "sum", "columns")), 4, likelihood, 10^runif(1, -1, 2))
    fit <- fit_at(model)
    expected <- sum(vapply(1:4, function(i) {
      density <- function(eta) reference_log_density[[likelihood]](model$y[i], eta, model$size[i])
      model$weights[i] * gaussian_expectation(density, fit$mean[i], fit$variance[i])
    }, 0))
    C <- prior_covariance(model)
    B <- diag(4) + C * rep(fit$lambda[, 1], each = 4)
    log_det <- as.numeric(determinant(B)$modulus)
    kl <- (sum(fit$alpha * (C %*% fit$alpha)) + log_det + sum(diag(solve(B))) - 4) / 2
    expect_close(fit$elbo, expected - kl, 1e-8)
  })
})

test_that("the bound is below the evidence, and not far", {
  for_seeds(271:282, function(seed) {
    likelihood <- turn(seed, inexact_likelihoods)
    model <- random_model(turn(seed, c("gp", "sum")), seed %% 2 + 1, likelihood, exp(runif(1, -2, 2)))
    evidence <- grid_log_evidence(model)
    fit <- fit_at(model)
    expect_lte(fit$elbo, evidence + 1e-9)
    expect_gte(fit$elbo, evidence - 0.3)
  })
})

test_that("a warm start at the optimum has nothing to do, and one elsewhere ends there too", {
  for_seeds(291:298, function(seed) {
    model <- random_model(turn(seed, c("gp", "columns")), 20, turn(seed, c("binomial_logit", "poisson")), 2)
    for (method in setdiff(applicable_methods(model), "exact")) {
      cold <- fit_at(model, method)
      warm <- fit_at(model, method, quiet_control(tol = 1e-8), start = cold[c("lambda", "b")])
      expect_close(warm$elbo, cold$elbo, 1e-8)
      expect_lte(nrow(warm$trace), 5, label = method)
      bad <- list(lambda = matrix(rexp(20)), b = matrix(rnorm(20, sd = 3)))
      again <- fit_at(model, method, start = bad)
      expect_true(again$converged, label = method)
      if (again$converged) expect_close(again$elbo, cold$elbo, 1e-7)
    }
  })
})

test_that("opper_archambeau from a cold start, in the raw coordinates, reaches the optimum", {
  for_seeds(301:308, function(seed) {
    likelihood <- turn(seed, c("binomial_logit", "poisson"))
    model <- random_model("gp", sample(2:15, 1), likelihood, 10^runif(1, -1, 1))
    best <- fit_at(model, "newton")
    raw <- fit_at(model, "opper_archambeau", quiet_control(tol = 1e-7, max_iterations = 3000, cold = TRUE))
    expect_lte(raw$elbo, best$elbo + 1e-8)
    expect_close(raw$elbo, best$elbo, 1e-6)
    expect_true(raw$converged)
  })
})

test_that("starts survive constant responses, separated classes and single rows", {
  x <- seq(-2, 2, length.out = 12)
  cases <- list(
    list("poisson", numeric(12)), list("poisson", c(1000, numeric(11))),
    list("poisson", round(1000 * exp(x))), list("poisson", 0), list("poisson", 1000),
    list("binomial_logit", as.numeric(x > 0)), list("binomial_probit", as.numeric(x > 0)),
    list("binomial_logit", rep(1, 12)), list("binomial_probit", numeric(12)), list("binomial_logit", 1),
    list("binomial_probit", 0)
  )
  for (variance in 10^(-2:4)) {
    for_seeds(seq_along(cases), function(seed) {
      for (model in start_models(x, cases[[seed]][[2]], cases[[seed]][[1]], variance)) {
        fit <- fit_at(model, control = quiet_control(tol = 1e-7))
        expect_true(all(is.finite(fit$mean), fit$variance > 0))
        # zero counts know no lower end of eta: beyond sd = 10 columns may want more iterations
        if (variance <= 100 || solver_of(model) == "dense_kernel") expect_true(fit$converged)
        expect_identical(fit$converged, fit$message == "")
        if (fit$converged) expect_lt(fit$gap, 1e-7)
      }
    })
  }
})

test_that("counts of 1e5 lose no digits of the bound", {
  x <- seq(-2, 2, length.out = 12)
  cases <- list(rep(1e5, 12), round(1e5 * exp(x)), 1e5)
  for (variance in 10^(-2:4)) {
    for_seeds(seq_along(cases), function(seed) {
      for (model in start_models(x, cases[[seed]], "poisson", variance)) {
        fit <- fit_at(model, control = quiet_control(tol = 1e-7))
        other <- fit_at(model, "natural_gradient", start = fit[c("lambda", "b")])
        expect_close(other$elbo, fit$elbo, 1e-7)
        certificate <- fit$gap - fit$rounding
        expect_lt(abs(reference_gap(model, fit) - certificate), 1e-7 + 0.5 * certificate)
      }
    })
  }
})

test_that("threads and backends find the same posterior", {
  for_seeds(321:324, function(seed) {
    model <- random_model(turn(seed, c("gp", "columns")), 40, "binomial_logit", 3)
    one <- fit_at(model)
    two <- fit_at(model, control = quiet_control(threads = 2))
    same <- c("mean", "variance", "alpha", "lambda", "elbo", "gap", "coefficients")
    expect_identical(two[same], one[same])
    expect_close(fit_at(model, control = quiet_control(backend = "blas"))$elbo, one$elbo, 1e-9)
  })
})

test_that("a smooth covariance of low rank gives what one of full rank gives, with fewer operations", {
  set.seed(1)
  data <- data.frame(x = seq(0, 1, length.out = 200))
  data$y <- sin(6 * data$x) + rt(200, 3) / 3
  data$count <- rpois(200, exp(data$y))
  se_kernel <- quote(se(variance = fixed(2), lengthscale = fixed(0.3)))
  fit <- function(response, family, kernel) {
    galvi(as.formula(bquote(.(as.name(response)) ~ 0 + gp(x, kernel = .(kernel)))), data, family, hyper = "fixed",
          control = galvi_control(tol = 1e-9))
  }
  # the extra variance moves the bound by half of it times the sum of the sites' precisions
  full_rank <- bquote(.(se_kernel) + white(variance = fixed(1e-10)))
  cases <- list(list("y", gaussian()), list("count", poisson()), list("y", student(scale = fixed(0.3))))
  for (case in cases) {
    low <- fit(case[[1]], case[[2]], se_kernel)
    full <- fit(case[[1]], case[[2]], full_rank)
    expect_identical(low$cost$factorisations, full$cost$factorisations)
    expect_lt(low$cost$flops, 0.8 * full$cost$flops)
    expect_lt(abs(low$elbo - full$elbo), 2e-7)
  }
  # and the last has negative sites
  expect_lt(min(low$posterior$lambda), 0)
  noise <- 0.4
  K <- 2 * exp(-outer(data$x, data$x, "-")^2 / (2 * 0.3^2))
  exact <- galvi(as.formula(bquote(y ~ 0 + gp(x, kernel = .(se_kernel)))), data, gaussian(), hyper = "fixed",
                 start = list(gaussian.variance = noise))
  C <- K + diag(noise, 200)
  evidence <- -0.5 * (sum(data$y * solve(C, data$y)) + determinant(C)$modulus[1] + 200 * log(2 * pi))
  expect_equal(exact$elbo, evidence, tolerance = 1e-10)
})
