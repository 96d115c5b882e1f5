# A formula -> its parts: response, fixed effects, terms, offsets. Nothing is evaluated in `data`; its column names are
# used only to expand dots.

# ---- the tables ----

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

# ---- small helpers on expressions ----

# The name that model.frame() gives a variable.
variable_name <- function(expr) {
  paste(deparse(expr, width.cutoff = 500L, backtick = !is.symbol(expr) && is.language(expr)), collapse = " ")
}

# The name of a call's function, "gp" for gp() and galvi::gp(); "" if it has none.
head_name <- function(expr) {
  if (!is.call(expr)) return("")
  head <- expr[[1L]]
  if (is.call(head) && length(head) == 3L && is.symbol(head[[1L]]) &&
    as.character(head[[1L]]) %in% c("::", ":::") && as.character(head[[2L]]) == "galvi") {
    head <- head[[3L]]
  }
  if (is.symbol(head)) as.character(head) else ""
}

# The variables that are needed to evaluate `expr`. all.vars() would also give the w of d$w and the arguments of
# functions in it. The operands of a long sum are collected in a loop, because their calls are nested to the left.
looked_up <- function(expr) {
  out <- character()
  while (is.call(expr)) {
    head <- head_name(expr)
    parts <- as.list(expr)[-1L]
    if (head %in% c("function", "::", ":::", "~") || !length(parts)) return(unique(out))
    if (head %in% c("$", "@")) parts <- parts[1L]
    for (part in parts[-1L]) if (!missing(part)) out <- c(out, looked_up(part))
    expr <- parts[[1L]]
  }
  unique(c(if (is.symbol(expr) && nzchar(as.character(expr))) as.character(expr), out))
}

is_dot <- function(expr) identical(expr, quote(.))

formula_operators <- c("+", "-", "*", "/", ":", "^", "%in%", "(", "|", "||")

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

# ---- looking up galvi's functions ----

# The functions that terms may call: kernels, values and priors. A call of one of these names always means galvi's
# function; the bare name does so unless the formula's environment has another object of this name.
galvi_words <- function() c(kernel_words(), "per_class", "fixed", "learn", prior_names())

eval_galvi <- function(expr, env) eval(with_own_words(expr, galvi_words(), env), env)

# ---- parsing ----

# elsewhere: variables in weights, offset and subset, which a dot does not include.
parse_formula <- function(formula, data, elsewhere = character()) {
  env <- environment(formula)
  if (length(formula) != 3L) {
    stop_galvi("formula", sprintf(
      "`formula` must have a response, as in y ~ %s.", deparse_one(formula[[2L]])
    ))
  }
  check_foreign_formula(formula)
  parts <- sort_summands(summands(formula[[3L]]), env)
  named <- list(
    response = all.vars(formula[[2L]]), elsewhere = c(elsewhere, unlist(lapply(parts$offsets, all.vars))),
    terms = unlist(lapply(parts$specs, spec_names)),
    fixed = setdiff(unlist(lapply(parts$fixed, all.vars)), ".")
  )
  specs <- lapply(parts$specs, expand_dot, dot_columns(data, unlist(named), parts$specs))
  list(
    formula = formula, env = env, columns = names(data), response = formula[[2L]],
    fixed = fixed_terms(parts$fixed, data, named, env),
    specs = label_specs(check_groups_once(specs)), offsets = parts$offsets
  )
}

# Each summand goes to one of fixed, offsets, specs.
sort_summands <- function(pieces, env) {
  types <- term_types()
  out <- list(fixed = list(), offsets = list(), specs = list())
  for (piece in pieces) {
    expr <- piece$expr
    head <- head_name(expr)
    bar <- head == "(" && head_name(expr[[2L]]) %in% bars
    if (bar || head %in% term_words()) {
      if (piece$sign < 0) {
        stop_galvi("formula", sprintf(
          "`- %s`: terms cannot be subtracted; leave the term out.", deparse_one(expr)
        ))
      }
      for (call in if (bar) random_terms(expr[[2L]]) else list(expr)) {
        name <- if (head_name(call) %in% bars) "|" else head_name(call)
        spec <- types[[name]]$parse(call, env)
        spec$bar <- bar
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

# The number of arguments without a default.
count_required <- function(f) sum(vapply(formals(f), identical, NA, quote(expr = )))

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

# gp(x1, x2); with `by`, gp(x1, by = g). If two terms have the same label their kernels are added, then numbers.
label_specs <- function(specs) {
  if (!length(specs)) return(specs)
  labels <- vapply(specs, spec_label, "")
  for (l in unique(labels[duplicated(labels)])) {
    at <- which(labels == l)
    labels[at] <- vapply(specs[at], spec_label, "", kernel = TRUE)
  }
  copy <- stats::ave(seq_along(labels), labels, FUN = seq_along)
  labels <- paste0(labels, ifelse(copy > 1L, paste0(" #", copy), ""))
  Map(function(spec, label) {
    spec$label <- label
    spec
  }, specs, labels)
}

spec_label <- function(spec, kernel = FALSE) {
  if (spec$type %in% bars) return(spec$shown)
  shown <- if (is.null(spec$shown)) vapply(spec$inputs, variable_name, "") else spec$shown
  extras <- c(
    if (!is.null(spec$by)) paste("by =", variable_name(spec$by)),
    if (kernel && !is.null(spec$kernel_call)) paste("kernel =", deparse_one(spec$kernel_call))
  )
  sprintf("%s(%s)", spec$type, paste(c(shown, extras), collapse = ", "))
}
