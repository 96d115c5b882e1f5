# Effects of two inputs: an image with contours and the observations.

surface_panels <- function(fit, spec, variables, settings) {
  settings$scale <- panel_scale(fit, settings, names(variables))
  grid <- surface_grid(fit, variables, settings)
  of_classes <- has_classes(fit) && settings$scale == "response"
  c(
    if (of_classes) list(region_panel(fit, spec, variables, grid)) else {
      lapply(seq_len(n_latents(fit)), function(k) surface_panel(fit, spec, variables, settings, grid, k))
    },
    if ("sd" %in% settings$what) sd_panels(fit, spec, variables, settings, grid)
  )
}

surface_grid <- function(fit, variables, settings) {
  x <- lapply(variables, function(v) get_variable(fit$data, v))
  sides <- Map(function(v, x, limits) {
    effect_grid(fit, v$name, x, ceiling(settings$n / 2), limits)
  }, variables, x, list(settings$xlim, settings$ylim))
  values <- expand.grid(sides, KEEP.OUT.ATTRS = FALSE)
  frame <- typical_frame(fit, nrow(values))
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], values[[j]])
  sides <- unname(sides)
  distance <- data_distance(sides, x)
  list(
    x = x, sides = sides, values = values, frame = frame, distance = distance, too_far = settings$too_far,
    far = as.vector(distance) > settings$too_far
  )
}

#' Distances of a grid's places to the nearest observation, a matrix, its first index along the first side
#'
#' As in mgcv they are measured with both sides of the grid scaled to length one.
#' @param x The observations' coordinates, a list of two.
#' @noRd
data_distance <- function(sides, x) {
  sides <- lapply(sides, as.numeric)
  scaled <- function(x, side) (as.numeric(x) - min(side)) / diff(range(side))
  # A hundredth of a side is as exact as an eye.
  at <- unique(round(cbind(scaled(x[[1L]], sides[[1L]]), scaled(x[[2L]], sides[[2L]])), 2))
  across <- outer(scaled(sides[[1L]], sides[[1L]]), at[, 1L], `-`)^2
  up <- outer(scaled(sides[[2L]], sides[[2L]]), at[, 2L], `-`)^2
  sqrt(vapply(seq_along(sides[[2L]]), function(j) {
    squared <- across + rep(up[j, ], each = nrow(across))
    squared[cbind(seq_len(nrow(squared)), max.col(-squared, ties.method = "first"))]
  }, numeric(nrow(across))))
}

#' Values of a grid between its places too, linearly, and NA where the data are far or a value cannot be
#' drawn: list(sides, z, a list of matrices)
#' @param z Matrices or vectors of the grid's values.
#' @noRd
fine_picture <- function(grid, z) {
  between <- function(side) seq(1, length(side), length.out = 4L * length(side) - 3L)
  weights <- lapply(grid$sides, function(side) {
    unit <- diag(length(side))
    vapply(seq_along(side), function(j) stats::approx(unit[, j], xout = between(side))$y, between(side))
  })
  refine <- function(m) weights[[1L]] %*% matrix(m, length(grid$sides[[1L]])) %*% t(weights[[2L]])
  blank <- refine(grid$distance) > grid$too_far
  list(
    sides = Map(function(w, side) alike(as.vector(w %*% as.numeric(side)), side), weights, grid$sides),
    z = lapply(z, function(m) {
      lost <- !can_draw(m)
      replace(refine(replace(m, lost, 0)), blank | refine(lost) > 0, NA)
    })
  )
}

far_note <- function(grid) if (any(grid$far)) "blank: far from the data"

surface_panel <- function(fit, spec, variables, settings, grid, latent) {
  data <- effect_data(fit, grid$frame, settings)
  if (!is.null(data$series)) data <- data[data$series == latent_names(fit)[latent], ]
  data <- cbind(grid$values, data, far = grid$far)
  points <- surface_points(fit, grid$x, variables, settings$scale)
  inducing <- inducing_at(fit, spec, names(variables))
  note <- join_notes(
    others_note(fit, names(variables)), offset_note(fit, settings$scale), far_note(grid),
    left_out_note(data$fit), inducing_note(inducing), two_classes_note(fit, points)
  )
  panel_of(fit, list(
    data = data, picture = fine_picture(grid, list(data$fit)), points = points, inducing = inducing,
    labels = names(variables), key = effect_axis(fit, settings$scale), scale = settings$scale, note = note,
    name = paste0(spec$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[latent]))
  ), draw_surface, gg_surface)
}

#' Posterior standard deviations: of the linear predictors, of the mean response or of each class's probability, with
#' the places of the observations
#' @noRd
sd_panels <- function(fit, spec, variables, settings, grid) {
  marginals <- frame_marginals(fit, grid$frame)
  response <- settings$scale == "response"
  sd <- if (!response) sqrt(marginals$variance) else {
    as.matrix(if (has_classes(fit)) class_moments(fit, marginals)$sd else response_sd(fit, marginals))
  }
  of <- if (has_classes(fit) && response) response_levels(fit) else if (ncol(sd) > 1L) latent_names(fit)
  inducing <- inducing_at(fit, spec, names(variables))
  lapply(seq_len(ncol(sd)), function(k) {
    data <- cbind(grid$values, fit = sd[, k], far = grid$far)
    panel_of(fit, list(
      data = data, picture = fine_picture(grid, list(data$fit)), what = "sd", scale = settings$scale,
      points = list(kind = "places", x = grid$x[[1L]], y = grid$x[[2L]]), inducing = inducing,
      labels = names(variables), key = paste("posterior sd of the", effect_axis(fit, settings$scale)),
      name = paste0("sd of ", spec$label, if (!is.null(of)) paste0(": ", of[k])),
      note = join_notes(
        others_note(fit, names(variables)), offset_note(fit, settings$scale), far_note(grid),
        left_out_note(data$fit), inducing_note(inducing), "points: where the observations are"
      )
    ), draw_surface, gg_surface)
  })
}

surface_points <- function(fit, x, variables, scale) {
  if (n_latents(fit) > 1L || !is.null(fit$parameter)) return(NULL)
  if (has_classes(fit) || has_two_classes(fit)) {
    return(list(kind = "classes", x = x[[1L]], y = x[[2L]], class = fit$model$y))
  }
  frame <- typical_frame(fit, nrow(fit$data))
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], x[[j]])
  list(kind = "values", x = x[[1L]], y = x[[2L]], value = partial_residuals(
    fit, frame_marginals(fit, frame, variance = FALSE)$mean[, 1L], scale
  ))
}

draw_surface <- function(fit, panel, look) {
  z <- panel$picture$z[[1L]]
  sides <- panel$picture$sides
  colours <- surface_colours(fit, z, panel, look)
  lines <- surface_lines(fit, panel, colours)
  open_panel(range(sides[[1L]]), range(sides[[2L]]), panel$labels[1L], panel$labels[2L], panel$name, panel$note, look,
    right = strip_room(colours), tight = TRUE)
  draw_picture(matrix(colour_of(z, colours), nrow(z)), sides)
  draw_contours(sides, z, lines$at, col = lines$colour, lwd = lines$width, labcex = 0.7)
  draw_surface_points(fit, panel$points, colours)
  if (!is.null(panel$inducing)) draw_inducing(panel$inducing[[1L]], panel$inducing[[2L]])
  graphics::box()
  if (lines$thresholds) colours$breaks <- lines$at
  colour_key(colours, panel$key)
}

#' Contours; of an ordinal response where one level gives way to the next
#' @noRd
surface_lines <- function(fit, panel, colours) {
  if (is_ordinal(fit) && !is_sd(panel)) {
    return(list(at = thresholds(fit), colour = "white", width = 1.4, thresholds = TRUE))
  }
  list(at = pretty(colours$reach, 10), colour = fade("grey10", 0.7), width = 0.8, thresholds = FALSE)
}

is_sd <- function(panel) identical(panel$what, "sd")

#' A matrix of colours, its first index along x; each is the middle of its cell. NA is blank.
#' @noRd
draw_picture <- function(picture, sides) {
  half <- vapply(sides, function(side) (as.numeric(side[2L]) - as.numeric(side[1L])) / 2, 0)
  ends <- vapply(1:2, function(j) range(as.numeric(sides[[j]])) + half[j] * c(-1, 1), c(0, 0))
  # A picture has its first row on top.
  picture <- t(picture[, rev(seq_len(ncol(picture)))])
  graphics::rasterImage(picture, ends[1L, 1L], ends[1L, 2L], ends[2L, 1L], ends[2L, 2L], interpolate = TRUE)
}

# Standard deviations have a palette of their own, as they are easily taken for the effect.
sd_palette <- "Purple-Yellow"

#' For two classes two colours that meet where both are equally probable; else a sequence over the values
#' @noRd
surface_colours <- function(fit, z, panel, look) {
  scale <- panel$scale
  # All of it may be blank.
  if (all(is.na(z))) z <- 0
  if (is_sd(panel)) return(sequence_of(sd_palette)(z, look))
  if (is.null(response_levels(fit)) || has_classes(fit)) {
    reach <- range(z, thresholds(fit), na.rm = TRUE)
    # A flat surface still needs a range.
    reach <- reach + c(-1, 1) * 1e-9 * (1 + max(abs(reach)))
    return(list(reach = reach, palette = look_palette(look, "Viridis")))
  }
  even <- if (scale == "response") 0.5 else 0
  reach <- if (scale == "response") c(0, 1) else even + max(abs(z - even), 1e-9, na.rm = TRUE) * c(-1, 1)
  list(reach = reach, palette = look_palette(look, "Blue-Red 3"))
}

#' A sequence of colours over the values: a function of them and of `look`
#' @noRd
sequence_of <- function(palette) {
  function(z, look) {
    if (all(is.na(z))) z <- 0
    reach <- range(z, na.rm = TRUE)
    # A flat surface still needs a range.
    list(reach = reach + c(-1, 1) * 1e-9 * (1 + max(abs(reach))), palette = look_palette(look, palette))
  }
}

#' The same on a logarithmic scale, where positive values differ by factors: of intensities, which are near zero
#' between clusters. Values below a thousandth of the largest have the first colour.
#' @noRd
log_sequence_of <- function(palette) {
  function(z, look) {
    top <- suppressWarnings(max(z, na.rm = TRUE))
    low <- suppressWarnings(max(min(z, na.rm = TRUE), top / 1000))
    if (!is.finite(top) || low <= 0 || top < 10 * low) return(sequence_of(palette)(z, look))
    list(reach = log10(c(low, top)), palette = look_palette(look, palette), log = TRUE)
  }
}

#' Colours that are white at zero, the same distance from it in the same strength
#' @noRd
around_zero <- function(z, look) {
  list(reach = c(-1, 1) * max(abs(drawn_range(z, 1e-9))), palette = look_palette(look, "Blue-Red 3"))
}

#' Smaller where there are many, and in a small panel
#' @noRd
point_size <- function(n) {
  size <- if (n > 500) 0.5 else if (n > 150) 0.75 else 1
  size * min(1, max(0.5, mean(graphics::par("pin")) / 2.5))
}

draw_surface_points <- function(fit, points, colours) {
  if (is.null(points)) return(invisible())
  points <- inside_panel(points)
  cex <- point_size(length(points$x))
  if (points$kind == "places") {
    graphics::points(points$x, points$y, pch = 20, col = fade("black", 0.6), cex = 0.6 * cex, xpd = NA)
    return(invisible())
  }
  ordinal <- is_ordinal(fit)
  if (points$kind == "values" || ordinal) {
    value <- if (ordinal) cell_middles(fit, colours$reach)[points$class + 1L] else points$value
    graphics::points(points$x, points$y, pch = 21, bg = colour_of(value, colours), col = "white", lwd = 0.8,
      cex = cex, xpd = NA)
    return(invisible())
  }
  which <- points$class + 1
  graphics::points(points$x, points$y, pch = c(21, 24)[which], bg = c("#2166AC", "#B2182B")[which],
    col = "white", lwd = 0.7, cex = cex, xpd = NA)
}

two_classes_note <- function(fit, points) {
  if (is.null(points$class) || has_classes(fit)) return(NULL)
  paste0(c("circles: ", "triangles: "), response_levels(fit), collapse = ", ")
}

#' Observations in the panel that have a value: those at its edge are drawn whole, those beyond it not at all
#' @noRd
inside_panel <- function(points) {
  usr <- graphics::par("usr")
  inside <- points$x >= usr[1L] & points$x <= usr[2L] & points$y >= usr[3L] & points$y <= usr[4L]
  if (!is.null(points$value)) inside <- inside & !is.na(points$value)
  take_points(points, inside)
}

cell_middles <- function(fit, reach) {
  bounds <- c(reach[1L], thresholds(fit), reach[2L])
  (bounds[-1L] + bounds[-length(bounds)]) / 2
}
