# Fits that are repeated: for each fold, or for each imputed data set.

#' f(k) for k = 1, 2, .. Messages are left out, and each kind of warning is given once.
#'
#' @param labels What the repetitions are called, such as "fold 3"; `before`: what errors begin with, `%s` for the
#'   label.
#' @noRd
each_once_warned <- function(labels, before, f) {
  said <- list()
  current <- 0L
  out <- withCallingHandlers(
    lapply(seq_along(labels), function(k) {
      current <<- k
      f(k)
    }),
    galvi_message = function(m) invokeRestart("muffleMessage"),
    galvi_warning = function(w) {
      kind <- class(w)[1L]
      said[[kind]] <<- list(
        what = sub("^galvi_warning_", "", kind), which = union(said[[kind]]$which, current),
        message = or_else(said[[kind]]$message, conditionMessage(w))
      )
      invokeRestart("muffleWarning")
    },
    galvi_error = function(e) {
      e$message <- paste0(sprintf(before, labels[current]), conditionMessage(e))
      stop(e)
    }
  )
  for (one in said) {
    warn_galvi(one$what, sprintf("%s (%d of %d): %s", labels[one$which[1L]], length(one$which), length(labels),
      one$message))
  }
  out
}
