# What would sampling say? Long chains for two real data sets, which the vignette "Uncertainty" compares with.
#
#   Rscript bench/mcmc.R            writes vignettes/uncertainty-mcmc.csv (three CPU minutes; a number as argument: sweeps)
#
# bacteria: MASS::bacteria, a random intercept for each of 50 children; discoveries: datasets::discoveries, a process
# over 100 years. Priors are those of the vignette. The sampler is bench/mcmc.cpp. Two chains each: the
# standard errors `mcse` of the means come from batches of both.
#
# Answer (2026): the largest standard error of a mean is 0.05 posterior sds (the lengthscale of discoveries, whose posterior
# has a long tail; bacteria: 0.036), the largest difference between two chains 2.1 standard errors.
source("bench/_helper.R")
Rcpp::sourceCpp("bench/mcmc.cpp")

bacteria <- MASS::bacteria
X <- stats::model.matrix(~ week + trt, bacteria)
years <- seq_along(datasets::discoveries)
models <- list(
  bacteria = list(
    names = c(colnames(X), "iid(ID).variance"), prior = 5, X = X, y = as.numeric(bacteria$y == "y"), binary = TRUE,
    group = as.integer(bacteria$ID), squares = matrix(0, 0, 0), mean = 0, sd = 1.5, step = c(0.6, 1)
  ),
  discoveries = list(
    names = c("(Intercept)", "gp(year).variance", "gp(year).lengthscale"), prior = 2, X = matrix(1, length(years)),
    y = as.numeric(datasets::discoveries), binary = FALSE, group = integer(), squares = outer(years, years, "-")^2,
    mean = c(-1, log(10)), sd = c(1, 0.7), step = c(0.8, 0.12)
  )
)

# A chain: b on its own scale, hyperparameters, eta.
chain <- function(model, sweeps, seed, thin = 20) {
  set.seed(seed)
  q <- ncol(model$X)
  draws <- with(model, sample_posterior(X * prior, y, binary, group, squares, mean, sd, step, sweeps, thin))
  draws[, seq_len(q)] <- draws[, seq_len(q)] * model$prior
  own <- q + seq_along(model$mean)
  draws[, own] <- exp(draws[, own])
  colnames(draws) <- c(model$names, paste0("eta", seq_along(model$y)))
  draws
}

# mcse: Monte Carlo standard error of the mean, by fifty batches of each chain.   chains_off: the difference of the
# chains' means in its standard errors.
summarise <- function(chains, data) {
  means <- lapply(chains, function(draws) {
    batch <- rep(1:50, each = nrow(draws) %/% 50)
    rowsum(draws[seq_along(batch), ], batch) / (nrow(draws) %/% 50)
  })
  draws <- do.call(rbind, chains)
  se <- sqrt(Reduce(`+`, lapply(means, function(x) apply(x, 2, var) / 50))) / 2
  data.frame(
    data = data, quantity = colnames(draws), mean = colMeans(draws), sd = apply(draws, 2, sd),
    lwr = apply(draws, 2, quantile, 0.025), median = apply(draws, 2, median), upr = apply(draws, 2, quantile, 0.975),
    mcse = se, chains_off = (colMeans(means[[1]]) - colMeans(means[[2]])) / (2 * se), row.names = NULL
  )
}

sweeps <- if (length(commandArgs(TRUE))) as.numeric(commandArgs(TRUE)[1]) else 3e5
jobs <- expand.grid(seed = 1:2, model = names(models), stringsAsFactors = FALSE)
drawn <- parallel::mclapply(seq_len(nrow(jobs)), function(i) {
  chain(models[[jobs$model[i]]], sweeps, jobs$seed[i])
}, mc.cores = 4)
out <- do.call(rbind, lapply(names(models), function(name) summarise(drawn[jobs$model == name], name)))
cat(sprintf("largest mcse in sds: %.3f; largest difference of chains: %.1f standard errors\n",
  max(out$mcse / out$sd), max(abs(out$chains_off))))
out$chains_off <- NULL
out[-(1:2)] <- signif(out[-(1:2)], 6)
write.csv(out, "vignettes/uncertainty-mcmc.csv", row.names = FALSE)
print(out[!grepl("^eta", out$quantity), ], digits = 4)
