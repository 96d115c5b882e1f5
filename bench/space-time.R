# gp(x, y, inducing = 50, time = t) of Poisson counts at random places of the unit square and even times: CPU seconds and
# memory. One cell in ten is missing.
#
#   Rscript bench/space-time.R [places, 100 by default] [times, the same by default]
#
# "held" is a fit at fixed hyperparameters, "learned" the whole call without limits of hyperparameters, "predicted" means
# and standard deviations at 5,000 new places and times between and after the fitted ones, "steps" the factorisations of
# learning.
# One thread of x86-64 that other processes shared, R 4.2.2:
#
#     rows places times held factorisations held_MiB learned steps predicted  MiB
#     9037    100   100 0.48              8      152     3.1    86      0.14  204
#   899905   1000  1000 16.7              8     1695     309   165       2.3 2847
source("bench/_helper.R")

cells <- function(places, times) {
  set.seed(1)
  at <- data.frame(x = runif(places), z = runif(places))
  d <- cbind(at[rep(seq_len(places), times), ], t = rep(seq_len(times), each = places))
  # waves in space, each of which is an autoregressive process in time
  waves <- 60
  lengthscale <- 0.2
  w <- matrix(rnorm(2 * waves), waves) / lengthscale
  phase <- runif(waves, 0, 2 * pi)
  persistence <- exp(-1 / 20)
  series <- matrix(rnorm(waves * times), times)
  for (k in seq_len(times)[-1L]) series[k, ] <- persistence * series[k - 1L, ] + sqrt(1 - persistence^2) * series[k, ]
  shape <- sqrt(2 / waves) * cos(as.matrix(at) %*% t(w) + rep(phase, each = places))
  d$y <- rpois(nrow(d), exp(as.vector(0.7 * shape %*% t(series))))
  d[runif(nrow(d)) > 0.1, ]
}

size <- as.numeric(commandArgs(TRUE))
places <- if (length(size)) size[1L] else 100
times <- if (length(size) > 1L) size[2L] else places
d <- cells(places, times)
fit <- NULL
fit_at <- function(hyper) {
  kernel <- if (hyper == "fixed") se(0.5, 0.2) else se()
  fit <<- galvi(y ~ gp(x, z, kernel = kernel, inducing = 50, time = t), d, poisson(), hyper = hyper,
    control = galvi_control(threads = 1, uncertainty = "factorised"))
}
row <- data.frame(rows = nrow(d), places = places, times = times)
row$held <- cpu_seconds(function() fit_at("fixed"))
row$factorisations <- fit$cost$factorisations

status <- "/proc/self/status"
memory <- function() {
  if (file.exists(status)) as.numeric(gsub("\\D", "", grep("^VmHWM", readLines(status), value = TRUE))) / 1024 else NA
}
row$held_MiB <- memory()
row$learned <- cpu_seconds(function() fit_at("optimise"))
row$steps <- fit$cost$factorisations
new <- data.frame(x = runif(5000), z = runif(5000), t = runif(5000, 1, times + 10))
row$predicted <- cpu_seconds(function() predict(fit, new, type = "link", se.fit = TRUE))
row$MiB <- memory()
print(row, digits = 3)
print(fit$hyper[c("name", "estimate")])
