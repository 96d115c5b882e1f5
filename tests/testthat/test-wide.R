# The wide form, responses(Y), with missing covariates, columns of several kinds, sources and clusters.

wide_data <- function(n = 40) {
  set.seed(11)
  u <- rnorm(n)
  x <- rnorm(n)
  Y <- data.frame(
    a = 0.5 * x + u + rnorm(n), c = rpois(n, exp(0.5 * u)), o = cut(u + rlogis(n), c(-Inf, -1, 1, Inf), labels = FALSE),
    b = rbinom(n, 1, plogis(u))
  )
  Y$o <- factor(Y$o, ordered = TRUE)
  list(d = data.frame(x = x), Y = Y, u = u)
}

mixed_kinds <- function() list(gaussian(), poisson(), cumulative(), binomial())

quiet_fit <- function(...) suppressWarnings(galvi(..., hyper = "fixed"))

test_that("residuals stay in their cells where a covariate is missing", {
  data <- wide_data()
  Y <- cbind(a = data$Y$a, e = data$u + 1, f = data$u - data$d$x)
  Y[5, 2] <- NA
  d <- data$d
  d$x[c(3, 17)] <- NA
  fits <- lapply(list(na.omit, na.exclude), function(action) {
    galvi(responses(Y) ~ x + factors(1), d, na.action = action)
  })
  for (type in c("response", "pearson", "deviance", "quantile")) {
    expect_identical(residuals(fits[[2]], type), residuals(fits[[1]], type))
  }
  expect_equal(unname(residuals(fits[[2]])), unname(Y - fitted(fits[[2]])), tolerance = 1e-9) # the same subtraction
  expect_identical(is.na(residuals(fits[[2]])), is.na(fitted(fits[[2]]) + Y), ignore_attr = TRUE)
  expect_identical(hatvalues(fits[[2]]), hatvalues(fits[[1]]))
  expect_identical(is.na(hatvalues(fits[[2]])), is.na(residuals(fits[[2]])))
  expect_identical(is.na(weights(fits[[2]])), is.na(residuals(fits[[2]])))
  expect_identical(rownames(loo.galvi(fits[[1]])$pointwise)[c(1, 3)], c("1:a", "4:a"))
})

test_that("columns of several kinds have predictions, draws, residuals and R squared of their own", {
  data <- wide_data()
  fit <- quiet_fit(responses(data$Y) ~ x + factors(1), data$d, family = mixed_kinds())
  one <- predict(fit, se.fit = TRUE)
  prob <- predict.galvi(part_view(long_view(fit), 3L), fit$data[fit$data$.item == "o", ], type = "prob")
  expect_equal(unname(one$fit[, "o"]), unname(drop(prob %*% 1:3)), tolerance = 1e-12) # the same sums
  expect_true(all(one$se.fit > 0))
  # moments of many draws: Monte Carlo error of 4,000 draws
  draws <- posterior_epred.galvi(fit, ndraws = 4000)
  expect_lt(max(abs(colMeans(draws) - c(one$fit)) / c(one$se.fit)), 5 / sqrt(4000))
  expect_lt(max(abs(apply(draws, 2, sd) / c(one$se.fit) - 1)), 0.12)
  y <- posterior_predict.galvi(fit, ndraws = 200)
  of <- function(column) as.vector(y[, fit$data$.item == column])
  expect_setequal(of("o"), 1:3)
  expect_setequal(of("b"), 0:1)
  expect_true(all(of("c") == round(of("c"))))
  new <- posterior_epred.galvi(fit, newdata = data$d[1:3, , drop = FALSE], ndraws = 5)
  expect_identical(dim(new), c(5L, 12L))
  R2 <- bayes_R2.galvi(fit, ndraws = 100)
  expect_identical(dim(R2), c(100L, 4L))
  expect_identical(colnames(R2), names(data$Y))
  expect_true(all(R2 > 0 & R2 < 1))
  for (type in c("link", "terms", "quantile")) expect_true(all(is.finite(predict(fit, type = type))))
  limits <- predict(fit, interval = "credible")
  expect_true(all(limits[, , "lwr"] < limits[, , "fit"] & limits[, , "fit"] < limits[, , "upr"]))
  new <- predict(fit, interval = "prediction")
  expect_true(all(new[, "o", c("lwr", "upr")] %in% 1:3))
  # P(Y <= q) of levels: none below 1, all at 3
  cdf <- predict(fit, type = "cdf", q = c(0.5, 2, 3))
  expect_equal(unname(cdf[, "o", ]), unname(cbind(0, prob[, 1] + prob[, 2], 1)), tolerance = 1e-12) # the same sums
  expect_identical(dim(predict(fit, type = "cdf", q = 1)), c(40L, 4L, 1L))
  response <- residuals(fit)
  expect_equal(response[, "o"], as.integer(data$Y$o) - one$fit[, "o"], tolerance = 1e-9, ignore_attr = TRUE)
  expect_equal(deviance(fit), sum(residuals(fit, "deviance")^2), tolerance = 1e-12) # the same sum
  expect_error(predict(fit, type = "class"), "Column `a`", class = "galvi_error_argument")
})

test_that("a single ordinal family has terms, draws and classes", {
  data <- wide_data()
  Y <- data.frame(o = data$Y$o, q = rev(data$Y$o))
  fit <- quiet_fit(responses(Y) ~ x + factors(1), data$d, family = cumulative())
  for (type in c("link", "terms", "prob")) expect_true(all(is.finite(predict(fit, type = type))))
  expect_identical(dim(posterior_epred.galvi(fit, ndraws = 3)), c(3L, 80L, 3L))
  expect_setequal(predict(fit, type = "class"), intersect(predict(fit, type = "class"), c("1", "2", "3")))
})

test_that("families with two linear predictors are refused by name", {
  data <- wide_data()
  Y <- cbind(u = data$Y$c, v = rev(data$Y$c))
  for (family in list(zero_inflated(poisson()), hurdle(poisson()), categorical())) {
    expect_error(galvi(responses(Y) ~ factors(1), family = family), "one linear predictor", class = "galvi_error_family")
  }
  expect_error(
    galvi(responses(Y) ~ factors(1), family = list(poisson(), zero_inflated(poisson()))), "column `v`",
    class = "galvi_error_family"
  )
})

test_that("a source of wide rows gives the fit of its data frame; clusters and add_data() say what needs all rows", {
  data <- wide_data()
  d <- cbind(data$d, data$Y[c("a", "c")])
  at <- 0
  chunks <- split(d, rep(1:4, each = 10))
  rows <- function(reset) if (reset) at <<- 0 else if (at < 4) chunks[[at <<- at + 1]]
  fit <- quiet_fit(responses(cbind(a, c)) ~ x + factors(1), rows)
  expect_identical(fitted(fit), fitted(quiet_fit(responses(cbind(a, c)) ~ x + factors(1), d)))
  expect_error(add_data(fit, d), "`factors\\(\\)` needs all rows", class = "galvi_error_method")
  long <- data.frame(y = c(d$a, d$c), item = rep(c("a", "c"), each = 40), unit = rep(1:40, 2))
  rr_fit <- quiet_fit(y ~ 0 + rr(item | unit, 1), long)
  expect_error(add_data(rr_fit, long), "`rr\\(item [|] unit\\)` needs all rows", class = "galvi_error_method")
  expect_error(check_sums(rr_fit$model, "`cluster`"), "Leave `cluster` out", class = "galvi_error_method")
  many <- long[rep(1:80, 700), ]
  many$unit <- seq_len(nrow(many))
  expect_error(galvi(y ~ 0 + rr(item | unit, 1), row_source(many)), "into a data frame", class = "galvi_error_data")
})

test_that("what is said of several columns is a formula that fits", {
  d <- data.frame(x = 1:12)
  d$Y <- cbind(a = sin(1:12), b = cos(3 * (1:12)), c = sin(5 * (1:12)))
  expect_error(galvi(Y ~ x, d), "responses(Y) ~ x + rescor()", fixed = TRUE, class = "galvi_error_response")
  expect_s3_class(suppressMessages(galvi(responses(Y) ~ x + rescor(), d)), "galvi")
  d$Y <- round(exp(d$Y))
  expect_error(galvi(Y ~ x, d, poisson()), "responses(Y) ~ x + factors(1)", fixed = TRUE,
    class = "galvi_error_response")
  expect_s3_class(suppressMessages(galvi(responses(Y) ~ x + factors(1), d, poisson())), "galvi")
})

test_that("plots of responses of several families have linear predictors", {
  set.seed(5)
  d <- data.frame(x = rnorm(40))
  d$a <- rpois(40, exp(0.5 * d$x))
  d$b <- rpois(40, 3)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (formula in c(mvbind(a, b) ~ x + rescor(), mvbind(a, b) ~ 1 + rescor())) {
    fit <- suppressWarnings(galvi(formula, d, list("poisson", "negbinomial"), hyper = "fixed"))
    shown <- plot(fit)
    expect_true(all(is.finite(unlist(lapply(shown, `[[`, "fit")))))
    expect_error(plot(fit, scale = "response"), "several families")
  }
})
