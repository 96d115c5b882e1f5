# How much memory does a fit take, and how much does the guard expect (R/base-memory.R)?
#
#   Rscript bench/memory.R      (two minutes, Linux)
#
# Each case runs in a separate R process on one thread. "taken" is the growth of the process's peak address space
# after the call of the core, "rss" that of its resident memory, "expected" the estimate of fit_size() or
# prediction_size() (16 MiB of it for any fit). MiB; 2 x86-64 cores, R 4.2.2, OpenBLAS:
#
#                                       expected     taken       rss
#   full gp, gaussian                        222       137       115
#   full gp, student                         222       206       161
#   full gp, 3 classes                       136       103        93
#   inducing = 50                             75        28        28
#   inducing = 400                            45        14        15
#   (1 | g), a group a row                   248       160       151
#   (1 | g), a group a row, gaussian         480       281       259
#   (1 | g), 3 classes                       362       359       343
#   rw1                                      186       138       138
#   lattice of 300 x 300                     210       197       190
#   mesh                                     425       380       379
#   20 neighbours of 10,000                  231       231         -
#   5 neighbours of 10,000                    78        64         -
#   100 columns                              122       118       115
#   100 columns, 3 classes                   112        88        88
#   joint covariance, full gp of 500         233       229       229
#   joint covariance, full gp of 2500        334       303       288
#   joint covariance, (1 | g)                206       210       208
#
# cholesky_gradient's twenty steps (32 N x N per latent value) are reserved when L-BFGS begins, to which a
# short run does not come: 1039 MiB at N = 2000, 1083 expected.
suppressPackageStartupMessages(library(galvi))

cases <- list(
  "full gp, gaussian" = c("y ~ gp(x)", 3000), "full gp, student" = c("y ~ gp(x)", 3000, "student"),
  "full gp, 3 classes" = c("k ~ gp(x)", 1500, "categorical"),
  "inducing = 50" = c("b ~ gp(x, inducing = 50)", 1e5, "binomial"),
  "inducing = 400" = c("y ~ gp(x, inducing = 400)", 5e4, "gaussian"),
  "(1 | g), a group a row" = c("b ~ (1 | g)", 2e5, "binomial"),
  "(1 | g), a group a row, gaussian" = c("y ~ (1 | g)", 4e5, "gaussian"),
  "(1 | g), 3 classes" = c("k ~ (1 | g)", 1e5, "categorical"), "rw1" = c("b ~ rw1(g)", 1e5, "binomial"),
  "lattice of 300 x 300" = c("b ~ gmrf(g, lattice(300))", 9e4, "binomial"),
  "mesh" = c("b ~ spde(x, z, mesh = galvi_mesh(d[c('x', 'z')], 0.03))", 500, "binomial"),
  "20 neighbours of 10,000" = c("b ~ gp(x, z, neighbours = 20)", 1e4, "binomial"),
  "5 neighbours of 10,000" = c("b ~ gp(x, z, neighbours = 5)", 1e4, "binomial"),
  "100 columns" = c("b ~ X", 5e4, "binomial"), "100 columns, 3 classes" = c("k ~ X", 2e4, "categorical"),
  "joint covariance, full gp of 500" = c("joint: y ~ gp(x)", 3000),
  "joint covariance, full gp of 2500" = c("joint: y ~ gp(x)", 2500, 2500),
  "joint covariance, (1 | g)" = c("joint: y ~ (1 | g)", 3000)
)

number <- commandArgs(TRUE)
if (!length(number)) {
  cat(sprintf("%-34s %9s %9s %9s\n", "MiB", "expected", "taken", "rss"))
  for (i in seq_along(cases)) {
    words <- c("bench/memory.R", i)
    out <- system2(file.path(R.home("bin"), "Rscript"), words, stdout = TRUE, env = "OPENBLAS_NUM_THREADS=1")
    cat(out, sep = "\n")
  }
  quit(status = 0)
}

status <- function(field) {
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}
lattice <- function(side) {
  id <- matrix(seq_len(side^2), side)
  rbind(cbind(c(id[-1L, ]), c(id[-side, ])), cbind(c(id[, -1L]), c(id[, -side])))
}
case <- c(cases[[as.integer(number)]], "gaussian")
joint <- startsWith(case[1L], "joint: ")
formula <- as.formula(sub("joint: ", "", case[1L]))
n <- as.numeric(case[2L])
set.seed(1)
d <- data.frame(x = rnorm(n), z = rnorm(n), b = rbinom(n, 1, 0.5), g = seq_len(n))
d$k <- factor(sample(letters[1:3], n, TRUE))
d$y <- sin(d$x) + rnorm(n)
d$X <- if (grepl("X", case[1L])) matrix(rnorm(n * 100), n)
control <- galvi_control(threads = 1, hyper_iterations = 3, max_iterations = 5)
options(warn = -1)  # of fits that stop early
invisible(galvi(dist ~ gp(speed), cars, control = control))  # what is loaded at first use

ready <- function() {
  invisible(gc())
  writeLines("5", "/proc/self/clear_refs")  # the peak begins here
  before <<- c(status("VmSize"), status("VmRSS"))
}
before <- after <- expected <- NULL
done <- function() after <<- c(status("VmPeak"), status("VmHWM"))
if (joint) {
  seen <- if (length(cases[[as.integer(number)]]) > 2L) 2500 else 500
  fit <- galvi(formula, d[seq_len(seen), ], control = control)
  expected <- galvi:::prediction_size(fit, n, TRUE)$bytes
  ready()
  invisible(predict(fit, d, type = "link", covariance = TRUE))
  done()
} else {
  suppressMessages(trace("fit_model", quote({
    size <- galvi:::fit_size(model, method, control)$bytes
    assign("expected", size, globalenv())
    get("ready", globalenv())()
  }), exit = quote(get("done", globalenv())()), where = asNamespace("galvi"), print = FALSE))
  invisible(galvi(formula, d, case[3L], control = control))
}
taken <- after - before
name <- names(cases)[as.integer(number)]
cat(sprintf("%-34s %9.0f %9.0f %9.0f\n", name, expected / 2^20, taken[1L], taken[2L]))
