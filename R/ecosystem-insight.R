# Package insight, by which parameters, performance, modelsummary, sjPlot and marginaleffects read a model: its
# formulas, coefficients, their mean and covariance. marginaleffects hands its own arguments to get_parameters().

# Formulas as lme4 writes them: the response's in `conditional`, its groups in `random`, those of other parameters
# under the names that insight has for them.
#' @exportS3Method insight::find_formula
find_formula.galvi <- function(x, ...) {
  views <- predictors(x)
  formulas <- lapply(views, visible_formula)
  response <- x$design$formula[[2L]]
  formulas[[1L]] <- stats::as.formula(call("~", response, formulas[[1L]][[2L]]), environment(x$formula))
  names(formulas) <- c("conditional", insight_components(x))
  random <- lapply(views, random_formulas)
  names(random) <- c("random", sprintf("%s_random", insight_components(x)))
  formulas <- c(formulas, Filter(length, random))
  structure(formulas, class = c("insight_formula", "list"))
}

# insight looks for variables in the names of the model frame: a and b instead of the column that a:b is there.
#' @exportS3Method insight::get_data
get_data.galvi <- function(x, ...) {
  inputs <- unlist(lapply(all_specs(x$design), `[[`, "inputs"))
  combined <- Filter(function(input) !identical(written_input(input), input), inputs)
  columns <- intersect(vapply(combined, variable_name, ""), names(x$data))
  if (!length(columns)) return(NextMethod())
  x$data[columns] <- NULL
  missing <- setdiff(unlist(lapply(combined, all.vars)), names(x$data))
  own <- tryCatch(original_data(x, missing), galvi_error = function(e) NULL)
  x$data[names(own)] <- own
  insight::get_data(x, ...)
}

# What the predictors of other parameters than the response's are called.
insight_components <- function(fit) {
  names <- names(fit$design$others)
  known <- c(zi = "zero_inflated", hu = "zero_inflated", sigma = "sigma", nu = "nu")[names]
  as.character(ifelse(is.na(known), "dispersion", known))
}

#' Right-hand side of a predictor without its groups
#' @noRd
visible_formula <- function(view) {
  specs <- Filter(function(spec) spec$type != fixed_label, view$design$specs)
  specs <- specs[which_of_population(specs)]
  terms <- lapply(specs, function(spec) as.call(c(as.name(spec$type), lapply(spec$inputs, written_input), spec$by)))
  extra <- c(terms, offset_calls(view))
  right <- Reduce(function(a, b) call("+", a, b), extra, shown_formula(view))
  stats::as.formula(call("~", right), environment(view$formula))
}

offset_calls <- function(view) {
  terms <- with_own_offsets(view$design$frame_terms, or_else(view$number, 1L))
  own <- as.list(attr(terms, "variables"))[-1L][attr(terms, "offset")]
  Filter(function(call) !identical(call, as.name(cox_names[["exposure"]])), own)
}

#' ~1 | g for each of the groups; NULL if there are none
#' @noRd
random_formulas <- function(view) {
  specs <- view$design$specs[which_can(view$design$specs, "grouped")]
  calls <- unlist(lapply(specs, function(spec) {
    if (spec$type %in% bars) {
      bar <- str2lang(spec$shown)[[2L]]
      # gr(g, by = f) and mm(g1, g2) by their groups
      if (head_name(bar[[3L]]) %in% c("gr", "mm")) bar[[3L]] <- group_expression(spec)
      return(single_bars(bar))
    }
    left <- if (is.null(spec$by)) 1 else call("+", 0, spec$by)
    list(call("|", left, group_expression(spec)))
  }))
  formulas <- lapply(calls, function(bar) stats::as.formula(call("~", bar), environment(view$formula)))
  if (length(formulas) == 1L) formulas[[1L]] else if (length(formulas)) unname(formulas)
}

group_expression <- function(spec) {
  plain <- lapply(spec$inputs, function(input) if (is.null(spec$weights)) written_input(input) else input[[2L]])
  Reduce(function(a, b) call(":", a, b), plain)
}

# x || g -> 1 | g, 0 + x | g
single_bars <- function(bar) {
  if (head_name(bar) != "||") return(list(bar))
  effects <- stats::terms(stats::as.formula(call("~", bar[[2L]])))
  slopes <- lapply(attr(effects, "term.labels"), function(label) call("+", 0, str2lang(label)))
  lapply(c(if (attr(effects, "intercept")) list(1), slopes), function(left) call("|", left, bar[[3L]]))
}

#' Fixed effects in the order of vcov(): Parameter, Estimate and, where there are several, Component or Response
#' @noRd
parameter_table <- function(fit, component = "all") {
  V <- vcov.galvi(fit)
  # marginaleffects differentiates functions of the coefficients
  means <- or_else(unname(attr(fit, "changed_coefficients")), coefficient_means(fit))
  table <- data.frame(Parameter = as.character(rownames(V)), Estimate = means)
  if (n_predictors(fit) > 1L) {
    table$Component <- c("conditional", insight_components(fit))[predictor_of_name(fit, table$Parameter)]
    if (!identical(component, "all")) table <- table[table$Component %in% component, ]
  } else if (n_latents(fit) > 1L) {
    table$Response <- rep(latent_names(fit), each = nrow(table) / n_latents(fit))
  }
  row.names(table) <- NULL
  table
}

#' @exportS3Method insight::find_parameters
find_parameters.galvi <- function(x, effects = "fixed", component = "all", flatten = FALSE, ...) {
  table <- parameter_table(x, component)
  groups <- or_else(table$Component, rep("conditional", nrow(table)))
  found <- if (nrow(table)) split(table$Parameter, factor(groups, unique(groups))) else list()
  if (effects != "fixed") found$random <- names(ranef.galvi(x))
  if (flatten) as.character(unique(unlist(found, use.names = FALSE))) else found
}

#' @exportS3Method insight::get_parameters
get_parameters.galvi <- function(x, effects = "fixed", component = "all", ...) {
  if (effects == "random") ranef.galvi(x) else parameter_table(x, component)
}

# Posterior means in posterior standard deviations.
#' @exportS3Method insight::get_statistic
get_statistic.galvi <- function(x, ...) {
  V <- vcov.galvi(x)
  structure(
    data.frame(Parameter = as.character(rownames(V)), Statistic = unname(coefficient_means(x) / sqrt(diag(V)))),
    statistic = "z-statistic"
  )
}

#' @exportS3Method insight::find_statistic
find_statistic.galvi <- function(x, ...) {
  "z-statistic"
}

# Tests take the posterior as normal. Residual degrees of freedom are those of lm(), without other terms.
#' @exportS3Method insight::get_df
get_df.galvi <- function(x, type = "wald", ...) {
  p <- nrow(vcov.galvi(x))
  switch(type, residual = nobs.galvi(x) - p, model = p, Inf)
}

# What versions of parameters before 0.21 ask instead; its default there knows a list of classes only.
#' @exportS3Method parameters::degrees_of_freedom
degrees_of_freedom.galvi <- function(model, method = "analytical", ...) {
  get_df.galvi(model, if (identical(method, "residual")) "residual" else "wald")
}

#' @exportS3Method insight::is_converged
is_converged.galvi <- function(x, ...) {
  x$convergence$converged
}

#' @exportS3Method insight::get_loglikelihood
get_loglikelihood.galvi <- function(x, ...) {
  warn_evidence("insight::get_loglikelihood()")
  logLik.galvi(x)
}

# ---- predictions ----

# insight's words for what is predicted, and the type of predict() that is meant.
insight_predictions <- c(
  expectation = "response", expected = "response", response = "response", link = "link", prediction = "response",
  predicted = "response", classification = "class"
)

# insight's default is the inverse link of eta: no class probabilities, no zeros, no averages over eta. Where `data`
# lack groups, the prediction is for the population.
#' @exportS3Method insight::get_predicted
get_predicted.galvi <- function(x, data = NULL, predict = "expectation", ci = NULL, include_random = "default",
                                iterations = NULL, verbose = TRUE, ...) {
  if (!is.null(iterations)) {
    stop_galvi("argument", "`iterations` is not available: posterior_epred() and posterior_predict() have draws.")
  }
  given <- list(...)
  parameters <- names(x$design$others)
  what <- check_choice(or_else(given$type, predict), c(names(insight_predictions), parameters), "predict")
  type <- if (what %in% parameters) "response" else insight_predictions[[what]]
  data <- or_else(data, given$newdata)
  kept <- insight_groups(x, data, include_random)
  # the rows that the fit used
  if (is.null(data)) x$na.action <- NULL
  ask <- function(...) {
    of <- if (what %in% parameters) list(dpar = what)
    do.call(stats::predict, c(list(x, newdata = data, type = type, re_formula = kept), of, list(...)))
  }
  fit <- ask()
  if (length(dim(fit)) > 2L) {
    stop_galvi("argument", "get_predicted() has no place for the classes of several responses: use predict().")
  }
  new <- what %in% c("prediction", "predicted")
  uncertain <- if (length(stats::na.omit(ci))) {
    by_class <- is_by_class(x) && type == "response"
    if (by_class) type <- "prob"
    predicted_limits(ask, fit, ci, new, verbose, by_class)
  }
  frame <- if (is.null(data)) insight_frame(x) else as.data.frame(data)
  if (is.matrix(fit)) fit <- predicted_by_class(fit, insight_inputs(x, frame))
  structure(fit, ci_data = uncertain, data = frame, ci = ci, predict = what, class = c("get_predicted", class(fit)))
}

#' Which groups a prediction has: the argument `re_formula` of predict()
#' @noRd
insight_groups <- function(fit, data, include_random) {
  if (inherits(include_random, "formula")) return(include_random)
  bars <- lapply(unlist(lapply(predictors(fit), random_formulas)), function(f) f[[2L]][[3L]])
  groups <- union(unlist(lapply(bars, all.vars)), population_columns(fit$design))
  if (!length(groups) || isTRUE(include_random)) return(NULL)
  none <- isFALSE(include_random) || length(include_random) == 1L && is.na(include_random)
  # packages that predict for the population leave groups out, or make them NA
  known <- is.null(data) || all(groups %in% names(data)) && !any(vapply(data[groups], function(x) all(is.na(x)), NA))
  if (none || !known) NA
}

#' What insight calls `ci_data`: standard errors and intervals, which probabilities of classes have too
#' @param ask Calls predict() with arguments that are added. new: of a new response? by_class: has `fit` a column for each
#'   class?
#' @noRd
predicted_limits <- function(ask, fit, ci, new, verbose, by_class) {
  if (by_class && is.matrix(fit)) return(class_limits_table(ask, ci))
  if (!is.numeric(fit) || is.matrix(fit)) {
    if (verbose) {
      warn_galvi("argument", paste(
        "`ci`: there are no intervals for the most probable class, nor for several responses;",
        if (is.numeric(fit)) "SE is the posterior standard deviation." else "see predict = \"expectation\"."
      ))
    }
    if (is.numeric(fit)) return(class_table(SE = ask(se.fit = TRUE)$se.fit))
    return(NULL)
  }
  limits <- lapply(ci, function(level) {
    both <- ask(interval = if (new) "prediction" else "credible", level = level)[, c("lwr", "upr"), drop = FALSE]
    suffix <- if (length(ci) > 1L) paste0("_", level) else ""
    `colnames<-`(both, paste0(c("CI_low", "CI_high"), suffix))
  })
  table <- data.frame(do.call(cbind, limits), row.names = NULL)
  if (new) table else cbind(SE = unname(ask(se.fit = TRUE)$se.fit), table)
}

# Is the mean of the response a probability for each class?
is_by_class <- function(fit) isTRUE(has_classes(if (inherits(fit, "galvi_stages")) stages_view(fit) else fit))

class_limits_table <- function(ask, ci) {
  table <- class_table(SE = ask(se.fit = TRUE)$se.fit)
  for (level in ci) {
    limits <- ask(interval = "credible", level = level)
    suffix <- if (length(ci) > 1L) paste0("_", level) else ""
    table[paste0(c("CI_low", "CI_high"), suffix)] <- list(as.vector(limits[, , "lwr"]), as.vector(limits[, , "upr"]))
  }
  table
}

#' Columns of a matrix of classes below each other
#' @param x Its values. inputs: a data frame of its rows that is repeated.
#' @noRd
predicted_by_class <- function(fit, inputs) {
  table <- class_table(Predicted = fit)
  if (length(inputs)) table <- cbind(table["Row"], inputs[table$Row, , drop = FALSE], table[c("Response", "Predicted")])
  row.names(table) <- NULL
  table
}

class_table <- function(...) {
  of <- list(...)
  table <- data.frame(
    Row = rep(seq_len(nrow(of[[1L]])), ncol(of[[1L]])), Response = rep(colnames(of[[1L]]), each = nrow(of[[1L]]))
  )
  table[[names(of)]] <- as.vector(of[[1L]])
  table
}

#' The rows that the fit used, with the variables as they are in the data where these are found
#' @noRd
insight_frame <- function(fit) {
  if (in_long_form(fit)) return(augmented_data(if (inherits(fit, "galvi_stages")) stages_view(fit) else fit))
  used <- unique(unlist(lapply(all_formulas(fit), all.vars)))
  tryCatch(original_data(fit, used), galvi_error = function(e) augmented_data(fit))
}

#' The predictors in a data frame that have more than one value
#' @noRd
insight_inputs <- function(fit, frame) {
  response <- c(all.vars(fit$formula[[2L]]), names(fit$data)[1L], fit$design$wide$name)
  own <- setdiff(names(frame), response)
  varies <- vapply(frame[own], function(x) is.null(dim(x)) && length(unique(x)) > 1L, NA)
  frame[own[varies & !startsWith(own, "(")]]
}

# ggeffects' words for what is predicted at its grid: the groups that count, and the parameter; "fixed" and "random" are
# those of the part without excess zeros.
ggeffects_types <- list(
  fixed = list(kept = NA, part = "cond"), random = list(kept = NULL, part = "cond"),
  zero_inflated = list(kept = NA), zero_inflated_random = list(kept = NULL), zi_prob = list(kept = NA, part = "zi")
)

# Generic of ggeffects 2, which asks insight for models without a method of it, and leaves the level out. Of classes it
# wants a row for each, named in `response.level`. Registered when galvi or ggeffects is loaded (R/base-control.R).
get_predictions.galvi <- function(model, data_grid = NULL, ci_level = 0.95, type = "fixed", interval = "confidence",
                                  ...) {
  type <- check_choice(type, names(ggeffects_types), "type")
  entry <- ggeffects_types[[type]]
  zeros <- any(tmb_components$zi %in% predictor_names(model))
  part <- if (zeros && !is.null(entry$part)) intersect(tmb_components[[entry$part]], predictor_names(model))
  if (type == "zi_prob" && !zeros) stop_galvi("argument", "`type = \"zi_prob\"` needs a family with excess zeros.")
  classes <- is_by_class(model)
  ask <- function(...) {
    kind <- if (classes) "prob" else "response"
    arguments <- c(list(model, newdata = data_grid, type = kind), list(...), list(re_formula = entry$kept))
    do.call(stats::predict, c(arguments, if (length(part)) list(dpar = part[1L])))
  }
  level <- if (length(stats::na.omit(ci_level))) ci_level
  limits <- if (is.null(level)) "none" else if (identical(interval, "prediction")) interval else "credible"
  found <- if (is.null(level)) ask() else ask(interval = limits, level = level)
  if (classes) {
    fit <- if (is.null(level)) found else found[, , "fit"]
    table <- class_table(predicted = array(fit, dim(found)[1:2], list(NULL, colnames(found))))
    out <- cbind(data_grid[table$Row, , drop = FALSE], table[c("predicted")], response.level = table$Response)
    row.names(out) <- NULL
    limits <- if (is.null(level)) NA_real_ else matrix(found[, , c("lwr", "upr")], ncol = 2L)
  } else {
    out <- data_grid
    out$predicted <- unname(if (is.null(level)) found else found[, "fit"])
    limits <- if (is.null(level)) NA_real_ else found[, c("lwr", "upr"), drop = FALSE]
  }
  out[c("conf.low", "conf.high")] <- unname(as.data.frame(matrix(limits, nrow(out), 2L)))
  out
}

# ---- parameters ----

# Coefficients of all predictors and classes, whose names are unique, and the standard deviations and correlations
# of groups, as of lme4's models.
#' @exportS3Method parameters::model_parameters
model_parameters.galvi <- function(model, ci = 0.95, effects = "all", ...) {
  effects <- check_choice(effects, c("all", "fixed", "random"), "effects")
  # classes have a table each, which share the groups' standard deviations
  groups <- any(of_random_effects(model)) && !is_several(model)
  if (effects == "random" && !groups) {
    stop_galvi("argument", paste(
      "`effects = \"random\"` needs random effects, such as (1 | g), and one linear predictor: VarCorr() shows what",
      "else there is."
    ))
  }
  if (!length(coefficient_means(model))) {
    stop_galvi("argument", paste(
      "model_parameters() shows fixed effects, and this fit has none: `fit$hyper` has its hyperparameters, and",
      "VarCorr() the random effects' standard deviations."
    ))
  }
  check_own_intervals(list(...))
  fixed <- NextMethod(effects = "fixed", component = "all")
  # logarithms of times, whose link is that of prevalences
  if (family_type(model$family)$times) attr(fixed, "coefficient_name") <- "Coefficient"
  if (!groups || effects == "fixed") return(fixed)
  with_groups(fixed, group_parameters(model, ci), effects)
}

#' Stops at intervals and covariances of other models: there is one posterior
#' @noRd
check_own_intervals <- function(dots) {
  if (!is.null(dots[["vcov"]])) refuse_generic("sandwich()", "`vcov`")
  method <- dots[["ci_method"]]
  if (is.null(method) || identical(tolower(method) %in% c("wald", "normal", "eti", "quantile"), TRUE)) return(invisible())
  stop_galvi("argument", sprintf(paste(
    "`ci_method = %s` is not available: the intervals are those of the posterior, as in confint(fit). Leave it out."
  ), deparse_one(method)))
}

#' The rows of parameters' tables for what VarCorr() has
#' @noRd
group_parameters <- function(fit, ci) {
  level <- if (any(ci > 0)) ci[1L] else 0.95
  table <- as.data.frame.VarCorr.galvi(VarCorr.galvi(fit, level = level))
  residual <- is.na(table$var1)
  bare <- lapply(table[c("var1", "var2")], function(x) gsub("[()]", "", x))
  pair <- sprintf("Cor (%s~%s)", bare$var1, bare$var2)
  name <- ifelse(is.na(table$var2), sprintf("SD (%s)", bare$var1), pair)
  component <- c("conditional", insight_components(fit))[predictor_of_name(fit, table$var1)]
  data.frame(
    Parameter = ifelse(residual, "SD (Observations)", name), Coefficient = table$sdcor, SE = NA_real_, CI = level,
    CI_low = table$lwr, CI_high = table$upr, Component = component, Effects = "random", Group = table$grp
  )
}

#' parameters' table of fixed effects with rows of groups, whose attributes it keeps
#' @noRd
with_groups <- function(fixed, random, effects) {
  fixed$Effects <- "fixed"
  fixed$Group <- ""
  missing <- setdiff(names(fixed), names(random))
  random[missing] <- NA
  random <- random[intersect(names(fixed), names(random))]
  table <- if (effects == "random") random else rbind(as.data.frame(fixed), random)
  kept <- attributes(fixed)
  kept[c("names", "row.names")] <- NULL
  kept$pretty_names <- c(kept$pretty_names, stats::setNames(random$Parameter, random$Parameter))
  kept$ran_pars <- TRUE
  attributes(table)[names(kept)] <- kept
  table
}

#' @exportS3Method parameters::standard_error
standard_error.galvi <- function(model, ...) {
  V <- vcov.galvi(model)
  data.frame(Parameter = rownames(V), SE = unname(sqrt(diag(V))))
}

#' @exportS3Method parameters::p_value
p_value.galvi <- function(model, ...) {
  table <- get_statistic.galvi(model)
  data.frame(Parameter = table$Parameter, p = 2 * stats::pnorm(-abs(table$Statistic)))
}

# Credible intervals. `method` and `vcov` of other models make no difference: there is one posterior.
#' @exportS3Method bayestestR::ci
ci.galvi <- function(x, ci = 0.95, ...) {
  tables <- lapply(ci, function(level) {
    # without intervals sjPlot asks for level 0
    limits <- if (level > 0) confint.galvi(x, level = level) else cbind(coefficient_means(x), coefficient_means(x))
    rownames(limits) <- rownames(vcov.galvi(x))
    data.frame(
      Parameter = rownames(limits), CI = rep(level, nrow(limits)), CI_low = unname(limits[, 1L]),
      CI_high = unname(limits[, 2L])
    )
  })
  do.call(rbind, tables)
}

# ---- performance ----

# Leave-one-out predictive density as for Bayesian models; an AIC would warn that there is none.
#' @exportS3Method performance::model_performance
model_performance.galvi <- function(model, metrics = "all", verbose = TRUE, ...) {
  known <- c("ELPD", "ELPD_SE", "LOOIC", "LOOIC_SE", "R2", "R2_conditional", "R2_marginal", "ICC", "RMSE", "Sigma")
  chosen <- if (identical(metrics, "all") || identical(metrics, "common")) known else {
    unique(unlist(lapply(metrics, function(metric) {
      switch(metric,
        LOOIC = , ELPD = paste0(metric, c("", "_SE")), R2 = grep("^R2", known, value = TRUE),
        check_choice(metric, known, "metrics")
      )
    })))
  }
  values <- list()
  if (any(c("ELPD", "LOOIC") %in% chosen)) {
    loo <- loo.galvi(model)$estimates
    values[c("ELPD", "ELPD_SE")] <- loo["elpd_loo", c("Estimate", "SE")]
    values[c("LOOIC", "LOOIC_SE")] <- loo["looic", c("Estimate", "SE")]
  }
  has_mean <- !inherits(model, "galvi_cox") && !is_by_class(model) && !is_volatility(model) && !is_censored(model)
  if (has_mean) {
    r2 <- if (inherits(model, "galvi_wide")) list(R2 = explained(model)) else r2.galvi(model)
    values[names(r2)] <- lapply(r2, unname)
    # the groups' share of what fixed effects do not explain
    if ("R2_marginal" %in% names(values)) {
      values$ICC <- with(values, (R2_conditional - R2_marginal) / (1 - R2_marginal))
    }
    squares <- as.matrix(stats::residuals(model, "response")^2)
    values$RMSE <- sqrt(unname(colMeans(squares, na.rm = TRUE)))
  }
  values$Sigma <- sigma.galvi(model)
  table <- as.data.frame(values[intersect(chosen, names(values))])
  structure(table, class = c("performance_model", "data.frame"))
}

# Is a variance of groups zero, or a correlation at its limit? The notes of the fit say so.
#' @exportS3Method performance::check_singularity
check_singularity.galvi <- function(x, ...) any(vapply(x$notes, function(note) note$what == "singular", NA))

# Zeros by the family's own probabilities; the package counts those of a Poisson or negative binomial distribution.
#' @exportS3Method performance::check_zeroinflation
check_zeroinflation.galvi <- function(x, tolerance = 0.05, ...) {
  if (!identical(family_type(x$family)$response, count_response)) {
    stop_galvi("argument", sprintf(
      "check_zeroinflation() is for counts; this fit's family is %s. See plot(fit, \"residuals\").", family_label(x)
    ))
  }
  zeros <- list(
    predicted.zeros = round(sum(stats::predict(x, type = "cdf", q = 0), na.rm = TRUE)),
    observed.zeros = sum(observed_numbers(x) == 0, na.rm = TRUE)
  )
  structure(c(zeros, ratio = zeros$predicted.zeros / zeros$observed.zeros, tolerance = tolerance), class = "check_zi")
}

# Errors of numbers, which classes are not.
#' @exportS3Method performance::performance_mse
performance_mse.galvi <- function(model, ...) {
  check_no_classes(model, "performance::rmse()")
  NextMethod()
}

#' @exportS3Method performance::performance_mae
performance_mae.galvi <- function(model, ...) {
  check_no_classes(model, "performance::mae()")
  NextMethod()
}

# Breusch and Pagan's test, as of lm(): do squared residuals change with the mean?
#' @exportS3Method performance::check_heteroscedasticity
check_heteroscedasticity.galvi <- function(x, ...) {
  if (!isTRUE(facts_of(x)$conjugate)) {
    stop_galvi("argument", sprintf(
      "check_heteroscedasticity() is for one residual variance; this fit's family is %s. See plot(fit, \"residuals\").",
      family_label(x)
    ))
  }
  squared <- residuals.galvi(x, "deviance")^2
  table <- stats::anova(stats::lm(squared / mean(squared, na.rm = TRUE) ~ stats::fitted(x)))
  structure(
    stats::pchisq(table[["Sum Sq"]][1L] / 2, 1, lower.tail = FALSE), data = x,
    object_name = deparse_one(substitute(x)),
    class = c("check_heteroscedasticity", "see_check_heteroscedasticity", "numeric")
  )
}

# ---- packages mice and others ----

#' @importFrom stats df.residual
#' @export
df.residual.galvi <- function(object, ...) {
  refuse_dots(list(...), df.residual.galvi, "df.residual()")
  if (inherits(object, "galvi_wide")) NA_integer_ else get_df.galvi(object, "residual")
}
