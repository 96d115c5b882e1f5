# Several responses with correlated residuals: responses(Y) ~ x + rescor(), mvbind().

skip_on_cran()

flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
at_estimates_only <- galvi_control(uncertainty = "factorised")

residual_correlations <- function(fit) attr(VarCorr(fit)$Residual, "correlation")

test_that("gaussian responses are multivariate regression", {
  gold <- read.csv(test_path("fixtures", "rescor_mtcars.csv"))
  fit <- galvi(responses(cbind(mpg, qsec)) ~ wt + hp + rescor(), mtcars, prior = flat, control = at_estimates_only)
  expect_equal(c(t(coef(fit))), gold$coefficient, tolerance = 1e-6) # a nugget of 1e-7 of the variance
  se <- matrix(sqrt(diag(vcov(fit))), 2L)
  expect_equal(c(t(se)), gold$se, tolerance = 1e-6)
  expect_equal(unname(sigma(fit)), gold$sd[c(1, 4)], tolerance = 1e-6)
  expect_equal(residual_correlations(fit)[2, 1], gold$correlation[1], tolerance = 1e-5)
  # learning that starts elsewhere ends there
  start <- c("rescor().sd.mpg" = 6, "rescor().sd.qsec" = 0.4, "rescor().cor.mpg.qsec" = -0.5)
  from <- update(fit, start = start)
  expect_equal(sigma(from), sigma(fit), tolerance = 1e-3) # of the search
  expect_equal(from$elbo, fit$elbo, tolerance = 1e-7)
})

test_that("fits are those of lm(cbind()) in any units, and the log evidence is the restricted likelihood", {
  Y <- with(mtcars, cbind(mpg = 1e4 * mpg, disp = 1e-5 * disp + 3))
  m <- lm(Y ~ wt + hp, mtcars)
  fit <- galvi(responses(Y) ~ wt + hp + rescor(), mtcars, prior = flat, control = at_estimates_only)
  V <- estVar(m)
  expect_equal(coef(fit), t(coef(m)), tolerance = 1e-8)
  expect_equal(sigma(fit), sqrt(diag(V)), tolerance = 1e-6)
  covariance <- kronecker(summary(m)[[1L]]$cov.unscaled, V)
  expect_equal(unname(vcov(fit)), covariance, tolerance = 1e-6)
  expect_equal(fitted(fit), fitted(m), tolerance = 1e-9)
  expect_equal(residuals(fit), residuals(m), tolerance = 1e-7)
  expect_equal(unname(hatvalues(fit)[, 1]), unname(hatvalues(lm(mpg ~ wt + hp, mtcars))), tolerance = 1e-5)
  X <- model.matrix(~ wt + hp, mtcars)
  n <- nrow(X)
  E <- residuals(m)
  restricted <- -(n - 3) * log(2 * pi) - (n - 3) / 2 * c(determinant(V)$modulus) - sum(E * (E %*% solve(V))) / 2 -
    c(determinant(crossprod(X))$modulus)
  expect_equal(fit$elbo, restricted, tolerance = 1e-7)
})

test_that("priors of each response are those that it has alone", {
  fit <- galvi(mvbind(mpg, disp) ~ wt, mtcars)
  for (y in c("mpg", "disp")) {
    one <- galvi(reformulate("wt", y), mtcars)
    own <- unclass(fit$prior[paste0(".item", y, c("", ":wt"))])
    alone <- unclass(one$prior)
    expect_equal(lapply(unname(own), `[[`, "sd"), lapply(unname(alone), `[[`, "sd"), tolerance = 1e-9)
    expect_equal(coef(fit)[y, ], coef(one), tolerance = 1e-4) # shrunk with another residual variance
  }
  half <- update(fit, prior = list(sd = half_normal(1), cor = lkj(1000)))
  expect_lt(sigma(half)[["disp"]], 0.8 * sigma(fit)[["disp"]])
  expect_lt(abs(residual_correlations(half)[2, 1]), 0.1 * abs(residual_correlations(fit)[2, 1]))
  expect_equal(sigma(update(fit, prior = list(sigma = half_normal(1)))),
    sigma(update(fit, prior = list("rescor()" = list(sd = half_normal(1))))))
  held <- update(fit, prior = list("rescor()" = list(sd = fixed(c(3, 50)), cor = fixed(0))))
  expect_equal(unname(sigma(held)), c(3, 50))
})

test_that("new responses and known ones are predicted together", {
  Y <- as.matrix(mtcars[c("mpg", "disp")])
  Y[4, 1] <- Y[9, 2] <- NA
  fit <- galvi(responses(Y) ~ wt + rescor(), mtcars, prior = flat, control = at_estimates_only)
  expect_equal(nobs(fit), 62L)
  expect_identical(is.na(residuals(fit)), is.na(Y))
  expect_false(anyNA(fitted(fit)))
  # the posterior of the signal and the residuals of a new unit, of which one is known
  S <- unclass(VarCorr(fit)$Residual)
  S <- matrix(S, 2L)
  x <- c(1, 3)
  at <- rbind(c(x[1], 0, x[2], 0), c(0, x[1], 0, x[2]))
  mean <- drop(at %*% c(coef(fit)))
  total <- at %*% vcov(fit) %*% t(at) + S
  known <- predict(fit, data.frame(wt = 3), responses = c(NA, 300), interval = "prediction")
  slope <- total[1, 2] / total[2, 2]
  centre <- mean[1] + slope * (300 - mean[2])
  sd <- sqrt(total[1, 1] - slope * total[1, 2])
  expect_equal(unname(known[1, 1, ]), centre + c(0, -1, 1) * qnorm(0.975) * sd, tolerance = 1e-5) # the nugget
  alone <- predict(fit, data.frame(wt = 3), interval = "prediction")
  expect_equal(unname(alone[1, 2, ]), mean[2] + c(0, -1, 1) * qnorm(0.975) * sqrt(total[2, 2]), tolerance = 1e-6)
  link <- predict(fit, data.frame(wt = 3), type = "link", se.fit = TRUE)
  expect_equal(unname(link$se.fit[1, ]), sqrt(diag(at %*% vcov(fit) %*% t(at))), tolerance = 1e-6)
  # draws: Monte Carlo error of 4,000
  set.seed(1)
  y <- posterior_predict.galvi(fit, newdata = data.frame(wt = 3), ndraws = 4000)
  expect_lt(max(abs(colMeans(y) - mean) / sqrt(diag(total))), 5 / sqrt(4000))
  expect_lt(abs(cor(y)[1, 2] - cov2cor(total)[1, 2]), 0.06)
  signal <- posterior_epred.galvi(fit, ndraws = 200)
  expect_lt(max(abs(colMeans(signal) - fitted(fit)[!is.na(Y)]) / 20), 1)
  sims <- simulate(fit, 400, seed = 2)
  expect_identical(is.na(sims[[1]]), is.na(Y))
  correlation <- mean(vapply(sims, function(y) cor(y - fitted(fit), use = "complete.obs")[1, 2], 0))
  expect_lt(abs(correlation - cov2cor(S)[1, 2]), 0.06)
})

test_that("log densities of units and leave-one-out predictions are those of the normal distribution", {
  d <- mtcars[1:20, ]
  d$mpg[3] <- NA
  wide <- list(default = normal(0, 1e3), intercept = normal(0, 1e3))
  fit <- galvi(mvbind(mpg, disp) ~ wt, d, prior = wide, control = at_estimates_only)
  item <- as.integer(fit$data$.item)
  unit <- as.integer(fit$data$.unit)
  y <- fit$model$y
  S <- matrix(unclass(VarCorr(fit)$Residual), 2L)
  X <- model.matrix(fit)
  K <- 1e6 * tcrossprod(X) + S[item, item] * outer(unit, unit, `==`)
  left_out <- function(at) {
    C <- K[at, at, drop = FALSE] - K[at, -at] %*% solve(K[-at, -at], K[-at, at])
    r <- y[at] - drop(K[at, -at] %*% solve(K[-at, -at], y[-at]))
    -length(at) / 2 * log(2 * pi) - c(determinant(C)$modulus) / 2 - sum(r * solve(C, r)) / 2
  }
  at_mode <- function(sets) state_residual_densities(fit, sets)$joint
  rows <- as.list(seq_along(y))
  # a prior of 1e6 leaves the dense computation nine digits
  expect_equal(at_mode(rows), vapply(rows, left_out, 0), tolerance = 1e-5)
  units <- split(seq_along(y), unit)
  expect_equal(at_mode(units), unname(vapply(units, left_out, 0)), tolerance = 1e-5)
  halves <- list(which(unit %% 2 == 0), which(unit %% 2 == 1))
  expect_equal(at_mode(halves), vapply(halves, left_out, 0), tolerance = 1e-5)
  single <- loo.galvi(fit)
  expect_identical(rownames(single$pointwise)[1:2], c("Mazda RX4:mpg", "Mazda RX4 Wag:mpg"))
  # of about five parameters and the hyperparameters
  expect_true(single$estimates["p_loo", 1] > 3 && single$estimates["p_loo", 1] < 12)
  expect_lt(max(single$leverage), 1)
  together <- loo.galvi(fit, group = ".unit", joint = TRUE)
  expect_identical(dim(together$pointwise), c(20L, 3L))
  # brms has a log likelihood of each row, its responses together
  set.seed(1)
  density <- log_lik.galvi(fit, ndraws = 50)
  expect_identical(dim(density), c(50L, 20L))
  own <- function(at, r) {
    C <- S[item[at], item[at], drop = FALSE]
    -length(at) / 2 * log(2 * pi) - c(determinant(C)$modulus) / 2 - sum(r * solve(C, r)) / 2
  }
  view <- answering_view(fit)
  view["noise_of"] <- list(NULL)
  eta <- matrix(view$posterior$mean)
  found <- residual_densities(view, training_target(view), eta)
  expected <- vapply(units, function(at) own(at, y[at] - eta[at]), 0)
  expect_equal(unname(vapply(units, function(at) sum(found[at]), 0)), unname(expected), tolerance = 1e-10)
  expect_error(waic.galvi(fit), "rescor", class = "galvi_error_argument")
  expect_error(rstandard(fit), "rescor", class = "galvi_error_argument")
})

test_that("weights divide the covariance of the residuals", {
  w <- rep(1:2, 16)
  fit <- galvi(responses(cbind(mpg, disp)) ~ wt + rescor(), mtcars, weights = w, prior = flat,
    control = at_estimates_only)
  m <- lm(cbind(mpg, disp) ~ wt, mtcars, weights = w)
  expect_equal(coef(fit), t(coef(m)), tolerance = 1e-8)
  expect_equal(sigma(fit), sqrt(colSums(w * residuals(m)^2) / 30), tolerance = 1e-6)
  expect_identical(unname(weights(fit)[, 1]), as.numeric(w))
  expect_error(update(fit, weights = frequency(w)), "frequency", class = "galvi_error_argument")
})

test_that("effects of groups are correlated across responses by .item", {
  set.seed(5)
  n <- 400
  g <- sample(40, n, TRUE)
  root <- function(r) chol(matrix(c(1, r, r, 1), 2L))
  u <- matrix(rnorm(80), 40) %*% root(0.8)
  e <- matrix(rnorm(2 * n), n) %*% root(-0.5)
  x <- rnorm(n)
  d <- data.frame(x, g = factor(g), tarsus = x + u[g, 1] + e[, 1], back = 100 + 5 * (u[g, 2] + e[, 2]))
  fit <- galvi(mvbind(tarsus, back) ~ x + (0 + .item | g), d)
  between <- attr(VarCorr(fit)$g, "correlation")[2, 1]
  within <- residual_correlations(fit)[2, 1]
  # three standard errors: 0.1 with 40 groups, 0.04 with 400 rows
  expect_lt(abs(between - 0.8), 0.3)
  expect_lt(abs(within + 0.5), 0.12)
  expect_lt(max(abs(sigma(fit) / c(1, 5) - 1)), 0.12)
  expect_identical(names(VarCorr(fit)), c("g", "Residual"))
  population <- predict(fit, d[1:2, ], re_formula = NA)
  expect_equal(population[1, "tarsus"], drop(coef(fit)["tarsus", ] %*% c(1, x[1])), tolerance = 1e-6,
    ignore_attr = TRUE)
  smooth <- galvi(mvbind(tarsus, back) ~ gp(x, by = .item, inducing = 10), d, hyper = "fixed")
  expect_true(all(is.finite(fitted(smooth))))
})

test_that("counts have correlated residuals, and a bound above that of a diagonal posterior", {
  # the variational EM of the Poisson log-normal model with independent variances, as PLNmodels has it
  diagonal_bound <- function(Y, steps = 150) {
    n <- nrow(Y)
    M <- log(Y + 0.5)
    S2 <- matrix(0.1, n, ncol(Y))
    Psi <- cov(M) + diag(0.1, ncol(Y))
    for (s in seq_len(steps)) {
      O <- solve(Psi)
      for (k in 1:5) {
        S2 <- 1 / (exp(M + S2 / 2) + rep(diag(O), each = n))
        A <- exp(M + S2 / 2)
        G <- Y - A - M %*% O
        for (i in seq_len(n)) M[i, ] <- M[i, ] + pmax(-1, pmin(1, solve(diag(A[i, ]) + O, G[i, ])))
      }
      Psi <- (crossprod(M) + diag(colSums(S2))) / n
    }
    O <- solve(Psi)
    sum(Y * M - exp(M + S2 / 2) - lgamma(Y + 1)) - n / 2 * c(determinant(Psi)$modulus) - sum((M %*% O) * M) / 2 -
      sum(S2 %*% diag(O)) / 2 + sum(log(S2)) / 2 + n * ncol(Y) / 2
  }
  set.seed(3)
  n <- 60
  S <- matrix(c(0.6, 0.5, -0.3, 0.5, 0.8, 0, -0.3, 0, 0.5), 3L)
  z <- matrix(rnorm(3 * n), n) %*% chol(S)
  Y <- matrix(rpois(3 * n, exp(0.5 + z)), n, dimnames = list(NULL, c("a", "b", "c")))
  fit <- galvi(responses(Y) ~ 0 + rescor(), family = poisson())
  expect_gt(fit$elbo, diagonal_bound(Y) + 1)
  expect_identical(dim(log_lik.galvi(fit, ndraws = 2)), c(2L, 3L * as.integer(n)))
  joint <- loo.galvi(fit, group = ".unit", joint = TRUE)
  expect_true(all(is.finite(joint$pointwise)))
  # a unit with many of the second is expected to have many of the first
  given <- predict(fit, responses = rbind(c(NA, 0, NA), c(NA, 15, NA)))
  expect_gt(given[2, "a"], 2 * given[1, "a"])
  many <- list(negbinomial = negbinomial(), gamma = galvi_family("gamma"))
  positive <- list(Y, Y + 0.5 + matrix(rexp(3 * n), n))
  for (i in seq_along(many)) {
    own <- galvi(responses(positive[[i]]) ~ 1 + rescor(), family = many[[i]], hyper = "fixed")
    expect_true(all(is.finite(fitted(own))))
  }
  trials <- matrix(10, n, 2)
  share <- matrix(rbinom(2 * n, 10, plogis(z[, 1:2])), n) / 10
  binary <- galvi(responses(share) ~ 1 + rescor(), family = binomial(), weights = trials)
  expect_gt(attr(VarCorr(binary)$Residual, "correlation")[2, 1], 0.3)
})

test_that("gaussian responses and counts have residuals in common", {
  set.seed(9)
  n <- 300
  x <- rnorm(n)
  z <- matrix(rnorm(2 * n), n) %*% chol(matrix(c(1, 0.7, 0.7, 1), 2L))
  d <- data.frame(x, y = 2 + x + 3 * z[, 1], k = rpois(n, exp(0.5 + 0.3 * x + z[, 2])))
  fit <- galvi(responses(data.frame(y, k)) ~ x + rescor(), d, family = list(gaussian(), poisson()))
  expect_lt(abs(residual_correlations(fit)[2, 1] - 0.7), 0.15)
  expect_equal(unname(sigma(fit)), 3, tolerance = 0.1)
  expect_equal(unname(fitted(fit)[, "y"]), drop(cbind(1, x) %*% coef(fit)["y", ]), tolerance = 1e-6)
  new <- predict(fit, data.frame(x = 0), interval = "prediction")
  expect_equal(unname(diff(new[1, "y", c("lwr", "upr")])), 2 * qnorm(0.975) * sigma(fit)[["y"]], tolerance = 0.02)
  given <- predict(fit, data.frame(x = 0), responses = data.frame(y = NA_real_, k = 30L), se.fit = TRUE)
  expect_gt(given$fit[1, "y"], new[1, "y", "fit"] + 2)
  expect_lt(given$se.fit[1, "y"], sigma(fit)[["y"]])
  sims <- simulate(fit, 30, seed = 1)
  expect_lt(abs(mean(vapply(sims, function(y) cor(y)[1, 2], 0)) - cor(d$y, d$k)), 0.15)
  expect_error(log_lik.galvi(fit), "together", class = "galvi_error_argument")
  expect_error(loo.galvi(fit), "together", class = "galvi_error_argument")
})

test_that("the words of brms mean the same here", {
  fit <- galvi(responses(cbind(mpg, disp)) ~ wt + rescor(), mtcars)
  expect_equal(coef(galvi(mvbind(mpg, disp) ~ wt, mtcars)), coef(fit))
  expect_equal(coef(galvi(mvbind(mpg, disp) ~ wt + set_rescor(TRUE), mtcars)), coef(fit))
  named <- galvi(mvbind(a = mpg, disp) ~ wt, mtcars)
  expect_identical(rownames(coef(named)), c("a", "disp"))
  apart <- galvi(mvbind(mpg, disp) ~ wt + set_rescor(FALSE), mtcars)
  for (y in c("mpg", "disp")) {
    one <- galvi(reformulate("wt", y), mtcars)
    expect_equal(fitted(apart)[, y], fitted(one), tolerance = 1e-4) # hyperparameters to 1e-3
  }
  expect_error(predict(apart, responses = c(20, NA), newdata = mtcars[1, ]), "tell nothing",
    class = "galvi_error_argument")
  expect_error(galvi(mvbind(carb, gear) ~ wt, mtcars, family = poisson()), "rescor\\(\\)",
    class = "galvi_error_formula")
  h <- hypothesis(fit, c("rescor__mpg__disp < 0", "sigma_mpg > 2", "mpg_wt < 0", "disp_Intercept < 0"))
  expect_true(all(h$hypothesis$Post.Prob > 0.9))
  table <- data.frame(prior = c("lkj(1000)", "normal(0, 1)"), class = c("rescor", "sigma"), coef = "", group = "",
    resp = c("", "disp"))
  shrunk <- galvi(mvbind(mpg, disp) ~ wt, mtcars, prior = table)
  expect_lt(abs(residual_correlations(shrunk)[2, 1]), 0.1)
  expect_lt(sigma(shrunk)[["disp"]], 0.8 * sigma(fit)[["disp"]])
})

test_that("brms::bf() of several responses is read", {
  skip_if_not_installed("brms")
  formula <- brms::bf(mvbind(mpg, disp) ~ wt) + brms::set_rescor(TRUE)
  expect_equal(coef(galvi(formula, mtcars)), coef(galvi(mvbind(mpg, disp) ~ wt, mtcars)))
  several <- brms::bf(mpg ~ wt) + brms::bf(disp ~ hp)
  expect_error(galvi(several, mtcars), "one right side", class = "galvi_error_formula")
})

test_that("a fit prints, plots and survives saveRDS()", {
  fit <- galvi(responses(cbind(mpg, disp)) ~ wt + rescor(), mtcars)
  text <- capture.output(print(summary(fit)))
  expect_true(any(grepl("^Residuals \\(SD with interval, correlation\\)", text)))
  expect_false(any(grepl("gaussian.variance", text)))
  frame <- as.data.frame(VarCorr(fit))
  expect_identical(frame$grp, rep("Residual", 3))
  expect_true(all(frame$lwr < frame$sdcor & frame$sdcor < frame$upr))
  path <- tempfile(fileext = ".rds")
  on.exit(unlink(path))
  saveRDS(fit, path)
  expect_identical(fitted(readRDS(path)), fitted(fit))
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off(), add = TRUE)
  for (which in c("predictive", "residuals")) expect_no_error(plot(fit, which = which))
  expect_error(plot(fit, which = "calibration"), class = "galvi_error_argument")
  expect_error(conditional_effects(fit), class = "galvi_error_argument")
  expect_identical(dim(bayes_R2.galvi(fit, ndraws = 10)), c(10L, 2L))
  expect_identical(colnames(coef(update(fit, . ~ . + hp))), c("(Intercept)", "wt", "hp"))
  expect_identical(unname(galvi(mvbind(mpg, disp) ~ wt, mtcars, hyper = "fixed")$hyper$status), rep("fixed", 4))
})

test_that("what has no correlated residuals is refused", {
  refused <- function(formula, class, text, ..., data = mtcars) {
    expect_error(galvi(formula, data, ...), text, class = paste0("galvi_error_", class))
  }
  refused(responses(cbind(mpg, disp)) ~ wt, "formula", "rescor")
  refused(mpg ~ wt + rescor(), "formula", "responses")
  refused(responses(cbind(mpg, disp)) ~ rescor(wt), "formula", "no arguments")
  refused(responses(cbind(mpg, disp)) ~ wt - rescor(), "formula", "subtracted")
  refused(responses(cbind(mpg, disp)) ~ rescor() + factors(1), "formula", "one of factors")
  refused(responses(mpg) ~ wt + rescor(), "response", "matrix")
  refused(responses(cbind(mpg)) ~ wt + rescor(), "response", "one column")
  refused(mvbind(mpg) ~ wt, "formula", "one response")
  refused(mvbind(mpg, nosuch) ~ wt, "response", "nosuch")
  refused(responses(cbind(am, vs)) ~ wt + rescor(), "family", "factors\\(2\\)", family = binomial())
  refused(responses(cbind(mpg, am)) ~ wt + rescor(), "family", "`am`", family = list(gaussian(), binomial()))
  ordered <- with(mtcars, data.frame(a = factor(gear, ordered = TRUE), b = factor(6 - gear, ordered = TRUE)))
  levels(ordered$b) <- levels(ordered$a)
  refused(responses(ordered) ~ wt + rescor(), "family", "factors\\(2\\)", family = cumulative())
  refused(responses(cbind(mpg, disp)) ~ wt + rescor(), "family", "own noise", family = student())
  refused(responses(cbind(mpg, disp)) ~ wt + rescor(), "family", "leave `variance` out",
    family = galvi_family("gaussian", variance = 2))
  refused(responses(cbind(mpg, disp)) ~ wt + rescor(), "prior", "rescor", prior = list(variance = 1))
  refused(mvbind(mpg, disp) ~ wt + (1 | cyl), "formula", "0 \\+ .item \\|\\| cyl")
  refused(mvbind(mpg, disp) ~ gp(wt), "formula", "by = .item")
  refused(mvbind(mpg, disp) ~ wt + (1 | p | cyl), "formula", "\\(0 \\+ .item \\| cyl\\)")
  refused(responses(cbind(mpg, disp)) ~ .item + rescor(), "formula", "already")
  refused(list(mvbind(mpg, disp) ~ wt, sigma ~ wt), "formula", "second formula")
  refused(responses(cbind(a = mpg, b = 2 * wt + 1)) ~ wt + rescor(), "response", "`b`, whose residuals are zero")
  refused(responses(cbind(a = mpg, b = 2 * mpg)) ~ wt + rescor(), "response", "proportional")
  refused(responses(cbind(mpg, disp)) ~ (0 + .item | cyl) + rescor(), "data", "uses itself",
    data = transform(mtcars, .item = 1))
})

test_that("effects of several responses, their tests and R squared leave the residuals out", {
  set.seed(1)
  d <- data.frame(a = gl(3, 20), x = rnorm(60))
  d$y1 <- rnorm(60)
  d$y2 <- 10 * (d$y1 + rnorm(60))
  fit <- galvi(mvbind(y1, y2) ~ a + x, d)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  drawn <- plot(fit)$.item
  widths <- (drawn$upr - drawn$lwr) / (2 * stats::qnorm(0.975))
  expect_equal(widths, sqrt(diag(vcov(fit))[1:2]), tolerance = 0.05, ignore_attr = TRUE)
  peers <- lapply(c("y1", "y2"), function(y) stats::lm(stats::reformulate(c("a", "x"), y), d))
  skip_if_not_installed("performance")
  found <- vapply(performance::r2(fit), function(one) unname(one$R2), 0)
  expect_equal(found, c(y1 = summary(peers[[1L]])$r.squared, y2 = summary(peers[[2L]])$r.squared), tolerance = 1e-3)
  expect_equal(performance::model_performance(fit)$RMSE, vapply(peers, performance::rmse, 0), tolerance = 1e-3)
  skip_if_not_installed("car")
  tested <- car::Anova(fit)
  expect_identical(rownames(tested), c(".item", ".item:a", ".item:x"))
  expect_identical(tested$Df, c(2, 4, 2))
  expect_no_error(car::linearHypothesis(fit, ".itemy1:a2 = 0"))
  skip_if_not_installed("effects")
  expect_no_error(effects::Effect(c("a", ".item"), fit))
})

test_that("fits of the same responses with and without residual correlations are compared", {
  skip_if_not_installed("loo")
  Y <- with(mtcars, cbind(mpg = mpg / 6, qsec = qsec / 2))
  fits <- suppressMessages(list(
    a = galvi(responses(Y) ~ wt + rescor(), mtcars), b = galvi(responses(Y) ~ wt + factors(1), mtcars)
  ))
  expect_no_warning(loo::loo_compare(lapply(fits, loo)))
  expect_identical(nrow(anova(fits$a, fits$b)), 2L)
  expect_length(loo_model_weights(fits), 2L)
})
