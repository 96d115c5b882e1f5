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

#' A raster of places: list(sides: two lists of coordinates; frame; data: values at the places; shown: which of them
#' are on the mesh and in the window or near the data; note)
#' @noRd
place_picture <- function(fit, spec, settings, copy = NULL) {
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
  list(
    names = names, x = x, sides = sides, values = values, frame = frame, shown = shown, rings = rings,
    label = paste0(spec$label, if (!is.null(copy)) sprintf(", %s = %s", variable_name(spec$by), copy)),
    note = if (is.null(rings) && !all(shown)) "blank: far from the data"
  )
}

field_panels <- function(fit, spec, settings, picture, k) {
  name <- paste0(picture$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[k]))
  field <- latent_at(fit, frame_rows(fit$design, picture$frame), nrow(picture$frame), terms = TRUE)$terms
  t <- match(spec$label, fit$design$labels)
  sd <- sqrt(field$variance[, t, k])
  z <- stats::qnorm(tails(settings$level))
  response <- settings$scale == "response"
  mean <- if (response) {
    response_at(fit, picture, settings, k)
  } else {
    data.frame(fit = field$mean[, t, k], lwr = field$mean[, t, k] + z[1L] * sd, upr = field$mean[, t, k] + z[2L] * sd)
  }
  notes <- if (response) c(others_note(fit, picture$names), offset_note(fit, "response"))
  blank <- !picture$shown
  list(
    panel_of(fit, list(
      data = cbind(picture$values, mean, far = blank), picture = picture, name = name,
      colours = if (response) sequence_of("Viridis") else around_zero, points = picture$x,
      key = if (response) effect_axis(fit, "response") else in_units("effect", fit),
      note = join_notes(notes, picture$note)
    ), draw_places, gg_places),
    panel_of(fit, list(
      data = cbind(picture$values, fit = sd, far = blank), picture = picture, what = "sd", mesh = spec$mesh,
      name = paste0("sd of ", name), colours = sequence_of(sd_palette), points = picture$x,
      key = in_units("posterior sd of the effect", fit), note = picture$note
    ), draw_places, gg_places)
  )
}

response_at <- function(fit, picture, settings, k) {
  data <- effect_data(fit, picture$frame, settings)
  if (!is.null(data$series)) data <- data[data$series == unique(data$series)[k], ]
  data[c("fit", "lwr", "upr")]
}

# A panel of places has its picture, data, colours (a function of the values and of `look`), points, and the mesh where
# that is drawn instead of contours.

#' Values of a raster, its first index along x; NA where it is blank
#' @noRd
raster_values <- function(panel) {
  values <- panel$data$fit
  values[panel$data$far | !can_draw(values)] <- NA
  matrix(values, length(panel$picture$sides[[1L]]))
}

draw_places <- function(fit, panel, look) {
  picture <- panel$picture
  z <- raster_values(panel)
  colours <- panel$colours(z, look)
  ends <- lapply(picture$sides, range)
  open_panel(ends[[1L]], ends[[2L]], picture$names[1L], picture$names[2L], panel$name, panel$note, look,
    right = strip_room(colours), tight = TRUE, asp = 1)
  draw_picture(matrix(colour_of(z, colours), nrow(z)), picture$sides)
  usr <- graphics::par("usr")
  graphics::clip(usr[1L], usr[2L], usr[3L], usr[4L])
  if (is.null(panel$mesh)) {
    draw_image_contours(picture$sides, z, colours)
  } else {
    draw_mesh(panel$mesh, fade("grey20", 0.35), 0.3)
  }
  draw_sites(panel$points, or_else(panel$points_col, fade("black", 0.6)))
  if (!is.null(picture$rings)) draw_window(picture$rings, border = "grey20", lwd = 0.8)
  do.call(graphics::clip, as.list(usr))
  graphics::box()
  colour_key(colours, panel$key)
}

gg_places <- function(fit, panel) {
  picture <- panel$picture
  z <- raster_values(panel)
  ends <- lapply(picture$sides, range)
  plot <- gg_image(picture$sides, z, panel$colours(z, list()), panel$key)
  if (is.null(panel$mesh)) {
    plot <- plot + gg_contours(picture$sides, z, place_breaks(z, panel$colours(z, list())),
      fade("grey10", 0.6))
  } else {
    plot <- plot + ggplot2::geom_segment(columns(x = "x", y = "y", xend = "xend", yend = "yend"),
      mesh_segments(panel$mesh), colour = fade("grey20", 0.35), linewidth = 0.15, inherit.aes = FALSE)
  }
  points <- data.frame(x = panel$points[[1L]], y = panel$points[[2L]])
  window <- do.call(rbind, lapply(seq_along(picture$rings), function(i) {
    data.frame(x = picture$rings[[i]][, 1L], y = picture$rings[[i]][, 2L], ring = i)
  }))
  plot + gg_points(columns(x = "x", y = "y"), points, colour = or_else(panel$points_col, fade("black", 0.6)),
    size = 0.8 / sqrt(1 + nrow(points) / 500)) +
    (if (!is.null(window)) ggplot2::geom_polygon(columns(x = "x", y = "y", group = "ring"), window, fill = NA,
      colour = "grey20", linewidth = 0.3, inherit.aes = FALSE)) +
    ggplot2::coord_fixed(xlim = ends[[1L]], ylim = ends[[2L]], expand = FALSE) +
    gg_labels(panel, x = picture$names[1L], y = picture$names[2L])
}

place_breaks <- function(z, colours = NULL) {
  if (isTRUE(colours$log)) return(log_ticks(10^colours$reach))
  if (all(is.na(z)) || diff(range(z, na.rm = TRUE)) == 0) return(numeric())
  pretty(range(z, na.rm = TRUE), 8)
}

draw_image_contours <- function(sides, z, colours = NULL) {
  draw_contours(sides, z, place_breaks(z, colours), col = fade("grey10", 0.6), lwd = 0.7, labcex = 0.6)
}

draw_sites <- function(x, colour) {
  graphics::points(x[[1L]], x[[2L]], pch = 20, col = colour, cex = 0.5 * point_size(length(x[[1L]])))
}

#' The intensity of a Cox process on its window, with the points
#' @noRd
intensity_panel <- function(fit, rings, at, points_col) {
  if (!inherits(fit, "galvi")) {
    stop_galvi("argument", sprintf("`fit` must be a fit of galvi() to the scheme, not %s.", describe(fit)))
  }
  spec <- Find(function(spec) !is.null(spec$mesh), fit$design$specs)
  if (is.null(spec) || !link_has(fit$family, "rates")) {
    stop_galvi("argument", "`fit` must have an spde() term and a log link to have an intensity.")
  }
  settings <- list(scale = "response", level = 0.95, n = 101L, too_far = Inf, map = list(rings = rings))
  picture <- place_picture(fit, spec, settings)
  data <- cbind(picture$values, response_at(fit, picture, settings, 1L), far = !picture$shown)
  panel <- list(
    data = data, picture = picture, name = "Intensity", colours = log_sequence_of("Viridis"),
    points = list(at[, 1L], at[, 2L]), points_col = points_col, key = "points per unit of area",
    note = others_note(fit, c(picture$names, all.vars(fit$design$args$offset)))
  )
  panel_of(fit, panel, draw_places, gg_places)
}
