# What other packages make of a fit: right, or an error that says what to do.

test_that("what other packages predict by predict() is not lost on a field that is NULL", {
  fit <- galvi(mpg ~ wt + gp(hp), mtcars, hyper = "fixed")
  expect_false(any(vapply(fit, is.null, NA)))
  skip_if_not_installed("performance")
  expect_equal(performance::mae(fit), mean(abs(residuals(fit))))
})

test_that("car::Anova() tests the terms that it names", {
  skip_if_not_installed("car")
  d <- transform(mtcars, cyl = factor(cyl))
  flat <- list(intercept = normal(0, 1e4), default = normal(0, 1e4))
  reference <- lm(mpg ~ wt * cyl + hp, d)
  noise <- galvi_family("gaussian", variance = fixed(sigma(reference)^2))
  fit <- galvi(mpg ~ wt * cyl + hp, d, noise, prior = flat)
  for (type in 2:3) {
    ours <- car::Anova(fit, type = type)
    theirs <- car::Anova(reference, type = type)
    theirs <- theirs[rownames(ours), ]
    expect_identical(ours$Df, theirs$Df)
    expect_equal(ours$Chisq, theirs[["F value"]] * theirs$Df, tolerance = 1e-3)
    expect_match(attr(ours, "heading")[2], "Response: mpg")
  }
  random <- car::Anova(galvi(mpg ~ wt + cyl + (1 | gear), d))
  expect_identical(rownames(random), c("wt", "cyl"))
  expect_identical(random$Df, c(1, 2))
  expect_error(car::Anova(small_fit("gaussian")), "fixed effects", class = "galvi_error_argument")
  expect_error(car::Anova(family_fit("categorical")), "3 per observation", class = "galvi_error_argument")
  expect_equal(car::linearHypothesis(fit, "hp = 0")$Chisq[2], car::Anova(fit)["hp", "Chisq"])
  expect_error(car::linearHypothesis(family_fit("categorical"), diag(6)[1, ]), class = "galvi_error_argument")
})

test_that("tests and means of terms with empty cells are of what the data determine", {
  skip_if_not_installed("car")
  skip_if_not_installed("emmeans")
  # the cells 2:3 and 3:1 are empty, and xx repeats x
  d <- expand.grid(a = gl(3, 1), b = gl(3, 1), x = 1:4)
  d <- d[!paste(d$a, d$b) %in% c("2 3", "3 1"), ]
  d$y <- sin(seq_len(nrow(d))) + d$x / 4
  d$xx <- 2 * d$x + 1
  formula <- y ~ a * b + x + xx
  theirs <- lm(formula, d)
  noise <- galvi_family("gaussian", variance = fixed(sigma(theirs)^2))
  ours <- suppressMessages(galvi(formula, d, noise))
  tested <- car::Anova(ours)
  expect_identical(tested["a:b", "Df"], 2)
  table <- anova(update(theirs, . ~ . - a:b), theirs)
  expect_equal(tested["a:b", "Chisq"], table[2, "Sum of Sq"] / sigma(theirs)^2, tolerance = 0.01)
  expect_error(car::linearHypothesis(ours, "a2:b2 = 0"), "aliased")
  expect_equal(car::linearHypothesis(ours, "x = 0", singular.ok = TRUE)$Chisq[2],
    summary(theirs)$coefficients["x", "t value"]^2, tolerance = 0.01)
  for (formula in list(~ a * b, ~ x)) {
    found <- as.data.frame(emmeans::emmeans(ours, formula, at = list(xx = 5)))
    expected <- as.data.frame(emmeans::emmeans(theirs, formula, at = list(xx = 5)))
    expect_identical(is.na(found$emmean), is.na(expected$emmean))
    expect_equal(found$emmean, expected$emmean, tolerance = 0.01)
    expect_equal(found$SE, expected$SE, tolerance = 0.01)
  }
  expect_identical(emmeans::joint_tests(ours)$df1, emmeans::joint_tests(theirs)$df1)
  # priors that are typed say what the data do not
  typed <- galvi(formula(theirs), d, noise, prior = list(default = normal(0, 1)))
  expect_identical(car::Anova(typed)["a:b", "Df"], 4)
  expect_false(anyNA(as.data.frame(emmeans::emmeans(typed, ~ a * b))$emmean))
})

test_that("constants are determined beside no intercept that may take them up", {
  skip_if_not_installed("emmeans")
  d <- data.frame(a = gl(2, 20), b = factor(rep(c(1, 2, 1), c(10, 10, 20))), one = 1, t = 1:40)
  d$y <- ordered((d$t * 7) %% 3)
  nonest <- function(fit, ...) is.na(as.data.frame(emmeans::emmeans(fit, ...))$emmean)
  cells <- c(FALSE, FALSE, FALSE, TRUE)
  thresholds <- suppressMessages(galvi(y ~ a * b + one, d, cumulative()))
  expect_identical(nonest(thresholds, ~ a * b), cells)
  expect_match(vapply(thresholds$notes, `[[`, "", "text"), "`one`, `a2:b2`", all = FALSE)
  expect_identical(nonest(thresholds, ~ one, at = list(one = 2, a = "1", b = "1")), TRUE)
  scale <- suppressMessages(galvi(list(t ~ one, sigma ~ a * b), d))
  expect_identical(nonest(scale, ~ a * b, dpar = "sigma"), cells)
  expect_identical(nonest(scale, ~ one, at = list(one = 1:2)), c(FALSE, TRUE))
  # the intercept is known by its own prior, and so is what adds to it
  typed <- suppressMessages(galvi(t ~ one, d, prior = list(intercept = normal(0, 1))))
  expect_identical(nonest(typed, ~ one, at = list(one = 1:2)), c(FALSE, FALSE))
  skip_if_not_installed("survival")
  hazard <- suppressMessages(galvi(survival::Surv(t) ~ a * b, d, cox()))
  expect_identical(nonest(hazard, ~ a * b), cells)
})

test_that("lmtest::lrtest() warns and names loo()", {
  skip_if_not_installed("lmtest")
  one <- galvi(am ~ wt, mtcars, binomial(), hyper = "fixed")
  two <- galvi(am ~ wt + hp, mtcars, binomial(), hyper = "fixed")
  expect_warning(table <- lmtest::lrtest(one, two), "loo\\(\\)", class = "galvi_warning_evidence")
  expect_equal(table$LogLik, c(one$elbo, two$elbo))
})

test_that("lmtest::coeftest() is that of lm(), and refuses a matrix of coefficients", {
  skip_if_not_installed("lmtest")
  twin <- lm_twin(mpg ~ wt + cyl)
  numbers <- function(table) unname(unclass(table)[, 1:3])
  expect_equal(numbers(lmtest::coeftest(twin$ours)), numbers(lmtest::coeftest(twin$theirs)), tolerance = tol$solve,
    ignore_attr = TRUE)
  expect_identical(colnames(lmtest::coeftest(twin$ours))[3L], "z value")
  expect_equal(unname(lmtest::coefci(twin$ours)), unname(coef(twin$ours) + outer(sqrt(diag(vcov(twin$ours))), c(-1, 1)) * qnorm(0.975)))
  expect_identical(colnames(lmtest::coeftest(twin$ours, df = 10))[3L], "t value")
  classes <- other_fits()$classes
  expect_error(lmtest::coeftest(classes), "confint", class = "galvi_error_argument")
  expect_error(lmtest::coefci(classes), "confint", class = "galvi_error_argument")
})

test_that("broom's tables have the numbers of lm() and glm()", {
  skip_if_not_installed("broom")
  twin <- lm_twin(mpg ~ wt + cyl)
  ours <- broom::tidy(twin$ours)
  theirs <- broom::tidy(twin$theirs)
  expect_identical(ours$term, theirs$term)
  expect_equal(ours$estimate, theirs$estimate, tolerance = tol$solve)
  expect_equal(ours$std.error, theirs$std.error, tolerance = tol$solve)
  # the data are the model frame
  rows <- broom::augment(twin$ours)
  expect_equal(rows$.fitted, broom::augment(twin$theirs)$.fitted, tolerance = tol$solve)
  for (twin in glm_twins()) {
    expect_equal(broom::tidy(twin$ours)$estimate, broom::tidy(twin$theirs)$estimate, tolerance = 0.05)
  }
  for (fit in other_fits()) {
    expect_identical(nrow(broom::glance(fit)), 1L)
    expect_identical(nrow(broom::augment(fit)), 32L)
  }
  skip_if_not_installed("broom.mixed")
  mixed <- broom.mixed::tidy(other_fits()$mixed, effects = c("fixed", "ran_pars", "ran_vals"))
  expect_setequal(mixed$effect, c("fixed", "ran_pars", "ran_vals"))
  expect_identical(sum(mixed$effect == "ran_vals"), 3L)
})

test_that("knitr prints fits as the console does", {
  skip_if_not_installed("knitr")
  fit <- lm_twin(mpg ~ wt)$ours
  expect_identical(capture.output(knitr::knit_print(fit)), capture.output(print(fit)))
})

test_that("probabilities of the response's distribution are those of a normal and of glm()'s Poisson", {
  twin <- lm_twin(mpg ~ wt)
  new <- data.frame(wt = c(2, 4))
  theirs <- predict(twin$theirs, new, se.fit = TRUE)
  sd <- sqrt(theirs$se.fit^2 + sigma(twin$theirs)^2)
  below <- predict(twin$ours, new, type = "cdf", q = 20)
  expect_equal(below[, 1], pnorm(20, theirs$fit, sd), tolerance = tol$solve, ignore_attr = TRUE)
  exceeds <- predict(twin$ours, new, type = "survival", times = 20)
  expect_equal(exceeds[, 1], 1 - below[, 1])
  counts <- glm_twins()$poisson
  spray <- data.frame(spray = c("A", "C"))
  p <- predict(counts$ours, spray, type = "cdf", q = c(2, 10))
  mu <- predict(counts$theirs, spray, type = "response")
  # of a mean that is known to a tenth
  expect_equal(p[, "10"], ppois(10, mu), tolerance = 0.05, ignore_attr = TRUE)
})

test_that("weights, offsets, polynomials, interactions and groups enter as in lm(), glm() and lmer()", {
  # estimates and standard errors
  of_grid <- function(x) {
    x <- as.data.frame(x)
    cbind(x[[intersect(c("emmean", "rate", "estimate", "fit"), names(x))[1L]]], x[[intersect(c("SE", "se"), names(x))]])
  }
  packages <- list(
    # by default an offset of the formula is that of the grid here, and its mean over the rows for glm()
    emmeans = function(fit) of_grid(emmeans::emmeans(fit, ~ f | x, at = list(x = c(-1, 1)), offset = 0.3)),
    emmeans = function(fit) of_grid(pairs(emmeans::emmeans(fit, ~f))),
    effects = function(fit) of_grid(effects::Effect(c("x", "f"), fit)),
    multcomp = function(fit) {
      tukey <- multcomp::glht(fit, multcomp::mcp(f = "Tukey", interaction_average = TRUE))
      test <- summary(tukey, multcomp::univariate())
      cbind(test$test$coefficients, test$test$sigma)
    },
    parameters = function(fit) {
      table <- as.data.frame(parameters::model_parameters(fit, effects = "fixed", ci_method = "wald"))
      cbind(table$Coefficient, table$SE)
    },
    broom.mixed = function(fit) {
      table <- broom.mixed::tidy(fit, effects = "fixed")
      cbind(table$estimate, table$std.error)
    }
  )
  if (!has_version("parameters", parameters_needed)) packages$parameters <- NULL
  if (requireNamespace("emmeans", quietly = TRUE)) {
    # the errors of lmer() without Kenward and Roger's correction
    before <- emmeans::get_emm_option("lmer.df")
    on.exit(emmeans::emm_options(lmer.df = before))
    emmeans::emm_options(lmer.df = "asymptotic")
  }
  quietly <- function(x) suppressMessages(suppressWarnings(x))
  twins <- rich_twins()
  for (i in which(vapply(names(packages), requireNamespace, NA, quietly = TRUE))) {
    for (name in names(twins)) {
      twin <- twins[[name]]
      ours <- quietly(packages[[i]](twin$ours))
      theirs <- quietly(packages[[i]](twin$theirs))
      label <- paste(names(packages)[i], name)
      expect_lt(max(abs(ours[, 1] - theirs[, 1]) / theirs[, 2]), twin$tolerance, label = label)
      expect_lt(max(abs(ours[, 2] / theirs[, 2] - 1)), twin$tolerance / 5, label = label)
    }
  }
})

test_that("car's tests have the numbers of lm(), glm() and lmer()", {
  skip_if_not_installed("car")
  for (twin in rich_twins()) {
    of_lm <- identical(class(twin$theirs), "lm")
    statistic <- if (of_lm) "F" else if (isS4(twin$theirs)) "Chisq" else "Wald"
    for (type in 2:3) {
      ours <- car::Anova(twin$ours, type = type)
      theirs <- car::Anova(twin$theirs, type = type, test.statistic = statistic)[rownames(ours), ]
      wanted <- if (of_lm) theirs[["F value"]] * theirs$Df else theirs$Chisq
      expect_equal(ours$Chisq, wanted, tolerance = twin$tolerance / 10)
    }
    hypothesis <- function(fit) car::linearHypothesis(fit, c("fb = 0", "x:fc = 0"), test = "Chisq")$Chisq[2]
    expect_equal(hypothesis(twin$ours), hypothesis(twin$theirs), tolerance = twin$tolerance / 3)
    if (isS4(twin$theirs)) next
    vif <- function(fit) suppressMessages(car::vif(fit))
    expect_equal(vif(twin$ours), vif(twin$theirs), tolerance = twin$tolerance / 10)
    ratio <- function(fit) {
      names <- make.names(names(coef(fit)))
      unlist(car::deltaMethod(fit, "x / fb", parameterNames = names)[1:2])
    }
    expect_equal(ratio(twin$ours), ratio(twin$theirs), tolerance = twin$tolerance / 3)
  }
})

test_that("leverages, Cook's distances and residuals are those of lm() and of glm() with canonical links", {
  for (name in c("gaussian", "poisson", "binomial")) {
    twin <- rich_twins()[[name]]
    for (f in list(hatvalues, cooks.distance)) {
      expect_lt(max(abs(f(twin$ours) - f(twin$theirs))) / max(f(twin$theirs)), twin$tolerance / 2)
    }
    difference <- residuals(twin$ours, "deviance") - residuals(twin$theirs, "deviance")
    expect_lt(max(abs(difference)), twin$tolerance)
    expect_equal(deviance(twin$ours), deviance(twin$theirs), tolerance = twin$tolerance / 10)
  }
})

test_that("modelsummary() has the rows of lm() and lmer()", {
  skip_if_not_installed("modelsummary")
  skip_if_not_installed("parameters")
  skip_if_not_installed("performance")
  twins <- rich_twins()
  table_for <- function(fit, ...) suppressMessages(modelsummary::modelsummary(fit, output = "data.frame", fmt = 8, ...))
  for (name in intersect(c("gaussian", "mixed"), names(twins))) {
    ours <- table_for(twins[[name]]$ours)
    theirs <- table_for(twins[[name]]$theirs)
    rows <- function(table) table[table$part == "estimates", c("term", "statistic")]
    expect_identical(rows(ours), rows(theirs))
    number <- function(table) as.numeric(gsub("[()]", "", table[table$part == "estimates", 4]))
    expect_equal(number(ours), number(theirs), tolerance = 1e-6)
    explained <- if (name == "mixed") c("R2 Marg.", "R2 Cond.", "ICC") else "R2"
    expect_true(all(c("Num.Obs.", explained, "ELPD", "RMSE") %in% ours$term))
  }
  # all that a user adds reaches performance too
  expect_warning(fixed <- table_for(twins$gaussian$ours, effects = "fixed", statistic = "conf.int"), NA)
  expect_true("RMSE" %in% fixed$term)
  expect_warning(several <- table_for(list(twins$gaussian$ours, twins$gaussian$theirs)), NA)
  expect_equal(ncol(several), 5)
})

test_that("sjPlot's table and plot have the coefficients of lm()", {
  skip_if_not_installed("sjPlot")
  skip_without_parameters()
  twin <- lm_twin(mpg ~ wt + cyl)
  numbers <- function(fit) {
    page <- sjPlot::tab_model(fit, show.ci = FALSE, show.p = FALSE)$page.content
    page <- gsub("&#45;", "-", gsub("<[^>]+>", " ", page))
    as.numeric(regmatches(page, gregexpr("-?[0-9]+\\.[0-9]{2}\\b", page))[[1L]])[1:4]
  }
  expect_equal(numbers(twin$ours), numbers(twin$theirs))
  # the groups of a fit that is not divided into variances
  two <- galvi(list(Reaction ~ Days + (1 | Subject), sigma ~ Days), sleepstudy, hyper = "fixed")
  expect_match(sjPlot::tab_model(two)$page.content, "Days")
  nested <- galvi(Reaction ~ Days + (1 | half:Subject), transform(sleepstudy, half = factor(Days > 4)), hyper = "fixed")
  expect_match(sjPlot::tab_model(nested)$page.content, "half:Subject|half.*Subject")
  drawn <- function(fit) sjPlot::plot_model(fit)$data[c("term", "estimate", "std.error")]
  expect_equal(drawn(twin$ours)$estimate, drawn(twin$theirs)$estimate, tolerance = 1e-6)
  expect_equal(drawn(twin$ours)$std.error, drawn(twin$theirs)$std.error, tolerance = 1e-6)
  skip_if_not_installed("effects")
  effect <- function(fit) suppressMessages(sjPlot::plot_model(fit, type = "eff", terms = c("wt", "cyl"))$data)
  expect_equal(effect(twin$ours)$predicted, effect(twin$theirs)$predicted, tolerance = 1e-6)
  expect_equal(effect(twin$ours)$std.error, effect(twin$theirs)$std.error, tolerance = 1e-6)
})

test_that("mice pools imputations as of lm(), to one per cent of the standard errors", {
  skip_if_not_installed("mice")
  imputed <- mice::mice(mice::nhanes, m = 3, maxit = 2, printFlag = FALSE, seed = 1)
  # standard errors, not the standard deviations of the t distribution
  plug_in <- galvi_control(uncertainty = "factorised")
  fits <- lapply(seq_len(3), function(i) {
    galvi(chl ~ age + bmi, mice::complete(imputed, i), prior = flat_prior, control = plug_in)
  })
  theirs <- lapply(seq_len(3), function(i) lm(chl ~ age + bmi, mice::complete(imputed, i)))
  pooled <- lapply(list(fits, theirs), function(fits) summary(mice::pool(mice::as.mira(fits)), conf.int = TRUE))
  columns <- c("estimate", "std.error", "df", "2.5 %", "97.5 %")
  for (column in columns) {
    difference <- pooled[[1]][[column]] - pooled[[2]][[column]]
    unit <- if (column == "df") pooled[[2]]$df else pooled[[2]]$std.error
    expect_lt(max(abs(difference / unit)), 0.01, label = column)
  }
})

test_that("what draws nothing leaves the random numbers as they were, also where there are none yet", {
  before <- get0(".Random.seed", globalenv(), inherits = FALSE)
  on.exit(if (!is.null(before)) assign(".Random.seed", before, globalenv()))
  if (!is.null(before)) rm(".Random.seed", envir = globalenv())
  drawn <- function() exists(".Random.seed", globalenv(), inherits = FALSE)
  for (fit in other_fits()) {
    predict(fit)
    summary(fit)
    tidy.galvi(fit, conf.int = TRUE)
    loo.galvi(fit)
    expect_false(drawn(), label = deparse(fit$call$formula))
  }
  galvi(mpg ~ wt + gp(hp, inducing = 8), mtcars, method = "natural_gradient")
  galvi(mpg ~ wt + gp(hp), mtcars, hyper = "integrate")
  expect_false(drawn())
  # this one does draw, and writes the generator's state back
  stochastic <- function() galvi(am ~ wt, mtcars, binomial(), method = "stochastic", hyper = "fixed")
  set.seed(1)
  first <- .Random.seed
  stochastic()
  expect_false(identical(.Random.seed, first))
})

test_that("future finds no random numbers in a fit", {
  skip_if_not_installed("future")
  expect_warning(future::value(future::future(galvi(am ~ wt, mtcars, binomial()))), NA)
})

test_that("boot::cv.glm() has the errors of lm() and glm()", {
  skip_if_not_installed("boot")
  squared <- function(fit, ...) {
    set.seed(1)
    boot::cv.glm(mtcars, fit, ...)$delta
  }
  fit <- galvi(mpg ~ wt + hp, mtcars, prior = flat_prior)
  reference <- glm(mpg ~ wt + hp, data = mtcars)
  expect_equal(squared(fit), squared(reference), tolerance = 1e-4)
  expect_equal(squared(fit, K = 8), squared(reference, K = 8), tolerance = 1e-4)
  # posterior means are not modes
  of_binary <- 0.1
  binary <- squared(galvi(am ~ wt, mtcars, binomial()))
  expect_equal(binary, squared(glm(am ~ wt, binomial(), mtcars)), tolerance = of_binary)
  trials <- galvi(cbind(gear, carb) ~ wt, mtcars, binomial(), hyper = "fixed")
  expect_equal(trials$y, glm(cbind(gear, carb) ~ wt, binomial(), mtcars)$y)
  expect_null(family_fit("categorical")$y)
})

test_that("posterior's draws have no constants", {
  skip_if_not_installed("posterior")
  fit <- galvi(mpg ~ wt + iid(cyl, variance = fixed(2)), mtcars, prior = normal(0, 1))
  draws <- posterior::as_draws(fit)
  expect_identical(posterior::variables(draws), c("(Intercept)", "wt", "gaussian.variance"))
  expect_true(all(posterior::summarise_draws(draws, "sd")$sd > 0))
})

test_that("a fit that is read from a file loads galvi, and prints as one", {
  skip_if_not_installed("processx")
  fit <- galvi(mpg ~ wt, mtcars)
  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  code <- sprintf("print(readRDS('%s'))", file)
  shown <- processx::run(file.path(R.home("bin"), "Rscript"), c("-e", code))$stdout
  expect_identical(strsplit(shown, "\n")[[1L]], capture.output(print(fit)))
})
