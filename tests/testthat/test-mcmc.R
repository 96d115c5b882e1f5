# How far the Gaussian posterior is from the true one: long runs of an exact sampler on two small problems.

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

mcmc_run <- function(case, draws = 20000) {
  lengthscale <- 1
  variance <- case$variance
  fit <- galvi(y ~ 0 + gp(x, kernel = se(lengthscale = fixed(lengthscale), variance = fixed(variance))),
               data = case$data, family = case$family, hyper = "fixed", control = galvi_control(tol = 1e-9))
  K <- reference_se(case$data$x, lengthscale = lengthscale, variance = variance)
  q <- predict(fit, type = "link", covariance = TRUE)
  log_likelihood <- function(f) sum(case$log_density(case$data$y, f))
  chain <- elliptical_slice_sample(K, log_likelihood, draws, start = q$fit)

  # log Z from both sides: draws of a wide proposal, and draws of the posterior.
  n <- nrow(K)
  prior <- function(f) log_dmvnorm(f, numeric(n), K)
  wide <- 1.2^2 * q$covariance
  proposal <- matrix(rnorm(draws * n), draws) %*% chol(wide + 1e-10 * variance * diag(n)) + rep(q$fit, each = draws)
  weight <- apply(proposal, 1, log_likelihood) + prior(proposal) - log_dmvnorm(proposal, q$fit, wide)
  reciprocal <- log_dmvnorm(chain, q$fit, q$covariance) - apply(chain, 1, log_likelihood) - prior(chain)
  list(fit = fit, q = q, chain = chain,
       log_evidence = c(importance = log_mean_exp(weight), reciprocal = -log_mean_exp(reciprocal)))
}

for (name in c("binary", "counts")) {
  test_that(paste0("posterior and bound are close to the truth: ", name), {
    run <- mcmc_run(mcmc_case(name))
    # The two estimates of the evidence share nothing but q; where they agree both can be trusted.
    expect_lt(abs(diff(run$log_evidence)), 0.02)
    evidence <- mean(run$log_evidence)
    # A lower bound, beyond the estimates' error; its distance is KL[q, posterior], for these data well below a nat.
    expect_lt(run$fit$elbo, evidence + 0.02)
    expect_gt(run$fit$elbo, evidence - 0.25)

    # In units of the posterior's standard deviation. The best Gaussian's mean is not the posterior's: for skewed
    # posteriors it is off by some hundredths, and its variances, fitted from within, are a little small.
    sd <- apply(run$chain, 2, sd)
    error <- (colMeans(run$chain) - run$q$fit) / sd
    noise <- batch_standard_error(run$chain) / sd
    expect_lt(max(abs(error) - 3 * noise), 0.1)
    ratio <- sqrt(diag(run$q$covariance)) / sd
    expect_true(all(ratio > 0.85 & ratio < 1.05))
  })
}
