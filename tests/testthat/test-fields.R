walk <- function(n, seed = 1) {
  set.seed(seed)
  f <- factor(rep(c("a", "b"), length.out = n))
  data.frame(t = seq_len(n), y = stats::rnorm(n), v = stats::rnorm(n), f = f)
}

path <- function(n) lapply(seq_len(n), function(k) setdiff(c(k - 1L, k + 1L), c(0L, n + 1L)))

# ---- priors ----

test_that("iid() is independent, by level", {
  d <- data.frame(y = 0, g = c("b", "a", "b", "c"))
  expect_equal(prior_of(y ~ iid(g, variance = 3), d), 3 * outer(d$g, d$g, "=="), ignore_attr = TRUE)
  same <- list(y ~ (1 | g), y ~ iid(as.factor(g)), y ~ galvi::iid(g), y ~ iid(c(2, 1, 2, 10)))
  for (f in same) expect_equal(prior_of(f, d), outer(d$g, d$g, "==") + 0, ignore_attr = TRUE)
  found <- field_of(y ~ (1 | g), d)
  expect_identical(found$hyper$name[found$term$field$hyper$variance], "iid(g).variance")
})

test_that("iid(a:b) is every combination, of text too", {
  d <- data.frame(y = 0, a = c("x", "x", "y", "y"), b = c("1", "2", "1", "1"))
  pair <- paste(d$a, d$b)
  for (f in list(y ~ iid(a:b), y ~ (1 | a:b), y ~ iid(factor(a):factor(b)))) {
    expect_equal(prior_of(f, d), outer(pair, pair, "==") + 0, ignore_attr = TRUE)
  }
  expect_identical(field_of(y ~ iid(a:b), d)$term$label, "iid(a:b)")
})

test_that("besag and rw1 are the generalised inverse of the graph's Laplacian", {
  d <- walk(6)
  S <- diag(c(1, 2, 2, 2, 2, 1))
  S[abs(row(S) - col(S)) == 1] <- -1
  inverse <- MASS::ginv(S)
  graph <- path(6)
  expect_equal(prior_of(y ~ rw1(t, 2), d), 2 * inverse, tolerance = 1e-10)
  expect_equal(prior_of(y ~ gmrf(t, graph, variance = 2), d), 2 * inverse, tolerance = 1e-10)
  expect_equal(field_of(y ~ gmrf(t, graph), d)$term$field$pins, 1L)
  weights <- abs(outer(1:6, 1:6, "-")) %in% 1:2 / 3
  dim(weights) <- c(6, 6)
  expect_equal(
    prior_of(y ~ gmrf(t, weights), d), MASS::ginv(diag(rowSums(weights)) - weights), tolerance = 1e-10
  )
})

test_that("every component adds up to zero, and a node alone is N(0, variance)", {
  d <- data.frame(y = 0, g = c(6, 1:5))
  graph <- list(2L, c(1L, 3L), 2L, 5L, 4L, integer())
  found <- field_of(y ~ gmrf(g, graph, variance = 2), d)
  S <- field_covariance(found$term, found$hyper$value)
  expect_equal(rowSums(S[, 1:3]), numeric(6), tolerance = 1e-12)
  expect_equal(rowSums(S[, 4:5]), numeric(6), tolerance = 1e-12)
  expect_equal(S[6, ], c(0, 0, 0, 0, 0, 2))
  expect_equal(S[4:5, 4:5], cbind(c(0.5, -0.5), c(-0.5, 0.5)))
  expect_equal(found$term$field$pins, c(1L, 4L))
  free <- field_of(y ~ 0 + gmrf(g, graph, variance = 2, constrain = FALSE), d)$term
  expect_equal(free$field$basis, cbind(c(1, 1, 1, 0, 0, 0), c(0, 0, 0, 1, 1, 0)))
})

test_that("constants that are not removed have the intercept's prior, its mean once", {
  d <- data.frame(y = c(7, 9, 8, 8), g = 1:4)
  graph <- path(4)
  basis <- function(f, ...) {
    found <- field_of(f, d, ...)
    list(mean = found$term$mean, sd = found$hyper$value[found$term$factors[1, ]])
  }
  free <- basis(y ~ 0 + gmrf(g, graph, constrain = FALSE))
  expect_equal(free, list(mean = 8, sd = rep(10 * stats::sd(d$y), 2)))
  expect_equal(basis(y ~ gmrf(g, graph, constrain = FALSE))$mean, 0)
  expect_equal(basis(y ~ 0 + gmrf(g, graph, constrain = FALSE), family = poisson()),
    list(mean = log(8), sd = c(10, 10)))
  expect_null(field_of(y ~ gmrf(g, graph), d)$term$field$basis)
})

test_that("rw2 is the generalised inverse of second differences, and its slope has a slope's prior", {
  d <- walk(7)
  D <- diff(diag(7), differences = 2)
  found <- field_of(y ~ rw2(t, 3), d)
  slope <- 1:7 - 4
  variance <- (10 * stats::sd(d$y) / stats::sd(d$t))^2
  want <- 3 * MASS::ginv(crossprod(D)) + variance * outer(slope, slope)
  expect_equal(field_rows_covariance(found$term, found$hyper$value), want, tolerance = 1e-10)
  expect_identical(found$term$field$pins, c(1L, 7L))
  cycle <- D[c(1:5, 1, 1), ]
  cycle[6, ] <- c(1, 0, 0, 0, 0, 1, -2)
  cycle[7, ] <- c(-2, 1, 0, 0, 0, 0, 1)
  expect_equal(prior_of(y ~ rw2(t, cyclic = TRUE), d), MASS::ginv(crossprod(cycle)), tolerance = 1e-10)
  edge <- abs(outer(1:7, 1:7, "-")) %in% c(1, 6)
  want <- MASS::ginv(diag(2, 7) - matrix(edge + 0, 7))
  expect_equal(prior_of(y ~ rw1(t, cyclic = TRUE), d), want, tolerance = 1e-10)
})

test_that("ar1 is an exponential kernel on whole times", {
  d <- data.frame(y = 0, t = c(3, 5, 5, 9))
  prior <- prior_of(y ~ ar1(t, variance = 2, correlation = 0.7), d)
  expect_equal(prior, 2 * 0.7^abs(outer(d$t, d$t, "-")), tolerance = 1e-12)
  alone <- prior_of(y ~ ar1(t, 2), data.frame(y = 0, t = 1L)[c(1, 1), ])
  expect_equal(alone, matrix(2, 2, 2))
  found <- field_of(y ~ ar1(t), d)$hyper
  expect_identical(found$transform[match("ar1(t).correlation", found$name)], "atanh")
})

test_that("ar2 has the autocorrelations of its equation, and is ar1 without the partial one", {
  at <- c(3, 5, 5, 9)
  for (last in c(5, 6, 9)) {
    for (h in list(c(0.7, -0.6), c(-0.4, 0.5), c(0.9, 0.3))) {
      d <- data.frame(y = 0, t = c(pmin(at, last), last))
      prior <- prior_of(y ~ ar2(t, 2, h[1], h[2]), d)
      rho <- stats::ARMAacf(c(h[1] * (1 - h[2]), h[2]), lag.max = 6)
      expect_equal(prior, 2 * matrix(rho[abs(outer(d$t, d$t, "-")) + 1], 5), tolerance = 1e-10)
    }
  }
  d <- data.frame(y = 0, t = at)
  expect_equal(prior_of(y ~ ar2(t, 2, 0.6, 0), d), prior_of(y ~ ar1(t, 2, 0.6), d), tolerance = 1e-12)
  expect_error(field_of(y ~ ar2(t), data.frame(y = 0, t = 1:2)), "at least 3 steps", class = "galvi_error_data")
})

test_that("proper and bym2 are what the help page says", {
  d <- data.frame(y = 0, g = 1:5)
  graph <- list(2L, c(1L, 3L), 2L, integer(), integer())
  A <- matrix(0, 5, 5)
  A[cbind(c(1, 2, 2, 3), c(2, 1, 3, 2))] <- 1
  proper <- prior_of(y ~ gmrf(g, graph, "proper", variance = 2, dependence = 0.6), d)
  expect_equal(proper, 2 * solve(diag(c(1, 2, 1, 1, 1)) - 0.6 * A), tolerance = 1e-12)
  inverse <- MASS::ginv(diag(rowSums(A)) - A)
  inverse <- inverse / exp(mean(log(diag(inverse)[1:3])))
  diag(inverse)[4:5] <- 1
  expect_equal(prior_of(y ~ gmrf(g, graph, variance = 2, scale = TRUE), d), 2 * inverse, tolerance = 1e-8)
  bym2 <- prior_of(y ~ gmrf(g, graph, "bym2", variance = 2, mixing = 0.3), d)
  expect_equal(bym2, 2 * (0.7 * diag(5) + 0.3 * inverse), tolerance = 1e-8)
})

test_that("scaled walks have marginal variances of geometric mean 1", {
  d <- walk(9)
  cycle <- y ~ rw2(t, scale = TRUE, cyclic = TRUE)
  for (f in list(y ~ rw1(t, scale = TRUE), y ~ rw2(t, scale = TRUE), cycle)) {
    found <- field_of(f, d)
    found$term$field["basis"] <- list(NULL)
    S <- field_covariance(found$term, found$hyper$value)
    expect_equal(exp(mean(log(diag(S)))), 1, tolerance = 1e-8)
  }
})

test_that("by = a factor makes independent copies, a number multiplies", {
  d <- walk(8)
  graph <- path(8)
  one <- list(
    iid = prior_of(y ~ iid(t), d), rw1 = prior_of(y ~ rw1(t), d), rw2 = prior_of(y ~ rw2(t), d),
    ar1 = prior_of(y ~ ar1(t), d), gmrf = prior_of(y ~ gmrf(t, graph), d),
    proper = prior_of(y ~ gmrf(t, graph, "proper"), d)
  )
  factor <- list(
    iid = prior_of(y ~ iid(t, by = f), d), rw1 = prior_of(y ~ rw1(t, by = f), d),
    rw2 = prior_of(y ~ rw2(t, by = f), d), ar1 = prior_of(y ~ ar1(t, by = f), d),
    gmrf = prior_of(y ~ gmrf(t, graph, by = f), d), proper = prior_of(y ~ gmrf(t, graph, "proper", by = f), d)
  )
  expect_equal(factor, lapply(one, `*`, outer(d$f, d$f, "==")), tolerance = 1e-10, ignore_attr = TRUE)
  number <- list(
    iid = prior_of(y ~ iid(t, by = v), d), rw1 = prior_of(y ~ rw1(t, by = v), d),
    ar1 = prior_of(y ~ ar1(t, by = v), d), gmrf = prior_of(y ~ gmrf(t, graph, by = v), d)
  )
  expect_equal(number, lapply(one[names(number)], `*`, outer(d$v, d$v)), tolerance = 1e-10)
  expect_identical(field_of(y ~ rw1(t, by = f), d)$term$label, "rw1(t, by = f)")
})

# ---- times ----

test_that("gaps are steps, ties are fine, and factors have their levels as steps", {
  gap <- data.frame(y = 0, t = c(10, 10, 13))
  full <- prior_of(y ~ rw1(t), data.frame(y = 0, t = 1:4))
  expect_equal(prior_of(y ~ rw1(t), gap), full[c(1, 1, 4), c(1, 1, 4)], tolerance = 1e-10)
  levelled <- data.frame(y = 0, t = factor(c("a", "a", "d"), letters[1:4]))
  expect_equal(prior_of(y ~ rw1(t), levelled), full[c(1, 1, 4), c(1, 1, 4)], tolerance = 1e-10)
  dates <- data.frame(y = 0, t = as.Date("2024-02-27") + c(0, 0, 3))
  expect_equal(prior_of(y ~ rw1(t), dates), full[c(1, 1, 4), c(1, 1, 4)], tolerance = 1e-10)
  expect_identical(node_names(field_of(y ~ rw1(t), dates)$spec)[3], "2024-02-29")
})

test_that("times of forecasts extend the walk as the textbook does", {
  d <- data.frame(y = 0, t = c(3, 4, 6, 7, 8))
  new <- data.frame(t = c(10, 5, 1, 8))
  # new rows given all nodes of the data: how they depend on these, and what is left of their covariance
  given_old <- function(formula) {
    found <- field_of(formula, d)
    rows <- spec_rows(found$spec, new)
    found$term$field <- rows$extension$field
    S <- field_covariance(found$term, found$hyper$value)
    W <- node_weights(rows, nrow(S))
    weights <- W %*% S[, 1:6] %*% MASS::ginv(S[1:6, 1:6])
    list(weights = weights, rest = W %*% S %*% t(W) - weights %*% S[1:6, 1:6] %*% t(weights))
  }
  at <- diag(6)
  ar1 <- given_old(y ~ ar1(t, 2, 0.5))
  expect_equal(ar1$weights, rbind(0.25 * at[6, ], at[3, ], 0.25 * at[1, ], at[6, ]), tolerance = 1e-8)
  expect_equal(ar1$rest, diag(2 * (1 - 0.5^4) * c(1, 0, 1, 0)), tolerance = 1e-8)
  # weights of walks are known up to the constant that is removed
  rw1 <- given_old(y ~ rw1(t, 2))
  expect_equal(rw1$weights + 1 / 6, rbind(at[6, ], at[3, ], at[1, ], at[6, ]), tolerance = 1e-8)
  expect_equal(rw1$rest, diag(2 * c(2, 0, 2, 0)), tolerance = 1e-8)
  rw2 <- given_old(y ~ rw2(t, 2))
  expect_equal(
    rw2$weights + 1 / 6, rbind(3 * at[6, ] - 2 * at[5, ], at[3, ], 3 * at[1, ] - 2 * at[2, ], at[6, ]),
    tolerance = 1e-7
  )
  # the sum of two second differences, the first counted twice
  expect_equal(rw2$rest, diag(2 * c(5, 0, 5, 0)), tolerance = 1e-7)
})

test_that("new rows of several copies have nodes of their own", {
  d <- data.frame(y = 0, t = c(3, 4, 6, 7), f = c("a", "b", "a", "b"), g = c("u", "v", "u", "w"))
  new <- data.frame(t = c(9, 9, 4, 0), f = c("a", "b", "b", "a"), g = c("x", "u", "y", "x"))
  found <- field_of(y ~ ar1(t, by = f), d)
  rows <- spec_rows(found$spec, new)
  found$term$field <- rows$extension$field
  both <- rbind(d[c("t", "f")], new[c("t", "f")])
  expect_equal(
    field_rows_covariance(found$term, found$hyper$value, rows),
    0.5^abs(outer(new$t, new$t, "-")) * outer(new$f, new$f, "=="), tolerance = 1e-10
  )
  expect_equal(
    field_rows_covariance(found$term, found$hyper$value, found$term, rows),
    0.5^abs(outer(d$t, new$t, "-")) * outer(d$f, new$f, "=="), tolerance = 1e-10
  )
  found <- field_of(y ~ iid(g, by = f), d)
  rows <- spec_rows(found$spec, new)
  found$term$field <- rows$extension$field
  pair <- paste(new$g, new$f)
  expect_equal(field_rows_covariance(found$term, found$hyper$value, rows), outer(pair, pair, "==") + 0,
    ignore_attr = TRUE)
  expect_null(spec_rows(found$spec, d)$extension)
})

# ---- hyperparameters ----

test_that("variances and shares are started, held and given priors", {
  d <- walk(6)
  graph <- path(6)
  row <- function(f, name) {
    hyper <- field_of(f, d)$hyper
    lapply(hyper[c("value", "learned", "transform", "lower", "upper")], `[`, match(name, hyper$name))
  }
  started <- row(y ~ iid(f, 3), "iid(f).variance")
  expect_identical(started[1:3], list(value = 3, learned = TRUE, transform = "log"))
  expect_false(row(y ~ iid(f, fixed(3)), "iid(f).variance")$learned)
  k <- 0.2
  expect_identical(row(y ~ ar1(t, correlation = -k), "ar1(t).correlation")$value, -0.2)
  expect_false(row(y ~ ar1(t, correlation = fixed(0)), "ar1(t).correlation")$learned)
  high <- row(y ~ ar1(t, correlation = 0.9999), "ar1(t).correlation")
  expect_true(high$upper > 0.9999 && high$upper < 1)
  share <- row(y ~ gmrf(t, graph, "proper", dependence = 0.3), "gmrf(t).dependence")
  expect_identical(share[1:3], list(value = 0.3, learned = TRUE, transform = "logit"))
  # a variance of second differences is tiny where there are many
  lower <- function(f) row(f, "rw2(t).variance")$lower
  expect_equal(lower(y ~ rw2(t)), lower(y ~ rw2(t, scale = TRUE)) / 6^3)
  hyper <- field_of(y ~ rw1(t, pc(1, 0.05)), d)$hyper
  expect_identical(hyper$prior[[match("rw1(t).variance", hyper$name)]]$type, "pc")
  started <- field_of(y ~ ar1(t), d, start = c("ar1(t).correlation" = -0.4, "ar1(t).variance" = 2))$hyper
  expect_identical(started$value[match(c("ar1(t).correlation", "ar1(t).variance"), started$name)], c(-0.4, 2))
  expect_error(field_of(y ~ ar1(t), d, start = c("ar1(t).correlation" = 1)), "between -1 and 1",
    class = "galvi_error_argument")
})

test_that("labels tell terms apart", {
  d <- walk(6)
  graph <- path(6)
  labels <- function(f) prepare_model(f, d)$design$labels
  expect_identical(
    labels(y ~ v + (1 | f) + iid(f, by = v) + gmrf(t, graph) + rw1(t) + rw2(t) + ar1(t, by = f)),
    c("fixed", "iid(f)", "iid(f, by = v)", "gmrf(t)", "rw1(t)", "rw2(t)", "ar1(t, by = f)")
  )
  expect_identical(labels(y ~ gmrf(t, graph) + gmrf(t, graph, "proper")), c("fixed", "gmrf(t)", "gmrf(t) #2"))
})

test_that("the solver is that of the terms", {
  d <- walk(6)
  solver <- function(f) solver_of(prepare_model(f, d)$model)
  expect_identical(solver(y ~ v), "projected")
  expect_identical(solver(y ~ v + iid(f)), "sparse")
  expect_identical(solver(y ~ gp(v) + iid(f)), "dense_kernel")
  expect_identical(solver(y ~ gp(v, kernel = linear()) + rw1(t)), "sparse")
})

# ---- errors ----

test_that("what a field cannot be is said", {
  d <- walk(6)
  d$real <- d$t + 0.5
  d$text <- letters[1:6]
  d$one <- 1
  graph <- path(6)
  refused <- function(formula, message, what, data = d) {
    expect_error(prepare_model(formula, data), message, class = paste0("galvi_error_", what))
  }
  refused(y ~ iid(), "needs `g`", "formula")
  refused(y ~ iid(.), "must be a column", "formula")
  refused(y ~ iid(f, vari = 2), "no argument `vari`. Did you mean `variance`", "argument")
  refused(y ~ iid(f, 1, v, "shared", NULL, NULL, 5), "iid\\(\\) takes", "formula")
  refused(y ~ iid(f / text), "nested groups as iid\\(f\\) \\+ iid\\(f:text\\)", "formula")
  refused(y ~ iid(f + text), "takes one variable", "formula")
  refused(y ~ iid(f, variance = -1), "`variance` must be a positive number, not -1", "argument")
  refused(y ~ iid(f, variance = fixed(0)), "`variance` must be a positive number", "argument")
  refused(y ~ iid(f, variance = normal(0, 1)), "use log_normal", "argument")
  refused(y ~ ar1(t, correlation = 1), "between -1 and 1, both excluded", "argument")
  refused(y ~ ar1(t, correlation = pc(1, 0.1)), "it takes no prior", "argument")
  refused(y ~ gmrf(t), "needs `graph`", "formula")
  refused(y ~ gmrf(t, nothing), "`graph` cannot be evaluated", "argument")
  refused(y ~ gmrf(t, graph, "car"), "must be one of", "argument")
  refused(y ~ gmrf(t, graph, mixing = 0.2), "belongs to model = \"bym2\"", "argument")
  refused(y ~ gmrf(t, graph, "proper", constrain = FALSE), "not \"proper\"", "argument")
  refused(y ~ gmrf(text, graph), "\"a\" \\(row 1\\), which is not a node", "data")
  refused(y ~ gmrf(t, graph[-6]), "whole numbers from 1 to 5", "argument")
  refused(y ~ rw1(real), "whole numbers, dates or a factor", "data")
  refused(y ~ rw1(text), "not text, which has no order", "data")
  refused(y ~ rw1(one), "at least 2 steps", "data")
  refused(y ~ rw2(f), "at least 3 steps", "data")
  refused(y ~ rw1(t, scale = 2), "`scale` must be TRUE or FALSE", "argument")
  refused(y ~ ar1(t * 1e6), "too many for ar1", "data")
  refused(y ~ rw1(cbind(t, v)), "to be in rw1", "data")
  expect_error(iid(1), "is a term", class = "galvi_error_formula")
  expect_error(gmrf(1, 2), "is a term", class = "galvi_error_formula")
  expect_error(rw1(1), "is a term", class = "galvi_error_formula")
})

test_that("messages name the term, what was found and what is accepted", {
  d <- walk(6)
  graph <- path(6)
  asymmetric <- list(2L, integer())
  expect_error_snapshot({
    galvi(y ~ iid(f / v), d)
    galvi(y ~ iid(f + v), d)
    galvi(y ~ iid(f, vari = 2), d)
    galvi(y ~ iid(f, variance = -1), d)
    galvi(y ~ gmrf(t), d)
    galvi(y ~ gmrf(t, asymmetric), d)
    galvi(y ~ gmrf(t, "map"), d)
    galvi(y ~ gmrf(t, graph, mixing = 0.2), d)
    galvi(y ~ gmrf(t + 1, graph), d)
    galvi(y ~ gmrf(t, graph, "proper", dependence = 1), d)
    galvi(y ~ rw1(v), d)
    galvi(y ~ rw2(f), d)
    galvi(y ~ ar1(t * 1e6), d)
    galvi(y ~ ar1(t, correlation = pc(1, 0.1)), d)
    predict(galvi(y ~ rw1(t, cyclic = TRUE), d, hyper = "fixed"), data.frame(t = 9))
    predict(galvi(y ~ gmrf(t, graph), d, hyper = "fixed"), data.frame(t = 9))
  })
})

# ---- fits ----

seasons <- function(n = 60, family = "gaussian") {
  set.seed(3)
  d <- data.frame(
    t = sample(1:25, n, replace = TRUE), g = sample(letters[1:6], n, replace = TRUE), x = stats::rnorm(n)
  )
  eta <- sin(d$t / 4) + stats::rnorm(6, sd = 0.5)[match(d$g, letters)] + 0.3 * d$x
  d$y <- if (family == "poisson") stats::rpois(n, exp(eta)) else eta + stats::rnorm(n, sd = 0.3)
  d
}

held <- function(formula, data, ...) {
  galvi(formula, data, hyper = "fixed", control = galvi_control(uncertainty = "factorised"), ...)
}

test_that("fits with fields are those with the same covariance in a dense formulation", {
  d <- seasons(family = "poisson")
  kernel <- matern12(variance = fixed(2), lengthscale = fixed(-1 / log(0.8)))
  ar1 <- held(y ~ x + ar1(t, 2, 0.8), d, family = poisson())
  dense <- held(y ~ x + gp(t, kernel = kernel, center = FALSE), d, family = poisson())
  expect_equal(ar1$elbo, dense$elbo, tolerance = 1e-8)
  expect_equal(coef(ar1), coef(dense), tolerance = 1e-5)
  new <- data.frame(x = 0:2, t = c(3, 30, -2))
  expect_equal(
    predict(ar1, new, "link", se.fit = TRUE), predict(dense, new, "link", se.fit = TRUE), tolerance = 1e-5
  )
  expect_equal(
    unname(predict(ar1, new, "terms", se.fit = TRUE)$se.fit[, 2]),
    unname(predict(dense, new, "terms", se.fit = TRUE)$se.fit[, 2]), tolerance = 1e-5
  )
  expect_equal(predict(ar1, new, "link", covariance = TRUE)$covariance,
    predict(dense, new, "link", covariance = TRUE)$covariance, tolerance = 1e-5)
  iid <- held(y ~ x + iid(g, 0.5), d, family = poisson())
  columns <- held(y ~ x + gp(g, kernel = linear(variance = fixed(1))), d, family = poisson())
  expect_equal(iid$elbo, columns$elbo, tolerance = 1e-8)
  expect_equal(
    predict(iid, type = "terms"), predict(columns, type = "terms"), tolerance = 1e-5, ignore_attr = TRUE
  )
})

test_that("the same fields in a dense sum give the same fit", {
  d <- seasons()
  graph <- path(25)
  kernel <- se(variance = fixed(1e-12), lengthscale = fixed(1))
  sparse <- held(y ~ iid(g) + gmrf(t, graph, "proper") + rw2(t, 0.01, cyclic = TRUE), d)
  dense <- held(update(formula(sparse), . ~ . + gp(x, kernel = kernel)), d)
  expect_identical(c(solver_of(sparse$model), solver_of(dense$model)), c("sparse", "dense_kernel"))
  expect_equal(sparse$elbo, dense$elbo, tolerance = 1e-8)
  expect_equal(nlme::ranef(sparse), nlme::ranef(dense), tolerance = 1e-6)
})

test_that("new levels have the prior, regions without data their neighbours", {
  d <- seasons()
  fit <- held(y ~ iid(g, 0.7), d)
  new <- predict(fit, data.frame(g = c("new", "a", "other", "new")), "terms", se.fit = TRUE)
  expect_equal(unname(new$fit[c(1, 3), 1]), c(0, 0))
  expect_equal(unname(new$se.fit[c(1, 3, 4), 1]), rep(sqrt(0.7), 3), tolerance = 1e-10)
  expect_equal(new$fit[[2, 1]], nlme::ranef(fit)[[1]]["a", "mean"])
  both <- predict(fit, data.frame(g = c("new", "other", "new")), "link", covariance = TRUE)$covariance
  expect_equal(both[1, 3], both[1, 1])
  expect_equal(both[1, 2], both[1, 1] - 0.7)
  both <- held(y ~ g + iid(g), d)
  expect_error(predict(both, data.frame(g = "new")), "was not in the data", class = "galvi_error_newdata")
  graph <- path(8)
  few <- data.frame(y = c(1, 3, 2), r = c(1, 3, 4))
  # under a finite prior of the intercept the constant that is removed would pull a little
  field <- held(y ~ gmrf(r, graph), few, prior = list(intercept = normal(0, Inf)))
  effects <- nlme::ranef(field)[[1]]
  expect_identical(rownames(effects), as.character(1:8))
  # the mean of its neighbours, and at the end the last one
  expect_equal(effects$mean[2], mean(effects$mean[c(1, 3)]), tolerance = 1e-8)
  expect_equal(effects$mean[8], effects$mean[7], tolerance = 1e-8)
  expect_equal(unname(predict(field, data.frame(r = 8), "terms")[1, 1]), effects$mean[8])
  expect_error(predict(field, data.frame(r = 9)), "not a node of the graph", class = "galvi_error_newdata")
})

test_that("forecasts are those of dense algebra, bands too", {
  d <- seasons(20)
  d <- d[d$t %in% 3:20, ]
  new <- data.frame(t = c(25, 0, 12, 21), x = 0)
  for (term in list(quote(rw1(t, 0.4)), quote(rw2(t, 0.1)), quote(ar1(t, 2, 0.9)))) {
    f <- as.formula(bquote(y ~ 0 + .(term)))
    fit <- held(f, d)
    found <- field_of(f, d)
    rows <- spec_rows(found$spec, new)
    noise <- found$hyper$value[match("gaussian.variance", found$hyper$name)]
    extended <- found$term
    extended$field <- rows$extension$field
    K <- field_rows_covariance(extended, found$hyper$value)
    cross <- field_rows_covariance(extended, found$hyper$value, rows, extended)
    gain <- cross %*% solve(K + noise * diag(nrow(K)))
    got <- predict(fit, new, "link", se.fit = TRUE)
    expect_equal(unname(got$fit), drop(gain %*% d$y), tolerance = 1e-7)
    V <- field_rows_covariance(extended, found$hyper$value, rows) - gain %*% t(cross)
    expect_equal(unname(got$se.fit), sqrt(diag(V)), tolerance = 1e-7)
    # without forecasts among them rows are the same
    expect_equal(predict(fit, new[3, ], "link"), got$fit[3], tolerance = 1e-9, ignore_attr = TRUE)
  }
  cycle <- held(y ~ rw1(t, cyclic = TRUE), d)
  expect_error(predict(cycle, data.frame(t = 30)), "a time of the cycle", class = "galvi_error_newdata")
  expect_error(predict(cycle, data.frame(t = 4.5)), "whole numbers", class = "galvi_error_newdata")
})

test_that("a local level model is that of StructTS", {
  d <- data.frame(t = 1:100, y = as.numeric(Nile))
  fit <- galvi(y ~ rw1(t), d)
  level <- stats::StructTS(Nile, "level")
  estimate <- stats::setNames(fit$hyper$estimate, fit$hyper$name)
  expect_equal(estimate[["rw1(t).variance"]], level$coef[["level"]], tolerance = 0.01)
  expect_equal(estimate[["gaussian.variance"]], level$coef[["epsilon"]], tolerance = 0.01)
})

test_that("ranef() has a row per node, copy and class", {
  d <- seasons()
  d$f <- factor(rep(c("u", "v"), 30))
  d$v <- stats::runif(60)
  fit <- held(y ~ x + iid(g, by = f) + rw1(t, by = v), d)
  effects <- nlme::ranef(fit)
  expect_named(effects, c("g", "rw1(t, by = v)"))
  expect_identical(rownames(effects[[1]]), c(paste0(letters[1:6], ":u"), paste0(letters[1:6], ":v")))
  terms <- predict(fit, type = "terms", se.fit = TRUE)
  at <- match(paste(d$g, d$f, sep = ":"), rownames(effects[[1]]))
  expect_equal(effects[[1]]$mean[at], unname(terms$fit[, 2]), tolerance = 1e-8)
  expect_equal(effects[[1]]$sd[at], unname(terms$se.fit[, 2]), tolerance = 1e-8)
  expect_equal(effects[[2]][as.character(d$t), "mean"] * d$v, unname(terms$fit[, 3]), tolerance = 1e-8)
  classes <- held(Species ~ iid(round(Sepal.Length)), iris, family = categorical())
  expect_identical(colnames(nlme::ranef(classes)[[1]])[c(1, 4)], c("mean.setosa", "sd.setosa"))
})

test_that("priors move the estimates, and shares are learned", {
  d <- seasons(family = "poisson")
  free <- galvi(y ~ iid(g) + ar1(t), d, family = poisson())
  tight <- galvi(y ~ iid(g, pc(0.01, 0.01)) + ar1(t, correlation = fixed(0.3)), d, family = poisson())
  get <- function(fit, name) fit$hyper$estimate[fit$hyper$name == name]
  expect_lt(get(tight, "iid(g).variance"), get(free, "iid(g).variance"))
  expect_identical(get(tight, "ar1(t).correlation"), 0.3)
  expect_gt(get(free, "ar1(t).correlation"), 0.5)
  again <- update(free, start = free, hyper = "fixed")
  expect_equal(again$elbo, free$elbo, tolerance = 1e-8)
})

test_that("what works on a fit works with fields", {
  d <- seasons(family = "poisson")
  graph <- path(25)
  fit <- galvi(y ~ x + (1 | g) + gmrf(t, graph, "bym2"), d, family = poisson(), hyper = "fixed")
  expect_output(print(summary(fit)), "gmrf\\(t\\)\\.mixing")
  expect_equal(predict(fit), predict(fit, d), tolerance = 1e-8)
  for (type in c("response", "pearson", "deviance", "quantile")) {
    expect_true(all(is.finite(residuals(fit, type))))
  }
  expect_identical(dim(simulate(fit, 2, seed = 1)), c(60L, 2L))
  expect_identical(deparse(formula(update(fit, . ~ . - (1 | g)))), "y ~ x + gmrf(t, graph, \"bym2\")")
  copy <- unserialize(serialize(fit, NULL))
  expect_identical(predict(copy, d), predict(fit, d))
  methods <- c("natural_gradient", "fixed_point")
  compared <- galvi_compare(y ~ x + iid(g), d, family = poisson(), methods = methods)
  expect_s3_class(compared, "galvi_compare")
  skip_if_not_installed("loo")
  expect_true(is.finite(loo::loo(fit)$estimates["elpd_loo", "Estimate"]))
  set.seed(1)
  expect_lt(check_fit(fit, 200)$k, 1)
})

test_that("plots show levels in order, steps along time and maps", {
  d <- seasons()
  d$f <- factor(rep(c("u", "v"), 30))
  fit <- held(y ~ x + iid(g, by = f) + rw1(t) + gp(t, inducing = 5), d)
  drawn <- plot_away(fit)
  expect_named(drawn, c("x", "iid(g, by = f), f = u", "iid(g, by = f), f = v", "rw1(t)", "gp(t)"),
    ignore.order = TRUE)
  expect_identical(names(drawn[[2]]), c("g", "fit", "lwr", "upr"))
  expect_identical(drawn[["rw1(t)"]]$t, seq(min(d$t), max(d$t), by = 1))
  expect_true(all(c("t", "g", "f", "x") %in% plot_away(fit, "relevance")$name))
  many <- data.frame(y = stats::rnorm(300), g = 1:300)
  expect_identical(nrow(plot_away(held(y ~ 0 + iid(g), many))[[1]]), 300L)
  classes <- held(Species ~ iid(round(Sepal.Length)), iris, family = categorical())
  expect_length(plot_away(classes), 3L)
  skip_if_not_installed("sf")
  square <- function(x) sf::st_polygon(list(cbind(x + c(0, 1, 1, 0, 0), c(0, 0, 1, 1, 0))))
  map <- sf::st_sf(id = 1:3, geometry = sf::st_sfc(square(0), square(1), square(2)))
  regions <- held(y ~ gmrf(r, map), data.frame(y = c(1, 2), r = c(1, 3)))
  expect_identical(plot_away(regions)[[1]]$r, c("1", "2", "3"))
})

test_that("what is learned does not depend on the response's units", {
  set.seed(8)
  d <- data.frame(g = sample(12, 120, TRUE), t = sample(20, 120, TRUE))
  d$y <- rnorm(12)[d$g] + cumsum(rnorm(20, sd = 0.5))[d$t] + rnorm(120)
  learned <- function(unit, formula) {
    fit <- galvi(formula, transform(d, y = unit * y), control = galvi_control(threads = 1))
    found <- fit$hyper[fit$hyper$status == "learned", ]
    c(fit$elbo + 120 * log(unit), found$estimate / ifelse(found$parameter == "correlation", 1, unit^2))
  }
  for (formula in list(y ~ iid(g) + rw1(t), y ~ iid(g) + ar1(t))) {
    expect_close(learned(1e5, formula), learned(1, formula), 1e-2)
  }
  # a search may pass where variances differ by twenty orders of magnitude
  for (unit in c(1e-8, 1e8)) {
    fit <- galvi(y ~ iid(g) + rw2(t), transform(d, y = unit * rnorm(120)), control = galvi_control(threads = 1))
    expect_true(fit$convergence$converged)
  }
})

test_that("rows without a time predict NA, and no rows predict nothing", {
  fit <- galvi(y ~ rw1(t), data.frame(t = 1:6, y = c(1, 3, 2, 4, 3, 5)), hyper = "fixed")
  expect_silent(found <- predict(fit, data.frame(t = c(NA, NA_real_))))
  expect_identical(as.vector(found), c(NA_real_, NA_real_))
  expect_silent(none <- predict(fit, data.frame(t = numeric())))
  expect_length(none, 0)
})

test_that("the slope of rw2 and constants of gmrf() have priors that are shown, set and learned", {
  d <- data.frame(t = 1:12, g = rep(1:4, 3), y = 1:12 + sin(1:12))
  graph <- path(4)
  default <- galvi(y ~ rw2(t), d, hyper = "fixed")$prior
  expect_named(default, c("(Intercept)", "rw2(t).slope"))
  expect_equal(default[["rw2(t).slope"]]$sd, 10 * sd(d$y) / sd(d$t))
  # a walk that cannot bend is its slope, and a slope held at zero leaves the mean
  straight <- function(prior) galvi(y ~ rw2(t, variance = fixed(1e-9)), d, prior = prior, hyper = "fixed")
  for (prior in list(normal(0, 1e-6), list("rw2(t).slope" = normal(0, 1e-6)))) {
    expect_lt(diff(range(fitted(straight(prior)))), 1e-6)
  }
  tilted <- fitted(straight(list("rw2(t).slope" = normal(0.5, 1e-6))))
  expect_equal(unname(diff(tilted)), rep(0.5, 11), tolerance = 1e-6)
  learned <- galvi(y ~ rw2(t), d, prior = normal(0, learn(0.3)))$hyper
  expect_identical(learned$status[learned$name == "rw2(t).slope.sd"], "learned")
  levels <- y ~ gmrf(g, graph, constrain = FALSE)
  constants <- galvi(levels, d, prior = list("gmrf(g).constant" = normal(2, 1)), hyper = "fixed")$prior
  expect_equal(constants[["gmrf(g).constant"]], normal(2, 1))
  expect_equal(galvi(levels, d, prior = list(intercept = normal(2, 1)), hyper = "fixed")$prior[[2]], normal(0, 1))
  expect_error(galvi(y ~ rw2(t), d, prior = list("rw2(t).slop" = normal(0, 1))), "rw2\\(t\\).slope",
    class = "galvi_error_prior")
})

test_that("precise observations of a field keep their digits in predictions, forecasts and the evidence", {
  set.seed(1)
  n <- 10
  d <- data.frame(t = 1:n, y = sin(1:n) + 0.1 * rnorm(n))
  D <- diff(diag(n), differences = 2)
  for (noise in c(1e-8, 1e-10, 1e-12)) {
    fit <- galvi(y ~ rw2(t, variance = fixed(60)), d, galvi_family(gaussian(), variance = fixed(noise)))
    C <- prior_of(y ~ rw2(t, variance = fixed(60)), d) + fit$prior[[1]]$sd^2
    r <- d$y - fit$prior[[1]]$mean
    alpha <- solve(C + noise * diag(n), r)
    link <- predict(fit, d, type = "link", se.fit = TRUE)
    expect_equal(unname(link$fit), d$y - noise * alpha, tolerance = tol$identity)
    expect_lt(max(abs(link$fit - predict(fit, type = "link")) / link$se.fit), tol$solve)
    # a walk goes on with its last slope
    ends <- link$fit[9:10]
    expect_equal(unname(predict(fit, data.frame(t = 11:12))), ends[[2]] + 1:2 * diff(ends)[[1]],
      tolerance = tol$identity)
    R <- chol(C + noise * diag(n))
    evidence <- -0.5 * sum(backsolve(R, r, transpose = TRUE)^2) - sum(log(diag(R))) - n / 2 * log(2 * pi)
    expect_equal(c(logLik(fit)), evidence, tolerance = tol$identity)
  }
})

test_that("predictions at the observations are the fitted values under wide priors", {
  set.seed(2)
  worst <- function(formula, d) {
    fit <- galvi(formula, d)
    link <- predict(fit, d, type = "link", se.fit = TRUE)
    max(abs(link$fit - predict(fit, type = "link")) / link$se.fit)
  }
  d <- data.frame(t = 1:1000, g = factor(rep(1:100, 10)))
  d$y <- 100 * sin(d$t / 20)
  expect_lt(worst(y ~ rw2(t), d), tol$solve)
  expect_lt(worst(y ~ rw1(t), d), tol$solve)
  d$y <- d$y + 1000 * rnorm(100)[d$g]
  expect_lt(worst(y ~ rw2(t) + iid(g), d), tol$solve)
})

test_that("a level is the same level whatever type of number it comes as", {
  d <- data.frame(y = c(1, 2, 4, 3), g = c(99999, 100000, 200000, 100001))
  fit <- galvi(y ~ iid(g), d, hyper = "fixed")
  expect_identical(rownames(ranef(fit)[[1L]]), c("99999", "100000", "100001", "200000"))
  whole <- transform(d, g = as.integer(g))
  expect_identical(predict(fit, whole), predict(fit, d))
  edges <- cbind(c(99999, 100000, 100001), c(100000, 100001, 200000))
  map <- galvi(y ~ gmrf(g, edges), d, hyper = "fixed")
  expect_identical(predict(map, whole), predict(map, d))
  expect_identical(predict(galvi(y ~ gmrf(g, edges), whole, hyper = "fixed"), d), predict(map, d))
})

test_that("variances of groups are found beside columns that explain nearly everything", {
  set.seed(3)
  d <- expand.grid(day = gl(5, 1), vial = gl(6, 1), conc = c(0, 250, 500, 750, 1000))
  rest <- rnorm(5, 0, 0.8)[d$day] + rnorm(30, 0, 0.6)[interaction(d$day, d$vial)] + rnorm(nrow(d))
  at <- function(slope) {
    d$y <- slope * d$conc + rest
    galvi(y ~ conc + (1 | day/vial), d)
  }
  flat <- as.data.frame(VarCorr(at(0)))$sdcor
  steep <- as.data.frame(VarCorr(at(3)))$sdcor
  expect_equal(steep, flat, tolerance = 1e-3)
  # nlme's Assay: lme4's estimates
  fit <- suppressMessages(galvi(logDens ~ sample * dilut + (1 | Block) + (1 | Block:sample) + (1 | Block:dilut),
                                as.data.frame(nlme::Assay)))
  expect_equal(as.data.frame(VarCorr(fit))$sdcor, c(0.00981, 0.02529, 0.00914, 0.04156), tolerance = 2e-3)
})

test_that("units of a numeric by change nothing", {
  set.seed(2)
  d <- data.frame(g = gl(8, 10), t = rep(1:10, 8), z = runif(80))
  d$y <- rnorm(8)[d$g] * d$z + rnorm(80)
  bounds <- vapply(c(1, 1000, 1e-3), function(unit) {
    d$z <- unit * d$z
    c(galvi(y ~ iid(g, by = z), d)$elbo, galvi(y ~ gp(t, by = z), d)$elbo, galvi(y ~ ar1(t, by = z), d)$elbo,
      galvi(y ~ rw1(t, by = z), d)$elbo)
  }, numeric(4))
  expect_equal(bounds[, 2], bounds[, 1], tolerance = 1e-5)
  expect_equal(bounds[, 3], bounds[, 1], tolerance = 1e-5)
})
