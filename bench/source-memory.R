# How much memory and time does a fit of 1e6 rows x 4 inputs take from a data frame, a function and a Parquet
# file? Each in a process of its own, whose peak memory Linux knows.   Rscript bench/source-memory.R [rows]
source("bench/_helper.R")

given <- commandArgs(TRUE)
n <- if (length(given)) as.numeric(given[1]) else 1e6
file <- tempfile(fileext = ".parquet")
rows_of <- 50000

fits <- list(
  "nothing but the package" = quote(NULL),
  "data frame" = quote(fit_of(table_of(n))),
  "function" = quote({
    at <- 0
    fit_of(function(reset) {
      if (reset) return(at <<- 0)
      if (at == n) return(NULL)
      out <- table_of(rows_of, seed = at)
      at <<- at + rows_of
      out
    })
  }),
  "Parquet" = quote(fit_of(file))
)

common <- bquote({
  library(galvi)
  n <- .(n)
  rows_of <- .(rows_of)
  file <- .(file)
  table_of <- function(n, seed = 1) {
    set.seed(seed)
    d <- as.data.frame(matrix(rnorm(4 * n), n, dimnames = list(NULL, paste0("x", 1:4))))
    d$y <- as.numeric(runif(n) < plogis(sin(2 * d$x1) + d$x2 - d$x3 * d$x4))
    d
  }
  fit_of <- function(data) {
    galvi(y ~ x1 + x2 + gp(x1, x2, x3, x4, inducing = 30), data, binomial(), hyper = "fixed", verbose = FALSE)
  }
})

measure_fit <- function(what) {
  script <- tempfile(fileext = ".R")
  tail <- bquote({
    time <- system.time(fit <- .(what))
    peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
    cat(as.numeric(gsub("\\D", "", peak)) / 1024, time[["elapsed"]], time[["user.self"]] + time[["sys.self"]],
      if (is.null(fit)) NA else fit$cost$sweeps, if (is.null(fit)) NA else fit$elbo)
  })
  writeLines(c(deparse(common), deparse(tail)), script)
  as.numeric(strsplit(system2(file.path(R.home("bin"), "Rscript"), script, stdout = TRUE), " ")[[1]])
}

if (requireNamespace("nanoparquet", quietly = TRUE)) {
  eval(common)
  nanoparquet::write_parquet(table_of(n), file, row_groups = as.integer(seq(1, n, rows_of)))
} else {
  fits[["Parquet"]] <- NULL
}
table <- t(vapply(fits, measure_fit, numeric(5)))
colnames(table) <- c("peak MiB", "seconds", "CPU seconds", "passes", "elbo")
print(table, digits = 6)

# Two cores of a shared machine, R 4.2.2, one thread, 1e6 rows, 5 passes: the package alone 73 MiB; data frame
# 652 MiB, 10 CPU seconds; function that makes its rows 205 MiB, 18 s; Parquet 182 MiB, 11 s.
