# Processes that are Markov in time as states at knots: where the knots are, and processes of one input that no chain
# takes.

# More knots cost time and memory: of a process in space, where each has the states of all inducing points; of one input;
# of one input beside others, where rows join the knots of one to those of another.
most_space_knots <- 2000L
most_chain_knots <- 200000L
most_crossed_knots <- 500L

# Of a kernel in time (src/prior/knot_field.h).
most_knot_states <- 8L

#' Can a kernel's states be at knots? They are few, and those of a stationary process.
#' @noRd
takes_knots <- function(kernel) {
  state_dimension(kernel) %in% seq_len(most_knot_states) && !has_origin(kernel)
}

# In lengthscales, by the number of states (of more, the last): the precision of states that are nearer to each other has
# too few digits; between knots so far apart hardly anything is left of a function's variance.
least_gap <- c(1e-7, 1e-3, 0.02, 0.05)
full_gap <- c(0, 0.05, 0.25, 0.25)
# A lengthscale that is a guess may be learned to be much shorter.
guess_factor <- 4

#' Knots of a process: all times, where these are few and not too close to each other, else evenly spaced ones
#' @param times Of the rows. @param states Of the kernel. @param lengthscale The least that learning starts at;
#'   `guessed`: is it a guess?
#' @noRd
choose_knots <- function(times, states, lengthscale, guessed, most) {
  distinct <- sort(unique(times))
  kind <- min(states, length(least_gap))
  if (length(distinct) < 2L) return(distinct)
  if (length(distinct) <= most && min(diff(distinct)) >= least_gap[kind] * lengthscale) return(distinct)
  ends <- range(distinct)
  gap <- full_gap[kind] * lengthscale / if (guessed) guess_factor else 1
  count <- if (gap > 0) min(most, ceiling(diff(ends) / gap) + 1) else most
  knots <- seq(ends[1L], ends[2L], length.out = max(2, count))
  knots[length(knots)] <- ends[2L]
  unique(knots)
}

#' The least lengthscale at which kernels of one input start; of kernels without one, their period
#' @param kernels From kernel_spec(). @param table Of the hyperparameters.
#' @return list(value, guessed)
#' @noRd
starting_length <- function(kernels, table) {
  leaves <- unlist(lapply(kernels, kernel_leaves), recursive = FALSE)
  at <- unlist(lapply(leaves, function(leaf) {
    lengths <- parameters_in_role(leaf, "lengthscale")
    unlist(leaf$hyper[if (length(lengths)) lengths else parameters_in_role(leaf, "period")])
  }))
  if (is.null(at)) return(list(value = 0, guessed = FALSE))
  least <- at[which.min(table$value[at])]
  list(value = table$value[least], guessed = is.finite(table$guessed[least]))
}

#' The knots of a term (src/prior/term.h), with kernels in time where those of the term are in space
#' @noRd
knot_spec <- function(spec, times, kernels, table, most, in_space) {
  start <- starting_length(kernels, table)
  c(
    list(
      times = choose_knots(times, state_dimension(kernels[[1L]]), start$value, start$guessed, most),
      levels = max(1L, length(spec$by_levels))
    ),
    if (in_space) list(kernels = kernels)
  )
}

# ---- processes of one input that are no chain ----

# Up to so many rows a full process is fast, and exact.
most_dense_rows <- 1000L

#' Processes of one input that the solver of chains does not take, as states at knots
#'
#' Where all other terms are finite and rows are many; a process that is to be centred stays a full one.
#' @param built From design_term(), of all terms; `chains`: which of them are Markov processes.
#' @return `built` with terms of type "knots", or NULL where these terms stay full.
#' @noRd
chains_at_knots <- function(built, chains, context) {
  n <- NROW(built[[which(chains)[1L]]]$rows$inputs)
  kernels <- unlist(lapply(built[chains], function(b) term_kernels(b$term)), recursive = FALSE)
  shared <- any(vapply(built[chains], function(b) !is.null(b$spec$share), NA))
  if (shared || !all(vapply(kernels, takes_knots, NA))) return(NULL)
  others_full <- any(vapply(built[!chains], function(b) fact("term", b$term$type, "full"), NA))
  asked <- any(vapply(built[chains], function(b) isTRUE(b$spec$center_asked), NA))
  if (n <= most_dense_rows || others_full || asked) return(NULL)
  inputs <- unique(lapply(built[chains], function(b) b$rows$inputs))
  most <- if (length(inputs) > 1L) most_crossed_knots else most_chain_knots
  table <- context$registry$table()
  built[chains] <- lapply(built[chains], function(b) {
    knots <- knot_spec(b$spec, b$rows$inputs[, 1L], term_kernels(b$term), table, most, in_space = FALSE)
    as_knots <- function(term) {
      term$type <- "knots"
      term$centre <- NULL
      term$knots <- knots
      term
    }
    b$term <- as_knots(b$term)
    b$per_class <- lapply(b$per_class, as_knots)
    b$spec$center <- FALSE
    b$spec$knots <- knots["times"]
    b
  })
  built
}
