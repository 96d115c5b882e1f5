#' What a fit was made from
#'
#' The usual questions. `update()` fits again with a changed formula or changed arguments, as
#' [stats::update()] does: `update(fit, . ~ . + gp(x))`. `start = fit` among them starts from this fit's
#' hyperparameters. A fit that was stopped ([galvi_last()]) goes on from where it stood.
#'
#' @param object,x,formula A fit of [galvi()].
#' @param type Weights that were given (`"prior"`, as of [stats::glm()]); there are no others.
#' @param use.fallback Makes no difference, as every fit knows its value; the generics have it.
#' @param formula. Changes to the formula, as for [stats::update.formula()].
#' @param ... Arguments of [galvi()] to add or change (`update`); must be empty for the others.
#' @param evaluate If FALSE, return the call instead of the fit.
#' @return `nobs`: observations used, all so far where [add_data()] added some. `formula`, `family`: as in the fit. `terms`: the terms object of the
#'   response, the fixed effects and offsets, as [stats::lm()] has it without the other terms. `model.frame`:
#'   the data used: all variables, weights and offset included. `model.matrix`: the columns of the fixed
#'   effects, as [stats::lm()] has them for these terms, one for each of [coef()][coef.galvi]. `weights`: one
#'   weight per observation; the trials are not in it. `sigma`: the residual standard deviation of a gaussian
#'   model; the scale of student and laplace (no standard deviation: sqrt(2) times the scale is that of
#'   laplace, and sqrt(df / (df - 2)) times that of student); else 1. `update`: a fit.
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' nobs(fit)
#' update(fit, sqrt(dist) ~ .)
#' @name galvi-accessors
NULL

#' @rdname galvi-accessors
#' @importFrom stats nobs
#' @export
nobs.galvi <- function(object, use.fallback = FALSE, ...) {
  refuse_dots(list(...), nobs.galvi, "nobs()")
  check_flag(use.fallback, "use.fallback")
  object$nobs + sum(object$seen)
}

#' @rdname galvi-accessors
#' @export
formula.galvi <- function(x, ...) {
  # as.formula() passes an environment for formulas without one
  refuse_dots(list(...), formula.galvi, "formula()", "env")
  x$formula
}

#' @rdname galvi-accessors
#' @export
terms.galvi <- function(x, ...) {
  refuse_dots(list(...), terms.galvi, "terms()")
  design <- x$design
  variables <- as.list(attr(design$frame_terms, "variables"))[-1L]
  offsets <- variables[attr(design$frame_terms, "offset")]
  right <- Reduce(function(a, b) call("+", a, b), offsets, stats::formula(design$terms)[[2L]])
  out <- stats::terms(stats::as.formula(call("~", design$formula[[2L]], right), environment(design$terms)))
  # what model.frame() found out about these variables
  own <- vapply(as.list(attr(out, "variables"))[-1L], variable_name, "")
  at <- match(own, vapply(variables, variable_name, ""))
  attr(out, "predvars") <- attr(design$frame_terms, "predvars")[c(1L, 1L + at)]
  attr(out, "dataClasses") <- attr(design$frame_terms, "dataClasses")[own]
  out
}

#' @rdname galvi-accessors
#' @export
family.galvi <- function(object, ...) {
  refuse_dots(list(...), family.galvi, "family()")
  object$family
}

#' @rdname galvi-accessors
#' @export
model.frame.galvi <- function(formula, ...) {
  refuse_dots(list(...), model.frame.galvi, "model.frame()")
  check_has_rows(formula, "a sample of them is `fit$data`")
  formula$data
}

#' @rdname galvi-accessors
#' @importFrom stats model.matrix
#' @export
model.matrix.galvi <- function(object, ...) {
  refuse_dots(list(...), model.matrix.galvi, "model.matrix()")
  check_has_rows(object, "there is no model matrix of all rows")
  at <- match(fixed_label, vapply(prior_terms(object$model), `[[`, "", "label"))
  W <- if (is.na(at)) matrix(0, object$nobs, 0L) else term_rows(object$model)[[at]]$W
  rownames(W) <- row.names(object$data)
  attr(W, "assign") <- object$design$assign
  attr(W, "contrasts") <- object$design$contrasts
  W
}

#' @rdname galvi-accessors
#' @export
weights.galvi <- function(object, type = "prior", ...) {
  refuse_dots(list(...), weights.galvi, "weights()")
  check_choice(type, "prior", "type")
  check_has_rows(object, "read the weights from the source")
  stats::naresid(object$na.action, stats::setNames(object$model$weights, row.names(object$data)))
}

#' @rdname galvi-accessors
#' @importFrom stats sigma
#' @export
sigma.galvi <- function(object, use.fallback = TRUE, ...) {
  refuse_dots(list(...), sigma.galvi, "sigma()")
  check_flag(use.fallback, "use.fallback")
  # it differs from row to row: predict(dpar = "sigma")
  if (identical(object$design$second$name, "sigma")) return(NA_real_)
  parameters <- lapply(object$model$likelihood$hyper, function(at) object$posterior$hyper[at])
  family_type(object$family)$sigma(parameters)
}

#' @rdname galvi-accessors
#' @export
update.galvi <- function(object, formula., ..., evaluate = TRUE) {
  call <- object$call
  if (!identical(call[[1L]], quote(galvi))) {
    stop_galvi("argument", paste(
      "The fit was made step by step (?modular) or by add_data(): there is no call to update."
    ))
  }
  if (!missing(formula.)) {
    if (!"formula" %in% names(call)) {
      stop_galvi("formula", "The fit was made from `x` and `y`: there is no formula to update.")
    }
    changed <- stats::update(object$formula, formula.)
    second <- object$design$second$formula
    call$formula <- if (is.null(second)) changed else call("list", changed, second)
  }
  extras <- match.call(expand.dots = FALSE)$...
  for (name in names(extras)) call[[name]] <- extras[[name]]
  if (!evaluate) return(call)
  # the function itself: the package need not be attached
  call[[1L]] <- galvi
  if (isTRUE(object$stopped) && !"start" %in% names(extras)) call$start <- continued(object, call$start)
  eval(call, parent.frame())
}
