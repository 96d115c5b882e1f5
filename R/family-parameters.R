# Parameters of families: checks of the user's values, starting values, and entries in the hyperparameter table.

# ---- kinds of parameters ----

# One positive number. range: function(y, weights, exposure) -> start, lower and upper; default: the constructor's
# default, which is a number (the value with hyper = "fixed") or fixed(), or NULL for the starting value.
# sd: is it a standard deviation or a scale? also: its other name in `prior`, that of its linear predictor. per_weight:
# to which power of weights that divide a dispersion is it proportional, if these have another unit? weak_sd: that of
# the logarithm in the weak prior of what is neither a variance nor an sd; NULL for that of weak_priors().
positive <- function(range, default = NULL, variance = FALSE, zero_ok = FALSE, sd = FALSE, also = character(),
                     per_weight = 0, weak_sd = NULL) {
  list(
    range = range, default = default, variance = variance, zero_ok = zero_ok, sd = sd, also = also,
    per_weight = per_weight, weak_sd = weak_sd,
    check = check_positive, add = add_positive
  )
}

# A number within the interval of a transform of the table, held where it is typed and learned where it is not; then it
# is shown in headings.
in_interval <- function(transform, start, lower, upper) {
  list(
    transform = transform, default = learn(start), lower = lower, upper = upper,
    tidy = function(value) if (is_value(value)) value else fixed(value), shown = TRUE, check = check_in_interval,
    add = add_in_interval
  )
}

# One number of any sign, as positive(). transform: that of the core, in which it is learned; weak: the prior that its
# posterior has where none is typed.
signed <- function(range, transform, weak, default = NULL) {
  list(range = range, transform = transform, weak = weak, default = default, check = check_signed, add = add_signed)
}

# Increasing numbers, such as those between the levels of an ordered response. start: function(response, family);
# labels(response): their names.
in_order <- function(start, labels = between_levels) {
  list(start = start, labels = labels, in_order = TRUE, check = check_sequence, add = add_sequence)
}

# The same in any order.
free_numbers <- function(start, labels = between_levels) {
  list(start = start, labels = labels, in_order = FALSE, check = check_sequence, add = add_sequence)
}

between_levels <- function(response) {
  levels <- response$levels
  paste(levels[-length(levels)], levels[-1L], sep = "|")
}

# ---- checks, when the family is made ----

check_positive <- function(parameter, value, name) {
  as_parameter(
    value, name, zero_ok = parameter$zero_ok, variance = parameter$variance, sd = parameter$sd, what = "family"
  )
}

check_in_interval <- function(parameter, value, name) as_share(value, name, parameter$transform)

check_signed <- function(parameter, value, name) signed_parameter(value, name)

# What the user gave for such a number -> list(value, learned, prior); of a prior the value is NULL.
signed_parameter <- function(x, name) {
  if (is_normal(x) && is.numeric(x$sd) && is.finite(x$sd)) return(list(learned = TRUE, prior = unclass(x)))
  value <- if (is_fixed(x) || is_learned(x)) x$value else x
  if (is.numeric(value) && length(value) == 1L && is.finite(value)) {
    return(list(value = as.numeric(value), learned = !is_fixed(x), prior = NULL))
  }
  stop_galvi("family", sprintf(
    "`%s` must be a number to start from, fixed() of a number, or normal() with a number as sd, not %s.", name,
    if (is_value(x)) format(x) else describe(x)
  ))
}

check_sequence <- function(parameter, value, name) {
  values <- plain_numbers(value)
  if (!is.numeric(values) || !length(values) || !all(is.finite(values))) {
    stop_galvi("family", sprintf(
      "`%s` must be %snumbers as starting values, or fixed() of such numbers, not %s.", name,
      if (parameter$in_order) "increasing " else "", if (is_value(value)) format(value) else describe(value)
    ))
  }
  if (parameter$in_order && any(diff(values) <= 0)) {
    at <- which(diff(values) <= 0)[1L]
    stop_galvi("family", sprintf(
      "`%s` must increase: %s is followed by %s.", name, format(values[at]), format(values[at + 1L])
    ))
  }
}

# ---- rows of the table ----

#' The family's part of the model: the likelihood as the core reads it. Its parameters are added to the registry.
#'
#' @param held Are all hyperparameters fixed? Then those that were not given are fixed at their defaults.
#' @param predicted Names of the parameters that have linear predictors, beside that of the response.
#' @noRd
family_likelihood <- function(family, response, registry, held = FALSE, predicted = character()) {
  if (is_mixed(family)) return(mixed_likelihood(family, response, registry, held))
  type <- family_type(family)
  if (length(predicted)) {
    key <- paste(predicted, collapse = " ")
    type$links[] <- predicted_likelihoods(family)[key]
    type$censored[] <- type$censored_with[key]
    type$parameters[unlist(lapply(type$dpars[predicted], `[[`, "replaces"))] <- NULL
  }
  links <- if (is.null(response$survival)) type$links else type$censored
  hyper <- lapply(stats::setNames(nm = names(type$parameters)), function(name) {
    type$parameters[[name]]$add(type$parameters[[name]], name, family, response, registry, held)
  })
  c(list(
    type = links[[family$link]], hyper = hyper,
    constants = c(
      type$constants(response$levels, family), type$response_constants(response, family),
      survival_constants(response$survival), if (!is.null(response$known)) list(noisy = 1)
    )
  ), if (isTRUE(response$truncated)) list(truncated = TRUE),
  if (is_custom(family)) list(functions = type$functions(response$y, predicted)))
}

add_positive <- function(parameter, name, family, response, registry, held) {
  given <- family$parameters[[name]]
  if (is.null(given) && (held || is_value(parameter$default))) given <- parameter$default
  range <- data_range(parameter, response)
  weights <- weight_range(family, response)^parameter$per_weight
  range <- list(
    start = range$start * weights[["common"]], lower = range$lower * min(weights), upper = range$upper * max(weights)
  )
  # calibrations have so little noise; processes and groups would lose their digits
  if (parameter$variance && columns_alone(response)) range$lower <- 1e-4 * range$lower
  value <- as_parameter(
    given, name, range$start, zero_ok = parameter$zero_ok, variance = parameter$variance, sd = parameter$sd,
    what = "family"
  )
  registry$add(
    family$family, name, value, range$lower, range$upper, family = parameter$also, sd = parameter$sd,
    weak = if (parameter$variance || parameter$sd) {
      weak_of_noise(range$start, if (parameter$variance) "root" else "sd", has_known_noise(response))
    } else if (!is.null(parameter$weak_sd)) unclass(log_normal(log(range$start), parameter$weak_sd))
  )
}

data_range <- function(parameter, response) {
  weights <- row_counts(response$weights)
  parameter$range(response$modelled, weights, relative(response$exposure, weights))
}

#' What the offset multiplies the mean of each row by, but for a common factor; 1 where it does not
#'
#' Rows of weight zero count nowhere, and have at most the largest exposure of the others.
#' @noRd
exposures <- function(family, offset, weights) {
  if (link_has(family, "rates")) exp(pmin(offset - max(offset[weights > 0]), 0)) else one_each(offset)
}

# Exposures whose mean is 1.
relative <- function(exposure, weights) exposure / weighted_mean(exposure, weights)

# Are fixed effects the only terms?
columns_alone <- function(design) !is.null(design$parts) && !length(design$parts$specs)

# Have the rows variances that are known, by standard errors or as equalto()?
has_known_noise <- function(design) {
  held <- function(spec) is_fixed(spec$settings$variance) && length(spec$known$levels) >= length(design$y)
  any(design$known[, "variance"] > 0) || any(vapply(design$parts$specs, held, NA))
}

add_in_interval <- function(parameter, name, family, response, registry, held) {
  given <- family$parameters[[name]]
  if (is.null(given)) given <- parameter$default
  value <- as_share(given, name, parameter$transform)
  registry$add(
    family$family, name, value, parameter$lower, parameter$upper, parameter$transform, family = character()
  )
}

add_signed <- function(parameter, name, family, response, registry, held) {
  given <- family$parameters[[name]]
  if (is.null(given) && held) given <- parameter$default
  range <- data_range(parameter, response)
  value <- signed_parameter(if (is.null(given)) range$start else given, name)
  if (is.null(value$value)) value$value <- range$start
  registry$add(
    family$family, name, value, range$lower, range$upper, parameter$transform, family = character(),
    weak = unclass(parameter$weak), signed = TRUE
  )
}

# Numbers in order are learned as distances from the previous one, but for the first.
add_sequence <- function(parameter, name, family, response, registry, held) {
  given <- family$parameters[[name]]
  labels <- parameter$labels(response)
  count <- length(labels)
  values <- if (is.null(given)) parameter$start(response, family) else plain_numbers(given)
  if (length(values) != count) {
    levels <- response$levels
    stop_galvi("family", sprintf(
      "`%s` of the %s family must be %d number%s%s, not %d.", name, family$family, count, if (count > 1L) "s" else "",
      if (length(levels)) {
        sprintf(" for the %d levels of the response (%s)", length(levels), quote_names(levels, "\"", 6L))
      } else "", length(values)
    ))
  }
  vapply(seq_len(count), function(j) {
    value <- list(value = values[j], learned = !is_fixed(given), prior = NULL)
    if (j > 1L && parameter$in_order) {
      return(registry$add(family$family, labels[j], value, 1e-6, 1e3, "above", family = name))
    }
    registry$add(family$family, labels[j], value, -1e3, 1e3, "identity", family = name)
  }, 1L)
}

# fixed(x) -> x, x -> x
plain_numbers <- function(value) if (is_fixed(value)) value$value else value

has_held_thresholds <- function(family) is_fixed(family$parameters$thresholds)

# ---- scales of the predictor ----
# scale(y, offset, weights) -> list(centre, spread). y: the response, less the offset where eta has its units.

units_scale <- function(y, offset, weights) {
  list(centre = weighted_median(y, weights), spread = sqrt(response_variance(y, weights)))
}

# Outliers count as little as any other value.
robust_scale <- function(y, offset, weights) {
  list(centre = weighted_median(y, weights), spread = robust_spread(y, weights))
}

# Around the mean direction. A constant has the prior sd of angles that are uniform on the circle, pi / sqrt(3).
angle_scale <- function(y, offset, weights) {
  list(centre = atan2(sum(weights * sin(y)), sum(weights * cos(y))), spread = pi / sqrt(3) / 10)
}

# exp(eta) is the mean of y.
rate_scale <- function(y, offset, weights) {
  mean <- weighted_mean(y / exp(offset), weights)
  list(centre = if (is.finite(mean) && mean > 0) log(mean) else 0, spread = 1)
}

# log(1 + exp(eta)) is the mean of y. The spread is that at which the logarithm of the mean changes by one: 1 for small
# means and the mean itself for large ones.
softplus_scale <- function(y, offset, weights) {
  mean <- weighted_mean(y, weights)
  if (!(is.finite(mean) && mean > 0)) return(list(centre = 0, spread = 1))
  list(centre = inverse_softplus(log(mean)) - weighted_mean(offset, weights), spread = mean / -expm1(-mean))
}

# exp(eta) is the mean of y^2.
volatility_scale <- function(y, offset, weights) rate_scale(y^2, offset, weights)

# ---- starting values from the data ----
# y: the response; proportions for counts of trials. exposure: relative(), by which moments are those about the means of
# a model that has an offset and no terms. Half of the variance is attributed to the noise, half to the latent function.
# Ranges are wide on both sides.

row_means <- function(y, weights, exposure) weighted_mean(y, weights) * exposure

variance_about <- function(y, weights, exposure) response_variance(y, weights, row_means(y, weights, exposure))

noise_variance <- function(y, weights, exposure) {
  total <- variance_about(y, weights, exposure)
  list(start = total / 2, lower = 1e-8 * total, upper = 1e2 * total)
}

spread_start <- function(y, weights, exposure) {
  spread <- robust_spread(y, weights)
  list(start = spread / sqrt(2), lower = 1e-4 * spread, upper = 1e2 * spread)
}

# Half of the variance is attributed to the noise, which is as skewed as the response, but at least a little and not
# more than possible: beta^3 is half the third moment, and sigma^2 the variance without beta^2.
exgaussian_start <- function(y, weights, exposure) {
  skewness <- clamp(weighted_skewness(y, weights), 0.1, 1.6)
  sd <- sqrt(response_variance(y, weights) / 2)
  beta <- sd * (skewness / 2)^(1 / 3)
  around <- function(start) list(start = start, lower = 1e-4 * sd, upper = 1e2 * sd)
  list(sigma = around(sqrt(sd^2 - beta^2)), beta = around(beta))
}

sd_start <- function(y, weights, exposure) {
  sd <- sqrt(response_variance(y, weights))
  list(start = sd / sqrt(2), lower = 1e-4 * sd, upper = 1e2 * sd)
}

# With delta = alpha / sqrt(1 + alpha^2) and m = delta sqrt(2 / pi) the skewness is (4 - pi) / 2 (m^2 / (1 -
# m^2))^1.5. The slope of the likelihood vanishes at alpha = 0.
skewness_start <- function(y, weights, exposure) {
  skewness <- weighted_skewness(y, weights)
  ratio <- (2 * clamp(abs(skewness), 0.05, 0.9) / (4 - pi))^(2 / 3)
  delta <- sqrt(pi / 2 * ratio / (1 + ratio))
  alpha <- if (skewness < 0) -delta else delta
  list(start = alpha / sqrt(1 - delta^2), lower = -50, upper = 50)
}

weighted_skewness <- function(y, weights) {
  v <- weighted_variance(y, weights)
  if (v > 0) weighted_mean(((y - weighted_mean(y, weights)) / sqrt(v))^3, weights) else 0
}

df_start <- function(y, weights, exposure) list(start = 4, lower = 0.1, upper = 1e3)

# var(log y) = trigamma(shape), which is about 1 / shape + 1 / (2 shape^2).
shape_start <- function(y, weights, exposure) {
  v <- response_variance(log(y / exposure), weights) / 2
  list(start = clamp((1 + sqrt(1 + 2 * v)) / (2 * v), 1e-2, 1e3), lower = 1e-3, upper = max(1e6, 1e6 / v))
}

# Half of the variance of log y is attributed to sigma Z, or to a logistic or Gumbel variable divided by the shape.
log_spread_start <- function(y, weights, exposure) {
  sigma <- sqrt(response_variance(log(y / exposure), weights) / 2)
  list(start = clamp(sigma, 1e-2, 10), lower = clamp(1e-5 * sigma, 1e-6, 1e-4), upper = 1e2)
}

# Half of -2 log R, R the mean resultant length, is attributed to the noise: its own is sqrt(R), and the concentration
# about R (2 - R^2) / (1 - R^2).
concentration_start <- function(y, weights, exposure) {
  r <- sqrt(sqrt(sum(weights * cos(y))^2 + sum(weights * sin(y))^2) / sum(weights))
  list(start = clamp(r * (2 - r^2) / (1 - r^2), 0.5, 1e3), lower = 1e-3, upper = 1e6)
}

loglogistic_start <- function(y, weights, exposure) shape_of_spread(pi / sqrt(3), y, weights, exposure)

weibull_start <- function(y, weights, exposure) shape_of_spread(pi / sqrt(6), y, weights, exposure)

# An offset multiplies hazards, and times by an unknown power.
weibull_ph_start <- function(y, weights, exposure) weibull_start(y, weights, one_each(y))

shape_of_spread <- function(standard, y, weights, exposure) {
  list(start = clamp(standard / log_spread_start(y, weights, exposure)$start, 0.1, 1e2), lower = 1e-2, upper = 1e4)
}

# var(y) = mean + mean^2 / size; for underdispersed counts the size would be infinite.
size_start <- function(y, weights, exposure) {
  mean <- weighted_mean(y, weights)
  excess <- (variance_about(y, weights, exposure) - mean) / 2
  size <- if (excess > 0) mean^2 * weighted_mean(exposure^2, weights) / excess else Inf
  list(start = clamp(size, 0.1, 100), lower = 1e-3, upper = max(1e5, mean * exposure))
}

# var(y) = mean (1 + phi); for underdispersed counts phi would be 0.
multiple_start <- function(y, weights, exposure) {
  excess <- (variance_about(y, weights, exposure) / weighted_mean(y, weights) - 1) / 2
  known <- is.finite(excess)
  list(start = if (known) clamp(excess, 0.01, 100) else 1, lower = 1e-5, upper = max(1e5, if (known) 20 * excess))
}

# var(y) is approximately mean / nu for large means; for overdispersed small counts nu may be near 0.
nu_start <- function(y, weights, exposure) {
  mean <- weighted_mean(y, weights)
  variance <- variance_about(y, weights, exposure)
  # for small counts that hardly vary the likelihood rises with nu without end
  many <- 30
  start <- 2 * mean / (mean + variance)
  list(
    start = if (is.finite(start)) clamp(start, 0.1, 2) else 1, lower = 1e-3,
    upper = if (mean > many) clamp(2 * mean / variance, 20, 1e3) else 20
  )
}

# var(log y) is approximately dispersion x mean; the unit of the dispersion is the inverse of the response's.
inverse_gaussian_start <- function(y, weights, exposure) {
  size <- exp(clamp(weighted_mean(log(y), weights), -200, 200))
  start <- clamp(response_variance(log(y / exposure), weights) / 2, 1e-3, 10)
  list(start = start / size, lower = 1e-7 / size, upper = 1e4 / size)
}

# var(y) = dispersion mean^power, where the power is between 1 and 2, and here 1.5: the dispersion has the unit of
# y^(2 - power).
tweedie_start <- function(y, weights, exposure) {
  mean <- weighted_mean(y, weights)
  if (mean == 0) return(list(start = 1, lower = 1e-9, upper = 1e9))
  squares <- variance_about(y, weights, exposure) / 2 / (mean^2 * weighted_mean(exposure^1.5, weights))
  list(start = clamp(squares, 1e-6, 1e6) * sqrt(mean), lower = 1e-9 * min(1, mean), upper = 1e9 * max(1, mean))
}

# var(y) = mean (1 - mean) / (1 + precision)
precision_start <- function(y, weights, exposure) {
  mean <- weighted_mean(y, weights)
  noise <- weighted_variance(y, weights) / 2
  list(start = clamp(mean * (1 - mean) / noise - 1, 0.5, 1e3), lower = 1e-3, upper = 1e6)
}

# From the proportions between 0 and 1.
inner_precision_start <- function(y, weights, exposure) {
  inside <- y > 0 & y < 1
  if (!any(inside)) return(list(start = 1, lower = 1e-3, upper = 1e6))
  precision_start(y[inside], weights[inside], exposure[inside])
}

# y: proportions; the numbers of trials are not known here.
binomial_precision_start <- function(y, weights, exposure) list(start = 10, lower = 1e-3, upper = 1e6)

# The starting value from the responses that are not zero.
positive_part <- function(start) {
  function(y, weights, exposure) {
    own <- y > 0 & weights > 0
    if (!any(own)) return(start(one_each(y), weights, one_each(y)))
    start(y[own], weights[own], relative(exposure[own], weights[own]))
  }
}

clamp <- function(x, lower, upper) min(max(x, lower), upper)

# The thresholds for which a model without terms gives the observed proportions of the classes.
threshold_starts <- function(response, family) {
  p <- class_proportions(response)
  family$linkfun(cumsum(p)[-length(p)])
}

# F(threshold) or 1 - F(-threshold) is the proportion of those that stop at a class among those that reach it.
stopping_starts <- function(response, family) {
  p <- class_proportions(response)
  family$linkfun((p / rev(cumsum(rev(p))))[-length(p)])
}

continuing_starts <- function(response, family) {
  p <- class_proportions(response)
  -family$linkfun((1 - p / rev(cumsum(rev(p))))[-length(p)])
}

adjacent_starts <- function(response, family) -diff(log(class_proportions(response)))

class_proportions <- function(response) {
  rows <- class_weights(response$y, response$levels, response$weights)
  rows / sum(rows)
}

# The cuts for which a model without terms gives the observed shares of zeros and ones, a little of each assumed.
cut_starts <- function(response, family) {
  share <- function(end) (sum(response$weights[response$y == end]) + 0.5) / (sum(response$weights) + 1.5)
  stats::qlogis(c(share(0), 1 - share(1)))
}

# ---- options ----

check_quantile <- function(quantile) number_between(quantile, 0, 1, 0.5, "quantile")

# The time at which cumulative hazards are exp(eta); NA for the latest time.
check_reference <- function(reference) {
  if (is.null(reference) || identical(reference, NA)) return(NA_real_)
  if (is.numeric(reference) && length(reference) == 1L && isTRUE(reference > 0 && reference < Inf)) {
    return(as.numeric(reference))
  }
  stop_galvi("family", sprintf(
    "`reference` must be a positive time, or NULL for the latest time in the data, not %s.", describe(reference)
  ))
}

hazard_constants <- function(response, family) {
  range <- response$censoring
  times <- if (is.null(range)) response$y else ifelse(is.finite(range[, "upper"]), range[, "upper"], range[, "lower"])
  latest <- max(times)
  reference <- family$options$reference
  if (is.na(reference)) return(list(reference = latest))
  if (reference < latest) {
    stop_galvi("family", sprintf(
      "`reference` of weibull(form = \"ph\") must not be before the latest time, %s: it is %s.", format(latest),
      format(reference)
    ))
  }
  list(reference = reference)
}

# A number in an open interval; NA for the default.
number_between <- function(x, lower, upper, default, name) {
  if (identical(x, NA)) return(default)
  if (is.numeric(x) && length(x) == 1L && isTRUE(x > lower && x < upper)) return(as.numeric(x))
  stop_galvi("family", sprintf(
    "`%s` must be a number between %g and %g, not %s; it is not learned.", name, lower, upper, describe(x)
  ))
}

# ---- categorical ----

# NA: no reference. NULL: the first level, as in other packages. Else the name of a level.
check_refcat <- function(refcat) {
  if (is.null(refcat)) return(1L)
  if (is.atomic(refcat) && length(refcat) == 1L) return(if (is.na(refcat)) NA else as.character(refcat))
  stop_galvi("family", sprintf(
    "`refcat` must be the name of a level, or NA for no reference, not %s.", describe(refcat)
  ))
}

# Position of the reference among the levels, NA if there is none.
reference_level <- function(levels, family) {
  refcat <- family$options$refcat
  if (is.na(refcat) || is.integer(refcat)) return(as.integer(refcat))
  at <- match(refcat, levels)
  if (is.na(at)) {
    stop_galvi("family", sprintf(
      "`refcat` must be a level of the response, which are %s, not \"%s\".%s", quote_names(levels, "\""),
      refcat, did_you_mean(refcat, levels)
    ))
  }
  at
}

categorical_latents <- function(levels, family) {
  reference <- reference_level(levels, family)
  if (is.na(reference)) levels else levels[-reference]
}

categorical_constants <- function(levels, family) {
  reference <- reference_level(levels, family)
  list(classes = length(levels), reference = if (is.na(reference)) -1 else reference - 1)
}
