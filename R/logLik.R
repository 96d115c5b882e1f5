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
  check_fits(list(...), lrtest.galvi, "lrtest()")
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
