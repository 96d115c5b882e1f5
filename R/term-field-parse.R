# Calls of the terms that are fields, such as iid(g) and gmrf(g, graph): their arguments and inputs.

#' @return list(type, model: the core's name of the field, inputs, by, variables, shown, settings: what was
#'   given for hyperparameters, arguments: as they were written, and a field per flag)
#' @noRd
#' @export
parse_term.field_term <- function(spec, call, env) {
  type <- spec$type
  definition <- field_definition(spec)
  arguments <- match_term(call, definition)
  first <- field_variables(spec)
  for (name in first) {
    if (is.null(arguments[[name]])) {
      stop_galvi("formula", sprintf(
        "`%s` needs `%s`: write %s(%s).", deparse_one(call), name, type, paste(first, collapse = ", ")
      ))
    }
    check_field_input(arguments[[name]], call)
  }
  inputs <- if (length(first) == 1L) field_input(arguments[[first]]) else list(inputs = unname(arguments[first]))
  spec <- complete_spec(spec, c(list(model = type), inputs, list(by = arguments[["by"]])))
  spec$variables <- c(spec$inputs, spec$by)
  given <- intersect(unlist(lapply(core_facts$field, `[[`, "name")), names(arguments))
  spec$settings <- lapply(stats::setNames(nm = given), function(name) {
    check_evaluates(eval_galvi(arguments[[name]], env), name, words = galvi_words())
  })
  for (flag in names(Filter(is.logical, formals(definition)))) {
    value <- if (flag %in% names(arguments)) arguments[[flag]] else formals(definition)[[flag]]
    spec[[flag]] <- check_flag(check_evaluates(eval(value, env), flag), flag)
  }
  spec$by_hyper <- check_choice(check_evaluates(eval(if (is.null(arguments$by_hyper)) "shared" else
    arguments$by_hyper), "by_hyper"), c("shared", "each"), "by_hyper")
  if (spec$by_hyper == "each" && is.null(spec$by)) stop_each(deparse_one(call))
  spec$arguments <- arguments
  finish_field(spec, env)
}

# Arguments by their names in `definition`.
match_term <- function(call, definition) {
  type <- head_name(call)
  known <- names(formals(definition))
  given <- names(call)[-1L]
  named <- as.list(call)[-1L][nzchar(given)]
  check_no_dots(named[!names(named) %in% known], known, paste0(type, "()"))
  call[[1L]] <- as.name(type)
  matched <- tryCatch(match.call(definition, call), error = function(e) NULL)
  if (is.null(matched)) {
    stop_galvi("formula", sprintf("`%s`: %s() takes %s.", deparse_one(call), type, quote_names(known)))
  }
  as.list(matched)[-1L]
}

check_field_input <- function(input, call) {
  type <- head_name(call)
  both <- length(input) == 3L && length(all.vars(input[[2L]])) && length(all.vars(input[[3L]]))
  if (head_name(input) == "/" && both) {
    outer <- deparse_one(input[[2L]])
    stop_galvi("formula", sprintf(
      "`%s`: write nested groups as %s(%s) + %s(%s:%s).", deparse_one(call), type, outer, type, outer,
      deparse_one(input[[3L]])
    ))
  }
  if (head_name(input) %in% c("+", "*") && both) {
    stop_galvi("formula", sprintf(
      "`%s` takes one variable: write %s(%s) + %s(%s) for two effects, %s(%s:%s) for one of both together.",
      deparse_one(call), type, deparse_one(input[[2L]]), type, deparse_one(input[[3L]]), type,
      deparse_one(input[[2L]]), deparse_one(input[[3L]])
    ))
  }
  if (is_dot(input) || !is.symbol(input) && !is.call(input)) {
    stop_galvi("formula", sprintf(
      "`%s`: the first argument must be a column or an expression in columns, not %s.", deparse_one(call),
      describe(input)
    ))
  }
}

# a:b is every combination of the two, for text as well as for factors.
field_input <- function(input) {
  parts <- interacting(input)
  if (length(parts) == 1L) return(list(inputs = list(input)))
  together <- as.call(c(quote(interaction), parts, list(sep = ":", drop = TRUE)))
  list(inputs = list(together), shown = deparse_one(input))
}

interacting <- function(expr) {
  if (head_name(expr) == ":") c(interacting(expr[[2L]]), interacting(expr[[3L]])) else list(expr)
}
