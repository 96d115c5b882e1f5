# Posteriors of few unknowns as weighted points (src/fit/weighted_points.h): `fit$points` is a list of
# * `coefficients`: for each linear predictor a matrix, points x coefficients of all its terms, term after term, coded
#   columns before nodes;
# * `hyper`: points x learned hyperparameters, as the table has them; `at`: their positions in it;
# * `weight`: of the points, of sum one.
# `fit$posterior` has the points' moments. A linear predictor, a parameter or a response is a number at each point, so
# that questions about them are weighted sums and quantiles.

has_points <- function(fit) !is.null(fit$points)

# What `fit$posterior` has of the points or of a mixture, and `fit$factorised` of q at the estimated hyperparameters.
mixed_moments <- c("mean", "variance", "coefficients")

#' The fit with what the core found as points
#'
#' @param found list(coefficients: S x L, hyper: S x learned, unconstrained; weight).
#' @noRd
with_points <- function(fit, found) {
  kept <- which(found$weight > 1e-8 * max(found$weight))
  weight <- found$weight[kept]
  widths <- vapply(seq_len(n_latents(fit)), function(k) sum(coefficient_counts(fit$model, k)), 0)
  ends <- cumsum(widths)
  learned <- which(fit$model$hyper$learned)
  hyper <- natural_hyper(fit$model, fit$posterior$hyper, found$hyper[kept, , drop = FALSE])
  fit$points <- list(
    coefficients = Map(function(width, end) {
      unname(found$coefficients[kept, end - width + seq_len(width), drop = FALSE])
    }, widths, ends),
    hyper = hyper[, learned, drop = FALSE], at = learned, weight = weight / sum(weight)
  )
  fit$factorised <- fit$posterior[mixed_moments]
  rows <- fitted_points_of(fit)
  fit$posterior[c("mean", "variance")] <- point_moments(rows, fit$points$weight)
  fit$posterior$coefficients <- lapply(fit$posterior$coefficients, point_coefficients, fit)
  fit
}

#' The fit without them: q as its bound and its sites know it
#' @noRd
without_points <- function(fit) {
  # of several data sets there is no one q
  if (!has_points(fit) || is_imputed(fit)) return(fit)
  fit$posterior[mixed_moments] <- fit$factorised
  fit["points"] <- NULL
  fit
}

#' The fit as its bound and its sites know it, at the estimated hyperparameters
#' @noRd
at_estimates <- function(fit) {
  fit <- without_points(fit)
  if (is.null(fit$states) || is.null(fit$factorised)) return(fit)
  fit$posterior[mixed_moments] <- fit$factorised
  fit["states"] <- NULL
  fit
}

penalised_columns <- function(penalty) if (is.null(penalty$roots)) nrow(penalty$diagonal) else ncol(penalty$roots[[1L]])

# Numbers of coefficients of the terms of latent value k: of columns, or of nodes.
coefficient_counts <- function(model, k) {
  vapply(prior_terms(model, k), function(term) {
    if (!is.null(term$field)) return(field_nodes(term$field))
    length(term$mean) + sum(vapply(term$penalties, penalised_columns, 0L))
  }, 0)
}

# Which of the coefficients of latent value k are a term's; NULL where it has no such term.
positions_of_term <- function(model, k, label) {
  counts <- coefficient_counts(model, k)
  t <- match(label, vapply(prior_terms(model, k), `[[`, "", "label"))
  if (!is.na(t)) sum(counts[seq_len(t - 1L)]) + seq_len(counts[t])
}

# A term's coefficients at the points, as a block of the posterior's `coefficients`.
point_coefficients <- function(block, fit) {
  for (i in seq_along(block$latents)) {
    k <- block$latents[i]
    own <- positions_of_term(fit$model, k, block$label)
    moments <- weighted_moments(fit$points$coefficients[[k]][, own, drop = FALSE], fit$points$weight)
    block$mean[, i] <- moments$mean
    block$covariance[[i]] <- moments$covariance
  }
  block
}

#' @param x S x q, points in rows. @return list(mean, covariance)
#' @noRd
weighted_moments <- function(x, weight) {
  own <- moments_of_columns(x, weight, 1L)
  names <- colnames(x)
  list(mean = stats::setNames(own$mean, names), covariance = `dimnames<-`(own$second, list(names, names)))
}

# Of a function, from the means of its square and of itself; infinite where the square is too large for a number.
variance_by_square <- function(square, mean) ifelse(is.infinite(square), Inf, pmax(0, square - mean^2))

# ---- rows ----

# `points` of marginals: what gives eta at all points. A list of `W`: for each latent value rows x coefficients; `new`:
# for each latent value the parts of rows in groups that were not observed, or NULL; `averaged`: parts of groups over
# which means are taken (R/view-groups.R), or not there; `offset`: rows x K; and `coefficients`, `hyper` (points x all
# hyperparameters) and `weight` of the fit.

#' @param rows As in a target: for each predictor a list of terms.
#' @param term NULL, or the number of the only term that counts.
#' @noRd
points_at <- function(fit, rows, n, offset = matrix(0, n, n_latents(fit)), term = NULL) {
  own <- lapply(seq_len(n_latents(fit)), function(k) {
    plain_rows(fit, rows[[predictor_of(fit$model, k)$design]], k, n, term)
  })
  list(
    W = lapply(own, `[[`, "W"), new = lapply(own, `[[`, "new"), offset = offset,
    coefficients = fit$points$coefficients, hyper = point_hyper(fit), weight = fit$points$weight
  )
}

fitted_points_of <- function(fit) points_at(fit, fit$model$designs, nrow(fit$model$offset), fit$model$offset)

#' All hyperparameters at the points: S x H
#' @noRd
point_hyper <- function(fit) {
  values <- fit$posterior$hyper
  out <- matrix(values, length(fit$points$weight), length(values), byrow = TRUE)
  out[, fit$points$at] <- fit$points$hyper
  out
}

#' Rows as functions of the coefficients of latent value k
#' @return list(W: n x coefficients; new: for each term with unobserved groups list(spec, group: n x h, effect: n x h,
#'   weight: n x h)).
#' @noRd
plain_rows <- function(fit, rows, k, n, only = NULL) {
  counts <- coefficient_counts(fit$model, k)
  specs <- own_specs(fit, k)
  W <- matrix(0, n, sum(counts))
  new <- list()
  for (t in seq_along(counts)) {
    if (!is.null(only) && t != only) next
    row <- rows[[t]]
    before <- sum(counts[seq_len(t - 1L)])
    if (is.null(row$node)) {
      W[, before + seq_len(counts[t])] <- row$W
      next
    }
    node <- as.matrix(row$node)
    weight <- matrix(if (is.null(row$weight)) 1 else row$weight, n, ncol(node))
    for (h in seq_len(ncol(node))) {
      known <- which(node[, h] > 0 & node[, h] <= counts[t])
      at <- cbind(known, before + node[known, h])
      W[at] <- W[at] + weight[known, h]
    }
    if (any(node > counts[t])) {
      q <- max(1L, length(specs[[t]]$columns))
      node[node <= counts[t]] <- NA
      # of copies for each level of `by` the new nodes come one copy after the other
      copies <- if (specs[[t]]$type %in% bars) 1L else copies_of(specs[[t]])
      more <- (field_nodes(row$extension$field) - counts[t]) / copies
      effect <- if (copies > 1L) (node - counts[t] - 1L) %/% more + 1L else (node - 1L) %% q + 1L
      new[[length(new) + 1L]] <- list(
        spec = specs[[t]], group = (node - 1L) %/% q, effect = effect, weight = weight
      )
    }
  }
  list(W = W, new = if (length(new)) new)
}

# The terms of latent value k, as a view of one predictor or the fit itself has them.
own_specs <- function(fit, k) {
  if (n_predictors(fit) == 1L || k == 1L) fit$design$specs else fit$design$others[[k - 1L]]$specs
}

#' Some rows of the points of marginals; those of one latent value
#' @noRd
point_rows <- function(points, at) {
  points$W <- lapply(points$W, function(W) W[at, , drop = FALSE])
  points$new <- lapply(points$new, function(new) {
    lapply(new, part_rows, at)
  })
  points$averaged <- lapply(points$averaged, lapply, part_rows, at)
  points$offset <- points$offset[at, , drop = FALSE]
  points
}

point_latent <- function(points, k) {
  own <- intersect(c("W", "new", "coefficients", "averaged"), names(points))
  points[own] <- lapply(points[own], `[`, k)
  points$offset <- points$offset[, k, drop = FALSE]
  points
}

#' eta of latent value k: rows x points
#'
#' @param z Standard normal numbers, one for each point, for groups that were not observed: their effects have the
#'   prior at the point's hyperparameters.
#' @noRd
eta_at_points <- function(points, k, z = even_normals(length(points$weight))) {
  eta <- tcrossprod(points$W[[k]], points$coefficients[[k]]) + points$offset[, k]
  for (part in points$new[[k]]) eta <- eta + sqrt(new_variances(part, points$hyper)) * rep(z, each = nrow(eta))
  eta
}

# Evenly spread over the normal distribution, and over all pairs with the points' own numbers.
even_normals <- function(S) stats::qnorm((0.5 + seq_len(S) * 0.7548776662466927) %% 1)

#' Moments of eta: list(mean, variance), rows x K
#' @noRd
point_moments <- function(points, weight = points$weight) {
  each <- lapply(seq_along(points$W), function(k) {
    own <- weighted_moments(points$coefficients[[k]], weight)
    mean <- drop(points$W[[k]] %*% own$mean) + points$offset[, k]
    variance <- row_variances(points$W[[k]], own$covariance)
    for (part in points$new[[k]]) variance <- variance + drop(new_variances(part, points$hyper) %*% weight)
    list(mean = mean, variance = pmax(variance, 0))
  })
  column <- function(what) matrix(unlist(lapply(each, `[[`, what)), ncol = length(each))
  list(mean = column("mean"), variance = column("variance"))
}

# w' S w of each row w of W, which has few numbers that are not zero if there are many groups.
row_variances <- function(W, S) {
  used <- W != 0
  count <- rowSums(used)
  most <- max(count, 0)
  if (anyNA(count) || most > 0.2 * ncol(W)) return(rowSums((W %*% S) * W))
  row <- rep(seq_along(count), count)
  column <- which(t(used), arr.ind = TRUE)[, 1L]
  place <- cbind(row, sequence(count))
  at <- matrix(1L, nrow(W), most)
  value <- matrix(0, nrow(W), most)
  at[place] <- column
  value[place] <- W[cbind(row, column)]
  out <- numeric(nrow(W))
  for (i in seq_len(most)) for (j in seq_len(most)) out <- out + value[, i] * value[, j] * S[cbind(at[, i], at[, j])]
  out
}

#' Covariance of eta of latent value k between rows
#' @noRd
point_covariance <- function(points, k) {
  W <- points$W[[k]]
  out <- W %*% tcrossprod(weighted_moments(points$coefficients[[k]], points$weight)$covariance, W)
  for (part in points$new[[k]]) {
    for (group in unique(stats::na.omit(as.vector(part$group)))) {
      own <- part
      own$weight <- ifelse(!is.na(part$group) & part$group == group, part$weight, 0)
      root <- group_scale(part$spec, points$hyper)
      effects <- unique(part$effect[own$weight != 0])
      A <- vapply(effects, function(e) rowSums(own$weight * (own$effect == e), na.rm = TRUE), numeric(nrow(W)))
      S <- outer(seq_along(effects), seq_along(effects), Vectorize(function(i, j) {
        sum(points$weight * root(effects[i], effects[j]))
      }))
      out <- out + A %*% S %*% t(A)
    }
  }
  out
}

# ---- functions of eta and the hyperparameters ----

# Rows times points at a time.
rows_by_points <- 1e5

#' f() of some rows at a time, where it has a row for each: rows x columns
#' @param f f(points, at): with the points of these rows. most: rows times points at a time.
#' @noRd
by_point_rows <- function(points, f, most = rows_by_points) {
  n <- nrow(points$offset)
  if (n == 0L) return(NULL)
  parts <- split(seq_len(n), (seq_len(n) - 1L) %/% max(1L, most %/% length(points$weight)))
  do.call(rbind, lapply(unname(parts), function(at) as.matrix(f(point_rows(points, at), at))))
}

#' Points as one state whose rows are those of each point, one point's after the other's
#' @param at Which rows of the marginals these are.
#' @noRd
points_state <- function(points, at) {
  eta <- lapply(seq_along(points$W), function(k) {
    eta <- eta_at_points(points, k)
    dim(eta) <- c(length(eta), 1L)
    eta
  })
  mean <- if (length(eta) == 1L) eta[[1L]] else do.call(cbind, eta)
  variance <- matrix(0, nrow(mean), ncol(mean))
  for (k in seq_along(points$averaged)) for (part in points$averaged[[k]]) {
    variance[, k] <- variance[, k] + as.vector(part_variances(part, points$hyper))
  }
  list(weight = 1, hyper = points$hyper, mean = mean, variance = variance, rows = at)
}

#' f(state) as rows x points
#' @noRd
point_values <- function(points, at, f) matrix(as.numeric(f(points_state(points, at))), length(at))

#' Quantiles of f(eta, hyperparameters) over the points: rows x length(probs)
#' @noRd
point_quantiles <- function(points, probs, f = NULL) {
  out <- by_point_rows(points, function(own, at) {
    values <- if (is.null(f)) eta_at_points(own, 1L) else point_values(own, at, f)
    weighted_quantiles(values, own$weight, probs)
  })
  if (is.null(out)) matrix(0, 0L, length(probs)) else out
}

#' sum_s w_s f(state at point s), a row per row
#' @noRd
average_points <- function(points, f, log = FALSE) {
  out <- by_point_rows(points, function(own, at) {
    values <- f(points_state(own, at))
    matrix(vapply(seq_len(NCOL(values)), function(j) {
      x <- as.numeric(if (is.matrix(values)) values[, j] else values)
      dim(x) <- c(length(at), length(own$weight))
      # weights are of sum one but for rounding, and no probability is above one
      if (!log) return(pmin(pmax(drop(x %*% own$weight), min(x, Inf, na.rm = TRUE)), max(x, -Inf, na.rm = TRUE)))
      log_sum_exp(x + rep(base::log(own$weight), each = length(at)))
    }, numeric(length(at))), length(at))
  })
  if (is.null(out)) return(out)
  if (ncol(out) == 1L) out[, 1L] else out
}

# A user's density is integrated over the response of each row at each point: a few of them have to do.
affordable_points <- function(fit, points) {
  if (!is_custom(fit$family)) return(points)
  matched_points(points, min(max(50L, 1000L %/% max(nrow(points$offset), 1L)), 150L))
}

#' thinned_points() with the means and variances that the coefficients have at all of them
#' @noRd
matched_points <- function(points, count = 400L) {
  few <- thinned_points(points, count)
  few$coefficients <- Map(function(x, all) {
    mean <- drop(points$weight %*% all)
    sd <- sqrt(pmax(drop(points$weight %*% all^2) - mean^2, 0))
    own <- drop(few$weight %*% x)
    own_sd <- sqrt(pmax(drop(few$weight %*% x^2) - own^2, 0))
    sweep(sweep(sweep(x, 2L, own), 2L, ifelse(own_sd > 0, sd / own_sd, 1), `*`), 2L, mean, `+`)
  }, few$coefficients, points$coefficients)
  few
}

#' As many points as these, each as probable as the others, with which a few hundred do
#' @noRd
thinned_points <- function(points, count = 400L) {
  if (length(points$weight) <= count) return(points)
  at <- findInterval((seq_len(count) - 0.5) / count, cumsum(points$weight)) + 1L
  points$coefficients <- lapply(points$coefficients, function(x) x[at, , drop = FALSE])
  points$hyper <- points$hyper[at, , drop = FALSE]
  points$weight <- rep(1 / count, count)
  points
}

# ---- coefficients and hyperparameters ----

#' Fixed effects of all predictors as users see them, in the order of vcov(): points x coefficients
#' @noRd
fixed_at_points <- function(fit) {
  if (n_predictors(fit) > 1L) return(do.call(cbind, lapply(predictors(fit), fixed_at_points)))
  own <- positions_of_term(fit$model, 1L, fixed_label)
  if (is.null(own)) return(matrix(0, length(fit$points$weight), 0L))
  spec <- fixed_spec(fit$design$specs)
  do.call(cbind, lapply(fit$points$coefficients, function(all) {
    u <- all[, own, drop = FALSE]
    beta <- if (is.null(spec$coding)) u else tcrossprod(u, spec$coding$A)
    beta[, shown_columns(spec), drop = FALSE]
  }))
}

#' All hyperparameters as users see them: points x H
#' @noRd
hyper_at_points <- function(fit) {
  hyper <- reported_hyper(fit$model, point_hyper(fit))
  if (!shifts_thresholds(fit)) return(hyper)
  at <- fit$model$likelihood$hyper$thresholds
  hyper[, at] <- hyper[, at] + threshold_shift(fit, fixed_at_points(fit))
  hyper
}

#' Quantiles of all hyperparameters as users see them: H x length(probs), NA where nothing is known
#'
#' With weak priors an estimate at the end of its range, as a variance of zero, has a posterior; curvature alone says
#' nothing there.
#' @noRd
hyper_limits <- function(fit, probs) {
  if (is_imputed(fit)) return(mixed_hyper_limits(fit, probs))
  if (!has_points(fit)) {
    out <- if (states_are_draws(fit)) {
      quantiles_that_vary(reported_hyper(fit$model, hyper_of_states(fit)), state_weights(fit), probs)
    } else hyper_quantiles(fit$hyper_posterior, fit$model, fit$posterior$hyper, probs)
    at_bound <- which(!in_array(fit$model$hyper))[fit$hyper$status == "at bound"]
    if (is.null(fit$states)) out[at_bound, ] <- NA_real_
    if (shifts_thresholds(fit)) {
      moved <- fit$model$likelihood$hyper$thresholds
      out[moved, ] <- shifted_limits(fit, out[moved, , drop = FALSE], probs)
    }
    return(out)
  }
  at <- fit$points$at
  out <- matrix(NA_real_, length(fit$posterior$hyper), length(probs))
  if (!length(at)) return(out)
  out[at, ] <- quantiles_that_vary(hyper_at_points(fit)[, at, drop = FALSE], fit$points$weight, probs)
  out
}

# Of the columns of x, a row each; NA where a column is constant.
quantiles_that_vary <- function(x, weight, probs) {
  out <- weighted_quantiles(t(x), weight, probs)
  out[apply(x, 2L, function(x) diff(range(x)) == 0), ] <- NA_real_
  out
}

# ---- draws ----

one_point <- function(points, s) {
  points$coefficients <- lapply(points$coefficients, function(x) x[s, , drop = FALSE])
  points$hyper <- points$hyper[s, , drop = FALSE]
  points$weight <- 1
  points
}

#' Draws of eta at a point, where only the effects of unobserved groups are left to draw: a list of rows x count
#' @noRd
drawn_eta <- function(point, count) {
  lapply(seq_along(point$W), function(k) {
    eta <- matrix(eta_at_points(point, k, 0), nrow(point$offset), count)
    for (part in point$new[[k]]) eta <- eta + new_effects(part, point$hyper, count)
    eta
  })
}

new_effects <- function(part, hyper, count) {
  groups <- unique(stats::na.omit(as.vector(part$group)))
  effects <- sort(unique(part$effect[!is.na(part$group)]))
  scale <- group_scale(part$spec, hyper)
  S <- outer(effects, effects, Vectorize(function(e, f) scale(e, f)))
  root <- covariance_root(S)
  out <- matrix(0, nrow(part$group), count)
  for (group in groups) {
    u <- root %*% matrix(stats::rnorm(ncol(root) * count), ncol(root), count)
    for (h in seq_len(ncol(part$group))) {
      own <- which(part$group[, h] == group)
      out[own, ] <- out[own, ] + part$weight[own, h] * u[match(part$effect[own, h], effects), , drop = FALSE]
    }
  }
  out
}
