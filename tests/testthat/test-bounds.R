# What every expectation owes to every likelihood that it serves, whether exact, a bound or an approximation:
# all pairs that the registries allow.

bound_pairs <- function() {
  pairs <- expand.grid(expectation = expectation_facts()$name, type = likelihood_facts()$type,
                       stringsAsFactors = FALSE)
  refusal <- mapply(function(expectation, type) probe_expectation_refuses(expectation, likelihood_spec(type)),
                    pairs$expectation, pairs$type)
  pairs[refusal == "", ]
}
# f(type, expectation) for all of them, with both names in what a failure says.
for_pairs <- function(f, pairs = bound_pairs()) {
  for (i in seq_len(nrow(pairs))) with(pairs[i, ], f(type, expectation))
}
latents_of <- function(type) {
  K <- likelihood_examples[[type]]$latents
  if (is.null(K)) 1 else K
}

sweep_parts <- c("value", "d_m", "d_v", "d_mm", "d_mv", "d_vv")

two_scales <- c("exgaussian_log_sigma_log_beta", "skew_normal_log_sigma_alpha")

# mean, variance: n x K, or vectors where K = 1.
pair_sweep <- function(type, expectation, y, size, mean, variance, hyper = likelihood_examples[[type]]$hyper,
                       weight = 1, pieces = 20, order = 2) {
  n <- NROW(mean)
  probe_expectation(likelihood_spec(type), expectation, hyper, rep_len(y, n), rep_len(size, n),
                    rep_len(weight, n), mean, variance, order, 1, pieces)
}

# Every response of an example at every point of a grid of means and variances, which differ between latents.
pair_grid <- function(type, variance = c(0, 1e-8, 1e-3, 0.1, 1, 4, 30, 1e3, 1e4)) {
  K <- latents_of(type)
  # means over two linear predictors are promised up to a variance of 10
  if (type %in% names(predictor_densities)) variance <- unique(pmin(variance, 10))
  example <- likelihood_examples[[type]]
  mean <- c(-30, -5, -1, 0, 0.3, 2, 10, 30)
  # a row of two wide scales takes seconds
  if (type %in% two_scales) {
    variance <- unique(pmin(variance, 0.05))
    mean <- c(-1, 0, 0.3, 2)
  }
  grid <- expand.grid(mean = mean, variance = variance, y = seq_along(example$y))
  shift <- function(x, by) {
    outer(seq_along(x), by * (seq_len(K) - 1), function(i, j) (i - 1 + j) %% length(x) + 1)
  }
  list(
    y = example$y[grid$y], size = example$size[grid$y],
    mean = matrix(mean[shift(mean, 3)], ncol = K)[match(grid$mean, mean), , drop = FALSE],
    variance = matrix(variance[shift(variance, 2)], ncol = K)[match(grid$variance, variance), , drop = FALSE]
  )
}
at_grid <- function(type, expectation, grid, ...) {
  pair_sweep(type, expectation, grid$y, grid$size, grid$mean, grid$variance, ...)
}

test_that("every bound is below the exact expectation", {
  for_pairs(function(type, expectation) {
    grid <- pair_grid(type)
    exact <- at_grid(type, "auto", grid)
    ours <- at_grid(type, expectation, grid)
    expect_true(exact$exact, label = type)
    if (ours$is_bound) {
      excess <- (ours$value - exact$value) / pmax(1, abs(exact$value))
      excess <- excess[exact$value > -1e100]  # a sum over nodes has overflown before
      expect_lt(max(excess), tol$expectation, label = paste(expectation, "above the exact value of", type))
    } else {
      expect_identical(expectation, "taylor")
    }
  })
})

# whose nodes lie as near as the highest derivative that is asked for needs
fewer_nodes <- c(
  "beta_log_precision", "beta_binomial_log_precision", "negbinomial_log_size", "zero_inflated_negbinomial_log_size",
  "hurdle_negbinomial_log_size", "ordbeta_log_phi", "zero_one_inflated_beta_log_phi"
)

test_that("nothing is missing, and the order asked for changes nothing", {
  for_pairs(function(type, expectation) {
    grid <- pair_grid(type, c(0, 1e-12, 0.1, 4, 100))
    ours <- at_grid(type, expectation, grid)
    expect_false(anyNA(unlist(ours[sweep_parts])), label = paste(expectation, "of", type))
    # the precisions of bounds that are concave in (mean, chol V)
    if (ours$one_optimum) expect_lte(max(ours$d_v), 1e-15, label = paste("d_v of", expectation, "of", type))
    first <- at_grid(type, expectation, grid, order = 1)
    allowed <- if (type %in% fewer_nodes) tol$expectation else 1e-14
    for (part in sweep_parts[1:3]) expect_close(first[[part]], ours[[part]], allowed)
  })
})

# log p(y | eta) of several latents as the exact expectation without variance, of one as its definition.
log_density_at <- function(type, y, size, eta) {
  if (latents_of(type) > 1) return(pair_sweep(type, "auto", y, size, eta, 0 * eta)$value)
  probe_likelihood(likelihood_spec(type), likelihood_examples[[type]]$hyper, y, size, drop(eta))[, 1]
}

test_that("without variance an expectation is the log density, unless of pieces or a product of sigmoids", {
  for_pairs(function(type, expectation) {
    grid <- pair_grid(type, 0)
    ours <- at_grid(type, expectation, grid)$value
    density <- log_density_at(type, grid$y, grid$size, grid$mean)
    if (!grepl("piecewise|bouchard", expectation)) return(expect_close(ours, density, tol$expectation))
    # each sigmoid adds an error of its own
    expect_lt(max(ours - density), tol$expectation, label = paste(expectation, "above the density of", type))
  })
})

# Differences divide the errors of nested means by the small steps of small variances, and have errors of their own
# where log Phi of a wide scale is steep: there ours were compared with sums over a grid, and agreed to nine digits.
derivative_variances <- function(type) {
  if (type %in% two_scales) return(0.05)
  if (type %in% c("exgaussian_log_sigma", "skew_normal_log_sigma")) return(c(0.1, 0.3))
  if (type %in% names(predictor_densities)) c(0.2, 1, 6) else c(0.02, 1, 30)
}

test_that("derivatives are those of the value, for any number of latents", {
  skip_if_not_installed("numDeriv")
  # taylor's are those of the log density on purpose
  pairs <- subset(bound_pairs(), expectation != "taylor")
  for_pairs(pairs = pairs, function(type, expectation) {
    example <- likelihood_examples[[type]]
    K <- latents_of(type)
    means <- seq_len(K)
    at <- function(x) pair_sweep(type, expectation, example$y[i], example$size[i], t(x[means]), t(x[-means]))
    value <- function(x) at(x)$value
    slopes <- function(x) unlist(at(x)[c("d_m", "d_v")], use.names = FALSE)
    for (i in seq_along(example$y)) {
      for (variance in derivative_variances(type)) {
        x <- c(0.4 - 0.7 * (means - 1), variance * (1 + 0.5 * (means - 1)))
        # differences of large numbers lose digits
        allowed <- function(x) tol$gradient * max(1, abs(x) / 100)
        found <- at(x)
        expect_close(slopes(x), numDeriv::grad(value, x), allowed(found$value))
        # K x K blocks, column-major
        blocks <- lapply(c(mm = "d_mm", mv = "d_mv", vv = "d_vv"), function(part) matrix(found[[part]], K))
        second <- rbind(cbind(blocks$mm, blocks$mv), cbind(t(blocks$mv), blocks$vv))
        expect_close(second, numDeriv::jacobian(slopes, x), allowed(slopes(x)))
      }
    }
  })
})

test_that("taylor is the second-order series, with the slope and curvature of the log density", {
  for (type in with(bound_pairs(), type[expectation == "taylor"])) {
    example <- likelihood_examples[[type]]
    for (mean in c(-2, 0.4, 3)) {
      for (variance in c(0, 0.5, 10)) {
        n <- length(example$y)
        l <- probe_likelihood(likelihood_spec(type), example$hyper, example$y, example$size, rep(mean, n))
        ours <- pair_sweep(type, "taylor", example$y, example$size, rep(mean, n), rep(variance, n))
        expect_close(ours$value, l[, 2] + variance * l[, 4] / 2)
        expect_close(ours$d_m, l[, 3])
        expect_close(ours$d_v, l[, 4] / 2)
        expect_close(ours$d_mm, l[, 4])
        expect_close(ours$d_mv, l[, 5] / 2)
        expect_false(ours$is_bound || ours$exact || ours$one_optimum)
      }
    }
  }
})

test_that("gradients in hyperparameters are those of the sum of values", {
  skip_if_not_installed("numDeriv")
  pairs <- bound_pairs()
  pairs <- pairs[lengths(lapply(likelihood_examples[pairs$type], `[[`, "hyper")) > 0, ]
  for_pairs(pairs = pairs, function(type, expectation) {
    example <- likelihood_examples[[type]]
    n <- 3 * length(example$y)
    K <- latents_of(type)
    mean <- matrix(rep_len(c(-0.8, 0.2, 1.1, 2.3), n * K), n)
    variance <- matrix(rep_len(c(0.01, 0.4, 2, 7, 0.1), n * K), n)
    weight <- rep_len(c(1, 0.5, 2, 0), n)
    sweep <- function(hyper) {
      pair_sweep(type, expectation, example$y, example$size, mean, variance, hyper, weight)
    }
    expected <- numDeriv::grad(function(hyper) sum(sweep(hyper)$value), example$hyper)
    expect_close(sweep(example$hyper)$gradient, expected, tol$gradient)
  })
})

test_that("what claims one optimum is concave in means and standard deviations and falls with the variance", {
  checked <- 0
  for_pairs(function(type, expectation) {
    grid <- pair_grid(type, c(0.01, 0.3, 2, 25))
    ours <- at_grid(type, expectation, grid)
    if (!ours$one_optimum) return()
    K <- latents_of(type)
    n <- length(grid$y)
    of_rows <- function(x) matrix(x, n)
    d_v <- of_rows(ours$d_v)
    d_mm <- of_rows(ours$d_mm)
    d_mv <- of_rows(ours$d_mv)
    d_vv <- of_rows(ours$d_vv)
    worst <- max(vapply(seq_len(n), function(i) {
      sd <- sqrt(grid$variance[i, ])
      # with v = s^2:  d^2/dm ds = 2 s d_mv,  d^2/ds ds' = 4 s s' d_vv + 2 d_v where s = s'
      mixed <- matrix(d_mv[i, ], K) * rep(2 * sd, each = K)
      H <- rbind(cbind(matrix(d_mm[i, ], K), mixed),
                 cbind(t(mixed), 4 * outer(sd, sd) * matrix(d_vv[i, ], K) + diag(2 * d_v[i, ], K)))
      if (!all(is.finite(H))) return(-Inf)  # exponentials that overflow
      max(eigen((H + t(H)) / 2, symmetric = TRUE, only.values = TRUE)$values) / max(1, abs(H))
    }, 0))
    expect_lt(worst, tol$expectation, label = paste("curvature of", expectation, "of", type))
    checked <<- checked + is.finite(worst)
  })
  expect_some(checked, "expectations with one optimum")
})

test_that("weights multiply everything", {
  for_pairs(function(type, expectation) {
    grid <- pair_grid(type, c(0.1, 4))
    weight <- rep_len(c(0, 0.5, 2), length(grid$y))
    plain <- at_grid(type, expectation, grid)
    weighted <- at_grid(type, expectation, grid, weight = weight)
    for (part in sweep_parts) {
      expect_close(weighted[[part]], weight * plain[[part]], 1e-14)
    }
  })
})

test_that("bounds are tight where theory says", {
  # exact expectation minus bound, of a success
  loss <- function(type, expectation, mean, variance) {
    value <- function(expectation) pair_sweep(type, expectation, 1, 1, mean, variance)$value
    value("auto") - value(expectation)
  }
  # log(2 cosh(x / 2)) = log 2 + x^2 / 8 - x^4 / 192 + ..: jaakkola takes v^2 for E x^4 = 3 v^2
  variance <- c(1e-2, 1e-3)
  expect_close(96 * loss("binomial_logit", "jaakkola", c(0, 0), variance) / variance^2, 1, 1e-2)
  # llp is linear where exp(mean + v / 2) vanishes: the log bound loses nothing
  expect_close(loss("binomial_logit", "log", c(-60, -40), c(1, 4)), 0)
  # (log Phi)'' = -1 + 1 / x^2 - .. far on the left
  far <- loss("binomial_probit", "two_stage", c(-50, -200), c(1, 1))
  expect_true(all(far > 0 & far < c(1 / 50, 1 / 200)^2))
  # The tails are exact but for the largest error
  expect_close(loss("binomial_logit", "piecewise", c(-60, 60), c(1, 1)), 2.1475521e-4, tol$expectation)
})

test_that("a tighter bound on sigmoids gives a tighter one on what they make up, more pieces too", {
  pairs <- bound_pairs()
  for (type in unique(pairs$type[pairs$expectation == "bouchard"])) {
    grid <- pair_grid(type)
    sigmoids <- at_grid(type, "bouchard", grid)$value
    for (bounded in c("bouchard_jaakkola", "bouchard_piecewise")) {
      ours <- at_grid(type, bounded, grid)$value
      expect_true(all(ours <= sigmoids + tol$expectation * pmax(1, abs(sigmoids))))
    }
  }
  pairs <- subset(pairs, grepl("piecewise", expectation))
  for_pairs(pairs = pairs, function(type, expectation) {
    grid <- pair_grid(type)
    unbounded <- if (expectation == "piecewise") "auto" else sub("_piecewise", "", expectation)
    limit <- at_grid(type, unbounded, grid)
    loss <- vapply(c(3, 5, 10, 20), function(pieces) {
      max(limit$value - at_grid(type, expectation, grid, pieces = pieces)$value)
    }, 0)
    expect_true(all(diff(loss) < 0), label = paste(expectation, "of", type, "tighter with more pieces"))
    # largest errors of 7.6e-2 and 2.1e-4
    expect_lt(loss[4], 0.01 * loss[1])
  })
})
