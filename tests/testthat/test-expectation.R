sweep_at <- function(type, y, size, mean, variance, weight = 1, expectation = "auto", order = 2, threads = 1,
                     hyper = likelihood_examples[[type]]$hyper) {
  n <- length(mean)
  probe_expectation(likelihood_spec(type), expectation, hyper, rep_len(y, n), rep_len(size, n),
                    rep_len(weight, n), mean, rep_len(variance, n), order, threads)
}
parts <- c("value", "d_m", "d_v", "d_mm", "d_mv", "d_vv")

expectation_grid <- function() {
  expand.grid(mean = c(-50, -20, -5, -1, 0, 0.3, 2, 10, 50),
              variance = c(0, 1e-8, 1e-4, 0.01, 0.5, 1, 3.9, 4.1, 10, 100, 1e3, 1e4))
}

test_that("quadrature of the links equals integrate() in value and derivatives", {
  grid <- expectation_grid()
  for (type in names(reference_derivatives)) {
    f <- function(k) {
      function(x) if (k == 0) reference_log_density[[type]](1, x) else reference_derivatives[[type]](x)[[k]]
    }
    l <- lapply(0:4, function(k) mapply(gaussian_expectation, mean = grid$mean, variance = grid$variance,
                                        MoreArgs = list(f = f(k))))
    success <- sweep_at(type, 1, 1, grid$mean, grid$variance)
    expect_identical(success$name, "quadrature")
    expect_close(success$value, l[[1]], tol$expectation)
    expect_close(success$d_m, l[[2]], tol$expectation)
    expect_close(success$d_v, l[[3]] / 2, tol$expectation)
    expect_close(success$d_mm, l[[3]], tol$expectation)
    expect_close(success$d_mv, l[[4]] / 2, tol$expectation)
    expect_close(success$d_vv, l[[5]] / 4, tol$expectation)
    # log p(y | eta) = log choose(8, 3) + 3 f(eta) + 5 f(-eta)
    mirror <- sweep_at(type, 0, 1, grid$mean, grid$variance)
    counts <- sweep_at(type, 3, 8, grid$mean, grid$variance)
    expect_close(sweep_at(type, 1, 1, -grid$mean, grid$variance)$value, mirror$value)
    expect_close(counts$value, lchoose(8, 3) + 3 * success$value + 5 * mirror$value)
    for (part in parts[-1]) expect_close(counts[[part]], 3 * success[[part]] + 5 * mirror[[part]])
  }
})

test_that("quadrature is as accurate between the steps at which it changes its nodes", {
  set.seed(1)
  mean <- runif(60, -50, 50)
  variance <- 10^runif(60, -3, 4)
  for (type in names(reference_derivatives)) {
    value <- mapply(gaussian_expectation, mean = mean, variance = variance,
                    MoreArgs = list(f = function(x) reference_log_density[[type]](1, x)))
    expect_close(sweep_at(type, 1, 1, mean, variance)$value, value, tol$expectation)
  }
})

test_that("quadrature of the links is as accurate beyond the largest variance of the tables", {
  grid <- expand.grid(z = c(-8.5, -7, -3, -0.9, 0, 0.9, 3, 7, 8.5), variance = c(1.1e4, 1e6, 1e9))
  mean <- grid$z * sqrt(grid$variance)
  for (type in names(reference_derivatives)) {
    at <- sweep_at(type, 1, 1, mean, grid$variance)
    by_integral <- function(f) mapply(gaussian_expectation, mean = mean, variance = grid$variance, MoreArgs = list(f = f))
    expect_close(at$value, by_integral(function(x) reference_log_density[[type]](1, x)), tol$expectation)
    expect_close(at$d_m, by_integral(function(x) reference_derivatives[[type]](x)[[1]]), tol$expectation)
    expect_close(at$d_v, by_integral(function(x) reference_derivatives[[type]](x)[[2]]) / 2, tol$expectation)
  }
})

# The mean of f(eta) under N(mean, variance) by the rule for a function of this smoothness: width, growth ..
rule_mean <- function(f, mean, variance, ...) {
  rule <- probe_gaussian_rule(mean, variance, ...)
  sum(f(rule[, 1]) * rule[, 2])
}

test_that("the quadrature rule needs the strip, growth and oscillation of a function, and no more", {
  grid <- expand.grid(mean = c(-20, -1, 0.3, 5), variance = c(1e-6, 1e-4, 0.003, 0.03, 0.3, 1, 3.9, 30, 100))
  expect_rule <- function(f, value, ...) {
    ours <- mapply(rule_mean, mean = grid$mean, variance = grid$variance, MoreArgs = list(f = f, ...))
    expect_close(ours, mapply(value, grid$mean, grid$variance), tol$expectation)
  }
  # E cos(c eta) = cos(c m) exp(-c^2 v / 2)
  for (wave in c(0.2, 1, 3, 40)) {
    expect_rule(function(x) cos(wave * x), function(m, v) cos(wave * m) * exp(-wave^2 * v / 2),
                width = Inf, oscillation = wave)
  }
  # with eta cos(eta) = d sin(c eta) / dc at c = 1: the polynomial before a wave does not matter
  expect_rule(function(x) x * cos(x), function(m, v) (m * cos(m) - v * sin(m)) * exp(-v / 2),
              width = Inf, oscillation = 1)
  # a wave that grows, exp(g eta) cos(eta) = Re exp((g + i) eta)
  expect_rule(function(x) exp(0.4 * x) * cos(x),
              function(m, v) Re(exp((0.4 + 1i) * m + (0.4 + 1i)^2 * v / 2)), width = Inf, growth = 0.4, oscillation = 1)
  # periodic with poles: 1 / (1 - r cos x) = (1 + 2 sum_k b^k cos(k x)) / sqrt(1 - r^2), b = r / (1 + sqrt(1 - r^2))
  r <- 0.9
  root <- sqrt(1 - r^2)
  expect_rule(function(x) 1 / (1 - r * cos(x)), function(m, v) {
    k <- 1:200
    (1 + 2 * sum((r / (1 + root))^k * cos(k * m) * exp(-k^2 * v / 2))) / root
  }, width = acosh(1 / r), spread = Inf)
  # said to be without waves, a wave is wrong: what a likelihood must not declare
  expect_gt(abs(rule_mean(cos, 0, 30, width = Inf)), 0.1)
  # and no more nodes than the exponent 33 asks for, two a period and a few for the Gaussian
  expect_lt(nrow(probe_gaussian_rule(0, 1e4, Inf, oscillation = 1)), 400)
})

test_that("quadrature serves what bends off zero, narrowly or between far thresholds", {
  skip_if_not_installed("numDeriv")
  grid <- expectation_grid()
  cases <- list(
    list(type = "student", hyper = c(3.5, 0.7), y = 0.3),
    list(type = "student", hyper = c(1, 1e-3), y = -4),
    list(type = "student", hyper = c(40, 3), y = 20),
    list(type = "beta", hyper = 3.5, y = 0.03),
    list(type = "beta", hyper = 400, y = 0.999),
    list(type = "cumulative_probit", hyper = c(-1, 0.5, 0.9), y = 1),
    list(type = "cumulative_probit", hyper = c(-1, 0.5, 40), y = 2),
    list(type = "cumulative_probit", hyper = c(-1, 0.5, 0.9), y = 3)
  )
  for (case in cases) {
    skeleton <- likelihood_examples[[case$type]]$parameters
    f <- function(eta) {
      do.call(reference_log_density[[case$type]], c(list(case$y, eta, 1), relist(case$hyper, skeleton)))
    }
    bends <- switch(case$type, student = case$y, beta = c(-6, 0, 6), case$hyper)
    value <- mapply(gaussian_expectation, mean = grid$mean, variance = grid$variance,
                    MoreArgs = list(f = f, kinks = bends))
    expect_close(sweep_at(case$type, case$y, 1, grid$mean, grid$variance, hyper = case$hyper)$value, value,
                 tol$expectation)
  }
  # where the bend is much narrower than the Gaussian, derivatives in eta are large and cancel
  narrow <- function(x, part) sweep_at("student", -4, 1, x[1], x[2], hyper = c(1, 1e-3))[[part]]
  x <- c(0.4, 9)
  expect_close(c(narrow(x, "d_m"), narrow(x, "d_v")), numDeriv::grad(narrow, x, part = "value"), tol$gradient)
  expect_close(c(narrow(x, "d_mv"), narrow(x, "d_vv")), numDeriv::grad(narrow, x, part = "d_v"), tol$gradient)
})

test_that("derivatives are those of the value", {
  skip_if_not_installed("numDeriv")
  for (type in scalar_types()) {
    example <- likelihood_examples[[type]]
    at <- function(x, part) sweep_at(type, example$y[2], example$size[2], x[1], x[2])[[part]]
    for (variance in c(0.02, 1, 30)) {
      x <- c(0.4, variance)
      expect_close(c(at(x, "d_m"), at(x, "d_v")), numDeriv::grad(at, x, part = "value"), tol$gradient)
      expect_close(c(at(x, "d_mm"), at(x, "d_mv")), numDeriv::grad(at, x, part = "d_m"), tol$gradient)
      expect_close(c(at(x, "d_mv"), at(x, "d_vv")), numDeriv::grad(at, x, part = "d_v"), tol$gradient)
    }
  }
})

test_that("closed forms and quadrature agree with integrate()", {
  grid <- expand.grid(mean = c(-5, -1, 0, 0.3, 2), variance = c(0, 1e-8, 1e-4, 0.01, 0.5, 1, 4, 10))
  facts <- likelihood_facts()
  smooth_types <- character()
  for (type in intersect(scalar_types(facts), facts$type[facts$closed_form])) {
    example <- likelihood_examples[[type]]
    smooth <- probe_expectation_refuses("quadrature", likelihood_spec(type)) == ""
    for (i in seq_along(example$y)) {
      value <- mapply(gaussian_expectation, mean = grid$mean, variance = grid$variance,
                      MoreArgs = list(f = reference_of(type, i), kinks = bends_of(type, example$y[i]),
                                      reach = 16))
      closed <- sweep_at(type, example$y[i], example$size[i], grid$mean, grid$variance)
      expect_identical(closed$name, "closed_form")
      expect_close(closed$value, value, tol$expectation)
      if (!smooth) next
      smooth_types <- union(smooth_types, type)
      numeric <- sweep_at(type, example$y[i], example$size[i], grid$mean, grid$variance,
                          expectation = "quadrature")
      for (part in parts) expect_close(numeric[[part]], closed[[part]], tol$expectation)
    }
  }
  expect_some(length(smooth_types), "likelihoods with a closed form that quadrature serves, too")
})

test_that("every likelihood's smoothness is that of its log density, narrow and wide", {
  grid <- expand.grid(mean = c(-3, 0.4), variance = c(1e-3, 0.03, 0.2, 1, 4, 25, 100))
  checked <- 0
  for (type in scalar_types()) {
    if (probe_expectation_refuses("quadrature", likelihood_spec(type)) != "") next  # a kink
    example <- likelihood_examples[[type]]
    for (i in seq_along(example$y)) {
      # E exp(2 eta) has its mass 2 sd further out
      value <- mapply(gaussian_expectation, mean = grid$mean, variance = grid$variance, MoreArgs = list(
        f = reference_of(type, i), kinks = bends_of(type, example$y[i]), reach = 32
      ))
      ours <- sweep_at(type, example$y[i], example$size[i], grid$mean, grid$variance, expectation = "quadrature")
      expect_close(ours$value, value, tol$expectation)
      checked <- checked + 1
    }
  }
  expect_gt(checked, 70)
})

test_that("laplace's closed form has the derivatives of its value on either side of the kink", {
  # d^2 E|y - eta| / dmean^2 = 2 phi(d) / sd
  grid <- expand.grid(mean = c(-3, 0.1, 0.3, 4), variance = c(1e-8, 0.01, 1, 100))
  ours <- sweep_at("laplace", 0.1, 1, grid$mean, grid$variance)
  sd <- sqrt(grid$variance)
  d <- (0.1 - grid$mean) / sd
  expect_close(ours$d_m, (2 * pnorm(d) - 1) / 0.7)
  expect_close(ours$d_mm, -2 * dnorm(d) / sd / 0.7)
  expect_close(ours$d_v, -dnorm(d) / sd / 0.7)
  expect_close(ours$d_vv, -dnorm(d) * (d^2 - 1) / (2 * sd^3) / 0.7)
  expect_true(all(is.finite(unlist(sweep_at("laplace", 0.1, 1, c(0.1, 3, 0.1), c(0, 0, 1e-100))[parts]))))
})

test_that("closed forms near the optimum of large responses do not cancel", {
  # around mean = log y the value is that of a normal log density with a variance of 1 / shape, 1 / y, ..
  value <- function(type, y, mean, variance, hyper = numeric()) {
    sweep_at(type, y, 1, mean, variance, hyper = hyper)$value
  }
  shape <- 1e12
  at <- function(d, v) value("gamma", exp(5), 5 - d, v, shape) - value("gamma", exp(5), 5, 0, shape)
  expect_close(at(1e-7, 0), -shape * 1e-14 / 2, 1e-3)  # 1e12 (1 + d - exp(d)) with d rounded to 1e-16
  expect_close(at(0, 1e-13), -shape * 1e-13 / 2, 1e-9)
  expect_close(value("exponential", 1e200, log(1e200), 0.5), -log(1e200) - exp(0.25))
  expect_close(value("stochastic_volatility", 1e200, 2 * log(1e200), 0), dnorm(1, log = TRUE) - log(1e200))
})

test_that("without variance the expectation is the log density", {
  checked <- c(auto = 0, quadrature = 0)
  for (type in scalar_types()) {
    example <- likelihood_examples[[type]]
    for (expectation in c("auto", "quadrature")) {
      if (expectation != "auto" && probe_expectation_refuses(expectation, likelihood_spec(type)) != "") next
      for (i in seq_along(example$y)) {
        l <- probe_likelihood(likelihood_spec(type), example$hyper, example$y[i], example$size[i], 0.4)
        l <- l[1, 2:6]
        for (variance in c(0, 1e-14)) {
          ours <- sweep_at(type, example$y[i], example$size[i], 0.4, variance, expectation = expectation)
          expect_close(unlist(ours[parts]), l[c(1, 2, 3, 3, 4, 5)] / c(1, 1, 2, 1, 2, 4))
          checked[expectation] <- checked[expectation] + 1
        }
      }
    }
  }
  for (name in names(checked)) expect_some(checked[[name]], paste("likelihoods with expectation", name))
})

test_that("the precision of a log-concave likelihood's site is never negative, nor anything missing", {
  grid <- expand.grid(mean = c(-1e30, -1e5, -300, -50, 0, 36, 41, 300, 1e5, 1e30),
                      variance = c(0, 1e-8, 0.01, 1, 4, 1e4, 1.1e4, 1e6, 1e8))
  for (type in names(reference_derivatives)) {
    for (y in 0:1) {
      ours <- sweep_at(type, y, 1, grid$mean, grid$variance)
      expect_true(all(ours$d_v <= 0))
      expect_true(all(is.finite(unlist(ours[parts]))))
    }
  }
  wide <- sweep_at("binomial_logit", 1, 1, 0, 1e8)
  # E log sigmoid(x) = -E|x| / 2 - E log(1 + exp(-|x|)), the last (pi^2 / 12) sqrt(2 / (pi v)) + O(v^-3/2)
  expect_close(wide$value, -sqrt(1e8 / (2 * pi)) - pi^2 / 6 / sqrt(2 * pi * 1e8))
})

test_that("orders, weights and threads", {
  set.seed(2)
  n <- 5000
  mean <- rnorm(n, 0, 3)
  variance <- rexp(n)
  weight <- sample(0:3, n, TRUE) / 2
  for (type in scalar_types()) {
    example <- likelihood_examples[[type]]
    y <- example$y
    plain <- sweep_at(type, y, example$size, mean, variance)
    weighted <- sweep_at(type, y, example$size, mean, variance, weight)
    for (part in parts) expect_equal(weighted[[part]], weight * plain[[part]], tolerance = 1e-15)
    expect_identical(sweep_at(type, y, example$size, mean, variance, weight, threads = 2), weighted)
    first <- sweep_at(type, y, example$size, mean, variance, weight, order = 1)
    for (part in parts[1:3]) expect_equal(first[[part]], weighted[[part]], tolerance = 1e-15)
  }
  spoilt <- sweep_at("binomial_logit", 1, 1, c(0, NaN, Inf, 0, 0), c(1, 1, 1, -1, Inf))
  for (part in parts) expect_identical(is.nan(spoilt[[part]]), c(FALSE, TRUE, TRUE, TRUE, TRUE))
  # a row of weight 0 does not count, even where it has overflown
  expect_identical(sweep_at("poisson", 1, 1, 1e4, 1, weight = 0)$value, 0)
})

test_that("rows that repeat others have their expectations", {
  set.seed(3)
  n <- 2500  # blocks of 1,024
  checked <- 0
  for (type in scalar_types()) {
    example <- likelihood_examples[[type]]
    i <- sample(length(example$y), n, TRUE)
    mean <- sample(c(-0, 0, 0.5), n, TRUE)
    variance <- sample(c(0.1, 2), n, TRUE)
    weight <- sample(0:3, n, TRUE) / 2
    rows <- data.frame(i, mean, variance, weight)
    alone <- unique(rows)
    at <- function(x) sweep_at(type, example$y[x$i], example$size[x$i], x$mean, x$variance, x$weight)
    all <- at(rows)
    one <- lapply(split(alone, seq_len(nrow(alone))), at)
    which <- match(do.call(paste, rows), do.call(paste, alone))
    for (part in parts) expect_equal(all[[part]], vapply(one, `[[`, 0, part)[which], ignore_attr = TRUE, tolerance = 1e-15)
    gradients <- vapply(one, function(x) as.numeric(x$gradient), numeric(length(example$hyper)))
    sums <- rowSums(matrix(gradients, length(example$hyper), nrow(alone))[, which, drop = FALSE])
    expect_close(all$gradient, sums, 1e-12)
    checked <- checked + length(example$hyper)
  }
  expect_some(checked, "hyperparameters")
})

test_that("the expected gradient in hyperparameters is that of the value", {
  skip_if_not_installed("numDeriv")
  mean <- c(0, 1, 2.5, -0.3, -2)
  variance <- c(0.2, 0, 3, 1e-6, 40)
  weight <- c(1, 2, 0.5, 1, 0.1)
  checked <- c(closed_form = 0, quadrature = 0)
  for (type in scalar_types()) {
    example <- likelihood_examples[[type]]
    if (length(example$hyper) == 0L) next
    for (expectation in c("closed_form", "quadrature")) {
      if (probe_expectation_refuses(expectation, likelihood_spec(type)) != "") next
      for (i in seq_along(example$y)) {
        sweep <- function(h) {
          sweep_at(type, example$y[i], example$size[i], mean, variance, weight, expectation, hyper = h)
        }
        value <- function(h) sum(sweep(h)$value)
        # differences of steps of 1e-4 know a slope to 1e4 roundings of the value, which exp(eta) makes large
        rounding <- 1e5 * .Machine$double.eps * abs(value(example$hyper))
        expect_close(sweep(example$hyper)$gradient, numDeriv::grad(value, example$hyper), tol$gradient + rounding)
        checked[expectation] <- checked[expectation] + 1
      }
    }
  }
  for (name in names(checked)) expect_some(checked[[name]], paste("gradients with expectation", name))
})

test_that("what an expectation is, and what it refuses", {
  expect_identical(expectation_facts()$name[1:2], c("closed_form", "quadrature"))
  expect_match(probe_expectation_refuses("closed_form", likelihood_spec("binomial_logit")), "quadrature")
  expect_identical(probe_expectation_refuses("quadrature", likelihood_spec("poisson")), "")
  expect_match(probe_expectation_refuses("quadratur", likelihood_spec("poisson")), "known are auto")
  expect_match(probe_expectation_refuses("quadrature", likelihood_spec("laplace")), "kink")
  for (type in scalar_types()) {
    ours <- sweep_at(type, likelihood_examples[[type]]$y[2], likelihood_examples[[type]]$size[2], 0, 1)
    expect_true(ours$exact && ours$is_bound)
    expect_identical(ours$one_optimum, likelihood_facts()$log_concave[likelihood_facts()$type == type])
  }
  expect_error(sweep_at("gaussian", 1, 1, 0, 1, hyper = 0), "only exact inference")
})
