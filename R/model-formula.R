# A formula -> its parts: response, fixed effects, terms, offsets. Nothing is evaluated in `data`; its column names are
# used only to expand dots.

# The summands of a right-hand side with their signs, in order. This is a loop over the left operands, because a formula
# with thousands of variables is nested too deeply for recursion.
summands <- function(expr, sign = 1) {
  out <- list()
  repeat {
    head <- head_name(expr)
    if (head %in% c("+", "-") && length(expr) == 3L) {
      right <- summands(expr[[3L]], if (head == "-") -sign else sign)
      out <- c(right, out)
      expr <- expr[[2L]]
    } else if (head %in% c("+", "-") && length(expr) == 2L) {
      return(c(summands(expr[[2L]], if (head == "-") -sign else sign), out))
    } else if (head == "(" && !head_name(expr[[2L]]) %in% bars && length(find_term(expr))) {
      return(c(summands(expr[[2L]], sign), out))
    } else {
      return(c(list(list(expr = expr, sign = sign)), out))
    }
  }
}

# ---- parsing ----

# elsewhere: variables in weights, offset and subset, which a dot does not include.
parse_formula <- function(formula, data, elsewhere = character()) {
  env <- environment(formula)
  if (length(formula) != 3L) {
    stop_galvi("formula", sprintf(
      "`formula` must have a response, as in y ~ %s.", deparse_one(formula[[2L]])
    ))
  }
  check_foreign_formula(formula, data = data)
  parts <- sort_summands(summands(formula[[3L]]), env)
  refuse_intervals(parts$specs)
  sorted_formula(formula, parts, data, elsewhere)
}

# The same from sorted summands, as sort_summands() returns them.
sorted_formula <- function(formula, parts, data, elsewhere = character()) {
  env <- environment(formula)
  named <- list(
    response = all.vars(formula[[2L]]), elsewhere = c(elsewhere, unlist(lapply(parts$offsets, all.vars))),
    terms = unlist(lapply(parts$specs, spec_names)),
    fixed = setdiff(unlist(lapply(parts$fixed, all.vars)), ".")
  )
  specs <- lapply(parts$specs, expand_dot, dot_columns(data, unlist(named), parts$specs))
  list(
    formula = formula, env = env, columns = names(data), times = time_columns(data), response = formula[[2L]],
    fixed = fixed_terms(parts$fixed, data, named, env),
    specs = label_specs(check_groups_once(specs)), offsets = parts$offsets
  )
}

# Each summand goes to one of fixed, offsets, specs.
sort_summands <- function(pieces, env) {
  out <- list(fixed = list(), offsets = list(), specs = list())
  for (piece in pieces) {
    expr <- piece$expr
    head <- head_name(expr)
    of_groups <- bar_terms(expr, env)
    bar <- !is.null(of_groups)
    if (bar || head %in% term_words) {
      if (piece$sign < 0) {
        stop_galvi("formula", sprintf(
          "`- %s`: terms cannot be subtracted; leave the term out.", deparse_one(expr)
        ))
      }
      for (call in if (bar) of_groups else list(expr)) {
        name <- head_name(call)
        if (name %in% bars || has_bar_word(call)) name <- "|"
        spec <- parse_term(new_spec(name), call, env)
        spec$bar <- bar && term_can(spec, "grouped")
        if (bar && name == "gp") spec[c("written", "can")] <- list(deparse_one(expr), "by_group")
        out$specs[[length(out$specs) + 1L]] <- spec
      }
    } else if (head == "offset" && piece$sign > 0) {
      out$offsets[[length(out$offsets) + 1L]] <- expr
    } else {
      check_fixed(expr)
      out$fixed[[length(out$fixed) + 1L]] <- if (piece$sign < 0) call("-", expr) else expr
    }
  }
  out
}

# Fixed effects are those of R's formulas.
check_fixed <- function(expr) {
  if (!is.call(expr)) return(invisible())
  head <- head_name(expr)
  if (head %in% kernel_words()) {
    stop_galvi("formula", sprintf(
      "`%s` is a kernel, not a term: write gp(%s, kernel = %s(%s)).", deparse_one(expr),
      paste(vapply(as.list(expr)[-1L], deparse_one, ""), collapse = ", "), head,
      paste(rep("1", count_required(get(head, mode = "function"))), collapse = ", ")
    ))
  }
  if (head %in% bars) {
    stop_galvi("formula", sprintf("`%s`: write (1 | g) or (x | g) in parentheses.", deparse_one(expr)))
  }
  check_no_term_inside(expr)
  if (head %in% formula_operators) for (part in as.list(expr)[-1L]) check_fixed(part)
  invisible()
}

# Terms can only be added. A product with a term probably meant its argument `by`.
check_no_term_inside <- function(expr) {
  inner <- find_term(with_iid(expr))
  if (is.null(inner)) return(invisible())
  head <- head_name(expr)
  operands <- as.list(with_iid(expr))[-1L]
  others <- operands[vapply(operands, function(x) is.null(find_term(x)), NA)]
  stop_galvi("formula", sprintf(
    "`%s`: a term cannot be inside `%s`. Terms can only be added%s.", deparse_one(expr), head,
    if (head %in% c(":", "*", "/", "%in%") && length(others) == 1L) {
      sprintf("; for an effect that varies with %s write %s", deparse_one(others[[1L]]),
        with_by(inner, others[[1L]]))
    } else ""
  ))
}

# A term has one `by`: that of two factors is their interaction, of two numbers their product.
with_by <- function(term, variable) {
  known <- term[["by"]]
  if (is.null(known)) {
    term[["by"]] <- variable
    return(deparse_one(term))
  }
  term[["by"]] <- call("interaction", known, variable)
  factors <- deparse_one(term)
  term[["by"]] <- call("*", known, variable)
  sprintf("%s, if both are factors, or %s, if both are numbers", factors, deparse_one(term))
}

# Replaces (1 | g) by iid(g) inside an expression.
with_iid <- function(expr) {
  if (!is.call(expr)) return(expr)
  bar <- if (head_name(expr) == "(") expr[[2L]]
  if (head_name(bar) == "|" && is_intercept(bar[[2L]])) return(call("iid", bar[[3L]]))
  expr[-1L] <- lapply(as.list(expr)[-1L], function(part) if (missing(part)) part else with_iid(part))
  expr
}

# ---- labels ----

# gp(x1, x2); with `by`, gp(x1, by = g). Equal labels get the kernels, then numbers.
label_specs <- function(specs) {
  if (!length(specs)) return(specs)
  labels <- vapply(specs, spec_label, "")
  # equal ones are told apart by their kernels, and equal kernels by their settings
  for (kernel in list(without_settings, identity)) {
    for (l in unique(labels[duplicated(labels)])) {
      at <- which(labels == l)
      labels[at] <- vapply(specs[at], spec_label, "", kernel = kernel)
    }
  }
  copy <- stats::ave(seq_along(labels), labels, FUN = seq_along)
  labels <- paste0(labels, ifelse(copy > 1L, paste0(" #", copy), ""))
  Map(function(spec, label) {
    spec$label <- label
    spec
  }, specs, labels)
}

# Dots in formulas: the columns that they stand for.

# The columns of `data` that a dot inside a term stands for: those that the formula does not name.
dot_columns <- function(data, named, specs) {
  if (!any(vapply(specs, spec_has_dot, NA))) return(NULL)
  if (is.null(data)) {
    stop_galvi("formula", "A `.` in the formula needs `data`: it stands for the columns that are not named.")
  }
  columns <- unnamed_columns(data, named)
  if (!length(columns)) {
    stop_galvi("formula", "The `.` in a term stands for nothing: every column of `data` is used elsewhere.")
  }
  lapply(columns, as.name)
}

# The columns that the formula does not name. Their names must be unique.
unnamed_columns <- function(data, named) {
  columns <- names(data)[!names(data) %in% named]
  bad <- c(which(is.na(columns) | !nzchar(columns)), which(duplicated(columns)))
  if (length(bad)) {
    stop_galvi("data", sprintf(
      "`data` has %s, so `.` cannot stand for %s.",
      if (columns[bad[1L]] %in% c("", NA)) "a column without a name" else {
        sprintf("several columns named `%s`", columns[bad[1L]])
      }, if (columns[bad[1L]] %in% c("", NA)) "it" else "them"
    ))
  }
  columns
}

# Names that a term uses as data; a kernel's arguments are not data.
spec_names <- function(spec) setdiff(unlist(lapply(spec$variables, all.vars)), ".")

spec_has_dot <- function(spec) any(vapply(spec$inputs, is_dot, NA))

expand_dot <- function(spec, columns) {
  if (!spec_has_dot(spec)) return(spec)
  written <- vapply(spec$inputs, deparse_one, "")
  spread <- lapply(spec$inputs, function(e) if (is_dot(e)) columns else list(e))
  spec$inputs <- unlist(spread, recursive = FALSE)
  # the label names up to three columns; with more it keeps the dot
  if (length(columns) > 3L) spec$shown <- written
  spec$variables <- c(spec$inputs, spec$by)
  spec
}

# The terms object of the fixed effects. Dots are expanded as in lm(), without the variables of the response, terms,
# weights, offsets and subset.
fixed_terms <- function(pieces, data, named, env) {
  elsewhere <- c(named$response, named$elsewhere, named$terms)
  uses_dot <- "." %in% unlist(lapply(pieces, all.vars))
  # the dot in . - g + (1 | g) is without g as it is
  if (uses_dot) pieces <- Filter(function(piece) {
    !(head_name(piece) == "-" && is.symbol(piece[[2L]]) && as.character(piece[[2L]]) %in% elsewhere)
  }, pieces)
  rhs <- if (length(pieces)) Reduce(function(a, b) {
    if (head_name(b) == "-" && length(b) == 2L) call("-", a, b[[2L]]) else call("+", a, b)
  }, pieces, accumulate = FALSE) else 1
  # a first piece with a minus is kept as it is, as in ~ -1
  f <- stats::as.formula(call("~", rhs), env = env)
  if (uses_dot && is.null(data)) {
    stop_galvi("formula", "A `.` in the formula needs `data`: it stands for the columns that are not named.")
  }
  if (!uses_dot) return(stats::terms(f))
  columns <- unnamed_columns(data, elsewhere)
  if (!length(columns)) {
    stop_galvi("formula", "The `.` stands for nothing: every column of `data` is used elsewhere.")
  }
  stats::terms(f, data = data[0L, columns, drop = FALSE])
}
