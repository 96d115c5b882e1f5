# Triangulations of the plane for spde(): galvi's lattice and meshes of other packages.

#' Triangulated meshes for spatial fields
#'
#' `galvi_mesh()` covers a region of the plane with triangles for the Matern field of [spde()]: a lattice of equilateral
#' triangles over the bounding box of the coordinates, surrounded by larger triangles. `as_galvi_mesh()` converts meshes
#' of other packages.
#'
#' @details
#' On a mesh the field is piecewise linear, which is an approximation. At nodes its marginal variance is too large by
#' about 14% if edges are a quarter of the range of the field, by 6% at an eighth and by 2% at a sixteenth; in the
#' middle of triangles it is too small by similar amounts. Within about one range of the boundary of the mesh it is too
#' large, about twofold at the boundary and more in corners. So `max_edge` should be at most a quarter of the expected
#' range, better an eighth, and the mesh should extend by one range beyond the data.
#'
#' Triangles that are farther than `extend` from all coordinates are left out, so a mesh may have bays and holes.
#'
#' @param coords Coordinates that the mesh has to cover, in the units of a projection such as kilometres: a matrix or
#'   data frame of two columns, points of class `sf`, or a point pattern (`ppp`) of package spatstat.
#' @param max_edge The longest edge of triangles near the data, in units of the coordinates. By default 1/40 of the
#'   diagonal of the bounding box of the coordinates.
#' @param extend How far the mesh extends beyond the coordinates, in their units. By default 3/10 of the same diagonal,
#'   which is about the starting value of the range in [spde()].
#' @param x,mesh A mesh: the value of `galvi_mesh()`; a `list(nodes, triangles)` of a matrix of coordinates (a row per
#'   node) and a matrix of three node numbers per triangle; or a mesh of package fmesher (`fm_mesh_2d`) or INLA
#'   (`inla.mesh`), which need not be installed. `print()` and `plot()` take the first.
#' @param points Coordinates to draw on the mesh; NULL, the default, for none.
#' @param col Colour of the edges.
#' @param main,xlab,ylab Titles of the plot and its axes.
#' @param ... Must be empty, except for the layout arguments of [print.default()] in `print()`.
#' @return `galvi_mesh()` and `as_galvi_mesh()`: a list of class `galvi_mesh` with `nodes`, a matrix of coordinates with
#'   columns `x` and `y`, and `triangles`, a matrix of three node numbers per row, anticlockwise. `print()` and `plot()`
#'   return the mesh invisibly.
#' @section Errors:
#' `galvi_error_argument` if coordinates are not two numeric and finite columns or are all the same, if the mesh would
#' have more than two million nodes, or if `mesh` is not a mesh in the plane.
#' @references Lindgren, F., Rue, H. and Lindstrom, J. (2011). An explicit link between Gaussian fields and Gaussian
#'   Markov random fields: the stochastic partial differential equation approach. *Journal of the Royal Statistical
#'   Society: Series B* 73, 423-498.
#' @seealso [spde()] and [quadrature_scheme()], which use meshes.
#' @family terms
#' @examples
#' # earthquakes near Fiji, in units of ten degrees
#' at <- cbind(x = quakes$long, y = quakes$lat) / 10
#' mesh <- galvi_mesh(at, max_edge = 0.1, extend = 0.5)
#' mesh
#' plot(mesh, points = at)
#' @export
galvi_mesh <- function(coords, max_edge = NULL, extend = NULL) {
  at <- as_places(check_evaluates(coords, "coords"), "coords")
  size <- diagonal_of(at)
  if (!(size > 0)) {
    stop_galvi("argument", "`coords` must be more than one place: all of them are the same.")
  }
  h <- if (is.null(max_edge)) size / 40 else check_number(max_edge, "max_edge", 0, open_lower = TRUE)
  extend <- if (is.null(extend)) 0.3 * size else check_number(extend, "extend", 0)
  low <- apply(at, 2L, min)
  high <- apply(at, 2L, max)
  wanted <- prod(pmax(high - low + 2 * min(extend, 20 * h), h) / h)
  if (wanted > most_nodes) {
    stop_galvi("argument", sprintf(paste(
      "`max_edge` = %s would make a mesh of about %s nodes over a region of %s x %s: the most is %s. Give longer",
      "edges."
    ), format(h, digits = 3L), whole_words(signif(wanted, 2L)), format(high[1L] - low[1L], digits = 3L),
      format(high[2L] - low[2L], digits = 3L), whole_words(most_nodes)))
  }
  x <- stretched_levels(low[1L], high[1L], h, extend)
  y <- stretched_levels(low[2L], high[2L], h * sqrt(3) / 2, extend)
  mesh <- lattice_mesh(x, y)
  used_part(mesh, near_places(triangle_centres(mesh), at, extend + max(diff(x), diff(y))))
}

# A larger mesh is probably a mistake in units.
most_nodes <- 2e6

diagonal_of <- function(at) sqrt(sum((apply(at, 2L, max) - apply(at, 2L, min))^2))

#' Steps of about h from `low` to `high`, then growing ones until `extend` beyond both, one at least
#' @noRd
stretched_levels <- function(low, high, h, extend) {
  inside <- max(1L, ceiling((high - low) / h - 1e-9))
  middle <- (low + high) / 2
  half <- max(high - low, h / 2) / 2
  growth <- 1.3
  steps <- h * growth^(0:200)
  steps <- steps[seq_len(1L + sum(cumsum(steps) < extend))]
  # at least h, at most as far as was asked
  beyond <- cumsum(steps) * max(extend, h) / sum(steps)
  # rows alternate by half a step at the edge of the lattice
  beyond <- c(beyond, 2 * max(beyond) - c(0, beyond)[length(beyond)])
  c(rev(middle - half - beyond), seq(middle - half, middle + half, length.out = inside + 1L), middle + half + beyond)
}

#' A lattice of triangles: every second row of nodes is shifted by half a step
#' @noRd
lattice_mesh <- function(x, y) {
  n <- length(x)
  shifted <- approx_half(x)
  rows <- seq_along(y)
  nodes <- do.call(rbind, lapply(rows, function(j) cbind(if (j %% 2L) x else shifted, y[j])))
  start <- c(0L, cumsum(ifelse(rows %% 2L, n, n - 1L)))
  strips <- lapply(rows[-1L] - 1L, function(j) {
    long <- if (j %% 2L) start[j] else start[j + 1L]
    short <- if (j %% 2L) start[j + 1L] else start[j]
    i <- seq_len(n - 1L)
    k <- seq_len(n - 2L)
    rbind(cbind(long + i, long + i + 1L, short + i), cbind(short + k, short + k + 1L, long + k + 1L))
  })
  new_mesh(nodes, do.call(rbind, strips))
}

approx_half <- function(x) (x[-1L] + x[-length(x)]) / 2

triangle_centres <- function(mesh) {
  corner <- function(k) mesh$nodes[mesh$triangles[, k], , drop = FALSE]
  (corner(1L) + corner(2L) + corner(3L)) / 3
}

#' Which of `places` may be within a distance of `at`? Computed on a raster, which is fast: TRUE for all that are, and
#' for some that are a little farther
#' @noRd
near_places <- function(places, at, distance) {
  low <- pmin(apply(at, 2L, min), apply(places, 2L, min))
  size <- max(pmax(apply(at, 2L, max), apply(places, 2L, max)) - low)
  cell <- max(distance / 4, size / 400)
  cell_of <- function(x) sweep(floor(sweep(x, 2L, low) / cell), 2L, c(1, 1), `+`)
  own <- cell_of(places)
  full <- unique(cell_of(at))
  wide <- max(own, full)
  reach <- ceiling(distance / cell)
  hit <- matrix(FALSE, wide + 2L * reach, wide + 2L * reach)
  steps <- -reach:reach
  for (a in steps) for (b in steps) {
    # the least distance of two places that are in cells this far apart
    if (sqrt(max(abs(a) - 1, 0)^2 + max(abs(b) - 1, 0)^2) * cell > distance) next
    hit[cbind(full[, 1L] + a + reach, full[, 2L] + b + reach)] <- TRUE
  }
  hit[own + reach]
}

#' Some triangles of a mesh, and their nodes
#' @noRd
used_part <- function(mesh, keep) {
  triangles <- mesh$triangles[keep, , drop = FALSE]
  used <- sort(unique(as.vector(triangles)))
  new_mesh(mesh$nodes[used, , drop = FALSE], matrix(match(triangles, used), ncol = 3L))
}

# Triangles are turned anticlockwise.
new_mesh <- function(nodes, triangles) {
  turned <- which(signed_areas(nodes, triangles) < 0)
  triangles[turned, 2:3] <- triangles[turned, 3:2]
  dimnames(nodes) <- list(NULL, c("x", "y"))
  dimnames(triangles) <- NULL
  storage.mode(triangles) <- "integer"
  structure(list(nodes = nodes, triangles = triangles), class = "galvi_mesh")
}

signed_areas <- function(nodes, triangles) {
  edge <- function(k) nodes[triangles[, k], , drop = FALSE] - nodes[triangles[, 1L], , drop = FALSE]
  a <- edge(2L)
  b <- edge(3L)
  (a[, 1L] * b[, 2L] - a[, 2L] * b[, 1L]) / 2
}

#' The edges of a mesh, each once: numbers of two nodes
#' @noRd
mesh_edges <- function(mesh) {
  t <- mesh$triangles
  ends <- rbind(t[, 1:2], t[, 2:3], t[, c(1L, 3L)])
  ends <- cbind(pmin(ends[, 1L], ends[, 2L]), pmax(ends[, 1L], ends[, 2L]))
  ends[!duplicated(ends[, 1L] * (nrow(mesh$nodes) + 1) + ends[, 2L]), , drop = FALSE]
}

edge_lengths <- function(mesh, ends = mesh_edges(mesh)) {
  sqrt(rowSums((mesh$nodes[ends[, 1L], , drop = FALSE] - mesh$nodes[ends[, 2L], , drop = FALSE])^2))
}

# ---- meshes of other packages ----

#' @rdname galvi_mesh
#' @export
as_galvi_mesh <- function(mesh) as_mesh(check_evaluates(mesh, "mesh"), "mesh")

# What the user gave as a mesh, checked.
as_mesh <- function(x, arg) {
  if (inherits(x, "galvi_mesh")) return(x)
  parts <- if (is.list(x) && all(c("nodes", "triangles") %in% names(x))) {
    list(nodes = x$nodes, triangles = x$triangles)
  } else if (is.list(x) && !is.null(x$loc) && is.list(x$graph) && !is.null(x$graph$tv)) {
    list(nodes = flat_nodes(x$loc, x$manifold, arg), triangles = x$graph$tv)
  } else {
    stop_galvi("argument", sprintf(paste(
      "`%s` must be a mesh: galvi_mesh(coords), list(nodes = , triangles = ) or a two-dimensional mesh of package",
      "fmesher or INLA, not %s."
    ), arg, describe(x)))
  }
  check_mesh(numeric_matrix(parts$nodes), numeric_matrix(parts$triangles), arg)
}

numeric_matrix <- function(x) {
  if (is.data.frame(x)) x <- as.matrix(x)
  if (is.matrix(x) && is.numeric(x)) unname(x) else NULL
}

# fmesher and INLA have three coordinates, of which the plane needs two.
flat_nodes <- function(loc, manifold, arg) {
  loc <- numeric_matrix(loc)
  sphere <- length(manifold) == 1L && grepl("^S", manifold)
  if (sphere || !is.null(loc) && ncol(loc) == 3L && any(loc[, 3L] != 0)) {
    stop_galvi("argument", sprintf(
      "`%s` is a mesh on a sphere or surface: spde() needs one in the plane. Project the coordinates first.", arg
    ))
  }
  if (is.null(loc) || ncol(loc) < 2L) loc else loc[, 1:2, drop = FALSE]
}

check_mesh <- function(nodes, triangles, arg) {
  refuse <- function(...) stop_galvi("argument", sprintf("`%s` %s.", arg, sprintf(...)))
  if (is.null(nodes) || ncol(nodes) != 2L) refuse("must have `nodes`, a matrix of two columns of numbers")
  if (is.null(triangles) || ncol(triangles) != 3L || !nrow(triangles)) {
    refuse("must have `triangles`, a matrix of three columns, the numbers of their nodes")
  }
  bad <- which(!is.finite(rowSums(nodes)))
  if (length(bad)) refuse("must have finite coordinates; those of node %d are not", bad[1L])
  n <- nrow(nodes)
  inside <- is.finite(triangles) & triangles >= 1 & triangles <= n & triangles == round(triangles)
  bad <- which(!inside, arr.ind = TRUE)
  if (nrow(bad)) {
    first <- bad[1L, , drop = FALSE]
    refuse("must have triangles of nodes 1 to %d; triangle %d has %s", n, first[1L], format(triangles[first]))
  }
  corner <- function(k) nodes[triangles[, k], , drop = FALSE]
  longest <- pmax(rowSums((corner(1L) - corner(2L))^2), rowSums((corner(2L) - corner(3L))^2),
    rowSums((corner(3L) - corner(1L))^2))
  bad <- which(!(abs(signed_areas(nodes, triangles)) > 1e-10 * longest))
  if (length(bad)) {
    refuse("has %s without an area: triangle %d is the first", count_words(length(bad), "triangle"), bad[1L])
  }
  bad <- which(tabulate(triangles, n) == 0L)
  if (length(bad)) {
    refuse("has %s in no triangle: node %d is the first", count_words(length(bad), "node"), bad[1L])
  }
  new_mesh(nodes, triangles)
}

count_words <- function(n, what) sprintf("%s %s%s", whole_words(n), what, if (n == 1L) "" else "s")

# ---- printing and drawing ----

#' @rdname galvi_mesh
#' @export
print.galvi_mesh <- function(x, ...) {
  refuse_print_dots(list(...), print.galvi_mesh)
  lengths <- edge_lengths(x)
  ends <- apply(x$nodes, 2L, range)
  cat(sprintf("Mesh of %s nodes and %s triangles\n", whole_words(nrow(x$nodes)), whole_words(nrow(x$triangles))))
  cat(sprintf(
    "Edges: %s to %s, median %s\n", format(min(lengths), digits = 3L), format(max(lengths), digits = 3L),
    format(stats::median(lengths), digits = 3L)
  ))
  cat(sprintf("Region: %s x %s\n", between_words(ends[, 1L]), between_words(ends[, 2L])))
  invisible(x)
}

between_words <- function(ends) sprintf("[%s, %s]", format(ends[1L], digits = 4L), format(ends[2L], digits = 4L))

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
