# Shared by the measurements of databases: 1e6 rows in a table, fitted from the table and from the data frame.
# Not run by itself.
source("bench/_helper.R")

database_table <- function(n = 1e6) {
  set.seed(1)
  d <- as.data.frame(matrix(rnorm(4 * n), n, dimnames = list(NULL, paste0("x", 1:4))))
  d$g <- sample(c("a", "b", "c"), n, TRUE)
  d$y <- as.integer(runif(n) < plogis(sin(2 * d$x1) + d$x2 - d$x3 * d$x4 + (d$g == "b")))
  d$id <- seq_len(n)
  d
}

# Nothing but levels is read off the sample: the numbers are the same whichever way the rows come.
database_fit <- function(data, ...) {
  seconds <- system.time(fit <- galvi(
    y ~ (x1 + x2 + x3 + x4)^2 + g, data, binomial(), hyper = "fixed", verbose = FALSE,
    prior = list(intercept = normal(0, 3), default = normal(0, 3)), ...
  ))[["elapsed"]]
  list(fit = fit, seconds = seconds)
}

# connect: makes another connection; where it is given, two workers read the table too, each by its own.
compare_database <- function(con, name, d, connect = NULL) {
  DBI::dbWriteTable(con, name, d, row.names = FALSE)
  by_query <- sprintf("SELECT * FROM %s ORDER BY id", DBI::dbQuoteIdentifier(con, name))
  memory <- database_fit(d)
  tell <- function(what, database) cat(sprintf(
    "%g rows, %s: %.1f s (%d passes), %.1f s from the data frame; differences: bound %g, coef %g\n",
    nrow(d), what, database$seconds, database$fit$cost$sweeps, memory$seconds,
    abs(database$fit$elbo - memory$fit$elbo), max(abs(coef(database$fit) - coef(memory$fit)))
  ))
  tell("from the database", database_fit(row_source(con, by_query)))
  if (is.null(connect)) return(invisible())
  cluster <- parallel::makePSOCKcluster(2)
  on.exit(parallel::stopCluster(cluster))
  invisible(parallel::clusterCall(cluster, .libPaths, .libPaths()))
  memory <- database_fit(d, method = "fixed_point")
  control <- galvi_control(cluster = cluster)
  tell("by two workers", database_fit(row_source(connect, by_query), control = control))
}
