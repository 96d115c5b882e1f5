# What users may give as a family -> an object of class galvi_family. The families are in
# family-types.R, their parameters in family-parameters.R, responses in family-response.R and
# family-classes.R, families of other packages in family-translate.R.

#' Families: distributions of the response
#'
#' The argument `family` of [galvi()] is a family function, its name, or a family object: one of base R's
#' ([stats::gaussian()], [stats::binomial()], [stats::poisson()], `Gamma("log")`, `inverse.gaussian("log")`) or one of
#' the functions on this page. `galvi_family()` makes any of them from its name, with parameters.
#'
#' @details
#' The families, with eta the linear predictor:
#'
#' | family | links | response | mean or location | parameters (default) |
#' |:--|:--|:--|:--|:--|
#' | *Numbers* | | | | |
#' | `gaussian` | identity, log | any number | mean eta, or exp(eta) | `variance` |
#' | `student` | identity | with outliers | eta + scale * t(df) | `df` (fixed at 4), `scale` |
#' | `laplace` | identity | with outliers | median eta | `scale` = mean absolute deviation |
#' | `asymmetric_laplace` | identity | any number | eta is the `quantile` of y | `scale` |
#' | `exgaussian` | identity | any number, as reaction times | mean eta, normal noise plus an exponential delay | `sigma`, `beta` |
#' | `skew_normal` | identity | any number, skewed | mean eta, standard deviation `sigma` | `sigma`, `alpha` |
#' | `stochastic_volatility` | log | noise around 0 | mean 0, variance exp(eta) | |
#' | `von_mises` | identity | angles in radians, from -pi to pi | mean direction eta | `kappa` |
#' | *Counts and successes* | | | | |
#' | `poisson` | log, softplus | counts | mean m = exp(eta), or log(1 + exp(eta)) | |
#' | `negbinomial` | log, softplus | overdispersed counts | mean m as of `poisson`, variance m + m^2 / size | `size` |
#' | `nbinom1` | log | overdispersed counts | mean m = exp(eta), variance m (1 + phi) | `phi` |
#' | `compois` | log | over- or underdispersed counts | mean m = exp(eta), variance near m / nu | `nu` |
#' | `geometric` | log | overdispersed counts | `negbinomial` with size 1 | |
#' | `binomial` | logit, probit, cloglog, loglog, cauchit | two classes, successes | success probability | |
#' | `beta_binomial` | logit | overdispersed successes | success probability m = logistic(eta) | `precision` |
#' | `zero_inflated(base)` | of the base | counts, successes | base, or 0 with probability `zi` | `zi`, of the base |
#' | `hurdle(base)` | of the base | base and zeros | 0 with probability `hu`, else base > 0 | `hu`, of the base |
#' | *Positive numbers* | | | | |
#' | `Gamma` | log, softplus | positive | mean m as of `poisson`, variance m^2 / shape | `shape` |
#' | `inverse.gaussian` | log | positive | mean m = exp(eta), variance dispersion m^3 | `dispersion` |
#' | `tweedie` | log | zero or positive | mean m = exp(eta), variance dispersion m^power | `dispersion`, `power` |
#' | `exponential` | log | positive, censored | mean exp(eta) | |
#' | `weibull` | log | positive, censored | scale exp(eta), see [survival-families] | `shape` |
#' | `loglogistic` | log | positive, censored | median exp(eta) | `shape` |
#' | `lognormal` | log | positive, censored | median exp(eta) | `sigma` |
#' | *Proportions* | | | | |
#' | `beta_family` | logit | between 0 and 1 | mean m = logistic(eta) | `precision` |
#' | `ordbeta` | logit | from 0 to 1, with zeros and ones | `beta_family` between two `cuts` of eta, 0 below, 1 above | `phi`, `cuts` |
#' | `zero_one_inflated_beta` | logit | from 0 to 1, with zeros and ones | 0 or 1 with probability `zoi`, else `beta_family` | `phi`, `zoi`, `coi` |
#' | *Classes* | | | | |
#' | `cumulative` | as `binomial` | ordered classes | P(y <= k) = F(threshold_k - eta) | `thresholds` |
#' | `sratio` | as `binomial` | ordered classes | P(y = k, given y >= k) = F(threshold_k - eta) | `thresholds` |
#' | `cratio` | as `binomial` | ordered classes | P(y > k, given y >= k) = F(eta - threshold_k) | `thresholds` |
#' | `acat` | logit | ordered classes | P(y = k + 1, given k or k + 1) = F(eta - threshold_k) | `thresholds` |
#' | `categorical` | logit | classes, or counts of them | P(y = c) proportional to exp(eta_c) | |
#' | `stick_breaking` | logit | classes in sequence | P(y = c, given y >= c) = logistic(eta_c) | |
#'
#' F is the distribution function of the link: logistic, normal, `1 - exp(-exp(x))` for cloglog, `exp(-exp(-x))` for
#' loglog, that of Cauchy for cauchit. Base R has no log-log link: `galvi_family("binomial", link = "loglog")`.
#' [family-densities] has the log densities.
#'
#' @section Responses:
#' * `binomial`, `beta_binomial`: 0 and 1, logical, a factor or character vector with two levels (the second is the
#'   success), `cbind(successes, failures)`, or a proportion with the numbers of trials as `weights`.
#' * `poisson`, `negbinomial`, `nbinom1`, `compois`: whole numbers from 0. They may all be zero; the prior of the
#'   intercept then determines the estimate.
#' * `beta_family`: numbers above 0 and below 1. With n observations `(y * (n - 1) + 0.5) / n` moves zeros and ones
#'   inside.
#' * `ordbeta`, `zero_one_inflated_beta`: numbers from 0 to 1.
#' * `stochastic_volatility`: numbers, not all of them 0.
#' * `cumulative`, `sratio`, `cratio`, `acat`: an ordered factor, or whole numbers in their order. Two levels suffice.
#' * `categorical`, `stick_breaking`: a factor, character or logical vector, or whole numbers. `categorical` also takes
#'   a matrix of counts with a column for each class, `cbind(a, b, c) ~ x` (multinomial). Predictions are then
#'   probabilities.
#' * A level without observations is an error ([droplevels()] removes it), except with fixed thresholds.
#' * [cox()] is Cox's model of censored times;
#' * `gaussian`, `exponential`, `weibull`, `loglogistic` and `lognormal` also take censored times as a
#'   `survival::Surv()` object, see [survival-families].
#'
#' @section Parameters:
#' Parameters of families are hyperparameters. By default they are estimated by maximising the evidence bound, without a
#' prior, from a starting value taken from the data. A number sets the starting value, [fixed()] fixes the parameter,
#' and a prior such as [log_normal()] makes the estimate a posterior mode:
#' `galvi_family("gaussian", variance = fixed(0.25))`, `negbinomial(size = log_normal(0, 1))`. The degrees of freedom of
#' `student` are fixed at 4 unless you give a number or a prior. `variance = fixed(0)` is interpolation without noise.
#' `quantile` is a fixed number. `power` of `tweedie` is learned, and fixed where you type it: `tweedie(1.5)`;
#' `tweedie(learn(1.7))` starts there. `alpha` of `skew_normal` may have any sign and takes `normal()` as its prior.
#'
#' With `hyper = "fixed"` in [galvi()], a parameter that is not given has the value shown under Usage; `variance`,
#' `shape` of `Gamma`, `dispersion` and `thresholds` have their starting values.
#'
#' Many of these parameters can have a linear predictor of their own, see [distributional]. `zi`, `hu`, `zoi` and `coi`
#' always have one; without a formula it is an intercept.
#'
#' @section Links:
#' With the `softplus` link the mean is log(1 + exp(eta)): nearly eta itself where it is large, and never negative, so
#' that effects on large means add up. With the log link they multiply. An offset is added to eta with every link: as
#' the logarithm of an exposure it multiplies the mean with the log link alone, and [rate()][galvi] needs that link.
#'
#' Links with which the mean of a positive response could be negative (`identity`, `inverse`), or a probability above 1
#' (`binomial("log")`), are refused: the posterior of eta is Gaussian and reaches values that the family forbids, so no
#' finite bound exists. Use `softplus` for additive effects; risk ratios are those of
#' `marginaleffects::avg_comparisons()`, from a fit with a logit link. Families whose range depends on parameters, such
#' as the generalised extreme value distribution, are refused for the same reason.
#'
#' @section Several classes:
#' `categorical` and `stick_breaking` have several linear predictors for each observation, and each has its own copy of
#' all terms: `categorical()` one for each level, `categorical(refcat = "a")` one for each level but `a`,
#' `stick_breaking()` one for each level but the last. The copies share hyperparameters: lengthscales and variances of
#' kernels, unless the kernel is [per_class()], variances of smooths, and standard deviations of effects of groups, where
#' a message tells if classes differ in them (binomial fits of pairs of classes then give those of each). Fixed effects
#' have the same priors. An offset is one column for all linear predictors or a matrix
#' with a column for each.
#'
#' The posterior of `categorical` treats the linear predictors as independent, so its standard deviations would be too
#' small. [coef()][coef.galvi] explains for which models they are corrected. Without a reference level variances of
#' groups, smooths and processes are estimated too small as well, because the bound counts what all classes have in common,
#' of which the data say nothing: by half with two classes, where `binomial()` is right, and by about a third with three.
#' `categorical(refcat = NULL)` has less of this. With `stick_breaking` the linear predictors are independent in the exact
#' posterior too.
#'
#' `stick_breaking` models a sequence of binary choices: the first level or a later one, then the second or a later one,
#' and so on. The fit depends on the order of the levels, which `factor(y, levels = c("c", "a", "b"))` sets.
#'
#' @section Ordered classes:
#' The four families state different things about the same thresholds. `cumulative` cuts a latent response into classes;
#' `sratio` (stopping ratio) and `cratio` (continuation ratio) are for classes that are reached one after another, where
#' each step stops or goes on; `acat` compares neighbours. A larger eta means higher classes in all of them, and the signs
#' are those of brms and of `clm()` in the package ordinal. With symmetric F, that is the logit, probit and cauchit links,
#' `sratio` and `cratio` are the same model; with cloglog `sratio` is the same as `cumulative`, proportional hazards in
#' discrete time.
#'
#' They estimate thresholds in place of the intercept: with or without `0 +` there is none.
#' With `thresholds = fixed(...)` the model has an intercept. Thresholds are named by the levels they separate, such as
#' `cumulative.low|medium`. Only those of `cumulative` are in order. Posterior standard deviations of the coefficients
#' include the uncertainty of the thresholds (see [coef()][coef.galvi]), except with [gp()] terms or fields where thresholds
#' and other hyperparameters are more than eight (twelve with up to 1,000 rows) or a full process has more than 500 rows.
#' Where it is one of both together, `summary()` has the posterior mean, standard deviation and interval of thresholds.
#'
#' Learned thresholds are those where all predictors are zero, and so is the mean of eta there, as in `clm()` and
#' `MASS::polr()`. The data determine where eta is among the thresholds, so only differences of eta have a meaning of
#' their own. The standard deviation of eta, in `predict(type = "link")`, `posterior_linpred()`, `emmeans()` and plots,
#' is that of its distance from eta at the means of the columns. It is not zero at reference levels, and does not depend
#' on which levels these are or where x is zero. With draws of thresholds (`as_draws()`) use the coefficients of the same
#' draws; probabilities by `predict()` include the uncertainty of both.
#'
#' `list(y ~ x, disc ~ z)` models the discrimination: exp(disc) multiplies `threshold_k - eta`, so that it is the inverse
#' of the standard deviation of the latent response, with the logit and probit links. It has no intercept, as the
#' thresholds carry the scale; `clm(scale = ~ z)` has the same coefficients with the opposite sign.
#'
#' @section Category-specific effects:
#' In the formula of `sratio` and `cratio`, `cs(x)` is an effect of its own at each threshold, as in brms:
#' `y ~ z + cs(x)` has one coefficient of z and as many of x as there are thresholds, `x[1]`, `x[2]`, ... Inside of `cs()`
#' are fixed effects, `cs(x + f)` or `cs(x * f)`; all other terms, such as smooths, processes and effects of groups, are
#' beside it and the same at all thresholds. `eta_k - threshold_k` then has its own eta at each threshold.
#'
#' The model is one of independent decisions to go on or to stop at each threshold that a row reaches. It is fitted to
#' these, `nobs()`, predictions, residuals, draws and `loo()` are of rows of the data, and `fit$nobs`, `fit$data` and
#' `fit$posterior` of decisions. Thresholds are coefficients, named by the levels they separate, such as `low|medium`:
#' [coef()][coef.galvi] and `vcov()` have them. In `prior` the entry `intercept`, or the name of one of them, is their
#' prior where all predictors are zero; `"cs(x)"` is that of the coefficients of x at all thresholds and `"x[1]"` of one.
#' As the thresholds are coefficients here, with flat priors unless typed, the evidence is not comparable with that of a
#' fit without `cs()`: compare such fits by [loo()][loo.galvi]. `predict()` has the types `"response"`, `"prob"`, `"class"`, `"density"`, and
#' `"link"`, which is `eta_k - threshold_k`. Probabilities average over the joint posterior of all thresholds by 1,024
#' evenly spread points, the same each time, with errors of about 1e-4.
#'
#' `cumulative` and `acat` do not take `cs()`: effects that differ would let thresholds of `cumulative` cross, and `acat`
#' has no independent decisions. Nor do `disc`, `add_data()` and imputed data sets go with it.
#'
#' @section Zeros and ones among proportions:
#' In Kubinec's ordered beta regression, `ordbeta`, one linear predictor explains the mean, the zeros and the ones: y is 0
#' with probability logistic(cutzero - eta), 1 with probability logistic(eta - cutone), and otherwise has the density of
#' `beta_family` with mean logistic(eta). In `zero_one_inflated_beta` they have predictors of their own: y is 0 or 1 with
#' probability `zoi`, and then 1 with probability `coi`. These are the families of glmmTMB and of brms.
#'
#' @section Several maxima:
#' `student`, `nbinom1`, `compois`, `beta_family`, `ordbeta`, `zero_one_inflated_beta`, `beta_binomial`,
#' `inverse.gaussian` and the link cauchit are not log-concave, so the bound may have several maxima. The same holds for
#' most models with several predictors, see [distributional]. `summary(fit)` says whether
#' the bound is certified to be at its maximum.
#'
#' @section Angles:
#' With `von_mises` eta is the mean direction, and log p is periodic in eta: whole turns do not count. The mean of a new
#' angle is its mean direction, its variance that of the deviation from it (at most pi^2 / 3), and residuals are the
#' shorter way round. Quantiles and probabilities count from -pi on, so turn the angles if they are near pi. The likelihood
#' is not log-concave: with a wide prior or few data the bound may have several maxima.
#'
#' @section Quantile regression:
#' `asymmetric_laplace(quantile = 0.9)` is Bayesian quantile regression: eta is the 0.9 quantile of y, because the
#' likelihood is maximal where the check function is minimal. The density is a working likelihood, not a model of the
#' data. Therefore posterior standard deviations, credible intervals, simulations and prediction intervals are not
#' calibrated. `coef()` and `predict(type = "link")` describe the quantile; `type = "response"` is the mean of the
#' working density, eta + scale (1 - 2 quantile) / (quantile (1 - quantile)). The deviance is not defined.
#'
#' @section Families of other packages:
#' Family objects of brms, glmmTMB (`nbinom1`, `nbinom2`, `tweedie`, `compois`, `betabinomial`), mgcv (`nb`, `negbin`,
#' `tw`, `Tweedie`, `ocat`, `scat`, `betar`, `multinom`) and MASS (`negative.binomial`) are translated by name and
#' link, with the parameters that they fix: `negative.binomial(2)` becomes `negbinomial(size = fixed(2))`. What a fit
#' has left in its family is not fixed, as in `family(fit)` of `mgcv::gam()` and `glmmTMB::glmmTMB()`; the family of
#' `MASS::glm.nb()` does not say whether its `theta` was typed or estimated, so `size` is fixed there and a message says
#' so. Families without a counterpart are an error that says what to use instead.
#'
#' @param family The name of a family, a family function or a family object.
#' @param ... Parameters of the family by name, such as `variance = fixed(0.25)`.
#' @param link Name of the link; NULL for that of `family`. See the table.
#' @param df Degrees of freedom, positive.
#' @param scale Scale of the noise, in units of y, positive.
#' @param size Size of the negative binomial distribution, positive: the smaller, the more overdispersion.
#' @param precision Precision, positive: with mean m, the variance of `beta_family` is m (1 - m) / (1 + precision), that
#'   of n trials of `beta_binomial` n m (1 - m) (1 + (n - 1) / (1 + precision)).
#' @param phi Of `ordbeta` and `zero_one_inflated_beta` the precision of the responses between 0 and 1, as `precision`; of
#'   `nbinom1` the dispersion, positive: its variance is the mean times 1 + phi.
#' @param cuts NULL for cuts estimated from the data; two increasing numbers as starting values, or [fixed()] of these.
#' @param dispersion Dispersion, positive: with mean m, the variance of `tweedie` is dispersion m^power.
#' @param power Power of the mean in the variance of `tweedie`, above 1 and below 2. Learned between 1.01 and 1.99;
#'   fixed where it is a number, and `learn()` of a number is a start.
#' @param nu Dispersion of `compois`, positive: 1 is Poisson's distribution, below 1 counts are overdispersed (near 0
#'   the distribution is geometric, the most that it can), above 1 underdispersed. glmmTMB's `sigma` is 1 / nu.
#' @param sigma Standard deviation, positive: of `exgaussian` that of its normal part, of `skew_normal` that of y.
#' @param beta Mean of the exponential part of `exgaussian`, positive. eta is the mean of y, so that the normal part has
#'   the mean eta - beta, and the variance of y is sigma^2 + beta^2.
#' @param alpha Skewness parameter of `skew_normal`: 0 for the normal distribution, positive for a long right tail.
#' @param quantile Which quantile of y is modelled: its probability, above 0 and below 1. Fixed.
#' @param kappa Concentration of `von_mises`, positive: near 0 angles are uniform, and for large values their standard
#'   deviation is about 1 / sqrt(kappa).
#' @param base A family as `family`: `poisson`, `negbinomial`, `nbinom1` or `binomial`; for `hurdle` also
#'   `Gamma("log")` or `lognormal`.
#' @param thresholds NULL for thresholds estimated from the data; numbers, one fewer than levels, as starting values; or
#'   [fixed()] of these. Those of `cumulative` must increase.
#' @param refcat The reference level, whose linear predictor is 0; NULL for the first level; NA (the default) for none.
#' @return An object of classes `galvi_family` and `family`: a list with elements `family`, `link`, `linkfun`, `linkinv`
#'   and `mu.eta` as in [stats::family()], `parameters` (those given), `options` and `dpars`, the names of the
#'   parameters that may have a linear predictor, see [distributional].
#' @section Errors:
#' `galvi_error_family` for an unknown family, link or parameter or an invalid value. [galvi()] signals
#' `galvi_error_response` where the response does not fit the family.
#' @references
#' Khan, M. E., Mohamed, S. and Murphy, K. P. (2012). Fast Bayesian inference for non-conjugate Gaussian process
#' regression. *Advances in Neural Information Processing Systems* 25.
#'
#' Khan, M. E., Aravkin, A. Y., Friedlander, M. P. and Seeger, M. (2013). Fast dual variational inference for
#' non-conjugate latent Gaussian models. *International Conference on Machine Learning*, PMLR 28(3), 951-959.
#'
#' Kubinec, R. (2023). Ordered beta regression: a parsimonious, well-fitting model for continuous data with lower and
#' upper bounds. *Political Analysis* 31, 519-536.
#'
#' Mardia, K. V. and Jupp, P. E. (2000). *Directional Statistics*. Wiley.
#'
#' Buerkner, P.-C. and Vuorre, M. (2019). Ordinal regression models in psychology: a tutorial. *Advances in Methods and
#' Practices in Psychological Science* 2, 77-101.
#'
#' McCullagh, P. (1980). Regression models for ordinal data. *Journal of the Royal Statistical Society B* 42, 109-142.
#'
#' Yu, K. and Moyeed, R. A. (2001). Bayesian quantile regression. *Statistics and Probability Letters* 54, 437-447.
#' @family likelihoods
#' @examples
#' # overdispersed counts
#' fit <- galvi(breaks ~ wool + tension, data = warpbreaks, family = negbinomial())
#' coef(fit)
#' fit$hyper[c("name", "estimate", "lwr", "upr")]
#'
#' # outliers
#' fit <- galvi(stack.loss ~ ., data = stackloss, family = student())
#' coef(fit)
#'
#' # ordered classes
#' d <- transform(mtcars, gear = factor(gear, ordered = TRUE))
#' fit <- galvi(gear ~ wt, data = d, family = cumulative())
#' predict(fit, data.frame(wt = c(2, 3, 4)), type = "prob")
#'
#' # each step goes on or stops; and a spread that differs between groups
#' coef(galvi(gear ~ wt, data = d, family = cratio()))
#' # an effect of its own at each threshold
#' coef(galvi(gear ~ wt + cs(am), data = d, family = cratio(), prior = normal(0, 2)))
#' coef(galvi(list(gear ~ wt, disc ~ am), data = d, family = cumulative("probit")))
#'
#' # median and 0.9 quantile
#' coef(galvi(dist ~ speed, data = cars, family = asymmetric_laplace(quantile = 0.5)))
#' coef(galvi(dist ~ speed, data = cars, family = asymmetric_laplace(quantile = 0.9)))
#'
#' # parameters: a fixed variance, another link
#' galvi_family("gaussian", variance = fixed(0.25))
#' galvi_family(binomial("probit"))
#' @order 1
#' @export
galvi_family <- function(family, ..., link = NULL) {
  if (missing(family)) stop_galvi("family", "galvi_family() needs `family`: a name, a function or an object.")
  set_parameters(as_galvi_family(family, link = link), list(...))
}

# A family of ours by name, from its constructor.
own_family <- function(name, ..., link = NULL) set_parameters(family_by_name(name, link, "family"), list(...))

ordered_family <- function(name, link, thresholds) {
  own_family(name, thresholds = free_thresholds(thresholds, name), link = link)
}

# dpars: the parameters that may have a linear predictor.
new_family <- function(family, link, parameters = list(), options = list(), dpars = "mu", class = character()) {
  structure(
    c(
      list(family = family, link = link),
      link_functions(link),
      list(parameters = parameters, options = options, dpars = dpars)
    ),
    class = c(class, "galvi_family", "family")
  )
}

# given: parameters and options by name; NULL stands for a parameter that is not given.
set_parameters <- function(family, given) {
  type <- family_type(family)
  known <- c(names(type$parameters), names(type$options))
  check_parameter_names(given, family$family, known)
  for (name in intersect(names(given), names(type$options))) {
    family$options[[name]] <- type$options[[name]](given[[name]])
  }
  given <- not_null(given[names(given) %in% names(type$parameters)])
  for (name in names(given)) {
    if (!is.null(type$parameters[[name]]$tidy)) given[[name]] <- type$parameters[[name]]$tidy(given[[name]])
    type$parameters[[name]]$check(type$parameters[[name]], given[[name]], name)
  }
  family$parameters[names(given)] <- given
  family
}

check_parameter_names <- function(given, family, known) {
  names <- names(given)
  if (length(given) && (is.null(names) || !all(nzchar(names)))) {
    stop_galvi("family", sprintf(
      "Parameters of a family need names%s.",
      if (length(known)) sprintf(", as in galvi_family(\"%s\", %s = 1)", family, known[1L]) else ""
    ))
  }
  unknown <- setdiff(names, known)
  if (length(unknown)) {
    stop_galvi("family", sprintf(
      "The %s family has no parameter `%s`.%s", family, unknown[1L],
      if (length(known)) sprintf(" It has %s.", quote_names(known)) else " It has none."
    ))
  }
}

#' @export
print.galvi_family <- function(x, digits = NULL, ...) {
  refuse_print_dots(list(...), print.galvi_family)
  cat("Family:", x$family, "\nLink function:", x$link, "\n")
  type <- family_type(x)
  for (name in names(type$parameters)) {
    default <- type$parameters[[name]]$default
    cat(sprintf("%s: %s\n", name, describe_parameter(x$parameters[[name]], default, digits)))
  }
  for (name in names(x$options)) cat(sprintf("%s: %s\n", name, describe_option(x$options[[name]])))
  invisible(x)
}

describe_parameter <- function(value, default, digits) {
  if (is.null(value) && is_value(default)) value <- default
  if (is.null(value)) return("learned, from a start taken from the data")
  if (is_value(value)) return(format(value, digits))
  sprintf("learned, from %s", paste(format(value, trim = TRUE, digits = digits), collapse = ", "))
}

# A reference level or a number.
describe_option <- function(value) {
  if (is_value(value)) return(format(value))
  if (length(value) > 1L) return(paste(format(value, trim = TRUE), collapse = ", "))
  if (is.na(value)) return(if (is.numeric(value)) "taken from the data" else "none")
  if (is.integer(value)) return("the first level")
  if (is.numeric(value)) format(value) else dQuote(value, FALSE)
}

# What to do in place of responses with formulas of their own.
responses_apart <- paste(
  "Responses with formulas of their own are fits of their own, one galvi() for each; mvbind(y1, y2) ~ x + rescor() and",
  "responses() have one right side for all."
)

#' Anything that users may give as a family -> galvi_family; errors say what to use
#' @noRd
as_galvi_family <- function(x, link = NULL, arg = "family") {
  if (is.function(x)) {
    x <- tryCatch(x(), error = function(e) {
      stop_galvi("family", sprintf(
        "`%s` must be a family; the function that was given fails: %s", arg, conditionMessage(e)
      ))
    })
  }
  if (inherits(x, "galvi_family")) {
    if (is.null(link)) return(x)
    family <- family_by_name(x$family, link, arg)
    family[c("parameters", "options")] <- x[c("parameters", "options")]
    return(family)
  }
  if (is.character(x) && length(x) == 1L) return(family_by_name(x, link, arg))
  if (is.list(x) && is.character(x$family)) return(translate_family(x, link, arg))
  if (!is.null(vgam_name(x))) return(family_by_name(vgam_name(x), link, arg))
  if (is_rstanarm_prior(x)) {
    stop_galvi("family", sprintf(
      "`%s` is the prior %s() of rstanarm: priors go to `prior`, and `family` is a family such as binomial().", arg, x$dist
    ))
  }
  if (is.list(x) && !is.object(x) && length(x) > 1L) {
    stop_galvi("family", sprintf(
      "`%s` is a list, which is for the columns of responses() and mvbind(). %s", arg, responses_apart
    ))
  }
  stop_galvi("family", sprintf(
    "`%s` must be a family such as binomial(), its name or its function, not %s.", arg, describe(x)
  ))
}

family_by_name <- function(name, link, arg) {
  if (name %in% c("zero_inflated", "hurdle")) return(zero_family(name, "poisson"))
  # also mgcv's "Cox PH"
  if (grepl("^cox[ .]?(ph)?$", name, ignore.case = TRUE)) return(cox_with_link(link))
  types <- family_types
  if (!name %in% names(types)) {
    known <- translation(name)
    if (is.null(known)) refuse_family(name, arg)
    return(set_parameters(family_by_name(known$family, link, arg), known$parameters))
  }
  links <- names(types[[name]]$links)
  if (is.null(link)) link <- links[1L]
  if (!is.character(link) || length(link) != 1L || !link %in% links) refuse_link(name, link, links)
  options <- lapply(types[[name]]$options, function(check) check(NA))
  new_family(
    name, link, options = if (length(options)) options else list(), dpars = c("mu", names(types[[name]]$dpars))
  )
}

refuse_link <- function(name, link, links) {
  # not that of another package, such as hurdle_lognormal() of brms
  constructor <- if (name %in% family_words) get0(name, mode = "function")
  takes_link <- is.function(constructor) && "link" %in% names(formals(constructor))
  use <- if (is.function(constructor)) {
    sprintf("%s(%s)", name, if (takes_link) dQuote(links[1L], FALSE) else "")
  } else {
    sub("^(.*)_([^_]+)$", "\\1(\"\\2\")", name)
  }
  why <- if (is.character(link) && length(link) == 1L) family_type(list(family = name))$refused[link]
  if (!is.null(why) && !is.na(why)) {
    also <- or_else(unname(family_type(list(family = name))$instead[link]), "")
    stop_galvi("family", sprintf(
      "%s() with the %s link is refused, as %s: use %s%s.", name, link, why, use, if (is.na(also)) "" else also
    ))
  }
  stop_galvi("family", sprintf(
    "The %s family has the link%s %s, not %s. Use %s.", name, if (length(links) > 1L) "s" else "",
    quote_names(links, "\""), describe(link), use
  ))
}

# Help pages about several families at once; their table is in ?galvi_family.

#' Distributional regression: linear predictors for other parameters than the mean
#'
#' A list of formulas gives parameters of a family, such as the standard deviation of a gaussian response or the
#' probability of an excess zero, linear predictors of their own.
#'
#' The first formula has the response and its terms. The left sides of the others name parameters:
#' `galvi(list(y ~ x + gp(z), sigma ~ gp(z)), data)`. Each has its own terms, kernels and priors. Objects of
#' `brms::bf()` are accepted. `family$dpars` has the names of all parameters that may have a linear predictor; `mu` is
#' that of the response.
#'
#' | family | parameter | link |
#' |:--|:--|:--|
#' | `gaussian` | `sigma`, the standard deviation | log |
#' | `student` | `sigma`, the scale; `nu`, the degrees of freedom | log |
#' | `laplace` | `sigma`, the scale | log |
#' | `lognormal` | `sigma`, the standard deviation of log(y) | log |
#' | `exgaussian` | `sigma`, the standard deviation of the normal part; `beta`, the mean of the exponential part | log |
#' | `skew_normal` | `sigma`, the standard deviation | log |
#' | `skew_normal` | `alpha`, the skewness parameter | identity |
#' | `negbinomial` | `shape`, the size | log |
#' | `nbinom1` | `phi`, by which the variance over the mean exceeds 1 | log |
#' | `Gamma`, `loglogistic`, `weibull(form = "ph")` | `shape` | log |
#' | `inverse.gaussian` | `phi`, the inverse of the dispersion | log |
#' | `tweedie` | `phi`, the dispersion | log |
#' | `beta_family`, `beta_binomial`, `ordbeta`, `zero_one_inflated_beta` | `phi`, the precision | log |
#' | `zero_one_inflated_beta` | `zoi`, the probability of 0 or 1; `coi`, that of 1 among these | logit |
#' | `cumulative`, `sratio`, `cratio`, `acat` | `disc`, the discrimination, without an intercept | log |
#' | `zero_inflated` | `zi`, the probability of an excess zero | logit |
#' | `hurdle` | `hu`, the probability of a zero | logit |
#' | `zero_inflated`, `hurdle` | also the parameter of `negbinomial`, `nbinom1`, `Gamma` and `lognormal` | log |
#'
#' In formulas and as `dpar` the name of the number is understood, too, where it has the same scale: `size ~ z` is
#' `shape ~ z` of `negbinomial`, `precision ~ z` is `phi ~ z` of `beta_family`, and so `df`, `scale` of `student` and
#' `dispersion` of `tweedie`. Coefficients and priors have the names of the table.
#'
#' Without a formula a parameter is one estimated number; `zi`, `hu`, `zoi` and `coi` then have an intercept, as has `sigma` if
#' only `nu` of `student`, `beta` of `exgaussian` or `alpha` of `skew_normal` has a formula. `gaussian`, `lognormal`, `loglogistic` and `weibull(form = "ph")` also take censored
#' responses with two linear predictors.
#'
#' Names of coefficients of such a linear predictor begin with `sigma_`, as in brms, and names of its terms and
#' hyperparameters with `sigma.` (with the name of the parameter in place of `sigma`). Its priors are a list under
#' that name: `prior = list(intercept = normal(0, 5), sigma = list(default = normal(0, 1)))`. The default priors are
#' those of a log or logit link, see [galvi()]. The argument `offset` of `galvi()` belongs to the response; an
#' `offset()` in a formula belongs to that formula. `predict(fit, dpar = "sigma")` predicts the parameter.
#'
#' The bound belongs to a posterior in which the linear predictors are independent. Standard deviations, intervals and
#' predictions come from the joint posterior of all linear predictors (see [coef()][coef.galvi]), except in models with
#' [gp()] terms or fields. The bound may have several maxima, except for hurdle models of `poisson`, `binomial`, `Gamma`
#' and `lognormal`, whose two parts are separate models.
#'
#' The mean of a new response is infinite where `sigma` of `lognormal` or `shape` of `loglogistic` or
#' `weibull(form = "ph")` has a linear predictor, because its logarithm has a Gaussian posterior, which does not exclude
#' any value. `predict()` then returns `Inf` with a warning. Quantiles, survival probabilities and credible intervals of
#' the mean given all linear predictors are finite. In the same way the variance of a `student` response is infinite
#' where `nu` has a linear predictor.
#'
#' @references
#' Rigby, R. A. and Stasinopoulos, D. M. (2005). Generalized additive models for location, scale and shape. *Journal of
#' the Royal Statistical Society C* 54, 507-554.
#'
#' Ospina, R. and Ferrari, S. L. P. (2012). A general class of zero-or-one inflated beta regression models. *Computational
#' Statistics and Data Analysis* 56, 1609-1623.
#'
#' Lambert, D. (1992). Zero-inflated Poisson regression, with an application to defects in manufacturing.
#' *Technometrics* 34, 1-14.
#' @seealso `vignette("several-predictors", package = "galvi")`.
#' @family likelihoods
#' @examples
#' # a standard deviation that grows with speed
#' fit <- galvi(list(dist ~ speed, sigma ~ speed), data = cars)
#' fit
#' predict(fit, data.frame(speed = c(5, 15, 25)), dpar = "sigma", type = "response")
#'
#' # overdispersion that depends on the tension
#' fit <- galvi(list(breaks ~ wool + tension, shape ~ tension), data = warpbreaks,
#'   family = negbinomial())
#' coef(fit)
#'
#' # excess zeros, and overdispersion with a predictor of its own
#' fit <- galvi(list(Days ~ Age, shape ~ Sex, zi ~ 1), data = MASS::quine,
#'   family = zero_inflated(negbinomial()))
#' coef(fit)
#'
#' # zero-inflated counts: the probability of an excess zero is one number
#' fit <- galvi(count ~ spray, data = InsectSprays, family = zero_inflated(poisson()))
#' predict(fit, data.frame(spray = "C"), dpar = "zi", type = "response")
#' @name distributional
NULL

#' Log densities of the families
#'
#' The log density (for counts and classes the log probability) of one observation y given its linear predictor eta,
#' for the families in [galvi_family()]. They contain all constants, so evidence bounds of different families for the
#' same response can be compared. [survival-families] has those of `weibull`, `loglogistic` and `lognormal`.
#'
#' * `gaussian`: `-(y - m)^2 / (2 variance) - log(2 pi variance) / 2` with m = eta or exp(eta)
#' * `student`: `lgamma((df + 1) / 2) - lgamma(df / 2) - (df + 1) / 2 log(1 + ((y - eta) / scale)^2 / df) -
#'   log(pi df scale^2) / 2`
#' * `laplace`: `-|y - eta| / scale - log(2 scale)`
#' * `asymmetric_laplace`: `-r (quantile - (r < 0)) + log(quantile (1 - quantile) / scale)` with r = (y - eta) / scale
#' * `exgaussian`: `sigma^2 / (2 beta^2) - r / beta + log Phi(r / sigma - sigma / beta) - log beta` with r = y - eta + beta
#' * `skew_normal`: `log 2 - log omega + log phi(z) + log Phi(alpha z)` with the normal density phi, z = (y - eta) / omega
#'   + m, m = alpha sqrt(2 / pi) / sqrt(1 + alpha^2) and omega = sigma / sqrt(1 - m^2)
#' * `von_mises`: `kappa cos(y - eta) - log(2 pi I_0(kappa))` with the modified Bessel function I_0
#' * `stochastic_volatility`: `-(eta + y^2 exp(-eta) + log(2 pi)) / 2`
#' * `poisson`: `y eta - exp(eta) - log y!`. With the softplus link it is the density at log(log(1 + exp(eta))), as for
#'   `negbinomial` and `Gamma`
#' * `negbinomial`: `y log(m / (m + size)) + size log(size / (m + size)) + lgamma(y + size) - lgamma(size) - log y!`
#'   with m = exp(eta)
#' * `nbinom1`: `lgamma(y + m / phi) - lgamma(m / phi) - m log(1 + phi) / phi + y log(phi / (1 + phi)) - log y!` with
#'   m = exp(eta)
#' * `compois`: `y log(lambda) - nu log y! - log Z`, with the lambda for which the mean is exp(eta), and Z the sum that
#'   makes it a distribution (Conway-Maxwell-Poisson)
#' * `binomial`, y of n: `y log p + (n - y) log(1 - p) + log choose(n, y)` with p = logistic(eta), Phi(eta) or
#'   1 - exp(-exp(eta)) for the links logit, probit and cloglog, exp(-exp(-eta)) for loglog, 1 / 2 + atan(eta) / pi for
#'   cauchit
#' * `beta_binomial`, y of n: `log choose(n, y) + lbeta(y + a, n - y + b) - lbeta(a, b)` with `a = m precision`,
#'   `b = (1 - m) precision` and m = logistic(eta)
#' * `zero_inflated`, f the density of the base: `log(zi + (1 - zi) f(0))` for y = 0, else `log(1 - zi) + log f(y)`
#' * `hurdle`: `log hu` for y = 0, else `log(1 - hu) + log f(y) - log(1 - f(0))`, where f(0) = 0 for `Gamma` and
#'   `lognormal`
#' * `Gamma`: `-shape (eta + y exp(-eta)) + shape log(shape) - lgamma(shape) + (shape - 1) log y`
#' * `inverse.gaussian`: `-(y - m)^2 / (2 dispersion y m^2) - log(2 pi dispersion y^3) / 2` with m = exp(eta)
#' * `tweedie`: `(-y m^(1 - power) / (power - 1) - m^(2 - power) / (2 - power)) / dispersion + c(y, dispersion)` with
#'   m = exp(eta): a Poisson number of gamma variables, with a positive probability of 0. c is computed by its series
#' * `exponential`: `-eta - y exp(-eta)`
#' * `beta_family`: the density of [stats::dbeta()] with shapes `m precision` and `(1 - m) precision`, m =
#'   logistic(eta)
#' * `ordbeta`: `log logistic(cutzero - eta)` for y = 0, `log logistic(eta - cutone)` for y = 1, else `log(logistic(eta -
#'   cutzero) - logistic(eta - cutone))` plus the log density of `beta_family` with precision `phi`
#' * `zero_one_inflated_beta`: `log zoi + log(1 - coi)` for y = 0, `log zoi + log coi` for y = 1, else `log(1 - zoi)` plus
#'   the log density of `beta_family` with precision `phi`
#' * `cumulative`: `log(F(threshold_y - eta) - F(threshold_(y-1) - eta))` with F the distribution function of the link,
#'   where the outermost thresholds are infinite
#' * `sratio`: `log F(threshold_y - eta) + sum_(j < y) log(1 - F(threshold_j - eta))`, without the first term for the last
#'   class
#' * `cratio`: `log(1 - F(eta - threshold_y)) + sum_(j < y) log F(eta - threshold_j)`, without the first term for the last
#'   class
#' * `acat`: `sum_(j < y) (eta - threshold_j) - log sum_c exp(sum_(j < c) (eta - threshold_j))`
#' * `categorical`: `eta_y - log sum_c exp(eta_c)`, where eta of a reference level is 0; for a row of counts, the sum of
#'   these over the trials plus the log multinomial coefficient
#' * `stick_breaking`: `log logistic(eta_y) + sum_(c < y) log logistic(-eta_c)`, without the first term for the last
#'   class
#'
#' @references
#' Huang, A. (2017). Mean-parametrized Conway-Maxwell-Poisson regression models for dispersed counts. *Statistical
#' Modelling* 17, 359-380 (`compois`).
#'
#' Dunn, P. K. and Smyth, G. K. (2005). Series evaluation of Tweedie exponential dispersion model densities.
#' *Statistics and Computing* 15, 267-280 (`tweedie`).
#' @family likelihoods
#' @examples
#' # evidence bounds of two families for the same counts
#' fit_poisson <- galvi(count ~ spray, data = InsectSprays, family = poisson())
#' fit_negbinomial <- galvi(count ~ spray, data = InsectSprays, family = negbinomial())
#' c(poisson = fit_poisson$elbo, negbinomial = fit_negbinomial$elbo)
#' @name family-densities
NULL
