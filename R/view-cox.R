# Questions to fits of Cox's model (R/model-cox.R). The fit is of rows of counts; what users ask is about rows of their
# data: hazard ratios, which leave the baseline out, and curves over all intervals.

#' The fit as one of counts: what other families' functions know
#' @noRd
counts_view <- function(fit) {
  class(fit) <- setdiff(class(fit), "galvi_cox")
  fit
}

#' Labels of what belongs to the baseline, as `exclude` has them
#' @noRd
baseline_labels <- function(fit) {
  specs <- fit$design$specs
  c(attr(fit$design$terms, "hidden"), vapply(specs[which_can(specs, "intervals")], `[[`, "", "label"))
}

#' Rows of the data, or of `newdata`, at intervals: all of the first row's before the second's
#'
#' @param intervals Their numbers.
#' @param kept As in new_target().
#' @return A target, and `rows_of`: the names and omitted numbers of the rows alone.
#' @noRd
target_at_intervals <- function(fit, newdata, intervals, kept = NULL, na.action = stats::na.pass) {
  known <- fit$design$intervals
  labels <- factor(known$labels, known$labels)
  count <- length(intervals)
  if (is.null(newdata)) {
    n <- nrow(known$frame)
    target <- target_of_pieces(fit, frame_of_counts(known$frame, rep(seq_len(n), each = count), numeric(n * count),
      rep(labels[intervals], n), numeric(n * count)), kept)
    target$rows_of <- list(names = row.names(known$frame), omitted = NULL, n = n)
    return(target)
  }
  newdata <- as.data.frame(as_new_data(newdata))
  n <- nrow(newdata)
  rows <- new_pieces(newdata, count, stats::setNames(list(rep(labels[intervals], n), numeric(n * count)),
    cox_names[c("interval", "exposure")]))
  target <- new_target(fit, rows, na.action, kept = kept)
  left <- unique((target$omitted - 1L) %/% count + 1L)
  target$names <- as.character(seq_len(nrow(rows)))
  target$rows_of <- list(names = row.names(newdata), omitted = if (length(left)) left, n = n - length(left))
  target
}

# ---- hazard ratios ----

#' Which terms hazard ratios have
#' @noRd
kept_in_ratios <- function(fit, re_formula = NULL, terms = NULL, exclude = NULL) {
  both_kept(kept_effects(fit, re_formula), kept_terms(fit, terms, union(exclude, baseline_labels(fit))))
}

#' The log hazard ratio of rows: a target
#' The reference are covariates at their means over the data.
#' @param by_term For predict_terms(), which expects columns that are not centred yet?
#' @noRd
ratio_target <- function(fit, newdata, kept, na.action = stats::na.pass, by_term = FALSE) {
  view <- rows_view(fit)
  fit <- counts_view(fit)
  target <- target_at_intervals(fit, newdata, 1L, kept, na.action)
  target[c("names", "omitted")] <- target$rows_of[c("names", "omitted")]
  t <- match(fixed_label, fit$design$labels)
  if (is.na(t)) return(target)
  spec <- fit$design$specs[[t]]
  weights <- view$model$weights
  X <- printed_columns(spec, view$data)
  X[, !rep_len(kept[[1L]][[t]], ncol(X))] <- 0
  shift <- -colSums(weights * X) / sum(weights)
  if (by_term) shift <- shift + colMeans(printed_columns(spec, view$data)) - or_else(spec$coding$centre, 0)
  if (!is.null(spec$coding)) shift <- drop(shift %*% spec$coding$B)
  target$rows[[1L]][[t]]$W <- sweep(target$rows[[1L]][[t]]$W, 2L, shift, `+`)
  target
}

#' The same view with one row for each row of the data, for centres of terms
#' @noRd
rows_view <- function(fit) {
  known <- fit$design$intervals
  fit <- counts_view(fit)
  fit$data <- known$frame
  fit$nobs <- nrow(known$frame)
  fit$model$weights <- known$weights
  fit
}

#' The fit as plots of effects see it: without the baseline, against covariates at their means
#' @noRd
effects_view <- function(fit) {
  known <- fit$design$intervals
  n <- nrow(known$frame)
  view <- counts_view(fit)
  view$data <- frame_of_counts(known$frame, seq_len(n), numeric(n), factor(rep(known$labels[1L], n), known$labels),
    numeric(n))
  attr(view$data, "row_names_are") <- NULL
  # of a row there is no response to draw
  view$nobs <- -1L
  view$reference <- TRUE
  view
}

#' Rows of a fit as effects_view() has them: without the baseline and what changes in time, fixed effects less their
#' means; of other fits as they are
#' @param terms Rows of each term.
#' @noRd
against_reference <- function(fit, terms) {
  if (is.null(fit$reference)) return(terms)
  for (t in which(which_can(fit$design$specs, "intervals"))) {
    terms[[t]] <- without_effects(terms[[t]], FALSE, NROW(terms[[t]]$node))
  }
  t <- match(fixed_label, fit$design$labels)
  if (is.na(t)) return(terms)
  spec <- fit$design$specs[[t]]
  weights <- fit$design$intervals$weights
  mean <- colSums(weights * printed_columns(spec, fit$data)) / sum(weights)
  mean[!shown_columns(spec)] <- 0
  W <- without_columns(terms[[t]]$W, shown_columns(spec), spec$coding)
  terms[[t]]$W <- sweep(W, 2L, if (is.null(spec$coding)) mean else drop(mean %*% spec$coding$B))
  terms
}

#' One row for each stratum with covariates at their means, and without other terms, at all intervals: a target as of
#' target_at_intervals()
#' @noRd
reference_target <- function(fit) {
  known <- fit$design$intervals
  view <- counts_view(fit)
  count <- length(known$labels)
  stratum <- if (is.null(known$strata)) rep(1L, nrow(known$frame)) else known$frame[[variable_name(known$strata)]]
  first <- which(!duplicated(stratum))
  first <- first[order(stratum[first])]
  n <- length(first)
  target <- target_of_pieces(view, frame_of_counts(known$frame, rep(first, each = count), numeric(n * count),
    factor(rep(known$labels, n), known$labels), numeric(n * count)))
  specs <- view$design$specs
  mean <- function(x) sum(known$weights * x) / sum(known$weights)
  for (t in seq_along(specs)) {
    own <- target$rows[[1L]][[t]]
    target$rows[[1L]][[t]] <- if (identical(specs[[t]]$type, fixed_label)) {
      X <- printed_columns(specs[[t]], known$frame)
      at <- X[rep(first, each = count), , drop = FALSE]
      shown <- shown_columns(specs[[t]])
      at[, shown] <- rep(apply(X[, shown, drop = FALSE], 2L, mean), each = n * count)
      list(W = coded(at, specs[[t]]$coding))
    } else if (term_can(specs[[t]], "intervals")) {
      x <- if (!is.null(specs[[t]]$by)) known$frame[[variable_name(specs[[t]]$by)]]
      if (is.numeric(x)) replace(own, "weight", list(rep(mean(x), n * count))) else own
    } else {
      without_effects(own, FALSE, n * count, specs[[t]])
    }
  }
  target$offset[] <- 0
  names <- if (is.null(known$strata)) "1" else as.character(stratum[first])
  if (head_name(known$strata) == "factor") names <- paste(deparse_one(known$strata[[2L]]), "=", names)
  target$rows_of <- list(names = names, omitted = NULL, n = n)
  target
}

# ---- curves ----

# Draws of the log hazards of all intervals; always the same, and with the exact posterior mean.
curve_draws <- 2000L

#' Survival probabilities, cumulative hazards, hazards or restricted means: n x T, or n x T x 3 with limits
#' @noRd
predict_cox_curves <- function(fit, target, what, options) {
  known <- fit$design$intervals
  fit <- counts_view(fit)
  count <- length(known$labels)
  times <- options$at
  limited <- options$interval == "credible"
  n <- target$rows_of$n
  out <- array(NA_real_, c(n, length(times), if (limited) 3L else 1L))
  at_once <- max(1L, 2e6 %/% (curve_draws * count))
  for (own in split(seq_len(n), (seq_len(n) - 1L) %/% at_once)) {
    some <- target_rows(target, as.vector(outer(seq_len(count), (own - 1L) * count, `+`)))
    mean <- latent_marginals(fit, some)$mean[, 1L]
    eta <- with_seed(1, over_draws(fit, some, curve_draws, function(view, target, eta) eta[, 1L]))
    hazard <- exp(eta + rep(mean - colMeans(eta), each = curve_draws))
    stratum <- strata_of_target(fit, some, count)
    for (i in seq_along(own)) {
      value <- cox_curve(what, hazard[, (i - 1L) * count + seq_len(count), drop = FALSE], known, stratum[i], times)
      out[own[i], , 1L] <- colMeans(value)
      if (limited) {
        out[own[i], , 2:3] <- t(apply(value, 2L, function(x) {
          if (anyNA(x)) c(NA, NA) else stats::quantile(x, tails(options$level), names = FALSE)
        }))
      }
    }
  }
  names <- format(times, trim = TRUE, digits = 7)
  if (limited) return(`dimnames<-`(out, list(NULL, names, c("fit", "lwr", "upr"))))
  matrix(out, n, length(times), dimnames = list(NULL, names))
}

#' Posterior means of the cumulative hazard of each row between its entry and its end
#' @param target From target_at_intervals(), at all of them. @param times From follow_up().
#' @noRd
expected_events <- function(fit, target, times) {
  known <- fit$design$intervals
  view <- counts_view(fit)
  count <- length(known$labels)
  hazard <- response_moment(view, latent_marginals(view, target), "mean")
  stratum <- strata_of_target(view, target, count)
  vapply(seq_len(target$rows_of$n), function(i) {
    if (is.na(times$stop[i])) return(NA_real_)
    own <- matrix(hazard[(i - 1L) * count + seq_len(count)], 1L)
    diff(drop(cox_curve("cumhaz", own, known, stratum[i], c(times$start[i], times$stop[i]))))
  }, 0)
}

#' The stratum of each row, by the node of its first interval
#' @noRd
strata_of_target <- function(fit, target, count) {
  t <- match("baseline", fit$design$labels)
  n <- target$n / count
  if (is.na(t)) return(rep(1L, n))
  (target$rows[[1L]][[t]]$node[seq(1L, by = count, length.out = n), 1L] - 1L) %/% count + 1L
}

#' One row's curve, draws x T, from its hazards in all intervals, draws x K
#' @noRd
cox_curve <- function(what, hazard, known, stratum, times) {
  at <- if (known$events) which(known$own[, stratum]) else seq_along(known$low)
  hazard <- hazard[, at, drop = FALSE]
  high <- known$high[at]
  low <- if (known$events) c(known$low[1L], high)[seq_along(high)] else known$low
  exposure <- if (known$events) outer(high, times, `<=`) + 0 else pmax(outer(high, times, pmin) - low, 0)
  switch(what,
    cumhaz = hazard %*% exposure,
    survival = exp(-hazard %*% exposure),
    hazard = {
      k <- pmax(1L, if (known$events) findInterval(times, high, left.open = TRUE) + 1L else {
        findInterval(times, low, left.open = TRUE)
      })
      # NA after the last event
      if (known$events) hazard <- hazard / rep(high - low, each = nrow(hazard))
      hazard[, ifelse(k > ncol(hazard), NA_integer_, k), drop = FALSE]
    },
    rmst = restricted_means(hazard, low, high, known$events, times)
  )
}

#' Areas below survival curves from the beginning to each of `times`: draws x T
#' @noRd
restricted_means <- function(hazard, low, high, events, times) {
  K <- ncol(hazard)
  width <- high - low
  width[K] <- if (events) width[K] else 0
  total <- if (events) hazard else hazard * rep(width, each = nrow(hazard))
  # survival at the beginning of each interval, and after the last
  survival <- matrix(1, nrow(hazard), K + 1L)
  for (k in seq_len(K)) survival[, k + 1L] <- survival[, k] * exp(-total[, k])
  matrix(vapply(times, function(time) {
    spent <- pmax(pmin(high, time) - low, 0)
    if (events) return(drop(survival %*% c(spent, max(0, time - high[K]))))
    mean <- hazard * rep(spent, each = nrow(hazard))
    share <- ifelse(mean > 1e-8, -expm1(-mean) / mean, 1)
    rowSums(survival[, seq_len(K), drop = FALSE] * share * rep(spent, each = nrow(hazard)))
  }, numeric(nrow(hazard))), nrow(hazard))
}

# ---- pieces ----

#' The fit with a row for each piece of the follow-up of each row of the data, which is not shared with others
#' @noRd
pieces_view <- function(fit) {
  known <- fit$design$intervals
  pieces <- known$pieces
  at <- pieces$at
  shift <- log(pieces$exposure) - fit$data[[cox_names[["exposure"]]]][at]
  weight <- known$weights[pieces$row]
  moved <- function(posterior) {
    own <- intersect(c("mean", "variance", "extra", "alpha", "lambda", "b"), names(posterior))
    posterior[own] <- lapply(posterior[own], take_rows_of, at)
    posterior$mean <- posterior$mean + shift
    if (is.null(posterior$lambda)) return(posterior)
    # eta less its prior mean is that of the row of counts
    f <- (posterior$b - posterior$alpha) / unit_if_zero(posterior$lambda)
    rate <- exp(posterior$mean + posterior$variance / 2)
    posterior$alpha <- weight * (pieces$event - rate)
    posterior$lambda <- weight * rate
    posterior$b <- posterior$alpha + posterior$lambda * f
    posterior
  }
  view <- counts_view(fit)
  view$model <- model_of_rows(fit$model, at)
  view$model[c("y", "size", "weights")] <- list(pieces$event, rep(1, length(at)), weight)
  view$model$offset <- view$model$offset + shift
  view$model["shares"] <- NULL
  view$data <- fit$data[at, , drop = FALSE]
  view$nobs <- length(at)
  view["na.action"] <- list(NULL)
  view$posterior <- moved(view$posterior)
  if (!is.null(view$factorised)) view$factorised <- moved(view$factorised)
  if (!is.null(view$states)) {
    view$states <- lapply(view$states, function(state) replace(state, "posterior", list(moved(state$posterior))))
  }
  view
}

#' What the log density of each row's counts has beside that of its time
#' @noRd
count_constants <- function(fit) {
  pieces <- fit$design$intervals$pieces
  over_pieces(fit, fit$design$intervals$weights[pieces$row] * pieces$event * log(pieces$exposure))
}

#' Posterior mean of the cumulative hazard of each row over its follow-up
#' @noRd
mean_cumulative_hazards <- function(fit) {
  view <- pieces_view(fit)
  over_pieces(fit, response_moment(view, fitted_marginals(view), "mean"))
}
