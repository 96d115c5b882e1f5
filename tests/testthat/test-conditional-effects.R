# conditional_effects(): the columns and values of brms, from the posterior itself.

cars_fit <- function() galvi(mpg ~ wt * factor(am) + log(hp), data = mtcars)

test_that("effects are those of the variables, with the columns of brms", {
  ce <- conditional_effects(cars_fit())
  expect_s3_class(ce, "galvi_conditional_effects")
  expect_named(ce, c("wt", "am", "hp", "wt:am"))
  ends <- c("cond__", "effect1__", "estimate__", "se__", "lower__", "upper__")
  expect_named(ce$wt, c("wt", "am", "hp", ends))
  expect_named(ce$`wt:am`, c("wt", "am", "hp", append(ends, "effect2__", 2L)))
  expect_identical(attr(ce$`wt:am`, "effects"), c("wt", "am"))
  expect_identical(dim(ce$wt), c(100L, 9L))
  # numbers at their means, a number that is used as a factor at its first level
  expect_equal(unique(ce$wt$hp), mean(mtcars$hp))
  expect_identical(unique(ce$wt$am), 0)
  expect_equal(range(ce$wt$wt), range(mtcars$wt))
  # the second variable changes fastest, as in brms
  expect_identical(ce$`wt:am`$am[1:4], c(0, 1, 0, 1))
  expect_s3_class(ce$`wt:am`$effect2__, "factor")
})

test_that("values of a linear model are those of predict()", {
  fit <- cars_fit()
  ce <- conditional_effects(fit, c("wt", "wt:am"), robust = FALSE, prob = 0.9)
  for (data in ce) {
    p <- predict(fit, data, interval = "credible", level = 0.9, se.fit = TRUE)
    expect_equal(data$estimate__, unname(p$fit[, "fit"]), tolerance = 1e-10)
    expect_equal(data$se__, unname(p$se.fit), tolerance = 1e-10)
    expect_equal(data$lower__, unname(p$fit[, "lwr"]), tolerance = 1e-10)
    expect_equal(data$upper__, unname(p$fit[, "upr"]), tolerance = 1e-10)
  }
})

test_that("offsets keep the means of their variables, and numbers of two values are numbers, as in brms", {
  set.seed(1)
  d <- data.frame(x = runif(80), E = runif(80, 1, 20), b = rep(0:1, 40))
  d$y <- rpois(80, d$E * exp(d$x + 0.3 * d$b))
  fit <- galvi(y ~ x + b + offset(log(E)), d, poisson())
  ce <- conditional_effects(fit, robust = FALSE)
  expect_named(ce, c("x", "b"))
  expect_equal(unique(ce$x$E), mean(d$E))
  expect_identical(nrow(ce$b), 100L)
  expect_equal(ce$x$estimate__, unname(predict(fit, ce$x)), tolerance = 1e-10)
  rates <- conditional_effects(fit, "x", conditions = data.frame(E = c(1, 10)), robust = FALSE)$x
  expect_equal(rates$estimate__[101:200], 10 * rates$estimate__[1:100], tolerance = 1e-10)
  # beside the observations of that exposure
  pdf(NULL)
  on.exit(dev.off())
  expect_identical(plot(ce), ce)
  labels <- attr(ce, "panels")[[1L]]$labels
  expect_false(any(grepl("per unit", unlist(labels))))
  # written left of the formula it is the same; the argument counts as zero
  written <- galvi(y | rate(E) ~ x + b, d, poisson())
  expect_equal(conditional_effects(written, "x", robust = FALSE)$x$estimate__, ce$x$estimate__, tolerance = 1e-8)
  argument <- galvi(y ~ x + b, d, poisson(), offset = log(E))
  expect_equal(conditional_effects(argument, "x", robust = FALSE)$x$estimate__, rates$estimate__[1:100], tolerance = 1e-8)
})

test_that("plot() has the same limits, and draws what conditional_effects() has", {
  pdf(NULL)
  on.exit(dev.off())
  fit <- cars_fit()
  ce <- conditional_effects(fit, c("wt", "am"))
  drawn <- plot(fit, terms = c("wt", "am"), n = 100)
  for (name in names(ce)) {
    expect_equal(drawn[[name]]$lwr, ce[[name]]$lower__, tolerance = 1e-10)
    expect_equal(drawn[[name]]$upr, ce[[name]]$upper__, tolerance = 1e-10)
  }
  expect_identical(plot(ce), ce)
  expect_error(plot(ce, what = "sd"), class = "galvi_error_argument")
  expect_output(print(ce), "94 more rows")
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(ce)[[1]], "ggplot")
})

test_that("the second variable has the values of int_conditions, and their names", {
  fit <- cars_fit()
  own <- conditional_effects(fit, "am:wt", int_conditions = list(wt = c(heavy = 4, light = 2)), resolution = 3)[[1]]
  expect_identical(levels(own$effect2__), c("heavy", "light"))
  expect_identical(unique(own$wt), c(4, 2))
  at <- conditional_effects(fit, "am", conditions = data.frame(wt = 4), resolution = 3)$am
  expect_identical(own$estimate__[own$wt == 4], at$estimate__)
  plain <- conditional_effects(fit, "am:wt", int_conditions = list(wt = 1:2), resolution = 3)[[1]]
  expect_identical(levels(plain$effect2__), c("2", "1"))
  quartiles <- conditional_effects(fit, "am:wt", int_conditions = list(wt = quantile), resolution = 3)[[1]]
  expect_identical(levels(quartiles$effect2__), c("0%", "25%", "50%", "75%", "100%"))
  fails <- function(given, pattern) {
    expect_error(conditional_effects(fit, "am:wt", int_conditions = given), pattern, class = "galvi_error_argument")
  }
  fails(list(wt = "a"), "`int_conditions\\$wt` must be numbers")
  fails(list(wt = NA), "missing values")
  fails(list(weight = 3), "`weight`, which is not a variable")
  fails(c(wt = 3), "must be a list")
  fails(list(3), "must be a list")
  pdf(NULL)
  on.exit(dev.off())
  expect_length(attr(plot(conditional_effects(fit, "am:wt", int_conditions = list(wt = quantile))), "panels"), 1L)
  few <- galvi(breaks ~ wool * tension, warpbreaks)
  levels <- conditional_effects(few, "wool:tension", int_conditions = list(tension = c("H", "L")))[[1]]
  expect_identical(as.character(unique(levels$tension)), c("H", "L"))
  expect_error(conditional_effects(few, int_conditions = list(tension = "X")), "\"L\", \"M\", \"H\"",
    class = "galvi_error_argument")
  expect_error(conditional_effects(few, categorical = TRUE), "leave it out", class = "galvi_error_argument")
})

test_that("robust estimates are medians and median absolute deviations of the posterior", {
  fit <- galvi(am ~ wt, mtcars, family = binomial(), prior = normal(0, 2),
    control = galvi_control(uncertainty = "factorised"))
  ce <- conditional_effects(fit, "wt", resolution = 5)$wt
  p <- predict(fit, ce, type = "link", se.fit = TRUE)
  for (i in 1:5) {
    # logit-normal quantiles, and the root of P(|h(eta) - median| < m) = 1/2
    median <- plogis(p$fit[i])
    within <- function(m) {
      ends <- qlogis(pmin(pmax(median + c(-m, m), 0), 1))
      diff(pnorm(ends, p$fit[i], p$se.fit[i])) - 0.5
    }
    mad <- 1.4826 * uniroot(within, c(0, 1), tol = 1e-12)$root
    expect_equal(ce$estimate__[i], unname(median), tolerance = 1e-9)
    expect_equal(ce$se__[i], mad, tolerance = 2e-5)  # 1.4826 has five digits
    expect_equal(c(ce$lower__[i], ce$upper__[i]), plogis(p$fit[i] + c(-1, 1) * qnorm(0.975) * p$se.fit[i]),
      ignore_attr = TRUE, tolerance = 1e-9)
  }
  link <- conditional_effects(fit, "wt", method = "posterior_linpred", resolution = 5)$wt
  expect_equal(link$se__, unname(p$se.fit), tolerance = 1e-8)
})

test_that("new responses have predictive quantiles and deviations, discrete ones those of whole numbers", {
  fit <- galvi(count ~ spray, InsectSprays, family = poisson())
  ce <- conditional_effects(fit, method = "posterior_predict")$spray
  quantiles <- predict(fit, ce, type = "quantile", probs = c(0.025, 0.5, 0.975))
  expect_equal(cbind(ce$lower__, ce$estimate__, ce$upper__), quantiles, ignore_attr = TRUE)
  set.seed(1)
  draws <- as.matrix(simulate(fit, 4000, newdata = ce))
  for (i in 1:6) expect_equal(ce$se__[i], mad(draws[i, ], center = ce$estimate__[i]), tolerance = 1e-4)
  # gaussian: of a t-like distribution the deviation is that of its draws, within their error
  fit <- galvi(dist ~ speed, cars)
  ce <- conditional_effects(fit, method = "posterior_predict", resolution = 3)$speed
  draws <- as.matrix(simulate(fit, 20000, newdata = ce))
  expect_equal(ce$se__, apply(draws, 1, mad), tolerance = 0.03, ignore_attr = TRUE)
})

test_that("of two numbers the second is at its mean and one sd to either side", {
  fit <- galvi(mpg ~ wt * hp, mtcars)
  ce <- conditional_effects(fit, "wt:hp", resolution = 4)$`wt:hp`
  expect_equal(ce$hp[1:3], mean(mtcars$hp) + c(-1, 0, 1) * sd(mtcars$hp))
  expect_identical(levels(ce$effect2__), as.character(rev(sort(unique(round(ce$hp, 2))))))
  # the user's order is kept, numbers go first otherwise
  expect_named(conditional_effects(fit, "hp:wt", resolution = 3), "hp:wt")
  expect_named(conditional_effects(galvi(mpg ~ factor(am) * wt, mtcars), resolution = 3), c("am", "wt", "wt:am"))
})

test_that("conditions replace the values that are kept, a panel and a label for each row", {
  fit <- cars_fit()
  ce <- conditional_effects(fit, "wt", data.frame(hp = c(100, 200), row.names = c("weak", "strong")))
  expect_identical(levels(ce$wt$cond__), c("weak", "strong"))
  expect_identical(nrow(ce$wt), 200L)
  expect_equal(ce$wt$hp, rep(c(100, 200), each = 100))
  own <- predict(fit, ce$wt, interval = "credible")
  expect_equal(ce$wt$lower__, unname(own[, "lwr"]), tolerance = 1e-10)
  expect_length(attr(ce, "panels"), 2L)
  labelled <- conditional_effects(fit, "wt", data.frame(hp = 1:2 * 100, cond__ = c("a", "b")), resolution = 3)
  expect_identical(levels(labelled$wt$cond__), c("a", "b"))
})

test_that("groups are left out unless re_formula and conditions include them", {
  d <- transform(InsectSprays, id = rep(1:12, 6))
  fit <- galvi(count ~ spray + (1 | id), d, family = poisson())
  ce <- conditional_effects(fit, robust = FALSE)
  expect_named(ce, "spray")
  average <- predict(fit, ce$spray, re_formula = NA, interval = "credible")
  expect_equal(ce$spray$estimate__, unname(average[, "fit"]), tolerance = 1e-10)
  expect_identical(conditional_effects(fit, re_formula = NULL, robust = FALSE)$spray$estimate__, ce$spray$estimate__)
  one <- conditional_effects(fit, conditions = data.frame(id = 3), re_formula = NULL, robust = FALSE)$spray
  expect_equal(one$estimate__, unname(predict(fit, transform(one, id = 3))), tolerance = 1e-10)
  # predict() takes groups that numbers name as text or factors too, and new ones
  for (id in list("3", factor(3, levels = 1:4))) {
    same <- conditional_effects(fit, conditions = data.frame(id = id), re_formula = NULL, robust = FALSE)$spray
    expect_identical(same$estimate__, one$estimate__)
    expect_identical(unique(same$id), "3")
  }
  new <- conditional_effects(fit, conditions = data.frame(id = "new"), re_formula = NULL, robust = FALSE)$spray
  expect_equal(new$estimate__, unname(predict(fit, transform(one, id = "new"))), tolerance = 1e-10)
  trend <- galvi(count ~ id + (1 | id), d, family = poisson(), hyper = "fixed")
  expect_error(conditional_effects(trend, conditions = data.frame(id = "3")), "must be numbers",
    class = "galvi_error_argument")
  # a condition alone does not include a group
  expect_equal(conditional_effects(fit, conditions = data.frame(id = 3))$spray$lower__, ce$spray$lower__)
})

test_that("variables of other terms have effects", {
  fit <- galvi(dist ~ gp(speed), cars)
  ce <- conditional_effects(fit)
  expect_named(ce, "speed")
  expect_equal(ce$speed$lower__, unname(predict(fit, ce$speed, interval = "credible")[, "lwr"]), tolerance = 1e-8)
  both <- galvi(mpg ~ gp(wt, hp, scale = TRUE), mtcars, hyper = "fixed")
  expect_named(conditional_effects(both, resolution = 3), c("wt", "hp", "wt:hp"))
})

test_that("classes have a row each", {
  fit <- galvi(factor(gear) ~ wt, mtcars, family = categorical(), prior = normal(0, 2))
  ce <- conditional_effects(fit, resolution = 4, robust = FALSE)$wt
  expect_identical(attr(ce, "effects"), c("wt", "cats__"))
  expect_identical(ce$cats__, factor(rep(c("3", "4", "5"), each = 4)))
  p <- predict(fit, ce[1:4, ], type = "prob", se.fit = TRUE)
  expect_equal(ce$estimate__, as.vector(p$fit), tolerance = 1e-10)
  expect_equal(ce$se__, as.vector(p$se.fit), tolerance = 1e-10)
  robust <- conditional_effects(fit, resolution = 4)$wt
  # rare classes too, to the error of draws
  expect_lt(min(robust$estimate__), 1e-3)
  draws <- posterior_epred.galvi(fit, ce[1:4, ], ndraws = 4000, seed = 2)
  quantiles <- apply(draws, 2:3, quantile, c(0.5, 0.025, 0.975))
  for (i in 1:3) {
    own <- robust[[c("estimate__", "lower__", "upper__")[i]]]
    expect_lt(max(abs(log(own / as.vector(quantiles[i, , ])))), c(0.2, 1, 0.5)[i])
  }
  expect_error(conditional_effects(fit, "wt:gear"), class = "galvi_error_argument")
  expect_error(conditional_effects(fit, method = "posterior_predict"), class = "galvi_error_argument")
})

test_that("several linear predictors: the mean of the response, or one parameter", {
  fit <- galvi(list(mpg ~ wt, sigma ~ hp), mtcars)
  ce <- conditional_effects(fit, resolution = 4)
  expect_named(ce, c("wt", "hp"))
  p <- predict(fit, ce$wt, interval = "credible")
  expect_equal(ce$wt$lower__, unname(p[, "lwr"]), tolerance = 1e-8)
  sigma <- conditional_effects(fit, dpar = "sigma", resolution = 4, robust = FALSE)
  expect_named(sigma, "hp")
  expect_equal(sigma$hp$estimate__, unname(predict(fit, transform(sigma$hp, wt = 3), dpar = "sigma")), tolerance = 1e-8)
  link <- conditional_effects(fit, method = "posterior_linpred", resolution = 4, robust = FALSE)
  expect_named(link, "wt")
})

test_that("what is not there is an error that lists what is", {
  fit <- cars_fit()
  expect_error(conditional_effects(fit, "wtt"), "\"wt\", \"am\", \"hp\", \"wt:am\"", class = "galvi_error_argument")
  expect_error(conditional_effects(fit, "wt:am:hp"), "conditions", class = "galvi_error_argument")
  expect_error(conditional_effects(fit, 1), class = "galvi_error_argument")
  expect_error(conditional_effects(fit, conditions = data.frame(hq = 1)), "`wt`, `am`, `hp`",
    class = "galvi_error_argument")
  expect_error(conditional_effects(fit, conditions = list(hp = 1)), class = "galvi_error_argument")
  expect_error(conditional_effects(fit, conditions = data.frame(hp = NA_real_)), class = "galvi_error_argument")
  expect_error(conditional_effects(fit, conditions = data.frame(hp = "a")), class = "galvi_error_argument")
  expect_error(conditional_effects(fit, prob = 2), class = "galvi_error_argument")
  expect_error(conditional_effects(fit, resolution = 1), class = "galvi_error_argument")
  expect_error(conditional_effects(fit, surface = TRUE), "surface", class = "galvi_error_argument")
  expect_error(conditional_effects(galvi(count ~ (1 | spray), InsectSprays, family = poisson())),
    class = "galvi_error_argument")
  spray <- galvi(count ~ spray, InsectSprays, family = poisson())
  expect_error(conditional_effects(spray, conditions = data.frame(spray = "Z")), "levels are",
    class = "galvi_error_argument")
  expect_error(conditional_effects(1), class = "error")
})

test_that("what overflows is warned of, except on the link scale", {
  fit <- galvi(y ~ x + z, data.frame(x = 1:20, z = (1:20)^2, y = 1:20), family = poisson())
  effect <- function(...) conditional_effects(fit, "x", data.frame(z = -1e6), resolution = 3, ...)$x$estimate__
  expect_warning(estimate <- effect(), "too large", class = "galvi_warning_numeric")
  expect_identical(estimate, rep(Inf, 3))
  expect_no_warning(effect(method = "posterior_linpred"))
})

test_that("brms' generics find the methods", {
  skip_on_cran()
  skip_if_not_installed("brms")
  suppressPackageStartupMessages(loadNamespace("brms"))
  fit <- galvi(dist ~ speed, cars)
  expect_identical(brms::conditional_effects(fit, resolution = 3), conditional_effects(fit, resolution = 3))
  expect_identical(brms::hypothesis(fit, "speed > 3"), hypothesis(fit, "speed > 3"))
})
