# Panels of gp(sphere(lon, lat)): images over longitude and latitude.

#' @noRd
sphere_panels <- function(fit, spec, settings) {
  name <- variable_name(spec$inputs[[1L]])
  places <- degrees_of(fit$data[[name]])
  variables <- as.list(spec$inputs[[1L]])[-1L]
  labels <- vapply(variables[1:2], deparse_one, "")
  settings$scale <- panel_scale(fit, settings, name)
  # longitudes as they are on a globe whose seam is not among the places
  places$lon <- unwound(places$lon)
  sides <- Map(function(x, limits) {
    ends <- or_else(limits, range(x))
    seq(ends[1L], ends[2L], length.out = ceiling(settings$n / 2))
  }, unname(places[c("lon", "lat")]), list(settings$xlim, settings$ylim))
  values <- expand.grid(sides, KEEP.OUT.ATTRS = FALSE)
  frame <- typical_frame(fit, nrow(values))
  frame[[name]] <- sphere(values[[1L]], values[[2L]], places$radius)
  distance <- data_distance(sides, unname(places[c("lon", "lat")]))
  grid <- list(sides = sides, distance = distance, too_far = settings$too_far,
    far = as.vector(distance) > settings$too_far)
  effects <- effect_data(fit, frame, settings)
  series <- if (is.null(effects$series)) "" else levels(effects$series)
  lapply(series, function(one) {
    own <- if (is.null(effects$series)) effects else effects[effects$series == one, names(effects) != "series"]
    data <- cbind(stats::setNames(values, labels), own, far = grid$far)
    picture <- fine_picture(grid, list(data$fit))
    colours <- sequence_of(picture$z[[1L]], "Viridis")
    image_panel(data, picture, contour_mark(picture, colours),
      list(site_mark(data.frame(x = places$lon, y = places$lat))), NULL,
      paste0(spec$label, if (nzchar(one)) paste0(": ", one)),
      join_notes(others_note(fit, name), offset_note(fit, settings$scale), far_note(grid)), labels, colours,
      effect_axis(fit, settings$scale))
  })
}

#' Longitudes on an interval that begins after the widest gap
#' @noRd
unwound <- function(lon) {
  at <- sort(unique(lon))
  if (length(at) < 2L) return(lon)
  gaps <- c(diff(at), at[1L] + 360 - at[length(at)])
  start <- if (which.max(gaps) == length(at)) at[1L] else at[which.max(gaps) + 1L]
  start + (lon - start) %% 360
}
