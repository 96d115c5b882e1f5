# Fits that were stopped.

# value: a fit, or function() that makes one.
last_fit <- new.env(parent = emptyenv())

#' Result of an interrupted fit
#'
#' Returns what [galvi()] had found when it was stopped: by Ctrl-C (Esc in RStudio), by `max_seconds` in
#' [galvi_control()], by [setTimeLimit()], by an error of a function in [custom_family()] or [custom_kernel()], or
#' because rows could no longer be read from a connection or file.
#'
#' The fit has the best posterior and hyperparameters found so far. It is marked as not converged, but it prints,
#' predicts and plots as other fits do, and `update(galvi_last())` continues from it.
#'
#' After an interrupt `galvi_last()` runs one more iteration with fixed hyperparameters. A fit whose rows could not be
#' read is also part of the error: `tryCatch(galvi(...), galvi_error_unfinished = function(e) e$fit)`.
#'
#' @return The last fit of the session that was stopped, of class `galvi` (see [galvi-fit]), or NULL. An interrupt of a
#'   fit to rows from a source or on a cluster leaves none.
#' @family fitting
#' @examples
#' # the time limit is reached after the first step
#' fit <- suppressWarnings(
#'   galvi(mpg ~ gp(wt, hp), data = mtcars, control = galvi_control(max_seconds = 1e-6))
#' )
#' galvi_last()
#'
#' # continue without a limit
#' update(galvi_last(), control = galvi_control())
#' @export
galvi_last <- function() {
  if (is.function(last_fit$value)) last_fit$value <- last_fit$value()
  last_fit$value
}

# The error, with the posterior found so far.
with_posterior <- function(condition, posterior) {
  condition$posterior <- posterior
  class(condition) <- unique(c("galvi_error_unfinished", class(condition)))
  condition
}

#' The posterior of an interrupted galvi_infer()
#'
#' @param model From `galvi_model()`. standing: what `fit_model()` kept: `hyper`, `start`, `method`, `trace`.
#' @noRd
interrupted_posterior <- function(model, standing) {
  core <- core_model(model, standing$method)
  core$hyper$value <- standing$hyper
  control <- as_control(model$control)
  control$max_iterations <- 1
  control$max_seconds <- Inf
  result <- fit_model(core, standing$method, "fixed", control, standing$start)
  result[c("converged", "interrupted", "trace")] <- list(FALSE, TRUE, standing$trace)
  result$message <- "it was interrupted"
  new_step("galvi_infer", result)
}

# A fit as `start` of a fit that continues it; `asked`: the expression that the call of the new fit keeps.
continued <- function(fit, asked) structure(fit, asked = asked)
without_continued <- function(call) {
  if (inherits(call$start, "galvi")) call$start <- attr(call$start, "asked")
  call
}

# Called by the core when an interrupt or an error of R stops it, before fit_formula() is left.
keep_standing <- function(standing) last_fit$standing <- standing

# The same for a fit whose hyperparameters are still to be integrated over.
standing_at <- function(result) {
  start <- if (is.null(result$global)) result[c("lambda", "b")] else result["global"]
  list(hyper = result$hyper, start = start, method = result$method, trace = result$trace)
}
