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
  names <- vapply(spec$inputs, variable_name, "")
  variables <- Filter(function(v) v$name %in% names, frame_variables(fit))
  varies <- vapply(variables, function(v) length(unique(get_variable(fit$data, v))) > 1L, NA)
  if (any(varies)) variables <- variables[varies]
  numbers <- vapply(variables, function(v) is.numeric(get_variable(fit$data, v)), NA)
  if (length(variables) == 1L) return(list(curve_panel(fit, spec, variables, settings)))
  if (length(variables) == 2L && all(numbers) && is.null(spec$by)) {
    return(lapply(seq_len(n_latents(fit)), function(k) surface_panel(fit, spec, variables, settings, k)))
  }
  best <- utils::head(order(-input_relevance(fit, variables)), settings$max_inputs)
  panels <- lapply(best, function(j) curve_panel(fit, spec, variables[j], settings))
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
others_note <- function(fit, shown) {
  if (length(setdiff(names(frame_variables(fit)), shown))) "other variables at typical values"
}

#' Posterior of eta, or of E[y | eta], at a model frame: columns series, fit, lwr, upr
#'
#' @param series NULL, or a factor with an element per row of the frame: curves of one panel. With K > 1 the
#'   series are the latents.
#' @noRd
effect_data <- function(fit, frame, settings, series = NULL) {
  marginals <- frame_marginals(fit, frame)
  pieces <- lapply(seq_len(n_latents(fit)), function(k) {
    one <- list(mean = marginals$mean[, k, drop = FALSE], variance = marginals$variance[, k, drop = FALSE])
    limits <- credible_limits(one, settings$level)
    mean <- one$mean[, 1L]
    if (settings$scale == "response") {
      mean <- response_moment(fit, one, "mean")
      limits <- response_limits(fit, one, settings$level)
    }
    data.frame(fit = mean, lwr = limits[, 1L], upr = limits[, 2L])
  })
  if (length(pieces) > 1L) {
    names <- latent_names(fit)
    return(cbind(series = factor(rep(names, each = nrow(frame)), names), do.call(rbind, pieces)))
  }
  if (is.null(series)) pieces[[1L]] else cbind(series = series, pieces[[1L]])
}

effect_axis <- function(fit, settings) {
  if (settings$scale == "link") return(paste0("linear predictor (", link_words(fit), ")"))
  event <- response_levels(fit)[2L]
  if (is.null(event)) "mean of the response" else paste("probability of", event)
}

# ---- one input ----

#' eta along one variable, a curve per level of a factor `by`
#' @noRd
curve_panel <- function(fit, spec, variable, settings) {
  x <- get_variable(fit$data, variable[[1L]])
  grid <- if (is.numeric(x)) seq(min(x), max(x), length.out = settings$n) else sort(unique(x))
  by <- list(name = if (!is.null(spec$by_levels)) variable_name(spec$by))
  levels <- if (is.null(by$name)) NULL else spec$by_levels
  copies <- max(1L, length(levels))
  frame <- typical_frame(fit, length(grid) * copies)
  frame <- set_variable(frame, variable[[1L]], rep(grid, copies))
  series <- if (copies > 1L) factor(rep(levels, each = length(grid)), levels)
  if (copies > 1L) frame <- set_variable(frame, by, series)
  data <- effect_data(fit, frame, settings, series)
  data <- cbind(stats::setNames(data.frame(rep(grid, length.out = nrow(data))), names(variable)), data)
  single <- length(spec$inputs) == 1L && is.null(variable[[1L]]$column)
  points <- if (single) data_points(fit, variable[[1L]], by, settings)
  name <- if (single) spec$label else paste0(spec$label, ": ", names(variable))
  note <- others_note(fit, c(names(variable), by$name))
  labels <- c(names(variable), effect_axis(fit, settings))
  draw <- if (is.numeric(x)) {
    function(reach = NULL) draw_curve(fit, data, points, x, labels, name, note, reach)
  } else {
    function(reach = NULL) draw_levels(data, labels, name, note, reach)
  }
  list(name = name, data = data, draw = draw)
}

#' The observations beside a curve: classes of a binary response, else partial residuals
#'
#' @param by The variable of a factor `by`, which keeps its values, or list(name = NULL).
#' @noRd
data_points <- function(fit, variable, by, settings) {
  if (n_latents(fit) > 1L) return(NULL)
  x <- get_variable(fit$data, variable)
  if (has_two_classes(fit)) return(list(kind = "classes", x = x, class = fit$model$y))
  frame <- set_variable(typical_frame(fit, fit$nobs), variable, x)
  if (!is.null(by$name)) frame <- set_variable(frame, by, fit$data[[by$name]])
  list(kind = "residuals", x = x, y = partial_residuals(fit, frame, settings$scale))
}

#' Are the observations single trials with two outcomes?
#' @noRd
has_two_classes <- function(fit) !is.null(response_levels(fit)) && all(fit$model$size == 1)

#' f + (y - mu) d eta / d mu, or linkinv(f) + y - mu on the response scale, with f = eta at `frame`
#'
#' @param frame One row per observation, its variables at the observation's values where they are shown.
#' @noRd
partial_residuals <- function(fit, frame, scale) {
  family <- fit$family
  f <- frame_marginals(fit, frame, variance = FALSE)$mean[, 1L]
  eta <- fit$posterior$mean[, 1L]
  residual <- fit$model$y / fit$model$size - family$linkinv(eta)
  if (scale == "link") f + residual / family$mu.eta(eta) else family$linkinv(f) + residual
}

split_series <- function(data) if (is.null(data$series)) list(data) else split(data, data$series)

series_colours <- function(n) rep_len(plot_colours, n)

series_legend <- function(data, ...) {
  if (is.null(data$series)) return(invisible())
  names <- shorten(levels(data$series), 20L)
  graphics::legend("topleft", names, col = series_colours(length(names)), bty = "n", cex = 0.85, ...)
}

draw_curve <- function(fit, data, points, rug, labels, name, note, reach = NULL) {
  series <- split_series(data)
  if (is.null(reach)) reach <- range(data$lwr, data$upr)
  # Working residuals of small counts can be far out; the curve has to stay readable.
  if (identical(points$kind, "residuals")) {
    reach <- range(reach, stats::quantile(points$y, c(0.01, 0.99), na.rm = TRUE))
  }
  open_panel(range(data[[1L]]), grDevices::extendrange(reach, f = 0.06), labels[1L], labels[2L], name, note)
  draw_points(points, rug, fit)
  for (k in seq_along(series)) {
    colour <- series_colours(length(series))[k]
    draw_band(series[[k]][[1L]], series[[k]]$lwr, series[[k]]$upr, colour)
    graphics::lines(series[[k]][[1L]], series[[k]]$fit, col = colour, lwd = 2)
  }
  series_legend(data, lwd = 2)
}

draw_points <- function(points, rug, fit) {
  if (identical(points$kind, "residuals")) {
    cex <- if (length(points$x) > 500) 0.4 else 0.7
    graphics::points(points$x, points$y, pch = 19, cex = cex, col = fade("grey20", 0.45))
  } else if (identical(points$kind, "classes")) {
    sides <- c(1, 3)
    for (class in 0:1) {
      colour <- plot_colours[class + 1L]
      # rug() warns of points clipped at the edge, which is where they belong.
      at <- points$x[points$class == class]
      suppressWarnings(graphics::rug(at, side = sides[class + 1L], ticksize = 0.03, col = fade(colour, 0.6)))
      usr <- graphics::par("usr")
      inside <- usr[3L + class] + c(1, -1)[class + 1L] * 0.06 * (usr[4L] - usr[3L])
      label <- response_levels(fit)[class + 1L]
      graphics::text(usr[2L], inside, label, adj = c(1, 0.5), cex = 0.85, col = colour)
    }
  } else if (length(rug)) {
    graphics::rug(rug, ticksize = 0.02, col = fade("grey20", 0.4))
  }
}

#' Intervals side by side: levels of a factor, or coefficients
#' @noRd
draw_levels <- function(data, labels, name, note, reach = NULL) {
  levels <- levels(factor(data[[1L]], unique(data[[1L]])))
  series <- if (is.null(data$series)) rep(1L, nrow(data)) else as.integer(data$series)
  k <- max(series)
  at <- match(data[[1L]], levels) + (series - (k + 1) / 2) * 0.6 / k
  colour <- series_colours(k)[series]
  crowded <- length(levels) > 6L || max(nchar(levels)) * length(levels) > 70L
  if (crowded) {
    wide <- max(graphics::strwidth(shorten(levels, 18L), units = "inches", cex = 0.75)) + 0.5
    old <- graphics::par(mai = replace(graphics::par("mai"), 1L, wide))
    on.exit(graphics::par(old))
  }
  if (is.null(reach)) reach <- range(data$lwr, data$upr)
  xlab <- if (crowded) "" else labels[1L]
  open_panel(c(0.5, length(levels) + 0.5), reach, xlab, labels[2L], name, note, xaxt = "n")
  graphics::axis(1, seq_along(levels), shorten(levels, 18L), las = if (crowded) 2 else 1,
    cex.axis = if (crowded) 0.75 else 0.9)
  graphics::abline(h = 0, col = "grey60", lty = 3)
  graphics::segments(at, data$lwr, at, data$upr, col = fade(colour, 0.6), lwd = 3, lend = 1)
  graphics::points(at, data$fit, pch = 19, col = colour)
  series_legend(data, pch = 19)
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
  labels <- c("", paste0("coefficient (", link_words(fit), ")"))
  list(list(name = spec$label, data = data, draw = function() {
    draw_levels(data, labels, "Fixed effects", NULL, range(0, data$lwr, data$upr))
  }))
}
