# What other files ask of a fit: its latent values, rows, response and family.

#' Does the fit contain its rows? If they were not in memory its data and model are a sample of them.
#' @noRd
has_rows <- function(fit) nrow(fit$data) == fit$nobs

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
ignores_dependence <- function(fit) n_latents(fit) > 1L && !facts_of(fit)$separable && !is_coupled(fit)

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

#' Is the response noise of mean zero whose variance is modelled?
#' @noRd
is_volatility <- function(fit) family_type(fit$family)$volatility

#' Thresholds between the levels of an ordinal response, named like `low|medium`; NULL for other families
#' @noRd
thresholds <- function(fit) {
  if (!is_ordinal(fit)) return(NULL)
  stats::setNames(family_parameter(fit, "thresholds"), threshold_names(response_levels(fit)))
}

threshold_names <- function(levels) paste(levels[-length(levels)], levels[-1L], sep = "|")

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
  # with inducing points the exact evidence of an approximate process, which is a bound for the full one
  if (evidence == "exact" && !is.null(fit$inducing)) "bound" else evidence
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

#' Where the fixed effects of all latent values are among their coefficients
#' @noRd
fixed_positions <- function(fit) {
  widths <- vapply(term_rows(fit$model), function(rows) NCOL(rows$W), 1L)
  at <- match(fixed_label, vapply(prior_terms(fit$model), `[[`, "", "label"))
  own <- sum(widths[seq_len(at - 1L)]) + seq_len(widths[at])
  as.vector(outer(own, (seq_len(n_latents(fit)) - 1L) * sum(widths), `+`))
}

#' The states: a list of list(weight, posterior)
#' @noRd
fit_states <- function(fit) {
  if (is.null(fit$states)) list(list(weight = 1, posterior = fit$posterior)) else fit$states
}

state_weights <- function(fit) vapply(fit_states(fit), `[[`, 0, "weight")

#' The fit as it is at one state
#' @noRd
at_state <- function(fit, state) {
  fit$posterior <- state$posterior
  fit["states"] <- NULL
  fit
}

#' The fit with the mixture's moments in `posterior`
#' @noRd
as_mixture <- function(fit) {
  if (is.null(fit$states)) return(fit)
  parts <- lapply(fit$states, `[[`, "posterior")
  weights <- state_weights(fit)
  fit$posterior[c("mean", "variance")] <- mixture_moments(parts, weights)
  fit$posterior$coefficients <- mixture_coefficients(lapply(parts, `[[`, "coefficients"), weights)
  fit
}

#' Probabilities of classes, n x classes, where latent values are independent normals; with `second` moments E p_j^2 too
#' @noRd
independent_classes <- function(likelihood, fit, mean, variance, second) {
  out <- as_galvi_error(predict_classes(likelihood, fit$posterior$hyper, unname(mean), unname(variance), second))
  if (second) out else list(probability = out)
}
