# How a fit tells the user where it is. The core reports (stage, iteration, elbo, gap) at most ten times a
# second; here that becomes one line that rewrites itself on a terminal, or a line every two seconds in a log.

# Calls run(report): `report` is what fit_model() hands to the core, NULL for a silent fit.
with_progress <- function(verbose, run) {
  if (!isTRUE(verbose)) return(run(NULL))
  if (!cli::is_dynamic_tty()) return(run(progress_lines()))
  status <- ""
  bar <- cli::cli_progress_bar(format = "{cli::pb_spin} {status}", total = NA, clear = TRUE)
  run(function(stage, iteration, elbo, gap) {
    status <<- progress_status(stage, iteration, elbo, gap)
    cli::cli_progress_update(id = bar, force = TRUE)
  })
}

# A new stage is always shown; within one, a line every two seconds.
progress_lines <- function(every = 2) {
  shown <- list(stage = "", time = -Inf)
  function(stage, iteration, elbo, gap) {
    now <- proc.time()[["elapsed"]]
    if (identical(stage, shown$stage) && now - shown$time < every) return(invisible())
    shown <<- list(stage = stage, time = now)
    cli::cat_line(progress_status(stage, iteration, elbo, gap), file = stderr())
  }
}

# "inference, iteration 3: bound -113.982, within 2.1e-05 nats of its optimum"
progress_status <- function(stage, iteration, elbo, gap) {
  text <- paste0(stage, ", iteration ", iteration)
  if (is.finite(elbo)) text <- paste0(text, ": bound ", formatC(elbo, format = "f", digits = 3))
  if (is.finite(gap)) text <- paste0(text, ", within ", format(gap, digits = 2), " nats of its optimum")
  text
}
