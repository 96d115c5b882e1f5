# Models of any number of rows, one for each solver, each fitted in a process of its own: what bench/table.R says of
# growth, threads and memory.   alone("markov", 1e5) runs Rscript bench/_growth.R markov 1e5 1 file.

at_places <- function(n) {
  set.seed(n)
  d <- data.frame(x1 = runif(n, -3, 3), x2 = runif(n, -3, 3), t = seq_len(n) / 50)
  f <- sin(1.5 * d$x1) * cos(d$x2) + sin(d$t)
  transform(d, y = rbinom(n, 1, plogis(f)), count = rpois(n, exp(f)))
}
in_groups <- function(n) {
  set.seed(n)
  d <- data.frame(x = rnorm(n), g = sample(n / 10, n, TRUE))
  f <- 0.5 * d$x + 0.7 * rnorm(n / 10)[d$g]
  transform(d, y = f + rnorm(n), count = rpois(n, exp(f)))
}
lattice <- function(side) {
  index <- matrix(seq_len(side^2), side)
  edges <- rbind(cbind(c(index[-side, ]), c(index[-1, ])), cbind(c(index[, -side]), c(index[, -1])))
  Matrix::sparseMatrix(edges[, 1], edges[, 2], x = 1, dims = rep(side^2, 2), symmetric = TRUE)
}
counted_on_lattice <- function(n) {
  side <- round(sqrt(n))
  d <- expand.grid(row = seq_len(side), column = seq_len(side))
  set.seed(side)
  smooth <- sin(6 * d$row / side) * cos(5 * d$column / side)
  d <- data.frame(cell = seq_len(side^2), E = runif(side^2, 2, 20), smooth)
  transform(d, count = rpois(side^2, E * exp(0.4 * smooth + rnorm(side^2, 0, 0.15))))
}
abundances <- function(n, species) {
  set.seed(n)
  eta <- matrix(rnorm(2 * n), n) %*% matrix(rnorm(2 * species, 0, 0.7), 2) + rep(rnorm(species, 0.5), each = n)
  matrix(rnbinom(n * species, size = 2, mu = exp(eta)), n, dimnames = list(NULL, paste0("s", seq_len(species))))
}
fixed_se <- galvi::se(variance = galvi::fixed(4), lengthscale = galvi::fixed(1))

# sizes: a decade of n. time, memory: the exponents of theory. model(n): arguments of galvi() but for `hyper`
growth_cases <- list(
  "dense kernel: gp()" = list(sizes = c(400, 4000), time = 3, memory = 2, model = function(n) list(
    y ~ gp(x1, x2, kernel = fixed_se), at_places(n), binomial()
  )),
  "markov: gp() over one input" = list(sizes = c(1e4, 1e5), time = 1, memory = 1, model = function(n) list(
    count ~ gp(t, kernel = matern32(1, 1)), at_places(n), poisson()
  )),
  "projected: 20 columns" = list(sizes = c(3e4, 3e5), time = 1, memory = 1, model = function(n) {
    list(y ~ ., regression(n, 1)$train, binomial())
  }),
  "projected: 100 inducing points" = list(sizes = c(1e4, 1e5), time = 1, memory = 1, model = function(n) list(
    y ~ gp(x1, x2, inducing = 100), at_places(n), binomial()
  )),
  "sparse: (1 | g), groups of 10" = list(sizes = c(3e4, 3e5), time = 1, memory = 1, model = function(n) list(
    count ~ x + (1 | g), in_groups(n), poisson()
  )),
  "sparse: Besag + iid on a lattice" = list(sizes = c(1e4, 1e5), time = 1.5, memory = 1.1, model = function(n) {
    graph <- lattice(round(sqrt(n)))
    list(count ~ offset(log(E)) + iid(cell, variance = 0.02) + gmrf(cell, graph, variance = 0.05),
         counted_on_lattice(n), poisson())
  }),
  "sparse: gp(neighbours = 10)" = list(sizes = c(1000, 1e4), time = 1.5, memory = 1.1, model = function(n) list(
    count ~ gp(x1, x2, kernel = matern32(1, 0.3), neighbours = 10), at_places(n), poisson()
  )),
  "units: 2 factors of 20 species" = list(sizes = c(300, 3000), time = 1, memory = 1, model = function(n) {
    Y <- abundances(n, 20)
    list(responses(Y) ~ factors(2), family = poisson())
  })
)

# MiB of the process: "VmHWM" at its peak, "VmRSS" now; NA where the system does not tell
memory <- function(field) {
  if (!file.exists("/proc/self/status")) return(NA)
  line <- grep(paste0("^", field, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line)) / 1024
}

# One backend for all processes: each would choose its own by a short trial, and bits would differ.
# -> list(elapsed, cpu, MiB of the fit's peak above the data, value: numbers whose bits are compared)
alone <- function(name, n, threads = 1, hyper = "fixed", blas_threads = 1) {
  file <- tempfile(fileext = ".rds")
  words <- c("bench/_growth.R", name, n, threads, hyper, file, galvi:::galvi_backend("auto"))
  system2(file.path(R.home("bin"), "Rscript"), shQuote(words),
          env = paste0(c("OPENBLAS_NUM_THREADS=", "OMP_NUM_THREADS=", "MKL_NUM_THREADS="), blas_threads))
  readRDS(file)
}

asked <- commandArgs(TRUE)
if (identical(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)), "bench/_growth.R")) {
  suppressPackageStartupMessages(library(galvi))
  source("bench/_large.R")
  control <- galvi_control(threads = as.integer(asked[3]), backend = asked[6])
  suppressWarnings(galvi(y ~ gp(x1, x2), at_places(100), binomial(), control = control))  # what a first call sets up
  model <- growth_cases[[asked[1]]]$model(as.numeric(asked[2]))
  invisible(gc())
  before <- memory("VmRSS")
  if (!is.na(before)) writeLines("5", "/proc/self/clear_refs")  # the peak begins here
  fit <- NULL
  time <- system.time(fit <- do.call(galvi, c(model, list(hyper = asked[4], control = control, verbose = FALSE))))
  peak <- memory("VmHWM") - before
  saveRDS(list(
    elapsed = time[["elapsed"]], cpu = time[["user.self"]] + time[["sys.self"]], MiB = peak,
    value = list(fit$elbo, fit$hyper$estimate, head(as.vector(predict(fit, type = "link")), 1000))
  ), asked[5])
}
