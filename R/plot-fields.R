# Effects of groups and regions: what the term itself adds, level by level, or on the map of its polygons.

# As many levels as can be read.
most_dots <- 50L

#' A panel for each latent and each level of a factor `by`
#' @noRd
group_panels <- function(fit, spec, settings) {
  effects <- field_posterior(fit, spec)
  z <- stats::qnorm(tails(settings$level))
  copies <- if (is.null(effects$by)) list(NULL) else as.list(spec$by_levels)
  panels <- lapply(copies, function(copy) lapply(seq_len(n_latents(fit)), function(k) {
    own <- if (is.null(copy)) seq_along(effects$level) else which(effects$by == copy)
    mean <- effects$mean[own, k]
    sd <- effects$sd[own, k]
    data <- data.frame(effects$level[own], fit = mean, lwr = mean + z[1L] * sd, upr = mean + z[2L] * sd)
    names(data)[1L] <- variable_name(spec$inputs[[1L]])
    name <- paste0(
      spec$label, if (!is.null(copy)) paste0(", ", variable_name(spec$by), " = ", copy),
      if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[k])
    )
    draw <- function() {
      if (is.null(spec$outlines)) draw_dots(fit, data, name) else draw_map(fit, data, name, spec$outlines)
    }
    list(name = name, data = data, draw = draw)
  }))
  unlist(panels, recursive = FALSE)
}

#' Intervals in the order of their middles; of many levels some, evenly through that order
#' @noRd
draw_dots <- function(fit, data, name) {
  shown <- order(data$fit)
  all <- length(shown)
  if (all > most_dots) shown <- shown[round(seq(1, all, length.out = most_dots))]
  data <- data[shown, ]
  labels <- shorten(as.character(data[[1L]]), 25L)
  cex <- if (length(labels) > 15L) 0.6 else 0.9
  wide <- max(graphics::strwidth(labels, units = "inches", cex = cex)) + 0.25
  graphics::par(mai = replace(graphics::par("mai"), 2L, min(wide, 0.45 * graphics::par("fin")[1L])))
  at <- seq_along(labels)
  graphics::plot(range(0, data$lwr, data$upr), c(0.5, length(at) + 0.5), type = "n", yaxt = "n", ylab = "",
    xlab = fitting(in_units("effect", fit), "width"))
  panel_title(name, if (all > most_dots) {
    sprintf("%d of %s levels, evenly through their order", most_dots, format(all, big.mark = ","))
  })
  graphics::abline(v = graphics::axTicks(1), col = "grey90")
  graphics::abline(v = 0, col = "grey60", lty = 3)
  graphics::segments(data$lwr, at, data$upr, at, col = fade(plot_colours[1L], 0.6), lwd = 2)
  graphics::points(data$fit, at, pch = 19, col = plot_colours[1L], cex = cex)
  graphics::axis(2, at, labels, tick = FALSE, cex.axis = cex)
}

#' Posterior means as colours of the polygons, the same distance from zero in the same strength
#' @noRd
draw_map <- function(fit, data, name, outlines) {
  graphics::par(mar = c(1, 1, 3, 5.6))
  corners <- apply(do.call(rbind, outlines$rings), 2L, range, na.rm = TRUE)
  graphics::plot(corners, type = "n", asp = outlines$aspect, axes = FALSE, xlab = "", ylab = "")
  reach <- max(abs(data$fit), 1e-9)
  colours <- list(reach = c(-1, 1) * reach, palette = grDevices::hcl.colors(101, "Blue-Red 3"))
  fill <- colour_of(data$fit, colours)
  for (region in seq_along(outlines$rings)) {
    graphics::polypath(outlines$rings[[region]], col = fill[region], border = "grey40", lwd = 0.5,
      rule = "evenodd")
  }
  panel_title(name)
  colour_key(colours, in_units("effect", fit))
}
