# A fit is a mixture of states: posteriors of the latent vector, each at its own hyperparameters, with weights.
# With one state, as most fits have it, `fit$states` is NULL and `fit$posterior` is that state. Of several
# (src/fit/integrate.h) `fit$posterior` is that at the estimates, but for the moments `mean`, `variance` and `coefficients`,
# which are the mixture's. The others lie around the first state: the mode with weak priors of what has none, which
# differs from the estimates, or where the log evidence is higher, if that is far away. Every question to a fit passes
# through the functions here: methods do not ask how many states there are.

#' The fit at its most probable hyperparameters, for what belongs to one value of them
#' @noRd
at_mode <- function(fit) at_state(fit, fit_states(fit)[[1L]])

#' The fit as its sites know it: q at the estimated hyperparameters
#' @noRd
at_sites <- function(fit) at_mode(at_estimates(fit))

# ---- marginals of eta ----

# Marginals are a list of `mean` and `variance`, N x K, of eta; and `states`, where there are several: for each a
# list of `weight` (a number, or one for each row), `hyper`, `mean` and `variance`. `known`: what is known of the rows'
# responses, as in the model list, where a question about a response needs it.

#' Marginals with what is known of their rows
#' @param known As in the model list. @param rows Which of its rows the marginals' are, again and again where there are
#'   fewer; all by default.
#' @noRd
with_known <- function(marginals, known, rows = NULL) {
  marginals$known <- if (is.null(rows)) known else take_rows_of(known, rep_len(rows, nrow(marginals$mean)))
  marginals
}

#' Marginals of a mixture
#' @param parts A list(mean, variance) for each state; `between` too, where it has these.
#' @param weights As in mixture_moments().
#' @noRd
mixture_marginals <- function(fit, parts, weights = state_weights(fit)) {
  out <- mixture_moments(parts, weights)
  if (length(parts) == 1L) return(c(out, parts[[1L]]["between"][!is.null(parts[[1L]]$between)]))
  out$states <- Map(function(state, part, weight) {
    c(list(weight = weight, hyper = state$posterior$hyper), part[intersect(c("mean", "variance", "between"),
      names(part))])
  }, fit_states(fit), parts, weights_of(weights, length(parts)))
  out
}

#' The marginals at the observations
#' @noRd
fitted_marginals <- function(fit) {
  if (is_imputed(fit)) return(mixed_marginals(fit, lapply(fit$fits, fitted_marginals)))
  if (is_stages_view(fit)) {
    return(stage_marginals(fit, list(rows = fit$model$designs, offset = fit$model$offset, n = fit$nobs)))
  }
  if (has_points(fit)) return(c(fit$posterior[c("mean", "variance")], list(points = fitted_points_of(fit))))
  mixture_marginals(fit, by_state(fit, function(view) {
    if (is_coupled(view)) coupled_marginals(view) else view$posterior[c("mean", "variance")]
  }))
}

#' The marginals by state, one or several; or their points, of which average_states() and others know
#' @noRd
marginal_states <- function(fit, marginals) {
  if (!is.null(marginals$points)) return(structure(affordable_points(fit, marginals$points), class = "galvi_points"))
  # what has a weight of zero may be infinite; unknown weights (NA) leave the average unknown
  if (!is.null(marginals$states)) return(Filter(function(state) !isTRUE(all(state$weight == 0)), marginals$states))
  own <- intersect(c("mean", "variance", "between"), names(marginals))
  list(c(list(weight = 1, hyper = fit$posterior$hyper), marginals[own]))
}

#' f() of every N x K matrix that marginals have
#' @param of_weights f() of weights that differ between rows.
#' @noRd
map_marginals <- function(marginals, f, of_weights = identity) {
  own <- c("mean", "variance")
  marginals[own] <- lapply(marginals[own], f)
  if (is.null(marginals$states)) return(marginals)
  marginals$states <- lapply(marginals$states, function(state) {
    state[own] <- lapply(state[own], f)
    if (length(state$weight) > 1L) state$weight <- of_weights(state$weight)
    state
  })
  marginals
}

marginal_rows <- function(marginals, at) {
  if (!is.null(marginals$points)) marginals$points <- point_rows(marginals$points, at)
  marginals$known <- take_rows_of(marginals$known, at)
  marginals <- with_between_rows(marginals, at)
  marginals$states <- if (!is.null(marginals$states)) lapply(marginals$states, with_between_rows, at)
  map_marginals(marginals, function(x) x[at, , drop = FALSE], function(w) w[at])
}

with_between_rows <- function(x, at) {
  if (!is.null(x$between)) x$between <- x$between[at, , , drop = FALSE]
  x
}

marginal_latent <- function(marginals, k) {
  if (!is.null(marginals$points)) marginals$points <- point_latent(marginals$points, k)
  map_marginals(marginals, function(x) x[, k, drop = FALSE])
}

#' sum_s w_s f(state s), f a vector or matrix with a row per row of the marginals
#' @param f Of points it is asked for some rows of the marginals at a time, `state$rows`, again and again for each point.
#' @noRd
average_states <- function(states, f) {
  if (inherits(states, "galvi_points")) return(average_points(states, f))
  Reduce(`+`, lapply(states, function(state) state$weight * f(state)))
}

#' log sum_s w_s exp(f(state s))
#' @noRd
log_average_states <- function(states, f) {
  if (inherits(states, "galvi_points")) return(average_points(states, f, log = TRUE))
  if (length(states) == 1L) return(f(states[[1L]]))
  values <- vapply(states, function(state) log(state$weight) + f(state), numeric(nrow(states[[1L]]$mean)))
  log_sum_exp(matrix(values, ncol = length(states)))
}

# ---- quantiles ----

#' Quantiles of mixtures of normals
#'
#' @param mean,sd N x S.
#' @param weight S numbers, or N x S.
#' @return N numbers.
#' @noRd
normal_mixture_quantile <- function(mean, sd, weight, p) {
  z <- stats::qnorm(p)
  ends <- mean + sd * z
  if (ncol(mean) == 1L) return(ends[, 1L])
  if (!nrow(mean)) return(numeric())
  if (!is.matrix(weight)) weight <- matrix(weight, nrow(mean), ncol(mean), byrow = TRUE)
  lower <- row_min(ends)
  upper <- row_max(ends)
  # most are nearly normal: qnorm(F(x)) is nearly straight, and a few steps of Newton's method solve qnorm(F(x)) = z
  centre <- rowSums(weight * mean)
  x <- centre + z * sqrt(rowSums(weight * ((mean - centre)^2 + sd^2)))
  for (step in seq_len(4L)) {
    at <- stats::qnorm(pmin(rowSums(weight * stats::pnorm(x, mean, sd)), 1))
    change <- (at - z) * stats::dnorm(at) / rowSums(weight * stats::dnorm(x, mean, sd))
    x <- x - change
    left <- which(!is.finite(x) | x < lower | x > upper | abs(change) > 1e-6 * (upper - lower))
    if (!length(left)) return(x)
  }
  x[left] <- rising_root(
    function(x, at) {
      at <- left[at]
      rowSums(weight[at, , drop = FALSE] * stats::pnorm(x, mean[at, , drop = FALSE], sd[at, , drop = FALSE])) - p
    },
    lower[left], upper[left]
  )
  x
}

#' Roots of rising functions, one for each element, between `lower` and `upper`
#'
#' Inverse quadratic interpolation where it is safe, else bisection (Chandrupatla 1997, Advances in Engineering Software
#' 28, 145-149). The root is between a and b, and c was given up last.
#'
#' @param f f(x, at): values at x of the functions with numbers `at`.
#' @param at_ends Values at `lower` and `upper`, N x 2, as far as they are known.
#' @noRd
rising_root <- function(f, lower, upper, tolerance = 1e-9, at_ends = NULL) {
  at <- which(upper > lower)
  out <- lower
  if (!length(at)) return(out)
  value <- function(x, side) {
    known <- if (is.null(at_ends)) rep(NA_real_, length(at)) else at_ends[at, side]
    open <- which(is.na(known))
    if (length(open)) known[open] <- f(x[at[open]], at[open])
    known
  }
  now <- list(a = lower[at], b = upper[at], fa = value(lower, 1L), fb = value(upper, 2L))
  now$t <- pmin(pmax(now$fa / (now$fa - now$fb), 0.05), 0.95)
  out[at] <- ifelse(now$fa >= 0, now$a, now$b)
  open <- now$fa < 0 & now$fb > 0
  for (step in seq_len(200L)) {
    if (!any(open)) break
    at <- at[open]
    now <- lapply(now, `[`, open)
    x <- now$a + now$t * (now$b - now$a)
    fx <- f(x, at)
    same <- (fx < 0) == (now$fa < 0)
    c <- ifelse(same, now$a, now$b)
    fc <- ifelse(same, now$fa, now$fb)
    b <- ifelse(same, now$b, now$a)
    fb <- ifelse(same, now$fb, now$fa)
    out[at] <- ifelse(abs(fx) <= abs(fb), x, b)
    width <- tolerance * (abs(x) + abs(b) + 1e-300)
    xi <- (x - b) / (c - b)
    phi <- (fx - fb) / (fc - fb)
    smooth <- phi^2 < xi & (1 - phi)^2 < 1 - xi
    t <- fx / (fb - fx) * fc / (fb - fc) + (c - x) / (b - x) * fx / (fc - fx) * fb / (fc - fb)
    least <- pmin(0.5, width / (2 * abs(b - x)))
    now <- list(a = x, b = b, fa = fx, fb = fb, t = pmin(1 - least, pmax(least, ifelse(smooth & is.finite(t), t, 0.5))))
    open <- abs(b - x) > width & abs(fx) > 1e-12
  }
  out
}

#' Quantiles of whole numbers: the least y with P(Y <= y) >= p, between whole `lower` and `upper`
#' @noRd
least_whole <- function(cdf, lower, upper, p) {
  p <- rep_len(p, length(lower))
  repeat {
    # numbers above 2^53 are whole, and further apart than one
    at <- which(upper - lower >= pmax(1, 1e-15 * upper))
    if (!length(at)) return(lower)
    middle <- floor((lower[at] + upper[at]) / 2)
    # as the quantile function of one state, forgive last digits
    enough <- cdf(middle, at) >= p[at] * (1 - 1e-12)
    upper[at][enough] <- middle[enough]
    lower[at][!enough] <- middle[!enough] + 1
  }
}

#' Limits of a function of eta, as quantiles_of() has them: N x 2
#' @noRd
limits_of <- function(fit, marginals, level, f) quantiles_of(fit, marginals, tails(level), f)

#' Quantiles of a function of eta, K = 1, that is monotone in it: of its mixture, N x length(probs)
#'
#' @param probs Rising, and with each p also 1 - p, which has the p-quantile of a function that falls.
#' @param f f(fit, eta, rows): N values; it may depend on the fit's hyperparameters. rows: which of the marginals' rows
#'   eta is of, again and again where it is longer.
#' @noRd
quantiles_of <- function(fit, marginals, probs, f) {
  if (!is.null(marginals$points)) {
    return(point_quantiles(affordable_points(fit, marginals$points), probs, function(state) {
      f(at_hyper(fit, state$hyper), state$mean[, 1L], state$rows)
    }))
  }
  rows <- seq_len(nrow(marginals$mean))
  eta <- latent_quantiles(marginals, probs)
  states <- marginal_states(fit, marginals)
  views <- lapply(states, function(state) at_hyper(fit, state$hyper))
  P <- length(probs)
  at <- function(view, columns) {
    x <- lapply(columns, function(j) f(view, eta[, j], rows))
    matrix(as.numeric(unlist(x)), length(rows), length(columns))
  }
  ends <- lapply(views, at, c(1L, P))
  alike <- vapply(ends, function(x) isTRUE(all.equal(x, ends[[1L]], tolerance = 1e-12)), NA)
  if (all(alike)) {
    out <- if (P == 2L) ends[[1L]] else at(views[[1L]], seq_len(P))
    falling <- which(ends[[1L]][, 1L] > ends[[1L]][, 2L])
    out[falling, ] <- out[falling, P:1]
    return(out)
  }
  z <- seq(-6, 6, by = 0.1)
  share <- diff(stats::pnorm(c(-Inf, z[-1L] - 0.05, Inf)))
  values <- Map(function(view, state) {
    sd <- sqrt(state$variance[, 1L])
    vapply(z, function(z) f(view, state$mean[, 1L] + sd * z, rows), numeric(length(sd)))
  }, views, states)
  weights <- lapply(states, function(state) outer(rep_len(state$weight, nrow(eta)), share))
  weighted_quantiles(matrix(unlist(values), nrow(eta)), matrix(unlist(weights), nrow(eta)), probs)
}

#' The fit with other values of the hyperparameters, for what its likelihood says of given eta
#' @noRd
at_hyper <- function(fit, hyper) {
  fit$posterior$hyper <- hyper
  fit[c("states", "points")] <- NULL
  fit
}

# Classes whose latent values depend on each other in the posterior: coefficients, predictions and draws take the best
# Gaussian that couples them (src/fit/couple.h).

#' The fit as its bound and its sites know it
#' @noRd
factorised_view <- function(fit) {
  if (is_imputed(fit)) return(fit)
  fit <- without_points(fit)
  if (!is_coupled(fit)) return(fit)
  as_mixture(with_states(fit, function(view) {
    latent <- view$posterior$factorised
    view$posterior[c("coupled", "factorised")] <- NULL
    with_latent(view, latent)
  }))
}

# All columns of the model at rows: n x q.
all_columns <- function(rows) do.call(cbind, lapply(rows[[1L]], `[[`, "W"))

#' Covariances of rows' latent values: n x K x K
#' @noRd
block_variances <- function(W, covariance, K) {
  out <- array(0, c(nrow(W), K, K))
  block <- function(k) (k - 1L) * ncol(W) + seq_len(ncol(W))
  for (j in seq_len(K)) {
    for (k in seq_len(j)) out[, j, k] <- out[, k, j] <- rowSums((W %*% covariance[block(j), block(k)]) * W)
  }
  out
}

#' The fit with these latent vectors of each class, list(mean, chol), and the coefficients that follow
#' @noRd
with_latent <- function(fit, latent) {
  fit$posterior$latent <- latent
  last <- cumsum(vapply(fit$posterior$coefficients, function(term) nrow(term$mean), 1L))
  fit$posterior$coefficients <- Map(function(term, last) {
    own <- last - nrow(term$mean) + seq_len(nrow(term$mean))
    term$mean[] <- vapply(latent, function(z) z$mean[own], numeric(length(own)))
    term$covariance <- lapply(latent, function(z) tcrossprod(z$chol[own, , drop = FALSE]))
    term
  }, fit$posterior$coefficients, last)
  fit
}

#' Posterior mean and variance of eta at the observations
#' @noRd
coupled_marginals <- function(fit) {
  W <- all_columns(fit$model$designs)
  latent <- fit$posterior$latent
  list(
    mean = fit$model$offset + vapply(latent, function(z) drop(W %*% z$mean), numeric(nrow(W))),
    variance = vapply(latent, function(z) rowSums((W %*% z$chol)^2), numeric(nrow(W)))
  )
}

#' Covariance of a row's latent values: n x K x K, NULL if q is right to factorise over them
#' @noRd
row_covariances <- function(fit, rows) {
  if (!is_coupled(fit)) return(NULL)
  block_variances(all_columns(rows), fit$posterior$coupled, n_latents(fit))
}

#' Joint draws of eta at rows, without the offset: a list of K matrices, rows x count
#' @noRd
coupled_draws <- function(fit, rows, count) {
  W <- all_columns(rows)
  root <- covariance_root(fit$posterior$coupled)
  mean <- unlist(lapply(fit$posterior$latent, `[[`, "mean"))
  drawn <- mean + root %*% matrix(stats::rnorm(ncol(root) * count), ncol(root), count)
  lapply(seq_len(n_latents(fit)), function(k) W %*% drawn[(k - 1L) * ncol(W) + seq_len(ncol(W)), , drop = FALSE])
}

# ---- probabilities of classes ----

#' Moments of classes' probabilities where latent values depend on each other: averages of those of independent ones
#'
#' @param mean N x C. between: N x C x C.
#' @param moments `function(mean, variance)` of independent latent values: a list of matrices with a row per row.
#' @param smooth Are they moments of probabilities? Those of counts need more nodes.
#' @return The same, of rows with these covariances.
#' @noRd
coupled_classes <- function(mean, between, moments, smooth = TRUE) {
  most <- 1000L  # rows at a time, each of which may have hundreds of nodes
  if (nrow(mean) > most) {
    parts <- lapply(split(seq_len(nrow(mean)), (seq_len(nrow(mean)) - 1L) %/% most), function(rows) {
      coupled_classes(mean[rows, , drop = FALSE], between[rows, , , drop = FALSE], moments, smooth)
    })
    return(do.call(Map, c(list(f = rbind), unname(parts))))
  }
  nodes <- nodes_of_classes(mean, between, smooth)
  lapply(moments(nodes$mean, nodes$variance), function(x) unname(rowsum(nodes$weight * x, nodes$row, reorder = TRUE)))
}

#' Moments of the latent values of all classes, and the likelihood that has one for each: that of a reference is zero
#' @noRd
of_all_classes <- function(fit, mean, between) {
  likelihood <- fit$model$likelihood
  C <- length(response_levels(fit))
  at <- setdiff(seq_len(C), likelihood$constants$reference + 1)
  likelihood$constants$reference <- -1
  out <- list(mean = matrix(0, nrow(mean), C), between = array(0, c(nrow(mean), C, C)), likelihood = likelihood)
  out$mean[, at] <- mean
  out$between[, at, at] <- between
  out
}
