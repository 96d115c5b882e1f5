# Factors: the loadings of one, units and loadings along the first two.

rr_panels <- function(fit, spec, settings) {
  W <- fit$factors$loadings
  name <- if (is.null(fit$design$wide)) spec$label else sprintf("factors(%d)", ncol(W))
  if (ncol(W) > 1L) {
    panel <- list(
      data = data.frame(item = rownames(W), unname(W)), name = name, note = "arrows: loadings",
      units = scores.galvi(fit)[, 1:2], items = W[, 1:2, drop = FALSE], labels = c("factor 1", "factor 2")
    )
    return(list(panel_of(fit, panel, draw_factors, gg_factors)))
  }
  panel <- list(data = data.frame(item = rownames(W), loading = unname(W[, 1L])), name = name,
    labels = c("loading", ""))
  list(panel_of(fit, panel, draw_loadings, gg_loadings))
}

#' Arrows as long as the units are far out, and the reach of both; names of units where they can be read
#' @noRd
factor_places <- function(panel) {
  z <- panel$units
  items <- 0.9 * max(abs(z)) / max(abs(panel$items), 1e-300) * panel$items
  list(units = z, items = items, reach = c(-1.1, 1.1) * max(abs(z), abs(items)), named = nrow(z) <= 60L)
}

draw_factors <- function(fit, panel, look) {
  at <- factor_places(panel)
  colours <- rep_len(or_else(look$col, c("grey40", plot_colours[2L])), 2L)
  open_panel(at$reach, at$reach, panel$labels[1L], panel$labels[2L], panel$name, panel$note, look, asp = 1)
  graphics::abline(h = 0, v = 0, col = "grey85")
  if (at$named) {
    graphics::text(at$units, rownames(at$units), col = colours[1L], cex = 0.7)
  } else {
    graphics::points(at$units, pch = 19, col = fade(colours[1L], 0.6), cex = point_size(nrow(at$units)))
  }
  graphics::arrows(0, 0, at$items[, 1L], at$items[, 2L], length = 0.06, col = colours[2L])
  graphics::text(1.06 * at$items, rownames(at$items), col = colours[2L], cex = 0.8, xpd = NA)
}

gg_factors <- function(fit, panel) {
  at <- factor_places(panel)
  units <- data.frame(x = at$units[, 1L], y = at$units[, 2L], name = rownames(at$units))
  items <- data.frame(x = at$items[, 1L], y = at$items[, 2L], name = rownames(at$items))
  gg(units, "x", "y") + ggplot2::geom_hline(yintercept = 0, colour = "grey85") +
    ggplot2::geom_vline(xintercept = 0, colour = "grey85") +
    (if (at$named) ggplot2::geom_text(columns(label = "name"), colour = "grey40", size = 2.8) else {
      ggplot2::geom_point(colour = "grey40", alpha = 0.6, size = 1)
    }) +
    ggplot2::geom_segment(columns(xend = "x", yend = "y"), items, x = 0, y = 0, colour = plot_colours[2L],
      arrow = ggplot2::arrow(length = ggplot2::unit(0.06, "inches"))) +
    ggplot2::geom_text(columns(label = "name"), data.frame(1.06 * items[1:2], name = items$name),
      colour = plot_colours[2L], size = 3.2) +
    ggplot2::coord_fixed(xlim = at$reach, ylim = at$reach, clip = "off") +
    gg_labels(panel, x = panel$labels[1L], y = panel$labels[2L])
}

draw_loadings <- function(fit, panel, look) {
  data <- panel$data[order(panel$data$loading), ]
  all <- nrow(data)
  if (all > most_rows()) data <- data[unique(round(seq(1, all, length.out = most_rows()))), ]
  open_panel(drawn_range(0, data$loading), c(0.5, nrow(data) + 0.5), panel$labels[1L], "", panel$name,
    if (nrow(data) < all) sprintf("%d of %d items, evenly through their order", nrow(data), all), look,
    rows = as.character(data$item))
  at <- seq_len(nrow(data))
  colour <- look_colours(look, plot_colours[1L])
  graphics::abline(v = 0, col = "grey60", lty = 3)
  graphics::segments(0, at, data$loading, at, col = fade(colour, 0.6), lwd = 2)
  graphics::points(data$loading, at, pch = 19, col = colour)
}

gg_loadings <- function(fit, panel) {
  data <- panel$data
  data$item <- factor(data$item, data$item[order(data$loading)])
  gg(data, "loading", "item") + ggplot2::geom_vline(xintercept = 0, linetype = 3, colour = "grey60") +
    ggplot2::geom_segment(columns(xend = "loading", yend = "item"), x = 0, colour = plot_colours[1L]) +
    ggplot2::geom_point(colour = plot_colours[1L]) + gg_labels(panel, x = panel$labels[1L], y = NULL)
}
