# What a user may call a family -> an object of class galvi_family. The families themselves are in
# family-types.R, their parameters in family-parameters.R, responses in family-response.R and
# family-classes.R, families of other packages in family-translate.R.

#' Families
#'
#' `family` in [galvi()] is a name, a function or an object: base R's [stats::gaussian()], [stats::binomial()]
#' with links `"logit"`, `"probit"` and `"cloglog"`, [stats::poisson()], `Gamma("log")` and `inverse.gaussian("log")`, or one of the
#' functions here.
#' `galvi_family()` builds any of them with parameters, and no other package can mask it.
#'
#' With eta the linear predictor:
#'
#' | family | links | response | given eta | parameters |
#' |:--|:--|:--|:--|:--|
#' | `gaussian` | identity | numbers | normal, mean eta | `variance` |
#' | `student` | identity | numbers with outliers | eta + scale * t(df) | `df`, `scale` |
#' | `laplace` | identity | numbers | eta + Laplace noise, E abs(y - eta) = scale | `scale` |
#' | `asymmetric_laplace` | identity | numbers | eta is the `quantile` of y | `scale` |
#' | `binomial` | logit, probit, cloglog | two classes or successes | P(success) as below | |
#' | `poisson` | log | counts | mean exp(eta) | |
#' | `negbinomial` | log | counts | mean m = exp(eta), variance m + m^2 / size | `size` |
#' | `geometric` | log | counts | `negbinomial` with size 1 | |
#' | `Gamma` | log | positive numbers | mean m = exp(eta), variance m^2 / shape | `shape` |
#' | `inverse.gaussian` | log | positive numbers | mean m = exp(eta), variance dispersion m^3 | `dispersion` |
#' | `tweedie` | log | zero or positive | mean m = exp(eta), variance dispersion m^power | `dispersion` |
#' | `exponential` | log | positive numbers, censored | mean exp(eta) | |
#' | `weibull` | log | positive numbers, censored | see [survival-families] | `shape` |
#' | `loglogistic` | log | positive numbers, censored | median exp(eta) | `shape` |
#' | `lognormal` | log | positive numbers, censored | median exp(eta) | `sigma` |
#' | `beta_family` | logit | fractions | mean m = logistic(eta); variance below | `precision` |
#' | `beta_binomial` | logit | successes of trials | mean n m, m = logistic(eta); variance below | `precision` |
#' | `zero_inflated(base)` | the base's | counts | 0 with probability `zi`, else what the base gives | the base's |
#' | `hurdle(base)` | the base's | with zeros | 0 with probability `hu`, else what the base gives, not 0 | the base's |
#' | `stochastic_volatility` | log | numbers about zero | normal, mean 0, variance exp(eta) | |
#' | `cumulative` | logit, probit | ordered classes | P(y <= k) = F(threshold_k - eta) | `thresholds` |
#' | `categorical` | logit | classes | P(y = c) proportional to exp(eta_c) | |
#' | `stick_breaking` | logit | classes | P(y = c, given y >= c) = logistic(eta_c) | |
#'
#' @section Log densities:
#' * `gaussian`: `-(y - eta)^2 / (2 variance) - log(2 pi variance) / 2`
#' * `student`: `lgamma((df + 1) / 2) - lgamma(df / 2) - (df + 1) / 2 log(1 + ((y - eta) / scale)^2 / df) -
#'   log(pi df scale^2) / 2`
#' * `laplace`: `-|y - eta| / scale - log(2 scale)`
#' * `asymmetric_laplace`: `-r (quantile - (r < 0)) + log(quantile (1 - quantile) / scale)`, r = (y - eta) /
#'   scale
#' * `binomial`, y of n: `y log p + (n - y) log(1 - p) + log choose(n, y)`, p = logistic(eta), Phi(eta)
#'   or 1 - exp(-exp(eta))
#' * `poisson`: `y eta - exp(eta) - log y!`
#' * `negbinomial`: `y log(mu / (mu + size)) + size log(size / (mu + size)) + lgamma(y + size) -
#'   lgamma(size) - log y!`, mu = exp(eta)
#' * `Gamma`: `-shape (eta + y exp(-eta)) + shape log(shape) - lgamma(shape) + (shape - 1) log y`
#' * `inverse.gaussian`: `-(y - m)^2 / (2 dispersion y m^2) - log(2 pi dispersion y^3) / 2`, m = exp(eta)
#' * `tweedie`: `(-y m^(1 - power) / (power - 1) - m^(2 - power) / (2 - power)) / dispersion + c(y, dispersion)`,
#'   m = exp(eta): the density of a Poisson number of gamma variables, c by its series; it has a probability of
#'   exactly 0
#' * `exponential`: `-eta - y exp(-eta)`
#' * `beta_family`: that of [stats::dbeta()] with shapes `m precision` and `(1 - m) precision`, m =
#'   logistic(eta): the variance is m (1 - m) / (1 + precision)
#' * `beta_binomial`, y of n: `log choose(n, y) + lbeta(y + a, n - y + b) - lbeta(a, b)`, a = `m precision`, b =
#'   `(1 - m) precision`: the variance is n m (1 - m) (1 + (n - 1) / (1 + precision))
#' * `zero_inflated`, f the base's density: `log(zi + (1 - zi) f(0))` for y = 0, else `log(1 - zi) + log f(y)`
#' * `hurdle`: `log hu` for y = 0, else `log(1 - hu) + log f(y) - log(1 - f(0))`
#' * `stochastic_volatility`: `-(eta + y^2 exp(-eta) + log(2 pi)) / 2`
#' * `cumulative`: `log(F(threshold_y - eta) - F(threshold_(y-1) - eta))`, F logistic or Phi, the outer
#'   thresholds infinite
#' * `categorical`: `eta_y - log sum_c exp(eta_c)`, eta of the reference 0
#' * `stick_breaking`: `log logistic(eta_y) + sum_(c < y) log logistic(-eta_c)`, the first term missing for
#'   the last class
#'
#' @section Responses:
#' * `weibull`, `exponential`, `loglogistic`, `lognormal` and `gaussian` take a `survival::Surv()` with
#'   censored times, see [survival-families].
#' * `binomial`: 0 and 1, logical, a factor or text of two levels (the second is the success),
#'   `cbind(successes, failures)`, or a proportion with the trials as `weights`.
#' * `cumulative`: an ordered factor, or whole numbers, whose order is theirs. An unordered factor has no
#'   order to go by and is refused. Two levels are enough.
#' * `categorical`, `stick_breaking`: a factor, text, logical or whole numbers.
#' * `categorical` also takes a matrix of counts, a column for each class: `cbind(a, b, c) ~ x`. A row is as many
#'   trials; its log density has the logarithm of the multinomial coefficient, as that of `binomial` has. Predictions
#'   are probabilities; `simulate()` draws counts, of as many trials.
#' * Levels of a class without rows are refused ([droplevels()] leaves them out), but where `cumulative` has
#'   held thresholds.
#' * `poisson` and `negbinomial` take counts that are all zero: the prior of the intercept then decides how
#'   small the mean can be.
#' * `beta_family` refuses 0 and 1, whose density is 0 or infinite; `(y * (n - 1) + 0.5) / n` squeezes n
#'   observations into the open interval.
#' * `stochastic_volatility` takes a y of exactly 0, but not in every row.
#'
#' @section Two linear predictors:
#' A list of formulas gives a second parameter a linear predictor of its own: `list(y ~ x + gp(z), sigma ~
#' gp(z))`. The left side names it; it has its own terms, kernels and priors:
#'
#' | family | parameter | link |
#' |:--|:--|:--|
#' | `gaussian` | `sigma`, the square root of the variance | log |
#' | `student`, `laplace` | `sigma`, the scale | log |
#' | `lognormal` | `sigma`, the standard deviation of log(y) | log |
#' | `negbinomial` | `shape`, the size | log |
#' | `Gamma`, `loglogistic`, `weibull(form = "ph")` | `shape` | log |
#' | `inverse.gaussian` | `phi`, the inverse of the dispersion | log |
#' | `tweedie` | `phi`, the dispersion | log |
#' | `beta_family`, `beta_binomial` | `phi`, the precision | log |
#' | `zero_inflated` | `zi`, the probability of a zero of another kind | logit |
#' | `hurdle` | `hu`, the probability of a zero | logit |
#'
#' Without a formula a parameter is one learned number; `zi` and `hu` then have an intercept alone. Bases of
#' `zero_inflated` are `poisson`, `negbinomial` and `binomial`, of `hurdle` these, `Gamma("log")` and `lognormal`. The
#' default priors of such effects are those of a log or logit link. `gaussian`, `lognormal`, `loglogistic` and
#' `weibull(form = "ph")` take censored responses with two predictors too.
#'
#' The mean of a new response is infinite with a predicted `sigma` of `lognormal` or `shape` of `loglogistic` and
#' `weibull(form = "ph")`: a Gaussian posterior does not exclude any value of their logarithm. `predict()` then gives
#' `Inf` and says so; quantiles, survival probabilities and credible limits of the mean given both predictors exist.
#'
#' The posterior treats the two predictors as independent. The bound may have several optima, but for hurdles
#' of `poisson`, `binomial`, `Gamma` and `lognormal`, whose two parts are models of their own.
#'
#' @section Classes:
#' `categorical` and `stick_breaking` have several latent values per observation, each with its own copy of
#' all terms: `categorical()` one per level, `categorical(refcat = "a")` one per level but `a`,
#' `stick_breaking()` one per level but the last. The copies share kernel parameters unless the kernel is
#' [per_class()]; priors of fixed effects, see `prior` in [galvi()], are the same for all. An offset is one
#' column, which is added to every latent value, or a matrix with one column each.
#'
#' The bound of `categorical` is that of a posterior in which these latent values are independent, and which has
#' standard deviations that are too small; [coef.galvi] says which models have those of a posterior in which they depend on
#' each other. The latent values of `stick_breaking` are independent in the posterior itself.
#'
#' `stick_breaking` goes through the levels in their order: is it the first, if not, is it the second, ...
#' Its fit depends on that order: `factor(y, levels = c("c", "a", "b"))` chooses it.
#'
#' `cumulative` with free thresholds has no intercept, with or without `0 +` in the formula: the thresholds
#' stand for it; where the formula has nothing else (`y ~ 1`) it is fixed at 0. They are learned in order, from
#' the starts at which a model without terms has the classes' shares, or from your numbers; `fixed()` holds
#' them, and then there is an intercept. Their names are those of the levels they divide, such as
#' `cumulative.low|medium`.
#'
#' @section Parameters:
#' Family parameters are hyperparameters: a number is where learning starts, [fixed()] fixes it, a prior such
#' as [log_normal()] makes the estimate a posterior mode; learning is on the log scale. One that is not given
#' starts from a value read off the data: half of var(y) for `variance`, the median absolute deviation for
#' `scale`, moments for `size`, `shape`, `dispersion` and `precision`. With `hyper = "fixed"` it is fixed at the
#' default in Usage (`variance`, `shape`, `dispersion` and thresholds at that start). `df` is fixed at 4 unless you give a
#' number or a prior, which learn it. `variance = fixed(0)` is noise-free interpolation.
#'
#' `student`, `beta_family` and `inverse.gaussian` are not log-concave: the bound may have several optima, and a fit that was not
#' proven best says so.
#'
#' @section Quantiles:
#' `asymmetric_laplace(quantile = 0.9)` is Bayesian quantile regression: eta is the 0.9 quantile of y, because
#' the posterior mode under flat priors minimises the check function. The density is a working likelihood that
#' no data follow, so its posterior is not calibrated: standard deviations, intervals, simulations and
#' predictions of a new y need not have the probability that they claim. `quantile` is a fixed number. `coef()`
#' and `predict(type = "link")` are about the quantile; `type = "response"` is the mean of the working density,
#' eta + scale (1 - 2 quantile) / (quantile (1 - quantile)). Its deviance is not defined.
#'
#' @section Other packages:
#' Objects of class `brmsfamily`, mgcv's `nb`, `negbin`, `ocat`, `scat`, `betar`, `multinom` and MASS's
#' `negative.binomial` are translated by name and link, with parameters that they hold: `negbinomial(size =
#' fixed(2))` for `negative.binomial(2)`. Degrees of freedom that they learn are learned here too. Others are
#' refused with a message that names the call to use.
#'
#' @param family A name, a family function or a family object.
#' @param ... Parameters by name, such as `variance = fixed(0.25)`.
#' @param link Link; NULL for the one of `family`.
#' @param df Degrees of freedom, positive. They are fixed at 4; a number or a prior learns them.
#' @param scale Scale of the noise in units of y, positive.
#' @param dispersion Positive; see the table.
#' @param power Between 1 and 2: the power of the mean that the variance of `tweedie` is proportional to.
#' @param quantile Between 0 and 1: the quantile of y that eta is.
#' @param size,precision Positive; see the table.
#' @param base The family of counts, of successes or (`hurdle`) of positive numbers, with its parameters.
#' @param thresholds NULL, increasing numbers where learning starts, or [fixed()] of them: one fewer than
#'   levels.
#' @param refcat The level whose latent value is 0; NA for none, one latent value per level; NULL for the
#'   first.
#' @return An object of class `galvi_family` and `family`: a list with `family`, `link`, `linkfun`, `linkinv`,
#'   `mu.eta`, `parameters` (those given) and `options`.
#' @references
#' Khan, Mohamed and Murphy (2012) *Fast Bayesian inference for non-conjugate Gaussian process regression*
#' (`categorical`, `cumulative`, `stick_breaking`).
#'
#' Khan, Aravkin, Friedlander and Seeger (2013) *Fast dual variational inference for non-conjugate latent
#' Gaussian models* (`poisson`, `Gamma`, `exponential`, `negbinomial`, `stochastic_volatility`).
#'
#' Sheth and Khardon (2016) *A fixed-point operator for inference in variational Bayesian latent Gaussian
#' models* (`student`, `laplace`, `beta_family`).
#'
#' Yu and Moyeed (2001) *Bayesian quantile regression* (`asymmetric_laplace`).
#'
#' Dunn and Smyth (2005) *Series evaluation of Tweedie exponential dispersion model densities* (`tweedie`).
#'
#' McCullagh (1980) *Regression models for ordinal data* (`cumulative`).
#' @examples
#' galvi_family("gaussian", variance = fixed(0.25))
#' galvi_family(binomial("probit"))
#' student(df = 6)
#' cumulative("probit", thresholds = fixed(c(-1, 0, 1)))
#' categorical(refcat = "setosa")
#'
#' # noise that grows, and zeros that a count does not explain
#' fit <- galvi(list(dist ~ speed, sigma ~ speed), data = cars)
#' coef(fit)
#' zero_inflated(negbinomial())
#'
#' # outliers
#' fit <- galvi(stack.loss ~ ., data = stackloss, family = laplace())
#' coef(fit)
#'
#' # ordered classes
#' d <- transform(mtcars, gear = factor(gear, ordered = TRUE))
#' galvi(gear ~ wt, data = d, family = cumulative())$hyper
#' @order 1
#' @export
galvi_family <- function(family, ..., link = NULL) {
  if (missing(family)) stop_galvi("family", "galvi_family() needs `family`: a name, a function or an object.")
  set_parameters(as_galvi_family(family, link = link), list(...))
}

# A family of ours by name, from its constructor.
own_family <- function(name, ..., link = NULL) set_parameters(family_by_name(name, link, "family"), list(...))

new_family <- function(family, link, parameters = list(), options = list()) {
  structure(
    c(
      list(family = family, link = link),
      stats::make.link(link)[c("linkfun", "linkinv", "mu.eta")],
      list(parameters = parameters, options = options)
    ),
    class = c("galvi_family", "family")
  )
}

# given: parameters and options by name; a parameter of NULL is not given.
set_parameters <- function(family, given) {
  type <- family_type(family)
  known <- c(names(type$parameters), names(type$options))
  check_parameter_names(given, family$family, known)
  for (name in intersect(names(given), names(type$options))) {
    family$options[[name]] <- type$options[[name]](given[[name]])
  }
  given <- Filter(Negate(is.null), given[names(given) %in% names(type$parameters)])
  for (name in names(given)) {
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
  if (is.null(value)) return("learned, from a start read off the data")
  if (is_value(value)) return(format(value, digits))
  sprintf("learned, from %s", paste(format(value, trim = TRUE, digits = digits), collapse = ", "))
}

# A reference class or a number.
describe_option <- function(value) {
  if (is.na(value)) return(if (is.numeric(value)) "read off the data" else "none")
  if (is.integer(value)) return("the first level")
  if (is.numeric(value)) format(value) else dQuote(value, FALSE)
}

#' Anything a user may call a family -> galvi_family; errors name what to use
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
  stop_galvi("family", sprintf(
    "`%s` must be a family such as binomial(), its name or its function, not %s.", arg, describe(x)
  ))
}

family_by_name <- function(name, link, arg) {
  if (name %in% c("zero_inflated", "hurdle")) return(zero_family(name, "poisson"))
  types <- family_types()
  if (!name %in% names(types)) {
    known <- translation(name)
    if (is.null(known)) refuse_family(name, arg)
    return(set_parameters(family_by_name(known$family, link, arg), known$parameters))
  }
  links <- names(types[[name]]$links)
  if (is.null(link)) link <- links[1L]
  if (!is.character(link) || length(link) != 1L || !link %in% links) refuse_link(name, link, links)
  options <- lapply(types[[name]]$options, function(check) check(NA))
  new_family(name, link, options = if (length(options)) options else list())
}

refuse_link <- function(name, link, links) {
  constructor <- get0(name, mode = "function")
  takes_link <- is.function(constructor) && "link" %in% names(formals(constructor))
  use <- if (is.function(constructor)) {
    sprintf("%s(%s)", name, if (takes_link) dQuote(links[1L], FALSE) else "")
  } else {
    sub("^(.*)_([^_]+)$", "\\1(\"\\2\")", name)
  }
  why <- if (is.character(link) && length(link) == 1L) family_type(list(family = name))$refused[link]
  if (!is.null(why) && !is.na(why)) {
    stop_galvi("family", sprintf("%s() with the %s link is refused, as %s: use %s.", name, link, why, use))
  }
  stop_galvi("family", sprintf(
    "The %s family has link%s %s here, not %s. Use %s.", name, if (length(links) > 1L) "s" else "",
    quote_names(links, "\""), describe(link), use
  ))
}
