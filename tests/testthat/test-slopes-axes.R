# Random slopes do not depend on where x is zero, have no prior unless one is typed, and say where they are singular.

wide <- list(intercept = normal(0, Inf), default = normal(0, Inf))

# Fits on other axes are the same sums with other rounding.
same_axes <- 1e-7
# The last gain of a search, 1e-9 nats, moves sds by the root of it.
sharp <- galvi_control(hyper_tol = 1e-9)
same_search <- 1e-4

growth <- function(n = 15) {
  set.seed(8)
  d <- data.frame(g = factor(rep(seq_len(n), each = 6)), x = rep(0:5, n), f = factor(rep(c("a", "b", "c"), 2 * n)))
  d$z <- rnorm(nrow(d))
  u <- matrix(rnorm(2 * n), n) %*% chol(matrix(c(4, -1, -1, 0.5), 2))
  d$y <- 3 + d$x + u[d$g, 1] + u[d$g, 2] * d$x + rnorm(nrow(d))
  d$k <- rpois(nrow(d), exp(0.5 + 0.2 * d$x + 0.2 * u[d$g, 1] + 0.2 * u[d$g, 2] * d$x))
  d
}

# S at x = 0 of effects at x = shift
moved_to_zero <- function(S, shift) {
  A <- rbind(c(1, shift), c(0, 1))
  A %*% matrix(S, 2) %*% t(A)
}

test_that("shifts and units change nothing but the names of the numbers", {
  d <- growth()
  for (family in list(gaussian(), poisson())) {
    formula <- if (family$family == "gaussian") y ~ x + (x | g) else k ~ x + (x | g)
    fit <- galvi(formula, d, family, prior = wide, control = sharp)
    S <- matrix(VarCorr(fit)[[1]], 2)
    for (shift in c(10, 1955)) {
      moved <- galvi(formula, transform(d, x = x + shift), family, prior = wide, control = sharp)
      expect_close(moved$elbo, fit$elbo, same_axes)
      expect_equal(moved_to_zero(VarCorr(moved)[[1]], shift), S, tolerance = same_search)
      expect_equal(ranef(moved)[[1]]$mean.x, ranef(fit)[[1]]$mean.x, tolerance = same_search)
      effects <- ranef(moved, condVar = TRUE)[[1]]
      expect_equal(effects[["(Intercept)"]] + shift * effects$x, ranef(fit)[[1]][["mean.(Intercept)"]],
        tolerance = same_search)
      expect_equal(moved_to_zero(attr(effects, "postVar")[, , 3], shift),
        unname(attr(ranef(fit, condVar = TRUE)[[1]], "postVar")[, , 3]), tolerance = same_search, ignore_attr = TRUE)
      at <- "(x | g).sd.x"
      limits <- function(fit) unlist(fit$hyper[fit$hyper$name == at, c("estimate", "lwr", "upr")])
      expect_equal(limits(moved), limits(fit), tolerance = same_search)
      held <- galvi(formula, transform(d, x = x + shift), family, prior = wide, start = moved, hyper = "fixed")
      expect_close(held$elbo, fit$elbo, 1e-6)
    }
    scaled <- galvi(formula, transform(d, x = x * 365.25), family)
    expect_close(scaled$elbo, galvi(formula, d, family)$elbo, 1e-6)
  }
  dated <- galvi(y ~ x + (x | g), transform(d, x = as.Date("1999-01-01") + x), prior = wide)
  expect_close(dated$elbo, galvi(y ~ x + (x | g), d, prior = wide)$elbo, 1e-6)
})

test_that("so do other columns of the same space", {
  d <- growth()
  bound <- function(formula) galvi(formula, d, prior = wide)$elbo
  expect_close(bound(y ~ x + (0 + f | g)), bound(y ~ x + (f | g)), 1e-5)
  expect_close(bound(y ~ x + (poly(x, 2) | g)), bound(y ~ x + (x + I(x^2) | g)), 1e-5)
})

test_that("what is shown is a function of one covariance", {
  d <- transform(growth(), x = x + 30)
  fit <- galvi(y ~ x + (x + z | g), d, prior = wide)
  S <- VarCorr(fit)[[1]]
  own <- fit$hyper[grep("|", fit$hyper$name, fixed = TRUE), ]
  expect_equal(own$estimate, c(attr(S, "stddev"), attr(S, "correlation")[cbind(c(1, 1, 2), c(2, 3, 3))]),
    ignore_attr = TRUE)
  # draws have what the table of estimates has
  skip_if_not_installed("posterior")
  set.seed(1)
  draws <- posterior::as_draws_matrix(galvi(y ~ x + (x | g), d, prior = wide))
  known <- galvi(y ~ x + (x | g), d, prior = wide)$hyper
  for (name in grep("|", known$name, fixed = TRUE, value = TRUE)) {
    at <- known$name == name
    # the standard error of a quantile of 1000 draws
    expect_equal(unname(mean(draws[, name] < known$lwr[at])), 0.025, tolerance = 0.8)
    expect_equal(unname(mean(draws[, name] > known$upr[at])), 0.025, tolerance = 0.8)
  }
})

test_that("excluded effects leave those of the columns as typed", {
  d <- transform(growth(), x = x + 30)
  # variances are sums of these at the estimated hyperparameters
  fit <- galvi(y ~ x + (x | g), d, prior = wide, control = galvi_control(uncertainty = "factorised"))
  fixed <- predict(fit, d, re_formula = NA)
  effects <- ranef(fit)[[1]]
  only <- predict(fit, d, re_formula = ~ (0 + x | g))
  expect_equal(unname(only - fixed), effects$mean.x[d$g] * d$x, tolerance = 1e-8)
  new <- data.frame(x = c(30, 33), g = "new")
  S <- matrix(VarCorr(fit)[[1]], 2)
  W <- cbind(1, new$x)
  own <- predict(fit, new, type = "link", se.fit = TRUE)$se.fit^2 -
    predict(fit, new, type = "link", se.fit = TRUE, re_formula = NA)$se.fit^2
  expect_equal(unname(own), rowSums((W %*% S) * W), tolerance = 1e-6)
})

test_that("starts are those of the columns as typed, and what is typed is a prior of these", {
  d <- transform(growth(), x = x + 30)
  names <- paste0("(x | g).", c("sd.(Intercept)", "sd.x", "cor.(Intercept).x"))
  start <- stats::setNames(c(20, 0.7, -0.95), names)
  fit <- galvi(y ~ x + (x | g), d, start = start, hyper = "fixed")
  expect_equal(fit$hyper$estimate[match(names, fit$hyper$name)], unname(start), tolerance = 1e-10)
  held <- galvi(y ~ x + (x | g), d, prior = list(sd = c(20, 0.7), cor = -0.95), hyper = "fixed",
    start = c(gaussian.variance = fit$hyper$estimate[fit$hyper$name == "gaussian.variance"]))
  expect_close(held$elbo, fit$elbo, 1e-6)
  expect_error(galvi(y ~ x + (x | g), d, start = stats::setNames(1.5, names[3])), "correlation|between",
    class = "galvi_error_argument")
  typed <- galvi_model(galvi_design(y ~ x + (x | g), d), prior = list(cor = lkj(2)))
  expect_identical(unname(typed$designs[[1]][[2]]$weight), unname(cbind(1, d$x)))
})

test_that("a correlation of one and a variance of zero are at their bound, and said", {
  set.seed(2)
  d <- data.frame(g = factor(rep(1:12, each = 10)), x = rnorm(120))
  u <- rnorm(12)
  d$y <- u[d$g] + 0.7 * u[d$g] * d$x + rnorm(120, sd = 0.3)
  status <- function(fit, name) fit$hyper$status[fit$hyper$name == name]
  expect_message(fit <- galvi(y ~ x + (x | g), d, prior = wide),
    "correlation of `(Intercept)` and `x` is estimated as 1", fixed = TRUE, class = "galvi_message_singular")
  expect_identical(status(fit, "(x | g).cor.(Intercept).x"), "at bound")
  expect_identical(status(fit, "(x | g).sd.x"), "learned")
  expect_lt(fit$hyper$lwr[fit$hyper$status == "at bound"], 1)
  expect_message(moved <- galvi(y ~ x + (x | g), transform(d, x = x - 50), prior = wide),
    class = "galvi_message_singular")
  expect_close(moved$elbo, fit$elbo, same_axes)
  expect_message(none <- galvi(x ~ 1 + (1 | g), d), "variance is estimated as zero", class = "galvi_message_singular")
  expect_identical(status(none, "iid(g).variance"), "at bound")
  invisible(rnorm(120))
  d$noise <- u[d$g] + rnorm(120)
  expect_message(flat <- galvi(noise ~ x + (x || g), d), "deviation of `x` is estimated as zero", fixed = TRUE,
    class = "galvi_message_singular")
  expect_identical(status(flat, "(x || g).sd.x"), "at bound")
  expect_no_message(galvi(y ~ x + (x | g), d, prior = list(cor = lkj(2))))
})

test_that("without priors the fit is lme4's", {
  skip_if_not_installed("lme4")
  skip_if_not_installed("nlme")
  orthodont <- as.data.frame(nlme::Orthodont)
  fit <- galvi(distance ~ age + (age | Subject), orthodont, prior = wide, control = galvi_control(hyper_tol = 1e-10))
  # lmer's sds are as accurate as its optimiser: the likelihoods agree to 1e-7
  theirs <- lme4::lmer(distance ~ age + (age | Subject), orthodont,
    control = lme4::lmerControl(optCtrl = list(ftol_abs = 1e-12, xtol_abs = 1e-12)))
  expect_equal(as.data.frame(VarCorr(fit))$sdcor, as.data.frame(lme4::VarCorr(theirs))$sdcor, tolerance = 5e-4)
  expect_close(fit$elbo, as.numeric(stats::logLik(theirs)), 1e-6)
  # by default priors of the fixed effects are weak: a tenth of a percent
  open <- galvi(distance ~ age + (age | Subject), orthodont)
  expect_equal(as.data.frame(VarCorr(open))$sdcor, as.data.frame(VarCorr(fit))$sdcor, tolerance = 1e-3)
})

test_that("a singular correlation of groups of a kind is named by its effects", {
  set.seed(1)
  d <- data.frame(id = rep(1:6, each = 8), x = rnorm(48))
  d <- transform(d, f = factor(ifelse(id %% 2, "odd", "even")), y = x + rnorm(48))
  expect_message(galvi(y ~ x + (1 + x | gr(id, by = f)), d),
    "correlation of `(Intercept):feven` and `x:feven` is estimated as -1", fixed = TRUE,
    class = "galvi_message_singular")
})

test_that("a covariance matrix that is singular as a whole is not said to have a pair with the correlation one", {
  set.seed(3)
  d <- data.frame(g = factor(rep(1:12, each = 10)), x = rnorm(120), z = rnorm(120))
  u <- matrix(rnorm(24), 12)
  # each group's effect of z is the sum of its other two
  b <- cbind(u, rowSums(u) / sqrt(2))
  d$y <- rowSums(b[d$g, ] * cbind(1, d$x, d$z)) + rnorm(120, sd = 0.5)
  said <- "the covariance matrix of `(Intercept)`, `x`, `z` is estimated as singular, though no two of them"
  expect_message(fit <- galvi(y ~ x + z + (x + z | g), d), said, fixed = TRUE, class = "galvi_message_singular")
  R <- attr(VarCorr(fit)$g, "correlation")
  expect_lt(max(abs(R[lower.tri(R)])), 0.9)
  expect_no_match(vapply(fit$notes, `[[`, "", "text"), "estimated as 1|singular fit")
  # lme4 finds the same: a covariance of rank two
  skip_if_not_installed("lme4")
  theirs <- suppressMessages(lme4::lmer(y ~ x + z + (x + z | g), d))
  expect_true(lme4::isSingular(theirs))
  # estimates of two programs at a limit that both approach: two digits
  expect_lt(max(abs(R - attr(lme4::VarCorr(theirs)$g, "correlation"))), 0.02)
})
