#' Plots of a fit by ggplot2
#'
#' The plots of [plot.galvi()], and of comparisons by [galvi_compare()], as ggplot2 objects, to which layers, scales
#' and themes can be added.
#'
#' @param object A fit of [galvi()], or the value of [galvi_compare()].
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
  which <- first_choice(which, names(plot_kinds()), "which")
  check_plot_arguments(which, setdiff(names(match.call()), ""))
  panels <- fit_panels(object, which, mget(plot_arguments(), environment()))$panels
  names <- make.unique(vapply(panels, `[[`, "", "name"))
  one_or_several(stats::setNames(lapply(panels, function(panel) panel$gg()), names))
}

#' @rdname autoplot.galvi
#' @method autoplot galvi_compare
#' @rawNamespace S3method(ggplot2::autoplot,galvi_compare)
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

#' Title and note, the latter as small as in the base plots
#' @noRd
gg_labels <- function(panel, ...) {
  list(
    ggplot2::labs(title = panel$name, subtitle = wrapped_note(panel$note), ...),
    ggplot2::theme(plot.subtitle = ggplot2::element_text(size = ggplot2::rel(0.8), colour = "grey30"))
  )
}

wrapped_note <- function(note) if (!is.null(note)) paste(strwrap(note, 70L), collapse = "\n")

#' Data of a panel with columns x and series: the first column has the name of the variable
#' @noRd
panel_data <- function(panel) {
  data <- panel$data
  names(data)[1L] <- "x"
  if (is.null(data$series)) data$series <- factor("")
  data
}

#' Colours of n series, and a key where there are several
#' @noRd
gg_series <- function(n, title = NULL, colours = series_colours(n, list())) {
  ggplot2::scale_colour_manual(title, values = colours, aesthetics = c("colour", "fill"), drop = FALSE,
    guide = if (n > 1L) "legend" else "none")
}

gg_points <- function(...) ggplot2::geom_point(..., inherit.aes = FALSE)
