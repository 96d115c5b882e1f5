#' What a fit was made from
#'
#' The usual questions. `update()` fits again with a changed formula or changed arguments, as
#' [stats::update()] does: `update(fit, . ~ . + gp(x))`. `start = fit` among them starts from this fit's
#' hyperparameters.
#'
#' @param object,x,formula A fit of [galvi()].
#' @param formula. Changes to the formula, as for [stats::update.formula()].
#' @param ... Arguments of [galvi()] to add or change (`update`); not used by the others.
#' @param evaluate If FALSE, return the call instead of the fit.
#' @return `nobs`: observations used. `formula`, `family`: as in the fit. `terms`: the terms object of the
#'   fixed effects. `model.frame`: the data used, response, weights and offset included. `weights`: one weight
#'   per observation; the trials are not in it. `sigma`: the residual standard deviation of a gaussian model;
#'   the scale of student and laplace (no standard deviation: sqrt(2) times the scale is that of laplace, and
#'   sqrt(df / (df - 2)) times that of student); else 1. `update`: a fit.
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' nobs(fit)
#' update(fit, sqrt(dist) ~ .)
#' @name galvi-accessors
NULL

#' @rdname galvi-accessors
#' @importFrom stats nobs
#' @export
nobs.galvi <- function(object, ...) object$nobs

#' @rdname galvi-accessors
#' @export
formula.galvi <- function(x, ...) x$formula

#' @rdname galvi-accessors
#' @export
terms.galvi <- function(x, ...) x$design$terms

#' @rdname galvi-accessors
#' @export
family.galvi <- function(object, ...) object$family

#' @rdname galvi-accessors
#' @export
model.frame.galvi <- function(formula, ...) formula$data

#' @rdname galvi-accessors
#' @export
weights.galvi <- function(object, ...) {
  stats::naresid(object$na.action, stats::setNames(object$model$weights, row.names(object$data)))
}

#' @rdname galvi-accessors
#' @importFrom stats sigma
#' @export
sigma.galvi <- function(object, ...) {
  own <- object$hyper[object$hyper$term == object$family$family, ]
  if ("variance" %in% own$parameter) return(sqrt(own$estimate[own$parameter == "variance"]))
  if ("scale" %in% own$parameter) return(own$estimate[own$parameter == "scale"])
  1
}

#' @rdname galvi-accessors
#' @export
update.galvi <- function(object, formula., ..., evaluate = TRUE) {
  call <- object$call
  if (!missing(formula.)) {
    if (!"formula" %in% names(call)) {
      stop_galvi("formula", "The fit was made from `x` and `y`: there is no formula to update.")
    }
    call$formula <- stats::update(object$formula, formula.)
  }
  extras <- match.call(expand.dots = FALSE)$...
  for (name in names(extras)) call[[name]] <- extras[[name]]
  if (!evaluate) return(call)
  # the function itself: the package need not be attached
  call[[1L]] <- galvi
  eval(call, parent.frame())
}
