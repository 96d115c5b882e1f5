# Families of other packages: the corresponding family of ours, with the parameters that they fix, or why there is none.

translation <- function(name) {
  # one search for all, as most names have none
  if (!grepl(translated_names, name, ignore.case = TRUE, perl = TRUE)) return(NULL)
  for (entry in family_translations) if (grepl(entry$pattern, name, ignore.case = TRUE)) return(entry)
  NULL
}

# A family object of another package, by its name and link.
translate_family <- function(x, link, arg) {
  name <- x$family[1L]
  check_links_of_others(x)
  entry <- translation(name)
  if (is.null(entry)) {
    return(family_by_name(name, if (is.null(link)) x$link[1L] else link, arg))
  }
  if (is.null(link)) link <- if (is.null(entry$link)) x$link[1L] else entry$link
  family <- set_parameters(family_by_name(entry$family, link, arg), entry$parameters)
  if (is.null(entry$carry)) family else set_parameters(family, entry$carry(x))
}

# Families of brms have the links of all their parameters, link_sigma for example. Here a formula has the usual one.
usual_links <- c(
  sigma = "log", shape = "log", phi = "log", kappa = "log", disc = "log", beta = "log", nu = "logm1", alpha = "identity",
  zi = "logit", hu = "logit", zoi = "logit", coi = "logit"
)

check_links_of_others <- function(x) {
  links <- unlist(unclass(x)[paste0("link_", names(usual_links))])
  other <- links[links != usual_links[sub("^link_", "", names(links))]]
  if (!length(other)) return(invisible())
  stop_galvi("family", sprintf(
    "`%s = \"%s\"` of the %s family is not available: a formula of `%s` has the link %s. custom_family() has other links.",
    names(other)[1L], other[[1L]], x$family[1L], sub("^link_", "", names(other)[1L]),
    usual_links[[sub("^link_", "", names(other)[1L])]]
  ))
}

#' What to write for a family whose function was not found, in a sentence
#' @noRd
family_hint <- function(name) {
  known <- translation(name)
  ours <- if (!is.null(known)) known$family else if (tolower(name) %in% tolower(family_words)) {
    family_words[match(tolower(name), tolower(family_words))]
  }
  if (!is.null(ours)) {
    link <- if (is.null(get0(ours, mode = "function"))) "" else if (ours == "Gamma") "\"log\""
    return(sprintf("In galvi it is %s(%s).", ours, paste0(link, "")))
  }
  refused <- refused_families
  hit <- which(vapply(names(refused), grepl, NA, x = name, ignore.case = TRUE))
  if (length(hit)) return(sprintf("The %s family is not available: %s.", name, refused[[hit[1L]]]))
  names_hint(name, c(family_words, "galvi_family"), "Families")
}

#' What to write for a link that binomial() of base R does not have, where ours has it
#' @noRd
link_hint <- function(message) {
  link <- matched(".*\\W(\\w+)\\W link not .*", message)
  able <- Filter(function(name) any(link %in% names(family_types[[name]]$links)), c("binomial", "poisson", "Gamma"))
  if (!length(able)) return("")
  paste0(" Base R does not have it: write ",
    paste0("galvi_family(\"", able, "\", link = \"", link, "\")", collapse = " or "), ".")
}

# Families of VGAM are objects of S4.
vgam_name <- function(x) {
  if (!isS4(x) || !inherits(x, "vglmff")) return(NULL)
  attr(x, "vfamily")[1L]
}

refuse_family <- function(name, arg) {
  refused <- refused_families
  hit <- which(vapply(names(refused), grepl, NA, x = name, ignore.case = TRUE))
  available <- family_words
  if (length(hit)) {
    stop_galvi("family", sprintf("The %s family is not available: %s.", name, refused[[hit[1L]]]))
  }
  stop_galvi("family", sprintf(
    "`%s` must be one of %s, not \"%s\".%s", arg, quote_names(available, max = 60L), name,
    did_you_mean(name, c(available, "bernoulli", "geometric"))
  ))
}

# ---- parameters of other objects ----

# mgcv's extended families: their parameters on the natural scale, and whether they are fixed.
mgcv_parameters <- function(x) {
  if (!is.function(x$getTheta)) return(NULL)
  known <- tryCatch(x$getTheta(TRUE), error = function(e) x$getTheta())
  list(value = as.numeric(known), held = is.null(x$n.theta) || x$n.theta == 0)
}

# MASS::negative.binomial(theta) keeps theta in the environment of its functions, and glm.nb() its estimate in the same
# place. A variance that takes theta as an argument, as that of glmmTMB's nbinom2(), has there what a fit has left.
carry_size <- function(x) {
  known <- mgcv_parameters(x)
  if (!is.null(known)) return(list(size = if (known$held) fixed(known$value)))
  own <- is.function(x$variance) && !"theta" %in% names(formals(x$variance))
  theta <- if (own) get0(".Theta", environment(x$variance), inherits = FALSE)
  if (!is.numeric(theta)) return(list())
  inform_galvi("family", sprintf(paste(
    "The size is fixed at %s, the theta of negative.binomial(), which is an estimate where the family is that of a fit.",
    "family = negbinomial() learns it."
  ), format(theta)))
  list(size = fixed(theta))
}

carry_thresholds <- function(x) {
  known <- mgcv_parameters(x)
  list(thresholds = if (!is.null(known) && known$held) fixed(known$value))
}

# Thresholds of brms' ordinal families.
carry_flexible <- function(x) list(thresholds = free_thresholds(x$threshold, x$family[1L]))

# `threshold` of brms and ordinal, which R takes for our `thresholds`: a word, by default "flexible". Equidistant and
# other constrained ones have no counterpart.
free_thresholds <- function(thresholds, family) {
  if (identical(thresholds, "flexible")) return(NULL)
  if (!isTRUE(thresholds %in% c("equidistant", "sum_to_zero", "symmetric", "symmetric2"))) return(thresholds)
  stop_galvi("family", sprintf(
    "%s() with threshold = \"%s\" is not available: use %s(), whose thresholds are free.", family, thresholds, family
  ))
}

# Other packages learn the degrees of freedom unless they are fixed. scat() keeps its min.df where getTheta() finds it.
carry_student <- function(x) {
  known <- mgcv_parameters(x)
  if (is.null(known) || !known$held) {
    least <- if (is.function(x$getTheta)) get0(".min.df", environment(x$getTheta), inherits = FALSE)
    if (is.numeric(least)) {
      inform_galvi("family", sprintf(paste(
        "mgcv's scat() keeps the degrees of freedom above min.df = %s, and galvi learns them without a lower limit.",
        "For a prior that makes smaller ones improbable write family = student(df = log_normal(log(%s), 0.5))."
      ), format(least), format(3 * least)))
    }
    return(list(df = 4))
  }
  list(df = fixed(known$value[1L]), scale = fixed(known$value[2L]))
}

carry_precision <- function(x) {
  known <- mgcv_parameters(x)
  list(precision = if (!is.null(known) && known$held) fixed(known$value))
}

# mgcv's Tweedie(p) keeps p in the environment of its functions, tw() as nb() its theta; others learn the power.
carry_power <- function(x) {
  known <- mgcv_parameters(x)
  if (!is.null(known)) return(list(power = if (known$held) fixed(known$value) else learn(known$value)))
  p <- if (is.function(x$variance)) get0("p", environment(x$variance), inherits = FALSE)
  list(power = if (is.numeric(p)) fixed(p))
}

# ---- the tables ----

# pattern: matches their `$family`, ignoring case. parameters: those that the name implies; carry(x): those of the
# object. link: ours, if theirs has another name.
family_translations <- list(
  list(pattern = "^bernoulli$", family = "binomial"),
  list(pattern = "^geometric$", family = "negbinomial", parameters = list(size = fixed(1))),
  list(pattern = "^negative.?binomial|^neg_binomial(_2)?$|^negbinomial2?$|^nb$|^negbin$|^nbinom(2|ial)?$|^NBI$",
    family = "negbinomial",
    carry = carry_size),
  # GAMLSS' NBII has its log sigma = log phi
  list(pattern = "^neg_?binomial_?1$|^NBII$", family = "nbinom1", link = "log"),
  list(pattern = "^compois$", family = "compois", link = "log"),
  list(pattern = "^tw$|^tweedie([(].*[)])?$", family = "tweedie", carry = carry_power),
  list(pattern = "^ordered categorical|^ocat$", family = "cumulative", link = "logit",
    carry = carry_thresholds),
  list(pattern = "^cumulative$", family = "cumulative", carry = carry_flexible),
  list(pattern = "^sratio$", family = "sratio", carry = carry_flexible),
  list(pattern = "^cratio$", family = "cratio", carry = carry_flexible),
  list(pattern = "^acat$", family = "acat", carry = carry_flexible),
  list(pattern = "^scaled t|^scat$|^student$|^t$", family = "student", carry = carry_student),
  list(pattern = "^beta regression|^beta$|^betar$", family = "beta_family", carry = carry_precision),
  list(pattern = "^exgaussian$|^exgauss$|^exGAUS$", family = "exgaussian"),
  list(pattern = "^skew.?normal$", family = "skew_normal"),
  list(pattern = "^categorical$", family = "categorical", carry = function(x) list(refcat = x$refcat)),
  # its classes are 0, 1, ..., and 0 is the reference
  list(pattern = "^normal$|^NO$|^gaussianff$|^uninormal$", family = "gaussian", link = "identity"),
  list(pattern = "^PO$|^poissonff$", family = "poisson", link = "log"),
  list(pattern = "^BI$|^binomialff$|^logit$", family = "binomial", link = "logit"),
  list(pattern = "^LOGNO$", family = "lognormal", link = "log"),
  list(pattern = "^TF$|^t_family$", family = "student", link = "identity"),
  list(pattern = "^GA$", family = "Gamma", link = "log"),
  list(pattern = "^weibullR?$|^WEI[23]?$", family = "weibull", link = "log"),
  list(pattern = "^multinom$", family = "categorical", link = "logit", carry = function(x) list(refcat = NULL)),
  # brms: a matrix of counts, the first class the reference
  list(pattern = "^multinomial$", family = "categorical", link = "logit",
    carry = function(x) list(refcat = x$refcat)),
  list(pattern = "^ordbeta$|^ord_beta_reg$", family = "ordbeta"),
  list(pattern = "^zero_one_inflated_beta$", family = "zero_one_inflated_beta"),
  list(pattern = "^gamma$", family = "Gamma"),
  list(pattern = "^exponential$", family = "exponential"),
  list(pattern = "^beta.?binomial$|^betabinomial$", family = "beta_binomial"),
  list(pattern = "^weibull_?ph$", family = "weibull_ph", link = "log"),
  # brms has the link of mu, the mean of log(y)
  list(pattern = "^lognormal$", family = "lognormal", link = "log"),
  list(pattern = "^hurdle_lognormal$", family = "hurdle_lognormal", link = "log")
)

translated_names <- paste(vapply(family_translations, `[[`, "", "pattern"), collapse = "|")

# Families without a counterpart: a pattern of the name, and what to use.
refused_families <- c(
  "^(probit|cloglog|cauchit)$" = "it is a link; use binomial() with it, as in binomial(\"probit\")",
  "^polr$|^clmm?2?$|^ologit$|^ordered$|^ordinal$" = "use cumulative(), with the link that you need, as in cumulative(\"probit\")",
  "^oprobit$" = "use cumulative(\"probit\")",
  "^betareg$" = "use beta_family()",
  "^survreg$" = "its distributions are families here: use weibull(), exponential(), lognormal() or loglogistic()",
  "^quasibinomial$" = "a quasi family has no likelihood; use beta_binomial() for overdispersed proportions",
  "^quasipoisson$" = "a quasi family has no likelihood; use negbinomial() for overdispersed counts",
  "^quasi" = "a quasi family has no likelihood",
  "^gaulss$" = "its standard deviation has a formula, so write list(y ~ x, sigma ~ x) and use gaussian()",
  "^gammals$" =
    "its scale, 1 / shape, has a formula, so write list(y ~ x, shape ~ x) and use Gamma(\"log\")",
  "^twlss$" = "its dispersion has a formula, so write list(y ~ x, phi ~ x) and use tweedie()",
  "^shash$" = "galvi does not have its likelihood; use skew_normal() for skewed responses, student() for heavy tails",
  "^gumbls$" = "galvi does not have its likelihood; custom_family() takes its log density",
  "^cnorm$|^censored normal$" =
    "write the left side as survival::Surv(lower, upper, type = \"interval2\") and use gaussian()",
  "^mvn$|^multivariate normal$" =
    "several responses are a left side, so write mvbind(y1, y2) ~ x + set_rescor(TRUE) and use gaussian()",
  "^sst$|^SN1?$" =
    "galvi does not have its likelihood; use student() for outliers, or custom_family()",
  "^gen_extreme|^gev(ff)?$|^gevlss$|^egev" = paste(
    "its range depends on its parameters, and no finite bound exists, as a Gaussian posterior reaches values that the",
    "range forbids; use weibull(), lognormal() or student()"
  ),
  "^shifted_lognormal$|^wiener$" = "galvi does not have its likelihood; use lognormal()",
  "^zero_inflated_beta|^zi_beta" =
    "use zero_one_inflated_beta(), or ordbeta(), which has one linear predictor for zeros and the mean",
  "^mixture$" = "a response has one family; custom_family() takes the log density of a mixture",
  "^frechet" = "galvi does not have its likelihood; use Gamma(\"log\"), lognormal() or loglogistic() for y > 0",
  "^asym_laplace" = "galvi does not learn the quantile; use asymmetric_laplace(quantile = 0.5)",
  "^ziplss$" = paste(
    "it is a hurdle; use hurdle(poisson()) with list(y ~ x, hu ~ z), where `hu` is the probability of zero, by a logit",
    "instead of a complementary log-log link"
  ),
  "^zero inflated poisson$" = paste(
    "its probability of zero depends on the mean of the counts; use hurdle(poisson()), or zero_inflated(poisson()) for",
    "zeros beside those of the counts"
  ),
  "zero.inflated.|^zip" = "galvi does not have its likelihood; use zero_inflated()",
  "^truncated_poisson$" = "write the left side as y | trunc(lb = 1) and use poisson(); with zeros, hurdle()",
  "^truncated_nbinom2$" = "write the left side as y | trunc(lb = 1) and use negbinomial(); with zeros, hurdle()",
  "^truncated_nbinom1$" = "write the left side as y | trunc(lb = 1) and use nbinom1(); with zeros, hurdle()",
  "^hurdle_|^truncated" = "galvi does not have its likelihood; use hurdle()",
  "^com_?poisson" = "its mu is not the mean; compois() is the same distribution with the mean exp(eta)",
  "^genpois" = paste(
    "where it is underdispersed its range depends on the mean, and no finite bound exists, as a Gaussian posterior",
    "reaches values that the range forbids; use compois(), or nbinom1() for overdispersed counts"
  ),
  "^dirichlet" = "galvi does not have its likelihood"
)
