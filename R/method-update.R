# Accessors of what a fit was made from, and update().

#' Update a fit, and extract its formula, data and weights
#'
#' Methods for [galvi()] of the generics that R users know from [stats::lm()] and [stats::glm()]. `update()` fits again
#' with a changed formula or other arguments.
#'
#' `update(fit, . ~ . + gp(x))` changes the formula as [stats::update.formula()] does; for a model with several linear
#' predictors it changes the first. `update(fit, family = student())` keeps the formulas, of which each must be of a
#' parameter of the new family, and leaves out the family of a `brms::bf()`. Without a `prior` of its own the new fit has
#' that of the old one, except for what it has no parameter for, which a message names.
#' `update(fit, start = fit)` starts at the hyperparameters of this fit. A fit that was
#' stopped ([galvi_last()]) is continued from where it was.
#'
#' @param object,x,formula A fit of [galvi()].
#' @param type Only `"prior"`: the weights that were given, as in [stats::glm()].
#' @param use.fallback TRUE or FALSE; has no effect (an argument of the generics).
#' @param formula. Changes to the formula, see [stats::update.formula()].
#' @param ... For `update()`, arguments of [galvi()] to add or change. Must be empty otherwise.
#' @param evaluate If FALSE, return the call instead of a fit.
#' @return
#' \describe{
#'   \item{`nobs()`}{the number of observations, including earlier ones after [add_data()]. As for
#'     [stats::glm()], rows of weight zero are not counted, except in fits to rows from a [row_source()].}
#'   \item{`formula()`, `family()`}{the formula, for a model with several predictors that of the response; and the
#'     family.}
#'   \item{`terms()`}{the terms object of the response, the fixed effects and the offsets, as for [stats::lm()]; other
#'     terms are not included.}
#'   \item{`labels()`, `variable.names()`, `case.names()`}{the labels of these terms, the names of the coefficients, and
#'     the names of the rows used.}
#'   \item{`model.frame()`}{the data used: a data frame with all variables, including weights and offset.}
#'   \item{`model.matrix()`}{the design matrix of the fixed effects, with a column for each element of
#'     [coef()][coef.galvi], as for [stats::lm()].}
#'   \item{`weights()`}{the weights as given, a number per observation (n of `frequency(n)`); trials of binomial
#'     responses are not included.}
#'   \item{`sigma()`}{the residual standard deviation for [gaussian()], the standard deviation of log(y) for
#'     [lognormal()], and the scale for [student()], [laplace()] and [asymmetric_laplace()]. The scale is not a standard
#'     deviation: that is sqrt(2) times the scale for `laplace` and sqrt(df / (df - 2)) times the scale for `student`.
#'     1 / sqrt(kappa) for [von_mises()], 1 for other families, whose sizes, shapes and precisions, which are glmmTMB's
#'     `sigma()`, are in `fit$hyper`; 0 for `y | se(s)`, and where the variance of the noise is `fixed(0)`, unless a term
#'     is the covariance of the observations, a little of which is then taken as noise (see [random-slopes]); NA if sigma
#'     has a linear predictor, for which see `predict(dpar = "sigma")`.}
#'   \item{`update()`}{a fit. Data and formula that are not found where `update()` is called are looked up where the
#'     formula of the fit was made.}
#' }
#' @section Errors:
#' `galvi_error_data` if the fit does not contain its rows, because they were read from a [row_source()];
#' `galvi_error_argument` or `galvi_error_formula` if `update()` has no call or formula to change.
#' @family fitting
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' nobs(fit)
#' sigma(fit)
#' update(fit, sqrt(dist) ~ .)
#' head(model.frame(fit))
#' @name galvi-accessors
NULL

#' @rdname galvi-accessors
#' @importFrom stats nobs
#' @export
nobs.galvi <- function(object, use.fallback = FALSE, ...) {
  refuse_dots(list(...), nobs.galvi, "nobs()")
  check_flag(use.fallback, "use.fallback")
  # as of glm(), rows of weight zero are none; a sample does not tell how many there are
  known <- pieces_of(object$design)
  weights <- if (!is.null(known)) known$weights else if (has_rows(object)) object$model$weights
  (if (is.null(weights)) object$nobs else sum(weights > 0)) + sum(object$seen)
}

#' @rdname galvi-accessors
#' @export
formula.galvi <- function(x, ...) {
  # as.formula() passes `env`
  refuse_dots(list(...), formula.galvi, "formula()", "env")
  x$formula
}

#' @rdname galvi-accessors
#' @export
labels.galvi <- function(object, ...) {
  refuse_dots(list(...), labels.galvi, "labels()")
  labels(stats::terms(object))
}

#' @rdname galvi-accessors
#' @importFrom stats variable.names
#' @export
variable.names.galvi <- function(object, ...) {
  refuse_dots(list(...), variable.names.galvi, "variable.names()")
  names(stats::coef(object))
}

#' @rdname galvi-accessors
#' @importFrom stats case.names
#' @export
case.names.galvi <- function(object, ...) {
  refuse_dots(list(...), case.names.galvi, "case.names()")
  row.names(stats::model.frame(object))
}

#' @rdname galvi-accessors
#' @export
terms.galvi <- function(x, ...) {
  refuse_dots(list(...), terms.galvi, "terms()")
  design <- x$design
  if (!is.null(design$stages)) design$frame_terms <- attr(design$stages$frame, "terms")
  variables <- as.list(attr(design$frame_terms, "variables"))[-1L]
  offsets <- variables[attr(design$frame_terms, "offset")]
  offsets <- offsets[vapply(offsets, variable_name, "") != cox_names[["exposure"]]]
  right <- Reduce(function(a, b) call("+", a, b), offsets, shown_formula(x))
  out <- stats::terms(stats::as.formula(call("~", design$formula[[2L]], right), environment(design$terms)))
  # attributes of model.frame() for these variables
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
  without_stages(object$family)
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
  spec <- fixed_spec(object$design$specs)
  W <- if (is.null(spec)) matrix(0, object$nobs, 0L) else printed_columns(spec, object$data)
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
  object$model$size <- typed_sizes(object)
  weights <- object$model$weights * divisors_of(object, object$model)
  if (inherits(object, "galvi_wide")) return(in_entries(object, weights))
  stats::naresid(object$na.action, stats::setNames(weights, row.names(object$data)))
}

#' @rdname galvi-accessors
#' @importFrom stats sigma
#' @export
sigma.galvi <- function(object, use.fallback = TRUE, ...) {
  refuse_dots(list(...), sigma.galvi, "sigma()")
  check_flag(use.fallback, "use.fallback")
  # it differs from row to row: predict(dpar = "sigma")
  if ("sigma" %in% names(object$design$others)) return(NA_real_)
  # nothing beside the known standard errors
  if (is_standard_error(object$design$weights)) return(0)
  noise <- pure_noise(object)
  if (!is.null(noise)) {
    spec <- residual_spec(object$design$specs)
    return(stats::setNames(object$posterior$hyper[spec$hyper$sd], spec$columns)[noise])
  }
  family_type(object$family)$sigma(family_parameters(object))
}

#' The sigma of a row of weight one: known standard errors are weights
#' @noRd
unit_sigma <- function(fit) if (is_standard_error(fit$design$weights)) 1 else sigma.galvi(fit)

# The formula with the columns that its dot stands for: stats::update() takes a dot for the old formula.
without_dot <- function(fit) {
  formula <- fit$formula
  used <- Filter(is.symbol, as.list(attr(fit$design$terms, "variables"))[-1L])
  columns <- Filter(function(name) as.character(name) %in% fit$design$columns, used)
  if (!length(columns)) return(formula)
  spread <- call("(", Reduce(function(a, b) call("+", a, b), columns))
  operators <- c("+", "-", "*", ":", "^", "/", "(", "%in%")  # inside terms, as in gp(.), a dot stays
  expand <- function(expr) {
    if (is_dot(expr)) return(spread)
    if (head_name(expr) %in% operators) expr[-1L] <- lapply(as.list(expr)[-1L], expand)
    expr
  }
  formula[[3L]] <- expand(formula[[3L]])
  formula
}

# The family that a formula brings along; where the formula is gone, that of the fit.
brought_family <- function(fit, env) {
  tryCatch(family_of_formula(eval(fit$call$formula, env)), error = function(e) {
    if (fit$family$family != "gaussian" && !is_mixed(fit$family)) fit$family
  })
}

# A formula of the response with those of other parameters, but for intercepts that the family has by itself.
with_others <- function(formula, fit) {
  others <- fit$design$others
  implied <- names(others) %in% always_predicted(fit$family) &
    vapply(others, function(other) identical(other$formula[[3L]], 1), NA)
  others <- lapply(unname(others[!implied]), `[[`, "formula")
  if (length(others)) as.call(c(quote(list), formula, others)) else formula
}

# Stops at sigma ~ . - x where sigma has a formula of its own: R would take sigma() for the response.
check_of_response <- function(formula, fit) {
  name <- if (inherits(formula, "formula") && length(formula) == 3L) variable_name(formula[[2L]])
  own <- if (length(name)) fit$design$others[[name]]
  if (is.null(own)) return(invisible())
  fit$design$others[[name]]$formula <- stats::update(own$formula, formula)
  stop_galvi("argument", sprintf(
    "`formula.` changes the formula of the response, not that of `%s`: call galvi() anew with %s.", name,
    deparse_one(with_others(fit$formula, fit))
  ))
}

#' Stops at an argument of update() without a name, which would be lost
#' @noRd
check_all_named <- function(extras) {
  unnamed <- extras[!nzchar(or_else(names(extras), character(length(extras))))]
  if (!length(unnamed)) return(invisible())
  given <- unnamed[[1L]]
  stop_galvi("argument", sprintf(
    "update() needs the names of arguments of galvi(), and %s has none: write `data = %1$s` if it is the data.",
    if (is.language(given)) deparse_one(given) else "d"
  ))
}

#' @rdname galvi-accessors
#' @export
update.galvi <- function(object, formula., ..., evaluate = TRUE) {
  call <- object$call
  if (!identical(call[[1L]], quote(galvi))) {
    stop_galvi("argument", paste(
      "The fit was made step by step (?modular) or by add_data(), so it has no call to update."
    ))
  }
  if (!missing(formula.)) {
    if (!"formula" %in% names(call)) {
      stop_galvi("formula", "The fit was made from `x` and `y`, so it has no formula to update.")
    }
    if (!inherits(formula., "formula") && !(is.character(formula.) && length(formula.) == 1L)) {
      stop_galvi("argument", sprintf(paste(
        "`formula.` must be a formula of the response, such as `. ~ . + x`, not %s: for formulas of several parameters",
        "call galvi() anew."
      ), describe(formula.)))
    }
    check_of_response(formula., object)
    changed <- stats::update(without_dot(object), formula.)
  }
  extras <- match.call(expand.dots = FALSE)$...
  check_all_named(extras)
  if ("newdata" %in% names(extras)) {
    stop_galvi("argument", sprintf(
      "update() has the arguments of galvi(), in which `newdata` is `data`: write update(fit, data = %s).",
      if (is.language(extras$newdata)) deparse_one(extras$newdata) else "d"
    ))
  }
  # that of bf(y ~ x, family = ) goes with it
  brought <- if (is.null(call[["family"]])) brought_family(object, parent.frame())
  if (!missing(formula.)) {
    if (!is.null(brought)) call$family <- brought
    call$formula <- with_others(changed, object)
  } else if (!is.null(brought) && "family" %in% names(extras)) {
    call$formula <- with_others(object$formula, object)
  }
  if (evaluate && !is.null(call[["prior"]]) && !"prior" %in% names(extras)) {
    env <- parent.frame()
    prior <- check_prior_evaluates(eval(with_own_words(call$prior, typed_prior_words(), env), env))
    call$prior <- if (!is.null(prior)) kept_prior(as_prior_list(prior, names(object$design$others)), call$prior)
  }
  for (name in names(extras)) call[[name]] <- extras[[name]]
  if (!evaluate) return(call)
  # the function, not its name: the package need not be attached
  call[[1L]] <- galvi
  if (isTRUE(object$stopped) && !"start" %in% names(extras)) call$start <- continued(object, call$start)
  eval(call, with_local_objects(object, setdiff(c("formula", "data"), names(extras)), parent.frame()))
}

#' Where the arguments of a fit's call are found: as a last resort where its formula was made, as in lme4, for a fit
#' that was made inside a function
#' @noRd
with_local_objects <- function(fit, arguments, frame) {
  env <- environment(fit$formula)
  lacks <- function(name) {
    found <- get0(name, frame)
    is.null(found) || is.function(found)
  }
  names <- unlist(lapply(as.list(fit$call)[arguments], all.vars))
  known <- Filter(function(name) exists(name, env), Filter(lacks, names))
  if (length(known)) list2env(mget(known, env, inherits = TRUE), parent = frame) else frame
}
