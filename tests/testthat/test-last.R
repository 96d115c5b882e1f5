# Fits that are stopped: by a limit of time, by the user.

skip_on_cran()

stop_data <- function(n = 300) {
  set.seed(1)
  d <- data.frame(x = runif(n, 0, 10), z = runif(n))
  d$y <- rbinom(n, 1, plogis(3 * sin(d$x) + d$z))
  d
}
slow_formula <- y ~ gp(x, z, kernel = matern32(ard = TRUE))
# No time at all: what stands after the first iteration.
at_once <- function(..., seconds = 1e-6) galvi_control(max_seconds = seconds, ...)
stopped <- function(...) suppressWarnings(galvi(..., verbose = FALSE), classes = "galvi_warning_convergence")

test_that("a fit whose time is over says so, is galvi_last(), and update() goes on from it", {
  d <- stop_data()
  expect_warning(
    fit <- galvi(slow_formula, d, binomial(), verbose = FALSE, control = at_once()), "max_seconds",
    class = "galvi_warning_convergence"
  )
  expect_false(fit$convergence$converged)
  expect_true(fit$stopped)
  expect_identical(galvi_last(), fit)
  expect_true(all(is.finite(predict(fit, d[1:3, ], se.fit = TRUE)$se.fit)))
  done <- update(fit, control = galvi_control())
  expect_true(done$convergence$converged)
  expect_null(done$stopped)
  expect_gt(done$elbo, fit$elbo)
  expect_lt(object.size(done$call), 1e4)  # the fit that it began with is not in it
  expect_close(done$elbo, galvi(slow_formula, d, binomial(), verbose = FALSE)$elbo, tol$fuzz_learned)
})

test_that("every method leaves a fit when its time is over", {
  d <- stop_data(60)
  for (method in inference_facts()$name) {
    family <- switch(method, exact = gaussian(), mean_field = binomial("probit"), dual = poisson(), binomial())
    sums <- method %in% c("incremental", "stochastic")
    formula <- if (sums) y ~ gp(x, z, inducing = 10) else y ~ gp(x, z)
    for (joint in unique(c(FALSE, sums))) {
      fit <- stopped(formula, d, family, method = method, control = at_once(joint = joint))
      expect_false(fit$convergence$converged, label = method)
      expect_true(is.finite(fit$elbo), label = method)
      expect_true(fit$stopped, label = method)
    }
  }
})

test_that("each further time limit brings a fit nearer to its end", {
  d <- stop_data()
  fit <- stopped(slow_formula, d, binomial(), control = at_once())
  bounds <- fit$elbo
  for (i in 1:3) {
    if (is.null(fit$stopped)) break  # update() would begin anew
    fit <- suppressWarnings(update(fit, control = at_once(seconds = 0.05)))
    bounds <- c(bounds, fit$elbo)
  }
  expect_true(all(diff(bounds) >= -1e-6))
  expect_gt(max(bounds), bounds[1L])
})

test_that("whenever the time is over, there is a fit", {
  d <- stop_data(150)
  fit <- stopped(slow_formula, d, binomial(), control = at_once())
  for (seconds in seq(0.005, 0.25, length.out = 60)) {
    limited <- suppressWarnings(update(fit, control = at_once(seconds = seconds)))
    expect_gte(limited$elbo, fit$elbo - tol$fuzz_learned)
  }
})

test_that("a limit of time reaches every kind of fit", {
  d <- stop_data(120)
  d$g <- factor(rep(1:12, 10))
  d$count <- rpois(120, exp(sin(d$x)))
  d$class <- cut(d$z + sin(d$x), 3, ordered_result = TRUE)
  kinds <- list(
    integrated = function(...) stopped(count ~ z + (1 + z | g), d, poisson(), hyper = "integrate", ...),
    classes = function(...) stopped(class ~ x + z + (1 | g), d, categorical(), ...),
    ordinal = function(...) stopped(class ~ z + gp(x), d, cumulative(), ...),
    predictors = function(...) stopped(list(z ~ gp(x), sigma ~ gp(x)), d, ...),
    factors = function(...) stopped(responses(cbind(a = d$count, b = d$y)) ~ 1 + factors(1), d, poisson(), ...)
  )
  for (name in names(kinds)) {
    fit <- kinds[[name]](control = at_once())
    expect_true(fit$stopped, label = name)
    expect_true(is.finite(fit$elbo), label = name)
  }
  # some of the integration is done when its time is over: the fit is the one at the mode
  mode <- galvi(count ~ z + (1 + z | g), d, poisson(), verbose = FALSE)
  for (seconds in c(0.1, 0.2, 0.3)) {
    fit <- kinds$integrated(control = at_once(seconds = seconds))
    if (!is.null(fit$stopped)) expect_null(fit$states)
    expect_lte(fit$elbo, mode$elbo + tol$fuzz_learned)
  }
})

test_that("an interrupt leaves a loop, and the fit so far", {
  skip_on_cran()
  skip_on_os("windows")
  done <- value_in_time({
    set.seed(1)
    n <- 2000
    d <- data.frame(x = runif(n, 0, 10), z = runif(n))
    d$y <- rbinom(n, 1, plogis(3 * sin(d$x) + d$z))
    system(sprintf("(sleep 5; kill -INT %d) &", Sys.getpid()))
    said <- tryCatch({
      for (i in 1:2) galvi(y ~ gp(x, z, kernel = matern32(ard = TRUE)), d, binomial(), verbose = FALSE)
      "finished"
    }, interrupt = function(e) "interrupted")
    fit <- galvi_last()
    list(said = said, converged = fit$convergence$converged, stopped = fit$stopped,
         finite = all(is.finite(predict(fit, d[1:5, ]))), message = fit$convergence$message)
  }, seconds = 60)
  expect_identical(done$said, "interrupted")
  expect_false(done$converged)
  expect_true(done$stopped && done$finite)
  expect_match(done$message, "interrupted")
})

test_that("a time limit of R is an error, which leaves the fit so far", {
  done <- value_in_time({
    set.seed(1)
    n <- 2000
    d <- data.frame(x = runif(n, 0, 10), z = runif(n))
    d$y <- rbinom(n, 1, plogis(3 * sin(d$x) + d$z))
    said <- tryCatch({
      setTimeLimit(elapsed = 4, transient = TRUE)
      for (i in 1:2) galvi(y ~ gp(x, z, kernel = matern32(ard = TRUE)), d, binomial(), verbose = FALSE)
      "finished"
    }, error = conditionMessage, interrupt = function(e) "interrupted", finally = setTimeLimit())
    list(said = said, stopped = galvi_last()$stopped)
  }, seconds = 60)
  expect_match(done$said, "time limit")
  expect_true(done$stopped)
})

test_that("a fit whose time is over before its uncertainty was found says so", {
  d <- stop_data(200)
  told <- 0
  # machines differ in where these limits fall
  for (seconds in 10^seq(-4, 0, by = 0.25)) {
    warned <- ""
    fit <- withCallingHandlers(
      galvi(y ~ s(x) + s(z), d, binomial(), verbose = FALSE, control = at_once(seconds = seconds)),
      galvi_warning = function(w) {
        warned <<- conditionMessage(w)
        invokeRestart("muffleWarning")
      }
    )
    expect_identical(uncertainty_method(fit) == "factorised", nzchar(warned))
    if (nzchar(warned)) expect_match(warned, "max_seconds")
    told <- told + (nzchar(warned) && is.null(fit$stopped))
  }
  expect_gt(told, 0)
})
