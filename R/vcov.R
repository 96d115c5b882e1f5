#' @rdname coef.galvi
#' @export
vcov.galvi <- function(object, complete = TRUE, ...) {
  refuse_dots(list(...), vcov.galvi, "vcov()")
  check_flag(complete, "complete")
  coefficients <- fixed_coefficients(object)
  if (ncol(coefficients$mean) == 1L) return(coefficients$covariance[[1L]])
  q <- nrow(coefficients$mean)
  k <- ncol(coefficients$mean)
  # q(z) factorises over the latents: one block for each.
  names <- paste(rep(colnames(coefficients$mean), each = q), rep(rownames(coefficients$mean), k), sep = ":")
  V <- matrix(0, q * k, q * k, dimnames = list(names, names))
  for (latent in seq_len(k)) {
    block <- (latent - 1L) * q + seq_len(q)
    V[block, block] <- coefficients$covariance[[latent]]
  }
  V
}
