# The best joint Gaussian of all coefficients and linear response at it (src/fit/coupled_response.h): by the core, and
# what they must satisfy, in plain R. Models whose predictors are columns with independent normal priors.

# A border list. W: a design for each predictor; sd, mean: of the priors of all coefficients, one predictor after the
# other; values: of the likelihood's parameters, by name.
column_model <- function(type, y, W, sd, mean = 0, values = list(), ...) {
  block <- rep(seq_along(W), vapply(W, ncol, 1L))
  mean <- rep_len(mean, length(block))
  sds <- stats::setNames(rep_len(sd, length(block)), paste0("sd", seq_along(block)))
  before <- length(unlist(values))
  predictor <- function(k) {
    term <- columns_term(W[[k]], before + which(block == k), mean = mean[block == k])
    model <- new_model(y, list(term), c(unlist(values), sds), type, ...)
    model$predictors[[1]][c("design", "latents")] <- list(k, k)
    model
  }
  all <- lapply(seq_along(W), predictor)
  model <- all[[1]]
  model$designs <- do.call(c, lapply(all, `[[`, "designs"))
  model$predictors <- do.call(c, lapply(all, `[[`, "predictors"))
  model$offset <- matrix(0, length(y), length(W))
  if (before) model$likelihood$hyper <- utils::relist(seq_len(before), values)
  check_model(model)
}

# With the covariance of the posterior that factorises over predictors, from which the core starts.
coupled_at <- function(model, ..., control = quiet_control(tol = 1e-12)) {
  found <- probe_coupled_response(model, control, ...)
  unit <- 1 / sqrt(diag(found$factorised_precision))
  found$factorised <- outer(unit, unit) * solve(found$factorised_precision * outer(unit, unit))
  found
}

# Gauss-Hermite nodes and weights for a standard normal variable (Golub and Welsch 1969).
hermite_rule <- function(n) {
  J <- matrix(0, n, n)
  J[cbind(seq_len(n - 1L), 2:n)] <- J[cbind(2:n, seq_len(n - 1L))] <- sqrt(seq_len(n - 1L))
  e <- eigen(J, symmetric = TRUE)
  list(node = e$values, weight = e$vectors[1L, ]^2)
}

# To the last digits that rounding leaves.
coupled_exactly <- function(model, ...) coupled_at(model, 1e-10, 1e-10, ...)

# Standardised by the sds of V.
in_sds <- function(A, V) A / sqrt(outer(diag(V), diag(V)))

# sum_n W_n' E df_n and sum_n W_n' E d2f_n W_n under N(m, V), for one or two predictors; log_density(y, eta): eta has a
# column for each. By weights alone: E df = E[f z] and E d2f = E[f (z z' - I)], in coordinates z where eta is standard.
expected_slopes <- function(W, y, log_density, m, V, nodes = 17L) {
  K <- length(W)
  rule <- hermite_rule(nodes)
  grid <- as.matrix(expand.grid(rep(list(seq_len(nodes)), K)))
  z <- matrix(rule$node[grid], ncol = K)
  weight <- apply(matrix(rule$weight[grid], ncol = K), 1, prod)
  slope <- 0
  curvature <- 0
  for (n in seq_along(y)) {
    rows <- lapply(seq_len(K), function(k) unlist(lapply(seq_len(K), function(j) (j == k) * W[[j]][n, ])))
    w <- do.call(rbind, rows)
    back <- solve(t(chol(w %*% V %*% t(w))))
    centre <- drop(w %*% m)
    eta <- t(solve(back, t(z)) + centre)
    f <- weight * (log_density(y[n], eta) - log_density(y[n], t(centre)))
    slope <- slope + drop(t(back %*% w) %*% colSums(f * z))
    curvature <- curvature + t(back %*% w) %*% (crossprod(z, f * z) - sum(f) * diag(K)) %*% (back %*% w)
  }
  list(slope = slope, curvature = curvature)
}

# What is zero at the best Gaussian: the slope in the mean, and what its precision lacks.
unbalanced <- function(W, y, log_density, sd, m, V, ...) {
  e <- expected_slopes(W, y, log_density, m, V, ...)
  list(slope = e$slope - m / sd^2, precision = diag(1 / sd^2, length(m)) - e$curvature - solve(V))
}

# Linear response without its formulas: a tilt t of the log posterior moves (m, V) to where slope + t and what the
# precision lacks are zero again. Differences give the Jacobian, whose inverse has the response of m.
response_by_differences <- function(W, y, log_density, sd, m, V, h = 1e-4) {
  L <- length(m)
  pairs <- which(lower.tri(V, TRUE), arr.ind = TRUE)
  unit <- sqrt(diag(V))
  at <- function(x) {
    S <- matrix(0, L, L)
    S[pairs] <- x[-seq_len(L)]
    S <- S + t(S) - diag(diag(S))
    u <- unbalanced(W, y, log_density, sd, m + unit * x[seq_len(L)], V + S * outer(unit, unit))
    c(u$slope * unit, (u$precision * outer(unit, unit))[pairs])
  }
  size <- L + nrow(pairs)
  J <- vapply(seq_len(size), function(j) {
    e <- replace(numeric(size), j, h)
    (at(e) - at(-e)) / (2 * h)
  }, numeric(size))
  -solve(J)[seq_len(L), seq_len(L)] * outer(unit, unit)
}
