# Runs the tests of the installed package and ends with one line: N passed, N failed, N skipped.
#   Rscript tools/test.R [part of a test file's name]
Sys.setenv(NOT_CRAN = "true")  # snapshots and slower tests count here
filter <- commandArgs(TRUE)
source("tools/probes.R")

# Counts on its own: what test_dir() returns lacks results where files run at the same time (testthat 3.1).
Counter <- R6::R6Class("Counter", inherit = testthat::ParallelProgressReporter, public = list(
  failures = list(),
  update = function(force = FALSE) if (cli::is_dynamic_tty(stdout())) super$update(force),
  add_result = function(context, test, result) {
    super$add_result(context, test, result)
    if (inherits(result, c("expectation_failure", "expectation_error"))) {
      self$failures[[length(self$failures) + 1L]] <- list(file = self$file_name, test = test, result = result)
    }
  }
))

# Two processes share the files. On a terminal the counts move; a log gets a line per file.
Sys.setenv(TESTTHAT_PARALLEL = "TRUE", TESTTHAT_CPUS = min(2L, parallel::detectCores(), na.rm = TRUE))
counter <- Counter$new(update_interval = if (cli::is_dynamic_tty(stdout())) 0.1 else Inf, max_failures = Inf)
testthat::test_dir(
  "tests/testthat", package = "galvi", load_package = "installed", reporter = counter,
  filter = if (length(filter)) paste(filter, collapse = "|"), stop_on_failure = FALSE
)

# A log is read from its end: each failure once more, in short.
for (one in counter$failures) cat(sprintf("\n%s: %s\n%s\n", one$file, one$test, conditionMessage(one$result)))
cat(sprintf("%d passed, %d failed, %d skipped\n", counter$n_ok, counter$n_fail, counter$n_skip))
quit(status = if (counter$n_fail > 0 || counter$n_ok == 0) 1 else 0)
