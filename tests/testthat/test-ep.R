# Expectation propagation against integrals, fixed points by independent code, and differences.

# Log mass, mean and variance of exp(weight log_density) N(mean, variance), by integrate() around the peak.
reference_tilted <- function(log_density, weight, mean, variance, kinks = numeric()) {
  f <- function(eta) {
    value <- suppressWarnings(weight * log_density(eta)) - (eta - mean)^2 / (2 * variance)
    replace(value, is.nan(value), -Inf)  # 0 successes times -Inf, an sd of Inf
  }
  # zooming in on the peak of a concave function
  at <- mean + max(60 * sqrt(variance), 50) * seq(-1, 1, length.out = 2001)
  for (i in 1:12) {
    best <- which.max(f(at))
    width <- at[2] - at[1]
    at <- seq(at[best] - width, at[best] + width, length.out = 41)
  }
  peak <- at[which.max(f(at))]
  top <- f(peak)
  end <- function(direction) {
    inside <- function(d) f(peak + direction * d) > top - 45
    d <- sqrt(variance)
    while (inside(d)) d <- 2 * d
    while (!inside(d / 2)) d <- d / 2
    peak + direction * d
  }
  ends <- c(end(-1), end(1))
  inner <- unlist(lapply(ends, function(e) peak + (e - peak) * c(0.5, 0.25, 0.1, 0.03)))
  breaks <- sort(unique(c(ends, inner, peak, kinks[kinks > ends[1] & kinks < ends[2]])))
  integral <- function(power, centre) {
    sum(mapply(function(from, to) {
      integrate(function(eta) (eta - centre)^power * exp(f(eta) - top), from, to, rel.tol = 1e-12,
                abs.tol = 1e-14, subdivisions = 200, stop.on.error = FALSE)$value
    }, breaks[-length(breaks)], breaks[-1]))
  }
  mass <- integral(0, peak)
  centre <- peak + integral(1, peak) / mass
  c(top + log(mass) - log(2 * pi * variance) / 2, centre, integral(2, centre) / mass)
}

# type, parameters and responses; y = 1e5 trials and counts among them
tilted_cases <- list(
  list("gaussian", c(variance = 0.5), c(-3, 0.2)),
  list("binomial_logit", numeric(), c(0, 1)), list("binomial_probit", numeric(), c(0, 1)),
  list("binomial_logit", numeric(), c(0, 3e4, 1e5), size = 1e5),
  list("binomial_probit", numeric(), c(0, 7, 1000), size = 1000),
  list("poisson", numeric(), c(0, 1, 40, 1e5)),
  list("negbinomial", c(size = 1.7), c(0, 12)),
  list("gamma", c(shape = 2.3), c(1e-3, 5)), list("exponential", numeric(), 2),
  list("weibull", c(shape = 1.6), c(1e-3, 5)), list("loglogistic", c(shape = 1.6), c(1e-3, 5)),
  list("lognormal", c(sigma = 0.6), c(1e-3, 5)), list("binomial_cloglog", numeric(), c(0, 1)),
  list("stochastic_volatility", numeric(), c(0.1, -4)),
  list("laplace", c(scale = 0.6), c(-5, 0.3)), list("asymmetric_laplace", c(scale = 0.6), c(-5, 0.3))
)

test_that("tilted moments are those of integrate()", {
  marginals <- expand.grid(mean = c(-4, 1.3), variance = c(1e-4, 0.01, 0.06, 0.3, 1, 1e4))
  for (case in tilted_cases) {
    type <- case[[1]]
    hyper <- case[[2]]
    size <- if (is.null(case$size)) 1 else case$size
    for (y in case[[3]]) {
      for (weight in c(1, 2.5)) {
        log_density <- function(eta) {
          do.call(reference_log_density[[type]], c(list(y, eta, size), as.list(hyper)))
        }
        # R's log densities of 1e5 trials or counts carry a rounding of 1e-16 of their terms
        allowed <- 1e-9 + 1e-15 * (y + size) * 12
        wanted <- mapply(function(m, v) {
          reference_tilted(log_density, weight, m, v, if (grepl("laplace", type)) y else numeric())
        }, marginals$mean, marginals$variance)
        found <- mapply(function(m, v) tilted_at(type, hyper, y, weight, m, v, size)[1:3],
                        marginals$mean, marginals$variance)
        label <- paste(type, y, weight)
        expect_lt(max(abs(found[1, ] - wanted[1, ]) / pmax(1, abs(wanted[1, ]))), allowed, label = label)
        expect_lt(max(abs(found[2, ] - wanted[2, ]) / sqrt(wanted[3, ])), allowed, label = label)
        expect_lt(max(abs(found[3, ] / wanted[3, ] - 1)), allowed, label = label)
      }
    }
  }
})

test_that("a cavity that is narrower than rounding of its mean is a point", {
  for (case in list(list("binomial_logit", numeric(), 1), list("student", c(df = 4, scale = 0.7), 1.3),
    list("laplace", c(scale = 0.7), 1.3), list("poisson", numeric(), 2))) {
    at_mean <- do.call(reference_log_density[[case[[1]]]], c(list(case[[3]], 0.3, 1), as.list(case[[2]])))
    for (variance in c(1e-28, 1e-60, 1e-300, 1e-320)) {
      found <- tilted_at(case[[1]], case[[2]], case[[3]], 1, 0.3, variance)
      # to the digits of a denormal number, which 1e-320 is
      expect_equal(found[1:2], c(at_mean, 0.3), tolerance = 1e-3, label = case[[1]])
      expect_equal(found[3] / variance, 1, tolerance = 1e-2, label = case[[1]])
    }
  }
})

test_that("a kink next to the peak is seen", {
  # the peak lies by the gap to the right of the kink, or on it
  for (gap in c(0.02, 1e-3, 1e-5, 0, -1e-3)) {
    y <- -1.2
    mean <- y + 1 / 0.6 + gap
    wanted <- reference_tilted(function(eta) -log(1.2) - abs(y - eta) / 0.6, 1, mean, 1, y)
    expect_close(tilted_at("laplace", c(scale = 0.6), y, 1, mean, 1)[1:3], wanted, 1e-9)
  }
})

ep_types <- c("binomial_logit", "binomial_probit", "poisson", "negbinomial", "gamma", "exponential",
              "stochastic_volatility", "laplace", "asymmetric_laplace", "cumulative_logit", "cumulative_probit", "weibull", "weibull_ph",
              "loglogistic", "lognormal", "binomial_cloglog", "binomial_loglog", "cumulative_cloglog",
              "cumulative_loglog", "sequential_logit", "sequential_cloglog", "adjacent_category")

test_that("every row's tilted moments are the posterior's marginals", {
  for_seeds(1:20, function(seed) {
    type <- turn(seed, ep_types)
    n <- sample(2:30, 1)
    model <- likelihood_model(type, turn(seed, c("gp", "sum", "columns")), n, exp(runif(1, -2, 3)))
    model$weights <- sample(c(1, 2, 0.5), n, replace = TRUE)
    fit <- fit_at(model, "ep", quiet_control(tol = 1e-20))
    expect_true(fit$converged)
    C <- prior_covariance(model)
    V <- posterior_covariance(C, fit$lambda[, 1])
    v <- diag(V)
    expect_close(fit$variance[, 1], v, 1e-8)
    expect_close(fit$mean[, 1], model$offset[, 1] + prior_mean_of(model) + C %*% fit$alpha[, 1], 1e-8)
    cavity <- v / (1 - fit$lambda[, 1] * v)
    at <- fit$mean[, 1] - cavity * fit$alpha[, 1]
    moments <- probe_tilted(model$likelihood, model$hyper$value, model$y, model$size, model$weights, at,
                            cavity)
    expect_close((moments[, 2] - fit$mean[, 1]) / sqrt(v), 0, 1e-7)
    expect_close(moments[, 3] / v, 1, 1e-7)
    # log Z = sum log [mass / int site over cavity] + log int prior times sites
    b <- fit$b[, 1]
    lambda <- fit$lambda[, 1]
    m_c <- at - model$offset[, 1] - prior_mean_of(model)
    site_mass <- (m_c * b + cavity * b^2 / 2 - lambda * m_c^2 / 2) / (1 + lambda * cavity) -
      log1p(lambda * cavity) / 2
    log_det <- as.numeric(determinant(diag(n) + C * rep(lambda, each = n))$modulus)
    log_joint <- (sum(b * (V %*% b)) - log_det) / 2
    expect_close(fit$elbo, sum(moments[, 1] - site_mass) + log_joint, 1e-7)
  })
})

test_that("one row's estimate is the log evidence, and a gaussian's is exact", {
  for_seeds(31:40, function(seed) {
    model <- random_model("gp", 1, turn(seed, inexact_likelihoods), 10^runif(1, -2, 2))
    model$weights <- 1
    expect_close(fit_at(model, "ep")$elbo, grid_log_evidence(model), 1e-7)
  })
  for_seeds(41:48, function(seed) {
    model <- random_case(seed, "gaussian")
    fit <- fit_at(model, "ep")
    expect_true(fit$converged)
    expect_close(fit$elbo, gaussian_log_evidence(model), 1e-8)
  })
})

test_that("two rows' estimate is near the evidence, nearer than the bound", {
  for_seeds(51:60, function(seed) {
    model <- random_model("gp", 2, turn(seed, inexact_likelihoods), exp(runif(1, -2, 2)))
    model$weights <- c(1, 1)
    evidence <- grid_log_evidence(model)
    error <- abs(fit_at(model, "ep")$elbo - evidence)
    expect_lt(error, 0.02)
    expect_lte(error, evidence - fit_at(model)$elbo + 1e-9)
  })
})

test_that("fixed points are those of independent code", {
  wanted <- read.csv(test_path("fixtures", "ep.csv"))
  jobs <- read.csv(test_path("fixtures", "jobs.csv"))
  for (i in seq_len(nrow(wanted))) {
    job <- jobs[jobs$job == wanted$job[i], ]
    data <- read.csv(test_path("fixtures", paste0(job$dataset, ".csv.gz")))
    data$y <- as.numeric(data$y > 0)
    inputs <- as.matrix(data[names(data) != "y"])
    kernel <- kernel_spec_of("se", list(variance = 1L, lengthscale = 2L), seq_len(ncol(inputs)))
    hyper <- c(variance = exp(2 * job$log_sigma), lengthscale = exp(job$log_s / 2))
    type <- if (job$lik == "erf") "binomial_probit" else "binomial_logit"
    fit <- fit_at(new_model(data$y, list(kernel_term(unname(inputs), kernel)), hyper, type), "ep",
                  quiet_control(tol = 1e-17))
    expect_true(fit$converged)
    rows <- floor(seq(1, nrow(data), length.out = 5) + 0.5)
    # log sigma = 3: the independent code's quadrature, good to 1e-12 in units of the prior's sd
    expect_close(fit$elbo, wanted$log_Z[i], 1e-8)
    expect_close(fit$mean[rows, 1], unlist(wanted[i, paste0("fmu_tr", 1:5)]), 1e-6)
    expect_close(fit$variance[rows, 1], unlist(wanted[i, paste0("fs2_tr", 1:5)]), 1e-6)
  }
})

test_that("a row of weight 0 is not there, and a warm start has nothing to do", {
  for_seeds(61:66, function(seed) {
    model <- random_model("gp", 8, turn(seed, inexact_likelihoods), 2)
    model$weights <- c(0, rep(1, 7))
    fit <- fit_at(model, "ep", quiet_control(tol = 1e-14))
    again <- fit_at(model_of_rows(model, -1), "ep", quiet_control(tol = 1e-14))
    expect_close(fit$elbo, again$elbo, 1e-9)
    expect_equal(c(fit$lambda[1], fit$b[1]), c(0, 0))
    warm <- fit_at(model, "ep", quiet_control(tol = 1e-12), start = fit[c("lambda", "b")])
    expect_equal(nrow(warm$trace), 1)
  })
})

test_that("wide priors, separated classes and large counts converge", {
  x <- seq(-2, 2, length.out = 12)
  cases <- list(
    list("poisson", numeric(12)), list("poisson", c(1000, numeric(11))), list("poisson", round(1e5 * exp(x))),
    list("binomial_logit", as.numeric(x > 0)), list("binomial_probit", as.numeric(x > 0)),
    list("binomial_probit", rep(1, 12))
  )
  for (variance in 10^(-2:4)) {
    for_seeds(seq_along(cases), function(seed) {
      for (model in start_models(x, cases[[seed]][[2]], cases[[seed]][[1]], variance)) {
        fit <- fit_at(model, "ep", quiet_control(tol = 1e-7))
        expect_true(fit$converged)
        expect_true(all(is.finite(fit$mean), fit$variance > 0))
      }
    })
  }
})

test_that("learned hyperparameters are where the estimate is flat", {
  for_seeds(71:80, function(seed) {
    type <- turn(seed, c("binomial_logit", "negbinomial", "gamma", "cumulative_logit", "laplace"))
    model <- likelihood_model(type, turn(seed, c("gp", "columns")), 20, 1.5)
    # a prior on every scale, so that there is an optimum
    scale <- model$hyper$transform == "log"
    model$hyper$prior[scale] <- list(list(type = "log_normal", meanlog = 0, sdlog = 1))
    model$hyper$learned <- scale
    fit <- fit_model(model, "ep", "optimise", quiet_control(tol = 1e-14, hyper_tol = 1e-10))
    expect_true(fit$converged)
    objective <- function(x) {
      model$hyper$value[scale] <- exp(x)
      fit_at(model, "ep", quiet_control(tol = 1e-16))$elbo + sum(dnorm(x, log = TRUE))
    }
    expect_close(central_gradient(objective, log(fit$hyper[scale])), 0, 1e-4)
  })
})

test_that("ep refuses what it cannot do", {
  set.seed(1)
  refusal <- function(model) inference_refusals(model)[["ep"]]
  expect_match(refusal(likelihood_model("student", "gp", 5)), "not log-concave")
  expect_match(refusal(likelihood_model("categorical", "gp", 5)), "one latent value")
  expect_match(refusal(likelihood_model("binomial_logit", "gp", 5, expectation = "jaakkola")), "not a bound")
  expect_identical(refusal(likelihood_model("binomial_logit", "columns", 5)), "")
})

test_that("with inducing points ep is generalised FITC: exact for one row, an exact gradient", {
  set.seed(5)
  model <- random_inducing(1, 2)
  prior <- inducing_covariance(terms_of(model)[[1]], model$hyper$value)
  alone <- new_model(model$y, list(columns_term(matrix(1), 1)), c(sd = drop(sqrt(prior$Q + prior$c))))
  expect_close(fit_at(model, "ep")$elbo, grid_log_evidence(alone), 1e-7)
  for_seeds(91:94, function(seed) {
    model <- random_inducing(20, 3, likelihood = turn(seed, inexact_likelihoods))
    value <- model$hyper$value
    expect_close(
      bound_at(model, value, method = "ep")$gradient,
      central_gradient(function(h) bound_at(model, h, method = "ep")$elbo, value), 1e-5
    )
  })
})
