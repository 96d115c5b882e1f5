#' How good is the Gaussian approximation?
#'
#' A fit is the best Gaussian q for the posterior of the latent values, and its certificate says how close it
#' is to that best one. `check_fit()` asks how close q is to the posterior itself, by importance sampling from
#' q at the hyperparameters of the fit.
#'
#' Draws of the latent vector from q get the weight p(y, z) / q(z). If q is close to the posterior the weights
#' are nearly equal. Their upper tail is fitted by a generalised Pareto distribution, whose shape k says how
#' much a finite sample can be trusted (Yao et al. 2018; Vehtari et al. 2024): below 0.5 the corrected values
#' are good; up to min(0.7, 1 - 1 / log10(draws)) they are usable; above that they are rough, and above 1
#' worthless. What they say of the fit is how far its means and sds move, and the divergence.
#'
#' **In many dimensions k is severe.** The weight is one number for the whole latent vector: small errors in
#' each of several hundred latent values add up in it, and k can be large although every marginal, which is
#' what predictions use, is fine. Two columns of `latent` tell: `corrected_mean`, which needs a usable k, and
#' `own_mean`, which does not. The latter exchanges in each observation's marginal its own Gaussian site for
#' p(y | eta), by 1-D quadrature, and leaves the other observations' sites: what of the error is visible in
#' one dimension.
#'
#' The mean of the weights estimates the evidence p(y). Its logarithm exceeds the bound by the
#' Kullback-Leibler divergence of q from the posterior. Means are corrected by self-normalised, Pareto
#' smoothed weights, with the draws' own deviation from the known moments of q taken off. Everything here is
#' for the exact p(y | eta), also where inference used a bound on it. With several latent values per
#' observation q takes them for independent, which the posterior of [categorical()] is not; k shows it. Fits
#' with inducing points are refused: what these leave open of the process would have to be drawn too.
#'
#' @param fit A fit of [galvi()].
#' @param draws Number of draws, at least 100; [set.seed()] applies.
#' @return A list of class `check_fit`: `k` and the `threshold` below which it is usable; `draws`, and `ess`,
#'   the draws from the posterior that the weights are worth; `dimension` of the latent vector;
#'   `log_evidence` and its standard error `se`; `elbo`, the bound of q with exact expectations, and
#'   `divergence` = `log_evidence - elbo`; `latent`, a data frame with a row per observation and latent
#'   value: `row`, `latent`, the moments of eta under q (`mean`, `sd`), by importance weights
#'   (`corrected_mean`, `corrected_sd`; `noise`, the standard error of the former) and with the row's own
#'   likelihood (`own_mean`, `own_sd`; NA where several latents share a likelihood); `reading`, sentences.
#' @references Yao, Y., Vehtari, A., Simpson, D. and Gelman, A. (2018). Yes, but did it work?: Evaluating
#'   variational inference. Proceedings of the 35th International Conference on Machine Learning, 5581-5590.
#'
#'   Vehtari, A., Simpson, D., Gelman, A., Yao, Y. and Gabry, J. (2024). Pareto smoothed importance sampling.
#'   Journal of Machine Learning Research 25(72), 1-58.
#' @examplesIf requireNamespace("loo", quietly = TRUE)
#' fit <- galvi(am ~ wt, data = mtcars, family = binomial())
#' set.seed(1)
#' check_fit(fit, draws = 10000)
#' @export
check_fit <- function(fit, draws = 1000) {
  if (!inherits(fit, "galvi")) {
    stop_galvi("argument", sprintf("`fit` must be a fit of galvi(), not %s.", describe(fit)))
  }
  draws <- check_whole(draws, "draws", 100)
  check_has_rows(fit, "its check needs them all; give a data frame to galvi()")
  fit <- factorised_view(fit)
  need_loo("check_fit()")
  check_no_inducing(fit)
  fit <- at_mode(fit)
  exact <- evidence_kind(fit) == "exact"
  out <- as_galvi_error(if (exact) exact_check(fit, draws) else importance_check(fit, draws))
  out$dimension <- latent_dimension(fit)
  out$family <- family_label(fit)
  out$formula <- fit$formula
  out$reading <- check_words(out)
  structure(out, class = "check_fit")
}

#' p(y | z) of a sparse process is an integral over all that z leaves open of eta: no product over rows
#' @noRd
check_no_inducing <- function(fit) {
  if (is.null(fit$inducing)) return(invisible())
  stop_galvi("argument", paste(
    "check_fit() cannot draw from a process behind inducing points. Use fewer rows (`subset`) and no",
    "`inducing`, or compare logLik() of fits with more and more points, which comes near that of the full",
    "process; loo() works."
  ))
}

#' Numbers in the latent vector: coefficients, or a value per observation
#' @noRd
latent_dimension <- function(fit) {
  latent <- fit$posterior$latent
  if (is.null(latent)) length(fit$posterior$mean) else sum(lengths(lapply(latent, `[[`, "mean")))
}

need_loo <- function(what) {
  if (requireNamespace("loo", quietly = TRUE)) return(invisible())
  stop_galvi("argument", sprintf("%s needs the package loo: install.packages(\"loo\")", what))
}

# q is the posterior: every weight is p(y).
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
  sample <- weigh_draws(fit, bound, draws)
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
    row = rep(row.names(fit$data), ncol(q$mean)),
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
  bound_at_sites(model, fit$posterior[c("lambda", "b")], fit$control)
}

#' Draws of eta - m at the observations and their log p(y, z) / q(z)
#'
#' q is the prior times the sites, so the ratio depends on eta at the observations alone. With d = eta - m,
#'   log p(y, z) - log q(z) = sum [w log p(y_n | eta_n) - alpha d + lambda (d^2 - v) / 2] - KL[q, prior],
#' whatever the prior: singular, improper, columns or a process.
#' @return list(log_weight: draws; moved: the draws, N K x draws).
#' @noRd
weigh_draws <- function(fit, bound, draws) {
  q <- fit$posterior
  model <- fit$model
  n <- fit$nobs
  moved <- do.call(rbind, lapply(latent_roots(fit), function(root) {
    root(matrix(stats::rnorm(root(NULL) * draws), ncol = draws))
  }))
  mean <- as.vector(q$mean)
  eta <- mean + moved
  rows <- aperm(array(eta, c(n, ncol(q$mean), draws)), c(1L, 3L, 2L))
  log_p <- matrix(given_log_density(fit, matrix(rows, n * draws), draws), n)
  site <- as.vector(q$lambda) * (moved^2 - as.vector(q$variance)) / 2 - as.vector(q$alpha) * moved
  list(log_weight = colSums(weighted(log_p, model$weights)) + colSums(site) - bound$kl, moved = moved)
}

#' One function per latent that makes draws of eta - m from standard normal ones; of NULL, how many it needs
#' @noRd
latent_roots <- function(fit) {
  if (is_distributional(fit)) {
    return(unlist(lapply(1:2, function(k) latent_roots(predictor_view(fit, k))), recursive = FALSE))
  }
  as_root <- function(A) {
    force(A)
    function(e) if (is.null(e)) ncol(A) else A %*% e
  }
  if (!is.null(fit$posterior$latent)) {
    W <- do.call(cbind, lapply(term_rows(fit$model), `[[`, "W"))
    return(lapply(fit$posterior$latent, function(z) as_root(W %*% z$chol)))
  }
  covariance <- joint_covariance(fit, training_target(fit))
  if (!is.list(covariance)) covariance <- list(covariance)
  lapply(covariance, function(V) as_root(covariance_root(V)))
}

#' log p(y | eta), eta: (N times) x K, the observations over and over
#' @noRd
given_log_density <- function(fit, eta, times) {
  model <- fit$model
  given <- list(mean = eta, variance = matrix(0, nrow(eta), ncol(eta)))
  y <- rep(model$y, times)
  if (has_classes(fit)) return(class_log_probability(fit, given, list(
    y = y, size = rep(model$size, times), counts = take_rows_of(model$counts, rep(seq_along(model$y), times))
  )))
  censoring <- take_rows_of(model$censoring, rep(seq_along(model$y), times))
  response_moment(fit, given, "log_density", rep(model$size, times), y, censoring = censoring)
}

#' Pareto smoothed weights over exp(scale), and the tail's k; equal weights have none
#' @noRd
smooth_weights <- function(log_weight) {
  scale <- max(log_weight)
  if (!is.finite(scale)) stop_galvi("numeric", "No draw from the fit has a finite density.")
  if (scale - min(log_weight) < 1e-6) return(list(weight = exp(log_weight - scale), scale = scale, k = -Inf))
  # psis() warns of a large k, which is what this is about
  smoothed <- suppressWarnings(loo::psis(log_weight - scale, r_eff = 1))
  list(
    weight = exp(stats::weights(smoothed, normalize = FALSE)[, 1L]), scale = scale,
    k = smoothed$diagnostics$pareto_k
  )
}

#' Moments of eta by weights that add up to one
#'
#' What the draws' unweighted moments miss of those of q, they miss of the weighted ones too, where weights
#' are nearly equal: it is taken off.
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

#' Moments of eta_n under its cavity times p(y_n | eta_n): q's marginal with the site exchanged
#' @noRd
own_moments <- function(fit) {
  if (n_latents(fit) > 1L) return(data.frame(own_mean = NA_real_, own_sd = NA_real_))
  # in sds of q; the trapezium rule is exact to all digits for what is as smooth as this
  t <- seq(-10, 10, by = 0.1)
  q <- lapply(fit$posterior[c("mean", "variance", "alpha", "lambda")], function(x) x[, 1L])
  sd <- sqrt(q$variance)
  eta <- outer(sd, t) + q$mean
  log_p <- matrix(given_log_density(fit, matrix(eta), length(t)), fit$nobs)
  tilted <- weighted(log_p, fit$model$weights) - outer(q$alpha * sd, t) -
    outer((1 - q$lambda * q$variance) / 2, t^2)
  weight <- exp(tilted - apply(tilted, 1L, max))
  weight <- weight / rowSums(weight)
  shift <- drop(weight %*% t)
  data.frame(
    own_mean = q$mean + sd * shift, own_sd = sd * sqrt(pmax(drop(weight %*% t^2) - shift^2, 0))
  )
}

# ---- in words ----

check_words <- function(x) {
  if (x$k == -Inf) return("The posterior is Gaussian, and the fit is that Gaussian: nothing is approximated.")
  c(k_words(x), mean_words(x), own_words(x))
}

k_words <- function(x) {
  if (is.na(x$k)) return("The weights have no tail to fit: take more draws.")
  if (x$k < 0.5) {
    return("k is below 0.5: draws from the Gaussian cover the posterior, and the corrected values are good.")
  }
  if (x$k < x$threshold) {
    return("k is usable: the Gaussian differs from the posterior, and the corrected values say where.")
  }
  # as under a student likelihood: where q has no draws the posterior has more than q, but little
  if (x$ess > 0.95 * x$draws) {
    return(paste(
      "k is large, but of weights that hardly differ: their tail is heavy and holds little. The Gaussian is",
      "close where the posterior has its mass."
    ))
  }
  paste0(
    if (x$k < 1) "k is too large for the corrected values to be more than rough. " else {
      "k is above 1: the corrected values are worthless. "
    },
    if (x$dimension > 20) {
      sprintf(
        "It is for %s latent values at once, though: small errors add up, and marginals can still be fine.",
        format(x$dimension, big.mark = ",")
      )
    } else {
      "More draws would tell more."
    }
  )
}

mean_words <- function(x) {
  if (is.na(x$k) || x$k >= 1 && x$ess <= 0.95 * x$draws) return(NULL)
  shift <- abs(x$latent$corrected_mean - x$latent$mean) / x$latent$sd
  at <- which.max(shift)
  ratio <- range(x$latent$sd / x$latent$corrected_sd)
  sprintf(
    "Corrected, means of eta move %s of their sd (%s; noise %s); the fit's sds are %.2f to %.2f of theirs.",
    up_to(shift[at]), where_words(x$latent, at), two_digits(x$latent$noise[at] / x$latent$sd[at]), ratio[1L],
    ratio[2L]
  )
}

own_words <- function(x) {
  if (all(is.na(x$latent$own_mean))) return(NULL)
  shift <- abs(x$latent$own_mean - x$latent$mean) / x$latent$sd
  at <- which.max(shift)
  ratio <- range(x$latent$sd / x$latent$own_sd)
  sprintf(
    paste(
      "One at a time, with an observation's likelihood in the place of its site, means move %s of their",
      "sd (%s); the fit's sds are %.2f to %.2f of theirs."
    ),
    up_to(shift[at]), where_words(x$latent, at), ratio[1L], ratio[2L]
  )
}

up_to <- function(x) if (x < 0.001) "by less than 0.001" else paste("by up to", two_digits(x))

where_words <- function(latent, at) {
  paste0("row ", latent$row[at], if (!is.na(latent$latent[at])) paste0(", ", latent$latent[at]))
}

two_digits <- function(x) format(x, digits = 2L)

#' @export
print.check_fit <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  refuse_print_dots(list(...), print.check_fit)
  values <- if (x$dimension > 1) " latent values" else " latent value"
  cat("Is the Gaussian posterior close? ", x$family, ", ", x$dimension, values, "\n", sep = "")
  print_wrapped(deparse_one(x$formula), 4L)
  cat("\n")
  if (x$k > -Inf || is.na(x$k)) {
    print_wrapped(sprintf(
      "Pareto k: %s (usable below %s), from %s draws, worth %s of the posterior.", two_digits(x$k),
      two_digits(x$threshold), format(x$draws, big.mark = ","), format(round(x$ess), big.mark = ",")
    ))
    print_wrapped(sprintf(
      "Log evidence: %s nats (se %s); the bound is %s, which is %s below.",
      format(x$log_evidence, digits = max(digits, 6L)), two_digits(x$se),
      format(x$elbo, digits = max(digits, 6L)), two_digits(x$divergence)
    ))
    cat("\n")
  }
  for (sentence in x$reading) print_wrapped(sentence)
  invisible(x)
}
