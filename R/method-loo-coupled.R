# Cavity means where several latents of a row meet in one likelihood (categorical).
#
# A site's b = alpha + lambda m does not change to first order when the mean of eta_n does, which is why the
# other sites may stay. It does when *another* latent of the row moves, by the cross curvature
# H_jk = -d^2 E log p / dm_j dm_k. So the means respond to alpha_n through F = (V^-1 + H)^-1, V the posterior
# covariance of all latents and H here without its diagonal, which V has: with F_n, H_n the K x K blocks of
# row n (and H_nkk = lambda_nk), m - m' = (F_n^-1 - H_n)^-1 alpha_n. With one latent that is
# alpha v / (1 - lambda v).

#' @param share How much of each row is left out.   N
#' @param variance Cavity variances, NA where improper.   N x K
#' @return m - m', N x K.
#' @noRd
coupled_shift <- function(fit, share, variance) {
  q <- fit$posterior
  H <- cross_curvature(fit)
  # stick-breaking: the latents of a row do not meet
  if (max(abs(H)) < 1e-8) return(share * q$alpha * variance)
  response <- mean_response(fit, H)
  shift <- q$alpha
  for (n in seq_len(nrow(shift))) {
    own <- matrix(H[n, , ], ncol(shift))
    diag(own) <- q$lambda[n, ]
    F <- matrix(response[n, , ], ncol(shift))
    # (F^-1 - H)^-1 alpha = (I - F H)^-1 F alpha
    shift[n, ] <- if (anyNA(variance[n, ])) NA else {
      solve(diag(ncol(shift)) - share[n] * F %*% own, share[n] * F %*% q$alpha[n, ])
    }
  }
  shift
}

#' -d^2 E log p / dm_j dm_k, j != k: N x K x K, the diagonal 0
#' @noRd
cross_curvature <- function(fit) {
  q <- fit$posterior
  K <- ncol(q$mean)
  curvature <- as_galvi_error(mean_curvature(fitted_model(fit), q$mean, q$variance, fit$control$threads))
  out <- array(-curvature, c(nrow(q$mean), K, K))
  for (k in seq_len(K)) out[, k, k] <- 0
  out
}

#' The model with the fit's hyperparameters and expectation
#' @noRd
fitted_model <- function(fit) {
  model <- fit$model
  model$hyper$value <- fit$posterior$hyper
  model$expectation <- fit$expectation
  model
}

#' The blocks F_n: N x K x K
#'
#' With eta_k = W z_k and S the covariance of all z (block diagonal), F = W (I + S M)^-1 S W', M_jk = W'
#' diag(H_jk) W; full Gaussian processes have W = I. One dense system of all latents' lengths; where that is
#' too large, rows near each other are taken to be alike (local_response()).
#' @noRd
mean_response <- function(fit, H, largest = 4000) {
  K <- n_latents(fit)
  columns <- lapply(term_rows(fit$model), `[[`, "W")  # NULL of inducing points, whose columns C++ makes
  known <- !is.null(fit$posterior$latent) && !any(vapply(columns, is.null, NA))
  W <- if (known) do.call(cbind, columns)
  L <- if (is.null(W)) fit$nobs else ncol(W)
  if (L * K > largest) return(local_response(fit, H))
  S <- M <- matrix(0, L * K, L * K)
  covariance <- if (is.null(W)) joint_covariance(fit, training_target(fit)) else {
    lapply(fit$posterior$latent, function(z) tcrossprod(z$chol))
  }
  if (is.null(W)) {
    extra <- matrix(extra_variance(fit), fit$nobs, K)
    covariance <- Map(function(V, k) V - diag(extra[, k], L), covariance, seq_len(K))
  }
  block <- function(k) (k - 1L) * L + seq_len(L)
  for (k in seq_len(K)) {
    S[block(k), block(k)] <- covariance[[k]]
    for (j in seq_len(K)[-k]) {
      M[block(j), block(k)] <- if (is.null(W)) diag(H[, j, k], L) else crossprod(W, H[, j, k] * W)
    }
  }
  Z <- tryCatch(solve(diag(L * K) + S %*% M, S), error = function(e) NULL)
  if (is.null(Z)) return(local_response(fit, H))  # singular to working precision
  out <- array(0, c(fit$nobs, K, K))
  for (j in seq_len(K)) {
    for (k in seq_len(K)) {
      part <- Z[block(j), block(k), drop = FALSE]
      out[, j, k] <- if (is.null(W)) diag(part) else rowSums((W %*% part) * W)
    }
  }
  out
}

#' The same if the rows that inform row n had its H, and as many of them as its variances say: with c the
#' prior variance, a = 1 / v - 1 / c and R the correlations of H, F^-1 = diag(1 / v) + (R without its
#' diagonal) o sqrt(a a')
#' @noRd
local_response <- function(fit, H) {
  q <- fit$posterior
  inner <- determined_variance(fit)
  prior <- as_galvi_error(prior_variances(fitted_model(fit), fit$control$threads))
  said <- sqrt(pmax(1 / inner - 1 / (prior - extra_variance(fit)), 0))
  out <- H
  for (n in seq_len(nrow(said))) {
    size <- sqrt(pmax(q$lambda[n, ], 0))
    ratio <- ifelse(size > 0, said[n, ] / size, 0)
    out[n, , ] <- inverse_of(diag(1 / inner[n, ], length(size)) + matrix(H[n, , ], length(size)) * outer(ratio, ratio))
  }
  out
}

# Of a precision matrix. What a wide prior alone determines, as the sum over classes, has next to no precision: it is
# taken to be 1e12 times wider than the rest, which leaves their differences as they are.
inverse_of <- function(P) {
  parts <- eigen((P + t(P)) / 2, symmetric = TRUE)
  values <- pmax(parts$values, 1e-12 * max(parts$values))
  parts$vectors %*% (t(parts$vectors) / values)
}
