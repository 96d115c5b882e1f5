# type = "response": the mean of a new response, its standard deviation and limits.

predict_response_mean <- function(fit, target, options) {
  k <- options$predictor
  # a volatility has one parameter, of which the response's standard deviation is a function
  if (!is.null(k) && !is_volatility(fit)) {
    if (options$interval == "prediction") {
      stop_galvi("argument", paste(
        "`interval = \"prediction\"` is for a new response, not for a parameter: use \"credible\"."
      ))
    }
    own <- if (n_predictors(fit) > 1L) target_view(target, k) else target
    return(predict_parameter(parameter_view(fit, k), own, options))
  }
  if (options$interval != "none") check_no_classes(fit, sprintf("`interval = \"%s\"`", options$interval))
  if (has_classes(fit)) return(predict_prob(fit, target, options))
  marginals <- latent_marginals(fit, target)
  mean <- response_mean(fit, marginals)
  result <- list(fit = mean)
  if (options$se.fit) result$se.fit <- mean_sd(fit, target, marginals)
  warn_overflow(fit, target, mean, result$se.fit)
  limits <- switch(options$interval,
    credible = mean_limits(fit, target, marginals, options$level),
    prediction = response_quantiles(fit, target, marginals, tails(options$level))
  )
  if (is.null(limits)) return(result)
  warn_large_quantiles("Limits", limits, target)
  result$fit <- with_limits(mean, limits)
  result
}

# `type = "response"` predicts E[y | eta] or, for a stochastic volatility, where that is zero, sd(y | eta) =
# exp(eta / 2). Under q, eta / 2 is N(mean / 2, variance / 4).

#' E[y], or sd(y) of a volatility: the root of E exp(eta)
#' @noRd
response_mean <- function(fit, marginals) {
  if (!is_volatility(fit)) return(response_moment(fit, marginals, "mean"))
  exp(log_average_states(marginal_states(fit, marginals), function(state) {
    state$mean[, 1L] + state$variance[, 1L] / 2
  }) / 2)
}

#' Warns of means that are infinite or overflow, as E exp(eta) does where eta is large or very uncertain
#' @param mean,sd What is predicted; `sd` may be NULL.
#' @noRd
warn_overflow <- function(fit, target, mean, sd = NULL) {
  # with a spread alone, as that of lognormal(), a mean is at most too large for a number
  shape <- family_parameter(fit, "shape")
  infinite <- (n_predictors(fit) > 1L || length(shape)) && has_infinite_mean(fit)
  if (length(mean) && (infinite || may_have_infinite_mean(fit) && all(is.infinite(mean)))) {
    return(invisible(warn_galvi("numeric", sprintf(
      "The mean of the response is infinite for %s %s. predict(type = \"quantile\") has the median.",
      the_family(fit$family), if (n_predictors(fit) > 1L) {
        sprintf("with a linear predictor of %s", quote_names(names(fit$design$others)))
      } else if (infinite) {
        sprintf("at a shape of 1 or less, here %s", format(shape, digits = 3))
      } else {
        "at a shape of 1 or less, which the posterior does not exclude"
      }
    ))))
  }
  whose <- if (any(is.infinite(mean))) "mean" else "standard deviation of the mean"
  formula <- if (is_volatility(fit)) "exp(mean / 2 + variance / 4)" else "exp(mean + variance / 2)"
  warn_too_large(paste("The", whose, "of the response is"), if (whose == "mean") mean else sd, target,
    paste(formula, "makes it Inf there"), paste(
      "Use type = \"link\", which does not overflow, or type = \"quantile\", which does so only where the",
      "response itself is too large."
    ))
}

#' Is the mean of the response infinite at every eta?
#' @noRd
has_infinite_mean <- function(fit) {
  if (!family_type(fit$family)$times) return(FALSE)
  if (isTRUE(fit$model$likelihood$truncated) && all(is.finite(fit$model$known[, "exit"]))) return(FALSE)
  # other parameters that are predicted are uncertain
  is.infinite(response_moment(fit, uncertain_others(n_predictors(fit) - 1L), "mean"))
}

#' Is it at a shape that the posterior does not exclude?
#' @noRd
may_have_infinite_mean <- function(fit) {
  shape <- fit$model$likelihood$hyper$shape
  if (is.null(shape) || n_predictors(fit) > 1L) return(FALSE)
  likely <- if (has_points(fit)) fit$points$hyper[, fit$points$at == shape] else {
    vapply(fit_states(fit), function(state) state$posterior$hyper[shape], 0)
  }
  length(likely) > 0L && has_infinite_mean(at_hyper(fit, replace(fit$posterior$hyper, shape, min(likely))))
}

#' @param x A vector, or a matrix with a row per row of the target; what cannot overflow may be NULL.
#' @noRd
warn_too_large <- function(what, x, target, why, instead) {
  over <- if (!is.null(x)) which(rowSums(is.infinite(as.matrix(x))) > 0)
  if (!length(over)) return(invisible())
  names <- if (is.null(target$omitted)) target$names else target$names[-target$omitted]
  warn_galvi("numeric", sprintf(
    "%s too large for a number in %s: %s. %s", what, list_rows(names[over]), why, instead
  ))
}

#' Quantiles, and limits on the scale of the response
#' @noRd
warn_large_quantiles <- function(what, x, target) {
  warn_too_large(paste(what, "of the response are"), x, target, "they are Inf (or -Inf) there", paste(
    "Use type = \"link\", which does not overflow, or probabilities nearer to 0.5."
  ))
}

#' "row 3", "rows 1, 2, 5 and 9 more"
#' @noRd
list_rows <- function(rows, most = 8L) {
  named <- paste(utils::head(quote_row_names(rows), most), collapse = ", ")
  more <- length(rows) - most
  paste0(if (length(rows) > 1L) "rows " else "row ", named, if (more > 0L) sprintf(" and %d more", more))
}

#' The sd of E[y | eta], or of exp(eta / 2), under q
#' @noRd
response_sd <- function(fit, marginals) {
  if (!is_volatility(fit)) return(sqrt(response_moment(fit, marginals, "mean_variance")))
  states <- marginal_states(fit, marginals)
  if (inherits(states, "galvi_points")) {
    mean <- average_states(states, function(state) exp(state$mean[, 1L] / 2))
    square <- average_states(states, function(state) exp(state$mean[, 1L]))
    return(sqrt(variance_by_square(square, mean)))
  }
  parts <- lapply(states, function(state) {
    m <- state$mean[, 1L]
    v <- state$variance[, 1L]
    # mean (exp(v / 4) - 1)^(1 / 2) has factors that can be 0 and Inf
    list(mean = exp(m / 2 + v / 8), sd = exp(m / 2 + v / 4 + log(-expm1(-v / 4)) / 2))
  })
  if (length(parts) == 1L) return(parts[[1L]]$sd)
  parts <- lapply(parts, function(part) list(mean = part$mean, variance = part$sd^2))
  sqrt(mixture_moments(parts, vapply(states, function(s) s$weight[1L], 0))$variance)
}

#' The sd, and limits, of the mean that a target asks for: given eta, or over groups
#' @noRd
mean_sd <- function(fit, target, marginals) {
  if (is.null(target$averaged)) return(response_sd(fit, marginals))
  check_population(fit, target, "`se.fit = TRUE`")
  population_sd(fit, target, function(view, given, rows) response_mean(view, with_known(given, target$known, rows)))
}

mean_limits <- function(fit, target, marginals, level) {
  if (is.null(target$averaged)) return(response_limits(fit, marginals, level))
  check_population(fit, target, "`interval = \"credible\"`")
  population_quantiles(fit, target, tails(level), function(view, given, rows) {
    response_mean(view, with_known(given, target$known, rows))
  })
}

#' E[y | eta] is monotone in eta, so its quantiles are transformed quantiles of eta
#' @noRd
response_limits <- function(fit, marginals, level) mean_quantiles(fit, marginals, tails(level))

#' @param probs As in quantiles_of().
#' @return N x length(probs).
#' @noRd
mean_quantiles <- function(fit, marginals, probs) {
  if (n_predictors(fit) > 1L) return(mean_quantiles_of_all(fit, marginals, probs))
  quantiles_of(fit, marginals, probs, function(fit, eta, rows) response_given(fit, eta, marginals$known, rows))
}

#' E[y | eta]: the mean under a q without variance
#' @noRd
response_given <- function(fit, eta, known = NULL, rows = NULL) {
  response_mean(fit, with_known(certain(eta), known, rows))
}

# type = "link": the linear predictor, its limits and joint covariance.

predict_link <- function(fit, target, options) {
  if (n_predictors(fit) > 1L) return(of_predictor(predict_link, fit, target, options))
  # the mean of eta over groups is that without them
  marginals <- own_marginals(fit, target)
  sd <- sqrt(marginals$variance)
  mean <- marginals$mean
  colnames(mean) <- colnames(sd) <- latent_names(fit)
  result <- list(fit = drop_latent(mean), se.fit = drop_latent(sd))
  if (options$interval == "credible") {
    check_one_latent(fit, "`interval = \"credible\"`")
    result$fit <- with_limits(mean, credible_limits(marginals, options$level))
  }
  if (options$covariance) result$covariance <- joint_covariance(fit, target)
  result
}

#' A prediction of the predictor that was asked for, that of the response if none was
#' @noRd
of_predictor <- function(predict, fit, target, options) {
  k <- if (is.null(options$predictor)) 1L else options$predictor
  predict(predictor_view(fit, k), target_view(target, k), options)
}

drop_latent <- function(x) if (ncol(x) == 1L) as.vector(x) else x

#' Of eta, K = 1: N x 2
#' @noRd
credible_limits <- function(marginals, level) latent_quantiles(marginals, tails(level))

#' Of eta, K = 1: N x length(probs)
#' @noRd
latent_quantiles <- function(marginals, probs) {
  states <- marginals$states
  if (!is.null(marginals$points)) return(point_quantiles(marginals$points, probs))
  if (is.null(states)) {
    sd <- sqrt(marginals$variance[, 1L])
    return(outer(sd, stats::qnorm(probs)) + marginals$mean[, 1L])
  }
  n <- nrow(marginals$mean)
  each <- function(f) matrix(vapply(states, f, numeric(n)), n)
  mean <- each(function(state) state$mean[, 1L])
  sd <- sqrt(each(function(state) state$variance[, 1L]))
  weight <- each(function(state) rep_len(state$weight, n))
  matrix(vapply(probs, function(p) normal_mixture_quantile(mean, sd, weight, p), numeric(n)), n)
}

with_limits <- function(fit, limits) {
  limits <- matrix(limits, ncol = 2L)
  `colnames<-`(cbind(as.vector(fit), limits), c("fit", "lwr", "upr"))
}

joint_covariance <- function(fit, target) {
  covariance <- if (!is.null(target$sets)) mixed_covariance(fit, target$sets) else {
    latent_at(fit, target$rows, target$n, covariance = TRUE)$covariance
  }
  names(covariance) <- latent_names(fit)
  if (length(covariance) == 1L) covariance[[1L]] else covariance
}

finish_covariance <- function(covariance, finish) {
  if (is.list(covariance)) return(lapply(covariance, finish_covariance, finish))
  # Rows, then columns: a covariance matrix is symmetric.
  finish(t(finish(covariance)))
}
