# How does the cost of one iteration grow with n, and how much of its time is level-3 linear algebra?
#
# Counts on the plane, n = 500 to 5000, full Gaussian process, se(variance = 1, lengthscale = 0.7), exact
# expectations. CPU seconds and flops of an iteration: those of a fit of two iterations less those of a fit
# of none, so that the prior's covariance and the start are not in them; "exponent": slope of the logarithm
# of the seconds from one n to the next, and by least squares over all. Level-3 flops are those counted less
# those of products of a matrix with a vector (2 n^2 each; "products" of them). Their share of the CPU
# seconds: "least" at the rate of a product of two n x n matrices, the fastest that there is, "most" at that
# of galvi's Cholesky factorisation with inverse, both measured at the same n. It is a share of time by
# rates, not by a profiler.
source("bench/_helper.R")
source("tools/probes.R")

sizes <- c(500, 1000, 2000, 3500, 5000)
methods <- c("newton", "fixed_point", "natural_gradient", "dual", "coordinate_ascent")
kernel <- se(variance = fixed(1), lengthscale = fixed(0.7))

counts <- function(n) {
  set.seed(n)
  x <- matrix(rnorm(2 * n), n)
  data.frame(x1 = x[, 1], x2 = x[, 2], y = rpois(n, exp(1 + sin(2 * x[, 1]) * cos(x[, 2]))))
}

# CPU seconds and the last row of the trace after so many iterations.
run <- function(model, method, iterations) {
  control <- galvi_control(tol = 1e-300, threads = 1)
  control$max_iterations <- as.integer(iterations)
  seconds <- cpu_seconds(function() fit <<- galvi:::fit_model(model, method, "fixed", control, NULL))
  end <- fit$trace[nrow(fit$trace), ]
  c(seconds = seconds, unlist(end[c("iteration", "flops", "products")]))
}

# Flops per second of a product, and of a factorisation with inverse.
level3_rates <- function(n) {
  A <- chol_case(n)
  L <- t(chol(A))
  repeats <- max(1, round(5e9 / n^3))
  seconds <- probe_dense_seconds("cholesky", A, L, "auto", repeats) +
    probe_dense_seconds("invert_from_cholesky", A, L, "auto", repeats)
  c(product = 2 * n^3 / cpu_seconds(function() A %*% L, repeats), factor = n^3 / seconds)
}

at_size <- function(n) {
  design <- galvi_design(y ~ 0 + gp(x1, x2, kernel = kernel), counts(n), poisson())
  model <- galvi_model(design, hyper = "fixed")
  rates <- level3_rates(n)
  repeats <- if (n <= 1000) 5 else 1
  do.call(rbind, lapply(methods, function(method) {
    each <- replicate(repeats, {
      start <- run(model, method, 0)
      difference <- run(model, method, 2) - start
      difference / difference["iteration"]
    })
    one <- apply(each, 1, median)
    level3 <- (one[["flops"]] - 2 * n^2 * one[["products"]]) / one[["seconds"]]
    data.frame(
      method = method, n = n, seconds = one[["seconds"]], Gflops = one[["flops"]] / 1e9,
      units = one[["flops"]] / (n^3 / 3), products = one[["products"]],
      least = level3 / rates[["product"]], most = min(level3 / rates[["factor"]], 1)
    )
  }))
}

fit <- NULL
table <- do.call(rbind, lapply(sizes, at_size))
table <- table[order(match(table$method, methods), table$n), ]
table$exponent <- ave(seq_len(nrow(table)), table$method, FUN = function(i) {
  c(NA, diff(log(table$seconds[i])) / diff(log(table$n[i])))
})
machine(1000)
show_table(table)
slopes <- vapply(methods, function(method) {
  rows <- table[table$method == method, ]
  c(seconds = coef(lm(log(seconds) ~ log(n), rows))[[2]], flops = coef(lm(log(Gflops) ~ log(n), rows))[[2]])
}, c(seconds = 0, flops = 0))
print(round(slopes, 2))

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread): an iteration of newton, fixed_point or
# natural_gradient is 3.0 to 3.5 units of n^3 / 3 flops, of dual 6 (two evaluations), of coordinate_ascent 9.
# Flops grow as n^2.94 to n^3.00, seconds as n^2.6 to n^2.8, as BLAS gets faster with size: n^2.1 to 2.6 from
# 500 to 1000, n^2.8 to n^3.0 from 3500 to 5000. Level-3 calls take, at n = 500, 1000, 2000 and 5000, at least
# 40, 54, 60 and 67% of newton's time and at most 54, 78, 91 and 94% (its GMRES is products of a matrix with a
# vector), of the others' at least 63 to 79% everywhere. A profile (perf, n = 2000, newton) agrees: 80% of the
# fit's samples are in OpenBLAS. At n = 5000 an iteration takes 2.7 to 2.9 s, coordinate ascent's 7.8 s.
