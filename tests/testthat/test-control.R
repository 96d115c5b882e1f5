test_that("defaults are those of the interface", {
  old <- options(galvi.threads = NULL)
  on.exit(options(old))
  expect_equal(unclass(galvi_control()), list(
    tol = 1e-7, max_iterations = 500, hyper_tol = 1e-6, hyper_iterations = 200, starts = 1, freeze = 10,
    joint = FALSE, move_inducing = TRUE, inducing_jitter = 0, pieces = 20, chunk_rows = "auto", threads = 2,
    backend = "auto", keep_factor = FALSE, hyper_method = "lbfgs", hyper_design = "auto",
    batch_rows = "auto", passes = NULL,
    step_rule = "natural", step_size = "auto", cluster = NULL, max_seconds = Inf, uncertainty = "auto"
  ))
})

test_that("the option sets the threads", {
  old <- options(galvi.threads = 1)
  on.exit(options(old))
  expect_equal(galvi_control()$threads, 1)
})

test_that("illegal values are errors that say what is legal", {
  bad <- list(
    tol = 0, tol = "a", max_seconds = 0, max_seconds = NA,
    max_iterations = 0, max_iterations = 2.5, hyper_tol = -1, hyper_iterations = -1,
    starts = 0, freeze = -1, joint = NA, move_inducing = 1, inducing_jitter = -1, pieces = 2, pieces = 21,
    chunk_rows = 0, chunk_rows = "all", threads = 0, backend = "gpu", keep_factor = "yes",
    hyper_method = "bfgs", batch_rows = 0, batch_rows = "some", passes = 0, step_rule = "sgd", step_size = 0,
    uncertainty = "none", uncertainty = TRUE, tol = c(1, 2), tol = NA_real_
  )
  for (i in seq_along(bad)) {
    expect_error(do.call(galvi_control, bad[i]), names(bad)[i], class = "galvi_error_argument")
  }
  expect_error(
    galvi_control(max_iteratons = 3), "Did you mean `max_iterations`", class = "galvi_error_argument"
  )
  expect_error(
    galvi_control(joint = TRUE, hyper_method = "newton"), "joint", class = "galvi_error_argument"
  )
  expect_error(galvi_control(tolerance = 3), "Did you mean `tol`", class = "galvi_error_argument")
})

test_that("a list of settings is a control", {
  expect_equal(as_control(list(tol = 1e-3)), galvi_control(tol = 1e-3))
  expect_equal(as_control(list()), galvi_control())
  expect_error(as_control(list(tool = 1)), "tol", class = "galvi_error_argument")
  expect_error(as_control(3), class = "galvi_error_argument")
  # nothing was checked last, or a control with a cluster
  last_checked$control <- NULL
  expect_error(as_control(NULL), "must be galvi_control", class = "galvi_error_argument")
})
