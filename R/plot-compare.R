# Paths of several methods: how far each is from the best after so many flops or seconds.

#' @rdname galvi_compare
#' @export
plot.galvi_compare <- function(x, which = NULL, against = c("flops", "seconds"), ask = NULL, main = NULL,
                               ...) {
  check_no_dots(list(...), c("x", "which", "against", "ask", "main"), "plot()")
  measures <- c("bound", if (!is.null(x$ends$density)) c("density", "error"))
  which <- if (is.null(which)) measures else check_each(which, c("bound", "density", "error"), "which")
  if (!all(which %in% measures)) {
    stop_galvi("argument", "`which`: density and error are of held-out data; give galvi_compare() `newdata`.")
  }
  if (all(is.na(x$ends$error))) which <- setdiff(which, "error")
  against <- check_each(against, c("flops", "seconds"), "against")
  styles <- method_styles(x$ends)
  panels <- lapply(which, function(measure) {
    data <- measure_data(x, measure)
    if (nrow(data)) lapply(against, function(cost) list(data = data, draw = function() {
      draw_paths(x, data, measure, cost, styles, main)
    }))
  })
  panels <- unlist(panels, recursive = FALSE)
  if (!length(panels)) stop_galvi("argument", "There is no path to draw: none of the methods has a bound.")
  if (is.null(ask)) ask <- length(panels) > prod(graphics::par("mfrow")) && grDevices::dev.interactive()
  if (check_flag(ask, "ask")) {
    old_ask <- grDevices::devAskNewPage(TRUE)
    on.exit(grDevices::devAskNewPage(old_ask))
  }
  for (panel in panels) draw_panel(panel$draw)
  invisible(unique(do.call(rbind, lapply(panels, `[[`, "data"))))
}

check_each <- function(x, choices, arg) {
  if (!is.character(x) || !length(x)) check_choice(x, choices, arg)
  unique(vapply(x, check_choice, "", choices, arg, USE.NAMES = FALSE))
}

#' Colour, line and mark of every method, apart without colours too
#' @noRd
method_styles <- function(ends) {
  i <- seq_along(ends$method) - 1L
  data.frame(
    method = ends$method, colour = plot_colours[i %% 7L + 1L], line = i %/% 7L + 1L,
    mark = c(16L, 17L, 15L, 18L, 1L, 2L, 0L, 5L, 6L)[i %% 9L + 1L], converged = ends$converged
  )
}

# Rounding: nobody is closer to the best bound than this.
nearest_drawn <- function(best) max(1e-10, 1e-14 * abs(best))

#' What a panel shows: method, flops, seconds, measure, value
#' @noRd
measure_data <- function(x, measure) {
  trace <- x$trace
  if (measure == "bound") {
    bounds <- x$ends$method[x$ends$kind != "approximation"]
    trace <- trace[trace$method %in% bounds & is.finite(trace$elbo), ]
    # a method that starts several times keeps the best so far
    so_far <- stats::ave(trace$elbo, trace$method, FUN = cummax)
    value <- pmax(x$best - so_far, nearest_drawn(x$best))
  } else {
    trace <- trace[is.finite(trace[[measure]]), ]
    value <- trace[[measure]]
  }
  data.frame(trace[c("method", "iteration", "flops", "seconds")], measure = rep(measure, nrow(trace)), value)
}

draw_paths <- function(x, data, measure, cost, styles, main) {
  styles <- styles[styles$method %in% data$method, ]
  room_for_methods(styles)
  # a clock may say 0
  data$cost <- pmax(data[[cost]], min(data[[cost]][data[[cost]] > 0], Inf))
  if (!all(is.finite(data$cost))) data$cost <- 1
  log <- if (measure == "bound") "xy" else "x"
  labels <- measure_labels(x, measure)
  if (!is.null(main)) labels$title <- main
  # a first step can be astronomically far, as counts under a wide prior are
  top <- if (measure == "bound") max(1e3, 10 * abs(x$best)) else Inf
  if (any(data$value > top)) labels$note <- paste(c(labels$note, "starts above the panel"), collapse = "; ")
  open_panel(wide_range(data$cost),
    if (measure == "bound") wide_range(pmin(data$value, top)) else range(data$value),
    if (cost == "flops") "floating-point operations" else "seconds (one run)", labels$axis, labels$title,
    labels$note, log = log, xaxt = "n", yaxt = if (measure == "bound") "n" else "s")
  log_axis(1, data$cost)
  # where the panel has its lines
  if (measure == "bound") graphics::axis(2, graphics::axTicks(2), formatC(graphics::axTicks(2), format = "g"))
  for (i in seq_len(nrow(styles))) draw_path(data[data$method == styles$method[i], ], styles[i, ])
  key <- ifelse(styles$converged, styles$method, paste0(styles$method, "\n(not converged)"))
  usr <- graphics::par("usr")
  graphics::legend(10^(usr[2L] + 0.01 * (usr[2L] - usr[1L])), if (measure == "bound") 10^usr[4L] else usr[4L],
    key, col = styles$colour, lty = styles$line, lwd = 1.5, pch = styles$mark, pt.cex = 0.9, bty = "n",
    cex = 0.8, xpd = NA, xjust = 0, yjust = 1, seg.len = 1.6, x.intersp = 0.7,
    y.intersp = if (all(styles$converged)) 1 else 1.4)
}

measure_labels <- function(x, measure) {
  rows <- paste(format(x$n_held_out, big.mark = ","), "held-out rows")
  switch(measure,
    bound = list(axis = "nats below the best bound", title = "How far from the best bound",
      note = if (any(x$ends$kind == "approximation")) {
        paste("without", paste(x$ends$method[x$ends$kind == "approximation"], collapse = ", "), "(no bound)")
      }),
    density = list(axis = "log predictive density", title = "Log predictive density per row", note = rows),
    error = list(axis = x$error_name, title = "Error", note = rows)
  )
}

#' A path with marks where few, its end in full; a cross where it did not converge
#' @noRd
draw_path <- function(path, style) {
  colour <- style$colour
  graphics::lines(path$cost, path$value, col = colour, lty = style$line, lwd = 1.5)
  # no more marks than an eye can tell apart, evenly along the drawn path
  place <- log10(path$cost)
  span <- diff(graphics::par("usr")[1:2]) / 12
  marked <- !duplicated(floor(place / span))
  graphics::points(path$cost[marked], path$value[marked], pch = style$mark, col = colour, cex = 0.8)
  end <- nrow(path)
  graphics::points(path$cost[end], path$value[end], pch = if (style$converged) style$mark else 4L,
    col = colour, cex = 1.4, lwd = 2)
}

#' Widen the right margin for the names of methods
#' @noRd
room_for_methods <- function(styles) {
  names <- c(styles$method, if (!all(styles$converged)) "(not converged)")
  wide <- max(graphics::strwidth(names, units = "inches", cex = 0.8)) + 0.55
  # No restoring: draw_panel() does.
  graphics::par(mai = replace(graphics::par("mai"), 4L, min(wide, 0.45 * graphics::par("fin")[1L])))
}

#' At least a third of a decade, so that a single step has an axis
#' @noRd
wide_range <- function(x) {
  range <- range(x)
  if (range[2L] < 2 * range[1L]) range * c(0.7, 1.4) else range
}

#' Powers of ten where there are two or more, at most six; else what fits
#' @noRd
log_axis <- function(side, x) {
  range <- log10(wide_range(x))
  powers <- seq(ceiling(range[1L] - 0.05), floor(range[2L] + 0.05))
  if (range[2L] - range[1L] >= 1 && length(powers) >= 2L) {
    ticks <- 10^powers[(powers - powers[1L]) %% ceiling(length(powers) / 6) == 0]
  } else {
    ticks <- grDevices::axisTicks(range, log = TRUE, nint = 4)
  }
  graphics::axis(side, ticks, formatC(ticks, format = "g", digits = 2L))
}
