#' Simulate responses from a fit
#'
#' Draws eta for all observations jointly from the posterior and then a response for each, at the
#' hyperparameters of the fit. Package DHARMa can use these: `createDHARMa(as.matrix(simulate(fit, 250)),
#' fit$model$y, fitted(fit))`.
#'
#' @param object A fit of [galvi()].
#' @param nsim Number of responses to draw.
#' @param seed NULL, or a number for [set.seed()]. The generator is left where the draws end.
#' @param ... Not used.
#' @return A data frame with columns `sim_1`, ..., `sim_<nsim>` and a row per observation: numbers, factors if
#'   the response is one, proportions or two-column matrices if the response is given so. Attribute `seed` as
#'   for [stats::simulate()].
#' @examples
#' fit <- galvi(count ~ spray, data = InsectSprays, family = poisson())
#' head(simulate(fit, 3, seed = 1))
#' @importFrom stats simulate
#' @export
simulate.galvi <- function(object, nsim = 1, seed = NULL, ...) {
  nsim <- check_whole(nsim, "nsim")
  check_one_latent(object, "simulate")
  if (is.null(seed)) {
    if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) stats::runif(1)
    state <- get(".Random.seed", envir = globalenv())
  } else {
    set.seed(seed)
    state <- structure(seed, kind = as.list(RNGkind()))
  }
  target <- training_target(object)
  draw <- latent_sampler(object, target)
  draws <- lapply(seq_len(nsim), function(i) {
    as_response(object, target, draw_response(object, target, draw()))
  })
  names(draws) <- paste0("sim_", seq_len(nsim))
  structure(draws, class = "data.frame", row.names = target$names, seed = state)
}

#' A function that draws eta jointly at a target: N* x 1
#' @noRd
latent_sampler <- function(fit, target) {
  latent <- fit$posterior$latent
  W <- lapply(target$rows$terms, `[[`, "W")
  if (!is.null(latent) && !any(vapply(W, is.null, NA))) {
    # eta = offset + W z, z = mean + chol e: no N x N matrix.
    W <- do.call(cbind, W)
    z <- latent[[1L]]
    return(function() target$offset + W %*% (z$mean + z$chol %*% stats::rnorm(length(z$mean))))
  }
  mean <- latent_marginals(fit, target)$mean
  root <- covariance_root(joint_covariance(fit, target))
  function() mean + root %*% stats::rnorm(ncol(root))
}

#' R with R R' = V for a covariance that may be singular (duplicated rows): pivoted Cholesky
#' @noRd
covariance_root <- function(V) {
  # chol() warns of rank deficiency, which is legal here.
  R <- suppressWarnings(chol(V, pivot = TRUE))
  rank <- attr(R, "rank")
  t(R[seq_len(rank), order(attr(R, "pivot")), drop = FALSE])
}

#' One response per row, given eta: the quantile function at a uniform draw
#' @noRd
draw_response <- function(fit, target, eta) {
  response_moment(fit, list(mean = eta, variance = 0 * eta), "quantile",
    size = target$size, probability = stats::runif(target$n))
}

#' Numbers of the likelihood as the response was given
#' @noRd
as_response <- function(fit, target, y) {
  given <- stats::model.response(fit$data)
  if (is.matrix(given) && ncol(given) == 2L) {
    return(`colnames<-`(cbind(y, target$size - y), colnames(given)))
  }
  if (is.factor(given)) return(factor(response_levels(fit)[y + 1], levels(given)))
  if (is.logical(given)) return(y > 0.5)
  y / target$size
}
