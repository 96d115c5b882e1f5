# Responses of class "Surv", which package survival makes: times of which some are known to lie in a range
# only. They are read by their attributes, so that survival need not be installed to use them.

#' A survival object as family_response() wants it
#'
#' @return list(y: times, of an interval its middle; censoring: N x 3, each row's response lies in (lower,
#'   upper], which are equal where it was observed, and was seen because it exceeds entry; survival: type).
#' @noRd
survival_response <- function(y, weights, name, levels, family) {
  type <- attr(y, "type")
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
    response_error(name, sprintf("must have intervals whose left end is the smaller one; row %d has (%s, %s]",
      bad[1L], format(censoring[bad[1L], 1L]), format(censoring[bad[1L], 2L])))
  }
  late <- which(censoring[, "entry"] >= censoring[, "lower"] & is.finite(censoring[, "entry"]) &
    type == "counting")
  if (length(late)) {
    response_error(name, sprintf("must have times after the entry; row %d enters at %s and ends at %s",
      late[1L], format(censoring[late[1L], "entry"]), format(censoring[late[1L], "lower"])))
  }
  if (!positive) return(invisible())
  ends <- if (type == "left" || type == "interval") censoring[, "upper"] else censoring[, "lower"]
  check_response(ends, ends > 0, name, paste("must have positive times for", the_family(family)))
  starts <- if (type == "counting") censoring[, "entry"] else censoring[, "lower"]
  check_response(starts, starts >= 0, name, paste("must have no negative time for", the_family(family)))
}

# Where all are beyond what was seen nothing tells how far.
check_some_event <- function(censoring, weights, name) {
  own <- censoring[weights > 0, , drop = FALSE]
  if (nrow(own) < 2L) return(invisible())
  side <- if (all(own[, "upper"] == Inf)) "right" else if (all(own[, "lower"] == own[, "entry"])) "left"
  if (is.null(side)) return(invisible())
  response_error(name, sprintf("is %s-censored in every row: no event tells how long times are", side))
}

#' What the core's likelihood must know of the rows: are some censored or truncated, some left-censored or in
#' an interval, some truncated?
#' @noRd
survival_constants <- function(type) {
  if (is.null(type)) return(list())
  list(censored = 1, bounded = as.numeric(type %in% c("left", "interval")),
    truncated = as.numeric(type == "counting"))
}

survival_error <- function(name, family) {
  able <- Filter(function(family) length(family_types()[[family]]$censored), family_words())
  response_error(name, sprintf(paste(
    "is a survival object, which %s does not take: use %s. For a hazard that changes in time,",
    "survival_pieces() splits the rows so that family = poisson() fits it"
  ), the_family(family), paste0(able, "()", collapse = ", ")))
}

#' Is the fit's response a survival object?
#' @noRd
is_censored <- function(fit) !is.null(fit$design$response$survival)

#' Have rows with this entry been seen because they exceed it?
#' @noRd
is_truncated <- function(fit, entry) entry > if (link_has(fit$family, "same_units")) -Inf else 0

#' Families for survival times
#'
#' The response is a time, or a `survival::Surv()` object of type right, left, interval or counting, of which
#' the first three say between which times an event happened and the last when its row came under
#' observation. `gaussian()` takes such responses too: the tobit model.
#'
#' All but `weibull(form = "ph")` are accelerated failure times: y = exp(eta) T with a T > 0 whose distribution does not depend on eta,
#' so that exp of a coefficient is the factor by which times grow. With x = shape (log y - eta) and z = (log y
#' - eta) / sigma:
#'
#' | family | P(Y > y given eta) | exp(eta) is | mean |
#' |:--|:--|:--|:--|
#' | `weibull` | exp(-exp(x)) | the scale, where P = 1/e | exp(eta) gamma(1 + 1 / shape) |
#' | `exponential` | the same with shape 1 | the mean | exp(eta) |
#' | `loglogistic` | 1 / (1 + exp(x)) | the median | exp(eta) (pi / shape) / sin(pi / shape), shape > 1 |
#' | `lognormal` | Phi(-z) | the median | exp(eta + sigma^2 / 2) |
#'
#' `survival::survreg()` has the same eta, with scale = 1 / shape or sigma. As a model of proportional hazards
#' the Weibull's coefficients are -shape times these.
#'
#' With g(x) = log(1 - exp(-exp(x))), a row's log density is
#' * `weibull`: log(shape) - log(y) + x - exp(x) of an event at y, -exp(x) of a row that is right-censored
#'   there, g(x) of one that is left-censored, and -exp(x_l) + g(log(u^shape - l^shape) - shape eta) of an
#'   event in (l, u];
#' * `loglogistic`: log(shape) - log(y) + x - 2 log(1 + exp(x)), -log(1 + exp(x)), -log(1 + exp(-x));
#' * `lognormal`, `gaussian`: the normal density, log Phi(-z), log Phi(z), log(Phi(z_u) - Phi(z_l)).
#'
#' A row of a counting process, `Surv(start, stop, event)`, has the log density at `stop` less the log
#' probability of surviving `start`. All these are concave in eta, so that the bound has one optimum, but for
#' rows of `loglogistic()` with a start after 0: these fits have no certificate.
#'
#' @section The Weibull with proportional hazards:
#' `weibull(form = "ph")` has P(Y > y given eta) = exp(-exp(eta) (y / reference)^shape): the coefficients are
#' logarithms of hazard ratios, and exp(eta) is the cumulative hazard at `reference`, the latest time of the data
#' unless you give another. With one shape for all it is the same model as `weibull()`, whose coefficients are these
#' divided by -shape; priors differ. Where the shape has a linear predictor, `list(Surv(time, status) ~ x, shape ~ x)`,
#' only this form has an evidence bound. As accelerated failure times the mean of exp(-shape eta), of a log-normal
#' shape, is infinite, and so is that of (y / reference)^shape for a y beyond the reference. The prior of the
#' intercept is about the hazard until the reference, and with a predicted shape the model itself depends a little on
#' it: give `reference` where fits of different data are compared. It is kept in the fit; predictions at times beyond
#' it are probabilities, which exist.
#'
#' @section Details:
#' A mean that is infinite, that of `loglogistic()` with a shape of 1 or less, is `Inf` with a warning;
#' `predict(type = "quantile")` has the median. `predict(type = "survival", times = )` gives survival
#' probabilities and `plot(fit, "survival")` draws them. Deviance, response and Pearson residuals are not
#' defined for censored rows; `residuals(type = "quantile")` draws between the bounds.
#'
#' @param form `"aft"`, accelerated failure times, or `"ph"`, proportional hazards.
#' @param reference For `form = "ph"`: the time at which exp(eta) is the cumulative hazard; NULL for the latest of the
#'   data. Rows that are not in memory ([row_source()]) need it.
#' @param shape,sigma Positive: a number is where learning starts, [fixed()] fixes it, a prior such as
#'   [log_normal()] makes the estimate a posterior mode. Not given: learned, from a start read off the data.
#' @return An object of class `galvi_family`, see [galvi_family()].
#' @seealso [survival_pieces()] for hazards that change in time (Cox's model).
#' @references Kalbfleisch, J. D. and Prentice, R. L. (2002). The Statistical Analysis of Failure Time Data.
#'   Wiley.
#' @examplesIf requireNamespace("survival", quietly = TRUE)
#' fit <- galvi(survival::Surv(time, status) ~ sex + age, data = survival::lung, family = weibull())
#' coef(fit)
#' fit$hyper
#' predict(fit, data.frame(sex = 1:2, age = 60), type = "survival", times = c(180, 365))
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
