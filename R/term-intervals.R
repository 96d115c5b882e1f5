# Terms of Cox's model over its intervals (R/model-cox.R): the baseline, which the family adds, and tve(x). Both are
# fields whose nodes are the intervals.

#' @rdname cox
#' @export
tve <- function(x, variance = 1) stop_term("tve", "Surv(time, status) ~ tve(x)")

#' The spec of the baseline: a term without a word in formulas
#' @param strata The variable of strata, or NULL.
#' @noRd
baseline_spec <- function(model, variance, strata) {
  interval <- as.name(cox_names[["interval"]])
  complete_spec(new_spec("baseline"), list(
    model = model, inputs = list(interval), by = strata, variables = c(interval, strata),
    settings = list(variance = variance), by_hyper = "shared", bar = FALSE, label = "baseline"
  ))
}

#' @export
parse_term.tve_term <- function(spec, call, env) {
  arguments <- match_term(call, tve)
  if (is.null(arguments$x)) stop_galvi("formula", sprintf("`%s` needs `x`: write tve(x).", deparse_one(call)))
  check_field_input(arguments$x, call)
  variance <- if (!is.null(arguments$variance)) {
    check_evaluates(eval_galvi(arguments$variance, env), "variance", words = galvi_words())
  }
  interval <- as.name(cox_names[["interval"]])
  complete_spec(spec, list(
    model = "rw1", inputs = list(interval), by = arguments$x, variables = list(interval, arguments$x),
    settings = list(variance = variance), by_hyper = "shared",
    label = sprintf("tve(%s)", deparse_one(arguments$x))
  ))
}

#' Stops at tve() outside of Cox's model
#' @noRd
refuse_intervals <- function(specs) {
  own <- Find(function(spec) term_can(spec, "intervals"), specs)
  if (is.null(own)) return(invisible())
  stop_galvi("formula", sprintf(
    "`%s` is for family = cox(): an effect that changes in time. Other families have no intervals of time.", own$label
  ))
}

# All levels are nodes, with rows or not.
#' @export
learn_field.interval_term <- function(spec, x, name) {
  spec$levels <- levels(x)
  spec
}

#' @export
field_structure.interval_term <- function(spec, more) {
  n <- length(spec$levels)
  if (spec$model == "iid") iid_structure(n) else walk_structure(interval_order(spec), n)
}

interval_order <- function(spec) c(iid = 0L, rw1 = 1L, rw2 = 2L)[[spec$model]]

#' @export
unit_variance.interval_term <- function(spec) length(spec$levels)^max(0, 2 * interval_order(spec) - 1)

#' @export
field_basis.interval_term <- function(spec) if (spec$model == "rw2") list(name = "slope", slope = TRUE)
