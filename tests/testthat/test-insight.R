# Packages insight, parameters and performance.

test_that("insight reads formulas, groups and data", {
  skip_if_not_installed("insight")
  fits <- other_fits()
  formula <- insight::find_formula(fits$mixed)
  expect_equal(deparse1(formula$conditional), "mpg ~ wt")
  expect_equal(deparse1(formula$random), "~1 | gear")
  expect_identical(insight::find_random(fits$mixed)$random, "gear")
  expect_true(insight::model_info(fits$mixed)$is_mixed)
  expect_setequal(insight::find_predictors(fits$smooth)$conditional, c("cyl", "wt"))
  expect_identical(insight::find_predictors(fits$two)$sigma, "wt")
  slopes <- galvi(weight ~ Time + iid(Chick) + iid(Chick, by = Time), ChickWeight, hyper = "fixed")
  expect_length(insight::find_formula(slopes)$random, 2L)
  correlated <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy, hyper = "fixed")
  expect_equal(deparse1(insight::find_formula(correlated)$random), "~Days | Subject")
  independent <- galvi(Reaction ~ Days + (Days || Subject), sleepstudy, hyper = "fixed")
  random <- insight::find_formula(independent)$random
  expect_identical(vapply(random, deparse1, ""), c("~1 | Subject", "~0 + Days | Subject"))
  expect_identical(insight::find_random(independent, flatten = TRUE), "Subject")
  offset <- galvi(count ~ spray + offset(log(e)), transform(InsectSprays, e = 2), poisson(), hyper = "fixed")
  expect_match(deparse1(insight::find_formula(offset)$conditional), "offset\\(log\\(e\\)\\)")
  own <- galvi(list(mpg ~ wt, sigma ~ am + offset(log(hp))), mtcars, hyper = "fixed")
  expect_identical(vapply(insight::find_formula(own), deparse1, ""),
    c(conditional = "mpg ~ wt", sigma = "~am + offset(log(hp))"))
  expect_identical(insight::n_obs(fits$mixed), 32L)
  expect_identical(insight::find_response(fits$mixed), "mpg")
  expect_true(insight::model_info(fits$binary)$is_binomial)
  expect_true(insight::model_info(fits$gaussian)$is_linear)
})

test_that("groups a:b have the names that the user typed", {
  skip_if_not_installed("insight")
  skip_if_not_installed("nlme")
  d <- transform(as.data.frame(nlme::Oats), Block = factor(Block, ordered = FALSE))
  nested <- galvi(yield ~ nitro + (1 | Block/Variety), d, hyper = "fixed")
  both <- galvi(yield ~ nitro + (1 | Block:Variety), d, hyper = "fixed")
  slopes <- galvi(yield ~ nitro + (nitro | Block:Variety), d, hyper = "fixed")
  expect_identical(vapply(insight::find_formula(nested)$random, deparse1, ""), c("~1 | Block", "~1 | Block:Variety"))
  expect_identical(deparse1(insight::find_formula(both)$random), "~1 | Block:Variety")
  expect_identical(deparse1(insight::find_formula(slopes)$random), "~nitro | Block:Variety")
  for (fit in list(nested, both, slopes)) {
    expect_identical(insight::find_variables(fit)$random, c("Block", "Variety"))
    expect_equal(insight::get_random(fit)[c("Block", "Variety")], d[c("Block", "Variety")], ignore_attr = TRUE)
    frame <- insight::get_data(fit, source = "frame")
    expect_setequal(names(frame), c("yield", "nitro", "Block", "Variety"))
    expect_equal(frame$Variety, d$Variety)
  }
  skip_if_not_installed("ggeffects")
  at <- suppressMessages(suppressWarnings(ggeffects::ggpredict(both, "nitro [0, 0.4]")))
  expect_equal(diff(at$predicted), 0.4 * coef(both)[["nitro"]], tolerance = 1e-6)
})

test_that("insight has all coefficients, with the names and the order of vcov()", {
  skip_if_not_installed("insight")
  for (fit in other_fits()) {
    table <- insight::get_parameters(fit)
    expect_identical(table$Parameter, as.character(rownames(vcov(fit))))
    expect_identical(table$Estimate, coefficient_means(fit))
    expect_equal(insight::get_statistic(fit)$Statistic, unname(coefficient_means(fit) / sqrt(diag(vcov(fit)))))
    expect_setequal(insight::find_parameters(fit, flatten = TRUE), as.character(unique(table$Parameter)))
  }
  expect_identical(insight::get_df(fit), Inf)
  expect_identical(insight::get_df(other_fits()$gaussian, type = "residual"), 28L)
  expect_true(insight::is_converged(fit))
  # generic from then on
  if (has_version("insight", "1.0.0")) expect_identical(insight::find_statistic(fit), "z-statistic")
})

test_that("get_predicted() is predict(), in every family", {
  skip_if_not_installed("insight")
  predicted <- function(...) insight::get_predicted(..., verbose = FALSE)
  values <- function(x) as.numeric(x)
  fits <- other_fits()
  zeros <- galvi(list(count ~ spray, zi ~ 1), InsectSprays, zero_inflated("poisson"), hyper = "fixed")
  skewed <- galvi(Sepal.Length ~ Petal.Width, iris, lognormal())
  for (fit in c(list(zeros, skewed), fits[c("gaussian", "mixed", "binary", "two", "smooth")])) {
    expect_equal(values(predicted(fit)), unname(fitted(fit)))
    expect_equal(values(predicted(fit, predict = "link")), unname(predict(fit, type = "link")))
    limits <- attr(predicted(fit, ci = 0.9), "ci_data")
    wanted <- predict(fit, interval = "credible", level = 0.9, se.fit = TRUE)
    expect_equal(as.matrix(limits), cbind(SE = wanted$se.fit, wanted$fit[, 2:3]), ignore_attr = TRUE)
  }
  expect_equal(values(predicted(zeros, predict = "zi")), unname(predict(zeros, dpar = "zi")))
  two <- as.data.frame(predicted(skewed, iris[1:3, ], predict = "prediction", ci = c(0.5, 0.9)))
  expect_named(two, c("Predicted", "CI_low_0.5", "CI_high_0.5", "CI_low_0.9", "CI_high_0.9"))
  expect_equal(two[[5]], unname(predict(skewed, iris[1:3, ], interval = "prediction", level = 0.9)[, "upr"]))
  expect_error(predicted(zeros, predict = "phi"), "`predict` must be .*\"expectation\"", class = "galvi_error_argument")
  expect_error(predicted(zeros, iterations = 9), "posterior_epred", class = "galvi_error_argument")
  # variables as in the data
  expect_setequal(names(attr(predicted(galvi(mpg ~ poly(wt, 2), mtcars)), "data")), c("mpg", "wt"))
  holes <- transform(mtcars, wt = replace(wt, 3, NA))
  expect_length(predicted(galvi(mpg ~ wt, holes, na.action = na.exclude)), 31L)
})

test_that("get_predicted() without groups is for the population", {
  skip_if_not_installed("insight")
  fit <- galvi(round(weight) ~ Time + (1 | Chick), ChickWeight, poisson(), hyper = "fixed")
  new <- data.frame(Time = c(2, 10))
  population <- unname(predict(fit, new, re_formula = NA))
  expect_equal(as.numeric(insight::get_predicted(fit, new)), population)
  new$Chick <- NA
  expect_equal(as.numeric(insight::get_predicted(fit, new)), population)
  new$Chick <- "3"
  expect_equal(as.numeric(insight::get_predicted(fit, new, include_random = FALSE)), population)
  expect_equal(as.numeric(insight::get_predicted(fit, new)), unname(predict(fit, new)))
})

test_that("get_predicted() has classes below each other, as of clm()", {
  skip_if_not_installed("insight")
  classes <- other_fits()$classes
  found <- as.data.frame(insight::get_predicted(classes))
  expect_equal(found$Predicted, as.vector(predict(classes, type = "prob")))
  expect_identical(found$Response, rep(as.character(3:5), each = 32L))
  limits <- as.data.frame(insight::get_predicted(classes, ci = 0.95))
  expect_equal(limits$SE, as.vector(predict(classes, type = "prob", se.fit = TRUE)$se.fit))
  both <- predict(classes, type = "prob", interval = "credible")
  expect_equal(limits$CI_low, as.vector(both[, , "lwr"]))
  expect_equal(limits$CI_high, as.vector(both[, , "upr"]))
  expect_true(all(c("CI_low_0.5", "CI_high_0.9") %in% names(as.data.frame(insight::get_predicted(classes, ci = c(0.5, 0.9))))))
  expect_warning(insight::get_predicted(classes, predict = "classification", ci = 0.95), "no intervals",
    class = "galvi_warning_argument")
  expect_identical(as.character(insight::get_predicted(classes, predict = "classification")),
    as.character(predict(classes, type = "class")))
  skip_if_not_installed("ordinal")
  wine <- ordinal::wine
  ours <- as.data.frame(insight::get_predicted(galvi(rating ~ temp + contact, wine, cumulative())))
  theirs <- as.data.frame(insight::get_predicted(ordinal::clm(rating ~ temp + contact, data = wine)))
  expect_identical(ours[c("Row", "Response", "temp", "contact")], theirs[c("Row", "Response", "temp", "contact")])
  # posterior means, not values at the mode
  expect_equal(ours$Predicted, theirs$Predicted, tolerance = 0.02)
})

test_that("ggeffects' grids have the intervals of predict(), of classes and of parameters too", {
  new <- data.frame(wt = c(2, 3), cyl = c(4, 4))
  fit <- galvi(mpg ~ wt + factor(cyl), mtcars)
  at <- get_predictions.galvi(fit, new, ci_level = 0.8)
  expect_equal(unname(as.matrix(at[c("predicted", "conf.low", "conf.high")])),
    unname(predict(fit, new, interval = "credible", level = 0.8)))
  expect_equal(get_predictions.galvi(fit, new, interval = "prediction")$conf.low,
    unname(predict(fit, new, interval = "prediction")[, "lwr"]))
  none <- get_predictions.galvi(fit, new, ci_level = NA)
  expect_equal(none$predicted, unname(predict(fit, new)))
  expect_identical(none$conf.low, c(NA_real_, NA_real_))
  groups <- galvi(weight ~ Time + (1 | Chick), ChickWeight[1:100, ], hyper = "fixed")
  chick <- data.frame(Time = 2, Chick = "1")
  expect_equal(get_predictions.galvi(groups, chick)$predicted, unname(predict(groups, chick, re_formula = NA)))
  expect_equal(get_predictions.galvi(groups, chick, type = "random")$predicted, unname(predict(groups, chick)))
  for (family in list(cumulative(), sratio())) {
    classes <- galvi(factor(gear, ordered = TRUE) ~ wt, mtcars, family, hyper = "fixed")
    at <- get_predictions.galvi(classes, new["wt"])
    both <- predict(classes, new, type = "prob", interval = "credible")
    expect_equal(at$predicted, as.vector(both[, , "fit"]))
    expect_equal(at$conf.high, as.vector(both[, , "upr"]))
    expect_identical(at$response.level, rep(c("3", "4", "5"), each = 2L))
    expect_identical(at$wt, rep(new$wt, 3L))
  }
  zeros <- galvi(count ~ spray, InsectSprays, zero_inflated(), hyper = "fixed")
  spray <- data.frame(spray = "C")
  expect_equal(get_predictions.galvi(zeros, spray)$predicted, unname(predict(zeros, spray, dpar = "mu")))
  expect_equal(get_predictions.galvi(zeros, spray, type = "zero_inflated")$predicted, unname(predict(zeros, spray)))
  expect_equal(get_predictions.galvi(zeros, spray, type = "zi_prob")$predicted, unname(predict(zeros, spray, dpar = "zi")))
  expect_error(get_predictions.galvi(fit, new, type = "zi_prob"), "excess zeros", class = "galvi_error_argument")
  expect_error(get_predictions.galvi(fit, new, type = "simulate"), "zero_inflated", class = "galvi_error_argument")
  skip_if_not_installed("ggeffects")
  at <- suppressMessages(suppressWarnings(ggeffects::ggpredict(fit, "wt [2, 3]")))
  expect_equal(at$predicted, unname(predict(fit, new)))
  skip_if_not_installed("ggeffects", "2.0.0")
  expect_equal(at$conf.low, unname(predict(fit, new, interval = "credible")[, "lwr"]))
})

test_that("model_parameters() has the coefficients, errors and intervals of lm() and glm()", {
  skip_without_parameters()
  twin <- lm_twin(mpg ~ wt + cyl)
  ours <- as.data.frame(parameters::model_parameters(twin$ours))
  theirs <- as.data.frame(parameters::model_parameters(twin$theirs))
  expect_identical(ours$Parameter, theirs$Parameter)
  expect_equal(ours$Coefficient, theirs$Coefficient, tolerance = tol$solve)
  expect_equal(ours$SE, theirs$SE, tolerance = tol$solve)
  expect_equal(ours$z, theirs$t, tolerance = tol$solve)
  expect_equal(ours$p, 2 * pnorm(-abs(theirs$t)), tolerance = 1e-4)
  expect_equal(ours$CI_low, unname(confint(twin$ours)[, 1]))
  for (twin in glm_twins()) {
    ours <- as.data.frame(parameters::model_parameters(twin$ours))
    expect_equal(ours$Coefficient, unname(coef(twin$theirs)), tolerance = 0.05)
    expect_equal(ours$SE, unname(sqrt(diag(vcov(twin$theirs)))), tolerance = 0.05)
  }
  rates <- as.data.frame(parameters::model_parameters(glm_twins()$poisson$ours, exponentiate = TRUE))
  expect_equal(rates$Coefficient, unname(exp(coef(glm_twins()$poisson$ours))))
})

test_that("model_parameters() shows every predictor and class, and says if there is nothing", {
  skip_without_parameters()
  fits <- other_fits()
  expect_warning(two <- parameters::model_parameters(fits$two), NA)
  expect_identical(as.character(two$Parameter), names(coef(fits$two)))
  expect_warning(classes <- parameters::model_parameters(fits$classes), NA)
  expect_identical(as.character(classes$Response), rep(as.character(3:5), each = 2))
  expect_error(parameters::model_parameters(fits$process), "fit\\$hyper", class = "galvi_error_argument")
})

test_that("model_performance() has loo, R squared and RMSE", {
  skip_if_not_installed("performance")
  twin <- lm_twin(mpg ~ wt + cyl)
  found <- performance::model_performance(twin$ours)
  theirs <- performance::model_performance(twin$theirs)
  expect_equal(found$R2, theirs$R2, tolerance = tol$solve)
  expect_equal(found$RMSE, theirs$RMSE, tolerance = tol$solve)
  expect_equal(found$Sigma, theirs$Sigma, tolerance = tol$solve)
  expect_identical(found$ELPD, loo.galvi(twin$ours)$estimates["elpd_loo", "Estimate"])
  expect_named(performance::model_performance(twin$ours, metrics = "RMSE"), "RMSE")
  expect_error(performance::model_performance(twin$ours, metrics = "AIC"), "`metrics`", class = "galvi_error_argument")
  for (fit in other_fits()) expect_true(is.finite(performance::model_performance(fit)$ELPD))
  expect_null(performance::model_performance(other_fits()$classes)$RMSE)
  specific <- galvi(factor(gear, ordered = TRUE) ~ wt + cs(qsec), mtcars, sratio(), hyper = "fixed")
  expect_named(performance::model_performance(specific), c("ELPD", "ELPD_SE", "LOOIC", "LOOIC_SE", "Sigma"))
})

test_that("checks of performance that need no class of theirs run", {
  skip_if_not_installed("performance")
  twin <- lm_twin(mpg ~ wt + cyl)
  ours <- suppressMessages(performance::check_collinearity(twin$ours))
  expect_equal(ours$VIF, performance::check_collinearity(twin$theirs)$VIF, tolerance = tol$solve)
  set.seed(1)
  expect_s3_class(performance::check_predictions(twin$ours), "performance_pp_check")
  flagged <- function(fit) as.logical(performance::check_outliers(fit, method = "cook"))
  expect_identical(flagged(twin$ours), flagged(twin$theirs))
})

test_that("residuals' tests of performance have the numbers of lm()", {
  skip_if_not_installed("performance")
  skip_if_not_installed("insight", "1.0.0")
  twin <- lm_twin(mpg ~ wt + cyl)
  for (check in list(performance::check_heteroscedasticity, performance::check_normality)) {
    expect_equal(as.numeric(check(twin$ours)), as.numeric(check(twin$theirs)), tolerance = 1e-5)
  }
  counts <- galvi(count ~ spray, InsectSprays, poisson(), hyper = "fixed")
  expect_error(performance::check_heteroscedasticity(counts), "residuals", class = "galvi_error_argument")
})

test_that("model_parameters() shows groups as of lmer(), with the intervals of the hyperparameters", {
  skip_without_parameters()
  skip_if_not_installed("lme4")
  twin <- rich_twins()$mixed
  rows <- function(fit, ...) as.data.frame(suppressMessages(parameters::model_parameters(fit, ...)))
  shown <- c("Parameter", "Effects", "Group")
  for (effects in c("all", "random")) {
    ours <- rows(twin$ours, effects = effects)
    theirs <- rows(twin$theirs, effects = effects)
    expect_equal(ours[shown], theirs[shown])
    expect_equal(ours$Coefficient, theirs$Coefficient, tolerance = 1e-6)
  }
  expect_identical(rows(twin$ours, effects = "fixed")$Parameter, names(coef(twin$ours)))
  fit <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy)
  limits <- rows(fit, effects = "random", ci = 0.5)
  own <- hyper_at_level(fit, 0.5)
  expect_equal(limits$CI_low[2], own$lwr[own$name == "(Days | Subject).sd.Days"])
  expect_output(print(parameters::model_parameters(fit)), "SD \\(Days: Subject\\)")
  two <- galvi(list(Reaction ~ Days + (1 | Subject), sigma ~ 1 + (1 | Subject)), sleepstudy)
  expect_identical(rows(two, effects = "random")$Component, c("conditional", "sigma"))
  none <- other_fits()$gaussian
  expect_error(parameters::model_parameters(none, effects = "random"), "VarCorr", class = "galvi_error_argument")
})

test_that("methods of other packages' generics pass over arguments that they do not know", {
  fit <- other_fits()$mixed
  calls <- list(
    insight = function(...) insight::get_parameters(fit, ...), insight = function(...) insight::find_formula(fit, ...),
    generics = function(...) generics::tidy(fit, ...), generics = function(...) generics::glance(fit, ...),
    generics = function(...) generics::augment(fit, ...), loo = function(...) loo::loo(fit, ...)$estimates,
    loo = function(...) loo::waic(fit, ...)$estimates, posterior = function(...) dim(posterior::as_draws(fit, ...)),
    rstantools = function(...) dim(rstantools::posterior_epred(fit, ndraws = 5, ...)),
    emmeans = function(...) as.data.frame(emmeans::emmeans(fit, ~wt, ...)),
    performance = function(...) performance::model_performance(fit, ...)
  )
  if (has_version("parameters", parameters_needed)) {
    calls$parameters <- function(...) as.data.frame(parameters::model_parameters(fit, ...))
  }
  for (i in which(vapply(names(calls), requireNamespace, NA, quietly = TRUE))) {
    expect_equal(calls[[i]](argument_of_another = TRUE), calls[[i]](), label = names(calls)[i])
  }
})

test_that("zeros are predicted by the family, and errors of numbers are not for classes", {
  skip_if_not_installed("performance")
  skip_if_not_installed("insight")
  fit <- galvi(Days ~ Eth + Sex, MASS::quine, negbinomial())
  found <- check_zeroinflation.galvi(fit)
  expect_s3_class(found, "check_zi")
  theirs <- performance::check_zeroinflation(MASS::glm.nb(Days ~ Eth + Sex, MASS::quine))
  expect_identical(found$observed.zeros, theirs$observed.zeros)
  # posterior means instead of modes
  expect_lte(abs(found$predicted.zeros - theirs$predicted.zeros), 1)
  expect_equal(found$ratio, found$predicted.zeros / 9)
  expect_error(check_zeroinflation.galvi(other_fits()$gaussian), "counts", class = "galvi_error_argument")
  expect_error(performance::performance_mse(other_fits()$classes), "rmse", class = "galvi_error_argument")
  expect_error(performance::performance_mae(other_fits()$classes), "mae", class = "galvi_error_argument")
  expect_warning(insight::get_loglikelihood(fit), "loo", class = "galvi_warning_evidence")
})

test_that("model_parameters() refuses intervals and covariances of other models", {
  skip_if_not_installed("parameters")
  fit <- other_fits()$gaussian
  expect_error(parameters::model_parameters(fit, ci_method = "profile"), "ci_method", class = "galvi_error_argument")
  expect_error(parameters::model_parameters(fit, vcov = "HC3"), "vcov", class = "galvi_error_argument")
  expect_no_error(parameters::model_parameters(fit, ci_method = "wald"))
  times <- galvi(time ~ age, survival::lung, weibull(), hyper = "fixed")
  expect_identical(attr(parameters::model_parameters(times), "coefficient_name"), "Coefficient")
})
