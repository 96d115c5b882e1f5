# The argument `prior`: one list for coefficients and hyperparameters, and what other packages have in its place.

groups <- function() {
  set.seed(4)
  d <- data.frame(x = rnorm(60), z = runif(60), g = factor(rep(1:12, 5)), f = factor(rep(c("a", "b"), 30)))
  d$y <- 1 + d$x + rnorm(12, sd = 0.8)[d$g] + rnorm(60, sd = 0.5)
  transform(d, positive = exp(y), count = rpois(60, exp(0.3 * y)))
}

estimates <- function(...) {
  fit <- suppressWarnings(suppressMessages(galvi(...)))
  stats::setNames(fit$hyper$estimate, fit$hyper$name)
}

# Estimates are where the bound plus the log density of the log parameter is largest; both searches stop at a slope of
# about 1e-6, and the curvature in the log of the parameter is above 1.
same_optimum <- 1e-4

test_that("a prior of a standard deviation is that, where the table has a variance", {
  d <- groups()
  flat <- list(intercept = normal(0, 100), x = normal(0, 100))
  # density(s): log density of the standard deviation, by hand
  cases <- list(
    list(half_normal(0.3), function(s) log(2) + dnorm(s, 0, 0.3, log = TRUE)),
    list(log_normal(-2, 0.2), function(s) dlnorm(s, -2, 0.2, log = TRUE)),
    list(pc(0.2, 0.01), function(s) dexp(s, -log(0.01) / 0.2, log = TRUE))
  )
  for (case in cases) {
    expect_equal(integrate(function(s) exp(case[[2]](s)), 0, Inf)$value, 1, tolerance = 1e-6)
    # the evidence at each s, with the density of log s
    by_hand <- function(term, name) optimize(function(log_s) {
      v <- fixed(exp(2 * log_s))
      fit <- if (name == "sigma") {
        galvi(y ~ x, d, galvi_family("gaussian", variance = v), prior = flat)
      } else {
        galvi(y ~ x + iid(g, variance = v), d, galvi_family("gaussian", variance = fixed(0.25)), prior = flat)
      }
      fit$elbo + case[[2]](exp(log_s)) + log_s
    }, c(-4, 2), maximum = TRUE, tol = 1e-7)$maximum
    noise <- estimates(y ~ x, d, prior = c(flat, list(sigma = case[[1]])))[["gaussian.variance"]]
    expect_equal(log(noise) / 2, by_hand("", "sigma"), tolerance = same_optimum)
    group <- estimates(y ~ x + (1 | g), d, galvi_family("gaussian", variance = fixed(0.25)),
      prior = c(flat, list(sd = case[[1]])))[["iid(g).variance"]]
    expect_equal(log(group) / 2, by_hand("", "sd"), tolerance = same_optimum)
  }
})

test_that("the same prior by every name that it has gives the same estimate", {
  d <- groups()
  sd <- estimates(y ~ x + (1 | g), d, prior = list(sd = half_normal(0.4)))
  for (prior in list(
    list("(1 | g)" = list(sd = half_normal(0.4))), list("(1|g)" = list(sd = half_normal(0.4))),
    list("iid(g)" = list(sd = half_normal(0.4))), list("iid(g).sd" = half_normal(0.4)),
    list("(1 | g)" = list(sd = list(`(Intercept)` = half_normal(0.4))))
  )) {
    expect_equal(estimates(y ~ x + (1 | g), d, prior = prior), sd, info = names(prior))
  }
  variance <- estimates(y ~ x + iid(g, variance = pc(1, 0.1)), d)
  expect_equal(estimates(y ~ x + iid(g), d, prior = list("iid(g)" = list(variance = pc(1, 0.1)))), variance,
    tolerance = same_optimum)
  expect_equal(estimates(y ~ x + iid(g), d, prior = list(sd = pc(1, 0.1))), variance, tolerance = same_optimum)
  one_slope <- function(prior) estimates(y ~ x + (1 + x | g), d, prior = prior)
  expect_equal(one_slope(list("(x | g)" = list(sd = list(x = pc(1, 0.1))))),
    one_slope(list("(1 + x | g).sd.x" = pc(1, 0.1))))
  smooth <- estimates(y ~ gp(z, kernel = se(variance = pc(1, 0.1), lengthscale = log_normal(0, 1))), d)
  expect_equal(
    estimates(y ~ gp(z), d, prior = list("gp(z)" = list(lengthscale = log_normal(0, 1), sd = pc(1, 0.1)))), smooth,
    tolerance = 1e-3 # starts differ, and the bound is flat in a long lengthscale
  )
  second <- estimates(list(y ~ x, sigma ~ iid(g, variance = pc(1, 0.1))), d)
  for (own in list(list(sd = pc(1, 0.1)), list("(1 | g)" = list(sd = pc(1, 0.1))))) {
    expect_equal(estimates(list(y ~ x, sigma ~ (1 | g)), d, prior = list(sigma = own)), second, tolerance = 1e-3)
  }
})

test_that("every positive parameter of every family takes a prior by its name, and by that of its predictor", {
  checked <- 0
  for (name in names(family_types)) {
    type <- family_type(list(family = name))
    positive <- Filter(function(parameter) identical(parameter$add, add_positive), type$parameters)
    # the example's three rows, twice
    d <- data.frame(x = c(0, 1, 0.5, 0.2, 0.9, 0.1))
    d$y <- rep(type$example, 2L)
    for (parameter in names(positive)) {
      for (key in c(parameter, positive[[parameter]]$also)) {
        design <- galvi_design(y ~ x, d, own_family(name))
        model <- galvi_model(design, prior = stats::setNames(list(log_normal(0.3, 0.5)), key))
        at <- match(paste0(name, ".", parameter), model$hyper$name)
        expect_true(model$hyper$learned[at], info = paste(name, key))
        root <- parameter == "variance" && key != parameter
        expect_identical(model$hyper$prior[[at]]$quantity, if (root) "root" else if (positive[[parameter]]$sd) "sd",
          info = paste(name, key))
        expect_identical(model$prior[[key]], log_normal(0.3, 0.5))
        held <- galvi_model(design, prior = stats::setNames(list(1.5), key))$hyper
        expect_identical(held$learned[at], FALSE)
        expect_identical(held$value[at], if (root) 1.5^2 else 1.5)
        checked <- checked + 1
      }
    }
  }
  expect_some(checked, "positive parameters")
})

test_that("pc() is taken for a sigma and a scale, as a prior of a standard deviation", {
  for (family in list(lognormal(sigma = pc(1, 0.37)), student(scale = pc(1, 0.37)), laplace(scale = pc(1, 0.37)))) {
    model <- galvi_model(galvi_design(positive ~ x, groups(), family))
    prior <- Filter(Negate(is.null), model$hyper$prior)
    expect_identical(vapply(prior, `[[`, "", "quantity"), "sd")
  }
  expect_error(negbinomial(size = pc(1)), "not a variance", class = "galvi_error_family")
})

test_that("the recorded prior gives the same fit again", {
  d <- groups()
  for (prior in list(
    list(x = normal(0, 1), sd = half_normal(1), sigma = half_normal(3)),
    list("(1 | g)" = list(sd = pc(1)), variance = log_normal(0, 1)), list(sd = 0.7, sigma = 0.5)
  )) {
    fit <- galvi(y ~ x + (1 | g), d, prior = prior)
    expect_equal(galvi(y ~ x + (1 | g), d, prior = fit$prior)$hyper, fit$hyper)
    expect_output(print(fit$prior), "sigma|variance")
  }
})

test_that("unknown names are told what is accepted, with the nearest", {
  d <- groups()
  expect_error_snapshot({
    galvi(y ~ x + (1 | g), d, prior = list(sigm = half_normal(3)))
    galvi(y ~ x + (1 | g), d, prior = list("(1 | gg)" = list(sd = half_normal(1))))
    galvi(y ~ x + (1 | g), d, prior = list("(1 | g)" = list(sdd = half_normal(1))))
    galvi(y ~ x + (1 | g), d, prior = list("(1 | g)" = half_normal(1)))
    galvi(y ~ x + (1 | g), d, prior = half_normal(1))
    galvi(y ~ x, d, prior = list(sd = half_normal(1)))
    galvi(y ~ x + (1 | g), d, prior = list(cor = lkj(1)))
    galvi(y ~ x, d, prior = list(x = half_normal(1)))
    galvi(y ~ x, d, prior = list(x = 2))
    galvi(y ~ x, d, prior = list(zi = list(x = normal(0, 1))))
    galvi(list(y ~ x, sigma ~ x), d, prior = list(sigma = half_normal(1)))
    galvi(count ~ x, d, poisson(), prior = list(sigma = half_normal(1)))
    galvi(factor(f, ordered = TRUE) ~ x, d, cumulative(), prior = list(thresholds = normal(0, 1)))
    galvi(y ~ x, d, prior = "normal(0)")
    galvi(y ~ x, d, prior = list(sigma = "student(3, 0, 2.5)"))
    galvi(y ~ x, d, prior = binomial())
  })
})

test_that("real objects of brms are read", {
  skip_if_not_installed("brms")
  d <- groups()
  table <- c(
    brms::set_prior("normal(0, 5)", class = "b"), brms::set_prior("exponential(3)", class = "sd"),
    brms::set_prior("normal(0, 2)", class = "sigma")
  )
  ours <- list(default = normal(0, 5), sd = "exponential(3)", sigma = half_normal(2))
  expect_equal(estimates(y ~ x + (1 | g), d, prior = table), estimates(y ~ x + (1 | g), d, prior = ours))
})

test_that("calls of brms:: inside the argument are theirs", {
  skip_if_not_installed("brms")
  d <- groups()
  expect_equal(
    coef(galvi(y ~ x, d, prior = brms::prior(normal(0, .01), class = b))), coef(galvi(y ~ x, d, prior = normal(0, .01)))
  )
  expect_equal(
    estimates(y ~ x + (1 | g), d, prior = c(brms::prior(exponential(1), class = sigma), brms::prior(exponential(3), class = sd))),
    estimates(y ~ x + (1 | g), d, prior = list(sigma = "exponential(1)", sd = "exponential(3)"))
  )
  expect_error(galvi(y ~ x, d, prior = brms::prior(normal(0, 1), coef = zz)), "names `zz`", class = "galvi_error_prior")
})

test_that("real objects of rstanarm are read or refused by name", {
  skip_if_not_installed("rstanarm")
  expect_identical(own_prior(rstanarm::normal(0, 2)), normal(0, 2))
  expect_identical(own_prior(rstanarm::exponential(2), "prior$sd"), prior_of_text("exponential(2)", "prior"))
  expect_identical(own_prior(rstanarm::student_t(3, 0, 2.5)), student_t(3, 0, 2.5))
  expect_identical(own_prior(rstanarm::cauchy(0, 1)), cauchy(0, 1))
  expect_identical(own_prior(rstanarm::laplace(0, 1)), double_exponential(0, 1))
  expect_identical(own_prior(rstanarm::lkj(3), "prior$cor"), lkj(3))
  expect_identical(own_prior(rstanarm::hs(1, 1, 0.1)), horseshoe(1, 0.1, 1, 2.5, 4))
  for (object in list(
    rstanarm::hs_plus(), rstanarm::lasso(), rstanarm::decov(), rstanarm::R2(0.5), rstanarm::normal(c(0, 1), c(1, 2)), rstanarm::normal(autoscale = TRUE)
  )) {
    said <- message_of_error(own_prior(object))
    expect_match(said, "rstanarm")
    expect_match(said, "normal\\(|list\\(|student_t\\(")
  }
})

test_that("priors that messages name can be typed as they are", {
  d <- transform(MASS::quine, z = as.numeric(Age))
  advised <- function(expr) {
    text <- conditionMessage(expect_error(expr))
    str2lang(regmatches(text, regexpr("list\\(.*\\)(?=[:.])", text, perl = TRUE)))
  }
  expect_identical(
    advised(galvi(Days ~ s(as.numeric(Lrn), bs = "re"), d, negbinomial())),
    quote(list(`as.numeric(Lrn)` = normal(0, learn(1))))
  )
  expect_identical(
    advised(galvi(Days ~ z + (1 | Sex), d, poisson(), prior = list(`(1 | Sex)` = normal(0, 1)))),
    quote(list(`(1 | Sex)` = half_normal(1)))
  )
  expect_error(galvi(Days ~ log(z), d, poisson(), prior = list(`log(z)` = 2)), "write `log(z)` = normal(0, 2)", fixed = TRUE)
  expect_error(galvi(Days ~ ridge(log(z), Sex), d, poisson()), "list(`log(z)` = normal(0, 1), Sex = normal(0, 1))",
    fixed = TRUE
  )
})
