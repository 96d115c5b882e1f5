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

#' One draft with a curve for each value of `split`, or else of a factor `by`; a panel for each where curves
#' are latents or classes, or the margin has no room for a key
#'
#' @param split A second input of the term.
#' @noRd
curve_drafts <- function(fit, spec, variable, settings, split = NULL) {
  splits <- not_null(list(split, by_split(spec)))
  settings$scale <- panel_scale(fit, settings, c(names(variable), vapply(splits, `[[`, "", "name")))
  # The right margin of ordinal responses has their levels.
  many <- n_latents(fit) > 1L || is_ordinal(fit) || has_classes(fit) && settings$scale == "response"
  within <- if (!many && length(splits)) splits[[1L]]
  apart <- if (is.null(within)) splits else splits[-1L]
  each_held(apart, function(held) curve_draft(fit, spec, variable, settings, within, held))
}

#' f of each combination of one value of every split, which a panel holds; where there is none, f of none
#' @noRd
each_held <- function(splits, f) {
  cells <- expand.grid(lapply(splits, function(split) seq_along(split$values)))
  lapply(seq_len(max(1L, nrow(cells))), function(cell) {
    f(Map(function(split, i) {
      split[c("values", "labels")] <- list(split$values[i], split$labels[i])
      split
    }, splits, unlist(cells[cell, ])))
  })
}

curve_panels <- function(fit, ...) lapply(curve_drafts(fit, ...), effect_panel, fit = fit)

#' eta along one variable
#'
#' A draft of a panel: list(data, points: from data_points(), rug, inducing, labels, name, note, scale, key: its title,
#' as: what makes the panel, a function of the fit, the draft and its settings, settings: list(xlim, ylim)). It is no
#' panel yet as several may share what their vertical axes show.
#'
#' @param within A split with a curve for each of its values, or NULL.
#' @param held Splits of one value, that of the panel.
#' @noRd
curve_draft <- function(fit, spec, variable, settings, within, held) {
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
  of_classes <- has_classes(fit) && settings$scale == "response"
  as <- if (!along) levels_panel else if (of_classes) class_panel else curve_panel
  inducing <- if (length(spec$inputs) == 1L && identical(as, curve_panel)) inducing_at(fit, spec, names(variable))
  list(
    data = data, points = points, rug = x, inducing = inducing[[1L]], key = within$name, as = as,
    labels = c(names(variable), effect_axis(fit, settings$scale)), name = name, scale = settings$scale,
    settings = settings[c("xlim", "ylim")],
    note = join_notes(
      others_note(fit, shown), offset_note(fit, settings$scale), band_note(data, settings),
      points$note, inducing_note(inducing),
      left_out_note(data$fit, data$lwr, data$upr, data$y_lwr, data$y_upr,
        if (along) points$y[is_along(points$x, grid)])
    )
  )
}

#' @param reach What the vertical axes of all such panels have to show, or NULL.
#' @noRd
effect_panel <- function(draft, fit, reach = NULL) draft$as(fit, draft, c(draft$settings, list(reach = reach)))

is_along <- function(x, grid) x >= min(grid) & x <= max(grid)

band_note <- function(data, settings) {
  if (is.null(data$y_lwr) || !is.null(data$series)) return(NULL)
  sprintf("%s%% bands: of the mean and, lighter, of new observations", format(100 * settings$level))
}

#' The data of a curve as marks have them; one series where there are no several
#' @noRd
curve_data <- function(data) {
  at <- data.frame(x = data[[1L]], y = data$fit, lower = data$lwr, upper = data$upr)
  at$series <- or_else(data$series, factor(rep("", nrow(data))))
  at
}

series_key <- function(series, draft, ...) if (length(series$names) > 1L) list(title = draft$key, ...)

#' What the vertical axis shows: bands, zero of what is positive, most points, thresholds
#' @param reach What panels beside it show, or NULL.
#' @noRd
curve_reach <- function(fit, panel, reach) {
  data <- panel$data
  one <- is.null(data$series) || nlevels(data$series) == 1L
  if (is.null(reach)) reach <- drawn_range(data$lwr, data$upr, if (one) c(data$y_lwr, data$y_upr))
  positive <- panel$scale == "response" && all(data$lwr >= 0, na.rm = TRUE)
  if (positive && !is.null(reach)) reach <- range(reach, 0)
  if (identical(panel$points$kind, "numbers")) {
    reach <- reach_of_points(reach, panel$points$y[is_along(panel$points$x, data[[1L]])])
  }
  if (!is_ordinal(fit)) return(reach)
  range(reach, range(thresholds(fit)) + 0.08 * c(-1, 1) * diff(range(reach, thresholds(fit))))
}

curve_panel <- function(fit, draft, settings) {
  data <- draft$data
  at <- curve_data(data)
  series <- series_of(levels(at$series))
  several <- length(series$names) > 1L
  ylim <- curve_reach(fit, draft, settings$reach)
  # Those of several curves would hide each other.
  predicted <- !is.null(data$y_lwr) && !several
  # Many bands hide each other.
  strength <- if (predicted) 0.25 else if (length(series$names) > 8L) 0.05 else 0.2
  new_panel(draft$name, data, c(
    list(if (is_ordinal(fit)) cells_mark(fit)),
    point_marks(fit, draft, series$names, window_of(or_else(settings$xlim, range(at$x))),
      window_of(or_else(settings$ylim, ylim))),
    list(
      if (predicted) mark("band", transform(at, lower = data$y_lwr, upper = data$y_upr), alpha = 0.1),
      mark("band", at, alpha = strength), mark("line", at, lwd = 2)
    ),
    inducing_marks(draft$inducing, at)
  ), draft$labels, draft$note, range(at$x), ylim, series = series, key = series_key(series, draft, lwd = 2))
}

#' Crosses on each curve at the inducing points
#' @noRd
inducing_marks <- function(inducing, at) {
  if (!length(inducing)) return(NULL)
  lapply(split(at, at$series), function(one) {
    cross_mark(alike(inducing, at$x), stats::approx(as.numeric(one$x), one$y, inducing)$y)
  })
}

cross_mark <- function(x, y) mark("points", data.frame(x = x, y = y), "grey10", pch = 4, lwd = 1.5)

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
levels_panel <- function(fit, draft, settings) {
  data <- draft$data
  at <- curve_data(data)
  levels <- as.character(unique(data[[1L]]))
  k <- nlevels(at$series)
  at$x <- match(as.character(data[[1L]]), levels) + (as.integer(at$series) - (k + 1) / 2) * 0.6 / k
  of_classes <- has_classes(fit) && draft$scale == "response"
  series <- if (of_classes) class_series(fit) else series_of(levels(at$series))
  ylim <- levels_reach(fit, draft, settings$reach)
  interval <- function(lower, upper) data.frame(x = at$x, y = lower, xend = at$x, yend = upper, series = at$series)
  points <- draft$points
  if (identical(points$kind, "numbers")) points$x <- level_places(points, levels, k)
  new_panel(draft$name, data, c(
    list(
      if (has_cells(fit, draft)) cells_mark(fit),
      if (draft$scale == "link" && !isTRUE(draft$absolute)) mark("rule", data.frame(horizontal = 0), "grey60", lty = 3)
    ),
    if (identical(points$kind, "numbers")) {
      number_marks(points, series$names, window_of(or_else(settings$ylim, ylim)))
    },
    list(
      if (!is.null(data$y_lwr)) mark("segments", interval(data$y_lwr, data$y_upr), alpha = 0.25, lwd = 6, lend = 1),
      mark("segments", interval(data$lwr, data$upr), alpha = 0.6, lwd = 3, lend = 1),
      mark("points", at)
    )
  ), draft$labels, draft$note, NULL, ylim, columns = levels, series = series,
    key = if (of_classes) class_key(fit, pch = 19) else series_key(series, draft, pch = 19))
}
