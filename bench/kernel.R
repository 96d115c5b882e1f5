# What do a covariance matrix and the gradient of the bound in a kernel's parameters cost, compared with
# chol() of a matrix of that size?
#
# Medians of ratios, in rounds in which everything is timed once; CPU time of one thread (`make bench` sees
# to that). A call from R, reading its arguments and zeroing the n x n result are part of it: `white` shows
# how much.

cpu_seconds <- function(f, repeats) {
  time <- system.time(for (i in seq_len(repeats)) f(), gcFirst = FALSE)
  (time[["user.self"]] + time[["sys.self"]]) / repeats
}

# The kernel with its starts from the data, as C++ reads it.
specification <- function(kernel, X) {
  hyper <- numeric()
  register <- function(parameter, value, default, ...) {
    hyper <<- c(hyper, default)
    length(hyper)
  }
  inputs <- list(matrix = X, variable = seq_len(ncol(X)), names = paste0("x", seq_len(ncol(X))))
  spec <- galvi:::kernel_spec(kernel, inputs, register)
  list(spec = spec, hyper = hyper)
}

compare <- function(n, p, kernels, rounds = 7) {
  set.seed(n)
  X <- matrix(rnorm(n * p), n)
  G <- crossprod(matrix(rnorm(n^2), n)) / n
  A <- G + diag(n)
  repeats <- max(1, round(0.05 / cpu_seconds(function() chol(A), 2)))
  cases <- lapply(kernels, specification, X)
  chol_seconds <- numeric(rounds)
  ratios <- replicate(rounds, {
    unit <- cpu_seconds(function() chol(A), repeats)
    chol_seconds[which.min(chol_seconds)] <<- unit
    vapply(cases, function(case) {
      gram <- function() probe_gram(case$spec, case$hyper, list(inputs = X))
      gradient <- function() probe_gram_gradient(case$spec, case$hyper, list(inputs = X), G)
      c(gram = cpu_seconds(gram, repeats), gradient = cpu_seconds(gradient, repeats)) / unit
    }, c(gram = 0, gradient = 0))
  })
  medians <- t(apply(ratios, 1:2, median))
  rownames(medians) <- vapply(kernels, format, "")
  cat(sprintf("n = %d, p = %d: chol() takes %.2f ms; in chol:\n", n, p, 1e3 * median(chol_seconds)))
  print(round(medians, 2))
}

library(galvi)
source("tools/probes.R")
cat("BLAS:", extSoftVersion()[["BLAS"]], "\n")
kernels <- list(
  se(), se(ard = TRUE), matern12(), matern32(), matern52(ard = TRUE), rational_quadratic(), periodic(3),
  linear(), polynomial(), white(), matern32() * periodic(3) + linear()
)
compare(281, 33, kernels)
compare(2000, 2, kernels)

# Answer (2 cores of a busy x86-64 machine with AVX2, g++ 12 -O2, R 4.2.2, OpenBLAS 0.3.21, one thread):
#
# n = 281, p = 33, chol() 1.0 ms:                      gram gradient
#   se()                                               0.73     0.52
#   se(ard = TRUE)                                     0.71     1.00
#   matern12()                                         0.71     0.58
#   matern32()                                         0.76     0.58
#   matern52(ard = TRUE)                               0.73     1.28
#   rational_quadratic(alpha = 1)                      1.29     1.69
#   periodic(period = 3)                               3.71     5.64
#   linear()                                           0.70     0.42
#   polynomial(degree = 2, constant = 1)               0.72     0.46
#   white()                                            0.45     0.15
#   matern32() * periodic(period = 3) + linear()       4.79    10.82
# n = 2000, p = 2, chol() 105 ms:
#   se()                                               0.18     0.10
#   se(ard = TRUE)                                     0.23     0.11
#   matern12()                                         0.21     0.14
#   matern32()                                         0.25     0.14
#   matern52(ard = TRUE)                               0.22     0.15
#   rational_quadratic(alpha = 1)                      0.55     0.83
#   periodic(period = 3)                               0.25     0.19
#   linear()                                           0.20     0.05
#   polynomial(degree = 2, constant = 1)               0.20     0.09
#   white()                                            0.21     0.06
#   matern32() * periodic(period = 3) + linear()       0.36     0.55
#
# Without AVX2 (the portable code): se() 1.11 and 0.81 at n = 281, 0.28 and 0.17 at n = 2000. Without R around
# it the core takes 0.34 ms (gram) and 0.44 ms (gradient) for se() at n = 281, 10 and 17 ms at n = 2000. A
# logarithm per pair makes rational_quadratic the slowest at n = 2000; 33 sines and cosines per row and tile,
# periodic at n = 281.
