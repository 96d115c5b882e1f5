# What rows give to the bound: sums that add up over any parts, and to the same bits in any number of threads.

rounding <- 1e-10  # of sums that are taken in another order

sums_case <- function(seed) {
  set.seed(seed)
  n <- 700
  d <- data.frame(x = runif(n, -2, 2), z = rnorm(n), g = factor(sample(4, n, TRUE)), w = sample(1:3, n, TRUE))
  eta <- sin(2 * d$x) + 0.3 * d$z
  d$count <- rpois(n, exp(eta))
  d$class <- factor(sample(c("a", "b", "c"), n, TRUE))
  d
}
sums_fits <- function() {
  d <- sums_case(1)
  list(
    columns = galvi(count ~ x + z + g, d, poisson(), weights = w),
    sparse = galvi(count ~ gp(x, z, inducing = 15), d, negbinomial()),
    by = galvi(count ~ z + gp(x, by = g, inducing = 8), d, poisson(), hyper = "fixed"),
    classes = galvi(class ~ x + z, d, categorical()),
    bound = galvi(class ~ x + z, d, categorical(), expectation = "bouchard")
  )
}

test_that("parts of rows have all fields that rows have, in the core and in R", {
  n <- 7L
  set.seed(1)
  model <- list(
    y = rnorm(n), size = runif(n), weights = runif(n), censoring = matrix(rnorm(3L * n), n),
    known = matrix(runif(3L * n), n), counts = matrix(rpois(4L * n, 3) + 0, n), part = sample(3L, n, TRUE)
  )
  expect_setequal(c(names(model), "offset"), row_numbers)
  as_matrices <- function(rows) {
    rows$y <- rows$censoring[, 1L]
    rows$part <- rows$part - 1  # counted from 0 in the core
    lapply(rows, function(x) if (is.matrix(x)) x else matrix(x))
  }
  for (at in list(c(6L, 2L, 2L), 3:5, n)) {
    expect_identical(probe_data_fields(model, at)[names(model)], as_matrices(take_row_numbers(model, at)))
  }
  expect_identical(probe_data_fields(model, 3L, 4L)[names(model)], as_matrices(take_row_numbers(model, 3:6)))
  expect_named(probe_data_fields(model, 1L), names(model), ignore.order = TRUE)
})

test_that("a start of either kind serves algorithms of either kind", {
  d <- sums_case(2)
  fit <- galvi(count ~ x + z + g, d, poisson())
  control <- quiet_control(tol = 1e-10)
  of_sums <- fit_model(fit$model, "fixed_point", "fixed", control)
  of_sites <- fit_model(fit$model, "coordinate_ascent", "fixed", control)
  expect_false(is.null(of_sums$global))
  expect_null(of_sites$global)
  starts <- list(of_sums["global"], of_sums[c("lambda", "b")], of_sites[c("lambda", "b")])
  for (method in c("fixed_point", "coordinate_ascent")) for (start in starts) {
    found <- fit_model(fit$model, method, "fixed", control, start)
    expect_equal(found$elbo, of_sums$elbo, tolerance = rounding)
    expect_equal(found$mean, of_sums$mean, tolerance = 1e-6)  # the bound is flat at its optimum
  }
  # from the optimum itself there is nothing left to do
  expect_identical(nrow(fit_model(fit$model, "fixed_point", "fixed", control, of_sums["global"])$trace), 1L)
})

test_that("contributions of parts add up to that of all rows, and to the bound", {
  for (fit in sums_fits()) {
    q <- fit$posterior
    whole <- contribution(fit, q, gradient = TRUE)
    expect_identical(whole$rows, 700)
    part <- sample(rep(1:5, length.out = 700))
    parts <- lapply(1:5, function(p) contribution(fit, q, part == p, gradient = TRUE))
    added <- Reduce(`+`, parts)
    for (name in setdiff(names(whole), "gradient")) {
      expect_equal(added[[name]], whole[[name]], tolerance = rounding, label = name)
    }
    # at the optimum it is the sum of terms that cancel
    expect_lt(max(0, abs(added$gradient - whole$gradient)), rounding)
    # KL in the coordinates of the curvature: A = P + curvature, and S at the optimum is its inverse
    kl <- sum(vapply(seq_along(whole$slope), function(k) {
      L <- length(whole$slope[[k]])
      A <- diag(L) + whole$curvature[[k]]
      (sum(whole$slope[[k]]^2) + sum(diag(solve(A))) - L + c(determinant(A)$modulus)) / 2
    }, 0))
    expect_equal(whole$value - kl, fit$elbo, tolerance = 1e-6)
  }
})

test_that("the gradient is the derivative of the bound, q held in its coordinates", {
  d <- sums_case(2)
  fit <- galvi(count ~ z + gp(x, kernel = linear()), d, poisson(), hyper = "fixed")
  q <- fit$posterior
  got <- contribution(fit, q, gradient = TRUE)$gradient
  # whitened coefficients are held: those of a term move with the sd
  sds <- lapply(fit$model$predictors[[1]]$terms, function(term) {
    function(hyper) sqrt(apply(term$factors, 1, function(at) prod(hyper[at[at > 0]])))
  })
  scale <- function(hyper) unlist(lapply(sds, function(sd) sd(hyper)))
  mu <- unlist(lapply(fit$model$predictors[[1]]$terms, `[[`, "mean"))
  value <- function(hyper) {
    ratio <- scale(hyper) / scale(q$hyper)
    latent <- list(list(
      mean = mu + ratio * (q$latent[[1]]$mean - mu), chol = ratio * q$latent[[1]]$chol
    ))
    contribution(fit, list(hyper = hyper, latent = latent))$value
  }
  for (h in seq_along(q$hyper)) {
    step <- 1e-4 * q$hyper[h]
    at <- function(s) { hyper <- q$hyper; hyper[h] <- hyper[h] + s * step; value(hyper) }
    expect_equal(got[h], (8 * (at(1) - at(-1)) - at(2) + at(-2)) / (12 * step), tolerance = 1e-6)
  }
})

test_that("threads do not change a bit", {
  d <- sums_case(3)
  d <- d[rep(seq_len(700), 12), ]
  for (method in methods_by_sums()) {
    fits <- lapply(1:3, function(threads) {
      galvi(count ~ gp(x, z, inducing = 20), d, poisson(), method = method, hyper = "fixed",
            control = galvi_control(threads = threads, tol = 1e-3))
    })
    for (other in fits[2:3]) {
      expect_identical(other$elbo, fits[[1]]$elbo)
      expect_identical(other$posterior$latent, fits[[1]]$posterior$latent)
      expect_identical(fitted(other), fitted(fits[[1]]))
    }
  }
})

test_that("what cannot be summed says so", {
  d <- sums_case(4)[1:60, ]
  full <- galvi(count ~ gp(x), d, poisson(), hyper = "fixed")
  sums <- galvi(count ~ x, d, poisson())
  expect_error(contribution(full, sums$posterior), class = "galvi_error")
  expect_error(contribution(sums, list()), "`q` must be a posterior", class = "galvi_error_q")
  expect_error(contribution(sums, full$posterior), class = "galvi_error")
  expect_error(contribution(1, sums$posterior), "galvi_model", class = "galvi_error_model")
  expect_error(contribution(sums, sums$posterior, 61), "from 1 to 60", class = "galvi_error_rows")
  expect_error(contribution(sums, sums$posterior, c(1, NA)), "from 1 to 60", class = "galvi_error_rows")
  expect_error(contribution(sums, sums$posterior, gradient = 2), "TRUE or FALSE", class = "galvi_error")
  expect_error(contribution(sums, sums$posterior) + 1, "to each other", class = "galvi_error")
})
