# Inducing points of a sparse gp(): how they are chosen, their entries in the hyperparameter table, and what the fit
# shows.

# ---- how they are chosen ----

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

# A process by its values at inducing points; in space and time by those in space, which are not moved, as those of a
# field.
by_inducing_points <- function(built, inputs, context) {
  spec <- spec_in_space(built$spec)
  places <- inputs_of(inputs, !is_time_column(built$spec))
  context$move_inducing <- context$move_inducing && !is_in_time(built$spec)
  points <- register_points(spec, starting_points(spec, places, context$start), places, context)
  built$terms <- lapply(built$terms, utils::modifyList, list(type = "inducing", inducing = points))
  built
}

# Points as rows of the input matrix: those that the user gave, those of the fit that learning starts from, or
# cluster centres of the inputs.
starting_points <- function(spec, inputs, start) {
  if (!is.null(dim(spec$inducing))) return(given_points(spec, spec$inducing))
  earlier <- if (inherits(start, "galvi")) start$inducing[[spec$label]]
  if (NROW(earlier) == spec$inducing && NCOL(earlier) == length(spec$input_names)) {
    return(given_points(spec, earlier))
  }
  x <- distinct_rows(inputs$matrix, inputs$weights)$x
  # a kernel with one lengthscale takes distances in the inputs' own units
  scale <- if (has_isotropic_leaf(spec$kernel)) {
    rep(1, ncol(x))
  } else {
    unit_if_zero(column_sds(inputs$matrix, inputs$weights))
  }
  cluster_centres(x, spec$inducing, scale, which(is_indicator(spec)), spec$label)
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

# The maximum number of rows for k-means: more would hardly change the centres.
kmeans_rows <- function(count) max(2000L, 10L * count)

# The centres of `count` clusters by k-means, the best of three starts, with distances in units of `scale`.
# Columns in `kept` (indicators) take the values of a row of the cluster.   x: distinct rows, sorted
cluster_centres <- function(x, count, scale, kept, label) {
  if (nrow(x) > kmeans_rows(count)) x <- x[spread_over(nrow(x), kmeans_rows(count)), , drop = FALSE]
  if (nrow(x) <= count) {
    if (nrow(x) < count) {
      inform_galvi("inducing", sprintf(
        "%s: the inputs have only %s, so as many inducing points are used instead of %s.", label,
        if (nrow(x) == 1L) "one distinct row" else paste(nrow(x), "distinct rows"), format(count)
      ))
    }
    return(x)
  }
  scaled <- x / rep(scale, each = nrow(x))
  clusters <- lapply(1:3, function(turn) {
    chosen <- utils::head(unique(c(spread_over(nrow(x), count, turn), seq_len(nrow(x)))), count)
    clusters_from(scaled, scaled[chosen, , drop = FALSE])
  })
  best <- clusters[[which.min(vapply(clusters, `[[`, 0, "tot.withinss"))]]
  points <- best$centers * rep(scale, each = count)
  first <- match(seq_len(count), best$cluster)
  points[, kept] <- x[first, kept]
  unique(unname(points))
}

# k-means from these centres. stats::kmeans() would take a single one for the number of centres.
clusters_from <- function(x, centres) {
  if (nrow(centres) == 1L) {
    return(list(centers = t(colMeans(x)), cluster = rep(1L, nrow(x)), tot.withinss = 0))
  }
  # k-means warns where it has not converged, which a start need not
  suppressWarnings(stats::kmeans(x, centres, iter.max = 20L))
}

# Which columns of the input matrix are indicators of a factor's levels?
is_indicator <- function(spec) rep(vapply(spec$facts, `[[`, "", "kind") == "factor", fact_widths(spec))

# ---- in the model ----

# Enters the points into the hyperparameter table, in units of the inputs' sds so that the optimiser's steps are
# of one size; a factor's indicators stay fixed. Returns the term's InducingSpec (src/prior/term.h).
register_points <- function(spec, points, inputs, context) {
  centre <- column_means(inputs$matrix, inputs$weights)
  scale <- unit_if_zero(column_sds(inputs$matrix, inputs$weights))
  free <- context$move_inducing & !is_indicator(spec)
  value <- (points - rep(centre, each = nrow(points))) / rep(scale, each = nrow(points))
  entry <- list(value = value, learned = rep(free, each = nrow(points)), prior = NULL)
  at <- context$registry$add(spec$label, "inducing", entry, value - 10, value + 10, "identity")
  list(
    coordinates = at, centre = centre, scale = scale,
    groups = if (is.null(spec$share)) max(1L, length(spec$by_levels)) else spec$share$count,
    jitter = context$inducing_jitter
  )
}

