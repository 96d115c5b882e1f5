#' Comparison of inference methods on one model
#'
#' Fits one model by several inference methods and compares the evidence bounds they reach and the iterations,
#' floating-point operations and seconds they need; with held-out data also their predictions.
#'
#' Every method starts where [galvi()] would start it, with the same `control`. Numbers of floating-point operations are
#' counted and the same in every run. Seconds are measured once, in this session, without the time for reading the
#' formula and the data: they vary from run to run, so only large differences are meaningful.
#'
#' All methods but `mean_field`, `laplace` and `ep` maximise the same bound. The best bound that any of them reaches
#' therefore shows how far the others are from the maximum; it comes with a certificate where there is one. `mean_field`
#' has a bound of its own. `laplace` and `ep` estimate the log evidence by values that are not bounds, so they are not
#' ranked. A method that is not available for the model is listed with the reason.
#'
#' With `newdata` the mean log predictive density and the error of predictions are computed at the end of each fit. The
#' error is the proportion of wrong classes for binary and multi-class responses and the root mean squared error of the
#' mean otherwise; NA for [stochastic_volatility()] and censored responses. With `hyper = "fixed"` they are also
#' computed along the path, by running the method again with smaller values of `max_iterations` (about `path` of them,
#' on a geometric scale). This takes a few times as long as the first run; the flops and seconds shown are those of the
#' first run.
#'
#' @param formula,data,family As in [galvi()].
#' @param methods Names of methods (see [galvi_methods()]), which may include `"auto"`; NULL for all.
#' @param hyper `"fixed"` (the default) or `"optimise"`, as in [galvi()].
#' @param newdata NULL, or a data frame with the response and the variables of the formula, for the held-out measures.
#' @param path Number of points along each path at which the held-out measures are computed, a whole number; 0 for the
#'   end only.
#' @param ... For `galvi_compare()`, other arguments of [galvi()]: `expectation`, `start`, `prior`, `weights`, `control`
#'   and so on. Must be empty for the methods.
#' @param object,x The value of `galvi_compare()`, or its summary.
#' @param within Positive distances to the best bound, in nats.
#' @param which What to plot: `"bound"` (distance to the best bound), `"density"` and `"error"` (held out). NULL for
#'   all that are available.
#' @param against `"flops"`, `"seconds"` or both: the horizontal axis.
#' @param ask If TRUE, ask before each panel. NULL: only with several panels on an interactive device.
#' @param main,xlab,ylab,xlim,ylim,col As in [plot.galvi()]; `col` has one colour per method.
#' @param digits Number of significant digits.
#' @return `galvi_compare()` returns a list of class `galvi_compare` with elements
#' \describe{
#'   \item{`ends`}{a data frame with a row per fit: `method`; `kind`, one of `"bound"`, `"exact"` and `"approximation"`;
#'     `elbo`; `below`, its distance to the best bound in nats (NA if not a bound); `gap`, the certificate; `converged`;
#'     `iterations`, `seconds`, `flops` and `factorisations`; with `newdata` also `density` and `error`.}
#'   \item{`trace`}{a data frame with a row per step of each fit: `method`, `iteration`, `seconds`, `flops`, `elbo`,
#'     `gap` and, with `newdata`, `density` and `error` (NA where they were not computed).}
#'   \item{`best`, `best_method`}{the best bound and its method.}
#'   \item{`refused`}{a data frame of methods that are not available, with the `reason`.}
#'   \item{`fits`}{the fits, named by method.}
#' }
#' `summary()` returns a list with the data frame `reached`: `ends`, and for each of `within` the iterations, seconds
#' and flops until the bound is that close to the best one, in columns such as `flops_0.001` (NA if it never is).
#' `plot()` draws one panel per measure and axis, with logarithmic axes except for densities and errors, and invisibly
#' returns the data it drew. Fits that did not converge are marked.
#' @section Errors:
#' `galvi_error_method` if none of the methods is available; all errors of [galvi()] may occur.
#' @seealso `vignette("the-algorithms-compared", package = "galvi")`.
#' @family checks and comparisons
#' @examples
#' compared <- galvi_compare(am ~ gp(wt), data = mtcars, family = binomial(),
#'   methods = c("newton", "fixed_point", "natural_gradient"))
#' compared
#' summary(compared)
#' plot(compared, against = "flops")
#' @export
galvi_compare <- function(formula, data = NULL, family = gaussian(), methods = NULL, hyper = "fixed",
                          newdata = NULL, path = 8, ...) {
  call <- match.call()
  dots <- as.list(substitute(list(...)))[-1L]
  known <- c(setdiff(names(formals(galvi.formula)), c("method", "...")), "methods", "newdata", "path")
  if (is.null(names(dots))) names(dots) <- rep("", length(dots))
  check_no_dots(dots[!names(dots) %in% known], known, "galvi_compare()")
  # arguments passed through another function's `...`, as they were written there
  call[names(dots)] <- dots
  methods <- check_methods(methods)
  hyper <- check_choice(hyper, c("optimise", "fixed"), "hyper")
  path <- check_whole(path, "path", 0)
  by_name <- intersect(names(dots), c("weights", "offset", "subset"))
  others <- setdiff(names(dots), by_name)
  # evaluated once, as data may be random
  values <- c(
    list(formula = check_formula(formula), data = data,
      family = family_argument(formula, environment()), hyper = hyper, verbose = FALSE),
    lapply(stats::setNames(nm = others), function(name) eval(call("...elt", match(name, names(dots)))))
  )
  values <- values[!duplicated(names(values), fromLast = TRUE)]
  fit <- method_fitter(call, values, dots[by_name], parent.frame())
  # the first use of a backend times both, which must not count for the first method
  galvi_backend()
  tried <- lapply(stats::setNames(nm = methods), fit)
  ran <- Filter(function(x) inherits(x, "galvi"), tried)
  refused <- refusal_table(tried[setdiff(methods, names(ran))])
  if (!length(ran)) stop_galvi("method", nothing_ran(refused))
  out <- list(
    call = call, formula = ran[[1L]]$formula, family = family_label(ran[[1L]]), nobs = ran[[1L]]$nobs,
    hyper = hyper, refused = refused, fits = ran
  )
  out$trace <- compared_traces(ran)
  out$ends <- compared_ends(ran)
  out[c("best", "best_method")] <- best_bound(out$ends)
  # that of the best bound, as laplace has its own
  out$expectation <- ran[[if (is.na(out$best)) 1L else out$best_method]]$expectation
  out$ends$below <- ifelse(out$ends$kind == "approximation", NA, out$best - out$ends$elbo)
  if (!is.null(newdata)) out <- add_held_out(out, newdata, fit, if (hyper == "fixed") path else 0)
  structure(out, class = "galvi_compare")
}

check_methods <- function(methods) {
  if (is.null(methods)) return(core_facts$inference$name)
  if (!is.character(methods) || !length(methods) || anyNA(methods)) {
    stop_galvi("method", sprintf("`methods` must be names of methods, not %s.", describe(methods)))
  }
  unique(vapply(methods, check_method, "", "methods", USE.NAMES = FALSE))
}

#' A function that fits the model with one method and returns the fit, or the reason why there is none
#'
#' @param call The call that the fits keep.
#' @param values,expressions Arguments of galvi(): their values; weights, offset and subset, which it
#'   evaluates itself.
#' @noRd
method_fitter <- function(call, values, expressions, frame) {
  call[c("methods", "newdata", "path")] <- NULL
  call[[1L]] <- quote(galvi)
  call$hyper <- values$hyper
  arguments <- list2env(values, parent = frame)
  given <- c(lapply(stats::setNames(nm = names(values)), as.name), expressions)
  function(method, max_iterations = NULL) {
    here <- new.env(parent = arguments)
    here$method <- method
    if (!is.null(max_iterations)) {
      here$control <- if (is.null(values$control)) galvi_control() else as_control(values$control)
      here$control$max_iterations <- max_iterations
    }
    given[c("method", if (!is.null(here$control)) "control")] <- NULL
    given <- c(given, lapply(stats::setNames(nm = names(here)), as.name))
    # methods that are not available or fail are part of the comparison
    found <- tryCatch(
      withCallingHandlers(
        eval(as.call(c(list(galvi), given)), here),
        galvi_warning_convergence = function(w) invokeRestart("muffleWarning")
      ),
      galvi_error_method = conditionMessage, galvi_error_numeric = conditionMessage
    )
    if (inherits(found, "galvi")) {
      call$method <- method
      found$call <- call
    }
    found
  }
}

refusal_table <- function(reasons) {
  text <- vapply(reasons, identity, "", USE.NAMES = FALSE)
  data.frame(
    method = as.character(names(reasons)),
    # the core's sentences end with a full stop
    reason = sub("[.]$", "", sub("^method \"[^\"]*\" cannot fit this model: ", "", text))
  )
}

nothing_ran <- function(refused) {
  if (nrow(refused) == 1L) {
    return(sprintf("method \"%s\" cannot fit this model: %s", refused$method, refused$reason))
  }
  paste0(
    "None of the methods can fit this model. ",
    paste(sprintf("%s: %s.", refused$method, refused$reason), collapse = " ")
  )
}

compared_traces <- function(fits) {
  columns <- c("iteration", "seconds", "flops", "elbo", "gap")
  pieces <- lapply(names(fits), function(method) {
    data.frame(method = method, fits[[method]]$trace[columns], row.names = NULL)
  })
  do.call(rbind, pieces)
}

compared_ends <- function(fits) {
  rows <- lapply(names(fits), function(method) {
    fit <- fits[[method]]
    data.frame(
      method = method, kind = evidence_kind(fit), elbo = fit$elbo, below = NA_real_,
      gap = fit$convergence$gap, converged = fit$convergence$converged, iterations = max(fit$trace$iteration),
      seconds = max(fit$trace$seconds), flops = fit$cost$flops, factorisations = fit$cost$factorisations
    )
  })
  do.call(rbind, rows)
}

#' The best bound and its method: of several with the same bound, the one with the smallest certificate
#' @noRd
best_bound <- function(ends) {
  bounds <- ends[ends$kind != "approximation", ]
  if (!nrow(bounds)) return(list(NA_real_, NA_character_))
  best <- max(bounds$elbo)
  sharing <- bounds[best - bounds$elbo <= 1e-9 * (1 + abs(best)), ]
  sharing <- sharing[order(sharing$kind != "exact", sharing$gap), ]
  list(best, sharing$method[1L])
}

# ---- held-out data ----

add_held_out <- function(out, newdata, fit, path) {
  ends <- lapply(out$fits, held_out, newdata)
  for (measure in c("density", "error")) {
    out$ends[[measure]] <- vapply(ends, `[[`, 0, measure, USE.NAMES = FALSE)
    out$trace[[measure]] <- NA_real_
  }
  for (method in names(out$fits)) {
    rows <- which(out$trace$method == method)
    found <- path_measures(out$fits[[method]], newdata, function(cap) fit(method, cap), path)
    last <- rows[length(rows)]
    out$trace[last, c("density", "error")] <- ends[[method]]
    out$trace[rows[found$at], c("density", "error")] <- found[c("density", "error")]
  }
  out$n_held_out <- NROW(newdata)
  out$error_name <- error_name(out$fits[[1L]])
  out
}

#' Mean log predictive density and error of a fit at new data
#' @noRd
held_out <- function(fit, newdata) {
  target <- new_target(fit, newdata, response = TRUE)
  density <- mean(predict_density(fit, target, list())$fit)
  if (is_volatility(fit) || is_censored(fit)) return(list(density = density, error = NA_real_))
  if (has_classes(fit) || has_two_classes(fit)) {
    class <- predict_class(fit, target, list())$fit
    return(list(density = density, error = mean(as.integer(class) - 1 != target$y)))
  }
  mean <- response_moment(fit, latent_marginals(fit, target), "mean")
  list(density = density, error = sqrt(mean((target$y / trials_of(fit, target) - mean)^2)))
}

error_name <- function(fit) {
  if (has_classes(fit) || has_two_classes(fit)) "share of wrong classes" else "root mean squared error"
}

#' The measures at the ends of capped runs: a data frame of `at` (rows of the trace), `density` and `error`
#'
#' A capped run is used only if it follows the path of the first run: with several starts each is capped, and another
#' one may be the best. Some methods end with a step that the path does not have.
#' @noRd
path_measures <- function(fit, newdata, run, path) {
  total <- max(fit$trace$iteration)
  caps <- if (path > 0 && total > 1) unique(round(exp(seq(0, log(total - 1), length.out = path))))
  found <- lapply(caps, function(cap) {
    capped <- run(cap)
    if (!inherits(capped, "galvi") || !is_prefix(capped$trace, fit$trace)) return(NULL)
    at <- sum(fit$trace$flops <= max(capped$trace$flops))
    if (at < nrow(fit$trace)) data.frame(at = at, held_out(capped, newdata))
  })
  found <- do.call(rbind, found)
  if (is.null(found)) return(data.frame(at = integer(), density = numeric(), error = numeric()))
  # the later one of two that end between the same steps
  found[!duplicated(found$at, fromLast = TRUE), ]
}

is_prefix <- function(short, long) {
  steps <- seq_len(nrow(short) - 1L)
  nrow(short) <= nrow(long) && identical(short$flops[steps], long$flops[steps]) &&
    all(abs(short$elbo[steps] - long$elbo[steps]) <= 1e-9 * (1 + abs(long$elbo[steps])))
}

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
      whole_words(x$n_held_out)
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
