# The mean of a gp() beside an intercept.

# TRUE or FALSE as typed; NULL lets the formula decide (centres()).
gp_center <- function(options, kernel, env, call) {
  if (is.null(options$center)) return(NULL)
  center <- check_flag(gp_option(options, "center", env), "center")
  if (!center) return(FALSE)
  if (is_finite_kernel(kernel)) {
    stop_galvi("argument", sprintf(paste(
      "`%s`: a kernel of linear() and constant() alone makes columns, which are centred by their inputs, as in",
      "gp(scale(x, scale = FALSE), kernel = linear()): leave `center` out."
    ), deparse_one(call)))
  }
  if (has_constant_part(kernel)) {
    stop_galvi("argument", sprintf(
      "`%s`: a function of mean zero has no constant() part: leave it out of the kernel, or write center = FALSE.",
      deparse_one(call)
    ))
  }
  TRUE
}

# Is a function of mean zero over its rows meant? Beside an intercept, or what stands for one, which is then the average
# level; not with a number `by`, which scales a function, nor where the kernel has a part for the level.
centres <- function(spec, rows, context) {
  if (isTRUE(spec$center) && !is.null(rows$by)) {
    stop_galvi("argument", sprintf(
      "`%s`: `by` is a number, which multiplies the function: it is not centred. Leave `center` out.", spec$label
    ))
  }
  if (!is.null(spec$center)) return(spec$center)
  if (!is.null(rows$by) || has_constant_part(spec$kernel)) return(FALSE)
  if (!context$fixed_space$has(all_ones)) return(FALSE)
  columns <- centre_groups(rows, length(spec$by_levels))
  if (!is.null(rows$group) && !context$fixed_space$has(columns)) inform_lost_levels(spec)
  TRUE
}

# As in mgcv, the fixed effects have the levels of the functions.
inform_lost_levels <- function(spec) {
  by <- variable_name(spec$by)
  inform_galvi("center", sprintf(paste(
    "`%s`: beside an intercept the function of each level of `%s` has mean zero, so that levels differ in shape alone.",
    "Write %s + %s, or center = FALSE in gp()."
  ), spec$label, by, by, spec$label))
}

#' What the fixed effects of a predictor span
#'
#' Of many rows it looks at some.
#' @return list(has(columns): are the columns that this function gives for some rows linear combinations of the fixed
#'   effects (and of thresholds)?; level(columns): the coefficients of the core's columns that give them, a column for
#'   each, or NULL).
#' @noRd
fixed_space <- function(fixed, n, context) {
  W <- fixed$rows$W
  basis <- NULL
  at <- spread_rows(n, max(2000L, 5L * NCOL(W)))
  rest <- function(columns) {
    own <- cbind(if (!context$intercept) rep(1, length(at)), if (!is.null(W)) W[at, , drop = FALSE])
    wanted <- columns(at)
    if (is.null(own)) return(list(coefficients = NULL, worst = max(abs(wanted))))
    scale <- unit_if_zero(sqrt(colMeans(own^2)))
    if (is.null(basis)) basis <<- qr(own / rep(scale, each = nrow(own)))
    list(coefficients = qr.coef(basis, wanted) / scale, worst = max(abs(qr.resid(basis, wanted))))
  }
  exact <- 1e-7  # what rounding leaves of a column of ones and zeros
  list(
    has = function(columns) rest(columns)$worst < exact,
    level = function(columns) {
      found <- if (context$intercept) rest(columns)
      if (is.null(found$coefficients) || found$worst >= exact) return(NULL)
      replace(found$coefficients, is.na(found$coefficients), 0)
    }
  )
}

# Is there a kernel that is zero with its slope at its origin?
has_origin <- function(kernel) {
  if (length(kernel$parts)) return(any(vapply(kernel$parts, has_origin, NA)))
  facts_of_kernel(kernel)$origin
}

#' Does such a process lack its slope? The fixed effects have a level but not the input, nor the kernel a linear() part.
#' @noRd
needs_slope <- function(spec, rows, context) {
  if (!has_origin(spec$kernel) || has_input_features(spec$kernel) || ncol(rows$inputs) != 1L) return(FALSE)
  if (!is.null(rows$by) || !context$fixed_space$has(all_ones)) return(FALSE)
  x <- rows$inputs[, 1L]
  x <- (x - mean(x)) / unit_if_zero(stats::sd(x))
  groups <- centre_groups(rows, length(spec$by_levels))
  !context$fixed_space$has(function(at) x[at] * groups(at))
}

inform_no_slope <- function(spec) {
  x <- variable_name(spec$inputs[[1L]])
  inform_galvi("slope", sprintf(paste(
    "%s: the function of integrated_wiener() begins without a slope. Its level and slope are fixed effects: write %s + %s."
  ), spec$label, if (is.null(spec$by)) x else paste(variable_name(spec$by), "*", x), spec_label(spec, kernel = identity)))
}

# In which of the rows `at` is each group's function? One column without groups.
centre_groups <- function(rows, groups) {
  function(at) if (is.null(rows$group)) all_ones(at) else 1 * outer(rows$group[at], seq_len(groups), "==")
}

all_ones <- function(at) matrix(1, length(at), 1L)

# Is constant() one of the summands?
has_constant_part <- function(kernel) {
  if (length(kernel$parts)) return(is_sum(kernel) && any(vapply(kernel$parts, has_constant_part, NA)))
  facts_of_kernel(kernel)$features == "constant"
}

#' The rows over which the function has mean zero, within each level of a factor `by`
#'
#' Of inducing points, which need each of them once more, distinct rows with the numbers of their copies; of very many
#' rows the sample that a row source has.
#' @param counts How many rows each row stands for; rows of weight zero do not count.
#' @return list(inputs, group, weight; level: the core's coefficients of fixed effects that are one in each group's rows,
#'   q x groups, or NULL; level_in: which term these belong to).
#' @noRd
centre_rows <- function(spec, rows, counts, context) {
  at <- context$even_rows
  if (length(at) < nrow(rows$inputs)) {
    at <- sort(union(at, match(seq_along(spec$by_levels), rows$group, nomatch = 0L)))
    at <- at[at > 0L]
  }
  # a part stands for all
  share <- if (is.null(context$share)) sum(counts[at]) / sum(counts) else context$share
  some <- list(inputs = rows$inputs[at, , drop = FALSE], group = rows$group[at])
  out <- distinct_centre(spec, some, counts[at] / share)
  out$level <- context$fixed_space$level(centre_groups(rows, length(spec$by_levels)))
  if (!is.null(out$level)) out$level_in <- 1L
  out
}

distinct_centre <- function(spec, rows, counts) {
  keys <- cbind(rows$group, rows$inputs)
  if (!is.null(spec$inducing)) {
    distinct <- distinct_rows(keys, counts)
    keys <- distinct$x
    counts <- distinct$weights
  }
  own <- ncol(keys) - ncol(rows$inputs) + seq_len(ncol(rows$inputs))
  c(
    list(inputs = unname(keys[, own, drop = FALSE])), if (!is.null(rows$group)) list(group = as.integer(keys[, 1L])),
    list(weight = counts)
  )
}
