# The families: for each one entry of facts and, where base R has none, one constructor.

# ---- facts ----

# links: R's link -> the core's likelihood; the first is the default. response: see family-response.R.
# example: a legal response of three rows. parameters: see family-parameters.R. options: what else the
# constructor takes, name -> function(value) that checks and tidies it; of NA for the default.
# Families of classes also have latents(levels, family), the names of their K latents where that is not one;
# constants(levels, family), what the core must know; intercept(family), whether formulas have one.
# robust: do wild responses count little, so that starts and default priors must not follow them either?
# times: is the response exp(eta) times something positive, whose mean is not 1?
# volatility: is the response a noise of mean zero whose size is modelled? location: what eta is of the response
# on the identity link. sigma(parameters): what sigma() gives. refused: links that base R has, and why not.
# censored: links as above, of the core's likelihoods for survival objects; none where they are refused.
family_types <- function() {
  list(
    gaussian = list(
      links = c(identity = "gaussian"), response = number_response, example = c(0, 1, 1),
      parameters = list(variance = positive(noise_variance, variance = TRUE, zero_ok = TRUE)),
      sigma = function(parameters) sqrt(parameters$variance), censored = c(identity = "censored_gaussian")
    ),
    student = list(
      links = c(identity = "student"), response = number_response, example = c(0, 1, 1),
      parameters = list(
        df = positive(df_start, default = fixed(4)), scale = positive(spread_start, default = 1)
      ),
      robust = TRUE, location = "centre", sigma = function(parameters) parameters$scale
    ),
    laplace = list(
      links = c(identity = "laplace"), response = number_response, example = c(0, 1, 1),
      parameters = list(scale = positive(spread_start, default = 1)), robust = TRUE, location = "median",
      sigma = function(parameters) parameters$scale
    ),
    binomial = list(
      links = c(logit = "binomial_logit", probit = "binomial_probit", cloglog = "binomial_cloglog"),
      response = binomial_response, example = c(0, 1, 1)
    ),
    poisson = list(links = c(log = "poisson"), response = count_response, example = c(0, 1, 1)),
    negbinomial = list(
      links = c(log = "negbinomial"), response = count_response, example = c(0, 1, 1),
      parameters = list(size = positive(size_start, default = 1))
    ),
    Gamma = list(
      links = c(log = "gamma"), response = positive_response, example = c(1, 2, 1),
      parameters = list(shape = positive(shape_start)), refused = c(inverse = "its mean could turn negative")
    ),
    exponential = list(
      links = c(log = "exponential"), censored = c(log = "exponential"), response = positive_response,
      example = c(1, 2, 1)
    ),
    weibull = list(
      links = c(log = "weibull"), censored = c(log = "weibull"), response = positive_response,
      example = c(1, 2, 1), parameters = list(shape = positive(weibull_start, default = 1)), times = TRUE
    ),
    loglogistic = list(
      links = c(log = "loglogistic"), censored = c(log = "loglogistic"), response = positive_response,
      example = c(1, 2, 1), parameters = list(shape = positive(loglogistic_start, default = 2)), times = TRUE
    ),
    lognormal = list(
      links = c(log = "lognormal"), censored = c(log = "lognormal"), response = positive_response,
      example = c(1, 2, 1), parameters = list(sigma = positive(log_spread_start, default = 1)), times = TRUE,
      sigma = function(parameters) parameters$sigma
    ),
    beta_family = list(
      links = c(logit = "beta"), response = fraction_response, example = c(0.2, 0.5, 0.4),
      parameters = list(precision = positive(precision_start, default = 1))
    ),
    stochastic_volatility = list(
      links = c(log = "stochastic_volatility"), response = volatility_response, example = c(1, -1, 0),
      volatility = TRUE
    ),
    cumulative = list(
      links = c(logit = "cumulative_logit", probit = "cumulative_probit"), response = ordered_response,
      example = 1:3, parameters = list(thresholds = in_order(threshold_starts)),
      intercept = has_held_thresholds
    ),
    categorical = list(
      links = c(logit = "categorical"), response = class_response, example = c("a", "b", "c"),
      options = list(refcat = check_refcat), latents = categorical_latents, constants = categorical_constants
    ),
    stick_breaking = list(
      links = c(logit = "stick_breaking"), response = class_response, example = c("a", "b", "c"),
      latents = function(levels, family) levels[-length(levels)],
      constants = function(levels, family) list(classes = length(levels))
    )
  )
}

# An entry with what it leaves out.
family_type <- function(family) {
  entry <- family_types()[[family$family]]
  defaults <- list(
    parameters = list(), options = list(), latents = function(levels, family) NULL,
    constants = function(levels, family) list(), intercept = function(family) TRUE, robust = FALSE,
    volatility = FALSE, location = "mean", sigma = function(parameters) 1, refused = character(),
    censored = character(), times = FALSE
  )
  c(entry, defaults[setdiff(names(defaults), names(entry))])
}

# Of links. same_units: is eta in units of the response? rates: does an offset multiply the mean? odds: is eta
# the logarithm of odds?
link_types <- function() {
  list(
    identity = list(same_units = TRUE), log = list(rates = TRUE), logit = list(odds = TRUE), probit = list(),
    cloglog = list()
  )
}

link_has <- function(family, what) isTRUE(link_types()[[family$link]][[what]])

# ---- constructors ----
# An argument that is not given is no parameter of the object: its start is read off the data.

#' @rdname galvi_family
#' @export
student <- function(df = fixed(4), scale = 1) {
  own_family("student", df = if (!missing(df)) df, scale = if (!missing(scale)) scale)
}

#' @rdname galvi_family
#' @export
laplace <- function(scale = 1) own_family("laplace", scale = if (!missing(scale)) scale)

#' @rdname galvi_family
#' @export
negbinomial <- function(size = 1) own_family("negbinomial", size = if (!missing(size)) size)

#' @rdname galvi_family
#' @export
exponential <- function() own_family("exponential")

#' @rdname galvi_family
#' @export
beta_family <- function(precision = 1) {
  own_family("beta_family", precision = if (!missing(precision)) precision)
}

#' @rdname galvi_family
#' @export
stochastic_volatility <- function() own_family("stochastic_volatility")

#' @rdname galvi_family
#' @export
cumulative <- function(link = "logit", thresholds = NULL) {
  own_family("cumulative", thresholds = thresholds, link = link)
}

#' @rdname galvi_family
#' @export
categorical <- function(refcat = NA) own_family("categorical", refcat = refcat)

#' @rdname galvi_family
#' @export
stick_breaking <- function() own_family("stick_breaking")
