# R squared of performance and rstantools, and variances of mixed models.

test_that("performance::r2() is the R squared of the fitted values", {
  skip_if_not_installed("performance")
  r2 <- function(...) performance::r2(...)$R2[["R2"]]
  flat <- list(intercept = normal(0, 1e4), default = normal(0, 1e4))
  fit <- galvi(mpg ~ wt + hp, mtcars, prior = flat)
  expect_equal(r2(fit), summary(lm(mpg ~ wt + hp, mtcars))$r.squared, tolerance = tol$optimum)
  weights <- rep(1:2, 16)
  fit <- galvi(mpg ~ wt + hp, mtcars, prior = flat, weights = weights)
  reference <- lm(mpg ~ wt + hp, mtcars, weights = weights)
  expect_equal(r2(fit), summary(reference)$r.squared, tolerance = tol$optimum)
  binary <- small_fit("flat")
  expect_equal(r2(binary), 1 - sum(residuals(binary)^2) / sum((mtcars$am - mean(mtcars$am))^2))
  expect_error(performance::r2(family_fit("categorical")), "loo\\(\\)", class = "galvi_error_argument")
  expect_error(performance::r2(family_fit("stochastic_volatility")), class = "galvi_error_argument")
  constant <- galvi(y ~ 1, data.frame(y = rep(1, 3)), hyper = "fixed")
  expect_error(performance::r2(constant), "zero", class = "galvi_error_argument")
})

test_that("variances, ICC and R squared of mixed models are those of lmer() and glmer()", {
  skip_if_not_installed("insight")
  skip_if_not_installed("performance")
  skip_if_not_installed("lme4")
  numbers <- function(v) {
    unlist(v[c("var.fixed", "var.random", "var.residual", "var.distribution", "var.dispersion", "var.intercept")])
  }
  twin <- rich_twins()$mixed
  expect_equal(numbers(insight::get_variance(twin$ours)), numbers(insight::get_variance(twin$theirs)), tolerance = 1e-6)
  expect_equal(insight::get_variance(twin$ours)$var.slope, insight::get_variance(twin$theirs)$var.slope,
    tolerance = 1e-6)
  expect_equal(insight::get_variance(twin$ours, component = "random"), insight::get_variance(twin$ours)$var.random)
  for (of in list(performance::r2, performance::icc)) {
    expect_equal(unlist(of(twin$ours)), unlist(of(twin$theirs)), tolerance = 1e-6)
  }
  table <- performance::model_performance(twin$ours)
  expect_equal(table$ICC, performance::icc(twin$theirs)$ICC_adjusted, tolerance = 1e-6)
})

test_that("those of counts and trials are near glmer()'s, at its variances", {
  skip_if_not_installed("insight", "1.0.0")
  skip_if_not_installed("performance")
  skip_if_not_installed("lme4")
  r2 <- function(fit) unlist(suppressWarnings(performance::r2(fit)))
  d <- lme4::cbpp
  reference <- lme4::glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), d, binomial())
  start <- c("iid(herd).variance" = as.numeric(lme4::VarCorr(reference)$herd))
  formula <- cbind(incidence, size - incidence) ~ period + (1 | herd)
  trials <- galvi(formula, d, binomial(), start = start, hyper = "fixed")
  # posterior means, not modes
  expect_equal(r2(trials), r2(reference), tolerance = 0.02)
  expect_equal(insight::get_variance(trials)$var.residual, pi^2 / 3 / mean(d$size))
  set.seed(1)
  d <- data.frame(x = rnorm(200), g = gl(20, 10), row = factor(1:200), e = runif(200, 1, 2))
  d$y <- rpois(200, d$e * exp(1 + 0.5 * d$x + rnorm(20, 0, 0.5)[d$g]))
  reference <- lme4::glmer(y ~ x + offset(log(e)) + (1 | g), d, poisson())
  start <- c("iid(g).variance" = as.numeric(lme4::VarCorr(reference)$g))
  counts <- galvi(y ~ x + offset(log(e)) + (1 | g), d, poisson(), start = start, hyper = "fixed")
  expect_equal(r2(counts), r2(reference), tolerance = 0.02)
  # a group for each observation counts as residual, and makes the mean larger
  start[["iid(row).variance"]] <- 0.2
  single <- galvi(y ~ x + offset(log(e)) + (1 | g) + (1 | row), d, poisson(), start = start, hyper = "fixed")
  shares <- insight::get_variance(single)
  expect_equal(shares$var.dispersion, 0.2)
  expect_equal(shares$var.residual, shares$var.distribution + 0.2)
  rate <- mean(exp(coef(single)[["(Intercept)"]] + coef(single)[["x"]] * d$x)) * exp(sum(start) / 2)
  expect_equal(shares$var.distribution, log1p(1 / rate))
})

test_that("get_variance() says what it is not for", {
  skip_if_not_installed("insight")
  fits <- other_fits()
  refused <- function(fit, why) {
    expect_warning(found <- insight::get_variance(fit), why, class = "galvi_warning_argument")
    expect_null(found)
    expect_warning(insight::get_variance(fit, verbose = FALSE), NA)
  }
  refused(fits$gaussian, "none.*bayes_R2")
  refused(fits$two, "one linear predictor, and this one has 2: it returns NULL")
  refused(galvi(mpg ~ gp(wt) + (1 | gear), mtcars, hyper = "fixed"), "gp\\(wt\\)")
  d <- data.frame(k = factor(rep(1:3, 6), ordered = TRUE), x = sin(1:18), g = gl(3, 6))
  refused(galvi(k ~ 1 + (1 | g), d, sratio(), hyper = "fixed"), "sratio")
  refused(galvi(k ~ cs(x) + (1 | g), d, sratio(), hyper = "fixed"), "sratio")
  heavy <- galvi(mpg ~ wt + (1 | gear), mtcars, student(df = fixed(1.5)), hyper = "fixed")
  refused(heavy, "finite")
  skip_if_not_installed("performance", "0.19.0")
  expect_null(suppressWarnings(performance::icc(fits$two)))
  # which have no shares, but fitted values
  expect_named(performance::r2(fits$two), "R2")
})

test_that("variances of shares and of ordered classes are those of glmmTMB and clmm(), at their variances", {
  skip_if_not_installed("insight", "1.0.0")
  skip_if_not_installed("lme4")
  set.seed(3)
  d <- data.frame(g = gl(25, 8), x = rnorm(200), n = sample(5:30, 200, TRUE))
  eta <- 0.5 * d$x - 0.5 + rnorm(25)[d$g]
  d$p <- rbeta(200, 8 * plogis(eta), 8 * (1 - plogis(eta)))
  d$y <- rbinom(200, d$n, d$p)
  d$f <- d$n - d$y
  d$k <- cut(eta + rlogis(200), c(-Inf, -1, 1, Inf), labels = FALSE)
  d$k <- factor(d$k, ordered = TRUE)
  # posterior means of coefficients, not modes
  expect_near <- function(ours, theirs) {
    parts <- c("var.fixed", "var.random", "var.residual", "var.distribution")
    shares <- suppressWarnings(lapply(list(ours, theirs), function(fit) unlist(insight::get_variance(fit)[parts])))
    expect_equal(shares[[1L]], shares[[2L]], tolerance = 0.03)
  }
  at <- function(sd) list(sd = fixed(signif(sd, 6L)))
  if (requireNamespace("glmmTMB", quietly = TRUE)) {
    sd_of <- function(fit) sqrt(as.numeric(glmmTMB::VarCorr(fit)$cond$g))
    theirs <- glmmTMB::glmmTMB(p ~ x + (1 | g), d, glmmTMB::beta_family())
    expect_near(galvi(p ~ x + (1 | g), d, beta_family(), prior = at(sd_of(theirs))), theirs)
    theirs <- glmmTMB::glmmTMB(cbind(y, f) ~ x + (1 | g), d, glmmTMB::betabinomial())
    expect_near(galvi(cbind(y, f) ~ x + (1 | g), d, beta_binomial(), prior = at(sd_of(theirs))), theirs)
  }
  skip_if_not_installed("ordinal")
  for (link in c("logit", "probit")) {
    theirs <- ordinal::clmm(k ~ x + (1 | g), d, link = link)
    sd <- sqrt(as.numeric(ordinal::VarCorr(theirs)$g))
    expect_near(galvi(k ~ x + (1 | g), d, cumulative(link), prior = at(sd)), theirs)
  }
})

test_that("bayes_R2() is b^2 v / (b^2 v + sigma^2) of a line, and takes trials one by one", {
  skip_if_not_installed("rstantools")
  twin <- lm_twin(dist ~ speed, cars)
  set.seed(1)
  found <- rstantools::bayes_R2(twin$ours, ndraws = 4000)
  p <- c(0.05, 0.5, 0.95)
  explained <- qnorm(p, coef(twin$ours)[[2]], sqrt(vcov(twin$ours)[2, 2]))^2 * var(cars$speed)
  expect_equal(unname(quantile(found, p)), explained / (explained + sigma(twin$theirs)^2), tolerance = 0.02)
  groups <- data.frame(x = 1:4, success = c(2, 5, 9, 14), failure = c(13, 9, 6, 1))
  ones <- data.frame(x = rep(groups$x, 2), y = rep(1:0, each = 4), w = c(groups$success, groups$failure))
  one_by_one <- galvi(y ~ x, ones[rep(1:8, ones$w), ], binomial(), prior = flat_prior)
  together <- galvi(cbind(success, failure) ~ x, groups, binomial(), prior = flat_prior)
  weighted <- galvi(y ~ x, ones, binomial(), prior = flat_prior, weights = w)
  median_of <- function(fit) median(rstantools::bayes_R2(fit, ndraws = 4000))
  expect_equal(median_of(together), median_of(one_by_one), tolerance = 0.02)
  expect_equal(median_of(weighted), median_of(one_by_one), tolerance = 0.02)
  mixed <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy)
  without <- mean(rstantools::bayes_R2(mixed, re_formula = NA))
  expect_lt(without + 0.2, mean(rstantools::bayes_R2(mixed)))
  expect_error(rstantools::bayes_R2(other_fits()$classes), "loo", class = "galvi_error_argument")
})

test_that("bayes_R2(re_formula = ) counts what differs between groups as not explained, as brms", {
  skip_if_not_installed("rstantools")
  skip_if_not_installed("performance")
  R2 <- function(fit, ...) mean(rstantools::bayes_R2(fit, ...))
  fit <- galvi(Reaction ~ Days + (Days | Subject), sleepstudy)
  mean <- rstantools::posterior_epred(fit, re_formula = NA, seed = 1)
  of_brms <- apply(mean, 1L, var) / (apply(mean, 1L, var) + apply(sleepstudy$Reaction - t(mean), 2L, var))
  set.seed(2)
  expect_equal(R2(fit, re_formula = NA), mean(of_brms), tolerance = 0.03)
  expect_equal(R2(fit, re_formula = NA), performance::r2(fit)$R2_marginal[[1L]], tolerance = 0.1)
  expect_equal(R2(fit, re_formula = ~ (Days | Subject)), R2(fit), tolerance = 0.01)
  # trials one by one, and without groups all is as it was
  d <- data.frame(x = rep(1:4, 2), g = gl(4, 2), yes = c(2, 5, 9, 14, 1, 8, 8, 12), no = c(13, 9, 6, 1, 10, 9, 7, 2))
  ones <- data.frame(d[c("x", "g")], y = rep(1:0, each = 8), n = c(d$yes, d$no))
  sd <- list("(1 | g)" = list(sd = fixed(1)))
  together <- galvi(cbind(yes, no) ~ x + (1 | g), d, binomial(), prior = sd)
  apart <- galvi(y ~ x + (1 | g), ones[rep(1:16, ones$n), ], binomial(), prior = sd)
  expect_equal(R2(together, re_formula = NA), R2(apart, re_formula = NA), tolerance = 0.05)
  plain <- galvi(dist ~ speed, cars)
  expect_equal(R2(plain, re_formula = NA), R2(plain), tolerance = 0.03)
})

test_that("loo_R2() is that of the residuals of lm() without each row", {
  skip_if_not_installed("rstantools")
  twin <- lm_twin(mpg ~ wt + cyl)
  set.seed(1)
  found <- rstantools::loo_R2(twin$ours, ndraws = 4000)
  left_out <- residuals(twin$theirs) / (1 - hatvalues(twin$theirs))
  # the bootstrap's mean is within a tenth of its sd
  expect_lt(abs(median(found) - (1 - var(left_out) / var(mtcars$mpg))), 0.2 * sd(found))
  expect_error(
    rstantools::loo_R2(galvi(cbind(ncases, ncontrols) ~ 1, esoph, binomial())), "trials",
    class = "galvi_error_argument"
  )
})

test_that("the residual variance of counts is at their mean over the groups", {
  set.seed(3)
  d <- data.frame(x = rnorm(40), g = gl(8, 5))
  d$y <- rpois(40, exp(d$x))
  fit <- galvi(y ~ x + (1 | g), d, poisson(), hyper = "fixed")
  eta <- rnorm(2000, 0.4, 0.3)
  # the mean of exp(eta + u) with u of variance 0.8, by which log y has the variance log(1 + 1 / mean)
  mean <- integrate(function(u) vapply(u, function(u) mean(exp(eta + u)), 0) * dnorm(u, 0, sqrt(0.8)), -8, 8)$value
  expect_equal(observation_variance(fit, eta, 0.8), log1p(1 / mean), tolerance = 1e-6)
  share <- galvi(am ~ wt, mtcars, binomial("cloglog"), hyper = "fixed")
  # of a standard Gumbel variable
  expect_equal(observation_variance(share, 0, 0), pi^2 / 6)
})
