# The term gp(): a Gaussian process over columns of the model frame.

#' A Gaussian process in a formula
#'
#' `gp(x1, x2)` in a formula of [galvi()] adds a function of its inputs with a Gaussian-process prior of mean
#' zero and the covariance `kernel`. It has a meaning in formulas only.
#'
#' * `gp(.)` is every column of `data` that the formula uses nowhere else, nor `weights`, `offset` or
#'   `subset`.
#' * Inputs may be expressions: `gp(log(x), scale(z))`. What they learn from the data (the mean that `scale()`
#'   takes off) is kept for predictions. A matrix is one variable per column.
#' * A factor (or text) becomes indicator columns divided by sqrt(2), so two levels are at distance 1. It
#'   counts as one variable, with one lengthscale.
#' * Terms add. With one full `gp()` in the formula the sum of all terms' covariances is dense, N x N; a
#'   `gp()` whose kernel is made of [linear()] and [constant()] alone is a set of columns and never N x N,
#'   with `inducing` or without.
#' * With `inducing` the process is carried by its values at M points: a pass over the data costs N M^2 and
#'   no N x M matrix is held. Give it to every `gp()` of a formula or to none. [galvi_methods()] has
#'   the call of each sparse method of the literature.
#'
#' @param ... Inputs: names of columns, expressions in them, or `.`.
#' @param kernel A [kernel][kernels]; a plain number in it is where learning starts, [fixed()] holds a value.
#'   NULL values mean: lengthscale = median distance between rows, variance = var(y) on identity links
#'   (mad(y)^2 in the families student and laplace), else 1.
#' @param by A number that multiplies the function, or a factor: one copy of the function per level,
#'   independent, with shared hyperparameters.
#' @param inducing NULL for the full Gaussian process, N x N. Else a sparse one: a number of inducing points,
#'   which start at the centres of clusters of the inputs ([stats::kmeans()]), or the points themselves, a
#'   matrix or data frame with a column per input, in its units (an input `log(x)` is in units of log(x)).
#'   They move with the hyperparameters (see `move_inducing` in [galvi_control()]); the fit has them in
#'   `fit$inducing`. Of many rows a part is learned from first. With a factor `by` all levels share the
#'   points.
#' @param scale Should inputs be centred and brought to a common standard deviation before distances are
#'   taken? The common one is the geometric mean of the inputs' standard deviations, so that lengthscales stay
#'   in the data's units. Kernels with `ard = TRUE` need no such thing: where all are, inputs are centred
#'   only. Factors are left alone.
#' @param approximation Of a sparse Gaussian process: `"variational"` bounds the log evidence of the full one
#'   from below; `"fitc"`, the fully independent training conditional, averages each row's likelihood over
#'   what the points leave open there, which is another model. It goes with the methods `"ep"` and
#'   `"laplace"`.
#' @param center Should the function have mean zero over the distinct inputs of the observations? Then the
#'   formula's intercept is the level, and with a factor `by` the fixed effects of that factor are the levels' means,
#'   as in mgcv: `y ~ f + gp(x, by = f, center = TRUE)`. Without it the function's own mean, which its prior knows
#'   to within its standard deviation, competes with them. Of more than 200 distinct inputs 200 are taken,
#'   evenly from their order.
#' @return Nothing: calling it outside a formula is an error.
#' @seealso [galvi()], [kernels]
#' @examples
#' fit <- galvi(mpg ~ gp(wt, hp, kernel = matern32(ard = TRUE)), data = mtcars, family = gaussian())
#' fit$hyper
#'
#' # sparse: twelve inducing points
#' sparse <- galvi(dist ~ gp(speed, inducing = 12), data = cars)
#' sparse$inducing
#' @export
gp <- function(..., kernel = se(), by = NULL, inducing = NULL, scale = FALSE,
               approximation = c("variational", "fitc"), center = FALSE) {
  stop_galvi("formula", "gp() is a term: use it in a formula, as in galvi(y ~ gp(x), data = d).")
}

gp_type <- function() {
  list(parse = parse_gp, design = design_gp, newdata = newdata_gp, panels = input_panels)
}

# call -> list(type, inputs, by, variables: expressions for the model frame; kernel, kernel_call, scale)
parse_gp <- function(call, env) {
  arguments <- as.list(call)[-1L]
  given <- names(arguments)
  if (is.null(given)) given <- rep("", length(arguments))
  options <- arguments[nzchar(given)]
  known <- setdiff(names(formals(gp)), "...")
  check_no_dots(options[!names(options) %in% known], known, "gp()")
  inputs <- unname(arguments[!nzchar(given)])
  lapply(inputs, check_gp_input, call)
  if (!length(inputs)) {
    stop_galvi("formula", sprintf("`%s` has no inputs: write gp(x) or gp(.).", deparse_one(call)))
  }
  by <- options$by
  kernel <- gp_kernel(options$kernel, env)
  # a finite set of columns is as sparse as can be
  inducing <- if (!is.null(options$inducing)) check_inducing(gp_option(options, "inducing", env))
  if (is_finite_kernel(kernel)) inducing <- NULL
  list(
    type = "gp", inputs = inputs, by = by, variables = c(inputs, by), kernel = kernel,
    kernel_call = options$kernel, inducing = inducing,
    approximation = gp_approximation(options, inducing, env),
    scale = if (is.null(options$scale)) FALSE else check_flag(gp_option(options, "scale", env), "scale"),
    center = gp_center(options, kernel, env, call)
  )
}

gp_center <- function(options, kernel, env, call) {
  center <- if (is.null(options$center)) FALSE else check_flag(gp_option(options, "center", env), "center")
  if (!center || !is_finite_kernel(kernel)) return(center)
  stop_galvi("argument", sprintf(paste(
    "`%s`: a kernel of linear() and constant() alone makes columns, which are centred by their inputs, as in",
    "gp(scale(x, scale = FALSE), kernel = linear()): leave `center` out."
  ), deparse_one(call)))
}

# The distinct inputs, of many some.
most_centre <- 200L

centre_points <- function(inputs) {
  distinct <- distinct_rows(inputs$matrix, inputs$weights)$x
  unname(distinct[spread_rows(nrow(distinct), most_centre), , drop = FALSE])
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
    stop_galvi("argument", "`approximation = \"fitc\"` is about inducing points: give `inducing` too.")
  }
  choice
}

# FITC averages each row's likelihood over the variance that the inducing points do not explain, which few
# methods can do.
is_fitc <- function(specs) any(vapply(specs, function(spec) identical(spec$approximation, "fitc"), NA))

fitc_method <- function(method, specs) {
  facts <- inference_facts()
  able <- facts$name[facts$averaging != "none"]
  if (!is_fitc(specs) || method %in% able) return(method)
  if (method == "auto") return(facts$name[facts$averaging == "itself"][1L])
  stop_galvi("method", sprintf(paste(
    "`approximation = \"fitc\"` goes with method = %s, not \"%s\", which bounds the evidence of the full",
    "Gaussian process: leave approximation = \"variational\"."
  ), paste0("\"", able, "\"", collapse = " or "), method))
}

gp_kernel <- function(expr, env) {
  if (is.null(expr)) return(se())
  kernel <- check_evaluates(eval_galvi(expr, env), "kernel", "kernel", kernel_words())
  if (is.function(kernel)) kernel <- called_kernel(kernel)
  if (!is_kernel(kernel)) {
    stop_galvi("kernel", sprintf(
      "`kernel` must be a kernel such as se() or matern32() + linear(), not %s. Kernels are %s.",
      describe(kernel), quote_names(kernel_words(), max = 20L)
    ))
  }
  kernel
}

# kernel = se stands for se(). A covariance function in R is none of galvi's kernels.
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
design_gp <- function(spec, frame, context) {
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
  registers <- lapply(owners, function(owner) context$registry$for_term(spec$label, owner))
  if (is_finite_kernel(spec$kernel)) {
    finite <- lapply(registers, function(register) {
      finite_columns(spec$kernel, inputs, register, context$default_variance)
    })
    # the copies differ in their hyperparameters alone
    spec$finite <- finite[[1L]]
    rows <- finite_rows(spec, inputs$matrix, frame)
    terms <- lapply(finite, function(one) list(
      type = "columns", label = spec$label, mean = numeric(ncol(rows$W)), factors = finite_factors(one, spec)
    ))
  } else {
    terms <- lapply(registers, function(register) list(
      type = "kernel", label = spec$label, input_count = ncol(inputs$matrix),
      kernel = c(
        kernel_spec(spec$kernel, inputs, register, context$default_variance),
        if (spec$center) list(centre = centre_points(inputs))
      )
    ))
    rows <- c(list(inputs = inputs$matrix), by_rows(spec, frame))
    if (!is.null(spec$inducing)) {
      points <- register_points(spec, starting_points(spec, inputs, context$start), inputs, context)
      terms <- lapply(terms, utils::modifyList, list(type = "inducing", inducing = points))
    }
    if (!spec$scale) inform_scales(spec, terms[[1L]]$kernel, block$matrix)
  }
  list(spec = spec, rows = rows, term = terms[[1L]], per_class = if (own) terms)
}

newdata_gp <- function(spec, frame) {
  x <- apply_moments(input_block(spec, frame)$matrix, spec$moments)
  if (is.null(spec$finite)) c(list(inputs = x), by_rows(spec, frame)) else finite_rows(spec, x, frame)
}
