# The posterior of the learned hyperparameters around its mode, on the optimiser's scale (logarithms of positive
# parameters), as the core finds it (src/fit/hyper_posterior.h).

# With more hyperparameters the Hessian is expensive and of little use.
most_intervals <- 30L

#' Positions of the hyperparameters that get an interval: learned numbers, unless there are too many; no arrays
#' @noRd
interval_positions <- function(hyper) {
  at <- which(hyper$learned & !in_array(hyper))
  if (length(at) > most_intervals) integer() else at
}

# Points of a design grow with the square of the dimension, and corners faster; those of a grid by a factor of 2.5.
most_integrated <- 15L
most_allowed_on_grid <- 4L

check_integrable <- function(hyper, design) {
  m <- sum(hyper$learned & !in_array(hyper))
  largest <- if (design == "grid") most_allowed_on_grid else most_integrated
  if (m <= largest) return(invisible())
  stop_galvi("argument", sprintf(
    "hyper = \"integrate\" %s for at most %d hyperparameters, and %d are learned here: hold some by fixed(), or %s.",
    if (design == "grid") "with hyper_design = \"grid\" is" else "is", largest, m,
    if (design == "grid") "leave hyper_design \"auto\"" else "use hyper = \"optimise\""
  ))
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
    sample <- hyper_points(posterior)
    theta <- reported_hyper(core, natural_hyper(core, values, sample$x))[, together, drop = FALSE]
    out[together, ] <- weighted_quantiles(t(theta), sample$weight, probs)
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
  limits <- hyper_limits(fit, tails(level))
  shown <- which(!in_array(fit$model$hyper))
  fit$hyper[c("lwr", "upr")] <- list(limits[shown, 1L], limits[shown, 2L])
  fit$hyper
}

#' Why learned hyperparameters have no limits: a sentence, or none
#' @noRd
missing_limits <- function(fit) {
  lacking <- fit$hyper$status == "learned" & is.na(fit$hyper$lwr)
  at_end <- fit$hyper$status == "at bound" & is.na(fit$hyper$lwr)
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
