# Location and scale of data with weights: a row of weight 2 counts as two rows, a row of weight 0 is ignored.

#' Weights as numbers of rows. If they sum to 1 or less they do not determine the number of rows, and all are set to 1.
#' @noRd
row_counts <- function(weights) if (sum(weights) > 1) weights else rep(1, length(weights))

# A weight of 1 for each row.
one_each <- function(x) rep(1, NROW(x))

weighted_mean <- function(x, weights) sum(weights * x) / sum(weights)

#' var() of rows repeated by their weights; 0 for a single row
#' @noRd
weighted_variance <- function(x, weights, mean = weighted_mean(x, weights)) {
  count <- sum(weights)
  if (count <= 1) return(0)
  sum(weights * (x - mean)^2) / (count - 1)
}

#' median() of rows repeated by their weights
#' @noRd
weighted_median <- function(x, weights) {
  x <- x[weights > 0]
  at <- order(x)
  below <- cumsum(weights[weights > 0][at])
  share <- below / below[length(below)]
  # the median is between two rows if half of the weight is on either side
  tiny <- 1e-12
  (x[at[which(share >= 0.5 - tiny)[1L]]] + x[at[which(share > 0.5 + tiny)[1L]]]) / 2
}

#' mad() of rows repeated by their weights
#' @noRd
weighted_mad <- function(x, weights) {
  1.4826 * weighted_median(abs(x - weighted_median(x, weights)), weights)
}

# var(y), about `mean`; 1 if there is none.
response_variance <- function(y, weights = one_each(y), mean = weighted_mean(y, weights)) {
  y <- as.numeric(y)
  v <- weighted_variance(y, weights, mean)
  if (is.finite(v) && v > 1e-24 * weighted_mean(y, weights)^2 && v > 0) v else 1
}

#' A scale of y that is robust to outliers; 1 if y is constant
#'
#' The median absolute deviation. If more than half of the values are equal, it is that of the other values or sd(y),
#' whichever is smaller.
#' @noRd
robust_spread <- function(y, weights = one_each(y)) {
  centre <- weighted_median(y, weights)
  deviation <- abs(y - centre)
  differs <- weights > 0 & deviation > 1e-12 * abs(centre)
  if (!any(differs)) return(1)
  spread <- weighted_mad(y, weights)
  if (is.finite(spread) && spread > 1e-12 * abs(centre)) return(spread)
  min(1.4826 * weighted_median(deviation[differs], weights[differs]), sqrt(response_variance(y, weights)))
}

# Computed column by column, because x - mean(x) for all columns at once would copy the table.
column_sds <- function(x, weights = one_each(x)) {
  vapply(seq_len(ncol(x)), function(j) {
    sd <- sqrt(weighted_variance(x[, j], weights))
    # rounding gives a constant column a tiny sd
    if (sd > 1e-12 * abs(weighted_mean(x[, j], weights))) sd else 0
  }, 0)
}

unit_if_zero <- function(x) ifelse(x > 0, x, 1)

column_means <- function(x, weights = one_each(x)) as.vector(crossprod(x, weights)) / sum(weights)

#' The distinct rows, sorted, each with the total weight of all rows equal to it
#'
#' Results computed from them do not depend on the order of the rows.
#' @return list(x, weights), without rows of weight 0
#' @noRd
distinct_rows <- function(x, weights = one_each(x)) {
  sorted <- do.call(order, c(lapply(seq_len(ncol(x)), function(j) x[, j]), method = "radix"))
  sorted <- sorted[weights[sorted] > 0]
  n <- length(sorted)
  new <- seq_len(n) == 1L
  for (j in seq_len(ncol(x))) {
    column <- x[sorted, j]
    new[-1L] <- new[-1L] | column[-1L] != column[-n]
  }
  weights <- weights[sorted]
  if (!all(new)) weights <- as.vector(rowsum(weights, cumsum(new)))
  list(x = x[sorted[new], , drop = FALSE], weights = weights)
}

#' Rows of weight 0 count nothing, whatever their density.   x: N, or a matrix of N rows
#' @noRd
weighted <- function(x, weights) {
  x <- weights * x
  x[rep_len(weights == 0, length(x))] <- 0
  x
}

# Names of more units hide each other.
most_names <- 60L

#' R with R R' = V for a covariance that may be singular: pivoted Cholesky
#' @noRd
covariance_root <- function(V) {
  if (!nrow(V)) return(V)
  # chol() warns of rank deficiency, which is legal here.
  R <- suppressWarnings(chol(V, pivot = TRUE))
  rank <- attr(R, "rank")
  t(R[seq_len(rank), order(attr(R, "pivot")), drop = FALSE])
}

tails <- function(level) c((1 - level) / 2, (1 + level) / 2)

#' Mean and (co)variance of a mixture of states
#'
#' @param parts A list with a list(mean, variance) for each state: arrays of one shape.
#' @param weights One for each, or a matrix with a row per row of the parts and a column per state.
#' @noRd
mixture_moments <- function(parts, weights) {
  if (length(parts) == 1L) return(parts[[1L]][c("mean", "variance")])
  w <- weights_of(weights, length(parts))
  mean <- Reduce(`+`, Map(function(part, w) w * part$mean, parts, w))
  variance <- Reduce(`+`, Map(function(part, w) w * (part$variance + (part$mean - mean)^2), parts, w))
  list(mean = mean, variance = variance)
}

# A list with the weight, or the vector of weights of the rows, of each state.
weights_of <- function(weights, count) {
  if (is.matrix(weights)) lapply(seq_len(count), function(s) weights[, s]) else as.list(weights)
}

#' The joint covariance of a mixture.   means: a list of vectors; covariances: of matrices
#' @noRd
mixture_covariance <- function(means, covariances, weights) {
  if (length(means) == 1L) return(covariances[[1L]])
  centre <- Reduce(`+`, Map(`*`, means, weights))
  out <- Reduce(`+`, Map(function(m, V, w) w * (V + tcrossprod(m - centre)), means, covariances, weights))
  dimnames(out) <- dimnames(covariances[[1L]])
  out
}

# list(mean, covariance) of the mixture of parts with these.
joint_moments <- function(parts, weights) {
  means <- lapply(parts, `[[`, "mean")
  list(
    mean = Reduce(`+`, Map(`*`, means, weights)),
    covariance = mixture_covariance(means, lapply(parts, `[[`, "covariance"), weights)
  )
}

#' The blocks of coefficients of a mixture, as those of one state are
#' @noRd
mixture_coefficients <- function(blocks, weights) {
  lapply(seq_along(blocks[[1L]]), function(b) {
    own <- lapply(blocks, `[[`, b)
    out <- own[[1L]]
    out$covariance <- lapply(seq_along(out$covariance), function(k) {
      mixture_covariance(lapply(own, function(x) x$mean[, k]), lapply(own, function(x) x$covariance[[k]]), weights)
    })
    out$mean <- Reduce(`+`, Map(function(x, w) w * x$mean, own, weights))
    out
  })
}

row_min <- function(x) do.call(pmin, lapply(seq_len(ncol(x)), function(j) x[, j]))
row_max <- function(x) do.call(pmax, lapply(seq_len(ncol(x)), function(j) x[, j]))

#' Quantiles of weighted values, by linear interpolation of the middles of their steps
#'
#' @param values N x Z. weights: N x Z, or Z numbers for every row.
#' @return N x length(probs).
#' @noRd
weighted_quantiles <- function(values, weights, probs) {
  if (!nrow(values)) return(matrix(0, 0L, length(probs)))
  if (!is.matrix(weights)) weights <- matrix(weights, nrow(values), ncol(values), byrow = TRUE)
  out <- vapply(seq_len(nrow(values)), function(i) {
    sorted <- order(values[i, ])
    below <- cumsum(weights[i, sorted])
    middle <- below - weights[i, sorted] / 2
    of <- function(method) {
      stats::approx(middle / below[length(below)], values[i, sorted], probs, method, rule = 2L, ties = "ordered")$y
    }
    found <- of("linear")
    # between two infinite values
    if (anyNA(found)) ifelse(is.nan(found), of("constant"), found) else found
  }, numeric(length(probs)))
  matrix(out, nrow(values), length(probs), byrow = TRUE)
}

#' The density of weighted values at zero, by a local Gaussian
#'
#' The local likelihood estimate with a log-quadratic density and a Gaussian kernel has a closed form: the kernel's
#' share, mean and variance are those of a product of two normal densities (Hjort and Jones 1996, Annals of Statistics
#' 24, 1619-1647). It is exact for a normal distribution whatever the width of the kernel, so that this may be wide.
#' @noRd
local_density <- function(values, weights) {
  weights <- weights / sum(weights)
  centre <- sum(weights * values)
  width <- 0.5 * sqrt(sum(weights * (values - centre)^2))
  if (width == 0) return(if (centre == 0) Inf else 0)
  x <- values / width
  # the largest exponent first, so that far away nothing underflows
  least <- min(x^2) / 2
  kernel <- weights * exp(least - x^2 / 2)
  share <- sum(kernel)
  mean <- sum(kernel * x) / share
  variance <- sum(kernel * (x - mean)^2) / share
  share * exp(-least - mean^2 / (2 * variance)) / sqrt(2 * pi * variance) / width
}

# ---- Gaussian quadrature ----

#' Nodes and weights are eigenvalues and eigenvectors of a Jacobi matrix (Golub and Welsch 1969)
#' @param off Beside its diagonal, which is zero.
#' @noRd
gauss_rule <- function(off) {
  size <- length(off) + 1L
  i <- seq_along(off)
  jacobi <- matrix(0, size, size)
  jacobi[cbind(i, i + 1L)] <- jacobi[cbind(i + 1L, i)] <- off
  rule <- eigen(jacobi, symmetric = TRUE)
  list(node = rule$values, weight = rule$vectors[1L, ]^2)
}

#' For means under the standard normal distribution
#' @noRd
hermite_rule <- function(size) gauss_rule(sqrt(seq_len(size - 1L)))

#' For integrals from 0 to 1
#' @noRd
legendre_rule <- function(size) {
  i <- seq_len(size - 1L)
  rule <- gauss_rule(i / sqrt(4 * i^2 - 1))
  list(node = (1 + rule$node) / 2, weight = rule$weight)
}
