# The term gp(): a Gaussian process over columns of the model frame.

#' Gaussian process terms in formulas
#'
#' `gp(x1, x2)` in a formula of [galvi()] adds a smooth function of its inputs with a Gaussian process prior: mean zero
#' and the covariance function `kernel`. Use it for nonlinear regression, kriging and classification, as `s()` is used
#' in mgcv.
#'
#' @details
#' **The prior** is f ~ GP(0, k), with the covariance function k given by `kernel` (see [kernels]). Lengthscales and
#' variances are hyperparameters, learned by maximising the marginal likelihood or its lower bound.
#'
#' Beside an intercept the function is f less its mean over the rows, so that the covariance matrix of N rows is H K H
#' with H = I - 1 1'/N (see `center`). Predictions are those of `center = FALSE` but for the prior of the level.
#'
#' **Inputs.** `gp(.)` means every column of `data` that is not used elsewhere in the formula or in `weights`, `offset`
#' or `subset`. Inputs may be expressions, as in `gp(log(x), scale(z))`; what they learn from the data, such as the mean
#' in `scale()`, is kept for predictions. A matrix counts as one variable per column. A factor, or text, becomes
#' indicator columns divided by sqrt(2), so that two levels are at distance 1; it counts as one variable and has one
#' lengthscale. [sphere()] makes inputs of longitudes and latitudes. Text whose values are all numbers, dates or times is taken so too, with a message of class
#' `galvi_message_text` that names the conversion.
#'
#' **Long series.** A process of one number, date or time whose kernel is [matern12()], [matern32()], [matern52()],
#' [integrated_wiener()], [cosine()], [constant()], [periodic()] or a sum or product of these is a Markov process: time
#' and memory grow as the number of rows, for every likelihood and method, and the model is the same to rounding error.
#' So a million rows take about half a minute. `fit$solver` is `"markov"` then. It holds alone, beside fixed effects,
#' beside random effects and fields of up to 300 levels or nodes, with `by`, and for several such terms of the same
#' input. Products with [periodic()] have dozens of states: they are chains from about 600 rows on. Beside processes of
#' other inputs, larger fields, or with many states for few rows, the process is a full one for up to 1,000 rows. For more rows it is represented by its
#' states at knots, as in space and time below, and not centred; the fit says so, with what this costs the bound.
#' `center = TRUE` keeps the full process.
#'
#' **Several outputs.** `gp(t, by = g, share = R)` is the linear model of coregionalisation (Journel and Huijbregts, 1978;
#' Alvarez, Rosasco and Lawrence, 2012), a multi-output Gaussian process: the function of level j of the factor `g` is
#' `f_j(t) = a_j1 u_1(t) + ... + a_jR u_R(t)`, where the levels share R independent processes u_r of variance 1, and the
#' loadings a_jr are learned. So what is observed of one output tells of the others: a stretch in which one is missing is
#' filled in by those that were observed. Data are in long form, a row for each value of an output; outputs need not be
#' observed at the same inputs. The covariance of f_j(x) and f_k(z) is the sum over r of `a_jr a_kr k_r(x, z)`.
#' * Each process has a lengthscale of its own, named `gp(t, by = g, share = 2)[1].lengthscale`. With `by_hyper =
#'   "shared"` all have the same, which is the intrinsic coregionalisation model (ICM). Variances in the kernel are not
#'   learned: the loadings have the scale. In a sum of kernels that is so of the first part's.
#' * Loadings are hyperparameters such as `gp(t, by = g, share = 2).loading[a,1]` for level a and process 1, in
#'   `fit$hyper` with limits of intervals. Learning starts where the levels' means over cells of the inputs vary together.
#'   A prior is typed as in `prior = list("gp(t, by = g, share = 2)" = list(loading = normal(0, 1)))`. The sign of a
#'   process is arbitrary, and processes with the same kernel may be rotated: the loadings above the diagonal are then
#'   fixed at zero, which leaves the model as it is.
#' * [`loadings(fit)`][galvi-factors] is the matrix of levels x processes, along its principal axes where processes have
#'   the same kernel. What no rotation changes are the functions' covariances at equal inputs: they are its attributes
#'   `covariance`, `stddev` and `correlation`, and `summary()` shows them.
#' * The functions are not centred, as each is a sum of processes that numbers multiply. Outputs' levels are fixed
#'   effects: `y ~ g + gp(t, by = g, share = 2)`.
#' * `gp(t, by = g, share = 2) + gp(t, by = g)` adds what an output has of its own.
#'
#' A series with a Markov kernel has states as above, R times as many. Otherwise covariances are full, or there are
#' `inducing` points, which all processes share; `neighbours` is not possible.
#'
#' **Several terms** add up. If one term is a full `gp()` and not a Markov process, the sum of the covariances of all
#' terms is a dense matrix of N x N for N observations. A `gp()` whose kernel consists of [linear()] and [constant()]
#' only is a finite set of columns and never N x N, with or without `inducing`. So is one of a single number whose kernel
#' is [periodic()] or [cosine()], or a sum of these: sines and cosines, see [kernels].
#'
#' **Sparse Gaussian processes.** With `inducing`, the process is represented by its values at M inducing points
#' (Titsias, 2009). One pass over the data costs N M^2, and no N x M matrix is stored. Give `inducing` to every `gp()`
#' of a formula or to none. [galvi_methods()] shows how to call the sparse methods of the literature.
#'
#' **Nearest neighbours.** With `neighbours = m` each place is given its m nearest neighbours among the places before it
#' (Vecchia, 1988; Datta et al., 2016), in an order from coarse to fine. This is a process of its own, near that of the
#' kernel: its precision is sparse, so that 10,000 places in the plane take seconds and 100,000 minutes, with any kernel
#' and family, beside fixed effects, `(1 | g)` and other fields. Bounds and certificates hold for this process; compare
#' its evidence only with fits of the same places and `neighbours`. 10 to 30 neighbours are usual: more for smoother
#' kernels and more inputs. With all places as neighbours it is the full process. Equal places are one, however many
#' rows they have. At new places, too, the function is given the m nearest of the fitted ones, and given these it is
#' independent from one new place to another. Where a kernel has a lengthscale for each input, distances are in units of
#' the lengthscales. The process is not centred: see `center`.
#'
#' **Space and time.** `gp(x, y, inducing = 50, time = t)` is a process whose covariance is the product of one in space
#' and one in time. In space it is represented by inducing points; each has a Markov process in time, represented by its
#' states at knots (Hartikainen and Sarkka, 2010). So it takes any family, missing cells, places that move, and other
#' terms beside it, and costs as K (M d)^3 + N M^2 for N rows, K knots, M points and d states of the kernel in time. A
#' thousand places at a thousand times are a million rows, which take minutes. `kernel` is the one in space. In time it
#' is [matern12()] with its own lengthscale, called `gp(x, y, time = t).time.lengthscale`, and variance 1. For another,
#' multiply the kernel by one of the time, as in `kernel = se() * matern32(columns = "t")`: any kernel of long series
#' (see above).
#'
#' All times are knots where they are at most 2,000 and, for smooth kernels, not much closer than the lengthscale;
#' otherwise knots are evenly spaced, by a fraction of the lengthscale where learning starts. Knots and points in space
#' stay while hyperparameters are learned. The evidence is a bound, as with inducing points. Rows between knots have 2 M d
#' weights each, rows at knots M d or fewer: so with a million rows prefer [matern12()], or round the times. Predictions
#' at later times are forecasts, which return to the prior; given points and knots, rows are independent of each other.
#' The process is not centred: see `center`.
#'
#' @param ... Inputs, without names: columns, expressions in columns, or `.`. Numbers, logicals, dates, factors and text
#'   are accepted.
#' @param kernel The covariance function, see [kernels]; [se()], the squared exponential, by default. A number in it is
#'   a starting value, [fixed()] fixes a parameter, and a prior makes the estimate a posterior mode. Parameters that are
#'   not given start at values from the data: lengthscales at the median distance between rows or a fraction of it,
#'   variances at the variance of the response if the link is the identity and at 1 otherwise.
#' @param by A numeric variable that multiplies the function (a varying coefficient), or a factor: each level then has a
#'   function of its own, independent of those of the other levels, with hyperparameters as `by_hyper` says. A
#'   logical is the numbers 0 and 1, so that rows with FALSE have no function; `factor(by)` has one for each.
#' @param by_hyper For a factor `by`: `"each"` (the default, as in mgcv and brms) for lengthscales and variances of its
#'   own for each level, with names such as `gp(x, by = f)[a].lengthscale` for level a, or `"shared"` for one set for
#'   all levels, which is worth more where levels have few rows. A value or prior given in `kernel` applies to all
#'   levels.
#' @param inducing NULL (the default) for the full Gaussian process. For a sparse one, the number M of inducing points,
#'   which start at cluster centres of the inputs ([stats::kmeans()]), or the points themselves: a matrix or data frame
#'   with a column per input, in the units of the inputs (of log(x) for an input `log(x)`). The points are learned
#'   together with the hyperparameters (see `move_inducing` in [galvi_control()]) and returned in `fit$inducing`. With
#'   many rows, learning starts on a part of them. With a factor `by`, all levels share the points.
#' @param scale If TRUE, inputs are centred and scaled to a common standard deviation, the geometric mean of their
#'   standard deviations, before distances are computed; lengthscales refer to the scaled inputs. If all kernels have
#'   `ard = TRUE`, inputs are centred but not scaled. Factors are not changed. FALSE by default.
#' @param approximation For sparse Gaussian processes. `"variational"` (the default) bounds the log marginal likelihood
#'   of the full process from below. `"fitc"`, the fully independent training conditional, changes the model: the
#'   likelihood of each row is averaged over the variance that the inducing points leave unexplained. It needs `method =
#'   "ep"` or `"laplace"`.
#' @param center Has the function mean zero over the rows? TRUE is the default beside an intercept, fixed effects that
#'   contain one (`0 + g`) or free thresholds: the intercept is then the average level, as in mgcv, and each level of a
#'   factor `by` has a function of mean zero over its own rows, so that `f + gp(x, by = f)` has the levels' means as
#'   fixed effects. Not centred by default are functions without an intercept (`0 + gp(x)`, the form of the literature),
#'   functions that a number `by` multiplies, kernels with a [constant()] part, and any process with `neighbours` or
#'   `time`. FALSE is the process itself, whose level competes with the intercept.
#' @param neighbours NULL (the default), or how many nearest places each place is given, such as 20, for many places of
#'   two or more inputs. With `inducing` beside it the nodes are fewer than the places: so many places spread evenly over
#'   all, or those that `inducing` gives. Each row is then given its nearest nodes, and the evidence is a bound, as with
#'   inducing points; nodes are not moved. Give `neighbours` to every `gp()` of a formula or to none.
#' @param time NULL (the default), or the time for a process in space and time: one column of numbers, dates or times, or
#'   an expression in one. The inputs are then those in space. `inducing` is 50 where it is not given.
#' @param share NULL (the default) for functions that are independent between levels of a factor `by`; else how many
#'   processes the levels share, at most as many as there are levels, see Several outputs. A matrix, levels x processes,
#'   gives starting values of the loadings, and [fixed()] of one fixes them; its rows are matched by name if it has row
#'   names.
#' @return No value. `gp()` is only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if `gp()` is called outside a formula, has no inputs, or if only some of several `gp()` have
#' `inducing` or `neighbours`; `galvi_error_kernel` if `kernel` is not a kernel; `galvi_error_argument` for other
#' arguments that are not as described; `galvi_error_data` for inputs or a `time` of a wrong type or not finite, for a kernel
#' whose inputs all have one value, and for levels without rows that share processes;
#' `galvi_error_method` if `approximation = "fitc"` is combined with a method that cannot average the likelihood;
#' `galvi_error_size` if the full process, or the sparse factor of one with `neighbours`, needs more memory than there
#' is, or hours for each step; `galvi_error_newdata` if a factor in `newdata` has a new level.
#'
#' `galvi_message_by` names `by_hyper = "shared"` where a factor `by` has more than 20 levels. `galvi_message_scale`
#' suggests `scale` or `ard` where the standard deviations of inputs that share a lengthscale
#' differ by a factor of 100 or more; `galvi_message_inducing` reports that there are fewer distinct inputs than
#' inducing points; `galvi_message_knots` says that processes of several inputs are at knots; `galvi_message_text` that
#' text is taken as levels although it looks like numbers or dates; `galvi_message_slope` that [integrated_wiener()] has
#' no slope beside it; `galvi_message_harmonics` that a periodic function has more harmonics than are kept.
#' @references
#' Rasmussen, C. E. and Williams, C. K. I. (2006). *Gaussian Processes for Machine Learning*. MIT Press.
#'
#' Titsias, M. K. (2009). Variational learning of inducing variables in sparse Gaussian processes. *International
#' Conference on Artificial Intelligence and Statistics*, PMLR 5, 567-574.
#'
#' Datta, A., Banerjee, S., Finley, A. O. and Gelfand, A. E. (2016). Hierarchical nearest-neighbor Gaussian process models
#' for large geostatistical datasets. *Journal of the American Statistical Association* 111, 800-812.
#'
#' Journel, A. G. and Huijbregts, C. J. (1978). *Mining Geostatistics*. Academic Press.
#'
#' Alvarez, M. A., Rosasco, L. and Lawrence, N. D. (2012). Kernels for vector-valued functions: a review. *Foundations and
#' Trends in Machine Learning* 4, 195-266.
#'
#' Vecchia, A. V. (1988). Estimation and model identification for continuous spatial processes. *Journal of the Royal
#' Statistical Society B* 50, 297-312.
#'
#' Hartikainen, J. and Sarkka, S. (2010). Kalman filtering and smoothing solutions to temporal Gaussian process regression
#' models. *IEEE International Workshop on Machine Learning for Signal Processing*, 379-384.
#'
#' Snelson, E. and Ghahramani, Z. (2006). Sparse Gaussian processes using pseudo-inputs. *Advances in Neural Information
#' Processing Systems* 18, 1257-1264.
#' @seealso [kernels] for covariance functions, [plot.galvi()] to draw the function.
#' @family terms
#' @examples
#' # one lengthscale per input (automatic relevance determination)
#' fit <- galvi(mpg ~ gp(wt, hp, kernel = matern32(ard = TRUE)), data = mtcars)
#' fit
#' predict(fit, data.frame(wt = 3, hp = c(100, 200)), interval = "prediction")
#'
#' # a function for each level of a factor; the levels' means are fixed effects
#' galvi(len ~ supp + gp(dose, by = supp), data = ToothGrowth)
#'
#' # two outputs that share a process: the second half of one is filled in by the other
#' lungs <- data.frame(month = 1:72, sex = rep(c("men", "women"), each = 72))
#' lungs$deaths <- c(mdeaths, fdeaths)
#' part <- lungs[lungs$sex == "men" | lungs$month <= 36, ]
#' both <- galvi(log(deaths) ~ sex + gp(month, by = sex, share = 1, kernel = matern32()), data = part)
#' loadings(both)
#' predict(both, data.frame(month = 48:50, sex = "women"), interval = "credible")
#'
#' # sparse: eight inducing points
#' sparse <- galvi(dist ~ gp(speed, inducing = 8), data = cars)
#' predict(sparse, data.frame(speed = c(10, 20)), interval = "credible")
#'
#' # each place is given its ten nearest neighbours
#' near <- galvi(mag ~ gp(long, lat, kernel = matern32(), neighbours = 10), data = quakes[1:200, ])
#' predict(near, data.frame(long = 180, lat = -20), interval = "credible")
#'
#' # in space and time: a wave
#' moving <- data.frame(x = runif(120), t = rep(1:12, each = 10))
#' moving$y <- sin(6 * moving$x - moving$t / 2)
#' waves <- galvi(y ~ gp(x, inducing = 6, time = t), data = moving, hyper = "fixed")
#' predict(waves, data.frame(x = 0.5, t = c(6.5, 14)), interval = "credible")
#' @export
gp <- function(..., kernel = se(), by = NULL, by_hyper = c("each", "shared"), inducing = NULL, scale = FALSE,
               approximation = c("variational", "fitc"), center = TRUE, neighbours = NULL, time = NULL, share = NULL) {
  stop_galvi("formula", "gp() is a term: use it in a formula, as in galvi(y ~ gp(x), data = d).")
}

# Adds inputs, by, variables: expressions for the model frame; kernel, kernel_call, scale; typed_scale: is that typed?
#' @export
parse_term.gp_term <- function(spec, call, env) {
  arguments <- as.list(call)[-1L]
  given <- names(arguments)
  if (is.null(given)) given <- rep("", length(arguments))
  options <- arguments[nzchar(given)]
  known <- setdiff(names(formals(gp)), "...")
  unknown <- options[!names(options) %in% known]
  check_no_dots(unknown, known, "gp()")
  inputs <- unname(arguments[!nzchar(given)])
  lapply(inputs, check_gp_input, call)
  inputs <- lapply(inputs, own_sphere, env)
  if (!length(inputs)) {
    stop_galvi("formula", sprintf("`%s` has no inputs: write gp(x) or gp(.).", deparse_one(call)))
  }
  by <- options[["by"]]
  if (is_term_call(by)) check_outer(spec, call)
  by_hyper <- gp_by_hyper(options, env, call)
  kernel <- gp_kernel(options$kernel, env)
  # a finite kernel is a set of columns and needs no inducing points
  inducing <- if (!is.null(options$inducing)) check_inducing(gp_option(options, "inducing", env))
  neighbours <- if (!is.null(options$neighbours)) check_neighbours(gp_option(options, "neighbours", env))
  if (is_finite_kernel(kernel) && is.null(options$time)) inducing <- NULL
  share <- gp_share(options, kernel, env, call)
  spec <- complete_spec(spec, list(
    inputs = inputs, by = by, by_hyper = by_hyper, variables = c(inputs, by), kernel = kernel,
    kernel_call = options$kernel, inducing = inducing,
    approximation = gp_approximation(options, inducing, env),
    scale = if (is.null(options$scale)) FALSE else check_flag(gp_option(options, "scale", env), "scale"),
    typed_scale = !is.null(options$scale),
    center = if (is.null(share)) gp_center(options, kernel, env, call) else FALSE, neighbours = neighbours,
    share = share
  ))
  check_neighbour_options(check_time(spec, options, call), call)
}

# "each" is meant for factors; typed beside a number it is refused by design_term(), which knows what `by` is.
gp_by_hyper <- function(options, env, call) {
  if (is.null(options$by_hyper)) return(NULL)
  choice <- check_choice(gp_option(options, "by_hyper", env), c("each", "shared"), "by_hyper")
  if (choice == "each" && is.null(options[["by"]])) stop_each(deparse_one(call))
  choice
}

# gp(x, 0 + z | g, kernel = se()) -> gp(x, z, by = g, kernel = se()); NULL without a variable before the bar
gp_of_group <- function(call, input) {
  arguments <- as.list(call)[-1L]
  left <- stats::terms(stats::as.formula(call("~", input[[2L]])), allowDotAsName = TRUE)
  inputs <- as.list(attr(left, "variables"))[-1L]
  at <- which(vapply(arguments, identical, NA, input))[1L]
  arguments <- append(arguments[-at], inputs, at - 1L)
  named <- nzchar(or_else(names(arguments), character(length(arguments))))
  if (all(named)) return(NULL)
  as.call(c(call[[1L]], arguments[!named], list(by = input[[3L]]), arguments[named]))
}

check_gp_input <- function(input, call) {
  head <- head_name(input)
  if (head %in% bars) {
    group <- deparse_one(input[[3L]])
    own <- gp_of_group(call, input)
    stop_galvi("formula", sprintf("`%s`: %s; for R's `%s` itself write gp(I(%s)).", deparse_one(call),
      if (is.null(own)) sprintf("a constant for each group is (1 | %s)", group) else sprintf(
        "a function for each group is %s, with factor(%s) where groups are numbers", deparse_one(own), group
      ), head, deparse_one(input)
    ))
  }
  both <- length(input) == 3L && length(all.vars(input[[2L]])) && length(all.vars(input[[3L]]))
  if (head %in% c("+", "*", ":") && both) {
    stop_galvi("formula", sprintf(
      "`%s`: separate inputs by commas, gp(%s, %s); for the %s itself write gp(I(%s)).", deparse_one(call),
      deparse_one(input[[2L]]), deparse_one(input[[3L]]), if (head == "+") "sum" else "product",
      sub(":", "*", deparse_one(input))
    ))
  }
  if (!is.symbol(input) && !is.call(input)) {
    stop_galvi("formula", sprintf(
      "`%s`: inputs must be columns or expressions in them, not %s. Options need their names, as in %s.",
      deparse_one(call), describe(input), "gp(x, kernel = se(2))"
    ))
  }
  if (head_name(input) %in% kernel_words()) {
    stop_galvi("formula", sprintf(
      "`%s`: a kernel needs its name, as in gp(x, kernel = %s).", deparse_one(call), deparse_one(input)
    ))
  }
}

gp_option <- function(options, name, env) check_evaluates(eval(options[[name]], env), name)

gp_approximation <- function(options, inducing, env) {
  if (is.null(options$approximation)) return("variational")
  choice <- check_choice(
    gp_option(options, "approximation", env), c("variational", "fitc"), "approximation"
  )
  if (choice == "fitc" && is.null(inducing)) {
    stop_galvi("argument", "`approximation = \"fitc\"` needs inducing points: give `inducing` too.")
  }
  choice
}

# FITC averages each row's likelihood over the variance that the inducing points do not explain, which few
# methods can do.
is_fitc <- function(specs) any(vapply(specs, function(spec) identical(spec$approximation, "fitc"), NA))

check_fitc_method <- function(method, specs) {
  facts <- core_facts$inference
  able <- facts$name[facts$averaging != "none"]
  if (!is_fitc(specs) || method %in% c("auto", able)) return(invisible())
  stop_galvi("method", sprintf(paste(
    "`approximation = \"fitc\"` needs method = %s, not \"%s\", which bounds the evidence of the full",
    "Gaussian process: leave approximation = \"variational\"."
  ), paste0("\"", able, "\"", collapse = " or "), method))
}

gp_kernel <- function(expr, env) {
  if (is.null(expr)) return(se())
  kernel <- check_evaluates(eval_galvi(expr, env), "kernel", "kernel", kernel_words(), function(name) {
    names_hint(name, kernel_words(), "Kernels")
  })
  if (is.function(kernel)) kernel <- called_kernel(kernel)
  if (!is_kernel(kernel)) {
    stop_galvi("kernel", sprintf(
      "`kernel` must be a kernel such as se() or matern32() + linear(), not %s. Kernels are %s.",
      describe(kernel), quote_names(kernel_words(), max = 20L)
    ))
  }
  kernel
}

# kernel = se means se(). An R function of the inputs is not a kernel (see custom_kernel()).
called_kernel <- function(f) {
  kernel <- tryCatch(f(), galvi_error = stop, error = function(e) NULL)
  if (is_kernel(kernel)) return(kernel)
  stop_galvi("kernel", sprintf(
    "`kernel` must be a kernel such as se() or matern32() + linear(), not a function%s. Kernels are %s.",
    if (length(formals(args(f)))) paste(" of", quote_names(names(formals(args(f))))) else "",
    quote_names(kernel_words(), max = 20L)
  ))
}

# ---- design ----

# Learns from the training frame what predictions need (levels, moments), then states the term's prior.
# -> list(spec, rows, term: the border's term without its rows, hyperparameters through context$registry;
# per_class: where each latent value has its own hyperparameters, the terms of all)
#' @export
design_term.gp_term <- function(spec, frame, context) {
  spec$facts <- lapply(spec$inputs, function(input) {
    input_facts(frame[[variable_name(input)]], variable_name(input))
  })
  if (!is.null(spec$by)) spec$by_levels <- by_levels(frame[[variable_name(spec$by)]], variable_name(spec$by))
  context <- per_unit_of_by(context, spec, frame)
  check_time_values(spec)
  check_numeric_time(spec, frame)
  block <- input_block(spec, frame)
  spec$variable <- block$variable
  spec$input_names <- block$names
  spec$moments <- input_moments(spec, block$matrix, context$weights)
  inputs <- list(
    matrix = apply_moments(block$matrix, spec$moments), variable = block$variable, names = block$names,
    weights = context$weights
  )
  inputs$smallest <- smallest_inputs(list(matrix = inputs$matrix[inputs$weights > 0, , drop = FALSE]))
  own <- spec$kernel$per_class && length(context$latents)
  owners <- if (own) sprintf("%s[%s]", spec$label, context$latents) else spec$label
  # a constant in some rows of a fit, as in all but those of a fold, is a constant process there
  if (!inherits(context$start, "galvi")) check_inputs_vary(spec, inputs)
  by <- by_rows(spec, frame)
  if (!is.null(spec$share)) check_sharing(spec, by$group[context$weights > 0])
  copies <- gp_copies(spec, inputs, by$group)
  # one for each owner, with one for each copy
  for_copies <- function(make) {
    lapply(owners, function(owner) {
      lapply(copies, function(copy) {
        make(copy$inputs, context$registry$for_term(spec$label, paste0(owner, copy$suffix)))
      })
    })
  }
  built <- if (is_finite_kernel(spec$kernel) && !is_in_time(spec)) {
    finite_terms(spec, frame, inputs, for_copies, context)
  } else {
    process_terms(spec, inputs, by, for_copies, context)
  }
  if (is.null(built$spec$finite) && !spec$scale) {
    in_space <- !is_time_column(spec)
    inform_scales(spec_in_space(spec), built$kernels[[1L]][[1L]], block$matrix[, in_space, drop = FALSE])
  }
  list(spec = built$spec, rows = built$rows, term = built$terms[[1L]], per_class = if (own) built$terms)
}

# A kernel of linear() and constant() as columns.
finite_terms <- function(spec, frame, inputs, for_copies, context) {
  finite <- for_copies(function(inputs, register) {
    finite_columns(spec$kernel, inputs, register, context$default_variance)
  })
  # the copies differ only in their hyperparameters
  spec$finite <- finite[[1L]][[1L]]
  rows <- finite_rows(spec, inputs$matrix, frame)
  terms <- lapply(finite, function(one) list(
    type = "columns", label = spec$label, mean = numeric(ncol(rows$W)), factors = finite_factors(one, spec)
  ))
  list(spec = spec, rows = rows, terms = terms)
}

#' A process: first by the covariance of its rows, then as its arguments say
#' @return list(spec, rows, terms: one for each owner, kernels: of each owner and copy)
#' @noRd
process_terms <- function(spec, inputs, by, for_copies, context) {
  shares <- space_time_variances(spec)
  kernels <- for_copies(function(inputs, register) {
    # the loadings have the scale
    if (!is.null(spec$share)) return(kernel_spec(spec$kernel, inputs, register, 1, learned = FALSE))
    kernel_spec(spec$kernel, inputs_of(inputs, !is_time_column(spec)), register, shares$space(context$default_variance),
      shares$learned[["space"]])
  })
  rows <- c(list(inputs = inputs$matrix), by)
  spec$center_asked <- isTRUE(spec$center)
  spec$center <- centres(spec, rows, context)
  centre <- if (spec$center) list(centre = centre_rows(spec, rows, context$weights, context))
  terms <- lapply(kernels, function(own) c(
    list(type = "kernel", label = spec$label, input_count = ncol(inputs$matrix)),
    if (length(own) == 1L) list(kernel = own[[1L]]) else list(kernels = own), centre
  ))
  built <- list(
    spec = spec, rows = rows, terms = settle_process(terms, spec, rows, context$registry$table()), kernels = kernels
  )
  if (!is.null(spec$inducing)) built <- by_inducing_points(built, inputs, context)
  if (is_in_time(spec)) built <- by_knots_in_time(built, inputs, for_copies, context)
  if (!is.null(spec$share)) built <- by_shared_processes(built, context)
  if (!is.null(spec$neighbours)) built <- by_neighbours(built, context)
  if (needs_slope(built$spec, rows, context)) inform_no_slope(spec)
  built
}

# More levels with hyperparameters of their own than this are worth a word.
most_copies <- 20L

#' The copies of a process that have hyperparameters of their own: one, or one for each level of a factor `by`
#'
#' @param group The level of each row.
#' @return For each copy list(inputs: those of its rows; suffix of its names)
#' @noRd
gp_copies <- function(spec, inputs, group) {
  levels <- spec$by_levels
  if (is.null(levels) && identical(spec$by_hyper, "each")) stop_each(spec$label)
  # one for each process, over all rows
  if (!is.null(spec$share) && spec$share$count > 1L && !identical(spec$by_hyper, "shared")) {
    return(lapply(seq_len(spec$share$count), function(r) list(inputs = inputs, suffix = sprintf("[%d]", r))))
  }
  if (!is.null(spec$share)) return(list(list(inputs = inputs, suffix = "")))
  if (length(levels) < 2L || identical(spec$by_hyper, "shared")) {
    return(list(list(inputs = inputs, suffix = "")))
  }
  if (length(levels) > most_copies) {
    inform_galvi("by", sprintf(paste(
      "%s has hyperparameters of its own for each of the %d levels of `%s`. With by_hyper = \"shared\" in gp() all",
      "levels have the same, which are fewer to learn and known better."
    ), spec$label, length(levels), variable_name(spec$by)))
  }
  lapply(seq_along(levels), function(level) {
    at <- which(group == level & inputs$weights > 0)
    # without rows there is nothing to go by but the other levels
    if (!length(at)) at <- seq_along(group)
    inputs$matrix <- inputs$matrix[at, , drop = FALSE]
    inputs$weights <- inputs$weights[at]
    list(inputs = inputs, suffix = sprintf("[%s]", levels[level]))
  })
}

#' @export
spec_rows.gp_term <- function(spec, frame) {
  x <- apply_moments(input_block(spec, frame)$matrix, spec$moments)
  if (!is.null(spec$finite)) return(finite_rows(spec, x, frame))
  rows <- c(list(inputs = x), by_rows(spec, frame))
  if (!is.null(spec$neighbours)) rows$node <- nodes_of_rows(spec, rows)
  rows
}
