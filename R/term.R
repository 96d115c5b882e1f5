# What all terms have in common. Fixed effects are a term too, but have no name in formulas.

# One line per term. parse(call, env): the call in the formula -> spec; design(spec, frame, context): spec and training
# frame -> completed spec, columns and hyperparameters; newdata(spec, frame): any frame -> rows; panels(fit, spec,
# settings): plots of its effects. open: may new data have levels of its variable that are not in the observations?
# steps: is each level a time step, with or without observations? grouped: are these random effects of groups, which
# predictions for the population leave out? Fields have more entries, see R/term-field.R.
term_types <- once(function() {
  list(
    gp = gp_type(), iid = iid_type(), gmrf = gmrf_type(), rw1 = walk_type(rw1, 1L), rw2 = walk_type(rw2, 2L),
    ar1 = ar1_type(), rr = rr_type(), "|" = slopes_type(), spde = spde_type()
  )
})

# Terms that are written as function calls.
term_words <- function() setdiff(names(term_types()), bars)

# The entry of a term. Fixed effects are a term too, but have no name in formulas.
term_type <- function(spec) if (spec$type == fixed_label) fixed_type() else term_types()[[spec$type]]

# Which terms have a capability? Entries without it do not mention it.
term_can <- function(specs, what) vapply(specs, function(spec) isTRUE(term_type(spec)[[what]]), NA)

# The first call in `expr` that is a term of galvi, NULL if there is none.
find_term <- function(expr) {
  if (!is.call(expr)) return(NULL)
  if (head_name(expr) %in% term_words()) return(expr)
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

spec_label <- function(spec, kernel = FALSE) {
  if (spec$type %in% bars) return(spec$shown)
  shown <- if (is.null(spec$shown)) vapply(spec$inputs, variable_name, "") else spec$shown
  extras <- c(
    if (!is.null(spec$by)) paste("by =", variable_name(spec$by)),
    if (kernel && !is.null(spec$kernel_call)) paste("kernel =", deparse_one(spec$kernel_call))
  )
  sprintf("%s(%s)", spec$type, paste(c(shown, extras), collapse = ", "))
}
