# Location and scale of data with weights: a row of weight 2 counts as two rows, a row of weight 0 is ignored.

#' Weights as numbers of rows. If they sum to 1 or less they do not determine the number of rows, and all are set to 1.
#' @noRd
row_counts <- function(weights) if (sum(weights) > 1) weights else rep(1, length(weights))

# A weight of 1 for each row.
one_each <- function(x) rep(1, NROW(x))

weighted_mean <- function(x, weights) sum(weights * x) / sum(weights)

#' var() of rows repeated by their weights; 0 for a single row
#' @noRd
weighted_variance <- function(x, weights) {
  count <- sum(weights)
  if (count <= 1) return(0)
  sum(weights * (x - weighted_mean(x, weights))^2) / (count - 1)
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

# var(y); 1 if y is constant.
response_variance <- function(y, weights = one_each(y)) {
  y <- as.numeric(y)
  v <- weighted_variance(y, weights)
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
  list(x = x[sorted[new], , drop = FALSE], weights = as.vector(rowsum(weights[sorted], cumsum(new))))
}
