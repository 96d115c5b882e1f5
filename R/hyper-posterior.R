# The posterior of the learned hyperparameters on the scale where the optimiser moves (logarithms of what is
# positive), around its mode: a normal distribution by the Hessian there, or the points of R/integrate.R.

# Beyond that many a Hessian says little and costs much.
most_intervals <- 30L

#' Positions of the hyperparameters that get an interval: learned numbers, unless there are too many; no arrays
#' @noRd
interval_positions <- function(hyper) {
  at <- which(hyper$learned & !in_array(hyper))
  if (length(at) > most_intervals) integer() else at
}

#' What is known of the hyperparameters' posterior from its Hessian
#'
#' @param internal What fit_model() returns of that name.
#' @param at_bound Of the whole table: those at the end of their range have no curvature to speak of; the others
#'   are given them.
#' @return NULL without a Hessian, else a list: `at`, positions of the learned ones in the table, and `value`,
#'   `lower`, `upper`, their mode and range; `free`, which of these the posterior is about (m); `axes` (m x m): x =
#'   mode + axes z, z standard normal but for what the points say; `flat`, which of the free ones the data and
#'   priors do not determine.
#' @noRd
hyper_shape <- function(internal, at_bound) {
  if (is.null(internal$hessian)) return(NULL)
  kept <- which(!at_bound[internal$at[internal$which]])
  if (!length(kept)) return(NULL)
  system <- eigen(-internal$hessian[kept, kept, drop = FALSE], symmetric = TRUE)
  # an sd of ten on the log scale is a factor of e^40 between the limits
  least <- 0.01
  flat <- rowSums(system$vectors[, system$values < least, drop = FALSE]^2) > 0.01
  axes <- system$vectors %*% diag(1 / sqrt(pmax(system$values, least)), length(kept))
  # columns as near to the coordinates as can be, so that points do not depend on the signs that eigen() chooses
  signs <- apply(axes, 2L, function(a) sign(a[which.max(abs(a))]))
  list(
    at = internal$at, value = internal$value, lower = internal$lower, upper = internal$upper,
    free = internal$which[kept], axes = axes %*% diag(signs, length(kept)), flat = which(flat)
  )
}

#' Points of the hyperparameters' posterior from uniform numbers
#'
#' @param U S x (m + 1) numbers in (0, 1): the first column chooses among the points of a grid.
#' @return list(x: S x learned; state: which point of a grid each belongs to, or NULL).
#' @noRd
hyper_points <- function(posterior, U) {
  m <- length(posterior$free)
  u <- U[, 1L + seq_len(m), drop = FALSE]
  state <- NULL
  z <- switch(if (is.null(posterior$design)) "normal" else posterior$design,
    normal = stats::qnorm(u),
    grid = {
      # anywhere in the point's cell
      state <- findInterval(U[, 1L], cumsum(posterior$weight), rightmost.closed = TRUE) + 1L
      state <- pmin(state, length(posterior$weight))
      stretch(posterior$z[state, , drop = FALSE] + posterior$step * (u - 0.5), posterior)
    },
    ccd = design_normals(posterior, u)
  )
  x <- matrix(posterior$value, nrow(U), length(posterior$value), byrow = TRUE)
  x[, posterior$free] <- x[, posterior$free] + z %*% t(posterior$axes)
  # directions that nothing determines stay
  x[, posterior$free[posterior$flat]] <- rep(posterior$value[posterior$free[posterior$flat]], each = nrow(U))
  list(x = x, state = state, z = z)
}

#' Split normals along the axes with the mean and variance that the design's points have (section 6.5 of Rue,
#' Martino and Chopin 2009 and Martins et al. 2013, whose marginals have the modes' own)
#' @noRd
design_normals <- function(posterior, u) {
  points <- stretch(posterior$z, posterior)
  centre <- colSums(posterior$weight * points)
  sd <- sqrt(colSums(posterior$weight * sweep(points, 2L, centre)^2))
  for (j in seq_len(ncol(u))) {
    a <- posterior$below[j]
    b <- posterior$above[j]
    share <- a / (a + b)
    low <- u[, j] < share
    z <- ifelse(low, a * stats::qnorm(pmin(u[, j] / (2 * share), 0.5)),
      b * stats::qnorm(pmax(0.5 + (u[, j] - share) / (2 * (1 - share)), 0.5)))
    # moments of the split normal
    mean <- (b - a) * sqrt(2 / pi)
    variance <- (1 - 2 / pi) * (b - a)^2 + a * b
    u[, j] <- centre[j] + (z - mean) * sd[j] / sqrt(variance)
  }
  u
}

#' z in units of the axes -> with each side's own length
#' @noRd
stretch <- function(z, posterior) {
  for (j in seq_len(ncol(z))) z[, j] <- z[, j] * ifelse(z[, j] < 0, posterior$below[j], posterior$above[j])
  z
}

#' S points evenly spread over the unit cube of d dimensions: multiples of irrational numbers. No random numbers,
#' so that limits can be repeated.
#' @noRd
even_points <- function(S, d) {
  primes <- c(2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103,
    107, 109, 113, 127)
  outer(seq_len(S) - 0.5, sqrt(primes[seq_len(d)])) %% 1
}

#' Quantiles of all hyperparameters on their natural scale, a row each; NA where there are none
#'
#' @param core The model as the core has it; values: of the table.
#' @noRd
hyper_quantiles <- function(posterior, core, values, probs) {
  out <- matrix(NA_real_, length(values), length(probs))
  if (is.null(posterior)) return(out)
  known <- setdiff(seq_along(posterior$free), posterior$flat)
  rows <- posterior$at[posterior$free[known]]
  if (!length(rows)) return(out)
  sums <- !moves_alone(posterior, core, values)[known] | !is.null(posterior$design)
  if (any(sums)) {
    sample <- hyper_points(posterior, even_points(8192L, length(posterior$free) + 1L))
    theta <- natural_hyper(core, values, sample$x)[, rows[sums], drop = FALSE]
    out[rows[sums], ] <- t(apply(theta, 2L, stats::quantile, probs, names = FALSE))
  }
  if (all(sums)) return(out)
  # monotone in one coordinate each
  sd <- sqrt(rowSums(posterior$axes^2))
  x <- matrix(posterior$value, length(probs), length(posterior$value), byrow = TRUE)
  x[, posterior$free] <- x[, posterior$free] + outer(stats::qnorm(probs), sd)
  out[rows[!sums], ] <- t(natural_hyper(core, values, x)[, rows[!sums], drop = FALSE])
  out
}

#' Is a hyperparameter a function of its own coordinate alone? Not so numbers in order, which are sums of distances.
#' @noRd
moves_alone <- function(posterior, core, values) {
  x <- matrix(posterior$value, length(posterior$free), length(posterior$value), byrow = TRUE)
  others <- x + 0.1
  others[cbind(seq_along(posterior$free), posterior$free)] <- posterior$value[posterior$free]
  own <- function(x) natural_hyper(core, values, x)[cbind(seq_along(posterior$free), posterior$at[posterior$free])]
  abs(own(x) - own(others)) <= 1e-9 * abs(own(x))
}

#' The rows of fit$hyper with limits of another level
#' @noRd
hyper_at_level <- function(fit, level) {
  limits <- hyper_quantiles(fit$hyper_posterior, fit$model, fit$posterior$hyper, tails(level))
  shown <- which(!in_array(fit$model$hyper))
  fit$hyper[c("lwr", "upr")] <- list(limits[shown, 1L], limits[shown, 2L])
  fit$hyper
}
