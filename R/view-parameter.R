# Predictions of a parameter with a linear predictor, on its own scale; credible limits of a response with several.

#' Posterior mean, sd and credible limits of the parameter; the inverse link is increasing
#' @param view From parameter_view().
#' @noRd
predict_parameter <- function(view, target, options) {
  marginals <- latent_marginals(view, target)
  result <- list(fit = response_moment(view, marginals, "mean"))
  if (options$se.fit) result$se.fit <- mean_sd(view, target, marginals)
  warn_too_large(sprintf("The mean of `%s` is", view$parameter), result$fit, target,
    "exp(mean + variance / 2) makes it Inf there", "Use type = \"link\", which does not overflow.")
  if (options$interval == "credible") {
    limits <- if (is.null(target$averaged)) view$family$linkinv(credible_limits(marginals, options$level)) else {
      mean_limits(view, target, marginals, options$level)
    }
    result$fit <- with_limits(result$fit, limits)
  }
  result
}

#' Mean or variance of a parameter whose link is N(mean, variance): of a number, a log-normal variable, or by another link
#' what has the mean of a success, or of a count
#' @param what `"mean"` or `"mean_variance"`.
#' @noRd
parameter_moment <- function(link, mean, variance, what) {
  wanted <- match(what, c("mean", "mean_variance"))
  switch(link,
    identity = list(mean, variance)[[wanted]],
    log = list(exp(mean + variance / 2), exp(2 * mean + variance) * expm1(variance))[[wanted]],
    as_galvi_error(predict_response(
      list(type = likelihood_of_link(link), hyper = list(), constants = list()), numeric(), rep(1, length(mean)),
      numeric(length(mean)), cbind(mean), cbind(variance), what, 0.5
    ))
  )
}

# The core's likelihood whose mean is the inverse link.
likelihood_of_link <- function(link) c(family_types$binomial$links, family_types$poisson$links)[[link]]

#' Quantiles of E[y | eta]: N x length(probs)
#'
#' If it depends on the first predictor alone, it increases with it. With excess zeros it is a product, whose
#' distribution function is a mean over the predictor of the zeros. For times, and where the base of excess zeros has
#' another predictor, it depends on all.
#' @noRd
mean_quantiles_of_all <- function(fit, marginals, probs) {
  if (!is.null(marginals$points)) {
    return(moment_limits_at_points(fit, marginals$points, probs, "mean"))
  }
  at <- function(view, eta, others) response_moment(view, known_predictors(eta, others), "mean")
  zeros <- length(always_predicted(fit$family)) > 0L
  if (family_type(fit$family)$times || zeros && n_predictors(fit) > 2L) {
    log_mean <- function(view, row, eta, others) log(at(view, eta, others))
    return(exp(limits_over_all(fit, marginals, log_mean, probs)))
  }
  if (!zeros) {
    others <- marginals$mean[, -1L, drop = FALSE]
    return(quantiles_of(fit, marginal_latent(marginals, 1L), probs, function(view, eta, rows) at(view, eta, others)))
  }
  z <- seq(-9, 9, length.out = 721L)
  nodes <- seq(-6, 6, by = 0.2)
  weights <- stats::dnorm(nodes) / sum(stats::dnorm(nodes))
  states <- marginal_states(fit, marginals)
  quantiles_of_row <- function(n) {
    # log(mean) + log(share of other responses): a function of the first predictor for each node of the second
    values <- lapply(states, function(state) {
      m <- state$mean[n, ]
      sd <- sqrt(state$variance[n, ])
      log_mean <- log(at(at_hyper(fit, state$hyper), m[1L] + sd[1L] * z, matrix(-1e3, length(z))))
      # beyond the largest and the smallest number a limit is infinite or 0 anyway
      log_mean <- pmax(-1e3, pmin(replace(log_mean, is.na(log_mean), Inf), 1e3))
      outer(log_mean, stats::plogis(-(m[2L] + sd[2L] * nodes), log.p = TRUE), `+`)
    })
    shares <- lapply(states, function(state) rep_len(state$weight, n)[n] * weights)
    exp(mixture_quantiles(list(values = values, shares = shares, z = z), probs))
  }
  rows <- seq_len(nrow(marginals$mean))
  matrix(unlist(lapply(rows, quantiles_of_row)), length(rows), length(probs), byrow = TRUE)
}

#' Quantiles over the points of a moment of the response given all predictors
#' @param size,y Of each row; y where the moment is a probability.
#' @inheritParams response_moment
#' @return N* x length(probs).
#' @noRd
moment_limits_at_points <- function(fit, points, probs, what, size = NULL, y = NULL, probability = 0.5, known = NULL) {
  point_quantiles(affordable_points(fit, points), probs, function(state) {
    each <- function(x) if (!is.null(x)) rep_len(x[state$rows], nrow(state$mean))
    marginals <- with_known(state[c("mean", "variance")], known, state$rows)
    response_moment(at_hyper(fit, state$hyper), marginals, what, each(size), each(y), probability)
  })
}

# Marginals of predictors that are known. others: a matrix with a column for each but the first.
known_predictors <- function(eta, others) {
  mean <- cbind(eta, others, deparse.level = 0)
  list(mean = mean, variance = 0 * mean)
}

#' Credible limits of P(Y > t | eta), or of P(Y <= t | eta): two N* x T matrices
#' @noRd
tail_limits_of_all <- function(fit, tail, target, marginals, options) {
  if (target$n == 0L) return(rep(list(matrix(numeric(), 0L, length(options$at))), 2L))
  columns <- lapply(options$at, function(t) {
    if (!is.null(marginals$points)) {
      y <- in_trials(fit, target, t)
      return(moment_limits_at_points(fit, marginals$points, tails(options$level), tail, target$size, y,
        known = target$known))
    }
    log_odds <- function(view, row, eta, others) {
      given <- with_known(known_predictors(eta, others), target$known, rep(row, length(eta)))
      part <- function(what) {
        y <- rep(in_trials(fit, target, t)[row], length(eta))
        log(response_moment(view, given, what, rep(target$size[row], length(eta)), y))
      }
      if (tail == "upper") part("upper") - part("cdf") else part("cdf") - part("upper")
    }
    if (target$n) stats::plogis(limits_over_all(fit, marginals, log_odds, tails(options$level))) else matrix(0, 0L, 2L)
  })
  lapply(1:2, function(side) matrix(vapply(columns, function(x) x[, side], numeric(target$n)), target$n))
}

#' Quantiles of the posterior of the response's p-quantile given all predictors
#'
#' Of a continuous response it is a function of all. Of a discrete one it is at most y where P(Y <= y | eta) is at
#' least p.
#' @return N* x length(tails).
#' @noRd
quantile_limits_of_all <- function(fit, target, marginals, p, tails) {
  if (!is.null(marginals$points)) {
    limits <- moment_limits_at_points(fit, marginals$points, tails, "quantile", target$size, probability = p,
      known = target$known)
    return(if (is_discrete(fit)) ceiling(limits - 1e-9) else limits)
  }
  size <- function(row, eta) rep(target$size[row], length(eta))
  if (!is_discrete(fit)) {
    to <- if (family_type(fit$family)$times) log else identity
    from <- if (family_type(fit$family)$times) exp else identity
    return(from(limits_over_all(fit, marginals, function(view, row, eta, others) {
      given <- with_known(known_predictors(eta, others), target$known, rep(row, length(eta)))
      to(response_moment(view, given, "quantile", size(row, eta), probability = p))
    }, tails)))
  }
  t(vapply(seq_len(target$n), function(row) {
    at_most <- function(y) {
      log_odds <- function(view, row, eta, others) {
        known <- known_predictors(eta, others)
        part <- function(what) log(response_moment(view, known, what, size(row, eta), rep(y, length(eta))))
        part("cdf") - part("upper")
      }
      1 - mixture_below(distribution_over_all(fit, marginals, log_odds, row), stats::qlogis(p))
    }
    vapply(tails, function(tail) least_count(function(y) at_most(y) >= tail), 0)
  }, numeric(length(tails))))
}

#' The least count for which something holds that holds for all above it
#' @noRd
least_count <- function(holds) {
  if (holds(0)) return(0)
  upper <- 1
  while (!holds(upper)) {
    if (upper > 1e15) return(Inf)
    upper <- 2 * upper
  }
  lower <- floor(upper / 2)
  while (upper - lower > 1) {
    middle <- floor((lower + upper) / 2)
    if (holds(middle)) upper <- middle else lower <- middle
  }
  upper
}

#' Quantiles of a function of all predictors that is monotone in the first
#'
#' @param value As in distribution_over_all().
#' @return N* x length(tails).
#' @noRd
limits_over_all <- function(fit, marginals, value, tails) {
  rows <- seq_len(nrow(marginals$mean))
  of_row <- function(n) mixture_quantiles(distribution_over_all(fit, marginals, value, n), tails)
  matrix(as.numeric(vapply(rows, of_row, numeric(length(tails)))), length(rows), length(tails), byrow = TRUE)
}

#' The distribution of a function of all predictors that is monotone in the first, in one row
#'
#' It is that for fixed other predictors, averaged over these. The function is interpolated on a grid of the first.
#' @param value function(fit, row, eta, others), with the fit at a state's hyperparameters, on a scale on which it is
#'   nearly linear in eta. others: a matrix with a column for each but the first.
#' @return A mixture as mixture_quantiles() and mixture_below() take it.
#' @noRd
distribution_over_all <- function(fit, marginals, value, row) {
  z <- seq(-7, 7, by = 0.35)
  others <- n_predictors(fit) - 1L
  # a trapezium sum over a Gaussian has an error of exp(-2 pi^2 / step^2)
  axis <- if (others == 1L) seq(-6, 6, by = 0.25) else seq(-5.25, 5.25, by = 0.75)
  nodes <- as.matrix(expand.grid(rep(list(axis), others)))
  weights <- apply(stats::dnorm(nodes), 1L, prod)
  weights <- weights / sum(weights)
  states <- marginal_states(fit, marginals)
  values <- lapply(states, function(state) {
    m <- state$mean[row, ]
    sd <- sqrt(state$variance[row, ])
    at <- rep(m[-1L], each = nrow(nodes)) + rep(sd[-1L], each = nrow(nodes)) * nodes
    matrix(value(at_hyper(fit, state$hyper), row, rep(m[1L] + sd[1L] * z, nrow(nodes)),
      at[rep(seq_len(nrow(nodes)), each = length(z)), , drop = FALSE]), length(z))
  })
  list(values = values, shares = lapply(states, function(state) rep_len(state$weight, row)[row] * weights), z = z)
}
