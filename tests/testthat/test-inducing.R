# The sparse Gaussian process as a term of the core.

inducing_cases <- function() {
  list(
    list(), list(by = TRUE), list(group = TRUE), list(kernel = "sum"), list(kernel = "product"),
    list(kernel = "matern12"), list(jitter = 0.01)
  )
}

test_that("a solver's verbs are those of W W', with c beside it", {
  for (case in inducing_cases()) {
    set.seed(1)
    model <- do.call(random_inducing, c(list(n = 70, M = 9), case))
    n <- length(model$y)
    lambda <- rexp(n)
    b <- rnorm(n)
    x <- rnorm(n)
    got <- solve_by(model, lambda, b, x)
    prior <- inducing_covariance(terms_of(model)[[1]], model$hyper$value)
    wanted <- dense_verbs(prior$Q, lambda, b, x)
    wanted$variances <- wanted$variances + prior$c
    wanted$prior_variances <- diag(prior$Q) + prior$c
    expect_verbs(got, wanted, 1e-8)
  }
})

test_that("the gradient is that of the bound in every hyperparameter and coordinate", {
  for (case in inducing_cases()) {
    for (likelihood in c("binomial_logit", "gaussian")) {
      set.seed(2)
      model <- do.call(random_inducing, c(list(n = 40, M = 4, likelihood = likelihood), case))
      value <- model$hyper$value
      expect_close(
        bound_at(model, value)$gradient, central_gradient(function(h) bound_at(model, h)$elbo, value), 1e-6
      )
      sites <- list(lambda = as.matrix(rexp(40)), b = as.matrix(rnorm(40)))
      expect_close(
        bound_at(model, value, sites)$gradient,
        central_gradient(function(h) bound_at(model, h, sites)$elbo, value), 1e-6
      )
    }
  }
})

test_that("inducing points are as near to the rows as the best clusters of all rows", {
  set.seed(7)
  x <- distinct_rows(matrix(runif(6000), 3000))$x
  points <- cluster_centres(x, 40, c(1, 1), c(FALSE, FALSE), "gp(x)")
  nearest <- apply(outer(rowSums(x^2), rowSums(points^2), `+`) - 2 * tcrossprod(x, points), 1L, min)
  best <- suppressWarnings(stats::kmeans(x, 40, nstart = 25, iter.max = 50))$tot.withinss
  # of the best of three starts with 2000 of the rows 5 % more; with 200 rows it would be 30 %
  expect_lt(sum(nearest), 1.1 * best)
})
