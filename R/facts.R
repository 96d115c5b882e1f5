# What the core's registries have (src/facts.cpp), by entry. R asks what a thing can, never for its name.

#' A fact of the entries with these names, from a table whose first column has the names
#' @noRd
fact <- function(facts, name, what) facts[[what]][match(name, facts[[1L]])]
