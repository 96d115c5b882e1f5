# The web site's table of contents, _pkgdown.yml, which is only in the source tree.

listed <- function(part) {
  file <- test_path("..", "..", "_pkgdown.yml")
  skip_if_not(file.exists(file), "not in the source tree")
  skip_if_not_installed("yaml")
  unlist(lapply(yaml::read_yaml(file)[[part]], `[[`, "contents"))
}

pages <- function(folder, extension) {
  sub(extension, "", list.files(test_path("..", "..", folder), extension))
}

test_that("the web site lists every help page and every vignette once", {
  expect_identical(sort(listed("reference")), sort(pages("man", "[.]Rd$")))
  expect_identical(sort(listed("articles")), sort(pages("vignettes", "[.]Rmd$")))
})
