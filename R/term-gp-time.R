# A gp() in space and time, gp(x, y, time = t): its two kernels, and what `time` goes with.

# Inducing points in space where the user gives no number.
default_space_points <- 50L

#' What `time` means for a term: the last input, a kernel of its own, and inducing points for the others
#' @noRd
check_time <- function(spec, options, call) {
  if (is.null(options$time)) return(spec)
  refuse <- function(...) stop_galvi("argument", paste0(sprintf("`%s`: ", deparse_one(call)), sprintf(...)))
  time <- options$time
  if (!is.symbol(time) && !is.call(time)) {
    refuse("`time` must be a column of times or an expression in one, as in gp(x, y, time = t), not %s.", describe(time))
  }
  if (!is.null(spec$neighbours)) {
    refuse("`time` goes with inducing points in space: give `inducing`, such as 50, in place of `neighbours`.")
  }
  if (!is.null(spec$share)) {
    refuse("a process in space and time is not shared by levels: leave `share` out, or give the time as an input.")
  }
  if (spec$approximation == "fitc") {
    refuse("the evidence of a process in space and time is bounded: leave `approximation` out.")
  }
  if (isTRUE(spec$center)) {
    refuse(paste(
      "a process in space and time is not centred over the rows: leave `center` out. Its level competes with the",
      "intercept, as with center = FALSE."
    ))
  }
  names <- vapply(spec$inputs, variable_name, "")
  if (variable_name(time) %in% names) refuse("`%s` is in space already: leave it out there.", variable_name(time))
  if ("." %in% names) refuse("name the inputs in space: `.` does not go with `time`.")
  kernels <- split_kernel(spec$kernel, variable_name(time), call)
  spec[c("kernel", "time_kernel")] <- kernels
  if (is.null(spec$inducing)) spec["inducing"] <- list(default_space_points)
  spec$center <- FALSE
  spec$time <- time
  spec$shown <- c(names, sprintf("time = %s", variable_name(time)))
  spec$inputs <- c(spec$inputs, time)
  spec$variables <- c(spec$variables, time)
  spec
}

is_in_time <- function(spec) !is.null(spec$time)

#' A kernel in space and time as the product of one in space and one in time
#'
#' Factors with `columns` that are the time alone are in time, others in space.
#' @param time The name of its variable.
#' @return list(space, time)
#' @noRd
split_kernel <- function(kernel, time, call) {
  factors <- kernel_factors(kernel)
  in_time <- vapply(factors, kernel_side, "", time)
  if (any(in_time == "both")) stop_not_separable(kernel, time, call)
  out <- list(
    space = kernel_product(factors[in_time != "time"]), time = kernel_product(factors[in_time == "time"])
  )
  if (is.null(out$space)) out$space <- se()
  out$time <- if (is.null(out$time)) matern12() else on_all_columns(out$time)
  out$space$per_class <- kernel$per_class
  if (!takes_knots(out$time)) {
    stop_galvi("kernel", sprintf(
      "`%s`: a kernel in time must be that of a Markov process with few states: %s, their sums and products, not %s.",
      deparse_one(call), quote_names(markov_kernels()), paste(leaf_types(out$time), collapse = ", ")
    ))
  }
  out
}

kernel_factors <- function(kernel) {
  if (!length(kernel$parts) || is_sum(kernel)) return(list(kernel))
  unlist(lapply(kernel$parts, kernel_factors), recursive = FALSE)
}

# Which inputs do the simple kernels act on: "space", "time", "both" or, as constant() does, "none"?
kernel_side <- function(kernel, time) {
  if (length(kernel$parts)) {
    sides <- setdiff(vapply(kernel$parts, kernel_side, "", time), "none")
    return(if (length(sides) > 1L) "both" else c(sides, "none")[1L])
  }
  if (!facts_of_kernel(kernel)$acts_on_columns) return("none")
  if (!time %in% kernel$columns) "space" else if (length(kernel$columns) > 1L) "both" else "time"
}

kernel_product <- function(kernels) if (length(kernels)) Reduce(`*`, kernels)

on_all_columns <- function(kernel) {
  kernel["columns"] <- list(NULL)
  kernel$parts <- lapply(kernel$parts, on_all_columns)
  kernel
}

markov_kernels <- function() {
  able <- vapply(core_facts$kernel[kernel_words()], function(facts) facts$states > 0 && !facts$origin, NA)
  paste0(kernel_words()[able], "()")
}

stop_not_separable <- function(kernel, time, call) {
  stop_galvi("kernel", sprintf(paste(
    "`%s`: the kernel must be a product of one in space and one in time, as in se() * matern32(columns = \"%s\").",
    "For a sum of processes add gp() terms."
  ), deparse_one(call), time))
}

# ---- the design ----

# Is this column of the inputs the time?
is_time_column <- function(spec) {
  width <- sum(fact_widths(spec))
  is_in_time(spec) & seq_len(width) == width
}

check_time_values <- function(spec) {
  if (!is_in_time(spec)) return(invisible())
  fact <- spec$facts[[length(spec$facts)]]
  if (fact$kind == "number") return(invisible())
  stop_galvi("data", sprintf(
    "`time = %s` must be one column of numbers, dates or times, not %s.", variable_name(spec$time),
    if (fact$kind == "factor") "a factor or text" else "a matrix"
  ))
}

# A process at inducing points in space as one in space and time, with knots.
by_knots_in_time <- function(built, inputs, for_copies, context) {
  spec <- built$spec
  of_time <- is_time_column(spec)
  shares <- space_time_variances(spec)
  kernels <- for_copies(function(inputs, register) {
    kernel_spec(spec$time_kernel, inputs_of(inputs, of_time), function(parameter, ...) {
      register(paste0("time.", parameter), ...)
    }, shares$time(context$default_variance), shares$learned[["time"]])
  })
  built$terms <- Map(function(term, own) {
    knots <- knot_spec(spec, inputs$matrix[, of_time], own, context$registry$table(), most_space_knots, in_space = TRUE)
    utils::modifyList(term, list(type = "knots", knots = knots))
  }, built$terms, kernels)
  built$spec$knots <- built$terms[[1L]]$knots["times"]
  built
}

# The term as one of its inputs in space alone.
spec_in_space <- function(spec) {
  if (!is_in_time(spec)) return(spec)
  last <- length(spec$inputs)
  columns <- !is_time_column(spec)
  spec$inputs <- spec$inputs[-last]
  spec$facts <- spec$facts[-last]
  spec$input_names <- utils::head(spec$input_names, -1L)
  spec$variable <- spec$variable[columns]
  spec$moments <- lapply(spec$moments, `[`, columns)
  spec$time <- NULL
  spec
}

# The inputs of a design in space, or in time.
inputs_of <- function(inputs, columns) {
  inputs$matrix <- inputs$matrix[, columns, drop = FALSE]
  kept <- sort(unique(inputs$variable[columns]))
  inputs$variable <- match(inputs$variable[columns], kept)
  inputs$names <- inputs$names[kept]
  inputs
}

#' Which of the two kernels have the variance: as in a product, the one with several, else that in space; the other's is
#' one
#' @return list(space, time: functions of the variance of the whole that give that of each; learned: of each)
#' @noRd
space_time_variances <- function(spec) {
  of_time <- is_in_time(spec) && !has_several_variances(spec$kernel) && has_several_variances(spec$time_kernel)
  list(
    space = function(variance) if (of_time) 1 else variance,
    time = function(variance) if (of_time) variance else 1,
    learned = c(space = !of_time, time = is_in_time(spec) && has_several_variances(spec$time_kernel))
  )
}
