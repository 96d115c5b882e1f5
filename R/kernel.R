# Kernels as users compose them. Their covariances are in src/kernel; kernel-spec.R applies them to data.

#' Kernels: covariance functions of Gaussian processes
#'
#' A kernel is the covariance function of a Gaussian process prior, for use in [gp()] and [galvi()]. Kernels can be
#' added and multiplied with `+` and `*`. `per_class()` gives each linear predictor of a multi-class family its own
#' hyperparameters.
#'
#' For inputs x and z, with r = `|x - z| / lengthscale` (or, with `ard = TRUE`,
#' r^2 = sum of `((x_j - z_j) / lengthscale_j)^2`):
#'
#' | kernel | covariance |
#' |:--|:--|
#' | `se` | `variance * exp(-r^2 / 2)`: squared exponential, very smooth |
#' | `matern12` | `variance * exp(-r)`: exponential, continuous but rough |
#' | `matern32` | `variance * (1 + sqrt(3) r) * exp(-sqrt(3) r)`, once differentiable |
#' | `matern52` | `variance * (1 + sqrt(5) r + 5 r^2 / 3) * exp(-sqrt(5) r)`, twice differentiable |
#' | `rational_quadratic` | `variance * (1 + r^2 / (2 alpha))^-alpha`: a mixture of `se` over lengthscales |
#' | `periodic` | `variance * exp(-2 * sum_j sin(pi (x_j - z_j) / period)^2 / lengthscale^2)` |
#' | `cosine` | `variance * cos(2 pi (x - z) / period)`: a single harmonic of one input |
#' | `integrated_wiener` | `variance * s^2 (3 u - s) / 6` with s the smaller and u the larger distance from the origin, and 0 for inputs on different sides of it: cubic smoothing splines, of one input |
#' | `linear` | `variance * sum_j x_j z_j`; with `ard = TRUE`, `sum_j variance_j x_j z_j` |
#' | `polynomial` | `variance * (constant + sum_j x_j z_j)^degree` |
#' | `arc_cosine` | `variance / pi * (pi - theta)` for `order = 0`, `variance / pi * (sin(theta) + (pi - theta) cos(theta)) * sqrt(q(x, x) q(z, z))` for `order = 1`, with `q(x, z) = constant + sum_j x_j z_j` and `cos(theta) = q(x, z) / sqrt(q(x, x) q(z, z))` |
#' | `constant` | `variance` |
#' | `white` | `variance` for identical rows, else 0 |
#'
#' `arc_cosine` is the limit of a neural network with one hidden layer of many units, steps (`order = 0`) or ramps (ReLU,
#' `order = 1`): a function that is rough or bends near the origin and becomes straight lines far from it. Its bends lie
#' within about `sqrt(constant)` of the origin, so subtract their means and scale them.
#'
#' `integrated_wiener` is the prior of cubic smoothing splines (Wahba, 1978): the second derivative is white noise. It is
#' not stationary. The function is zero at the origin, the smallest input of the fitted rows, and its slope is zero there;
#' from there on its variance grows as the cube of the distance, to both sides, which are independent of each other. Level
#' and slope are fixed effects, `y ~ t + gp(t, kernel = integrated_wiener())`; a message of class
#' `galvi_message_slope` says so where the slope is left out. Predictions ahead go on along the line at the end, with
#' variances that grow without limit; those before the first row do so backwards. Its variance is per cubed unit of the
#' input.
#'
#' @section Starting values, fixed values and priors:
#' A number is a starting value, `fixed(2)` fixes the parameter, and a prior such as [log_normal()] makes the estimate a
#' posterior mode, see [priors]. With `ard = TRUE` a vector gives one value per variable. A period is held as typed:
#' `periodic(12)` has the period 12, `periodic(learn(12))` starts there and learns it. `degree` and `order` are always fixed.
#'
#' The default NULL takes a starting value from the data:
#' * `lengthscale`: the median of the positive distances between rows, in the columns of the kernel and per variable
#'   with `ard = TRUE` (of at most 500 distinct rows, evenly spaced). For `periodic` the distances are on a circle of
#'   circumference `period`, in units of its radius. If hyperparameters are learned, a third, a ninth and a 27th of this
#'   value are tried too, for all such lengthscales of a term together, until the bound falls by more than ten, and the
#'   search starts from the one with the highest bound. From a long lengthscale it may end at a local maximum, a smooth
#'   function with much noise. Of `integrated_wiener`, which has none, variances of 27, 27^2 and 27^3 times the default
#'   are tried: give a `variance` where a function has more than some 50 bends.
#' * `variance`: with an identity link the variance of y (for [student()], [laplace()] and [asymmetric_laplace()] the
#'   squared [mad()]), else 1. A sum divides it equally among its parts. `linear`, `polynomial`, `arc_cosine`
#'   and `integrated_wiener` are scaled so that their prior variance, averaged over the rows, has this value.
#'
#' A product of kernels has one overall variance. It belongs to the first factor with several variances (a sum, or
#' `linear` with `ard = TRUE`), or else to the first factor. The variances of the other factors are fixed at 1 (on
#' average over the rows) unless you give them.
#'
#' Estimates are restricted to 1/1000 to 1000 times the median distance for lengthscales, 1e-6 to 1e7 times the default
#' starting value for variances (1e-9 to 1e15 for `integrated_wiener`), a tenth to ten times the starting value for `period`, 0.01 to 10,000 for `alpha` and
#' 1e-6 to 1e6 for `constant`. A starting value or prior of yours extends the range to at least 1/100 to 100 times
#' itself, except for `period`.
#'
#' @section Inputs:
#' A kernel acts on the variables in `gp()`, or on those in `columns`. A factor is one variable with one lengthscale,
#' whatever the number of its levels.
#'
#' A Gaussian process with a sum of `linear` and `constant` kernels, possibly multiplied by constants, has finitely many
#' coefficients. It is fitted as a Bayesian linear model, without an N x N matrix.
#'
#' @section Periodic functions of one input:
#' `gp(t, kernel = periodic(12))` is a series of sines and cosines whose variances fall faster than any power: 21
#' coefficients leave out less than 1e-10 of the variance at the lengthscale 1, and 49 at 0.3. So it is fitted as a
#' linear model of that many coefficients, for any number of rows, beside any other term. The number is that for a ninth
#' of the lengthscale where learning starts, and rises where the learned lengthscale is shorter. The same holds for sums
#' of `periodic`, `cosine` and `constant`. More than 500 harmonics (lengthscales below 0.013) are a full process.
#'
#' A product, such as `matern32() * periodic(12)`, is a Markov process with as many states for each harmonic as the other
#' factor has (see [gp()]): 42 at the usual starting values. A sum such as `matern32() + periodic(12)` is one too, but
#' `gp(t, kernel = matern32()) + gp(t, kernel = periodic(12))` is the same model and takes a fraction of the time.
#'
#' @param variance Variance of the process, in squared units of the linear predictor; for `linear` per squared unit of
#'   the input, for `integrated_wiener` per cubed unit. NULL (see below), a positive number, [fixed()], [learn()] or a prior; for `linear` with `ard = TRUE`
#'   also a vector or list with one per variable.
#' @param lengthscale Distance over which the function varies, in the units of the inputs (for `periodic` without unit).
#'   As `variance`; with `ard = TRUE` also a vector or list with one per variable.
#' @param period Period, in the units of the input. Required. A number is held; `learn(12)` starts there, and a prior
#'   makes it a posterior mode.
#' @param alpha Shape of `rational_quadratic`, as `variance`. The kernel tends to `se` as `alpha` grows.
#' @param degree Degree of the polynomial, a positive whole number.
#' @param constant Constant in `polynomial` and `arc_cosine`, as `variance`.
#' @param order Order of `arc_cosine`, 0 or 1.
#' @param columns Variables on which the kernel acts: names or positions among the inputs of the term. NULL for all.
#' @param ard If TRUE, every variable has a lengthscale of its own (`linear`: a variance): automatic relevance
#'   determination.
#' @param kernel A kernel.
#' @param e1,e2 Kernels.
#' @return An object of class `galvi_kernel`.
#' @section Errors:
#' `galvi_error_kernel` for invalid arguments and for operators other than `+` and `*`.
#' @references
#' Cho, Y. and Saul, L. K. (2009). Kernel methods for deep learning. *Advances in Neural Information Processing Systems*
#' 22, 342-350.
#'
#' Solin, A. and Sarkka, S. (2014). Explicit link between periodic covariance functions and state space models.
#' *International Conference on Artificial Intelligence and Statistics*, PMLR 33, 904-912.
#'
#' Wahba, G. (1978). Improper priors, spline smoothing and the problem of guarding against model errors in regression.
#' *Journal of the Royal Statistical Society B* 40, 364-372.
#'
#' Rasmussen, C. E. and Williams, C. K. I. (2006). *Gaussian Processes for Machine Learning*. MIT Press. Chapter 4.
#' @seealso [gp()], `vignette("kernels", package = "galvi")`.
#' @family kernels and priors
#' @examples
#' # a starting value and a fixed variance; a sum; a periodic function that changes slowly
#' se(lengthscale = 2, variance = fixed(1))
#' matern32(ard = TRUE) + linear(columns = "x1")
#' periodic(period = 12) * matern52(lengthscale = log_normal(log(60), 1))
#'
#' # automatic relevance determination: one lengthscale for each input
#' fit <- galvi(mpg ~ gp(wt, hp, qsec, kernel = se(ard = TRUE)), data = mtcars)
#' fit$hyper[c("name", "estimate", "lwr", "upr")]
#'
#' # a trend and a yearly cycle
#' d <- data.frame(y = as.numeric(log(AirPassengers)), month = 1:144)
#' fit <- galvi(y ~ month + gp(month, kernel = periodic(12)), data = d)
#' predict(fit, data.frame(month = 145:147), interval = "prediction")
#'
#' # a cubic smoothing spline: level and slope are fixed effects
#' galvi(dist ~ speed + gp(speed, kernel = integrated_wiener()), data = cars)
#' @name kernels
NULL

new_kernel <- function(type, settings = list(), columns = NULL, ard = FALSE, constants = list(),
                       parts = list()) {
  kernel <- list(
    type = type, settings = settings, columns = check_kernel_columns(columns, type),
    ard = check_flag(ard, "ard", what = "kernel"), constants = constants, parts = parts, per_class = FALSE
  )
  for (name in names(settings)) check_setting(settings[[name]], parameter_of(kernel, name), kernel)
  structure(kernel, class = "galvi_kernel")
}

# A kernel from the arguments of its constructor, which have the names of the core's parameters.
kernel_from <- function(type, arguments) {
  given <- as.list(arguments)
  facts <- core_facts$kernel[[type]]
  ard <- if ("ard" %in% names(given)) given$ard else FALSE
  new_kernel(type, given[facts$parameters$name], given$columns, ard, given[facts$constants])
}

#' @rdname kernels
#' @export
se <- function(variance = NULL, lengthscale = NULL, columns = NULL, ard = FALSE) {
  kernel_from("se", environment())
}

#' @rdname kernels
#' @export
matern12 <- function(variance = NULL, lengthscale = NULL, columns = NULL, ard = FALSE) {
  kernel_from("matern12", environment())
}

#' @rdname kernels
#' @export
matern32 <- function(variance = NULL, lengthscale = NULL, columns = NULL, ard = FALSE) {
  kernel_from("matern32", environment())
}

#' @rdname kernels
#' @export
matern52 <- function(variance = NULL, lengthscale = NULL, columns = NULL, ard = FALSE) {
  kernel_from("matern52", environment())
}

#' @rdname kernels
#' @export
rational_quadratic <- function(variance = NULL, lengthscale = NULL, alpha = 1, columns = NULL, ard = FALSE) {
  kernel_from("rational_quadratic", environment())
}

#' @rdname kernels
#' @export
periodic <- function(period, variance = NULL, lengthscale = NULL, columns = NULL, ard = FALSE) {
  if (missing(period) || is.null(period)) stop_no_period("periodic")
  kernel_from("periodic", environment())
}

#' @rdname kernels
#' @export
cosine <- function(period, variance = NULL, columns = NULL) {
  if (missing(period) || is.null(period)) stop_no_period("cosine")
  kernel_from("cosine", environment())
}

stop_no_period <- function(type) {
  stop_galvi("kernel", sprintf(
    "`period` of %1$s() is required: %1$s(12) fixes it at 12, %1$s(learn(12)) starts there.", type
  ))
}

#' @rdname kernels
#' @export
integrated_wiener <- function(variance = NULL, columns = NULL) kernel_from("integrated_wiener", environment())

#' @rdname kernels
#' @export
linear <- function(variance = NULL, columns = NULL, ard = FALSE) kernel_from("linear", environment())

#' @rdname kernels
#' @export
polynomial <- function(degree = 2, constant = 1, variance = NULL, columns = NULL) {
  degree <- check_whole(degree, "degree", what = "kernel")
  kernel_from("polynomial", environment())
}

#' @rdname kernels
#' @export
arc_cosine <- function(order = 1, constant = 1, variance = NULL, columns = NULL) {
  order <- check_whole(order, "order", 0, 1, what = "kernel")
  kernel_from("arc_cosine", environment())
}

#' @rdname kernels
#' @export
constant <- function(variance = NULL) kernel_from("constant", environment())

#' @rdname kernels
#' @export
white <- function(variance = NULL, columns = NULL) kernel_from("white", environment())

#' @rdname kernels
#' @export
per_class <- function(kernel) {
  if (!is_kernel(kernel)) {
    stop_galvi("kernel", sprintf(
      "`kernel` of per_class() must be a kernel such as se(), not %s.", describe(kernel)
    ))
  }
  kernel$per_class <- TRUE
  kernel
}

is_kernel <- function(x) inherits(x, "galvi_kernel")

facts_of_kernel <- function(kernel) {
  if (is.null(kernel$functions)) core_facts$kernel[[kernel$type]] else custom_kernel_facts(kernel)
}

is_sum <- function(kernel) facts_of_kernel(kernel)$operation == "+"

# One row of the facts: name, role, lower, upper, per_column.
parameter_of <- function(kernel, name) {
  parameters <- facts_of_kernel(kernel)$parameters
  as.list(parameters[match(name, parameters$name), ])
}

# Names of the parameters of a kernel that have a role.
parameters_in_role <- function(kernel, role) {
  parameters <- facts_of_kernel(kernel)$parameters
  parameters$name[parameters$role == role]
}

# Kernels that are not made of others, by the names of their constructors.
kernel_words <- function() names(Filter(function(facts) facts$operation == "", core_facts$kernel))

#' @rdname kernels
#' @export
Ops.galvi_kernel <- function(e1, e2) {
  type <- names(Filter(function(facts) facts$operation == .Generic, core_facts$kernel))
  if (!length(type) || missing(e2)) {
    stop_galvi("kernel", sprintf("Kernels can be added and multiplied, but `%s` is not defined for them.", .Generic))
  }
  parts <- unlist(lapply(list(e1, e2), operands, type, .Generic), recursive = FALSE)
  new_kernel(type, parts = parts)
}

# a + (b + c) is one sum of three parts, which share the variance and are named in their order.
operands <- function(x, type, sign) {
  if (!is_kernel(x)) {
    hint <- if (is.function(x)) {
      " Call it, as in se()."
    } else if (is.numeric(x)) {
      if (sign == "*") " To scale a kernel give its `variance`." else " Use constant()."
    }
    stop_galvi("kernel", paste0(
      sprintf("Both sides of `%s` must be kernels, not %s.", sign, describe(x)), hint
    ))
  }
  if (x$per_class) {
    stop_galvi("kernel", "per_class() goes around the whole kernel: per_class(se() + linear()).")
  }
  if (x$type == type) x$parts else list(x)
}

#' @export
format.galvi_kernel <- function(x, digits = NULL, ...) {
  refuse_dots(list(...), format.galvi_kernel, "format()")
  text <- if (length(x$parts)) {
    words <- vapply(x$parts, function(part) {
      if (is_sum(part)) sprintf("(%s)", format(part, digits)) else format(part, digits)
    }, "")
    paste(words, collapse = sprintf(" %s ", facts_of_kernel(x)$operation))
  } else {
    given <- c(x$constants, not_null(x$settings))
    if (!is.null(x$columns)) given$columns <- x$columns
    if (x$ard) given$ard <- TRUE
    values <- vapply(given, format_setting, "", digits)
    sprintf("%s(%s)", x$type, paste(names(given), values, sep = " = ", recycle0 = TRUE, collapse = ", "))
  }
  if (x$per_class) sprintf("per_class(%s)", text) else text
}

format_setting <- function(value, digits) {
  if (is_value(value)) return(format(value, digits))
  words <- if (is.character(value)) dQuote(value, FALSE) else with_point(vapply(value, format, "", digits = digits))
  if (length(words) == 1L) return(words)
  sprintf("%s(%s)", if (is.list(value)) "list" else "c", paste(words, collapse = ", "))
}

#' @export
print.galvi_kernel <- function(x, digits = NULL, ...) {
  refuse_print_dots(list(...), print.galvi_kernel)
  cat(format(x, digits), "\n", sep = "")
  invisible(x)
}

# ---- checks ----

check_kernel_columns <- function(columns, type) {
  if (is.null(columns) || is.character(columns) && length(columns) && !anyNA(columns)) return(columns)
  whole <- is.numeric(columns) && length(columns) && all(is.finite(columns)) && all(columns >= 1) &&
    all(columns == round(columns))
  if (whole) return(as.integer(columns))
  stop_galvi("kernel", sprintf(
    "`columns` of %s() must be names or positions of variables, not %s.", type, describe(columns)
  ))
}

# A number, fixed(), learn() or a prior; with `ard` also a vector or a list of these, one per variable.
check_setting <- function(value, parameter, kernel) {
  values <- if (is.null(value)) return(invisible()) else setting_elements(value)
  if (length(values) != 1L && !(kernel$ard && parameter$per_column)) {
    stop_galvi("kernel", sprintf(
      "`%s` of %s() must be one value, not %d%s.", parameter$name, kernel$type, length(values),
      if (parameter$per_column) " (a value per variable needs ard = TRUE)" else ""
    ))
  }
  arg <- sprintf("%s` of `%s()", parameter$name, kernel$type)
  for (one in values) {
    if (is.null(one)) next
    as_parameter(one, arg, lower = 0, variance = parameter$role == "variance", what = "kernel")
  }
}

# One element per value that was given: c(1, 2), fixed(c(1, 2)) and list(1, fixed(2)) all have two.
setting_elements <- function(value) {
  if (is_fixed(value)) return(lapply(value$value, fixed))
  several <- (is.numeric(value) || is.list(value)) && !is.object(value) && length(value)
  if (several) as.list(unname(value)) else list(value)
}
