# Harmonics of periodic processes after learning: more of them where the learned lengthscale asks for it.

#' The model with the harmonics that these hyperparameters need, where learning starts too; NULL where those that it has
#' will do
#' @noRd
renewed_harmonics <- function(model, hyper) {
  has <- kept_harmonics(model)
  needs <- lapply(model$predictors, function(predictor) {
    lapply(predictor$terms, harmonics_at, hyper, can_be_full(model, predictor))
  })
  if (identical(needs, has)) return(NULL)
  model$hyper$value <- hyper
  with_kept_harmonics(model, needs)
}

# A full process needs all rows in memory, and no others beside it that save its size.
can_be_full <- function(model, predictor) {
  saving <- vapply(predictor$terms, function(term) !is.null(term$inducing) || !is.null(term$neighbours), NA)
  is.null(model$stream) && length(model$y) <= most_full_rows && !any(saving)
}

# Of each term of each predictor; NULL for terms without.
kept_harmonics <- function(model) lapply(model$predictors, function(predictor) lapply(predictor$terms, harmonics_of))

#' The model with these harmonics
#' @param kept As kept_harmonics(); Inf: as a full process.
#' @noRd
with_kept_harmonics <- function(model, kept) {
  for (p in seq_along(kept)) {
    terms <- Map(function(term, count) {
      # every series of a term has the same number
      if (is.null(count) || identical(count, harmonics_of(term))) return(term)
      if (is.finite(count)) return(with_term_harmonics(term, count))
      replace(with_term_harmonics(term, NULL), "type", "kernel")
    }, model$predictors[[p]]$terms, kept[[p]])
    model$predictors[[p]]$terms <- terms
    model$predictors[[p]]$solver <- prior_solver(terms)
  }
  model
}
