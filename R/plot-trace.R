trace_panels <- function(fit) {
  trace <- fit$trace
  draw <- list(function() draw_bound(fit, trace))
  if (any(is.finite(trace$gap) & trace$gap > 0)) draw <- c(draw, function() draw_gap(trace))
  list(data = trace, draw = draw)
}

draw_bound <- function(fit, trace) {
  ok <- is.finite(trace$elbo)
  best <- max(trace$elbo[ok])
  # A first step thousands of nats below would flatten all the others.
  shown <- max(10 * (best - stats::median(trace$elbo[ok])), 2, 0.02 * abs(best))
  lowest <- max(min(trace$elbo[ok]), best - shown)
  clipped <- lowest > min(trace$elbo[ok])
  approximate <- evidence_kind(fit) == "approximation"
  open_panel(range(trace$iteration[ok]), c(lowest, best), "step",
    if (approximate) "log evidence (nats)" else "ELBO (nats)",
    if (approximate) "The log evidence, approximated" else "The bound on the log evidence",
    if (clipped) "the first steps are below the panel")
  graphics::lines(trace$iteration[ok], trace$elbo[ok], col = plot_colours[1L], lwd = 1.5)
  few <- if (sum(ok) <= 60) 0.7 else 0.35
  graphics::points(trace$iteration[ok], trace$elbo[ok], pch = 19, cex = few, col = plot_colours[1L])
}

draw_gap <- function(trace) {
  ok <- is.finite(trace$gap) & trace$gap > 0
  # Gaps of 1e-16 are rounding.
  gap <- pmax(trace$gap[ok], 1e-14)
  open_panel(range(trace$iteration[ok]), range(gap), "step", "",
    "Most that the bound lacks to its optimum (nats)", "at the hyperparameters of the step",
    log = "y", yaxt = "n")
  ticks <- grDevices::axisTicks(log10(range(gap)), log = TRUE, nint = 6)
  graphics::axis(2, ticks, formatC(ticks, format = "g"))
  graphics::lines(trace$iteration[ok], gap, col = plot_colours[2L], lwd = 1.5)
  graphics::points(trace$iteration[ok], gap, pch = 19, cex = 0.6, col = plot_colours[2L])
}
