# Inducing points of a sparse gp(): where they start, their rows in the hyperparameter table, and the way back
# to the units of the data.

# ---- what the user gave ----

# NULL, a whole number, or points as a matrix or data frame.
check_inducing <- function(x) {
  if (is.null(x) || is.data.frame(x) && nrow(x)) return(x)
  if (is.numeric(x) && is.matrix(x) && length(x)) return(x)
  if (is.numeric(x) && length(x) == 1L && is.finite(x) && x >= 1 && x == round(x)) return(x)
  stop_galvi("argument", sprintf(
    "`inducing` must be a positive whole number, a matrix or a data frame of points, or NULL, not %s.",
    describe(x)
  ))
}

# Points in the inputs' units -> rows like those of the input matrix. Columns are matched by name where they
# have the inputs' names, else by position.
given_points <- function(spec, points) {
  names <- vapply(spec$inputs, variable_name, "")
  owner <- rep(names, vapply(spec$facts, function(fact) max(1L, length(fact$columns)), 1L))
  factors <- names[vapply(spec$facts, `[[`, "", "kind") == "factor"]
  if (is.matrix(points) && length(factors)) {
    stop_galvi("argument", sprintf(
      "`inducing` must be a number, or a data frame with the columns %s: %s is a factor.",
      quote_names(spec$input_names), quote_names(factors)
    ))
  }
  points <- as.data.frame(points, optional = TRUE)
  if (all(spec$input_names %in% names(points))) points <- points[spec$input_names]
  if (length(points) != length(owner)) {
    stop_galvi("argument", sprintf(
      "`inducing` must have one column per input of %s, which are %s, not %d column%s.", spec$label,
      quote_names(spec$input_names), length(points), if (length(points) == 1L) "" else "s"
    ))
  }
  columns <- lapply(seq_along(names), function(j) {
    x <- unname(as.list(points)[owner == names[j]])
    if (names[j] %in% factors) return(point_levels(x[[1L]], names[j], spec$facts[[j]]$levels))
    if (!all(vapply(x, is_number_like, NA))) {
      stop_galvi("argument", sprintf(
        "`inducing`: the points' `%s` must be numbers, as the input is.", names[j]
      ))
    }
    do.call(cbind, lapply(x, as.numeric))
  })
  x <- unname(do.call(cbind, Map(input_columns, columns, spec$facts, names)))
  bad <- which(!is.finite(rowSums(x)))
  if (length(bad)) {
    stop_galvi("argument", sprintf("`inducing` must be finite; point %d is not.", bad[1L]))
  }
  apply_moments(x, spec$moments)
}

point_levels <- function(x, name, levels) {
  unknown <- setdiff(as.character(x), levels)
  if (!length(unknown)) return(as.character(x))
  stop_galvi("argument", sprintf(
    "`inducing`: the points' `%s` has the level %s; the levels in the data are %s.", name,
    quote_names(unknown[1L], "\""), quote_names(levels, "\"")
  ))
}

# ---- where they start ----

# `count` of n rows, or a few less, evenly spread over them but in no step that the data may have: multiples
# of an irrational number, of which `turn` chooses one. No random numbers, so that a fit can be repeated.
spread_over <- function(n, count, turn = 1L) {
  step <- c(0.6180339887, 0.4142135624, 0.7320508076)[turn]
  unique(1L + as.integer(n * ((seq_len(count) * step) %% 1)))
}

# Rows that k-means looks at: cluster centres of more would hardly differ.
kmeans_rows <- function(count) max(2000L, 10L * count)

# x: rows that differ, sorted. The centres of `count` clusters by k-means, the best of three starts, distances
# taken in units of `spread`; columns in `kept` (indicators) take the values of a row in the data.
spread_points <- function(x, count, spread, kept, label) {
  if (nrow(x) > kmeans_rows(count)) x <- x[spread_over(nrow(x), kmeans_rows(count)), , drop = FALSE]
  if (nrow(x) <= count) {
    if (nrow(x) < count) {
      inform_galvi("inducing", sprintf(
        "%s: the inputs have %s, and as many are the inducing points instead of %s.", label,
        if (nrow(x) == 1L) "one distinct row" else paste(nrow(x), "distinct rows"), format(count)
      ))
    }
    return(x)
  }
  scaled <- x / rep(spread, each = nrow(x))
  clusters <- lapply(1:3, function(turn) {
    chosen <- utils::head(unique(c(spread_over(nrow(x), count, turn), seq_len(nrow(x)))), count)
    clusters_from(scaled, scaled[chosen, , drop = FALSE])
  })
  best <- clusters[[which.min(vapply(clusters, `[[`, 0, "tot.withinss"))]]
  points <- best$centers * rep(spread, each = count)
  first <- match(seq_len(count), best$cluster)
  points[, kept] <- x[first, kept]
  unique(unname(points))
}

# k-means from these centres. stats::kmeans() reads a single one as a number of centres, which it draws.
clusters_from <- function(x, centres) {
  if (nrow(centres) == 1L) {
    return(list(centers = t(colMeans(x)), cluster = rep(1L, nrow(x)), tot.withinss = 0))
  }
  # its warnings are about steps that a start does not need
  suppressWarnings(stats::kmeans(x, centres, iter.max = 20L))
}

# Points as rows of the input matrix: given, those of the fit that learning starts from, or spread out.
starting_points <- function(spec, inputs, start) {
  if (!is.null(dim(spec$inducing))) return(given_points(spec, spec$inducing))
  earlier <- if (inherits(start, "galvi")) start$inducing[[spec$label]]
  if (NROW(earlier) == spec$inducing && NCOL(earlier) == length(spec$input_names)) {
    return(given_points(spec, earlier))
  }
  x <- distinct_rows(inputs$matrix, inputs$weights)$x
  # a kernel with one lengthscale takes distances in the inputs' own units
  spread <- if (has_isotropic_leaf(spec$kernel)) {
    rep(1, ncol(x))
  } else {
    unit_if_zero(column_sds(inputs$matrix, inputs$weights))
  }
  spread_points(x, spec$inducing, spread, which(is_indicator(spec)), spec$label)
}

unit_if_zero <- function(x) ifelse(x > 0, x, 1)

# Which columns of the input matrix tell a factor's levels?
is_indicator <- function(spec) rep(vapply(spec$facts, `[[`, "", "kind") == "factor", fact_widths(spec))

# ---- in the model ----

# Enters the points into the hyperparameter table, in units of the inputs' spread so that steps are alike; a
# level stays a level. -> what the border wants to know (see src/prior/term.h)
register_points <- function(spec, points, inputs, context) {
  centre <- column_means(inputs$matrix, inputs$weights)
  scale <- unit_if_zero(column_sds(inputs$matrix, inputs$weights))
  free <- context$move_inducing & !is_indicator(spec)
  value <- (points - rep(centre, each = nrow(points))) / rep(scale, each = nrow(points))
  at <- matrix(0L, nrow(points), ncol(points))
  for (j in seq_len(ncol(points))) for (m in seq_len(nrow(points))) {
    entry <- list(value = value[m, j], learned = free[j], prior = NULL)
    at[m, j] <- context$registry$add(
      spec$label, sprintf("inducing[%d,%d]", m, j), entry, entry$value - 10, entry$value + 10, "identity"
    )
  }
  list(
    coordinates = at, centre = centre, scale = scale, groups = max(1L, length(spec$by_levels)),
    jitter = context$inducing_jitter
  )
}

# The same model of part of the rows, from which learning starts where there are many more; NULL where there
# are not, or no inducing points.
pilot_model <- function(model) {
  points <- sum(vapply(prior_terms(model), function(term) NROW(term$inducing$coordinates), 1L))
  rows <- max(2000L, 20L * points)
  if (!points || length(model$y) < 3L * rows) return(NULL)
  model_of_rows(model, sort(spread_over(length(model$y), rows, 2L)))
}

# Which rows of a hyperparameter table are coordinates of points?
is_point <- function(hyper) startsWith(hyper$parameter, "inducing[")

# FITC averages a row's likelihood over what the points leave open there, which two methods can do.
is_fitc <- function(specs) any(vapply(specs, function(spec) identical(spec$approximation, "fitc"), NA))

fitc_method <- function(method, specs) {
  if (!is_fitc(specs) || method %in% c("ep", "laplace")) return(method)
  if (method == "auto") return("ep")
  stop_galvi("method", sprintf(paste(
    "`approximation = \"fitc\"` goes with method = \"ep\" or \"laplace\", not \"%s\", which bounds the",
    "evidence of the full Gaussian process: leave approximation = \"variational\"."
  ), method))
}

# ---- in the fit ----

# Named by term: the points in the data's units, a matrix with a column per input, or a data frame where
# inputs are factors. NULL without any.
fitted_points <- function(design, model, values) {
  terms <- Filter(function(term) term$type == "inducing", prior_terms(model))
  if (!length(terms)) return(NULL)
  labels <- vapply(terms, `[[`, "", "label")
  specs <- design$specs[match(labels, vapply(design$specs, `[[`, "", "label"))]
  stats::setNames(Map(function(spec, term) {
    at <- term$inducing
    points <- matrix(values[at$coordinates], nrow(at$coordinates))
    in_data_units(spec, points * rep(at$scale, each = nrow(points)) + rep(at$centre, each = nrow(points)))
  }, specs, terms), labels)
}

# Rows of the input matrix -> the data's units.
in_data_units <- function(spec, x) {
  x <- x / rep(spec$moments$factor, each = nrow(x)) + rep(spec$moments$centre, each = nrow(x))
  kinds <- vapply(spec$facts, `[[`, "", "kind")
  if (!any(kinds == "factor")) return(matrix(x, nrow(x), dimnames = list(NULL, spec$input_names)))
  out <- lapply(seq_along(spec$input_names), function(v) {
    columns <- x[, spec$variable == v, drop = FALSE]
    if (!is_indicator(spec)[match(v, spec$variable)]) return(columns[, 1L])
    fact <- spec$facts[[match(spec$input_names[v], vapply(spec$inputs, variable_name, ""))]]
    factor(fact$levels[max.col(columns, "first")], fact$levels)
  })
  as.data.frame(stats::setNames(out, spec$input_names), optional = TRUE)
}
