# What a fit was made from.

# A fit and the lm() of its fixed part.
lm_pairs <- function() {
  d <- transform(mtcars, cyl = factor(cyl), gear = ordered(gear), text = ifelse(am == 1, "m", "a"))
  pair <- function(ours, theirs) list(fit = galvi(ours, d, hyper = "fixed"), lm = lm(theirs, d), data = d)
  list(
    plain = pair(mpg ~ wt + hp, mpg ~ wt + hp),
    factors = pair(mpg ~ wt * cyl + gear + text + (1 | carb), mpg ~ wt * cyl + gear + text),
    functions = pair(log(mpg) ~ poly(wt, 2) + scale(hp) + gp(qsec), log(mpg) ~ poly(wt, 2) + scale(hp)),
    no_intercept = pair(mpg ~ 0 + cyl + wt, mpg ~ 0 + cyl + wt),
    offset = pair(mpg ~ wt + offset(qsec) + gp(hp), mpg ~ wt + offset(qsec)),
    flag = pair(mpg ~ (am == 1) + wt, mpg ~ (am == 1) + wt),
    constant = pair(mpg ~ gp(wt), mpg ~ 1)
  )
}

test_that("terms, model.matrix and the response are those of lm() of the fixed part", {
  pairs <- lm_pairs()
  for (name in names(pairs)) {
    pair <- pairs[[name]]
    expect_equal(model.matrix(pair$fit), model.matrix(pair$lm), info = name)
    expect_equal(terms(pair$fit), terms(pair$lm), ignore_formula_env = TRUE, info = name)
    expect_identical(names(coef(pair$fit)), colnames(model.matrix(pair$fit)), info = name)
    frame <- model.frame(pair$fit)
    expect_equal(model.response(frame), model.response(model.frame(pair$lm)), info = name)
    expect_equal(model.matrix(terms(pair$fit), frame), model.matrix(pair$lm), info = name)
    of_new <- function(x) model.frame(terms(x), pair$data[4:6, ])
    expect_equal(of_new(pair$fit), of_new(pair$lm), ignore_formula_env = TRUE, info = name)
  }
})

test_that("terms of a dot are those that it stands for", {
  d <- mtcars[c("mpg", "wt", "hp", "qsec")]
  fit <- galvi(mpg ~ . + gp(hp), d, hyper = "fixed")
  expect_equal(terms(fit), terms(lm(mpg ~ wt + qsec, d)), ignore_formula_env = TRUE)
  matrix <- galvi(as.matrix(d[-1]), d$mpg, hyper = "fixed")
  expect_identical(colnames(model.matrix(matrix)), "(Intercept)")
})

test_that("a model matrix has the columns of the coefficients, also of classes and where there are none", {
  d <- family_data("cumulative", 60)
  ordinal <- galvi(y ~ x, d, cumulative(), hyper = "fixed")
  expect_identical(colnames(model.matrix(ordinal)), "x")
  expect_identical(attr(model.matrix(ordinal), "assign"), 1L)
  expect_identical(colnames(model.matrix(family_fit("categorical"))), c("(Intercept)", "x"))
  none <- galvi(y ~ 0 + gp(x), d, cumulative(), hyper = "fixed")
  expect_identical(dim(model.matrix(none)), c(60L, 0L))
})

test_that("the response is not on the right side too", {
  twice <- list(dist ~ speed + dist, dist ~ gp(dist), dist ~ gp(speed, dist), dist ~ gp(speed, by = dist))
  for (formula in twice) {
    expect_error(galvi(formula, cars), "`dist` is also on the right", class = "galvi_error_formula")
  }
  expect_s3_class(galvi(log(dist) ~ dist, cars, hyper = "fixed"), "galvi")
})

test_that("update() takes changes to one formula", {
  fit <- galvi(dist ~ speed, cars)
  expect_identical(formula(update(fit, "~ . + I(speed^2)")), dist ~ speed + I(speed^2), ignore_formula_env = TRUE)
  several <- structure(list(formula = dist ~ speed, pforms = list(sigma = sigma ~ speed)), class = "brmsformula")
  for (wrong in list(several, list(dist ~ speed, sigma ~ speed), 3)) {
    expect_error(update(fit, wrong), "`formula.` must be a formula", class = "galvi_error_argument")
  }
})

test_that("update() takes another family with the same formulas, whatever has brought the old one", {
  bf <- function(formula, ..., family = NULL) {
    structure(list(formula = formula, pforms = list(...), family = family), class = "brmsformula")
  }
  same <- function(a, b) expect_identical(coef(a), coef(b))
  wanted <- galvi(list(mpg ~ wt, sigma ~ cyl), mtcars, student())
  with <- galvi(bf(mpg ~ wt, sigma = sigma ~ cyl, family = gaussian()), mtcars)
  same(update(with, family = student()), wanted)
  same(update(with, family = "student"), wanted)
  for (formulas in list(bf(mpg ~ wt, sigma = sigma ~ cyl), list(mpg ~ wt, sigma ~ cyl))) {
    same(update(galvi(formulas, mtcars), family = student()), wanted)
  }
  same(update(with, . ~ . + hp, family = student()), galvi(list(mpg ~ wt + hp, sigma ~ cyl), mtcars, student()))
  expect_error(update(with, family = Gamma("log")), "the Gamma family has no linear predictor of `sigma`",
    class = "galvi_error_formula")
  # an intercept that nobody wrote is not kept for a family without that parameter
  zeros <- galvi(count ~ spray, InsectSprays, zero_inflated(poisson()))
  expect_named(coef(update(zeros, . ~ 1)), c("(Intercept)", "zi_(Intercept)"))
  same(update(zeros, . ~ 1, family = poisson()), galvi(count ~ 1, InsectSprays, poisson()))
  same(update(zeros, family = poisson()), galvi(count ~ spray, InsectSprays, poisson()))
})

test_that("sigma() is 0 where there is no noise", {
  d <- data.frame(x = c(0.1, 0.5, 0.9, 1.3), y = c(1, 2, 0.5, 1.7))
  exact <- galvi(y ~ 0 + gp(x), d, galvi_family("gaussian", variance = fixed(0)), hyper = "fixed")
  expect_identical(sigma(exact), 0)
})

test_that("update() needs the fit's formula only, not where it was written", {
  fit <- lapply(list(dist ~ speed), galvi, data = cars)[[1L]]
  expect_identical(formula(update(fit, . ~ . + I(speed^2))), dist ~ speed + I(speed^2), ignore_formula_env = TRUE)
  both <- lapply(list(list(dist ~ speed, sigma ~ speed)), galvi, data = cars)[[1L]]
  expect_identical(logLik(update(both, . ~ .)), logLik(both))
})

test_that("update() finds what was local where the fit was made", {
  make <- function() {
    # also the name of a function
    df <- cars
    galvi(dist ~ speed, data = df)
  }
  fit <- make()
  again <- update(fit, . ~ . + I(speed^2))
  expect_identical(coef(again), coef(galvi(dist ~ speed + I(speed^2), cars)))
  expect_identical(again$call$data, quote(df))
  expect_identical(coef(update(again, . ~ speed)), coef(fit))
  of_variables <- (function() {
    y <- cars$dist
    x <- cars$speed
    form <- y ~ x
    galvi(form)
  })()
  expect_identical(unname(coef(update(of_variables, hyper = "fixed"))),
    unname(coef(galvi(dist ~ speed, cars, hyper = "fixed"))))
  # what is found where update() is called comes first
  df <- cars[1:30, ]
  expect_identical(nobs(update(fit)), 30L)
  rm(df)
  expect_error(update(fit, data = elsewhere), "`elsewhere` is not found", class = "galvi_error_data")
})

test_that("names of terms, coefficients and rows are those of lm()", {
  ours <- galvi(mpg ~ wt + factor(cyl) + (1 | gear), mtcars, subset = wt > 2)
  theirs <- stats::lm(mpg ~ wt + factor(cyl), mtcars, subset = wt > 2)
  for (view in list(labels, stats::variable.names, stats::case.names)) expect_identical(view(ours), view(theirs))
  expect_identical(stats::case.names(galvi(survival::Surv(wt, am) ~ hp, mtcars, cox(2))), row.names(mtcars))
})

test_that("update() keeps the prior of a fit, without what the new formula has no parameter for", {
  brms_row <- function(prior, class, coef = "") {
    data.frame(prior = prior, class = class, coef = coef, group = "", resp = "", dpar = "", nlpar = "", lb = "", ub = "")
  }
  d <- transform(mtcars, gear = factor(gear))
  rows <- rbind(brms_row("lkj(2)", "cor"), brms_row("normal(0, 1)", "b"), brms_row("normal(0, 2)", "b", "wt"),
    brms_row("exponential(1)", "sd"))
  fit <- galvi(mpg ~ wt + hp + (1 + wt | gear), d, prior = rows, hyper = "fixed")
  same <- function(new, wanted) {
    expect_identical(coef(new), coef(wanted))
    # the call is that of the new fit
    expect_no_message(again <- eval(new$call), class = "galvi_message_absent")
    expect_identical(coef(again), coef(new))
  }
  expect_message(new <- update(fit, ~ . - (1 + wt | gear) + (1 | gear)), 'except for `set_prior("lkj(2)", class = "cor")`:',
    fixed = TRUE)
  same(new, galvi(mpg ~ wt + hp + (1 | gear), d, prior = rows[-1, ], hyper = "fixed"))
  expect_message(new <- update(fit, ~ . - (1 + wt | gear) - wt), 'coef = "wt".*"cor".*class = "sd"')
  same(new, galvi(mpg ~ hp, d, prior = rows[2, ], hyper = "fixed"))
  expect_message(new <- update(fit, ~ 1), 'class = "b"[)]`: this model has no such parameters')
  same(new, galvi(mpg ~ 1, d, hyper = "fixed"))
  expect_no_message(same(update(fit, . ~ . - hp), galvi(mpg ~ wt + (1 + wt | gear), d, prior = rows, hyper = "fixed")))
  # one that is given anew must apply
  expect_error(update(fit, ~ . - wt, prior = rows), "`wt`, which is not a coefficient", class = "galvi_error_prior")
})

test_that("update() leaves entries out of lists of priors as they were typed", {
  kept <- function(fit, formula) suppressMessages(update(fit, formula))$call$prior
  fit <- galvi(dist ~ speed + gp(speed), cars, hyper = "fixed",
    prior = list(speed = normal(0, 2), "gp(speed)" = list(lengthscale = log_normal(0, 1)), default = normal(0, 3)))
  expect_identical(kept(fit, . ~ . - gp(speed)), quote(list(speed = normal(0, 2), default = normal(0, 3))))
  expect_identical(kept(fit, . ~ . - speed),
    quote(list("gp(speed)" = list(lengthscale = log_normal(0, 1)), default = normal(0, 3))))
  d <- transform(mtcars, gear = factor(gear))
  slopes <- galvi(mpg ~ wt + (hp + am | gear), d, hyper = "fixed",
    prior = list("| gear" = list(sd = list(hp = half_normal(1), am = half_normal(2)), cor = lkj(2))))
  expect_identical(kept(slopes, . ~ wt + (am | gear)), quote(list("| gear" = list(sd = list(am = half_normal(2)), cor = lkj(2)))))
  expect_null(kept(slopes, . ~ wt))
  both <- galvi(list(mpg ~ wt, sigma ~ hp), d, prior = list(sigma = list(hp = normal(0, 1)), wt = normal(0, 2)),
    hyper = "fixed")
  expect_identical(kept(both, . ~ . - wt), quote(list(sigma = list(hp = normal(0, 1)))))
})

test_that("update(newdata = ) is sent to `data`", {
  expect_error(update(galvi(dist ~ speed, cars), newdata = cars[1:9, ]), "write update(fit, data = cars[1:9, ])",
    fixed = TRUE, class = "galvi_error_argument")
})

test_that("fixed standard deviations and correlations of another number of effects are left out of a kept prior", {
  set.seed(1)
  d <- data.frame(x = rnorm(60), z = rnorm(60), g = gl(6, 10))
  d$y <- d$x + rnorm(6)[d$g] + rnorm(60)
  fit <- function(prior) {
    suppressMessages(eval(bquote(galvi(y ~ x + (1 + x | g), d, prior = .(prior), verbose = FALSE))))
  }
  fits <- list(
    "prior$| g$sd" = fit(quote(list("| g" = list(sd = fixed(c(1, 2)))))), "prior$sd" = fit(quote(list(sd = c(1, 2)))),
    "prior$| g$cor" = fit(quote(list("| g" = list(cor = fixed(0.3)))))
  )
  for (name in names(fits)) {
    for (formula in list(. ~ . - (1 + x | g) + (1 | g), . ~ . - (1 + x | g) + (1 + x + z | g))) {
      expect_message(new <- update(fits[[name]], formula), name, fixed = TRUE, class = "galvi_message_absent")
      # as without it
      plain <- suppressMessages(galvi(stats::formula(new), d, verbose = FALSE))
      # two searches from different starts end where their tolerance says
      expect_equal(logLik(new), logLik(plain), tolerance = 1e-4)
    }
  }
  # where it is typed it is an error
  expect_error(update(fits[[1L]], . ~ . - (1 + x | g) + (1 | g), prior = list(sd = fixed(1:2))), "must be one number")
})

test_that("a prior that is NULL in the caller is none", {
  wrapped <- function(prior = NULL) update(galvi(dist ~ speed, cars, prior = prior), . ~ .)
  expect_identical(coef(wrapped()), coef(galvi(dist ~ speed, cars)))
  expect_identical(coef(wrapped(normal(0, 1))), coef(galvi(dist ~ speed, cars, prior = normal(0, 1))))
})

test_that("an argument without a name is refused, not lost", {
  fit <- galvi(dist ~ speed, cars, hyper = "fixed")
  expect_error(update(fit, . ~ 1, cars[1:10, ]), "write `data = cars\\[1:10, \\]`", class = "galvi_error_argument")
  expect_error(update(fit, . ~ 1, cars, hyper = "fixed"), "cars has none", class = "galvi_error_argument")
})
