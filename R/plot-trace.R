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
  name <- paste(what, if (learned) "at each hyperparameter step" else "at each iteration")
  note <- join_notes(if (!all(data$taken)) "grey: searches from other starts",
    if (lowest > min(data$elbo)) "the first steps are below the panel")
  at <- data.frame(x = data$at, y = data$elbo, group = data$start)[order(data$taken), ]
  # the search that was taken on top
  marks <- step_marks(at, sort(data$taken), plot_colours[1L], "grey60")
  new_panel(name, data, marks, c(if (learned) "hyperparameter step" else "iteration", paste(what, "(nats)")), note,
    range(at$x), c(lowest, best), whole = TRUE)
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
  last <- inner$step == max(inner$step)
  note <- if (!all(last)) "within each hyperparameter step: the last in colour, earlier ones in grey"
  at <- data.frame(x = inner$iteration, y = inner$gap, group = inner$step)
  new_panel("Upper bound on the optimality gap", inner, step_marks(at, last, plot_colours[2L], "grey70"),
    c("iteration", "gap (nats)"), note, range(at$x), range(at$y), log = "y", whole = TRUE)
}

#' Lines through steps, with points that are smaller where a line has many
#' @param main Which rows are in the colour of the user, others in grey.
#' @noRd
step_marks <- function(at, main, colour, grey) {
  steps <- stats::ave(at$x, at$group, FUN = length)
  colours <- own_colours(colour, 2L - main, function(own) c(own, grey))
  list(mark("line", at, colours, lwd = 1.5), mark("points", at, colours, cex = ifelse(steps <= 60, 0.7, 0.35)))
}
