# Generics of draws, of packages rstantools and posterior.

#' @rdname draws
#' @method posterior_linpred galvi
#' @rawNamespace S3method(rstantools::posterior_linpred,galvi)
posterior_linpred.galvi <- function(object, transform = FALSE, newdata = NULL, ndraws = 1000, re_formula = NULL,
                                    dpar = NULL, seed = NULL, ...) {
  refuse_foreign(list(...), "posterior_linpred()")
  re_formula <- one_re_formula(re_formula, list(...))
  ndraws <- asked_draws(ndraws, list(...))
  transform <- check_flag(transform, "transform")
  object <- answering_view(object)
  k <- check_dpar(object, dpar)
  if (is.null(k)) k <- 1L
  own <- if (is_several(object)) seq_len(n_latents(object)) else k
  if (transform && length(own) > 1L) {
    stop_galvi("argument", "`transform = TRUE` is for one linear predictor; posterior_epred() has class probabilities.")
  }
  view <- predictor_view(object, k)
  f <- function(fit, target, eta) {
    eta <- eta[, own, drop = FALSE]
    if (transform) view$family$linkinv(eta) else eta
  }
  over_draws(object, draws_target(object, newdata, re_formula, dots = list(...)), ndraws, f,
    if (length(own) > 1L) latent_names(object), seed)
}

#' @rdname draws
#' @method posterior_epred galvi
#' @rawNamespace S3method(rstantools::posterior_epred,galvi)
posterior_epred.galvi <- function(object, newdata = NULL, ndraws = 1000, re_formula = NULL, dpar = NULL, seed = NULL,
                                  ...) {
  refuse_foreign(list(...), "posterior_epred()")
  re_formula <- one_re_formula(re_formula, list(...))
  ndraws <- asked_draws(ndraws, list(...))
  object <- answering_view(object)
  k <- check_dpar(object, dpar)
  if (!is.null(k) && !is_volatility(object) && !is_mixed(object$family)) {
    parameter_view(object, k)
    return(posterior_linpred.galvi(object, TRUE, newdata, ndraws, re_formula, dpar, seed, ...))
  }
  classes <- has_classes(object)
  f <- function(fit, target, eta) {
    known <- given_latent(fit, target, eta)
    if (classes) return(class_probabilities(fit, known))
    if (is_mixed(object$family)) number_given(fit, eta) else response_mean(fit, known)
  }
  target <- draws_target(object, newdata, re_formula, averages = TRUE, dots = list(...))
  draws <- over_draws(object, target, ndraws, f, if (classes) response_levels(object), seed)
  if (any(is.infinite(draws))) {
    warn_galvi("numeric", paste(
      "Draws of the mean response are infinite, or too large for a number: Inf. posterior_linpred() does not",
      "overflow, and predict(type = \"quantile\") has the median."
    ))
  }
  draws
}

#' @rdname draws
#' @method posterior_predict galvi
#' @rawNamespace S3method(rstantools::posterior_predict,galvi)
posterior_predict.galvi <- function(object, newdata = NULL, ndraws = 1000, re_formula = NULL, seed = NULL, fun = NULL,
                                    ...) {
  refuse_foreign(list(...), "posterior_predict()")
  re_formula <- one_re_formula(re_formula, list(...))
  draws <- response_draws(object, newdata, asked_draws(ndraws, list(...)), re_formula, seed, list(...))
  if (is.null(fun)) draws else match.fun(fun)(draws)
}

#' @param dots As in draws_target().
#' @noRd
response_draws <- function(object, newdata, ndraws, re_formula, seed, dots) {
  if (!is.null(pure_noise(object))) {
    new <- drawn_residuals(object, newdata, re_formula)
    return(over_draws(new$fit, new$target, ndraws, draw_response, seed = seed))
  }
  target <- draws_target(object, newdata, re_formula, tells_size(object, newdata), dots = dots)
  if (is_counts(object)) return(over_draws(object, target, ndraws, draw_response, response_levels(object), seed))
  # levels of an ordinal column among others are numbers from 1
  draw <- if (!is_mixed(object$family)) draw_response else function(fit, target, eta) {
    draw_response(fit, target, eta) + has_classes(fit)
  }
  out <- over_draws(object, target, ndraws, draw, seed = seed)
  warn_large_draws("Drawn responses are", out, "posterior_linpred()")
  if (has_classes(object)) structure(out + 1, levels = response_levels(object)) else out
}

#' @rdname draws
#' @method predictive_interval galvi
#' @rawNamespace S3method(rstantools::predictive_interval,galvi)
predictive_interval.galvi <- function(object, prob = 0.9, ...) {
  if (has_classes(object) && !has_ordered_classes(object)) {
    stop_galvi("argument", "predictive_interval() is for numbers and ordered classes: predict(fit) has probabilities.")
  }
  rstantools::predictive_interval(rstantools::posterior_predict(object, ...), prob = check_level(prob, "prob"))
}

#' @rdname draws
#' @method predictive_error galvi
#' @rawNamespace S3method(rstantools::predictive_error,galvi)
predictive_error.galvi <- function(object, newdata = NULL, re_formula = NULL, ...) {
  if (has_classes(object)) {
    stop_galvi("argument", "predictive_error() is for responses that are numbers: residuals(fit) has those of classes.")
  }
  if (!is.null(object$design$wide) && !is.null(newdata)) {
    stop_galvi("argument", paste(
      "predictive_error() of a fit of responses() is that of its observed entries: `newdata` must be NULL."
    ))
  }
  refuse_foreign(list(...), "predictive_error()")
  re_formula <- one_re_formula(re_formula, list(...))
  target <- draws_target(object, newdata, re_formula, response = TRUE)
  rstantools::predictive_error(rstantools::posterior_predict(object, newdata, ...,
    re_formula = re_formula), y = target$y[kept_rows(target)])
}

#' @rdname draws
#' @method log_lik galvi
#' @rawNamespace S3method(rstantools::log_lik,galvi)
log_lik.galvi <- function(object, newdata = NULL, ndraws = 1000, re_formula = NULL, seed = NULL, ...) {
  refuse_foreign(list(...), "log_lik()")
  re_formula <- one_re_formula(re_formula, list(...))
  ndraws <- asked_draws(ndraws, list(...))
  if (!is.null(newdata) && inherits(object, "galvi_wide")) {
    stop_galvi("argument", paste(
      "log_lik() of a fit of responses() is that of its observed entries: `newdata` must be NULL.",
      "predict(responses = ) takes responses of new units."
    ))
  }
  if (!is.null(pure_noise(object))) return(unit_densities(object, ndraws, re_formula, seed))
  target <- draws_target(object, newdata, re_formula, response = TRUE, dots = list(...))
  over_draws(object, target, ndraws, log_density_given, seed = seed)
}

#' Log densities of the responses of each unit together: draws x units
#' @noRd
unit_densities <- function(fit, ndraws, re_formula, seed) {
  if (!all(pure_noise(fit))) {
    stop_galvi("argument", paste(
      "log_lik() is not for rescor() of gaussian and other responses together: the gaussian ones have no density of",
      "their own given the linear predictors. loo() has predictive densities."
    ))
  }
  view <- answering_view(fit)
  view["noise_of"] <- list(NULL) # all columns at once
  out <- over_draws(view, draws_target(view, NULL, re_formula), ndraws, residual_densities, seed = seed)
  unit <- fit$data[[wide_names[["unit"]]]]
  t(rowsum(t(out), unit, reorder = FALSE))
}

#' @rdname draws
#' @method posterior_interval galvi
#' @rawNamespace S3method(rstantools::posterior_interval,galvi)
posterior_interval.galvi <- function(object, prob = 0.9, pars = NULL, ...) {
  prob <- check_level(prob, "prob")
  hyper <- object$model$hyper
  shown <- which(!in_array(hyper) & hyper$learned)
  theta <- hyper_limits(object, tails(prob))
  out <- rbind(coefficient_limits(object, prob), theta[shown, , drop = FALSE])
  names <- c(coefficient_names(object), hyper$name[shown])
  dimnames(out) <- list(names, paste0(format(100 * tails(prob), trim = TRUE, digits = 3), "%"))
  at <- asked_parameters(names, list(...), pars)
  if (is.null(at)) out else out[at, , drop = FALSE]
}

#' @rdname draws
#' @method as_draws galvi
#' @rawNamespace S3method(posterior::as_draws,galvi)
as_draws.galvi <- function(x, ndraws = 1000, seed = NULL, ...) {
  draws <- shown_draws(x, asked_draws(ndraws, list(...)), seed)
  at <- asked_parameters(colnames(draws), list(...))
  posterior::as_draws_matrix(if (is.null(at)) draws else draws[, at, drop = FALSE])
}

# The default methods of package posterior would take as_draws(x) without the arguments.

#' @rdname draws
#' @method as_draws_matrix galvi
#' @rawNamespace S3method(posterior::as_draws_matrix,galvi)
as_draws_matrix.galvi <- function(x, ...) as_draws.galvi(x, ...)

#' @rdname draws
#' @method as_draws_df galvi
#' @rawNamespace S3method(posterior::as_draws_df,galvi)
as_draws_df.galvi <- function(x, ...) posterior::as_draws_df(as_draws.galvi(x, ...))

#' @rdname draws
#' @method as_draws_list galvi
#' @rawNamespace S3method(posterior::as_draws_list,galvi)
as_draws_list.galvi <- function(x, ...) posterior::as_draws_list(as_draws.galvi(x, ...))

#' @rdname draws
#' @method as_draws_array galvi
#' @rawNamespace S3method(posterior::as_draws_array,galvi)
as_draws_array.galvi <- function(x, ...) posterior::as_draws_array(as_draws.galvi(x, ...))

#' @rdname draws
#' @method as_draws_rvars galvi
#' @rawNamespace S3method(posterior::as_draws_rvars,galvi)
as_draws_rvars.galvi <- function(x, ...) posterior::as_draws_rvars(as_draws.galvi(x, ...))

#' @rdname draws
#' @export
as.matrix.galvi <- function(x, ndraws = 1000, seed = NULL, ...) {
  refuse_dots(list(...), as.matrix.galvi, "as.matrix()", words_for_draws)
  shown_draws(x, asked_draws(ndraws, list(...)), seed)
}

#' @rdname draws
#' @export
as.data.frame.galvi <- function(x, row.names = NULL, optional = FALSE, ndraws = 1000, seed = NULL, ...) {
  refuse_dots(list(...), as.data.frame.galvi, "as.data.frame()", words_for_draws)
  draws <- shown_draws(x, asked_draws(ndraws, list(...)), seed)
  as.data.frame(draws, row.names = row.names, optional = optional)
}

# Draws of all that has a posterior: draws x parameters.
shown_draws <- function(x, ndraws, seed = NULL) {
  if (!is.null(seed)) return(with_seed(seed, shown_draws(x, ndraws)))
  drawn <- drawn_parameters(x, ndraws)
  # what was held has no posterior
  shown <- which(!in_array(x$model$hyper) & !x$model$hyper$name %in% x$hyper$name[x$hyper$status == "fixed"])
  cbind(drawn$coefficients, drawn$hyper[, shown, drop = FALSE])
}

#' Joint draws of the coefficients and of all hyperparameters as users see them
#' @return list(coefficients: ndraws x q, hyper: ndraws x H), with names.
#' @noRd
drawn_parameters <- function(x, ndraws) {
  names <- coefficient_names(x)
  if (is_imputed(x)) {
    drawn <- drawn_from_parts(x, ndraws, function(i, count) do.call(cbind, drawn_parameters(x$fits[[i]], count)))
    at <- seq_len(ncol(drawn)) <= length(names)
    return(list(coefficients = drawn[, at, drop = FALSE], hyper = drawn[, !at, drop = FALSE]))
  }
  with_memory(parameter_draws_size(ndraws, length(names) + length(x$model$hyper$name)), draw_parameters(x, ndraws, names))
}

draw_parameters <- function(x, ndraws, names) {
  plan <- draw_plan(x, ndraws)
  coefficients <- matrix(0, ndraws, length(names), dimnames = list(NULL, names))
  states <- fit_states(x)
  if (has_points(x)) coefficients[] <- fixed_at_points(x)[plan$state, , drop = FALSE]
  for (s in if (length(names) && !has_points(x)) unique(plan$state)) {
    view <- at_state(x, states[[s]])
    at <- which(plan$state == s)
    root <- covariance_root(vcov.galvi(view))
    noise <- matrix(stats::rnorm(ncol(root) * length(at)), ncol(root), length(at))
    coefficients[at, ] <- t(coefficient_means(view) + root %*% noise)
  }
  if (shifts_thresholds(x)) {
    at <- x$model$likelihood$hyper$thresholds
    plan$hyper[, at] <- plan$hyper[, at] + threshold_shift(x, coefficients)
  }
  hyper <- reported_hyper(x$model, plan$hyper)
  colnames(hyper) <- x$model$hyper$name
  list(coefficients = coefficients, hyper = hyper)
}

coefficient_names <- function(fit) rownames(vcov.galvi(fit))

#' Simulate responses from a fit
#'
#' Draws new responses from the posterior predictive distribution: linear predictors from their joint posterior, then a
#' response for each row.
#'
#' @details
#' Hyperparameters are drawn too where the posterior includes them, see [draws]. With several classes the linear
#' predictors of a row are drawn jointly or independently, as described in [coef()][coef.galvi].
#'
#' Rows of one group have the same effects, whether these are kept (`re.form = NULL`) or drawn for a new group. Smooths and
#' processes are kept. New groups are not available for terms with a known matrix, [rr()] and processes by group such as
#' `ou(t | g)`.
#'
#' `DHARMa::simulateResiduals(fit)` uses these simulations.
#'
#' @param object A fit of [galvi()].
#' @param nsim Number of simulated data sets, a positive whole number; 1 by default.
#' @param seed NULL, or a whole number of at least 0 for [set.seed()]; the state of the random number generator is then
#'   restored afterwards.
#' @param newdata A data frame with the variables of the formula, instead of the observations. A binomial response has
#'   as many trials as `newdata` says, see [predict()][predict.galvi]. Rows with missing values
#'   give NA.
#' @param re_formula As in [predict()][predict.galvi]: effects of groups that are left out are zero.
#' @param re.form The random effects to condition on, as in lme4: groups of all others are new ones, whose effects are
#'   drawn for each data set. `NA` or `~0` draws all groups anew, as a parametric bootstrap does; a formula such as
#'   `~ (1 | g)` keeps the effects that it has. NULL, the default here but not in lme4, keeps all.
#' @param ... Must be empty, except for names that lme4 and brms have for arguments of predictions (`allow.new.levels`,
#'   `allow_new_levels`).
#' @return A data frame with columns `sim_1`, ..., `sim_<nsim>` and a row per observation (or row of `newdata`). Each
#'   column is like the response: numeric, integer, logical, text, a factor, or a matrix of two columns for successes
#'   and failures. Survival times are simulated without censoring, and beyond the entry time of truncated rows. The
#'   attribute `seed` is as in [stats::simulate()].
#' @section Errors:
#' `galvi_error_argument` if an argument is not as described; `galvi_error_newdata` if `newdata` lacks a variable.
#' `galvi_warning_numeric`: some responses are too large to be represented, and are `Inf`.
#' @seealso [posterior_predict()][draws], which returns a matrix of draws; [other-packages] for posterior predictive
#'   checks.
#' @family predictions and draws
#' @examples
#' fit <- galvi(count ~ spray, data = InsectSprays, family = poisson())
#' sims <- simulate(fit, 100, seed = 1)
#' sims[1:3, 1:5]
#' # a posterior predictive check: how often are there as many zeros as in the data?
#' mean(colSums(sims == 0) >= sum(InsectSprays$count == 0))
#' # new chicks
#' fit <- galvi(weight ~ Time + (1 | Chick), data = ChickWeight)
#' sims <- simulate(fit, 100, seed = 1, re.form = NA)
#' @importFrom stats simulate
#' @export
simulate.galvi <- function(object, nsim = 1, seed = NULL, newdata = NULL, re_formula = NULL, re.form = NULL, ...) {
  refuse_dots(list(...), simulate.galvi, "simulate()", foreign_prediction_words)
  if (!is.null(re_formula) && !is.null(re.form)) {
    stop_galvi("argument", paste(
      "`re_formula` leaves effects of groups out, and `re.form` draws those of new groups, as lme4 does: give one of",
      "them."
    ))
  }
  nsim <- check_whole(nsim, "nsim")
  kept <- if (is.null(re.form)) kept_effects(object, re_formula) else given_effects(object, re.form)
  target <- draws_target(object, newdata, response = tells_size(object, newdata), kept = kept, dots = list(...))
  simulated <- simulation(seed, simulated_responses(object, target, nsim))
  if (is.null(newdata)) with_places(simulated, object$na.action) else simulated
}

#' Warns of drawn responses that are infinite
#' @param drawn Draws x rows, with the rows' names.
#' @noRd
warn_large_draws <- function(what, drawn, instead) {
  if (!any(is.infinite(drawn))) return(invisible())
  warn_too_large(what, t(drawn), list(names = colnames(drawn)), "they are Inf (or -Inf) there", sprintf(
    "Use %s, which does not overflow, or narrower priors.", instead
  ))
}

#' New responses in columns of a data frame
#' @noRd
simulated_responses <- function(object, target, nsim) {
  kept <- kept_rows(target)
  complete <- which(!is.na(kept))
  classes <- if (is_counts(object)) response_levels(object)
  drawn <- over_draws(object, target, nsim, draw_response, classes)
  if (is.null(classes)) warn_large_draws("Simulated responses are", drawn, "predict(type = \"link\")")
  drawn <- lapply(seq_len(nsim), function(i) {
    if (is.null(classes)) return(unname(drawn[i, complete]))
    matrix(drawn[i, complete, ], length(complete), dimnames = list(NULL, classes))
  })
  draws <- lapply(drawn, function(y) take_rows(as_response(object, target, y), kept))
  names(draws) <- paste0("sim_", seq_len(nsim))
  structure(draws, class = "data.frame", row.names = target$names)
}

#' A data frame of the fitted rows with rows of NA where na.exclude keeps the places of those that were left out
#' @noRd
with_places <- function(frame, na.action) {
  if (!inherits(na.action, "exclude")) return(frame)
  index <- stats::naresid(na.action, stats::setNames(seq_len(nrow(frame)), row.names(frame)))
  out <- lapply(frame, take_rows, unname(index))
  structure(out, class = "data.frame", row.names = names(index), seed = attr(frame, "seed"))
}

#' One response per row, given eta: the family's own draws, or the quantile function at a uniform draw
#' @noRd
draw_response <- function(fit, target, eta) {
  if (!is.null(own <- or_else(custom_draws(fit, eta), family_draws(fit, target, eta)))) return(own)
  given <- with_known(list(mean = eta, variance = matrix(0, nrow(eta), ncol(eta))), target$known)
  if (is_counts(fit)) return(draw_counts(class_probabilities(fit, given),
    if (is.null(target$counts)) target$size else rowSums(target$counts)))
  u <- stats::runif(target$n)
  if (has_classes(fit)) return(as.numeric(rowSums(u > cumulated(class_probabilities(fit, given)))))
  entry <- target$censoring[, "entry"]
  if (any(late <- is_truncated(fit, entry))) {
    before <- response_moment(fit, given, "cdf", y = entry)
    u <- ifelse(late, before + (1 - before) * u, u)
  }
  response_moment(fit, given, "quantile", size = target$size, probability = u)
}

#' Responses of known linear predictors by the family's `draw`, or NULL: where rows are truncated or have weights, it does
#' not say what is drawn
#' @noRd
family_draws <- function(fit, target, eta) {
  type <- if (!is_mixed(fit$family)) family_type(fit$family)
  trials <- trials_of(fit, target)
  if (is.null(type$draw) || !is.null(target$known) || isTRUE(any(target$size != trials))) return(NULL)
  first <- eta[, 1L]
  mean <- if (fit$family$link == "identity") {
    first
  } else if (ncol(eta) == 1L && type$linked_mean) {
    response_moment(fit, certain(first), "mean")
  } else {
    fit$family$linkinv(first)
  }
  y <- suppressWarnings(type$draw(mean, target$size, c(family_parameters(fit), parameters_at(fit, eta))))
  # means that are no numbers, or so large that R's generators refuse them
  if (all(is.finite(y))) as.numeric(y)
}

#' Parameters with a linear predictor, by the names of the numbers that they replace: a vector for each
#' @noRd
parameters_at <- function(fit, eta) {
  predicted <- family_type(fit$family)$dpars[names(fit$design$others)]
  values <- Map(function(parameter, k) parameter$replaced(link_functions(parameter$link)$linkinv(eta[, k])), predicted,
    seq_along(predicted) + 1L)
  stats::setNames(values, Map(function(parameter, name) c(parameter$replaces, name)[1L], predicted, names(predicted)))
}

#' Multinomial counts of so many trials: N x classes
#' @noRd
draw_counts <- function(prob, size) {
  counts <- vapply(seq_len(nrow(prob)), function(n) stats::rmultinom(1L, size[n], prob[n, ])[, 1L], integer(ncol(prob)))
  `colnames<-`(t(counts), colnames(prob))
}

#' Numbers of the likelihood as the response was given
#' @noRd
as_response <- function(fit, target, y) {
  given <- stats::model.response(fit$data)
  if (is_censored(fit) || is_counts(fit)) return(y)
  if (is.matrix(given) && ncol(given) == 2L) {
    return(`colnames<-`(cbind(y, trials_of(fit, target) - y), colnames(given)))
  }
  labels <- response_levels(fit)[y + 1]
  if (is.factor(given)) return(factor(labels, levels(given), ordered = is.ordered(given)))
  if (is.character(given)) return(labels)
  # without classes a logical response was read as 0 and 1
  if (is.logical(given) && !is.null(labels)) return(labels == "TRUE")
  if (has_classes(fit)) return(utils::type.convert(labels, as.is = TRUE))
  y <- y / trials_of(fit, target)
  whole <- is.integer(given) && is_discrete(fit) && all(y <= .Machine$integer.max)
  if (whole) as.integer(y) else y
}
