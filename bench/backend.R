# How do galvi's Cholesky factorisation and inverse, and its products with a symmetric matrix, compare with
# chol() of the same matrix in R, with either backend?
#
# Run once for each BLAS that R can have; one thread (`make bench` sees to that). "narrow" is the backend
# "eigen" as it is on a processor without AVX2.

source("tools/probes.R")

backends <- c("blas", "eigen", "narrow")

cpu_seconds <- function(f, repeats) {
  time <- system.time(for (i in seq_len(repeats)) f(), gcFirst = FALSE)
  (time[["user.self"]] + time[["sys.self"]]) / repeats
}

# Medians over `rounds`, in each of which everything is timed once, of the ratios to that round's chol().
compare <- function(n, rounds = 7) {
  set.seed(n)
  A <- crossprod(matrix(rnorm(n^2), n)) / n + diag(n)
  L <- t(chol(A))
  repeats <- max(1, round(0.05 / cpu_seconds(function() chol(A), 2)))
  ours <- c("cholesky", "invert_lower", "invert_from_cholesky", "symmetric_product",
            "squared_symmetric_product", "hadamard_symmetric_product")
  settings <- expand.grid(what = ours, backend = backends, stringsAsFactors = FALSE)
  measured <- replicate(rounds, {
    chol_seconds <- cpu_seconds(function() chol(A), repeats)
    c(chol_seconds,
      cpu_seconds(function() chol2inv(chol(A)), repeats) / chol_seconds,
      mapply(probe_dense_seconds, settings$what, settings$backend,
             MoreArgs = list(A = A, L = L, repeats = repeats)) / chol_seconds)
  })
  medians <- apply(measured, 1, median)
  cat(sprintf("n = %d: chol() takes %.2f ms (%.1f GFlop/s), chol2inv(chol()) %.2f chol; in chol:\n", n,
              1e3 * medians[1], n^3 / 3e9 / medians[1], medians[2]))
  print(matrix(round(medians[-(1:2)], 3), length(ours), dimnames = list(ours, backends)))
}

cat("BLAS:", extSoftVersion()[["BLAS"]], "\n\"auto\" is", galvi:::galvi_backend("auto"), "\n")
for (n in c(281, 1000, 2000)) compare(n)

# Measured (two shared x86-64 cores with AVX-512, R 4.2.2, g++ 12 -O2, one thread, CPU time; other work on the
# machine moves each figure by about a tenth). Everything in multiples of R's chol() of the same matrix:
#
#                                      OpenBLAS 0.3.21              reference BLAS 3.11
#                           n    blas   eigen  narrow        blas   eigen  narrow
#   cholesky              281    0.50    0.82    1.22        0.87    0.22    0.32
#                        1000    0.65    1.04    2.13        0.97    0.16    0.32
#                        2000    0.82    1.32    3.01        0.81    0.12    0.27
#   invert_lower          281    0.51    0.92    1.20        0.71    0.25    0.31
#                        1000    0.67    1.11    2.01        0.78    0.16    0.30
#                        2000    0.85    1.37    2.82        0.77    0.12    0.26
#   invert_from_cholesky  281    0.87    1.75    2.45        1.42    0.48    0.65
#                        1000    1.14    2.13    4.01        1.86    0.31    0.56
#                        2000    1.47    2.53    5.64        1.73    0.21    0.51
#
# chol() itself: 10, 21 and 29 GFlop/s with OpenBLAS, 2.7 with the reference BLAS. "auto" chose "blas" on
# OpenBLAS and "eigen" on the reference BLAS. So on OpenBLAS our recursion beats LAPACK's own blocking by a
# fifth to a half; on the reference BLAS the backend "eigen" is 4.5, 6.4 and 8.4 times as fast as chol() with
# AVX2, 3 to 4 times without.
#
# A product with a symmetric matrix costs, at n = 281, 1000 and 2000 on OpenBLAS, 0.025, 0.022 and 0.015 chol;
# squared 0.055, 0.035 and 0.03; Hadamard 0.067, 0.05 and 0.043 (memory bound: each double is read once).
