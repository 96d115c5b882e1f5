# What row_source() reads: separators, queries, names of tables, kinds of columns.

slope <- function(source) unname(coef(galvi(dist ~ speed, source, hyper = "fixed"))[2])

test_that("CSV files with other separators, comments and encodings are read", {
  expected <- slope(cars)
  path <- tempfile(fileext = ".csv")
  on.exit(unlink(path))
  utils::write.csv2(transform(cars, dist = dist + 0.5), path, row.names = FALSE)
  expect_equal(slope(row_source(path, sep = ";", dec = ",")), expected, tolerance = 1e-9) # another intercept
  expect_error(row_source(path), "sep = \";\", dec", class = "galvi_error_data")
  utils::write.table(cars, path, sep = "\t", row.names = FALSE)
  expect_identical(slope(row_source(path, sep = "\t")), expected)
  lines <- c("# made by hand", "", "speed;dist", "# inside", paste(cars$speed, cars$dist, sep = ";"))
  writeLines(lines, path)
  expect_identical(slope(row_source(path, sep = ";", comment.char = "#")), expected)
})

test_that("queries and tables are told apart, and read whatever ends them", {
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  on.exit(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "cars", cars)
  DBI::dbWriteTable(con, "select x", cars)
  DBI::dbExecute(con, "ATTACH ':memory:' AS other")
  DBI::dbWriteTable(con, DBI::Id(schema = "other", table = "t"), cars)
  expected <- slope(cars)
  sources <- list(
    "SELECT * FROM cars -- all of them", "SELECT * FROM cars; -- all", "SELECT * FROM cars ; /* x; */ \n ;",
    "-- mine\n select *, '; --' AS note FROM cars WHERE '; -- ' != \"speed\"", "SELECT*FROM cars",
    "WITH a AS (SELECT * FROM cars) SELECT * FROM a;", "(SELECT * FROM cars)", "select x",
    DBI::Id(schema = "other", table = "t"), DBI::SQL("other.t"), DBI::SQL("SELECT * FROM cars")
  )
  for (from in sources) expect_identical(slope(row_source(con, from)), expected, info = format(from))
  expect_error(row_source(con, 3), "DBI::Id", class = "galvi_error_data")
})

test_that("columns that no model reads are named, where they are used", {
  n <- 30
  d <- data.frame(y = sin(1:n), x = cos(1:n))
  d$list <- lapply(1:n, function(i) as.raw(i))
  d$inner <- data.frame(a = 1:n, b = 2)
  d$both <- matrix(cos(2 * seq_len(2 * n)), n)
  d$when <- as.POSIXlt(as.POSIXct("2024-01-01", tz = "UTC") + 86400 * seq_len(n)^1.5)
  rows <- function() {
    at <- 0
    function(reset) if (reset) at <<- 0 else if (at < 3) d[10 * (at <<- at + 1) - 9:0, ]
  }
  fit <- galvi(y ~ both + when, rows(), hyper = "fixed")
  expect_equal(coef(fit), coef(galvi(y ~ both + when, transform(d, when = as.POSIXct(when)), hyper = "fixed")),
    tolerance = 1e-9, ignore_attr = TRUE) # the same numbers
  expect_error(galvi(y ~ list, rows()), "`list` of the function has binary values", class = "galvi_error_data")
  expect_error(galvi(y ~ inner, rows()), "`inner` of the function has columns of its own", class = "galvi_error_data")
})

test_that("dates are not levels: a long table of dates stays a source", {
  n <- 52000
  d <- data.frame(y = sin(1:n), day = as.Date("1900-01-01") + seq_len(n) %% 40000, id = as.character(1:n))
  halves <- split(d, rep(1:2, each = n / 2))
  at <- 0
  rows <- function(reset) if (reset) at <<- 0 else if (at < 2) halves[[at <<- at + 1]]
  fit <- galvi(y ~ day, rows, hyper = "fixed")
  expect_lt(nrow(fit$data), n)
  # a level for each row: all rows are in memory
  fit <- galvi(y ~ 1 + iid(id), rows, hyper = "fixed")
  expect_equal(nrow(fit$data), n)
})
