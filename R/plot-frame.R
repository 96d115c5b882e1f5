# Plots ask what happens when variables change. They do so on the model frame, whose variables are what the
# formula names (`log(x)`, not x), so that factors, `by` and shared variables need no code of their own.

#' Posterior of eta without the offset at a model frame: list(mean, variance), n x K
#' @noRd
frame_marginals <- function(fit, frame, variance = TRUE) {
  rows <- frame_rows(fit$design, frame)
  marginals <- with_level(fit, latent_at(fit, rows, nrow(frame), variance = variance))
  if (variance) with_between(fit, marginals, rows) else marginals
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
