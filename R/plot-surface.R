# Effects of two inputs: an image with contours and the observations.

surface_panel <- function(fit, spec, variables, settings, latent) {
  x <- lapply(variables, function(v) get_variable(fit$data, v))
  side <- ceiling(settings$n / 2)
  sides <- lapply(x, function(x) seq(min(x), max(x), length.out = side))
  grid <- expand.grid(sides, KEEP.OUT.ATTRS = FALSE)
  frame <- typical_frame(fit, nrow(grid))
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], grid[[j]])
  data <- effect_data(fit, frame, settings)
  if (!is.null(data$series)) data <- data[data$series == latent_names(fit)[latent], ]
  data <- cbind(grid, data)
  points <- surface_points(fit, x, variables, settings)
  name <- paste0(spec$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[latent]))
  surface <- list(x = sides[[1L]], y = sides[[2L]], z = matrix(data$fit, side))
  note <- others_note(fit, names(variables))
  draw <- function() draw_surface(fit, surface, points, names(variables), name, note, settings)
  list(name = name, data = data, draw = draw)
}

surface_points <- function(fit, x, variables, settings) {
  if (n_latents(fit) > 1L) return(NULL)
  if (has_two_classes(fit)) return(list(kind = "classes", x = x[[1L]], y = x[[2L]], class = fit$model$y))
  frame <- typical_frame(fit, fit$nobs)
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], x[[j]])
  list(kind = "values", x = x[[1L]], y = x[[2L]], value = partial_residuals(fit, frame, settings$scale))
}

draw_surface <- function(fit, surface, points, labels, name, note, settings) {
  # Room for the colour key.
  old <- graphics::par(mar = replace(graphics::par("mar"), 4L, 5.6), bty = "o")
  on.exit(graphics::par(old))
  colours <- surface_colours(fit, surface$z, settings)
  open_panel(range(surface$x), range(surface$y), labels[1L], labels[2L], name, note, xaxs = "i", yaxs = "i")
  shade <- pmin(pmax((surface$z - colours$reach[1L]) / diff(colours$reach), 0), 1)
  picture <- matrix(colours$palette[1L + round(100 * shade)], nrow(shade))
  # A picture has its first row on top.
  picture <- t(picture[, rev(seq_len(ncol(picture)))])
  corners <- c(range(surface$x), range(surface$y))
  graphics::rasterImage(picture, corners[1L], corners[3L], corners[2L], corners[4L], interpolate = TRUE)
  graphics::contour(surface, add = TRUE, col = fade("grey10", 0.7), lwd = 0.8, labcex = 0.7)
  draw_surface_points(fit, points, colours)
  graphics::box()
  colour_key(colours, effect_axis(fit, settings))
}

#' For classes two colours that meet where both are equally probable; else a sequence over the values
#' @noRd
surface_colours <- function(fit, z, settings) {
  if (is.null(response_levels(fit))) {
    # A flat surface still needs a range.
    reach <- range(z) + c(-1, 1) * 1e-9 * (1 + max(abs(z)))
    return(list(reach = reach, palette = grDevices::hcl.colors(101, "Viridis")))
  }
  even <- if (settings$scale == "response") 0.5 else 0
  reach <- if (settings$scale == "response") c(0, 1) else even + max(abs(z - even), 1e-9) * c(-1, 1)
  list(reach = reach, palette = grDevices::hcl.colors(101, "Blue-Red 3"))
}

draw_surface_points <- function(fit, points, colours) {
  if (is.null(points)) return(invisible())
  cex <- if (length(points$x) > 500) 0.5 else if (length(points$x) > 150) 0.75 else 1
  if (points$kind == "values") {
    value <- pmin(pmax(points$value, colours$reach[1L]), colours$reach[2L])
    fill <- colours$palette[1L + round(100 * (value - colours$reach[1L]) / diff(colours$reach))]
    graphics::points(points$x, points$y, pch = 21, bg = fill, col = "white", lwd = 0.8, cex = cex)
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

#' A strip of colours with its scale, right of the plot
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
  ticks <- pretty(colours$reach, 5)
  ticks <- ticks[ticks >= colours$reach[1L] & ticks <= colours$reach[2L]]
  at <- usr[3L] + (ticks - colours$reach[1L]) / diff(colours$reach) * (usr[4L] - usr[3L])
  graphics::text(right + 0.015 * width, at, format(ticks), adj = c(0, 0.5), cex = 0.8, xpd = NA)
  graphics::mtext(title, side = 4, line = 4.3, las = 0, cex = 0.85 * graphics::par("cex"))
}
