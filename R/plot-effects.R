# Effects: each panel is list(name, data, draw, gg), computed first and drawn afterwards. Its drawings in base graphics
# and in ggplot2 (R/autoplot-effects.R) are functions of the fit, which knows its classes, and of what there is to draw.

#' @return list(data: a named list with a data frame per panel, panels)
#' @noRd
effect_panels <- function(fit, settings) {
  if (is_distributional(fit)) return(panels_of_both(fit, settings))
  labels <- settings$terms
  known <- fit$design$labels
  if (!is.null(labels)) for (label in labels) check_choice(label, known, "terms")
  chosen <- if (is.null(labels)) seq_along(known) else match(labels, known)
  panels <- lapply(fit$design$specs[chosen], function(spec) term_type(spec)$panels(fit, spec, settings))
  panels <- unlist(panels, recursive = FALSE)
  if (!length(panels)) stop_galvi("argument", "`which = \"effects\"` needs a term besides the intercept.")
  list_panels(panels_of(panels, settings$what))
}

#' The panels of means or sds alone, where these were asked for
#' @noRd
panels_of <- function(panels, what) {
  if (is.null(what)) return(panels)
  panels <- Filter(function(panel) panel$what %in% what, panels)
  if (length(panels)) return(panels)
  stop_galvi("argument", paste(
    "`what = \"sd\"` is for images and maps: terms of two numbers, spde(), and regions with a `map`. Of other effects",
    "draw the \"mean\", with its credible band or interval."
  ))
}

list_panels <- function(panels) {
  names <- make.unique(vapply(panels, `[[`, "", "name"))
  list(data = stats::setNames(lapply(panels, `[[`, "data"), names), panels = panels)
}

#' A panel of these two drawings
#' @noRd
panel_of <- function(fit, panel, draw, gg) {
  list(
    name = panel$name, data = panel$data, what = or_else(panel$what, "mean"),
    draw = function(look) draw(fit, panel, look), gg = function() gg(fit, panel)
  )
}

#' Panels of each predictor's terms, on its link or on the scale of its parameter
#' @noRd
panels_of_both <- function(fit, settings) {
  if (settings$scale == "auto") settings$scale <- "link"
  labels <- settings$terms
  views <- lapply(1:2, function(k) predictor_view(fit, k))
  known <- lapply(views, function(view) setdiff(view$design$labels, empty_terms(view)))
  if (!is.null(labels)) for (label in labels) check_choice(label, unlist(known), "terms")
  panels <- Map(function(view, known) {
    settings$terms <- if (is.null(labels)) known else intersect(known, labels)
    if (link_has(view$family, "same_units")) settings$scale <- "link"
    if (length(settings$terms)) effect_panels(view, settings)$panels
  }, views, known)
  panels <- unlist(panels, recursive = FALSE)
  if (!length(panels)) stop_galvi("argument", "`which = \"effects\"` needs a term besides the intercept.")
  list_panels(panels)
}

#' Fixed effects that are an intercept alone have no panel
#' @noRd
empty_terms <- function(view) if (!length(attr(view$design$terms, "term.labels"))) fixed_label

#' A term along its inputs: curves, a surface for two of them, a panel for each of the most relevant of more
#' @noRd
input_panels <- function(fit, spec, settings) {
  names <- vapply(spec$inputs, variable_name, "")
  variables <- Filter(function(v) v$name %in% names, frame_variables(fit))
  varies <- vapply(variables, function(v) varies(get_variable(fit$data, v)), NA)
  # without any, one stands for the single point that is known
  variables <- if (any(varies)) variables[varies] else variables[1L]
  if (length(variables) == 1L) return(curve_panels(fit, spec, variables, settings))
  groups <- vapply(variables, function(v) is_grouping(get_variable(fit$data, v)), NA)
  if (length(variables) == 2L && any(groups)) {
    # Along the number, or of two groupings along the one with more levels.
    levels <- vapply(variables, function(v) length(unique(get_variable(fit$data, v))), 1L)
    along <- which.max(ifelse(groups, levels, Inf))
    return(curve_panels(fit, spec, variables[along], settings, input_split(fit, variables[-along])))
  }
  if (length(variables) == 2L && is.null(spec$by)) return(surface_panels(fit, spec, variables, settings))
  best <- utils::head(order(-input_relevance(fit, variables)), settings$max_inputs)
  panels <- lapply(best, function(j) curve_panels(fit, spec, variables[j], settings))
  panels <- unlist(panels, recursive = FALSE)
  # One scale for all, so that the eye sees what matters.
  reach <- drawn_range(unlist(lapply(panels, function(panel) c(panel$data$lwr, panel$data$upr))))
  lapply(panels, function(panel) {
    draw <- panel$draw
    gg <- panel$gg
    panel$draw <- function(look) draw(look, reach)
    panel$gg <- function() gg(reach)
    panel
  })
}

#' Does a variable tell groups, rather than measure something?
#' @noRd
is_grouping <- function(x) !is_continuous(x) || length(unique(x)) == 2L

#' Is there anything besides these variables that is fixed at typical values?
#' @noRd
others_held <- function(fit, shown) length(setdiff(names(frame_variables(fit)), shown)) > 0L

others_note <- function(fit, shown) if (others_held(fit, shown)) "other variables at typical values"

join_notes <- function(...) {
  notes <- c(...)
  if (length(notes)) paste(notes, collapse = "; ")
}

#' The scale that was asked for. Else probabilities of several classes and the size of a volatility, which the
#' latent values do not show; the linear predictor of ordinal and binary responses; the response itself where
#' the panel shows all variables, so that its observations belong there
#' @noRd
panel_scale <- function(fit, settings, shown) {
  if (settings$scale != "auto") return(settings$scale)
  if (n_latents(fit) > 1L || is_volatility(fit)) return("response")
  if (!is.null(response_levels(fit)) || link_has(fit$family, "same_units")) return("link")
  if (others_held(fit, shown)) "link" else "response"
}

#' Posterior of eta, or of E[y | eta], at a model frame: columns series, fit, lwr, upr
#'
#' On the response scale with y_lwr and y_upr, the limits of a prediction interval, where a new response is a
#' number.
#' @param series NULL, or a factor with an element per row of the frame: curves of one panel. With K > 1 the
#'   series are the latents, of probabilities the classes.
#' @noRd
effect_data <- function(fit, frame, settings, series = NULL) {
  marginals <- frame_marginals(fit, frame)
  if (settings$scale == "response" && has_classes(fit)) return(class_data(fit, marginals, settings$level))
  pieces <- lapply(seq_len(n_latents(fit)), function(k) {
    one <- list(mean = marginals$mean[, k, drop = FALSE], variance = marginals$variance[, k, drop = FALSE])
    if (settings$scale == "response") return(response_data(fit, one, settings$level))
    limits <- credible_limits(one, settings$level)
    data.frame(fit = one$mean[, 1L], lwr = limits[, 1L], upr = limits[, 2L])
  })
  if (length(pieces) > 1L) return(stack_series(pieces, latent_names(fit)))
  if (is.null(series)) pieces[[1L]] else cbind(series = series, pieces[[1L]])
}

response_data <- function(fit, marginals, level) {
  limits <- response_limits(fit, marginals, level)
  data <- data.frame(fit = response_mean(fit, marginals), lwr = limits[, 1L], upr = limits[, 2L])
  # How far the rate of a new observation is from its mean depends on its exposure.
  parameter <- !is.null(fit$parameter)
  if (parameter || !is.null(response_levels(fit)) || is_volatility(fit) || has_offset(fit)) return(data)
  quantile <- function(p) response_moment(fit, marginals, "quantile", probability = p)
  data$y_lwr <- quantile(tails(level)[1L])
  data$y_upr <- quantile(tails(level)[2L])
  data
}

stack_series <- function(pieces, names) {
  rows <- nrow(pieces[[1L]])
  cbind(series = factor(rep(names, each = rows), names), do.call(rbind, pieces))
}

effect_axis <- function(fit, scale) {
  offset <- has_offset(fit)
  if (!is.null(fit$parameter)) {
    on_link <- scale == "link" && fit$family$link != "identity"
    return(paste0(fit$parameter, if (on_link) sprintf(" (%s scale)", fit$family$link)))
  }
  if (link_has(fit$family, "same_units")) {
    return(paste0(location_words(fit), if (offset) " without the offset"))
  }
  if (scale == "link") {
    return(paste0("linear predictor (", link_words(fit), if (offset) ", without the offset", ")"))
  }
  if (has_classes(fit)) return("probability")
  if (is_volatility(fit)) return("sd of the response")
  event <- if (any(fit$model$size != 1)) "success" else response_levels(fit)[2L]
  if (!is.null(event)) return(paste("probability of", event))
  exposed <- offset && link_has(fit$family, "rates")
  paste0("mean of ", fit$design$response$name, if (exposed) " per unit of exposure")
}

has_offset <- function(fit) any(fit$model$offset != 0)

#' What becomes of the offset where the response is drawn
#' @noRd
offset_note <- function(fit, scale) {
  if (!has_offset(fit) || scale == "link" || link_has(fit$family, "same_units")) return(NULL)
  if (link_has(fit$family, "rates")) "rates per unit of exposure (offset 0)" else "at offset 0"
}

#' On the identity link the linear predictor is what the response scatters around
#' @noRd
location_words <- function(fit) paste(family_type(fit$family)$location, "of", fit$design$response$name)

# ---- one input ----

#' Numbers, dates and times make curves; the rest is drawn level by level
#' @noRd
is_continuous <- function(x) is.numeric(x) || inherits(x, c("Date", "POSIXct"))

#' Where a curve is drawn: n points; the steps of a variable that is also the time of a walk; of one that does
#' not vary its value
#'
#' @param limits Where the curve begins and ends, as the user wants it; NULL for the range of the data.
#' @noRd
effect_grid <- function(fit, name, x, n, limits = NULL) {
  if (!is_continuous(x)) return(sort(unique(x)))
  fields <- Filter(function(spec) has_levels(spec) && name %in% input_names(list(spec)), fit$design$specs)
  if (!all(term_can(fields, "steps"))) return(sort(unique(x)))
  ends <- range(as.numeric(or_else(limits, x)))
  if (is.null(limits) && !varies(x)) return(alike(ends[1L], range(x)))
  if (!length(fields)) return(alike(seq(ends[1L], ends[2L], length.out = n), range(x)))
  steps <- alike(seq(ceiling(ends[1L]), floor(ends[2L]), by = 1), range(x))
  steps[unique(round(seq(1, length(steps), length.out = min(length(steps), 10 * n))))]
}

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
  if (has_cells(fit, panel)) range(reach, thresholds(fit)) else reach
}

#' Are there thresholds of an ordinal response across the panel?
#' @noRd
has_cells <- function(fit, panel) is_ordinal(fit) && panel$scale == "link" && !isTRUE(panel$coefficients)

#' Intervals side by side: levels of a factor, or coefficients
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
  if (panel$scale == "link") graphics::abline(h = 0, col = "grey60", lty = 3)
  if (!is.null(data$y_lwr)) {
    graphics::segments(at, near_panel(data$y_lwr), at, near_panel(data$y_upr),
      col = fade(colour, 0.25), lwd = 6, lend = 1)
  }
  graphics::segments(at, near_panel(data$lwr), at, near_panel(data$upr), col = fade(colour, 0.6),
    lwd = 3, lend = 1)
  graphics::points(at, data$fit, pch = 19, col = colour)
  if (of_classes) class_key(fit, look, pch = 19) else series_legend(panel, look, pch = 19)
}

# ---- coefficients ----

#' The intercept is left out: it is no effect, and its size would hide the others
#' @noRd
coefficient_panels <- function(fit, spec, settings) {
  coefficients <- fixed_coefficients(fit)
  keep <- rownames(coefficients$mean) != "(Intercept)"
  if (!any(keep)) return(NULL)
  z <- stats::qnorm(tails(settings$level))
  names <- rownames(coefficients$mean)[keep]
  data <- lapply(seq_len(n_latents(fit)), function(k) {
    mean <- coefficients$mean[keep, k]
    sd <- sqrt(diag(coefficients$covariance[[k]])[keep])
    one <- data.frame(
      coefficient = names, fit = mean, lwr = mean + z[1L] * sd, upr = mean + z[2L] * sd, row.names = NULL
    )
    if (n_latents(fit) > 1L) one$series <- factor(latent_names(fit)[k], latent_names(fit))
    one
  })
  data <- do.call(rbind, data)
  panel <- list(data = data, labels = c("", in_units("coefficient", fit)),
    name = "Fixed effects", scale = "link", coefficients = TRUE, note = left_out_note(data$lwr, data$upr))
  reach <- drawn_range(0, data$lwr, data$upr)
  list(list(
    name = spec$label, data = data, what = "mean", draw = function(look) draw_levels(fit, panel, look, reach),
    gg = function() gg_levels(fit, panel, reach)
  ))
}
