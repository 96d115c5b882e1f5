#' galvi: variational inference for latent Gaussian models
#'
#' Fits latent Gaussian models by variational inference: Gaussian processes (full and sparse), Bayesian generalised
#' linear and mixed models, spatial and temporal Markov random fields, and sums of these. [galvi()] fits a model from a
#' formula; its result has the methods that R users know, such as `summary()`, `predict()`, `plot()` and `ranef()`.
#'
#' @section Where to start:
#' * [galvi()], and `vignette("getting-started", package = "galvi")`.
#' * `vignette("coming-from", package = "galvi")` translates calls of mgcv, lme4, brms, INLA and GPflow.
#' * [galvi_family()] lists the response distributions; `vignette("choosing-a-likelihood", package = "galvi")` helps to
#'   choose one.
#' * [gp()] and [kernels] describe Gaussian processes, with `vignette("kernels", package = "galvi")`. [iid()],
#'   [random-slopes], [gmrf()] and [rw1()] describe random effects and fields, with
#'   `vignette("fields-and-random-effects", package = "galvi")`.
#' * `vignette("checking", package = "galvi")` shows how to check and compare models.
#' * `vignette("troubleshooting", package = "galvi")` explains warnings and errors, and
#'   `vignette("sharp-bits", package = "galvi")` lists what may surprise.
#' * `vignette("theory", package = "galvi")` has the equations; [galvi_methods()] lists the inference algorithms.
#'
#' `vignette(package = "galvi")` lists all vignettes.
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
