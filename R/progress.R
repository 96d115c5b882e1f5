# Progress of a fit. The core reports (stage, iteration, elbo, gap, of) at most ten times a second, where `of` is the
# number of iterations if it is known, else 0. A terminal shows one line that is updated, a log one line every two
# seconds.

# Calls run(report): `report` is the function that fit_model() passes to the core, NULL for a silent fit. Fits are
# silent while a document is knitted.
with_progress <- function(verbose, run) {
  if (!isTRUE(verbose) || isTRUE(getOption("knitr.in.progress"))) return(run(NULL))
  if (!cli::is_dynamic_tty()) return(run(progress_lines()))
  status <- ""
  left <- time_left()
  bar <- cli::cli_progress_bar(format = "{cli::pb_spin} {status}", total = NA, clear = TRUE)
  run(function(stage, iteration, elbo = NaN, gap = NaN, of = 0) {
    status <<- progress_status(stage, iteration, elbo, gap, of, left(stage, iteration, elbo, of))
    cli::cli_progress_update(id = bar, force = TRUE)
  })
}

# A new stage is always shown; within one, a line every two seconds.
progress_lines <- function(every = 2) {
  shown <- list(stage = "", time = -Inf)
  left <- time_left()
  function(stage, iteration, elbo = NaN, gap = NaN, of = 0) {
    now <- proc.time()[["elapsed"]]
    seconds <- left(stage, iteration, elbo, of, now)
    if (identical(stage, shown$stage) && now - shown$time < every) return(invisible())
    shown <<- list(stage = stage, time = now)
    cli::cat_line(progress_status(stage, iteration, elbo, gap, of, seconds), file = stderr())
  }
}

# "Computing the posterior, iteration 3: bound -113.982, within 2e-05 of its maximum; about 20 s left"
progress_status <- function(stage, iteration, elbo = NaN, gap = NaN, of = 0, seconds = NA) {
  text <- paste0(stage, ", iteration ", iteration, if (of > 0) paste0(" of ", of))
  if (is.finite(elbo)) text <- paste0(text, ": bound ", formatC(elbo, format = "f", digits = 3))
  if (is.finite(gap)) text <- paste0(text, ", within ", format(gap, digits = 1), " of its maximum")
  if (is.finite(seconds)) text <- paste0(text, "; about ", in_words(seconds), " left")
  text
}

in_words <- function(seconds) {
  if (seconds < 90) return(paste(signif(max(seconds, 1), 1L), "s"))
  if (seconds < 5400) return(paste(signif(seconds / 60, 1L), "min"))
  paste(signif(seconds / 3600, 1L), "h")
}

#' Estimates the remaining time of a stage: function(stage, iteration, elbo, of, now), in seconds, NA as long as it
#' cannot be estimated
#'
#' If the number of iterations is known, the remaining ones are assumed to take as long as those before. Otherwise the
#' best bound so far is assumed to approach its maximum geometrically. If it rose by r1 in the third quarter of the time
#' until now and by r2 in the fourth, q = r2 / r1 < 1, then r2 q / (1 - q) is left to gain. This decreases by the
#' factor q in every further quarter, until it is below `enough` nats.
#' @noRd
time_left <- function(enough = 1e-3, at_least = 3) {
  stage_now <- ""
  began <- NA_real_
  times <- best <- numeric()
  function(stage, iteration, elbo, of = 0, now = proc.time()[["elapsed"]]) {
    if (!identical(stage, stage_now)) {
      stage_now <<- stage
      began <<- now
      times <<- best <<- numeric()
    }
    if (of > 0) return(if (now - began < at_least) NA_real_ else (now - began) * (of - iteration + 1) / (iteration - 1))
    if (!is.finite(elbo)) return(NA_real_)
    times <<- c(times, now)
    best <<- c(best, max(elbo, utils::tail(best, 1L)))
    span <- (now - began) / 4
    if (4 * span < at_least) return(NA_real_)
    rises <- diff(best[c(findInterval(now - c(2, 1) * span, times), length(best))])
    if (length(rises) < 2L || any(!(rises > 0)) || rises[2L] >= rises[1L]) return(NA_real_)
    q <- rises[2L] / rises[1L]
    to_gain <- rises[2L] * q / (1 - q)
    if (to_gain <= enough) return(0)
    span * log(enough / to_gain) / log(q)
  }
}
