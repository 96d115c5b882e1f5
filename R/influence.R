#' Leverages, Cook's distances and standardised residuals
#'
#' `hatvalues()` measures how much each row determines its own linear predictor, `cooks.distance()` how far the
#' posterior mean moves if the row is left out. The model is not fitted again: see [loo()][loo.galvi].
#'
#' @details
#' Let v be the posterior variance of the linear predictor of a row, and alpha and lambda the elements of
#' `fit$posterior` for this row (the slope and the curvature of its site, see [galvi-fit]).
#' * `hatvalues()` are h = lambda v, the proportion of the information on the linear predictor that comes from the row
#'   itself. They sum to the effective number of parameters.
#' * `cooks.distance()` is (m - m')' V^-1 (m - m') / sum(h) = alpha^2 v / (1 - h)^2 / sum(h), where m and V are the
#'   posterior mean and covariance of the latent vector and m' is the mean without the row.
#' * `rstandard()`, for the gaussian family, is sqrt(w) (y - m) / (sigma sqrt(1 - h)). This is also the error of the
#'   prediction from the other rows, divided by its standard deviation. `rstudent()` would need sigma without the row
#'   and is an error.
#'
#' With flat priors all agree with [stats::lm()], and nearly with [stats::glm()] for canonical links. For other links
#' `glm()` uses the expected information and galvi the observed one. Shrinkage by priors reduces leverages.
#'
#' @param model A fit of [galvi()] with one linear predictor.
#' @param ... Must be empty.
#' @return A named vector with one element per observation, without rows of weight 0, as [stats::lm.influence()] has it.
#' @section Errors:
#' `galvi_error_argument` for several linear predictors, from `rstandard()` for other families (use
#' `residuals(fit, "quantile")`) and from `rstudent()`; `galvi_error_data` for fits that do not contain their
#' rows ([row_source()]).
#' @references
#' Cook, R. D. and Weisberg, S. (1982). *Residuals and Influence in Regression*. Chapman and Hall.
#' @seealso [loo.galvi()], whose `leverage` and `pointwise` are also available for several linear predictors.
#' @family checks and comparisons
#' @examples
#' fit <- galvi(dist ~ speed, data = cars)
#' head(hatvalues(fit))
#' which.max(cooks.distance(fit))
#' @name hatvalues.galvi
NULL

#' @rdname hatvalues.galvi
#' @importFrom stats hatvalues
#' @export
hatvalues.galvi <- function(model, ...) {
  refuse_dots(list(...), hatvalues.galvi, "hatvalues()")
  check_sites(model, "hatvalues()")
  per_row(model, model$posterior$lambda[, 1L] * determined_variance(model)[, 1L])
}

#' @rdname hatvalues.galvi
#' @importFrom stats cooks.distance
#' @export
cooks.distance.galvi <- function(model, ...) {
  refuse_dots(list(...), cooks.distance.galvi, "cooks.distance()")
  check_sites(model, "cooks.distance()")
  v <- determined_variance(model)[, 1L]
  leverage <- model$posterior$lambda[, 1L] * v
  per_row(model, model$posterior$alpha[, 1L]^2 * v / (1 - leverage)^2 / sum(leverage))
}

#' @rdname hatvalues.galvi
#' @importFrom stats rstandard
#' @export
rstandard.galvi <- function(model, ...) {
  refuse_dots(list(...), rstandard.galvi, "rstandard()")
  check_sites(model, "rstandard()")
  if (!isTRUE(facts_of(model)$conjugate)) {
    stop_galvi("argument", sprintf(
      "rstandard() is for the gaussian family, not %s: use residuals(fit, \"quantile\").", family_label(model)
    ))
  }
  residual <- stats::residuals(model, "deviance")
  if (!inherits(model, "galvi_wide")) residual <- residual[!without_weight(model)]
  residual / (sigma.galvi(model) * sqrt(1 - hatvalues.galvi(model)))
}

#' @rdname hatvalues.galvi
#' @importFrom stats rstudent
#' @export
rstudent.galvi <- function(model, ...) {
  stop_galvi("argument", paste(
    "rstudent() needs the residual variance without each row, which is another fit: use rstandard(fit) of gaussian",
    "responses or residuals(fit, \"quantile\")."
  ))
}

check_sites <- function(fit, what) {
  check_has_rows(fit, paste(what, "needs them all"))
  if (n_latents(fit) == 1L) return(invisible())
  stop_galvi("argument", sprintf(
    "%s is for one linear predictor; this fit has %d per observation. loo::loo(fit) has `leverage` and `pointwise`.",
    what, n_latents(fit)
  ))
}

#' As lm() has it, rows of weight 0 are left out: they take no part in the fit
#' @noRd
per_row <- function(fit, x) {
  if (inherits(fit, "galvi_wide")) return(in_entries(fit, replace(x, fit$model$weights == 0, NA)))
  x <- stats::naresid(fit$na.action, stats::setNames(x, row.names(fit$data)))
  x[!without_weight(fit)]
}

# Which rows, with those that na.exclude keeps places for, have the weight 0?
without_weight <- function(fit) {
  none <- stats::naresid(fit$na.action, fit$model$weights == 0)
  !is.na(none) & none
}
