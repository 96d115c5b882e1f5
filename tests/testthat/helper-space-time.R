# Processes at knots, written out: each row is given the inducing points in space and the states at all knots in time,
# whose joint covariances are known in closed form.

# k(r) of the process and covariances of f with f' and of f' with f', at variance one.
plain_time <- list(
  matern12 = function(r, l) exp(-abs(r) / l),
  matern32 = function(r, l) (1 + sqrt(3) * abs(r) / l) * exp(-sqrt(3) * abs(r) / l),
  # cov(f(s), f'(t)), r = s - t
  matern32_slope = function(r, l) 3 / l^2 * r * exp(-sqrt(3) * abs(r) / l),
  matern32_slopes = function(r, l) 3 / l^2 * (1 - sqrt(3) * abs(r) / l) * exp(-sqrt(3) * abs(r) / l)
)

#' What is known of f at times s: list(k: its variance; cross: cov(f(s), states); states: their covariance)
plain_states <- function(spec, hyper, s, knots) {
  if (spec$type %in% c("sum", "product")) {
    parts <- lapply(spec$parts, plain_states, hyper, s, knots)
    if (spec$type == "sum") {
      at <- cumsum(c(0, vapply(parts, function(p) nrow(p$states), 1L)))
      states <- matrix(0, at[length(at)], at[length(at)])
      for (j in seq_along(parts)) {
        own <- at[j] + seq_len(nrow(parts[[j]]$states))
        states[own, own] <- parts[[j]]$states
      }
      return(list(
        k = sum(vapply(parts, `[[`, 1, "k")), cross = do.call(cbind, lapply(parts, `[[`, "cross")), states = states
      ))
    }
    # of a process and an oscillation: f = g1 cos + g2 sin, with the states of g1 and g2
    own <- parts[[1L]]
    v <- parts[[2L]]$k
    w <- 2 * pi / hyper[spec$parts[[2L]]$hyper$period]
    zero <- 0 * own$states
    return(list(
      k = own$k * v, cross = v * cbind(cos(w * s) * own$cross, sin(w * s) * own$cross),
      states = v * rbind(cbind(own$states, zero), cbind(zero, own$states))
    ))
  }
  v <- hyper[spec$hyper$variance]
  l <- hyper[c(spec$hyper$lengthscale, 1L)[1L]]
  a <- outer(s, knots, "-")
  b <- outer(knots, knots, "-")
  switch(spec$type,
    cosine = list(k = v),
    constant = list(k = v, cross = matrix(v, length(s), 1L), states = matrix(v)),
    matern12 = list(k = v, cross = v * plain_time$matern12(a, l), states = v * plain_time$matern12(b, l)),
    matern32 = list(
      k = v, cross = v * cbind(plain_time$matern32(a, l), plain_time$matern32_slope(a, l)),
      states = v * rbind(
        cbind(plain_time$matern32(b, l), plain_time$matern32_slope(b, l)),
        cbind(t(plain_time$matern32_slope(b, l)), plain_time$matern32_slopes(b, l))
      )
    )
  )
}

#' The covariance of rows under a term of type "knots", without c, and c
plain_knots <- function(term, rows, hyper, others = rows) {
  inputs <- rows$inputs
  time <- ncol(inputs)
  space <- seq_len(time - 1L)
  levels <- function(r) if (is.null(r$group)) rep(1L, nrow(r$inputs)) else r$group
  by <- function(r) if (is.null(r$by)) rep(1, nrow(r$inputs)) else r$by
  K <- matrix(0, nrow(inputs), nrow(others$inputs))
  left <- numeric(nrow(inputs))
  for (level in unique(levels(rows))) {
    a <- which(levels(rows) == level)
    b <- which(levels(others) == level)
    kernel <- if (is.null(term$kernels)) term$kernel else term$kernels[[level]]
    in_space <- length(space) > 0L
    in_time <- if (!in_space) kernel else term$knots$kernels[[min(level, length(term$knots$kernels))]]
    states <- function(r, at) plain_states(in_time, hyper, r$inputs[at, time], term$knots$times)
    first <- states(rows, a)
    second <- states(others, b)
    Kt <- first$cross %*% solve(first$states, t(second$cross))
    kt <- first$k
    known <- rowSums(first$cross * t(solve(first$states, t(first$cross))))
    Ks <- matrix(1, length(a), length(b))
    ks <- rep(1, length(a))
    us <- ks
    if (in_space) {
      at <- term$inducing
      Z <- matrix(hyper[at$coordinates], nrow(at$coordinates))
      Z <- Z * rep(at$scale, each = nrow(Z)) + rep(at$centre, each = nrow(Z))
      value <- function(X, Y) probe_kernel_value(kernel, hyper, X, Y)
      X <- inputs[a, space, drop = FALSE]
      A <- value(X, Z)
      Kzz <- value(Z, Z)
      Ks <- A %*% solve(Kzz, t(value(others$inputs[b, space, drop = FALSE], Z)))
      ks <- diag(value(X, X))
      us <- rowSums(A * t(solve(Kzz, t(A))))
    }
    K[a, b] <- Ks * Kt * outer(by(rows)[a], by(others)[b])
    left[a] <- (ks * kt - us * known) * by(rows)[a]^2
  }
  list(K = K, left = left)
}
