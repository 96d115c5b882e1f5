# Columns whose values are far from zero, as years are, under the default prior of the intercept.

# Where the intercept has its default prior: the variable furthest from zero, in its standard deviations, its mean, and
# how many times as wide that prior had to be to leave the intercept as free at the averages of all columns as it is at
# zero. NULL where no variable is far.
far_from_zero <- function(spec, W, context) {
  far <- 20  # sds, as years are; nearer ones are pulled only where the data say as little as the prior
  slope <- spec$assign > 0L
  given <- any(c("intercept", "(Intercept)") %in% names(context$prior))
  if (!context$intercept || all(slope) || !any(slope) || given) return(NULL)
  mean <- column_means(W, context$weights)[slope]
  sd <- column_sds(W, context$weights)[slope]
  ratio <- ifelse(sd > 0, abs(mean) / sd, 0)
  if (max(ratio) < far) return(NULL)
  worst <- which.max(ratio)
  list(column = spec$columns[slope][worst], mean = mean[worst], widen = sqrt(1 + sum(ratio^2)))
}

# Warns where that prior moves the intercept, and with it the slope, by more than a fraction of its posterior sd: the
# difference to its centre times posterior variance over prior variance.
warn_pulled_intercept <- function(fit, spec) {
  visible <- 0.5
  far <- spec$far
  if (is.null(far)) return(invisible())
  name <- paste0(if (!is.null(spec$parameter)) coefficient_prefix(spec$parameter), "(Intercept)")
  prior <- fit$prior[[name]]
  terms <- Filter(function(term) identical(term$label, fixed_label), fit$posterior$coefficients)
  term <- terms[[if (is.null(spec$parameter)) 1L else length(terms)]]
  variance <- vapply(term$covariance, function(V) V[1L, 1L], 0)
  pull <- max(abs(term$mean[1L, ] - prior$mean) * sqrt(variance)) / prior$sd^2
  if (!is.finite(pull) || pull < visible) return(invisible())
  warn_galvi("prior", sprintf(
    paste(
      "The default prior of the intercept, %s, moves it by %s posterior standard deviations, and the slope of `%s`",
      "with it: the intercept is the value at `%s` = 0, far from the data. Subtract a constant, I(%s - %s), or widen the",
      "prior: prior = list(intercept = normal(%s, %s))."
    ),
    format(prior, digits = 3L), format(pull, digits = 2L), far$column, far$column, far$column,
    format(signif(far$mean, 3L)), format(signif(prior$mean, 3L)),
    format(signif(far$widen * prior$sd, 1L), scientific = FALSE)
  ), call = fit$call)
}
