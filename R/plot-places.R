# Fields over the plane: an image of the mean, one of the standard deviation with the mesh, and intensities.

#' Two panels for each latent and each level of a factor `by`: the field's mean and its sd; on the response scale the
#' first is the mean response
#' @noRd
spde_panels <- function(fit, spec, settings) {
  copies <- if (is.null(spec$by_levels)) list(NULL) else as.list(spec$by_levels)
  panels <- lapply(copies, function(copy) {
    picture <- place_picture(fit, spec, settings, copy)
    lapply(seq_len(n_latents(fit)), function(k) field_panels(fit, spec, settings, picture, k))
  })
  unlist(unlist(panels, recursive = FALSE), recursive = FALSE)
}

#' The same at some steps of a product with one scale for all of them
#' @param steps From shown_steps().
#' @noRd
step_place_panels <- function(fit, spec, settings, steps) {
  copies <- if (is.null(spec$by_levels)) list(NULL) else as.list(spec$by_levels)
  panels <- lapply(copies, function(copy) {
    pictures <- lapply(steps, function(step) place_picture(fit, spec, settings, copy, step))
    lapply(seq_len(n_latents(fit)), function(k) {
      values <- lapply(pictures, function(picture) place_values(fit, spec, settings, picture, k))
      seen <- function(what) unlist(Map(function(picture, one) one[[what]][picture$shown], pictures, values))
      whole <- list(fit = seen("fit"), sd = seen("sd"))
      unlist(Map(function(picture, one) field_panels(fit, spec, settings, picture, k, one, whole), pictures, values),
        recursive = FALSE)
    })
  })
  unlist(unlist(panels, recursive = FALSE), recursive = FALSE)
}

#' A raster of places: list(sides: two lists of coordinates; frame; data: values at the places; shown: which of them
#' are on the mesh and in the window or near the data; points: coordinates of the observations; note)
#' @noRd
place_picture <- function(fit, spec, settings, copy = NULL, step = NULL) {
  names <- vapply(spec$inputs, variable_name, "")
  x <- lapply(names, function(name) as.numeric(fit$data[[name]]))
  rings <- if (!is.null(settings$map)) lapply(settings$map$rings, split_rings) else list(spec$mesh$window)
  rings <- unlist(rings, recursive = FALSE)
  limits <- list(settings$xlim, settings$ylim)
  sides <- lapply(1:2, function(j) {
    all <- if (is.null(rings)) x[[j]] else do.call(rbind, rings)[, j]
    ends <- if (!is.null(limits[[j]])) limits[[j]] else range(all)
    if (diff(ends) == 0) ends <- ends + c(-1, 1) * spec$edge
    seq(min(ends), max(ends), length.out = settings$n)
  })
  values <- expand.grid(sides, KEEP.OUT.ATTRS = FALSE)
  at <- as.matrix(values)
  shown <- !is.na(locate_in_mesh(spec$mesh, at)$node[, 1L])
  if (is.null(rings)) {
    # among the data, or near them
    corners <- do.call(cbind, x)
    corners <- corners[grDevices::chull(corners), , drop = FALSE]
    among <- if (nrow(corners) > 2L) inside_rings(at, list(corners), 0) else FALSE
    shown <- shown & (among | as.vector(data_distance(sides, x)) <= settings$too_far)
  } else {
    shown <- shown & in_window(at, rings)
  }
  names(values) <- names
  frame <- typical_frame(fit, nrow(values))
  for (j in 1:2) frame[[names[j]]] <- values[[j]]
  if (!is.null(spec$by)) {
    by <- variable_name(spec$by)
    frame[[by]] <- if (is.null(copy)) rep(1, nrow(frame)) else factor(rep(copy, nrow(frame)), spec$by_levels)
  }
  if (!is.null(step)) frame[[step$name]] <- rep(step$value, nrow(frame))
  list(
    names = names, points = if (is.null(step)) x else lapply(x, `[`, step$rows), sides = sides, values = values,
    frame = frame, shown = shown, rings = rings,
    label = paste0(
      spec$label, if (!is.null(step)) sprintf(", %s = %s", step$name, step$label),
      if (!is.null(copy)) sprintf(", %s = %s", variable_name(spec$by), copy)
    ),
    note = if (is.null(rings) && !all(shown)) "blank: far from the data"
  )
}

#' What the panels of a field show at a picture's places: fit, lwr, upr; and sd, of the field
#' @noRd
place_values <- function(fit, spec, settings, picture, k) {
  field <- terms_at_frame(fit, picture$frame)
  t <- match(spec$label, fit$design$labels)
  sd <- sqrt(field$variance[, t, k])
  z <- stats::qnorm(tails(settings$level))
  mean <- if (settings$scale == "response") {
    response_at(fit, picture, settings, k)
  } else {
    data.frame(fit = field$mean[, t, k], lwr = field$mean[, t, k] + z[1L] * sd, upr = field$mean[, t, k] + z[2L] * sd)
  }
  cbind(mean, sd = sd)
}

#' Moments of all terms at a model frame: list(mean, variance), n x T x K
#' @noRd
terms_at_frame <- function(fit, frame) {
  if (is_imputed(fit)) return(moments_of_parts(fit, terms_at_frame, frame))
  latent_at(fit, frame_rows(fit$design, frame), nrow(frame), terms = TRUE)$terms
}

#' @param whole The values of all panels that share a scale: list(fit, sd).
#' @noRd
field_panels <- function(fit, spec, settings, picture, k, values = place_values(fit, spec, settings, picture, k),
                         whole = NULL) {
  name <- paste0(picture$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[k]))
  response <- settings$scale == "response"
  mean <- values[c("fit", "lwr", "upr")]
  notes <- if (response) c(others_note(fit, picture$names), offset_note(fit, "response"))
  blank <- !picture$shown
  list(
    places_panel(
      cbind(picture$values, mean, far = blank), picture, name, join_notes(notes, picture$note),
      function(z) {
        all <- or_else(whole$fit, z)
        if (response) sequence_of(all, "Viridis") else around_zero(all)
      },
      if (response) effect_axis(fit, "response") else in_units("effect", fit)
    ),
    places_panel(
      cbind(picture$values, fit = values$sd, far = blank), picture, paste0("sd of ", name), picture$note,
      function(z) sequence_of(or_else(whole$sd, z), sd_palette), in_units("posterior sd of the effect", fit),
      what = "sd", mesh = spec$mesh
    )
  )
}

response_at <- function(fit, picture, settings, k) {
  data <- effect_data(fit, picture$frame, settings)
  if (!is.null(data$series)) data <- data[data$series == unique(data$series)[k], ]
  data[c("fit", "lwr", "upr")]
}

#' An image of values at places, with the observations
#' @param colours A function of the values that gives their scale. @param title Of the key.
#' @param points The observations' coordinates. @param mesh Drawn instead of contours.
#' @noRd
places_panel <- function(data, picture, name, note, colours, title, what = "mean", mesh = NULL, points = picture$points,
                         points_col = fade("black", 0.6)) {
  values <- data$fit
  values[data$far | !can_draw(values)] <- NA
  scale <- colours(values)
  z <- picture_data(picture, values)
  ends <- lapply(picture$sides, range)
  lines <- if (is.null(mesh)) {
    mark("contours", z, fade("grey10", 0.6), at = place_breaks(values, scale), lwd = 0.7, labcex = 0.6)
  } else mesh_mark(mesh, fade("grey20", 0.35), 0.3)
  at <- data.frame(x = points[[1L]], y = points[[2L]])
  new_panel(name, data, list(
    mark("raster", z), lines,
    mark("points", at, points_col, pch = 20, cex = 0.5 * point_size(nrow(at)), shrinks = TRUE),
    if (!is.null(picture$rings)) window_mark(picture$rings, 0.8)
  ), picture$names, note, ends[[1L]], ends[[2L]], what, scale = c(scale, list(title = title)), tight = TRUE, asp = 1)
}

place_breaks <- function(values, scale) {
  if (isTRUE(scale$log)) return(log_ticks(10^scale$reach))
  if (all(is.na(values)) || diff(range(values, na.rm = TRUE)) == 0) return(numeric())
  pretty(range(values, na.rm = TRUE), 8)
}

#' The intensity of a Cox process on its window, with the points
#' @noRd
intensity_panel <- function(fit, rings, at, points_col) {
  if (!inherits(fit, "galvi")) {
    stop_galvi("argument", sprintf("`fit` must be a fit of galvi() to the scheme, not %s.", describe(fit)))
  }
  spec <- Find(function(spec) !is.null(spec$mesh), single_specs(fit$design$specs))
  if (is.null(spec) || !link_has(fit$family, "rates")) {
    stop_galvi("argument", "`fit` must have an spde() term and a log link to have an intensity.")
  }
  settings <- list(scale = "response", level = 0.95, n = 101L, too_far = Inf, map = list(rings = rings))
  picture <- place_picture(fit, spec, settings)
  data <- cbind(picture$values, response_at(fit, picture, settings, 1L), far = !picture$shown)
  places_panel(data, picture, "Intensity", others_note(fit, c(picture$names, all.vars(fit$design$args$offset))),
    function(z) log_sequence_of(z, "Viridis"), "points per unit of area", points = list(at[, 1L], at[, 2L]),
    points_col = points_col)
}

# ---- meshes, schemes and windows ----

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
