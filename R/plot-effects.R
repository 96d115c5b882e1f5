# Effects: each panel is list(name, data, draw), computed first and drawn afterwards.

#' @return list(data: a named list with a data frame per panel, draw: a list of functions)
#' @noRd
effect_panels <- function(fit, labels, settings) {
  known <- fit$design$labels
  if (!is.null(labels)) for (label in labels) check_choice(label, known, "terms")
  chosen <- if (is.null(labels)) seq_along(known) else match(labels, known)
  panels <- unlist(lapply(chosen, function(t) term_panels(fit, fit$design$specs[[t]], settings)), recursive = FALSE)
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
      limits <- matrix(conditional_mean(limits, fit), ncol = 2L)
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
#' A partial residual is the curve at the observation plus (y - mu) d eta / d mu, or plus y - mu on the response scale.
#' @param by The variable of a factor `by`, which keeps its values, or list(name = NULL).
#' @noRd
data_points <- function(fit, variable, by, settings) {
  if (n_latents(fit) > 1L) return(NULL)
  model <- fit$model
  x <- get_variable(fit$data, variable)
  if (!is.null(response_levels(fit)) && all(model$size == 1)) return(list(kind = "classes", x = x, class = model$y))
  frame <- set_variable(typical_frame(fit, fit$nobs), variable, x)
  if (!is.null(by$name)) frame <- set_variable(frame, by, fit$data[[by$name]])
  curve <- frame_marginals(fit, frame, variance = FALSE)$mean[, 1L]
  eta <- fit$posterior$mean[, 1L]
  residual <- model$y / model$size - fit$family$linkinv(eta)
  y <- if (settings$scale == "link") curve + residual / fit$family$mu.eta(eta) else fit$family$linkinv(curve) + residual
  list(kind = "residuals", x = x, y = y)
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
      suppressWarnings(graphics::rug(points$x[points$class == class], side = sides[class + 1L], ticksize = 0.03,
        col = fade(colour, 0.6)))
      usr <- graphics::par("usr")
      inside <- usr[3L + class] + c(1, -1)[class + 1L] * 0.06 * (usr[4L] - usr[3L])
      graphics::text(usr[2L], inside, response_levels(fit)[class + 1L], adj = c(1, 0.5), cex = 0.85, col = colour)
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
  open_panel(c(0.5, length(levels) + 0.5), if (is.null(reach)) range(data$lwr, data$upr) else reach, if (crowded) "" else labels[1L], labels[2L],
    name, note, xaxt = "n")
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
    one <- data.frame(coefficient = names, fit = mean, lwr = mean + z[1L] * sd, upr = mean + z[2L] * sd, row.names = NULL)
    if (n_latents(fit) > 1L) one$series <- factor(latent_names(fit)[k], latent_names(fit))
    one
  })
  data <- do.call(rbind, data)
  labels <- c("", paste0("coefficient (", link_words(fit), ")"))
  list(list(name = spec$label, data = data, draw = function() {
    draw_levels(data, labels, "Fixed effects", NULL, range(0, data$lwr, data$upr))
  }))
}

# ---- two inputs ----

surface_panel <- function(fit, spec, variables, settings, latent) {
  x <- lapply(variables, function(v) get_variable(fit$data, v))
  side <- ceiling(settings$n / 2)
  sides <- lapply(x, function(x) seq(min(x), max(x), length.out = side))
  grid <- expand.grid(sides, KEEP.OUT.ATTRS = FALSE)
  frame <- typical_frame(fit, nrow(grid))
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], grid[[j]])
  data <- effect_data(fit, frame, settings)
  if (!is.null(data$series)) data <- data[data$series == latent_names(fit)[latent], ]
  data <- cbind(grid, data)
  points <- surface_points(fit, x, variables, settings)
  name <- paste0(spec$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[latent]))
  surface <- list(x = sides[[1L]], y = sides[[2L]], z = matrix(data$fit, side))
  note <- others_note(fit, names(variables))
  draw <- function() draw_surface(fit, surface, points, names(variables), name, note, settings)
  list(name = name, data = data, draw = draw)
}

surface_points <- function(fit, x, variables, settings) {
  if (n_latents(fit) > 1L) return(NULL)
  model <- fit$model
  if (!is.null(response_levels(fit)) && all(model$size == 1)) {
    return(list(kind = "classes", x = x[[1L]], y = x[[2L]], class = model$y))
  }
  frame <- typical_frame(fit, fit$nobs)
  for (j in 1:2) frame <- set_variable(frame, variables[[j]], x[[j]])
  curve <- frame_marginals(fit, frame, variance = FALSE)$mean[, 1L]
  eta <- fit$posterior$mean[, 1L]
  residual <- model$y / model$size - fit$family$linkinv(eta)
  value <- if (settings$scale == "link") curve + residual / fit$family$mu.eta(eta) else fit$family$linkinv(curve) + residual
  list(kind = "values", x = x[[1L]], y = x[[2L]], value = value)
}

draw_surface <- function(fit, surface, points, labels, name, note, settings) {
  # Room for the colour key.
  old <- graphics::par(mar = replace(graphics::par("mar"), 4L, 5.6), bty = "o")
  on.exit(graphics::par(old))
  colours <- surface_colours(fit, surface$z, settings)
  open_panel(range(surface$x), range(surface$y), labels[1L], labels[2L], name, note, xaxs = "i", yaxs = "i")
  shade <- pmin(pmax((surface$z - colours$reach[1L]) / diff(colours$reach), 0), 1)
  picture <- matrix(colours$palette[1L + round(100 * shade)], nrow(shade))
  # A picture has its first row on top.
  picture <- t(picture[, rev(seq_len(ncol(picture)))])
  graphics::rasterImage(picture, min(surface$x), min(surface$y), max(surface$x), max(surface$y), interpolate = TRUE)
  graphics::contour(surface, add = TRUE, col = fade("grey10", 0.7), lwd = 0.8, labcex = 0.7)
  draw_surface_points(fit, points, colours)
  graphics::box()
  colour_key(colours, effect_axis(fit, settings))
}

#' For classes two colours that meet where both are equally probable; else a sequence over the values
#' @noRd
surface_colours <- function(fit, z, settings) {
  if (is.null(response_levels(fit))) {
    reach <- range(z)
    return(list(reach = reach + c(-1, 1) * 1e-9 * (1 + max(abs(reach))), palette = grDevices::hcl.colors(101, "Viridis")))
  }
  even <- if (settings$scale == "response") 0.5 else 0
  reach <- if (settings$scale == "response") c(0, 1) else even + max(abs(z - even), 1e-9) * c(-1, 1)
  list(reach = reach, palette = grDevices::hcl.colors(101, "Blue-Red 3"))
}

draw_surface_points <- function(fit, points, colours) {
  if (is.null(points)) return(invisible())
  cex <- if (length(points$x) > 500) 0.5 else if (length(points$x) > 150) 0.75 else 1
  if (points$kind == "values") {
    value <- pmin(pmax(points$value, colours$reach[1L]), colours$reach[2L])
    fill <- colours$palette[1L + round(100 * (value - colours$reach[1L]) / diff(colours$reach))]
    graphics::points(points$x, points$y, pch = 21, bg = fill, col = "white", lwd = 0.8, cex = cex)
    return(invisible())
  }
  fill <- c("#2166AC", "#B2182B")
  graphics::points(points$x, points$y, pch = c(21, 24)[points$class + 1], bg = fill[points$class + 1], col = "white",
    lwd = 0.7, cex = cex)
  usr <- graphics::par("usr")
  graphics::legend(usr[2L], usr[4L], response_levels(fit), pch = c(21, 24), pt.bg = fill, col = "grey30",
    horiz = TRUE, bty = "n", xjust = 1, yjust = 0, xpd = NA, cex = 0.85, x.intersp = 0.7)
}

#' A strip of colours with its scale, right of the plot
#' @noRd
colour_key <- function(colours, title) {
  usr <- graphics::par("usr")
  width <- usr[2L] - usr[1L]
  left <- usr[2L] + 0.035 * width
  right <- left + 0.035 * width
  edges <- seq(usr[3L], usr[4L], length.out = length(colours$palette) + 1L)
  graphics::rect(left, edges[-length(edges)], right, edges[-1L], col = colours$palette, border = NA, xpd = NA)
  graphics::rect(left, usr[3L], right, usr[4L], border = "grey30", xpd = NA)
  ticks <- pretty(colours$reach, 5)
  ticks <- ticks[ticks >= colours$reach[1L] & ticks <= colours$reach[2L]]
  at <- usr[3L] + (ticks - colours$reach[1L]) / diff(colours$reach) * (usr[4L] - usr[3L])
  graphics::text(right + 0.015 * width, at, format(ticks), adj = c(0, 0.5), cex = 0.8, xpd = NA)
  graphics::mtext(title, side = 4, line = 4.3, las = 0, cex = 0.85 * graphics::par("cex"))
}
