# Effects of groups and regions: what the term itself adds, level by level, or on a map.

# As many levels as can be read.
most_dots <- 50L

#' A panel for each latent and each level of a factor `by`
#' @noRd
group_panels <- function(fit, spec, settings) {
  effects <- term_posterior(spec, fit)
  copies <- if (is.null(effects$by)) list(NULL) else as.list(spec$by_levels)
  panels <- lapply(copies, function(copy) lapply(seq_len(n_latents(fit)), function(k) {
    own <- if (is.null(copy)) seq_along(effects$level) else which(effects$by == copy)
    data <- level_intervals(spec, effects, own, k, settings$level)
    name <- paste0(
      spec$label, if (!is.null(copy)) paste0(", ", variable_name(spec$by), " = ", copy),
      if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[k])
    )
    map <- term_map(spec, effects$level[own], settings$map)
    panel <- list(data = data, map = map, name = name, labels = c(in_units("effect", fit), ""))
    if (is.null(map)) return(list(panel_of(fit, panel, draw_dots, gg_dots)))
    panel$colours <- around_zero
    c(list(panel_of(fit, panel, draw_map, gg_map)), if ("sd" %in% settings$what) {
      list(panel_of(fit, sd_of_map(fit, panel, effects$sd[own, k]), draw_map, gg_map))
    })
  }))
  unlist(unlist(panels, recursive = FALSE), recursive = FALSE)
}

#' Effects of latent k with their credible intervals, a row for each level
#' @param own Which of the effects.
#' @noRd
level_intervals <- function(spec, effects, own, k, level) {
  z <- stats::qnorm(tails(level))
  mean <- effects$mean[own, k]
  sd <- effects$sd[own, k]
  data <- data.frame(effects$level[own], fit = mean, lwr = mean + z[1L] * sd, upr = mean + z[2L] * sd)
  stats::setNames(data, c(variable_name(spec$inputs[[1L]]), "fit", "lwr", "upr"))
}

#' A caterpillar plot of each effect that varies by group
#' @noRd
slope_panels <- function(fit, spec, settings) {
  effects <- term_posterior(spec, fit)
  panels <- lapply(spec$columns, function(column) lapply(seq_len(n_latents(fit)), function(k) {
    own <- effects$effect == column
    data <- level_intervals(spec, effects, own, k, settings$level)
    name <- paste0(spec$label, ": ", column, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[k]))
    panel <- list(data = data, name = name, labels = c(in_units(effect_words(column), fit), ""))
    panel_of(fit, panel, draw_dots, gg_dots)
  }))
  unlist(panels, recursive = FALSE)
}

# A slope is per unit of its variable.
effect_words <- function(column) if (column == "(Intercept)") "effect" else paste("effect of", column)

#' Intervals in the order of their middles; of many levels some, evenly through that order
#' @noRd
draw_dots <- function(fit, panel, look) {
  data <- panel$data
  shown <- order(data$fit)
  all <- length(shown)
  most <- min(most_dots, most_rows())
  if (all > most) shown <- shown[round(seq(1, all, length.out = most))]
  data <- data[shown, ]
  open_panel(drawn_range(0, data$lwr, data$upr), c(0.5, nrow(data) + 0.5), panel$labels[1L], "", panel$name,
    join_notes(if (all > most) sprintf(
      "%d of %s levels, evenly through their order", most, format(all, big.mark = ",")
    ), left_out_note(data$lwr, data$upr)), look, rows = as.character(data[[1L]]))
  colour <- look_colours(look, plot_colours[1L])
  at <- seq_len(nrow(data))
  graphics::abline(v = 0, col = "grey60", lty = 3)
  graphics::segments(data$lwr, at, data$upr, at, col = fade(colour, 0.6), lwd = 2)
  graphics::points(data$fit, at, pch = 19, col = colour, cex = if (length(at) > 15L) 0.6 else 0.9)
}
