#' Tidy summaries of a fit
#'
#' Methods of the generics `tidy()`, `glance()` and `augment()` of package generics (and broom), for use where
#' that is installed.
#'
#' @param x A fit of [galvi()].
#' @param effects `"fixed"` for the fixed effects, `"hyper"` for the hyperparameters.
#' @param conf.int,conf.level Add limits of credible intervals of that level?
#' @param data,newdata Data to add columns to: those of the fit, or new ones.
#' @param type.predict Scale of the predictions: `"response"` or `"link"`.
#' @param ... Not used.
#' @return Data frames. `tidy`: `effect`, `term`, `estimate`, `std.error` and, on request, `conf.low` and
#'   `conf.high` (NA for hyperparameters, which have point estimates). `glance`: one row with `nobs`, `df`,
#'   `logLik` (the bound), `AIC`, `BIC`, `gap` and `converged`. `augment`: the data with `.fitted`, `.se.fit`
#'   and, without `newdata`, `.resid`; where the response has classes, `.fitted` is the most probable one,
#'   beside a column `.prob_<class>` for each, and `.resid` the deviance residual.
#' @examplesIf requireNamespace("generics", quietly = TRUE)
#' fit <- galvi(am ~ wt, data = mtcars, family = binomial())
#' generics::tidy(fit, conf.int = TRUE)
#' generics::glance(fit)
#' @name tidy.galvi
NULL

#' @rdname tidy.galvi
#' @exportS3Method generics::tidy
tidy.galvi <- function(x, effects = c("fixed", "hyper"), conf.int = FALSE, conf.level = 0.95, ...) {
  V <- vcov.galvi(x)
  fixed <- data.frame(
    effect = rep("fixed", nrow(V)), term = as.character(rownames(V)),
    estimate = as.vector(fixed_coefficients(x)$mean), std.error = sqrt(diag(V)), row.names = NULL
  )
  hyper <- data.frame(
    effect = rep("hyper", nrow(x$hyper)), term = x$hyper$name, estimate = x$hyper$estimate,
    std.error = rep(NA_real_, nrow(x$hyper))
  )
  if (conf.int) {
    limits <- confint.galvi(x, level = conf.level)
    fixed$conf.low <- unname(limits[, 1L])
    fixed$conf.high <- unname(limits[, 2L])
    hyper$conf.low <- hyper$conf.high <- rep(NA_real_, nrow(hyper))
  }
  do.call(rbind, list(fixed = fixed, hyper = hyper)[effects]) |> `rownames<-`(NULL)
}

#' @rdname tidy.galvi
#' @exportS3Method generics::glance
glance.galvi <- function(x, ...) {
  value <- logLik.galvi(x)
  data.frame(
    nobs = x$nobs, df = attr(value, "df"), logLik = as.numeric(value), AIC = stats::AIC(value),
    BIC = stats::BIC(value), gap = x$convergence$gap, converged = x$convergence$converged
  )
}

#' @rdname tidy.galvi
#' @exportS3Method generics::augment
augment.galvi <- function(x, data = model.frame.galvi(x), newdata = NULL,
                          type.predict = c("response", "link"), ...) {
  type <- first_choice(type.predict, c("response", "link"), "type.predict")
  out <- if (is.null(newdata)) data else newdata
  classes <- has_classes(x) && type == "response"
  if (!classes) check_one_latent(x, "augment(type.predict = \"link\")")
  added <- if (classes) augment_classes(x, newdata) else augment_numbers(x, newdata, type)
  out[names(added)] <- added
  if (!is.null(newdata)) return(out)
  out$.resid <- unname(residuals.galvi(x, if (has_classes(x)) "deviance" else "response"))
  out
}

augment_numbers <- function(fit, newdata, type) {
  predicted <- predict.galvi(fit, newdata, type = type, se.fit = TRUE)
  list(.fitted = unname(predicted$fit), .se.fit = unname(predicted$se.fit))
}

augment_classes <- function(fit, newdata) {
  prob <- predict.galvi(fit, newdata, type = "prob")
  columns <- lapply(stats::setNames(seq_len(ncol(prob)), paste0(".prob_", colnames(prob))), function(j) {
    unname(prob[, j])
  })
  c(list(.fitted = unname(predict.galvi(fit, newdata, type = "class"))), columns)
}
