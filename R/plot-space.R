# Plots of meshes, quadrature schemes and windows.

#' @rdname quadrature_scheme
#' @export
plot.galvi_scheme <- function(x, fit = NULL, points_col = "black", main = NULL, xlab = NULL, ylab = NULL, col = NULL,
                              ...) {
  check_no_dots(list(...), setdiff(names(formals(plot.galvi_scheme)), "..."), "plot()")
  look <- check_look(list(main = main, xlab = xlab, ylab = ylab, col = col))
  mesh <- attr(x, "mesh")
  if (is.null(mesh)) {
    stop_galvi("argument", "`x` has lost its mesh: plot the scheme as quadrature_scheme() returned it.")
  }
  at <- attr(x, "points")
  if (is.null(fit)) {
    draw_panels(list(scheme_panel(mesh, at, points_col)), look)
    return(invisible(x))
  }
  panel <- intensity_panel(fit, mesh$window, at, points_col)
  draw_panels(list(panel), look)
  invisible(panel$data)
}

scheme_panel <- function(mesh, at, points_col) {
  ends <- apply(do.call(rbind, mesh$window), 2L, range)
  points <- data.frame(x = at[, 1L], y = at[, 2L])
  new_panel(sprintf("%d points", nrow(at)), NULL, list(
    mesh_mark(mesh, "grey80"), window_mark(mesh$window),
    mark("points", points, points_col, pch = 20, cex = point_size(nrow(at)), shrinks = TRUE)
  ), colnames(at)[1:2], NULL, ends[, 1L], ends[, 2L], asp = 1, tight = TRUE)
}

#' @rdname galvi_mesh
#' @export
plot.galvi_mesh <- function(x, points = NULL, col = "grey60", main = "", xlab = "", ylab = "", ...) {
  refuse_dots(list(...), plot.galvi_mesh, "plot()")
  ends <- apply(x$nodes, 2L, range)
  at <- if (!is.null(points)) as_places(points, "points")
  panel <- new_panel("", NULL, list(
    mesh_mark(x, col),
    if (!is.null(at)) mark("points", data.frame(x = at[, 1L], y = at[, 2L]), "black", pch = 20, cex = 0.6)
  ), xlim = ends[, 1L], ylim = ends[, 2L], asp = 1, tight = TRUE)
  draw_panels(list(panel), check_look(list(main = main, xlab = xlab, ylab = ylab)))
  invisible(x)
}

mesh_mark <- function(mesh, colour, lwd = 0.5) mark("segments", mesh_segments(mesh), colour, lwd = lwd)

#' The edges of the triangles as segments
#' @noRd
mesh_segments <- function(mesh) {
  ends <- mesh_edges(mesh)
  from <- mesh$nodes[ends[, 1L], , drop = FALSE]
  to <- mesh$nodes[ends[, 2L], , drop = FALSE]
  data.frame(x = from[, 1L], y = from[, 2L], xend = to[, 1L], yend = to[, 2L])
}

window_mark <- function(rings, lwd = 1) {
  outlines <- ring_data(lapply(rings, function(ring) ring[, 1:2]))
  mark("polygons", outlines, NA, border = "grey20", lwd = lwd)
}
