# The tables of the vignette "Coming from ...": what they tell users to type runs. It is only in the source tree.

test_that("what the tables for users of other packages say runs", {
  file <- test_path("..", "..", "vignettes", "coming-from.Rmd")
  skip_if_not(file.exists(file), "not in the source tree")
  skip_on_cran()
  spans <- unique(last_column_code(readLines(file, encoding = "UTF-8")))
  expect_gt(length(spans), 100L)
  installed <- vapply(spans, function(code) {
    named <- sub("::$", "", unlist(regmatches(code, gregexpr("[a-zA-Z]+::", code))))
    all(vapply(named, requireNamespace, NA, quietly = TRUE))
  }, NA)
  env <- list2env(table_names(), parent = globalenv())
  for (code in spans[installed]) expect_error(run_span(code, env), NA, info = code)
})
