# Columns of fixed effects where some have an effect of their own at each threshold, cs(x): those of binary rows that
# are decisions at a threshold (R/model-stages.R). Their terms object has `shared` and `specific`, terms objects of the
# fixed effects outside and inside of cs().

#' Which columns of fixed effects are thresholds?
#' @noRd
are_thresholds <- function(spec) {
  match(stage_names[["stage"]], attr(spec$terms, "term.labels"), nomatch = -1L) == spec$assign
}

#' Columns of thresholds, of shared and of category-specific effects, as fixed_matrix() returns them
#'
#' Columns of a category-specific effect are called as the column and the number of the threshold, x[1], x[2], as in
#' brms. A threshold is subtracted from the linear predictor.
#' @noRd
stage_columns <- function(terms, frame, contrasts) {
  stage <- frame[[stage_names[["stage"]]]]
  K <- nlevels(stage)
  at <- outer(as.integer(stage), seq_len(K), `==`) + 0
  of <- function(part) {
    variables <- vapply(as.list(attr(part, "variables"))[-1L], variable_name, "")
    own <- contrasts[intersect(names(contrasts), variables)]
    without_intercept(fixed_matrix(part, frame, if (length(own)) own))
  }
  shared <- of(attr(terms, "shared"))
  specific <- of(attr(terms, "specific"))
  columns <- seq_len(ncol(specific$W))
  each <- do.call(cbind, lapply(columns, function(j) specific$W[, j] * at))
  colnames(each) <- sprintf("%s[%d]", rep(colnames(specific$W), each = K), rep(seq_len(K), length(columns)))
  W <- cbind(`colnames<-`(-at, levels(stage)), shared$W, each)
  count <- length(attr(attr(terms, "shared"), "term.labels"))
  list(
    W = W, assign = c(rep(1L, K), 1L + shared$assign, rep(1L + count + specific$assign, each = K)),
    contrasts = c(shared$contrasts, specific$contrasts[setdiff(names(specific$contrasts), names(shared$contrasts))])
  )
}

#' The prior of a threshold: the one that is typed, else flat, as of thresholds without cs(); where predictors are zero
#' may be far from the data
#' @noRd
threshold_prior <- function(column, typed) {
  if ("at_means" %in% names(typed)) {
    stop_galvi("prior", paste(
      "With cs() the priors of thresholds are those where all predictors are zero, not at their means: write",
      "`intercept`, or for one of them its name, in place of `at_means` or class = \"Intercept\"."
    ))
  }
  prior <- chosen_prior(typed, c(column, "intercept"))
  if (is_horseshoe(prior)) {
    stop_galvi("prior", paste(
      "horseshoe() is a prior of slopes, which it shrinks to zero: give thresholds normal() or student_t()."
    ))
  }
  if (is.null(prior) || isTRUE(attr(prior, "open"))) normal(0, Inf) else prior
}

#' The coding of columns beside thresholds: the default prior of slopes depends on how columns vary among the rows of one
#' threshold, not on where they are zero
#' @noRd
coding_of_stages <- function(W, typed, spec, context) {
  check_scales(W, spec, context)
  thresholds <- are_thresholds(spec)
  open <- !thresholds & vapply(typed, is.null, NA)
  at <- -W[, thresholds, drop = FALSE]
  counted <- at * as.numeric(context$weights)
  means <- crossprod(counted, W) / unit_if_zero(colSums(counted))
  means[, thresholds] <- 0
  X <- W - at %*% means
  # a column that is constant at a threshold leaves rounding
  X[abs(X) <= 1e-12 * abs(W)] <- 0
  coding <- column_coding(
    X, open, logical(ncol(W)), "none", context$centre, context$spread, context$weights, context$threads
  )
  if (is.null(coding)) return(NULL)
  # flat thresholds may belong to the means: with 1e6 for x no digits are lost
  flat <- vapply(typed[thresholds], is_flat, NA)
  shift <- flat * (means %*% coding$B)
  coding$B[thresholds, ] <- coding$B[thresholds, ] + shift
  coding$A[thresholds, ] <- coding$A[thresholds, ] + shift
  coding
}
