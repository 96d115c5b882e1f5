# Draws from the posterior: of functions at rows, jointly over the rows, and of coefficients and hyperparameters.

#' Posterior draws
#'
#' Draws from the posterior of the linear predictor, of the mean response, of new responses and of the log likelihood,
#' by the generics of packages rstantools and posterior. Draws are joint over rows, so functions of several rows, such
#' as contrasts, maxima or exceedance probabilities, can be computed from them.
#'
#' @details
#' Load rstantools or posterior to use these functions, or write `rstantools::posterior_epred(fit)`.
#'
#' Draws come from the posterior that [coef()][coef.galvi] and `vcov()` describe: where it is one of coefficients and
#' hyperparameters together, each draw has its own hyperparameters. Where hyperparameters are taken as known (`summary()`
#' says so), `as_draws()` draws them from the normal approximation that gives the limits in `fit$hyper`, independently of
#' the coefficients. Fixed hyperparameters are left out; those that the data do not determine are constant.
#'
#' With several classes the linear predictors of a row are drawn jointly or independently, as described in
#' [coef()][coef.galvi]. With a full [gp()] the covariance matrix of all requested rows is formed and factorised.
#'
#' @param object,x A fit of [galvi()].
#' @param transform If TRUE, apply the inverse link. FALSE by default.
#' @param newdata A data frame with the variables of the formula (for `log_lik()` also the response). NULL, the default,
#'   stands for the observations. For [responses()] a row for each new unit: draws are of its entries, the first column
#'   of all units before the second.
#' @param ndraws Number of draws, a positive whole number; 1000 by default. `draws` and `nsamples`, its names in other
#'   packages, are taken too.
#' @param seed A whole number makes draws reproducible, and leaves the state of R's random numbers as it was. NULL, the
#'   default, draws from that state ([set.seed()]).
#' @param re_formula,dpar As in [predict()][predict.galvi]; `re.form` is the same as `re_formula`.
#' @param row.names,optional As in [as.data.frame()].
#' @param prob Probability of the intervals, between 0 and 1; 0.9 by default.
#' @param pars Names of coefficients and hyperparameters; NULL (the default) for all.
#' @param fun A function, or its name, that is applied to the draws of `posterior_predict()`; NULL (the default) for none.
#' @param ... Words of brms and rstanarm: `allow_new_levels = FALSE` makes groups of `newdata` that are not in the data an
#'   error; `variable` (with `regex = TRUE` regular expressions) and `regex_pars` choose parameters for
#'   `posterior_interval()` and `as_draws()`. `offset`, `draw_ids`, `summary`, `resp` and `nlpar` are errors, which say
#'   what there is instead. Other arguments are passed over.
#' @return
#' * `posterior_linpred()`: draws x rows; for several latent values an array, draws x rows x latent values.
#' * `posterior_epred()`: the mean of the response (of one trial, if it counts successes), draws x rows; for responses
#'   with classes their probabilities, draws x rows x classes.
#' * `posterior_predict()`: new responses, draws x rows: numbers, counts of successes (of as many trials as `newdata`
#'   says, see [predict()][predict.galvi]), 0 and 1 for a binary response, or the number of the class with the classes
#'   as attribute `levels`.
#' * `log_lik()`: log p(y | eta), times the weight of the row where weights multiply the log likelihood, draws x rows;
#'   of gaussian [responses()] with `rescor()` draws x units, the density of a unit's responses together.
#' * `predictive_interval()`: central intervals of the draws of `posterior_predict()`, a row for each observation;
#'   `predictive_error()`: the response less these draws, a matrix as theirs.
#' * `posterior_interval()`: a matrix of credible intervals with a row per coefficient and learned hyperparameter. It is
#'   computed from the posterior without draws.
#' * `as_draws()`: a `draws_matrix` of package posterior with a variable per coefficient, named as in [coef()], and per
#'   hyperparameter that is not fixed, named as in `fit$hyper`. `as_draws_df()`, `as_draws_list()`, `as_draws_array()`,
#'   `as_draws_rvars()` and `as_draws_matrix()` have the same draws in their formats, and the same arguments;
#'   `as.matrix()` and `as.data.frame()` have them without that package.
#' @section Errors:
#' `galvi_error_argument` if an argument is not as described; `galvi_error_newdata` if `newdata` lacks a variable.
#' @references
#' Gelman, A., Carlin, J. B., Stern, H. S., Dunson, D. B., Vehtari, A. and Rubin, D. B. (2013). *Bayesian Data
#' Analysis*, 3rd edition. Chapman and Hall/CRC.
#' @seealso [predict.galvi()] for means and intervals without draws, [simulate.galvi()], `vignette("uncertainty")`.
#' @family predictions and draws
#' @examplesIf requireNamespace("rstantools", quietly = TRUE)
#' fit <- galvi(dist ~ gp(speed), data = cars)
#' at <- data.frame(speed = seq(4, 25, length.out = 50))
#' set.seed(1)
#' f <- rstantools::posterior_epred(fit, newdata = at, ndraws = 200)
#' # a contrast: the difference in stopping distance between speeds 20 and 10, with a credible interval
#' difference <- f[, which.min(abs(at$speed - 20))] - f[, which.min(abs(at$speed - 10))]
#' quantile(difference, c(0.025, 0.5, 0.975))
#' # exceedance: speeds at which the mean distance is above 40 feet with probability 0.95
#' range(at$speed[colMeans(f > 40) > 0.95])
#' # where does the function increase most?
#' table(round(at$speed[apply(f, 1, function(f) which.max(diff(f)))]))
#' # credible intervals of coefficients and hyperparameters
#' rstantools::posterior_interval(fit, prob = 0.95)
#' @name draws
NULL

# ---- what they share ----

# The number of draws, also by the names that rstanarm and earlier versions of brms have for it.
words_for_draws <- c("draws", "nsamples")

asked_draws <- function(ndraws, dots) {
  check_whole(or_else(dots[["draws"]], or_else(dots[["nsamples"]], ndraws)), "ndraws")
}

#' @param averages May means be taken over groups?
#' @param kept From kept_effects() or given_effects().
#' @param dots Where other packages' words for new groups may be.
#' @noRd
draws_target <- function(fit, newdata, re_formula = NULL, response = FALSE, averages = FALSE,
                         kept = if (averages) kept_in_prediction(fit, re_formula) else kept_effects(fit, re_formula),
                         dots = list()) {
  new_levels <- dots_allow_new_levels(dots)
  if (is.null(newdata)) return(without_target_effects(fit, training_target(fit), kept))
  if (!is.null(fit$design$wide)) newdata <- new_entries(fit, newdata)
  target <- new_target(fit, newdata, response = response, kept = kept)
  if (!new_levels) check_known_levels(fit$design, target$rows)
  target
}

#' Which parameters are asked for: by `pars`, by brms' `variable` (with `regex = TRUE` patterns) or by rstanarm's
#' `regex_pars`
#' @param names Of all parameters.
#' @return Their positions; NULL for all.
#' @noRd
asked_parameters <- function(names, dots, pars = NULL) {
  words <- list(pars = pars, variable = dots[["variable"]], regex_pars = dots[["regex_pars"]])
  pattern <- c(FALSE, isTRUE(dots[["regex"]]), TRUE)
  at <- Map(function(given, word, pattern) {
    unlist(lapply(given, function(name) {
      found <- if (pattern) grep(name, names) else which(without_backticks(names) == without_backticks(name))
      if (length(found)) return(found)
      stop_galvi("argument", sprintf(
        "`%s` must name coefficients or hyperparameters, not %s; this fit has %s.", word, quote_names(name, "\""),
        quote_names(names, "\"", 30L)
      ))
    }))
  }, words, base::names(words), pattern)
  unique(unlist(at))
}

#' Where the draws come from: which state, and the values of all hyperparameters
#'
#' The states are few: hyperparameters are drawn from the density that interpolates them, and the states go to the
#' draws that are nearest, as many to each as it weighs.
#' @return list(state: n numbers, hyper: n x H).
#' @noRd
draw_plan <- function(fit, n) {
  posterior <- fit$hyper_posterior
  values <- fit$posterior$hyper
  state <- rep(1L, n)
  if (has_points(fit)) {
    at <- drawn_points(fit$points$weight, n)
    return(list(state = at, hyper = point_hyper(fit)[at, , drop = FALSE]))
  }
  if (states_are_draws(fit)) {
    state <- drawn_points(state_weights(fit), n)
    return(list(state = state, hyper = hyper_of_states(fit)[state, , drop = FALSE]))
  }
  if (is.null(posterior)) return(list(state = state, hyper = matrix(values, n, length(values), byrow = TRUE)))
  resampled <- !is.null(posterior$design)
  count <- if (resampled) min(max(20L * n, 2000L), 50000L) else n
  points <- hyper_points(posterior, matrix(stats::runif(count * length(posterior$free)), count))
  drawn <- if (resampled) sample.int(count, n, TRUE, points$weight) else seq_len(n)
  if (length(fit_states(fit)) > 1L) state <- nearest_states(points$z[drawn, , drop = FALSE], posterior)
  list(state = state, hyper = natural_hyper(fit$model, values, points$x[drawn, , drop = FALSE]))
}

#' n of the points, each as often as it weighs but for less than one, in random order
#' @noRd
drawn_points <- function(weight, n) {
  at <- findInterval((seq_len(n) - stats::runif(1L)) / n, cumsum(weight)) + 1L
  pmin(at, length(weight))[sample.int(n)]
}

#' A state for each row of z: as many of each as a draw by the weights gives, those far from the centre first
#' @noRd
nearest_states <- function(z, posterior) {
  n <- nrow(z)
  states <- length(posterior$weight)
  count <- tabulate(sample.int(states, n, TRUE, posterior$weight), states)
  at <- stretched_points(posterior)
  state <- integer(n)
  left <- seq_len(n)
  for (s in order(-rowSums(posterior$z^2), stats::runif(states))) {
    if (count[s] == 0L) next
    away <- colSums((t(z[left, , drop = FALSE]) - at[s, ])^2)
    taken <- left[order(away)[seq_len(count[s])]]
    state[taken] <- s
    left <- setdiff(left, taken)
  }
  state
}

#' f() of draws of eta: draws x rows, or draws x rows x columns where f has several
#'
#' @param f f(fit, target, eta), with the fit at one state and a target and eta (x K) with a row for every row of every
#'   draw: a vector, or a matrix with a column per name.
#' @param names Of the columns; NULL for a vector.
#' @param seed For these draws alone; NULL for none.
#' @noRd
over_draws <- function(fit, target, ndraws, f, names = NULL, seed = NULL) {
  if (!is.null(seed)) return(with_seed(seed, over_draws(fit, target, ndraws, f, names)))
  ndraws <- check_whole(ndraws, "ndraws")
  if (!is.null(target$sets)) {
    return(drawn_from_parts(fit, ndraws, function(i, count) over_draws(fit$fits[[i]], target$sets[[i]], count, f, names)))
  }
  plan <- draw_plan(fit, ndraws)$state
  width <- max(1L, length(names))
  n <- target$n
  kept <- kept_rows(target)
  used <- which(!is.na(kept))
  empty <- function() array(NA_real_, c(ndraws, length(kept), width))
  out <- if (n == 0L) empty()
  if (n > 0L) {
    # with cs() the model's rows are drawn, of which a row of the data has several
    modelled <- if (is_stages_view(fit)) fit$stages$fit else fit
    at <- model_and_rows(modelled, target$rows)
    with_memory(draws_size(fit, n, ndraws, width), threads = fit$control$threads, {
      out <- empty()
      points <- if (has_points(fit)) points_at(modelled, target$rows, n * rows_each(fit))
      for (s in unique(plan)) {
        own <- which(plan == s)
        view <- if (is.null(points)) at_state(fit, fit_states(fit)[[s]]) else at_hyper(fit, points$hyper[s, ])
        eta <- if (!is.null(points)) drawn_eta(one_point(points, s), length(own)) else if (is_coupled(view)) {
          coupled_draws(view, at$rows, length(own))
        } else {
          draw_latent(at$model, view$posterior, at$rows, length(own), fit$control$threads)
        }
        if (is_stages_view(fit)) eta <- drawn_by_stage(eta[[1L]], fit$stages$count)
        # some draws at a time, which needs less memory
        for (part in split(seq_along(own), (seq_along(own) - 1L) %/% max(1L, 1e6 %/% n))) {
          count <- length(part)
          some <- lapply(seq_along(eta), function(k) as.vector(eta[[k]][, part] + target$offset[, k]))
          values <- by_target_part(view, repeat_rows(target, count), do.call(cbind, some), f)
          values <- aperm(array(values, c(n, count, width)), c(2L, 1L, 3L))
          out[own[part], used, ] <- values[, kept[used], , drop = FALSE]
        }
      }
    })
  }
  # in place: `dimnames<-`(out, ..) would copy
  if (is.null(names)) dim(out) <- c(ndraws, length(kept))
  dimnames(out) <- if (is.null(names)) list(NULL, target$names) else list(NULL, target$names, names)
  out
}

#' The target's rows again and again, as far as a likelihood asks for them
#' @noRd
repeat_rows <- function(target, times) {
  again <- rep(seq_len(target$n), times)
  target <- take_row_numbers(target, again)
  if (!is.null(target$averaged)) target$averaged <- lapply(target$averaged, lapply, part_rows, again)
  target$n <- length(again)
  target
}
