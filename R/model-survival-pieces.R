#' Survival times as counts: piecewise exponential models
#'
#' Splits each row of survival data at `cuts` into one row per time interval, with the event indicator and the time at
#' risk. A Poisson model of these rows is a proportional hazards model whose baseline hazard is constant within
#' intervals.
#'
#' A piecewise constant hazard has the likelihood of a Poisson model of the event counts with the time at risk as
#' exposure, so every term of a Poisson model is available: a smooth baseline hazard by `rw1(interval)`, time-varying
#' effects by `by =`, shared frailties by `(1 | group)`. With one interval per event time it approximates Cox's model.
#'
#' The log likelihood of the survival model is that of the Poisson model minus the sum of `event * log_exposure`, which
#' does not depend on the parameters.
#'
#' @param formula A formula with a `survival::Surv()` object of type right or counting on the left. The right side
#'   names the columns of `data` to keep; `.` keeps all others.
#' @param data A data frame.
#' @param cuts Increasing positive times at which intervals end; a last interval follows the last of them. Or one whole
#'   number: the number of intervals, with about equally many events in each.
#' @return A data frame with the columns asked for and
#'   \describe{
#'     \item{event}{1 where the event of the row happened in the interval, else 0.}
#'     \item{log_exposure}{logarithm of the time at risk in the interval, for use as an offset.}
#'     \item{interval}{number of the interval, from 1.}
#'     \item{time}{midpoint of the interval; the last interval is taken to end at the largest time.}
#'     \item{row}{row number in `data`.}
#'   }
#'   The attribute `cuts` has the cuts. Rows with missing values are dropped.
#' @section Errors:
#' `galvi_error_response` if the left side is not such an object or its times are not positive; `galvi_error_argument`
#' for invalid `cuts`; `galvi_error_data` if a column of `data` has one of the names above.
#' @references
#' Holford, T. R. (1980). The analysis of rates and of survivorship using log-linear models. *Biometrics* 36, 299-305.
#' @family likelihoods
#' @examplesIf requireNamespace("survival", quietly = TRUE)
#' pieces <- survival_pieces(survival::Surv(time, status) ~ age + sex, survival::lung, cuts = 10)
#' head(pieces, 3)
#' fit <- galvi(event ~ rw1(interval) + age + sex + offset(log_exposure), data = pieces,
#'   family = poisson())
#' # hazard ratios
#' exp(confint(fit))
#' @export
survival_pieces <- function(formula, data, cuts = 10) {
  formula <- check_formula(formula)
  data <- check_data(data)
  frame <- tryCatch(stats::model.frame(formula, data, na.action = stats::na.pass), error = function(e) {
    stop_galvi("data", unreadable(conditionMessage(e), "data", data))
  })
  times <- naming_rows(frame_labels(data), piece_times(frame[[1L]]))
  columns <- intersect(all.vars(stats::delete.response(stats::terms(frame))), names(data))
  whole <- do.call(stats::complete.cases, c(times, as.list(data[columns])))
  cuts <- check_cuts(cuts, times$stop[whole & times$event == 1])
  row <- which(whole)
  split <- split_times(times$start[row], times$stop[row], cuts)
  at <- row[split$at]
  interval <- split$interval
  low <- c(0, cuts)[interval]
  high <- c(cuts, Inf)[interval]
  out <- data[at, columns, drop = FALSE]
  own <- c("event", "log_exposure", "interval", "time", "row")
  if (length(taken <- intersect(columns, own))) {
    stop_galvi("data", sprintf(
      "`data` has a column `%s`, which survival_pieces() makes: rename it.", taken[1L]
    ))
  }
  out$event <- as.integer(times$event[at] == 1 & split$last)
  out$log_exposure <- log(split$exposure)
  out$interval <- interval
  out$time <- (low + pmin(high, max(times$stop[row]))) / 2
  out$row <- at
  rownames(out) <- NULL
  structure(out, cuts = cuts)
}

#' Follow-up cut into pieces, one for each interval that it reaches; intervals contain their right end, not their left end
#'
#' @return list(at: whose piece it is, interval, exposure, last: does the follow-up end in it?)
#' @noRd
split_times <- function(start, stop, cuts) {
  from <- findInterval(start, cuts) + 1L
  to <- findInterval(stop, cuts, left.open = TRUE) + 1L
  count <- to - from + 1L
  at <- rep(seq_along(stop), count)
  interval <- sequence(count, from)
  exposure <- pmin(stop[at], c(cuts, Inf)[interval]) - pmax(start[at], c(-Inf, cuts)[interval])
  list(at = at, interval = interval, exposure = exposure, last = interval == rep(to, count))
}

piece_times <- function(y) {
  if (!inherits(y, "Surv") || !isTRUE(attr(y, "type") %in% c("right", "counting"))) {
    stop_galvi("response", sprintf(
      "`formula` must have a survival::Surv() of type \"right\" or \"counting\" on its left, not %s.",
      describe(y)
    ))
  }
  numbers <- unclass(y)
  last <- ncol(numbers)
  start <- if (last == 3L) numbers[, 1L] else rep(0, nrow(numbers))
  stop <- numbers[, last - 1L]
  bad <- which(!is.na(stop) & (!is.finite(stop) | stop <= start | start < 0))
  if (length(bad)) {
    stop_galvi("response", sprintf(
      "The times of `formula` must be positive and after the start; row %s is (%s, %s].", row_label(bad[1L]),
      format(start[bad[1L]]), format(stop[bad[1L]])
    ))
  }
  list(start = as.numeric(start), stop = as.numeric(stop), event = as.numeric(numbers[, last]))
}

# events: the times of events.
check_cuts <- function(cuts, events) {
  usable <- is.numeric(cuts) && length(cuts) && all(is.finite(cuts))
  if (!usable || any(cuts <= 0) || any(diff(cuts) <= 0)) {
    stop_galvi("argument", sprintf(
      "`cuts` must be increasing positive times, or one number of intervals, not %s.", describe(cuts)
    ))
  }
  if (length(cuts) > 1L || !is_whole(cuts)) return(as.numeric(cuts))
  if (!length(events)) {
    stop_galvi("response", "`cuts` as a number of intervals needs events to place them by.")
  }
  shares <- seq_len(round(cuts) - 1L) / round(cuts)
  unique(stats::quantile(events, shares, names = FALSE, type = 1L))
}
