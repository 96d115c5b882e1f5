# Fits that did not come to their end.

last_fit <- new.env(parent = emptyenv())

#' The fit so far
#'
#' When rows can no longer be read, because a connection dropped or a file was taken away, [galvi()] stops with
#' an error, and what it had found until then is kept: the highest bound, and the posterior there. Such a fit has
#' not converged and says so, but prints, predicts and plots as others do. The error, too, has it, as `e$fit` in
#' `tryCatch(galvi(...), galvi_error_unfinished = function(e) e$fit)`.
#'
#' @return The last fit that did not come to its end in this session, or NULL.
#' @seealso [row_source()]
#' @examples
#' galvi_last()
#' @export
galvi_last <- function() last_fit$value

# The error, with what was found before it.
with_posterior <- function(condition, posterior) {
  condition$posterior <- posterior
  class(condition) <- unique(c("galvi_error_unfinished", class(condition)))
  condition
}
