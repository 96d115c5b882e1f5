# The numerical settings, each with its default and legal range.

#' Numerical settings of a fit
#'
#' Tolerances, iteration limits, the search for hyperparameters, threads, minibatches and clusters, for the argument
#' `control` of [galvi()]. The defaults suit most models.
#'
#' @param tol Convergence tolerance of inference, in nats (units of the log evidence), positive. Inference stops when
#'   the bound is certified to be within `tol` of its maximum at the current hyperparameters or, where there is no
#'   certificate, when half the squared norm of the natural gradient is at most `tol`.
#' @param max_iterations Maximum number of iterations of one inference, a positive whole number.
#' @param hyper_tol Convergence tolerance of hyperparameter estimation, positive. It stops when no component of the
#'   gradient of the bound (plus log prior) with respect to the logarithms of the hyperparameters exceeds
#'   `sqrt(hyper_tol) / 2`, 0.0005 by default. Where more than 50 values are learned, as with inducing points, it also
#'   stops when three steps together raise the bound by less than `100 * hyper_tol`, relative to its size.
#' @param hyper_iterations Maximum number of steps of hyperparameter estimation, a whole number; 0 for none.
#' @param starts Number of searches for the hyperparameters, a positive whole number. The first search begins at the
#'   values given or, for those not given, at values from the data ([kernels] describes the choice of lengthscales). The
#'   others begin at random values around these, with standard deviation 1 on the log scale (call [set.seed()] first).
#'   The fit with the highest bound is returned, and `fit$starts` lists all, with one more from each short lengthscale if
#'   residuals of the best are correlated along the input of a [gp()]. With 1, a [gp()] of at most 60 rows with gaussian
#'   noise, whose lengthscales are neither fixed nor given, is also searched from long lengthscales and from hardly any
#'   noise. Use several starts if the bound may have several local maxima.
#' @param freeze With `joint = TRUE`: the number of steps of the posterior before the hyperparameters move, a whole
#'   number.
#' @param joint If TRUE, L-BFGS optimises posterior and hyperparameters together. The default runs a whole inference for
#'   every step of the hyperparameters, which is faster. Not available where the likelihood is not log-concave, and of
#'   no use for a full [gp()] with gaussian noise, where inference is one step.
#' @param move_inducing If TRUE (the default), the positions of inducing points (`gp(inducing = )`) are optimised with
#'   the hyperparameters. Levels of factors are not moved.
#' @param inducing_jitter A non-negative number that is added to the diagonal of the covariance of the inducing points,
#'   in squared units of the linear predictor. The default 0 is safe, because redundant inducing points are dropped.
#' @param pieces Number of pieces of the bound `expectation = "piecewise"`, a whole number from 3 to 20; more pieces
#'   make it tighter.
#' @param chunk_rows Number of rows that are read at a time from data that are not in memory: `"auto"` or a positive
#'   whole number. The results do not depend on it.
#' @param threads Number of threads, a positive whole number. The results do not depend on it. R's BLAS uses one thread
#'   meanwhile, if it is OpenBLAS, MKL or BLIS; others are left alone.
#' @param backend Linear algebra: `"blas"` (the BLAS and LAPACK that R uses), `"eigen"`, or `"auto"`, which times both
#'   at first use in a session and takes the faster one.
#' @param keep_factor If TRUE, the fit keeps the N x N factor of a full [gp()] with N rows. Predictions with standard
#'   errors are then faster and the fit is larger.
#' @param hyper_method Optimiser for the hyperparameters: `"lbfgs"` (L-BFGS-B), or `"newton"`, a projected Newton method
#'   that takes the Hessian by finite differences of the gradient. The latter needs fewer but more expensive steps, and
#'   at most 50 learned values.
#' @param hyper_design Points at which `hyper = "integrate"` of [galvi()] evaluates the posterior of the
#'   hyperparameters: `"grid"`, about 11, 30, 60 or 145 points for one to four hyperparameters, more where the posterior
#'   is far from normal; `"ccd"`, a central composite design (15 points for three, 25 for four, 149 for ten); `"auto"`,
#'   the grid for one to three. For more, `"auto"` is about 100 points drawn by their marginal likelihood in gaussian
#'   models of fixed and random effects, and the design in others. Intervals of the hyperparameters are quantiles of a
#'   density that interpolates the log density at these points; `vignette("uncertainty")` has the coverage of grid and
#'   design.
#' @param batch_rows Rows per minibatch of `method = "stochastic"`: `"auto"` or a positive whole number.
#' @param passes Number of passes through the rows in minibatches for `method = "stochastic"`, positive; NULL stops when
#'   the bound rises by no more than its sampling noise.
#' @param step_rule How `method = "stochastic"` moves the posterior: `"natural"` (natural gradient), `"adadelta"` or
#'   `"adam"` (gradients of the mean and the Cholesky factor), `"sag"` (the rows of the minibatch replace their previous
#'   contributions) or `"svrg"` (natural gradient with variance reduction).
#' @param step_size Step size of the hyperparameters and, with `"adam"` and `"adadelta"`, of the posterior for `method =
#'   "stochastic"`: `"auto"` or a positive number.
#' @param cluster NULL, or a cluster whose workers take the passes over the rows: from [parallel::makeCluster()]
#'   (processes on this machine, or on others by ssh or MPI) or `mirai::make_cluster()`. See Clusters below.
#' @param uncertainty What standard deviations, intervals and draws are. `"auto"`, the default: those of the joint posterior
#'   of coefficients, family parameters and hyperparameters of groups, smooths and fields, as far as it is known, see
#'   `vignette("uncertainty")`; `"factorised"`: those of independent linear predictors at the estimated hyperparameters,
#'   as `lm()`, `lmer()`, `gam()` and other functions report them. Estimates of hyperparameters and the bound are the same.
#' @param max_seconds Time limit for inference and estimation of hyperparameters, in seconds; `Inf`, the default, for
#'   none. When this time has passed, the current iteration is completed and [galvi()] returns the fit so far, marked
#'   as not converged; [update()][update.galvi] continues from it. If it passes while standard deviations are computed, these
#'   are those of `uncertainty = "factorised"`, with a warning.
#' @param ... Must be empty. An unknown argument is an error that suggests the nearest name.
#' @section Clusters:
#' Each worker is sent its part of the rows once, or reads it from a row source ([row_source()]), and keeps it. In each
#' pass over the rows it receives the posterior and returns sums, whose size does not depend on the number of rows. This
#' works for models of fixed effects and sparse [gp()] terms, with `method = "fixed_point"` (which `"auto"` selects
#' here), `"natural_gradient"` or `"cholesky_gradient"`. The result is identical, to the last bit, to that of the same
#' method without a cluster, for any number of workers.
#'
#' All workers must have the same version of galvi, the same BLAS with the same number of threads, and the same kind of
#' processor. Sums over some rows are compared at the start: a difference is an error or, in the last digits, a
#' warning. If a worker dies, its rows are given to another one and the pass is repeated, with a warning. A last pass in
#' the calling process computes the fitted values. After the death of a worker or an interrupt, replies may be left in
#' the connections: fits take no notice, but functions of parallel would, so start a new cluster for them.
#'
#' Each worker uses one thread, so start as many workers as there are cores. The fit does not keep the cluster; stop it
#' with [parallel::stopCluster()].
#' @return A list of class `galvi_control` with the settings.
#' @section Errors:
#' `galvi_error_argument` for a setting with an invalid value or an unknown name. Fits on a cluster signal
#' `galvi_error_cluster` and `galvi_warning_cluster`.
#' @family fitting
#' @examples
#' galvi_control(tol = 1e-9, threads = 1)
#'
#' # do searches from three starts find the same maximum?
#' set.seed(1)
#' fit <- galvi(mpg ~ gp(wt, hp), data = mtcars, control = galvi_control(starts = 3))
#' fit$starts
#' @export
galvi_control <- function(tol = 1e-7, max_iterations = 500, hyper_tol = 1e-6, hyper_iterations = 200,
                          starts = 1, freeze = 10, joint = FALSE, move_inducing = TRUE,
                          inducing_jitter = 0, pieces = 20, chunk_rows = "auto",
                          threads = getOption("galvi.threads", 2), backend = "auto",
                          keep_factor = FALSE, hyper_method = "lbfgs", hyper_design = "auto",
                          batch_rows = "auto", passes = NULL, step_rule = "natural", step_size = "auto",
                          cluster = NULL, max_seconds = Inf, uncertainty = "auto", ...) {
  check_no_dots(list(...), setdiff(names(formals(galvi_control)), "..."), "galvi_control()")
  structure(list(
    tol = check_number(tol, "tol", 0, open_lower = TRUE),
    max_iterations = check_whole(max_iterations, "max_iterations"),
    hyper_tol = check_number(hyper_tol, "hyper_tol", 0, open_lower = TRUE),
    hyper_iterations = check_whole(hyper_iterations, "hyper_iterations", 0),
    starts = check_whole(starts, "starts"),
    freeze = check_whole(freeze, "freeze", 0),
    joint = check_flag(joint, "joint"),
    move_inducing = check_flag(move_inducing, "move_inducing"),
    inducing_jitter = check_number(inducing_jitter, "inducing_jitter", 0),
    pieces = check_whole(pieces, "pieces", 3, 20),
    chunk_rows = check_auto(chunk_rows, "chunk_rows", "a positive whole number", check_whole),
    threads = check_whole(threads, "threads"),
    backend = check_choice(backend, c("auto", backend_names()), "backend"),
    keep_factor = check_flag(keep_factor, "keep_factor"),
    hyper_method = check_hyper_method(hyper_method, joint),
    hyper_design = check_choice(hyper_design, c("auto", "grid", "ccd"), "hyper_design"),
    batch_rows = check_auto(batch_rows, "batch_rows", "a positive whole number", check_whole),
    passes = if (!is.null(passes)) check_number(passes, "passes", 0, open_lower = TRUE),
    step_rule = check_choice(step_rule, step_rule_names(), "step_rule"),
    step_size = check_auto(step_size, "step_size", "a positive number", function(x, arg) {
      check_number(x, arg, 0, open_lower = TRUE)
    }),
    cluster = check_cluster(cluster),
    max_seconds = check_number(max_seconds, "max_seconds", 0, open_lower = TRUE, infinite = TRUE),
    uncertainty = check_choice(uncertainty, c("auto", "factorised"), "uncertainty")
  ), class = "galvi_control")
}

check_hyper_method <- function(x, joint) {
  check_choice(x, core_facts$hyper_method$name, "hyper_method")
  if (fact("hyper_method", x, "differences") && joint) {
    stop_galvi("argument", "`joint = TRUE` is a search by L-BFGS: leave `hyper_method` \"lbfgs\".")
  }
  x
}

check_auto <- function(x, arg, accepted, check) {
  if (identical(x, "auto")) return(x)
  if (is.numeric(x)) return(check(x, arg))
  stop_galvi("argument", sprintf("`%s` must be \"auto\" or %s, not %s.", arg, accepted, describe(x)))
}

# galvi(control = ): a value of galvi_control(), perhaps modified, or a list of its arguments. What was checked last is
# not checked again: each step of a fit asks.
as_control <- function(control) {
  if (!is.list(control) || (length(control) && is.null(names(control)))) {
    stop_galvi("argument", sprintf("`control` must be galvi_control(...), not %s.", describe(control)))
  }
  if (identical(control, last_checked$control)) return(control)
  if (any(c("epsilon", "maxit", "optimizer", "maxIter", "iter.max") %in% names(control))) {
    stop_galvi("argument", paste(
      "`control` has settings of another function: write control = galvi_control(), whose `tol` and `max_iterations`",
      "are what glm.control() has as `epsilon` and `maxit`."
    ))
  }
  control <- do.call(galvi_control, unclass(control))
  last_checked$control <- if (is.null(control$cluster)) control
  control
}

last_checked <- new.env(parent = emptyenv())

# The control of an inference of which only q is wanted.
factorised <- function(control) {
  control$uncertainty <- "factorised"
  control
}

# A fit keeps no connection.
without_cluster <- function(control) {
  control["cluster"] <- list(NULL)
  control
}

#' @export
print.galvi_control <- function(x, digits = NULL, ...) {
  refuse_print_dots(list(...), print.galvi_control)
  if (!is.null(x$cluster)) x$cluster <- sprintf("%d workers", length(x$cluster))
  cat(sprintf("%-16s %s\n", names(x), vapply(x, format, "", digits = digits)), sep = "")
  invisible(x)
}

# ---- facts of the core ----

# What the entries in the core's registries can do (src/facts.cpp), read once when the package is loaded. R asks for
# capabilities, never for names.
core_facts <- new.env(parent = emptyenv())

.onLoad <- function(libname, pkgname) {
  list2env(list(
    likelihood = likelihood_facts(), expectation = expectation_facts(), inference = inference_facts(),
    solver = solver_facts(), term = term_facts(), kernel = kernel_facts(), field = field_facts(),
    transform = transform_facts(), hyper_prior = hyper_prior_facts(), hyper_method = hyper_method_facts()
  ), core_facts)
  if (isNamespaceLoaded("ggeffects")) with_new_generics()
  setHook(packageEvent("ggeffects", "onLoad"), with_new_generics)
}

# ggeffects has this generic from version 2 on: declared in NAMESPACE, a method of it would keep galvi from loading beside
# an older one.
with_new_generics <- function(...) {
  if (!exists("get_predictions", asNamespace("ggeffects"), mode = "function", inherits = FALSE)) return(invisible())
  method <- get("get_predictions.galvi", topenv())
  registerS3method("get_predictions", "galvi", method, envir = asNamespace("ggeffects"))
}

#' A capability of the entries with these names, from a table whose first column has the names
#' @param table A name in core_facts, or such a table.
#' @noRd
fact <- function(table, name, what) {
  if (is.character(table)) table <- core_facts[[table]]
  table[[what]][match(name, table[[1L]])]
}

# ---- progress ----

# Progress of a fit. The core reports (stage, iteration, elbo, gap, of) at most ten times a second, where `of` is the
# number of iterations if it is known, else 0. A terminal shows one line that is updated, a log one line every two
# seconds.

# Calls run(report): `report` is the function that fit_model() passes to the core, NULL for a silent fit. Fits are
# silent while a document is knitted.
with_progress <- function(verbose, run) {
  if (!isTRUE(verbose) || isTRUE(getOption("knitr.in.progress"))) return(run(NULL))
  if (!cli::is_dynamic_tty()) return(run(progress_lines()))
  status <- ""
  left <- time_left()
  bar <- cli::cli_progress_bar(format = "{cli::pb_spin} {status}", total = NA, clear = TRUE)
  run(function(stage, iteration, elbo = NaN, gap = NaN, of = 0) {
    status <<- progress_status(stage, iteration, elbo, gap, of, left(stage, iteration, elbo, of))
    cli::cli_progress_update(id = bar, force = TRUE)
  })
}

# A new stage is always shown; within one, a line every two seconds.
progress_lines <- function(every = 2) {
  shown <- list(stage = "", time = -Inf)
  left <- time_left()
  function(stage, iteration, elbo = NaN, gap = NaN, of = 0) {
    now <- proc.time()[["elapsed"]]
    seconds <- left(stage, iteration, elbo, of, now)
    if (identical(stage, shown$stage) && now - shown$time < every) return(invisible())
    shown <<- list(stage = stage, time = now)
    cli::cat_line(progress_status(stage, iteration, elbo, gap, of, seconds), file = stderr())
  }
}

# "Computing the posterior, iteration 3: bound -113.982, within 2e-05 of its maximum; about 20 s left"
progress_status <- function(stage, iteration, elbo = NaN, gap = NaN, of = 0, seconds = NA) {
  text <- paste0(stage, ", iteration ", iteration, if (of > 0) paste0(" of ", of))
  if (is.finite(elbo)) text <- paste0(text, ": bound ", formatC(elbo, format = "f", digits = 3))
  if (is.finite(gap)) text <- paste0(text, ", within ", format(gap, digits = 1), " of its maximum")
  if (is.finite(seconds)) text <- paste0(text, "; about ", in_words(seconds), " left")
  text
}

in_words <- function(seconds) {
  if (seconds < 90) return(paste(signif(max(seconds, 1), 1L), "s"))
  if (seconds < 5400) return(paste(signif(seconds / 60, 1L), "min"))
  paste(signif(seconds / 3600, 1L), "h")
}

#' Estimates the remaining time of a stage: function(stage, iteration, elbo, of, now), in seconds, NA as long as it
#' cannot be estimated
#'
#' If the number of iterations is known, the remaining ones are assumed to take as long as those before. Otherwise the
#' best bound so far is assumed to approach its maximum geometrically. If it rose by r1 in the third quarter of the time
#' until now and by r2 in the fourth, q = r2 / r1 < 1, then r2 q / (1 - q) is left to gain. This decreases by the
#' factor q in every further quarter, until it is below `enough` nats.
#' @noRd
time_left <- function(enough = 1e-3, at_least = 3) {
  stage_now <- ""
  began <- NA_real_
  times <- best <- numeric()
  function(stage, iteration, elbo, of = 0, now = proc.time()[["elapsed"]]) {
    if (!identical(stage, stage_now)) {
      stage_now <<- stage
      began <<- now
      times <<- best <<- numeric()
    }
    if (of > 0) return(if (now - began < at_least) NA_real_ else (now - began) * (of - iteration + 1) / (iteration - 1))
    if (!is.finite(elbo)) return(NA_real_)
    times <<- c(times, now)
    best <<- c(best, max(elbo, utils::tail(best, 1L)))
    span <- (now - began) / 4
    if (4 * span < at_least) return(NA_real_)
    rises <- diff(best[c(findInterval(now - c(2, 1) * span, times), length(best))])
    if (length(rises) < 2L || any(!(rises > 0)) || rises[2L] >= rises[1L]) return(NA_real_)
    q <- rises[2L] / rises[1L]
    to_gain <- rises[2L] * q / (1 - q)
    if (to_gain <= enough) return(0)
    span * log(enough / to_gain) / log(q)
  }
}

check_cluster <- function(cluster) {
  if (is.null(cluster) || inherits(cluster, "cluster") && length(cluster)) return(cluster)
  stop_galvi("argument", sprintf(
    "`cluster` must be a cluster of package parallel, such as parallel::makeCluster(2), or NULL, not %s.",
    describe(cluster)
  ))
}
