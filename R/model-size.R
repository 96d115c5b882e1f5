# How much memory fits, predictions and draws need, and how long full processes take. bench/memory.R measures the
# figures.

#' A fit. With a full GP two N x N matrices per latent value and one more; else what the rows, their columns
#' and the nodes of fields take, the latter with a sparse factor and its inverse.
#' @noRd
fit_size <- function(model, method = "auto", control = galvi_control()) {
  n <- length(model$y)
  k <- ncol(model$offset)
  terms <- prior_terms(model)
  if (is_full(model)) {
    squares <- 1 + 2 * k + 2 * k * control$keep_factor
    if (method != "auto") squares <- squares + k * fact("inference", method, "squares")
    full <- Find(is_full_term, terms)
    advice <- sprintf(
      "Use %sinducing points, %s, or fewer rows (`subset`).",
      if (has_several_inputs(full)) sprintf("nearest neighbours, %s, ", with_neighbours_of(full$label)) else "",
      with_inducing(full$label)
    )
    what <- sprintf("the full Gaussian process %s", full$label)
    return(new_size(base_size + 8 * n^2 * squares, n, what, advice))
  }
  columns <- sum(vapply(term_rows(model), function(rows) max(0, ncol(rows$W)), 0))
  points <- vapply(terms, inducing_count, 0) + vapply(terms, wave_count, 0)
  states <- chain_bytes(model)
  if (states > 600 * n) {
    return(new_size(
      base_size + k * states, n, "the states of Markov processes", paste(
        "Use kernels with fewer states, such as two gp() in place of the sum of a periodic() and another kernel, or a",
        "grid of inputs."
      )
    ))
  }
  own <- vapply(terms, field_bytes, 0)
  fields <- sum(own) + sum(vapply(terms, knot_bytes, 0, n)) +
    sum(vapply(terms, factor_bytes, 0, n, predictor_of(model)$solver))
  # values of processes at the points are kept where they are few (src/solver/dense_columns.h)
  kept <- min(8 * n * (columns + sum(points)), 2^26)
  bytes <- base_size + k * (600 * n + fields + column_bytes(columns + sum(points)) + kept) + 8 * n * columns * (1 + k)
  largest <- terms[[which.max(own)]]
  nodes <- if (fields > 600 * n && !is.null(largest$field)) field_nodes(largest$field) else 0
  if (nodes > n) {
    return(new_size(bytes, nodes, largest$label, "Use a coarser mesh or grid, or a machine with more memory.", "nodes"))
  }
  new_size(bytes, n, "this model", if (column_bytes(sum(points)) > 600 * n) {
    sprintf("`%s` has %s inducing points in all: use fewer.", terms[[which.max(points)]]$label, whole_words(max(points)))
  } else {
    paste0(
      "Use fewer rows (`subset`)",
      if (fields > 600 * n) ", coarser groups or times, fewer `neighbours`, nodes or `inducing` points of a gp(),",
      " or a machine with more memory."
    )
  })
}

# Of a sparse process, those of all levels of `by`.
inducing_count <- function(term) {
  if (is.null(term$inducing) || !is.null(term$knots)) return(0)
  as.numeric(nrow(term$inducing$coordinates)) * max(1, term$inducing$groups)
}

# The columns of a sum of cosines, which are not stored.
wave_count <- function(term) {
  if (is.null(term$waves)) return(0)
  as.numeric(term$waves$groups) * max(vapply(term_kernels(term), state_dimension, 1))
}

# Of a chain: covariances of the states at each row, and steps for each gap that differs from others.
chain_bytes <- function(model) {
  terms <- prior_terms(model)
  chains <- which(vapply(terms, function(term) fact("term", term$type, "chain"), NA))
  if (!length(chains)) return(0)
  states <- sum(vapply(terms[chains], function(term) max(vapply(term_kernels(term), state_dimension, 1)), 1))
  at <- term_rows(model)[[chains[1L]]]$inputs
  gaps <- length(unique(diff(sort(at))))
  8 * (length(at) * (states^2 + 4 * states) + 4 * gaps * states^2)
}

#' Informs the user before a full Gaussian process that takes minutes or hours.
#' @noRd
slow_rows <- 2000

inform_slow_fit <- function(model) {
  n <- length(model$y)
  if (n <= slow_rows || !is_full(model)) return(invisible())
  full <- Find(is_full_term, prior_terms(model))
  faster <- c(
    if (n > most_full_rows && has_several_inputs(full)) with_neighbours_of(full$label), with_inducing(full$label),
    # a Markov process
    if (isTRUE(full$input_count == 1L)) "kernel = matern52()"
  )
  inform_galvi("size", sprintf(paste(
    "%s is a full Gaussian process over %s rows: every step factorises a matrix of %.2g GiB, and the fit takes about",
    "%s or more, eight times as long for twice the rows. %s %s much faster."
  ), full$label, whole_words(n), 8 * n^2 / 2^30, duration_words(1.2e-9 * n^3),
  paste(faster, collapse = " and "),
  if (length(faster) > 1L) "are" else "is"))
}

# Above so many rows of several inputs a process given its neighbours is worth a word.
most_full_rows <- 3000

# 1.2e-9 n^3 seconds: a gaussian fit of one input at 1,000 to 5,000 rows, on two cores
duration_words <- function(seconds) {
  if (seconds < 90) return(sprintf("%.0f seconds", signif(seconds, 1L)))
  if (seconds < 5400) return(sprintf("%.0f minutes", signif(seconds / 60, 1L)))
  sprintf("%.0f hours", signif(seconds / 3600, 1L))
}

# Moments of units and rows; beside other terms also all pairs of a row's nodes.
factor_bytes <- function(term, n, solver) {
  factor <- term[["factor"]] # beside `factors` of columns
  if (is.null(factor)) return(0)
  d <- ncol(factor$loadings)
  8 * (3 * n * d + 4 * term$units * d^2) + if (solver == choose_solver("factors")) 0 else 80 * n * d^2
}

field_bytes <- function(term) {
  if (!is.null(term$neighbours)) {
    nodes <- nrow(term$neighbours$places)
    # about as many edges as there are for places in the plane; two neighbours of a node are joined too, which makes the
    # precision and the factor fuller than a field's (bench/memory.R)
    return(600 * nodes + 40 * graph_fill(nodes, 2 * as.numeric(length(term$neighbours$neighbours))))
  }
  if (is.null(term$field)) return(0)
  nodes <- as.numeric(field_nodes(term$field))
  # constraints are dense columns in the field, the border and their products
  600 * nodes + 30 * field_fill(term$field) + 64 * nodes * field_pins(term$field)
}

# The weights of rows, twice while they change, and the pattern, the factor and its inverse: full blocks of the states of
# a knot and the next. Rows have the states of one knot where all times are knots.
knot_bytes <- function(term, n) {
  if (is.null(term$knots)) return(0)
  states <- max(1, NROW(term$inducing$coordinates)) * knot_states(term)
  knots <- length(term$knots$times)
  24 * n * states * (if (knot_states(term) > 1L) 2 else 1) + 60 * term$knots$levels * knots * states^2
}

# States of a kernel in time, from what the core reads.
knot_states <- function(term) {
  kernel <- or_else(term$knots$kernels[[1L]], or_else(term[["kernel"]], term$kernels[[1L]]))
  state_dimension(kernel)
}

# The numbers of a sparse factor: the fill of a minimum degree order, as it is on a lattice.
graph_fill <- function(nodes, edges) min(edges * log2(nodes + 1), nodes^2 / 2)

#' The same of a field. A product is eliminated step by step, fronts as large as the inner field, or as the inner field
#' with all steps of a node at once.
#' @noRd
field_fill <- function(field) {
  if (is.null(field$factors)) {
    return(graph_fill(field_nodes(field), sum(vapply(field$precision, function(t) sum(t$i != t$j), 0))))
  }
  nodes <- vapply(field$factors, field_nodes, 0)
  fill <- vapply(field$factors, field_fill, 0)
  if (any(fill == 0)) return(sum(rev(nodes) * fill))
  min(nodes[1L] * nodes[2L]^2, fill[2L] * nodes[1L]^2)
}

field_pins <- function(field) {
  if (is.null(field$factors)) return(length(field$pins))
  field_nodes(field$factors[[1L]]) * field_pins(field$factors[[2L]])
}

# gp(x) -> gp(x, inducing = 200); labels that are shared have a number behind them
with_inducing <- function(label) with_setting(label, "inducing = 200")

with_neighbours_of <- function(label) with_setting(label, "neighbours = 20")

has_several_inputs <- function(term) isTRUE(term$input_count > 1L)

with_setting <- function(label, setting) sub("\\)( #[0-9]+)?$", sprintf(", %s)", setting), label)

#' Predictions at n rows, block by block; a joint covariance in one, and then named, in two more copies
#' @noRd
prediction_size <- function(fit, n, covariance = FALSE) {
  seen <- length(fit$model$y)
  k <- n_latents(fit)
  full <- is_full(fit$model)
  bytes <- 48 * n * k + if (full) 16 * seen * (seen + if (covariance) n else 1024) else 200 * seen
  if (covariance) {
    advice <- "Take fewer rows at a time (`newdata`)."
    return(new_size(bytes + 8 * n^2 * (1 + 2 * k), n, "a joint covariance", advice))
  }
  if (n > seen) {
    new_size(bytes, n, "a prediction", "Take fewer rows at a time.")
  } else {
    new_size(bytes, seen, "predictions from this fit", if (full) {
      "A fit with inducing points would need less; so does this one where more memory is free."
    } else "Predict where more memory is free.")
  }
}

#' The states that hyper = "integrate" keeps: some numbers of each row, and of L x L where the latent vector is short
#' @noRd
states_size <- function(model) {
  m <- sum(model$hyper$learned & !in_array(model$hyper))
  # 101 states are drawn by the marginal likelihood where that is known
  # a grid for few hyperparameters (src/fit/integrate.h)
  points <- if (m <= 3L) c(12, 33, 65)[max(m, 1L)] else max(nrow(composite_design(m)), 101)
  n <- length(model$y)
  columns <- sum(vapply(term_rows(model), function(rows) max(0, ncol(rows$W)), 0))
  bytes <- 8 * points * ncol(model$offset) * (8 * n + 2 * columns^2)
  new_size(bytes, n, "hyper = \"integrate\", which keeps a posterior at each point",
    "Use hyper = \"optimise\" with control = galvi_control(uncertainty = \"factorised\").")
}

#' Offset, mean, variance and sites of k linear predictors, before anything of this size is made
#' @noRd
latents_size <- function(n, k, family) {
  new_size(600 * n * k, n, sprintf("%s linear predictors", whole_words(k)), sprintf(
    "A response of so many classes may be a number or text by mistake: %s has a linear predictor for each.",
    the_family(family)
  ))
}

#' Draws of functions at n rows; if the latent vector is as long as the data, from their joint covariance
#' @noRd
draws_size <- function(fit, n, draws, width = 1,
                       advice = "Take fewer draws (`ndraws`) or fewer rows (`newdata`).") {
  k <- n_latents(fit)
  bytes <- 8 * n * (2 * k + width) * draws + if (is_full(fit$model)) 24 * n^2 + 16 * length(fit$model$y) * n else 0
  new_size(bytes, n, sprintf("%s draws", whole_words(draws)), advice)
}

#' Draws of coefficients and hyperparameters, each of which is in six matrices for a while
#' @noRd
parameter_draws_size <- function(draws, parameters) {
  new_size(8 * 6 * draws * (parameters + 1), draws, "the posterior of the parameters", "Take fewer draws (`ndraws`).", "draws")
}

#' Corners of the cube [-1, 1]^m, all or a fraction in which no four factors are confounded (resolution V)
#'
#' Factor j is the Walsh function number index_j, and no sum modulo 2 of up to four of these is zero (Sanchez and
#' Sanchez 2005): the least such numbers.
#' @noRd
corners <- function(m) {
  index <- integer()
  candidate <- 0L
  pairs <- 0L
  while (length(index) < m) {
    candidate <- candidate + 1L
    sums <- bitwXor(candidate, c(0L, index))
    if (any(sums %in% pairs)) next
    pairs <- c(pairs, sums)
    index <- c(index, candidate)
  }
  runs <- seq_len(2^ceiling(log2(max(index) + 1))) - 1L
  bits <- function(x) Reduce(bitwXor, lapply(0:20, function(k) bitwAnd(bitwShiftR(x, k), 1L)))
  vapply(index, function(i) 1 - 2 * bits(bitwAnd(runs, i)), numeric(length(runs)))
}
