# Maps of regions: outlines that the graph of gmrf() had, or that the user gave.

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
  ), format(length(levels), big.mark = ","), spec$label, quote_names(levels, "\"", 3L), variable))
}

#' The panel of the posterior standard deviations
#' @noRd
sd_of_map <- function(fit, panel, sd) {
  panel$data <- data.frame(panel$data[1L], fit = sd)
  own <- list(
    what = "sd", name = paste("sd of", panel$name), colours = sequence_of(sd_palette),
    labels = c(in_units("posterior sd of the effect", fit), "")
  )
  utils::modifyList(panel, own)
}

# Regions without an effect. White is an effect of zero.
no_effect <- "grey85"

#' Posterior means or standard deviations as colours of the regions
#' @noRd
draw_map <- function(fit, panel, look) {
  data <- panel$data
  map <- panel$map
  corners <- apply(do.call(rbind, map$rings), 2L, range, na.rm = TRUE)
  colours <- panel$colours(data$fit, look)
  open_panel(corners[, 1L], corners[, 2L], "", "", panel$name, map_note(panel), look,
    right = strip_room(colours), bare = TRUE, asp = map$aspect)
  fill <- colour_of(data$fit, colours)[seq_along(map$rings)]
  fill[is.na(fill)] <- no_effect
  for (region in seq_along(map$rings)) {
    graphics::polypath(map$rings[[region]], col = fill[region], border = fade("grey30", 0.6), lwd = 0.3,
      rule = "evenodd")
  }
  colour_key(colours, panel$labels[1L])
}

map_note <- function(panel) {
  join_notes(if (length(panel$map$rings) > nrow(panel$data)) "grey: no effect", left_out_note(panel$data$fit))
}

gg_map <- function(fit, panel) {
  effects <- panel$data$fit
  pieces <- lapply(seq_along(panel$map$rings), function(region) {
    ring <- panel$map$rings[[region]]
    part <- cumsum(is.na(ring[, 1L]))
    kept <- !is.na(ring[, 1L])
    data.frame(x = ring[kept, 1L], y = ring[kept, 2L], region = region, part = part[kept],
      fit = if (region <= length(effects)) effects[region] else NA_real_)
  })
  panel$note <- map_note(panel)
  gg(do.call(rbind, pieces), "x", "y", group = "region", subgroup = "part", fill = "fit") +
    ggplot2::geom_polygon(colour = "grey60", linewidth = 0.1) + ggplot2::coord_fixed(panel$map$aspect) +
    gg_colours(panel$colours(effects, list()), panel$labels[1L], no_effect) + ggplot2::theme_void() + gg_labels(panel)
}
