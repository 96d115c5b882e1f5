# What is said of a fit with processes at knots.

#' What knots and inducing points in space leave of the evidence, about sum lambda c / 2
#' @noRd
knot_loss <- function(fit) {
  extra <- fit$posterior$extra
  if (is.null(extra)) 0 else sum(fit$posterior$lambda * extra) / 2
}

# A line for each process with knots.
knot_lines <- function(fit) {
  unlist(lapply(all_specs(fit$design), function(spec) {
    if (is.null(spec$knots)) return(NULL)
    sprintf("%s: states at %s knots%s.", spec$label, whole_words(length(spec$knots$times)),
      if (is_in_time(spec)) sprintf(" for each of %d inducing points", NROW(fit$inducing[[spec$label]])) else ""
    )
  }))
}

#' The note about a process of one input that is at knots and not a chain
#' @noRd
knot_notes <- function(fit) {
  specs <- Filter(function(spec) !is.null(spec$knots) && !is_in_time(spec), all_specs(fit$design))
  if (!length(specs)) return(NULL)
  labels <- vapply(specs, `[[`, "", "label")
  loss <- knot_loss(fit)
  new_note("knots", sprintf(paste(
    "%s %s by states at knots, %s in all, and not centred: the solver of Markov processes takes those of one input",
    "alone, and a full process over so many rows would be slow. What lies between the knots costs the bound about %s."
  ), quote_names(labels), if (length(labels) > 1L) "are represented" else "is represented",
  whole_words(sum(vapply(specs, function(spec) length(spec$knots$times), 1L))), in_nats(loss)))
}
