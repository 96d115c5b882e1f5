# Roots and quantiles that are searched for, many at a time.

test_that("roots of rising functions are found in a few steps, wherever they are", {
  set.seed(1)
  n <- 200L
  root <- stats::rnorm(n, 0, 3)
  scale <- exp(stats::rnorm(n))
  p <- stats::runif(n)
  shapes <- list(
    line = function(x, at) scale[at] * (x - root[at]),
    normal = function(x, at) stats::pnorm(x, root[at] - stats::qnorm(p[at]), 1) - p[at],
    cubic = function(x, at) (x - root[at])^3,
    step = function(x, at) ifelse(x < root[at], -p[at], 1 - p[at])
  )
  for (name in names(shapes)) {
    calls <- 0
    found <- rising_root(function(x, at) {
      calls <<- calls + 1
      shapes[[name]](x, at)
    }, root - 1 - scale, root + 2)
    close <- if (name == "cubic") 1e-3 else 1e-7  # there the function is 1e-12
    expect_close(found, root, close)
    if (name %in% c("line", "normal")) expect_lt(calls, 15)
  }
  # no root between them: the end where the function is nearer
  expect_identical(rising_root(function(x, at) x - c(0, 5)[at], c(1, 1), c(2, 2)), c(1, 2))
  expect_identical(rising_root(function(x, at) x, numeric(), numeric()), numeric())
})

test_that("whole numbers are found between any limits, also where doubles lie further apart than one", {
  whole <- c(0, 3, 17, 2^60)
  found <- least_whole(function(x, at) as.numeric(x >= whole[at]), c(0, 0, 17, 0), c(0, 9, 20, 2^80), 0.5)
  expect_equal(found, whole, tolerance = 1e-14)
})

test_that("quantiles of points and of mixtures are where their distribution functions are p", {
  set.seed(2)
  d <- data.frame(x = stats::rnorm(40), g = gl(8, 5))
  d$y <- stats::rgamma(40, 3, 3 / exp(0.5 + d$x))
  d$k <- stats::rnbinom(40, 2, mu = exp(0.5 + d$x))
  fits <- list(
    points = galvi(y ~ x, d, Gamma("log"), verbose = FALSE),
    states = suppressMessages(galvi(log(y) ~ x + (1 | g), d, verbose = FALSE)),
    counts = galvi(k ~ x, d, negbinomial(), verbose = FALSE)
  )
  expect_identical(uncertainty_method(fits$states), "states")
  new <- data.frame(x = c(-1, 0, 1.5), g = "1")
  for (name in names(fits)) {
    fit <- fits[[name]]
    for (p in c(0.01, 0.3, 0.99)) {
      q <- predict(fit, new, type = "quantile", probs = p)[, 1L]
      below <- function(y) vapply(1:3, function(i) predict(fit, new[i, ], type = "cdf", q = y[i])[1L], 0)
      # quantiles of points are those of 400 of them
      close <- if (name == "states") 1e-6 else 0.2 * min(p, 1 - p)
      if (name == "counts") {
        expect_true(all(below(q) > p - close))
        expect_true(all(q == 0 | below(q - 1) < p + close))
      } else {
        expect_close(below(q), p, close)
      }
    }
  }
})
