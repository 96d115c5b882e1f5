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
