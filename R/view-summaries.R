# Four numbers about what a posterior says of a quantity: an estimate, its spread and two limits. Robust ones are the
# median and the median absolute deviation, as brms has them.

# Between these normal quantiles is the middle half of a distribution around its median, however skewed.
summary_nodes <- seq(-3, 3, by = 0.1)

#' @param quantiles function(probs): N x length(probs), for rising probabilities that are symmetric about a half.
#' @param moments function(): list(mean, sd).
#' @param deviation function(quartiles, N x 3): median absolute deviations, where quantiles take long.
#' @return list(estimate, se, lower, upper), N numbers each.
#' @noRd
four_numbers <- function(quantiles, moments, prob, robust, deviation = NULL) {
  limits <- quantiles(tails(prob))
  if (!robust) {
    found <- moments()
  } else if (is.null(deviation)) {
    nodes <- quantiles(stats::pnorm(summary_nodes))
    found <- list(mean = nodes[, summary_nodes == 0], sd = mad_constant * mad_of_quantiles(nodes))
  } else {
    quartiles <- quantiles(c(0.25, 0.5, 0.75))
    found <- list(mean = quartiles[, 2L], sd = mad_constant * deviation(quartiles))
  }
  list(estimate = found$mean, se = found$sd, lower = limits[, 1L], upper = limits[, 2L])
}

# That of a normal distribution is its sd.
mad_constant <- 1 / stats::qnorm(0.75)

#' Median absolute deviations from quantiles at summary_nodes
#'
#' The interval of probability 1/2 whose middle is the median has the ends Q(a) and Q(a + 1/2), and its half length
#' rises with a on one side and falls on the other.
#' @param nodes N x length(summary_nodes).
#' @noRd
mad_of_quantiles <- function(nodes) {
  ends <- stats::pnorm(range(summary_nodes)) + c(0, -0.5)
  apply(nodes, 1L, function(x) {
    if (any(!is.finite(x))) return(NA_real_)
    quantile <- stats::splinefun(summary_nodes, x)
    middle <- x[summary_nodes == 0]
    above <- function(a) quantile(stats::qnorm(a + 0.5)) - middle
    below <- function(a) middle - quantile(stats::qnorm(a))
    uneven <- function(a) above(a) - below(a)
    if (uneven(ends[1L]) >= 0) return(above(ends[1L]))
    if (uneven(ends[2L]) <= 0) return(below(ends[2L]))
    above(stats::uniroot(uneven, ends, tol = 1e-12)$root)
  })
}

#' Of the linear predictor, K = 1
#' @noRd
latent_summary <- function(marginals, prob, robust) {
  four_numbers(
    function(probs) latent_quantiles(marginals, probs),
    function() list(mean = marginals$mean[, 1L], sd = sqrt(marginals$variance[, 1L])), prob, robust
  )
}

#' Of the mean response given eta; of a view that of its parameter
#' @noRd
mean_summary <- function(fit, marginals, prob, robust) {
  four_numbers(
    function(probs) mean_quantiles(fit, marginals, probs),
    function() list(mean = response_mean(fit, marginals), sd = response_sd(fit, marginals)), prob, robust
  )
}

#' Of the probabilities of classes, from draws: a list of summaries
#' @noRd
class_summaries <- function(fit, target, marginals, prob, robust) {
  drawn <- drawn_classes(fit, target, function(p) {
    c(stats::median(p), stats::mad(p), stats::quantile(p, tails(prob), names = FALSE))
  })
  moments <- if (!robust) class_moments(fit, marginals)
  lapply(seq_along(response_levels(fit)), function(j) {
    list(estimate = if (robust) drawn[, j, 1L] else moments$mean[, j],
      se = if (robust) drawn[, j, 2L] else moments$sd[, j], lower = drawn[, j, 3L], upper = drawn[, j, 4L])
  })
}

#' Of new responses
#' @noRd
response_summary <- function(fit, target, marginals, prob, robust) {
  four_numbers(
    function(probs) response_quantiles(fit, target, marginals, probs, rep(1, target$n)),
    function() {
      sd <- sqrt(response_moment(fit, marginals, "variance", size = target$size))
      list(mean = response_mean(fit, marginals), sd = sd)
    }, prob, robust, function(quartiles) response_deviations(fit, marginals, quartiles)
  )
}

#' Median absolute deviations of new responses
#' @param quartiles N x 3.
#' @noRd
response_deviations <- function(fit, marginals, quartiles) {
  median <- quartiles[, 2L]
  most <- row_max(abs(quartiles - median))
  cdf <- function(y, at) response_moment(fit, marginal_rows(marginals, at), "cdf", size = rep(1, length(at)), y = y)
  if (is_discrete(fit)) {
    below <- function(y, at) ifelse(y < 0, 0, cdf(pmax(y, 0), at))
    within <- function(m, at) below(median[at] + m, at) - below(median[at] - m - 1, at)
    return(least_whole(within, 0 * most, most, 0.5))
  }
  within <- function(m, at) cdf(median[at] + m, at) - cdf(median[at] - m, at)
  rising_root(function(m, at) within(m, at) - 0.5, 0 * most, most)
}
