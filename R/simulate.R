#' Simulate responses from a fit
#'
#' Draws eta for all rows jointly from the posterior (the latents of a multi-class family one by one,
#' as they are independent there) and then a response for each, at the hyperparameters of the fit. Package
#' DHARMa can use these: `createDHARMa(as.matrix(simulate(fit, 250)), fit$model$y, fitted(fit))`.
#'
#' @param object A fit of [galvi()].
#' @param nsim Number of responses to draw.
#' @param seed NULL, or a number for [set.seed()]. The generator is left where the draws end.
#' @param newdata A data frame to simulate the responses of, instead of those of the observations. Successes
#'   in trials have as many trials as the response in `newdata` tells, one if it has none. A row with missing
#'   predictors gets NA.
#' @param ... Must be empty.
#' @return A data frame with columns `sim_1`, ..., `sim_<nsim>` and a row per observation (or row of
#'   `newdata`), in the shape of the response: numbers, whole numbers, factors (ordered ones too), text,
#'   proportions, two-column matrices. Attribute `seed` as for [stats::simulate()].
#' @examples
#' fit <- galvi(count ~ spray, data = InsectSprays, family = poisson())
#' head(simulate(fit, 3, seed = 1))
#' @importFrom stats simulate
#' @export
simulate.galvi <- function(object, nsim = 1, seed = NULL, newdata = NULL, ...) {
  refuse_dots(list(...), simulate.galvi, "simulate()")
  nsim <- check_whole(nsim, "nsim")
  if (is.null(seed)) {
    if (!exists(".Random.seed", envir = globalenv(), inherits = FALSE)) stats::runif(1)
    state <- get(".Random.seed", envir = globalenv())
  } else {
    set.seed(seed)
    state <- structure(seed, kind = as.list(RNGkind()))
  }
  target <- if (is.null(newdata)) training_target(object) else {
    new_target(object, newdata, response = tells_trials(object, newdata))
  }
  draw <- latent_sampler(object, target)
  kept <- kept_rows(target)
  draws <- lapply(seq_len(nsim), function(i) {
    take_rows(as_response(object, target, draw_response(object, target, draw())), kept)
  })
  names(draws) <- paste0("sim_", seq_len(nsim))
  structure(draws, class = "data.frame", row.names = target$names, seed = state)
}

#' A function that draws eta jointly at a target: N* x K
#' @noRd
latent_sampler <- function(fit, target) {
  latent <- fit$posterior$latent
  W <- lapply(target$rows[[1L]], `[[`, "W")
  if (!is.null(latent) && !any(vapply(W, is.null, NA))) {
    # eta_k = offset_k + W z_k, z_k = mean + chol e: no N x N matrix.
    W <- do.call(cbind, W)
    draw_one <- function(z) z$mean + z$chol %*% stats::rnorm(length(z$mean))
    return(function() target$offset + W %*% do.call(cbind, lapply(latent, draw_one)))
  }
  mean <- latent_marginals(fit, target)$mean
  covariance <- joint_covariance(fit, target)
  if (!is.list(covariance)) covariance <- list(covariance)
  roots <- lapply(covariance, covariance_root)
  function() mean + do.call(cbind, lapply(roots, function(root) root %*% stats::rnorm(ncol(root))))
}

#' R with R R' = V for a covariance that may be singular (duplicated rows): pivoted Cholesky
#' @noRd
covariance_root <- function(V) {
  if (!nrow(V)) return(V)
  # chol() warns of rank deficiency, which is legal here.
  R <- suppressWarnings(chol(V, pivot = TRUE))
  rank <- attr(R, "rank")
  t(R[seq_len(rank), order(attr(R, "pivot")), drop = FALSE])
}

#' One response per row, given eta: the quantile function at a uniform draw
#' @noRd
draw_response <- function(fit, target, eta) {
  given <- list(mean = eta, variance = matrix(0, nrow(eta), ncol(eta)))
  u <- stats::runif(target$n)
  if (has_classes(fit)) return(as.numeric(rowSums(u > cumulated(class_probabilities(fit, given)))))
  response_moment(fit, given, "quantile", size = target$size, probability = u)
}

#' Numbers of the likelihood as the response was given
#' @noRd
as_response <- function(fit, target, y) {
  given <- stats::model.response(fit$data)
  if (is.matrix(given) && ncol(given) == 2L) {
    return(`colnames<-`(cbind(y, target$size - y), colnames(given)))
  }
  labels <- response_levels(fit)[y + 1]
  if (is.factor(given)) return(factor(labels, levels(given), ordered = is.ordered(given)))
  if (is.character(given)) return(labels)
  if (is.logical(given)) return(labels == "TRUE")
  if (has_classes(fit)) return(utils::type.convert(labels, as.is = TRUE))
  y <- y / target$size
  if (is.integer(given) && is_discrete(fit)) as.integer(y) else y
}
