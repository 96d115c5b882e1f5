# Methods for factor models: loadings, scores, biplot, screeplot.

#' Loadings, scores and plots of factor models
#'
#' Extract loadings and scores from a fit with latent factors ([rr()] or [responses()]), draw units and items together
#' (a biplot), and compare numbers of factors. `loadings()` also has those of processes that outputs share,
#' [`gp(share = )`][gp].
#'
#' @details
#' `scores()` returns the posterior means of the scores of the units, and [stats::loadings()] the loadings of the items.
#' Both are rotated to the principal axes of the loadings W = U D, where U has orthonormal columns and the singular
#' values D are in decreasing order; the largest entry of each column of W is positive. In any such rotation the prior
#' of the scores is N(0, I).
#'
#' Of `gp(by = g, share = R)` the rows of the loadings are levels of `g` and the columns processes, with attributes
#' `covariance`, `stddev` and `correlation` of the levels' functions at equal inputs, averaged over the rows where the
#' variance of a kernel is not constant. Processes with the same kernel are rotated to principal axes; others are as
#' they are, because a rotation would mix their kernels. With several such terms, or factors beside them, `loadings()` is
#' a list of matrices named by term.
#'
#' `biplot()` draws scores as points with names, and loadings as arrows, scaled by a common factor. Names of units that
#' would hide others are left out.
#'
#' `screeplot()` fits the model for several numbers of factors. The bound on the log marginal likelihood increases with
#' d, because loadings are point estimates, so it is shown together with a penalised one: less df / 2 log(units), as in
#' BIC, where df counts the learned loadings, less the d (d - 1) / 2 rotations, and the other learned parameters
#' (Chiquet et al., 2018, do the same). Choose the d with the largest penalised bound.
#'
#' @param object,x A fit of [galvi()] with factors.
#' @param se.fit If TRUE, return posterior standard deviations as well. FALSE by default.
#' @param choices Which two factors to draw.
#' @param labels TRUE for the names of units, FALSE for points, or a character vector of names. NULL, the default, draws
#'   names of up to 60 units.
#' @param col Colours of units and items.
#' @param main,xlab,ylab Titles of the plot and its axes.
#' @param d Numbers of factors; by default from 1 to one more than the fit has, and at least to 5 if there are enough
#'   items.
#' @param ... For `screeplot()`, arguments of [galvi()] that the fits should have; otherwise empty.
#' @return `scores()`: a matrix, units x d, or with `se.fit` a list of two such matrices, `fit` and `se.fit`. Rows are
#'   named by unit, for [responses()] in the order of the rows of Y. `biplot()`: a list with the coordinates of `units`
#'   and `items`, invisibly. `screeplot()`: a data frame with columns `d`, `elbo` (the bound), `df` and `penalised`,
#'   invisibly.
#' @section Errors:
#' `galvi_error_argument` if the fit has no factors, or for `biplot()` only one.
#' @references
#' Gabriel, K. R. (1971). The biplot graphic display of matrices with application to principal component analysis.
#' *Biometrika* 58, 453-467.
#'
#' Chiquet, J., Mariadassou, M. and Robin, S. (2018). Variational inference for probabilistic Poisson PCA. *The Annals
#' of Applied Statistics* 12, 2674-2698.
#' @seealso `vignette("ordination")`
#' @family predictions and draws
#' @examples
#' fit <- galvi(responses(scale(log(USArrests))) ~ factors(2), data = USArrests)
#' loadings(fit)
#' head(scores(fit))
#' biplot(fit)
#' print(screeplot(fit))
#' @name galvi-factors
NULL

#' @rdname galvi-factors
#' @export
scores <- function(object, ...) UseMethod("scores")

#' @rdname galvi-factors
#' @export
scores.galvi <- function(object, se.fit = FALSE, ...) {
  refuse_dots(list(...), scores.galvi, "scores()")
  factors <- check_has_factors(object, "scores()")
  mean <- factors$mean
  sd <- sqrt(t(apply(factors$covariance, 3L, diag)))
  if (ncol(mean) == 1L) sd <- t(sd)
  dimnames(sd) <- dimnames(mean)
  wide <- object$design$wide
  if (!is.null(wide)) { # units without observations have the prior N(0, I)
    at <- match(wide$units, rownames(mean))
    mean <- `rownames<-`(mean[at, , drop = FALSE], wide$units)
    sd <- `rownames<-`(sd[at, , drop = FALSE], wide$units)
    mean[is.na(at), ] <- 0
    sd[is.na(at), ] <- 1
  }
  if (check_flag(se.fit, "se.fit")) list(fit = mean, se.fit = sd) else mean
}

check_has_factors <- function(fit, what) {
  if (!is.null(fit$factors)) return(fit$factors)
  stop_galvi("argument", sprintf("%s is for fits with factors: rr() or factors() in the formula.", what))
}

# The formula with another number of factors.
with_rank <- function(formula, d) {
  change <- function(expr) {
    if (!is.call(expr)) return(expr)
    head <- head_name(expr)
    if (head %in% c("rr", "factors")) {
      definition <- if (head == "rr") rr else factors
      arguments <- match_term(expr, definition)
      arguments$d <- d
      arguments$loadings <- if (is_normal(tryCatch(eval_galvi(arguments$loadings, environment(formula)),
        error = function(e) NULL))) arguments$loadings
      return(as.call(c(list(as.name(head)), arguments)))
    }
    expr[-1L] <- lapply(as.list(expr)[-1L], function(part) if (missing(part)) part else change(part))
    expr
  }
  formula[[3L]] <- change(formula[[3L]])
  formula
}

#' Numbers of items and units, and singular values, as lines of text
#' @noRd
factor_lines <- function(fit, digits = max(3L, getOption("digits") - 3L)) {
  spec <- factor_specs(fit$design$specs)[[1L]]
  name <- if (is.null(fit$design$wide)) spec$label else sprintf("factors(%d)", spec$d)
  size <- format(sqrt(colSums(fit$factors$loadings^2)), digits = digits)
  c(
    sprintf("Factors %s: %d items in %d unit%s", name, length(spec$items), length(spec$units),
      if (length(spec$units) > 1L) "s" else ""),
    strwrap(paste("Singular values of the loadings:", paste(size, collapse = " ")), 0.95 * getOption("width"),
      exdent = 2L)
  )
}

#' @param factors list(text, effects: items x q) of a summary; NULL for none
#' @noRd
print_factors <- function(factors, digits) {
  if (is.null(factors)) return(invisible())
  cat("", factors$text, sep = "\n")
  if (!ncol(factors$effects)) return(invisible())
  shown <- utils::head(factors$effects, 6L)
  cat("Effects of items (point estimates)",
    if (nrow(factors$effects) > nrow(shown)) sprintf(", %d of %d", nrow(shown), nrow(factors$effects)), ":\n", sep = "")
  print(zapsmall(shown, digits), digits = digits)
}

#' @export
print.galvi_loadings <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.galvi_loadings)
  cat("\nLoadings:\n")
  W <- matrix(x, nrow(x), dimnames = dimnames(x))
  print(zapsmall(rbind(W, "sum of squares" = colSums(W^2)), digits), digits = digits)
  if (!is.null(attr(x, "correlation"))) {
    cat("\nStandard deviations and correlations of the functions:\n")
    print(sharing_table(x, digits), quote = FALSE, right = TRUE)
  }
  invisible(x)
}

#' Standard deviations and correlations of functions that share processes, as lines of text
#' @noRd
print_shared <- function(shared, digits) {
  for (label in names(shared)) {
    A <- shared[[label]]
    cat("\n", label, ": ", nrow(A), " functions of ", ncol(A), if (ncol(A) == 1L) " process" else " processes",
      " (SD, correlation):\n", sep = "")
    print(sharing_table(A, digits), quote = FALSE, right = TRUE)
  }
}

# A row for each level: its standard deviation, and correlations with those before it.
sharing_table <- function(A, digits) {
  R <- formatC(attr(A, "correlation"), digits = 2L, format = "f")
  R[upper.tri(R, diag = TRUE)] <- ""
  R <- R[, -ncol(R), drop = FALSE]
  cbind(SD = format(attr(A, "stddev"), digits = digits), R)
}
