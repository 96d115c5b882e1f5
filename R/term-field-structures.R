# Markov fields as C++ reads them: sparse precision matrices over the nodes, and for intrinsic fields the constraints
# and the basis of the null space. A copy of a field has `size` nodes, and `more` nodes that only new data use.

#' A sparse symmetric matrix by the entries of its lower triangle
#' @noRd
triplets <- function(i, j, x) list(i = as.integer(i), j = as.integer(j), x = as.numeric(x))

diagonal_triplets <- function(x, at = seq_along(x)) triplets(at, at, x)

#' D - A of a graph with the edges (i, j), i > j: sum over edges of weight (z_i - z_j)^2
#' @noRd
laplacian <- function(i, j, weight, n) {
  degree <- node_sums(c(i, j), c(weight, weight), n)
  triplets(c(seq_len(n), i), c(seq_len(n), j), c(degree, -weight))
}

node_sums <- function(node, x, n) {
  sums <- numeric(n)
  by_node <- rowsum(x, node)
  sums[as.integer(rownames(by_node))] <- by_node
  sums
}

#' D'D of second differences z_a - 2 z_b + z_c, one per row of `steps` (a, b, c)
#' @noRd
squared_differences <- function(steps) {
  weight <- c(1, -2, 1)
  pairs <- expand.grid(r = 1:3, c = 1:3)
  i <- unlist(lapply(pairs$r, function(r) steps[, r]))
  j <- unlist(lapply(pairs$c, function(c) steps[, c]))
  x <- rep(weight[pairs$r] * weight[pairs$c], each = nrow(steps))
  lower <- i >= j
  add_up(i[lower], j[lower], x[lower])
}

add_up <- function(i, j, x) {
  key <- as.numeric(j) * max(i) + i
  first <- which(!duplicated(key))
  sums <- rowsum(x, match(key, key[first]))[, 1L]
  triplets(i[first], j[first], sums)
}

# ---- structures: one copy of a field ----

# list(model; size, more; precision: list of triplets; constraints: triplets with as many columns as pins;
# pins; basis: (size + more) x r, directions of the null space with their own prior)

#' @param known The lower triangle of a known precision; NULL for independent groups.
#' @noRd
iid_structure <- function(n, more = 0L, known = NULL) {
  if (is.null(known)) known <- diagonal_triplets(rep(1, n + more))
  list(model = "iid", size = n, more = more, precision = list(known))
}

#' q effects of each of n groups, node (j - 1) q + k for effect k of group j: precision P (x) Omega, a part for each of
#' the pairs a <= b of entries of Omega (src/prior/effect_blocks.h)
#' @param known The lower triangle of P; NULL for independent groups.
#' @noRd
effect_blocks <- function(n, q, pairs, known = NULL) {
  if (is.null(known)) known <- diagonal_triplets(rep(1, n))
  off <- known$i != known$j
  node <- function(group, effect) (group - 1L) * q + effect
  entry <- function(a, b) {
    if (a == b) return(triplets(node(known$i, a), node(known$j, a), known$x))
    triplets(
      c(node(known$i, b), node(known$i[off], a)), c(node(known$j, a), node(known$j[off], b)), c(known$x, known$x[off])
    )
  }
  list(size = n * q, more = 0L, precision = Map(entry, pairs[, 1L], pairs[, 2L]))
}

#' The intrinsic CAR field of a graph. A node without neighbours is N(0, variance).
#'
#' @param scaling One number per component, which multiplies its part of the precision.
#' @param constrain If FALSE, the constants of the components are added as a basis.
#' @return The precision D - A, with ones for the nodes without neighbours, and the constraints.
#' @noRd
neighbour_structure <- function(graph, scaling = 1, constrain = TRUE) {
  n <- graph$n
  scaling <- rep_len(scaling, max(graph$component))
  weight <- graph$weight * scaling[graph$component[graph$i]]
  alone <- is_alone(graph)
  precision <- laplacian(graph$i, graph$j, weight, n)
  precision$x[which(alone)] <- 1
  tied <- which(!alone)
  component <- match(graph$component[tied], unique(graph$component[tied]))
  out <- list(
    model = "besag", size = n, more = 0L, precision = list(precision),
    constraints = triplets(tied, component, rep(1, length(tied))), pins = tied[!duplicated(component)]
  )
  if (!constrain && length(tied)) {
    out$basis <- matrix(0, n, max(component))
    out$basis[cbind(tied, component)] <- 1
  }
  out
}

is_alone <- function(graph) tabulate(graph$component)[graph$component] == 1L

#' Independent effects on nodes 1 .. n and the intrinsic CAR field on nodes n + 1 .. 2 n; each row uses both
#' @noRd
bym2_structure <- function(graph, scaling, constrain = TRUE) {
  n <- graph$n
  out <- neighbour_structure(graph, scaling, constrain)
  spatial <- out$precision[[1L]]
  out$model <- "bym2"
  out$size <- 2L * n
  out$precision <- list(
    diagonal_triplets(rep(1, n)), triplets(spatial$i + n, spatial$j + n, spatial$x)
  )
  out$constraints$i <- out$constraints$i + n
  out$pins <- out$pins + n
  if (!is.null(out$basis)) out$basis <- rbind(matrix(0, n, ncol(out$basis)), out$basis)
  out
}

#' D - dependence A; D is 1 for a node without neighbours
#' @noRd
proper_structure <- function(graph) {
  degree <- node_sums(c(graph$i, graph$j), rep(graph$weight, 2L), graph$n)
  degree[is_alone(graph)] <- 1
  list(
    model = "proper", size = graph$n, more = 0L,
    precision = list(diagonal_triplets(degree), triplets(graph$i, graph$j, -graph$weight))
  )
}

#' The nodes of the times first - before, ..., first, ..., last, ..., last + after of a walk. Nodes of new times are
#' numbered after all others.
#' @noRd
walk_nodes <- function(size, before = 0L, after = 0L) {
  c(rev(seq_len(before)) + size + after, seq_len(size), seq_len(after) + size)
}

#' Neighbouring times, i > j in the order of the nodes
#' @noRd
walk_edges <- function(nodes, cyclic) {
  from <- if (cyclic) nodes else nodes[-length(nodes)]
  to <- if (cyclic) c(nodes[-1L], nodes[1L]) else nodes[-1L]
  list(i = pmax(from, to), j = pmin(from, to))
}

walk_structure <- function(order, size, before = 0L, after = 0L, cyclic = FALSE, scaling = 1) {
  nodes <- walk_nodes(size, before, after)
  n <- length(nodes)
  precision <- if (order == 1L) {
    edges <- walk_edges(nodes, cyclic)
    laplacian(edges$i, edges$j, rep(1, length(edges$i)), n)
  } else {
    middle <- if (cyclic) seq_len(n) else seq_len(n - 2L) + 1L
    around <- function(step) nodes[(middle + step - 1L) %% n + 1L]
    squared_differences(cbind(around(-1L), around(0L), around(1L)))
  }
  precision$x <- scaling * precision$x
  out <- list(
    model = paste0("rw", order), size = size, more = before + after, precision = list(precision),
    constraints = triplets(seq_len(size), rep(1L, size), rep(1, size)), pins = 1L
  )
  if (order == 1L || cyclic) return(out)
  time <- numeric(n)
  time[nodes] <- seq_len(n) - before - (size + 1) / 2
  out$constraints <- triplets(
    rep(seq_len(size), 2L), rep(1:2, each = size), c(rep(1, size), time[seq_len(size)])
  )
  out$pins <- c(1L, size)
  out$basis <- matrix(time)
  out
}

#' The structure of an rw1 that begins at its first node with the variance of a step: proper
#' @noRd
begun_walk <- function(structure) {
  first <- triplets(1L, 1L, 1)
  structure$precision <- lapply(structure$precision, function(t) Map(c, t, first))
  structure[c("constraints", "pins")] <- NULL
  structure
}

#' Precision (I + correlation^2 inner - correlation neighbours) / (variance (1 - correlation^2)); `inner` is the
#' number of neighbours minus one: 1, at the ends 0, and -1 for a single time
#' @noRd
ar1_structure <- function(size, before = 0L, after = 0L) {
  nodes <- walk_nodes(size, before, after)
  n <- length(nodes)
  edges <- walk_edges(nodes, FALSE)
  inner <- node_sums(c(edges$i, edges$j), rep(1, 2L * length(edges$i)), n) - 1
  list(
    model = "ar1", size = size, more = before + after,
    precision = list(
      diagonal_triplets(rep(1, n)), diagonal_triplets(inner),
      triplets(edges$i, edges$j, rep(-1, length(edges$i)))
    )
  )
}

#' Precision of z_t = a z_(t-1) + b z_(t-2) + noise over the variance of the noise, for three times or more:
#'   diagonal: 1, at the second time from either end + a^2, further inside + a^2 + b^2;
#'   neighbours: -a, and + a b unless one of them is at an end; next neighbours: -b
#' (both ends take part in fewer equations; the Gohberg-Semencul formula)
#' @noRd
ar2_structure <- function(size, before = 0L, after = 0L) {
  nodes <- walk_nodes(size, before, after)
  n <- length(nodes)
  lag <- function(k, at = seq_len(n - k)) {
    list(i = pmax(nodes[at + k], nodes[at]), j = pmin(nodes[at + k], nodes[at]), x = rep(1, length(at)))
  }
  neighbours <- lag(1L)
  inside <- lag(1L, seq_len(n - 3L) + 1L)
  next_ones <- lag(2L)
  twice <- numeric(n)
  twice[nodes[3:n]] <- 1
  twice[nodes[n - 1:0]] <- twice[nodes[n - 1:0]] - 1  # three times have none inside
  list(
    model = "ar2", size = size, more = before + after,
    precision = list(
      diagonal_triplets(rep(1, n)), diagonal_triplets(rep(1, n - 2L), nodes[2:(n - 1L)]), diagonal_triplets(twice),
      triplets(neighbours$i, neighbours$j, -neighbours$x), triplets(inside$i, inside$j, inside$x),
      triplets(next_ones$i, next_ones$j, -next_ones$x)
    )
  )
}

# ---- copies: one for each level of a factor `by` ----

#' Where node k of a copy is: the `size` nodes of all copies come first, then the `more` of each
#' @noRd
copied_node <- function(k, copy, size, more, copies) {
  if (copies == 1L) return(k)
  ifelse(k <= size, (copy - 1L) * size + k, copies * size + (copy - 1L) * more + k - size)
}

#' A field as the list that C++ reads
#'
#' @param structure The structure of one copy.
#' @param hyper Positions of its hyperparameters: shared by all copies, or one for each copy, which then has its own
#'   parts.
#' @noRd
field_list <- function(structure, hyper, copies = 1L) {
  size <- structure$size
  more <- structure$more
  nodes <- copies * (size + more)
  each <- seq_len(copies)
  place <- function(k, at = each) unlist(lapply(at, function(copy) copied_node(k, copy, size, more, copies)))
  matrix_list <- function(t, columns, j, at = each) {
    list(
      rows = nodes, columns = columns, i = as.integer(place(t$i, at)), j = as.integer(j),
      x = rep(t$x, length(at))
    )
  }
  own <- copies > 1L && length(hyper[[1L]]) == copies
  parts <- unlist(lapply(if (own) as.list(each) else list(each), function(at) {
    lapply(structure$precision, function(t) matrix_list(t, nodes, place(t$j, at), at))
  }), recursive = FALSE)
  count <- length(structure$pins)
  width <- NCOL(structure$basis)
  list(
    model = structure$model,
    precision = parts,
    constraints = if (count) {
      t <- structure$constraints
      matrix_list(t, copies * count, rep(t$j, copies) + rep((each - 1L) * count, each = length(t$j)))
    },
    pins = if (count) as.integer(place(structure$pins)),
    basis = if (!is.null(structure$basis)) {
      basis <- matrix(0, nodes, copies * width)
      for (copy in each) {
        rows <- copied_node(seq_len(size + more), copy, size, more, copies)
        basis[rows, (copy - 1L) * width + seq_len(width)] <- structure$basis
      }
      basis
    },
    hyper = hyper
  )
}

#' The number of nodes of a field as C++ reads it
#' @noRd
field_nodes <- function(field) {
  if (is.null(field$factors)) return(field$precision[[1L]]$rows)
  field_nodes(field$factors[[1L]]) * field_nodes(field$factors[[2L]])
}

# ---- scale = TRUE ----

#' The factors that make the geometric mean of the marginal variances 1, per component (Riebler et al. 2016)
#' @noRd
unit_scaling <- function(structure, component) {
  structure$basis <- NULL
  log_variance <- log(field_variances(field_list(structure, list(variance = 1L))))
  vapply(split(log_variance, component), function(x) exp(mean(x)), 0, USE.NAMES = FALSE)
}
