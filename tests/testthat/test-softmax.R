categorical_spec <- function(classes, reference = -1) {
  list(type = "categorical", hyper = list(), constants = list(classes = classes, reference = reference))
}
stick_breaking_spec <- function(classes) {
  list(type = "stick_breaking", hyper = list(), constants = list(classes = classes))
}
# mean, variance: N x K, or K values of one row.
softmax_sweep <- function(spec, y, mean, variance, expectation = "quadrature", order = 2, threads = 1) {
  mean <- if (is.matrix(mean)) mean else rbind(mean)
  variance <- if (is.matrix(variance)) variance else rbind(variance)
  y <- rep_len(y, nrow(mean))
  one <- rep(1, nrow(mean))
  out <- probe_expectation(spec, expectation, numeric(), y, one, one, unname(mean), unname(variance), order,
                           threads)
  lapply(out, function(part) {
    by_row <- is.numeric(part) && length(part) > 0L && length(part) %% nrow(mean) == 0L
    if (by_row) matrix(part, nrow(mean)) else part
  })
}
parts <- c("value", "d_m", "d_v", "d_mm", "d_mv", "d_vv")
log_sum_exp <- function(eta) max(eta) + log(sum(exp(eta - max(eta))))
# The eta of all classes from those that are latent. reference: 0-based, -1 for none.
with_reference <- function(eta, reference) {
  if (reference < 0) eta else append(eta, 0, after = reference)
}

# E g(eta) under independent eta_k ~ N(mean_k, variance_k), K <= 3, by a product of trapezium sums.
# g: N x K matrix -> N values
product_expectation <- function(g, mean, variance) {
  axes <- lapply(seq_along(mean), function(k) {
    sd <- sqrt(variance[k])
    z <- if (sd == 0) 0 else seq(-8.5, 8.5, by = min(0.25, 0.5 / sd))
    list(eta = mean[k] + sd * z, weight = dnorm(z) / sum(dnorm(z)))
  })
  eta <- as.matrix(expand.grid(lapply(axes, `[[`, "eta")))
  weight <- Reduce(`*`, expand.grid(lapply(axes, `[[`, "weight")))
  sum(weight * g(unname(eta)))
}
row_log_sum_exp <- function(eta) {
  top <- do.call(pmax, as.data.frame(eta))
  top + log(rowSums(exp(eta - top)))
}

# E log sum exp(eta) = int [exp(-exp(u)) - prod_k phi_k(u)] du, phi_k(u) = E exp(-exp(u + eta_k)), as it
# stands.
frullani <- function(mean, variance, step = 0.1) {
  reach <- 8.5 * sqrt(max(variance))
  u <- seq(-38 - max(mean) - reach, 8 - min(mean) + reach, by = step)
  product <- 1
  for (k in seq_along(mean)) {
    sd <- sqrt(variance[k])
    z <- if (sd == 0) 0 else seq(-8.5, 8.5, by = min(0.25, 0.2 / sd))
    weight <- dnorm(z) / sum(dnorm(z))
    phi <- 0
    for (j in seq_along(z)) phi <- phi + weight[j] * exp(-exp(u + mean[k] + sd * z[j]))
    product <- product * phi
  }
  step * sum(exp(-exp(u)) - product)
}

test_that("two latent classes are a logit of their difference", {
  grid <- expand.grid(first = c(-50, -3, 0, 20), second = c(-50, 0, 1, 50),
                      v1 = c(0, 1e-6, 0.003, 0.1, 3, 1e3), v2 = c(0, 1e-4, 0.7, 30, 1e3))
  mean <- cbind(grid$first, grid$second)
  variance <- cbind(grid$v1, grid$v2)
  for (y in 0:1) {
    ours <- softmax_sweep(categorical_spec(2), y, mean, variance)
    sign <- if (y == 0) 1 else -1
    exact <- mapply(gaussian_expectation, mean = sign * (grid$first - grid$second),
                    variance = grid$v1 + grid$v2,
                    MoreArgs = list(f = function(x) plogis(x, log.p = TRUE)))
    expect_close(ours$value, exact, tol$expectation)
    expect_true(all(ours$d_v <= 0))
  }
})

test_that("with one latent value the categorical and stick-breaking are the binomial logit", {
  mean <- rep(c(-200, -50, -3, 0, 0.4, 7, 50), 9)
  variance <- rep(c(0, 1e-6, 0.003, 0.005, 0.3, 2, 17, 130, 1e3), each = 7)
  for (y in 0:1) {
    logit <- probe_expectation(list(type = "binomial_logit", hyper = list()), "quadrature", numeric(),
                               rep(y, 63), rep(1, 63), rep(1, 63), mean, variance, 2, 1)
    column <- function(x) matrix(x, ncol = 1)
    first <- softmax_sweep(categorical_spec(2, reference = 0), y, column(mean), column(variance))
    last <- softmax_sweep(categorical_spec(2, reference = 1), 1 - y, column(mean), column(variance))
    stick <- softmax_sweep(stick_breaking_spec(2), 1 - y, column(mean), column(variance))
    for (part in parts) {
      # the logit's own quadrature promises as much
      expect_close(first[[part]], logit[[part]], tol$expectation)
      expect_close(last[[part]], logit[[part]], tol$expectation)
      expect_identical(as.vector(stick[[part]]), logit[[part]])
    }
    eta <- c(-30, -1, 0, 2)
    derivatives <- function(spec, y) {
      probe_likelihood(spec, numeric(), rep(y, 4), rep(1, 4), eta)
    }
    wanted <- derivatives(list(type = "binomial_logit", hyper = list()), y)
    expect_close(derivatives(categorical_spec(2, 0), y), wanted)
    expect_close(derivatives(categorical_spec(2, 1), 1 - y), wanted)
    expect_close(derivatives(stick_breaking_spec(2), 1 - y), wanted)
  }
})

test_that("the exact expectation equals sums over products of nodes", {
  cases <- list(
    list(mean = c(0, 0), variance = c(1, 1), reference = 0),
    list(mean = c(-1, 2), variance = c(0.5, 4), reference = 1),
    list(mean = c(3, -20), variance = c(1e-6, 9), reference = 2),
    list(mean = c(0.3, -0.2, 1), variance = c(1, 2, 0.3), reference = -1),
    list(mean = c(5, 4, -3), variance = c(0.01, 6, 0), reference = -1),
    list(mean = c(-4, 1, 0.5), variance = c(3, 0.002, 1), reference = 3)
  )
  for (case in cases) {
    K <- length(case$mean)
    classes <- K + (case$reference >= 0)
    for (y in seq_len(classes) - 1) {
      g <- function(eta) {
        all <- if (case$reference < 0) eta else {
          cbind(eta[, seq_len(case$reference)], 0, eta[, seq_len(K) > case$reference])
        }
        all[, y + 1] - row_log_sum_exp(all)
      }
      ours <- softmax_sweep(categorical_spec(classes, case$reference), y, case$mean, case$variance)
      expect_close(ours$value, product_expectation(g, case$mean, case$variance), tol$expectation)
    }
  }
})

test_that("the exact expectation equals a nested integral where variances differ by far", {
  log_p <- function(a, b) a - mapply(function(a, b) log_sum_exp(c(a, b, 0)), a, b)
  outer_mean <- gaussian_expectation(function(b) {
    vapply(b, function(b) gaussian_expectation(function(a) log_p(a, b), 1, 0.09, kinks = pmax(b, 0)), 0)
  }, -2, 400)
  ours <- softmax_sweep(categorical_spec(3, reference = 2), 0, c(1, -2), c(0.09, 400))
  # kinks of the inner integral lie anywhere in the outer one
  expect_close(ours$value, outer_mean, 1e-8)
})

test_that("any number of classes: the integral over u as it stands, at any step", {
  set.seed(3)
  cases <- list(
    list(mean = rnorm(4), variance = c(0, 1e-6, 0.01, 2)),
    list(mean = c(50, -50, 0, 49, 50), variance = c(1, 30, 0.5, 1e-3, 0)),
    list(mean = rnorm(12, sd = 3), variance = rexp(12) * 4),
    list(mean = c(0, 3, -40), variance = c(1e3, 0.2, 500)),
    list(mean = rnorm(50), variance = rexp(50))
  )
  for (case in cases) {
    exact <- case$mean[2] - frullani(case$mean, case$variance)
    ours <- softmax_sweep(categorical_spec(length(case$mean)), 1, case$mean, case$variance)
    expect_close(ours$value, exact, tol$expectation)
  }
  twelve <- cases[[3]]
  expect_close(frullani(twelve$mean, twelve$variance, 0.05), frullani(twelve$mean, twelve$variance))
})

test_that("the exact expectation and its slopes are those of draws", {
  set.seed(4)
  mean <- c(0.5, -1, 2, 0, 1)
  variance <- c(2, 0.1, 5, 1, 20)
  draws <- 2e5
  eta <- matrix(rnorm(5 * draws, mean, sqrt(variance)), ncol = 5, byrow = TRUE)
  total <- row_log_sum_exp(eta)
  ours <- softmax_sweep(categorical_spec(5), 2, mean, variance)
  within <- function(sample, value) {
    expect_lt(abs(mean(sample) - value), 4.5 * sd(sample) / sqrt(draws))
  }
  within(eta[, 3] - total, ours$value)
  for (k in 1:5) {
    p <- exp(eta[, k] - total)
    within((k == 3) - p, ours$d_m[k])
    within(-p * (1 - p) / 2, ours$d_v[k])
    within(p * exp(eta[, 1] - total) - (k == 1) * p, ours$d_mm[k])
  }
})

test_that("derivatives of exact expectation and bounds are those of the value", {
  skip_if_not_installed("numDeriv")
  cases <- list(
    list(mean = c(0.3, -0.5, 1), variance = c(1, 0.3, 2), reference = -1),
    list(mean = c(2, -1, 0.4), variance = c(0.05, 8, 30), reference = 1),
    list(mean = c(-3, 4), variance = c(0.002, 0.02), reference = 0)
  )
  for (expectation in c("quadrature", "log", "bouchard", "bouchard_jaakkola")) {
    for (case in cases) {
      K <- length(case$mean)
      spec <- categorical_spec(K + (case$reference >= 0), case$reference)
      at <- function(x, part) {
        as.vector(softmax_sweep(spec, 1, x[seq_len(K)], x[-seq_len(K)], expectation)[[part]])
      }
      x <- c(case$mean, case$variance)
      expect_close(c(at(x, "d_m"), at(x, "d_v")), numDeriv::grad(at, x, part = "value"), tol$gradient)
      slopes <- rbind(numDeriv::jacobian(at, x, part = "d_m"), numDeriv::jacobian(at, x, part = "d_v"))
      block <- function(part) matrix(at(x, part), K)
      expect_close(rbind(cbind(block("d_mm"), block("d_mv")), cbind(t(block("d_mv")), block("d_vv"))), slopes,
                   tol$gradient)
    }
  }
})

test_that("the exact expectation has Stein's identities, and one order knows what the other does", {
  set.seed(5)
  mean <- matrix(rnorm(60, sd = 4), ncol = 4)
  variance <- matrix(10^runif(60, -4, 3), ncol = 4)
  both <- softmax_sweep(categorical_spec(4), 0:2, mean, variance)
  diagonal <- both$d_mm[, 1 + 5 * (0:3)]
  expect_close(both$d_v, diagonal / 2, 1e-15)
  expect_true(both$exact && both$is_bound && both$one_optimum)
  first <- softmax_sweep(categorical_spec(4), 0:2, mean, variance, order = 1)
  for (part in parts[1:3]) expect_close(first[[part]], both[[part]], 1e-14)
  expect_identical(softmax_sweep(categorical_spec(4), 0:2, mean, variance, threads = 2), both)
})

test_that("means may be moved together, and classes reordered", {
  set.seed(6)
  mean <- rnorm(5, sd = 3)
  variance <- rexp(5) * 10
  spec <- categorical_spec(5)
  ours <- softmax_sweep(spec, 1, mean, variance)
  order <- c(3, 1, 5, 2, 4)
  for (expectation in c("quadrature", "log", "bouchard", "bouchard_jaakkola")) {
    ours <- softmax_sweep(spec, 1, mean, variance, expectation)
    moved <- softmax_sweep(spec, 1, mean + 1234.5, variance, expectation)
    for (part in parts) expect_close(moved[[part]], ours[[part]], 1e-11)
    reordered <- softmax_sweep(spec, 3, mean[order], variance[order], expectation)
    expect_close(reordered$value, ours$value)
    expect_close(reordered$d_m, ours$d_m[, order])
    expect_close(reordered$d_v, ours$d_v[, order])
    for (part in parts[4:6]) expect_close(matrix(reordered[[part]], 5), matrix(ours[[part]], 5)[order, order])
  }
  expect_close(sum(softmax_sweep(spec, 1, mean, variance)$d_m), 0)
  # the reference is a class whose latent value is known to be 0
  free <- softmax_sweep(spec, 4, c(mean[1:2], 0, mean[3:4]), c(variance[1:2], 0, variance[3:4]))
  held <- softmax_sweep(categorical_spec(5, reference = 2), 4, mean[1:4], variance[1:4])
  expect_close(held$value, free$value)
  for (part in c("d_m", "d_v")) expect_close(held[[part]], free[[part]][-3])
  for (part in parts[4:6]) expect_close(matrix(held[[part]], 4), matrix(free[[part]], 5)[-3, -3])
})

test_that("without variance the expectation is the log density, far out too", {
  etas <- rbind(c(0, 1, 2), c(-30, 5, 4.9), c(800, 0, -800), c(1e30, 0, 1), c(-1e5, 3, 3))
  for (i in seq_len(nrow(etas))) {
    for (y in 0:2) {
      log_p <- if (etas[i, y + 1] == max(etas[i, ])) {
        -log1p(sum(exp(etas[i, -(y + 1)] - etas[i, y + 1])))
      } else {
        etas[i, y + 1] - log_sum_exp(etas[i, ])
      }
      for (variance in c(0, 1e-13)) {
        ours <- softmax_sweep(categorical_spec(3), y, etas[i, ], rep(variance, 3))
        expect_close(ours$value, log_p)
        p <- exp(etas[i, ] - log_sum_exp(etas[i, ]))
        expect_close(ours$d_m, (0:2 == y) - p)
        expect_close(matrix(ours$d_mm, 3), tcrossprod(p) - diag(p))
      }
    }
  }
})

test_that("nothing is missing nor of the wrong sign for means and variances of any size", {
  grid <- expand.grid(m1 = c(-1e30, -300, 0, 50), v1 = c(0, 1e-8, 1, 1e4), v2 = c(0, 0.02, 300, 1e5))
  for (reference in c(-1, 2)) {
    K <- if (reference < 0) 3 else 2
    mean <- cbind(grid$m1, 1, -2)[, seq_len(K)]
    variance <- cbind(grid$v1, grid$v2, 4)[, seq_len(K)]
    for (expectation in c("quadrature", "log", "bouchard", "bouchard_jaakkola")) {
      ours <- softmax_sweep(categorical_spec(3, reference), 1, mean, variance, expectation)
      expect_true(all(is.finite(unlist(ours[parts]))))
      expect_true(all(ours$d_v <= 0))
      expect_true(all(ours$value <= 0))
    }
    spoilt <- softmax_sweep(categorical_spec(3, reference), 1, replace(mean, 1, NaN), variance)
    expect_identical(is.nan(spoilt$value[, 1]), seq_len(nrow(grid)) == 1L)
  }
  # E log sigmoid(x) = -E|x| / 2 - E log(1 + exp(-|x|)), the last (pi^2 / 12) sqrt(2 / (pi v)) + O(v^-3/2)
  wide <- softmax_sweep(categorical_spec(2), 0, c(0, 0), c(1e8, 3e8))
  expect_close(wide$value, -sqrt(4e8 / (2 * pi)) - pi^2 / 6 / sqrt(2 * pi * 4e8))
})

test_that("bounds lie below the exact expectation, and Bouchard's in order", {
  set.seed(7)
  N <- 300
  for (reference in c(-1, 0)) {
    K <- if (reference < 0) 4 else 3
    mean <- matrix(rnorm(N * K, sd = rep_len(c(1, 5, 20), N)), N)
    variance <- matrix(10^runif(N * K, -6, 3), N)
    y <- rep_len(0:3, N)
    value <- function(expectation) {
      as.vector(softmax_sweep(categorical_spec(4, reference), y, mean, variance, expectation)$value)
    }
    exact <- value("quadrature")
    room <- tol$expectation * pmax(1, abs(exact))
    bouchard <- value("bouchard")
    expect_true(all(value("log") <= exact + room))
    expect_true(all(bouchard <= exact + room))
    for (weaker in c("bouchard_jaakkola", "bouchard_piecewise"))
      expect_true(all(value(weaker) <= bouchard + room))
    expect_true(mean(exact - value("bouchard_piecewise")) < mean(exact - value("bouchard_jaakkola")))
  }
  # Jensen's is tight without variance; Bouchard's with two classes that are far apart.
  jensen <- softmax_sweep(categorical_spec(3), 0, c(1, 0, 3), rep(0, 3), "log")
  expect_close(jensen$value, 1 - log_sum_exp(c(1, 0, 3)))
  apart <- softmax_sweep(categorical_spec(2), 0, c(40, -40), c(1, 1), "bouchard")
  expect_close(apart$value, 0, 1e-12)
})

test_that("the log bound is Jensen's, in closed form", {
  mean <- c(0.4, -1, 30)
  variance <- c(2, 0, 5)
  ours <- softmax_sweep(categorical_spec(4, reference = 1), 2, mean, variance, "log")
  expect_close(ours$value, -1 - log_sum_exp(c(mean + variance / 2, 0)))
  reference <- softmax_sweep(categorical_spec(4, reference = 1), 1, mean, variance, "log")
  expect_close(reference$value, -log_sum_exp(c(mean + variance / 2, 0)))
})

test_that("Bouchard's offset is at its optimum", {
  mean <- c(0.4, -1, 3)
  variance <- c(2, 0.5, 9)
  log_sigmoid_mean <- function(m, v) gaussian_expectation(function(x) plogis(x, log.p = TRUE), m, v)
  bound <- function(a) {
    log_sigmoid_mean(mean[2] - a, variance[2]) +
      sum(mapply(log_sigmoid_mean, a - mean[-2], variance[-2])) + plogis(a, log.p = TRUE)
  }
  best <- optimize(bound, c(-20, 20), maximum = TRUE, tol = 1e-7)
  ours <- softmax_sweep(categorical_spec(4, reference = 3), 1, mean, variance, "bouchard")
  expect_close(ours$value, best$objective, tol$expectation)
})

test_that("stick-breaking is a sequence of logits", {
  set.seed(8)
  mean <- matrix(rnorm(12), ncol = 3)
  variance <- matrix(rexp(12), ncol = 3)
  y <- 0:3
  logit <- function(success, k, part, expectation) {
    probe_expectation(list(type = "binomial_logit", hyper = list()), expectation, numeric(),
                      rep(success, 4), rep(1, 4), rep(1, 4), mean[, k], variance[, k], 2, 1)[[part]]
  }
  for (expectation in c("quadrature", "jaakkola", "log", "piecewise")) {
    ours <- softmax_sweep(stick_breaking_spec(4), y, mean, variance, expectation)
    for (k in 1:3) {
      pick <- function(part) ifelse(y + 1 == k, logit(1, k, part, expectation),
                                    ifelse(y + 1 > k, logit(0, k, part, expectation), 0))
      expect_close(ours$d_m[, k], pick("d_m"))
      expect_close(ours$d_v[, k], pick("d_v"))
      expect_close(ours$d_vv[, 4 * k - 3], pick("d_vv"))
    }
    value <- function(k) {
      ifelse(y + 1 == k, logit(1, k, "value", expectation),
             ifelse(y + 1 > k, logit(0, k, "value", expectation), 0))
    }
    expect_close(ours$value, value(1) + value(2) + value(3))
  }
})

test_that("what classes are refused", {
  expect_match(probe_expectation_refuses("bouchard", list(type = "poisson", hyper = list())), "categorical")
  expect_match(probe_expectation_refuses("jaakkola", categorical_spec(3)), "use \"auto\"")
  expect_identical(probe_expectation_refuses("bouchard_piecewise", categorical_spec(3)), "")
  expect_match(probe_expectation_refuses("bouchard", stick_breaking_spec(3)), "categorical")
  expect_error(probe_likelihood(categorical_spec(3), numeric(), 0, 1, 0), "two classes")
  expect_error(probe_likelihood(stick_breaking_spec(3), numeric(), 0, 1, 0), "two classes")
  expect_error(probe_conditional(categorical_spec(2, 0), numeric(), 0, 1, 0), "no mean")
  expect_error(softmax_sweep(categorical_spec(1), 0, 0, 1), "classes")
  expect_error(softmax_sweep(categorical_spec(3, reference = 3), 0, c(0, 0), c(1, 1)), "reference")
})

classes_at <- function(spec, mean, variance, second = FALSE, hyper = numeric()) {
  predict_classes(spec, hyper, rbind(mean), rbind(variance), second)
}

test_that("probabilities of two classes are means of the logistic function, small ones with their digits", {
  grid <- expand.grid(mean = c(-200, -30, -2, 0, 0.5, 4), variance = c(0, 1e-6, 0.003, 0.2, 3, 40, 900))
  reference <- mapply(function(m, v) gaussian_expectation(plogis, m, v), grid$mean, grid$variance)
  squared <- mapply(function(m, v) gaussian_expectation(function(x) plogis(x)^2, m, v), grid$mean,
                    grid$variance)
  one <- function(x) matrix(x, ncol = 1)
  softmax <- predict_classes(categorical_spec(2, 0), numeric(), one(grid$mean), one(grid$variance), TRUE)
  stick <- predict_classes(stick_breaking_spec(2), numeric(), one(grid$mean), one(grid$variance), TRUE)
  expect_close(softmax$probability[, 2], reference, tol$expectation)
  expect_close(softmax$second[, 2], squared, tol$expectation)
  expect_close(stick$probability[, 1], reference, tol$expectation)
  expect_close(stick$second[, 1], squared, tol$expectation)
  # two ways that share nothing, to ten digits of every probability
  expect_close(log(softmax$probability[, 2]), log(stick$probability[, 1]))
  expect_close(log(softmax$probability[, 1]), log(stick$probability[, 2]))
  # log E plogis(eta) = mean + variance / 2 far to the left
  far <- grid$mean == -200 & grid$variance <= 3
  expect_close(log(softmax$probability[far, 2]), -200 + grid$variance[far] / 2)
})

test_that("probabilities of several classes are sums over products of nodes", {
  cases <- list(
    list(mean = c(0.3, -0.2, 1), variance = c(1, 2, 0.3), reference = -1),
    list(mean = c(5, 4, -30), variance = c(0.01, 6, 0), reference = -1),
    list(mean = c(-4, 1), variance = c(3, 0.002), reference = 0),
    list(mean = c(1, 2), variance = c(9, 4), reference = 2)
  )
  for (case in cases) {
    K <- length(case$mean)
    classes <- K + (case$reference >= 0)
    p <- function(eta, c) {
      all <- if (case$reference < 0) eta else {
        cbind(eta[, seq_len(case$reference)], 0, eta[, seq_len(K) > case$reference])
      }
      exp(all[, c] - row_log_sum_exp(all))
    }
    ours <- classes_at(categorical_spec(classes, case$reference), case$mean, case$variance, TRUE)
    expect_close(sum(ours$probability), 1, 1e-15)
    for (c in seq_len(classes)) {
      first <- product_expectation(function(eta) p(eta, c), case$mean, case$variance)
      expect_close(ours$probability[c], first, tol$expectation)
      expect_close(ours$probability[c] / first, 1, 1e-7)
      expect_close(ours$second[c], product_expectation(function(eta) p(eta, c)^2, case$mean, case$variance),
                   tol$expectation)
    }
    expect_identical(classes_at(categorical_spec(classes, case$reference), case$mean, case$variance),
                     ours$probability)
  }
})

test_that("probabilities are those of draws, and sum to one for any number of classes", {
  set.seed(9)
  draws <- 1e5
  mean <- rnorm(7, sd = 2)
  variance <- rexp(7) * 5
  eta <- matrix(rnorm(7 * draws, mean, sqrt(variance)), ncol = 7, byrow = TRUE)
  p <- exp(eta - row_log_sum_exp(eta))
  softmax <- classes_at(categorical_spec(7), mean, variance, TRUE)
  near <- function(sample, value) {
    expect_true(all(abs(colMeans(sample) - value) < 4.5 * apply(sample, 2, sd) / sqrt(draws)))
  }
  near(p, softmax$probability)
  near(p^2, softmax$second)
  stick <- classes_at(stick_breaking_spec(8), mean, variance, TRUE)
  left <- t(apply(plogis(-eta), 1, cumprod))
  broken <- cbind(plogis(eta), 1) * cbind(1, left)
  near(broken, stick$probability)
  near(broken^2, stick$second)
  many <- classes_at(categorical_spec(40, 5), rnorm(39, sd = 30), 10^runif(39, -6, 3))
  expect_true(all(many >= 0))
  expect_close(sum(many), 1, 1e-14)
})

test_that("probabilities of ordered classes are integrals over eta", {
  hyper <- c(-1, 0.5, 0.5001, 4)
  for (link in c("cumulative_logit", "cumulative_probit")) {
    spec <- list(type = link, hyper = list(thresholds = 1:4))
    distribution <- if (link == "cumulative_logit") plogis else pnorm
    for (mean in c(-3, 0.2, 9)) {
      for (variance in c(0, 1e-4, 1, 60)) {
        ours <- classes_at(spec, mean, variance, TRUE, hyper)
        cell <- function(c) {
          upper <- c(hyper, Inf)[c]
          lower <- c(-Inf, hyper)[c]
          function(eta) distribution(upper - eta) - distribution(lower - eta)
        }
        for (c in 1:5) {
          of <- function(power) gaussian_expectation(function(x) cell(c)(x)^power, mean, variance, hyper)
          expect_close(ours$probability[c], of(1), tol$expectation)
          expect_close(ours$second[c], of(2), tol$expectation)
        }
      }
    }
  }
})

test_that("improbable classes keep a finite log probability", {
  p <- classes_at(categorical_spec(4), c(0, 1, -200, -600), c(1, 2, 4, 0.5))
  away <- product_expectation(function(eta) exp(-row_log_sum_exp(eta)), c(0, 1), c(1, 2))
  expect_close(log(p[3:4]), c(-200 + 2, -600 + 0.25) + log(away), 1e-12)
  # a wide class on the wrong side: about the mass of its difference beyond 0
  p <- classes_at(categorical_spec(3, 0), c(-300, 0.3), c(400, 0.1))
  expect_close(log(p[2]), log(gaussian_expectation(function(b) {
    vapply(b, function(b) {
      shift <- log_sum_exp(c(0, b))
      tail <- integrate(function(z) exp(plogis(z - shift, log.p = TRUE) - (z + 300)^2 / 800 + 0.5 * 14.9^2),
                        -60, 60, rel.tol = 1e-10)$value
      tail / sqrt(2 * pi * 400)
    }, 0)
  }, 0.3, 0.1)) - 0.5 * 14.9^2, 1e-8)
})

test_that("missing rows stay missing, and what has no classes is refused", {
  spec <- categorical_spec(3)
  p <- predict_classes(spec, numeric(), rbind(c(0, 1, 2), c(0, NA, 0), 0), matrix(c(1, 1, NA), 3, 3))
  expect_identical(is.na(p), matrix(c(FALSE, TRUE, TRUE), 3, 3))
  expect_identical(predict_classes(spec, numeric(), matrix(0, 0, 3), matrix(0, 0, 3)), matrix(0, 0, 3))
  expect_error(predict_classes(spec, numeric(), matrix(0, 1, 2), matrix(1, 1, 2)), "N x K")
  poisson <- list(type = "poisson", hyper = list())
  expect_error(predict_classes(poisson, numeric(), matrix(0), matrix(1)), "no class")
})

test_that("a variance of minus zero is none", {
  none <- classes_at(categorical_spec(3), c(-2.3, 1.3, -1.5), c(-0, 0, -0), TRUE)
  expect_close(none$probability, exp(c(-2.3, 1.3, -1.5) - log_sum_exp(c(-2.3, 1.3, -1.5))))
  expect_close(none$second, none$probability^2)
  broken <- classes_at(stick_breaking_spec(3), c(-2, 1), c(-0, -0))
  expect_identical(broken, classes_at(stick_breaking_spec(3), c(-2, 1), c(0, 0)))
})
