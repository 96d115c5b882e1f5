# The sparse solver and its fields against textbook algebra with dense matrices.

# A model of that many fields on graphs of up to `size` nodes, beside fixed effects.
graph_model <- function(size, models, n = size) {
  terms <- list(columns_term(cbind(1, rnorm(n)), c(1, 2)))
  hyper <- c(sd0 = 3, sd1 = 0.8)
  for (model in models) {
    field <- random_field(model, n, first = length(hyper) + 1L, size = size)
    hyper <- c(hyper, stats::setNames(field$hyper, paste0(names(field$hyper), length(hyper))))
    terms <- c(terms, list(field$term))
  }
  new_model(numeric(n), terms, hyper)
}

# The same prior with all covariances added.
as_dense <- function(model) {
  with_solver(model, "dense_kernel")
}

test_that("every verb is the textbook's on 50 random graphs", {
  for_seeds(1:50, function(seed) {
    size <- sample(20:150, 1)
    on_graph <- turn(seed, c("besag", "proper", "bym2"))
    model <- graph_model(size, c(on_graph, sample(field_models, 1)), n = sample(c(size, size %/% 2), 1))
    n <- length(model$y)
    lambda <- rexp(n) * exp(rnorm(n))
    b <- rnorm(n)
    x <- rnorm(n)
    expect_verbs(solve_by(model, lambda, b, x), verbs_of(model, lambda, b, x), 1e-8)
  })
})

test_that("every registered model of a field has a twin, or tests of its own", {
  of_terms <- c(spde = "test-spde.R", diagonal = "test-slopes.R", unstructured = "test-slopes.R",
    compound = "test-structures.R", ar1_effects = "test-structures.R", toeplitz = "test-structures.R",
    independent = "test-structures.R")
  expect_true(all(file.exists(test_path(of_terms))))
  expect_setequal(names(field_facts()), c(names(field_twins), names(of_terms)))
})

test_that("each model of a field has the textbook's precision, constrained, scattered and copied", {
  for (model in field_models) {
    for_seeds(61:68, function(seed) {
      n <- sample(5:40, 1)
      field <- random_field(model, n)
      sparse <- new_model(numeric(n), list(field$term), field$hyper)
      lambda <- rexp(n)
      x <- rnorm(n)
      expect_verbs(solve_by(sparse, lambda, x, x), verbs_of(sparse, lambda, x, x))
    })
  }
})

test_that("variances for scaling are those of the generalised inverse", {
  for (model in c("iid", "besag", "rw1", "rw2")) {
    for_seeds(71:74, function(seed) {
      field <- random_field(model, 5)$term$field
      expect_close(field_variances(field), rowSums(field_root(field, rep(1, 9))^2))
    })
  }
})

test_that("the dense solver has the same covariance of a field, and of a field beside a full gp()", {
  for_seeds(81:92, function(seed) {
    n <- sample(8:40, 1)
    prior <- random_prior("fields", n)
    at <- length(prior$hyper) + 1:2
    kernel <- kernel_spec_of("se", list(variance = at[1], lengthscale = at[2]))
    terms <- c(prior$terms, if (seed %% 2) list(kernel_term(cbind(rnorm(n)), kernel)))
    model <- as_dense(new_model(numeric(n), terms, c(prior$hyper, v = 0.8, l = 1.3)))
    lambda <- rexp(n)
    x <- rnorm(n)
    expect_verbs(solve_by(model, lambda, x, x), verbs_of(model, lambda, x, x), 1e-8)
  })
})

test_that("sparse and dense solver agree on the whole inference, bound and gradient", {
  for_seeds(101:116, function(seed) {
    n <- sample(15:60, 1)
    likelihood <- turn(seed %/% 2, c("gaussian", inexact_likelihoods))
    model <- random_model(turn(seed, c("field", "fields")), n, likelihood, 1)
    for (method in c("auto", "newton", "fixed_point", "natural_gradient")) {
      sparse <- fit_at(model, method)
      dense <- fit_at(as_dense(model), method)
      expect_true(sparse$converged && dense$converged)
      expect_close(sparse$elbo, dense$elbo, 1e-8)
    }
    within <- posterior_tolerance(1e-8, diag(prior_covariance(model)), sparse$variance[, 1])
    expect_true(all(abs(sparse$mean - dense$mean) <= within$mean))
    expect_true(all(abs(sparse$variance - dense$variance) <= within$variance))
    sites <- sparse[c("lambda", "b")]
    at <- bound_at(model, model$hyper$value, sites)
    expect_close(at$gradient, bound_at(as_dense(model), model$hyper$value, sites)$gradient, 1e-8)
    dense_gap <- bound_at(as_dense(model), model$hyper$value, sites)
    expect_close(at$gap, dense_gap$gap, 1e-8)
    expect_close(at$norm, dense_gap$norm, 1e-8)
  })
})

test_that("a whitened posterior ends at the same bound", {
  for_seeds(117:119, function(seed) {
    model <- random_model("fields", 20, turn(seed, inexact_likelihoods), 1)
    whitened <- fit_at(model, "cholesky_gradient", quiet_control(tol = 1e-8))
    expect_true(whitened$converged)
    expect_close(whitened$elbo, fit_at(model)$elbo, tol$elbo)
  })
})

# Covariances of a long rw2 are so large that only what is left of their differences counts.
test_that("long walks keep the bound smooth and its gradient right", {
  for (order in 1:2) {
    set.seed(order)
    n <- 600
    parts <- field_parts(c("rw1", "rw2")[order], n = n)
    field <- field_term(c("rw1", "rw2")[order], parts, list(variance = 1L), seq_len(n))
    y <- rpois(n, exp(sin(seq_len(n) / 60)))
    model <- new_model(y, list(field), c(variance = c(1e-2, 1e-4)[order]), "poisson")
    for (model in list(model, as_dense(model))) {
      got <- bound_at(model, model$hyper$value)
      differences <- log_gradient(model, got[c("lambda", "b")])
      expect_close(got$gradient * model$hyper$value, differences, 1e-5)
    }
  }
})

test_that("gradients away from the optimum are the dense solver's", {
  for_seeds(121:132, function(seed) {
    n <- sample(12:30, 1)
    model <- random_model(turn(seed, c("field", "fields")), n, turn(seed, inexact_likelihoods), 1)
    sites <- list(lambda = matrix(rexp(n)), b = matrix(rnorm(n)))
    sites$lambda[1:2] <- c(0, 1e-8)
    dense <- bound_at(as_dense(model), model$hyper$value, sites)
    expect_close(bound_at(model, model$hyper$value, sites)$gradient, dense$gradient, 1e-8)
  })
})

test_that("inducing points beside a field: columns, extra variances and gradients", {
  for_seeds(151:156, function(seed) {
    n <- 25
    model <- random_inducing(n, 5)
    field <- random_field(turn(seed, field_models), n, first = length(model$hyper$value) + 1L)
    hyper <- c(stats::setNames(model$hyper$value, model$hyper$name), field$hyper)
    terms <- c(terms_of(model), list(field$term))
    model <- new_model(model$y, terms, hyper, settings = inducing_settings(hyper))
    # points close together make the bound bend sharply
    differences <- function(...) central_gradient(function(x) bound_at(model, x, ...)$elbo, hyper, h = 5e-4)
    expect_close(bound_at(model, hyper)$gradient, differences(), 5e-6)
    sites <- list(lambda = matrix(rexp(n)), b = matrix(rnorm(n)))
    expect_close(bound_at(model, hyper, sites)$gradient, differences(sites), 5e-6)
    solved <- solve_by(model, sites$lambda, sites$b, sites$b)
    prior <- inducing_covariance(terms[[1]], hyper)
    b <- sites$b[, 1]
    wanted <- dense_verbs(prior$Q + term_covariance(field$term, hyper), sites$lambda[, 1], b, b)
    wanted$variances <- wanted$variances + prior$c
    expect_verbs(solved, wanted, 1e-8)
  })
})

test_that("predictions at new rows are the textbook's, for the sum and term by term, from both solvers", {
  for_seeds(161:176, function(seed) {
    n <- sample(15:40, 1)
    new <- 12L
    both <- random_prior(turn(seed, c("fields", "field")), n + new)
    pick <- function(terms, at) {
      lapply(terms, function(term) {
        for (part in intersect(c("W", "node"), names(term))) term[[part]] <- term[[part]][at, , drop = FALSE]
        if (!is.null(term$weight)) term$weight <- term$weight[at]
        term
      })
    }
    model <- new_model(rbinom(n, 1, 0.5), pick(both$terms, seq_len(n)), both$hyper)
    rows <- list(lapply(pick(both$terms, n + seq_len(new)), function(term) term[names(term) %in% row_parts]))
    fit <- fit_at(model)
    whole <- new_model(numeric(n + new), both$terms, both$hyper)
    C <- prior_covariance(whole)
    at <- seq_len(n)
    P <- solve(C[at, at] + diag(1 / fit$lambda[, 1]))
    means <- prior_mean_of(whole)[-at]
    posterior <- C[-at, -at] - C[-at, at] %*% P %*% C[at, -at]
    fit$hyper <- model$hyper$value
    for (model in list(model, as_dense(model))) {
      got <- predict_latent(model, fit, rows, list(terms = TRUE, covariance = TRUE))
      expect_close(got$mean, means + C[-at, at] %*% fit$alpha, 1e-8)
      expect_close(got$covariance[[1]], posterior, 1e-8)
      expect_close(predict_latent(model, fit, rows, list())$variance, diag(posterior), 1e-8)
      for (t in seq_along(both$terms)) {
        own <- term_covariance(both$terms[[t]], model$hyper$value)
        wanted <- diag(own[-at, -at] - own[-at, at] %*% P %*% own[at, -at])
        expect_close(got$terms$variance[, t, 1], wanted, 1e-8)
      }
      expect_close(rowSums(got$terms$mean[, , 1, drop = FALSE]), got$mean, 1e-8)
    }
  })
})

test_that("nodes beyond the constraints extend a field that its training nodes hold", {
  for_seeds(181:184, function(seed) {
    size <- 9L
    more <- 4L
    order <- turn(seed, 1:2)
    short <- field_parts(c("rw1", "rw2")[order], n = size)
    long <- field_parts(c("rw1", "rw2")[order], n = size + more)
    n <- 30L
    node <- sample(size, n, TRUE)
    hyper <- list(variance = 1L)
    field <- field_term("rw1", short, hyper, node)
    model <- new_model(rpois(n, 2), list(field), c(variance = 0.7), "poisson")
    fit <- fit_at(model)
    fit$hyper <- model$hyper$value
    long[c("constraints", "pins")] <- list(rbind(short$constraints, matrix(0, more, order)), short$pins)
    extended <- with_terms(model, list(field_term("rw1", long, hyper, node)))
    # under B'z = 0: Q^- by the bordered inverse
    L <- size + more
    B <- long$constraints
    bordered <- rbind(cbind(long$precision[[1]] / 0.7, B), cbind(t(B), diag(0, order)))
    C <- solve(bordered)[seq_len(L), seq_len(L)]
    expect_close(C[seq_len(size), seq_len(size)], tcrossprod(field_root(field$field, 0.7)))
    P <- solve(C[node, node] + diag(1 / fit$lambda[, 1]))
    for (model in list(extended, as_dense(extended))) {
      rows <- list(terms = list(list(node = matrix(seq_len(L)))))
      got <- predict_latent(model, fit, rows, list(covariance = TRUE))
      expect_close(got$mean, C[, node] %*% fit$alpha, 1e-8)
      expect_close(got$covariance[[1]], C - C[, node] %*% P %*% C[node, ], 1e-8)
    }
  })
})

test_that("with many rows products are taken by differences and distances are bounds", {
  for_seeds(191:194, function(seed) {
    n <- 2001
    model <- graph_model(40, sample(field_models, 2), n)
    lambda <- rexp(n)
    d <- rnorm(n)
    if (seed %% 2) d[1:3] <- lambda[1:3] <- 0
    r <- rnorm(n)
    got <- solve_by(model, lambda, d, r)
    columns <- prior_columns(model)
    C <- columns$W %*% (columns$variance * t(columns$W))
    A <- diag(1 / columns$variance) + crossprod(columns$W, lambda * columns$W)
    V <- columns$W %*% solve(A, t(columns$W))
    expect_close(got$mean, V %*% d, 1e-8)
    expect_close(got$variances, diag(V), 1e-8)
    # as the error of a difference is relative to its largest element
    expect_lt(max(abs(got$apply_squared_covariance - V^2 %*% r)), 1e-7 * max(abs(V^2 %*% r)))
    bound <- (sum(r * (C %*% r)) + sum(d * ((C * V) %*% d))) / 2
    norm <- sum(r * (V %*% r)) + sum(d * (V^2 %*% d)) / 2
    expect_gte(got$gap_bound, bound * (1 - 1e-10))
    expect_gte(got$squared_norm, norm * (1 - 1e-10))
  })
})

test_that("threads and chunks of rows change nothing", {
  set.seed(201)
  model <- graph_model(60, c("bym2", "iid"), 900)
  lambda <- rexp(900)
  one <- solve_by(model, lambda, 1:900, lambda)
  expect_identical(solve_by(model, lambda, 1:900, lambda, threads = 2), one)
  fit <- fit_at(model)
  chunked <- fit_at(model, control = quiet_control(chunk_rows = 100L))
  expect_close(chunked$elbo, fit$elbo, 1e-10)
})

test_that("methods that a sparse factor cannot serve say so", {
  set.seed(211)
  small <- random_model("fields", 30, "poisson", 1)
  refusals <- inference_refusals(small)
  expect_match(refusals[["coordinate_ascent"]], "one site after the other")
  expect_identical(unname(refusals[c("newton", "dual", "opper_archambeau", "cholesky_gradient")]), rep("", 4))
  large <- graph_model(2500, "iid", 2500)
  expect_match(inference_refusals(large)[["cholesky_gradient"]], "too many")
  expect_match(inference_refusals(large)[["newton"]], "many rows")
})

test_that("columns with a flat prior that a constant of a field repeats are refused", {
  set.seed(221)
  parts <- field_parts("rw1", n = 8)
  field <- field_term("rw1", parts, list(variance = 1L), sample(8, 30, TRUE), basis = parts$constraints,
                      basis_sd = 2L)
  intercept <- columns_term(matrix(1, 30), 2L)
  model <- new_model(rbinom(30, 1, 0.5), list(intercept, field), c(variance = 1, sd = Inf))
  expect_error(fit_at(model), "collinear")
})

test_that("a field's list is checked", {
  set.seed(231)
  spoil <- function(change) {
    term <- random_field("besag", 10)$term
    term$field <- change(term$field)
    solve_by(new_model(numeric(10), list(term), c(variance = 1)), rexp(10), 1:10, 1:10)
  }
  expect_error(spoil(function(f) replace(f, "model", "unknown")), "unknown field model")
  expect_error(spoil(function(f) replace(f, "hyper", list(list()))), "needs the hyperparameter variance")
  expect_error(spoil(function(f) replace(f, "pins", list(1:9))), "pins")
  expect_error(spoil(function(f) replace(f, "precision", list(f$precision[c(1, 1)]))), "number of parts")
})
