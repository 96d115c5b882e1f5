test_that("a silent fit hands the core no reporter", {
  expect_null(with_progress(FALSE, identity))
  old <- options(knitr.in.progress = TRUE)
  on.exit(options(old))
  expect_null(with_progress(TRUE, identity))
})

test_that("progress lines name the stage, the bound and the certificate, and are rate limited", {
  expect_identical(progress_status("Computing the posterior", 3, -113.98174, 2.1e-5),
                   "Computing the posterior, iteration 3: bound -113.982, within 2e-05 of its maximum")
  expect_identical(progress_status("start", 0), "start, iteration 0")
  expect_identical(progress_status("intervals", 2, of = 8), "intervals, iteration 2 of 8")
  expect_match(progress_status("start", 0, -1, seconds = 200), "; about 3 min left$")
  report <- progress_lines(every = 60)
  shown <- capture.output(type = "message", {
    report("one", 1, -2, NaN)
    report("one", 2, -1, NaN)
    report("two", 3, -1, NaN)
  })
  expect_identical(shown, c("one, iteration 1: bound -2.000", "two, iteration 3: bound -1.000"))
})

test_that("the time left is that of a bound that rises geometrically", {
  rate <- 0.2  # a second
  bound <- function(now) -100 - 50 * exp(-rate * now)
  left <- time_left(enough = 1e-3)
  said <- vapply(seq(0, 20, by = 0.5), function(now) left("one", 1, bound(now), now = now), 0)
  expect_true(all(is.na(said[1:6])))  # the first three seconds
  end <- log(50 / 1e-3) / rate
  expect_close(utils::tail(said, 1L), end - 20, 0.05)  # of the time at which it is within 1e-3 of its end
  expect_identical(left("two", 1, -1, now = 21), NA_real_)
  expect_identical(left("two", 1, NaN, now = 40), NA_real_)
  left("three", 1, NaN, of = 8, now = 50)
  expect_identical(left("three", 3, NaN, of = 8, now = 54), 12)  # two took 4 s, six are left
})

test_that("a fit reports while it works if it is asked to, or by the option", {
  call <- quote(galvi(am ~ 0 + gp(wt, kernel = se(fixed(1), fixed(4))), data = mtcars, family = binomial()))
  shown <- capture.output(type = "message", fit <- eval(as.call(c(as.list(call), verbose = TRUE))))
  expect_s3_class(fit, "galvi")
  expect_match(paste(shown, collapse = "\n"), "Computing the posterior, iteration .*bound")
  expect_silent(fit <- eval(as.call(c(as.list(call), verbose = FALSE))))
  old <- options(galvi.progress = TRUE)
  on.exit(options(old))
  expect_match(capture.output(type = "message", fit <- eval(call)), "Computing the posterior", all = FALSE)
})

test_that("intervals of hyperparameters and the integration over them report by themselves", {
  shown <- capture.output(type = "message", {
    fit <- galvi(dist ~ gp(speed), data = cars, hyper = "integrate", verbose = TRUE)
  })
  expect_match(shown, "Computing intervals of the hyperparameters, iteration 1 of 3", fixed = TRUE, all = FALSE)
  expect_match(shown, "Integrating over the hyperparameters, iteration 1", fixed = TRUE, all = FALSE)
})
