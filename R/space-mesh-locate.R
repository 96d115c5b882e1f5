# Where points are in a mesh.

#' The triangles that contain points: list(node: n x 3, from 1; weight: n x 3, barycentric), NA outside the mesh
#'
#' Triangles are assigned to the cells of a lattice by their bounding boxes. There is a lattice for each size of
#' triangles (within a factor of two), so a point has few candidates of each size, for any mesh.
#' @noRd
locate_in_mesh <- function(mesh, at) {
  corner <- function(k) mesh$nodes[mesh$triangles[, k], , drop = FALSE]
  a <- corner(1L)
  b <- corner(2L)
  c <- corner(3L)
  low <- pmin(a, b, c)
  high <- pmax(a, b, c)
  size <- pmax(high[, 1L] - low[, 1L], high[, 2L] - low[, 2L])
  magnitude <- ceiling(log2(size))
  n <- nrow(at)
  best <- list(triangle = rep(NA_integer_, n), least = rep(-mesh_tolerance, n), weight = matrix(NA_real_, n, 3L))
  for (m in unique(magnitude)) {
    own <- which(magnitude == m)
    pairs <- box_pairs(low[own, , drop = FALSE], high[own, , drop = FALSE], 2^m, at)
    if (!length(pairs$point)) next
    triangle <- own[pairs$box]
    weight <- barycentric(a, b, c, triangle, at[pairs$point, , drop = FALSE])
    least <- pmin(weight[, 1L], weight[, 2L], weight[, 3L])
    # if several contain the point, the one in which it is farthest from the edges is written last
    found <- which(least >= best$least[pairs$point])
    found <- found[order(least[found])]
    point <- pairs$point[found]
    best$triangle[point] <- triangle[found]
    best$least[point] <- least[found]
    best$weight[point, ] <- weight[found, ]
  }
  # exact zeros on edges and nodes
  best$weight[best$weight < mesh_tolerance] <- 0
  list(
    node = mesh$triangles[best$triangle, , drop = FALSE], weight = best$weight / rowSums(best$weight)
  )
}

# How far a point on an edge may be outside the triangle by rounding, in units of its heights.
mesh_tolerance <- 1e-9

barycentric <- function(a, b, c, t, p) {
  u <- b[t, , drop = FALSE] - a[t, , drop = FALSE]
  v <- c[t, , drop = FALSE] - a[t, , drop = FALSE]
  d <- p - a[t, , drop = FALSE]
  area <- u[, 1L] * v[, 2L] - u[, 2L] * v[, 1L]
  second <- (d[, 1L] * v[, 2L] - d[, 2L] * v[, 1L]) / area
  third <- (u[, 1L] * d[, 2L] - u[, 2L] * d[, 1L]) / area
  cbind(1 - second - third, second, third)
}

#' Pairs of boxes and points that share a cell, by their numbers
#' @noRd
box_pairs <- function(low, high, cell, at) {
  origin <- apply(low, 2L, min) - cell
  slack <- 2 * mesh_tolerance * cell
  first <- floor(sweep(low - slack, 2L, origin) / cell)
  last <- floor(sweep(high + slack, 2L, origin) / cell)
  across <- max(last[, 2L]) + 2
  # a box is not larger than a cell, and with the slack it overlaps at most three of them in each direction
  steps <- as.matrix(expand.grid(0:2, 0:2))
  boxes <- lapply(seq_len(nrow(steps)), function(s) {
    place <- sweep(first, 2L, steps[s, ], `+`)
    inside <- which(place[, 1L] <= last[, 1L] & place[, 2L] <= last[, 2L])
    cbind(place[inside, 1L] * across + place[inside, 2L], inside)
  })
  boxes <- do.call(rbind, boxes)
  boxes <- boxes[order(boxes[, 1L]), , drop = FALSE]
  start <- which(!duplicated(boxes[, 1L]))
  count <- diff(c(start, nrow(boxes) + 1L))
  cells <- floor(sweep(at, 2L, origin) / cell)
  known <- cells[, 2L] >= 0 & cells[, 2L] < across
  group <- match(ifelse(known, cells[, 1L] * across + cells[, 2L], NA), boxes[start, 1L], incomparables = NA)
  point <- which(!is.na(group))
  group <- group[point]
  list(
    point = rep(point, count[group]),
    box = as.integer(boxes[rep(start[group], count[group]) + sequence(count[group]) - 1L, 2L])
  )
}
