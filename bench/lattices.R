# Besag + iid on lattices, poisson: time and memory from 10^3 to 10^5 nodes, precisions fixed and learned.
#
#   Rscript bench/lattices.R          (a few minutes)
#
# Every size runs in a separate R process, to measure its peak memory (above that of the smallest lattice). The graph
# is a sparse matrix; "graph" is the time to read it and the formula in seconds, "fit" the whole call at fixed
# precisions.
source("bench/_helper.R")

lattice_case <- function(side) {
  index <- matrix(seq_len(side^2), side)
  edges <- rbind(
    cbind(c(index[-side, ]), c(index[-1, ])), cbind(c(index[, -side]), c(index[, -1]))
  )
  graph <- Matrix::sparseMatrix(edges[, 1], edges[, 2], x = 1, dims = rep(side^2, 2), symmetric = TRUE)
  set.seed(side)
  smooth <- outer(seq_len(side), seq_len(side), function(i, j) sin(6 * i / side) * cos(5 * j / side))
  data <- data.frame(cell = seq_len(side^2), E = runif(side^2, 2, 20))
  data$count <- rpois(side^2, data$E * exp(0.4 * c(smooth) + rnorm(side^2, 0, 0.15)))
  list(data = data, graph = graph)
}
fit_lattice <- function(case, hyper) {
  graph <- case$graph
  galvi(
    count ~ offset(log(E)) + iid(cell, variance = 0.02) + gmrf(cell, graph, variance = 0.05), case$data,
    poisson(), hyper = hyper, control = galvi_control(threads = 1)
  )
}
peak_memory <- function() {
  line <- grep("^VmHWM", readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("\\D", "", line)) / 1024
}
one_size <- function(side, learned) {
  case <- lattice_case(side)
  fit <- NULL
  held <- cpu_seconds(function() fit <<- fit_lattice(case, "fixed"))
  row <- data.frame(
    nodes = side^2, held = held, inference = max(fit$trace$seconds), factorisations = fit$cost$factorisations,
    MiB = if (file.exists("/proc/self/status")) peak_memory() else NA, gap = fit$convergence$gap,
    learned = NA, steps = NA
  )
  if (learned) {
    row$learned <- cpu_seconds(function() fit <<- fit_lattice(case, "optimise"))
    row$steps <- fit$cost$factorisations
  }
  row
}

sides <- c(32, 56, 100, 178, 316)
at <- Sys.getenv("GALVI_LATTICE")
if (nzchar(at)) {
  saveRDS(one_size(sides[as.integer(at)], TRUE), Sys.getenv("GALVI_LATTICE_FILE"))
  quit()
}
rows <- lapply(seq_along(sides), function(i) {
  file <- tempfile(fileext = ".rds")
  Sys.setenv(GALVI_LATTICE = i, GALVI_LATTICE_FILE = file)
  system2(file.path(R.home("bin"), "Rscript"), "bench/lattices.R")
  readRDS(file)
})
table <- do.call(rbind, rows)
machine()
show_table(table)
exponent <- function(y, rows = table$nodes > 3000) coef(lm(log(y[rows]) ~ log(table$nodes[rows])))[[2]]
above <- table$MiB - table$MiB[1]
cat(sprintf("seconds grow as nodes^%.2f (held) and nodes^%.2f (learned), memory as nodes^%.2f\n",
            exponent(table$held), exponent(table$learned), exponent(above)))
target("Besag + iid, 10^5 nodes, precisions held", tail(table$held, 1), 10, "s")

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread), CPU seconds of the whole call:
#
#    nodes   fixed   factorisations   learned   factorisations   peak MiB
#     1024    0.04          8           0.10         50             230
#     3136    0.08          9           0.24         36             241
#    10000    0.24          9           0.98         42             277
#    31684    0.82          9           4.1          48             343
#    99856    3.1           9          25            73             566
#
# Time grows as nodes^1.05 (fixed) and nodes^1.34 (learned), memory as nodes^0.96; 10^5 nodes at fixed
# precisions take 3.1 s, a third of what is allowed.
