# Dates and times: what a column was in the fit, and that column in new data. Date counts days, POSIXct seconds, and
# difftime whatever its units say, so that the number of one is not the number of another.

is_time <- function(x) inherits(x, c("Date", "POSIXt", "difftime"))

#' The columns of `data` that are times, without their rows
#' @noRd
time_columns <- function(data) {
  lapply(Filter(is_time, as.list(data)), function(x) if (inherits(x, "POSIXt")) as.POSIXct(x)[0L] else x[0L])
}

#' New data whose times are of the classes and units of the fit
#'
#' @param times From time_columns(). used: variables of the model that are not groups alone, which may be text.
#' @param bare Those of them that are variables of the model as they are, not inside of a call.
#' @noRd
with_fitted_times <- function(newdata, times, used, bare) {
  for (name in intersect(names(times), names(newdata))) {
    x <- newdata[[name]]
    as <- times[[name]]
    if (is.logical(x) && all(is.na(x))) x <- as[rep(NA_integer_, length(x))]
    if (inherits(x, "POSIXlt")) x <- as.POSIXct(x)
    if (inherits(as, "Date") && inherits(x, "POSIXct")) x <- date_of_time(x)
    if (inherits(as, "POSIXct") && inherits(x, "Date")) x <- time_of_date(x, attr(as, "tzone"))
    if (inherits(as, "difftime") && inherits(x, "difftime")) units(x) <- attr(as, "units")
    # numbers are in the units of a difftime, and functions such as factor() take text
    other <- if (is_time(x)) shown_time(x) != shown_time(as) else {
      if (is.numeric(x)) shown_time(as) != "difftime" else name %in% bare
    }
    if (other && name %in% used) {
      stop_galvi("newdata", sprintf(
        "`%s` must be of class %s in `newdata`, as it was in the fit, not %s.", name, dQuote(shown_time(as), FALSE),
        describe(x)
      ))
    }
    newdata[[name]] <- x
  }
  newdata
}

shown_time <- function(x) intersect(c("Date", "POSIXct", "difftime"), class(x))[1L]

# By the clock of its time zone; noon is half a day.
date_of_time <- function(x) {
  parts <- as.POSIXlt(x)
  structure(as.numeric(as.Date(parts)) + (parts$hour * 3600 + parts$min * 60 + parts$sec) / 86400, class = "Date")
}

# Midnight in the time zone of the fit.
time_of_date <- function(x, zone) {
  zone <- if (length(zone)) zone[1L] else ""
  day <- as.POSIXct(format(x), tz = zone, format = "%Y-%m-%d")
  day + 86400 * (as.numeric(x) - floor(as.numeric(x)))
}
