# Effects: each panel is list(name, data, draw), computed first and drawn afterwards.

#' @return list(data: a named list with a data frame per panel, draw: a list of functions)
#' @noRd
effect_panels <- function(fit, labels, settings) {
  known <- fit$design$labels
  if (!is.null(labels)) for (label in labels) check_choice(label, known, "terms")
  chosen <- if (is.null(labels)) seq_along(known) else match(labels, known)
  panels <- lapply(fit$design$specs[chosen], function(spec) term_panels(fit, spec, settings))
  panels <- unlist(panels, recursive = FALSE)
  if (!length(panels)) stop_galvi("argument", "`which = \"effects\"` needs a term besides the intercept.")
  names(panels) <- make.unique(vapply(panels, `[[`, "", "name"))
  list(data = lapply(panels, `[[`, "data"), draw = unname(lapply(panels, `[[`, "draw")))
}

term_panels <- function(fit, spec, settings) {
  if (spec$type == "fixed") return(coefficient_panels(fit, spec, settings))
  if (spec$type %in% c("iid", "gmrf")) return(group_panels(fit, spec, settings))
  names <- vapply(spec$inputs, variable_name, "")
  variables <- Filter(function(v) v$name %in% names, frame_variables(fit))
  varies <- vapply(variables, function(v) length(unique(get_variable(fit$data, v))) > 1L, NA)
  if (any(varies)) variables <- variables[varies]
  numbers <- vapply(variables, function(v) is.numeric(get_variable(fit$data, v)), NA)
  if (length(variables) == 1L) return(curve_panels(fit, spec, variables, settings))
  if (length(variables) == 2L && all(numbers) && is.null(spec$by)) {
    return(surface_panels(fit, spec, variables, settings))
  }
  best <- utils::head(order(-input_relevance(fit, variables)), settings$max_inputs)
  panels <- lapply(best, function(j) curve_panels(fit, spec, variables[j], settings))
  panels <- unlist(panels, recursive = FALSE)
  # One scale for all, so that the eye sees what matters.
  reach <- range(vapply(panels, function(panel) range(panel$data$lwr, panel$data$upr), c(0, 0)))
  lapply(panels, function(panel) {
    draw <- panel$draw
    panel$draw <- function() draw(reach)
    panel
  })
}

#' Is there anything besides these variables that is held at typical values?
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
  if (!is.null(response_levels(fit)) || fit$family$link == "identity") return("link")
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
  if (!is.null(response_levels(fit)) || is_volatility(fit)) return(data)
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
  if (fit$family$link == "identity") return(location_words(fit))
  if (scale == "link") return(paste0("linear predictor (", link_words(fit), ")"))
  if (has_classes(fit)) return("probability")
  if (is_volatility(fit)) return("sd of the response")
  event <- response_levels(fit)[2L]
  if (is.null(event)) "mean of the response" else paste("probability of", event)
}

#' On the identity link the linear predictor is what the response scatters around
#' @noRd
location_words <- function(fit) {
  what <- c(student = "centre", laplace = "median")[fit$family$family]
  paste(if (is.na(what)) "mean" else what, "of", fit$design$response$name)
}

# ---- one input ----

#' Numbers, dates and times make curves; the rest is drawn level by level
#' @noRd
is_continuous <- function(x) is.numeric(x) || inherits(x, c("Date", "POSIXct"))

#' Where a curve is drawn: n points; the steps of a variable that is also the time of a walk
#' @noRd
effect_grid <- function(fit, name, x, n) {
  if (!is_continuous(x)) return(sort(unique(x)))
  fields <- Filter(function(spec) is_field(spec) && name %in% input_names(list(spec)), fit$design$specs)
  types <- vapply(fields, `[[`, "", "type")
  if (any(types %in% c("iid", "gmrf"))) return(sort(unique(x)))
  if (!length(types)) return(seq(min(x), max(x), length.out = n))
  steps <- seq(min(x), max(x), by = 1)
  steps[unique(round(seq(1, length(steps), length.out = min(length(steps), 10 * n))))]
}

#' One panel, or where the curves are latents or classes one for each level of a factor `by`
#' @noRd
curve_panels <- function(fit, spec, variable, settings) {
  levels <- if (is.null(spec$by_levels)) list(NULL) else list(spec$by_levels)
  by <- if (!is.null(spec$by)) variable_name(spec$by)
  settings$scale <- panel_scale(fit, settings, c(names(variable), by))
  many <- n_latents(fit) > 1L || has_classes(fit) && settings$scale == "response"
  if (many && !is.null(spec$by_levels)) levels <- as.list(spec$by_levels)
  lapply(levels, function(of) curve_panel(fit, spec, variable, settings, of))
}

#' eta along one variable, a curve for each of the `levels` of a factor `by`
#' @noRd
curve_panel <- function(fit, spec, variable, settings, levels = NULL) {
  x <- get_variable(fit$data, variable[[1L]])
  grid <- effect_grid(fit, variable[[1L]]$name, x, settings$n)
  by <- list(name = if (!is.null(levels)) variable_name(spec$by))
  copies <- max(1L, length(levels))
  frame <- typical_frame(fit, length(grid) * copies)
  frame <- set_variable(frame, variable[[1L]], rep(grid, copies))
  series <- if (!is.null(levels)) factor(rep(levels, each = length(grid)), spec$by_levels)
  if (!is.null(levels)) frame <- set_variable(frame, by, series)
  data <- effect_data(fit, frame, settings, if (copies > 1L) series)
  data <- cbind(stats::setNames(data.frame(rep(grid, length.out = nrow(data))), names(variable)), data)
  single <- length(spec$inputs) == 1L && is.null(variable[[1L]]$column)
  shown <- c(names(variable), by$name)
  name <- if (single) spec$label else paste0(spec$label, ": ", names(variable))
  if (!is.null(levels) && copies == 1L) name <- paste0(name, ", ", by$name, " = ", levels)
  points <- if (single && is_continuous(x)) data_points(fit, variable[[1L]], by, settings, levels)
  draw <- if (!is_continuous(x)) draw_levels else
    if (has_classes(fit) && settings$scale == "response") draw_classes else draw_curve
  inducing <- if (single && identical(draw, draw_curve)) inducing_at(fit, spec, names(variable))
  panel <- list(
    data = data, points = points, rug = x, inducing = inducing[[1L]],
    labels = c(names(variable), effect_axis(fit, settings$scale)), name = name, scale = settings$scale,
    note = join_notes(
      others_note(fit, shown), band_note(data, settings), points$note, inducing_note(inducing)
    )
  )
  list(name = name, data = data, draw = function(reach = NULL) draw(fit, panel, reach))
}

band_note <- function(data, settings) {
  if (is.null(data$y_lwr) || !is.null(data$series)) return(NULL)
  sprintf("%s%% bands: of the mean and, lighter, of new observations", format(100 * settings$level))
}

split_series <- function(data) if (is.null(data$series)) list(data) else split(data, data$series)

#' At most eight are told apart by the fixed colours
#' @noRd
series_colours <- function(n) if (n <= length(plot_colours)) plot_colours[seq_len(n)] else {
  grDevices::hcl.colors(n, "Dark 3")
}

series_legend <- function(data, ...) {
  if (is.null(data$series)) return(invisible())
  names <- levels(data$series)
  margin_key(names, series_colours(length(names)), ...)
}

draw_curve <- function(fit, panel, reach = NULL) {
  data <- panel$data
  series <- split_series(data)
  ordinal <- is_ordinal(fit)
  if (is.null(reach)) reach <- range(data$lwr, data$upr, if (length(series) == 1L) c(data$y_lwr, data$y_upr))
  if (panel$scale == "response" && all(data$lwr >= 0)) reach <- range(reach, 0)
  if (identical(panel$points$kind, "numbers")) reach <- reach_of_points(reach, panel$points$y)
  if (ordinal) {
    outer <- range(thresholds(fit))
    reach <- range(reach, outer + 0.08 * c(-1, 1) * diff(range(reach, outer)))
  }
  if (ordinal) make_room(response_levels(fit))
  if (length(series) > 1L) make_room(levels(data$series), key = TRUE)
  open_panel(range(data[[1L]]), grDevices::extendrange(reach, f = 0.06), panel$labels[1L], panel$labels[2L],
    panel$name, panel$note)
  if (ordinal) draw_thresholds(fit)
  draw_points(fit, panel$points, as.numeric(panel$rug))
  for (k in seq_along(series)) {
    colour <- series_colours(length(series))[k]
    one <- series[[k]]
    # Those of several curves would hide each other.
    predicted <- !is.null(one$y_lwr) && length(series) == 1L
    if (predicted) draw_band(one[[1L]], one$y_lwr, one$y_upr, colour, 0.1)
    draw_band(one[[1L]], one$lwr, one$upr, colour, if (predicted) 0.25 else 0.2)
    graphics::lines(one[[1L]], one$fit, col = colour, lwd = 2)
    if (length(panel$inducing)) {
      draw_inducing(panel$inducing, stats::approx(as.numeric(one[[1L]]), one$fit, panel$inducing)$y)
    }
  }
  series_legend(data, lwd = 2)
}

#' Intervals side by side: levels of a factor, or coefficients
#' @noRd
draw_levels <- function(fit, panel, reach = NULL) {
  data <- panel$data
  levels <- levels(factor(data[[1L]], unique(data[[1L]])))
  series <- if (is.null(data$series)) rep(1L, nrow(data)) else as.integer(data$series)
  k <- max(series)
  at <- match(data[[1L]], levels) + (series - (k + 1) / 2) * 0.6 / k
  of_classes <- has_classes(fit) && panel$scale == "response"
  colour <- (if (of_classes) class_colours(fit) else series_colours(k))[series]
  crowded <- length(levels) > 6L || max(nchar(levels)) * length(levels) > 70L
  if (crowded) {
    wide <- max(graphics::strwidth(shorten(levels, 18L), units = "inches", cex = 0.75)) + 0.5
    old <- graphics::par(mai = replace(graphics::par("mai"), 1L, wide))
    on.exit(graphics::par(old))
  }
  ordinal <- is_ordinal(fit) && panel$scale == "link" && !isTRUE(panel$coefficients)
  if (ordinal) make_room(response_levels(fit))
  if (k > 1L) make_room(levels(data$series), key = TRUE)
  if (is.null(reach)) reach <- range(data$lwr, data$upr, data$y_lwr, data$y_upr)
  if (ordinal) reach <- range(reach, thresholds(fit))
  xlab <- if (crowded) "" else panel$labels[1L]
  open_panel(c(0.5, length(levels) + 0.5), reach, xlab, panel$labels[2L], panel$name, panel$note, xaxt = "n")
  graphics::axis(1, seq_along(levels), shorten(levels, 18L), las = if (crowded) 2 else 1,
    cex.axis = if (crowded) 0.75 else 0.9)
  if (ordinal) draw_thresholds(fit)
  if (panel$scale == "link") graphics::abline(h = 0, col = "grey60", lty = 3)
  if (!is.null(data$y_lwr)) {
    graphics::segments(at, data$y_lwr, at, data$y_upr, col = fade(colour, 0.25), lwd = 6, lend = 1)
  }
  graphics::segments(at, data$lwr, at, data$upr, col = fade(colour, 0.6), lwd = 3, lend = 1)
  graphics::points(at, data$fit, pch = 19, col = colour)
  if (of_classes) class_key(fit, pch = 19) else series_legend(data, pch = 19)
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
    name = "Fixed effects", scale = "link", coefficients = TRUE)
  list(list(name = spec$label, data = data, draw = function() {
    draw_levels(fit, panel, range(0, data$lwr, data$upr))
  }))
}
