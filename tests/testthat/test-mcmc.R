# How far the Gaussian posterior is from the true one: long runs of an exact sampler on two small problems.

skip_on_cran()

mcmc_case <- function(name) {
  set.seed(20)
  n <- 30
  data <- data.frame(x = sort(runif(n, -3, 3)))
  if (name == "binary") {
    data$y <- rbinom(n, 1, plogis(2 * sin(1.5 * data$x)))
    list(data = data, family = binomial(), log_density = reference_log_density$binomial_logit, variance = 4)
  } else {
    data$y <- rpois(n, exp(0.5 + sin(1.5 * data$x)))
    list(data = data, family = poisson(), log_density = reference_log_density$poisson, variance = 1)
  }
}

# Everything is sampled in z, f = root z with root root' = K: there prior and posterior are well conditioned.
mcmc_run <- function(case, draws = 20000) {
  lengthscale <- 1
  variance <- case$variance
  fit <- galvi(y ~ 0 + gp(x, kernel = se(lengthscale = fixed(lengthscale), variance = fixed(variance))),
               data = case$data, family = case$family, hyper = "fixed", control = galvi_control(tol = 1e-9))
  K <- reference_se(case$data$x, lengthscale = lengthscale, variance = variance)
  n <- nrow(K)
  root <- t(chol(K + 1e-9 * variance * diag(n)))
  # m = K alpha and V = (K^-1 + diag(lambda))^-1, in z.
  mean <- drop(crossprod(root, fit$posterior$alpha))
  covariance <- solve(diag(n) + crossprod(root, drop(fit$posterior$lambda) * root))

  log_likelihood <- function(z) sum(case$log_density(case$data$y, drop(root %*% z)))
  prior <- function(z) log_dmvnorm(z, numeric(n), diag(n))
  chain <- elliptical_slice_sample(n, log_likelihood, draws, start = mean)

  # log Z from both sides: draws of a proposal a little wider than q, and draws of the posterior.
  wide <- 1.1^2 * covariance
  proposal <- matrix(rnorm(draws * n), draws) %*% chol(wide) + rep(mean, each = draws)
  weight <- apply(proposal, 1, log_likelihood) + prior(proposal) - log_dmvnorm(proposal, mean, wide)
  reciprocal <- log_dmvnorm(chain, mean, covariance) - apply(chain, 1, log_likelihood) - prior(chain)
  list(elbo = fit$elbo, mean = drop(fit$posterior$mean), sd = sqrt(drop(fit$posterior$variance)),
       chain = tcrossprod(chain, root),
       log_evidence = c(importance = log_mean_exp(weight), reciprocal = -log_mean_exp(reciprocal)))
}

for (name in c("binary", "counts")) {
  test_that(paste0("posterior and bound are close to the truth: ", name), {
    run <- mcmc_run(mcmc_case(name))
    # The two estimates of the evidence share nothing but q; where they agree both can be trusted.
    expect_lt(abs(diff(run$log_evidence)), 0.02)
    evidence <- mean(run$log_evidence)
    # A lower bound, up to the estimates' error. Its distance is KL[q, posterior]: 0.02 and 0.03 nats here.
    expect_lt(run$elbo, evidence + 0.01)
    expect_gt(run$elbo, evidence - 0.06)

    # In units of the posterior's standard deviation, of which the chain's mean is good to 0.03. The best
    # Gaussian's mean is not the posterior's, but off by a few hundredths; its variances, fitted from within,
    # are a little small.
    sd <- apply(run$chain, 2, sd)
    error <- (colMeans(run$chain) - run$mean) / sd
    noise <- batch_standard_error(run$chain) / sd
    expect_lt(max(abs(error) - 3 * noise), 0.05)
    ratio <- run$sd / sd
    expect_true(all(ratio > 0.9 & ratio < 1.06))
  })
}
