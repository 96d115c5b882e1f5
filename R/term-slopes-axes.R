# Effects of (1 + x | g) are computed on orthogonal axes, and reported for the columns as they were typed.
#
# With z_n the row of the columns and u ~ N(0, S) the effects of its group, z_n'u = w_n'v for W = Z A and u = A v, where
# v ~ N(0, A^-1 S A^-T). Without a prior of S any A gives the same model. A = sqrt(N) R^-1 of Z = Q R makes the columns
# of W orthogonal: an intercept is then that at the mean of x, and years, dates or temperatures in kelvin are as easy as
# centred numbers. The table of hyperparameters has the standard deviations and correlations of v. Everything that users
# see has those of u: what reported_hyper() makes of them.

#' A (q x q), NULL if the columns are orthogonal as they are
#' @noRd
effect_axes <- function(W) {
  q <- ncol(W)
  found <- qr(W, tol = 1e-12)
  if (q == 1L || found$rank < q) return(NULL)
  R <- qr.R(found)
  mixed <- abs(R[upper.tri(R)]) > 1e-8 * sqrt(colSums(R^2))[col(R)[upper.tri(R)]]
  if (!any(mixed)) return(NULL)
  backsolve(R * sign(diag(R)), diag(sqrt(nrow(W)), q))
}

#' Are the standard deviations and correlations of a term left open? A prior is that of what is printed.
#' @noRd
is_open_covariance <- function(spec, context) {
  spec$model == "unstructured" && is.null(group_prior(context, spec$label, "sd")$value) &&
    is.null(group_prior(context, spec$label, "cor")$value)
}

on_axes <- function(W, spec) if (is.null(spec$axes)) W else W %*% spec$axes

#' The weights of a row's nodes without some effects
#' @noRd
weights_without <- function(weight, axes, kept) {
  (weight %*% solve(axes))[, kept, drop = FALSE] %*% axes[kept, , drop = FALSE]
}

# ---- what is reported ----

#' The axes in a list of terms: list(sd, cor: positions in the table; axes), each once
#' @noRd
term_axes <- function(terms) {
  fields <- Filter(function(field) !is.null(field$axes), lapply(terms, `[[`, "field"))
  unique(lapply(fields, function(field) list(sd = field$hyper$sd, cor = field$hyper$cor, axes = field$axes)))
}

model_axes <- function(core) {
  unique(do.call(c, c(list(list()), lapply(core$predictors, function(predictor) term_axes(predictor$terms)))))
}

#' Positions in the table whose reported values are others
#' @noRd
reported_positions <- function(core) unlist(lapply(model_axes(core), `[`, c("sd", "cor")))

#' Values of all hyperparameters as the table has them -> as users see them
#' @param values H numbers, or a matrix with H columns.
#' @noRd
reported_hyper <- function(core, values) reported_values(values, model_axes(core))

reported_values <- function(values, changes) change_axes(values, changes, identity)

#' ... and back
#' @noRd
internal_hyper <- function(values, changes) change_axes(values, changes, solve)

#' sd and cor of u = A v from those of v, A = of(axes):   S_ab = sum_jk A_aj A_bk s_j s_k R_jk
#' @noRd
change_axes <- function(values, changes, of) {
  x <- if (is.matrix(values)) values else matrix(values, 1L)
  for (change in changes) {
    A <- of(change$axes)
    q <- nrow(A)
    s <- x[, change$sd, drop = FALSE]
    pairs <- correlation_pairs(q)
    at <- matrix(0L, q, q)
    at[pairs] <- at[pairs[, 2:1, drop = FALSE]] <- change$cor
    covariance <- function(a, b) {
      sum <- numeric(nrow(x))
      for (j in seq_len(q)) for (k in seq_len(q)) {
        if (A[a, j] == 0 || A[b, k] == 0) next
        sum <- sum + A[a, j] * A[b, k] * s[, j] * s[, k] * (if (j == k) 1 else x[, at[j, k]])
      }
      sum
    }
    sd <- vapply(seq_len(q), function(a) sqrt(pmax(covariance(a, a), 0)), numeric(nrow(x)))
    sd <- matrix(sd, nrow(x))
    cor <- vapply(seq_len(nrow(pairs)), function(p) {
      r <- covariance(pairs[p, 1L], pairs[p, 2L]) / (sd[, pairs[p, 1L]] * sd[, pairs[p, 2L]])
      pmin(pmax(r, -1), 1)
    }, numeric(nrow(x)))
    x[, change$sd] <- sd
    x[, change$cor] <- cor
  }
  if (is.matrix(values)) x else x[1L, ]
}

# A correlation this close to one cannot be told from it.
practically_one <- 0.999

#' Which hyperparameters are at the end of their range, as users see them?
#'
#' @param at_bound The same as the table has it; values: of the table.
#' @noRd
reported_bounds <- function(core, values, at_bound) {
  if (!any(at_bound)) return(at_bound)
  reported <- reported_hyper(core, values)
  for (change in model_axes(core)) {
    own <- c(change$sd, change$cor)
    if (!any(at_bound[own])) next
    # alone on its axis an effect is this large at the end of its range
    least <- abs(diag(change$axes)) * core$hyper$lower[change$sd]
    zero <- reported[change$sd] <= 3 * least
    pairs <- correlation_pairs(length(change$sd))
    one <- abs(reported[change$cor]) >= practically_one & !zero[pairs[, 1L]] & !zero[pairs[, 2L]]
    # effects that together, but not two by two, are linearly dependent
    if (!any(zero, one)) one <- at_bound[change$cor]
    if (!any(zero, one)) one <- abs(reported[change$cor]) == max(abs(reported[change$cor]))
    at_bound[own] <- c(zero, one)
  }
  at_bound
}
