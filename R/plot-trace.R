trace_panels <- function(fit) {
  trace <- fit$trace
  draw <- list(if (max(trace$step, na.rm = TRUE) > 0) {
    function(look) draw_hyper_steps(fit, trace, look)
  } else {
    function(look) draw_bound(fit, trace, look)
  })
  inner <- inner_steps(trace)
  if (nrow(inner)) draw <- c(draw, function(look) draw_inner_steps(inner, look))
  list(data = trace, draw = draw)
}

#' The bound at the end of each hyperparameter step, a line for each search; the one that was taken in colour
#' @noRd
draw_hyper_steps <- function(fit, trace, look) {
  ends <- trace[!is.na(trace$step) & is.finite(trace$elbo), ]
  ends <- ends[!duplicated(ends[c("start", "step")], fromLast = TRUE), ]
  taken <- taken_start(trace)
  open_bound_panel(fit, ends$step, ends$elbo, "hyperparameter step", "at each hyperparameter step",
    if (any(ends$start != taken)) "grey: searches from other starts", look)
  for (start in c(setdiff(ends$start, taken), taken)) {
    one <- ends[ends$start == start, ]
    draw_steps(one$step, one$elbo, if (start == taken) look_colours(look, plot_colours[1L]) else "grey60")
  }
}

#' The bound of every iteration where hyperparameters are fixed
#' @noRd
draw_bound <- function(fit, trace, look) {
  ok <- is.finite(trace$elbo)
  open_bound_panel(fit, trace$iteration[ok], trace$elbo[ok], "iteration", "at each iteration", NULL, look)
  draw_steps(trace$iteration[ok], trace$elbo[ok], look_colours(look, plot_colours[1L]))
}

open_bound_panel <- function(fit, x, elbo, xlab, where, note, look) {
  best <- max(elbo)
  # A first step thousands of nats below would flatten all the others.
  shown <- max(10 * (best - stats::median(elbo)), 2, 0.02 * abs(best))
  lowest <- max(min(elbo), best - shown)
  approximate <- evidence_kind(fit) == "approximation"
  what <- if (approximate) "Approximate log evidence" else "ELBO"
  open_panel(range(x), c(lowest, best), xlab, paste(what, "(nats)"), paste(what, where),
    join_notes(note, if (lowest > min(elbo)) "the first steps are below the panel"), look, whole = TRUE)
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
  # An exact posterior has no gap, and one of 1e-16 is rounding.
  drawn <- max(own$iteration) > 0 && any(own$gap > 0, na.rm = TRUE)
  own$gap <- pmax(own$gap, 1e-14)
  own[drawn & is.finite(own$gap), c("step", "iteration", "gap")]
}

draw_inner_steps <- function(inner, look) {
  steps <- unique(inner$step)
  open_panel(range(inner$iteration), range(inner$gap), "iteration", "gap (nats)",
    "Upper bound on the optimality gap",
    if (length(steps) > 1L) "within each hyperparameter step: the last in colour, earlier ones in grey",
    look, log = "y", whole = TRUE)
  own <- look_colours(look, plot_colours[2L])
  for (step in steps) {
    one <- inner[inner$step == step, ]
    draw_steps(one$iteration, one$gap, if (step == max(steps)) own else "grey70")
  }
}

#' A line through steps, with points where few
#' @noRd
draw_steps <- function(x, y, colour) {
  graphics::lines(x, y, col = colour, lwd = 1.5)
  graphics::points(x, y, pch = 19, cex = if (length(x) <= 60) 0.7 else 0.35, col = colour)
}
