# Paths of several methods: the distance to the best bound against flops or seconds.

#' @rdname galvi_compare
#' @export
plot.galvi_compare <- function(x, which = NULL, against = c("flops", "seconds"), ask = NULL, main = NULL,
                               xlab = NULL, ylab = NULL, xlim = NULL, ylim = NULL, col = NULL, ...) {
  check_no_dots(list(...), setdiff(names(formals(plot.galvi_compare)), "..."), "plot()")
  look <- check_look(list(main = main, xlab = xlab, ylab = ylab, xlim = xlim, ylim = ylim, col = col))
  panels <- compare_panels(x, which, against, xlim)
  draw_panels(panels, look, ask)
  invisible(unique(do.call(rbind, lapply(panels, `[[`, "data"))))
}

#' A panel for each measure against each cost
#' @noRd
compare_panels <- function(x, which, against, xlim = NULL) {
  measures <- compared_measures(x, which)
  against <- check_each(against, c("flops", "seconds"), "against")
  panels <- lapply(measures, function(measure) {
    data <- measure_data(x, measure)
    if (nrow(data)) lapply(against, function(cost) path_panel(x, data, measure, cost, xlim))
  })
  panels <- unlist(panels, recursive = FALSE)
  if (length(panels)) return(panels)
  stop_galvi("argument", "There is no path to draw, as none of the methods gives a bound: choose other `methods`.")
}

compared_measures <- function(x, which) {
  measures <- c("bound", if (!is.null(x$ends$density)) c("density", "error"))
  which <- if (is.null(which)) measures else check_each(which, c("bound", "density", "error"), "which")
  if (!all(which %in% measures)) {
    stop_galvi("argument", "`which`: density and error are of held-out data; give galvi_compare() `newdata`.")
  }
  if (all(is.na(x$ends$error))) setdiff(which, "error") else which
}

check_each <- function(x, choices, arg) {
  if (!is.character(x) || !length(x)) check_choice(x, choices, arg)
  unique(vapply(x, check_choice, "", choices, arg, USE.NAMES = FALSE))
}

#' Colour, line type and symbol of every method, distinct without colours too
#' @noRd
method_series <- function(methods) {
  i <- seq_along(methods) - 1L
  series_of(methods, plot_colours[i %% 7L + 1L], lty = i %/% 7L + 1L,
    pch = c(16L, 17L, 15L, 18L, 1L, 2L, 0L, 5L, 6L)[i %% 9L + 1L])
}

# Smaller distances are rounding error.
nearest_drawn <- function(best) max(1e-10, 1e-14 * abs(best))

#' The data of a panel: method, flops, seconds, measure, value
#' @noRd
measure_data <- function(x, measure) {
  trace <- x$trace
  if (measure == "bound") {
    bounds <- x$ends$method[x$ends$kind != "approximation"]
    trace <- trace[trace$method %in% bounds & is.finite(trace$elbo), ]
    # with several starts the best so far
    so_far <- stats::ave(trace$elbo, trace$method, FUN = cummax)
    value <- pmax(x$best - so_far, nearest_drawn(x$best))
  } else {
    trace <- trace[is.finite(trace[[measure]]), ]
    value <- trace[[measure]]
  }
  data.frame(trace[c("method", "iteration", "flops", "seconds")], measure = rep(measure, nrow(trace)), value)
}

#' Paths with some symbols and a large one at their ends: a cross where a method did not converge
#' @noRd
path_panel <- function(x, data, measure, cost, xlim) {
  ends <- x$ends[x$ends$method %in% data$method, ]
  all <- method_series(x$ends$method)
  kept <- x$ends$method %in% data$method
  series <- series_of(all$names[kept], all$colours[kept], lty = all$lty[kept], pch = all$pch[kept])
  # a measured time may be 0
  costs <- pmax(data[[cost]], min(data[[cost]][data[[cost]] > 0], Inf))
  if (!all(is.finite(costs))) costs <- rep(1, nrow(data))
  labels <- measure_labels(x, measure)
  bound <- measure == "bound"
  # a first step can be extremely far, as with counts and a wide prior
  top <- if (bound) max(1e3, 10 * abs(x$best)) else Inf
  note <- join_notes(labels$note, if (any(data$value > top)) "starts above the panel",
    if (!all(ends$converged)) "crosses: not converged")
  at <- data.frame(x = costs, y = data$value, series = factor(data$method, series$names))
  at <- at[order(at$series), ]
  limits <- wide_range(costs)
  # a dozen symbols at most, evenly spaced along a path
  span <- diff(window_of(log10(or_else(xlim, limits)))) / 12
  marked <- at[!duplicated(data.frame(at$series, floor(log10(at$x) / span))), ]
  last <- at[!duplicated(at$series, fromLast = TRUE), ]
  symbol <- function(at) series$pch[as.integer(at$series)]
  converged <- ends$converged[match(last$series, ends$method)]
  new_panel(labels$title, data, list(
    mark("line", at, lwd = 1.5, lty = series$lty[as.integer(at$series)]),
    mark("points", marked, pch = symbol(marked), cex = 0.8),
    mark("points", last, pch = ifelse(converged, symbol(last), 4L), cex = 1.4, lwd = 2)
  ), c(if (cost == "flops") "floating-point operations" else "seconds (one run)", labels$axis), note, limits,
    if (bound) wide_range(pmin(at$y, top)) else range(at$y), series = series, log = if (bound) "xy" else "x",
    key = list(lwd = 1.5, pt.cex = 0.9))
}

measure_labels <- function(x, measure) {
  rows <- paste(whole_words(x$n_held_out), "held-out rows")
  switch(measure,
    bound = list(axis = "nats below the best bound", title = "Distance to the best bound",
      note = if (any(x$ends$kind == "approximation")) {
        paste("without", paste(x$ends$method[x$ends$kind == "approximation"], collapse = ", "), "(no bound)")
      }),
    density = list(axis = "log predictive density", title = "Log predictive density per row", note = rows),
    error = list(axis = x$error_name, title = "Error", note = rows)
  )
}

#' A range of at least a third of a decade, so that a single step has an axis
#' @noRd
wide_range <- function(x) {
  range <- range(x)
  if (range[2L] < 2 * range[1L]) range * c(0.7, 1.4) else range
}
