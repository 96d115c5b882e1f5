# Methods of generics of packages that need not be there, where their default would be wrong without a word.

# Wald tests need one vector of coefficients in the order of its covariance matrix.
check_wald <- function(fit, dots, generic) {
  known <- names(formals(utils::getS3method(generic, "default", envir = asNamespace("car"))))
  if (!is.null(names(dots))) {
    misspelt <- dots[nzchar(names(dots)) & !names(dots) %in% known]
    check_no_dots(misspelt, setdiff(known, "..."), paste0(generic, "()"))
  }
  if (n_latents(fit) == 1L) return(invisible())
  stop_galvi("argument", sprintf(
    "%s() is for one linear predictor; this fit has %d per observation. Compare fits by loo() instead.",
    generic, n_latents(fit)
  ))
}

#' @exportS3Method car::Anova
Anova.galvi <- function(mod, ...) {
  check_wald(mod, list(...), "Anova")
  if (!any(mod$design$assign > 0L)) {
    stop_galvi("argument", paste(
      "Anova() tests fixed effects, and this fit has none but perhaps an intercept.",
      "plot(which = \"relevance\") tells how much other terms matter."
    ))
  }
  NextMethod()
}

#' @exportS3Method car::linearHypothesis
linearHypothesis.galvi <- function(model, ...) {
  check_wald(model, list(...), "linearHypothesis")
  NextMethod()
}

# 1 - sum w (y - mu)^2 / sum w (y - mean(y))^2 with the means under the posterior: what performance::r2()
# makes of other models, with weights and trials counted.
#' @exportS3Method performance::r2
r2.galvi <- function(model, ...) {
  refuse_dots(list(...), r2.galvi, "r2()")
  if (has_classes(model) || is_volatility(model)) {
    stop_galvi("argument", sprintf(
      "r2() needs a response whose mean is a number; this fit's family is %s. Compare fits by loo() instead.",
      family_label(model)
    ))
  }
  target <- training_target(model)
  check_observed(model, target, "r2()")
  y <- target$y / target$size
  weights <- target$weights * target$size
  total <- sum(weights * (y - stats::weighted.mean(y, weights))^2)
  if (total == 0) {
    stop_galvi("argument", "r2() compares with the variance of the response, which is zero here.")
  }
  value <- 1 - sum(weights * response_residuals(model, target)^2) / total
  structure(list(R2 = c(R2 = value)), class = c("r2_generic", "list"))
}
