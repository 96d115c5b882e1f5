# Point patterns: a log-Gaussian Cox process as rows of counts.

#' Point patterns: log-Gaussian Cox processes
#'
#' `quadrature_scheme()` turns a point pattern into a data frame of counts and exposures. A Poisson regression of these
#' with a spatial field [spde()] is a log-Gaussian Cox process: a point process whose intensity (expected number of
#' points per unit of area) is exp(eta(s)) at the place s.
#'
#' @details
#' The log likelihood of a point pattern is `sum_i eta(s_i) - integral of exp(eta(s)) over the window`. On a mesh the
#' integral is approximated by `sum_k a_k exp(eta(node k))` (Simpson et al., 2016), where the exposure a_k is the
#' integral over the window of the function that is one at node k, zero at all other nodes, and linear in the triangles.
#' The exposures sum to the area of the window. Except for the factorials, this is the log likelihood of Poisson counts
#' with these exposures:
#'
#'     galvi(count ~ offset(log(exposure)) + spde(x, y), data = scheme, family = poisson())
#'
#' * `collapse = TRUE`: each row is a node. eta(s_i) is a weighted mean of eta at the corners of the triangle that
#'   contains s_i, so each point is distributed over three nodes with these weights; counts are sums of weights and not
#'   whole numbers. For an intercept and `spde()` this adds no error. Covariates are interpolated from their values at
#'   the nodes.
#' * `collapse = FALSE`: each point has a row of its own with count 1 and a negligible exposure (in total 1e-10 of the
#'   area of the window), in addition to the nodes with count 0. Use it for covariates that are known at the points or
#'   that have jumps.
#'
#' Covariates are columns that you add to the data frame, for all of its rows. [spde()] uses the mesh of the scheme.
#' Predictions of `type = "response"` with `exposure = 1` are intensities.
#'
#' `logLik()` is that of the Poisson counts, `log Gamma(count + 1)` included. To compare fits on different meshes, add
#' the attribute `constant` of the scheme, which makes it that of the point process.
#'
#' @param points The points: a data frame or matrix of two columns, points of class `sf`, or a point pattern (`ppp`) of
#'   package spatstat, which comes with its window.
#' @param window The window of observation: `list(xlim, ylim)` for a rectangle; the vertices of a polygon, a matrix or
#'   data frame of two columns (for several rings a list of matrices, or rows of NA between them; rings inside of others
#'   are holes); polygons or a bounding box of package sf; or an `owin` of spatstat. NULL, the default, for the window
#'   of `points` or, with `mesh`, the region that the mesh covers.
#' @param mesh A mesh that covers the window (see [as_galvi_mesh()]). By default [galvi_mesh()] of the points and the
#'   window, with `max_edge` and `extend`.
#' @param collapse If TRUE (the default), the points are distributed over the nodes; if FALSE, each has a row. See
#'   Details.
#' @param max_edge,extend For the default mesh, see [galvi_mesh()].
#' @param x A quadrature scheme.
#' @param fit A fit to the scheme, whose intensity is drawn: the posterior mean of exp(eta) per unit of area, with other
#'   variables at typical values. NULL, the default, draws the points and the mesh.
#' @param points_col Colour of the points; NA for none.
#' @param main,xlab,ylab,col Titles of the plot and its axes; colours of the scale of intensities.
#' @param ... Must be empty.
#' @return A data frame of class `galvi_scheme` with the coordinates (named as in `points`, or `x` and `y`), `count`,
#'   `exposure` (in squared units of the coordinates), and the attributes `mesh`, `points` and `constant`. `plot()`
#'   returns what it draws, invisibly: the scheme, or with `fit` a data frame of places with their intensity `fit` and
#'   credible limits `lwr`, `upr`.
#' @section Errors:
#' `galvi_error_argument` if points are not coordinates, the window is missing or does not contain all points, or the
#' mesh does not cover it.
#' @references Simpson, D., Illian, J. B., Lindgren, F., Sorbye, S. H. and Rue, H. (2016). Going off grid:
#'   computationally efficient inference for log-Gaussian Cox processes. *Biometrika* 103, 49-70.
#' @seealso [spde()] for the field, [galvi_mesh()] for meshes.
#' @family terms
#' @examples
#' # earthquakes near Fiji, in units of ten degrees
#' at <- data.frame(x = quakes$long, y = quakes$lat) / 10
#' scheme <- quadrature_scheme(at, list(xlim = c(16.5, 18.9), ylim = c(-3.9, -1)), max_edge = 0.2)
#' scheme[1:3, ]
#' fit <- galvi(count ~ offset(log(exposure)) + spde(x, y), data = scheme, family = poisson())
#' plot(scheme, fit)
#' # intensity: expected points per unit of area
#' predict(fit, data.frame(x = 18, y = -2, exposure = 1), interval = "credible")
#' @export
quadrature_scheme <- function(points, window = NULL, mesh = NULL, collapse = TRUE, max_edge = NULL,
                              extend = NULL) {
  collapse <- check_flag(collapse, "collapse")
  points <- check_evaluates(points, "points")
  at <- as_places(points, "points")
  mesh <- if (!is.null(mesh)) as_mesh(mesh, "mesh")
  for (arg in c("max_edge", "extend")) {
    if (!is.null(mesh) && !is.null(get(arg))) {
      stop_galvi("argument", sprintf("`%s` is for the default mesh: leave it out if `mesh` is given.", arg))
    }
  }
  rings <- scheme_window(points, window, mesh)
  naming_rows(place_labels(points), check_points_inside(at, rings))
  if (is.null(mesh)) mesh <- window_mesh(at, rings, max_edge, extend)
  area <- sum(ring_areas(rings))
  exposure <- hat_integrals(mesh$nodes, mesh$triangles, rings)
  if (abs(sum(exposure) - area) > 1e-6 * area) {
    stop_galvi("argument", sprintf(paste(
      "`mesh` covers %s of the window's area, %s: make it of places all over the window, or leave it out."
    ), format(sum(exposure), digits = 4L), format(area, digits = 4L)))
  }
  found <- locate_in_mesh(mesh, at)
  # a point on the mesh's own edge is in the window, by rounding
  outside <- which(is.na(found$node[, 1L]))
  if (length(outside)) naming_rows(place_labels(points), stop_outside_mesh(at, outside, "`mesh`"))
  count <- if (collapse) node_sums(as.vector(found$node), as.vector(found$weight), nrow(mesh$nodes)) else {
    numeric(nrow(mesh$nodes))
  }
  negligible <- 1e-10 * area / nrow(at)
  exposure[count > 0] <- pmax(exposure[count > 0], 2 * negligible)
  # slivers of triangles
  kept <- which(exposure > negligible)
  places <- rbind(if (!collapse) unname(at), mesh$nodes[kept, , drop = FALSE])
  own <- if (collapse) 0L else nrow(at)
  mesh$window <- rings
  scheme <- data.frame(
    places[, 1L], places[, 2L], count = as_point_count(c(rep(1, own), count[kept])),
    exposure = c(rep(negligible, own), exposure[kept])
  )
  names(scheme)[1:2] <- colnames(at)
  y <- as.numeric(scheme$count)
  structure(scheme,
    mesh = mesh, points = at, constant = sum(lgamma(y + 1) - y * log(scheme$exposure)),
    class = c("galvi_scheme", "data.frame")
  )
}

scheme_window <- function(points, window, mesh) {
  if (!is.null(window)) return(as_window(window))
  if (inherits(points, "ppp")) return(as_window(points$window))
  if (!is.null(mesh)) return(mesh_outline(mesh))
  stop_galvi("argument", paste(
    "`window` is missing, the region in which points were observed: give list(xlim = , ylim = ), a polygon, or a",
    "`mesh` that covers just this region."
  ))
}

check_points_inside <- function(at, rings) {
  outside <- which(!in_window(at, rings))
  if (!length(outside)) return(invisible())
  stop_galvi("argument", sprintf(paste(
    "`points`: %d of %s %s outside the window; the first is (%s, %s) in row %s. Leave them out, or give a larger",
    "`window`."
  ), length(outside), whole_words(nrow(at)), if (length(outside) == 1L) "is" else "are",
    format(at[outside[1L], 1L]), format(at[outside[1L], 2L]), row_label(outside[1L])))
}

#' A mesh of the points and of a dense raster inside the window
#' @noRd
window_mesh <- function(at, rings, max_edge, extend) {
  corners <- do.call(rbind, rings)
  side <- apply(corners, 2L, range)
  raster <- as.matrix(expand.grid(seq(side[1L, 1L], side[2L, 1L], length.out = 50L),
    seq(side[1L, 2L], side[2L, 2L], length.out = 50L)))
  raster <- raster[in_window(raster, rings), , drop = FALSE]
  galvi_mesh(rbind(unname(corners), unname(at), unname(raster)), max_edge, extend)
}

#' The boundary of a mesh: rings of nodes along edges that are one triangle's
#' @noRd
mesh_outline <- function(mesh) {
  t <- mesh$triangles
  ends <- rbind(t[, 1:2], t[, 2:3], t[, c(3L, 1L)])
  key <- pmin(ends[, 1L], ends[, 2L]) * (nrow(mesh$nodes) + 1) + pmax(ends[, 1L], ends[, 2L])
  ends <- ends[!(duplicated(key) | duplicated(key, fromLast = TRUE)), , drop = FALSE]
  rings <- list()
  left <- rep(TRUE, nrow(ends))
  by_start <- split(seq_len(nrow(ends)), ends[, 1L])
  while (any(left)) {
    edge <- which(left)[1L]
    ring <- integer()
    repeat {
      left[edge] <- FALSE
      ring <- c(ring, ends[edge, 1L])
      following <- by_start[[as.character(ends[edge, 2L])]]
      edge <- following[left[following]][1L]
      if (is.na(edge)) break
    }
    rings[[length(rings) + 1L]] <- mesh$nodes[ring, , drop = FALSE]
  }
  unname(lapply(rings, unname))
}

# ---- counts that are sums of weights ----

# The class tells poisson() that they need not be whole numbers.
as_point_count <- function(x) structure(x, class = "galvi_point_count")

#' @export
`[.galvi_point_count` <- function(x, i) as_point_count(unclass(x)[i])

#' @export
as.data.frame.galvi_point_count <- function(x, ...) as.data.frame.vector(x, ...)

#' @export
format.galvi_point_count <- function(x, ...) format(unclass(x), ...)

#' @export
print.galvi_point_count <- function(x, ...) print(as.numeric(x), ...)

