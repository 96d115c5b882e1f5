# The knobs of the numerics, each with its default and legal range.

#' Numerical settings
#'
#' @param tol Inference stops when the bound is proven to be within `tol` nats of its maximum; where nothing
#'   can prove that, when it changes by less. Positive.
#' @param max_iterations Steps of one inference, at least 1.
#' @param hyper_tol Learning of hyperparameters stops when the gradient on the log scale, relative to the
#'   bound's size, is below it. Where more than 50 values are learned, as with inducing points, also when
#'   three steps together raise the bound by less than 100 `hyper_tol` of its size. Positive.
#' @param hyper_iterations Steps of learning, 0 or more.
#' @param starts Number of starts of the hyperparameters: the first is the default or the given one, the
#'   others are drawn around it (`set.seed()` applies). The best is kept, all are in `fit$starts`.
#' @param freeze Steps of the posterior before the hyperparameters move.
#' @param joint Optimise posterior and hyperparameters together, by one L-BFGS, rather than with a whole
#'   inference for every step of the hyperparameters? As KLSp was published; slower. No use where inference is
#'   one step, that of a full [gp()] with gaussian noise.
#' @param move_inducing Move inducing points (`gp(inducing = )`) together with the hyperparameters? Levels of
#'   factors stay what they are.
#' @param inducing_jitter Added to the diagonal of the inducing points' covariance, in squared units of the
#'   linear predictor. None is needed: redundant inducing points are dropped.
#' @param pieces Pieces of the piecewise bound, a whole number from 3 to 20: more are tighter.
#' @param chunk_rows Rows read at a time from data that are not in memory; `"auto"` or a positive whole number.
#'   Results do not depend on it.
#' @param threads Threads for loops over the data, at least 1. Results do not depend on it at all. Within these
#'   loops R's BLAS uses one thread, if it is OpenBLAS, MKL or BLIS; in large factorisations as many as it is set to.
#' @param backend `"auto"` tries at first use which is faster: `"blas"`, R's BLAS and LAPACK, or `"eigen"`.
#' @param keep_factor Keep the N x N factor in the fit, which makes predictions with variances cheaper and the
#'   fit larger?
#' @param hyper_method How hyperparameters are learned: `"lbfgs"` (L-BFGS-B), or `"newton"`, a projected
#'   Newton method whose Hessian is taken by finite differences of the gradient, one for each hyperparameter: fewer
#'   steps, for at most 50 of them.
#' @param hyper_design Where `hyper = "integrate"` of [galvi()] evaluates the posterior of the hyperparameters:
#'   `"grid"`, some 14, 60 or 230 points for one, two or three of them; `"ccd"`, a central composite design, with 15
#'   points for three and 149 for ten; `"auto"` is a grid for one or two and the design for more. Predictions are
#'   good by either; limits of three hyperparameters themselves are better by the grid.
#' @param batch_rows Rows of a minibatch for `method = "stochastic"`; `"auto"` or a positive whole number.
#' @param passes How often `method = "stochastic"` goes through the rows by minibatches; `NULL` stops where
#'   the bound rises no more than its sampling noise. Positive.
#' @param step_rule How `method = "stochastic"` moves the posterior from one minibatch to the next:
#'   `"natural"` (natural gradient), `"adadelta"` or `"adam"` (mean and Cholesky factor by their gradient),
#'   `"sag"` (the rows of the minibatch replace what they contributed before) or `"svrg"` (natural gradient
#'   with the noise of the minibatch taken off).
#' @param step_size Of the steps of hyperparameters and, by `"adam"` and `"adadelta"`, of the posterior;
#'   `"auto"` or a positive number.
#' @param cluster A cluster of package parallel whose workers take the passes over the rows:
#'   [parallel::makeCluster()] (processes on this machine, or on others by ssh or MPI) or
#'   `mirai::make_cluster()`. See Clusters.
#' @param max_seconds Time for inference and learning, in seconds. When it is over, [galvi()] returns the fit so
#'   far, which has not converged and says so, and [update()][update.galvi] goes on from it. A last iteration
#'   is always completed.
#' @param ... Must be empty: a misspelt name is an error that names the nearest argument.
#' @section Clusters:
#' Every worker is sent its part of the rows once, or reads it from a row source ([row_source()]) and keeps it.
#' A pass sends it the posterior and gets sums back, whose
#' size does not depend on the number of rows. That is for models of fixed effects and sparse [gp()] terms and
#' for methods of full passes: `"fixed_point"` (what `"auto"` means here), `"natural_gradient"` and
#' `"cholesky_gradient"`. The fit is, to the last bit, that of the same method without a cluster, for any number
#' of workers. It takes the same version of galvi, the same BLAS with as many threads of its own, and processors of one kind: sums
#' of some rows are compared at the start, and a difference is an error or, in last digits, a warning
#' (`galvi_warning_cluster`). A worker that dies while the fit runs costs a pass: its rows go to another one,
#' with such a warning. One last pass over the rows in this process gives the fitted values. Each worker uses
#' one thread, so start as many as there are cores. The fit does not keep the cluster, which stays the user's,
#' to be stopped by [parallel::stopCluster()].
#' @return A list of class `galvi_control`.
#' @examples
#' galvi_control(tol = 1e-9, threads = 1)
#' @export
galvi_control <- function(tol = 1e-7, max_iterations = 500, hyper_tol = 1e-6, hyper_iterations = 200,
                          starts = 1, freeze = 10, joint = FALSE, move_inducing = TRUE,
                          inducing_jitter = 0, pieces = 20, chunk_rows = "auto",
                          threads = getOption("galvi.threads", 2), backend = "auto",
                          keep_factor = FALSE, hyper_method = "lbfgs", hyper_design = "auto",
                          batch_rows = "auto", passes = NULL, step_rule = "natural", step_size = "auto",
                          cluster = NULL, max_seconds = Inf, ...) {
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
    max_seconds = check_number(max_seconds, "max_seconds", 0, open_lower = TRUE, infinite = TRUE)
  ), class = "galvi_control")
}

check_hyper_method <- function(x, joint) {
  check_choice(x, hyper_method_facts()$name, "hyper_method")
  if (fact(hyper_method_facts(), x, "differences") && joint) {
    stop_galvi("argument", "`joint = TRUE` is a search by L-BFGS: leave `hyper_method` \"lbfgs\".")
  }
  x
}

check_auto <- function(x, arg, accepted, check) {
  if (identical(x, "auto")) return(x)
  if (is.numeric(x)) return(check(x, arg))
  stop_galvi("argument", sprintf("`%s` must be \"auto\" or %s, not %s.", arg, accepted, describe(x)))
}

# galvi(control = ): what galvi_control() makes, perhaps changed since, or a list of its arguments.
as_control <- function(control) {
  if (!is.list(control) || (length(control) && is.null(names(control)))) {
    stop_galvi("argument", sprintf("`control` must be galvi_control(...), not %s.", describe(control)))
  }
  do.call(galvi_control, unclass(control))
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
