backends <- c("blas", "eigen", "narrow")
# Around the leaves of both backends' recursions (32, 48), the rounding of its halves (64, 128) and the tiles
# of the products (4, 8, 12, 96, 256).
sizes <- c(1, 2, 3, 7, 8, 9, 13, 32, 33, 48, 49, 64, 65, 97, 127, 128, 129, 255, 256, 257, 513)

lower <- function(A) {
  A[upper.tri(A)] <- 0
  A
}

mirror <- function(A) {
  A[upper.tri(A)] <- t(A)[upper.tri(A)]
  A
}

random_matrix <- function(rows, cols = rows) matrix(rnorm(rows * cols), rows, cols)

# Eigenvalues within about [1, 5]; the upper triangle is rubbish, as nobody may read it.
positive_definite <- function(n) {
  A <- crossprod(random_matrix(n)) / n + diag(n)
  A[upper.tri(A)] <- NaN
  A
}

test_that("backend() knows its names and chooses one by itself", {
  expect_identical(galvi_backend("blas"), "blas")
  expect_identical(galvi_backend("eigen"), "eigen")
  chosen <- galvi_backend("auto")
  expect_true(chosen %in% c("blas", "eigen"))
  expect_identical(galvi_backend("auto"), chosen)
  expect_error(galvi_backend("atlas"), "`backend` must be .* not \"atlas\"",
               class = "std::invalid_argument")
})

test_that("the Cholesky factor, its inverse and the matrix's inverse are R's", {
  set.seed(1)
  for (backend in backends) {
    for (n in sizes) {
      A <- positive_definite(n)
      R <- chol(mirror(A))
      factor <- probe_cholesky(A, backend)
      expect_close(lower(factor$value), t(R))
      expect_identical(factor$value[upper.tri(A)], A[upper.tri(A)])
      inverse <- probe_invert(factor$value, "factor", backend)
      expect_close(lower(inverse$value), t(backsolve(R, diag(n))))
      full <- probe_invert(factor$value, "matrix", backend)
      expect_close(mirror(full$value), chol2inv(R))
    }
  }
})

test_that("flops and factorisations are counted", {
  set.seed(2)
  for (backend in backends) {
    for (n in c(300, 600)) {
      factor <- probe_cholesky(positive_definite(n), backend)
      expect_identical(factor$factorisations, 1L)
      expect_lt(abs(factor$flops / (n^3 / 3) - 1), 0.05)
      expect_lt(abs(probe_invert(factor$value, "factor", backend)$flops / (n^3 / 3) - 1), 0.05)
      full <- probe_invert(factor$value, "matrix", backend)
      expect_lt(abs(full$flops / (2 * n^3 / 3) - 1), 0.05)
      expect_identical(full$factorisations, 0L)
    }
  }
})

test_that("a matrix that is not positive definite has no Cholesky factor", {
  set.seed(3)
  for (backend in backends) {
    expect_null(probe_cholesky(matrix(-1), backend))
    expect_null(probe_cholesky(matrix(0), backend))
    for (n in c(3, 60, 600)) {
      for (bad in unique(c(1, n %/% 2, n))) {
        A <- positive_definite(n)
        A[bad, bad] <- -1
        expect_null(probe_cholesky(A, backend))
      }
    }
  }
})

test_that("NaN, NA and infinities give no factor, wherever they stand", {
  set.seed(4)
  for (n in c(1, 5, 100, 530)) {
    fine <- positive_definite(n)
    for (backend in backends) {
      for (value in c(NaN, NA, Inf, -Inf)) {
        for (at in unique(list(c(1, 1), c(n, 1), c(n, n), c(n, (n + 1) %/% 2)))) {
          A <- fine
          A[at[1], at[2]] <- value
          expect_null(probe_cholesky(A, backend))
          expect_null(probe_cholesky(A, backend, positive = n %/% 2))
        }
      }
    }
  }
})

test_that("jitter is added when needed only, is reported, and has an end", {
  set.seed(5)
  for (backend in backends) {
    A <- positive_definite(70)
    fine <- probe_cholesky_with_jitter(A, backend)
    expect_identical(fine$jitter, 0)
    expect_identical(fine$value, probe_cholesky(A, backend)$value)

    # Smooth and noiseless: numerically singular.
    K <- 7 * exp(-outer(1:70, 1:70, "-")^2 / 2e4)
    mended <- probe_cholesky_with_jitter(K, backend)
    expect_gt(mended$jitter, 0)
    expect_lte(mended$jitter, 7 * 1e-8)
    expect_close(tcrossprod(lower(mended$value)), K + mended$jitter * diag(70))
    expect_identical(mended$factorisations, 1L)

    for (broken in list(-diag(3), matrix(NaN, 2, 2), matrix(c(1, 2, 2, 1), 2))) {
      expect_error(probe_cholesky_with_jitter(broken, backend), "not positive definite",
                   class = "std::domain_error")
    }
  }
})

test_that("signed_cholesky() factors J + M and rejects another inertia", {
  set.seed(6)
  for (backend in backends) {
    for (n in c(1, 2, 9, 65, 130, 257)) {
      for (positive in unique(c(0, 1, n %/% 3, n - 1, n))) {
        signs <- rep(c(1, -1), c(positive, n - positive))
        M <- crossprod(random_matrix(n)) / n
        M <- 0.5 * M / max(eigen(M, symmetric = TRUE, only.values = TRUE)$values)
        right <- diag(signs, n) + M
        factor <- probe_cholesky(right, backend, positive = positive)
        L <- lower(factor$value)
        expect_close(L %*% (signs * t(L)), right)
        expect_true(all(diag(L) > 0))
        expect_identical(factor$factorisations, 1L)
        inverse <- probe_invert(factor$value, "matrix", backend, positive = positive)
        expect_close(mirror(inverse$value), solve(right))

        if (positive < n) {  # so much added to the last row that its sign turns
          wrong <- right
          wrong[n, n] <- wrong[n, n] + 3
          expect_null(probe_cholesky(wrong, backend, positive = positive))
        }
      }
    }
    A <- positive_definite(20)
    expect_identical(probe_cholesky(A, backend, positive = 20), probe_cholesky(A, backend))
  }
})

test_that("triangular solves read the lower triangle and take any number of right-hand sides", {
  set.seed(7)
  for (backend in backends) {
    for (n in c(1, 32, 65, 257, 513)) {
      L <- t(chol(mirror(positive_definite(n))))
      stored <- L
      stored[upper.tri(L)] <- NaN
      for (columns in c(0, 1, 3, 70)) {
        B <- random_matrix(n, columns)
        expect_close(probe_solve(stored, B, FALSE, backend)$value, forwardsolve(L, B))
        expect_close(probe_solve(stored, B, TRUE, backend)$value, backsolve(t(L), B))
      }
    }
  }
})

test_that("multiply() is the matrix product in all its forms", {
  set.seed(8)
  for (backend in backends) {
    for (shape in list(c(1, 1, 1), c(5, 3, 4), c(2, 300, 700), c(257, 64, 31), c(8, 4, 300), c(25, 1030, 260),
                       c(3, 4, 0), c(0, 4, 3))) {
      m <- shape[1]
      n <- shape[2]
      k <- shape[3]
      C <- random_matrix(m, n)
      for (ta in c(FALSE, TRUE)) {
        for (tb in c(FALSE, TRUE)) {
          A <- random_matrix(m, k)
          B <- random_matrix(k, n)
          stored_a <- if (ta) t(A) else A
          stored_b <- if (tb) t(B) else B
          result <- probe_multiply(ta, tb, 0.3, stored_a, stored_b, -2, C, backend)
          expect_close(result$value, 0.3 * A %*% B - 2 * C)
          expect_identical(result$flops, 2 * m * n * k)
          overwritten <- probe_multiply(ta, tb, 1, stored_a, stored_b, 0, C * NaN, backend)
          expect_close(overwritten$value, A %*% B)
        }
      }
    }
  }
})

test_that("a product too large for one step is cut in every dimension, and polls", {
  set.seed(9)
  for (backend in backends) {
    for (shape in list(c(900, 500, 500), c(500, 900, 500), c(500, 500, 900))) {
      A <- random_matrix(shape[1], shape[3])
      B <- random_matrix(shape[3], shape[2])
      C <- random_matrix(shape[1], shape[2])
      result <- probe_multiply(FALSE, FALSE, 1, A, B, 1, C, backend)
      expect_close(result$value, A %*% B + C, 1e-9)  # sums of 900 terms
      expect_gte(result$polls, 1)
    }
  }
})

test_that("add_crossproduct() writes the lower triangle only", {
  set.seed(10)
  for (backend in backends) {
    for (shape in list(c(1, 1), c(20, 3), c(3, 20), c(0, 4), c(70, 257), c(20000, 130))) {
      A <- random_matrix(shape[1], shape[2])
      C <- random_matrix(shape[2])
      result <- probe_add_crossproduct(0.5, A, 2, C, backend)$value
      expected <- 0.5 * crossprod(A) + 2 * C
      expect_close(result[lower.tri(C, diag = TRUE)], expected[lower.tri(C, diag = TRUE)], 1e-9)  # 2e4 terms
      expect_identical(result[upper.tri(C)], C[upper.tri(C)])
    }
  }
})

test_that("triangular products are right on either side", {
  set.seed(14)
  for (backend in backends) {
    for (n in c(1, 32, 33, 130)) {
      L <- lower(random_matrix(n))
      stored <- replace(L, upper.tri(L), NaN)
      B <- random_matrix(n, 21)
      for (transpose in c(FALSE, TRUE)) {
        op <- if (transpose) t(L) else L
        left <- probe_triangular_multiply(TRUE, transpose, -3, stored, B, backend)
        expect_close(left, -3 * op %*% B)
        right <- probe_triangular_multiply(FALSE, transpose, -3, stored, t(B), backend)
        expect_close(right, -3 * t(B) %*% op)
      }
    }
  }
})

test_that("symmetric products equal the dense ones", {
  set.seed(11)
  for (n in sizes) {
    A <- mirror(random_matrix(n))
    B <- mirror(random_matrix(n))
    x <- rnorm(n)
    stored_a <- replace(A, upper.tri(A), NaN)
    stored_b <- replace(B, upper.tri(B), NaN)
    for (what in c("plain", "squared", "hadamard")) {
      dense <- switch(what, plain = A, squared = A * A, hadamard = A * B)
      result <- probe_symmetric_product(what, stored_a, stored_b, x)
      expect_close(result$value, dense %*% x)
      expect_identical(result$products, 1L)
    }
  }
})

test_that("threads change no bit of a symmetric product", {
  set.seed(16)
  n <- 2100  # beyond the size from which on they are used
  A <- random_matrix(n)
  x <- rnorm(n)
  one <- probe_symmetric_product("squared", A, A, x)
  expect_close(one$value, mirror(A)^2 %*% x, 1e-9)  # n = 2100
  expect_identical(probe_symmetric_product("squared", A, A, x, threads = 2)$value, one$value)
  expect_identical(probe_symmetric_product("hadamard", A, A, x, threads = 5)$value, one$value)
})

test_that("fill_upper() mirrors", {
  set.seed(12)
  for (n in c(1, 2, 31, 32, 33, 64, 100)) {
    A <- random_matrix(n)
    expect_identical(probe_fill_upper(A), mirror(A))
  }
})

test_that("an empty matrix is legal everywhere", {
  empty <- matrix(0, 0, 0)
  for (backend in backends) {
    expect_identical(probe_cholesky(empty, backend)$value, empty)
    expect_identical(probe_cholesky(empty, backend, positive = 0)$value, empty)
    expect_identical(probe_cholesky_with_jitter(empty, backend)$jitter, 0)
    expect_identical(probe_invert(empty, "factor", backend)$value, empty)
    expect_identical(probe_invert(empty, "matrix", backend)$value, empty)
    expect_identical(probe_solve(empty, matrix(0, 0, 2), FALSE, backend)$value, matrix(0, 0, 2))
  }
  expect_identical(probe_symmetric_product("squared", empty, empty, numeric())$value, matrix(0, 0, 1))
})

test_that("the monitor can stop a factorisation", {
  set.seed(13)
  A <- positive_definite(1200)
  for (backend in backends) {
    expect_gte(probe_cholesky(A, backend)$polls, 1)
    expect_error(probe_cholesky(A, backend, stop_at = 1), "stopped by the monitor")
  }
})

test_that("factorisations do not depend on the number of threads", {
  set.seed(15)
  A <- positive_definite(1100)
  for (backend in c("eigen", "narrow")) {
    one <- probe_cholesky(A, backend)
    expect_close(tcrossprod(lower(one$value)), mirror(A), 1e-9)  # n = 1100
    expect_identical(probe_cholesky(A, backend, threads = 3)$value, one$value)
    expect_identical(probe_invert(one$value, "matrix", backend, threads = 3)$value,
                     probe_invert(one$value, "matrix", backend)$value)
  }
})

test_that("parallel_for() gives the same bits on any number of threads", {
  expected <- probe_parallel(37, 1, integer())
  for (threads in c(2, 3, 50)) expect_identical(probe_parallel(37, threads, integer()), expected)
  expect_identical(probe_parallel(0, 2, integer()), numeric())
  nested <- probe_parallel(11, 1, integer(), nested = TRUE)
  expect_identical(probe_parallel(11, 2, integer(), nested = TRUE), nested)
})

test_that("parallel_for() rethrows the first failure in block order, and the monitor's", {
  for (threads in c(1, 2, 4)) {
    for (repeats in 1:20) {
      expect_error(probe_parallel(64, threads, c(40L, 7L, 8L)), "^block 7$")
    }
    expect_error(probe_parallel(64, threads, integer(), stop_at = 1), "stopped by the monitor")
    expect_identical(probe_parallel(64, threads, integer()), probe_parallel(64, 1, integer()))
  }
})

test_that("a forked child asks a worker whose threads were its parent's", {
  skip_on_os("windows")
  set.seed(1)
  d <- data.frame(x = runif(20000))
  d$y <- rpois(20000, exp(sin(6 * d$x)))
  control <- galvi_control(max_iterations = 1)
  model <- suppressWarnings(galvi(y ~ gp(x, inducing = 50), d, poisson(), hyper = "fixed", control = control))$model
  worker <- new_worker(model_of_rows(model, integer()), model_of_rows(model, seq_len(20000)), 20000, 0, 2L)
  question <- starting_question(model)
  expected <- ask_worker(worker, question)
  job <- parallel::mcparallel(identical(ask_worker(worker, question), expected))
  result <- parallel::mccollect(job, wait = FALSE, timeout = 20)
  if (is.null(result)) tools::pskill(job$pid, tools::SIGKILL)
  expect_identical(unname(result), list(TRUE))
})

test_that("a forked child computes on after its parent has used threads", {
  skip_on_os("windows")
  expected <- probe_parallel(16, 2, integer())
  job <- parallel::mcparallel(probe_parallel(16, 2, integer()))
  result <- parallel::mccollect(job, wait = FALSE, timeout = 20)
  if (is.null(result)) tools::pskill(job$pid, tools::SIGKILL)
  expect_identical(unname(result), list(expected))
})
