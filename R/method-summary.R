#' @rdname print.galvi
#' @export
summary.galvi <- function(object, level = 0.95, ...) {
  refuse_dots(list(...), summary.galvi, "summary()")
  level <- check_level(level)
  coefficients <- NULL
  V <- vcov.galvi(object)
  if (nrow(V)) {
    mean <- coefficient_means(object)
    coefficients <- cbind(mean = mean, sd = sqrt(diag(V)), confint.galvi(object, level = level))
  }
  structure(
    list(
      call = object$call, formulas = all_formulas(object),
      family = family_label(object),
      nobs = nobs.galvi(object), left_out = left_out(object),
      method = object$method, expectation = object$expectation, backend = object$backend,
      coefficients = coefficients, thresholds = threshold_table(object),
      hyper = with_roots(hyper_at_level(object, level)), missing_limits = missing_limits(object),
      random = of_random_effects(object),
      varcorr = if (any(of_random_effects(object))) VarCorr.galvi(object),
      factors = if (!is.null(object$factors)) list(text = factor_lines(object), effects = object$factors$effects),
      notes = object$notes, note = if (!is.null(coefficients)) narrow_note(object), joint = is_coupled(object),
      logLik = logLik.galvi(object), certificate = certificate(object), convergence = object$convergence,
      iterations = nrow(object$trace), seconds = max(object$trace$seconds, 0), cost = object$cost,
      inducing = vapply(object$inducing, nrow, 1L), starts = object$starts,
      starts_agree = starts_agree(object$starts), penalty = object$penalty
    ),
    class = "summary.galvi"
  )
}

#' @rdname print.galvi
#' @export
print.summary.galvi <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.summary.galvi)
  print_model(x, digits)
  print_wrapped(sprintf(
    "Method: %s; expectations: %s; %s.", x$method, gsub("_", " ", x$expectation), cost_words(x)
  ))
  if (x$joint) print_wrapped("Coefficients: from a joint posterior of all classes.")
  for (line in x$missing_limits) print_wrapped(line)
  if (length(x$inducing)) {
    print_wrapped(sprintf("%s: %d inducing points, in $inducing of the fit.", names(x$inducing), x$inducing))
  }
  if (!is.null(x$starts)) print_wrapped(starts_words(x$starts, x$starts_agree))
  if (x$convergence$converged) print_wrapped(paste0("Converged: ", x$certificate, "."))
  print_warnings(x, x$note)
  invisible(x)
}

cost_words <- function(x) {
  count <- function(n, what) {
    if (length(n)) paste(format(n, big.mark = ","), if (n == 1) what else paste0(what, "s"))
  }
  parts <- c(
    count(x$iterations, "step"), count(x$cost$factorisations, "factorisation"),
    paste(format(x$seconds, digits = 2L), "seconds")
  )
  paste(parts, collapse = ", ")
}

#' Do several starts reach the same bound? NA if there was one
#' @noRd
starts_agree <- function(starts) {
  if (is.null(starts) || nrow(starts) < 2L) return(NA)
  # in nats: less than a factor of 1.001 in the evidence
  diff(range(starts$elbo)) < 1e-3
}

starts_words <- function(starts, agree) {
  if (isTRUE(agree)) return(sprintf("%d starts, which reach the same bound.", nrow(starts)))
  bounds <- paste(format(starts$elbo, digits = 6L), collapse = ", ")
  if (is.na(agree)) return(sprintf("1 start; its bound: %s.", bounds))
  sprintf("%d starts, which do not agree; the best is kept. Their bounds: %s.", nrow(starts), bounds)
}
