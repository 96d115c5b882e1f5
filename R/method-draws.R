# Generics of draws, of packages rstantools and posterior.

#' @rdname draws
#' @method posterior_linpred galvi
#' @rawNamespace S3method(rstantools::posterior_linpred,galvi)
posterior_linpred.galvi <- function(object, transform = FALSE, newdata = NULL, ndraws = 1000, re_formula = NULL,
                                    dpar = NULL, ...) {
  re_formula <- one_re_formula(re_formula, list(...))
  transform <- check_flag(transform, "transform")
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
  over_draws(object, draws_target(object, newdata, re_formula), ndraws, f,
    if (length(own) > 1L) latent_names(object))
}

#' @rdname draws
#' @method posterior_epred galvi
#' @rawNamespace S3method(rstantools::posterior_epred,galvi)
posterior_epred.galvi <- function(object, newdata = NULL, ndraws = 1000, re_formula = NULL, dpar = NULL, ...) {
  re_formula <- one_re_formula(re_formula, list(...))
  if (or_else(check_dpar(object, dpar), 1L) > 1L) {
    return(posterior_linpred.galvi(object, TRUE, newdata, ndraws, re_formula, dpar))
  }
  classes <- has_classes(object)
  f <- function(fit, target, eta) {
    known <- list(mean = eta, variance = 0 * eta)
    if (classes) return(class_probabilities(fit, known))
    if (is_mixed(object$family)) number_given(fit, eta) else response_mean(fit, known)
  }
  over_draws(object, draws_target(object, newdata, re_formula), ndraws, f, if (classes) response_levels(object))
}

#' @rdname draws
#' @method posterior_predict galvi
#' @rawNamespace S3method(rstantools::posterior_predict,galvi)
posterior_predict.galvi <- function(object, newdata = NULL, ndraws = 1000, re_formula = NULL, ...) {
  re_formula <- one_re_formula(re_formula, list(...))
  target <- draws_target(object, newdata, re_formula, tells_size(object, newdata))
  if (is_counts(object)) return(over_draws(object, target, ndraws, draw_response, response_levels(object)))
  # levels of an ordinal column among others are numbers from 1
  draw <- if (!is_mixed(object$family)) draw_response else function(fit, target, eta) {
    draw_response(fit, target, eta) + has_classes(fit)
  }
  out <- over_draws(object, target, ndraws, draw)
  if (has_classes(object)) structure(out + 1, levels = response_levels(object)) else out
}

#' @rdname draws
#' @method log_lik galvi
#' @rawNamespace S3method(rstantools::log_lik,galvi)
log_lik.galvi <- function(object, newdata = NULL, ndraws = 1000, re_formula = NULL, ...) {
  re_formula <- one_re_formula(re_formula, list(...))
  if (!is.null(newdata) && inherits(object, "galvi_wide")) {
    stop_galvi("argument", paste(
      "log_lik() of a fit of responses() is that of its observed entries: `newdata` must be NULL.",
      "predict(responses = ) takes responses of new units."
    ))
  }
  target <- draws_target(object, newdata, re_formula, response = TRUE)
  over_draws(object, target, ndraws, function(fit, target, eta) {
    known <- list(mean = eta, variance = 0 * eta)
    value <- if (has_classes(fit)) class_log_probability(fit, known, target) else {
      response_moment(fit, known, "log_density", target$size, target$y, censoring = target$censoring)
    }
    weighted(value, target$weights)
  })
}

#' @rdname draws
#' @method posterior_interval galvi
#' @rawNamespace S3method(rstantools::posterior_interval,galvi)
posterior_interval.galvi <- function(object, prob = 0.9, pars = NULL, ...) {
  prob <- check_level(prob, "prob")
  hyper <- object$model$hyper
  shown <- which(!in_array(hyper) & hyper$learned)
  theta <- hyper_quantiles(object$hyper_posterior, object$model, object$posterior$hyper, tails(prob))
  out <- rbind(coefficient_limits(object, prob), theta[shown, , drop = FALSE])
  names <- c(coefficient_names(object), hyper$name[shown])
  dimnames(out) <- list(names, paste0(format(100 * tails(prob), trim = TRUE, digits = 3), "%"))
  if (is.null(pars)) return(out)
  unknown <- setdiff(pars, names)
  if (length(unknown)) {
    stop_galvi("argument", sprintf(
      "`pars` must name coefficients or learned hyperparameters, not %s; this fit has %s.",
      quote_names(unknown, "\""), quote_names(names, "\"", 30L)
    ))
  }
  out[pars, , drop = FALSE]
}

#' @rdname draws
#' @method prior_summary galvi
#' @rawNamespace S3method(rstantools::prior_summary,galvi)
prior_summary.galvi <- function(object, ...) {
  object$prior
}

#' @rdname draws
#' @method as_draws galvi
#' @rawNamespace S3method(posterior::as_draws,galvi)
as_draws.galvi <- function(x, ndraws = 1000, ...) {
  ndraws <- check_whole(ndraws, "ndraws")
  plan <- draw_plan(x, ndraws)
  names <- coefficient_names(x)
  coefficients <- matrix(0, ndraws, length(names), dimnames = list(NULL, names))
  states <- fit_states(x)
  for (s in if (length(names)) unique(plan$state)) {
    view <- at_state(x, states[[s]])
    at <- which(plan$state == s)
    root <- covariance_root(vcov.galvi(view))
    noise <- matrix(stats::rnorm(ncol(root) * length(at)), ncol(root))
    coefficients[at, ] <- t(coefficient_means(view) + root %*% noise)
  }
  # thresholds were moved by the mean of centre'beta (R/term-fixed-coding.R): in a draw it is that draw's
  coding <- fixed_spec(x$design$specs)$coding
  if (!is.null(x$design$level)) {
    at <- x$model$likelihood$hyper$thresholds
    plan$hyper[, at] <- plan$hyper[, at] + drop(coefficients %*% coding$centre) - x$design$level
  }
  # what was held has no posterior
  shown <- which(!in_array(x$model$hyper) & !x$model$hyper$name %in% x$hyper$name[x$hyper$status == "fixed"])
  hyper <- reported_hyper(x$model, plan$hyper)[, shown, drop = FALSE]
  colnames(hyper) <- x$model$hyper$name[shown]
  posterior::as_draws_matrix(cbind(coefficients, hyper))
}

coefficient_names <- function(fit) rownames(vcov.galvi(fit))
