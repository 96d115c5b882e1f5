# Runs the tests of the installed package and ends with one line: N passed, N failed, N skipped.
#   Rscript tools/test.R [part of a test file's name]
Sys.setenv(NOT_CRAN = "true")  # snapshots and slower tests count here
filter <- commandArgs(TRUE)
source("tools/probes.R")

# The longest files first
files <- list.files("tests/testthat", "^test-.*\\.R$")
if (length(filter)) files <- files[grepl(paste(filter, collapse = "|"), sub("^test-(.*)\\.R$", "\\1", files))]
first <- strsplit(read.dcf("DESCRIPTION", "Config/testthat/start-first")[[1L]], ",[[:space:]]*")[[1L]]
files <- files[order(match(files, paste0("test-", first, ".R")))]

# Two processes share the files. testthat has such processes too, but each expectation that is met is sent to the main
# one, 2 ms of its time: with a hundred thousand it is as busy as they are. These send what there is to say of a file.
start <- function() {
  process <- callr::r_session$new(callr::r_session_options(stdout = NULL, stderr = NULL))
  process$run(function() {
    library(testthat)
    library(galvi)
    setwd("tests/testthat")
    Sys.setenv(TESTTHAT = "true")
    globals <- globalenv()
    globals$helpers <- test_env("galvi")
    source_test_helpers(".", globals$helpers)
  })
  process
}

# In the process: kinds of the results of a file, and the test and the words of those that are not "success".
run_file <- function(file) {
  tests <- testthat::test_file(file, reporter = "silent", package = "galvi", env = globalenv()$helpers,
                               load_helpers = FALSE)
  results <- unlist(lapply(tests, `[[`, "results"), recursive = FALSE)
  kind <- vapply(results, function(x) sub("expectation_", "", grep("^expectation_", class(x), value = TRUE)[1L]), "")
  told <- kind != "success"
  words <- function(x) {
    paste(c(conditionMessage(x), if (!is.null(x$srcref)) paste("at line", x$srcref[1L])), collapse = "\n")
  }
  list(
    count = table(factor(kind, c("success", "failure", "error", "warning", "skip"))),
    told = data.frame(
      kind = kind[told], test = vapply(results[told], `[[`, "", "test"), words = vapply(results[told], words, "")
    )
  )
}

count <- 0
told <- NULL
# A log gets a line per file; what is wrong is at its end.
report <- function(file, said, seconds) {
  found <- said$result
  if (is.null(found)) {
    words <- c(if (!is.null(said$error)) conditionMessage(said$error) else "the process ended", said$stderr)
    found <- list(count = c(success = 0, failure = 0, error = 1, warning = 0, skip = 0),
                  told = data.frame(kind = "error", test = "", words = paste(words, collapse = "\n")))
  }
  # Undefined behaviour that a sanitizer finds is told on stderr: beside the address sanitizer log_path is not heard.
  if (!is.null(said$result) && any(grepl("runtime error: ", said$stderr))) {
    found$count[["error"]] <- found$count[["error"]] + 1
    found$told <- rbind(found$told, data.frame(kind = "error", test = "", words = said$stderr))
  }
  n <- found$count
  cat(sprintf("%-32s %6d passed %4d failed %4d skipped %6.1f s\n", file, n[["success"]], n[["failure"]] + n[["error"]],
              n[["skip"]], seconds))
  count <<- count + n
  if (nrow(found$told)) told <<- rbind(told, cbind(file = file, found$told))
}

began <- proc.time()[["elapsed"]]
crew <- lapply(seq_len(min(2L, parallel::detectCores(), length(files), na.rm = TRUE)), function(i) start())
busy <- character(length(crew))
since <- numeric(length(crew))
while (length(files) || any(busy != "")) {
  for (i in which(busy == "")) {
    if (!length(files)) break
    crew[[i]]$call(run_file, list(files[1L]))
    busy[i] <- files[1L]
    since[i] <- proc.time()[["elapsed"]]
    files <- files[-1L]
  }
  at <- which(busy != "")
  ready <- at[unlist(processx::poll(lapply(crew[at], function(process) process$get_poll_connection()), -1)) == "ready"]
  for (i in ready) {
    said <- crew[[i]]$read()
    if (is.null(said) || said$code < 500 && said$code != 200) next  # a message
    report(busy[i], said, proc.time()[["elapsed"]] - since[i])
    if (said$code >= 500) crew[[i]] <- start()
    busy[i] <- ""
  }
}

for (i in seq_len(NROW(told))) with(told[i, ], cat(sprintf("\n%s, %s: %s\n%s\n", kind, file, test, words)))
cat(sprintf("%.1f minutes\n", (proc.time()[["elapsed"]] - began) / 60))
failed <- count[["failure"]] + count[["error"]]
cat(sprintf("%d passed, %d failed, %d skipped\n", count[["success"]], failed, count[["skip"]]))
quit(status = if (failed > 0 || count[["success"]] == 0) 1 else 0)
