# Methods of generics of packages that need not be there, where their default would be wrong without a word.

#' Use of fits in other packages
#'
#' Functions of other packages that work with fits of [galvi()], and what to know about each. None of these packages is
#' needed by galvi.
#'
#' @section Means, contrasts and tests:
#' * **emmeans**: `emmeans()`, `emtrends()`, `contrast()` and functions based on them; `dpar = "sigma"` for another
#'   linear predictor, or glmmTMB's `component`: `"cond"`, `"zi"` (also of `hurdle()`) or `"disp"`, the predictor of
#'   `sigma`, `shape` or `phi`. Results are for the population: effects of groups are excluded, which are `(1 | g)` and
#'   other terms with a bar, `ou(t | g)` and `rr(f | g)` among them, `iid()`, and `ar1()` and `ar2()` with a factor `by`.
#'   `gp()`, `s()`, `gmrf()`, `rw1()`, `rw2()` and `ar1(t)` stay and are evaluated at the values of the reference grid;
#'   where this has a time between two steps, such as the mean, at the nearest time of the data. For ordered responses the means are on
#'   the latent scale, where only differences have a meaning: means and standard errors are those of
#'   `predict(type = "link")` (see [galvi_family()]), where those of `clm()` are differences to the average threshold.
#'   Constants in a formula, such as `k` in `ns(x, knots = k)`, are named by `params = "k"`.
#' * **marginaleffects**: `predictions()`, `comparisons()`, `slopes()`, their `avg_` versions and plots, from `ndraws =
#'   2000` joint posterior draws, so call [set.seed()] first. `type` is `"response"` or `"link"` (of [cox()] the
#'   hazard ratio and its logarithm), and `re_formula` and `dpar` are as
#'   in [predict()][predict.galvi]. The package warns that it does not know `ndraws`, `re_formula` and `dpar`, but they
#'   are used. `vcov` is TRUE or FALSE. `hypotheses()` tests coefficients, with their posterior mean and covariance, after
#'   `options(marginaleffects_model_classes = "galvi")`; [hypothesis()] needs no option.
#' * **effects**: `Effect()`, `allEffects()`, `predictorEffects()`, for families that [glm()] has as well. Terms other
#'   than fixed effects are averaged over the data.
#' * **car**: `Anova()`, `linearHypothesis()`, `deltaMethod()` and `vif()`, from the posterior mean and covariance of
#'   the fixed effects (Wald tests). For its diagnostic plots use [plot()][plot.galvi].
#'   Where columns depend on others and have the default prior, as with empty cells of an interaction, tests are of what
#'   the data determine, as for [lm()], and emmeans() has `nonEst` for means that they do not; typed priors determine
#'   them.
#' * **multcomp**: `glht()`, `mcp()`. **lmtest**: `coeftest()`, `coefci()`; `lrtest()` gives a warning, see
#'   [logLik.galvi()].
#'
#' @section Tables:
#' * **broom**, **broom.mixed**: [tidy()][tidy.galvi], [glance()][tidy.galvi] and [augment()][tidy.galvi].
#' * **insight** and **parameters**: formulas, data and `model_parameters()`, with the standard deviations of random
#'   effects. `z` is the posterior mean divided by the posterior standard deviation. `get_predicted()` is
#'   [predict()][predict.galvi], with credible intervals, or prediction intervals for `predict = "prediction"`; the
#'   probabilities of classes are below each other; `predict = "zi"` is that parameter.
#' * **ggeffects**: `ggpredict()`, `predict_response()` and `ggemmeans()`. Intervals, and responses with classes, need its
#'   version 2; earlier ones do not ask for them, and predict for the first level of each grouping factor.
#' * **modelsummary**: `modelsummary()`, `modelplot()`. **sjPlot**: `tab_model()`, and `plot_model()` with `type =
#'   "est"` or `"eff"`, and `"pred"`, which is `ggpredict()`; in place of `"re"` and `"diag"` use [plot()][plot.galvi].
#' * **knitr**: fits and summaries are printed as in the console.
#'
#' @section Checks:
#' * **performance**: `model_performance()` (with leave-one-out densities in place of AIC), `r2()`, `icc()`,
#'   `rmse()`, `check_predictions()`, `check_singularity()`, `check_collinearity()`, `check_outliers()`, for counts
#'   `check_zeroinflation()` (where the package has methods of it) and, for the gaussian family,
#'   `check_heteroscedasticity()` and `check_normality()`. `compare_performance()` and
#'   `parameters::compare_parameters()` refuse fits of galvi, because they accept a fixed list of classes; use
#'   [anova()][anova.galvi] and `modelsummary()`.
#'
#'   For models with fixed effects and random effects alone, `r2()` is the marginal and the conditional R squared of
#'   Nakagawa, Johnson and Schielzeth (2017) and `icc()` the intraclass correlation, as for fits of lme4, glmmTMB and
#'   `ordinal::clmm()`. For binomial responses with trials, the residual variance of a trial is divided by the mean number
#'   of trials, as insight divides it for `cbind(successes, failures)`: the same data with a row for each trial have a
#'   smaller intraclass correlation. For `beta_family()` and `beta_binomial()` it is log(1 + v / m^2), where m and v are
#'   the mean and the variance of a share (of many trials). For models with several linear predictors, as with zero inflation,
#'   `icc()` is NA, with a warning. For other models `r2()` is the proportion of the variance of the response that the
#'   fitted values explain.
#' * **rstantools**: [bayes_R2()][bayes_R2.galvi], [loo_R2()][bayes_R2.galvi] and the functions at [draws].
#' * **loo**: [loo()][loo.galvi], [waic()][waic.galvi], `loo_compare()`, [loo_model_weights()].
#' * **projpred**: variable selection by projection, see [get_refmodel].
#' * **bayesplot**: `pp_check()`, except for types that begin with `loo_` or `km_`.
#' * **DHARMa**: `simulateResiduals()`, with a warning that it does not know the class. Simulations are conditional on
#'   the random effects; `simulateREs = "unconditional"` draws those of new groups, and `simulateREs = "user-specified",
#'   re_formula = NA` excludes them.
#' * **ggplot2**: [autoplot()][autoplot.galvi].
#'
#' @section Comparison with other fits:
#' Tests take the posterior of fixed effects as normal, with its mean and covariance and infinite degrees of freedom, where
#' [lm()] uses Student's t. Intervals of [confint()][confint.galvi], and of functions that call it, are those of the
#' posterior itself: in a linear model with wide priors those of `lm()`. For generalised linear models the posterior mean
#' differs from the maximum likelihood estimate by an amount of order 1 / n.
#'
#' Fits with several classes ([categorical()], [stick_breaking()]) have several linear predictors. marginaleffects,
#' multcomp, DHARMa, parameters and packages based on these support them; other functions stop with an error.
#'
#' If a fit does not contain all rows ([add_data()], [row_source()]), averages over the data are over those that it
#' has: the last ones or a sample.
#'
#' Packages that compute probabilities of [cumulative()] from `coef()` and `vcov()` take the thresholds as known, so their
#' intervals are too narrow; those of `predict()` include them.
#'
#' @section Errors:
#' `galvi_error_argument` for fits that a function does not support.
#' @references
#' Nakagawa, S., Johnson, P. C. D. and Schielzeth, H. (2017). The coefficient of determination R2 and intra-class
#' correlation coefficient from generalized linear mixed-effects models revisited and expanded. *Journal of the Royal
#' Society Interface* 14(134), 20170213.
#' @seealso [draws] for packages posterior and rstantools.
#' @examplesIf requireNamespace("emmeans", quietly = TRUE)
#' fit <- galvi(breaks ~ wool * tension, data = warpbreaks, family = poisson())
#' emmeans::emmeans(fit, ~ wool | tension, type = "response")
#' @name other-packages
NULL

# Wald tests need one vector of coefficients in the order of its covariance matrix.
check_wald <- function(fit, generic) {
  if (n_latents(fit) == 1L) return(invisible())
  stop_galvi("argument", sprintf(
    "%s() is for one linear predictor; this fit has %d per observation. Compare fits by loo() instead.",
    generic, n_latents(fit)
  ))
}

#' @exportS3Method car::Anova
Anova.galvi <- function(mod, ...) {
  # of several responses coef() is a matrix
  if (inherits(mod, "galvi_wide")) return(car::Anova(long_view(mod), ...))
  check_wald(mod, "Anova")
  if (!any(mod$design$assign > 0L)) {
    stop_galvi("argument", paste(
      "Anova() tests fixed effects, and this fit has none but perhaps an intercept.",
      "plot(which = \"relevance\") tells how much other terms matter."
    ))
  }
  estimable <- estimable_coefficients(mod)
  if (is.null(estimable)) NextMethod() else car::Anova(estimable, ...)
}

#' @exportS3Method car::linearHypothesis
linearHypothesis.galvi <- function(model, ...) {
  if (inherits(model, "galvi_wide")) return(car::linearHypothesis(long_view(model), ...))
  check_wald(model, "linearHypothesis")
  estimable <- estimable_coefficients(model)
  if (is.null(estimable)) NextMethod() else car::linearHypothesis(estimable, ...)
}

#' A fit with one predictor whose coefficients are those of lm() where columns depend on others: NA for what this leaves
#' out, and functions of the coefficients that the data determine for the rest
#'
#' @return An object for tests, NULL if the data determine all coefficients.
#' @noRd
estimable_coefficients <- function(fit) {
  found <- undetermined_effects(fit)
  if (is.null(found)) return(NULL)
  mean <- stats::coef(fit)
  # moves along the directions until the coefficients left out are zero
  T <- diag(length(mean))
  T[, found$aliased] <- T[, found$aliased] - found$directions
  kept <- -found$aliased
  V <- (T %*% vcov.galvi(fit) %*% t(T))[kept, kept, drop = FALSE]
  mean[] <- replace(drop(T %*% mean), found$aliased, NA)
  structure(list(fit = fit, mean = mean, V = V), class = "galvi_estimable")
}

#' @export
coef.galvi_estimable <- function(object, ...) {
  refuse_dots(list(...), coef.galvi_estimable, "coef()")
  object$mean
}
#' @export
vcov.galvi_estimable <- function(object, complete = TRUE, ...) {
  refuse_dots(list(...), vcov.galvi_estimable, "vcov()")
  object$V
}
#' @export
terms.galvi_estimable <- function(x, ...) stats::terms(x$fit, ...)
#' @export
formula.galvi_estimable <- function(x, ...) stats::formula(x$fit, ...)
#' @export
model.matrix.galvi_estimable <- function(object, ...) stats::model.matrix(object$fit, ...)
#' @export
df.residual.galvi_estimable <- function(object, ...) stats::df.residual(object$fit, ...)

# Without `df` the package asks df.residual(), which is for imputed data: z tests.
#' @exportS3Method lmtest::coeftest
coeftest.galvi <- function(x, vcov. = NULL, df = Inf, ...) {
  check_one_predictor(x, "coeftest()")
  NextMethod(df = df)
}

#' @exportS3Method lmtest::coefci
coefci.galvi <- function(x, parm = NULL, level = 0.95, vcov. = NULL, df = Inf, ...) {
  check_one_predictor(x, "coefci()")
  NextMethod(df = df)
}

# A vector of coefficients, also of a distributional parameter.
check_one_predictor <- function(fit, what) {
  if (!is_several(fit)) return(invisible())
  stop_galvi("argument", sprintf(
    "%s is for one vector of coefficients; those of this fit are a matrix. Use confint() or generics::tidy().", what
  ))
}

# One coefficient for each row of vcov(), of several classes too.
#' @exportS3Method multcomp::modelparm
modelparm.galvi <- function(model, coef., vcov., df, ...) {
  means <- function(fit) stats::setNames(coefficient_means(fit), rownames(vcov.galvi(fit)))
  if (missing(coef.)) coef. <- means
  if (missing(vcov.)) vcov. <- vcov.galvi
  if (missing(df)) df <- NULL
  if (!length(coefficient_means(model))) {
    stop_galvi("argument", "glht() makes contrasts of fixed effects, and this fit has none.")
  }
  NextMethod(coef. = coef., vcov. = vcov., df = df)
}

#' @exportS3Method bayesplot::pp_check
pp_check.galvi <- function(object, type = "dens_overlay", ndraws = NULL, group = NULL, x = NULL, ...) {
  known <- sub("^ppc_", "", as.character(bayesplot::available_ppc()))
  type <- check_choice(type, known, "type")
  if (grepl("^loo_|^km_", type)) {
    stop_galvi("argument", sprintf(paste(
      "pp_check() has no `type = \"%s\"` for fits of galvi(): plot(fit, \"calibration\") checks the leave-one-out",
      "predictions."
    ), type))
  }
  draw <- getExportedValue("bayesplot", paste0("ppc_", type))
  dots <- list(...)
  dots <- dots[names(dots) %in% names(formals(draw))]
  check_has_rows(object, "pp_check() needs them all")
  if (is.null(ndraws)) ndraws <- if (grepl("overlay|^hist$|^dens$|^boxplot$|^freqpoly$", type)) 10 else 500
  yrep <- simulated_numbers(object, check_whole(ndraws, "ndraws"))
  arguments <- c(list(y = observed_numbers(object), yrep = yrep), dots)
  for (name in c("group", "x")) {
    value <- switch(name, group = group, x = x)
    if (is.null(value)) next
    if (is.character(value) && length(value) == 1L) {
      value <- object$data[[check_choice(value, names(object$data), name)]]
    }
    arguments[[name]] <- value
  }
  do.call(draw, arguments)
}

#' Responses as numbers: classes by their place among the levels, successes as shares of the trials
#' @noRd
observed_numbers <- function(fit) {
  target <- training_target(fit)
  check_observed(fit, target, "pp_check()")
  if (has_classes(fit)) target$y + 1 else target$y / trials_of(fit, target)
}

#' @return A matrix, draws x observations
#' @noRd
simulated_numbers <- function(fit, n) {
  target <- training_target(fit)
  y <- unname(over_draws(fit, target, n, draw_response))
  if (has_classes(fit)) y + 1 else sweep(y, 2L, trials_of(fit, target), `/`)
}

# ---- DHARMa ----

# simulateResiduals() reads these four. Groups keep their effects, as in simulate(), unless its arguments say otherwise.
#' @exportS3Method DHARMa::getSimulations
getSimulations.galvi <- function(object, nsim = 1, simulateREs = "conditional", type = "normal", re_formula = NULL,
                                 ...) {
  kinds <- c("conditional", "unconditional", "user-specified")
  anew <- first_choice(simulateREs, kinds, "simulateREs") == "unconditional"
  if (type != "normal") {
    stop_galvi("argument", "simulateResiduals() cannot refit a fit of galvi(): use `refit = FALSE`.")
  }
  check_not_counts(object, "simulateResiduals()")
  kept <- if (anew) given_effects(object, NA) else kept_effects(object, re_formula)
  target <- draws_target(object, NULL, kept = kept)
  t(unname(over_draws(object, target, check_whole(nsim, "nsim"), draw_response)))
}

#' @exportS3Method DHARMa::getObservedResponse
getObservedResponse.galvi <- function(object, ...) {
  check_not_counts(object, "simulateResiduals()")
  target <- training_target(object)
  check_observed(object, target, "simulateResiduals()")
  target$y
}

# Of trials the probability, of classes the mean of their numbers.
#' @exportS3Method DHARMa::getFitted
getFitted.galvi <- function(object, ...) {
  target <- training_target(object)
  if (has_classes(object)) {
    p <- class_moments(object, latent_marginals(object, target))$mean
    return(unname(drop(p %*% (seq_len(ncol(p)) - 1))))
  }
  unname(target$y / trials_of(object, target) - response_residuals(object, target))
}

#' @exportS3Method DHARMa::getResiduals
getResiduals.galvi <- function(object, ...) {
  target <- training_target(object)
  target$y / trials_of(object, target) - getFitted.galvi(object)
}

# Counts of several classes are several numbers.
check_not_counts <- function(fit, what) {
  if (!is_counts(fit)) return(invisible())
  stop_galvi("argument", paste(what, "needs one number for each observation; this response counts several classes."))
}
