# Processes that the levels of a factor share, gp(t, by = g, share = 2), and their loadings.

# ---- parsing ----

#' The argument `share`
#' @return NULL or list(count; start: a matrix of starting values, levels x count, or NULL; held: is it fixed?).
#' @noRd
gp_share <- function(options, kernel, env, call) {
  if (is.null(options$share)) return(NULL)
  share <- check_share(gp_option(options, "share", env))
  refuse <- function(...) stop_galvi("argument", sprintf(paste0("`%s`: ", ...), deparse_one(call)))
  if (is.null(options[["by"]])) refuse("`share` needs `by`, a factor whose levels share processes.")
  if (!is.null(options$neighbours)) {
    refuse("`share` is not possible with `neighbours`: leave `neighbours` out, or give `inducing` in its place.")
  }
  if (isTRUE(gp_center(options, kernel, env, call))) {
    refuse("functions that share processes are not centred: leave `center` out, and give levels as fixed effects.")
  }
  if (is_finite_kernel(kernel)) {
    refuse("`share` is for processes, and a kernel of linear() and constant() alone makes columns.")
  }
  if (has_held_setting(kernel)) {
    refuse("processes that are shared have variance 1, and their loadings have the scale: leave `variance` out of ",
      "the kernel, and give starting values as `share`, a matrix, levels x processes.")
  }
  share
}

check_share <- function(x) {
  held <- is_fixed(x)
  value <- if (held) x$value else x
  if (is.matrix(value) && is.numeric(value) && length(value) && all(is.finite(value))) {
    return(list(count = ncol(value), start = value, held = held))
  }
  if (!held && is.numeric(x) && length(x) == 1L && is.null(dim(x)) && is.finite(x) && x >= 1 && x == round(x)) {
    return(list(count = as.integer(x)))
  }
  stop_galvi("argument", sprintf(paste(
    "`share` must be a positive whole number of processes, or their loadings: a matrix, levels x processes, of starting",
    "values, or fixed() of one, not %s."
  ), if (is_value(x)) format(x) else describe(x)))
}

# Is a variance typed that stays at 1? Of a sum that is the first part's, of a product every simple part's.
has_held_setting <- function(kernel) {
  if (!length(kernel$parts)) return(!is.null(kernel$settings[[parameters_in_role(kernel, "variance")]]))
  of <- if (is_sum(kernel)) kernel$parts[1L] else kernel$parts
  any(vapply(of, has_held_setting, NA))
}

# ---- design ----

#' @param level Of the rows that count.
#' @noRd
check_sharing <- function(spec, level) {
  levels <- spec$by_levels
  name <- variable_name(spec$by)
  if (is.null(levels)) {
    stop_galvi("argument", sprintf(
      "`%s`: `share` needs a factor `by`, and `%s` is a number: write by = factor(%s).", spec$label, name, name
    ))
  }
  share <- spec$share
  if (share$count > length(levels)) {
    stop_galvi("argument", sprintf(
      "`share` of %s is %d: `%s` has %d level%s, and so many processes are the most.", spec$label, share$count, name,
      length(levels), if (length(levels) == 1L) "" else "s"
    ))
  }
  empty <- setdiff(seq_along(levels), level)
  if (length(empty)) {
    stop_galvi("data", sprintf(
      "%s: `%s` has no rows of %s, so that the loadings are not known: leave the level out, as droplevels() does.",
      spec$label, name, quote_names(levels[empty], "\"", 5L)
    ))
  }
  rows <- rownames(share$start)
  if (is.null(share$start) || nrow(share$start) == length(levels) && (is.null(rows) || setequal(rows, levels))) {
    return(invisible())
  }
  stop_galvi("argument", sprintf(
    "`share` of %s must be a number or a matrix of %d levels x processes%s, not %s.", spec$label, length(levels),
    if (is.null(rows)) "" else ", with the levels' names", describe(share$start)
  ))
}

# Processes as those that levels share.
by_shared_processes <- function(built, context) {
  at <- register_loadings(built$spec, context)
  built$spec$started <- context$registry$table()$value[at]
  built$terms <- lapply(built$terms, function(term) c(replace(term, "type", shared_type(term$type)), list(loadings = at)))
  built
}

#' Enters the loadings into the table of hyperparameters
#'
#' Processes with the same kernel may be rotated. Of all rotations one has zeros above the diagonal, where these loadings
#' are fixed; then the others are determined but for their signs.
#' @return Their positions, levels x processes.
#' @noRd
register_loadings <- function(spec, context) {
  share <- spec$share
  levels <- spec$by_levels
  start <- share$start
  if (!is.null(rownames(start))) start <- start[levels, , drop = FALSE]
  free <- matrix(!isTRUE(share$held), length(levels), share$count)
  if (is.null(start)) {
    start <- spread_loadings(length(levels), share$count, sqrt(context$default_variance))
    if (rotates(spec)) start <- without_rotation(start)
  }
  if (rotates(spec) && !any(start[upper.tri(start)] != 0)) free[upper.tri(free)] <- FALSE
  size <- max(sqrt(context$default_variance), abs(start))
  at <- matrix(0L, length(levels), share$count)
  for (r in seq_len(share$count)) for (j in seq_along(levels)) {
    at[j, r] <- context$registry$add(
      spec$label, sprintf("loading[%s,%d]", levels[j], r),
      list(value = start[j, r], learned = free[j, r], prior = NULL), -100 * size, 100 * size, "identity",
      weak = unclass(normal(0, 10 * size))
    )
  }
  at
}

# Do all processes have the same kernel?
rotates <- function(spec) identical(spec$by_hyper, "shared")

# Of a matrix of loadings those with the same products and zeros above the diagonal.
without_rotation <- function(A) {
  # tol = 0: the levels keep their order
  L <- t(qr.R(qr(t(A), tol = 0)))[, seq_len(ncol(A)), drop = FALSE]
  sign <- ifelse(diag(L) < 0, -1, 1)
  L <- L * rep(sign, each = nrow(L))
  replace(L, upper.tri(L), 0)
}

# Loadings without any symmetry: cosines of different frequencies over the levels, the first constant.
spread_loadings <- function(levels, count, size) {
  at <- (seq_len(levels) - 0.5) * pi / levels
  size / sqrt(count) * outer(at, seq_len(count) - 1L, function(x, k) cos(k * x))
}
