# Dates, times and lists in new data.

times_data <- function() {
  n <- 60
  d <- data.frame(day = as.Date("2020-01-01") + 0:(n - 1), x = 0:(n - 1) / 10)
  d$time <- as.POSIXct(format(d$day), tz = "UTC")
  d$past <- as.difftime(0:(n - 1), units = "days")
  d$y <- sin(d$x) + 0.1 * cos(37 * d$x)
  d
}

test_that("times in new data are converted to what they were in the fit", {
  d <- times_data()
  day <- as.Date("2020-01-10")
  time <- as.POSIXct("2020-01-10", tz = "UTC")
  for (right in c("V", "s(V)", "gp(V)", "splines::ns(V, df = 4)")) {
    fit <- function(v) galvi(stats::as.formula(paste("y ~", gsub("V", v, right))), d)
    at <- function(fit, ...) unname(predict(fit, data.frame(...)))
    f <- fit("day")
    expect_equal(at(f, day = time), at(f, day = day), info = right)
    expect_equal(at(f, day = time + 43200), at(f, day = day + 0.5), info = right)
    expect_identical(at(f, day = NA), NA_real_, info = right)
    expect_error(at(f, day = 18000), "`day` must be of class \"Date\"", class = "galvi_error_newdata")
    f <- fit("time")
    expect_equal(at(f, time = day), at(f, time = time), info = right)
    f <- fit("past")
    expect_equal(at(f, past = as.difftime(48, units = "hours")), at(f, past = as.difftime(2, units = "days")), info = right)
    expect_equal(at(f, past = 2), at(f, past = as.difftime(2, units = "days")), info = right)
    expect_error(at(f, past = day), "`past` must be of class \"difftime\"", class = "galvi_error_newdata")
  }
  expect_error(predict(galvi(y ~ s(x), d), data.frame(x = day)), "`x` must be numbers", class = "galvi_error_newdata")
  expect_error(predict(galvi(y ~ s(day), d), data.frame(day = "2020-01-10")), "`day` must be of class", class = "galvi_error_newdata")
  # a group may be text
  d$week <- d$day - as.integer(d$day) %% 7
  expect_length(predict(galvi(y ~ x + (1 | week), d), data.frame(x = 1, week = c("2019-12-26", "new"))), 2L)
})

test_that("new data may be a list of columns; a matrix of text is none", {
  fit <- galvi(y ~ x, times_data())
  expect_equal(predict(fit, list(x = 1:2), interval = "prediction"),
    predict(fit, data.frame(x = 1:2), interval = "prediction"), ignore_attr = TRUE)
  expect_error(predict(fit, list(x = 1:2, z = 1:3)), "`newdata` is a list", class = "galvi_error_newdata")
  expect_error(predict(fit, as.matrix(data.frame(x = 1, g = "a"))), "`newdata` must be a data frame", class = "galvi_error_newdata")
})
