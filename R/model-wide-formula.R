# Formulas of the wide form: what the columns of Y have in common, and the same formula in the long form.

# What the columns of Y share, of which a formula has one: factors(d); rescor(), correlated residuals; or brms'
# set_rescor(FALSE), nothing.
#' The right side: fixed effects of each column, terms that all share, offsets; and `kind`: "factors", "rescor" or
#' "independent"
#' @noRd
wide_parts <- function(formula, family) {
  env <- environment(formula)
  pieces <- summands(formula[[3L]])
  said <- lapply(pieces, function(piece) said_rescor(piece$expr, env))
  words <- ifelse(lengths(said) > 0L, "rescor", vapply(pieces, function(piece) head_name(piece$expr), ""))
  own <- which(words %in% c("factors", "rescor"))
  check_one_link(formula, pieces, own, family)
  call <- if (length(own)) pieces[[own]]$expr
  kind <- if (length(own) && words[own] == "factors") "factors" else {
    if (length(own) && identical(said[[own]], FALSE)) "independent" else "rescor"
  }
  arguments <- if (kind == "factors") match_term(call, factors)
  columns <- if (is.null(arguments$columns)) "points" else check_evaluates(eval(arguments$columns, env), "columns")
  if (kind != "factors") columns <- "random"
  rest <- pieces[setdiff(seq_along(pieces), own)]
  for (piece in rest) check_no_ids(piece$expr)
  sorted <- sort_summands(rest, env)
  if (length(factor_specs(sorted$specs))) {
    stop_galvi("formula", sprintf("`%s`: rr() is for the long form; here it is factors().", deparse_one(formula)))
  }
  if (any_head(formula[[2L]]) == "mvbind") check_terms_of_each(sorted$specs, formula)
  fixed <- if (length(sorted$fixed)) Reduce(function(a, b) {
    if (head_name(b) == "-" && length(b) == 2L) call("-", a, b[[2L]]) else call("+", a, b)
  }, sorted$fixed) else 1
  if ("." %in% all.vars(fixed)) {
    stop_galvi("formula", sprintf("`%s`: write the fixed effects of responses() out, without a dot.",
      deparse_one(formula)))
  }
  if (any(wide_names[c("item", "unit")] %in% all.vars(fixed))) {
    stop_galvi("formula", sprintf(
      "`%s`: each response has fixed effects of its own already; `.item` and `.unit` are for other terms.",
      deparse_one(formula)
    ))
  }
  list(
    kind = kind, d = arguments$d, columns = check_choice(columns, c("points", "random"), "columns"),
    loadings = arguments$loadings, fixed = stats::terms(stats::as.formula(call("~", fixed), env = env)),
    offsets = sorted$offsets, specs = sorted$specs
  )
}

#' One of factors() and rescor(); mvbind() of gaussian responses means rescor(), as in brms
#' @noRd
check_one_link <- function(formula, pieces, own, family) {
  shown <- deparse_one(formula)
  if (length(own) > 1L) {
    stop_galvi("formula", sprintf(
      "`%s`: one of factors() and rescor(), and once: both are what the responses of a unit have in common.", shown
    ))
  }
  if (length(own)) {
    call <- pieces[[own]]$expr
    if (pieces[[own]]$sign < 0) {
      stop_galvi("formula", sprintf("`%s`: %s cannot be subtracted.", shown, deparse_one(call)))
    }
    if (head_name(call) == "rescor" && length(call) > 1L) {
      stop_galvi("formula", sprintf(paste(
        "`%s`: rescor() has no arguments; priors are prior = list(\"rescor()\" = list(sd = half_normal(1), cor =",
        "lkj(2)))."
      ), deparse_one(call)))
    }
    return(invisible())
  }
  brms <- any_head(formula[[2L]]) == "mvbind"
  families <- if (is.list(family) && !is.object(family)) family else list(family)
  if (brms && all(vapply(families, function(f) is_pure_noise(as_galvi_family(f)), NA))) return(invisible())
  stop_galvi("formula", if (brms) sprintf(paste(
    "`%s`: add rescor() for correlated residuals, factors(2) for latent factors or set_rescor(FALSE) for responses",
    "that have nothing in common. (Without one of them mvbind() means rescor() for gaussian responses alone.)"
  ), shown) else sprintf(paste(
    "`%s`: responses() needs factors() or rescor(), as in responses(Y) ~ x + factors(2) or responses(Y) ~ x +",
    "rescor()."
  ), shown))
}

# (1 | p | g) of brms ties effects together that have the same p.
check_no_ids <- function(expr) {
  bar <- if (head_name(expr) == "(") expr[[2L]]
  if (!head_name(bar) %in% bars || !head_name(bar[[2L]]) %in% bars) return(invisible())
  effects <- bar[[2L]][[2L]]
  group <- deparse_one(bar[[3L]])
  stop_galvi("formula", sprintf(
    "`%s`: effects that are correlated between the responses are written with `.item`, the response: %s.",
    deparse_one(expr), if (is_intercept(effects)) sprintf("(0 + .item | %s)", group) else {
      sprintf("(0 + .item:(%s) | %s)", deparse_one(effects), group)
    }
  ))
}

#' A family for each column, for responses with parameters of their own
#' @noRd
each_its_own <- function(family, items) {
  if (is.list(family) && !is.object(family)) family else rep(list(as_galvi_family(family)), length(items))
}

#' What parse_formulas() would return of .response ~ 0 + rr(.item | .unit, d, columns = ~ x) + gp(z), or of .response ~
#' 0 + .item + .item:x + (0 + .item | .unit) + gp(z)
#' @noRd
long_parts <- function(parts, formula, frame, items, weighted) {
  env <- environment(formula)
  item <- as.name(wide_names[["item"]])
  labels <- attr(parts$fixed, "term.labels")
  intercept <- attr(parts$fixed, "intercept") == 1L
  fixed <- list(0)
  if (parts$kind == "factors") {
    term <- call("rr", call("|", item, as.name(wide_names[["unit"]])), d = or_else(parts$d, 2))
    term$loadings <- parts$loadings
  }
  if (parts$columns == "points") {
    if (intercept || length(labels)) term$columns <- stats::formula(parts$fixed)
  } else {
    fixed <- c(fixed, if (intercept) list(item), lapply(labels, function(label) call(":", item, str2lang(label))))
  }
  long <- stats::as.formula(call("~", as.name(wide_names[["response"]]), formula[[3L]]), env = env)
  shared <- switch(parts$kind, factors = sort_summands(list(list(expr = term, sign = 1)), env)$specs,
    rescor = list(rescor_spec(items, weighted, env)))
  sorted_formula(long, list(fixed = fixed, offsets = list(), specs = c(shared, parts$specs)), frame, wide_names)
}
