# Variables far from zero under the default prior of the intercept.

years <- data.frame(year = as.numeric(time(nhtemp)), degrees = as.numeric(nhtemp))

test_that("a default prior that moves the slope says so, and what it suggests mends it", {
  expect_warning(fit <- galvi(degrees ~ year, years), "slope of `year`", class = "galvi_warning_prior")
  slope <- coef(lm(degrees ~ year, years))[["year"]]
  expect_gt(abs(coef(fit)[["year"]] / slope - 1), 0.3)  # or there was nothing to say
  warned <- tryCatch(galvi(degrees ~ year, years), galvi_warning_prior = conditionMessage)
  centred <- str2lang(regmatches(warned, regexpr("I[(]year - [0-9]+[)]", warned)))
  given <- eval(str2lang(sub(".*prior = (list[(].*[)])[.]$", "\\1", warned)))
  expect_no_warning(by_centring <- galvi(as.formula(call("~", quote(degrees), centred)), years))
  expect_no_warning(by_prior <- galvi(degrees ~ year, years, prior = given))
  # both priors are wide, not flat
  expect_close(coef(by_centring)[[2L]] / slope, 1, 0.01)
  expect_close(coef(by_prior)[["year"]] / slope, 1, 0.01)
})

test_that("second predictors and several classes are checked, priors of the user and near variables are not", {
  expect_warning(
    expect_warning(galvi(list(degrees ~ year, sigma ~ year), years), "normal\\(51.2", class = "galvi_warning_prior"),
    "normal\\(0, 10\\)", class = "galvi_warning_prior"
  )
  years$warm <- factor(years$degrees > 51.5, labels = c("no", "yes"))
  expect_warning(galvi(warm ~ year, years, categorical()), class = "galvi_warning_prior")
  expect_no_warning(galvi(degrees ~ year, years, prior = list(intercept = normal(51, 13))))
  expect_no_warning(galvi(degrees ~ 0 + year, years))
  expect_no_warning(galvi(mpg ~ wt + qsec, mtcars))
})
