# How long does a Gaussian process over a long series take, learned and certified?
#
#   Rscript bench/long-series.R              (1e4 and 1e5 rows; a minute)
#   Rscript bench/long-series.R 1e6          (other numbers of rows)
#   Rscript bench/long-series.R states       (sums of 4 to 34 states)
#
# Counts, 50 rows a lengthscale, matern32() over one input: held at the truth, learned, and predictions at three times.
# The peers are asked for the same series where they are installed and can take it: glmmTMB's ou() up to 1e4 rows (it
# makes an N x N matrix) and mgcv::bam(discrete = TRUE) with up to 800 basis functions. CPU seconds on one thread.
#
# Answer (one thread of a shared virtual machine of 2026; peers in the same run; memory of a process of its own):
#            held  learned       gap  memory, learned   glmmTMB ou()   mgcv::bam
#   1e4      0.08     0.14     2e-07                            31.4        10.9
#   1e5      0.34     1.27     2e-06  0.23 GB                                9.6, 125 rows a basis function
#   1e6      3.9     17.1      2e-05  1.19 GB
# Newton and the natural gradient end at bounds that differ by 1e-11, 9e-11 and 9e-9. Before products were fused into
# forms, and with newton, learning took 0.26, 3.1 and 42 seconds and 1.6 GB.
# Milliseconds of galvi_infer() alone with held hyperparameters by the number of rows, from which R/term-gp-chains.R has its rule:
#            dense, 6 states' kernel   chain of 3    6   12   16   32 states
#   200                          6.4            3    6    9   12   35
#   400                         24              4    8   11   12   34
#   800                        127              5    9   17   22   64
source("bench/_helper.R")

# Of the process so far, where the system tells.
peak_memory <- function() {
  status <- "/proc/self/status"
  if (!file.exists(status)) return("")
  kilobytes <- as.numeric(gsub("[^0-9]", "", grep("VmHWM", readLines(status), value = TRUE)))
  sprintf(", %.2f GB", kilobytes / 1e6)
}

# Sums of processes: the time of a row by the number of states.
states <- function(n = 4000) {
  set.seed(1)
  d <- data.frame(t = seq_len(n) / 50)
  d$y <- rpois(n, exp(0.5 + 0.8 * sin(d$t)))
  control <- galvi_control(threads = 1, uncertainty = "factorised")
  for (formula in list(
    y ~ 0 + gp(t, kernel = matern32(0.5, 1) + matern32(0.5, 5)),
    y ~ 0 + gp(t, kernel = matern52(0.5, 1) + matern52(0.5, 5)),
    y ~ 0 + gp(t, kernel = matern52(0.2, 1) + matern52(0.2, 2) + matern52(0.2, 5) + matern52(0.2, 10)),
    y ~ 0 + gp(t, kernel = matern52(0.2, 1) + matern52(0.2, 2) + matern52(0.2, 5) + matern52(0.2, 10)) +
      gp(t, kernel = matern52(0.2, 3) + matern52(0.2, 7) + matern52(0.2, 14) + matern52(0.2, 20)) +
      gp(t, kernel = matern52(0.2, 4) + matern52(0.2, 8) + matern52(0.2, 16) + matern12(0.2, 30))
  )) {
    count <- sum(c(matern52 = 3, matern32 = 2, matern12 = 1)[regmatches(deparse1(formula),
      gregexpr("matern[0-9]+", deparse1(formula)))[[1]]])
    seconds <- vapply(c("fixed", "optimise"), function(hyper) {
      cpu_seconds(function() galvi(formula, d, poisson(), hyper = hyper, verbose = FALSE, control = control))
    }, 0)
    cat(sprintf("%d states, %g rows: held %.2f s, learned %.2f s\n", count, n, seconds[1], seconds[2]))
  }
}

asked <- commandArgs(TRUE)
if ("states" %in% asked) {
  states()
  quit()
}
asked <- as.numeric(asked)
for (n in if (length(asked)) asked else c(1e4, 1e5)) {
  set.seed(1)
  t <- seq_len(n) / 50
  f <- as.numeric(stats::filter(rnorm(n) * 0.12, c(1.94, -0.9415), "recursive"))
  d <- data.frame(t = t, y = rpois(n, exp(0.5 + 0.8 * f / sd(f))))
  fits <- list()
  for (hyper in c("fixed", "optimise")) {
    seconds <- cpu_seconds(function() fits[[hyper]] <<- galvi(y ~ 0 + gp(t, kernel = matern32(1, 1)), d, poisson(),
      hyper = hyper, verbose = FALSE, control = galvi_control(threads = 1, uncertainty = "factorised")))
    fit <- fits[[hyper]]
    cat(sprintf("%g rows, %s: %.2f s, bound %.4f, gap %.0e%s\n", n, hyper, seconds, fit$elbo, fit$convergence$gap,
      peak_memory()))
  }
  seconds <- cpu_seconds(function() second <<- galvi(y ~ 0 + gp(t, kernel = matern32(1, 1)), d, poisson(),
    method = "newton", hyper = "fixed", verbose = FALSE, control = galvi_control(threads = 1)))
  cat(sprintf("  newton, fixed: %.2f s, bound higher by %.0e, gap %.0e\n", seconds, second$elbo - fits$fixed$elbo,
    second$convergence$gap))
  seconds <- cpu_seconds(function() predict(fit, data.frame(t = c(-1, 0.333, n / 50 + 1)), se.fit = TRUE))
  cat(sprintf("  three predictions: %.2f s\n", seconds))
  if (n <= 1e4 && requireNamespace("glmmTMB", quietly = TRUE)) {
    d$time <- glmmTMB::numFactor(d$t)
    d$all <- factor(1)
    seconds <- cpu_seconds(function() try(glmmTMB::glmmTMB(y ~ 0 + ou(time + 0 | all), d, poisson())))
    cat(sprintf("  glmmTMB ou(), which is matern12(): %.1f s\n", seconds))
  }
  if (n <= 1e5 && requireNamespace("mgcv", quietly = TRUE)) {
    k <- min(n / 10, 800)
    seconds <- cpu_seconds(function() mgcv::bam(y ~ s(t, bs = "cr", k = k), poisson(), d, discrete = TRUE))
    cat(sprintf("  mgcv::bam, %d basis functions: %.1f s\n", k, seconds))
  }
}
