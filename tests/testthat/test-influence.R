# Leverages and Cook's distances from the sites.

test_that("those of a linear model are lm()'s", {
  for (weights in list(rep(1, 32), rep(1:2, 16))) {
    reference <- lm(mpg ~ wt + factor(cyl), mtcars, weights = weights)
    noise <- galvi_family("gaussian", variance = fixed(sigma(reference)^2))
    flat <- list(intercept = normal(0, 1e4), default = normal(0, 1e4))
    fit <- galvi(mpg ~ wt + factor(cyl), mtcars, noise, prior = flat, weights = weights)
    expect_equal(hatvalues(fit), hatvalues(reference), tolerance = tol$solve)
    expect_equal(cooks.distance(fit), cooks.distance(reference), tolerance = tol$solve)
  }
})

test_that("those of Poisson regression are near glm()'s", {
  reference <- glm(count ~ spray, poisson(), InsectSprays)
  flat <- list(intercept = normal(0, 1e4), default = normal(0, 1e4))
  fit <- galvi(count ~ spray, InsectSprays, poisson(), prior = flat)
  expect_equal(sum(hatvalues(fit)), 6, tolerance = tol$solve)
  # posterior means instead of modes: of order 1 / n
  expect_equal(cooks.distance(fit), cooks.distance(reference), tolerance = 0.05)
})

test_that("they are what a refit without the row shows, of a gaussian model with gp() too", {
  noise <- galvi_family("gaussian", variance = fixed(200))
  formula <- dist ~ gp(speed, kernel = se(variance = fixed(500), lengthscale = fixed(5)))
  fit <- galvi(formula, cars, noise, hyper = "fixed")
  without <- galvi(formula, cars[-49, ], noise, hyper = "fixed")
  at <- function(fit) predict(fit, cars, type = "link", covariance = TRUE)
  m <- at(fit)
  moved <- m$fit - at(without)$fit
  h <- hatvalues(fit)
  distance <- drop(moved %*% solve(m$covariance + 1e-9 * diag(50), moved)) / sum(h)
  # the ridge is what coincident speeds need
  expect_equal(cooks.distance(fit)[["49"]], distance, tolerance = 1e-4)
  expect_true(all(h > 0 & h < 1))
})

test_that("rows that were left out keep their places, and several predictors are refused", {
  d <- transform(mtcars, wt = replace(wt, 3, NA))
  fit <- galvi(mpg ~ wt, d, na.action = na.exclude, hyper = "fixed")
  expect_identical(names(hatvalues(fit)), rownames(mtcars))
  expect_true(is.na(cooks.distance(fit)[3]))
  for (f in list(hatvalues, cooks.distance)) {
    expect_error(f(family_fit("categorical")), "loo::loo", class = "galvi_error_argument")
  }
})

test_that("rstandard() is that of lm() and of a fit without the row, and others name the quantile residuals", {
  twin <- lm_twin(mpg ~ wt + cyl)
  expect_equal(rstandard(twin$ours), rstandard(twin$theirs), tolerance = tol$solve)
  w <- rep(1:2, 16)
  reference <- lm(mpg ~ wt, mtcars, weights = w)
  noise <- galvi_family("gaussian", variance = fixed(sigma(reference)^2))
  weighted <- galvi(mpg ~ wt, mtcars, noise, prior = flat_prior, weights = w)
  expect_equal(rstandard(weighted), rstandard(reference), tolerance = tol$solve)
  noise <- galvi_family("gaussian", variance = fixed(200))
  formula <- dist ~ gp(speed, kernel = se(variance = fixed(500), lengthscale = fixed(5)))
  left_out <- predict(galvi(formula, cars[-49, ], noise, hyper = "fixed"), cars[49, ], type = "link", se.fit = TRUE)
  expected <- (cars$dist[49] - left_out$fit) / sqrt(200 + left_out$se.fit^2)
  expect_equal(rstandard(galvi(formula, cars, noise, hyper = "fixed"))[["49"]], expected[[1]],
    tolerance = tol$optimum
  )
  expect_error(rstandard(small_fit("flat")), "quantile", class = "galvi_error_argument")
  expect_error(rstudent(twin$ours), "rstandard", class = "galvi_error_argument")
})
