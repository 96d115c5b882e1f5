#' Leave-one-out cross-validation
#'
#' Computes how well each observation, or each group of observations, is predicted from the others, without fitting the
#' model again: a method for the generic `loo()` of package loo. The function `loo()` is that generic.
#'
#' @details
#' The approximate posterior is the prior times one Gaussian factor (site) for each observation, exp(b f - lambda f^2 /
#' 2) with f = eta - prior mean. Leaving out observation n means leaving out its site. If the posterior of eta_n is
#' N(m, v), and alpha and lambda are the elements of `fit$posterior` for this row, the distribution of eta_n without it
#' (the cavity) has
#'
#'     variance  v / (1 - lambda v),     mean  m - alpha v / (1 - lambda v).
#'
#' The predictive density of y_n under this distribution is computed by quadrature. At given hyperparameters the result
#' is exact for [gaussian()] responses with one linear predictor; for other families it is an approximation, because the
#' sites of the other observations would change a little (Vehtari et al. 2016).
#'
#' Learned hyperparameters were estimated with observation n, too. At these estimates each of them would raise the sum
#' by about one, so they are moved to where they would be without the observation. To first order this lowers the log
#' density of y_n by g' C g, where C is the posterior covariance of the hyperparameters on the unconstrained scale
#' (`hyper_posterior` in [galvi-fit]) and g the gradient of the log density there. The gradient is computed by
#' differences. This takes one inference at the estimates and two for each hyperparameter, each of which starts at the
#' posterior of the fit; they usually take less time than the fit did. Second derivatives are also used, so that sums
#' are close to those of refits also where rows are few: usually within 0.5 with one to three hyperparameters, within
#' about 2 with four or five. Where the posterior is a mixture of states (`hyper = "integrate"`, and the default of
#' gaussian models and of many with groups, smooths and fields), the weights of the hyperparameter values are those without the observation instead.
#'
#' Where the posterior is weighted points (`vignette("uncertainty")`), no site is used: the weight of each point is
#' divided by its density of y_n, unless this leaves fewer than 100 effective points, in which case row n is predicted
#' as described above. `cavity` and `leverage` are always those of the sites.
#'
#' Some hyperparameters have no known posterior: those at the end of their range, those that the data do not determine,
#' elements of arrays such as inducing points and loadings, all where more than 30 are learned or learning has not
#' converged, and all after [add_data()]. These keep their values, and `print()` names them. Leave-one-out predictions
#' in plots and in `loo_R2()` are at the hyperparameters of all rows.
#'
#' Where weights multiply the log likelihood, a row of weight w > 1 stands for w observations, which are left out one at
#' a time, but together with [cox()] and [cs()]; a row of weight below 1 is left out as a whole. Elsewhere, and for binomial rows with several trials, a row
#' is one observation. `loo::loo_compare()` counts each row as one
#' observation; [anova()][anova.galvi] accounts for weights.
#'
#' If only the observation itself determines its linear predictor, as can be the case with flat priors or with
#' [student()] responses, there is no prediction without it. These rows and the sums are NA, with a warning.
#'
#' **Groups.** `loo(fit, group = "id")` leaves out all rows of a group together. Their joint cavity has the covariance
#' V (I - Lambda V)^-1, where V is the posterior covariance of eta in these rows and Lambda the diagonal matrix of their
#' lambda. Random effects of the group are then predicted from their prior, as for a new group. At given hyperparameters
#' this is exact for [gaussian()] responses; elsewhere a group's sum is usually within 0.02 of that of a refit, but off
#' by up to a few tenths with several classes where the group has a tenth of the rows or more. Hyperparameters are
#' treated as described above, with the joint density of the group's rows in place of a row's density; of weighted
#' points fewer than 100 are usually left where a group has random effects, which then are predicted at the estimated
#' hyperparameters. [kfold()] with `group` fits again instead. By default each row has its own density given the rows of
#' the other groups; with `joint = TRUE` each group has one, log p(y_group | the others), computed by importance
#' sampling from the posterior (400 draws, which are always the same). Where only the group informs a coefficient, as
#' that of a level that no other group has, there is no prediction of the rows that it concerns: they and the sums are
#' NA, with a warning that names the coefficients. Coefficients with a typed prior are predicted from this prior.
#'
#' @param x A fit of [galvi()]; for `plot()` the value of `loo()`; for the function `loo()`, any object for which
#'   package loo has a method.
#' @param group NULL, the default, leaves out one row at a time. To leave out groups: the name of a variable of the
#'   model or of a column of the data, or a vector with an element for each row.
#' @param joint With `group`: if TRUE, the joint density of each group's rows. FALSE by default.
#' @param ... `newdata`, `re_formula` and `resp`, words of brms, are errors; other arguments are passed over.
#' @return A list of classes `galvi_loo` and `loo`, for use in `loo::loo_compare()`:
#' \describe{
#'   \item{`estimates`}{a matrix with columns `Estimate` and `SE` and rows `elpd_loo`, the sum of the log predictive
#'     densities; `p_loo`, the effective number of parameters, by which the sum increases if each observation is
#'     included in its own prediction; and `looic` = -2 `elpd_loo`.}
#'   \item{`pointwise`}{a matrix of the same three measures for each row of the data.}
#'   \item{`cavity`}{a list of the `mean` and `variance` of eta without the row.}
#'   \item{`leverage`}{lambda v, the proportion of the information on eta_n that comes from the row itself (the largest,
#'     if there are several linear predictors), see [hatvalues()][hatvalues.galvi].}
#'   \item{`hyper`}{a list: the names of learned hyperparameters that are `counted` as described above, and of those
#'     that are `left_out`; `averaged`, TRUE for mixtures of states and for weighted points.}
#'   \item{`group`}{with `group` only: a list of the `name` of the grouping variable, the `rows` of each group, and
#'     `joint`.}
#'   \item{`importance`}{with `group` only, of the joint densities: a list of `pareto_k`, the shape of the tail of the
#'     importance weights, -Inf if all are equal; and `n_eff`, the number of draws with equal weights that would do as
#'     well. Densities with `pareto_k` above 0.7 are not reliable, unless the weights are so even that `n_eff` is close
#'     to 400.}
#' }
#' With groups, `leverage` is the largest proportion for each group, and `SE` is that of a sum over groups, whose rows
#' depend on each other. With `joint = TRUE`, `pointwise` has a row for each group.
#'
#' For single rows there are no Pareto k values, because no draws are used. `plot()` shows the leverages instead: where
#' one is above 0.5 the row itself is more than half of what is known there.
#' @section Errors:
#' `galvi_error_data` for fits that do not contain their rows ([row_source()]); `galvi_error_argument` if `group` is
#' not a column or does not have an element for each row. `galvi_warning_cavity` names rows or groups that cannot be
#' predicted from the others.
#' @references
#' Vehtari, A., Mononen, T., Tolvanen, V., Sivula, T. and Winther, O. (2016). Bayesian leave-one-out cross-validation
#' approximations for Gaussian latent variable models. *Journal of Machine Learning Research* 17(103), 1-38.
#' @seealso [kfold()] for refits, [anova.galvi()] to compare fits, [loo_model_weights()] to average them, [plot.galvi()]
#'   for calibration plots and residuals from these predictions.
#' @family checks and comparisons
#' @examplesIf requireNamespace("loo", quietly = TRUE)
#' linear <- galvi(dist ~ speed, data = cars)
#' smooth <- galvi(dist ~ gp(speed), data = cars)
#' loo::loo(smooth)
#' loo::loo_compare(list(linear = loo::loo(linear), smooth = loo::loo(smooth)))
#'
#' # how well are new subjects predicted?
#' fit <- galvi(Reaction ~ Days + (1 | Subject), data = sleepstudy)
#' loo(fit, group = "Subject")
#' @method loo galvi
#' @rawNamespace S3method(loo::loo,galvi)
loo.galvi <- function(x, group = NULL, joint = FALSE, ...) {
  refuse_several_fits(list(group, joint, ...), "loo")
  refuse_foreign(list(...), "loo()")
  if (inherits(x, "galvi_cox")) return(loo.galvi_cox(x, group, joint))
  if (inherits(x, "galvi_stages")) return(loo.galvi_stages(x, group, joint))
  check_has_rows(x, "leave-one-out prediction needs them all; give a data frame to galvi()")
  joint <- check_flag(joint, "joint")
  if (is_imputed(x)) return(loo_of_sets(x, group, joint))
  residual <- !is.null(pure_noise(x))
  if (!is.null(group)) {
    groups <- left_out_groups(x, group)
    return(if (residual) loo_of_residuals(x, groups, joint) else loo_of_groups(x, groups, joint))
  }
  if (joint) stop_galvi("argument", "`joint = TRUE` is for rows that are left out together: give `group`.")
  if (residual) return(loo_of_residuals(x, NULL, FALSE))
  points <- if (identical(uncertainty_method(x), "points")) as_galvi_error(loo_at_points(x))
  x <- factorised_view(x)
  cavity <- as_galvi_error(cavities(x))
  few <- if (!is.null(points)) points$effective < least_effective & !is.na(rowSums(cavity$mean))
  warn_improper(if (is.null(points)) cavity$improper)
  weights <- x$model$weights
  if (is.null(points) || any(few)) {
    sides <- hyper_sides(x, function(fit) row_log_density(fit, cavities(fit)))
    elpd <- row_log_density(x, cavity) + hyper_loss(x, sides)
    # with the observation itself
    lpd <- row_log_density(x, fitted_marginals(x))
  }
  if (!is.null(points)) {
    sides <- averaged_sides(x)
    elpd <- if (any(few)) ifelse(few, elpd, points$without) else points$without
    lpd <- if (any(few)) ifelse(few, lpd, points$with) else points$with
  }
  elpd <- weighted(elpd, weights)
  lpd <- weighted(lpd, weights)
  pointwise <- cbind(elpd_loo = elpd, p_loo = lpd - elpd, looic = -2 * elpd)
  rownames(pointwise) <- observation_names(x)
  structure(
    list(
      estimates = loo_estimates(pointwise, weights), pointwise = pointwise, cavity = cavity[c("mean", "variance")],
      leverage = cavity$leverage, hyper = counted_hyper(sides), family = family_label(x), formula = x$formula
    ),
    yhash = response_hash(x),
    class = c("galvi_loo", "loo")
  )
}

# loo(fit1, fit2) of brms
refuse_several_fits <- function(others, word) {
  if (!any(vapply(others, inherits, NA, "galvi"))) return(invisible())
  stop_galvi("argument", sprintf(
    "%1$s() takes one fit. To compare fits write loo::loo_compare(%1$s(fit1), %1$s(fit2)).", word
  ))
}

# Rows without which fewer of the points count are predicted by the posterior without their sites.
least_effective <- 100

#' Log predictive densities by weighted points: those of the posterior without row n weigh w / p(y_n | point)
#' @return list(without, with: N numbers; effective: of how many points the weights without the row are).
#' @noRd
loo_at_points <- function(fit) {
  share <- pmin(1, fit$model$weights)
  out <- by_density_rows(fit, fitted_points_of(fit), function(own, at) {
    density <- densities_at_points(fit, fit$model, own, at)
    log_weight <- rep(log(own$weight), each = length(at))
    with <- log_weight + density
    without <- log_weight - share[at] * density
    without[is.nan(without)] <- -Inf
    total <- log_sum_exp(without)
    cbind(log_sum_exp(without + density) - total, log_sum_exp(with), exp(2 * total - log_sum_exp(2 * without)))
  })
  list(without = out[, 1L], with = out[, 2L], effective = out[, 3L])
}

#' The posterior of eta_n without one observation's share of site n
#'
#' 1 / v' = 1 / v - lambda, m' / v' = m / v - b with b = alpha + lambda m: m' = m - alpha v'. With inducing
#' points the sites act on what these determine, and the rest of eta's variance is added again.
#'
#' Several states have a cavity each, and without row n they weigh w / p(y_n | its cavity): what the row had said of
#' the hyperparameters goes too.
#' @return Marginals (R/view-states.R), NA where improper; leverage: N; improper: rows.
#' @noRd
cavities <- function(fit) {
  check_one_set(fit, "Leave-one-out prediction of rows")
  check_has_rows(fit, "leave-one-out prediction needs them all; give a data frame to galvi()")
  parts <- by_state(fit, state_cavities)
  leverage <- Reduce(`+`, Map(function(part, w) w * part$leverage, parts, state_weights(fit)))
  improper <- unique(unlist(lapply(parts, `[[`, "improper")))
  weights <- state_weights(fit)
  if (length(parts) > 1L) {
    log_density <- mapply(row_log_density, by_state(fit, identity), parts)
    share <- rep(log(weights), each = nrow(log_density)) - pmin(1, fit$model$weights) * log_density
    weights <- exp(share - apply(share, 1L, max))
    weights <- weights / rowSums(weights)
  }
  c(mixture_marginals(fit, parts, weights), list(leverage = leverage, improper = improper))
}

state_cavities <- function(fit) {
  if (is_stages_view(fit)) return(stage_cavities(fit))
  q <- fit$posterior
  share <- 1 / pmax(fit$model$weights, 1)
  inner <- determined_variance(fit)
  leverage <- share * q$lambda * inner
  # 1 - leverage is a difference of numbers of size 1: below this it has no digits
  proper <- is.finite(leverage) & leverage < 1 - 1e-10
  variance <- ifelse(proper, inner / (1 - leverage), NA_real_)
  apart <- !is_several(fit)
  shift <- if (apart) share * q$alpha * variance else coupled_shift(fit, share, variance)
  list(
    mean = q$mean - shift, variance = variance + extra_variance(fit), leverage = apply(leverage, 1L, max),
    improper = observation_names(fit)[rowSums(!proper) > 0]
  )
}

#' The observations, each under the posterior without it; those that nothing else determines are left out
#' @noRd
loo_target <- function(fit) {
  target <- training_target(fit)
  target["sets"] <- NULL
  cavity <- if (!is_imputed(fit)) cavities(fit) else {
    mixed_marginals(fit, lapply(fit$fits, function(part) cavities(factorised_view(part))[c("mean", "variance",
      "states")]))
  }
  kept <- which(!is.na(rowSums(cavity$mean) + rowSums(cavity$variance)))
  cavity[c("leverage", "improper")] <- NULL
  target$marginals <- marginal_rows(cavity, kept)
  target <- take_row_numbers(target, kept)
  target$names <- target$names[kept]
  # Marginals are known: nobody asks for the rows or the offset.
  target[c("rows", "offset")] <- NULL
  target$n <- length(kept)
  target
}

#' What inducing points leave of eta's variance, and what they determine: N x K
#' @noRd
extra_variance <- function(fit) if (is.null(fit$posterior$extra)) 0 else fit$posterior$extra

determined_variance <- function(fit) fit$posterior$variance - extra_variance(fit)

warn_improper <- function(rows) {
  if (!length(rows)) return(invisible())
  warn_galvi("cavity", sprintf(paste(
    "Without the observation itself, the linear predictor has no proper distribution in %s: its density and the",
    "sums are NA. Give flat priors, normal(0, Inf), a finite sd."
  ), list_rows(rows)))
}

#' Log predictive density of every row's response under marginals of eta
#' @noRd
row_log_density <- function(fit, marginals) {
  model <- fit$model
  if (has_classes(fit)) return(class_log_probability(fit, marginals, model))
  marginals <- with_known(marginals, model$known)
  response_moment(fit, marginals, "log_density", model$size, model$y, censoring = model$censoring)
}

loo_estimates <- function(pointwise, weights) {
  cbind(Estimate = colSums(pointwise), SE = apply(pointwise, 2L, standard_error_of_sum, weights))
}

#' Standard error of a sum over observations: a row of weight w > 1 is w of them, alike, one of weight 0 none
#' @param x What each row adds to the sum.
#' @noRd
standard_error_of_sum <- function(x, weights) {
  count <- ifelse(weights == 0, 0, pmax(weights, 1))
  n <- sum(count)
  if (anyNA(x) || n <= 1) return(NA_real_)
  each <- (x / count)[count > 0]
  count <- count[count > 0]
  sqrt(n / (n - 1) * sum(count * (each - sum(x) / n)^2))
}

# What loo() and waic() have in common.

#' Log densities of responses at points: rows x points
#' @param target What is known of the responses: a target, or the model for the observations. at: which of its rows
#'   the points are at.
#' @noRd
densities_at_points <- function(fit, target, points, at) {
  if (is_custom(fit$family)) return(custom_densities(fit, rep_len(target$y, max(at))[at], points_state(points, at)))
  point_values(points, at, function(state) {
    state_moment(fit, state, "log_density", at, target$size, target$y, NULL, target$censoring, target$counts,
      target$known)
  })
}

# A user's density is called once for each point, with as many rows as there is room for.
by_density_rows <- function(fit, points, f) {
  by_point_rows(points, f, if (is_custom(fit$family)) 10 * rows_by_points else rows_by_points)
}

print_estimates <- function(x, title, digits) {
  n <- nrow(x$pointwise)
  cat(title, ", ", whole_words(n), if (n == 1L) " observation\n" else " observations\n", sep = "")
  print_wrapped(paste0(deparse_one(x$formula), ", ", x$family), 4L)
  cat("\n")
  print(round(x$estimates, digits))
}

#' @export
print.galvi_loo <- function(x, digits = 1L, ...) {
  refuse_print_dots(list(...), print.galvi_loo)
  if (!is.null(x$group)) print_groups(x, digits) else {
    print_estimates(x, "Leave-one-out predictive density", digits)
    cat("\n")
    print_wrapped(sprintf(paste(
      "Each row is predicted by the posterior without it%s: an approximation, without Pareto k as nothing is",
      "sampled. check_fit() says how close the posterior behind it is to the exact one."
    ), without_row_words(x$hyper)))
  }
  still <- uncounted_words(x$hyper, "elpd_loo")
  if (!is.null(still)) print_wrapped(still)
  improper <- sum(is.na(x$pointwise[, "elpd_loo"]))
  what <- if (isTRUE(x$group$joint)) "group" else "row"
  if (improper) {
    print_wrapped(sprintf("NA: %d %s%s determined by nothing but %s.", improper, what,
      if (improper > 1L) "s, each" else "", if (is.null(x$group) || x$group$joint) "itself" else "its group"))
  }
  high <- sum(x$leverage > 0.5, na.rm = TRUE)
  # that groups know most of themselves is no surprise
  if (high && is.null(x$group)) {
    print_wrapped(sprintf(
      "%d row%s more than half of what is known there (leverage > 0.5); a refit without %s would tell more.",
      high, if (high > 1L) "s are each" else " is", if (high > 1L) "them" else "it"
    ))
  }
  invisible(x)
}

without_row_words <- function(hyper, without = "without it") {
  if (!length(hyper$counted)) return("")
  if (hyper$averaged) return(paste(", averaged over the hyperparameters with their weights", without))
  paste(", at the hyperparameters as they would be", without)
}

#' @rdname loo.galvi
#' @param label_points If TRUE, rows with a leverage above 0.5 are labelled with their names. FALSE by default.
#' @param main,xlab,ylab,xlim,ylim,col,pch As in [plot.default()].
#' @export
plot.galvi_loo <- function(x, label_points = FALSE, main = NULL, xlab = NULL, ylab = "Leverage", xlim = NULL,
                           ylim = NULL, col = NULL, pch = 1, ...) {
  refuse_dots(list(...), plot.galvi_loo, "plot()")
  label_points <- check_flag(label_points, "label_points")
  what <- if (is.null(x$group)) "row" else "group"
  main <- or_else(main, sprintf("Leave-one-out: leverage of each %s", what))
  xlab <- or_else(xlab, if (is.null(x$group)) "Row" else "Group")
  row <- seq_along(x$leverage)
  names <- if (is.null(x$group)) rownames(x$pointwise) else names(x$leverage)
  table <- data.frame(row = row, name = names, leverage = unname(x$leverage))
  high <- which(x$leverage > 0.5)
  if (is.null(ylim)) ylim <- c(0, max(1, x$leverage, na.rm = TRUE))
  graphics::plot(row, x$leverage, xlim = xlim, ylim = ylim, main = main, xlab = xlab, ylab = ylab,
    col = or_else(col, 1L), pch = pch)
  graphics::abline(h = 0.5, lty = 2L)
  if (label_points && length(high)) {
    graphics::text(row[high], x$leverage[high], table$name[high], pos = 3L, xpd = NA)
  }
  invisible(table)
}

#' Widely applicable information criterion (WAIC)
#'
#' Computes the WAIC (Watanabe 2010), a method for the generic `waic()` of package loo.
#'
#' @details
#' For each observation the WAIC is the log of its posterior predictive density minus the posterior variance of its log
#' density. Where the posterior is weighted points (`vignette("uncertainty")`), both are sums over these. Elsewhere they are
#' integrals over the Gaussian posterior of the linear predictor, or a mixture of these, and are computed by quadrature;
#' the variance includes that caused by learned hyperparameters, from the states of the mixture, or of one Gaussian by
#' differences as in [loo()][loo.galvi].
#'
#' It is unreliable for observations whose variance, `p_waic`, exceeds 0.4 (Vehtari, Gelman and Gabry 2017); `print()`
#' shows their number. [loo()][loo.galvi] is more robust and should be preferred.
#'
#' @param x A fit of [galvi()].
#' @param ... `newdata`, `re_formula` and `resp`, words of brms, are errors; other arguments are passed over.
#' @return A list of classes `galvi_waic`, `waic` and `loo`, for use in `loo::loo_compare()`: `estimates`, a matrix with
#'   columns `Estimate` and `SE` and rows `elpd_waic`, `p_waic` (the effective number of parameters) and `waic` = -2
#'   `elpd_waic`; `pointwise`, a matrix of the same three measures for each row; and `hyper` as in [loo()][loo.galvi].
#' @section Errors:
#' `galvi_error_argument` for families with several classes, such as [categorical()]; `galvi_error_data` for fits that
#' do not contain their rows ([row_source()]).
#' @references
#' Watanabe, S. (2010). Asymptotic equivalence of Bayes cross validation and widely applicable information criterion in
#' singular learning theory. *Journal of Machine Learning Research* 11, 3571-3594.
#'
#' Vehtari, A., Gelman, A. and Gabry, J. (2017). Practical Bayesian model evaluation using leave-one-out
#' cross-validation and WAIC. *Statistics and Computing* 27, 1413-1432.
#' @family checks and comparisons
#' @examplesIf requireNamespace("loo", quietly = TRUE)
#' loo::waic(galvi(dist ~ speed, data = cars))
#' @method waic galvi
#' @rawNamespace S3method(loo::waic,galvi)
waic.galvi <- function(x, ...) {
  refuse_several_fits(list(...), "waic")
  refuse_foreign(list(...), "waic()")
  check_one_set(x, "waic()")
  check_has_rows(x, "the WAIC needs them all")
  if (!is.null(pure_noise(x))) {
    stop_galvi("argument", "waic() is not for rescor() of gaussian responses: use loo(), which is exact for these.")
  }
  if (is_several(x)) {
    stop_galvi("argument", sprintf(
      "waic() is for responses with one probability per linear predictor; this fit has %d per observation. Use loo().",
      n_latents(x)
    ))
  }
  weights <- x$model$weights
  if (has_points(x)) {
    found <- as_galvi_error(waic_at_points(x))
    sides <- averaged_sides(x)
  } else {
    sides <- hyper_sides(x, function(fit) log_density_moments(fit)$mean)
    found <- list(lpd = row_log_density(x, fitted_marginals(x)), p = log_density_variance(x) + hyper_variance(sides))
  }
  p <- weighted(found$p, weights)
  elpd <- weighted(found$lpd, weights) - p
  pointwise <- cbind(elpd_waic = elpd, p_waic = p, waic = -2 * elpd)
  rownames(pointwise) <- observation_names(x)
  structure(
    list(
      estimates = loo_estimates(pointwise, weights), pointwise = pointwise, hyper = counted_hyper(sides),
      family = family_label(x), formula = x$formula
    ),
    yhash = response_hash(x), class = c("galvi_waic", "waic", "loo")
  )
}

#' list(lpd, p), the log of the mean density and the variance of the log density of each row over weighted points
#' @noRd
waic_at_points <- function(fit) {
  out <- by_density_rows(fit, fitted_points_of(fit), function(own, at) {
    density <- densities_at_points(fit, fit$model, own, at)
    cbind(
      log_sum_exp(rep(log(own$weight), each = length(at)) + density),
      weighted_row_moments(density, own$weight)$variance
    )
  })
  list(lpd = out[, 1L], p = out[, 2L])
}

#' Posterior variance of log p(y_n | eta_n), of a mixture the mean variance and the variance of the means: length N
#' @noRd
log_density_variance <- function(fit) {
  parts <- by_state(fit, log_density_moments)
  weights <- state_weights(fit)
  average <- function(f) Reduce(`+`, Map(function(part, weight) weight * f(part), parts, weights))
  mean <- average(function(part) part$mean)
  average(function(part) part$variance + (part$mean - mean)^2)
}

#' list(mean, variance) of log p(y_n | eta_n) under q(eta_n), with several linear predictors under all of them: N each
#'
#' By the trapezoidal rule, whose error under a Gaussian weight is exp(-2 (pi / step)^2) for smooth functions: 3e-9 with
#' one node a standard deviation.
#' @noRd
log_density_moments <- function(fit) {
  k <- n_latents(fit)
  nodes <- seq(-7, 7, by = if (k > 1L) 1 else 0.5)
  grid <- as.matrix(expand.grid(rep(list(nodes), k)))
  grid <- grid[rowSums(grid^2) < max(nodes)^2, , drop = FALSE]
  weight <- exp(-rowSums(grid^2) / 2)
  weight <- weight / sum(weight)
  m <- fit$posterior$mean
  sd <- sqrt(fit$posterior$variance)
  first <- second <- numeric(nrow(m))
  # about its value at the mean, so that no digits are lost
  centre <- row_log_density(fit, list(mean = m, variance = 0 * m))
  for (i in seq_len(nrow(grid))) {
    eta <- m + sweep(sd, 2L, grid[i, ], `*`)
    value <- row_log_density(fit, list(mean = eta, variance = 0 * m)) - centre
    first <- first + weight[i] * value
    second <- second + weight[i] * value^2
  }
  list(mean = centre + first, variance = pmax(second - first^2, 0))
}

#' @export
print.galvi_waic <- function(x, digits = 1L, ...) {
  refuse_print_dots(list(...), print.galvi_waic)
  print_estimates(x, "Widely applicable information criterion", digits)
  high <- sum(x$pointwise[, "p_waic"] > 0.4)
  if (high) {
    cat("\n")
    print_wrapped(sprintf(
      "%d observation%s with p_waic above 0.4, where the WAIC is not reliable: use loo().", high,
      if (high > 1L) "s" else ""
    ))
  }
  still <- uncounted_words(x$hyper, "elpd_waic")
  if (!is.null(still)) print_wrapped(still)
  invisible(x)
}

# Cavity means where several latents of a row meet in one likelihood (categorical).
#
# A site's b = alpha + lambda m does not change to first order when the mean of eta_n does, which is why the
# other sites may stay. It does when *another* latent of the row moves, by the cross curvature
# H_jk = -d^2 E log p / dm_j dm_k. So the means respond to alpha_n through F = (V^-1 + H)^-1, V the posterior
# covariance of all latents and H here without its diagonal, which V has: with F_n, H_n the K x K blocks of
# row n (and H_nkk = lambda_nk), m - m' = (F_n^-1 - H_n)^-1 alpha_n. With one latent that is
# alpha v / (1 - lambda v).

#' @param share How much of each row is left out.   N
#' @param variance Cavity variances, NA where improper.   N x K
#' @return m - m', N x K.
#' @noRd
coupled_shift <- function(fit, share, variance) {
  q <- fit$posterior
  H <- cross_curvature(fit)
  # stick-breaking: the latents of a row do not meet
  if (max(abs(H)) < 1e-8) return(share * q$alpha * variance)
  response <- mean_response(fit, H)
  shift <- q$alpha
  for (n in seq_len(nrow(shift))) {
    own <- matrix(H[n, , ], ncol(shift))
    diag(own) <- q$lambda[n, ]
    F <- matrix(response[n, , ], ncol(shift))
    # (F^-1 - H)^-1 alpha = (I - F H)^-1 F alpha
    shift[n, ] <- if (anyNA(variance[n, ])) NA else {
      solve(diag(ncol(shift)) - share[n] * F %*% own, share[n] * F %*% q$alpha[n, ])
    }
  }
  shift
}

#' -d^2 E log p / dm_j dm_k, j != k: N x K x K, the diagonal 0
#' @noRd
cross_curvature <- function(fit) {
  q <- fit$posterior
  K <- ncol(q$mean)
  curvature <- as_galvi_error(mean_curvature(fitted_model(fit), q$mean, q$variance, fit$control$threads))
  out <- array(-curvature, c(nrow(q$mean), K, K))
  for (k in seq_len(K)) out[, k, k] <- 0
  out
}

#' The model with the fit's hyperparameters and expectation
#' @noRd
fitted_model <- function(fit) {
  model <- fit$model
  model$hyper$value <- fit$posterior$hyper
  model$expectation <- fit$expectation
  model
}

#' The blocks F_n: N x K x K
#' @noRd
mean_response <- function(fit, H, largest = most_in_class_system) {
  system <- class_system(fit, H, largest)
  if (is.null(system)) return(local_response(fit, H))
  K <- n_latents(fit)
  out <- array(0, c(fit$nobs, K, K))
  for (j in seq_len(K)) {
    for (k in seq_len(K)) {
      part <- system$Z(j, k)
      out[, j, k] <- if (is.null(system$W)) diag(part) else rowSums((system$W %*% part) * system$W)
    }
  }
  out
}

# Some seconds for each side of each hyperparameter.
most_in_class_system <- 1500L

#' What F = W (I + S M)^-1 S W' is made of
#'
#' With eta_k = W z_k and S the covariance of all z (block diagonal), M_jk = W' diag(H_jk) W; full Gaussian processes
#' have W = I. One dense system of all latents' lengths; NULL where that is too large, or singular to working precision.
#' @return list(W: NULL for the identity; Z: function(j, k), the block of (I + S M)^-1 S).
#' @noRd
class_system <- function(fit, H, largest = most_in_class_system) {
  K <- n_latents(fit)
  columns <- lapply(term_rows(fit$model), `[[`, "W")  # NULL of inducing points, whose columns C++ makes
  known <- !is.null(fit$posterior$latent) && !any(vapply(columns, is.null, NA))
  W <- if (known) do.call(cbind, columns)
  L <- if (is.null(W)) fit$nobs else ncol(W)
  if (L * K > largest) return(NULL)
  S <- M <- matrix(0, L * K, L * K)
  covariance <- if (is.null(W)) joint_covariance(fit, training_target(fit)) else {
    lapply(fit$posterior$latent, function(z) tcrossprod(z$chol))
  }
  if (is.null(W)) {
    extra <- matrix(extra_variance(fit), fit$nobs, K)
    covariance <- Map(function(V, k) V - diag(extra[, k], L), covariance, seq_len(K))
  }
  block <- function(k) (k - 1L) * L + seq_len(L)
  for (k in seq_len(K)) {
    S[block(k), block(k)] <- covariance[[k]]
    for (j in seq_len(K)[-k]) {
      M[block(j), block(k)] <- if (is.null(W)) diag(H[, j, k], L) else crossprod(W, H[, j, k] * W)
    }
  }
  Z <- tryCatch(solve(diag(L * K) + S %*% M, S), error = function(e) NULL)
  if (!is.null(Z)) list(W = W, Z = function(j, k) Z[block(j), block(k), drop = FALSE])
}

#' The same if the rows that inform row n had its H, and as many of them as its variances say: with c the
#' prior variance, a = 1 / v - 1 / c and R the correlations of H, F^-1 = diag(1 / v) + (R without its
#' diagonal) o sqrt(a a')
#' @noRd
local_response <- function(fit, H) {
  q <- fit$posterior
  inner <- determined_variance(fit)
  prior <- as_galvi_error(prior_variances(fitted_model(fit), fit$control$threads))
  said <- sqrt(pmax(1 / inner - 1 / (prior - extra_variance(fit)), 0))
  out <- H
  for (n in seq_len(nrow(said))) {
    size <- sqrt(pmax(q$lambda[n, ], 0))
    ratio <- ifelse(size > 0, said[n, ] / size, 0)
    out[n, , ] <- inverse_of(diag(1 / inner[n, ], length(size)) + matrix(H[n, , ], length(size)) * outer(ratio, ratio))
  }
  out
}

# Of a precision matrix. What a wide prior alone determines, as the sum over classes, has next to no precision: it is
# taken to be 1e12 times wider than the rest, which leaves their differences as they are.
inverse_of <- function(P) {
  parts <- eigen((P + t(P)) / 2, symmetric = TRUE)
  values <- pmax(parts$values, 1e-12 * max(parts$values))
  parts$vectors %*% (t(parts$vectors) / values)
}
