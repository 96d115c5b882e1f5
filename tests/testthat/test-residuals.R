# Residuals, simulation and summaries, for every family there is.

skip_on_cran()

test_that("quantile residuals of every family are standard normal under the model", {
  for (name in family_names()) {
    fit <- family_fit(name, 500)
    set.seed(4)
    q <- residuals(fit, "quantile")
    expect_true(all(is.finite(q)), label = name)
    expect_gt(ks.test(q, "pnorm")$p.value, 0.01)
  }
})

test_that("simulated responses have the predicted means or probabilities, and the response's type", {
  for (name in family_names()) {
    fit <- family_fit(name)
    # few draws of a long tail have another sd than the tail
    draws <- if (name == "hurdle_nbinom1") 4000 else 400
    s <- simulate(fit, nsim = draws, seed = 3)
    y <- fit$data$y
    expect_identical(class(s$sim_1), class(y), label = name)
    if (is.factor(y)) {
      expect_identical(levels(s$sim_1), levels(y))
      p <- predict(fit, type = "prob")
      for (k in seq_along(levels(y))) {
        share <- rowMeans(vapply(s, function(one) as.integer(one) == k, logical(60)))
        expect_lt(max(abs(share - p[, k]) / sqrt(p[, k] * (1 - p[, k]) / draws)), 5)
      }
    } else if (name != "student") {
      m <- as.matrix(s)
      mean <- if (name == "stochastic_volatility") 0 else fitted(fit)
      expect_lt(max(abs(rowMeans(m) - mean) / (apply(m, 1, sd) / sqrt(draws))), 5.5)
    }
  }
})

test_that("draws of several latents have their marginals, in dense and in projected solvers", {
  for (formula in list(y ~ x, y ~ gp(x, kernel = se(variance = 1, lengthscale = 1)))) {
    fit <- family_fit("categorical", formula = formula)
    set.seed(1)
    eta <- aperm(posterior_linpred.galvi(fit, ndraws = 1500), c(2, 3, 1))
    expect_identical(unname(dim(eta)), c(60L, 3L, 1500L))
    known <- latent_marginals(fit, training_target(fit))
    z <- (apply(eta, 1:2, mean) - known$mean) / sqrt(known$variance / 1500)
    expect_lt(max(abs(z)), 4.8)
    expect_equal(apply(eta, 1:2, var), known$variance, tolerance = 0.2, ignore_attr = TRUE)
  }
})

test_that("classes given as whole numbers come back as such", {
  d <- transform(family_data("categorical"), y = as.integer(y))
  fit <- galvi(y ~ x, data = d, family = categorical(), hyper = "fixed")
  expect_type(simulate(fit, seed = 1)$sim_1, "integer")
})

test_that("deviance is twice what the log likelihood lacks", {
  lacking <- function(name, log_density, parameters) {
    fit <- family_fit(name)
    y <- fit$model$y
    mu <- unname(fitted(fit))
    largest <- function(y) optimize(log_density, parameters, y = y, maximum = TRUE, tol = 1e-10)$objective
    best <- vapply(y, largest, 1)
    expect_equal(unname(residuals(fit, "deviance")), sign(y - mu) * sqrt(2 * (best - log_density(mu, y))),
      tolerance = 1e-4, label = name)
  }
  lacking("beta_family", function(mu, y) dbeta(y, 8 * mu, 8 * (1 - mu), log = TRUE), c(0, 1))
  lacking("student", function(mu, y) dt(y - mu, 4, log = TRUE), c(-30, 30))
  lacking("laplace", function(mu, y) -abs(y - mu), c(-30, 30))
  lacking("exponential", function(mu, y) dexp(y, 1 / mu, log = TRUE), c(1e-8, 60))
  for (name in class_families) {
    fit <- family_fit(name)
    expect_equal(residuals(fit, "deviance"), sqrt(-2 * predict(fit, type = "density")), tolerance = 1e-6)
    expect_equal(deviance(fit), -2 * sum(predict(fit, type = "density")), tolerance = 1e-6)
  }
})

test_that("links of means that differ from 0 and 1 by less than a number's digits are known", {
  for (p in c(1e-30, 1e-15, 1e-9, 0.3)) {
    of_logs <- function(link, ...) link_types[[link]]$of_logs(...)
    expect_equal(of_logs("cloglog", log(p), log1p(-p)), log(-log1p(-p)), tolerance = 1e-7)
    expect_equal(of_logs("cloglog", log(p), if (p < 1e-14) 0 else log1p(-p)), log(p) + p / 2, tolerance = 0.03)
    expect_equal(of_logs("loglog", if (p < 1e-14) 0 else log1p(-p), log(p)), -log(p) - p / 2, tolerance = 0.03)
  }
})

test_that("deviances are finite numbers, or the family is said to have none", {
  for (name in family_names()) {
    fit <- family_fit(name)
    error <- tryCatch({
      expect_true(all(is.finite(residuals(fit, "deviance"))), label = name)
      NULL
    }, galvi_error_argument = identity)
    if (!is.null(error)) expect_match(conditionMessage(error), "has no deviance", label = name)
  }
  expect_error(deviance(family_fit("ordbeta")), "ordbeta.*has no deviance", class = "galvi_error_argument")
})

test_that("deviance with a predictor of the scale, shape or precision is at its mean in each row", {
  lacking <- function(name, second, log_density, parameters) {
    fit <- galvi(list(y ~ x, stats::as.formula(paste(second, "~ x"))), family_data(name), name)
    y <- fit$model$y
    at <- unname(predict(fit, dpar = second, type = "response"))
    mu <- unname(fitted(fit))
    largest <- function(y, at) {
      optimize(function(mu) log_density(mu, y, at), parameters, maximum = TRUE, tol = 1e-10)$objective
    }
    best <- mapply(largest, y, at)
    # of optimize(), in square roots of its values
    expect_equal(unname(residuals(fit, "deviance")), sign(y - mu) * sqrt(2 * pmax(best - log_density(mu, y, at), 0)),
      tolerance = 1e-3, label = name)
    expect_equal(deviance(fit), sum(residuals(fit, "deviance")^2))
    expect_identical(names(residuals(fit, "deviance")), names(fitted(fit)))
  }
  lacking("negbinomial", "shape", function(mu, y, at) dnbinom(y, at, mu = mu, log = TRUE), c(1e-9, 200))
  lacking("student", "sigma", function(mu, y, at) dt((y - mu) / at, 4, log = TRUE), c(-30, 30))
  lacking("laplace", "sigma", function(mu, y, at) -abs(y - mu) / at, c(-30, 30))
  lacking("beta_family", "phi", function(mu, y, at) dbeta(y, at * mu, at * (1 - mu), log = TRUE), c(0, 1))
})

test_that("deviances with a standard model are that model's, where the posterior is narrow", {
  d <- family_data("Gamma", 2000)
  fit <- galvi(y ~ x, data = d, family = galvi_family("Gamma", shape = fixed(3)), hyper = "fixed")
  expect_equal(deviance(fit), deviance(glm(y ~ x, data = d, family = Gamma("log"))), tolerance = 0.005)
  skip_if_not_installed("MASS")
  d <- family_data("negbinomial", 2000)
  fit <- galvi(y ~ x, data = d, family = galvi_family("negbinomial", size = fixed(2)), hyper = "fixed")
  reference <- glm(y ~ x, data = d, family = MASS::negative.binomial(2))
  expect_equal(deviance(fit), deviance(reference), tolerance = 0.005)
})

test_that("`re_formula` leaves groups out of residuals, of new data too", {
  fit <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy)
  for (re_formula in list(NA, ~ (1 | Subject))) {
    left <- sleepstudy$Reaction - predict(fit, re_formula = re_formula)
    expect_equal(residuals(fit, re_formula = re_formula), left)
    expect_equal(residuals(fit, newdata = sleepstudy[3:9, ], re_formula = re_formula), left[3:9], tolerance = tol$solve)
  }
  expect_equal(residuals(fit, "pearson", re_formula = NULL), residuals(fit, "pearson"))
  counts <- galvi(count ~ 1 + (1 | spray), InsectSprays, poisson())
  expect_equal(
    residuals(counts, "deviance", re_formula = NA),
    residuals(counts, "deviance", newdata = InsectSprays, re_formula = NA), tolerance = tol$solve
  )
})

test_that("Pearson residuals have variance one under the model", {
  for (name in setdiff(family_names(), class_families)) {
    r <- residuals(family_fit(name, 500), "pearson")
    expect_equal(mean(r^2), 1, tolerance = if (name == "student") 0.5 else 0.3, label = name)
  }
})

test_that("summaries show thresholds in a block of their own, and count them", {
  d <- family_data("cumulative", 200)
  fit <- galvi(y ~ x, data = d, family = cumulative())
  expect_output(print(fit), "Thresholds \\(posterior mean, sd and interval\\):\n.*\n *low\\|medium")
  s <- summary(fit)
  expect_identical(s$thresholds$between, c("low|medium", "medium|high"))
  expect_true(all(diff(s$thresholds$estimate) > 0))
  expect_output(print(s), "Thresholds")
  expect_false(any(grepl("cumulative\\.", capture.output(print(s)))))
  expect_identical(attr(logLik(fit), "df"), sum(fit$hyper$status != "fixed"))
  expect_gte(attr(logLik(fit), "df"), 2L)
  expect_true("low|medium" %in% tidy.galvi(fit)$term)
  expect_identical(fit$hyper$term[fit$hyper$name == "cumulative.low|medium"], "cumulative")
  expect_output(print(family_fit("cumulative")), "Thresholds \\(fixed\\)")
})

test_that("every family prints, summarises, tidies and augments", {
  for (name in family_names()) {
    fit <- family_fit(name)
    expect_output(print(fit), name, fixed = TRUE)
    expect_output(print(summary(fit)), "Converged")
    expect_identical(nrow(glance.galvi(fit)), 1L)
    expect_gt(nrow(tidy.galvi(fit, conf.int = TRUE)), 0L)
    wide <- augment.galvi(fit)
    expect_identical(nrow(wide), 60L)
    expect_true(all(c(".fitted", ".resid") %in% names(wide)))
  }
  expect_identical(names(augment.galvi(family_fit("categorical"))),
    c("y", "x", ".fitted", ".probability", ".resid"))
  each <- augment.galvi(family_fit("categorical"), type.predict = "prob")
  expect_identical(names(each)[4:7], c(".probability", ".prob_cat", ".prob_dog", ".prob_eel"))
  expect_equal(each$.probability, do.call(pmax, unname(as.list(each[5:7]))))
  expect_equal(sigma(family_fit("laplace")), 1)
  expect_equal(sigma(family_fit("student")), 1)
})

test_that("an approximation of the evidence is called one", {
  d <- family_data("binomial")
  fit <- galvi(y ~ x, data = d, family = binomial(), expectation = "taylor", method = "fixed_point",
    hyper = "fixed")
  expect_output(print(fit), "log evidence: about")
  expect_output(print(logLik(fit)), "not a bound")
})

test_that("starts say whether they agree", {
  starts <- data.frame(start = 1:2, elbo = c(-10, -10 - 1e-6), converged = TRUE)
  expect_true(starts_agree(starts))
  expect_match(starts_words(starts, TRUE), "the same bound")
  starts$elbo[2] <- -12
  expect_false(starts_agree(starts))
  expect_match(starts_words(starts, FALSE), "do not agree.*-10, -12")
  expect_identical(starts_agree(NULL), NA)
})

test_that("Pearson residuals of counts of trials are in standard deviations of the counts", {
  set.seed(7)
  d <- data.frame(x = rnorm(60), g = factor(rep(1:6, 10)), n = 14)
  d$k <- rbinom(60, d$n, plogis(d$x + rnorm(6, 0, 0.7)[d$g]))
  fits <- list(
    points = galvi(cbind(k, n - k) ~ x, d, beta_binomial()),
    groups = galvi(cbind(k, n - k) ~ x + (1 | g), d, binomial()),
    states = galvi(cbind(k, n - k) ~ gp(x) + (1 | g), d, binomial(), hyper = "integrate"),
    one = galvi(cbind(k, n - k) ~ x + (1 | g), d, binomial(), control = galvi_control(uncertainty = "factorised")),
    overdispersed = galvi(cbind(k, n - k) ~ x + (1 | g), d, beta_binomial())
  )
  expect_true(has_points(fits$points) && length(fits$states$states) > 1L)
  for (fit in fits) {
    spread <- apply(rstantools::posterior_predict(fit, ndraws = 4000L), 2L, stats::sd) / d$n
    implied <- (d$k / d$n - fitted(fit)) / residuals(fit, "pearson")
    expect_close(implied / spread, rep(1, 60L), 0.1)
  }
  expect_close(mean(residuals(galvi(cbind(k, n - k) ~ x, d, binomial()), "pearson")^2),
    mean(residuals(glm(cbind(k, n - k) ~ x, binomial(), d), "pearson")^2), 0.1)
})
