# Averages over groups: the mean response of a population whose groups differ, E_b h(eta + b), where eta has no group
# effects and b ~ N(0, z'Sigma z) is the sum of those of a group that was not observed. Its uncertainty is that of eta
# and of the hyperparameters alone.

#' What a prediction includes, as kept_effects() and kept_terms() have it
#'
#' @param re_formula Of kept_effects(), or "integrate": group effects are averaged over. The attribute `averaged` then
#'   says of which terms.
#' @param chosen From kept_terms().
#' @noRd
kept_in_prediction <- function(fit, re_formula, chosen = NULL) {
  if (!averages_groups(re_formula)) return(both_kept(kept_effects(fit, re_formula), chosen))
  specs <- predictor_specs(fit$design)
  if (any(which_can(all_specs(fit$design), "units"))) {
    stop_galvi("argument", paste(
      "`re_formula = \"integrate\"` is for groups, not for the scores of rr() and responses(): use NULL and a new unit."
    ))
  }
  for (k in seq_along(specs)) for (t in which(vary_by_group(specs[[k]]) & !which_can(specs[[k]], "grouped"))) {
    if (!is.null(chosen) && !any(chosen[[k]][[t]])) next
    stop_galvi("argument", sprintf(paste(
      "`re_formula = \"integrate\"` averages over random effects such as (1 | g), not over %s: give exclude = \"%s\" to",
      "leave it out."
    ), specs[[k]][[t]]$label, specs[[k]][[t]]$label))
  }
  kept <- both_kept(kept_effects(fit, NA), chosen)
  attr(kept, "averaged") <- lapply(seq_along(specs), function(k) {
    chosen_here <- vapply(seq_along(specs[[k]]), function(t) is.null(chosen) || any(chosen[[k]][[t]]), NA)
    which_can(specs[[k]], "grouped") & chosen_here
  })
  kept
}

averages_groups <- function(re_formula) identical(re_formula, "integrate")

#' The parts of eta that are averaged over, at the observations: as of averaged_parts()
#' @noRd
observed_parts <- function(fit, kept) {
  if (is.null(attr(kept, "averaged"))) return(NULL)
  Map(function(specs, rows, averaged) Map(group_part, specs[averaged], rows[averaged]), predictor_specs(fit$design),
    fit$model$designs, attr(kept, "averaged"))
}

#' Variances of what is averaged over: n x S for each of the latent values
#' @param hyper S x H. averaged: for each latent value a list of parts.
#' @noRd
averaged_variances <- function(averaged, hyper, n) {
  lapply(averaged, function(parts) {
    Reduce(`+`, lapply(parts, part_variances, hyper), matrix(0, n, nrow(hyper)))
  })
}

#' The same for each latent value at one value of the hyperparameters: n x K
#' @noRd
averaged_variance <- function(averaged, hyper, n) {
  matrix(unlist(averaged_variances(averaged, matrix(hyper, 1L), n)), n, length(averaged))
}

#' A target's parts for each latent value, which may share their design
#' @noRd
latent_parts <- function(fit, target) {
  lapply(seq_len(n_latents(fit)), function(k) target$averaged[[predictor_of(fit$model, k)$design]])
}

#' Marginals of eta with the effects of a group that was not observed
#' @noRd
with_average <- function(fit, marginals, target) {
  if (is.null(target$averaged)) return(marginals)
  parts <- latent_parts(fit, target)
  added <- function(hyper) averaged_variance(parts, hyper, target$n)
  if (!is.null(marginals$points)) {
    marginals$points$averaged <- parts
    hyper <- marginals$points$hyper
    variances <- averaged_variances(parts, hyper, target$n)
    for (k in seq_along(variances)) {
      marginals$variance[, k] <- marginals$variance[, k] + drop(variances[[k]] %*% marginals$points$weight)
    }
    return(marginals)
  }
  if (is.null(marginals$states)) {
    marginals$variance <- marginals$variance + added(fit$posterior$hyper)
    return(marginals)
  }
  marginals$states <- lapply(marginals$states, function(state) {
    state$variance <- state$variance + added(state$hyper)
    marginals$variance <<- marginals$variance + state$weight * added(state$hyper)
    state
  })
  marginals
}

#' eta as it is known in draws: its variance is that of groups that are averaged over
#' @param target As over_draws() gives it, with the rows of eta.
#' @noRd
given_latent <- function(fit, target, eta) {
  variance <- if (is.null(target$averaged)) 0 * eta else {
    averaged_variance(latent_parts(fit, target), fit$posterior$hyper, nrow(eta))
  }
  with_known(list(mean = eta, variance = variance), target$known)
}

# ---- the mean of the population ----

#' Quantiles of a mean over groups, K = 1: it is monotone in eta
#'
#' @param f f(fit, marginals, rows): the mean, N numbers; marginals: list(mean, variance), the variance that of groups.
#' @param probs As in quantiles_of().
#' @noRd
population_quantiles <- function(fit, target, probs, f) {
  marginals <- latent_marginals(fit, target)
  if (!is.null(marginals$points)) {
    return(point_quantiles(affordable_points(fit, marginals$points), probs, function(state) {
      f(at_hyper(fit, state$hyper), state[c("mean", "variance")], state$rows)
    }))
  }
  parts <- latent_parts(fit, target)
  quantiles_of(fit, latent_marginals(fit, without_average(target)), probs, function(view, eta, rows) {
    variance <- averaged_variance(parts, view$posterior$hyper, target$n)
    f(view, list(mean = cbind(eta), variance = variance[rows, , drop = FALSE]), rows)
  })
}

# Trapezium sums over a normal density have errors of exp(-2 pi^2 / step^2).
normal_nodes <- seq(-9, 9, by = 0.25)

#' The posterior sd of a mean over groups, K = 1
#' @inheritParams population_quantiles
#' @noRd
population_sd <- function(fit, target, f) {
  marginals <- latent_marginals(fit, target)
  n <- target$n
  if (!is.null(marginals$points)) {
    moments <- average_points(affordable_points(fit, marginals$points), function(state) {
      x <- f(at_hyper(fit, state$hyper), state[c("mean", "variance")], state$rows)
      cbind(x, x^2)
    })
    moments <- matrix(moments, n, 2L)
    return(sqrt(variance_by_square(moments[, 2L], moments[, 1L])))
  }
  parts <- latent_parts(fit, target)
  base <- latent_marginals(fit, without_average(target))
  states <- marginal_states(fit, base)
  rows <- rep(seq_len(n), length(normal_nodes))
  share <- stats::dnorm(normal_nodes) / sum(stats::dnorm(normal_nodes))
  found <- lapply(states, function(state) {
    view <- at_hyper(fit, state$hyper)
    eta <- as.vector(state$mean[, 1L] + outer(sqrt(state$variance[, 1L]), normal_nodes))
    variance <- averaged_variance(parts, state$hyper, n)[rows, , drop = FALSE]
    x <- matrix(f(view, list(mean = cbind(eta), variance = variance), rows), n, length(normal_nodes))
    mean <- drop(x %*% share)
    list(mean = mean, variance = drop((x - mean)^2 %*% share))
  })
  weights <- do.call(cbind, lapply(states, function(state) rep_len(state$weight, n)))
  sqrt(mixture_moments(found, weights)$variance)
}

without_average <- function(target) {
  target["averaged"] <- list(NULL)
  target
}

#' Means over groups have standard deviations and intervals where they are functions of one linear predictor
#' @noRd
check_population <- function(fit, target, what) {
  if (is.null(target$averaged) || n_latents(fit) == 1L && !isTRUE(has_classes(fit))) return(invisible())
  stop_galvi("argument", sprintf(paste(
    "%s with `re_formula = \"integrate\"` is for a response with one linear predictor and without classes; use",
    "rstantools::posterior_epred() with that `re_formula`."
  ), what))
}
