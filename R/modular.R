# The steps of galvi(): each arrow of the data flow as a function from plain values to plain values.

#' Fit a model step by step
#'
#' [galvi()] is these four functions, one after the other: the formula meets the data, the model is set up,
#' inference finds the posterior, and the fit is put together. Called one at a time they show what is passed
#' along, as plain lists, and let it be changed on the way: weights, offsets, starts and ranges of
#' hyperparameters.
#'
#' What comes later is computed from what a step returned. A weight that is changed in the design counts in
#' default priors and starts too, as if it had been given to `galvi()`; one that is changed in the model does
#' not.
#'
#' @inheritParams galvi
#' @param design What `galvi_design()` returned.
#' @param model What `galvi_model()` returned.
#' @param posterior What `galvi_infer()` returned for this model.
#' @param start A fit, or numbers named like `fit$hyper$name`: where learning starts. In `galvi_infer()` a fit
#'   to as many rows: its sites are where inference starts.
#' @param call The call that the fit keeps.
#' @return `galvi_design()`: a list with, for N rows and K latent values per row, `formula` and `family`;
#'   `data`, the model frame; `y`, the response as the likelihood has it (classes are 0, 1, ... in the order
#'   of `levels`), `size` (trials of counts of successes, 1 elsewhere) and `weights`, N numbers each;
#'   `offset`, N x K; `levels` of the response and names of the `latents`, NULL where it has none; `parts` of
#'   the formula and `args`, what `weights`, `offset` and `subset` were given as. Of rows from a source
#'   ([row_source()]) all this is of a sample, and `stream` says how they are read; what is changed in the
#'   sample's rows does not reach the others.
#'
#'   `galvi_model()`: a list with `y`, `size`, `weights` and `offset` as before; `designs`, what the terms see
#'   of the rows, such as the columns `W` of fixed effects; `predictors`, the terms' priors, with the `solver`
#'   and the `latents` that have them; `likelihood`; `expectation`; `hyper`, a list of columns with an entry
#'   for each hyperparameter: `name`, `value` (where learning starts), `learned` (or fixed at it?), `lower` and
#'   `upper` (the range that is searched), `transform`, `prior`; inducing points are one hyperparameter, all
#'   of whose entries have its name, and `shape` has its dimensions. Besides, what the fit is to have:
#'   `formula`, `family`, `prior`, `data`, `design` (how new data become rows) and `control`.
#'
#'   `galvi_infer()`: a list with `mean` and `variance` of the linear predictor, N x K; the sites `alpha`,
#'   `lambda`, `b`, N x K; `hyper`, the values of all hyperparameters, and `at_bound`; `coefficients`,
#'   `latent`, `extra` and `factor` as in the fit; `elbo`, `log_prior`, `trace`; `converged`, `message`,
#'   `gradient_norm`, `gap`, `rounding`, `jitter`; `method`, `expectation`, `backend`, `cost` and, if there
#'   were several, `starts`.
#'
#'   `galvi_fit()`: a fit, see [galvi-fit].
#' @seealso [galvi()]
#' @examples
#' # a row that counts for nothing, without changing the data
#' design <- galvi_design(dist ~ gp(speed), data = cars)
#' design$weights[49] <- 0
#'
#' # a hyperparameter that is held
#' model <- galvi_model(design)
#' at <- model$hyper$name == "gp(speed).lengthscale"
#' model$hyper$value[at] <- 10
#' model$hyper$learned[at] <- FALSE
#'
#' posterior <- galvi_infer(model)
#' posterior$elbo
#' galvi_fit(model, posterior)
#'
#' # the expected log likelihood of the first ten rows and of all
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
  read_design(formula, data, family, as.list(call)[c("weights", "offset", "subset")], na.action)
}

#' @rdname modular
#' @order 3
#' @export
galvi_model <- function(design, prior = NULL, start = NULL, expectation = "auto", hyper = "optimise",
                        control = galvi_control()) {
  design <- check_design(design)
  prior <- as_prior_list(
    check_evaluates(prior, "prior", "prior", prior_names()), design$parts$second$name
  )
  start <- check_evaluates(start, "start")
  hyper <- check_choice(hyper, c("optimise", "integrate", "fixed"), "hyper")
  held <- hyper == "fixed"
  control <- as_control(check_evaluates(control, "control"))
  model <- as_galvi_error(in_sampled_rows(
    design, build_model(design, prior, start, check_expectation(expectation), hyper, control)
  ))
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
  control <- as_control(model$control)
  method <- cluster_method(fitc_method(check_method(method), model$design$specs), control$cluster)
  verbose <- check_flag(verbose, "verbose")
  core <- core_model(model, method)
  check_batch_rows(control, all_rows(model))
  # the optimiser takes no steps at all for no limit
  learn <- any(core$hyper$learned) && control$hyper_iterations > 0
  pilot <- if (!inherits(start, "galvi")) pilot_model(core, learn, all_rows(model))
  hyper <- if (learn) "optimise" else "fixed"
  passes <- if (is_streamed(model)) source_passes(model$stream, model$design, control$chunk_rows)
  on.exit(if (!is.null(passes)) passes$close())
  began <- proc.time()[["elapsed"]]
  integrate <- isTRUE(model$integrate) && learn
  if (integrate) check_integrable(core$hyper, control$hyper_design)
  # fit_model(), wherever the rows are
  run <- function(core, control, hyper, start, report, pilot = NULL, checked = FALSE) {
    if (!is.null(control$cluster)) {
      if (!is.null(passes)) {
        return(fit_source_on_cluster(core, model$stream, model$design, pilot, method, hyper, control, report))
      }
      return(fit_on_cluster(core, pilot, method, hyper, control, start, report))
    }
    given <- if (is.null(passes)) c(core, if (checked) list(checked = checked_rows(core))) else {
      streamed_model(core, passes)
    }
    fit_model(c(given, list(pilot = pilot)), method, hyper, control, start, report, keep_standing)
  }
  # an error while rows were read is told as it was, not as the core's
  as_read <- function(expr) tryCatch(expr, error = function(e) {
    failure <- if (!is.null(passes)) passes$failure()
    stop(if (is.null(failure)) e else failure)
  })
  core$curvature <- interval_positions(core$hyper)
  inform_slow_fit(core)
  result <- with_progress(verbose, function(report) {
    as_read(with_memory(fit_size(core, method, control), threads = control$threads, {
      start <- if (is.null(passes)) warm_start(start, core)
      mode <- run(core, control, hyper, start, report, pilot, checked = TRUE)
      mode <- with_sample(mode, core, passes, control)
      if (!integrate || !is.null(mode$failure) || mode$out_of_time) return(mode)
      keep_standing(standing_at(mode))
      fits <- 0L
      with_memory(states_size(core), integrate_hyper(mode, core, control$hyper_design, function(values, start) {
        core$hyper$value <- values
        fits <<- fits + 1L
        if (!is.null(report)) report("Integrating over the hyperparameters", fits)
        with_sample(run(core, settled_control(control, began), "fixed", start, NULL), core, passes, control)
      }))
    }))
  })
  out <- new_step("galvi_infer", result)
  if (!is.null(result$failure)) stop(with_posterior(passes$failure(), out))
  out
}

#' @rdname modular
#' @order 5
#' @export
galvi_fit <- function(model, posterior, call = match.call()) {
  check_step(model, "galvi_model", "model")
  check_step(posterior, "galvi_infer", "posterior")
  core <- core_model(model, posterior$method)
  if (!identical(dim(posterior$mean), dim(core$offset)) ||
    length(posterior$hyper) != length(core$hyper$value)) {
    stop_galvi("argument", "`posterior` is not that of `model`: they differ in rows or hyperparameters.")
  }
  new_fit(call, model, core, posterior)
}

# ---- what the steps share ----

# maker: the step that returns them.
new_step <- function(maker, fields) structure(fields, maker = maker, class = "galvi_step")

check_step <- function(x, maker, arg) {
  if (inherits(x, "galvi_step") && identical(attr(x, "maker"), maker)) return(invisible())
  stop_galvi("argument", sprintf("`%s` must be what %s() returns, not %s.", arg, maker, describe(x)))
}

#' The part of a model that the core reads (R/model-list.R), checked, as it may have been changed
#' @noRd
core_model <- function(model, method) {
  own <- c("formula", "family", "prior", "data", "design", "control", "stream", "integrate")
  core <- check_model(unclass(model)[setdiff(names(model), own)])
  check_values(core$hyper, seq_along(core$hyper$value), "model$hyper$value")
  core$hyper <- widen_ranges(core$hyper)
  by_likelihood <- fact(inference_facts(), method, "averaging") == "likelihood"
  if (is_fitc(model$design$specs) && by_likelihood) core$averaged <- TRUE
  core
}

# What inference goes on from at other hyperparameters: one start, and the time that is left.
settled_control <- function(control, began) {
  control$one_start <- TRUE
  control$max_seconds <- max(0, control$max_seconds - (proc.time()[["elapsed"]] - began))
  control
}

# Of rows that are not in memory the core returns no marginals: those of the sample stand for them.
with_sample <- function(result, core, passes, control) {
  if (!is.null(passes)) result[c("mean", "variance")] <- sample_marginals(core, result, control)
  result
}

check_batch_rows <- function(control, rows) {
  if (!is.numeric(control$batch_rows) || control$batch_rows <= rows) return(invisible())
  stop_galvi("argument", sprintf(
    "`batch_rows` is %s, and there are %s rows: give fewer, or leave it \"auto\".", row_number(control$batch_rows),
    row_number(rows)
  ))
}

# Sites of a fit to as many rows are a good place to start from.
warm_start <- function(start, model) {
  if (!inherits(start, "galvi") || !identical(dim(start$posterior$b), dim(model$offset))) return(NULL)
  start$posterior[c("lambda", "b")]
}

#' @export
print.galvi_step <- function(x, ...) {
  refuse_print_dots(list(...), print.galvi_step)
  cat("From ", attr(x, "maker"), "():\n", sep = "")
  utils::str(unclass(x), max.level = 1L, give.attr = FALSE, no.list = TRUE)
  invisible(x)
}
