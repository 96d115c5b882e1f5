# The message of a galvi error, which must come.
message_of_error <- function(expr) {
  tryCatch({
    expr
    testthat::fail("no error")
  }, galvi_error = conditionMessage)
}

# Call, class and message of every error in a block. By hand, because testthat's own record of an error
# changes from version to version.
error_text <- function(block) {
  env <- parent.frame()
  unlist(lapply(as.list(substitute(block))[-1L], function(expr) {
    found <- tryCatch({
      eval(expr, env)
      "no error"
    }, error = function(e) c(sprintf("  <%s>", class(e)[1L]), strwrap(conditionMessage(e), 100L, 2L, 2L)))
    c(deparse(expr, width.cutoff = 500L), found)
  }))
}

# The messages of a block's errors as a snapshot.
expect_error_snapshot <- function(block) {
  text <- eval(bquote(error_text(.(substitute(block)))), parent.frame())
  expect_snapshot(cat(text, sep = "\n"))
}
