#' Print and summarise a fit
#'
#' @param object,x A fit of [galvi()], or its summary.
#' @param level Probability of the credible intervals of the fixed effects.
#' @param digits Significant digits.
#' @param ... Must be empty, but for the layout arguments of [print.default()].
#' @return `print` returns its argument, invisibly. `summary` returns a list of class `summary.galvi`: `call`,
#'   `family`, `nobs`, `coefficients` (a matrix with columns `mean`, `sd`, the posterior standard deviation,
#'   and the limits of a credible interval), `thresholds` (of an ordinal response, as a data frame, else
#'   NULL), `hyper` (as in the fit, with a column `sqrt_variance`: the square root of what is a variance, else
#'   NA; this is the standard deviation of the effects or of the noise, not the uncertainty of the estimate),
#'   `note` (what is wrong with `sd`, else NULL, see [coef.galvi]), `logLik`, `convergence`, `certificate` (a
#'   sentence), `cost`, `inducing` (how many points each sparse [gp()] has) and, if there were several,
#'   `starts` and `starts_agree` (do they reach the same bound?).
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' fit
#' summary(fit)
#' @name print.galvi
NULL

#' @rdname print.galvi
#' @export
print.galvi <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.galvi)
  print_heading(x$formula, family_label(x), nobs.galvi(x), left_out(x), x$design$second$formula)
  beta <- coef.galvi(x)
  if (length(beta)) {
    cat("\nFixed effects (posterior means):\n")
    print(beta, digits = digits)
    print_note(dependence_note(x))
  }
  thresholds <- threshold_table(x)
  print_thresholds(thresholds, digits)
  print_hyper(with_roots(x$hyper), thresholds, digits)
  cat("\n")
  print_evidence(logLik.galvi(x), certificate(x), digits)
  print_message(x$convergence)
  print_penalty(x$penalty)
  invisible(x)
}

# How many rows were left out for missing values.
left_out <- function(x) if (is.null(x$omitted)) length(x$na.action) else x$omitted

print_heading <- function(formula, family, nobs, omitted, second = NULL) {
  cat("Latent Gaussian model: ", family, ", ", nobs, if (nobs == 1L) " observation" else " observations",
    if (omitted) paste0(" (", omitted, " left out for missing values)"), "\n", sep = "")
  for (f in c(formula, second)) print_wrapped(deparse_one(f), 4L)
}

#' What a reader of the coefficients' sds must know, NULL if they are what they say
#' @noRd
dependence_note <- function(fit) {
  if (!ignores_dependence(fit)) return(NULL)
  if (is_distributional(fit)) {
    return(sprintf(paste(
      "The approximation treats the two predictors as independent: posterior standard deviations and intervals",
      "may be too small, and covariances between coefficients of %s are zero."
    ), paste(predictor_names(fit), collapse = " and ")))
  }
  paste(
    "The posterior standard deviations and intervals of these coefficients are too small, and their",
    "covariances between classes are zero, because the approximation treats the classes as independent."
  )
}

print_note <- function(note) if (!is.null(note)) print_wrapped(paste("Note:", note))

#' What the fit has to say, if anything; in the summary it always says whether it converged
#' @noRd
print_message <- function(convergence, always = FALSE) {
  said <- length(convergence$message) && nzchar(convergence$message)
  if (convergence$converged && !said && !always) return(invisible())
  state <- if (convergence$converged) "Converged" else "NOT CONVERGED"
  print_wrapped(paste0(state, if (said) paste0(": ", convergence$message), if (always) "."))
}

print_wrapped <- function(text, indent = 2L) {
  cat(strwrap(text, width = 0.95 * getOption("width"), exdent = indent), sep = "\n")
}

print_evidence <- function(value, certificate, digits) {
  number <- paste(format(c(value), digits = max(digits, 6L)), "nats")
  words <- switch(attr(value, "kind"),
    exact = paste0("Log evidence: ", number, ", exact."),
    bound = paste0("ELBO: ", number, ", a lower bound on the log evidence; ", certificate, "."),
    approximation = paste0(
      "Log evidence: about ", number, ", an approximation and no bound; ", certificate, "."
    )
  )
  print_wrapped(words)
}

#' In words: how far the bound is from the best that any Gaussian gives at these hyperparameters
#' @noRd
certificate <- function(fit) {
  if (fact(inference_facts(), fit$method, "evidence") == "exact") {
    return(if (is.null(fit$inducing)) "the posterior is exact" else "the optimum at these hyperparameters")
  }
  gap <- fit$convergence$gap
  if (length(gap) != 1L || is.na(gap)) return(why_no_certificate(fit))
  paste0("within ", in_nats(gap), " of its optimum at these hyperparameters", duality_gap(fit))
}

in_nats <- function(gap) paste(format(max(gap, 0), digits = 1L), "nats")

why_no_certificate <- function(fit) {
  if (evidence_kind(fit) == "approximation") return("no certificate says how far off it is")
  one_optimum <- facts_of(fit)$log_concave
  if (one_optimum) "no certificate under a flat prior" else "no certificate, as it may have several optima"
}

#' What the dual's own value proves, where it was minimised
#' @noRd
duality_gap <- function(fit) {
  if (!fact(inference_facts(), fit$method, "dual_value")) return("")
  paste0(" (duality gap ", in_nats(fit$trace$gap[nrow(fit$trace)]), ")")
}

#' Square roots beside variances: the unit that a reader can picture. Not called sd, which is the name of a
#' posterior standard deviation
#' @noRd
with_roots <- function(hyper) {
  is_variance <- grepl("(^|[._])variance([._]|$)", hyper$parameter)
  root <- rep(NA_real_, nrow(hyper))
  root[is_variance] <- sqrt(hyper$estimate[is_variance])
  hyper$sqrt_variance <- root
  hyper
}

#' Rows of the hyperparameters without the fixed prior sds of fixed effects, which are one for each, in
#' `fit$prior`, and no estimates
#' @noRd
without_prior_sds <- function(hyper) hyper[!(hyper$parameter == "sd" & hyper$status == "fixed"), ]

#' The thresholds of an ordinal response: a data frame with columns between, estimate, status; else NULL
#' @noRd
threshold_table <- function(fit) {
  estimate <- thresholds(fit)
  if (is.null(estimate)) return(NULL)
  at <- fit$model$likelihood$hyper$thresholds
  status <- fit$hyper$status[match(fit$model$hyper$name[at], fit$hyper$name)]
  data.frame(between = names(estimate), estimate = unname(estimate), status = status)
}

print_thresholds <- function(table, digits) {
  if (is.null(table)) return(invisible())
  cat("\nThresholds", if (all(table$status == "fixed")) " (fixed)", ":\n", sep = "")
  print(stats::setNames(table$estimate, table$between), digits = digits)
}

#' @param thresholds From threshold_table(): they have been printed.
#' @noRd
print_hyper <- function(hyper, thresholds, digits) {
  shown <- without_prior_sds(hyper)
  shown <- shown[!shown$parameter %in% thresholds$between, ]
  cat("\nHyperparameters", if (!nrow(shown)) ": none", "\n", sep = "")
  if (!nrow(shown)) return(invisible())
  root <- shown$sqrt_variance
  table <- data.frame(
    name = format(shown$name), estimate = vapply(shown$estimate, format, "", digits = digits),
    root = ifelse(is.na(root), "", vapply(root, format, "", digits = digits)), lwr = format_limits(shown$lwr, digits),
    upr = format_limits(shown$upr, digits), status = shown$status
  )
  if (all(is.na(shown$lwr))) table[c("lwr", "upr")] <- NULL
  names(table)[c(1L, 3L)] <- c("", "sqrt(variance)")
  if (all(is.na(root))) table <- table[-3L]
  print(table, row.names = FALSE)
}

# Limits of hyperparameters, empty where there are none.
format_limits <- function(x, digits) ifelse(is.na(x), "", vapply(x, format, "", digits = digits))
