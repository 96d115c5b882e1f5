# Views of fits with rescor(), whose gaussian responses have no noise but the residuals (R/model-rescor.R). As fitted,
# eta has the residuals in it and equals the response. What users ask for is the signal, x'beta + .., with the residuals
# as noise of each response; or new responses, whose residuals are drawn together; or a unit of which some responses are
# known.

#' Which responses have residuals as their only noise? NULL if none has.
#' @noRd
pure_noise <- function(fit) {
  spec <- residual_spec(fit$design$specs)
  if (any(spec$pure_noise)) spec$pure_noise
}

#' Positions of the variances of what stands for noise beside residuals: fixed, and nothing that users asked for
#' @noRd
rest_of_noise <- function(fit) {
  noise <- pure_noise(fit)
  if (is.null(noise)) return(if (has_taken_noise(fit)) fit$model$likelihood$hyper$variance else integer())
  likelihood <- fit$model$likelihood
  parts <- if (is_mixed(fit$family)) likelihood$parts[noise] else list(likelihood)
  unlist(lapply(parts, function(part) part$hyper$variance))
}

#' Is the noise, fixed at zero, a part of the effects of rows, see noise_to_take()?
#' @noRd
has_taken_noise <- function(fit) {
  held <- if (!is_mixed(fit$family)) fit$family$parameters$variance
  is_fixed(held) && identical(held$value, 0) && any(fit$model$hyper$value[fit$model$likelihood$hyper$variance] > 0)
}

#' The sizes of rows as users gave them: trials, or weights that divide a dispersion
#' @noRd
typed_sizes <- function(fit) {
  noise <- pure_noise(fit)
  own <- if (is.null(noise)) integer() else which(noise[as.integer(fit$data[[wide_names[["item"]]]])])
  replace(fit$model$size, own, or_else(fit$data[[wide_names[["weights"]]]][own], 1))
}

#' What loo::loo_compare() takes for the response, and warns where fits differ in it: as users gave it
#' @noRd
response_hash <- function(fit) c(list(fit$model$y, typed_sizes(fit)), unname(fit$model[c("censoring", "known", "counts")]))

#' The fit in the long form with a part for each column, as each has its own noise
#' @param signal Are residuals noise? FALSE leaves them in eta.
#' @noRd
residual_view <- function(fit, signal = TRUE) {
  noise <- pure_noise(fit)
  if (is.null(noise)) return(fit)
  t <- which(which_can(fit$design$specs, "residual"))
  spec <- fit$design$specs[[t]]
  fit$noise_of <- list(noise = noise, sd = spec$hyper$sd, rest = if (!signal) nugget * spec$scale^2)
  if (!signal) {
    fit$model$size[] <- 1
    return(fit)
  }
  item <- as.integer(fit$data[[wide_names[["item"]]]])
  fit$model$part <- item
  fit$model$size <- typed_sizes(fit)
  fit$design$specs[[t]]$signal <- TRUE
  # the posterior is that given rows with residuals: only what is asked has none
  fit$asked_rows <- fit$model$designs
  fit$asked_rows[[1L]][[t]]$node[noise[item], ] <- 0L
  as_mixture(with_states(fit, function(view) {
    eta <- latent_at(view, view$asked_rows, view$nobs)
    view$posterior[c("mean", "variance")] <- list(eta$mean + view$model$offset, eta$variance)
    view
  }))
}

#' The fit as its methods answer questions about linear predictors and means
#' @noRd
answering_view <- function(fit) if (inherits(fit, "galvi_wide")) residual_view(long_view(fit)) else fit

#' The fit and a target whose responses can be drawn: of units with residuals of their own, which are drawn together
#' @param newdata NULL for the units of the fit, with new residuals.
#' @noRd
drawn_residuals <- function(fit, newdata, re_formula) {
  items <- fit$design$wide$items
  grid <- wide_grid(fit, newdata, NULL, signal = FALSE)
  grid$labels <- sprintf("<new unit %d>", seq_len(grid$n))
  cells <- if (is.null(newdata)) fit$design$wide$entries else seq_len(grid$n * length(items))
  frame <- entry_frame(grid, cells, items)
  if (is.null(newdata) && fit$design$wide$weighted) {
    frame[[wide_names[["weights"]]]] <- fit$data[[wide_names[["weights"]]]]
  }
  list(fit = grid$fit, target = new_target(grid$fit, frame, kept = kept_effects(fit, re_formula)))
}

#' Log densities of the responses of each unit together, as over_draws() takes them: each row has that of its response
#' given those before it in its unit, so that their sums are those of the units
#' @param fit A signal view, without parts.
#' @noRd
residual_densities <- function(fit, target, eta) {
  spec <- residual_spec(fit$design$specs)
  S <- residual_covariance(spec, fit$posterior$hyper)
  unit <- as.integer(fit$data[[wide_names[["unit"]]]])
  item <- as.integer(fit$data[[wide_names[["item"]]]])
  n <- length(unit)
  root <- sqrt(target$size[seq_len(n)])
  E <- matrix((target$y - eta[, 1L]), n) * root
  out <- matrix(0, n, ncol(E))
  rows <- split(order(unit, item), sort(unit))
  pattern <- vapply(rows, function(at) paste(item[at], collapse = " "), "")
  for (same in split(rows, pattern)) {
    at <- do.call(rbind, same) # units x responses
    U <- chol(S[item[at[1L, ]], item[at[1L, ]], drop = FALSE])
    for (j in seq_len(ncol(at))) {
      before <- seq_len(j - 1L)
      z <- E[at[, j], , drop = FALSE]
      for (k in before) z <- z - U[k, j] * out[at[, k], , drop = FALSE]
      out[at[, j], ] <- z / U[j, j]
    }
    # standardised so far
    for (j in seq_len(ncol(at))) {
      out[at[, j], ] <- stats::dnorm(out[at[, j], ], log = TRUE) - log(U[j, j]) + log(root[at[, j]])
    }
  }
  as.vector(out)
}
