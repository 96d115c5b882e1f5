#' Widely applicable information criterion (WAIC)
#'
#' Computes the WAIC (Watanabe 2010), a method for the generic `waic()` of package loo.
#'
#' @details
#' For each observation the WAIC is the log of its posterior predictive density minus the posterior variance of its log
#' density. Both are integrals over the Gaussian posterior of the linear predictor and are computed by quadrature.
#'
#' It is unreliable for observations whose variance, `p_waic`, exceeds 0.4 (Vehtari, Gelman and Gabry 2017); `print()`
#' shows their number. [loo()][loo.galvi] is more robust and should be preferred.
#'
#' @param x A fit of [galvi()].
#' @param ... Not used: arguments that methods for other models have are passed over.
#' @return A list of classes `galvi_waic`, `waic` and `loo`, for use in `loo::loo_compare()`: `estimates`, a matrix with
#'   columns `Estimate` and `SE` and rows `elpd_waic`, `p_waic` (the effective number of parameters) and `waic` = -2
#'   `elpd_waic`; and `pointwise`, a matrix of the same three measures for each row.
#' @section Errors:
#' `galvi_error_argument` for families with several classes, such as [categorical()]; `galvi_error_data` for fits that
#' do not contain their rows ([row_source()]).
#' @references
#' Watanabe, S. (2010). Asymptotic equivalence of Bayes cross validation and widely applicable information criterion in
#' singular learning theory. *Journal of Machine Learning Research* 11, 3571-3594.
#'
#' Vehtari, A., Gelman, A. and Gabry, J. (2017). Practical Bayesian model evaluation using leave-one-out
#' cross-validation and WAIC. *Statistics and Computing* 27, 1413-1432.
#' @family checks and comparisons
#' @examplesIf requireNamespace("loo", quietly = TRUE)
#' loo::waic(galvi(dist ~ speed, data = cars))
#' @method waic galvi
#' @rawNamespace S3method(loo::waic,galvi)
waic.galvi <- function(x, ...) {
  check_has_rows(x, "the WAIC needs them all")
  if (n_latents(x) > 1L && !is_distributional(x)) {
    stop_galvi("argument", sprintf(
      "waic() is for responses with one probability per linear predictor; this fit has %d per observation. Use loo().",
      n_latents(x)
    ))
  }
  weights <- x$model$weights
  lpd <- row_log_density(x, fitted_marginals(x))
  p <- weighted(log_density_variance(x), weights)
  elpd <- weighted(lpd, weights) - p
  pointwise <- cbind(elpd_waic = elpd, p_waic = p, waic = -2 * elpd)
  rownames(pointwise) <- observation_names(x)
  structure(
    list(
      estimates = loo_estimates(pointwise, weights), pointwise = pointwise, family = family_label(x),
      formula = x$formula
    ),
    yhash = list(x$model$y, x$model$size, x$model$censoring), class = c("galvi_waic", "waic", "loo")
  )
}

#' Variance of log p(y_n | eta_n) under q(eta_n), with two linear predictors under both: length N
#'
#' By the trapezoidal rule, whose error under a Gaussian weight is exp(-2 (pi / step)^2) for smooth functions.
#' @noRd
log_density_variance <- function(fit) {
  nodes <- seq(-7, 7, by = 0.5)
  weights <- stats::dnorm(nodes) / sum(stats::dnorm(nodes))
  k <- n_latents(fit)
  grid <- as.matrix(expand.grid(rep(list(nodes), k)))
  weight <- Reduce(`*`, lapply(seq_len(k), function(j) weights[match(grid[, j], nodes)]))
  m <- fit$posterior$mean
  sd <- sqrt(fit$posterior$variance)
  first <- second <- numeric(nrow(m))
  # about its value at the mean, so that no digits are lost
  centre <- row_log_density(fit, list(mean = m, variance = 0 * m))
  for (i in seq_len(nrow(grid))) {
    eta <- m + sweep(sd, 2L, grid[i, ], `*`)
    value <- row_log_density(fit, list(mean = eta, variance = 0 * m)) - centre
    first <- first + weight[i] * value
    second <- second + weight[i] * value^2
  }
  pmax(second - first^2, 0)
}

#' @export
print.galvi_waic <- function(x, digits = 1L, ...) {
  refuse_print_dots(list(...), print.galvi_waic)
  print_estimates(x, "Widely applicable information criterion", digits)
  high <- sum(x$pointwise[, "p_waic"] > 0.4)
  if (high) {
    cat("\n")
    print_wrapped(sprintf(
      "%d observation%s with p_waic above 0.4, where the WAIC is not reliable: use loo().", high,
      if (high > 1L) "s" else ""
    ))
  }
  invisible(x)
}
