# The posterior of the learned hyperparameters around its mode, on the optimiser's scale (logarithms of positive
# parameters): a normal distribution from the Hessian, or a density interpolated between the points of R/fit-integrate.R.

# With more hyperparameters the Hessian is expensive and of little use.
most_intervals <- 30L

#' Positions of the hyperparameters that get an interval: learned numbers, unless there are too many; no arrays
#' @noRd
interval_positions <- function(hyper) {
  at <- which(hyper$learned & !in_array(hyper))
  if (length(at) > most_intervals) integer() else at
}

#' The normal approximation of the hyperparameters' posterior from its Hessian
#'
#' @param internal The element of that name of a result of fit_model().
#' @param at_bound For the whole table: is a hyperparameter at the end of its range? Its curvature means nothing there;
#'   the posterior of the others is conditional on it.
#' @return NULL without a Hessian, else a list: `at`, positions of the learned ones in the table, and `value`,
#'   `lower`, `upper`, their mode and range; `free`, which of these have a posterior (m); `axes` (m x m): x = mode +
#'   axes z, with z standard normal unless the density is interpolated; `flat`, which of the free ones the data and
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
  # the largest element of each column is positive, so that points do not depend on the signs that eigen() chooses
  signs <- apply(axes, 2L, function(a) sign(a[which.max(abs(a))]))
  list(
    at = internal$at, value = internal$value, lower = internal$lower, upper = internal$upper,
    free = internal$which[kept], axes = axes %*% diag(signs, length(kept)), flat = which(flat)
  )
}

#' Weighted points of the hyperparameters' posterior from uniform numbers
#'
#' @param U S x m numbers in (0, 1).
#' @return list(x: S x learned; z: S x m; weight: S numbers, not normalised).
#' @noRd
hyper_points <- function(posterior, U) {
  v <- stats::qnorm(U)
  if (is.null(posterior$design)) {
    z <- v
    log_weight <- numeric(nrow(U))
  } else {
    # the proposal has the lengths of the axes' sides, but is wider: tails may be heavier than a normal's
    z <- stretch(v * proposal_width(ncol(v)), posterior)
    log_weight <- log_density(posterior, z) + rowSums(v^2) / 2 + rowSums(log(side_of(z, posterior)))
  }
  x <- matrix(posterior$value, nrow(U), length(posterior$value), byrow = TRUE)
  x[, posterior$free] <- x[, posterior$free] + z %*% t(posterior$axes)
  # hyperparameters that data and priors do not determine stay at the mode
  x[, posterior$free[posterior$flat]] <- rep(posterior$value[posterior$free[posterior$flat]], each = nrow(U))
  if (!is.null(posterior$design)) {
    inside <- colSums(t(x) < posterior$lower | t(x) > posterior$upper) == 0
    log_weight[!inside] <- -Inf
  }
  list(x = x, z = z, weight = exp(log_weight - max(log_weight)), scale = max(log_weight))
}

proposal_width <- function(m) min(1.5, 1 + 1.5 / m)

#' log of the integral of the density, whose value at the mode is one, over the unconstrained hyperparameters
#' @noRd
log_volume <- function(posterior) {
  m <- length(posterior$free)
  points <- hyper_points(posterior, even_points(8192L, m))
  points$scale + log(mean(points$weight)) + m * (log(2 * pi) / 2 + log(proposal_width(m))) +
    as.numeric(determinant(posterior$axes)$modulus)
}

#' The points that a density is interpolated from: z, n x m, and the decrease of the log density from the mode
#' @noRd
known_density <- function(posterior, fall, sides) {
  m <- length(posterior$free)
  known <- list(
    z = rbind(stretch(posterior$z, posterior), -sqrt(2) * diag(m), sqrt(2) * diag(m)),
    fall = c(fall, sides[1L, ], sides[2L, ])
  )
  # points far down would distort the interpolant elsewhere
  kept <- !is.na(known$fall) & known$fall < 20 & !duplicated(round(known$z, 6L))
  list(z = known$z[kept, , drop = FALSE], fall = known$fall[kept])
}

#' Log density at z, up to a constant: the normal's and a spline with kernel |distance|^3 through the differences
#'
#' The spline grows linearly with distance, so the normal's tails dominate.
#' @noRd
log_density <- function(posterior, z) {
  at <- posterior$known$z
  normal <- -rowSums(z^2) / 2
  missed <- rowSums(at^2) / 2 - posterior$known$fall
  linear <- cbind(1, at)
  q <- ncol(linear)
  if (qr(linear)$rank < q) return(normal)
  system <- rbind(cbind(cubed_distances(at, at), linear), cbind(t(linear), matrix(0, q, q)))
  coefficients <- solve(system, c(missed, numeric(q)), tol = 0)
  normal + drop(cbind(cubed_distances(z, at), 1, z) %*% coefficients)
}

cubed_distances <- function(x, y) {
  squares <- outer(rowSums(x^2), rowSums(y^2), `+`) - 2 * tcrossprod(x, y)
  pmax(squares, 0)^1.5
}

#' z in units of the axes -> with each side's own length
#' @noRd
stretch <- function(z, posterior) z * side_of(z, posterior)

# The length of the side on which each element of z lies: that of their mean at zero.
side_of <- function(z, posterior) {
  below <- rep(posterior$below, each = nrow(z))
  above <- rep(posterior$above, each = nrow(z))
  z[] <- ifelse(z < 0, below, ifelse(z > 0, above, (below + above) / 2))
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
  # what is reported on other axes is a function of all that its term has
  free <- posterior$at[posterior$free]
  flat <- free[posterior$flat]
  blocks <- lapply(model_axes(core), function(change) c(change$sd, if (!any(change$cor %in% flat)) change$cor))
  blocks <- Filter(function(own) any(own %in% free) && !any(own %in% flat), blocks)
  known <- known[!free[known] %in% reported_positions(core)]
  rows <- free[known]
  if (!length(rows) && !length(blocks)) return(out)
  sums <- !moves_alone(posterior, core, values)[known] | !is.null(posterior$design)
  together <- c(rows[sums], unlist(blocks))
  if (length(together)) {
    sample <- hyper_points(posterior, even_points(8192L, length(posterior$free)))
    theta <- reported_hyper(core, natural_hyper(core, values, sample$x))[, together, drop = FALSE]
    out[together, ] <- weighted_quantiles(t(theta), rep(1, ncol(theta)) %o% sample$weight, probs)
    # nothing is known of what is at the end of its range
    ends <- replace(rep(FALSE, length(values)), setdiff(posterior$at, free), TRUE)
    gone <- reported_bounds(core, values, ends)
    out[intersect(unlist(blocks), which(gone)), ] <- NA_real_
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

#' Why learned hyperparameters have no limits: a sentence, or none
#' @noRd
missing_limits <- function(fit) {
  lacking <- fit$hyper$status == "learned" & is.na(fit$hyper$lwr)
  at_end <- fit$hyper$status == "at bound"
  said <- function(which, text) if (any(which)) sprintf(text, quote_names(fit$hyper$name[which], "", 5L))
  table <- fit$model$hyper
  c(
    said(at_end, "No interval for %s: at the limit of its range."),
    if (sum(table$learned & !in_array(table)) > most_intervals) {
      sprintf("No intervals of hyperparameters: more than %d were learned.", most_intervals)
    } else if (is.null(fit$hyper_posterior)) {
      if (any(lacking)) if (fit$convergence$converged) {
        "No intervals of hyperparameters: their Hessian could not be computed."
      } else "No intervals of hyperparameters: learning has not converged."
    } else said(lacking, "No interval for %s: hardly determined by data and prior.")
  )
}
