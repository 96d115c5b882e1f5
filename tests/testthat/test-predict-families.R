# What is promised of predictions, for every family there is.

skip_on_cran()

new_rows <- function() data.frame(x = c(-2, 0.3, 1.4), row.names = c("a", "b", "c"))

types_of <- function(name) {
  types <- c("response", "link", "terms", "density")
  classes <- name %in% class_families
  c(types, if (!classes) "quantile", if (classes || name == "binomial") c("prob", "class"))
}

test_that("the observations and new rows are predicted alike, of every type, and so after saveRDS()", {
  for (name in family_names()) {
    fit <- family_fit(name)
    file <- local_file()
    saveRDS(fit, file)
    again <- readRDS(file)
    for (type in types_of(name)) {
      whole <- predict(fit, type = type)
      what <- paste(name, type)
      expect_equal(predict(fit, family_data(name), type = type), whole, tolerance = 1e-6, label = what)
      expect_identical(predict(again, type = type), whole, label = what)
      one <- predict(fit, family_data(name)[7, ], type = type)
      expected <- if (length(dim(whole)) == 3L) whole[7, , , drop = FALSE] else
        if (is.matrix(whole)) whole[7, , drop = FALSE] else whole[7]
      expect_equal(one, expected, tolerance = 1e-6, ignore_attr = "constant", label = what)
    }
  }
})

test_that("probabilities of classes add up to one, carry the levels and decide the class", {
  for (name in class_families) {
    fit <- family_fit(name)
    for (data in list(NULL, new_rows())) {
      p <- predict(fit, data, type = "prob", se.fit = TRUE)
      expect_lt(max(abs(rowSums(p$fit) - 1)), 1e-12)
      expect_identical(colnames(p$fit), response_levels(fit))
      expect_true(all(p$fit > 0 & p$se.fit > 0 & p$se.fit < 0.5))
      expect_identical(dim(p$se.fit), dim(p$fit))
      expect_equal(predict(fit, data), p$fit)
      class <- predict(fit, data, type = "class")
      expect_identical(as.vector(class), colnames(p$fit)[max.col(p$fit)])
      expect_identical(is.ordered(class), name %in% ordinal_families)
      expect_named(class, rownames(p$fit))
    }
    y <- fit$data$y
    expect_equal(exp(predict(fit, type = "density")),
      predict(fit, type = "prob")[cbind(seq_along(y), as.integer(y))], ignore_attr = TRUE, tolerance = 1e-8)
  }
})

test_that("probabilities and their sds are what draws of the latents give", {
  set.seed(12)
  draws <- 2e5
  for (name in class_families) {
    fit <- family_fit(name)
    link <- predict(fit, new_rows(), type = "link", se.fit = TRUE)
    p <- predict(fit, new_rows(), type = "prob", se.fit = TRUE)
    mean <- as.matrix(link$fit)[2, ]
    sd <- as.matrix(link$se.fit)[2, ]
    between <- latent_marginals(fit, new_target(fit, new_rows()))$between
    V <- if (is.null(between)) diag(sd^2, length(sd)) else between[2, , ]
    eta <- matrix(rnorm(draws * length(mean)), draws) %*% chol(V) + rep(mean, each = draws)
    each <- switch(name,
      cumulative = {
        upto <- plogis(outer(-eta[, 1], c(-1, 0.5), "+"))
        cbind(upto[, 1], upto[, 2] - upto[, 1], 1 - upto[, 2])
      },
      sratio = , cratio = , acat = vapply(0:2, function(y) {
        exp(default_twin(name)$log_density(y, eta[, 1], 1, c(-1, 0.5)))
      }, numeric(draws)),
      categorical = exp(eta) / rowSums(exp(eta)),
      stick_breaking = cbind(plogis(eta[, 1]), plogis(-eta[, 1]) * plogis(eta[, 2]),
        plogis(-eta[, 1]) * plogis(-eta[, 2]))
    )
    expect_lt(max(abs(colMeans(each) - p$fit[2, ]) / (apply(each, 2, stats::sd) / sqrt(draws))), 4.5)
    expect_equal(apply(each, 2, stats::sd), p$se.fit[2, ], tolerance = 0.02, ignore_attr = TRUE)
  }
})

test_that("several latents have a column each, by name", {
  fit <- family_fit("categorical")
  link <- predict(fit, new_rows(), type = "link", se.fit = TRUE, covariance = TRUE)
  expect_identical(dimnames(link$fit), list(c("a", "b", "c"), c("cat", "dog", "eel")))
  expect_identical(dim(link$se.fit), c(3L, 3L))
  expect_named(link$covariance, c("cat", "dog", "eel"))
  expect_equal(sqrt(diag(link$covariance$dog)), link$se.fit[, "dog"], tolerance = 1e-6)
  terms <- predict(fit, new_rows(), type = "terms", se.fit = TRUE)
  expect_identical(dimnames(terms$fit), list(c("a", "b", "c"), "x", c("cat", "dog", "eel")))
  constant <- rep(attr(terms$fit, "constant"), each = 3)
  expect_equal(as.vector(terms$fit) + constant, as.vector(link$fit), tolerance = 1e-7)
  expect_identical(colnames(predict(family_fit("stick_breaking"), type = "link")), c("cat", "dog"))
})

test_that("coefficients of several latents are class x column in every accessor", {
  fit <- family_fit("categorical")
  beta <- coef(fit)
  expect_identical(dimnames(beta), list(c("cat", "dog", "eel"), c("(Intercept)", "x")))
  names <- c("cat:(Intercept)", "cat:x", "dog:(Intercept)", "dog:x", "eel:(Intercept)", "eel:x")
  expect_identical(rownames(vcov(fit)), names)
  expect_identical(rownames(confint(fit)), names)
  expect_equal(rowMeans(confint(fit)), as.vector(t(beta)), ignore_attr = TRUE)
  expect_identical(rownames(summary(fit)$coefficients), names)
  expect_identical(with(tidy.galvi(fit, "fixed"), paste(y.level, term, sep = ":")), names)
  expect_equal(predict(fit, data.frame(x = 0.5), type = "link"), t(beta %*% c(1, 0.5)), ignore_attr = TRUE,
    tolerance = 1e-6)
  expect_output(print(fit), "eel")
})

test_that("offsets of several latents are predicted, in new rows too", {
  d <- family_data("categorical")
  d$shift <- matrix(c(0, 0, 1), 60, 3, byrow = TRUE)
  fit <- galvi(y ~ x + offset(shift), data = d, family = categorical(), hyper = "fixed")
  expect_equal(predict(fit, d, type = "link"), predict(fit, type = "link"), tolerance = 1e-6)
  more <- d
  more$shift[, 2] <- 2
  expect_equal(unname(predict(fit, more, type = "link") - predict(fit, d, type = "link")),
    unname(more$shift - d$shift), tolerance = 1e-8)
})

test_that("missing values in new rows stay in their places, in matrices too", {
  for (name in c("categorical", "cumulative")) {
    data <- new_rows()
    data$x[2] <- NA
    fit <- family_fit(name)
    prob <- predict(fit, data, type = "prob")
    expect_identical(unname(is.na(prob[, 1])), c(FALSE, TRUE, FALSE))
    expect_identical(unname(is.na(predict(fit, data, type = "class"))), c(FALSE, TRUE, FALSE))
    expect_identical(nrow(predict(fit, data, type = "prob", na.action = na.omit)), 2L)
    expect_identical(dim(predict(fit, data[0, , drop = FALSE], type = "prob")), c(0L, 3L))
  }
})

test_that("a volatility's response is the sd of y", {
  fit <- family_fit("stochastic_volatility")
  link <- predict(fit, new_rows(), type = "link", se.fit = TRUE, interval = "credible")
  m <- link$fit[, "fit"]
  s <- link$se.fit
  response <- predict(fit, new_rows(), se.fit = TRUE, interval = "credible")
  expect_equal(response$fit[, "fit"], exp(m / 2 + s^2 / 4), tolerance = 1e-8)
  expect_equal(response$fit[, c("lwr", "upr")], exp(link$fit[, c("lwr", "upr")] / 2), tolerance = 1e-8)
  sd_of <- function(m, s) {
    moment <- function(k) integrate(function(e) exp(k * e / 2) * dnorm(e, m, s), m - 12 * s, m + 12 * s,
      rel.tol = 1e-10)$value
    sqrt(moment(2) - moment(1)^2)
  }
  expect_equal(response$se.fit, mapply(sd_of, m, s), tolerance = 1e-6)
  new <- predict(fit, new_rows(), interval = "prediction", level = 0.9)
  expect_equal(new[, "lwr"], -new[, "upr"], tolerance = 1e-6)
  inside <- integrate(function(e) (2 * pnorm(new["b", "upr"], 0, exp(e / 2)) - 1) * dnorm(e, m[2], s[2]),
    m[2] - 10 * s[2], m[2] + 10 * s[2])$value
  expect_equal(inside, 0.9, tolerance = 1e-6)
})

test_that("prediction intervals of numbers hold the probability they claim, by the density", {
  for (name in setdiff(family_names(), c(class_families, "binomial"))) {
    fit <- family_fit(name)
    row <- data.frame(x = 0.4)
    limits <- predict(fit, row, interval = "prediction", level = 0.8)[1, c("lwr", "upr")]
    density <- function(y) exp(predict(fit, data.frame(x = 0.4, y = y), type = "density"))
    if (is_discrete(fit)) {
      below <- function(q) sum(density(0:q))
      expect_gte(below(limits[["upr"]]), 0.9)
      if (limits[["upr"]] > 0) expect_lt(below(limits[["upr"]] - 1), 0.9)
    } else {
      # a density by points has as many kinks as points, and quantiles take some hundred of these
      rough <- !is.null(fit$points)
      inside <- integrate(density, limits[["lwr"]], limits[["upr"]], rel.tol = if (rough) 1e-5 else 1e-8)$value
      # a tail may be less than what is at an end with a probability, where the interval then begins, or ends
      at_end <- limits %in% family_type(fit$family)$point
      masses <- vapply(limits[at_end], function(y) unname(density(y)), 0)
      expect_equal(inside + sum(masses), 0.8 + 0.1 * sum(at_end), tolerance = if (rough) 1e-3 else 1e-5, label = name)
    }
    credible <- predict(fit, row, interval = "credible")[1, ]
    expect_true(credible[["lwr"]] < credible[["fit"]] && credible[["fit"]] < credible[["upr"]], label = name)
  }
})

test_that("what classes cannot have is refused in words", {
  fit <- family_fit("categorical")
  ordinal <- family_fit("cumulative")
  expect_error_snapshot({
    predict(fit, interval = "credible")
    predict(ordinal, interval = "prediction")
    predict(fit, type = "link", interval = "credible")
    predict(ordinal, type = "quantile")
    predict(fit, data.frame(x = 1, y = "fox"), type = "density")
    predict(ordinal, data.frame(x = 1, y = "fox"), type = "density")
    predict(fit, data.frame(x = 1), type = "density")
    residuals(fit)
    residuals(ordinal, "pearson")
    residuals(family_fit("stochastic_volatility"), "deviance")
    residuals(galvi(y ~ x, family_data("student"), student(fixed(2)), hyper = "fixed"), "pearson")
  })
  limits <- predict(ordinal, new_rows(), type = "link", interval = "credible")
  expect_identical(colnames(limits), c("fit", "lwr", "upr"))
})

test_that("thresholds alone predict new rows", {
  d <- data.frame(y = c(1, 2, 2, 3, 3, 3))
  # at their mode, without which the mean over them is not that of six rows
  fit <- galvi(y ~ 1, d, family = cumulative(), control = galvi_control(threads = 1, uncertainty = "factorised"))
  expect_close(predict(fit, d[1:2, , drop = FALSE], type = "prob"), rep(c(1, 2, 3) / 6, each = 2), tol$optimum)
  expect_identical(predict(fit, d, type = "link", se.fit = TRUE), predict(fit, type = "link", se.fit = TRUE))
})

test_that("the sd of a volatility is a number where eta is very uncertain", {
  eta <- list(mean = cbind(c(0, -3000)), variance = cbind(c(0.5, 4000)))
  sd <- response_sd(family_fit("stochastic_volatility"), eta)
  expect_close(log(sd), c(0.5 / 8 + log(expm1(0.5 / 4)) / 2, -1500 + 1000))
})
