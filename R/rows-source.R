# Sources of rows that are not in memory; those of databases and files are in R/rows-readers.R. R/rows-scan.R reads them
# for the first time, R/rows-passes.R again and again.

#' Data that are not in memory: databases, files, functions
#'
#' `row_source()` describes where rows are read from, in chunks. [galvi()] takes such a source as `data`, or anything
#' that has a method here, and fits models to tables larger than memory by passes over the rows.
#'
#' A first pass finds the levels of factors and text columns and takes a sample of up to 50,000 rows across the table,
#' which contains all levels and the minimum and maximum of all numbers. Default priors, starting values, initial
#' inducing points and the parameters of expressions such as `scale(x)` and `ns(x, 4)` come from this sample; the columns
#' of `poly(x, 2)` have length one over all rows. A second pass checks and counts all rows. A table of up to 50,000 rows
#' is read into memory and gives the fit of a data frame.
#'
#' Larger tables need a model of fixed effects, smooths and [gp()] terms with `inducing`. Inference then reads all rows
#' in every pass, `galvi_control(chunk_rows = )` at a time; the results do not depend on the size of the chunks. With
#' [smooths] up to 256 MiB of their columns are kept between passes, as they take longer to compute than to read.
#' A process over one input with a Markov kernel, or of places given their `neighbours` (see [gp()]), needs the rows in an
#' order of its own: they are read into memory once, the columns that the formula names at 8 bytes a number, and the
#' fit is that of a data frame (`galvi_message_size` says so). Inference then takes some hundred bytes a row.
#'
#' * The rows must be the same, in the same order, in every pass. Give a query an `ORDER BY` if the database does
#'   not guarantee the order. Where another process may write to an SQLite file, let the connection wait for its lock,
#'   by `RSQLite::sqliteSetBusyHandler(con, 10000)`.
#' * `weights`, `offset` and `subset` are evaluated in each chunk, so `subset` must be logical.
#' * Levels of an expression such as `factor(k)` are those of the sample; let the source return text or a factor
#' instead.
#'
#' The fit keeps the sample, for plots, and no connection. [predict()][predict.galvi], [fitted()][fitted.galvi] and
#' [residuals()][residuals.galvi] take a source as `newdata`. Without `newdata` they are an error, as are methods that
#' need all rows, such as [loo()][loo.galvi].
#'
#' @param x The source of the rows, one of
#'   * a data frame;
#'   * a function with an argument `reset`, as in package biglm: `f(reset = TRUE)` starts again, `f(reset = FALSE)`
#'     returns the next data frame, or NULL after the last;
#'   * a DBI connection, with `from` (package RPostgres fetches results from the server in chunks, RPostgreSQL fetches
#'     them all);
#'   * a function without arguments that opens a DBI connection, with `from`: every pass opens and closes its own
#'     connection, as workers of `galvi_control(cluster = )` need;
#'   * a lazy table of package dbplyr;
#'   * a data set of `arrow::open_dataset()`;
#'   * paths of Parquet files (with package arrow, or nanoparquet, which reads one file at a time, whatever its size)
#'     or of CSV files with a header. All files must have the same columns.
#' @param from The name of a table, or an SQL query that begins with `SELECT` or `WITH`.
#' @param ... For CSV files arguments of [utils::read.csv()], such as `colClasses = c(id = "character")` for a text
#'   column that contains numbers. Must be empty otherwise.
#' @return A list of class `galvi_row_source` with elements `label`, a description; `columns`, their names; and
#'   `open(columns, rows)`, which starts a pass and returns a list of two functions: `read()`, which returns the next
#'   data frame of about `rows` rows, or NULL, and `close()`.
#' @section Errors:
#' `galvi_error_data` where a source cannot be read, its rows change between passes or a file or package is
#' missing; `galvi_error_unfinished` where reading fails while [galvi()] runs (the fit so far is [galvi_last()]).
#' @seealso `vignette("many-rows", package = "galvi")`.
#' @family large data
#' @examples
#' # a function that generates its rows
#' chunk <- 0
#' rows <- function(reset) {
#'   if (reset) return(chunk <<- 0)
#'   if (chunk == 60) return(NULL)
#'   chunk <<- chunk + 1
#'   x <- seq(-1, 1, length.out = 1000)
#'   data.frame(x = x, y = as.numeric(x + sin(1e3 * chunk * x) > 0))
#' }
#' fit <- galvi(y ~ x, data = rows, family = binomial())
#' nobs(fit)
#' coef(fit)
#' @examplesIf requireNamespace("RSQLite", quietly = TRUE)
#'
#' # a table in a database, and a query
#' con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
#' DBI::dbWriteTable(con, "cars", cars)
#' coef(galvi(dist ~ speed, data = row_source(con, "cars")))
#' fast <- row_source(con, "SELECT * FROM cars WHERE speed > 5 ORDER BY speed")
#' coef(galvi(dist ~ speed, data = fast))
#' DBI::dbDisconnect(con)
#' @export
row_source <- function(x, ...) {
  UseMethod("row_source")
}

#' @export
row_source.default <- function(x, ...) {
  refuse_dots(list(...), row_source.default, "row_source()")
  stop_galvi("data", sprintf("`data` must be a data frame or what row_source() takes, not %s.", describe(x)))
}

#' @export
row_source.galvi_row_source <- function(x, ...) {
  refuse_dots(list(...), row_source.galvi_row_source, "row_source()")
  x
}

#' @rdname row_source
#' @export
row_source.data.frame <- function(x, ...) {
  refuse_dots(list(...), row_source.data.frame, "row_source()")
  new_row_source("the data frame", names(x), function(columns, rows) whole_tables(list(function() x)))
}

# stats::df(), as galvi(y ~ x, df) finds it where the user has no df; NULL for a function of the user's
function_of_package <- function(f) {
  space <- if (is.primitive(f)) baseenv() else topenv(environment(f))
  package <- environmentName(space)
  if (!nzchar(package) || identical(space, globalenv())) return(NULL)
  name <- Find(function(name) identical(get(name, envir = space), f), ls(space))
  if (is.null(name)) NULL else sprintf("%s::%s()", package, name)
}

#' @rdname row_source
#' @export
row_source.function <- function(x, from, ...) {
  refuse_dots(list(...), row_source.function, "row_source()")
  if (!missing(from)) return(connecting_source(x, from))
  if (!"reset" %in% names(formals(args(x)))) {
    of_r <- function_of_package(x)
    if (!is.null(of_r)) stop_galvi("data", sprintf(
      "`data` is the function %s: no data frame called `%s` is defined here.", of_r, sub(".*::(.*)\\(\\)", "\\1", of_r)
    ))
    stop_galvi("data", paste(
      "`data` must be a data frame or what row_source() takes, not a function without the argument",
      "`reset`."
    ))
  }
  first <- reading("the function", {
    x(reset = TRUE)
    x(reset = FALSE)
  })
  if (is.null(first)) stop_no_rows("the function")
  if (!is.data.frame(first)) {
    stop_galvi("data", sprintf(
      "`data(reset = FALSE)` must be a data frame or NULL, not %s.", describe(first)
    ))
  }
  known <- signature_of_rows(first)
  names <- names(first)
  rm(first) # the source may be sent to workers
  new_row_source("the function", names, function(columns, rows) {
    x(reset = TRUE)
    begun <- FALSE
    read <- function() {
      table <- x(reset = FALSE)
      # other columns have an error of their own
      comparable <- is.null(table) || is.data.frame(table) && setequal(names(table), names)
      if (!begun && comparable && !identical(signature_of_rows(table), known)) stop_not_started_again()
      begun <<- TRUE
      table
    }
    list(read = read, close = function() NULL)
  })
}

stop_not_started_again <- function() {
  stop_galvi("data", paste(
    "The first rows of the function differ from those of the first pass: `data(reset = TRUE)` must start again at the",
    "first row, and `data(reset = FALSE)` must give the same rows in every pass."
  ))
}

#' Numbers that differ if rows do, or their order: their count and, of each column, the sum of place x value and the sum
#' of its absolute terms
#' @param before Number of rows before these.
#' @noRd
signature_of_rows <- function(rows, before = 0) {
  if (is.null(rows)) return(NULL)
  place <- before + seq_len(nrow(rows))
  of_column <- function(x) {
    value <- if (is.numeric(x) || is.logical(x)) as.numeric(x) else if (is.atomic(x)) number_of_text(as.character(x))
    if (is.null(value)) return(c(0, 0))
    odd <- !is.finite(value)
    # NA, NaN, Inf and -Inf
    if (any(odd)) value[odd] <- 0.5 + match(value[odd], c(NA, NaN, Inf, -Inf))
    terms <- place * value
    c(sum(terms), sum(abs(terms)))
  }
  # in the order of their names, as a reader may give columns in another one
  columns <- as.list(rows)[sort(names(rows))]
  c(nrow(rows), vapply(unname(columns), of_column, numeric(2L)))
}

number_of_text <- function(x) {
  known <- unique(x)
  number <- vapply(known, function(text) {
    if (is.na(text)) return(0.5)
    code <- as.numeric(charToRaw(text))
    sum(code * seq_along(code)^2)
  }, 0)
  unname(number)[match(x, known)]
}

#' Are two sums of signatures equal but for rounding?
#' @noRd
same_signature <- function(a, b) {
  size <- matrix(pmax(a, b)[-1L], 2L)[2L, ]
  a[1L] == b[1L] && all(abs(a - b)[-1L] <= 1e-9 * rep(size, each = 2L))
}

#' @rdname row_source
#' @exportS3Method row_source DBIConnection
row_source.DBIConnection <- function(x, from, ...) {
  refuse_dots(list(...), row_source.DBIConnection, "row_source()")
  if (missing(from)) from <- NULL
  table <- quoted_table(x, from)
  query_source(x, table$sql, table$label)
}

#' @exportS3Method row_source tbl_lazy
row_source.tbl_lazy <- function(x, ...) {
  refuse_dots(list(...), row_source.tbl_lazy, "row_source()")
  query_source(dbplyr::remote_con(x), sprintf("(%s)", dbplyr::remote_query(x)), "the lazy table")
}

#' @exportS3Method row_source Dataset
row_source.Dataset <- function(x, ...) {
  refuse_dots(list(...), row_source.Dataset, "row_source()")
  new_row_source("the arrow dataset", names(x), function(columns, rows) read_dataset(x, columns, rows), FALSE)
}

read_dataset <- function(dataset, columns, rows) {
  batches <- arrow::Scanner$create(dataset, projection = columns, batch_size = rows)$ToRecordBatchReader()
  list(read = function() {
    batch <- batches$read_next_batch()
    if (!is.null(batch)) as.data.frame(batch)
  }, close = function() NULL)
}

#' @rdname row_source
#' @export
row_source.character <- function(x, ...) {
  kind <- unique(tolower(sub(".*[.]", "", sub("[.]gz$", "", x))))
  is_csv <- identical(kind, "csv")
  if (!is_csv) refuse_dots(list(...), row_source.character, "row_source()")
  missing <- x[!file.exists(x)]
  if (length(missing) || !length(x)) {
    stop_galvi("data", sprintf(
      "`data` must be a data frame or what row_source() takes; %s is not a file.",
      if (length(x)) dQuote(missing[1L], FALSE) else "character()"
    ))
  }
  x <- normalizePath(x)  # workers may be elsewhere
  if (is_csv) return(csv_source(x, list(...)))
  if (!identical(kind, "parquet")) {
    stop_galvi("data", sprintf(
      "Paths in `data` must all end in .parquet or all in .csv; %s does not.", dQuote(x[1L], FALSE)
    ))
  }
  if (has_package("arrow")) {
    return(new_row_source("the Parquet files", names(arrow::open_dataset(x)), function(columns, rows) {
      read_dataset(arrow::open_dataset(x), columns, rows)
    }))
  }
  if (has_package("nanoparquet")) return(parquet_source(x))
  stop_galvi("data", "Parquet files need the package arrow or nanoparquet: install one of them.")
}

#' @export
print.galvi_row_source <- function(x, ...) {
  refuse_print_dots(list(...), print.galvi_row_source)
  print_wrapped(sprintf("Rows of %s: %s", x$label, quote_names(x$columns)))
  invisible(x)
}

# ---- the object ----

#' @param label In errors: "the table `flights`".
#' @param open function(columns, rows) -> list(read, close), see ?row_source. read() may give more columns
#'   and rows than were asked for.
#' @param travels Does `open` also work in another process?
#' @noRd
new_row_source <- function(label, columns, open, travels = TRUE) {
  structure(list(label = label, columns = columns, open = open, travels = travels), class = "galvi_row_source")
}

#' Does galvi(data = ) read this by row_source()? Data frames, and what is converted to one, are in memory.
#' @noRd
is_row_source <- function(x) {
  known <- c("galvi_row_source", "function", "character", "DBIConnection", "tbl_lazy", "ArrowObject")
  inherits(x, known) && !is.matrix(x)
}

has_package <- function(package) requireNamespace(package, quietly = TRUE)

stop_no_rows <- function(label) stop_galvi("data", sprintf("`data` is empty: %s has no rows.", label))

# Errors while rows are read are errors about data.
reading <- function(label, expr, rows = 0) {
  tryCatch(expr, error = function(e) {
    if (inherits(e, "galvi_error")) stop(e)
    stop_galvi("data", sprintf(
      "`data`: reading %s failed%s: %s", label, if (rows > 0) sprintf(" after row %s", row_number(rows)) else "",
      conditionMessage(e)
    ))
  })
}

# One table after the other, each made when it is needed.
whole_tables <- function(tables) {
  at <- 0L
  list(read = function() if (at < length(tables)) tables[[at <<- at + 1L]](), close = function() NULL)
}

# ---- reading any source ----

check_readable_columns <- function(table, label) {
  lists <- names(table)[vapply(table, function(x) is.list(x), NA)]
  if (!length(lists)) return(invisible())
  x <- table[[lists[1L]]]
  binary <- all(vapply(x, function(x) is.raw(x) || is.null(x), NA))
  kind <- if (is.data.frame(x)) "columns of its own" else if (binary) "binary values (BLOB)" else "lists"
  stop_galvi("data", sprintf(
    "The column `%s` of %s has %s, which a model cannot read: name the other columns in the formula, or leave it out.",
    lists[1L], label, kind
  ))
}

#' Chunks of a source as data frames of the columns that are wanted
#'
#' @return list(read: the next data frame of 1 to `rows` rows, or NULL; close). read() counts: its result has
#'   the number of rows before it as attribute `before`.
#' @noRd
read_rows <- function(source, columns, rows) {
  chunks <- reading(source$label, source$open(columns, rows))
  table <- NULL
  taken <- 0L  # of the table
  seen <- 0    # of all rows
  next_table <- function() {
    table <<- reading(source$label, chunks$read(), seen)
    taken <<- 0L
    if (is.null(table)) return(invisible())
    if (!is.data.frame(table)) {
      stop_galvi("data", sprintf("`data`: %s must give data frames, not %s.", source$label, describe(table)))
    }
    missing <- setdiff(columns, names(table))
    if (!length(missing)) {
      table <<- as.data.frame(table)[columns]
      listed <- vapply(table, inherits, NA, "POSIXlt")
      if (any(listed)) table[listed] <<- lapply(table[listed], as.POSIXct)
      check_readable_columns(table, source$label)
      table <<- without_integer64(table)
      return(invisible())
    }
    stop_galvi("data", sprintf(
      "The rows of %s after row %s have no column `%s`, which those before have.", source$label,
      row_number(seen), missing[1L]
    ))
  }
  read <- function() {
    while (is.null(table) || taken == nrow(table)) {
      next_table()
      if (is.null(table)) return(NULL)
    }
    count <- min(rows, nrow(table) - taken)
    out <- if (count == nrow(table)) table else table[taken + seq_len(count), , drop = FALSE]
    taken <<- taken + count
    attr(out, "before") <- seen
    seen <<- seen + count
    out
  }
  list(read = read, close = function() chunks$close())
}
