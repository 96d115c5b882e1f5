# Products of fields, ar1(t, by = ...): images or maps at some steps, or curves of some groups.

# As many curves in a panel as can be told apart.
most_series <- 9L

#' Images of a field in space, maps of regions with outlines, each at some of the steps; else curves along the steps
#' @noRd
product_panels <- function(fit, spec, settings) {
  inner <- spec$fields$inner
  # by levels of `by` the effects are told apart in text alone
  map <- if (is.null(spec$by)) term_map(inner, inner$levels, if (term_can(inner, "graph")) settings$map)
  if (!term_can(inner, "places") && is.null(map)) return(product_curves(fit, spec, settings))
  steps <- shown_steps(fit, spec, settings$max_inputs)
  panels <- if (is.null(map)) {
    step_place_panels(fit, inner, settings, steps)
  } else {
    step_map_panels(fit, spec, settings, steps, map)
  }
  all <- attr(steps, "count")
  noted(panels, if (all > length(steps)) sprintf("%d of %s steps", length(steps), whole_words(all)))
}

noted <- function(panels, note) {
  lapply(panels, function(panel) {
    panel$note <- join_notes(panel$note, note)
    panel
  })
}

#' Steps with observations, evenly through their order: a list of list(name, value: as the frame has it, label, rows:
#' its observations), and the number of all of them as the attribute `count`
#' @noRd
shown_steps <- function(fit, spec, most) {
  outer <- spec$fields$outer
  name <- variable_name(outer$inputs[[1L]])
  at <- find_nodes(outer, field_values(outer, fit$data), name)$at
  labels <- node_names(outer)
  all <- lapply(sort(unique(at)), function(k) {
    list(name = name, value = fit$data[[name]][match(k, at)], label = labels[k], rows = which(at == k))
  })
  structure(all[unique(round(seq(1, length(all), length.out = min(most, length(all)))))], count = length(all))
}

#' Effects of the regions at some steps, with one scale for all
#' @noRd
step_map_panels <- function(fit, spec, settings, steps, map) {
  effects <- term_posterior(spec, fit)
  inner <- spec$fields$inner
  at <- lapply(steps, function(step) which(effects$level == step$label))
  panels <- lapply(seq_len(n_latents(fit)), function(k) {
    mean <- around_zero(effects$mean[unlist(at), k])
    sd <- sequence_of(effects$sd[unlist(at), k], sd_palette)
    Map(function(step, own) {
      name <- paste0(
        sprintf("%s, %s = %s", spec$label, step$name, step$label), if (n_latents(fit) > 1L) paste0(": ",
          latent_names(fit)[k])
      )
      regions <- list(mean = effects$mean, sd = effects$sd, level = effects$by)
      data <- level_intervals(inner, regions, own, k, settings$level)
      c(
        list(map_panel(data, map, name, mean, in_units("effect", fit))),
        if ("sd" %in% settings$what) {
          own_sd <- data.frame(data[1L], fit = effects$sd[own, k])
          list(map_panel(own_sd, map, paste("sd of", name), sd, in_units("posterior sd of the effect", fit), "sd"))
        }
      )
    }, steps, at)
  })
  unlist(unlist(panels, recursive = FALSE), recursive = FALSE)
}

#' Curves along the steps, of some groups or regions, evenly through their order
#' @noRd
product_curves <- function(fit, spec, settings) {
  variables <- frame_variables(fit)
  of <- function(factor) Filter(function(v) v$name == variable_name(factor$inputs[[1L]]), variables)
  split <- input_split(fit, of(spec$fields$inner))
  all <- length(split$values)
  shown <- unique(round(seq(1, all, length.out = min(most_series, all))))
  split[c("values", "labels")] <- list(split$values[shown], split$labels[shown])
  noted(
    curve_panels(fit, spec, of(spec$fields$outer), settings, split),
    if (all > length(shown)) sprintf("%d of %s levels of %s", length(shown), whole_words(all), split$name)
  )
}
