# How do galvi's Cholesky factorisation and inverse, and its products with a symmetric matrix, compare with R's
# chol() of the same matrix, with either backend?
#
# Run once for each BLAS that R can have; one thread (`make bench` sees to that). "narrow" is the backend "eigen"
# as it is on a processor without AVX2.

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
  ours <- c("cholesky", "invert_lower", "invert_from_cholesky", "symmetric_product", "squared_symmetric_product",
            "hadamard_symmetric_product")
  settings <- expand.grid(what = ours, backend = backends, stringsAsFactors = FALSE)
  measured <- replicate(rounds, {
    chol_seconds <- cpu_seconds(function() chol(A), repeats)
    c(chol_seconds,
      cpu_seconds(function() chol2inv(chol(A)), repeats) / chol_seconds,
      mapply(galvi:::probe_dense_seconds, settings$what, settings$backend,
             MoreArgs = list(A = A, L = L, repeats = repeats)) / chol_seconds)
  })
  medians <- apply(measured, 1, median)
  cat(sprintf("n = %d: chol() takes %.2f ms (%.1f GFlop/s), chol2inv(chol()) %.2f chol; in chol:\n", n,
              1e3 * medians[1], n^3 / 3e9 / medians[1], medians[2]))
  print(matrix(round(medians[-(1:2)], 3), length(ours), dimnames = list(ours, backends)))
}

cat("BLAS:", extSoftVersion()[["BLAS"]], "\n\"auto\" is", galvi:::probe_backend("auto"), "\n")
for (n in c(281, 1000, 2000)) compare(n)
