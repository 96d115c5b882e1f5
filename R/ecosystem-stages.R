# Other packages' generics for fits with category-specific effects (R/model-stages.R): of rows of the data.

#' @exportS3Method bayesplot::pp_check
pp_check.galvi_stages <- function(object, ...) pp_check.galvi(stages_view(object), ...)

#' @exportS3Method car::Anova
Anova.galvi_stages <- function(mod, ...) Anova.galvi(stages_view(mod), ...)

#' @exportS3Method car::linearHypothesis
linearHypothesis.galvi_stages <- function(model, ...) linearHypothesis.galvi(stages_view(model), ...)
