#' galvi: variational inference for latent Gaussian models
#'
#' A **model** joins a Gaussian prior and a likelihood; **inference** looks for the Gaussian posterior with
#' the highest evidence bound; a **fit** answers questions. Start at [galvi()], or with
#' `vignette("getting-started", package = "galvi")`.
#'
#' @importFrom Rcpp evalCpp
#' @useDynLib galvi, .registration = TRUE
#' @keywords internal
"_PACKAGE"
