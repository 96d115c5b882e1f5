#' Leverages and Cook's distances
#'
#' How much each row determines its own linear predictor, and how far the posterior moves without it. Nothing is
#' fitted again: a row leaves the posterior with its site, as in [loo()][loo.galvi].
#'
#' With v the posterior variance of a row's linear predictor, and alpha and lambda the slope and the curvature of
#' its site,
#' * `hatvalues()` are h = lambda v: the share of what is known of the linear predictor that the row itself
#'   contributes. They add up to the effective number of parameters.
#' * `cooks.distance()` is (m - m')' V^-1 (m - m') / sum(h) = alpha^2 v / (1 - h)^2 / sum(h), where m and V are the
#'   posterior mean and covariance of the latent vector and m' is the mean without the row.
#'
#' Under flat priors these are the numbers of [stats::lm()] (at the same residual variance) and close to those of
#' [stats::glm()] with canonical links; with other links `glm()` has the expected curvature where lambda is that of the
#' observed response. Shrinkage makes leverages smaller.
#'
#' @param model A fit of [galvi()] with one linear predictor.
#' @param ... Must be empty.
#' @return A named vector with one element per observation.
#' @section Errors:
#' `galvi_error_argument` for several linear predictors, `galvi_error_data` for rows that were read from a source.
#' @seealso [loo.galvi()], whose `leverage` and `pointwise` are there for several linear predictors too.
#' @references Cook, R. D. and Weisberg, S. (1982). Residuals and Influence in Regression. Chapman and Hall.
#' @examples
#' fit <- galvi(dist ~ speed, data = cars)
#' head(hatvalues(fit))
#' which.max(cooks.distance(fit))
#' @name hatvalues.galvi
NULL

#' @rdname hatvalues.galvi
#' @importFrom stats hatvalues
#' @export
hatvalues.galvi <- function(model, ...) {
  refuse_dots(list(...), hatvalues.galvi, "hatvalues()")
  check_sites(model, "hatvalues()")
  per_row(model, model$posterior$lambda[, 1L] * determined_variance(model)[, 1L])
}

#' @rdname hatvalues.galvi
#' @importFrom stats cooks.distance
#' @export
cooks.distance.galvi <- function(model, ...) {
  refuse_dots(list(...), cooks.distance.galvi, "cooks.distance()")
  check_sites(model, "cooks.distance()")
  v <- determined_variance(model)[, 1L]
  leverage <- model$posterior$lambda[, 1L] * v
  per_row(model, model$posterior$alpha[, 1L]^2 * v / (1 - leverage)^2 / sum(leverage))
}

check_sites <- function(fit, what) {
  check_has_rows(fit, paste(what, "needs them all"))
  if (n_latents(fit) == 1L) return(invisible())
  stop_galvi("argument", sprintf(
    "%s is for one linear predictor; this fit has %d per observation. loo::loo(fit) has `leverage` and `pointwise`.",
    what, n_latents(fit)
  ))
}

per_row <- function(fit, x) stats::naresid(fit$na.action, stats::setNames(x, row.names(fit$data)))
