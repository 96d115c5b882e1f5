# Sparse Gaussian processes as border lists, and the textbook's algebra of their priors.

# The points' standardised coordinates follow the other hyperparameters in the table, point by point.
inducing_hyper <- function(hyper, Z, centre, scale) {
  values <- as.numeric(t((Z - rep(centre, each = nrow(Z))) / rep(scale, each = nrow(Z))))
  names(values) <- sprintf("z[%d,%d]", rep(seq_len(nrow(Z)), each = ncol(Z)), seq_len(ncol(Z)))
  c(hyper, values)
}

# first: position of the first coordinate in the table.
inducing_term <- function(X, kernel, Z, first, centre, scale, by = NULL, group = NULL, jitter = 0) {
  list(
    type = "inducing", label = "gp(x)", inputs = X, by = by, group = group, kernel = kernel,
    inducing = list(
      coordinates = matrix(first - 1L + seq_along(Z), nrow(Z), byrow = TRUE), centre = centre, scale = scale,
      groups = if (is.null(group)) 1L else max(group), jitter = jitter
    )
  )
}

inducing_settings <- function(hyper) {
  at <- grep("^z\\[", names(hyper))
  range <- function(x) list(transform = "identity", lower = x - 10, upper = x + 10)
  stats::setNames(lapply(hyper[at], range), names(hyper)[at])
}

# A sparse model at random. kernel: "se" and the like, "sum" or "product".
random_inducing <- function(n, M, kernel = "se", by = FALSE, group = FALSE, likelihood = "binomial_logit",
                            variance = 2, jitter = 0) {
  X <- matrix(rnorm(2 * n), n)
  Z <- matrix(rnorm(2 * M), M)
  centre <- c(0.3, -0.2)
  scale <- c(1.5, 0.8)
  leaf <- function(type, at) kernel_spec_of(type, list(variance = at, lengthscale = at + 1:2), 1:2)
  composed <- kernel %in% c("sum", "product")
  spec <- if (composed) {
    kernel_spec_of(kernel, list(), integer(), parts = list(leaf("matern32", 1L), leaf("se", 4L)))
  } else {
    leaf(kernel, 1L)
  }
  hyper <- c(v = variance, l1 = 0.9, l2 = 1.4, if (composed) c(v2 = 0.7, l3 = 1.1, l4 = 2))
  if (likelihood == "gaussian") hyper <- c(hyper, noise = 0.3)
  first <- length(hyper) + 1L
  hyper <- inducing_hyper(hyper, Z, centre, scale)
  term <- inducing_term(
    X, spec, Z, first, centre, scale, by = if (by) rnorm(n), group = if (group) sample(3L, n, TRUE), jitter
  )
  eta <- sin(2 * X[, 1]) + X[, 2] / 2
  y <- switch(likelihood,
    gaussian = rnorm(n, eta), poisson = rpois(n, exp(eta)), rbinom(n, 1, plogis(2 * eta))
  )
  new_model(y, list(term), hyper, likelihood, settings = inducing_settings(hyper))
}

# W and c from the border's term: W W' by solve(), no factor.
inducing_covariance <- function(term, hyper) {
  at <- term$inducing
  Z <- matrix(hyper[at$coordinates], nrow(at$coordinates))
  Z <- Z * rep(at$scale, each = nrow(Z)) + rep(at$centre, each = nrow(Z))
  Kzz <- probe_kernel_value(term$kernel, hyper, Z, Z) + diag(at$jitter, nrow(Z))
  Knz <- probe_kernel_value(term$kernel, hyper, term$inputs, Z)
  Q <- Knz %*% solve(Kzz, t(Knz))
  variance <- diag(probe_kernel_value(term$kernel, hyper, term$inputs, term$inputs))
  if (length(term$by)) {
    Q <- Q * outer(term$by, term$by)
    variance <- variance * term$by^2
  }
  c <- variance - diag(Q)
  if (length(term$group)) Q <- Q * outer(term$group, term$group, "==")
  list(Q = Q, c = c)
}

# Expectation propagation for y in 0, 1 with the probit link and covariance K, all sites at once, damped.
ep_reference <- function(K, y, rounds = 300) {
  n <- length(y)
  t <- 2 * y - 1
  tau <- nu <- numeric(n)
  for (round in seq_len(rounds)) {
    V <- solve(diag(n) + K * rep(tau, each = n), K)
    v <- diag(V)
    m <- drop(V %*% nu)
    cavity <- v / (1 - v * tau)
    centre <- cavity * (m / v - nu)
    z <- t * centre / sqrt(1 + cavity)
    ratio <- exp(dnorm(z, log = TRUE) - pnorm(z, log.p = TRUE))
    mean <- centre + t * cavity * ratio / sqrt(1 + cavity)
    variance <- cavity - cavity^2 * ratio * (z + ratio) / (1 + cavity)
    tau <- (tau + 1 / variance - 1 / cavity) / 2
    nu <- (nu + mean / variance - centre / cavity) / 2
  }
  # sites are scaled so that they have the mass of p(y | f) under their cavities
  masses <- pnorm(z, log.p = TRUE) + log1p(cavity * tau) / 2 +
    (centre^2 / cavity - variance * (centre / cavity + nu)^2) / 2
  B <- diag(n) + K * rep(tau, each = n)
  log_evidence <- sum(masses) - as.numeric(determinant(B)$modulus) / 2 + sum(nu * drop(V %*% nu)) / 2
  list(log_evidence = log_evidence, tau = tau, alpha = nu - tau * m)
}
