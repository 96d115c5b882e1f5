# Groups of rows left out together, without refitting: loo(fit, group = ).
#
# Let V = R R' be the posterior covariance of eta in a group's rows and alpha, Lambda their sites. With eta = m + R z
# and z ~ N(0, I) under q, the group's sites are the factor exp(alpha'R z - z'R'Lambda R z / 2). Without them (the
# cavity)
#
#   z ~ N(-P^-1 R'alpha, P^-1),  P = I - R'Lambda R,
#
# that is the covariance V (I - Lambda V)^-1 of eta. Rows of fixed and group effects alone have an R of few columns.
# Where inducing points leave a part of eta's variance, V is what they determine, and the rest is added again.

#' What loo() returns for groups
#' @param groups From left_out_groups(). joint: one density for each group instead of one for each row.
#' @noRd
loo_of_groups <- function(x, groups, joint) {
  weights <- x$model$weights
  points <- if (identical(uncertainty_method(x), "points")) as_galvi_error(group_loo_at_points(x, groups))
  at_sites <- factorised_view(x)
  lost <- lost_coefficients(x, groups)
  found <- as_galvi_error(group_cavities(at_sites, groups, if (joint) "both" else "without"))
  few <- if (is.null(points)) rep(TRUE, length(groups)) else points$effective < least_effective
  sides <- if (any(few)) {
    hyper_sides(at_sites, function(fit) {
      without <- group_cavities(fit, groups)
      list(joint = without$joint, rows = row_log_density(fit, without))
    })
  }
  elpd <- group_moved(list(joint = found$joint, rows = row_log_density(at_sites, found)), sides, groups)
  lpd <- list(joint = found$joint_with, rows = row_log_density(at_sites, fitted_marginals(at_sites)))
  few_rows <- spread_over_rows(few, groups)
  if (!is.null(points)) {
    choose <- function(what, own) {
      list(joint = ifelse(few, own$joint, points[[what]]$joint), rows = ifelse(few_rows, own$rows, points[[what]]$rows))
    }
    elpd <- choose("without", elpd)
    lpd <- choose("with", lpd)
    if (!any(few)) sides <- averaged_sides(x)
    found$shape[!few] <- NA_real_
    found$effective[!few] <- points$effective[!few]
  }
  warn_lost_groups(lost, found$improper)
  elpd$joint[lengths(lost$names) > 0L | found$improper] <- NA_real_
  elpd$rows[lost$rows | spread_over_rows(found$improper, groups)] <- NA_real_
  if (joint) {
    pointwise <- elpd_columns(elpd$joint, lpd$joint, names(groups))
    estimates <- loo_estimates(pointwise, rep(1, length(groups)))
  } else {
    pointwise <- elpd_columns(weighted(elpd$rows, weights), weighted(lpd$rows, weights), observation_names(x))
    estimates <- loo_estimates(rowsum(pointwise, group_numbers(groups), reorder = TRUE), rep(1, length(groups)))
  }
  structure(
    list(
      estimates = estimates, pointwise = pointwise, cavity = found[c("mean", "variance")],
      leverage = stats::setNames(found$leverage, names(groups)),
      importance = list(pareto_k = found$shape, n_eff = found$effective),
      hyper = counted_hyper(or_else(sides, averaged_sides(x))), family = family_label(x), formula = x$formula,
      group = list(name = attr(groups, "label"), rows = unclass(unname(groups)), joint = joint)
    ),
    yhash = response_hash(x),
    class = c("galvi_loo", "loo")
  )
}

elpd_columns <- function(elpd, lpd, names) {
  pointwise <- cbind(elpd_loo = elpd, p_loo = lpd - elpd, looic = -2 * elpd)
  rownames(pointwise) <- names
  pointwise
}

# ---- groups ----

#' The rows of each group
#'
#' @param group The name of a variable of the model or of a column of the data, or a vector with an element for each
#'   row.
#' @return A named list of row numbers, with the attribute `label`.
#' @noRd
left_out_groups <- function(fit, group) {
  named <- is.character(group) && length(group) == 1L
  value <- if (named) group_column(fit, group) else group
  if (!named && (!(is.atomic(value) || is.factor(value)) || length(value) != fit$nobs)) {
    stop_galvi("argument", sprintf(
      "`group` must be the name of a column, or a vector with an element for each of the %s rows, not %s.",
      row_number(fit$nobs), describe(group)
    ))
  }
  if (anyNA(value)) stop_galvi("argument", "`group` must not be missing in rows that were used for the fit.")
  value <- droplevels(as.factor(value))
  if (nlevels(value) < 2L) {
    stop_galvi("argument", "`group` must have two groups or more: of one group there are no other rows.")
  }
  structure(split(seq_along(value), value), label = if (named) group else "group")
}

#' A column of the data for the rows of the fit: a variable of the model or, where the data can still be found, another
#' @noRd
group_column <- function(fit, name) {
  if (name %in% names(fit$data)) {
    x <- fit$data[[name]]
    if (is.null(dim(x))) return(x)
    stop_galvi("argument", sprintf("`group` must be one column; `%s` has %d.", name, ncol(x)))
  }
  data <- tryCatch(eval(fit$call$data, environment(fit$formula)), error = function(e) NULL)
  if (inherits(fit, "galvi_wide")) data <- NULL
  at <- if (is.data.frame(data) && name %in% names(data)) match(row.names(fit$data), row.names(data))
  if (!is.null(at) && !anyNA(at)) return(data[[name]][at])
  known <- union(names(fit$data)[-1L], if (is.data.frame(data)) names(data))
  stop_galvi("argument", sprintf(
    "`group` must be the name of a column, and `%s` is not one of %s.%s", name, quote_names(known),
    did_you_mean(name, known)
  ))
}

group_numbers <- function(groups) {
  out <- integer(sum(lengths(groups)))
  out[unlist(groups, use.names = FALSE)] <- rep(seq_along(groups), lengths(groups))
  out
}

#' A value of each group, at its rows
#' @noRd
spread_over_rows <- function(x, groups) x[group_numbers(groups)]

#' Coefficients that only the group's rows inform, for each group
#'
#' Leaving out the group lowers the rank of the columns whose priors are open or flat. With orthonormal columns Q this
#' is where Q_g'Q_g has an eigenvalue of 1; its eigenvector is the direction of coefficients that is lost, and rows that
#' it moves cannot be predicted.
#' @return list(names: for each group those of coefficients; rows: which rows cannot be predicted, N).
#' @noRd
lost_coefficients <- function(fit, groups) {
  out <- list(names = rep(list(character()), length(groups)), rows = logical(fit$nobs))
  for (part in predictors(fit)) {
    spec <- fixed_spec(part$design$specs)
    if (is.null(spec) || !length(spec$columns)) next
    prefix <- if (is.null(spec$parameter)) "" else coefficient_prefix(spec$parameter)
    names <- paste0(prefix, spec$columns)
    vague <- vapply(fit$prior[names], function(prior) isTRUE(attr(prior, "open")) || identical(prior$sd, Inf), NA)
    if (!any(vague)) next
    X <- printed_columns(spec, fit$data)[, vague, drop = FALSE]
    decomposed <- qr(X * (fit$model$weights > 0), tol = 1e-9)
    used <- seq_len(decomposed$rank)
    own <- decomposed$pivot[used]
    Q <- qr.Q(decomposed)[, used, drop = FALSE]
    for (g in which(lengths(groups) > 0L)) {
      parts <- svd(Q[groups[[g]], , drop = FALSE], nu = 0L)
      gone <- parts$v[, parts$d^2 > 1 - 1e-8, drop = FALSE]
      if (!ncol(gone)) next
      direction <- backsolve(qr.R(decomposed)[used, used, drop = FALSE], gone)
      moved <- rowSums(abs(direction) > 1e-6 * max(abs(direction))) > 0
      out$names[[g]] <- c(out$names[[g]], names[vague][sort(own[moved])])
      at <- groups[[g]]
      shift <- abs(X[at, own, drop = FALSE] %*% direction)
      out$rows[at] <- out$rows[at] | rowSums(shift > 1e-6 * max(shift)) > 0
    }
  }
  out
}

warn_lost_groups <- function(lost, improper) {
  said <- lost_words(lost, dQuote(names(improper), FALSE))
  if (!is.null(said)) {
    warn_galvi("cavity", sprintf(paste(
      "Only the group itself informs coefficients in %s, so that it cannot be predicted from the others: its density",
      "and the sums are NA. Give these coefficients a prior, or make them effects of groups, (1 | g)."
    ), said))
  }
  others <- setdiff(which(improper), which(lengths(lost$names) > 0L))
  if (!length(others)) return(invisible())
  warn_galvi("cavity", sprintf(paste(
    "Without the group the linear predictor has no proper distribution in %s: its density and the sums are NA. Give",
    "flat priors, normal(0, Inf), a finite sd, or refit: kfold(fit, group = )."
  ), quote_names(names(improper)[others], "\"", 5L)))
}

# The first groups, or folds, with what is lost without them; NULL for none.
lost_words <- function(lost, labels) {
  named <- which(lengths(lost$names) > 0L)
  if (!length(named)) return(NULL)
  said <- vapply(utils::head(named, 3L), function(g) {
    sprintf("%s (%s)", labels[g], quote_names(lost$names[[g]], max = 4L))
  }, "")
  paste(c(said, if (length(named) > 3L) sprintf("%d more", length(named) - 3L)), collapse = ", ")
}

# ---- cavities ----

#' The posterior of eta without each group's sites, and the groups' joint log densities
#'
#' As cavities(): of several states each weighs w / p(y_g | its cavity) for the rows of group g.
#' @param evidence Which joint densities: "without" the group's rows, or "both".
#' @return Marginals (R/view-states.R), NA where improper; and for each group `leverage`, `improper`, `joint` (without
#'   its rows), `joint_with` (with them), `shape` and `effective`, of the weights that gave `joint`.
#' @noRd
group_cavities <- function(fit, groups, evidence = "without") {
  parts <- by_state(fit, function(view) state_group_cavities(view, groups, evidence))
  prior <- state_weights(fit)
  log_joint <- column_of(parts, "joint")
  of_prior <- matrix(prior, nrow(log_joint), length(prior), byrow = TRUE)
  weights <- of_prior
  if (length(parts) > 1L) {
    share <- log(of_prior) - log_joint
    weights <- exp(share - log_sum_exp(share))
  }
  rows <- if (length(parts) > 1L) weights[group_numbers(groups), , drop = FALSE] else prior
  name <- function(x) stats::setNames(x, names(groups))
  c(mixture_marginals(fit, lapply(parts, `[`, c("mean", "variance")), rows), list(
    leverage = name(rowSums(of_prior * column_of(parts, "leverage"))),
    improper = name(rowSums(column_of(parts, "improper")) > 0),
    joint = name(log_sum_exp(log(weights) + log_joint)),
    joint_with = name(log_sum_exp(log(of_prior) + column_of(parts, "joint_with"))),
    shape = name(row_max(ifelse(weights >= least_share, column_of(parts, "shape"), -Inf))),
    effective = name(rowSums(weights * column_of(parts, "effective")))
  ))
}

# The densities of states that weigh less do not matter.
least_share <- 0.02

# One number of each state for each group: groups x states.
column_of <- function(parts, what) do.call(cbind, lapply(parts, `[[`, what))

# Rows of groups whose covariances are computed together.
rows_at_once <- 1000L

state_group_cavities <- function(fit, groups, evidence) {
  q <- fit$posterior
  H <- if (is_several(fit)) cross_curvature(fit)
  # with stick-breaking the latents of a row do not meet
  compete <- !is.null(H) && max(abs(H)) >= 1e-8
  response <- if (compete) class_system(fit, H)
  if (compete && is.null(response)) {
    stop_galvi("argument", paste(
      "loo(group = ) of a response with several classes needs a dense matrix of all classes' latent values, which is",
      "too large here: refit, kfold(fit, group = )."
    ))
  }
  out <- list(
    mean = q$mean, variance = q$variance, leverage = numeric(length(groups)), improper = logical(length(groups)),
    joint = rep(NA_real_, length(groups)), joint_with = rep(NA_real_, length(groups)),
    shape = rep(NA_real_, length(groups)), effective = rep(NA_real_, length(groups))
  )
  batches <- split(seq_along(groups), (cumsum(lengths(groups)) - 1L) %/% rows_at_once)
  for (batch in unname(batches)) {
    rows <- unlist(groups[batch], use.names = FALSE)
    designs <- lapply(fit$model$designs, subset_rows, rows)
    covariance <- latent_at(fit, designs, length(rows), covariance = TRUE)$covariance
    left <- lapply(batch, function(g) {
      leave_out(fit, groups[[g]], lapply(covariance, function(V) {
        at <- match(groups[[g]], rows)
        V[at, at, drop = FALSE]
      }), H, response)
    })
    proper <- which(!vapply(left, `[[`, NA, "improper"))
    without <- joint_densities(fit, fit$model, left[proper], q)
    with <- if (evidence == "both") {
      joint_densities(fit, fit$model, lapply(left[proper], function(own) c(own["rows"], own$known)), q)
    }
    for (i in seq_along(batch)) {
      g <- batch[i]
      out$mean[groups[[g]], ] <- left[[i]]$mean
      out$variance[groups[[g]], ] <- left[[i]]$variance
      out$leverage[g] <- left[[i]]$leverage
      out$improper[g] <- left[[i]]$improper
    }
    out$joint[batch[proper]] <- without$density
    if (!is.null(with)) out$joint_with[batch[proper]] <- with$density
    out$shape[batch[proper]] <- without$shape
    out$effective[batch[proper]] <- without$effective
  }
  out
}

#' One group's cavity
#' @param covariance Of eta in its rows, for each latent value.
#' @return list(rows; mean, variance: rows x K, NA where improper; roots: for each latent value a root of the
#'   covariance; known: the same list of mean and roots with the group's rows; leverage; improper).
#' @noRd
leave_out <- function(fit, rows, covariance, H, response) {
  q <- fit$posterior
  K <- length(covariance)
  extra <- if (is.null(q$extra)) matrix(0, length(rows), K) else q$extra[rows, , drop = FALSE]
  apart <- if (!is.null(response)) class_shift(fit, rows, H, response)
  with_extra <- function(R, k) {
    if (all(extra[, k] == 0)) R else covariance_root(tcrossprod(R) + diag(extra[, k], length(rows)))
  }
  latents <- lapply(seq_len(K), function(k) {
    R <- covariance_root(covariance[[k]] - diag(extra[, k], length(rows)))
    A <- crossprod(R, q$lambda[rows, k] * R)
    leverage <- if (ncol(R)) eigen(A, symmetric = TRUE, only.values = TRUE)$values[1L] else 0
    # below this 1 - leverage has no digits, as in state_cavities()
    if (!is.finite(leverage) || leverage >= 1 - 1e-10) return(list(leverage = leverage))
    L <- chol(diag(ncol(R)) - A)
    root <- t(backsolve(L, t(R), transpose = TRUE))
    # where classes compete the mean moves by more than the group's own sites say
    moved <- if (is.null(apart)) drop(root %*% crossprod(root, q$alpha[rows, k])) else apart[, k]
    list(
      leverage = leverage, mean = q$mean[rows, k] - moved, variance = rowSums(root^2) + extra[, k],
      root = with_extra(root, k), known = with_extra(R, k)
    )
  })
  improper <- any(vapply(latents, function(latent) is.null(latent$root), NA))
  column <- function(what) {
    matrix(if (improper) NA_real_ else unlist(lapply(latents, `[[`, what)), length(rows), K)
  }
  list(
    rows = rows, mean = column("mean"), variance = column("variance"), roots = lapply(latents, `[[`, "root"),
    known = list(mean = q$mean[rows, , drop = FALSE], roots = lapply(latents, `[[`, "known")),
    leverage = max(vapply(latents, `[[`, 0, "leverage")), improper = improper
  )
}

#' m - m' of the group's latent values where classes compete (R/method-loo.R): (I - F H)^-1 F alpha, F and H of its rows
#' @param system From class_system(). @return rows x K.
#' @noRd
class_shift <- function(fit, rows, H, system) {
  q <- fit$posterior
  K <- ncol(q$mean)
  n <- length(rows)
  W <- if (!is.null(system$W)) system$W[rows, , drop = FALSE]
  F <- own <- matrix(0, n * K, n * K)
  block <- function(k) (k - 1L) * n + seq_len(n)
  for (j in seq_len(K)) for (k in seq_len(K)) {
    part <- system$Z(j, k)
    F[block(j), block(k)] <- if (is.null(W)) part[rows, rows] else W %*% tcrossprod(part, W)
    own[block(j), block(k)] <- diag(if (j == k) q$lambda[rows, k] else H[rows, j, k], n)
  }
  matrix(solve(diag(n * K) - F %*% own, F %*% as.vector(q$alpha[rows, ])), n)
}

# ---- joint densities ----

# Draws for each group's density, and densities that are computed at once.
group_draws <- 400L
densities_at_once <- 2e6

#' log p(y_g) of groups of rows whose linear predictors are normal, by importance sampling
#'
#' Draws come from this distribution times Gaussian factors close to the likelihood: the sites of a fit that has seen
#' the rows. With the sites of gaussian() noise all weights are equal, and the density is exact. The draws are even
#' points, so that results can be reproduced and their differences are those of what is compared.
#' @param fit Whose likelihood and hyperparameters count, at one state.
#' @param target Has the responses of all rows (row_numbers).
#' @param blocks For each group list(rows; mean: rows x K; roots: for each latent value R with covariance R R').
#' @param sites list(mean, alpha, lambda) at all rows.
#' @return list(density; shape: of the tail of the weights; effective: how many draws they are worth), a number for each
#'   group.
#' @noRd
joint_densities <- function(fit, target, blocks, sites) {
  out <- lapply(c(density = 0, shape = 0, effective = 0), rep, length(blocks))
  size <- vapply(blocks, function(block) length(block$rows), 1L) * group_draws
  for (part in split(seq_along(blocks), (cumsum(size) - 1) %/% densities_at_once)) {
    drawn <- lapply(blocks[part], drawn_by_sites, sites)
    rows <- unlist(lapply(blocks[part], function(block) rep(block$rows, group_draws)))
    repeated <- take_row_numbers(target[intersect(row_numbers, names(target))], rows)
    value <- by_target_part(
      fit, c(repeated, list(n = length(rows))), do.call(rbind, lapply(drawn, `[[`, "eta")), log_density_given
    )
    values <- split(value, rep(seq_along(part), size[part]))
    weight <- do.call(rbind, Map(function(drawn, value) {
      drawn$weight + colSums(matrix(value, ncol = group_draws))
    }, drawn, values))
    total <- log_sum_exp(weight)
    out$density[part] <- total - log(group_draws)
    out$shape[part] <- apply(weight, 1L, pareto_shape)
    out$effective[part] <- exp(2 * total - log_sum_exp(2 * weight))
  }
  out
}

#' Draws of a block's eta, and the log weights that make them those of its distribution
#'
#' With eta = mean + R z the sites are exp(s'R z - z'R'Lambda R z / 2), s = alpha + Lambda (m - mean), m the mean that
#' they belong to. Sites of negative lambda, where a likelihood is not log-concave, are taken to be linear.
#' @return list(eta: (rows x draws) x K, weight).
#' @noRd
drawn_by_sites <- function(block, sites) {
  at <- block$rows
  widths <- vapply(block$roots, ncol, 1L)
  U <- stats::qnorm(even_points(group_draws, max(1L, sum(widths))))
  weight <- numeric(group_draws)
  eta <- matrix(0, length(at) * group_draws, length(widths))
  for (k in seq_along(widths)) {
    R <- block$roots[[k]]
    lambda <- pmax(sites$lambda[at, k], 0)
    slope <- sites$alpha[at, k] + lambda * (sites$mean[at, k] - block$mean[, k])
    L <- chol(diag(widths[k]) + crossprod(R, lambda * R))
    noise <- t(U[, sum(widths[seq_len(k - 1L)]) + seq_len(widths[k]), drop = FALSE])
    z <- backsolve(L, noise + backsolve(L, drop(crossprod(R, slope)), transpose = TRUE))
    weight <- weight + colSums(noise^2 - z^2) / 2 - sum(log(diag(L)))
    eta[, k] <- block$mean[, k] + R %*% z
  }
  list(eta = eta, weight = weight)
}

#' The shape of a generalised Pareto distribution of the largest weights (Zhang and Stephens 2009), shrunk towards 1/2
#' as by 10 more of them (Vehtari et al. 2024)
#'
#' Above 0.7 the mean of the weights is not reliable.
#' @noRd
pareto_shape <- function(log_weight) {
  n <- length(log_weight)
  if (anyNA(log_weight) || !all(is.finite(log_weight))) return(NA_real_)
  count <- ceiling(min(0.2 * n, 3 * sqrt(n)))
  sorted <- sort(exp(log_weight - max(log_weight)))
  x <- sorted[(n - count + 1L):n] - sorted[n - count]
  # equal weights, as of a gaussian response, have no tail
  if (x[count] < 1e-10) return(-Inf)
  most <- 30L + floor(sqrt(count))
  quartile <- x[floor(count / 4 + 0.5)]
  theta <- 1 / x[count] + (1 - sqrt(most / (seq_len(most) - 0.5))) / (3 * max(quartile, 1e-300))
  shape <- vapply(theta, function(theta) mean(log1p(-theta * x)), 0)
  log_likelihood <- count * (log(-theta / shape) - shape - 1)
  share <- exp(log_likelihood - max(log_likelihood))
  k <- mean(log1p(-sum(theta * share) / sum(share) * x))
  (k * count + 5) / (count + 10)
}

# ---- hyperparameters and points ----

#' Densities at the hyperparameters as they would be without the group (R/method-loo-hyper.R)
#' @param value,sides list(joint, rows) at the estimates, and on the axes of their posterior.
#' @noRd
group_moved <- function(value, sides, groups) {
  of <- function(side, what) list(rows = side$rows[[what]], bound = side$bound)
  each <- function(axis, what) list(up = of(axis$up, what), down = of(axis$down, what))
  out <- value
  for (axis in sides$axes) {
    found <- axis_shift(each(axis, "joint"), of(sides$centre, "joint"), 1)
    change <- axis_change(each(axis, "joint"), of(sides$centre, "joint"), found$z, found$k)
    out$joint <- out$joint + ifelse(is.finite(change), pmin(0, change), 0)
    z <- spread_over_rows(found$z, groups)
    change <- axis_change(each(axis, "rows"), of(sides$centre, "rows"), z, found$k)
    out$rows <- out$rows + ifelse(is.finite(change), change, 0)
  }
  out
}

#' The same densities by weighted points, as loo_at_points(): without group g they weigh w / p(y_g | point)
#' @return list(without, with: list(joint, rows); effective: of how many points the weights without the group are).
#' @noRd
group_loo_at_points <- function(fit, groups) {
  model <- fit$model
  points <- fitted_points_of(fit)
  density <- by_density_rows(fit, points, function(own, at) densities_at_points(fit, model, own, at))
  number <- group_numbers(groups)
  joint <- rowsum(weighted_rows(density, model$weights), number, reorder = TRUE)
  weight <- matrix(log(points$weight), nrow(joint), length(points$weight), byrow = TRUE)
  without <- weight - joint
  without[is.nan(without)] <- -Inf
  total <- log_sum_exp(without)
  rows <- function(log_weight, total) {
    log_sum_exp(log_weight[number, , drop = FALSE] + density) - total[number]
  }
  list(
    without = list(joint = -total, rows = rows(without, total)),
    with = list(joint = log_sum_exp(weight + joint), rows = rows(weight, numeric(nrow(joint)))),
    effective = exp(2 * total - log_sum_exp(2 * without))
  )
}

weighted_rows <- function(x, weights) {
  x <- x * weights
  x[weights == 0, ] <- 0
  x
}

# ---- printing ----

#' What print() says of left out groups
#' @noRd
print_groups <- function(x, digits) {
  title <- sprintf("Leave-one-group-out predictive density, %d groups of %s", length(x$leverage), x$group$name)
  print_estimates(x, title, digits)
  cat("\n")
  what <- if (x$group$joint) "The rows of each group are predicted together" else "Each row is predicted"
  print_wrapped(sprintf(
    "%s by the posterior without the group%s: an approximation, without refits.",
    what, without_row_words(x$hyper)
  ))
  rough <- sum(x$importance$pareto_k > 0.7 & x$importance$n_eff < 0.5 * group_draws, na.rm = TRUE)
  if (rough && (x$group$joint || x$hyper$averaged)) {
    print_wrapped(sprintf(
      "The joint density of %d group%s is not reliable (Pareto k above 0.7): kfold(fit, group = ) refits.", rough,
      if (rough > 1L) "s" else ""
    ))
  }
}
