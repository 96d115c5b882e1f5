#' Print and summarise a fit
#'
#' @param object,x A fit of [galvi()], or its summary.
#' @param level Probability of the credible intervals of the fixed effects.
#' @param digits Significant digits.
#' @param ... Passed on to [print.data.frame()], or not used.
#' @return `print` returns its argument, invisibly. `summary` returns a list of class `summary.galvi`: `call`,
#'   `family`, `nobs`, `coefficients` (a matrix with columns `mean`, `sd` and the limits of a credible
#'   interval), `thresholds` (of an ordinal response, as a data frame, else NULL), `hyper` (as in the fit,
#'   with a column `sd`: the square root of what is a variance, else NA), `logLik`, `convergence`,
#'   `certificate` (a sentence), `cost`, `inducing` (how many points each sparse [gp()] has) and, if there
#'   were several, `starts` and `starts_agree` (do they reach the same bound?).
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' fit
#' summary(fit)
#' @name print.galvi
NULL

#' @rdname print.galvi
#' @export
print.galvi <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_heading(x$formula, family_label(x), x$nobs, x$na.action)
  beta <- coef.galvi(x)
  if (length(beta)) {
    cat("\nFixed effects (posterior means):\n")
    print(beta, digits = digits)
  }
  print_thresholds(threshold_table(x), digits)
  print_hyper(with_sds(x$hyper), digits)
  cat("\n")
  print_evidence(logLik.galvi(x), certificate(x), digits)
  print_message(x$convergence)
  invisible(x)
}

print_heading <- function(formula, family, nobs, na.action) {
  cat("Latent Gaussian model: ", family, ", ", nobs, if (nobs == 1L) " observation" else " observations",
    if (length(na.action)) paste0(" (", length(na.action), " left out for missing values)"), "\n", sep = "")
  print_wrapped(deparse_one(formula), 4L)
}

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
  if (fit$method == "exact") {
    return(if (is.null(fit$inducing)) "the posterior is exact" else "the optimum at these hyperparameters")
  }
  gap <- fit$convergence$gap
  if (length(gap) != 1L || is.na(gap)) return(why_no_certificate(fit))
  paste0("within ", in_nats(gap), " of its optimum at these hyperparameters", duality_gap(fit))
}

in_nats <- function(gap) paste(format(max(gap, 0), digits = 1L), "nats")

why_no_certificate <- function(fit) {
  if (evidence_kind(fit) == "approximation") return("no certificate says how far off it is")
  facts <- likelihood_facts()
  one_optimum <- facts$log_concave[facts$type == fit$model$likelihood$type]
  if (one_optimum) "no certificate under a flat prior" else "no certificate, as it may have several optima"
}

#' What the dual's own value proves, where it was minimised
#' @noRd
duality_gap <- function(fit) {
  if (fit$method != "dual") return("")
  paste0(" (duality gap ", in_nats(fit$trace$gap[nrow(fit$trace)]), ")")
}

#' Standard deviations beside variances: the unit that a reader can picture
#' @noRd
with_sds <- function(hyper) {
  is_variance <- grepl("(^|[._])variance([._]|$)", hyper$parameter)
  sd <- rep(NA_real_, nrow(hyper))
  sd[is_variance] <- sqrt(hyper$estimate[is_variance])
  hyper$sd <- sd
  hyper
}

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

#' Held prior sds of fixed effects are in `fit$prior`, one for each; here they would hide the rest. Thresholds
#' have a block of their own
#' @noRd
print_hyper <- function(hyper, digits) {
  of_prior <- hyper$parameter == "sd" & hyper$status == "fixed"
  shown <- hyper[!of_prior & hyper$term != "cumulative", ]
  cat("\nHyperparameters", if (!nrow(shown)) ": none", "\n", sep = "")
  if (!nrow(shown)) return(invisible())
  table <- data.frame(
    name = format(shown$name), estimate = vapply(shown$estimate, format, "", digits = digits),
    sd = ifelse(is.na(shown$sd), "", vapply(shown$sd, format, "", digits = digits)), status = shown$status
  )
  names(table)[1L] <- ""
  if (all(is.na(shown$sd))) table$sd <- NULL
  print(table, row.names = FALSE)
}
