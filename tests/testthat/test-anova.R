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
  theirs <- loo::loo_compare(list(linear = loo::loo(linear), smooth = loo::loo(smooth)))
  best <- which(table$elpd_diff == 0)
  other <- rownames(table)[-best]
  expect_equal(table[other, "elpd_diff"], theirs[other, "elpd_diff"])
  expect_equal(table[other, "se_diff"], theirs[other, "se_diff"])
  expect_output(print(table), "linear: dist ~ speed, gaussian")
  expect_identical(rownames(anova(linear, update(linear, . ~ 1))), c("linear", "fit2"))
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
