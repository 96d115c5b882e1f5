# What would sampling say? Long chains for two real data sets, which the vignette "Uncertainty" compares with.
#
#   Rscript bench/mcmc.R            writes vignettes/uncertainty-mcmc.csv (two CPU minutes)
#
# eta = W(theta) u with u white noise. A sweep moves u by elliptical slice sampling (Murray, Adams and MacKay 2010),
# and theta by random walks, once with u held and once with the effects W(theta) u held (Yu and Meng 2011).
# bacteria: MASS::bacteria, a random intercept for each of 50 children; discoveries: datasets::discoveries, a process
# over 100 years. Priors are those of the vignette.

# ---- the two models ----

bacteria_model <- function() {
  d <- MASS::bacteria
  X <- stats::model.matrix(~ week + trt, d)
  Z <- stats::model.matrix(~ 0 + ID, d)
  y <- as.numeric(d$y == "y")
  list(
    fixed = X, prior_sd = rep(5, ncol(X)), effects = ncol(Z), names = c(colnames(X), "iid(ID).variance"),
    root = function(theta) Z * exp(theta / 2),
    log_lik = function(eta) sum(stats::plogis(ifelse(y == 1, eta, -eta), log.p = TRUE)),
    # log variance
    log_prior = function(theta) stats::dnorm(theta, 0, 1.5, log = TRUE),
    log_effects = function(theta, z) sum(stats::dnorm(z, 0, exp(theta / 2), log = TRUE)),
    held = function(theta, u) exp(theta / 2) * u, back = function(theta, z) z * exp(-theta / 2),
    start = 0, step = c(0.6, 1)
  )
}

discoveries_model <- function() {
  y <- as.numeric(datasets::discoveries)
  t <- seq_along(y)
  squares <- outer(t, t, "-")^2
  root <- function(theta) {
    K <- exp(theta[1]) * exp(-squares / (2 * exp(2 * theta[2])))
    diag(K) <- diag(K) + 1e-8 * exp(theta[1])
    t(chol(K))
  }
  list(
    fixed = cbind(`(Intercept)` = rep(1, 100)), prior_sd = 2, effects = 100,
    names = c("(Intercept)", "gp(year).variance", "gp(year).lengthscale"), root = root,
    log_lik = function(eta) sum(stats::dpois(y, exp(eta), log = TRUE)),
    # log variance, log lengthscale
    log_prior = function(theta) sum(stats::dnorm(theta, c(-1, log(10)), c(1, 0.7), log = TRUE)),
    log_effects = function(theta, z) {
      L <- root(theta)
      -sum(log(diag(L))) - sum(forwardsolve(L, z)^2) / 2
    },
    held = function(theta, u) root(theta) %*% u, back = function(theta, z) forwardsolve(root(theta), z),
    start = c(-1, log(10)), step = c(0.8, 0.12)
  )
}

# ---- the sampler ----

sample_posterior <- function(model, sweeps, thin = 10, warmup = sweeps %/% 10) {
  q <- ncol(model$fixed)
  X <- model$fixed %*% diag(model$prior_sd, q)
  theta <- model$start
  u <- rnorm(q + model$effects)
  W <- cbind(X, model$root(theta))
  eta <- drop(W %*% u)
  value <- model$log_lik(eta)
  kept <- matrix(0, sweeps %/% thin, q + length(theta) + nrow(X))
  for (sweep in seq_len(warmup + sweeps)) {
    for (again in 1:3) {
      # the ellipse through eta and a draw from the prior
      other <- rnorm(length(u))
      other_eta <- drop(W %*% other)
      least <- value + log(runif(1))
      angle <- runif(1, 0, 2 * pi)
      low <- angle - 2 * pi
      high <- angle
      repeat {
        trial <- eta * cos(angle) + other_eta * sin(angle)
        value <- model$log_lik(trial)
        if (value > least) break
        if (angle < 0) low <- angle else high <- angle
        angle <- runif(1, low, high)
      }
      eta <- trial
      u <- u * cos(angle) + other * sin(angle)
    }
    # theta, with u held
    trial <- theta + model$step[1] * rnorm(length(theta))
    trial_W <- cbind(X, model$root(trial))
    trial_eta <- drop(trial_W %*% u)
    trial_value <- model$log_lik(trial_eta)
    if (log(runif(1)) < trial_value - value + model$log_prior(trial) - model$log_prior(theta)) {
      theta <- trial
      W <- trial_W
      eta <- trial_eta
      value <- trial_value
    }
    # theta, with the effects held
    z <- model$held(theta, u[-seq_len(q)])
    trial <- theta + model$step[2] * rnorm(length(theta))
    ratio <- model$log_effects(trial, z) - model$log_effects(theta, z) + model$log_prior(trial) - model$log_prior(theta)
    if (log(runif(1)) < ratio) {
      theta <- trial
      W <- cbind(X, model$root(theta))
      u[-seq_len(q)] <- model$back(theta, z)
      eta <- drop(W %*% u)
      value <- model$log_lik(eta)
    }
    if (sweep > warmup && sweep %% thin == 0) {
      kept[(sweep - warmup) %/% thin, ] <- c(model$prior_sd * u[seq_len(q)], exp(theta), eta)
    }
  }
  colnames(kept) <- c(model$names, paste0("eta", seq_len(nrow(X))))
  kept
}

summarise <- function(draws, data) {
  # Monte Carlo standard error of the mean, by fifty batches
  batch <- rep(1:50, each = nrow(draws) %/% 50)
  means <- rowsum(draws[seq_along(batch), ], batch) / (nrow(draws) %/% 50)
  data.frame(
    data = data, quantity = colnames(draws), mean = colMeans(draws), sd = apply(draws, 2, sd),
    lwr = apply(draws, 2, quantile, 0.025), median = apply(draws, 2, median), upr = apply(draws, 2, quantile, 0.975),
    mcse = apply(means, 2, sd) / sqrt(50), row.names = NULL
  )
}

set.seed(1)
sweeps <- if (length(commandArgs(TRUE))) as.numeric(commandArgs(TRUE)[1]) else c(20000, 12000)
out <- rbind(
  summarise(sample_posterior(bacteria_model(), sweeps[1]), "bacteria"),
  summarise(sample_posterior(discoveries_model(), rev(sweeps)[1]), "discoveries")
)
out[-(1:2)] <- signif(out[-(1:2)], 6)
write.csv(out, "vignettes/uncertainty-mcmc.csv", row.names = FALSE)
print(out[!grepl("^eta", out$quantity), ], digits = 4)
