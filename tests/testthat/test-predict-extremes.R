# Predictions at extreme marginals of eta: in time, in order, and right.

skip_on_cran()

# Means and variances of q are set by hand.
factorised <- galvi_control(uncertainty = "factorised")

# One row per likelihood with one latent value: parameters, responses in increasing order, trials; `others`: mean and
# variance of another linear predictor, or of one after the other.
extreme_cases <- list(
  list("gaussian", list(variance = 0.7), c(-1e9, 0, 1e300)),
  list("gaussian_log_sd", list(), c(-1e9, 0, 1e300), others = c(-300, 1e4)),
  list("gaussian_log_sd", list(), c(-1e9, 0, 1e9), others = c(0.3, 0)),
  list("gaussian_log_sd", list(), c(-1e9, 0, 1e9), others = c(2, 3)),
  list("gaussian_log_sd", list(), c(-1e90, 0, 1e90), others = c(200, 25)),
  list("student_log_scale", list(df = 4), c(-1e9, 0, 1e9), others = c(0.3, 0.2)),
  list("student_log_scale", list(df = 0.5), c(-1e9, 0, 1e200), others = c(-40, 0)),
  list("laplace_log_scale", list(), c(-1e9, 0, 1e9), others = c(0.3, 0.2)),
  list("exgaussian_log_sigma", list(beta = 1.3), c(-1e9, 0, 1e9), others = c(0.3, 0.2)),
  list("exgaussian_log_sigma_log_beta", list(), c(-1e9, 0, 1e9), others = c(0.3, 0.2, 0.5, 0.1)),
  list("skew_normal_log_sigma", list(alpha = 2.5), c(-1e9, 0, 1e9), others = c(0.3, 0.2)),
  list("skew_normal_log_sigma_alpha", list(), c(-1e9, 0, 1e9), others = c(0.3, 0.2, 1.5, 0.4)),
  list("ordbeta_log_phi", list(cuts = c(-1.2, 0.9)), c(0, 1e-300, 0.3, 1 - 1e-9, 1), others = c(0.3, 0.2)),
  list("zero_one_inflated_beta", list(phi = 3.5), c(0, 1e-300, 0.3, 1 - 1e-9, 1), others = c(0.3, 0.2, -0.4, 0.3)),
  list("zero_one_inflated_beta_log_phi", list(), c(0, 1e-300, 0.3, 1), others = c(1, 0.1, 0.3, 0.2, -0.4, 0.3)),
  list("inverse_gaussian_log_shape", list(), c(1e-9, 1, 1e9), others = c(0.3, 0)),
  list("tweedie_log_dispersion", list(power = 1.5), c(0, 1e-9, 1, 1e9), others = c(0.3, 0)),
  list("censored_gaussian_log_sd", list(), c(-1e9, 0, 1e9), others = c(0.3, 0.2)),
  list("lognormal_log_sigma", list(), c(1e-300, 1, 1e9, 1e300), others = c(0.3, 0.2)),
  list("loglogistic_log_shape", list(), c(1e-300, 1, 1e9, 1e300), others = c(0.3, 0.2)),
  list("weibull_ph_log_shape", list(), c(1e-100, 1, 1e9, 1e100), constants = list(reference = 5), others = c(0.3, 0)),
  list("gamma_log_shape", list(), c(1e-300, 1, 1e300), others = c(0.3, 0.2)),
  list("gamma_log_shape", list(), c(1e-9, 1, 1e9), others = c(12, 0)),
  list("negbinomial_log_size", list(), c(0, 1, 40, 1e6, 1e15), others = c(0.3, 0.2)),
  list("negbinomial_log_size", list(), c(0, 40, 1e15), others = c(12, 0)),
  list("gaussian_log_log_sd", list(), c(-1e9, 0, 1, 1e9), others = c(0.3, 0.2)),
  list("negbinomial_softplus_log_size", list(), c(0, 1, 40, 1e6), others = c(0.3, 0.2)),
  list("gamma_softplus_log_shape", list(), c(1e-9, 1, 1e9), others = c(0.3, 0.2)),
  list("nbinom1_log_phi", list(), c(0, 1, 40, 1e6, 1e15), others = c(0.3, 0.2)),
  list("nbinom1_log_phi", list(), c(0, 40, 1e15), others = c(-12, 0)),
  list("beta_log_precision", list(), c(1e-300, 0.3, 1 - 1e-9), others = c(0.3, 0.2)),
  list("beta_log_precision", list(), c(1e-9, 0.3, 1 - 1e-9), others = c(12, 0)),
  list("beta_binomial_log_precision", list(), 0:1, others = c(0.3, 0.2)),
  list("beta_binomial", list(precision = 3.5), 0:1),
  list("zero_inflated_poisson", list(), c(0, 1, 40, 1e6), others = c(0.3, 0.2)),
  list("zero_inflated_poisson", list(), c(0, 1, 40, 1e6), others = c(-300, 1e4)),
  list("zero_inflated_binomial", list(), 0:1, others = c(0.3, 0.2)),
  list("zero_inflated_negbinomial", list(size = 1.7), c(0, 1, 40, 1e6), others = c(0.3, 0.2)),
  list("hurdle_poisson", list(), c(0, 1, 40, 1e6), others = c(0.3, 0.2)),
  list("hurdle_binomial", list(), 0:1, others = c(0.3, 0.2)),
  list("hurdle_negbinomial", list(size = 1.7), c(0, 1, 40, 1e6), others = c(0.3, 0.2)),
  list("zero_inflated_nbinom1", list(phi = 1.7), c(0, 1, 40, 1e6), others = c(0.3, 0.2)),
  list("hurdle_nbinom1", list(phi = 1.7), c(0, 1, 40, 1e6), others = c(0.3, 0.2)),
  list("hurdle_gamma", list(shape = 2.3), c(0, 1e-9, 1, 1e9), others = c(0.3, 0.2)),
  list("hurdle_lognormal", list(sigma = 0.7), c(0, 1e-9, 1, 1e9), others = c(0.3, 0.2)),
  list("student_log_scale_log_df", list(), c(-1e9, 0, 1e9), others = c(0.3, 0.2, 1.5, 0.1)),
  list("zero_inflated_negbinomial_log_size", list(), c(0, 1, 40, 1e6), others = c(0.3, 0.2, 0.5, 0.1)),
  list("hurdle_negbinomial_log_size", list(), c(0, 1, 40, 1e6), others = c(0.3, 0.2, 0.5, 0.1)),
  list("zero_inflated_nbinom1_log_phi", list(), c(0, 1, 40, 1e6), others = c(0.3, 0.2, 0.5, 0.1)),
  list("hurdle_nbinom1_log_phi", list(), c(0, 1, 40, 1e6), others = c(0.3, 0.2, 0.5, 0.1)),
  list("hurdle_gamma_log_shape", list(), c(0, 1e-9, 1, 1e9), others = c(0.3, 0.2, 0.5, 0.1)),
  list("hurdle_lognormal_log_sigma", list(), c(0, 1e-9, 1, 1e9), others = c(0.3, 0.2, -0.3, 0.1)),
  list("binomial_logit", list(), 0:1), list("binomial_logit", list(), c(0, 1, 3e5, 1e6), 1e6),
  list("binomial_probit", list(), 0:1), list("binomial_probit", list(), c(0, 1, 3e5, 1e6), 1e6),
  list("poisson", list(), c(0, 1, 40, 1e6, 1e15)),
  list("negbinomial", list(size = 1.7), c(0, 1, 40, 1e6, 1e15)),
  list("negbinomial", list(size = 1e-3), c(0, 40, 1e15)),
  list("negbinomial", list(size = 1e7), c(0, 40, 1e15)),
  list("gaussian_log", list(variance = 0.7), c(-1e9, 0, 1, 1e9)),
  list("gaussian_log", list(variance = 1e-6), c(-1e9, 0, 1, 1e9)),
  list("poisson_softplus", list(), c(0, 1, 40, 1e6, 1e15)),
  list("negbinomial_softplus", list(size = 1.7), c(0, 1, 40, 1e6, 1e15)),
  list("negbinomial_softplus", list(size = 1e-3), c(0, 40, 1e15)),
  list("gamma_softplus", list(shape = 2.3), c(1e-9, 1, 1e9)),
  list("compois", list(nu = 0.7), c(0, 1, 40, 1e6, 1e15)),
  list("compois", list(nu = 1e-3), c(0, 40, 1e15)),
  list("compois", list(nu = 20), c(0, 40, 1e15)),
  list("nbinom1", list(phi = 1.7), c(0, 1, 40, 1e6, 1e15)),
  list("nbinom1", list(phi = 1e-5), c(0, 40, 1e15)),
  list("nbinom1", list(phi = 1e5), c(0, 40, 1e15)),
  list("gamma", list(shape = 2.3), c(1e-300, 1, 1e300)), list("gamma", list(shape = 0.01), c(1e-9, 1, 1e9)),
  list("gamma", list(shape = 1e6), c(1e-9, 1, 1e9)),
  list("inverse_gaussian", list(dispersion = 0.7), c(1e-9, 1, 1e9)),
  list("inverse_gaussian", list(dispersion = 1e-6), c(1e-9, 1, 1e9)),
  list("inverse_gaussian", list(dispersion = 1e6), c(1e-9, 1, 1e9)),
  list("tweedie", list(dispersion = 0.7, power = 1.5), c(0, 1e-9, 1, 1e9)),
  list("tweedie", list(dispersion = 1e-3, power = 1.9), c(0, 1, 1e4)),
  list("exponential", list(), c(1e-300, 1, 1e9, 1e300)),
  list("weibull", list(shape = 1.6), c(1e-100, 1, 1e9, 1e100)),
  list("weibull_ph", list(shape = 1.6), c(1e-100, 1, 1e9, 1e100), constants = list(reference = 5)),
  list("loglogistic", list(shape = 1.6), c(1e-300, 1, 1e9, 1e300)),
  list("loglogistic", list(shape = 0.1), c(1e-9, 1, 1e9)),
  list("lognormal", list(sigma = 0.7), c(1e-300, 1, 1e9, 1e300)),
  list("censored_gaussian", list(variance = 0.7), c(-1e9, 0, 1e9)),
  list("binomial_cloglog", list(), 0:1), list("binomial_cloglog", list(), c(0, 1, 3e5, 1e6), 1e6),
  list("stochastic_volatility", list(), c(-1e9, -1, 0, 1e-9, 1e200)),
  list("laplace", list(scale = 1e-6), c(-1e9, 0, 1e9)), list("laplace", list(scale = 1e6), c(-1e9, 0, 1e9)),
  list("asymmetric_laplace", list(scale = 1e-6), c(-1e9, 0, 1e9), constants = list(quantile = 0.3)),
  list("asymmetric_laplace", list(scale = 1e6), c(-1e9, 0, 1e9), constants = list(quantile = 0.99)),
  list("exgaussian", list(sigma = 0.7, beta = 1.3), c(-1e9, 0, 1e9)),
  list("exgaussian", list(sigma = 1e-6, beta = 1e3), c(-1e9, 0, 1e9)),
  list("exgaussian", list(sigma = 1e3, beta = 1e-6), c(-1e9, 0, 1e9)),
  list("skew_normal", list(sigma = 0.7, alpha = -2.5), c(-1e9, 0, 1e9)),
  list("skew_normal", list(sigma = 1e-6, alpha = 50), c(-1e9, 0, 1e9)),
  list("von_mises", list(kappa = 2.3), c(-3, 0.4, 3)), list("von_mises", list(kappa = 1e9), c(-3, 0.4, 3)),
  list("student", list(df = 4, scale = 0.7), c(-1e9, 0, 1e200)),
  list("student", list(df = 0.01, scale = 0.7), c(-1e9, 0, 1e9)),
  list("student", list(df = 1e8, scale = 1e-6), c(-1e9, 0, 1e9)),
  list("beta", list(precision = 3.5), c(1e-300, 0.3, 1 - 1e-9)),
  list("beta", list(precision = 1e8), c(1e-9, 0.3, 1 - 1e-9)),
  list("ordbeta", list(cuts = c(-1.2, 0.9), phi = 3.5), c(0, 1e-300, 0.3, 1 - 1e-9, 1)),
  list("ordbeta", list(cuts = c(-30, 30), phi = 1e3), c(0, 1e-9, 0.3, 1 - 1e-9, 1)),
  list("beta", list(precision = 1e-3), c(1e-9, 0.3, 1 - 1e-9)),
  list("cumulative_logit", list(thresholds = c(-1, 0.4, 1.5)), 0:3),
  list("cumulative_probit", list(thresholds = c(-1, 0.4, 1.5)), 0:3),
  list("binomial_loglog", list(), 0:1), list("binomial_loglog", list(), c(0, 1, 3e5, 1e6), 1e6),
  list("binomial_cauchit", list(), 0:1), list("binomial_cauchit", list(), c(0, 1, 30, 60), 60),
  list("cumulative_cloglog", list(thresholds = c(-1, 0.4, 1.5)), 0:3),
  list("cumulative_loglog", list(thresholds = c(-1, 0.4, 1.5)), 0:3),
  list("cumulative_cauchit", list(thresholds = c(-1, 0.4, 1.5)), 0:3),
  list("sequential_logit", list(thresholds = c(1.5, 0.4, -1)), 0:3),
  list("sequential_probit", list(thresholds = c(1.5, 0.4, -1)), 0:3),
  list("sequential_cloglog", list(thresholds = c(1.5, 0.4, -1)), 0:3),
  list("sequential_loglog", list(thresholds = c(1.5, 0.4, -1)), 0:3),
  list("sequential_cauchit", list(thresholds = c(1.5, 0.4, -1)), 0:3),
  list("adjacent_category", list(thresholds = c(1.5, 0.4, -1)), 0:3),
  list("cumulative_logit_log_disc", list(thresholds = c(-1, 0.4, 1.5)), 0:3, others = c(0.3, 0.2)),
  list("cumulative_probit_log_disc", list(thresholds = c(-1, 0.4, 1.5)), 0:3, others = c(0.3, 0.2)),
  list("sequential_logit_log_disc", list(thresholds = c(1.5, 0.4, -1)), 0:3, others = c(0.3, 0.2)),
  list("sequential_probit_log_disc", list(thresholds = c(1.5, 0.4, -1)), 0:3, others = c(0.3, 0.2)),
  list("adjacent_category_log_disc", list(thresholds = c(1.5, 0.4, -1)), 0:3, others = c(0.3, 0.2)),
  list("categorical", list(), 0:1, constants = list(classes = 2, reference = 0)),
  list("stick_breaking", list(), 0:1, constants = list(classes = 2))
)
extreme_spec <- function(case) {
  positions <- relist(seq_along(unlist(case[[2]])), case[[2]])
  constants <- if (is.null(case$constants)) list() else case$constants
  list(type = case[[1]], hyper = positions, constants = constants)
}
extreme_prediction <- function(case, what, mean, variance, y = 0, probability = 0.5) {
  size <- if (length(case) > 3L && is.null(names(case))) case[[4]] else 1
  if (!is.null(case$others)) {
    n <- max(length(mean), length(probability))
    others <- matrix(case$others, 2)
    mean <- cbind(rep_len(mean, n), matrix(others[1, ], n, ncol(others), byrow = TRUE))
    variance <- cbind(rep_len(variance, n), matrix(others[2, ], n, ncol(others), byrow = TRUE))
  }
  hyper <- as.numeric(unlist(case[[2]]))
  predict_response(extreme_spec(case), hyper, size, y, mean, variance, what, probability)
}

test_that("every likelihood is among the extreme cases", {
  expect_setequal(vapply(extreme_cases, `[[`, "", 1L), likelihood_facts()$type)
})

# Those that are asked at usual marginals alone: distribution functions that are sums over counts, which take minutes
# around exp(40), and a mean of exp(1000) with a predicted standard deviation.
slow_far_out <- c("compois", "nbinom1", "nbinom1_log_phi", "gaussian_log_log_sd")

test_that("every family's predictions are numbers, in order and in time, at any marginal", {
  marginals <- expand.grid(mean = c(-1e3, -200, -1, 0.3, 40, 1e3), variance = c(0, 1e-12, 1, 25, 1e4, 1e13))
  probs <- c(1e-10, 0.001, 0.05, 0.5, 0.95, 0.999, 1 - 1e-10)
  slowest <- 0
  in_unit <- function(p) !anyNA(p) && all(p >= 0 & p <= 1)
  for (case in extreme_cases) {
    y <- case[[3]]
    wrong <- character()
    # with three predictors a quantile far out may take two seconds
    three <- length(case$others) > 2
    near <- case[[1]] %in% slow_far_out
    for (i in if (three) c(4, 22) else if (near) which(marginals$mean == 0.3 & marginals$variance < 25) else
      seq_len(nrow(marginals))) {
      m <- marginals$mean[i]
      v <- marginals$variance[i]
      start <- proc.time()[["elapsed"]]
      density <- extreme_prediction(case, "log_density", rep(m, length(y)), v, y)
      cdf <- extreme_prediction(case, "cdf", rep(m, length(y)), v, y)
      upper <- extreme_prediction(case, "upper", rep(m, length(y)), v, y)
      quantiles <- if (!case[[1]] %in% c("categorical", "stick_breaking"))
        extreme_prediction(case, "quantile", rep(m, 7), v, probability = probs)
      seconds <- (proc.time()[["elapsed"]] - start) / (7 + 3 * length(y))
      slowest <- max(slowest, if (three) seconds / 5 else seconds)
      fine <- c(
        density = !anyNA(density), cdf = in_unit(cdf) && !is.unsorted(cdf),
        upper = in_unit(upper) && !is.unsorted(rev(upper)), sum = isTRUE(max(abs(cdf + upper - 1)) < 1e-9),
        quantiles = !anyNA(quantiles) && !is.unsorted(signif(as.numeric(quantiles), 14))  # to rounding
      )
      wrong <- c(wrong, sprintf("%s at mean %g, variance %g", names(fine)[!fine], m, v))
    }
    expect_identical(wrong, character(), label = paste(c(case[[1]], unlist(case[[2]])), collapse = " "))
  }
  expect_lt(slowest, within_seconds(2))  # seconds a value: no sum or search is endless
})

test_that("quantiles of counts cost no time that grows with the count", {
  q <- value_in_time({
    fit <- galvi(y ~ 1, data.frame(y = 1), poisson(), hyper = "fixed")
    start <- proc.time()[["elapsed"]]
    q <- outer(c(25, 36, 49), c(0.5, 0.999), function(v, p) {
      galvi:::predict_response(fit$model$likelihood, numeric(), 1, 0, rep(0, 6), v, "quantile", p)
    })
    list(q = q, seconds = proc.time()[["elapsed"]] - start)
  })
  expect_lt(q$seconds, within_seconds(5))
  # the noise of such counts hardly matters beside that of eta
  expect_equal(q$q[, 2], exp(qnorm(0.999) * c(5, 6, 7)), tolerance = 1e-6)
  for (v in c(25, 49)) {
    for (p in c(0.1, 0.5, 0.6)) {
      q <- predictive("poisson", "quantile", 0, v, probability = p)
      expect_gte(predictive("poisson", "cdf", 0, v, y = q), p)
      expect_lt(predictive("poisson", "cdf", 0, v, y = q - 1), p)
    }
  }
  # where the answer is beyond all numbers
  expect_identical(predictive("poisson", "quantile", rep(0, 2), 1e13, probability = c(0.4, 0.6)), c(0, Inf))
  expect_identical(predictive("gamma", "quantile", rep(0, 2), 1e13, probability = c(0.4, 0.6)), c(0, Inf))
})

test_that("quantiles and intervals of two linear predictors take no time, whatever the family", {
  found <- value_in_time(seconds = 60, code = {
    set.seed(3)
    d <- data.frame(x = runif(60))
    positive <- rgamma(60, 2, 2 / exp(1 + d$x))
    models <- list(
      tweedie = list(tweedie(), "phi", positive * rbinom(60, 1, 0.7)),
      inverse_gaussian = list(inverse.gaussian("log"), "phi", positive),
      loglogistic = list(loglogistic(), "shape", positive),
      weibull = list(weibull(form = "ph"), "shape", positive),
      lognormal = list(lognormal(), "sigma", positive), gamma = list(Gamma("log"), "shape", positive),
      negbinomial = list(negbinomial(), "shape", rnbinom(60, 2, mu = exp(1 + d$x))),
      student = list(student(), "sigma", rnorm(60))
    )
    p <- c(0.025, 0.5, 0.975)
    lapply(models, function(model) {
      d$y <- model[[3]]
      fit <- galvi(list(y ~ x, as.formula(paste(model[[2]], "~ x"))), d, model[[1]])
      start <- proc.time()[["user.self"]]
      joint <- suppressWarnings(predict(fit, d[1:3, ], interval = "prediction"))
      fit <- galvi:::at_estimates(fit)  # with independent predictors
      interval <- suppressWarnings(predict(fit, d[1:3, ], interval = "prediction"))
      # as if little were known of the second predictor, too
      at_variance <- function(variance) {
        marginals <- list(mean = fit$posterior$mean[1:3, ], variance = cbind(fit$posterior$variance[1:3, 1], variance))
        at <- function(what, ...) galvi:::response_moment(fit, marginals, what, size = rep(1, 3), ...)
        q <- sapply(p, function(p) at("quantile", probability = p))
        list(q = q, reached = apply(q, 2, function(y) at("cdf", y = y)))
      }
      at <- list(at_variance(fit$posterior$variance[1:3, 2]), at_variance(1))
      list(at = at, joint = joint, interval = interval, seconds = proc.time()[["user.self"]] - start)
    })
  })
  p <- matrix(c(0.025, 0.5, 0.975), 3, 3, byrow = TRUE)
  for (name in names(found)) {
    one <- found[[name]]
    expect_lt(one$seconds, within_seconds(20), label = name)
    expect_true(all(is.finite(one$joint[, c("lwr", "upr")])), label = name)
    # of sixty rows
    expect_close(one$joint[, c("lwr", "upr")], one$interval[, c("lwr", "upr")], 0.2)
    expect_true(all(is.finite(one$interval[, c("lwr", "upr")])), label = name)
    for (at in one$at) {
      expect_true(all(at$reached >= p - 1e-9), label = name)
      exact <- name != "negbinomial" & at$q != 0  # a Tweedie response has a mass there
      expect_close(at$reached[exact], p[exact], 1e-9)
    }
    expect_equal(unname(one$interval[, c("lwr", "upr")]), one$at[[1]]$q[, c(1, 3)], tolerance = 1e-8, label = name)
  }
})

test_that("densities at extreme marginals end, with the right answer", {
  value <- value_in_time({
    wide <- galvi(y ~ 0 + gp(x, kernel = se(variance = fixed(1e13), lengthscale = fixed(1))),
      data.frame(x = 0:1, y = 0:1), binomial())
    far <- galvi(y ~ 1 + offset(o), data.frame(y = c(1e9, 2), o = c(-200, 0)), exponential())
    list(
      density = predict(wide, data.frame(x = c(1e6, 1e6), y = 0:1), type = "density"),
      loo = suppressWarnings(loo::loo(far)$pointwise[, "elpd_loo"])
    )
  })
  expect_close(exp(value$density), c(0.5, 0.5), 1e-9)
  expect_false(anyNA(value$loo))
  # E sigmoid(eta) under eta ~ N(mean, 1e13) is Phi(mean / sd) but for pi^2 / 6 phi'(mean / sd) / sd^2
  expect_close(predictive("binomial_logit", "log_density", 2e6, 1e13),
               pnorm(2e6 / sqrt(1e13), log.p = TRUE), 1e-9)
  # log p = -y exp(-eta) - eta overflows
  expect_identical(predictive("exponential", "log_density", -1000, 0, y = 1e9), -Inf)
  # the integrand's mode balances both: Laplace's approximation is right to its curvature
  density <- function(e) -e - 1e9 * exp(-e) - (e + 200)^2 / 2
  mode <- optimize(density, c(-200, 30), maximum = TRUE, tol = 1e-10)
  curvature <- 1 + 1e9 * exp(-mode$maximum)
  expect_close(predictive("exponential", "log_density", -200, 1, y = 1e9),
               mode$objective - log(curvature) / 2, 1e-3)
})

test_that("densities and distribution functions agree with integrals in log space", {
  # log E exp(log_g) by the trapezium sum over what is not negligible
  log_mean <- function(log_g, m, s) {
    ends <- m + c(-60, 60) * s
    for (round in 1:6) {
      t <- seq(ends[1], ends[2], length.out = 20001)
      h <- log_g(t) + dnorm(t, m, s, log = TRUE)
      inside <- range(which(h > max(h, na.rm = TRUE) - 45))
      ends <- t[c(max(inside[1] - 1, 1), min(inside[2] + 1, length(t)))]
    }
    max(h) + log(sum(exp(h - max(h))) * (t[2] - t[1]))
  }
  for (v in c(0.01, 1, 25, 400)) {
    s <- sqrt(v)
    ours <- function(type, what, m, y, size = 1) predictive(type, what, m, v, size, y)
    for (m in c(-6, 0, 5)) {
      expect_close(ours("binomial_logit", "log_density", m, 3e5, 1e6),
                   log_mean(function(e) dbinom(3e5, 1e6, plogis(e), log = TRUE), m, s), 1e-7)
      expect_close(ours("poisson", "log_density", m, 40),
                   log_mean(function(e) dpois(40, exp(e), log = TRUE), m, s), 1e-8)
      for (y in c(0, 3, 1000)) {
        below <- log_mean(function(e) ppois(y, exp(e), log.p = TRUE), m, s)
        above <- log_mean(function(e) ppois(y, exp(e), lower.tail = FALSE, log.p = TRUE), m, s)
        expect_close(log(ours("poisson", "cdf", m, y)), if (below > -700) below else -Inf, 1e-8)
        expect_close(log(ours("poisson", "upper", m, y)), if (above > -700) above else -Inf, 1e-8)
      }
    }
  }
})

test_that("a narrow laplace likelihood has tilted moments to the last digits", {
  # by mpmath with 60 digits: log mass, mean, variance
  cases <- read.csv(test_path("fixtures", "tilted-laplace.csv"))
  found <- t(mapply(function(s, y, w, m, v) tilted_at("laplace", c(scale = s), y, w, m, v)[1:3],
                    cases$scale, cases$y, cases$weight, cases$mean, cases$variance))
  expect_close(found[, 1], cases$log_mass, 1e-9)
  # in sds, beyond the rounding of the mean itself
  rounding <- 4e-16 * abs(cases$tilted_mean)
  expect_lt(max((abs(found[, 2] - cases$tilted_mean) - rounding) / sqrt(cases$tilted_variance)), 1e-9)
  expect_lt(max(abs(found[, 3] / cases$tilted_variance - 1)), 1e-9)
})

test_that("probabilities stay within 0 and 1, and add up to one", {
  d <- data.frame(y = c(0, 1, 0, 1, 1), x = 1:5)
  for (link in c("logit", "probit")) {
    fit <- galvi(y ~ 1 + offset(o), transform(d, o = 0), binomial(link), hyper = "fixed")
    for (o in c(-800, -38, -20, 0, 20, 38, 800)) {
      new <- data.frame(o = o)
      p <- predict(fit, new, type = "prob")
      expect_true(all(p >= 0 & p <= 1))
      expect_close(sum(p), 1, 1e-15)
      response <- predict(fit, new)
      expect_true(response >= 0 && response <= 1)
    }
  }
  grid <- expand.grid(mean = c(-1e3, -37.3, -1, 0, 20.2, 36.9, 41, 1e3),
                      variance = c(0, 1e-3, 1, 40, 1e4, 1e13))
  for (type in c("binomial_logit", "binomial_probit", "beta")) {
    p <- predictive(type, "mean", grid$mean, grid$variance)
    expect_true(all(p >= 0 & p <= 1))
    logs <- lapply(c("log_mean", "log_rest"), function(what) predictive(type, what, grid$mean, grid$variance))
    expect_close(exp(logs[[1]]) + exp(logs[[2]]), 1, 1e-11)
  }
})

test_that("deviance residuals are finite and right at any eta", {
  # of a fit whose posterior of eta is moved to a point
  residual_at <- function(eta, y, family) {
    fit <- galvi(y ~ 1, data.frame(y = y), family, hyper = "fixed", control = factorised)
    fit$posterior$mean[] <- eta
    fit$posterior$variance[] <- 0
    unname(residuals(fit, "deviance"))
  }
  o <- c(-700, -200, -40, 40, 200, 700)
  for (y in list(rep(0:1, 3), rep(1:0, 3))) {
    r <- residual_at(o, y, binomial())
    # those below 1e-8 may be 0
    expect_close(r, sign(y - 0.5) * sqrt(-2 * plogis(ifelse(y == 1, o, -o), log.p = TRUE)), 1e-8)
    r <- residual_at(o, y, binomial("probit"))
    expect_close(r, sign(y - 0.5) * sqrt(-2 * pnorm(ifelse(y == 1, o, -o), log.p = TRUE)), 1e-8)
  }
  poisson_deviance <- function(y, o) 2 * ((if (y > 0) y * (log(y) - o) else 0) - y + exp(o))
  for (y in c(0, 5)) {
    r <- residual_at(o, rep(y, 6), poisson())
    expect_close(r, sign(y - exp(o)) * sqrt(poisson_deviance(y, o)))
  }
  # as a = 3 mu -> 0: log p = log a + 2 log(1 - y) - log y
  r <- residual_at(c(-60, -200, -700), rep(0.1, 3), galvi_family("beta_family", precision = fixed(3)))
  best <- optimize(function(mu) dbeta(0.1, 3 * mu, 3 - 3 * mu, log = TRUE), 0:1, maximum = TRUE)$objective
  expect_equal(r, sqrt(2 * (best - log(3) + c(60, 200, 700) - 2 * log(0.9) + log(0.1))), tolerance = 1e-6)
})

test_that("a mean that overflows is told, by the name of what does not", {
  d <- data.frame(y = c(2, 3, 1), o = 0)
  for (family in list(negbinomial(), poisson(), exponential(), Gamma("log"))) {
    fit <- galvi(y ~ 1 + offset(o), d, family, hyper = "fixed", control = factorised)
    new <- data.frame(o = c(1, 800), row.names = c("near", "far"))
    expect_warning(p <- predict(fit, new), "too large for a number in row \"far\".*\"link\".*\"quantile\"",
                   class = "galvi_warning_numeric")
    expect_identical(is.infinite(unname(p)), c(FALSE, TRUE))
    expect_no_warning(predict(fit, new, type = "link"))
    expect_no_warning(predict(fit, data.frame(o = 500), type = "quantile"))
    expect_warning(predict(fit, data.frame(o = 500), se.fit = TRUE), "standard deviation of the mean",
                   class = "galvi_warning_numeric")
    expect_warning(drawn <- rstantools::posterior_predict(fit, data.frame(o = c(1, NA, 800)), ndraws = 3),
                   "Drawn responses are too large for a number in row 3", class = "galvi_warning_numeric")
    expect_identical(colSums(is.infinite(drawn)), c(`1` = 0, `2` = 0, `3` = 3))
    expect_warning(simulate(fit, newdata = data.frame(o = c(NA, 800))), "Simulated responses are .* in row 2",
                   class = "galvi_warning_numeric")
  }
  # neither factor of the variance is 0 times infinity
  expect_identical(predictive("poisson", "mean_variance", -1e4, 1e3), 0)
})

test_that("quantiles, limits and simulated responses that overflow are told", {
  d <- data.frame(y = c(2, 3, 1), o = 0)
  fit <- galvi(y ~ 1 + offset(o), d, exponential(), hyper = "fixed", control = factorised)
  new <- data.frame(o = c(1, NA, 800), row.names = c("near", "unknown", "far"))
  expect_warning(q <- predict(fit, new, type = "quantile"), "Quantiles .*row \"far\".*\"link\"",
                 class = "galvi_warning_numeric")
  expect_identical(is.infinite(unname(q[, 2])), c(FALSE, FALSE, TRUE))
  for (interval in c("credible", "prediction")) {
    said <- testthat::capture_warnings(predict(fit, new, interval = interval))
    expect_match(said, "^The mean .*row \"far\"|^Limits .*row \"far\"", all = TRUE)
    expect_length(said, 2L)
  }
  expect_warning(s <- simulate(fit, 2, seed = 1, newdata = new), "Simulated .*row \"far\".*\"link\"",
                 class = "galvi_warning_numeric")
  expect_identical(is.infinite(s$sim_2), c(FALSE, FALSE, TRUE))
  expect_no_warning(simulate(fit, 2, seed = 1))
  # a logical response of a family of counts is 0 and 1
  expect_false(anyNA(simulate(galvi(y > 1 ~ 1, d, poisson(), hyper = "fixed"), seed = 1)$sim_1))
  # counts that are no integers of R are numbers still
  counts <- galvi(y ~ 1 + offset(o), transform(d, y = as.integer(y)), poisson(), hyper = "fixed")
  expect_type(simulate(counts, seed = 1)$sim_1, "integer")
  expect_gt(simulate(counts, seed = 1, newdata = data.frame(o = 40))$sim_1, 1e15)
})

test_that("quantile residuals keep their distance on both sides", {
  fit <- galvi(y ~ 1, data.frame(y = c(-15, -1, 0, 1, 15)), gaussian(), hyper = "fixed")
  fit$posterior$mean[] <- 0
  r <- unname(residuals(fit, "quantile"))
  expect_equal(r, -rev(r), tolerance = 1e-9)
  fit <- galvi(y ~ 1, data.frame(y = c(0, 100)), poisson(), hyper = "fixed")
  fit$posterior$mean[] <- 0
  fit$posterior$variance[] <- 1e-10
  far <- residuals(fit, "quantile")[[2]]
  expect_equal(far, -qnorm(ppois(99, 1, lower.tail = FALSE)), tolerance = 0.05)
})

test_that("predictions listen to interrupts and time limits", {
  outcome <- in_process({
    fit <- galvi(y ~ x, data.frame(y = c(0.1, 0.4, 0.8), x = 1:3), beta_family(), hyper = "fixed")
    new <- data.frame(x = rep(seq(-5, 5, length.out = 1000), 1000))
    start <- proc.time()[["elapsed"]]
    tryCatch({
      setTimeLimit(elapsed = 1)
      predict(fit, new, type = "quantile")
      "ran to its end"
    }, error = function(e) NULL, interrupt = function(e) NULL, finally = setTimeLimit())
    proc.time()[["elapsed"]] - start
  })
  expect_identical(outcome$status, "result")
  expect_lt(outcome$value, within_seconds(20))
})

test_that("classes whose latent values are known to very different degrees are right, in time", {
  spec <- list(type = "categorical", hyper = list(), constants = list(classes = 3, reference = -1))
  classes <- function(mean, variance, second = FALSE) {
    predict_classes(spec, numeric(), t(mean), t(variance), second)
  }
  # One of a huge variance wins by its sign; the others share what is left, by what holds between them alone.
  for (v in c(1e9, 1e11, 1e13)) {
    first <- pnorm(200 / sqrt(v))
    two <- list(type = "categorical", hyper = list(), constants = list(classes = 2, reference = 0))
    pair <- predict_classes(two, numeric(), matrix(1), matrix(0.1))
    expect_close(classes(c(200, 0, 1), c(v, 0, 0.1)), c(first, (1 - first) * pair), 3 / sqrt(v))
    first <- pnorm(1200 / sqrt(v))
    expect_close(classes(c(200, -1000, 1), c(v, 0, 0.1))[2], 0, 1e-12)
    # three alike, two alike and one at 0
    expect_close(classes(numeric(3), rep(v, 3)), 1 / 3, 1e-9)
    expect_close(classes(numeric(3), c(v, v, 0)), c(3, 3, 2) / 8, 3 / sqrt(v))
  }
  # the integrals that serve there are those that the sums are elsewhere
  moments <- classes(c(0.3, -1, 0), c(1e7, 2, 0.1), TRUE)
  wide <- classes(c(0.3, -1, 0), c(1e9, 2, 0.1), TRUE)
  expect_close(unlist(moments)[-c(1, 4)] / unlist(wide)[-c(1, 4)], 1, 1e-3)
  seconds <- system.time(classes(matrix(0, 3, 20), matrix(c(1e13, 1, 1e13), 3, 20), TRUE))[["elapsed"]]
  expect_lt(seconds / 20, within_seconds(2))
  p <- classes(c(1e3, -1e3, 0), c(0, 1e13, 1e4))
  expect_true(all(p >= 0 & p <= 1))
  expect_close(sum(p), 1, 1e-15)
})

test_that("a lognormal mean that overflows is too large for a number, not infinite", {
  set.seed(1)
  d <- data.frame(x = rnorm(20), y = exp(rnorm(20)))
  fit <- suppressMessages(galvi(y ~ x, d, galvi_family("lognormal", sigma = fixed(100))))
  expect_warning(mean <- predict(fit, d[1:2, ], type = "response"), "too large for a number", class = "galvi_warning_numeric")
  expect_identical(unname(mean), c(Inf, Inf))
  heavy <- suppressMessages(galvi(y ~ x, d, galvi_family("loglogistic", shape = fixed(0.5))))
  expect_warning(predict(heavy, d[1:2, ], type = "response"), "infinite for the loglogistic family at a shape")
})
