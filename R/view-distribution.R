# Types about the distribution of a new response (quantile, density, survival, cdf), and its moments.

#' Quantiles, N* x P, or N* x P x 3: the quantile given eta has the posterior that its median and limits describe
#' @noRd
predict_quantile <- function(fit, target, options) {
  marginals <- latent_marginals(fit, target)
  unit <- typed_unit(fit, target)
  names <- paste0(format(100 * options$probs, trim = TRUE, digits = 7), "%")
  if (options$interval == "none") {
    quantiles <- response_quantiles(fit, target, marginals, options$probs, unit)
    warn_large_quantiles("Quantiles", quantiles, target)
    colnames(quantiles) <- names
    return(list(fit = quantiles))
  }
  check_no_classes(fit, "type = \"quantile\"")
  check_one_latent(fit, "`interval = \"credible\"`")
  if (!is.null(target$averaged)) {
    stop_galvi("argument", paste(
      "`interval = \"credible\"` of a quantile is for given groups: with `re_formula = \"integrate\"` use type =",
      "\"response\", \"survival\" or \"cdf\"."
    ))
  }
  parts <- lapply(options$probs, function(p) quantile_limits(fit, target, marginals, p, options$level) / unit)
  warn_large_quantiles("Limits", do.call(cbind, parts), target)
  of <- function(j) unlist(lapply(parts, function(x) x[, j]))
  ends <- list(NULL, names, c("fit", "lwr", "upr"))
  list(fit = array(c(of(2L), of(1L), of(3L)), c(target$n, length(names), 3L), ends))
}

#' What one unit of the response as it was typed is in the likelihood's: a count of successes is one, a proportion is
#' the number of trials
#' @noRd
typed_unit <- function(fit, target) {
  if (is.matrix(stats::model.response(fit$data))) rep(1, target$n) else trials_of(fit, target)
}

#' Lower limit, median and upper limit of the p-quantile of a new response given eta, in which it is monotone: N* x 3
#' @noRd
quantile_limits <- function(fit, target, marginals, p, level) {
  tails <- c(tails(level)[1L], 0.5, tails(level)[2L])
  if (target$n == 0L) return(matrix(numeric(), 0L, 3L))
  if (n_predictors(fit) > 1L) return(quantile_limits_of_all(fit, target, marginals, p, tails))
  quantile <- function(fit, eta, rows) {
    given <- with_known(certain(eta), target$known, rows)
    response_moment(fit, given, "quantile", size = target$size[rows], probability = p)
  }
  limits <- limits_of(fit, marginals, level, quantile)
  # an interval of probability zero is at the median
  out <- cbind(limits[, 1L], limits_of(fit, marginals, 0, quantile)[, 1L], limits[, 2L])
  # between hyperparameters counts were interpolated
  if (is_discrete(fit)) ceiling(out - 1e-9) else out
}

predict_density <- function(fit, target, options) {
  if (is.null(target$y)) {
    stop_galvi("newdata", "type = \"density\" needs the response in `newdata`, as the formula names it.")
  }
  marginals <- latent_marginals(fit, target)
  if (has_classes(fit)) return(list(fit = class_log_probability(fit, marginals, target)))
  known <- target$censoring
  list(fit = response_moment(fit, marginals, "log_density", target$size, target$y, censoring = known))
}

#' log p(y | eta), times the weights that multiply it; eta: a row for each row of the target
#' @noRd
log_density_given <- function(fit, target, eta) {
  known <- with_known(list(mean = eta, variance = 0 * eta), target$known)
  value <- if (has_classes(fit)) class_log_probability(fit, known, target) else {
    response_moment(fit, known, "log_density", target$size, target$y, censoring = target$censoring)
  }
  weighted(value, target$weights)
}

#' P(Y > t) or P(Y <= t): N* x T, or N* x T x 3 with limits of that probability given eta, in which it is
#' monotone
#' @param tail `"upper"` or `"cdf"`.
#' @noRd
predict_tail <- function(tail, fit, target, options) {
  check_no_classes(fit, "A distribution function")
  marginals <- latent_marginals(fit, target)
  at <- function(fit, marginals, y, rows = seq_len(target$n)) {
    response_moment(fit, marginals, tail, size = target$size[rows], y = in_trials(fit, target, y)[rows])
  }
  names <- format(options$at, trim = TRUE, digits = 7)
  columns <- lapply(options$at, function(y) at(fit, marginals, y))
  probability <- matrix(as.numeric(unlist(columns)), target$n, length(names), dimnames = list(NULL, names))
  if (options$interval == "none") return(list(fit = probability))
  check_one_latent(fit, "`interval = \"credible\"`")
  check_population(fit, target, "`interval = \"credible\"`")
  if (n_predictors(fit) > 1L) {
    known <- tail_limits_of_all(fit, tail, target, marginals, options)
    limit <- function(j) as.vector(known[[j]])
  } else {
    limits <- lapply(options$at, function(y) {
      if (!is.null(target$averaged)) {
        of_population <- function(fit, given, rows) at(fit, with_known(given, target$known, rows), y, rows)
        return(population_quantiles(fit, target, tails(options$level), of_population))
      }
      limits_of(fit, marginals, options$level, function(fit, eta, rows) {
        at(fit, with_known(certain(eta), target$known, rows), y, rows)
      })
    })
    limit <- function(j) unlist(lapply(limits, function(x) x[, j]))
  }
  list(fit = array(c(probability, limit(1L), limit(2L)), c(dim(probability), 3L),
    list(NULL, names, c("fit", "lwr", "upr"))))
}

#' A value of the response, as it was typed, in the likelihood's units, for each row
#' @noRd
in_trials <- function(fit, target, y) {
  unit <- typed_unit(fit, target)
  value <- y * unit
  if (all(unit == 1)) return(value)
  # 0.3 of 10 trials are 3
  near <- round(value)
  ifelse(abs(value - near) < 1e-9 * pmax(1, abs(value)), near, value)
}

# Marginals of an eta that is known, K = 1.
certain <- function(eta) list(mean = matrix(eta, ncol = 1L), variance = matrix(0, length(eta), 1L))

#' Quantiles of a new response, N* x length(probs); of the proportion of successes by default
#' @param unit What the likelihood's numbers are divided by.
#' @noRd
response_quantiles <- function(fit, target, marginals, probs, unit = trials_of(fit, target)) {
  check_no_classes(fit, "type = \"quantile\"")
  columns <- lapply(probs, function(p) {
    response_moment(fit, marginals, "quantile", size = target$size, probability = p) / unit
  })
  non_decreasing(matrix(as.numeric(unlist(columns)), target$n, length(probs)), probs)
}

# Each quantile is searched for by itself: where next to no response lies they may differ by the search's rounding, and
# be out of order.
non_decreasing <- function(quantiles, probs) {
  by_size <- order(probs)
  for (k in seq_along(probs)[-1L]) {
    before <- quantiles[, by_size[k - 1L]]
    fallen <- which(quantiles[, by_size[k]] < before)
    quantiles[fallen, by_size[k]] <- before[fallen]
  }
  quantiles
}

#' A moment, density, cdf or quantile of a new response under q(eta); `what` as predict_response() takes it
#'
#' With several states: averages (of logarithms on the natural scale), variances within and between states, and
#' quantiles of the mixture.
#' @param censoring,counts As in the model list: what "log_density" takes instead of y.
#' @noRd
response_moment <- function(fit, marginals, what, size = NULL, y = NULL, probability = NULL,
                            censoring = NULL, counts = NULL) {
  n <- nrow(marginals$mean)
  if (n == 0L) return(numeric())
  of <- function(what, at = seq_len(n), y. = y, probability. = probability) {
    function(state) state_moment(fit, state, what, at, size, y., probability., censoring, counts, marginals$known)
  }
  states <- marginal_states(fit, marginals)
  if (inherits(states, "galvi_points")) return(point_response(fit, states, what, of, probability))
  if (length(states) == 1L) return(of(what)(states[[1L]]))
  switch(what,
    mean = , cdf = , upper = average_states(states, of(what)),
    mean_variance = , variance = {
      parts <- lapply(states, function(state) list(mean = of("mean")(state), variance = of(what)(state)))
      mixture_moments(parts, do.call(cbind, lapply(states, function(state) rep_len(state$weight, n))))$variance
    },
    quantile = mixture_response_quantile(fit, states, of, if (is.null(probability)) 0.5 else probability),
    log_average_states(states, of(what))
  )
}

# Rows times points whose distribution functions take no time worth saving.
few_values <- 2e4

#' The same where the posterior is points: given these everything is known but the response
#' @noRd
point_response <- function(fit, points, what, of, probability) {
  if (what %in% c("mean", "mean_variance", "variance") && never_finite(fit, what)) return(rep(Inf, nrow(points$offset)))
  # distribution functions take microseconds, and for more than a few rows some hundred points are enough
  slow <- what %in% c("cdf", "upper") && nrow(points$offset) * length(points$weight) > few_values
  if (slow) points <- matched_points(points)
  if (what %in% c("mean", "cdf", "upper")) return(average_states(points, of(what)))
  if (what == "quantile") {
    return(point_response_quantile(fit, points, of, if (is.null(probability)) 0.5 else probability))
  }
  if (!what %in% c("mean_variance", "variance")) return(log_average_states(points, of(what)))
  moments <- by_point_rows(points, function(own, at) {
    state <- points_state(own, at)
    means <- weighted_row_moments(of("mean")(state), own$weight)
    if (what == "mean_variance") return(means$variance)
    means$variance + drop(matrix(of("variance")(state), length(at)) %*% own$weight)
  })
  moments[, 1L]
}

#' Is a moment infinite wherever further linear predictors are uncertain? The points' own is finite.
#' @noRd
never_finite <- function(fit, what) {
  others <- n_predictors(fit) - 1L
  if (!is.null(fit$parameter) || others == 0L) return(FALSE)
  isTRUE(is.infinite(response_moment(fit, uncertain_others(others), what)))
}

# Marginals of a row whose first predictor is known, and others are not.
uncertain_others <- function(count) {
  list(mean = matrix(0, 1L, 1L + count), variance = rbind(c(0, rep(1, count))), known = cbind(0, -Inf, Inf))
}

#' @param at Which rows; those of a state of points are `state$rows`, again and again.
#' @noRd
state_moment <- function(fit, state, what, at, size, y, probability, censoring, counts, known) {
  if (is.null(state$rows)) {
    state$mean <- state$mean[at, , drop = FALSE]
    state$variance <- state$variance[at, , drop = FALSE]
  } else {
    at <- state$rows
  }
  if (!is.null(fit$parameter)) return(parameter_moment(fit$family$link, state$mean[, 1L], state$variance[, 1L], what))
  if (is.null(known)) check_nothing_known(fit, what)
  # as many as there are rows of eta, which may be those of several points
  all <- rep_len(at, nrow(state$mean))
  as_galvi_error(predict_response(
    fit$model$likelihood, state$hyper,
    size = if (is.null(size)) 1 else rep_len(size, max(at))[all],
    y = if (is.null(y)) 0 else rep_len(y, max(at))[all],
    mean = state$mean, variance = state$variance,
    what = what, probability = if (is.null(probability)) 0.5 else rep_len(probability, max(at))[all],
    censoring = take_rows_of(censoring, all), counts = take_rows_of(counts, all), known = take_rows_of(known, all),
    threads = fit$control$threads
  ))
}

#' Stops if responses of rows depend on what is not known of these rows: their means on the ends of a truncated one
#' @noRd
check_nothing_known <- function(fit, what) {
  typed <- fit$design$known
  needed <- if (what %in% c("mean", "mean_variance")) c("lb", "ub") else names(known_words)
  if (!length(intersect(names(typed), needed)) || what == "deviance") return(invisible())
  stop_without_word(typed_words(typed), unique(unlist(lapply(typed, all.vars))))
}

#' Quantiles of a mixture over states
#' @param of As in response_moment().
#' @noRd
mixture_response_quantile <- function(fit, states, of, p) {
  n <- nrow(states[[1L]]$mean)
  p <- rep_len(p, n)
  weights <- lapply(states, `[[`, "weight")
  near <- mixture_moments(states, do.call(cbind, lapply(weights, rep_len, n)))
  shares <- vapply(weights, mean, 0, na.rm = TRUE)
  near <- c(near, list(weight = 1, hyper = drop(vapply(states, `[[`, states[[1L]]$hyper, "hyper") %*% shares) / sum(shares)))
  cdf <- function(x, at) average_states(lapply(states, state_rows, at), of("cdf", at, replace(numeric(n), at, x)))
  quantiles <- function(p, at) of("quantile", at, probability. = replace(numeric(n), at, p))
  quantile_near(fit, p, cdf,
    one = function(p, at) quantiles(p, at)(near),
    all = function(p, at) row_range(matrix(vapply(states, quantiles(p, at), numeric(length(at))), length(at))))
}

#' The same where the posterior is points, of which some hundred are enough beside the noise of a response
#' @noRd
point_response_quantile <- function(fit, points, of, p) {
  n <- nrow(points$offset)
  points <- matched_points(points, min(max(100L, 400000L %/% n), 400L))
  p <- rep_len(p, n)
  near <- c(point_moments(points), list(weight = 1, hyper = drop(points$weight %*% points$hyper)))
  cdf <- function(x, at) {
    average_points(point_rows(points, at), function(state) {
      state$rows <- at[state$rows]
      of("cdf", y. = replace(numeric(n), at, x))(state)
    })
  }
  quantiles <- function(p, at) of("quantile", at, probability. = replace(numeric(n), at, p))
  quantile_near(fit, p, cdf,
    one = function(p, at) quantiles(p, at)(near),
    all = function(p, at) {
      by_point_rows(point_rows(points, at), function(own, some) {
        row_range(point_values(own, at[some], quantiles(p, at)))
      })
    })
}

#' Quantiles of a mixture, N numbers
#'
#' They are between quantiles of a distribution that is near the mixture's, at probabilities on both sides of p. Where they
#' are not, they are in the range of those of all parts, which takes longer.
#' @param cdf cdf(x, at): the mixture's in the rows `at`.
#' @param one,all one(p, at): quantiles of the one nearby; all(p, at): the least and the largest of all parts.
#' @noRd
quantile_near <- function(fit, p, cdf, one, all) {
  discrete <- is_discrete(fit)
  ends <- values <- matrix(NA_real_, length(p), 2L)
  # P(Y < y) < p <= P(Y <= y) at the least whole number y and those below and above it
  at_end <- list(
    function(y, at) if (discrete) ifelse(y == 0, 0, cdf(y - 1, at)) else cdf(y, at),
    function(y, at) cdf(y, at)
  )
  for (shift in if (discrete) c(0, 1, 4) else c(0.1, 1, 4)) {
    for (side in 1:2) {
      at <- which(is.na(ends[, side]))
      if (!length(at)) next
      y <- one(stats::plogis(stats::qlogis(p[at]) + c(-shift, shift)[side]), at)
      known <- is.finite(y)
      at <- at[known]
      y <- y[known]
      if (!length(at)) next
      value <- at_end[[side]](y, at)
      found <- which(if (side == 1L) value < p[at] else value >= p[at])
      ends[at[found], side] <- y[found]
      values[at[found], side] <- value[found]
    }
  }
  left <- which(is.na(rowSums(ends)))
  if (length(left)) {
    ends[left, ] <- all(p[left], left)
    values[left, ] <- NA
  }
  lower <- ends[, 1L]
  upper <- ifelse(is.finite(lower) & is.finite(ends[, 2L]), ends[, 2L], lower)
  if (discrete) return(least_whole(cdf, lower, upper, p))
  rising_root(function(x, at) cdf(x, at) - p[at], lower, upper, at_ends = values - p)
}

#' Some rows of a state
#' @noRd
state_rows <- function(state, at) {
  if (length(state$weight) > 1L) state$weight <- state$weight[at]
  state
}

row_range <- function(x) cbind(row_min(x), row_max(x))
