#' Contributions of the terms to eta, posterior means and standard deviations
#'
#' The model's terms as they are, but the block of fixed effects is split into the terms of its formula and
#' centred, as predict.glm() does. Shapes: N* x T, or N* x T x K for K > 1; `constant` has one element per
#' latent.
#' @noRd
predict_terms <- function(fit, target, options) {
  if (is_distributional(fit)) return(of_predictor(predict_terms, fit, target, options))
  terms <- term_contributions(fit, target)
  shape <- function(x) {
    if (dim(x)[3L] > 1L) return(x)
    matrix(x, nrow(x), ncol(x), dimnames = list(NULL, colnames(x)))
  }
  list(fit = structure(shape(terms$mean), constant = terms$constant), se.fit = shape(sqrt(terms$variance)))
}

#' @return list(mean, variance: N* x T x K arrays, constant: length K)
#' @noRd
term_contributions <- function(fit, target) {
  k <- n_latents(fit)
  labels <- vapply(prior_terms(fit$model), `[[`, "", "label")
  whole <- latent_at(fit, target$rows, target$n, terms = TRUE)$terms
  fixed <- match(fixed_label, labels)
  keep <- setdiff(seq_along(labels), fixed)
  part <- if (!is.na(fixed)) fixed_contributions(fit, target$rows[[1L]][[fixed]]$W)
  n_fixed <- length(part$labels)
  names <- c(part$labels, labels[keep])
  result <- list(
    mean = array(0, c(target$n, length(names), k), list(NULL, names, latent_names(fit))),
    constant = if (is.null(part)) numeric(k) else part$constant
  )
  result$variance <- result$mean
  for (what in c("mean", "variance")) {
    result[[what]][, seq_len(n_fixed), ] <- part[[what]]
    result[[what]][, n_fixed + seq_along(keep), ] <- whole[[what]][, keep, ]
  }
  result
}

#' The fixed effects by term of their formula
#'
#' With an intercept the columns x_j are centred at their means c_j over the observations: term t contributes
#' sum_j (x_j - c_j) beta_j, and the constant is intercept + sum_j c_j beta_j.
#' @param W Coded columns of the fixed effects at the target, N* x q.
#' @noRd
fixed_contributions <- function(fit, W) {
  spec <- fixed_spec(fit$design$specs)
  training <- printed_columns(spec, fit$data)
  W <- uncoded(W, spec$coding)
  assign <- fit$design$assign
  labels <- attr(fit$design$terms, "term.labels")
  labels <- labels[sort(unique(assign[assign > 0L]))]
  coefficients <- fixed_coefficients(fit)
  has_intercept <- any(assign == 0L)
  centre <- if (has_intercept) colMeans(training) else numeric(ncol(training))
  k <- n_latents(fit)
  mean <- variance <- array(0, c(nrow(W), length(labels), k))
  X <- sweep(W, 2L, centre)
  groups <- split(seq_along(assign), factor(assign, sort(unique(assign[assign > 0L]))))
  for (latent in seq_len(k)) {
    for (t in seq_along(groups)) {
      j <- groups[[t]]
      Xj <- X[, j, drop = FALSE]
      mean[, t, latent] <- Xj %*% coefficients$mean[j, latent]
      variance[, t, latent] <- rowSums((Xj %*% coefficients$covariance[[latent]][j, j, drop = FALSE]) * Xj)
    }
  }
  constant <- if (has_intercept) as.vector(crossprod(coefficients$mean, centre)) else numeric(k)
  list(mean = mean, variance = variance, labels = labels, constant = constant)
}

#' Contributions of the terms with these labels
#' @noRd
shown_terms <- function(x, labels) {
  own <- plain_labels(colnames(x)) %in% labels
  out <- if (length(dim(x)) == 2L) x[, own, drop = FALSE] else x[, own, , drop = FALSE]
  attr(out, "constant") <- attr(x, "constant")
  out
}
