test_that("tidy, glance and augment give data frames that agree with the methods", {
  fit <- small_fit("flat")
  table <- tidy.galvi(fit, conf.int = TRUE)
  fixed <- table[table$effect == "fixed", ]
  expect_equal(setNames(fixed$estimate, fixed$term), coef(fit))
  expect_equal(fixed$std.error, sqrt(diag(vcov(fit))), ignore_attr = TRUE)
  expect_equal(fixed$conf.high, confint(fit)[, 2], ignore_attr = TRUE)
  expect_identical(table$effect, rep("fixed", 4))
  expect_identical(names(tidy.galvi(fit, "fixed")), c("effect", "term", "estimate", "std.error"))

  one <- glance.galvi(fit)
  expect_identical(nrow(one), 1L)
  expect_equal(one$logLik, fit$elbo)
  expect_identical(names(one), c("nobs", "df", "logLik", "gap", "converged"))

  wide <- augment.galvi(fit)
  expect_equal(wide$.fitted, unname(fitted(fit)))
  expect_equal(wide$.resid, unname(residuals(fit)))
  new <- augment.galvi(fit, newdata = mtcars[1:3, ], type.predict = "link")
  expect_identical(nrow(new), 3L)
  expect_equal(new$.fitted, unname(predict(fit, mtcars[1:3, ], type = "link")))
})

test_that("the methods are found through package generics", {
  skip_if_not_installed("generics")
  expect_identical(generics::glance(small_fit("flat"))$nobs, 32L)
})

test_that("tidy has broom.mixed's kinds of effects, with a status for what was learned or held", {
  d <- transform(mtcars, gear = factor(gear))
  fit <- galvi(mpg ~ wt + iid(gear, variance = fixed(2)) + gp(hp), d, prior = list(wt = normal(0, learn(3))))
  table <- tidy.galvi(fit)
  expect_identical(names(table), c("effect", "group", "term", "estimate", "std.error", "status"))
  pars <- table[table$effect == "ran_pars", ]
  # the intercept's prior sd is held: no estimate
  shown <- fit$hyper[fit$hyper$name != "intercept.sd", ]
  expect_true("intercept.sd" %in% fit$hyper$name)
  expect_identical(pars$term, shown$name)
  expect_identical(pars$group, shown$term)
  expect_identical(pars$status, shown$status)
  expect_setequal(pars$status, c("fixed", "learned"))
  expect_true(all(is.na(pars$std.error)))
  expect_true(all(is.na(table$status[table$effect == "fixed"])))

  vals <- tidy.galvi(fit, effects = "ran_vals", conf.int = TRUE)
  expect_identical(names(vals),
    c("effect", "group", "level", "term", "estimate", "std.error", "conf.low", "conf.high"))
  effects <- ranef(fit)$gear
  expect_identical(vals$level, rownames(effects))
  expect_identical(unique(vals$group), "iid(gear)")
  expect_identical(unique(vals$term), "(Intercept)")
  expect_equal(vals$estimate, effects$mean)
  expect_equal(vals$std.error, effects$sd)
  expect_equal(vals$conf.high - vals$estimate, qnorm(0.975) * effects$sd)
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
  expect_identical(table$term[1:3], paste0(levels(iris$Species), ":(Intercept)"))
  expect_identical(table$term[-(1:3)], rep(paste0(levels(iris$Species), ":(Intercept)"), each = 3))
  expect_identical(table$level[-(1:3)], rep(c("1", "2", "3"), 3))
  expect_equal(table$estimate[8], ranef(classes)[[1L]][2, "mean.versicolor"])
  # no such effects
  expect_identical(nrow(tidy.galvi(small_fit("flat"), "ran_vals")), 0L)
})

test_that("tidy exponentiates fixed effects: median, interval and sd of exp(coefficient)", {
  fit <- small_fit("flat")
  table <- tidy.galvi(fit, "fixed", conf.int = TRUE, conf.level = 0.8, exponentiate = TRUE)
  expect_equal(table$estimate, unname(exp(coef(fit))))
  expect_equal(table$conf.low, unname(exp(confint(fit, level = 0.8)[, 1])))
  expect_equal(table$conf.high, unname(exp(confint(fit, level = 0.8)[, 2])))
  s <- unname(sqrt(diag(vcov(fit))))
  expect_equal(table$std.error, sqrt(exp(s^2) - 1) * exp(unname(coef(fit)) + s^2 / 2))
  # hyperparameters stay
  both <- tidy.galvi(small_fit("binary"), exponentiate = TRUE)
  expect_identical(both$estimate[both$effect == "ran_pars"], c(1, 40))
  expect_error(tidy.galvi(fit, "ran_pars", exponentiate = TRUE), "fixed", class = "galvi_error_argument")
})

test_that("tidy names what it does not know", {
  fit <- small_fit("flat")
  expect_error(tidy.galvi(fit, "ran_val"), "Did you mean \"ran_vals\"", class = "galvi_error_argument")
  expect_error(tidy.galvi(fit, c("fixed", "hyper")), "`effects`", class = "galvi_error_argument")
  expect_error(tidy.galvi(fit, character()), "`effects`", class = "galvi_error_argument")
  expect_error(tidy.galvi(fit, conf.level = 2), "`conf.level`", class = "galvi_error_argument")
  expect_error(augment.galvi(fit, interval = "confidence"), "\"credible\"", class = "galvi_error_argument")
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
  expect_null(augment.galvi(fit, newdata = cars["speed"])$.resid)
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
