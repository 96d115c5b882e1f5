# The effects of groups as a field: which node is which effect, how the nodes depend on each other, and which of them a
# row sees.

# ---- the field ----

# Node (j - 1) q + k is effect k of group j.
#' @export
field_structure.slopes_term <- function(spec, more = 0L) {
  q <- length(spec$columns)
  sets <- effect_sets(spec)
  structure <- effect_structures[[spec$structure]]
  full <- spec$structure != "ar1" || !is.null(spec$noise)
  out <- effect_blocks(length(spec$levels) + more, q, effect_parts(q, sets, spec$structure, full), spec$known$precision)
  out$model <- structure$model
  if (spec$structure == "diag") {
    if (!is.null(spec$noise)) {
      out$model <- "independent"
    } else if (spec$hom) {
      out$precision <- list(one_part(out$precision))
    }
  }
  out
}

#' The entries of the precision of the effects of a group that have a part each: pairs a <= b, the sets of effects one
#' after the other
#' @noRd
effect_parts <- function(q, sets, structure, full) {
  size <- q %/% sets
  a <- sequence(seq_len(size))
  b <- rep(seq_len(size), seq_len(size))
  kept <- if (structure == "diag") a == b else if (full) a > 0L else b - a <= 1L
  first <- rep((seq_len(sets) - 1L) * size, each = sum(kept))
  cbind(first + a[kept], first + b[kept])
}

one_part <- function(parts) do.call(Map, c(list(c), parts))

#' The field of the effects as the core reads it
#' @noRd
slopes_field <- function(spec, more = 0L) {
  sets <- effect_sets(spec)
  c(field_list(field_structure(spec, more), spec$hyper), list(
    structure = spec$structure, effects = length(spec$columns) %/% sets, copies = sets, noise = spec$noise
  ))
}

# ---- rows ----

# All nodes of a row's group, with the effects' columns as weights.
#' @export
spec_rows.slopes_term <- function(spec, frame) {
  built <- fixed_matrix(spec$effects, frame, spec$contrasts)
  if (!identical(colnames(built$W), spec$own_columns)) {
    stop_galvi("newdata", sprintf(
      "The variables of %s must be what they were in the fit: they give the columns %s, not %s.", spec$label,
      quote_names(colnames(built$W)), quote_names(spec$own_columns)
    ))
  }
  check_finite_columns(built$W)
  slope_rows(spec, frame, built$W)
}

slope_rows <- function(spec, frame, W) {
  found <- find_row_groups(spec, frame)
  W <- on_axes(unname(strip_matrix(W)), spec)
  if (!is.null(spec$split)) W <- split_columns(spec, W, frame[[variable_name(spec$split)]])
  out <- list(
    node = do.call(cbind, lapply(seq_len(ncol(found$at)), function(m) group_nodes(spec, found$at[, m]))),
    weight = do.call(cbind, lapply(seq_len(ncol(found$at)), function(m) W * found$weight[, m]))
  )
  if (found$more) out$extension <- list(field = slopes_field(spec, found$more))
  out
}

# The columns of each level of a factor, zero in the rows of the others.
split_columns <- function(spec, W, x) {
  x <- as.character(x)
  unknown <- which(!x %in% spec$split_levels)
  if (length(unknown)) {
    stop_galvi("data", sprintf("`%s` has \"%s\" (row %s), which is not a level of `by` in %s.",
      variable_name(spec$split), x[unknown[1L]], row_label(unknown[1L]), spec$label))
  }
  do.call(cbind, lapply(spec$split_levels, function(level) W * (x == level)))
}

# Of no group: nodes 0.
group_nodes <- function(spec, group) {
  q <- length(spec$columns)
  node <- rep((group - 1L) * q, q) + rep(seq_len(q), each = length(group))
  matrix(as.integer(ifelse(rep(group, q) > 0L, node, 0L)), length(group), q)
}

#' @export
count_nodes.slopes_term <- function(spec) length(spec$levels)
