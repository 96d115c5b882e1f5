# A Gaussian process given its nearest neighbours, by dense matrices and loops.

plain_maxmin <- function(X) {
  n <- nrow(X)
  order <- which.min(rowSums((X - rep(colMeans(X), each = n))^2))
  far <- rep(Inf, n)
  while (length(order) < n) {
    at <- order[length(order)]
    far <- pmin(far, rowSums((X - rep(X[at, ], each = n))^2))
    far[at] <- -1
    order <- c(order, which.max(far))
  }
  order
}

# The m rows of X nearest to x, ascending, 0 behind them.
plain_nearest <- function(X, x, m) {
  d <- rowSums((X - rep(x, each = nrow(X)))^2)
  found <- sort(utils::head(order(d, seq_along(d)), m))
  c(found, integer(m - length(found)))
}

plain_before <- function(X, m) {
  do.call(rbind, lapply(seq_len(nrow(X)), function(i) plain_nearest(X[seq_len(i - 1L), , drop = FALSE], X[i, ], m)))
}

# k(X, Z) of a kernel in helper-kernel.R
plain_kernel <- function(type, h, X, Z) {
  outer(seq_len(nrow(X)), seq_len(nrow(Z)), Vectorize(function(i, j) reference_kernel[[type]](X[i, ], Z[j, ], h)))
}

# x = w'z + noise of variance d given the nodes Z[at, ]
plain_given <- function(k, Z, at, x) {
  own <- Z[at, , drop = FALSE]
  if (!length(at)) return(list(w = numeric(), d = drop(k(x, x))))
  w <- solve(k(own, own), k(own, x))
  list(w = drop(w), d = drop(k(x, x) - t(w) %*% k(own, x)))
}

# The covariance at the nodes, from B and D.
plain_neighbours <- function(k, Z, neighbours) {
  n <- nrow(Z)
  B <- diag(n)
  D <- numeric(n)
  for (i in seq_len(n)) {
    at <- neighbours[i, neighbours[i, ] > 0]
    own <- plain_given(k, Z, at, Z[i, , drop = FALSE])
    B[i, at] <- -own$w
    D[i] <- own$d
  }
  inverse <- solve(B)
  list(C = inverse %*% (D * t(inverse)), D = D, B = B)
}

# W and c of rows X, given their m nearest nodes.
plain_rows <- function(k, Z, X, m) {
  W <- matrix(0, nrow(X), nrow(Z))
  c <- numeric(nrow(X))
  for (i in seq_len(nrow(X))) {
    at <- plain_nearest(Z, X[i, ], m)
    at <- at[at > 0]
    own <- plain_given(k, Z, at, X[i, , drop = FALSE])
    W[i, at] <- own$w
    c[i] <- own$d
  }
  list(W = W, c = c)
}
