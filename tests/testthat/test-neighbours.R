# gp(neighbours = ): Gaussian processes given their nearest neighbours.

neighbour_gold <- list(
  gaussian = list(
    family = galvi_family(gaussian(), variance = fixed(0.05)), variance = 1.2, lengthscale = 0.3,
    elbo = -41.4212716661214, gradient = c(-1.7430517306146, -2.38441367802385, 4.59380342453821),
    mean = c(-1.27065751210359, -1.34593210078172, -0.421296826618707),
    var = c(0.206666547949655, 0.0325742964560044, 0.925049829973722)
  ),
  poisson = list(
    family = poisson(), variance = 0.8, lengthscale = 0.4,
    elbo = -73.1971805203308, gradient = c(0.133896144904107, -0.28762797129971, -1.21314209934875),
    mean = c(-0.750097437080693, -1.07876482513704, -0.325421705305516),
    var = c(0.190563208322961, 0.28719518567564, 0.565596091037121)
  )
)

neighbour_data <- function(name) read.csv(test_path("fixtures", sprintf("neighbours_%s.csv", name)))

test_that("nodes, bounds, gradients and predictions are those of an independent code", {
  for (name in names(neighbour_gold)) {
    gold <- neighbour_gold[[name]]
    d <- neighbour_data(name)
    kernel <- matern32(gold$variance, gold$lengthscale)
    prepared <- prepare_model(y ~ 0 + gp(x1, x2, kernel = kernel, neighbours = 5), d, gold$family)
    nodes <- prepared$model$predictors[[1L]]$terms[[1L]]$neighbours
    expect_equal(nodes$places, unname(as.matrix(d[c("x1", "x2")])))
    expect_equal(unname(nodes$neighbours), unname(as.matrix(d[sprintf("neighbour%d_from0", 1:5)])) + 1)
    expect_identical(prepared$model$predictors[[1L]]$solver, "sparse")
    got <- bound_at(prepared$model, prepared$model$hyper$value)
    expect_close(got$elbo, gold$elbo, 1e-10)
    # of the logarithms; with one lengthscale those of both inputs add up
    wanted <- c(gold$gradient[1L], sum(gold$gradient[2:3]))
    expect_close(got$unconstrained_gradient[1:2], wanted, 1e-7)
    # with a lengthscale for each; neighbours by scaled distances are the same
    kernel <- matern32(gold$variance, gold$lengthscale, ard = TRUE)
    prepared <- prepare_model(y ~ 0 + gp(x1, x2, kernel = kernel, neighbours = 5), d, gold$family)
    expect_close(bound_at(prepared$model, prepared$model$hyper$value)$unconstrained_gradient[1:3], gold$gradient, 1e-7)

    fit <- galvi(
      y ~ 0 + gp(x1, x2, kernel = matern32(gold$variance, gold$lengthscale), neighbours = 5), d, gold$family,
      hyper = "fixed", control = galvi_control(tol = 1e-12)
    )
    expect_close(fit$elbo, gold$elbo, 1e-9)
    expect_close(fitted(fit, type = "link"), d$mean, 1e-6)
    new <- data.frame(x1 = c(.31, .9, 1.2), x2 = c(.42, .1, .5))
    p <- predict(fit, new, type = "link", covariance = TRUE)
    expect_close(p$fit, gold$mean, 1e-6)
    expect_close(diag(p$covariance), gold$var, 1e-6)
    expect_close(predict(fit, new, type = "link", se.fit = TRUE)$se.fit^2, gold$var, 1e-6)
  }
})

test_that("order and neighbours are those of loops, on lattices, lines and with many inputs", {
  set.seed(1)
  cases <- list(
    matrix(runif(600), 300), as.matrix(expand.grid(1:12, 1:9)), cbind(1:50, 1:50), matrix(rnorm(500), 100),
    matrix(7, 1L, 2L), cbind(c(0, 1e-9, 1, 2))
  )
  for (X in cases) {
    X <- unname(X)
    order <- maxmin_order(X)
    expect_identical(order, plain_maxmin(X))
    X <- X[order, , drop = FALSE]
    for (m in c(1L, 4L, 20L)) {
      expect_identical(nearest_before(X, m, 1L), plain_before(X, m))
      expect_identical(nearest_before(X, m, 2L), plain_before(X, m))
      new <- rbind(X[1L, ], colMeans(X), X[nrow(X), ] + 1)
      wanted <- do.call(rbind, lapply(1:3, function(i) plain_nearest(X, new[i, ], m)))
      expect_identical(nearest_places(X, new, m, 1L), wanted)
    }
  }
})

# Formulas with one gp(neighbours = ), and the covariance that each should have of 40 rows.
neighbour_cases <- list(
  plain = quote(0 + gp(x1, x2, kernel = matern32(1.3, 0.5), neighbours = 6)),
  by = quote(0 + gp(x1, x2, kernel = matern52(1.3, 0.5), by = v, neighbours = 3)),
  group = quote(0 + gp(x1, x2, kernel = matern12(1.3, 0.5), by = f, neighbours = 4)),
  shared = quote(0 + gp(x1, x2, kernel = matern12(1.3, 0.5), by = f, by_hyper = "shared", neighbours = 60)),
  ard = quote(0 + gp(x1, x2, kernel = matern32(1.3, c(0.3, 0.9), ard = TRUE), neighbours = 6)),
  sum = quote(0 + gp(x1, x2, kernel = matern32(0.7, 0.5) + se(0.5, 0.2) * matern12(1, 3), neighbours = 5)),
  nodes = quote(0 + gp(x1, x2, kernel = matern32(1.3, 0.5), inducing = 15, neighbours = 6)),
  nodes_by = quote(0 + gp(x1, x2, kernel = matern32(1.3, 0.5), by = v, inducing = 9, neighbours = 4)),
  nodes_group = quote(0 + gp(x1, x2, kernel = matern32(1.3, 0.5), by = f, inducing = 12, neighbours = 5)),
  beside = quote(u + (1 | g) + gp(x1, x2, kernel = matern32(1.3, 0.5), neighbours = 6)),
  beside_nodes = quote(u + (1 | g) + iid(f) + gp(x1, x2, kernel = matern32(1.3, 0.5), inducing = 15, neighbours = 6))
)

neighbour_rows <- function(n = 40) {
  set.seed(7)
  d <- data.frame(x1 = round(runif(n), 2), x2 = round(runif(n), 2), u = rnorm(n), v = rnorm(n))
  d[n - 0:2, 1:2] <- d[1:3, 1:2] # ties
  d$f <- factor(rep(c("a", "b"), length.out = n))
  d$g <- factor(rep(1:5, length.out = n))
  d$y <- rpois(n, 2)
  d
}

neighbour_model <- function(case, family = poisson(), d = neighbour_rows()) {
  formula <- stats::as.formula(call("~", quote(y), neighbour_cases[[case]]))
  prepare_model(formula, d, family, prior = list(default = normal(0, 1), intercept = normal(0, 2)))$model
}

test_that("the prior's covariance is that of loops over nodes, from every side", {
  d <- neighbour_rows()
  n <- nrow(d)
  X <- as.matrix(d[1:2])
  k <- function(type, lengthscale) {
    function(A, B) plain_kernel(type, list(variance = 1.3, lengthscale = lengthscale), A, B)
  }
  of_rows <- function(k, Z, X, m, scale = 1) {
    Z <- Z[plain_maxmin(Z / scale), , drop = FALSE]
    rows <- plain_rows(k, Z, X, m)
    rows$W %*% plain_neighbours(k, Z, plain_before(Z / scale, m))$C %*% t(rows$W) + diag(rows$c)
  }
  distinct <- unname(distinct_rows(X)$x)
  wanted <- list(plain = of_rows(k("matern32", 0.5), distinct, X, 6))
  wanted$by <- of_rows(k("matern52", 0.5), distinct, X, 3) * tcrossprod(d$v)
  in_order <- distinct[plain_maxmin(distinct), ]
  wanted$nodes <- of_rows(k("matern32", 0.5), in_order[1:15, ], X, 6)
  wanted$group <- matrix(0, n, n)
  for (level in levels(d$f)) {
    at <- d$f == level
    wanted$group[at, at] <- of_rows(k("matern12", 0.5), unname(distinct_rows(X[at, ])$x), X[at, ], 4)
  }
  for (case in names(wanted)) {
    dense <- with_solver(neighbour_model(case), "dense_kernel")
    got <- solve_by(dense, rep(1, n), numeric(n), numeric(n))
    V <- solve(diag(n) + wanted[[case]], wanted[[case]])
    expect_close(got$prior_variances, diag(wanted[[case]]))
    expect_close(got$covariance, V[, c(1, n)])
  }
})

test_that("verbs of the sparse solver are those of the dense one", {
  for (case in names(neighbour_cases)) {
    model <- neighbour_model(case)
    n <- length(model$y)
    set.seed(3)
    lambda <- rexp(n)
    b <- rnorm(n)
    x <- rnorm(n)
    got <- solve_by(model, lambda, b, x)
    dense <- solve_by(with_solver(model, "dense_kernel"), lambda, b, x)
    same <- setdiff(names(got), c("seen", "jitter"))
    # between nodes the solver's V and C are without c
    if (any(vapply(model$predictors[[1]]$terms, function(term) isTRUE(term$neighbours$between), NA))) {
      same <- c("prior_mean", "prior_variances")
    }
    for (verb in same) expect_close(got[[verb]], dense[[verb]], 1e-8)
  }
})

test_that("gradients are those of differences, at the optimum and elsewhere", {
  for (case in names(neighbour_cases)) {
    model <- neighbour_model(case)
    value <- model$hyper$value
    expect_close(
      bound_at(model, value)$gradient, central_gradient(function(h) bound_at(model, h)$elbo, value), 1e-6
    )
    sites <- list(lambda = as.matrix(rexp(40)), b = as.matrix(rnorm(40)))
    wanted <- central_gradient(function(h) bound_at(model, h, sites)$elbo, value)
    expect_close(bound_at(model, value, sites)$gradient, wanted, 1e-6)
    if (grepl("nodes", case)) next
    dense <- with_solver(model, "dense_kernel")
    expect_close(bound_at(dense, value, sites)$gradient, wanted, 1e-6)
  }
})

test_that("with all places as neighbours it is the full process", {
  d <- neighbour_rows()
  for (family in list(poisson(), galvi_family(gaussian(), variance = 0.5))) {
    kernel <- matern32(1.3, 0.5)
    full <- prepare_model(y ~ 0 + gp(x1, x2, kernel = kernel), d, family)$model
    for (m in c(36, 39, 1000)) {
      near <- prepare_model(y ~ 0 + gp(x1, x2, kernel = kernel, neighbours = m), d, family)$model
      a <- bound_at(full, full$hyper$value)
      b <- bound_at(near, near$hyper$value)
      expect_close(b$elbo, a$elbo, 1e-8)
      expect_close(b$gradient, a$gradient, 1e-6)
    }
  }
  # on a line, an exponential covariance is a Markov chain
  d$t <- sort(runif(40, 0, 5))
  full <- prepare_model(y ~ 0 + gp(t, kernel = matern12(1, 1)), d, poisson())$model
  chain <- prepare_model(y ~ 0 + gp(t, kernel = matern12(1, 1), neighbours = 1), d, poisson())$model
  chain$predictors[[1L]]$terms[[1L]]$neighbours <- list(
    places = as.matrix(d$t), neighbours = as.matrix(0:39), between = FALSE
  )
  chain$designs[[1L]][[1L]]$node <- as.matrix(1:40)
  expect_close(bound_at(chain, chain$hyper$value)$elbo, bound_at(full, full$hyper$value)$elbo, 1e-9)
})

test_that("between nodes gaussian evidence is a bound, with what the nodes leave", {
  d <- neighbour_rows()
  d$y <- d$y - 2
  X <- unname(as.matrix(d[1:2]))
  fit <- galvi(
    y ~ 0 + gp(x1, x2, kernel = matern32(1.3, 0.5), inducing = 15, neighbours = 6), d,
    galvi_family(gaussian(), variance = fixed(0.3)), hyper = "fixed"
  )
  distinct <- unname(distinct_rows(X)$x)
  Z <- distinct[plain_maxmin(distinct)[1:15], ]
  k <- function(A, B) plain_kernel("matern32", list(variance = 1.3, lengthscale = 0.5), A, B)
  rows <- plain_rows(k, Z, X, 6)
  V <- rows$W %*% plain_neighbours(k, Z, plain_before(Z, 6))$C %*% t(rows$W) + diag(0.3, 40)
  evidence <- -(40 * log(2 * pi) + as.numeric(determinant(V)$modulus) + sum(d$y * solve(V, d$y))) / 2
  expect_close(fit$elbo, evidence - sum(rows$c) / 0.6, 1e-8)
  expect_identical(attr(logLik(fit), "kind"), "bound")
  # the nodes themselves, typed
  typed <- galvi(
    y ~ 0 + gp(x1, x2, kernel = matern32(1.3, 0.5), inducing = Z, neighbours = 6), d,
    galvi_family(gaussian(), variance = fixed(0.3)), hyper = "fixed"
  )
  expect_close(typed$elbo, fit$elbo)
  # at nodes nothing is left
  all <- update(fit, . ~ 0 + gp(x1, x2, kernel = matern32(1.3, 0.5), inducing = 37, neighbours = 6))
  expect_close(all$elbo, update(fit, . ~ 0 + gp(x1, x2, kernel = matern32(1.3, 0.5), neighbours = 6))$elbo, 1e-8)
})

test_that("predictions, draws and terms follow the formula, for few rows and for many", {
  d <- neighbour_rows()
  k <- function(A, B) plain_kernel("matern32", list(variance = 1.3, lengthscale = 0.5), A, B)
  X <- unname(as.matrix(d[1:2]))
  distinct <- unname(distinct_rows(X)$x)
  set.seed(11)
  new <- data.frame(x1 = c(runif(198), d$x1[1:2]), x2 = c(runif(198), d$x2[1:2]), u = 0, g = "1", f = "a")
  for (nodes in c(37, 15)) {
    formula <- y ~ 0 + gp(x1, x2, kernel = matern32(1.3, 0.5), neighbours = 6)
    if (nodes < 37) formula <- y ~ 0 + gp(x1, x2, kernel = matern32(1.3, 0.5), inducing = 15, neighbours = 6)
    fit <- galvi(formula, d, poisson(), hyper = "fixed")
    Z <- distinct[plain_maxmin(distinct)[seq_len(nodes)], ]
    C <- plain_neighbours(k, Z, plain_before(Z, 6))$C
    seen <- plain_rows(k, Z, X, 6)
    lambda <- fit$posterior$lambda[, 1]
    V <- solve(solve(C) + crossprod(seen$W, lambda * seen$W))
    z <- V %*% crossprod(seen$W, fit$posterior$b[, 1])
    rows <- plain_rows(k, Z, unname(as.matrix(new[1:2])), 6)
    W <- rows$W
    many <- predict(fit, new, type = "link", se.fit = TRUE)
    expect_close(many$fit, W %*% z, 1e-8)
    expect_close(many$se.fit^2, rowSums((W %*% V) * W) + rows$c, 1e-8)
    few <- predict(fit, new[c(5, 200), ], type = "link", se.fit = TRUE)
    expect_close(few$se.fit, many$se.fit[c(5, 200)], 1e-9)
    joint <- predict(fit, new[1:9, ], type = "link", covariance = TRUE)$covariance
    expect_close(joint, (W %*% V %*% t(W) + diag(rows$c))[1:9, 1:9], 1e-8)
    set.seed(1)
    draws <- posterior_linpred.galvi(fit, newdata = new[1:4, ], ndraws = 4000)
    # four standard errors
    expect_lt(max(abs(cov(draws) - joint[1:4, 1:4])), 4 * sqrt(2 / 4000) * max(joint))
  }
  fit <- galvi(
    y ~ u + (1 | g) + gp(x1, x2, kernel = matern32(1.3, 0.5), neighbours = 6), d, poisson(), hyper = "fixed"
  )
  terms <- predict(fit, new, type = "terms")
  expect_close(rowSums(terms) + attr(terms, "constant"), predict(fit, new, type = "link"), 1e-8)
  # a fit is a plain value
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), new), predict(fit, new))
  expect_output(print(summary(fit)), "37 places, each given 6 neighbours")
})

test_that("where neighbours leave too little, a jitter belongs to the process", {
  d <- neighbour_rows()
  fit <- galvi(y ~ 0 + gp(x1, x2, kernel = se(1, 5), neighbours = 10), d, poisson(), hyper = "fixed")
  expect_identical(fit$convergence$jitter, 1e-8)
  full <- galvi(y ~ 0 + gp(x1, x2, kernel = se(1, 5) + white(1e-8)), d, poisson(), hyper = "fixed")
  near <- galvi(y ~ 0 + gp(x1, x2, kernel = se(1, 5), neighbours = 36), d, poisson(), hyper = "fixed")
  expect_close(near$elbo, full$elbo, 1e-4) # equal places share their white noise in one of the two
  expect_identical(galvi(y ~ gp(x1, x2, kernel = matern12(1, 1), neighbours = 5), d, poisson(),
    hyper = "fixed")$convergence$jitter, 0)
  # a kernel of low rank
  expect_true(is.finite(galvi(y ~ gp(x1, x2, kernel = linear() + se(1e-3, 1), neighbours = 5), d, poisson(),
    hyper = "fixed")$elbo))
})

test_that("every kernel is learned, and those from R", {
  d <- neighbour_rows()
  own <- custom_kernel(function(X, Z, s, l) s * exp(-abs(outer(X[, 1], Z[, 1], "-")) / l), c(s = 1, l = 0.3))
  for (kernel in list(own, periodic(0.5) * se(), rational_quadratic(), arc_cosine() + white(0.1))) {
    fit <- suppressWarnings(galvi(y ~ gp(x1, kernel = kernel, neighbours = 4), d, poisson()))
    expect_true(fit$convergence$converged)
  }
})

test_that("hyperparameters learned from many places start on clusters of them and are those of the full process", {
  set.seed(4)
  n <- 300
  d <- data.frame(x = runif(n), z = runif(n))
  d$y <- rpois(n, exp(1 + sin(7 * d$x) * cos(5 * d$z)))
  full <- galvi(y ~ 0 + gp(x, z, kernel = matern32()), d, poisson())
  near <- galvi(y ~ 0 + gp(x, z, kernel = matern32(), neighbours = 40), d, poisson())
  expect_close(near$elbo, full$elbo, 0.01)
  expect_close(log(near$hyper$estimate), log(full$hyper$estimate), 0.02)
  n <- 6300
  d <- data.frame(x = runif(n), z = runif(n), f = factor(rep(c("a", "b"), n / 2)))
  d$y <- rpois(n, exp(1 + sin(7 * d$x) * cos(5 * d$z)))
  prepared <- prepare_model(y ~ f + gp(x, z, kernel = matern32(), by = f, neighbours = 5), d, poisson())$model
  part <- pilot_models(prepared, TRUE)[[1]]
  nodes <- part$predictors[[1]]$terms[[2]]$neighbours
  expect_lt(length(part$y), n / 2)
  expect_identical(dim(nodes$neighbours), c(length(nodes$group), 5L))
  expect_equal(nodes$places[part$designs[[1]][[2]]$node, ], part$designs[[1]][[2]]$inputs)
  expect_true(all(nodes$neighbours < row(nodes$neighbours)))
  expect_true(is.finite(bound_at(part, part$hyper$value)$elbo))
})

test_that("estimates of the distance are near the exact one, where bounds are far", {
  set.seed(5)
  n <- 400
  d <- data.frame(x1 = runif(n), x2 = runif(n))
  d$y <- rpois(n, exp(1 + sin(9 * d$x1)))
  model <- prepare_model(y ~ 0 + gp(x1, x2, kernel = matern32(1, 0.2), neighbours = 8), d, poisson())$model
  lambda <- rexp(n)
  r <- rnorm(n, 0, 0.1)
  by_variance <- rnorm(n, 0, 0.1)
  dense <- probe_distance(with_solver(model, "dense_kernel"), lambda, r, by_variance, FALSE)
  expect_equal(probe_distance(with_solver(model, "dense_kernel"), lambda, r, by_variance, TRUE), dense)
  # two vectors of random signs estimate traces of 400 x 400 matrices
  expect_close(probe_distance(model, lambda, r, by_variance, TRUE) / dense, c(1, 1), 0.2)
  expect_true(all(probe_distance(model, lambda, r, by_variance, FALSE) >= dense))
})

test_that("a factor that is too large is refused before it is made, with smaller settings", {
  d <- neighbour_rows()
  model <- prepare_model(y ~ gp(x1, x2, kernel = matern32(1, 0.5), neighbours = 6), d, poisson())$model
  size <- probe_sparse_limit(model, Inf, Inf)
  expect_identical(probe_sparse_limit(model, size[1], size[2]), size)
  for (most in list(size - c(1, 0), size - c(0, 1))) {
    expect_error(
      probe_sparse_limit(model, most[1], most[2]),
      "factor of 37 nodes would have .* numbers and take .* multiplications .*fewer `neighbours`.*inducing = 5000"
    )
  }
})

test_that("an analysis of too many neighbours stops before it starts", {
  # as the memory of a fit is predicted, from the nodes and their neighbours
  model <- function(n, m) {
    near <- list(places = matrix(0, n, 2), neighbours = matrix(0L, n, m), between = FALSE)
    own <- list(type = "neighbours", label = "gp(x, z)", neighbours = near)
    new_model(numeric(n), list(own), c(1, 1))
  }
  few <- fit_size(model(1000L, 10L))
  many <- fit_size(model(1000L, 40L))
  expect_gt(many$bytes, few$bytes)
  expect_silent(check_size(few, 1e10))
  expect_error(check_size(many, 1e6), "fewer `neighbours`", class = "galvi_error_size")
})

test_that("bad input is refused by name", {
  d <- neighbour_rows()
  refused <- function(formula, what, class = "galvi_error_argument") {
    expect_error(galvi(formula, d, poisson(), hyper = "fixed"), what, class = class)
  }
  for (m in list(0, -1, 2.5, "a", c(1, 2), NA, Inf, TRUE)) {
    refused(y ~ gp(x1, x2, neighbours = m), "`neighbours` must be a posit")
  }
  refused(y ~ gp(x1, x2, neighbours = 20, inducing = 10), "`inducing = 10` are fewer nodes than `neighbours = 20`")
  refused(y ~ gp(x1, x2, neighbours = 5, center = TRUE), "leave `center` out")
  refused(y ~ gp(x1, x2, neighbours = 5, kernel = linear()), "leave `neighbours` out")
  refused(y ~ gp(x1, x2, neighbours = 5, inducing = 9, approximation = "fitc"), "leave `approximation` out")
  refused(y ~ gp(x1, neighbours = 5) + gp(x2), "`gp\\(x1\\)` has `neighbours`", "galvi_error_formula")
  # on a line, and with factors among three inputs: with all places as neighbours, the full process
  held <- function(formula) galvi(formula, d, poisson(), hyper = "fixed")$elbo
  expect_close(held(y ~ gp(x1, kernel = matern32(1, 0.5), neighbours = 100)), held(y ~ gp(x1, kernel = matern32(1, 0.5),
    center = FALSE)), 1e-6)
  expect_close(held(y ~ gp(x1, f, u, kernel = matern32(1, 0.5), neighbours = 100)), held(y ~ gp(x1, f, u,
    kernel = matern32(1, 0.5), center = FALSE)), 1e-6)
  one <- galvi(y ~ gp(x1, x2, neighbours = 5), d[1, ], poisson(), hyper = "fixed")
  expect_true(is.finite(one$elbo))
  same <- galvi(y ~ gp(x1, x2, neighbours = 5), d[rep(1:2, c(8, 1)), ], poisson(), hyper = "fixed")
  expect_true(is.finite(same$elbo))
})

test_that("a full process of several inputs over many rows suggests neighbours", {
  full <- function(n) {
    kernel <- list(
      type = "se", columns = 1:2, hyper = list(variance = 1L, lengthscale = 2L), constants = list(), parts = list()
    )
    own <- list(type = "kernel", label = "gp(x, z)", kernel = kernel, inputs = matrix(0, n, 2))
    new_model(numeric(n), list(own), c(1, 1))
  }
  both <- "gp(x, z, neighbours = 20) and gp(x, z, inducing = 200) are"
  expect_message(inform_slow_fit(full(3001)), both, fixed = TRUE)
  expect_message(inform_slow_fit(full(2500)), "hours|minutes|seconds")
  # and so does the error where memory is short
  expect_error(
    check_size(fit_size(full(3001)), 1e6), "Use nearest neighbours, gp(x, z, neighbours = 20), inducing points,",
    fixed = TRUE, class = "galvi_error_size"
  )
})

test_that("neighbours are renewed by the lengthscales that were learned, and the fit keeps them", {
  set.seed(2)
  n <- 150
  d <- data.frame(x = runif(n), z = runif(n))
  d$y <- rpois(n, exp(1 + sin(12 * d$x)))
  design <- galvi_design(y ~ gp(x, z, kernel = matern32(ard = TRUE), neighbours = 6), d, poisson())
  model <- galvi_model(design)
  posterior <- galvi_infer(model)
  fit <- galvi_fit(model, posterior)
  spec <- fit$design$specs[[2]]
  learned <- fit$hyper$estimate[2:3]
  expect_true(alike_scales(spec$nodes$scale, learned))
  expect_false(alike_scales(model$design$specs[[2]]$nodes$scale, learned))
  # order and neighbours are those of loops in these units
  Z <- spec$nodes$places / rep(spec$nodes$scale, each = n)
  expect_identical(plain_maxmin(Z), seq_len(n))
  expect_identical(spec$nodes$neighbours, plain_before(Z, 6))
  expect_identical(fit$model$predictors[[1]]$terms[[2]]$neighbours, spec$nodes)
  expect_close(predict(fit, d, type = "link"), fitted(fit, type = "link"), 1e-6)
  # held, nothing is renewed
  held <- galvi(y ~ gp(x, z, kernel = matern32(ard = TRUE), neighbours = 6), d, poisson(), hyper = "fixed")
  expect_identical(held$design$specs[[2]]$nodes$scale, model$design$specs[[2]]$nodes$scale)
})
