#' Weights of models by stacking
#'
#' Weights for averaging the predictions of several fits of the same response, chosen to maximise the leave-one-out log
#' predictive density of the average (stacking of predictive distributions).
#'
#' @details
#' The function takes fits, results of [loo()][loo.galvi] or of [kfold()], as a list or one after the other; of fits it
#' computes `loo()`. The same call of package loo works, too: `loo::loo_model_weights()` has methods for fits of galvi()
#' and for lists of them.
#'
#' @param x A list of fits of [galvi()] or of values of [loo()][loo.galvi] and [kfold()], or the first of them; for
#'   other objects the arguments are passed on to `loo::loo_model_weights()`.
#' @param ... If `x` is not a list, the others.
#' @param method `"stacking"`, the default, or `"pseudobma"`: weights proportional to exp(elpd), by the Bayesian
#'   bootstrap (see `loo::pseudobma_weights()`).
#' @return A named vector of weights that sum to 1, of the class that `loo::stacking_weights()` or
#'   `loo::pseudobma_weights()` gives it.
#' @section Errors:
#' `galvi_error_argument` for a single model, and for models of different responses or numbers of rows.
#' `galvi_error_data` for fits that do not contain their rows ([row_source()]).
#' @references
#' Yao, Y., Vehtari, A., Simpson, D. and Gelman, A. (2018). Using stacking to average Bayesian predictive distributions.
#' *Bayesian Analysis* 13, 917-1007.
#' @seealso [anova()][anova.galvi] to compare fits.
#' @family checks and comparisons
#' @examplesIf requireNamespace("loo", quietly = TRUE)
#' linear <- galvi(dist ~ speed, data = cars)
#' smooth <- galvi(dist ~ gp(speed), data = cars)
#' loo_model_weights(list(linear = linear, smooth = smooth))
#' @export
loo_model_weights <- function(x, ...) {
  if (has_models(x)) loo_model_weights.list(x, ...) else of_package_loo("loo_model_weights")(x, ...)
}

#' @rdname loo_model_weights
#' @method loo_model_weights galvi
#' @rawNamespace S3method(loo::loo_model_weights,galvi)
loo_model_weights.galvi <- function(x, ..., method = c("stacking", "pseudobma")) {
  weights_of_models(c(list(x), list(...)), method, as.list(substitute(list(x, ...)))[-1L])
}

# Lists of other models go on to where package loo would have sent them.
#' @rdname loo_model_weights
#' @method loo_model_weights list
#' @rawNamespace S3method(loo::loo_model_weights,list)
loo_model_weights.list <- function(x, ..., method = c("stacking", "pseudobma")) {
  if (has_models(x)) weights_of_models(c(x, list(...)), method) else NextMethod()
}

has_models <- function(x) {
  is.list(x) && !is.object(x) && any(vapply(x, inherits, NA, c("galvi", "galvi_loo")))
}

weights_of_models <- function(models, method, words = NULL) {
  method <- first_choice(method, c("stacking", "pseudobma"), "method")
  if (length(models) < 2L) stop_galvi("argument", "loo_model_weights() needs two models or more.")
  parts <- lapply(models, function(model) {
    if (inherits(model, "galvi")) return(loo.galvi(model))
    if (inherits(model, "loo") && is.matrix(model$pointwise)) return(model)
    stop_galvi("argument", sprintf("loo_model_weights() takes fits of galvi() and values of loo(), not %s.",
      describe(model)))
  })
  elpd <- lapply(parts, function(part) unname(part$pointwise[, 1L]))
  same <- lengths(elpd) == length(elpd[[1L]]) &
    vapply(parts, function(part) isTRUE(all.equal(attr(part, "yhash"), attr(parts[[1L]], "yhash"))), NA)
  if (!all(same)) {
    stop_galvi("argument", "The models of loo_model_weights() must have the same response and rows.")
  }
  table <- do.call(cbind, elpd)
  if (anyNA(table)) {
    stop_galvi("argument", "Some leave-one-out densities are NA: loo() says why, and of which rows.")
  }
  labels <- names(models)
  if (is.null(labels)) labels <- vapply(models, function(model) "", "")
  written <- vapply(or_else(words, rep(list(NULL), length(models))), function(word) {
    if (is.symbol(word)) as.character(word) else ""
  }, "")
  labels <- ifelse(nzchar(labels), labels, written)
  labels <- ifelse(nzchar(labels), labels, paste0("model", seq_along(models)))
  weights <- if (method == "stacking") loo::stacking_weights(table) else loo::pseudobma_weights(table)
  stats::setNames(weights, labels)
}
