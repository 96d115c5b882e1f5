# Windows and places: polygons and coordinates of the classes that users have.

#' The user's coordinates -> N x 2 matrix with column names
#' @noRd
as_places <- function(x, arg) {
  at <- if (inherits(x, c("sf", "sfc"))) {
    places_of_features(x, arg)
  } else if (inherits(x, "ppp")) {
    cbind(x = x$x, y = x$y)
  } else if (is.data.frame(x) || is.matrix(x)) {
    x
  } else {
    stop_galvi("argument", sprintf(paste(
      "`%s` must be coordinates: a matrix or data frame of two columns, points of class sf or a ppp, not %s."
    ), arg, describe(x)))
  }
  numbers <- if (is.data.frame(at)) all(vapply(at, is.numeric, NA)) else is.numeric(at)
  if (ncol(at) != 2L || !numbers) {
    stop_galvi("argument", sprintf("`%s` must have two columns of numbers, not %s.", arg, describe(at)))
  }
  names <- colnames(at)
  at <- matrix(as.numeric(as.matrix(at)), ncol = 2L, dimnames = list(NULL, if (is.null(names)) c("x", "y") else names))
  bad <- which(!is.finite(rowSums(at)))
  if (length(bad)) {
    stop_galvi("argument", sprintf(
      "`%s` must be finite: row %s is (%s, %s)%s.", arg, place_labels(x)(bad[1L]), format(at[bad[1L], 1L]),
      format(at[bad[1L], 2L]), if (length(bad) > 1L) sprintf(", and %d more rows", length(bad) - 1L) else ""
    ))
  }
  if (!nrow(at)) stop_galvi("argument", sprintf("`%s` has no rows: it needs the coordinates of one place in each.", arg))
  at
}

# What messages call the rows of such coordinates.
place_labels <- function(x) {
  if (is.data.frame(x)) return(frame_labels(x))
  names <- if (is.matrix(x)) rownames(x)
  if (is.null(names)) as.character else function(i) dQuote(names[i], FALSE)
}

places_of_features <- function(x, arg) {
  need_sf(arg)
  shapes <- sf::st_geometry(x)
  kinds <- unique(as.character(sf::st_geometry_type(shapes)))
  if (!identical(kinds, "POINT")) {
    stop_galvi("argument", sprintf("`%s` must be points, not %s.", arg, quote_names(tolower(kinds))))
  }
  inform_longlat(shapes, arg)
  at <- sf::st_coordinates(shapes)[, 1:2, drop = FALSE]
  dimnames(at) <- list(NULL, c("x", "y"))
  at
}

inform_longlat <- function(shapes, arg) {
  if (!isTRUE(sf::st_is_longlat(shapes))) return(invisible())
  inform_galvi("coordinates", sprintf(paste(
    "`%s` is in degrees, which are treated as coordinates in a plane: project it first with sf::st_transform()."
  ), arg))
}

need_sf <- function(arg) {
  if (requireNamespace("sf", quietly = TRUE)) return(invisible())
  stop_galvi("argument", sprintf(
    "`%s` of class sf needs the package sf: install.packages(\"sf\"), or give a matrix of coordinates.", arg
  ))
}

#' The user's window -> its rings, a list of matrices of two columns; the even-odd rule tells what is inside
#' @noRd
as_window <- function(x, arg = "window") {
  rings <- if (inherits(x, "owin")) {
    rings_of_owin(x, arg)
  } else if (inherits(x, c("sf", "sfc"))) {
    need_sf(arg)
    inform_longlat(polygon_shapes(x, arg), arg)
    lapply(sf::st_union(polygon_shapes(x, arg)), outline)
  } else if (inherits(x, "bbox")) {
    list(rectangle(x[c("xmin", "xmax")], x[c("ymin", "ymax")], arg))
  } else if (is.list(x) && all(c("xlim", "ylim") %in% names(x))) {
    list(rectangle(x$xlim, x$ylim, arg))
  } else if (is_outline(x)) {
    list(as.matrix(x))
  } else if (is.list(x) && length(x) && all(vapply(x, is_outline, NA))) {
    lapply(x, as.matrix)
  } else {
    stop_galvi("argument", sprintf(paste(
      "`%s` must be a region: list(xlim = , ylim = ), a matrix or data frame of the vertices of a polygon (two",
      "columns, or a list of these), polygons of class sf, a bounding box of sf or an owin, not %s."
    ), arg, describe(x)))
  }
  rings <- unlist(lapply(rings, split_rings), recursive = FALSE)
  rings <- lapply(rings, check_ring, arg)
  if (!(sum(ring_areas(rings)) > 0)) stop_galvi("argument", sprintf("`%s` has no area: give three corners or more that are not on a line.", arg))
  rings
}

rectangle <- function(xlim, ylim, arg) {
  x <- check_sides(xlim, "xlim", arg)
  y <- check_sides(ylim, "ylim", arg)
  cbind(x[c(1L, 2L, 2L, 1L)], y[c(1L, 1L, 2L, 2L)])
}

check_sides <- function(x, side, arg) {
  if (is.numeric(x) && length(x) == 2L && all(is.finite(x)) && x[1L] < x[2L]) return(as.numeric(x))
  stop_galvi("argument", sprintf(
    "`%s`: `%s` must be two numbers, the smaller one first, not %s.", arg, side,
    if (is.numeric(x) && length(x) == 2L) paste(format(x), collapse = ", ") else describe(x)
  ))
}

# spatstat's polygons are lists of lists of coordinates.
rings_of_owin <- function(x, arg) {
  if (x$type == "mask") {
    if (!requireNamespace("spatstat.geom", quietly = TRUE)) {
      stop_galvi("argument", sprintf("`%s` is an owin of pixels: install the package spatstat.geom.", arg))
    }
    x <- spatstat.geom::as.polygonal(x)
  }
  if (x$type == "rectangle") return(list(rectangle(x$xrange, x$yrange, arg)))
  lapply(x$bdry, function(ring) cbind(ring$x, ring$y))
}

# Rows of NA separate rings.
split_rings <- function(x) {
  x <- unname(x[, 1:2, drop = FALSE])
  gap <- is.na(x[, 1L]) & is.na(x[, 2L])
  unname(lapply(split(which(!gap), cumsum(gap)[!gap]), function(rows) x[rows, , drop = FALSE]))
}

check_ring <- function(ring, arg) {
  storage.mode(ring) <- "double"
  if (nrow(ring) > 1L && all(ring[1L, ] == ring[nrow(ring), ])) ring <- ring[-nrow(ring), , drop = FALSE]
  if (nrow(ring) >= 3L && all(is.finite(ring))) return(ring)
  stop_galvi("argument", sprintf("`%s`: a polygon needs three vertices or more, all finite.", arg))
}

#' Areas of rings; those of holes are negative
#' @noRd
ring_areas <- function(rings) {
  vapply(seq_along(rings), function(k) {
    ring <- rings[[k]]
    at <- sweep(ring, 2L, ring[1L, ])
    then <- at[c(2:nrow(at), 1L), , drop = FALSE]
    start <- matrix((ring[1L, ] + ring[2L, ]) / 2, 1L)
    within <- vapply(rings[-k], function(other) inside_rings(start, list(other), 0), NA)
    abs(sum(at[, 1L] * then[, 2L] - at[, 2L] * then[, 1L])) / 2 * (-1)^sum(within)
  }, 0)
}

#' Which places are in a window or on its boundary?
#' @noRd
in_window <- function(at, rings) inside_rings(at, rings, 1e-9 * diagonal_of(do.call(rbind, rings)))

is_outline <- function(x) {
  (is.matrix(x) && is.numeric(x) || is.data.frame(x) && all(vapply(x, is.numeric, NA))) && ncol(x) >= 2L &&
    nrow(x) >= 3L
}
