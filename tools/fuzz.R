# Random models, each checked in a process with a time limit; prints counts of the outcomes at the end.
#   Rscript tools/fuzz.R [--models 2000] [--seed 1] [--workers 1] [--limit 20] [--output results.csv]
#   Rscript tools/fuzz.R --seed 1234     shows that model as R code, fits it here and says what is wrong
# The models and the checks are in tests/testthat/helper-fuzz-*.R.
suppressPackageStartupMessages(library(galvi))
helpers <- new.env(parent = asNamespace("galvi"))
for (name in c("tolerance", "fuzz-models", "fuzz-recipes", "fuzz-checks", "fuzz-run")) {
  sys.source(sprintf("tests/testthat/helper-%s.R", name), helpers)
}

given <- commandArgs(TRUE)
option <- function(name, default) {
  at <- match(paste0("--", name), given)
  if (is.na(at)) default else given[at + 1L]
}
number <- function(name, default) as.numeric(option(name, default))

show_one <- function(seed) {
  model <- helpers$fuzz_model(seed)
  cat(helpers$fuzz_code(model), sep = "\n")
  print(eval(model$call, model$env))
}

run_many <- function(seeds) {
  width <- nchar(max(seeds))
  table <- helpers$fuzz(
    seeds, workers = number("workers", 1), limit = number("limit", 20),
    sources = helpers$fuzz_sources("tests/testthat"),
    report = function(row) {
      if (row$outcome %in% helpers$fuzz_failures) {
        cat(sprintf("%*.0f %s: %s %s\n", width, row$seed, row$outcome, row$where, substr(row$detail, 1, 150)))
      }
    }
  )
  cat("", helpers$fuzz_report(table), sep = "\n")
  if (!is.null(option("output", NULL))) utils::write.csv(table, option("output", NULL), row.names = FALSE)
  quit(status = if (nrow(helpers$fuzz_failed(table))) 1 else 0)
}

one <- "--seed" %in% given && !"--models" %in% given
if (one) {
  seed <- number("seed", 1)
  try(show_one(seed))
  result <- helpers$fuzz_seed(seed)
  cat("\n", result$outcome, ": ", result$where, " ", result$detail, "\n", sep = "")
} else {
  first <- number("seed", 1)
  run_many(seq(first, length.out = number("models", 2000)))
}
