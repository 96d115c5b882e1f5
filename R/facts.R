# The capabilities of the entries in the core's registries (src/facts.cpp). R asks for capabilities, never for names.

#' A capability of the entries with these names, from a table whose first column has the names
#' @noRd
fact <- function(facts, name, what) facts[[what]][match(name, facts[[1L]])]
