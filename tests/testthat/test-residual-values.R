# Residuals and deviances of single models: the numbers of glm() and those of the definitions.

test_that("deviances of counts of successes are glm()'s for every link, where the posterior is narrow", {
  d <- data.frame(x = seq(-1, 1, length.out = 30), n = 2000)
  d$y <- round(d$n * plogis(0.4 + d$x + 0.05 * cos(1:30)))
  for (link in c("logit", "probit", "cloglog", "loglog", "cauchit")) {
    fit <- galvi(cbind(y, n - y) ~ x, d, galvi_family("binomial", link = link), hyper = "fixed")
    # loglog is cloglog of the failures
    reference <- if (link == "loglog") glm(cbind(n - y, y) ~ x, binomial("cloglog"), d) else {
      glm(cbind(y, n - y) ~ x, binomial(link), d)
    }
    expect_equal(deviance(fit), deviance(reference), tolerance = 0.005, label = link)
  }
})

test_that("Pearson residuals of counts of successes are glm()'s where the posterior is narrow", {
  set.seed(9)
  d <- data.frame(x = rnorm(400), n = rep(c(1, 5, 20, 60), 100))
  d$y <- rbinom(400, d$n, plogis(0.3 * d$x))
  fit <- galvi(cbind(y, n - y) ~ x, d, binomial(), hyper = "fixed")
  reference <- glm(cbind(y, n - y) ~ x, binomial(), d)
  # with the variance of the posterior, which is 1 % of the noise of the largest counts
  expect_equal(residuals(fit, "pearson"), residuals(reference, "pearson"), tolerance = 0.01)
})

test_that("quantile residuals are normal quantiles of a place between two values of the distribution function", {
  d <- data.frame(x = seq(-2, 2, length.out = 25))
  d$y <- rep(c(0, 1, 3, 7, 2), 5)
  fit <- galvi(y ~ x, d, poisson(), hyper = "fixed")
  cdf <- function(q) mapply(function(q, i) predict(fit, d[i, , drop = FALSE], type = "cdf", q = q), q, 1:25)
  for (share in c(0.1, 0.5, 0.8)) {
    expected <- qnorm(cdf(d$y - 1) + share * (cdf(d$y) - cdf(d$y - 1)))
    expect_equal(unname(quantile_residuals(fit, training_target(fit), share)), unname(expected), tolerance = 1e-8)
  }
})

test_that("quantile residuals of times after an entry are of their distribution beyond it", {
  skip_if_not_installed("survival")
  d <- data.frame(start = c(0, 1, 2, 0.5, 3), stop = c(1, 4, 2.5, 6, 3.2), event = 1)
  fit <- galvi(survival::Surv(start, stop, event) ~ 1, d, weibull(fixed(2)), prior = list(intercept = normal(1, 1e-6)))
  F <- function(t) pweibull(t, 2, exp(1))
  beyond <- (F(d$stop) - F(d$start)) / (1 - F(d$start))
  expect_equal(unname(residuals(fit, "quantile")), qnorm(beyond), tolerance = 1e-5)
})

test_that("deviance residuals of classes that are certain are zero", {
  d <- transform(mtcars, cyl = factor(cyl, ordered = TRUE))
  fit <- galvi(cyl ~ wt, d, galvi_family("cumulative"), hyper = "fixed")
  # rounding puts integrals of probabilities near one on both sides of it
  eta <- list(mean = matrix(seq(20, 60, length.out = 200)), variance = matrix(seq(1, 9, length.out = 200)))
  expect_gt(max(response_moment(fit, eta, "log_density", y = rep(2, 200))), 0)
  expect_lte(max(class_log_probability(fit, eta, list(y = rep(2, 200)))), 0)
})
