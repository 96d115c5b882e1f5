#' Compare methods of inference on one model
#'
#' Fits one model with several methods and puts their paths side by side: who reaches how good a bound, after
#' how many steps, floating-point operations and seconds.
#'
#' Every method starts where [galvi()] would start it and has the same `control`. Flops are counted and
#' the same in every run. **Seconds are not**: they are measured once, in this session, and vary by tens of
#' per cent or, below a millisecond, by factors; compare them only where they differ by much, and repeat. Time
#' for reading the formula and preparing the data is not in them.
#'
#' A method that does not apply to the model is listed with the reason. All methods that do are meant to
#' climb the same bound, so the best bound that any of them reaches (and its certificate, where there is one)
#' says how far the others are from the optimum. `laplace` and `ep` have values of their own that are no
#' bounds: they never count as the best and have no distance to it.
#'
#' **Held-out data.** With `newdata` the mean log predictive density and the error are taken at the end of
#' each fit and, with `hyper = "fixed"`, along its path: the trace keeps no posteriors, so the method is run
#' again with `max_iterations` capped at about `path` values, spaced geometrically, and the measures are
#' those of the fit that stops there. That costs a few times the first run; the seconds and flops shown are
#' the first run's. Where a capped run takes another way (several starts, of which another one wins) its
#' place stays empty. With hyperparameters that are learned there is only the end.
#'
#' The error is the share of wrong classes where the response has classes (or is binary), else the root mean
#' squared error of E\[y\]; NA for a volatility, whose mean is known.
#'
#' @param formula,data,family,hyper As for [galvi()], but hyperparameters are held by default.
#' @param methods Names of methods, `"auto"` among them if you like; NULL for all that this version has.
#' @param newdata Data with the response, for held-out measures.
#' @param path Number of places along each path at which these are taken; 0 for the end alone.
#' @param ... Further arguments of [galvi()]: `expectation`, `start`, `prior`, `weights`, `control`, ...
#' @param object,x What `galvi_compare()` returned, or its summary.
#' @param within Distances to the best bound, in nats.
#' @param which What to draw: `"bound"`, the distance to the best bound; `"density"` and `"error"`, held out.
#' @param against `"flops"`, `"seconds"`, or both.
#' @param ask Ask before each panel; by default if there are several and the device is a screen.
#' @param main,xlab,ylab,xlim,ylim,col As in [plot.galvi()]; a colour per method.
#' @param digits Significant digits.
#' @return A list of class `galvi_compare`: `trace`, a data frame with a row per step of every fit (`method`,
#'   `iteration`, `seconds`, `flops`, `elbo`, `gap` and, with `newdata`, `density` and `error`, NA where they
#'   were not taken); `ends`, a row per fit (`method`; `kind`: `"bound"`, `"exact"` or `"approximation"`;
#'   `elbo`; `below`, its distance to the best bound; `gap`, `converged`, `iterations`, `seconds`, `flops`,
#'   `factorisations`; `density`, `error`); `refused`, methods with the reason why they do not apply; `best`,
#'   the best bound, and `best_method`; `fits`, the fits by method.
#'
#'   `summary()`: a list with the data frame `reached`, a row per fit: what the ends have and, for each of
#'   `within`, `iterations`, `seconds` and `flops` until the bound is that close to the best one (NA if it
#'   never is), in columns such as `flops_0.001`. `plot()` draws one panel per measure and axis, logarithmic
#'   but for the error and density themselves, and returns the rows of the trace that it drew, invisibly.
#'   Fits that did not converge are marked.
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
  # what came through another function's `...` as it was written there
  call[names(dots)] <- dots
  methods <- check_methods(methods)
  hyper <- check_choice(hyper, c("optimise", "fixed"), "hyper")
  path <- check_whole(path, "path", 0)
  by_name <- intersect(names(dots), c("weights", "offset", "subset"))
  others <- setdiff(names(dots), by_name)
  # evaluated here, once: data may be random
  values <- c(
    list(formula = check_formula(formula), data = data, family = family, hyper = hyper, verbose = FALSE),
    lapply(stats::setNames(nm = others), function(name) eval(call("...elt", match(name, names(dots)))))
  )
  values <- values[!duplicated(names(values), fromLast = TRUE)]
  fit <- method_fitter(call, values, dots[by_name], parent.frame())
  # the first use of a backend tries which is faster: not on anybody's bill
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
  # laplace has its own
  out$expectation <- ran[[if (is.na(out$best)) 1L else out$best_method]]$expectation
  out$ends$below <- ifelse(out$ends$kind == "approximation", NA, out$best - out$ends$elbo)
  if (!is.null(newdata)) out <- add_held_out(out, newdata, fit, if (hyper == "fixed") path else 0)
  structure(out, class = "galvi_compare")
}

check_methods <- function(methods) {
  if (is.null(methods)) return(inference_facts()$name)
  if (!is.character(methods) || !length(methods) || anyNA(methods)) {
    stop_galvi("method", sprintf("`methods` must be names of methods, not %s.", describe(methods)))
  }
  unique(vapply(methods, check_method, "", "methods", USE.NAMES = FALSE))
}

#' A function that fits the model with one method: the fit, or why there is none as text
#'
#' @param call For the record.
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
    # what does not apply, and what broke down on the way, is part of the comparison
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
    reason = sub("^method \"[^\"]*\" cannot fit this model: ", "", text)
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

#' The best bound and whose it is: of those who share it, the one with the smallest certificate
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
  list(density = density, error = sqrt(mean((target$y / target$size - mean)^2)))
}

error_name <- function(fit) {
  if (has_classes(fit) || has_two_classes(fit)) "share of wrong classes" else "root mean squared error"
}

#' The measures where capped runs stop: a data frame of `at`, the rows of the trace, `density` and `error`
#'
#' A capped run goes the way of the first one up to its own last step, or it is not used: with several starts
#' each is capped, and another may win. Some methods end with a step that the path does not have.
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
  # of two that end between the same steps the later one
  found[!duplicated(found$at, fromLast = TRUE), ]
}

is_prefix <- function(short, long) {
  steps <- seq_len(nrow(short) - 1L)
  nrow(short) <= nrow(long) && identical(short$flops[steps], long$flops[steps]) &&
    all(abs(short$elbo[steps] - long$elbo[steps]) <= 1e-9 * (1 + abs(long$elbo[steps])))
}

# ---- print and summary ----

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
  if (is.na(x$best)) return(print_wrapped("None of them has a bound."))
  print_wrapped(sprintf(
    "Best bound: %s nats (%s), %s.", format_bound(x$best, digits), x$best_method,
    certificate(x$fits[[x$best_method]])
  ))
  others <- ends$method[ends$kind == "approximation"]
  if (length(others)) print_wrapped(sprintf("No bound: %s.", paste(others, collapse = ", ")))
  print_wrapped("below: nats below the best bound. Flops are counted; seconds are of one run and vary.")
}

print_refused <- function(refused) {
  if (!nrow(refused)) return(invisible())
  cat("Not for this model:\n")
  for (i in seq_len(nrow(refused))) {
    text <- sprintf("%s: %s", refused$method[i], refused$reason[i])
    cat(strwrap(text, 0.95 * getOption("width"), indent = 2L, exdent = 4L), sep = "\n")
  }
}

#' Methods to the left, numbers to the right
#' @noRd
print_table <- function(table) {
  table$method <- format(table$method)
  names(table)[1L] <- format("method", width = nchar(table$method[1L]))
  print(table, row.names = FALSE)
}

format_bound <- function(x, digits) format(x, digits = max(digits, 6L), nsmall = 3L)

#' Distances: rounding is nothing, and what there is needs no more than two digits
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
