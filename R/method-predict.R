#' Predictions from a fitted model
#'
#' Predicted means, class probabilities, quantiles, densities and survival probabilities, with standard errors,
#' credible intervals and prediction intervals, at the observations or at new data. All of them are averages over the
#' posterior of the linear predictor, not values at its mean.
#'
#' @details
#' **Types of prediction.**
#' * `"response"` (the default): the mean of a new response, E\[y\]; for a binary response its probability. With `dpar`
#'   the posterior mean of that parameter, see below. For
#'   [categorical()], [stick_breaking()] and [cumulative()] the same as `"prob"`. For [stochastic_volatility()] the
#'   standard deviation of y, whose mean is zero.
#' * `"link"`: the linear predictor eta, including offsets. For its zero and its standard deviation in models of ordered
#'   classes see [galvi_family()].
#' * `"class"`: the most probable class, a factor with the levels of the response, ordered if these are.
#' * `"prob"`: class probabilities, a column per level (`"0"` and `"1"` for a numeric binary response).
#' * `"terms"`: the contribution of each term to eta, a column per term, as in [predict.glm()]. If the model has an
#'   intercept, fixed effects are centred at their means over the observations, and the attribute `constant` is the
#'   intercept that goes with this; [gp()] and other terms are not centred. Each row, plus the constant and the offset,
#'   sums to eta.
#' * `"quantile"`: quantiles of the distribution of a new response, a column per element of `probs`.
#' * `"density"`: the log predictive density (or probability) of the response in `newdata`. For a censored
#'   `survival::Surv()`, the log probability of what is known.
#' * `"survival"` and `"cdf"`: P(Y > t) and P(Y <= t) for a new response Y, a column per element of `times` or `q`. The
#'   former is also the probability of exceeding a threshold.
#' * `"hazard"`, `"cumhaz"` and `"rmst"`, for positive times: posterior means of the hazard, of the cumulative hazard
#'   -log P(Y > t given eta), and of the restricted mean survival time, the area below the survival curve from 0 to t; a
#'   column per element of `times`. At time 0 the hazard is its limit: 0, or `Inf` with a warning where the posterior
#'   does not exclude a shape below 1. [cox()] has types of its own.
#'
#' **Parameters.** `dpar` names a parameter of the family, whose linear predictor is `type = "link"`. With `type =
#' "response"` it is the parameter itself: the inverse link, averaged over the posterior. In most families `"mu"` is
#' E\[y\]. With excess zeros it is the mean of the part without them: E\[y\] of [zero_inflated()] is `(1 - zi) mu`, and
#' `zi` and `hu` are the probabilities of an excess zero and of a zero. In truncated responses `mu` is of the distribution
#' before it is cut. For times it is exp(eta), which [galvi_family()] explains for each family: the median of
#' [lognormal()], of which brms has the logarithm as `mu`. For ordered classes it is the inverse link of eta. glmmTMB
#' and pscl say `type = "conditional"` or `"count"` for `dpar = "mu"`, and `"zprob"` or `"zero"` for `dpar = "zi"`.
#'
#' **Trials.** Predictions of a binomial response are proportions. Quantiles, probabilities (`"survival"`, `"cdf"`) and
#' prediction intervals are for as many trials as the row has: those of `y | trials(n)`, whose variables `newdata` must
#' have for them; those of the `weights` of a proportion, if `newdata` has their variables; for `cbind(successes,
#' failures)` their sum, if it has both. Where `newdata` does not say, with a message, or the number is 0, one trial is
#' taken.
#' Quantiles, `q` and `times` are in the units of the response as it was given: counts of successes for
#' `cbind(successes, failures)` and `y | trials(n)`, proportions for a proportion.
#' Where weights divide a dispersion, a new response has the weight of its row: 1, unless `newdata` contains it. With
#' `y | se(s)` new responses, but not their means, need s.
#'
#' **Intervals.** A credible interval is for eta (`"link"`), for E\[y | eta\] (`"response"`), for a probability given
#' eta (`"survival"`, `"cdf"`; so for `"hazard"`, `"cumhaz"` and `"rmst"`) or for a quantile given eta (`"quantile"`), such as the median survival time, where
#' `fit` is the posterior median of this quantile; a prediction interval is for a new response. Both have equal tails.
#' Responses with several classes have credible intervals of the probabilities (`"prob"`), from 1,000 draws, the same at
#' every call, and ordinal ones of the linear predictor.
#'
#' **Terms.** `exclude` leaves out terms, and `terms` all but those it names, as in `mgcv::predict.gam()`: they add
#' nothing to the mean and the variance of eta, and `newdata` does not need their variables. With `terms`, the
#' intercept too is left out unless it is named. The offset is always included. The names are those of the columns of
#' `type = "terms"`, which then has the chosen columns only, as they are without `terms` and `exclude` and with the same
#' constant, and `"(Intercept)"`; `(1 | g)` may be named like this or
#' as `iid(g)`, and terms of another linear predictor as `sigma_x`.
#'
#' **Averages over groups.** With `re_formula = "integrate"` the mean response is that of a population whose groups
#' differ: E\[h(eta + b)\] over the effects b of a group, where eta has none and h is the inverse link, and so are
#' probabilities (`"prob"`, `"survival"`, `"cdf"`). With a nonlinear link it is not h(eta), the mean of the average
#' group, which `re_formula = NA` predicts. `newdata` needs no grouping variables. `se.fit` and credible intervals are
#' of this mean, a function of the fixed effects and the variances of the groups: they do not include the differences
#' between groups. With few groups and a log link the posterior of this mean has a long tail, as that of the variances
#' has, and its own mean is well above its median: the interval says more. A prediction interval,
#' `"quantile"` and `"density"` are for a new response of a new group; `"link"` and `"terms"` are those of the average
#' group.
#'
#' **Totals.** `aggregate = area ~ year` gives the sum of area times the mean response over the rows of each year, such
#' as an index of abundance, and `aggregate = ~ year` sums means; several variables are joined by `+`. `se.fit` and
#' `interval = "credible"` allow for what the rows share: exactly for identity links, at weighted points (see
#' [coef()][coef.galvi]), and for the standard deviation with log links, where the interval is that of a log-normal
#' variable with the same moments; elsewhere from 1,000 joint draws, the same at every call. Rows with missing values
#' are left out.
#'
#' **Large means.** With a log link E\[y\] is exp(mean + variance / 2) of the linear predictor. Where this exceeds the
#' largest number it is `Inf`, with a warning. Use the quantiles or the linear predictor instead.
#'
#' @param object A fit of [galvi()].
#' @param newdata A data frame, a list of columns, or a matrix if the model was fitted to one, with the variables of the
#'   formula. It needs the response only for `type = "density"`. Without it, predictions are for the observations. Rows that are not in
#'   memory can be given as a [row_source()], which is read in chunks.
#' @param type What to predict, see Details.
#' @param se.fit If TRUE, return posterior standard deviations as well: of eta for `"link"`, of E\[y | eta\] for
#'   `"response"`, of P(class | eta) for `"prob"`, and of each contribution for `"terms"`. Not available for other
#'   types.
#' @param interval `"none"` (the default), `"credible"` or `"prediction"`, see Details. `"prediction"` is for `type =
#'   "response"` only. `"confidence"`, the word of [predict.lm()], means `"credible"`.
#' @param level Probability of the interval, between 0 and 1.
#' @param probs Probabilities, between 0 and 1, for `type = "quantile"`.
#' @param times,q Numeric vectors, values of the response: `times` for `type = "survival"`, `"hazard"`, `"cumhaz"` and
#'   `"rmst"`, `q` for `type = "cdf"`.
#' @param covariance For `type = "link"`: if TRUE, return the joint posterior covariance of eta at all rows as well.
#' @param dpar For types `"link"`, `"terms"` and `"response"`: the parameter to predict, such as `"sigma"`, or `"mu"`, see
#'   Details. NULL, the default, predicts the response, with `"link"` and `"terms"` the predictor of `mu`.
#' @param re_formula Which effects of groups to include: NULL (the default) for all; NA for none, that is predictions for
#'   the population, for which `newdata` needs no variables that only these effects use; a formula with those to include,
#'   such as `~ (1 | g)` or `~ ou(t | g)`; or `"integrate"` for averages over groups, see Details. Effects of groups are
#'   what is written with a bar ([random-slopes], `ou(t | g)`, the scores of [rr()]), [iid()], and [ar1()] and `ar2()`
#'   with a factor `by`. Other terms are always included: [gp()], `s()`, [gmrf()], `rw1()` and `rw2()`, also with `by`.
#' @param terms,exclude Names of terms to include, or to leave out, see Details; NULL, the default, includes all.
#' @param re.form The same as `re_formula`, by the name that lme4 has for it.
#' @param allow.new.levels If FALSE, a level of a grouping variable that is not in the data is an error. TRUE, the
#'   default, predicts its effects from their prior. In brms' words, which are understood too, it is `allow_new_levels`,
#'   and `sample_new_levels = "gaussian"`.
#' @param aggregate NULL, or a formula such as `area ~ year` for totals, see Details.
#' @param na.action What to do with rows of `newdata` with missing values: [na.pass()] (the default) predicts NA,
#'   [na.omit()] drops them, [na.fail()] stops.
#' @param into For `newdata` from a [row_source()]: a function that is called with the predictions of each chunk, which
#'   are then not returned. NULL, the default, returns all of them.
#' @param ... Must be empty, except for these arguments of brms and `newdata.guaranteed` of mgcv, which is passed over:
#'   `newdata` needs no columns of terms that are left out.
#' @return Predictions in the order of the rows, with their row names:
#' * a vector; a matrix with a column per class, latent value, term, quantile or time where the type has several; for
#'   `"terms"` with several latent values an array, rows x terms x latent values;
#' * with `interval`, a matrix with columns `fit`, `lwr` and `upr`; for types with a column per time, probability or
#'   class an array, rows x times, probabilities or classes x these three;
#' * with `se.fit` or `covariance`, a list of `fit`, `se.fit` (of the same shape) and `covariance`, a square matrix
#'   (for several latent values a list of them);
#' * with `aggregate`, a data frame with a row for each group: its variables, `fit` and, where asked for, `se.fit`,
#'   `lwr` and `upr`.
#' @section Errors:
#' `galvi_error_argument` if an argument is not as described or is not available for the type or the family;
#' `galvi_error_newdata` if `newdata` lacks a variable, or if a variable has another type or a new level (except in
#' random effects).
#'
#' `galvi_warning_numeric`: predictions are infinite because they exceed the largest number or because the distribution
#' has no finite mean.
#' @seealso [plot.galvi()] for plots, [draws] for posterior draws, [predict.galvi_wide()] for [responses()].
#' @family predictions and draws
#' @examples
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' new <- data.frame(speed = c(5, 10, 30))
#' predict(fit, new, interval = "prediction")
#' predict(fit, new, type = "link", se.fit = TRUE)
#' # the probability of a stopping distance above 50 feet
#' predict(fit, new, type = "survival", times = 50)
#'
#' # class probabilities
#' fit <- galvi(factor(gear) ~ wt, data = mtcars, family = categorical())
#' predict(fit, data.frame(wt = c(2, 3, 4)), type = "prob", se.fit = TRUE)
#'
#' # for an observed and a new chick, and for the population
#' fit <- galvi(weight ~ Time + (1 | Chick), data = ChickWeight)
#' predict(fit, data.frame(Time = 10, Chick = c("1", "new")), interval = "credible")
#' predict(fit, data.frame(Time = 10), re_formula = NA, interval = "credible")
#'
#' # median survival times, with credible intervals
#' if (requireNamespace("survival", quietly = TRUE)) {
#'   fit <- galvi(survival::Surv(time, status) ~ age, data = survival::lung, family = weibull())
#'   predict(fit, data.frame(age = c(50, 70)), type = "quantile", probs = 0.5, interval = "credible")
#' }
#' @export
predict.galvi <- function(object, newdata,
                          type = c(
                            "response", "link", "class", "prob", "terms", "quantile", "density", "survival",
                            "cdf", "hazard", "cumhaz", "rmst"
                          ),
                          se.fit = FALSE, interval = c("none", "credible", "prediction"), level = 0.95,
                          probs = c(0.05, 0.5, 0.95), covariance = FALSE, na.action = stats::na.pass,
                          times = NULL, q = NULL, dpar = NULL, re_formula = NULL, into = NULL, terms = NULL,
                          exclude = NULL, re.form = NULL, allow.new.levels = TRUE, aggregate = NULL, ...) {
  refuse_dots(list(...), predict.galvi, "predict()", foreign_prediction_words)
  re_formula <- one_re_formula(re_formula, list(re.form = re.form))
  allow.new.levels <- allows_new_levels(allow.new.levels, list(...))
  if (!missing(newdata) && is_row_source(newdata)) {
    if (covariance) stop_galvi("argument", "`covariance = TRUE` needs all rows of `newdata` in memory.")
    if (!is.null(aggregate)) stop_galvi("argument", "`aggregate` needs all rows of `newdata` in memory.")
    return(by_chunks(object, newdata, into, function(chunk) {
      predict.galvi(object, chunk, type, se.fit, interval, level, probs, na.action = na.action,
        times = times, q = q, dpar = dpar, re_formula = re_formula, terms = terms, exclude = exclude,
        allow.new.levels = allow.new.levels)
    }))
  }
  check_no_into(into)
  types <- predict_types()
  check_foreign_type(object, type)
  type <- first_choice(type, names(types), "type")
  options <- list(
    se.fit = check_flag(se.fit, "se.fit"),
    interval = check_interval(interval),
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
  chosen <- kept_terms(object, terms, exclude, predictor, centred = type == "terms")
  kept <- kept_in_prediction(object, re_formula, chosen)
  target <- if (missing(newdata) || is.null(newdata)) {
    without_target_effects(object, training_target(object), kept)
  } else {
    for_new_response <- type %in% c("quantile", "survival", "cdf") || options$interval == "prediction"
    known <- if (type == "density") TRUE else if (for_new_response) tells_size(object, newdata) else FALSE
    if (for_new_response && isFALSE(known)) say_size_one(object)
    new_target(object, newdata, na.action, response = known, kept = kept)
  }
  if (!allow.new.levels) check_known_levels(object$design, target$rows)
  if (!is.null(aggregate)) {
    data <- if (is.null(target$marginals)) as_new_data(newdata) else observed_variables(object)
    return(aggregated(object, target, aggregate, data, type, options))
  }
  parts <- as_galvi_error(types[[type]]$predict(object, target, options))
  if (type == "terms" && !is.null(chosen)) parts <- lapply(parts, shown_terms, attr(chosen, "labels"))
  finish <- function(x) finish_rows(x, target, na.action, object)
  result <- list(fit = finish(parts$fit))
  if (options$se.fit) result$se.fit <- finish(parts$se.fit)
  if (options$covariance) result$covariance <- finish_covariance(parts$covariance, finish)
  if (length(result) == 1L) result$fit else result
}

# As predict.lm() warns of weights; of trials too.
say_size_one <- function(fit) {
  if (all(fit$model$size == 1)) return(invisible())
  weights <- fit$design$weights
  if (weights_divide(fit$family)) {
    if (is.null(weights)) return(invisible())
    inform_galvi("weights", sprintf(paste(
      "The fit has weights and `newdata` has none: new responses have the weight 1. A column for `%s` gives them their",
      "own."
    ), deparse_one(weights)))
  } else {
    from <- if (has_size_apart(fit)) weights else fit$formula[[2L]]
    inform_galvi("weights", sprintf(paste(
      "The fit has several trials a row and `newdata` does not say how many: new responses are of one trial. Columns for",
      "`%s` give the number."
    ), deparse_one(from)))
  }
}

#' Totals of predictions by group, for the rows of `data` that have one
#' @noRd
aggregated <- function(fit, target, aggregate, data, type, options) {
  refused <- c(
    if (type != "response") sprintf("type = \"%s\"", type), if (options$covariance) "`covariance = TRUE`",
    if (options$interval == "prediction") "`interval = \"prediction\"`",
    if (!is.null(options$predictor)) "`dpar`"
  )
  if (length(refused)) {
    stop_galvi("argument", sprintf("`aggregate` sums means of the response: it does not go with %s.", refused[1L]))
  }
  if (length(target$omitted)) data <- data[-target$omitted, , drop = FALSE]
  groups <- read_aggregate(aggregate, data, environment(fit$formula))
  as_galvi_error(predict_totals(fit, target, groups, options))
}

# Types of glmmTMB and pscl, and the components that they predict.
foreign_types <- c(conditional = "cond", count = "cond", zprob = "zi", zlink = "zi", zero = "zi", disp = "disp")

#' Stops at a type that other packages have, if the fit has its parameter
#' @noRd
check_foreign_type <- function(fit, type) {
  if (identical(type, "lpmatrix")) {
    stop_galvi("argument", paste(
      "predict() has no type \"lpmatrix\": rstantools::posterior_linpred(fit, newdata) has joint draws of the linear",
      "predictor, and type = \"link\" with `covariance = TRUE` its covariance matrix."
    ))
  }
  if (identical(type, "iterms")) {
    stop_galvi("argument", paste(
      "predict() has no type \"iterms\": `type = \"terms\"` has the same values, with the standard errors of each term",
      "alone, to which mgcv's \"iterms\" adds the uncertainty of the mean."
    ))
  }
  if (identical(type, "cum.prob")) {
    stop_galvi("argument", paste("predict() has no type \"cum.prob\":", if (has_classes(fit)) {
      "cumulative probabilities are t(apply(predict(fit, newdata, type = \"prob\"), 1, cumsum))."
    } else {
      "`type = \"cdf\"` with `q` has probabilities of responses up to q."
    }))
  }
  if (isTRUE(type %in% c("lp", "linear", "linpred", "linear.predictor"))) {
    stop_galvi("argument", sprintf("predict() has no type \"%s\": use `type = \"link\"`.", type))
  }
  if (!is.character(type) || length(type) != 1L || !type %in% names(foreign_types)) return(invisible())
  parameter <- intersect(tmb_components[[foreign_types[[type]]]], predictor_names(fit))
  if (!length(parameter)) {
    if (type != "disp") return(invisible())
    stop_galvi("argument", paste(
      "predict() has no type \"disp\", and the dispersion of this fit is one number: see fit$hyper. With a formula of its",
      "own, as in list(y ~ x, sigma ~ x), it is predicted by `dpar = \"sigma\"`."
    ))
  }
  stop_galvi("argument", sprintf(
    "predict() has no type \"%s\": use `dpar = \"%s\"` with `type = \"%s\"`.", type, parameter[1L],
    if (type == "zlink") "link" else "response"
  ))
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
    prob = entry(predict_prob, se.fit = TRUE, interval = c("none", "credible")),
    terms = entry(predict_terms, se.fit = TRUE),
    quantile = entry(predict_quantile, interval = c("none", "credible")),
    density = entry(predict_density),
    survival = entry(function(...) predict_tail("upper", ...), interval = c("none", "credible")),
    cdf = entry(function(...) predict_tail("cdf", ...), interval = c("none", "credible")),
    hazard = entry(function(...) predict_hazard("hazard", ...), interval = c("none", "credible")),
    cumhaz = entry(function(...) predict_hazard("cumhaz", ...), interval = c("none", "credible")),
    rmst = entry(function(...) predict_hazard("rmst", ...), interval = c("none", "credible"))
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
  # brms gives quantiles of a new response where they are asked for
  if (type != "quantile" && !identical(options$probs, eval(formals(predict.galvi)$probs))) {
    stop_galvi("argument", sprintf(paste(
      "`probs` goes with type = \"quantile\", the quantiles of a new response, not \"%s\"; `interval` and `level` have",
      "limits of the other types."
    ), type))
  }
}
