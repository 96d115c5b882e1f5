# Fits that are repeated: for each fold, or for each imputed data set.

#' f(k) for k = 1, 2, .. Each kind of warning is given once. Messages are left out, but those of k = 1 about the call.
#'
#' @param labels What the repetitions are called, such as "fold 3"; `before`: what errors begin with, `%s` for the
#'   label; of_call: kinds of messages that are about the call, not the rows.
#' @noRd
each_once_warned <- function(labels, before, f, of_call = character()) {
  said <- list()
  current <- 0L
  out <- withCallingHandlers(
    lapply(seq_along(labels), function(k) {
      current <<- k
      f(k)
    }),
    galvi_message = function(m) {
      if (current > 1L || !inherits(m, paste0("galvi_message_", of_call))) invokeRestart("muffleMessage")
    },
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
