# Runs the tests of the installed package and ends with one line: N passed, N failed, N skipped.
#   Rscript tools/test.R [part of a test file's name]
Sys.setenv(NOT_CRAN = "true")  # snapshots and slower tests count here
filter <- commandArgs(TRUE)
source("tools/probes.R")

# On a terminal the counts move; a log gets one line per file.
every <- if (cli::is_dynamic_tty(stdout())) 0.1 else Inf
results <- testthat::test_dir(
  "tests/testthat", package = "galvi", load_package = "installed",
  reporter = testthat::ProgressReporter$new(update_interval = every),
  filter = if (length(filter)) paste(filter, collapse = "|"), stop_on_failure = FALSE
)

table <- as.data.frame(results)
failed <- sum(table$failed) + sum(table$error)
passed <- sum(table$passed)
# A log is read from its end: each failure once more, in short.
for (test in results) {
  for (outcome in test$results) {
    if (!inherits(outcome, c("expectation_failure", "expectation_error"))) next
    cat(sprintf("\n%s: %s\n%s\n", test$file, test$test, conditionMessage(outcome)))
  }
}
cat(sprintf("%d passed, %d failed, %d skipped\n", passed, failed, sum(table$skipped)))
quit(status = if (failed > 0 || passed == 0) 1 else 0)
