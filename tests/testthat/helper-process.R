# Code that may hang runs in a separate R process, with a time limit.

# Limits of time, in seconds, which a build with sanitizers needs many times (tools/sanitize.R).
within_seconds <- function(seconds) seconds * as.numeric(Sys.getenv("GALVI_TESTS_SLOWER", "1"))

# Runs the code, a block of expressions, in a fresh process with galvi attached. status is "result", "error",
# "time-out" or "crash"; value the last expression's value or the error's message.
in_process <- function(code, seconds = 20) {
  testthat::skip_if_not_installed("processx")
  code <- substitute(code)
  files <- list(script = tempfile(fileext = ".R"), value = tempfile(fileext = ".rds"))
  on.exit(unlink(unlist(files)))
  writeLines(c(
    sprintf(".libPaths(%s)", deparse1(.libPaths())),
    "library(galvi)",
    "outcome <- tryCatch(list(status = 'result', value = {", deparse(code, width.cutoff = 100L),
    "}), error = function(e) list(status = 'error', value = conditionMessage(e)),",
    "interrupt = function(e) list(status = 'interrupt', value = NULL))",
    sprintf("saveRDS(outcome, %s)", deparse1(files$value))
  ), files$script)
  run <- processx::run(file.path(R.home("bin"), "Rscript"), c("--vanilla", files$script),
                       timeout = within_seconds(seconds), error_on_status = FALSE)
  if (isTRUE(run$timeout)) return(list(status = "time-out", value = NULL))
  if (!file.exists(files$value)) return(list(status = "crash", value = run$stderr))
  readRDS(files$value)
}

# The value of code that is to end in time.
value_in_time <- function(code, seconds = 20) {
  outcome <- eval(bquote(in_process(.(substitute(code)), .(seconds))))
  said <- paste0("The process ended with: ", outcome$status, ". ", paste(outcome$value, collapse = "\n"))
  testthat::expect(outcome$status == "result", said)
  outcome$value
}
