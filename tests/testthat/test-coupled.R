# Classes whose latent values depend on each other in the posterior.

coupled_fit <- function(...) galvi(..., verbose = FALSE)

# Tolerances of this file.
mcmc_sd <- 0.03     # sds against long MCMC: the approximation's own error, and the chain's
multinom_sd <- 0.03 # against maximum likelihood with 400 rows and a flat prior: the likelihood is not quite Gaussian

test_that("standard deviations and covariances are those of long MCMC", {
  # 55,000 steps of MCMC with these priors (bench/coupled-classes.R)
  sds <- c(2.69, 0.876, 2.36, 0.743)
  prior <- list(intercept = normal(0, 10), Sepal.Width = normal(0, 10 / sd(iris$Sepal.Width)))
  fit <- coupled_fit(Species ~ Sepal.Width, iris, categorical(refcat = "setosa"), prior = prior)
  expect_close(sqrt(diag(vcov(fit))) / sds, 1, mcmc_sd)
  expect_close(coef(fit)["versicolor", "(Intercept)"], 17.37, 0.01)
  expect_lt(min(sqrt(diag(vcov(factorised_view(fit)))) / sds), 0.8)  # what the factorised posterior says
  expect_null(narrow_note(fit))
  expect_output(print(summary(fit)), "from a joint posterior of all classes")
})

test_that("they are multinomial ones where rows are many", {
  skip_if_not_installed("nnet")
  d <- family_data("categorical", 400)
  fit <- coupled_fit(y ~ x, d, categorical(refcat = "cat"), prior = normal(0, 100))
  reference <- nnet::multinom(y ~ x, d, trace = FALSE)
  expect_close(stats::cov2cor(vcov(fit)), stats::cov2cor(stats::vcov(reference)), multinom_sd)
  expect_close(sqrt(diag(vcov(fit)) / diag(stats::vcov(reference))), 1, multinom_sd)
  # a mean and a mode
  expect_true(all(abs(coef(fit) - coef(reference)) < 0.3 * sqrt(diag(vcov(reference)))))
})

test_that("a posterior that is not skew is the best coupled Gaussian: prior, mean gradient and mean Hessian balance under it", {
  d <- family_data("categorical", 60)
  fit <- coupled_fit(y ~ x, d, categorical(), prior = list(intercept = normal(0, 2), default = normal(0, 2)))
  W <- all_columns(fit$model$designs)
  V <- vcov(fit)
  rule <- hermite_rule(25L)
  grid <- as.matrix(expand.grid(1:25, 1:25, 1:25))
  weight <- rule$weight[grid[, 1]] * rule$weight[grid[, 2]] * rule$weight[grid[, 3]]
  A <- diag(1 / 4, 6)
  slope <- -coefficient_means(fit) / 4
  for (n in seq_len(nrow(W))) {
    of_row <- kronecker(diag(3), t(W[n, ]))
    root <- t(chol(of_row %*% V %*% t(of_row)))
    eta <- matrix(rule$node[grid], ncol = 3) %*% t(root) + rep(of_row %*% coefficient_means(fit), each = nrow(grid))
    p <- exp(eta - apply(eta, 1, max))
    p <- p / rowSums(p)
    A <- A + kronecker(diag(colSums(weight * p)) - crossprod(p, weight * p), tcrossprod(W[n, ]))
    slope <- slope + kronecker((seq_len(3) == fit$model$y[n] + 1) - colSums(weight * p), W[n, ])
  }
  # steps end where they are a hundredth of an sd; the next is a fraction of that, and so is linear response here
  expect_close(sqrt(diag(V)) / sqrt(diag(solve(A))), 1, 0.01)
  expect_close(stats::cov2cor(V), stats::cov2cor(solve(A)), 0.01)
  expect_lt(max(abs(V %*% slope) / sqrt(diag(V))), 0.01)
})

# A linear function added to the log posterior is the same as other prior means.
test_that("covariances are the response of the means to a change of the prior means", {
  cars <- transform(mtcars, cyl = factor(cyl), hp = (hp - 150) / 70)
  fit_at <- function(mean, hp) {
    prior <- list(intercept = normal(mean, 2), hp = normal(hp, 2))
    coupled_fit(cyl ~ hp, cars, categorical(refcat = "4"), prior = prior)
  }
  V <- vcov(fit_at(0, 0))
  slope_of <- function(up, down, by) as.vector(coefficient_means(up) - coefficient_means(down)) * 2^2 / (2 * by)
  by <- 0.5
  intercepts <- slope_of(fit_at(by, 0), fit_at(-by, 0), by)
  slopes <- slope_of(fit_at(0, by), fit_at(0, -by), by)
  # means are known to 0.005 sds, and differences to a few per cent
  expect_close(intercepts / rowSums(V[, c(1, 3)]), 1, 0.05)
  expect_close(slopes / rowSums(V[, c(2, 4)]), 1, 0.05)
})

test_that("standard deviations of skew posteriors are the exact ones, by importance sampling", {
  set.seed(1)
  cars <- transform(mtcars, cyl = factor(cyl), hp = (hp - 150) / 70)
  fit <- coupled_fit(cyl ~ hp, cars, categorical(refcat = "4"))
  X <- cbind(1, cars$hp)
  sd <- rep(vapply(fit$prior, `[[`, 0, "sd"), 2)
  y <- as.integer(cars$cyl)
  z <- matrix(rnorm(4 * 40000), 40000) * sqrt(10 / rchisq(40000, 10))
  beta <- 1.2 * z %*% chol(vcov(fit)) + rep(coefficient_means(fit), each = nrow(z))
  six <- tcrossprod(beta[, 1:2], X)
  eight <- tcrossprod(beta[, 3:4], X)
  log_likelihood <- rowSums(six[, y == 2]) + rowSums(eight[, y == 3]) - rowSums(log1p(exp(six) + exp(eight)))
  log_weight <- log_likelihood - colSums(t(beta)^2 / (2 * sd^2)) + 7 * log1p(rowSums(z^2) / 10)
  w <- exp(log_weight - max(log_weight))
  w <- w / sum(w)
  exact <- sqrt(colSums(w * beta^2) - colSums(w * beta)^2)
  expect_gt(1 / sum(w^2), 10000)
  expect_close(sqrt(diag(vcov(fit))) / exact, 1, 0.03)
  expect_lt(max(sqrt(diag(vcov(factorised_view(fit)))) / exact), 0.8)
})

test_that("class probabilities are means over draws of the coupled posterior, whatever the number of classes", {
  set.seed(4)
  draws <- 1e5
  for (C in c(2L, 3L, 6L)) {
    for (size in c(0.5, 3)) {
      mean <- rnorm(C, 0, 2)
      root <- matrix(rnorm(C * C), C) * size / sqrt(C)
      V <- tcrossprod(root)
      moments <- function(m, v) {
        likelihood <- likelihood_spec("categorical")
        likelihood$constants <- list(classes = C, reference = -1)
        out <- predict_classes(likelihood, numeric(), m, v, TRUE)
        out
      }
      found <- coupled_classes(t(mean), array(V, c(1, C, C)), moments)
      eta <- matrix(rnorm(draws * C), draws) %*% t(root) + rep(mean, each = draws)
      p <- exp(eta - apply(eta, 1, max))
      p <- p / rowSums(p)
      # beside the draws' error, that of the rule of degree 5 for more than three classes
      allowed <- if (C > 3L) 0.02 * size^2 else 0
      expect_true(all(abs(colMeans(p) - found[[1L]]) <= 4.5 * apply(p, 2, sd) / sqrt(draws) + allowed),
                  label = paste(C, "classes, size", size))
    }
  }
})

test_that("nodes of classes have the covariance of contrasts, to the degree that their rule is exact", {
  set.seed(2)
  for (C in 2:7) {
    V <- tcrossprod(matrix(rnorm(C * C), C))
    mean <- rnorm(C)
    nodes <- nodes_of_classes(t(mean), array(V, c(1, C, C)))
    expect_close(sum(nodes$weight), 1)
    expect_identical(nodes$row, rep(1L, length(nodes$weight)))
    contrasts <- stats::contr.helmert(C)
    centred <- nodes$mean - rep(mean, each = length(nodes$weight))
    expect_close(colSums(nodes$weight * centred), numeric(C))
    total <- crossprod(centred, nodes$weight * centred) + diag(nodes$variance[1, ])
    expect_close(crossprod(contrasts, total %*% contrasts), crossprod(contrasts, V %*% contrasts))
    expect_true(all(nodes$variance >= 0))
  }
})

test_that("few nodes of known latent values give the probabilities that many of independent ones do", {
  set.seed(7)
  tried <- 0
  for (C in 3:5) for (scale in c(1e-3, 0.05, 0.4)) {
    V <- array(scale^2 * (tcrossprod(matrix(rnorm(C * C), C)) + 30), c(1, C, C))
    mean <- t(c(0, rnorm(C - 1)))
    few <- nodes_of_classes(mean, V)
    if (any(few$variance > 0)) next  # wide: there are none
    tried <- tried + 1
    probability <- function(eta) exp(eta) / rowSums(exp(eta))
    root <- t(chol(V[1, , ]))
    z <- stats::qnorm(even_points(20000L, C))
    z <- rbind(z, -z)
    wanted <- colMeans(probability(sweep(z %*% t(root), 2, mean, `+`)))
    found <- colSums(few$weight * probability(few$mean))
    expect_lt(max(abs(found - wanted)), 2e-4 * scale)
    expect_lte(length(few$weight), 512L)
  }
  expect_gte(tried, 5)
  expect_true(anyNA(nodes_of_classes(t(0:2), array(NaN, c(1, 3, 3)))$variance))
})

test_that("rows that repeat others have their probabilities", {
  set.seed(4)
  d <- data.frame(a = gl(3, 40), b = rep(0:1, 60))
  d$o <- factor(findInterval(d$b + as.numeric(d$a) / 2 + rlogis(120), c(0.5, 1.5, 3)), ordered = TRUE)
  fit <- galvi(o ~ a + b, d, cumulative())
  all <- predict(fit, se.fit = TRUE)
  for (n in c(1L, 60L, 120L)) {
    own <- predict(fit, d[n, ], se.fit = TRUE)
    expect_equal(all$fit[n, ], own$fit[1L, ])
    expect_equal(all$se.fit[n, ], own$se.fit[1L, ])
  }
})

test_that("a row that tells nothing new has no remainder, and a reference class no variance of its own", {
  nodes_at <- function(V) nodes_of_classes(t(c(0, 1, 2)), array(V, c(1, 3, 3)))
  V <- diag(c(1, 2, 0.5)) + 0.7  # independent values and a common one
  expect_length(nodes_at(V)$weight, 1L)
  expect_close(sort(nodes_at(V)$variance), c(0.5, 1, 2))
  nothing <- nodes_at(matrix(3, 3, 3))
  expect_identical(drop(nothing$variance), numeric(3))
  expect_identical(nothing$weight, 1)
})

test_that("predictions, residuals, draws and later rows go by it, the bound and loo do not", {
  fit <- coupled_fit(Species ~ Sepal.Width, iris, categorical())
  new <- iris[c(1, 60, 120), ]
  expect_close(predict(fit, new, type = "prob"), fitted(fit)[c(1, 60, 120), ], 1e-9)
  set.seed(1)
  expect_s3_class(simulate(fit, 2), "data.frame")
  q <- factorised_view(fit)
  expect_identical(loo::loo(fit)$estimates, loo::loo(q)$estimates)
  more <- add_data(coupled_fit(Species ~ Sepal.Width, iris[-(1:5), ], categorical()), iris[1:5, ])
  expect_true(is_coupled(more))
  expect_null(coupled_fit(Species ~ gp(Sepal.Width), iris[seq(1, 150, 5), ], categorical())$posterior$coupled)
  expect_null(coupled_fit(Species ~ Sepal.Width, iris, stick_breaking())$posterior$coupled)
})
