# Category-specific effects, cs(x), in families of sequences. A row with category y of 1, .., K decides at thresholds
# 1, .., min(y, K - 1) to go on or to stop, and given the linear predictors these decisions are independent. So the
# model is one of binary rows, a row for each threshold that is reached: shared terms are those of the row of the data,
# thresholds are columns of -1, and a column x of cs(x) is one for each threshold, zero at the others.
# `design$stages` has the way back (R/model-pieces.R), and `terms` of the fixed effects as rows of the data have them;
# R/view-stages.R answers for these rows.

#' Is it a category-specific effect, cs(x) without a bar inside?
#' @noRd
is_specific <- function(expr) is.call(expr) && any_head(expr) == "cs" && !has_bar_word(expr)

#' Does a formula with this right side have category-specific effects that the family can have?
#' @noRd
has_stages <- function(formulas, family) {
  right <- formulas[[1L]]
  length(right) == 3L && !is.null(stages_family(family)) && !is.null(find_specific(right[[3L]]))
}

#' The first cs(x) inside an expression, NULL without any
#' @noRd
find_specific <- function(expr) {
  if (!is.call(expr)) return(NULL)
  if (is_specific(expr)) return(expr)
  # a structure such as cs(0 + f | g) has its own words
  if (has_bar_word(expr)) return(NULL)
  for (part in as.list(expr)[-1L]) {
    found <- if (!missing(part)) find_specific(part)
    if (!is.null(found)) return(found)
  }
  NULL
}

#' What galvi_design() returns, of the binary rows, with `stages`: how to come back
#' @noRd
design_of_stages <- function(formulas, data, family, args, na.action) {
  if (length(formulas) > 1L) {
    stop_galvi("formula", sprintf(
      "cs() goes with one linear predictor, and this model has another one, of %s: leave one of them out.",
      deparse_one(formulas[[2L]][[2L]])
    ))
  }
  if (length(family$parameters$thresholds)) {
    stop_galvi("family", sprintf(paste(
      "With cs() thresholds are coefficients, and %s() takes no `thresholds`: give them a prior by its entry",
      "`intercept`."
    ), family$family))
  }
  parts <- stage_parts(formulas[[1L]], data, unlist(lapply(args, all.vars)))
  clash <- intersect(stage_names, names(data))
  if (length(clash)) {
    stop_galvi("data", sprintf("`%s` is a name that galvi uses itself: rename the column of `data`.", clash[1L]))
  }
  frame <- model_frame(frame_terms(parts), data, args, na.action)
  attr(frame, "mesh") <- attr(data, "mesh")
  attr(frame, "inner") <- inner_variables(frame, data)
  naming_rows(frame_labels(frame), design_of_decisions(parts, family, frame, args))
}

# ---- the formula ----

#' What parse_formula() would return with the terms inside of cs() as fixed effects, with `shared` and `specific`: terms
#' objects of the fixed effects outside and inside of cs()
#' @noRd
stage_parts <- function(formula, data, elsewhere = character()) {
  env <- environment(formula)
  pieces <- summands(formula[[3L]])
  own <- vapply(pieces, function(piece) is_specific(piece$expr), NA)
  specific <- lapply(pieces[own], function(piece) {
    if (piece$sign < 0) {
      stop_galvi("formula", sprintf("`- %s`: terms cannot be subtracted; leave the term out.", deparse_one(piece$expr)))
    }
    specific_argument(piece$expr)
  })
  for (piece in pieces[!own]) check_no_specific(piece$expr)
  plain <- formula
  plain[[3L]] <- if (all(own)) 1 else sum_of(pieces[!own])
  check_foreign_formula(plain)
  parts <- sort_summands(pieces[!own], env)
  refuse_intervals(parts$specs)
  out <- sorted_formula(formula, parts, data, c(elsewhere, unlist(lapply(specific, all.vars))))
  inside <- Reduce(function(a, b) call("+", a, b), specific)
  out$specific <- stats::terms(stats::as.formula(call("~", inside), env = env))
  # without what a minus takes out of a dot
  out$shared <- stats::terms(stats::as.formula(call("~", sum_of_labels(attr(out$fixed, "term.labels"))), env = env))
  attr(out$specific, "intercept") <- 1L
  both <- unique(unlist(lapply(c(out$shared, out$specific), attr, "term.labels")))
  out$fixed <- stats::terms(stats::as.formula(call("~", sum_of_labels(both)), env = env), keep.order = TRUE)
  out
}

sum_of_labels <- function(labels) {
  if (!length(labels)) return(1)
  Reduce(function(a, b) call("+", a, b), lapply(labels, str2lang))
}

specific_argument <- function(expr) {
  refuse <- function(why) stop_galvi("formula", sprintf("`%s`: %s", deparse_one(expr), why))
  if (length(expr) != 2L || !is.null(names(expr)) && nzchar(names(expr)[2L])) {
    refuse("cs() takes one expression, with terms added in it: write cs(x) or cs(x + z).")
  }
  inside <- expr[[2L]]
  if (any(vapply(summands(inside), function(piece) head_name(piece$expr) %in% bars, NA))) {
    refuse("effects of groups are the same at all thresholds: write (1 | g) beside cs(x).")
  }
  if (!is.null(find_term(inside)) || "." %in% all.vars(inside)) {
    refuse("inside of cs() are fixed effects, such as x, factor(f), poly(x, 2) or x:z: add other terms outside of it.")
  }
  labels <- attr(stats::terms(stats::as.formula(call("~", inside))), "term.labels")
  if (!length(labels)) refuse("thresholds are category-specific intercepts already: leave it out.")
  check_fixed(inside)
  inside
}

# cs() is a summand of its own.
check_no_specific <- function(expr) {
  found <- find_specific(expr)
  if (is.null(found)) return(invisible())
  grouped <- any(c("|", "||") %in% all.names(expr))
  stop_galvi("formula", sprintf("`%s`: %s", deparse_one(expr), if (grouped) {
    "effects of groups are the same at all thresholds: write (1 | g) or (x | g), beside cs(x)."
  } else {
    "cs() can only be added; its own terms are inside of it, as in cs(x:z)."
  }))
}

# ---- binary rows ----

design_of_decisions <- function(parts, family, frame, args) {
  response <- family_response(family, stats::model.response(frame), row_weights(frame, args$weights),
    response_typed(parts), counted = counts_rows(args$weights))
  stages <- length(response$levels) - 1L
  if (stages < 2L) {
    response_error(response_typed(parts),
      "has two levels, between which there is one threshold: cs(x) needs three or more, write x")
  }
  count <- pmin(response$y + 1, stages)
  row <- rep(seq_along(count), count)
  stage <- sequence(count)
  names <- threshold_names(response$levels)
  goes_on <- as.numeric(response$y[row] >= stage)
  long <- frame_of_decisions(frame, row, goes_on, stage_factor(stage, names))
  new_step("galvi_design", list(
    formula = parts$formula, family = stages_family(family), data = long, y = goes_on, size = rep(1, length(row)),
    weights = response$weights[row], offset = frame_offset(long), levels = c("0", "1"),
    parts = parts_of_decisions(parts), args = args,
    stages = list(levels = response$levels, names = names, frame = frame, y = response$y, weights = response$weights,
      pieces = list(row = row, stage = stage), terms = parts$fixed)
  ))
}

stage_factor <- function(stage, names) factor(names[stage], names)

frame_of_decisions <- function(frame, rows, goes_on, stage) {
  frame_of_pieces(frame, rows, stats::setNames(list(goes_on), stage_names[["response"]]),
    stats::setNames(list(stage), stage_names[["stage"]]))
}

#' The same with the fixed effects of the binary rows: a terms object whose labels are those that users see, with the
#' parts of which fixed_matrix() makes its columns
#' @param parts From stage_parts().
#' @noRd
parts_of_decisions <- function(parts) {
  stage <- as.name(stage_names[["stage"]])
  shared <- attr(parts$shared, "term.labels")
  specific <- attr(parts$specific, "term.labels")
  expr <- Reduce(function(a, b) call("+", a, b), c(
    list(0, stage), lapply(shared, str2lang), lapply(specific, function(label) call(":", stage, str2lang(label)))
  ))
  out <- stats::terms(stats::as.formula(call("~", expr), env = parts$env), keep.order = TRUE)
  labels <- c(stage_names[["stage"]], shared, sprintf("cs(%s)", specific))
  attr(out, "term.labels") <- labels
  colnames(attr(out, "factors")) <- labels
  parts$fixed <- structure(out, shared = parts$shared, specific = parts$specific)
  parts
}
