# The families: an entry of facts for each and, where base R has none, a constructor.

# ---- facts ----

# An entry with what it does not mention.
complete_family <- function(entry) {
  defaults <- list(
    parameters = list(), dpars = list(), with_predictors = character(), censored_with = character(), no_predictor_of = list(),
    options = list(),
    latents = function(levels, family) NULL,
    constants = function(levels, family) list(), response_constants = function(response, family) list(),
    intercept = function(family) TRUE, robust = FALSE, no_predictor = character(),
    volatility = FALSE, location = "mean", linked_mean = TRUE, sigma = function(parameters) 1, log_upper = NULL,
    draw = NULL, refused = character(), instead = character(), censored = character(), times = FALSE, angle = FALSE
  )
  c(entry, defaults[setdiff(names(defaults), names(entry))])
}

# A parameter that may have a linear predictor: its link and the number that it replaces; replaced(value): that number.
# always: is there no such number, so that without a formula it has an intercept? per_weight: as in positive().
# intercept(family): may its formula have one?
parameter <- function(link, replaces = character(), always = FALSE, per_weight = 0,
                      intercept = function(family) TRUE, replaced = identity) {
  list(
    link = link, replaces = replaces, always = always, per_weight = per_weight, intercept = intercept, replaced = replaced
  )
}

# Families of ordered classes. Free thresholds stand for the intercepts of eta and of the logarithm of its scale.
# links: as an entry of family_types. scaled: by link, the core's likelihood with a predicted `disc`.
ordinal_family <- function(links, thresholds, scaled) {
  no_bound <- function(link) paste(
    "with the", link, "link the evidence bound would not exist, because the mean of exp(exp(disc) eta) is infinite when",
    "disc is Gaussian. Use the logit or probit link"
  )
  list(
    links = links, response = ordered_response, example = 1:3, parameters = list(thresholds = thresholds),
    intercept = has_held_thresholds, dpars = list(disc = parameter("log", intercept = has_held_thresholds)),
    with_predictors = list(disc = scaled),
    no_predictor_of = lapply(stats::setNames(nm = setdiff(names(links), names(scaled))), function(link) {
      c(disc = if (link == "cauchit") {
        "with the cauchit link it is not available. Use the logit or probit link"
      } else {
        no_bound(link)
      })
    })
  )
}

# Families with excess zeros (zero_inflated) or with all zeros modelled apart (hurdle), by base.
zero_families <- function() {
  # predicted: how likelihoods end if the base's parameter has a linear predictor; positive: draws above 0, where `draw` has
  # zeros
  bases <- list(
    poisson = list(
      link = "log", response = count_response, example = c(0, 1, 1), draw = poisson_draw, positive = positive_poisson_draw
    ),
    negbinomial = list(
      link = "log", response = count_response, example = c(0, 1, 1), draw = negbinomial_draw,
      positive = positive_negbinomial_draw,
      parameters = list(size = positive(positive_part(size_start), default = 1, also = "shape")),
      dpars = list(shape = parameter("log", "size")), predicted = "log_size"
    ),
    nbinom1 = list(
      link = "log", response = count_response, example = c(0, 1, 1), draw = nbinom1_draw, positive = positive_nbinom1_draw,
      parameters = list(phi = positive(positive_part(multiple_start), default = 1)),
      dpars = list(phi = parameter("log", "phi")), predicted = "log_phi"
    ),
    binomial = list(
      link = "logit", response = binomial_response, example = c(0, 1, 1), draw = binomial_draw,
      positive = positive_binomial_draw
    ),
    Gamma = list(
      link = "log", response = non_negative_response, example = c(0, 1, 2), draw = gamma_draw,
      parameters = list(shape = positive(positive_part(shape_start))), point = 0,
      dpars = list(shape = parameter("log", "shape")), predicted = "log_shape"
    ),
    lognormal = list(
      link = "log", response = non_negative_response, example = c(0, 1, 2), draw = lognormal_draw,
      parameters = list(sigma = positive(positive_part(log_spread_start), default = 1, sd = TRUE)), point = 0,
      dpars = list(sigma = parameter("log", "sigma")), predicted = "log_sigma"
    )
  )
  entry <- function(kind, name) {
    function(base) {
      own <- bases[[base]]
      likelihood <- paste(kind, tolower(base), sep = "_")
      both <- paste(c(names(own$dpars), name), collapse = " ")
      own$with_predictors <- c(
        stats::setNames(likelihood, name),
        if (length(own$predicted)) stats::setNames(paste(likelihood, own$predicted, sep = "_"), both)
      )
      own$dpars <- c(own$dpars, stats::setNames(list(parameter("logit", always = TRUE)), name))
      own$draw <- with_zeros(if (kind == "hurdle") or_else(own$positive, own$draw) else own$draw, name)
      c(list(links = stats::setNames(likelihood, own$link)), own[setdiff(names(own), c("link", "predicted", "positive"))])
    }
  }
  inflated <- setdiff(names(bases), c("Gamma", "lognormal"))
  c(
    stats::setNames(lapply(inflated, entry("zero_inflated", "zi")), paste0("zero_inflated_", inflated)),
    stats::setNames(lapply(names(bases), entry("hurdle", "hu")), paste0("hurdle_", tolower(names(bases))))
  )
}

# Why links are refused: a Gaussian posterior reaches every eta, and E log p is -infinity where some have no density.
negative_mean <- "its mean could turn negative, and no finite bound would exist"
two_means <- "eta and -eta would have the same mean, and its logarithm a singularity between them"
large_probability <- "probabilities could exceed 1, and no finite bound would exist"
# What else there is, after the family with its own link.
additive <- ", or link = \"softplus\" for additive effects"
risk_ratios <- ", and marginaleffects::avg_comparisons(fit, comparison = \"ratio\") for risk ratios"
risk_differences <- ", and marginaleffects::avg_comparisons(fit) for differences of risks"

no_nu_predictor <- paste(
  "its normalising constant is tabulated for one `nu`, and means over a predicted one would need a table for each",
  "value. nbinom1() has a predictor of `phi` and negbinomial() of `shape`"
)

# links: the link -> the core's likelihood; the first is the default.
# response: reads the response, see family-response.R. response_constants(response, family): what the core must know
# of it. example: a legal response of three rows.
# parameters: see family-parameters.R. options: other arguments of the constructor, name -> function(value) that checks
# and tidies the value; of NA it returns the default.
# Multi-class families also have latents(levels, family), the names of their K latents; constants(levels, family), what
# the core must know of the levels; intercept(family), whether formulas have an intercept.
# scale(y, offset, weights): the scale of the linear predictor, of which default priors and the starts of kernels are
# made, if it is not that of the link, see family-parameters.R.
# robust: are outliers expected?
# times: is the response exp(eta) times a positive variable whose mean is not 1?
# angle: is the response an angle, of which whole turns do not count?
# volatility: is the response noise of mean zero whose variance is modelled?
# summed: the parameter with a predictor that a sum of t responses has t times, as it has t times their mean.
# linked_mean: is the mean the inverse link of eta, where no other predictor and no multiple stands between them?
# location: what eta is of the response with the identity link. sigma(parameters): what sigma() returns.
# log_upper(y, mean, parameters): log P(Y > y), of positive responses that have no likelihood of censored ones.
# draw(mean, size, p): responses, see family-draws.R; without it they are quantiles at uniform numbers.
# refused: links that base R has, and why they are refused; instead: what else to use.
# dpars: the parameters beside the mean or location that may have a linear predictor, in the order of the core's latent
# values, see parameter(). with_predictors: for each set of them that may, by which it is named, the core's likelihood, or
# that of each link; censored_with: that of survival objects. no_predictor: parameters that cannot have one although
# users may expect it, and why; no_predictor_of: the same with some links.
# point: the responses with positive probability in an otherwise continuous distribution.
# censored: as links, the core's likelihoods for survival objects; empty where these are refused.
# The entry of a custom family is made by custom_type() and has functions(y), the R functions of its likelihood.
family_types <- lapply(c(list(
  gaussian = list(
    links = c(identity = "gaussian", log = "gaussian_log"),
    refused = c(inverse = "the mean has a pole where eta is zero"), response = number_response, example = c(0, 1, 1),
    parameters = list(
      variance = positive(noise_variance, variance = TRUE, zero_ok = TRUE, also = "sigma", per_weight = 1)
    ),
    sigma = function(parameters) sqrt(parameters$variance),
    dpars = list(sigma = parameter("log", "variance", per_weight = 0.5, replaced = function(sigma) sigma^2)),
    with_predictors = list(sigma = c(identity = "gaussian_log_sd", log = "gaussian_log_log_sd")),
    censored_with = c(sigma = "censored_gaussian_log_sd"),
    censored = c(identity = "censored_gaussian")
  ),
  student = list(
    links = c(identity = "student"), response = number_response, example = c(0, 1, 1), draw = student_draw,
    parameters = list(
      df = positive(df_start, default = fixed(4), also = "nu"),
      scale = positive(spread_start, default = 1, sd = TRUE, also = "sigma")
    ),
    scale = robust_scale, robust = TRUE, location = "centre", sigma = function(parameters) parameters$scale,
    dpars = list(sigma = parameter("log", "scale"), nu = parameter("log", "df")),
    with_predictors = c(sigma = "student_log_scale", `sigma nu` = "student_log_scale_log_df")
  ),
  laplace = list(
    links = c(identity = "laplace"), response = number_response, example = c(0, 1, 1),
    parameters = list(scale = positive(spread_start, default = 1, sd = TRUE, also = "sigma")),
    scale = robust_scale, robust = TRUE, location = "median",
    sigma = function(parameters) parameters$scale,
    dpars = list(sigma = parameter("log", "scale")),
    with_predictors = c(sigma = "laplace_log_scale")
  ),
  asymmetric_laplace = list(
    links = c(identity = "asymmetric_laplace"), response = number_response, example = c(0, 1, 1),
    parameters = list(scale = positive(spread_start, default = 1, sd = TRUE, also = "sigma")),
      options = list(quantile = check_quantile),
    constants = function(levels, family) family$options["quantile"],
    scale = robust_scale, robust = TRUE, location = "quantile",
    sigma = function(parameters) parameters$scale
  ),
  exgaussian = list(
    links = c(identity = "exgaussian"), response = number_response, example = c(0, 1, 1), draw = exgaussian_draw,
    parameters = list(
      sigma = positive(function(...) exgaussian_start(...)$sigma, default = 1, sd = TRUE),
      beta = positive(function(...) exgaussian_start(...)$beta, default = 1, sd = TRUE)
    ),
    sigma = function(parameters) parameters$sigma,
    dpars = list(sigma = parameter("log", "sigma"), beta = parameter("log", "beta")),
    with_predictors = c(sigma = "exgaussian_log_sigma", `sigma beta` = "exgaussian_log_sigma_log_beta")
  ),
  skew_normal = list(
    links = c(identity = "skew_normal"), response = number_response, example = c(0, 1, 1), draw = skew_normal_draw,
    parameters = list(
      sigma = positive(sd_start, default = 1, sd = TRUE),
      alpha = signed(skewness_start, "cubed", weak = new_value("normal", mean = 0, sd = 10), default = 1)
    ),
    sigma = function(parameters) parameters$sigma,
    dpars = list(sigma = parameter("log", "sigma"), alpha = parameter("identity", "alpha")),
    with_predictors = c(sigma = "skew_normal_log_sigma", `sigma alpha` = "skew_normal_log_sigma_alpha")
  ),
  von_mises = list(
    links = c(identity = "von_mises"), response = angle_response, example = c(0, 1, -1),
    parameters = list(kappa = positive(concentration_start, default = 1)), scale = angle_scale, angle = TRUE,
    location = "direction", sigma = function(parameters) 1 / sqrt(parameters$kappa),
    refused = c(tan_half = "effects are those on the angle itself here (tan_half is the default of brms)"),
    instead = c(tan_half = ", the model of brms::von_mises(\"identity\")")
  ),
  binomial = list(
    links = c(
      logit = "binomial_logit", probit = "binomial_probit", cloglog = "binomial_cloglog", loglog = "binomial_loglog",
      cauchit = "binomial_cauchit"
    ),
    response = binomial_response, example = c(0, 1, 1), draw = binomial_draw,
    refused = c(log = large_probability, identity = large_probability),
    instead = c(log = risk_ratios, identity = risk_differences)
  ),
  poisson = list(
    links = c(log = "poisson", softplus = "poisson_softplus"), response = count_response, example = c(0, 1, 1),
    draw = poisson_draw,
    refused = c(identity = negative_mean, sqrt = two_means), instead = c(identity = additive, sqrt = additive)
  ),
  negbinomial = list(
    links = c(log = "negbinomial", softplus = "negbinomial_softplus"), response = count_response, example = c(0, 1, 1),
    draw = negbinomial_draw,
    parameters = list(size = positive(size_start, default = 1, also = "shape")),
    refused = c(identity = negative_mean, sqrt = two_means), instead = c(identity = additive, sqrt = additive),
    dpars = list(shape = parameter("log", "size")), summed = "shape",
    with_predictors = list(shape = c(log = "negbinomial_log_size", softplus = "negbinomial_softplus_log_size"))
  ),
  nbinom1 = list(
    links = c(log = "nbinom1"), response = count_response, example = c(0, 1, 1), draw = nbinom1_draw,
    parameters = list(phi = positive(multiple_start, default = 1)),
    dpars = list(phi = parameter("log", "phi")),
    with_predictors = c(phi = "nbinom1_log_phi")
  ),
  compois = list(
    links = c(log = "compois"), response = count_response, example = c(0, 1, 1),
    parameters = list(nu = positive(nu_start, default = 1, also = "shape")),
    no_predictor = c(nu = no_nu_predictor, shape = no_nu_predictor)
  ),
  Gamma = list(
    links = c(log = "gamma", softplus = "gamma_softplus"), response = positive_response, example = c(1, 2, 1),
    draw = gamma_draw,
    parameters = list(shape = positive(shape_start, per_weight = -1)), log_upper = gamma_log_upper,
    refused = c(inverse = "its mean could turn negative", identity = negative_mean, sqrt = two_means),
    instead = c(identity = additive, sqrt = additive),
    dpars = list(shape = parameter("log", "shape", per_weight = -1)),
    with_predictors = list(shape = c(log = "gamma_log_shape", softplus = "gamma_softplus_log_shape"))
  ),
  inverse.gaussian = list(
    links = c(log = "inverse_gaussian"), response = positive_response, example = c(1, 2, 1),
    draw = inverse_gaussian_draw,
    parameters = list(dispersion = positive(inverse_gaussian_start, per_weight = 1)),
    log_upper = inverse_gaussian_log_upper,
    refused = c(
      `1/mu^2` = "its mean could be undefined", inverse = "its mean could turn negative", identity = negative_mean
    ),
    dpars = list(phi = parameter("log", "dispersion", per_weight = -1, replaced = function(phi) 1 / phi)),
    with_predictors = c(phi = "inverse_gaussian_log_shape")
  ),
  tweedie = list(
    links = c(log = "tweedie"), response = non_negative_response, example = c(0, 2, 1), draw = tweedie_draw,
    parameters = list(
      # so wide that its unit, which changes with the power, does not pull the power
      dispersion = positive(tweedie_start, also = "phi", per_weight = 1, weak_sd = 10),
      power = in_interval("one_to_two", start = 1.5, lower = 1.01, upper = 1.99)
    ),
    point = 0,
    dpars = list(phi = parameter("log", "dispersion", per_weight = 1)),
    with_predictors = c(phi = "tweedie_log_dispersion")
  ),
  exponential = list(
    links = c(log = "exponential"), censored = c(log = "exponential"), response = positive_response,
    example = c(1, 2, 1)
  ),
  weibull = list(
    links = c(log = "weibull"), censored = c(log = "weibull"), response = positive_response,
    example = c(1, 2, 1), parameters = list(shape = positive(weibull_start, default = 1)), times = TRUE,
    no_predictor = c(shape = paste(
      "in its accelerated form the evidence bound would not exist, because the mean of exp(-shape eta) is infinite",
      "when the logarithm of the shape is Gaussian. Use the proportional-hazards form, weibull(form = \"ph\")"
    ))
  ),
  weibull_ph = list(
    links = c(log = "weibull_ph"), censored = c(log = "weibull_ph"), response = positive_response,
    example = c(1, 2, 1), parameters = list(shape = positive(weibull_ph_start, default = 1)), times = TRUE,
    options = list(reference = check_reference), response_constants = hazard_constants,
    dpars = list(shape = parameter("log", "shape")),
    with_predictors = c(shape = "weibull_ph_log_shape"), censored_with = c(shape = "weibull_ph_log_shape")
  ),
  loglogistic = list(
    links = c(log = "loglogistic"), censored = c(log = "loglogistic"), response = positive_response,
    example = c(1, 2, 1), parameters = list(shape = positive(loglogistic_start, default = 2)), times = TRUE,
    dpars = list(shape = parameter("log", "shape")),
    with_predictors = c(shape = "loglogistic_log_shape"), censored_with = c(shape = "loglogistic_log_shape")
  ),
  lognormal = list(
    links = c(log = "lognormal"), censored = c(log = "lognormal"), response = positive_response,
    example = c(1, 2, 1), parameters = list(sigma = positive(log_spread_start, default = 1, sd = TRUE)), times = TRUE,
    sigma = function(parameters) parameters$sigma,
    dpars = list(sigma = parameter("log", "sigma")),
    with_predictors = c(sigma = "lognormal_log_sigma"), censored_with = c(sigma = "lognormal_log_sigma")
  ),
  beta_family = list(
    links = c(logit = "beta"), response = fraction_response, example = c(0.2, 0.5, 0.4), draw = beta_draw,
    parameters = list(precision = positive(precision_start, default = 1, also = "phi")),
    dpars = list(phi = parameter("log", "precision")),
    with_predictors = c(phi = "beta_log_precision")
  ),
  ordbeta = list(
    links = c(logit = "ordbeta"), response = unit_response, example = c(0, 0.5, 1), draw = ordbeta_draw,
    parameters = list(
      cuts = in_order(cut_starts, labels = function(response) c("cutzero", "cutone")),
      phi = positive(inner_precision_start, default = 1)
    ), point = c(0, 1), linked_mean = FALSE,
    dpars = list(phi = parameter("log", "phi")), with_predictors = c(phi = "ordbeta_log_phi")
  ),
  zero_one_inflated_beta = list(
    links = c(logit = "zero_one_inflated_beta"), response = unit_response, example = c(0, 0.5, 1),
    draw = zero_one_inflated_beta_draw,
    parameters = list(phi = positive(inner_precision_start, default = 1)), point = c(0, 1),
    dpars = list(
      phi = parameter("log", "phi"), zoi = parameter("logit", always = TRUE), coi = parameter("logit", always = TRUE)
    ),
    with_predictors = c(`zoi coi` = "zero_one_inflated_beta", `phi zoi coi` = "zero_one_inflated_beta_log_phi")
  ),
  beta_binomial = list(
    links = c(logit = "beta_binomial"), response = binomial_response, example = c(0, 1, 1), draw = beta_binomial_draw,
    parameters = list(precision = positive(binomial_precision_start, default = 1, also = "phi")),
    dpars = list(phi = parameter("log", "precision")),
    with_predictors = c(phi = "beta_binomial_log_precision")
  ),
  stochastic_volatility = list(
    links = c(log = "stochastic_volatility"), response = volatility_response, example = c(1, -1, 0),
    scale = volatility_scale, volatility = TRUE
  ),
  cumulative = ordinal_family(
    c(
      logit = "cumulative_logit", probit = "cumulative_probit", cloglog = "cumulative_cloglog",
      loglog = "cumulative_loglog", cauchit = "cumulative_cauchit"
    ),
    thresholds = in_order(threshold_starts),
    scaled = c(logit = "cumulative_logit_log_disc", probit = "cumulative_probit_log_disc")
  ),
  sratio = ordinal_family(
    c(
      logit = "sequential_logit", probit = "sequential_probit", cloglog = "sequential_cloglog",
      loglog = "sequential_loglog", cauchit = "sequential_cauchit"
    ),
    thresholds = free_numbers(stopping_starts),
    scaled = c(logit = "sequential_logit_log_disc", probit = "sequential_probit_log_disc")
  ),
  # F(eta - threshold) = 1 - G(threshold - eta), where G is F of a variable with the opposite sign
  cratio = ordinal_family(
    c(
      logit = "sequential_logit", probit = "sequential_probit", cloglog = "sequential_loglog",
      loglog = "sequential_cloglog", cauchit = "sequential_cauchit"
    ),
    thresholds = free_numbers(continuing_starts),
    scaled = c(logit = "sequential_logit_log_disc", probit = "sequential_probit_log_disc")
  ),
  acat = ordinal_family(
    c(logit = "adjacent_category"), thresholds = free_numbers(adjacent_starts),
    scaled = c(logit = "adjacent_category_log_disc")
  ),
  categorical = list(
    links = c(logit = "categorical"), response = class_or_counts_response, example = c("a", "b", "c"),
    options = list(refcat = check_refcat), latents = categorical_latents, constants = categorical_constants
  ),
  stick_breaking = list(
    links = c(logit = "stick_breaking"), response = class_response, example = c("a", "b", "c"),
    latents = function(levels, family) levels[-length(levels)],
    constants = function(levels, family) list(classes = length(levels))
  )
), zero_families()), complete_family)

# The parameters that have a linear predictor whether or not there is a formula.
always_predicted <- function(family) names(Filter(function(dpar) dpar$always, family_type(family)$dpars))

# Names of the functions that make families.
family_words <- c(
  setdiff(grep("^(zero_inflated|hurdle)_", names(family_types), invert = TRUE, value = TRUE), "weibull_ph"),
  "zero_inflated", "hurdle", "cox"
)

# The entry of a family; one that is not in the table, or has another likelihood, makes its own.
family_type <- function(family) {
  entry <- if (!is_of_stages(family)) family_types[[family$family]]
  if (is.null(entry)) complete_family(own_family_type(family)) else entry
}

own_family_type <- function(family) UseMethod("own_family_type")
# A parameter with a predictor has a family of its own, with no facts.
#' @export
own_family_type.default <- function(family) list()

# The core's likelihood for each set of parameters that may have predictors with the family's link, named by the set.
predicted_likelihoods <- function(family) {
  known <- vapply(family_type(family)$with_predictors, function(likelihood) {
    if (is.null(names(likelihood))) likelihood else unname(likelihood[family$link])
  }, "")
  known[!is.na(known)]
}

# Facts of links. same_units: is eta in units of the response? rates: does an offset multiply the mean? odds: is eta
# the logarithm of odds? hazards: of a cumulative hazard? positive: is the mean above 0 and without an upper end? scale:
# that of the predictor, unless the family states its own; by default it is around 0 with spread 1. functions: linkfun,
# linkinv and mu.eta of a link that base R lacks.
# `threshold_variance`: of T where P(success | eta) = P(T < eta). of_logs(log_mean, log_rest): the link of a mean from
# log(mean) and log(1 - mean), which keep their digits where the mean overflows or is close to 0 or 1.
link_types <- list(
  identity = list(same_units = TRUE, scale = units_scale),
  log = list(rates = TRUE, positive = TRUE, scale = rate_scale, of_logs = function(log_mean) log_mean),
  logit = list(
    odds = TRUE, threshold_variance = pi^2 / 3, of_logs = function(log_mean, log_rest) log_mean - log_rest
  ),
  probit = list(threshold_variance = 1, of_logs = function(log_mean, log_rest) {
    low <- normal_quantile(pmin(log_mean, log_rest))
    ifelse(log_mean < log_rest, low, -low)
  }),
  # not rates: an offset adds to eta, and so to large means; it does not multiply them
  softplus = list(
    positive = TRUE, scale = softplus_scale,
    functions = list(
      linkfun = function(mu) inverse_softplus(log(mu)), linkinv = function(eta) pmax(eta, 0) + log1p(exp(-abs(eta))),
      mu.eta = function(eta) stats::plogis(eta)
    )
  ),
  cloglog = list(
    hazards = TRUE, threshold_variance = pi^2 / 6, of_logs = function(log_mean, log_rest) log_minus_log(log_rest, log_mean)
  ),
  loglog = list(
    threshold_variance = pi^2 / 6, of_logs = function(log_mean, log_rest) -log_minus_log(log_mean, log_rest),
    functions = list(
      linkfun = function(mu) -log(-log(mu)),
      linkinv = function(eta) pmax(pmin(exp(-exp(-eta)), 1 - .Machine$double.eps), .Machine$double.eps),
      mu.eta = function(eta) pmax(exp(-eta - exp(-eta)), .Machine$double.eps)
    )
  ),
  # T has no variance
  cauchit = list(threshold_variance = Inf, of_logs = function(log_mean, log_rest) {
    at <- 1 / tan(pi * exp(pmin(log_mean, log_rest)))
    ifelse(log_mean < log_rest, -at, at)
  })
)

# log(-log(1 - p)) from the logarithms of 1 - p and of p: the latter itself where p is so small that 1 - p has none of
# its digits.
log_minus_log <- function(log_rest, log_p) ifelse(log_p < -18, log_p, log(-log_rest))

# qnorm() of a logarithm, far out in the lower tail too, where a step of Newton's method doubles its digits.
normal_quantile <- function(log_p) {
  x <- stats::qnorm(log_p, log.p = TRUE)
  log_cdf <- stats::pnorm(x, log.p = TRUE)
  step <- (log_cdf - log_p) * exp(log_cdf - stats::dnorm(x, log = TRUE))
  ifelse(is.finite(step), x - step, x)
}

# eta of the logarithm of log(1 + exp(eta)).
inverse_softplus <- function(log_mean) {
  mean <- exp(log_mean)
  ifelse(mean > 1, mean + log1p(-exp(-mean)), log_mean + ifelse(mean > 0, log(expm1(mean) / mean), 0))
}

link_functions <- function(link) {
  own <- link_types[[link]]$functions
  if (is.null(own)) stats::make.link(link)[c("linkfun", "linkinv", "mu.eta")] else own
}

link_has <- function(family, what) isTRUE(link_types[[family$link]][[what]])

# ---- constructors ----
# An argument that is not given does not become a parameter of the object: its start is taken from the data.

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
asymmetric_laplace <- function(quantile = 0.5, scale = 1) {
  own_family("asymmetric_laplace", quantile = quantile, scale = if (!missing(scale)) scale)
}

#' @rdname galvi_family
#' @export
exgaussian <- function(sigma = 1, beta = 1) {
  own_family("exgaussian", sigma = if (!missing(sigma)) sigma, beta = if (!missing(beta)) beta)
}

#' @rdname galvi_family
#' @export
skew_normal <- function(sigma = 1, alpha = 1) {
  own_family("skew_normal", sigma = if (!missing(sigma)) sigma, alpha = if (!missing(alpha)) alpha)
}

#' @rdname galvi_family
#' @export
von_mises <- function(kappa = 1) own_family("von_mises", kappa = if (!missing(kappa)) kappa)

#' @rdname galvi_family
#' @export
negbinomial <- function(size = 1) own_family("negbinomial", size = if (!missing(size)) size)

#' @rdname galvi_family
#' @export
nbinom1 <- function(phi = 1) own_family("nbinom1", phi = if (!missing(phi)) phi)

#' @rdname galvi_family
#' @export
compois <- function(nu = 1) own_family("compois", nu = if (!missing(nu)) nu)

#' @rdname galvi_family
#' @export
geometric <- function() negbinomial(fixed(1))

#' @rdname galvi_family
#' @export
tweedie <- function(power = learn(1.5), dispersion = 1) {
  own_family("tweedie", power = if (!missing(power)) power, dispersion = if (!missing(dispersion)) dispersion)
}

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
ordbeta <- function(phi = 1, cuts = NULL) own_family("ordbeta", phi = if (!missing(phi)) phi, cuts = cuts)

#' @rdname galvi_family
#' @export
zero_one_inflated_beta <- function(phi = 1) own_family("zero_one_inflated_beta", phi = if (!missing(phi)) phi)

#' @rdname galvi_family
#' @export
beta_binomial <- function(precision = 1) {
  own_family("beta_binomial", precision = if (!missing(precision)) precision)
}

#' @rdname galvi_family
#' @export
stochastic_volatility <- function() own_family("stochastic_volatility")

#' @rdname galvi_family
#' @export
cumulative <- function(link = "logit", thresholds = NULL) ordered_family("cumulative", link, thresholds)

#' @rdname galvi_family
#' @export
sratio <- function(link = "logit", thresholds = NULL) ordered_family("sratio", link, thresholds)

#' @rdname galvi_family
#' @export
cratio <- function(link = "logit", thresholds = NULL) ordered_family("cratio", link, thresholds)

#' @rdname galvi_family
#' @export
acat <- function(link = "logit", thresholds = NULL) ordered_family("acat", link, thresholds)

#' @rdname galvi_family
#' @export
categorical <- function(refcat = NA) own_family("categorical", refcat = refcat)

#' @rdname galvi_family
#' @export
stick_breaking <- function() own_family("stick_breaking")

#' @rdname galvi_family
#' @export
zero_inflated <- function(base = "poisson") zero_family("zero_inflated", base)

#' @rdname galvi_family
#' @export
hurdle <- function(base = "poisson") zero_family("hurdle", base)

zeros_name <- function(kind, base) paste(kind, tolower(base), sep = "_")
has_zeros_form <- function(kind, base) zeros_name(kind, base) %in% names(family_types)

# The parameters of the base are kept.
zero_family <- function(kind, base) {
  base <- as_galvi_family(base, arg = "base")
  if (!has_zeros_form(kind, base$family)) {
    known <- grep(paste0("^", kind), names(family_types), value = TRUE)
    stop_galvi("family", sprintf(
      "`base` of %s() must be one of %s, not %s.", kind,
      quote_names(sub(paste0(kind, "_"), "", known, fixed = TRUE), "\""), base$family
    ))
  }
  set_parameters(family_by_name(zeros_name(kind, base$family), base$link, "base"), base$parameters)
}

#' What core_facts$likelihood has of the fit's likelihood, a list
#' @noRd
facts_of <- function(fit) {
  # a predictor alone, whose parameter has the place of the response
  if (!is.null(fit$parameter)) return(list(classes = 0L, discrete = FALSE, separable = TRUE))
  facts_of_family(fit$family, fit$model)
}

facts_of_family <- function(family, model) UseMethod("facts_of_family")
#' @export
facts_of_family.default <- function(family, model) {
  facts <- core_facts$likelihood
  facts <- lapply(facts, `[`, match(model$likelihood$type, facts$type))
  if (!isTRUE(model$likelihood$truncated)) return(facts)
  facts[c("conjugate", "closed_form", "log_concave")] <- list(FALSE, FALSE, facts$truncated_concave)
  facts
}

#' Estimates of a likelihood's parameter, such as the size of negbinomial or the thresholds of cumulative
#' @noRd
family_parameter <- function(fit, name) fit$posterior$hyper[fit$model$likelihood$hyper[[name]]]

#' All of them, as functions of an entry of family_types take them
#' @noRd
family_parameters <- function(fit) {
  lapply(fit$model$likelihood$hyper, function(at) fit$posterior$hyper[at])
}

#' One line for headings, such as `binomial (logit link)` or `tweedie (log link, power 1.5)`
#' @noRd
family_label <- function(fit) {
  if (is_mixed(fit$family)) return(mixed_label(fit$family))
  others <- fit$design$others
  links <- c(
    paste(fit$family$link, "link"), sprintf("%s: %s link", names(others), vapply(others, `[[`, "", "link"))
  )
  if (is_cox(fit$family)) return(cox_label(fit))
  options <- Filter(function(x) is.numeric(x) && length(x) == 1L && !is.na(x), fit$family$options)
  shown <- Filter(function(parameter) isTRUE(parameter$shown), family_type(fit$family)$parameters)
  held <- Filter(is_fixed, fit$family$parameters[names(shown)])
  options <- c(options, lapply(held, plain_numbers))
  given <- sprintf("%s %s", names(options), vapply(options, format, ""))
  sprintf("%s (%s)", fit$family$family, paste(c(links, given), collapse = ", "))
}
