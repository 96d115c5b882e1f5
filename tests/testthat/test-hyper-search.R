# The search for hyperparameters from a guess of the Hessian, and where each of its inferences starts.

with_gradient <- function(value, gradient) structure(value, gradient = gradient)

test_that("a search from a guess of the Hessian ends at the minimum, inside and at bounds", {
  H <- matrix(c(300, 250, 250, 290), 2)
  quadratic <- function(x) with_gradient(sum(x * (H %*% x)) / 2, drop(H %*% x))
  wide <- c(10, 10)
  # Newton's step where the guess is right
  right <- probe_from_hessian(quadratic, c(1, -2), H, -wide, wide)
  expect_true(right$converged)
  expect_identical(right$evaluations, 2L)
  expect_close(right$x, c(0, 0), 1e-8)
  # few more where it is off by factors, and where the function is not quadratic
  for (guess in list(H / 10, H * 10, diag(2), diag(c(1e4, 1)))) {
    found <- probe_from_hessian(quadratic, c(1, -2), guess, -wide, wide)
    expect_true(found$converged)
    expect_lt(found$evaluations, 25)
    expect_close(found$x, c(0, 0), 1e-6)
  }
  curved <- function(x) {
    r <- c(10 * (x[2] - x[1]^2), 1 - x[1])
    with_gradient(sum(r^2), c(-40 * x[1] * r[1] - 2 * r[2], 20 * r[1]))
  }
  expect_close(probe_from_hessian(curved, c(-1, 1), diag(2), -wide, wide)$x, c(1, 1), 1e-5)
  # the minimum over x[1] >= 0.5 is at its bound
  bounded <- probe_from_hessian(quadratic, c(1, -2), H, c(0.5, -10), wide)
  expect_true(bounded$converged)
  expect_close(bounded$x, c(0.5, -0.5 * 250 / 290), 1e-6)
  # where there is no value, steps are shortened
  walled <- function(x) if (x[1] < -0.1) with_gradient(Inf, c(0, 0)) else quadratic(x)
  expect_close(probe_from_hessian(walled, c(1, -2), H / 3, -wide, wide)$x, c(0, 0), 1e-6)
})

test_that("sites are extrapolated linearly, never far", {
  x <- cbind(c(0, 0), c(0.1, 0), c(0, 0.1))
  b <- lapply(1:3, function(i) matrix(1:5 + x[1, i] - 3 * x[2, i]))
  lambda <- lapply(1:3, function(i) matrix(2 + 1:5 * x[1, i] + x[2, i]))
  at <- c(0.05, 0.12)
  found <- probe_site_path(x, lambda, b, at)
  # but for the penalty on the coefficients
  expect_close(found$b, matrix(1:5 + at[1] - 3 * at[2]), 1e-2)
  expect_close(found$lambda, matrix(2 + 1:5 * at[1] + at[2]), 1e-2)
  # from the last point, where the move is longer than those before
  expect_identical(probe_site_path(x, lambda, b, c(5, 5)), list(lambda = lambda[[3]], b = b[[3]]))
  # precisions stay positive
  steep <- lapply(1:3, function(i) matrix(1 - 9.9 * x[1, i], 5))
  expect_true(all(probe_site_path(x, steep, b, c(0.3, 0))$lambda >= 0.5))
  # negative ones are not extrapolated
  negative <- lapply(lambda, `-`)
  expect_identical(probe_site_path(x, negative, b, at)$lambda, negative[[3]])
})

test_that("searches over sums of many rows end, and know that they have", {
  # The constants of equal rows add up to a number with fewer digits than the last steps gain, unless it is summed with
  # care: searches then went on for twenty inferences, or said that they had not converged.
  for (seed in 1:3) {
    set.seed(seed)
    d <- data.frame(g = gl(1000, 50), x = rnorm(50000))
    d$y <- d$x + rnorm(1000)[d$g] + rnorm(50000)
    expect_no_warning(fit <- galvi(y ~ x + (1 | g), d))
    expect_true(fit$convergence$converged)
    expect_lt(fit$cost$sweeps, 20)
    expect_no_warning(fit <- galvi(y ~ x + (1 | g), d, weights = frequency(rep_len(c(1, 3, 2), 50000))))
    expect_lt(fit$cost$sweeps, 20)
  }
})

test_that("a process does not take a season for noise", {
  fit_of <- function(d, formula = y ~ gp(t)) galvi(formula, d)
  air <- data.frame(t = 1:144, y = as.numeric(log(AirPassengers)))
  # the best of many starts
  expect_gt(fit_of(air)$elbo, 98.3)
  expect_gt(fit_of(air, y ~ gp(t, kernel = matern52()))$elbo, 105.7)
  temperature <- data.frame(t = as.numeric(time(nottem)), y = as.numeric(nottem))
  found <- fit_of(temperature)
  expect_gt(found$elbo, -670.5)
  expect_true(found$convergence$converged)
  # rows in any order, and levels with a process each
  expect_equal(fit_of(temperature[sample(240), ])$elbo, found$elbo, tolerance = 1e-6)
  twice <- rbind(cbind(air, g = "a"), cbind(air, g = "b"))
  expect_gt(fit_of(twice, y ~ g + gp(t, by = g))$elbo, 196)
  # a start that was typed stays, and so does a search that has missed nothing
  slow <- fit_of(air, y ~ gp(t, kernel = se(lengthscale = 400)))
  expect_lt(slow$elbo, 74)
})

test_that("a search that ends at a singular correlation has converged where points aside gain nothing", {
  skip_if_not_installed("lme4")
  fit <- galvi(log(1 + total.fruits) ~ nutrient * amd + rack + status + (amd * nutrient | popu) + (1 | gen),
    lme4::Arabidopsis, verbose = FALSE)
  expect_true(fit$convergence$converged)
  expect_gt(fit$elbo, -1056.44)
})

test_that("of a sum of kernels, one part is tried as the fast one", {
  air <- data.frame(t = 1:144, y = as.numeric(log(AirPassengers)))
  fit <- galvi(y ~ gp(t, kernel = se() + se() * periodic(12)), data = air)
  expect_gt(fit$elbo, 239)  # 216.7 where both are slow, 200.1 where both are fast
  expect_identical(nrow(fit$starts), 3L)
  both <- rbind(cbind(air, g = "a"), cbind(transform(air, y = 0.8 * y + 0.02 * sin(17 * t)), g = "b"))
  shared <- galvi(y ~ g + gp(t, by = g, by_hyper = "shared", kernel = se() + se() * periodic(12)), data = both)
  # the search, a part that is fast, the other
  expect_identical(nrow(shared$starts), 3L)
})

# ---- variances of zero ----

felt <- 1e-3  # nats: what leaves a variance at zero gains at least that

test_that("a variance ends at zero only where the bound is highest there", {
  data <- with_seed(0, mgcv::gamSim(4, verbose = FALSE))
  formula <- y ~ s(log(x0 + 1)) + s(sqrt(x1))
  fit <- suppressMessages(galvi(formula, data))
  start <- c("s(log(x0 + 1)).variance" = 12.6, "s(sqrt(x1)).variance" = 1.08e-3, gaussian.variance = 10.72)
  expect_gt(fit$elbo, suppressMessages(update(fit, start = start))$elbo - felt)
  expect_identical(fit$hyper$status[endsWith(fit$hyper$name, ").variance")], c("learned", "at bound"))
})

test_that("weak signals are found as from several starts", {
  for (seed in c(14, 23, 35, 36:38)) {
    data <- with_seed(seed, {
      d <- data.frame(x0 = runif(120), x1 = runif(120))
      d$y <- sin(2 * pi * d$x0) / 4 + rnorm(120)
      d
    })
    formula <- y ~ s(x0) + s(x1) + te(x0, x1, k = 5)
    fit <- suppressMessages(galvi(formula, data))
    several <- with_seed(1, suppressMessages(galvi(formula, data, control = galvi_control(starts = 4))))
    expect_gt(fit$elbo, several$elbo - felt)
  }
})

test_that("a search does not step over a small variance", {
  # below it the bound is flat: a search that jumps there looks as if it had converged
  felt <- 0.01  # nats
  groups <- function(seed, response) {
    set.seed(seed)
    d <- data.frame(x = rnorm(8000), g = factor(sample(60, 8000, TRUE)))
    d$y <- response(0.5 * d$x + rnorm(60, sd = 0.05)[d$g])
    d
  }
  fit_from <- function(d, family, start = NULL) {
    suppressMessages(galvi(y ~ x + (1 | g), d, family = family, start = start))
  }
  near <- c("iid(g).variance" = 0.01)
  by_glmer <- c(0.0500, 0.0619, 0.0419)  # standard deviations, lme4 1.1-31, seeds 2 to 4
  for (seed in 2:4) {
    d <- groups(seed, function(eta) rpois(length(eta), exp(eta)))
    fit <- fit_from(d, poisson())
    expect_true(fit$convergence$converged)
    expect_lt(abs(fit$elbo - fit_from(d, poisson(), near)$elbo), felt)
    # galvi integrates over the intercept
    expect_lt(abs(sqrt(fit$hyper$estimate) - by_glmer[seed - 1]), 0.003)
  }
  d <- groups(2, function(eta) rnbinom(length(eta), mu = exp(eta), size = 3))
  expect_lt(abs(fit_from(d, negbinomial())$elbo - fit_from(d, negbinomial(), near)$elbo), felt)
})

test_that("few rows of a smooth surface on a grid are not taken for rows without correlation", {
  surface <- function(x1, x2) {
    a <- 15 * x1 - 5
    b <- 15 * x2
    (b - 5.1 / (4 * pi^2) * a^2 + 5 / pi * a - 6)^2 + 10 * (1 - 1 / (8 * pi)) * cos(a) + 10
  }
  new <- expand.grid(x1 = seq(0.05, 0.95, 0.1), x2 = seq(0.05, 0.95, 0.1))
  truth <- surface(new$x1, new$x2)
  for (m in 4:5) {
    d <- expand.grid(x1 = seq(0, 1, length.out = m), x2 = seq(0, 1, length.out = m))
    d$y <- surface(d$x1, d$x2)
    fit <- suppressWarnings(galvi(y ~ gp(x1, x2, kernel = se(ard = TRUE)), d))
    # a search from the median distance alone ends at a lengthscale of a hundredth of the grid's and errors of 300 and more
    expect_lt(sqrt(mean((predict(fit, new) - truth)^2)), sd(truth) / 3)
    expect_identical(nrow(fit$starts), 3L)
  }
  # several starts that were asked for are those of the user
  expect_identical(nrow(suppressWarnings(galvi(fit$formula, d, control = galvi_control(starts = 2)))$starts), 2L)
})
