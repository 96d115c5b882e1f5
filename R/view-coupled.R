# Classes whose latent values depend on each other in the posterior. The bound, and all that is learned by it,
# takes a q that factorises over them; coefficients, predictions and draws then take the best Gaussian that does
# not, a few steps from q (the first in src/global/coupled.h), with covariances by linear response
# (src/global/linear_response.h). Models of columns alone have it.

#' The fit as its bound and its sites know it
#' @noRd
factorised_view <- function(fit) {
  if (!is_coupled(fit)) return(fit)
  as_mixture(with_states(fit, function(view) {
    latent <- view$posterior$factorised
    view$posterior[c("coupled", "factorised")] <- NULL
    with_latent(view, latent)
  }))
}

# All columns of the model at rows: n x q.
all_columns <- function(rows) do.call(cbind, lapply(rows[[1L]], `[[`, "W"))

#' From the first step to the best coupled Gaussian
#'
#' With H_n = E[-d^2 log p / d eta d eta'] and the classes' E p taken under the coupled q, its precision is
#' A = P + sum_n H_n (x) w_n w_n' and its mean is where W'(y - E p) and the prior balance. Where rows are many the
#' first step is enough: the more rows, the less further steps change. Full steps overshoot by up to 0.7 of their
#' length, so the precision goes half of the way: a natural-gradient step.
#'
#' @param evaluations How many expectations a step may take.
#' @noRd
with_coupled_optimum <- function(fit, evaluations = 20000, steps = 5L) {
  if (!is_coupled(fit)) return(fit)
  with_states(fit, function(view) at_coupled_optimum(view, evaluations, steps))
}

at_coupled_optimum <- function(fit, evaluations, steps) {
  if (!has_rows(fit)) return(fit)
  target <- training_target(fit)
  W <- all_columns(target$rows)
  copies <- fit$model$weights * fit$model$size
  nodes <- length(gaussian_nodes(rep(1, max(length(response_levels(fit)) - 2L, 0L)))$weight)
  best <- if (fit$nobs * nodes <= evaluations) best_coupled(fit, W, target$offset, copies, steps)
  if (is.null(best)) {
    best <- list(mean = unlist(lapply(fit$posterior$latent, `[[`, "mean")), covariance = fit$posterior$coupled)
  } else {
    fit <- with_coefficients(fit, matrix(best$mean, ncol(W)), best$covariance)
  }
  mean <- matrix(best$mean, ncol(W))
  response <- response_covariance(fit, W, target$offset + W %*% mean, copies, best$covariance)
  if (is.null(response)) fit else with_coefficients(fit, mean, response)
}

# list(mean, covariance), or NULL where digits are lost on the way.
best_coupled <- function(fit, W, offset, copies, steps) {
  K <- ncol(offset)
  sums <- function(moments) {
    list(
      slope = as.vector(crossprod(W, copies * moments$probability)),
      curvature = block_sum(W, copies * matrix(moments$curvature, length(copies)), K)
    )
  }
  precision <- inverse_covariance(fit$posterior$coupled)
  if (is.null(precision)) return(NULL)
  first <- fit$posterior[c("mean", "variance")]
  old <- sums(row_moments(fit, first$mean, diagonal_blocks(first$variance)))
  own_precision <- precision - old$curvature
  mean <- factorised <- unlist(lapply(fit$posterior$factorised, `[[`, "mean"))
  covariance <- fit$posterior$coupled
  for (step in seq_len(steps)) {
    eta <- offset + W %*% matrix(mean, ncol(W))
    now <- sums(row_moments(fit, eta, block_variances(W, covariance, K)))
    slope <- old$slope - now$slope - drop(own_precision %*% (mean - factorised))
    precision <- (precision + own_precision + now$curvature) / 2
    root <- tryCatch(chol(precision), error = function(e) NULL)
    if (is.null(root)) break
    # in standard deviations, in coordinates that do not depend on how columns are coded
    ratio <- root %*% covariance %*% t(root)
    covariance <- chol2inv(root)
    change <- drop(covariance %*% slope)
    mean <- mean + change
    if (max(sqrt(sum((root %*% change)^2)), norm(ratio - diag(nrow(root)), "2") / 2) < 0.005) break
  }
  if (all(is.finite(mean)) && !is.null(inverse_covariance(covariance))) list(mean = mean, covariance = covariance)
}

#' The covariance by linear response, which adds what the Gaussian leaves out of skew posteriors
#'
#' @return NULL where rows are so many that it would change little, or seconds would be needed, and where it is not
#'   known: sds that differ by many orders of magnitude, posteriors far from every Gaussian.
#' @noRd
response_covariance <- function(fit, W, mean, copies, covariance, most_rows = 10000, most_work = 2e9) {
  K <- ncol(mean)
  work <- 8 * ncol(covariance) * (nrow(W) * (3 * ncol(covariance)^2 + 4 * K^4) + 8 * ncol(covariance)^3)
  if (nrow(W) > most_rows || work > most_work || is.null(inverse_covariance(covariance))) return(NULL)
  between <- matrix(block_variances(W, covariance, K), nrow(W))
  reference <- fit$model$likelihood$constants$reference >= 0
  z <- stats::qnorm(even_points(100L, K))
  response <- coupled_response(W, mean, between, copies, reference, rbind(z, -z), covariance, fit$control$threads)
  if (!is.null(response) && !is.null(inverse_covariance(response))) response
}

# NULL where it has lost its digits.
inverse_covariance <- function(V) {
  sd <- sqrt(diag(V))
  if (!all(is.finite(V)) || any(sd <= 0)) return(NULL)
  root <- tryCatch(chol(V / outer(sd, sd)), error = function(e) NULL)
  if (!is.null(root)) chol2inv(root) / outer(sd, sd)
}

#' The classes' E p and E[-d^2 log p / d eta d eta'] at rows with these moments, of the classes with latent values
#' @noRd
row_moments <- function(fit, mean, between) {
  constants <- fit$model$likelihood$constants
  levels <- response_levels(fit)
  own <- setdiff(seq_along(levels), constants$reference + 1)
  all <- of_all_classes(fit, mean, between)
  found <- coupled_classes(all$mean, all$between, function(m, v) {
    model <- fitted_model(fit)[c("likelihood", "hyper", "expectation")]
    model$likelihood <- all$likelihood
    one <- rep(1, nrow(m))
    curvature <- -mean_curvature(c(model, list(y = 0 * one, size = one, weights = one)), m, v, fit$control$threads)
    c(independent_classes(all$likelihood, fit, m, v, FALSE), list(curvature = curvature))
  })
  curvature <- array(found$curvature, c(nrow(mean), length(levels), length(levels)))
  list(
    probability = found$probability[, own, drop = FALSE], curvature = curvature[, own, own, drop = FALSE]
  )
}

#' sum_n H_n (x) w_n w_n'   (H: n x K^2)
#' @noRd
block_sum <- function(W, H, K) {
  out <- matrix(0, K * ncol(W), K * ncol(W))
  block <- function(k) (k - 1L) * ncol(W) + seq_len(ncol(W))
  for (j in seq_len(K)) for (k in seq_len(K)) out[block(j), block(k)] <- crossprod(W, H[, j + K * (k - 1L)] * W)
  out
}

#' Covariances of rows' latent values: n x K x K
#' @noRd
block_variances <- function(W, covariance, K) {
  out <- array(0, c(nrow(W), K, K))
  block <- function(k) (k - 1L) * ncol(W) + seq_len(ncol(W))
  for (j in seq_len(K)) {
    for (k in seq_len(j)) out[, j, k] <- out[, k, j] <- rowSums((W %*% covariance[block(j), block(k)]) * W)
  }
  out
}

diagonal_blocks <- function(variance) {
  out <- array(0, c(dim(variance), ncol(variance)))
  for (k in seq_len(ncol(variance))) out[, k, k] <- variance[, k]
  out
}

#' The fit with these coefficients, q x K, and their joint covariance
#' @noRd
with_coefficients <- function(fit, mean, covariance) {
  fit$posterior$coupled <- covariance
  with_latent(fit, lapply(seq_len(ncol(mean)), function(k) {
    own <- (k - 1L) * nrow(mean) + seq_len(nrow(mean))
    list(mean = mean[, k], chol = t(chol(covariance[own, own])))
  }))
}

#' The fit with these latent vectors of each class, list(mean, chol), and the coefficients that follow
#' @noRd
with_latent <- function(fit, latent) {
  fit$posterior$latent <- latent
  last <- cumsum(vapply(fit$posterior$coefficients, function(term) nrow(term$mean), 1L))
  fit$posterior$coefficients <- Map(function(term, last) {
    own <- last - nrow(term$mean) + seq_len(nrow(term$mean))
    term$mean[] <- vapply(latent, function(z) z$mean[own], numeric(length(own)))
    term$covariance <- lapply(latent, function(z) tcrossprod(z$chol[own, , drop = FALSE]))
    term
  }, fit$posterior$coefficients, last)
  fit
}

#' Posterior mean and variance of eta at the observations
#' @noRd
coupled_marginals <- function(fit) {
  W <- all_columns(fit$model$designs)
  latent <- fit$posterior$latent
  list(
    mean = fit$model$offset + vapply(latent, function(z) drop(W %*% z$mean), numeric(nrow(W))),
    variance = vapply(latent, function(z) rowSums((W %*% z$chol)^2), numeric(nrow(W)))
  )
}

#' Covariance of a row's latent values: n x K x K, NULL if q is right to factorise over them
#' @noRd
row_covariances <- function(fit, rows) {
  if (!is_coupled(fit)) return(NULL)
  block_variances(all_columns(rows), fit$posterior$coupled, n_latents(fit))
}

#' Joint draws of eta at rows, without the offset: a list of K matrices, rows x count
#' @noRd
coupled_draws <- function(fit, rows, count) {
  W <- all_columns(rows)
  root <- covariance_root(fit$posterior$coupled)
  mean <- unlist(lapply(fit$posterior$latent, `[[`, "mean"))
  drawn <- mean + root %*% matrix(stats::rnorm(ncol(root) * count), ncol(root))
  lapply(seq_len(n_latents(fit)), function(k) W %*% drawn[(k - 1L) * ncol(W) + seq_len(ncol(W)), , drop = FALSE])
}

# ---- probabilities of classes ----

#' Moments of classes' probabilities where latent values depend on each other
#'
#' A softmax does not change when one variable is added to all of its arguments. So a covariance V of all classes
#' (that of a reference class is zero) may be replaced by V + 1s' + s1', and s is taken to make it as diagonal as
#' can be: with three classes it nearly always is, and the moments are those of independent latent values. What is
#' left, as a rule little, is averaged over by quadrature.
#'
#' @param mean N x C. between: N x C x C.
#' @param moments `function(mean, variance)` of independent latent values: a list of matrices with a row per row.
#' @return The same, of rows with these covariances.
#' @noRd
coupled_classes <- function(mean, between, moments) {
  rules <- lapply(seq_len(nrow(mean)), function(n) conditioned(mean[n, ], matrix(between[n, , ], ncol(mean))))
  stacked <- function(part) do.call(rbind, lapply(rules, `[[`, part))
  weight <- unlist(lapply(rules, `[[`, "weight"))
  row <- rep(seq_along(rules), lengths(lapply(rules, `[[`, "weight")))
  lapply(moments(stacked("mean"), stacked("variance")), function(x) {
    unname(rowsum(weight * x, row, reorder = TRUE))
  })
}

#' Moments of the latent values of all classes, and the likelihood that has one for each: that of a reference is zero
#' @noRd
of_all_classes <- function(fit, mean, between) {
  likelihood <- fit$model$likelihood
  C <- length(response_levels(fit))
  at <- setdiff(seq_len(C), likelihood$constants$reference + 1)
  likelihood$constants$reference <- -1
  out <- list(mean = matrix(0, nrow(mean), C), between = array(0, c(nrow(mean), C, C)), likelihood = likelihood)
  out$mean[, at] <- mean
  out$between[, at, at] <- between
  out
}

#' One row's nodes, at which latent values are independent: list(mean, variance: nodes x C, weight)
#' @noRd
conditioned <- function(mean, V) {
  C <- length(mean)
  off <- rowSums(V) - diag(V)
  s <- if (C == 2L) rep(-V[1L, 2L] / 2, 2L) else (sum(off) / (2 * (C - 1)) - off) / (C - 2)
  # what matters: the covariance of contrasts, in an orthonormal basis of them
  basis <- contrast_basis(C)
  whole <- crossprod(basis, V %*% basis)
  scale <- max(diag(whole))
  if (scale <= 1e-14 * max(abs(V))) return(list(mean = t(mean), variance = matrix(0, 1L, C), weight = 1))
  # independent parts may not take more than there is: the largest t for which whole - t D is a covariance
  D <- pmax(diag(V) + 2 * s, 0.05 * scale)
  root <- chol(crossprod(basis, D * basis))
  ratio <- backsolve(root, t(backsolve(root, whole, transpose = TRUE)), transpose = TRUE)
  D <- D * min(1, max(0, eigen(ratio, symmetric = TRUE, only.values = TRUE)$values[C - 1L]))
  rest <- eigen(whole - crossprod(basis, D * basis), symmetric = TRUE)
  kept <- which(rest$values > 1e-10 * scale)
  rule <- gaussian_nodes(rest$values[kept])
  at <- tcrossprod(rule$nodes, basis %*% rest$vectors[, kept, drop = FALSE]) + rep(mean, each = length(rule$weight))
  list(mean = at, variance = matrix(D, nrow(at), C, byrow = TRUE), weight = rule$weight)
}

# C x (C - 1), orthonormal columns that add up to zero.
contrast_basis <- function(C) qr.Q(qr(cbind(1, diag(C)[, -1L])))[, -1L, drop = FALSE]

#' Nodes and weights for independent normal variables: list(nodes: m x r, weight)
#'
#' A product of Gauss-Hermite rules for one or two, else a rule of degree 5 with 2 r^2 + 1 nodes (Stroud and Secrest
#' 1963): the variances left are small.
#' @noRd
gaussian_nodes <- function(variances) {
  r <- length(variances)
  if (r == 0L) return(list(nodes = matrix(0, 1L, 0L), weight = 1))
  if (r <= 2L) {
    rule <- hermite_rule(15L)
    index <- as.matrix(expand.grid(rep(list(seq_along(rule$weight)), r)))
    nodes <- matrix(rule$node[index], ncol = r)
    weight <- apply(matrix(rule$weight[index], ncol = r), 1L, prod)
  } else {
    one <- diag(sqrt(r + 2), r)
    pairs <- utils::combn(r, 2L)
    two <- do.call(rbind, lapply(seq_len(ncol(pairs)), function(p) {
      signs <- cbind(c(1, 1, -1, -1), c(1, -1, 1, -1))
      out <- matrix(0, 4L, r)
      out[, pairs[, p]] <- signs * sqrt((r + 2) / 2)
      out
    }))
    nodes <- rbind(0, one, -one, two)
    weight <- rep(c(2 / (r + 2), (4 - r) / (2 * (r + 2)^2), 1 / (r + 2)^2), c(1L, 2L * r, nrow(two)))
  }
  list(nodes = nodes * rep(sqrt(variances), each = nrow(nodes)), weight = weight)
}

# Gauss-Hermite nodes and weights for a standard normal variable (Golub and Welsch 1969).
hermite_rule <- function(n) {
  J <- matrix(0, n, n)
  J[cbind(seq_len(n - 1L), 2:n)] <- J[cbind(2:n, seq_len(n - 1L))] <- sqrt(seq_len(n - 1L))
  e <- eigen(J, symmetric = TRUE)
  list(node = e$values, weight = e$vectors[1L, ]^2)
}

#' The model with the fit's hyperparameters and expectation
#' @noRd
fitted_model <- function(fit) {
  model <- fit$model
  model$hyper$value <- fit$posterior$hyper
  model$expectation <- fit$expectation
  model
}
