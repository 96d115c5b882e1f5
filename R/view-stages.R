# Questions to fits with category-specific effects (R/model-stages.R). The fit is of binary rows, one for each threshold
# that a row of the data reaches; what users ask is about rows of their data, which have as many latent values as there
# are thresholds: eta_k - threshold_k, from which the sequence goes on beyond threshold k. stages_view() is a fit with
# these; its `stages` has their `count` and the `fit` of binary rows, which knows their posterior.

#' The fit of the binary rows: what other families' functions know
#' @noRd
decisions_view <- function(fit) {
  class(fit) <- setdiff(class(fit), "galvi_stages")
  fit
}

#' The fit of the rows of the data, with a latent value for each threshold
#' @noRd
stages_view <- function(fit) {
  known <- fit$design$stages
  decisions <- decisions_view(fit)
  n <- length(known$y)
  count <- length(known$names)
  view <- decisions
  view$family <- without_stages(fit$family)
  view$data <- known$frame
  view$nobs <- n
  view$stages <- list(fit = decisions, count = count)
  view$design$terms <- known$terms
  view$design$response[c("levels", "latents")] <- known[c("levels", "names")]
  rows <- target_of_pieces(decisions, frame_of_decisions(known$frame, rep(seq_len(n), each = count),
    numeric(n * count), every_stage(known, n)))
  view$model$designs <- rows$rows
  view$model$offset <- by_stage(rows$offset, count)
  view$model[c("y", "size", "weights")] <- list(known$y, rep(1, n), known$weights)
  # the kind of response: a class after the other is asked for
  view$model$likelihood <- list(type = "stick_breaking", constants = list(classes = count + 1L), hyper = list())
  view
}

#' All thresholds, again and again for n rows
#' @noRd
every_stage <- function(known, n) stage_factor(rep(seq_along(known$names), n), known$names)

#' A frame of rows of the data, as terms read it, at all thresholds
#' @noRd
frame_at_stages <- function(fit, frame) {
  n <- nrow(frame)
  columns <- lapply(unclass(frame)[names(frame)], take_variable, rep(seq_len(n), each = fit$stages$count))
  columns[[stage_names[["stage"]]]] <- every_stage(fit$design$stages, n)
  structure(columns, class = "data.frame", row.names = .set_row_names(n * fit$stages$count),
    terms = attr(frame, "terms"), mesh = attr(frame, "mesh"), anywhere = attr(frame, "anywhere"))
}

is_stages_view <- function(fit) !is.null(fit$stages)

#' Numbers of binary rows, all of the first row's before the second's, as a matrix with a column for each threshold
#' @noRd
by_stage <- function(x, count) matrix(x, ncol = count, byrow = TRUE)

#' The same of draws, binary rows x draws: a list of matrices, rows x draws, for each threshold
#' @noRd
drawn_by_stage <- function(x, count) {
  lapply(seq_len(count), function(k) x[seq(k, nrow(x), by = count), , drop = FALSE])
}

#' How many rows of the model a row of a target has
#' @noRd
rows_each <- function(fit) if (is_stages_view(fit)) fit$stages$count else 1L

#' Rows of `newdata` as a target: its `rows` are the binary ones
#' @noRd
new_stage_target <- function(fit, newdata, na.action, response, kept) {
  count <- fit$stages$count
  known <- fit$design$stages
  newdata <- as.data.frame(as_new_data(newdata))
  n <- nrow(newdata)
  pieces <- new_pieces(newdata, count, stats::setNames(list(every_stage(known, n)), stage_names[["stage"]]))
  new <- new_target(fit$stages$fit, pieces, na.action, kept = kept)
  left <- unique((new$omitted - 1L) %/% count + 1L)
  used <- setdiff(seq_len(n), left)
  own <- list(size = rep(1, length(used)))
  if (isTRUE(response)) own <- new_stage_response(fit, newdata[used, , drop = FALSE], frame_labels(newdata, used))
  c(own, list(
    rows = new$rows, offset = by_stage(new$offset, count), n = length(used), names = row.names(newdata),
    omitted = if (length(left)) left, marginals = NULL, each = count
  ))
}

new_stage_response <- function(fit, newdata, labels) naming_rows(labels, {
  design <- fit$design
  typed <- fit$formula[[2L]]
  y <- tryCatch(eval(typed, newdata, environment(fit$formula)), error = function(e) NULL)
  if (NROW(y) != nrow(newdata)) {
    stop_galvi("newdata", sprintf("`newdata` has no response `%s`, which this needs.", deparse_one(typed)))
  }
  weights <- tryCatch(eval(weight_numbers(design$weights), newdata, environment(fit$formula)), error = function(e) NULL)
  as_newdata_error(family_response(fit$family, y, weights, design$response$name, levels = design$response$levels,
    counted = counts_rows(design$weights)))[c("y", "size", "weights")]
})

# ---- marginals ----

#' Marginals of rows with a latent value for each threshold, and the covariances `between` these, of one state or each
#' @param target Of a stages_view().
#' @noRd
stage_marginals <- function(fit, target) {
  own <- fit$stages$fit
  count <- fit$stages$count
  n <- target$n
  if (has_points(own)) {
    points <- points_at(own, target$rows, n * count)
    at <- lapply(seq_len(count), function(k) point_rows(points, (seq_len(n) - 1L) * count + k))
    # the coefficients of a point are those of all of its rows, and so are effects of groups that are drawn for it
    points$W <- lapply(at, function(part) part$W[[1L]])
    points$new <- lapply(at, function(part) part$new[[1L]])
    points$offset <- by_stage(points$offset, count) + target$offset
    points$coefficients <- rep(points$coefficients, count)
    return(c(point_moments(points), list(points = points)))
  }
  parts <- by_state(own, function(view) {
    found <- stage_moments(view, target$rows, n, count)
    found$mean <- found$mean + target$offset
    found
  })
  mixture_marginals(own, parts)
}

# Binary rows whose covariances are computed together.
decisions_at_once <- 1000L

#' @return list(mean, variance: n x K; between: n x K x K) without the offset.
#' @noRd
stage_moments <- function(fit, rows, n, count) {
  out <- list(mean = matrix(0, n, count), variance = matrix(0, n, count), between = array(0, c(n, count, count)))
  for (at in split(seq_len(n), (seq_len(n) - 1L) %/% max(1L, decisions_at_once %/% count))) {
    found <- latent_at(fit, some_model_rows(rows, blocks_of_rows(at, count)), length(at) * count, covariance = TRUE)
    V <- found$covariance[[1L]]
    out$mean[at, ] <- by_stage(found$mean, count)
    out$variance[at, ] <- by_stage(found$variance, count)
    for (j in seq_len(count)) for (k in seq_len(count)) {
      first <- (seq_along(at) - 1L) * count
      out$between[at, j, k] <- V[cbind(first + j, first + k)]
    }
  }
  out
}

#' What state_cavities() returns, at one state of a stages_view(): rows without all of their decisions
#'
#' As of a group of rows (R/method-loo-group.R), where the thresholds that a row does not reach have no sites.
#' @noRd
stage_cavities <- function(fit) {
  own <- at_state(fit$stages$fit, list(posterior = fit$posterior))
  q <- own$posterior
  count <- fit$stages$count
  pieces <- fit$design$stages$pieces
  at <- cbind(pieces$row, pieces$stage)
  n <- fit$nobs
  out <- stage_moments(own, fit$model$designs, n, count)
  out$mean <- out$mean + fit$model$offset
  # what inducing points leave is that of the row at all thresholds
  extra <- if (is.null(q$extra)) numeric(n) else q$extra[match(seq_len(n), pieces$row), 1L]
  alpha <- lambda <- matrix(0, n, count)
  alpha[at] <- q$alpha
  lambda[at] <- q$lambda
  out$leverage <- numeric(n)
  for (i in seq_len(n)) {
    rest <- diag(extra[i], count)
    R <- covariance_root(matrix(out$between[i, , ], count) - rest)
    A <- crossprod(R, lambda[i, ] * R)
    out$leverage[i] <- if (ncol(R)) eigen(A, symmetric = TRUE, only.values = TRUE)$values[1L] else 0
    # below this 1 - leverage has no digits, as in state_cavities()
    if (!is.finite(out$leverage[i]) || out$leverage[i] >= 1 - 1e-10) {
      out$mean[i, ] <- out$variance[i, ] <- NA_real_
      next
    }
    root <- t(backsolve(chol(diag(ncol(R)) - A), t(R), transpose = TRUE))
    out$mean[i, ] <- out$mean[i, ] - drop(root %*% crossprod(root, alpha[i, ]))
    out$between[i, , ] <- tcrossprod(root) + rest
    out$variance[i, ] <- diag(matrix(out$between[i, , ], count))
  }
  out$improper <- observation_names(fit)[is.na(out$mean[, 1L])]
  out
}

# ---- probabilities ----

# Nodes of the joint distribution of a row's latent values.
stage_nodes <- 1024L

#' Probabilities of classes as independent_classes() has them, where a row's latent values have a joint normal
#' distribution
#'
#' Given these, the probability of class c is that of going on at all thresholds before and of stopping at c's. It is
#' averaged over evenly spread nodes and their mirror images.
#' @param fit At the hyperparameters of the state.
#' @param state list(mean, variance, between), without `between` for latent values that are known.
#' @noRd
stage_classes <- function(fit, state, second) {
  if (is.null(state$between)) {
    p <- decided_classes(fit, state$mean)
    return(list(probability = p, second = if (second) p^2))
  }
  n <- nrow(state$mean)
  count <- ncol(state$mean)
  out <- list(probability = matrix(0, n, count + 1L), second = if (second) matrix(0, n, count + 1L))
  Z <- stats::qnorm(even_points(stage_nodes %/% 2L, count))
  Z <- rbind(Z, -Z)
  for (at in split(seq_len(n), (seq_len(n) - 1L) %/% 500L)) {
    eta <- lapply(at, function(i) {
      root <- covariance_root(matrix(state$between[i, , ], count))
      rep(state$mean[i, ], each = nrow(Z)) + tcrossprod(Z[, seq_len(ncol(root)), drop = FALSE], root)
    })
    p <- decided_classes(fit, do.call(rbind, eta))
    average <- function(x) rowsum(x, rep(seq_along(at), each = nrow(Z)), reorder = TRUE) / nrow(Z)
    out$probability[at, ] <- average(p)
    if (second) out$second[at, ] <- average(p^2)
  }
  out
}

#' Probabilities of all classes, given eta less the thresholds: n x K
#' @noRd
decided_classes <- function(fit, eta) {
  own <- fit$stages$fit$model$likelihood
  log_of <- function(what) {
    matrix(as_galvi_error(predict_response(own, fit$posterior$hyper, size = 1, y = 0, mean = matrix(eta, ncol = 1L),
      variance = 0, what = what, probability = 0.5)), nrow(eta))
  }
  reached <- numeric(nrow(eta))
  on <- log_of("log_mean")
  stop <- log_of("log_rest")
  out <- matrix(0, nrow(eta), ncol(eta) + 1L)
  for (k in seq_len(ncol(eta))) {
    out[, k] <- exp(reached + stop[, k])
    reached <- reached + on[, k]
  }
  out[, ncol(out)] <- exp(reached)
  out
}
