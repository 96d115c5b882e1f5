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
    if (is.null(map)) return(list(dots_panel(data, name, in_units("effect", fit))))
    c(
      list(map_panel(data, map, name, around_zero(data$fit), in_units("effect", fit))),
      if ("sd" %in% settings$what) {
        sd <- data.frame(data[1L], fit = effects$sd[own, k])
        list(map_panel(sd, map, paste("sd of", name), sequence_of(sd$fit, sd_palette),
          in_units("posterior sd of the effect", fit), "sd"))
      }
    )
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
    dots_panel(data, name, in_units(effect_words(column), fit))
  }))
  unlist(panels, recursive = FALSE)
}

# A slope is per unit of its variable.
effect_words <- function(column) if (column == "(Intercept)") "effect" else paste("effect of", column)

#' Intervals in the order of their middles; of many levels some, evenly through that order
#' @noRd
dots_panel <- function(data, name, label) {
  at <- data[order(data$fit), ]
  rows <- data.frame(x = at$fit, y = seq_len(nrow(at)), low = at$lwr, high = at$upr)
  new_panel(name, data, c(
    list(mark("rule", data.frame(vertical = 0), "grey60", lty = 3)), row_marks(rows, own_colours(plot_colours[1L]))
  ), c(label, ""), left_out_note(data$lwr, data$upr),
    rows = rows_of(at[[1L]], "%d of %s levels, evenly through their order", evenly = TRUE, most = most_dots))
}
