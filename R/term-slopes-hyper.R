# Standard deviations and correlations of (1 + x | g): their names, starts and priors.

#' What users gave as `sd` or `cor`: the term's own entry, or that of all such terms
#' @return list(given: is there one?, value)
#' @noRd
group_prior <- function(context, label, what) {
  for (entries in list(context$group_prior[[label]], context$group_prior)) {
    if (what %in% names(entries)) return(list(given = TRUE, value = entries[[what]]))
  }
  list(given = FALSE, value = NULL)
}

# Registers them; -> their positions, named as C++ knows them.
slopes_hyper <- function(spec, W, context) {
  check_group_prior(context$group_prior[[spec$label]], spec$label)
  facts <- core_facts$field[[spec$model]]
  add <- function(parameter, entry, what, transform, unit = 1) {
    fact <- facts[facts$name == what, ]
    range <- range(unit) * c(fact$lower, fact$upper)
    context$registry$add(spec$label, parameter, entry, range[1L], range[2L], transform, limited = fact$limited)
  }
  # an effect of this size moves the linear predictor by as much as the response varies
  unit <- sqrt(context$default_variance) / sqrt(colMeans(W^2))
  given <- slope_sds(spec, group_prior(context, spec$label, "sd")$value)
  sd <- vapply(seq_along(spec$columns), function(k) {
    default <- if (context$held) 1 else unit[k]
    entry <- as_parameter(given[[k]], sprintf("sd of %s", spec$columns[k]), learn(default), number = "hold",
      variance = FALSE, sd = TRUE)
    add(paste0("sd.", spec$columns[k]), entry, "sd", "log", c(unit[k], entry$value))
  }, 1L)
  if (spec$model == "diagonal") return(list(sd = sd))
  cor <- slope_correlations(spec, group_prior(context, spec$label, "cor"))
  names <- correlation_names(spec$columns)
  list(sd = sd, cor = vapply(seq_along(names), function(i) {
    entry <- list(value = cor$value[i], learned = cor$learned, prior = cor$prior[[i]])
    # the first is its own partial correlation
    add(paste0("cor.", names[i]), entry, "cor", if (i == 1L) "atanh" else "partial")
  }, 1L))
}

# Pairs of effects, row after row of the lower triangle.
correlation_pairs <- function(q) {
  row <- rep(seq_len(q), seq_len(q) - 1L)
  cbind(column = sequence(seq_len(q) - 1L), row = row)
}

correlation_names <- function(columns) {
  pairs <- correlation_pairs(length(columns))
  paste(columns[pairs[, "column"]], columns[pairs[, "row"]], sep = ".")
}

#' A list with what was given for the standard deviation of every effect
#' @noRd
slope_sds <- function(spec, given) {
  q <- length(spec$columns)
  if (is.list(given) && !is_value(given)) {
    check_known_entries(given, c(spec$columns, "default"), sprintf("the sd of %s", spec$label))
    return(lapply(spec$columns, function(column) {
      if (column %in% names(given)) given[[column]] else given[["default"]]
    }))
  }
  each <- if (is_fixed(given)) given$value else if (is.numeric(given)) given
  if (length(each) > 1L && length(each) != q) {
    stop_galvi("prior", sprintf(
      "The sd of %s must be one number or %d, for %s, not %d.", spec$label, q, quote_names(spec$columns),
      length(each)
    ))
  }
  if (length(each) > 1L) lapply(each, fixed) else rep(list(given), q)
}

check_known_entries <- function(given, known, what) {
  unknown <- setdiff(if (is.null(names(given))) "" else names(given), known)
  if (!length(unknown)) return(invisible())
  stop_galvi("prior", sprintf(
    "The prior of %s has an entry `%s`; it may have %s.", what, unknown[1L], quote_names(known)
  ))
}

check_group_prior <- function(given, label) {
  if (is.null(given)) return(invisible())
  if (!is.list(given) || is_value(given)) {
    stop_galvi("prior", sprintf(
      "`prior$%s` must be a list with `sd` and `cor`, not %s.", label,
      if (is_value(given)) format(given) else describe(given)
    ))
  }
  check_known_entries(given, c("sd", "cor"), label)
}

#' @return list(value, learned, prior: a list), for every correlation
#' @noRd
slope_correlations <- function(spec, prior) {
  pairs <- correlation_pairs(length(spec$columns))
  m <- nrow(pairs)
  given <- prior$value
  refuse <- function(what) {
    stop_galvi("prior", sprintf("The correlations of %s must be lkj(), NULL or fixed(), not %s.", spec$label, what))
  }
  if (is.null(given)) return(list(value = numeric(m), learned = TRUE, prior = vector("list", m)))
  if (inherits(given, "galvi_lkj")) {
    # of a partial correlation in column j, see src/hyper/prior_density.cpp
    spare <- (length(spec$columns) - 1L - pairs[, "column"]) / 2
    return(list(value = numeric(m), learned = TRUE, prior = lapply(given$eta + spare, function(shape) {
      list(type = given$type, shape = shape)
    })))
  }
  value <- if (is_fixed(given)) given$value else if (is.numeric(given)) given
  if (is.null(value)) refuse(if (is_value(given)) format(given) else describe(given))
  if (length(value) == 1L && value == 0) value <- numeric(m)
  if (length(value) != m) refuse(sprintf("%d numbers for %d correlations", length(value), m))
  partial <- transform_arguments(rep(c("atanh", "partial"), c(1L, m - 1L)), as.numeric(value))
  if (anyNA(partial) || any(abs(partial) >= 1)) refuse("numbers that do not make a correlation matrix")
  list(value = as.numeric(value), learned = FALSE, prior = vector("list", m))
}
