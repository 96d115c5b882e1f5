# Counts of several classes: a matrix as the response of categorical().

class_counts <- function(n = 30, seed = 1) {
  set.seed(seed)
  d <- data.frame(x = rnorm(n), g = factor(rep(1:5, length.out = n)))
  P <- softmax(cbind(a = 0, b = 0.5 + d$x, c = -0.5 * d$x))
  d$Y <- t(vapply(seq_len(n), function(i) rmultinom(1, sample(0:12, 1), P[i, ])[, 1], numeric(3)))
  d$Y[1, ] <- c(900, 3, 200)
  d$Y[2, ] <- 0
  colnames(d$Y) <- c("a", "b", "c")
  d
}

# One row for each class of each row, weighted by its count.
expanded <- function(d) {
  long <- data.frame(
    d[rep(seq_len(nrow(d)), 3), c("x", "g")], y = factor(rep(colnames(d$Y), each = nrow(d))), w = as.vector(d$Y)
  )
  long[long$w > 0, ]
}

arrangements <- function(Y) sum(lgamma(rowSums(Y) + 1) - rowSums(lgamma(Y + 1)))

test_that("counts are as many rows of one trial, by every expectation", {
  d <- class_counts()
  long <- expanded(d)
  for (family in list(categorical(), categorical(refcat = "b"))) {
    for (expectation in c("quadrature", "log", "bouchard")) {
      fit_to <- function(formula, data, ...) {
        # the default prior of the intercept is that at the means over rows, which are others
        galvi(formula, data, family, ..., prior = list(intercept = normal(0, 10), default = normal(0, 3)),
              expectation = expectation, hyper = "fixed",
              # weighted points are drawn for each of the two
              control = galvi_control(tol = 1e-13, uncertainty = "factorised"))
      }
      counts <- suppressWarnings(fit_to(Y ~ x + iid(g), d))
      rows <- suppressWarnings(fit_to(y ~ x + iid(g), long, weights = w))
      expect_close(counts$elbo - arrangements(d$Y), rows$elbo, 1e-10)
      # without a reference one direction is known from the prior alone: the root of what tol leaves of the bound
      expect_close(coef(counts), coef(rows), 1e-6)
      expect_close(vcov(counts), vcov(rows), 1e-8)
    }
  }
})

test_that("methods agree on counts, and two classes are binomial", {
  d <- class_counts()
  fits <- lapply(c("newton", "fixed_point", "natural_gradient", "incremental"), function(method) {
    galvi(Y ~ x, d, categorical(refcat = "a"), method = method)
  })
  for (fit in fits) expect_close(fit$elbo, fits[[1]]$elbo, tol$elbo)
  by_log <- galvi(Y ~ x, d, categorical(refcat = "a"), expectation = "log")
  expect_close(update(by_log, method = "dual")$elbo, by_log$elbo, tol$elbo)
  one <- galvi(Y[, 1:2] ~ x, d, categorical(refcat = "a"), prior = normal(0, 2))
  other <- galvi(Y[, 2:1] ~ x, d, binomial(), prior = normal(0, 2))
  expect_close(one$elbo, other$elbo, tol$elbo)
  expect_close(as.vector(coef(one)), unname(coef(other)), tol$optimum)
  some <- d[rowSums(d$Y[, 1:2]) > 0, ]
  expect_close(predict(one, some, type = "density"), predict(other, some, type = "density"), 1e-6)
})

test_that("estimates are those of multinom, and predictions sums over the posterior", {
  skip_if_not_installed("nnet")
  d <- class_counts(60)
  fit <- galvi(Y ~ x, d[-2, ], categorical(refcat = "a"), prior = normal(0, 1e3))
  some <- rowSums(d$Y) > 0
  theirs <- nnet::multinom(Y ~ x, d[some, ], trace = FALSE)
  expect_lt(max(abs(coef(fit) - coef(theirs)) / summary(theirs)$standard.errors), 0.3)
  expect_identical(dim(predict(fit, d[1:4, ])), c(4L, 3L))
  expect_close(rowSums(predict(fit)), rep(1, 59))
  # the density is the mean over both latents
  z <- seq(-8, 8, by = 0.1)
  w <- outer(dnorm(z), dnorm(z)) * 0.01
  for (n in c(1, 3, 5)) {
    m <- drop(predict(fit, d[-2, ][n, ], type = "link"))
    own <- c(1, d$x[-2][n])
    root <- t(chol(matrix(c(
      own %*% vcov(fit)[1:2, 1:2] %*% own, own %*% vcov(fit)[1:2, 3:4] %*% own,
      own %*% vcov(fit)[3:4, 1:2] %*% own, own %*% vcov(fit)[3:4, 3:4] %*% own
    ), 2)))
    grid <- m + root %*% rbind(rep(z, length(z)), rep(z, each = length(z)))
    p <- softmax(cbind(0, grid[1, ], grid[2, ]))
    y <- d$Y[-2, ][n, ]
    log_p <- lgamma(sum(y) + 1) - sum(lgamma(y + 1)) + drop(log(p) %*% y)
    direct <- max(log_p) + log(sum(w * exp(log_p - max(log_p))))
    expect_close(predict(fit, d[-2, ][n, ], type = "density"), direct, 1e-8)
  }
})

test_that("residuals, simulations, loo and plots know counts", {
  d <- class_counts()
  fit <- galvi(Y ~ x, d, categorical(refcat = "a"))
  share <- d$Y / pmax(rowSums(d$Y), 1)
  expect_close(residuals(fit)[-2, ], (share - predict(fit))[-2, ])
  expect_identical(dim(residuals(fit, "pearson")), dim(d$Y))
  expect_true(all(is.finite(residuals(fit, "deviance"))))
  expect_error(residuals(fit, "quantile"), "counts of classes", class = "galvi_error_argument")
  drawn <- simulate(fit, 20, seed = 3)
  expect_identical(unname(rowSums(drawn$sim_1)), unname(rowSums(d$Y)))
  expect_identical(colnames(drawn$sim_1), colnames(d$Y))
  total <- Reduce(`+`, drawn) / 20
  expect_close(total[1, ], rowSums(d$Y)[1] * predict(fit)[1, ], 0.2)
  expect_equal(
    suppressWarnings(loo::loo(fit))$pointwise[5, "elpd_loo"][[1]],
    predict(update(fit, data = d[-5, ]), d[5, ], type = "density")[[1]], tolerance = 0.05
  )
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_true(length(plot(fit)) > 0)
  expect_true(all(plot(fit, "calibration", newdata = d)$n > 0))
  expect_identical(as.character(predict(fit, type = "class")[1]), "a")
  saved <- unserialize(serialize(fit, NULL))
  expect_identical(predict(saved, d), predict(fit, d))
})

test_that("counts that are none say so", {
  d <- class_counts()
  error <- function(Y, message, family = categorical()) {
    d$Y <- Y
    expect_error(galvi(Y ~ x, d, family), message, class = "galvi_error_response")
  }
  error(d$Y + 0.5, "whole numbers from 0; row 1")
  error(-d$Y, "row 1 has -900")
  error(cbind(d$Y[, 1:2], z = 0), "no counts of the class \"z\"")
  error(`colnames<-`(d$Y, c("a", "a", "b")), "two columns named a")
  error(d$Y, "a class per row", stick_breaking())
  fit <- galvi(Y ~ x, d, categorical())
  d$Y <- d$Y[, 3:1]
  expect_error(predict(fit, d, type = "density"), "columns", class = "galvi_error_newdata")
})

test_that("classes with groups have the exact posterior, not that of independent classes", {
  set.seed(3)
  d <- data.frame(g = factor(rep(1:8, each = 6)))
  P <- softmax(cbind(a = 0, b = 0.5 + rnorm(8)[d$g], c = -0.3 + rnorm(8)[d$g]))
  d$y <- factor(apply(P, 1, function(p) sample(c("a", "b", "c"), 1, prob = p)))
  fit <- function(...) {
    galvi(y ~ (1 | g), d, categorical(refcat = "a"), prior = list(intercept = normal(0, 2)), hyper = "fixed",
      start = c("iid(g).variance" = 1), ...)
  }
  coupled <- fit()
  # given both intercepts groups are independent, with two effects each
  nodes <- seq(-6, 6, 0.5)
  u <- expand.grid(b = nodes, c = nodes)
  weight <- dnorm(u$b) * dnorm(u$c) * 0.5^2
  counts <- table(d$g, d$y)
  log_evidence <- function(beta) {
    log_p <- log(softmax(cbind(0, beta[1] + u$b, beta[2] + u$c)))
    sum(log(drop(exp(counts %*% t(log_p)) %*% weight))) + sum(dnorm(beta, 0, 2, log = TRUE))
  }
  grid <- as.matrix(expand.grid(seq(-4, 4, 0.2), seq(-4, 4, 0.2)))
  exact <- exp(apply(grid, 1, log_evidence))
  exact <- cov.wt(grid, exact / sum(exact), method = "ML")
  expect_close(as.vector(coef(coupled)), exact$center, 0.03 * sqrt(max(diag(exact$cov))))
  # 4,000 points in 18 dimensions; those of a Markov chain of 20,000 are 0.503 and 0.552, independent classes have 0.470
  # and 0.503
  expect_close(sqrt(diag(unname(vcov(coupled)))), sqrt(diag(exact$cov)), 0.04)
  expect_close(cov2cor(unname(vcov(coupled)))[1, 2], cov2cor(exact$cov)[1, 2], 0.05)
  # what independent classes have
  apart <- fit(control = galvi_control(uncertainty = "factorised"))
  expect_true(all(diag(vcov(apart)) < diag(exact$cov)))
  # questions of all kinds take it
  draws <- as.matrix(coupled)[, 1:2]
  expect_close(cor(draws)[1, 2], cov2cor(exact$cov)[1, 2], 0.1)
  eta <- lapply(coupled$points$coefficients, function(all) {
    t(all[, 1] + all[, 1 + as.integer(d$g)])  # rows x points
  })
  weight <- coupled$points$weight
  density <- (c(1, 0, 0)[d$y] + (d$y == "b") * exp(eta[[1]]) + (d$y == "c") * exp(eta[[2]])) / (1 + exp(eta[[1]]) + exp(eta[[2]]))
  prob <- predict(coupled, type = "prob")
  expect_close(unname(prob[cbind(1:48, as.integer(d$y))]), drop(density %*% weight), tol$fuzz_sum)
  # left out, a row takes its density from the weight of a point; rows whose weights are of few points have other ways
  left_out <- loo::loo(coupled)
  expect_close(left_out$estimates[1, 1], sum(-log((1 / density) %*% weight)), 0.05)
  by_row <- galvi(y ~ (1 | g), d, categorical(refcat = "a"), hyper = "fixed", start = c("iid(g).variance" = 1),
    prior = list(intercept = normal(0, 2)), control = galvi_control(uncertainty = "factorised"))
  expect_lt(abs(left_out$estimates[1, 1] - loo::loo(by_row)$estimates[1, 1]), 1)
})

test_that("a note says where classes differ in the standard deviation that they share", {
  told <- function(seed, J, m, sds) {
    set.seed(seed)
    d <- data.frame(g = gl(J, m))
    P <- softmax(cbind(a = 0, b = 0.5 + rnorm(J, 0, sds[1])[d$g], c = -0.3 + rnorm(J, 0, sds[2])[d$g]))
    d$y <- factor(apply(P, 1, function(p) sample(c("a", "b", "c"), 1, prob = p)), c("a", "b", "c"))
    fit <- suppressMessages(galvi(y ~ (1 | g), d, categorical(refcat = "a")))
    any(grepl("for all classes", vapply(fit$notes, `[[`, "", "text")))
  }
  expect_true(told(1, 40, 12, c(1.6, 0.2)))
  # by a test of level 0.01
  alike <- vapply(1:15, told, NA, J = 12, m = 10, sds = c(0.7, 0.7))
  expect_lte(sum(alike), 2)
})

test_that("classes that are decided one after the other have a joint posterior where they have groups", {
  set.seed(4)
  d <- data.frame(g = gl(8, 12))
  d$y <- factor(sample(c("a", "b", "c"), 96, TRUE, c(0.3, 0.4, 0.3)))
  fit <- function(...) suppressMessages(galvi(...))
  several <- fit(y ~ (1 | g), d, stick_breaking())
  expect_true(uncertainty_method(several) != "factorised")
  expect_close(unname(rowSums(predict(several))), rep(1, 96), tol$fuzz_sum)
})
