# What a fit says of its factors: loadings, scores, biplot, screeplot.

#' Loadings and scores of factors
#'
#' Of a fit with a term [rr()] or [factors()]: `scores()` gives the posterior of the units' scores, `biplot()` draws
#' units and items together, `screeplot()` shows how the bound grows with the number of factors.
#' [stats::loadings()] works too: it gives the items' loadings, whose squared lengths are printed below them.
#'
#' Factors are turned to the principal axes of the loadings W: W = U D with orthonormal columns of U and the singular
#' values D falling; the largest entry of each column is positive. The scores have the prior N(0, I) in any rotation.
#'
#' The bound on the log evidence rises with d, because loadings are learned as points. `screeplot()` shows it beside
#' the same less k / 2 log(units), where k = p d - d (d - 1) / 2 is the number of free loadings: BIC's penalty, as
#' `PLNmodels` has it. It fits the model again for every d.
#' @param object,x A fit of [galvi()] with factors.
#' @param se.fit Also give posterior standard deviations?
#' @param choices Which two factors to draw.
#' @param labels Draw the units' names (`TRUE`), points (`FALSE`), or these.
#' @param col Colours of units and items.
#' @param main,xlab,ylab Titles.
#' @param d Numbers of factors.
#' @param ... For `screeplot`, arguments of [galvi()] for the fits, for others empty.
#' @return `scores`: a matrix, units x d; with `se.fit` a list of `fit` and `se.fit`, in the order of the units' names
#'   (for [responses()], of its rows). `biplot`: the units' and items' coordinates, invisibly. `screeplot`: a data frame
#'   with columns `d`, `elbo`, `df` and `penalised`, invisibly.
#' @references
#' Gabriel, K. R. (1971). The biplot graphic display of matrices with application to principal component analysis.
#' Biometrika 58, 453-467.
#'
#' Chiquet, J., Mariadassou, M. and Robin, S. (2018). Variational inference for probabilistic Poisson PCA. The Annals
#' of Applied Statistics 12, 2674-2698.
#' @examples
#' fit <- galvi(responses(scale(log(USArrests))) ~ factors(2), data = USArrests)
#' loadings(fit)
#' head(scores(fit, se.fit = TRUE)$se.fit)
#' biplot(fit)
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
  if (!is.null(wide)) { # units of which nothing is known have the prior's
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

#' @rdname galvi-factors
#' @importFrom stats biplot
#' @export
biplot.galvi <- function(x, choices = 1:2, labels = NULL, col = c("grey40", "firebrick"), main = "", xlab = NULL,
                         ylab = NULL, ...) {
  refuse_dots(list(...), biplot.galvi, "biplot()")
  check_has_factors(x, "biplot()")
  z <- scores(x)
  W <- x$factors$loadings
  if (ncol(W) < 2L) stop_galvi("argument", "biplot() needs two factors; this fit has one: plot its loadings(fit).")
  if (!is.numeric(choices) || length(choices) != 2L || !all(choices %in% seq_len(ncol(W)))) {
    stop_galvi("argument", sprintf("`choices` must be two of the %d factors.", ncol(W)))
  }
  z <- z[, choices]
  W <- W[, choices]
  # arrows as long as the units are far out
  unit <- 0.9 * max(abs(z)) / max(abs(W))
  if (is.null(labels)) labels <- nrow(z) <= 60L
  named <- if (is.character(labels)) labels else if (check_flag(labels, "labels")) rownames(z)
  col <- rep_len(col, 2L)
  reach <- 1.1 * max(abs(z), unit * abs(W))
  axis_name <- function(given, k) if (is.null(given)) sprintf("factor %d", choices[k]) else given
  graphics::plot(z, type = "n", xlim = c(-reach, reach), ylim = c(-reach, reach), asp = 1, main = main,
    xlab = axis_name(xlab, 1L), ylab = axis_name(ylab, 2L))
  graphics::abline(h = 0, v = 0, col = "grey85")
  if (is.null(named)) graphics::points(z, col = col[1L], pch = 19, cex = 0.6) else {
    graphics::text(z, named, col = col[1L], cex = 0.7)
  }
  graphics::arrows(0, 0, unit * W[, 1L], unit * W[, 2L], length = 0.06, col = col[2L])
  graphics::text(1.06 * unit * W, rownames(W), col = col[2L], cex = 0.8)
  invisible(list(units = z, items = W))
}

#' @rdname galvi-factors
#' @importFrom stats screeplot
#' @export
screeplot.galvi <- function(x, d = NULL, main = "", ...) {
  check_has_factors(x, "screeplot()")
  own <- ncol(x$factors$loadings)
  most <- min(nrow(x$factors$loadings) - 1L, nrow(x$factors$mean))
  if (is.null(d)) d <- seq_len(min(most, max(5L, own + 1L)))
  bad <- !is.numeric(d) || !length(d) || !all(d %in% seq_len(most))
  if (bad) stop_galvi("argument", sprintf("`d` must be whole numbers between 1 and %d, not %s.", most, describe(d)))
  call <- x$call
  frame <- parent.frame()
  fits <- lapply(d, function(k) {
    if (k == own && !...length()) return(x)
    changed <- with_rank(x$formula, k)
    eval(update.galvi(x, formula. = changed, ..., evaluate = FALSE), frame)
  })
  table <- data.frame(
    d = d, elbo = vapply(fits, `[[`, 0, "elbo"), df = vapply(fits, function(fit) attr(logLik.galvi(fit), "df"), 0)
  )
  table$penalised <- table$elbo - table$df / 2 * log(nrow(x$factors$mean))
  graphics::matplot(table$d, table[c("elbo", "penalised")], type = "b", pch = c(19, 1), lty = 1,
    col = c("black", "firebrick"), xlab = "number of factors", ylab = "nats", main = main, xaxt = "n")
  graphics::axis(1, table$d)
  graphics::legend("bottomright", c("bound", "bound - df / 2 log(units)"), col = c("black", "firebrick"),
    pch = c(19, 1), lty = 1, bty = "n")
  invisible(table)
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

#' What there are and how large, as lines of text
#' @noRd
factor_lines <- function(fit, digits = max(3L, getOption("digits") - 3L)) {
  spec <- factor_specs(fit$design$specs)[[1L]]
  name <- if (is.null(fit$design$wide)) spec$label else sprintf("factors(%d)", spec$d)
  size <- format(sqrt(colSums(fit$factors$loadings^2)), digits = digits)
  c(
    sprintf("Factors %s: %d items in %d unit%s", name, length(spec$items), length(spec$units),
      if (length(spec$units) > 1L) "s" else ""),
    strwrap(paste("Singular values of the loadings:", paste(size, collapse = " ")), 0.95 * getOption("width"), exdent = 2L)
  )
}

#' @param factors list(text, effects: items x q) of a summary; NULL for none
#' @noRd
print_factors <- function(factors, digits) {
  if (is.null(factors)) return(invisible())
  cat("", factors$text, sep = "\n")
  if (!ncol(factors$effects)) return(invisible())
  shown <- utils::head(factors$effects, 6L)
  cat("Effects of items (learned as points)",
    if (nrow(factors$effects) > nrow(shown)) sprintf(", %d of %d", nrow(shown), nrow(factors$effects)), ":\n", sep = "")
  print(zapsmall(shown, digits), digits = digits)
}

#' @export
print.galvi_loadings <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.galvi_loadings)
  cat("\nLoadings:\n")
  W <- unclass(x)
  print(zapsmall(rbind(W, "sum of squares" = colSums(W^2)), digits), digits = digits)
  invisible(x)
}

# Where the link is no identity a linear predictor that varies by more than this tells everything or nothing.
largest_loading <- 10

#' Loadings that nothing holds back, as in a binary column that others predict without error
#' @noRd
warn_large_loadings <- function(fit) {
  spec <- factor_specs(fit$design$specs)[[1L]]
  families <- if (is_mixed(fit$family)) fit$family$parts else list(fit$family)
  bound <- rep_len(!vapply(families, link_has, NA, "same_units"), length(spec$items))
  size <- sqrt(rowSums(fit$factors$loadings^2))
  large <- which(bound & size > largest_loading)
  if (!length(large)) return(invisible())
  warn_galvi("data", sprintf(paste(
    "The loadings of %s may grow without limit (length %s): other items predict it without error (separation), or it",
    "was seen too rarely. Give loadings a prior: loadings = normal(0, 3)."
  ), quote_names(spec$items[large], "\"", 5L), format(max(size), digits = 3L)), call = fit$call)
}
