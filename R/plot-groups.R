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

# ---- maps ----

#' What the user gave as `map` -> list(rings: a matrix per region with rows of NA between its parts; aspect;
#' names: of the regions or NULL; table: what else is known of them, a data frame)
#' @noRd
as_map <- function(map) {
  if (is.null(map)) return(NULL)
  outlines <- function(x) is.list(x) && length(x) && !is.data.frame(x) && all(vapply(x, is_outline, NA))
  if (outlines(map)) {
    rings <- lapply(map, function(x) unname(as.matrix(x)[, 1:2, drop = FALSE]))
    return(list(rings = unname(rings), aspect = 1, names = names(map), table = list()))
  }
  map <- as_simple_features(map)
  shapes <- polygon_shapes(map, "map")
  table <- if (inherits(map, "sf")) sf::st_drop_geometry(map) else list()
  c(polygon_outlines(shapes), list(names = polygon_names(map), table = table))
}

#' Polygons of packages sp and terra too
#' @noRd
as_simple_features <- function(map) {
  known <- requireNamespace("sf", quietly = TRUE)
  if (known && inherits(map, c("sf", "sfc"))) return(map)
  shapes <- if (known) tryCatch(sf::st_as_sf(map), error = function(e) NULL)
  if (!is.null(shapes)) return(shapes)
  stop_galvi("argument", sprintf(paste(
    "`map` must be polygons (`sf`) or a list with the outline of each region (a matrix of two columns, as",
    "polygon() draws it), not %s."
  ), describe(map)))
}

#' The map of a term: its regions' outlines, those of `levels` first and in their order; NULL for none
#'
#' Regions are found by a column of the map that is called as the term's variable, by the map's names, or in
#' the order of the graph.
#' @noRd
term_map <- function(spec, levels, map) {
  if (is.null(map)) return(spec$outlines)
  variable <- variable_name(spec$inputs[[1L]])
  keys <- list(map$table[[variable]], map$names, as.character(seq_along(map$rings)))
  graph <- term_can(spec, "graph")
  if (graph && length(levels) == length(map$rings)) keys <- c(keys[1:2], list(levels))
  for (key in keys) {
    at <- match(levels, as.character(key))
    if (anyNA(at)) next
    others <- setdiff(seq_along(map$rings), at)
    return(list(rings = map$rings[c(at, others)], aspect = map$aspect))
  }
  if (!graph) return(NULL)
  stop_galvi("argument", sprintf(paste(
    "`map` has no region for each of the %s nodes of `%s` (%s): give it these as names (or a column `%s`),",
    "or as many regions as the graph has nodes, in its order."
  ), whole_words(length(levels)), spec$label, quote_names(levels, "\"", 3L), variable))
}

# Regions without an effect. White is an effect of zero.
no_effect <- "grey85"

#' Posterior means or standard deviations as colours of the regions
#' @param data What plot() returns, `fit` in the order of the map's first regions.
#' @noRd
map_panel <- function(data, map, name, scale, title, what = "mean") {
  regions <- seq_along(map$rings)
  value <- data$fit[regions]
  outlines <- ring_data(map$rings)
  outlines$value <- value[outlines$region]
  note <- join_notes(if (length(regions) > nrow(data)) "grey: no effect", left_out_note(data$fit))
  ends <- apply(do.call(rbind, map$rings), 2L, range, na.rm = TRUE)
  new_panel(name, data, list(
    mark("polygons", outlines, border = fade("grey30", 0.6), lwd = 0.3)
  ), note = note, xlim = ends[, 1L], ylim = ends[, 2L], what = what, bare = TRUE, asp = map$aspect,
    scale = c(scale, list(title = title, blank = no_effect)))
}

#' Outlines as data of polygons: x, y, region, part; rows of NA are between the parts of a region
#' @noRd
ring_data <- function(rings) {
  do.call(rbind, lapply(seq_along(rings), function(region) {
    ring <- rings[[region]]
    known <- !is.na(ring[, 1L])
    part <- cumsum(!known)
    data.frame(x = ring[known, 1L], y = ring[known, 2L], region = rep(region, sum(known)), part = part[known])
  }))
}
