# gp(inducing = ) through the front door.

sparse_data <- function(n = 120, seed = 1) {
  set.seed(seed)
  d <- data.frame(x = runif(n, -3, 3), z = rnorm(n), g = factor(sample(c("a", "b", "c"), n, TRUE)))
  f <- sin(2 * d$x) + d$z / 2 + (d$g == "b")
  transform(d, y = rbinom(n, 1, plogis(2 * f)), count = rpois(n, exp(f)), real = f + rnorm(n, sd = 0.3))
}

held <- function(formula, data, ..., tol = 1e-10) {
  galvi(formula, data, ..., hyper = "fixed", control = galvi_control(tol = tol, threads = 1))
}

test_that("inducing points at the data give the dense fit", {
  d <- sparse_data(80)
  at <- as.matrix(d[c("x", "z")])
  for (family in list(binomial(), binomial("probit"), poisson(), gaussian(), galvi_family("student"))) {
    d$y <- switch(family$family, poisson = d$count, gaussian = , student = d$real, d$y)
    for (kernel in list(se(2), matern32(1, c(1, 2), ard = TRUE), se(30, 1) + linear())) {
      dense <- held(y ~ gp(x, z, kernel = kernel), d, family)
      sparse <- held(y ~ gp(x, z, kernel = kernel, inducing = at), d, family)
      expect_lt(abs(sparse$elbo - dense$elbo), 1e-6)
      new <- data.frame(x = c(-4, 0, 1), z = c(0, 1, 5))
      expect_close(
        unlist(predict(sparse, new, type = "link", se.fit = TRUE)),
        unlist(predict(dense, new, type = "link", se.fit = TRUE)), 1e-4
      )
    }
  }
})

test_that("more points never lower the bound, the dense one is above all, and copies change nothing", {
  d <- sparse_data(150)
  points <- as.matrix(d[sample(150, 40), c("x", "z")])
  for (family in list(binomial(), poisson(), gaussian())) {
    d$y <- switch(family$family, poisson = d$count, gaussian = d$real, d$y)
    bound <- function(points) held(y ~ gp(x, z, kernel = se(2, 1), inducing = points), d, family)$elbo
    elbo <- vapply(c(1, 3, 10, 20, 40), function(m) bound(points[seq_len(m), , drop = FALSE]), 0)
    expect_gte(min(diff(elbo)), -1e-8)
    dense <- held(y ~ gp(x, z, kernel = se(2, 1)), d, family)$elbo
    expect_lte(max(elbo), dense + 1e-8)
    twice <- points[c(1:10, 1:10, 3), ]
    expect_lt(abs(bound(twice) - elbo[3]), 1e-8)
    near <- rbind(points[1:10, ], points[1:10, ] + 1e-9)
    expect_lt(abs(bound(near) - elbo[3]), 1e-5)
    near <- rbind(points[1:10, ], points[1:10, ] + 1e-4)
    expect_gte(bound(near), elbo[3] - 1e-8)
  }
})

test_that("points that coincide can be learned from", {
  d <- sparse_data(150)
  for (apart in c(0, 1e-9, 1e-5, 1e-3)) {
    points <- cbind(x = c(-2, 0, 2, 0, 2), z = 0)
    points[4:5, ] <- points[4:5, ] + apart
    fit <- galvi(y ~ gp(x, z, inducing = points), d, binomial())
    expect_true(fit$convergence$converged)
    expect_true(all(is.finite(fit$inducing[[1]])))
  }
})

test_that("Gaussian observations have the collapsed bound of Titsias", {
  d <- sparse_data(60)
  points <- matrix(seq(-3, 3, length.out = 7), dimnames = list(NULL, "x"))
  noise <- 0.2
  fit <- galvi(
    real ~ 0 + gp(x, kernel = se(0.8, 1.2), inducing = points), d,
    galvi_family(gaussian(), variance = fixed(noise)), hyper = "fixed"
  )
  k <- function(a, b) 0.8 * exp(-outer(a, b, "-")^2 / (2 * 1.2^2))
  Q <- k(d$x, points[, 1]) %*% solve(k(points[, 1], points[, 1]), k(points[, 1], d$x))
  R <- chol(Q + diag(noise, 60))
  wanted <- -sum(log(diag(R))) - 30 * log(2 * pi) - sum(backsolve(R, d$real, transpose = TRUE)^2) / 2 -
    sum(0.8 - diag(Q)) / (2 * noise)
  expect_identical(fit$method, "exact")
  expect_close(fit$elbo, wanted, 1e-9)
  expect_match(paste(capture.output(print(fit)), collapse = " "), "log evidence bound")
  iterated <- update(fit, method = "natural_gradient")
  expect_close(iterated$elbo, wanted, 1e-7)
})

test_that("predictions are those of the dense formulae", {
  d <- sparse_data(50)
  points <- matrix(c(-2, -1, 0, 1.5, 2.5), dimnames = list(NULL, "x"))
  # so near to the optimum that the sites of the rows have the posterior that was found
  fit <- held(y ~ 0 + gp(x, kernel = matern52(2, 1.5), inducing = points), d, binomial("probit"),
              tol = 1e-15)
  k <- function(a, b) {
    r <- abs(outer(a, b, "-")) / 1.5
    2 * (1 + sqrt(5) * r + 5 * r^2 / 3) * exp(-sqrt(5) * r)
  }
  new <- c(-5, -1, 0.3, 2.5)
  Kzz <- k(points[, 1], points[, 1])
  A <- k(d$x, points[, 1]) %*% solve(Kzz)
  S <- solve(solve(Kzz) + crossprod(A, fit$posterior$lambda[, 1] * A))
  m <- S %*% crossprod(A, fit$posterior$b[, 1])
  B <- k(new, points[, 1]) %*% solve(Kzz)
  got <- predict(fit, data.frame(x = new), type = "link", se.fit = TRUE)
  expect_close(got$fit, drop(B %*% m), 1e-8)
  expect_close(got$se.fit^2, diag(B %*% S %*% t(B)) + 2 - diag(B %*% Kzz %*% t(B)), 1e-8)
  expect_close(predict(fit, d), fitted(fit), 1e-10)
})

test_that("all methods meet on a sparse model", {
  set.seed(3)
  for (likelihood in c("binomial_logit", "poisson")) {
    model <- random_inducing(50, 8, likelihood = likelihood)
    fits <- lapply(stats::setNames(nm = applicable_methods(model)), function(method) fit_at(model, method))
    elbo <- vapply(fits, `[[`, 0, "elbo")
    wanted <- c(
      "newton", "fixed_point", "fixed_point_batch", "coordinate_ascent", "natural_gradient",
      "opper_archambeau", "cholesky_gradient", "incremental", "stochastic", if (likelihood == "poisson") "dual"
    )
    expect_setequal(names(elbo), wanted)
    expect_lt(diff(range(elbo)), tol$elbo)
  }
})

test_that("results depend neither on threads nor, beyond rounding, on chunks", {
  d <- sparse_data(3000)
  fit <- function(...) {
    set.seed(1)
    galvi(y ~ gp(x, z, inducing = 12), d, binomial(), hyper = "fixed", control = galvi_control(...))
  }
  one <- fit(threads = 1)
  two <- fit(threads = 2)
  expect_identical(one$posterior$mean, two$posterior$mean)
  expect_identical(one$elbo, two$elbo)
  for (rows in c(7, 500, 5000)) expect_close(fit(chunk_rows = rows)$elbo, one$elbo, 1e-11)
})

test_that("learning moves the points, or not, and raises the bound", {
  d <- sparse_data(200)
  points <- cbind(x = seq(-3, 3, length.out = 5), z = 0)
  start <- held(y ~ gp(x, z, inducing = points), d, binomial())
  still <- galvi(
    y ~ gp(x, z, inducing = points), d, binomial(), control = galvi_control(move_inducing = FALSE)
  )
  moved <- galvi(y ~ gp(x, z, inducing = points), d, binomial())
  expect_equal(unname(still$inducing[[1]]), unname(points))
  expect_gt(still$elbo, start$elbo)
  expect_gt(moved$elbo, still$elbo)
  expect_gt(max(abs(moved$inducing[[1]] - points)), 0.01)
  expect_identical(moved$hyper$name, still$hyper$name)
  expect_false(any(grepl("inducing", moved$hyper$name)))
  again <- galvi(y ~ gp(x, z, inducing = 5), d, binomial(), start = moved, hyper = "fixed")
  expect_close(again$elbo, moved$elbo, 1e-6)
  expect_equal(again$inducing, moved$inducing)
})

test_that("factors, scale, by and sums keep their meaning", {
  d <- sparse_data(150)
  at <- d[1:60, c("x", "z", "g")]
  # with points at all the data each is the dense model
  everywhere <- list(
    list(y ~ gp(x, g, inducing = d[c("x", "g")]), y ~ gp(x, g)),
    list(y ~ gp(x, z, scale = TRUE, inducing = d[c("x", "z")]), y ~ gp(x, z, scale = TRUE)),
    list(y ~ gp(x, by = g, inducing = d["x"]), y ~ gp(x, by = g)),
    list(y ~ gp(x, by = z, inducing = d["x"]), y ~ gp(x, by = z)),
    list(y ~ z + gp(x, inducing = d["x"]) + gp(z, inducing = d["z"]), y ~ z + gp(x) + gp(z)),
    list(y ~ gp(log(x + 4), inducing = log(d["x"] + 4)), y ~ gp(log(x + 4)))
  )
  for (pair in everywhere) {
    sparse <- held(pair[[1]], d, family = binomial())
    dense <- held(pair[[2]], d, family = binomial())
    expect_lt(abs(sparse$elbo - dense$elbo), 1e-6)
    expect_close(predict(sparse, d[1:5, ], type = "link"), predict(dense, d[1:5, ], type = "link"), 1e-4)
    terms <- predict(sparse, d[1:5, ], type = "terms")
    expect_close(rowSums(terms) + attr(terms, "constant"), predict(sparse, d[1:5, ], type = "link"), 1e-10)
  }
  fit <- suppressWarnings(galvi(
    y ~ gp(x, g, inducing = 8), d, binomial(), control = galvi_control(hyper_iterations = 5)
  ))
  expect_s3_class(fit$inducing[[1]]$g, "factor")
  expect_named(fit$inducing[[1]], c("x", "g"))
  few <- held(y ~ gp(x, z, scale = TRUE, inducing = at[c("x", "z")]), d, family = binomial())
  expect_equal(unname(few$inducing[[1]]), unname(as.matrix(at[c("x", "z")])))
})

test_that("classes may have kernels of their own and share the points", {
  d <- sparse_data(90)
  fit <- held(g ~ gp(x, inducing = 4), d, family = categorical())
  own <- held(g ~ gp(x, kernel = per_class(se()), inducing = 4), d, family = categorical(), tol = 1e-7)
  expect_identical(names(own$inducing), "gp(x)")
  expect_equal(dim(own$inducing[[1]]), c(4L, 1L))
  expect_equal(dim(predict(own, d[1:3, ])), c(3L, 3L))
  expect_close(rowSums(predict(fit, d[1:3, ])), 1, 1e-8)
})

test_that("the x, y front end takes inducing, and fits survive", {
  d <- sparse_data(100)
  set.seed(1)
  fit <- galvi(d[c("x", "z")], d$y, binomial(), inducing = 6, hyper = "fixed")
  expect_equal(dim(fit$inducing[[1]]), c(6L, 2L))
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d), predict(fit, d))
  expect_output(print(summary(fit)), "inducing")
})

test_that("FITC is another prior: W W' + diag(c), full covariance", {
  d <- sparse_data(60)
  points <- matrix(seq(-3, 3, length.out = 6), dimnames = list(NULL, "x"))
  formula <- function(y) {
    stats::reformulate('gp(x, kernel = se(0.8, 1.2), inducing = points, approximation = "fitc")', y, FALSE)
  }
  k <- function(a, b) 0.8 * exp(-outer(a, b, "-")^2 / (2 * 1.2^2))
  Q <- k(d$x, points[, 1]) %*% solve(k(points[, 1], points[, 1]), k(points[, 1], d$x))
  K <- Q + diag(0.8 - diag(Q))
  # Gaussian observations: the log density of N(0, K + noise)
  fit <- galvi(
    formula("real"), d, galvi_family(gaussian(), variance = fixed(0.2)), hyper = "fixed",
    control = galvi_control(tol = 1e-11)
  )
  expect_identical(fit$method, "ep")
  R <- chol(K + diag(0.2, 60))
  wanted <- -sum(log(diag(R))) - 30 * log(2 * pi) - sum(backsolve(R, d$real, transpose = TRUE)^2) / 2
  expect_close(fit$elbo, wanted, 1e-7)
  # classes: expectation propagation with that covariance, by the dense solver
  sparse <- galvi(
    formula("y"), d, binomial("probit"), hyper = "fixed", method = "ep", control = galvi_control(tol = 1e-11)
  )
  dense <- ep_reference(K, d$y)
  expect_close(sparse$elbo, dense$log_evidence, 1e-6)
  new <- c(-4, 0.1, 2)
  Knew <- k(new, points[, 1]) %*% solve(k(points[, 1], points[, 1]), k(points[, 1], d$x))
  got <- predict(sparse, data.frame(x = new), type = "link", se.fit = TRUE)
  expect_close(got$fit, drop(Knew %*% dense$alpha), 1e-5)
  expect_close(got$se.fit^2, 0.8 - rowSums(Knew * t(solve(K + diag(1 / dense$tau), t(Knew)))), 1e-5)
})

test_that("a sparse prior is the same as a covariance", {
  set.seed(4)
  for (case in list(list(), list(by = TRUE), list(group = TRUE))) {
    model <- do.call(random_inducing, c(list(n = 40, M = 5), case))
    dense <- model
    dense <- with_solver(dense, "dense_kernel")
    # what c adds is part of the covariance there, and given z nothing is open
    got <- solve_by(dense, rexp(40), rnorm(40), rnorm(40))
    prior <- inducing_covariance(terms_of(model)[[1]], model$hyper$value)
    expect_close(got$prior_variances, diag(prior$Q) + prior$c, 1e-10)
    value <- model$hyper$value
    sites <- list(lambda = as.matrix(rexp(40)), b = as.matrix(rnorm(40)))
    expect_close(
      bound_at(dense, value, sites)$gradient,
      central_gradient(function(h) bound_at(dense, h, sites)$elbo, value, h = 5e-4), 1e-6
    )
  }
})

test_that("plots draw sparse terms and where their points are", {
  d <- sparse_data(80)
  for (formula in list(y ~ gp(x, inducing = 4), y ~ gp(x, z, inducing = 5), y ~ gp(x, by = g, inducing = 4),
                       y ~ gp(x, z, g, kernel = se() + linear(), inducing = 5))) {
    fit <- held(formula, d, family = binomial(), tol = 1e-5)
    for (which in c("effects", "relevance", "calibration", "trace")) {
      data <- plot_away(fit, which)
      expect_true(length(data) > 0L)
    }
  }
})

test_that("what cannot be is said", {
  d <- sparse_data(40)
  expect_snapshot(error = TRUE, {
    galvi(y ~ gp(x, inducing = -3), d, binomial())
    galvi(y ~ gp(x, inducing = 2.5), d, binomial())
    galvi(y ~ gp(x, inducing = "10"), d, binomial())
    galvi(y ~ gp(x, z, inducing = matrix(1:3)), d, binomial())
    galvi(y ~ gp(x, z, inducing = cbind(x = 1, z = NA_real_)), d, binomial())
    galvi(y ~ gp(x, g, inducing = matrix(0, 3, 2)), d, binomial())
    galvi(y ~ gp(x, g, inducing = data.frame(x = 1, g = "q")), d, binomial())
    galvi(y ~ gp(x, inducing = 5) + gp(z), d, binomial())
    galvi(y ~ gp(x, approximation = "fitc"), d, binomial())
    galvi(y ~ gp(x, inducing = 5, approximation = "fitc"), d, binomial(), method = "newton")
  })
})

test_that("there are at most as many points as distinct rows", {
  d <- sparse_data(60)
  d$x <- round(d$x)
  expect_message(
    fit <- held(y ~ gp(x, inducing = 20), d, family = binomial()), "7 distinct rows",
    class = "galvi_message_inducing"
  )
  expect_equal(nrow(fit$inducing[[1]]), 7L)
})

test_that("learning from many rows starts from a part of them", {
  d <- sparse_data(7000)
  set.seed(1)
  fit <- galvi(y ~ gp(x, z, inducing = 10), d, binomial(), control = galvi_control(threads = 1))
  expect_true(fit$convergence$converged)
  set.seed(1)
  again <- galvi(y ~ gp(x, z, inducing = 10), d, binomial(), control = galvi_control(threads = 1))
  expect_identical(fit$elbo, again$elbo)
  longer <- galvi(
    y ~ gp(x, z, inducing = 10), d, binomial(), start = fit,
    control = galvi_control(threads = 1, hyper_tol = 1e-8)
  )
  # what steps of little worth would add
  expect_gt(longer$elbo, fit$elbo - 1e-6)
  expect_lt(longer$elbo, fit$elbo + 3)
})

test_that("inducing points are no effects", {
  d <- sparse_data(40)
  expect_length(ranef(held(real ~ gp(x, inducing = 4), d)), 0)
  found <- ranef(held(real ~ gp(x, inducing = 4) + iid(g), d))
  expect_named(found, "g")
})

test_that("Laplace with FITC averages the likelihood over what is open, and its slope is right", {
  d <- sparse_data(40)
  points <- matrix(seq(-3, 3, length.out = 5), dimnames = list(NULL, "x"))
  formula <- y ~ 0 + gp(x, kernel = se(0.8, 1.2), inducing = points, approximation = "fitc")
  fit <- galvi(
    formula, d, binomial(), method = "laplace", hyper = "fixed", control = galvi_control(tol = 1e-12)
  )
  expect_true(fit$convergence$converged)
  k <- function(a, b) 0.8 * exp(-outer(a, b, "-")^2 / (2 * 1.2^2))
  W <- t(solve(t(chol(k(points[, 1], points[, 1]))), k(points[, 1], d$x)))
  c <- 0.8 - rowSums(W^2)
  averaged <- function(f, c, y) {
    p <- function(e) plogis((2 * y - 1) * (f + e)) * dnorm(e, 0, sqrt(c))
    log(integrate(p, -12 * sqrt(c), 12 * sqrt(c), rel.tol = 1e-11)$value)
  }
  log_joint <- function(u) sum(mapply(averaged, drop(W %*% u), c, d$y)) - sum(u^2) / 2
  mode <- optim(numeric(5), log_joint, method = "BFGS", control = list(fnscale = -1, reltol = 1e-14))$par
  hessian <- numDeriv::hessian(log_joint, mode)
  expect_close(fit$posterior$mean, drop(W %*% mode), 1e-4)
  expect_close(fit$elbo, log_joint(mode) - as.numeric(determinant(-hessian)$modulus) / 2, 1e-5)
  # in every hyperparameter and coordinate, a family's too
  set.seed(7)
  for (likelihood in c("binomial_logit", "negbinomial")) {
    model <- random_inducing(40, 4, likelihood = "poisson")
    if (likelihood == "negbinomial") {
      model$hyper <- lapply(model$hyper, function(column) c(column, column[1]))
      size <- length(model$hyper$value)
      model$likelihood <- list(type = "negbinomial", hyper = list(size = size), constants = list())
    } else {
      model$likelihood$type <- likelihood
      model$y <- pmin(model$y, 1)
    }
    model$averaged <- TRUE
    value <- model$hyper$value
    at <- function(h) {
      model$hyper$value <- h
      probe_bound(model, quiet_control(tol = 1e-13), "laplace")
    }
    expect_close(at(value)$gradient, central_gradient(function(h) at(h)$elbo, value, h = 5e-4), 1e-5)
  }
})

test_that("leaving one out of several latents is that of the full process with points at the data", {
  skip_if_not_installed("loo")
  d <- sparse_data(40)
  full <- held(g ~ gp(x, kernel = se(1, 1)), d, categorical())
  sparse <- held(g ~ gp(x, kernel = se(1, 1), inducing = as.matrix(d["x"])), d, categorical())
  expect_close(loo::loo(sparse)$pointwise, loo::loo(full)$pointwise, 1e-4)
})

test_that("one inducing point is one, whatever the number of inputs", {
  set.seed(5)
  d <- data.frame(x = rnorm(30), z = runif(30))
  d$y <- sin(d$x)
  before <- .Random.seed
  for (formula in list(y ~ gp(x, inducing = 1), y ~ gp(x, z, inducing = 1))) {
    fit <- galvi(formula, d, hyper = "fixed")
    expect_identical(nrow(fit$inducing[[1]]), 1L)
    expect_close(fit$inducing[[1]], colMeans(d[colnames(fit$inducing[[1]])]))
  }
  # clusters are no reason to draw numbers
  expect_identical(.Random.seed, before)
})

test_that("points start where they do in whatever order the rows are", {
  set.seed(6)
  d <- data.frame(x = rnorm(80), z = rnorm(80))
  d$y <- d$x * d$z
  points <- function(data) galvi(y ~ gp(x, z, inducing = 6), data, hyper = "fixed")$inducing[[1]]
  expect_close(points(d[sample(80), ]), points(d), 1e-12)
})
