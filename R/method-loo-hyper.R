# The row's share in the hyperparameters, for fits that have one value of them.
#
# Learned hyperparameters are estimated with the row that they help to predict. Let z be their coordinates on the axes
# of their posterior, in standard deviations from the mode (fit$hyper_posterior), B(z) the bound plus the log prior, and
# l(z) the log density of row n under its cavity. Without row n the log posterior of z is B - l. At its mode z_n
#   l(z_n) = l(0) - g'g + ...,   g = dl/dz at 0,
# and g'g is g_n' Cov(psi) g_n on the unconstrained scale psi. Inference at 0 and at h and -h on each axis gives B and
# the l of all rows there. Both are interpolated along each axis by the functions that a scale parameter has:
#   B(z) = -c f(z),   l(z) = l(0) + g z + H f(z),   f(z) = (exp(k z) - 1 - k z) / k^2  (z^2 / 2 for k = 0),
# with k from the skewness of B. Then z_n has a closed form, which is exact for the variance of gaussian() noise; g'g
# alone is wrong by up to 0.9 nats in total for few rows. Second derivatives in two axes are ignored. With them, models
# of four or five hyperparameters come closer to refits, but those whose variances may be zero do not.

# In posterior sds: large enough for second differences of what inference finds to within its tolerance.
hyper_step <- 0.3

# Limits of the extrapolation, in sds and in k.
farthest_shift <- 2
largest_skew <- 3

# The sd of a direction that is not determined (`least` in src/fit/hyper_posterior.cpp).
longest_axis <- 10 * (1 - 1e-9)

#' What each row's log leave-one-out density loses when the hyperparameters, too, are those without it: N numbers <= 0
#'
#' @param fit At one value of the hyperparameters.
#' @param sides From hyper_sides(), f the log density of the rows, without their weights.
#' @noRd
hyper_loss <- function(fit, sides) {
  # a row of weight w > 1 is w rows, left out one at a time
  share <- pmin(1, fit$model$weights)
  loss <- Reduce(`+`, lapply(sides$axes, axis_loss, sides$centre, share), numeric(fit$nobs))
  # rows of density zero stay so
  ifelse(is.finite(loss), loss, 0)
}

#' The same on one axis
#' @param side list(up, down), each a list of `rows`, N numbers, and `bound`; centre: the same at the mode.
#' @noRd
axis_loss <- function(side, centre, share) {
  moved <- axis_shift(side, centre, share)
  pmin(0, axis_change(side, centre, moved$z, moved$k))
}

#' Where on an axis the mode is without each row: list(z, k: the skewness of the bound), in sds from the mode with it
#' @noRd
axis_shift <- function(side, centre, share) {
  rise <- c(side$up$bound, side$down$bound) - centre$bound
  # no mode in this direction
  if (any(rise >= 0)) return(list(z = 0 * centre$rows, k = 0))
  k <- skew_of(rise)
  c <- -sum(rise) / sum(skewed_square(c(1, -1) * hyper_step, k))
  of <- axis_derivatives(side, centre, k)
  # -(c + s H) f'(z) - s g = 0, f' = (exp(k z) - 1) / k; a row takes at most four fifths of the curvature
  slope <- -share * of$g / pmax(c + share * of$H, c / 5)
  z <- if (k == 0) slope else log(pmax(1 + k * slope, exp(-farthest_shift * abs(k)))) / k
  list(z = pmax(-farthest_shift, pmin(farthest_shift, z)), k = k)
}

#' l(z) - l(0) on an axis
#' @noRd
axis_change <- function(side, centre, z, k) {
  of <- axis_derivatives(side, centre, k)
  of$g * z + of$H * skewed_square(z, k)
}

axis_derivatives <- function(side, centre, k) {
  f <- skewed_square(c(1, -1) * hyper_step, k)
  up <- side$up$rows - centre$rows
  H <- (up + side$down$rows - centre$rows) / sum(f)
  list(g = (up - H * f[1L]) / hyper_step, H = H)
}

#' The variance of a function of the rows that the hyperparameters' posterior causes: g' Cov g, N numbers, 0 where there
#' are no axes
#' @noRd
hyper_variance <- function(sides) {
  of_axis <- function(side) ((side$up$rows - side$down$rows) / (2 * hyper_step))^2
  Reduce(`+`, lapply(sides$axes, of_axis), 0)
}

skewed_square <- function(z, k) if (k == 0) z^2 / 2 else (expm1(k * z) - k * z) / k^2

#' k for which B falls by these amounts on the two sides
#' @param rise Of B at hyper_step and -hyper_step.
#' @noRd
skew_of <- function(rise) {
  wanted <- log(rise[1L] / rise[2L])
  # ratio(k) is k hyper_step 2 / 3 near 0, odd and rising
  if (abs(wanted) < 1e-3) return(0)
  miss <- function(k) log(skewed_square(hyper_step, k) / skewed_square(-hyper_step, k)) - abs(wanted)
  sign(wanted) * if (miss(largest_skew) <= 0) largest_skew else {
    stats::uniroot(miss, c(1e-3, largest_skew), tol = 1e-8)$root
  }
}

#' What is known of the hyperparameters' share where they were averaged over, without the row
#' @noRd
averaged_sides <- function(fit) {
  learned <- unique(fit$model$hyper$name[fit$model$hyper$learned])
  list(centre = NULL, axes = list(), counted = learned, left_out = character(), averaged = TRUE)
}

#' A function of the rows at the mode of the hyperparameters and on both sides of it, on each axis of their posterior
#'
#' @param f f(fit at these hyperparameters): N numbers.
#' @return list(centre, axes: a list of list(up, down), with f's value as `rows` and the `bound`; counted, left_out:
#'   names of learned hyperparameters; averaged: is the fit a mixture of states, whose `axes` are not needed?). `axes`
#'   is empty where nothing is known.
#' @noRd
hyper_sides <- function(fit, f) {
  known <- fit$hyper_posterior
  learned <- unique(fit$model$hyper$name[fit$model$hyper$learned])
  name <- function(free) unique(fit$model$hyper$name[known$at[known$free[free]]])
  sides <- function(centre, axes, counted, averaged = FALSE) {
    list(centre = centre, axes = axes, counted = counted, left_out = setdiff(learned, counted), averaged = averaged)
  }
  # what the states say of the hyperparameters has weights without the row
  if (!is.null(fit$states)) return(sides(NULL, list(), name(seq_along(known$free)), TRUE))
  # the rows before add_data() are gone
  if (is.null(known) || !is.null(fit$seen)) return(sides(NULL, list(), character()))
  # an axis that data and priors do not determine has the length that the core gives it
  determined <- colSums(known$axes^2) < longest_axis^2
  moves <- known$axes[, determined, drop = FALSE]
  at <- function(move) {
    x <- or_else(known$estimate, known$value)
    at_learned(fit, replace(x, known$free, x[known$free] + move), f)
  }
  centre <- if (any(determined)) at(0)
  axes <- lapply(seq_len(ncol(moves)), function(j) {
    list(up = at(hyper_step * moves[, j]), down = at(-hyper_step * moves[, j]))
  })
  found <- !vapply(axes, function(side) is.null(centre) || is.null(side$up) || is.null(side$down), NA)
  # an axis of which nothing is known is that of its largest element
  lost <- apply(abs(known$axes), 2L, which.max)[!replace(determined, determined, found)]
  sides(centre, axes[found], name(setdiff(seq_along(known$free), lost)))
}

#' list(rows: f(fit), bound) by inference at these learned hyperparameters, on the scale of the search; NULL where
#' there is no posterior
#' @noRd
at_learned <- function(fit, x, f) {
  model <- fitted_model(fit)
  model$hyper$value <- drop(natural_hyper(fit$model, fit$posterior$hyper, rbind(x)))
  control <- as_control(fit$control)
  control$max_seconds <- Inf
  control$tol <- min(control$tol, 1e-9)
  control <- factorised(control)
  # differences of what minibatches find would be noise
  method <- if (fact("inference", fit$method, "learns")) "auto" else fit$method
  start <- fit$posterior[intersect(c("lambda", "b", "prior_rows"), names(fit$posterior))]
  found <- tryCatch(
    as_galvi_error(fit_model(model, method, "fixed", control, start)), galvi_error_numeric = function(e) NULL
  )
  if (is.null(found)) return(NULL)
  fit$posterior <- found[intersect(posterior_parts, names(found))]
  list(rows = f(factorised_view(fit)), bound = found$elbo + found$log_prior)
}

#' What of hyper_sides() a result keeps, for print()
#' @noRd
counted_hyper <- function(sides) sides[c("counted", "left_out", "averaged")]

#' What the row itself still says, in a sentence; NULL if nothing
#' @noRd
uncounted_words <- function(hyper, sum) {
  if (!length(hyper$left_out)) return(NULL)
  sprintf(
    "Each row still counts in the estimate of %s, which makes %s too high, by up to about 1 for each number.",
    quote_names(hyper$left_out, "", 5L), sum
  )
}
