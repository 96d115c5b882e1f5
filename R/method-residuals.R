#' Fitted values, residuals and deviance
#'
#' Extract posterior mean responses, residuals of four types, and the deviance from a fit of [galvi()].
#'
#' @details
#' With the predictive mean mu = E\[y\] and the weight w of a row (times the number of trials, for proportions),
#' residuals are
#' * `"response"`: y - mu. A binary response counts as 0 or 1, successes in trials as a proportion.
#' * `"pearson"`: (y - mu) / sd(y), with the standard deviation of the predictive distribution, where that is finite;
#'   times sqrt(w) where weights multiply the log likelihood. Weights that divide a dispersion are part of sd(y).
#' * `"deviance"`: sign(y - mu) times the square root of the row's contribution to the deviance, 2 w times the
#'   difference between the largest possible log likelihood of y and the log likelihood at mu. This is the deviance of
#'   [glm()] for its families (without the dispersion). It is also defined for [exponential()], [negbinomial()],
#'   [tweedie()], [student()], [laplace()], [von_mises()], [beta_family()] and [beta_binomial()], at their estimated
#'   parameters, but not for the other families. For responses with several classes it is sqrt(-2 w log P(y)), without a sign.
#' * `"quantile"`: the normal quantile of the predictive distribution function at y (Dunn and Smyth, 1996). If the
#'   response is discrete, a uniform draw between P(Y < y) and P(Y <= y) is used, so call [set.seed()] first. Classes
#'   are taken in the order of their levels. They are approximately standard normal if the model is right.
#'
#' Responses with several classes have only `"deviance"` and `"quantile"`; counts of several classes have all but
#' `"quantile"`. Censored and truncated rows of a `survival::Surv()` have only `"quantile"`: a uniform draw between the
#' probabilities of the bounds, given that the response exceeds its entry time. [stochastic_volatility()] has no
#' deviance.
#'
#' The posterior has used the observations, so their residuals tend to be slightly too small. Residuals of `newdata` do
#' not have this problem.
#'
#' @param object A fit of [galvi()].
#' @param type For `residuals()`, the type of residual, `"response"` by default. For `fitted()`, `"response"` for the
#'   mean response or `"link"` for the linear predictor.
#' @param newdata A data frame, or rows as in [row_source()], instead of the observations. Residuals need the response
#'   in it.
#' @param into,re_formula As in [predict()][predict.galvi].
#' @param ... Must be empty, except for names that lme4 and brms have for arguments of predictions (`re.form`,
#'   `allow.new.levels`, `allow_new_levels`).
#' @return `residuals()` and `fitted()`: a named vector with an element per observation (per row of the data, if the
#'   model was fitted with `na.action = na.exclude`) or per row of `newdata`, NA where a row has missing values. For
#'   several classes `fitted()` is a matrix of class probabilities; for counts of several classes, residuals of types
#'   `"response"` and `"pearson"` are matrices, rows x classes. `deviance()`: the sum of the squared deviance residuals.
#' @section Errors:
#' `galvi_error_argument` if the type is not defined for the family or for censored responses; `galvi_error_newdata` if
#' `newdata` lacks a variable.
#' @references Dunn, P. K. and Smyth, G. K. (1996). Randomized quantile residuals. *Journal of Computational and
#'   Graphical Statistics* 5, 236-244.
#' @family predictions and draws
#' @examples
#' fit <- galvi(count ~ spray, data = InsectSprays, family = poisson())
#' head(fitted(fit))
#' deviance(fit)
#' # overdispersion: squared Pearson residuals should have a mean of about one
#' mean(residuals(fit, "pearson")^2)
#' set.seed(1)
#' qqnorm(residuals(fit, "quantile"))
#' @export
residuals.galvi <- function(object, type = c("response", "pearson", "deviance", "quantile"), newdata = NULL,
                            re_formula = NULL, into = NULL, ...) {
  refuse_dots(list(...), residuals.galvi, "residuals()", foreign_prediction_words)
  re_formula <- one_re_formula(re_formula, list(...))
  if (is_row_source(newdata)) {
    return(by_chunks(object, newdata, into, function(chunk) residuals.galvi(object, type, chunk, re_formula)))
  }
  check_no_into(into)
  type <- first_choice(type, c("response", "pearson", "deviance", "quantile"), "type")
  if (is_imputed(object)) {
    if (is.null(newdata)) check_same_rows(object)
    parts <- lapply(object$fits, residuals.galvi, type, newdata, re_formula)
    return(Reduce(`+`, parts) / length(parts))
  }
  if (is_counts(object)) {
    target <- draws_target(object, newdata, re_formula, response = TRUE)
    return(finish_rows(count_residuals(object, target, type), target, stats::na.pass, object))
  }
  if (has_classes(object) && type %in% c("response", "pearson")) {
    stop_galvi("argument", sprintf(paste(
      "`type = \"%s\"` is for responses that are numbers; this one has %d classes: use \"deviance\" or",
      "\"quantile\"."
    ), type, length(response_levels(object))))
  }
  target <- draws_target(object, newdata, re_formula, response = TRUE)
  if (type != "quantile") check_observed(object, target, sprintf("`type = \"%s\"`", type))
  residual <- switch(type,
    response = response_residuals(object, target),
    pearson = pearson_residuals(object, target),
    deviance = deviance_residuals(object, target),
    quantile = quantile_residuals(object, target)
  )
  finish_rows(residual, target, stats::na.pass, object)
}

#' @rdname residuals.galvi
#' @export
fitted.galvi <- function(object, type = c("response", "link"), newdata = NULL, re_formula = NULL, into = NULL,
                         ...) {
  refuse_dots(list(...), fitted.galvi, "fitted()", foreign_prediction_words)
  re_formula <- one_re_formula(re_formula, list(...))
  predict.galvi(object, newdata, type = first_choice(type, c("response", "link"), "type"),
    re_formula = re_formula, into = into)
}

#' @rdname residuals.galvi
#' @export
deviance.galvi <- function(object, ...) {
  refuse_dots(list(...), deviance.galvi, "deviance()")
  target <- training_target(object)
  check_observed(object, target, "The deviance")
  sum(deviance_residuals(object, target)^2)
}

check_observed <- function(fit, target, what) {
  range <- target$censoring
  if (is.null(range)) return(invisible())
  known <- range[, "lower"] < range[, "upper"] | is_truncated(fit, range[, "entry"])
  if (!any(known)) return(invisible())
  stop_galvi("argument", sprintf(
    paste(
      "%s is not defined for censored or truncated responses, as in row %s:",
      "use residuals(type = \"quantile\")."
    ), what, quote_row_names(target$names)[which(known)[1L]]
  ))
}

response_residuals <- function(fit, target) {
  mean <- response_moment(fit, latent_marginals(fit, target), "mean")
  warn_overflow(fit, target, mean)
  response_difference(fit, target, mean)
}

# y - mean; of angles the shorter way round.
response_difference <- function(fit, target, mean) {
  difference <- target$y / trials_of(fit, target) - mean
  if (isTRUE(family_type(fit$family)$angle)) atan2(sin(difference), cos(difference)) else difference
}

pearson_residuals <- function(fit, target) {
  # of the count; over the trials, of the proportion
  variance <- response_moment(fit, latent_marginals(fit, target), "variance", size = target$size)
  if (!all(is.finite(variance))) {
    stop_galvi("argument", sprintf(
      "The predictive distribution of %s has no finite variance: use type = \"quantile\" or \"deviance\".",
      family_label(fit)
    ))
  }
  sd <- sqrt(variance) / trials_of(fit, target)
  sqrt(target$weights) * response_residuals(fit, target) / sd
}

deviance_residuals <- function(fit, target) {
  marginals <- latent_marginals(fit, target)
  weights <- target$weights
  if (has_classes(fit)) return(sqrt(-2 * weights * class_log_probability(fit, marginals, target)))
  if (!has_deviance(fit)) stop_no_deviance(fit)
  mean <- response_moment(fit, marginals, "mean")
  warn_overflow(fit, target, mean)
  units <- unit_deviance(fit, marginals, target, mean)
  sign(response_difference(fit, target, mean)) * sqrt(weights * units)
}

#' Posterior means of the other parameters, which have log links here: a column for each
#' @noRd
parameter_means <- function(fit, marginals) {
  average_states(marginal_states(fit, marginals), function(state) {
    exp(state$mean[, -1L, drop = FALSE] + state$variance[, -1L, drop = FALSE] / 2)
  })
}

#' Of counts of classes: a column for each class, of its share less its probability, or in units of the count's
#' predictive standard deviation; the deviance is one number
#' @noRd
count_residuals <- function(fit, target, type) {
  if (is.null(target$counts)) {
    stop_galvi("newdata", "`newdata` needs the counts of all classes, as the response has them.")
  }
  if (type == "quantile") {
    stop_galvi("argument", paste(
      "`type = \"quantile\"` is for responses that are numbers or one of several classes, not for counts of classes:",
      "use \"pearson\" or \"deviance\"."
    ))
  }
  moments <- class_moments(fit, latent_marginals(fit, target))
  p <- moments$mean
  n <- target$size
  if (type == "deviance") {
    part <- ifelse(target$counts > 0, target$counts * log(target$counts / (n * p)), 0)
    return(sqrt(2 * target$weights * pmax(rowSums(part), 0)))
  }
  share <- target$counts / n - p
  if (type == "response") return(share)
  # Var(y / n) = E p (1 - p) / n + Var p
  second <- moments$sd^2 + p^2
  sqrt(target$weights) * share / sqrt((p - second) / n + moments$sd^2)
}

#' Normal quantiles of a uniform draw between P(Y < y) and P(Y <= y), or of the latter for continuous
#' responses, from the nearer tail: an observation far out on the right keeps its distance as one on the left
#' @param share Where between the two, from 0 to 1, instead of the draw.
#' @noRd
quantile_residuals <- function(fit, target, share = NULL) {
  left <- pit_limits(fit, target)
  right <- pit_limits(fit, target, from_above = TRUE)
  random <- is_discrete(fit) || is_censored(fit) || length(family_type(fit$family)$point)
  if (is.null(share) || !random) share <- if (random) stats::runif(target$n) else 1
  below <- left$lower + share * (left$upper - left$lower)
  above <- right$lower + (1 - share) * (right$upper - right$lower)
  far <- stats::qnorm(pmax(pmin(below, above), 1e-300))
  ifelse(below < above, far, -far)
}

#' P(Y < y) and P(Y <= y), equal for continuous responses that were observed; `from_above`: P(Y > y) and
#' P(Y >= y). Of a censored one, those of its bounds.
#' @noRd
pit_limits <- function(fit, target, from_above = FALSE) {
  marginals <- latent_marginals(fit, target)
  if (has_classes(fit)) return(class_limits(fit, marginals, target$y, from_above))
  tail <- if (from_above) "upper" else "cdf"
  at <- function(y) response_moment(fit, marginals, tail, size = target$size, y = y)
  range <- target$censoring
  if (!is.null(range)) {
    at <- function(y) tail_beyond_entry(fit, marginals, from_above, y, range[, "entry"])
    ends <- list(at(range[, "lower"]), at(range[, "upper"]))
    return(stats::setNames(if (from_above) rev(ends) else ends, c("lower", "upper")))
  }
  one <- at(target$y)
  other <- if (is_discrete(fit)) at(target$y - 1) else one
  # a point mass at an end of the support: what lies below is what does not exceed the number before
  point <- target$y %in% family_type(fit$family)$point & !is_discrete(fit)
  if (any(point)) other <- ifelse(point, at(target$y - .Machine$double.neg.eps), one)
  if (from_above) list(lower = one, upper = other) else list(lower = other, upper = one)
}

#' P(Y > y), or P(Y <= y), given that Y exceeds its entry: the first is the density of a response of which no
#' more is known
#' @noRd
tail_beyond_entry <- function(fit, marginals, from_above, y, entry) {
  p <- response_moment(fit, marginals, if (from_above) "upper" else "cdf", y = y)
  late <- is_truncated(fit, entry)
  if (!any(late)) return(p)
  at <- marginal_rows(marginals, which(late))
  range <- cbind(pmin(y[late], .Machine$double.xmax), Inf, entry[late])
  above <- exp(response_moment(fit, at, "log_density", censoring = range))
  replace(p, late, if (from_above) above else 1 - above)
}

#' Leverages, Cook's distances and standardised residuals
#'
#' `hatvalues()` measures how much each row determines its own linear predictor, `cooks.distance()` how far the
#' posterior mean moves if the row is left out. The model is not fitted again: see [loo()][loo.galvi].
#'
#' @details
#' Let v be the posterior variance of the linear predictor of a row at the estimated hyperparameters, and alpha and
#' lambda the elements of `fit$posterior` for this row (the slope and the curvature of its site, see [galvi-fit]).
#' * `hatvalues()` are h = lambda v, the proportion of the information on the linear predictor that comes from the row
#'   itself. They sum to the effective number of parameters.
#' * `cooks.distance()` is (m - m')' V^-1 (m - m') / sum(h) = alpha^2 v / (1 - h)^2 / sum(h), where m and V are the
#'   posterior mean and covariance of the latent vector and m' is the mean without the row. As that of `lm()`, it is not
#'   finite for rows with h = 1, nor in models without effects.
#' * `rstandard()`, for the gaussian family, is sqrt(w) (y - m) / (sigma sqrt(1 - h)). This is also the error of the
#'   prediction from the other rows, divided by its standard deviation. `rstudent()` would need sigma without the row
#'   and is an error. So would `influence.measures()`, `dffits()` and `covratio()`, which are for `lm()` and `glm()`
#'   alone: they stop with errors of R about a `qr` component or an argument of length zero.
#'
#' With flat priors all agree with [stats::lm()], and nearly with [stats::glm()] for canonical links. For other links
#' `glm()` uses the expected information and galvi the observed one. Shrinkage by priors reduces leverages.
#'
#' @param model A fit of [galvi()] with one linear predictor.
#' @param ... Must be empty.
#' @return A named vector with one element per observation, without rows of weight 0, as [stats::lm.influence()] has it.
#' @section Errors:
#' `galvi_error_argument` for several linear predictors, from `rstandard()` for other families (use
#' `residuals(fit, "quantile")`) and from `rstudent()`; `galvi_error_data` for fits that do not contain their
#' rows ([row_source()]).
#' @references
#' Cook, R. D. and Weisberg, S. (1982). *Residuals and Influence in Regression*. Chapman and Hall.
#' @seealso [loo.galvi()], whose `leverage` and `pointwise` are also available for several linear predictors.
#' @family checks and comparisons
#' @examples
#' fit <- galvi(dist ~ speed, data = cars)
#' head(hatvalues(fit))
#' which.max(cooks.distance(fit))
#' @name hatvalues.galvi
NULL

#' @rdname hatvalues.galvi
#' @importFrom stats hatvalues
#' @export
hatvalues.galvi <- function(model, ...) {
  check_one_set(model, "hatvalues()")
  refuse_dots(list(...), hatvalues.galvi, "hatvalues()")
  check_sites(model, "hatvalues()")
  model <- at_sites(model)
  if (!is.null(pure_noise(model))) return(per_row(model, residual_leverage(model)))
  per_row(model, model$posterior$lambda[, 1L] * determined_variance(model)[, 1L])
}

#' @rdname hatvalues.galvi
#' @importFrom stats cooks.distance
#' @export
cooks.distance.galvi <- function(model, ...) {
  check_one_set(model, "cooks.distance()")
  refuse_dots(list(...), cooks.distance.galvi, "cooks.distance()")
  check_sites(model, "cooks.distance()")
  check_own_noise(model, "cooks.distance()")
  model <- at_sites(model)
  v <- determined_variance(model)[, 1L]
  leverage <- model$posterior$lambda[, 1L] * v
  per_row(model, model$posterior$alpha[, 1L]^2 * v / (1 - leverage)^2 / sum(leverage))
}

#' @rdname hatvalues.galvi
#' @importFrom stats rstandard
#' @export
rstandard.galvi <- function(model, ...) {
  check_one_set(model, "rstandard()")
  refuse_dots(list(...), rstandard.galvi, "rstandard()")
  check_sites(model, "rstandard()")
  check_own_noise(model, "rstandard()")
  model <- at_sites(model)
  if (!isTRUE(facts_of(model)$conjugate)) {
    stop_galvi("argument", sprintf(
      "rstandard() is for the gaussian family, not %s: use residuals(fit, \"quantile\").", family_label(model)
    ))
  }
  residual <- stats::residuals(model, "deviance")
  if (!inherits(model, "galvi_wide")) residual <- residual[!without_weight(model)]
  residual / (unit_sigma(model) * sqrt(1 - hatvalues.galvi(model)))
}

#' @rdname hatvalues.galvi
#' @importFrom stats rstudent
#' @export
rstudent.galvi <- function(model, ...) {
  check_one_set(model, "rstudent()")
  stop_galvi("argument", paste(
    "rstudent() needs the residual variance without each row, which is another fit: use rstandard(fit) of gaussian",
    "responses or residuals(fit, \"quantile\")."
  ))
}

check_sites <- function(fit, what) {
  check_has_rows(fit, paste(what, "needs them all"))
  if (n_latents(fit) == 1L) return(invisible())
  stop_galvi("argument", sprintf(
    "%s is for one linear predictor; this fit has %d per observation. loo::loo(fit) has `leverage` and `pointwise`.",
    what, n_latents(fit)
  ))
}

# Rows of rescor() share noise.
check_own_noise <- function(fit, what) {
  if (is.null(pure_noise(fit))) return(invisible())
  stop_galvi("argument", sprintf(
    "%s is not for residuals that are correlated, rescor(): use residuals(fit, \"pearson\") or loo::loo(fit).", what
  ))
}

#' As lm() has it, rows of weight 0 are left out: they take no part in the fit
#' @noRd
per_row <- function(fit, x) {
  if (inherits(fit, "galvi_wide")) return(in_entries(fit, replace(x, fit$model$weights == 0, NA)))
  x <- stats::naresid(fit$na.action, stats::setNames(x, row.names(fit$data)))
  x[!without_weight(fit)]
}

# Which rows, with those that na.exclude keeps places for, have the weight 0?
without_weight <- function(fit) {
  none <- stats::naresid(fit$na.action, fit$model$weights == 0)
  !is.na(none) & none
}

# Unit deviances: 2 (log p at the best eta - log p at the fitted mean), computed from the likelihood.

#' The unit deviance of each row at its fitted mean
#'
#' An exponential dispersion model is taken at dispersion 1, as in glm(). Other predictors are at the posterior means of
#' their parameters in each row.
#' @param mean The fitted means.
#' @noRd
unit_deviance <- function(fit, marginals, target, mean) {
  hyper <- fit$posterior$hyper
  at <- function(eta, what) {
    as_galvi_error(predict_response(
      fit$model$likelihood, hyper, size = target$size, y = target$y, mean = eta, variance = 0, what = what,
      probability = 0.5
    ))
  }
  others <- if (n_predictors(fit) > 1L) log(parameter_means(fit, marginals))
  if (weights_divide(fit$family)) {
    hyper[unlist(fit$model$likelihood$hyper[dividing_parameters(fit$family)])] <- 1
    if (!is.null(others)) others[] <- 0
  }
  of_logs <- link_types[[fit$family$link]]$of_logs
  moment <- function(what) response_moment(fit, marginals, what)
  first <- if (is.null(of_logs)) fit$family$linkfun(mean) else do.call(of_logs, lapply(names(formals(of_logs)), moment))
  units <- at(cbind(first, others), "deviance")
  if (any(is.infinite(units))) stop_no_deviance(fit)
  units
}

# The link of the mean is the predictor, and log p is bounded: not in models of a variance, of a quantile, of times, of
# zeros and ones beside others, or of excess zeros. A custom family does not say what its mean is of eta.
has_deviance <- function(fit) {
  if (is_custom(fit$family) || is_mixed(fit$family) || isTRUE(fit$model$likelihood$truncated)) return(FALSE)
  type <- family_type(fit$family)
  other_mean <- !type$linked_mean || type$volatility || type$times || type$location == "quantile"
  !(other_mean || any(vapply(type$dpars, `[[`, NA, "always")))
}

stop_no_deviance <- function(fit) {
  stop_galvi("argument", sprintf(
    "The family %s has no deviance: use type = \"quantile\" or \"pearson\".", family_label(fit)
  ))
}
