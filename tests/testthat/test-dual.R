# The dual: Fenchel conjugates, its value and derivatives, and what minimising it finds.

# Every likelihood and expectation with a conjugate, as the registries have them; categorical without and with
# a reference class.
dual_pairs <- function() {
  types <- c(names(likelihood_cases), "reference")
  pairs <- unlist(lapply(types, function(type) {
    served <- served_expectations(sub("reference", "categorical", type))
    lapply(served, function(expectation) c(type = type, expectation = expectation))
  }), recursive = FALSE)
  Filter(function(pair) !is.null(conjugate_at(dual_model(pair, "gp", 2), 1)), pairs)
}

dual_model <- function(pair, kind, n, variance = exp(rnorm(1)), weights = NULL) {
  reference <- pair[["type"]] == "reference"
  type <- if (reference) "categorical" else pair[["type"]]
  model <- likelihood_model(type, kind, n, variance, pair[["expectation"]], weights)
  if (type == "binomial_logit") {
    model$size <- sample(c(1, 1, 7), n, TRUE)
    model$y <- rbinom(n, model$size, 0.4)
  }
  if (type == "stochastic_volatility") model$y[1] <- 0
  if (reference) {
    model$likelihood$constants$reference <- sample(0:2, 1)
    model$offset <- model$offset[, 1:2, drop = FALSE]
    model <- with_terms(model, terms_of(model))
  }
  model
}

latents_of <- function(model) ncol(model$offset)

conjugate_at <- function(model, n, x = rep(0.1, latents_of(model))) {
  probe_conjugate(model$likelihood, model$expectation, model$hyper$value, model$y[n], model$size[n], x)
}

# A point inside the domain of row n; classes without a reference add up to 1.
inside_row <- function(model, n) {
  at <- conjugate_at(model, n)
  K <- length(at$lower)
  if (at$rest == 0) return(diff(c(0, sort(runif(K - 1)), 1)))
  if (is.infinite(at$lower[1])) return(rnorm(K))
  top <- ifelse(is.finite(at$upper), at$upper, 4)
  if (is.finite(at$rest)) top <- top / K
  runif(K, 0.05, 0.95) * top
}

inside <- function(model) {
  one <- function(n) model$weights[n] * inside_row(model, n)
  matrix(vapply(seq_along(model$y), one, numeric(latents_of(model))), length(model$y), byrow = TRUE)
}

expectation_at <- function(model, n, m, v) {
  probe_expectation(model$likelihood, model$expectation, model$hyper$value, model$y[n], model$size[n], 1,
                    m, v, 1L, 1L)
}

# A direction that keeps the sums that are held.
random_direction <- function(model) {
  d <- matrix(rnorm(length(model$offset)), nrow(model$offset))
  if (conjugate_at(model, 1)$rest == 0) d <- d - rowMeans(d)
  d
}

test_that("the pairs with a conjugate are those with a jointly convex f", {
  pairs <- vapply(dual_pairs(), paste, "", collapse = " ")
  closed <- c("gaussian", "poisson", "gamma", "exponential", "weibull", "weibull_ph", "stochastic_volatility")
  logs <- c(
    "binomial_logit", "negbinomial", "loglogistic", "cumulative_logit", "categorical", "reference",
    "stick_breaking", "sequential_logit"
  )
  expect_setequal(pairs, c(paste(closed, "closed_form"), paste(logs, "log")))
})

test_that("a conjugate is the supremum over means and variances", {
  for (pair in dual_pairs()) {
    for_seeds(1:6, function(seed) {
      model <- dual_model(pair, "gp", 4)
      n <- sample(4, 1)
      at <- conjugate_at(model, n, inside_row(model, n))
      K <- latents_of(model)
      distance <- function(p) {
        e <- expectation_at(model, n, p[1:K], p[K + 1:K])
        at$value - (e$value - sum(at$alpha * p[1:K]) + sum(at$lambda * p[K + 1:K]) / 2)
      }
      slope <- function(p) {
        e <- expectation_at(model, n, p[1:K], p[K + 1:K])
        c(at$alpha - e$d_m, -at$lambda / 2 - e$d_v)
      }
      anywhere <- replicate(20, distance(c(rnorm(K, sd = 3), rexp(K, 0.3))))
      expect_gte(min(anywhere), -1e-9, label = paste(pair, collapse = " "))
      found <- stats::optim(c(numeric(K), rep(1, K)), distance, slope, method = "L-BFGS-B",
                            lower = rep(c(-Inf, 0), each = K),
                            control = list(factr = 1, pgtol = 0, maxit = 1000))
      expect_lte(abs(found$value), 1e-7, label = paste(pair, collapse = " "))
    })
  }
})

test_that("its derivatives are those of its value", {
  for (pair in dual_pairs()) {
    for_seeds(1:4, function(seed) {
      model <- dual_model(pair, "gp", 4)
      n <- sample(4, 1)
      x <- inside_row(model, n)
      at <- conjugate_at(model, n, x)
      free <- at$lower < at$upper
      # along sums that are held only differences count
      d <- rnorm(length(x)) * free
      if (at$rest == 0) d <- d - mean(d)
      along <- function(t) conjugate_at(model, n, x + t * d)
      h <- 1e-3 * min(x[x > 0], 1) / max(abs(d), 1)
      expect_close(sum(at$slope * d), (along(h)$value - along(-h)$value) / (2 * h), 1e-5)
      bend <- sum((along(h)$slope - along(-h)$slope) * d) / (2 * h)
      coupling <- if (is.finite(at$rest) && at$rest > 0) sum(d)^2 / at$rest else 0
      expect_close(sum(at$curvature * d^2) + coupling, bend, 1e-4)
    })
  }
})

test_that("conjugates are the papers' formulas", {
  at <- function(type, expectation, y, size, x, hyper = numeric(), constants = list()) {
    spec <- list(type = type, hyper = as.list(seq_along(hyper)), constants = constants)
    names(spec$hyper) <- names(hyper)
    probe_conjugate(spec, expectation, hyper, y, size, x)
  }
  x <- 0.3
  got <- at("poisson", "closed_form", 4, 1, x)
  expect_close(c(got$value, got$alpha), c(x * (log(x) - 1) - lfactorial(4), 4 - x))
  got <- at("binomial_logit", "log", 1, 1, x)
  expect_close(c(got$value, got$alpha), c(x * log(x) + (1 - x) * log(1 - x), 1 - x))
  got <- at("binomial_logit", "log", 2, 5, 5 * x)
  expect_close(got$value, 5 * (x * log(x) + (1 - x) * log(1 - x)) + lchoose(5, 2))
  got <- at("stochastic_volatility", "closed_form", 1.7, 1, x)
  expect_close(c(got$value, got$alpha), c(x * log(2 * x / 1.7^2) - x - log(2 * pi) / 2, x - 0.5))
  got <- at("exponential", "closed_form", 1.7, 1, x)
  expect_close(c(got$value, got$alpha), c(x * log(x / 1.7) - x, x - 1))
  got <- at("gamma", "closed_form", 1.7, 1, x, c(shape = 2.5))
  constant <- 2.5 * log(2.5) - lgamma(2.5) + 1.5 * log(1.7)
  expect_close(c(got$value, got$alpha), c(x * log(x / (2.5 * 1.7)) - x + constant, x - 2.5))
  # negative binomial, w = size + y, p = lambda / w
  r <- 1.7
  p <- x / (r + 3)
  got <- at("negbinomial", "log", 3, 1, x, c(size = r))
  entropy <- (r + 3) * (p * log(p) + (1 - p) * log(1 - p)) + (x - (r + 3)) * log(r)
  constant <- lgamma(3 + r) - lgamma(r) - lfactorial(3) + r * log(r)
  expect_close(c(got$value, got$alpha), c(entropy + constant, 3 - x))
  got <- at("gaussian", "closed_form", 1.7, 1, x, c(variance = 0.5))
  expect_close(c(got$value, got$lambda), c(0.25 * x^2 - 1.7 * x - log(2 * pi * 0.5) / 2, 2))
  lambda <- c(0.2, 0.5)
  got <- at("categorical", "log", 1, 1, lambda, constants = list(classes = 3, reference = 0))
  expect_close(c(got$value, got$alpha), c(sum(lambda * log(lambda)) + 0.3 * log(0.3), 0.8, -0.5))
  lambda <- c(0.2, 0.5, 0.3)
  got <- at("categorical", "log", 1, 1, lambda, constants = list(classes = 3, reference = -1))
  expect_close(c(got$value, got$alpha, got$rest), c(sum(lambda * log(lambda)), c(0, 1, 0) - lambda, 0))
})

test_that("the dual's derivatives are those of its value, and it lies above every bound", {
  for (pair in dual_pairs()) {
    for (kind in c("gp", "sum", "columns")) {
      for_seeds(1:2, function(seed) {
        model <- dual_model(pair, kind, 8, weights = sample(c(0, 0.5, 1, 2), 8, TRUE))
        x <- inside(model)
        d <- random_direction(model)
        at <- probe_dual(model, x, d)
        d[at$gradient == 0] <- 0
        h <- 1e-4 * min(x[x > 0], 1) / max(abs(d))
        up <- probe_dual(model, x + h * d)
        down <- probe_dual(model, x - h * d)
        label <- paste(c(pair, kind), collapse = " ")
        expect_close(sum(at$gradient * d), (up$value - down$value) / (2 * h), 1e-5)
        curved <- sum(probe_dual(model, x, d)$curved * d)
        expect_close(curved, sum((up$gradient - down$gradient) * d) / (2 * h), 1e-4)
        best <- fit_at(model, "fixed_point")$elbo
        expect_gte(at$value, best - 1e-9, label = label)
        if (is.finite(at$elbo)) {
          # a bound far below is told by subtraction to its rounding only
          expect_close(at$gap, at$value - at$elbo, 1e-9)
          expect_gte(at$gap, 0, label = label)
        }
      })
    }
  }
})

test_that("it finds the optimum, from where the gap is right all the way", {
  seed <- 0
  for (pair in dual_pairs()) {
    for (kind in c("gp", "sum", "columns")) {
      for (variance in c(0.1, 10, 1e4)) {
        seed <- seed + 1
        for_seeds(seed, function(seed) {
          n <- sample(2:30, 1)
          model <- dual_model(pair, kind, n, variance, if (seed %% 2) sample(c(0, 0.5, 1, 2), n, TRUE))
          fit <- fit_at(model, "dual", quiet_control(tol = 1e-8))
          other <- fit_at(model, if (inference_refusals(model)[["newton"]] == "") "newton" else "fixed_point")
          best <- max(fit$elbo, other$elbo)
          label <- paste(c(pair, kind, variance), collapse = " ")
          expect_true(fit$converged, label = label)
          expect_lte(best - fit$elbo, 1e-6, label = label)
          expect_gte(min(0, diff(fit$trace$elbo)), -slack(best), label = label)
          expect_gte(min(fit$trace$gap), 0, label = label)
          expect_true(all(diff(fit$trace$gap) <= slack(best)), label = label)
          expect_true(all(fit$trace$gap >= best - fit$trace$elbo - slack(best)), label = label)
          expect_true(all(fit$lambda >= 0), label = label)
        })
      }
    }
  }
})

test_that("the paper's search finds it too where the prior is moderate", {
  for (pair in dual_pairs()) {
    for_seeds(1:2, function(seed) {
      model <- dual_model(pair, turn(seed, c("gp", "columns")), 15, 1)
      cold <- fit_at(model, "dual", quiet_control(tol = 1e-7, cold = TRUE, max_iterations = 2000))
      expect_true(cold$converged, label = paste(pair, collapse = " "))
      expect_close(cold$elbo, fit_at(model, "dual")$elbo, 1e-6)
    })
  }
})

test_that("few steps are needed, and none from the optimum", {
  for_seeds(1:8, function(seed) {
    pair <- c(type = turn(seed, c("poisson", "binomial_logit", "reference")),
              expectation = turn(seed, c("closed_form", "log", "log")))
    model <- dual_model(pair, "gp", 40, exp(runif(1, -2, 6)))
    fit <- fit_at(model, "dual", quiet_control(tol = 1e-7))
    expect_lte(nrow(fit$trace), 20)
    warm <- fit_at(model, "dual", quiet_control(tol = 1e-6), start = fit[c("lambda", "b")])
    expect_lte(nrow(warm$trace), 2)
  })
})

test_that("separated classes, empty counts and large ones are no edge", {
  x <- seq(-2, 2, length.out = 12)
  cases <- list(
    list("poisson", numeric(12)), list("poisson", c(1000, numeric(11))), list("poisson", round(1e5 * exp(x))),
    list("binomial_logit", as.numeric(x > 0)), list("binomial_logit", rep(1, 12))
  )
  checked <- 0
  for (variance in 10^(-2:4)) {
    for_seeds(seq_along(cases), function(seed) {
      for (model in start_models(x, cases[[seed]][[2]], cases[[seed]][[1]], variance)) {
        if (cases[[seed]][[1]] != "poisson") model$expectation <- "log"
        fit <- fit_at(model, "dual", quiet_control(tol = 1e-7))
        best <- fit_at(model)
        if (best$converged) expect_close(fit$elbo, best$elbo, 1e-6)
        if (best$converged) expect_true(fit$converged)
        checked <<- checked + best$converged
      }
    })
  }
  expect_some(checked, "fits that converged")
})

test_that("where strong duality fails it says so and what works", {
  refusal <- function(type, expectation = "auto", kind = "gp") {
    set.seed(1)
    inference_refusals(likelihood_model(type, kind, 30, expectation = expectation))[["dual"]]
  }
  joint <- "not jointly concave in mean and variance"
  logit <- c("binomial_logit", "negbinomial", "cumulative_logit", "categorical", "stick_breaking")
  for (type in logit) {
    expect_match(refusal(type), joint)
    expect_match(refusal(type), "use newton, or expectation = \"log\"$")
    expect_identical(refusal(type, "log"), "")
  }
  for (type in c("binomial_probit", "cumulative_probit", "laplace", "asymmetric_laplace", "student", "beta")) {
    expect_match(refusal(type), paste0(joint, ".*; use newton$"))
  }
  for (bound in c("jaakkola", "piecewise")) expect_match(refusal("binomial_logit", bound), joint)
  expect_match(refusal("categorical", "bouchard"), joint)
  expect_match(refusal("binomial_logit", "taylor"), "use fixed_point")
  expect_match(refusal("poisson", "quadrature"), "expectation = \"closed_form\"")
  expect_match(refusal("poisson", kind = "flat"), "flat prior.*use fixed_point")
  set.seed(1)
  expect_error(fit_at(likelihood_model("student", "gp", 5), "dual"), "cannot fit this model")
})

test_that("threads do not change what it finds", {
  set.seed(401)
  for (type in c("poisson", "categorical")) {
    model <- likelihood_model(type, "columns", 2000, 1, if (type == "poisson") "auto" else "log")
    one <- fit_at(model, "dual")
    two <- fit_at(model, "dual", quiet_control(threads = 2))
    expect_true(one$converged)
    expect_identical(two[c("mean", "variance", "elbo")], one[c("mean", "variance", "elbo")])
  }
})
