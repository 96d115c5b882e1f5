# What vignettes say of the sources is true. The sources are only in the source tree.

from_root <- function(...) {
  root <- test_path("..", "..")
  skip_if_not(file.exists(file.path(root, "tools", "makevars.R")), "not in the source tree")
  file.path(root, ...)
}

vignettes <- function() list.files(from_root("vignettes"), "[.]Rmd$", full.names = TRUE)

read_vignette <- function(name) readLines(from_root("vignettes", paste0(name, ".Rmd")), encoding = "UTF-8")

matches <- function(pattern, text) unlist(regmatches(text, gregexpr(pattern, text, perl = TRUE)))

# The classes that calls of a function such as warn_galvi() raise: one entry for every call in R/.
raised <- function(raise) {
  found <- character()
  walk <- function(code) {
    if (is.call(code) && identical(code[[1L]], as.name(raise)) && is.character(code[[2L]])) {
      found <<- c(found, code[[2L]])
    }
    if (is.recursive(code)) for (part in as.list(code)) if (!missing(part)) walk(part)
  }
  for (file in list.files(from_root("R"), "[.]R$", full.names = TRUE)) walk(parse(file, keep.source = FALSE))
  found
}

test_that("troubleshooting has a section for every warning, and names no other class", {
  lines <- read_vignette("troubleshooting")
  warnings <- lines[(which(lines == "# Warnings") + 1L):(which(lines == "# Errors") - 1L)]
  section <- cumsum(startsWith(warnings, "## "))
  classes <- vapply(split(warnings, section)[-1L], function(text) {
    matches("(?<=^Class `galvi_warning_)[a-z]+", text)[1L]
  }, "")
  expect_false(anyNA(classes))
  ours <- table(raised("warn_galvi"))
  expect_gt(sum(ours), 10L)
  expect_setequal(classes, names(ours))
  for (what in names(ours)) {
    expect_gte(sum(classes == what), ours[[what]], label = sprintf("sections about galvi_warning_%s", what))
  }
})

test_that("troubleshooting has a row for every message, and its errors exist", {
  lines <- read_vignette("troubleshooting")
  table <- matches("(?<=^[|] `galvi_message_)[a-z]+", lines)
  # what typed priors do is in summary() only
  expect_setequal(table, setdiff(c(raised("inform_galvi"), raised("new_note")), "typed_prior"))
  errors <- setdiff(matches("(?<=`galvi_error_)[a-z]+", lines), "")
  expect_gt(length(unique(errors)), 5L)
  expect_setequal(intersect(errors, raised("stop_galvi")), errors)
})

test_that("files that vignettes name exist, with the functions that are said to be there", {
  named <- lapply(stats::setNames(vignettes(), basename(vignettes())), function(file) {
    matches("(?<=`)(src|R|bench|tools|inst)/[A-Za-z0-9_./-]+", readLines(file, encoding = "UTF-8"))
  })
  expect_gt(length(named[["theory.Rmd"]]), 20L)
  # what readers of extending are told to write
  yours <- c("src/likelihood/azzalini.h", "src/kernel/spectral_mixture.h")
  for (vignette in names(named)) {
    files <- setdiff(named[[vignette]], yours)
    expect_identical(files[!file.exists(from_root(files))], character(), label = vignette)
  }
  # `file` (`function()`, `Class`)
  text <- paste(read_vignette("theory"), collapse = " ")
  places <- strsplit(matches("`[A-Za-z_/]+[.](h|cpp|R)` \\(`[^`]+`[^)`]*(`[^`]+`[^)`]*)*\\)", text), "`", fixed = TRUE)
  expect_gt(length(places), 15L)
  for (place in places) {
    file <- place[2L]
    source <- paste(readLines(from_root(file)), collapse = "\n")
    for (name in matches("^[A-Za-z_]+(?=(\\(\\))?$)", place[-(1:2)])) {
      expect_true(grepl(paste0("\\b", name, "\\b"), source), label = sprintf("%s has %s", file, name))
    }
  }
})

test_that("vignettes that vignettes name exist", {
  for (file in vignettes()) {
    named <- matches("(?<=vignette\\(\")[a-z-]+", readLines(file, encoding = "UTF-8"))
    unknown <- setdiff(named, sub("[.]Rmd$", "", basename(vignettes())))
    expect_identical(unknown, character(), label = basename(file))
  }
})

test_that("headings of troubleshooting are words of messages", {
  lines <- read_vignette("troubleshooting")
  headings <- setdiff(sub("^## ", "", lines[startsWith(lines, "## ")]), c(
    "Missing values, and results that have fewer rows than the data", "The intercept is missing from an ordinal model"
  ))
  expect_gt(length(headings), 20L)
  sources <- list.files(from_root(c("R", "src")), "[.](R|h|cpp)$", recursive = TRUE, full.names = TRUE)
  words <- function(text) strsplit(gsub("[^[:alnum:]_()]+", " ", text), " ", fixed = TRUE)[[1L]]
  said <- paste(words(paste(unlist(lapply(sources, readLines)), collapse = " ")), collapse = " ")
  # three words in a row
  for (heading in headings) {
    runs <- apply(stats::embed(words(heading), 3L)[, 3:1, drop = FALSE], 1L, paste, collapse = " ")
    expect_true(any(vapply(runs, grepl, NA, said, fixed = TRUE)), label = heading)
  }
})
