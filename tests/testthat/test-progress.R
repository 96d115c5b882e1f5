test_that("a silent fit hands the core no reporter", {
  expect_null(with_progress(FALSE, identity))
})

test_that("progress lines name the stage, the bound and the certificate, and are rate limited", {
  expect_identical(progress_status("inference", 3, -113.98174, 2.1e-5),
                   "inference, iteration 3: bound -113.982, within 2.1e-05 nats of its optimum")
  expect_identical(progress_status("start", 0, NaN, NaN), "start, iteration 0")
  report <- progress_lines(every = 60)
  shown <- capture.output(type = "message", {
    report("one", 1, -2, NaN)
    report("one", 2, -1, NaN)
    report("two", 3, -1, NaN)
  })
  expect_identical(shown, c("one, iteration 1: bound -2.000", "two, iteration 3: bound -1.000"))
})

test_that("a fit reports while it works if it is asked to", {
  shown <- capture.output(type = "message", {
    fit <- galvi(am ~ 0 + gp(wt, kernel = se(fixed(1), fixed(4))), data = mtcars, family = binomial(),
                 verbose = TRUE)
  })
  expect_s3_class(fit, "galvi")
  expect_match(paste(shown, collapse = "\n"), "iteration .*bound")
  expect_silent(galvi(am ~ 0 + gp(wt, kernel = se(fixed(1), fixed(4))), data = mtcars, family = binomial(),
                      verbose = FALSE))
})
