# Standard deviations and correlations of (1 + x | g): their names, starts and priors.

#' What users gave as `sd` or `cor`: the term's own entry, or that of all such terms
#' @return list(given: is there one?, value; own: is it the term's own?)
#' @noRd
group_prior <- function(context, label, what) {
  for (entries in list(context$group_prior[[label]], context$group_prior)) {
    if (what %in% names(entries)) {
      return(list(given = TRUE, value = entries[[what]], own = identical(entries, context$group_prior[[label]])))
    }
  }
  list(given = FALSE, value = NULL)
}

#' Registers them
#' @param unit For each effect the standard deviation that is a typical one: learning starts there. cor: correlations
#'   where it starts, as correlation_pairs() has them.
#' @return Their positions, named as C++ knows them.
#' @noRd
slopes_hyper <- function(spec, unit, context, cor = 0) {
  check_group_prior(context$group_prior[[spec$label]], spec$label)
  structure <- effect_structures[[spec$structure]]
  facts <- core_facts$field[[structure$model]]
  add <- function(parameter, entry, what, transform, unit = 1, weak = NULL) {
    fact <- facts[facts$name == what, ]
    range <- range(unit) * c(fact$lower, fact$upper)
    context$registry$add(spec$label, parameter, entry, range[1L], range[2L], transform, limited = fact$limited,
      weak = weak)
  }
  unit[!is.finite(unit)] <- max(unit[is.finite(unit)])
  names <- if (spec$hom) "sd" else paste0("sd.", spec$columns)
  unit <- if (spec$hom) mean(unit) else rep_len(unit, length(names))
  given <- slope_sds(spec, group_prior(context, spec$label, "sd")$value, context$absent)
  sd <- vapply(seq_along(names), function(k) {
    default <- if (context$held) 1 else unit[k]
    entry <- as_parameter(cut_at_zero(given[[k]]), sprintf("sd of %s", c(spec$columns, "all effects")[if (spec$hom) {
      length(spec$columns) + 1L
    } else k]), learn(default), number = "hold", variance = FALSE, sd = TRUE)
    add(names[k], entry, "sd", "log", c(unit[k], entry$value), weak_of_sd(unit[k], "sd"))
  }, 1L)
  names <- structure$cor(spec$own_columns)
  if (!length(names)) return(list(sd = sd))
  cor <- slope_correlations(spec, group_prior(context, spec$label, "cor"), cor, context$absent)
  matrix <- spec$structure == "us"
  uniform <- if (matrix) slope_correlations(spec, list(given = TRUE, value = lkj(1)))$prior
  m <- length(names)
  names <- names_in_sets(names, spec)
  list(sd = sd, cor = vapply(seq_along(names), function(i) {
    own <- (i - 1L) %% m + 1L
    entry <- list(value = cor$value[own], learned = cor$learned, prior = cor$prior[[own]])
    # of a matrix the first is its own partial correlation
    add(names[i], entry, "cor", if (matrix && own > 1L) "partial" else "atanh", weak = uniform[[own]])
  }, 1L))
}

# Pairs of effects, row after row of the lower triangle.
correlation_pairs <- function(q) {
  row <- rep(seq_len(q), seq_len(q) - 1L)
  cbind(column = sequence(seq_len(q) - 1L), row = row)
}

# The names of correlations in each set of effects, as split by gr(g, by = f)
names_in_sets <- function(names, spec) {
  sets <- effect_sets(spec)
  if (sets == 1L) return(names)
  paste0(rep(names, sets), ":", variable_name(spec$split), rep(spec$split_levels, each = length(names)))
}

correlation_names <- function(columns) {
  pairs <- correlation_pairs(length(columns))
  paste(columns[pairs[, "column"]], columns[pairs[, "row"]], sep = ".")
}

#' A list with what was given for the standard deviation of every effect
#' @noRd
slope_sds <- function(spec, given, absent) {
  q <- if (spec$hom) 1L else length(spec$columns)
  if (is.list(given) && !is_value(given)) {
    columns <- if (spec$hom) "default" else spec$columns
    find_absent_entries(given, c(columns, "default"), sprintf("the sd of %s", spec$label), absent)
    return(lapply(columns, function(column) chosen_prior(given, c(column, "default"))))
  }
  each <- given_numbers(given)
  if (length(each) > 1L && length(each) != q) {
    absent$found(attr(given, "path"), sprintf(
      "The sd of %s must be one number or %d, for %s, not %d.", spec$label, q, quote_names(spec$columns),
      length(each)
    ))
    return(vector("list", q))
  }
  if (length(each)) rep_len(lapply(each, fixed), q) else rep(list(given), q)
}

find_absent_entries <- function(given, known, what, absent) {
  names <- or_else(names(given), "")
  for (name in names[!without_backticks(names) %in% without_backticks(known)]) {
    absent$found(c(attr(given, "path"), name), sprintf(
      "The prior of %s has an entry `%s`; it may have %s.", what, name, quote_names(known)
    ))
  }
}

check_group_prior <- function(given, label) {
  if (is.null(given)) return(invisible())
  if (!is.list(given) || is_value(given)) {
    stop_galvi("prior", sprintf(
      "`prior$%s` must be a list with `sd` and `cor`, not %s.", label,
      if (is_value(given)) format(given) else describe(given)
    ))
  }
  find_absent_entries(given, c("sd", "cor"), label, new_absent())
}

#' @param start Correlations where learning starts; absent: from new_absent().
#' @return list(value: as the table has it, learned, prior: a list), for every correlation of one set of effects
#' @noRd
slope_correlations <- function(spec, prior, start = 0, absent = new_absent()) {
  structure <- effect_structures[[spec$structure]]
  q <- length(spec$own_columns)
  m <- length(structure$cor(spec$own_columns))
  start <- rep_len(as.numeric(start), m)
  given <- prior$value
  matrix <- spec$structure == "us"
  refusal <- function(what) {
    sprintf("The correlations of %s must be %sNULL or fixed(), not %s.", spec$label, if (matrix) "lkj(), " else "",
      what)
  }
  refuse <- function(what) stop_galvi("prior", refusal(what))
  in_table <- function(cor) if (is.null(structure$numbers)) cor else drop(structure$numbers(rbind(cor), q))
  open <- list(value = in_table(start), learned = TRUE, prior = vector("list", m))
  if (is.null(given) || inherits(given, "galvi_lkj") && !matrix && !isTRUE(prior$own)) return(open)
  if (inherits(given, "galvi_lkj")) {
    if (!matrix) refuse("lkj(), which is a prior of unstructured correlations")
    # of a partial correlation in column j, see src/hyper/prior_density.cpp
    spare <- (q - 1L - correlation_pairs(q)[, "column"]) / 2
    return(list(value = start, learned = TRUE, prior = lapply(given$eta + spare, function(shape) {
      list(type = given$type, shape = shape, eta = given$eta)
    })))
  }
  value <- given_numbers(given)
  if (is.null(value)) refuse(if (is_value(given)) format(given) else describe(given))
  if (length(value) == 1L && value == 0) value <- numeric(m)
  if (length(value) != m) {
    absent$found(attr(given, "path"), refusal(sprintf("%d numbers for %d correlations", length(value), m)))
    return(open)
  }
  value <- in_table(as.numeric(value))
  partial <- transform_arguments(rep(c("atanh", if (matrix) "partial" else "atanh"), c(1L, m - 1L)), value)
  if (anyNA(partial) || any(abs(partial) >= 1)) refuse("numbers that do not make a correlation matrix")
  list(value = value, learned = FALSE, prior = vector("list", m))
}

# Effects of (1 + x | g) are computed on orthogonal axes, and reported for the columns as they were typed.
#
# With z_n the row of the columns and u ~ N(0, S) the effects of its group, z_n'u = w_n'v for W = Z A and u = A v, where
# v ~ N(0, A^-1 S A^-T). Without a prior of S any A gives the same model. A = sqrt(N) R^-1 of Z = Q R makes the columns
# of W orthogonal: an intercept is then that at the mean of x, and years, dates or temperatures in kelvin are as easy as
# centred numbers. The table of hyperparameters has the standard deviations and correlations of v. Everything that users
# see has those of u: what reported_hyper() makes of them.

#' A (q x q), NULL if the columns are orthogonal as they are
#' @noRd
effect_axes <- function(W) {
  q <- ncol(W)
  found <- qr(W, tol = 1e-12)
  if (q == 1L || found$rank < q) return(NULL)
  R <- qr.R(found)
  mixed <- abs(R[upper.tri(R)]) > 1e-8 * sqrt(colSums(R^2))[col(R)[upper.tri(R)]]
  if (!any(mixed)) return(NULL)
  backsolve(R * sign(diag(R)), diag(sqrt(nrow(W)), q))
}

#' Are the standard deviations and correlations of a term left open? A prior is that of what is printed.
#' @noRd
is_open_covariance <- function(spec, context) {
  spec$structure == "us" && is.null(spec$split) && is.null(group_prior(context, spec$label, "sd")$value) &&
    is.null(group_prior(context, spec$label, "cor")$value)
}

on_axes <- function(W, spec) if (is.null(spec$axes)) W else W %*% spec$axes

#' The weights of a row's nodes without some effects
#' @noRd
weights_without <- function(weight, axes, kept) {
  q <- nrow(axes)
  for (first in (seq_len(ncol(weight) %/% q) - 1L) * q) {
    own <- first + seq_len(q)
    weight[, own] <- (weight[, own, drop = FALSE] %*% solve(axes))[, kept, drop = FALSE] %*% axes[kept, , drop = FALSE]
  }
  weight
}

# ---- what is reported ----

#' What differs between the table and what users see, in a list of terms: list(sd, cor: positions in the table; axes),
#' or list(cor, structure, effects) where correlations are functions of the numbers in the table; each once
#' @noRd
term_axes <- function(terms) {
  unique(do.call(c, c(list(list()), unname(lapply(terms, function(term) unname(field_changes(term$field)))))))
}

model_axes <- function(core) {
  unique(do.call(c, c(list(list()), lapply(core$predictors, function(predictor) term_axes(predictor$terms)))))
}

#' Positions in the table whose reported values are others
#' @noRd
reported_positions <- function(core) unlist(lapply(model_axes(core), `[`, c("sd", "cor")))

#' Values of all hyperparameters as the table has them -> as users see them
#' @param values H numbers, or a matrix with H columns.
#' @noRd
reported_hyper <- function(core, values) reported_values(values, model_axes(core))

reported_values <- function(values, changes) changed_values(values, changes, "shown", identity)

#' ... and back
#' @noRd
internal_hyper <- function(values, changes) changed_values(values, changes, "numbers", solve)

changed_values <- function(values, changes, what, of) {
  structured <- vapply(changes, function(change) !is.null(change$structure), NA)
  x <- if (is.matrix(values)) values else matrix(values, 1L)
  for (change in changes[structured]) {
    cor <- x[, change$cor, drop = FALSE]
    x[, change$cor] <- effect_structures[[change$structure]][[what]](cor, change$effects)
  }
  x <- change_axes(x, changes[!structured], of)
  if (is.matrix(values)) x else x[1L, ]
}

#' sd and cor of u = A v from those of v, A = of(axes):   S_ab = sum_jk A_aj A_bk s_j s_k R_jk
#' @noRd
change_axes <- function(x, changes, of) {
  for (change in changes) {
    A <- of(change$axes)
    q <- nrow(A)
    s <- x[, change$sd, drop = FALSE]
    pairs <- correlation_pairs(q)
    at <- matrix(0L, q, q)
    at[pairs] <- at[pairs[, 2:1, drop = FALSE]] <- change$cor
    covariance <- function(a, b) {
      sum <- numeric(nrow(x))
      for (j in seq_len(q)) for (k in seq_len(q)) {
        if (A[a, j] == 0 || A[b, k] == 0) next
        sum <- sum + A[a, j] * A[b, k] * s[, j] * s[, k] * (if (j == k) 1 else x[, at[j, k]])
      }
      sum
    }
    sd <- vapply(seq_len(q), function(a) sqrt(pmax(covariance(a, a), 0)), numeric(nrow(x)))
    sd <- matrix(sd, nrow(x))
    cor <- vapply(seq_len(nrow(pairs)), function(p) {
      r <- covariance(pairs[p, 1L], pairs[p, 2L]) / (sd[, pairs[p, 1L]] * sd[, pairs[p, 2L]])
      pmin(pmax(r, -1), 1)
    }, numeric(nrow(x)))
    x[, change$sd] <- sd
    x[, change$cor] <- cor
  }
  x
}

# A correlation this close to one cannot be told from it.
practically_one <- 0.999

#' Which hyperparameters are at the end of their range, as users see them?
#'
#' @param at_bound The same as the table has it; values: of the table.
#' @noRd
reported_bounds <- function(core, values, at_bound) {
  if (!any(at_bound)) return(at_bound)
  reported <- reported_hyper(core, values)
  for (change in model_axes(core)) {
    own <- c(change$sd, change$cor)
    # of a structure the correlations are at limits together
    if (!is.null(change$structure)) at_bound[own] <- any(at_bound[own])
    if (!any(at_bound[own]) || !is.null(change$structure)) next
    # alone on its axis an effect is this large at the end of its range
    least <- abs(diag(change$axes)) * core$hyper$lower[change$sd]
    zero <- reported[change$sd] <= 3 * least
    pairs <- correlation_pairs(length(change$sd))
    one <- abs(reported[change$cor]) >= practically_one & !zero[pairs[, 1L]] & !zero[pairs[, 2L]]
    # effects that together, but not two by two, are linearly dependent
    if (!any(zero, one)) one <- at_bound[change$cor]
    if (!any(zero, one)) one <- abs(reported[change$cor]) == max(abs(reported[change$cor]))
    at_bound[own] <- c(zero, one)
  }
  at_bound
}
