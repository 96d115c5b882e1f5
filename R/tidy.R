#' Tidy data frames of a fit
#'
#' Methods for `tidy()`, `glance()` and `augment()`, the generics of packages generics, broom and broom.mixed, with
#' their column names.
#'
#' @param x A fit of [galvi()].
#' @param effects One or more of `"fixed"` for the fixed effects; `"ran_pars"` for the hyperparameters, which are the
#'   parameters of random effects, of other terms and of the family; and `"ran_vals"` for the effects that
#'   [`ranef()`][ranef.galvi] returns.
#' @param conf.int If TRUE, add credible intervals. FALSE by default.
#' @param conf.level Probability of the intervals, between 0 and 1.
#' @param exponentiate If TRUE, return exp(coefficient) of the fixed effects, such as odds ratios and rate ratios. FALSE
#'   by default.
#' @param data,newdata Data to which columns are added: the observations of the fit, or new data.
#' @param type.predict Scale of `.fitted`: `"response"` or `"link"`.
#' @param interval Limits `.lower` and `.upper` to add: `"none"` (the default), `"credible"` for the linear predictor or
#'   the mean response, or `"prediction"` for a new response.
#' @param ... Must be empty.
#' @return Data frames.
#'
#'   `tidy()` has one row per effect or parameter, with the columns `effect`; `group`, the term, except if `effects` is
#'   `"fixed"`; `level`, for `"ran_vals"`; `term`; `estimate`; `std.error`; `conf.low` and `conf.high`, with `conf.int`;
#'   and `status`, as in `fit$hyper`, for `"ran_pars"`.
#'   * `"fixed"`: posterior mean and standard deviation. With `exponentiate`, `estimate` is the posterior median of
#'     exp(coefficient) and `std.error` its posterior standard deviation.
#'   * `"ran_pars"`: `term` is the name in `fit$hyper` and `estimate` the value there, so a variance is a variance.
#'     `std.error` is NA; intervals are those of `fit$hyper` (see [galvi-fit]).
#'   * `"ran_vals"`: posterior mean and standard deviation. Unlike the conditional standard deviations of lme4, the
#'     latter include the uncertainty of the fixed effects.
#'
#'   `glance()` has one row with `nobs`, `df`, `logLik` (the log evidence or its bound), `gap` and `converged`, see
#'   [galvi-fit].
#'
#'   `augment()` adds `.fitted`, `.se.fit`, `.lower` and `.upper` (with `interval`) and `.resid`, the response residual,
#'   to the data; new data need the response for `.resid`. For responses with several classes, `.fitted` is the most
#'   probable class, there is a column `.prob_<class>` for each class, and `.resid` is the deviance residual. For
#'   censored responses `.resid` is the quantile residual.
#' @seealso [summary()][summary.galvi], [other-packages].
#' @inheritSection coef.galvi Several classes
#' @examplesIf requireNamespace("generics", quietly = TRUE)
#' # rate ratios
#' fit <- galvi(count ~ spray, data = InsectSprays, family = poisson())
#' generics::tidy(fit, effects = "fixed", conf.int = TRUE, exponentiate = TRUE)
#' generics::glance(fit)
#' head(generics::augment(fit))
#' @name tidy.galvi
NULL

#' @rdname tidy.galvi
#' @method tidy galvi
#' @rawNamespace S3method(generics::tidy,galvi)
tidy.galvi <- function(x, effects = c("fixed", "ran_pars"), conf.int = FALSE, conf.level = 0.95,
                       exponentiate = FALSE, ...) {
  refuse_dots(list(...), tidy.galvi, "tidy()")
  effects <- check_effects(effects)
  normal <- stats::qnorm(tails(check_level(conf.level, "conf.level")))
  exponentiate <- check_flag(exponentiate, "exponentiate")
  if (exponentiate && !"fixed" %in% effects) {
    stop_galvi("argument", "`exponentiate = TRUE` is for fixed effects, and `effects` has not \"fixed\".")
  }
  pieces <- list(fixed = tidy_fixed, ran_pars = tidy_hyper, ran_vals = tidy_random)[effects]
  table <- do.call(rbind, lapply(pieces, function(piece) piece(x)))
  limits <- table$estimate + outer(table$std.error, normal)
  own <- match(table$term, x$hyper$name)
  hyper <- which(table$effect == "ran_pars")
  limits[hyper, ] <- as.matrix(hyper_at_level(x, conf.level)[own[hyper], c("lwr", "upr")])
  if (check_flag(conf.int, "conf.int")) table[c("conf.low", "conf.high")] <- list(limits[, 1L], limits[, 2L])
  if (exponentiate) table <- exponentiate_fixed(table)
  shown <- c(
    "effect", if (!identical(effects, "fixed")) "group", if ("ran_vals" %in% effects) "level", "term",
    "estimate", "std.error", if (conf.int) c("conf.low", "conf.high"), if ("ran_pars" %in% effects) "status"
  )
  table <- table[shown]
  rownames(table) <- NULL
  table
}

check_effects <- function(effects) {
  if (!is.character(effects) || !length(effects)) check_choice(effects, tidy_effects, "effects")
  unique(vapply(effects, check_choice, "", tidy_effects, "effects", USE.NAMES = FALSE))
}

tidy_effects <- c("fixed", "ran_pars", "ran_vals")

#' Rows of tidy(), all columns but the limits
#' @noRd
tidy_rows <- function(effect, term, estimate, std.error, group = NA_character_, level = NA_character_,
                      status = NA_character_) {
  n <- length(estimate)
  data.frame(
    effect = rep_len(effect, n), group = rep_len(group, n), level = rep_len(level, n),
    term = rep_len(as.character(term), n), estimate = estimate, std.error = rep_len(std.error, n),
    status = rep_len(status, n), row.names = NULL
  )
}

tidy_fixed <- function(fit) {
  V <- vcov.galvi(fit)
  tidy_rows("fixed", rownames(V), coefficient_means(fit), unname(sqrt(diag(V))))
}

tidy_hyper <- function(fit) {
  hyper <- without_prior_sds(fit$hyper)
  tidy_rows("ran_pars", hyper$name, hyper$estimate, NA_real_, group = hyper$term, status = hyper$status)
}

tidy_random <- function(fit) {
  none <- tidy_rows("ran_vals", NULL, numeric(), numeric())
  rows <- lapply(random_effects(fit), function(effects) {
    spec <- effects$spec
    # of levels of a factor: intercepts, or slopes of a number `by`; else of columns
    by <- if (!is.null(effects$effect)) {
      effects$effect
    } else if (!is.null(spec$by) && is.null(spec$by_levels)) variable_name(spec$by) else "(Intercept)"
    term <- rep_len(if (is_field(spec)) by else effects$names, length(effects$names))
    level <- if (!is.null(effects$effect)) effects$level else if (is_field(spec)) effects$names else NA_character_
    classes <- colnames(effects$mean)
    if (length(classes)) term <- paste(rep(classes, each = length(term)), term, sep = ":")
    tidy_rows(
      "ran_vals", term, as.vector(effects$mean), as.vector(effects$sd), group = spec$label,
      level = rep_len(level, length(effects$mean))
    )
  })
  do.call(rbind, c(list(none), unname(rows)))
}

#' The posterior of exp(beta), beta ~ N(m, s^2): median exp(m), sd exp(m + s^2 / 2) sqrt(exp(s^2) - 1)
#' @noRd
exponentiate_fixed <- function(table) {
  at <- table$effect == "fixed"
  sd <- table$std.error[at]
  table$std.error[at] <- exp(table$estimate[at] + sd^2 / 2) * sqrt(expm1(sd^2))
  limits <- intersect(c("estimate", "conf.low", "conf.high"), names(table))
  table[at, limits] <- exp(table[at, limits])
  table
}

#' @rdname tidy.galvi
#' @method glance galvi
#' @rawNamespace S3method(generics::glance,galvi)
glance.galvi <- function(x, ...) {
  refuse_dots(list(...), glance.galvi, "glance()", "gof_map") # of modelsummary()
  value <- logLik.galvi(x)
  data.frame(
    nobs = nobs.galvi(x), df = attr(value, "df"), logLik = as.numeric(value), gap = x$convergence$gap,
    converged = x$convergence$converged
  )
}

#' @rdname tidy.galvi
#' @method augment galvi
#' @rawNamespace S3method(generics::augment,galvi)
augment.galvi <- function(x, data = stats::model.frame(x), newdata = NULL,
                          type.predict = c("response", "link"),
                          interval = c("none", "credible", "prediction"), conf.level = 0.95, ...) {
  refuse_dots(list(...), augment.galvi, "augment()")
  type <- first_choice(type.predict, c("response", "link"), "type.predict")
  interval <- first_choice(interval, c("none", "credible", "prediction"), "interval")
  level <- check_level(conf.level, "conf.level")
  out <- if (is.null(newdata)) augmented_rows(x, data) else as_new_data(newdata)
  # the rows that the fit used, without places for those that it left out
  if (is.null(newdata) && nrow(out) == x$nobs) x$na.action <- NULL
  if (has_classes(x) && type == "response") {
    if (interval != "none") check_no_classes(x, sprintf("`interval = \"%s\"`", interval))
    out <- add_columns(out, augment_classes(x, newdata))
  } else {
    check_one_latent(x, "augment(type.predict = \"link\")")
    out <- add_columns(out, augment_numbers(x, newdata, type, interval, level))
  }
  if (is.null(newdata) || has_response(x, newdata)) {
    kind <- if (has_classes(x)) "deviance" else if (is_censored(x)) "quantile" else "response"
    out$.resid <- unname(residuals.galvi(x, kind, newdata = newdata))
  }
  out
}

#' `data` of augment(): the rows of the fit, or also those that it left out where na.exclude keeps their
#' places
#' @noRd
augmented_rows <- function(fit, data) {
  if (!is.data.frame(data)) {
    stop_galvi("argument", sprintf("`data` must be a data frame, not %s.", describe(data)))
  }
  rows <- c(fit$nobs, length(stats::naresid(fit$na.action, numeric(fit$nobs))))
  if (nrow(data) %in% rows) return(data)
  stop_galvi("argument", sprintf(
    "`data` must have a row per observation of the fit, %s, not %d; other data are `newdata`.",
    paste(unique(rows), collapse = " or "), nrow(data)
  ))
}

#' Is all that the response is made of in `newdata`?
#' @noRd
has_response <- function(fit, newdata) all(all.vars(fit$formula[[2L]]) %in% names(newdata))

add_columns <- function(data, columns) {
  data[names(columns)] <- columns
  data
}

augment_numbers <- function(fit, newdata, type, interval, level) {
  predicted <- predict.galvi(fit, newdata, type = type, se.fit = TRUE, interval = interval, level = level)
  limits <- if (interval != "none") list(.lower = "lwr", .upper = "upr")
  value <- as.matrix(predicted$fit)
  c(
    list(.fitted = unname(value[, 1L]), .se.fit = unname(predicted$se.fit)),
    lapply(limits, function(column) unname(value[, column]))
  )
}

augment_classes <- function(fit, newdata) {
  prob <- predict.galvi(fit, newdata, type = "prob")
  columns <- lapply(stats::setNames(seq_len(ncol(prob)), paste0(".prob_", colnames(prob))), function(j) {
    unname(prob[, j])
  })
  c(list(.fitted = unname(predict.galvi(fit, newdata, type = "class"))), columns)
}
