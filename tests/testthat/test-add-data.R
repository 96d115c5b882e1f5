# New rows for a fit without its own: what all rows together give.

stream_data <- function(n = 1200) {
  set.seed(3)
  d <- data.frame(x = runif(n, -3, 3), z = rnorm(n), g = factor(sample(c("a", "b"), n, TRUE)), e = runif(n, 1, 3))
  f <- sin(1.5 * d$x) + 0.4 * d$z
  d$y <- f + rnorm(n, sd = 0.3)
  d$won <- rbinom(n, 1, plogis(2 * f))
  d$count <- rpois(n, d$e * exp(f))
  d
}

line <- function(count) matrix(seq(-3, 3, length.out = count), dimnames = list(NULL, "x"))
tight <- galvi_control(tol = 1e-10)
batches <- function(d, count) split(d, rep(seq_len(count), each = nrow(d) / count))
# One fit to the first batch, the others added.
streamed <- function(d, count, fit_first) {
  parts <- batches(d, count)
  Reduce(function(fit, part) add_data(fit, part), parts[-1], fit_first(parts[[1]]))
}

test_that("gaussian responses: what all data together give", {
  d <- stream_data()
  priors <- list(intercept = normal(0, 2), default = normal(0, 2))
  fit <- function(rows) {
    galvi(y ~ z + g + offset(0.1 * e) + gp(x, kernel = se(1, 0.8), inducing = line(9)), rows,
      galvi_family(gaussian(), variance = fixed(0.09)), hyper = "fixed", prior = priors, control = tight)
  }
  whole <- fit(d)
  for (count in c(2, 10)) {
    parts <- streamed(d, count, fit)
    expect_equal(coef(parts), coef(whole), tolerance = 1e-8)
    expect_equal(vcov(parts), vcov(whole), tolerance = 1e-8)
    expect_equal(parts$elbo, whole$elbo, tolerance = 1e-8)
    expect_equal(predict(parts, d[1:20, ], se.fit = TRUE), predict(whole, d[1:20, ], se.fit = TRUE), tolerance = 1e-8)
    expect_identical(nobs(parts), nrow(d))
    expect_identical(parts$penalty, 0)
  }
})

test_that("binomial and poisson responses: within a nat of a fit to all", {
  d <- stream_data()
  cases <- list(
    list(won ~ z + gp(x, kernel = se(1, 0.8), inducing = line(9)), "binomial"),
    list(count ~ z + offset(log(e)) + gp(x, kernel = se(1, 0.8), inducing = line(9)), "poisson")
  )
  for (case in cases) {
    fit <- function(rows) {
      galvi(case[[1]], rows, case[[2]], hyper = "fixed", prior = list(default = normal(0, 2)), control = tight)
    }
    whole <- fit(d)
    for (count in c(2, 10)) {
      parts <- streamed(d, count, fit)
      expect_lt(abs(parts$elbo - whole$elbo), 1)
      expect_equal(coef(parts), coef(whole), tolerance = 0.05)
      expect_true(parts$convergence$converged)
    }
  }
  # classes, each with its own posterior; weights, which are looked up in the new rows
  whole <- galvi(g ~ z, d, "categorical", weights = e, hyper = "fixed", prior = normal(0, 2))
  parts <- add_data(update(whole, data = d[1:600, ]), d[601:1200, ])
  expect_lt(abs(parts$elbo - whole$elbo), 1)
  expect_identical(unname(weights(parts)), d$e[601:1200])
})

test_that("learned hyperparameters stay", {
  d <- stream_data(600)
  first <- galvi(y ~ 1 + gp(x, inducing = 8), d[1:300, ])
  fit <- add_data(first, d[301:600, ])
  expect_identical(fit$hyper, first$hyper)
  expect_identical(fit$inducing, first$inducing)
  same <- galvi(y ~ 1 + gp(x, inducing = first$inducing[[1]]), d, start = first, hyper = "fixed", prior = first$prior)
  expect_equal(predict(fit, d[1:9, ]), predict(same, d[1:9, ]), tolerance = 1e-4)
  expect_identical(attr(logLik(fit), "df"), attr(logLik(first), "df"))
})

test_that("points among which the old ones are lose nothing; those that replace them say what they lose", {
  d <- stream_data()
  prior <- list(intercept = normal(0, 2))
  family <- galvi_family(gaussian(), variance = fixed(0.09))
  fit <- function(rows, points) {
    galvi(y ~ 1 + gp(x, kernel = se(1, 0.8), inducing = points, center = FALSE), rows, family, hyper = "fixed", prior = prior,
      control = galvi_control(tol = 1e-10))
  }
  first <- fit(d[1:600, ], line(6))
  more <- rbind(line(6), line(11)[c(2, 4, 8), , drop = FALSE])
  grown <- add_data(first, d[601:1200, ], inducing = more)
  expect_lt(abs(grown$penalty), 1e-5)
  expect_equal(unname(grown$inducing[[1]]), unname(more))
  expect_silent(summary(add_data(grown, d[1:10, ])))
  # dense algebra: the old rows are known through u = f(line(6)), all else is exact
  k <- function(a, b) exp(-outer(a[, 1], b[, 1], "-")^2 / (2 * 0.8^2))
  at <- function(rows) matrix(d$x[rows])
  old <- at(1:600)
  K <- k(line(6), line(6))
  A <- k(old, line(6)) %*% solve(K)                     # f(old) from u
  Q <- function(a, b, Z) k(a, Z) %*% solve(k(Z, Z)) %*% k(Z, b)
  new <- at(601:1200)
  B <- k(new, more) %*% solve(k(more, more))
  # u of both batches is a linear function of f(more)
  W <- rbind(A %*% (k(line(6), more) %*% solve(k(more, more))), B)
  C <- W %*% k(more, more) %*% t(W) + 4 + diag(0.09, 1200)
  left <- 600 - sum(k(old, line(6)) * A) + 600 - sum(k(new, more) * B)
  log_evidence <- -0.5 * (1200 * log(2 * pi) + determinant(C)$modulus + sum(d$y * solve(C, d$y)))
  expect_equal(grown$elbo, as.numeric(log_evidence - left / (2 * 0.09)), tolerance = 1e-7)

  expect_warning(dropped <- add_data(first, d[601:1200, ], inducing = line(6) + 0.4), "lose",
    class = "galvi_warning_projection")
  expect_gt(dropped$penalty, 1)
  expect_output(print(dropped), "have lowered the bound")
  expect_output(print(summary(dropped)), "have lowered the bound")
})

test_that("what comes out is a fit", {
  d <- stream_data(400)
  first <- galvi(won ~ z + gp(x, inducing = 6), d[1:200, ], "binomial")
  fit <- add_data(first, d[201:400, ])
  expect_s3_class(fit, "galvi")
  expect_identical(nobs(fit), 400L)
  expect_length(fitted(fit), 200)
  expect_equal(fitted(fit), predict(fit, d[201:400, ]), tolerance = 1e-6)
  expect_length(residuals(fit), 200)
  expect_output(print(fit), "400 observations")
  expect_output(print(summary(fit)))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(fit))
  file <- tempfile()
  on.exit(unlink(file), add = TRUE)
  saveRDS(fit, file)
  again <- readRDS(file)
  expect_identical(predict(again, d[1:5, ]), predict(fit, d[1:5, ]))
  expect_identical(add_data(again, d[1:50, ])$elbo, add_data(fit, d[1:50, ])$elbo)
  holes <- d[201:400, ]
  holes$x[3] <- NA
  expect_identical(nobs(add_data(first, holes)), 399L)
})

test_that("what cannot be added is refused with the reason", {
  d <- stream_data(200)
  wrong <- function(expr, message, class) expect_error(expr, message, class = class)
  fit <- galvi(won ~ z + g, d[1:100, ], "binomial", weights = e)
  new <- d[101:200, ]
  wrong(add_data(new, new), "fit of galvi", "galvi_error_argument")
  wrong(add_data(fit), "newdata", "galvi_error_newdata")
  wrong(add_data(fit, 1:3), "data frame", "galvi_error_newdata")
  wrong(add_data(fit, new[0, ]), "no rows", "galvi_error_newdata")
  wrong(add_data(fit, new[c("z", "g", "e")]), "no column `won`", "galvi_error_newdata")
  wrong(add_data(fit, new[c("z", "g", "won")]), "weights = e", "galvi_error_newdata")
  wrong(add_data(fit, transform(new, g = "c")), "which was not in the data", "galvi_error_newdata")
  wrong(add_data(fit, transform(new, won = 2)), "newdata", "galvi_error_newdata")
  wrong(add_data(fit, new, inducing = line(3)), "no gp\\(\\) with inducing", "galvi_error_argument")
  wrong(add_data(fit, new, inducin = line(3)), "inducing", "galvi_error_argument")
  full <- galvi(y ~ gp(x), d[1:50, ])
  wrong(add_data(full, new), "inducing points: gp\\(x, inducing", "galvi_error_method")
  field <- galvi(y ~ iid(g), d[1:50, ], hyper = "fixed")
  wrong(add_data(field, new), "needs all rows at once", "galvi_error_method")
  taylor <- galvi(won ~ z, d[1:100, ], "binomial", expectation = "taylor")
  wrong(add_data(taylor, new), "bound on the evidence", "galvi_error_method")
  sparse <- galvi(y ~ gp(x, inducing = 4), d[1:100, ], hyper = "fixed")
  times <- data.frame(t = c(1, 2, 3, 5), event = c(1, 1, 0, 1))
  hazards <- galvi(survival::Surv(t, event) ~ 1, times, cox(breaks = 2, variance = fixed(0.1)))
  wrong(add_data(hazards, times), "with cox\\(\\): fit all rows together", "galvi_error_argument")
  wrong(add_data(sparse, new, inducing = 3), "a point in each row", "galvi_error_argument")
  wrong(add_data(sparse, new, inducing = matrix(1:6, 3)), "one column per input", "galvi_error_argument")
  wrong(add_data(sparse, new, inducing = list("gp(z)" = line(3))), "named like", "galvi_error_argument")
})

test_that("variables that are computed from all rows at once are refused where rows come later", {
  set.seed(1)
  d <- data.frame(x = sort(rnorm(40, 5)))
  d$y <- d$x + rnorm(40)
  centred <- galvi(y ~ I(x - mean(x)), d[1:20, ])
  expect_error(add_data(centred, d[21:40, ]), "`I\\(x - mean\\(x\\)\\)` is computed from all rows at once.*scale\\(x",
               class = "galvi_error_formula")
  kept <- galvi(y ~ scale(x, scale = FALSE), d[1:20, ])
  expect_no_error(add_data(kept, d[21:40, ]))
})
