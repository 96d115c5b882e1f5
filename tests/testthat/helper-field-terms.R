# Textbook algebra of the fields that R/term-field-structures.R describes, with dense matrices.

dense_matrix <- function(t, symmetric = TRUE) {
  out <- matrix(0, t$rows, t$columns)
  out[cbind(t$i, t$j)] <- t$x
  if (symmetric) out[cbind(t$j, t$i)] <- t$x
  out
}

# Covariance of all nodes: N(0, Q^-) where the constraints hold, and the basis' part.
field_covariance <- function(term, values) {
  field <- term$field
  hyper <- lapply(field$hyper, function(at) values[at])
  Q <- Reduce(`+`, Map(`*`, lapply(field$precision, dense_matrix), field_twins[[field$model]]$coefficients(hyper)))
  out <- if (is.null(field$constraints)) solve(Q) else {
    C <- dense_matrix(field$constraints, symmetric = FALSE)
    B <- qr.Q(qr(C), complete = TRUE)[, -seq_len(ncol(C)), drop = FALSE]
    B %*% solve(crossprod(B, Q %*% B), t(B))
  }
  if (!is.null(field$basis)) out <- out + field$basis %*% (values[term$factors[, 1]]^2 * t(field$basis))
  out
}

node_weights <- function(rows, size) {
  W <- matrix(0, nrow(rows$node), size)
  weight <- if (is.null(rows$weight)) 1 else rows$weight
  for (h in seq_len(ncol(rows$node))) W[cbind(seq_len(nrow(W)), rows$node[, h])] <- weight
  W
}

# cov(rows, others) of a term
field_rows_covariance <- function(term, values, rows = term, others = rows) {
  S <- field_covariance(term, values)
  node_weights(rows, nrow(S)) %*% S %*% t(node_weights(others, nrow(S)))
}

# The one field term of a formula, with the values of the hyperparameters.
field_of <- function(formula, data, ...) {
  built <- prepare_model(formula, data, ..., held = TRUE)
  terms <- terms_of(built$model)
  at <- which(vapply(terms, `[[`, "", "type") == "field")[1]
  label <- terms[[at]]$label
  list(
    term = terms[[at]], hyper = built$model$hyper, design = built$design,
    spec = built$design$specs[[match(label, built$design$labels)]]
  )
}

# Prior covariance of eta's field part at the rows of a formula's data.
prior_of <- function(formula, data, ...) {
  found <- field_of(formula, data, ...)
  field_rows_covariance(found$term, found$hyper$value)
}
