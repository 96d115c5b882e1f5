# The regularised horseshoe prior of coefficients.

scaled <- function(columns, data) as.data.frame(scale(data[columns]))
cars <- function() data.frame(mpg = mtcars$mpg, scaled(names(mtcars)[-1], mtcars))
children <- function() data.frame(case = infert$case, scaled(c("age", "parity", "induced", "spontaneous"), infert))
by_bound <- function(...) galvi(..., control = galvi_control(uncertainty = "factorised", tol = 1e-10))
held <- function(tau, c = 2) horseshoe(scale_global = fixed(tau), scale_slab = if (is.finite(c)) fixed(c) else c)

spec_of <- function(df = 1, slab = TRUE, base_sd = 0) {
  hyper <- c(list(global = 1L), if (slab) list(slab = 2L))
  list(type = "horseshoe", location = 0, df = df, base_sd = base_sd, hyper = hyper)
}
horseshoes <- list(
  list(df = 1, tau = 0.3, c = 2), list(df = 1, tau = 0.05, c = Inf), list(df = 3, tau = 0.5, c = 1),
  list(df = 0.7, tau = 1e-3, c = 5), list(df = 1, tau = 3, c = 0.5), list(df = 1, tau = 0.3, c = 2, base_sd = 6)
)

test_that("log densities are those of the mixture, and of its closed form", {
  b <- c(-30, -0.2, 1e-9, 1e-3, 0.1, 1, 3)
  for (x in horseshoes) {
    if (!is.null(x$base_sd)) next
    hyper <- c(x$tau, if (is.finite(x$c)) x$c)
    found <- probe_coefficient_prior(spec_of(x$df, is.finite(x$c)), b, rep(1, 7), hyper)[, 7]
    # 30 is 60 slab sds from 0, where the density is no number of R
    some <- abs(b) < 15 * x$c
    near(found[some], log(horseshoe_density(b[some], x$df, x$tau, x$c)), 1e-9, format(x$tau))
  }
  # exp(x) E1(x) = int exp(-t) / (x + t) dt, also where exp(x) overflows
  z <- c(0.1, 1, 38, 50, 1e4)
  scaled_e1 <- vapply(z^2 / 2, function(x) integrate(function(t) exp(-t) / (x + t), 0, Inf, rel.tol = 1e-12)$value, 0)
  found <- probe_coefficient_prior(spec_of(1, FALSE), 0.7 * z, 0 * z, 0.7)
  expect_close(found[, 7], log(scaled_e1) - 0.5 * log(2 * pi^3) - log(0.7), 1e-9)
  expect_equal(found[, 1], found[, 7], tolerance = 1e-12)
})

test_that("expectations are integrate()'s, derivatives those of differences, at 0 and far from it", {
  at <- expand.grid(mean = c(0, 1e-3, -1.5, 4), variance = c(1e-8, 1e-3, 0.5, 30))
  s <- seq(-55, 8, length.out = 12601)
  for (x in horseshoes) {
    hyper <- c(x$tau, if (is.finite(x$c)) x$c)
    spec <- spec_of(x$df, is.finite(x$c), if (is.null(x$base_sd)) 0 else x$base_sd)
    found <- probe_coefficient_prior(spec, at$mean, at$variance, hyper)
    f <- splinefun(s, probe_coefficient_prior(spec, exp(s), rep(1, length(s)), hyper)[, 7])
    value <- mapply(function(mean, variance) mean_over_log(f, mean, variance), at$mean, at$variance)
    near(found[, 1], value, tol$expectation, format(x$tau))
    # in sds: values are of order 1
    h <- 1e-4
    sd <- sqrt(at$variance)
    shifted <- function(dm, dv, hyper) probe_coefficient_prior(spec, at$mean + dm * sd, at$variance * (1 + dv), hyper)
    slope <- (shifted(h, 0, hyper) - shifted(-h, 0, hyper)) / (2 * h)
    in_v <- (shifted(0, h, hyper) - shifted(0, -h, hyper)) / (2 * h)
    near(found[, 2] * sd, slope[, 1], tol$gradient, format(x$tau))
    near(found[, 3] * at$variance, in_v[, 1], tol$gradient, format(x$tau))
    near(found[, 4] * at$variance, slope[, 2] * sd, tol$gradient, format(x$tau))
    near(found[, 5] * sd * at$variance, slope[, 3] * at$variance, tol$gradient, format(x$tau))
    near(found[, 6] * at$variance^2, in_v[, 3] * at$variance, tol$gradient, format(x$tau))
    for (k in seq_along(hyper)) {
      moved <- function(d) shifted(0, 0, replace(hyper, k, hyper[k] * exp(d)))[, 1]
      near(found[, 7 + k] * hyper[k], (moved(h) - moved(-h)) / (2 * h), tol$gradient, format(x$tau))
    }
  }
})

test_that("at known tau and c means and sds are near those of Gibbs sampling", {
  within <- c(tol$horseshoe_least_sd, 1.01)
  fit <- by_bound(y ~ 0 + ., sparse_slopes(), galvi_family("gaussian", variance = fixed(1)), prior = held(0.05))
  expect_near_draws(fit, "sparse_horseshoe", tol$horseshoe_mean, within)
  fit <- by_bound(mpg ~ ., cars(), galvi_family("gaussian", variance = fixed(6.5)),
    prior = list(intercept = normal(0, 1e5), default = held(0.5)))
  expect_near_draws(fit, "cars_horseshoe", tol$horseshoe_mean, within)
})

test_that("where tau, c and sigma are learned means and sds are near those of sampling", {
  skip_on_cran()
  fit <- galvi(mpg ~ ., cars(), prior = list(intercept = normal(0, 1e5), default = horseshoe()))
  expect_near_draws(fit, "cars_horseshoe_learned", tol$horseshoe_mean, c(0.9, 1.05))
  expect_identical(fit$hyper$name, c("intercept.sd", "horseshoe.global", "horseshoe.slab", "gaussian.variance"))
  expect_identical(fit$hyper$status, c("fixed", "learned", "learned", "learned"))
  expect_true(all(fit$hyper$lwr[-1] < fit$hyper$estimate[-1] & fit$hyper$estimate[-1] < fit$hyper$upr[-1]))
  expect_no_warning(fit <- galvi(case ~ ., children(), binomial(),
    prior = list(intercept = normal(0, 1e3), default = "horseshoe(1)")))
  expect_near_draws(fit, "infert_horseshoe_learned", tol$tails_mean, c(0.95, 1.05))
  sparse <- galvi(y ~ 0 + ., sparse_slopes(), prior = horseshoe())
  expect_near_draws(sparse, "sparse_horseshoe_learned", tol$horseshoe_learned, c(0.9, tol$horseshoe_most_sd))
})

test_that("the estimates of tau and c are a maximum of the bound and their priors", {
  fit <- by_bound(case ~ ., children(), binomial(), prior = list(intercept = normal(0, 5), default = horseshoe()))
  best <- fit$hyper$estimate[2:3]
  objective <- function(tau, c) {
    at <- by_bound(case ~ ., children(), binomial(), prior = list(intercept = normal(0, 5), default = held(tau, c)))
    # half-Cauchy of tau; 1 / c^2 is gamma(2, 8): densities of the logarithms
    at$elbo + dcauchy(tau, log = TRUE) + log(tau) + dgamma(c^-2, 2, rate = 8, log = TRUE) - 2 * log(c)
  }
  top <- objective(best[1], best[2])
  for (step in c(0.9, 1.1)) {
    expect_lt(objective(best[1] * step, best[2]), top)
    expect_lt(objective(best[1], best[2] * step), top)
  }
  # learned numbers have the densities of their priors, with their constants
  constant <- log(2) + log(2)
  expect_close(fit$elbo + fit$log_prior, top + constant, 1e-4)
})

test_that("the bound lies below the exact evidence", {
  set.seed(1)
  X <- matrix(rnorm(80), 40)
  for (beta in list(c(0, 0), c(1, 0), c(0.4, -2))) for (tau in c(0.01, 0.1, 1)) {
    y <- drop(X %*% beta) + rnorm(40)
    fit <- by_bound(y ~ 0 + X, data.frame(y), galvi_family("gaussian", variance = fixed(1)), prior = held(tau))
    exact <- horseshoe_evidence(y, X, 1, tau, 2)
    expect_lt(fit$elbo, exact)
    expect_gt(fit$elbo, exact - 1.5)
  }
  # one slope of a logistic regression, by its density
  y <- rbinom(40, 1, plogis(X[, 1]))
  s <- seq(-35, 3, 0.02)
  b <- c(-exp(s), exp(s))
  terms <- log(horseshoe_density(b, 1, 0.1, 2)) + colSums(dbinom(y, 1, plogis(outer(X[, 1], b)), log = TRUE)) + c(s, s)
  exact <- max(terms) + log(0.02 * sum(exp(terms - max(terms))))
  fit <- by_bound(y ~ 0 + x, data.frame(y, x = X[, 1]), binomial(), prior = held(0.1))
  expect_lt(fit$elbo, exact)
  expect_gt(fit$elbo, exact - 0.5)
})

test_that("of two maxima, at zero and away from it, the higher one is found, with a note", {
  set.seed(1)
  x <- rnorm(100)
  x <- 10 * x / sqrt(sum(x^2))
  e <- resid(lm(rnorm(100) ~ 0 + x))
  # the standard error is 0.1, tau a hundredth of it and a tenth
  fit_at <- function(estimate, tau) {
    d <- data.frame(x, y = e + 0.1 * estimate * x)
    by_bound(y ~ 0 + x, d, galvi_family("gaussian", variance = fixed(1)), prior = held(tau))
  }
  low <- fit_at(3, 0.001)
  high <- fit_at(4, 0.001)
  expect_match(low$convergence$message, "several optima")
  expect_match(high$convergence$message, "several optima")
  expect_lt(abs(coef(low)), 0.01)
  expect_gt(coef(high), 0.2)
  middle <- fit_at(3, 0.01)
  expect_match(middle$convergence$message, "several optima")
  expect_close(coef(middle), 0.178, 0.01)
  expect_identical(fit_at(1, 0.01)$convergence$message, "")
})

test_that("each of several slopes is at the better of its places", {
  set.seed(3)
  Q <- 10 * qr.Q(qr(matrix(rnorm(500), 100)))
  e <- resid(lm(rnorm(100) ~ 0 + Q))
  estimate <- c(3, 4, 3.2, 4.2, 1)
  fit <- by_bound(y ~ 0 + Q, data.frame(y = drop(e + Q %*% estimate / 10)), galvi_family("gaussian", variance = fixed(1)),
    prior = held(0.001))
  # the columns are orthogonal: each slope is what it would be alone
  expect_identical(unname(abs(coef(fit)) > 0.1), c(FALSE, TRUE, FALSE, TRUE, FALSE))
})

test_that("slopes of one linear predictor share tau and c, those of another have their own", {
  d <- transform(cars(), g = factor(mtcars$gear))
  fit <- galvi(mpg ~ wt + hp + g, d, prior = list(wt = horseshoe(), default = horseshoe(3, 0.5)), hyper = "fixed")
  expect_identical(setdiff(fit$hyper$name, "gaussian.variance"),
    c("horseshoe.global", "horseshoe.slab", "horseshoe2.global", "horseshoe2.slab"))
  model <- galvi_model(galvi_design(list(mpg ~ wt, sigma ~ hp), d),
    prior = list(default = horseshoe(), sigma = list(default = horseshoe())))
  expect_identical(vapply(model$prior_rows, `[[`, 1L, "latent"), 1:2)
  expect_false(identical(model$prior_rows[[1]]$hyper, model$prior_rows[[2]]$hyper))
  expect_length(grep("horseshoe.global", model$hyper$name), 2L)
  none <- galvi_model(galvi_design(mpg ~ wt + hp, d), prior = horseshoe(scale_slab = Inf))
  expect_named(none$prior_rows[[1]]$hyper, "global")
  expect_identical(none$prior_rows[[1]]$hyper, none$prior_rows[[2]]$hyper)
})

test_that("it stands beside every kind of term, on a flat and on a normal base", {
  set.seed(2)
  d <- data.frame(x = rnorm(60), u = runif(60), v = runif(60), g = factor(rep(1:12, 5)))
  d$y <- d$x + rnorm(60, 0, 0.3)
  # a process of almost no variance leaves the same model, in N x N matrices
  plain <- galvi(y ~ x, d, prior = list(intercept = normal(0, 3), x = held(0.2)), hyper = "fixed")
  full <- galvi(y ~ x + gp(u, v, kernel = se(variance = fixed(1e-10), lengthscale = fixed(1))), d,
    prior = list(intercept = normal(0, 3), x = held(0.2)), hyper = "fixed")
  expect_close(coef(full), coef(plain), tol$optimum)
  expect_close(full$elbo, plain$elbo, tol$optimum)
  for (f in list(y ~ x + (1 | g), y ~ x + gp(u), y ~ x + gp(u, inducing = 8))) {
    fit <- galvi(f, d, prior = list(x = horseshoe()))
    expect_true(fit$convergence$converged, label = deparse(f))
    expect_gt(coef(fit)[["x"]], 0.8)
  }
})

test_that("text, tables and lists of other packages give it", {
  expect_identical(prior_of_text("horseshoe(1)", "prior"), horseshoe())
  expect_identical(prior_of_text("horseshoe(df = 3, scale_global = fixed(0.1))", "prior"), horseshoe(3, fixed(0.1)))
  expect_identical(prior_of_text("hs(1, 2, 0.5)", "prior"), horseshoe(1, 0.5, 2, 2.5, 4))
  for (x in list(horseshoe(), horseshoe(3, fixed(0.1)), horseshoe(scale_slab = Inf))) {
    expect_identical(prior_of_text(prior_text(x), "prior"), x)
  }
  theirs <- list(
    dist = "hs", df = 1, location = 0, scale = 1, global_df = 1, global_scale = 0.01, slab_df = 4, slab_scale = 2.5
  )
  expect_identical(own_prior(theirs), horseshoe(1, 0.01, 1, 2.5, 4))
  table <- data.frame(prior = "horseshoe(1)", class = "b")
  fit <- galvi(mpg ~ wt + hp, cars(), prior = table)
  told <- prior_summary(fit)
  expect_identical(told$prior[told$class == "b"], rep("horseshoe(1, 1, 1, 2, 4)", 2))
  expect_false(any(told$class %in% c("global", "slab")))
  expect_output(print(fit), "horseshoe.global")
  expect_output(print(fit$prior), "wt +~ horseshoe\\(1, 1, 1, 2, 4\\)")
  # the density at zero is infinite
  expect_true(is.na(hypothesis(fit, "wt = 0")$hypothesis$Evid.Ratio))
  prior <- suppressMessages(galvi(mpg ~ wt, cars(), prior = list(at_means = normal(20, 2), wt = horseshoe()),
    sample_prior = "only"))
  expect_close(coef(prior)[["wt"]], 0, 1e-6)
  expect_identical(dim(posterior_predict.galvi(prior, ndraws = 10)), c(10L, 32L))
})

test_that("what cannot be says so, and names the argument", {
  expect_error(horseshoe(0), "`df`", class = "galvi_error_prior")
  expect_error(horseshoe(0.01), "`df`.*0.1", class = "galvi_error_prior")
  expect_error(horseshoe("a"), "`df`", class = "galvi_error_prior")
  expect_error(horseshoe(scale_global = -1), "`scale_global`", class = "galvi_error_prior")
  expect_error(horseshoe(scale_global = Inf), "`scale_global`", class = "galvi_error_prior")
  expect_error(horseshoe(scale_global = half_normal(1)), "`scale_global`.*fixed\\(\\)", class = "galvi_error_prior")
  expect_error(horseshoe(df_global = NA), "`df_global`", class = "galvi_error_prior")
  expect_error(horseshoe(scale_slab = fixed(c(1, 2))), "`scale_slab`", class = "galvi_error_prior")
  expect_error(horseshoe(df_slab = c(1, 2)), "`df_slab`", class = "galvi_error_prior")
  of <- function(prior, formula = mpg ~ wt + (1 | gear)) {
    message_of_error(galvi_model(galvi_design(formula, mtcars), prior = prior))
  }
  expect_match(of(list(sd = horseshoe())), "prior of coefficients.*half_normal")
  expect_match(of(list(sigma = "horseshoe(1)")), "prior of coefficients.*half_normal")
  expect_match(of(list(intercept = horseshoe())), "slopes.*intercept")
  expect_match(of(list(at_means = horseshoe())), "slopes.*intercept")
  expect_match(of(data.frame(prior = "horseshoe(1)", class = "sd")), "standard deviation")
  expect_match(of(data.frame(prior = "horseshoe(1)", class = "Intercept")), "slopes.*intercept")
  expect_match(of("horseshoe(par_ratio = 0.1)"), "scale_global = 0.1 / sqrt\\(n\\)")
  expect_match(of("horseshoe(1, autoscale = TRUE)"), "scale_global.*residual sd")
  expect_match(of("horseshoe(1, size = 2)"), "df, scale_global")
  expect_match(of("hs_plus()"), "horseshoe")
  expect_match(of(list(default = list(dist = "hs_plus", df = 1))), "horseshoe")
  expect_error(galvi(factor(gear) ~ wt, mtcars, categorical(), prior = horseshoe()), "each class",
    class = "galvi_error_prior")
})
