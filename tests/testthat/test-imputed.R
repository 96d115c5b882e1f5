# Fits to imputed data sets: the equal mixture of the parts.

imputed_data <- function(sets = 3, n = 60) {
  set.seed(4)
  d <- data.frame(x = rnorm(n), z = rnorm(n), g = gl(6, n / 6), f = factor(sample(c("a", "b", "c"), n, TRUE)))
  d$y <- d$x + rnorm(6, sd = 0.7)[d$g] + rnorm(n, sd = 0.5)
  d$n <- rpois(n, exp(0.5 * d$x))
  d$o <- cut(d$y, c(-Inf, -0.5, 0.5, Inf), labels = c("l", "m", "h"), ordered_result = TRUE)
  missing <- sample(n, n / 4)
  lapply(seq_len(sets), function(i) {
    d$x[missing] <- rnorm(length(missing))
    d
  })
}

fit_sets <- function(formula, ..., sets = imputed_data()) suppressMessages(galvi(formula, data = sets, ...))

mean_of <- function(fit, f) Reduce(`+`, lapply(fit$fits, f)) / length(fit$fits)

between <- function(x) stats::cov(do.call(rbind, x))

test_that("coefficients have the mixture's moments: W + (1 - 1 / m) B", {
  cases <- list(
    list(y ~ x + f), list(y ~ x + (1 | g)), list(n ~ x, family = poisson()), list(n ~ x + (1 | g), family = poisson()),
    list(list(y ~ x, sigma ~ z)), list(o ~ x + f, family = cumulative()), list(y ~ poly(x, 2) + gp(z)),
    list(f ~ x, family = categorical()), list(n ~ x, family = negbinomial()),
    list(y ~ x + f, control = galvi_control(uncertainty = "factorised"))
  )
  for (case in cases) {
    fit <- do.call(fit_sets, case)
    label <- deparse1(case[[1L]])
    expect_length(fit$fits, 3L)
    W <- mean_of(fit, vcov)
    B <- between(lapply(fit$fits, coefficient_means))
    expect_close(as.vector(coef(fit)), as.vector(mean_of(fit, coef)), 1e-8)
    expect_close(unname(vcov(fit)), unname(W + 2 / 3 * B), 1e-7)
    expect_true(all(is.finite(confint(fit))), label = label)
    expect_close(fit$hyper$estimate, mean_of(fit, function(part) part$hyper$estimate))
    # limits are among those of the parts
    lwr <- do.call(cbind, lapply(fit$fits, function(part) part$hyper$lwr))
    inside <- fit$hyper$lwr >= apply(lwr, 1, min) - 0.01 & fit$hyper$lwr <= apply(lwr, 1, max) + 0.01
    expect_true(all(inside | is.na(inside)), label = label)
  }
})

test_that("predictions are those of the mixture", {
  new <- data.frame(x = c(-1, 0, 2), z = c(0, 1, 0), g = c("1", "2", "new"), f = c("a", "b", "c"))
  cases <- list(
    list(y ~ x + (1 | g)), list(n ~ x + f, family = poisson()), list(n ~ x, family = negbinomial()),
    list(list(y ~ x, sigma ~ z)), list(y ~ gp(x) + (1 | g))
  )
  for (case in cases) {
    fit <- do.call(fit_sets, case)
    each <- function(...) lapply(fit$fits, predict, new, ...)
    # of many points a thousand are taken
    expect_close(predict(fit, new), mean_of(fit, function(part) predict(part, new)), 6e-3)
    link <- predict(fit, new, type = "link", se.fit = TRUE, covariance = TRUE)
    parts <- each(type = "link", se.fit = TRUE, covariance = TRUE)
    covariance <- Reduce(`+`, lapply(parts, `[[`, "covariance")) / 3 + 2 / 3 * between(lapply(parts, `[[`, "fit"))
    expect_close(unname(link$covariance), unname(covariance), 1e-3)
    expect_close(link$se.fit^2, diag(link$covariance), 1e-3)
    terms <- predict(fit, new, type = "terms")
    expect_close(unname(terms[, ]), unname(mean_of(fit, function(part) predict(part, new, type = "terms")[, ])), 1e-6)
    # P(Y <= q) of a mixture is the mean, and quantiles invert it
    p <- predict(fit, new, type = "cdf", q = 1)
    expect_close(unname(p[, ]), unname(mean_of(fit, function(part) predict(part, new, type = "cdf", q = 1)[, ])), 0.003)
    limits <- predict(fit, new, interval = "credible")
    expect_true(all(limits[, "lwr"] < limits[, "fit"] & limits[, "fit"] < limits[, "upr"]))
    expect_close(predict(fit, new, re_formula = NA), mean_of(fit, function(part) predict(part, new, re_formula = NA)),
      6e-3)
  }
})

test_that("thresholds are the mixture's, wherever each set has its means", {
  # the second and third sets are far from the first
  sets <- Map(function(d, by) transform(d, x = x + by), imputed_data(), c(0, 3, -3))
  for (formula in list(o ~ x + f, o ~ x + (1 | g))) {
    fit <- fit_sets(formula, sets = sets, family = cumulative())
    own <- lapply(fit$fits, function(part) summary(part)$thresholds)
    table <- summary(fit)$thresholds
    expect_close(table$mean, rowMeans(vapply(own, `[[`, c(0, 0), "mean")), 1e-6)
    variance <- rowMeans(vapply(own, function(x) x$sd^2 + x$mean^2, c(0, 0))) - table$mean^2
    expect_close(table$sd^2 / variance, 1, 1e-6)
    # eta has the mean x'beta in each of them
    expect_close(predict(fit, data.frame(x = 0, f = "a", g = NA), type = "link", re_formula = NA), 0, 1e-8)
  }
})

test_that("rows have means over the sets, and draws come from all of them", {
  fit <- fit_sets(y ~ x + (1 | g))
  expect_close(fitted(fit), mean_of(fit, fitted), 1e-8)
  expect_close(residuals(fit), mean_of(fit, residuals), 1e-8)
  expect_close(predict(fit, type = "link"), mean_of(fit, function(part) predict(part, type = "link")), 1e-8)
  loo <- loo.galvi(fit)
  expect_close(loo$pointwise, mean_of(fit, function(part) loo.galvi(part)$pointwise))
  expect_identical(unname(loo$estimates[, "Estimate"]), unname(colSums(loo$pointwise)))
  groups <- loo.galvi(fit, group = "g", joint = TRUE)
  expect_close(groups$pointwise, mean_of(fit, function(part) loo.galvi(part, group = "g", joint = TRUE)$pointwise))
  set.seed(1)
  draws <- posterior_linpred.galvi(fit, ndraws = 6000)
  # six thousand draws: their mean has an error of 0.02 standard deviations
  expect_lt(max(abs(colMeans(draws) - fitted(fit)) / apply(draws, 2, sd)), 0.08)
  expect_close(apply(draws, 2, sd), predict(fit, type = "link", se.fit = TRUE)$se.fit, 0.05)
  expect_identical(dim(simulate(fit, 4)), c(60L, 4L))
  skip_if_not_installed("posterior")
  drawn <- posterior::as_draws(fit, ndraws = 6000)
  expect_close(unname(apply(unclass(drawn)[, names(coef(fit))], 2, sd)), unname(sqrt(diag(vcov(fit)))), 0.05)
  expect_close(posterior_interval.galvi(fit, 0.95)[names(coef(fit)), ], confint(fit), 1e-8)
})

test_that("groups' effects, tables and pictures are the mixture's", {
  fit <- fit_sets(y ~ x + (1 | g))
  effects <- ranef(fit)$g
  expect_close(effects[[1L]], mean_of(fit, function(part) ranef(part)$g[[1L]]), 1e-8)
  expect_close(attr(VarCorr(fit)$g, "stddev")[[1L]]^2, fit$hyper$estimate[grepl("(1 | g)|iid", fit$hyper$name)][1L],
    1e-6)
  expect_output(print(fit), "Mean of 3 data sets")
  expect_output(print(summary(fit)), "equal mixture of 3 fits")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (which in c("effects", "coefficients", "residuals", "predictive", "calibration")) {
    expect_no_error(plot(fit, which = which), message = which)
  }
  points <- fit_sets(n ~ x, family = negbinomial())
  for (which in c("effects", "predictive")) expect_no_error(plot(points, which = which), message = which)
})

test_that("Rubin's rules of the parts are those of lm()", {
  skip_if_not_installed("mice")
  imputed <- mice::mice(mice::nhanes, m = 3, maxit = 2, seed = 1, printFlag = FALSE)
  flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
  fit <- galvi(chl ~ age + bmi, data = imputed, prior = flat, control = galvi_control(uncertainty = "factorised"))
  own <- mice::pool(fit$fits)$pooled
  lms <- lapply(1:3, function(i) stats::lm(chl ~ age + bmi, mice::complete(imputed, i)))
  theirs <- mice::pool(lms)$pooled
  columns <- c("estimate", "ubar", "b", "t", "df", "riv", "lambda", "fmi")
  expect_identical(as.character(own$term), as.character(theirs$term))
  for (name in columns) expect_close(own[[name]], theirs[[name]], 1e-6)
  expect_identical(df.residual(fit$fits[[1L]]), 22L)
  expect_equal(mice::pool(mice::as.mira(fit$fits))$pooled$t, own$t)
  # the fit of a part can be updated
  expect_close(coef(eval(fit$fits[[2L]]$call)), coef(fit$fits[[2L]]), 1e-8)
  skip_if_not_installed("mitools")
  list_of <- mitools::imputationList(lapply(1:3, function(i) mice::complete(imputed, i)))
  again <- galvi(chl ~ age + bmi, data = list_of, prior = flat, control = galvi_control(uncertainty = "factorised"))
  expect_close(vcov(again), vcov(fit), 1e-8)
  combined <- mitools::MIcombine(again$fits)
  expect_close(unname(diag(combined$variance)), own$t, 1e-6)
})

test_that("data sets that differ are errors that name what differs", {
  sets <- imputed_data()
  changed <- function(f, i = 2) {
    sets[[i]] <- f(sets[[i]])
    sets
  }
  refused <- function(f, message) {
    expect_error(galvi(y ~ x + f, data = changed(f)), message, class = "galvi_error_data")
  }
  refused(function(d) d[-1, ], "number 2 differs from the first: it has 59 rows, not 60")
  refused(function(d) d[names(d) != "z"], "it has no column `z`")
  refused(function(d) cbind(d, new = 1), "only it has the column `new`")
  refused(function(d) transform(d, x = as.character(x)), "`x` is character, not numeric")
  refused(function(d) transform(d, f = factor(f, c("b", "a", "c"))), "`f` has the levels \"b\", \"a\", \"c\"")
  # a set's own error says which it is
  expect_error(galvi(y ~ x, data = changed(function(d) transform(d, y = NA_real_))), "In data set 2: ")
  expect_error(galvi(y ~ x, data = changed(function(d) transform(d, x = replace(x, 1, NA)))), "its rows",
    class = "galvi_error_data")
  unused <- changed(function(d) transform(d, f = replace(f, f == "c", "a")))
  expect_error(galvi(y ~ f, data = unused), "its coefficients \\(`fc`\\)", class = "galvi_error_data")
})

test_that("rows that differ have no means, and sites belong to one data set", {
  set.seed(1)
  boot <- lapply(1:3, function(i) cars[sample(50, replace = TRUE), ])
  fit <- galvi(dist ~ speed, data = boot)
  expect_close(coef(fit), mean_of(fit, coef))
  expect_silent(predict(fit, data.frame(speed = 10)))
  for (f in list(fitted, residuals, loo.galvi)) {
    expect_error(f(fit), "do not have the same rows", class = "galvi_error_data")
  }
  same <- fit_sets(y ~ x)
  for (f in list(waic.galvi, kfold.galvi, check_fit, hatvalues, cooks.distance, rstandard)) {
    expect_error(f(same), "ask the parts", class = "galvi_error_argument")
  }
})

test_that("totals are mixtures of the data sets' totals", {
  set.seed(4)
  d <- data.frame(x = rnorm(30), g = rep(1:6, 5))
  d$y <- rpois(30, exp(d$x))
  sets <- list(d, transform(d, x = x + rnorm(30, sd = 0.3)))
  # a response whose mean is exponential, and one of the identity; states of hyper = "integrate", or points
  for (fit in list(
    galvi(y ~ x + (1 | g), sets, poisson(), hyper = "integrate"), galvi(y ~ x + (1 | g), sets, hyper = "integrate"),
    galvi(y ~ x, sets, poisson())
  )) {
    total <- function(fit) predict(fit, d, aggregate = ~ 1, se.fit = TRUE, interval = "credible")
    own <- do.call(rbind, lapply(fit$fits, total))
    mixed <- total(fit)
    expect_equal(mixed$fit, mean(own$fit), tolerance = 1e-6)
    expect_equal(mixed$se.fit^2, mean(own$se.fit^2) + mean((own$fit - mixed$fit)^2), tolerance = 1e-6)
    expect_true(mixed$lwr > min(own$lwr) - 1e-6 && mixed$upr < max(own$upr) + 1e-6)
  }
})

test_that("columns far from zero, as seconds since 1970, are combined", {
  set.seed(4)
  d <- data.frame(x = rnorm(30), f = factor(rep(c("a", "b", "c"), 10)))
  d$y <- rpois(30, exp(0.5 * d$x))
  d$far <- d$x + 1e9
  other <- transform(d, x = x + 0.01, far = far + 0.01)
  near <- summary(galvi(y ~ x + f, list(d, other), poisson()))$coefficients
  far <- summary(galvi(y ~ far + f, list(d, other), poisson()))$coefficients
  expect_close(far[-1L, 1:2], near[-1L, 1:2], 1e-6)  # 1e9 + x keeps seven digits of x
})

test_that("what update() leaves out of a prior and what a family fixes is said once for all data sets", {
  skip_if_not_installed("MASS")
  sets <- imputed_data(sets = 2)
  prior <- list(size = log_normal(0, 1), x = normal(0, 1))
  fit <- fit_sets(n ~ x + z, family = negbinomial(), prior = prior, sets = sets)
  messages <- function(expr) {
    said <- list()
    withCallingHandlers(expr, galvi_message = function(m) {
      said <<- c(said, list(m))
      invokeRestart("muffleMessage")
    })
    said
  }
  said <- messages(update(fit, . ~ . - x))
  expect_length(said, 1L)
  expect_s3_class(said[[1L]], "galvi_message_absent")
  expect_match(conditionMessage(said[[1L]]), "prior$x", fixed = TRUE)
  said <- messages(galvi(n ~ x, sets, family = MASS::negative.binomial(2)))
  expect_length(said, 1L)
  expect_s3_class(said[[1L]], "galvi_message_family")
})

test_that("coef(group = ) is the mean over data sets", {
  sets <- lapply(imputed_data(), function(d) transform(d, h = factor(rep(1:6, length.out = nrow(d)))))
  fit <- fit_sets(y ~ x + (1 + x | h), sets = sets)
  each <- lapply(fit$fits, coef, group = "h")
  expect_equal(coef(fit, group = "h"), Reduce(`+`, each) / length(each), tolerance = tol$identity)
  expect_error(ranef(fit, condVar = TRUE), "one data set", class = "galvi_error_argument")
})

test_that("effects along variables are predictions, whichever bases and scales the data sets have", {
  along <- function(fit, at, ...) unname(predict(fit, at, interval = "credible", ...)[, c("lwr", "upr")])
  for (case in list(list(n ~ x + f, family = poisson()), list(y ~ scale(x) + s(z, k = 5)), list(y ~ x + (1 | g)))) {
    fit <- do.call(fit_sets, case)
    effect <- conditional_effects(fit, "x")$x
    at <- effect[c(1, 40, 100), intersect(names(effect), c("x", "z", "f")), drop = FALSE]
    limits <- unname(as.matrix(effect[c(1, 40, 100), c("lower__", "upper__")]))
    expect_close(limits, along(fit, at, re_formula = NA), 1e-8)
  }
  # a picture shows the same, also of terms and of parameters
  shown <- function(fit, name, ...) {
    drawn <- plot_away(fit, which = "effects", ...)[[name]]
    drawn[round(seq(1, nrow(drawn), length.out = 4L)), ]
  }
  fit <- fit_sets(n ~ x, family = poisson())
  drawn <- shown(fit, "x")
  expect_close(unname(as.matrix(drawn[c("lwr", "upr")])), along(fit, drawn["x"]), 1e-8)
  fit <- fit_sets(y ~ gp(x))
  drawn <- shown(fit, "gp(x)")
  expect_close(unname(as.matrix(drawn[c("lwr", "upr")])), along(fit, drawn["x"]), 1e-8)
  fit <- fit_sets(y ~ s(x, k = 5) + z)
  link <- predict(fit, data.frame(x = c(-1, 1), z = 0), se.fit = TRUE)
  relevance <- plot_away(fit, which = "relevance")
  each <- lapply(fit$fits, function(part) plot_away(part, which = "relevance")$relevance)
  expect_close(relevance$relevance, Reduce(`+`, each) / 3)
  skip_if_not_installed("emmeans")
  means <- as.data.frame(emmeans::emmeans(fit, ~x, at = list(x = c(-1, 1), z = 0)))
  expect_close(means$emmean, unname(link$fit), 1e-6)
  expect_close(means$SE, unname(predict(fit, data.frame(x = c(-1, 1), z = 0), type = "link", se.fit = TRUE)$se.fit), 1e-3)
})

test_that("effects of groups and curves of survival are the mixture's", {
  fit <- fit_sets(y ~ x + (1 | g))
  drawn <- plot_away(fit, which = "effects", terms = "iid(g)")[[1L]]
  each <- lapply(fit$fits, function(part) plot_away(part, which = "effects", terms = "iid(g)")[[1L]]$fit)
  expect_close(sort(drawn$fit), sort(Reduce(`+`, each) / 3))
  sets <- lapply(imputed_data(), function(d) transform(d, time = exp(y)))
  fit <- fit_sets(survival::Surv(time) ~ x, family = weibull(), sets = sets)
  drawn <- plot_away(fit, which = "survival")
  at <- data.frame(x = median(sets[[1L]]$x))
  expect_close(drawn$fit[50], unname(predict(fit, at, type = "survival", times = drawn$time[50])[1L, ]), 1e-6)
})

test_that("derivatives and differences of smooths are the mixture's", {
  step <- 1e-4
  for (formula in list(y ~ s(x, k = 6) + z, y ~ gp(x))) {
    fit <- fit_sets(formula)
    slope <- derivatives(fit, n = 5)
    at <- data.frame(x = c(slope$x + step, slope$x - step), z = 0)
    ends <- predict(fit, at, type = "link", se.fit = TRUE, covariance = TRUE)
    D <- cbind(diag(5), -diag(5)) / (2 * step)
    expect_close(slope$.derivative, drop(D %*% ends$fit), 1e-4)
    expect_close(slope$.se, sqrt(diag(D %*% ends$covariance %*% t(D))), 1e-2)
  }
  fit <- fit_sets(y ~ f + s(x, by = f, k = 5))
  found <- difference_smooths(fit, n = 5, group_means = TRUE)[1:5, ]
  at <- data.frame(x = found$x, f = factor(rep(c("a", "b"), each = 5), c("a", "b", "c")))
  two <- predict(fit, at, type = "link", se.fit = TRUE, covariance = TRUE)
  D <- cbind(diag(5), -diag(5))
  expect_close(found$.diff, drop(D %*% two$fit), 1e-6)
  expect_close(found$.se, sqrt(diag(D %*% two$covariance %*% t(D))), 1e-6)
})

test_that("functions of parameters are drawn from all data sets", {
  sets <- imputed_data()
  sets[[1]]$y <- sets[[1]]$y + 3
  fit <- fit_sets(y ~ x, sets = sets, control = galvi_control(uncertainty = "factorised"))
  # the intercept is 3 in one of three
  found <- hypothesis(fit, "exp(Intercept / 3) > 1.5")$hypothesis
  draws <- as.matrix(fit, ndraws = 4000, seed = 1)
  expect_close(found$Estimate, mean(exp(draws[, "(Intercept)"] / 3) - 1.5), 0.1)
  expect_lt(found$Post.Prob, 0.5)
})
