# Kernels whose covariance is an R function, which the core asks for a block of rows at once.

#' Kernels from R functions
#'
#' Makes a kernel for [gp()] from an R function that returns covariances. It can be used like the kernels of galvi, also
#' with inducing points and in sums and products.
#'
#' The functions are called with blocks of rows and with each parameter as one number, from the main thread only.
#' Without `gradient`, derivatives with respect to the parameters are taken by finite differences, four calls of `value`
#' for each parameter; derivatives with respect to inducing points are always taken by finite differences.
#'
#' `custom_kernel()` tests the functions first: dimensions, symmetry, no negative eigenvalue on a set of points, and a
#' `gradient` that agrees with finite differences.
#'
#' In a product every kernel keeps its parameters. If another factor has a variance too, the data cannot tell the two
#' apart: fix one of them by [fixed()].
#'
#' @param value `function(x, z, <parameters>)` that returns the covariances of the rows of the numeric matrix `x` with
#'   those of `z`, an nrow(x) x nrow(z) matrix.
#' @param parameters Named list or vector with the other arguments of `value`, all positive: numbers as starting values,
#'   [fixed()], or priors such as [log_normal()].
#' @param gradient NULL, or `function(x, z, <parameters>)` that returns a list with one nrow(x) x nrow(z) matrix per
#'   parameter, in their order: the derivatives of `value`.
#' @param columns Variables on which the kernel acts: names or positions among the inputs of the term. NULL for all.
#' @return An object of class `galvi_kernel`, see [kernels].
#' @section Errors:
#' `galvi_error_callback` where a function fails, returns something else than described, or does not pass the tests;
#' `galvi_error_kernel` for invalid `columns`.
#' @seealso [kernels], `vignette("extending", package = "galvi")`.
#' @family extending
#' @examples
#' # Brownian motion, which starts at zero
#' brownian <- custom_kernel(
#'   function(x, z, variance) {
#'     variance * outer(x[, 1], z[, 1], function(a, b) (abs(a) + abs(b) - abs(a - b)) / 2)
#'   },
#'   parameters = list(variance = 1)
#' )
#' fit <- galvi(dist ~ 0 + gp(speed, kernel = brownian), data = cars)
#' fit
#' predict(fit, data.frame(speed = c(0, 10, 20)), interval = "credible")
#' @export
custom_kernel <- function(value, parameters = list(), gradient = NULL, columns = NULL) {
  parameters <- as.list(parameters)
  check_callback(value, "value", c("x", "z"), parameters)
  if (!is.null(gradient)) check_callback(gradient, "gradient", c("x", "z"), parameters)
  kernel <- structure(list(
    type = "custom", settings = list(), columns = check_kernel_columns(columns, "custom_kernel"), ard = FALSE,
    constants = list(), parts = list(), per_class = FALSE,
    functions = list(value = value, gradient = gradient, parameters = names(parameters))
  ), class = "galvi_kernel")
  for (name in names(parameters)) {
    kernel$settings[[name]] <- parameters[[name]]
    check_setting(parameters[[name]], list(name = name, role = "shape", per_column = FALSE), kernel)
  }
  check_covariance(kernel)
  kernel
}

# As an entry of core_facts$kernel. Ranges are around the starting values, as nothing else is known of a parameter.
custom_kernel_facts <- function(kernel) {
  starts <- vapply(kernel$settings, known_start, 0)
  list(
    parameters = data.frame(
      name = names(kernel$settings), role = rep("shape", length(starts)), lower = starts * 1e-3,
      upper = starts * 1e3, per_column = rep(FALSE, length(starts))
    ),
    constants = character(), features = "none", acts_on_columns = TRUE, one_input = FALSE, states = 0L,
    lines = "none", origin = FALSE,
    metric = FALSE, operation = ""
  )
}

# What the core calls: function(x, z, parameters) with checked results.
covariance_callbacks <- function(functions) {
  call <- function(what, x, z, p) {
    p <- stats::setNames(as.list(p), functions$parameters)
    call_user(functions[[what]], c(list(x, z), p), what, "custom kernel")
  }
  c(
    list(
      value = function(x, z, p) check_block(call("value", x, z, p), x, z, "`value` of the custom kernel"),
      parameters = as.character(functions$parameters)
    ),
    if (!is.null(functions$gradient)) {
      list(gradient = function(x, z, p) {
        d <- call("gradient", x, z, p)
        if (!is.list(d) || length(d) != length(p)) {
          stop_galvi("callback", sprintf(
            "`gradient` of the custom kernel must return a list of %d %s, one for each parameter, not %s.",
            length(p), if (length(p) == 1L) "matrix" else "matrices", describe(d)
          ))
        }
        what <- sprintf("The derivative in `%s` of the custom kernel", functions$parameters)
        Map(function(block, what) check_block(block, x, z, what), unname(d), what)
      })
    }
  )
}

check_block <- function(K, x, z, what) {
  if (!is.numeric(K) || !identical(dim(K), c(nrow(x), nrow(z)))) {
    stop_galvi("callback", sprintf(
      "%s must be a matrix of nrow(x) x nrow(z) (%d x %d here), not %s.", what, nrow(x), nrow(z), describe(K)
    ))
  }
  if (!all(is.finite(K))) {
    bad <- which(!is.finite(K), arr.ind = TRUE)[1L, ]
    stop_galvi("callback", sprintf(
      "%s is %s for x = %s, z = %s: covariances must be finite.", what, format(K[bad[1L], bad[2L]]),
      paste(format(x[bad[1L], ], digits = 5L), collapse = " "),
      paste(format(z[bad[2L], ], digits = 5L), collapse = " ")
    ))
  }
  storage.mode(K) <- "double"
  K
}

# ---- checks, when the kernel is made ----

# Checked on a fixed quasi-random set of points with as many columns as the kernel takes.
check_covariance <- function(kernel) {
  callbacks <- covariance_callbacks(kernel$functions)
  p <- vapply(kernel$settings, known_start, 0)
  points <- function(columns) matrix(4 * ((seq_len(20L * columns) * 0.6180339887) %% 1) - 1, 20L, columns)
  x <- points(if (is.null(kernel$columns)) enough_columns(callbacks, points, p) else length(kernel$columns))
  K <- callbacks$value(x, x, p)
  size <- max(abs(K))
  if (max(abs(K - t(K))) > 1e-8 * size) {
    bad <- which(abs(K - t(K)) > 1e-8 * size, arr.ind = TRUE)[1L, ]
    stop_galvi("callback", sprintf(
      "`value` of the custom kernel is not symmetric: it is %s for x = %s, z = %s and %s the other way round.",
      format(K[bad[1L], bad[2L]]), format(x[bad[1L], 1L]), format(x[bad[2L], 1L]), format(K[bad[2L], bad[1L]])
    ))
  }
  block <- callbacks$value(x[1:3, , drop = FALSE], x[4:8, , drop = FALSE], p)
  if (max(abs(block - K[1:3, 4:8])) > 1e-8 * size) {
    stop_galvi("callback", paste(
      "`value` of the custom kernel gives two rows a different covariance when other rows are passed with them:",
      "it must depend on the two rows alone."
    ))
  }
  lowest <- min(eigen(K, symmetric = TRUE, only.values = TRUE)$values)
  if (lowest < -1e-8 * size * nrow(x)) {
    stop_galvi("callback", sprintf(
      "`value` of the custom kernel is not a covariance: the matrix of %d points has the negative eigenvalue %s.",
      nrow(x), format(lowest, digits = 3L)
    ))
  }
  if (!is.null(callbacks$gradient)) check_given_gradient(callbacks, x, p)
}

# The number of columns that the function needs is not known: the smallest of 1 to 4 for which it does not fail, else 1.
enough_columns <- function(callbacks, points, p) {
  works <- function(columns) {
    x <- points(columns)
    tryCatch(is.matrix(callbacks$value(x, x, p)), galvi_error_callback = function(e) FALSE)
  }
  for (columns in 1:4) if (works(columns)) return(columns)
  1L
}

check_given_gradient <- function(callbacks, x, p) {
  z <- x[1:6, , drop = FALSE]
  given <- callbacks$gradient(x, z, p)
  for (j in seq_along(p)) {
    h <- 1e-3 * p[j]
    at <- function(by) callbacks$value(x, z, replace(p, j, p[j] + by))
    difference <- (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    off <- abs(given[[j]] - difference)
    if (max(off) <= 1e-4 * max(1e-8, abs(difference))) next
    bad <- which(off == max(off), arr.ind = TRUE)[1L, ]
    stop_galvi("callback", sprintf(
      "`gradient` of the custom kernel in `%s` is %s for x = %s, z = %s; differences of `value` give %s.",
      callbacks$parameters[j], format(given[[j]][bad[1L], bad[2L]], digits = 5L), format(x[bad[1L], 1L]),
      format(z[bad[2L], 1L]), format(difference[bad[1L], bad[2L]], digits = 5L)
    ))
  }
}
