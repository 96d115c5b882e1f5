# The steps of galvi(): functions from plain values to plain values.

#' The steps of galvi(): design, model, inference, fit
#'
#' [galvi()] calls these four functions in turn: `galvi_design()` evaluates the formula in the data, `galvi_model()`
#' sets up priors, likelihood and hyperparameters, `galvi_infer()` finds the posterior, and `galvi_fit()` assembles the
#' fit. Call them one at a time to inspect or change what is passed between them, such as weights, offsets, starting
#' values and ranges of hyperparameters. `contribution()` returns the sums over rows that inference needs.
#'
#' Each step is computed from the result of the previous one. A weight that you change in the design also affects
#' default priors and starting values, as if it had been given to `galvi()` as `frequency()`; a weight that you change
#' in the model does not.
#'
#' @inheritParams galvi
#' @param design The value of `galvi_design()`.
#' @param model The value of `galvi_model()`; for `contribution()` also a fit.
#' @param posterior The value of `galvi_infer()` for this model.
#' @param start As in [galvi()]. If a fit with the same number of rows is given to `galvi_infer()`, inference starts at
#'   its posterior.
#' @param call The call that is stored in the fit.
#' @return Lists of class `galvi_step`, and a fit. N is the number of rows and K the number of linear predictors.
#'
#' `galvi_design()` returns
#' \describe{
#'   \item{`formula`, `family`}{as given.}
#'   \item{`data`}{the model frame.}
#'   \item{`y`, `size`, `weights`}{N numbers each: the response as the likelihood uses it (classes are 0, 1, ... in the
#'     order of `levels`); the trials of binomial responses, or the weights that divide the dispersion (1 otherwise);
#'     and the weights that multiply the log likelihood.}
#'   \item{`offset`}{N x K matrix.}
#'   \item{`levels`, `latents`}{levels of the response and names of the linear predictors, or NULL.}
#'   \item{`parts`, `args`}{the parsed formula, and the expressions of `weights`, `offset` and `subset`.}
#'   \item{`stream`}{for rows from a source ([row_source()]) only: how to read them. The other elements then describe a
#'     sample of the rows; changing them does not affect the rest.}
#' }
#'
#' `galvi_model()` returns `y`, `size`, `weights` and `offset` as above and
#' \describe{
#'   \item{`designs`}{what the terms need of the rows, such as the columns `W` of fixed effects.}
#'   \item{`predictors`}{for each linear predictor the terms with their priors, and the `solver`.}
#'   \item{`likelihood`, `expectation`}{names and parameters of these.}
#'   \item{`hyper`}{a list of vectors with one element per hyperparameter: `name`; `value`, the starting value;
#'     `learned`, FALSE where it is fixed; `lower` and `upper`, the range of the search; `transform`; `prior`.
#'     Inducing points are one hyperparameter with several elements, with their dimensions in `shape`.}
#'   \item{`formula`, `family`, `prior`, `data`, `design`, `control`}{elements of the later fit.}
#' }
#'
#' `galvi_infer()` returns
#' \describe{
#'   \item{`mean`, `variance`}{posterior mean and variance of the linear predictors, N x K matrices.}
#'   \item{`alpha`, `lambda`, `b`}{the sites, N x K matrices, see [galvi-fit].}
#'   \item{`hyper`, `at_bound`}{values of the hyperparameters, and whether they are at the end of their range.}
#'   \item{`coefficients`, `latent`, `extra`, `factor`}{as in [galvi-fit].}
#'   \item{`elbo`, `log_prior`, `trace`}{the bound in nats, the log prior density of the hyperparameters, the path.}
#'   \item{`converged`, `message`, `gradient_norm`, `gap`, `rounding`, `jitter`}{as `convergence` in [galvi-fit].}
#'   \item{`method`, `expectation`, `backend`, `cost`, `starts`}{what was used; the last only with several starts.}
#'   \item{`nodes`, `harmonics`}{the nodes of `gp(neighbours = )` where learned lengthscales have changed what is near,
#'     and the harmonics of [periodic()] where they have asked for more, or NULL.}
#' }
#'
#' `galvi_fit()` returns a fit, see [galvi-fit].
#' @section Errors:
#' `galvi_error_argument` where an argument is not the value of the previous step; `contribution()` also signals
#' `galvi_error_model`, `galvi_error_q` and `galvi_error_rows`. All errors of [galvi()] may occur.
#' @seealso [galvi()], `vignette("extending", package = "galvi")`.
#' @family extending
#' @examples
#' # leave out a row by its weight, without changing the data
#' design <- galvi_design(dist ~ gp(speed), data = cars)
#' design$weights[49] <- 0
#'
#' # fix a hyperparameter
#' model <- galvi_model(design)
#' at <- model$hyper$name == "gp(speed).lengthscale"
#' model$hyper$value[at] <- 10
#' model$hyper$learned[at] <- FALSE
#'
#' posterior <- galvi_infer(model)
#' posterior$elbo
#' galvi_fit(model, posterior)
#'
#' # the expected log likelihood of the first ten rows and of all rows
#' columns <- galvi_model(galvi_design(dist ~ speed, data = cars))
#' q <- galvi_infer(columns)
#' contribution(columns, q, 1:10)$value
#' contribution(columns, q)$value
#' @order 1
#' @name modular
NULL

#' @rdname modular
#' @order 2
#' @export
galvi_design <- function(formula, data = NULL, family = gaussian(), weights, offset, subset, na.action) {
  call <- written_call(match.call(), environment())
  na.action <- if (missing(na.action)) default_na_action() else na.action
  frame <- environment()
  read_design(
    with_passed_on(formula, data, match.call(), frame), data, family_argument(formula, frame),
    as.list(call)[c("weights", "offset", "subset")], na.action
  )
}

#' @rdname modular
#' @order 3
#' @export
galvi_model <- function(design, prior = NULL, start = NULL, expectation = "auto", hyper = "optimise",
                        control = galvi_control()) {
  design <- check_design(design)
  frame <- environment()
  prior <- check_prior_evaluates(typed_argument("prior", typed_prior_words(), frame))
  absent <- new_absent(is_kept_prior(prior))
  prior <- as_prior_list(if (is_kept_prior(prior)) prior$value else prior, names(design$parts$others))
  start <- check_evaluates(start, "start")
  hyper <- check_choice(hyper, c("optimise", "integrate", "fixed"), "hyper")
  held <- hyper == "fixed"
  control <- as_control(check_evaluates(control, "control"))
  model <- as_galvi_error(naming_rows(
    frame_labels(design$data), build_model(design, prior, start, check_expectation(expectation), hyper, control, absent)
  ))
  paths <- absent$paths()
  if (length(paths)) model$kept_prior <- list(paths = paths, value = without_absent(prior, paths))
  if (held) model$hyper$learned[] <- FALSE
  model$integrate <- hyper == "integrate"
  if (!is.null(design$stream)) model$stream <- counted_stream(design$stream, model, control)
  model
}

#' @rdname modular
#' @order 4
#' @export
galvi_infer <- function(model, method = "auto", start = NULL, verbose = getOption("galvi.progress", interactive())) {
  check_step(model, "galvi_model", "model")
  out <- infer_once(model, method, start, verbose)
  if (!is.null(model$design$intervals)) out <- with_evidence_moved(out, -model$design$intervals$constant)
  # neighbours and harmonics by the lengthscales that were learned, from where learning stopped
  for (round in seq_len(most_renewals)) {
    if (!is.null(out$message) && !out$converged) break
    nearer <- if (round <= most_node_renewals) renewed_nodes(model, out$hyper)
    renewed <- or_else(renewed_harmonics(or_else(nearer, model), out$hyper), nearer)
    if (is.null(renewed)) break
    cost <- out$cost
    model <- renewed
    out <- infer_once(model, method, NULL, verbose)
    out$cost <- Map(`+`, cost, out$cost)
    out$nodes <- kept_nodes(model)
    out$harmonics <- kept_harmonics(model)
  }
  out
}

# Neighbours may go to and fro, harmonics only become more.
most_renewals <- 5L
most_node_renewals <- 2L

infer_once <- function(model, method, start, verbose) {
  control <- as_control(model$control)
  method <- check_method(method)
  check_fitc_method(method, model$design$specs)
  check_cluster_method(method, control$cluster)
  verbose <- check_flag(verbose, "verbose")
  core <- core_model(model, method)
  check_batch_rows(control, all_rows(model))
  # the optimiser takes 0 to mean no limit
  learn <- any(core$hyper$learned) && control$hyper_iterations > 0
  pilots <- if (!inherits(start, "galvi")) pilot_models(core, learn, all_rows(model))
  integrate <- isTRUE(model$integrate) && learn
  if (integrate) check_integrable(core$hyper, control$hyper_design)
  hyper <- if (integrate) "integrate" else if (learn) "optimise" else "fixed"
  passes <- if (is_streamed(model)) source_passes(model$stream, model$design, control$chunk_rows)
  on.exit(if (!is.null(passes)) passes$close())
  checked <- if (is.null(passes)) checked_rows(core, predictor_specs(model$design), model$data)
  # fit_model(), wherever the rows are
  run <- function(start, report) {
    if (is.null(control$cluster)) {
      given <- if (is.null(passes)) c(core, list(checked = checked)) else streamed_model(core, passes)
      return(fit_model(c(given, list(pilots = pilots)), method, hyper, control, start, report, keep_standing))
    }
    if (is.null(passes)) return(fit_on_cluster(core, checked, pilots, method, hyper, control, start, report))
    fit_source_on_cluster(core, model$stream, model$design, pilots, method, hyper, control, report)
  }
  # an error while rows were read is reported as it was, not as an error of the core
  as_read <- function(expr) tryCatch(expr, error = function(e) {
    failure <- if (!is.null(passes)) passes$failure()
    stop(if (is.null(failure)) e else failure)
  })
  core$curvature <- interval_positions(core$hyper)
  if (control$uncertainty == "auto") {
    control$uncertainty <- if (is.null(control$cluster)) joint_uncertainty(model$design, core) else "factorised"
  }
  labels <- if (!is_streamed(model)) frame_labels(model$data)
  result <- naming_rows(labels, with_progress(verbose, function(report) {
    as_read(with_memory(fit_size(core, method, control), threads = control$threads, {
      inform_slow_fit(core)
      start <- if (is.null(passes)) warm_start(start, core)
      result <- if (integrate) with_memory(states_size(core), run(start, report)) else run(start, report)
      with_states_kept(with_sample(result, core, passes, control), core, passes, control)
    }))
  }))
  out <- new_step("galvi_infer", result)
  if (!is.null(result$failure)) stop(with_posterior(passes$failure(), out))
  out
}

#' How are coefficients and hyperparameters uncertain together (src/fit/fit.h)? In models of fixed effects and groups any
#' way, and so where smooths belong to one of several predictors that depend on each other, or to ordered classes, whose
#' effects grow with the distances of their thresholds. Classes that compete do so where they have groups: of columns alone
#' the coefficients have a joint posterior of their own (src/fit/couple.h). By states with smooths and fields, with processes
#' and fields over places of few rows or beside groups, whose variance may be known badly, and with processes or fields of ordered classes. Not
#' with factors.
#' @noRd
joint_uncertainty <- function(design, core) {
  of_groups <- function(spec) {
    (term_can(spec, "grouped") || term_can(spec, "residual")) && is.null(spec$by) && !term_can(spec, "units")
  }
  specs <- all_specs(design)
  fixed <- vapply(specs, function(spec) identical(spec$type, fixed_label), NA)
  groups <- vapply(specs, of_groups, NA)
  units <- which_can(specs, "units")
  # weights of points that residuals tie to the responses are not to be trusted
  exact <- is.null(design$wide) || design$wide$parts$kind == "rescor" && !is_mixed(design$family)
  if (!exact || any(units)) return("factorised")
  several <- !length(design$others) && length(design$response$latents) > 1L
  dependent <- length(design$others) > 0L && !facts_of_family(design$family, core)$separable
  columns <- all(fixed | groups | which_can(specs, "columns"))
  if (several && !(columns && any(groups))) return("factorised")
  if (several && !facts_of_family(design$family, core)$separable) return("coupled")
  ordered <- length(learned_thresholds(list(model = core))) > 0L
  if (columns && ordered) return("ordered")
  if (all(fixed | groups)) return("auto")
  if (columns && dependent) return("coupled")
  slow <- any(which_can(specs, "process") | which_can(specs, "places")) && length(core$y) > few_of_process
  if (any(groups) || ordered || !(slow || any(which_can(specs, "intervals")))) "states" else "factorised"
}

# Each state of a process, or of a field over places, takes as long as a fit, and many rows know its hyperparameters better.
few_of_process <- 200

#' @rdname modular
#' @order 5
#' @export
galvi_fit <- function(model, posterior, call = match.call()) {
  check_step(model, "galvi_model", "model")
  check_step(posterior, "galvi_infer", "posterior")
  if (!is.null(posterior$nodes)) model <- with_nodes(model, posterior$nodes)
  if (!is.null(posterior$harmonics)) model <- with_kept_harmonics(model, posterior$harmonics)
  core <- core_model(model, posterior$method)
  if (!identical(dim(posterior$mean), dim(core$offset)) ||
    length(posterior$hyper) != length(core$hyper$value)) {
    stop_galvi("argument", "`posterior` is not that of `model`: they differ in rows or hyperparameters.")
  }
  new_fit(call, model, core, posterior)
}

# ---- what the steps share ----

#' The part of a model that the core reads (R/model-list.R), checked, as users may have changed it
#' @noRd
core_model <- function(model, method) {
  own <- c("formula", "family", "prior", "data", "design", "control", "stream", "integrate")
  core <- check_model(unclass(model)[setdiff(names(model), own)])
  check_values(core$hyper, seq_along(core$hyper$value), "model$hyper$value")
  core$hyper <- widen_ranges(core$hyper)
  if (is_fitc(model$design$specs)) {
    core$fitc <- TRUE
    if (identical(fact("inference", method, "averaging"), "likelihood")) core$averaged <- TRUE
  }
  if (needs_thin_centres(core, method)) with_thin_centres(core) else core
}

#' The result of inference where the log likelihood is another by a constant
#' @noRd
with_evidence_moved <- function(result, by) {
  for (what in c("elbo", "trace", "starts")) {
    x <- result[[what]]
    if (is.list(x)) x$elbo <- x$elbo + by else if (!is.null(x)) x <- x + by
    result[[what]] <- x
  }
  if (!is.null(result$hyper_posterior$log_evidence)) {
    result$hyper_posterior$log_evidence <- result$hyper_posterior$log_evidence + by
  }
  result
}

# For rows that are not in memory the core returns no marginals: those of the sample are used instead.
with_sample <- function(result, core, passes, control) {
  if (!is.null(passes)) result[c("mean", "variance")] <- sample_marginals(core, result, control)
  result
}

# The states of an integration with what a fit keeps of each.
with_states_kept <- function(result, core, passes, control) {
  result$states <- lapply(result$states, function(state) {
    posterior <- with_sample(state$posterior, core, passes, control)
    list(weight = state$weight, posterior = not_null(posterior[posterior_parts]))
  })
  if (!length(result$states)) result$states <- NULL
  result
}

check_batch_rows <- function(control, rows) {
  if (!is.numeric(control$batch_rows) || control$batch_rows <= rows) return(invisible())
  stop_galvi("argument", sprintf(
    "`batch_rows` is %s, and there are %s rows: give fewer, or leave it \"auto\".", row_number(control$batch_rows),
    row_number(rows)
  ))
}

# Sites of a fit with the same number of rows, where inference can start.
warm_start <- function(start, model) {
  if (!inherits(start, "galvi") || !identical(dim(start$posterior$b), dim(model$offset))) return(NULL)
  start$posterior[intersect(c("lambda", "b", "prior_rows"), names(start$posterior))]
}

#' @export
print.galvi_step <- function(x, ...) {
  refuse_print_dots(list(...), print.galvi_step)
  cat("From ", attr(x, "maker"), "():\n", sep = "")
  utils::str(unclass(x), max.level = 1L, give.attr = FALSE, no.list = TRUE)
  invisible(x)
}

# Fits that were stopped.

# value: a fit, or function() that makes one.
last_fit <- new.env(parent = emptyenv())

#' Result of an interrupted fit
#'
#' Returns what [galvi()] had found when it was stopped: by Ctrl-C (Esc in RStudio), by `max_seconds` in
#' [galvi_control()], by [setTimeLimit()], by an error of a function in [custom_family()] or [custom_kernel()], or
#' because rows could no longer be read from a connection or file.
#'
#' The fit has the best posterior and hyperparameters found so far. It is marked as not converged, but it prints,
#' predicts and plots as other fits do, and `update(galvi_last())` continues from it.
#'
#' After an interrupt `galvi_last()` runs one more iteration with fixed hyperparameters. A fit whose rows could not be
#' read is also part of the error: `tryCatch(galvi(...), galvi_error_unfinished = function(e) e$fit)`.
#'
#' @return The last fit of the session that was stopped, of class `galvi` (see [galvi-fit]), or NULL. An interrupt of a
#'   fit to rows from a source or on a cluster leaves none.
#' @family fitting
#' @examples
#' # the time limit is reached after the first step
#' fit <- suppressWarnings(
#'   galvi(mpg ~ gp(wt, hp), data = mtcars, control = galvi_control(max_seconds = 1e-6))
#' )
#' galvi_last()
#'
#' # continue without a limit
#' update(galvi_last(), control = galvi_control())
#' @export
galvi_last <- function() {
  if (is.function(last_fit$value)) last_fit$value <- last_fit$value()
  last_fit$value
}

# The error, with the posterior found so far.
with_posterior <- function(condition, posterior) {
  condition$posterior <- posterior
  class(condition) <- unique(c("galvi_error_unfinished", class(condition)))
  condition
}

#' The posterior of an interrupted galvi_infer()
#'
#' @param model From `galvi_model()`. standing: what `fit_model()` kept: `hyper`, `start`, `method`, `trace`.
#' @noRd
interrupted_posterior <- function(model, standing) {
  core <- core_model(model, standing$method)
  core$hyper$value <- standing$hyper
  control <- as_control(model$control)
  control$max_iterations <- 1
  control$max_seconds <- Inf
  control <- factorised(control)
  result <- fit_model(core, standing$method, "fixed", control, standing$start)
  result[c("converged", "interrupted", "trace")] <- list(FALSE, TRUE, standing$trace)
  result$message <- "it was interrupted"
  new_step("galvi_infer", result)
}

# A fit as `start` of a fit that continues it; `asked`: the expression that the call of the new fit keeps.
continued <- function(fit, asked) structure(fit, asked = asked)
without_continued <- function(call) {
  if (inherits(call$start, "galvi")) call$start <- attr(call$start, "asked")
  call
}

# Called by the core when an interrupt or an error of R stops it, before fit_formula() is left.
keep_standing <- function(standing) last_fit$standing <- standing

# A prior that update() takes over; the call of the new fit keeps the expression.
without_kept_prior <- function(call) {
  if (is_kept_prior(call[["prior"]])) call$prior <- call$prior$asked
  call
}

check_prior_evaluates <- function(expr) check_evaluates(expr, "prior", "prior", prior_names(), prior_hint)

#' What galvi_design() returns, from the user's expressions of weights, offset and subset
#' @noRd
read_design <- function(formula, data, family, args, na.action, chunk_rows = "auto") as_galvi_error({
  formulas <- as_formulas(formula)
  data <- check_evaluates(data, "data", "data")
  if (is_wide(formulas[[1L]])) return(read_wide(formulas, data, family, args, na.action))
  words <- c(family_words, "galvi_family")
  family <- as_galvi_family(check_evaluates(family, "family", "family", words, family_hint, link_hint))
  # that of another fit may have been one of its binary rows
  family <- without_stages(family)
  check_brms_formula(formula, formulas, family, data)
  na.action <- check_na_action(na.action)
  plain <- without_bar(formulas, family, not_null(args))
  of_pieces <- if (is_cox(plain$family)) design_of_cox else if (has_stages(plain$formulas, plain$family)) design_of_stages
  # their rows are made in memory
  if (!is.null(of_pieces) && is_row_source(data)) {
    data <- whole_source(row_source(data), plain$formulas, plain$args)
  }
  design <- if (!is.null(of_pieces)) {
    of_pieces(plain$formulas, check_data(data), plain$family, plain$args, na.action)
  } else if (is_row_source(data)) {
    design_of_source(plain$formulas, row_source(data), plain$family, plain$args, na.action, chunk_rows)
  } else {
    design_of_data(plain$formulas, check_data(data), plain$family, plain$args, na.action)
  }
  # as it was typed, for update()
  design$formula <- formulas[[1L]]
  design
})

read_wide <- function(formulas, data, family, args, na.action) {
  if (length(formulas) > 1L) {
    stop_galvi("formula", "`formula`: responses() has one linear predictor for each column and no second formula.")
  }
  # scores of all rows are fitted together, so that they are read into memory
  if (is_row_source(data)) data <- whole_source(row_source(data), formulas, args)
  words <- c(family_words, "galvi_family")
  family <- check_evaluates(family, "family", "family", words, family_hint, link_hint)
  design_of_wide(formulas[[1L]], data, family, not_null(args), check_na_action(na.action))
}
