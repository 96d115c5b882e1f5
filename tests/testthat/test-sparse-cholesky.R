# A symmetric matrix with entries where `adjacent` is TRUE, diagonally dominant (eigenvalues from 1).
precision_on <- function(adjacent, weight = runif) {
  A <- matrix(0, nrow(adjacent), ncol(adjacent))
  edges <- which(adjacent & lower.tri(adjacent))
  A[edges] <- -weight(length(edges))
  A <- A + t(A)
  diag(A) <- 1 + rowSums(abs(A))
  A
}

random_graph <- function(n, degree) matrix(runif(n^2) < degree / n, n, n)

apart <- function(n) abs(outer(seq_len(n), seq_len(n), "-"))

# Neighbours on a grid: 4, or 8 with `diagonals`.
lattice <- function(rows, cols, diagonals = FALSE) {
  at <- expand.grid(i = seq_len(rows), j = seq_len(cols))
  di <- abs(outer(at$i, at$i, "-"))
  dj <- abs(outer(at$j, at$j, "-"))
  if (diagonals) pmax(di, dj) == 1 else di + dj == 1
}

block_diagonal <- function(...) {
  Reduce(function(A, B) rbind(cbind(A, matrix(FALSE, nrow(A), ncol(B))),
                              cbind(matrix(FALSE, nrow(B), ncol(A)), B)), list(...))
}

# All entries next to node `hub`.
with_hub <- function(adjacent, hub) {
  adjacent[hub, ] <- adjacent[, hub] <- TRUE
  adjacent
}

none <- function(n) matrix(FALSE, n, n)

graphs <- function() {
  list(
    single = none(1), pair = with_hub(none(2), 1), independent = none(30),
    chain = apart(50) == 1, second_order = apart(50) <= 2, ring = apart(40) == 1 | apart(40) == 39,
    arrow_first = with_hub(none(60), 1), arrow_last = with_hub(none(60), 60),
    two_hubs = with_hub(with_hub(none(80), 7), 40),
    tree = row(none(70)) %/% 2 == col(none(70)), dense = !none(90),
    lattice = lattice(12, 15), lattice_diagonals = lattice(13, 11, diagonals = TRUE),
    sparse = random_graph(150, 1), medium = random_graph(150, 4), thick = random_graph(150, 30),
    dense_row = with_hub(lattice(11, 12), 70),
    disconnected = block_diagonal(lattice(6, 7), none(3), !none(20), lattice(5, 5), none(1))
  )
}

# Of a full symmetric matrix or of several with one pattern.
probe <- function(A, ..., B = diag(nrow(A)), pattern = A != 0, backend = "auto", threads = 1L) {
  matrices <- list(A, ...)
  at <- which(pattern & lower.tri(pattern, diag = TRUE), arr.ind = TRUE)
  x <- vapply(matrices, function(M) as.numeric(M[at]), numeric(nrow(at)))
  probe_sparse_cholesky(nrow(A), at[, 1], at[, 2], matrix(x, nrow(at)), B, backend, threads)
}

expect_factor <- function(result, A, pattern = A != 0) {
  inverse <- solve(A)
  expect_close(result$log_det, as.numeric(determinant(A)$modulus))
  expect_close(result$solve, inverse)
  # With X = L^-1 P and Y = P' L^-T: X' X = A^-1, Y = X'.
  expect_close(crossprod(result$lower), inverse)
  expect_close(result$lower_transposed, t(result$lower))
  expect_close(result$inverse, inverse[pattern & lower.tri(pattern, diag = TRUE)])
  expect_identical(result$factorisations, 1L)
}

test_that("factors, solutions and the inverse on the pattern are those of dense algebra", {
  set.seed(1)
  for (adjacent in graphs()) {
    A <- precision_on(adjacent)
    for (backend in c("blas", "eigen")) expect_factor(probe(A, backend = backend)[[1]], A)
  }
})

test_that("large fronts meet small ones", {
  set.seed(2)
  for (adjacent in list(lattice(24, 24), random_graph(400, 6), block_diagonal(!none(150), lattice(9, 9)))) {
    A <- precision_on(adjacent)
    for (backend in c("blas", "eigen")) expect_factor(probe(A, backend = backend)[[1]], A)
  }
})

test_that("one analysis serves many values, zeros and failures among them", {
  set.seed(3)
  adjacent <- lattice(9, 12)
  A <- precision_on(adjacent)
  B <- precision_on(adjacent, function(n) rnorm(n))
  independent <- diag(diag(A))
  indefinite <- A
  indefinite[40, 40] <- -1
  result <- probe(A, B, indefinite, independent, A, pattern = A != 0)
  for (k in c(1, 2, 4, 5)) {
    expect_factor(result[[k]], list(A, B, NULL, independent, A)[[k]], pattern = A != 0)
  }
  expect_null(result[[3]])
  expect_identical(result[[5]], result[[1]])
})

test_that("what is not positive definite is refused", {
  set.seed(4)
  for (adjacent in list(none(1), lattice(7, 7), !none(100))) {
    A <- precision_on(adjacent)
    n <- nrow(A)
    singular <- A - diag(rowSums(A), n)  # rows sum to zero
    for (k in unique(c(1, (n + 1) %/% 2, n))) {
      negative <- missing <- infinite <- A
      negative[k, k] <- -negative[k, k]
      missing[k, k] <- NaN
      infinite[k, k] <- Inf
      expect_identical(probe(A, negative, missing, infinite, pattern = A != 0)[2:4], vector("list", 3))
    }
    expect_null(probe(singular - diag(1e-8, n), pattern = A != 0)[[1]])
  }
})

test_that("solutions of many columns, of zeros and of few nonzeros", {
  set.seed(5)
  A <- precision_on(lattice(12, 13))
  n <- nrow(A)
  for (columns in c(1, 2, 15, 16, 17, 33)) {
    B <- matrix(rnorm(n * columns), n)
    expect_close(probe(A, B = B)[[1]]$solve, solve(A, B))
  }
  expect_identical(probe(A, B = matrix(0, n, 2))[[1]]$solve, matrix(0, n, 2))
  expect_identical(dim(probe(A, B = matrix(0, n, 0))[[1]]$solve), c(n, 0L))
})

test_that("results do not depend on the number of threads", {
  set.seed(6)
  A <- precision_on(block_diagonal(lattice(24, 24, diagonals = TRUE), !none(200)))
  B <- matrix(rnorm(nrow(A) * 70), nrow(A))
  for (backend in c("blas", "eigen")) {
    expect_identical(probe(A, B = B, backend = backend, threads = 3L),
                     probe(A, B = B, backend = backend, threads = 1L))
  }
})

test_that("branches of the tree on threads have the factor of one thread, and failures", {
  # enough work for branches: a trunk of one dense front, with small trees below it, and lattices of their own
  set.seed(7)
  A <- precision_on(random_graph(1000, 8))
  B <- precision_on(block_diagonal(lattice(20, 20, diagonals = TRUE), random_graph(700, 8), none(3)))
  for (M in list(A, B)) {
    right <- matrix(rnorm(nrow(M) * 3), nrow(M))
    one <- probe(M, B = right)[[1]]
    expect_identical(probe(M, B = right, threads = 2L)[[1]], one)
    inverse <- solve(M)
    expect_close(one$log_det, as.numeric(determinant(M)$modulus))
    expect_close(one$solve, inverse %*% right)
    expect_close(one$inverse, inverse[M != 0 & lower.tri(M, diag = TRUE)])
    expect_identical(one$factorisations, 1L)
    for (k in c(5, nrow(M) %/% 2)) {
      indefinite <- M
      indefinite[k, k] <- -1
      expect_null(probe(indefinite, B = right, threads = 2L)[[1]])
    }
  }
})

test_that("a factorisation can be interrupted and its pattern is checked", {
  call <- function(i, j, n = 3, stop_at = -1) {
    probe_sparse_cholesky(n, i, j, matrix(1, length(i), 1), diag(n), stop_at = stop_at)
  }
  expect_error(call(1:3, 1:3, stop_at = 1), "stopped by the monitor")
  expect_error(call(c(1, 3), c(1, 3)), "column 1 does not start", class = "std::invalid_argument")
  expect_error(call(c(1, 1, 2, 3), c(1, 2, 2, 3)), "column 1 does not start", class = "std::invalid_argument")
  expect_error(call(integer(), integer(), 0), "0 x 0", class = "std::invalid_argument")
})
