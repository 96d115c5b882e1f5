# Packages bayesplot, DHARMa and loo: predictive checks and information criteria.

test_that("bayesplot::pp_check() draws observed and simulated responses of every kind of fit", {
  skip_if_not_installed("bayesplot")
  set.seed(1)
  for (fit in other_fits()) expect_s3_class(bayesplot::pp_check(fit, ndraws = 3), "ggplot")
  fit <- galvi(mpg ~ wt + cyl, car_data())
  expect_s3_class(bayesplot::pp_check(fit, "stat_grouped", group = "cyl", ndraws = 20, stat = "sd"), "ggplot")
  expect_s3_class(bayesplot::pp_check(fit, "intervals", x = "wt", ndraws = 20), "ggplot")
  expect_error(bayesplot::pp_check(fit, "dens_overlai"), "dens_overlay", class = "galvi_error_argument")
  expect_error(bayesplot::pp_check(fit, "loo_pit_qq"), "calibration", class = "galvi_error_argument")
  expect_error(bayesplot::pp_check(fit, "intervals", x = "weight"), "`x`", class = "galvi_error_argument")
})

test_that("simulated responses have the predictive mean and variance", {
  set.seed(1)
  fit <- glm_twins()$binomial$ours
  y <- simulated_numbers(fit, 2000)
  n <- fit$model$size
  expect_identical(dim(y), c(2000L, length(n)))
  # four standard errors of the mean
  expect_lt(max(abs(colMeans(y) - fitted(fit)) / sqrt(apply(y, 2, var) / 2000 + 1e-6)), 4.5)
  expect_equal(observed_numbers(fit), fit$model$y / n)
})

test_that("DHARMa finds nothing wrong with a right model, and overdispersion of a wrong one", {
  skip_if_not_installed("DHARMa")
  set.seed(1)
  d <- data.frame(x = rnorm(200))
  d$right <- rpois(200, exp(1 + 0.5 * d$x))
  d$wrong <- rnbinom(200, mu = exp(1 + 0.5 * d$x), size = 1)
  residuals_of <- function(formula) {
    fit <- galvi(formula, d, poisson())
    DHARMa::createDHARMa(
      as.matrix(simulate(fit, 250)), fit$model$y, fitted(fit), integerResponse = TRUE
    )
  }
  right <- residuals_of(right ~ x)
  expect_gt(DHARMa::testUniformity(right, plot = FALSE)$p.value, 0.01)
  expect_gt(DHARMa::testDispersion(right, plot = FALSE)$p.value, 0.01)
  expect_lt(DHARMa::testDispersion(residuals_of(wrong ~ x), plot = FALSE)$p.value, 0.01)
})

test_that("DHARMa::simulateResiduals() gives the quantile residuals, and those of lm()", {
  skip_if_not_installed("DHARMa")
  simulated <- function(fit, ...) suppressWarnings(DHARMa::simulateResiduals(fit, n = 1000, ...))
  d <- car_data()
  twin <- lm_twin(mpg ~ wt + cyl)
  ours <- simulated(twin$ours)
  # a share of 1000 draws is within four of its standard errors; lm()'s has the estimates for the parameters
  expect_lt(max(abs(ours$scaledResiduals - pnorm(residuals(twin$ours, "quantile")))), 4 * sqrt(0.25 / 1000))
  expect_lt(max(abs(ours$scaledResiduals - simulated(twin$theirs)$scaledResiduals)), 0.1)
  expect_equal(ours$fittedPredictedResponse, unname(fitted(twin$ours)))
  trials <- glm_twins()$binomial
  expect_equal(simulated(trials$ours)$observedResponse, trials$ours$model$y)
  ordered <- simulated(other_fits()$ordered)
  expect_true(all(ordered$observedResponse %in% 0:2))
  mixed <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy)
  population <- simulated(mixed, simulateREs = "user-specified", re_formula = NA)
  wanted <- pnorm(residuals(mixed, "quantile", re_formula = NA))
  expect_lt(max(abs(population$scaledResiduals - wanted)), 4 * sqrt(0.25 / 1000))
  anew <- t(as.matrix(simulate(mixed, 1000, seed = 1, re.form = NA)))
  wanted <- colMeans(anew < rep(sleepstudy$Reaction, each = 1000))
  expect_lt(max(abs(simulated(mixed, simulateREs = "unconditional")$scaledResiduals - wanted)), 6 * sqrt(0.25 / 1000))
  expect_error(simulated(mixed, refit = TRUE), "refit = FALSE", class = "galvi_error_argument")
})

test_that("waic() is that of draws from the posterior", {
  skip_if_not_installed("loo")
  set.seed(1)
  fits <- c(other_fits()[c("gaussian", "binary", "two", "ordered")], list(counts = glm_twins()$poisson$ours))
  for (fit in lapply(fits, at_estimates)) {
    m <- fit$posterior$mean
    sd <- sqrt(fit$posterior$variance)
    draws <- t(replicate(4000, row_log_density(fit, list(mean = m + sd * rnorm(length(m)), variance = 0 * m))))
    theirs <- suppressWarnings(loo::waic(draws))
    # of the linear predictor alone
    fit$hyper_posterior <- NULL
    ours <- loo::waic(fit)
    # 4000 draws: about a fiftieth of a variance
    expect_equal(ours$estimates[, "Estimate"], theirs$estimates[, "Estimate"], tolerance = 0.05)
  }
  # the variance of log N(y | eta, s^2) in closed form
  fit <- at_estimates(fits$gaussian)
  fit$hyper_posterior <- NULL
  r <- fit$model$y - fit$posterior$mean[, 1]
  v <- fit$posterior$variance[, 1] / sigma(fit)^2
  expect_equal(loo::waic(fit)$pointwise[, "p_waic"], v^2 / 2 + v * (r / sigma(fit))^2, tolerance = tol$solve,
    ignore_attr = TRUE)
})

test_that("waic() is exact where the posterior is weighted points", {
  skip_if_not_installed("loo")
  fit <- galvi(am ~ wt, mtcars, family = binomial())
  expect_true(has_points(fit))
  x <- mtcars$wt - mean(mtcars$wt)
  sd <- sqrt(mean(x^2))
  at <- expand.grid(a = seq(-12, 10, length.out = 250), b = seq(-25, 3, length.out = 250))
  # y is 1 or 0: log p = log P(1 or -1 times eta)
  density <- plogis((outer(at$a, rep(1, 32)) + outer(at$b, x)) * rep(2 * mtcars$am - 1, each = nrow(at)), log.p = TRUE)
  log_weight <- rowSums(density) + dnorm(at$a, 0, 10, log = TRUE) + dnorm(at$b, 0, 10 / sd, log = TRUE)
  weight <- exp(log_weight - max(log_weight))
  weight <- weight / sum(weight)
  lpd <- log(colSums(weight * exp(density)))
  p <- colSums(weight * density^2) - colSums(weight * density)^2
  found <- loo::waic(fit)$pointwise
  expect_lt(max(abs(found[, "p_waic"] - p)), 0.03)
  expect_lt(max(abs(found[, "elpd_waic"] - (lpd - p))), 0.03)
})

test_that("loo_compare() takes waic(), weights count, and several classes are refused", {
  skip_if_not_installed("loo")
  fits <- other_fits()
  found <- named_by_model(loo::loo_compare(list(a = loo::waic(fits$gaussian), b = loo::waic(fits$smooth))))
  expect_identical(sort(rownames(found)), c("a", "b"))
  expect_output(print(loo::waic(fits$gaussian)), "Widely applicable .*32 observations.*elpd_waic")
  expect_error(loo::waic(fits$classes), "loo\\(\\)", class = "galvi_error_argument")
  twice <- galvi(mpg ~ wt, mtcars, weights = frequency(rep(2, 32)), hyper = "fixed")
  rows <- galvi(mpg ~ wt, mtcars[rep(1:32, 2), ], hyper = "fixed", start = twice)
  expect_equal(loo::waic(twice)$estimates[, 1], loo::waic(rows)$estimates[, 1], tolerance = tol$solve)
})
