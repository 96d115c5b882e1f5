# Effects of two inputs: an image with contours and the observations.

surface_panels <- function(fit, spec, variables, settings) {
  settings$scale <- panel_scale(fit, settings, names(variables))
  grid <- surface_grid(fit, variables, settings)
  if (has_classes(fit) && settings$scale == "response") {
    return(list(region_panel(fit, spec, variables, settings, grid)))
  }
  lapply(seq_len(n_latents(fit)), function(k) surface_panel(fit, spec, variables, settings, grid, k))
}

surface_grid <- function(fit, variables, settings) {
  x <- lapply(variables, function(v) get_variable(fit$data, v))
  sides <- Map(function(v, x) effect_grid(fit, v$name, x, ceiling(settings$n / 2)), variables, x)
  values <- expand.grid(sides, KEEP.OUT.ATTRS = FALSE)
  frame <- typical_frame(fit, nrow(values))
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], values[[j]])
  list(x = x, sides = unname(sides), values = values, frame = frame)
}

surface_panel <- function(fit, spec, variables, settings, grid, latent) {
  data <- effect_data(fit, grid$frame, settings)
  if (!is.null(data$series)) data <- data[data$series == latent_names(fit)[latent], ]
  data <- cbind(grid$values, data)
  points <- surface_points(fit, grid$x, variables, settings$scale)
  name <- paste0(spec$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[latent]))
  surface <- list(sides = grid$sides, z = matrix(data$fit, length(grid$sides[[1L]])))
  note <- others_note(fit, names(variables))
  inducing <- inducing_at(fit, spec, names(variables))
  note <- join_notes(note, inducing_note(inducing))
  draw <- function() {
    draw_surface(fit, surface, points, inducing, names(variables), name, note, settings$scale)
  }
  list(name = name, data = data, draw = draw)
}

surface_points <- function(fit, x, variables, scale) {
  if (n_latents(fit) > 1L) return(NULL)
  if (has_classes(fit) || has_two_classes(fit)) {
    return(list(kind = "classes", x = x[[1L]], y = x[[2L]], class = fit$model$y))
  }
  frame <- typical_frame(fit, fit$nobs)
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], x[[j]])
  list(kind = "values", x = x[[1L]], y = x[[2L]], value = partial_residuals(fit, frame, scale))
}

draw_surface <- function(fit, surface, points, inducing, labels, name, note, scale) {
  # Room for the colour key.
  graphics::par(mar = replace(graphics::par("mar"), 4L, 5.6), bty = "o")
  colours <- surface_colours(fit, surface$z, scale)
  sides <- surface$sides
  open_panel(range(sides[[1L]]), range(sides[[2L]]), labels[1L], labels[2L], name, note,
    xaxs = "i", yaxs = "i")
  draw_picture(matrix(colour_of(surface$z, colours), nrow(surface$z)), sides)
  if (is_ordinal(fit)) {
    draw_contours(sides, surface$z, thresholds(fit), col = "white", lwd = 1.4, labcex = 0.7)
  } else {
    graphics::contour(sides[[1L]], sides[[2L]], surface$z, add = TRUE, col = fade("grey10", 0.7), lwd = 0.8,
      labcex = 0.7)
  }
  draw_surface_points(fit, points, colours)
  if (!is.null(inducing)) draw_inducing(inducing[[1L]], inducing[[2L]])
  graphics::box()
  if (is_ordinal(fit)) colours$breaks <- thresholds(fit)
  colour_key(colours, effect_axis(fit, scale))
}

#' A matrix of colours, its first index along x, between the corners of the grid
#' @noRd
draw_picture <- function(picture, sides) {
  # A picture has its first row on top.
  picture <- t(picture[, rev(seq_len(ncol(picture)))])
  corners <- c(range(sides[[1L]]), range(sides[[2L]]))
  graphics::rasterImage(picture, corners[1L], corners[3L], corners[2L], corners[4L], interpolate = TRUE)
}

colour_of <- function(value, colours) {
  share <- pmin(pmax((value - colours$reach[1L]) / diff(colours$reach), 0), 1)
  colours$palette[1L + round(100 * share)]
}

#' For two classes two colours that meet where both are equally probable; else a sequence over the values
#' @noRd
surface_colours <- function(fit, z, scale) {
  if (is.null(response_levels(fit)) || has_classes(fit)) {
    reach <- range(z, thresholds(fit))
    # A flat surface still needs a range.
    reach <- reach + c(-1, 1) * 1e-9 * (1 + max(abs(reach)))
    return(list(reach = reach, palette = grDevices::hcl.colors(101, "Viridis")))
  }
  even <- if (scale == "response") 0.5 else 0
  reach <- if (scale == "response") c(0, 1) else even + max(abs(z - even), 1e-9) * c(-1, 1)
  list(reach = reach, palette = grDevices::hcl.colors(101, "Blue-Red 3"))
}

point_size <- function(n) if (n > 500) 0.5 else if (n > 150) 0.75 else 1

draw_surface_points <- function(fit, points, colours) {
  if (is.null(points)) return(invisible())
  cex <- point_size(length(points$x))
  ordinal <- is_ordinal(fit)
  if (points$kind == "values" || ordinal) {
    value <- if (ordinal) cell_middles(fit, colours$reach)[points$class + 1L] else points$value
    graphics::points(points$x, points$y, pch = 21, bg = colour_of(value, colours), col = "white", lwd = 0.8,
      cex = cex)
    return(invisible())
  }
  fill <- c("#2166AC", "#B2182B")
  which <- points$class + 1
  graphics::points(points$x, points$y,
    pch = c(21, 24)[which], bg = fill[which], col = "white", lwd = 0.7, cex = cex
  )
  usr <- graphics::par("usr")
  graphics::legend(usr[2L], usr[4L], response_levels(fit), pch = c(21, 24), pt.bg = fill, col = "grey30",
    horiz = TRUE, bty = "n", xjust = 1, yjust = 0, xpd = NA, cex = 0.85, x.intersp = 0.7)
}

cell_middles <- function(fit, reach) {
  bounds <- c(reach[1L], thresholds(fit), reach[2L])
  (bounds[-1L] + bounds[-length(bounds)]) / 2
}

#' A strip of colours with its scale, right of the plot; `breaks` are drawn across it
#' @noRd
colour_key <- function(colours, title) {
  usr <- graphics::par("usr")
  width <- usr[2L] - usr[1L]
  left <- usr[2L] + 0.035 * width
  right <- left + 0.035 * width
  graphics::rasterImage(
    as.matrix(rev(colours$palette)), left, usr[3L], right, usr[4L], interpolate = TRUE, xpd = NA
  )
  graphics::rect(left, usr[3L], right, usr[4L], border = "grey30", xpd = NA)
  height_of <- function(value) {
    usr[3L] + (value - colours$reach[1L]) / diff(colours$reach) * (usr[4L] - usr[3L])
  }
  if (!is.null(colours$breaks)) {
    graphics::segments(left, height_of(colours$breaks), right, height_of(colours$breaks), col = "white",
      lwd = 1.4, xpd = NA)
  }
  ticks <- pretty(colours$reach, 5)
  ticks <- ticks[ticks >= colours$reach[1L] & ticks <= colours$reach[2L]]
  graphics::text(right + 0.015 * width, height_of(ticks), format(ticks), adj = c(0, 0.5), cex = 0.8, xpd = NA)
  graphics::mtext(title, side = 4, line = 4.3, las = 0, cex = 0.85 * graphics::par("cex"))
}
