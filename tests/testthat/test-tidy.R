test_that("tidy, glance and augment give data frames that agree with the methods", {
  fit <- small_fit("flat")
  fixed <- tidy.galvi(fit, conf.int = TRUE)
  # no random effects: the columns are broom's
  expect_identical(names(fixed), c("term", "estimate", "std.error", "conf.low", "conf.high"))
  expect_equal(setNames(fixed$estimate, fixed$term), coef(fit))
  expect_equal(fixed$std.error, sqrt(diag(vcov(fit))), ignore_attr = TRUE)
  expect_equal(fixed$conf.high, confint(fit)[, 2], ignore_attr = TRUE)
  expect_equal(tidy.galvi(fit), tidy.galvi(fit, "fixed"))

  one <- glance.galvi(fit)
  expect_identical(nrow(one), 1L)
  expect_equal(one$logLik, fit$elbo)
  expect_identical(names(one), c("nobs", "df", "logLik", "sigma", "df.residual", "converged"))
  expect_identical(one$df.residual, df.residual(lm(mpg ~ wt + hp + qsec, mtcars)))

  wide <- augment.galvi(fit)
  expect_equal(wide$.fitted, unname(fitted(fit)))
  expect_equal(wide$.resid, unname(residuals(fit)))
  expect_identical(wide$.rownames, row.names(mtcars))
  new <- augment.galvi(fit, newdata = mtcars[1:3, ], type.predict = "link")
  expect_identical(nrow(new), 3L)
  expect_equal(new$.fitted, unname(predict(fit, mtcars[1:3, ], type = "link")))
})

test_that("the methods are found through package generics", {
  skip_if_not_installed("generics")
  expect_identical(generics::glance(small_fit("flat"))$nobs, 32L)
})

test_that("tidy has broom.mixed's kinds of effects and columns", {
  d <- transform(mtcars, gear = factor(gear))
  fit <- galvi(mpg ~ wt + iid(gear, variance = fixed(2)) + gp(hp), d, prior = list(wt = normal(0, learn(3))))
  table <- tidy.galvi(fit)
  expect_identical(names(table), c("effect", "group", "term", "estimate", "std.error"))
  pars <- table[table$effect == "ran_pars", ]
  expect_identical(pars$group, c("gear", "wt", "gp(hp)", "gp(hp)", "Residual"))
  expect_identical(pars$term, c("sd__(Intercept)", "sd", "variance", "lengthscale", "sd__Observation"))
  value <- setNames(fit$hyper$estimate, fit$hyper$name)
  others <- unname(value[c("wt.sd", "gp(hp).variance", "gp(hp).lengthscale")])
  expect_equal(pars$estimate, c(sqrt(2), others, sigma(fit)))
  expect_true(all(is.na(pars$std.error)))

  limits <- tidy.galvi(fit, "ran_pars", conf.int = TRUE, conf.level = 0.8)
  own <- hyper_at_level(fit, 0.8)
  expect_equal(limits$conf.low[4], own$lwr[own$name == "gp(hp).lengthscale"])
  expect_equal(limits$conf.high[5], sqrt(own$upr[own$name == "gaussian.variance"]))

  vals <- tidy.galvi(fit, effects = "ran_vals", conf.int = TRUE)
  expect_identical(names(vals),
    c("effect", "group", "level", "term", "estimate", "std.error", "conf.low", "conf.high"))
  effects <- ranef(fit)$gear
  expect_identical(vals$level, rownames(effects))
  expect_identical(unique(vals$group), "gear")
  expect_identical(unique(vals$term), "(Intercept)")
  expect_equal(vals$estimate, effects$mean)
  expect_equal(vals$std.error, effects$sd)
  expect_equal(vals$conf.high - vals$estimate, qnorm(0.975) * effects$sd)
})

test_that("parameters of each level of `by` are told apart", {
  fit <- galvi(mpg ~ gp(wt, by = f), transform(mtcars, f = factor(am)), hyper = "fixed")
  table <- tidy.galvi(fit, "ran_pars")
  expect_identical(table$group, c(rep(sprintf("gp(wt, by = f)[%d]", 0:1), each = 2), "Residual"))
  expect_false(anyDuplicated(table[c("group", "term")]) > 0)
})

test_that("groups and terms are named as broom.mixed names them for lmer()", {
  skip_if_not_installed("broom.mixed")
  skip_if_not_installed("lme4")
  all <- c("fixed", "ran_pars", "ran_vals")
  ours <- broom.mixed::tidy(galvi(Reaction ~ Days + (Days | Subject), lme4::sleepstudy), effects = all)
  theirs <- broom.mixed::tidy(lme4::lmer(Reaction ~ Days + (Days | Subject), lme4::sleepstudy), effects = all)
  shown <- c("effect", "group", "level", "term")
  sorted <- function(table) as.data.frame(table[do.call(order, unname(as.list(table[shown]))), shown])
  expect_equal(sorted(ours), sorted(theirs))
})

test_that("terms of a second predictor have a component, classes a level of y, columns a response", {
  two <- tidy.galvi(galvi(list(mpg ~ wt + (1 | cyl), sigma ~ wt), mtcars, hyper = "fixed"))
  expect_identical(two$component, c("cond", "cond", "sigma", "sigma", "cond"))
  expect_identical(two$term[4:5], c("sigma_wt", "sd__(Intercept)"))
  classes <- tidy.galvi(family_fit("categorical"))
  expect_identical(names(classes), c("y.level", "term", "estimate", "std.error"))
  Y <- cbind(a = rpois(30, 3), b = rpois(30, 2))
  x <- seq(-1, 1, length.out = 30)
  for (columns in c("points", "random")) {
    fit <- galvi(responses(Y) ~ x + factors(1, columns = columns), family = poisson())
    table <- tidy.galvi(fit, "fixed")
    expect_equal(matrix(table$estimate, 2), unname(coef(fit)))
    expect_identical(table$response, rep(c("a", "b"), 2))
    expect_identical(table$term, rep(c("(Intercept)", "x"), each = 2))
    expect_identical(anyNA(table$std.error), columns == "points")
  }
})

test_that("random slopes, columns and classes have terms of their own", {
  slopes <- galvi(weight ~ iid(Chick, by = Time), ChickWeight[1:60, ], hyper = "fixed")
  expect_identical(unique(tidy.galvi(slopes, "ran_vals")$term), "Time")
  copies <- galvi(weight ~ iid(Chick, by = Diet), ChickWeight[1:60, ], hyper = "fixed")
  table <- tidy.galvi(copies, "ran_vals")
  expect_identical(unique(table$term), "(Intercept)")
  expect_identical(table$level, rownames(ranef(copies)[[1L]]))
  columns <- tidy.galvi(galvi(mpg ~ gp(wt, hp, kernel = linear()), mtcars, hyper = "fixed"), "ran_vals")
  expect_identical(columns$term, c("wt", "hp"))
  expect_identical(columns$level, c(NA_character_, NA_character_))
  classes <- galvi(Species ~ iid(k), transform(iris, k = rep(1:3, 50)), categorical(), hyper = "fixed")
  table <- tidy.galvi(classes, c("fixed", "ran_vals"))
  expect_identical(table$term, rep("(Intercept)", 12))
  expect_identical(table$y.level, c(levels(iris$Species), rep(levels(iris$Species), each = 3)))
  expect_identical(table$level[-(1:3)], rep(c("1", "2", "3"), 3))
  expect_equal(table$estimate[8], ranef(classes)[[1L]][2, "mean.versicolor"])
  # no such effects
  expect_identical(nrow(tidy.galvi(small_fit("flat"), "ran_vals")), 0L)
})

test_that("tidy exponentiates fixed effects: median and interval, sd by the delta method", {
  fit <- small_fit("flat")
  table <- tidy.galvi(fit, "fixed", conf.int = TRUE, conf.level = 0.8, exponentiate = TRUE)
  expect_equal(table$estimate, unname(exp(coef(fit))))
  expect_equal(table$conf.low, unname(exp(confint(fit, level = 0.8)[, 1])))
  expect_equal(table$conf.high, unname(exp(confint(fit, level = 0.8)[, 2])))
  expect_equal(table$std.error, unname(exp(coef(fit)) * sqrt(diag(vcov(fit)))))
  # hyperparameters stay
  both <- tidy.galvi(small_fit("binary"), c("fixed", "ran_pars"), exponentiate = TRUE)
  expect_identical(both$estimate[!is.na(both$group)], c(1, 40))
  expect_error(tidy.galvi(fit, "ran_pars", exponentiate = TRUE), "fixed", class = "galvi_error_argument")
})

test_that("tidy names what it does not know", {
  fit <- small_fit("flat")
  expect_error(tidy.galvi(fit, "ran_val"), "Did you mean \"ran_vals\"", class = "galvi_error_argument")
  expect_error(tidy.galvi(fit, c("fixed", "hyper")), "`effects`", class = "galvi_error_argument")
  expect_error(tidy.galvi(fit, character()), "`effects`", class = "galvi_error_argument")
  expect_error(tidy.galvi(fit, conf.level = 2), "`conf.level`", class = "galvi_error_argument")
  expect_error(augment.galvi(fit, interval = "credable"), "\"credible\"", class = "galvi_error_argument")
  expect_equal(augment.galvi(fit, interval = "confidence"), augment.galvi(fit, interval = "credible"))
  expect_error(augment.galvi(fit, type.predict = "prob"), "classes", class = "galvi_error_argument")
})

test_that("augment has intervals, and residuals of new data that have the response", {
  fit <- small_fit("gaussian")
  for (interval in c("credible", "prediction")) {
    wide <- augment.galvi(fit, interval = interval, conf.level = 0.8)
    limits <- predict(fit, interval = interval, level = 0.8)
    expect_equal(wide$.lower, unname(limits[, "lwr"]))
    expect_equal(wide$.upper, unname(limits[, "upr"]))
  }
  new <- augment.galvi(fit, newdata = cars[c(3, 9), ])
  expect_equal(new$.resid, cars$dist[c(3, 9)] - new$.fitted)
  expect_false(".resid" %in% names(augment.galvi(fit, newdata = cars["speed"])))
  flat <- small_fit("flat")
  link <- augment.galvi(flat, newdata = mtcars[1:3, ], type.predict = "link", interval = "credible")
  limits <- predict(flat, mtcars[1:3, ], type = "link", interval = "credible")
  expect_equal(link$.upper, unname(limits[, "upr"]))
  classes <- family_fit("categorical")
  expect_error(augment.galvi(classes, interval = "credible"), "classes", class = "galvi_error_argument")
  expect_equal(augment.galvi(classes, newdata = classes$data)$.resid, unname(residuals(classes, "deviance")))
})

test_that("augment keeps rows in their places where some were left out", {
  d <- transform(cars, speed = replace(speed, 4, NA))
  excluded <- galvi(dist ~ speed, d, hyper = "fixed", na.action = na.exclude)
  expect_identical(nrow(augment.galvi(excluded)), 49L)
  whole <- augment.galvi(excluded, data = d)
  expect_identical(which(is.na(whole$.fitted)), 4L)
  expect_identical(which(is.na(whole$.resid)), 4L)
  expect_equal(whole$.fitted[-4], augment.galvi(excluded)$.fitted)
  expect_error(augment.galvi(update(excluded, na.action = na.omit), data = d), "49, not 50",
    class = "galvi_error_argument")
})

# What the suite's glossary lacks and broom.mixed has.
of_broom_mixed <- "effect"

test_that("tables conform to broom: its own suite passes on all kinds of fits", {
  skip_if_not_installed("modeltests")
  skip_if_not_installed("generics")
  # it reads its glossary where packages are attached
  attached <- !"package:modeltests" %in% search()
  if (attached) {
    attachNamespace("modeltests")
    on.exit(detach("package:modeltests"))
  }
  d <- transform(mtcars, cyl = factor(cyl))
  Y <- data.frame(x = seq(-1, 1, length.out = 20))
  Y$Y <- cbind(a = rpois(20, 3), b = rpois(20, 2))
  time <- data.frame(time = mtcars$qsec, died = rep(c(1, 0, 1, 1), 8), wt = mtcars$wt)
  models <- list(
    lm = list(mpg ~ wt * cyl, d), glm = list(am ~ wt, d, binomial()), mixed = list(mpg ~ wt + (wt | cyl), d),
    trials = list(cbind(gear, carb) ~ wt, d, binomial()), gp = list(mpg ~ gp(wt), d),
    process = list(mpg ~ 0 + gp(wt), d),
    two = list(list(mpg ~ wt, sigma ~ wt), d), classes = list(factor(gear) ~ wt, d, categorical()),
    ordered = list(factor(gear, ordered = TRUE) ~ wt, d, cumulative()), zeros = list(carb ~ wt, d, hurdle(poisson())),
    survival = list(survival::Surv(time, died) ~ wt, time, weibull()), wide = list(responses(Y) ~ x + factors(1), Y)
  )
  glances <- list()
  for (name in names(models)) {
    fit <- do.call(galvi, c(models[[name]], hyper = if (name != "mixed") "fixed"))
    table <- generics::tidy(fit, conf.int = TRUE)
    expect_true(nrow(table) > 0, label = name)
    modeltests::check_tidy_output(table[setdiff(names(table), of_broom_mixed)])
    modeltests::check_tidy_output(generics::tidy(fit, "ran_pars"), strict = !"effect" %in% names(table))
    set.seed(1)
    before <- .Random.seed
    data <- models[[name]][[2]]
    modeltests::check_augment_function(generics::augment, fit, data = data, newdata = data)
    expect_identical(.Random.seed, before, label = name)
    glances[[name]] <- generics::glance(fit)
  }
  do.call(modeltests::check_glance_outputs, unname(glances))
  for (method in c("tidy", "glance", "augment")) {
    arguments <- names(formals(list(tidy = tidy.galvi, glance = glance.galvi, augment = augment.galvi)[[method]]))
    glossary <- as.data.frame(modeltests::argument_glossary)
    expect_true(all(arguments %in% c("x", "...", glossary$argument[glossary$method == method])), label = method)
  }
})
