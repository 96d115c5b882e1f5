#' Log marginal likelihood, or its lower bound
#'
#' `logLik()` returns the log marginal likelihood (log evidence) at the estimated hyperparameters, with fixed effects
#' and all other latent variables integrated out, or its lower bound (ELBO). It is exact for gaussian responses of
#' constant variance without inducing points, and otherwise a bound.
#'
#' @details
#' This is not the maximised log likelihood of [stats::lm()] or [stats::glm()]. Fixed effects have priors and are
#' integrated out, so they do not count in `df`, which is the number of learned hyperparameters (including the loadings
#' of factor models, minus their rotations).
#'
#' `AIC()`, `BIC()` and `lmtest::lrtest()` give a warning: their values depend on the width of the priors, cannot be
#' compared with those of other packages, and the distribution that `lrtest()` assumes does not apply. Compare fits by
#' [loo()][loo.galvi] or [anova()][anova.galvi].
#'
#' @param object,x A fit of [galvi()]; for `print()`, the value of `logLik()`.
#' @param ... Further fits for `AIC()` and `BIC()`; layout arguments of [print.default()] for `print()`; otherwise
#'   empty.
#' @param k The penalty per degree of freedom; 2 by default.
#' @param digits Number of significant digits.
#' @return `logLik()`: a number (natural logarithm) of class `logLik` with attributes `df`, `nobs` and `kind`:
#'   `"exact"`, `"bound"` for a lower bound, or `"approximation"` for methods such as Laplace's, whose value is not a
#'   bound. `AIC()`, `BIC()`: a number; for several fits a data frame.
#' @section Errors:
#' `galvi_error_argument` for unknown arguments. `AIC()`, `BIC()` and `lrtest()` signal `galvi_warning_evidence`.
#' @family checks and comparisons
#' @examples
#' fit <- galvi(am ~ gp(wt), data = mtcars, family = binomial())
#' logLik(fit)
#' # compare with a linear function
#' logLik(update(fit, . ~ gp(wt, kernel = linear())))
#' @export
logLik.galvi <- function(object, ...) {
  refuse_dots(list(...), logLik.galvi, "logLik()")
  structure(
    object$elbo,
    df = sum(object$hyper$status != "fixed") + free_loadings(object), nobs = nobs.galvi(object),
    kind = evidence_kind(object),
    class = c("galvi_logLik", "logLik")
  )
}

#' @rdname logLik.galvi
#' @export
print.galvi_logLik <- function(x, digits = getOption("digits"), ...) {
  refuse_print_dots(list(...), print.galvi_logLik)
  cat("'log Lik.' ", format(c(x), digits = digits), " (df=", attr(x, "df"), "): ",
    evidence_words(attr(x, "kind")), "\n", sep = "")
  invisible(x)
}

# Loadings and effects that were learned, less the rotations that change nothing.
free_loadings <- function(fit) {
  if (is.null(fit$factors)) return(0L)
  hyper <- fit$model$hyper
  own <- hyper$term == factor_specs(fit$design$specs)[[1L]]$label & hyper$learned
  d <- ncol(fit$factors$loadings)
  as.integer(sum(own) - if (any(own & hyper$parameter == "loadings")) d * (d - 1) / 2 else 0)
}

evidence_words <- function(kind) {
  switch(kind,
    exact = "the log evidence, exact",
    bound = "a lower bound on the log evidence (ELBO)",
    approximation = "an approximation of the log evidence, not a bound"
  )
}

# ---- AIC, BIC and likelihood ratio tests, with a warning ----

#' @rdname logLik.galvi
#' @importFrom stats AIC
#' @export
AIC.galvi <- function(object, ..., k = 2) {
  check_fits(list(...), AIC.galvi, "AIC()")
  warn_evidence("AIC()")
  NextMethod()
}

#' @rdname logLik.galvi
#' @importFrom stats BIC
#' @export
BIC.galvi <- function(object, ...) {
  check_fits(list(...), BIC.galvi, "BIC()")
  warn_evidence("BIC()")
  NextMethod()
}

#' @export
AIC.galvi_logLik <- AIC.galvi

#' @export
BIC.galvi_logLik <- BIC.galvi

#' @exportS3Method lmtest::lrtest
lrtest.galvi <- function(object, ..., name = NULL) {
  warn_evidence("lrtest()")
  NextMethod()
}

# `...` contains models; a named element that is not a model is a misspelt argument.
check_fits <- function(dots, method, where) {
  is_model <- vapply(dots, function(x) is.list(x) || isS4(x) || inherits(x, "logLik"), NA)
  named <- if (is.null(names(dots))) FALSE else nzchar(names(dots))
  refuse_dots(dots[named & !is_model], method, where)
}

warn_evidence <- function(what) {
  warn_galvi("evidence", paste0(
    what, " uses the evidence bound, not a maximised log likelihood, and counts only the learned hyperparameters: ",
    "the value depends on the priors and cannot be compared with those of lm(), glm() or lmer(). ",
    "Compare fits by loo()."
  ))
}

#' Compare fits by leave-one-out prediction and evidence
#'
#' `anova()` compares two or more fits of the same response by their leave-one-out log predictive densities
#' ([loo()][loo.galvi]) and by their log evidence or its lower bound ([logLik()][logLik.galvi]).
#'
#' @details
#' Differences are to the fit with the highest predictive density. A difference in predictive density that is small
#' compared with its standard error `se_diff` does not favour either model.
#'
#' The evidence depends on the priors: with the wide default priors of fixed effects, every additional effect lowers it.
#' Predictive densities depend much less on the priors. Neither comparison is a significance test. To test fixed effects
#' of one fit use `car::Anova()`, which makes Wald tests from their posterior mean and covariance.
#'
#' `drop1()`, `add1()` and [step()] select by AIC, which is not defined for a marginal likelihood. They stop with an
#' error that names alternatives.
#'
#' @param object A fit of [galvi()].
#' @param ... For `anova()`, further fits of the same response; for the others, their usual arguments.
#' @return A data frame of class `anova` with one row per fit, named as in the call, and the columns `hyper`, the number
#'   of learned hyperparameters; `evidence`, the log evidence or its bound; `evidence_diff`; `elpd_loo`, `elpd_diff` and
#'   its standard error `se_diff`. The last three are NA for fits that do not contain their rows ([row_source()]).
#' @section Errors:
#' `galvi_error_argument` for a single fit, for other objects, and for fits of different responses.
#' @references
#' Vehtari, A., Gelman, A. and Gabry, J. (2017). Practical Bayesian model evaluation using leave-one-out
#' cross-validation and WAIC. *Statistics and Computing* 27, 1413-1432.
#' @seealso [galvi_compare()] compares inference methods on one model.
#' @family checks and comparisons
#' @examples
#' linear <- galvi(dist ~ speed, data = cars)
#' smooth <- galvi(dist ~ gp(speed), data = cars)
#' anova(linear, smooth)
#' @name anova.galvi
NULL

#' @rdname anova.galvi
#' @importFrom stats anova
#' @export
anova.galvi <- function(object, ...) {
  others <- list(...)
  if ("test" %in% names(others)) {
    stop_galvi("argument", paste(
      "anova() has no `test`: a posterior has no p-values. It compares fits by their predictions, with standard errors;",
      "hypothesis(fit, \"x > 0\") has the probability of a sign, and car::Anova(fit) Wald tests of fixed effects."
    ))
  }
  check_fits(others, anova.galvi, "anova()")
  fits <- c(list(object), others)
  words <- as.list(substitute(list(object, ...)))[-1L]
  labels <- vapply(words, function(x) if (is.symbol(x)) as.character(x) else "", "")
  names(fits) <- make.unique(ifelse(nzchar(labels), labels, paste0("fit", seq_along(fits))))
  check_comparable(fits)
  elpd <- lapply(fits, row_elpd)
  total <- vapply(elpd, sum, 0)
  evidence <- vapply(fits, function(fit) fit$elbo, 0)
  best <- if (all(is.na(total))) which.max(evidence) else which.max(total)
  difference <- lapply(elpd, function(rows) rows - elpd[[best]])
  # thresholds are coefficients under cs(), and hyperparameters elsewhere
  stages <- vapply(fits, inherits, NA, "galvi_stages")
  alike <- stages == stages[best]
  table <- data.frame(
    hyper = vapply(fits, function(fit) sum(fit$hyper$status != "fixed"), 1L),
    evidence = evidence, evidence_diff = ifelse(alike, evidence - evidence[best], NA),
    elpd_loo = total, elpd_diff = vapply(difference, sum, 0),
    se_diff = vapply(difference, standard_error_of_sum, 0,
      weights = or_else(pieces_of(object$design)$weights, object$model$weights)), row.names = names(fits)
  )
  formulas <- vapply(fits, function(fit) {
    paste(vapply(all_formulas(fit), deparse_one, ""), collapse = "; ")
  }, "")
  structure(
    table, class = c("anova", "data.frame"),
    heading = c("Evidence bounds and leave-one-out predictive densities\n", paste0(
      format(names(fits)), ": ", formulas, ", ", vapply(fits, family_label, ""),
      ifelse(seq_along(fits) == length(fits), "\n", "")
    ), if (!all(alike)) "Only under cs() are thresholds averaged over: the evidence of the two kinds is not comparable.\n")
  )
}

#' Leave-one-out log densities of the rows; one NA where the fit has no sites
#' @noRd
row_elpd <- function(fit) {
  if (!has_rows(fit)) return(NA_real_)
  unname(loo.galvi(fit)$pointwise[, "elpd_loo"])
}

check_comparable <- function(fits) {
  if (length(fits) < 2L) {
    stop_galvi("argument", paste(
      "anova() compares two fits or more, as in anova(fit1, fit2). For tests of the fixed effects of one fit use",
      "car::Anova(fit)."
    ))
  }
  other <- which(!vapply(fits, inherits, NA, "galvi"))
  if (length(other)) {
    stop_galvi("argument", sprintf(
      "anova() compares fits of galvi(); `%s` is %s.", names(fits)[other[1L]], describe(fits[[other[1L]]])
    ))
  }
  response <- lapply(fits, function(fit) {
    # the counts of Cox's model depend on its right side
    known <- fit$design$intervals
    if (!is.null(known)) return(c(times_hash(known$times), list(known$weights, known$events)))
    if (!is.null(fit$design$stages)) fit <- stages_view(fit)
    list(unname(fit$model$y), unname(typed_sizes(fit)), unname(fit$model$weights), fit$model$censoring, fit$model$known,
      response_levels(fit))
  })
  of_counts <- vapply(fits, function(fit) !is.null(fit$design$intervals), NA)
  if (any(of_counts) && !all(of_counts)) {
    stop_galvi("argument", paste(
      "anova() does not compare cox() with other families: its bound is that of counts in intervals. Use",
      "loo::loo_compare(loo(fit1), loo(fit2))."
    ))
  }
  same <- vapply(response, function(x) isTRUE(all.equal(x, response[[1L]])), NA)
  if (all(same)) return(invisible())
  stop_galvi("argument", sprintf(
    "anova() compares fits of the same response; that of `%s` (%d observations) is not that of `%s` (%d).",
    names(fits)[which(!same)[1L]], nobs.galvi(fits[[which(!same)[1L]]]), names(fits)[1L], nobs.galvi(fits[[1L]])
  ))
}

# ---- what searches by AIC ----

#' @rdname anova.galvi
#' @importFrom stats extractAIC
#' @param fit A fit of [galvi()].
#' @export
extractAIC.galvi <- function(fit, ...) stop_aic("step()")

#' @rdname anova.galvi
#' @importFrom stats drop1
#' @export
drop1.galvi <- function(object, ...) stop_aic("drop1()")

#' @rdname anova.galvi
#' @importFrom stats add1
#' @export
add1.galvi <- function(object, ...) stop_aic("add1()")

stop_aic <- function(what) {
  stop_galvi("argument", paste(
    what, "compares AICs, which a marginal likelihood does not have. For tests of fixed effects use",
    "car::Anova(fit); to compare models use anova(fit, update(fit, . ~ . - x)) or loo::loo_compare(); for many",
    "effects give their prior a learned sd, prior = normal(0, learn(1)), which shrinks those that are not needed."
  ))
}
