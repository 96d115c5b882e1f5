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
#' lengthscale.
#'
#' **Long series.** A process of one number, date or time whose kernel is [matern12()], [matern32()], [matern52()],
#' [cosine()], [constant()] or a sum or product of these is a Markov process: time and memory grow as the number of
#' rows, for every likelihood and method, and the model is the same to rounding error. So a million rows take about
#' half a minute. `fit$solver` is `"markov"` then. It holds alone, beside fixed effects, beside random effects and
#' fields of up to 300 levels or nodes, with `by`, and for several such terms of the same input; beside processes of other
#' inputs, or with many states for few rows, the process is a full one.
#'
#' **Several terms** add up. If one term is a full `gp()` and not a Markov process, the sum of the covariances of all
#' terms is a dense matrix of N x N for N observations. A `gp()` whose kernel consists of [linear()] and [constant()]
#' only is a finite set of columns and never N x N, with or without `inducing`.
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
#' @param ... Inputs, without names: columns, expressions in columns, or `.`. Numbers, logicals, dates, factors and text
#'   are accepted.
#' @param kernel The covariance function, see [kernels]; [se()], the squared exponential, by default. A number in it is
#'   a starting value, [fixed()] fixes a parameter, and a prior makes the estimate a posterior mode. Parameters that are
#'   not given start at values from the data: lengthscales at the median distance between rows or a fraction of it,
#'   variances at the variance of the response if the link is the identity and at 1 otherwise.
#' @param by A numeric variable that multiplies the function (a varying coefficient), or a factor: each level then has a
#'   function of its own, independent of those of the other levels, with hyperparameters as `by_hyper` says.
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
#'   functions that a number `by` multiplies, kernels with a [constant()] part, and any process with `neighbours`. FALSE
#'   is the process itself, whose level competes with the intercept.
#' @param neighbours NULL (the default), or how many nearest places each place is given, such as 20, for many places of
#'   two or more inputs. With `inducing` beside it the nodes are fewer than the places: so many places spread evenly over
#'   all, or those that `inducing` gives. Each row is then given its nearest nodes, and the evidence is a bound, as with
#'   inducing points; nodes are not moved. Give `neighbours` to every `gp()` of a formula or to none.
#' @return No value. `gp()` is only valid inside a formula.
#' @section Errors:
#' `galvi_error_formula` if `gp()` is called outside a formula, has no inputs, or if only some of several `gp()` have
#' `inducing` or `neighbours`; `galvi_error_kernel` if `kernel` is not a kernel; `galvi_error_argument` for other
#' arguments that are not as described; `galvi_error_data` for inputs of a wrong type or not finite;
#' `galvi_error_method` if `approximation = "fitc"` is combined with a method that cannot average the likelihood;
#' `galvi_error_size` if the full process, or the sparse factor of one with `neighbours`, needs more memory than there
#' is, or hours for each step; `galvi_error_newdata` if a factor in `newdata` has a new level.
#'
#' `galvi_message_by` names `by_hyper = "shared"` where a factor `by` has more than 20 levels. `galvi_message_scale`
#' suggests `scale` or `ard` where the standard deviations of inputs that share a lengthscale
#' differ by a factor of 100 or more; `galvi_message_inducing` reports that there are fewer distinct inputs than
#' inducing points.
#' @references
#' Rasmussen, C. E. and Williams, C. K. I. (2006). *Gaussian Processes for Machine Learning*. MIT Press.
#'
#' Titsias, M. K. (2009). Variational learning of inducing variables in sparse Gaussian processes. *International
#' Conference on Artificial Intelligence and Statistics*, PMLR 5, 567-574.
#'
#' Datta, A., Banerjee, S., Finley, A. O. and Gelfand, A. E. (2016). Hierarchical nearest-neighbor Gaussian process models
#' for large geostatistical datasets. *Journal of the American Statistical Association* 111, 800-812.
#'
#' Vecchia, A. V. (1988). Estimation and model identification for continuous spatial processes. *Journal of the Royal
#' Statistical Society B* 50, 297-312.
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
#' # sparse: eight inducing points
#' sparse <- galvi(dist ~ gp(speed, inducing = 8), data = cars)
#' predict(sparse, data.frame(speed = c(10, 20)), interval = "credible")
#'
#' # each place is given its ten nearest neighbours
#' near <- galvi(mag ~ gp(long, lat, kernel = matern32(), neighbours = 10), data = quakes[1:200, ])
#' predict(near, data.frame(long = 180, lat = -20), interval = "credible")
#' @export
gp <- function(..., kernel = se(), by = NULL, by_hyper = c("each", "shared"), inducing = NULL, scale = FALSE,
               approximation = c("variational", "fitc"), center = TRUE, neighbours = NULL) {
  stop_galvi("formula", "gp() is a term: use it in a formula, as in galvi(y ~ gp(x), data = d).")
}

# Adds inputs, by, variables: expressions for the model frame; kernel, kernel_call, scale.
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
  if (!length(inputs)) {
    stop_galvi("formula", sprintf("`%s` has no inputs: write gp(x) or gp(.).", deparse_one(call)))
  }
  by <- options[["by"]]
  by_hyper <- gp_by_hyper(options, env, call)
  kernel <- gp_kernel(options$kernel, env)
  # a finite kernel is a set of columns and needs no inducing points
  inducing <- if (!is.null(options$inducing)) check_inducing(gp_option(options, "inducing", env))
  neighbours <- if (!is.null(options$neighbours)) check_neighbours(gp_option(options, "neighbours", env))
  if (is_finite_kernel(kernel)) inducing <- NULL
  check_neighbour_options(complete_spec(spec, list(
    inputs = inputs, by = by, by_hyper = by_hyper, variables = c(inputs, by), kernel = kernel,
    kernel_call = options$kernel, inducing = inducing,
    approximation = gp_approximation(options, inducing, env),
    scale = if (is.null(options$scale)) FALSE else check_flag(gp_option(options, "scale", env), "scale"),
    center = gp_center(options, kernel, env, call), neighbours = neighbours
  )), call)
}

# "each" is meant for factors; typed beside a number it is refused by design_term(), which knows what `by` is.
gp_by_hyper <- function(options, env, call) {
  if (is.null(options$by_hyper)) return(NULL)
  choice <- check_choice(gp_option(options, "by_hyper", env), c("each", "shared"), "by_hyper")
  if (choice == "each" && is.null(options[["by"]])) stop_each(deparse_one(call))
  choice
}

check_gp_input <- function(input, call) {
  head <- head_name(input)
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
    sprintf("Kernels are %s.", quote_names(kernel_words(), max = 20L))
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
  block <- input_block(spec, frame)
  spec$variable <- block$variable
  spec$input_names <- block$names
  spec$moments <- input_moments(spec, block$matrix, context$weights)
  inputs <- list(
    matrix = apply_moments(block$matrix, spec$moments), variable = block$variable, names = block$names,
    weights = context$weights
  )
  own <- spec$kernel$per_class && length(context$latents)
  owners <- if (own) sprintf("%s[%s]", spec$label, context$latents) else spec$label
  by <- by_rows(spec, frame)
  copies <- gp_copies(spec, inputs, by$group)
  # one for each owner, with one for each copy
  for_copies <- function(make) {
    lapply(owners, function(owner) {
      lapply(copies, function(copy) {
        make(copy$inputs, context$registry$for_term(spec$label, paste0(owner, copy$suffix)))
      })
    })
  }
  if (is_finite_kernel(spec$kernel)) {
    finite <- for_copies(function(inputs, register) {
      finite_columns(spec$kernel, inputs, register, context$default_variance)
    })
    # the copies differ only in their hyperparameters
    spec$finite <- finite[[1L]][[1L]]
    rows <- finite_rows(spec, inputs$matrix, frame)
    terms <- lapply(finite, function(one) list(
      type = "columns", label = spec$label, mean = numeric(ncol(rows$W)), factors = finite_factors(one, spec)
    ))
  } else {
    kernels <- for_copies(function(inputs, register) {
      kernel_spec(spec$kernel, inputs, register, context$default_variance)
    })
    rows <- c(list(inputs = inputs$matrix), by)
    spec$center <- centres(spec, rows, context)
    centre <- if (spec$center) list(centre = centre_rows(spec, rows, context$weights, context))
    terms <- lapply(kernels, function(own) c(
      list(
        type = if (is_chain(spec, inputs$matrix)) "chain" else "kernel", label = spec$label,
        input_count = ncol(inputs$matrix)
      ),
      if (length(own) == 1L) list(kernel = own[[1L]]) else list(kernels = own), centre
    ))
    if (!is.null(spec$inducing)) {
      points <- register_points(spec, starting_points(spec, inputs, context$start), inputs, context)
      terms <- lapply(terms, utils::modifyList, list(type = "inducing", inducing = points))
    }
    if (!is.null(spec$neighbours)) {
      scale <- distance_scale(kernels[[1L]][[1L]], ncol(inputs$matrix), context$registry$table()$value)
      spec$nodes <- neighbour_nodes(spec, rows, scale, context$threads)
      rows$node <- nodes_of_rows(spec, rows, fitted = TRUE)
      terms <- lapply(terms, utils::modifyList, list(type = "neighbours", neighbours = spec$nodes))
    }
    if (!spec$scale) inform_scales(spec, kernels[[1L]][[1L]], block$matrix)
  }
  list(spec = spec, rows = rows, term = terms[[1L]], per_class = if (own) terms)
}

# A kernel's states (StateSpace::most_dimensions), and those of all processes that make one chain.
most_states <- 16
most_states_together <- 64

# Nodes of fields beside them, such as the levels of a grouping factor: each is a column.
most_nodes_beside <- 300

#' Is a process Markov over a single input, so that its states are enough?
#' @noRd
is_chain <- function(spec, x) ncol(x) == 1L && state_dimension(spec$kernel) %in% seq_len(most_states)

#' Processes as chains where one solver takes them together, else as full ones
#'
#' All need the same input, and states that are few for the number of rows: where groups differ, each group's process is
#' a part of one state.
#' @param built From design_term(), of all terms.
#' @noRd
settle_chains <- function(built) {
  chains <- vapply(built, function(b) fact("term", b$term$type, "chain"), NA)
  if (!any(chains)) return(built)
  of <- built[chains]
  same <- function(part) all(vapply(of, function(b) identical(b$rows[[part]], of[[1L]]$rows[[part]]), NA))
  states <- sum(vapply(of, function(b) {
    levels <- if (same("group")) 1L else max(1L, length(b$spec$by_levels))
    state_dimension(b$spec$kernel) * levels
  }, 1))
  nodes <- sum(vapply(built, function(b) {
    if (!fact("term", b$term$type, "fields")) return(0)
    if (is.null(b$term$field)) Inf else b$term$field$precision[[1L]]$rows
  }, 1))
  # a row costs as the square of the states, or as the square of the rows (bench/long-series.R); up to three states have
  # code of their own
  cheaper <- states <= 3 ||
    states <= most_states_together && NROW(of[[1L]]$rows$inputs) >= max(200, 14 * states)
  if (same("inputs") && cheaper && nodes <= most_nodes_beside) return(built)
  built[chains] <- lapply(of, function(b) {
    b$term$type <- "kernel"
    b$per_class <- lapply(b$per_class, replace, "type", "kernel")
    b
  })
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
