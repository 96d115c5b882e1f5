# Inputs of gp(): what is remembered of the variables, their columns, `scale` and `by`.

# What predictions need to know of a variable: its kind, levels and column names.
input_facts <- function(x, name) {
  if ((is.character(x) || is.factor(x)) && is.null(dim(x))) {
    levels <- if (is.factor(x)) levels(x) else sort(unique(x))
    if (is.character(x)) inform_number_text(levels, name)
    return(list(kind = "factor", levels = levels))
  }
  if (!is_number_like(x)) {
    stop_galvi("data", sprintf(
      "`%s` must be numbers, a factor, text or logical to be an input of gp(), not %s.", name, describe(x)
    ))
  }
  if (!is.matrix(x)) return(list(kind = "number"))
  columns <- colnames(x)
  list(kind = "matrix", columns = if (is.null(columns)) as.character(seq_len(ncol(x))) else columns)
}

# Text is levels of a factor, without order or distances. Where all of several levels read as numbers, dates or times that
# may not be what is meant, but it may: codes are numbers too.
inform_number_text <- function(levels, name) {
  if (length(levels) < 3L) return(invisible())
  day <- "^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
  as <- if (!anyNA(suppressWarnings(as.numeric(levels)))) {
    "as.numeric"
  } else if (all(grepl(paste0(day, "$"), levels))) {
    "as.Date"
  } else if (all(grepl(paste0(day, "[ T][0-9]{1,2}:[0-9]{2}"), levels))) "as.POSIXct"
  if (is.null(as)) return(invisible())
  inform_galvi("text", sprintf(paste(
    "`%s` is text: gp() takes its %d values as levels of a factor, without order or distances, though they look like %s.",
    "Write %s(%s) to have them as such, or factor(%s) for levels."
  ), name, length(levels), if (as == "as.numeric") "numbers" else if (as == "as.Date") "dates" else "times", as, name,
  name))
}

is_number_like <- function(x) {
  is.numeric(x) || is.logical(x) || inherits(x, c("Date", "POSIXct", "difftime"))
}

# All inputs of a term, N x p; variable[j] is the variable that column j belongs to.
input_block <- function(spec, frame) {
  n <- nrow(frame)
  names <- vapply(spec$inputs, variable_name, "")
  columns <- Map(function(fact, name) input_columns(frame[[name]], fact, name), spec$facts, names)
  width <- vapply(columns, NCOL, 1L)
  matrix <- matrix(unlist(columns, use.names = FALSE), n, sum(width))
  bad <- which(!is.finite(colSums(matrix)))
  if (length(bad)) check_finite_inputs(matrix, rep(names, width))
  # a factor is one variable whatever its width, a matrix has one per column
  owns <- vapply(spec$facts, function(fact) fact$kind != "matrix", NA)
  variables <- ifelse(owns, 1L, width)
  first <- cumsum(c(0L, variables))[seq_along(variables)]
  variable <- unlist(Map(function(w, own, f) if (own) rep(f + 1L, w) else f + seq_len(w), width, owns, first))
  labels <- unlist(Map(
    function(fact, name) if (fact$kind == "matrix") paste0(name, fact$columns) else name, spec$facts, names
  ))
  list(matrix = matrix, variable = as.integer(variable), names = as.character(labels))
}

input_columns <- function(x, fact, name) {
  if (fact$kind != "factor") {
    if (NCOL(x) != max(1L, length(fact$columns))) {
      stop_galvi("data", sprintf("`%s` must have %d columns, not %d.", name, length(fact$columns), NCOL(x)))
    }
    return(matrix(as.numeric(x), NROW(x), NCOL(x)))
  }
  (outer(as.character(x), fact$levels, "==") + 0) / sqrt(2)
}

check_finite_inputs <- function(matrix, names) {
  for (j in seq_len(ncol(matrix))) {
    bad <- which(!is.finite(matrix[, j]))
    if (length(bad)) {
      stop_galvi("data", sprintf("`%s` must be finite; %s.", names[j], found_in_rows(matrix[, j], bad)))
    }
  }
}

#' Stops at a simple kernel all of whose inputs are constant. One constant input among others, as a pixel that is dark in
#' all pictures, changes nothing.
#' @noRd
check_inputs_vary <- function(spec, inputs) {
  rows <- which(inputs$weights > 0)
  if (length(rows) < 2L) return(invisible())
  slope <- !is.null(spec$by) && is.null(spec$by_levels)
  constant <- apply(inputs$matrix[rows, , drop = FALSE], 2L, function(x) all(x == x[1L]))
  check <- function(kernel, at) {
    for (leaf in Filter(function(leaf) facts_of_kernel(leaf)$acts_on_columns, kernel_leaves(kernel))) {
      used <- kernel_variables(leaf, inputs_of(inputs, at))
      if (!all(constant[at][unlist(used)])) next
      stop_galvi("data", sprintf(
        "`%s`: `%s` has one value in these data, so that %s.", spec$label, names(used)[1L],
        if (!all(constant)) "its part of the kernel is not determined: leave it out" else if (slope) {
          sprintf("the process is a slope of `%1$s`: leave the term out, or write %1$s", variable_name(spec$by))
        } else "the process is a constant: leave it out"
      ))
    }
  }
  of_time <- is_time_column(spec)
  check(spec$kernel, !of_time)
  if (any(of_time)) check(spec$time_kernel, of_time)
}

# ---- scale = TRUE ----

# centre and factor per column, from the training rows. Isotropic kernels get columns of a common standard
# deviation, the geometric mean of theirs, which leaves a single input's lengthscale in its own units.
input_moments <- function(spec, x, weights) {
  p <- ncol(x)
  moments <- list(centre = numeric(p), factor = rep(1, p))
  if (!spec$scale) return(moments)
  numbers <- !is_indicator(spec) & !is_time_column(spec)
  sd <- column_sds(x, weights)
  moments$centre[numbers] <- column_means(x, weights)[numbers]
  varies <- numbers & sd > 0
  if (any(varies) && has_isotropic_leaf(spec$kernel)) {
    moments$factor[varies] <- exp(mean(log(sd[varies]))) / sd[varies]
  }
  moments
}

fact_widths <- function(spec) {
  vapply(spec$facts, function(fact) {
    switch(fact$kind, factor = length(fact$levels), matrix = length(fact$columns), 1L)
  }, 1L)
}

apply_moments <- function(x, moments) {
  if (all(moments$centre == 0) && all(moments$factor == 1)) return(x)
  (x - rep(moments$centre, each = nrow(x))) * rep(moments$factor, each = nrow(x))
}

has_isotropic_leaf <- function(kernel) {
  if (length(kernel$parts)) return(any(vapply(kernel$parts, has_isotropic_leaf, NA)))
  !isTRUE(kernel$ard) && facts_of_kernel(kernel)$metric
}

# With one lengthscale, distances are dominated by the column with the largest standard deviation.
inform_scales <- function(spec, kernel, x) {
  sd <- column_sds(x)
  factors <- is_indicator(spec)
  for (leaf in kernel_leaves(kernel)) {
    if (!facts_of_kernel(leaf)$metric) next
    shared <- unlist(leaf$hyper[parameters_in_role(leaf, "lengthscale")])
    if (is.null(shared)) shared <- unlist(leaf$hyper[parameters_in_role(leaf, "variance")])
    if (length(unique(shared)) > 1L) next
    at <- leaf$columns[!factors[leaf$columns] & sd[leaf$columns] > 0]
    if (length(at) < 2L || max(sd[at]) < 100 * min(sd[at])) next
    wide <- spec$input_names[spec$variable[at[which.max(sd[at])]]]
    narrow <- spec$input_names[spec$variable[at[which.min(sd[at])]]]
    inform_galvi("scale", sprintf(paste(
      "%s: the standard deviation of `%s` is %s times that of `%s`, and the kernel has one lengthscale for",
      "both. Use scale = TRUE in gp(), or ard = TRUE in the kernel."
    ), spec$label, wide, format(max(sd[at]) / min(sd[at]), digits = 2), narrow))
    return(invisible())
  }
}

kernel_leaves <- function(kernel) {
  if (!length(kernel$parts)) return(list(kernel))
  unlist(lapply(kernel$parts, kernel_leaves), recursive = FALSE)
}

# ---- by ----

# Levels of a factor `by`, NULL for numbers.
by_levels <- function(x, name) {
  if (is.factor(x)) return(levels(x))
  if (is.character(x)) return(sort(unique(x)))
  if (is_number_like(x) && is.null(dim(x))) return(NULL)
  stop_galvi("data", sprintf("`by = %s` must be numbers or a factor, not %s.", name, describe(x)))
}

# Numbers `by` multiply a function of one, so that its default variance is per squared unit of them.
per_unit_of_by <- function(context, spec, frame) {
  x <- if (!is.null(spec$by) && is.null(spec$by_levels)) as.numeric(frame[[variable_name(spec$by)]])
  size <- if (length(x)) weighted_mean(x^2, context$weights) else 1
  if (is.finite(size) && size > 0) context$default_variance <- context$default_variance / size
  context
}

# list(by = N numbers) or list(group = N integers) or nothing.
by_rows <- function(spec, frame) {
  if (is.null(spec$by)) return(NULL)
  x <- frame[[variable_name(spec$by)]]
  if (!is.null(spec$by_levels)) return(list(group = match(as.character(x), spec$by_levels)))
  x <- as.numeric(x)
  check_finite_inputs(matrix(x), paste("by =", variable_name(spec$by)))
  list(by = x)
}

# ---- kernels with finitely many columns ----

# With a factor `by` every level has its own copy of the columns, zero in the rows of the others.
finite_rows <- function(spec, x, frame) {
  W <- finite_design(spec$finite, x)
  by <- by_rows(spec, frame)
  if (!is.null(by$by)) W <- W * by$by
  if (!is.null(by$group)) {
    W <- do.call(cbind, lapply(seq_along(spec$by_levels), function(level) W * (by$group == level)))
  }
  list(W = W)
}

# The factors of the variances of all columns. finite: one set of columns, which all levels share, or one for each.
finite_factors <- function(finite, spec) {
  if (length(finite) == 1L) finite <- rep(finite, max(1L, length(spec$by_levels)))
  do.call(rbind, lapply(finite, `[[`, "factors"))
}
