# Row sources of databases: a table or a query, by package DBI.

# `from` as SQL with quoted names, and in words.
quoted_table <- function(con, from) {
  if (inherits(from, "Id")) {
    name <- paste(unlist(attr(from, "name")), collapse = ".")
    return(list(sql = as.character(DBI::dbQuoteIdentifier(con, from)), label = sprintf("the table `%s`", name)))
  }
  if (!is.character(from) || length(from) != 1L || is.na(from)) {
    stop_galvi("data", paste(
      "A connection needs the name of a table or an SQL query too: `row_source(con, \"table\")`,",
      "`row_source(con, DBI::Id(schema = \"s\", table = \"t\"))` or `row_source(con, \"SELECT ...\")`."
    ))
  }
  text <- as.character(from)
  if (is_query(text) && !is_table(con, text)) return(list(sql = in_parentheses(text), label = "the query"))
  # names of class SQL are quoted already
  list(sql = as.character(DBI::dbQuoteIdentifier(con, from)), label = sprintf("the table `%s`", text))
}

# Strings, quoted names, comments, white space and semicolons of SQL, and all else character by character.
sql_tokens <- function(text) {
  pattern <- paste0(
    "'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\\[[^]]*\\]|--[^\\n]*|/[*](?s:.*?)[*]/|\\s+|[A-Za-z_]+|(?s:.)"
  )
  regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1L]]
}

# White space and comments.
is_sql_gap <- function(tokens) grepl("^(\\s|--|/[*])", tokens, perl = TRUE)

is_query <- function(text) {
  tokens <- sql_tokens(text)
  words <- tokens[!is_sql_gap(tokens) & tokens != "("]
  length(words) > 1L && toupper(words[1L]) %in% c("SELECT", "WITH")
}

# A table may be called "select x".
is_table <- function(con, name) isTRUE(tryCatch(DBI::dbExistsTable(con, name), error = function(e) FALSE))

# A query as a table, without the semicolon at its end; the last line may be a comment.
in_parentheses <- function(text) {
  tokens <- sql_tokens(text)
  repeat {
    last <- utils::tail(which(!is_sql_gap(tokens)), 1L)
    if (!length(last) || tokens[last] != ";") break
    tokens <- tokens[-last]
  }
  sprintf("(%s\n)", paste(tokens, collapse = ""))
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

# Row sources of files: Parquet by package nanoparquet, and CSV.

#' Parquet files by package nanoparquet
#'
#' It exports no reader of row groups, so that one file at a time is in memory.
#' @noRd
parquet_source <- function(paths) {
  tables <- function(columns) {
    lapply(paths, function(path) function() nanoparquet::read_parquet(path, col_select = columns))
  }
  schema <- reading("the Parquet files", nanoparquet::read_parquet_schema(paths[1L]))
  leaves <- schema$name[is.na(schema$num_children)]
  new_row_source("the Parquet files", leaves, function(columns, rows) whole_tables(tables(columns)))
}

csv_source <- function(paths, options) {
  own <- c("file", "header", "nrows", "skip", "col.names")
  known <- setdiff(names(formals(utils::read.table)), own)
  check_no_dots(options[!names(options) %in% known], known, "row_source()")
  columns <- reading(paths[1L], {
    names(do.call(utils::read.csv, c(list(paths[1L], nrows = 1L), options)))
  })
  if (length(columns) == 1L && is.null(options$sep)) check_separator(paths[1L])
  new_row_source("the CSV files", columns, function(columns, rows) csv_reader(paths, columns, rows, options))
}

# A file of one column, whose header contains another separator?
check_separator <- function(path) {
  line <- readLines(path, 1L, warn = FALSE)
  other <- Find(function(mark) grepl(mark, line, fixed = TRUE), c(";", "\t", "|"))
  if (is.null(other)) return(invisible())
  stop_galvi("data", sprintf(
    "%s has one column, `%s`: give row_source() its separator, as in row_source(path, sep = \"%s\"%s).", path, line,
    if (other == "\t") "\\t" else other, if (other == ";") ", dec = \",\"" else ""
  ))
}

# What read.csv() must know to read a line of names.
of_header <- function(options) {
  options[intersect(names(options), c("sep", "quote", "comment.char", "check.names", "strip.white", "encoding"))]
}

# The first line that is neither empty nor a comment.
header_line <- function(con, options) {
  mark <- options$comment.char
  repeat {
    line <- readLines(con, 1L)
    comment <- !is.null(mark) && nzchar(mark) && startsWith(trimws(line), mark)
    if (!length(line) || nzchar(trimws(line)) && !comment) return(line)
  }
}

# Rows of an open connection in chunks; the header is read once for each file.
csv_reader <- function(paths, columns, rows, options) {
  con <- NULL
  header <- NULL
  file <- 0L
  close_file <- function() {
    if (!is.null(con)) close(con)
    con <<- NULL
  }
  open_file <- function() {
    file <<- file + 1L
    encoding <- if (is.null(options$fileEncoding)) getOption("encoding") else options$fileEncoding
    con <<- file(paths[file], "rt", encoding = encoding)
    header <<- names(do.call(utils::read.csv, c(list(text = header_line(con, options)), of_header(options))))
  }
  read <- function() {
    repeat {
      if (is.null(con)) {
        if (file == length(paths)) return(NULL)
        open_file()
      }
      line <- readLines(con, 1L)
      if (length(line)) break
      close_file()
    }
    pushBack(line, con)
    arguments <- utils::modifyList(options[names(options) != "fileEncoding"], list(
      file = con, header = FALSE, nrows = rows, col.names = header,
      colClasses = ifelse(header %in% columns, NA_character_, "NULL"), check.names = FALSE
    ))
    wanted <- options$colClasses
    if (!is.null(wanted)) {
      if (is.null(names(wanted))) wanted <- stats::setNames(rep_len(wanted, length(header)), header)
      at <- intersect(intersect(names(wanted), header), columns)
      arguments$colClasses[match(at, header)] <- wanted[at]
    }
    do.call(utils::read.csv, arguments)
  }
  list(read = read, close = close_file)
}
