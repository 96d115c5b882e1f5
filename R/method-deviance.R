# Unit deviances: 2 (log p at the best eta - log p at the fitted mean), computed from the likelihood.

#' The unit deviance of each row at its fitted mean
#'
#' An exponential dispersion model is taken at dispersion 1, as in glm(). Other predictors are at the posterior means of
#' their parameters in each row.
#' @param mean The fitted means.
#' @noRd
unit_deviance <- function(fit, marginals, target, mean) {
  hyper <- fit$posterior$hyper
  at <- function(eta, what) {
    as_galvi_error(predict_response(
      fit$model$likelihood, hyper, size = target$size, y = target$y, mean = eta, variance = 0, what = what,
      probability = 0.5
    ))
  }
  others <- if (n_predictors(fit) > 1L) log(parameter_means(fit, marginals))
  if (weights_divide(fit$family)) {
    hyper[unlist(fit$model$likelihood$hyper)] <- 1
    if (!is.null(others)) others[] <- 0
  }
  of_logs <- link_types[[fit$family$link]]$of_logs
  moment <- function(what) response_moment(fit, marginals, what)
  first <- if (is.null(of_logs)) mean else do.call(of_logs, lapply(names(formals(of_logs)), moment))
  units <- at(cbind(first, others), "deviance")
  if (any(is.infinite(units))) stop_no_deviance(fit)
  units
}

# The link of the mean is the predictor, and log p is bounded: not in models of a variance, of a quantile, of times or
# of excess zeros. A custom family does not say what its mean is of eta.
has_deviance <- function(fit) {
  if (is_custom(fit$family) || is_mixed(fit$family)) return(FALSE)
  type <- family_type(fit$family)
  !(type$volatility || type$times || type$location == "quantile" || any(vapply(type$dpars, `[[`, NA, "always")))
}

stop_no_deviance <- function(fit) {
  stop_galvi("argument", sprintf(
    "The family %s has no deviance: use type = \"quantile\" or \"pearson\".", family_label(fit)
  ))
}
