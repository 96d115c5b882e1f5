# Package marginaleffects, by posterior draws.

# Version 1.0.0 uses an operator that R has from 4.4 on.
local_null_operator <- function(env = parent.frame()) {
  if (exists("%||%", baseenv())) return(invisible())
  assign("%||%", function(x, y) if (is.null(x)) y else x, globalenv())
  do.call(on.exit, list(quote(rm("%||%", envir = globalenv())), add = TRUE), envir = env)
}

skip_without_marginaleffects <- function() {
  skip_if_not_installed("marginaleffects", "0.20")
  skip_if_not_installed("collapse", "2.0.18")
}

# Means of 2000 draws are within four of their standard errors and, as posterior means are not modes, a twentieth of
# the posterior's; intervals within a tenth.
expect_near_draws <- function(ours, theirs) {
  allowed <- (4 / sqrt(2000) + 0.05) * theirs$std.error
  expect_lt(max(abs(ours$estimate - theirs$estimate) / allowed), 1)
  wide <- function(x) x$conf.high - x$conf.low
  expect_equal(wide(ours), wide(theirs), tolerance = 0.1)
}

test_that("slopes, comparisons and predictions are those of lm() and glm()", {
  skip_without_marginaleffects()
  local_null_operator()
  set.seed(1)
  twin <- lm_twin(mpg ~ wt * hp + cyl)
  d <- twin$data
  expect_near_draws(
    marginaleffects::avg_slopes(twin$ours, newdata = d, variables = c("wt", "hp")),
    marginaleffects::avg_slopes(twin$theirs, newdata = d, variables = c("wt", "hp"))
  )
  expect_near_draws(
    marginaleffects::avg_comparisons(twin$ours, newdata = d, variables = "cyl"),
    marginaleffects::avg_comparisons(twin$theirs, newdata = d, variables = "cyl")
  )
  counts <- galvi(count ~ spray, InsectSprays, poisson(), prior = flat_prior)
  reference <- glm(count ~ spray, poisson(), InsectSprays)
  expect_near_draws(
    marginaleffects::avg_predictions(counts, by = "spray"),
    marginaleffects::avg_predictions(reference, by = "spray", type = "response")
  )
  expect_error(marginaleffects::hypotheses(twin$ours, "wt = 0"), "marginaleffects_model_classes")
  old <- options(marginaleffects_model_classes = "galvi")
  on.exit(options(old), add = TRUE)
  tests <- marginaleffects::hypotheses(twin$ours, "wt = 0")
  expect_equal(as.numeric(tests$estimate), coef(twin$ours)[["wt"]])
  expect_equal(as.numeric(tests$std.error), sqrt(vcov(twin$ours)["wt", "wt"]), tolerance = 1e-6)
})

test_that("differences along gp() are drawn jointly", {
  skip_without_marginaleffects()
  local_null_operator()
  set.seed(1)
  d <- car_data()
  fit <- galvi(mpg ~ cyl + gp(wt), d)
  found <- marginaleffects::comparisons(fit, variables = list(wt = c(2, 3)), newdata = d[1, ])
  both <- predict(fit, data.frame(cyl = d$cyl[1], wt = 2:3), type = "link", covariance = TRUE)
  sd <- sqrt(sum(c(1, -1, -1, 1) * both$covariance))
  expect_equal(found$estimate, diff(both$fit)[[1]], tolerance = 0.1)
  expect_equal(found$conf.high - found$conf.low, 2 * qnorm(0.975) * sd, tolerance = 0.1)
})

test_that("`re_formula` is that of predict()", {
  skip_without_marginaleffects()
  local_null_operator()
  set.seed(1)
  fit <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy)
  rows <- sleepstudy[c(1, 10, 50), ]
  found <- suppressWarnings(marginaleffects::predictions(fit, newdata = rows, re_formula = NA))
  wanted <- predict(fit, rows, re_formula = NA, type = "link", se.fit = TRUE)
  # four standard errors of the mean of 2000 draws
  expect_lt(max(abs(found$estimate - wanted$fit) / wanted$se.fit), 4 / sqrt(2000))
  expect_equal(found$conf.high - found$conf.low, unname(2 * qnorm(0.975) * wanted$se.fit), tolerance = 0.1)
  # in an error of its own
})

test_that("plots draw the predictions, comparisons and slopes", {
  skip_without_marginaleffects()
  # the package's own demand
  skip_if_not_installed("ggplot2", "4.0.0")
  local_null_operator()
  set.seed(1)
  twin <- lm_twin(mpg ~ wt + cyl)
  drawn <- function(plot, fit, ...) plot(fit, ..., draw = FALSE)
  line <- function(fit) drawn(marginaleffects::plot_predictions, fit, condition = list(wt = 2:5))
  expect_near_draws(line(twin$ours), line(twin$theirs))
  expect_s3_class(marginaleffects::plot_predictions(twin$ours, condition = "wt"), "ggplot")
  effect <- function(fit) drawn(marginaleffects::plot_comparisons, fit, variables = "cyl", by = "cyl")
  expect_near_draws(effect(twin$ours), effect(twin$theirs))
  slope <- function(fit) drawn(marginaleffects::plot_slopes, fit, variables = "wt", by = "cyl")
  expect_near_draws(slope(twin$ours), slope(twin$theirs))
})

test_that("classes are groups, two predictors have one mean, and other types are refused", {
  skip_without_marginaleffects()
  local_null_operator()
  set.seed(1)
  fits <- other_fits()
  classes <- marginaleffects::avg_predictions(fits$classes, newdata = car_data())
  expect_setequal(as.character(classes$group), as.character(3:5))
  expect_equal(sum(classes$estimate), 1, tolerance = 0.01)
  expect_true(is.finite(marginaleffects::avg_comparisons(fits$two, newdata = car_data(), variables = "wt")$conf.low))
  expect_error(get_predict.galvi(fits$two, car_data(), type = "terms"), "`type`", class = "galvi_error_argument")
})

test_that("another covariance matrix is refused where draws make the intervals", {
  skip_without_marginaleffects()
  local_null_operator()
  fit <- lm_twin(mpg ~ wt)$ours
  expect_error(marginaleffects::avg_predictions(fit, vcov = "HC3"), "hypotheses")
  expect_null(marginaleffects::avg_predictions(fit, vcov = FALSE)$conf.low)
})

test_that("predictions at rows with missing values are NA, as of lm()", {
  skip_without_marginaleffects()
  local_null_operator()
  set.seed(1)
  twin <- lm_twin(mpg ~ wt + cyl)
  rows <- transform(twin$data[1:4, ], wt = replace(wt, 2, NA))
  at <- function(fit) marginaleffects::predictions(fit, newdata = rows)
  ours <- at(twin$ours)
  expect_identical(is.na(ours$estimate), c(FALSE, TRUE, FALSE, FALSE))
  expect_near_draws(ours[-2, ], at(twin$theirs)[-2, ])
})

test_that("predictions of cox() are hazard ratios, and comparisons those of its coefficients", {
  skip_if_not_installed("survival")
  skip_without_marginaleffects()
  local_null_operator()
  set.seed(1)
  lung <- transform(survival::lung, sex = factor(sex))
  fit <- galvi(survival::Surv(time, status) ~ age + sex, lung, cox())
  rows <- transform(lung[1:3, ], age = replace(age, 3, NA))
  links <- predict(fit, rows, type = "link", se.fit = TRUE)
  found <- marginaleffects::predictions(fit, newdata = rows, type = "link")
  expect_identical(is.na(found$estimate), c(FALSE, FALSE, TRUE))
  expect_near_draws(found[1:2, ], data.frame(
    estimate = links$fit[1:2], std.error = links$se.fit[1:2], conf.low = 0, conf.high = 2 * 1.96 * links$se.fit[1:2]
  ))
  ratios <- marginaleffects::predictions(fit, newdata = rows)
  expect_equal(ratios$estimate[1:2], unname(predict(fit, rows)[1:2]), tolerance = 0.02)
  changed <- marginaleffects::comparisons(fit, newdata = lung[1:3, ], variables = "sex", type = "link")
  se <- sqrt(vcov(fit)["sex2", "sex2"])
  expect_near_draws(changed, data.frame(
    estimate = coef(fit)[["sex2"]], std.error = se, conf.low = 0, conf.high = rep(2 * 1.96 * se, 3)
  ))
})

test_that("`dpar` is the parameter, as in predict()", {
  skip_if_not_installed("marginaleffects", "0.20")
  skip_if_not_installed("data.table")
  fit <- galvi(list(mpg ~ wt, sigma ~ am), mtcars)
  rows <- data.frame(wt = 3, am = 0:1)
  set.seed(1)
  for (type in c("response", "link")) {
    wanted <- predict(fit, rows, dpar = "sigma", type = type, se.fit = TRUE)
    found <- get_predict.galvi(fit, rows, type = type, dpar = "sigma")
    expect_lt(max(abs(found$estimate - wanted$fit) / wanted$se.fit), 4 / sqrt(2000))
  }
  expect_error(get_predict.galvi(fit, rows, dpar = "phi"), "`dpar`", class = "galvi_error_argument")
})
