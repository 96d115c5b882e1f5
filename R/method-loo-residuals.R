# Leave-one-out prediction of gaussian responses with rescor(), whose residuals are all the noise they have.
#
# Let C be the covariance of the residuals of all rows, a block for each unit, r = y - m the residuals at the posterior
# mean of the signal, and V the posterior covariance of the signal. Then y has the precision P = C^-1 - C^-1 V C^-1, and
# P (y - its prior mean) = C^-1 r. So rows L are predicted from all others by
#
#   y_L ~ N(y_L - P_LL^-1 (C^-1 r)_L, P_LL^-1),
#
# from the others of their units too. In contrast to the sites of R/method-loo-group.R nothing here is the difference of
# large numbers.

#' What loo() returns; arguments as loo.galvi() has them, groups from left_out_groups() or NULL for single rows
#' @noRd
loo_of_residuals <- function(x, groups, joint) {
  if (!all(pure_noise(x))) {
    stop_galvi("argument", paste(
      "loo() is not for rescor() of gaussian and other responses together: what a gaussian response says of its own",
      "residual is all that is known of it. Use logLik(), or compare fits by predictions of new data."
    ))
  }
  weights <- x$model$weights
  names <- observation_names(x)
  rows <- is.null(groups)
  sets <- if (rows) stats::setNames(as.list(seq_along(names)), names) else groups
  lost <- if (!rows) lost_coefficients(x, groups)
  x <- factorised_view(x)
  found <- as_galvi_error(mixed_residual_densities(x, sets))
  sides <- hyper_sides(x, function(fit) {
    without <- state_residual_densities(fit, sets)
    list(joint = without$joint, rows = without$rows)
  })
  elpd <- group_moved(found[c("joint", "rows")], sides, sets)
  improper <- found$improper
  if (rows) warn_improper(names[improper & weights > 0]) else {
    warn_lost_groups(lost, improper)
    improper <- improper | lengths(lost$names) > 0L
  }
  elpd$joint[improper] <- NA_real_
  elpd$rows[spread_over_rows(improper, sets)] <- NA_real_
  if (joint) {
    pointwise <- elpd_columns(elpd$joint, found$joint_with, names(sets))
    estimates <- loo_estimates(pointwise, rep(1, length(sets)))
  } else {
    pointwise <- elpd_columns(weighted(elpd$rows, weights), weighted(found$rows_with, weights), names)
    estimates <- if (rows) loo_estimates(pointwise, weights) else {
      loo_estimates(rowsum(pointwise, group_numbers(groups), reorder = TRUE), rep(1, length(groups)))
    }
  }
  structure(
    list(
      estimates = estimates, pointwise = pointwise, cavity = found[c("mean", "variance")],
      leverage = if (rows) unname(found$leverage) else found$leverage, hyper = counted_hyper(sides),
      family = family_label(x), formula = x$formula,
      group = if (!rows) list(name = attr(groups, "label"), rows = unclass(unname(groups)), joint = joint)
    ),
    yhash = response_hash(x), class = c("galvi_loo", "loo")
  )
}

#' Over the states, of which each weighs w / p(y_L | the others) for the rows that are left out
#' @noRd
mixed_residual_densities <- function(fit, sets) {
  parts <- by_state(fit, function(view) state_residual_densities(view, sets))
  prior <- matrix(state_weights(fit), length(sets), length(parts), byrow = TRUE)
  log_joint <- column_of(parts, "joint")
  share <- log(prior) - log_joint
  weights <- if (length(parts) == 1L) prior else exp(share - log_sum_exp(share))
  of_rows <- weights[group_numbers(sets), , drop = FALSE]
  c(
    mixture_moments(lapply(parts, `[`, c("mean", "variance")), of_rows), list(
      joint = log_sum_exp(log(weights) + log_joint),
      rows = log_sum_exp(log(of_rows) + column_of(parts, "rows")),
      joint_with = log_sum_exp(log(prior) + column_of(parts, "joint_with")),
      rows_with = log_sum_exp(log(prior[group_numbers(sets), , drop = FALSE]) + column_of(parts, "rows_with")),
      leverage = stats::setNames(rowSums(prior * column_of(parts, "leverage")), names(sets)),
      improper = stats::setNames(rowSums(column_of(parts, "improper")) > 0, names(sets))
    )
  )
}

#' At one state
#' @return list(joint, joint_with: log densities of the rows of each set, given all others without it, and given
#'   those of its units by the posterior of the signal with it; rows, rows_with: of each row, without the other rows
#'   of its set;
#'   mean, variance: of the response in each row without its set; leverage, improper: of each set).
#' @noRd
state_residual_densities <- function(fit, sets) {
  fit <- residual_view(long_view(fit))
  model <- fit$model
  n <- fit$nobs
  unit <- as.integer(fit$data[[wide_names[["unit"]]]])
  item <- as.integer(fit$data[[wide_names[["item"]]]])
  S <- residual_covariance(residual_spec(fit$design$specs), fit$posterior$hyper)
  used <- model$weights > 0
  of_unit <- split(seq_len(n)[used], factor(unit[used], seq_len(max(unit))))
  r <- model$y - fit$posterior$mean[, 1L]
  count <- length(sets)
  out <- list(
    joint = numeric(count), joint_with = numeric(count), rows = numeric(n), rows_with = numeric(n),
    mean = matrix(model$y), variance = matrix(0, n, 1L), leverage = numeric(count), improper = logical(count)
  )
  touched <- lapply(sets, function(L) unlist(of_unit[unique(unit[L])], use.names = FALSE))
  batches <- split(seq_len(count), (cumsum(lengths(touched)) - 1L) %/% rows_at_once)
  for (batch in unname(batches)) {
    rows <- unique(unlist(touched[batch], use.names = FALSE))
    if (!length(rows)) next
    V <- latent_at(fit, lapply(fit$asked_rows, subset_rows, rows), length(rows), covariance = TRUE)$covariance[[1L]]
    for (g in batch) {
      U <- touched[[g]]
      L <- match(intersect(sets[[g]], U), U) # without rows of weight zero
      if (!length(L)) next
      root <- 1 / sqrt(model$size[U])
      C <- outer(root, root) * S[item[U], item[U]] * outer(unit[U], unit[U], `==`)
      own <- left_out_density(r[U], C, V[match(U, rows), match(U, rows), drop = FALSE], L)
      at <- U[L]
      for (what in c("joint", "joint_with", "leverage", "improper")) out[[what]][g] <- own[[what]]
      for (what in c("rows", "rows_with")) out[[what]][at] <- own[[what]]
      out$mean[at, 1L] <- model$y[at] - own$error
      out$variance[at, 1L] <- own$variance
    }
  }
  out
}

#' Rows L of those of some units
#' @param r,C,V As above, of these units.
#' @noRd
left_out_density <- function(r, C, V, L) {
  inverse <- chol2inv(chol(C))
  P <- inverse - inverse %*% V %*% inverse
  leverage <- max(Re(eigen(solve(C[L, L, drop = FALSE], V[L, L, drop = FALSE]), only.values = TRUE)$values))
  own <- P[L, L, drop = FALSE]
  # differences of numbers of the size of the inverse
  least <- min(eigen(own, symmetric = TRUE, only.values = TRUE)$values)
  if (!(least > 1e-10 * max(diag(inverse)[L]))) {
    none <- rep(NA_real_, length(L))
    return(list(joint = NA_real_, joint_with = NA_real_, rows = none, rows_with = none, error = none, variance = none,
      leverage = leverage, improper = TRUE))
  }
  alpha <- drop(inverse %*% r)[L]
  covariance <- chol2inv(chol(own))
  error <- drop(covariance %*% alpha)
  variance <- diag(covariance)
  # with the rows: those of the set given the rest of their units
  total <- C + V
  rest <- setdiff(seq_along(r), L)
  known <- if (length(rest)) {
    slope <- total[L, rest, drop = FALSE] %*% chol2inv(chol(total[rest, rest, drop = FALSE]))
    list(error = r[L] - drop(slope %*% r[rest]), S = total[L, L, drop = FALSE] - slope %*% total[rest, L, drop = FALSE])
  } else list(error = r, S = total)
  list(
    joint = normal_density(error, covariance), joint_with = normal_density(known$error, known$S),
    rows = stats::dnorm(error, 0, sqrt(variance), log = TRUE),
    rows_with = stats::dnorm(known$error, 0, sqrt(diag(known$S)), log = TRUE),
    error = error, variance = variance, leverage = leverage, improper = FALSE
  )
}

#' log N(x; 0, S)
#' @noRd
normal_density <- function(x, S) {
  U <- chol(S)
  -sum(log(diag(U))) - length(x) / 2 * log(2 * pi) - sum(backsolve(U, x, transpose = TRUE)^2) / 2
}

#' Leverages of the rows: the posterior variance of the signal, in variances of the residual
#' @noRd
residual_leverage <- function(fit) {
  fit <- residual_view(long_view(fit))
  S <- residual_covariance(residual_spec(fit$design$specs), fit$posterior$hyper)
  item <- as.integer(fit$data[[wide_names[["item"]]]])
  fit$posterior$variance[, 1L] * fit$model$size / diag(S)[item]
}
