# type = "link": the linear predictor, its limits and joint covariance.

predict_link <- function(fit, target, options) {
  if (is_distributional(fit)) return(of_predictor(predict_link, fit, target, options))
  marginals <- latent_marginals(fit, target)
  sd <- sqrt(marginals$variance)
  mean <- marginals$mean
  colnames(mean) <- colnames(sd) <- latent_names(fit)
  result <- list(fit = drop_latent(mean), se.fit = drop_latent(sd))
  if (options$interval == "credible") {
    check_one_latent(fit, "`interval = \"credible\"`")
    result$fit <- with_limits(mean, credible_limits(marginals, options$level))
  }
  if (options$covariance) result$covariance <- joint_covariance(fit, target)
  result
}

#' A prediction of the predictor that was asked for, that of the response if none was
#' @noRd
of_predictor <- function(predict, fit, target, options) {
  k <- if (is.null(options$predictor)) 1L else options$predictor
  predict(predictor_view(fit, k), target_view(target, k), options)
}

drop_latent <- function(x) if (ncol(x) == 1L) as.vector(x) else x

tails <- function(level) c((1 - level) / 2, (1 + level) / 2)

#' Of eta, K = 1: N x 2
#' @noRd
credible_limits <- function(marginals, level) {
  states <- marginals$states
  if (is.null(states)) {
    sd <- sqrt(marginals$variance[, 1L])
    return(outer(sd, stats::qnorm(tails(level))) + marginals$mean[, 1L])
  }
  n <- nrow(marginals$mean)
  each <- function(f) matrix(vapply(states, f, numeric(n)), n)
  mean <- each(function(state) state$mean[, 1L])
  sd <- sqrt(each(function(state) state$variance[, 1L]))
  weight <- each(function(state) rep_len(state$weight, n))
  matrix(vapply(tails(level), function(p) normal_mixture_quantile(mean, sd, weight, p), numeric(n)), n)
}

with_limits <- function(fit, limits) {
  limits <- matrix(limits, ncol = 2L)
  `colnames<-`(cbind(as.vector(fit), limits), c("fit", "lwr", "upr"))
}

joint_covariance <- function(fit, target) {
  covariance <- latent_at(fit, target$rows, target$n, covariance = TRUE)$covariance
  names(covariance) <- latent_names(fit)
  if (length(covariance) == 1L) covariance[[1L]] else covariance
}

finish_covariance <- function(covariance, finish) {
  if (is.list(covariance)) return(lapply(covariance, finish_covariance, finish))
  # Rows, then columns: a covariance matrix is symmetric.
  finish(t(finish(covariance)))
}
