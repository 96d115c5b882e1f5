# Kernels: what users compose. The numbers are in src/kernel; how a kernel meets data is in kernel-spec.R.

#' Kernels: covariance functions of Gaussian processes
#'
#' A kernel says how the values of a function at two inputs x and z go together. Add and multiply kernels with
#' `+` and `*`, and give the result to [gp()] or to [galvi()].
#'
#' With r = `|x - z| / lengthscale` (or, with `ard = TRUE`, `r^2` = sum of `((x_j - z_j) / lengthscale_j)^2`):
#'
#' | kernel | covariance |
#' |:--|:--|
#' | `se` | `variance * exp(-r^2 / 2)`, very smooth |
#' | `matern12` | `variance * exp(-r)`, continuous and rough |
#' | `matern32` | `variance * (1 + sqrt(3) r) * exp(-sqrt(3) r)`, once differentiable |
#' | `matern52` | `variance * (1 + sqrt(5) r + 5 r^2 / 3) * exp(-sqrt(5) r)`, twice differentiable |
#' | `rational_quadratic` | `variance * (1 + r^2 / (2 alpha))^-alpha`, `se` at many lengthscales at once |
#' | `periodic` | `variance * exp(-2 * sum_j sin(pi (x_j - z_j) / period)^2 / lengthscale^2)` |
#' | `linear` | `variance * sum_j x_j z_j`; with `ard = TRUE`, `sum_j variance_j x_j z_j` |
#' | `polynomial` | `variance * (constant + sum_j x_j z_j)^degree` |
#' | `constant` | `variance` |
#' | `white` | `variance` where two rows are identical, else 0 |
#'
#' @section Start, hold, learn:
#' A number is where learning starts; `fixed(2)` fixes it; a prior such as [log_normal()] makes the estimate a
#' posterior mode. With `ard = TRUE` a vector gives one per variable. `degree` is always fixed.
#'
#' NULL means a start from the data:
#' * `lengthscale`: the median of the positive distances between rows (of distinct ones at most 500, evenly
#'   spaced) in the kernel's columns, per variable with `ard = TRUE`; for `periodic` distances on the circle
#'   of circumference `period`, in units of its radius.
#' * `variance`: var(y) if the link is the identity (mad(y)^2 in the families student and laplace), else 1.
#'   The parts of a sum share it in equal parts.
#'   `linear` and `polynomial` are scaled so that their prior variance has that average over the rows.
#'
#' A product of kernels has only one overall variance: the first factor with several variances (a sum, or
#' `linear` with `ard = TRUE`), else the first factor, takes it. Other factors with a single variance hold it
#' at 1 (on average over the rows) where you gave none.
#'
#' Learning stays within 1/1000 to 1000 times the median distance for lengthscales, 1e-6 to 1e7 times the
#' start from the data for variances, half to twice the start for `period`, 0.01 to 10,000 for `alpha` and
#' 1e-6 to 1e6 for `constant`; a number or prior of yours widens the range to at least 1/100 to 100 times
#' itself (not for `period`).
#'
#' @section Columns:
#' Variables are what is written in `gp()`: a factor is one variable, whatever its levels, and has one
#' lengthscale. `columns` picks some of them, by name or position. A sum of `linear` and `constant` kernels,
#' each perhaps times a constant, is a finite set of columns: fits with it alone never need an N x N matrix.
#'
#' @param variance The variance, in squared units of the latent function. For `linear` per squared unit of the
#'   input.
#' @param lengthscale The distance over which the function changes, in the units of the inputs; for `periodic`
#'   without unit.
#' @param period The period, in the units of the input. It is needed, and a number is where learning starts:
#'   `fixed(12)` fixes it.
#' @param alpha The shape of `rational_quadratic`; it tends to `se` as `alpha` grows.
#' @param degree A positive whole number.
#' @param constant The offset in `polynomial`.
#' @param columns The variables that the kernel acts on: names or positions among the inputs of the term.
#'   NULL is all.
#' @param ard TRUE for a lengthscale (`linear`: a variance) for every variable.
#' @param kernel A kernel.
#' @param e1,e2 Kernels.
#' @return An object of class `galvi_kernel`.
#' @seealso [gp()], [fixed()], [log_normal()]
#' @examples
#' se()
#' se(lengthscale = 2, variance = fixed(1))
#' matern32(ard = TRUE) + linear(columns = "x1")
#' constant() * se() + white()
#' periodic(period = fixed(12)) * matern52(lengthscale = log_normal(log(60), 1))
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

# A kernel from the arguments of its function, which are called as the core calls its parameters.
kernel_from <- function(type, arguments) {
  given <- as.list(arguments)
  facts <- kernel_facts()[[type]]
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
  if (missing(period) || is.null(period)) {
    stop_galvi("kernel", paste(
      "`period` of periodic() is required:", "periodic(12) starts there, periodic(fixed(12)) holds it."
    ))
  }
  kernel_from("periodic", environment())
}

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
constant <- function(variance = NULL) kernel_from("constant", environment())

#' @rdname kernels
#' @export
white <- function(variance = NULL, columns = NULL) kernel_from("white", environment())

#' @description `per_class(kernel)` gives each latent function of a multi-class family its own
#'   hyperparameters; they are shared otherwise.
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
  if (is.null(kernel$functions)) kernel_facts()[[kernel$type]] else custom_kernel_facts(kernel)
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

# Kernels that are not made of others; their functions are called like them.
kernel_words <- function() names(Filter(function(facts) facts$operation == "", kernel_facts()))

#' @rdname kernels
#' @export
Ops.galvi_kernel <- function(e1, e2) {
  type <- names(Filter(function(facts) facts$operation == .Generic, kernel_facts()))
  if (!length(type) || missing(e2)) {
    stop_galvi("kernel", sprintf("Kernels can be added and multiplied; `%s` means nothing here.", .Generic))
  }
  parts <- unlist(lapply(list(e1, e2), operands, type, .Generic), recursive = FALSE)
  new_kernel(type, parts = parts)
}

# a + (b + c) is one sum of three: parts share the variance and are named as the user wrote them.
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
    given <- c(x$constants, Filter(Negate(is.null), x$settings))
    if (!is.null(x$columns)) given$columns <- x$columns
    if (x$ard) given$ard <- TRUE
    values <- vapply(given, format_setting, "", digits)
    sprintf("%s(%s)", x$type, paste(names(given), values, sep = " = ", recycle0 = TRUE, collapse = ", "))
  }
  if (x$per_class) sprintf("per_class(%s)", text) else text
}

format_setting <- function(value, digits) {
  if (is_value(value)) return(format(value, digits))
  words <- if (is.character(value)) dQuote(value, FALSE) else vapply(value, format, "", digits = digits)
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
