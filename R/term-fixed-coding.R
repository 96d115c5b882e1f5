# The default prior of fixed effects, and the columns that the core sees.
#
# It depends on the space of the columns alone. With X the columns whose prior is left open, xbar their means over the
# rows, S = (X - 1 xbar')'(X - 1 xbar') / n and s the scale of the response, slopes are jointly normal(0, 100 s^2 S^-1),
# and the predictor at the means of all columns is normal(m, 10 s) (Zellner 1986, g = 100 n). The core takes columns
# with independent coefficients u, which are orthonormal here:
#
#   eta = C u,  C = (X - 1 centre') B + 1 level',  u ~ N(mean, I) for open columns;  beta = A u is what users see.
#
# Directions in which centred open columns do not vary over the rows have the prior of independent slopes
# normal(0, 10 s / sd(x_j)), whatever the other columns are.

#' The coding of a block of fixed effects
#'
#' @param intercept Which column is the intercept?
#' @param W The columns, n x q.
#' @param open Which slopes have the default prior?
#' @param at What is normal besides: "means" or "zero", the predictor at the means of the columns or at 0 (the intercept
#'   is a column); "thresholds", which stand for the predictor at the means; "none".
#' @param m,s Location and scale of the response.
#' @param weights Rows that each row counts for.
#' @return list(at, centre: q, B: q x q, level: q, A: q x q, mean: q, the prior mean of u where a prior is open; tied:
#'   which open columns depend on others); NULL if columns enter as they are.
#' @noRd
column_coding <- function(W, open, intercept, at, m, s, weights, threads) {
  q <- ncol(W)
  centred <- at %in% c("means", "thresholds")
  if (!any(open) && !centred) return(NULL)
  weights <- as.numeric(weights) / sum(weights)
  slope <- !intercept
  moments <- moments_of_columns(strip_matrix(W[, slope, drop = FALSE]), weights, threads)
  centre <- numeric(q)
  if (centred) centre[slope] <- moments$mean
  B <- diag(q)
  level <- mean <- numeric(q)
  tied <- logical(q)
  if (any(open)) {
    own <- which(open)
    within <- match(own, which(slope))
    X <- if (length(own) == q) W else W[, own, drop = FALSE]
    found <- orthonormal_basis(X, moments$mean[within], moments$second[within, within, drop = FALSE], weights, threads)
    B[own, own] <- 10 * s * found$basis
    unseen <- found$unseen
    # 0 + g: columns that add up to one have an intercept among them
    towards <- if (at == "none") constant_direction(found, moments$mean[within])
    if (!is.null(towards)) {
      unseen <- unseen - tcrossprod(towards$unit)
      B[own, own] <- B[own, own] - 10 * s * outer(towards$unit / found$scale, towards$unit)
      centre[own] <- moments$mean[within]
      level[own] <- 10 * s * towards$unit
      mean[own] <- m / (10 * s) * towards$unit
    }
    if (!is.null(unseen)) tied[own] <- diag(unseen) > 1e-6
  }
  A <- B
  # an intercept takes up the centres
  A[intercept, ] <- A[intercept, ] - drop(centre %*% B)
  if (any(level != 0)) A[own, ] <- A[own, ] + outer(towards$coefficients, level - drop(centre %*% B))
  list(at = at, centre = centre, B = B, level = level, A = A, mean = mean, tied = tied)
}

#' A basis in which centred columns are orthonormal over the rows, where they vary
#'
#' With D the columns' scales and Z = (X - 1 mean') D^-1: the columns of Z T are orthonormal, with T = R^-1 where
#' Z'Z = R'R has full rank, else T = V (V'Z'Z V)^-1/2 V' + (I - V V'), with V the directions in which they vary. The
#' moments of columns that nearly depend on each other have lost digits, so a first basis is corrected by the moments of
#' Z T.
#' @param mean,second From moments_of_columns().
#' @return list(basis: D^-1 T, scale: D, unseen: I - V V', or NULL for full rank).
#' @noRd
orthonormal_basis <- function(X, mean, second, weights, threads) {
  q <- ncol(X)
  size <- pmax(abs(mean), 0)
  sd <- sqrt(diag(second))
  # rounding gives a constant column a tiny sd, which a factorisation of that column alone takes for a full rank
  constant <- sd <= 1e-12 * size
  sd[constant] <- 0
  second[constant, ] <- second[, constant] <- 0
  scale <- ifelse(sd > 0, sd, unit_if_zero(size))
  S <- second / outer(scale, scale)
  corrected <- function(T) {
    moments <- moments_of_columns(coded_columns(strip_matrix(X), mean, T / scale, numeric(ncol(T)), threads), weights,
      threads)$second
    e <- eigen(moments, symmetric = TRUE)
    T %*% (e$vectors %*% (t(e$vectors) / sqrt(e$values)))
  }
  # of a column's variance, what the others leave of it: that of lm(), or what rounding leaves of columns far from zero
  rounding <- 4 * .Machine$double.eps * max(0, (size / sd)[sd > 0])
  tolerance <- max(1e-14, rounding^2)
  near <- 1e-5
  root <- if (nrow(X) > q) suppressWarnings(chol(S, pivot = TRUE, tol = tolerance))
  if (!is.null(root) && attr(root, "rank") == q) {
    T <- backsolve(root, diag(q))[order(attr(root, "pivot")), , drop = FALSE]
    if (min(diag(root)) < near) T <- corrected(T)
    return(list(basis = T / scale, scale = scale))
  }
  e <- if (nrow(X) >= q) {
    eigen(S, symmetric = TRUE)
  } else {
    Z <- sqrt(weights) * (X - rep(mean, each = nrow(X))) / rep(scale, each = nrow(X))
    parts <- svd(Z, nu = 0L)
    list(values = parts$d^2, vectors = parts$v)
  }
  kept <- e$values > tolerance * max(1, e$values[1L])
  V <- e$vectors[, kept, drop = FALSE]
  unseen <- diag(q) - tcrossprod(V)
  T <- unseen
  if (any(kept)) T <- T + tcrossprod(corrected(V / rep(sqrt(e$values[kept]), each = q)), V)
  list(basis = T / scale, scale = scale, unseen = unseen)
}

#' The direction of coefficients whose columns add up to a constant; NULL if there is none
#'
#' @param basis From orthonormal_basis(), for columns with these means.
#' @return list(unit: the direction in scaled coefficients, of length one; coefficients: a with X a = 1).
#' @noRd
constant_direction <- function(basis, mean) {
  if (is.null(basis$unseen)) return(NULL)
  scaled <- mean / basis$scale
  c <- drop(basis$unseen %*% scaled)
  # X c is constant, and equal to |c|^2; rounding leaves a part of the terms of scaled'c
  if (sum(c^2) <= 1e-7 * sum(abs(scaled * c)) || all(c == 0)) return(NULL)
  list(unit = c / sqrt(sum(c^2)), coefficients = c / sum(c^2) / basis$scale)
}

#' The coding of columns that enter as they are
#' @noRd
as_they_are <- function(q) list(centre = numeric(q), B = diag(q), level = numeric(q), A = diag(q), mean = numeric(q))

#' The columns as the core takes them
#' @noRd
coded <- function(W, coding, threads = 1L) {
  W <- strip_matrix(W)
  if (is.null(coding)) return(W)
  names <- colnames(W)
  if (storage.mode(W) != "double") storage.mode(W) <- "double"
  W <- coded_columns(W, coding$centre, coding$B, coding$level, threads)
  colnames(W) <- names
  W
}

#' The columns as users see them, from coded ones
#' @noRd
uncoded <- function(C, coding) {
  if (is.null(coding) || !nrow(C)) return(C)
  # with an intercept among open columns, X A = C
  through <- if (any(coding$level != 0)) coding$A else coding$B
  X <- t(solve(t(through), t(C), tol = 0))
  if (any(coding$level != 0)) X else X + rep(coding$centre, each = nrow(X))
}

#' Coefficients of coded columns as users see them: mean, q x K, and a covariance for each latent value
#' @noRd
decoded <- function(mean, covariance, coding) {
  if (is.null(coding)) return(list(mean = mean, covariance = covariance))
  list(
    mean = coding$A %*% mean, covariance = lapply(covariance, function(V) {
      V <- coding$A %*% V %*% t(coding$A)
      (V + t(V)) / 2
    })
  )
}

#' The spec of a predictor's fixed effects, NULL without any
#' @noRd
fixed_spec <- function(specs) Find(function(spec) spec$type == fixed_label, specs)

#' Do thresholds belong to the means of the columns, as far as the core knows?
#' @noRd
centres_thresholds <- function(coding) identical(coding$at, "thresholds")

#' What is subtracted from thresholds of `start` for a model with this coding
#' @noRd
start_level <- function(start, coding) {
  if (inherits(start, "galvi") && centres_thresholds(coding)) or_else(start$design$level, 0) else 0
}
