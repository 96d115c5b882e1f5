# Hazards, cumulative hazards and restricted means of parametric families of times. Given eta each is monotone in it, as
# a positive response is exp(eta) times a variable whose logarithm has a rising hazard (a log-concave density; of
# loglogistic() too), or a proportional hazard: so limits are quantiles of eta, as of tails.

#' @param what `"hazard"`, `"cumhaz"` or `"rmst"`.
#' @return As predict_tail().
#' @noRd
predict_hazard <- function(what, fit, target, options) {
  name <- sprintf("type = \"%s\"", what)
  check_no_classes(fit, name)
  check_one_latent(fit, name)
  check_times_family(fit, name)
  if (n_predictors(fit) > 1L) {
    stop_galvi("argument", sprintf(
      "%s is not for fits in which %s has a formula too: use type = \"survival\".", name,
      quote_names(names(fit$design$others))
    ))
  }
  if (!is.null(target$averaged)) {
    stop_galvi("argument", sprintf(
      "%s is for given groups: with `re_formula = \"integrate\"` use type = \"survival\".", name
    ))
  }
  if (length(fit$design$known)) {
    stop_galvi("argument", sprintf(
      "%s is not for responses with `%s`: use type = \"survival\".", name, typed_words(fit$design$known)
    ))
  }
  marginals <- latent_marginals(fit, target)
  view <- right_censored_view(fit)
  of_time <- switch(what, hazard = hazard_given, cumhaz = cumulative_hazard_given, rmst = restricted_mean_given)
  columns <- lapply(options$at, function(time) {
    f <- function(view, eta, rows) of_time(view, eta, time)
    list(mean = average_over_eta(view, marginals, f),
      limits = if (options$interval == "credible") limits_of(view, marginals, options$level, f))
  })
  names <- format(options$at, trim = TRUE, digits = 7)
  shape <- c(target$n, length(names))
  of <- function(pick) as.numeric(unlist(lapply(columns, pick)))
  mean <- of(function(column) column$mean)
  if (what == "hazard" && any(is.infinite(unlist(lapply(columns[options$at == 0], `[[`, "mean"))))) {
    warn_galvi("numeric", sprintf(
      "The hazard at time 0 is infinite for %s: %s. Use `times` above 0, or type = \"cumhaz\".", the_family(fit$family),
      "the posterior does not exclude that it falls from there, as with a shape below 1"
    ))
  }
  if (options$interval == "none") return(list(fit = array(mean, shape, list(NULL, names))))
  list(fit = array(
    c(mean, of(function(column) column$limits[, 1L]), of(function(column) column$limits[, 2L])), c(shape, 3L),
    list(NULL, names, c("fit", "lwr", "upr"))
  ))
}

#' Is the response a positive number with a density?
#' @noRd
check_times_family <- function(fit, what) {
  type <- family_type(fit$family)
  if (takes_survival(fit$family) && !link_has(fit$family, "same_units") || identical(type$response, positive_response)) {
    return(invisible())
  }
  stop_galvi("argument", sprintf(
    "%s is for positive times, as of weibull(), exponential(), lognormal(), loglogistic() and Gamma(), not for %s.",
    what, the_family(fit$family)
  ))
}

#' The fit with the likelihood of right-censored times, for what is known of given eta
#' @noRd
right_censored_view <- function(fit) {
  type <- family_type(fit$family)
  likelihood <- fit$model$likelihood
  if (!length(type$censored)) return(fit)
  likelihood$type <- type$censored[[fit$family$link]]
  likelihood$constants <- utils::modifyList(likelihood$constants, survival_constants("right"))
  fit$model$likelihood <- likelihood
  fit
}

#' E f(eta) where f is not a moment that the core knows
#' @param f As in quantiles_of().
#' @noRd
average_over_eta <- function(fit, marginals, f) {
  n <- nrow(marginals$mean)
  if (n == 0L) return(numeric())
  states <- marginal_states(fit, marginals)
  if (inherits(states, "galvi_points")) {
    return(average_points(states, function(state) f(at_hyper(fit, state$hyper), state$mean[, 1L], state$rows)))
  }
  rule <- hermite_rule(32L)
  Reduce(`+`, lapply(states, function(state) {
    view <- at_hyper(fit, state$hyper)
    sd <- sqrt(state$variance[, 1L])
    values <- vapply(rule$node, function(z) f(view, state$mean[, 1L] + sd * z, seq_len(n)), numeric(n))
    state$weight * drop(matrix(values, n) %*% rule$weight)
  }))
}

# ---- given eta ----

# Before it densities are not computed: at 0 they may be infinite.
earliest_time <- 1e-300

log_density_at <- function(fit, eta, time, event) {
  n <- length(eta)
  time <- max(time, earliest_time)
  known <- cbind(lower = rep(time, n), upper = if (event) time else Inf, entry = 0)
  type <- family_type(fit$family)
  if (length(type$censored)) {
    return(response_moment(fit, certain(eta), "log_density", size = rep(1, n), y = rep(time, n), censoring = known))
  }
  if (event) return(response_moment(fit, certain(eta), "log_density", size = rep(1, n), y = rep(time, n)))
  # nodes far out on the left have survival probabilities that doubles cannot hold
  type$log_upper(time, response_moment(fit, certain(eta), "mean"), parameters_of_each(fit, n))
}

# The family's parameters for each of n values of eta, which at points are the rows of the first, of the second, ...
parameters_of_each <- function(fit, n) {
  hyper <- fit$posterior$hyper
  if (!is.matrix(hyper)) return(family_parameters(fit))
  lapply(fit$model$likelihood$hyper, function(at) rep(hyper[, at], each = n / nrow(hyper)))
}

hazard_given <- function(fit, eta, time) {
  if (time == 0) return(hazard_at_zero(fit, eta))
  exp(log_density_at(fit, eta, time, TRUE) - log_density_at(fit, eta, time, FALSE))
}

# Near zero a hazard is at most a power of time: it rises from zero, is constant, or falls from infinity.
hazard_at_zero <- function(fit, eta) {
  first <- hazard_given(fit, eta, earliest_time)
  later <- hazard_given(fit, eta, earliest_time^(2 / 3))
  ifelse(abs(first - later) <= 1e-6 * later, first, ifelse(first > later, Inf, 0))
}

cumulative_hazard_given <- function(fit, eta, time) if (time <= 0) 0 * eta else -log_density_at(fit, eta, time, FALSE)

# The area below the survival curve; in t = time u^3 it is smooth at zero.
restricted_mean_given <- function(fit, eta, time) {
  rule <- legendre_rule(32L)
  Reduce(`+`, Map(function(u, weight) {
    3 * time * u^2 * weight * exp(log_density_at(fit, eta, time * u^3, FALSE))
  }, rule$node, rule$weight))
}
