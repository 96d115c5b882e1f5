#' @rdname print.galvi
#' @export
summary.galvi <- function(object, level = 0.95, ...) {
  level <- check_level(level)
  coefficients <- NULL
  V <- vcov.galvi(object)
  if (nrow(V)) {
    mean <- as.vector(fixed_coefficients(object)$mean)
    coefficients <- cbind(mean = mean, sd = sqrt(diag(V)), confint.galvi(object, level = level))
  }
  structure(
    list(
      call = object$call, formula = object$formula, family = family_label(object),
      nobs = object$nobs, na.action = object$na.action,
      method = object$method, expectation = object$expectation, backend = object$backend,
      coefficients = coefficients, hyper = with_sds(object$hyper),
      logLik = logLik.galvi(object), certificate = certificate(object), convergence = object$convergence,
      iterations = nrow(object$trace), seconds = max(object$trace$seconds, 0), cost = object$cost,
      starts = object$starts
    ),
    class = "summary.galvi"
  )
}

#' @rdname print.galvi
#' @export
print.summary.galvi <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_heading(x$formula, x$family, x$nobs, x$na.action)
  cat("\nFixed effects", if (is.null(x$coefficients)) ": none" else " (posterior)", "\n", sep = "")
  if (!is.null(x$coefficients)) print(x$coefficients, digits = digits)
  print_hyper(x$hyper, digits)
  cat("\n")
  print_evidence(x$logLik, x$certificate, digits)
  print_wrapped(sprintf(
    "Method %s, expectations by %s: %s.", x$method, gsub("_", " ", x$expectation), cost_words(x)
  ))
  if (!is.null(x$starts)) {
    bounds <- paste(format(x$starts$elbo, digits = 6L), collapse = ", ")
    print_wrapped(sprintf("%d starts; their bounds: %s.", nrow(x$starts), bounds))
  }
  state <- if (x$convergence$converged) "Converged" else "NOT CONVERGED"
  message <- x$convergence$message
  print_wrapped(paste0(state, if (length(message) && nzchar(message)) paste0(": ", message), "."))
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
