# Kernels that are sums of cosines over one input: how many harmonics stand for a series, and terms that have them.

# ---- which kernels ----

# Sums of cosine(), constant() and periodic() over one input are sums of cosines.
is_harmonic <- function(kernel) {
  if (length(kernel$parts)) return(is_sum(kernel) && all(vapply(kernel$parts, is_harmonic, NA)))
  facts_of_kernel(kernel)$lines != "none"
}

is_series <- function(leaf) facts_of_kernel(leaf)$lines == "series" && length(leaf$columns) == 1L

# ---- how many ----

# The share of a series' variance that may be left out.
harmonics_left_out <- 1e-10

# So many are columns: more are a full process.
most_harmonics <- 500

#' The last harmonic of periodic() that is needed at a lengthscale
#'
#' The shares of harmonics are exp(-z) I_0(z) and 2 exp(-z) I_j(z), z = 1 / lengthscale^2.
#' @noRd
harmonics_for <- function(lengthscale) {
  z <- 1 / lengthscale^2
  # many harmonics have nearly normal shares
  if (z > 1e4) return(ceiling(stats::qnorm(harmonics_left_out / 2, lower.tail = FALSE) * sqrt(z)))
  j <- 0:(ceiling(9 * sqrt(z)) + 20)
  share <- besselI(z, j, expon.scaled = TRUE) * ifelse(j == 0, 1, 2)
  beyond <- rev(cumsum(rev(share))) - share
  j[match(TRUE, beyond <= harmonics_left_out)]
}

# At a fraction of the lengthscale where learning starts or has ended, so that it need not begin again. Columns are
# cheap, and shorter lengthscales are tried at the start; states are not.
room_to_learn <- list(harmonics = 1 / 9, chain = 1 / 1.5)
room_to_go_on <- 1 / 1.5

#' The harmonics that kernels need
#' @param kernels From kernel_spec(). @param value Of the hyperparameters. @param room For those that are `learned`, the
#'   fraction of the lengthscale.
#' @return The largest number; 0 without a series.
#' @noRd
needed_harmonics <- function(kernels, value, learned = rep(FALSE, length(value)), room = 1) {
  needs <- lapply(unlist(lapply(kernels, kernel_leaves), recursive = FALSE), function(leaf) {
    if (!is_series(leaf)) return(0)
    at <- leaf$hyper[[parameters_in_role(leaf, "lengthscale")]]
    harmonics_for(value[at] * if (learned[at]) room else 1)
  })
  max(0, unlist(needs))
}

#' Kernels with so many harmonics in every series; NULL for none
#' @noRd
with_harmonics <- function(kernel, count) {
  if (length(kernel$parts)) {
    kernel$parts <- lapply(kernel$parts, with_harmonics, count)
  } else if (is_series(kernel)) {
    kernel$constants$harmonics <- count
  }
  kernel
}

# ---- terms ----

# The number in the series of a term's kernels, Inf in a full process; NULL where no kernel is a series.
harmonics_of <- function(term) {
  for (leaf in unlist(lapply(not_null(term_kernels(term)), kernel_leaves), recursive = FALSE)) {
    if (is_series(leaf)) return(or_else(leaf$constants$harmonics, Inf))
  }
}

# NULL: all of them, for a full process.
with_term_harmonics <- function(term, count) {
  if (!is.null(term[["kernel"]])) term$kernel <- with_harmonics(term$kernel, count)
  if (!is.null(term[["kernels"]])) term$kernels <- lapply(term$kernels, with_harmonics, count)
  term
}

#' What a process of one input is to the core, with the harmonics that this needs: columns, a chain of states, or a full
#' process
#'
#' @param terms The core's term, or one for each latent value, which are alike.
#' @noRd
settle_process <- function(terms, spec, rows, table) {
  if (ncol(rows$inputs) != 1L || !is.null(spec$inducing) || !is.null(spec$neighbours)) return(terms)
  kernels <- unlist(lapply(terms, term_kernels), recursive = FALSE)
  need <- function(type) needed_harmonics(kernels, table$value, table$learned, room_to_learn[[type]])
  as_type <- function(type, count, ...) lapply(terms, function(term) {
    c(replace(with_term_harmonics(term, count), "type", type), list(...))
  })
  if (is_harmonic(spec$kernel) && is.null(spec$share)) {
    count <- need("harmonics")
    if (count <= most_harmonics) {
      waves <- list(groups = max(1L, length(spec$by_levels)), origin = mean(range(rows$inputs)))
      return(as_type("harmonics", count, waves = waves))
    }
  }
  count <- need("chain")
  if (state_dimension(with_harmonics(kernels[[1L]], count)) %in% seq_len(most_states)) return(as_type("chain", count))
  terms
}

# ---- after learning ----

#' The harmonics of a term at learned lengthscales
#' @param full May it become a full process?
#' @return Its number where it will do, a larger one, or Inf where only a full process will.
#' @noRd
harmonics_at <- function(term, value, full) {
  has <- harmonics_of(term)
  if (is.null(has) || needed_harmonics(term_kernels(term), value) <= has) return(has)
  more <- needed_harmonics(term_kernels(term), value, rep(TRUE, length(value)), room_to_go_on)
  most <- harmonics_limit(term)
  if (more <= most) more else if (full) Inf else max(has, most)
}

# A state grows by as many dimensions with each harmonic.
harmonics_limit <- function(term) {
  if (!fact("term", term$type, "chain")) return(most_harmonics)
  states <- vapply(0:1, function(count) {
    max(vapply(term_kernels(with_term_harmonics(term, count)), state_dimension, 1))
  }, 1)
  floor((most_states - states[1L]) / diff(states))
}
