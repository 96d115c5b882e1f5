#' Plots of a fit by ggplot2
#'
#' The plots of [plot.galvi()], of comparisons by [galvi_compare()] and of answers of [hypothesis()], as ggplot2
#' objects, to which layers, scales and themes can be added.
#'
#' @param object A fit of [galvi()], or the value of [galvi_compare()] or [hypothesis()].
#' @param which,terms,newdata,scale,what,level,n,max_inputs,too_far,map,bins,exponentiate,by,ndraws As in
#'   [plot.galvi()]. For comparisons `which` and `against` are as in [galvi_compare()].
#' @param against See [galvi_compare()].
#' @param ... Must be empty.
#' @return A ggplot object or, if there are several panels, a list of them with the names of the panels; printing the
#'   list draws them one after the other. `plot(fit)` returns the data that are drawn.
#' @seealso [plot.galvi()]
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE)
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' ggplot2::autoplot(fit) + ggplot2::theme_minimal()
#' ggplot2::autoplot(fit, "residuals")
#' @name autoplot.galvi
NULL

#' @rdname autoplot.galvi
#' @method autoplot galvi
#' @rawNamespace S3method(ggplot2::autoplot,galvi)
autoplot.galvi <- function(object, which = c("effects", "coefficients", "residuals", "worm", "predictive",
                             "calibration", "survival", "relevance", "trace"),
                           terms = NULL, newdata = NULL, scale = c("auto", "link", "response"), what = NULL,
                           level = 0.95, n = 101, max_inputs = 6, too_far = 0.1, map = NULL, bins = 10,
                           exponentiate = FALSE, by = NULL, ndraws = NULL, ...) {
  refuse_dots(list(...), autoplot.galvi, "autoplot()")
  which <- if (missing(which)) usual_plot(object) else first_choice(which, names(plot_kinds), "which")
  check_plot_arguments(which, setdiff(names(match.call()), ""))
  panels <- fit_panels(object, which, mget(plot_arguments(), environment()))$panels
  names <- make.unique(vapply(panels, `[[`, "", "name"))
  one_or_several(stats::setNames(lapply(panels, gg_panel), names))
}

#' @rdname autoplot.galvi
#' @method autoplot galvi_compare
#' @rawNamespace S3method(ggplot2::autoplot,galvi_compare)
autoplot.galvi_compare <- function(object, which = NULL, against = c("flops", "seconds"), ...) {
  refuse_dots(list(...), autoplot.galvi_compare, "autoplot()")
  one_or_several(lapply(compare_panels(object, which, against), gg_panel))
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

# ---- any panel in ggplot2 ----

#' A panel as a ggplot. The layers have the data of the marks; the plot's own are those that plot() returns.
#' @noRd
gg_panel <- function(panel) {
  panel <- fewer_rows(coloured(panel, NULL))
  limits <- panel_limits(panel)
  layers <- lapply(panel$marks, function(mark) gg_marks[[mark$kind]](mark$data, mark, panel))
  ggplot2::ggplot(panel$data) + layers + gg_series(panel) + gg_values(panel$scale) + gg_axes(panel, limits) +
    gg_coordinates(panel, limits) + gg_heads(panel)
}

#' A layer of a mark: what is a column of its data is mapped, the rest is set
#'
#' @param paint "colour" or "fill", what the mark's colours are of.
#' @param mapping A list of columns by aesthetics. @param ... Further arguments of the geom.
#' @noRd
gg_layer <- function(geom, mark, panel, mapping, paint = "colour", ...) {
  given <- list(...)
  data <- mark$data
  if (mark$alpha[1L] < 1) given$alpha <- mark$alpha
  if (!is.null(mark$colour)) {
    given[[paint]] <- mark$colour
  } else if (!is.null(data$value)) {
    mapping[[paint]] <- "value"
  } else {
    mapping[[paint]] <- "series"
    for (style in intersect(c("pch", "lty"), names(panel$series))) {
      own <- c(pch = "shape", lty = "linetype")[[style]]
      if (own %in% names(given)) mapping[[own]] <- "series"
      given[[own]] <- NULL
    }
  }
  do.call(geom, c(list(gg_columns(mapping), data, inherit.aes = FALSE), given))
}

#' Columns by their names
#' @noRd
gg_columns <- function(columns) do.call(ggplot2::aes, lapply(columns, as.name))

# Lines are as wide as in base graphics; points are smaller, as everywhere in ggplot2.
gg_width <- function(lwd) or_else(lwd, 1) / ggplot2::.pt

gg_size <- function(cex) 1.7 * or_else(cex, 1)

gg_lines <- function(data, mark, panel) {
  group <- if (is.null(data$group)) list() else list(group = "group")
  # geom_line() would sort the rows, and colours that are set would stay as they were
  geom <- if (isTRUE(mark$step)) ggplot2::geom_step else ggplot2::geom_path
  gg_layer(geom, mark, panel, c(list(x = "x", y = "y"), group), linewidth = gg_width(mark$lwd),
    linetype = or_else(mark$lty, 1))
}

gg_points <- function(data, mark, panel) {
  filled <- isTRUE(mark$filled)
  arguments <- list(ggplot2::geom_point, mark, panel, list(x = "x", y = "y"), if (filled) "fill" else "colour",
    shape = or_else(mark$pch, 19), size = gg_size(mark$cex))
  if (filled) arguments <- c(arguments, list(colour = mark$border, stroke = or_else(mark$lwd, 1) / 2))
  do.call(gg_layer, arguments)
}

gg_segments <- function(data, mark, panel) {
  arrow <- if (isTRUE(mark$arrow)) ggplot2::arrow(length = ggplot2::unit(0.06, "inches"))
  gg_layer(ggplot2::geom_segment, mark, panel, list(x = "x", y = "y", xend = "xend", yend = "yend"),
    linewidth = gg_width(mark$lwd), arrow = arrow)
}

gg_rules <- function(data, mark, panel) {
  style <- list(colour = mark$colour, linetype = or_else(mark$lty, 1), linewidth = gg_width(mark$lwd))
  list(
    if (!is.null(data$slope)) do.call(ggplot2::geom_abline, c(list(slope = data$slope, intercept = 0), style)),
    if (!is.null(data$horizontal)) do.call(ggplot2::geom_hline, c(list(yintercept = data$horizontal), style)),
    if (!is.null(data$vertical)) do.call(ggplot2::geom_vline, c(list(xintercept = data$vertical), style))
  )
}

#' Contours as paths: stat_contour() warns where an image is blank
#' @noRd
gg_contours <- function(data, mark, panel) {
  x <- unique(data$x)
  y <- unique(data$y)
  z <- matrix(data$value, length(x))
  if (all(is.na(z))) return(NULL)
  lines <- grDevices::contourLines(as.numeric(x), as.numeric(y), z, levels = mark$at)
  if (!length(lines)) return(NULL)
  mark$data <- do.call(rbind, lapply(seq_along(lines), function(i) {
    data.frame(x = alike(lines[[i]]$x, x), y = alike(lines[[i]]$y, y), group = i)
  }))
  gg_layer(ggplot2::geom_path, mark, panel, list(x = "x", y = "y", group = "group"), linewidth = gg_width(mark$lwd))
}

gg_raster <- function(data, mark, panel) {
  mapping <- list(x = "x", y = "y")
  if (is.null(data$strength)) return(gg_layer(ggplot2::geom_raster, mark, panel, mapping, "fill"))
  mark$data$series[is.na(data$strength)] <- NA
  list(gg_layer(ggplot2::geom_raster, mark, panel, c(mapping, alpha = "strength"), "fill"),
    ggplot2::scale_alpha_identity(na.value = 0))
}

#' Names of arrows at their heads; of points those that hide no other
#' @noRd
gg_names <- function(data, mark, panel) {
  lapply(split(seq_len(nrow(data)), data$item), function(rows) {
    item <- data$item[rows[1L]]
    own <- data[rows, ]
    if (item) own[c("x", "y")] <- 1.06 * own[c("x", "y")]
    ggplot2::geom_text(gg_columns(list(x = "x", y = "y", label = "text")), own, inherit.aes = FALSE,
      colour = mark$colour[rows], size = if (item) 3.2 else 2.8, vjust = if (item) 0.5 else -0.5, check_overlap = !item)
  })
}

# Each is a function of the data, the mark and its panel, and gives a layer or a list of layers.
gg_marks <- list(
  line = gg_lines, points = gg_points, segments = gg_segments, rule = gg_rules, contours = gg_contours,
  raster = gg_raster, names = gg_names,
  band = function(data, mark, panel) {
    gg_layer(ggplot2::geom_ribbon, mark, panel, list(x = "x", ymin = "lower", ymax = "upper"), "fill",
      colour = or_else(mark$border, NA))
  },
  bars = function(data, mark, panel) {
    gg_layer(ggplot2::geom_rect, mark, panel, list(xmin = "from", xmax = "to", ymin = "low", ymax = "high"), "fill",
      colour = or_else(mark$border, NA))
  },
  polygons = function(data, mark, panel) {
    mapping <- list(x = "x", y = "y", group = "region", subgroup = "part")
    gg_layer(ggplot2::geom_polygon, mark, panel, mapping, "fill", colour = mark$border, linewidth = gg_width(mark$lwd))
  },
  rug = function(data, mark, panel) {
    gg_layer(ggplot2::geom_rug, mark, panel, list(x = "x"), sides = c("b", "l", "t")[mark$side],
      length = ggplot2::unit(mark$ticksize, "npc"))
  },
  text = function(data, mark, panel) {
    gg_layer(ggplot2::geom_text, mark, panel, list(x = "x", y = "y", label = "text"), size = 3.2, hjust = mark$adj[1L],
      vjust = mark$adj[2L])
  },
  # the levels are on the axis
  cells = function(data, mark, panel) {
    ggplot2::geom_hline(gg_columns(list(yintercept = "high")), data[-nrow(data), ], linetype = 2, colour = "grey35")
  }
)

# ---- scales, axes and titles ----

#' Colours, symbols and line types of the series, with keys of those that marks have
#' @noRd
gg_series <- function(panel) {
  series <- panel$series
  if (is.null(series)) return(NULL)
  guide <- function(breaks) {
    if (is.null(panel$key)) return("none")
    ggplot2::guide_legend(reverse = isTRUE(panel$key$reverse), order = match(breaks[1L], series$names))
  }
  filled <- vapply(panel$marks, function(mark) mark$kind %in% c("band", "bars", "raster") || isTRUE(mark$filled), NA)
  shown <- function(marks) {
    all <- unlist(lapply(marks, function(mark) if (is.null(mark$colour)) as.character(unique(mark$data$series))))
    intersect(series$names, all)
  }
  scale <- function(make, values, marks) {
    breaks <- shown(marks)
    if (!is.null(values) && length(breaks)) {
      make(panel$key$title, values = stats::setNames(values, series$names), breaks = breaks, limits = series$names,
        guide = guide(breaks), na.value = "transparent")
    }
  }
  list(
    scale(ggplot2::scale_colour_manual, series$colours, panel$marks[!filled]),
    scale(ggplot2::scale_fill_manual, series$colours, panel$marks[filled]),
    scale(ggplot2::scale_shape_manual, series$pch, panel$marks),
    scale(ggplot2::scale_linetype_manual, series$lty, panel$marks)
  )
}

#' Colours of values and their key
#' @noRd
gg_values <- function(scale) {
  if (is.null(scale)) return(NULL)
  log <- isTRUE(scale$log)
  ggplot2::scale_fill_gradientn(scale$title, colours = scale$palette, na.value = or_else(scale$blank, "transparent"),
    limits = if (log) 10^scale$reach else scale$reach, trans = if (log) "log10" else "identity",
    oob = function(x, range) pmin(pmax(x, range[1L]), range[2L]),
    guide = ggplot2::guide_colourbar(title.position = "right",
      title.theme = ggplot2::element_text(angle = 90, hjust = 0.5, size = 9), barheight = ggplot2::unit(1.6, "inches")))
}

#' Names, counts and powers on the axes; levels of a continuous scale on a second one
#' @noRd
gg_axes <- function(panel, limits) {
  columns <- panel$columns
  turned <- sum(nchar(columns)) > 60L
  cells <- Find(function(mark) mark$kind == "cells", panel$marks)$data
  list(
    # marks stand between levels too, so the axis is told its levels
    if (!is.null(columns)) {
      ggplot2::scale_x_discrete(limits = columns,
        guide = if (turned) ggplot2::guide_axis(angle = 90) else ggplot2::waiver())
    },
    if (!is.null(panel$rows)) {
      ggplot2::scale_y_discrete(limits = make.unique(panel$rows$names), labels = function(x) cut_text(x, 36))
    },
    if (panel$whole) ggplot2::scale_x_continuous(breaks = whole_breaks),
    if (grepl("x", panel$log)) ggplot2::scale_x_log10(breaks = log_ticks),
    if (grepl("y", panel$log)) ggplot2::scale_y_log10(),
    if (!is.null(cells)) {
      ends <- window_of(limits$y)
      middles <- (pmin(pmax(cells$low, ends[1L]), ends[2L]) + pmax(pmin(cells$high, ends[2L]), ends[1L])) / 2
      ggplot2::scale_y_continuous(sec.axis = ggplot2::dup_axis(name = NULL, breaks = middles, labels = cells$text))
    }
  )
}

whole_breaks <- function(range) unique(round(pretty(range)))

#' An image ends where its axes do; elsewhere the vertical limits are those of the panel, and layers that are added may
#' make the horizontal ones wider
#' @noRd
gg_coordinates <- function(panel, limits) {
  if (panel$tight && is.na(panel$asp)) return(ggplot2::coord_cartesian(expand = FALSE, clip = "off"))
  if (panel$bare) return(list(ggplot2::coord_fixed(panel$asp), ggplot2::theme_void()))
  if (!is.na(panel$asp)) {
    return(ggplot2::coord_fixed(panel$asp, limits$x, limits$y, expand = !panel$tight,
      clip = if (panel$tight) "on" else "off"))
  }
  list(
    if (is.null(panel$columns) && !is.null(panel$xlim)) ggplot2::expand_limits(x = panel$xlim),
    ggplot2::coord_cartesian(ylim = if (is.null(panel$rows)) panel$ylim)
  )
}

#' Title and note, the latter as small as in base graphics, in lines that a figure of six inches has room for
#' @noRd
gg_heads <- function(panel) {
  lines <- function(text, width) if (!is.null(text)) paste(strwrap(text, width), collapse = "\n")
  label <- function(text) if (nzchar(text)) text
  list(
    ggplot2::labs(title = lines(panel$name, 50L), subtitle = lines(panel$note, 70L), x = label(panel$labels[1L]),
      y = label(panel$labels[2L])),
    ggplot2::theme(plot.subtitle = ggplot2::element_text(size = ggplot2::rel(0.8), colour = "grey30"))
  )
}
