fits <- function() c("gaussian", "binary", "trials", "counts", "flat")

test_that("predict(fit) equals predict(fit, data) for every type", {
  for (name in fits()) {
    fit <- small_fit(name)
    types <- c("response", "link", "terms", "quantile", "density")
    if (!is.null(response_levels(fit))) types <- c(types, "prob", "class")
    for (type in types) {
      expect_equal(predict(fit, small_data(name), type = type), predict(fit, type = type), tolerance = 1e-6,
        label = paste(name, type))
    }
  }
})

test_that("rows are independent of each other, of their order and of their number", {
  for (name in fits()) {
    fit <- small_fit(name)
    data <- small_data(name)
    i <- c(7, 3, 3, 20)
    for (type in c("response", "link")) {
      whole <- predict(fit, data, type = type, se.fit = TRUE)
      part <- predict(fit, data[i, ], type = type, se.fit = TRUE)
      expect_equal(unname(part$fit), unname(whole$fit[i]), tolerance = 1e-8)
      expect_equal(unname(part$se.fit), unname(whole$se.fit[i]), tolerance = 1e-8)
    }
    one <- predict(fit, data[5, ], interval = "prediction")
    expect_equal(one, predict(fit, data, interval = "prediction")[5, , drop = FALSE], tolerance = 1e-8)
  }
})

test_that("predictions carry the row names of newdata", {
  expect_named(predict(small_fit("binary"), mtcars[c("Fiat 128", "Merc 230"), ]), c("Fiat 128", "Merc 230"))
  probabilities <- predict(small_fit("binary"), mtcars[1:2, ], type = "prob")
  expect_identical(rownames(probabilities), rownames(mtcars)[1:2])
})

test_that("rows with missing predictors are NA, left out or refused, as na.action says", {
  fit <- small_fit("binary")
  data <- mtcars[1:6, ]
  data$wt[2] <- NA
  data$hp[5] <- NA
  complete <- predict(fit, mtcars[c(1, 3, 4, 6), ])
  kept <- predict(fit, data)
  expect_length(kept, 6L)
  expect_identical(which(is.na(kept)), c(`Mazda RX4 Wag` = 2L, `Hornet Sportabout` = 5L))
  expect_equal(kept[!is.na(kept)], complete)
  expect_equal(predict(fit, data, na.action = na.omit), complete)
  expect_error(predict(fit, data, na.action = na.fail), class = "galvi_error_newdata")
  probabilities <- predict(fit, data, type = "prob", se.fit = TRUE)
  expect_identical(unname(is.na(probabilities$fit[, 1])), c(FALSE, TRUE, FALSE, FALSE, TRUE, FALSE))
  expect_identical(is.na(probabilities$se.fit), is.na(probabilities$fit))
  expect_identical(unname(is.na(predict(fit, data, type = "class"))), unname(is.na(kept)))
  expect_s3_class(predict(fit, data, type = "class"), "factor")
  covariance <- predict(fit, data, type = "link", covariance = TRUE)$covariance
  expect_identical(dim(covariance), c(6L, 6L))
  expect_true(all(is.na(covariance[2, ])) && all(is.na(covariance[, 5])))
  terms <- predict(fit, data, type = "terms")
  expect_identical(nrow(terms), 6L)
  expect_false(is.null(attr(terms, "constant")))
  all_missing <- data
  all_missing$wt <- NA_real_
  expect_true(all(is.na(predict(fit, all_missing))))
})

test_that("newdata without rows gives predictions without rows", {
  fit <- small_fit("binary")
  expect_length(predict(fit, mtcars[0, ]), 0L)
  expect_identical(dim(predict(fit, mtcars[0, ], type = "prob")), c(0L, 2L))
  expect_identical(dim(predict(fit, mtcars[0, ], interval = "credible")), c(0L, 3L))
})

test_that("gaussian predictions are the textbook's", {
  fit <- small_fit("gaussian")
  new <- data.frame(speed = c(2, 11.5, 40))
  K <- function(a, b) 600 * exp(-outer(a, b, "-")^2 / (2 * 64)) + prior_sd^2
  prior_sd <- fit$prior[["(Intercept)"]]$sd
  prior_mean <- fit$prior[["(Intercept)"]]$mean
  A <- solve(K(cars$speed, cars$speed) + diag(230, 50))
  mean <- prior_mean + K(new$speed, cars$speed) %*% A %*% (cars$dist - prior_mean)
  V <- K(new$speed, new$speed) - K(new$speed, cars$speed) %*% A %*% K(cars$speed, new$speed)
  link <- predict(fit, new, type = "link", se.fit = TRUE, covariance = TRUE)
  expect_equal(unname(link$fit), as.vector(mean), tolerance = 1e-7)
  expect_equal(unname(link$covariance), V, tolerance = 1e-5)
  expect_equal(unname(link$se.fit), sqrt(diag(V)), tolerance = 1e-5)
  z <- qnorm(0.9)
  wide <- predict(fit, new, interval = "prediction", level = 0.8)
  expect_equal(unname(wide[, "upr"] - wide[, "fit"]), z * sqrt(diag(V) + 230), tolerance = 1e-5)
  narrow <- predict(fit, new, interval = "credible", level = 0.8)
  expect_equal(unname(narrow[, "fit"] - narrow[, "lwr"]), z * sqrt(diag(V)), tolerance = 1e-5)
  expect_equal(unname(predict(fit, cbind(new, dist = 50), type = "density")),
    dnorm(50, as.vector(mean), sqrt(diag(V) + 230), log = TRUE), tolerance = 1e-6)
  expect_equal(predict(fit, new, type = "quantile", probs = 0.5)[, 1], link$fit, tolerance = 1e-6)
})

test_that("probabilities integrate over the posterior and agree with each other", {
  fit <- small_fit("binary")
  link <- predict(fit, type = "link", se.fit = TRUE)
  expected <- mapply(function(m, s) integrate(function(e) plogis(e) * dnorm(e, m, s), m - 10 * s, m + 10 * s,
    rel.tol = 1e-10)$value, link$fit, link$se.fit)
  response <- predict(fit, se.fit = TRUE)
  expect_equal(response$fit, expected, tolerance = 1e-7)
  prob <- predict(fit, type = "prob", se.fit = TRUE)
  expect_identical(colnames(prob$fit), c("0", "1"))
  expect_equal(rowSums(prob$fit), setNames(rep(1, 32), rownames(mtcars)))
  expect_equal(prob$fit[, "1"], response$fit)
  expect_equal(prob$se.fit[, "0"], response$se.fit)
  class <- predict(fit, type = "class")
  expect_s3_class(class, "factor")
  expect_identical(levels(class), c("0", "1"))
  expect_identical(unname(class == "1"), unname(response$fit > 0.5))
  density <- predict(fit, type = "density")
  expect_equal(exp(density), ifelse(mtcars$am == 1, response$fit, 1 - response$fit), tolerance = 1e-7,
    ignore_attr = TRUE)
})

test_that("credible limits of the mean are those of eta, transformed", {
  for (name in c("binary", "counts")) {
    fit <- small_fit(name)
    link <- predict(fit, type = "link", interval = "credible", level = 0.9)
    mean <- predict(fit, interval = "credible", level = 0.9)
    expect_equal(mean[, c("lwr", "upr")], fit$family$linkinv(link[, c("lwr", "upr")]), tolerance = 1e-7)
    expect_true(all(mean[, "lwr"] < mean[, "fit"] & mean[, "fit"] < mean[, "upr"]))
  }
})

test_that("quantiles and prediction intervals of counts have the probability they claim", {
  fit <- small_fit("counts")
  new <- spray_table()[c(1, 30, 60), ]
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  cdf <- function(y) mapply(function(y, m, s) {
    integrate(function(e) ppois(y, exp(e)) * dnorm(e, m, s), m - 9 * s, m + 9 * s, rel.tol = 1e-10)$value
  }, y, link$fit, link$se.fit)
  q <- predict(fit, new, type = "quantile", probs = c(0.1, 0.6))
  expect_identical(colnames(q), c("10%", "60%"))
  expect_true(all(cdf(q[, 2]) >= 0.6) && all(cdf(q[, 2] - 1) < 0.6))
  interval <- predict(fit, new, interval = "prediction")
  expect_equal(interval[, c("lwr", "upr")], predict(fit, new, type = "quantile", probs = c(0.025, 0.975)),
    ignore_attr = TRUE)
  mass <- function(y) exp(predict(fit, transform(new, count = y), type = "density"))
  expect_equal(rowSums(vapply(0:150, mass, numeric(3))), rep(1, 3), tolerance = 1e-7, ignore_attr = TRUE)
})

test_that("offsets count, in newdata too", {
  fit <- small_fit("counts")
  new <- spray_table()[1:3, ]
  double <- transform(new, size = 2 * size)
  link <- predict(fit, new, type = "link")
  expect_equal(predict(fit, double, type = "link"), link + log(2), tolerance = 1e-10)
  expect_equal(predict(fit, double), 2 * predict(fit, new), tolerance = 1e-8)
  expect_error(predict(fit, new["spray"]), class = "galvi_error_newdata")
})

test_that("terms add up to eta, and are predict.glm()'s where the priors are flat", {
  for (name in fits()) {
    fit <- small_fit(name)
    terms <- predict(fit, type = "terms", se.fit = TRUE)
    expect_equal(unname(rowSums(terms$fit)) + attr(terms$fit, "constant") + as.vector(fit$model$offset),
      unname(predict(fit, type = "link")), tolerance = 1e-7)
    expect_identical(dim(terms$fit), dim(terms$se.fit))
    expect_true(all(terms$se.fit >= 0))
  }
  expect_identical(colnames(predict(small_fit("binary"), type = "terms")), c("wt", "gp(hp, qsec)"))

  fit <- galvi(weight ~ group, data = PlantGrowth, family = galvi_family("gaussian", variance = fixed(0.4)),
    prior = list(intercept = normal(0, 1e4), default = normal(0, 1e4)))
  reference <- predict(lm(weight ~ group, data = PlantGrowth), PlantGrowth[c(1, 15, 29), ], type = "terms")
  expect_equal(predict(fit, PlantGrowth[c(1, 15, 29), ], type = "terms"), reference, tolerance = 1e-5)
})

test_that("successes in trials are predicted as probabilities", {
  fit <- small_fit("trials")
  p <- predict(fit)
  expect_true(all(p > 0 & p < 1))
  limits <- predict(fit, esoph_table(), interval = "prediction")
  expect_true(all(limits[, "lwr"] >= 0 & limits[, "upr"] <= 1))
})

# Deaths of budworms at six doses, Collett (1991).
budworms <- function() {
  dead <- c(1, 4, 9, 13, 18, 20, 0, 2, 6, 10, 12, 16)
  data.frame(ldose = rep(0:5, 2), dead = dead, sex = gl(2, 6, labels = c("M", "F")), n = 20)
}

test_that("new responses have the trials of `newdata`, which needs no response for them", {
  known <- galvi(cbind(dead, n - dead) ~ sex + ldose, budworms(), binomial())
  new <- data.frame(sex = "M", ldose = c(2, 3), n = c(20, 7))
  whole <- transform(new, dead = 1)
  wanted <- predict(known, whole, interval = "prediction")
  k <- 20
  fits <- list(
    galvi(dead | trials(n) ~ sex + ldose, budworms(), binomial()),
    galvi(dead | trials(n) + weights(n / 20) ~ sex + ldose, budworms(), binomial()),
    galvi(dead / n ~ sex + ldose, budworms(), binomial(), weights = n)
  )
  for (fit in fits) {
    unit <- if (is.matrix(model.response(fit$data))) 1 else new$n
    expect_equal(predict(fit, new, interval = "prediction"), wanted)
    # a response that is missing or another one says nothing of them
    expect_equal(predict(fit, transform(new, dead = c(NA, 3)), interval = "prediction"), wanted)
    expect_equal(predict(fit, new, type = "quantile"), predict(known, whole, type = "quantile") / unit)
    expect_equal(predict(fit, new[1, ], type = "cdf", q = 9 / unit[1]), predict(known, whole[1, ], type = "cdf", q = 9),
      ignore_attr = TRUE)
    mean <- colMeans(posterior_predict.galvi(fit, newdata = new, ndraws = 2000))
    expect_close(mean, new$n * unname(wanted[, "fit"]), 0.3)
    drawn <- simulate(fit, 1, seed = 1, newdata = new)$sim_1
    expect_equal(if (is.matrix(drawn)) rowSums(drawn) else round(drawn * new$n) / drawn, new$n)
    without <- function() unname(predict(fit, new[-3], type = "quantile", probs = 0.99)[, 1])
    some <- predict(fit, transform(new, n = c(NA, 7)), interval = "prediction")
    one <- predict(fit, transform(new, n = c(1, 7)), interval = "prediction")
    if (is.matrix(model.response(fit$data))) {
      expect_error(without(), "`trials\\(n\\)`.*need `n`", class = "galvi_error_newdata")
      expect_equal(some, replace(one, 1:2 == 1L, NA))
    } else {
      # one trial, where weights do not say how many
      expect_identical(without(), c(1, 1))
      expect_equal(some, one)
    }
    expect_error(predict(fit, transform(new, n = 2.5), interval = "prediction"), "`n` must be whole numbers from 0",
      class = "galvi_error_newdata")
  }
  for (fit in list(galvi(dead | trials(20) ~ sex + ldose, budworms(), binomial()),
    galvi(dead | trials(k) ~ sex + ldose, budworms(), binomial()))) {
    expect_equal(predict(fit, new[1, -3], interval = "prediction"), wanted[1, , drop = FALSE])
  }
  expect_identical(unname(predict(known, new, type = "quantile", probs = 0.99)[, 1]), c(1, 1))
  wide <- galvi(dead | trials(n) ~ sex + ldose, budworms(), beta_binomial())
  expect_equal(predict(wide, new, type = "quantile"), predict(wide, whole, type = "quantile"))
  expect_gt(predict(wide, new, type = "quantile")[1, 2], 5)
})

test_that("a factor response gives its levels", {
  d <- transform(mtcars, gears = factor(ifelse(am == 1, "manual", "automatic")))
  fit <- galvi(gears ~ wt, data = d, family = binomial(), hyper = "fixed")
  expect_identical(colnames(predict(fit, type = "prob")), c("automatic", "manual"))
  expect_identical(levels(predict(fit, type = "class")), c("automatic", "manual"))
  expect_equal(predict(fit), predict(fit, type = "prob")[, "manual"])
})

test_that("na.exclude pads predictions for the observations", {
  d <- mtcars
  d$wt[3] <- NA
  fit <- galvi(mpg ~ wt, data = d, hyper = "fixed", na.action = na.exclude)
  expect_length(predict(fit), 32L)
  expect_true(is.na(predict(fit)[3]) && is.na(residuals(fit)[3]) && is.na(fitted(fit)[3]))
  expect_identical(nobs(fit), 31L)
  omitting <- galvi(mpg ~ wt, data = d, hyper = "fixed")
  expect_length(predict(omitting), 31L)
})

test_that("what cannot be predicted is refused in words", {
  fit <- small_fit("binary")
  d <- small_fit("gaussian")
  expect_error_snapshot({
    predict(fit, type = "probs")
    predict(d, type = "class")
    predict(fit, type = "prob", interval = "prediction")
    predict(fit, type = "link", interval = "prediction")
    predict(fit, type = "class", se.fit = TRUE)
    predict(fit, covariance = TRUE)
    predict(fit, level = 95)
    predict(fit, type = "quantile", probs = c(0, 1))
    predict(fit, mtcars, types = "link")
    predict(fit, list(1))
    predict(fit, mtcars[c("wt", "hp")])
    predict(fit, mtcars[c("wt", "hp", "qsec")], type = "density")
  })
})

test_that("unknown levels and wrong types in newdata are errors", {
  fit <- small_fit("counts")
  expect_error(predict(fit, data.frame(spray = "Z", size = 1)), "Z", class = "galvi_error_newdata")
  expect_error(predict(small_fit("gaussian"), data.frame(speed = "fast")), class = "galvi_error_newdata")
  expect_error(predict(small_fit("gaussian"), data.frame(spd = 1)), "speed", class = "galvi_error_newdata")
})

test_that("variables that depend on which rows there are warn where these are not those of the fit", {
  set.seed(1)
  d <- data.frame(x = rnorm(30, 5))
  d$y <- d$x + rnorm(30)
  fit <- galvi(y ~ I(x - mean(x)), d)
  for (n in 1:2) {
    expect_warning(predict(fit, d[seq_len(n), , drop = FALSE]), "`I\\(x - mean\\(x\\)\\)` is computed from all rows.*scale\\(x",
                   class = "galvi_warning_newdata")
  }
  expect_no_warning(all_rows <- predict(fit, d))
  expect_equal(all_rows, fitted(fit))
  # data in order: the first rows have the smallest value, and lack levels
  d <- data.frame(year = rep(2001:2010, each = 3), g = rep(c("a", "b", "c"), each = 10), y = rnorm(30), x = rnorm(30, 5))
  since <- galvi(y ~ I(year - min(year)), d)
  expect_warning(predict(since, data.frame(year = 2011:2012)), class = "galvi_warning_newdata")
  levels <- galvi(y ~ relevel(factor(g), ref = "c"), d)
  expect_no_warning(three <- predict(levels, d[c(1, 15, 30), ]))
  expect_equal(three, fitted(levels)[c(1, 15, 30)])
  d$y <- d$x + rnorm(30)
  kept <- galvi(y ~ scale(x, scale = FALSE) + poly(x, 2) + log(x) + cut(x, c(0, 5, 9)) + I(x > 5), d)
  expect_no_warning(two <- predict(kept, d[1:2, , drop = FALSE]))
  expect_equal(two, fitted(kept)[1:2])
})

test_that("every registered type is predicted or refused, and none is missing from the help page", {
  expect_setequal(names(predict_types()), eval(formals(predict.galvi)$type))
})

test_that("numbers that name groups may be text or a factor in newdata", {
  skip_if_not_installed("MASS")
  epil <- MASS::epil
  at <- function(...) data.frame(trt = "placebo", base = 10, ...)
  fit <- galvi(y ~ trt + log(base) + (1 | subject), epil, poisson(), hyper = "fixed")
  known <- predict(fit, at(subject = 2))
  for (subject in list("2", factor(2), factor(2, 1:5))) expect_identical(predict(fit, at(subject = subject)), known)
  expect_identical(predict(fit, at(subject = "new")), predict(fit, at(subject = 999)))
  expect_error(predict(fit, at(subject = "new"), allow.new.levels = FALSE), "allow.new.levels", class = "galvi_error")
  expect_true(is.na(predict(fit, at(subject = NA_character_))))
  nested <- galvi(y ~ trt + (base | subject/period), epil, poisson(), hyper = "fixed")
  expect_identical(predict(nested, at(subject = "2", period = "1")), predict(nested, at(subject = 2, period = 1)))
  # also numbers
  for (formula in list(y ~ subject + (1 | subject), y ~ log(subject) + (1 | subject), y ~ (subject | base) + (1 | subject),
                       y ~ offset(subject / 100) + (1 | subject))) {
    fit <- galvi(formula, epil, poisson(), hyper = "fixed")
    expect_error(predict(fit, at(subject = "2")), class = "galvi_error_newdata")
  }
})

test_that("new responses without weights are said to have the weight 1", {
  fit <- galvi(mpg ~ wt, mtcars, weights = hp)
  expect_message(predict(fit, data.frame(wt = 3), interval = "prediction"), "hp", class = "galvi_message_weights")
  expect_no_message(predict(fit, data.frame(wt = 3, hp = 100), interval = "prediction"))
  expect_no_message(predict(fit, data.frame(wt = 3), interval = "credible"))
})

test_that("new responses without trials are said to be of one trial", {
  d <- data.frame(x = 1:20, s = rep(c(3, 5), 10), n = 9)
  said <- function(fit, what) {
    expect_message(predict(fit, data.frame(x = 3), interval = "prediction"), what, fixed = TRUE,
      class = "galvi_message_weights")
    expect_no_message(predict(fit, data.frame(x = 3, s = 3, n = 9), interval = "prediction"))
    expect_no_message(predict(fit, data.frame(x = 3)))
  }
  said(galvi(cbind(s, n - s) ~ x, d, binomial()), "`cbind(s, n - s)`")
  said(galvi(s / n ~ x, d, binomial(), weights = n), "`n`")
  expect_no_message(predict(galvi(s == 3 ~ x, d, binomial()), data.frame(x = 3), interval = "prediction"))
})
