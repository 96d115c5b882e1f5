# Shared by the measurements: one thread, chol() as the unit of time, what is printed. Not run by itself.

# BLAS and OpenMP read their number of threads when R starts: without these, R starts again with them.
threads <- c("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
if (any(Sys.getenv(threads) != "1")) {
  do.call(Sys.setenv, as.list(setNames(rep("1", length(threads)), threads)))
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  quit(status = system2(file.path(R.home("bin"), "Rscript"), c(script, commandArgs(TRUE))))
}

library(galvi)

# CPU seconds of one evaluation: other processes on the machine do not count.
cpu_seconds <- function(f, repeats = 1) {
  time <- system.time(for (i in seq_len(repeats)) f(), gcFirst = FALSE)
  (time[["user.self"]] + time[["sys.self"]]) / repeats
}

# A covariance matrix of n points on the plane, as chol() meets them here.
chol_case <- function(n) {
  set.seed(n)
  exp(-as.matrix(dist(matrix(rnorm(2 * n), n)))) + diag(n)
}

# Medians over `rounds` in each of which chol() of n x n and every function of `cases` are timed in turn.
# -> data frame case, seconds, chol (seconds by chol() of the same round); the unit is attribute "chol"
measure <- function(cases, n, rounds = 5) {
  A <- chol_case(n)
  chol(A)
  repeats <- max(1, ceiling(0.02 / cpu_seconds(function() chol(A), 3)))
  seconds <- replicate(rounds, c(
    cpu_seconds(function() chol(A), repeats), vapply(cases, cpu_seconds, 0)
  ))
  ratios <- sweep(seconds[-1, , drop = FALSE], 2, seconds[1, ], "/")
  structure(
    data.frame(
      case = names(cases), seconds = apply(seconds[-1, , drop = FALSE], 1, median),
      chol = apply(ratios, 1, median), row.names = NULL
    ),
    chol = median(seconds[1, ])
  )
}

# n^3 / 3 flops, what one factorisation takes.
units <- function(fit) fit$cost$flops / (fit$nobs^3 / 3)

machine <- function(...) {
  cat("BLAS:", extSoftVersion()[["BLAS"]], "\nbackend:", galvi:::galvi_backend("auto"), "\n")
  for (n in c(...)) {
    A <- chol_case(n)
    seconds <- median(replicate(5, cpu_seconds(function() chol(A))))
    cat(sprintf("chol() of n = %d takes %.3g ms\n", n, 1e3 * seconds))
  }
}

show_table <- function(x, digits = 3) print(format(x, digits = digits), row.names = FALSE, right = TRUE)

# target("dense inference, n = 2000", 14.2, 20, "chol")
target <- function(what, measured, limit, unit = "") {
  met <- if (isTRUE(measured <= limit)) "met" else "missed"
  cat(trimws(sprintf("target: %s <= %s %s", what, format(limit), unit)),
      sprintf(", measured %s: %s\n", format(measured, digits = 3), met), sep = "")
}
