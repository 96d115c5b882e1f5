# What a fit says of the harmonics of periodic processes.

#' @export
say_of_term.gp_term <- function(spec, fit) {
  for (k in seq_along(fit$model$predictors)) for (term in prior_terms(fit$model, k)) {
    if (!identical(term$label, spec$label)) next
    has <- harmonics_of(term)
    if (is.null(has) || needed_harmonics(term_kernels(term), fit$posterior$hyper) <= has) next
    return(inform_galvi("harmonics", sprintf(paste(
      "%s: the learned lengthscale is so short that the %s harmonics of periodic() leave out a part of its variance.",
      "A longer lengthscale that is fixed, or a kernel that is not periodic, avoids this."
    ), spec$label, whole_words(has))))
  }
}
