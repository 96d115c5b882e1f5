# How much of the response a model explains: R squared of packages performance and rstantools, and the shares of fixed
# effects, groups and residuals by which insight and performance compute it of mixed models.

# ---- Nakagawa's R squared ----

# Of mixed models the marginal and the conditional R squared of Nakagawa, Johnson and Schielzeth (2017), as of lme4's
# fits. Of others 1 - sum w (y - mu)^2 / sum w (y - mean(y))^2 with the means under the posterior: what
# performance::r2() makes of linear models, with weights and trials counted.
#' @exportS3Method performance::r2
r2.galvi <- function(model, ...) {
  if (inherits(model, "galvi_wide")) {
    each <- explained(model)
    shares <- lapply(names(each), function(name) list(R2 = c(R2 = each[[name]]), Response = c(Response = name)))
    return(structure(stats::setNames(shares, names(each)), class = c("r2_mlm", "list")))
  }
  if (!is.null(no_shares(model))) {
    return(structure(list(R2 = explained(model)), class = c("r2_generic", "list")))
  }
  v <- variance_shares(model)
  total <- v$var.fixed + v$var.random + v$var.residual
  structure(
    list(
      R2_conditional = c("Conditional R2" = (v$var.fixed + v$var.random) / total),
      R2_marginal = c("Marginal R2" = v$var.fixed / total)
    ),
    class = c("r2_nakagawa", "list")
  )
}

explained <- function(fit) {
  check_has_mean(fit, "r2()")
  fit <- answering_view(fit)
  target <- training_target(fit)
  check_observed(fit, target, "r2()")
  y <- target$y / trials_of(fit, target)
  weights <- target$weights * target$size
  residual <- response_residuals(fit, target)
  share <- function(rows) {
    w <- weights[rows]
    total <- sum(w * (y[rows] - stats::weighted.mean(y[rows], w))^2)
    if (total == 0) {
      stop_galvi("argument", "r2() compares with the variance of the response, which is zero here.")
    }
    1 - sum(w * residual[rows]^2) / total
  }
  if (is.null(fit$design$wide)) return(c(R2 = share(seq_along(y))))
  # responses have units of their own
  vapply(split(seq_along(y), fit$data[[wide_names[["item"]]]]), share, 0)
}

check_has_mean <- function(fit, what) {
  if (!has_classes(fit) && !is_volatility(fit)) return(invisible())
  stop_galvi("argument", sprintf(
    "%s needs a response whose mean is a number; this fit's family is %s. Compare fits by loo() instead.",
    what, family_label(fit)
  ))
}

# NULL and a warning, as insight's own methods, where there are none.
#' @exportS3Method insight::get_variance
get_variance.galvi <- function(x, component = "all", verbose = TRUE, ...) {
  reason <- no_shares(x)
  if (!is.null(reason)) {
    if (verbose) {
      warn_galvi("argument", sprintf(paste(
        "get_variance(), and with it icc(), %s: it returns NULL.",
        "rstantools::bayes_R2() takes all fits whose response is a number."
      ), reason))
    }
    return(NULL)
  }
  shares <- variance_shares(x)
  known <- c("all", sub("^var\\.", "", names(shares)))
  component <- check_choice(component, known, "component")
  if (component == "all") shares else shares[[paste0("var.", component)]]
}

#' Why the variance cannot be divided among fixed effects, groups and residuals; NULL if it can
#' @noRd
no_shares <- function(fit) {
  specs <- Filter(function(spec) spec$type != fixed_label, fit$design$specs)
  if (n_latents(fit) > 1L) {
    return(sprintf("is for fits with one linear predictor, and this one has %d", n_latents(fit)))
  }
  grouped <- which_can(specs, "grouped")
  if (!any(grouped)) return("is for groups, such as (1 | g), and this fit has none")
  if (!all(grouped)) {
    return(sprintf("is for fixed effects and groups alone; this fit also has %s", specs[!grouped][[1L]]$label))
  }
  of_numbers <- any(vapply(c("same_units", "rates"), link_has, NA, family = fit$family)) && !has_classes(fit)
  own <- of_numbers || !is.null(threshold_variance(fit)) || is_share(fit)
  if (!own || is_volatility(fit) || is_censored(fit)) {
    return(sprintf("knows no residual variance of the family %s", family_label(fit)))
  }
  if (inherits(fit, "galvi_wide")) return("is for one response")
  if (!is.finite(observation_variance(fit, 0, 0))) "needs a finite variance of the response"
}

#' Variances of the linear predictor, by the names that insight gives them
#'
#' A term with effects z_n' b, b ~ N(0, S), has the mean of z_n' S z_n over the observations. A group for each
#' observation counts as residual.
#' @noRd
variance_shares <- function(fit) {
  specs <- fit$design$specs
  specs <- specs[which_can(specs, "grouped")]
  of_term <- vapply(specs, mean_effect_variance, 0, fit = fit)
  blocks <- lapply(specs, function(spec) group_covariances(spec, reported_hyper(fit$model, fit$posterior$hyper))[[1L]])
  groups <- vapply(specs, effect_group, "")
  single <- vapply(specs, function(spec) nrow(unique(fit$data[input_names(list(spec))])) == nrow(fit$data), NA)
  intercepts <- vapply(blocks, function(S) diag(S)[match("(Intercept)", rownames(S))], 0)
  slopes <- unlist(Map(function(S, group) {
    v <- diag(S)[rownames(S) != "(Intercept)"]
    stats::setNames(v, paste(rep(group, length(v)), names(v), sep = "."))
  }, blocks, groups))
  mean <- drop(model.matrix.galvi(fit) %*% coefficient_means(fit))
  distribution <- observation_variance(fit, mean, sum(of_term))
  shares <- list(
    var.fixed = stats::var(mean), var.random = sum(of_term[!single]),
    var.residual = distribution + sum(of_term[single]), var.distribution = distribution,
    var.dispersion = sum(of_term[single]),
    var.intercept = stats::setNames(intercepts, groups)[!is.na(intercepts)], var.slope = slopes
  )
  shares[lengths(shares) > 0L]
}

#' @noRd
mean_effect_variance <- function(spec, fit) {
  rows <- term_rows(fit$model)[[match(spec$label, fit$design$labels)]]
  mean(part_variances(group_part(spec, rows, own = TRUE), matrix(fit$posterior$hyper, 1L)))
}

#' Variance of the threshold by which a trial succeeds, or between which classes lie; NULL if there is none, or one for
#' each step of a sequence
#' @noRd
threshold_variance <- function(fit) {
  if (is_of_stages(fit$family) || !is.null(stages_family(fit$family))) return(NULL)
  variance <- link_types[[fit$family$link]]$threshold_variance
  if (is_ordinal(fit) || is_discrete(fit) && !has_classes(fit) && !has_parameters(fit$family)) variance
}

#' Is the response, or its mean in many trials, a share that varies by a parameter of the family?
#' @noRd
is_share <- function(fit) {
  !has_classes(fit) && has_parameters(fit$family) && !is.null(link_types[[fit$family$link]]$threshold_variance)
}

#' Variance of an observation on the scale of the linear predictor: that of a threshold, or of log y by the log-normal
#' approximation at the mean of y over rows and groups, without offset. insight has it for shares too, at the mean without
#' groups.
#' @param mean,groups Linear predictor of each row without groups, and their variance.
#' @noRd
observation_variance <- function(fit, mean, groups) {
  threshold <- threshold_variance(fit)
  if (!is.null(threshold)) return(threshold / mean(fit$model$size))
  # the mean of s^2, as with sigma beside s
  if (is_standard_error(fit$design$weights)) return(mean(1 / fit$model$size))
  at <- if (link_has(fit$family, "same_units")) 0 else {
    fit$family$linkfun(mean(fit$family$linkinv(mean))) + if (is_share(fit)) 0 else groups / 2
  }
  # of a response that would be observed wherever it lies
  known <- if (!is.null(fit$model$known)) cbind(mean(fit$model$known[, "variance"]), -Inf, Inf)
  given <- with_known(list(mean = cbind(at), variance = cbind(0)), known)
  # of the share among so many trials that only its mean varies
  trials <- if (is_share(fit) && is_discrete(fit)) 1e8 else 1
  variance <- response_moment(fit, given, "variance", size = trials) / trials^2
  if (link_has(fit$family, "same_units")) variance else log1p(variance / response_moment(fit, given, "mean")^2)
}

# ---- Bayesian R squared ----

#' Bayesian R squared
#'
#' Methods of the generics `bayes_R2()` and `loo_R2()` of package rstantools.
#'
#' `bayes_R2()` is the proportion of the variance of new responses that their means explain (Gelman et al., 2019). For
#' each draw of the linear predictor, it is the variance of E\[y | eta\] over the observations, divided by the sum of
#' this variance and the mean of Var\[y | eta\]. Random effects and smooth terms are included.
#'
#' Where `re_formula` leaves effects of groups out, as NA does, differences between these groups count as not
#' explained: the variance of the means without them is divided by the sum of this variance and that of y - E\[y | eta\],
#' as in brms.
#'
#' `loo_R2()` is 1 - Var(e) / Var(y), where e is the error of the leave-one-out prediction of y ([loo()][loo.galvi]),
#' with Bayesian bootstrap weights. It does not rise with the number of parameters and can be negative.
#'
#' A row of weight w counts as w observations; where weights divide a dispersion they weigh the squares, as in
#' `summary(lm(weights = w))`. A binomial response with trials counts as one observation per trial;
#' `loo_R2()` does not support it. Hyperparameters are drawn
#' with the rest of the posterior, except where `summary()` says that it takes them as known.
#' @param object A fit of [galvi()].
#' @param ndraws Number of draws, a positive whole number; 1000 by default.
#' @param re_formula As in [predict()][predict.galvi]; `re.form` is the same.
#' @param seed A whole number makes draws reproducible, and leaves the state of R's random numbers as it was; NULL by
#'   default.
#' @param ... `newdata`, `summary`, `resp` and `draw_ids`, words of brms and rstanarm, are errors; other arguments are
#'   passed over.
#' @return A vector of `ndraws` values; `bayes_R2()` of [responses()] with a list of families gives a matrix with a column
#'   for each response, where levels of ordinal columns are the numbers 1, 2, ...
#' @section Errors:
#' `galvi_error_argument` for responses with classes, stochastic volatilities and infinite variances, and for censored
#' responses where `re_formula` leaves effects out.
#' @references Gelman, A., Goodrich, B., Gabry, J. and Vehtari, A. (2019). R-squared for Bayesian regression models.
#'   The American Statistician 73(3), 307-309.
#' @family predictions and draws
#' @examplesIf requireNamespace("rstantools", quietly = TRUE)
#' fit <- galvi(dist ~ speed, data = cars)
#' set.seed(1)
#' quantile(rstantools::bayes_R2(fit), c(0.05, 0.5, 0.95))
#' quantile(rstantools::loo_R2(fit), c(0.05, 0.5, 0.95))
#' @name bayes_R2
NULL

#' @rdname bayes_R2
#' @method bayes_R2 galvi
#' @rawNamespace S3method(rstantools::bayes_R2,galvi)
bayes_R2.galvi <- function(object, ndraws = 1000, re_formula = NULL, seed = NULL, ...) {
  refuse_foreign(list(...), "bayes_R2()")
  re_formula <- one_re_formula(re_formula, list(...))
  check_has_mean(object, "bayes_R2()")
  check_has_rows(object, "bayes_R2() needs them all")
  object <- answering_view(object)
  target <- draws_target(object, NULL, re_formula)
  left_out <- !all(unlist(kept_effects(object, re_formula)))
  if (left_out) check_observed(object, target, "bayes_R2(re_formula = )")
  moments <- over_draws(object, target, ndraws, function(fit, target, eta) {
    moments <- trial_moments(fit, target, eta)
    if (left_out) with_errors(moments, fit, target) else moments
  }, c("mean", "variance", if (left_out) "error"), seed)
  count <- object$model$weights * object$model$size
  divided <- divided_rows(object, object$model)
  share <- function(rows) {
    moments <- moments[, rows, , drop = FALSE]
    count <- count[rows]
    # weights that divide a dispersion do not change the number of observations
    if (all(divided[rows])) count <- count / weighted_mean(count, object$model$weights[rows])
    n <- sum(count)
    of <- function(what) matrix(moments[, , what], nrow(moments))
    variance <- function(x) drop((x - drop(x %*% count) / n)^2 %*% count) / max(n - 1, 1)
    explained <- variance(of("mean"))
    within <- drop(of("variance") %*% count) / n + if (left_out) variance(of("error")) else 0
    if (!all(is.finite(explained + within))) {
      stop_galvi("argument", "bayes_R2() needs a finite variance of the response, given its linear predictor.")
    }
    explained / (explained + within)
  }
  if (!has_parts(object)) return(share(seq_along(count)))
  # columns of several families have units of their own
  items <- object$design$wide$items
  vapply(split(seq_along(count), factor(items[target$part], items)), share, numeric(nrow(moments)))
}

#' Means and variances of one trial given eta: N* x 2
#' @noRd
trial_moments <- function(fit, target, eta) {
  if (has_classes(fit)) return(level_moments_given(fit, eta))
  given <- with_known(list(mean = eta, variance = 0 * eta), target$known)
  cbind(response_mean(fit, given), response_moment(fit, given, "variance", size = divisors_of(fit, target)))
}

#' The same with what was observed: variances of trials within rows, and errors of the means
#' @noRd
with_errors <- function(moments, fit, target) {
  y <- target$y / trials_of(fit, target)
  cbind(moments[, 1L], ifelse(trials_of(fit, target) > 1, y * (1 - y), 0), y - moments[, 1L])
}

#' @rdname bayes_R2
#' @method loo_R2 galvi
#' @rawNamespace S3method(rstantools::loo_R2,galvi)
loo_R2.galvi <- function(object, ndraws = 1000, seed = NULL, ...) {
  refuse_foreign(list(...), "loo_R2()")
  check_has_mean(object, "loo_R2()")
  if (is_mixed(object$family) || !is.null(pure_noise(object))) {
    stop_galvi("argument", "loo_R2() is for one family and no rescor(): bayes_R2() has a column for each response.")
  }
  target <- training_target(object)
  check_observed(object, target, "loo_R2()")
  if (any(trials_of(object, target) > 1)) {
    stop_galvi("argument", "loo_R2() is for responses without trials: use bayes_R2() or loo().")
  }
  cavity <- cavities(object)
  warn_improper(cavity$improper)
  residual <- target$y - response_mean(object, cavity)
  ndraws <- check_whole(ndraws, "ndraws")
  shares <- with_seed(seed, matrix(stats::rgamma(ndraws * target$n, rep(target$weights, each = ndraws)), ndraws))
  shares <- shares * rep(divisors_of(object, target), each = ndraws)
  shares <- shares / rowSums(shares)
  variance <- function(x) drop(shares %*% x^2) - drop(shares %*% x)^2
  1 - variance(residual) / variance(target$y)
}
