# What tools/ writes and is committed must be fresh. Only where the whole source tree is at hand.

source_tree <- function() {
  root <- normalizePath(test_path("..", ".."), mustWork = TRUE)
  skip_if_not(file.exists(file.path(root, "tools", "makevars.R")), "not in the source tree")
  root
}

# What `tools/makevars.R --check` says in the folder `root`, with its exit status: NULL where nothing is stale.
makevars_status <- function(root) {
  here <- setwd(root)
  on.exit(setwd(here))
  output <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("tools/makevars.R", "--check"),
                                     stdout = TRUE, stderr = TRUE))
  list(status = attr(output, "status"), said = paste(output, collapse = "\n"))
}

test_that("src/Makevars lists every object and what it includes", {
  checked <- makevars_status(source_tree())
  expect_null(checked$status, info = checked$said)
})

test_that("src/Makevars is stale when a file includes something new", {
  root <- source_tree()
  copy <- tempfile("galvi")
  dir.create(file.path(copy, "tests", "probes"), recursive = TRUE)
  sources <- file.path("src", list.files(file.path(root, "src"), "\\.(cpp|h)$|^Makevars", recursive = TRUE))
  for (folder in unique(dirname(sources))) dir.create(file.path(copy, folder), showWarnings = FALSE, recursive = TRUE)
  file.copy(file.path(root, sources), file.path(copy, sources))
  file.copy(file.path(root, "tools"), copy, recursive = TRUE)
  file.copy(file.path(root, "tests", "probes", "src"), file.path(copy, "tests", "probes"), recursive = TRUE)
  expect_null(makevars_status(copy)$status)
  cat("#include \"numeric/lbfgs.h\"\n", file = file.path(copy, "src", "kernel", "linear.h"), append = TRUE)
  checked <- makevars_status(copy)
  expect_identical(checked$status, 1L)
  expect_match(checked$said, "stale: src/Makevars, src/Makevars.win;", fixed = TRUE)
})

test_that("RcppExports are those of the exported functions", {
  root <- source_tree()
  copy <- tempfile("galvi")
  dir.create(file.path(copy, "R"), recursive = TRUE)
  dir.create(file.path(copy, "src"))
  file.copy(file.path(root, c("DESCRIPTION", "NAMESPACE")), copy)
  file.copy(list.files(file.path(root, "src"), "\\.(cpp|h)$", full.names = TRUE), file.path(copy, "src"))
  Rcpp::compileAttributes(copy)
  for (file in c("R/RcppExports.R", "src/RcppExports.cpp")) {
    expect_identical(readLines(file.path(root, file)), readLines(file.path(copy, file)))
  }
})

# Who includes whom in src/: a row for each include.
includes_of <- function(src) {
  files <- grep("^build/", list.files(src, "\\.(h|cpp)$", recursive = TRUE), value = TRUE, invert = TRUE)
  included <- lapply(stats::setNames(file.path(src, files), files), function(path) {
    regmatches(text <- readLines(path), regexpr("(?<=^#include \").*(?=\")", text, perl = TRUE))
  })
  edges <- data.frame(from = rep(files, lengths(included)), to = unlist(included, use.names = FALSE))
  expect_true(all(edges$to %in% files))
  edges
}

test_that("no file of src/ includes itself in a circle", {
  edges <- includes_of(file.path(source_tree(), "src"))
  # what includes nothing that is left, or is included by nothing that is left, is in no circle
  while (any(done <- !edges$to %in% edges$from | !edges$from %in% edges$to)) edges <- edges[!done, ]
  expect_identical(sprintf("%s includes %s", edges$from, edges$to), character())
})

test_that("folders of src/ include one another only downwards in the order of ARCHITECTURE.md", {
  root <- source_tree()
  edges <- includes_of(file.path(root, "src"))
  page <- readLines(file.path(root, "ARCHITECTURE.md"), encoding = "UTF-8")
  begin <- grep("^A file of `src/` includes files of its own folder", page)
  expect_length(begin, 1L)
  listed <- page[cumsum(seq_along(page) > begin & !startsWith(page, "    ") & nzchar(page)) == 0L &
                   seq_along(page) > begin]
  order <- scan(text = listed, what = "", quiet = TRUE)
  folders <- setdiff(list.dirs(file.path(root, "src"), full.names = FALSE, recursive = FALSE), "build")
  expect_setequal(order, folders)
  # files at the top of src/ are the border's
  floor_of <- function(files) match(ifelse(dirname(files) == ".", "border", dirname(files)), order)
  upward <- edges[floor_of(edges$to) > floor_of(edges$from), ]
  expect_identical(sprintf("%s includes %s", upward$from, upward$to), character())
})

# What is defined at the top of the files of R/: name, file, and the expression.
definitions_of <- function(folder) {
  files <- setdiff(list.files(folder, "\\.R$", full.names = TRUE), file.path(folder, "RcppExports.R"))
  unlist(lapply(files, function(file) {
    assigned <- Filter(function(e) is.call(e) && identical(e[[1L]], quote(`<-`)) && is.symbol(e[[2L]]), parse(file))
    lapply(assigned, function(e) list(name = as.character(e[[2L]]), file = basename(file), value = e[[3L]]))
  }), recursive = FALSE)
}

test_that("functions of R/ call others only downwards in the order of ARCHITECTURE.md", {
  root <- source_tree()
  page <- readLines(file.path(root, "ARCHITECTURE.md"), encoding = "UTF-8")
  begin <- grep("^file's name is its floor:", page)
  expect_length(begin, 1L)
  order <- scan(text = page[begin + 2L], what = "", quiet = TRUE)
  defined <- definitions_of(file.path(root, "R"))
  names <- vapply(defined, `[[`, "", "name")
  floor <- match(sub("[-.].*", "", vapply(defined, `[[`, "", "file")), order)
  expect_identical(unique(vapply(defined[is.na(floor)], `[[`, "", "file")), character())
  upward <- unlist(lapply(seq_along(defined), function(i) {
    value <- defined[[i]]$value
    is_function <- is.call(value) && identical(value[[1L]], quote(`function`))
    used <- if (is_function) codetools::findGlobals(eval(value, globalenv())) else all.names(value)
    above <- intersect(used, names[floor > floor[i]])
    if (length(above)) sprintf("%s (%s) calls %s", names[i], defined[[i]]$file, above)
  }))
  expect_gt(length(defined), 1000L)
  expect_identical(upward, NULL)
})

test_that("the axes of ARCHITECTURE.md name every algorithm and every expectation, and nothing else", {
  page <- readLines(file.path(source_tree(), "ARCHITECTURE.md"), encoding = "UTF-8")
  named <- function(axis) {
    row <- strsplit(page[startsWith(page, sprintf("| `%s/` |", axis))], "|", fixed = TRUE)[[1L]][4L]
    words <- sub(" .*", "", trimws(strsplit(gsub("[[:alpha:] ]+:|\\([^)]*\\)", " ", row), "[,;.]")[[1L]]))
    setdiff(words, "")
  }
  expect_setequal(named("inference"), inference_facts()$name)
  expect_setequal(named("expectation"), expectation_facts()$name)
})

test_that("no two functions of R/ have one name", {
  files <- list.files(file.path(source_tree(), "R"), "\\.R$", full.names = TRUE)
  lines <- unlist(lapply(files, readLines))
  names <- regmatches(lines, regexpr("^[[:alpha:].][[:alnum:]._]*(?= <- function)", lines, perl = TRUE))
  expect_identical(names[duplicated(names)], character())
})

test_that("files that the pages for developers and comments name exist", {
  here <- setwd(source_tree())
  on.exit(setwd(here))
  pages <- c("ARCHITECTURE.md", "CONTRIBUTING.md")
  code <- list.files(c("R", "src"), "\\.(R|h|cpp)$", recursive = TRUE, full.names = TRUE)
  # from the root or from src/; `*` and <name> stand for anything; on the pages also files without a folder
  places <- c("", "src/", "src/*/", "tests/testthat/")
  exists <- function(path) length(Sys.glob(paste0(places, gsub("<[a-z]+>", "*", path)))) > 0L
  named_in <- function(files, pattern) {
    lines <- unlist(lapply(files, readLines, encoding = "UTF-8"))
    unique(unlist(regmatches(lines, gregexpr(pattern, lines, perl = TRUE))))
  }
  on_pages <- named_in(pages, "(?<![\\w.*/<>-])[\\w.*/<>-]+(\\.(R|Rmd|h|cpp|md|yml)\\b|/(?=`))")
  in_code <- named_in(code, "(?<![\\w./])(R|tools|tests/\\w+)/[\\w.-]+\\.R\\b|(?<![\\w./])src/[\\w./-]+\\.(h|cpp)\\b")
  expect_gt(length(on_pages), 80L)
  expect_gt(length(in_code), 25L)
  expect_identical(Filter(Negate(exists), c(on_pages, in_code)), character())
})

test_that("kinds of plots draw nothing themselves", {
  files <- list.files(file.path(source_tree(), "R"), "^plot", full.names = TRUE)
  back_ends <- paste0("plot-", c("base", "margins", "ggplot"), ".R")
  kinds <- files[!basename(files) %in% back_ends]
  expect_gt(length(kinds), 10L)
  for (file in kinds) {
    code <- sub("#.*", "", readLines(file))
    expect_false(any(grepl("\\b(graphics|ggplot2|grid)::", code, perl = TRUE)), label = basename(file))
  }
})
