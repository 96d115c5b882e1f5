# predict(aggregate = ): totals over rows, with what these share.

survey <- function() {
  set.seed(2)
  d <- data.frame(year = rep(2001:2004, each = 20), x = rnorm(80), area = runif(80), g = factor(rep(1:10, 8)))
  b <- rnorm(10, 0, 0.5)
  transform(d, n = rpois(80, exp(0.5 * x + 0.3 + b[g])), z = 0.5 * x + rnorm(80), b = rbinom(80, 1, plogis(x)))
}

by_year <- function(d, f) t(vapply(split(seq_len(nrow(d)), d$year), f, numeric(length(f(1:2)))))

test_that("totals are sums of means", {
  d <- survey()
  fit <- galvi(n ~ x + (1 | g), d, family = poisson())
  p <- predict(fit, d)
  total <- predict(fit, d, aggregate = area ~ year)
  expect_named(total, c("year", "fit"))
  expect_identical(total$year, 2001:2004)
  expect_equal(total$fit, as.vector(by_year(d, function(at) sum(d$area[at] * p[at]))), tolerance = 1e-12)
  expect_equal(predict(fit, d, aggregate = ~year)$fit, as.vector(rowsum(p, d$year)), tolerance = 1e-12)
  expect_equal(predict(fit, d, aggregate = ~1)$fit, sum(p), tolerance = 1e-12)
  expect_equal(predict(fit, d, aggregate = 2 * area ~ 1)$fit, 2 * sum(d$area * p), tolerance = 1e-12)
  both <- predict(fit, d, aggregate = ~ year + g)
  expect_identical(dim(both), c(40L, 3L))
  expect_equal(both$fit[both$year == 2002 & both$g == "3"], sum(p[d$year == 2002 & d$g == "3"]), tolerance = 1e-12)
  # at the observations the variables of the model are known
  expect_equal(predict(fit, aggregate = ~g)$fit, as.vector(rowsum(predict(fit), d$g)), tolerance = 1e-12)
})

test_that("with an identity link intervals are those of a contrast of lm()", {
  d <- survey()
  fit <- galvi(z ~ x, d)
  total <- predict(fit, d, aggregate = area ~ year, se.fit = TRUE, interval = "credible")
  m <- lm(z ~ x, d)
  L <- by_year(d, function(at) c(sum(d$area[at]), sum((d$area * d$x)[at])))
  mean <- drop(L %*% coef(m))
  se <- sqrt(diag(L %*% vcov(m) %*% t(L)))
  q <- qt(0.975, m$df.residual)
  # the default prior is weak, the mixture over the variance a quadrature
  expect_equal(total$fit, mean, tolerance = 1e-3, ignore_attr = TRUE)
  expect_equal(total$lwr, mean - q * se, tolerance = 5e-3, ignore_attr = TRUE)
  expect_equal(total$upr, mean + q * se, tolerance = 5e-3, ignore_attr = TRUE)
})

test_that("with a log link the standard deviation is exact, and the interval nearly that of draws", {
  d <- survey()
  fit <- galvi(n ~ x + (1 | g), d, family = poisson(), control = galvi_control(uncertainty = "factorised"))
  total <- predict(fit, d, aggregate = area ~ year, se.fit = TRUE, interval = "credible")
  link <- predict(fit, d, type = "link", covariance = TRUE)
  m <- d$area * exp(link$fit + diag(link$covariance) / 2)
  V <- by_year(d, function(at) sqrt(sum(outer(m[at], m[at]) * expm1(link$covariance[at, at]))))
  expect_equal(total$se.fit, as.vector(V), tolerance = 1e-8)
  set.seed(1)
  root <- chol(link$covariance + diag(1e-10, 80))
  eta <- link$fit + t(matrix(rnorm(80 * 20000), 20000) %*% root)
  draws <- rowsum(d$area * exp(eta), d$year)
  limits <- t(apply(draws, 1L, quantile, c(0.025, 0.975)))
  # 20,000 draws and the shape of the sum: a fiftieth of a standard deviation
  expect_lt(max(abs(cbind(total$lwr, total$upr) - limits) / total$se.fit), 0.05)
  # weights of both signs have no log-normal sum
  signed <- predict(fit, d, aggregate = I(area - 0.5) ~ year, se.fit = TRUE, interval = "credible")
  draws <- rowsum((d$area - 0.5) * exp(eta), d$year)
  expect_lt(max(abs(signed$lwr - apply(draws, 1L, quantile, 0.025)) / signed$se.fit), 0.2)
})

test_that("elsewhere totals come from points, or from the same joint draws at every call", {
  d <- survey()
  fit <- galvi(b ~ x + gp(year), d, family = binomial(), hyper = "fixed")
  set.seed(5)
  before <- .Random.seed
  total <- predict(fit, d, aggregate = ~year, se.fit = TRUE, interval = "credible")
  expect_identical(.Random.seed, before)
  expect_identical(predict(fit, d, aggregate = ~year, se.fit = TRUE, interval = "credible"), total)
  link <- predict(fit, d, type = "link", covariance = TRUE)
  eta <- link$fit + t(matrix(rnorm(80 * 5000), 5000) %*% chol(link$covariance + diag(1e-8, 80)))
  draws <- rowsum(plogis(eta), d$year)
  # 1,000 draws: the standard error of a standard deviation is 2 %
  expect_equal(total$se.fit, apply(draws, 1L, sd), tolerance = 0.1, ignore_attr = TRUE)
  points <- galvi(n ~ x, d[1:30, ], family = negbinomial())
  skip_if(is.null(points$points))
  total <- predict(points, d, aggregate = ~year, se.fit = TRUE, interval = "credible")
  draws <- rowsum(exp(cbind(1, d$x) %*% t(fixed_at_points(points))), d$year)
  w <- points$points$weight
  expect_equal(total$fit, drop(draws %*% w), tolerance = 1e-8, ignore_attr = TRUE)
  expect_equal(total$lwr, weighted_quantiles(draws, w, 0.025)[, 1L], tolerance = 1e-8)
})

test_that("totals average over groups, and groups that were not observed are drawn or integrated", {
  d <- survey()
  fit <- galvi(n ~ x + (1 | g), d, family = poisson(), control = galvi_control(uncertainty = "factorised"))
  average <- predict(fit, d, aggregate = ~year, re_formula = "integrate", se.fit = TRUE, interval = "credible")
  p <- predict(fit, d, re_formula = "integrate")
  expect_equal(average$fit, as.vector(rowsum(p, d$year)), tolerance = 1e-10)
  new <- predict(fit, transform(d, g = "new"), aggregate = ~year, se.fit = TRUE)
  expect_equal(new$fit, average$fit, tolerance = 1e-8)
  expect_true(all(new$se.fit > average$se.fit))
})

test_that("what cannot be summed is refused", {
  d <- survey()
  fit <- galvi(n ~ x, d, family = poisson())
  refused <- function(..., message = NULL) {
    expect_error(predict(fit, d, ...), message, class = "galvi_error_argument")
  }
  refused(aggregate = 3, message = "formula")
  refused(aggregate = depth ~ year, message = "depth")
  refused(aggregate = area ~ yaer, message = "yaer")
  refused(aggregate = g ~ year, message = "number for each row")
  refused(aggregate = ~year, type = "link")
  refused(aggregate = ~year, interval = "prediction")
  refused(aggregate = ~year, type = "link", covariance = TRUE)
  expect_error(predict(fit, aggregate = area ~ 1), "newdata", class = "galvi_error_argument")
  d$year[3] <- NA
  refused(aggregate = ~year, message = "without NA")
  d <- survey()
  d$x[3] <- NA
  whole <- predict(fit, d[-3, ], aggregate = ~year)
  expect_equal(predict(fit, d, aggregate = ~year), whole)
})
