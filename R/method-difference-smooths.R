#' Differences between smooth functions of the levels of a factor
#'
#' The posterior of the difference between the functions of two levels in a term `gp(x, by = f)`, `s(x, by = f)` or
#' `s(x, f, bs = "fs")`, along x, for all pairs of levels. It is that of their joint posterior.
#'
#' @param model A fit of [galvi()].
#' @param select Names of terms, such as `"gp(x, by = f)"` or `"gp(x)"` for short; NULL (the default) for all `gp()` and
#'   [smooths] of one input with a function for each level of a factor.
#' @param n Number of values of the input, between the ends of the data.
#' @param group_means If TRUE, add the difference of the fixed effect of the factor (a term `f` of the formula). FALSE,
#'   the default, compares the functions alone; where these have mean zero (see [gp()]) that is their shape.
#' @param ci_level Probability of the intervals, between 0 and 1.
#' @param ... Must be empty.
#' @return A data frame with columns `.smooth`, the term; `.by`, the factor; `.level_1`, `.level_2`; `.diff` and `.se`,
#'   the posterior mean and standard deviation of the function of the first level less that of the second, on the scale
#'   of the linear predictor; `.lower_ci`, `.upper_ci`; and the input.
#' @section Errors:
#' `galvi_error_argument` if a term is not there or has no factor `by`, or another argument is not as described.
#' @seealso [derivatives()]. If gratia is loaded too, its function of this name finds this method.
#' @family questions
#' @examples
#' fit <- galvi(uptake ~ Type + gp(conc, by = Type), data = CO2)
#' difference <- difference_smooths(fit, n = 50, group_means = TRUE)
#' plot(.diff ~ conc, difference, type = "l", ylim = range(.lower_ci, .upper_ci, 0))
#' lines(.lower_ci ~ conc, difference, lty = 2)
#' lines(.upper_ci ~ conc, difference, lty = 2)
#' @export
difference_smooths <- function(model, ...) UseMethod("difference_smooths")

#' @export
difference_smooths.default <- function(model, ...) generic_elsewhere("difference_smooths", "gratia", model, ...)

#' @rdname difference_smooths
#' @method difference_smooths galvi
#' @export
#' @rawNamespace S3method(gratia::difference_smooths,galvi)
difference_smooths.galvi <- function(model, select = NULL, n = 100, group_means = FALSE, ci_level = 0.95, ...) {
  refuse_dots(list(...), difference_smooths.galvi, "difference_smooths()")
  n <- check_whole(n, "n", 2)
  group_means <- check_flag(group_means, "group_means")
  level <- check_level(ci_level, "ci_level")
  view <- curves_view(model, "difference_smooths()")
  with_levels <- function(spec) length(curve_variables(spec, view)$levels) > 1L
  specs <- selected_curves(view, select, with_levels, "a gp() or smooth of one input for each level of a factor")
  bind_tables(lapply(specs, function(spec) differences_of(view, spec, n, group_means, level)))
}

differences_of <- function(view, spec, n, group_means, level) {
  places <- curve_places(view, spec, NULL, n)
  levels <- places$variables$levels
  by <- places$variables$by
  found <- smooth_moments(view, spec, places, group_means)
  V <- found$covariance
  z <- stats::qnorm(tails(level)[2L])
  pairs <- utils::combn(length(levels), 2L)
  do.call(rbind, lapply(seq_len(ncol(pairs)), function(p) {
    a <- which(places$group == pairs[1L, p])
    b <- which(places$group == pairs[2L, p])
    difference <- found$mean[a] - found$mean[b]
    se <- sqrt(pmax(0, V[cbind(a, a)] + V[cbind(b, b)] - 2 * V[cbind(a, b)]))
    data.frame(
      .smooth = spec$label, .by = by, .level_1 = levels[pairs[1L, p]], .level_2 = levels[pairs[2L, p]],
      .diff = difference, .se = se, .lower_ci = difference - z * se, .upper_ci = difference + z * se,
      places$shown[a, 2L, drop = FALSE], check.names = FALSE, row.names = NULL
    )
  }))
}

#' Mean and covariance of a term at places, with the effects of its factor's levels where group_means says so
#' @noRd
smooth_moments <- function(view, spec, places, group_means) {
  if (is_imputed(view)) {
    return(joint_of_parts(lapply(view$fits, function(part) {
      smooth_moments(part, own_term(part, spec), places, group_means)
    })))
  }
  size <- nrow(places$shown)
  rows <- lapply(subset_rows(view$model$designs[[1L]], rep(1L, size)), blank)
  frame <- curve_frame(view, spec, places)
  rows[[match(spec$label, view$design$labels)]] <- spec_rows(spec, frame)
  fixed <- fixed_spec(view$design$specs)
  if (group_means && !is.null(fixed)) {
    own <- fixed$assign > 0L & c("", attr(fixed$terms, "term.labels"))[fixed$assign + 1L] == places$variables$by
    X <- printed_columns(fixed, frame)
    X[, !own] <- 0
    coding <- or_else(fixed$coding, as_they_are(ncol(X)))
    rows[[match(fixed_label, view$design$labels)]]$W <- X %*% coding$A
  }
  eta <- latent_at(view, list(rows), size, covariance = TRUE)
  list(mean = eta$mean[, 1L], covariance = eta$covariance[[1L]])
}
