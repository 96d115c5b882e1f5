# Category-specific effects, cs(x), in families of sequences: against brms' formula of the density, exact posteriors,
# the fit of decisions that are made by hand, and refits.

factorised <- galvi_control(uncertainty = "factorised")
housing <- MASS::housing
F_of <- list(
  logit = plogis, probit = pnorm, cauchit = pcauchy, cloglog = function(x) -expm1(-exp(x)),
  loglog = function(x) exp(-exp(-x))
)
# 1 - F
rest_of <- list(
  logit = function(x) plogis(-x), probit = function(x) pnorm(-x), cauchit = function(x) pcauchy(-x),
  cloglog = function(x) exp(-exp(x)), loglog = function(x) -expm1(-exp(-x))
)

# brms' sratio_lpmf() and cratio_lpmf(): mu has a value and mucs a column for each threshold. y = 1, 2, ..
brms_log_density <- function(y, mu, mucs, thresholds, family, link) {
  up <- rep(thresholds, each = length(y)) - mu - mucs
  stop <- if (family == "sratio") F_of[[link]](up) else rest_of[[link]](-up)
  on <- if (family == "sratio") rest_of[[link]](up) else F_of[[link]](-up)
  K <- ncol(mucs) + 1L
  vapply(seq_along(y), function(n) {
    own <- if (y[n] < K) log(stop[n, y[n]]) else 0
    own + sum(log(on[n, seq_len(y[n] - 1L)]))
  }, 0)
}

rows <- local({
  set.seed(4)
  n <- 150
  d <- data.frame(x = rnorm(n), z = rnorm(n), f = factor(sample(c("a", "b", "c"), n, TRUE)), g = factor(rep(1:10, 15)),
    w = sample(1:3, n, TRUE), row.names = paste0("r", seq_len(n)))
  eta <- outer(0.5 * d$z + rnorm(10, sd = 0.5)[d$g], c(-1, 0, 0.3), `-`) + outer(d$x, c(1, 0.2, -0.5))
  on <- matrix(runif(3 * n), n) < plogis(eta)
  d$y <- factor(1 + on[, 1] + on[, 1] * on[, 2] + on[, 1] * on[, 2] * on[, 3], ordered = TRUE, labels = c("no", "low",
    "mid", "high"))
  d
})

# A row for each threshold that a row reaches.
by_hand <- function(d, y = d$y) {
  y <- as.integer(y)
  K <- max(y)
  reached <- pmin(y, K - 1L)
  row <- rep(seq_along(y), reached)
  stage <- sequence(reached)
  out <- d[row, ]
  out$stage <- factor(stage)
  out$on <- as.numeric(y[row] > stage)
  out
}

# ---- the model ----

test_that("the density at given coefficients is that of brms", {
  at <- c(-0.7, 0.2, 0.9, 0.4, 0.6, -0.3, 0.1)
  # as good as known
  held <- lapply(at, normal, sd = 1e-5)
  names(held) <- c("no|low", "low|mid", "mid|high", "z", sprintf("x[%d]", 1:3))
  for (family in c("sratio", "cratio")) for (link in names(F_of)) {
    fit <- galvi(y ~ z + cs(x), rows, galvi_family(family, link = link), prior = held, control = factorised)
    expect_identical(names(coef(fit)), names(held))
    mucs <- outer(rows$x, coef(fit)[5:7])
    expected <- brms_log_density(as.integer(rows$y), coef(fit)[["z"]] * rows$z, mucs, coef(fit)[1:3], family, link)
    # the coefficients' variance is 1e-10
    expect_close(unname(predict(fit, rows, type = "density")), expected, 1e-7)
    expect_close(unname(log(predict(fit)[cbind(seq_len(150), as.integer(rows$y))])), expected, 1e-7)
    eta <- coef(fit)[["z"]] * rows$z + mucs - rep(coef(fit)[1:3], each = 150)
    expect_close(unname(predict(fit, rows, type = "link")), unname(eta), 1e-10)
  }
})

test_that("the bound is that of the decisions with the same priors", {
  d <- by_hand(rows)
  opposite <- c(cloglog = "loglog", loglog = "cloglog")
  prior <- normal(0, 2)
  for (family in c("sratio", "cratio")) for (link in names(F_of)) {
    fit <- galvi(y ~ cs(x), rows, galvi_family(family, link = link), prior = list(intercept = normal(0, 3),
      default = prior), control = factorised)
    on <- if (family == "sratio" && link %in% names(opposite)) opposite[[link]] else link
    hand <- galvi(on ~ 0 + stage + stage:x, d, galvi_family("binomial", link = on),
      prior = list(stage = normal(0, 3), default = prior), control = factorised)
    # both are at their optimum to 1e-8
    expect_close(fit$elbo, hand$elbo, 1e-6)
    expect_close(unname(coef(fit)), unname(c(-1, -1, -1, 1, 1, 1) * coef(hand)), 1e-5)
    expect_close(unname(sqrt(diag(vcov(fit)))), unname(sqrt(diag(vcov(hand)))), 1e-5)
  }
})

# Columns without their means among the rows of each threshold.
within_stages <- function(X, stage) X - apply(X, 2L, function(x) ave(x, stage))

test_that("default priors are those of columns without their means at each threshold", {
  d <- by_hand(rows)
  # thresholds are flat and take up the means; a factor, shared terms, groups, smooths and offsets
  for (case in list(
    list(y ~ z + cs(x + f), ~ z, ~ x + f, NULL), list(y ~ z + cs(x) + (1 | g), ~ z, ~ x, quote((1 | g))),
    list(y ~ s(z) + cs(x), ~ 1, ~ x, quote(s(z))), list(y ~ f + cs(x:z), ~ f, ~ x:z, NULL),
    list(y ~ offset(z) + cs(x), ~ 1, ~ x, quote(offset(z)))
  )) {
    shared <- model.matrix(case[[2L]], d)[, -1, drop = FALSE]
    specific <- model.matrix(case[[3L]], d)[, -1, drop = FALSE]
    at <- outer(as.integer(d$stage), 1:3, `==`)
    X <- do.call(cbind, c(list(shared), lapply(seq_len(ncol(specific)), function(j) specific[, j] * at)))
    d$X <- within_stages(X, d$stage)
    right <- call("+", quote(0 + stage + X), case[[4L]])
    if (is.null(case[[4L]])) right <- right[[2L]]
    hand <- galvi(as.formula(call("~", quote(on), right)), d, binomial(), prior = list(stage = normal(0, Inf)))
    expect_close(galvi(case[[1L]], rows, cratio())$elbo, hand$elbo, 1e-6)
  }
})

test_that("with all effects category-specific it is stick-breaking, with opposite signs", {
  prior <- list(intercept = normal(0, 3), default = normal(0, 2))
  fit <- galvi(y ~ cs(x * f), rows, sratio(), prior = prior, control = factorised)
  other <- galvi(y ~ x * f, rows, stick_breaking(), prior = prior, control = factorised)
  expect_close(fit$elbo, other$elbo, 1e-6)
  expect_close(unname(coef(fit)), c(1, rep(-1, 5))[rep(1:6, each = 3)] * as.vector(coef(other)), 1e-5)
  expect_close(predict(fit, rows[1:5, ]), predict(other, rows[1:5, ]), 1e-3)
})

test_that("with flat priors it is the exact posterior of brms' density", {
  skip_on_cran()
  flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
  d <- by_hand(housing, housing$Sat)
  mle <- glm(on ~ 0 + stage + Type + stage:Infl, binomial("probit"), d, weights = Freq)
  fit <- galvi(Sat ~ Type + cs(Infl), housing, sratio("probit"), weights = Freq, prior = flat, control = factorised)
  at <- c("stage1", "stage2", "TypeApartment", "TypeAtrium", "TypeTerrace", "stage1:InflMedium", "stage2:InflMedium",
    "stage1:InflHigh", "stage2:InflHigh")
  sign <- c(-1, -1, rep(1, 7))
  centre <- sign * coef(mle)[at]
  root <- t(chol(sign * t(sign * vcov(mle)[at, at])))
  # importance sampling: 20,000 draws of a multivariate t
  set.seed(1)
  S <- 20000L
  Z <- matrix(rnorm(S * 9), 9) / rep(sqrt(rchisq(S, 8) / 8), each = 9)
  B <- centre + root %*% Z
  X <- model.matrix(~ Type, housing)[, -1]
  I <- model.matrix(~ Infl, housing)[, -1]
  log_posterior <- apply(B, 2L, function(b) {
    mucs <- I %*% matrix(b[6:9], 2, byrow = TRUE)
    sum(housing$Freq * brms_log_density(as.integer(housing$Sat), drop(X %*% b[3:5]), mucs, b[1:2], "sratio", "probit"))
  })
  log_weight <- log_posterior + 17 / 2 * log1p(colSums(Z^2) / 8)
  weight <- exp(log_weight - max(log_weight))
  weight <- weight / sum(weight)
  expect_gt(1 / sum(weight^2), 10000)
  mean <- drop(B %*% weight)
  sd <- sqrt(drop((B - mean)^2 %*% weight))
  expect_lt(max(abs(coef(fit) - mean) / sd), 0.1)
  expect_lt(max(abs(sqrt(diag(vcov(fit))) / sd - 1)), 0.05)
})

# ---- rows of the data ----

test_that("probabilities average over the joint posterior of all thresholds", {
  at <- data.frame(x = c(0, 1.5), z = 0.3, g = c("3", "new"))
  for (hyper in c("fixed", "integrate")) {
    fit <- galvi(y ~ z + cs(x) + (1 | g), rows, cratio(), hyper = hyper, control = if (hyper == "fixed") factorised else
      galvi_control())
    view <- stages_view(fit)
    target <- new_target(view, at)
    found <- predict(fit, at, se.fit = TRUE)
    expect_close(unname(rowSums(found$fit)), c(1, 1), 1e-12)
    # a product rule of 12 nodes for each of three thresholds
    rule <- eigen(diag(0, 12) + Reduce(`+`, lapply(1:11, function(k) {
      J <- matrix(0, 12, 12)
      J[k, k + 1] <- J[k + 1, k] <- sqrt(k)
      J
    })), symmetric = TRUE)
    node <- as.matrix(expand.grid(rule$values, rule$values, rule$values))
    weight <- apply(expand.grid(rule$vectors[1, ]^2, rule$vectors[1, ]^2, rule$vectors[1, ]^2), 1, prod)
    marginals <- latent_marginals(view, target)
    for (i in 1:2) {
      parts <- marginal_states(view, marginals)
      p <- Reduce(`+`, lapply(parts, function(state) {
        V <- matrix(state$between[i, , ], 3)
        eta <- rep(state$mean[i, ], each = nrow(node)) + tcrossprod(node, covariance_root(V) %*% diag(3)[seq_len(ncol(
          covariance_root(V))), ])
        on <- plogis(eta)
        before <- cbind(1, on[, 1], on[, 1] * on[, 2], on[, 1] * on[, 2] * on[, 3])
        c(state$weight) * colSums(weight * before * cbind(1 - on, 1))
      }))
      # 1,024 points of a low-discrepancy sequence
      expect_close(unname(found$fit[i, ]), unname(p), 5e-4)
    }
    set.seed(1)
    draws <- rstantools::posterior_epred(fit, at, ndraws = 4000)
    expect_identical(dim(draws), c(4000L, 2L, 4L))
    # four standard errors
    expect_lt(max(abs(apply(draws, 2:3, mean) - found$fit) / (found$se.fit / sqrt(4000))), 4)
    expect_lt(max(abs(apply(draws, 2:3, sd) / found$se.fit - 1)), 0.06)
  }
})

test_that("methods speak of rows of the data", {
  skip_if_not_installed("loo")
  d <- rows
  d$x[2] <- NA
  fit <- galvi(y ~ z + cs(x), d, cratio(), weights = w, na.action = na.exclude)
  used <- setdiff(row.names(rows), "r2")
  expect_identical(nobs(fit), 149L)
  expect_identical(weights(fit), setNames(replace(as.numeric(d$w), 2, NA), row.names(d)))
  expect_identical(row.names(model.frame(fit)), used)
  expect_identical(names(model.frame(fit))[1:3], c("y", "z", "x"))
  p <- predict(fit)
  expect_identical(dimnames(p), list(row.names(rows), levels(rows$y)))
  expect_true(all(is.na(p[2, ])))
  expect_close(p[-2, ], predict(fit, d[-2, ], type = "prob"), 1e-12)
  expect_identical(which(is.na(predict(fit, d)[, 1])), c(r2 = 2L))
  expect_identical(fitted(fit), p)
  class <- predict(fit, type = "class")
  expect_true(is.ordered(class))
  expect_identical(as.character(class[-2]), levels(rows$y)[max.col(p[-2, ])])
  found <- residuals(fit, "deviance")
  expect_close(unname(found[-2]), sqrt(-2 * d$w * log(p[cbind(1:150, as.integer(d$y))]))[-2], 1e-10)
  expect_close(deviance(fit), sum(residuals(fit, "deviance")^2, na.rm = TRUE), 1e-10)
  set.seed(1)
  expect_lt(abs(mean(residuals(fit, "quantile"), na.rm = TRUE)), 0.3)
  expect_error(residuals(fit, "pearson"), "numbers", class = "galvi_error_argument")
  expect_identical(names(simulate(fit, 2, seed = 1)), c("sim_1", "sim_2"))
  expect_identical(levels(simulate(fit, 1, seed = 1)$sim_1), levels(d$y))
  expect_identical(dim(rstantools::posterior_linpred(fit, ndraws = 10)), c(10L, 149L, 3L))
  y <- rstantools::posterior_predict(fit, ndraws = 400)
  expect_identical(attr(y, "levels"), levels(d$y))
  # draws of 149 rows, whose proportions are good to 0.01
  expect_close(tabulate(y, 4) / length(y), unname(colMeans(p, na.rm = TRUE)), 0.02)
  set.seed(1)
  lik <- rstantools::log_lik(fit, ndraws = 4000)
  expect_identical(dim(lik), c(4000L, 149L))
  # mean of the densities to the power of the weight one
  one <- which(d$w[-2] == 1)
  expect_close(unname(colMeans(exp(lik[, one]))), unname(p[-2, ][cbind(one, as.integer(d$y[-2])[one])]), 0.02)
  set.seed(1)
  expect_identical(rstantools::log_lik(fit, d[4:6, ], ndraws = 5), {
    set.seed(1)
    rstantools::log_lik(update(fit, weights = frequency(w)), d[4:6, ], ndraws = 5)
  })
  expect_identical(as.character(formula(fit)), as.character(y ~ z + cs(x)))
  expect_identical(attr(terms(fit), "term.labels"), c("z", "x"))
  again <- update(fit, . ~ . + f)
  expect_true(all(c("fb", "x[3]") %in% names(coef(again))))
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), d[1, ]), predict(fit, d[1, ]))
  expect_identical(family(fit)$family, "cratio")
  # the family of a fit is that without cs()
  expect_close(galvi(y ~ z, rows, fit$family)$elbo, galvi(y ~ z, rows, cratio())$elbo, 1e-10)
  expect_output(print(summary(fit)), "149 observations (1 left out", fixed = TRUE)
})

test_that("estimates do not depend on where a variable is zero", {
  there <- transform(rows, x = x + 1000)
  for (given in list(NULL, normal(0, 2), normal(0, Inf))) {
    fit <- function(data) galvi(y ~ z + cs(x), data, sratio(), prior = given, control = factorised)
    here <- fit(rows)
    moved <- fit(there)
    slopes <- c("z", sprintf("x[%d]", 1:3))
    # digits that the columns lose at 1000 sds from zero
    expect_close(coef(moved)[slopes], coef(here)[slopes], 1e-3)
    expect_close(diag(vcov(moved))[slopes], diag(vcov(here))[slopes], 1e-3)
  }
})

test_that("loo() and kfold() leave out rows with all of their decisions", {
  skip_if_not_installed("loo")
  for (formula in list(y ~ z + cs(x), y ~ cs(x) + (1 | g))) {
    fit <- galvi(formula, rows, sratio("cloglog"), hyper = "fixed", control = factorised)
    out <- loo::loo(fit)
    expect_identical(rownames(out$pointwise), row.names(rows))
    for (i in c(1, 60, 149)) {
      without <- update(fit, data = rows[-i, ])
      # Gaussian posteriors of 149 and 150 rows
      expect_close(unname(out$pointwise[i, 1]), unname(predict(without, rows[i, ], type = "density")), 0.01)
    }
    folds <- rep(1:5, 30)
    k <- loo::kfold(fit, folds = folds)
    third <- update(fit, data = rows[folds != 3, ])
    expect_close(unname(k$pointwise[folds == 3, 1]), unname(predict(third, rows[folds == 3, ], type = "density")), 0.01)
    expect_identical(rownames(k$pointwise), row.names(rows))
  }
  same <- update(fit, . ~ z + x)
  expect_no_warning(loo::loo_compare(loo::loo(fit), loo::loo(same)))
  # thresholds are integrated over in one of them, and estimated in the other
  comparison <- anova(fit, same)
  expect_identical(unname(is.na(comparison$evidence_diff)), comparison$elpd_diff != 0)
  expect_output(print(comparison), "evidence of the two kinds is not comparable")
  groups <- loo::loo(fit, group = "g", joint = TRUE)
  expect_identical(nrow(groups$pointwise), 10L)
  expect_error(loo::loo(fit, group = "g"), "joint = TRUE", class = "galvi_error_argument")
})

test_that("cavities of rows are those of refits", {
  fit <- galvi(y ~ z + cs(x), rows, cratio(), prior = list(intercept = normal(0, 3), default = normal(0, 2)),
    control = factorised)
  cavity <- cavities(stages_view(fit))
  for (i in c(5, 70)) {
    without <- stages_view(update(fit, data = rows[-i, ]))
    own <- latent_marginals(without, new_target(without, rows[i, ]))
    sd <- sqrt(own$variance[1, ])
    # sites of the other rows move a little
    expect_lt(max(abs(cavity$mean[i, ] - own$mean[1, ]) / sd), 0.05)
    expect_close(cavity$between[i, , ] / outer(sd, sd), own$between[1, , ] / outer(sd, sd), 0.05)
  }
})

test_that("effects, hypotheses, priors and plots are served", {
  fit <- galvi(y ~ z + cs(x + f), rows, sratio(), prior = list(intercept = normal(0, 4), `cs(f)` = normal(0, 1),
    `x[2]` = normal(0, 0.5)))
  expect_identical(names(coef(fit)), c("no|low", "low|mid", "mid|high", "z", paste0("x[", 1:3, "]"),
    paste0("fb[", 1:3, "]"), paste0("fc[", 1:3, "]")))
  table <- prior_summary(fit)
  expect_identical(table$prior[table$coef == "mid|high"], "normal(0, 4)")
  expect_identical(table$prior[table$coef == "fc[3]"], "normal(0, 1)")
  expect_identical(table$source[table$coef == "x[1]"], "default")
  default <- default_prior(y ~ z + cs(x), rows, family = sratio())
  expect_identical(default$coef[1:4], c("no|low", "low|mid", "mid|high", "z"))
  expect_error(update(fit, prior = list(at_means = normal(0, 1))), "`intercept`", class = "galvi_error_prior")
  found <- hypothesis(fit, c("x[1] > x[2]", "Intercept[2] = 0"))$hypothesis$Estimate
  expect_close(found, unname(c(coef(fit)["x[1]"] - coef(fit)["x[2]"], coef(fit)["low|mid"])), 1e-10)
  expect_close(hypothesis(fit, "bcs_x[3] = 0", class = NULL)$hypothesis$Estimate, unname(coef(fit)["x[3]"]), 1e-10)
  effects <- conditional_effects(fit)
  expect_named(effects, c("z", "x", "f"))
  at <- effects$x[effects$x$cats__ == "mid", ][1, ]
  # a median beside a mean
  expect_close(at$estimate__, unname(predict(fit, at)[, "mid"]), 0.02)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  for (which in c("coefficients", "residuals", "worm", "predictive", "calibration", "relevance", "trace")) {
    expect_no_error(plot(fit, which))
  }
  expect_identical(plot(fit, "relevance")$name, c("z", "x", "f"))
  expect_identical(plot(fit), plot(fit, "coefficients"))
  expect_error(plot(fit, "effects"), "conditional_effects", class = "galvi_error_argument")
  names <- c("no|low", "low|mid", "mid|high", names(coef(fit))[-(1:3)])
  expect_identical(colnames(posterior::as_draws_matrix(posterior::as_draws(fit, ndraws = 5))), names)
})

# ---- what is refused ----

test_that("what cannot be served is refused with the way round", {
  refused <- function(formula, message, class = "galvi_error_formula", family = sratio(), ...) {
    expect_error(galvi(formula, rows, family, ...), message, class = class)
  }
  for (family in list(cumulative(), acat())) {
    expect_error(galvi(y ~ z + cs(x), rows, family), "family = sratio\\(\\) and cratio\\(\\)",
      class = "galvi_error_formula")
  }
  refused(y ~ cs(1), "thresholds are category-specific")
  refused(y ~ x + (cs(1) | g), "effects of groups")
  refused(y ~ x + (cs(x) | g), "effects of groups")
  refused(y ~ cs(x):z, "can only be added")
  refused(y ~ z - cs(x), "cannot be subtracted")
  refused(y ~ cs(s(x)), "fixed effects")
  refused(y ~ cs(x, z), "one expression")
  refused(list(y ~ cs(x), disc ~ z), "one linear predictor")
  refused(y ~ cs(x), "no `thresholds`", "galvi_error_family", sratio(thresholds = c(0, 1, 2)))
  refused((x > 0) ~ cs(z), "two levels", "galvi_error_response")
  # a structure keeps its meaning
  expect_no_error(galvi_design(y ~ x + cs(0 + f | g), rows, sratio()))
  expect_error(add_data(galvi(y ~ cs(x), rows, sratio()), rows), "update", class = "galvi_error_argument")
  fit <- galvi(y ~ cs(x) + (1 | g), rows, sratio())
  expect_error(predict(fit, re_formula = "integrate"), "re_formula = NA", class = "galvi_error_argument")
  expect_error(predict(fit, covariance = TRUE), "posterior_epred", class = "galvi_error_argument")
  expect_error(hatvalues(fit), "loo", class = "galvi_error_argument")
  expect_error(galvi(y ~ cs(x), list(rows, rows), sratio()), "imputed", class = "galvi_error_data")
})
