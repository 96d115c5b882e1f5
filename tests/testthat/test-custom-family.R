# Families from R functions against the families of the core, and against closed forms.

custom_fit <- function(...) galvi(..., verbose = FALSE)

r_poisson <- function(derivatives = NULL) {
  custom_family("r_poisson", function(y, eta) y * eta - exp(eta) - lgamma(y + 1), derivatives,
                links = "log", support = "count", log_concave = TRUE)
}
r_student <- function(...) {
  custom_family("r_student", function(y, eta, scale) dt((y - eta) / scale, 4, log = TRUE) - log(scale),
                parameters = list(scale = 1), ...)
}
custom_counts <- function(n = 40) {
  set.seed(1)
  x <- sort(runif(n, 0, 6))
  data.frame(x = x, g = rep(letters[1:4], length.out = n), y = rpois(n, exp(1 + sin(x))))
}

# The likelihood of the border with its parameters at their starts.
custom_likelihood <- function(family, y) {
  registry <- new_registry()
  list(spec = family_likelihood(family, list(y = y), registry), hyper = as.numeric(registry$table()$value))
}
custom_predictive <- function(family, what, mean, variance, y = 1, probability = 0.5, data = y) {
  own <- custom_likelihood(family, data)
  n <- max(length(y), length(probability), length(mean), length(variance))
  predict_response(own$spec, own$hyper, 1, y, rep_len(mean, n), rep_len(variance, n), what, probability)
}
custom_sweep <- function(family, y, mean, variance) {
  own <- custom_likelihood(family, y)
  n <- length(mean)
  probe_expectation(own$spec, "auto", own$hyper, rep_len(y, n), rep(1, n), rep(1, n), mean, variance, 2L, 1L, 20L)
}

test_that("expectations are those of the closed form, whatever the variance", {
  grid <- expand.grid(mean = c(-3, 0.2, 2), variance = c(1e-8, 1e-4, 0.01, 0.3, 2, 9, 30), y = c(0, 3, 12))
  own <- probe_expectation(likelihood_spec("poisson"), "auto", numeric(), grid$y, rep(1, nrow(grid)),
                           rep(1, nrow(grid)), grid$mean, grid$variance, 2L, 1L, 20L)
  given <- r_poisson(function(y, eta) list(y - exp(eta), -exp(eta)))
  for (family in list(r_poisson(), given)) {
    theirs <- lapply(c(0, 3, 12), function(y) {
      at <- grid$y == y
      custom_sweep(family, y, grid$mean[at], grid$variance[at])
    })
    for (part in c("value", "d_m", "d_v")) {
      # differences where the variance is small: rounding over the square of their step
      expect_close(unlist(lapply(theirs, `[[`, part)), own[[part]], 3e-9)
    }
    expect_close(unlist(lapply(theirs, `[[`, "d_mm")), own$d_mm, 1e-5)
    # of third and fourth derivatives differences leave out the change over the Gaussian: half a variance of 1e-4
    for (part in c("d_mv", "d_vv")) expect_close(unlist(lapply(theirs, `[[`, part)), own[[part]], 6e-5)
  }
})

test_that("a custom copy of a family has the family's fits, under every prior and method", {
  d <- custom_counts()
  for (formula in c(y ~ gp(x), y ~ x, y ~ gp(x, inducing = 6), y ~ x + iid(g))) {
    ours <- custom_fit(formula, d, poisson())
    copy <- custom_fit(formula, d, r_poisson())
    expect_close(copy$elbo, ours$elbo, tol$elbo * 10)  # hyperparameters are learned by both
    new <- d[c(2, 9), ]
    # states lie by differences of the gradient, and a user's density has fewer points
    expect_close(predict(copy, new), predict(ours, new), if (falls_short(ours)) tol$optimum else 0.01)
  }
  for (method in c("newton", "coordinate_ascent", "fixed_point", "natural_gradient", "opper_archambeau",
                   "cholesky_gradient", "laplace", "ep")) {
    elbo <- function(family) custom_fit(y ~ gp(x), d, family, method = method, hyper = "fixed")$elbo
    expect_close(elbo(r_poisson()), elbo(poisson()), 1e-6)
  }
  for (method in c("incremental", "fixed_point")) {
    elbo <- function(family) custom_fit(y ~ x, d, family, method = method)$elbo
    expect_close(elbo(r_poisson()), elbo(poisson()), tol$elbo)
  }
  expect_error(custom_fit(y ~ x, d, r_poisson(), method = "dual"), "concave")
})

test_that("parameters are learned as those of the core's family are", {
  set.seed(3)
  d <- data.frame(x = sort(runif(60, 0, 6)))
  d$y <- sin(d$x) + 0.3 * rt(60, 4)
  kernel <- se(variance = fixed(0.5), lengthscale = fixed(1.5))
  prior <- list(intercept = normal(0, 3))
  ours <- custom_fit(y ~ gp(x, kernel = kernel), d, student(df = fixed(4), scale = 1), prior = prior)
  copy <- custom_fit(y ~ gp(x, kernel = kernel), d, r_student(), prior = prior)
  expect_close(copy$elbo, ours$elbo, 1e-6)
  expect_close(copy$hyper$estimate[copy$hyper$parameter == "scale"],
               ours$hyper$estimate[ours$hyper$parameter == "scale"], tol$optimum)
})

test_that("predictions of every kind are those of the core's family", {
  d <- custom_counts()
  kernel <- se(variance = fixed(1), lengthscale = fixed(1))
  ours <- custom_fit(y ~ gp(x, kernel = kernel), d, poisson())
  copy <- custom_fit(y ~ gp(x, kernel = kernel), d, r_poisson())
  new <- transform(d[c(1, 20, 33), ], y = c(0, 4, 9))
  for (type in c("response", "quantile", "density", "link")) {
    expect_close(predict(copy, new, type = type), predict(ours, new, type = type), 1e-6)
  }
  expect_close(predict(copy, new, type = "cdf", q = 3), predict(ours, new, type = "cdf", q = 3), 1e-6)
  expect_close(predict(copy, new, se.fit = TRUE)$se.fit, predict(ours, new, se.fit = TRUE)$se.fit, 1e-6)
  expect_close(residuals(copy, "pearson"), residuals(ours, "pearson"), 1e-5)
  quantile <- function(fit) { set.seed(2); residuals(fit, "quantile") }
  expect_close(quantile(copy), quantile(ours), 1e-5)
  drawn <- function(fit) { set.seed(4); galvi:::draw_response(fit, galvi:::training_target(fit), ours$posterior$mean) }
  expect_identical(drawn(copy), drawn(ours))
  skip_if_not_installed("loo")
  expect_close(loo::loo(copy)$estimates, loo::loo(ours)$estimates, 1e-5)
  expect_error(deviance(copy), "r_poisson.*no deviance", class = "galvi_error_argument")
})

test_that("distributions are integrated to many digits, wherever the mass is", {
  gamma <- custom_family("r_gamma", function(y, eta, shape) dgamma(y, shape, rate = shape * exp(-eta), log = TRUE),
                         links = "log", parameters = list(shape = 0.4), support = "positive")
  y <- c(1e-8, 0.01, 1, 5, 20)
  expect_close(custom_predictive(gamma, "cdf", 0.3, 0, y), pgamma(y, 0.4, 0.4 * exp(-0.3)), 1e-9)
  p <- c(1e-6, 0.5, 0.999)
  expect_close(custom_predictive(gamma, "quantile", 0.3, 0, 1, p) / qgamma(p, 0.4, 0.4 * exp(-0.3)), rep(1, 3), 1e-8)
  expect_close(custom_predictive(gamma, "mean", 0.3, 0.5), exp(0.55), 1e-8)
  expect_close(custom_predictive(gamma, "variance", 0.3, 0.5), exp(1.1) * (exp(0.5) - 1) + exp(1.6) / 0.4, 1e-7)

  # mass far from zero, and much narrower than eta is uncertain
  normal <- custom_family("r_normal", function(y, eta, sd) dnorm(y, eta, sd, log = TRUE),
                          parameters = list(sd = fixed(0.01)))
  for (v in c(0, 1e-6, 1)) {
    s <- sqrt(v + 1e-4)
    y <- 1e3 + c(-5, -1, 0, 2) * s
    at <- function(what, ...) custom_predictive(normal, what, 1e3, v, ..., data = c(999, 1000, 1001))
    expect_close(at("cdf", y = y), pnorm(y, 1e3, s), 1e-9)
    expect_close(at("upper", y = y[4]) / pnorm(y[4], 1e3, s, lower.tail = FALSE), 1, 1e-8)
    expect_close((at("quantile", probability = 0.9) - 1e3) / s, qnorm(0.9), 1e-8)
    expect_close(at("log_density", y = y[2]), dnorm(y[2], 1e3, s, log = TRUE), 1e-8)
  }

  cauchy <- custom_family("r_cauchy", function(y, eta) dcauchy(y, eta, log = TRUE))
  y <- c(-1e4, -3, 0, 7, 1e5)
  expect_close(custom_predictive(cauchy, "cdf", 0, 0, y), pcauchy(y), 1e-8)

  beta <- custom_family("r_beta", function(y, eta, k) dbeta(y, plogis(eta) * k, plogis(-eta) * k, log = TRUE),
                        links = "logit", parameters = list(k = 3), support = "unit")
  y <- c(0.001, 0.3, 0.9999)
  expect_close(custom_predictive(beta, "cdf", 1, 0, y), pbeta(y, 3 * plogis(1), 3 * plogis(-1)), 1e-9)
  expect_close(custom_predictive(beta, "mean", 1, 0, 0.5), plogis(1), 1e-9)

  for (eta in c(-5, 0, 3, 14)) {
    y <- qpois(c(0.001, 0.4, 0.9999), exp(eta))
    expect_close(custom_predictive(r_poisson(), "cdf", eta, 0, y), ppois(y, exp(eta)), 1e-9)
    expect_identical(custom_predictive(r_poisson(), "quantile", eta, 0, 1, 0.3), qpois(0.3, exp(eta)))
  }
  ten <- custom_family("r_ten", function(y, eta) dbinom(y, 10, plogis(eta), log = TRUE), links = "logit",
                       support = 0:10, log_concave = TRUE)
  expect_close(custom_predictive(ten, "cdf", 0.4, 0, 0:10), pbinom(0:10, 10, plogis(0.4)), 1e-10)
})

test_that("parameters live where their links say, and may be held or have priors", {
  skewed <- custom_family("azzalini", function(y, eta, scale, skew, mix) {
    z <- (y - eta) / scale
    log(2 / scale) + dnorm(z, log = TRUE) + pnorm(skew * (0.5 + mix) * z, log.p = TRUE)
  }, links = c(skew = "identity", mix = "logit"),
  parameters = list(scale = log_normal(0, 1), skew = 0.5, mix = fixed(0.5)))
  set.seed(5)
  d <- data.frame(x = runif(80))
  d$y <- d$x + 0.5 * (0.97 * abs(rnorm(80)) + 0.24 * rnorm(80))
  fit <- custom_fit(y ~ x, d, skewed)
  hyper <- fit$hyper[fit$hyper$term == "azzalini", ]
  expect_identical(hyper$status, c("learned", "learned", "fixed"))
  expect_gt(hyper$estimate[2], 1)
  expect_output(print(fit), "azzalini")
  expect_output(print(skewed), "mix: fixed")
  pdf(NULL)
  on.exit(dev.off())
  expect_no_error(plot(fit))
})

test_that("a user's simulate() draws the responses", {
  own <- r_student(simulate = function(eta, scale) eta + 1e6 * scale)
  set.seed(1)
  d <- data.frame(x = 1:20, y = rnorm(20))
  expect_gt(min(simulate(custom_fit(y ~ x, d, own), 1)[[1]]), 1e5)
  short <- r_student(simulate = function(eta, scale) 1)
  expect_error(simulate(custom_fit(y ~ x, d, short), 1), "`simulate`.*20 here", class = "galvi_error_callback")
})

test_that("a fit that was saved predicts, and says what it misses", {
  d <- custom_counts()
  where <- new.env()
  where$k <- 2
  f <- eval(quote(function(y, eta) dnorm(y, eta, k, log = TRUE)), where)
  fit <- custom_fit(y ~ x, d, custom_family("r_global", f))
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  again <- readRDS(file)
  expect_identical(predict(again, d[1:3, ], type = "quantile"), predict(fit, d[1:3, ], type = "quantile"))
  rm("k", envir = where)
  expect_error(predict(fit, d[1:3, ], type = "quantile"), "`log_density` of the custom family \"r_global\" fails.*'k'",
               class = "galvi_error_callback")
})

test_that("the same fit for any number of threads", {
  d <- custom_counts(400)
  fit <- function(threads) {
    custom_fit(y ~ gp(x), d, r_poisson(), hyper = "fixed", control = galvi_control(threads = threads))$posterior$mean
  }
  expect_identical(fit(2), fit(1))
})

test_that("what is wrong with a family is said when it is made", {
  refused <- function(expr, message, what = "callback") {
    expect_error(expr, message, class = paste0("galvi_error_", what))
  }
  normal <- function(y, eta) dnorm(y, eta, log = TRUE)
  refused(custom_family("poisson", normal), "must not be that of a family", "family")
  refused(custom_family(1, normal), "`name`", "family")
  refused(custom_family("f", 3), "`log_density` must be a function\\(y, eta\\), not 3")
  refused(custom_family("f", function(y) 0), "must be a function\\(y, eta\\)")
  refused(custom_family("f", normal, parameters = list(sd = 1)), "no argument `sd`")
  refused(custom_family("f", function(y, eta, sd) 0), "must say where `sd` starts")
  refused(custom_family("f", normal, parameters = list(1)), "must have names")
  refused(custom_family("f", function(y, eta) 1), "number for each y and eta \\(25 here\\), not 1")
  refused(custom_family("f", function(y, eta) y / 0 * 0), "is NaN at y = ")
  refused(custom_family("f", function(y, eta) stop("no such thing")), "fails: no such thing")
  refused(custom_family("f", function(y, eta) dnorm(y, eta, log = TRUE) + mean(y)), "not vectorised")
  refused(custom_family("f", function(y, eta) -(y - eta)^2 / 2), "does not integrate to one .* 2\\.5066")
  refused(custom_family("f", function(y, eta) -exp(eta) + y * eta, support = "count"), "does not add up")
  refused(custom_family("f", normal, function(y, eta) list(eta - y, -1 + 0 * y)), "the first is .* differences")
  refused(custom_family("f", normal, function(y, eta) list(y - eta, -1)), "list of two vectors")
  refused(custom_family("f", normal, links = "sqrt"), "links", "family")
  refused(custom_family("f", normal, links = c(sd = "log")), "not `sd`", "family")
  refused(custom_family("f", normal, support = c(1, 0)), "`support` must be", "family")
  refused(r_student(links = c(scale = "tan")), "scale", "family")
  refused(custom_family("f", function(y, eta, a) dnorm(y, eta + a, log = TRUE), parameters = list(a = galvi::normal(0, 1)),
                        links = c(a = "identity")), "not a prior", "family")
  d <- data.frame(y = c(1, 2, 2.5), x = 1:3)
  expect_error(custom_fit(y ~ x, d, r_poisson()), "whole numbers.*row 3", class = "galvi_error_response")
  expect_error(custom_fit(I(-y) ~ x, d[1:2, ], r_poisson()), "between 0 and Inf", class = "galvi_error_response")
})

test_that("NaN where the posterior is stops the fit and says where", {
  d <- data.frame(y = c(9, 11, 10, 12), x = 1:4)
  family <- custom_family("r_nan", function(y, eta) ifelse(eta > 5, NaN, dnorm(y, eta, log = TRUE)))
  expect_error(custom_fit(y ~ x, d, family), "r_nan.* is NaN at y = ", class = "galvi_error_callback")
})

test_that("densities without an integral are refused in time, with the function and `support` named", {
  refused <- function(f, support, words) {
    message <- tryCatch(custom_family("mine", f, support = support), galvi_error_callback = conditionMessage)
    expect_match(message, words)
    expect_match(message, "`log_density` of the custom family \"mine\".*`support =`")
  }
  bounded <- within_seconds(10)  # seconds: all of them take less than one
  expect_lt(system.time({
    refused(function(y, eta) -eta - y * exp(-eta), "real", "no integral.*does not fall off")
    refused(function(y, eta) 0 * y * eta, "real", "does not fall off")
    refused(function(y, eta) dgamma(y, 2, exp(-eta), log = TRUE), "real", "-Inf at y = -")
    refused(function(y, eta) ifelse(abs(y - 1e5 * pi) < 1e-3, 0, -Inf) + 0 * eta, "real", "-Inf")
    refused(function(y, eta) dnorm(y, eta, log = TRUE) + sin(1e6 * y), "real", "jumps too often")
  })[["elapsed"]], bounded)
})

test_that("derivatives that are not numbers are blamed on the derivatives", {
  set.seed(1)
  d <- data.frame(x = rnorm(40))
  d$y <- d$x + rnorm(40) + 3
  family <- custom_family("f", function(y, eta) dnorm(y, eta, log = TRUE),
    derivatives = function(y, eta) list(y - eta, ifelse(eta > 2.5, NaN, -1)))
  expect_error(galvi(y ~ x, d, family), "`derivatives` of the custom family \"f\": the second is NaN at y = ",
    class = "galvi_error_callback")
})

test_that("warnings at the fitted values are passed on, and an error leaves the fit so far", {
  set.seed(1)
  d <- data.frame(x = rnorm(40))
  d$y <- d$x + rnorm(40)
  loud <- custom_family("loud", function(y, eta) {
    if (length(y) == 40) warning("it is loud")
    dnorm(y, eta, log = TRUE)
  })
  expect_warning(galvi(y ~ x, d, loud), "custom family \"loud\" warns at the fitted values: it is loud",
    class = "galvi_warning_callback")
  calls <- 0
  late <- custom_family("late", function(y, eta, sd) {
    calls <<- calls + 1
    if (calls == 400) stop("no more")
    dnorm(y, eta, sd, log = TRUE)
  }, parameters = list(sd = 3), links = "log")
  calls <- 0
  assign("value", NULL, environment(galvi_last)$last_fit)
  expect_error(galvi(y ~ x, d, late), "fails: no more", class = "galvi_error_callback")
  fit <- galvi_last()
  expect_s3_class(fit, "galvi")
  expect_true(fit$stopped)
  expect_true(all(is.finite(coef(fit))))
})

test_that("means where eta varies over many units take bounded time", {
  set.seed(1)
  d <- data.frame(x = rnorm(40))
  d$y <- d$x + rnorm(40)
  fit <- galvi(y ~ x, d, custom_family("unit", function(y, eta) dnorm(y, eta, log = TRUE)), prior = normal(0, 30))
  bounded <- 10  # seconds a row; it was a hang
  share_of_sd <- 1e-4  # what a lattice of 32 points a sd leaves of means
  for (x in c(300, 3e3, 3e5)) {
    at <- data.frame(x = x)
    eta <- predict(fit, at, type = "link", se.fit = TRUE)
    took <- system.time(theirs <- predict(fit, at, type = "response"))[["elapsed"]]
    expect_lt(abs(theirs - eta$fit) / eta$se.fit, share_of_sd)
    expect_lt(took, bounded)
  }
})

test_that("a location far from zero is found, also where the density is zero around it", {
  set.seed(1)
  d <- data.frame(x = rnorm(24))
  d$y <- d$x + rnorm(24)
  plain <- function(y, eta) log(dnorm(y, eta, 1))
  at <- function(shift, log_density) {
    # which warns of lost digits
    suppressWarnings(galvi(y ~ x, transform(d, y = y + shift), custom_family("own", log_density = log_density),
      verbose = FALSE), classes = "galvi_warning")
  }
  expected <- unname(sqrt(diag(vcov(at(0, function(y, eta) dnorm(y, eta, 1, log = TRUE))))))
  for (shift in c(1e3, 7e7, 1e9)) {
    # the rows' own digits, and the default prior's part
    expect_equal(unname(sqrt(diag(vcov(at(shift, plain))))), expected, tolerance = 1e-3, info = shift)
  }
})

test_that("criteria of a custom copy use all points of the posterior", {
  d <- custom_counts(60)
  nb <- custom_family("r_nb", function(y, eta, size) dnbinom(y, mu = exp(eta), size = size, log = TRUE),
    links = "log", support = "count", parameters = list(size = 5))
  pairs <- list(list(r_poisson(), poisson()), list(nb, negbinomial(size = 5)))
  for (pair in pairs) {
    copy <- custom_fit(y ~ sin(x) + (1 | g), d, pair[[1]])
    ours <- custom_fit(y ~ sin(x) + (1 | g), d, pair[[2]])
    expect_identical(uncertainty_method(copy), "points")
    # where the family has a parameter, the two are learned apart
    expect_close(loo::loo(copy)$estimates, loo::loo(ours)$estimates, 0.02)
    expect_close(loo::waic(copy)$estimates, loo::waic(ours)$estimates, 0.02)
  }
})
