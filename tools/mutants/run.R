# Do the tests notice? Applies each mutant of tools/mutants/mutants.dcf, a small change that breaks a promise, to a copy
# of this folder, builds what the change needs and runs the test files that should fail.
#   Rscript tools/mutants/run.R [names of mutants, or the first letters of some]
# Prints a line for each: killed (and by which test), SURVIVED or did not build; the last line counts them. A mutant
# with a field `Equivalent` changes no promise, for the reason given there: it is run when it is named.
source("tools/packages.R")

# Longer than any of the files takes: a mutant that never ends is killed, too.
most_seconds <- 900

read_mutants <- function(chosen) {
  fields <- c("Name", "File", "Find", "Replace", "Tests", "Breaks", "Equivalent")
  all <- as.data.frame(read.dcf("tools/mutants/mutants.dcf", fields), stringsAsFactors = FALSE)
  empty <- rowSums(is.na(all[fields[1:6]])) > 0
  if (any(empty)) stop("Every mutant needs ", toString(fields[1:6]), ": ", toString(all$Name[empty]), call. = FALSE)
  if (anyDuplicated(all$Name)) stop("Two mutants named ", all$Name[anyDuplicated(all$Name)], call. = FALSE)
  for (i in seq_len(nrow(all))) mutated(all[i, ])
  if (!length(chosen)) return(all[is.na(all$Equivalent), ])
  hit <- vapply(chosen, function(name) startsWith(all$Name, name), logical(nrow(all)))
  unknown <- chosen[colSums(hit) == 0]
  if (length(unknown)) stop("No mutant is named ", toString(unknown), call. = FALSE)
  all[rowSums(hit) > 0, ]
}

#' The lines of a mutant's file with its change
mutated <- function(mutant) {
  if (!file.exists(mutant$File)) stop("The mutant ", mutant$Name, " needs ", mutant$File, call. = FALSE)
  text <- paste(readLines(mutant$File), collapse = "\n")
  at <- gregexpr(mutant$Find, text, fixed = TRUE)[[1]]
  if (at[1] < 0 || length(at) > 1) {
    stop(sprintf(
      "The text of the mutant %s occurs %d times in %s, not once: %s", mutant$Name, sum(at > 0), mutant$File,
      mutant$Find
    ), call. = FALSE)
  }
  sub(mutant$Find, mutant$Replace, text, fixed = TRUE)
}

files_of <- function(mutants) unique(unlist(strsplit(mutants$Tests, "[[:space:]]+")))

copy_of <- function(from, to, parts) {
  dir.create(to)
  invisible(file.copy(file.path(from, parts), to, recursive = TRUE, copy.date = TRUE))  # make compares dates
}

# Runs in `folder`, which becomes the working directory for its time.
within_folder <- function(folder, code) {
  old <- setwd(folder)
  on.exit(setwd(old))
  code
}

#' Builds the package in `folder` into its library; `r_only`: beside the compiled code that is there already
build <- function(folder, r_only = FALSE) {
  within_folder(folder, r_cmd(c(
    "INSTALL", "--no-multiarch", "--no-docs", "--no-byte-compile", "--no-test-load", if (r_only) "--no-libs",
    "--library=library", "."
  ), env = "MAKEFLAGS=-j2", quietly = TRUE))
}

# What only tests call, linked with the objects in `folder`.
build_probes <- function(folder) {
  within_folder(folder, r_cmd(
    c("INSTALL", "--no-multiarch", "--no-docs", "--no-test-load", "--library=probes", "tests/probes"),
    env = c("MAKEFLAGS=-j2", paste0("R_LIBS=", libraries("library"))), quietly = TRUE
  ))
}

libraries <- function(first) paste(c(normalizePath(first), .libPaths()), collapse = .Platform$path.sep)

#' Runs test files in `folder` up to the first failure: "" if there is none, else the test that failed
failing_test <- function(folder, files) {
  within_folder(folder, {
    said <- suppressWarnings(system2(
      file.path(R.home("bin"), "Rscript"), c("tools/mutants/tests.R", files), stdout = TRUE, stderr = FALSE,
      timeout = most_seconds,
      env = c(
        paste0("R_LIBS=", libraries("library")), paste0("GALVI_PROBES=", normalizePath("probes")), "NOT_CRAN=true",
        "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1", "TESTTHAT_PARALLEL=FALSE"
      )
    ))
    status <- attr(said, "status")
    if (is.null(status)) "" else if (status == 124) "time is up" else paste(c("an error", said), collapse = "\n")
  })
}

#' "killed", "SURVIVED" or "did not build", with the test that noticed
try_mutant <- function(mutant, base) {
  folder <- tempfile("mutant")
  on.exit(unlink(folder, recursive = TRUE))
  copy_of(base, folder, list.files(base, all.files = TRUE, no.. = TRUE))
  writeLines(mutated(mutant), file.path(folder, mutant$File))
  compiled <- startsWith(mutant$File, "src/")
  built <- tryCatch({
    libs <- file.path(folder, "library", "galvi", "libs")
    if (!compiled) file.rename(libs, file.path(folder, "libs"))
    build(folder, r_only = !compiled)
    if (compiled) build_probes(folder) else file.rename(file.path(folder, "libs"), libs)
    TRUE
  }, error = function(e) FALSE)
  if (!built) return(c("did not build", ""))
  by <- failing_test(folder, files_of(mutant))
  if (nzchar(by)) c("killed", sub(".*\n", "", by)) else c("SURVIVED", "")
}

mutants <- read_mutants(commandArgs(TRUE))

message("Building a copy without mutants, and running ", length(files_of(mutants)), " test files, which must pass.")
base <- tempfile("base")
copy_of(".", base, setdiff(list.files(), c("bench", "data-raw", "pkgdown", "site")))
base <- normalizePath(base)
for (name in c("library", "probes")) dir.create(file.path(base, name))
within_folder(base, Rcpp::compileAttributes("tests/probes"))
build(base)
build_probes(base)
by <- failing_test(base, files_of(mutants))
if (nzchar(by)) stop("A test fails without mutants: ", by, call. = FALSE)

outcomes <- vapply(seq_len(nrow(mutants)), function(i) {
  seconds <- system.time(outcome <- try_mutant(mutants[i, ], base))[["elapsed"]]
  cat(sprintf("%-13s %4.0f s  %-28s %s\n", outcome[1], seconds, mutants$Name[i], outcome[2]))
  flush(stdout())
  outcome[1]
}, "")
cat(sprintf(
  "%d mutants: %d killed, %d survived, %d did not build\n", length(outcomes), sum(outcomes == "killed"),
  sum(outcomes == "SURVIVED"), sum(outcomes == "did not build")
))
quit(status = if (all(outcomes == "killed")) 0 else 1)
