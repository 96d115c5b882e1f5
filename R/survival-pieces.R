#' Survival times as counts: the piecewise exponential model
#'
#' Splits every row at `cuts` into one per interval of time that it was under observation in. With a hazard
#' that is constant within intervals the counts of events have the likelihood of a Poisson model with the time
#' at risk as exposure, so that any terms make a survival model of it: a smooth baseline hazard by
#' `rw1(interval)`, effects that change in time by `by =`, frailties by `(1 | group)`. With an interval per
#' event time it is about Cox's model.
#'
#' The log likelihood is that of the Poisson model without the sum of `event * log_exposure`, which no
#' parameter changes.
#'
#' @param formula A formula with a `survival::Surv()` of type right or counting on its left; its right side
#'   says which columns are kept, `.` for all others.
#' @param data A data frame.
#' @param cuts Increasing positive times at which intervals end; one more lasts from the last on. Or one whole
#'   number: so many intervals with about equally many events each.
#' @return A data frame with the columns asked for and
#'   \describe{
#'     \item{event}{1 where the row's event happened in the interval, else 0.}
#'     \item{log_exposure}{the logarithm of the time at risk in the interval.}
#'     \item{interval}{the number of the interval, from 1.}
#'     \item{time}{the middle of the interval, of the last one that of its start and the largest time.}
#'     \item{row}{the row of `data`.}
#'   }
#'   Attribute `cuts` has the cuts. Rows with missing values are left out.
#' @references Holford, T. R. (1980). The analysis of rates and of survivorship using log-linear models.
#'   Biometrics 36, 299-305.
#' @seealso [survival-families] for parametric families.
#' @examplesIf requireNamespace("survival", quietly = TRUE)
#' pieces <- survival_pieces(survival::Surv(time, status) ~ age + sex, survival::lung, cuts = 10)
#' fit <- galvi(event ~ rw1(interval) + age + sex + offset(log_exposure), data = pieces, family = poisson())
#' coef(fit)
#' @export
survival_pieces <- function(formula, data, cuts = 10) {
  formula <- check_formula(formula)
  data <- check_data(data)
  frame <- tryCatch(stats::model.frame(formula, data, na.action = stats::na.pass), error = function(e) {
    stop_galvi("data", unreadable(conditionMessage(e), "data", data))
  })
  times <- piece_times(frame[[1L]])
  columns <- intersect(all.vars(stats::delete.response(stats::terms(frame))), names(data))
  whole <- do.call(stats::complete.cases, c(times, as.list(data[columns])))
  cuts <- check_cuts(cuts, times$stop[whole & times$event == 1])
  row <- which(whole)
  from <- findInterval(times$start[row], cuts) + 1L
  # an interval has its right end, not its left one
  to <- findInterval(times$stop[row], cuts, left.open = TRUE) + 1L
  count <- to - from + 1L
  at <- rep(row, count)
  interval <- sequence(count, from)
  low <- c(0, cuts)[interval]
  high <- c(cuts, Inf)[interval]
  start <- pmax(times$start[at], low)
  stop <- pmin(times$stop[at], high)
  out <- data[at, columns, drop = FALSE]
  own <- c("event", "log_exposure", "interval", "time", "row")
  if (length(taken <- intersect(columns, own))) {
    stop_galvi("data", sprintf(
      "`data` has a column `%s`, which survival_pieces() makes: rename it.", taken[1L]
    ))
  }
  out$event <- as.integer(times$event[at] == 1 & interval == rep(to, count))
  out$log_exposure <- log(stop - start)
  out$interval <- interval
  out$time <- (low + pmin(high, max(times$stop[row]))) / 2
  out$row <- at
  rownames(out) <- NULL
  structure(out, cuts = cuts)
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
      "The times of `formula` must be positive and after the start; row %d is (%s, %s].", bad[1L],
      format(start[bad[1L]]), format(stop[bad[1L]])
    ))
  }
  list(start = as.numeric(start), stop = as.numeric(stop), event = as.numeric(numbers[, last]))
}

# events: the times of those that happened.
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
