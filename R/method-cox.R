# Methods of fits of Cox's model (R/model-cox.R), which speak of the rows of the data. Generics that are not here have
# the method of all fits, of coefficients and hyperparameters, or say below why they have none.

# ---- predictions ----

# The types of predict(): whose question it is, and what may be asked beside it.
cox_types <- list(
  response = list(se.fit = TRUE, interval = c("none", "credible")),
  link = list(se.fit = TRUE, interval = c("none", "credible"), covariance = TRUE),
  terms = list(se.fit = TRUE, interval = "none"),
  survival = list(interval = c("none", "credible"), curve = TRUE),
  cumhaz = list(interval = c("none", "credible"), curve = TRUE),
  hazard = list(interval = c("none", "credible"), curve = TRUE),
  rmst = list(interval = c("none", "credible"), curve = TRUE),
  expected = list(interval = "none", curve = TRUE)
)

# The words of survival::predict.coxph().
coxph_types <- c(lp = "link", risk = "response")

#' @export
predict.galvi_cox <- function(object, newdata, type = c("response", "link", "terms", "survival", "cumhaz", "hazard",
                                "rmst", "expected"),
                              se.fit = FALSE, interval = c("none", "credible"), level = 0.95, covariance = FALSE,
                              na.action = stats::na.pass, times = NULL, re_formula = NULL, terms = NULL, exclude = NULL,
                              re.form = NULL, allow.new.levels = TRUE, ...) {
  if (identical(type, "quantile")) {
    stop_galvi("argument", paste(
      "predict() of cox() has no quantiles, which may lie beyond the last event. The median survival time is where the",
      "curve of `type = \"survival\"`, at many `times`, falls to 0.5; weibull() and other families of times have quantiles."
    ))
  }
  refuse_dots(list(...), predict.galvi_cox, "predict() of cox()", foreign_prediction_words)
  type <- if (isTRUE(type %in% names(coxph_types))) coxph_types[[type]] else {
    first_choice(type, names(cox_types), "type")
  }
  entry <- cox_types[[type]]
  options <- list(
    se.fit = check_flag(se.fit, "se.fit"),
    interval = if (identical(interval, c("none", "credible"))) "none" else check_interval(interval),
    level = check_level(level), covariance = check_flag(covariance, "covariance"),
    at = check_values_at(list(times = times), type)
  )
  check_cox_request(type, entry, options)
  na.action <- check_na_action(na.action)
  allow.new.levels <- allows_new_levels(allow.new.levels, list(...))
  re_formula <- one_re_formula(re_formula, list(re.form = re.form))
  if (missing(newdata)) newdata <- NULL
  if (is_row_source(newdata)) newdata <- whole_source(row_source(newdata), list(object$formula), list())
  known_levels <- function(target) {
    if (!allow.new.levels) check_known_levels(object$design, target$rows)
    target
  }
  if (isTRUE(entry$curve)) {
    if (!is.null(terms) || !is.null(exclude)) {
      stop_galvi("argument", sprintf(
        "`terms` and `exclude` go with \"response\", \"link\" and \"terms\", not \"%s\".", type
      ))
    }
    target <- known_levels(curve_target(object, newdata, re_formula, na.action))
    parts <- list(fit = as_galvi_error(if (type == "expected") {
      expected_events(object, target, follow_up(object, newdata, target$rows_of$omitted))
    } else {
      predict_cox_curves(object, target, type, options)
    }))
    # a curve is of a row, the target of a row in each interval
    target[c("names", "omitted", "n")] <- target$rows_of[c("names", "omitted", "n")]
  } else {
    kept <- kept_in_ratios(object, re_formula, terms, exclude)
    target <- known_levels(ratio_target(object, newdata, kept, na.action, by_term = type == "terms"))
    parts <- as_galvi_error(predict_ratios(object, target, type, options, attr(kept, "labels")))
  }
  finish <- function(x) finish_cox_rows(x, target, na.action, object, is.null(newdata))
  result <- list(fit = finish(parts$fit))
  if (options$se.fit) result$se.fit <- finish(parts$se.fit)
  if (options$covariance) result$covariance <- finish(t(finish(parts$covariance)))
  if (length(result) == 1L) result$fit else result
}

#' Rows at all intervals, as survival and hazards need them
#' @noRd
curve_target <- function(fit, newdata, re_formula, na.action) {
  target_at_intervals(counts_view(fit), newdata, seq_along(fit$design$intervals$labels),
    kept_effects(fit, re_formula), na.action)
}

#' Entries, ends and events of rows of the data, or of `newdata`, as cox_times() has them; NA where one is missing
#' @param omitted Rows of `newdata` that are left out.
#' @noRd
follow_up <- function(fit, newdata, omitted) {
  if (is.null(newdata)) return(fit$design$intervals$times)
  newdata <- as.data.frame(as_new_data(newdata))
  if (length(omitted)) newdata <- newdata[-omitted, , drop = FALSE]
  response <- fit$formula[[2L]]
  missing <- setdiff(intersect(all.vars(response), fit$design$columns), names(newdata))
  if (length(missing)) {
    stop_galvi("newdata", sprintf("type = \"expected\" is for the follow-up of each row: `newdata` needs %s.",
      quote_names(missing)))
  }
  y <- eval(response, newdata, environment(fit$formula))
  known <- which(!is.na(y))
  times <- naming_rows(frame_labels(newdata[known, , drop = FALSE]), as_newdata_error(
    cox_times(y[known], variable_name(response))
  ))
  at <- match(seq_along(y), known)
  lapply(times[c("start", "stop", "event")], `[`, at)
}

#' Hazard ratios, their logarithms, or what each term adds to these
#' @param labels Of the terms that are shown.
#' @return list(fit, se.fit, covariance), as far as `options` asks for them.
#' @noRd
predict_ratios <- function(fit, target, type, options, labels) {
  predicted <- switch(type, response = predict_response_mean, link = predict_link, terms = predict_terms)
  parts <- predicted(rows_view(fit), target, options)
  if (type != "terms") return(parts)
  parts <- lapply(parts, shown_terms, labels)
  # terms are against the reference, where all are zero
  attr(parts$fit, "constant") <- 0
  parts
}

finish_cox_rows <- function(x, target, na.action, fit, observed) {
  if (!observed) return(finish_rows(x, target, na.action, fit))
  stats::napredict(fit$na.action, name_rows(x, target$names))
}

check_cox_request <- function(type, entry, options) {
  refuse <- function(what, able, instead = "") {
    stop_galvi("argument", sprintf("%s is not available with type = \"%s\" of cox(), only with %s.%s", what, type,
      paste0("\"", names(Filter(able, cox_types)), "\"", collapse = ", "), instead))
  }
  if (options$se.fit && !isTRUE(entry$se.fit)) {
    refuse("`se.fit = TRUE`", function(entry) isTRUE(entry$se.fit),
      if ("credible" %in% entry$interval) " `interval = \"credible\"` has its uncertainty." else "")
  }
  if (options$covariance && !isTRUE(entry$covariance)) {
    refuse("`covariance = TRUE`", function(entry) isTRUE(entry$covariance))
  }
  if (!options$interval %in% entry$interval) {
    able <- function(entry) options$interval %in% entry$interval
    if (options$interval == "prediction") {
      stop_galvi("argument", paste(
        "`interval = \"prediction\"` is not available with cox(): type = \"survival\" has the distribution of times."
      ))
    }
    refuse(sprintf("`interval = \"%s\"`", options$interval), able)
  }
}

#' @export
fitted.galvi_cox <- function(object, type = c("response", "link"), newdata = NULL, re_formula = NULL, ...) {
  refuse_dots(list(...), fitted.galvi_cox, "fitted() of cox()", foreign_prediction_words)
  predict.galvi_cox(object, newdata, first_choice(type, c("response", "link"), "type"),
    re_formula = one_re_formula(re_formula, list(...)))
}

#' @export
residuals.galvi_cox <- function(object, type = c("martingale", "deviance"), ...) {
  refuse_dots(list(...), residuals.galvi_cox, "residuals() of cox()")
  type <- first_choice(type, c("martingale", "deviance"), "type")
  event <- object$design$intervals$times$event
  # rows that are not used have no pieces
  event[object$design$intervals$weights == 0] <- NA
  expected <- mean_cumulative_hazards(object)
  residual <- event - expected
  if (type == "deviance") {
    residual <- sign(residual) * sqrt(2 * pmax(0, ifelse(event == 1, -log(expected), 0) - residual))
    residual <- residual * sqrt(object$design$intervals$weights)
  }
  rows_of_data(object, residual)
}

#' @export
deviance.galvi_cox <- function(object, ...) {
  refuse_dots(list(...), deviance.galvi_cox, "deviance()")
  sum(residuals.galvi_cox(object, "deviance")^2, na.rm = TRUE)
}

# ---- what it was fitted to ----

#' @export
weights.galvi_cox <- function(object, type = "prior", ...) {
  refuse_dots(list(...), weights.galvi_cox, "weights()")
  check_choice(type, "prior", "type")
  rows_of_data(object, object$design$intervals$weights)
}

#' @export
model.frame.galvi_cox <- function(formula, ...) {
  refuse_dots(list(...), model.frame.galvi_cox, "model.frame()")
  formula$design$intervals$frame
}

#' @export
model.matrix.galvi_cox <- function(object, ...) {
  refuse_dots(list(...), model.matrix.galvi_cox, "model.matrix()")
  W <- model.matrix.galvi(rows_view(object))
  shown <- shown_columns(fixed_spec(object$design$specs))
  structure(W[, shown, drop = FALSE], assign = attr(W, "assign")[shown], contrasts = attr(W, "contrasts"))
}

# ---- leaving rows out ----

# With independent hazards at event times nothing is known of the hazard at an event that is left out.
check_hazards_known <- function(fit, what) {
  if (!fit$design$intervals$events || fit$family$options$baseline != "iid") return(invisible())
  stop_galvi("argument", sprintf(paste(
    "%s is not available with cox(breaks = \"events\", baseline = \"iid\"): of an event that is left out nothing else",
    "tells the hazard. Use breaks = 20, or baseline = \"rw1\"."
  ), what))
}

#' @rawNamespace S3method(loo::loo,galvi_cox)
loo.galvi_cox <- function(x, group = NULL, joint = FALSE, ...) {
  refuse_several_fits(list(group, joint, ...), "loo")
  check_hazards_known(x, "loo()")
  joint <- check_flag(joint, "joint")
  known <- x$design$intervals
  groups <- if (is.null(group)) each_row(x) else left_out_groups(rows_view(x), group)
  if (!is.null(group) && !joint) {
    stop_galvi("argument", paste(
      "With cox() the rows of a group are predicted together: loo(fit, group = , joint = TRUE). Their times share the",
      "baseline, whose density is that of all."
    ))
  }
  if (is.null(group) && joint) {
    stop_galvi("argument", "`joint = TRUE` is for rows that are left out together: give `group`.")
  }
  # a row is left out with all of its pieces
  number <- group_numbers(groups)
  owner <- factor(number[known$pieces$row], seq_along(groups))
  pieces <- stats::setNames(split(seq_along(owner), owner), names(groups))
  some <- which(lengths(pieces) > 0L)
  out <- loo_of_groups(pieces_view(x), structure(pieces[some], label = or_else(attr(groups, "label"), "row")), TRUE)
  # a row that is in no risk set tells nothing
  of_all <- function(x) replace(numeric(length(groups)), some, x)
  constant <- unname(rowsum(count_constants(x), number, reorder = TRUE)[, 1L])
  elpd <- of_all(out$pointwise[, "elpd_loo"]) - constant
  out$pointwise <- elpd_columns(elpd, elpd + of_all(out$pointwise[, "p_loo"]), names(groups))
  out$leverage <- stats::setNames(of_all(out$leverage), names(groups))
  out$estimates <- loo_estimates(out$pointwise, if (is.null(group)) known$weights else rep(1, length(groups)))
  out$cavity <- NULL
  if (is.null(group)) out["group"] <- list(NULL) else out$group$rows <- unclass(unname(groups))
  out$formula <- x$formula
  attr(out, "yhash") <- times_hash(known$times)
  out
}

#' As that of a parametric family of the same times
#' @noRd
times_hash <- function(times) {
  entry <- if (times$type == "counting") times$start else 0
  censoring <- cbind(lower = times$stop, upper = ifelse(times$event == 1, times$stop, Inf), entry = entry)
  list(times$stop, rep(1, length(times$stop)), censoring, NULL, NULL)
}

#' @rawNamespace S3method(loo::kfold,galvi_cox)
kfold.galvi_cox <- function(x, K = NULL, folds = NULL, group = NULL, joint = FALSE, hyper = c("refit", "fixed"),
                            save_fits = FALSE, seed = NULL, ...) {
  check_hazards_known(x, "kfold()")
  check_refittable(counts_view(x))
  hyper <- first_choice(hyper, c("refit", "fixed"), "hyper")
  save_fits <- check_flag(save_fits, "save_fits")
  if (check_joint(joint, group) != "obs") {
    stop_galvi("argument", "kfold() of cox() predicts each row by itself: leave `joint` out.")
  }
  rows <- rows_view(x)
  groups <- if (!is.null(group)) left_out_groups(rows, group)
  divided <- fold_parts(rows, K, folds, groups, seed)
  known <- x$design$intervals
  sites <- pieces_view(at_estimates(x))$posterior
  found <- each_once_warned(sprintf("fold %s", quote_row_names(divided$names)), "Without the rows of %s: ",
    function(k) {
      part <- divided$parts[[k]]
      refit <- refit_cox(x, part, hyper)
      list(rows = part$times * held_out_times(x, refit, part, sites), fit = if (save_fits) refit)
    })
  elpd <- over_folds(found, divided)
  copies <- row_copies(known$weights)
  each <- list(rows = seq_len(rows$nobs), left = known$weights / copies, whole = copies == 1)
  lpd <- copies * held_out_times(x, x, each, sites)
  pointwise <- cbind(elpd_kfold = elpd, p_kfold = lpd - elpd, kfoldic = -2 * elpd)
  rownames(pointwise) <- row.names(known$frame)
  together <- !is.null(groups) && divided$type %in% c("group", "grouped")
  sums <- if (together) rowsum(pointwise, group_numbers(groups), reorder = TRUE) else pointwise
  out <- list(estimates = loo_estimates(sums, if (together) rep(1, nrow(sums)) else known$weights),
    pointwise = pointwise)
  if (save_fits) out$fits <- kept_fits(found, divided, logical(rows$nobs))
  structure(out, K = length(divided$parts), folds = divided$fold, fold_type = divided$type,
    group = attr(groups, "label"), joint = "obs", yhash = times_hash(known$times), class = c("kfold", "loo"))
}

#' The fit to what a fold leaves, with the same intervals
#' @param part Of fold_parts().
#' @noRd
refit_cox <- function(fit, part, hyper) {
  learned <- hyper == "refit" && any(fit$model$hyper$learned)
  known <- fit$design$intervals
  columns <- stats::setNames(data.frame(matrix(0, 0L, length(fit$design$columns))), fit$design$columns)
  args <- not_null(fit$design[c("weights", "offset")])
  frame <- known$frame
  some <- part$rows[!part$whole]
  frame[["(weights)"]][some] <- frame[["(weights)"]][some] - part$left[!part$whole]
  frame <- frame_of_rows(frame, setdiff(seq_len(nrow(frame)), part$rows[part$whole]))
  attr(frame, "na.action") <- NULL
  design <- naming_rows(frame_labels(frame), design_of_times(
    cox_parts(fit$formula, columns, unlist(lapply(args, all.vars))), fit$family, frame, args, known
  ))
  model <- galvi_model(design, typed_priors_of(fit), start = fit, expectation = fit$expectation,
    hyper = if (!learned) "fixed" else if (isTRUE(fit$integrated)) "integrate" else "optimise", control = fit$control)
  galvi_fit(model, galvi_infer(model, fit$method, fit, verbose = FALSE), fit$call)
}

#' Log densities of rows' times by a fit that may have been made without them
#' @param part Of fold_parts(). sites: the posterior of pieces_view() of the fit to all rows, by which densities are
#'   computed.
#' @noRd
held_out_times <- function(fit, refit, part, sites) {
  view <- pieces_view(fit)
  pieces <- fit$design$intervals$pieces
  rows <- part$rows
  own <- part_of_pieces(part, pieces$row)
  blocks <- split(seq_along(own$rows), factor(pieces$row[own$rows], rows))
  some <- which(lengths(blocks) > 0L)
  # the rows of counts of these pieces, by the refit's own columns and nodes
  target <- target_of_pieces(counts_view(refit), frame_of_rows(fit$data, pieces$at[own$rows]))
  target[c("y", "size")] <- lapply(view$model[c("y", "size")], `[`, own$rows)
  target$weights <- own$left
  target$offset <- target$offset + (view$model$offset - fit$model$offset[pieces$at, , drop = FALSE])[own$rows, ]
  density <- replace(numeric(length(rows)), some, posterior_joint_densities(counts_view(refit), target,
    unname(blocks[some]), sites_of_part(sites, own, view$model$weights))$density)
  share <- ifelse(part$whole, 1, part$left / fit$design$intervals$weights[rows])
  density - share * count_constants(fit)[rows]
}

# ---- draws ----

#' @exportS3Method rstantools::log_lik
log_lik.galvi_cox <- function(object, newdata = NULL, ndraws = 1000, seed = NULL, ...) {
  refuse_foreign(list(...), "log_lik()")
  if (!is.null(newdata)) {
    stop_galvi("argument", "log_lik() of cox() is for the rows of the fit: predict(type = \"survival\") for new ones.")
  }
  view <- pieces_view(object)
  pieces <- object$design$intervals$pieces
  drawn <- over_draws(view, training_target(view), asked_draws(ndraws, list(...)), log_density_given, seed = seed)
  out <- matrix(0, nrow(drawn), length(object$design$intervals$weights))
  sums <- rowsum(t(drawn), pieces$row, reorder = TRUE)
  out[, as.integer(rownames(sums))] <- t(sums)
  out <- out - rep(count_constants(object), each = nrow(out))
  `colnames<-`(out, row.names(object$design$intervals$frame))
}

#' @exportS3Method rstantools::posterior_linpred
posterior_linpred.galvi_cox <- function(object, transform = FALSE, newdata = NULL, ndraws = 1000, re_formula = NULL,
                                        re.form = NULL, seed = NULL, ...) {
  refuse_foreign(list(...), "posterior_linpred()")
  re_formula <- one_re_formula(re_formula, list(re.form = re.form))
  target <- ratio_target(object, newdata, kept_in_ratios(object, re_formula))
  if (!is.null(newdata) && !dots_allow_new_levels(list(...))) check_known_levels(object$design, target$rows)
  ndraws <- asked_draws(ndraws, list(...))
  drawn <- over_draws(counts_view(object), target, ndraws, function(view, target, eta) eta[, 1L], seed = seed)
  if (check_flag(transform, "transform")) exp(drawn) else drawn
}

# ---- what there is not ----

refuse_cox <- function(what, instead) {
  stop_galvi("argument", sprintf("%s is not available for cox(): %s.", what, instead))
}

instead_of_times <- "predict(type = \"survival\"), \"rmst\" and \"response\" (hazard ratios) say what is predicted"

#' @export
simulate.galvi_cox <- function(object, nsim = 1, seed = NULL, ...) {
  refuse_dots(list(...), simulate.galvi_cox, "simulate()")
  refuse_cox("simulate()", instead_of_times)
}
#' @exportS3Method rstantools::posterior_predict
posterior_predict.galvi_cox <- function(object, ...) refuse_cox("posterior_predict()", instead_of_times)
#' @exportS3Method rstantools::posterior_epred
posterior_epred.galvi_cox <- function(object, ...) refuse_cox("posterior_epred()", instead_of_times)
#' @exportS3Method bayesplot::pp_check
pp_check.galvi_cox <- function(object, ...) {
  refuse_cox("pp_check()", "plot(fit, \"survival\") has its curves, residuals(fit) tell of single rows")
}
#' @exportS3Method survival::survfit
survfit.galvi_cox <- function(formula, ...) {
  refuse_cox("survfit()", paste(
    "use predict(fit, newdata, type = \"survival\", times =, interval = \"credible\"); plot(fit, \"survival\") draws",
    "curves"
  ))
}
#' @rawNamespace S3method(loo::waic,galvi_cox)
waic.galvi_cox <- function(x, ...) refuse_cox("waic()", "use loo()")

#' @exportS3Method rstantools::bayes_R2
bayes_R2.galvi_cox <- function(object, ...) refuse_cox("bayes_R2()", "use loo()")
#' @exportS3Method rstantools::loo_R2
loo_R2.galvi_cox <- function(object, ...) refuse_cox("loo_R2()", "use loo()")
#' @exportS3Method performance::r2
r2.galvi_cox <- function(model, ...) refuse_cox("r2()", "use loo()")

of_single_rows <- "loo(fit) has the leverage of each row, residuals(fit) its martingale residual"

#' @export
hatvalues.galvi_cox <- function(model, ...) {
  refuse_dots(list(...), hatvalues.galvi_cox, "hatvalues()")
  refuse_cox("hatvalues()", of_single_rows)
}
#' @export
cooks.distance.galvi_cox <- function(model, ...) {
  refuse_dots(list(...), cooks.distance.galvi_cox, "cooks.distance()")
  refuse_cox("cooks.distance()", of_single_rows)
}
#' @export
rstandard.galvi_cox <- function(model, ...) {
  refuse_dots(list(...), rstandard.galvi_cox, "rstandard()")
  refuse_cox("rstandard()", of_single_rows)
}
