# hyper = "integrate": the posterior of the hyperparameters by weighted points, a state of the fit at each.
#
# With q(z, theta) = q(theta) q(z | theta) the bound is best at q(theta) proportional to exp(ELBO(theta)) p(theta),
# and log int exp(ELBO) p dtheta is still a bound on the log evidence. The axes are those of the Hessian at the mode;
# each side of each has its own length, so that the log density falls by one at sqrt(2) (Rue, Martino and Chopin
# 2009). Predictions average over the points; marginals of the hyperparameters are those of a density that
# interpolates the log density at the points (R/fit-hyper-posterior.R).

# Points of a design grow with the square of the dimension, and corners faster; those of a grid by a factor of 2.5.
most_integrated <- 15L
most_on_grid <- 4L

# A design's sphere, in units of the corners' sqrt(m).
sphere <- 1.1

# Points of a grid whose log density is expected that much below the mode's are left out.
grid_fall <- 7

check_integrable <- function(hyper, design) {
  m <- sum(hyper$learned & !in_array(hyper))
  largest <- if (design == "grid") most_on_grid else most_integrated
  if (m <= largest) return(invisible())
  stop_galvi("argument", sprintf(
    "hyper = \"integrate\" %s for at most %d hyperparameters, and %d are learned here: hold some by fixed(), or %s.",
    if (design == "grid") "with hyper_design = \"grid\" is" else "is", largest, m,
    if (design == "grid") "leave hyper_design \"auto\"" else "use hyper = \"optimise\""
  ))
}

#' A fit at its mode -> the mixture
#'
#' @param result What fit_model() returned at the mode.
#' @param infer infer(hyper, start): the same at other, fixed values of the hyperparameters.
#' @return result with `states` and `hyper_posterior`.
#' @noRd
integrate_hyper <- function(result, core, design, infer) {
  tryCatch(integrated(result, core, design, infer), galvi_out_of_time = function(e) {
    result[c("converged", "out_of_time")] <- list(FALSE, TRUE)
    result$message <- "it stopped after `max_seconds`, before the hyperparameters were integrated over"
    result
  })
}

out_of_time <- function() structure(list(message = "", call = NULL), class = c("galvi_out_of_time", "condition"))

integrated <- function(result, core, design, infer) {
  posterior <- hyper_shape(result$internal, result$at_bound)
  if (is.null(posterior)) return(result)
  m <- length(posterior$free)
  if (design == "auto") design <- if (m <= 3L) "grid" else "ccd"
  start <- standing_at(result)$start
  top <- result$elbo + result$log_prior
  # NULL where there is no posterior, or outside of the range
  state_at <- function(z) {
    x <- posterior$value
    x[posterior$free] <- x[posterior$free] + as.vector(posterior$axes %*% z)
    if (any(x < posterior$lower | x > posterior$upper)) return(NULL)
    values <- natural_hyper(core, result$hyper, matrix(x, 1L))[1L, ]
    out <- tryCatch(infer(values, start), `std::domain_error` = function(e) NULL)
    if (is.null(out) || !is.finite(out$elbo)) return(NULL)
    if (out$out_of_time) stop(out_of_time())
    c(out, list(fall = top - out$elbo - out$log_prior))
  }
  sides <- side_falls(m, state_at)
  posterior[c("below", "above")] <- list(side_length(sides[1L, ]), side_length(sides[2L, ]))
  visit <- function(z) {
    if (all(z == 0)) return(c(result, list(fall = 0)))
    state_at(stretch(matrix(z, 1L), posterior)[1L, ])
  }
  points <- if (design == "grid") grid_points(m, visit) else design_points(m, visit)
  fall <- vapply(points, function(p) p$state$fall, 0)
  # a better mode than the search found would be among the points
  z <- do.call(rbind, lapply(points, `[[`, "z"))
  base <- if (design == "grid") 1 else ifelse(rowSums(z^2) > 0, sphere_weight(m, nrow(z) - 1), 1)
  weight <- base * apply(side_of(z, posterior), 1L, prod) * exp(-fall)
  posterior[c("design", "z", "weight", "log_density")] <- list(design, z, weight / sum(weight), top - fall)
  posterior$known <- known_density(posterior, fall, sides)
  posterior$log_evidence <- top + log_volume(posterior)
  own <- c("mean", "variance", "extra", "alpha", "lambda", "b", "hyper", "coefficients", "latent", "factor", "coupled",
    "factorised")
  result$states <- Map(function(point, weight) {
    list(weight = weight, posterior = Filter(Negate(is.null), point$state[own]))
  }, points, posterior$weight)
  result$hyper_posterior <- posterior
  result$converged <- result$converged && all(vapply(points, function(p) p$state$converged, NA))
  result
}

#' By how much the log density falls from the mode to sqrt(2) along both sides of the axes; NA outside of the range
#' @return 2 x m: below and above.
#' @noRd
side_falls <- function(m, state_at) {
  vapply(seq_len(m), function(k) {
    vapply(c(-1, 1), function(sign) {
      state <- state_at(replace(numeric(m), k, sign * sqrt(2)))
      if (is.null(state)) NA_real_ else state$fall
    }, 0)
  }, numeric(2L))
}

# The length at which it would have fallen by one, if it fell as the normal's.
side_length <- function(fall) {
  out <- 1 / sqrt(pmax(fall, 0))
  ifelse(is.na(out), 1, pmin(pmax(out, 0.3), 3))
}

#' All points of the grid that are not too unlikely, from the mode outwards: a list of list(z, state)
#'
#' The grid is that of whole numbers which are all even or all odd: in three dimensions the body-centred cubic lattice,
#' which needs the fewest points to integrate a smooth function. A normal has 7 of them in one dimension, 21 in two,
#' 59 in three and 145 in four.
#' @noRd
grid_points <- function(m, visit) {
  steps <- unname(rbind(as.matrix(expand.grid(rep(list(c(-1, 1)), m))), diag(2, m), diag(-2, m)))
  most <- 400L
  found <- list(list(z = numeric(m), state = visit(numeric(m))))
  seen <- paste(numeric(m), collapse = " ")
  at <- 1L
  while (at <= length(found) && length(found) < most) {
    here <- found[[at]]
    at <- at + 1L
    for (i in seq_len(nrow(steps))) {
      z <- here$z + steps[i, ]
      key <- paste(z, collapse = " ")
      # seen from here it falls as the normal's
      if (key %in% seen || here$state$fall + sum(z^2 - here$z^2) / 2 > grid_fall) next
      seen <- c(seen, key)
      state <- visit(z)
      if (!is.null(state)) found[[length(found) + 1L]] <- list(z = z, state = state)
    }
  }
  found
}

#' The points of the central composite design that have a posterior, the centre first
#' @noRd
design_points <- function(m, visit) {
  z <- rbind(0, sphere * rbind(corners(m), sqrt(m) * rbind(diag(m), -diag(m))))
  points <- lapply(seq_len(nrow(z)), function(i) list(z = z[i, ], state = visit(z[i, ])))
  Filter(function(point) !is.null(point$state), points)
}

# Against the centre: the weights that get the integral of the density and E z'z = m right for a normal.
sphere_weight <- function(m, count) exp(m * sphere^2 / 2) / (count * (sphere^2 - 1))
