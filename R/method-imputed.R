#' Multiple imputation
#'
#' `galvi()` takes imputed data sets as its `data`: a `mids` of package mice, an `imputationList` of package mitools, or
#' a list of data frames. It fits the model to each and returns one fit, the equal mixture of their posteriors.
#'
#' @details
#' Everything that a fit with `hyper = "integrate"` can do uses the mixture: [coef()][coef.galvi], `vcov()`,
#' `confint()`, `summary()`, [predict()][predict.galvi], [plot()][plot.galvi], [simulate()][simulate.galvi] and
#' posterior [draws]. Its `fits` element is the list of the parts. `fitted()`, `residuals()` and [loo()][loo.galvi] are
#' means over the data sets, whose rows must be the same. `logLik()` is the mean of the log evidences. What needs one
#' data set, such as [waic()][waic.galvi], [kfold()] or [check_fit()], is asked of the parts: `lapply(fit$fits,
#' check_fit)`.
#'
#' **Not Rubin's rules.** With W the mean of the m posterior covariances and B the covariance of the m posterior means
#' (divisor m - 1), the mixture has the covariance W + (1 - 1 / m) B; it treats the m imputations as draws from the
#' distribution of the missing values, as posterior draws of all fits together do (`brms::brm_multiple()`). Rubin's
#' rules have W + (1 + 1 / m) B, which allows for m being small, and intervals of a t distribution.
#' `mice::pool(fit$fits)` and `mitools::MIcombine(fit$fits)` compute these from the parts. By default standard
#' deviations of linear models are those of a t distribution; `control = galvi_control(uncertainty = "factorised")`
#' gives the standard errors of [lm()], and with flat priors `pool()` then agrees with that of `lm()`.
#'
#' All data sets must have the same columns, of the same kinds and with the same levels, and as many rows. Default
#' priors are those of each data set. Hyperparameters of later sets are learned from where they ended in the first.
#' Estimates in `fit$hyper` are means over the sets, limits those of the mixture. `data`, `model` and the trace of the
#' fit are those of the first set.
#' @section Errors:
#' `galvi_error_data` if the data sets differ in columns, kinds of variables, levels or numbers of rows; and from
#' `fitted()`, `residuals()` and `loo()` if they do not have the same rows. `galvi_error_argument` for methods that need
#' one data set.
#' @references
#' Rubin, D. B. (1987). *Multiple Imputation for Nonresponse in Surveys*. Wiley.
#'
#' Zhou, X. and Reiter, J. P. (2010). A note on Bayesian inference after multiple imputation. *The American
#' Statistician* 64, 159-163.
#' @family fitting
#' @examplesIf requireNamespace("mice", quietly = TRUE)
#' imputed <- mice::mice(mice::nhanes, m = 3, maxit = 2, seed = 1, printFlag = FALSE)
#' fit <- galvi(chl ~ age + bmi, data = imputed)
#' fit
#' predict(fit, data.frame(age = 2, bmi = 25), interval = "prediction")
#' # Rubin's rules
#' summary(mice::pool(fit$fits))
#' @name multiple-imputation
NULL

#' loo() of a fit to imputed data sets: means over the sets
#' @noRd
loo_of_sets <- function(x, group, joint) {
  check_same_rows(x)
  parts <- lapply(x$fits, loo.galvi, group, joint)
  mean_of <- function(f) Reduce(`+`, lapply(parts, f)) / length(parts)
  out <- parts[[1L]]
  out$pointwise <- mean_of(function(part) part$pointwise)
  out$leverage <- mean_of(function(part) part$leverage)
  out$cavity <- list(mean = mean_of(function(part) part$cavity$mean),
    variance = mean_of(function(part) part$cavity$variance))
  weights <- x$model$weights
  together <- !is.null(group) && !joint
  sums <- if (together) rowsum(out$pointwise, group_numbers(out$group$rows), reorder = TRUE) else out$pointwise
  out$estimates <- loo_estimates(sums, if (is.null(group)) weights else rep(1, nrow(sums)))
  out
}
