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
    used <- which(product != 0)
    for (e in unique(part$effect[used, a])) for (f in unique(part$effect[used, b])) {
      own <- used[part$effect[used, a] == e & part$effect[used, b] == f]
      variance[own, ] <- variance[own, ] + outer(product[own], root(e, f))
    }
  }
  pmax(variance, 0)
}

#' A term's effects of a group, as sums of its nodes in rows: list(spec, group, effect: which effect, or copy, each
#' node is; weight: n x h)
#' @noRd
group_part <- function(spec, row) {
  node <- as.matrix(row$node)
  slopes <- spec$type %in% bars
  size <- if (slopes) length(spec$columns) else count_nodes(spec)
  list(
    spec = spec, group = 1L + 0L * node, effect = if (slopes) (node - 1L) %% size + 1L else (node - 1L) %/% size + 1L,
    weight = matrix(or_else(row$weight, 1), nrow(node), ncol(node))
  )
}

#' Variances of such a part at each point: n x S
#' @param hyper S x H.
#' @noRd
part_variances <- function(part, hyper) {
  if (part$spec$type %in% bars) return(new_variances(part, hyper))
  at <- rep_len(part$spec$hyper$variance, copies_of(part$spec))[part$effect[, 1L]]
  part$weight[, 1L]^2 * t(hyper[, at, drop = FALSE])
}

#' Prior covariances of a group's effects: function(e, f) -> S numbers
#' @noRd
group_scale <- function(spec, hyper) {
  if (!spec$type %in% bars) return(function(e, f) hyper[, spec$hyper$variance[1L]])
  function(e, f) {
    sds <- hyper[, spec$hyper$sd[e]] * hyper[, spec$hyper$sd[f]]
    if (e == f) return(sds)
    if (!length(spec$hyper$cor)) return(0 * sds)
    pairs <- correlation_pairs(length(spec$columns))
    sds * hyper[, spec$hyper$cor[which(pairs[, "column"] == min(e, f) & pairs[, "row"] == max(e, f))]]
  }
}

part_rows <- function(part, at) {
  own <- c("group", "effect", "weight")
  part[own] <- lapply(part[own], function(x) x[at, , drop = FALSE])
  part
}
