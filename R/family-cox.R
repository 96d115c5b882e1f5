# Cox's model: a hazard that is constant within intervals of time, fitted as a Poisson model of pieces of follow-up
# (R/model-cox.R). The family keeps how the intervals are made; it has no entry in `family_types`, since its response
# becomes counts before a likelihood sees it.

#' Cox's proportional hazards model
#'
#' `family = cox()` in [galvi()] is the proportional hazards model: log hazards are a baseline, which depends on time
#' alone, plus the linear predictor. Strata, late entry, time-varying covariates and effects, frailties and every other
#' term of galvi are available.
#'
#' @details
#' The response is `survival::Surv(time, status)` or `survival::Surv(start, stop, status)`: right-censored times, or
#' pieces of follow-up with late entry or covariates that change in time. The hazard of row i at time t is
#'
#'     h_i(t) = exp(level + baseline(t) + eta_i(t))
#'
#' where the baseline is constant within intervals. The coefficients of eta are log hazard ratios: `exp(coef(fit))` are
#' hazard ratios.
#'
#' **Intervals.** With `breaks` a number (20 by default), intervals have about equally many events; a vector has the
#' times at which intervals end. Each row is at risk in each interval for the time that it spends there. With `breaks =
#' "events"` there is one interval for each event time, and each row at risk at this time counts with exposure 1, as in
#' Cox's partial likelihood. With `baseline = "iid", variance = fixed(1e6)` log hazards then have a flat prior, and the
#' posterior of the coefficients is that of Breslow's partial likelihood, up to the Gaussian approximation: the
#' estimates are those of `survival::coxph(ties = "breslow")` where the maximum of the partial likelihood is its mean.
#'
#' With 20 intervals coefficients were within .25 standard errors of those of `survival::coxph()` in data of survival and
#' MASS, with 60 within .15, and with `breaks = "events"` within .07: give more intervals where that matters.
#'
#' The number of intervals matters most where covariates change in time, `Surv(start, stop, status)`: the hazard of a row is
#' compared with those of other rows over the whole interval, not at the moment of an event. If covariates change
#' shortly before events, or at times that divide intervals, use `breaks = "events"`.
#'
#' **Baseline.** Log hazards of neighbouring intervals are alike in a random walk, [rw1()] or [rw2()], or independent
#' ([iid()]). The variance is 1 unless another is given. If it is estimated, it can become 0, a constant hazard, which
#' changes the coefficients when the hazard is not constant.
#'
#' **Strata.** `strata(g)` (from package survival, which need not be attached) gives each level of g a baseline and a
#' level of its own, with one variance for all; `strata(g1, g2)` the combinations of levels. Effects of strata and the
#' level of the hazard are part of the baseline: `coef()` does not have them. Many small strata, such as matched pairs,
#' say little about their baselines, so that the variance matters: `cox("events", baseline = "iid", variance =
#' fixed(1e6))` compares rows of the same stratum alone, as `survival::coxph()` does.
#'
#' **Conditional logistic regression** of matched cases and controls is Cox's model of equal times,
#' `Surv(rep(1, length(case)), case) ~ x + strata(set)`, as in `survival::clogit()`; several cases in a set count as
#' ties by Breslow's method.
#'
#' **Effects that change in time.** `tve(x)` is `x` plus a random walk of first order that multiplies x, so that the
#' effect in interval k is coefficient + walk_k, where the walk sums to zero over the intervals. Its variance is
#' estimated: near zero, hazards are proportional. A factor x has a walk for each level.
#'
#' **Frailties** are random effects, `(1 | id)`; `frailty(id)` and `cluster(id)` are errors that say so.
#'
#' **Competing risks.** Cause-specific hazards are separate fits, each with the other causes censored, as in
#' `Surv(time, status == "relapse")`. A factor as status is an error that says so. Interval-censored times are refused,
#' since it is not known who was at risk when an event happened; [weibull()] and the other parametric families take
#' them.
#'
#' @section Predictions:
#' The types of [predict()][predict.galvi] for these fits are
#' * `"response"`: the hazard ratio, the posterior mean of exp(link);
#' * `"link"`: its logarithm. The reference is a row of the same stratum with covariates at their means over the data.
#'   The parts of `tve()` that change in time are not included;
#' * `"terms"`: the link by term. Columns have mean zero over the rows of the data, smooths over the intervals in which
#'   rows are at risk, so that long times count more;
#' * `"survival"`, `"cumhaz"`, `"hazard"`: P(T > t), cumulative hazard and hazard at `times`, one column for each;
#' * `"rmst"`: the restricted mean survival time, the area below the survival curve up to each of `times`;
#' * `"expected"`: the expected number of events of each row, its cumulative hazard over its own follow-up, for which
#'   `newdata` needs the response.
#'
#' `"lp"` and `"risk"`, the words of `survival::predict.coxph()`, mean `"link"` and `"response"`; the link of `coxph()`
#' is against the means of its stratum. Curves are posterior means; `interval = "credible"` adds limits. They are computed from 2,000 joint draws of
#' the log hazards of all intervals, always the same, so that results can be reproduced. The hazard of the last
#' interval goes on beyond the last time. With `breaks = "events"` the cumulative hazard is a step function, as
#' Breslow's, and the hazard is the step divided by the time since the event before it (NA after the last event).
#'
#' Intervals of curves are too wide where each interval has one event and a flat prior, as with `cox("events", baseline =
#' "iid", variance = fixed(1e6))`: log hazards are drawn from Gaussian distributions, so that a hazard with one event is
#' log-normal, and its standard deviation is 1.31 times that of the gamma distribution that it has. Intervals of survival
#' probabilities in `survival::lung` (112 events of men) were 18 to 32 % wider than exact ones; coefficients and the
#' curves themselves are not concerned. With 8 events in an interval the factor is 1.03.
#'
#' In place of `survival::basehaz()` use `"cumhaz"` for a row with the covariates of interest, and in place of
#' `survival::cox.zph()` a fit with `tve(x)`: the variance of its walk is near zero where hazards are proportional.
#'
#' The fit is one of counts in pieces of follow-up, of which its elements `nobs`, `data`, `model` and `posterior` are.
#' `residuals(type = "martingale")` and `"deviance"` are those of `survival::residuals.coxph()`, with posterior mean
#' cumulative hazards. `nobs()`, `weights()`, `loo()`, `kfold()`, `log_lik()` and row names are those of the rows of
#' the data. `loo()` and `kfold()` leave out a row with all of its intervals; where a subject has several rows, give
#' `group` (in `loo()` with `joint = TRUE`). Their densities are those of the survival time (of weight times the log density), which can be compared
#' with those of the parametric [survival-families]; not so with `breaks = "events"`, where hazards are steps. With
#' independent hazards at event times a new event has no density, so that `loo()` and `kfold()` are errors.
#'
#' @param breaks A whole number of intervals with about equally many events in each; increasing positive times at which
#'   intervals end (a last interval follows the last of them); or `"events"`.
#' @param baseline The prior of the log hazards: `"rw1"` (the default), `"rw2"` or `"iid"`.
#' @param variance Its variance: [fixed()], by default `fixed(1)`; a number is a starting value, and a prior of
#'   [priors] makes the estimate a posterior mode. The name of the hyperparameter is `baseline.variance`. For `tve()`
#'   the variance of its walk, estimated unless it is fixed.
#' @param x A variable whose effect changes in time: a number or a factor.
#' @return `cox()`: an object of class `galvi_family`. `tve()` is only valid inside a formula.
#' @section Errors:
#' `galvi_error_family` for invalid arguments; `galvi_error_response` for other responses, for interval- or
#' left-censored ones, for a factor as status, and where there is no event; `galvi_error_formula` for terms of package
#' survival that are written in another way here, and for [tve()] with another family.
#' @references
#' Cox, D. R. (1972). Regression models and life-tables. *Journal of the Royal Statistical Society B* 34, 187-220.
#'
#' Breslow, N. (1974). Covariance analysis of censored survival data. *Biometrics* 30, 89-99.
#'
#' Holford, T. R. (1980). The analysis of rates and of survivorship using log-linear models. *Biometrics* 36, 299-305.
#' @seealso [survival-families] for parametric models, [survival_pieces()] for the rows of the Poisson model.
#' @family likelihoods
#' @examplesIf requireNamespace("survival", quietly = TRUE)
#' lung <- survival::lung
#' formula <- survival::Surv(time, status) ~ age + ph.karno + strata(sex)
#' fit <- galvi(formula, data = lung, family = cox())
#' fit
#' # hazard ratios
#' exp(cbind(coef(fit), confint(fit)))
#' predict(fit, data.frame(age = 60, ph.karno = 80, sex = 1:2), type = "survival", times = c(180, 365))
#'
#' # an effect that changes in time, and a frailty
#' galvi(survival::Surv(time, status) ~ trt + tve(karno), data = survival::veteran, family = cox())
#' galvi(survival::Surv(time, status) ~ age + sex + (1 | id), data = survival::kidney, family = cox())
#' @export
cox <- function(breaks = 20, baseline = c("rw1", "rw2", "iid"), variance = fixed(1)) {
  new_family("cox", "log", options = list(
    breaks = check_breaks(breaks), baseline = first_choice(baseline, c("rw1", "rw2", "iid"), "baseline"),
    variance = check_baseline_variance(variance)
  ), class = "galvi_cox_family")
}

cox_with_link <- function(link) {
  if (is.null(link) || identical(link, "log") || identical(link, "identity")) return(cox())
  stop_galvi("family", sprintf("cox() has no other link than the log, not %s.", describe(link)))
}

#' cox (log link, 20 intervals, rw1 baseline)
#' @noRd
cox_label <- function(fit) {
  known <- fit$design$intervals
  count <- length(known$labels)
  sprintf("cox (log link, %d %s%s, %s baseline)", count, if (known$events) "event time" else "interval",
    if (count == 1L) "" else "s", fit$family$options$baseline)
}

is_cox <- function(family) inherits(family, "galvi_cox_family")

#' @export
own_family_type.galvi_cox_family <- function(family) {
  list(
    links = c(log = "poisson"), censored = c(log = "poisson"), scale = hazard_scale,
    options = list(
      breaks = check_breaks, baseline = function(x) first_choice(x, c("rw1", "rw2", "iid"), "baseline"),
      variance = check_baseline_variance
    )
  )
}

#' Events over exposures
#' @noRd
hazard_scale <- function(y, offset, weights) {
  rate <- sum(y) / sum(exp(offset))
  list(centre = if (is.finite(rate) && rate > 0) log(rate) else 0, spread = 1)
}

check_breaks <- function(breaks) {
  if (identical(breaks, "events")) return(breaks)
  usable <- is.numeric(breaks) && length(breaks) && all(is.finite(breaks))
  if (usable && all(breaks > 0) && all(diff(breaks) > 0)) return(as.numeric(breaks))
  stop_galvi("family", sprintf(paste(
    "`breaks` must be a number of intervals, increasing positive times at which intervals end, or \"events\" for one",
    "at each event, not %s."
  ), describe(breaks)))
}

check_baseline_variance <- function(variance) {
  as_parameter(variance, "variance", what = "family")
  variance
}

# ---- the response ----

#' A survival object as times: list(start, stop, event), start -Inf where all were there from the beginning
#' @param weights,status The weights of the rows, and the expression that they were given by.
#' @noRd
cox_times <- function(y, name, weights = NULL, status = NULL) {
  # the status of mgcv's cox.ph()
  if (!inherits(y, "Surv") && !is.null(status) && setequal(weights, 0:1)) {
    response_error(name, sprintf(paste(
      "must be a survival object for cox(): in place of `weights = %s`, as for mgcv's cox.ph(), write",
      "survival::Surv(%s, %s) on the left side of the formula"
    ), deparse_one(status), name, deparse_one(status)))
  }
  if (!inherits(y, "Surv")) {
    response_error(name, sprintf(paste(
      "must be a survival object for cox(), such as survival::Surv(time, status), not %s"
    ), describe(y)))
  }
  type <- attr(y, "type")
  if (isTRUE(type %in% c("mright", "mcounting", "mstate"))) {
    several_events_error(name, attr(y, "states"))
  }
  if (!isTRUE(type %in% c("right", "counting"))) {
    # status 0 or 1, of cens(), is that of right-censored times
    right <- identical(type, "interval") && all(unclass(y)[, "status"] %in% c(0, 1, NA))
    response_error(name, if (right) paste(
      "has right-censored times alone: for cox() write survival::Surv(time, status) on the left side of the formula,",
      "where status is 1 for an event"
    ) else sprintf(paste(
      "is a survival object of type %s: cox() compares an event with the rows that were at risk at its time, which",
      "must be known. weibull(), exponential(), loglogistic() and lognormal() take intervals"
    ), describe(type)))
  }
  numbers <- unclass(y)
  last <- ncol(numbers)
  start <- if (type == "counting") as.numeric(numbers[, 1L]) else rep(-Inf, nrow(numbers))
  stop <- as.numeric(numbers[, last - 1L])
  event <- as.numeric(numbers[, last])
  check_response(stop, is.finite(stop), name, "must have finite times")
  if (type == "right") check_response(stop, stop >= 0, name, "must have no negative time") else {
    late <- which(!is.finite(start) | start >= stop)
    if (length(late)) {
      response_error(name, sprintf("must have times after the entry; row %s enters at %s and ends at %s",
        row_label(late[1L]), format(start[late[1L]]), format(stop[late[1L]])))
    }
  }
  list(start = start, stop = stop, event = event, type = type)
}
