# Log densities of many rows at once (Likelihood::log_densities()) are those of one row after the other.

skip_on_cran()

# Rows of a registered likelihood: its example's responses again and again.
rows_of_type <- function(type, eta) {
  example <- likelihood_examples[[type]]
  at <- rep_len(seq_along(example$y), NROW(eta))
  list(likelihood = likelihood_spec(type), hyper = example$hyper, y = example$y[at], size = example$size[at])
}
# All at once, without leaving rows to log_density(), if `at_once`. scale: how large the terms are of which a row's log
# density is the sum.
expect_same_sums <- function(rows, eta, label, censoring = NULL, at_once = FALSE, scale = 1) {
  weight <- rep_len(c(1, 0.5, 0, 2), NROW(eta))
  found <- probe_log_densities(rows$likelihood, rows$hyper, rows$y, rows$size, weight, eta, censoring)
  known <- !is.nan(found[, 1])
  error <- abs(found[known, 1] - found[known, 2]) / pmax(scale, abs(found[, 2]))[known]
  expect_true(all(error < 1e-12), label = paste(label, "by rows"))
  if (at_once) expect_true(all(known), label = paste(label, "at once"))
  sum <- sum((weight * found[, 2])[weight > 0])
  if (is.nan(sum)) {
    expect_true(is.nan(attr(found, "sum")), label = paste(label, "without a sum"))
  } else {
    expect_true(identical(attr(found, "sum"), sum) || abs(attr(found, "sum") - sum) < 1e-12 * max(scale, abs(sum)),
                label = paste(label, "in sum"))
  }
}
eta_of <- function(type, values) matrix(values, ncol = latents_of(type))

test_that("the probe refuses more rows than are prepared together", {
  expect_error(probe_log_densities(likelihood_spec("poisson"), numeric(), rep(1, 257), rep(1, 257), rep(1, 257), numeric(257)),
               "256 rows at most")
})

test_that("usual linear predictors", {
  set.seed(1)
  for (type in likelihood_facts()$type) {
    for (n in c(1, 4, 37, 256)) {
      eta <- eta_of(type, rnorm(n * latents_of(type), sd = 1.5))
      # where sigma is 100 times beta the terms of exgaussian cancel, which log_density() avoids
      expect_same_sums(rows_of_type(type, eta), eta, paste(type, n), at_once = type != "exgaussian_log_sigma_log_beta")
    }
  }
})

test_that("extreme linear predictors", {
  values <- c(0, 3, -3, 15, -15, 40, -40, 300, -300, 705, -705, 800, -800, 1e5, -1e5, 1e30, -1e30)
  for (type in setdiff(likelihood_facts()$type, c("tweedie", "tweedie_log_dispersion"))) {
    K <- latents_of(type)
    grid <- as.matrix(expand.grid(rep(list(if (K < 3) values else values[c(1, 3, 4, 7, 8, 11, 14, 17)]), K)))
    for (shift in seq_along(likelihood_examples[[type]]$y)) {
      rows <- seq(shift, by = 1, length.out = 250)
      some <- grid[(rows * 7) %% nrow(grid) + 1, , drop = FALSE]
      for (n in seq(1, 250, 10)) {  # one row a sum, as an infinite one hides the others
        one <- some[rep(n, 4), , drop = FALSE]
        expect_same_sums(rows_of_type(type, one), one, paste(type, toString(one[1, ])))
      }
      expect_same_sums(rows_of_type(type, some), some, paste(type, "many"))
    }
  }
})

test_that("large counts", {
  set.seed(2)
  y <- c(0, 1, 2, 15, 16, 17, 24, 25, 100, 1e4)
  for (type in c("poisson", "negbinomial", "negbinomial_log_size", "zero_inflated_poisson",
                 "zero_inflated_negbinomial_log_size", "hurdle_negbinomial")) {
    for (shape in c(-40, -3, 0, 2, 5, 20, 40)) {
      eta <- cbind(log(y + 0.5) + rnorm(10, sd = 0.3), shape, 0.3)
      two <- grepl("log_size", type)
      columns <- switch(latents_of(type), 1, if (two) 1:2 else c(1, 3), 1:3)
      rows <- list(likelihood = likelihood_spec(type), hyper = if (grepl("negbinomial$", type)) exp(shape) else numeric(),
                   y = y, size = rep(1, 10))
      expect_same_sums(rows, eta[, columns, drop = FALSE], paste(type, shape), scale = 1 + y * (10 + abs(shape)))
    }
  }
})

test_that("trials and weights of dispersions", {
  set.seed(3)
  for (type in c("binomial_logit", "binomial_probit", "binomial_cloglog", "binomial_loglog", "binomial_cauchit",
                 "zero_inflated_binomial", "hurdle_binomial", "beta_binomial", "beta_binomial_log_precision")) {
    rows <- rows_of_type(type, numeric(40))
    rows$size <- rep_len(c(1, 2, 7, 40, 1000), 40)
    rows$y <- floor(rows$size * runif(40))
    eta <- eta_of(type, rnorm(40 * latents_of(type), sd = 2))
    expect_same_sums(rows, eta, type)
  }
  facts <- likelihood_facts()
  for (type in setdiff(facts$type[facts$divides_dispersion], c("tweedie", "tweedie_log_dispersion"))) {
    rows <- rows_of_type(type, numeric(40))
    rows$size <- exp(rnorm(40))
    eta <- eta_of(type, rnorm(40 * latents_of(type)))
    expect_same_sums(rows, eta, type)
  }
})

test_that("censored and truncated rows", {
  set.seed(4)
  n <- 60
  low <- exp(rnorm(n))
  kind <- rep_len(1:6, n)
  censoring <- cbind(y = ifelse(kind == 3, 0, low), upper = low, entry = -Inf)
  censoring[kind == 2, "upper"] <- Inf
  censoring[kind == 4, "upper"] <- 1.7 * low[kind == 4]
  censoring[kind >= 5, "entry"] <- c(0.3, 0.99) * low[kind >= 5]
  censoring[kind == 6, "upper"] <- Inf
  thin <- which(kind == 4)[1:3]
  censoring[thin, "upper"] <- (1 + c(1e-2, 1e-5, 1e-9)) * low[thin]
  censoring[which(kind == 6)[1:2], "upper"] <- 2 * low[which(kind == 6)[1:2]]  # truncated and in an interval
  for (type in c("exponential", "weibull", "weibull_ph", "weibull_ph_log_shape", "loglogistic", "loglogistic_log_shape",
                 "lognormal", "lognormal_log_sigma", "censored_gaussian", "censored_gaussian_log_sd")) {
    range <- censoring
    if (grepl("gaussian", type)) range[kind == 3, "y"] <- -Inf
    rows <- list(likelihood = likelihood_spec(type), hyper = likelihood_examples[[type]]$hyper, y = range[, "y"],
                 size = rep(1, n))
    eta <- eta_of(type, rnorm(n * latents_of(type)))
    expect_same_sums(rows, eta, type, censoring = unname(range))
    plain <- setdiff(seq_len(n), thin)
    some <- modifyList(rows, list(y = rows$y[plain], size = rows$size[plain]))
    expect_same_sums(some, eta[plain, , drop = FALSE], type, censoring = unname(range[plain, ]), at_once = TRUE)
    expect_same_sums(rows, 40 * eta, paste(type, "extreme"), censoring = unname(range))
  }
})

test_that("functions of every element are right to the last digits, with wide registers and without", {
  set.seed(5)
  x <- c(0, 1e-300, -1e-300, 1e-9, seq(-37, 37, length.out = 301), 300, -300, 740, -740, -744, 709, 720, -1e4, 1e4)
  close <- function(found, expected, tolerance) {
    expect_identical(is.finite(found), is.finite(expected))
    usual <- is.finite(expected)
    expect_identical(found[!usual], expected[!usual])
    expect_lt(max(0, abs(found - expected)[usual] / pmax(abs(expected[usual]), 1e-300)), tolerance)
  }
  for (portable in c(TRUE, FALSE)) {
    for (n in c(1, 3, 4, 7, length(x))) {
      at <- x[seq_len(n)]
      close(probe_elementwise("exp", at, numeric(), portable), exp(at), 1e-15)
      close(probe_elementwise("log", abs(at), numeric(), portable), log(abs(at)), 1e-15)
      close(probe_elementwise("log1p", abs(at), numeric(), portable), log1p(abs(at)), 1e-15)
      close(probe_elementwise("log1p_exp", at, numeric(), portable), log1p(exp(-abs(at))), 1e-15)
      exact <- ifelse(abs(at) > log(2), log1p(-exp(-abs(at))), log(-expm1(-abs(at))))
      # near zero by the digits of one
      close(probe_elementwise("log_one_minus_exp", abs(at), numeric(), portable) - 1, exact - 1, 1e-13)
      # far on the right it is minus exp() of a large number
      close(probe_elementwise("log_normal_cdf", at, numeric(), portable), pnorm(at, log.p = TRUE), 1e-12)
    }
    expect_identical(probe_elementwise("exp", c(NaN, Inf, -Inf), numeric(), portable), c(NaN, Inf, 0))
    expect_identical(probe_elementwise("log", c(NaN, Inf, 0), numeric(), portable), c(NaN, Inf, -Inf))
    expect_identical(probe_elementwise("log1p", c(NaN, Inf, -1, 1e301), numeric(), portable),
                     c(NaN, Inf, -Inf, log(1e301)))
    expect_identical(probe_elementwise("log1p_exp", c(NaN, Inf, -Inf), numeric(), portable), c(NaN, 0, 0))
    expect_identical(probe_elementwise("log_normal_cdf", c(NaN, Inf, -1e300), numeric(), portable), c(NaN, 0, -Inf))
    a <- c(seq(-35, 35, length.out = 141), 100, 700)
    for (y in c(0, 1, 2, 5, 16, 17, 24, 25, 40, 300)) {
      found <- probe_elementwise("log_rising", a, rep(y, length(a)), portable)
      expect_lt(max(abs(found - log_rising(y, a)) / pmax(1, abs(found))), 1e-14)
    }
    mixed <- probe_elementwise("log_rising", rep(0.3, 8), c(0, 3, 40, 1, 16, 17, 1000, 2), portable)
    expect_equal(mixed, lgamma(c(0, 3, 40, 1, 16, 17, 1000, 2) + exp(0.3)) - lgamma(exp(0.3)), tolerance = 1e-14)
    b <- seq(-300, 6, length.out = 100)
    error <- lgamma(exp(b)) - (exp(b) - 0.5) * b + exp(b) - log(2 * pi) / 2
    expect_lt(max(abs(probe_elementwise("stirling_error", b, numeric(), portable) - error) / pmax(1, abs(error))), 1e-11)
    expect_equal(probe_elementwise("stirling_error", c(20, 40, 600), numeric(), portable), exp(-c(20, 40, 600)) / 12,
                 tolerance = 1e-14)
  }
})
