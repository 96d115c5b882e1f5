# hyper = "integrate" and intervals of hyperparameters. The data of fixtures/hyper-gp.csv are made up; the posterior
# below is by a fine grid over all three hyperparameters, to 1e-6.
exact_gp <- list(
  mode = c(-0.4358177, -0.0055848, -1.4059430), log_density = -15.35670034, log_evidence = -16.8844235,
  mean = c(-0.2851741, 0.1548305, -1.3506083), sd = c(0.3649697, 0.3455471, 0.1616975),
  x = c(-0.5, 2.5, 5, 7.7, 10.8), predicted = c(-0.1505203, 0.3430342, -0.7866656, 0.9713581, -0.2136708),
  predicted_sd = c(0.4410785, 0.1352773, 0.1481559, 0.1440623, 0.7267596),
  hessian = matrix(c(15.24503976, -7.37846201, 2.04241590, -7.37846201, 20.62597938, -6.21115468, 2.04241590, -6.21115468,
    40.98660269), 3)
)

gp_fit <- function(hyper = "optimise", ...) {
  d <- utils::read.csv(test_path("fixtures", "hyper-gp.csv"))
  galvi(y ~ 0 + gp(x, kernel = se(log_normal(0, 2), log_normal(0, 1))), d,
    galvi_family("gaussian", variance = log_normal(-2, 2)), hyper = hyper, control = galvi_control(...))
}

# of log variance, log lengthscale, log noise variance, where the above are of logarithms of sds
units <- c(2, 1, 2)

test_that("the Hessian at the mode is right, and limits are those of its normal distribution", {
  fit <- gp_fit(hyper_tol = 1e-10, uncertainty = "factorised")
  expect_equal(log(fit$hyper$estimate) / units, exact_gp$mode, tolerance = tol$optimum)
  expect_equal(fit$elbo + fit$log_prior + 2 * log(2), exact_gp$log_density, tolerance = tol$optimum)
  covariance <- tcrossprod(fit$hyper_posterior$axes) / outer(units, units)
  # differences of the gradient have an error of 1e-4
  expect_equal(solve(covariance), exact_gp$hessian, tolerance = 1e-3)
  half <- stats::qnorm(0.975) * sqrt(diag(solve(exact_gp$hessian))) * units
  expect_equal(log(fit$hyper$upr / fit$hyper$estimate), half, tolerance = 1e-3)
  expect_equal(log(fit$hyper$estimate / fit$hyper$lwr), half, tolerance = 1e-3)
})

test_that("a grid is the exact posterior to four per cent of an sd, a design that of predictions to seven", {
  at <- data.frame(x = exact_gp$x)
  for (design in c("auto", "ccd")) {
    fit <- gp_fit("integrate", hyper_design = design)
    grid <- design == "auto"
    expect_length(fit$states, if (grid) 76 else 15)
    expect_equal(sum(vapply(fit$states, `[[`, 0, "weight")), 1)
    p <- predict(fit, at, type = "link", se.fit = TRUE)
    expect_lt(max(abs(p$fit - exact_gp$predicted) / exact_gp$predicted_sd), if (grid) 0.01 else 0.06)
    expect_lt(max(abs(p$se.fit / exact_gp$predicted_sd - 1)), if (grid) 0.015 else 0.07)
    expect_lt(abs(fit$hyper_posterior$log_evidence - exact_gp$log_evidence), if (grid) 0.01 else 0.1)
    points <- hyper_points(fit$hyper_posterior, even_points(8192, 3))
    theta <- points$x / rep(units, each = 8192)
    weight <- points$weight / sum(points$weight)
    mean <- colSums(weight * theta)
    sd <- sqrt(colSums(weight * theta^2) - mean^2)
    expect_lt(max(abs(mean - exact_gp$mean) / exact_gp$sd), if (grid) 0.02 else 0.2)
    expect_lt(max(abs(sd / exact_gp$sd - 1)), if (grid) 0.04 else 0.2)
  }
})

test_that("what a design is made of", {
  sphere <- 1.1
  for (m in 3:12) {
    points <- composite_design(m)
    expect_true(all(points[1, ] == 0))
    star <- points[nrow(points) - (2 * m - 1):0, ]
    expect_equal(star, sphere * sqrt(m) * rbind(diag(m), -diag(m)))
    z <- points[2:(nrow(points) - 2 * m), ] / sphere
    expect_true(all(abs(z) == 1))
    # resolution V: main effects and pairs are orthogonal
    X <- cbind(1, z, do.call(cbind, lapply(seq_len(m - 1), function(i) z[, i] * z[, (i + 1):m])))
    expect_equal(crossprod(X), diag(nrow(z), ncol(X)))
  }
  corners <- vapply(3:10, function(m) nrow(composite_design(m)) - 1L - 2L * m, 1L)
  expect_identical(corners, as.integer(2^c(3, 4, 4, 5, 6, 6, 7, 7)))
  # the integral and the second moments of a normal are right
  m <- 4
  normal <- probe_integrate(m, "ccd", function(z) sum(z^2) / 2)
  expect_equal(normal$z, composite_design(m))
  expect_equal(colSums(normal$weight * normal$z^2), rep(1, m))
  expect_equal(normal$log_evidence, m * log(2 * pi) / 2, tolerance = 1e-3)
})

test_that("a normal posterior has as many points as a grid says, and its moments", {
  counts <- vapply(1:4, function(m) {
    points <- probe_grid_points(m, function(z) sum(z^2) / 2)
    z <- points$z
    expect_equal(points$fall, rowSums(z^2) / 2)
    expect_true(all(z %% 2 == z[, 1] %% 2))
    weight <- exp(-rowSums(z^2) / 2)
    # the sums of a normal over this lattice are its integrals to 0.1 %; what is left out, up to 2 % in four dimensions
    expect_equal(colSums(weight * z^2) / sum(weight), rep(1, m), tolerance = 0.08)
    expect_equal(sum(weight) * 2^(m - 1), (2 * pi)^(m / 2), tolerance = 0.03)
    nrow(z)
  }, 1L)
  expect_identical(counts, c(11L, 29L, 59L, 145L))
})

test_that("the interpolated density has the values it is from, and a skew density its quantiles", {
  # log of a gamma variable, shape 3, in units of its sd at the mode: log density 3 x - exp(x)
  m <- 2
  shape <- 3
  posterior <- probe_integrate(m, "auto", function(z) sum(shape * (exp(z / sqrt(shape)) - 1 - z / sqrt(shape))))
  expect_identical(posterior$design, "grid")
  at <- posterior$known$z
  expect_equal(probe_log_density(posterior, at) - probe_log_density(posterior, 0 * at), -posterior$known$fall,
    tolerance = 1e-8)
  sample <- hyper_points(posterior, even_points(8192, m))
  probs <- c(0.025, 0.5, 0.975)
  found <- weighted_quantiles(t(sample$x), matrix(sample$weight, m, 8192, byrow = TRUE), probs)
  wanted <- sqrt(shape) * log(qgamma(probs, shape) / shape)
  # in sds, of which the density has about one
  expect_lt(max(abs(sweep(found, 2, wanted))), 0.05)
  expect_equal(posterior$log_evidence, m * (lgamma(shape) + shape - (shape - 0.5) * log(shape)), tolerance = 0.01)
})

test_that("a posterior that falls faster on one side has sides of the lengths of its two normals", {
  sds <- c(0.35, 2.5)
  fall <- function(z) sum((z / ifelse(z < 0, sds[1], sds[2]))^2) / 2
  posterior <- probe_integrate(2, "grid", fall)
  expect_equal(posterior$below, rep(sds[1], 2))
  expect_equal(posterior$above, rep(sds[2], 2))
  # the mean of halves of two normal densities; steps across the kink in the middle are of first order
  at <- ifelse(posterior$z < 0, sds[1], sds[2]) * posterior$z
  expect_equal(colSums(posterior$weight * at), rep(sqrt(2 / pi) * diff(sds), 2), tolerance = 0.1)
})

test_that("points without a posterior are left out, and a side of which nothing is known has length one", {
  fall <- function(z) if (z[1] > 0.5) NA_real_ else sum(z^2) / 2
  for (design in c("grid", "ccd")) {
    posterior <- probe_integrate(2, design, fall)
    expect_true(all(posterior$z[, 1] <= 0.5))
    expect_true(all(posterior$known$z[, 1] <= 0.5))
    expect_equal(sum(posterior$weight), 1)
    expect_identical(posterior$above[1], 1)
  }
})

test_that("where the posterior has a plateau or a ridge, intervals and draws are those of the states", {
  skip_if_not_installed("mgcv")
  data(columb, columb.polys, package = "mgcv", envir = environment())
  near <- lapply(unname(utils::getFromNamespace("pol2nb", "mgcv")(columb.polys)$nb), as.integer)
  d <- transform(columb, id = match(district, names(columb.polys)))
  formulas <- list(
    crime ~ income + home.value + gmrf(id, near, model = "bym2"), crime ~ income + gmrf(id, near, model = "bym2"),
    home.value ~ gmrf(id, near, model = "bym2"), area ~ gmrf(id, near, model = "bym2"),
    income ~ gmrf(id, near, model = "bym2"), crime ~ income + gmrf(id, near, model = "proper"),
    crime ~ income + gmrf(id, near) + iid(district)
  )
  # by sums over 48,000 places of the marginal likelihood and the priors, to 0.01; that of area has much beyond the grid
  log_evidence <- c(-203.99, -203.99, -220.61, NA, -158.52, NA, NA)
  probs <- c(0.025, 0.5, 0.975)
  set.seed(1)
  for (i in seq_along(formulas)) {
    environment(formulas[[i]]) <- environment()
    fit <- suppressMessages(galvi(formulas[[i]], d, hyper = "integrate"))
    posterior <- fit$hyper_posterior
    points <- hyper_points(posterior)
    # of 8192
    expect_gt(sum(points$weight)^2 / sum(points$weight^2), 800)
    at_states <- sweep(tcrossprod(stretched_points(posterior), posterior$axes), 2L, posterior$value, `+`)
    mean <- drop(posterior$weight %*% at_states)
    sd <- sqrt(drop(posterior$weight %*% at_states^2) - mean^2)
    share <- points$weight / sum(points$weight)
    own_mean <- drop(share %*% points$x)
    # by sums over states that are some one sd apart
    expect_lt(max(abs(own_mean - mean) / sd), 0.3)
    expect_lt(max(abs(sqrt(drop(share %*% points$x^2) - own_mean^2) / sd - 1)), 0.2)
    # a limit may be that of one state or of the next
    off <- weighted_quantiles(t(points$x), share, probs) - weighted_quantiles(t(at_states), posterior$weight, probs)
    expect_lt(max(abs(off) / sd), 1.5)
    if (!is.na(log_evidence[i])) expect_lt(abs(posterior$log_evidence - log_evidence[i]), 0.25)
    # limits and draws: positive numbers, and shares of a variance far from their ends
    free <- posterior$at
    limits <- log(as.matrix(fit$hyper[c("lwr", "upr")]))
    drawn <- log(draw_plan(fit, 1000L)$hyper[, free])
    found <- t(apply(drawn, 2L, stats::quantile, c(0.025, 0.975)))
    expect_lt(max(abs(found - limits) / apply(drawn, 2L, stats::sd)), 0.5)
  }
})

# A mixed model whose states are few: everything is a mixture of what its states say.
mixed_fit <- function(family = poisson(), ...) {
  set.seed(5)
  d <- data.frame(x = rnorm(60), g = rep(1:12, 5))
  eta <- 0.5 + 0.3 * d$x + rnorm(12, sd = 0.6)[d$g]
  d$y <- if (family$family == "poisson") rpois(60, exp(eta)) else rnorm(60, eta, 0.7)
  galvi(y ~ x + (1 | g), d, family, hyper = "integrate", ...)
}

test_that("predictions are averages over the states", {
  for (family in list(poisson(), gaussian())) {
    fit <- mixed_fit(family)
    new <- data.frame(x = c(-1, 0, 2), g = c(1, 5, 99))
    w <- state_weights(fit)
    average <- function(f) drop(do.call(cbind, by_state(fit, f)) %*% w)
    expect_equal(predict(fit, new), average(function(s) predict(s, new)), ignore_attr = TRUE)
    p <- predict(fit, new, type = "link", se.fit = TRUE, covariance = TRUE)
    expect_equal(p$se.fit, sqrt(diag(p$covariance)))
    density <- predict(fit, fit$data, type = "density")
    expect_equal(exp(density), average(function(s) exp(predict(s, fit$data, type = "density"))), ignore_attr = TRUE)
    expect_equal(coef(fit), average(coef), tolerance = 1e-12)
    limits <- confint(fit)
    below <- average(function(s) pnorm(limits[, 1], coef(s), sqrt(diag(vcov(s)))))
    expect_equal(unname(below), rep(0.025, 2), tolerance = 1e-6)
    # a new response: mass below the quantile
    q <- predict(fit, new, type = "quantile", probs = 0.9)[, 1]
    reached <- predict(fit, new, type = "cdf", q = q)[cbind(1:3, 1:3)]
    if (family$family == "gaussian") expect_equal(unname(reached), rep(0.9, 3), tolerance = 1e-6) else {
      expect_true(all(reached >= 0.9 - 1e-9))
      expect_true(all(predict(fit, new, type = "cdf", q = q - 1)[cbind(1:3, 1:3)] < 0.9))
    }
    credible <- predict(fit, new, interval = "credible")
    inside <- average(function(s) {
      link <- predict(s, new, type = "link", se.fit = TRUE)
      pnorm(family$linkfun(credible[, "upr"]), link$fit, link$se.fit)
    })
    expect_equal(unname(inside), rep(0.975, 3), tolerance = 1e-6)
    expect_equal(predict(fit), predict(fit, fit$data), tolerance = 1e-6)
  }
})

test_that("limits are quantiles of what depends on hyperparameters too", {
  fit <- mixed_fit(gaussian())
  new <- data.frame(x = 0.5, g = 3)
  shown <- predict(fit, new, type = "survival", times = 1, interval = "credible")[1, 1, ]
  # draws of P(Y > 1 | eta, noise): 1 - Phi((1 - eta) / sd), each state with its own sd
  set.seed(1)
  exceeds <- unlist(lapply(fit_states(fit), function(state) {
    link <- predict(at_state(fit, state), new, type = "link", se.fit = TRUE)
    eta <- rnorm(round(2e5 * state$weight), link$fit, link$se.fit)
    pnorm(1, eta, sqrt(state$posterior$hyper[fit$model$hyper$name == "gaussian.variance"]), lower.tail = FALSE)
  }))
  expect_equal(unname(shown[c("lwr", "upr")]), unname(quantile(exceeds, c(0.025, 0.975))), tolerance = 0.02)
})

test_that("leaving out a row of a gaussian model is the fit without it, hyperparameters included", {
  skip_if_not_installed("loo")
  set.seed(2)
  d <- data.frame(x = sort(runif(12)))
  d$y <- sin(5 * d$x) + rnorm(12, sd = 0.3)
  fit_to <- function(d) {
    galvi(y ~ 0 + gp(x, kernel = se(fixed(1), log_normal(-1, 0.5))), d,
      galvi_family("gaussian", variance = log_normal(-2, 1)), hyper = "integrate")
  }
  fit <- fit_to(d)
  loo <- loo::loo(fit)$pointwise[, "elpd_loo"]
  again <- vapply(c(2, 6, 12), function(n) unname(predict(fit_to(d[-n, ]), d[n, ], type = "density")), 0)
  # two grids of some sixty points
  expect_equal(unname(loo[c(2, 6, 12)]), again, tolerance = 0.02)
})

test_that("all methods take a mixture", {
  fit <- mixed_fit()
  expect_output(print(fit), "Random effects")
  expect_output(print(summary(fit)), "Random effects")
  for (type in c("response", "link", "terms", "quantile", "density")) {
    expect_true(all(is.finite(unlist(predict(fit, fit$data, type = type)))))
  }
  for (type in c("response", "pearson", "deviance", "quantile")) {
    expect_true(all(is.finite(residuals(fit, type))))
  }
  expect_length(ranef(fit)[[1]]$mean, 12)
  expect_identical(dim(simulate(fit, 2)), c(60L, 2L))
  expect_error(add_data(fit, fit$data), class = "galvi_error_argument")
  path <- tempfile()
  saveRDS(fit, path)
  expect_identical(predict(readRDS(path), fit$data), predict(fit, fit$data))
  expect_s3_class(galvi(y ~ x + (1 | g), fit$data, poisson(), start = fit, hyper = "fixed"), "galvi")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_no_error(plot(fit))
})

test_that("classes and two predictors are mixtures too", {
  set.seed(3)
  d <- data.frame(x = rnorm(50), z = runif(50))
  d$k <- factor(sample(c("a", "b", "c"), 50, TRUE))
  d$y <- rnorm(50, d$x, exp(0.5 * d$z))
  classes <- galvi(k ~ x, d, categorical(), prior = list(x = normal(0, sd = learn(1))), hyper = "integrate")
  expect_gt(length(classes$states), 5)
  p <- predict(classes, d, type = "prob", se.fit = TRUE)
  expect_equal(unname(rowSums(p$fit)), rep(1, 50))
  expect_true(all(p$se.fit > 0))
  both <- galvi(list(y ~ gp(x), sigma ~ z), d, hyper = "integrate")
  expect_true(all(is.finite(predict(both, d, interval = "credible"))))
  expect_true(all(is.finite(predict(both, d, dpar = "sigma", interval = "credible"))))
  expect_identical(dim(vcov(both)), c(3L, 3L))
})

test_that("hyperparameters at the end of their range or that nothing determines have no limits", {
  set.seed(1)
  d <- data.frame(x = rnorm(40), g = rep(1:8, 5))
  d$y <- d$x + rnorm(40)
  d$y <- d$y - ave(d$y, d$g)  # groups have the same mean: the variance goes to zero
  fit <- galvi(y ~ x + iid(g), d, control = galvi_control(uncertainty = "factorised"))
  at <- fit$hyper$name == "iid(g).variance"
  expect_true(is.na(fit$hyper$lwr[at]) || fit$hyper$status[at] == "learned" && fit$hyper$lwr[at] < 1e-3)
  expect_false(anyNA(fit$hyper[fit$hyper$name == "gaussian.variance", c("lwr", "upr")]))
  # weak priors make the posterior proper, so that a variance of zero has an upper limit
  zero <- galvi(y ~ x + iid(g), d)$hyper[at, ]
  expect_lt(zero$lwr, 0.01)
  expect_gt(zero$upr, 0.1)
  expect_false(anyNA(galvi(y ~ x + iid(g), d, hyper = "integrate")$hyper[at, c("lwr", "upr")]))
  held <- galvi(y ~ x + iid(g), d, hyper = "fixed")
  expect_true(all(is.na(held$hyper$lwr)))
  # summary() says why
  expect_null(missing_limits(held))
  expect_match(missing_limits(fit), "iid(g).variance", fixed = TRUE)
  many <- as.data.frame(matrix(rnorm(40 * 31), 40))
  many$y <- rnorm(40)
  quick <- galvi_control(hyper_iterations = 1)
  many <- suppressWarnings(galvi(y ~ gp(., kernel = se(ard = TRUE)), many, control = quick))
  expect_true(all(is.na(many$hyper$lwr)))
  expect_match(summary(many)$missing_limits, "more than 30")
})

test_that("thresholds, shares and correlations have limits on their own scale", {
  set.seed(1)
  d <- data.frame(x = rnorm(120))
  d$y <- cut(d$x + rlogis(120), c(-Inf, -1, 0.5, Inf), labels = c("low", "mid", "high"), ordered_result = TRUE)
  fit <- galvi(y ~ x, d, cumulative())
  h <- fit$hyper[fit$hyper$status == "learned", ]
  expect_gt(nrow(h), 0)
  expect_true(all(h$lwr < h$estimate & h$estimate < h$upr))
  walk <- data.frame(t = 1:60, y = as.vector(stats::arima.sim(list(ar = 0.6), 60)))
  for (hyper in c("optimise", "integrate")) {
    h <- galvi(y ~ ar1(t), walk, galvi_family("gaussian", variance = fixed(0.01)), hyper = hyper)$hyper
    r <- h[h$parameter == "correlation", ]
    expect_true(r$lwr > 0 && r$lwr < 0.6 && r$upr > 0.6 && r$upr < 1)
  }
})

test_that("too many hyperparameters are refused with what to do, and weak priors are recorded", {
  d <- as.data.frame(matrix(rnorm(40 * 17), 40))
  d$y <- rnorm(40)
  expect_error(galvi(y ~ gp(., kernel = se(ard = TRUE)), d, hyper = "integrate"), class = "galvi_error_argument")
  expect_error(galvi(y ~ gp(V1) + gp(V2), d, hyper = "integrate", control = galvi_control(hyper_design = "grid")),
    class = "galvi_error_argument")
  fit <- mixed_fit()
  expect_true("iid(g).sd" %in% names(fit$prior))
})

test_that("a posterior of hyperparameters without an end is an error", {
  # of volatilities: zeros are the more likely the larger the variance of log volatilities is, without a limit
  set.seed(5)
  d <- data.frame(x = rnorm(10), y = rpois(10, exp(rnorm(10))))
  expect_error(
    galvi(y ~ x + gp(log(abs(x) + 1)), d, "stochastic_volatility", hyper = "integrate",
      control = galvi_control(hyper_design = "grid")),
    "density is far higher elsewhere", class = "galvi_error_numeric"
  )
})
