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
    draw_panels(list(function(look) draw_scheme(mesh, at, points_col, look)), look, FALSE)
    return(invisible(x))
  }
  panel <- intensity_panel(fit, mesh$window, at, points_col)
  draw_panels(list(panel$draw), look, FALSE)
  invisible(panel$data)
}

draw_scheme <- function(mesh, at, points_col, look) {
  ends <- apply(do.call(rbind, mesh$window), 2L, range)
  open_panel(ends[, 1L], ends[, 2L], colnames(at)[1L], colnames(at)[2L], sprintf("%d points", nrow(at)), NULL, look,
    asp = 1, tight = TRUE)
  draw_mesh(mesh, "grey80")
  draw_window(mesh$window, border = "grey20")
  graphics::points(at[, 1L], at[, 2L], pch = 20, col = points_col, cex = point_size(nrow(at)))
}

#' @rdname galvi_mesh
#' @export
plot.galvi_mesh <- function(x, points = NULL, col = "grey60", main = "", xlab = "", ylab = "", ...) {
  refuse_dots(list(...), plot.galvi_mesh, "plot()")
  ends <- apply(x$nodes, 2L, range)
  at <- if (!is.null(points)) as_places(points, "points")
  draw <- function(look) {
    open_panel(ends[, 1L], ends[, 2L], "", "", "", NULL, look, asp = 1, tight = TRUE)
    draw_mesh(x, col)
    if (!is.null(at)) graphics::points(at[, 1L], at[, 2L], pch = 20, cex = 0.6)
  }
  draw_panels(list(draw), check_look(list(main = main, xlab = xlab, ylab = ylab)), FALSE)
  invisible(x)
}

draw_mesh <- function(mesh, col, lwd = 0.5) {
  at <- mesh_segments(mesh)
  graphics::segments(at$x, at$y, at$xend, at$yend, col = col, lwd = lwd)
}

#' The edges of the triangles as segments
#' @noRd
mesh_segments <- function(mesh) {
  ends <- mesh_edges(mesh)
  from <- mesh$nodes[ends[, 1L], , drop = FALSE]
  to <- mesh$nodes[ends[, 2L], , drop = FALSE]
  data.frame(x = from[, 1L], y = from[, 2L], xend = to[, 1L], yend = to[, 2L])
}

draw_window <- function(rings, ...) {
  for (ring in rings) graphics::polygon(ring[, 1L], ring[, 2L], ...)
}
