# Fits that did not come to their end.

# value: a fit, or function() that makes one from what was kept.
last_fit <- new.env(parent = emptyenv())

#' The fit so far
#'
#' What [galvi()] had found when it was stopped: by Ctrl-C (Esc in RStudio), by `max_seconds` of
#' [galvi_control()], or because rows could no longer be read from a connection or a file. It is the best posterior and
#' the best hyperparameters until then. Such a fit has not converged and says so, but prints, predicts and
#' plots as others do, and `update(galvi_last())` goes on from it.
#'
#' After an interrupt `galvi_last()` takes one more iteration, at hyperparameters that are fixed. A fit whose rows
#' could not be read is also in the error, as `e$fit` in
#' `tryCatch(galvi(...), galvi_error_unfinished = function(e) e$fit)`.
#'
#' @return The last fit that was stopped in this session, or NULL. Of rows from a source or on a cluster, an interrupt
#'   leaves none.
#' @seealso [galvi_control()], [row_source()]
#' @examples
#' # hyperparameters are learned for a tenth of a second
#' fit <- suppressWarnings(
#'   galvi(mpg ~ gp(wt, hp), data = mtcars, control = galvi_control(max_seconds = 0.1))
#' )
#' galvi_last()
#' @export
galvi_last <- function() {
  if (is.function(last_fit$value)) last_fit$value <- last_fit$value()
  last_fit$value
}

# The error, with what was found before it.
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

# A fit as `start` of the one that goes on from it; `asked`: the expression that stays in the new fit's call.
continued <- function(fit, asked) structure(fit, asked = asked)
without_continued <- function(call) {
  if (inherits(call$start, "galvi")) call$start <- attr(call$start, "asked")
  call
}

# Called by the core when it is interrupted, before R hears of it.
keep_standing <- function(standing) last_fit$standing <- standing

# The same of a fit whose hyperparameters are going to be integrated over.
standing_at <- function(result) {
  start <- if (is.null(result$global)) result[c("lambda", "b")] else result["global"]
  list(hyper = result$hyper, start = start, method = result$method, trace = result$trace)
}
