# Known covariance or precision matrices of groups: gr(g, cov = A), iid(g, precision = Q).

# An inverse of a dense block of this size takes a second.
most_dense_levels <- 2000L

# A level whose variance given the others is this part of its own is their sum but for rounding.
least_conditional_variance <- 1e-10

#' A known matrix, read from the arguments `cov` and `precision` as they were written
#' @return NULL if there is none, or list(levels, precision: the lower triangle of the precision at variance one;
#'   variance: of each level; text: as written)
#' @noRd
read_known <- function(arguments, env) {
  given <- Filter(function(name) !is.null(arguments[[name]]), c("cov", "precision"))
  if (!length(given)) return(NULL)
  if (length(given) == 2L) {
    stop_galvi("argument", "A group has `cov` or `precision`, its inverse, not both.")
  }
  matrix <- check_evaluates(eval(arguments[[given]], env), given)
  c(as_known(matrix, given), list(text = sprintf("%s = %s", given, deparse_one(arguments[[given]]))))
}

as_known <- function(matrix, arg) {
  refuse <- function(what, ...) stop_galvi("argument", sprintf("`%s` %s", arg, sprintf(what, ...)))
  entries <- if (is_sparse_matrix(matrix)) {
    graph_of_sparse(matrix, arg, "level")
  } else if (isS4(matrix) && length(dim(matrix)) == 2L) {
    graph_of_matrix(as.matrix(matrix), arg, "level")
  } else if (is.matrix(matrix) && is.numeric(matrix)) {
    graph_of_matrix(matrix, arg, "level")
  } else {
    refuse("must be a symmetric matrix with the levels as row names (base or of package Matrix), not %s.",
      describe(matrix))
  }
  levels <- entries$names
  if (is.null(levels)) refuse("must have the levels of the group as row names.")
  bad <- c(which(is.na(levels) | !nzchar(levels)), which(duplicated(levels)))
  if (length(bad)) refuse("must have a name for each row, each once: row %d has %s.", bad[1L],
    if (levels[bad[1L]] %in% c("", NA)) "none" else paste0("\"", levels[bad[1L]], "\" again"))
  bad <- which(!is.finite(entries$weight))
  if (length(bad)) {
    refuse("must have finite entries: that of \"%s\" and \"%s\" is %s.", levels[entries$i[bad[1L]]],
      levels[entries$j[bad[1L]]], format(entries$weight[bad[1L]]))
  }
  lower <- symmetric_entries(entries, refuse)
  known <- if (arg == "cov") inverse_of_known(lower, levels, refuse) else lower
  iid <- list(model = "iid", size = length(levels), more = 0L, precision = list(known))
  variance <- tryCatch(field_variances(field_list(iid, list(variance = 1L))), error = function(e) NaN)
  if (!all(is.finite(variance) & variance > 0)) refuse("must be positive definite.")
  list(levels = levels, precision = known, variance = if (arg == "cov") lower$x[lower$i == lower$j] else variance)
}

#' The lower triangle of a symmetric matrix, its diagonal in order, from all entries
#' @noRd
symmetric_entries <- function(entries, refuse) {
  n <- entries$n
  i <- entries$i
  j <- entries$j
  x <- entries$weight
  own <- i == j
  diagonal <- numeric(n)
  diagonal[i[own]] <- x[own]
  bad <- which(!(diagonal > 0))
  if (length(bad)) {
    refuse("must be positive definite, and its diagonal positive: that of \"%s\" is %s.", entries$names[bad[1L]],
      format(diagonal[bad[1L]]))
  }
  below <- i > j
  key <- function(a, b) as.numeric(b) * n + a
  twin <- match(key(i[below], j[below]), key(j[i < j], i[i < j]))
  other <- x[i < j][twin]
  other[is.na(twin)] <- 0
  lonely <- which(i < j)[!seq_len(sum(i < j)) %in% twin]
  unit <- sqrt(diagonal[i] * diagonal[j])
  apart <- c(which(below)[abs(x[below] - other) > 1e-8 * unit[below]], lonely[abs(x[lonely]) > 1e-8 * unit[lonely]])
  if (length(apart)) {
    at <- apart[1L]
    refuse("must be symmetric: the entries of \"%s\" and \"%s\" differ.", entries$names[i[at]], entries$names[j[at]])
  }
  triplets(c(seq_len(n), i[below]), c(seq_len(n), j[below]), c(diagonal, (x[below] + other) / 2))
}

#' The inverse, block by block: levels that no chain of covariances connects are independent
#' @noRd
inverse_of_known <- function(lower, levels, refuse) {
  n <- length(levels)
  off <- lower$i != lower$j & lower$x != 0
  component <- components(lower$i[off], lower$j[off], n)
  sizes <- tabulate(component)
  if (max(sizes) > most_dense_levels) {
    stop_galvi("size", sprintf(paste(
      "`cov` has %s levels that depend on one another; a dense inverse is for at most %s. Give the sparse inverse as",
      "`precision`, as pedigrees have it."
    ), whole_words(max(sizes)), whole_words(most_dense_levels)))
  }
  members <- split(seq_len(n), component)
  place <- integer(n)
  place[unlist(members)] <- sequence(lengths(members))
  entries <- split(seq_along(lower$x), component[lower$i])
  blocks <- Map(function(own, at) {
    if (length(own) == 1L) return(triplets(own, own, 1 / lower$x[at]))
    A <- matrix(0, length(own), length(own))
    A[cbind(place[lower$i[at]], place[lower$j[at]])] <- lower$x[at]
    A[cbind(place[lower$j[at]], place[lower$i[at]])] <- lower$x[at]
    size <- sqrt(diag(A))
    root <- tryCatch(chol(A / outer(size, size)), error = function(e) NULL)
    if (is.null(root) || min(diag(root))^2 < least_conditional_variance) refuse_singular(A, levels[own], refuse)
    P <- chol2inv(root) / outer(size, size)
    # what is zero but for rounding
    kept <- which(lower.tri(P, diag = TRUE) & abs(P) > 1e-14 * sqrt(outer(diag(P), diag(P))), arr.ind = TRUE)
    triplets(own[kept[, 1L]], own[kept[, 2L]], P[kept])
  }, members, entries)
  triplets(unlist(lapply(blocks, `[[`, "i")), unlist(lapply(blocks, `[[`, "j")), unlist(lapply(blocks, `[[`, "x")))
}

refuse_singular <- function(A, levels, refuse) {
  least <- min(eigen(A, TRUE, only.values = TRUE)$values)
  if (least < -1e-8 * max(diag(A))) {
    refuse("must be positive definite: its smallest eigenvalue is %s.", format(least, digits = 3L))
  }
  R <- stats::cov2cor(A)
  R[upper.tri(R, diag = TRUE)] <- 0
  at <- arrayInd(which.max(abs(R)), dim(R))
  refuse(paste(
    "is singular: an effect is a linear combination of others%s. Merge such levels, or add a little to the diagonal,",
    "as in A + diag(1e-6, nrow(A))."
  ), if (abs(R[at]) > 1 - 1e-9) sprintf(" (\"%s\" and \"%s\" are the same)", levels[at[2L]], levels[at[1L]]) else "")
}

#' Stops if a level is not in the matrix
#' @noRd
check_known_groups <- function(spec, x, name) {
  bad <- which(!level_text(x) %in% spec$known$levels & !is.na(x))
  if (!length(bad)) return(invisible())
  stop_galvi("data", sprintf(
    "`%s` has \"%s\" (row %s), which is not among the levels of `%s`. It has %d: %s.", name, level_text(x)[bad[1L]],
    row_label(bad[1L]), spec$known$text, length(spec$known$levels), quote_names(spec$known$levels, "\"", 6L)
  ))
}

#' Variances of levels of a known matrix at variance one; 0 for no level
#' @noRd
known_variances <- function(spec, level) {
  out <- c(0, spec$known$variance)[level + 1L]
  dim(out) <- dim(level)
  out
}
