# A kernel with its data: starting values, bounds and positions of its hyperparameters, and the list that C++ reads.

#' A kernel over the inputs of a term, as the list that C++ reads
#'
#' @param inputs list(matrix = N x p, variable = the variable of each column, names = those of the variables, weights =
#'   of the rows, smallest = of each column over all fitted rows, where these are a part)
#' @param register function(parameter, value, default, lower, upper, variance, learned, guessed, transform) that adds an
#'   entry to the hyperparameter table and returns its position. `value` is the user's, or NULL; then learning starts at
#'   `default`, or the entry is fixed there if `learned` is FALSE. `variance`: is the parameter a variance?
#' @param learned Is the kernel's variance learned where the user gives none? If not, it is fixed, and those of a sum's
#'   other parts are relative to the first's.
#' @return list(type, columns, hyper, constants, parts) and, of a custom kernel, its functions
#' @noRd
kernel_spec <- function(kernel, inputs, register, default_variance = 1, learned = TRUE) {
  labels <- kernel_terms(kernel)
  many <- length(labels) > 1L
  leaf <- 0L
  build <- function(node, variance, learned) {
    if (!length(node$parts)) {
      leaf <<- leaf + 1L
      prefix <- if (many) paste0(labels[leaf], ".") else ""
      named <- function(parameter, ...) register(paste0(prefix, parameter), ...)
      return(leaf_spec(node, inputs, named, variance, learned))
    }
    count <- length(node$parts)
    if (is_sum(node)) {
      variances <- rep(variance / count, count)
      free <- c(learned, rep(TRUE, count - 1L))
    } else {
      several <- vapply(node$parts, has_several_variances, NA)
      main <- if (any(several)) which(several)[1L] else 1L
      variances <- replace(rep(1, count), main, variance)
      free <- replace(several, main, learned)
    }
    parts <- lapply(seq_len(count), function(k) build(node$parts[[k]], variances[k], free[k]))
    list(type = node$type, columns = integer(), hyper = list(), constants = list(), parts = parts)
  }
  build(kernel, default_variance, learned)
}

# The names of the simple kernels in a kernel, in order: se, se2, linear.
kernel_terms <- function(kernel) {
  types <- leaf_types(kernel)
  counts <- stats::ave(seq_along(types), types, FUN = seq_along)
  paste0(types, ifelse(counts > 1L, counts, ""))
}

leaf_types <- function(kernel) {
  if (!length(kernel$parts)) return(kernel$type)
  unlist(lapply(kernel$parts, leaf_types))
}

has_several_variances <- function(kernel) {
  if (length(kernel$parts)) return(is_sum(kernel))
  kernel$ard && parameter_of(kernel, parameters_in_role(kernel, "variance"))$per_column
}

leaf_spec <- function(kernel, inputs, register, variance, learned) {
  used <- kernel_variables(kernel, inputs)
  facts <- facts_of_kernel(kernel)
  owner <- if (facts$acts_on_columns) rep(seq_along(used), lengths(used)) else integer()
  columns <- as.integer(unlist(used))[seq_along(owner)]
  if (facts$one_input && length(columns) != 1L) stop_several_inputs(kernel, names(used))
  x <- inputs$matrix[, columns, drop = FALSE]
  if (facts$origin) kernel$constants$origin <- smallest_inputs(inputs)[columns]
  hyper <- lapply(stats::setNames(nm = facts$parameters$name), function(name) {
    parameter <- parameter_of(kernel, name)
    given <- kernel$settings[[name]]
    # one period applies to all variables, unless each has its own
    shared <- parameter$role == "period" && length(setting_elements(given)) == 1L
    per_variable <- kernel$ard && parameter$per_column && !shared
    count <- if (per_variable) length(used) else 1L
    values <- split_setting(given, count, name, kernel)
    add <- function(shown, x, value) {
      start <- parameter_start(parameter, value, kernel, x, inputs$weights, variance, count)
      register_parameter(register, parameter, shown, value, start, learned, facts$origin)
    }
    if (!per_variable) return(add(name, x, values[[1L]]))
    positions <- vapply(seq_along(used), function(v) {
      add(sprintf("%s[%s]", name, names(used)[v]), x[, owner == v, drop = FALSE], values[[v]])
    }, 1L)
    positions[owner]
  })
  c(
    list(type = kernel$type, columns = columns, hyper = hyper, constants = kernel$constants, parts = list()),
    if (!is.null(kernel$functions)) list(functions = kernel$functions)
  )
}

# Of all fitted rows, also where the kernel is that of one level of a factor `by`.
smallest_inputs <- function(inputs) {
  if (!is.null(inputs$smallest)) return(inputs$smallest)
  apply(inputs$matrix, 2L, min)
}

stop_several_inputs <- function(kernel, names) {
  stop_galvi("kernel", sprintf(
    "%s() acts on one numeric input, not on %s: give `columns`, as in %s.", kernel$type, quote_names(names),
    sprintf("%s(..., columns = %s)", kernel$type, dQuote(names[1L], FALSE))
  ))
}

# The columns of the input matrix for each variable that a kernel uses: a list named by variable.
kernel_variables <- function(kernel, inputs) {
  all <- split(seq_along(inputs$variable), factor(inputs$variable, seq_along(inputs$names)))
  names(all) <- inputs$names
  columns <- kernel$columns
  if (is.null(columns)) return(all)
  found <- if (is.character(columns)) match(columns, inputs$names) else match(columns, seq_along(all))
  if (anyNA(found)) {
    bad <- columns[is.na(found)][1L]
    stop_galvi("kernel", sprintf(
      "`columns` of %s() names the variable %s, which the term does not have. It has %s.%s",
      kernel$type, if (is.character(bad)) dQuote(bad, FALSE) else format(bad), quote_names(inputs$names),
      if (is.character(bad)) did_you_mean(bad, inputs$names) else ""
    ))
  }
  if (anyDuplicated(found)) {
    stop_galvi("kernel", sprintf(
      "`columns` of %s() names `%s` twice.", kernel$type, inputs$names[found[duplicated(found)][1L]]
    ))
  }
  all[found]
}

# The user's setting as a list with one element per value to register.
split_setting <- function(value, count, parameter, kernel) {
  if (is.null(value)) return(vector("list", count))
  values <- setting_elements(value)
  if (length(values) == 1L) return(rep(values, count))
  if (length(values) != count) {
    stop_galvi("kernel", sprintf(
      "`%s` of %s() must have one value or one per variable (%d), not %d.", parameter, kernel$type, count,
      length(values)
    ))
  }
  values
}

# ---- starts and bounds ----

# The default starting value. `count`: number of variables that share the kernel's variance.
parameter_start <- function(parameter, value, kernel, x, weights, variance, count) {
  switch(parameter$role,
    lengthscale = if (is_fixed(value)) value$value else median_distance(kernel_space(kernel, x), weights),
    variance = variance / average_variance(kernel, x, weights) / count,
    # required arguments, or those with a default in the constructor
    known_start(value)
  )
}

# The inputs in the space where the kernel computes distances: for periodic kernels, points on a circle.
kernel_space <- function(kernel, x) {
  period <- parameters_in_role(kernel, "period")
  if (!length(period)) return(x)
  angle <- 2 * pi * x / known_start(kernel$settings[[period]])
  cbind(cos(angle), sin(angle))
}

# The prior variance of a kernel with variance 1, averaged over the rows.
average_variance <- function(kernel, x, weights) {
  starts <- lapply(kernel$settings, known_start)
  starts[c(names(Filter(is.null, starts)), parameters_in_role(kernel, "variance"))] <- 1
  positions <- stats::setNames(as.list(seq_along(starts)), names(starts))
  spec <- list(
    type = kernel$type, columns = seq_len(ncol(x)), hyper = positions, constants = kernel$constants
  )
  average <- weighted_mean(kernel_variances(spec, unlist(starts), x), weights)
  if (!is.finite(average) && length(kernel$constants)) {
    stop_galvi("kernel", sprintf(
      "`%s` of %s() is too high for these inputs, %g: the variance at the data is not finite.",
      names(kernel$constants), kernel$type, kernel$constants[[1L]]
    ))
  }
  if (is.finite(average) && average > 0) average else 1
}

# The starting value in a setting: a number, the value of fixed(), or the centre of a prior. NULL without a setting.
known_start <- function(value) {
  if (is.null(value)) return(NULL)
  one <- setting_elements(value)[[1L]]
  if (!is_value(one)) one else if (is_fixed(one) || is_learned(one)) one$value else prior_centre(unclass(one))
}

# The range of a shape parameter is absolute, that of other parameters relative to the starting value. A number given by
# the user widens it, except for periods, whose starting value is always the user's.
#
# From an origin the variance says how far functions are straight, which lengthscales say of others.
register_parameter <- function(register, parameter, name, value, start, learned, from_origin = FALSE) {
  unit <- if (parameter$role == "shape") 1 else start
  bounds <- unit * c(parameter$lower, parameter$upper)
  given <- if (parameter$role != "period") known_start(value)
  if (!is.null(given)) bounds <- range(bounds, given * c(1e-2, 1e2))
  is_variance <- parameter$role == "variance"
  # a period is what the user knows
  if (parameter$role == "period" && !is_value(value)) value <- fixed(value)
  register(
    name, value, default = start, lower = bounds[1L], upper = bounds[2L], variance = is_variance,
    learned = learned || !is_variance,
    guessed = is.null(value) && (parameter$role == "lengthscale" || from_origin && is_variance),
    transform = if (parameter$role == "period") "fine_log" else "log"
  )
}

# Median of the positive distances between rows; 1 if all rows are the same.
median_distance <- function(x, weights) {
  rows <- distinct_rows(x, weights)
  x <- rows$x
  n <- nrow(x)
  taken <- if (n > 500L) round(seq(1, n, length.out = 500L)) else seq_len(n)
  distances <- as.numeric(stats::dist(x[taken, , drop = FALSE]))
  w <- rows$weights[taken]
  usable <- is.finite(distances) & distances > 0
  if (any(usable)) {
    if (all(w == w[1L])) return(stats::median(distances[usable]))  # without sorting all pairs
    pairs <- tcrossprod(w)
    return(weighted_median(distances[usable], pairs[lower.tri(pairs)][usable]))
  }
  # the rows that differ may not be among those taken
  span <- sqrt(sum(apply(x, 2L, function(column) diff(range(column)))^2))
  if (is.finite(span) && span > 0) span else 1
}

# ---- kernels that are a finite set of columns ----

# Sums and products of linear and constant kernels, if each product has at most one factor with input columns.
is_finite_kernel <- function(kernel) {
  if (!length(kernel$parts)) return(facts_of_kernel(kernel)$features != "none")
  all(vapply(kernel$parts, is_finite_kernel, NA)) &&
    (is_sum(kernel) || sum(vapply(kernel$parts, has_input_features, NA)) <= 1L)
}

#' The dimension of a kernel's states over one input, with which it is a Markov process; 0 if it is none
#' @param kernel From kernel_spec(), with its harmonics.
#' @noRd
state_dimension <- function(kernel) {
  harmonics <- kernel$constants$harmonics
  if (!length(kernel$parts)) return(if (is.null(harmonics)) facts_of_kernel(kernel)$states else 2 * harmonics + 1)
  parts <- vapply(kernel$parts, state_dimension, 1)
  if (any(parts == 0)) 0 else if (is_sum(kernel)) sum(parts) else prod(parts)
}

# Of a Markov process over one input, with or without its harmonics.
has_states <- function(kernel) {
  if (length(kernel$parts)) return(all(vapply(kernel$parts, has_states, NA)))
  facts <- facts_of_kernel(kernel)
  facts$states > 0 || facts$lines == "series"
}

has_input_features <- function(kernel) {
  if (length(kernel$parts)) return(any(vapply(kernel$parts, has_input_features, NA)))
  facts_of_kernel(kernel)$features == "inputs"
}

#' A finite kernel as columns W with independent coefficients
#'
#' @return list(inputs: for each column, the input columns that it is the product of (none: 1); factors: q x r positions
#'   of hyperparameters whose product is the coefficient's variance (0: none); names: q)
#' @noRd
finite_columns <- function(kernel, inputs, register, default_variance = 1) {
  columns <- expand_columns(kernel_spec(kernel, inputs, register, default_variance))
  width <- max(lengths(lapply(columns, `[[`, "factors")))
  factors <- vapply(columns, function(column) {
    c(column$factors, integer(width - length(column$factors)))
  }, integer(width))
  names <- vapply(columns, function(column) {
    if (!length(column$inputs)) return("(constant)")
    paste(column_names(inputs)[column$inputs], collapse = ":")
  }, "")
  list(
    inputs = lapply(columns, `[[`, "inputs"), factors = matrix(factors, ncol = width, byrow = TRUE),
    names = names
  )
}

# -> one list(inputs, factors) per column
expand_columns <- function(spec) {
  parts <- lapply(spec$parts, expand_columns)
  if (length(parts) && is_sum(spec)) return(do.call(c, parts))
  if (length(parts)) {
    return(Reduce(function(left, right) {
      pairs <- expand.grid(a = seq_along(left), b = seq_along(right))
      Map(function(a, b) Map(c, left[[a]], right[[b]]), pairs$a, pairs$b)
    }, parts))
  }
  variance <- spec$hyper[[parameters_in_role(spec, "variance")]]
  switch(facts_of_kernel(spec)$features,
    constant = list(list(inputs = integer(), factors = variance)),
    inputs = Map(
      function(column, position) list(inputs = column, factors = position), spec$columns,
      rep_len(variance, length(spec$columns))
    )
  )
}

# The columns of a factor are numbered.
column_names <- function(inputs) {
  width <- tabulate(inputs$variable, length(inputs$names))
  index <- stats::ave(inputs$variable, inputs$variable, FUN = seq_along)
  paste0(inputs$names[inputs$variable], ifelse(width[inputs$variable] > 1L, index, ""))
}

#' @param finite From finite_columns().
#' @return W, rows of `matrix` x columns
#' @noRd
finite_design <- function(finite, matrix) {
  W <- vapply(finite$inputs, function(columns) {
    Reduce(`*`, lapply(columns, function(j) matrix[, j]), rep(1, nrow(matrix)))
  }, numeric(nrow(matrix)))
  W <- matrix(W, nrow(matrix), length(finite$inputs))
  colnames(W) <- finite$names
  W
}
