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
