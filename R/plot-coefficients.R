forest_panels <- function(fit, settings) NULL
qq_panels <- worm_panels <- predictive_panels <- forest_panels
