# gam() with tight tolerances, beside galvi() with the same priors.

flat_prior <- list(intercept = normal(0, Inf), default = normal(0, Inf))

known_hyper <- function() galvi_control(uncertainty = "factorised")

#' Both fits of a formula: list(galvi, gam, sp: smoothing parameters of galvi, in gam's order)
fit_both <- function(formula, data, family = gaussian()) {
  control <- mgcv::gam.control(newton = list(conv.tol = 1e-11))
  # without an attached mgcv gam() finds s() all the same
  gam <- suppressWarnings(mgcv::gam(formula, data = data, family = family, method = "REML", control = control))
  fit <- galvi(formula, data = data, family = family, prior = flat_prior, control = known_hyper())
  at <- of_smooths(fit) | of_random_effects(fit)
  scale <- if (family$family == "gaussian") sigma(fit)^2 else 1
  list(galvi = fit, gam = gam, sp = scale / fit$hyper$estimate[at])
}

#' How far they are apart: sp, relative, where gam's is below 1e5; fit, in sd(y) and in sds of gam; sd, relative
distances <- function(both, y) {
  own <- predict(both$galvi, type = "link", se.fit = TRUE)
  gam <- predict(both$gam, type = "link", se.fit = TRUE)
  away <- own$fit - c(gam$fit)
  known <- both$gam$sp < 1e5
  list(
    sp = if (any(known)) max(abs(both$sp / both$gam$sp - 1)[known]) else 0, fit = max(abs(away)) / sd(y),
    sds = abs(away) / c(gam$se.fit), sd = max(abs(own$se.fit / c(gam$se.fit) - 1))
  )
}

expect_as_gam <- function(formula, data, sp = 1e-3) {
  both <- fit_both(formula, data)
  d <- distances(both, both$galvi$model$y)
  label <- deparse(formula)
  expect_lt(d$sp, sp, label = paste("smoothing parameters of", label))
  expect_lt(d$fit, 1e-4, label = paste("fitted values of", label))
  expect_lt(d$sd, 1e-3, label = paste("sds of", label))
  away <- predict(both$galvi, data) - predict(both$galvi)
  expect_lt(max(abs(away)) / sd(both$galvi$model$y), 1e-9, label = paste("predictions at the rows of", label))
  invisible(both)
}

simulated <- function(n = 200, seed = 1) {
  with_seed(seed, {
    d <- data.frame(
      x = runif(n), z = runif(n), w = runif(n), f = factor(sample(c("a", "b", "c"), n, TRUE)),
      g = factor(sample(letters[1:6], n, TRUE))
    )
    d$y <- sin(6 * d$x) * (1 + as.integer(d$f)) + d$z + stats::rnorm(n) * 0.3
    d$count <- stats::rpois(n, exp(sin(6 * d$x) + d$z))
    d$two <- stats::rbinom(n, 1, stats::plogis(2 * sin(6 * d$x) + d$z))
    d
  })
}

# What plot() draws.
panel_data <- function(fit, ...) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  plot(fit, ...)
}
