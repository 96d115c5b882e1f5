# A gp() of one input by its states, or as a full process.

# Of all processes that make one chain: more cost more than a dense matrix does at most sizes.
most_states <- 80

# Nodes of fields beside them, such as the levels of a grouping factor: each is a column.
most_nodes_beside <- 300

#' Processes as chains where one solver takes them together, else as full ones
#'
#' All need the same input, and states that are few for the number of rows: where groups differ, each group's process is
#' a part of one state. Else a process over many rows has its states at knots.
#' @param built From design_term(), of all terms.
#' @noRd
settle_chains <- function(built, context) {
  chains <- vapply(built, function(b) fact("term", b$term$type, "chain"), NA)
  if (!any(chains)) return(built)
  of <- built[chains]
  same <- function(part) all(vapply(of, function(b) identical(b$rows[[part]], of[[1L]]$rows[[part]]), NA))
  apart <- same("group") && !any(vapply(of, function(b) !is.null(b$spec$share), NA))
  states <- sum(vapply(of, function(b) {
    processes <- if (!is.null(b$spec$share)) b$spec$share$count else if (apart) 1L else length(b$spec$by_levels)
    max(vapply(term_kernels(b$term), state_dimension, 1)) * max(1L, processes)
  }, 1))
  nodes <- sum(vapply(built, function(b) {
    if (!fact("term", b$term$type, "fields")) return(0)
    if (is.null(b$term$field)) Inf else field_nodes(b$term$field)
  }, 1))
  # a row costs as the square of the states, or as the square of the rows (bench/long-series.R); up to three states have
  # code of their own
  cheaper <- states <= 3 ||
    states <= most_states && NROW(of[[1L]]$rows$inputs) >= max(200, 14 * states)
  if (same("inputs") && cheaper && nodes <= most_nodes_beside) return(built)
  at_knots <- chains_at_knots(built, chains, context)
  if (!is.null(at_knots)) return(at_knots)
  built[chains] <- lapply(of, function(b) {
    b$term <- as_full_term(b$term)
    b$per_class <- lapply(b$per_class, as_full_term)
    b
  })
  built
}

#' A process by the covariance of its rows, where it may have been by states
#' @noRd
as_full_term <- function(term) {
  replace(with_term_harmonics(term, NULL), "type", if (is.null(term$loadings)) "kernel" else shared_type("kernel"))
}

# The type of a term whose processes are shared.
shared_type <- function(type) c(kernel = "shared", chain = "shared_chain", inducing = "shared_inducing")[[type]]
