test_that("ionosphere is as documented", {
  expect_identical(dim(ionosphere), c(351L, 34L))
  expect_identical(levels(ionosphere$Class), c("bad", "good"))
  expect_identical(as.vector(table(ionosphere$Class)), c(126L, 225L))
  expect_false(anyNA(ionosphere))
})

test_that("banana is as documented", {
  expect_identical(dim(banana), c(400L, 3L))
  expect_identical(as.vector(table(banana$y)), c(183L, 217L))
  expect_false(anyNA(banana))
})

test_that("sleepstudy is as documented", {
  expect_identical(dim(sleepstudy), c(180L, 3L))
  expect_identical(nlevels(sleepstudy$Subject), 18L)
  expect_setequal(sleepstudy$Days, 0:9)
  expect_false(anyNA(sleepstudy))
})

test_that("arithmetic with factors is an error, and not a response that is missing in all rows", {
  expect_error(galvi((Reaction | Subject) ~ Days, sleepstudy), "not meaningful for factors", class = "galvi_error_data")
  expect_error(galvi(Reaction ~ I(Subject + 1), sleepstudy), "not meaningful for factors", class = "galvi_error_data")
})

test_that("a table is data with its counts as Freq, as in lm()", {
  for (table in list(UCBAdmissions, margin.table(UCBAdmissions, 1:2), margin.table(UCBAdmissions, 3))) {
    formula <- stats::reformulate(names(dimnames(table))[1L], "Freq")
    expect_equal(fitted(galvi(formula, table, poisson())), fitted(galvi(formula, as.data.frame(table), poisson())))
  }
})
