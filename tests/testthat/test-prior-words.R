# Priors by the names of Stan, brms, glmmTMB and rstanarm.

brms_row <- function(prior, class = "b", coef = "", group = "", dpar = "") {
  data.frame(prior = prior, class = class, coef = coef, group = group, dpar = dpar, resp = "", nlpar = "")
}
hyper_types <- list(
  list(type = "half_student_t", df = 3, scale = 2.5), list(type = "half_cauchy", scale = 2),
  list(type = "truncated_normal", mean = 1, sd = 2), list(type = "truncated_normal", mean = -1, sd = 0.5),
  list(type = "truncated_student_t", df = 4, location = 1, scale = 2), list(type = "exponential", rate = 1.5),
  list(type = "gamma", shape = 2, rate = 0.5), list(type = "inv_gamma", shape = 3, scale = 2)
)

test_that("densities of positive numbers integrate to one, of roots too, and have their derivatives", {
  for (prior in hyper_types) for (root in c(FALSE, TRUE)) {
    if (root) prior$quantity <- "root"
    # on the log scale, as the optimiser has them: the Jacobian is theta
    on_log <- function(x) exp(probe_prior_density(prior, exp(x))[, 1] + x)
    total <- sum(vapply(seq(-60, 58, 2), function(a) integrate(on_log, a, a + 2, rel.tol = 1e-10)$value, 0))
    # the tails of a Cauchy beyond exp(60) are below 1e-13 for roots and numbers alike
    near(total, 1, 1e-8, prior$type)
    theta <- c(0.05, 0.7, 3, 20)
    h <- 1e-6 * theta
    slope <- (probe_prior_density(prior, theta + h)[, 1] - probe_prior_density(prior, theta - h)[, 1]) / (2 * h)
    near(probe_prior_density(prior, theta)[, 2], slope, 1e-6, prior$type)
  }
})

test_that("exponential() of a standard deviation is pc(), and half_student_t() of many degrees of freedom half_normal()", {
  estimate <- function(prior) galvi(Reaction ~ Days + (1 | Subject), sleepstudy, prior = list(sd = prior))$hyper$estimate
  expect_close(estimate("exponential(0.1)"), estimate(pc(1, exp(-0.1))), 1e-5)
  expect_close(estimate("half_student_t(1e8, 20)"), estimate(half_normal(20)), 1e-4)
  expect_close(estimate(half_cauchy(20)), estimate("cauchy(0, 20)"), 1e-8)
})

test_that("text is read with its numbers, and cut at zero for positive numbers", {
  expect_identical(prior_of_text("student_t(3, 0, 2.5)", "prior"), student_t(3, 0, 2.5))
  expect_identical(prior_of_text("laplace(0, 2)", "prior"), double_exponential(0, 2))
  expect_identical(prior_of_text("lkj_corr_cholesky(2)", "prior"), lkj(2))
  expect_identical(prior_of_text("lognormal(log(2), 1)", "prior"), log_normal(log(2), 1))
  expect_identical(cut_at_zero(normal(0, 2)), half_normal(2))
  expect_identical(cut_at_zero(student_t(3, 0, 2)), half_student_t(3, 2))
  expect_identical(cut_at_zero(cauchy(0, 2)), half_cauchy(2))
  expect_identical(cut_at_zero(double_exponential(0, 2)), new_value("exponential", rate = 0.5))
  expect_identical(cut_at_zero(normal(1, 2))$type, "truncated_normal")
  expect_identical(cut_at_zero(cauchy(1, 2))$df, 1)
  for (x in list(student_t(3, 0, 2.5), normal(1, 2), half_cauchy(2), lkj(2), log_normal(0, 1))) {
    expect_identical(prior_of_text(prior_text(x), "prior"), x)
  }
})

test_that("text may stand anywhere in prior =", {
  model <- galvi_model(galvi_design(Reaction ~ Days + (1 + Days | Subject), sleepstudy), prior = list(
    Days = "student_t(3, 0, 2.5)", sd = "exponential(1)", cor = "lkj(2)", intercept = "normal(250, 10)",
    sigma = "half_cauchy(2)"
  ))
  expect_identical(model$prior$Days, student_t(3, 0, 2.5))
  expect_identical(model$prior$`(Intercept)`, normal(250, 10))
  types <- vapply(Filter(Negate(is.null), model$hyper$prior), `[[`, "", "type")
  expect_setequal(types, c("exponential", "lkj", "half_cauchy"))
  expect_length(model$prior_rows, 1L)
  all <- galvi_model(galvi_design(mpg ~ wt + hp, mtcars), prior = "normal(0, 1)")
  expect_identical(all$prior$hp, normal(0, 1))
  nested <- galvi_model(galvi_design(list(mpg ~ wt, sigma ~ hp), mtcars), prior = list(sigma = list(hp = "cauchy(0, 1)")))
  expect_identical(nested$prior_rows[[1]]$latent, 2L)
  # a column of that name is a coefficient, another one a parameter
  named <- galvi_model(galvi_design(mpg ~ sigma, transform(mtcars, sigma = wt)), prior = list(sigma = "normal(0, 1)"))
  expect_identical(named$prior$sigma, normal(0, 1))
})

test_that("tables of brms and glmmTMB become our lists", {
  expect_equal(own_prior(rbind(
    brms_row("normal(0, 5)"), brms_row("student_t(10, 0, 1)", coef = "x"), brms_row("normal(0, 10)", "Intercept"),
    brms_row("exponential(2)", "sd"), brms_row("cauchy(0, 2)", "sd", "Intercept", "g"), brms_row("lkj(3)", "cor", group = "g"),
    brms_row("gamma(2, 0.1)", "nu"), brms_row("normal(0, 2)", "b", "z", dpar = "phi"), brms_row("", "sd"), brms_row("(flat)")
  )), list(
    default = normal(0, 5), x = student_t(10, 0, 1), at_means = normal(0, 10), sd = new_value("exponential", rate = 2),
    "| g" = list(sd = list(`(Intercept)` = cauchy(0, 2)), cor = lkj(3)), nu = new_value("gamma", shape = 2, rate = 0.1),
    phi = list(z = normal(0, 2))
  ), ignore_attr = "table")
  # those of ?glmmTMB::priors (1.1.11)
  theirs <- data.frame(
    prior = c("normal(250, 3)", "t(0, 3, 4)", "gamma(10, 1)"), class = c("fixef", "fixef", "ranef_sd"),
    coef = c("(Intercept)", "Days", "Subject")
  )
  expect_equal(own_prior(theirs), list(
    intercept = normal(250, 3), Days = student_t(4, 0, 3), "| Subject" = list(sd = new_value("gamma", shape = 1, rate = 0.1))
  ), ignore_attr = "table")
  fit <- galvi(Reaction ~ Days + (1 + Days | Subject), sleepstudy, prior = theirs)
  expect_true(fit$convergence$converged)
})

test_that("bounds of coefficients are refused, those of positive parameters are theirs anyway", {
  bounded <- function(class, lb, ub = "") cbind(brms_row("normal(0, 5)", class), lb = lb, ub = ub)
  d <- galvi_design(mpg ~ wt + (1 | cyl), mtcars)
  for (row in list(bounded("b", "0"), bounded("b", "", "1"), bounded("Intercept", "0"), bounded("sd", "0", "2"))) {
    expect_error(galvi_model(d, prior = row), "has no bounds.*leave", class = "galvi_error_prior")
  }
  # also of rows without a prior, which are the defaults of brms
  expect_error(galvi_model(d, prior = cbind(brms_row("", "b"), lb = "0")), "lb = 0", class = "galvi_error_prior")
  expect_s3_class(galvi_model(d, prior = rbind(bounded("sd", "0"), bounded("sigma", NA), bounded("b", ""))), "galvi_step")
})

test_that("rows of smooth terms and processes find their terms", {
  model <- galvi_model(galvi_design(mpg ~ gp(wt) + gp(hp), mtcars), prior = rbind(
    brms_row("normal(0, 3)", "sdgp"), brms_row("inv_gamma(3, 2)", "lscale", "gpwt")
  ))
  priors <- stats::setNames(model$hyper$prior, model$hyper$name)
  expect_identical(priors[["gp(wt).lengthscale"]]$type, "inv_gamma")
  expect_null(priors[["gp(hp).lengthscale"]])
  expect_identical(priors[["gp(hp).variance"]]$type, "half_normal")
})

test_that("lengthscales in tables of brms are in units of the largest distance, as gp(scale = TRUE) has them", {
  row <- function(text, coef = "") structure(brms_row(text, "lscale", coef), class = c("brmsprior", "data.frame"))
  of <- function(formula, prior, data = mtcars) {
    model <- galvi_model(galvi_design(formula, data), prior = prior)
    model$hyper$prior[[grep("lengthscale", model$hyper$name)]]
  }
  width <- diff(range(mtcars$wt))
  expect_equal(of(mpg ~ gp(wt), row("inv_gamma(4, 1)"))[c("type", "shape", "scale")],
    list(type = "inv_gamma", shape = 4, scale = width))
  expect_equal(of(mpg ~ gp(wt), row("gamma(2, 3)", "gpwt"))$rate, 3 / width)
  expect_equal(of(mpg ~ gp(wt), row("lognormal(1, 2)"))[c("meanlog", "sdlog")], list(meanlog = 1 + log(width), sdlog = 2))
  expect_equal(of(mpg ~ gp(wt), row("normal(0, 2)"))$sd, 2 * width)
  expect_equal(of(mpg ~ gp(wt, hp), row("inv_gamma(4, 1)"))$scale, max(dist(mtcars[c("wt", "hp")])))
  expect_equal(of(mpg ~ gp(wt, scale = FALSE), row("inv_gamma(4, 1)"))$scale, 1)
  # in our own tables they are in units of the input
  own <- default_prior(mpg ~ gp(wt), mtcars)
  own$prior[own$class == "lscale"] <- "inv_gamma(4, 1)"
  expect_equal(of(mpg ~ gp(wt), own)$scale, 1)
  d <- transform(mtcars, g = factor(am))
  expect_error(of(mpg ~ gp(wt, by = g), row("inv_gamma(4, 1)"), d), "units of the largest distance.*units of wt",
    class = "galvi_error_prior")
})

test_that("what matches nothing, or cannot be, is an error that lists what there is", {
  d <- sleepstudy
  of <- function(formula, prior) message_of_error(galvi_model(galvi_design(formula, d), prior = prior))
  expect_match(of(Reaction ~ Days, brms_row("normal(0, 1)", coef = "Dyas")), "Dyas.*Days")
  expect_match(of(Reaction ~ 1, brms_row("normal(0, 1)")), "matches nothing.*no slopes")
  expect_match(of(Reaction ~ 0 + Days, brms_row("normal(0, 1)", "Intercept")), "no intercept")
  ordered <- galvi_design(Sat ~ Infl, MASS::housing, cumulative())
  expect_match(message_of_error(galvi_model(ordered, prior = brms_row("normal(0, 4)", "Intercept"))), "thresholds.*no prior")
  expect_match(of(Reaction ~ Days, brms_row("exponential(1)", "sd")), "none, as in \\(1 \\| g\\)")
  expect_match(of(Reaction ~ Days + (1 | Subject), brms_row("exponential(1)", "sd", group = "Subjects")), "Subjects")
  expect_match(of(Reaction ~ Days + (1 | Subject), brms_row("lkj(2)", "cor", group = "Subject")), "cor")
  expect_match(of(Reaction ~ Days, brms_row("lkj(2)")), "cannot be the prior of a coefficient")
  expect_match(of(Reaction ~ Days, list(Days = "lkj(2)")), "coefficient")
  expect_match(of(Reaction ~ Days, list(Days = "exponential(1)")), "`Days` is a coefficient")
  expect_match(of(Reaction ~ Days, brms_row("normal(0, 1)", "lscale", "gpDays")), "matches no term")
  expect_match(of(Reaction ~ Days, data.frame(prior = "t(0, 3)", class = "fixef")), "t\\(mean, sd, df\\)")
  expect_match(of(Reaction ~ Days, "student_t(3, 0)"), "student_t\\(df, location, scale\\)")
  expect_match(of(Reaction ~ Days, "R2D2(1)"), "double_exponential")
  expect_match(of(Reaction ~ Days, "student_t(df = 3, mean = 0, scale = 1)"), "student_t\\(df, location, scale\\)")
  expect_match(of(Reaction ~ Days, list(Days = "uniform(0, 1)")), "not a prior of galvi.*normal")
  expect_match(message_of_error(galvi(Reaction ~ Days, d, prior = list(sigma = exponential(1)))), "\"exponential\\(1\\)\"")
})

test_that("a default_prior() has rows for all that a prior may be given for, and works as `prior`", {
  table <- default_prior(Reaction ~ Days + (1 + Days | Subject), sleepstudy)
  expect_named(table, c("prior", "class", "coef", "group", "dpar", "source"))
  expect_setequal(table$class, c("Intercept", "b", "sd", "cor", "sigma"))
  plain <- galvi(Reaction ~ Days + (1 + Days | Subject), sleepstudy)
  expect_equal(galvi(Reaction ~ Days + (1 + Days | Subject), sleepstudy, prior = table)$elbo, plain$elbo)
  table$prior[table$class == "sd" & table$coef == "Days"] <- "exponential(0.5)"
  table$prior[table$class == "b"] <- "student_t(3, 0, 10)"
  fit <- galvi(Reaction ~ Days + (1 + Days | Subject), sleepstudy, prior = table)
  told <- prior_summary(fit)
  expect_identical(told$prior[told$source == "user"], c("student_t(3, 0, 10)", "exponential(0.5)"))
  expect_output(print(told), "student_t")
})

test_that("the table of priors is code, with points, whatever the decimal mark is", {
  prior <- list(intercept = normal(20.5, 13.25), sigma = half_normal(2.5), sd = fixed(0.75))
  fit <- galvi(mpg ~ wt + (1 | gear), mtcars, prior = prior)
  table <- prior_summary(fit)
  before <- options(OutDec = ",")
  on.exit(options(before))
  there <- prior_summary(fit)
  expect_identical(there, table)
  typed <- there[there$source == "user", ]
  expect_setequal(typed$prior, c("normal(20.5, 13.25)", "half_normal(2.5)", "constant(0.75)"))
  expect_identical(coef(galvi(mpg ~ wt + (1 | gear), mtcars, prior = typed)), coef(fit))
  expect_identical(format(prior$intercept), "normal(20.5, 13.25)")
  expect_error(
    galvi(mpg ~ iid(gear, variance = normal(0, 2.5)), mtcars), "here half_normal(2.5)", fixed = TRUE,
    class = "galvi_error"
  )
})

test_that("sample_prior = \"only\" gives the prior: coefficients, groups, heavy tails, responses", {
  set.seed(1)
  d <- transform(mtcars, wt = wt - mean(wt))
  fit <- suppressMessages(galvi(mpg ~ wt, d, prior = list(intercept = normal(20, 2), wt = student_t(4, 1, 3), sigma = "exponential(1)"),
    sample_prior = "only"))
  expect_close(coef(fit)[["(Intercept)"]], 20, 1e-6)
  expect_close(sqrt(vcov(fit)[1, 1]), 2, 1e-6)
  expect_close(coef(fit)[["wt"]], 1, 1e-6)
  y <- posterior_predict.galvi(fit, ndraws = 2000)
  expect_identical(dim(y), c(2000L, 32L))
  expect_close(mean(y[, 1]), 20 + d$wt[1], 0.6)
  expect_length(simulate(fit, 1, seed = 1)[[1]], 32L)
  grouped <- suppressMessages(galvi(case ~ age + (1 | education), infert, binomial(), sample_prior = "only",
    prior = list(at_means = normal(0, 1), age = normal(0, 0.1), sd = half_normal(0.5))))
  eta <- posterior_linpred.galvi(grouped, ndraws = 4000)
  # at the means: 1 + E sd^2. Three standard errors of an sd from the fit's 200 states
  expect_close(sd(eta[, which.min(abs(infert$age - mean(infert$age)))]), sqrt(1 + 0.25), 0.15)
  expect_message(galvi(mpg ~ wt, d, sample_prior = "only"), "gaussian.variance.*starting value")
  expect_error(galvi(mpg ~ wt, d, prior = normal(0, Inf), sample_prior = "only"), "wt.*flat", class = "galvi_error_prior")
  expect_error(galvi(mpg ~ wt, d, sample_prior = "yes"), "sample_prior", class = "galvi_error_argument")
})

test_that("draws of the prior have hyperparameters that are drawn, and so have intervals and hypotheses", {
  set.seed(2)
  d <- data.frame(x = rep(-1:1, 20), y = 0, g = factor(rep(1:12, 5)))
  prior <- list(default = normal(0, 1), intercept = normal(0, 1), sd = half_normal(2), sigma = half_normal(2))
  expect_silent(fit <- suppressMessages(galvi(y ~ x + (1 | g), d, prior = prior, sample_prior = "only")))
  # sd 2, of 200 states; that of one state is 0 and its mean anything
  sds <- sqrt(as.matrix(fit, ndraws = 2000, seed = 1)[, c("iid(g).variance", "gaussian.variance")])
  expect_close(apply(sds, 2, function(x) sqrt(mean(x^2))), c(2, 2), 0.4)
  y <- as.matrix(simulate(fit, 1000, seed = 1))
  residual <- apply(y, 2, function(y) sd(y - ave(y, d$g, d$x)))
  expect_close(quantile(residual, c(0.25, 0.75)), 2 * qnorm(c(0.625, 0.875)), 0.6)
  states <- fit$hyper[fit$hyper$status == "learned", ]
  expect_close(sqrt(states$estimate), rep(2 * qnorm(0.75), 2), 0.4)
  expect_close(sqrt(states$upr), rep(2 * qnorm(0.9875), 2), 1.2)
  tested <- hypothesis(fit, "sd_g__Intercept > 2", class = NULL)$hypothesis
  expect_close(tested$Post.Prob, 2 * pnorm(-1), 0.1)
})

test_that("draws of heavy-tailed priors, normal with a drawn sd, have their distributions", {
  set.seed(8)
  n <- 20000
  drawn <- function(prior) rnorm(n) * mixing_sds(prior, n)
  p <- list(
    ks.test(drawn(student_t(5, 0, 2)) / 2, "pt", 5), ks.test(drawn(cauchy(0, 2)) / 2, "pcauchy"),
    ks.test(drawn(prior_of_text("logistic(0, 2)", "prior")) / 2, "plogis"),
    ks.test(abs(drawn(double_exponential(0, 2))) / 2, "pexp")
  )
  for (one in p) expect_gt(one$p.value, 0.001)
})

test_that("densities of priors of coefficients are those of their distribution functions", {
  text <- c("normal(0.5, 2)", "student_t(5, 0.5, 2)", "cauchy(0.5, 2)", "double_exponential(0.5, 2)", "logistic(0.5, 2)")
  for (one in text) {
    prior <- prior_of_text(one, "prior")
    density <- function(x) exp(log_prior_density(prior, x))
    # standardised; location 0.5 and scale 2
    standard <- switch(prior$type, normal = pnorm, student_t = function(z) pt(z, 5), cauchy = pcauchy,
      logistic = plogis, double_exponential = function(z) 1 - exp(-z) / 2)
    expect_equal(integrate(density, 0.5, 3.5)$value, standard(1.5) - 0.5, tolerance = 1e-7, label = one)
  }
})

test_that("tables of priors have those of every predictor", {
  set.seed(1)
  d <- data.frame(x = runif(60), g = factor(rep(1:6, 10)), y = rnorm(60))
  formulas <- list(y ~ x + (1 | g), sigma ~ s(x) + (1 | g))
  fit <- suppressMessages(galvi(formulas, d, prior = list(sigma = list("s(x).slope" = normal(0, 0.3)))))
  told <- prior_summary(fit)
  expect_identical(told$dpar[told$class == "Intercept"], c("", "sigma"))
  expect_identical(told$dpar[told$class == "sd"], c("", "sigma"))
  expect_identical(told$dpar[told$class == "sds"], "sigma")
  expect_identical(default_prior(formulas, d)$dpar, told$dpar)
  # the slope is kept by refits, under the name that it was typed with
  expect_identical(fit$prior[["sigma.s(x).slope"]]$sd, 0.3)
  expect_false(anyNA(kfold(fit, K = 2)$pointwise))
})

test_that("the table names the slopes of s(g, x, bs = \"re\")", {
  fit <- galvi(Reaction ~ Days + s(Subject, bs = "re") + s(Subject, Days, bs = "re"), data = sleepstudy, verbose = FALSE)
  table <- prior_summary(fit)
  expect_identical(table$coef[table$class == "sd"], c("Intercept", "Days"))
  expect_close(update(fit, prior = table)$elbo, fit$elbo, tol$fuzz_learned)
})
