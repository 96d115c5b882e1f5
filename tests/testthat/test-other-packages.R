# What other packages make of a fit: right, or an error that says what to do.

test_that("performance::r2() is the R squared of the fitted values", {
  skip_if_not_installed("performance")
  r2 <- function(...) performance::r2(...)$R2[["R2"]]
  flat <- list(intercept = normal(0, 1e4), default = normal(0, 1e4))
  fit <- galvi(mpg ~ wt + hp, mtcars, prior = flat)
  expect_equal(r2(fit), summary(lm(mpg ~ wt + hp, mtcars))$r.squared, tolerance = tol$optimum)
  weights <- rep(1:2, 16)
  fit <- galvi(mpg ~ wt + hp, mtcars, prior = flat, weights = weights)
  reference <- lm(mpg ~ wt + hp, mtcars, weights = weights)
  expect_equal(r2(fit), summary(reference)$r.squared, tolerance = tol$optimum)
  binary <- small_fit("flat")
  expect_equal(r2(binary), 1 - sum(residuals(binary)^2) / sum((mtcars$am - mean(mtcars$am))^2))
  expect_error(performance::r2(family_fit("categorical")), "loo\\(\\)", class = "galvi_error_argument")
  expect_error(performance::r2(family_fit("stochastic_volatility")), class = "galvi_error_argument")
  constant <- galvi(y ~ 1, data.frame(y = rep(1, 3)), hyper = "fixed")
  expect_error(performance::r2(constant), "zero", class = "galvi_error_argument")
})

test_that("what other packages predict by predict() is not lost on a field that is NULL", {
  fit <- galvi(mpg ~ wt + gp(hp), mtcars, hyper = "fixed")
  expect_false(any(vapply(fit, is.null, NA)))
  skip_if_not_installed("performance")
  expect_equal(performance::mae(fit), mean(abs(residuals(fit))))
})

test_that("car::Anova() tests the terms that it names", {
  skip_if_not_installed("car")
  d <- transform(mtcars, cyl = factor(cyl))
  flat <- list(intercept = normal(0, 1e4), default = normal(0, 1e4))
  reference <- lm(mpg ~ wt * cyl + hp, d)
  noise <- galvi_family("gaussian", variance = fixed(sigma(reference)^2))
  fit <- galvi(mpg ~ wt * cyl + hp, d, noise, prior = flat)
  for (type in 2:3) {
    ours <- car::Anova(fit, type = type)
    theirs <- car::Anova(reference, type = type)
    theirs <- theirs[rownames(ours), ]
    expect_identical(ours$Df, theirs$Df)
    expect_equal(ours$Chisq, theirs[["F value"]] * theirs$Df, tolerance = 1e-3)
    expect_match(attr(ours, "heading")[2], "Response: mpg")
  }
  random <- car::Anova(galvi(mpg ~ wt + cyl + (1 | gear), d))
  expect_identical(rownames(random), c("wt", "cyl"))
  expect_identical(random$Df, c(1, 2))
  expect_error(car::Anova(fit, typed = 3), "Did you mean `type`", class = "galvi_error_argument")
  expect_error(car::Anova(small_fit("gaussian")), "fixed effects", class = "galvi_error_argument")
  expect_error(car::Anova(family_fit("categorical")), "3 per observation", class = "galvi_error_argument")
  expect_equal(car::linearHypothesis(fit, "hp = 0")$Chisq[2], car::Anova(fit)["hp", "Chisq"])
  expect_error(car::linearHypothesis(family_fit("categorical"), diag(6)[1, ]), class = "galvi_error_argument")
})

test_that("lmtest::lrtest() warns and names loo()", {
  skip_if_not_installed("lmtest")
  one <- galvi(am ~ wt, mtcars, binomial(), hyper = "fixed")
  two <- galvi(am ~ wt + hp, mtcars, binomial(), hyper = "fixed")
  expect_warning(table <- lmtest::lrtest(one, two), "loo\\(\\)", class = "galvi_warning_evidence")
  expect_equal(table$LogLik, c(one$elbo, two$elbo))
})
