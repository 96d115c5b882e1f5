# Row sources of databases: a table or a query, by package DBI.

# `from` as SQL with quoted names, and in words.
quoted_table <- function(con, from) {
  if (!is.character(from) || length(from) != 1L || is.na(from)) {
    stop_galvi("data", paste(
      "A connection needs the name of a table or an SQL query too: `row_source(con, \"table\")`, or",
      "`row_source(con, \"SELECT ...\")`."
    ))
  }
  is_query <- grepl("^[[:space:](]*(SELECT|WITH)[[:space:]]", from, ignore.case = TRUE)
  if (is_query) return(list(sql = sprintf("(%s)", sub(";[[:space:]]*$", "", from)), label = "the query"))
  list(sql = as.character(DBI::dbQuoteIdentifier(con, from)), label = sprintf("the table `%s`", from))
}

# table: SQL, quoted. Results are fetched in chunks.
query_source <- function(con, table, label) {
  new_row_source(
    label, query_columns(con, table, label), function(columns, rows) open_query(con, table, columns, rows), FALSE
  )
}

#' A table with its own connections: connect() opens one for each pass
#' @noRd
connecting_source <- function(connect, from) {
  connected <- function() {
    con <- reading("from the connection", connect())
    if (inherits(con, "DBIConnection")) return(con)
    stop_galvi("data", sprintf(
      "The function that row_source() is given with `from` must make a connection of package DBI, not %s.",
      describe(con)
    ))
  }
  let_go <- function(con) suppressWarnings(try(DBI::dbDisconnect(con), silent = TRUE))
  con <- connected()
  on.exit(let_go(con))
  table <- quoted_table(con, from)
  columns <- query_columns(con, table$sql, table$label)
  new_row_source(table$label, columns, function(columns, rows) {
    con <- connected()
    opened <- FALSE
    on.exit(if (!opened) let_go(con))
    out <- open_query(con, table$sql, columns, rows)
    opened <- TRUE
    list(read = out$read, close = function() {
      out$close()
      let_go(con)
    })
  })
}

send_query <- function(con, table, what, condition = "") {
  DBI::dbSendQuery(con, sprintf("SELECT %s FROM %s AS galvi_rows%s", what, table, condition))
}

query_columns <- function(con, table, label) {
  reading(label, {
    result <- send_query(con, table, "*", " WHERE 1 = 0")
    tryCatch(DBI::dbColumnInfo(result)$name, finally = DBI::dbClearResult(result))
  })
}

open_query <- function(con, table, columns, rows) {
  result <- send_query(con, table, paste(DBI::dbQuoteIdentifier(con, columns), collapse = ", "))
  list(
    read = function() if (!DBI::dbHasCompleted(result)) DBI::dbFetch(result, n = rows),
    # a lost connection has nothing to clear
    close = function() suppressWarnings(try(DBI::dbClearResult(result), silent = TRUE))
  )
}
