# Runs test files, in this order, up to the first failure, and prints its file and test: called by run.R in the folder
# of a mutant. Ends with status 1 if a test fails.
files <- commandArgs(TRUE)

FirstFailure <- R6::R6Class("FirstFailure", inherit = testthat::Reporter, public = list(
  add_result = function(context, test, result) {
    if (!inherits(result, c("expectation_failure", "expectation_error"))) return()
    cat(self$file, ": ", test, "\n", sep = "")
    quit(status = 1)
  },
  file = "",
  start_file = function(filename) self$file <- sub("^test-|\\.R$", "", filename)
))
for (file in files) {
  testthat::test_dir(
    "tests/testthat", package = "galvi", load_package = "installed", reporter = FirstFailure$new(),
    filter = paste0("^", file, "$"), stop_on_failure = FALSE
  )
}
