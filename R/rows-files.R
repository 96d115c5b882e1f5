# Row sources of files: Parquet by package nanoparquet, and CSV.

#' Parquet files by package nanoparquet
#'
#' It exports no reader of row groups; if it has an internal one, files of several groups are read a group at a time.
#' @noRd
parquet_source <- function(paths) {
  group_reader <- get0("read_parquet_row_group", asNamespace("nanoparquet"), mode = "function")
  tables <- function(columns) unlist(lapply(paths, function(path) {
    groups <- if (is.null(group_reader)) 1L else nanoparquet::read_parquet_info(path)$num_row_groups
    if (groups < 2L) return(list(function() nanoparquet::read_parquet(path, col_select = columns)))
    lapply(seq_len(groups) - 1L, function(group) function() group_reader(path, group)[columns])
  }))
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
