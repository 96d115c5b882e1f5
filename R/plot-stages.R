# Plots of fits with category-specific effects (R/model-stages.R).

#' The fit as a kind of plot takes it: of the rows of the data where it is about these
#' @noRd
plotted_stages <- function(fit, which) {
  if (which == "effects") {
    stop_galvi("argument", paste(
      "`which = \"effects\"` is not available with cs(): plot(conditional_effects(fit)) has the probabilities of all",
      "classes along each variable."
    ))
  }
  if (!which %in% c("coefficients", "relevance", "trace")) return(stages_view(fit))
  fit <- decisions_view(fit)
  # thresholds are no variable
  fit$design$terms <- fit$design$stages$terms
  fit
}

#' @rawNamespace S3method(conditional_effects,galvi_stages)
#' @rawNamespace S3method(brms::conditional_effects,galvi_stages)
conditional_effects.galvi_stages <- function(x, ...) conditional_effects.galvi(stages_view(x), ...)
