# Hypotheses: the posterior density of each one's value, and where zero is.

#' @rdname hypothesis
#' @export
plot.galvi_hypothesis <- function(x, ask = NULL, main = NULL, xlab = NULL, ylab = NULL, xlim = NULL, ylim = NULL,
                                  col = NULL, ...) {
  check_no_dots(list(...), setdiff(names(formals(plot.galvi_hypothesis)), "..."), "plot()")
  look <- check_look(list(main = main, xlab = xlab, ylab = ylab, xlim = xlim, ylim = ylim, col = col))
  panels <- hypothesis_panels(x, xlim)
  draw_panels(panels, look, ask)
  invisible(stats::setNames(lapply(panels, `[[`, "data"), vapply(panels, `[[`, "", "name")))
}

#' A panel for each hypothesis, of the difference between its sides
#' @noRd
hypothesis_panels <- function(x, xlim = NULL) {
  table <- x$hypothesis
  names <- paste0(table$Hypothesis, if (!is.null(table$Group)) sprintf(", %s", table$Group))
  Map(function(name, posterior, row) {
    density_panel(name, posterior, c(table$CI.Lower[row], table$CI.Upper[row]), xlim)
  }, names, x$posteriors, seq_along(names), USE.NAMES = FALSE)
}

#' The density of a posterior of R/method-hypothesis.R, shaded within its interval
#' @noRd
density_panel <- function(name, posterior, interval, xlim = NULL) {
  ends <- c(1e-3, 1 - 1e-3)
  range <- or_else(xlim, range(posterior_quantiles(posterior, ends)))
  at <- sort(unique(c(seq(range[1L], range[2L], length.out = 201L), interval)))
  data <- data.frame(value = at, density = vapply(at, function(value) {
    posterior_density(moved_posterior(posterior, -value))
  }, 0))
  # a number that is known has none
  data <- data[is.finite(data$density), ]
  line <- data.frame(x = data$value, y = data$density)
  inside <- line$x >= interval[1L] & line$x <= interval[2L]
  colour <- own_colours(plot_colours[1L])
  new_panel(name, data, list(
    mark("rule", data.frame(vertical = 0), "grey40", lty = 2),
    mark("band", data.frame(x = line$x, lower = 0, upper = line$y)[inside, ], colour, alpha = 0.2),
    mark("line", line, colour, lwd = 2)
  ), c("difference between the sides", "posterior density"), "shaded: the interval of the table; dashed: no difference",
    range(range, 0), c(0, max(line$y, 0)))
}

#' @rdname autoplot.galvi
#' @method autoplot galvi_hypothesis
#' @rawNamespace S3method(ggplot2::autoplot,galvi_hypothesis)
autoplot.galvi_hypothesis <- function(object, ...) {
  refuse_dots(list(...), autoplot.galvi_hypothesis, "autoplot()")
  panels <- hypothesis_panels(object)
  names <- make.unique(vapply(panels, `[[`, "", "name"))
  one_or_several(stats::setNames(lapply(panels, gg_panel), names))
}
