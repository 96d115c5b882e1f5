# How fast is a sparse Gaussian process, and does it ever collapse?
#
#   Rscript bench/sparse-gp.R            (a few minutes)
#   LARGE=yes Rscript bench/sparse-gp.R  (N = 1,000,000 too, on two threads; 2 GiB)
#
# Two classes, two inputs, a wavy surface. Hyperparameters and 100 inducing points are learned end to end from
# default starts on one thread, beside mgcv::bam(bs = "gp", k = 100, discrete = TRUE) in the same session.
# "loss" is the log loss of 20,000 further rows.
source("bench/_helper.R")

sample_rows <- function(n) {
  x <- matrix(runif(2 * n, -3, 3), n)
  eta <- 3 * sin(1.5 * x[, 1]) * cos(x[, 2]) + 1.5 * sin(3 * x[, 2] + x[, 1])
  data.frame(x1 = x[, 1], x2 = x[, 2], y = rbinom(n, 1, plogis(eta)))
}
set.seed(1)
data <- sample_rows(20000)
test <- sample_rows(20000)
log_loss <- function(p) -mean(log(ifelse(test$y == 1, p, 1 - p)))

fit_ours <- function(data, inducing = 100, threads = 1, ...) {
  control <- galvi_control(threads = threads)
  galvi(y ~ gp(x1, x2, inducing = inducing), data, binomial(), control = control, ...)
}
fit_rival <- function() {
  mgcv::bam(y ~ s(x1, x2, bs = "gp", k = 100), binomial(), data, discrete = TRUE, nthreads = 1)
}

machine()
rounds <- do.call(rbind, lapply(1:20, function(round) {
  # the first is that of inducing = 100, the others begin at random rows
  points <- if (round == 1) 100 else data[sample(nrow(data), 100), c("x1", "x2")]
  fit <- rival <- NULL
  ours <- cpu_seconds(function() fit <<- fit_ours(data, inducing = points))
  theirs <- if (round <= 5) cpu_seconds(function() rival <<- fit_rival()) else NA
  data.frame(
    round, galvi = ours, bam = theirs, elbo = fit$elbo, loss = log_loss(predict(fit, test)),
    bam_loss = if (is.null(rival)) NA else log_loss(predict(rival, test, type = "response"))
  )
}))
show_table(rounds, digits = 5)
best <- min(rounds$loss, rounds$bam_loss, na.rm = TRUE)
bam <- median(rounds$bam, na.rm = TRUE)
target("N = 20,000, M = 100, learned end to end", rounds$galvi[1] / bam, 1, "bam")
target("its log loss above the best", rounds$loss[1] - best, 0.001)
target("the worst of 20 starts", max(rounds$loss) - best, 0.001)

# A fit at fixed hyperparameters takes one pass over the rows (the variances that the points do not explain) and two
# for each step. Each pass computes the kernel, a triangular product and one more; it is compared with the product of
# N x M numbers alone.
W <- matrix(rnorm(20000 * 100), 20000)
product <- cpu_seconds(function() crossprod(W), 20)
fit <- fit_ours(data, hyper = "fixed")
points <- fit$inducing[[1]]
seconds <- cpu_seconds(function() fit_ours(data, points, hyper = "fixed"), 5)
target("one pass", seconds / (2 * nrow(fit$trace) + 1) / product, 3, "crossprod()")

# Linear in N, at fixed hyperparameters.
sizes <- if (nzchar(Sys.getenv("LARGE"))) c(1e4, 1e5, 1e6) else c(1e4, 1e5)
seconds <- vapply(sizes, function(n) {
  rows <- sample_rows(n)
  cpu_seconds(function() fit_ours(rows, hyper = "fixed", start = fit))
}, 0)
exponent <- coef(lm(log(seconds) ~ log(sizes)))[[2]]
show_table(data.frame(N = sizes, seconds))
target("exponent of N", exponent, 1.1)

peak <- function() {
  line <- grep("^VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
if (nzchar(Sys.getenv("LARGE"))) {
  rows <- sample_rows(1e6)
  elapsed <- system.time(large <- fit_ours(rows, threads = 2))[["elapsed"]]
  cat(sprintf("N = 1,000,000: log loss %.4f, converged: %s\n", log_loss(predict(large, test)),
              large$convergence$converged))
  target("N = 1,000,000, M = 100, two threads", elapsed / 60, 5, "minutes")
  target("peak memory of the session", peak(), 2048, "MiB")
}

# Answer (2-core x86-64 machine, busy, R 4.2.2, OpenBLAS 0.3.21): 1.9 s against bam's 2.6 (log loss 0.4919
# against 0.4929); starts at random rows take 2.1 to 3.7 s and end within 0.0002 of the best. One pass is
# 2.9 crossprod(). Time is linear in N (exponent 1.01 to 1e5, 1.10 over 1e4 to 1e6). The peak of memory is
# 99 MiB for N = 20,000; N = 1,000,000 is learned in 104 to 156 s on two threads, with 1.0 to 1.4 GiB.
