# testthat's expect_true(), expect_false() and expect_identical() set the console's options aside and describe a
# difference before they ask whether there is one: 2 ms each, of which the tests have tens of thousands. These ask first.
# What differs is testthat's, as are its words.

expect_true <- function(object, info = NULL, label = NULL) {
  if (isTRUE(as.vector(object))) return(met(object))
  testthat::expect_true(object, info, label_or(label, substitute(object)))
}

expect_false <- function(object, info = NULL, label = NULL) {
  if (isFALSE(as.vector(object))) return(met(object))
  testthat::expect_false(object, info, label_or(label, substitute(object)))
}

expect_identical <- function(object, expected, info = NULL, label = NULL, expected.label = NULL, ...) {
  if (identical(object, expected)) return(met(object))
  testthat::expect_identical(object, expected, info, label_or(label, substitute(object)),
                             label_or(expected.label, substitute(expected)), ...)
}

# An expectation that is met, of whose failure nothing needs to be said.
met <- function(object) {
  testthat::expect(TRUE, "")
  invisible(object)
}

label_or <- function(label, code) if (is.null(label)) paste0("`", deparse1(code), "`") else label
