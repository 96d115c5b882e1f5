# Kernels from R functions against the kernels of the core.

kernel_fit <- function(...) galvi(..., verbose = FALSE)

r_se <- function(gradient = NULL, variance = 1, lengthscale = 1, ...) {
  custom_kernel(function(x, z, variance, lengthscale) {
    d2 <- outer(rowSums(x^2), rowSums(z^2), "+") - 2 * tcrossprod(x, z)
    variance * exp(-d2 / (2 * lengthscale^2))
  }, parameters = list(variance = variance, lengthscale = lengthscale), gradient = gradient, ...)
}
se_gradient <- function(x, z, variance, lengthscale) {
  d2 <- outer(rowSums(x^2), rowSums(z^2), "+") - 2 * tcrossprod(x, z)
  k <- exp(-d2 / (2 * lengthscale^2))
  list(k, variance * k * d2 / lengthscale^3)
}
kernel_data <- function(n = 60) {
  set.seed(1)
  d <- data.frame(x = sort(runif(n, 0, 6)), z = runif(n))
  transform(d, y = sin(x) + 0.2 * rnorm(n), g = factor(rep(1:2, length.out = n)), n = rpois(n, exp(sin(x))))
}

test_that("a custom copy of a kernel has the kernel's fits, with or without a gradient", {
  d <- kernel_data()
  ours <- kernel_fit(y ~ gp(x, kernel = se(1, 1)), d)
  for (kernel in list(r_se(), r_se(se_gradient))) {
    copy <- kernel_fit(y ~ gp(x, kernel = kernel), d)
    expect_close(copy$elbo, ours$elbo, 1e-6)
    expect_close(copy$hyper$estimate[2:3], ours$hyper$estimate[2:3], 1e-3)
    expect_close(predict(copy, d[c(3, 50), ], se.fit = TRUE)$se.fit, predict(ours, d[c(3, 50), ], se.fit = TRUE)$se.fit,
                 1e-4)
  }
  held <- function(kernel, formula = n ~ gp(x, kernel = kernel), ...) {
    environment(formula) <- environment()
    kernel_fit(formula, d, poisson(), hyper = "fixed", ...)$elbo
  }
  pair <- function(formula, ...) expect_close(held(r_se(), formula, ...), held(se(1, 1), formula, ...), 1e-7)
  pair(n ~ gp(x, kernel = kernel))
  pair(n ~ gp(x, z, kernel = kernel))
  pair(n ~ gp(x, by = g, kernel = kernel))
  pair(n ~ gp(x, kernel = kernel + linear(variance = 0.5)))
  pair(n ~ gp(x, kernel = kernel * matern32(fixed(1), 2)))
  pair(n ~ gp(x, inducing = cbind(c(0, 2, 4, 6)), kernel = kernel))
})

test_that("columns are those that were asked for", {
  d <- kernel_data()
  ours <- kernel_fit(y ~ gp(x, z, kernel = se(1, 1, columns = "z")), d, hyper = "fixed")
  expect_close(kernel_fit(y ~ gp(x, z, kernel = r_se(columns = "z")), d, hyper = "fixed")$elbo, ours$elbo, 1e-7)
})

test_that("inducing points move by differences", {
  d <- kernel_data(80)
  start <- cbind(c(0.5, 1, 2, 5))
  moved <- function(kernel) {
    kernel_fit(n ~ gp(x, inducing = start, kernel = kernel), d, poisson(),
               control = galvi_control(move_inducing = TRUE))
  }
  ours <- moved(se(1, 1))
  copy <- moved(r_se())
  expect_close(copy$elbo, ours$elbo, 1e-4)
  expect_gt(max(abs(copy$inducing[[1]] - start)), 0.1)
})

test_that("a fit with a custom kernel is saved", {
  d <- kernel_data(30)
  kernel <- r_se()
  fit <- kernel_fit(y ~ gp(x, kernel = kernel), d)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d[1:2, ]), predict(fit, d[1:2, ]))
  expect_output(print(kernel), "custom\\(variance = 1, lengthscale = 1\\)")
})

test_that("what is wrong with a kernel is said when it is made", {
  refused <- function(value, message, ...) {
    expect_error(custom_kernel(value, ...), message, class = "galvi_error_callback")
  }
  distance <- function(x, z) abs(outer(x[, 1], z[, 1], "-"))
  refused(3, "`value` must be a function\\(x, z\\), not 3")
  refused(function(x, z) 1, "matrix of nrow\\(x\\) x nrow\\(z\\) \\(20 x 20 here\\), not 1")
  refused(function(x, z) outer(x[, 1], z[, 1], "-"), "not symmetric")
  refused(function(x, z) -distance(x, z), "negative eigenvalue")
  refused(function(x, z) exp(-distance(x, z)) * nrow(x), "the two rows alone")
  refused(function(x, z) distance(x, z) / 0, "covariances must be finite")
  refused(function(x, z) stop("no such thing"), "fails: no such thing")
  refused(function(x, z, l) exp(-distance(x, z) / l), "must say where `l` starts")
  laplace <- function(x, z, l) exp(-distance(x, z) / l)
  refused(laplace, "list of 1 matrix", parameters = list(l = 1), gradient = function(x, z, l) laplace(x, z, l))
  refused(laplace, "differences of `value`", parameters = list(l = 1), gradient = function(x, z, l) list(laplace(x, z, l)))
  expect_error(custom_kernel(laplace, list(l = -1)), "`l`", class = "galvi_error_kernel")
})
