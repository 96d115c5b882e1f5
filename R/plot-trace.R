# The path of a fit: its bound step after step, and the iterations within the steps.

trace_panels <- function(fit, settings) {
  panels <- list(bound_panel(fit))
  inner <- inner_steps(fit$trace)
  if (nrow(inner)) panels <- c(panels, list(gap_panel(inner)))
  list(data = fit$trace, panels = panels)
}

#' The bound at the end of each hyperparameter step, a line for each search and the one that was taken in colour; with
#' fixed hyperparameters the bound of every iteration
#' @noRd
bound_panel <- function(fit) {
  trace <- fit$trace
  learned <- max(trace$step, na.rm = TRUE) > 0
  data <- trace[is.finite(trace$elbo), ]
  if (learned) {
    data <- data[!is.na(data$step), ]
    data <- data[!duplicated(data[c("start", "step")], fromLast = TRUE), ]
  }
  data$at <- if (learned) data$step else data$iteration
  data$taken <- data$start == taken_start(trace)
  what <- if (evidence_kind(fit) == "approximation") "Approximate log evidence" else "ELBO"
  # A first step thousands of nats below would flatten all the others.
  best <- max(data$elbo)
  lowest <- max(min(data$elbo), best - max(10 * (best - stats::median(data$elbo)), 2, 0.02 * abs(best)))
  panel <- list(
    data = data, reach = c(lowest, best), xlab = if (learned) "hyperparameter step" else "iteration",
    ylab = paste(what, "(nats)"),
    name = paste(what, if (learned) "at each hyperparameter step" else "at each iteration"),
    note = join_notes(if (!all(data$taken)) "grey: searches from other starts",
      if (lowest > min(data$elbo)) "the first steps are below the panel")
  )
  list(name = panel$name, draw = function(look) draw_bound(panel, look), gg = function() gg_bound(panel))
}

draw_bound <- function(panel, look) {
  data <- panel$data
  open_panel(range(data$at), panel$reach, panel$xlab, panel$ylab, panel$name, panel$note, look, whole = TRUE)
  # the search that was taken on top
  for (start in unique(data$start[order(data$taken)])) {
    one <- data[data$start == start, ]
    draw_steps(one$at, one$elbo, if (one$taken[1L]) look_colours(look, plot_colours[1L]) else "grey60")
  }
}

gg_bound <- function(panel) {
  panel$data$taken <- factor(panel$data$taken, c(TRUE, FALSE))
  gg(panel$data, "at", "elbo", group = "start", colour = "taken") + ggplot2::geom_line() +
    ggplot2::geom_point(size = 1) +
    ggplot2::scale_colour_manual(values = c(plot_colours[1L], "grey60"), guide = "none") +
    ggplot2::scale_x_continuous(breaks = whole_breaks) + ggplot2::coord_cartesian(ylim = panel$reach) +
    gg_labels(panel, x = panel$xlab, y = panel$ylab)
}

#' The search whose end is the fit
#' @noRd
taken_start <- function(trace) trace$start[nrow(trace)]

#' Iterations of inference at each hyperparameter step of the search that was taken, with their gap: a data
#' frame of step, iteration (within the step), gap
#' @noRd
inner_steps <- function(trace) {
  own <- trace[trace$start == taken_start(trace) & !is.na(trace$step), ]
  own$iteration <- stats::ave(own$step, own$step, FUN = seq_along) - 1
  own <- own[is.finite(own$gap), c("step", "iteration", "gap")]
  # An exact posterior has no gap, and one of 1e-16 is rounding. One gap a step, known at its end, is no path.
  drawn <- anyDuplicated(own$step) && any(own$gap > 0)
  own$gap <- pmax(own$gap, 1e-14)
  own[rep(drawn, nrow(own)), ]
}

gap_panel <- function(inner) {
  panel <- list(
    data = inner, name = "Upper bound on the optimality gap", xlab = "iteration", ylab = "gap (nats)",
    note = if (length(unique(inner$step)) > 1L) {
      "within each hyperparameter step: the last in colour, earlier ones in grey"
    }
  )
  list(name = panel$name, draw = function(look) draw_gap(panel, look), gg = function() gg_gap(panel))
}

draw_gap <- function(panel, look) {
  data <- panel$data
  open_panel(range(data$iteration), range(data$gap), panel$xlab, panel$ylab, panel$name, panel$note, look, log = "y",
    whole = TRUE)
  own <- look_colours(look, plot_colours[2L])
  for (step in unique(data$step)) {
    one <- data[data$step == step, ]
    draw_steps(one$iteration, one$gap, if (step == max(data$step)) own else "grey70")
  }
}

gg_gap <- function(panel) {
  data <- panel$data
  data$last <- factor(data$step == max(data$step), c(TRUE, FALSE))
  gg(data, "iteration", "gap", group = "step", colour = "last") + ggplot2::geom_line() +
    ggplot2::geom_point(size = 1) + ggplot2::scale_y_log10() + ggplot2::scale_x_continuous(breaks = whole_breaks) +
    ggplot2::scale_colour_manual(values = c(plot_colours[2L], "grey70"), guide = "none") +
    gg_labels(panel, x = panel$xlab, y = panel$ylab)
}

whole_breaks <- function(range) unique(round(pretty(range)))

#' A line through steps, with points where few
#' @noRd
draw_steps <- function(x, y, colour) {
  graphics::lines(x, y, col = colour, lwd = 1.5)
  graphics::points(x, y, pch = 19, cex = if (length(x) <= 60) 0.7 else 0.35, col = colour)
}
