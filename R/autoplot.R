#' Plots of a fit by ggplot2
#'
#' The plots of [plot.galvi()] and [plot()][galvi_compare] of a comparison as objects of package ggplot2, made from the
#' same numbers, to which layers, scales and themes can be added.
#'
#' @param object A fit of [galvi()], or what [galvi_compare()] returned.
#' @param which,terms,newdata,scale,level,n,max_inputs,too_far,map,bins As in [plot.galvi()]; of a comparison `which`
#'   and `against` are those of [galvi_compare()].
#' @param against See [galvi_compare()].
#' @param ... Must be empty.
#' @return A ggplot, or where there are several panels a list of them, named like the panels, which prints one after
#'   the other. `plot(fit)` returns the data behind them.
#' @seealso [plot.galvi()]
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' ggplot2::autoplot(fit) + ggplot2::theme_minimal()
#' @name autoplot.galvi
NULL

#' @rdname autoplot.galvi
#' @exportS3Method ggplot2::autoplot
autoplot.galvi <- function(object, which = c("effects", "trace", "relevance", "calibration", "survival"),
                           terms = NULL, newdata = NULL, scale = c("auto", "link", "response"), level = 0.95,
                           n = 101, max_inputs = 6, too_far = 0.1, map = NULL, bins = 10, ...) {
  refuse_dots(list(...), autoplot.galvi, "autoplot()")
  which <- first_choice(which, plot_kinds, "which")
  check_panel_arguments(which, setdiff(names(match.call()), ""))
  panels <- fit_panels(object, which, terms, newdata, bins, list(
    scale = scale, level = level, n = n, max_inputs = max_inputs, too_far = too_far, map = map
  ))
  plots <- switch(which,
    effects = lapply(panels$sketches, function(sketch) gg_effects()[[sketch$kind]](sketch)),
    trace = gg_trace(object, panels$data), relevance = list(gg_relevance(object, panels$data)),
    calibration = list(gg_calibration(object, panels$data, is.null(newdata))), survival = list(gg_survival(panels$data))
  )
  one_or_several(plots)
}

#' @rdname autoplot.galvi
#' @exportS3Method ggplot2::autoplot
autoplot.galvi_compare <- function(object, which = NULL, against = c("flops", "seconds"), ...) {
  refuse_dots(list(...), autoplot.galvi_compare, "autoplot()")
  measures <- compared_measures(object, which)
  against <- check_each(against, c("flops", "seconds"), "against")
  plots <- lapply(measures, function(measure) {
    data <- measure_data(object, measure)
    data$method <- factor(data$method, object$ends$method)
    labels <- measure_labels(object, measure)
    if (nrow(data)) lapply(against, function(cost) {
      shown <- data[data[[cost]] > 0, ]
      plot <- gg(shown, cost, "value", colour = "method", linetype = "method") + ggplot2::geom_line() +
        ggplot2::geom_point(size = 1) + ggplot2::scale_x_log10() +
        ggplot2::labs(title = labels$title, subtitle = labels$note, y = labels$axis,
          x = if (cost == "flops") "floating-point operations" else "seconds (one run)")
      if (measure == "bound") plot + ggplot2::scale_y_log10() else plot
    })
  })
  one_or_several(unlist(plots, recursive = FALSE))
}

one_or_several <- function(plots) {
  if (length(plots) == 1L) return(plots[[1L]])
  structure(plots, class = "galvi_plots")
}

#' @export
print.galvi_plots <- function(x, ...) {
  refuse_dots(list(...), print.galvi_plots, "print()", setdiff(names(formals(print.default)), "x"))
  for (plot in x) print(plot)
  invisible(x)
}

# ---- pieces ----

#' Columns by their names
#' @noRd
columns <- function(...) do.call(ggplot2::aes, lapply(list(...), as.name))

gg <- function(data, x, y, ...) ggplot2::ggplot(data, columns(x = x, y = y, ...))

gg_labels <- function(sketch, ...) {
  ggplot2::labs(title = sketch$name, subtitle = wrapped_note(sketch$note), ...)
}

wrapped_note <- function(note) if (!is.null(note)) paste(strwrap(note, 80L), collapse = "\n")

#' Data of a panel with columns x and series: the first column has the name of the variable
#' @noRd
sketch_data <- function(sketch) {
  data <- sketch$data
  names(data)[1L] <- "x"
  if (is.null(data$series)) data$series <- factor("")
  data
}

series_scales <- function(sketch, data) {
  n <- nlevels(data$series)
  colours <- if (has_classes(sketch$fit) && n == length(response_levels(sketch$fit))) {
    class_colours(sketch$fit, list())
  } else {
    series_colours(n, list())
  }
  lapply(c("colour", "fill"), function(aesthetic) {
    ggplot2::scale_colour_manual(sketch$key, values = colours, aesthetics = aesthetic,
      guide = if (n > 1L) "legend" else "none")
  })
}

gg_points <- function(...) ggplot2::geom_point(..., inherit.aes = FALSE)

# ---- effects ----

gg_effects <- function() {
  list(
    curve = gg_curve, levels = gg_levels, classes = gg_classes, surface = gg_surface, regions = gg_regions,
    dots = gg_dots, map = gg_map
  )
}

gg_curve <- function(sketch) {
  data <- sketch_data(sketch)
  plot <- gg(data, "x", "fit", colour = "series", fill = "series")
  if (!is.null(data$y_lwr) && nlevels(data$series) == 1L) {
    plot <- plot + ggplot2::geom_ribbon(columns(ymin = "y_lwr", ymax = "y_upr"), alpha = 0.12, colour = NA)
  }
  plot <- plot + curve_points(sketch, data)
  if (length(sketch$inducing)) {
    one <- data[data$series == data$series[1L], ]
    crosses <- data.frame(
      x = alike(sketch$inducing, one$x), y = stats::approx(as.numeric(one$x), one$fit, sketch$inducing)$y
    )
    plot <- plot + gg_points(columns(x = "x", y = "y"), crosses, shape = 4)
  }
  if (is_ordinal(sketch$fit)) {
    plot <- plot + ggplot2::geom_hline(yintercept = thresholds(sketch$fit), linetype = 2, colour = "grey35")
  }
  plot + ggplot2::geom_ribbon(columns(ymin = "lwr", ymax = "upr"), alpha = 0.25, colour = NA) +
    ggplot2::geom_line() + series_scales(sketch, data) +
    gg_labels(sketch, x = sketch$labels[1L], y = sketch$labels[2L])
}

gg_levels <- function(sketch) {
  data <- sketch_data(sketch)
  data$x <- factor(as.character(data$x), unique(as.character(data$x)))
  aside <- ggplot2::position_dodge(width = if (nlevels(data$series) > 1L) 0.6 else 0.01)
  plot <- gg(data, "x", "fit", colour = "series")
  if (sketch$scale == "link") plot <- plot + ggplot2::geom_hline(yintercept = 0, linetype = 3, colour = "grey60")
  if (!is.null(data$y_lwr)) {
    plot <- plot + ggplot2::geom_linerange(columns(ymin = "y_lwr", ymax = "y_upr"), linewidth = 2, alpha = 0.25,
      position = aside)
  }
  plot + ggplot2::geom_pointrange(columns(ymin = "lwr", ymax = "upr"), position = aside) +
    series_scales(sketch, data) + gg_labels(sketch, x = sketch$labels[1L], y = sketch$labels[2L])
}

#' The observations beside a curve: a list of layers
#' @noRd
curve_points <- function(sketch, data) {
  at <- sketch$points
  fit <- sketch$fit
  if (identical(at$kind, "numbers")) {
    points <- data.frame(x = at$x, y = at$y, outlying = at$outlying)
    points$series <- levels(data$series)[if (is.null(at$series)) 1L else at$series]
    points <- points[can_draw(points$y), ]
    ringed <- points[points$outlying, ]
    xy <- columns(x = "x", y = "y")
    return(list(
      if (is.null(at$series)) gg_points(xy, points, colour = "grey20", alpha = 0.45, size = 1) else {
        gg_points(columns(x = "x", y = "y", colour = "series"), points, alpha = 0.6, size = 1)
      },
      if (nrow(ringed)) gg_points(xy, ringed, colour = plot_colours[2L], shape = 1, size = 3)
    ))
  }
  if (identical(at$kind, "classes") && isTRUE(at$in_cells)) {
    ends <- range(data$lwr, data$upr, thresholds(fit)) + c(-0.5, 0.5)
    edges <- c(ends[1L], thresholds(fit), ends[2L])
    points <- data.frame(x = at$x, y = in_cells(at$class, edges))
    return(gg_points(columns(x = "x", y = "y"), points, alpha = 0.6, size = 1,
      colour = class_colours(fit, list())[at$class + 1]))
  }
  if (!identical(at$kind, "classes") || has_classes(fit)) {
    return(ggplot2::geom_rug(columns(x = "x"), data.frame(x = sketch$rug), sides = "b", alpha = 0.3,
      inherit.aes = FALSE))
  }
  c(lapply(0:1, function(class) {
    ggplot2::geom_rug(columns(x = "x"), data.frame(x = at$x[at$class == class]), sides = c("b", "t")[class + 1L],
      colour = plot_colours[class + 1L], alpha = 0.6, inherit.aes = FALSE)
  }), list(ggplot2::labs(caption = sprintf("ticks: %s below, %s above", response_levels(fit)[1L],
    response_levels(fit)[2L]))))
}

# Stacked where the classes are ordered.
gg_classes <- function(sketch) {
  data <- sketch_data(sketch)
  plot <- gg(data, "x", "fit", colour = "series", fill = "series")
  plot <- if (is_ordinal(sketch$fit)) {
    plot + ggplot2::geom_area(position = ggplot2::position_stack(reverse = TRUE), alpha = 0.8, colour = "white")
  } else {
    plot + ggplot2::geom_ribbon(columns(ymin = "lwr", ymax = "upr"), alpha = 0.15, colour = NA) +
      ggplot2::geom_line()
  }
  if (!is.null(sketch$points)) {
    levels <- response_levels(sketch$fit)
    rows <- data.frame(x = sketch$points$x, series = factor(levels[sketch$points$class + 1], levels))
    plot <- plot + ggplot2::geom_rug(columns(x = "x", colour = "series"), rows, sides = "b", alpha = 0.6,
      inherit.aes = FALSE)
  }
  plot + series_scales(sketch, data) + gg_labels(sketch, x = sketch$labels[1L], y = sketch$labels[2L])
}

gg_surface <- function(sketch) {
  data <- sketch$data
  names(data)[1:2] <- c("x", "y")
  data$fit[data$far | !can_draw(data$fit)] <- NA
  fit <- sketch$fit
  colours <- surface_colours(fit, data$fit, sketch$scale, list())
  ordinal <- is_ordinal(fit)
  lines <- if (ordinal) thresholds(fit) else pretty(colours$reach, 10)
  plot <- gg(data, "x", "y") + ggplot2::geom_raster(columns(fill = "fit"), interpolate = FALSE)
  if (length(unique(data$fit[!is.na(data$fit)])) > 1L) {
    plot <- plot + ggplot2::geom_contour(columns(z = "fit"), breaks = lines, na.rm = TRUE, linewidth = 0.3,
      colour = if (ordinal) "white" else "grey20")
  }
  at <- sketch$points
  if (!is.null(at)) {
    points <- data.frame(x = at$x, y = at$y)
    points$fit <- if (ordinal) cell_middles(fit, colours$reach)[at$class + 1] else at$value
    if (is.null(points$fit)) {
      points$class <- factor(response_levels(fit)[at$class + 1], response_levels(fit))
      plot <- plot + gg_points(columns(x = "x", y = "y", shape = "class"), points, colour = "white", size = 1.6,
        fill = c("#2166AC", "#B2182B")[at$class + 1], stroke = 0.3) +
        ggplot2::scale_shape_manual(values = c(21, 24), guide = "none")
    } else {
      plot <- plot + gg_points(columns(x = "x", y = "y", fill = "fit"), points, shape = 21, colour = "white")
    }
  }
  if (!is.null(sketch$inducing)) {
    crosses <- stats::setNames(sketch$inducing, c("x", "y"))
    plot <- plot + gg_points(columns(x = "x", y = "y"), crosses, shape = 4)
  }
  plot + ggplot2::scale_fill_gradientn(sketch$key, colours = colours$palette, limits = colours$reach,
    na.value = "transparent", oob = function(x, range) pmin(pmax(x, range[1L]), range[2L])) +
    gg_labels(sketch, x = sketch$labels[1L], y = sketch$labels[2L])
}

# The most probable class, stronger where it is surer.
gg_regions <- function(sketch) {
  data <- sketch$data
  names(data)[1:2] <- c("x", "y")
  levels <- response_levels(sketch$fit)
  place <- paste(format(as.numeric(data$x), digits = 15L), format(as.numeric(data$y), digits = 15L))
  best <- data[stats::ave(data$fit, place, FUN = max) == data$fit, ]
  best$series[best$far] <- NA
  best$strength <- (best$fit - 1 / length(levels)) / (1 - 1 / length(levels))
  points <- data.frame(x = sketch$points$x, y = sketch$points$y,
    series = factor(levels[sketch$points$class + 1], levels))
  gg(best, "x", "y") + ggplot2::geom_raster(columns(fill = "series", alpha = "strength")) +
    gg_points(columns(x = "x", y = "y", fill = "series"), points, shape = 21, colour = "white") +
    ggplot2::scale_fill_manual("", values = class_colours(sketch$fit, list()), drop = FALSE,
      na.value = "transparent", breaks = levels) +
    ggplot2::scale_alpha_continuous(range = c(0, 0.75), limits = c(0, 1), guide = "none") +
    gg_labels(sketch, x = sketch$labels[1L], y = sketch$labels[2L])
}

gg_dots <- function(sketch) {
  data <- sketch_data(sketch)
  order <- order(data$fit)
  shown <- order[unique(round(seq(1, length(order), length.out = min(length(order), most_dots))))]
  if (length(shown) < nrow(data)) {
    sketch$note <- sprintf("%d of %s levels, evenly through their order", length(shown), format(nrow(data), big.mark = ","))
  }
  data <- data[shown, ]
  data$x <- factor(as.character(data$x), as.character(data$x))
  gg(data, "fit", "x") + ggplot2::geom_vline(xintercept = 0, linetype = 3, colour = "grey60") +
    ggplot2::geom_pointrange(columns(xmin = "lwr", xmax = "upr"), colour = plot_colours[1L], size = 0.3) +
    gg_labels(sketch, x = sketch$labels[1L], y = NULL)
}

gg_map <- function(sketch) {
  effects <- sketch$data$fit
  pieces <- lapply(seq_along(sketch$map$rings), function(region) {
    ring <- sketch$map$rings[[region]]
    part <- cumsum(is.na(ring[, 1L]))
    kept <- !is.na(ring[, 1L])
    data.frame(x = ring[kept, 1L], y = ring[kept, 2L], region = region, part = part[kept],
      fit = if (region <= length(effects)) effects[region] else NA_real_)
  })
  reach <- max(abs(drawn_range(effects, 1e-9)))
  gg(do.call(rbind, pieces), "x", "y", group = "region", subgroup = "part", fill = "fit") +
    ggplot2::geom_polygon(colour = "grey60", linewidth = 0.1) + ggplot2::coord_fixed(sketch$map$aspect) +
    ggplot2::scale_fill_gradientn(sketch$labels[1L], colours = grDevices::hcl.colors(101, "Blue-Red 3"),
      limits = c(-1, 1) * reach, na.value = "white") +
    ggplot2::theme_void() + gg_labels(sketch)
}

# ---- the other plots ----

gg_trace <- function(fit, trace) {
  what <- if (evidence_kind(fit) == "approximation") "Approximate log evidence" else "ELBO"
  learned <- max(trace$step, na.rm = TRUE) > 0
  ends <- trace[is.finite(trace$elbo), ]
  if (learned) {
    ends <- ends[!is.na(ends$step), ]
    ends <- ends[!duplicated(ends[c("start", "step")], fromLast = TRUE), ]
  }
  ends$taken <- factor(ends$start == taken_start(trace), c(TRUE, FALSE))
  bound <- gg(ends, if (learned) "step" else "iteration", "elbo", group = "start", colour = "taken") +
    ggplot2::geom_line() + ggplot2::geom_point(size = 1) +
    ggplot2::scale_colour_manual(values = c(plot_colours[1L], "grey60"), guide = "none") +
    ggplot2::labs(x = if (learned) "hyperparameter step" else "iteration", y = paste(what, "(nats)"),
      title = paste(what, if (learned) "at each hyperparameter step" else "at each iteration"))
  inner <- inner_steps(trace)
  if (!nrow(inner)) return(list(bound))
  inner$last <- factor(inner$step == max(inner$step), c(TRUE, FALSE))
  list(bound, gg(inner, "iteration", "gap", group = "step", colour = "last") + ggplot2::geom_line() +
    ggplot2::geom_point(size = 1) + ggplot2::scale_y_log10() +
    ggplot2::scale_colour_manual(values = c(plot_colours[2L], "grey70"), guide = "none") +
    ggplot2::labs(x = "iteration", y = "gap (nats)", title = "Upper bound on the optimality gap"))
}

gg_relevance <- function(fit, data) {
  data <- data[utils::head(order(-data$relevance), 30L), ]
  names <- ifelse(data$kind == "input", data$name, paste(data$kind, data$name))
  data$label <- factor(names, rev(names))
  gg(data, "relevance", "label", colour = "kind") + ggplot2::expand_limits(x = 0) +
    ggplot2::geom_segment(columns(xend = "relevance", yend = "label"), x = 0) + ggplot2::geom_point(size = 2) +
    ggplot2::scale_colour_manual("", values = stats::setNames(plot_colours[1:3], c("input", "term", "part"))) +
    ggplot2::labs(x = in_units("SD of the contribution", fit), y = NULL, title = "Relative importance")
}

gg_calibration <- function(fit, data, left_out) {
  title <- ggplot2::labs(title = if (left_out) "Leave-one-out calibration" else "Calibration on new data")
  if (!is.null(data$share)) {
    expected <- 1 / nrow(data)
    return(ggplot2::ggplot(data) +
      ggplot2::annotate("rect", xmin = 0, xmax = 1, ymin = data$lower[1L], ymax = data$upper[1L], alpha = 0.2) +
      ggplot2::geom_rect(columns(xmin = "from", xmax = "to", ymax = "share"), ymin = 0, fill = plot_colours[1L],
        alpha = 0.5, colour = "white") +
      ggplot2::geom_hline(yintercept = expected, linetype = 2) + title +
      ggplot2::labs(x = "probability integral transform", y = "share of observations"))
  }
  event <- if (is.null(data$series)) response_levels(fit)[2L] else "the class"
  if (is.null(data$series)) data$series <- factor(event)
  gg(data, "predicted", "observed", colour = "series") +
    ggplot2::geom_abline(slope = 1, intercept = 0, linetype = 2, colour = "grey50") +
    ggplot2::geom_pointrange(columns(ymin = "lower", ymax = "upper"), size = 0.3) + ggplot2::geom_line() +
    ggplot2::scale_colour_manual("", values = series_colours(nlevels(data$series), list()),
      guide = if (nlevels(data$series) > 1L) "legend" else "none") +
    ggplot2::coord_cartesian(xlim = 0:1, ylim = 0:1) + title +
    ggplot2::labs(x = paste("predicted probability of", event), y = "observed frequency")
}

gg_survival <- function(data) {
  if (is.null(data$series)) data$series <- factor("")
  n <- nlevels(data$series)
  gg(data, "time", "fit", colour = "series", fill = "series") +
    ggplot2::geom_ribbon(columns(ymin = "lwr", ymax = "upr"), alpha = 0.2, colour = NA) + ggplot2::geom_line() +
    ggplot2::scale_colour_manual("", values = series_colours(n, list()), aesthetics = c("colour", "fill"),
      guide = if (n > 1L) "legend" else "none") +
    ggplot2::coord_cartesian(ylim = 0:1) +
    ggplot2::labs(x = "time", y = "probability of a longer time", title = "Survival")
}
