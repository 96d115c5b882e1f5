# Effects: one function computes each kind of panel's data, one draws it.

#' @return list(data: a named list with a data frame per panel, draw: a list of functions)
#' @noRd
effect_panels <- function(fit, labels, level, n, max_inputs) {
  terms <- fit$model$priors[[1L]]$terms
  known <- vapply(terms, `[[`, "", "label")
  if (!is.null(labels)) for (label in labels) check_choice(label, known, "terms")
  chosen <- if (is.null(labels)) seq_along(terms) else match(labels, known)
  settings <- list(level = level, n = n, max_inputs = max_inputs)
  panels <- unlist(lapply(chosen, function(t) term_panels(fit, t, settings)), recursive = FALSE)
  if (!length(panels)) stop_galvi("argument", "`which = \"effects\"` needs a term; this fit has none.")
  names(panels) <- make.unique(vapply(panels, `[[`, "", "name"))
  list(data = lapply(panels, `[[`, "data"), draw = unname(lapply(panels, `[[`, "draw")))
}

#' Panels of one term, each list(name, data, draw)
#' @noRd
term_panels <- function(fit, t, settings) {
  if (fit$model$priors[[1L]]$terms[[t]]$type != "kernel") return(coefficient_panels(fit, t, settings))
  variables <- term_variables(fit, t)
  if (length(variables) == 1L) return(list(curve_panel(fit, t, variables[1L], settings, partial = TRUE)))
  if (length(variables) == 2L && all(lengths(variables) == 1L)) {
    return(lapply(seq_len(n_latents(fit)), function(latent) surface_panel(fit, t, variables, settings, latent)))
  }
  relevance <- input_relevance(fit, t, spread_rows(fit$nobs, 200L))
  best <- utils::head(order(-relevance), settings$max_inputs)
  lapply(best, function(j) curve_panel(fit, t, variables[j], settings, partial = FALSE))
}

# ---- one input ----

#' A term along one of its variables, other inputs at their medians
#'
#' @param variable A named list with the columns of the variable: several if it is a factor.
#' @noRd
curve_panel <- function(fit, t, variable, settings, partial) {
  term <- fit$model$priors[[1L]]$terms[[t]]
  columns <- variable[[1L]]
  grid <- if (length(columns) == 1L) number_grid(term$inputs[, columns], settings$n) else level_grid(term$inputs, columns)
  inputs <- matrix(apply(term$inputs, 2L, stats::median), NROW(grid$values), ncol(term$inputs), byrow = TRUE,
    dimnames = list(NULL, colnames(term$inputs)))
  inputs[, columns] <- grid$values
  data <- effect_data(fit, t, inputs, settings$level)
  data <- cbind(stats::setNames(data.frame(grid$x), names(variable)), data)
  points <- if (partial) partial_points(fit, t, grid$at)
  name <- if (partial) term$label else paste0(term$label, ": ", names(variable))
  note <- if (!partial) "other inputs at their medians"
  rug <- grid$at
  draw <- function() {
    if (is.numeric(grid$x)) draw_curve(fit, data, points, rug, name, note) else draw_levels(fit, data, name, note)
  }
  list(name = name, data = data, draw = draw)
}

number_grid <- function(x, n) {
  values <- seq(min(x), max(x), length.out = n)
  list(x = values, values = values, at = x)
}

#' The levels of a factor as its indicator columns have them
#' @noRd
level_grid <- function(inputs, columns) {
  values <- unique(inputs[, columns, drop = FALSE])
  values <- values[do.call(order, lapply(seq_along(columns), function(j) -values[, j])), , drop = FALSE]
  names <- colnames(inputs)[columns][apply(values, 1L, which.max)]
  list(x = factor(names, names), values = values, at = NULL)
}

#' Posterior of term t at rows of inputs, `by` = 1: columns latent (K > 1), fit, se, lwr, upr
#' @noRd
effect_data <- function(fit, t, inputs, level) {
  m <- nrow(inputs)
  # The other terms need rows too; what they hold does not matter for this term.
  rows <- subset_rows(training_rows(fit), rep(1L, m))
  rows$terms[[t]]$inputs <- inputs
  if (!is.null(rows$terms[[t]]$by)) rows$terms[[t]]$by <- rep(1, m)
  latent <- latent_in_blocks(fit, rows, m, list(variance = TRUE, terms = TRUE, covariance = FALSE))
  z <- stats::qnorm(tails(level))
  panels <- lapply(seq_len(n_latents(fit)), function(k) {
    mean <- latent$terms$mean[, t, k]
    sd <- sqrt(latent$terms$variance[, t, k])
    data.frame(fit = mean, se = sd, lwr = mean + z[1L] * sd, upr = mean + z[2L] * sd)
  })
  if (length(panels) == 1L) return(panels[[1L]])
  cbind(latent = factor(rep(latent_names(fit), each = m), latent_names(fit)), do.call(rbind, panels))
}

#' Where the observations are relative to a term: partial residuals, or the classes of a binary response
#'
#' Partial residuals are f_t + (y - mu) d eta / d mu, mu at the posterior mean of eta.
#' @noRd
partial_points <- function(fit, t, x) {
  if (n_latents(fit) > 1L) return(NULL)
  model <- fit$model
  if (!is.null(response_levels(fit)) && all(model$size == 1)) {
    return(list(kind = "classes", x = x, class = model$y))
  }
  contribution <- term_means(fit, training_rows(fit), t, model$priors[[1L]]$terms[[t]]$inputs)[, 1L]
  eta <- fit$posterior$mean[, 1L]
  working <- (model$y / model$size - fit$family$linkinv(eta)) / fit$family$mu.eta(eta)
  list(kind = "residuals", x = x, y = contribution + working)
}

draw_curve <- function(fit, data, points, rug, name, note) {
  latents <- if (is.null(data$latent)) list(data) else split(data, data$latent)
  reach <- range(data$lwr, data$upr)
  # Working residuals of small counts can be far out; the curve has to stay readable.
  if (identical(points$kind, "residuals")) {
    reach <- range(reach, stats::quantile(points$y, c(0.01, 0.99), na.rm = TRUE))
  }
  x <- names(data)[1L]
  open_panel(range(data[[1L]]), grDevices::extendrange(reach, f = 0.06), x, paste0("effect (", link_words(fit), ")"), name)
  graphics::abline(h = 0, col = "grey60", lty = 3)
  draw_points(points, rug, fit)
  for (k in seq_along(latents)) {
    colour <- plot_colours[(k - 1L) %% length(plot_colours) + 1L]
    draw_band(latents[[k]][[1L]], latents[[k]]$lwr, latents[[k]]$upr, colour)
    graphics::lines(latents[[k]][[1L]], latents[[k]]$fit, col = colour, lwd = 2)
  }
  if (length(latents) > 1L) {
    graphics::legend("topleft", names(latents), col = plot_colours[seq_along(latents)], lwd = 2, bty = "n", cex = 0.85)
  }
  if (!is.null(note)) graphics::mtext(note, side = 3, line = 0.1, cex = 0.75, col = "grey30")
}

draw_points <- function(points, rug, fit) {
  if (identical(points$kind, "residuals")) {
    cex <- if (length(points$x) > 500) 0.4 else 0.7
    graphics::points(points$x, points$y, pch = 19, cex = cex, col = fade("grey20", 0.45))
  } else if (identical(points$kind, "classes")) {
    graphics::rug(points$x[points$class == 0], side = 1, ticksize = 0.03, col = fade(plot_colours[1L], 0.5))
    graphics::rug(points$x[points$class == 1], side = 3, ticksize = 0.03, col = fade(plot_colours[2L], 0.5))
    edge <- function(text, side, colour) {
      graphics::mtext(text, side = side, line = if (side == 1) -1.2 else -1.4, adj = 0.01, cex = 0.75, col = colour)
    }
    edge(response_levels(fit)[1L], 1, plot_colours[1L])
    edge(response_levels(fit)[2L], 3, plot_colours[2L])
  } else if (length(rug)) {
    graphics::rug(rug, ticksize = 0.02, col = fade("grey20", 0.4))
  }
}

#' Intervals side by side: levels of a factor, or coefficients
#' @noRd
draw_levels <- function(fit, data, name, note) {
  at <- as.integer(data[[1L]])
  latent <- if (is.null(data$latent)) rep(1L, nrow(data)) else as.integer(data$latent)
  k <- max(latent)
  at <- at + (latent - (k + 1) / 2) * 0.6 / k
  colour <- plot_colours[(latent - 1L) %% length(plot_colours) + 1L]
  labels <- levels(data[[1L]])
  reach <- range(0, data$lwr, data$upr)
  open_panel(c(0.5, length(labels) + 0.5), reach, "", paste0("effect (", link_words(fit), ")"), name, xaxt = "n")
  crowded <- length(labels) > 6L
  graphics::axis(1, seq_along(labels), shorten(labels, 14L), las = if (crowded) 2 else 1,
    cex.axis = if (crowded) 0.75 else 0.9)
  graphics::abline(h = 0, col = "grey60", lty = 3)
  graphics::segments(at, data$lwr, at, data$upr, col = fade(colour, 0.6), lwd = 3, lend = 1)
  graphics::points(at, data$fit, pch = 19, col = colour)
  if (k > 1L) {
    graphics::legend("topleft", levels(data$latent), col = plot_colours[seq_len(k)], pch = 19, bty = "n", cex = 0.85)
  }
  if (!is.null(note)) graphics::mtext(note, side = 3, line = 0.1, cex = 0.75, col = "grey30")
}

# ---- coefficients ----

#' The intercept is left out: it is no effect, and its size would hide the others
#' @noRd
coefficient_panels <- function(fit, t, settings) {
  label <- fit$model$priors[[1L]]$terms[[t]]$label
  blocks <- fit$posterior$coefficients
  block <- named_coefficients(fit, blocks[[match(label, vapply(blocks, `[[`, "", "label"))]])
  keep <- rownames(block$mean) != "(Intercept)"
  if (!any(keep)) return(NULL)
  z <- stats::qnorm(tails(settings$level))
  names <- rownames(block$mean)[keep]
  panels <- lapply(seq_len(n_latents(fit)), function(k) {
    mean <- block$mean[keep, k]
    sd <- sqrt(diag(block$covariance[[k]])[keep])
    data <- data.frame(coefficient = factor(names, names), fit = mean, se = sd, lwr = mean + z[1L] * sd,
      upr = mean + z[2L] * sd, row.names = NULL)
    if (n_latents(fit) > 1L) data$latent <- factor(latent_names(fit)[k], latent_names(fit))
    data
  })
  data <- do.call(rbind, panels)
  name <- if (label == "fixed") "Fixed effects" else label
  list(list(name = label, data = data, draw = function() draw_levels(fit, data, name, NULL)))
}

# ---- two inputs ----

surface_panel <- function(fit, t, variables, settings, latent) {
  term <- fit$model$priors[[1L]]$terms[[t]]
  side <- ceiling(settings$n / 2)
  x <- number_grid(term$inputs[, 1L], side)
  y <- number_grid(term$inputs[, 2L], side)
  inputs <- as.matrix(expand.grid(x$x, y$x))
  dimnames(inputs) <- list(NULL, colnames(term$inputs))
  data <- effect_data(fit, t, inputs, settings$level)
  if (!is.null(data$latent)) data <- data[data$latent == latent_names(fit)[latent], ]
  points <- partial_points(fit, t, term$inputs[, 1L])
  points$second <- term$inputs[, 2L]
  data <- cbind(stats::setNames(as.data.frame(inputs), names(variables)), data)
  name <- paste0(term$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[latent]))
  surface <- list(x = x$x, y = y$x, z = matrix(data$fit, side))
  list(name = name, data = data, draw = function() draw_surface(fit, surface, points, names(variables), name))
}

draw_surface <- function(fit, surface, points, labels, name) {
  # Room for the colour key.
  old <- graphics::par(mar = replace(graphics::par("mar"), 4L, 5.1), bty = "o")
  on.exit(graphics::par(old))
  # Symmetric about 0, so that the neutral colour means no effect.
  reach <- max(abs(surface$z), 1e-12) * c(-1, 1)
  colours <- grDevices::hcl.colors(101, "Blue-Red 3")
  graphics::image(surface, zlim = reach, col = colours, xlab = shorten(labels[1L]), ylab = shorten(labels[2L]),
    main = shorten(paste0(name, ", posterior mean"), 70L), useRaster = TRUE)
  graphics::contour(surface, add = TRUE, col = "grey25", lwd = 0.8, labcex = 0.7)
  draw_surface_points(fit, points, reach, colours)
  graphics::box()
  colour_key(reach, colours, link_words(fit))
}

draw_surface_points <- function(fit, points, reach, colours) {
  if (is.null(points$kind)) return(invisible())
  cex <- if (length(points$x) > 500) 0.45 else if (length(points$x) > 150) 0.7 else 0.9
  if (points$kind == "classes") {
    fill <- c("#053061", "#67001F")[points$class + 1]
    graphics::points(points$x, points$second, pch = c(21, 24)[points$class + 1], bg = fill, col = "white", lwd = 0.5,
      cex = cex)
    graphics::legend("top", response_levels(fit), pch = c(21, 24), pt.bg = c("#053061", "#67001F"), col = "white",
      horiz = TRUE, bty = "n", inset = -0.075, xpd = NA, cex = 0.85, x.intersp = 0.6)
  } else {
    value <- pmin(pmax(points$y, reach[1L]), reach[2L])
    fill <- colours[1L + round(100 * (value - reach[1L]) / diff(reach))]
    graphics::points(points$x, points$second, pch = 21, bg = fill, col = "grey15", lwd = 0.6, cex = cex)
  }
}

#' A strip of colours with its scale, right of the plot
#' @noRd
colour_key <- function(reach, colours, title) {
  usr <- graphics::par("usr")
  width <- usr[2L] - usr[1L]
  left <- usr[2L] + 0.04 * width
  right <- left + 0.04 * width
  edges <- seq(usr[3L], usr[4L], length.out = length(colours) + 1L)
  graphics::rect(left, edges[-length(edges)], right, edges[-1L], col = colours, border = NA, xpd = NA)
  graphics::rect(left, usr[3L], right, usr[4L], border = "grey30", xpd = NA)
  ticks <- pretty(reach, 5)
  ticks <- ticks[ticks >= reach[1L] & ticks <= reach[2L]]
  at <- usr[3L] + (ticks - reach[1L]) / diff(reach) * (usr[4L] - usr[3L])
  graphics::text(right + 0.015 * width, at, format(ticks), adj = c(0, 0.5), cex = 0.8, xpd = NA)
  graphics::mtext(title, side = 4, line = 3.6, las = 0, cex = 0.85)
}
