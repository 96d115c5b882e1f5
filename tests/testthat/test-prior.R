fixed_table <- function(formula, data = mtcars, prior = NULL, family = gaussian()) {
  b <- prepare_model(formula, data, family, prior = prior)
  term <- terms_of(b$model)[[1L]]
  # open priors have no entry in the table
  sd <- vapply(term$factors[, 1L], function(at) if (at) b$model$hyper$value[at] else 1, 0)
  list(mean = term$mean, sd = sd, hyper = b$model$hyper, prior = b$prior, term = term, spec = b$design$specs[[1L]])
}

test_that("constructors hold what they are given and refuse what is no parameter", {
  expect_equal(normal(1, 2)$sd, 2)
  expect_s3_class(normal(0, learn(3))$sd, "galvi_learn")
  expect_equal(format(normal(0, learn(1))), "normal(0, learn(1))")
  expect_equal(format(fixed(2)), "fixed(2)")
  for (bad in list(
    quote(normal(0, -1)), quote(normal("a")), quote(normal(0, normal(0, 1))), quote(learn(0)), quote(fixed()),
    quote(fixed(NA)), quote(log_normal(0, 0)), quote(half_normal(-1)), quote(pc()), quote(pc(1, 1)),
    quote(pc(-1)), quote(gamma_prior(0))
  )) {
    expect_error(eval(bad), class = "galvi_error_prior")
  }
})

test_that("a number starts or is held, fixed() holds, a prior starts where it is centred", {
  expect_equal(as_parameter(2, "a"), list(value = 2, learned = TRUE, prior = NULL))
  expect_equal(as_parameter(2, "a", number = "hold"), list(value = 2, learned = FALSE, prior = NULL))
  expect_equal(as_parameter(NULL, "a", 5)$value, 5)
  expect_equal(as_parameter(fixed(0), "a", zero_ok = TRUE), list(value = 0, learned = FALSE, prior = NULL))
  expect_error(as_parameter(fixed(0), "a"), class = "galvi_error_prior")
  expect_error(as_parameter(normal(0, 1), "a"), class = "galvi_error_prior")
  expect_error(as_parameter(pc(1), "a", variance = FALSE), "half_normal", class = "galvi_error_prior")
  p <- as_parameter(log_normal(log(3), 1), "a")
  expect_equal(p$value, 3)
  expect_true(p$learned)
  expect_equal(p$prior[c("type", "meanlog", "sdlog")], list(type = "log_normal", meanlog = log(3), sdlog = 1))
})

test_that("default priors are those of the help page", {
  X <- model.matrix(mpg ~ wt + factor(cyl), mtcars)[, -1]
  S <- crossprod(scale(X, scale = FALSE)) / nrow(X)
  default <- function(formula, family = gaussian(), data = mtcars) {
    built <- fixed_table(formula, data, family = family)
    A <- built$spec$coding$A
    list(mean = drop(A %*% built$mean), covariance = A %*% t(A), prior = built$prior, hyper = built$hyper)
  }
  check <- function(got, m, s, X, S) {
    expect_equal(got$covariance[-1, -1, drop = FALSE], unname(100 * s^2 * solve(S)))
    # the predictor at the means, and its covariance with the slopes
    at <- c(1, colMeans(X))
    expect_equal(sum(at * got$mean), m)
    expect_equal(drop(got$covariance %*% at), c(100 * s^2, numeric(ncol(X))))
    expect_equal(unname(vapply(got$prior, `[[`, 0, "sd")), sqrt(diag(got$covariance)))
  }
  got <- default(mpg ~ wt + factor(cyl))
  check(got, median(mtcars$mpg), sd(mtcars$mpg), X, S)
  expect_false("fixed" %in% got$hyper$term)
  check(default(am ~ wt + factor(cyl), binomial()), 0, 1, X, S)
  check(default(carb ~ wt + factor(cyl) + offset(log(hp)), poisson()), log(mean(mtcars$carb / mtcars$hp)), 1, X, S)
  check(default(y ~ x, data = data.frame(y = rep(3, 4), x = 1:4)), 3, 1, cbind(1:4), matrix(var(1:4) * 3 / 4))
})

test_that("constant columns get a proper prior", {
  got <- fixed_table(y ~ a + b, data.frame(y = c(1, 2, 4), a = 5, b = 0))
  expect_true(all(is.finite(got$sd)) && all(got$sd > 0))
})

test_that("prior = names slopes, the intercept, columns and terms", {
  all <- fixed_table(mpg ~ wt + hp, prior = normal(0, 2))
  expect_equal(all$sd[-1], c(2, 2))
  expect_equal(all$prior$wt, normal(0, 2))
  some <- fixed_table(mpg ~ wt + hp + factor(cyl), prior = list(
    intercept = normal(1, 7), wt = normal(2, 3), `factor(cyl)8` = normal(0, 9), default = normal(0, 4)
  ))
  expect_equal(some$mean, c(1, 2, 0, 0, 0))
  expect_equal(some$sd, c(7, 3, 4, 4, 9))
  expect_equal(fixed_table(mpg ~ wt, prior = list(`(Intercept)` = normal(0, 1)))$sd[1], 1)
})

test_that("columns that need backticks are named with and without them", {
  set.seed(1)
  d <- data.frame(`x 1` = rnorm(30), `my g` = gl(2, 15, labels = c("a", "b c")), g = gl(5, 6), y = rnorm(30),
    check.names = FALSE)
  fitted <- function(prior, formula = y ~ `x 1` * `my g`) galvi(formula, d, prior = prior, hyper = "fixed")
  own <- normal(0.5, 0.1)
  of <- function(...) stats::setNames(list(own), paste0(...))
  for (name in list(c("x 1", "`x 1`"), c("my g", "`my g`"), c("my gb c", "`my g`b c"), c("x 1:my gb c", "`x 1`:`my g`b c"))) {
    expect_equal(coef(fitted(of(name[1L]))), coef(fitted(of(name[2L]))))
    expect_false(isTRUE(all.equal(coef(fitted(of(name[1L]))), coef(fitted(NULL)))))
  }
  expect_error(fitted(of("x 2")), "not a coefficient", class = "galvi_error_prior")
  slopes <- y ~ (1 + `x 1` || g)
  sd <- function(name) list(sd = stats::setNames(list(1, 1), c("(Intercept)", name)))
  expect_equal(fitted(sd("x 1"), slopes)$elbo, fitted(sd("`x 1`"), slopes)$elbo)
  fit <- fitted(NULL)
  expect_identical(confint(fit, "x 1"), confint(fit, "`x 1`"))
  expect_identical(rownames(confint(fit, "x 1")), "`x 1`")
  expect_identical(posterior_interval.galvi(fit, pars = "x 1"), posterior_interval.galvi(fit, pars = "`x 1`"))
})

test_that("the recorded prior gives the same model again", {
  first <- fixed_table(mpg ~ wt + factor(cyl), prior = list(wt = normal(0, learn(2))))
  again <- fixed_table(mpg ~ wt + factor(cyl), prior = first$prior)
  expect_equal(again, first)
  expect_output(print(first$prior), "wt +~ normal\\(0, learn\\(2\\)\\)")
})

test_that("learned standard deviations are in the table, one per variable", {
  got <- fixed_table(mpg ~ wt + factor(cyl), prior = normal(0, learn(2)))
  expect_equal(got$hyper$name[1:2], c("wt.sd", "factor(cyl).sd"))
  expect_equal(got$hyper$learned[1:2], c(TRUE, TRUE))
  expect_equal(got$term$factors, cbind(c(0, 1, 2, 2), c(0, 1, 2, 2)), ignore_attr = TRUE)
  map <- fixed_table(mpg ~ wt, prior = list(wt = normal(0, half_normal(3))))
  expect_equal(map$hyper$prior[[1L]]$type, "half_normal")
  pc <- fixed_table(mpg ~ wt, prior = normal(0, pc(2, 0.05)))$hyper
  expect_equal(pc$prior[[1L]], list(type = "pc", upper = 2, prob = 0.05, quantity = "sd"))
  expect_equal(pc$value[1L], -2 / log(0.05))
})

test_that("a flat prior needs finite columns", {
  expect_equal(fixed_table(mpg ~ wt, prior = normal(0, Inf))$sd[2], Inf)
  expect_error(
    prepare_model(mpg ~ wt + gp(hp), mtcars, prior = normal(0, Inf)), "wt", class = "galvi_error_prior"
  )
})

test_that("columns on scales where variances overflow are named, with what is wrong", {
  d <- data.frame(x = cos(1:20), y = sin(1:20))
  for (size in c(small = 1e-200, large = 1e200)) {
    word <- if (size < 1) "so small" else "so large"
    expect_error(galvi(y ~ x, transform(d, x = x * size)), paste("`x` has values", word), class = "galvi_error_data")
  }
})

test_that("numbers whose squares are none are named wherever they stand, and arrays that are no columns", {
  d <- data.frame(x = cos(1:20), y = sin(1:20), g = gl(4, 5), t = 1:20)
  for (size in c(1e-310, 1e-200, 1e200)) {
    d$odd <- d$x * size
    for (formula in list(y ~ odd, y ~ gp(odd), y ~ gp(odd, inducing = 5), y ~ x + (odd | g), y ~ x + offset(odd))) {
      expect_error(galvi(formula, d), "`(offset[(])?odd[)]?` has values so", class = "galvi_error_data")
    }
    expect_error(galvi(odd ~ x, d), "`odd` has values so", class = "galvi_error_response")
    expect_error(galvi(y ~ x, d, weights = rep(size, 20)), "weights", class = "galvi_error_argument")
    expect_error(normal(0, size), "`sd` must lie between", class = "galvi_error_prior")
  }
  expect_error(normal(1e200, 1), "`mean` must lie between", class = "galvi_error_prior")
  d$none <- matrix(0, 20, 0)
  d$cube <- array(0, c(20, 2, 2))
  for (formula in list(y ~ none, y ~ gp(none), none ~ x)) {
    expect_error(galvi(formula, d), "`none` is a matrix without columns", class = "galvi_error_data")
  }
  for (formula in list(y ~ cube, y ~ gp(cube), cube ~ x)) {
    expect_error(galvi(formula, d), "`cube` is an array of 3 dimensions", class = "galvi_error_data")
  }
})

test_that("a data frame is a list of priors only as brms' tables are", {
  brms_prior <- structure(data.frame(prior = "normal(0, 1)", class = "b"), class = c("brmsprior", "data.frame"))
  expect_equal(coef(galvi(mpg ~ wt, mtcars, prior = brms_prior)), coef(galvi(mpg ~ wt, mtcars, prior = normal(0, 1))))
  expect_error(galvi(mpg ~ wt, mtcars, prior = data.frame(wt = 1)), "`prior` must be the prior of all slopes",
    class = "galvi_error_prior")
})

test_that("pc_range() is a prior of lengthscales, which start where it is centred", {
  started <- galvi(
    mag ~ gp(long, lat, kernel = matern32(lengthscale = pc_range(2, 0.05))), quakes[1:40, ],
    control = galvi_control(hyper_iterations = 0)
  )
  at <- started$hyper$parameter == "lengthscale"
  # 1 / lengthscale is exponential with P(lengthscale < 2) = 0.05
  expect_equal(started$hyper$estimate[at], -2 * log(0.05))
  expect_equal(started$log_prior, dexp(1 / (-2 * log(0.05)), -2 * log(0.05), log = TRUE) - log(-2 * log(0.05)))
  expect_error(se(lengthscale = pc(1)), "not a variance", class = "galvi_error_kernel")
})
