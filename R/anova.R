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
  table <- data.frame(
    hyper = vapply(fits, function(fit) sum(fit$hyper$status != "fixed"), 1L),
    evidence = evidence, evidence_diff = evidence - evidence[best],
    elpd_loo = total, elpd_diff = vapply(difference, sum, 0),
    se_diff = vapply(difference, standard_error_of_sum, 0, weights = object$model$weights), row.names = names(fits)
  )
  formulas <- vapply(fits, function(fit) {
    paste(vapply(c(fit$formula, fit$design$second$formula), deparse_one, ""), collapse = "; ")
  }, "")
  structure(
    table, class = c("anova", "data.frame"),
    heading = c("Evidence bounds and leave-one-out predictive densities\n", paste0(
      format(names(fits)), ": ", formulas, ", ", vapply(fits, family_label, ""),
      ifelse(seq_along(fits) == length(fits), "\n", "")
    ))
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
    list(unname(fit$model$y), unname(fit$model$size), unname(fit$model$weights), fit$model$censoring,
      response_levels(fit))
  })
  same <- vapply(response, function(x) isTRUE(all.equal(x, response[[1L]])), NA)
  if (all(same)) return(invisible())
  stop_galvi("argument", sprintf(
    "anova() compares fits of the same response; that of `%s` (%d rows) is not that of `%s` (%d rows).",
    names(fits)[which(!same)[1L]], fits[[which(!same)[1L]]]$nobs, names(fits)[1L], fits[[1L]]$nobs
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
