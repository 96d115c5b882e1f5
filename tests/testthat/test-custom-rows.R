# Families from R functions where the rows are read from a source, with workers, or come later: the same fit as
# of a data frame, and as of the core's own family.

late_poisson <- function() {
  custom_family("late_poisson", function(y, eta) y * eta - exp(eta) - lgamma(y + 1),
                derivatives = function(y, eta) list(y - exp(eta), -exp(eta)),
                links = "log", support = "count", log_concave = TRUE)
}
late_gumbel <- function() {
  custom_family("late_gumbel", function(y, eta, scale) {
    z <- (y - eta) / scale
    -z - exp(-z) - log(scale)
  }, parameters = list(scale = 1), log_concave = TRUE)
}
late_data <- function(n = 1500) {
  set.seed(3)
  d <- data.frame(x = rnorm(n), z = runif(n))
  d$count <- rpois(n, exp(0.5 + 0.3 * d$x + sin(5 * d$z)))
  d$late <- d$x - 0.7 * log(-log(runif(n)))
  d
}
# A third of the rows at a time.
late_source <- function(d) {
  parts <- split(d, rep(1:3, each = nrow(d) / 3))
  at <- 0
  function(reset = FALSE) {
    at <<- if (reset) 0 else at + 1
    if (at %in% 1:3) parts[[at]]
  }
}
late_fit <- function(..., control = galvi_control(backend = "blas")) galvi(..., verbose = FALSE, control = control)

test_that("a source gives the fit of a data frame, learned parameters too", {
  d <- late_data()
  for (case in list(list(count ~ x, late_poisson()), list(late ~ x, late_gumbel()))) {
    memory <- late_fit(case[[1L]], d, case[[2L]])
    source <- late_fit(case[[1L]], late_source(d), case[[2L]])
    expect_close(source$elbo, memory$elbo, tol$elbo)
    expect_close(source$hyper$estimate, memory$hyper$estimate, tol$gradient)  # the search's own
    expect_close(coef(source), coef(memory), tol$gradient)
  }
})

test_that("workers give the same bits, and the core's own family the same fit", {
  cluster <- local_cluster()
  d <- late_data()
  away <- late_fit(count ~ x, d, late_poisson(), control = galvi_control(backend = "blas", cluster = cluster))
  here <- late_fit(count ~ x, d, late_poisson(), method = away$method)
  expect_identical(bits_of(away), bits_of(here))
  expect_close(here$elbo, late_fit(count ~ x, d, poisson())$elbo, tol$elbo)
  sparse <- count ~ gp(z, inducing = 5)
  away <- late_fit(sparse, d, late_poisson(), hyper = "fixed",
                   control = galvi_control(backend = "blas", cluster = cluster))
  expect_identical(bits_of(away), bits_of(late_fit(sparse, d, late_poisson(), hyper = "fixed", method = away$method)))
})

test_that("a worker says which function failed, and of which family", {
  cluster <- local_cluster(1)
  d <- late_data()
  shift <- 0
  family <- custom_family("shifted", function(y, eta) dnorm(y, eta + shift, log = TRUE))
  control <- galvi_control(cluster = cluster)
  expect_no_error(late_fit(late ~ x, d, family, control = control))  # a closure takes its shift along
  rm(shift)
  expect_error(late_fit(late ~ x, d, family, control = control), "`log_density` of the custom family \"shifted\"",
               class = "galvi_error_callback")
})

test_that("rows that come later add to a custom family as to the core's own", {
  d <- late_data()
  first <- seq_len(1000)
  formula <- count ~ x
  own <- add_data(late_fit(formula, d[first, ], late_poisson()), d[-first, ])
  built_in <- add_data(late_fit(formula, d[first, ], poisson()), d[-first, ])
  expect_close(own$elbo, built_in$elbo, tol$elbo)
  expect_close(coef(own), coef(built_in), tol$gradient)
})

test_that("a custom family has no second predictor", {
  expect_error(late_fit(list(count ~ x, sigma ~ x), late_data(), late_poisson()), "late_poisson",
               class = "galvi_error_formula")
})
