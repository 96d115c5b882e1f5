test_that("a fit has the fields that users are promised", {
  fit <- small_fit("gaussian")
  expect_s3_class(fit, "galvi")
  expect_true(all(c("call", "formula", "family", "method", "expectation", "prior", "hyper", "elbo", "trace",
    "convergence", "nobs", "backend", "posterior") %in% names(fit)))
  expect_named(fit$hyper, c("name", "term", "parameter", "estimate", "lwr", "upr", "lower", "upper", "status"))
  expect_false(anyNA(names(fit$posterior)))
  expect_true(all(c("iteration", "seconds", "flops", "elbo") %in% names(fit$trace)))
  expect_true(all(c("converged", "message", "gradient_norm", "gap") %in% names(fit$convergence)))
  expect_true(all(fit$hyper$status %in% c("learned", "fixed", "at bound")))
  expect_identical(as.character(fit$call[[1L]]), "galvi")
  expect_identical(fit$nobs, 50L)
})

test_that("the hyperparameter table names terms and parameters", {
  hyper <- small_fit("gaussian")$hyper
  expect_true(all(c("gp(speed).lengthscale", "gp(speed).variance", "gaussian.variance") %in% hyper$name))
  expect_identical(hyper$term[hyper$name == "gp(speed).lengthscale"], "gp(speed)")
  expect_identical(hyper$parameter[hyper$name == "gp(speed).lengthscale"], "lengthscale")
  expect_identical(hyper$estimate[hyper$name == "gp(speed).lengthscale"], 8)
})

test_that("hyperparameters with dots, classes and thresholds know their term", {
  hyper <- list(
    name = c("x.1.sd", "gp(log(x.1)).lengthscale", "gp(x)[a.b].se.variance", "cumulative.(0,1]|(1,2]",
      "cumulative.(1,2]|(2,3]"),
    term = c("fixed", "gp(log(x.1))", "gp(x)", "cumulative", "cumulative"),
    parameter = c("sd", "lengthscale", "se.variance", "(0,1]|(1,2]", "(1,2]|(2,3]"),
    transform = c("log", "log", "log", "identity", "above"), learned = rep(TRUE, 5),
    lower = rep(0, 5), upper = rep(9, 5)
  )
  table <- galvi:::hyper_table(list(hyper = hyper), list(hyper = 1:5, at_bound = c(TRUE, rep(FALSE, 4))))
  expect_identical(table$term, c("x.1", "gp(log(x.1))", "gp(x)", "cumulative", "cumulative"))
  expect_identical(table$parameter, hyper$parameter)
  expect_identical(table$status[1:2], c("at bound", "learned"))
  expect_identical(is.na(table$lower), c(FALSE, FALSE, FALSE, FALSE, TRUE))
})

test_that("a fit is plain data and survives saveRDS()", {
  fit <- small_fit("binary")
  file <- local_file()
  saveRDS(fit, file)
  again <- readRDS(file)
  expect_identical(predict(again, mtcars[1:3, ]), predict(fit, mtcars[1:3, ]))
  expect_identical(predict(again), predict(fit))
  expect_true(is_plain(fit[setdiff(names(fit), c("call", "formula", "family", "design", "data"))]))
})

test_that("a fit that has not converged warns once, with a class, and is still a fit", {
  few <- galvi_control(max_iterations = 1)
  expect_warning(
    fit <- galvi(am ~ 0 + gp(wt, hp, kernel = se(variance = 1000, lengthscale = 1)), data = mtcars,
      family = binomial(), hyper = "fixed", method = "natural_gradient", control = few),
    class = "galvi_warning_convergence"
  )
  expect_false(fit$convergence$converged)
  expect_match(fit$convergence$message, ".")
  expect_output(print(fit), "NOT CONVERGED")
  expect_true(all(is.finite(predict(fit))))
})

test_that("several starts are kept as a table", {
  result <- list(elbo = c(-2, -1), converged = c(TRUE, TRUE), hyper = cbind(1:2, 3:4))
  starts <- starts_table(result, list(name = c("a.b", "c"), parameter = c("b", "c")))
  expect_named(starts, c("start", "elbo", "converged", "a.b", "c"))
  expect_identical(starts$c, 3:4)
  expect_null(starts_table(NULL, "a"))
})

test_that("a fit whose predictions are not its fitted values says so", {
  d <- data.frame(x = seq(0, 1, length.out = 40))
  d$y <- sin(6 * d$x) + 0.1 * cos(40 * d$x)
  rough <- y ~ gp(x, kernel = se(variance = fixed(1e6), lengthscale = fixed(0.3)))
  fit_with <- function(noise) galvi(rough, d, galvi_family(gaussian(), variance = fixed(noise)))
  expect_warning(fit <- fit_with(1e-10), "posterior standard", class = "galvi_warning_numeric")
  expect_match(fit$convergence$message, "differ from the fitted values")
  expect_no_warning(fit_with(1e-2))
})

test_that("a fit of a version with another format says what to do, whatever it is asked", {
  fit <- galvi(dist ~ speed, cars)
  refused <- function(fit, text) {
    for (ask in list(predict, coef, vcov, print, summary, confint, residuals, simulate, check_fit, plot, loo::loo,
                     rstantools::posterior_predict, function(fit) add_data(fit, cars))) {
      expect_error(ask(fit), text, class = "galvi_error_data")
    }
  }
  unmarked <- fit
  unmarked$format <- NULL
  refused(unmarked, "earlier version.*update\\(fit\\)")
  refused(replace(fit, "format", 0L), "earlier version.*update\\(fit\\)")
  refused(replace(fit, "format", fit$format + 1L), "later version")
  expect_identical(predict(update(replace(fit, "format", 0L))), predict(fit))
})

test_that("limits of hyperparameters are those of hyper_at_level(), wherever the uncertainty comes from", {
  set.seed(1)
  d <- data.frame(x = runif(60), z = rnorm(60), y = rpois(60, 2))
  fits <- suppressMessages(list(
    points = galvi(y ~ x, d, negbinomial()), states = galvi(z ~ s(x), d),
    factorised = galvi(z ~ s(x), d, control = galvi_control(uncertainty = "factorised"))
  ))
  for (name in names(fits)) {
    expect_identical(fits[[name]]$convergence$uncertainty$method, name)
    expect_identical(fits[[name]]$hyper, hyper_at_level(fits[[name]], 0.95))
    expect_false(all(is.na(fits[[name]]$hyper$lwr)))
  }
})
