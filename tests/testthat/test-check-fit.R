# How good the Gaussian is, against quadrature, long chains and closed forms.

few_rows <- function(formula, family, data, ...) {
  galvi(formula, data, family, hyper = "fixed", control = galvi_control(tol = 1e-10, threads = 1), ...)
}

test_that("the evidence is that of quadrature for one and two rows", {
  skip_if_not_installed("loo")
  set.seed(1)
  d <- data.frame(x = c(0, 0.7), y = c(3, 0), b = c(1, 0), w = c(2, 1))
  fits <- list(
    few_rows(b ~ 0 + gp(x, kernel = se(9, 1)), binomial(), d[1, ]),
    few_rows(y ~ 0 + gp(x, kernel = se(2, 1)), poisson(), d[1, ]),
    few_rows(b ~ 0 + gp(x, kernel = se(25, 1)), binomial("probit"), d),
    few_rows(y ~ 0 + gp(x, kernel = se(2, 1)) + offset(x), poisson(), d, weights = w),
    few_rows(b ~ x, binomial(), d, prior = normal(0, 3))
  )
  for (fit in fits) {
    found <- check_fit(fit, 20000)
    wanted <- grid_log_evidence(fit$model)
    expect_lt(abs(found$log_evidence - wanted), 4 * found$se + 1e-3)
    expect_lt(found$se, 0.02)
    # bounds from below, by the divergence
    expect_close(found$elbo, fit$elbo, 1e-8)
    expect_lt(found$elbo, wanted)
    expect_close(found$divergence, found$log_evidence - fit$elbo, 1e-8)
  }
})

test_that("several latents: the evidence is the prior's mean of the likelihood", {
  skip_if_not_installed("loo")
  set.seed(2)
  d <- data.frame(x = c(0, 1, 2.5), y = factor(c("u", "v", "w")))
  for (family in list(categorical(), categorical("v"), stick_breaking())) {
    fit <- few_rows(y ~ 0 + gp(x, kernel = se(2, 1)), family, d)
    K <- ncol(fit$posterior$mean)
    root <- t(chol(reference_se(d$x, variance = 2)))
    draws <- 40000
    eta <- lapply(seq_len(K), function(k) root %*% matrix(rnorm(3 * draws), 3))
    p <- vapply(1:3, function(n) {
      e <- vapply(eta, function(f) f[n, ], numeric(draws))
      at <- match(as.character(d$y[n]), fit$design$response$latents)
      if (family$family == "categorical") {
        top <- if (is.na(at)) 1 else exp(e[, at])
        return(top / (rowSums(exp(e)) + (K == 2)))
      }
      switch(n, plogis(e[, 1]), plogis(-e[, 1]) * plogis(e[, 2]), plogis(-e[, 1]) * plogis(-e[, 2]))
    }, numeric(draws))
    p <- apply(p, 1, prod)
    wanted <- log(mean(p))
    found <- check_fit(fit, 5000)
    expect_lt(abs(found$log_evidence - wanted), 4 * found$se + 4 * sd(p) / mean(p) / sqrt(draws))
    expect_identical(nrow(found$latent), 3L * K)
    expect_identical(unique(found$latent$latent), fit$design$response$latents)
    expect_true(all(is.na(found$latent$own_mean)))
  }
})

test_that("corrected means and sds are those of a long chain", {
  skip_if_not_installed("loo")
  set.seed(4)
  d <- data.frame(x = seq(-2, 2, length.out = 8), y = c(0, 0, 1, 0, 1, 1, 1, 1))
  fit <- few_rows(y ~ 0 + gp(x, kernel = se(64, 0.8)), binomial(), d)
  found <- check_fit(fit, 80000)
  root <- t(chol(reference_se(d$x, lengthscale = 0.8, variance = 64) + 1e-8 * diag(8)))
  chain <- elliptical_slice_sample(8, function(z) {
    sum(reference_log_density$binomial_logit(d$y, drop(root %*% z)))
  }, 20000)
  chain <- tcrossprod(chain, root)
  sd <- apply(chain, 2, sd)
  noise <- sqrt(batch_standard_error(chain)^2 + found$latent$noise^2)
  expect_lt(max(abs(found$latent$corrected_mean - colMeans(chain)) / noise), 4)
  # the chain's sds are good to a few per cent; the fit's are up to 11% too small
  expect_lt(max(abs(found$latent$corrected_sd / sd - 1)), 0.06)
  expect_lt(min(found$latent$sd / sd), 0.93)
  # most of which shows in one dimension
  expect_lt(max(abs(found$latent$own_sd / sd - 1)), max(abs(found$latent$sd / sd - 1)))
  expect_close(found$divergence, 0.2, 0.05)
})

test_that("draws have the mean and the covariance of q, whichever way it is kept", {
  set.seed(8)
  count <- 20000
  for (fit in list(small_fit("binary"), small_fit("counts"), without_points(small_fit("flat")))) {
    moved <- moved_draws(fit, count)
    V <- joint_covariance(fit, training_target(fit))
    # standard errors of the moments of draws; five of them for the largest of up to some thousand entries
    error <- sqrt((outer(diag(V), diag(V)) + V^2) / count)
    expect_lt(max(abs(tcrossprod(moved) / count - V) / error), 5)
    expect_lt(max(abs(rowMeans(moved)) / sqrt(diag(V) / count)), 5)
  }
})

test_that("no matrix of rows x rows is made for groups", {
  skip_if_not_installed("loo")
  set.seed(2)
  n <- 15000
  g <- factor(sample(20, n, TRUE))
  x <- rnorm(n)
  d <- data.frame(x, g, y = rpois(n, exp(0.5 * x + rnorm(20, sd = 0.3)[g])))
  fit <- galvi(y ~ x + (1 | g), d, poisson(), hyper = "fixed")
  before <- sum(gc(reset = TRUE)[, 2L])
  found <- check_fit(fit, 100)
  # MB; one such matrix has 1,800, all vectors of the draws some hundred, and R may keep what is no longer used
  expect_lt(sum(gc()[, 6L]) - before, 1200)
  expect_lt(found$k, 0.7)
  expect_close(found$log_evidence, fit$elbo, 0.5)
})

test_that("moments with the row's own likelihood are those of its cavity times the likelihood", {
  fit <- small_fit("binary")
  q <- lapply(fit$posterior[c("mean", "variance", "alpha", "lambda")], function(x) x[5, 1])
  cavity_variance <- q$variance / (1 - q$lambda * q$variance)
  cavity_mean <- q$mean - q$alpha * cavity_variance
  moment <- function(power) {
    gaussian_expectation(function(eta) {
      eta^power * exp(reference_log_density$binomial_logit(fit$model$y[5], eta))
    }, cavity_mean, cavity_variance)
  }
  mean <- moment(1) / moment(0)
  own <- own_moments(fit)[5, ]
  expect_close(own$own_mean, mean, 1e-8)
  expect_close(own$own_sd, sqrt(moment(2) / moment(0) - mean^2), 1e-8)
})

test_that("an exact posterior has nothing to correct", {
  skip_if_not_installed("loo")
  found <- check_fit(small_fit("gaussian"))
  expect_identical(found$k, -Inf)
  expect_identical(found$divergence, 0)
  expect_output(print(found), "the fit is\\s+exact")
  # nor has another method's, but by weights that are equal
  fit <- galvi(dist ~ gp(speed), cars, hyper = "fixed", method = "newton")
  found <- check_fit(fit, 200)
  expect_identical(found$k, -Inf)
  expect_close(found$log_evidence, galvi(dist ~ gp(speed), cars, hyper = "fixed")$elbo, 1e-6)
  expect_close(found$latent$corrected_mean, found$latent$mean, 1e-6)
})

test_that("it asks q at the estimates where standard deviations average over hyperparameters", {
  skip_if_not_installed("loo")
  set.seed(1)
  d <- data.frame(x = rnorm(200))
  d$y <- rpois(200, exp(2 + sin(2 * d$x)))
  fit <- galvi(y ~ s(x), d, poisson())
  expect_gt(length(fit$states), 1L)
  expect_close(check_fit(fit, 100)$elbo, fit$elbo, 1e-6)
})

test_that("a bound on the expectation shows in the divergence, not in the evidence", {
  skip_if_not_installed("loo")
  set.seed(5)
  exact <- check_fit(galvi(am ~ wt, mtcars, binomial(), hyper = "fixed"), 5000)
  fit <- galvi(am ~ wt, mtcars, binomial(), hyper = "fixed", expectation = "jaakkola")
  bound <- check_fit(fit, 5000)
  expect_lt(abs(exact$log_evidence - bound$log_evidence), 4 * (exact$se + bound$se))
  expect_gt(bound$divergence, exact$divergence)
  # the bound of q with exact expectations is above jaakkola's
  expect_gt(bound$elbo, fit$elbo)
})

test_that("rows of weight 0 say nothing", {
  skip_if_not_installed("loo")
  d <- transform(InsectSprays, w = rep(c(1, 0), 36))
  with <- galvi(count ~ spray, d, poisson(), hyper = "fixed", weights = w)
  without <- galvi(count ~ spray, d[d$w == 1, ], poisson(), hyper = "fixed", prior = with$prior)
  set.seed(6)
  a <- check_fit(with)
  set.seed(6)
  b <- check_fit(without)
  expect_close(a$elbo, b$elbo, 1e-6)
  expect_lt(abs(a$log_evidence - b$log_evidence), 4 * (a$se + b$se))
})

test_that("words follow k", {
  latent <- data.frame(
    row = "1", latent = NA, mean = 0, sd = 1, corrected_mean = 0.1, corrected_sd = 1, noise = 0.01,
    own_mean = 0, own_sd = 1
  )
  words <- function(k, ess = 500, dimension = 100) {
    found <- list(k = k, threshold = 0.667, draws = 1000, ess = ess, dimension = dimension, latent = latent)
    paste(check_words(found), collapse = " ")
  }
  expect_match(words(0.3), "are reliable.*up to 0.1 posterior sd")
  expect_match(words(0.6), "usable")
  expect_match(words(0.8), "are rough.*100 latent values jointly")
  expect_match(words(0.8, dimension = 2), "more draws")
  expect_match(words(0.8, ess = 990), "hardly differ")
  expect_match(words(1.2), "not reliable")
  expect_no_match(words(1.2), "correction")
})

test_that("it prints, and refuses in words", {
  skip_if_not_installed("loo")
  set.seed(7)
  found <- check_fit(small_fit("binary"), 500)
  expect_identical(c(found$dimension, check_fit(small_fit("counts"), 100)$dimension), c(32L, 6L))
  expect_output(print(found), "Pareto k: .* from\\s+500 draws.*Log evidence.*bound:")
  expect_error(check_fit(3), "must be a fit of galvi", class = "galvi_error_argument")
  expect_error(check_fit(small_fit("binary"), 10), "draws", class = "galvi_error_argument")
})
