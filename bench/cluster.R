# How much do workers speed up a pass over the rows, and at what number do further workers stop helping?
#
#   Rscript bench/cluster.R      (two minutes)
#
# Measured here: CPU seconds of a pass in one process (as a worker answers it, of 1e5 rows, in proportion for
# more), the bytes of its question and of its answer, and what R takes to write and read them. Assumed: a
# network of 1 Gbit/s and 1 ms. A star (what galvi_control(cluster = ) is: the master writes to and reads from
# each worker in turn) takes compute / P + P (bytes / bandwidth + reading and writing) + 2 latencies; a tree
# of workers that add log2(P) times those. Speed-ups by star / by tree, and the number of workers at which a
# star is fastest; 2 x86-64 cores, R 4.2.2, OpenBLAS:
#
#                        s a pass     kB  handling        P = 8      P = 64     P = 512   fastest
# M 100          , N 1e+06      1.3     91    0.0 ms     8 /    8   19 /   36    3 /   48        42
# M 100          , N 1e+08    131.0     91    0.0 ms     8 /    8   63 /   63  208 /  467       425
# M 100, gradient, N 1e+06      3.2    190    0.0 ms     8 /    8   21 /   45    4 /   83        45
# M 100, gradient, N 1e+08    320.0    190    0.0 ms     8 /    8   63 /   64  224 /  487       451
# M 200, gradient, N 1e+06      9.7    700    0.2 ms     8 /    8   18 /   49    3 /  108        41
# M 200, gradient, N 1e+08    970.0    700    0.2 ms     8 /    8   62 /   64  198 /  494       407
# M 500          , N 1e+06     21.1   2052    4.5 ms     8 /    8   13 /   45    2 /   86        32
# M 500          , N 1e+08   2115.0   2052    4.5 ms     8 /    8   62 /   64  143 /  488       318
#
# A star stops gaining at the number of workers in the last column: with 25,000 rows each of a million, with
# 250,000 each of 1e8. Up to 8 workers it loses nothing, and a tree would gain nothing; from 64 workers on a
# tree would be useful.
#
# A fit of 2e5 rows with 81 points, by the clock on two quiet cores: one thread 1.7 s, two threads 0.9 s, two
# workers 1.6 s: a fit so short is mostly the rows' way to the workers and the last pass, which is the master's.
source("bench/_helper.R")
core <- asNamespace("galvi")

model_of <- function(points, inputs, rows) {
  set.seed(1)
  x <- matrix(rnorm(rows * inputs), rows)
  y <- as.numeric(runif(rows) < plogis(x[, 1]))
  d <- data.frame(y = y, x)
  formula <- y ~ 1 + gp(., kernel = se(1, 3, ard = TRUE), inducing = x[seq_len(points), ])
  model <- galvi_model(galvi_design(formula, d, binomial()))
  core$core_model(model, "fixed_point")
}

# Seconds and bytes of a pass at the posterior after two steps.
pass_of <- function(model, gradient) {
  bare <- core$without_rows(model)
  block <- model[c("y", "size", "weights", "offset", "designs")]
  n <- length(model$y)
  worker <- core$new_worker(bare, block, n, 0, 1L, "blas")
  asked <- NULL
  bare$source <- list(rows = n, ask = function(question) {
    asked <<- question
    core$ask_worker(worker, question)
  })
  control <- galvi_control(max_iterations = 1, tol = 1e10)
  invisible(core$fit_model(bare, "fixed_point", "fixed", control))
  asked$gradient <- gradient
  answer <- core$ask_worker(worker, asked)
  seconds <- cpu_seconds(function() core$ask_worker(worker, asked))
  message <- list(asked, answer)
  written <- serialize(message, NULL, xdr = FALSE)
  list(
    seconds = seconds / n, bytes = length(written),
    handling = cpu_seconds(function() unserialize(serialize(message, NULL, xdr = FALSE)), 20)
  )
}

latency <- 1e-3
bandwidth <- 125e6
round_of <- function(pass, rows, P, tree) {
  messages <- if (tree) log2(P) else P
  waits <- if (tree) log2(P) else 1
  pass$seconds * rows / P + messages * (pass$bytes / bandwidth + pass$handling) + 2 * latency * waits
}

settings <- data.frame(points = c(100, 100, 200, 500), inputs = 8, gradient = c(FALSE, TRUE, TRUE, FALSE))
workers <- c(8, 64, 512)
cat(sprintf(
  "%-22s %8s %6s %9s  %s %9s\n", "", "s a pass", "kB", "handling",
  paste(sprintf("%11s", paste("P =", workers)), collapse = " "), "fastest"
))
for (i in seq_len(nrow(settings))) {
  s <- settings[i, ]
  pass <- pass_of(model_of(s$points, s$inputs, 1e5), s$gradient)
  for (rows in c(1e6, 1e8)) {
    alone <- pass$seconds * rows
    speed <- vapply(workers, function(P) {
      sprintf("%4.0f / %4.0f", alone / round_of(pass, rows, P, FALSE), alone / round_of(pass, rows, P, TRUE))
    }, "")
    best <- sqrt(alone / (pass$bytes / bandwidth + pass$handling))
    cat(sprintf(
      "M %3d%10s, N %5.0e %8.1f %6.0f %6.1f ms  %s %9.0f\n", s$points, if (s$gradient) ", gradient" else "",
      rows, alone, pass$bytes / 1e3, 1e3 * pass$handling, paste(speed, collapse = " "), best
    ))
  }
}

# Two workers against two threads: seconds of the clock of a fit, the least of five.
cluster <- parallel::makePSOCKcluster(2)
invisible(parallel::clusterCall(cluster, .libPaths, .libPaths()))
set.seed(1)
d <- data.frame(x = runif(2e5, -3, 3), z = runif(2e5, -3, 3))
d$y <- rbinom(2e5, 1, plogis(sin(d$x) + d$z))
points <- as.matrix(expand.grid(x = -4:4, z = -4:4) * 0.75)
fit <- function(...) {
  galvi(y ~ 1 + gp(x, z, inducing = points), d, binomial(), method = "fixed_point", hyper = "fixed",
    control = galvi_control(backend = "blas", ...))
}
least <- function(...) {
  seconds <- numeric(5)
  for (i in seq_along(seconds)) seconds[i] <- system.time(fit(...))[["elapsed"]]
  min(seconds)
}
cat(sprintf(
  "one thread %.1f s, two threads %.1f s, two workers %.1f s\n", least(threads = 1), least(threads = 2),
  least(threads = 1, cluster = cluster)
))
parallel::stopCluster(cluster)
