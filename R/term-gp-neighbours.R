# A gp() given its nearest neighbours: its nodes, their order and neighbours, and the nodes nearest to rows.

# NULL or a whole number.
check_neighbours <- function(x) {
  if (is.null(x)) return(NULL)
  if (is.numeric(x) && length(x) == 1L && is.finite(x) && x >= 1 && x == round(x)) return(as.integer(min(x, 1e6)))
  stop_galvi("argument", sprintf(paste(
    "`neighbours` must be a positive whole number such as 20, the places that each place is given, or NULL for the full",
    "process, not %s."
  ), describe(x)))
}

# What `neighbours` does not go with.
check_neighbour_options <- function(spec, call) {
  if (is.null(spec$neighbours)) return(spec)
  refuse <- function(...) stop_galvi("argument", paste0(sprintf("`%s`: ", deparse_one(call)), sprintf(...)))
  if (is_finite_kernel(spec$kernel)) {
    refuse("a kernel of linear() and constant() alone makes a few columns: leave `neighbours` out.")
  }
  if (has_origin(spec$kernel)) {
    refuse(paste(
      "integrated_wiener() is known at its origin, so that places have no neighbours there. It needs none: time and",
      "memory grow as the number of rows. Leave `neighbours` out."
    ))
  }
  if (spec$approximation == "fitc") {
    refuse("`neighbours` is a process of its own, whose evidence is bounded: leave `approximation` out.")
  }
  if (isTRUE(spec$center)) {
    refuse(paste(
      "a process given its nearest neighbours is not centred over all rows: leave `center` out. Its level competes",
      "with the intercept, as with center = FALSE."
    ))
  }
  if (is.numeric(spec$inducing) && is.null(dim(spec$inducing)) && spec$inducing < spec$neighbours) {
    refuse(
      "`inducing = %s` are fewer nodes than `neighbours = %d`: give more nodes, or leave `neighbours` out.",
      format(spec$inducing), spec$neighbours
    )
  }
  # the nodes of a field are no hyperparameters
  spec$nodes <- spec$inducing
  spec$inducing <- NULL
  spec$center <- FALSE
  spec
}

# A process given its nearest neighbours.
by_neighbours <- function(built, context) {
  spec <- built$spec
  scale <- distance_scale(
    built$kernels[[1L]][[1L]], ncol(built$rows$inputs), context$registry$table()$value
  )
  spec$nodes <- neighbour_nodes(spec, built$rows, scale, context$threads)
  built$rows$node <- nodes_of_rows(spec, built$rows, fitted = TRUE)
  built$terms <- lapply(built$terms, utils::modifyList, list(type = "neighbours", neighbours = spec$nodes))
  built$spec <- spec
  built
}

#' The nodes of a process given its neighbours, of each level of a factor `by` apart
#'
#' They are in maxmin order, in which each node's neighbours are near and far alike; distances are in units of the
#' kernel's lengthscales where these differ between inputs.
#' @param rows inputs and group of the fitted rows. @param scale Of each input.
#' @return list(places: L x p, group: L levels or NULL, neighbours: L x m, 0 for none; between: are rows at other
#'   places?; scale, threads)
#' @noRd
neighbour_nodes <- function(spec, rows, scale, threads) {
  levels <- max(1L, length(spec$by_levels))
  group <- if (is.null(rows$group)) rep(1L, nrow(rows$inputs)) else rows$group
  own <- lapply(seq_len(levels), function(level) {
    places <- distinct_rows(rows$inputs[group == level, , drop = FALSE])$x
    if (!is.null(dim(spec$nodes))) places <- distinct_rows(given_points(spec, spec$nodes))$x
    order <- maxmin_order(in_lengths(places, scale))
    if (is.numeric(spec$nodes) && is.null(dim(spec$nodes))) order <- utils::head(order, spec$nodes)
    places[order, , drop = FALSE]
  })
  out <- list(places = do.call(rbind, own), between = !is.null(spec$nodes), scale = scale, threads = threads)
  if (!is.null(rows$group)) out$group <- rep(seq_len(levels), vapply(own, nrow, 1L))
  with_neighbours(out, spec$neighbours)
}

# The nodes of each level.
nodes_by_level <- function(nodes) {
  all <- seq_len(nrow(nodes$places))
  if (is.null(nodes$group)) list(all) else split(all, factor(nodes$group, seq_len(max(nodes$group))))
}

#' Nodes in their order with up to `most` neighbours each, of the same level
#' @noRd
with_neighbours <- function(nodes, most) {
  levels <- nodes_by_level(nodes)
  most <- max(1L, min(most, max(lengths(levels)) - 1L))
  nodes$neighbours <- matrix(0L, nrow(nodes$places), most)
  for (own in levels) {
    if (!length(own)) next
    found <- nearest_before(in_lengths(nodes$places[own, , drop = FALSE], nodes$scale), most, nodes$threads)
    nodes$neighbours[own, ] <- ifelse(found > 0L, own[pmax(found, 1L)], 0L)
  }
  nodes
}

in_lengths <- function(x, scale) x / rep(scale, each = nrow(x))

#' The nodes that each row is given: its own, if it is at one and all fitted rows are, else the nearest
#' @return N x 1 or N x m numbers of nodes, 0 for none.
#' @noRd
nodes_of_rows <- function(spec, rows, fitted = FALSE) {
  nodes <- spec$nodes
  most <- if (fitted && !nodes$between) 1L else min(spec$neighbours, nrow(nodes$places))
  out <- matrix(0L, nrow(rows$inputs), most)
  groups <- nodes_by_level(nodes)
  for (level in seq_along(groups)) {
    at <- if (is.null(rows$group)) seq_len(nrow(rows$inputs)) else which(rows$group == level)
    own <- groups[[level]]
    if (!length(at) || !length(own)) next
    found <- nearest_places(
      in_lengths(nodes$places[own, , drop = FALSE], nodes$scale),
      in_lengths(rows$inputs[at, , drop = FALSE], nodes$scale), most, nodes$threads
    )
    out[at, ] <- ifelse(found > 0L, own[pmax(found, 1L)], 0L)
  }
  out
}

#' The length of each input that distances are measured by: the kernel's lengthscale where inputs have their own
#' @param kernel From kernel_spec(). @param value Of the hyperparameters.
#' @noRd
distance_scale <- function(kernel, inputs, value) {
  scale <- rep(1, inputs)
  for (leaf in kernel_leaves(kernel)) {
    at <- leaf$hyper[parameters_in_role(leaf, "lengthscale")]
    if (length(at) == 1L && length(unique(at[[1L]])) > 1L) scale[leaf$columns] <- value[at[[1L]]]
  }
  scale
}

# ---- other lengthscales ----

# Do these units order distances about alike?
alike_scales <- function(a, b) {
  ratio <- a / b
  max(ratio) <= 1.5 * min(ratio)
}

# The nodes of a term in other units.
renew_nodes <- function(spec, scale) {
  nodes <- spec$nodes
  nodes$scale <- scale
  for (own in nodes_by_level(nodes)) {
    places <- nodes$places[own, , drop = FALSE]
    nodes$places[own, ] <- places[maxmin_order(in_lengths(places, scale)), , drop = FALSE]
  }
  with_neighbours(nodes, spec$neighbours)
}

# ---- part of the nodes ----

# Learning starts on clusters of nodes, which tell of near and far alike: so many, of so many nodes each, or of a
# twentieth of all, because a step on all of them takes much longer than twenty on these.
part_clusters <- 30L
part_cluster_nodes <- 70L
part_share <- 1 / 20

#' Clusters of nodes that are spread over all
#' @return Numbers of nodes, ascending.
#' @noRd
clustered_nodes <- function(nodes) {
  levels <- Filter(length, nodes_by_level(nodes))
  each <- ceiling(part_clusters / length(levels))
  own_nodes <- max(part_cluster_nodes, round(part_share * nrow(nodes$places) / part_clusters))
  sort(unique(unlist(lapply(levels, function(own) {
    places <- in_lengths(nodes$places[own, , drop = FALSE], nodes$scale)
    found <- nearest_places(places, utils::head(places, each), own_nodes, nodes$threads)
    own[found[found > 0L]]
  }))))
}

# These nodes alone, in their order.
only_nodes <- function(nodes, kept) {
  most <- ncol(nodes$neighbours)
  nodes$places <- nodes$places[kept, , drop = FALSE]
  nodes$group <- nodes$group[kept]
  with_neighbours(nodes, most)
}
