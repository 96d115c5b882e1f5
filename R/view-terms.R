#' Contributions of the terms to eta, posterior means and standard deviations
#'
#' The model's terms as they are, but the block of fixed effects is split into the terms of its formula and
#' centred, as predict.glm() does. Shapes: N* x T, or N* x T x K for K > 1; `constant` has one element per
#' latent.
#' @noRd
predict_terms <- function(fit, target, options) {
  if (n_predictors(fit) > 1L) return(of_predictor(predict_terms, fit, target, options))
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
  if (!is.null(target$sets)) return(mixed_terms(Map(term_contributions, fit$fits, target$sets)))
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
  coefficients <- fixed_coefficients(fit, hidden = TRUE)
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

#' Posterior of a term at its nodes, copy by copy: list(mean, sd: nodes x K; names; level, by or effect: of each node)
#' @noRd
term_posterior <- function(spec, fit) UseMethod("term_posterior")

#' @export
term_posterior.field_term <- function(spec, fit) {
  names <- node_names(spec)
  count <- length(names)
  group <- rep(seq_len(copies_of(spec)), each = count)
  n <- length(group)
  moments <- node_moments(fit, spec, node_matrix(spec, list(at = rep(seq_len(count), length.out = n)), group))
  by <- if (!is.null(spec$by_levels)) spec$by_levels[group]
  level <- rep(names, length.out = n)
  list(
    mean = moments$mean, sd = sqrt(moments$variance),
    names = if (is.null(by)) level else paste(level, by, sep = ":"), level = level, by = by
  )
}

#' Posterior means and variances of a term's sums over nodes: list(mean, variance), n x K
#' @param node,weight n x h; without `weight` ones.
#' @noRd
node_moments <- function(fit, spec, node, weight = NULL) {
  if (is_imputed(fit)) return(moments_of_parts(fit, node_moments, spec, node, weight))
  n <- nrow(node)
  t <- match(spec$label, fit$design$labels)
  # No node of other fields: whatever their rows are, nodes that no observation ties cost a solve per row.
  rows <- lapply(subset_rows(term_rows(fit$model), rep(1L, n)), function(term) {
    if (!is.null(term$node)) term$node[] <- 0L
    term
  })
  storage.mode(node) <- "integer"
  rows[[t]] <- list(node = node)
  if (!is.null(weight)) rows[[t]]$weight <- weight
  latent <- latent_at(fit, list(rows), n, terms = TRUE)$terms
  one <- function(x) matrix(x[, t, ], n, dimnames = list(NULL, latent_names(fit)))
  list(mean = one(latent$mean), variance = one(latent$variance))
}

# All effects, group after group.
#' @export
term_posterior.product_term <- function(spec, fit) {
  steps <- node_names(spec$fields$outer)
  inner <- inner_nodes(spec)
  count <- nrow(inner$node)
  known <- c(length(steps), field_nodes(spec$fields$inner$field))
  step <- rep(seq_along(steps), each = count)
  node <- inner$node[rep(seq_len(count), length(steps)), , drop = FALSE]
  node[] <- pair_numbers(rep(step, ncol(node)), as.vector(node), known, known)
  moments <- node_moments(fit, spec, node)
  level <- steps[step]
  by <- rep(inner$names, length(steps))
  list(
    mean = moments$mean, sd = sqrt(moments$variance), names = paste(level, by, sep = ":"), level = level, by = by
  )
}

#' @export
term_posterior.slopes_term <- function(spec, fit) {
  q <- length(spec$columns)
  nodes <- seq_len(length(spec$levels) * q)
  moments <- if (is.null(spec$axes)) node_moments(fit, spec, matrix(nodes)) else {
    groups <- rep(seq_along(spec$levels), each = q)
    node_moments(fit, spec, group_nodes(spec, groups), spec$axes[rep_len(seq_len(q), length(nodes)), , drop = FALSE])
  }
  level <- rep(spec$levels, each = q)
  effect <- rep(spec$columns, length(spec$levels))
  list(
    mean = moments$mean, sd = sqrt(moments$variance), names = paste(level, effect, sep = ":"), level = level,
    effect = effect
  )
}
