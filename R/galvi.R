# The front ends: formula, data frame, matrix. Each ends in fit_formula().

#' Fit a latent Gaussian model
#'
#' Finds the Gaussian posterior that maximises the evidence lower bound (ELBO) of a model with
#' Gaussian-process terms, fixed effects, or both, and learns the hyperparameters by maximising that bound.
#'
#' The model is eta = offset + sum of terms, and y given eta as the family says; families of several classes
#' have several eta per observation, each with its own copy of the terms. Fixed effects have independent
#' normal priors, [gp()] terms are Gaussian processes. The posterior of the terms is the Gaussian q that
#' maximises ELBO = E_q\[log p(y | eta)\] - KL(q, prior), a lower bound on the log evidence log p(y).
#'
#' **Formulas** follow R: an intercept is there unless `0 +` removes it, `offset()` and `offset =` add up.
#' Names of kernels, [fixed()] and priors in a term are galvi's own; everything else comes from the formula's
#' environment and, for variables, first from `data`.
#'
#' **A list of formulas** gives a second parameter of the family a linear predictor, see [galvi_family()]:
#' `list(y ~ x + gp(z), sigma ~ gp(z))`. The first is the response's; `brms::bf()` objects are read too. Names
#' of its coefficients begin with `sigma_`, of its terms and hyperparameters with `sigma.`; its priors are a
#' list under its name, `prior = list(intercept = normal(0, 5), sigma = list(default = normal(0, 1)))`.
#' `offset =` is the response's, an `offset()` that of its own formula.
#'
#' **Priors of fixed effects** by default: slopes `normal(0, 10 s / sd(x_j))`, intercept `normal(m, 10 s)`,
#' with m = median(y) and s = sd(y) on identity links (of y less the offset; s = mad(y) in the families
#' student and laplace, which are for outliers), m = 0 and s = 1 on others. Here and in the starts of
#' hyperparameters a row of weight 2 counts as two rows; where all weights sum to 1 or less every row counts
#' as one. `prior = normal(0, sd)` is for all slopes, `prior = list(intercept =, x1 =, default =)` for some.
#' The slope of `rw2(t)` is one of them, `"rw2(t).slope"`; the constants of `gmrf(g, constrain = FALSE)` follow
#' the intercept's prior or their own, `"gmrf(g).constant"`. Entries `sd` and `cor` are for the standard deviations and
#' correlations of random effects, see [random-slopes]. `fit$prior` lists the others. A number is fixed;
#' `sd = learn(1)` learns it by the bound. Families of several classes (see [galvi_family()])
#' have these effects once per latent value, all with the same prior; an sd that is learned is shared by them.
#' [cumulative()] with free thresholds has no intercept.
#'
#' @param x A formula, a list of them, or the inputs: a data frame or matrix with one row per observation. A data frame
#'   followed by a formula, as in `d |> galvi(y ~ gp(x))`, is taken as `data`.
#' @param formula Response and terms, such as `y ~ x1 + gp(x2, x3)`; see [gp()]. Or a list of formulas, for a
#'   family with a second linear predictor.
#' @param data A data frame. Variables that it does not have are looked up where the formula was written. Or
#'   rows that are not in memory, such as a table in a database: what [row_source()] takes.
#' @param y The response, for `x` without a formula.
#' @param kernel,inducing The kernel of the one `gp()` over all columns of `x`, and its inducing points.
#' @param intercept Is there an intercept beside `x`'s Gaussian process?
#' @param family The distribution of the response: a name, a function or an object, see [galvi_family()].
#' @param method Inference: `"auto"` or one of [galvi_methods()].
#' @param expectation How the expectation of log p(y | eta) is taken: `"auto"` (exact), or one of those that
#'   [galvi_methods()] describes.
#' @param hyper `"optimise"` learns the hyperparameters, `"fixed"` leaves them at their starts (parameters of
#'   families that have a default: at that). `"integrate"` learns them and then averages over their posterior: the fit is
#'   a weighted mixture of posteriors at some values of theirs (`galvi_control(hyper_design = )`), and everything that is
#'   computed from it takes their uncertainty into account; see `vignette("uncertainty")`. Those without a prior get a
#'   weak one: log-normal around the default start, a factor of 50 either way with probability 0.95; uniform for shares
#'   and correlations.
#' @param start A fit, or numbers named like `fit$hyper$name`: where learning starts. Held values stay.
#' @param prior Priors of fixed effects, see Details; recorded in `fit$prior`.
#' @param weights Multiply the log likelihood: a row of weight 2 is two rows. With a proportion as binomial
#'   response they are the trials, as in [stats::glm()]. Looked up in `data` first, like `offset` and
#'   `subset`.
#' @param offset Added to eta; with several latent values per observation one column for all of them, or a
#'   matrix with a column each.
#' @param subset Rows to use.
#' @param na.action What to do with missing values: [stats::na.omit()] by R's default option,
#'   [stats::na.fail()], [stats::na.exclude()].
#' @param control [galvi_control()].
#' @param verbose Show progress? `options(galvi.progress = FALSE)` turns it off for good, and `TRUE` on, also in
#'   scripts.
#' @param ... Arguments of the methods. One that they do not know is an error.
#' @return A fit of class `galvi`, see [galvi-fit]; with [predict()][predict.galvi], [plot()][plot.galvi] and
#'   R's usual methods.
#' @section Errors:
#' Conditions of class `galvi_error_<what>` with what = argument, data, response, formula, family, method,
#' kernel, prior, newdata, size, numeric. A fit that has not converged warns (`galvi_warning_convergence`),
#' and so does one whose numbers rounding may have changed (`galvi_warning_numeric`): by the size of the terms
#' of its bound, or by predictions at up to 1,000 of the observations, which must be the fitted values.
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' summary(fit)
#' predict(fit, data.frame(speed = c(5, 15)), interval = "prediction")
#'
#' # two classes, hyperparameters held
#' galvi(am ~ 0 + gp(wt, kernel = se(fixed(1), fixed(4))), data = mtcars, family = binomial())
#' @importFrom stats gaussian
#' @export
galvi <- function(x, ...) {
  # the first argument given, whatever its name; a list of formulas is for the method of formulas
  first <- if (!missing(x)) x else if (...length()) ...elt(1L)
  formulas <- inherits(first, "brmsformula") || is.list(first) && !is.object(first)
  UseMethod("galvi", if (formulas) y ~ x else first)
}

#' @rdname galvi
#' @export
galvi.formula <- function(formula, data = NULL, family = gaussian(), method = "auto", expectation = "auto",
                          hyper = "optimise", start = NULL, prior = NULL, weights, offset, subset, na.action,
                          control = galvi_control(), verbose = getOption("galvi.progress", interactive()), ...) {
  call <- written_call(match.call(), environment())
  extra <- match.call(expand.dots = FALSE)$...
  if (missing(formula) && "x" %in% names(extra)) {
    formula <- list(...)$x
    extra$x <- NULL
    names(call)[names(call) == "x"] <- "formula"
  }
  check_no_dots(extra, setdiff(names(formals(galvi.formula)), "..."), "galvi()")
  fit_formula(
    call, formula, data, family, method = method, expectation = expectation, hyper = hyper, start = start,
    prior = prior, control = control, verbose = verbose,
    na.action = if (missing(na.action)) default_na_action() else na.action
  )
}

#' @rdname galvi
#' @export
galvi.data.frame <- function(x, y, family = gaussian(), method = "auto", expectation = "auto",
                             hyper = "optimise", start = NULL, prior = NULL, weights, offset, subset,
                             na.action, control = galvi_control(),
                             verbose = getOption("galvi.progress", interactive()), kernel = se(),
                             inducing = NULL, intercept = TRUE, ...) {
  call <- written_call(match.call(), environment())
  extra <- match.call(expand.dots = FALSE)$...
  given <- if ("formula" %in% names(extra)) list(...)$formula
  formula <- if (!missing(y) && is_formulas(y)) y else given
  if (is.null(formula)) {
    known <- c(setdiff(names(formals(galvi.data.frame)), "..."), "formula", "data")
    check_no_dots(extra, known, "galvi()")
    check_inputs(missing(x), missing(y))
    if (is.character(x)) {
      stop_galvi("data", sprintf("`x` must be numbers or a data frame, not %s.", describe(x)))
    }
    x <- as.data.frame(x)
    formula <- columns_formula(x, y, kernel, inducing, intercept, parent.frame())
  } else {
    if (missing(x)) x <- list(...)$data
    call <- formula_call(call)
    known <- setdiff(names(formals(galvi.formula)), "...")
    check_no_dots(as.list(call)[-1L][!names(call)[-1L] %in% known], known, "galvi() with a formula")
  }
  fit_formula(
    call, formula, x, family, method = method, expectation = expectation, hyper = hyper, start = start,
    prior = prior, control = control, verbose = verbose,
    na.action = if (missing(na.action)) default_na_action() else na.action
  )
}

#' @rdname galvi
#' @export
galvi.matrix <- galvi.data.frame

#' @rdname galvi
#' @export
galvi.default <- function(x, ...) {
  # only something else came first, as in galvi(family = binomial(), formula = y ~ gp(x))
  if ("formula" %in% ...names() && missing(x)) return(galvi.formula(...))
  if (missing(x)) stop_galvi("argument", "galvi() needs a formula, as in galvi(y ~ gp(x), data = d).")
  stop_galvi("argument", sprintf(
    "The first argument of galvi() must be a formula, a data frame or a matrix, not %s.", describe(x)
  ))
}

# ---- what the methods share ----

default_na_action <- function() getOption("na.action", "na.omit")

# match.call() writes ..1 for what came through another function's `...`; this puts the expressions back,
# which weights, offset and subset need.
written_call <- function(call, frame) {
  for (name in setdiff(names(call), "")) {
    if (is.symbol(call[[name]]) && grepl("^[.][.][0-9]+$", as.character(call[[name]]))) {
      call[[name]] <- eval(call("substitute", as.name(name)), frame)
    }
  }
  call
}

# `d |> galvi(y ~ gp(x))` as if the formula had come first.
formula_call <- function(call) {
  names <- names(call)
  names[names == "x"] <- "data"
  if (!"formula" %in% names) names[names == "y"] <- "formula"
  names(call) <- names
  call
}

check_inputs <- function(no_x, no_y) {
  if (no_x) stop_galvi("argument", "`x` is missing: galvi() needs a formula, or `x` and `y`.")
  if (no_y) stop_galvi("argument", "`y` is missing: it is the response, a vector or a formula.")
}

# x, y -> y ~ gp(.), with the response, the kernel and the inducing points in the formula's environment.
columns_formula <- function(x, y, kernel, inducing, intercept, env) {
  check_flag(intercept, "intercept")
  if (is.data.frame(y)) y <- if (ncol(y) == 1L) y[[1L]] else as.matrix(y)
  if (NROW(y) != nrow(x)) {
    stop_galvi("argument", sprintf("`y` must have one value per row of `x`: %d, not %d.", nrow(x), NROW(y)))
  }
  if (!ncol(x)) stop_galvi("data", "`x` has no columns.")
  name <- utils::tail(make.unique(c(names(x), "y")), 1L)
  kernel <- check_evaluates(kernel, "kernel", "kernel", kernel_words())
  values <- stats::setNames(list(y, kernel, inducing), c(name, "kernel", "inducing"))
  term <- quote(gp(., kernel = kernel))
  if (!is.null(inducing)) term$inducing <- quote(inducing)
  stats::as.formula(
    call("~", as.name(name), if (intercept) term else call("+", 0, term)), list2env(values, parent = env)
  )
}

# Formula and data -> fit, by the steps of ?modular. `call` is for the record and for the expressions of
# weights, offset and subset.
fit_formula <- function(call, formula, data, family, method, expectation, hyper, start, prior, control,
                        verbose, na.action) {
  call <- without_continued(call)
  call[[1L]] <- quote(galvi)
  check_method(method)
  check_expectation(expectation)
  control <- as_control(check_evaluates(control, "control"))
  args <- as.list(call)[c("weights", "offset", "subset")]
  design <- read_design(formula, data, family, args, na.action, control$chunk_rows)
  model <- galvi_model(design, prior, start, expectation, hyper, control)
  last_fit$standing <- NULL
  posterior <- tryCatch(
    withCallingHandlers(galvi_infer(model, method, start, verbose), interrupt = function(e) {
      standing <- last_fit$standing
      if (is.null(standing)) return()
      last_fit$value <- function() suppressWarnings(galvi_fit(model, interrupted_posterior(model, standing), call))
    }),
    galvi_error_unfinished = function(e) {
      e$fit <- last_fit$value <- suppressWarnings(galvi_fit(model, e$posterior, call))
      e$message <- paste0(sub("[.]?$", ".", e$message), " The fit so far is galvi_last().")
      stop(e)
    }
  )
  fit <- galvi_fit(model, posterior, call)
  if (isTRUE(fit$stopped)) last_fit$value <- fit
  fit
}

#' The core's refusals and numerical failures, and memory that runs out, with our classes
#'
#' @param size What the computation was expected to need, see new_size(); NULL where that is little.
#' @noRd
as_galvi_error <- function(expr, size = NULL) {
  tryCatch(expr, error = function(e) {
    if (is_out_of_memory(e)) stop_out_of_memory(size)
    if (!inherits(e, "C++Error")) stop(e)
    message <- conditionMessage(e)
    refused <- inherits(e, "std::invalid_argument") || startsWith(message, "method \"")
    what <- if (inherits(e, "std::range_error")) "response" else if (refused) "method" else "numeric"
    stop_galvi(what, message)
  })
}
