# Leave-one-out densities from the cavities, against fits without the row.

skip_on_cran()

loo_data <- function() {
  set.seed(3)
  n <- 30
  x <- sort(runif(n, -3, 3))
  f <- 1.5 * sin(1.3 * x)
  data.frame(
    x = x, binary = rbinom(n, 1, plogis(f)), count = rpois(n, exp(0.5 * f + 0.5)),
    number = f + rnorm(n, sd = 0.5), wild = f + 0.4 * rt(n, 3), successes = rbinom(n, 6, plogis(f)),
    level = cut(f + rlogis(n), c(-Inf, -1, 1, Inf), labels = c("a", "b", "c"), ordered_result = TRUE),
    class = factor(sample(c("u", "v", "w"), n, TRUE)), weight = sample(c(1, 2, 3), n, TRUE)
  )
}

# By default priors of fixed effects come from all rows.
proper <- list(default = normal(0, 2), intercept = normal(0, 2))

held_gp <- function(response) {
  stats::reformulate("0 + gp(x, kernel = se(fixed(2), fixed(1)), center = FALSE)", response)
}

fit_held <- function(formula, family, data, ...) {
  galvi(formula, data, family, hyper = "fixed", control = galvi_control(tol = 1e-9, threads = 1), ...)
}

# log p(y_i | the others) by fits that have not seen row i.
refitted <- function(formula, family, data, ...) {
  vapply(seq_len(nrow(data)), function(i) {
    fit <- fit_held(formula, family, data[-i, ], ...)
    predict(fit, data[i, ], type = "density", na.action = na.fail)
  }, 0)
}

pointwise_loo <- function(fit) loo.galvi(fit)$pointwise[, "elpd_loo"]

test_that("it is exact for the gaussian family", {
  d <- loo_data()
  family <- galvi_family("gaussian", variance = fixed(0.25))
  for (formula in list(held_gp("number"), number ~ x)) {
    found <- pointwise_loo(fit_held(formula, family, d, prior = proper))
    expect_close(found, refitted(formula, family, d, prior = proper))
  }
})

# Other families: the other sites stay, which is right to first order in what the row moves. The tolerances
# are a little above what is measured, for single rows (outliers) and for the sum.
test_that("it is close to refits without the row", {
  d <- loo_data()
  cases <- list(
    list(held_gp("binary"), binomial(), 0.02, 0.1), list(binary ~ x, binomial("probit"), 0.02, 0.1),
    list(held_gp("count"), poisson(), 0.1, 0.3), list(count ~ x, poisson(), 0.05, 0.1),
    list(held_gp("cbind(successes, 6 - successes)"), binomial(), 0.02, 0.1),
    list(held_gp("level"), cumulative(thresholds = c(-1, 1)), 0.02, 0.1),
    list(held_gp("wild"), student(scale = fixed(0.4)), 0.1, 0.3),
    list(held_gp("wild"), laplace(scale = fixed(0.4)), 0.15, 0.6),
    list(held_gp("class"), stick_breaking(), 0.05, 0.15)
  )
  for (case in cases) {
    found <- pointwise_loo(fit_held(case[[1L]], case[[2L]], d, prior = proper))
    wanted <- refitted(case[[1L]], case[[2L]], d, prior = proper)
    label <- paste(deparse1(case[[1L]]), case[[2L]]$family)
    expect_lt(max(abs(found - wanted)), case[[3L]], label = label)
    expect_lt(abs(sum(found) - sum(wanted)), case[[4L]], label = label)
  }
})

test_that("latents that meet in one likelihood move each other's means", {
  d <- loo_data()
  for (formula in list(held_gp("class"), class ~ x)) {
    fit <- fit_held(formula, categorical(), d, prior = proper)
    found <- pointwise_loo(fit)
    wanted <- refitted(formula, categorical(), d, prior = proper)
    expect_lt(max(abs(found - wanted)), 0.2)
    expect_lt(abs(sum(found) - sum(wanted)), 0.5)
    # as if they did not, the sum is off by two nats
    q <- fit$posterior
    apart <- list(variance = q$variance / (1 - q$lambda * q$variance))
    apart$mean <- q$mean - q$alpha * apart$variance
    expect_gt(abs(sum(row_log_density(fit, apart)) - sum(wanted)), 1.2)
  }
})

test_that("the response of many latents is near what rows like each other would give", {
  d <- loo_data()
  fit <- fit_held(held_gp("class"), categorical(), d)
  H <- cross_curvature(fit)
  # minus E p_j p_k, which is symmetric and not positive off the diagonal
  expect_true(all(H <= 1e-8))
  expect_close(H, aperm(H, c(1, 3, 2)))
  dense <- mean_response(fit, H)
  near <- mean_response(fit, H, largest = 10)
  for (k in 1:3) expect_lt(max(abs(near[, k, k] / dense[, k, k] - 1)), 0.35)
})

test_that("prior variances are those of an empty posterior", {
  kernel <- se(fixed(2), fixed(1)) + white(fixed(0.3))
  fit <- fit_held(number ~ x + gp(x, kernel = kernel), gaussian(), loo_data())
  prior <- fit$posterior
  prior$alpha[] <- prior$lambda[] <- 0
  found <- predict_latent(fit$model, prior, fit$model$designs, list(variance = TRUE))$variance
  expect_close(prior_variances(fitted_model(fit), 1L), found)
  d <- loo_data()
  fields <- fit_held(class ~ 0 + x + iid(weight, fixed(3)), categorical(refcat = "u"), d, prior = normal(0, 2))
  expect_close(prior_variances(fitted_model(fields), 1L), matrix(4 * d$x^2 + 3, 30, 2))
})

test_that("a flat prior has an infinite variance where its column is not zero", {
  d <- transform(loo_data(), positive = as.numeric(x > 0))
  fit <- galvi(number ~ positive, data = d, prior = list(intercept = normal(0, 2), default = normal(0, Inf)))
  expect_identical(drop(prior_variances(fit$model, 1L)), ifelse(d$positive == 0, 4, Inf))
})

test_that("a row of weight w is w rows, left out one at a time", {
  d <- loo_data()
  weighted <- loo.galvi(fit_held(count ~ x, poisson(), d, prior = proper, weights = weight))
  repeated <- loo.galvi(fit_held(count ~ x, poisson(), d[rep(1:30, d$weight), ], prior = proper))
  expect_close(weighted$estimates[, "Estimate"], repeated$estimates[, "Estimate"], 1e-6)
  # rows of weight 0 count nothing, those below 1 in part
  d$weight <- rep(c(0, 0.5, 1), 10)
  some <- loo.galvi(fit_held(count ~ x, poisson(), d, prior = proper, weights = weight))
  expect_identical(unname(some$pointwise[d$weight == 0, "elpd_loo"]), numeric(10))
  expect_true(all(some$pointwise[d$weight == 0.5, "elpd_loo"] < 0))
})

# an open intercept would know the predictor at the means of the columns, and with it a little of every level
flat_priors <- list(intercept = normal(0, Inf), default = normal(0, Inf))

test_that("rows that nothing else determines are NA, with a warning that names them", {
  fit <- galvi(mpg ~ factor(carb), data = mtcars, prior = flat_priors, hyper = "fixed")
  expect_warning(found <- loo.galvi(fit), "rows \"Ferrari Dino\", \"Maserati Bora\"", class = "galvi_warning_cavity")
  missing <- rownames(found$pointwise)[is.na(found$pointwise[, "elpd_loo"])]
  expect_identical(missing, c("Ferrari Dino", "Maserati Bora"))
  expect_true(all(is.na(found$estimates)))
  expect_output(print(found), "NA: 2 rows")
})

test_that("loo_compare() takes it", {
  skip_if_not_installed("loo")
  d <- loo_data()
  fits <- list(line = galvi(count ~ x, d, poisson()), wave = galvi(count ~ gp(x), d, poisson()))
  found <- lapply(fits, loo::loo)
  expect_s3_class(found$line, c("galvi_loo", "loo"), exact = TRUE)
  table <- named_by_model(loo::loo_compare(found))
  expect_identical(rownames(table), c("wave", "line"))
  difference <- found$line$pointwise[, "elpd_loo"] - found$wave$pointwise[, "elpd_loo"]
  expect_close(table["line", c("elpd_diff", "se_diff")], c(sum(difference), sqrt(30 * var(difference))))
  other <- loo::loo(galvi(binary ~ x, d, binomial()))
  expect_warning(loo::loo_compare(found$line, other), "same y")
})

test_that("of several fits it says how they are compared", {
  fit <- galvi(dist ~ speed, cars)
  expect_error(loo.galvi(fit, fit), "loo_compare(loo(fit1), loo(fit2))", fixed = TRUE, class = "galvi_error_argument")
  expect_error(loo.galvi(fit, NULL, fit), "takes one fit", class = "galvi_error_argument")
  expect_error(waic.galvi(fit, fit), "loo_compare(waic(fit1), waic(fit2))", fixed = TRUE,
    class = "galvi_error_argument")
})

test_that("estimates are sums of the rows' values and print with what they are", {
  fit <- small_fit("counts")
  found <- loo.galvi(fit)
  expect_identical(rownames(found$pointwise), rownames(InsectSprays))
  expect_close(found$estimates[, "Estimate"], colSums(found$pointwise))
  expect_close(found$estimates["looic", ], abs(c(-2, 2) * found$estimates["elpd_loo", ]))
  expect_true(all(found$pointwise[, "p_loo"] > 0))
  expect_output(print(found), "Leave-one-out predictive density, 72 observations.*elpd_loo.*approximation")
  expect_output(print(found), "check_fit()", fixed = TRUE)
})

test_that("rows behind inducing points keep what these leave open of their variance", {
  d <- loo_data()
  points <- matrix(seq(-3, 3, length.out = 6))
  sparse <- number ~ 0 + gp(x, kernel = se(fixed(2), fixed(1)), inducing = points)
  still <- function(data) {
    galvi(sparse, data, galvi_family("gaussian", variance = fixed(0.25)), hyper = "fixed",
      control = galvi_control(move_inducing = FALSE, threads = 1))
  }
  # sites of a gaussian do not depend on the other rows: nothing is approximated
  left_out <- vapply(seq_len(nrow(d)), function(i) {
    predict(still(d[-i, ]), d[i, ], type = "density")
  }, 0)
  expect_close(loo::loo(still(d))$pointwise[, "elpd_loo"], left_out, 1e-8)
  expect_error(check_fit(still(d)), class = "galvi_error_argument")
})

test_that("plot() of loo() shows leverages", {
  fit <- galvi(dist ~ speed, cars, hyper = "fixed")
  found <- loo.galvi(fit)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  drawn <- plot(found, label_points = TRUE, col = "grey")
  expect_equal(drawn$leverage, found$leverage)
  expect_identical(drawn$name, row.names(cars))
})

# Sum of log p(y_i | the others), with hyperparameters learned from the others.
relearned <- function(fit, data) {
  sum(vapply(seq_len(nrow(data)), function(i) {
    without <- suppressMessages(suppressWarnings(update(fit, data = data[-i, ])))
    predict(without, data[i, ], type = "density")
  }, 0))
}

test_that("learned hyperparameters are those without the row: sums are close to refits", {
  skip_on_cran()
  u <- log(c(5, 10, 15, 20, 30, 40, 60, 80, 100))
  clotting <- data.frame(u = rep(u, 2), lot = gl(2, 9), time = c(118, 58, 42, 35, 27, 25, 21, 19, 18, 69, 35, 26, 21,
    18, 16, 13, 12, 12))
  girls <- as.data.frame(nlme::Orthodont)[nlme::Orthodont$Sex == "Female", ]
  girls$Subject <- factor(as.character(girls$Subject))
  kidney <- survival::kidney
  esoph <- data.frame(dose = esoph$tobgp, alc = as.numeric(esoph$alcgp), age = as.numeric(esoph$agegp))
  days <- MASS::quine[c(TRUE, FALSE), ]
  # the last number is how far the sum was off at the hyperparameters of all rows, at least
  cases_with <- function(uncertainty) {
    control <- galvi_control(uncertainty = uncertainty)
    cases <- list(
    list(galvi(yield ~ N + P + K + (1 | block), npk, prior = list(default = normal(0, 10), intercept = normal(55, 20)), control = control),
      npk, 0.2, 2),
    list(galvi(distance ~ age + (1 | Subject), girls, control = control), girls, 0.01, 1.5),
    list(galvi(dist ~ speed, cars, control = control), cars, 0.01, 1.5),
    list(galvi(dist ~ gp(speed), cars, control = control), cars, 0.4, 2.5),
    list(galvi(stack.loss ~ Air.Flow + Water.Temp + Acid.Conc., stackloss, student(), control = control), stackloss, 0.3, 1.5),
    list(galvi(time ~ u * lot, clotting, Gamma("log"), control = control), clotting, 0.35, 2.5),
    list(galvi(Days ~ Sex + Eth + Lrn, days, negbinomial(), control = control), days, 0.2, 0.5),
    list(galvi(dose ~ alc + age, esoph, cumulative(), control = control), esoph, 0.1, 2.5),
    list(galvi(survival::Surv(time, status) ~ age + sex + (1 | id), kidney, lognormal(),
      prior = list(sd = pc(1, 0.37)), control = control), kidney, 0.4, 2.5)
    )
    # update() evaluates the call elsewhere
    lapply(cases, function(case) {
      case[[1L]]$call$control <- control
      case
    })
  }
  for (case in cases_with("factorised")) {
    fit <- case[[1L]]
    wanted <- relearned(fit, case[[2L]])
    found <- loo.galvi(fit)
    label <- deparse1(fit$formula)
    expect_lt(abs(found$estimates["elpd_loo", "Estimate"] - wanted), case[[3L]], label = label)
    fit$hyper_posterior <- NULL
    with_row <- loo.galvi(fit)
    expect_gt(with_row$estimates["elpd_loo", "Estimate"] - wanted, case[[4L]], label = label)
    expect_true(all(found$pointwise[, "elpd_loo"] <= with_row$pointwise[, "elpd_loo"]))
    expect_true(all(found$pointwise[, "p_loo"] >= with_row$pointwise[, "p_loo"]))
  }
  # points and states have weights without the row
  for (case in cases_with("auto")) {
    fit <- case[[1L]]
    expect_lt(abs(loo.galvi(fit)$estimates["elpd_loo", "Estimate"] - relearned(fit, case[[2L]])), 0.5,
      label = deparse1(fit$formula))
  }
})

test_that("to first order a row loses g' Cov g", {
  fit <- galvi(dist ~ speed, cars, control = galvi_control(uncertainty = "factorised"))
  sides <- hyper_sides(fit, function(fit) row_log_density(fit, cavities(fit)))
  at <- fit$hyper_posterior
  density <- function(x) {
    view <- galvi(dist ~ speed, cars, galvi_family("gaussian", variance = fixed(exp(x))))
    row_log_density(view, cavities(view))
  }
  g <- (density(at$value + 1e-3) - density(at$value - 1e-3)) / 2e-3
  first <- g^2 * drop(at$axes)^2
  small <- first < 0.01
  expect_gt(sum(small), 30)
  expect_lt(max(abs(hyper_loss(fit, sides) + first)[small]), 2e-3)
})

test_that("what is fixed, integrated over or not known stays as it was, and print() says so", {
  held <- galvi(dist ~ speed, cars, hyper = "fixed")
  found <- loo.galvi(held)
  expect_identical(unname(found$pointwise[, "elpd_loo"]), as.vector(row_log_density(held, cavities(held))))
  expect_length(unlist(found$hyper[c("counted", "left_out")]), 0L)
  expect_false(grepl("hyperparameters", paste(capture.output(print(found)), collapse = " ")))
  averaged <- galvi(dist ~ speed, cars, hyper = "integrate")
  found <- loo.galvi(averaged)
  expect_identical(unname(found$pointwise[, "elpd_loo"]), as.vector(row_log_density(averaged, cavities(averaged))))
  expect_output(print(found), "averaged over the\\s+hyperparameters")
  learned <- galvi(dist ~ speed, cars, control = galvi_control(uncertainty = "factorised"))
  expect_output(print(loo.galvi(learned)), "as they would be\\s+without it")
  learned$hyper_posterior <- NULL
  for (found in list(loo.galvi(learned), waic.galvi(learned))) {
    expect_identical(found$hyper$left_out, "gaussian.variance")
    expect_output(print(found), "gaussian.variance")
  }
})

test_that("a row of weight w is w rows with learned hyperparameters, too", {
  d <- loo_data()
  weighted <- loo.galvi(galvi(number ~ x, d, prior = proper, weights = frequency(weight)))
  repeated <- loo.galvi(galvi(number ~ x, d[rep(1:30, d$weight), ], prior = proper))
  expect_close(weighted$estimates[, "Estimate"], repeated$estimates[, "Estimate"], 1e-4)
})

test_that("waic() has the variance that hyperparameters cause, however they are known", {
  learned <- galvi(dist ~ speed, cars, control = galvi_control(uncertainty = "factorised"))
  of_eta <- sum(log_density_variance(learned))
  p <- function(fit) waic.galvi(fit)$estimates["p_waic", "Estimate"]
  expect_gt(p(learned) - of_eta, 0.5)
  expect_lt(abs(p(learned) - p(galvi(dist ~ speed, cars, hyper = "integrate"))), 0.3)
})

test_that("standard errors of sums are those of rows that repeat by their weights", {
  fit <- galvi(dist ~ speed, cars, hyper = "fixed")
  found <- loo.galvi(fit)
  expect_equal(found$estimates[, "SE"], sqrt(50) * apply(found$pointwise, 2, sd))
  x <- rnorm(6)
  times <- c(1, 3, 2, 0, 1, 4)
  # a row of weight w has the sum of w rows
  expect_equal(standard_error_of_sum(x * times, times), sqrt(11) * sd(rep(x, times)))
})
