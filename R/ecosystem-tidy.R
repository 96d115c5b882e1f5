#' Tidy data frames of a fit
#'
#' Methods for `tidy()`, `glance()` and `augment()`, the generics of packages generics, broom and broom.mixed, with
#' their column names.
#'
#' @param x A fit of [galvi()].
#' @param effects One or more of `"fixed"` for the fixed effects; `"ran_pars"` for the parameters of random effects, of
#'   other terms and of the family; and `"ran_vals"` for the effects that [`ranef()`][ranef.galvi] returns. NULL, the
#'   default, stands for `"fixed"` if the model has only fixed effects and no thresholds, as in broom, else for
#'   `c("fixed", "ran_pars")`, as in broom.mixed.
#' @param conf.int If TRUE, add credible intervals. FALSE by default.
#' @param conf.level Probability of the intervals, between 0 and 1.
#' @param exponentiate If TRUE, return exp(coefficient) of the fixed effects, such as odds ratios and rate ratios. FALSE
#'   by default.
#' @param data,newdata Data to which columns are added: the observations of the fit, or new data. Where `na.exclude` keeps
#'   the places of rows with missing values, `data` may have these rows, too, as in broom: their predictions are NA.
#' @param type.predict Scale of `.fitted`: `"response"` or `"link"`; for responses with several classes also `"prob"`.
#' @param interval Limits `.lower` and `.upper` to add: `"none"` (the default), `"credible"` (or `"confidence"`) for the
#'   linear predictor or the mean response, or `"prediction"` for a new response.
#' @param ... Not used: arguments that methods for other models have are passed over.
#' @return Tibbles; data frames where package tibble is not installed.
#'
#'   `tidy()` has one row per effect or parameter, with those of these columns that the model needs: `effect`, for
#'   models with random effects; `component`, for several predictors (`"cond"`, or the name of the parameter); `group`,
#'   the grouping factor of a random effect or the label of another term; `level`, for `"ran_vals"`; `y.level` or
#'   `response`, the class, or the column of [responses()]; `term`; `estimate`; `std.error`; `conf.low` and
#'   `conf.high`, with `conf.int`.
#'   * `"fixed"`: posterior mean and standard deviation. With `exponentiate`, `estimate` is exp(mean), the posterior
#'     median of exp(coefficient), and `std.error` is multiplied by it (the delta method, as in broom.mixed).
#'   * `"ran_pars"`: standard deviations and correlations of random effects are named as in broom.mixed:
#'     `sd__(Intercept)`, `cor__(Intercept).x`, and `sd__Observation` of the group `Residual` for the residual standard
#'     deviation. Other parameters have their name and value in `fit$hyper`, so that a variance is a variance.
#'     `std.error` is NA; for intervals see [galvi-fit]. Thresholds of an ordinal response have their posterior mean and
#'     standard deviation, where `summary()` has them.
#'   * `"ran_vals"`: posterior mean and standard deviation. Unlike the conditional standard deviations of lme4, the
#'     latter include the uncertainty of the fixed effects.
#'
#'   `glance()` has one row with `nobs`; `df`, the number of learned hyperparameters, and `logLik`, the log evidence or
#'   its bound, both as in [logLik()][logLik.galvi]; `sigma`, NA for families without it; `df.residual`, the number of
#'   observations less that of the fixed effects; and `converged`.
#'
#'   `augment()` adds `.fitted`, `.se.fit`, `.lower` and `.upper` (with `interval`) and `.resid`, the response residual,
#'   to the data; new data need the response for `.resid`. Row names are kept as `.rownames`. For responses with several
#'   classes, `.fitted` is the most probable class, `.probability` its probability, and `.resid` the deviance residual;
#'   `type.predict = "prob"` adds a column `.prob_<class>` for each class. For censored responses `.resid` is the
#'   quantile residual in the middle of the interval that is known to contain it. For [responses()] the columns are
#'   matrices with a column for each response.
#' @seealso [summary()][summary.galvi], [other-packages].
#' @inheritSection coef.galvi Several classes
#' @examplesIf requireNamespace("generics", quietly = TRUE)
#' # rate ratios
#' fit <- galvi(count ~ spray, data = InsectSprays, family = poisson())
#' generics::tidy(fit, conf.int = TRUE, exponentiate = TRUE)
#' generics::glance(fit)
#' head(generics::augment(fit))
#'
#' # as of lme4's fits
#' fit <- galvi(weight ~ Time + (1 | Chick), data = ChickWeight)
#' generics::tidy(fit)
#' @name tidy.galvi
NULL

#' @rdname tidy.galvi
#' @method tidy galvi
#' @rawNamespace S3method(generics::tidy,galvi)
tidy.galvi <- function(x, effects = NULL, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  effects <- if (is.null(effects)) default_effects(x) else check_effects(effects)
  level <- check_level(conf.level, "conf.level")
  conf.int <- check_flag(conf.int, "conf.int")
  exponentiate <- check_flag(exponentiate, "exponentiate")
  if (exponentiate && !"fixed" %in% effects) {
    stop_galvi("argument", "`exponentiate = TRUE` is for fixed effects, and `effects` has not \"fixed\".")
  }
  pieces <- list(fixed = tidy_fixed, ran_pars = tidy_hyper, ran_vals = tidy_random)[effects]
  table <- do.call(rbind, lapply(pieces, function(piece) piece(x, level)))
  if (exponentiate) table <- exponentiate_fixed(table)
  several <- !all(effects == "fixed")
  needed <- c(
    effect = has_groups(x), component = n_predictors(x) > 1L, group = several, level = "ran_vals" %in% effects,
    y.level = is_several(x), response = inherits(x, "galvi_wide"), term = TRUE, estimate = TRUE, std.error = TRUE,
    conf.low = conf.int, conf.high = conf.int
  )
  as_table(table[names(needed)[needed]])
}

#' A tibble, as broom's functions return, where that package is installed
#' @noRd
as_table <- function(table) {
  rownames(table) <- NULL
  if (!requireNamespace("tibble", quietly = TRUE)) return(table)
  tibble::as_tibble(table, .name_repair = "minimal")
}

default_effects <- function(fit) {
  specs <- all_specs(fit$design)
  fixed <- all(vapply(specs, function(spec) spec$type == fixed_label, NA)) && !is_ordinal(fit)
  c("fixed", if (!fixed) "ran_pars")
}

has_groups <- function(fit) any(which_can(all_specs(fit$design), "grouped"))

check_effects <- function(effects) {
  if (!is.character(effects) || !length(effects)) check_choice(effects, tidy_effects, "effects")
  unique(vapply(effects, check_choice, "", tidy_effects, "effects", USE.NAMES = FALSE))
}

tidy_effects <- c("fixed", "ran_pars", "ran_vals")

#' Rows of tidy(), with all columns
#' @param limits A matrix of two columns; NULL for those of normal distributions with these means and sds.
#' @noRd
tidy_rows <- function(effect, term, estimate, std.error, level, limits = NULL, group = NA_character_,
                      unit = NA_character_, class = NA_character_, component = "cond") {
  n <- length(estimate)
  if (is.null(limits)) limits <- estimate + outer(rep_len(std.error, n), stats::qnorm(tails(level)))
  data.frame(
    effect = rep_len(effect, n), component = rep_len(component, n), group = rep_len(group, n),
    level = rep_len(unit, n), y.level = rep_len(class, n), response = rep_len(class, n),
    term = rep_len(as.character(term), n), estimate = unname(estimate), std.error = unname(rep_len(std.error, n)),
    conf.low = unname(limits[, 1L]), conf.high = unname(limits[, 2L]), row.names = NULL
  )
}

tidy_fixed <- function(fit, level) {
  if (inherits(fit, "galvi_wide")) return(tidy_columns(fit, level))
  V <- vcov.galvi(fit)
  names <- rownames(V)
  limits <- if (length(names)) coefficient_limits(fit, level)
  if (is_several(fit)) {
    q <- nrow(V) / n_latents(fit)
    class <- rep(latent_names(fit), each = q)
    names <- substring(names, nchar(class) + 2L)
  }
  tidy_rows("fixed", names, coefficient_means(fit), sqrt(diag(V)), level, limits,
    class = if (is_several(fit)) class else NA_character_, component = component_of(fit, names))
}

#' Which linear predictor coefficients belong to, by their names
#' @noRd
component_of <- function(fit, names) {
  c("cond", names(fit$design$others))[predictor_of_name(fit, names)]
}

#' Intercepts and slopes of each column of responses(); learned as points they have no standard deviation
#' @noRd
tidy_columns <- function(fit, level) {
  beta <- coef.galvi_wide(fit)
  V <- vcov.galvi(fit)
  sd <- if (nrow(V) == length(beta)) sqrt(diag(V)) else NA_real_
  terms <- or_else(colnames(beta), as.character(seq_len(ncol(beta))))
  tidy_rows("fixed", rep(terms, each = nrow(beta)), as.vector(beta), sd, level, class = rownames(beta))
}

#' Standard deviations and correlations of groups, then all other hyperparameters but fixed priors of coefficients
#' @noRd
tidy_hyper <- function(fit, level) {
  covariances <- random_covariances(fit, level = level)
  groups <- if (length(covariances)) as.data.frame.VarCorr.galvi(covariances)
  groups <- groups[!is.na(groups$var1), ]
  hyper <- hyper_at_level(fit, level)
  hyper <- hyper[!of_random_effects(fit), ]
  hyper <- without_prior_sds(hyper)
  residual <- hyper$term == "gaussian" & hyper$parameter == "variance"
  # gp(x, by = f)[a].lengthscale is of level a
  own <- paste0(".", hyper$parameter)
  owner <- ifelse(endsWith(hyper$name, own), substr(hyper$name, 1L, nchar(hyper$name) - nchar(own)), hyper$term)
  as_sd <- function(x) ifelse(residual, sqrt(pmax(x, 0)), x)
  estimate <- as_sd(hyper$estimate)
  sd <- rep(NA_real_, length(estimate))
  moments <- threshold_moments(fit)
  if (!is.null(moments)) {
    at <- match(fit$model$hyper$name[learned_thresholds(fit)], hyper$name)
    estimate[at] <- moments$mean
    sd[at] <- moments$sd
  }
  rbind(
    if (length(groups)) tidy_rows(
      "ran_pars", ifelse(is.na(groups$var2), paste0("sd__", groups$var1), ifelse(groups$var2 == "cor",
        paste0("cor__", groups$var1), paste0("cor__", groups$var1, ".", groups$var2))),
      groups$sdcor, NA_real_, level, as.matrix(groups[c("lwr", "upr")]), group = groups$grp,
      component = component_of(fit, groups$var1)
    ),
    tidy_rows(
      "ran_pars", ifelse(residual, "sd__Observation", hyper$parameter), estimate, sd, level,
      cbind(as_sd(hyper$lwr), as_sd(hyper$upr)), group = ifelse(residual, "Residual", owner),
      component = c("cond", names(fit$design$others))[predictor_of_name(fit, hyper$name, parameter_prefix)]
    )
  )
}

tidy_random <- function(fit, level) {
  none <- tidy_rows("ran_vals", NULL, numeric(), numeric(), level)
  rows <- lapply(random_effects(fit), function(effects) {
    spec <- effects$spec
    words <- level_words(effects)
    group <- if (term_can(spec, "grouped")) effect_group(spec) else spec$label
    classes <- or_else(colnames(effects$mean), NA_character_)
    tidy_rows(
      "ran_vals", rep(words$term, length(classes)), as.vector(effects$mean), as.vector(effects$sd), level, group = group,
      unit = rep(words$level, length(classes)), class = rep(classes, each = length(words$term))
    )
  })
  do.call(rbind, c(list(none), unname(rows)))
}

#' exp(beta), beta ~ N(m, s^2): median and limits are those of beta transformed; sd by the delta method, exp(m) s
#' @noRd
exponentiate_fixed <- function(table) {
  at <- table$effect == "fixed"
  limits <- c("estimate", "conf.low", "conf.high")
  table[at, limits] <- exp(table[at, limits])
  table$std.error[at] <- table$estimate[at] * table$std.error[at]
  table
}

#' @rdname tidy.galvi
#' @method glance galvi
#' @rawNamespace S3method(generics::glance,galvi)
glance.galvi <- function(x, ...) {
  value <- logLik.galvi(x)
  as_table(data.frame(
    nobs = nobs.galvi(x), df = attr(value, "df"), logLik = as.numeric(value), sigma = or_else(sigma.galvi(x), NA_real_),
    df.residual = if (inherits(x, "galvi_wide")) NA_integer_ else get_df.galvi(x, "residual"),
    converged = x$convergence$converged
  ))
}
