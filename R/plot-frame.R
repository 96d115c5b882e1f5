# Plots ask what happens when variables change. They do so on the model frame, whose variables are what the
# formula names (`log(x)`, not x), so that factors, `by` and shared variables need no code of their own.

#' Rows of the model for a model frame made from that of the fit
#' @noRd
frame_rows <- function(design, frame) {
  # Text of one value has to stay a factor of all its levels.
  frame <- match_classes(frame, attr(design$frame_terms, "dataClasses"), design$xlevels)
  # values are put together that no observation has: a field is zero where its mesh does not reach
  attr(frame, "anywhere") <- TRUE
  list(terms = lapply(design$specs, spec_rows, frame))
}

#' Posterior of eta without the offset at a model frame: list(mean, variance), n x K
#' @noRd
frame_marginals <- function(fit, frame, variance = TRUE) {
  rows <- frame_rows(fit$design, frame)
  marginals <- with_level(fit, latent_at(fit, rows, nrow(frame), variance = variance))
  if (variance) with_between(fit, marginals, rows) else marginals
}

#' Marginals of eta as thresholds at x = 0 have it, where the core's belong to the means of the columns
#' @noRd
with_level <- function(fit, marginals) {
  level <- or_else(fit$design$level, 0)
  if (level == 0) return(marginals)
  marginals$mean <- marginals$mean + level
  if (length(marginals$states)) marginals$states <- lapply(marginals$states, function(state) {
    state$mean <- state$mean + level
    state
  })
  marginals
}

#' Variables of the model frame that eta depends on, as a named list of list(name, column)
#'
#' A matrix that is an input of gp() is one variable per column; elsewhere, as poly(x, 2), it is one.
#' @noRd
frame_variables <- function(fit) {
  fixed <- vapply(as.list(attr(fit$design$terms, "variables"))[-1L], variable_name, "")
  inputs <- unlist(lapply(fit$design$specs, function(spec) vapply(spec$inputs, variable_name, "")))
  other <- unlist(lapply(fit$design$specs, function(spec) if (!is.null(spec$by)) variable_name(spec$by)))
  whole <- function(name) list(list(name = name, column = NULL))
  pieces <- lapply(unique(c(inputs, other, fixed)), function(name) {
    x <- fit$data[[name]]
    if (!is.matrix(x) || !name %in% inputs) return(stats::setNames(whole(name), name))
    columns <- if (is.null(colnames(x))) seq_len(ncol(x)) else colnames(x)
    parts <- lapply(seq_len(ncol(x)), function(j) list(name = name, column = j))
    stats::setNames(parts, paste0(name, columns))
  })
  unlist(pieces, recursive = FALSE)
}

#' Has it values that a panel can tell apart?
#' @noRd
varies <- function(x) {
  if (!is_continuous(x)) return(length(unique(x)) > 1L)
  ends <- range(as.numeric(x))
  diff(ends) > 1e-12 * max(abs(ends))
}

get_variable <- function(frame, variable) {
  x <- frame[[variable$name]]
  if (is.null(variable$column)) x else x[, variable$column]
}

set_variable <- function(frame, variable, value) {
  if (is.null(variable$column)) {
    frame[[variable$name]] <- value
  } else {
    frame[[variable$name]][, variable$column] <- value
  }
  frame
}

take_variable <- function(x, i) if (is.matrix(x)) x[i, , drop = FALSE] else x[i]

#' n equal rows of typical values: medians of numbers, the most frequent level of the rest; numbers that name
#' groups, regions or steps are levels
#' @noRd
typical_frame <- function(fit, n) {
  frame <- fit$data[rep(1L, n), , drop = FALSE]
  by <- unlist(lapply(fit$design$specs, function(spec) if (!is.null(spec$by)) variable_name(spec$by)))
  nodes <- input_names(Filter(has_levels, fit$design$specs))
  for (name in setdiff(names(frame), names(fit$data)[1L])) {
    x <- fit$data[[name]]
    if (is.matrix(x)) {
      frame[[name]][] <- rep(apply(x, 2L, stats::median), each = n)
    } else if (is.numeric(x) && is.null(attr(x, "class")) && !name %in% nodes) {
      value <- stats::median(x)
      # A function multiplied by 0 would not be seen.
      frame[[name]] <- rep(if (name %in% by && value == 0) 1 else value, n)
    } else if (is.factor(x) || is.character(x) || is.logical(x) || name %in% nodes) {
      frame[[name]] <- rep(x[match(names(which.max(table(x))), as.character(x))], n)
    } else {
      frame[[name]] <- rep(sort(x)[ceiling(length(x) / 2)], n)
    }
  }
  frame
}
