# What other files ask of a fit: its latent values, rows, response and family.

n_latents <- function(fit) ncol(fit$model$offset)

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

#' A row of likelihood_facts() for the fit's likelihood
#' @noRd
facts_of <- function(fit) {
  if (is_custom(fit$family)) return(custom_facts(fit$family))
  if (is_mixed(fit$family)) return(mixed_facts(fit))
  facts <- likelihood_facts()
  facts[match(fit$model$likelihood$type, facts$type), ]
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

#' Estimates of a likelihood's parameter, such as the size of negbinomial or the thresholds of cumulative
#' @noRd
family_parameter <- function(fit, name) fit$posterior$hyper[fit$model$likelihood$hyper[[name]]]

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
  if (is_distributional(fit)) return(predictor_names(fit))
  k <- n_latents(fit)
  if (k == 1L) return(NULL)
  names <- fit$design$response$latents
  if (length(names) == k) names else paste0("latent", seq_len(k))
}

#' One line for headings, such as `binomial (logit link)` or `tweedie (log link, power 1.5)`
#' @noRd
family_label <- function(fit) {
  if (is_mixed(fit$family)) return(mixed_label(fit$family))
  second <- fit$design$second
  links <- if (is.null(second)) paste(fit$family$link, "link") else {
    sprintf("%s link, %s: %s link", fit$family$link, second$name, second$link)
  }
  options <- Filter(function(x) is.numeric(x) && length(x) == 1L && !is.na(x), fit$family$options)
  given <- sprintf("%s %s", names(options), vapply(options, format, ""))
  sprintf("%s (%s)", fit$family$family, paste(c(links, given), collapse = ", "))
}

#' Is `fit$elbo` the log evidence, a lower bound on it, or neither?
#' @noRd
evidence_kind <- function(fit) {
  if (!fact(expectation_facts(), fit$expectation, "is_bound")) return("approximation")
  evidence <- fact(inference_facts(), fit$method, "evidence")
  # with inducing points the exact evidence of an approximate process, which is a bound for the full one
  if (evidence == "exact" && !is.null(fit$inducing)) "bound" else evidence
}
