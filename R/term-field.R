# What the Markov fields have in common: iid(), gmrf(), rw1(), rw2(), ar1(), spde(). Each adds to a row the value of a
# node (a level, a region, a time, a corner of a mesh) of a Gaussian vector whose precision is sparse.

# What every field has:
# * learn_field(spec, x, name) keeps in spec what defines the nodes, given the training values x;
# * find_nodes(spec, x, name) gives each value its node, `at`; nodes beyond count_nodes(spec) are those that only new
#   data have, `more` says how many, in the form that field_structure() takes; `weight` if a row has several nodes;
# * field_structure(spec, more): one copy of the field (R/term-field-structures.R);
# * count_nodes(spec) and node_names(spec): number and names of the nodes.
learn_field <- function(spec, x, name) UseMethod("learn_field")
find_nodes <- function(spec, x, name) UseMethod("find_nodes")
field_structure <- function(spec, more) UseMethod("field_structure")
count_nodes <- function(spec) UseMethod("count_nodes")
node_names <- function(spec) UseMethod("node_names")

# What has a default:
# * field_variables(spec): the arguments that are its variable;
# * finish_field(spec, env) reads other arguments of the call; field_values(spec, frame) reads the variable;
# * field_hyper(spec, context) registers the hyperparameters;
# * field_basis(spec): the direction with a prior of its own, list(name, slope: is it a slope in time?);
# * field_layers(spec): how many nodes of the structure a row has;
# * field_scaling(spec): what multiplies the precision if scale = TRUE; unit_variance(spec): roughly the marginal
#   variance at variance = 1.
field_variables <- function(spec) UseMethod("field_variables")
finish_field <- function(spec, env) UseMethod("finish_field")
field_values <- function(spec, frame) UseMethod("field_values")
field_hyper <- function(spec, context) UseMethod("field_hyper")
field_basis <- function(spec) UseMethod("field_basis")
field_layers <- function(spec) UseMethod("field_layers")
field_scaling <- function(spec) UseMethod("field_scaling")
unit_variance <- function(spec) UseMethod("unit_variance")

#' @export
field_variables.field_term <- function(spec) names(formals(field_definition(spec)))[1L]
#' @export
finish_field.field_term <- function(spec, env) spec
#' @export
field_basis.default <- function(spec) NULL
#' @export
field_layers.field_term <- function(spec) 1L
#' @export
unit_variance.field_term <- function(spec) 1

# The documented function of the term, for its arguments. Those with the name of a hyperparameter of its models take a
# number, fixed() or a prior; those that are TRUE or FALSE by default are flags.
field_definition <- function(spec) get(spec$type, envir = topenv(), mode = "function")

is_field <- function(spec) inherits(spec, "field_term")

# Are its values labels of nodes, not measurements?
has_levels <- function(spec) is_field(spec) && !term_can(spec, "places")

# ---- design ----

#' @export
design_term.field_term <- function(spec, frame, context) {
  spec <- learn_field(spec, field_values(spec, frame), variable_name(spec$inputs[[1L]]))
  if (!is.null(spec$by)) spec$by_levels <- by_levels(frame[[variable_name(spec$by)]], variable_name(spec$by))
  if (spec$by_hyper == "each" && is.null(spec$by_levels)) stop_each(spec$label)
  spec$scaling <- if (isTRUE(spec$scale)) field_scaling(spec) else 1
  rows <- spec_rows(spec, frame)
  context <- per_unit_of_by(context, spec, frame)
  spec$hyper <- field_hyper(spec, context)
  field <- spec_field(spec, field_structure(spec))
  basis <- design_basis(spec, rows, max(0L, ncol(field$basis)), context)
  # the field has what the graph said; maps need the outlines
  spec$outlines <- spec$graph$outlines
  spec[c("graph", "arguments", "settings")] <- NULL
  term <- c(list(type = "field", label = spec$label, field = field), basis$coefficients)
  list(spec = spec, rows = rows, term = term, priors = basis$priors)
}

stop_each <- function(term) {
  stop_galvi("argument", sprintf(paste(
    "`%s`: `by_hyper = \"each\"` gives each level of a factor `by` its own hyperparameters: the term needs",
    "`by`, a factor."
  ), term))
}

spec_field <- function(spec, structure) field_list(structure, spec$hyper, copies_of(spec))

copies_of <- function(spec) max(1L, length(spec$by_levels))

# list(node, weight: NULL or numbers, extension)
#' @export
spec_rows.field_term <- function(spec, frame) {
  found <- find_nodes(spec, field_values(spec, frame), variable_name(spec$inputs[[1L]]))
  by <- by_rows(spec, frame)
  out <- list(node = node_matrix(spec, found, if (is.null(by$group)) 1L else by$group))
  if (!is.null(found$weight)) out$weight <- found$weight
  if (!is.null(by$by)) out$weight <- if (is.null(out$weight)) by$by else out$weight * by$by
  # The same field with the new nodes: the posterior of those it had does not change.
  if (sum(found$more)) out$extension <- list(field = spec_field(spec, field_structure(spec, found$more)))
  out
}

#' The nodes that rows touch, those of `found$at` in each layer: N x h. 0 is none.
#' @noRd
node_matrix <- function(spec, found, group) {
  count <- count_nodes(spec)
  layers <- field_layers(spec)
  at <- as.matrix(found$at)
  nodes <- lapply(seq_len(layers) - 1L, function(layer) {
    copied <- copied_node(at + layer * count, group, layers * count, sum(found$more), copies_of(spec))
    matrix(as.integer(ifelse(at > 0L, copied, 0L)), nrow(at), ncol(at))
  })
  do.call(cbind, nodes)
}

# The variable of a field at the rows of a frame.
#' @export
field_values.field_term <- function(spec, frame) {
  name <- variable_name(spec$inputs[[1L]])
  check_field_variable(frame[[name]], spec, name)
}

check_field_variable <- function(x, spec, name) {
  if (is.null(dim(x)) && (is_number_like(x) || is.factor(x) || is.character(x))) return(x)
  stop_galvi("data", sprintf(
    "`%s` must be numbers, a factor or text to be in %s(), not %s.", name, spec$type, describe(x)
  ))
}

# For a field whose nodes are all connected.
#' @export
field_scaling.field_term <- function(spec) {
  spec$scaling <- 1
  unit_scaling(field_structure(spec), rep(1L, count_nodes(spec)))
}

#' The direction that an intrinsic field does not determine and that has the prior of a coefficient: its name in
#' `prior =`, such as `rw2(t).slope`; NULL for none
#' @noRd
basis_name <- function(spec) {
  basis <- field_basis(spec)
  if (!is.null(basis)) paste0(spec$label, ".", basis$name)
}

#' Priors of these directions: that of a slope, or for constants that of the intercept, with mean zero if the formula
#' has an intercept itself
#' @param q How many coefficients there are: copies and components share the prior.
#' @return list(coefficients: mean and factors as the core reads them, priors: as `fit$prior` has them), both
#'   NULL without such a direction
#' @noRd
design_basis <- function(spec, rows, q, context) {
  name <- basis_name(spec)
  if (is.null(name) || q == 0L) return(NULL)
  slope <- field_basis(spec)$slope
  default <- if (slope) {
    time <- (rows$node[, 1L] - 1) %% count_times(spec)
    column <- if (is.null(rows$weight)) time else time * rows$weight
    normal(0, 10 * context$spread / slope_scale(matrix(column), context$weights))
  } else {
    normal(context$centre, 10 * context$spread)
  }
  prior <- direction_prior(name, if (slope) "default" else "intercept", default, context)
  if (!slope && context$has_intercept && is.null(context$prior[[name]])) prior$mean <- 0
  position <- prior_sd(prior$sd, name, context$registry, term = spec$label)
  list(
    coefficients = list(mean = rep(prior$mean, q), factors = matrix(position, q, 2L)),
    priors = stats::setNames(list(prior), name)
  )
}

#' The prior of such a direction: its own, or that of slopes or of the intercept, where this is normal. Heavy tails are
#' those of printed coefficients.
#' @noRd
direction_prior <- function(name, key, default, context) {
  prior <- chosen_prior(context$prior, c(name, key), default)
  if (!is_heavy(prior)) return(prior)
  if (is.null(context$prior[[name]])) return(default)
  stop_galvi("prior", sprintf("`prior$%s` must be normal(), not %s: heavy tails are for coefficients.", name,
    format(prior)))
}

# ---- hyperparameters ----

# Registers them, for each level of `by` if each has its own; -> their positions, with the names of the core.
#' @export
field_hyper.field_term <- function(spec, context) {
  register_parameters(spec, context, core_facts$field[[spec$model]])
}

# Those of a field whose variance is one: no scale.
shape_hyper <- function(spec, context) {
  facts <- core_facts$field[[spec$model]]
  register_parameters(spec, context, facts[!facts$relative, ])
}

register_parameters <- function(spec, context, parameters) {
  lapply(split(parameters, factor(parameters$name, parameters$name)), function(parameter) {
    name <- parameter$name
    given <- spec$settings[[name]]
    add <- function(entry, unit, weak = NULL) {
      add_field_parameter(spec, context$registry, parameter, entry, unit, weak)
    }
    if (!parameter$relative) {
      share <- if (is.null(given)) formals(field_definition(spec))[[name]] else given
      return(add(as_share(share, name, parameter$transform), 1))
    }
    # learning that starts far below the response's variance finds the bound flat
    default <- if (context$held) 1 else context$default_variance
    entry <- as_parameter(given, name, default, what = "argument")
    unit <- context$default_variance / unit_variance(spec)
    add(entry, c(unit, entry$value), weak_of_sd(sqrt(unit), "root"))
  })
}

#' Registers a parameter of a field: one number, or one for each level of `by` where these have their own
#' @param entry list(value, learned, prior)
#' @param unit The range that is searched is the parameter's own times the range of these.
#' @param weak The prior that its posterior has where none is typed.
#' @return Positions in the table.
#' @noRd
add_field_parameter <- function(spec, registry, parameter, entry, unit, weak = NULL) {
  owners <- if (spec$by_hyper == "each") sprintf("%s[%s]", spec$label, spec$by_levels) else spec$label
  range <- range(unit) * c(parameter$lower, parameter$upper)
  vapply(owners, registry$add, 1L, parameter$name, entry, range[1L], range[2L], parameter$transform,
    term = spec$label, limited = parameter$limited, weak = weak, USE.NAMES = FALSE)
}

# Calls of the terms that are fields, such as iid(g) and gmrf(g, graph): their arguments and inputs.

#' @return list(type, model: the core's name of the field, inputs, by, variables, shown, settings: what was
#'   given for hyperparameters, arguments: as they were written, and a field per flag)
#' @noRd
#' @export
parse_term.field_term <- function(spec, call, env) {
  type <- spec$type
  definition <- field_definition(spec)
  arguments <- match_term(call, definition)
  if (is_term_call(arguments[["by"]])) return(parse_product(spec, call, arguments, env))
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

# a:b is every combination of the two, for text as well as for factors, in lme4's order: that of the levels of a first.
field_input <- function(input) {
  parts <- interacting(input)
  if (length(parts) == 1L) return(list(inputs = list(input)))
  together <- as.call(c(quote(interaction), parts, list(sep = ":", drop = TRUE, lex.order = TRUE)))
  list(inputs = list(together), shown = deparse_one(input))
}

# The same as it is written.
written_input <- function(input) {
  arguments <- as.list(input)[-1L]
  named <- nzchar(or_else(names(arguments), character(length(arguments))))
  ours <- identical(arguments[named][c("sep", "drop")], list(sep = ":", drop = TRUE))
  made <- head_name(input) == "interaction" && ours
  if (made) Reduce(function(a, b) call(":", a, b), unname(arguments[!named])) else input
}

interacting <- function(expr) {
  if (head_name(expr) == ":") c(interacting(expr[[2L]]), interacting(expr[[3L]])) else list(expr)
}
