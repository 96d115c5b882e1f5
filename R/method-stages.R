# Methods of fits with category-specific effects (R/model-stages.R), which speak of the rows of the data. Generics that
# are not here have the method of all fits, of coefficients and hyperparameters, or say below why they have none.

# ---- predictions ----

#' @export
predict.galvi_stages <- function(object, newdata, type = c("response", "prob", "class", "link", "density"),
                                 se.fit = FALSE, na.action = stats::na.pass, re_formula = NULL, terms = NULL,
                                 exclude = NULL, re.form = NULL, allow.new.levels = TRUE, ...) {
  given <- list(...)
  check_foreign_type(stages_view(object), type)
  type <- first_choice(type, c("response", "prob", "class", "link", "density"), "type")
  if (isTRUE(given$covariance) || !is.null(given$aggregate)) {
    stop_galvi("argument", sprintf(
      "`%s` is not available with cs(): posterior_epred() has joint draws of probabilities.",
      if (isTRUE(given$covariance)) "covariance = TRUE" else "aggregate"
    ))
  }
  re_formula <- check_groups_given(one_re_formula(re_formula, list(re.form = re.form)))
  if (missing(newdata)) newdata <- NULL
  if (is_row_source(newdata)) newdata <- whole_source(row_source(newdata), list(object$formula), list())
  predict.galvi(stages_view(object), newdata, type, se.fit, na.action = na.action, re_formula = re_formula,
    terms = terms, exclude = exclude, allow.new.levels = allow.new.levels, ...)
}

# Averages over groups need those of all thresholds together.
check_groups_given <- function(re_formula) {
  if (!identical(re_formula, "integrate")) return(re_formula)
  stop_galvi("argument", paste(
    "`re_formula = \"integrate\"` is not available with cs(): predict for new levels of the groups, whose effects are",
    "drawn from the prior, or leave effects out by `re_formula = NA`."
  ))
}

#' @export
fitted.galvi_stages <- function(object, ...) fitted.galvi(stages_view(object), ...)

#' @export
residuals.galvi_stages <- function(object, ...) residuals.galvi(stages_view(object), ...)

#' @export
deviance.galvi_stages <- function(object, ...) deviance.galvi(stages_view(object), ...)

#' @export
simulate.galvi_stages <- function(object, nsim = 1, seed = NULL, ...) {
  simulate.galvi(stages_view(object), nsim, seed, ...)
}

# ---- what it was fitted to ----

#' @export
weights.galvi_stages <- function(object, ...) weights.galvi(stages_view(object), ...)

#' @export
model.frame.galvi_stages <- function(formula, ...) model.frame.galvi(stages_view(formula), ...)

# ---- leaving rows out ----

#' @rawNamespace S3method(loo::loo,galvi_stages)
loo.galvi_stages <- function(x, group = NULL, joint = FALSE, ...) {
  refuse_several_fits(list(group, joint, ...), "loo")
  joint <- check_flag(joint, "joint")
  if (is.null(group) && joint) {
    stop_galvi("argument", "`joint = TRUE` is for rows that are left out together: give `group`.")
  }
  if (!is.null(group) && !joint) {
    stop_galvi("argument", paste(
      "With cs() the rows of a group are predicted together: loo(fit, group = , joint = TRUE)."
    ))
  }
  known <- x$design$stages
  groups <- if (is.null(group)) each_row(x) else left_out_groups(stages_view(x), group)
  # a row is left out with all of its decisions
  number <- group_numbers(groups)
  owner <- factor(number[known$pieces$row], seq_along(groups))
  decisions <- structure(stats::setNames(split(seq_along(owner), owner), names(groups)),
    label = or_else(attr(groups, "label"), "row"))
  out <- loo_of_groups(decisions_view(x), decisions, TRUE)
  if (is.null(group)) {
    out$estimates <- loo_estimates(out$pointwise, known$weights)
    out["group"] <- list(NULL)
  } else {
    out$group$rows <- unclass(unname(groups))
  }
  out$cavity <- NULL
  out[c("family", "formula")] <- list(family_label(x), x$formula)
  attr(out, "yhash") <- hash_of_classes(known)
  out
}

#' @rawNamespace S3method(loo::kfold,galvi_stages)
kfold.galvi_stages <- function(x, K = NULL, folds = NULL, group = NULL, joint = FALSE, hyper = c("refit", "fixed"),
                               save_fits = FALSE, seed = NULL, ...) {
  if (check_joint(joint, group) != "obs") {
    stop_galvi("argument", "kfold() with cs() predicts each row by itself: leave `joint` out.")
  }
  if (check_flag(save_fits, "save_fits")) {
    stop_galvi("argument", "kfold() with cs() does not keep the fits to parts of the data: leave `save_fits` out.")
  }
  hyper <- first_choice(hyper, c("refit", "fixed"), "hyper")
  decisions <- decisions_view(x)
  check_refittable(decisions)
  rows <- stages_view(x)
  groups <- if (!is.null(group)) left_out_groups(rows, group)
  divided <- fold_parts(rows, K, folds, groups, seed)
  # a row is left out with all of its decisions
  parts <- lapply(divided$parts, part_of_pieces, x$design$stages$pieces$row)
  lost <- lost_in_folds(decisions, divided, parts)
  lost$rows <- over_pieces(x, as.numeric(lost$rows)) > 0
  design <- kept_design(x)
  found <- each_once_warned(sprintf("fold %s", quote_row_names(divided$names)), "Without the rows of %s: ",
    function(k) {
    refit <- fit_without(decisions, design, parts[[k]], hyper, lost$names[[k]])
    list(rows = held_out_classes(rows, refit, divided$parts[[k]]))
  })
  kfold_table(rows, found, NULL, lost, divided, groups, "obs")
}

#' Log probabilities of the classes of rows, under a fit of binary rows that has not seen them
#' @param view From stages_view(), of all rows. part: of fold_parts().
#' @noRd
held_out_classes <- function(view, refit, part) {
  known <- view$design$stages
  count <- view$stages$count
  rows <- part$rows
  target <- target_of_pieces(refit, frame_of_decisions(known$frame, rep(rows, each = count),
    numeric(length(rows) * count), every_stage(known, length(rows))))
  view$stages$fit <- refit
  view$posterior <- refit$posterior
  target[c("offset", "n")] <- list(by_stage(target$offset, count), length(rows))
  part$times * weighted(class_log_probability(view, stage_marginals(view, target), list(y = known$y[rows])), part$left)
}

#' As that of a fit without cs()
#' @noRd
hash_of_classes <- function(known) list(known$y, rep(1, length(known$y)), NULL, NULL, NULL)

#' @rawNamespace S3method(loo::waic,galvi_stages)
waic.galvi_stages <- function(x, ...) waic.galvi(stages_view(x), ...)

#' @exportS3Method rstantools::bayes_R2
bayes_R2.galvi_stages <- function(object, ...) bayes_R2.galvi(stages_view(object), ...)

#' @exportS3Method rstantools::loo_R2
loo_R2.galvi_stages <- function(object, ...) loo_R2.galvi(stages_view(object), ...)

#' @exportS3Method performance::r2
r2.galvi_stages <- function(model, ...) r2.galvi(stages_view(model), ...)

#' @export
hatvalues.galvi_stages <- function(model, ...) hatvalues.galvi(stages_view(model), ...)

#' @export
cooks.distance.galvi_stages <- function(model, ...) cooks.distance.galvi(stages_view(model), ...)

#' @export
rstandard.galvi_stages <- function(model, ...) rstandard.galvi(stages_view(model), ...)

# ---- draws ----

#' @exportS3Method rstantools::log_lik
log_lik.galvi_stages <- function(object, ...) log_lik.galvi(stages_view(object), ...)

#' @exportS3Method rstantools::posterior_linpred
posterior_linpred.galvi_stages <- function(object, ...) posterior_linpred.galvi(stages_view(object), ...)

#' @exportS3Method rstantools::posterior_epred
posterior_epred.galvi_stages <- function(object, ...) posterior_epred.galvi(stages_view(object), ...)

#' @exportS3Method rstantools::posterior_predict
posterior_predict.galvi_stages <- function(object, ...) posterior_predict.galvi(stages_view(object), ...)
