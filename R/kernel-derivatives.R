# Derivatives of kernels of one input, for the derivatives of a process: Cov(f^(a)(x), f^(b)(z)) = d^a/dx^a d^b/dz^b
# k(x, z). With d = x - z it is (-1)^b k^(a + b)(d) for a kernel of differences.

#' The derivatives of a kernel up to an order on both sides
#'
#' @param kernel The list that C++ reads. hyper: values of all hyperparameters. x, z: vectors.
#' @return function(a, b) -> length(x) x length(z), a and b from 0 to `order`.
#' @noRd
kernel_derivatives <- function(kernel, hyper, x, z, order) {
  if (length(kernel$parts)) {
    parts <- lapply(kernel$parts, kernel_derivatives, hyper, x, z, order)
    return(Reduce(if (kernel$type == "sum") sum_of_derivatives else product_of_derivatives, parts))
  }
  own <- lapply(kernel$hyper, function(at) hyper[at])
  d <- outer(x, z, "-")
  along <- difference_derivatives[[kernel$type]]$of(own, d, 2L * order)
  function(a, b) (-1)^b * along[[a + b + 1L]]
}

sum_of_derivatives <- function(f, g) function(a, b) f(a, b) + g(a, b)

product_of_derivatives <- function(f, g) {
  function(a, b) {
    out <- 0
    for (i in 0:a) for (j in 0:b) out <- out + choose(a, i) * choose(b, j) * f(i, j) * g(a - i, b - j)
    out
  }
}

#' Stops for a kernel whose process has no derivative of this order, or whose derivatives are not known
#' @noRd
check_differentiable <- function(kernel, order, label) {
  if (length(kernel$parts)) return(invisible(lapply(kernel$parts, check_differentiable, order, label)))
  known <- difference_derivatives[[kernel$type]]
  if (is.null(known)) {
    rough <- rough_kernels[kernel$type]
    stop_galvi("argument", sprintf("`%s` has the kernel %s(), %s.", label, kernel$type, if (!is.na(rough)) rough else {
      sprintf("whose derivatives are not known; they are of %s", quote_names(names(difference_derivatives)))
    }))
  }
  if (order <= known$order) return(invisible())
  stop_galvi("argument", sprintf(
    "`%s` has the kernel %s(), whose functions have no derivative of order %d: they can be differentiated once.", label,
    kernel$type, order
  ))
}

rough_kernels <- c(
  matern12 = paste(
    "whose functions have no derivative anywhere, as those of Brownian motion: matern32() has one of order 1,",
    "matern52() and se() also of order 2"
  ),
  white = "which is independent noise at each place, without a derivative"
)

# Derivatives of a kernel of differences, k^(0)(d), .., k^(count)(d), a list; `order`: of the process.
difference_derivatives <- list(
  se = list(order = 2L, of = function(p, d, count) {
    u <- d / p$lengthscale
    k <- p$variance * exp(-u^2 / 2)
    hermite <- list(1, u, u^2 - 1, u^3 - 3 * u, u^4 - 6 * u^2 + 3)
    lapply(0:count, function(n) (-1 / p$lengthscale)^n * hermite[[n + 1L]] * k)
  }),
  rational_quadratic = list(order = 2L, of = function(p, d, count) {
    # of q = d^2: G(q) = variance (1 + c q)^-alpha
    c <- 1 / (2 * p$alpha * p$lengthscale^2)
    G <- function(m) p$variance * (-c)^m * prod(p$alpha + seq_len(m) - 1) * exp(-(p$alpha + m) * log1p(c * d^2))
    of_square(d, G, count)
  }),
  matern32 = list(order = 1L, of = function(p, d, count) {
    c <- sqrt(3) / p$lengthscale
    a <- c * abs(d)
    k <- p$variance * exp(-a)
    list(k * (1 + a), -c^2 * d * k, -c^2 * (1 - a) * k)[seq_len(min(count, 2L) + 1L)]
  }),
  matern52 = list(order = 2L, of = function(p, d, count) {
    c <- sqrt(5) / p$lengthscale
    a <- c * abs(d)
    k <- p$variance * exp(-a)
    list(
      k * (1 + a + a^2 / 3), -c^2 / 3 * d * (1 + a) * k, -c^2 / 3 * (1 + a - a^2) * k, c^4 / 3 * d * (3 - a) * k,
      c^4 / 3 * (3 - 5 * a + a^2) * k
    )[seq_len(count + 1L)]
  }),
  periodic = list(order = 2L, of = function(p, d, count) {
    w <- 2 * pi / p$period
    s <- sin(w * d) / p$lengthscale^2
    c <- cos(w * d) / p$lengthscale^2
    k <- p$variance * exp(-2 * (sin(w * d / 2) / p$lengthscale)^2)
    # of exp(g): products of the derivatives of g
    g <- list(-w * s, -w^2 * c, w^3 * s, w^4 * c)
    list(
      k, k * g[[1L]], k * (g[[2L]] + g[[1L]]^2), k * (g[[3L]] + 3 * g[[1L]] * g[[2L]] + g[[1L]]^3),
      k * (g[[4L]] + 4 * g[[1L]] * g[[3L]] + 3 * g[[2L]]^2 + 6 * g[[1L]]^2 * g[[2L]] + g[[1L]]^4)
    )[seq_len(count + 1L)]
  }),
  cosine = list(order = 2L, of = function(p, d, count) {
    w <- 2 * pi / p$period
    lapply(0:count, function(n) p$variance * w^n * cos(w * d + n * pi / 2))
  }),
  constant = list(order = 2L, of = function(p, d, count) {
    c(list(p$variance + 0 * d), rep(list(0 * d), count))
  })
)

# Derivatives in d of a function of q = d^2 with the derivatives G(0), G(1), ..
of_square <- function(d, G, count) {
  each <- list(
    function() G(0), function() 2 * d * G(1), function() 2 * G(1) + 4 * d^2 * G(2),
    function() 12 * d * G(2) + 8 * d^3 * G(3), function() 12 * G(2) + 48 * d^2 * G(3) + 16 * d^4 * G(4)
  )
  lapply(each[seq_len(count + 1L)], function(derivative) derivative())
}
