# Loadings of processes that levels share (R/term-gp-share.R): where learning starts, and what fits show.

# ---- where learning starts ----

#' Loadings that were not given start where levels' means over cells of the inputs vary together
#' @param specs Of the first predictor.
#' @noRd
start_unknown_loadings <- function(model, specs) {
  unknown <- which(vapply(specs, function(spec) !is.null(spec$share) && is.null(spec$share$start), NA))
  if (!length(unknown) || ncol(model$offset) > 1L) return(model)
  eta <- starting_predictor(model)
  for (t in unknown) {
    spec <- specs[[t]]
    rows <- term_rows(model)[[t]]
    at <- prior_terms(model)[[t]]$loadings
    A <- loadings_of_cells(eta, rows$group, cells_of(rows$inputs, length(spec$by_levels)), dim(at))
    if (is.null(A)) next
    if (rotates(spec)) A <- without_rotation(A)
    # a typed value or the fit in `start` comes before
    free <- model$hyper$learned[at] & model$hyper$value[at] == spec$started[seq_along(at)]
    A <- pmin(pmax(A, model$hyper$lower[at]), model$hyper$upper[at])
    model$hyper$value[at[free]] <- A[free]
  }
  model
}

#' Cells of the inputs with some rows of each level: halves of halves, along the widest input
#' @return The cell of each row.
#' @noRd
cells_of <- function(x, levels) {
  cell <- rep(1L, nrow(x))
  halvings <- max(0, min(6, floor(log2(nrow(x) / (2 * levels)))))
  for (k in seq_len(halvings)) {
    for (own in split(seq_along(cell), cell)) {
      width <- apply(x[own, , drop = FALSE], 2L, function(column) diff(range(column)))
      column <- x[own, which.max(width)]
      upper <- own[column > stats::median(column)]
      cell[upper] <- cell[upper] + 2^(halvings - k)
    }
  }
  match(cell, unique(cell))
}

#' Principal axes of the levels' means over cells, whose covariances are over the cells that two levels share
#' @return Loadings, levels x processes, or NULL where nothing varies.
#' @noRd
loadings_of_cells <- function(eta, level, cell, size) {
  J <- size[1L]
  fine <- is.finite(eta)
  eta <- eta[fine]
  both <- list(factor(level[fine], seq_len(J)), cell[fine])
  M <- tapply(eta, both, mean)
  seen <- !is.na(M)
  M <- M - rowSums(M * seen, na.rm = TRUE) / pmax(1, rowSums(seen))
  M[!seen] <- 0
  S <- tcrossprod(M) / pmax(1, tcrossprod(seen + 0))
  axes <- eigen(S, symmetric = TRUE)
  largest <- axes$values[1L]
  if (!is.finite(largest) || largest <= 0) return(NULL)
  # an axis that is not seen starts small, but not at zero, which would be a stationary point
  value <- pmax(axes$values[seq_len(size[2L])], 1e-2 * largest)
  axes$vectors[, seq_len(size[2L]), drop = FALSE] * rep(sqrt(value), each = J)
}

# ---- what fits show ----

#' Loadings of each term with shared processes, of all predictors, named by term
#' @param hyper The fit's.
#' @noRd
shared_loadings <- function(design, model, hyper) {
  specs <- predictor_specs(design)
  unlist(lapply(seq_along(specs), function(k) {
    at <- which(vapply(specs[[k]], function(spec) !is.null(spec$share), NA))
    stats::setNames(lapply(at, function(t) {
      shown_loadings(specs[[k]][[t]], prior_terms(model, k)[[t]], term_rows(model, k)[[t]]$inputs, hyper)
    }), vapply(specs[[k]][at], `[[`, "", "label"))
  }), recursive = FALSE)
}

#' Loadings as users see them
#'
#' Processes with the same kernel along their principal axes, others as they are; the largest entry of each column is
#' positive. The functions' covariances at equal inputs are an attribute.
#' @param x The inputs of the rows.
#' @noRd
shown_loadings <- function(spec, term, x, hyper) {
  A <- matrix(hyper[term$loadings], nrow(term$loadings))
  x <- x[spread_rows(nrow(x), 200L), , drop = FALSE]
  variance <- vapply(rep_len(term_kernels(term), ncol(A)), function(kernel) {
    mean(kernel_variances(kernel, hyper, x))
  }, 1)
  if (rotates(spec) && ncol(A) > 1L) {
    axes <- svd(A)
    A <- axes$u * rep(axes$d, each = nrow(A))
  }
  A <- A * rep(apply(A, 2L, function(a) if (a[which.max(abs(a))] < 0) -1 else 1), each = nrow(A))
  dimnames(A) <- list(spec$by_levels, seq_len(ncol(A)))
  covariance <- A %*% (variance * t(A))
  sd <- sqrt(diag(covariance))
  structure(A, covariance = covariance, stddev = sd,
    correlation = covariance / pmax(outer(sd, sd), .Machine$double.xmin), class = c("galvi_loadings", "loadings"))
}

#' Loadings as stats::loadings() finds them: a matrix, or a list of these named by term
#' @param factors From fitted_factors().
#' @noRd
fitted_loadings <- function(factors, shared) {
  own <- if (!is.null(factors)) list(structure(factors$loadings, class = c("galvi_loadings", "loadings")))
  all <- c(stats::setNames(own, if (length(own)) "factors"), shared)
  if (length(all) > 1L) all else if (length(all)) all[[1L]]
}
