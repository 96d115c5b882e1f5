# Paths of several methods: the distance to the best bound against flops or seconds.

#' @rdname galvi_compare
#' @export
plot.galvi_compare <- function(x, which = NULL, against = c("flops", "seconds"), ask = NULL, main = NULL,
                               xlab = NULL, ylab = NULL, xlim = NULL, ylim = NULL, col = NULL, ...) {
  check_no_dots(list(...), setdiff(names(formals(plot.galvi_compare)), "..."), "plot()")
  look <- check_look(list(main = main, xlab = xlab, ylab = ylab, xlim = xlim, ylim = ylim, col = col))
  which <- compared_measures(x, which)
  against <- check_each(against, c("flops", "seconds"), "against")
  styles <- method_styles(x$ends)
  panels <- lapply(which, function(measure) {
    data <- measure_data(x, measure)
    if (nrow(data)) lapply(against, function(cost) list(data = data, draw = function(look) {
      draw_paths(x, data, measure, cost, styles, look)
    }))
  })
  panels <- unlist(panels, recursive = FALSE)
  if (!length(panels)) stop_galvi("argument",
    "There is no path to draw, as none of the methods gives a bound: choose other `methods`.")
  draw_panels(lapply(panels, `[[`, "draw"), look, ask)
  invisible(unique(do.call(rbind, lapply(panels, `[[`, "data"))))
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
method_styles <- function(ends) {
  i <- seq_along(ends$method) - 1L
  data.frame(
    method = ends$method, colour = plot_colours[i %% 7L + 1L], line = i %/% 7L + 1L,
    mark = c(16L, 17L, 15L, 18L, 1L, 2L, 0L, 5L, 6L)[i %% 9L + 1L], converged = ends$converged
  )
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

draw_paths <- function(x, data, measure, cost, styles, look) {
  styles <- styles[styles$method %in% data$method, ]
  styles$colour <- look_colours(look, styles$colour)
  # a measured time may be 0
  data$cost <- pmax(data[[cost]], min(data[[cost]][data[[cost]] > 0], Inf))
  if (!all(is.finite(data$cost))) data$cost <- 1
  labels <- measure_labels(x, measure)
  # a first step can be extremely far, as with counts and a wide prior
  top <- if (measure == "bound") max(1e3, 10 * abs(x$best)) else Inf
  if (any(data$value > top)) labels$note <- paste(c(labels$note, "starts above the panel"), collapse = "; ")
  crosses <- if (!all(styles$converged)) "crosses: not converged"
  open_panel(wide_range(data$cost),
    if (measure == "bound") wide_range(pmin(data$value, top)) else range(data$value),
    if (cost == "flops") "floating-point operations" else "seconds (one run)", labels$axis, labels$title,
    join_notes(labels$note, crosses), look, right = key_room(styles$method),
    log = if (measure == "bound") "xy" else "x")
  for (i in seq_len(nrow(styles))) draw_path(data[data$method == styles$method[i], ], styles[i, ])
  margin_key(styles$method, styles$colour, lty = styles$line, lwd = 1.5, pch = styles$mark, pt.cex = 0.9)
}

measure_labels <- function(x, measure) {
  rows <- paste(format(x$n_held_out, big.mark = ","), "held-out rows")
  switch(measure,
    bound = list(axis = "nats below the best bound", title = "Distance to the best bound",
      note = if (any(x$ends$kind == "approximation")) {
        paste("without", paste(x$ends$method[x$ends$kind == "approximation"], collapse = ", "), "(no bound)")
      }),
    density = list(axis = "log predictive density", title = "Log predictive density per row", note = rows),
    error = list(axis = x$error_name, title = "Error", note = rows)
  )
}

#' A path with some marks and a large one at its end: a cross where it did not converge
#' @noRd
draw_path <- function(path, style) {
  colour <- style$colour
  graphics::lines(path$cost, path$value, col = colour, lty = style$line, lwd = 1.5)
  # a dozen symbols at most, evenly spaced along the path
  place <- log10(path$cost)
  span <- diff(graphics::par("usr")[1:2]) / 12
  marked <- !duplicated(floor(place / span))
  graphics::points(path$cost[marked], path$value[marked], pch = style$mark, col = colour, cex = 0.8)
  end <- nrow(path)
  graphics::points(path$cost[end], path$value[end], pch = if (style$converged) style$mark else 4L,
    col = colour, cex = 1.4, lwd = 2)
}

#' A range of at least a third of a decade, so that a single step has an axis
#' @noRd
wide_range <- function(x) {
  range <- range(x)
  if (range[2L] < 2 * range[1L]) range * c(0.7, 1.4) else range
}
