# Classes whose latent values depend on each other in the posterior: coefficients, predictions and draws take the best
# Gaussian that couples them (src/fit/couple.h).

#' The fit as its bound and its sites know it
#' @noRd
factorised_view <- function(fit) {
  if (!is_coupled(fit)) return(fit)
  as_mixture(with_states(fit, function(view) {
    latent <- view$posterior$factorised
    view$posterior[c("coupled", "factorised")] <- NULL
    with_latent(view, latent)
  }))
}

# All columns of the model at rows: n x q.
all_columns <- function(rows) do.call(cbind, lapply(rows[[1L]], `[[`, "W"))

#' Covariances of rows' latent values: n x K x K
#' @noRd
block_variances <- function(W, covariance, K) {
  out <- array(0, c(nrow(W), K, K))
  block <- function(k) (k - 1L) * ncol(W) + seq_len(ncol(W))
  for (j in seq_len(K)) {
    for (k in seq_len(j)) out[, j, k] <- out[, k, j] <- rowSums((W %*% covariance[block(j), block(k)]) * W)
  }
  out
}

#' The fit with these latent vectors of each class, list(mean, chol), and the coefficients that follow
#' @noRd
with_latent <- function(fit, latent) {
  fit$posterior$latent <- latent
  last <- cumsum(vapply(fit$posterior$coefficients, function(term) nrow(term$mean), 1L))
  fit$posterior$coefficients <- Map(function(term, last) {
    own <- last - nrow(term$mean) + seq_len(nrow(term$mean))
    term$mean[] <- vapply(latent, function(z) z$mean[own], numeric(length(own)))
    term$covariance <- lapply(latent, function(z) tcrossprod(z$chol[own, , drop = FALSE]))
    term
  }, fit$posterior$coefficients, last)
  fit
}

#' Posterior mean and variance of eta at the observations
#' @noRd
coupled_marginals <- function(fit) {
  W <- all_columns(fit$model$designs)
  latent <- fit$posterior$latent
  list(
    mean = fit$model$offset + vapply(latent, function(z) drop(W %*% z$mean), numeric(nrow(W))),
    variance = vapply(latent, function(z) rowSums((W %*% z$chol)^2), numeric(nrow(W)))
  )
}

#' Covariance of a row's latent values: n x K x K, NULL if q is right to factorise over them
#' @noRd
row_covariances <- function(fit, rows) {
  if (!is_coupled(fit)) return(NULL)
  block_variances(all_columns(rows), fit$posterior$coupled, n_latents(fit))
}

#' Joint draws of eta at rows, without the offset: a list of K matrices, rows x count
#' @noRd
coupled_draws <- function(fit, rows, count) {
  W <- all_columns(rows)
  root <- covariance_root(fit$posterior$coupled)
  mean <- unlist(lapply(fit$posterior$latent, `[[`, "mean"))
  drawn <- mean + root %*% matrix(stats::rnorm(ncol(root) * count), ncol(root))
  lapply(seq_len(n_latents(fit)), function(k) W %*% drawn[(k - 1L) * ncol(W) + seq_len(ncol(W)), , drop = FALSE])
}

# ---- probabilities of classes ----

#' Moments of classes' probabilities where latent values depend on each other: averages of those of independent ones
#'
#' @param mean N x C. between: N x C x C.
#' @param moments `function(mean, variance)` of independent latent values: a list of matrices with a row per row.
#' @return The same, of rows with these covariances.
#' @noRd
coupled_classes <- function(mean, between, moments) {
  nodes <- nodes_of_classes(mean, between)
  lapply(moments(nodes$mean, nodes$variance), function(x) unname(rowsum(nodes$weight * x, nodes$row, reorder = TRUE)))
}

#' Moments of the latent values of all classes, and the likelihood that has one for each: that of a reference is zero
#' @noRd
of_all_classes <- function(fit, mean, between) {
  likelihood <- fit$model$likelihood
  C <- length(response_levels(fit))
  at <- setdiff(seq_len(C), likelihood$constants$reference + 1)
  likelihood$constants$reference <- -1
  out <- list(mean = matrix(0, nrow(mean), C), between = array(0, c(nrow(mean), C, C)), likelihood = likelihood)
  out$mean[, at] <- mean
  out$between[, at, at] <- between
  out
}
