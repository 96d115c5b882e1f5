# Does a fit from a DuckDB table have the data frame's bits, and what does reading cost?
source("bench/_sources.R")

con <- DBI::dbConnect(duckdb::duckdb())
tryCatch(compare_database(con, "galvi rows", database_table()), finally = DBI::dbDisconnect(con))
