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

beta_limits <- function(mean, sd, level) {
  mean <- pmin(pmax(mean, 0), 1)
  # a sd is at most that of the two outcomes alone, and at 1e-8 the band is a line
  precision <- mean * (1 - mean) / sd^2 - 1
  spread <- is.finite(precision) & precision < 1e16
  limits <- matrix(mean, length(mean), 2L)
  for (side in 1:2) {
    p <- tails(level)[side]
    limits[spread, side] <- beta_quantile(p, mean[spread], pmax(precision[spread], 0))
  }
  limits
}

#' The quantile of the beta distribution with shapes mean * precision and (1 - mean) * precision; with
#' precision 0 of the two outcomes
#'
#' stats::qbeta() is not safe where a shape is tiny: with 0.02 and 1e-11 it passes one. pbeta() is, and it is
#' monotone: its root by halving, in the log odds, which know small quantiles and those near one.
#' @noRd
beta_quantile <- function(p, mean, precision) {
  a <- mean * precision
  b <- (1 - mean) * precision
  two <- pmin(a, b) < 1e-300
  # the log odds of doubles
  low <- rep(-745, length(mean))
  high <- -low
  for (halving in 1:64) {
    middle <- (low + high) / 2
    # from the end that is nearer, so that no digits are lost
    below <- ifelse(middle < 0, stats::pbeta(stats::plogis(middle), a, b) < p,
      stats::pbeta(stats::plogis(-middle), b, a, lower.tail = FALSE) < p)
    low <- ifelse(below, middle, low)
    high <- ifelse(below, high, middle)
  }
  ifelse(two, as.numeric(p > 1 - mean), stats::plogis((low + high) / 2))
}

#' Ordered classes from dark to light, others in colours that differ
#' @noRd
class_colours <- function(fit, look) {
  n <- length(response_levels(fit))
  if (!is_ordinal(fit)) return(series_colours(n, look))
  look_colours(look, grDevices::hcl.colors(n + 1L, "Viridis")[seq_len(n)])
}

class_key <- function(fit, look, ...) {
  # The highest level on top, as in the panel.
  order <- seq_along(response_levels(fit))
  if (is_ordinal(fit)) order <- rev(order)
  margin_key(response_levels(fit)[order], class_colours(fit, look)[order], ...)
}

# ---- one input ----

#' Curves of the classes' probabilities, stacked areas if they are ordered; the observations as ticks below
#' @noRd
draw_classes <- function(fit, panel, look, reach = NULL) {
  series <- split_series(panel$data)
  colours <- class_colours(fit, look)
  # low enough for no tick of the axis to be below zero
  height <- if (is.null(panel$points)) 0 else min(0.035, 0.14 / length(series))
  x <- panel$data[[1L]][seq_len(nrow(series[[1L]]))]
  open_panel(range(x), c(-height * length(series), 1), panel$labels[1L], panel$labels[2L], panel$name,
    panel$note, look, right = key_room(response_levels(fit)))
  stacked <- is_stacked(fit, panel)
  if (stacked) draw_stack(x, series, colours) else draw_probabilities(x, series, colours)
  draw_strips(panel$points, colours, height, top_first = !is_ordinal(fit))
  if (stacked) class_key(fit, look, pch = 15, pt.cex = 1.5) else class_key(fit, look, lwd = 2)
}

is_stacked <- function(fit, panel) is_ordinal(fit) && !isTRUE(panel$lines)

draw_probabilities <- function(x, series, colours) {
  strength <- min(0.15, 0.6 / length(series))
  for (k in seq_along(series)) draw_band(x, series[[k]]$lwr, series[[k]]$upr, colours[k], strength)
  for (k in seq_along(series)) graphics::lines(x, series[[k]]$fit, col = colours[k], lwd = 2)
}

draw_stack <- function(x, series, colours) {
  below <- 0 * series[[1L]]$fit
  for (k in seq_along(series)) {
    above <- if (k == length(series)) 1 + 0 * below else below + series[[k]]$fit
    graphics::polygon(c(x, rev(x)), c(below, rev(above)), col = fade(colours[k], 0.8), border = "white")
    below <- above
  }
}

#' A row of ticks per class under the axis of zero, the first class on top or at the bottom
#' @noRd
draw_strips <- function(points, colours, height, top_first) {
  if (is.null(points)) return(invisible())
  graphics::abline(h = 0, col = "grey40", lwd = 0.8)
  for (k in seq_along(colours)) {
    x <- as.numeric(points$x)[points$class == k - 1]
    # a panel of one level of a factor may have no row of a class
    if (!length(x)) next
    row <- if (top_first) k else length(colours) + 1L - k
    graphics::segments(x, -(row - 0.9) * height, x, -(row - 0.1) * height, col = fade(colours[k], 0.7))
  }
}

#' Thresholds across the panel, the levels between them in the right margin
#' @noRd
draw_thresholds <- function(fit, look) {
  at <- thresholds(fit)
  usr <- graphics::par("usr")
  graphics::abline(h = at, col = "grey35", lty = 2)
  bounds <- pmin(pmax(c(usr[3L], at, usr[4L]), usr[3L]), usr[4L])
  height <- graphics::strheight("Mg", cex = 0.85)
  middle <- spread_out((bounds[-1L] + bounds[-length(bounds)]) / 2, 1.2 * height, usr[3:4])
  graphics::text(usr[2L] + 0.015 * (usr[2L] - usr[1L]), middle,
    fit_text(response_levels(fit), graphics::par("mai")[4L] - 0.1, 0.85),
    adj = c(0, 0.5), cex = 0.85, col = class_colours(fit, look), xpd = NA)
}

#' Ascending positions moved apart until none are nearer than `gap`, inside `range` if that has the room
#' @noRd
spread_out <- function(at, gap, range) {
  for (round in 1:50) {
    near <- which(diff(at) < 0.999 * gap)
    if (!length(near)) break
    for (i in near) {
      push <- (gap - (at[i + 1L] - at[i])) / 2
      if (push > 0) at[i + 0:1] <- at[i + 0:1] + c(-push, push)
    }
  }
  at + max(0, range[1L] - at[1L]) - max(0, at[length(at)] - range[2L])
}

#' Observations of an ordinal response somewhere in the cell of their level, of others as ticks below
#' @noRd
draw_in_cells <- function(fit, points, look) {
  x <- as.numeric(points$x)
  if (!points$in_cells) {
    suppressWarnings(graphics::rug(x, ticksize = 0.02, col = fade("grey20", 0.4)))
    return(invisible())
  }
  usr <- graphics::par("usr")
  many <- length(x) > 500
  graphics::points(x, in_cells(points$class, c(usr[3L], thresholds(fit), usr[4L])), pch = 19,
    cex = if (many) 0.3 else 0.5,
    col = fade(class_colours(fit, look)[points$class + 1L], if (many) 0.4 else 0.6))
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
  panel_of(fit, list(
    data = data, sides = picture$sides, prob = vapply(picture$z, as.vector, numeric(length(picture$z[[1L]]))),
    points = if (!is_counts(fit)) list(x = grid$x[[1L]], y = grid$x[[2L]], class = fit$model$y),
    labels = labels, name = spec$label, note = join_notes(
      others_note(fit, labels), far_note(grid), "the most probable class, with contours of its probability"
    )
  ), draw_regions, gg_regions)
}

draw_regions <- function(fit, panel, look) {
  prob <- panel$prob
  sides <- panel$sides
  colours <- class_colours(fit, look)
  near <- !is.na(prob[, 1L])
  best <- max.col(ifelse(is.na(prob), 0, prob), ties.method = "first")
  highest <- ifelse(near, prob[cbind(seq_along(best), best)], 1)
  # From white where all classes are alike to the full colour where one is certain.
  strength <- 0.75 * (highest - 1 / ncol(prob)) / (1 - 1 / ncol(prob))
  rgb <- t(grDevices::col2rgb(colours))[best, ]
  mixed <- ifelse(near, grDevices::rgb(255 + strength * (rgb - 255), maxColorValue = 255), NA)
  open_panel(range(sides[[1L]]), range(sides[[2L]]), panel$labels[1L], panel$labels[2L], panel$name, panel$note,
    look, right = key_room(response_levels(fit)), tight = TRUE)
  draw_picture(matrix(mixed, length(sides[[1L]])), sides)
  for (k in seq_along(colours)) {
    z <- matrix(prob[, k], length(sides[[1L]]))
    draw_contours(sides, z, c(0.5, 0.7, 0.9), col = darken(colours[k]), lwd = 0.8, labcex = 0.65)
  }
  # Borders: where the highest probability passes to another class.
  for (k in seq_along(colours)) {
    ahead <- prob[, k] - apply(prob[, -k, drop = FALSE], 1L, max)
    draw_contours(sides, matrix(ahead, length(sides[[1L]])), 0, drawlabels = FALSE, col = "grey15", lwd = 1.4)
  }
  shapes <- class_shapes(length(colours))
  if (!is.null(panel$points)) {
    points <- inside_panel(panel$points)
    which <- points$class + 1L
    graphics::points(points$x, points$y, pch = shapes[which], bg = colours[which], col = "white", lwd = 0.6,
      cex = point_size(length(points$x)), xpd = NA)
  }
  graphics::box()
  margin_key(response_levels(fit), "grey30", pch = if (is.null(panel$points)) 22 else shapes, pt.bg = colours)
}

darken <- function(colour) grDevices::rgb(t(0.65 * grDevices::col2rgb(colour)), maxColorValue = 255)

class_shapes <- function(n) rep_len(c(21, 24, 22, 23, 25), n)

#' contour() warns where a level is not reached, which is no news
#' @noRd
draw_contours <- function(sides, z, levels, ...) {
  if (all(is.na(z))) return(invisible())
  reached <- levels[levels > min(z, na.rm = TRUE) & levels < max(z, na.rm = TRUE)]
  labels <- if (is.null(names(reached))) format(reached) else names(reached)
  if (!length(reached)) return(invisible())
  sides <- lapply(sides, as.numeric)
  graphics::contour(sides[[1L]], sides[[2L]], z, levels = reached, labels = labels, add = TRUE, ...)
}
