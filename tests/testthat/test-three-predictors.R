# Three linear predictors: expectations, inference and predictions.

skip_on_cran()

three_types <- names(three_predictor_densities)
hyper_of_three <- function(type) as.numeric(likelihood_examples[[type]]$hyper)

sweep_of_three <- function(type, i, m, v, order = 2) {
  example <- likelihood_examples[[type]]
  probe_expectation(
    likelihood_spec(type), "quadrature", hyper_of_three(type), example$y[i], example$size[i], 1, m, v, order, 1
  )
}

# The trapezium rule in three dimensions, with Hermite's polynomials for derivatives in means and variances, further
# out where a log density grows with exp(c |eta|).
space_growth <- list(
  hurdle_gamma_log_shape = list(c(1, 0), c(0, 1), c(0, 0)),
  hurdle_lognormal_log_sigma = list(c(0, 0), c(2, 0), c(0, 0)),
  zero_inflated_negbinomial_log_size = list(c(0, 1), c(0, 1), c(0, 0)),
  hurdle_negbinomial_log_size = list(c(0, 1), c(0, 1), c(0, 0)),
  zero_inflated_nbinom1_log_phi = list(c(0, 1), c(0, 1), c(0, 0)),
  hurdle_nbinom1_log_phi = list(c(0, 1), c(0, 1), c(0, 0)),
  zero_one_inflated_beta = list(c(0, 0), c(0, 0), c(0, 0))
)
brute_force_three <- function(type, i, m, v) {
  example <- likelihood_examples[[type]]
  axis <- function(k) {
    s <- sqrt(v[k])
    further <- s * space_growth[[type]][[k]]
    step <- min(0.25, 0.28 / s)
    z <- seq(-8 - further[1], 8 + further[2], by = step)
    list(x = m[k] + s * z, weights = step * dnorm(z) * cbind(1, z / s, (z^2 - 1) / (2 * v[k])))
  }
  axes <- lapply(1:3, axis)
  first <- axes[[1]]
  planes <- vapply(axes[[3]]$x, function(c) {
    sums <- vapply(axes[[2]]$x, function(b) {
      values <- three_predictor_densities[[type]](example$y[i], first$x, b, c, example$size[i], hyper_of_three(type))
      drop(values %*% first$weights)
    }, numeric(3))
    sums %*% axes[[2]]$weights
  }, matrix(0, 3, 3))
  space <- matrix(planes, 9) %*% axes[[3]]$weights  # (first, second) x third
  c(space[1, 1], space[2, 1], space[4, 1], space[1, 2], space[3, 1], space[7, 1], space[1, 3])
}

test_that("expectations and their slopes are sums over a space", {
  for (type in names(space_growth)) {
    for (i in seq_along(likelihood_examples[[type]]$y)) {
      for (x in list(c(0.4, -0.3, 0.2, 0.5, 0.2, 0.3), c(-1, 1, 2, 2, 1.5, 1), c(0.4, 0.5, -1, 0.01, 0.02, 0.001))) {
        ours <- sweep_of_three(type, i, x[1:3], x[4:6])
        expect_close(c(ours$value, ours$d_m, ours$d_v), brute_force_three(type, i, x[1:3], x[4:6]), tol$expectation)
      }
    }
  }
})

# Types whose expectation is the mean over the third predictor of one over the first two: the type of that, and the value of
# its parameter.
given_third <- list(
  student_log_scale_log_df = list("student_log_scale", exp),
  exgaussian_log_sigma_log_beta = list("exgaussian_log_sigma", exp),
  skew_normal_log_sigma_alpha = list("skew_normal_log_sigma", identity)
)

test_that("expectations are means over the third predictor of those of the others", {
  points <- list(c(0.4, -0.3, 0.2, 0.5, 0.2, 0.3), c(0, -2, 1, 0.01, 0.02, 0.001), c(-1, 1, 2, 2, 1.5, 1),
    # degrees of freedom beyond all that matters, and of which next to nothing is known
    c(0, 0, 40, 1, 0.1, 1), c(0, 0, 1, 1, 1, 80))
  for (type in names(given_third)) {
    spec <- likelihood_spec(given_third[[type]][[1]])
    value <- given_third[[type]][[2]]
    for (y in c(0.1, 4, -8)) {
      # log Phi takes seconds where all three are wide
      for (x in if (type == "student_log_scale_log_df") points else points[1:2]) {
        s <- sqrt(x[6])
        further <- if (type == "exgaussian_log_sigma_log_beta") 2 * s else s
        # in steps that are short near 0, where the skewness changes its sign
        u <- seq(-1, 1, by = 0.01)
        zero <- if (type == "skew_normal_log_sigma_alpha" && abs(x[3]) < 9 * s) x[3] / s else 0
        far <- 9.5 + further + abs(zero)
        z <- sinh(6 * u) / sinh(6) * far - zero
        w <- 0.01 * 6 * cosh(6 * u) / sinh(6) * far * dnorm(z)
        keep <- w > 1e-20
        z <- z[keep]
        w <- w[keep]
        given <- vapply(value(x[3] + s * z), function(h) {
          at <- probe_expectation(spec, "quadrature", h, y, 1, 1, x[1:2], x[4:5], 1, 1)
          c(at$value, at$d_m, at$d_v)
        }, numeric(5))
        plain <- drop(given %*% w)
        slope <- sum((given[1, ] - plain[1]) * w * z / s)
        bend <- sum((given[1, ] - plain[1]) * w * (z^2 - 1) / (2 * x[6]))
        ours <- probe_expectation(likelihood_spec(type), "quadrature", numeric(), y, 1, 1, x[1:3], x[4:6], 1, 1)
        expect_close(c(ours$value, ours$d_m, ours$d_v), c(plain[1:3], slope, plain[4:5], bend), tol$expectation)
      }
    }
  }
})

test_that("every type of three is in one of these tests", {
  expect_setequal(c(names(space_growth), names(given_third)), three_types)
})

test_that("without variance, and with next to none, the expectation of three is the log density", {
  for (type in three_types) {
    example <- likelihood_examples[[type]]
    for (i in seq_along(example$y)) {
      exact <- three_predictor_densities[[type]](example$y[i], 0.4, 1.3, -0.2, example$size[i], hyper_of_three(type))
      for (v in c(0, 1e-14)) {
        expect_close(sweep_of_three(type, i, c(0.4, 1.3, -0.2), rep(v, 3))$value, exact, tol$identity)
      }
    }
  }
})

test_that("predictions of three are mixtures over the plane and the third", {
  m <- c(0.6, 0.3, -0.4)
  v <- c(0.3, 0.2, 0.4)
  z <- seq(-7, 7, by = 0.5)
  w <- 0.5 * dnorm(z)
  grid <- expand.grid(a = m[1] + sqrt(v[1]) * z, b = m[2] + sqrt(v[2]) * z, c = m[3] + sqrt(v[3]) * z)
  mass <- as.vector(outer(outer(w, w), w))
  gate <- plogis(-grid$c)
  size <- exp(grid$b)
  none <- dnbinom(0, size, mu = exp(grid$a))
  none1 <- dnbinom(0, exp(grid$a) / size, mu = exp(grid$a))  # where it is phi
  moments <- list(
    zero_inflated_negbinomial_log_size = list(
      mean = gate * exp(grid$a), square = gate * (exp(grid$a) + exp(2 * grid$a) * (1 + 1 / size)),
      cdf = function(y) 1 - gate * pnbinom(y, size, mu = exp(grid$a), lower.tail = FALSE)
    ),
    hurdle_negbinomial_log_size = list(
      mean = gate * exp(grid$a) / (1 - none),
      square = gate * (exp(grid$a) + exp(2 * grid$a) * (1 + 1 / size)) / (1 - none),
      cdf = function(y) 1 - gate * pnbinom(y, size, mu = exp(grid$a), lower.tail = FALSE) / (1 - none)
    ),
    zero_inflated_nbinom1_log_phi = list(
      mean = gate * exp(grid$a), square = gate * (exp(grid$a) * (1 + size) + exp(2 * grid$a)),
      cdf = function(y) 1 - gate * pnbinom(y, exp(grid$a) / size, mu = exp(grid$a), lower.tail = FALSE)
    ),
    hurdle_nbinom1_log_phi = list(
      mean = gate * exp(grid$a) / (1 - none1), square = gate * (exp(grid$a) * (1 + size) + exp(2 * grid$a)) / (1 - none1),
      cdf = function(y) 1 - gate * pnbinom(y, exp(grid$a) / size, mu = exp(grid$a), lower.tail = FALSE) / (1 - none1)
    ),
    hurdle_gamma_log_shape = list(
      mean = gate * exp(grid$a), square = gate * exp(2 * grid$a) * (1 + 1 / size),
      cdf = function(y) 1 - gate * pgamma(y, size, size / exp(grid$a), lower.tail = FALSE)
    )
  )
  for (type in names(moments)) {
    at <- function(what, y = 2, p = 0.5) {
      predict_response(likelihood_spec(type), numeric(), 1, y, rbind(m), rbind(v), what, p)
    }
    known <- moments[[type]]
    mean <- sum(mass * known$mean)
    expect_close(at("mean"), mean, 1e-8)
    expect_close(at("mean_variance"), sum(mass * known$mean^2) - mean^2, 1e-8)
    expect_close(at("variance"), sum(mass * known$square) - mean^2, 1e-8)
    for (y in c(0, 2)) {
      density <- exp(mapply(function(a, b, c) three_predictor_densities[[type]](y, a, b, c, 1), grid$a, grid$b, grid$c))
      expect_close(at("log_density", y), log(sum(mass * density)), 1e-8)
      expect_close(at("cdf", y), sum(mass * known$cdf(y)), 1e-8)
    }
    q <- at("quantile", p = 0.9)
    expect_true(at("cdf", q) >= 0.9 - 1e-9 && at("cdf", q - if (grepl("nbinom1|negbin", type)) 1 else 1e-6) < 0.9)
  }
})

test_that("a student's tails are those over the log scale, averaged over the degrees of freedom", {
  m <- c(0.2, -0.3, 1.5)
  v <- c(0.3, 0.2, 0.3)
  z <- seq(-7, 7, by = 0.25)
  at <- function(what, y) predict_response(
    likelihood_spec("student_log_scale_log_df"), numeric(), 1, y, rbind(m), rbind(v), what, 0.5
  )
  given <- function(what, y, df) predict_response(
    likelihood_spec("student_log_scale"), df, 1, y, rbind(m[1:2]), rbind(v[1:2]), what, 0.5
  )
  for (y in c(0.5, -3, 30)) {
    over <- function(what) sum(0.25 * dnorm(z) * vapply(z, function(z) {
      x <- given(what, y, exp(m[3] + sqrt(v[3]) * z))
      if (what == "log_density") exp(x) else x
    }, 0))
    expect_close(exp(at("log_density", y)), over("log_density"), tol$expectation)
    expect_close(c(at("cdf", y), at("upper", y)), c(over("cdf"), over("upper")), tol$expectation)
  }
  expect_close(at("mean", 0), m[1])
  expect_close(at("mean_variance", 0), v[1])
  # df <= 2 is possible
  expect_identical(at("variance", 0), Inf)
})

# ---- what users see ----

three_data <- function(n = 400) {
  set.seed(8)
  d <- data.frame(x = rnorm(n), w = rnorm(n), g = gl(20, n / 20))
  mu <- exp(1.2 + 0.5 * d$x + rnorm(20, 0, 0.4)[d$g])
  d$count <- rnbinom(n, size = exp(0.8 + 0.6 * d$w), mu = mu) * rbinom(n, 1, plogis(1.2 + 0.8 * d$x))
  d$y <- d$x + exp(-0.5 + 0.4 * d$w) * rt(n, 5)
  d
}

test_that("zi and shape have formulas of their own, in any order, and priors, names and predictions of their own", {
  d <- three_data()
  fit <- galvi(list(count ~ x + (1 | g), zi ~ x, shape ~ w), d, zero_inflated(negbinomial()))
  expect_identical(fit$family$dpars, c("mu", "shape", "zi"))
  names <- c("(Intercept)", "x", "shape_(Intercept)", "shape_w", "zi_(Intercept)", "zi_x")
  expect_named(coef(fit), names)
  truth <- c(1.2, 0.5, 0.8, 0.6, -1.2, -0.8)
  sd <- sqrt(diag(vcov(fit)))
  expect_lt(max(abs(coef(fit) - truth) / sd), 3)
  if (requireNamespace("glmmTMB", quietly = TRUE)) {
    ml <- glmmTMB::glmmTMB(
      count ~ x + (1 | g), ziformula = ~x, dispformula = ~w, family = glmmTMB::nbinom2, data = d
    )
    # the default priors are wide
    expect_lt(max(abs(coef(fit) - unlist(glmmTMB::fixef(ml)[c("cond", "disp", "zi")])) / sd), 0.5)
  }
  expect_equal(rownames(confint(fit)), names)
  for (k in c("shape", "zi")) {
    at <- predict(fit, d[1:4, ], dpar = k, se.fit = TRUE)
    link <- predict(fit, d[1:4, ], dpar = k, type = "link", se.fit = TRUE)
    draw <- link$fit[1] + link$se.fit[1] * qnorm(ppoints(1e5))
    expect_close(at$fit[1], mean(if (k == "shape") exp(draw) else plogis(draw)), 1e-3)
  }
  # the mean is that of the counts that are no extra zeros, times their share
  apart <- update(fit, control = galvi_control(uncertainty = "factorised"))
  mu <- predict(apart, d[1:4, ], type = "link", dpar = "mu", se.fit = TRUE)
  expect_close(predict(apart, d[1:4, ]), exp(mu$fit + mu$se.fit^2 / 2) * (1 - predict(apart, d[1:4, ], dpar = "zi")))
  expect_close(predict(fit, d[1:4, ]), predict(apart, d[1:4, ]), 0.02)
  limits <- predict(fit, d[1:2, ], interval = "credible")
  draws <- rstantools::posterior_epred(fit, d[1:2, ], ndraws = 4000)
  expect_close(limits[, -1], t(apply(draws, 2, quantile, c(0.025, 0.975))), 0.1)
  expect_identical(dim(rstantools::posterior_linpred(fit, dpar = "shape", ndraws = 3)), c(3L, nrow(d)))
  tight <- galvi(list(count ~ x + (1 | g), zi ~ x, shape ~ w), d, zero_inflated(negbinomial()),
                 prior = list(shape = list(w = normal(0, 1e-4)), zi = list(default = normal(0, 1e-4))))
  expect_close(coef(tight)[c("shape_w", "zi_x")], c(0, 0), 1e-3)
  changed <- update(fit, . ~ . - x)
  expect_identical(names(coef(changed)), names[-2])
  expect_output(print(fit), "shape: log link, zi: logit link")
  expect_match(uncertainty_line(fit), "from weighted points of the joint posterior of all predictors and ")
  expect_match(uncertainty_line(apart), "the predictors as independent: they may be too small")
  expect_output(print(summary(fit)), "Standard deviations and intervals: from weighted points")
})

test_that("nu needs sigma, which is an intercept without a formula; a number beside a formula is an error", {
  d <- three_data()
  fit <- galvi(list(y ~ x, nu ~ 1), d, student())
  expect_named(coef(fit), c("(Intercept)", "x", "sigma_(Intercept)", "nu_(Intercept)"))
  both <- galvi(list(y ~ x, nu ~ 1, sigma ~ w), d, student())
  expect_lt(abs(coef(both)[["sigma_w"]] - 0.4), 3 * sqrt(vcov(both)["sigma_w", "sigma_w"]))
  # with hardly any uncertainty of nu it is the model with that number
  apart <- galvi_control(uncertainty = "factorised")
  known <- galvi(list(y ~ x, sigma ~ w), d, student(df = fixed(6)), control = apart)
  same <- galvi(list(y ~ x, sigma ~ w, nu ~ 1), d, student(), control = apart,
    prior = list(nu = list(intercept = normal(log(6), 1e-6))))
  expect_close(same$elbo, known$elbo, 1e-6)
  expect_close(coef(same)[1:4], coef(known), 1e-5)
  expect_error(galvi(list(y ~ x, nu ~ 1), d, student(df = 5)), "`df`.*`nu`", class = "galvi_error_family")
  expect_error(galvi(list(y ~ x, nu ~ 1), d, student(scale = 2)), "`scale`.*`sigma`", class = "galvi_error_family")
})

test_that("the words of other packages become one call", {
  d <- three_data(40)
  expect_error(galvi(count ~ x, d, family = negbinomial(), ziformula = ~w, dispformula = ~x),
               "list(count ~ x, zi ~ w, shape ~ x)", fixed = TRUE, class = "galvi_error_argument")
  expect_error(galvi(count ~ x, d, family = negbinomial(), dispformula = ~x, ziformula = ~w),
               "zero_inflated(negbinomial())", fixed = TRUE, class = "galvi_error_argument")
})

test_that("every method that serves two predictors finds the optimum of three", {
  set.seed(5)
  d <- three_data(60)
  X <- cbind(1, d$x)
  terms <- function(at) list(terms = list(columns_term(X, at)), hyper = numeric())
  hyper <- c(a = 2, b = 1, c = 1, d = 1, e = 1, f = 1)
  for (type in c("zero_inflated_negbinomial_log_size", "student_log_scale_log_df")) {
    y <- if (type == "student_log_scale_log_df") d$y else d$count
    models <- lapply(1:3, function(k) new_model(y, list(columns_term(X, 2 * k - 1:0)), hyper, type))
    model <- models[[1]]
    for (k in 2:3) {
      models[[k]]$predictors[[1]][c("design", "latents")] <- list(k, k)
      model$designs <- c(model$designs, models[[k]]$designs)
      model$predictors <- c(model$predictors, models[[k]]$predictors)
    }
    model$offset <- matrix(0, length(y), 3)
    model <- check_model(model)
    methods <- applicable_methods(model)
    expect_true(all(c("fixed_point", "natural_gradient", "newton") %in% methods))
    fits <- lapply(methods, function(method) fit_at(model, method))
    best <- max(vapply(fits, `[[`, 0, "elbo"))
    for (i in seq_along(fits)) {
      expect_true(fits[[i]]$converged, label = paste(type, methods[i]))
      expect_lte(best - fits[[i]]$elbo, 1e-6 * (1 + abs(best)), label = paste(type, methods[i]))
    }
    h <- model$hyper$value
    expect_close(bound_at(model, h)$gradient * h, log_gradient(model), tol$gradient)
  }
})
