# How much memory and time does a fit take whose rows are in a data frame, a function, Parquet files or a
# database? 8 inputs, 100 inducing points, hyperparameters fixed. Each in a separate process, whose peak memory
# Linux knows.
#
#   Rscript bench/source-memory.R [rows]   (two minutes for 1e6 rows, half an hour for 1e7)
source("bench/_helper.R")

given <- commandArgs(TRUE)
n <- if (length(given)) as.numeric(given[1]) else 1e6
folder <- tempfile()
dir.create(folder)
rows_of <- 50000

common <- bquote({
  library(galvi)
  options(galvi.threads = 1)
  n <- .(n)
  rows_of <- .(rows_of)
  folder <- .(folder)
  table_of <- function(n, seed = 0) {
    set.seed(seed)
    d <- as.data.frame(matrix(rnorm(8 * n), n, dimnames = list(NULL, paste0("x", 1:8))))
    d$y <- as.numeric(runif(n) < plogis(sin(2 * d$x1) + d$x2 - d$x3 * d$x4))
    d
  }
  points <- as.matrix(table_of(100)[1:8])
  fit_of <- function(data) {
    galvi(
      y ~ 0 + gp(x1, x2, x3, x4, x5, x6, x7, x8, kernel = se(4, 3), inducing = points), data, binomial(),
      hyper = "fixed", verbose = FALSE
    )
  }
  parquet <- function() list.files(folder, "parquet$", full.names = TRUE)
})

fits <- list(
  "nothing but the package" = quote(NULL),
  "data frame" = quote(fit_of(do.call(rbind, lapply(seq(0, n - 1, rows_of), function(at) table_of(rows_of, at))))),
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
  "Parquet" = quote(fit_of(parquet())),
  "SQLite" = quote(fit_of(row_source(DBI::dbConnect(RSQLite::SQLite(), file.path(folder, "d.sqlite")), "d")))
)

measure_fit <- function(what) {
  script <- tempfile(fileext = ".R")
  tail <- bquote({
    time <- system.time(fit <- .(what))
    peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
    cat(as.numeric(gsub("\\D", "", peak)) / 1024, time[["elapsed"]], time[["user.self"]] + time[["sys.self"]],
      if (is.null(fit)) NA else fit$cost$sweeps, if (is.null(fit)) NA else fit$elbo)
  })
  writeLines(c(deparse(common), deparse(tail)), script)
  out <- strsplit(system2(file.path(R.home("bin"), "Rscript"), script, stdout = TRUE), " ")[[1]]
  as.numeric(ifelse(out == "NA", NA, out))
}

# Tables are written a million rows at a time.
eval(common)
if (!requireNamespace("nanoparquet", quietly = TRUE)) fits[["Parquet"]] <- NULL
con <- if (requireNamespace("RSQLite", quietly = TRUE)) {
  DBI::dbConnect(RSQLite::SQLite(), file.path(folder, "d.sqlite"))
} else {
  fits[["SQLite"]] <- NULL
}
for (from in seq(0, n - 1, 1e6)) {
  starts <- seq(from, min(n, from + 1e6) - 1, rows_of)
  parts <- lapply(starts, function(at) table_of(rows_of, at))
  if (!is.null(fits[["Parquet"]])) for (i in seq_along(parts)) {
    nanoparquet::write_parquet(parts[[i]], file.path(folder, sprintf("%05d.parquet", starts[i] / rows_of)))
  }
  part <- do.call(rbind, parts)
  if (!is.null(con)) DBI::dbWriteTable(con, "d", part, append = TRUE)
}
if (!is.null(con)) DBI::dbDisconnect(con)

if (n > 2e6) fits[["data frame"]] <- NULL
table <- t(vapply(fits, measure_fit, numeric(5)))
colnames(table) <- c("peak MiB", "seconds", "CPU seconds", "passes", "elbo")
print(table, digits = 6)
unlink(folder, recursive = TRUE)

# Answer (2 cores of a busy machine, R 4.2.2, OpenBLAS 0.3.21, one thread), 5 passes each, peak memory and CPU
# seconds: the package alone 73 MiB. 1e6 rows: data frame 792 MiB, 10 s; function 210 MiB, 13 s; Parquet by
# nanoparquet, which reads one file at a time: files of 50,000 rows 215 MiB, one file of them all 409 MiB; SQLite
# 223 MiB, 19 s. 1e7 rows: function 359 MiB, 132 s; SQLite 387 MiB, 160 s. The bound is the same to the last digit.
