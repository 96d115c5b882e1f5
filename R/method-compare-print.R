# Prints and summaries of comparisons.

#' @rdname galvi_compare
#' @export
print.galvi_compare <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.galvi_compare)
  print_compared(x)
  cat("\n")
  ends <- x$ends
  table <- data.frame(
    method = marked_methods(ends), elbo = format_bound(ends$elbo, digits), below = format_small(ends$below),
    steps = format(ends$iterations), flops = format_count(ends$flops), seconds = format_count(ends$seconds)
  )
  if (!is.null(ends$density)) {
    table$density <- format(ends$density, digits = digits)
    table$error <- format(ends$error, digits = digits)
  }
  print_table(table)
  cat("\n")
  print_notes(x, digits)
  if (!is.null(ends$density)) {
    print_wrapped(sprintf(
      "density, error: mean log predictive density and %s of %s held-out rows.", x$error_name,
      format(x$n_held_out, big.mark = ",")
    ))
  }
  print_refused(x$refused)
  invisible(x)
}

print_compared <- function(x) {
  cat("Methods of inference: ", x$family, ", ", x$nobs, if (x$nobs == 1L) " observation" else " observations",
    ", expectations by ", gsub("_", " ", x$expectation), "\n", sep = "")
  print_wrapped(deparse_one(x$formula), 4L)
}

marked_methods <- function(ends) paste0(ends$method, ifelse(ends$converged, "", "*"))

print_notes <- function(x, digits) {
  ends <- if (is.null(x$ends)) x$reached else x$ends
  if (!all(ends$converged)) print_wrapped("* has not converged.")
  if ("auto" %in% ends$method) print_wrapped(sprintf("auto is %s here.", x$fits$auto$method))
  if (is.na(x$best)) return(print_wrapped("None of these methods gives a bound."))
  print_wrapped(sprintf(
    "Best bound: %s nats (%s), %s.", format_bound(x$best, digits), x$best_method,
    certificate(x$fits[[x$best_method]])
  ))
  others <- ends$method[ends$kind == "approximation"]
  if (length(others)) print_wrapped(sprintf("Not bounds: %s.", paste(others, collapse = ", ")))
  print_wrapped("below: distance to the best bound, in nats. Flops are counted; seconds are measured once and vary.")
}

print_refused <- function(refused) {
  if (!nrow(refused)) return(invisible())
  cat("Not available for this model:\n")
  for (i in seq_len(nrow(refused))) {
    text <- sprintf("%s: %s", refused$method[i], refused$reason[i])
    cat(strwrap(text, 0.95 * getOption("width"), indent = 2L, exdent = 4L), sep = "\n")
  }
}

#' A table with methods left-aligned and numbers right-aligned
#' @noRd
print_table <- function(table) {
  table$method <- format(table$method)
  names(table)[1L] <- format("method", width = nchar(table$method[1L]))
  print(table, row.names = FALSE)
}

format_bound <- function(x, digits) format(x, digits = max(digits, 6L), nsmall = 3L)

#' Distances with two digits, and 0 where they are rounding error
#' @noRd
format_small <- function(x) {
  ifelse(is.na(x), "-", ifelse(x < 1e-10, "0", formatC(x, digits = 1L, format = "e")))
}

format_count <- function(x) ifelse(is.na(x), "-", formatC(x, digits = 3L, format = "g"))

#' @rdname galvi_compare
#' @export
summary.galvi_compare <- function(object, within = c(1e-3, 1e-6), ...) {
  refuse_dots(list(...), summary.galvi_compare, "summary()")
  if (!is.numeric(within) || !length(within) || anyNA(within) || any(within <= 0)) {
    stop_galvi("argument", sprintf("`within` must be positive numbers, not %s.", describe(within)))
  }
  reached <- object$ends
  for (distance in within) {
    first <- lapply(reached$method, reached_first, object, distance)
    for (what in c("iterations", "seconds", "flops")) {
      reached[[paste0(what, "_", distance)]] <- vapply(first, `[[`, 0, what)
    }
  }
  kept <- c("formula", "family", "nobs", "expectation", "refused", "best", "best_method", "fits")
  out <- c(list(reached = reached, within = within), unclass(object)[kept])
  structure(out, class = "summary.galvi_compare")
}

#' The first step of a method's path within a distance of the best bound
#' @noRd
reached_first <- function(method, compared, distance) {
  never <- list(iterations = NA_real_, seconds = NA_real_, flops = NA_real_)
  if (compared$ends$kind[match(method, compared$ends$method)] == "approximation") return(never)
  trace <- compared$trace[compared$trace$method == method, ]
  at <- which(compared$best - trace$elbo <= distance)
  if (!length(at)) return(never)
  list(iterations = trace$iteration[at[1L]], seconds = trace$seconds[at[1L]], flops = trace$flops[at[1L]])
}

#' @rdname galvi_compare
#' @export
print.summary.galvi_compare <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.summary.galvi_compare)
  print_compared(x)
  methods <- marked_methods(x$reached)
  for (distance in x$within) {
    cat("\nTo within ", format(distance), " nats of the best bound\n", sep = "")
    of <- function(what) format_count(x$reached[[paste0(what, "_", distance)]])
    print_table(data.frame(
      method = methods, steps = of("iterations"), flops = of("flops"), seconds = of("seconds")
    ))
  }
  cat("\nAt the end\n")
  print_table(data.frame(
    method = methods, elbo = format_bound(x$reached$elbo, digits), below = format_small(x$reached$below),
    certificate = format_small(pmax(x$reached$gap, 0)), factorisations = format(x$reached$factorisations)
  ))
  cat("\n")
  print_notes(x, digits)
  print_refused(x$refused)
  invisible(x)
}
