# What does it take to come within 1e-3 nats of the optimum: fixed points, or gradients on a Cholesky factor?
#
# The comparison of Sheth and Khardon (2016, section 4): Bayesian GLMs with z-scored features and slopes from N(0, 0.1),
# and full Gaussian processes of 500 rows; logistic, poisson and laplace likelihoods, and student (df = 3, scale^2 =
# 1/3), which is not log-concave, for the Gaussian process. FPi is "fixed_point", FPb "fixed_point_batch"; "cholesky
# (raw)" is L-BFGS over the whitened mean and factor from the prior (the paper starts at V = I, or 0.1 I for counts),
# "cholesky" what galvi runs, from its own start and in units that follow the posterior. Seconds and flops are those of
# the trace when the bound came within 1e-3 nats of the best that any method found; "left" is what was missing at the
# end where it did not come so far (the largest GLM is cut off after 100 iterations, which take about a minute).
source("bench/_helper.R")

linear_data <- function(n, d, family) {
  X <- matrix(rnorm(n * d), n) %*% chol(0.3 + 0.7 * diag(d))  # features are correlated
  X <- scale(X)
  eta <- drop(X %*% rnorm(d, sd = 1 / sqrt(d)))
  y <- switch(family,
    logistic = rbinom(n, 1, plogis(2 * eta)), poisson = rpois(n, exp(0.7 * eta)),
    laplace = eta + 0.5 * rexp(n) * sample(c(-1, 1), n, TRUE)
  )
  data.frame(y = y, X)
}
smooth_data <- function(n, family) {
  x <- matrix(runif(2 * n, -3, 3), n)
  eta <- sin(2 * x[, 1]) + cos(1.5 * x[, 2])
  y <- switch(family,
    logistic = rbinom(n, 1, plogis(2 * eta)), poisson = rpois(n, exp(eta)),
    laplace = eta + 0.5 * rexp(n) * sample(c(-1, 1), n, TRUE), student = eta + sqrt(1 / 3) * rt(n, 3)
  )
  data.frame(y = y, x1 = x[, 1], x2 = x[, 2])
}
families <- list(
  logistic = binomial(), poisson = poisson(), laplace = laplace(scale = fixed(0.5)),
  student = student(df = fixed(3), scale = fixed(sqrt(1 / 3)))
)

# The model as the core reads it: fitted here to a tolerance that ends at once.
core_model <- function(formula, data, family, ...) {
  at_once <- galvi_control(tol = 1e300, threads = 1)
  galvi(formula, data, families[[family]], hyper = "fixed", control = at_once, ...)$model
}
glm_model <- function(n, d, family) {
  core_model(y ~ 0 + ., linear_data(n, d, family), family, prior = normal(0, sqrt(0.1)))
}
gp_model <- function(n, family) {
  core_model(y ~ 0 + gp(x1, x2, kernel = se(variance = fixed(2), lengthscale = fixed(1))),
             smooth_data(n, family), family)
}

methods <- list(
  FPi = "fixed_point", FPb = "fixed_point_batch", cholesky = "cholesky_gradient",
  "cholesky (raw)" = "cholesky_gradient", newton = "newton"
)

run <- function(model, name, iterations) {
  if (galvi:::inference_refusals(model)[[methods[[name]]]] != "") return(NULL)
  control <- galvi_control(tol = 1e-5, max_iterations = iterations, threads = 1)
  control <- c(unclass(control), list(cold = grepl("raw", name)))
  galvi:::fit_model(model, methods[[name]], "fixed", control)$trace
}

compare <- function(case, model, iterations = 500) {
  traces <- lapply(setNames(nm = names(methods)), function(name) run(model, name, iterations))
  best <- max(vapply(Filter(Negate(is.null), traces), function(trace) max(trace$elbo), 0))
  do.call(rbind, lapply(names(traces), function(name) {
    trace <- traces[[name]]
    if (is.null(trace)) {
      return(data.frame(case = case, method = name, seconds = NA, Gflops = NA, sweeps = NA, left = NA))
    }
    at <- which(trace$elbo >= best - 1e-3)[1]
    data.frame(
      case = case, method = name, seconds = trace$seconds[at], Gflops = trace$flops[at] / 1e9,
      sweeps = trace$sweeps[at], left = if (is.na(at)) best - max(trace$elbo) else NA
    )
  }))
}

set.seed(1)
machine(500)
sizes <- list(c(1000, 50), c(10000, 100), c(50000, 200))
table <- do.call(rbind, lapply(names(families), function(family) {
  rbind(
    if (family != "student") do.call(rbind, lapply(sizes, function(size) {
      iterations <- if (size[1] * size[2]^2 > 1e9) 100 else 500
      case <- sprintf("%s %d x %d", family, size[1], size[2])
      compare(case, glm_model(size[1], size[2], family), iterations)
    })),
    compare(sprintf("%s gp 500", family), gp_model(500, family))
  )
}))
show_table(table)

# Answer (2-core x86-64 machine, shared, R 4.2.2, OpenBLAS 0.3.21, one thread): FPi needs 4 to 7 sweeps on
# GLMs (0.005 to 3 s) and 6 to 17 on Gaussian processes (0.05 to 0.08 s), student's included. In flops FPb
# takes 0.9 to 1.8 times as many on GLMs and 1.1 to 2.1 times on Gaussian processes, "cholesky" 0.8 to 2.6
# and 1.3 to 4.9 times, newton (full gp() only) 0.3 to 0.7 times. "cholesky (raw)" takes 7 to 130 times FPi's
# flops and 6 to 73 times its seconds (50,000 x 200: 43 s against 2.8 for logistic, 39 against 3.0 for
# laplace); on 50,000 rows of counts it is still 34,000 nats away after 100 iterations.
