# re_formula = "integrate": means over groups, by integrate().

grouped_data <- function() {
  set.seed(4)
  d <- data.frame(g = factor(rep(1:15, 12)), x = rnorm(180), f = factor(rep(c("a", "b"), 90)))
  b <- rnorm(15)
  s <- rnorm(15, 0, 0.7)
  d$y <- rbinom(180, 1, plogis(0.3 + d$x + b[d$g] + s[d$g] * d$x))
  d$n <- rpois(180, exp(0.2 + 0.5 * d$x + 0.5 * b[d$g]))
  d
}

over_groups <- function(h, u, v) {
  mapply(function(u, v) {
    integrate(function(b) h(u + b) * dnorm(b, 0, sqrt(v)), -14 * sqrt(v), 14 * sqrt(v), rel.tol = 1e-10)$value
  }, u, v)
}

test_that("means, intervals and standard deviations are those of integrate()", {
  d <- grouped_data()
  fit <- galvi(y ~ x + (1 + x | g), d, family = binomial(), prior = list(cor = lkj(2)),
    control = galvi_control(uncertainty = "factorised"))
  # the grouping is not needed, the slope's variable is
  new <- data.frame(x = c(-1, 0, 2))
  p <- predict(fit, new, re_formula = "integrate", interval = "credible", se.fit = TRUE)
  link <- predict(fit, new, re_formula = NA, type = "link", interval = "credible", se.fit = TRUE)
  S <- VarCorr(fit)$g
  Z <- cbind(1, new$x)
  v <- rowSums((Z %*% matrix(S, 2L)) * Z)
  expect_close(p$fit[, "lwr"], over_groups(plogis, link$fit[, "lwr"], v), 1e-6)
  expect_close(p$fit[, "upr"], over_groups(plogis, link$fit[, "upr"], v), 1e-6)
  expect_close(p$fit[, "fit"], over_groups(plogis, link$fit[, "fit"], v + link$se.fit^2), 1e-6)
  z <- seq(-8, 8, by = 0.1)
  sd <- vapply(1:3, function(i) {
    m <- over_groups(plogis, link$fit[i, "fit"] + link$se.fit[i] * z, v[i])
    w <- dnorm(z) / sum(dnorm(z))
    sqrt(sum(w * m^2) - sum(w * m)^2)
  }, 0)
  expect_close(p$se.fit, sd, 1e-6)
  # the mean is that of a new group, and so are probabilities
  expect_close(p$fit[, "fit"], predict(fit, cbind(new, g = "new")), 1e-8)
  prob <- predict(fit, new, re_formula = "integrate", type = "prob", se.fit = TRUE)
  expect_close(prob$fit[, "1"], p$fit[, "fit"], 1e-8)
  expect_close(prob$se.fit[, "1"], p$se.fit, 1e-8)
  # the linear predictor has no groups
  expect_equal(predict(fit, new, re_formula = "integrate", type = "link"), link$fit[, "fit"])
  # at the observations
  expect_close(predict(fit, re_formula = "integrate"), predict(fit, transform(d, g = "new")), 1e-8)
  expect_equal(predict(fit, new, re.form = "integrate"), p$fit[, "fit"])
})

test_that("where the posterior is points or a mixture, so is that of the mean", {
  d <- grouped_data()
  fit <- galvi(n ~ x + (1 | g), d, family = poisson())
  new <- data.frame(x = c(-1, 2))
  p <- predict(fit, new, re_formula = "integrate", interval = "credible", se.fit = TRUE)
  skip_if(is.null(fit$points))
  draws <- exp(cbind(1, new$x) %*% t(fixed_at_points(fit)) + rep(hyper_at_points(fit)[, 1L], each = 2L) / 2)
  expect_equal(unname(p$fit[, "fit"]), drop(draws %*% fit$points$weight), tolerance = 1e-10)
  limits <- weighted_quantiles(draws, fit$points$weight, c(0.025, 0.975))
  expect_equal(unname(p$fit[, -1L]), limits, tolerance = 1e-10)
  # of a mixture: a new group's mean is the same, the interval narrower than the groups are
  mixed <- galvi(y ~ x + (1 + x | g), d, family = binomial(), prior = list(cor = lkj(2)))
  p <- predict(mixed, new, re_formula = "integrate", interval = "credible")
  expect_close(p[, "fit"], predict(mixed, cbind(new, g = "new")), 1e-8)
  of_new <- predict(mixed, cbind(new, g = "new"), interval = "credible")
  expect_true(all(p[, "lwr"] > of_new[, "lwr"] & p[, "upr"] < of_new[, "upr"]))
})

test_that("slopes by iid(by = ), copies, and several groups add their variances", {
  d <- grouped_data()
  d$h <- rep(1:9, 20)
  control <- galvi_control(uncertainty = "factorised")
  fit <- galvi(n ~ x + iid(g, by = x) + iid(h, by = f, by_hyper = "each"), d, family = poisson(), control = control)
  new <- data.frame(x = c(0, 2, 2), f = c("a", "a", "b"))
  p <- predict(fit, new, re_formula = "integrate", interval = "credible")
  link <- predict(fit, new, re_formula = NA, type = "link", interval = "credible")
  value <- stats::setNames(fit$hyper$estimate, fit$hyper$name)
  v <- value[["iid(g, by = x).variance"]] * new$x^2 + value[paste0("iid(h, by = f)[", new$f, "].variance")]
  expect_equal(p[, "lwr"], exp(link[, "lwr"] + v / 2), tolerance = 1e-8, ignore_attr = TRUE)
  # an excluded group is not averaged over
  without <- predict(fit, new, re_formula = "integrate", exclude = "iid(h, by = f)", interval = "credible")
  expect_equal(without[, "upr"], exp(link[, "upr"] + value[["iid(g, by = x).variance"]] * new$x^2 / 2),
    tolerance = 1e-8, ignore_attr = TRUE)
  expect_equal(predict(fit, new["f"], re_formula = "integrate", exclude = c("x", "iid(g, by = x)")),
    predict(fit, transform(new, x = 0), re_formula = "integrate"), tolerance = 1e-8)
})

test_that("survival probabilities, prediction intervals and draws", {
  d <- grouped_data()
  fit <- galvi(n ~ x + (1 | g), d, family = poisson(), control = galvi_control(uncertainty = "factorised"))
  new <- data.frame(x = c(-1, 2))
  p <- predict(fit, new, re_formula = "integrate", type = "survival", times = 2, interval = "credible")
  link <- predict(fit, new, re_formula = NA, type = "link", interval = "credible")
  above <- function(eta) ppois(2, exp(eta), lower.tail = FALSE)
  v <- rep(fit$hyper$estimate[1L], 2L)
  expect_close(p[, 1L, "lwr"], over_groups(above, link[, "lwr"], v), 1e-6)
  expect_close(p[, 1L, "upr"], over_groups(above, link[, "upr"], v), 1e-6)
  expect_equal(predict(fit, new, re_formula = "integrate", interval = "prediction"),
    predict(fit, cbind(new, g = "new"), interval = "prediction"))
  skip_if_not_installed("rstantools")
  set.seed(1)
  draws <- rstantools::posterior_epred(fit, newdata = new, re_formula = "integrate", ndraws = 4000)
  known <- predict(fit, new, re_formula = "integrate", se.fit = TRUE)
  expect_lt(max(abs(colMeans(draws) - known$fit) / known$se.fit), 4 / sqrt(4000))
  expect_equal(apply(draws, 2L, sd), known$se.fit, tolerance = 0.05, ignore_attr = TRUE)
  expect_error(rstantools::posterior_linpred(fit, re_formula = "integrate"), class = "galvi_error_argument")
})

test_that("what has no population mean with an interval is refused", {
  d <- grouped_data()
  new <- data.frame(x = 0)
  fit <- galvi(n ~ x + (1 | g), d, family = poisson())
  refused <- function(...) expect_error(predict(fit, new, re_formula = "integrate", ...), class = "galvi_error_argument")
  refused(type = "quantile", interval = "credible")
  expect_error(predict(fit, new, re_formula = "integral"), "integrate", class = "galvi_error_argument")
  fit <- galvi(list(n ~ x + (1 | g), zi ~ 1), d, family = zero_inflated(poisson()))
  expect_equal(predict(fit, new, re_formula = "integrate"), predict(fit, cbind(new, g = "new")), tolerance = 0.02)
  refused(interval = "credible")
  refused(se.fit = TRUE)
})

test_that("no rows have no means, and means that overflow an infinite standard deviation", {
  d <- transform(grouped_data(), z = x + rnorm(180))
  points <- suppressMessages(galvi(n ~ x + (1 | g), d[d$g %in% 1:4, ], poisson()))
  states <- galvi(z ~ x + (1 | g), d)
  expect_false(is.null(points$points) || is.null(states$states))
  for (fit in list(points, states)) {
    of <- function(...) predict(fit, d[0, ], re_formula = "integrate", ...)
    expect_identical(lengths(of(se.fit = TRUE), use.names = FALSE), c(0L, 0L))
    expect_identical(dim(of(interval = "credible")), c(0L, 3L))
    expect_identical(nrow(of(aggregate = ~g)), 0L)
  }
  expect_warning(p <- predict(points, data.frame(x = 1e4), re_formula = "integrate", se.fit = TRUE), "too large")
  expect_identical(unname(unlist(p)), c(Inf, Inf))
})
