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

#' Values of a picture as the data of an image or of contours
#' @param z A matrix, its first index along x; NULL for the places alone.
#' @noRd
picture_data <- function(picture, z = picture$z[[1L]]) {
  data <- expand.grid(x = picture$sides[[1L]], y = picture$sides[[2L]], KEEP.OUT.ATTRS = FALSE)
  if (!is.null(z)) data$value <- as.vector(z)
  data
}

# fit: the values, NA outside of a boundary.
far_note <- function(grid, fit = NULL) {
  why <- c(if (any(grid$far)) "far from the data", if (anyNA(fit)) "outside of the boundary")
  if (length(why)) paste("blank:", paste(why, collapse = ", "))
}

surface_panel <- function(fit, spec, variables, settings, grid, latent) {
  data <- effect_data(fit, grid$frame, settings)
  if (!is.null(data$series)) data <- data[data$series == latent_names(fit)[latent], ]
  data <- cbind(grid$values, data, far = grid$far)
  points <- surface_points(fit, grid$x, variables, settings$scale)
  inducing <- inducing_at(fit, spec, names(variables))
  note <- join_notes(
    others_note(fit, names(variables)), offset_note(fit, settings$scale), far_note(grid, data$fit),
    left_out_note(data$fit[!is.na(data$fit)]), inducing_note(inducing), two_classes_note(fit, points)
  )
  picture <- fine_picture(grid, list(data$fit))
  colours <- surface_scale(fit, picture$z[[1L]], settings$scale)
  if (is_ordinal(fit)) {
    # one level gives way to the next
    colours$breaks <- thresholds(fit)
    lines <- mark("contours", picture_data(picture), "white", at = thresholds(fit), lwd = 1.4, labcex = 0.7)
  } else {
    lines <- contour_mark(picture, colours)
  }
  name <- paste0(spec$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[latent]))
  image_panel(data, picture, lines, surface_point_marks(fit, points, colours), inducing, name, note, names(variables),
    colours, effect_axis(fit, settings$scale))
}

#' An image with its contours, observations and inducing points
#' @param lines Of marks. @param points A list of marks. @param inducing From inducing_at(). @param title Of the key.
#' @noRd
image_panel <- function(data, picture, lines, points, inducing, name, note, labels, scale, title, what = "mean") {
  new_panel(name, data, c(
    list(mark("raster", picture_data(picture)), lines), points,
    if (!is.null(inducing)) list(cross_mark(inducing[[1L]], inducing[[2L]]))
  ), labels, note, range(picture$sides[[1L]]), range(picture$sides[[2L]]), what, scale = c(scale, list(title = title)),
    tight = TRUE)
}

contour_mark <- function(picture, scale) {
  mark("contours", picture_data(picture), fade("grey10", 0.7), at = pretty(scale$reach, 10), lwd = 0.8, labcex = 0.7)
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
  sd[marginals$outside, ] <- NA
  lapply(seq_len(ncol(sd)), function(k) {
    data <- cbind(grid$values, fit = sd[, k], far = grid$far)
    picture <- fine_picture(grid, list(data$fit))
    colours <- sequence_of(picture$z[[1L]], sd_palette)
    places <- data.frame(x = grid$x[[1L]], y = grid$x[[2L]])
    image_panel(data, picture, contour_mark(picture, colours), list(site_mark(places)), inducing,
      paste0("sd of ", spec$label, if (!is.null(of)) paste0(": ", of[k])),
      join_notes(
        others_note(fit, names(variables)), offset_note(fit, settings$scale), far_note(grid, data$fit),
        left_out_note(data$fit[!is.na(data$fit)]), inducing_note(inducing), "points: where the observations are"
      ), names(variables), colours, paste("posterior sd of the", effect_axis(fit, settings$scale)), "sd")
  })
}

surface_points <- function(fit, x, variables, scale) {
  if (n_latents(fit) > 1L || is_mixed(fit$family) || !is.null(fit$parameter)) return(NULL)
  if (has_classes(fit) || has_two_classes(fit)) {
    return(list(kind = "classes", x = x[[1L]], y = x[[2L]], class = fit$model$y))
  }
  frame <- typical_frame(fit, nrow(fit$data))
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], x[[j]])
  list(kind = "values", x = x[[1L]], y = x[[2L]], value = partial_residuals(
    fit, frame_marginals(fit, frame, variance = FALSE)$mean[, 1L], scale
  ))
}

#' For two classes two colours that meet where both are equally probable; else a sequence over the values
#' @noRd
surface_scale <- function(fit, z, scale) {
  if (is.null(response_levels(fit)) || has_classes(fit)) return(sequence_of(c(z, thresholds(fit)), "Viridis"))
  # All of it may be blank.
  if (all(is.na(z))) z <- 0
  even <- if (scale == "response") 0.5 else 0
  reach <- if (scale == "response") c(0, 1) else even + max(abs(z - even), 1e-9, na.rm = TRUE) * c(-1, 1)
  list(reach = reach, palette = "Blue-Red 3")
}

#' Smaller where there are many
#' @noRd
point_size <- function(n) if (n > 500) 0.5 else if (n > 150) 0.75 else 1

#' Where observations are
#' @noRd
site_mark <- function(places) {
  mark("points", places, "black", 0.6, pch = 20, cex = 0.6 * point_size(nrow(places)), shrinks = TRUE, beyond = TRUE)
}

#' The observations in an image: in the colour of their value, of two classes by shape
#' @noRd
surface_point_marks <- function(fit, points, scale) {
  if (is.null(points)) return(NULL)
  at <- data.frame(x = points$x, y = points$y)
  fill <- NULL
  shape <- 21
  if (is_ordinal(fit)) {
    at$value <- cell_middles(fit, scale$reach)[points$class + 1L]
  } else if (points$kind == "values") {
    at$value <- points$value
  } else {
    fill <- c("#2166AC", "#B2182B")[points$class + 1L]
    shape <- c(21, 24)[points$class + 1L]
  }
  if (!is.null(at$value)) at <- at[!is.na(at$value), ]
  list(mark("points", at, fill, pch = shape, filled = TRUE, border = "white", lwd = if (is.null(fill)) 0.8 else 0.7,
    cex = point_size(length(points$x)), shrinks = TRUE, beyond = TRUE))
}

two_classes_note <- function(fit, points) {
  if (is.null(points$class) || has_classes(fit)) return(NULL)
  paste0(c("circles: ", "triangles: "), response_levels(fit), collapse = ", ")
}

cell_middles <- function(fit, reach) {
  bounds <- c(reach[1L], thresholds(fit), reach[2L])
  (bounds[-1L] + bounds[-length(bounds)]) / 2
}
