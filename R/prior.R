# Start, hold, learn: what a user may put where a parameter's value goes, and priors.

#' Values and priors of parameters
#'
#' In kernels, families and terms a plain number is where learning *starts*, `fixed()` *holds* a value,
#' and a prior makes the estimate a posterior mode (MAP). In the `prior =` argument of [galvi()], which
#' describes fixed effects, a plain number is held and `learn()` learns it by the bound.
#'
#' | constructor | density |
#' |:--|:--|
#' | `normal(mean, sd)` | of a coefficient: `exp(-(x - mean)^2 / (2 sd^2)) / (sd sqrt(2 pi))` |
#' | `log_normal(meanlog, sdlog)` | `log(x)` is normal with mean `meanlog` and standard deviation `sdlog` |
#' | `half_normal(sd)` | `2 exp(-x^2 / (2 sd^2)) / (sd sqrt(2 pi))`, x >= 0 |
#' | `pc(upper, prob)` | the standard deviation `s = sqrt(variance)` is exponential, P(s > `upper`) = `prob` |
#' | `pc_range(lower, prob)` | `1 / range` is exponential, P(range < `lower`) = `prob`: the penalised complexity prior of a range in the plane |
#' | `gamma_prior(shape, rate)` | the precision `1 / variance` is gamma with mean `shape / rate` |
#' | `lkj(eta)` | of a correlation matrix R: proportional to its determinant to the power `eta - 1` |
#'
#' `log_normal()` and `half_normal()` describe the parameter that they are given to, in its natural scale;
#' `pc()` and `gamma_prior()` belong to variances and to the standard deviations in `normal(0, sd = )` and [spde()],
#' `pc_range()` to the range in [spde()] and to lengthscales of kernels of two inputs.
#' Optimisation runs on the log scale and the densities include its Jacobian, so the mode is the mode of the
#' log of the parameter. `lkj()` belongs to the correlations of random effects, see [random-slopes].
#'
#' @param mean,sd Mean and standard deviation. In `normal()` for the `prior =` argument a number is held; `sd
#'   = learn(1)` (or a prior) learns it together with the other hyperparameters, one for each variable
#'   (automatic relevance determination; the columns of one factor share theirs). `sd = Inf` is a flat prior
#'   (only where no full `gp()` is in the formula).
#' @param value The value to hold.
#' @param start Where learning starts.
#' @param meanlog,sdlog Mean and standard deviation of the logarithm.
#' @param upper,prob The standard deviation exceeds `upper` with probability `prob`.
#' @param lower The range is below `lower` with probability `prob`.
#' @param shape,rate Shape and rate of the gamma distribution of 1 / variance.
#' @param eta Positive; 1 is uniform over correlation matrices, more prefers weak correlations.
#' @return A small list of class `galvi_value`.
#' @examples
#' normal(0, 2.5)
#' normal(0, sd = learn(1))
#' fixed(2)
#' pc(1, 0.01)
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
  new_value("normal", mean = check_number(mean, "mean", what = "prior"), sd = sd)
}

#' @rdname priors
#' @export
learn <- function(start = 1) {
  new_value("learn", value = check_number(start, "start", 0, open_lower = TRUE, what = "prior"))
}

#' @rdname priors
#' @export
fixed <- function(value) {
  if (missing(value)) stop_galvi("prior", "fixed() needs the value to hold: fixed(2).")
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
  if (prob == 1) stop_galvi("prior", "`prob` must be below 1.")
  if (missing(upper)) stop_galvi("prior", "pc() needs `upper`: pc(1, 0.01) says P(sd > 1) = 0.01.")
  new_value("pc", upper = check_number(upper, "upper", 0, open_lower = TRUE, what = "prior"), prob = prob)
}

#' @rdname priors
#' @export
pc_range <- function(lower, prob = 0.05) {
  prob <- check_number(prob, "prob", 0, 1, open_lower = TRUE, what = "prior")
  if (prob == 1) stop_galvi("prior", "`prob` must be below 1.")
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

# Names of the functions here that describe what is not known.
prior_names <- function() hyper_prior_facts()$type

#' @export
format.galvi_value <- function(x, digits = NULL, ...) {
  refuse_dots(list(...), format.galvi_value, "format()")
  fields <- unclass(x)[-1L]
  values <- vapply(fields, function(f) {
    if (is_value(f)) format(f, digits) else paste(format(f, trim = TRUE, digits = digits), collapse = ", ")
  }, "")
  sprintf("%s(%s)", x$type, paste(values, collapse = ", "))
}

#' @export
print.galvi_value <- function(x, digits = NULL, ...) {
  refuse_print_dots(list(...), print.galvi_value)
  cat(format(x, digits), "\n", sep = "")
  invisible(x)
}

#' What the user gave for one positive parameter -> list(value, learned, prior). A NULL means `default`; a
#' number is a start, or held where `number = "hold"`. Some priors need a variance or a standard deviation
#' (`sd`).
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
  if (is_normal(x)) {
    stop_galvi(what, sprintf(
      "`%s` is positive, and normal() is a prior of coefficients: use log_normal() or half_normal().", arg
    ))
  }
  of <- fact(hyper_prior_facts(), x$type, "of")
  if (of == "correlation") {
    stop_galvi(what, sprintf(
      "`%s` is positive, and %s() is a prior of correlations: use log_normal() or half_normal().", arg, x$type
    ))
  }
  if ((variance || sd) && of == "range") {
    stop_galvi(what, sprintf(
      "`%s` is no range, and %s() is a prior of ranges: use pc(), half_normal() or log_normal().", arg, x$type
    ))
  }
  if (!variance && !sd && of == "variance") {
    stop_galvi(what, sprintf(
      "`%s` is not a variance, and %s() is a prior of variances: use log_normal() or half_normal().", arg, x$type
    ))
  }
  prior <- c(unclass(x), if (sd) list(quantity = "sd"))
  list(value = prior_centre(prior), learned = TRUE, prior = prior)
}
