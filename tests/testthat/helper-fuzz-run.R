# The fuzzer's processes. A worker takes one seed after the other. It writes a line for each step and one for each
# finished seed, so its file shows which seed it is working on and how long it has been silent.

# One row per seed: seed, outcome, where, detail, checked (the invariants that hold of the model), seconds. `limit`:
# seconds that one step may take.
# `examiner`: name of the function that the workers call, with a seed and `at`, which it calls before each step;
# `sources`: files that define it. `report(row)` is called with each result.
fuzz <- function(seeds, workers = 1, limit = 20, examiner = "fuzz_seed", sources = fuzz_sources(),
                 report = function(row) NULL) {
  shares <- split(seeds, rep_len(seq_len(min(workers, length(seeds))), length(seeds)))
  crew <- lapply(unname(shares), hire, examiner, sources)
  on.exit(for (worker in crew) dismiss(worker))
  done <- list()
  while (any(vapply(crew, function(worker) length(worker$seeds) > 0, NA))) {
    Sys.sleep(0.05)
    for (i in seq_along(crew)) {
      news <- watch(crew[[i]], limit)
      crew[[i]] <- news$worker
      for (row in news$rows) report(row)
      done <- c(done, news$rows)
    }
  }
  table <- do.call(rbind, done)
  table[order(table$seed), ]
}

# Found beside this file, wherever the tests are.
fuzz_sources <- function(dir = testthat::test_path()) {
  files <- c("helper-tolerance.R", "helper-fuzz-models.R", "helper-fuzz-recipes.R", "helper-fuzz-checks.R",
    "helper-fuzz-run.R")
  normalizePath(file.path(dir, files), mustWork = TRUE)
}

# ---- workers ----

# A process that works on `seeds`. Its folder has its script, its output and its error messages.
hire <- function(seeds, examiner, sources) {
  folder <- tempfile("fuzz")
  dir.create(folder)
  file <- file.path(folder, "results")
  file.create(file)
  saveRDS(seeds, file.path(folder, "seeds.rds"))
  writeLines(c(
    "library(galvi)", sprintf("setwd(%s)", deparse1(normalizePath(folder))),
    "workplace <- new.env(parent = asNamespace(\"galvi\"))",
    sprintf("for (file in %s) sys.source(file, workplace)", deparse1(sources)),
    sprintf("workplace$fuzz_work(readRDS(\"seeds.rds\"), workplace$%s, \"results\")", examiner)
  ), file.path(folder, "work.R"))
  process <- processx::process$new(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", file.path(folder, "work.R")),
    stdout = NULL, stderr = file.path(folder, "stderr"),
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), OPENBLAS_NUM_THREADS = "1")
  )
  list(process = process, seeds = seeds, folder = folder, read = 0L, since = Sys.time(), interrupted = FALSE,
       hire = function(seeds) hire(seeds, examiner, sources))
}

dismiss <- function(worker) {
  if (is.null(worker$process)) return(invisible())
  worker$process$kill()
  unlink(worker$folder, recursive = TRUE)
}

# In the worker. Text in a line has no tabs or line breaks.
fuzz_work <- function(seeds, examine, file) {
  write <- function(...) {
    parts <- gsub("[\t\r\n]+", " ", c(...))
    cat(paste(parts, collapse = "\t"), "\n", file = file, sep = "", append = TRUE)
  }
  for (seed in seeds) {
    name <- format(seed, scientific = FALSE)
    step <- ""
    at <- function(where) {
      step <<- where
      write(name, where)
    }
    slow <- function(interrupt) {
      list(outcome = "slow", where = step, detail = "an interrupt ended it", checked = "")
    }
    at("the model")
    seconds <- system.time(found <- tryCatch(examine(seed, at), interrupt = slow))[["elapsed"]]
    write(name, found$outcome, found$where, found$detail, found$checked, seconds)
  }
}

# galvi promises to stop within a second; the machine may be busy.
seconds_to_hear <- 5
# until a new process has loaded galvi
seconds_to_start <- 60

fuzz_row <- function(seed, outcome, where, detail, checked = "", seconds = NA) {
  data.frame(
    seed = as.numeric(seed), outcome = outcome, where = where, detail = detail, checked = checked,
    seconds = as.numeric(seconds)
  )
}

# New results of a worker: list(worker, rows). A silent worker is interrupted and continues with the next seed. One that
# does not react, or is dead, is replaced by a new one for the remaining seeds.
watch <- function(worker, limit) {
  if (!length(worker$seeds)) return(list(worker = worker))
  alive <- worker$process$is_alive()
  lines <- strsplit(readLines(file.path(worker$folder, "results"), warn = FALSE), "\t", fixed = TRUE)
  fresh <- lines[seq_along(lines) > worker$read]
  if (length(fresh)) {
    worker$since <- Sys.time()
    worker$interrupted <- FALSE
  }
  worker$read <- length(lines)
  rows <- lapply(fresh[lengths(fresh) == 6L], function(parts) do.call(fuzz_row, as.list(parts)))
  worker$seeds <- setdiff(worker$seeds, vapply(rows, `[[`, 0, "seed"))
  silent <- as.numeric(Sys.time() - worker$since, units = "secs")
  if (!length(worker$seeds)) dismiss(worker)
  if (!length(lines)) limit <- max(limit, seconds_to_start)
  deaf <- silent > limit + seconds_to_hear
  # once: a second one could meet the worker after the seed, where nobody expects it
  if (alive && silent > limit && !deaf && !worker$interrupted) {
    worker$process$interrupt()
    worker$interrupted <- TRUE
  }
  if (!length(worker$seeds) || alive && !deaf) return(list(worker = worker, rows = rows))
  if (length(lines)) where <- lines[[length(lines)]][2L]
  fatal <- if (alive) {
    fuzz_row(worker$seeds[1L], "hang", where, "no answer, nor to an interrupt", seconds = silent)
  } else {
    words <- utils::tail(readLines(file.path(worker$folder, "stderr"), warn = FALSE), 3L)
    if (!length(lines)) stop("The fuzzer's worker did not start: ", paste(words, collapse = " "))
    status <- sprintf("exit status %d", worker$process$get_exit_status())
    fuzz_row(worker$seeds[1L], "crash", where, paste(c(status, words), collapse = " "))
  }
  dismiss(worker)
  rest <- worker$seeds[-1L]
  list(worker = if (length(rest)) worker$hire(rest) else list(seeds = rest), rows = c(rows, list(fatal)))
}

# ---- what was found ----

# How many models each invariant was checked on
fuzz_checked <- function(table) {
  base::table(factor(unlist(strsplit(table$checked, "; ", fixed = TRUE)), names(fuzz_invariants)))
}

fuzz_failed <- function(table) table[table$outcome %in% fuzz_failures, ]

# Kinds of findings: their messages without the numbers, with the seeds that caused them. The worst come first.
fuzz_kinds <- function(table) {
  if (!nrow(table)) return(table)
  text <- gsub("`[^`]*`|\"[^\"]*\"", "`.`", table$detail)
  text <- substr(gsub("-?[0-9][0-9.e+-]*|NaN|-?Inf", "#", text), 1, 100)
  kind <- paste(match(table$outcome, fuzz_outcomes), table$where, text, sep = "\t")
  kinds <- lapply(split(table, kind), function(rows) {
    cbind(rows[which.min(nchar(rows$detail)), c("outcome", "where", "detail")], count = nrow(rows),
          seeds = paste(utils::head(rows$seed, 6), collapse = ", "))
  })
  kinds <- do.call(rbind, kinds)
  kinds[order(match(kinds$outcome, fuzz_outcomes), -kinds$count), ]
}

# Counts of outcomes and of invariants checked, then a line per kind of failure and how to see it again.
fuzz_report <- function(table) {
  counts <- table(factor(table$outcome, fuzz_outcomes))
  checked <- fuzz_checked(table)
  kinds <- fuzz_kinds(fuzz_failed(table))
  c(
    sprintf("%6d %s", counts, names(counts)), sprintf("%6d models; of how many was checked whether", nrow(table)),
    sprintf("%6d %s", checked, names(checked)),
    if (nrow(kinds)) c(
      sprintf("%s: %s %s (%d: seeds %s)", kinds$outcome, kinds$where, kinds$detail, kinds$count, kinds$seeds),
      "One of them again: Rscript tools/fuzz.R --seed <seed>"
    )
  )
}
