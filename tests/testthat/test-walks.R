# Times that are dates: the steps of rw1(), rw2() and ar1().

# One day in each month from November 2015 on, never the same one twice in a row.
monthly <- function(n = 36) {
  set.seed(3)
  i <- seq_len(n)
  date <- as.Date(sprintf("%d-%02d-%02d", 2015 + (9 + i) %/% 12, (9 + i) %% 12 + 1, 1 + i %% 28))
  data.frame(i, date, y = cumsum(stats::rnorm(n)) + stats::rnorm(n))
}

test_that("months are the steps of a walk of whole numbers, in forecasts too", {
  d <- monthly()
  new <- as.Date(c("2018-11-30", "2015-10-01", "2019-01-31", "2016-02-29"))
  at <- c(37, 0, 39, 4)
  for (term in c("rw1(%s)", "rw2(%s)", "ar1(%s)")) {
    formula <- function(inner) stats::as.formula(paste("y ~", sprintf(term, inner)))
    months <- galvi(formula("date, unit = \"month\""), d)
    numbers <- galvi(formula("i"), d)
    expect_equal(months$elbo, numbers$elbo, label = term)
    expect_equal(predict(months, data.frame(date = new), se.fit = TRUE),
      predict(numbers, data.frame(i = at), se.fit = TRUE), label = term)
  }
  expect_identical(rownames(ranef(months)[[1L]])[c(1L, 2L, 36L)], c("2015-11", "2015-12", "2018-10"))
})

test_that("every unit has its steps and their names", {
  date <- as.Date(c(
    "1969-12-31", "2019-12-29", "2019-12-30", "2020-01-05", "2020-01-06", "2020-02-29", "2020-10-01"
  ))
  named <- function(unit) with(date_units[[unit]], name(step(date)))
  expect_identical(named("day"), format(date))
  expect_identical(named("week"), c(
    "1969-12-29", "2019-12-23", "2019-12-30", "2019-12-30", "2020-01-06", "2020-02-24", "2020-09-28"
  ))
  expect_identical(named("month"), format(date, "%Y-%m"))
  expect_identical(named("quarter"), paste(format(date, "%Y"), quarters(date), sep = "-"))
  expect_identical(named("year"), format(date, "%Y"))
  # neighbours in time are neighbours in steps
  all <- seq(as.Date("1960-01-01"), as.Date("2030-12-31"), by = "day")
  for (unit in date_units) expect_true(all(diff(unit$step(all)) %in% 0:1))
})

test_that("days that mostly have no observation are told, with a call that works", {
  d <- monthly()
  expect_message(galvi(y ~ rw1(date), d), "36 have observations", class = "galvi_message_steps")
  said <- tryCatch(galvi(y ~ rw1(date), d), message = conditionMessage)
  term <- regmatches(said, regexpr("rw1\\(.*\\)", said))
  expect_identical(term, "rw1(date, unit = \"month\")")
  expect_silent(galvi(stats::as.formula(paste("y ~", term)), d))
  weekly <- data.frame(y = d$y, date = as.Date("2020-01-01") + 7 * d$i)
  expect_message(galvi(y ~ ar1(date), weekly), "unit = \"week\"", class = "galvi_message_steps")
  daily <- data.frame(y = d$y, date = as.Date("2020-01-01") + d$i)
  expect_silent(galvi(y ~ rw1(date), daily))
  expect_no_message(galvi(y ~ rw1(date, unit = "day"), d[1:8, ]), class = "galvi_message_steps")
})

test_that("a time is read in one way", {
  d <- monthly()
  months <- galvi(y ~ rw1(date, unit = "month"), d)
  numbers <- galvi(y ~ rw1(i), d)
  expect_error(predict(months, data.frame(date = 5)), "must be of class \"Date\"", class = "galvi_error_newdata")
  expect_error(predict(numbers, data.frame(i = d$date)), "must be numbers", class = "galvi_error_newdata")
  expect_error(galvi(y ~ rw1(i, unit = "month"), d), "`i` must be dates", class = "galvi_error_data")
  expect_error(galvi(y ~ rw1(factor(i), unit = "month"), d), "must be dates", class = "galvi_error_data")
  expect_error(galvi(y ~ rw1(date, unit = "months"), d), "mean \"month\"", class = "galvi_error_argument")
  cycle <- galvi(y ~ rw1(date, unit = "month", cyclic = TRUE), d)
  later <- data.frame(date = as.Date("2019-01-01"))
  expect_error(predict(cycle, later), "2015-11 to 2018-10", class = "galvi_error_newdata")
})

test_that("date-times need a unit, and count as the day in their own time zone", {
  d <- monthly()
  d$time <- as.POSIXct(paste(d$date, "23:30"), tz = "America/New_York")
  expect_error(galvi(y ~ rw1(time), d), "`unit`", class = "galvi_error_data")
  by_time <- galvi(y ~ rw1(time, unit = "day"), d[1:8, ])
  by_date <- suppressMessages(galvi(y ~ rw1(date), d[1:8, ]))
  expect_equal(by_time$elbo, by_date$elbo)
  expect_equal(rownames(ranef(by_time)[[1L]]), rownames(ranef(by_date)[[1L]]))
})
