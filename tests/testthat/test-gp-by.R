# gp(x, by = f): hyperparameters of its own for each level, or shared ones.

by_data <- function(n = 60) {
  set.seed(4)
  d <- data.frame(x = round(runif(n), 2), f = factor(rep(c("wiggly", "flat"), length.out = n)), z = rnorm(n))
  d$mu <- ifelse(d$f == "wiggly", sin(14 * d$x), 0.5 * d$x)
  d$y <- d$mu + rnorm(n, sd = 0.15)
  d$n <- rpois(n, exp(0.5 + d$mu))
  d
}

noise <- function() galvi_family(gaussian(), variance = fixed(0.15^2))

# Two searches for the same optimum, each accurate to hyper_tol = 1e-6 nats.
same_optimum <- 1e-4

test_that("copies with hyperparameters of their own are fits to the levels apart", {
  d <- by_data()
  for (inducing in list(NULL, 7)) {
    together <- galvi(y ~ 0 + gp(x, by = f, inducing = inducing, kernel = se(0.5, 0.3)), d, noise(),
      control = galvi_control(move_inducing = FALSE))
    points <- if (!is.null(inducing)) data.frame(x = together$inducing[[1L]][, 1L])
    apart <- lapply(levels(d$f), function(level) {
      galvi(y ~ 0 + gp(x, inducing = points, kernel = se(0.5, 0.3)), d[d$f == level, ], noise(),
        control = galvi_control(move_inducing = FALSE))
    })
    expect_equal(together$elbo, sum(vapply(apart, `[[`, 0, "elbo")), tolerance = same_optimum)
    own <- function(fit) fit$hyper$estimate[fit$hyper$status == "learned"]
    found <- stats::setNames(own(together), together$hyper$name[together$hyper$status == "learned"])
    # a gain of 1e-6 nats moves a lengthscale by far less than this
    expect_equal(log(unname(found)), log(unlist(lapply(apart, own))), tolerance = 1e-2)
    expect_identical(names(found)[1:2], paste0("gp(x, by = f)[flat].", c("variance", "lengthscale")))
    for (level in 1:2) {
      at <- data.frame(x = c(0.1, 0.83), f = levels(d$f)[level])
      expect_equal(predict(together, at), predict(apart[[level]], at), tolerance = 1e-3)
    }
  }
})

test_that("one set for all levels is what by_hyper = \"shared\" says, for columns as for kernels", {
  d <- by_data()
  names_of <- function(term) {
    fit <- galvi(stats::reformulate(term, "y"), d, hyper = "fixed")
    grep("^gp", fit$hyper$name, value = TRUE)
  }
  expect_length(names_of("gp(x, by = f)"), 4L)
  expect_length(names_of("gp(x, by = f, by_hyper = \"shared\")"), 2L)
  expect_length(names_of("gp(x, by = z)"), 2L)
  expect_identical(names_of("gp(x, by = f, kernel = linear())"),
    paste0("gp(x, by = f)[", c("flat", "wiggly"), "].variance"))
  expect_length(names_of("gp(x, by = f, kernel = linear(), by_hyper = \"shared\")"), 1L)
  expect_error(galvi(y ~ gp(x, by = z, by_hyper = "each"), d), "factor", class = "galvi_error_argument")
  expect_error(galvi(y ~ gp(x, by_hyper = "each"), d), "factor", class = "galvi_error_argument")
  expect_error(galvi(y ~ gp(x, by = f, by_hyper = "one"), d), "by_hyper", class = "galvi_error_argument")
})

# Nats: a function that the data hardly show has a bound that is flat in its hyperparameters; learning stops there.
flat <- 1e-4

test_that("each level costs its own block: gradients are those of the bound, rows in any order", {
  d <- by_data(70)[sample(70), ]
  for (term in c("gp(x, by = f)", "gp(x, by = f, inducing = 6)", "gp(x, z, by = f, kernel = matern32() + linear())")) {
    formula <- stats::reformulate(term, "n")
    model <- galvi_model(galvi_design(formula, d, poisson()))
    fit <- galvi(formula, d, poisson(), control = galvi_control(move_inducing = FALSE))
    expect_true(fit$convergence$converged, info = term)
    sorted <- galvi(formula, d[order(d$f), ], poisson(), control = galvi_control(move_inducing = FALSE))
    expect_equal(sorted$elbo, fit$elbo, tolerance = same_optimum, info = term)
    # at the optimum the bound falls in every direction
    learned <- fit$hyper$name[fit$hyper$status == "learned"]
    for (name in learned) {
      moved <- vapply(c(0.8, 1.25), function(by) {
        at <- stats::setNames(fit$hyper$estimate, fit$hyper$name)
        at[name] <- at[name] * by
        galvi(formula, d, poisson(), start = at[learned], hyper = "fixed",
          control = galvi_control(move_inducing = FALSE))$elbo
      }, 0)
      expect_lt(max(moved), fit$elbo + flat)
    }
  }
})

test_that("classes and levels have their own names", {
  d <- transform(by_data(), k = factor(rep(c("u", "v", "w"), 20)))
  fit <- galvi(k ~ gp(x, by = f, kernel = per_class(se())), d, stick_breaking(), hyper = "fixed")
  expect_true("gp(x, by = f)[u][flat].variance" %in% fit$hyper$name)
  # weights of zero leave a level without rows
  none <- galvi(y ~ gp(x, by = f), d, weights = as.numeric(f == "flat"))
  expect_true(all(is.finite(predict(none, d, se.fit = TRUE)$se.fit)))
})

test_that("many levels are told of by_hyper = \"shared\"", {
  set.seed(1)
  d <- data.frame(x = runif(66), f = factor(rep(1:22, 3)), y = rnorm(66))
  expect_message(galvi(y ~ gp(x, by = f), d, hyper = "fixed"), "by_hyper = \"shared\"",
    class = "galvi_message_by")
  expect_no_message(galvi(y ~ f + gp(x, by = f, by_hyper = "shared"), d, hyper = "fixed"))
})

test_that("starts, updates, new rows and sources keep each level's own", {
  d <- by_data()
  fit <- galvi(y ~ f + gp(x, by = f), d)
  again <- galvi(y ~ f + gp(x, by = f), d, start = fit, hyper = "fixed")
  expect_equal(again$elbo, fit$elbo, tolerance = 1e-8)
  expect_equal(update(fit, . ~ ., hyper = "fixed", start = fit)$elbo, fit$elbo, tolerance = 1e-8)
  points <- data.frame(x = seq(0, 1, length.out = 8))
  typed <- list(intercept = normal(0, 3), default = normal(0, 3))
  sparse <- galvi(y ~ f + gp(x, by = f, inducing = points), d, prior = typed,
    control = galvi_control(move_inducing = FALSE))
  half <- galvi(y ~ f + gp(x, by = f, inducing = points), d[1:40, ], start = sparse, hyper = "fixed",
    prior = typed, control = galvi_control(move_inducing = FALSE))
  both <- add_data(half, d[41:60, ])
  expect_equal(both$elbo, galvi(y ~ f + gp(x, by = f, inducing = points), d, start = sparse, hyper = "fixed",
    prior = typed, control = galvi_control(move_inducing = FALSE))$elbo, tolerance = 1e-6)
  source <- function() {
    at <- 0L
    function(reset = FALSE) {
      if (reset) at <<- 0L
      if (reset || at >= nrow(d)) return(NULL)
      at <<- at + 20L
      d[at - 19:0, ]
    }
  }
  streamed <- galvi(y ~ f + gp(x, by = f, inducing = points), source(), start = sparse, hyper = "fixed",
    prior = typed, control = galvi_control(move_inducing = FALSE))
  expect_equal(streamed$elbo, sparse$elbo, tolerance = 1e-6)
})

test_that("a season of known period keeps it, and a learned one stays at its peak", {
  d <- data.frame(y = log(as.numeric(AirPassengers)), i = seq_along(AirPassengers))
  period <- function(fit) fit$hyper$estimate[fit$hyper$parameter == "period"]
  held <- galvi(y ~ gp(i, kernel = periodic(12)) + gp(i), d)
  expect_identical(period(held), 12)
  learned <- galvi(y ~ gp(i, kernel = periodic(learn(12))) + gp(i), d)
  # twelve cycles are known to a thousandth
  expect_equal(period(learned), 12, tolerance = 0.005)
  # a learned period gains, and little: wandering off costs a hundred
  expect_gt(learned$elbo, held$elbo)
  expect_lt(learned$elbo, held$elbo + 2)
})
