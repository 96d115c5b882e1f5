#' Predictions from a fit
#'
#' Means, intervals, class probabilities, quantiles and log densities at the observations or at new data.
#' Expectations over the posterior are taken by quadrature, not by plugging in its mean.
#'
#' @param object A fit of [galvi()].
#' @param newdata A data frame (or a matrix, for a fit made from one) with the predictors, and the offset's
#'   variables if the formula has an offset. Without it, predictions are for the observations. Or rows that are
#'   not in memory, see [row_source()], which are read some at a time.
#' @param type
#' * `"response"`: E\[y\], the mean of a new response; a probability for a binary one. For responses of
#'   several classes it is `"prob"`; for [stochastic_volatility()] sd(y), as E\[y\] is zero there. With a log
#'   link it is exp(mean + variance / 2) of the linear predictor, which may be too large for a number: it is
#'   `Inf` then, with a warning (`galvi_warning_numeric`), as are standard deviations, limits and quantiles.
#' * `"link"`: the linear predictor eta, offset included.
#' * `"class"`: the most probable class, a factor with the response's levels, ordered if they are.
#' * `"prob"`: class probabilities, a column per level (`"0"` and `"1"` for a numeric response); rows add up
#'   to one.
#' * `"terms"`: what each term contributes to eta, a column per term, as [predict.glm()] gives it. The
#'   intercept is in attribute `constant`; fixed effects are centred at their means over the observations if
#'   there is an intercept; `gp()` and other terms have prior mean zero and are left as they are. Rows add up,
#'   with the constant and the offset, to eta.
#' * `"quantile"`: quantiles of the predictive distribution of a new response, a column per element of
#'   `probs`.
#' * `"density"`: the log predictive density (or probability) of the response, which is taken from `newdata`;
#'   a class must be one of the fit's levels. Of a censored `survival::Surv()` it is the log probability of
#'   what is known.
#' * `"survival"`, `"cdf"`: P(Y > t), the probability of an exceedance, and P(Y <= t) of a new response, a column per
#'   element of `times` or `q`.
#'   With `interval = "credible"` an array, rows x times x (`fit`, `lwr`, `upr`), with limits of the
#'   probability given eta.
#'
#'   Predictions of a response are for one trial each if the response is binary. If it counts successes in
#'   trials, quantiles and prediction intervals are for the proportion in as many trials as the row has: one,
#'   if `newdata` has no response (or weights, for a proportion) that tells.
#' @param se.fit Also give standard deviations: of eta for `"link"`, of E\[y given eta\] for `"response"`, of
#'   P(class given eta) for `"prob"`, of each contribution for `"terms"`.
#' @param interval For `"link"` and `"response"`: `"credible"` is for eta or E\[y given eta\], `"prediction"`
#'   (`"response"` only) for a new y. Limits cut off equal probabilities. Responses of several classes have
#'   neither, but for the linear predictor of an ordinal one.
#' @param level Probability of the interval.
#' @param probs Probabilities for `type = "quantile"`.
#' @param times,q Values of the response for `type = "survival"` and `type = "cdf"`.
#' @param covariance For `"link"`: also give the joint covariance of eta at all rows.
#' @param dpar The parameter with a linear predictor of its own, such as `"sigma"`, whose predictor (`"link"`,
#'   `"terms"`) or value (`"response"`) is wanted; NULL or `"mu"` for that of the response.
#' @param re_formula Which effects of groups, [iid()] and [random-slopes], the predictions have: NULL for all, NA
#'   for none (the population: their variables need not be in `newdata`), or a formula of those that stay, such
#'   as `~ (1 | g)`. Other terms always stay.
#' @param na.action What becomes of rows of `newdata` with missing predictors: with [na.pass()] their
#'   predictions are NA, with [na.omit()] they are left out, with [na.fail()] they are an error.
#' @param into For `newdata` from a [row_source()]: NULL to return all predictions, or a function that is called
#'   with those of each chunk of rows (`galvi_control(chunk_rows = )` of the fit), so that they need not be in
#'   memory together; then nothing is returned.
#' @param ... Must be empty.
#' @return One element or row per row of `newdata`, in its order and with its row names. A vector; or a
#'   matrix, with a column per class for `"prob"` and for `"response"` where it has classes, per latent value
#'   for `"link"` of multi-class families, per term or quantile for these (terms of multi-class families: an
#'   array, rows x terms x latents). With `interval`, a matrix with columns `fit`, `lwr` and `upr`. With
#'   `se.fit` or `covariance`, a list of `fit` and `se.fit` (same shape as the prediction) and `covariance` (a
#'   square matrix; a list of them, one per latent, for multi-class families).
#' @seealso [plot.galvi()], [residuals.galvi()], [simulate.galvi()]
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' predict(fit, data.frame(speed = c(5, 10, 30)), interval = "prediction")
#' predict(fit, data.frame(speed = c(5, 10, 30)), type = "link", se.fit = TRUE)
#' @export
predict.galvi <- function(object, newdata,
                          type = c(
                            "response", "link", "class", "prob", "terms", "quantile", "density", "survival",
                            "cdf"
                          ),
                          se.fit = FALSE, interval = c("none", "credible", "prediction"), level = 0.95,
                          probs = c(0.05, 0.5, 0.95), covariance = FALSE, na.action = stats::na.pass,
                          times = NULL, q = NULL, dpar = NULL, re_formula = NULL, into = NULL, ...) {
  refuse_dots(list(...), predict.galvi, "predict()")
  if (!missing(newdata) && is_row_source(newdata)) {
    if (covariance) stop_galvi("argument", "`covariance = TRUE` needs all rows of `newdata` in memory.")
    return(by_chunks(object, newdata, into, function(chunk) {
      predict.galvi(object, chunk, type, se.fit, interval, level, probs, na.action = na.action,
        times = times, q = q, dpar = dpar, re_formula = re_formula)
    }))
  }
  check_no_into(into)
  types <- predict_types()
  type <- first_choice(type, names(types), "type")
  options <- list(
    se.fit = check_flag(se.fit, "se.fit"),
    interval = first_choice(interval, c("none", "credible", "prediction"), "interval"),
    level = check_level(level), probs = check_probs(probs), covariance = check_flag(covariance, "covariance"),
    at = check_values_at(list(times = times, q = q), type)
  )
  check_prediction_request(type, types[[type]], options)
  predictor <- check_dpar(object, dpar)
  options$predictor <- predictor
  if (!is.null(predictor) && !type %in% c("link", "terms", "response")) {
    stop_galvi("argument", sprintf(
      "`dpar` goes with type = \"link\", \"terms\" and \"response\", not \"%s\".", type
    ))
  }
  na.action <- check_na_action(na.action)
  kept <- kept_effects(object$design, re_formula)
  target <- if (missing(newdata) || is.null(newdata)) {
    without_target_effects(object, training_target(object), kept)
  } else {
    for_new_response <- type %in% c("quantile", "survival", "cdf") || options$interval == "prediction"
    new_target(object, newdata, na.action,
      response = type == "density" || for_new_response && tells_trials(object, newdata), kept = kept)
  }
  parts <- as_galvi_error(types[[type]]$predict(object, target, options))
  finish <- function(x) finish_rows(x, target, na.action, object)
  result <- list(fit = finish(parts$fit))
  if (options$se.fit) result$se.fit <- finish(parts$se.fit)
  if (options$covariance) result$covariance <- finish_covariance(parts$covariance, finish)
  if (length(result) == 1L) result$fit else result
}

#' One entry per type of prediction: its function and what may be asked of it
#'
#' `predict(fit, target, options)` returns a list with `fit` and, where asked for, `se.fit` and `covariance`,
#' with a row per row of the target. A new type is a new function and a new line here.
#' @noRd
predict_types <- function() {
  entry <- function(predict, se.fit = FALSE, interval = "none", covariance = FALSE) {
    list(predict = predict, se.fit = se.fit, interval = interval, covariance = covariance)
  }
  list(
    response = entry(predict_response_mean, se.fit = TRUE, interval = c("none", "credible", "prediction")),
    link = entry(predict_link, se.fit = TRUE, interval = c("none", "credible"), covariance = TRUE),
    class = entry(predict_class),
    prob = entry(predict_prob, se.fit = TRUE),
    terms = entry(predict_terms, se.fit = TRUE),
    quantile = entry(predict_quantile),
    density = entry(predict_density),
    survival = entry(function(...) predict_tail("upper", ...), interval = c("none", "credible")),
    cdf = entry(function(...) predict_tail("cdf", ...), interval = c("none", "credible"))
  )
}

check_prediction_request <- function(type, entry, options) {
  can <- function(what) {
    types <- predict_types()
    paste0("\"", names(types)[vapply(types, what, NA)], "\"", collapse = ", ")
  }
  refuse <- function(argument, types) {
    stop_galvi("argument", sprintf(
      "%s is not available with type = \"%s\", only with %s.", argument, type, types
    ))
  }
  if (options$se.fit && !entry$se.fit) refuse("`se.fit = TRUE`", can(function(x) x$se.fit))
  if (options$covariance && !entry$covariance) refuse("`covariance = TRUE`", can(function(x) x$covariance))
  if (!options$interval %in% entry$interval) {
    allowed <- can(function(x) options$interval %in% x$interval)
    refuse(sprintf("`interval = \"%s\"`", options$interval), allowed)
  }
}

# ---- one function per type ----

predict_link <- function(fit, target, options) {
  if (is_distributional(fit)) return(of_predictor(predict_link, fit, target, options))
  marginals <- latent_marginals(fit, target)
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

predict_response_mean <- function(fit, target, options) {
  if (identical(options$predictor, 2L)) {
    if (options$interval == "prediction") {
      stop_galvi("argument", paste(
        "`interval = \"prediction\"` is for a new response, not for a parameter: use \"credible\"."
      ))
    }
    return(of_predictor(predict_parameter, fit, target, options))
  }
  if (options$interval != "none") check_no_classes(fit, sprintf("`interval = \"%s\"`", options$interval))
  if (has_classes(fit)) return(predict_prob(fit, target, options))
  marginals <- latent_marginals(fit, target)
  mean <- response_mean(fit, marginals)
  result <- list(fit = mean)
  if (options$se.fit) result$se.fit <- response_sd(fit, marginals)
  warn_overflow(fit, target, mean, result$se.fit)
  limits <- switch(options$interval,
    credible = response_limits(fit, marginals, options$level),
    prediction = response_quantiles(fit, target, marginals, tails(options$level))
  )
  if (is.null(limits)) return(result)
  warn_large_quantiles("Limits", limits, target)
  result$fit <- with_limits(mean, limits)
  result
}

predict_quantile <- function(fit, target, options) {
  quantiles <- response_quantiles(fit, target, latent_marginals(fit, target), options$probs)
  warn_large_quantiles("Quantiles", quantiles, target)
  colnames(quantiles) <- paste0(format(100 * options$probs, trim = TRUE, digits = 7), "%")
  list(fit = quantiles)
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

#' P(Y > t) or P(Y <= t): N* x T, or N* x T x 3 with limits of that probability given eta, in which it is
#' monotone
#' @param tail `"upper"` or `"cdf"`.
#' @noRd
predict_tail <- function(tail, fit, target, options) {
  check_no_classes(fit, "A distribution function")
  marginals <- latent_marginals(fit, target)
  at <- function(fit, marginals, y) {
    response_moment(fit, marginals, tail, size = target$size, y = rep(y, target$n))
  }
  names <- format(options$at, trim = TRUE, digits = 7)
  columns <- lapply(options$at, function(y) at(fit, marginals, y))
  probability <- matrix(unlist(columns), target$n, dimnames = list(NULL, names))
  if (options$interval == "none") return(list(fit = probability))
  check_one_latent(fit, "`interval = \"credible\"`")
  if (is_distributional(fit)) {
    known <- tail_limits_of_both(fit, tail, target, marginals, options)
    limit <- function(j) as.vector(known[[j]])
  } else {
    limits <- lapply(options$at, function(y) {
      limits_of(fit, marginals, options$level, function(fit, eta) at(fit, certain(eta), y))
    })
    limit <- function(j) unlist(lapply(limits, function(x) x[, j]))
  }
  list(fit = array(c(probability, limit(1L), limit(2L)), c(dim(probability), 3L),
    list(NULL, names, c("fit", "lwr", "upr"))))
}

# Marginals of an eta that is known, K = 1.
certain <- function(eta) list(mean = matrix(eta, ncol = 1L), variance = matrix(0, length(eta), 1L))

# ---- shared by the types ----

#' A prediction of the predictor that was asked for, that of the response if none was
#' @noRd
of_predictor <- function(predict, fit, target, options) {
  k <- if (is.null(options$predictor)) 1L else options$predictor
  predict(predictor_view(fit, k), target_view(target, k), options)
}

drop_latent <- function(x) if (ncol(x) == 1L) as.vector(x) else x

tails <- function(level) c((1 - level) / 2, (1 + level) / 2)

#' Of eta, K = 1: N x 2
#' @noRd
credible_limits <- function(marginals, level) {
  states <- marginals$states
  if (is.null(states)) {
    sd <- sqrt(marginals$variance[, 1L])
    return(outer(sd, stats::qnorm(tails(level))) + marginals$mean[, 1L])
  }
  n <- nrow(marginals$mean)
  each <- function(f) matrix(vapply(states, f, numeric(n)), n)
  mean <- each(function(state) state$mean[, 1L])
  sd <- sqrt(each(function(state) state$variance[, 1L]))
  weight <- each(function(state) rep_len(state$weight, n))
  matrix(vapply(tails(level), function(p) normal_mixture_quantile(mean, sd, weight, p), numeric(n)), n)
}

with_limits <- function(fit, limits) {
  limits <- matrix(limits, ncol = 2L)
  `colnames<-`(cbind(as.vector(fit), limits), c("fit", "lwr", "upr"))
}

#' A moment, density, cdf or quantile of a new response under q(eta); `what` as predict_response() takes it
#'
#' Of several states: averages, of logarithms' exponentials too; variances within and between them; quantiles of
#' the mixture.
#' @param censoring,counts As in the model list: what "log_density" takes instead of y.
#' @noRd
response_moment <- function(fit, marginals, what, size = NULL, y = NULL, probability = NULL,
                            censoring = NULL, counts = NULL) {
  n <- nrow(marginals$mean)
  if (n == 0L) return(numeric())
  of <- function(what, at = seq_len(n), y. = y, probability. = probability) {
    function(state) state_moment(fit, state, what, at, size, y., probability., censoring, counts)
  }
  states <- marginal_states(fit, marginals)
  if (length(states) == 1L) return(of(what)(states[[1L]]))
  switch(what,
    mean = , cdf = , upper = average_states(states, of(what)),
    mean_variance = , variance = {
      parts <- lapply(states, function(state) list(mean = of("mean")(state), variance = of(what)(state)))
      # the mean of counts of successes is that of one trial
      if (what == "variance" && !is.null(size)) parts <- lapply(parts, function(p) replace(p, "mean", list(size * p$mean)))
      mixture_moments(parts, do.call(cbind, lapply(states, function(state) rep_len(state$weight, n))))$variance
    },
    quantile = mixture_response_quantile(fit, states, of, if (is.null(probability)) 0.5 else probability),
    log_average_states(states, of(what))
  )
}

#' @param at Which rows.
#' @noRd
state_moment <- function(fit, state, what, at, size, y, probability, censoring, counts) {
  n <- length(at)
  as_galvi_error(predict_response(
    fit$model$likelihood, state$hyper,
    size = if (is.null(size)) rep(1, n) else size[at], y = if (is.null(y)) numeric(n) else rep_len(y, max(at))[at],
    mean = state$mean[at, , drop = FALSE], variance = state$variance[at, , drop = FALSE],
    what = what, probability = if (is.null(probability)) 0.5 else probability,
    censoring = take_rows_of(censoring, at), counts = take_rows_of(counts, at)
  ))
}

#' Between the quantiles of the states
#' @param of As in response_moment().
#' @noRd
mixture_response_quantile <- function(fit, states, of, p) {
  ends <- vapply(states, of("quantile"), numeric(nrow(states[[1L]]$mean)))
  ends <- matrix(ends, ncol = length(states))
  lower <- row_min(ends)
  upper <- row_max(ends)
  cdf <- function(x, at) {
    y <- numeric(length(lower))
    y[at] <- x
    at_rows <- lapply(states, function(state) {
      state$weight <- if (length(state$weight) > 1L) state$weight[at] else state$weight
      state
    })
    average_states(at_rows, of("cdf", at, y))
  }
  open <- is.finite(lower) & is.finite(upper)
  upper[!open] <- lower[!open]
  if (is_discrete(fit)) return(least_whole(cdf, lower, upper, p))
  rising_root(function(x, at) cdf(x, at) - p, lower, upper)
}

# What `type = "response"` is about is E[y | eta], or where that is zero whatever eta is, sd(y | eta) =
# exp(eta / 2). Under q, eta / 2 is N(mean / 2, variance / 4).

#' E[y], or sd(y) of a volatility: the root of E exp(eta)
#' @noRd
response_mean <- function(fit, marginals) {
  if (!is_volatility(fit)) return(response_moment(fit, marginals, "mean"))
  exp(log_average_states(marginal_states(fit, marginals), function(state) {
    state$mean[, 1L] + state$variance[, 1L] / 2
  }) / 2)
}

#' exp(eta) is soon beyond all numbers where eta is far out, or hardly known
#' @param mean,sd What is predicted; `sd` may be NULL.
#' @noRd
warn_overflow <- function(fit, target, mean, sd = NULL) {
  if (length(mean) && has_infinite_mean(fit)) return(invisible(warn_galvi("numeric", sprintf(
    "The mean of the response is infinite: %s has none %s. predict(type = \"quantile\") has the median.",
    the_family(fit$family), if (is_distributional(fit)) {
      sprintf("with a predicted `%s`, which may be anything", fit$design$second$name)
    } else {
      sprintf("at a shape of 1 or less, here %s", format(family_parameter(fit, "shape"), digits = 3))
    }
  ))))
  whose <- if (any(is.infinite(mean))) "mean" else "standard deviation of the mean"
  formula <- if (is_volatility(fit)) "exp(mean / 2 + variance / 4)" else "exp(mean + variance / 2)"
  warn_too_large(paste("The", whose, "of the response is"), if (whose == "mean") mean else sd, target,
    paste(formula, "makes it Inf there"), paste(
      "Use type = \"link\", which does not overflow, or type = \"quantile\", which does so only where the",
      "response itself is too large."
    ))
}

#' Has the response no mean, whatever eta is?
#' @noRd
has_infinite_mean <- function(fit) {
  if (!family_type(fit$family)$times) return(FALSE)
  # that of a second parameter, if there is one, is not known exactly
  given <- if (is_distributional(fit)) list(mean = cbind(0, 0), variance = cbind(0, 1)) else {
    list(mean = matrix(0), variance = matrix(0))
  }
  is.infinite(response_moment(fit, given, "mean"))
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
  named <- paste(utils::head(rows, most), collapse = ", ")
  more <- length(rows) - most
  paste0(if (length(rows) > 1L) "rows " else "row ", named, if (more > 0L) sprintf(" and %d more", more))
}

#' The sd of E[y | eta], or of exp(eta / 2), under q
#' @noRd
response_sd <- function(fit, marginals) {
  if (!is_volatility(fit)) return(sqrt(response_moment(fit, marginals, "mean_variance")))
  states <- marginal_states(fit, marginals)
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

#' It is monotone in eta, so its quantiles are those of eta, transformed
#' @noRd
response_limits <- function(fit, marginals, level) {
  if (is_distributional(fit)) return(limits_of_both(fit, marginals, level))
  limits_of(fit, marginals, level, response_given)
}

#' Its value at values of eta: the mean under a q without variance
#' @noRd
response_given <- function(fit, eta) {
  response_mean(fit, certain(eta))
}

#' Quantiles of a new response, N* x length(probs); of the proportion where the response counts successes
#' @noRd
response_quantiles <- function(fit, target, marginals, probs) {
  check_no_classes(fit, "type = \"quantile\"")
  columns <- lapply(probs, function(p) {
    response_moment(fit, marginals, "quantile", size = target$size, probability = p) / target$size
  })
  matrix(unlist(columns), ncol = length(probs))
}

joint_covariance <- function(fit, target) {
  covariance <- latent_at(fit, target$rows, target$n, covariance = TRUE)$covariance
  names(covariance) <- latent_names(fit)
  if (length(covariance) == 1L) covariance[[1L]] else covariance
}

finish_covariance <- function(covariance, finish) {
  if (is.list(covariance)) return(lapply(covariance, finish_covariance, finish))
  # Rows, then columns: a covariance matrix is symmetric.
  finish(t(finish(covariance)))
}

check_one_latent <- function(fit, what) {
  k <- n_latents(fit)
  if (k == 1L || is_distributional(fit)) return(invisible())
  stop_galvi("argument", sprintf(paste(
    "%s is for one linear predictor; this fit has %d per observation. Use predict(type = \"link\", se.fit =",
    "TRUE): their posteriors are Gaussian."
  ), what, k))
}

#' A default that lists all choices means the first one
#' @noRd
first_choice <- function(x, choices, arg) {
  if (identical(x, choices)) choices[1L] else check_choice(x, choices, arg)
}

check_level <- function(level, arg = "level") {
  if (is.numeric(level) && length(level) == 1L && !is.na(level) && level > 0 && level < 1) return(level)
  stop_galvi("argument", sprintf(
    "`%s` must be a number between 0 and 1, not %s.", arg, describe(level)
  ))
}

# Values of the response, for the type that wants them.
check_values_at <- function(at, type) {
  wanted <- c(survival = "times", cdf = "q")
  for (name in names(Filter(Negate(is.null), at))) {
    if (!identical(unname(wanted[type]), name)) {
      stop_galvi("argument", sprintf(
        "`%s` is for type = \"%s\", not \"%s\".", name, names(wanted)[wanted == name], type
      ))
    }
  }
  if (!type %in% names(wanted)) return(NULL)
  x <- at[[wanted[[type]]]]
  if (is.numeric(x) && length(x) && !anyNA(x)) return(as.numeric(x))
  stop_galvi("argument", sprintf(
    "type = \"%s\" needs `%s`, values of the response without NA, not %s.", type, wanted[[type]], describe(x)
  ))
}

check_probs <- function(probs) {
  usable <- is.numeric(probs) && length(probs)
  bad <- if (usable) is.na(probs) | probs <= 0 | probs >= 1
  if (usable && !any(bad)) return(probs)
  found <- describe(if (usable) probs[bad][1L] else probs)
  stop_galvi("argument", sprintf("`probs` must be probabilities between 0 and 1, not %s.", found))
}
