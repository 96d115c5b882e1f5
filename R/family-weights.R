# The argument `weights`: what its numbers mean, and how they are checked. In the model list `weights` multiply the log
# likelihood of a row; where they divide its dispersion instead, they are its `size`, and `weights` are 0 or 1.

# ---- what is typed ----

#' Is `weights` written as frequency(n)? The word is understood inside that argument alone.
#' @noRd
counts_rows <- function(expr) is.call(expr) && identical(expr[[1L]], quote(frequency))

#' Is it standard_error(s), which y | se(s) becomes?
#' @noRd
is_standard_error <- function(expr) is.call(expr) && identical(expr[[1L]], quote(standard_error))

#' The expression that the numbers of `weights` are read from: n for frequency(n), s for standard_error(s)
#' @noRd
weight_numbers <- function(expr) {
  if (!counts_rows(expr) && !is_standard_error(expr)) return(expr)
  if (length(expr) == 2L && is.null(names(expr))) return(expr[[2L]])
  stop_galvi("argument", sprintf(
    "`weights = %s`: frequency() takes one vector, the number of rows that each row stands for, as in frequency(n).",
    deparse_one(expr)
  ))
}

#' The weights of a model frame's rows; a standard error s is the weight 1 / s^2
#'
#' @param expr What was typed.
#' @noRd
row_weights <- function(frame, expr) {
  x <- stats::model.weights(frame)
  if (!is_standard_error(expr) || is.null(x)) return(x)
  check_standard_errors(x, deparse_one(expr[[2L]]))
  1 / x^2
}

check_standard_errors <- function(x, name) {
  if (!is.numeric(x)) stop_galvi("argument", sprintf("`se(%s)` must be numbers, not %s.", name, describe(x)))
  # a missing one leaves its row out
  bad <- which(!is.na(x) & !(is.finite(x) & x > 0))
  if (length(bad)) {
    stop_galvi("argument", sprintf("`se(%s)` must be positive, finite numbers; %s.", name, found_in_rows(x, bad)))
  }
}

# Beyond, products with other numbers of a model overflow or vanish.
largest_weight <- 1e100

# all: are these the weights of all rows? Then one must be positive.
check_weights <- function(weights, n, all = TRUE) {
  if (is.null(weights)) return(rep(1, n))
  if (!is.numeric(weights) || !is.null(dim(weights)) && ncol(weights) != 1L) {
    stop_galvi("argument", sprintf("`weights` must be numbers, not %s.", describe(weights)))
  }
  weights <- as.numeric(weights)
  bad <- which(!is.finite(weights) | weights < 0)
  if (length(bad)) {
    stop_galvi("argument", sprintf(
      "`weights` must be finite and not negative; %s.", found_in_rows(weights, bad)
    ))
  }
  bad <- which(weights > largest_weight | weights > 0 & weights < 1 / largest_weight)
  if (length(bad)) {
    stop_galvi("argument", sprintf(
      "`weights` must be 0 or between %s and %s; %s. Divide all of them by the largest, if they divide a dispersion.",
      format(1 / largest_weight), format(largest_weight), found_in_rows(weights, bad)
    ))
  }
  if (all && n && !any(weights > 0)) stop_galvi("argument", "`weights` are all zero: no rows are left to fit.")
  weights
}

# ---- what they mean ----

#' Do weights divide the dispersion of a row, as in exponential dispersion models? Of the likelihood for a Surv() if
#' `survival`.
#' @noRd
weights_divide <- function(family, survival = FALSE) {
  type <- family_type(family)
  likelihood <- (if (survival) type$censored else type$links)[family$link]
  isTRUE(unname(fact("likelihood", likelihood, "divides_dispersion")))
}

# The names of parameters that such weights divide or multiply.
dividing_parameters <- function(family) {
  parameters <- family_type(family)$parameters
  names(parameters)[vapply(parameters, function(parameter) or_else(parameter$per_weight, 0) != 0, NA)]
}

#' The response as read, with weights in their place: those that divide a dispersion become sizes
#' @noRd
place_weights <- function(response, weights, family, survival, counted) {
  n <- length(response$y)
  if (is.null(response$size)) response$size <- rep(1, n)
  if (is.null(response$weights)) response$weights <- weights
  response$weights <- as.numeric(response$weights)
  if (counted || !weights_divide(family, survival)) return(response)
  used <- response$weights > 0
  response$size <- ifelse(used, response$weights, 1)
  response$weights <- as.numeric(used)
  response
}

#' Does `size` of each row divide its dispersion? Elsewhere it is the number of trials.
#' @param x A fit or a design. @param rows What has `size`: a model, target or design.
#' @noRd
divided_rows <- function(x, rows) {
  n <- length(rows$size)
  if (!is_mixed(x$family)) return(rep(weights_divide(x$family), n))
  part <- if (is.null(rows[["part"]])) x$model[["part"]] else rows[["part"]]
  vapply(x$family$parts, weights_divide, NA)[part]
}

#' Numbers of trials; 1 where the response counts none
#' @noRd
trials_of <- function(x, rows) ifelse(divided_rows(x, rows), 1, rows$size)

#' What divides the dispersion of each row; 1 elsewhere
#' @noRd
divisors_of <- function(x, rows) ifelse(divided_rows(x, rows), rows$size, 1)

#' One weight for all rows that are used: the geometric mean, so that starts and priors of a dispersion move with the
#' unit of weights
#' @noRd
common_weight <- function(family, response) weight_range(family, response)[["common"]]

#' The same with the least and the largest weight
#' @noRd
weight_range <- function(family, response) {
  if (!weights_divide(family, !is.null(response$survival))) return(c(common = 1, least = 1, largest = 1))
  used <- response$size[response$weights > 0]
  c(common = exp(weighted_mean(log(response$size), response$weights)), least = min(used), largest = max(used))
}
