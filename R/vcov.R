#' @rdname coef.galvi
#' @export
vcov.galvi <- function(object, complete = TRUE, ...) {
  refuse_dots(list(...), vcov.galvi, "vcov()")
  check_flag(complete, "complete")
  if (!is.null(object$states)) {
    return(mixture_covariance(by_state(object, coefficient_means), by_state(object, vcov.galvi), state_weights(object)))
  }
  if (is_distributional(object)) return(block_diagonal(by_predictor(object, vcov.galvi, prefix_names)))
  coefficients <- fixed_coefficients(object)
  if (ncol(coefficients$mean) == 1L) return(coefficients$covariance[[1L]])
  q <- nrow(coefficients$mean)
  k <- ncol(coefficients$mean)
  names <- paste(rep(colnames(coefficients$mean), each = q), rep(rownames(coefficients$mean), k), sep = ":")
  V <- matrix(0, q * k, q * k, dimnames = list(names, names))
  if (is_coupled(object)) {
    V[] <- decoded_jointly(object$posterior$coupled[fixed_positions(object), fixed_positions(object)], object)
    return(V)
  }
  # q(z) factorises over the latents: one block for each
  for (latent in seq_len(k)) {
    block <- (latent - 1L) * q + seq_len(q)
    V[block, block] <- coefficients$covariance[[latent]]
  }
  V
}

#' q(z) factorises over the predictors
#' @noRd
block_diagonal <- function(blocks) {
  names <- unlist(lapply(blocks, rownames))
  V <- matrix(0, length(names), length(names), dimnames = list(names, names))
  for (block in blocks) V[rownames(block), rownames(block)] <- block
  V
}
