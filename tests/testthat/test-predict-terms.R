# terms and exclude, as in mgcv; re.form and allow.new.levels, as in lme4.

several_terms <- function() {
  set.seed(1)
  n <- 120
  d <- data.frame(
    x = runif(n), z = runif(n), v = rnorm(n, 50), f = factor(sample(letters[1:3], n, TRUE)),
    g = factor(sample(8, n, TRUE)), t = rep(1:10, 12)
  )
  d$y <- sin(6 * d$x) + 0.3 * d$v + as.integer(d$f) + rnorm(8)[d$g] + rnorm(n, 0, 0.3)
  d
}

test_that("excluded terms of every type contribute nothing, and their variables may be missing", {
  d <- several_terms()
  models <- list(
    y ~ v * f + gp(x) + (1 | g), y ~ v * f + gp(x, inducing = 8) + gp(z, inducing = 6) + (v | g),
    y ~ v + gp(x, by = f, inducing = 8) + iid(g, by = z), y ~ v + gp(f, z, kernel = linear()) + rw1(t) + ar1(g),
    y ~ 0 + f + v + rw2(t) + gp(x, by = z), y ~ poly(v, 2) + log(x) + spde(x, z)
  )
  for (formula in models) {
    fit <- galvi(formula, d, hyper = "fixed")
    parts <- predict(fit, type = "terms")
    sds <- predict(fit, type = "terms", se.fit = TRUE)$se.fit
    whole <- predict(fit, type = "link")
    labels <- attr(terms(fit), "term.labels")
    for (name in colnames(parts)) {
      label <- paste(deparse1(formula), name)
      used <- all.vars(str2lang(name))
      kept <- setdiff(colnames(parts), name)
      still <- all.vars(as.formula(paste("~", paste(c("1", labels, kept), collapse = "+"))))
      if (!name %in% labels) {
        # columns of fixed effects are centred in the table: others are compared with it
        without <- whole - parts[, name]
        expect_equal(predict(fit, type = "link", exclude = name), without, tolerance = tol$solve, label = label)
        new <- d[setdiff(names(d), setdiff(used, still))]
        expect_equal(predict(fit, new, type = "link", exclude = name), without, tolerance = tol$solve, label = label)
        alone <- predict(fit, d[used], type = "link", terms = name, se.fit = TRUE)
        expect_equal(alone$fit, parts[, name], tolerance = tol$solve, label = label)
        expect_equal(alone$se.fit, sds[, name], tolerance = tol$solve, label = label)
      }
      expect_identical(colnames(predict(fit, type = "terms", terms = name)), name)
      expect_identical(colnames(predict(fit, type = "terms", exclude = name)), kept)
    }
    nothing <- predict(fit, d[0L], type = "link", terms = character(), se.fit = TRUE)
    expect_equal(unname(nothing$fit), numeric(nrow(d)), tolerance = tol$solve)
    expect_equal(unname(nothing$se.fit), numeric(nrow(d)), tolerance = tol$solve)
  }
})

test_that("fixed effects are left out as gam() leaves them out, with its standard errors", {
  d <- several_terms()
  reference <- mgcv::gam(y ~ v + f + s(g, bs = "re"), data = d, method = "REML")
  start <- c("iid(g).variance" = unname(reference$sig2 / reference$sp),
    "gaussian.variance" = reference$sig2)
  fit <- galvi(y ~ v + f + (1 | g), d, prior = flat_prior, start = start, hyper = "fixed")
  choices <- list(
    list(exclude = "v"), list(exclude = c("f", "s(g)")), list(terms = "v"), list(terms = c("(Intercept)", "f")),
    list(terms = c("v", "f"), exclude = "f"), list(exclude = "(Intercept)")
  )
  # the reference's own tolerance
  for (choice in choices) {
    ours <- lapply(choice, function(x) sub("s(g)", "(1|g)", x, fixed = TRUE))
    for (new in list(NULL, d[1:7, ])) {
      at <- if (!is.null(new)) list(newdata = new)
      found <- do.call(predict, c(list(fit, type = "link", se.fit = TRUE), at, ours))
      wanted <- do.call(predict, c(list(reference, se.fit = TRUE), at, choice))
      expect_lt(max(abs(found$fit - wanted$fit)) / max(wanted$se.fit, 1e-3), 1e-3)
      expect_equal(unname(found$se.fit), as.vector(wanted$se.fit), tolerance = 1e-4)
    }
  }
})

test_that("thresholds, classes and second predictors leave out terms too", {
  d <- transform(mtcars, gear = factor(gear, ordered = TRUE))
  zero <- transform(d, hp = 0)
  for (family in list(categorical(), cumulative())) {
    fit <- galvi(gear ~ wt + hp, d, family, hyper = "fixed")
    for (type in c("link", "prob")) {
      expect_equal(predict(fit, d["wt"], type = type, exclude = "hp"), predict(fit, zero, type = type),
        tolerance = tol$solve)
    }
  }
  two <- galvi(list(mpg ~ wt + hp, sigma ~ hp), d)
  expect_equal(predict(two, type = "link", exclude = "hp"), predict(two, zero, type = "link"), tolerance = tol$solve)
  sigma <- exp(coef(two)[["sigma_(Intercept)"]])
  narrow <- predict(two, d[c("wt", "hp")], dpar = "sigma", type = "link", exclude = "hp")
  expect_equal(unname(narrow), rep(log(sigma), 32), tolerance = tol$solve)
  expect_equal(predict(two, exclude = "sigma_hp", interval = "prediction")[, "fit"], predict(two))
})

test_that("names of terms that are none are refused with those that are", {
  fit <- galvi(mpg ~ wt + (1 | cyl), mtcars, hyper = "fixed")
  for (argument in c("terms", "exclude")) {
    expect_error(do.call(predict, c(list(fit), stats::setNames(list("s(wt)"), argument))),
      sprintf("`%s` names \"s\\(wt\\)\".*\"wt\"", argument), class = "galvi_error_argument")
    expect_error(do.call(predict, c(list(fit), stats::setNames(list(1), argument))), "names of terms",
      class = "galvi_error_argument")
  }
  long <- galvi(y ~ rr(item | unit), data.frame(y = rnorm(12), item = rep(1:3, 4), unit = rep(1:4, each = 3)),
    hyper = "fixed")
  expect_error(predict(long, exclude = colnames(predict(long, type = "terms"))), "cannot be excluded",
    class = "galvi_error_argument")
})

test_that("predictions for the population leave out every term of groups, whose columns newdata need not have", {
  d <- subset(sleepstudy, as.integer(Subject) <= 6)
  d <- transform(droplevels(d), h = factor(as.integer(Subject) %% 2), f = factor(Days), t = Days)
  terms <- list(
    "ou(t | Subject)" = c("t", "Subject"), "ar1(t, by = Subject)" = c("t", "Subject"),
    "rr(f | Subject, d = 1)" = c("f", "Subject"), "ar1(t, by = iid(Subject))" = c("t", "Subject")
  )
  for (term in names(terms)) {
    fit <- suppressMessages(galvi(stats::reformulate(c("h", term), "Reaction"), d, hyper = "fixed"))
    new <- d[c(3, 14), ]
    population <- predict(fit, new, re_formula = NA, se.fit = TRUE)
    X <- model.matrix(~h, new)
    expect_close(population$fit, drop(X %*% coef(fit)), 1e-8)
    expect_close(population$se.fit, sqrt(diag(X %*% vcov(fit) %*% t(X))), 1e-8)
    expect_equal(predict(fit, new["h"], re_formula = NA, se.fit = TRUE), population)
    expect_equal(predict(fit, transform(new, Subject = "new"), re_formula = NA), population$fit)
    expect_equal(predict(fit, re_formula = NA)[c(3, 14)], population$fit, ignore_attr = TRUE)
    expect_equal(predict(fit, new, re_formula = stats::reformulate(term)), predict(fit, new))
    expect_error(predict(fit, new["h"]), "re_formula = NA", class = "galvi_error_newdata")
    curve <- conditional_effects(fit, "h", robust = FALSE)$h
    # h is 1, then 0
    expect_close(curve$estimate__[2:1], unique(population$fit), 1e-8)
    expect_error(predict(fit, new, re_formula = "integrate"), "rr\\(|exclude = ", class = "galvi_error_argument")
  }
  for (term in names(terms)[1:2]) {
    fit <- galvi(stats::reformulate(c("h", term, "(1 | Subject)"), "Reaction"), d, hyper = "fixed")
    expect_error(predict(fit, transform(new, Subject = "zz")), "give re_formula = NA", class = "galvi_error_newdata")
    expect_equal(predict(fit, new, re_formula = ~ (1 | Subject)), predict(fit, new, exclude = term))
    expect_error(predict(fit, new, re_formula = ~ ou(t | h)), "ou(t|h)`, which is not", fixed = TRUE)
    # smooths stay
    expect_error(predict(fit, new, re_formula = ~ gp(t)), "only random effects")
  }
  smooth <- galvi(Reaction ~ rw1(t, by = Subject), d, hyper = "fixed")
  expect_equal(predict(smooth, new, re_formula = NA), predict(smooth, new))
})

test_that("re.form is re_formula, everywhere, and new levels are allowed unless they are not", {
  fit <- galvi(weight ~ Time + (1 | Chick), ChickWeight[1:100, ], hyper = "fixed")
  calls <- list(
    predict, fitted, residuals,
    function(fit, ...) {
      set.seed(1)
      posterior_epred.galvi(fit, ndraws = 3, ...)
    },
    function(fit, ...) {
      set.seed(1)
      posterior_predict.galvi(fit, ndraws = 3, ...)
    },
    function(fit, ...) {
      set.seed(1)
      posterior_linpred.galvi(fit, ndraws = 3, ...)
    }
  )
  for (call in calls) {
    expect_equal(call(fit, re.form = NA), call(fit, re_formula = NA))
    expect_equal(call(fit, re.form = ~0), call(fit, re_formula = NA))
    expect_equal(call(fit, re.form = NULL), call(fit))
    expect_equal(call(fit, re.form = ~ (1 | Chick)), call(fit))
    expect_false(isTRUE(all.equal(call(fit, re.form = NA), call(fit))))
  }
  expect_error(predict(fit, re.form = NA, re_formula = ~ (1 | Chick)), "two names", class = "galvi_error_argument")
  new <- data.frame(Time = 1, Chick = c("1", "of tomorrow"))
  expect_equal(predict(fit, new, allow.new.levels = TRUE), predict(fit, new))
  expect_error(predict(fit, new, allow.new.levels = FALSE), "`Chick`", class = "galvi_error_newdata")
  expect_equal(predict(fit, new[1, ], allow.new.levels = FALSE), predict(fit, new[1, ]))
  expect_equal(predict(fit, new["Time"], re.form = NA, allow.new.levels = FALSE), predict(fit, new, re.form = NA))
  # brms' words
  expect_equal(predict(fit, new, allow_new_levels = TRUE), predict(fit, new))
  expect_equal(predict(fit, new, allow_new_levels = TRUE, sample_new_levels = "gaussian"), predict(fit, new))
  # mgcv's
  expect_equal(predict(fit, new["Time"], exclude = "iid(Chick)", newdata.guaranteed = TRUE),
    predict(fit, new, re.form = NA))
  expect_error(predict(fit, new, allow_new_levels = FALSE), "`Chick`", class = "galvi_error_newdata")
  expect_error(predict(fit, new, allow_new_levels = NA), "allow_new_levels", class = "galvi_error_argument")
  for (call in calls) {
    expect_equal(call(fit, allow_new_levels = TRUE), call(fit))
  }
  for (call in list(predict, posterior_epred.galvi, posterior_predict.galvi)) {
    expect_error(call(fit, new, sample_new_levels = "uncertainty"), "\"gaussian\"", class = "galvi_error_argument")
  }
  expect_error(galvi(weight ~ Time, ChickWeight, allow_new_levels = TRUE), "argument of predict", class = "galvi_error")
})

test_that("chosen columns of type = \"terms\" are those of all, also centred", {
  fit <- galvi(mpg ~ poly(wt, 2) + factor(cyl) + hp, mtcars, hyper = "fixed")
  all <- predict(fit, type = "terms", se.fit = TRUE)
  same <- function(found, names) {
    expect_equal(found$fit, structure(all$fit[, names, drop = FALSE], constant = attr(all$fit, "constant")),
      tolerance = tol$solve)
    expect_equal(found$se.fit, all$se.fit[, names, drop = FALSE], tolerance = tol$solve)
  }
  same(predict(fit, type = "terms", terms = "hp", se.fit = TRUE), "hp")
  same(predict(fit, mtcars[c("wt", "hp")], type = "terms", terms = c("poly(wt, 2)", "hp"), se.fit = TRUE),
    c("poly(wt, 2)", "hp"))
  same(predict(fit, type = "terms", exclude = c("(Intercept)", "hp"), se.fit = TRUE), c("poly(wt, 2)", "factor(cyl)"))
  # with `dpar`, with the prefix of coefficients or without
  fit <- galvi(list(mpg ~ wt, sigma ~ am + hp), mtcars, hyper = "fixed")
  for (name in c("am", "sigma_am")) {
    expect_equal(predict(fit, dpar = "sigma", exclude = name), predict(fit, transform(mtcars, am = 0), dpar = "sigma"))
  }
})
