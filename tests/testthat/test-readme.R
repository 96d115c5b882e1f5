# README and the citation. README is only in the source tree.

readme <- function() {
  file <- test_path("..", "..", "README.md")
  skip_if_not(file.exists(file), "not in the source tree")
  readLines(file, encoding = "UTF-8")
}

# The lines of the R chunks of a markdown file.
r_chunks <- function(lines) {
  fence <- startsWith(lines, "```")
  open <- cumsum(fence) %% 2 == 1 & !fence
  chunk <- cumsum(fence & cumsum(fence) %% 2 == 1)
  is_r <- lines[fence][c(TRUE, FALSE)] == "```r"
  lines[open & is_r[pmax(chunk, 1L)]]
}

test_that("every line of R in README runs as it is written", {
  code <- r_chunks(readme())
  expect_gt(length(code), 10L)
  skip_on_cran()
  skip_if_not_installed("MASS")
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  env <- new.env(parent = globalenv())
  for (expr in parse(text = code)) {
    expect_error(utils::capture.output(value <- eval(expr, env)), NA, info = deparse1(expr))
    if (inherits(value, "galvi")) expect_true(value$convergence$converged, info = deparse1(expr))
  }
})

test_that("help pages and functions that README names exist", {
  text <- paste(readme(), collapse = "\n")
  named <- function(pattern) unique(sub(pattern, "\\1", regmatches(text, gregexpr(pattern, text))[[1L]]))
  topics <- named("`[?]([a-z0-9_.]+)`")
  expect_gt(length(topics), 5L)
  for (topic in topics) expect_length(as.character(utils::help((topic), package = "galvi")), 1L)
  for (name in named("`([a-z_]+)\\(\\)`")) expect_true(exists(name), label = name)
  vignettes <- named("vignette\\(\"([a-z-]+)\"")
  expect_setequal(paste0(vignettes, ".Rmd"), list.files(test_path("..", "..", "vignettes"), "Rmd$"))
})

test_that("the citation has authors, title and year", {
  entry <- citation("galvi")
  expect_identical(format(entry$author, include = c("given", "family")), "The galvi authors")
  expect_match(entry$year, "^20[0-9]{2}$")
  expect_match(entry$title, "^galvi: ")
  expect_match(paste(format(entry), collapse = " "), "The galvi authors \\(20[0-9]{2}\\)")
})
