#' The evidence bound as a log likelihood
#'
#' `logLik()` gives the ELBO, a lower bound on the log evidence (the marginal likelihood of the
#' hyperparameters, with the latent variables integrated out); it is the log evidence itself where inference
#' is exact (gaussian responses). Its `df` is the number of learned hyperparameters, so [stats::AIC()] and
#' [stats::BIC()] compare models by their evidence with a penalty for what was learned. Fixed effects are
#' integrated over and do not count.
#'
#' @param object,x A fit of [galvi()]; what `logLik()` returned.
#' @param digits,... As for [print()].
#' @return A number of class `logLik` in nats with attributes `df`, `nobs` and `kind` (`"bound"`, `"exact"` or
#'   `"approximation"`).
#' @examples
#' logLik(galvi(am ~ gp(wt), data = mtcars, family = binomial()))
#' @export
logLik.galvi <- function(object, ...) {
  structure(
    object$elbo,
    df = sum(object$hyper$status != "fixed"), nobs = object$nobs, kind = evidence_kind(object),
    class = c("galvi_logLik", "logLik")
  )
}

#' @rdname logLik.galvi
#' @export
print.galvi_logLik <- function(x, digits = getOption("digits"), ...) {
  cat("'log Lik.' ", format(c(x), digits = digits), " (df=", attr(x, "df"), "): ",
    evidence_words(attr(x, "kind")), "\n", sep = "")
  invisible(x)
}

evidence_words <- function(kind) {
  switch(kind,
    exact = "the log evidence, exact",
    bound = "a lower bound on the log evidence (ELBO)",
    approximation = "an approximation of the log evidence, not a bound"
  )
}
