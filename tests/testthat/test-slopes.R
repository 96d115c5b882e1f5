# (1 + x | g), (x || g), nested groups: against lme4, textbook algebra and gold values.

flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
exactly <- galvi_control(threads = 1, hyper_tol = 1e-9)
learn_sleep <- function(formula, ...) galvi(formula, sleepstudy, prior = c(flat, ...), control = exactly)

bacteria <- function() {
  d <- transform(MASS::bacteria, w = week / 2, y = as.numeric(y == "y"))
  d$trt <- factor(d$trt, c("placebo", "drug", "drug+"))
  d
}
wide <- list(intercept = normal(0, 10), default = normal(0, 10))

some_groups <- function(n = 60, groups = 12, seed = 1) {
  set.seed(seed)
  d <- data.frame(g = factor(sample(groups, n, TRUE)), x = rnorm(n), z = rnorm(n),
    f = factor(sample(letters[1:3], n, TRUE)))
  b <- matrix(rnorm(3 * groups), groups)
  d$y <- 1 + b[d$g, 1] + (b[d$g, 1] + b[d$g, 2]) * d$x / 2 + b[d$g, 3] * d$z + rnorm(n) / 2
  d$k <- rpois(n, exp(d$y / 3))
  d
}

# ---- against lme4's REML ----

test_that("with flat priors the evidence is lme4's restricted likelihood, at the same estimates", {
  correlated <- learn_sleep(Reaction ~ Days + (1 + Days | Subject), list(cor = NULL))
  expect_close(correlated$elbo, -871.81413598, tol$elbo)
  expect_close(as.data.frame(VarCorr(correlated))$sdcor, c(24.7404476, 5.9221333, 0.0655513, 25.5918159), tol$optimum)
  expect_close(fixef(correlated), c(251.40510485, 10.46728596), tol$optimum)
  independent <- learn_sleep(Reaction ~ Days + (Days || Subject))
  expect_close(independent$elbo, -871.83464679, tol$elbo)
  expect_close(as.data.frame(VarCorr(independent))$sdcor, c(25.05132964, 5.98817182, 25.56528515), tol$optimum)
})

test_that("(x || g) is independent terms, and (1 | a/b) nested ones", {
  d <- some_groups()
  fixed_sds <- c(wide, list(sd = c(1.5, 0.5)))
  factorised <- galvi_control(uncertainty = "factorised")
  bars <- galvi(k ~ x + (1 + x || g), d, poisson(), prior = fixed_sds, control = factorised)
  terms <- galvi(k ~ x + iid(g, fixed(1.5^2)) + iid(g, fixed(0.25), by = x), d, poisson(), prior = wide,
    control = factorised)
  expect_close(bars$elbo, terms$elbo, tol$elbo)
  expect_close(ranef(bars)[[1]]$mean.x, ranef(terms)[[2]]$mean, tol$optimum)
  labels <- function(formula) galvi_model(galvi_design(formula, d))$design$labels
  expect_identical(labels(y ~ (1 | f/g)), c("fixed", "iid(f)", "iid(f:g)"))
  expect_identical(labels(y ~ (x | f/g)), c("fixed", "(x | f)", "(x | f:g)"))
  expect_identical(labels(y ~ (1 || g)), c("fixed", "iid(g)"))
})

# ---- against gold values of the bound ----

test_that("the bound of binary responses is the gold value, and so is its gradient", {
  held <- list("(1 + w | ID)" = list(sd = c(1.2, 0.4), cor = -0.3))
  fit <- galvi(y ~ trt + w + (1 + w | ID), bacteria(), binomial(), prior = c(wide, held))
  expect_close(fit$elbo, -112.6476542441, tol$elbo)
  model <- galvi_model(galvi_design(y ~ trt + w + (1 + w | ID), bacteria(), binomial()), prior = c(wide, held))
  at <- grep("ID", model$hyper$name)
  bound <- function(x) {
    model$hyper$value[at] <- c(exp(x[1:2]), tanh(x[3]))
    bound_at(model, model$hyper$value)$elbo
  }
  gradient <- central_gradient(bound, c(log(c(1.2, 0.4)), atanh(-0.3)))
  expect_close(gradient, c(0.32811914, 0.20088138, 2.45555293), tol$gradient)
})

test_that("with an LKJ prior the singular fit of lme4 is none", {
  fit <- galvi(y ~ trt + w + (1 + w | ID), bacteria(), binomial(), control = exactly,
    prior = c(wide, list(sd = half_normal(1), cor = lkj(2))))
  expect_close(fit$hyper$estimate[grep("ID", fit$hyper$name)], c(0.95321, 0.47241, 0.12695), tol$optimum)
  # the gold objective leaves the priors' normalising constants out
  constant <- 2 * log(2 / sqrt(2 * pi)) + log(3 / 4)
  expect_close(fit$elbo + fit$log_prior, -113.477770 + constant, tol$gradient)
})

# ---- the field and its hyperparameters ----

test_that("a term's prior is that of a normal vector for each group", {
  d <- some_groups()
  found <- field_of(y ~ (1 + x + z | g), d, prior = list(sd = c(2, 1, 0.5), cor = c(0.5, -0.3, 0.2)))
  R <- diag(3)
  R[lower.tri(R)] <- c(0.5, -0.3, 0.2)
  R <- R + t(R) - diag(3)
  S <- diag(c(2, 1, 0.5)) %*% R %*% diag(c(2, 1, 0.5))
  W <- cbind(1, d$x, d$z)
  wanted <- (W %*% S %*% t(W)) * outer(d$g, d$g, "==")
  typed <- list(sd = half_normal(1))
  rows <- galvi_model(galvi_design(y ~ (1 + x + z | g), d), prior = typed)$designs[[1]][[2]]
  expect_identical(dim(rows$node), c(60L, 3L))
  expect_close(rows$weight, W)
  model <- galvi_model(galvi_design(y ~ 0 + (1 + x + z | g), d),
    prior = list(sd = c(2, 1, 0.5), cor = c(0.5, -0.3, 0.2)))
  model$hyper$value[model$hyper$name == "gaussian.variance"] <- 0.5
  V <- wanted + diag(0.5, 60)
  log_density <- -0.5 * (60 * log(2 * pi) + determinant(V)$modulus + sum(d$y * solve(V, d$y)))
  expect_close(bound_at(model, model$hyper$value)$elbo, log_density, tol$elbo)
  expect_identical(found$spec$structure, "us")
})

test_that("gradients in sds and correlations are those of the bound, for three effects too", {
  d <- some_groups()
  for (formula in list(y ~ x + (1 + x + z | g), k ~ x + (0 + f | g), k ~ (x + z || g), y ~ gp(x) + (x + z | g))) {
    family <- if (formula[[2]] == "k") poisson() else gaussian()
    model <- galvi_model(galvi_design(formula, d, family), prior = list(sd = half_normal(1), cor = lkj(1.5)))
    first <- model$hyper$name[grep("[.]cor[.]", model$hyper$name)]
    model$hyper$value[model$hyper$name %in% first] <- c(0.4, -0.2, 0.3)[seq_along(first)]
    fit <- fit_model(model, "auto", "optimise", quiet_control(hyper_iterations = 400, hyper_tol = 1e-8), NULL)
    expect_true(fit$converged, info = deparse(formula))
    # at the optimum no small step on the unconstrained scale raises the objective
    at <- which(model$hyper$learned & !fit$at_bound)
    model$hyper$learned[] <- FALSE
    objective <- function(h) bound_at(model, h)$elbo
    prior <- function(h) {
      R <- diag(3)
      cor <- h[model$hyper$name %in% first]
      if (length(cor)) R[upper.tri(R)] <- cor
      R <- R + t(R) - diag(3)
      sds <- h[grep("[|].*[.]sd[.]", model$hyper$name)]
      half <- sum(-sds^2 / 2 + log(sds))
      if (!length(cor)) return(half)
      z <- transform_arguments(c("atanh", "partial", "partial"), cor)
      # |R|^(eta - 1), the volume of partial correlations and of tanh
      half + 0.5 * log(det(R)) + 0.5 * sum(log1p(-z[1:2]^2)) + sum(log1p(-z^2))
    }
    along <- function(j) {
      h <- fit$hyper
      step <- 1e-4 * max(abs(h[j]), 0.1)
      move <- function(s) replace(h, j, h[j] + s)
      (objective(move(step)) + prior(move(step)) - objective(move(-step)) - prior(move(-step))) / (2 * step)
    }
    of_groups <- intersect(at, grep("[|]", model$hyper$name))
    sds <- grep("[.]sd[.]", model$hyper$name[of_groups])
    # of sds and the noise on the log scale
    expect_true(all(abs(vapply(of_groups[sds], along, 0) * fit$hyper[of_groups[sds]]) < 1e-3), info = deparse(formula))
  }
})

test_that("correlations go to partial ones and back, and no others are taken", {
  z <- c(0.3, -0.6, 0.8, 0.2, -0.1, 0.5)
  transforms <- c("atanh", rep("partial", 5))
  L <- matrix(0, 4, 4)
  at <- 0
  for (i in 1:4) {
    left <- 1
    for (j in seq_len(i - 1)) {
      at <- at + 1
      L[i, j] <- z[at] * sqrt(left)
      left <- left - L[i, j]^2
    }
    L[i, i] <- sqrt(left)
  }
  R <- tcrossprod(L)
  r <- t(R)[upper.tri(R)]
  expect_close(transform_arguments(transforms, r), z)
  expect_true(anyNA(transform_arguments(transforms[1:3], c(0.9, 0.9, -0.9))))
  d <- some_groups()
  refused <- function(cor) {
    expect_error(galvi(y ~ (1 + x + z | g), d, prior = list(cor = cor)), "do not make a correlation matrix",
      class = "galvi_error_prior")
  }
  refused(c(0.9, 0.9, -0.9))
  refused(c(1, 0, 0))
  fit <- galvi(y ~ (1 + x + z | g), d)
  start <- stats::setNames(c(0.9, 0.9, -0.9), grep("cor", fit$hyper$name, value = TRUE))
  expect_error(update(fit, start = start), "valid correlation matrix", class = "galvi_error_argument")
  again <- update(fit, start = fit)
  expect_close(again$elbo, fit$elbo, tol$gradient)
})

test_that("LKJ is a density of correlation matrices", {
  # of one correlation: (1 - r^2)^(eta - 1) / B, with the slope of tanh
  for (eta in c(1, 2, 5)) {
    prior <- list(type = "lkj", shape = eta)
    mass <- integrate(function(x) exp(vapply(x, function(x) {
      bound_at(prior_only_model(prior, "atanh", tanh(x), -1 + 1e-12, 1 - 1e-12), c(1, tanh(x)), NULL,
        "fixed_point")$log_prior
    }, 0)), -12, 12, rel.tol = 1e-8)$value
    expect_close(mass, 1, tol$gradient)
  }
})

# ---- what is asked of a fit ----

test_that("ngrps() is lme4's", {
  skip_if_not_installed("lme4")
  formula <- Reaction ~ Days + (Days | Subject) + (1 | half)
  d <- transform(sleepstudy, half = Days > 4)
  expect_mapequal(lme4::ngrps(galvi(formula, d, hyper = "fixed")), c(Subject = 18L, half = 2L))
  expect_mapequal(lme4::ngrps(suppressMessages(lme4::lmer(formula, d))), c(Subject = 18L, half = 2L))
  # a grouping once, whatever has it
  both <- galvi(list(Reaction ~ Days + (1 | Subject), sigma ~ (1 | Subject)), d, hyper = "fixed")
  expect_identical(lme4::ngrps(both), c(Subject = 18L))
  expect_length(lme4::ngrps(galvi(Reaction ~ Days, d)), 0L)
})

test_that("effects as a table have lme4's columns, and fits without covariances say where theirs are", {
  skip_if_not_installed("lme4")
  d <- sleepstudy
  ours <- ranef(galvi(Reaction ~ Days + (Days | Subject), d), condVar = TRUE)
  theirs <- as.data.frame(lme4::ranef(lme4::lmer(Reaction ~ Days + (Days | Subject), d)))
  table <- as.data.frame(ours)
  expect_identical(table[c("term", "grp")], theirs[c("term", "grp")])
  expect_identical(names(table), names(theirs))
  expect_identical(table$condval, c(ours$Subject[[1L]], ours$Subject[[2L]]))
  expect_close(table$condsd[c(2, 20)]^2, diag(attr(ours$Subject, "postVar")[, , 2L]))
  fit <- galvi(Reaction ~ Days + ou(Days | Subject), d, hyper = "fixed")
  for (f in list(VarCorr, ranef)) {
    expect_error(f(fit), "fit$hyper has the variance", fixed = TRUE, class = "galvi_error_argument")
  }
  fit <- galvi(Reaction ~ rr(Days | Subject, d = 1), transform(d, Days = factor(Days)), hyper = "fixed")
  expect_error(VarCorr(fit), "loadings(fit)", fixed = TRUE, class = "galvi_error_argument")
})

test_that("effects as a table need no covariances, and say which class, slope and column they are of", {
  fit <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy, hyper = "fixed")
  expect_equal(as.data.frame(ranef(fit)), as.data.frame(ranef(fit, condVar = TRUE)), tolerance = tol$solve)
  d <- some_groups()
  table <- as.data.frame(ranef(galvi(y ~ iid(g, by = x) + rw1(t), transform(d, t = rep_len(1:7, nrow(d))), hyper = "fixed")))
  expect_identical(unique(table[c("grpvar", "term")]), data.frame(
    grpvar = c("g", "rw1(t)"), term = factor(c("x", "(Intercept)"), levels = c("x", "(Intercept)")),
    row.names = c(1L, 1L + nlevels(factor(d$g)))
  ))
  classes <- galvi(Species ~ iid(k), transform(iris, k = rep(1:3, 50)), categorical(), hyper = "fixed")
  table <- as.data.frame(ranef(classes))
  expect_identical(levels(table$term), paste0(levels(iris$Species), ":(Intercept)"))
  expect_identical(table$condval[5], ranef(classes)[[1L]][2L, "mean.versicolor"])
  columns <- as.data.frame(ranef(galvi(mpg ~ gp(wt, hp, kernel = linear()), mtcars, hyper = "fixed")))
  expect_identical(as.character(columns$term), c("wt", "hp"))
  none <- as.data.frame(ranef(galvi(mpg ~ wt, mtcars)))
  expect_identical(dim(none), c(0L, 5L))
})

test_that("coefficients of the levels of a group are those of lme4's coef()", {
  skip_if_not_installed("lme4")
  formulas <- list(
    Reaction ~ Days + (Days | Subject), Reaction ~ (0 + Days | Subject), Reaction ~ 1 + (Days || Subject)
  )
  for (formula in formulas) {
    theirs <- coef(suppressMessages(lme4::lmer(formula, sleepstudy)))$Subject
    ours <- coef(galvi(formula, sleepstudy), group = "Subject")
    expect_identical(row.names(ours), row.names(theirs))
    expect_setequal(names(ours), names(theirs))
    # estimates are posterior means, with the variances of the bound's maximum
    expect_equal(as.matrix(ours[names(theirs)]), as.matrix(theirs), tolerance = 0.01)
  }
  # the sd's predictor has columns of its own
  fit <- galvi(list(Reaction ~ Days + (0 + Days | Subject), sigma ~ (1 | Subject)), sleepstudy, hyper = "fixed")
  ours <- coef(fit, group = "Subject")
  expect_named(ours, c("(Intercept)", "Days", "sigma_(Intercept)"))
  expect_equal(ours$Days, coef(fit)[["Days"]] + ranef(fit)$Subject$mean.Days)
  expect_error(coef(fit, group = "Days"), "this fit has \"Subject\"", class = "galvi_error_argument")
  expect_error(coef(galvi(mpg ~ wt, mtcars), group = "g"), "has none", class = "galvi_error_argument")
})

test_that("coef(group = ) of classes adds the effects of each", {
  set.seed(3)
  d <- data.frame(x = rnorm(90), g = factor(rep(1:6, 15)))
  d$k <- factor(sample(letters[1:3], 90, TRUE))
  fit <- galvi(k ~ x + (1 + x | g), d, categorical(refcat = "a"),
    prior = list(sd = fixed(c(0.8, 0.5)), cor = fixed(0.3)))
  ours <- coef(fit, group = "g")
  expect_named(ours, c("b:(Intercept)", "b:x", "c:(Intercept)", "c:x"))
  alone <- galvi(k ~ 1 + (1 | g), d, categorical())
  expect_equal(unname(as.matrix(coef(alone, group = "g"))),
    unname(as.matrix(ranef(alone)$g[1:3])) + rep(as.vector(coef(alone)), each = 6L), tolerance = tol$identity)
  expect_named(coef(galvi(k ~ 0 + (1 | g), d, categorical()), group = "g"), paste0(c("a", "b", "c"), ":(Intercept)"))
  effects <- ranef(fit)$g[paste0("mean.", names(ours))]
  expect_equal(unname(as.matrix(ours)), unname(as.matrix(effects)) + rep(as.vector(t(coef(fit))), each = 6L),
    tolerance = tol$identity)
})

test_that("VarCorr() and ranef() have lme4's shape", {
  fit <- learn_sleep(Reaction ~ Days + (1 + Days | Subject), list(cor = NULL))
  v <- VarCorr(fit)
  expect_named(v, "Subject")
  expect_close(attr(v$Subject, "stddev")^2, diag(v$Subject))
  expect_close(attr(v, "sc"), sigma(fit))
  expect_output(print(v), "Subject  \\(Intercept\\) 24\\.7[0-9]* *\n *Days +5\\.9[0-9]+ +0\\.066")
  expect_named(as.data.frame(v), c("grp", "var1", "var2", "vcov", "sdcor", "lwr", "upr"))
  expect_identical(as.data.frame(v, order = "lower.tri")$var2, c(NA, "Days", NA, NA))
  # intervals are those of the hyperparameters
  limits <- as.data.frame(VarCorr(fit, sigma = 2, level = 0.8))
  hyper <- hyper_at_level(fit, 0.8)
  at <- grep("sd|cor", hyper$name[hyper$status != "fixed"])
  hyper <- hyper[hyper$status != "fixed", ]
  for (side in c("lwr", "upr")) {
    residual <- sqrt(hyper[[side]][hyper$name == "gaussian.variance"])
    expect_close(limits[[side]], c(2, 2, 1, 2) * c(hyper[[side]][at], residual))
  }
  # variances at the estimated hyperparameters
  fit <- at_estimates(fit)
  effects <- ranef(fit, condVar = TRUE)$Subject
  expect_identical(dim(effects), c(18L, 2L))
  V <- attr(effects, "postVar")
  expect_identical(dim(V), c(2L, 2L, 18L))
  # textbook: (Omega + X'X / sigma^2 + ..) with the fixed effects integrated out
  X <- cbind(1, 0:9)
  S <- unclass(v$Subject)[1:2, 1:2]
  Vy <- X %*% S %*% t(X) + diag(sigma(fit)^2, 10)
  B <- S %*% t(X) %*% solve(Vy)
  fixed <- solve(18 * t(X) %*% solve(Vy, X))
  expect_close(V[, , 1], S - B %*% X %*% S + B %*% X %*% fixed %*% t(X) %*% t(B), tol$solve)
  plain <- ranef(fit)$Subject
  expect_close(plain$mean.Days, effects$Days, tol$solve)
  expect_close(plain$sd.Days^2, V[2, 2, ], tol$solve)
  nested <- galvi(y ~ iid(g) + iid(g, by = x), some_groups())
  expect_named(VarCorr(nested), c("g", "g.1"))
  expect_named(ranef(nested, condVar = TRUE), c("g", "g.1"))
  # two terms of one factor keep their labels
  expect_named(ranef(nested), c("iid(g)", "iid(g, by = x)"))
  crossed <- galvi(y ~ (1 | g) + (1 | f), some_groups())
  expect_named(ranef(crossed), c("g", "f"))
  expect_named(ranef(crossed, condVar = TRUE), c("g", "f"))
  expect_error(VarCorr(galvi(y ~ x, some_groups())), "no random effects", class = "galvi_error_argument")
})

test_that("re_formula leaves effects out, and their variables need not be there", {
  fit <- galvi(Reaction ~ Days + (1 + Days | Subject), sleepstudy)
  new <- data.frame(Days = 0:3)
  expect_close(predict(fit, new, re_formula = NA), coef(fit)[1] + coef(fit)[2] * 0:3, tol$solve)
  b <- ranef(fit)[[1]]
  intercepts <- coef(fit)[1] + coef(fit)[2] * 0:9 + b[1, 1]
  expect_close(predict(fit, re_formula = ~ (1 | Subject))[1:10], intercepts, tol$solve)
  expect_close(fitted(fit, re_formula = ~ (Days | Subject)), fitted(fit), tol$solve)
  expect_close(fitted(fit, re_formula = ~ (0 + Days | Subject))[10], sum(coef(fit) * c(1, 9)) + 9 * b[1, 2], tol$solve)
  one <- predict(fit, sleepstudy[3, ], type = "link", re_formula = NA, se.fit = TRUE)
  expect_close(one$se.fit^2, drop(c(1, 2) %*% vcov(fit) %*% c(1, 2)), tol$solve)
  expect_identical(names(simulate(fit, 2, seed = 1, re_formula = NA)), c("sim_1", "sim_2"))
  expect_error(predict(fit, new), "no column `Subject`", class = "galvi_error_newdata")
  for (bad in list(~Days, ~ (1 | other), ~ (w | Subject), 3)) {
    expect_error(predict(fit, re_formula = bad), class = "galvi_error_argument")
  }
  both <- galvi(y ~ (1 | f) + iid(g) + gp(x), some_groups())
  kept <- predict(both, re_formula = ~ iid(g), type = "terms")
  expect_true(all(kept[, "iid(f)"] == 0) && any(kept[, "iid(g)"] != 0) && any(kept[, "gp(x)"] != 0))
})

test_that("a new level has its effects from the prior, jointly", {
  new <- data.frame(Days = c(0, 9), Subject = "new")
  X <- cbind(1, c(0, 9))
  variances <- function(uncertainty) {
    fit <- galvi(Reaction ~ Days + (1 + Days | Subject), sleepstudy, control = galvi_control(uncertainty = uncertainty))
    # averages over the states, if there are several
    S <- Reduce(`+`, Map(`*`, state_weights(fit), by_state(fit, function(view) {
      unclass(VarCorr(view)$Subject)[1:2, 1:2]
    })))
    V <- predict(fit, new, type = "link", covariance = TRUE)$covariance
    expect_close(V, X %*% (S + vcov(fit)) %*% t(X), tol$solve)
    V
  }
  # that they are estimates counts
  expect_true(all(diag(variances("auto")) > diag(variances("factorised"))))
})

test_that("draws follow the joint posterior of a row's effects", {
  fit <- galvi(Reaction ~ Days + (1 + Days | Subject), sleepstudy)
  draws <- as.matrix(simulate(fit, 2000, seed = 1))
  limits <- predict(fit, interval = "prediction")
  wanted <- (limits[, "upr"] - limits[, "lwr"]) / (2 * qnorm(0.975))
  # 2000 draws: sds within 6 of their standard errors
  expect_true(all(abs(apply(draws, 1, sd) / wanted - 1) < 6 / sqrt(4000)))
})

test_that("plots, tables and second predictors know the effects by name", {
  d <- some_groups(120)
  fit <- galvi(list(y ~ x, sigma ~ (1 + x | g)), d)
  expect_named(VarCorr(fit), "g")
  expect_identical(rownames(VarCorr(fit)$g), c("sigma_(Intercept)", "sigma_x"))
  expect_true("sigma.(1 + x | g).cor.(Intercept).x" %in% fit$hyper$name)
  fit <- galvi(y ~ (1 + x | g), d)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  panels <- plot(fit, terms = "(1 + x | g)")
  expect_named(panels, c("(1 + x | g): (Intercept)", "(1 + x | g): x"))
  skip_if_not_installed("generics")
  table <- generics::tidy(fit, "ran_vals")
  expect_identical(table$term[1:2], c("(Intercept)", "x"))
  expect_identical(table$level[1:2], c("1", "1"))
})

# ---- priors and refusals ----

test_that("priors are given for all terms, for one, or for an effect", {
  d <- some_groups()
  hyper <- function(prior) {
    table <- galvi_model(galvi_design(y ~ (x | g) + (z | f), d), prior = prior)$hyper
    at <- grep("|", table$name, fixed = TRUE)
    data.frame(name = table$name, learned = table$learned, prior = vapply(table$prior, function(p) {
      if (is.null(p)) "" else p$type
    }, ""))[at, ]
  }
  default <- hyper(NULL)
  expect_identical(default$prior, rep("", 6))
  expect_identical(hyper(list(cor = NULL))$prior, rep("", 6))
  own <- hyper(list("(x | g)" = list(sd = list(x = pc(1)), cor = 0.5), sd = half_normal(1)))
  expect_identical(own$prior, c("", "pc", "", "half_normal", "half_normal", ""))
  expect_identical(own$learned, c(TRUE, TRUE, FALSE, TRUE, TRUE, TRUE))
  named <- transform(d, sd = x)
  expect_identical(galvi(y ~ sd + (x | g), named, prior = list(sd = normal(0, 3)))$prior$sd, normal(0, 3))
  for (bad in list(list(sd = lkj(1)), list(sd = -1), list(sd = c(1, 2, 3)), list(sd = list(w = 1)), list(cor = "a"),
    list(cor = c(0.1, 0.2)), list("(x | g)" = 3), list("(w | g)" = list(sd = 1)), list("(x | g)" = list(r = 1)))) {
    expect_error(hyper(bad), class = "galvi_error_prior", info = deparse1(bad))
  }
})

test_that("ar1() of one group is the series ar1()", {
  d <- data.frame(t = 1:25, f = factor(1:25), g = factor(1), y = as.vector(scale(lh[1:25])))
  expect_silent(fit <- galvi(y ~ ar1(0 + f | g), d))
  series <- galvi(y ~ ar1(t), d)
  expect_close(fit$elbo, series$elbo, 1e-6)
  expect_close(predict(fit), predict(series), 1e-2)
  expect_error(galvi(y ~ hetar1(0 + f | g), d), "one level only", class = "galvi_error_data")
})

test_that("what varies by group has to be told apart", {
  d <- transform(some_groups(), one = 1, text = "a", twice = 2 * x)
  refused <- function(formula, message, what) {
    expect_error(galvi(formula, d), message, class = paste0("galvi_error_", what))
  }
  refused(y ~ (1 | g) + iid(g), "have the same effects", "formula")
  refused(y ~ (x | g) + (1 | g), "have the same effects", "formula")
  refused(y ~ (x | g) + iid(g, by = x), "have the same effects", "formula")
  refused(y ~ (x + twice | g), "linearly dependent effects: `twice`", "data")
  refused(y ~ (one | g), "linearly dependent", "data")
  refused(y ~ (x | one), "one level only", "data")
  refused(y ~ (text | g), "one level only", "data")
  refused(y ~ (0 | g), "no effect left of the bar", "formula")
  refused(y ~ (. | g), "not supported: name the variables", "formula")
  refused(y ~ (gp(x) | g), "cannot be left of the bar", "formula")
  refused(y ~ (x | g + f), "one term for each grouping", "formula")
  refused(y ~ (x + offset(z) | g), "offset", "formula")
  refused(y ~ x | g, "in parentheses", "formula")
  d$x[2] <- NA
  expect_identical(nobs(galvi(y ~ (x | g), d)), 59L)
})

# ---- copies with hyperparameters of their own ----

test_that("by_hyper = \"each\" is a term for each level", {
  set.seed(2)
  d <- data.frame(t = rep(1:20, 3), f = factor(rep(c("a", "b", "c"), each = 20)))
  d$y <- c(1, 3, 2)[d$f] + unlist(lapply(c(0.1, 0.5, 1), function(s) cumsum(rnorm(20, 0, s)))) + rnorm(60) / 4
  d$k <- rpois(60, exp(d$y / 3))
  graph <- lapply(1:20, function(k) setdiff(c(k - 1L, k + 1L), c(0L, 21L)))
  d[c("a", "b", "c")] <- lapply(levels(d$f), function(l) as.numeric(d$f == l))
  for (term in c("rw1(t%s)", "rw2(t%s)", "ar1(t%s)", "iid(t%s)", "gmrf(t, graph, model = \"bym2\"%s)")) {
    each <- stats::as.formula(sprintf(paste("k ~ f +", term), ", by = f, by_hyper = \"each\""), environment())
    shared <- stats::as.formula(sprintf(paste("k ~ f +", term), ", by = f"), environment())
    one <- galvi_model(galvi_design(each, d, poisson()), hyper = "fixed")
    own <- grep("[", one$hyper$name, fixed = TRUE)
    expect_gte(length(own), 3L)
    expect_length(unique(one$hyper$term[own]), 1L)
    all <- galvi_model(galvi_design(shared, d, poisson()), hyper = "fixed")
    expect_close(bound_at(one, one$hyper$value)$elbo, bound_at(all, all$hyper$value)$elbo, tol$elbo)
    # the bound rises along its gradient: learning with a hyperparameter for each level is no worse
    expect_gte(galvi(each, d, poisson())$elbo, galvi(shared, d, poisson())$elbo - tol$gradient)
  }
  fit <- galvi(y ~ f + rw1(t, by = f, by_hyper = "each"), d)
  at <- grep("[", fit$model$hyper$name, fixed = TRUE)
  expect_identical(fit$model$hyper$name[at], sprintf("rw1(t, by = f)[%s].variance", levels(d$f)))
  expect_true(fit$convergence$converged)
  gradient <- central_gradient(function(x) {
    model <- galvi_model(galvi_design(y ~ f + rw1(t, by = f, by_hyper = "each"), d))
    model$hyper$learned[] <- FALSE
    bound_at(model, replace(fit$posterior$hyper, at, exp(x)))$elbo
  }, log(fit$posterior$hyper[at]))
  expect_true(all(abs(gradient) < 1e-2))
  expect_true(all(is.finite(predict(fit, data.frame(t = 21:23, f = "b")))))
  for (bad in list(y ~ rw1(t, by_hyper = "each"), y ~ rw1(t, by = k, by_hyper = "each"),
    y ~ rw1(t, by = f, by_hyper = "some"))) {
    expect_error(galvi(bad, d), class = "galvi_error_argument")
  }
})

test_that("groups a:b have the labels and the order of lme4", {
  skip_if_not_installed("lme4")
  set.seed(1)
  d <- expand.grid(a = c("b2", "b1", "b3"), b = c("z", "x", "y"), r = 1:4)
  d$y <- rnorm(nrow(d)) + rnorm(9)[as.integer(interaction(d$a, d$b))]
  as_text <- transform(d, a = as.character(a), b = as.character(b))[-(1:3), ]
  for (d in list(d, transform(as_text, a = as.integer(factor(a)) * 5L), as_text)) {
    ours <- ranef(galvi(y ~ 1 + (1 | a:b), d, hyper = "fixed"))[["a:b"]]
    theirs <- lme4::ranef(suppressMessages(lme4::lmer(y ~ 1 + (1 | a:b), d)))[["a:b"]]
    expect_identical(rownames(ours), rownames(theirs))
  }
})
