# Effects of one input: a curve along a number, or intervals level by level.

# A split is a variable whose values have a curve or a panel each: list(name, variable, values, labels).

by_split <- function(spec) {
  if (is.null(spec$by_levels)) return(NULL)
  name <- variable_name(spec$by)
  list(name = name, variable = list(name = name), values = factor(spec$by_levels, spec$by_levels),
    labels = spec$by_levels)
}

input_split <- function(fit, variable) {
  values <- sort(unique(get_variable(fit$data, variable[[1L]])))
  list(name = names(variable), variable = variable[[1L]], values = values,
    labels = format(values, trim = TRUE, justify = "none"))
}

#' One panel with a curve for each value of `split`, or else of a factor `by`; a panel for each where curves
#' are latents or classes, or the margin has no room for a key
#'
#' @param split A second input of the term.
#' @noRd
curve_panels <- function(fit, spec, variable, settings, split = NULL) {
  splits <- Filter(Negate(is.null), list(split, by_split(spec)))
  settings$scale <- panel_scale(fit, settings, c(names(variable), vapply(splits, `[[`, "", "name")))
  # The right margin of ordinal responses has their levels.
  many <- n_latents(fit) > 1L || is_ordinal(fit) || has_classes(fit) && settings$scale == "response"
  within <- if (!many && length(splits)) splits[[1L]]
  apart <- if (is.null(within)) splits else splits[-1L]
  cells <- expand.grid(lapply(apart, function(split) seq_along(split$values)))
  lapply(seq_len(max(1L, nrow(cells))), function(cell) {
    held <- Map(function(split, i) {
      list(name = split$name, variable = split$variable, values = split$values[i], labels = split$labels[i])
    }, apart, unlist(cells[cell, ]))
    curve_panel(fit, spec, variable, settings, within, held)
  })
}

#' eta along one variable
#'
#' @param within A split with a curve for each of its values, or NULL.
#' @param held Splits of one value, that of the panel.
#' @noRd
curve_panel <- function(fit, spec, variable, settings, within, held) {
  x <- get_variable(fit$data, variable[[1L]])
  grid <- effect_grid(fit, variable[[1L]]$name, x, settings$n, settings$xlim)
  copies <- max(1L, length(within$values))
  frame <- typical_frame(fit, length(grid) * copies)
  frame <- set_variable(frame, variable[[1L]], rep(grid, copies))
  for (split in held) frame <- set_variable(frame, split$variable, rep(split$values, nrow(frame)))
  series <- NULL
  if (!is.null(within)) {
    frame <- set_variable(frame, within$variable, rep(within$values, each = length(grid)))
    series <- factor(rep(within$labels, each = length(grid)), within$labels)
  }
  data <- effect_data(fit, frame, settings, series)
  data <- cbind(stats::setNames(data.frame(rep(grid, length.out = nrow(data))), names(variable)), data)
  splits <- c(if (!is.null(within)) list(within), held)
  shown <- c(names(variable), vapply(splits, `[[`, "", "name"))
  whole <- all(vapply(spec$inputs, variable_name, "") %in% shown)
  name <- if (whole) spec$label else paste0(spec$label, ": ", names(variable))
  values <- vapply(held, function(split) paste(split$name, "=", split$labels), "")
  name <- paste(c(name, values), collapse = ", ")
  along <- is_continuous(x) && length(grid) > 1L
  points <- if (whole && along) data_points(fit, variable[[1L]], splits, settings)
  draw <- if (!along) draw_levels else
    if (has_classes(fit) && settings$scale == "response") draw_classes else draw_curve
  inducing <- if (length(spec$inputs) == 1L && identical(draw, draw_curve)) {
    inducing_at(fit, spec, names(variable))
  }
  panel <- list(
    data = data, points = points, rug = x, inducing = inducing[[1L]], key = within$name,
    labels = c(names(variable), effect_axis(fit, settings$scale)), name = name, scale = settings$scale,
    note = join_notes(
      others_note(fit, shown), offset_note(fit, settings$scale), band_note(data, settings),
      points$note, inducing_note(inducing),
      left_out_note(data$fit, data$lwr, data$upr, data$y_lwr, data$y_upr,
        if (along) points$y[is_along(points$x, grid)])
    )
  )
  twin <- if (!along) gg_levels else if (identical(draw, draw_classes)) gg_classes else gg_curve
  list(
    name = name, data = data, what = "mean", draw = function(look, reach = NULL) draw(fit, panel, look, reach),
    gg = function(reach = NULL) twin(fit, panel, reach)
  )
}

is_along <- function(x, grid) x >= min(grid) & x <= max(grid)

band_note <- function(data, settings) {
  if (is.null(data$y_lwr) || !is.null(data$series)) return(NULL)
  sprintf("%s%% bands: of the mean and, lighter, of new observations", format(100 * settings$level))
}

split_series <- function(data) if (is.null(data$series)) list(data) else split(data, data$series)

series_legend <- function(panel, look, ...) {
  if (is.null(panel$data$series)) return(invisible())
  names <- levels(panel$data$series)
  margin_key(names, series_colours(length(names), look), panel$key, ...)
}

#' What the vertical axis shows: bands, zero of what is positive, most points, thresholds
#' @param reach What panels beside it show, or NULL.
#' @noRd
curve_reach <- function(fit, panel, reach) {
  data <- panel$data
  one <- length(split_series(data)) == 1L
  if (is.null(reach)) reach <- drawn_range(data$lwr, data$upr, if (one) c(data$y_lwr, data$y_upr))
  positive <- panel$scale == "response" && all(data$lwr >= 0, na.rm = TRUE)
  if (positive && !is.null(reach)) reach <- range(reach, 0)
  if (identical(panel$points$kind, "numbers")) {
    reach <- reach_of_points(reach, panel$points$y[is_along(panel$points$x, data[[1L]])])
  }
  if (!is_ordinal(fit)) return(reach)
  range(reach, range(thresholds(fit)) + 0.08 * c(-1, 1) * diff(range(reach, thresholds(fit))))
}

draw_curve <- function(fit, panel, look, reach = NULL) {
  data <- panel$data
  series <- split_series(data)
  ordinal <- is_ordinal(fit)
  reach <- curve_reach(fit, panel, reach)
  names <- if (ordinal) response_levels(fit) else if (length(series) > 1L) levels(data$series)
  open_panel(range(data[[1L]]), reach, panel$labels[1L], panel$labels[2L], panel$name, panel$note, look,
    right = key_room(c(names, panel$key)))
  if (ordinal) draw_thresholds(fit, look)
  colours <- series_colours(length(series), look)
  draw_points(fit, panel$points, as.numeric(panel$rug), colours, look)
  # Many bands hide each other.
  strength <- if (length(series) > 8L) 0.05 else 0.2
  for (k in seq_along(series)) {
    one <- series[[k]]
    # Those of several curves would hide each other.
    predicted <- !is.null(one$y_lwr) && length(series) == 1L
    if (predicted) draw_band(one[[1L]], one$y_lwr, one$y_upr, colours[k], 0.1)
    draw_band(one[[1L]], one$lwr, one$upr, colours[k], if (predicted) 0.25 else strength)
    graphics::lines(one[[1L]], one$fit, col = colours[k], lwd = 2)
    if (length(panel$inducing)) {
      draw_inducing(panel$inducing, stats::approx(as.numeric(one[[1L]]), one$fit, panel$inducing)$y)
    }
  }
  series_legend(panel, look, lwd = 2)
}

levels_reach <- function(fit, panel, reach) {
  data <- panel$data
  if (is.null(reach)) reach <- drawn_range(data$lwr, data$upr, data$y_lwr, data$y_upr)
  if (identical(panel$points$kind, "numbers")) reach <- reach_of_points(reach, panel$points$y)
  if (has_cells(fit, panel)) range(reach, thresholds(fit)) else reach
}

#' Where observations stand beside the intervals of levels: not all in one place, and without random numbers
#' @param k The number of series.
#' @noRd
level_places <- function(points, levels, k) {
  series <- or_else(points$series, 1L)
  aside <- (seq_along(points$x) * 0.6180339887) %% 1 - 0.5
  match(as.character(points$x), levels) + ((series - (k + 1) / 2) * 0.6 + 0.4 * aside) / k
}

#' Are there thresholds of an ordinal response across the panel?
#' @noRd
has_cells <- function(fit, panel) is_ordinal(fit) && panel$scale == "link"

#' Intervals side by side: levels of a factor
#' @noRd
draw_levels <- function(fit, panel, look, reach = NULL) {
  data <- panel$data
  levels <- as.character(unique(data[[1L]]))
  series <- if (is.null(data$series)) rep(1L, nrow(data)) else as.integer(data$series)
  k <- max(series)
  at <- match(as.character(data[[1L]]), levels) + (series - (k + 1) / 2) * 0.6 / k
  of_classes <- has_classes(fit) && panel$scale == "response"
  colour <- (if (of_classes) class_colours(fit, look) else series_colours(k, look))[series]
  ordinal <- has_cells(fit, panel)
  reach <- levels_reach(fit, panel, reach)
  names <- if (k > 1L) c(levels(data$series), panel$key) else if (ordinal) response_levels(fit)
  open_panel(c(0.5, length(levels) + 0.5), reach, panel$labels[1L], panel$labels[2L], panel$name, panel$note,
    look, right = key_room(names), columns = levels)
  if (ordinal) draw_thresholds(fit, look)
  if (panel$scale == "link" && !isTRUE(panel$absolute)) graphics::abline(h = 0, col = "grey60", lty = 3)
  if (identical(panel$points$kind, "numbers")) {
    points <- panel$points
    points$x <- level_places(points, levels, k)
    draw_numbers(points, series_colours(k, look))
  }
  if (!is.null(data$y_lwr)) {
    graphics::segments(at, near_panel(data$y_lwr), at, near_panel(data$y_upr),
      col = fade(colour, 0.25), lwd = 6, lend = 1)
  }
  graphics::segments(at, near_panel(data$lwr), at, near_panel(data$upr), col = fade(colour, 0.6),
    lwd = 3, lend = 1)
  graphics::points(at, data$fit, pch = 19, col = colour)
  if (of_classes) class_key(fit, look, pch = 19) else series_legend(panel, look, pch = 19)
}
