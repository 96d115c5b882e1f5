# Responses of several classes: their probabilities along one input, their regions over two, the thresholds of
# ordinal ones.

#' Probabilities with bands, a series per class
#'
#' P(class | eta) has no quantiles in closed form where several latents make it: the limits are those of the
#' beta distribution with its mean and sd under q.
#' @noRd
class_data <- function(fit, marginals, level) {
  moments <- class_moments(fit, marginals)
  pieces <- lapply(seq_along(response_levels(fit)), function(j) {
    limits <- beta_limits(moments$mean[, j], moments$sd[, j], level)
    data.frame(fit = moments$mean[, j], lwr = limits[, 1L], upr = limits[, 2L])
  })
  stack_series(pieces, response_levels(fit))
}

#' Ordered classes from dark to light, others in colours that differ
#' @noRd
class_colours <- function(fit) {
  n <- length(response_levels(fit))
  if (is_ordinal(fit)) grDevices::hcl.colors(n + 1L, "Viridis")[seq_len(n)] else series_colours(n)
}

class_series <- function(fit, ...) series_of(response_levels(fit), class_colours(fit), ...)

# The highest level on top, as in the panel.
class_key <- function(fit, ...) list(reverse = is_ordinal(fit), ...)

# ---- one input ----

#' Curves of the classes' probabilities, stacked areas if they are ordered; the observations as ticks below
#' @param draft See curve_draft().
#' @noRd
class_panel <- function(fit, draft, settings) {
  data <- draft$data
  levels <- levels(data$series)
  # low enough for no tick of the axis to be below zero
  height <- if (is.null(draft$points)) 0 else min(0.035, 0.14 / length(levels))
  stacked <- is_ordinal(fit) && !isTRUE(draft$lines)
  at <- data.frame(x = data[[1L]], y = data$fit, lower = data$lwr, upper = data$upr, series = data$series)
  new_panel(draft$name, data, c(
    if (stacked) list(mark("band", stacked_areas(at), alpha = 0.8, border = "white")) else {
      list(mark("band", at, alpha = min(0.15, 0.6 / length(levels))), mark("line", at, lwd = 2))
    },
    class_strips(draft$points, levels, height, top_first = !is_ordinal(fit))
  ), draft$labels, draft$note, range(at$x), c(-height * length(levels), 1), series = class_series(fit),
    key = if (stacked) class_key(fit, pch = 15, pt.cex = 1.5) else class_key(fit, lwd = 2))
}

#' Probabilities on top of each other, up to one
#' @noRd
stacked_areas <- function(at) {
  p <- matrix(at$y, ncol = nlevels(at$series))
  above <- t(apply(p, 1L, cumsum))
  above[, ncol(p)] <- 1
  at$lower <- as.vector(cbind(0, above[, -ncol(p)]))
  at$upper <- as.vector(above)
  at
}

#' A row of ticks per class under the axis of zero, the first class on top or at the bottom
#' @noRd
class_strips <- function(points, levels, height, top_first) {
  if (is.null(points)) return(NULL)
  row <- points$class + 1
  if (!top_first) row <- length(levels) + 1 - row
  series <- factor(levels[points$class + 1], levels)
  list(
    mark("rule", data.frame(horizontal = 0), "grey40", lwd = 0.8),
    mark("segments", data.frame(x = points$x, y = -(row - 0.9) * height, xend = points$x, yend = -(row - 0.1) * height,
      series = series)[order(points$class), ], alpha = 0.7)
  )
}

#' Levels between thresholds, which stand beside the panel
#' @noRd
cells_mark <- function(fit) {
  at <- thresholds(fit)
  mark("cells", data.frame(low = c(-Inf, at), high = c(at, Inf), text = response_levels(fit)),
    own_colours(class_colours(fit)))
}

#' Observations of an ordinal response somewhere in the cell of their level, of others as ticks below
#' @param window What the vertical axis shows.
#' @noRd
class_points <- function(fit, points, window) {
  if (!points$in_cells) return(mark("rug", data.frame(x = points$x), "grey20", 0.4, side = 1L, ticksize = 0.02))
  many <- length(points$x) > 500
  at <- data.frame(x = points$x, y = in_cells(points$class, c(window[1L], thresholds(fit), window[2L])))
  mark("points", at, own_colours(class_colours(fit), points$class + 1L), if (many) 0.4 else 0.6,
    cex = if (many) 0.3 else 0.5)
}

#' Heights somewhere in the cells between edges
#' @noRd
in_cells <- function(class, edges) {
  low <- edges[class + 1L]
  # A low-discrepancy sequence: no random numbers, so that a plot leaves the generator alone.
  low + (0.1 + 0.8 * ((seq_along(class) * 0.6180339887) %% 1)) * (edges[class + 2L] - low)
}

# ---- two inputs ----

#' The most probable class everywhere, in stronger colour where it is surer, and its probability's contours
#' @noRd
region_panel <- function(fit, spec, variables, grid) {
  prob <- class_probabilities(fit, frame_marginals(fit, grid$frame))
  levels <- response_levels(fit)
  data <- data.frame(
    grid$values, series = factor(rep(levels, each = nrow(prob)), levels), fit = as.vector(prob),
    far = grid$far, check.names = FALSE
  )
  picture <- fine_picture(grid, lapply(seq_along(levels), function(k) prob[, k]))
  labels <- names(variables)
  shapes <- class_shapes(length(levels))
  series <- class_series(fit, pch = if (is_counts(fit)) rep(22, length(levels)) else shapes)
  new_panel(spec$label, data, c(
    region_marks(fit, picture),
    if (!is_counts(fit)) {
      at <- data.frame(x = grid$x[[1L]], y = grid$x[[2L]], series = factor(levels[fit$model$y + 1], levels))
      list(mark("points", at, pch = shapes[fit$model$y + 1], filled = TRUE, border = "white", lwd = 0.6,
        cex = point_size(nrow(at)), shrinks = TRUE, beyond = TRUE))
    }
  ), labels, join_notes(
    others_note(fit, labels), far_note(grid), "the most probable class, with contours of its probability"
  ), range(picture$sides[[1L]]), range(picture$sides[[2L]]), series = series, tight = TRUE,
    key = list(filled = TRUE))
}

#' The image, the contours of each class's probability, and borders: where the highest passes to another class
#' @noRd
region_marks <- function(fit, picture) {
  levels <- response_levels(fit)
  prob <- vapply(picture$z, as.vector, numeric(length(picture$z[[1L]])))
  best <- max.col(ifelse(is.na(prob), 0, prob), ties.method = "first")
  highest <- prob[cbind(seq_along(best), best)]
  places <- picture_data(picture, NULL)
  # From nothing where all classes are alike to nearly the full colour where one is certain.
  image <- data.frame(places, series = factor(levels[best], levels),
    strength = 0.75 * pmax(highest - 1 / ncol(prob), 0) / (1 - 1 / ncol(prob)))
  each <- seq_along(levels)
  c(
    list(mark("raster", image)),
    lapply(each, function(k) {
      mark("contours", data.frame(places, value = prob[, k]), own_colours(class_colours(fit), k, darken),
        at = c(0.5, 0.7, 0.9), lwd = 0.8, labcex = 0.65)
    }),
    lapply(each, function(k) {
      ahead <- prob[, k] - apply(prob[, -k, drop = FALSE], 1L, max)
      mark("contours", data.frame(places, value = ahead), "grey15", at = 0, lwd = 1.4)
    })
  )
}

darken <- function(colour) grDevices::rgb(t(0.65 * grDevices::col2rgb(colour)), maxColorValue = 255)

class_shapes <- function(n) rep_len(c(21, 24, 22, 23, 25), n)
