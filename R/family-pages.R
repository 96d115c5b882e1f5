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
#' | `negbinomial` | `shape`, the size | log |
#' | `Gamma`, `loglogistic`, `weibull(form = "ph")` | `shape` | log |
#' | `inverse.gaussian` | `phi`, the inverse of the dispersion | log |
#' | `tweedie` | `phi`, the dispersion | log |
#' | `beta_family`, `beta_binomial` | `phi`, the precision | log |
#' | `zero_inflated` | `zi`, the probability of an excess zero | logit |
#' | `hurdle` | `hu`, the probability of a zero | logit |
#' | `zero_inflated`, `hurdle` | also the parameter of `negbinomial`, `Gamma` and `lognormal` | log |
#'
#' Without a formula a parameter is one estimated number; `zi` and `hu` then have an intercept, as has `sigma` of
#' `student` if `nu` has a formula. `gaussian`, `lognormal`, `loglogistic` and `weibull(form = "ph")` also take censored
#' responses with two linear predictors.
#'
#' Names of coefficients of such a linear predictor begin with `sigma_`, as in brms, and names of its terms and
#' hyperparameters with `sigma.` (with the name of the parameter in place of `sigma`). Its priors are a list under
#' that name: `prior = list(intercept = normal(0, 5), sigma = list(default = normal(0, 1)))`. The default priors are
#' those of a log or logit link, see [galvi()]. The argument `offset` of `galvi()` belongs to the response; an
#' `offset()` in a formula belongs to that formula. `predict(fit, dpar = "sigma")` predicts the parameter.
#'
#' The approximate posterior treats the linear predictors as independent. The bound may have several maxima, except
#' for hurdle models of `poisson`, `binomial`, `Gamma` and `lognormal`, whose two parts are separate models.
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
#' # excess zeros and overdispersion, each with predictors of its own
#' fit <- galvi(list(count ~ spray, shape ~ spray, zi ~ 1), data = InsectSprays,
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
#' * `gaussian`: `-(y - eta)^2 / (2 variance) - log(2 pi variance) / 2`
#' * `student`: `lgamma((df + 1) / 2) - lgamma(df / 2) - (df + 1) / 2 log(1 + ((y - eta) / scale)^2 / df) -
#'   log(pi df scale^2) / 2`
#' * `laplace`: `-|y - eta| / scale - log(2 scale)`
#' * `asymmetric_laplace`: `-r (quantile - (r < 0)) + log(quantile (1 - quantile) / scale)` with r = (y - eta) / scale
#' * `von_mises`: `kappa cos(y - eta) - log(2 pi I_0(kappa))` with the modified Bessel function I_0
#' * `stochastic_volatility`: `-(eta + y^2 exp(-eta) + log(2 pi)) / 2`
#' * `poisson`: `y eta - exp(eta) - log y!`
#' * `negbinomial`: `y log(m / (m + size)) + size log(size / (m + size)) + lgamma(y + size) - lgamma(size) - log y!`
#'   with m = exp(eta)
#' * `binomial`, y of n: `y log p + (n - y) log(1 - p) + log choose(n, y)` with p = logistic(eta), Phi(eta) or
#'   1 - exp(-exp(eta)) for the links logit, probit and cloglog
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
#' * `cumulative`: `log(F(threshold_y - eta) - F(threshold_(y-1) - eta))` with F logistic or Phi, where the outermost
#'   thresholds are infinite
#' * `categorical`: `eta_y - log sum_c exp(eta_c)`, where eta of a reference level is 0; for a row of counts, the sum of
#'   these over the trials plus the log multinomial coefficient
#' * `stick_breaking`: `log logistic(eta_y) + sum_(c < y) log logistic(-eta_c)`, without the first term for the last
#'   class
#'
#' @references
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
