# Smooths with few columns in a row: a function for each level (bs = "fs"), regions (bs = "mrf") and random effects
# (bs = "re"). Their coefficients are nodes of a field.

# ---- which ----

#' A smooth as nodes of a field, NULL where it is columns
#' @noRd
sparse_layout <- function(spec, data, by, n) {
  if (spec$type != "s") return(NULL)
  switch(or_else(spec$bases, ""), fs = level_functions(spec, data, by, n), mrf = regions(spec, data, by))
}

#' s(x, g, bs = "fs"): node (j - 1) p + i is coefficient i of level j, and penalties are diagonal, each of some of them
#' @noRd
level_functions <- function(spec, data, by, n) {
  factors <- vapply(data[spec$smooth$term], is.factor, NA)
  if (sum(factors) != 1L || length(factors) < 2L || isTRUE(spec$smooth$fixed)) return(NULL)
  if (is.factor(by)) {
    stop_galvi("argument", sprintf("`%s`: a function for each level has no factor `by`: use their interaction.",
      spec$label))
  }
  # for each level the same columns, which mgcv has once for gamm()
  attr(spec$smooth, "gamm") <- TRUE
  smooth <- mgcv_smooths(spec, data, n)[[1L]]
  diagonal <- vapply(smooth$S, diag, numeric(ncol(smooth$X)))
  alone <- all(rowSums(diagonal > 0) == 1) && all(vapply(smooth$S, function(S) all(S == diag(diag(S))), NA))
  if (!alone || !identical(smooth$flev, levels(data[[smooth$fterm]]))) return(NULL)
  list(layout = "levels", smooths = list(smooth), diagonal = diagonal)
}

#' s(region, bs = "mrf") of full rank, where the map is in one piece
#' @noRd
regions <- function(spec, data, by) {
  if (!is.null(by) || length(spec$inputs) != 1L || !is.null(spec$smooth$id) || !is.null(spec$smooth$point.con) ||
    isTRUE(spec$smooth$fixed)) return(NULL)
  x <- data[[1L]]
  if (!is.factor(x)) x <- factor(x)
  names <- levels(or_else(smooth_knots(spec, stats::setNames(list(x), spec$smooth$term))[[1L]], x))
  if (spec$smooth$bs.dim > 0 && spec$smooth$bs.dim < length(names)) return(NULL)
  # a row for each region: the penalty is that of the map
  own <- stats::setNames(list(factor(names, names)), spec$smooth$term)
  smooth <- mgcv_smooths(spec, own, length(names), absorb = FALSE)[[1L]]
  S <- smooth$S[[1L]]
  if (length(names) < 2L || length(smooth$S) != 1L || !is.null(smooth$P) || !in_one_piece(S)) return(NULL)
  if (max(abs(rowSums(S))) > 1e-9 * max(abs(S))) return(NULL)
  list(layout = "regions", smooths = list(smooth), names = names, S = S)
}

# Are all nodes of a matrix connected by entries that are not zero?
in_one_piece <- function(S) {
  reached <- seq_len(nrow(S)) == 1L
  repeat {
    more <- reached | colSums(S[reached, , drop = FALSE] != 0) > 0
    if (all(more == reached)) return(all(reached))
    reached <- more
  }
}

# ---- design ----

#' A sparse layout as a field, with a part of its precision for each variance
#' @noRd
sparse_smooth <- function(spec, made, frame, context) {
  smooth <- made$smooths[[1L]]
  of_levels <- made$layout == "levels"
  found <- if (of_levels) levels_field(made, smooth) else regions_field(made, spec, frame)
  spec$sparse <- found$sparse
  spec$penalties <- found$structure$precision
  spec$hyper <- smooth_hyper(spec, NULL, length(spec$penalties), context$default_variance / found$variance, context)
  spec$smooth <- slim_smooth(smooth)
  list(
    spec = spec, rows = if (of_levels) function_rows(spec, smooth$X, frame) else sparse_smooth_rows(spec, frame),
    term = list(type = "field", label = spec$label, field = field_list(found$structure, list(variance = spec$hyper)),
      mean = numeric(), factors = matrix(0L, 0L, 2L))
  )
}

#' Functions of levels, whose coefficients are independent
#' @return list(structure: of the field; sparse: what new rows need; variance: the mean one of the rows, at variances of
#'   one).
#' @noRd
levels_field <- function(made, smooth) {
  p <- ncol(smooth$X)
  n_levels <- length(smooth$flev)
  # the penalty of each coefficient
  owner <- max.col(made$diagonal, "first")
  own <- made$diagonal[cbind(seq_len(p), owner)]
  precision <- lapply(seq_len(ncol(made$diagonal)), function(k) {
    at <- which(owner == k)
    diagonal_triplets(rep(own[at], n_levels), rep((seq_len(n_levels) - 1L) * p, each = length(at)) + at)
  })
  list(
    structure = list(model = "iid", size = p * n_levels, more = 0L, precision = precision),
    sparse = list(levels = smooth$flev, width = p), variance = mean(rowSums(smooth$X^2 / rep(own, each = nrow(smooth$X))))
  )
}

#' Effects of regions, which add up to zero over the rows
#' @inherit levels_field return
#' @noRd
regions_field <- function(made, spec, frame) {
  size <- length(made$names)
  at <- which(lower.tri(made$S, TRUE) & made$S != 0, arr.ind = TRUE)
  node <- match(as.character(smooth_data(spec, frame)[[1L]]), made$names)
  share <- tabulate(node, size) / length(node)
  used <- which(share > 0)
  structure <- list(
    model = "besag", size = size, more = 0L, precision = list(triplets(at[, 1L], at[, 2L], made$S[at])),
    constraints = triplets(used, rep(1L, length(used)), share[used]), pins = used[1L]
  )
  variances <- field_variances(field_list(structure, list(variance = 1L)))
  list(structure = structure, sparse = list(regions = made$names), variance = mean(variances[node]))
}

#' @noRd
sparse_smooth_rows <- function(spec, frame) {
  data <- smooth_data(spec, frame)
  if (is.null(spec$sparse$regions)) return(function_rows(spec, level_columns(spec, data, nrow(frame)), frame))
  x <- as.character(data[[1L]])
  node <- match(x, spec$sparse$regions)
  if (anyNA(node)) {
    stop_galvi("data", sprintf("`%s` has no region %s.%s", spec$label, quote_names(x[is.na(node)][1L], "\""),
      did_you_mean(x[is.na(node)][1L], spec$sparse$regions)))
  }
  list(node = matrix(node))
}

# The columns that all levels have: mgcv is told that there is one level.
level_columns <- function(spec, data, n) {
  one <- spec$smooth
  one$flev <- one$flev[1L]
  data[[one$fterm]] <- factor(rep(one$flev, n), spec$sparse$levels)
  predicted_columns(one, data, n, spec$label)
}

function_rows <- function(spec, X, frame) {
  group <- match(as.character(smooth_data(spec, frame)[[spec$smooth$fterm]]), spec$sparse$levels)
  p <- spec$sparse$width
  list(
    node = matrix(as.integer(rep((group - 1L) * p, p) + rep(seq_len(p), each = length(group))), length(group), p),
    weight = unname(X)
  )
}

# ---- bs = "re" ----

#' @export
design_term.re_term <- function(spec, frame, context) {
  factors <- vapply(spec$inputs, function(input) {
    x <- frame[[variable_name(input)]]
    is.factor(x) || is.character(x)
  }, NA)
  if (!any(factors)) {
    name <- variable_name(spec$inputs[[1L]])
    stop_galvi("data", sprintf(paste(
      "`%s`: random effects need a factor, and `%s` is numbers. Write factor(%s) for an effect of each value, or, for",
      "a slope with a learned prior, `%s` and prior = list(%s = normal(0, learn(1)))."
    ), spec$label, name, name, name, list_names(name)))
  }
  slopes <- c(spec$inputs[!factors], spec$by)
  check_slopes(slopes, spec, frame)
  spec$inputs <- spec$inputs[factors]
  if (sum(factors) > 1L) spec$shown <- paste(vapply(spec$inputs, variable_name, ""), collapse = ":")
  spec["by"] <- list(if (length(slopes)) slopes[[1L]])
  design_term.field_term(spec, frame, context)
}

check_slopes <- function(slopes, spec, frame) {
  for (slope in slopes) {
    x <- frame[[variable_name(slope)]]
    if (is_number_like(x) && is.null(dim(x))) next
    stop_galvi("data", sprintf("`%s`: `%s` must be numbers beside a factor, not %s.", spec$label, variable_name(slope),
      describe(x)))
  }
  if (length(slopes) < 2L) return(invisible())
  stop_galvi("formula", sprintf(
    "`%s`: beside factors there can be one variable of numbers: write their product, I(%s).", spec$label,
    paste(vapply(slopes, variable_name, ""), collapse = " * ")
  ))
}

# Combinations of several factors.
#' @export
field_values.re_term <- function(spec, frame) {
  values <- lapply(spec$inputs, function(input) frame[[variable_name(input)]])
  if (length(values) == 1L) return(values[[1L]])
  factor(do.call(paste, c(lapply(values, as.character), sep = ":")))
}
