# What a user may give for a parameter: a starting value, a fixed value or a prior.

#' Priors, fixed values and starting values of parameters
#'
#' These functions describe what is known about a parameter of a kernel, a family or a term, or about a fixed effect. In
#' kernels, families and terms a number is a starting value, `fixed()` sets a value that is not estimated, and a prior
#' makes the estimate a posterior mode (a penalised estimate). In the argument `prior` of [galvi()] the standard
#' deviation of a fixed effect is fixed where it is a number, and `learn()` estimates it.
#'
#' | constructor | density |
#' |:--|:--|
#' | `normal(mean, sd)` | a coefficient is normal |
#' | `student_t(df, location, scale)`, `cauchy(location, scale)` | a coefficient has heavier tails |
#' | `double_exponential(location, scale)` | a coefficient is Laplace distributed, as under the Bayesian lasso |
#' | `horseshoe(df, scale_global, ..)` | slopes have the regularised horseshoe: most are near zero, a few are large |
#' | `log_normal(meanlog, sdlog)` | the logarithm of the parameter is normal |
#' | `half_normal(sd)` | the parameter is the absolute value of a normal variable with mean 0 |
#' | `half_student_t(df, scale)`, `half_cauchy(scale)` | the same of Student's t and Cauchy variables |
#' | `pc(upper, prob)` | the standard deviation s = `sqrt(variance)` is exponential with P(s > `upper`) = `prob` |
#' | `pc_range(lower, prob)` | `1 / range` is exponential with P(range < `lower`) = `prob` |
#' | `gamma_prior(shape, rate)` | the precision `1 / variance` is gamma with mean `shape / rate` |
#' | `lkj(eta)` | the density of a correlation matrix R is proportional to `det(R)^(eta - 1)` |
#'
#' `log_normal()` and `half_normal()` describe a positive parameter on the scale on which it is reported: a variance is
#' a variance, and in `prior = list(sd = )` a standard deviation is one. `pc()` (a penalised complexity prior) and `gamma_prior()` are for variances and standard deviations:
#' `pc()` always describes the standard deviation and `gamma_prior()` the precision, whichever is reported.
#' `pc_range()`, the penalised complexity prior of the range of a Matern field in two dimensions, is for the range in
#' [spde()] and for lengthscales of kernels of two inputs. `lkj()` is for the correlations of random effects, see
#' [random-slopes].
#'
#' @section Text and tables:
#' In the argument `prior` a prior may be text in Stan's words, `prior = list(x = "student_t(3, 0, 2.5)", sd =
#' "exponential(1)", cor = "lkj(2)")`. Text has the constructors above and `exponential(rate)`, `gamma(shape, rate)`,
#' `inv_gamma(shape, scale)`, `lognormal(meanlog, sdlog)`, `logistic(location, scale)` (of coefficients) and
#' `constant(value)`, which are functions of other meaning in R. A prior on the whole line that is given to a standard
#' deviation or another positive number is cut at 0: `sd = "student_t(3, 0, 2.5)"` is half-t.
#'
#' All of `prior` may be a table of `brms::set_prior()`, or a data frame with the columns `prior`, `class`, `coef`, `group`
#' and `dpar` and the classes of brms (`b`, `Intercept`, `sd`, `cor`, `sds`, `sdgp`, `lscale`, `sigma`, `shape`, ..) or of
#' glmmTMB (`fixef`, `fixef_zi`, `fixef_disp`, `ranef_sd`, `ranef_cor`). In the classes of glmmTMB text means what it means
#' there, `t(mean, sd, df)` and `gamma(mean, shape)`. Every row must match something in the model. brms' class
#' `Intercept` and rstanarm's `prior_intercept` are `at_means` here. Lists of rstanarm are read too (`normal()`,
#' `student_t()`, `cauchy()`, `laplace()`, `hs()`, `exponential()`, `lkj()`), but not with `autoscale = TRUE`: galvi takes priors
#' as typed, in units of the data. So are lengthscales, but in tables of brms, where their unit is the largest distance
#' between rows (unless the term is `gp(x, scale = FALSE)`), those of class `lscale` are converted. [default_prior()] and
#' [prior_summary()] make such tables, in units of the data.
#'
#' @section Heavy tails:
#' With `student_t()`, `cauchy()`, `double_exponential()` or `horseshoe()` priors of coefficients the posterior is
#' approximated by the best Gaussian distribution, with exact expectations of the log prior density, also in models
#' with a gaussian response, whose posterior is otherwise exact. Where the data determine coefficients it is close to
#' the exact posterior; where a coefficient is shrunk to zero its exact posterior has a peak there that no Gaussian
#' has. With a log-concave likelihood and prior (`double_exponential()`, `logistic`) the bound has one maximum; with
#' the others inference begins at several places. There is no certificate of the gap in either case: it needs a normal
#' prior of every coefficient, by which the bound is strongly concave, and these priors are not strongly log-concave.
#' They do not combine with families that have a linear predictor for each class, [responses()], rows from a source or
#' a cluster.
#'
#' @section Horseshoe:
#' With `horseshoe()` a slope is normal given its own scale, with variance tau^2 l^2 c^2 / (c^2 + tau^2 l^2), where l
#' is half-t with `df` degrees of freedom (Piironen and Vehtari 2017). The scale tau of all slopes is half-t with
#' `df_global` degrees of freedom and `scale_global`; the slab's standard deviation c, beyond which slopes are not
#' plausible, has an inverse gamma prior: c^2 has `df_slab` degrees of freedom and scale `scale_slab`^2. All slopes of
#' a linear predictor with the same `horseshoe()` share tau and c, which are the hyperparameters `horseshoe.global` and
#' `horseshoe.slab`: learned, integrated over or held as others are. `fixed()` sets tau or c, as in
#' `horseshoe(scale_global = fixed(0.1))`, and `scale_slab = Inf` leaves the slab out. Slopes are in units of the data:
#' standardise columns first if one tau is to suit all. The intercept cannot have this prior.
#'
#' The arguments are those of brms, but galvi takes `scale_global` as typed: with brms' `autoscale = TRUE`, its
#' default, it is multiplied by the residual standard deviation sigma where the family has one, and `par_ratio`, the
#' expected number of slopes that are not zero over that of the others, stands for `scale_global = par_ratio /
#' sqrt(n)`. So brms' `horseshoe(par_ratio = 0.1)` is `horseshoe(scale_global = 0.1 * sigma / sqrt(n))` here, with a
#' guess of sigma. Text may have brms' words, `"horseshoe(1)"`, or rstanarm's, `"hs()"`, and an object of
#' `rstanarm::hs()` is read; there, too, scales are multiplied by sigma. `hs_plus()` is not available: use
#' `horseshoe()`, with a smaller `df` for heavier tails.
#'
#' The exact posterior of a slope is a narrow peak at zero beside a wide part, of which a Gaussian has one or the mean
#' of both. Against long runs of Gibbs sampling at known tau and c, with 50 slopes of which 3 are not zero, means are
#' off by at most 0.17 standard deviations, and standard deviations are 0.71 to 0.98 of the exact ones; where all is
#' learned tau is estimated too large, and the shrinkage of small slopes is too weak (means off by at most 0.33, in the
#' median by 0.05 standard deviations). Where tau is a tenth of a slope's standard error or less, and the estimate is about 3
#' to 4 standard errors from zero, the bound has two maxima, at zero and away from it: the higher one is reported,
#' with a note.
#'
#' @section The argument `prior`:
#' One list has the priors of coefficients and of hyperparameters:
#'
#' | entry of the list | of what |
#' |:--|:--|
#' | `x = normal(0, 1)` | the coefficient `x`, or all columns of the factor `x` |
#' | `intercept =`, `default =` | the intercept; all other coefficients |
#' | `sd = half_normal(1)` | the standard deviations of all groups, of `(1 \| g)`, `(1 + x \| g)` and `iid(g)` |
#' | `cor = lkj(2)` | the correlations of all terms `(1 + x \| g)` |
#' | `"(1 \| g)" = list(sd = half_normal(1))` | the standard deviation of one term |
#' | `"(1 + x \| g)" = list(sd = list(x = pc(1)), cor = lkj(2))` | those of one term, by effect |
#' | `"gp(x)" = list(lengthscale = log_normal(0, 1), sd = half_normal(3))` | hyperparameters of a term |
#' | `sigma = half_normal(3)` | a parameter of the family: `sigma`, `scale`, `shape`, `size`, `precision`, `phi`, .. |
#' | `zi = list(intercept = normal(0, 2), sd = half_normal(1))` | all of these for another linear predictor |
#'
#' Names of hyperparameters are those of `fit$hyper`, of which `gp(x).lengthscale` is a name too; those in brackets,
#' such as `lengthscale[x1]`, may be left to stand for all. Where the table has a variance, `sd` (and `sigma` of
#' `gaussian()`) is its square root, and the prior is that of the square root. A number holds the parameter at this
#' value, `learn()` sets its starting value. What is given for one term goes before what is given for all.
#'
#' Constructors of this page that are typed inside `prior =` are always those of galvi, whatever packages are attached.
#'
#' @details
#' With `hyper = "optimise"` the estimate maximises the bound plus the log prior density of the logarithm of the
#' parameter, so it does not depend on whether a variance or a standard deviation is reported. In the joint posterior,
#' from which standard deviations and intervals come, and with `hyper = "integrate"` the prior enters in the usual way.
#' Hyperparameters without a prior have a weak one there, see [galvi()].
#'
#' @param mean Mean of the coefficient, a number.
#' @param sd Standard deviation, positive. In `normal()` a number is fixed, and `Inf` is a flat prior (not in models
#'   with a full [gp()]). `learn()` or a prior estimates one standard deviation for each variable (automatic relevance
#'   determination); all columns of a factor share one. In `half_normal()` it is that of the normal variable.
#' @param df Degrees of freedom, positive; in `horseshoe()` those of the slopes' own scales, at least 0.1.
#' @param scale_global,df_global Scale and degrees of freedom of the half-t prior of tau, the scale that slopes share; or
#'   `fixed()` of tau.
#' @param scale_slab,df_slab Scale and degrees of freedom of the prior of c, the slab's standard deviation; or `fixed()` of c,
#'   or `Inf` for none.
#' @param location,scale Location, and scale, positive: the standard deviation of `student_t()` is larger, `scale * sqrt(df
#'   / (df - 2))`, and that of `double_exponential()` is `scale * sqrt(2)`.
#' @param value The fixed value: a number, a numeric vector for parameters with several values, such as thresholds or
#'   lengthscales with `ard = TRUE`, or a matrix for loadings.
#' @param start The starting value, a positive number.
#' @param meanlog,sdlog Mean and standard deviation of the logarithm of the parameter.
#' @param upper A positive number that the standard deviation exceeds with probability `prob`.
#' @param prob A probability above 0 and below 1.
#' @param lower A positive number, in units of the coordinates: the range is smaller with probability `prob`.
#' @param shape,rate Shape and rate of the gamma distribution of `1 / variance`, positive.
#' @param eta A positive number: 1 is uniform over correlation matrices, larger values prefer weak correlations.
#' @return A list of class `galvi_value`, for use in kernels, families, terms and `prior`.
#' @section Errors:
#' `galvi_error_prior` for invalid arguments. A prior that is not suitable for a parameter is an error of the kernel,
#' family or term that it is given to.
#' @references
#' Lewandowski, D., Kurowicka, D. and Joe, H. (2009). Generating random correlation matrices based on vines and extended
#' onion method. *Journal of Multivariate Analysis* 100, 1989-2001 (`lkj`).
#'
#' Piironen, J. and Vehtari, A. (2017). Sparsity information and regularization in the horseshoe and other shrinkage
#' priors. *Electronic Journal of Statistics* 11, 5018-5051 (`horseshoe`).
#'
#' Simpson, D., Rue, H., Riebler, A., Martins, T. G. and Sorbye, S. H. (2017). Penalising model component complexity: a
#' principled, practical approach to constructing priors. *Statistical Science* 32, 1-28 (`pc`).
#'
#' Fuglstad, G.-A., Simpson, D., Lindgren, F. and Rue, H. (2019). Constructing priors that penalize the complexity of
#' Gaussian random fields. *Journal of the American Statistical Association* 114, 445-452 (`pc_range`).
#' @family kernels and priors
#' @examples
#' # shrinkage priors for slopes, a wider prior for the intercept
#' fit <- galvi(mpg ~ wt + hp + qsec, data = mtcars,
#'              prior = list(intercept = normal(20, 20), default = normal(0, sd = learn(1))))
#' fit$prior
#' fit$hyper
#'
#' # text in Stan's words, and slopes with heavy tails
#' priors <- list(default = "student_t(3, 0, 2.5)", sigma = "exponential(0.2)")
#' galvi(mpg ~ wt + hp, data = mtcars, prior = priors)
#'
#' # most slopes near zero, and no limit for large ones: tau is expected to be near 0.5 mpg for a
#' # standard deviation of a column
#' fit <- galvi(mpg ~ ., data = data.frame(mpg = mtcars$mpg, scale(mtcars[-1])),
#'              prior = horseshoe(scale_global = 0.5, scale_slab = Inf))
#' fit$hyper
#'
#' # a random intercept whose standard deviation exceeds 100 with probability 0.01
#' galvi(Reaction ~ Days + iid(Subject, variance = pc(100, 0.01)), data = sleepstudy)
#'
#' # a fixed lengthscale, and a prior of the noise variance
#' galvi(dist ~ gp(speed, kernel = se(lengthscale = fixed(10))), data = cars,
#'       family = galvi_family("gaussian", variance = log_normal(log(200), 1)))
#' @name priors
NULL

new_value <- function(type, ...) {
  structure(list(type = type, ...), class = c(paste0("galvi_", type), "galvi_value"))
}

#' @rdname priors
#' @export
normal <- function(mean = 0, sd = 1) {
  if (!is_value(sd)) check_number(sd, "sd", 0, open_lower = TRUE, infinite = TRUE, what = "prior")
  if (is_normal(sd)) {
    stop_galvi("prior", "`sd` must be a positive number, learn() or a prior of such numbers, not normal().")
  }
  mean <- check_number(mean, "mean", what = "prior")
  most <- 1e100 # squares of larger numbers are no numbers
  if (abs(mean) > most) stop_galvi("prior", sprintf("`mean` must lie between -1e100 and 1e100, not %s.", format(mean)))
  if (is.numeric(sd) && (is.finite(sd) && sd > most || sd < 1 / most)) {
    stop_galvi("prior", sprintf(
      "`sd` must lie between 1e-100 and 1e100, or be Inf for a flat prior, not %s.", format(sd)
    ))
  }
  new_value("normal", mean = mean, sd = sd)
}

#' @rdname priors
#' @export
learn <- function(start = 1) {
  new_value("learn", value = check_number(start, "start", 0, open_lower = TRUE, what = "prior"))
}

#' @rdname priors
#' @export
fixed <- function(value) {
  if (missing(value)) stop_galvi("prior", "fixed() needs a value, as in fixed(2).")
  if (!is.numeric(value) || !length(value) || anyNA(value) || any(!is.finite(value))) {
    stop_galvi("prior", sprintf("`value` of fixed() must be finite numbers, not %s.", describe(value)))
  }
  new_value("fixed", value = if (is.matrix(value)) value + 0 else as.numeric(value))
}

#' @rdname priors
#' @export
log_normal <- function(meanlog = 0, sdlog = 1) {
  new_value("log_normal",
    meanlog = check_number(meanlog, "meanlog", what = "prior"),
    sdlog = check_number(sdlog, "sdlog", 0, open_lower = TRUE, what = "prior")
  )
}

#' @rdname priors
#' @export
half_normal <- function(sd = 1) {
  new_value("half_normal", sd = check_number(sd, "sd", 0, open_lower = TRUE, what = "prior"))
}

#' @rdname priors
#' @export
pc <- function(upper, prob = 0.01) {
  prob <- check_number(prob, "prob", 0, 1, open_lower = TRUE, what = "prior")
  if (prob == 1) stop_galvi("prior", "`prob` must be a probability above 0 and below 1, not 1.")
  if (missing(upper)) stop_galvi("prior", "pc() needs `upper`: pc(1, 0.01) says P(sd > 1) = 0.01.")
  new_value("pc", upper = check_number(upper, "upper", 0, open_lower = TRUE, what = "prior"), prob = prob)
}

#' @rdname priors
#' @export
pc_range <- function(lower, prob = 0.05) {
  prob <- check_number(prob, "prob", 0, 1, open_lower = TRUE, what = "prior")
  if (prob == 1) stop_galvi("prior", "`prob` must be a probability above 0 and below 1, not 1.")
  if (missing(lower)) {
    stop_galvi("prior", "pc_range() needs `lower`: pc_range(10, 0.05) says P(range < 10) = 0.05.")
  }
  new_value("pc_range", lower = check_number(lower, "lower", 0, open_lower = TRUE, what = "prior"), prob = prob)
}

#' @rdname priors
#' @export
gamma_prior <- function(shape = 1, rate = 0.01) {
  new_value("gamma_prior",
    shape = check_number(shape, "shape", 0, open_lower = TRUE, what = "prior"),
    rate = check_number(rate, "rate", 0, open_lower = TRUE, what = "prior")
  )
}

#' @rdname priors
#' @export
lkj <- function(eta = 2) {
  new_value("lkj", eta = check_number(eta, "eta", 0, open_lower = TRUE, what = "prior"))
}

is_value <- function(x) inherits(x, "galvi_value")

is_fixed <- function(x) inherits(x, "galvi_fixed")

is_learned <- function(x) inherits(x, "galvi_learn")

is_normal <- function(x) inherits(x, "galvi_normal")

# Names of the prior constructors.
prior_names <- function() {
  c("normal", "student_t", "cauchy", "double_exponential", "horseshoe", "half_normal", "half_student_t", "half_cauchy",
    "log_normal", "pc", "pc_range", "gamma_prior", "lkj")
}

#' @export
format.galvi_value <- function(x, digits = NULL, ...) {
  refuse_dots(list(...), format.galvi_value, "format()")
  fields <- unclass(x)[-1L]
  values <- vapply(fields, function(f) {
    if (is_value(f)) format(f, digits) else paste(code_number(f, trim = TRUE, digits = digits), collapse = ", ")
  }, "")
  sprintf("%s(%s)", x$type, paste(values, collapse = ", "))
}

#' @export
print.galvi_value <- function(x, digits = NULL, ...) {
  refuse_print_dots(list(...), print.galvi_value)
  cat(format(x, digits), "\n", sep = "")
  invisible(x)
}

#' What the user gave for one positive parameter -> list(value, learned, prior)
#'
#' NULL means `default`. A number is a starting value or, with `number = "hold"`, a fixed value. Some priors are for
#' variances (`variance`) or standard deviations (`sd`) alone.
#' @noRd
as_parameter <- function(x, arg, default = NULL, number = c("start", "hold"), lower = 0, zero_ok = FALSE,
                         variance = TRUE, sd = FALSE, infinite = FALSE, what = "prior") {
  number <- match.arg(number)
  if (is.null(x)) {
    if (is.null(default)) stop_galvi(what, sprintf("`%s` has no default: give a number or fixed().", arg))
    x <- default
  }
  if (!is_value(x)) {
    value <- check_number(x, arg, lower, open_lower = TRUE, infinite = infinite, what = what)
    return(list(value = value, learned = number == "start", prior = NULL))
  }
  if (is_fixed(x)) {
    if (length(x$value) != 1L || x$value < lower || (x$value == lower && !zero_ok)) {
      stop_galvi(what, sprintf(
        "`%s` must be %s, not %s.", arg,
        if (zero_ok) "a number that is not negative" else "a positive number", format(x)
      ))
    }
    return(list(value = x$value, learned = FALSE, prior = NULL))
  }
  if (is_learned(x)) return(list(value = x$value, learned = TRUE, prior = NULL))
  if (is_coefficient_prior(x)) {
    stop_galvi(what, sprintf(
      "`%s` is positive, and %s() is a prior of coefficients: use log_normal() or half_normal()%s.", arg, x$type,
      if (is_normal(x) && x$mean == 0 && is.numeric(x$sd) && is.finite(x$sd)) {
        sprintf(", here half_normal(%s)", code_number(x$sd))
      } else ""
    ))
  }
  of <- fact("hyper_prior", x$type, "of")
  if (of == "correlation") {
    stop_galvi(what, sprintf(
      "`%s` is positive, and %s() is a prior of correlations: use log_normal() or half_normal().", arg, x$type
    ))
  }
  if ((variance || sd) && of == "range") {
    stop_galvi(what, sprintf(
      "`%s` is not a range, and %s() is a prior of ranges: use pc(), half_normal() or log_normal().", arg, x$type
    ))
  }
  if (!variance && !sd && of == "variance") {
    stop_galvi(what, sprintf(
      "`%s` is not a variance, and %s() is a prior of variances: use log_normal() or half_normal()%s.", arg, x$type,
      if (arg == "df") ", or in galvi() prior = list(nu = \"gamma(2, 0.1)\")" else ""
    ))
  }
  prior <- c(unclass(x), if (sd) list(quantity = "sd"))
  list(value = prior_centre(prior), learned = TRUE, prior = prior)
}

is_rstanarm_prior <- function(x) {
  is.list(x) && !is.object(x) && is.character(x$dist) && length(x$dist) == 1L
}
