# Periodic processes of one input: as sines and cosines (src/prior/harmonics_term.h), in products as chains of states.

# Covariance of a centred process: f less its weighted mean within groups.
centred_covariance <- function(term, hyper) {
  K <- term_covariance(term, hyper)
  if (is.null(term$centre)) return(K)
  group <- if (is.null(term$group)) rep(1L, nrow(K)) else term$group
  weight <- term$centre$weight / stats::ave(term$centre$weight, group, FUN = sum)
  H <- diag(nrow(K)) - outer(group, group, "==") * rep(weight, each = nrow(K))
  H %*% K %*% t(H)
}

waves_model <- function(kind, n, likelihood = "binomial_logit", variance = exp(rnorm(1))) {
  prior <- random_waves_prior(kind, n, variance)
  new_model(rbinom(n, 1, 0.5), prior$terms, prior$hyper, likelihood)
}

test_that("waves are the dense process, in every verb", {
  for_seeds(1:16, function(seed) {
    n <- sample(c(2, 25), 1)
    model <- waves_model(turn(seed, c("waves", "waves beside")), n)
    expect_identical(solver_of(model), "projected")
    C <- Reduce(`+`, lapply(terms_of(model), centred_covariance, model$hyper$value))
    lambda <- rexp(n)
    b <- rnorm(n)
    x <- rnorm(n)
    # 1e-10 of the variance is left out
    expect_verbs(solve_by(model, lambda, b, x), dense_verbs(C, lambda, b, x), 1e-8)
  })
})

test_that("gradients of waves, by the period too, equal differences", {
  for_seeds(1:10, function(seed) {
    model <- waves_model(turn(seed, c("waves", "waves beside")), 25, variance = 1.3)
    got <- bound_at(model, model$hyper$value)
    used <- seq_along(model$hyper$value)
    if (!any(vapply(terms_of(model), function(term) identical(term$kernel$type, "sum"), NA))) used <- used[-4]
    # phases move fast with the period: short steps
    differences <- central_gradient(function(x) bound_at(model, exp(x))$elbo, log(model$hyper$value), h = 5e-4)
    expect_close((got$gradient * model$hyper$value)[used], differences[used], 1e-6)
    # beside a full process, through its covariance
    dense <- with_solver(model, "dense_kernel")
    expect_close(bound_at(dense, model$hyper$value)$gradient[used], got$gradient[used], 1e-6)
  })
})

test_that("as many harmonics are taken as are needed", {
  for (lengthscale in c(0.02, 0.1, 0.5, 1, 2, 30)) {
    z <- 1 / lengthscale^2
    count <- harmonics_for(lengthscale)
    # of high orders only that they are next to zero counts
    share <- function(j) suppressWarnings(besselI(z, j, expon.scaled = TRUE)) * ifelse(j == 0, 1, 2)
    left <- sum(share(count + 1:200))
    expect_lte(left, harmonics_left_out)
    expect_gt(left + share(count), harmonics_left_out)
  }
  expect_equal(harmonics_for(0.0099), harmonics_for(0.0101), tolerance = 0.05)
})

months <- function(n = 90, seed = 1) {
  set.seed(seed)
  d <- data.frame(t = sort(runif(n, 0, 40)), z = rnorm(n), g = factor(sample(c("a", "b"), n, TRUE)))
  f <- exp(sin(2 * pi * d$t / 7)) - 1.2
  d$y <- f + 0.3 * d$z + 0.2 * (d$g == "b") + rnorm(n, 0, 0.3)
  d$count <- rpois(n, exp(f + 0.3 * d$z))
  d$yes <- rbinom(n, 1, plogis(2 * f))
  d
}

# The model with full processes in place of waves and chains, more exact than these.
as_dense <- function(model) {
  model <- change_terms(model, function(term, t) {
    if (is.null(term$waves) && !is_full_term(term)) return(term)
    replace(with_term_harmonics(term, NULL), "type", "kernel")
  })
  model$predictors <- lapply(model$predictors, function(predictor) {
    replace(predictor, "solver", choose_solver(vapply(predictor$terms, `[[`, "", "type")))
  })
  model
}

# own: learned by waves or states; dense: learned by the covariance of all rows; held: that at own's hyperparameters.
fit_both <- function(formula, data, family, ..., as = identity) {
  # a dense kernel of as many rows as the data would have other states
  model <- galvi_model(galvi_design(formula, data, family), ..., control = galvi_control(uncertainty = "factorised"))
  fit <- function(model) suppressMessages(galvi_fit(model, galvi_infer(model, verbose = FALSE)))
  own <- fit(as(model))
  held <- as_dense(model)
  held$hyper$value <- own$posterior$hyper
  held$hyper$learned[] <- FALSE
  list(own = own, dense = fit(as_dense(model)), held = fit(held))
}

expect_same_fit <- function(fits, new) {
  # inference at these hyperparameters ends where 1e-5 nats are left
  expect_close(fits$own$elbo, fits$held$elbo, 1e-7)
  predicted <- lapply(fits, predict, new, type = "link", se.fit = TRUE)
  expect_close(predicted$own$fit, predicted$held$fit, 1e-5)
  expect_close(predicted$own$se.fit, predicted$held$se.fit, 1e-5)
  # the search ends where its slope is small: where the optimum is flat, hyperparameters differ
  expect_lt(abs(fits$own$elbo - fits$dense$elbo), 1e-3)
  expect_close(predicted$own$fit, predicted$dense$fit, 5e-3)
}

test_that("learned fits of waves are those of the dense kernel", {
  d <- months()
  new <- data.frame(t = c(-5, 3.3, 60), z = c(0, 1, 0), g = c("a", "b", "a"))
  cases <- list(
    list(y ~ z + gp(t, kernel = periodic(7)), "gaussian"),
    list(y ~ 0 + gp(t, kernel = periodic(learn(6.8))), "gaussian"),
    list(count ~ z + gp(t, kernel = periodic(7, lengthscale = log_normal(0, 1))), "poisson"),
    list(yes ~ gp(t, kernel = periodic(7, lengthscale = log_normal(0, 1))), "binomial"),
    list(y ~ gp(t, kernel = periodic(7) + cosine(20, fixed(0.1))), "gaussian"),
    list(y ~ g + gp(t, by = g, kernel = periodic(7)), "gaussian"),
    list(count ~ g + gp(t, by = g, kernel = periodic(7), by_hyper = "shared"), "poisson"),
    list(count ~ z + gp(t, by = z, kernel = periodic(7)), "poisson")
  )
  for (case in cases) {
    fits <- fit_both(case[[1]], d, case[[2]])
    expect_false(is_full(fits$own$model), label = deparse1(case[[1]]))
    expect_same_fit(fits, new)
  }
})

test_that("waves stand beside chains, inducing points and other inputs", {
  d <- months(60)
  solver <- function(formula) galvi(formula, d, hyper = "fixed", verbose = FALSE)$solver
  expect_identical(solver(y ~ gp(t, kernel = periodic(7))), "projected")
  expect_identical(solver(y ~ gp(t, kernel = periodic(7)) + gp(t, kernel = matern32())), "markov")
  expect_identical(solver(y ~ gp(t, kernel = periodic(7)) + gp(z, inducing = 5)), "projected")
  expect_identical(solver(y ~ gp(t, kernel = periodic(7)) + gp(z)), "dense_kernel")
  expect_identical(solver(y ~ gp(t, z, kernel = periodic(7))), "dense_kernel")
  two <- fit_both(y ~ z + gp(t, kernel = periodic(7)) + gp(t, kernel = matern32()), d, "gaussian", hyper = "fixed")
  one <- fit_both(y ~ z + gp(t, kernel = periodic(7)) + gp(t, kernel = matern32()), d, "gaussian", hyper = "fixed",
    as = function(model) with_full_terms(model))
  expect_close(two$own$elbo, two$dense$elbo, 1e-8)
  expect_close(one$own$elbo, two$dense$elbo, 1e-8)
})

test_that("harmonics become more where the learned lengthscale is short, and then a full process", {
  set.seed(4)
  n <- 250
  d <- data.frame(t = runif(n, 0, 50))
  d$y <- as.numeric((d$t %% 1) < 0.03) * 4 + rnorm(n, 0, 0.1)
  given <- y ~ 0 + gp(t, kernel = periodic(1, lengthscale = 1))
  fits <- fit_both(given, d, "gaussian")
  expect_gte(fits$own$elbo, fits$dense$elbo - 1e-4)
  first <- harmonics_of(prior_terms(galvi_model(galvi_design(given, d, "gaussian")))[[1]])
  expect_gt(harmonics_of(prior_terms(fits$own$model)[[1]]), first)
  # from a long lengthscale either search may end at a local optimum
  new <- data.frame(t = c(0.01, 0.5, 70))
  expect_close(fits$own$elbo, fits$held$elbo, 1e-7)
  expect_close(predict(fits$own, new), predict(fits$held, new), 1e-5)
  expect_identical(galvi(y ~ gp(t, kernel = periodic(1, 1, fixed(0.01))), d, verbose = FALSE)$solver, "dense_kernel")
})

test_that("periodic functions of a row source are those of its rows", {
  d <- months(200)
  fit <- galvi(y ~ gp(t, kernel = periodic(7, 1, fixed(1))), d, verbose = FALSE)
  source <- galvi(y ~ gp(t, kernel = periodic(7, 1, fixed(1))), row_source(d), verbose = FALSE)
  expect_close(source$elbo, fit$elbo, 1e-6)
})

# ---- products ----

as_chain <- function(model) {
  table <- model$hyper
  model <- change_terms(model, function(term, t) {
    if (!is_full_term(term)) return(term)
    count <- needed_harmonics(term_kernels(term), table$value, table$learned, room_to_learn$chain)
    replace(with_term_harmonics(term, count), "type", "chain")
  })
  model$predictors[[1]]$solver <- "markov"
  model
}

test_that("the quasi-periodic optimum is the reference value's", {
  d <- gold_data("markov_gaussian_quasiperiodic")
  model <- galvi_model(
    galvi_design(y ~ 0 + gp(t, kernel = matern32(1.2, 4) * periodic(1.5, 1, 1)), d,
      galvi_family("gaussian", variance = fixed(0.04))), hyper = "fixed"
  )
  for (model in list(model, as_chain(model))) {
    fit <- galvi_fit(model, galvi_infer(model, verbose = FALSE))
    expect_close(fit$elbo, -19.4338870414782, 1e-9)
    expect_close(fit$posterior$mean[, 1], d$mean, 1e-7)
    expect_close(fit$posterior$variance[, 1], d$var, 1e-7)
  }
  expect_identical(fit$solver, "markov")
})

test_that("states of products are blocks, and their steps have the right gradients", {
  matern <- kernel_spec_of("matern32", list(variance = 1L, lengthscale = 2L), 1L)
  series <- kernel_spec_of("periodic", list(variance = 5L, lengthscale = 3L, period = 4L), 1L, list(harmonics = 14))
  wiener <- kernel_spec_of("integrated_wiener", list(variance = 1L), 1L, list(origin = 0.3))
  product <- function(...) kernel_spec_of("product", list(), integer(), parts = list(...))
  sum <- kernel_spec_of("sum", list(), integer(), parts = list(series, matern))
  for (kernel in list(product(matern, series), product(series, matern), product(series, wiener),
    product(wiener, matern), sum)) {
    set.seed(1)
    n <- 20
    t <- round(rnorm(n), 1)
    model <- new_model(rbinom(n, 1, 0.5), list(replace(kernel_term(cbind(t), kernel), "type", "chain")),
      c(1.2, 0.9, 0.8, 1.7, 0.7))
    lambda <- rexp(n)
    b <- rnorm(n)
    expect_verbs(solve_by(model, lambda, b, b), verbs_of(model, lambda, b, b), 1e-8)
    expect_close(bound_at(model, model$hyper$value)$gradient * model$hyper$value, log_gradient(model), 1e-6)
  }
})

test_that("learned products are those of the dense kernel", {
  d <- months(60)
  new <- data.frame(t = c(-5, 3.3, 60), z = c(0, 1, 0))
  for (case in list(
    list(y ~ z + gp(t, kernel = matern32() * periodic(7)), "gaussian"),
    list(count ~ gp(t, kernel = periodic(7) * matern12()), "poisson"),
    list(y ~ gp(t, kernel = matern32() + periodic(7)), "gaussian")
  )) {
    fits <- fit_both(case[[1]], d, case[[2]], as = as_chain)
    expect_identical(fits$own$solver, "markov")
    expect_same_fit(fits, new)
  }
})

test_that("products are chains where there are many rows", {
  d <- data.frame(t = 1:6000 / 10)
  d$y <- sin(d$t)
  term <- function(n) {
    design <- galvi_design(y ~ 0 + gp(t, kernel = matern32() * periodic(7)), d[seq_len(n), ], "gaussian")
    prior_terms(galvi_model(design))[[1]]
  }
  expect_identical(term(6000)$type, "chain")
  expect_lte(state_dimension(term(6000)$kernel), 42)
  expect_identical(term(500)$type, "kernel")
  expect_identical(harmonics_of(term(500)), Inf)
})

test_that("a process that became full while learning is full in the fit", {
  set.seed(897420)
  d <- data.frame(x = rnorm(12), time = c(1, 2, 3, 3, 3, 3, 5, 7, 7, 10, 10, 11))
  d$y <- c(0.2, 1.4, 5, 0.1, 9, 0.3, 0.5, 4, 0.1, 2, 7, 0.4)
  model <- galvi_model(galvi_design(y ~ x + gp(time, kernel = periodic(7)), d, student()), hyper = "fixed")
  short <- model$hyper$value
  short[model$hyper$name == "gp(time).lengthscale"] <- 0.01
  full <- renewed_harmonics(model, short)
  expect_identical(full$predictors[[1L]]$solver, "dense_kernel")
  # what a fit keeps makes the same model again
  expect_identical(with_kept_harmonics(model, kept_harmonics(full))$predictors, full$predictors)
  expect_null(renewed_harmonics(full, short))
  posterior <- galvi_infer(full)
  posterior$harmonics <- kept_harmonics(full)
  fit <- galvi_fit(model, posterior)
  expect_close(predict(fit, d, type = "link"), fit$posterior$mean[, 1L], tol$fuzz_prediction)
  # a posterior of another model is an error, not a fault of memory
  fit$posterior["latent"] <- list(NULL)
  columns <- galvi(y ~ x, d, hyper = "fixed")
  columns$posterior["latent"] <- list(NULL)
  expect_error(predict(columns, d, type = "link"), "posterior is not one of this model")
})

test_that("check_fit() takes processes whose columns the core makes", {
  d <- data.frame(time = rep(1:10, 3), y = rep(c(1, 3, 0), 10))
  fit <- galvi(y ~ gp(time, kernel = periodic(7)), d, poisson(), hyper = "fixed")
  expect_identical(fit$solver, "projected")
  expect_lt(check_fit(fit)$k, 0.7)
})
