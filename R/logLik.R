#' The evidence bound as a log likelihood
#'
#' `logLik()` gives the ELBO, a lower bound on the log evidence (the marginal likelihood of the
#' hyperparameters, with the latent variables integrated out); it is the log evidence itself where inference
#' is exact (gaussian responses). Its `df` is the number of learned hyperparameters: fixed effects and all
#' other latent variables are integrated over and do not count.
#'
#' That is not the maximised log likelihood of [stats::lm()] or [stats::glm()], nor is `df` their number of
#' coefficients. [stats::AIC()], [stats::BIC()] and `lmtest::lrtest()` give the numbers that their formulas
#' make of it and warn (`galvi_warning_evidence`): they neither compare with other packages' values nor have
#' the distribution that `lrtest()` assumes, and with default priors they depend on how wide these are.
#' Compare fits by leave-one-out predictive densities, [loo()][loo.galvi].
#'
#' @param object,x A fit of [galvi()]; what `logLik()` returned.
#' @param ... Further fits for `AIC` and `BIC`; layout arguments of [print.default()] for `print`; else empty.
#' @param k The penalty of a degree of freedom.
#' @param digits Significant digits.
#' @return A number of class `logLik` in nats with attributes `df`, `nobs` and `kind` (`"bound"`, `"exact"` or
#'   `"approximation"`).
#' @examples
#' logLik(galvi(am ~ gp(wt), data = mtcars, family = binomial()))
#' @export
logLik.galvi <- function(object, ...) {
  refuse_dots(list(...), logLik.galvi, "logLik()")
  structure(
    object$elbo,
    df = sum(object$hyper$status != "fixed") + free_loadings(object), nobs = nobs.galvi(object), kind = evidence_kind(object),
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

# ---- what is made of log likelihoods elsewhere ----

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

# `...` has models; what has a name and is none is a misspelt argument.
check_fits <- function(dots, method, where) {
  is_model <- vapply(dots, function(x) is.list(x) || isS4(x) || inherits(x, "logLik"), NA)
  named <- if (is.null(names(dots))) FALSE else nzchar(names(dots))
  refuse_dots(dots[named & !is_model], method, where)
}

warn_evidence <- function(what) {
  warn_galvi("evidence", paste0(
    what, " uses the evidence bound, not a maximised log likelihood, and counts the learned hyperparameters ",
    "alone: the value depends on the priors and does not compare with those of lm(), glm() or lmer(). ",
    "Compare fits by loo()."
  ))
}
