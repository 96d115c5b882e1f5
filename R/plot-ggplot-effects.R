# The effects' panels in ggplot2, each from what its base drawing has: gg_curve(fit, panel) is draw_curve()'s twin.

effect_series <- function(fit, panel, data) {
  n <- nlevels(data$series)
  of_classes <- has_classes(fit) && n == length(response_levels(fit))
  gg_series(n, panel$key, if (of_classes) class_colours(fit, list()) else series_colours(n, list()))
}

gg_curve <- function(fit, panel, reach = NULL) {
  data <- panel_data(panel)
  reach <- curve_reach(fit, panel, reach)
  plot <- gg(data, "x", "fit", colour = "series", fill = "series")
  if (!is.null(data$y_lwr) && nlevels(data$series) == 1L) {
    plot <- plot + ggplot2::geom_ribbon(columns(ymin = "y_lwr", ymax = "y_upr"), alpha = 0.12, colour = NA)
  }
  plot <- plot + curve_points(fit, panel, data, reach)
  if (length(panel$inducing)) {
    one <- data[data$series == data$series[1L], ]
    crosses <- data.frame(
      x = alike(panel$inducing, one$x), y = stats::approx(as.numeric(one$x), one$fit, panel$inducing)$y
    )
    plot <- plot + gg_points(columns(x = "x", y = "y"), crosses, shape = 4)
  }
  plot + ggplot2::geom_ribbon(columns(ymin = "lwr", ymax = "upr"), alpha = 0.25, colour = NA) +
    ggplot2::geom_line() + effect_series(fit, panel, data) + (if (is_ordinal(fit)) gg_thresholds(fit, reach)) +
    ggplot2::coord_cartesian(ylim = reach) + gg_labels(panel, x = panel$labels[1L], y = panel$labels[2L])
}

#' Thresholds across the panel, the levels between them on its right
#' @noRd
gg_thresholds <- function(fit, reach) {
  ends <- reach + c(-0.05, 0.05) * diff(reach)
  middles <- cell_middles(fit, pmax(pmin(range(ends), max(ends)), min(ends)))
  list(
    ggplot2::geom_hline(yintercept = thresholds(fit), linetype = 2, colour = "grey35"),
    ggplot2::scale_y_continuous(sec.axis = ggplot2::dup_axis(
      name = NULL, breaks = middles, labels = response_levels(fit)
    ))
  )
}

gg_levels <- function(fit, panel, reach = NULL) {
  data <- panel_data(panel)
  reach <- levels_reach(fit, panel, reach)
  data$x <- factor(as.character(data$x), unique(as.character(data$x)))
  aside <- ggplot2::position_dodge(width = if (nlevels(data$series) > 1L) 0.6 else 0.01)
  plot <- gg(data, "x", "fit", colour = "series")
  if (panel$scale == "link" && !isTRUE(panel$absolute)) {
    plot <- plot + ggplot2::geom_hline(yintercept = 0, linetype = 3, colour = "grey60")
  }
  if (identical(panel$points$kind, "numbers")) plot <- plot + level_points(panel$points, data, reach)
  if (!is.null(data$y_lwr)) {
    plot <- plot + ggplot2::geom_linerange(columns(ymin = "y_lwr", ymax = "y_upr"), linewidth = 2, alpha = 0.25,
      position = aside)
  }
  turned <- sum(nchar(levels(data$x))) > 60L
  # points stand between levels, so the axis is told its levels
  plot <- plot + ggplot2::scale_x_discrete(limits = levels(data$x),
    guide = if (turned) ggplot2::guide_axis(angle = 90) else ggplot2::waiver())
  plot + ggplot2::geom_pointrange(columns(ymin = "lwr", ymax = "upr"), position = aside) +
    (if (has_cells(fit, panel)) gg_thresholds(fit, reach)) + effect_series(fit, panel, data) +
    ggplot2::coord_cartesian(ylim = reach) + gg_labels(panel, x = panel$labels[1L], y = panel$labels[2L])
}

#' The observations beside the intervals of levels
#' @noRd
level_points <- function(at, data, reach) {
  k <- nlevels(data$series)
  points <- data.frame(x = level_places(at, levels(data$x), k), y = at$y)
  points$series <- levels(data$series)[or_else(at$series, rep(1L, nrow(points)))]
  points <- points[can_draw(points$y) & points$y >= reach[1L] & points$y <= reach[2L], ]
  if (k == 1L) return(gg_points(columns(x = "x", y = "y"), points, colour = "grey20", alpha = 0.35, size = 1))
  gg_points(columns(x = "x", y = "y", colour = "series"), points, alpha = 0.4, size = 1)
}

#' The observations beside a curve: a list of layers
#' @noRd
curve_points <- function(fit, panel, data, reach) {
  at <- panel$points
  if (identical(at$kind, "numbers")) {
    points <- data.frame(x = at$x, y = at$y, outlying = at$outlying)
    points$series <- levels(data$series)[if (is.null(at$series)) 1L else at$series]
    points <- points[can_draw(points$y), ]
    # those beyond the panel are triangles at its edge
    points$side <- factor(ifelse(points$y > reach[2L], "above", ifelse(points$y < reach[1L], "below", "inside")))
    points$y <- pmin(pmax(points$y, reach[1L]), reach[2L])
    beyond <- points[points$side != "inside", ]
    points <- points[points$side == "inside", ]
    ringed <- points[points$outlying, ]
    xy <- columns(x = "x", y = "y")
    return(list(
      if (is.null(at$series)) gg_points(xy, points, colour = "grey20", alpha = 0.45, size = 1) else {
        gg_points(columns(x = "x", y = "y", colour = "series"), points, alpha = 0.6, size = 1)
      },
      if (nrow(ringed)) gg_points(xy, ringed, colour = plot_colours[2L], shape = 1, size = 3),
      if (nrow(beyond)) gg_points(xy, beyond, shape = ifelse(beyond$side == "above", 24, 25), size = 1.2,
        colour = "grey40", fill = "grey70")
    ))
  }
  if (identical(at$kind, "classes") && isTRUE(at$in_cells)) {
    edges <- c(reach[1L], thresholds(fit), reach[2L])
    points <- data.frame(x = at$x, y = in_cells(at$class, edges))
    return(gg_points(columns(x = "x", y = "y"), points, alpha = 0.6, size = 1,
      colour = class_colours(fit, list())[at$class + 1]))
  }
  if (!identical(at$kind, "classes") || has_classes(fit)) {
    return(ggplot2::geom_rug(columns(x = "x"), data.frame(x = panel$rug), sides = "b", alpha = 0.3,
      inherit.aes = FALSE))
  }
  c(lapply(0:1, function(class) {
    ggplot2::geom_rug(columns(x = "x"), data.frame(x = at$x[at$class == class]), sides = c("b", "t")[class + 1L],
      colour = plot_colours[class + 1L], alpha = 0.6, inherit.aes = FALSE)
  }), list(ggplot2::labs(caption = sprintf("ticks: %s below, %s above", response_levels(fit)[1L],
    response_levels(fit)[2L]))))
}

# Stacked where the classes are ordered.
gg_classes <- function(fit, panel, reach = NULL) {
  data <- panel_data(panel)
  plot <- gg(data, "x", "fit", colour = "series", fill = "series")
  plot <- if (is_stacked(fit, panel)) {
    plot + ggplot2::geom_area(position = ggplot2::position_stack(reverse = TRUE), alpha = 0.8, colour = "white")
  } else {
    plot + ggplot2::geom_ribbon(columns(ymin = "lwr", ymax = "upr"), alpha = 0.15, colour = NA) +
      ggplot2::geom_line()
  }
  if (!is.null(panel$points)) {
    levels <- response_levels(fit)
    rows <- data.frame(x = panel$points$x, series = factor(levels[panel$points$class + 1], levels))
    plot <- plot + ggplot2::geom_rug(columns(x = "x", colour = "series"), rows, sides = "b", alpha = 0.6,
      inherit.aes = FALSE)
  }
  plot + effect_series(fit, panel, data) + ggplot2::coord_cartesian(ylim = 0:1) +
    gg_labels(panel, x = panel$labels[1L], y = panel$labels[2L])
}

gg_surface <- function(fit, panel) {
  z <- panel$picture$z[[1L]]
  colours <- surface_colours(fit, z, panel, list())
  lines <- surface_lines(fit, panel, colours)
  sides <- panel$picture$sides
  plot <- gg_image(sides, z, colours, panel$key) + gg_contours(sides, z, lines$at, lines$colour) +
    surface_dots(fit, panel$points, colours)
  if (!is.null(panel$inducing)) {
    crosses <- stats::setNames(panel$inducing, c("x", "y"))
    plot <- plot + gg_points(columns(x = "x", y = "y"), crosses, shape = 4)
  }
  plot + ggplot2::coord_cartesian(expand = FALSE, clip = "off") +
    gg_labels(panel, x = panel$labels[1L], y = panel$labels[2L])
}

#' The observations in an image: in the colour of their value, of classes by shape, or places alone
#' @noRd
surface_dots <- function(fit, points, colours) {
  if (is.null(points)) return(NULL)
  at <- data.frame(x = points$x, y = points$y)
  xy <- columns(x = "x", y = "y")
  if (points$kind == "places") return(gg_points(xy, at, colour = "black", alpha = 0.6, size = 0.6))
  value <- if (is_ordinal(fit)) cell_middles(fit, colours$reach)[points$class + 1] else points$value
  if (is.null(value)) {
    shapes <- c(21, 24)[points$class + 1]
    fills <- c("#2166AC", "#B2182B")[points$class + 1]
    return(gg_points(xy, at, shape = shapes, fill = fills, colour = "white", size = 1.8, stroke = 0.3))
  }
  at$fit <- value
  gg_points(columns(x = "x", y = "y", fill = "fit"), at[!is.na(value), ], shape = 21, colour = "white", stroke = 0.4)
}

#' A matrix as an image, its first index along x; NA is blank
#' @noRd
gg_image <- function(sides, z, colours, key) {
  data <- expand.grid(x = sides[[1L]], y = sides[[2L]], KEEP.OUT.ATTRS = FALSE)
  data$fit <- as.vector(z)
  gg(data, "x", "y") + ggplot2::geom_raster(columns(fill = "fit"), interpolate = FALSE) + gg_colours(colours, key)
}

#' Contours as paths: stat_contour() warns where an image is blank
#' @noRd
gg_contours <- function(sides, z, at, colour) {
  if (all(is.na(z))) return(NULL)
  lines <- grDevices::contourLines(as.numeric(sides[[1L]]), as.numeric(sides[[2L]]), z, levels = at)
  if (!length(lines)) return(NULL)
  paths <- do.call(rbind, lapply(seq_along(lines), function(i) {
    data.frame(x = alike(lines[[i]]$x, sides[[1L]]), y = alike(lines[[i]]$y, sides[[2L]]), line = i)
  }))
  ggplot2::geom_path(columns(x = "x", y = "y", group = "line"), paths, linewidth = 0.3, colour = colour,
    inherit.aes = FALSE)
}

gg_colours <- function(colours, key, none = "transparent") {
  log <- isTRUE(colours$log)
  ggplot2::scale_fill_gradientn(key, colours = colours$palette, na.value = none,
    limits = if (log) 10^colours$reach else colours$reach, trans = if (log) "log10" else "identity",
    oob = function(x, range) pmin(pmax(x, range[1L]), range[2L]),
    guide = ggplot2::guide_colourbar(title.position = "right",
      title.theme = ggplot2::element_text(angle = 90, hjust = 0.5, size = 9), barheight = ggplot2::unit(1.6, "inches")))
}

# The most probable class, stronger where it is surer.
gg_regions <- function(fit, panel) {
  levels <- response_levels(fit)
  prob <- panel$prob
  best <- max.col(ifelse(is.na(prob), 0, prob), ties.method = "first")
  data <- expand.grid(x = panel$sides[[1L]], y = panel$sides[[2L]], KEEP.OUT.ATTRS = FALSE)
  data$series <- factor(ifelse(is.na(prob[, 1L]), NA, levels[best]), levels)
  data$strength <- pmax((prob[cbind(seq_along(best), best)] - 1 / length(levels)) / (1 - 1 / length(levels)), 0)
  at <- panel$points
  points <- if (!is.null(at)) data.frame(x = at$x, y = at$y, series = factor(levels[at$class + 1], levels))
  gg(data, "x", "y") + ggplot2::geom_raster(columns(fill = "series", alpha = "strength")) +
    (if (!is.null(points)) gg_points(columns(x = "x", y = "y", fill = "series", shape = "series"), points,
      colour = "white", size = 1.8, stroke = 0.3)) +
    ggplot2::scale_fill_manual(NULL, values = class_colours(fit, list()), drop = FALSE, na.value = "transparent",
      breaks = levels) +
    ggplot2::scale_shape_manual(NULL, values = class_shapes(length(levels)), drop = FALSE, breaks = levels) +
    ggplot2::scale_alpha_continuous(range = c(0, 0.75), limits = c(0, 1), guide = "none", na.value = 0) +
    ggplot2::coord_cartesian(expand = FALSE, clip = "off") +
    gg_labels(panel, x = panel$labels[1L], y = panel$labels[2L])
}

gg_dots <- function(fit, panel) {
  data <- panel_data(panel)
  order <- order(data$fit)
  shown <- order[unique(round(seq(1, length(order), length.out = min(length(order), most_dots))))]
  if (length(shown) < nrow(data)) {
    panel$note <- sprintf(
      "%d of %s levels, evenly through their order", length(shown), format(nrow(data), big.mark = ",")
    )
  }
  data <- data[shown, ]
  data$x <- factor(as.character(data$x), as.character(data$x))
  gg(data, "fit", "x") + ggplot2::geom_vline(xintercept = 0, linetype = 3, colour = "grey60") +
    ggplot2::geom_pointrange(columns(xmin = "lwr", xmax = "upr"), colour = plot_colours[1L], size = 0.3) +
    gg_labels(panel, x = panel$labels[1L], y = NULL)
}
