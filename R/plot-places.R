# Fields over the plane: an image of the mean, one of the standard deviation with the mesh, and intensities.

#' Two panels for each latent and each level of a factor `by`: the field's mean and its sd; on the response scale the
#' first is the mean response
#' @noRd
spde_panels <- function(fit, spec, settings) {
  copies <- if (is.null(spec$by_levels)) list(NULL) else as.list(spec$by_levels)
  panels <- lapply(copies, function(copy) {
    picture <- place_picture(fit, spec, settings, copy)
    lapply(seq_len(n_latents(fit)), function(k) field_panels(fit, spec, settings, picture, k))
  })
  unlist(unlist(panels, recursive = FALSE), recursive = FALSE)
}

#' A raster of places: list(sides: two lists of coordinates; frame; data: values at the places; shown: which of them
#' are on the mesh and in the window or near the data; note)
#' @noRd
place_picture <- function(fit, spec, settings, copy = NULL) {
  names <- vapply(spec$inputs, variable_name, "")
  x <- lapply(names, function(name) as.numeric(fit$data[[name]]))
  rings <- if (!is.null(settings$map)) lapply(settings$map$rings, split_rings) else list(spec$mesh$window)
  rings <- unlist(rings, recursive = FALSE)
  limits <- list(settings$xlim, settings$ylim)
  sides <- lapply(1:2, function(j) {
    all <- if (is.null(rings)) x[[j]] else do.call(rbind, rings)[, j]
    ends <- if (!is.null(limits[[j]])) limits[[j]] else range(all)
    if (diff(ends) == 0) ends <- ends + c(-1, 1) * spec$edge
    seq(min(ends), max(ends), length.out = settings$n)
  })
  values <- expand.grid(sides, KEEP.OUT.ATTRS = FALSE)
  at <- as.matrix(values)
  shown <- !is.na(locate_in_mesh(spec$mesh, at)$node[, 1L])
  if (is.null(rings)) {
    # among the data, or near them
    corners <- do.call(cbind, x)
    corners <- corners[grDevices::chull(corners), , drop = FALSE]
    among <- if (nrow(corners) > 2L) inside_rings(at, list(corners), 0) else FALSE
    shown <- shown & (among | as.vector(data_distance(sides, x)) <= settings$too_far)
  } else {
    shown <- shown & in_window(at, rings)
  }
  names(values) <- names
  frame <- typical_frame(fit, nrow(values))
  for (j in 1:2) frame[[names[j]]] <- values[[j]]
  if (!is.null(spec$by)) {
    by <- variable_name(spec$by)
    frame[[by]] <- if (is.null(copy)) rep(1, nrow(frame)) else factor(rep(copy, nrow(frame)), spec$by_levels)
  }
  list(
    names = names, x = x, sides = sides, values = values, frame = frame, shown = shown, rings = rings,
    label = paste0(spec$label, if (!is.null(copy)) sprintf(", %s = %s", variable_name(spec$by), copy)),
    note = if (is.null(rings) && !all(shown)) "blank: far from the data"
  )
}

field_panels <- function(fit, spec, settings, picture, k) {
  name <- paste0(picture$label, if (n_latents(fit) > 1L) paste0(": ", latent_names(fit)[k]))
  field <- latent_at(fit, frame_rows(fit$design, picture$frame), nrow(picture$frame), terms = TRUE)$terms
  t <- match(spec$label, fit$design$labels)
  sd <- sqrt(field$variance[, t, k])
  z <- stats::qnorm(tails(settings$level))
  mean <- if (settings$scale == "response") {
    response_at(fit, picture, settings, k)
  } else {
    data.frame(fit = field$mean[, t, k], lwr = field$mean[, t, k] + z[1L] * sd, upr = field$mean[, t, k] + z[2L] * sd)
  }
  blank <- !picture$shown
  own <- cbind(picture$values, mean, far = blank)
  spread <- cbind(picture$values, fit = sd, far = blank)
  response <- settings$scale == "response"
  colours <- if (response) {
    sequence_of("Viridis")
  } else {
    # the same distance from zero in the same strength
    function(z, look) {
      list(reach = c(-1, 1) * max(abs(z), 1e-9, na.rm = TRUE), palette = look_palette(look, "Blue-Red 3"))
    }
  }
  title <- if (response) effect_axis(fit, "response") else in_units("effect", fit)
  notes <- if (response) c(others_note(fit, picture$names), offset_note(fit, "response"))
  note <- join_notes(notes, picture$note)
  list(
    list(name = name, data = own, draw = function(look) {
      draw_places(picture, own$fit, name, note, colours, title, look, function() {
        draw_image_contours(picture, own$fit)
        draw_sites(picture$x)
      })
    }),
    list(name = paste0("sd of ", name), data = spread, draw = function(look) {
      draw_places(picture, spread$fit, paste0("sd of ", name), picture$note, sequence_of("Purple-Yellow"),
        in_units("sd of the effect", fit), look, function() {
          draw_mesh(spec$mesh, fade("grey20", 0.35), 0.3)
          draw_sites(picture$x)
        })
    })
  )
}

response_at <- function(fit, picture, settings, k) {
  data <- effect_data(fit, picture$frame, settings)
  if (!is.null(data$series)) data <- data[data$series == unique(data$series)[k], ]
  data[c("fit", "lwr", "upr")]
}

sequence_of <- function(name) {
  function(z, look) {
    reach <- range(z, na.rm = TRUE)
    list(reach = reach + c(-1, 1) * 1e-9 * (1 + max(abs(reach))), palette = look_palette(look, name))
  }
}

#' @param colours A function of the values and of `look`: list(reach, palette).
#' @param over Draws what stands above the image.
#' @noRd
draw_places <- function(picture, values, name, note, colours, title, look, over) {
  values[!picture$shown | !can_draw(values)] <- NA
  z <- matrix(values, length(picture$sides[[1L]]))
  if (all(is.na(z))) z[1L] <- 0
  colours <- colours(z, look)
  ends <- lapply(picture$sides, range)
  open_panel(ends[[1L]], ends[[2L]], picture$names[1L], picture$names[2L], name, note, look,
    right = strip_room(colours), tight = TRUE, asp = 1)
  draw_picture(matrix(colour_of(z, colours), nrow(z)), picture$sides)
  usr <- graphics::par("usr")
  graphics::clip(usr[1L], usr[2L], usr[3L], usr[4L])
  over()
  if (!is.null(picture$rings)) draw_window(picture$rings, border = "grey20", lwd = 0.8)
  do.call(graphics::clip, as.list(usr))
  graphics::box()
  colour_key(colours, title)
}

draw_image_contours <- function(picture, values) {
  values[!picture$shown | !can_draw(values)] <- NA
  if (all(is.na(values)) || diff(range(values, na.rm = TRUE)) == 0) return(invisible())
  z <- matrix(values, length(picture$sides[[1L]]))
  draw_contours(picture$sides, z, pretty(range(z, na.rm = TRUE), 8), col = fade("grey10", 0.6), lwd = 0.7, labcex = 0.6)
}

draw_sites <- function(x) {
  graphics::points(x[[1L]], x[[2L]], pch = 20, col = fade("black", 0.6), cex = 0.5 * point_size(length(x[[1L]])))
}

#' The intensity of a Cox process on its window, with the points
#' @noRd
intensity_panel <- function(fit, rings, at, points_col) {
  if (!inherits(fit, "galvi")) {
    stop_galvi("argument", sprintf("`fit` must be a fit of galvi() to the scheme, not %s.", describe(fit)))
  }
  spec <- Find(function(spec) !is.null(spec$mesh), fit$design$specs)
  if (is.null(spec) || !link_has(fit$family, "rates")) {
    stop_galvi("argument", "`fit` must have an spde() term and a log link to have an intensity.")
  }
  settings <- list(scale = "response", level = 0.95, n = 101L, too_far = Inf, map = list(rings = rings))
  picture <- place_picture(fit, spec, settings)
  data <- cbind(picture$values, response_at(fit, picture, settings, 1L), far = !picture$shown)
  note <- others_note(fit, c(picture$names, all.vars(fit$design$args$offset)))
  draw <- function(look) {
    points <- function() {
      graphics::points(at[, 1L], at[, 2L], pch = 20, col = points_col, cex = 0.6 * point_size(nrow(at)))
    }
    draw_places(picture, data$fit, "Intensity", note, sequence_of("Viridis"), "points per unit of area", look, points)
  }
  list(data = data, draw = draw)
}
