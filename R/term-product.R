# Products of two fields, such as ar1(t, by = spde(x, y)): for each node of the outer field, a time or a group, a copy
# of the inner field, and the copies are related as the nodes of the outer field are. The precision is the Kronecker
# product of theirs, with the outer one at variance one: the scale is the inner field's.

# ---- parsing ----

# Is this `by` a term?
is_term_call <- function(expr) is.call(expr) && (head_name(expr) %in% term_words || head_name(expr) == "(" &&
  head_name(expr[[2L]]) %in% bars)

#' The spec of an outer and an inner field: that of the outer one's type with both as `fields`; inputs and variables are
#' those of both, `by` the inner one's
#' @param arguments Of the call, by name.
#' @noRd
parse_product <- function(spec, call, arguments, env) {
  check_outer(spec, call)
  inner_call <- inner_call(arguments$by)
  inner <- new_spec(if (head_name(inner_call) %in% bars) "|" else head_name(inner_call))
  check_inner(inner, call, inner_call)
  check_outer_arguments(spec, call, names(arguments), inner_call)
  alone <- call
  alone[["by"]] <- NULL
  fields <- list(outer = parse_term(spec, alone, env), inner = parse_term(inner, inner_call, env))
  if (isFALSE(fields$inner$constrain)) {
    stop_galvi("argument", sprintf(paste(
      "`%s`: a gmrf() that `by` repeats needs `constrain = TRUE`, because its constants would have no prior at each of",
      "the steps. Add a second term for them, as in %s."
    ), deparse_one(call), deparse_one(alone)))
  }
  structure(
    list(
      type = spec$type, fields = fields, inputs = c(fields$outer$inputs, fields$inner$inputs),
      by = fields$inner$by, by_hyper = fields$inner$by_hyper,
      variables = c(fields$outer$variables, fields$inner$variables)
    ),
    class = c("product_term", "field_term", "term")
  )
}

# (1 | g) is iid(g)
inner_call <- function(by) {
  if (head_name(by) != "(") return(by)
  calls <- random_terms(by[[2L]])
  if (length(calls) == 1L) calls[[1L]] else by[[2L]]
}

check_outer <- function(spec, call) {
  if (term_can(spec, "repeats")) return(invisible())
  refuse <- function(what) stop_galvi("formula", sprintf("`%s`: %s", deparse_one(call), what))
  if (inherits(spec, "walk_term") && walk_order(spec) == 2L) {
    refuse(paste(
      "second differences of fields determine neither the level nor the slope of any node, two directions that have no",
      "prior. Use ar1(), ar2() or the walk of first differences, which may have a field in `by`."
    ))
  }
  refuse(sprintf(
    "in %s() `by` is a number or a factor. A field in `by` is for %s, which repeat it at each step or group.",
    spec$type, quote_names(paste0(words_that("repeats"), "()"))
  ))
}

check_inner <- function(inner, call, inner_call) {
  if (term_can(inner, "repeated")) return(invisible())
  refuse <- function(what) stop_galvi("formula", sprintf("`%s`: %s", deparse_one(call), what))
  known <- quote_names(paste0(words_that("repeated"), "()"))
  if (term_can(inner, "steps")) {
    refuse(sprintf(
      "%s() cannot be inside a term of times or groups: `by` takes %s. Two walks can only be added, or write %s.",
      inner$type, known, "one with `by`, a factor, for an effect of each level"
    ))
  }
  if (inner$type == "|") refuse(sprintf("effects that vary by group cannot be in `by`, which takes %s.", known))
  refuse(sprintf(
    "%s() has no nodes with a sparse precision to repeat: `by` takes %s; spde() is a smooth field in space.",
    inner$type, known
  ))
}

# Arguments of the outer term that have no meaning beside a field.
check_outer_arguments <- function(spec, call, given, inner_call) {
  bad <- intersect(c("variance", "by_hyper", "scale", "cyclic"), given)
  if (!length(bad)) return(invisible())
  advice <- c(
    variance = sprintf("the variance is that of %s", head_name(inner_call)),
    by_hyper = sprintf("it belongs to a factor `by`, which %s may have", head_name(inner_call)),
    scale = "the scale is that of the field", cyclic = "the walk begins at its first step"
  )
  stop_galvi("argument", sprintf(
    "`%s`: %s() has no `%s` if `by` is a field: %s.", deparse_one(call), spec$type, bad[1L], advice[[bad[1L]]]
  ))
}

# Terms of which a table entry says that they can.
words_that <- function(what) {
  names(Filter(function(entry) what %in% entry$can, term_types))
}

#' The specs, with the two fields of a product in its place
#' @noRd
single_specs <- function(specs) {
  unlist(lapply(unname(specs), function(spec) {
    if (inherits(spec, "product_term")) unname(spec$fields) else list(spec)
  }), recursive = FALSE)
}

#' @export
keep_of_fit.product_term <- function(spec, fitted) {
  spec$fields <- Map(keep_of_fit, spec$fields, fitted$fields[names(spec$fields)])
  spec
}

# ---- design ----

# More pairs of nodes are a mistake, or more than any machine factorises.
most_pairs <- 1e7

#' @export
design_term.product_term <- function(spec, frame, context) {
  outer <- spec$fields$outer
  inner <- spec$fields$inner
  outer$label <- inner$label <- spec$label
  outer <- learn_field(outer, field_values(outer, frame), variable_name(outer$inputs[[1L]]))
  outer$scaling <- 1
  outer$hyper <- shape_hyper(outer, context)
  built <- design_term(inner, frame, context)
  inner <- built$spec
  # what predictions at new steps repeat
  inner$field <- built$term$field
  outer[c("arguments", "settings")] <- NULL
  spec$fields <- list(outer = outer, inner = inner)
  spec$by_levels <- inner$by_levels
  pairs <- count_nodes(outer) * as.numeric(field_nodes(inner$field))
  if (pairs > most_pairs) {
    stop_galvi("size", sprintf(
      "%s has %s nodes at each of %s steps, %s in all, which are too many: give it coarser steps or a coarser field.",
      spec$label, whole_words(field_nodes(inner$field)), whole_words(count_nodes(outer)), whole_words(pairs)
    ))
  }
  field <- product_list(spec)
  spec$hyper <- c(outer$hyper, inner$hyper)
  term <- list(type = "field", label = spec$label, field = field)
  list(spec = spec, rows = spec_rows(spec, frame), term = term, priors = built$priors)
}

#' The product as the core reads it (src/prior/field_product.h)
#' @param more New nodes of the outer field, in the form that its structure takes. @param inner The inner field, perhaps
#'   with new nodes. @param order Numbers of the pairs; NULL for the natural order.
#' @noRd
product_list <- function(spec, more = NULL, inner = spec$fields$inner$field, order = NULL) {
  outer <- spec$fields$outer
  structure <- repeatable(outer, if (is.null(more)) field_structure(outer) else field_structure(outer, more))
  out <- list(factors = list(field_list(structure, outer$hyper), inner))
  if (!is.null(order)) out$order <- order
  out
}

# The structure of the outer field at variance one. It has to be proper: a walk begins with a field of its own.
repeatable <- function(spec, structure) UseMethod("repeatable")
#' @export
repeatable.field_term <- function(spec, structure) structure
#' @export
repeatable.walk_term <- function(spec, structure) begun_walk(structure)

#' Numbers of pairs of an outer node i and an inner node j. Those that the fit has keep their numbers whatever is new:
#' they come first, the steps one after the other; then new inner nodes at known steps; then new steps.
#' @param known,all Numbers of nodes, of the outer and the inner field: in the fit, and with the new ones.
#' @noRd
pair_numbers <- function(i, j, known, all) {
  numbers <- ifelse(
    i > known[1L], known[1L] * all[2L] + (i - known[1L] - 1L) * all[2L] + j,
    ifelse(j <= known[2L], (i - 1L) * known[2L] + j,
      prod(known) + (i - 1L) * (all[2L] - known[2L]) + j - known[2L])
  )
  as.integer(ifelse(j > 0L, numbers, 0L))
}

#' @export
spec_rows.product_term <- function(spec, frame) {
  outer <- spec$fields$outer
  inner <- spec$fields$inner
  step <- find_nodes(outer, field_values(outer, frame), variable_name(outer$inputs[[1L]]))
  out <- spec_rows(inner, frame)
  extended <- or_else(out$extension$field, inner$field)
  known <- c(count_nodes(outer), field_nodes(inner$field))
  all <- c(known[1L] + sum(step$more), field_nodes(extended))
  out$node[] <- pair_numbers(rep(step$at, ncol(out$node)), as.vector(out$node), known, all)
  out$extension <- NULL
  if (any(all > known)) {
    # with new steps alone the natural order keeps the numbers
    order <- if (all[2L] > known[2L]) {
      pair_numbers(rep(seq_len(all[1L]), each = all[2L]), rep(seq_len(all[2L]), all[1L]), known, all)
    }
    more <- if (sum(step$more)) step$more
    out$extension <- list(field = product_list(spec, more, extended, order))
  }
  out
}

#' @export
count_nodes.product_term <- function(spec) count_nodes(spec$fields$outer) * field_nodes(spec$fields$inner$field)

# What the inner field has to say, for example of its mesh.
#' @export
say_of_term.product_term <- function(spec, fit) say_of_term(spec$fields$inner, fit)

#' The effects of the inner field: list(node: a row for each, names), copy by copy
#' @noRd
inner_nodes <- function(spec) {
  inner <- spec$fields$inner
  names <- node_names(inner)
  copies <- copies_of(inner)
  at <- rep(seq_along(names), copies)
  node <- node_matrix(inner, list(at = at), rep(seq_len(copies), each = length(names)))
  if (!is.null(inner$by_levels)) names <- paste(names, rep(inner$by_levels, each = length(names)), sep = ":")
  list(node = node, names = rep_len(names, length(at)))
}
