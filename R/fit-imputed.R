# Multiple imputation: a fit for each data set, and one fit that is their equal mixture (`fit$fits` has the parts).
#
# Coefficients of the mixture are those of states, or points, of all parts, in the coding of the first one's fixed
# effects. Rows are read by the design of each part (R/view-imputed.R), whose inputs may differ.

#' Imputed data sets as a list of data frames; NULL for other data
#' @noRd
imputed_sets <- function(data) {
  if (inherits(data, "mids")) {
    if (!requireNamespace("mice", quietly = TRUE)) stop_galvi("data", "Data of class mids need package mice.")
    return(unclass(mice::complete(data, "all")))
  }
  if (inherits(data, "imputationList")) return(data$imputations)
  sets <- is.list(data) && !is.data.frame(data) && length(data) && all(vapply(data, is.data.frame, NA))
  if (sets) unclass(data)
}

#' The expression of one of the data sets, for the call of its fit
#' @noRd
set_expression <- function(data, expr, i) {
  if (inherits(data, "mids")) return(as.call(list(quote(mice::complete), expr, i)))
  if (inherits(data, "imputationList")) expr <- call("$", expr, quote(imputations))
  call("[[", expr, i)
}

#' Imputed data sets have the same rows and columns, of the same kinds
#' @noRd
check_sets <- function(sets) {
  first <- sets[[1L]]
  differ <- function(i, what) {
    stop_galvi("data", sprintf("The data frames of `data` must be alike, and number %d differs from the first: %s.", i,
      what))
  }
  for (i in seq_along(sets)[-1L]) {
    own <- sets[[i]]
    if (nrow(own) != nrow(first)) differ(i, sprintf("it has %d rows, not %d", nrow(own), nrow(first)))
    missing <- setdiff(names(first), names(own))
    if (length(missing)) differ(i, sprintf("it has no column %s", quote_names(missing, max = 4L)))
    added <- setdiff(names(own), names(first))
    if (length(added)) differ(i, sprintf("only it has the column %s", quote_names(added, max = 4L)))
    for (name in names(first)) {
      kind <- function(x) if (is.numeric(x) && !is.object(x)) "numeric" else class(x)[1L]
      if (kind(own[[name]]) != kind(first[[name]])) {
        differ(i, sprintf("`%s` is %s, not %s", name, kind(own[[name]]), kind(first[[name]])))
      }
      if (is.factor(first[[name]]) && !identical(levels(own[[name]]), levels(first[[name]]))) {
        differ(i, sprintf(
          "`%s` has the levels %s, not %s", name, quote_names(levels(own[[name]]), "\"", 5L),
          quote_names(levels(first[[name]]), "\"", 5L)
        ))
      }
    }
  }
}

#' The fit to imputed data sets
#' @param fit_one function(data set, call, start): a fit.
#' @noRd
fit_to_sets <- function(call, data, sets, start, hyper, fit_one) {
  check_sets(sets)
  fits <- list()
  labels <- sprintf("data set %d", seq_along(sets))
  each_once_warned(labels, "In %s: ", function(i) {
    own <- call
    own$data <- set_expression(data, call$data, i)
    # learning in the other sets starts where it ended in the first
    from <- if (i > 1L && is.null(start) && !identical(hyper, "fixed")) fits[[1L]] else start
    fits[[i]] <<- fit_one(sets[[i]], own, from)
  }, of_call = c("absent", "family"))
  mixture_of_fits(call, fits)
}

#' The equal mixture of fits of one model to data sets of the same rows
#' @noRd
mixture_of_fits <- function(call, fits) {
  check_same_model(fits)
  first <- fits[[1L]]
  out <- first
  out$call$data <- call$data
  moved <- Map(in_first_coding, list(first), fits)
  out[c("states", "points", "factorised", "y")] <- NULL
  by_points <- all(vapply(fits, has_points, NA))
  states <- unlist(lapply(moved, function(fit) {
    states <- if (has_points(fit)) list(list(weight = 1, posterior = fit$posterior)) else fit_states(fit)
    lapply(states, function(state) replace(state, "weight", list(state$weight / length(fits))))
  }), recursive = FALSE)
  each <- function(f) Reduce(`+`, lapply(fits, f)) / length(fits)
  hyper <- each(function(fit) fit$posterior$hyper)
  out$states <- states
  out$posterior <- states[[1L]]$posterior
  out <- as_mixture(out)
  out$posterior$hyper <- hyper
  if (by_points) {
    out["states"] <- NULL
    out$points <- list(
      coefficients = lapply(seq_len(n_latents(first)), function(k) {
        do.call(rbind, lapply(moved, function(fit) fit$points$coefficients[[k]]))
      }),
      hyper = do.call(rbind, lapply(moved, function(fit) fit$points$hyper)), at = first$points$at,
      weight = unlist(lapply(moved, function(fit) fit$points$weight)) / length(fits)
    )
  }
  out["factorised"] <- NULL
  out$elbo <- each(function(fit) fit$elbo)
  out$hyper$estimate <- each(function(fit) fit$hyper$estimate)
  out$convergence$converged <- all(vapply(fits, function(fit) fit$convergence$converged, NA))
  out$fits <- fits
  out$hyper[c("lwr", "upr")] <- hyper_at_level(out, 0.95)[c("lwr", "upr")]
  out
}

#' Stops where the data sets do not have the same rows, as far as their names tell
#' @noRd
check_same_rows <- function(fit) {
  names <- lapply(fit$fits, function(part) row.names(part$data))
  if (all(vapply(names, identical, NA, names[[1L]]))) return(invisible())
  stop_galvi("data", paste(
    "The data sets of this fit do not have the same rows (their row names differ), so that rows have no mean over them:",
    "ask the parts, fit$fits, or give `newdata`."
  ))
}

#' Stops where a method needs the sites of one posterior
#' @noRd
check_one_set <- function(fit, what) {
  if (!is_imputed(fit)) return(invisible())
  stop_galvi("argument", sprintf(
    "%s is not available for a fit to imputed data sets: ask the parts, as in lapply(fit$fits, ...).", what
  ))
}

#' Is the fit a mixture of those to imputed data sets?
#' @noRd
is_imputed <- function(fit) !is.null(fit$fits)

check_same_model <- function(fits) {
  differ <- function(i, what) {
    stop_galvi("data", sprintf(
      "The fit to data set %d differs from that to the first in %s: give all sets the same variables and levels.", i, what
    ))
  }
  if (!is.null(fits[[1L]]$design$intervals)) {
    stop_galvi("data", paste(
      "cox() does not take imputed data sets, whose rows are cut and added up in ways of their own. Give a list of",
      "survival_pieces(), one of each set, with family = poisson()."
    ))
  }
  if (!is.null(fits[[1L]]$design$stages)) {
    stop_galvi("data", "cs() does not take imputed data sets: fit each of them, and combine what is asked of the fits.")
  }
  for (i in seq_along(fits)[-1L]) {
    first <- fits[[1L]]
    own <- fits[[i]]
    if (own$nobs != first$nobs) differ(i, sprintf("its rows (%d and %d are complete)", own$nobs, first$nobs))
    columns <- function(fit) lapply(predictor_specs(fit$design), function(specs) fixed_spec(specs)$columns)
    if (!identical(columns(own), columns(first))) {
      other <- setdiff(union(unlist(columns(own)), unlist(columns(first))),
        intersect(unlist(columns(own)), unlist(columns(first))))
      differ(i, sprintf("its coefficients (%s): levels or columns are not those of all sets", quote_names(other)))
    }
    if (!identical(own$hyper$name, first$hyper$name)) differ(i, "its hyperparameters")
    if (!identical(own$design$response$levels, first$design$response$levels)) differ(i, "the levels of the response")
  }
}

#' A fit with the coefficients of fixed effects in the coding of another fit of the same columns: A_1 u_1 = A u
#' @noRd
in_first_coding <- function(first, fit) {
  change <- lapply(seq_len(n_latents(fit)), function(k) {
    to <- fixed_spec(own_specs(first, k))$coding$A
    from <- fixed_spec(own_specs(fit, k))$coding$A
    if (is.null(to)) from else solve(to, or_else(from, diag(nrow(to))), tol = 0)  # columns far from zero
  })
  # thresholds at x = 0 are the same, which those of the first are moved from
  at <- if (shifts_thresholds(fit)) fit$model$likelihood$hyper$thresholds
  moved <- function(beta) threshold_shift(fit, beta) - threshold_shift(first, beta)
  fit <- with_states(fit, function(view) {
    if (length(at)) {
      view$posterior$hyper[at] <- view$posterior$hyper[at] + moved(t(fixed_coefficients(predictor_view(view, 1L))$mean))
    }
    view$posterior$coefficients <- lapply(view$posterior$coefficients, function(block) {
      if (block$label != fixed_label) return(block)
      for (i in seq_along(block$latents)) {
        T <- change[[block$latents[i]]]
        if (is.null(T)) next
        block$mean[, i] <- T %*% block$mean[, i]
        block$covariance[[i]] <- T %*% tcrossprod(block$covariance[[i]], T)
      }
      block
    })
    if (is_coupled(view)) view$posterior$coupled <- in_coding_of_all(view, change)
    view
  })
  if (has_points(fit)) {
    learned <- fit$points$at %in% at
    if (any(learned)) fit$points$hyper[, learned] <- fit$points$hyper[, learned] + moved(fixed_at_points(fit))
    fit$points$coefficients <- Map(function(u, T, k) {
      at <- positions_of_term(fit$model, k, fixed_label)
      if (!is.null(T) && length(at)) u[, at] <- tcrossprod(u[, at, drop = FALSE], T)
      u
    }, fit$points$coefficients, change, seq_along(change))
  }
  fit
}

in_coding_of_all <- function(fit, change) {
  V <- fit$posterior$coupled
  L <- nrow(V) / n_latents(fit)
  full <- diag(nrow(V))
  for (k in seq_len(n_latents(fit))) {
    at <- (k - 1L) * L + positions_of_term(fit$model, k, fixed_label)
    if (!is.null(change[[k]])) full[at, at] <- change[[k]]
  }
  full %*% tcrossprod(V, full)
}

#' Quantiles of hyperparameters of the mixture: H x length(probs), from many of each part's
#' @noRd
mixed_hyper_limits <- function(fit, probs) {
  even <- (seq_len(200L) - 0.5) / 200
  pooled <- do.call(cbind, lapply(fit$fits, hyper_limits, even))
  out <- matrix(NA_real_, nrow(pooled), length(probs))
  known <- which(!is.na(rowSums(pooled)))
  if (!length(known)) return(out)
  out[known, ] <- weighted_quantiles(pooled[known, , drop = FALSE], rep(1 / ncol(pooled), ncol(pooled)), probs)
  out
}
