# Responses that are one of several classes: probabilities of all of them, from the marginals of the latents.

predict_prob <- function(fit, target, options) {
  levels <- check_classes(fit, "prob")
  marginals <- latent_marginals(fit, target)
  if (!has_classes(fit)) return(two_probabilities(fit, target, marginals, levels, options))
  if (options$se.fit) check_population(fit, target, "`se.fit = TRUE`")
  moments <- if (options$se.fit) class_moments(fit, marginals) else list(mean = class_probabilities(fit, marginals))
  limits <- if (options$interval == "credible") drawn_class_limits(fit, target, options$level)
  list(fit = with_class_limits(moments$mean, limits), se.fit = moments$sd)
}

#' For a binomial family, whose second level is the success. Both columns are accurate where they are small.
#' @noRd
two_probabilities <- function(fit, target, marginals, levels, options) {
  both <- exp(cbind(response_moment(fit, marginals, "log_rest"), response_moment(fit, marginals, "log_mean")))
  limits <- if (options$interval == "credible") {
    success <- mean_limits(fit, target, marginals, options$level)
    array(c(1 - success[, 2L], success[, 1L], 1 - success[, 1L], success[, 2L]), c(dim(both), 2L))
  }
  both <- `colnames<-`(both / rowSums(both), levels)
  sd <- if (options$se.fit) mean_sd(fit, target, marginals)
  list(fit = with_class_limits(both, limits), se.fit = if (options$se.fit) `colnames<-`(cbind(sd, sd), levels))
}

#' @param limits N* x C x 2, or NULL.
#' @noRd
with_class_limits <- function(mean, limits) {
  if (is.null(limits)) return(mean)
  array(c(mean, limits), c(dim(mean), 3L), list(NULL, colnames(mean), c("fit", "lwr", "upr")))
}

drawn_class_limits <- function(fit, target, level) {
  drawn_classes(fit, target, function(p) stats::quantile(p, tails(level), names = FALSE))
}

#' What a function makes of draws of P(class | eta), which is not monotone in eta: N* x C x numbers. The draws are the
#' same at every call.
#' @param f function(numbers between 0 and 1): two numbers or more.
#' @noRd
drawn_classes <- function(fit, target, f) {
  levels <- response_levels(fit)
  out <- array(0, c(target$n, length(levels), length(f(0.5))))
  # numbers of a row are its own: not all rows' draws need be in memory
  for (at in split(seq_len(target$n), (seq_len(target$n) - 1L) %/% 1000L)) {
    draws <- over_draws(fit, target_rows(target, at), total_draws, function(view, target, eta) {
      class_probabilities(view, given_latent(view, target, eta))
    }, levels, seed = 1)
    out[at, , ] <- aperm(apply(draws, 2:3, f), c(2L, 3L, 1L))
  }
  out
}

predict_class <- function(fit, target, options) {
  levels <- check_classes(fit, "class")
  prob <- predict_prob(fit, target, list(se.fit = FALSE, interval = "none"))$fit
  ties <- if (has_classes(fit)) "first" else "last"
  list(fit = factor(levels[max.col(prob, ties.method = ties)], levels, ordered = has_ordered_classes(fit)))
}

#' P(y = class), an N* x C matrix with the levels as column names
#' @noRd
class_probabilities <- function(fit, marginals) {
  classes_of_core(fit, marginals, second = FALSE)$mean
}

#' Mean and sd of P(y = class | eta) under q: N* x C matrices
#' @noRd
class_moments <- function(fit, marginals) {
  moments <- classes_of_core(fit, marginals, second = TRUE)
  list(mean = moments$mean, sd = sqrt(pmax(moments$second - moments$mean^2, 0)))
}

#' Where most rows have the latent values of another one, as in designed experiments: the first rows of each kind, and the
#' kind of each row; else NULL. Averages are costly where thresholds or several latent values are uncertain together.
#' @noRd
distinct_marginals <- function(marginals) {
  n <- nrow(marginals$mean)
  if (length(unique(marginals$mean[, 1L])) > n / 2) return(NULL)
  points <- marginals$points
  if (length(unlist(points$new)) || length(points$averaged)) return(NULL)
  key <- do.call(cbind, c(list(points$offset), points$W, lapply(c(list(marginals), marginals$states), function(x) {
    cbind(
      x$mean, x$variance, if (!is.null(x$between)) matrix(x$between, n), if (!is.null(x$weight)) rep_len(x$weight, n)
    )
  })))
  key <- do.call(paste, lapply(seq_len(ncol(key)), function(j) match(key[, j], unique(key[, j]))))
  first <- which(!duplicated(key))
  if (2L * length(first) > n) return(NULL)
  list(first = first, of = match(key, key[first]))
}

classes_of_core <- function(fit, marginals, second) {
  levels <- response_levels(fit)
  if (!nrow(marginals$mean)) {
    none <- matrix(0, 0L, length(levels), dimnames = list(NULL, levels))
    return(list(mean = none, second = none))
  }
  if (!is.null(own <- distinct_marginals(marginals))) {
    return(lapply(classes_of_core(fit, marginal_rows(marginals, own$first), second), take_rows_of, own$of))
  }
  states <- marginal_states(fit, marginals)
  if (inherits(states, "galvi_points")) return(classes_at_points(fit, states, levels, second))
  parts <- lapply(states, function(state) {
    view <- at_hyper(fit, state$hyper)
    out <- if (is_stages_view(fit)) {
      stage_classes(view, state, second)
    } else if (is.null(state$between)) {
      independent_classes(fit$model$likelihood, view, state$mean, state$variance, second)
    } else {
      all <- of_all_classes(fit, state$mean, state$between)
      coupled_classes(all$mean, all$between, function(m, v) independent_classes(all$likelihood, view, m, v, second))
    }
    c(out, list(weight = state$weight))
  })
  average <- function(what) average_states(parts, function(part) part[[what]])
  out <- list(probability = average("probability"), second = if (second) average("second"))
  # Quadrature has errors of about 1e-10; users expect a sum of exactly one.
  sums <- rowSums(out$probability)
  list(
    mean = `colnames<-`(out$probability / sums, levels),
    second = if (second) `colnames<-`(out$second, levels)
  )
}

# The same where the posterior is points.
classes_at_points <- function(fit, points, levels, second) {
  out <- average_states(points, function(state) {
    view <- at_hyper(fit, state$hyper)
    p <- if (is_stages_view(fit)) decided_classes(view, state$mean) else {
      independent_classes(fit$model$likelihood, view, state$mean, state$variance, FALSE)$probability
    }
    if (second) cbind(p, p^2) else p
  })
  out <- matrix(out, ncol = (1L + second) * length(levels))
  own <- seq_along(levels)
  p <- out[, own, drop = FALSE]
  list(
    mean = `colnames<-`(p / rowSums(p), levels),
    second = if (second) `colnames<-`(out[, -own, drop = FALSE], levels)
  )
}

#' log P(y), y the classes 0, 1, .. of the rows, or their counts
#' @param response A list with `y`, or `size` and `counts`: a target or a model.
#' @noRd
class_log_probability <- function(fit, marginals, response) {
  if (!is.null(response$counts)) {
    return(log_average_states(marginal_states(fit, marginals), function(state) {
      counts_log_probability(at_hyper(fit, state$hyper), state, response)
    }))
  }
  y <- response$y
  # the integral of a class that is certain may be above one by rounding
  if (n_latents(fit) == 1L) return(pmin(response_moment(fit, marginals, "log_density", y = y), 0))
  log(class_probabilities(fit, marginals)[cbind(seq_along(y), y + 1L)])
}

#' The same for counts. Their probability is a function of a softmax, so averages over dependent latent values are taken
#' as for class probabilities.
#' @noRd
counts_log_probability <- function(fit, marginals, response) {
  # without trials there is only one outcome
  none <- rowSums(response$counts) == 0
  if (any(none, na.rm = TRUE)) {
    rest <- which(!none)
    out <- numeric(length(none))
    marginals <- lapply(marginals[c("mean", "variance", "between")], function(x) {
      if (is.null(x)) NULL else if (length(dim(x)) == 3L) x[rest, , , drop = FALSE] else x[rest, , drop = FALSE]
    })
    out[rest] <- counts_log_probability(fit, marginals, list(
      size = response$size[rest], counts = response$counts[rest, , drop = FALSE]
    ))
    return(out)
  }
  of <- function(likelihood, rows, mean, variance) {
    as_galvi_error(predict_response(likelihood, fit$posterior$hyper, response$size[rows], numeric(length(rows)),
      unname(mean), unname(variance), "log_density", 0.5, counts = response$counts[rows, , drop = FALSE]))
  }
  n <- nrow(marginals$mean)
  if (n == 0L) return(numeric())
  if (is.null(marginals$between)) return(of(fit$model$likelihood, seq_len(n), marginals$mean, marginals$variance))
  all <- of_all_classes(fit, marginals$mean, marginals$between)
  vapply(seq_len(n), function(row) {
    own <- matrix(all$between[row, , ], ncol(all$mean))
    # relative to the value for independent latents, as the probability may underflow
    known <- of(all$likelihood, row, all$mean[row, , drop = FALSE], rbind(diag(own)))
    ratio <- coupled_classes(all$mean[row, , drop = FALSE], array(own, c(1L, dim(own))), function(mean, variance) {
      list(matrix(exp(of(all$likelihood, rep(row, nrow(mean)), mean, variance) - known)))
    }, smooth = FALSE)
    known + log(ratio[[1L]][1L])
  }, 0)
}

#' P(Y < y) and P(Y <= y) in the order of the levels; `from_above`: P(Y > y) and P(Y >= y)
#' @noRd
class_limits <- function(fit, marginals, y, from_above = FALSE) {
  prob <- class_probabilities(fit, marginals)
  if (from_above) {
    prob <- prob[, rev(seq_len(ncol(prob))), drop = FALSE]
    y <- ncol(prob) - 1 - y
  }
  upto <- cumulated(prob)
  row <- seq_along(y)
  list(lower = ifelse(y > 0, upto[cbind(row, pmax(y, 1L))], 0), upper = upto[cbind(row, y + 1L)])
}

#' Sums along the rows of a matrix of probabilities; the last column is one
#' @noRd
cumulated <- function(prob) {
  for (j in seq_len(ncol(prob))[-1L]) prob[, j] <- prob[, j - 1L] + prob[, j]
  prob[, ncol(prob)] <- 1
  prob
}

check_classes <- function(fit, type) {
  levels <- response_levels(fit)
  if (is.null(levels)) {
    stop_galvi("argument", paste0(
      "type = \"", type, "\" needs a response with classes; this fit's family is ", family_label(fit),
      ". Use type = \"response\", \"quantile\" or \"density\"", if (type == "prob" && is_discrete(fit)) sprintf(
        "; the probability of a count is exp(predict(fit, transform(newdata, %s = 2), type = \"density\"))",
        all.vars(fit$formula[[2L]])[1L]
      ), "."
    ))
  }
  levels
}

#' Quantiles and intervals need a numeric response
#' @noRd
check_no_classes <- function(fit, what) {
  if (!has_classes(fit)) return(invisible())
  stop_galvi("argument", sprintf(
    "%s is for responses that are numbers; this one has %d classes. Use type = \"prob\", with `se.fit` or %s.",
    what, length(response_levels(fit)), "`interval = \"credible\"`"
  ))
}

# ---- the beta distribution ----

#' Limits of the beta distributions with these means and sds: N x 2
#' @noRd
beta_limits <- function(mean, sd, level) beta_quantiles(mean, sd, tails(level))

#' N x length(probs)
#' @noRd
beta_quantiles <- function(mean, sd, probs) {
  mean <- pmin(pmax(mean, 0), 1)
  # a sd is at most that of the two outcomes alone, and at 1e-8 the band is a line
  precision <- mean * (1 - mean) / sd^2 - 1
  spread <- is.finite(precision) & precision < 1e16
  out <- matrix(mean, length(mean), length(probs))
  for (j in seq_along(probs)) out[spread, j] <- beta_quantile(probs[j], mean[spread], pmax(precision[spread], 0))
  out
}

#' The quantile of the beta distribution with shapes mean * precision and (1 - mean) * precision; with
#' precision 0 of the two outcomes
#'
#' stats::qbeta() is not safe where a shape is tiny: with 0.02 and 1e-11 it passes one. pbeta() is, and it is
#' monotone: its root by halving, in the log odds, which know small quantiles and those near one.
#' @noRd
beta_quantile <- function(p, mean, precision) {
  a <- mean * precision
  b <- (1 - mean) * precision
  two <- pmin(a, b) < 1e-300
  # the log odds of doubles
  low <- rep(-745, length(mean))
  high <- -low
  for (halving in 1:64) {
    middle <- (low + high) / 2
    # from the end that is nearer, so that no digits are lost
    below <- ifelse(middle < 0, stats::pbeta(stats::plogis(middle), a, b) < p,
      stats::pbeta(stats::plogis(-middle), b, a, lower.tail = FALSE) < p)
    low <- ifelse(below, middle, low)
    high <- ifelse(below, high, middle)
  }
  ifelse(two, as.numeric(p > 1 - mean), stats::plogis((low + high) / 2))
}
