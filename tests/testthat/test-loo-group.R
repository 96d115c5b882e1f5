# Groups of rows left out together, against refits without the group.

skip_on_cran()

held <- function(formula, data, family, start) {
  quietly(galvi(formula, data, family, hyper = "fixed", start = start, control = galvi_control(tol = 1e-9,
    threads = 1, uncertainty = "factorised")))
}

quietly <- function(expr) suppressMessages(suppressWarnings(expr))

# log densities of the rows of each group by fits at the same hyperparameters that have not seen it
without_groups <- function(fit, data, group) {
  out <- numeric(nrow(data))
  for (level in unique(data[[group]])) {
    left <- which(data[[group]] == level)
    refit <- quietly(galvi(fit$formula, data[-left, ], fit$family, hyper = "fixed", start = fit,
      control = galvi_control(tol = 1e-9, threads = 1, uncertainty = "factorised")))
    out[left] <- predict(refit, data[left, ], type = "density")
  }
  out
}

plot_quietly <- function(x) {
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  plot(x)
}

by_group <- function(x, group) tapply(x, factor(group), sum)

test_that("groups are as far from refits as the other rows' sites move", {
  skip_if_not_installed("lme4")
  skip_if_not_installed("MASS")
  cases <- list(
    list(cbind(incidence, size - incidence) ~ period + (1 | herd), lme4::cbpp, binomial(), "herd"),
    list(y ~ trt + I(week > 2) + (1 | ID), MASS::bacteria, binomial(), "ID"),
    list(y ~ lbase * trt + lage + V4 + (1 | subject), MASS::epil, poisson(), "subject")
  )
  for (case in cases) {
    learned <- quietly(galvi(case[[1L]], case[[2L]], case[[3L]]))
    fit <- held(case[[1L]], case[[2L]], case[[3L]], learned)
    found <- loo.galvi(fit, group = case[[4L]])$pointwise[, "elpd_loo"]
    away <- abs(by_group(found - without_groups(fit, case[[2L]], case[[4L]]), case[[2L]][[case[[4L]]]]))
    # measured: 0.012, 0.005 and 0.001 on average, 0.054 at most
    expect_lt(mean(away), 0.02)
    expect_lt(max(away), 0.06)
  }
})

test_that("it is exact for the gaussian family, one density at a time and together", {
  family <- galvi_family("gaussian", variance = fixed(600))
  formula <- Reaction ~ Days + iid(Subject, fixed(1000)) + iid(Subject, fixed(30), by = Days)
  priors <- list(intercept = normal(250, 100), Days = normal(0, 50))
  fit <- galvi(formula, sleepstudy, family, prior = priors)
  found <- loo.galvi(fit, group = "Subject")
  joint <- loo.galvi(fit, group = "Subject", joint = TRUE)
  # p(y_g | others) of the normal distribution of all responses
  X <- cbind(1, sleepstudy$Days)
  same <- outer(sleepstudy$Subject, sleepstudy$Subject, `==`)
  V <- X %*% diag(c(100, 50)^2) %*% t(X) + same * (1000 + 30 * outer(sleepstudy$Days, sleepstudy$Days)) +
    600 * diag(nrow(X))
  r <- sleepstudy$Reaction - 250
  rows <- numeric(nrow(X))
  groups <- vapply(levels(sleepstudy$Subject), function(level) {
    at <- which(sleepstudy$Subject == level)
    K <- V[at, -at] %*% solve(V[-at, -at])
    m <- drop(K %*% r[-at])
    S <- V[at, at] - K %*% V[-at, at]
    rows[at] <<- dnorm(r[at], m, sqrt(diag(S)), log = TRUE)
    e <- r[at] - m
    -sum(e * solve(S, e)) / 2 - determinant(S)$modulus / 2 - length(at) / 2 * log(2 * pi)
  }, 0)
  # covariances of 10 rows, from which sites take away nearly all
  expect_close(unname(found$pointwise[, "elpd_loo"]), rows, 1e-7)
  expect_close(joint$pointwise[, "elpd_loo"], groups, 1e-7)
  expect_true(all(joint$importance$pareto_k < 0.7))
  # groups of one row are rows
  expect_close(
    loo.galvi(fit, group = seq_len(180))$pointwise[, "elpd_loo"], loo.galvi(fit)$pointwise[, "elpd_loo"], 1e-8
  )
  # rows of a group depend on each other: the standard error is that of groups
  sums <- by_group(found$pointwise[, "elpd_loo"], sleepstudy$Subject)
  expect_close(found$estimates["elpd_loo", "SE"], sqrt(18 * var(as.vector(sums))))
})

test_that("joint densities agree with draws of a refit", {
  skip_if_not_installed("MASS")
  d <- droplevels(subset(MASS::epil, as.integer(subject) <= 20))
  fit <- held(y ~ lbase + (1 | subject), d, poisson(), c("iid(subject).variance" = 0.3))
  found <- loo.galvi(fit, group = "subject", joint = TRUE)
  left <- which(d$subject == levels(factor(d$subject))[3])
  refit <- held(y ~ lbase + (1 | subject), d[-left, ], poisson(), c("iid(subject).variance" = 0.3))
  set.seed(1)
  draws <- log_lik.galvi(refit, newdata = d[left, ], ndraws = 20000)
  # the error of 20,000 draws, and that of the other rows' sites
  expect_lt(abs(found$pointwise[3L, "elpd_loo"] - log(mean(exp(rowSums(draws))))), 0.05)
  expect_gt(min(found$importance$n_eff), 0.95 * group_draws)
  # with the group, too: the sum is larger
  expect_true(all(found$pointwise[, "p_loo"] > 0))
})

test_that("hyperparameters are those without the group", {
  skip_if_not_installed("loo")
  set.seed(1)
  d <- data.frame(id = gl(12, 6), x = runif(72))
  d$y <- sin(5 * d$x) + rnorm(12, sd = 0.7)[d$id] + rnorm(72, sd = 0.3)
  off <- function(formula, uncertainty = "auto") {
    fit <- galvi(formula, d, control = galvi_control(uncertainty = uncertainty))
    found <- loo.galvi(fit, group = "id", joint = TRUE)$pointwise[, 1L]
    refitted <- loo::kfold(fit, group = "id", joint = TRUE)$pointwise[, 1L]
    c(max(abs(found - refitted)), abs(sum(found - refitted)))
  }
  # a grid of states, and a mode that is moved
  expect_true(all(off(y ~ x + (1 | id)) < c(0.05, 0.1)))
  expect_true(all(off(y ~ gp(x) + (1 | id), "factorised") < c(0.05, 0.1)))
  # the 25 states of a composite design are coarse, for each of the refits too
  expect_true(all(off(y ~ gp(x) + (1 | id)) < c(0.2, 0.6)))
})

test_that("classes that compete move each other's means", {
  set.seed(1)
  d <- data.frame(id = gl(10, 6), x = runif(60), class = factor(sample(c("u", "v", "w"), 60, TRUE)))
  for (formula in list(class ~ x, class ~ gp(x))) {
    fit <- held(formula, d, categorical(), NULL)
    found <- loo.galvi(fit, group = d$id)$pointwise[, "elpd_loo"]
    away <- by_group(found - without_groups(fit, d, "id"), d$id)
    # the means' response is of first order, and groups here are a tenth of the rows; measured: 0.065
    expect_lt(mean(abs(away)), 0.1)
  }
})

test_that("what only a group informs is NA, with the reason", {
  d <- data.frame(id = gl(6, 5), x = rep(c(0, 1), 15), y = rnorm(30))
  expect_warning(found <- loo.galvi(galvi(y ~ x + id, d), group = "id"), "\"2\" \\(`id2`\\)",
    class = "galvi_warning_cavity")
  expect_true(all(is.na(found$estimates)))
  expect_output(print(found), "NA: 30 rows, each determined by nothing but its group")
  # a column that one group has beside another
  d$z <- ifelse(d$id == 3 & d$x == 1, 1, 0)
  expect_warning(some <- loo.galvi(quietly(galvi(y ~ x + z, d)), group = "id"), "\"3\" \\(`z`\\)")
  expect_identical(unname(which(is.na(some$pointwise[, 1L]))), which(d$z == 1))
  flat <- galvi(y ~ x + id, d, prior = list(intercept = normal(0, Inf), default = normal(0, Inf)))
  expect_warning(loo.galvi(flat, group = "id"), class = "galvi_warning_cavity")
  # typed priors say something of a new level
  typed <- galvi(y ~ x + id, d, prior = normal(0, 1))
  expect_no_warning(found <- loo.galvi(typed, group = "id"))
  expect_true(all(is.finite(found$pointwise)))
})

test_that("groups are columns or vectors, and everything else is an error", {
  d <- data.frame(id = rep(letters[1:6], 5), other = gl(5, 6), x = 1:30, y = rnorm(30))
  fit <- galvi(y ~ x + (1 | id), d)
  of_column <- loo.galvi(fit, group = "id")
  expect_identical(loo.galvi(fit, group = d$id)$pointwise, of_column$pointwise)
  # a column that is not in the model
  expect_identical(names(loo.galvi(fit, group = "other")$leverage), levels(d$other))
  expect_error(loo.galvi(fit, group = "idd"), "`idd` is not one of .*Did you mean `id`", class = "galvi_error_argument")
  expect_error(loo.galvi(fit, group = 1:3), "each of the 30 rows", class = "galvi_error_argument")
  expect_error(loo.galvi(fit, group = rep(1, 30)), "two groups or more", class = "galvi_error_argument")
  expect_error(loo.galvi(fit, group = replace(d$id, 3, NA)), "must not be missing", class = "galvi_error_argument")
  expect_error(loo.galvi(fit, joint = TRUE), "give `group`", class = "galvi_error_argument")
  expect_error(loo.galvi(fit, group = "id", joint = NA), "`joint` must be TRUE or FALSE",
    class = "galvi_error_argument")
})

test_that("it prints, plots and compares", {
  skip_if_not_installed("loo")
  fit <- galvi(Reaction ~ Days + (1 | Subject), sleepstudy)
  flat <- galvi(Reaction ~ (1 | Subject), sleepstudy)
  found <- loo(fit, group = "Subject")
  expect_s3_class(found, c("galvi_loo", "loo"), exact = TRUE)
  expect_output(print(found), "Leave-one-group-out predictive density, 18 groups of Subject, 180 observations")
  expect_output(print(loo(fit, group = "Subject", joint = TRUE)), "18 observations|predicted together")
  table <- plot_quietly(found)
  expect_identical(table$name, levels(sleepstudy$Subject))
  table <- named_by_model(loo::loo_compare(list(a = found, b = loo(flat, group = "Subject"))))
  expect_identical(table["a", "elpd_diff"], 0)
})

test_that("the tail of importance weights is as in package loo", {
  skip_if_not_installed("loo")
  set.seed(3)
  for (df in c(1, 3, 10)) {
    weights <- log(abs(rt(2000, df)))
    theirs <- suppressWarnings(loo::psis(weights, r_eff = 1)$diagnostics$pareto_k)
    expect_close(pareto_shape(weights), theirs, 1e-6)
  }
  expect_identical(pareto_shape(numeric(100)), -Inf)
})
