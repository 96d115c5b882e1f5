# What other files ask of a fit: its latent values, rows, response and family.

#' Does the fit contain its rows? If they were not in memory its data and model are a sample of them.
#' @noRd
has_rows <- function(fit) nrow(fit$data) == fit$nobs

#' Number of rows of the user's data that it is fitted to, also of weight zero
#' @noRd
used_rows <- function(fit) {
  known <- pieces_of(fit$design)
  if (is.null(known)) fit$nobs else length(known$weights)
}

# Of Cox's model; NULL for others.
count_events <- function(fit) {
  known <- fit$design$intervals
  if (!is.null(known)) sum(known$times$event[known$weights > 0])
}

#' Is it fitted to other rows than those of the user's data: to entries of a wide response, or to pieces of rows?
#' @noRd
in_long_form <- function(fit) !is.null(fit$design$wide) || !is.null(pieces_of(fit$design))

#' @param cure What to do, the end of the message.
#' @noRd
check_has_rows <- function(fit, cure = "give `newdata`, a data frame or the source again") {
  if (has_rows(fit)) return(invisible())
  stop_galvi("data", sprintf(
    "The rows of this fit were read from a source, and the fit does not keep them: %s.", cure
  ))
}

#' Are the latents of a row, which are independent under q, dependent in the posterior? Then q's variances are too
#' small: they are those of each latent given the others.
#' @noRd
ignores_dependence <- function(fit) {
  n_latents(fit) > 1L && !facts_of(fit)$separable && !is_coupled(fit) && !has_points(fit)
}

#' Levels of a factor response, of "0" and "1" for a numeric binary one; NULL where the response has no
#' classes
#' @noRd
response_levels <- function(fit) fit$design$response$levels

#' Is the likelihood one of classes? Not so binomial likelihoods, which count successes, even of a single trial.
#' @noRd
has_classes <- function(fit) facts_of(fit)$classes > 0L

#' Are the classes ordered?
#' @noRd
is_ordinal <- function(fit) !is.null(fit$model$likelihood$hyper$thresholds)

#' Are they those of a family of ordered classes, whether thresholds are numbers or, with cs(), coefficients?
#' @noRd
has_ordered_classes <- function(fit) is_ordinal(fit) || !is.null(fit$design$stages)

#' Is the response noise of mean zero whose variance is modelled?
#' @noRd
is_volatility <- function(fit) family_type(fit$family)$volatility

#' Thresholds between the levels of an ordinal response, named like `low|medium`: posterior means, or estimates where
#' the posterior is that at them; NULL for other families
#' @noRd
thresholds <- function(fit) {
  if (!is_ordinal(fit)) return(NULL)
  value <- or_else(threshold_moments(fit)$mean, family_parameter(fit, "thresholds"))
  stats::setNames(value, threshold_names(response_levels(fit)))
}

#' Names of the K latents: the classes for multi-class families, NULL for K = 1
#' @noRd
latent_names <- function(fit) {
  if (n_predictors(fit) > 1L) return(predictor_names(fit))
  k <- n_latents(fit)
  if (k == 1L) return(NULL)
  names <- fit$design$response$latents
  if (length(names) == k) names else paste0("latent", seq_len(k))
}

#' Is `fit$elbo` the log evidence, a lower bound on it, or neither?
#' @noRd
evidence_kind <- function(fit) {
  if (!fact("expectation", fit$expectation, "is_bound")) return("approximation")
  evidence <- fact("inference", fit$method, "evidence")
  # between points or nodes the exact evidence of an approximate process, which is a bound for the whole one
  if (evidence == "exact" && leaves_variance(fit)) "bound" else evidence
}

#' Do inducing points, or nodes at other places than rows, leave a part of the rows' variance?
#' @noRd
leaves_variance <- function(fit) {
  !is.null(fit$inducing) || any(vapply(all_specs(fit$design), function(spec) {
    isTRUE(spec$nodes$between) || !is.null(spec$knots)
  }, NA))
}

#' The coefficients of a term, as the core has them, for all latent values; NULL if the term has none
#'
#' Priors that classes have of their own come with a block for each.
#' @noRd
coefficient_block <- function(fit, label) {
  own <- Filter(function(block) block$label == label, fit$posterior$coefficients)
  if (length(own) < 2L) return(if (length(own)) own[[1L]])
  order <- order(unlist(lapply(own, `[[`, "latents")))
  list(
    label = label, mean = do.call(cbind, lapply(own, `[[`, "mean"))[, order, drop = FALSE],
    covariance = unlist(lapply(own, `[[`, "covariance"), recursive = FALSE)[order]
  )
}

is_discrete <- function(fit) facts_of(fit)$discrete

#' Are the observations single trials with two outcomes?
#' @noRd
has_two_classes <- function(fit) {
  !is.null(response_levels(fit)) && !has_classes(fit) && all(fit$model$size == 1)
}

is_coupled <- function(fit) !is.null(fit$posterior$coupled)

#' Where the fixed effects of all latent values are among their coefficients, if there are any
#' @noRd
fixed_positions <- function(fit) {
  widths <- vapply(term_rows(fit$model), function(rows) NCOL(rows$W), 1L)
  at <- match(fixed_label, vapply(prior_terms(fit$model), `[[`, "", "label"))
  if (is.na(at)) return(integer())
  own <- sum(widths[seq_len(at - 1L)]) + seq_len(widths[at])
  as.vector(outer(own, (seq_len(n_latents(fit)) - 1L) * sum(widths), `+`))
}

#' The states: a list of list(weight, posterior)
#' @noRd
fit_states <- function(fit) {
  if (is.null(fit$states)) list(list(weight = 1, posterior = without_points(fit)$posterior)) else fit$states
}

state_weights <- function(fit) vapply(fit_states(fit), `[[`, 0, "weight")

#' All hyperparameters at the states, as the table has them: S x H
#' @noRd
hyper_of_states <- function(fit) do.call(rbind, lapply(fit_states(fit), function(state) state$posterior$hyper))

# Are the states all that is known of the hyperparameters? Those of a fit without data are draws from their priors.
states_are_draws <- function(fit) is.null(fit$hyper_posterior) && length(fit_states(fit)) > 1L

#' The fit as it is at one state
#' @noRd
at_state <- function(fit, state) {
  fit$posterior <- state$posterior
  fit[c("states", "points", "fits")] <- NULL
  fit
}

#' f(fit at a state) for every state
#' @noRd
by_state <- function(fit, f) lapply(fit_states(fit), function(state) f(at_state(fit, state)))

#' The fit with f(fit at a state)'s posterior at every state
#' @noRd
with_states <- function(fit, f) {
  if (is.null(fit$states)) return(f(fit))
  fit$states <- Map(function(state, view) {
    state$posterior <- f(view)$posterior
    state
  }, fit$states, by_state(fit, identity))
  fit$posterior <- fit$states[[1L]]$posterior
  fit
}

#' The fit with the mixture's moments in `posterior`
#' @noRd
as_mixture <- function(fit) {
  if (is.null(fit$states)) return(fit)
  parts <- lapply(fit$states, `[[`, "posterior")
  weights <- state_weights(fit)
  if (is.null(fit$factorised)) fit$factorised <- fit$posterior[mixed_moments]
  fit$posterior[c("mean", "variance")] <- mixture_moments(parts, weights)
  fit$posterior$coefficients <- mixture_coefficients(lapply(parts, `[[`, "coefficients"), weights)
  fit
}

#' The fit at one state that has the mixture's moments of the fixed effects
#' @noRd
at_mixture_of_fixed <- function(fit) {
  own <- lapply(fit$states, function(state) {
    Filter(function(block) block$label == fixed_label, state$posterior$coefficients)
  })
  at_state(fit, list(posterior = replace(
    fit$states[[1L]]$posterior, "coefficients", list(mixture_coefficients(own, state_weights(fit)))
  )))
}

#' Probabilities of classes, n x classes, where latent values are independent normals; with `second` moments E p_j^2 too
#' @noRd
independent_classes <- function(likelihood, fit, mean, variance, second) {
  threads <- fit$control$threads
  out <- as_galvi_error(predict_classes(likelihood, fit$posterior$hyper, unname(mean), unname(variance), second,
    if (is.null(threads)) 1L else threads))
  if (second) out else list(probability = out)
}

# Posterior of fixed effects, from the coding that the core uses to what users see.

#' Posterior of the fixed effects as users see them: mean (q x K) and a q x q covariance per latent; q = 0 without fixed
#' effects
#' @param hidden Also of columns that belong to another term, such as the level of a baseline hazard?
#' @noRd
fixed_coefficients <- function(fit, hidden = FALSE) {
  block <- coefficient_block(fit, fixed_label)
  if (is.null(block)) {
    none <- matrix(numeric(), 0L, n_latents(fit))
    empty <- matrix(numeric(), 0L, 0L)
    return(list(mean = none, covariance = rep(list(empty), n_latents(fit))))
  }
  block <- named_coefficients(fit, block)
  columns <- rownames(block$mean)
  spec <- fixed_spec(fit$design$specs)
  out <- decoded(block$mean, block$covariance, spec$coding)
  dimnames(out$mean) <- dimnames(block$mean)
  out$covariance <- lapply(out$covariance, `dimnames<-`, list(columns, columns))
  shown <- hidden | shown_columns(spec)
  list(
    mean = out$mean[shown, , drop = FALSE],
    covariance = lapply(out$covariance, function(V) V[shown, shown, drop = FALSE])
  )
}

#' The right side of the fixed effects without what belongs to another term
#' @noRd
shown_formula <- function(view) {
  terms <- or_else(view$design$stages$terms, view$design$terms)
  hidden <- attr(terms, "hidden")
  if (is.null(hidden)) return(stats::formula(terms)[[2L]])
  labels <- lapply(setdiff(attr(terms, "term.labels"), hidden), str2lang)
  if (length(labels)) Reduce(function(a, b) call("+", a, b), labels) else 1
}

#' Which columns of fixed effects have coefficients that users see?
#' @noRd
shown_columns <- function(spec) !or_else(spec$hidden, logical(length(spec$columns)))

#' A block of coefficients with the names of its columns and of the latents
#' @noRd
named_coefficients <- function(fit, block) {
  at <- match(block$label, vapply(prior_terms(fit$model), `[[`, "", "label"))
  columns <- colnames(term_rows(fit$model)[[at]]$W)
  mean <- as.matrix(block$mean)
  dimnames(mean) <- list(columns, latent_names(fit))
  list(mean = mean, covariance = lapply(block$covariance, `dimnames<-`, list(columns, columns)))
}

#' The same for the joint covariance of all latent values' coefficients, latent after latent
#' @noRd
decoded_jointly <- function(V, fit) {
  coding <- fixed_spec(fit$design$specs)$coding
  if (is.null(coding)) return(V)
  A <- kronecker(diag(n_latents(fit)), coding$A)
  V <- A %*% V %*% t(A)
  (V + t(V)) / 2
}

#' A fit whose thresholds are those at which the printed columns are zero
#'
#' In the core thresholds belong to the means of the columns, which makes them, and the linear predictor beside them,
#' independent of where x is zero. Moved by c = centre'E(beta), both are what other packages print. That centre'beta of a
#' state, a point or a draw is not c is part of the uncertainty of reported thresholds (threshold_shift()), not of the
#' linear predictor's.
#' @noRd
with_thresholds_at_zero <- function(fit) {
  at <- fit$model$likelihood$hyper$thresholds
  coding <- fixed_spec(fit$design$specs)$coding
  # a fit with more rows by add_data() keeps its level
  if (is.null(at) || !centres_thresholds(coding) || !is.null(fit$design$level)) return(fit)
  view <- predictor_view(fit, 1L)
  fit$design$level <- move <- or_else(coding$carried, sum(coding$centre * fixed_coefficients(view)$mean[, 1L]))
  raised <- function(eta) {
    eta[, 1L] <- eta[, 1L] + move
    eta
  }
  moved <- function(posterior) {
    posterior$hyper[at] <- posterior$hyper[at] + move
    posterior$mean <- raised(posterior$mean)
    posterior
  }
  fit$posterior <- moved(fit$posterior)
  if (has_points(fit)) {
    learned <- fit$points$at %in% at
    fit$points$hyper[, learned] <- fit$points$hyper[, learned] + move
  }
  if (!is.null(fit$factorised)) fit$factorised$mean <- raised(fit$factorised$mean)
  fit$states <- if (!is.null(fit$states)) lapply(fit$states, function(state) {
    state$posterior <- moved(state$posterior)
    state
  })
  fit$model$offset <- raised(fit$model$offset)
  fit$model$hyper$value[at] <- fit$model$hyper$value[at] + move
  # what is a distance from the one before stays
  own <- match(at[!is_relative(fit$model$hyper)[at]], fit$hyper_posterior$at, nomatch = 0L)
  if (any(own > 0L)) {
    parts <- c("value", "estimate", "lower", "upper")
    fit$hyper_posterior[parts] <- lapply(fit$hyper_posterior[parts], function(x) replace(x, own, x[own] + move))
  }
  shown <- match(fit$model$hyper$name[at], fit$hyper$name)
  fit$hyper$estimate[shown] <- fit$hyper$estimate[shown] + move
  fit
}

#' Positions of learned thresholds among the hyperparameters; none for other fits
#' @noRd
learned_thresholds <- function(fit) {
  at <- fit$model$likelihood$hyper$thresholds
  at[fit$model$hyper$learned[at]]
}

#' Have thresholds been moved?
#' @noRd
shifts_thresholds <- function(fit) !is.null(fit$design$level)

#' centre'beta - c for coefficients in rows
#' @noRd
threshold_shift <- function(fit, beta) {
  centre <- fixed_spec(fit$design$specs)$coding$centre
  drop(beta[, seq_along(centre), drop = FALSE] %*% centre) - fit$design$level
}

#' The same for the coefficients of each state: list(mean, variance)
#' @noRd
threshold_shifts <- function(fit) {
  each <- by_state(predictor_view(fit, 1L), fixed_coefficients)
  centre <- fixed_spec(fit$design$specs)$coding$centre
  list(
    mean = vapply(each, function(beta) threshold_shift(fit, t(beta$mean)), 0),
    variance = vapply(each, function(beta) max(0, drop(centre %*% beta$covariance[[1L]] %*% centre)), 0)
  )
}

#' Moments of the thresholds of an ordinal response over the states: at x = 0, and at the means of the columns
#' @return list(mean, sd, mean_centred, sd_centred), an element for each threshold.
#' @noRd
state_thresholds <- function(fit) {
  at <- fit$model$likelihood$hyper$thresholds
  weight <- state_weights(fit)
  centred <- hyper_of_states(fit)[, at, drop = FALSE]
  shift <- if (shifts_thresholds(fit)) threshold_shifts(fit) else list(mean = 0, variance = 0)
  moments <- function(x, variance) {
    own <- weighted_moments(x, weight)
    list(mean = own$mean, sd = sqrt(pmax(diag(own$covariance), 0) + sum(weight * variance)))
  }
  c(
    moments(centred + shift$mean, shift$variance),
    stats::setNames(moments(centred, 0), c("mean_centred", "sd_centred"))
  )
}

#' Posterior means and standard deviations of thresholds: list(mean, sd); NULL where the posterior is that at their
#' estimates
#' @noRd
threshold_moments <- function(fit) {
  at <- learned_thresholds(fit)
  if (!length(at)) return(NULL)
  if (!has_points(fit)) return(if (!is.null(fit$states)) state_thresholds(fit)[c("mean", "sd")])
  own <- weighted_moments(hyper_at_points(fit)[, at, drop = FALSE], fit$points$weight)
  list(mean = own$mean, sd = sqrt(diag(own$covariance)))
}

#' Quantiles of thresholds at x = 0, from those at the means of the columns: thresholds x length(probs)
#' @noRd
shifted_limits <- function(fit, limits, probs) {
  if (is.null(fit$states)) {
    # independent of the coefficients, as far as is known
    mode <- fit$posterior$hyper[fit$model$likelihood$hyper$thresholds]
    added <- outer(rep(threshold_shifts(fit)$variance, length(mode)), stats::qnorm(probs)^2)
    return(mode + sign(limits - mode) * sqrt((limits - mode)^2 + added))
  }
  moments <- state_thresholds(fit)
  moments$mean + (limits - moments$mean_centred) * ifelse(moments$sd_centred > 0, moments$sd / moments$sd_centred, 1)
}
