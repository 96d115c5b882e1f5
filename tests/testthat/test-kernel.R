# Distinct rows, but for one repeated: numbers that no kernel's formula is special at.
kernel_rows <- function(n, shift = 0) {
  i <- seq_len(n)
  X <- cbind(sin(i * 1.3 + shift), cos(i * 0.7 + shift), ((i * 7) %% 5) / 2 + shift)
  if (n >= 4L) X[n, ] <- X[2L, ]
  X
}

every_kernel <- function(check) {
  for (type in names(kernel_facts())) {
    for (kernel in kernel_examples()[[type]]) {
      info <- format(kernel)
      check(kernel_case(kernel, kernel_rows(9)), info, kernel)
    }
  }
}

test_that("every registered kernel has a reference and examples", {
  types <- names(kernel_facts())
  expect_setequal(setdiff(types, c("sum", "product")), names(reference_kernel))
  expect_setequal(types, names(kernel_examples()))
})

test_that("values and diagonals equal a naive double loop", {
  every_kernel(function(case, info, kernel) {
    X <- kernel_rows(9)
    Z <- rbind(kernel_rows(6, 0.2), X[3L, ])
    expected <- reference_covariance(case$spec, case$hyper, X, Z)
    found <- probe_kernel_value(case$spec, case$hyper, X, Z)
    expect_equal(found, expected, tolerance = tol$identity, info = info)
    expected <- diag(reference_covariance(case$spec, case$hyper, X))
    found <- probe_kernel_diagonal(case$spec, case$hyper, X)
    expect_equal(found, expected, tolerance = tol$identity, info = info)
  })
})

test_that("covariances are symmetric and positive semidefinite", {
  every_kernel(function(case, info, kernel) {
    X <- kernel_rows(40)
    K <- probe_kernel_value(case$spec, case$hyper, X, X)
    expect_equal(K, t(K), tolerance = 1e-14, info = info)
    values <- eigen(K, symmetric = TRUE, only.values = TRUE)$values
    expect_gt(min(values), -1e-13 * max(values))
  })
})

# Central differences of order four: f is smooth, steps are 1e-3 of a value of order one.
difference <- function(f, x) {
  vapply(seq_along(x), function(k) {
    h <- 1e-3 * max(abs(x[k]), 0.1)
    at <- function(step) f(replace(x, k, x[k] + step * h))
    (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)
  }, 0)
}

test_that("gradients equal differences", {
  every_kernel(function(case, info, kernel) {
    X <- kernel_rows(9)
    Z <- kernel_rows(6, 0.2)
    G <- matrix(cos(seq_len(54) * 2.1), 9, 6)
    g <- sin(seq_len(9) + 0.4)
    found <- probe_kernel_gradient(case$spec, case$hyper, X, Z, G)
    contracted <- function(hyper) sum(G * probe_kernel_value(case$spec, hyper, X, Z))
    expect_equal(found$hyper, difference(contracted, case$hyper), tolerance = tol$gradient, info = info)
    contracted <- function(z) sum(G * probe_kernel_value(case$spec, case$hyper, X, matrix(z, 6)))
    if (!"white" %in% leaf_types(kernel)) {
      expect_equal(c(found$inputs), difference(contracted, c(Z)), tolerance = tol$gradient, info = info)
    }
    contracted <- function(hyper) sum(g * probe_kernel_diagonal(case$spec, hyper, X))
    found <- probe_kernel_diagonal_gradient(case$spec, case$hyper, X, g)
    expect_equal(found, difference(contracted, case$hyper), tolerance = tol$gradient, info = info)
  })
})

test_that("close rows lose no digits and far ones give zero, never NaN", {
  # exp(-r) near r = 0 is 1 - r: a distance from sums of squares would be off by 1e-8
  X <- matrix(1e3 + c(0, 1e-9))
  case <- kernel_case(matern12(1, 1), X)
  expect_equal(1 - probe_kernel_value(case$spec, case$hyper, X, X)[2L, 1L], X[2L] - X[1L], tolerance = 1e-6)
  case <- kernel_case(rational_quadratic(1, 1, 1e12), X)
  found <- probe_kernel_value(case$spec, case$hyper, matrix(0), matrix(1))
  expect_equal(found[1L], exp(-0.5), tolerance = 1e-11)
  checked <- 0
  every_kernel(function(case, info, kernel) {
    if (any(leaf_types(kernel) %in% c("linear", "polynomial", "arc_cosine", "integrated_wiener"))) return()
    far <- rbind(
      c(0, 0, 0), c(1e300, -1e300, 1e308), c(-1e308, 1e200, 1e5), c(1e-300, 1e-310, 0), c(30, 40, 50)
    )
    K <- probe_kernel_value(case$spec, case$hyper, far, far)
    expect_true(all(is.finite(K)), info = info)
    expect_false(any(K != 0 & abs(K) < 1e-305), info = info)
    gradient <- probe_kernel_gradient(case$spec, case$hyper, far, far, matrix(1, 5, 5))
    # in units of a period far rows are infinitely far
    periods <- unlist(lapply(if (length(kernel$parts)) kernel$parts else list(kernel), parameters_in_role, "period"))
    if (!length(periods)) expect_true(all(is.finite(unlist(gradient))), info = info)
    checked <<- checked + 1
  })
  expect_some(checked, "kernels of far rows")
})

test_that("the kink of matern12 has input gradient zero", {
  X <- kernel_rows(3)
  case <- kernel_case(matern12(1, 1), X)
  x <- X[1L, , drop = FALSE]
  found <- probe_kernel_gradient(case$spec, case$hyper, x, x, matrix(1))
  expect_identical(c(found$inputs), c(0, 0, 0))
  expect_identical(found$hyper, c(1, 0))
})

test_that("array arithmetic is right to the last digits, with wide registers and without", {
  t <- c(0, 1e-300, 1e-9, seq(0.01, 680, length.out = 600), 700, 745, 1e4, 1e300)
  for (portable in c(TRUE, FALSE)) {
    for (n in c(1, 3, 4, 15, 16, 21)) {
      for (q in 0:6) {
        X <- matrix(1e3 + cos(seq_len(n * q)), n, q)
        Z <- matrix(1e3 + sin(seq_len(q * 6)), q, 6)
        expected <- matrix(apply(Z, 2, function(z) rowSums((X - rep(z, each = n))^2)), n)
        for (b in c(0, 1, 3, 4, 6)) {
          found <- probe_kernel_arrays(X, Z[, seq_len(b), drop = FALSE], t[seq_len(n)], portable)
          expect_equal(found$distances, expected[, seq_len(b), drop = FALSE], tolerance = 1e-15)
        }
        expect_equal(found$exp_minus, exp(-t[seq_len(n)]), tolerance = 1e-15)
      }
    }
    found <- probe_kernel_arrays(matrix(0, 1, 0), matrix(0, 0, 1), t, portable)$exp_minus
    expected <- ifelse(t < 690, exp(-t), 0)
    expect_lt(max(abs(found - expected) / pmax(expected, 1e-280)), 1e-15)
    expect_identical(found[t >= 700], numeric(4))
  }
})

# by and group as documented at KernelRows: by_i by_j [group_i == group_j] k(x_i, x_j)
masked <- function(K, a, b = a) {
  if (!is.null(a$by)) K <- K * outer(a$by, b$by)
  if (!is.null(a$group)) K <- K * outer(a$group, b$group, "==")
  K
}

gram_cases <- function(n) {
  X <- kernel_rows(n)
  by <- sin(seq_len(n))
  by[seq_len(n) <= min(70, n / 2)] <- 0
  list(
    list(inputs = X), list(inputs = X, by = by), list(inputs = X, group = as.integer(seq_len(n) %% 3)),
    list(inputs = X, by = by, group = as.integer(seq_len(n) > n / 2))
  )
}

lower <- function(K) {
  K[upper.tri(K)] <- 0
  K
}

test_that("Gram matrices, cross-covariances and diagonals equal the blocks they are made of", {
  case <- kernel_case(se(1.7, 0.8) + linear(0.5), kernel_rows(9))
  for (n in c(1, 2, 47, 48, 49, 150)) {
    for (rows in gram_cases(n)) {
      K <- masked(probe_kernel_value(case$spec, case$hyper, rows$inputs, rows$inputs), rows)
      expect_equal(probe_gram(case$spec, case$hyper, rows), lower(K), tolerance = 1e-14)
      expect_equal(probe_gram_diagonal(case$spec, case$hyper, rows), diag(K), tolerance = 1e-14)
      first <- seq_len(min(n, 70))
      others <- lapply(rows, function(x) if (is.matrix(x)) x[first, , drop = FALSE] else x[first])
      cross <- masked(probe_kernel_value(case$spec, case$hyper, rows$inputs, others$inputs), rows, others)
      expect_equal(probe_gram(case$spec, case$hyper, rows, others), cross, tolerance = 1e-14)
    }
  }
})

test_that("the gradient of a Gram matrix reads one triangle and counts both", {
  case <- kernel_case(se(1.7, 0.8) * periodic(1.3, 1, 0.8) + linear(0.5), kernel_rows(9))
  for (n in c(1, 48, 150)) {
    G <- matrix(cos(seq_len(n^2) * 2.1), n, n)
    G <- G + t(G)
    for (rows in gram_cases(n)) {
      found <- probe_gram_gradient(case$spec, case$hyper, rows, lower(G))
      expected <- probe_kernel_gradient(case$spec, case$hyper, rows$inputs, rows$inputs, masked(G, rows))
      expect_equal(found, expected$hyper, tolerance = 1e-12)
    }
  }
})

test_that("results do not depend on the number of threads", {
  case <- kernel_case(matern32(1.7, c(0.8, 2, 1), ard = TRUE) + white(0.1), kernel_rows(9))
  for (rows in gram_cases(300)) {
    G <- matrix(cos(seq_len(300^2) * 2.1), 300, 300)
    one <- probe_gram(case$spec, case$hyper, rows, threads = 1L)
    expect_identical(probe_gram(case$spec, case$hyper, rows, threads = 2L), one)
    one <- probe_gram_gradient(case$spec, case$hyper, rows, G, threads = 1L)
    expect_identical(probe_gram_gradient(case$spec, case$hyper, rows, G, threads = 2L), one)
  }
})

test_that("the core refuses what it does not know", {
  X <- kernel_rows(3)
  case <- kernel_case(se(1, 1), X)
  value <- function(spec, hyper = case$hyper) probe_kernel_value(spec, hyper, X, X)
  changed <- function(...) utils::modifyList(case$spec, list(...))
  expect_error(value(changed(type = "sinc")), "unknown kernel 'sinc'")
  expect_error(value(changed(hyper = list(lengthscale = NULL))), "needs the parameter")
  expect_error(value(changed(hyper = list(lengthscale = 1:2))), "2 values for 3 columns")
  expect_error(value(case$spec, c(1, 0)), "lengthscale must be positive")
  expect_error(value(case$spec, c(NaN, 1)), "variance must be finite")
})

# ---- the R side ----

test_that("starts come from the data", {
  X <- cbind(c(0, 1, 4, 1), 10 * c(0, 1, 4, 1))
  inputs <- plain_inputs(X)
  starts <- function(kernel, variance = 3) {
    r <- new_register()
    kernel_spec(kernel, inputs, r$register, variance)
    stats::setNames(r$table()$value, r$table()$parameter)
  }
  d <- c(dist(X))
  expect_equal(starts(se()), c(variance = 3, lengthscale = median(d[d > 0])))
  expect_equal(starts(se(ard = TRUE)), c(variance = 3, `lengthscale[x1]` = 3, `lengthscale[x2]` = 30))
  expect_equal(starts(linear()), c(variance = 3 / mean(rowSums(X^2))))
  second_moments <- colMeans(X^2)
  expect_equal(
    starts(linear(ard = TRUE)),
    c(`variance[x1]` = 1.5 / second_moments[1], `variance[x2]` = 1.5 / second_moments[2])
  )
  expect_equal(starts(se() + white())[["white.variance"]], 1.5)
  expect_named(
    starts(se() + se(columns = "x1") * constant()),
    c("se.variance", "se.lengthscale", "se2.variance", "se2.lengthscale", "constant.variance")
  )
  inputs$matrix[] <- 2
  expect_equal(starts(se(ard = TRUE)), c(variance = 3, `lengthscale[x1]` = 1, `lengthscale[x2]` = 1))
})

test_that("a factor is one variable with one lengthscale", {
  inputs <- list(
    matrix = cbind(1:4, diag(4)[, 1:3] / sqrt(2)), variable = c(1L, 2L, 2L, 2L), names = c("x", "g"),
    weights = rep(1, 4)
  )
  r <- new_register()
  spec <- kernel_spec(se(ard = TRUE), inputs, r$register)
  expect_identical(spec$hyper$lengthscale, c(2L, 3L, 3L, 3L))
  spec <- kernel_spec(se(columns = "g"), inputs, r$register)
  expect_identical(spec$columns, 2:4)
})

test_that("a product holds all variances but one", {
  held <- function(kernel) {
    r <- new_register()
    kernel_spec(kernel, plain_inputs(kernel_rows(9)), r$register)
    table <- r$table()
    table$parameter[!table$learned]
  }
  expect_identical(held(se() * periodic(learn(1))), "periodic.variance")
  expect_identical(held(se() * periodic(learn(1), variance = 2)), character())
  expect_identical(held(se() * (linear() + constant())), "se.variance")
  expect_identical(held(se() * linear(ard = TRUE)), "se.variance")
  expect_identical(held(se(lengthscale = fixed(2))), "lengthscale")
})

test_that("a period is held as typed, learned from learn() and from a prior", {
  X <- kernel_rows(9)
  for (make in list(periodic, function(...) cosine(..., columns = 1))) {
    periods <- function(period) {
      r <- new_register()
      kernel_spec(make(period), plain_inputs(X), r$register)
      table <- r$table()
      table[table$parameter == "period", c("value", "learned")]
    }
    expect_equal(periods(12), data.frame(value = 12, learned = FALSE), ignore_attr = TRUE)
    expect_equal(periods(fixed(12)), data.frame(value = 12, learned = FALSE), ignore_attr = TRUE)
    expect_equal(periods(learn(12)), data.frame(value = 12, learned = TRUE), ignore_attr = TRUE)
    expect_equal(periods(log_normal(log(12), 0.1)), data.frame(value = 12, learned = TRUE), ignore_attr = TRUE)
  }
  each <- new_register()
  kernel_spec(periodic(list(2, learn(3)), columns = 1:2, ard = TRUE), plain_inputs(X), each$register)
  expect_identical(each$table()$learned[grepl("period", each$table()$parameter)], c(FALSE, TRUE))
})

test_that("cosine() acts on one column", {
  expect_error(kernel_case(cosine(2), kernel_rows(4)), "one numeric input", class = "galvi_error_kernel")
})

test_that("bounds hold the start", {
  for (kernel in list(se(), se(1e20, 1e-20), periodic(3), rational_quadratic(alpha = 1e8), linear(1e-30))) {
    r <- new_register()
    kernel_spec(kernel, plain_inputs(kernel_rows(9)), r$register)
    table <- r$table()
    expect_true(all(table$lower < table$value & table$value < table$upper), info = format(kernel))
  }
})

test_that("linear and constant kernels are columns with the same covariance", {
  X <- kernel_rows(9)
  for (kernel in list(
    linear(), linear(ard = TRUE), constant(), linear(2) + constant(3),
    constant(2) * linear(c(1, 2, 3), ard = TRUE),
    constant(2) * (linear(columns = "x2") + constant(0.5)) * constant(3) + linear()
  )) {
    expect_true(is_finite_kernel(kernel))
    r <- new_register()
    finite <- finite_columns(kernel, plain_inputs(X), r$register)
    hyper <- c(1, r$table()$value)
    variance <- apply(matrix(hyper[finite$factors + 1L], nrow(finite$factors)), 1L, prod)
    W <- finite_design(finite, X)
    case <- kernel_case(kernel, X)
    expect_equal(
      unname(W %*% (variance * t(W))), probe_kernel_value(case$spec, case$hyper, X, X), info = format(kernel)
    )
    expect_identical(dim(finite_design(finite, X[1L, , drop = FALSE])), c(1L, ncol(W)))
  }
  expect_false(is_finite_kernel(linear() * linear()))
  expect_false(is_finite_kernel(linear() + white()))
})

test_that("kernels print as they are written", {
  expect_snapshot({
    se()
    se(variance = fixed(2), lengthscale = c(1, 2), ard = TRUE, columns = c("a", "b"))
    (matern32() + linear(columns = 1)) * periodic(fixed(12)) + white()
    per_class(rational_quadratic(lengthscale = log_normal(0, 1)))
  })
})

test_that("wrong kernels are refused", {
  expect_error(se(lengthscale = -1), class = "galvi_error_kernel")
  expect_error_snapshot({
    se(lengthscale = -1)
    se(lengthscale = c(1, 2))
    se(variance = NA)
    se(lengthscale = pc(1))
    se(columns = 0)
    se(ard = NA)
    matern12(lengthscale = "a")
    periodic()
    polynomial(1.5)
    2 * se()
    se() - se()
    per_class(se()) + linear()
    per_class("se")
    kernel_case(se(columns = "x4"), kernel_rows(9))
    kernel_case(se(columns = c(1, 1)), kernel_rows(9))
    kernel_case(se(lengthscale = c(1, 2), ard = TRUE), kernel_rows(9))
  })
})
