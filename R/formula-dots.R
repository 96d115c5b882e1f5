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
  rhs <- if (length(pieces)) Reduce(function(a, b) {
    if (head_name(b) == "-" && length(b) == 2L) call("-", a, b[[2L]]) else call("+", a, b)
  }, pieces, accumulate = FALSE) else 1
  # a first piece with a minus is kept as it is, as in ~ -1
  f <- stats::as.formula(call("~", rhs), env = env)
  uses_dot <- "." %in% all.vars(rhs)
  if (uses_dot && is.null(data)) {
    stop_galvi("formula", "A `.` in the formula needs `data`: it stands for the columns that are not named.")
  }
  if (!uses_dot) return(stats::terms(f))
  columns <- unnamed_columns(data, c(named$response, named$elsewhere, named$terms))
  if (!length(columns)) {
    stop_galvi("formula", "The `.` stands for nothing: every column of `data` is used elsewhere.")
  }
  stats::terms(f, data = data[0L, columns, drop = FALSE])
}
