# Comparing fits, and what searches by AIC.

test_that("anova() compares evidence and leave-one-out densities", {
  linear <- galvi(dist ~ speed, cars)
  smooth <- galvi(dist ~ gp(speed), cars)
  table <- anova(linear, smooth)
  expect_s3_class(table, "anova")
  expect_identical(rownames(table), c("linear", "smooth"))
  expect_equal(table$evidence, c(linear$elbo, smooth$elbo))
  expect_identical(table$hyper, c(1L, 3L))
  skip_if_not_installed("loo")
  theirs <- named_by_model(loo::loo_compare(list(linear = loo::loo(linear), smooth = loo::loo(smooth))))
  best <- which(table$elpd_diff == 0)
  other <- rownames(table)[-best]
  expect_equal(table[other, "elpd_diff"], theirs[other, "elpd_diff"])
  expect_equal(table[other, "se_diff"], theirs[other, "se_diff"])
  expect_output(print(table), "linear: dist ~ speed, gaussian")
  expect_identical(rownames(anova(linear, update(linear, . ~ 1))), c("linear", "fit2"))
})

test_that("standard errors of loo(), waic() and anova() are those of rows that are there as often as they weigh", {
  weight <- rep(0:3, 8)
  long <- mtcars[rep(1:32, weight), ]
  proper <- list(intercept = normal(0, 10), default = normal(0, 5))
  for (formula in list(mpg ~ wt + hp, carb ~ wt + hp)) {
    family <- if (formula[[2]] == "mpg") gaussian() else poisson()
    some <- galvi(formula, mtcars, family, prior = proper, weights = frequency(weight))
    all <- galvi(formula, long, family, prior = proper)
    expect_equal(loo.galvi(some)$estimates, loo.galvi(all)$estimates, tolerance = tol$solve)
    expect_equal(waic.galvi(some)$estimates, waic.galvi(all)$estimates, tolerance = tol$solve)
    weighted <- anova(some, update(some, . ~ wt))
    repeated <- anova(all, update(all, . ~ wt))
    expect_equal(weighted$se_diff, repeated$se_diff, tolerance = tol$solve)
  }
  # rows of weight below 1 are one observation each
  half <- galvi(mpg ~ wt, mtcars, prior = proper, weights = frequency(rep(0.5, 32)), hyper = "fixed")
  elpd <- loo.galvi(half)
  expect_equal(elpd$estimates["elpd_loo", "SE"], sqrt(32 * var(elpd$pointwise[, "elpd_loo"])))
})

test_that("anova() refuses what it cannot compare", {
  fit <- galvi(dist ~ speed, cars)
  expect_error(anova(fit), "car::Anova", class = "galvi_error_argument")
  expect_error(anova(fit, lm(dist ~ speed, cars)), "of galvi\\(\\)", class = "galvi_error_argument")
  expect_error(anova(fit, galvi(dist ~ speed, cars[-1, ])), "same response", class = "galvi_error_argument")
  expect_error(anova(fit, galvi(log(dist) ~ speed, cars)), "same response", class = "galvi_error_argument")
  expect_error(anova(fit, fit, test = "Chisq"), "`test`", class = "galvi_error_argument")
})

test_that("searches by AIC name what to use", {
  fit <- galvi(dist ~ speed, cars)
  for (search in list(drop1, step, function(fit) add1(fit, . ~ .), extractAIC)) {
    expect_error(search(fit), "car::Anova.*anova.*learn", class = "galvi_error_argument")
  }
})
