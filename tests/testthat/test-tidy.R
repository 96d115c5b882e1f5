test_that("tidy, glance and augment give data frames that agree with the methods", {
  fit <- small_fit("flat")
  table <- tidy.galvi(fit, conf.int = TRUE)
  fixed <- table[table$effect == "fixed", ]
  expect_equal(setNames(fixed$estimate, fixed$term), coef(fit))
  expect_equal(fixed$std.error, sqrt(diag(vcov(fit))), ignore_attr = TRUE)
  expect_equal(fixed$conf.high, confint(fit)[, 2], ignore_attr = TRUE)
  expect_setequal(table$term[table$effect == "hyper"], fit$hyper$name)
  expect_identical(nrow(tidy.galvi(fit, "fixed")), 4L)

  one <- glance.galvi(fit)
  expect_identical(nrow(one), 1L)
  expect_equal(one$logLik, fit$elbo)
  expect_equal(one$AIC, AIC(fit))

  wide <- augment.galvi(fit)
  expect_equal(wide$.fitted, unname(fitted(fit)))
  expect_equal(wide$.resid, unname(residuals(fit)))
  new <- augment.galvi(fit, newdata = mtcars[1:3, ], type.predict = "link")
  expect_identical(nrow(new), 3L)
  expect_equal(new$.fitted, unname(predict(fit, mtcars[1:3, ], type = "link")))
})

test_that("the methods are found through package generics", {
  skip_if_not_installed("generics")
  expect_identical(generics::glance(small_fit("flat"))$nobs, 32L)
})
