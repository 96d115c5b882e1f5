# The term rr(): factors of an item by unit array, with loadings that are learned.

#' Reduced-rank factor models: loadings and scores
#'
#' `rr(item | unit, d = 2)` in a formula of [galvi()] adds a latent factor model of `d` dimensions: the effect of item j
#' in unit i is the product of the item's loadings and the unit's scores. It is the reduced-rank term of glmmTMB, and
#' gives factor analysis, probabilistic PCA, ordination (generalised linear latent variable models) and item response
#' models.
#'
#' @details
#' The linear predictor of item j in unit i is eta_ij = ... + w_j' z_i, with scores z_i ~ N(0, I) of dimension d. The
#' scores are integrated out; the loadings w_j are estimated by maximising the marginal likelihood or its bound. With a
#' gaussian response the model is probabilistic principal components (Tipping and Bishop, 1999). With counts, binary or
#' ordinal responses it is a generalised linear latent variable model (Hui et al., 2017). Unlike in reduced-rank
#' regression, the scores are random and not linear in covariates.
#'
#' **Data** are in long form, a row per item and unit, in any order. Combinations may be missing or repeated. For a
#' matrix with a column per item, `responses(Y) ~ x + factors(2)` writes the same model, see [responses()].
#'
#' **Item effects** can be random variables or point estimates. Other terms of the formula, as in `y ~ 0 + item +
#' rr(item | unit)`, have priors and are integrated over. With `columns = ~ x` each item has its own intercept and
#' slopes, which are point estimates; units are then independent of each other, which makes fits with millions of rows
#' feasible: `rating ~ 0 + rr(film | user, d = 10, columns = ~ 1)`.
#'
#' **Rotation.** The likelihood does not change if the factors are rotated. They are reported along their principal
#' axes: the columns of the loadings are orthogonal and in decreasing order of length, and the largest entry of each is
#' positive. Compare fits by singular values or by the covariance that the loadings imply, not entry by entry.
#'
#' **Number of factors.** The bound increases with d; [`screeplot(fit)`][galvi-factors] shows it together with a
#' penalised version.
#'
#' **Separation.** Loadings have no prior by default. In a binary response, the loadings of an item that is predicted
#' perfectly by the others grow without limit, with a warning; `loadings = normal(0, 3)` penalises them.
#'
#' **Computation.** The loadings are updated in alternating steps with parameter expansion (Liu, Rubin and Wu, 1998) and
#' Anderson acceleration, starting from a singular value decomposition and, where that is cheap, from two random starts.
#' If these disagree, the fit says so.
#'
#' @param bar `item | unit`: columns, or expressions in columns, with the item and the unit of each row.
#' @param d The number of factors: a whole number, 2 by default, smaller than the number of items and at most the number
#'   of units.
#' @param columns NULL, or a one-sided formula such as `~ x` for effects of each item that are point estimates.
#' @param loadings NULL (the default) for no prior; `normal(0, sd)` for a prior of all loadings; or a matrix, items x d,
#'   of starting values, which [fixed()] fixes. Its rows are matched by name if it has row names.
#' @return No value. The term is only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if the first argument is not `item | unit` or the family has several linear predictors;
#' `galvi_error_argument` if `d` is too large or another argument is not as described; `galvi_error_data` if there is
#' only one item; `galvi_error_newdata` if `newdata` has an item that was not observed.
#'
#' `galvi_warning_data`: an item has too few rows to determine its loadings, or loadings grow without limit.
#' @references
#' Tipping, M. E. and Bishop, C. M. (1999). Probabilistic principal component analysis. *Journal of the Royal
#' Statistical Society: Series B* 61, 611-622.
#'
#' Khan, M. E., Aravkin, A. Y., Friedlander, M. P. and Seeger, M. (2013). Fast dual variational inference for
#' non-conjugate latent Gaussian models. *International Conference on Machine Learning*, PMLR 28(3), 951-959.
#'
#' Hui, F. K. C., Warton, D. I., Ormerod, J. T., Haapaniemi, V. and Taskinen, S. (2017). Variational approximations for
#' generalized linear latent variable models. *Journal of Computational and Graphical Statistics* 26, 35-43.
#'
#' Liu, C., Rubin, D. B. and Wu, Y. N. (1998). Parameter expansion to accelerate EM: the PX-EM algorithm. *Biometrika*
#' 85, 755-770.
#' @seealso [galvi-factors] for `loadings()`, `scores()`, `biplot()` and `screeplot()`; `vignette("ordination")`.
#' @family terms
#' @examples
#' long <- reshape(cbind(USArrests, state = rownames(USArrests)), direction = "long",
#'   varying = names(USArrests), v.names = "rate", timevar = "crime", times = names(USArrests),
#'   idvar = "state")
#' long$rate <- ave(log(long$rate), long$crime, FUN = scale)
#' fit <- galvi(rate ~ 0 + rr(crime | state, d = 1, columns = ~ 1), data = long)
#' loadings(fit)
#' head(scores(fit))
#' @export
rr <- function(bar, d = 2, columns = NULL, loadings = NULL) stop_term("rr", "y ~ 0 + item + rr(item | unit, d = 2)")

#' The terms of factors among a list of them: there is at most one
#' @noRd
factor_specs <- function(specs) specs[which_can(specs, "units")]

# What effects of items, from `columns`, are read from, which predictions include without the scores of units too.
item_variables <- function(spec) if (term_can(spec, "units") && !is.null(spec$columns)) spec$variables[-2L]

# ---- parsing ----

#' @export
parse_term.factors_term <- function(spec, call, env) {
  arguments <- match_term(call, rr)
  bar <- arguments$bar
  if (head_name(bar) != "|" || length(bar) != 3L) {
    stop_galvi("formula", sprintf(
      "`%s`: rr() takes the item and the unit of a row as item | unit, as in rr(species | site, d = 2).",
      deparse_one(call)
    ))
  }
  sides <- lapply(as.list(bar)[-1L], field_input)
  inputs <- unlist(lapply(sides, `[[`, "inputs"), recursive = FALSE)
  if (identical(inputs[[1L]], inputs[[2L]])) {
    stop_galvi("formula", sprintf("`%s`: the item and the unit are the same variable.", deparse_one(call)))
  }
  columns <- check_evaluates(eval(arguments$columns, env), "columns")
  if (!is.null(columns) && (!inherits(columns, "formula") || length(columns) != 2L)) {
    stop_galvi("formula", sprintf(
      "`columns` of rr() must be a formula without a response, such as ~ 1 + x, not %s.", describe(columns)
    ))
  }
  if (!is.null(columns)) {
    if ("." %in% all.vars(columns) || !is.null(find_term(columns))) {
      stop_galvi("formula", sprintf(
        "`columns` of rr() takes fixed effects, written out: not %s.", deparse_one(columns)
      ))
    }
    columns <- stats::terms(columns)
  }
  d <- as.integer(check_whole(check_evaluates(eval(if (is.null(arguments$d)) 2 else arguments$d, env), "d"), "d"))
  spec <- complete_spec(spec, list(
    inputs = inputs, shown = deparse_one(bar), d = d, columns = columns,
    settings = check_loadings(check_evaluates(eval_galvi(arguments$loadings, env), "loadings", words = galvi_words()))
  ))
  spec$variables <- c(inputs, if (!is.null(columns)) as.list(attr(columns, "variables"))[-1L])
  spec
}

# -> list(prior, start: a matrix, held)
check_loadings <- function(x) {
  if (is.null(x)) return(list())
  if (is_normal(x) && !is_value(x$sd) && is.finite(x$sd) && x$mean == 0) return(list(prior = unclass(x)))
  held <- is_fixed(x)
  value <- if (held) x$value else x
  if (is.matrix(value) && is.numeric(value) && all(is.finite(value))) return(list(start = value, held = held))
  stop_galvi("argument", sprintf(
    "`loadings` must be normal(0, sd) with a number as sd, a matrix, items x d, or fixed() of one, not %s.",
    if (is_value(x)) format(x) else describe(x)
  ))
}

# ---- design ----

#' @export
keep_of_fit.factors_term <- function(spec, fitted) keep_contrasts(spec, fitted)

#' @export
design_term.factors_term <- function(spec, frame, context) {
  names <- vapply(spec$inputs, variable_name, "")
  learn <- function(j) learn_groups(list(), check_field_variable(frame[[names[j]]], spec, names[j]), names[j])$levels
  spec$items <- learn(1L)
  spec$units <- learn(2L)
  check_rank(spec)
  if (length(context$latents)) {
    stop_galvi("formula", sprintf("`%s` is for families with one linear predictor.", spec$label))
  }
  if (!is.null(spec$columns)) {
    check_fixed_variables(spec$columns, frame)
    built <- fixed_matrix(spec$columns, frame, spec$contrasts)
    check_finite_columns(built$W)
    spec$effects <- colnames(built$W)
    spec$contrasts <- built$contrasts
  }
  rows <- spec_rows(spec, frame)
  check_seen(spec, rows$item)
  start <- starting_factors(spec, context$start)
  p <- length(spec$items)
  add <- function(parameter, value, held, prior = NULL) {
    if (!length(value)) return(matrix(integer(), p, 0L))
    context$registry$add(spec$label, parameter, list(value = value, learned = !held, prior = prior), -Inf, Inf,
      "identity")
  }
  factor <- list(
    loadings = add("loadings", start$loadings, isTRUE(spec$settings$held), spec$settings$prior),
    effects = add("effects", start$effects, FALSE)
  )
  spec$started <- start$known
  spec$settings <- NULL
  list(spec = spec, rows = rows, term = list(type = "factors", label = spec$label,
    factor = factor, units = length(spec$units)))
}

check_rank <- function(spec) {
  p <- length(spec$items)
  n <- length(spec$units)
  if (p < 2L) {
    stop_galvi("data", sprintf(
      "%s: there is only one item (%s); a factor model needs at least two.", spec$label, dQuote(spec$items, FALSE)
    ))
  }
  most <- min(p - 1L, n)
  if (spec$d <= most) return(invisible())
  stop_galvi("argument", sprintf(
    "`d` of %s is %d: with %d items and %d units it can be %d at most. Is %s the item and %s the unit?", spec$label,
    spec$d, p, n, most, variable_name(spec$inputs[[1L]]), variable_name(spec$inputs[[2L]])
  ))
}

# Items with too few rows for their parameters.
check_seen <- function(spec, item) {
  count <- tabulate(item, length(spec$items))
  scarce <- which(count <= 1L | count < length(spec$effects))
  if (!length(scarce)) return(invisible())
  warn_galvi("data", sprintf(
    "%s: %s been seen in %s only, which does not determine %s loadings. Leave %s out, or give loadings = normal(0, 1).",
    spec$label, if (length(scarce) == 1L) paste("the item", dQuote(spec$items[scarce], FALSE), "has") else {
      sprintf("%d items (%s) have", length(scarce), quote_names(spec$items[scarce], "\"", 5L))
    }, if (all(count[scarce] == 1L)) "one row" else "a few rows", if (length(scarce) == 1L) "its" else "their",
    if (length(scarce) == 1L) "it" else "them"
  ))
}

#' Loadings (items x d) and effects (items x q): those given, those of the fit in `start`, or zeros that
#' start_unknown_factors() replaces. known: FALSE for these zeros
#' @noRd
starting_factors <- function(spec, start) {
  p <- length(spec$items)
  q <- length(spec$effects)
  given <- spec$settings$start
  if (!is.null(given)) {
    if (!identical(dim(given), c(p, spec$d)) || !is.null(rownames(given)) && !setequal(rownames(given), spec$items)) {
      stop_galvi("argument", sprintf(
        "`loadings` of %s must be a matrix of %d items x %d%s, not %s.", spec$label, p, spec$d,
        if (is.null(rownames(given))) "" else " with the items' names", describe(given)
      ))
    }
    if (!is.null(rownames(given))) given <- given[spec$items, , drop = FALSE]
    return(list(loadings = unname(given), effects = matrix(0, p, q), known = q == 0L))
  }
  earlier <- if (inherits(start, "galvi")) start$factors
  same <- !is.null(earlier) && identical(dim(earlier$loadings), c(p, spec$d)) &&
    identical(rownames(earlier$loadings), spec$items) && identical(colnames(earlier$effects), spec$effects)
  if (!same) return(list(loadings = matrix(0, p, spec$d), effects = matrix(0, p, q), known = FALSE))
  list(loadings = unname(earlier$loadings), effects = unname(earlier$effects), known = TRUE)
}

# list(node: the unit, item, W, extension)
#' @export
spec_rows.factors_term <- function(spec, frame) {
  names <- vapply(spec$inputs, variable_name, "")
  item <- level_text(check_field_variable(frame[[names[1L]]], spec, names[1L]))
  unknown <- setdiff(item, spec$items)
  if (length(unknown)) {
    stop_galvi("newdata", sprintf(
      "`%s` has the item %s in `newdata`, whose loadings are not known; the fit's are %s.", names[1L],
      quote_names(unknown[1L], "\""), quote_names(spec$items, "\"", 8L)
    ))
  }
  unit <- find_groups(list(levels = spec$units), check_field_variable(frame[[names[2L]]], spec, names[2L]))
  out <- list(node = matrix(as.integer(unit$at)), item = matrix(match(item, spec$items)))
  if (!is.null(spec$columns)) {
    W <- fixed_matrix(spec$columns, frame, spec$contrasts)$W
    if (!identical(colnames(W), spec$effects)) {
      stop_galvi("newdata", sprintf(
        "The variables of `newdata` must be what they were in the fit: they give the columns %s, not %s.",
        quote_names(colnames(W)), quote_names(spec$effects)
      ))
    }
    check_finite_columns(W)
    out$W <- strip_matrix(W)
  }
  if (unit$more) out$extension <- list(units = length(spec$units) + unit$more)
  out
}

