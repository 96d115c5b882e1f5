#' Accuracy of the Gaussian approximation, by importance sampling
#'
#' The certificate of a fit shows that its posterior q is the best Gaussian. `check_fit()` estimates how close this
#' Gaussian is to the exact posterior, by importance sampling from q at the estimated hyperparameters. It is about the
#' Gaussian to which the bound belongs. Standard deviations and intervals of fits with weighted points or a mixture over
#' hyperparameters do not come from it: of points, the efficiency in `summary()` says how good those are.
#'
#' Draws z of the latent vector from q get the weights p(y, z) / q(z). If q is close to the posterior, the weights are
#' nearly equal. A generalised Pareto distribution is fitted to the largest weights; its shape k shows how reliable the
#' estimates are (Yao et al. 2018; Vehtari et al. 2024). Below 0.5 the importance-sampling estimates are good; up to
#' min(0.7, 1 - 1 / log10(draws)) they are usable; above 1 they are not reliable. The accuracy of the fit itself is
#' measured by how far its means and standard deviations differ from the corrected ones, and by the divergence.
#'
#' In many dimensions k is a strict criterion. The weight belongs to the whole latent vector, so the small errors of
#' several hundred latent values add up, and k can be large although every marginal distribution, which predictions use,
#' is accurate. The corrected moments (`corrected_mean`, `corrected_sd`) need a usable k. `own_mean` and `own_sd` do
#' not: they replace the Gaussian site of one observation at a time by its likelihood p(y | eta) and integrate
#' numerically.
#'
#' The mean of the weights estimates the evidence (marginal likelihood) p(y). Its logarithm exceeds the bound by the
#' Kullback-Leibler divergence of q from the posterior. Corrected moments use Pareto smoothed, normalised weights, with
#' the known moments of q as control variates. The check is against the exact p(y | eta), also where inference used a
#' bound on it. With several linear predictors per observation q treats them as independent, which is not so in the
#' posterior; k shows it.
#'
#' Fits with inducing points are not supported, as the process given the inducing points would have to be drawn too.
#'
#' @param fit A fit of [galvi()].
#' @param draws Number of draws, a whole number of at least 100; [set.seed()] applies.
#' @return A list of class `check_fit` with a print method:
#' \describe{
#'   \item{`k`, `threshold`}{the Pareto shape (`-Inf` where the posterior given the hyperparameters is Gaussian) and the
#'     value below which it is usable.}
#'   \item{`draws`, `ess`}{the number of draws, and the effective number of draws from the posterior.}
#'   \item{`dimension`}{the length of the latent vector.}
#'   \item{`log_evidence`, `se`}{the estimated log evidence in nats and its standard error.}
#'   \item{`elbo`, `divergence`}{the bound with exact expectations, and `log_evidence - elbo`.}
#'   \item{`latent`}{a data frame with a row per observation and linear predictor: `row`, `latent`; posterior mean and
#'     standard deviation of eta at the estimated hyperparameters (`mean`, `sd`), by importance sampling
#'     (`corrected_mean`, `corrected_sd`, and `noise`, the standard error of `corrected_mean`) and with the likelihood of
#'     the row (`own_mean`, `own_sd`; NA with several linear predictors).}
#'   \item{`reading`}{an interpretation, sentence by sentence.}
#' }
#' @section Errors:
#' `galvi_error_argument` for fits with inducing points and where package loo is not installed; `galvi_error_data` for
#' fits that do not contain their rows ([row_source()]).
#' @references
#' Yao, Y., Vehtari, A., Simpson, D. and Gelman, A. (2018). Yes, but did it work?: Evaluating variational inference.
#' *International Conference on Machine Learning*, PMLR 80, 5581-5590.
#'
#' Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). Pareto smoothed importance sampling. *Journal of
#' Machine Learning Research* 25(72), 1-58.
#' @family checks and comparisons
#' @examplesIf requireNamespace("loo", quietly = TRUE)
#' fit <- galvi(breaks ~ wool + tension, data = warpbreaks, family = negbinomial())
#' set.seed(1)
#' checked <- check_fit(fit)
#' checked
#' head(checked$latent)
#' @export
check_fit <- function(fit, draws = 1000) {
  if (!inherits(fit, "galvi")) {
    stop_galvi("argument", sprintf("`fit` must be a fit of galvi(), not %s.", describe(fit)))
  }
  draws <- check_whole(draws, "draws", 100)
  check_has_rows(fit, "its check needs them all; give a data frame to galvi()")
  check_one_set(fit, "check_fit()")
  fit <- factorised_view(at_sites(fit))
  need_loo("check_fit()")
  check_no_inducing(fit)
  exact <- evidence_kind(fit) == "exact"
  out <- as_galvi_error(if (exact) exact_check(fit, draws) else importance_check(fit, draws))
  if (!is.null(fit$design$intervals)) {
    out[c("log_evidence", "elbo")] <- lapply(out[c("log_evidence", "elbo")], `-`, fit$design$intervals$constant)
  }
  out$dimension <- latent_dimension(fit)
  out$family <- family_label(fit)
  out$formula <- fit$formula
  out$reading <- c(check_words(out), vapply(fit$notes, `[[`, "", "text"))
  structure(out, class = "check_fit")
}

#' With inducing points p(y | z) is an integral over eta given z, not a product over rows
#' @noRd
check_no_inducing <- function(fit) {
  if (!leaves_variance(fit)) return(invisible())
  stop_galvi("argument", paste(
    "check_fit() does not support inducing points, nor nodes between rows. Use fewer rows (`subset`) without",
    "`inducing`, or compare",
    "logLik() of fits with increasing numbers of points; loo() is available."
  ))
}

#' Length of the latent vector: coefficients, or a value per observation
#' @noRd
latent_dimension <- function(fit) {
  latent <- fit$posterior$latent
  if (is.null(latent)) length(fit$posterior$mean) else sum(lengths(lapply(latent, `[[`, "mean")))
}

need_loo <- function(what) {
  if (requireNamespace("loo", quietly = TRUE)) return(invisible())
  stop_galvi("argument", sprintf("%s needs the package loo: install.packages(\"loo\")", what))
}

# q is the exact posterior, so every weight is p(y).
exact_check <- function(fit, draws) {
  latent <- latent_table(fit)
  latent[c("corrected_mean", "own_mean")] <- latent$mean
  latent[c("corrected_sd", "own_sd")] <- latent$sd
  latent$noise <- 0
  list(
    k = -Inf, threshold = k_threshold(draws), draws = draws, ess = draws, log_evidence = fit$elbo, se = 0,
    elbo = fit$elbo, divergence = 0, latent = latent
  )
}

importance_check <- function(fit, draws) {
  bound <- exact_bound(fit)
  size <- draws_size(fit, fit$nobs, draws, n_latents(fit), "Take fewer `draws`.")
  sample <- with_memory(size, weigh_draws(fit, bound, draws), fit$control$threads)
  smoothed <- smooth_weights(sample$log_weight)
  w <- smoothed$weight
  log_evidence <- smoothed$scale + log(mean(w))
  relative <- stats::sd(w) / mean(w)
  latent <- cbind(latent_table(fit), corrected_moments(fit, sample, w / sum(w)), own_moments(fit))
  list(
    k = smoothed$k, threshold = k_threshold(draws), draws = draws, ess = draws / (1 + relative^2),
    log_evidence = log_evidence, se = relative / sqrt(draws), elbo = bound$elbo,
    divergence = log_evidence - bound$elbo, latent = latent
  )
}

k_threshold <- function(draws) min(0.7, 1 - 1 / log10(draws))

latent_table <- function(fit) {
  q <- fit$posterior
  names <- latent_names(fit)
  data.frame(
    row = rep(observation_names(fit), ncol(q$mean)),
    latent = rep(if (is.null(names)) NA_character_ else names, each = nrow(q$mean)),
    mean = as.vector(q$mean), sd = sqrt(as.vector(q$variance))
  )
}

#' The bound of q with exact expectations, and KL[q, prior]
#' @noRd
exact_bound <- function(fit) {
  model <- fit$model
  model$hyper$value <- fit$posterior$hyper
  model$expectation <- "auto"
  bound_at_sites(model, fit$posterior[intersect(c("lambda", "b", "prior_rows"), names(fit$posterior))], fit$control)
}

#' Draws of eta - m at the observations and their log p(y, z) / q(z)
#'
#' q is the prior times the sites, so the ratio depends only on eta at the observations. With d = eta - m,
#'   log p(y, z) - log q(z) = sum [w log p(y_n | eta_n) - alpha d + lambda (d^2 - v) / 2] - KL[q, prior],
#' for any prior, also singular and improper ones.
#' @return list(log_weight: draws; moved: the draws, N K x draws).
#' @noRd
weigh_draws <- function(fit, bound, draws) {
  q <- fit$posterior
  n <- fit$nobs
  moved <- moved_draws(fit, draws)
  variance <- as.vector(q$variance)
  # some draws at a time, which needs less memory and can be interrupted
  log_weight <- lapply(runs_of_length(draws, 1e6 %/% n), function(some) {
    d <- moved[, some, drop = FALSE]
    rows <- aperm(array(as.vector(q$mean) + d, c(n, ncol(q$mean), length(some))), c(1L, 3L, 2L))
    log_p <- given_log_density(fit, matrix(rows, n * length(some)), rep(seq_len(n), length(some)))
    site <- as.vector(q$lambda) * (d^2 - variance) / 2 - as.vector(q$alpha) * d
    colSums(weighted(matrix(log_p, n), fit$model$weights)) + colSums(site)
  })
  list(log_weight = unlist(log_weight) - bound$kl, moved = moved)
}

#' Draws of eta - m at the observations, N K x draws
#' @noRd
moved_draws <- function(fit, draws) {
  eta <- draw_latent(fit$model, fit$posterior, training_target(fit)$rows, draws, fit$control$threads)
  do.call(rbind, eta) - as.vector(fit$posterior$mean - fit$model$offset)
}

# 1 .. n in pieces of about `size`.
runs_of_length <- function(n, size) split(seq_len(n), (seq_len(n) - 1L) %/% max(1L, size))

#' log p(y | eta), eta: a row for each of these observations, K columns
#' @noRd
given_log_density <- function(fit, eta, rows) {
  model <- fit$model
  given <- list(mean = eta, variance = matrix(0, nrow(eta), ncol(eta)))
  if (has_classes(fit)) return(class_log_probability(fit, given, list(
    y = model$y[rows], size = model$size[rows], counts = take_rows_of(model$counts, rows)
  )))
  given <- with_known(given, model$known, rows)
  censoring <- take_rows_of(model$censoring, rows)
  response_moment(fit, given, "log_density", model$size[rows], model$y[rows], censoring = censoring)
}

#' Pareto smoothed weights over exp(scale), and the tail's k; equal weights have none
#' @noRd
smooth_weights <- function(log_weight) {
  scale <- max(log_weight)
  if (!is.finite(scale)) stop_galvi("numeric",
    "No draw from the fit has a finite density: check the data and `fit$convergence`.")
  if (scale - min(log_weight) < 1e-6) return(list(weight = exp(log_weight - scale), scale = scale, k = -Inf))
  # psis() warns of a large k, which is reported here
  smoothed <- suppressWarnings(loo::psis(log_weight - scale, r_eff = 1))
  list(
    weight = exp(stats::weights(smoothed, normalize = FALSE)[, 1L]), scale = scale,
    k = smoothed$diagnostics$pareto_k
  )
}

#' Moments of eta by normalised weights
#'
#' The errors of the unweighted moments of the draws, which are known for q, are subtracted: control variates.
#' @noRd
corrected_moments <- function(fit, sample, weight) {
  d <- sample$moved
  count <- ncol(d)
  variance <- as.vector(fit$posterior$variance)
  shift <- drop(d %*% (weight - 1 / count))
  square <- drop(d^2 %*% (weight - 1 / count)) + variance - shift^2
  noise <- sqrt(drop(d^2 %*% (weight - 1 / count)^2))
  data.frame(
    corrected_mean = as.vector(fit$posterior$mean) + shift, corrected_sd = sqrt(pmax(square, 0)),
    noise = noise
  )
}

#' Moments of eta_n under its cavity times p(y_n | eta_n): the marginal of q with the site replaced
#' @noRd
own_moments <- function(fit) {
  if (n_latents(fit) > 1L) return(data.frame(own_mean = NA_real_, own_sd = NA_real_))
  # in sds of q; for such smooth functions the trapezium rule is accurate to rounding error
  t <- seq(-10, 10, by = 0.1)
  moments <- lapply(runs_of_length(fit$nobs, 5000), function(rows) {
    q <- lapply(fit$posterior[c("mean", "variance", "alpha", "lambda")], function(x) x[rows, 1L])
    sd <- sqrt(q$variance)
    eta <- outer(sd, t) + q$mean
    log_p <- matrix(given_log_density(fit, matrix(eta), rep(rows, length(t))), length(rows))
    tilted <- weighted(log_p, fit$model$weights[rows]) - outer(q$alpha * sd, t) -
      outer((1 - q$lambda * q$variance) / 2, t^2)
    weight <- exp(tilted - apply(tilted, 1L, max))
    weight <- weight / rowSums(weight)
    shift <- drop(weight %*% t)
    data.frame(own_mean = q$mean + sd * shift, own_sd = sd * sqrt(pmax(drop(weight %*% t^2) - shift^2, 0)))
  })
  do.call(rbind, unname(moments))
}

# What check_fit() found, in words.

check_words <- function(x) {
  if (x$k == -Inf) return("Given the hyperparameters, the posterior is Gaussian and the fit is exact.")
  c(k_words(x), mean_words(x), own_words(x))
}

k_words <- function(x) {
  if (is.na(x$k)) return("k cannot be estimated from these draws: take more.")
  if (x$k < 0.5) {
    return("k is below 0.5: the estimates by importance sampling are reliable.")
  }
  if (x$k < x$threshold) {
    return("k is usable: the Gaussian differs from the posterior, and the corrected moments show where.")
  }
  # as with a student likelihood: the posterior has heavier tails than q, with little mass in them
  if (x$ess > 0.95 * x$draws) {
    return(paste(
      "k is large although the weights hardly differ: their tail is heavy but has little mass. The Gaussian is",
      "accurate where the posterior has its mass."
    ))
  }
  paste0(
    if (x$k < 1) "k is too large: the corrected moments are rough. " else {
      "k is above 1: the corrected moments are not reliable. "
    },
    if (x$dimension > 20) {
      sprintf(
        "It refers to %s latent values jointly, so small errors add up; marginals may still be accurate.",
        whole_words(x$dimension)
      )
    } else {
      "Try more draws."
    }
  )
}

#' The largest shift of a mean, in posterior sds of the fit, where it is, and the range of the ratios of sds
#' @param kind "corrected" or "own": the columns of `latent` to compare with the fit's.
#' @noRd
against_fit <- function(latent, kind) {
  shift <- abs(latent[[paste0(kind, "_mean")]] - latent$mean) / latent$sd
  at <- which.max(shift)
  list(at = at, shift = shift[at], ratio = range(latent$sd / latent[[paste0(kind, "_sd")]]))
}

mean_words <- function(x) {
  if (is.na(x$k) || x$k >= 1 && x$ess <= 0.95 * x$draws) return(NULL)
  found <- against_fit(x$latent, "corrected")
  sprintf(
    paste(
      "The correction changes posterior means of eta %s posterior sd (%s; Monte Carlo error %s). The posterior sds",
      "of the fit are %.2f to %.2f times the corrected ones."
    ),
    up_to(found$shift), where_words(x$latent, found$at),
    two_digits(x$latent$noise[found$at] / x$latent$sd[found$at]), found$ratio[1L], found$ratio[2L]
  )
}

own_words <- function(x) {
  if (all(is.na(x$latent$own_mean))) return(NULL)
  found <- against_fit(x$latent, "own")
  sprintf(
    paste(
      "The exact likelihood of one observation at a time changes its posterior mean %s posterior sd (%s); the",
      "posterior sds of the fit are %.2f to %.2f times those with it."
    ),
    up_to(found$shift), where_words(x$latent, found$at), found$ratio[1L], found$ratio[2L]
  )
}

up_to <- function(x) if (x < 0.001) "by less than 0.001" else paste("by up to", two_digits(x))

where_words <- function(latent, at) {
  paste0("row ", quote_row_names(latent$row)[at], if (!is.na(latent$latent[at])) paste0(", ", latent$latent[at]))
}

two_digits <- function(x) format(x, digits = 2L)

#' @export
print.check_fit <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.check_fit)
  values <- if (x$dimension > 1) " latent values" else " latent value"
  cat("Accuracy of the Gaussian posterior: ", x$family, ", ", x$dimension, values, "\n", sep = "")
  print_wrapped(deparse_one(x$formula), 4L)
  cat("\n")
  if (x$k > -Inf || is.na(x$k)) {
    print_wrapped(sprintf(
      "Pareto k: %s (usable below %s), from %s draws; effective number of draws: %s.", two_digits(x$k),
      two_digits(x$threshold), whole_words(x$draws), whole_words(round(x$ess))
    ))
    print_wrapped(sprintf(
      "Log evidence: %s (se %s); bound: %s; divergence: %s.",
      format(x$log_evidence, digits = max(digits, 6L)), two_digits(x$se),
      format(x$elbo, digits = max(digits, 6L)), two_digits(x$divergence)
    ))
    cat("\n")
  }
  for (sentence in x$reading) print_wrapped(sentence)
  invisible(x)
}
