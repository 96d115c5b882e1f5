#' Posterior of the fixed effects
#'
#' `coef()` and `fixef()` give posterior means, `vcov()` the posterior covariance, `confint()` credible
#' intervals (equal tails of the Gaussian posterior), all on the scale of the linear predictor and at the
#' hyperparameters of the fit. `ranef()` gives the posterior of the other terms that are made of coefficients.
#'
#' @param object A fit of [galvi()].
#' @param parm Names or positions of coefficients; all of them if missing.
#' @param level Probability of the intervals.
#' @param ... Not used.
#' @return
#' * `coef`, `fixef`: a named vector with one element per column of the fixed effects; for multi-class
#'   families a matrix, class x column. Length 0 if the formula has no fixed effects.
#' * `vcov`: a square matrix; for multi-class families its names are `class:column`.
#' * `confint`: a matrix with a row per coefficient and the limits in two columns.
#' * `ranef`: a named list with a data frame per term (`mean` and `sd`, a row per coefficient or level); for
#'   multi-class families a column pair per class. Empty if there is no such term; [predict.galvi()] with
#'   `type = "terms"` gives the values of `gp()` terms.
#' @examples
#' fit <- galvi(am ~ wt + qsec, data = mtcars, family = binomial())
#' coef(fit)
#' confint(fit)
#' @export
coef.galvi <- function(object, ...) {
  mean <- fixed_coefficients(object)$mean
  if (ncol(mean) == 1L) mean[, 1L] else t(mean)
}

#' @rdname coef.galvi
#' @importFrom nlme fixef
#' @export fixef
#' @export
fixef.galvi <- function(object, ...) coef.galvi(object)

#' @rdname coef.galvi
#' @importFrom nlme ranef
#' @export ranef
#' @export
ranef.galvi <- function(object, ...) {
  blocks <- Filter(function(block) block$label != "fixed", object$posterior$coefficients)
  names(blocks) <- vapply(blocks, `[[`, "", "label")
  lapply(blocks, function(block) {
    block <- named_coefficients(object, block)
    sd <- sqrt(vapply(block$covariance, diag, numeric(nrow(block$mean))))
    if (ncol(block$mean) == 1L) return(data.frame(mean = block$mean[, 1L], sd = as.vector(sd)))
    colnames(block$mean) <- paste0("mean.", colnames(block$mean))
    colnames(sd) <- sub("^mean", "sd", colnames(block$mean))
    data.frame(block$mean, sd, check.names = FALSE)
  })
}

#' Posterior of the fixed effects: mean (q x K) and a q x q covariance per latent; q = 0 without fixed effects
#' @noRd
fixed_coefficients <- function(fit) {
  blocks <- fit$posterior$coefficients
  at <- match("fixed", vapply(blocks, `[[`, "", "label"))
  if (is.na(at)) {
    none <- matrix(numeric(), 0L, n_latents(fit))
    empty <- matrix(numeric(), 0L, 0L)
    return(list(mean = none, covariance = rep(list(empty), n_latents(fit))))
  }
  named_coefficients(fit, blocks[[at]])
}

#' A block of coefficients with the names of its columns and of the latents
#' @noRd
named_coefficients <- function(fit, block) {
  terms <- fit$model$priors[[1L]]$terms
  at <- match(block$label, vapply(terms, `[[`, "", "label"))
  columns <- colnames(terms[[at]]$W)
  mean <- as.matrix(block$mean)
  dimnames(mean) <- list(columns, latent_names(fit))
  list(mean = mean, covariance = lapply(block$covariance, `dimnames<-`, list(columns, columns)))
}
