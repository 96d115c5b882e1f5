# Plots of Cox's model: effects are hazard ratios; the baseline hazard and effects that change are steps over time.

#' The fit as a kind of plot takes it
#' @noRd
plotted_cox <- function(fit, which) {
  if (which %in% c("residuals", "worm", "predictive", "calibration")) {
    stop_galvi("argument", sprintf(paste(
      "`which = \"%s\"` is not available for cox(), which has no distribution of a new response: use \"survival\" or",
      "residuals(fit)."
    ), which))
  }
  if (which == "effects") effects_view(fit) else fit
}

#' @rawNamespace S3method(conditional_effects,galvi_cox)
#' @rawNamespace S3method(brms::conditional_effects,galvi_cox)
conditional_effects.galvi_cox <- function(x, ..., method = c("posterior_epred", "posterior_linpred")) {
  method <- first_choice(method, c("posterior_epred", "posterior_linpred"), "method")
  out <- conditional_effects.galvi(effects_view(x), ..., method = method)
  attr(out, "settings")$what <- c(posterior_epred = "hazard ratio", posterior_linpred = "log hazard ratio")[[method]]
  out
}

#' Survival curves of rows of `newdata`, or of each stratum with covariates at their means
#' @noRd
cox_survival_panels <- function(fit, settings) {
  newdata <- settings$newdata
  known <- fit$design$intervals
  target <- if (is.null(newdata)) reference_target(fit) else {
    target_at_intervals(counts_view(fit), newdata, seq_along(known$labels))
  }
  if (target$rows_of$n == 0L) stop_galvi("newdata", no_rows_words(newdata))
  reach <- or_else(settings$xlim, c(known$low[1L], max(known$times$stop)))
  times <- seq(reach[1L], reach[2L], length.out = settings$n)
  options <- list(at = times, interval = "credible", level = settings$level)
  names <- if (is.null(newdata)) target$rows_of$names else curve_names(newdata, target$rows_of)
  survival_panel(predict_cox_curves(fit, target, "survival", options), times, names, "time", join_notes(
    sprintf("bands: %g%% credible intervals", 100 * settings$level), if (is.null(newdata)) "covariates at their means"
  ))
}

#' @export
term_panels.baseline_term <- function(spec, fit, settings) {
  known <- fit$design$intervals
  target <- reference_target(fit)
  marginals <- latent_at(fit, target$rows, target$n)
  limits <- latent_quantiles(marginals, c(0.5, tails(settings$level)))
  names <- target$rows_of$names
  count <- length(known$labels)
  pieces <- lapply(seq_along(names), function(i) {
    own <- if (known$events) which(known$own[, i]) else seq_len(count)
    low <- known$low[own]
    if (known$events) low <- c(known$low[1L], known$high[own])[seq_along(own)]
    # steps are divided by the time since the event before
    by <- if (known$events) log(known$high[own] - low) else 0
    at <- exp(limits[(i - 1L) * count + own, , drop = FALSE] - by)
    data.frame(series = names[i], from = low, to = pmin(known$high[own], max(known$times$stop)), fit = at[, 1L],
      lwr = at[, 2L], upr = at[, 3L])
  })
  note <- join_notes(if (length(pieces) > 1L) NULL, "covariates at their means; posterior medians and bands")
  list(step_panel("baseline", do.call(rbind, pieces), names, "hazard", note, log = "y"))
}

#' @export
term_panels.tve_term <- function(spec, fit, settings) {
  known <- fit$design$intervals
  count <- length(known$labels)
  x <- known$frame[[variable_name(spec$by)]]
  levels <- spec$by_levels
  names <- if (is.null(levels)) variable_name(spec$by) else levels[-1L]
  pieces <- lapply(seq_along(names), function(i) {
    rows <- changing_effect_rows(fit, spec, i + !is.null(levels))
    limits <- latent_quantiles(latent_at(fit, list(rows), count), c(0.5, tails(settings$level)))
    data.frame(series = names[i], from = known$low, to = pmin(known$high, max(known$times$stop)), fit = limits[, 1L],
      lwr = limits[, 2L], upr = limits[, 3L])
  })
  list(step_panel(spec$label, do.call(rbind, pieces), names, paste(
    "log hazard ratio", if (is.null(levels)) sprintf("per unit of %s", names) else sprintf("against %s", levels[1L])
  ), "posterior medians and bands", rule = 0))
}

#' Rows of each term that give the effect of a tve() in each interval: of one unit, or of a level against the first
#' @noRd
changing_effect_rows <- function(fit, spec, level) {
  known <- fit$design$intervals
  count <- length(known$labels)
  at <- seq_len(count)
  Map(function(own, rows) {
    if (identical(own$label, spec$label)) {
      if (is.null(spec$by_levels)) return(list(node = matrix(at), weight = rep(1, count)))
      return(list(node = cbind((level - 1L) * count + at, at), weight = cbind(rep(1, count), -1)))
    }
    if (!identical(own$type, fixed_label)) return(list(node = matrix(0L, count, 1L)))
    labels <- c("", attr(own$terms, "term.labels"))[own$assign + 1L]
    mine <- which(labels == variable_name(spec$by))
    X <- matrix(0, count, length(own$columns))
    if (is.null(spec$by_levels)) X[, mine] <- 1 else {
      rows_of <- match(spec$by_levels[c(level, 1L)], as.character(known$frame[[variable_name(spec$by)]]))
      W <- printed_columns(own, known$frame[rows_of, , drop = FALSE])
      X[, mine] <- rep((W[1L, ] - W[2L, ])[mine], each = count)
    }
    list(W = if (is.null(own$coding)) X else X %*% own$coding$B)
  }, fit$design$specs, term_rows(fit$model))
}

#' A panel of steps over time
#' @param data series, from, to, fit, lwr, upr.
#' @noRd
step_panel <- function(name, data, names, label, note, log = "", rule = NULL) {
  data$series <- factor(data$series, names)
  twice <- rep(seq_len(nrow(data)), each = 2L)
  at <- data.frame(x = as.vector(rbind(data$from, data$to)), y = data$fit[twice], lower = data$lwr[twice],
    upper = data$upr[twice], series = data$series[twice])
  if (length(names) == 1L) data$series <- NULL
  new_panel(name, data, list(
    if (!is.null(rule)) mark("rule", data.frame(horizontal = rule), "grey40", lwd = 0.8),
    mark("band", at, alpha = 0.2), mark("line", at, lwd = 2)
  ), c("time", label), note, range(at$x), range(at$lower, at$upper), series = series_of(names),
  key = if (length(names) > 1L) list(lwd = 2), log = log)
}
