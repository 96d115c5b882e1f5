# The front ends: formula, data frame, matrix. Each ends in fit_formula().

#' Fit latent Gaussian models by variational inference
#'
#' Fits Gaussian process models (full and sparse), Bayesian generalised linear and mixed models, Markov random fields
#' and sums of these. The posterior is approximated by the Gaussian distribution that maximises the evidence lower
#' bound (ELBO), and hyperparameters are estimated by maximising the same bound.
#'
#' @section Model:
#' The linear predictor is eta = offset + sum of terms, and the family gives the distribution of the response y given
#' eta. All terms have Gaussian priors: fixed effects are independent normal, [gp()] terms are Gaussian processes,
#' random effects and fields are Gaussian vectors. Multi-class families have several linear predictors for each
#' observation, with a copy of the terms for each.
#'
#' The posterior of the terms is approximated by the Gaussian q that maximises
#' ELBO = E_q\[log p(y | eta)\] - KL(q, prior), a lower bound on the log evidence (log marginal likelihood) log p(y).
#' Hyperparameters (variances, lengthscales, parameters of the family) maximise the bound too, as an approximation to
#' maximum marginal likelihood. With a gaussian response of constant variance and without inducing points, the
#' posterior and the log evidence are exact, given the hyperparameters.
#'
#' @section Hyperparameters:
#' A number in a kernel, term or family is a starting value, [fixed()] fixes a hyperparameter, and a prior makes the
#' estimate a posterior mode, see [priors]. `fit$hyper` lists all of them.
#'
#' Standard deviations, intervals, predictions and draws belong to the joint posterior of the coefficients of all linear
#' predictors, the parameters of the family and the hyperparameters of groups, smooths and fields, see
#' [coef()][coef.galvi], which lists the exceptions: in models with [gp()] or [spde()] terms and more than 200 rows but no
#' groups, with factors, rows from a source or a cluster, and some others, they are conditional on the estimates, and
#' `summary()` says so. With `hyper = "integrate"` they include the uncertainty of the hyperparameters in these models too:
#' the fit is a weighted mixture of Gaussian posteriors at several values of the hyperparameters, as in INLA
#' (`hyper_design` in [galvi_control()]). The estimates in `fit$hyper` are the same.
#'
#' Hyperparameters without a prior have a weak one in this posterior, not in the estimates: half-normal for standard
#' deviations of groups, with the standard deviation 10 s, where s is the scale of the linear predictor over that of
#' the column, and for noise beside known standard errors, `y | se(s, sigma = TRUE)`, which is an effect of each row;
#' log-normal around the default starting value for other positive numbers, within a factor of 50 with probability 0.95
#' (wider for noise and for the dispersion of [tweedie()]); uniform for proportions and correlations. The weights of a
#' mixture are those of the log evidence, the bound with a correction; without it, as with more than 100,000 rows,
#' variances of random effects are too small for binary responses with few rows per group, see
#' `vignette("uncertainty", package = "galvi")`.
#'
#' @section Formulas:
#' Formulas are as in [stats::glm()]: the intercept is included unless `0 +` removes it, `.` stands for the columns of
#' `data` that are neither in the response or another term nor in an argument such as `weights`, and `offset()` in the
#' formula and the argument `offset` add up. Terms other than fixed effects are
#' [gp()], random effects (partial pooling) such as `(1 | g)` and `(1 + x | g)` ([iid()], [random-slopes]), Markov
#' fields ([gmrf()], including the intrinsic CAR (ICAR) and BYM2 models), random walks and autoregressions ([rw1()],
#' [rw2()], [ar1()]), Matern fields in space ([spde()]) and latent factors ([rr()], [responses()]).
#'
#' Variables are looked up in `data` first; everything else comes from the environment of the formula. Names of kernels,
#' [fixed()] and priors inside a term, and of families, kernels and priors in the arguments `family`, `kernel` and
#' `prior`, are always those of galvi. Terms and arguments of other packages, such as `s(x)` or `ziformula = ~ z`, are
#' errors that show the call as it is written here.
#'
#' A list of formulas gives other parameters of the family linear predictors of their own, see [distributional]:
#' `list(y ~ x + gp(z), sigma ~ gp(z))`. Objects of `brms::bf()` are accepted too, with the family that they may have.
#'
#' @section Weights:
#' `weights` mean what they mean in [stats::lm()], [stats::glm()], `mgcv::gam()` and `lme4::lmer()`:
#' * For [gaussian()], [Gamma()], [inverse.gaussian()] and [tweedie()] responses the dispersion of a row is divided by
#'   its weight, as for a mean of that many measurements: Var\[y | eta\] is sigma^2 / w for `gaussian()`. Weights have
#'   no unit then: ten times as large ones change `sigma()` alone, by sqrt(10).
#' * A proportion as response of [binomial()] needs its numbers of trials as weights.
#' * Elsewhere, and with a `survival::Surv()` response, they multiply the log likelihood of the row.
#'
#' `weights = frequency(n)` says in every family that each row stands for n rows, as in a table of counts. The word is
#' understood inside this argument only. A row of weight 0 is not used, but predicted.
#'
#' New responses have the weights of their rows: of the observations in `simulate()` or `predict(fit, interval =
#' "prediction")`, of `newdata` if it has the variables of `weights`, else 1.
#'
#' @section Left sides:
#' Right of a bar, `y | trials(n) + weights(w) ~ x` says in brms' words how the response was observed; each is the same
#' fit as what stands for it:
#' * `trials(n)`: y successes of n trials, `cbind(y, n - y)`;
#' * `weights(w)` multiplies the log likelihood of a row, `weights = frequency(w)`;
#' * `rate(t)`: counts in the times t, positive numbers, with a log link, `offset(log(t))`; of `negbinomial()` and
#'   `geometric()`, whose size goes with t as well, it says which two formulas to write;
#' * `cens(c, y2)` for [gaussian()] responses and survival times: c is `"none"`, `"left"`, `"right"` or `"interval"`, or
#'   0, -1, 1 and 2; y and y2 are the ends of an interval;
#' * `se(s)`, the known standard errors of estimates in a meta-analysis: y is normal with variance s^2, and `gaussian()`
#'   has no parameter (its variance is 1, and the weight of a row 1 / s^2). One number is for all rows. In [student()] s
#'   is the scale. New responses are predicted for the s of their rows;
#' * `se(s, sigma = TRUE)`: the variance of a `gaussian()` response is s^2 + sigma^2 / w, w the argument `weights`, where
#'   sigma is learned, as the variance between studies is, or has a formula; s may be 0;
#' * `trunc(lb, ub)`: y was observed only because it lies between `lb` and `ub`, numbers or columns, both ends included.
#'   The density is divided by the probability of that interval given the linear predictor; means, quantiles, draws and
#'   residuals are those of responses in the interval, which new rows need, and `type = "link"` is of all responses. For
#'   `gaussian()`, `student()`, [beta_family()], counts (`trunc(lb = 1)` is without zeros), positive responses and
#'   survival times, without formulas of other parameters. Bounds that cut off nearly all of the responses say little
#'   about them. Here `weights` count rows or divide the dispersion as without bounds.
#'
#' @section Priors of fixed effects:
#' The default prior is weak, and it depends on the space of the columns alone: the same model with a variable in other
#' units or with another origin, with other contrasts or reference levels, with raw or orthogonal polynomials, or with
#' `0 + g` in place of an intercept, is the same fit. The linear predictor at the means of all columns is
#' `normal(m, 10 s)`. The slopes are jointly normal with mean 0 and covariance 100 s^2 S^-1, where S is the covariance
#' matrix of their columns over the rows (Zellner's g prior with g = 100 n: it moves an estimate by about t / (100 n)
#' standard errors, where t is the estimate in standard errors). With an identity link m is the median of y and s its
#' standard deviation (1 if y is constant), both after subtracting the offset; for [student()], [laplace()] and
#' [asymmetric_laplace()], which are robust against outliers, s is the median absolute deviation [mad()]. With a log
#' link m = log(mean(y / exp(offset))) and s = 1, with other links m = 0 and s = 1. Directions in which the columns do
#' not vary, because they depend on each other or because there are more columns than rows, have the prior of
#' independent slopes `normal(0, 10 s / sd(x_j))`. Weights that multiply the log likelihood count as rows here and in
#' the starting values of hyperparameters (where all sum to 1 or less, each row counts once); weights that divide a
#' dispersion do not.
#'
#' A prior that you give is the prior of the coefficient that is printed: `intercept` is the value at x = 0. `at_means`
#' is a prior of the linear predictor at the means of the columns instead, as brms and rstanarm have it.
#' `prior = normal(0, sd)` sets the prior of all slopes, `prior = list(intercept =, at_means =, x1 =, default =)`
#' that of individual coefficients; it acts as a ridge penalty. A numeric `sd` is fixed. `sd = learn(1)` estimates one
#' standard deviation for each variable, which shrinks the slopes of irrelevant variables to zero (automatic relevance
#' determination). The slope of `rw2(t)` is called `"rw2(t).slope"`. The constants of `gmrf(g, constrain = FALSE)` are
#' called `"gmrf(g).constant"` and by default have the prior of the intercept. The same list has priors of
#' hyperparameters, as in
#' `prior = list(sd = half_normal(1), sigma = half_normal(3), "gp(x)" = list(lengthscale = log_normal(0, 1)))`,
#' see [priors]. Priors of another linear predictor are a list under its name:
#' `prior = list(intercept = normal(0, 5), sigma = list(default = normal(0, 1)))`.
#'
#' `fit$prior` records the priors in use; of a joint default prior it has the margin of each coefficient. Multi-class
#' families have these effects once per linear predictor, all with the same prior and, if it is learned, the same `sd`.
#' [cumulative()] with free thresholds has no intercept.
#'
#' @param x A formula, a list of formulas, or the inputs: a numeric matrix or a data frame with one row per observation.
#'   A data frame followed by a formula, as in `d |> galvi(y ~ gp(x))`, is used as `data`.
#' @param formula A formula with the response and the terms, such as `y ~ x1 + gp(x2, x3)`, or a list of formulas for a
#'   family with several linear predictors.
#' @param data A data frame; or rows that are not in memory, such as a database table: anything that [row_source()]
#'   accepts; or imputed data sets ([multiple-imputation]): a `mids` of package mice, an `imputationList` of package
#'   mitools or a list of data frames. Variables that `data` does not contain are looked up in the environment of the
#'   formula.
#' @param y The response, where `x` is a matrix or data frame of inputs: a vector or factor with one value per row of
#'   `x`, or a matrix with one row per row of `x`.
#' @param kernel The kernel of the single [gp()] term in all columns of `x`, see [kernels].
#' @param inducing The inducing points of that term: NULL for a full Gaussian process, or their number or positions as
#'   in [gp()].
#' @param intercept If TRUE, the model has an intercept in addition to that term.
#' @param family The distribution of the response: the name of a family, a family function or a family object, see
#'   [galvi_family()].
#' @param method The inference algorithm: `"auto"` or one of those listed in [galvi_methods()].
#' @param expectation How E_q\[log p(y | eta)\] is computed: `"auto"` (exactly) or one of the methods, bounds and
#'   approximations listed in [galvi_methods()].
#' @param hyper What to do with hyperparameters: `"optimise"` (the default) maximises the bound over them,
#'   `"integrate"` averages over their posterior, see Hyperparameters. `"fixed"` does not estimate them: kernels
#'   stay at their starting values, and other terms and families at the values given or, by default, at those described
#'   in [iid()], [galvi_family()] and so on.
#' @param start Starting values of the hyperparameters: a fit, or a numeric vector with names from `fit$hyper$name`.
#'   Values set by [fixed()] are not changed. NULL, the default, takes the values in the formula or else starting values
#'   from the data.
#' @param prior Priors of fixed effects and hyperparameters: NULL for the defaults, [normal()], [student_t()] or another
#'   prior of all slopes, a named list, text as in `"normal(0, 1)"`, or a table of brms or glmmTMB; see the section on
#'   priors in [galvi()], and [priors].
#' @param weights Non-negative numbers, one for each row; see the section on weights. `frequency(n)`: each row stands
#'   for n rows. Evaluated in `data` and then in the environment of the formula, as are `offset` and `subset`.
#' @param offset A known part of eta, on the scale of the linear predictor: a numeric vector, or for multi-class
#'   families also a matrix with one column per linear predictor.
#' @param subset The rows to use: an expression in the columns of `data` such as `x > 2`, or row numbers.
#' @param na.action A function that handles missing values: [stats::na.omit()] (unless
#'   `options(na.action = )` says otherwise), [stats::na.exclude()] or [stats::na.fail()].
#' @param control Numerical settings, from [galvi_control()].
#' @param verbose If TRUE, show progress. The default is TRUE in interactive sessions; `options(galvi.progress = )` sets
#'   it for all calls.
#' @param sample_prior `"only"` leaves the data out: the fit has the prior in place of the posterior, with
#'   hyperparameters drawn from their priors (200 states, whose medians are the estimates), those without one at their
#'   starting values. For [posterior_predict()][draws], `bayesplot::pp_check()` and [simulate()][stats::simulate()] of
#'   what the priors say.
#' @param ... Arguments of the methods. Unknown arguments are an error.
#' @return A fit of class `galvi`, see [galvi-fit]. It has methods for [summary()][summary.galvi],
#'   [coef()][coef.galvi], [predict()][predict.galvi], [plot()][plot.galvi], [logLik()][logLik.galvi],
#'   [residuals()][residuals.galvi], [loo()][loo.galvi], posterior draws ([draws]) and other generics.
#' @section Errors:
#' Errors have class `galvi_error_<what>`, where `<what>` is `argument`, `callback`, `cluster`, `data`, `family`,
#' `formula`, `kernel`, `method`, `numeric`, `prior`, `response`, `size` (not enough memory) or `unfinished` (rows could
#' not be read; the fit so far is [galvi_last()]).
#'
#' A fit that has not converged gives a warning of class `galvi_warning_convergence`. A fit whose numbers are affected
#' by rounding gives `galvi_warning_numeric`: either the bound itself is affected, or predictions at the observations
#' (checked for up to 1,000 rows, 100 with smooths) differ from the fitted values.
#' See `vignette("troubleshooting", package = "galvi")`.
#' @references
#' Khan, M. E., Mohamed, S. and Murphy, K. P. (2012). Fast Bayesian inference for non-conjugate Gaussian process
#' regression. *Advances in Neural Information Processing Systems* 25.
#'
#' Khan, M. E., Aravkin, A. Y., Friedlander, M. P. and Seeger, M. (2013). Fast dual variational inference for
#' non-conjugate latent Gaussian models. *International Conference on Machine Learning*, PMLR 28(3), 951-959.
#'
#' Hensman, J., Matthews, A. and Ghahramani, Z. (2015). Scalable variational Gaussian process classification.
#' *International Conference on Artificial Intelligence and Statistics*, PMLR 38, 351-360.
#'
#' Sheth, R. and Khardon, R. (2016). A fixed-point operator for inference in variational Bayesian latent Gaussian
#' models. *International Conference on Artificial Intelligence and Statistics*, PMLR 51, 761-769.
#'
#' Zellner, A. (1986). On assessing prior distributions and Bayesian regression analysis with g-prior distributions. In
#' P. K. Goel and A. Zellner (eds), *Bayesian Inference and Decision Techniques*, 233-243. North-Holland.
#' @seealso [gp()], [kernels], [iid()], [random-slopes] for terms; [galvi_family()] for responses; [predict.galvi()],
#'   [plot.galvi()], [draws] and [check_fit()] for what to do with a fit. `vignette("getting-started", package =
#'   "galvi")` is an introduction.
#' @family fitting
#' @examples
#' # Gaussian process regression
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' summary(fit)
#' predict(fit, data.frame(speed = c(5, 15)), interval = "prediction")
#'
#' # a mixed model with correlated random intercepts and slopes
#' fit <- galvi(Reaction ~ Days + (1 + Days | Subject), data = sleepstudy)
#' fit
#' VarCorr(fit)
#'
#' # Gaussian process classification: the probability of a manual transmission
#' fit <- galvi(am ~ gp(wt), data = mtcars, family = binomial())
#' predict(fit, data.frame(wt = c(2, 3, 4)), interval = "credible")
#' @importFrom stats gaussian
#' @export
galvi <- function(x, ...) {
  # the formula, or the first argument given; a list of formulas is for the method of formulas
  named <- match("formula", ...names(), 1L)
  first <- if (!missing(x)) x else if (...length()) ...elt(named)
  formulas <- inherits(first, c("brmsformula", "mvbrmsformula")) || is.list(first) && !is.object(first)
  UseMethod("galvi", if (formulas) y ~ x else first)
}

#' @rdname galvi
#' @export
galvi.formula <- function(formula, data = NULL, family = gaussian(), method = "auto", expectation = "auto",
                          hyper = "optimise", start = NULL, prior = NULL, weights, offset, subset, na.action,
                          control = galvi_control(), verbose = getOption("galvi.progress", interactive()),
                          sample_prior = c("no", "only"), ...) {
  call <- written_call(match.call(), environment())
  extra <- match.call(expand.dots = FALSE)$...
  if (missing(formula) && "x" %in% names(extra)) {
    formula <- list(...)$x
    extra$x <- NULL
    names(call)[names(call) == "x"] <- "formula"
  }
  check_foreign_arguments(extra, call, data)
  check_no_dots(extra, setdiff(names(formals(galvi.formula)), "..."), "galvi()")
  frame <- environment()
  formula <- with_passed_on(formula, data, match.call(), frame)
  fit_formula(
    call, formula, data, family_argument(formula, frame), method = method,
    expectation = expectation, hyper = hyper, start = start,
    prior = typed_argument("prior", typed_prior_words(), frame), control = control, verbose = verbose,
    na.action = if (missing(na.action)) default_na_action() else na.action, sample_prior = sample_prior
  )
}

#' @rdname galvi
#' @export
galvi.data.frame <- function(x, y, family = gaussian(), method = "auto", expectation = "auto",
                             hyper = "optimise", start = NULL, prior = NULL, weights, offset, subset,
                             na.action, control = galvi_control(),
                             verbose = getOption("galvi.progress", interactive()), kernel = se(),
                             inducing = NULL, intercept = TRUE, sample_prior = c("no", "only"), ...) {
  call <- written_call(match.call(), environment())
  extra <- match.call(expand.dots = FALSE)$...
  given <- if ("formula" %in% names(extra)) list(...)$formula
  formula <- if (!missing(y) && is_formulas(y)) y else given
  if (is.null(formula)) {
    known <- c(setdiff(names(formals(galvi.data.frame)), "..."), "formula", "data")
    check_foreign_arguments(extra, call, x)
    check_no_dots(extra, known, "galvi()")
    check_inputs(missing(x), missing(y))
    if (is.character(x)) {
      stop_galvi("data", sprintf("`x` must be numbers or a data frame, not %s.", describe(x)))
    }
    x <- as.data.frame(x)
    frame <- environment()
    formula <- columns_formula(
      x, y, typed_argument("kernel", galvi_words(), frame), inducing, intercept, parent.frame()
    )
  } else {
    if (missing(x)) x <- list(...)$data
    call <- formula_call(call)
    known <- setdiff(names(formals(galvi.formula)), "...")
    unknown <- as.list(call)[-1L][!names(call)[-1L] %in% known]
    check_foreign_arguments(unknown, call, x)
    check_no_dots(unknown, known, "galvi() with a formula")
  }
  frame <- environment()
  formula <- with_passed_on(formula, x, match.call(), frame)
  fit_formula(
    call, formula, x, family_argument(formula, frame), method = method,
    expectation = expectation, hyper = hyper, start = start,
    prior = typed_argument("prior", typed_prior_words(), frame), control = control, verbose = verbose,
    na.action = if (missing(na.action)) default_na_action() else na.action, sample_prior = sample_prior
  )
}

#' @rdname galvi
#' @export
galvi.matrix <- galvi.data.frame

#' @rdname galvi
#' @export
galvi.default <- function(x, ...) {
  # another argument is first, as in galvi(family = binomial(), formula = y ~ gp(x))
  if ("formula" %in% ...names() && missing(x)) return(galvi.formula(...))
  if (missing(x)) stop_galvi("argument", "galvi() needs a formula, as in galvi(y ~ gp(x), data = d).")
  # of lm() and glm() it keeps the model matrix
  if (isTRUE(x) || isFALSE(x)) {
    stop_galvi("argument", sprintf(paste(
      "`x = %s` is not needed: model.matrix(fit) is the model matrix. Here `x` are the inputs, or the formula."
    ), x))
  }
  stop_galvi("argument", sprintf(
    "The first argument of galvi() must be a formula, a data frame or a matrix, not %s.%s", describe(x),
    if (is.character(x) && length(x) == 1L && grepl("~", x)) " Write the formula without quotes." else ""
  ))
}

# ---- what the methods share ----

check_sample_prior <- function(x) {
  if (identical(x, c("no", "only"))) return("no")
  if (identical(x, "yes")) {
    stop_galvi("argument", paste(
      "`sample_prior = \"yes\"` is brms' way to prior densities, which hypothesis() has without: leave it out."
    ))
  }
  check_choice(x, c("no", "only"), "sample_prior")
}

default_na_action <- function() getOption("na.action", "na.omit")

# match.call() writes ..1 for arguments passed through another function's `...`; this restores the expressions, which
# weights, offset and subset need.
written_call <- function(call, frame) {
  for (name in setdiff(names(call), "")) {
    if (is.symbol(call[[name]]) && grepl("^[.][.][0-9]+$", as.character(call[[name]]))) {
      call[[name]] <- written_argument(name, frame)
    }
  }
  call
}

# The expression of an argument, also where `...` has passed it on; frame: the function's environment.
written_argument <- function(name, frame) eval(call("substitute", as.name(name)), frame)

# weights, offset and subset are expressions of columns and of variables around the formula. Where another function's
# `...` has passed one on, its variables are those of the place where it was typed: with them around the formula.
with_passed_on <- function(formula, data, call, frame) {
  names <- Filter(function(name) is_passed_on(call[[name]]), intersect(names(call), c("weights", "offset", "subset")))
  variables <- list()
  for (name in names) {
    env <- typed_in(name, frame_number(frame))
    used <- if (!is.null(env)) setdiff(all.vars(written_argument(name, frame)), names(data))
    variables <- c(variables, mget(Filter(function(x) exists(x, env), used), env, inherits = TRUE))
  }
  around <- function(f) {
    if (!inherits(f, "formula")) return(f)
    for (name in intersect(names(variables), all.vars(f))) {
      if (identical(get0(name, environment(f)), variables[[name]])) next
      stop_galvi("argument", sprintf(
        "`%s` is one variable in %s and another in the formula: give one of them another name.", name, quote_names(names)
      ))
    }
    environment(f) <- list2env(variables, parent = environment(f))
    f
  }
  if (!length(variables)) return(formula)
  if (!is.list(formula)) return(around(formula))
  formula[] <- lapply(formula, around)
  formula
}

# The call d |> galvi(y ~ gp(x)) as if the formula were the first argument.
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
  if (!ncol(x)) stop_galvi("data", "`x` has no columns: it is the matrix or data frame of the inputs.")
  name <- utils::tail(make.unique(c(names(x), "y")), 1L)
  kernel <- check_evaluates(kernel, "kernel", "kernel", kernel_words())
  check_kernel_word(kernel)
  values <- stats::setNames(list(y, kernel, inducing), c(name, "kernel", "inducing"))
  term <- quote(gp(., kernel = kernel))
  if (!is.null(inducing)) term$inducing <- quote(inducing)
  stats::as.formula(
    call("~", as.name(name), if (intercept) term else call("+", 0, term)), list2env(values, parent = env)
  )
}

# Formula and data -> fit, by the steps of ?modular. `call` is stored in the fit and has the expressions of weights,
# offset and subset.
fit_formula <- function(call, formula, data, family, method, expectation, hyper, start, prior, control,
                        verbose, na.action, sample_prior = "no") {
  sample_prior <- check_sample_prior(sample_prior)
  call <- without_kept_prior(without_continued(call))
  call[[1L]] <- quote(galvi)
  check_foreign_method(method, call, data)
  check_variance_function(call)
  check_method(method)
  check_expectation(expectation)
  control <- as_control(check_evaluates(control, "control", hint = function(name) {
    "Settings are those of galvi_control(), as in control = galvi_control(threads = 2)."
  }))
  # evaluated once: R warns where it evaluates an argument again that failed before
  given <- check_evaluates(data, "data", "data")
  sets <- imputed_sets(given)
  if (!is.null(sets)) {
    # a start near the end of learning must not be taken for its end
    control$hyper_tol <- min(control$hyper_tol, 1e-9)
    return(fit_to_sets(call, given, sets, start, hyper, function(data, call, start) {
      fit_formula(call, formula, data, family, method, expectation, hyper, start, prior, control, verbose, na.action,
        sample_prior)
    }))
  }
  args <- as.list(call)[c("weights", "offset", "subset")]
  design <- with_call_rewritten(
    read_design(formula, data, family, args, na.action, control$chunk_rows), call, formula
  )
  design$proper <- sample_prior == "only"
  if (is.null(call[["family"]])) say_times_are_normal(design)
  model <- galvi_model(design, prior, start, expectation, hyper, control)
  kept <- model$kept_prior
  if (!is.null(kept)) call$prior <- prior_expression(call$prior, kept$paths, kept$value)
  if (sample_prior == "only") return(galvi_fit(model, prior_posterior(model), call))
  last_fit$standing <- NULL
  done <- FALSE
  # an interrupt, a time limit or an error of a function of the user's leaves what the core had found
  on.exit(if (!done && !is.null(last_fit$standing)) {
    standing <- last_fit$standing
    last_fit$value <- function() suppressWarnings(galvi_fit(model, interrupted_posterior(model, standing), call))
  })
  posterior <- tryCatch(
    galvi_infer(model, method, start, verbose),
    galvi_error_unfinished = function(e) {
      done <<- TRUE
      e$fit <- last_fit$value <- suppressWarnings(galvi_fit(model, e$posterior, call))
      e$message <- paste0(sub("[.]?$", ".", e$message), " The fit so far is galvi_last().")
      stop(e)
    }
  )
  done <- TRUE
  fit <- galvi_fit(model, posterior, call)
  if (isTRUE(fit$stopped)) last_fit$value <- fit
  fit
}

# Functions of galvi that are typed inside an argument are those of galvi, whichever packages are attached, and also when
# galvi is not.

#' The value of an argument of a function that users call
#'
#' Where its expression calls none of `words` this is the argument as R evaluates it. Else calls of these words are
#' calls of ours, evaluated where the argument was typed.
#'
#' @param name The argument; frame: the function's environment.
#' @noRd
typed_argument <- function(name, words, frame) {
  expr <- written_argument(name, frame)
  env <- if (any(all.names(expr) %in% c(words, foreign_priors))) typed_in(name, frame_number(frame))
  if (name == "prior" && !is.null(env)) check_prior_calls(expr, env)
  if (is.null(env)) return(get(name, envir = frame))
  eval(with_own_words(expr, words, env), env)
}

#' The argument `family`, or the family that the formula brings along
#' @param frame The environment of the function that users call.
#' @noRd
family_argument <- function(formula, frame) {
  brought <- family_of_formula(formula)
  if (!is.null(brought) && eval(quote(missing(family)), frame)) return(brought)
  given <- typed_argument("family", typed_family_words(), frame)
  if (is.null(brought) || same_families(given, brought)) return(given)
  stop_galvi("family", paste(
    "The formula and the argument `family` have different families: leave one of them out."
  ))
}

# Times without a family, for which survreg() and others have another one. For y | cens(c) brms has this one, too, and y
# need not be a time.
say_times_are_normal <- function(design) {
  response <- stats::model.response(design$data)
  if (design$family$family != "gaussian" || !inherits(response, "Surv")) return(invisible())
  if (!is.null(attr(design$parts$formula, "said")$words$cens)) return(invisible())
  times <- unclass(response)[, colnames(response) != "status"]
  if (any(times < 0, na.rm = TRUE)) return(invisible())
  inform_galvi("family", sprintf(paste(
    "`family` is not given, so that `%s` is normal, and predicted times may be negative. Families of times are",
    "weibull(), the default of survreg(), lognormal() and others (?\"survival-families\"), and cox()."
  ), names(design$data)[1L]))
}

# One family stands for a list of equal ones.
same_families <- function(a, b) {
  known <- function(x) {
    families <- if (is.list(x) && !is.object(x)) x else list(x)
    unique(unname(lapply(families, function(family) unclass(as_galvi_family(family)))))
  }
  isTRUE(all.equal(known(a), known(b)))
}

frame_number <- function(env) {
  at <- which(vapply(sys.frames(), identical, NA, env))
  if (length(at)) at[length(at)] else 0L
}

# Where the argument of frame n was typed: the frame of the call, or further out if `...` has passed it on. NULL where it
# was not typed but left to its default, or passed on in a way that leaves no trace.
typed_in <- function(name, n) {
  if (n == 0L) return(NULL)
  parent <- sys.parents()[n]
  written <- match.call(sys.function(n), sys.call(n), envir = frame_at(parent))[[name]]
  while (is_passed_on(written) && parent > 0L) {
    n <- parent
    parent <- sys.parents()[n]
    dots <- match.call(sys.function(n), sys.call(n), expand.dots = FALSE, envir = frame_at(parent))$...
    k <- as.integer(substring(as.character(written), 3L))
    written <- if (k <= length(dots)) dots[[k]]
  }
  if (is.null(written) || is_passed_on(written)) NULL else frame_at(parent)
}

frame_at <- function(n) if (n > 0L) sys.frame(n) else globalenv()

is_passed_on <- function(expr) is.symbol(expr) && grepl("^[.][.][0-9]+$", as.character(expr))

typed_prior_words <- function() c(prior_names(), "fixed", "learn")
