# Does a fit from a PostgreSQL table have the data frame's bits, and what does reading cost?
#
#   Rscript bench/source-postgresql.R   (a minute; needs RPostgres, and Debian's postgresql or a server)
#
# The server that PGHOST names, or one of its own: started on a socket in a temporary folder, without a network,
# and taken down in the end.
source("bench/_sources.R")

# Programs of the newest PostgreSQL here.
program <- function(name) {
  found <- c(Sys.which(name), rev(Sys.glob(file.path("/usr/lib/postgresql/*/bin", name))))
  found <- found[nzchar(found)]
  if (!length(found)) stop("no PostgreSQL here: install Debian's postgresql, or set PGHOST")
  found[[1L]]
}

# PostgreSQL does not run as root.
run <- function(name, ...) {
  command <- paste(c(program(name), ...), collapse = " ")
  is_root <- identical(system("id -u", intern = TRUE), "0")
  if (is_root) command <- paste("runuser -u postgres --", command)
  if (system(command, ignore.stdout = TRUE) != 0) stop(name, " failed")
}

start_server <- function(folder) {
  dir.create(folder)
  if (nzchar(Sys.which("chown"))) system(paste("chown postgres", folder))
  data <- file.path(folder, "data")
  run("initdb", "-A trust -U galvi -D", data)
  options <- sprintf("-c listen_addresses='' -c unix_socket_directories=%s", folder)
  run("pg_ctl", "-w -D", data, "-l", file.path(folder, "log"), "-o", shQuote(options), "start")
  function() run("pg_ctl", "-w -m fast -D", data, "stop")
}

stop_server <- function() NULL
connect <- function() DBI::dbConnect(RPostgres::Postgres())
if (!nzchar(Sys.getenv("PGHOST"))) {
  folder <- tempfile("galvi", tmpdir = "/tmp")  # a socket's path is short
  stop_server <- start_server(folder)
  connect <- eval(bquote(function() {
    DBI::dbConnect(RPostgres::Postgres(), host = .(folder), user = "galvi", dbname = "postgres")
  }), globalenv())
}
con <- connect()
name <- sprintf("galvi rows %d", Sys.getpid())
tryCatch({
  compare_database(con, name, database_table(), connect)
  # The server drops the connection in the middle of a fit.
  dropped <- connect()
  id <- DBI::dbGetQuery(dropped, "SELECT pg_backend_pid() AS id")$id
  rows <- row_source(dropped, sprintf("SELECT * FROM %s ORDER BY id", DBI::dbQuoteIdentifier(con, name)))
  model <- galvi_model(galvi_design(y ~ (x1 + x2 + x3 + x4)^2 + g, rows, binomial()), hyper = "fixed")
  passes <- 0
  open <- model$stream$source$open
  model$stream$source$open <- function(columns, rows) {
    passes <<- passes + 1
    if (passes == 4) DBI::dbGetQuery(con, sprintf("SELECT pg_terminate_backend(%d)", id))
    open(columns, rows)
  }
  error <- tryCatch(galvi_infer(model, "natural_gradient"), galvi_error_unfinished = identity)
  cat(conditionMessage(error), "\nbound so far:", error$posterior$elbo, "\n")
}, finally = {
  DBI::dbRemoveTable(con, name)
  DBI::dbDisconnect(con)
  stop_server()
})

# PostgreSQL 15 by RPostgres 1.4, on the same busy machine: see the table of bench/source-rates.R; the bounds are
# the same, from two workers too, and the dropped connection is an error with the bound so far.
