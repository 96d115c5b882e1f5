# Posterior of fixed effects, from the coding that the core uses to what users see.

#' Posterior of the fixed effects as users see them: mean (q x K) and a q x q covariance per latent; q = 0 without fixed
#' effects
#' @noRd
fixed_coefficients <- function(fit) {
  block <- coefficient_block(fit, fixed_label)
  if (is.null(block)) {
    none <- matrix(numeric(), 0L, n_latents(fit))
    empty <- matrix(numeric(), 0L, 0L)
    return(list(mean = none, covariance = rep(list(empty), n_latents(fit))))
  }
  block <- named_coefficients(fit, block)
  columns <- rownames(block$mean)
  out <- decoded(block$mean, block$covariance, fixed_spec(fit$design$specs)$coding)
  dimnames(out$mean) <- dimnames(block$mean)
  out$covariance <- lapply(out$covariance, `dimnames<-`, list(columns, columns))
  out
}

#' A block of coefficients with the names of its columns and of the latents
#' @noRd
named_coefficients <- function(fit, block) {
  at <- match(block$label, vapply(prior_terms(fit$model), `[[`, "", "label"))
  columns <- colnames(term_rows(fit$model)[[at]]$W)
  mean <- as.matrix(block$mean)
  dimnames(mean) <- list(columns, latent_names(fit))
  list(mean = mean, covariance = lapply(block$covariance, `dimnames<-`, list(columns, columns)))
}

#' The same for the joint covariance of all latent values' coefficients, latent after latent
#' @noRd
decoded_jointly <- function(V, fit) {
  coding <- fixed_spec(fit$design$specs)$coding
  if (is.null(coding)) return(V)
  A <- kronecker(diag(n_latents(fit)), coding$A)
  V <- A %*% V %*% t(A)
  (V + t(V)) / 2
}

#' A fit whose thresholds are those at which the printed columns are zero
#'
#' In the core thresholds belong to the means of the columns, which makes them independent of where x is zero. Moved by
#' c = centre'beta, with the linear predictor beside them, they are what other packages print.
#' @noRd
with_thresholds_at_zero <- function(fit) {
  at <- fit$model$likelihood$hyper$thresholds
  coding <- fixed_spec(fit$design$specs)$coding
  # a fit with more rows by add_data() keeps its level
  if (is.null(at) || !centres_thresholds(coding) || !is.null(fit$design$level)) return(fit)
  fit$design$level <- move <- or_else(coding$carried, sum(coding$centre * fixed_coefficients(fit)$mean[, 1L]))
  moved <- function(posterior) {
    posterior$hyper[at] <- posterior$hyper[at] + move
    posterior$mean <- posterior$mean + move
    posterior
  }
  fit$posterior <- moved(fit$posterior)
  fit$states <- if (!is.null(fit$states)) lapply(fit$states, function(state) {
    state$posterior <- moved(state$posterior)
    state
  })
  fit$model$offset <- fit$model$offset + move
  fit$model$hyper$value[at] <- fit$model$hyper$value[at] + move
  shown <- match(fit$model$hyper$name[at], fit$hyper$name)
  # where x is zero they are as uncertain as the coefficients make them there
  known <- fit$hyper[shown, c("estimate", "lwr", "upr")]
  added <- stats::qnorm(0.975) * threshold_sd(fit)
  reach <- function(to) sign(to - known$estimate) * sqrt((to - known$estimate)^2 + added^2)
  fit$hyper$estimate[shown] <- known$estimate + move
  fit$hyper$lwr[shown] <- known$estimate + move + reach(known$lwr)
  fit$hyper$upr[shown] <- known$estimate + move + reach(known$upr)
  # the others are distances from the one before
  first <- match(at[1L], fit$hyper_posterior$at)
  if (!is.na(first)) {
    own <- c("value", "lower", "upper")
    fit$hyper_posterior[own] <- lapply(fit$hyper_posterior[own], function(x) replace(x, first, x[first] + move))
  }
  fit
}

#' What the coefficients add to the standard deviation of thresholds at x = 0
#' @noRd
threshold_sd <- function(fit) {
  centre <- fixed_spec(fit$design$specs)$coding$centre
  sqrt(max(0, drop(centre %*% fixed_coefficients(fit)$covariance[[1L]] %*% centre)))
}
