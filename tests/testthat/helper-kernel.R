# What tests know of every registered kernel: its formula, examples, and a model that learns its hyperparameters. One
# that is missing in any of the three lists fails.

# Kernels one pair of rows at a time, as documented in ?kernels: x, z are the kernel's columns of two rows,
# h its parameters.
scaled_distance <- function(x, z, h) sqrt(sum(((x - z) / h$lengthscale)^2))

reference_kernel <- list(
  se = function(x, z, h) h$variance * exp(-scaled_distance(x, z, h)^2 / 2),
  matern12 = function(x, z, h) h$variance * exp(-scaled_distance(x, z, h)),
  matern32 = function(x, z, h) {
    r <- scaled_distance(x, z, h)
    h$variance * (1 + sqrt(3) * r) * exp(-sqrt(3) * r)
  },
  matern52 = function(x, z, h) {
    r <- scaled_distance(x, z, h)
    h$variance * (1 + sqrt(5) * r + 5 * r^2 / 3) * exp(-sqrt(5) * r)
  },
  rational_quadratic = function(x, z, h) {
    h$variance * (1 + scaled_distance(x, z, h)^2 / (2 * h$alpha))^(-h$alpha)
  },
  periodic = function(x, z, h) h$variance * exp(-2 * sum((sin(pi * (x - z) / h$period) / h$lengthscale)^2)),
  cosine = function(x, z, h) h$variance * cos(2 * pi * (x - z) / h$period),
  integrated_wiener = function(x, z, h) {
    at <- c(x, z) - h$origin
    if (prod(at) <= 0) return(0)
    h$variance * min(abs(at))^2 * (3 * max(abs(at)) - min(abs(at))) / 6
  },
  linear = function(x, z, h) sum(h$variance * x * z),
  polynomial = function(x, z, h) h$variance * (h$constant + sum(x * z))^h$degree,
  arc_cosine = function(x, z, h) {
    q <- function(x, z) h$constant + sum(x * z)
    size <- sqrt(q(x, x) * q(z, z))
    theta <- acos(min(1, q(x, z) / size))
    if (all(x == z)) theta <- 0  # acos() near 1 has half of the digits
    h$variance / pi * if (h$order == 0) pi - theta else size * (sin(theta) + (pi - theta) * cos(theta))
  },
  constant = function(x, z, h) h$variance,
  white = function(x, z, h) if (all(x == z)) h$variance else 0
)

# One kernel of every registered type, isotropic and with a value per variable, and some compositions.
kernel_examples <- function() {
  list(
    se = list(se(1.7, 0.8), se(1.7, c(0.8, 2, 1.1), ard = TRUE)),
    matern12 = list(matern12(1.7, 0.8), matern12(1.7, c(0.8, 2, 1.1), ard = TRUE)),
    matern32 = list(matern32(1.7, 0.8), matern32(1.7, c(0.8, 2, 1.1), ard = TRUE)),
    matern52 = list(matern52(1.7, 0.8), matern52(1.7, c(0.8, 2, 1.1), ard = TRUE)),
    rational_quadratic = list(
      rational_quadratic(1.7, 0.8, 0.6), rational_quadratic(1.7, 2, 3000, columns = 2:3),
      rational_quadratic(1.7, c(0.8, 2, 1.1), 2, ard = TRUE)
    ),
    periodic = list(
      periodic(1.3, 1.7, 0.8), periodic(c(1.3, 2), 1.7, c(0.8, 2), columns = c("x3", "x1"), ard = TRUE)
    ),
    cosine = list(cosine(1.3, 1.7, columns = 2), cosine(0.7, 0.3, columns = "x3")),
    integrated_wiener = list(integrated_wiener(1.7, columns = 2), integrated_wiener(0.3, columns = "x3")),
    linear = list(linear(1.7), linear(c(0.8, 2, 1.1), ard = TRUE), linear(2, columns = "x2")),
    polynomial = list(polynomial(2, 0.7, 1.7), polynomial(1, 0.7, 1.7), polynomial(3, 2, 0.4, columns = 2:3)),
    arc_cosine = list(arc_cosine(1, 0.7, 1.7), arc_cosine(0, 0.7, 1.7), arc_cosine(1, 2, 0.4, columns = 2:3)),
    constant = list(constant(1.7)),
    white = list(white(1.7), white(0.3, columns = 3)),
    sum = list(
      se(1, 0.8) + linear(0.5) + white(0.1), matern32(1, 1, columns = 1) + matern32(2, 2, columns = 2)
    ),
    product = list(
      se(1.7, 0.8) * linear(0.5), constant(2) * periodic(1.3, 1, 0.8) * matern52(1.1, 3),
      (se(1.7, 0.8) + constant(0.3)) * (linear(0.5) + matern12(1, 2)) + white(0.2)
    )
  )
}

# Models of which one hyperparameter or another has every role.
kernel_cases <- function() {
  one <- function(type) kernel_spec_of(type, list(variance = 1L, lengthscale = 2:3), 1:2)
  white <- kernel_spec_of("white", list(variance = 4L), 1:2)
  sum_of <- function(...) kernel_spec_of("sum", list(), integer(), parts = list(...))
  list(
    se = list(one("se"), c(1.5, 0.8, 2)),
    matern12 = list(one("matern12"), c(1.5, 0.8, 2)),
    matern32 = list(one("matern32"), c(1.5, 0.8, 2)),
    matern52 = list(one("matern52"), c(1.5, 0.8, 2)),
    rational_quadratic = list(
      kernel_spec_of("rational_quadratic", list(variance = 1L, lengthscale = 2:3, alpha = 4L), 1:2),
      c(2, 0.7, 1, 1.3)
    ),
    periodic = list(
      kernel_spec_of("periodic", list(variance = 1L, lengthscale = 2L, period = 3L), 1L), c(1, 1.2, 2.5)
    ),
    cosine = list(kernel_spec_of("cosine", list(variance = 1L, period = 2L), 1L), c(1, 2.5)),
    integrated_wiener = list(
      kernel_spec_of("integrated_wiener", list(variance = 1L), 1L, list(origin = -0.2)), 1.3
    ),
    linear = list(sum_of(kernel_spec_of("linear", list(variance = 1:2), 1:2), one("se")), c(0.6, 1.1, 2)),
    polynomial = list(
      kernel_spec_of("polynomial", list(variance = 1L, constant = 2L), 1:2, list(degree = 2)), c(0.4, 1.2)
    ),
    arc_cosine = list(
      kernel_spec_of("arc_cosine", list(variance = 1L, constant = 2L), 1:2, list(order = 1)), c(0.4, 1.2)
    ),
    constant = list(sum_of(one("matern52"), kernel_spec_of("constant", list(variance = 4L))), c(1, 1, 1, 3)),
    white = list(sum_of(one("se"), white), c(1, 1, 0.7, 0.2)),
    product = list(
      kernel_spec_of("product", list(), integer(), parts = list(one("se"), kernel_spec_of(
        "periodic", list(variance = 4L, lengthscale = 5L, period = 6L), 1L
      ))), c(1, 1.5, 2, 0.9, 1, 3)
    )
  )
}

# k(x, z) of a specification as C++ reads it; `hyper` is the table of hyperparameters.
reference_pair <- function(spec, hyper, x, z) {
  parts <- vapply(spec$parts, reference_pair, 0, hyper, x, z)
  if (spec$type == "sum") return(sum(parts))
  if (spec$type == "product") return(prod(parts))
  h <- c(lapply(spec$hyper, function(at) hyper[at]), spec$constants)
  reference_kernel[[spec$type]](x[spec$columns], z[spec$columns], h)
}

# A naive double loop.   X: a x p, Z: b x p -> a x b.
reference_covariance <- function(spec, hyper, X, Z = X) {
  out <- matrix(0, nrow(X), nrow(Z))
  for (i in seq_len(nrow(X))) {
    for (j in seq_len(nrow(Z))) out[i, j] <- reference_pair(spec, hyper, X[i, ], Z[j, ])
  }
  out
}

# A register() for kernel_spec() that keeps the table: number -> start, fixed() -> fixed, NULL -> default.
new_register <- function() {
  table <- data.frame()
  list(
    register = function(parameter, value, default, lower, upper, variance, learned, guessed, transform) {
      known <- if (is.null(value)) default else known_start(value)
      table <<- rbind(table, data.frame(
        parameter = parameter, value = known, lower = lower, upper = upper,
        learned = if (is.null(value)) learned else !inherits(value, "galvi_fixed")
      ))
      nrow(table)
    },
    table = function() table
  )
}

# Inputs as design code describes them: every column its own variable, x1, x2, ...
plain_inputs <- function(X) {
  list(
    matrix = X, variable = seq_len(ncol(X)), names = paste0("x", seq_len(ncol(X))), weights = rep(1, nrow(X))
  )
}

# -> list(spec, hyper) with the starts as hyperparameters.
kernel_case <- function(kernel, X) {
  r <- new_register()
  spec <- kernel_spec(kernel, plain_inputs(X), r$register, default_variance = 1)
  list(spec = spec, hyper = r$table()$value)
}
