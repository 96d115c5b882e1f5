# Heavy-tailed priors of coefficients.

scaled_mtcars <- function() data.frame(mpg = mtcars$mpg, scale(mtcars[-1]))
scaled_infert <- function() {
  columns <- c("age", "parity", "induced", "spontaneous")
  data.frame(case = infert$case, scale(infert[columns]))
}
factorised <- function(...) galvi(..., control = galvi_control(uncertainty = "factorised", tol = 1e-10))
sds_of <- function(fit) sqrt(diag(vcov(fit)))

heavy_specs <- list(
  list(type = "student_t", location = 0.4, scale = 0.7, df = 3, base_sd = 0),
  list(type = "student_t", location = 0, scale = 0.3, df = 1, base_sd = 9),
  list(type = "double_exponential", location = -0.2, scale = 0.5, base_sd = 0),
  list(type = "double_exponential", location = 0.1, scale = 0.5, base_sd = 15),
  list(type = "logistic", location = 0.5, scale = 0.8, base_sd = 0)
)

test_that("expectations of the priors' log densities are integrate()'s, derivatives those of differences", {
  for (spec in heavy_specs) {
    prior <- do.call(new_value, spec[setdiff(names(spec), "base_sd")])
    density <- function(x) log_prior_density(prior, x) -
      if (spec$base_sd > 0) dnorm(x, spec$location, spec$base_sd, log = TRUE) else 0
    at <- expand.grid(mean = c(-1.5, 0.2, 4), variance = c(0.01, 0.5, 6))
    found <- probe_coefficient_prior(spec, at$mean, at$variance)
    value <- mapply(function(m, v) {
      pieces <- sort(unique(c(m - 12 * sqrt(v), m + 12 * sqrt(v), min(max(spec$location, m - 12 * sqrt(v)), m + 12 * sqrt(v)))))
      sum(mapply(function(a, b) {
        integrate(function(x) density(x) * dnorm(x, m, sqrt(v)), a, b, rel.tol = 1e-11, subdivisions = 1000)$value
      }, pieces[-length(pieces)], pieces[-1]))
    }, at$mean, at$variance)
    expect_close(found[, 1], value, 1e-8)
    h <- 1e-5
    shifted <- function(dm, dv) probe_coefficient_prior(spec, at$mean + dm, at$variance * (1 + dv))
    slope <- (shifted(h, 0) - shifted(-h, 0)) / (2 * h)
    in_v <- (shifted(0, h) - shifted(0, -h)) / (2 * h * at$variance)
    # columns: value, d_m, d_v, d_mm, d_mv, d_vv
    expect_close(found[, c(2, 4, 5)], slope[, 1:3], 1e-6)
    expect_close(found[, c(3, 6)], in_v[, c(1, 3)], 1e-6)
  }
})

test_that("student_t(): q and the bound are those of the same bound computed otherwise, near the exact posterior", {
  known <- gold("prior_mtcars_student")
  fit <- factorised(mpg ~ ., scaled_mtcars(), galvi_family("gaussian", variance = fixed(6.5)),
    prior = list(intercept = normal(0, 1e5), default = "student_t(3, 0, 1)"))
  expect_lt(max(abs(coef(fit) - known$bound_mean) / known$bound_sd), 2e-3)
  expect_lt(max(abs(sds_of(fit) / known$bound_sd - 1)), 2e-3)
  expect_lt(max(abs(coef(fit) - known$exact_mean) / known$exact_sd), 0.1)
  expect_lt(max(abs(sds_of(fit) / known$exact_sd - 1)), 0.05)
  # where the fixture was computed the entropy is without log(2 pi) / 2 for each of 11 coefficients, and a flat prior of
  # the intercept has density 1; by importance sampling the log evidence is -92.930 (0.003)
  expect_close(fit$elbo - dnorm(0, 0, 1e5, log = TRUE), known$bound[1] + 11 * log(2 * pi) / 2, 1e-6)
  expect_lt(fit$elbo, -92.930)
  expect_identical(nobs(fit), 32L)
  expect_length(fitted(fit), 32L)
  expect_length(residuals(fit), 32L)
  expect_identical(nrow(model.frame(fit)), 32L)
  expect_identical(format(fit$prior$wt), "student_t(3, 0, 1)")
  expect_false(any(grepl("base", fit$hyper$name)))
})

test_that("double_exponential(): the same, with one optimum", {
  known <- gold("prior_infert_laplace")
  fit <- factorised(case ~ ., scaled_infert(), binomial(),
    prior = list(intercept = normal(0, 1e5), default = "double_exponential(0, 0.3)"))
  expect_lt(max(abs(coef(fit) - known$bound_mean) / known$bound_sd), 2e-3)
  expect_lt(max(abs(sds_of(fit) / known$bound_sd - 1)), 2e-3)
  expect_lt(max(abs(coef(fit) - known$exact_mean) / known$exact_sd), 0.1)
  expect_lt(max(abs(sds_of(fit) / known$exact_sd - 1)), 0.05)
  expect_close(fit$elbo - dnorm(-0.81, 0, 1e5, log = TRUE), known$bound[1] + 5 * log(2 * pi) / 2, 1e-6)
  # the bound is concave, but not strongly as under normal priors
  expect_match(why_no_certificate(fit), "one maximum.*normal priors")
  expect_match(why_no_certificate(galvi(mpg ~ wt, mtcars, prior = cauchy(0, 1))), "several maxima")
})

test_that("a student_t() of many degrees of freedom is normal(): coefficients, evidence and predictions", {
  for (family in list(gaussian(), binomial())) {
    d <- transform(mtcars, y = if (family$family == "gaussian") mpg else am)
    d$wt <- d$wt - mean(d$wt)
    f <- y ~ wt + factor(gear)
    # 1e7 degrees of freedom are normal to 1e-7
    normal_fit <- factorised(f, d, family, prior = list(intercept = normal(1, 3), default = normal(0, 2)),
      hyper = "fixed")
    heavy <- factorised(f, d, family, prior = list(intercept = student_t(1e7, 1, 3), default = student_t(1e7, 0, 2)),
      hyper = "fixed")
    expect_close(coef(heavy), coef(normal_fit), 1e-5)
    expect_close(vcov(heavy), vcov(normal_fit), 1e-4)
    expect_close(heavy$elbo, normal_fit$elbo, 1e-5)
    new <- d[1:4, ]
    expect_close(predict(heavy, new, type = "link"), predict(normal_fit, new, type = "link"), 1e-5)
    means <- factorised(f, d, family, prior = list(at_means = student_t(1e7, 1, 3), default = student_t(1e7, 0, 2)),
      hyper = "fixed")
    by_normal <- factorised(f, d, family, prior = list(at_means = normal(1, 3), default = normal(0, 2)), hyper = "fixed")
    expect_close(coef(means), coef(by_normal), 1e-4)
  }
})

test_that("the same beside every kind of term: groups, processes full, sparse and along time, fields", {
  set.seed(1)
  d <- data.frame(x = rnorm(60), t = 1:60, g = factor(rep(1:12, 5)), u = runif(60), v = runif(60))
  d$y <- 1 + d$x + sin(d$t / 5) + rnorm(12)[d$g] + rnorm(60, 0, 0.3)
  terms <- list(
    y ~ x + (1 | g), y ~ x + (1 + u | g), y ~ x + gp(u, v), y ~ x + gp(u, v, center = FALSE), y ~ x + gp(t, kernel = matern32()),
    y ~ x + gp(u, inducing = 8), y ~ x + gp(u, v, neighbours = 6), y ~ x + rw1(t), y ~ x + ar1(t), y ~ x + gp(u, by = g),
    y ~ x + gp(t, kernel = periodic(12)), y ~ x + gp(u, time = t)
  )
  checked <- 0
  for (f in terms) {
    fit_with <- function(intercept, slope) {
      tryCatch(suppressWarnings(suppressMessages(
        galvi(f, d, prior = list(intercept = intercept, x = slope), hyper = "fixed", control = galvi_control(tol = 1e-9))
      )), galvi_error_formula = function(e) NULL)
    }
    known <- fit_with(normal(0.5, 3), normal(0.2, 0.5))
    if (is.null(known)) next
    heavy <- fit_with(student_t(1e7, 0.5, 3), student_t(1e7, 0.2, 0.5))
    label <- deparse(f)
    near(coef(heavy), coef(known), 1e-4, label)
    near(vcov(heavy), vcov(known), 1e-4, label)
    near(heavy$elbo, known$elbo, 1e-4, label)
    near(unname(fitted(heavy)), unname(fitted(known)), 1e-4, label)
    new <- transform(d[c(3, 20), ], u = u + 0.01)
    near(unname(predict(heavy, new, type = "link")), unname(predict(known, new, type = "link")), 1e-4, label)
    checked <- checked + 1
  }
  expect_some(checked, "terms beside heavy tails")
})

test_that("hyperparameters are learned beside such priors as beside the normal ones that they nearly are", {
  set.seed(2)
  d <- data.frame(x = rnorm(80), u = runif(80), g = factor(rep(1:16, 5)))
  d$y <- 1 + d$x + rnorm(16)[d$g] + sin(5 * d$u) + rnorm(80, 0, 0.5)
  for (f in list(y ~ x, y ~ x + (1 | g), y ~ x + gp(u))) {
    known <- galvi(f, d, prior = list(intercept = normal(0, 3), x = normal(0, 0.5)))
    heavy <- galvi(f, d, prior = list(intercept = student_t(1e7, 0, 3), x = student_t(1e7, 0, 0.5)))
    near(heavy$hyper$estimate[heavy$hyper$status == "learned"],
      known$hyper$estimate[known$hyper$status == "learned"], 1e-3, deparse(f))
    near(heavy$elbo, known$elbo, 1e-4, deparse(f))
    near(sds_of(heavy), sds_of(known), 0.02, deparse(f))
  }
})

test_that("with several linear predictors the priors are of the right one", {
  set.seed(3)
  d <- data.frame(x = rnorm(100), z = rnorm(100))
  d$y <- rnorm(100, 1 + d$x, exp(0.3 * d$z))
  f <- list(y ~ x, sigma ~ z)
  prior <- function(of) list(x = of(0.2, 0.3), sigma = list(z = of(0.1, 0.2)))
  control <- galvi_control(uncertainty = "factorised", tol = 1e-9)
  known <- galvi(f, d, prior = prior(normal), control = control)
  heavy <- galvi(f, d, prior = prior(function(m, s) student_t(1e7, m, s)), control = control)
  expect_close(coef(heavy), coef(known), 1e-4)
  expect_close(heavy$elbo, known$elbo, 1e-4)
  joint <- galvi(f, d, prior = prior(function(m, s) student_t(1e7, m, s)))
  expect_close(sds_of(joint), sds_of(galvi(f, d, prior = prior(normal))), 0.03)
  expect_identical(nobs(joint), 100L)
})

test_that("fifty sparse slopes, and mtcars with a Cauchy prior: means and standard deviations of Gibbs sampling", {
  known <- galvi_family("gaussian", variance = fixed(1))
  within <- c(1 - tol$tails_sd, 1 + tol$tails_sd)
  priors <- list(
    sparse_student_t = student_t(3, 0, 0.3), sparse_cauchy = cauchy(0, 0.3),
    sparse_double_exponential = double_exponential(0, 0.3)
  )
  for (case in names(priors)) {
    expect_near_draws(factorised(y ~ 0 + ., sparse_slopes(), known, prior = priors[[case]]), case, tol$tails_mean, within)
  }
  fit <- factorised(mpg ~ ., scaled_mtcars(), galvi_family("gaussian", variance = fixed(6.5)),
    prior = list(intercept = normal(0, 1e5), default = cauchy(0, 1)))
  expect_near_draws(fit, "cars_cauchy", tol$tails_mean, 1 + tol$tails_sd_cauchy * c(-1, 1))
})

test_that("several starts reach one optimum, and what counts rows counts those of data", {
  fit <- galvi(mpg ~ wt + hp, mtcars, prior = cauchy(0, 1))
  expect_identical(nobs(fit), 32L)
  expect_identical(attr(logLik(fit), "nobs"), 32L)
  expect_identical(dim(posterior_predict.galvi(fit, ndraws = 10)), c(10L, 32L))
  expect_length(simulate(fit, 2, seed = 1)[[1]], 32L)
  expect_length(hatvalues(fit), 32L)
  skip_if_not_installed("loo")
  expect_identical(nrow(loo(fit)$pointwise), 32L)
  set.seed(1)
  expect_identical(nrow(kfold(fit, K = 4)$pointwise), 32L)
})

test_that("loo() of a gaussian model is that of refits", {
  skip_if_not_installed("loo")
  d <- scaled_mtcars()[c("mpg", "wt", "hp")]
  family <- galvi_family("gaussian", variance = fixed(6.5))
  prior <- list(intercept = normal(20, 20), default = student_t(3, 0, 1))
  fit <- galvi(mpg ~ ., d, family, prior = prior)
  out <- vapply(c(1L, 16L, 20L), function(i) {
    predict(galvi(mpg ~ ., d[-i, ], family, prior = prior), d[i, ], type = "density")
  }, 0)
  expect_close(loo(fit)$pointwise[c(1L, 16L, 20L), "elpd_loo"], out, 0.02)
})

test_that("hypothesis() has the density of the prior that was typed", {
  fit <- factorised(mpg ~ wt, scaled_mtcars(), prior = list(wt = double_exponential(0, 2)))
  ratio <- hypothesis(fit, "wt = 0")$hypothesis$Evid.Ratio
  expect_close(ratio, dnorm(0, coef(fit)[["wt"]], sds_of(fit)[["wt"]]) / (1 / 4), 1e-6)
})

test_that("what cannot have such priors says so", {
  d <- transform(mtcars, g = factor(gear))
  expect_error(galvi(g ~ wt, d, categorical(), prior = cauchy(0, 1)), "each class", class = "galvi_error_prior")
  expect_error(galvi(mpg ~ wt, d, galvi_family("gaussian", variance = fixed(0)), prior = cauchy(0, 1)), "without noise",
    class = "galvi_error_prior")
  expect_error(galvi(mpg ~ wt, d, method = "exact", prior = cauchy(0, 1)), "normal priors")
  expect_error(student_t(-1), "`df`", class = "galvi_error_prior")
  expect_error(cauchy(0, 0), "`scale`", class = "galvi_error_prior")
  expect_error(double_exponential(Inf, 1), "`location`", class = "galvi_error_prior")
})

test_that("a heavy-tailed default is for coefficients: directions that terms leave open keep their own prior", {
  skip_if_not_installed("mgcv")
  d <- data.frame(x = rep(1:20, 2), z = sin(1:40))
  d$y <- d$x / 10 + d$z + cos(3 * (1:40))
  heavy <- list(default = "student_t(3, 0, 2.5)")
  for (formula in list(y ~ z + s(x, k = 5), y ~ z + rw2(x))) {
    fit <- galvi(formula, d, prior = heavy)
    name <- sprintf("%s.slope", fit$design$specs[[2L]]$label)
    plain <- galvi(formula, d)
    expect_equal(fit$prior[[name]]$sd, plain$prior[[name]]$sd, info = name)
    own <- stats::setNames(list(cauchy(0, 1)), name)
    expect_error(galvi(formula, d, prior = own), "heavy tails", class = "galvi_error_prior")
  }
})

test_that("responses over too many orders of magnitude are told, not flat priors that nobody typed", {
  set.seed(1)
  d <- data.frame(x = rnorm(20), w = rnorm(20))
  d$y <- exp(200 * d$x)
  for (prior in list(student_t(3, 0, 2.5), horseshoe())) {
    own <- list(default = prior)
    expect_error(suppressWarnings(galvi(y ~ x + w, d, inverse.gaussian("log"), prior = own)),
      "dozens of orders of magnitude.*lognormal\\(\\) does\\.$", class = "galvi_error_numeric")
    # what the message advises
    expect_s3_class(suppressMessages(suppressWarnings(galvi(y ~ x + w, d, lognormal(), prior = own))), "galvi")
  }
  expect_error(galvi(y ~ x + w, transform(d, y = x, w = 2 * x), prior = normal(0, Inf)), "collinear",
    class = "galvi_error_numeric")
})
