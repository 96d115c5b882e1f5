#' galvi: variational inference for latent Gaussian models
#'
#' A **model** joins a Gaussian prior and a likelihood; **inference** looks for the Gaussian posterior with
#' the highest evidence bound; a **fit** answers questions. Start at [galvi()], or with
#' `vignette("getting-started", package = "galvi")`. `vignette("coming-from", package = "galvi")` is for users of
#' mgcv, lme4, brms, INLA and GPflow; `vignette("troubleshooting", package = "galvi")` explains warnings and errors;
#' `vignette("sharp-bits", package = "galvi")` lists what surprises.
#'
#' `vignette("kernels", package = "galvi")` is about Gaussian processes and their kernels;
#' `vignette("checking", package = "galvi")` about comparing and checking models;
#' `vignette("theory", package = "galvi")` has the equations and where they are computed.
#'
#' @importFrom Rcpp evalCpp
#' @importFrom stats coef confint deviance family fitted formula logLik model.frame nobs predict residuals
#'   sigma simulate terms update vcov weights
#' @useDynLib galvi, .registration = TRUE
#' @name galvi-package
#' @keywords internal
NULL

#' @importFrom nlme fixef
#' @export
nlme::fixef

#' @importFrom nlme ranef
#' @export
nlme::ranef
