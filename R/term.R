# What all terms have in common. A term is described by its spec, a list whose classes say which methods it has:
#   parse_term(spec, call, env)         the call in the formula -> the spec with inputs, variables, settings
#   design_term(spec, frame, context)   the training frame -> list(spec: completed, rows, term: as the core reads it,
#                                       priors)
#   spec_rows(spec, frame)              any frame -> rows
#   keep_of_fit(spec, fitted)           the spec, with what it keeps of a fit when some of its rows are fitted again
#   say_of_term(spec, fit)              says what is to be known about a fit
#   term_posterior(spec, fit)           posterior of its effects (R/view-terms.R)
#   term_panels(spec, fit, settings)    plots of its effects (R/plot-effects.R)
# Fields have more, see R/term-field.R. Fixed effects are a term too, but have no word in formulas.

#' One line per term: the classes of its spec, and what it `can`
#'
#' * open: may new data have levels of its variable that are not in the observations?
#' * steps: is each level a time step, with or without observations?
#' * grouped: are these random effects of groups, with a covariance matrix?
#' * by_group: are its copies for the levels of a factor `by` effects of these groups?
#' * columns: are they columns times coefficients, as fixed effects are?
#' * costly: do its rows take longer to compute than to read, as those of a basis with a function for each of many knots?
#' * units: are these scores of units with loadings of items?
#' * graph: are its levels nodes of a graph? places: are its values places between nodes?
#' * repeats: may `by` be a field, of which it has one at each of its own nodes? repeated: may it be this field
#'   (R/term-product.R)?
#' @noRd
term_types <- list(
  gp = list(class = "gp_term", can = "process"),
  iid = list(class = c("iid_term", "field_term"), can = c("open", "grouped", "repeats", "repeated")),
  gmrf = list(class = c("gmrf_term", "field_term"), can = c("open", "graph", "repeated")),
  rw1 = list(class = c("walk_term", "time_term", "field_term"), can = c("steps", "repeats")),
  rw2 = list(class = c("walk_term", "time_term", "field_term"), can = "steps"),
  ar1 = list(class = c("ar1_term", "time_term", "field_term"), can = c("steps", "repeats", "by_group")),
  ar2 = list(class = c("ar2_term", "time_term", "field_term"), can = c("steps", "repeats", "by_group")),
  rr = list(class = "factors_term", can = c("open", "units")),
  "|" = list(class = c("slopes_term", "field_term"), can = c("open", "grouped")),
  spde = list(class = c("spde_term", "field_term"), can = c("places", "repeated")),
  tve = list(class = c("tve_term", "interval_term", "time_term", "field_term"), can = "intervals"),
  baseline = list(class = c("baseline_term", "interval_term", "time_term", "field_term"), can = "intervals"),
  s = list(class = "smooth_term", can = c("columns", "costly")),
  te = list(class = "smooth_term", can = c("columns", "costly")),
  ti = list(class = "smooth_term", can = c("columns", "costly")),
  t2 = list(class = "smooth_term", can = c("columns", "costly"))
)

# Terms that are written as function calls; families add the baseline of a hazard.
term_words <- setdiff(names(term_types), c("|", "baseline"))

# An empty spec; type: a name in the table.
new_spec <- function(type) {
  entry <- term_types[[type]]
  structure(list(type = type, can = entry$can), class = c(entry$class, "term"))
}

# The spec with these fields too.
complete_spec <- function(spec, fields) structure(c(unclass(spec), fields), class = class(spec))

term_can <- function(spec, what) what %in% spec$can

# Which of these terms can?
which_can <- function(specs, what) vapply(specs, term_can, NA, what)

# Which have effects of groups, which predictions for the population leave out? Of rr() these are the scores of units; of
# a product one of its fields has them.
vary_by_group <- function(specs) {
  vapply(specs, function(spec) {
    copies <- term_can(spec, "by_group") && !is.null(spec$by_levels)
    term_can(spec, "grouped") || term_can(spec, "units") || copies || any(vary_by_group(spec$fields))
  }, NA)
}

# Which belong to eta of a population: not those of groups, but for effects of items; nor residuals, or a baseline along time?
which_of_population <- function(specs) {
  items <- vapply(specs, function(spec) length(item_variables(spec)) > 0L, NA)
  (!vary_by_group(specs) | items) & !which_can(specs, "residual") & !which_can(specs, "intervals")
}

parse_term <- function(spec, call, env) {
  check_no_empty_arguments(call)
  UseMethod("parse_term")
}
design_term <- function(spec, frame, context) UseMethod("design_term")
spec_rows <- function(spec, frame) UseMethod("spec_rows")
keep_of_fit <- function(spec, fitted) UseMethod("keep_of_fit")
say_of_term <- function(spec, fit) UseMethod("say_of_term")

#' @export
keep_of_fit.default <- function(spec, fitted) spec

#' @export
say_of_term.default <- function(spec, fit) invisible()

# s(x, , k = 5)
check_no_empty_arguments <- function(call) {
  arguments <- as.list(call)[-1L]
  empty <- which(vapply(arguments, function(x) identical(x, quote(expr = )), NA))
  if (!length(empty)) return(invisible())
  name <- or_else(names(arguments), "")[empty[1L]]
  stop_galvi("formula", sprintf("`%s`: %s is empty: leave it and its comma out.", deparse_one(call),
    if (name %in% c("", NA)) paste("argument", empty[1L]) else sprintf("`%s`", name)))
}

# What tells a user who calls a term outside of a formula.
stop_term <- function(name, example) {
  stop_galvi("formula", sprintf(
    "%s() is a term: use it in a formula, as in galvi(%s, data = d).", name, example
  ))
}

# The first call in `expr` that is a term of galvi, NULL if there is none.
find_term <- function(expr) {
  if (!is.call(expr)) return(NULL)
  if (head_name(expr) %in% term_words || has_bar_word(expr)) return(expr)
  for (part in as.list(expr)[-1L]) {
    found <- if (!missing(part)) find_term(part)
    if (!is.null(found)) return(found)
  }
  NULL
}

# The functions that terms may call: kernels, values and priors. A call of one of these names always means galvi's
# function; the bare name does so unless the formula's environment has another object of this name.
galvi_words <- function() c(kernel_words(), "per_class", "fixed", "learn", prior_names())

eval_galvi <- function(expr, env) eval(with_own_words(expr, galvi_words(), env), env)

# kernel: how a term's kernel is shown, NULL for not at all.
spec_label <- function(spec, kernel = NULL) {
  if (spec$type %in% bars) return(spec$shown)
  if (term_can(spec, "intervals")) return(spec$label)
  if (!is.null(spec$written)) return(spec$written)
  if (!is.null(spec$fields)) {
    labels <- vapply(spec$fields, spec_label, "")
    return(sprintf("%s, by = %s)", substr(labels[1L], 1L, nchar(labels[1L]) - 1L), labels[2L]))
  }
  shown <- if (is.null(spec$shown)) vapply(spec$inputs, variable_name, "") else spec$shown
  extras <- c(
    if (!is.null(spec$by)) paste("by =", variable_name(spec$by)),
    spec$known$text,
    if (!is.null(spec$share)) paste("share =", spec$share$count),
    if (!is.null(kernel) && !is.null(spec$kernel_call)) paste("kernel =", deparse_one(kernel(spec$kernel_call)))
  )
  sprintf("%s(%s)", spec$type, paste(c(shown, extras), collapse = ", "))
}

# matern32(lengthscale = 2) * cosine(11) -> matern32() * cosine()
without_settings <- function(expr) {
  if (!is.call(expr)) return(expr)
  if (head_name(expr) %in% kernel_words()) return(expr[1L])
  expr[-1L] <- lapply(as.list(expr)[-1L], without_settings)
  expr
}

# The kernels of a gp() as the core reads it: one, or one for each level of a factor `by` or each process that levels share.
term_kernels <- function(term) if (is.null(term[["kernels"]])) list(term[["kernel"]]) else term[["kernels"]]
