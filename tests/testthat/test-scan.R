# Default lengthscales: the search starts at the best of a few.

long_series <- list(
  list(LakeHuron, gaussian()), list(Nile, gaussian()), list(lynx, negbinomial()), list(sunspot.year, gaussian()),
  list(discoveries, poisson()), list(mdeaths, negbinomial())
)

lengthscales <- function(fit) fit$hyper$estimate[fit$hyper$parameter == "lengthscale"]

test_that("searches from shorter lengthscales find nothing better in time series", {
  for (case in long_series) {
    series <- data.frame(time = as.numeric(time(case[[1L]])), y = as.numeric(case[[1L]]))
    fit_from <- function(...) galvi(y ~ gp(time, kernel = se(...)), series, case[[2L]])
    default <- fit_from()
    median_distance <- median(dist(series$time))
    bounds <- vapply(3^-(0:3), function(k) fit_from(lengthscale = k * median_distance)$elbo, 1)
    expect_gt(default$elbo, max(bounds) - tol$fuzz_learned)
    # and it matters in the first
    if (identical(case[[1L]], LakeHuron)) expect_gt(default$elbo, bounds[1L] + 10)
  }
})

test_that("values and priors of the user are where the search starts", {
  huron <- data.frame(year = as.numeric(time(LakeHuron)), level = as.numeric(LakeHuron))
  long <- galvi(level ~ gp(year), huron, start = c("gp(year).lengthscale" = 29))
  expect_equal(galvi(level ~ gp(year, kernel = se(lengthscale = 29)), huron)$elbo, long$elbo)
  expect_lt(long$elbo, galvi(level ~ gp(year), huron)$elbo - 10)
  prior <- log_normal(log(29), 1)
  given <- galvi(level ~ gp(year, kernel = se(lengthscale = prior)), huron)
  expect_equal(given$trace$elbo[1L], galvi(level ~ gp(year, kernel = se(lengthscale = prior)), huron,
    start = c("gp(year).lengthscale" = 29))$trace$elbo[1L])
  fixed_there <- galvi(level ~ gp(year, kernel = se(lengthscale = fixed(29))), huron)
  expect_equal(lengthscales(fixed_there), 29)
})

test_that("each term is tried by itself, and so are sparse processes of many rows", {
  set.seed(1)
  n <- 300
  rows <- data.frame(x = runif(n, 0, 10), z = runif(n, 0, 10))
  rows$y <- sin(0.5 * rows$x) + sin(6 * rows$z) + rnorm(n, 0, 0.2)
  lengthscale <- lengthscales(galvi(y ~ gp(x) + gp(z), rows))
  expect_gt(lengthscale[[1L]], 1)
  expect_lt(lengthscale[[2L]], 0.5)

  n <- 8000
  many <- data.frame(x = runif(n, 0, 10))
  many$y <- rbinom(n, 1, plogis(3 * sin(5 * many$x)))
  expect_lt(lengthscales(galvi(y ~ gp(x, inducing = 60), many, binomial())), 1)
})
