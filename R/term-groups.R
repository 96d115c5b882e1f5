# Effects of groups in rows, as functions of the hyperparameters: list(spec, group: n x h, effect: n x h, weight: n x
# h).

#' Variances of the effects of unobserved groups in rows, at each point: n x S
#' @noRd
new_variances <- function(part, hyper) {
  n <- nrow(part$group)
  weight <- ifelse(is.na(part$group), 0, part$weight)
  variance <- matrix(0, n, nrow(hyper))
  root <- group_scale(part$spec, hyper)
  for (a in seq_len(ncol(weight))) for (b in seq_len(ncol(weight))) {
    product <- weight[, a] * weight[, b]
    if (!is.null(part$scale)) product <- product * part$scale[, a]
    used <- which(product != 0 & part$group[, a] == part$group[, b])
    for (e in unique(part$effect[used, a])) for (f in unique(part$effect[used, b])) {
      own <- used[part$effect[used, a] == e & part$effect[used, b] == f]
      variance[own, ] <- variance[own, ] + outer(product[own], root(e, f))
    }
  }
  pmax(variance, 0)
}

#' A term's effects of a group, as sums of its nodes in rows: list(spec, level, group: whose effects depend on each
#' other; effect: which effect, or copy, each node is; weight: n x h; scale: the variance of the group at variance one, NULL without a known matrix)
#' @param own With a known matrix: have the groups of the rows their own variances? Else they stand for any group, and
#'   have the mean of the levels' variances.
#' @noRd
group_part <- function(spec, row, own = FALSE) {
  node <- as.matrix(row$node)
  slopes <- spec$type %in% bars
  size <- if (slopes) length(spec$columns) else count_nodes(spec)
  level <- if (slopes) (node - 1L) %/% size + 1L else (node - 1L) %% size + 1L
  list(
    spec = spec, level = level, group = if (slopes) level else 1L + 0L * node,
    effect = if (slopes) (node - 1L) %% size + 1L else (node - 1L) %/% size + 1L,
    weight = matrix(or_else(row$weight, 1), nrow(node), ncol(node)),
    scale = if (!is.null(spec$known)) {
      if (own) known_variances(spec, level) else 0 * level + mean(spec$known$variance)
    }
  )
}

#' Variances of such a part at each point: n x S
#' @param hyper S x H.
#' @noRd
part_variances <- function(part, hyper) {
  if (part$spec$type %in% bars) return(new_variances(part, hyper))
  at <- rep_len(part$spec$hyper$variance, copies_of(part$spec))[part$effect[, 1L]]
  or_else(part$scale, part$weight * 0 + 1)[, 1L] * part$weight[, 1L]^2 * t(hyper[, at, drop = FALSE])
}

#' Prior covariances of a group's effects: function(e, f) -> S numbers
#' @noRd
group_scale <- function(spec, hyper) {
  if (!spec$type %in% bars) {
    at <- rep_len(spec$hyper$variance, copies_of(spec))
    return(function(e, f) if (e == f) hyper[, at[e]] else 0 * hyper[, 1L])
  }
  # the structure's correlations are those that users see; sds and axes stay as the table has them
  changes <- Filter(function(change) !is.null(change$structure), field_changes(slopes_changes(spec)))
  shown <- reported_values(hyper, changes)
  sds <- effect_sds(spec, hyper)
  correlation <- effect_correlation(spec, shown)
  function(e, f) sds[, e] * sds[, f] * correlation(e, f)
}

# What field_changes() reads of a field.
slopes_changes <- function(spec) {
  list(structure = spec$structure, hyper = spec$hyper, copies = effect_sets(spec),
    effects = length(spec$columns) %/% effect_sets(spec))
}

part_rows <- function(part, at) {
  own <- intersect(c("level", "group", "effect", "weight", "scale"), names(not_null(part)))
  part[own] <- lapply(part[own], function(x) x[at, , drop = FALSE])
  part
}
