# Every verb of every solver against textbook algebra, over random priors and sites.

test_that("every verb of every prior is the textbook's", {
  for (kind in prior_kinds) {
    for_seeds(1:12, function(seed) {
      n <- sample(5:40, 1)
      model <- random_solver_model(kind, n)
      lambda <- rexp(n) * exp(rnorm(n))
      b <- rnorm(n)
      x <- rnorm(n)
      got <- solve_by(model, lambda, b, x)
      expect_verbs(got, verbs_of(model, lambda, b, x))
      expect_close(got$prior_mean, prior_mean_of(model))
      expect_equal(got$jitter, 0)
      if (kind %in% flat_kinds) {
        expect_true(all(is.infinite(got$prior_variances)))
        expect_identical(got$gap_bound, Inf)
      } else {
        expect_close(got$prior_variances, diag(prior_covariance(model)))
      }
    })
  }
})

test_that("a single row works", {
  for (kind in setdiff(prior_kinds, flat_kinds)) {
    for_seeds(1:3, function(seed) {
      model <- random_solver_model(kind, 1)
      expect_verbs(solve_by(model, 2, 0.7, -1), verbs_of(model, 2, 0.7, -1))
    })
  }
})

test_that("sites may be tiny or absent", {
  for (kind in prior_kinds) {
    for_seeds(21:28, function(seed) {
      n <- sample(8:30, 1)
      model <- random_solver_model(kind, n)
      lambda <- rexp(n)
      absent <- sample(n, n %/% 3)
      for (small in c(0, 1e-300, 1e-14, 1e-9, 1e-6, 1e-5)) {
        lambda[absent] <- small
        expect_verbs(solve_by(model, lambda, 1:n, 1:n), verbs_of(model, lambda, 1:n, 1:n))
      }
    })
  }
  for_seeds(29, function(seed) {
    model <- random_solver_model("gp", 9)
    expect_verbs(solve_by(model, numeric(9), 1:9, 1:9), verbs_of(model, numeric(9), 1:9, 1:9))
  })
})

test_that("sites from 1e-14 to 1e8 in one vector keep their digits", {
  for (kind in setdiff(prior_kinds, flat_kinds)) {
    for_seeds(31:36, function(seed) {
      n <- sample(8:25, 1)
      model <- random_solver_model(kind, n)
      lambda <- 10^runif(n, -14, 8)
      C <- prior_covariance(model)
      got <- solve_by(model, lambda, lambda, numeric(n))
      # C - C S (I + S C S)^-1 S C cancels less than solve(I + C Lambda, C) where lambda is large
      S <- sqrt(lambda)
      root <- chol(diag(n) + S * C * rep(S, each = n))
      V <- C - crossprod(backsolve(root, S * C, transpose = TRUE))
      # what two fields share is told by 1e8, what tells them apart by priors of order 1
      apart <- kind == "fields"
      expect_close(got$log_det, 2 * sum(log(diag(root))), if (apart) 1e-7 else tol$identity)
      # both lose eps * C_nn to cancellation
      expect_close(got$variances / diag(C), diag(V) / diag(C), if (apart) 1e-6 else 1e-9)
      expect_true(all(got$variances > 0))
    })
  }
})

test_that("negative sites are right where the posterior is proper, and refused where it is not", {
  for (kind in prior_kinds) {
    for_seeds(41:52, function(seed) {
      n <- sample(6:30, 1)
      model <- random_solver_model(kind, n)
      lambda <- rexp(n)
      lambda[sample(n, 1)] <- 0
      negative <- sample(n, 3)
      lambda[negative] <- 0
      V <- solve_by(model, lambda, numeric(n), numeric(n))$variances
      # sum |lambda| v < 1 over the negative ones is enough for a proper posterior, one lambda v < -1 for none
      lambda[negative] <- -0.6 / 3 / V[negative]
      b <- rnorm(n)
      x <- rnorm(n)
      expect_verbs(solve_by(model, lambda, b, x), verbs_of(model, lambda, b, x))
      lambda[negative[1]] <- -4 / V[negative[1]]
      expect_false(solve_by(model, lambda, b, x)$ok)
    })
  }
})

test_that("a sweep moves one site after the other, and shows each the variance that the others left it", {
  for (kind in c("gp", "sum", "columns", "flat")) {
    for_seeds(61:66, function(seed) {
      n <- sample(c(6, 30, 48, 49, 110), 1)  # less and more than a block of the dense solver
      model <- random_solver_model(kind, n)
      lambda <- rexp(n) + 0.1
      b <- rnorm(n)
      x <- rnorm(n)
      changes <- sample(c(0, 1.5, -0.5, -1), n, TRUE) * lambda
      got <- solve_by(model, lambda, b, x, changes = changes)
      at <- lambda
      seen <- numeric(n)
      checked <- sort(unique(c(1, 2, n, sample(n, 3))))
      for (j in seq_len(n)) {
        if (j %in% checked) seen[j] <- solve_by(model, at, b, x)$variances[j]
        at[j] <- at[j] + changes[j]
      }
      expect_close(got$seen[checked], seen[checked], 1e-8)
      expect_verbs(got, verbs_of(model, at, b, x), 1e-8)  # n updates of cancelled differences
    })
  }
})

test_that("duplicated rows need no jitter while sites are finite", {
  for_seeds(71:74, function(seed) {
    X <- matrix(rnorm(8), 4)[rep(1:4, 5), ]
    kernel <- kernel_spec_of("se", list(variance = 1L, lengthscale = 2L), 1:2)
    model <- new_model(numeric(20), list(kernel_term(X, kernel)), c(variance = 3, lengthscale = 2))
    lambda <- 10^runif(20, -3, 3)
    got <- solve_by(model, lambda, lambda, 1:20)
    expect_equal(got$jitter, 0)
    expect_verbs(got, verbs_of(model, lambda, lambda, 1:20)[c("log_det", "variances", "mean", "kl")], 1e-9)
  })
})

test_that("threads change no bit and backends only rounding", {
  for (kind in prior_kinds) {
    for_seeds(81:83, function(seed) {
      n <- sample(c(30, 150), 1)
      model <- random_solver_model(kind, n)
      lambda <- rexp(n)
      b <- rnorm(n)
      for (backend in c("eigen", "blas")) {
        one <- solve_by(model, lambda, b, b, threads = 1, backend = backend)
        expect_identical(solve_by(model, lambda, b, b, threads = 2, backend = backend), one)
        expect_verbs(one, verbs_of(model, lambda, b, b))
      }
    })
  }
})

test_that("chunks of rows and their threads change nothing", {
  for_seeds(91, function(seed) {
    n <- 9000  # several chunks of every group
    model <- random_solver_model("columns", n)
    lambda <- rexp(n)
    b <- rnorm(n)
    columns <- prior_columns(model)
    A <- diag(1 / columns$variance) + crossprod(columns$W, lambda * columns$W)
    got <- solve_by(model, lambda, b, b)
    expect_close(got$mean, columns$W %*% solve(A, crossprod(columns$W, b)))
    expect_close(got$variances, rowSums((columns$W %*% solve(A)) * columns$W))
    expect_identical(solve_by(model, lambda, b, b, threads = 2), got)
  })
})

# The posterior has roots of few columns where these are few for the rows, a matrix else.
test_that("smooth covariances, whose rank is small, have the same verbs", {
  for (n in c(60, 200)) for (lengthscale in c(0.8, 3)) {
    for_seeds(111:113, function(seed) {
      kernel <- kernel_spec_of("se", list(variance = 1L, lengthscale = 2L), 1L)
      model <- new_model(numeric(n), list(kernel_term(cbind(rnorm(n)), kernel)), c(2, lengthscale))
      lambda <- rexp(n)
      lambda[1] <- -0.2
      b <- rnorm(n)
      x <- rnorm(n)
      expect_verbs(solve_by(model, lambda, b, x), verbs_of(model, lambda, b, x))
      changes <- rexp(n) - 0.5 * abs(lambda)
      expect_verbs(solve_by(model, lambda, b, x, changes = changes), verbs_of(model, lambda + changes, b, x), 1e-8)
      # away from the optimum
      model$y <- as.numeric(rbinom(n, 1, 0.5))
      sites <- list(lambda = cbind(abs(lambda)), b = cbind(b))
      got <- bound_at(model, model$hyper$value, sites)$gradient * model$hyper$value
      expect_close(got, log_gradient(model, sites), 1e-6)
    })
  }
})

test_that("both solvers agree where both apply", {
  for_seeds(101:106, function(seed) {
    n <- sample(10:40, 1)
    X <- matrix(rnorm(2 * n), n)
    linear <- kernel_spec_of("linear", list(variance = 1:2), 1:2)
    constant <- kernel_spec_of("constant", list(variance = 3L), integer())
    both <- kernel_spec_of("sum", list(), integer(), parts = list(linear, constant))
    full <- new_model(numeric(n), list(kernel_term(X, both)), c(2, 0.3, 5))
    columns <- list(type = "columns", label = "gp(x)", W = cbind(X, 1), mean = numeric(3),
                    factors = cbind(1:3, 0L, deparse.level = 0))
    finite <- new_model(numeric(n), list(columns), c(2, 0.3, 5))
    lambda <- rexp(n)
    b <- rnorm(n)
    expect_verbs(solve_by(finite, lambda, b, b), solve_by(full, lambda, b, b)[-1])
  })
})
