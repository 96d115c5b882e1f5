# Responses of class "Surv", made by package survival: times, of which some are known only to lie in an interval.
# They are read by their attributes, so survival need not be installed to use them.

#' A survival object as family_response() takes it
#'
#' @return list(y: times, midpoints of intervals; censoring: N x 3, where each response lies in (lower, upper] and
#'   exceeds entry, with lower = upper if it was observed; survival: type).
#' @noRd
survival_response <- function(y, weights, name, levels, family) {
  type <- attr(y, "type")
  if (isTRUE(type %in% c("mright", "mcounting"))) several_events_error(name, attr(y, "states"))
  readable <- c("right", "left", "interval", "counting")
  if (!isTRUE(type %in% readable)) {
    response_error(name, sprintf(
      "is a survival object of type %s: those of type %s can be read, not several states", describe(type),
      quote_names(readable, "\"")
    ))
  }
  numbers <- unclass(y)
  status <- numbers[, ncol(numbers)]
  first <- as.numeric(numbers[, 1L])
  last <- as.numeric(numbers[, ncol(numbers) - 1L])
  positive <- !link_has(family, "same_units")
  lowest <- if (positive) 0 else -Inf
  censoring <- switch(type,
    right = cbind(first, ifelse(status == 1, first, Inf), lowest),
    left = cbind(ifelse(status == 1, first, lowest), first, lowest),
    # 0: right-censored, 1: observed, 2: left-censored, 3: in an interval
    interval = cbind(
      ifelse(status == 2, lowest, first),
      ifelse(status == 0, Inf, ifelse(status == 3, last, first)), lowest
    ),
    counting = cbind(last, ifelse(status == 1, last, Inf), first)
  )
  dimnames(censoring) <- list(NULL, c("lower", "upper", "entry"))
  check_times(numbers, censoring, type, positive, name, family)
  if (is.null(levels)) check_some_event(censoring, weights, name)
  in_interval <- is.finite(censoring[, 1L]) & is.finite(censoring[, 2L]) & status == 3
  time <- if (type == "counting") last else first
  time[in_interval] <- rowMeans(censoring[in_interval, 1:2, drop = FALSE])
  list(y = time, censoring = censoring, survival = type)
}

check_times <- function(numbers, censoring, type, positive, name, family) {
  check_response(numbers[, 1L], is.finite(numbers[, 1L]), name, "must have finite times")
  bad <- which(censoring[, "lower"] > censoring[, "upper"])
  if (length(bad)) {
    response_error(name, sprintf("must have intervals whose left end is the smaller one; row %s has (%s, %s]",
      row_label(bad[1L]), format(censoring[bad[1L], 1L]), format(censoring[bad[1L], 2L])))
  }
  late <- which(censoring[, "entry"] >= censoring[, "lower"] & is.finite(censoring[, "entry"]) &
    type == "counting")
  if (length(late)) {
    response_error(name, sprintf("must have times after the entry; row %s enters at %s and ends at %s",
      row_label(late[1L]), format(censoring[late[1L], "entry"]), format(censoring[late[1L], "lower"])))
  }
  if (!positive) return(invisible())
  ends <- if (type == "left" || type == "interval") censoring[, "upper"] else censoring[, "lower"]
  check_response(ends, ends > 0, name, paste("must have positive times for", the_family(family)))
  starts <- if (type == "counting") censoring[, "entry"] else censoring[, "lower"]
  check_response(starts, starts >= 0, name, paste("must have no negative time for", the_family(family)))
}

# If all rows are censored on the same side, their times are not determined.
check_some_event <- function(censoring, weights, name) {
  own <- censoring[weights > 0, , drop = FALSE]
  if (nrow(own) < 2L) return(invisible())
  side <- if (all(own[, "upper"] == Inf)) "right" else if (all(own[, "lower"] == own[, "entry"])) "left"
  if (is.null(side)) return(invisible())
  response_error(name, sprintf("is %s-censored in every row: no event tells how long times are", side))
}

#' What the core's likelihood must know of the rows: is any censored or truncated, any left- or interval-censored, any
#' truncated?
#' @noRd
survival_constants <- function(type) {
  if (is.null(type)) return(list())
  list(censored = 1, bounded = as.numeric(type %in% c("left", "interval")),
    truncated = as.numeric(type == "counting"))
}

# Also with the family's link?
takes_survival <- function(family) family$link %in% names(family_type(family)$censored)

survival_error <- function(name, family) {
  able <- Filter(function(family) length(family_types[[family]]$censored), family_words)
  response_error(name, sprintf(paste(
    "is a survival object, which %s does not take: use %s, or cox() for a hazard of any form"
  ), family_and_link(family), paste0(able, "()", collapse = ", ")))
}

#' Is the fit's response a survival object?
#' @noRd
is_censored <- function(fit) !is.null(fit$design$response$survival)

#' Are rows with this entry left-truncated?
#' @noRd
is_truncated <- function(fit, entry) entry > if (link_has(fit$family, "same_units")) -Inf else 0

#' Families for survival times
#'
#' Parametric survival models for times that may be right-, left- or interval-censored or left-truncated: Weibull
#' (accelerated failure times or proportional hazards), exponential, log-logistic and log-normal.
#'
#' The response is a positive time, or a `survival::Surv()` object of type right, left, interval or counting. Rows of a
#' counting process, `Surv(start, stop, event)`, are left-truncated at `start`. `gaussian()` takes such responses too
#' (the tobit model).
#'
#' @section Accelerated failure times:
#' All families but `weibull(form = "ph")` are accelerated failure time models: y = exp(eta) T, where the distribution
#' of T > 0 does not depend on eta. The exponential of a coefficient is the factor by which times are multiplied. With
#' x = shape (log y - eta) and z = (log y - eta) / sigma:
#'
#' | family | P(Y > y given eta) | exp(eta) is the | mean |
#' |:--|:--|:--|:--|
#' | `weibull` | exp(-exp(x)) | scale, where P = 1/e | exp(eta) gamma(1 + 1 / shape) |
#' | `exponential` | the same with shape 1 | mean | exp(eta) |
#' | `loglogistic` | 1 / (1 + exp(x)) | median | exp(eta) (pi / shape) / sin(pi / shape), if shape > 1 |
#' | `lognormal` | Phi(-z) | median | exp(eta + sigma^2 / 2) |
#'
#' `survival::survreg()` has the same eta, with scale = 1 / shape or sigma.
#'
#' @section Proportional hazards:
#' `weibull(form = "ph")` has P(Y > y given eta) = exp(-exp(eta) (y / reference)^shape). Coefficients are log hazard
#' ratios, and exp(eta) is the cumulative hazard at `reference`, by default the latest time of the data. With one shape
#' for all rows it is the same model as `weibull()`, whose coefficients are these divided by -shape, with different
#' default priors.
#'
#' With a predicted shape, `list(Surv(time, status) ~ x, shape ~ x)`, only this form has an evidence bound: in the
#' accelerated form the mean of exp(-shape eta) is infinite when the logarithm of the shape is Gaussian. The model then
#' depends on `reference`, so set it where you compare fits of different data. The fit keeps it, and predictions beyond
#' it are possible.
#'
#' [cox()] fits proportional hazards with a baseline hazard of any form.
#'
#' @section Log densities:
#' With g(x) = log(1 - exp(-exp(x))), the log density of an event at y, and the log probabilities of a row that is
#' right- or left-censored at y, are
#' * `weibull`: log(shape) - log(y) + x - exp(x); -exp(x); g(x). For an event in (l, u\] it is
#'   -exp(x_l) + g(log(u^shape - l^shape) - shape eta);
#' * `loglogistic`: log(shape) - log(y) + x - 2 log(1 + exp(x)); -log(1 + exp(x)); -log(1 + exp(-x));
#' * `lognormal`: the logarithm of the normal density of log(y), less log(y); log Phi(-z); log Phi(z). For an event in
#'   (l, u\] it is log(Phi(z_u) - Phi(z_l)).
#'
#' A left-truncated row has its log density less the log probability of surviving its start. All are concave in
#' eta, so the bound has one maximum, except for left-truncated rows of `loglogistic()`.
#'
#' @section Predictions:
#' `predict(type = "survival", times = )` returns survival probabilities, and `plot(fit, "survival")` draws them. Types
#' `"hazard"`, `"cumhaz"` and `"rmst"` are the hazard, the cumulative hazard and the restricted mean survival time.
#' `predict(type = "response")` is the mean; for `loglogistic()` with a shape of 1 or less it is `Inf`, with a warning,
#' and `predict(type = "quantile")` gives the median. Deviance, response and Pearson residuals are not defined for
#' censored rows; `residuals(type = "quantile")` are randomised within the censoring interval.
#'
#' @param shape Shape, a positive number; [fixed()] or a prior as in [galvi_family()]. If it is not given, it is
#'   estimated from a starting value taken from the data.
#' @param sigma Standard deviation of log(y); as `shape`.
#' @param form `"aft"` for accelerated failure times or `"ph"` for proportional hazards.
#' @param reference For `form = "ph"`: the time at which exp(eta) is the cumulative hazard, not before the latest time
#'   of the data; NULL for the latest time. Required for rows that are not in memory ([row_source()]).
#' @return An object of class `galvi_family`, see [galvi_family()].
#' @section Errors:
#' `galvi_error_response` where times are not positive, an interval ends before it begins or all rows are censored on
#' the same side; `galvi_error_family` for invalid parameters.
#' @references
#' Kalbfleisch, J. D. and Prentice, R. L. (2002). *The Statistical Analysis of Failure Time Data*. 2nd edition. Wiley.
#' @family likelihoods
#' @examplesIf requireNamespace("survival", quietly = TRUE)
#' fit <- galvi(survival::Surv(time, status) ~ sex + age, data = survival::lung, family = weibull())
#' exp(coef(fit))
#' fit$hyper[fit$hyper$status == "learned", c("name", "estimate", "lwr", "upr")]
#' predict(fit, data.frame(sex = 1:2, age = 60), type = "survival", times = c(180, 365))
#'
#' # hazard ratios
#' fit <- galvi(survival::Surv(time, status) ~ sex + age, data = survival::lung,
#'   family = weibull(form = "ph"))
#' exp(confint(fit))
#' @name survival-families
#' @aliases survival
NULL

#' @rdname survival-families
#' @export
weibull <- function(shape = 1, form = c("aft", "ph"), reference = NULL) {
  if (first_choice(form, c("aft", "ph"), "form") == "ph") {
    return(own_family("weibull_ph", shape = if (!missing(shape)) shape, reference = reference))
  }
  if (!is.null(reference)) stop_galvi("family", "`reference` goes with form = \"ph\".")
  own_family("weibull", shape = if (!missing(shape)) shape)
}

#' @rdname survival-families
#' @export
loglogistic <- function(shape = 2) own_family("loglogistic", shape = if (!missing(shape)) shape)

#' @rdname survival-families
#' @export
lognormal <- function(sigma = 1) own_family("lognormal", sigma = if (!missing(sigma)) sigma)

# ---- log P(Y > y), entries of family_types ----

gamma_log_upper <- function(y, mean, parameters) {
  stats::pgamma(y, parameters$shape, scale = mean / parameters$shape, lower.tail = FALSE, log.p = TRUE)
}

# Phi(-near) - exp(2 / (phi mean)) Phi(-far), which is phi(near) (R(near) - R(far)) with Mills' ratio R. Far out R(x) is
# 1 / x to a relative error of 1 / x^2; there the first form would lose its digits.
inverse_gaussian_log_upper <- function(y, mean, parameters) {
  z <- 1 / sqrt(parameters$dispersion * y)
  near <- z * (y / mean - 1)
  far <- z * (y / mean + 1)
  first <- stats::pnorm(near, lower.tail = FALSE, log.p = TRUE)
  second <- 2 / (parameters$dispersion * mean) + stats::pnorm(far, lower.tail = FALSE, log.p = TRUE)
  outside <- pmax(near, 100)  # ifelse() computes this for all
  ifelse(
    near > 100, stats::dnorm(near, log = TRUE) + log(2 * z / outside / far),
    first + log(-expm1(pmin(second - first, 0)))
  )
}

# Events that are a factor, of which survival makes one state or several.
several_events_error <- function(name, states) {
  response_error(name, if (length(states) == 1L) {
    sprintf("has a factor of events: write the event as a condition, as in Surv(time, status == \"%s\")", states)
  } else {
    sprintf(paste(
      "has several kinds of events (%s): fit the cause-specific hazard of each by itself, with the others censored, as",
      "in Surv(time, status == \"%s\")"
    ), quote_names(states, "\"", 6L), states[1L])
  })
}
