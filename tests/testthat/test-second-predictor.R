# A second linear predictor: expectations, reference optima, and what users see.

skip_on_cran()

# Those that a plane of nodes serves: times and kinks have tests of their own.
disc_types <- grep("_log_disc$", names(two_predictor_densities), value = TRUE)
nested_types <- setdiff(names(two_predictor_densities), c(
  disc_types, "gaussian_log_sd", "gaussian_log_log_sd", "student_log_scale", "laplace_log_scale",
  "tweedie_log_dispersion", "censored_gaussian_log_sd",
  "lognormal_log_sigma", "loglogistic_log_shape", "weibull_ph_log_shape"
))

sweep_of <- function(type, i, m, v, order = 2) {
  example <- likelihood_examples[[type]]
  probe_expectation(
    likelihood_spec(type), "quadrature", as.numeric(example$hyper), example$y[i], example$size[i], 1, m, v, order, 1
  )
}

# The trapezium rule in two dimensions, with Hermite's polynomials for derivatives in means and variances. Where a
# log density grows with exp(c |eta|) the sum reaches c sds times the sd further.
plane_growth <- list(
  gamma_softplus_log_shape = list(c(1, 0), c(0, 1)), negbinomial_softplus_log_size = list(c(0, 0), c(0, 1)),
  gamma_log_shape = list(c(1, 0), c(0, 1)), negbinomial_log_size = list(c(0, 1), c(0, 1)),
  beta_log_precision = list(c(0, 0), c(0, 1)), nbinom1_log_phi = list(c(0, 1), c(0, 1)),
  ordbeta_log_phi = list(c(0, 0), c(0, 1)), exgaussian_log_sigma = list(c(0, 0), c(2, 0)),
  skew_normal_log_sigma = list(c(0, 0), c(2, 0))
)
# log Phi has zeros at a distance that shrinks with sigma.
with_phi <- c("exgaussian_log_sigma", "skew_normal_log_sigma")
brute_force <- function(type, i, m, v) {
  example <- likelihood_examples[[type]]
  axis <- function(k) {
    s <- sqrt(v[k])
    further <- if (is.null(plane_growth[[type]])) c(0, 0) else s * plane_growth[[type]][[k]]
    step <- min(if (type %in% with_phi) 0.012 else 0.08, 0.35 / s)
    z <- seq(-10 - further[1], 10 + further[2], by = step)
    list(x = m[k] + s * z, weights = step * dnorm(z) * cbind(1, z / s, (z^2 - 1) / (2 * v[k])))
  }
  first <- axis(1)
  second <- axis(2)
  sums <- vapply(second$x, function(b) {
    values <- two_predictor_densities[[type]](example$y[i], first$x, b, example$size[i], example$hyper)
    drop(values %*% first$weights)
  }, numeric(3))
  plane <- sums %*% second$weights
  plane[c(1, 2, 4, 3, 7)]  # value, d_m, d_v
}

test_that("expectations and their slopes are sums over a plane", {
  for (type in c("gaussian_log_sd", nested_types)) {
    for (i in seq_along(likelihood_examples[[type]]$y)) {
      for (x in list(c(0.4, -0.3, 0.5, 0.2), c(-1, 1, 2, 1.5), c(0.4, 0.5, 0.01, 0.001), c(0, 0, 5, 10))) {
        # the sum's own rounding grows with exp(-2 eta_2)
        if (type %in% c("gaussian_log_sd", "inverse_gaussian_log_shape", with_phi) && x[4] > 5) next
        ours <- sweep_of(type, i, x[1:2], x[3:4])
        expect_close(c(ours$value, ours$d_m, ours$d_v), brute_force(type, i, x[1:2], x[3:4]), tol$expectation)
      }
    }
  }
})

# Where the scale is large, log p of ordered classes is a function of eta_1 with bends at the thresholds, or where
# neighbours without an order meet: panels of Gauss-Legendre nodes that shrink towards them.
gauss_legendre <- function(n) {
  k <- seq_len(n - 1)
  J <- matrix(0, n, n)
  J[cbind(k, k + 1)] <- J[cbind(k + 1, k)] <- k / sqrt(4 * k^2 - 1)
  e <- eigen(J, symmetric = TRUE)
  list(x = e$values, weight = 2 * e$vectors[1, ]^2)
}
disc_brute_force <- function(type, y, h, m, v) {
  s <- sqrt(v)
  bends <- if (type == "adjacent_category_log_disc") c(mean(h[1:2]), h) else h
  close <- c(outer(bends, c(0, 3^-(0:22), -3^-(0:22)) * s[1], `+`))
  ends <- sort(unique(c(m[1] + s[1] * seq(-11, 11, by = 0.5), close[abs(close - m[1]) < 11 * s[1]])))
  rule <- gauss_legendre(14)
  half <- diff(ends) / 2
  a <- c(outer(rule$x, half)) + rep(ends[-1] - half, each = 14)
  t <- (a - m[1]) / s[1]
  first <- c(outer(rule$weight, half)) * dnorm(t) / s[1] * cbind(1, t / s[1], (t^2 - 1) / (2 * v[1]))
  step <- min(0.08, 0.13 / s[2])
  z <- seq(-9.5, 9.5 + 2 * s[2], by = step)
  second <- step * dnorm(z) * cbind(1, z / s[2], (z^2 - 1) / (2 * v[2]))
  sums <- vapply(m[2] + s[2] * z, function(b) {
    drop(two_predictor_densities[[type]](y, a, b, 1, h) %*% first)
  }, numeric(3))
  plane <- sums %*% second
  plane[c(1, 2, 4, 3, 7)]
}

test_that("expectations with a predicted discrimination are sums over a plane", {
  for (type in disc_types) {
    h <- as.numeric(likelihood_examples[[type]]$hyper)
    for (i in seq_along(likelihood_examples[[type]]$y)) {
      for (x in list(c(0.4, -0.3, 0.5, 0.2), c(-1, 1, 2, 1.5), c(0.4, 0.5, 0.01, 0.001), c(0, 0, 5, 10))) {
        ours <- sweep_of(type, i, x[1:2], x[3:4])
        reference <- disc_brute_force(type, likelihood_examples[[type]]$y[i], h, x[1:2], x[3:4])
        expect_close(c(ours$value, ours$d_m, ours$d_v), reference, tol$expectation)
      }
    }
  }
})

with_forms <- c(
  "gamma_log_shape", "negbinomial_log_size", "nbinom1_log_phi", "beta_log_precision", "beta_binomial_log_precision"
)

test_that("expectations of predicted shapes and precisions hold for wide posteriors and large parameters", {
  for_seeds(51:53, function(seed) {
    for (type in with_forms) {
      i <- sample(length(likelihood_examples[[type]]$y), 1)
      # an exponential of the first predictor has no finite mean beyond
      widest <- if (type %in% c("gamma_log_shape", "nbinom1_log_phi")) 100 else 1e4
      for (most in list(c(30, 100), c(widest, 2))) {
        m <- c(runif(1, -4, 4), runif(1, -3, if (seed == 53) 14 else 5))
        v <- exp(runif(2, log(0.05), log(most)))
        ours <- sweep_of(type, i, m, v, order = 1)
        expect_close(c(ours$value, ours$d_m, ours$d_v), brute_force(type, i, m, v), tol$expectation)
      }
    }
  })
})

# log(1 + x^2 exp(-2 s) / df) as a smooth function of log x^2, averaged over s and then over both signs of x.
student_brute_force <- function(y, df, m, v) {
  s <- sqrt(v)
  step <- min(0.1, 0.3 / s[2])
  z <- seq(-9.5, 9.5, by = step)
  weights <- step * dnorm(z) * cbind(1, z / s[2], (z^2 - 1) / (2 * v[2]))
  scales <- m[2] + s[2] * z
  far <- abs(y - m[1]) + 40 * s[1]
  dt <- min(0.05, 0.3 * s[1] / (abs(y - m[1]) + 12 * s[1]))
  t <- seq(min(-80, 2 * min(scales) - 60), 2 * log(far), by = dt)
  softplus <- function(x) pmax(x, 0) + log1p(exp(-abs(x)))
  over_scale <- 0
  for (j in seq_along(z)) over_scale <- over_scale + outer(softplus(t - 2 * scales[j] - log(df)), weights[j, ])
  sums <- 0
  for (side in c(-1, 1)) {
    z <- (y + side * exp(t / 2) - m[1]) / s[1]
    w <- dt * exp(t / 2) / 2 * dnorm(z) / s[1]
    first <- cbind(w, w * z / s[1], w * (z^2 - 1) / (2 * v[1]))
    sums <- sums + c(crossprod(first, over_scale))
  }
  constant <- dt(0, df, log = TRUE) - m[2]
  c(constant, 0, -1, 0, 0) - (df + 1) / 2 * sums[c(1, 2, 4, 3, 7)]
}

test_that("student's expectation is an integral over the logarithm of a square", {
  for_seeds(54:59, function(seed) {
    y <- sample(c(0.1, -0.35, 4), 1)
    df <- exp(runif(1, log(0.5), log(50)))
    m <- c(runif(1, -4, 4), runif(1, -4, 4))
    v <- exp(runif(2, log(0.01), log(c(1e4, 100))))
    ours <- probe_expectation(likelihood_spec("student_log_scale"), "auto", df, y, 1, 1, m, v, 1, 1)
    expect_close(c(ours$value, ours$d_m, ours$d_v), student_brute_force(y, df, m, v), tol$expectation)
  })
})

test_that("second derivatives, and the slope in df, are those of the first and of the value", {
  skip_if_not_installed("numDeriv")
  for (type in c("student_log_scale", with_forms, disc_types)) {
    h <- as.numeric(likelihood_examples[[type]]$hyper)
    for (x in list(c(0.4, 1.3, 0.5, 0.2), c(-1, 0.3, 4, 1.5))) {
      # slopes of some hundreds: their differences are not good to 1e-6
      if (type %in% c("cumulative_probit_log_disc", "sequential_probit_log_disc") && x[3] > 1) next
      at <- function(x, part, hyper = h) {
        y <- likelihood_examples[[type]]$y[2]
        size <- likelihood_examples[[type]]$size[2]
        probe_expectation(likelihood_spec(type), "auto", hyper, y, size, 1, x[1:2], x[3:4], 2, 1)[[part]]
      }
      of_mean <- numDeriv::jacobian(at, x, part = "d_m")
      expect_close(at(x, "d_mm"), of_mean[, 1:2], tol$gradient)
      expect_close(at(x, "d_mv"), of_mean[, 3:4], tol$gradient)
      expect_close(at(x, "d_vv"), numDeriv::jacobian(at, x, part = "d_v")[, 3:4], tol$gradient)
      if (length(h)) {
        slope <- numDeriv::grad(function(hyper) at(x, "value", hyper), h)
        expect_close(at(x, "gradient"), slope, tol$gradient)
      }
    }
  }
})

test_that("student's expectation is an integral over the log scale of one over the mean", {
  density <- two_predictor_densities$student_log_scale
  for (y in c(0.1, 4)) {
    for (x in list(c(0.4, -0.3, 0.5, 0.2), c(-1, 1, 2, 1.5), c(0, 0, 4, 4))) {
      inner <- function(s) {
        gaussian_expectation(function(a) density(y, a, s, 1, 3.5), x[1], x[3], kinks = y)
      }
      ours <- probe_expectation(
        likelihood_spec("student_log_scale"), "auto", 3.5, y, 1, 1, x[1:2], x[3:4], 1, 1
      )
      reference <- gaussian_expectation(function(s) vapply(s, inner, 0), x[2], x[4])
      expect_close(ours$value, reference, tol$expectation)
    }
  }
})

# A row of times or of a tobit response: lower, upper, entry. The trapezium rule in two dimensions, finer in the first.
plane_of_rows <- function(density, m, v) {
  z <- seq(-9, 9, by = 0.1)
  fine <- seq(-9, 9, by = 0.02)
  w <- 0.1 * dnorm(z)
  values <- vapply(m[2] + sqrt(v[2]) * z, function(b) {
    f <- 0.02 * dnorm(fine) * density(m[1] + sqrt(v[1]) * fine, b)
    c(sum(f), sum(f * fine) / sqrt(v[1]), sum(f * (fine^2 - 1)) / (2 * v[1]))
  }, numeric(3))
  f <- values[1, ]
  c(sum(w * f), sum(w * values[2, ]), sum(w * z * f) / sqrt(v[2]), sum(w * values[3, ]),
    sum(w * (z^2 - 1) * f) / (2 * v[2]))
}

test_that("expectations of every kind of censored row are sums over a plane", {
  constants <- list(censored = 1, bounded = 1, truncated = 1)
  types <- c(loglogistic = "loglogistic_log_shape", lognormal = "lognormal_log_sigma",
             censored_gaussian = "censored_gaussian_log_sd")
  parameters <- list(loglogistic = exp, lognormal = exp, censored_gaussian = function(b) exp(2 * b))
  hazard <- function(row) {
    function(a, b) {
      H <- function(t) exp(a + exp(b) * log(t / 50))
      at <- b - log(row[1]) + exp(b) * log(row[1] / 50) + a - H(row[1])
      if (row[1] != row[2]) {
        # of the difference of two hazards the logarithm, which has no underflow
        x <- a + exp(b) * log(row[2] / 50) + log1p(-(row[1] / row[2])^exp(b))
        inside <- if (row[2] < Inf) ifelse(x < -30, x, ifelse(x < 0, log(-expm1(-exp(x))), log1p(-exp(-exp(x))))) else 0
        at <- inside - H(row[1])
      }
      at + H(row[3])
    }
  }
  points <- list(c(0.4, -0.3, 0.5, 0.2), c(0.4, 0.5, 0.01, 0.001), c(-1, 0.5, 1, 0.5), c(1.5, 0, 0.2, 1))
  check <- function(type, constants, row, density, label) {
    for (x in points) {
      spec <- list(type = type, hyper = list(), constants = constants)
      ours <- probe_expectation(spec, "quadrature", numeric(), row[1], 1, 1, x[1:2], x[3:4], 2, 1,
                                censoring = matrix(row, 1))
      expect_close(c(ours$value, ours$d_m, ours$d_v), plane_of_rows(density, x[1:2], x[3:4]), tol$expectation)
    }
  }
  for (name in names(types)) {
    rows <- survival_rows(name)
    # of a narrow one R's functions leave no difference far out
    rows["narrow", 2] <- rows["narrow", 1] + 0.5
    for (kind in rownames(rows)) {
      row <- rows[kind, ]
      density <- function(a, b) reference_survival(name, row, a, parameters[[name]](b))
      check(types[[name]], constants, row, density, paste(name, kind))
    }
  }
  rows <- survival_rows("weibull")
  for (kind in rownames(rows)) {
    check("weibull_ph_log_shape", c(constants, reference = 50), rows[kind, ], hazard(rows[kind, ]), kind)
  }
})

test_that("expectations with a kink or a series are integrals over the second predictor of exact ones", {
  z <- seq(-9, 9, by = 0.025)
  w <- 0.025 * dnorm(z)
  check <- function(type, one, value, y, x, held = list()) {
    spec <- function(type, names) {
      list(type = type, hyper = as.list(stats::setNames(seq_along(names), names)), constants = list())
    }
    own <- as.numeric(held)
    ours <- probe_expectation(spec(type, names(held)), "quadrature", own, y, 1, 1, x[1:2], x[3:4], 2, 1)
    closed <- probe_expectation(spec(type, names(held)), "auto", own, y, 1, 1, x[1:2], x[3:4], 2, 1)
    given <- vapply(exp(x[2] + sqrt(x[4]) * z), function(p) {
      all <- c(value, names(held))
      e <- probe_expectation(spec(one, all), "closed_form", c(p, own), y, 1, 1, x[1], x[3], 1, 1)
      c(e$value, e$d_m, e$d_v)
    }, numeric(3))
    f <- given[1, ]
    reference <- c(sum(w * f), sum(w * given[2, ]), sum(w * z * f) / sqrt(x[4]), sum(w * given[3, ]),
                   sum(w * (z^2 - 1) * f) / (2 * x[4]))
    expect_close(c(ours$value, ours$d_m, ours$d_v), reference, tol$expectation)
    for (part in c("value", "d_m", "d_v", "d_mm", "d_mv", "d_vv")) {
      expect_close(ours[[part]], closed[[part]], 1e-7)
    }
  }
  for (x in list(c(0.4, -0.3, 0.3, 0.2), c(0, 0.5, 1, 1))) {
    for (y in c(0.1, 4)) check("laplace_log_scale", "laplace", "scale", y, x)
    for (power in c(1.2, 1.5, 1.85)) {
      for (y in c(0, 0.02, 3)) {
        check("tweedie_log_dispersion", "tweedie", "dispersion", y, x, list(power = power))
      }
    }
  }
})

test_that("without variance, and with next to none, the expectation is the log density", {
  for (type in names(two_predictor_densities)) {
    example <- likelihood_examples[[type]]
    for (i in seq_along(example$y)) {
      exact <- two_predictor_densities[[type]](example$y[i], 0.4, 1.3, example$size[i], example$hyper)
      for (v in c(0, 1e-14)) expect_close(sweep_of(type, i, c(0.4, 1.3), c(v, v))$value, exact, tol$identity)
    }
  }
})

# ---- reference optima ----

zip_gold <- list(
  elbo = -116.9422719598, hyper = c(2, 1, 1.5, 2, 1),
  gradient = c(-0.34569767, -0.127286706, 0.237206692, 0.559568097, -0.864535893), row = c(1, 2, 11, 31, 60),
  mean = cbind(c(1.743439316, 0.8738571375, 1.856173954, 0.05215143008, 0.5443955965),
               c(-1.867816607, -1.500213301, -2.072998565, -1.120885312, -1.380552563)),
  variance = cbind(c(0.02818756528, 0.06040424506, 0.02039503962, 0.09107519569, 0.06932575439),
                   c(0.3120630598, 0.21015045, 0.3853000378, 0.1444121798, 0.1850894368))
)
# hyper: sd of the intercept; variance and lengthscale of the process; sds of the zeros' intercept and slope
zip_model <- function() {
  d <- read.csv(test_path("fixtures", "zip_sim.csv"))
  h <- zip_gold$hyper
  process <- process_prior(d$x, h[2], h[3])
  first <- list(
    terms = c(list(columns_term(matrix(1, nrow(d)), 1L)), lapply(process$terms, moved_term, 1L)),
    hyper = c(sd = h[1], process$hyper)
  )
  two_predictors(d$y, first, list(terms = list(columns_term(cbind(1, d$x), 1:2)), hyper = c(a = h[4], b = h[5])),
                 "zero_inflated_poisson")
}

test_that("every method finds the reference optimum of a zero-inflated model", {
  model <- zip_model()
  methods <- applicable_methods(model)
  expect_true(all(c("newton", "fixed_point", "natural_gradient", "cholesky_gradient") %in% methods))
  expect_false("coordinate_ascent" %in% methods)
  for (method in methods) {
    fit <- fit_at(model, method, quiet_control(tol = 1e-10))
    expect_true(fit$converged, label = method)
    expect_close(fit$elbo, zip_gold$elbo, 1e-9)
    expect_close(fit$mean[zip_gold$row, ], zip_gold$mean, 1e-4)
    expect_close(fit$variance[zip_gold$row, ], zip_gold$variance, 1e-4)
  }
  expect_close(bound_at(model, model$hyper$value)$gradient, zip_gold$gradient, 1e-6)
})

biochemists <- function() {
  d <- read.csv(test_path("fixtures", "biochemists.csv"))
  d$fem <- as.numeric(d$fem == "Women")
  d$mar <- as.numeric(d$mar == "Married")
  d
}

test_that("a hurdle model is two models, with the reference optimum and a certificate", {
  b <- biochemists()
  prior <- list(intercept = normal(0, 5), default = normal(0, 1))
  fit <- galvi(
    list(art ~ ., hu ~ .), b, hurdle(), hyper = "fixed", prior = c(prior, list(hu = prior)),
    control = galvi_control(tol = 1e-9)
  )
  expect_close(fit$elbo, -1645.7600483909, 1e-9)
  expect_lt(fit$convergence$gap, 1e-7)  # with the rounding of the bound itself
  row <- c(1, 2, 101, 501, 915)
  expect_close(fit$posterior$mean[row, ], cbind(
    c(0.8635440814, 0.5259198567, 0.486225493, 0.7380410702, 1.525648741),
    c(-1.178568809, -0.5237547578, -0.4792985357, -1.63489111, -4.010413347)
  ), 1e-5)
  expect_close(fit$posterior$variance[row, ], cbind(
    c(0.00332274169, 0.005442636439, 0.004363730031, 0.005327538508, 0.01008235622),
    c(0.02399858192, 0.02532044904, 0.02192134198, 0.04846386984, 0.2686746717)
  ), 1e-5)
  zeros <- galvi(
    art == 0 ~ ., b, binomial(), hyper = "fixed", prior = prior, control = galvi_control(tol = 1e-9)
  )
  expect_close(coef(fit)[7:12], coef(zeros), tol$optimum)
  expect_identical(names(coef(fit)), c(names(coef(zeros)), paste0("hu_", names(coef(zeros)))))
  for (method in c("newton", "natural_gradient", "cholesky_gradient", "incremental", "stochastic")) {
    other <- update(fit, method = method)
    expect_true(other$convergence$converged, label = method)
    expect_close(other$elbo, fit$elbo, 1e-8)
  }
})

# ---- against one predictor ----

# A second predictor that is known is a parameter that is held.
test_that("with a known second predictor it is the family with that number", {
  set.seed(3)
  n <- 30
  d <- data.frame(x = seq_len(n) / 10)
  mean <- exp(0.5 + 0.3 * d$x)
  d$count <- rnbinom(n, 2, mu = mean)
  d$positive <- rgamma(n, 2, 2 / mean)
  d$share <- rbeta(n, 4, 3)
  d$zeros <- ifelse(d$share > 0.7, 0, d$positive)
  d$real <- d$x + 0.5 * rt(n, 4)
  d$successes <- rbinom(n, 6, d$share)
  cases <- list(
    list(count ~ x, "shape", negbinomial(size = fixed(2)), negbinomial(), log(2)),
    list(positive ~ x, "shape", galvi_family(Gamma("log"), shape = fixed(2)), Gamma("log"), log(2)),
    list(share ~ x, "phi", beta_family(precision = fixed(7)), beta_family(), log(7)),
    list(real ~ x, "sigma", student(scale = fixed(0.5)), student(), log(0.5)),
    list(real ~ x, "sigma", laplace(scale = fixed(0.5)), laplace(), log(0.5)),
    list(positive ~ x, "sigma", lognormal(sigma = fixed(0.5)), lognormal(), log(0.5)),
    list(positive ~ x, "shape", loglogistic(shape = fixed(2)), loglogistic(), log(2)),
    list(positive ~ x, "shape", weibull(fixed(2), form = "ph"), weibull(form = "ph"), log(2)),
    list(positive ~ x, "phi", galvi_family(inverse.gaussian("log"), dispersion = fixed(0.5)), inverse.gaussian("log"),
         log(2)),

    list(real ~ x, "sigma", galvi_family("gaussian", variance = fixed(0.25)), gaussian(), log(0.5)),
    list(cbind(successes, 6 - successes) ~ x, "phi", beta_binomial(precision = fixed(7)), beta_binomial(), log(7))
  )
  prior <- list(intercept = normal(0, 3), x = normal(0, 1))
  # q knows the second one apart from the first
  apart <- galvi_control(uncertainty = "factorised")
  for (case in cases) {
    one <- galvi(case[[1]], d, case[[3]], prior = prior, hyper = "fixed", control = apart)
    second <- as.formula(paste(case[[2]], "~ 1"))
    held <- c(prior, stats::setNames(list(list(intercept = normal(case[[5]], 1e-7))), case[[2]]))
    two <- galvi(list(case[[1]], second), d, case[[4]], prior = held, hyper = "fixed", control = apart)
    expect_close(two$elbo, one$elbo, 1e-6)
    expect_close(coef(two)[1:2], coef(one), tol$optimum)
    # times have no mean where the parameter may be anything
    if (family_type(two$family)$times) {
      expect_warning(infinite <- predict(two), "infinite", class = "galvi_warning_numeric")
      expect_identical(unname(infinite), rep(Inf, n))
      at <- c(0.5, 2)
      ours <- predict(two, d[1:3, ], type = "survival", times = at, interval = "credible")
      expect_close(ours, predict(one, d[1:3, ], type = "survival", times = at, interval = "credible"), 1e-3)
      limits <- suppressWarnings(predict(two, d[1:3, ], interval = "credible"))
      expect_close(limits[, -1], suppressWarnings(predict(one, d[1:3, ], interval = "credible"))[, -1], 1e-3)
      # of weighted points, too, whose own mean is finite
      joint <- update(two, control = galvi_control(uncertainty = "auto"))
      expect_identical(uncertainty_method(joint), "points")
      expect_warning(infinite <- predict(joint), "infinite", class = "galvi_warning_numeric")
      expect_identical(unname(infinite), rep(Inf, n))
    } else {
      expect_close(predict(two), predict(one), tol$optimum)
    }
    expect_close(predict(two, d[1:3, ], type = "quantile"), predict(one, d[1:3, ], type = "quantile"), 1e-3)
    expect_close(predict(two, d[1:3, ], type = "density"), predict(one, d[1:3, ], type = "density"), tol$optimum)
    expect_close(predict(two, dpar = case[[2]]), rep(exp(case[[5]]), n), 1e-6)
    expect_false(any(paste0(two$family$family, ".", family_type(two$family)$dpars[[1L]]$replaces) %in% two$hyper$name))
  }
})

test_that("one trial of a beta-binomial count is a binary response, whatever the precision", {
  d <- data.frame(x = 1:20, y = rep(0:1, 10))
  prior <- list(intercept = normal(0, 3), x = normal(0, 1))
  one <- galvi(y ~ x, d, binomial(), prior = prior)
  two <- galvi(list(y ~ x, phi ~ 1), d, beta_binomial(), prior = c(prior, list(phi = list(intercept = normal(0, 2)))))
  expect_close(two$elbo, one$elbo, 1e-6)
  expect_close(vcov(two)["phi_(Intercept)", "phi_(Intercept)"], 4, 1e-6)
  expect_close(galvi(y ~ x, d, beta_binomial(), prior = prior, hyper = "fixed")$elbo, one$elbo, 1e-6)
})

# ---- predictions ----

test_that("predictions of responses with zeros are sums and integrals over both predictors", {
  m <- c(0.6, -0.4)
  v <- c(0.5, 0.8)
  size <- 6
  bases <- list(
    poisson = function(y, eta) dpois(y, exp(eta)), binomial = function(y, eta) dbinom(y, size, plogis(eta)),
    negbinomial = function(y, eta) dnbinom(y, 1.7, mu = exp(eta))
  )
  pi <- gaussian_expectation(plogis, m[2], v[2])
  share2 <- gaussian_expectation(function(x) plogis(-x)^2, m[2], v[2])
  for (kind in c("zero_inflated", "hurdle")) {
    for (base in names(bases)) {
      f <- bases[[base]]
      if (kind == "hurdle") f <- function(y, eta) (y > 0) * bases[[base]](y, eta) / (1 - bases[[base]](0, eta))
      type <- paste(kind, base, sep = "_")
      at <- function(what, y = 0, p = 0.5) {
        n <- max(length(y), length(p))
        predict_response(likelihood_spec(type), as.numeric(likelihood_examples[[type]]$hyper), size, y,
                         matrix(m, n, 2, byrow = TRUE), matrix(v, n, 2, byrow = TRUE), what, p)
      }
      y <- 0:6
      pmf <- (1 - pi) * vapply(y, function(y) gaussian_expectation(function(x) f(y, x), m[1], v[1]), 0) + pi * (y == 0)
      expect_close(at("log_density", y), log(pmf), tol$expectation)
      expect_close(at("cdf", y), cumsum(pmf), tol$expectation)
      expect_close(at("upper", y), 1 - cumsum(pmf), tol$expectation)
      support <- if (base == "binomial") 0:size else 0:4000
      moment <- function(k) function(x) vapply(x, function(x) sum(support^k * f(support, x)), 0)
      first <- gaussian_expectation(moment(1), m[1], v[1])
      second <- gaussian_expectation(moment(2), m[1], v[1])
      square <- gaussian_expectation(function(x) moment(1)(x)^2, m[1], v[1])
      expect_close(at("mean"), (1 - pi) * first, 1e-8)
      expect_close(at("variance"), (1 - pi) * second - ((1 - pi) * first)^2, 1e-7)
      expect_close(at("mean_variance"), share2 * square - ((1 - pi) * first)^2, 1e-7)
      p <- c(0.01, pi - 1e-6, 0.7, 0.95, 0.999)
      q <- at("quantile", p = p)
      expect_true(all(at("cdf", q) >= p - 1e-9 & (q == 0 | at("cdf", q - 1) < p)))
    }
  }
  at <- function(what, y = 0, p = 0.5) {
    predict_response(likelihood_spec("hurdle_gamma"), 2.3, 1, y, rbind(m), rbind(v), what, p)
  }
  expect_close(exp(at("log_density", 0)), pi, tol$expectation)
  expect_close(at("cdf", 0), pi, tol$expectation)
  below <- gaussian_expectation(function(x) pgamma(1.3, 2.3, 2.3 / exp(x)), m[1], v[1])
  expect_close(at("cdf", 1.3), pi + (1 - pi) * below, tol$expectation)
  expect_identical(at("quantile", p = pi / 2), 0)
  expect_close(at("cdf", at("quantile", p = 0.9)), 0.9, 1e-9)
})

test_that("predictions with a predicted shape are means over it", {
  m <- c(0.6, 0.4)
  v <- c(0.5, 0.3)
  variances <- list(
    negbinomial_log_size = function(a, b) exp(a) + exp(2 * a - b), gamma_log_shape = function(a, b) exp(2 * a - b),
    beta_log_precision = function(a, b) plogis(a) * plogis(-a) * plogis(-b),
    student_log_scale = function(a, b) exp(2 * b) * 3.5 / 1.5,
    laplace_log_scale = function(a, b) 2 * exp(2 * b), censored_gaussian_log_sd = function(a, b) exp(2 * b),
    inverse_gaussian_log_shape = function(a, b) exp(3 * a - b),
    beta_binomial_log_precision = function(a, b) 6 * plogis(a) * plogis(-a) * (1 + 5 * plogis(-b))
  )
  means <- list(exp, exp, plogis, identity, identity, identity, exp, function(a) 6 * plogis(a))
  z <- seq(-9, 9, by = 0.05)
  w <- 0.05 * dnorm(z)
  for (k in seq_along(variances)) {
    type <- names(variances)[k]
    y <- if (grepl("beta_log", type)) 0.3 else 2
    size <- if (grepl("binomial_log_prec", type)) 6 else 1
    h <- as.numeric(likelihood_examples[[type]]$hyper)
    at <- function(what, p = 0.5, y. = y) {
      predict_response(likelihood_spec(type), h, size, y., rbind(m), rbind(v), what, p)
    }
    a <- m[1] + sqrt(v[1]) * z
    plane <- outer(a, m[2] + sqrt(v[2]) * z, function(a, b) exp(two_predictor_densities[[type]](y, a, b, size, h)))
    # nodes on a plane serve a kink to that only
    expect_close(at("log_density"), log(drop(w %*% plane %*% w)), if (type == "laplace_log_scale") 1e-4 else 1e-8)
    mean <- sum(w * means[[k]](a))
    explained <- sum(w * (means[[k]](a) - mean)^2)
    noise <- drop(w %*% outer(a, m[2] + sqrt(v[2]) * z, variances[[k]]) %*% w)
    expect_close(c(at("mean"), at("mean_variance"), at("variance")), c(mean, explained, explained + noise), 1e-8)
    q <- at("quantile", 0.9)
    if (fact(likelihood_facts(), type, "discrete")) {
      expect_true(at("cdf", y. = q) >= 0.9 && at("cdf", y. = q - 1) < 0.9)
    } else {
      expect_close(at("cdf", y. = q), 0.9, tol$expectation)
    }
  }
})

# ---- what users see ----

noisy_line <- function(n = 60) {
  set.seed(5)
  x <- seq(0, 3, length.out = n)
  data.frame(x, g = factor(rep(1:6, length.out = n)), y = 1 + x + exp(-1 + 0.6 * x) * rnorm(n))
}

test_that("names, priors and predictions of a second predictor have its name", {
  d <- noisy_line()
  prior <- list(intercept = normal(0, 5), sigma = list(intercept = normal(0, 2), default = normal(0, 1)))
  fit <- galvi(list(y ~ x + iid(g), sigma ~ gp(x) + x), d, gaussian(), prior = prior)
  names <- c("(Intercept)", "x", "sigma_(Intercept)", "sigma_x")
  expect_identical(names(coef(fit)), names)
  expect_identical(rownames(confint(fit)), names)
  expect_identical(colnames(vcov(fit)), names)
  expect_identical(rownames(summary(fit)$coefficients), names)
  expect_identical(vcov(fit)["x", "sigma_x"], 0)
  expect_true(all(c("iid(g).variance", "sigma.gp(x).variance", "sigma.gp(x).lengthscale") %in% fit$hyper$name))
  expect_false("gaussian.variance" %in% fit$hyper$name)
  expect_identical(fit$prior[["sigma_x"]], normal(0, 1))
  expect_identical(fit$prior[["sigma_(Intercept)"]], normal(0, 2))
  expect_identical(names(ranef(fit)), "g")
  both <- galvi(list(y ~ x + iid(g), sigma ~ iid(g)), d, gaussian(), hyper = "fixed")
  expect_identical(names(ranef(both)), c("g", "sigma.iid(g)"))
  expect_output(print(fit), "sigma ~ gp(x) + x", fixed = TRUE)
  expect_output(print(summary(fit)), "sigma: log link", fixed = TRUE)
  new <- d[c(3, 40), ]
  link <- predict(fit, new, type = "link", dpar = "sigma", se.fit = TRUE)
  expect_close(link$fit, fit$posterior$mean[c(3, 40), 2], tol$solve)
  expect_close(link$se.fit, sqrt(fit$posterior$variance[c(3, 40), 2]), tol$solve)
  expect_close(predict(fit, new, dpar = "sigma"), exp(link$fit + link$se.fit^2 / 2), tol$expectation)
  limits <- predict(fit, new, dpar = "sigma", interval = "credible", level = 0.9)
  expect_close(limits[, "lwr"], exp(link$fit + qnorm(0.05) * link$se.fit), tol$expectation)
  expect_close(predict(fit, new, type = "link"), fit$posterior$mean[c(3, 40), 1], tol$solve)
  expect_identical(predict(fit, new, dpar = "mu"), predict(fit, new))
  terms <- predict(fit, new, type = "terms", dpar = "sigma")
  expect_identical(colnames(terms), c("x", "sigma.gp(x)"))
  expect_close(rowSums(terms) + attr(terms, "constant"), link$fit, tol$solve)
  expect_true(is.na(sigma(fit)))
  wide <- predict(fit, new, interval = "prediction")
  expect_gt(wide[2, "upr"] - wide[2, "lwr"], wide[1, "upr"] - wide[1, "lwr"])
  expect_identical(dim(simulate(fit, 3, seed = 1)), c(60L, 3L))
  expect_true(all(is.finite(residuals(fit, "quantile"))))
  expect_true(is.finite(suppressWarnings(loo::loo(fit))$estimates["elpd_loo", "Estimate"]))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_true(all(c("iid(g)", "sigma.gp(x)") %in% names(plot(fit))))
  expect_identical(names(plot(fit, terms = "sigma.gp(x)")), "sigma.gp(x)")
  again <- update(fit, . ~ . - iid(g))
  expect_identical(names(coef(again)), names)
  expect_false("iid(g).variance" %in% again$hyper$name)
})

test_that("zeros have an intercept of their own where no formula says more", {
  b <- biochemists()
  fit <- galvi(art ~ ment, b, zero_inflated())
  expect_identical(names(coef(fit)), c("(Intercept)", "ment", "zi_(Intercept)"))
  written <- galvi(list(art ~ ment, zi ~ 1), b, "zero_inflated_poisson")
  expect_identical(written$elbo, fit$elbo)
  joint <- fit
  fit <- galvi(art ~ ment, b, zero_inflated(), control = galvi_control(uncertainty = "factorised"))
  expect_close(predict(fit, b[1, ], dpar = "zi"), gaussian_expectation(
    plogis, coef(fit)[["zi_(Intercept)"]], vcov(fit)["zi_(Intercept)", "zi_(Intercept)"]
  ), tol$expectation)
  # the product of two means, as q factorises
  eta <- predict(fit, b[1, ], type = "link", se.fit = TRUE)
  mean <- (1 - predict(fit, b[1, ], dpar = "zi")) * exp(eta$fit + eta$se.fit^2 / 2)
  expect_close(predict(fit, b[1, ]), mean, tol$expectation)
  interval <- predict(fit, b[1:2, ], interval = "credible")
  set.seed(1)
  draws <- plogis(-rnorm(4e5, coef(fit)[[3]], sqrt(vcov(fit)[3, 3]))) * exp(rnorm(4e5, eta$fit, eta$se.fit))
  expect_equal(unname(interval[1, -1]), unname(quantile(draws, c(0.025, 0.975))), tolerance = 2e-3)
  expect_identical(interval[, "fit"], predict(fit, b[1:2, ]))
  # the posterior of both is that of draws
  u <- rep(coef(joint), each = 4e5) + matrix(rnorm(12e5), 4e5) %*% chol(vcov(joint))
  draws <- plogis(-u[, 3]) * exp(drop(u[, 1:2] %*% c(1, b$ment[1])))
  wide <- predict(joint, b[1:2, ], interval = "credible")
  expect_equal(unname(wide[1, -1]), unname(quantile(draws, c(0.025, 0.975))), tolerance = 1e-2)
  expect_identical(wide[, "fit"], predict(joint, b[1:2, ]))
  for (fit in list(joint, fit)) {
    expect_true(all(is.finite(residuals(fit, "quantile")), is.finite(residuals(fit, "pearson"))))
    expect_true(all(unlist(simulate(fit, 2, seed = 2)) %in% 0:100))
  }
})

test_that("a positive response with zeros has quantile residuals", {
  set.seed(8)
  d <- data.frame(x = runif(300))
  d$y <- rgamma(300, 3, 3 / exp(1 + d$x)) * rbinom(300, 1, 0.7)
  fit <- galvi(list(y ~ x, hu ~ x), d, hurdle(Gamma("log")))
  expect_gt(stats::ks.test(residuals(fit, "quantile"), "pnorm")$p.value, 0.01)
  expect_true("hurdle_gamma.shape" %in% fit$hyper$name)
})

test_that("a formula of brms is read for what it says", {
  d <- noisy_line()
  # brms::bf(y ~ x, sigma ~ x)
  bf <- structure(
    list(formula = structure(y ~ x, nl = FALSE), pforms = list(sigma = sigma ~ x), pfix = list()),
    class = c("brmsformula", "bform")
  )
  fit <- galvi(bf, data = d, family = gaussian())
  expect_identical(fit$elbo, galvi(list(y ~ x, sigma ~ x), d, gaussian())$elbo)
  bf$pfix <- list(sigma = 1)
  expect_error(galvi(bf, data = d, family = gaussian()), "fixes `sigma`: fix it in the family", class = "galvi_error_formula")
})

test_that("the name of the number in a parameter's place is its own", {
  d <- noisy_line()
  d$count <- rpois(60, 2)
  d$share <- plogis(d$y)
  same <- function(formula, to, family) {
    fit <- galvi(formula, d, family, hyper = "fixed")
    other <- galvi(to, d, family, hyper = "fixed")
    expect_identical(coef(fit), coef(other))
    names <- vapply(list(formula, to), function(f) as.character(f[[2L]][[2L]]), "")
    expect_identical(predict(fit, dpar = names[1L]), predict(other, dpar = names[2L]))
  }
  same(list(count ~ x, size ~ x), list(count ~ x, shape ~ x), negbinomial())
  same(list(share ~ x, precision ~ x), list(share ~ x, phi ~ x), beta_family())
  same(list(y ~ x, scale ~ x), list(y ~ x, sigma ~ x), student())
  same(list(exp(y) ~ x, dispersion ~ x), list(exp(y) ~ x, phi ~ x), tweedie())
  expect_error(galvi(list(count ~ x, size ~ x, shape ~ 1), d, negbinomial()), "`shape` twice",
    class = "galvi_error_formula")
})

test_that("formulas that do not fit the family say so", {
  d <- noisy_line()
  d$count <- rpois(60, 2)
  error <- function(formula, family, message, what = "formula", ...) {
    expect_error(galvi(formula, d, family, ...), message, class = paste0("galvi_error_", what))
  }
  error(list(y ~ x, shape ~ x), gaussian(), "no linear predictor of `shape`; it has one of `sigma`")
  error(list(y ~ x, ~x), gaussian(), "must name a parameter on its left side, as in sigma ~ x")
  error(list(y ~ x, phi ~ x), student(), "no linear predictor of `phi`; it has one of `sigma` and `nu`")
  # other scales
  error(list(y ~ x, variance ~ x), gaussian(), "no linear predictor of `variance`; it has one of `sigma`")
  error(list(exp(y) ~ x, dispersion ~ x), inverse.gaussian("log"), "no linear predictor of `dispersion`")
  error(list(exp(y) ~ x, shape ~ x), weibull(), "infinite when.*weibull[(]form = .ph")
  error(list(count ~ x, zi ~ x), poisson(), "zero_inflated[(][)]")
  error(list(count ~ x, hu ~ x), poisson(), "hurdle[(][)]")
  error(list(y ~ x, sigma ~ x, sigma ~ 1), gaussian(), "`sigma` twice")
  error(list(y ~ x, 3), gaussian(), "must be a formula")
  error(list(), gaussian(), "must be a formula")
  error(list(y ~ x, sigma ~ y), gaussian(), "also on the right side")
  error(list(y ~ x, sigma ~ x), galvi_family("gaussian", variance = fixed(1)), "`variance`.*`sigma`", "family")
  error(list(y ~ x, sigma ~ x), gaussian(), "`z`, which is not a coefficient", "prior",
        prior = list(sigma = list(z = normal(0, 1))))
  error(y ~ x, gaussian(), "`sigma` has none", "prior", prior = list(sigma = list(x = normal(0, 1))))
  expect_error(hurdle("student"), "`base` of hurdle", class = "galvi_error_family")
  fit <- galvi(y ~ x, d)
  expect_error(predict(fit, dpar = "sigma"), "`dpar`", class = "galvi_error_argument")
  two <- galvi(list(y ~ x, sigma ~ x), d)
  expect_error(predict(two, dpar = "shape"), "`dpar`", class = "galvi_error_argument")
  expect_error(predict(two, type = "quantile", dpar = "sigma"), "`dpar` goes with", class = "galvi_error_argument")
})

test_that("estimates are near those of maximum likelihood", {
  skip_if_not_installed("glmmTMB")
  b <- biochemists()
  flat <- normal(0, 20)
  prior <- list(intercept = flat, default = flat)
  compare <- function(formulas, family, theirs, prior) {
    # of independent predictors, nearer to the mode than the means of the joint posterior
    apart <- galvi_control(uncertainty = "factorised")
    ours <- coef(galvi(formulas, b, family, prior = prior, control = apart))
    sd <- sqrt(diag(stats::vcov(theirs, full = TRUE)))[seq_along(ours)]
    off <- abs(ours - unlist(glmmTMB::fixef(theirs)[c("cond", "zi", "disp")])[seq_along(ours)]) / sd
    expect_lt(max(off[1:6]), 0.3)
    # posterior means, of likelihoods that are skewed in the zeros' coefficients
    expect_lt(max(off), 0.6)
  }
  rhs <- ~ fem + mar + kid5 + phd + ment
  compare(list(art ~ fem + mar + kid5 + phd + ment, hu ~ fem + mar + kid5 + phd + ment), hurdle(), glmmTMB::glmmTMB(
    art ~ fem + mar + kid5 + phd + ment, b, ziformula = rhs, family = glmmTMB::truncated_poisson()
  ), c(prior, list(hu = prior)))
  compare(list(art ~ fem + mar + kid5 + phd + ment, zi ~ fem + mar + kid5 + phd + ment), zero_inflated(),
    glmmTMB::glmmTMB(art ~ fem + mar + kid5 + phd + ment, b, ziformula = rhs, family = stats::poisson()),
    c(prior, list(zi = prior)))
})

# ---- times ----

# survreg() knows strata() by its bare name alone
strata <- function(...) survival::strata(...)

two_groups <- function(n = 300) {
  set.seed(11)
  d <- data.frame(x = runif(n), g = factor(rep(c("a", "b"), length.out = n)))
  time <- exp(1 + d$x + ifelse(d$g == "b", 0.4, 0.9) * rnorm(n))
  d$end <- rexp(n, 0.08)
  d$time <- pmin(time, d$end)
  d$event <- as.numeric(time <= d$end)
  d
}

test_that("a scale for each group is that of survreg's strata", {
  skip_if_not_installed("survival")
  d <- two_groups()
  prior <- list(intercept = normal(0, 20), default = normal(0, 20))
  for (name in c("lognormal", "loglogistic")) {
    parameter <- c(lognormal = "sigma", loglogistic = "shape")[[name]]
    second <- as.formula(paste(parameter, "~ g"))
    fit <- galvi(list(survival::Surv(time, event) ~ x, second), d, name,
                 prior = c(prior, stats::setNames(list(prior), parameter)))
    theirs <- survival::survreg(survival::Surv(time, event) ~ x + strata(g), d, dist = name)
    log_scales <- c(coef(fit)[[3]], coef(fit)[[3]] + coef(fit)[[4]]) * (if (parameter == "sigma") 1 else -1)
    expect_equal(log_scales, log(unname(theirs$scale)), tolerance = 0.05)
    expect_equal(unname(coef(fit)[1:2]), unname(coef(theirs)), tolerance = 0.05)
    expect_true(all(is.finite(residuals(fit, "quantile"))))
    expect_gt(stats::ks.test(residuals(fit, "quantile"), "pnorm")$p.value, 0.01)
    survived <- predict(fit, d[1:2, ], type = "survival", times = c(1, 5), interval = "credible")
    expect_true(all(survived[, , "lwr"] < survived[, , "fit"] & survived[, , "fit"] < survived[, , "upr"]))
    expect_identical(dim(simulate(fit, 2, seed = 1)), c(300L, 2L))
  }
})

test_that("a tobit response with a predicted sigma is that of survreg", {
  skip_if_not_installed("survival")
  d <- two_groups()
  d$y <- pmax(log(d$time), 0.5)
  prior <- list(intercept = normal(0, 20), default = normal(0, 20))
  fit <- galvi(list(survival::Surv(y, y > 0.5, type = "left") ~ x, sigma ~ g), d, gaussian(),
               prior = c(prior, list(sigma = prior)))
  theirs <- survival::survreg(survival::Surv(y, y > 0.5, type = "left") ~ x + strata(g), d, dist = "gaussian")
  expect_equal(unname(exp(coef(fit)[[3]] + c(0, coef(fit)[[4]]))), unname(theirs$scale), tolerance = 0.05)
  expect_equal(unname(coef(fit)[1:2]), unname(coef(theirs)), tolerance = 0.05)
  expect_close(predict(fit, d[1:3, ]), predict(fit, d[1:3, ], type = "link"))
})

test_that("the Weibull's proportional hazards are its accelerated failure times", {
  skip_if_not_installed("survival")
  d <- two_groups()
  flat <- list(intercept = normal(0, 50), default = normal(0, 50))
  Surv <- survival::Surv
  aft <- galvi(Surv(time, event) ~ x, d, weibull(), prior = flat)
  ph <- galvi(Surv(time, event) ~ x, d, weibull(form = "ph"), prior = flat)
  k <- c(family_parameter(aft, "shape"), family_parameter(ph, "shape"))
  expect_equal(k[2], k[1], tolerance = 2e-2)
  expect_equal(coef(ph)[["x"]], -k[1] * coef(aft)[["x"]], tolerance = 3e-2)
  expect_close(predict(ph, d[1:3, ]) / predict(aft, d[1:3, ]), rep(1, 3), 3e-2)
  expect_lt(ph$convergence$gap, 1e-6)
  # the reference moves the intercept alone
  prior <- list(intercept = normal(0, 1e4), default = normal(0, 50))
  one <- galvi(Surv(time, event) ~ x, d, weibull(fixed(1.2), form = "ph"), prior = prior)
  late <- galvi(Surv(time, event) ~ x, d, weibull(fixed(1.2), form = "ph", reference = 1e3), prior = prior)
  expect_close(coef(late)[[1]] - coef(one)[[1]], 1.2 * log(1e3 / max(d$time)), 1e-5)
  expect_close(coef(late)[[2]], coef(one)[[2]], 1e-5)
  expect_identical(one$model$likelihood$constants$reference, max(d$time))
  expect_error(galvi(Surv(time, event) ~ x, d, weibull(form = "ph", reference = 1)), "latest time",
               class = "galvi_error_family")
  expect_error(weibull(reference = 3), "form", class = "galvi_error_family")
  expect_error(weibull(form = "po"), "`form`", class = "galvi_error_argument")
})

test_that("a predicted Weibull shape is a shape for each group, also for times beyond the reference", {
  skip_if_not_installed("survival")
  set.seed(4)
  d <- data.frame(g = factor(rep(c("a", "b"), each = 200)), time = c(rweibull(200, 0.8, 2), rweibull(200, 2, 2)))
  d$event <- as.numeric(d$time < 3)
  d$time <- pmin(d$time, 3)
  flat <- list(intercept = normal(0, 20), default = normal(0, 20))
  fit <- galvi(list(survival::Surv(time, event) ~ g, shape ~ g), d, weibull(form = "ph"),
               prior = c(flat, list(shape = flat)))
  theirs <- vapply(split(d, d$g), function(d) {
    m <- survival::survreg(survival::Surv(time, event) ~ 1, d)
    c(m$scale, coef(m))
  }, numeric(2))
  expect_equal(unname(predict(fit, d[c(1, 201), ], dpar = "shape")), unname(1 / theirs[1, ]), tolerance = 0.03)
  at <- c(0.5, 2, 6)
  survived <- predict(fit, d[c(1, 201), ], type = "survival", times = at)
  expect_equal(unname(survived), unname(t(sapply(1:2, function(k) {
    pweibull(at, 1 / theirs[1, k], exp(theirs[2, k]), lower.tail = FALSE)
  }))), tolerance = 0.05)
  # the integral over both, beyond the reference too
  apart <- update(fit, control = galvi_control(uncertainty = "factorised"))
  m <- apart$posterior$mean[1, ]
  v <- apart$posterior$variance[1, ]
  direct <- gaussian_expectation(function(b) vapply(b, function(b) {
    gaussian_expectation(function(a) exp(-exp(a + exp(b) * log(6 / 3))), m[1], v[1])
  }, 0), m[2], v[2])
  expect_close(predict(apart, d[1, ], type = "survival", times = 6)[1, 1], direct, tol$expectation)
  expect_close(survived[1, 3], direct, 5e-3)
  new <- data.frame(g = factor("a", levels(d$g)), time = 6, event = 1)
  expect_true(is.finite(predict(fit, new, type = "density")))
  # curves of both groups, and at the typical one
  curves <- plot_away(fit, "survival", newdata = d[c(1, 201), ], n = 11, xlim = c(0, 10))
  expect_equal(curves$fit[curves$time == 2], unname(survived[, 2]))
  expect_true(all(curves$lwr <= curves$fit & curves$fit <= curves$upr))
  typical <- plot_away(fit, "survival", n = 11, xlim = c(0, 10))
  expect_equal(typical$fit, curves$fit[1:11])
  expect_error(add_data(fit, new), "reference", class = "galvi_error")
})

test_that("positive responses with zeros may be log-normal", {
  set.seed(9)
  d <- data.frame(x = runif(300))
  d$y <- rlnorm(300, 1 + d$x, 0.5) * rbinom(300, 1, 0.7)
  # a fit of each part apart
  apart <- galvi_control(uncertainty = "factorised")
  fit <- galvi(list(y ~ x, hu ~ x), d, hurdle(lognormal()), control = apart)
  positive <- galvi(y ~ x, d[d$y > 0, ], lognormal(), control = apart)
  expect_close(coef(fit)[1:2], coef(positive), tol$optimum)
  expect_close(family_parameter(fit, "sigma"), family_parameter(positive, "sigma"), tol$optimum)
  expect_close(predict(fit), (1 - predict(fit, dpar = "hu")) * predict(positive, d), tol$optimum)
  expect_gt(stats::ks.test(residuals(fit, "quantile"), "pnorm")$p.value, 0.01)
  expect_identical(hurdle("lognormal")$family, "hurdle_lognormal")
})

test_that("`dpar = \"mu\"` is the parameter, no `dpar` the mean of the response", {
  b <- biochemists()
  new <- b[c(1, 400), ]
  set.seed(4)
  y <- rpois(100, 2) + 1
  fits <- list(
    galvi(list(art ~ ment, zi ~ fem), b, zero_inflated()), galvi(art ~ ment, b, hurdle()),
    galvi(list(dist ~ speed, sigma ~ speed), cars, lognormal()), galvi(dist ~ speed, cars, lognormal()),
    galvi(y | trunc(lb = 1) ~ 1, data.frame(y = y), poisson())
  )
  rows <- list(new, new, cars[c(1, 40), ], cars[c(1, 40), ], data.frame(y = 3))
  for (i in seq_along(fits)) {
    fit <- fits[[i]]
    link <- predict(fit, rows[[i]], type = "link", dpar = "mu", se.fit = TRUE)
    expect_identical(link$fit, predict(fit, rows[[i]], type = "link"))
    mu <- predict(fit, rows[[i]], dpar = "mu", se.fit = TRUE)
    # the mean of a log-normal variable, as posteriors at points nearly have
    expect_close(log(mu$fit), link$fit + link$se.fit^2 / 2, 0.02)
    expect_equal(mu$se.fit / mu$fit, link$se.fit, tolerance = 0.1)
    expect_gt(max(abs(log(mu$fit / suppressWarnings(predict(fit, rows[[i]])))), na.rm = TRUE), 0.01)
    expect_equal(predict(fit, rows[[i]], dpar = "mu", interval = "credible")[, "lwr"],
      exp(predict(fit, rows[[i]], type = "link", interval = "credible")[, "lwr"]), tolerance = 1e-8)
    draws <- posterior_epred.galvi(fit, rows[[i]], dpar = "mu", ndraws = 10, seed = 1)
    expect_equal(draws, posterior_linpred.galvi(fit, TRUE, rows[[i]], ndraws = 10, dpar = "mu", seed = 1))
    expect_error(predict(fit, dpar = "mu", interval = "prediction"), "not for a parameter", class = "galvi_error_argument")
  }
  for (fit in fits[3:4]) {
    effect <- conditional_effects(fit, dpar = "mu", resolution = 3, robust = FALSE)$speed
    expect_equal(effect$estimate__, unname(predict(fit, effect["speed"], dpar = "mu")), tolerance = 1e-8)
  }
  # where mu is the mean they are the same, with any link
  for (link in c("probit", "cloglog", "cauchit")) {
    fit <- galvi(am ~ wt, mtcars, binomial(link))
    expect_equal(predict(fit, dpar = "mu"), predict(fit))
  }
  fit <- galvi(list(count ~ spray, shape ~ 1), InsectSprays, galvi_family("negbinomial", link = "softplus"))
  expect_equal(predict(fit, dpar = "mu"), predict(fit))
  expect_named(conditional_effects(fit, dpar = "mu"), "spray")
  classes <- galvi(factor(gear) ~ wt, mtcars, categorical())
  expect_error(predict(classes, dpar = "mu"), "one linear predictor", class = "galvi_error_argument")
  expect_error(posterior_epred.galvi(classes, dpar = "mu"), "one linear predictor", class = "galvi_error_argument")
  expect_error(conditional_effects(classes, dpar = "mu"), "one linear predictor", class = "galvi_error_argument")
})

test_that("types of glmmTMB and pscl have the parameter to type", {
  b <- biochemists()
  inflated <- galvi(art ~ 1, b, zero_inflated())
  hurdle <- galvi(art ~ 1, b, hurdle())
  said <- function(fit, type) conditionMessage(tryCatch(predict(fit, type = type), galvi_error_argument = identity))
  for (type in c("conditional", "count")) expect_match(said(inflated, type), "`dpar = \"mu\"`", fixed = TRUE)
  for (type in c("zprob", "zero")) expect_match(said(inflated, type), "`dpar = \"zi\"` with `type = \"response\"`", fixed = TRUE)
  expect_match(said(hurdle, "zlink"), "`dpar = \"hu\"` with `type = \"link\"`", fixed = TRUE)
  expect_match(said(galvi(dist ~ speed, cars), "zprob"), "must be one of")
})

test_that("smooths of predictors that depend on each other have honest standard deviations", {
  skip_on_cran()
  skip_if_not_installed("mgcv")
  skip_if_not_installed("MASS")
  fit <- galvi(list(accel ~ s(times), sigma ~ s(times)), MASS::mcycle)
  # mgcv's, with the uncertainty of its smoothing parameters to first order
  peer <- mgcv::gam(list(accel ~ s(times), ~ s(times)), family = mgcv::gaulss(), data = MASS::mcycle)
  at <- data.frame(times = c(15, 20, 25, 30, 40))
  known <- predict(peer, at, se.fit = TRUE, unconditional = TRUE)$se.fit
  mean <- predict(fit, at, se.fit = TRUE)$se.fit
  sigma <- predict(fit, at, se.fit = TRUE, type = "link", dpar = "sigma")$se.fit
  expect_lt(max(abs(mean / known[, 1] - 1)), 0.15)
  expect_lt(max(abs(sigma / known[, 2] - 1)), 0.15)
})

test_that("every kind of smooth may be in a model of several predictors", {
  skip_on_cran()
  skip_if_not_installed("mgcv")
  set.seed(4)
  d <- data.frame(x = runif(150), z = runif(150), g = factor(rep(1:6, 25)), f = factor(rep(1:3, 50)))
  d$y <- sin(6 * d$x) + exp(d$z - 1) * rnorm(150)
  smooths <- c("s(x)", "te(x, z)", "ti(x, z)", "t2(x, z)", "s(x, bs = \"ad\", k = 12)", "s(x, bs = \"ps\")",
               "s(x, by = f)", "s(g, bs = \"re\")", "s(x, g, bs = \"fs\", k = 5)", "s(x) + s(x, f, bs = \"sz\")",
               "s(x) + (1 | g)")
  for (smooth in smooths) {
    for (other in c("x", "s(z)")) {
      formulas <- list(as.formula(paste("y ~", smooth)), as.formula(paste("sigma ~", other)))
      fit <- suppressMessages(galvi(formulas, d))
      apart <- suppressMessages(update(fit, control = galvi_control(uncertainty = "factorised")))
      ratio <- predict(fit, se.fit = TRUE, type = "link")$se.fit / predict(apart, se.fit = TRUE, type = "link")$se.fit
      expect_true(all(is.finite(ratio)) && min(ratio) > 0.8, label = paste(smooth, other, "standard deviations"))
      # a variance at its bound is uncertain too
      expect_gt(cor(fitted(fit), fitted(apart)), 0.95)
      expect_identical(dim(predict(fit, d[1:3, ], interval = "credible")), c(3L, 3L))
      expect_identical(nrow(predict(fit, d[1:3, ], type = "terms")), 3L)
    }
  }
  hurdle <- galvi(list(round(exp(y)) ~ s(x), hu ~ s(x)), d, hurdle(poisson()))
  # whether its likelihood is skew decides
  expect_true(hurdle$convergence$uncertainty$method %in% c("points", "states"))
})
