# Processes of one input as chains of states (src/solver/markov.h): the same model as the dense kernel's, at linear cost.

gold_chains <- list(
  markov_poisson_matern52 = list(
    formula = y ~ 0 + gp(t, kernel = matern52(0.9, 1.1)), family = poisson(), elbo = -50.8125979130562,
    at = c(0.17 - 0.5, 1e9), means = -0.323674284172762, variances = 0.564847746912655
  ),
  markov_binomial_matern12 = list(
    formula = cbind(y, trials - y) ~ 0 + gp(t, kernel = matern12(1.5, 0.7)), family = binomial(),
    elbo = -38.6065338512741
  ),
  markov_gaussian_gaps = list(
    formula = y ~ 0 + gp(t, kernel = matern52(1, 1)), family = galvi_family("gaussian", variance = fixed(0.01)),
    elbo = 34.0178444187
  )
)

test_that("optima are the reference values'", {
  exact <- galvi_control(tol = 1e-11)
  for (name in names(gold_chains)) {
    gold <- gold_chains[[name]]
    d <- gold_data(name)
    fit <- galvi(gold$formula, d, gold$family, hyper = "fixed", verbose = FALSE, control = exact)
    expect_identical(solver_name(fit), "markov")
    expect_close(fit$elbo, gold$elbo, 1e-8)
    expect_close(fit$posterior$mean[, 1], d$mean, 1e-6)
    expect_close(fit$posterior$variance[, 1], d$var, 1e-6)
  }
  fit <- galvi(gold_chains[[1]]$formula, gold_data("markov_poisson_matern52"), poisson(), hyper = "fixed",
    verbose = FALSE, control = exact)
  ahead <- predict(fit, data.frame(t = c(0.17 - 0.5, 1e9)), type = "link", se.fit = TRUE)
  expect_close(ahead$fit[1], -0.323674284172762, 1e-7)
  expect_close(ahead$se.fit[1]^2, 0.564847746912655, 1e-7)
  # far ahead nothing is left but the prior
  expect_close(c(ahead$fit[2], ahead$se.fit[2]^2), c(0, 0.9), 1e-12)
})

test_that("models are those of the dense kernel, learned ones too", {
  d <- series()
  formulas <- list(
    poisson = list(
      count ~ 0 + gp(t, kernel = matern32()), count ~ gp(t, kernel = matern32()),
      count ~ z + gp(t, kernel = matern52(), center = FALSE),
      count ~ g + gp(t, by = g, kernel = matern32(), by_hyper = "shared"),
      count ~ g + gp(t, by = g, kernel = matern12()),
      count ~ gp(t, kernel = matern32()) + gp(t, by = g, kernel = matern12(), by_hyper = "shared"),
      count ~ z + gp(t, kernel = matern32()) + (1 | g)
    ),
    gaussian = list(
      y ~ z + gp(t, kernel = matern52() + matern12()), y ~ z + gp(t, kernel = matern32() * cosine(fixed(6))),
      y ~ 0 + gp(t, kernel = matern32() + constant()), y ~ z + gp(t, by = z, kernel = matern32()),
      y ~ gp(t, kernel = matern32()) + gp(t, kernel = matern12(1, 3)),
      y ~ gp(t, kernel = matern32()) + rw1(day) + (z | g)
    )
  )
  new <- data.frame(t = c(-3, 1.234, 2, 2, 30), z = c(0, 1, 0, 0, 0), day = c(1, 5, 5, 12, 2),
    g = factor(c("a", "b", "c", "a", "b")))
  # "auto" is another algorithm for either, and stops elsewhere within the tolerance
  methods <- c(poisson = "newton", gaussian = "exact")
  for (family in names(formulas)) for (formula in formulas[[family]]) {
    info <- deparse1(formula)
    fits <- both_ways(formula, d, family, method = methods[[family]], control = factorised(galvi_control()))
    expect_identical(vapply(fits, solver_name, ""), c(chain = "markov", dense = "dense_kernel"), info = info)
    expect_close(fits$chain$elbo, fits$dense$elbo, 1e-8)
    # where two processes share what they explain, the optimum is flat
    expect_close(log(fits$chain$posterior$hyper), log(fits$dense$posterior$hyper), 1e-5)
    expect_close(coef(fits$chain), coef(fits$dense), 1e-6)
    expect_close(vcov(fits$chain), vcov(fits$dense), 1e-6)
    predicted <- lapply(fits, predict, new, type = "link", se.fit = TRUE)
    expect_close(predicted$chain$fit, predicted$dense$fit, 1e-6)
    expect_close(predicted$chain$se.fit, predicted$dense$se.fit, 1e-6)
    terms <- lapply(fits, predict, new, type = "terms", se.fit = TRUE)
    expect_close(terms$chain$fit, terms$dense$fit, 1e-6)
    expect_close(terms$chain$se.fit, terms$dense$se.fit, 1e-6)
  }
})

test_that("every algorithm finds the same posterior", {
  d <- series(40)
  d$some <- as.integer(d$count > 1)
  for (method in c("newton", "natural_gradient", "fixed_point", "coordinate_ascent", "cholesky_gradient",
    "opper_archambeau", "dual", "laplace", "ep", "mean_field")) {
    # the latent variables of mean_field are a probit model's
    probit <- method == "mean_field"
    formula <- if (probit) some ~ z + gp(t, kernel = matern32(0.8, 1)) else count ~ z + gp(t, kernel = matern32(0.8, 1))
    fits <- both_ways(formula, d, if (probit) binomial("probit") else "poisson", hyper = "fixed", method = method)
    # a search of first order stops elsewhere in other coordinates
    loose <- if (method == "cholesky_gradient") 100 else 1
    expect_close(fits$chain$elbo, fits$dense$elbo, 1e-6 * loose)
    expect_close(fits$chain$posterior$mean, fits$dense$posterior$mean, 1e-4 * loose)
    expect_close(fits$chain$posterior$variance, fits$dense$posterior$variance, 1e-4 * loose)
  }
})

test_that("approximations away from the optimum of the bound are learned alike", {
  d <- series(40)
  for (method in c("laplace", "ep")) {
    fits <- both_ways(count ~ z + gp(t, kernel = matern32()), d, "poisson", method = method)
    expect_close(log(fits$chain$posterior$hyper), log(fits$dense$posterior$hyper), 1e-4)
  }
})

test_that("a sweep shows each site the variance that the others left it", {
  checked <- 0
  for_seeds(1:8, function(seed) {
    n <- sample(c(1, 2, 30), 1)
    prior <- random_chain_prior(sample(c("chain", "chains"), 1), n, 1, t = sort(round(rnorm(n), 2)))
    # one chain, so that its order is that of the rows
    prior$terms <- lapply(prior$terms, function(term) {
      if (length(prior$terms) == 1L) term["group"] <- list(NULL)
      term
    })
    if (length(prior$terms) == 3L && all(lengths(lapply(prior$terms[-1], `[[`, "group")) > 0)) return()
    model <- new_model(numeric(n), prior$terms, prior$hyper)
    lambda <- rexp(n) + 0.1
    b <- rnorm(n)
    changes <- sample(c(0, 1.5, -0.5, -1), n, TRUE) * lambda
    got <- solve_by(model, lambda, b, b, changes = changes)
    seen <- numeric(n)
    at <- lambda
    for (j in seq_len(n)) {
      seen[j] <- solve_by(model, at, b, b)$variances[j]
      at[j] <- at[j] + changes[j]
    }
    expect_close(got$seen, seen, 1e-8)
    expect_verbs(got, verbs_of(model, at, b, b), 1e-8)
    checked <<- checked + 1
  })
  expect_some(checked, "single chains")
})

test_that("hours and decades, ties and sites of 1e8 keep their digits", {
  set.seed(3)
  t <- cumsum(c(0, 10^runif(59, -12, 9)))
  t[c(10, 20, 30)] <- t[c(9, 19, 29)]
  for (type in c("matern12", "matern32", "matern52")) {
    kernel <- kernel_spec_of(type, list(variance = 1L, lengthscale = 2L), 1L)
    model <- new_model(numeric(60), list(replace(kernel_term(cbind(t), kernel), "type", "chain")), c(1.3, 2))
    lambda <- 10^runif(60, -10, 8)
    got <- solve_by(model, lambda, lambda, numeric(60))
    C <- prior_covariance(model)
    S <- sqrt(lambda)
    root <- chol(diag(60) + S * C * rep(S, each = 60))
    expect_close(got$log_det, 2 * sum(log(diag(root))), 1e-9)
    V <- C - crossprod(backsolve(root, S * C, transpose = TRUE))
    expect_close(got$variances, diag(V), 1e-8)
    # what the dense algebra loses by cancellation is kept: a variance is below that of its own site
    expect_true(all(got$variances > 0 & got$variances <= 1 / lambda * (1 + 1e-12)))
  }
})

test_that("where time is counted from does not matter", {
  d <- series()
  d$late <- d$t + 2^30
  fits <- list(galvi(count ~ gp(t, kernel = matern32()), d, poisson(), verbose = FALSE),
    galvi(count ~ gp(late, kernel = matern32()), d, poisson(), verbose = FALSE))
  expect_close(fits[[1]]$elbo, fits[[2]]$elbo, 1e-6)
  d$day <- as.Date("2020-01-01") + round(100 * d$t)
  fit <- galvi(count ~ gp(day, kernel = matern32()), d, poisson(), verbose = FALSE)
  expect_identical(solver_name(fit), "markov")
  expect_true(all(is.finite(predict(fit, data.frame(day = as.Date("2025-01-01"))))))
})

test_that("observations without noise are interpolated", {
  d <- data.frame(t = 1:12, y = sin(1:12))
  fit <- galvi(y ~ 0 + gp(t, kernel = matern52(1, 2)), d, galvi_family("gaussian", variance = fixed(0)),
    hyper = "fixed", verbose = FALSE)
  expect_close(fitted(fit), d$y, 1e-6)
  dense <- both_ways(y ~ 0 + gp(t, kernel = matern52(1, 2)), d, galvi_family("gaussian", variance = fixed(0)),
    hyper = "fixed")$dense
  expect_close(predict(fit, data.frame(t = c(1.5, 20))), predict(dense, data.frame(t = c(1.5, 20))), 1e-6)
})

test_that("effects beside observations without noise are those of the chain and of least squares", {
  set.seed(3)
  d <- data.frame(t = 1:12, z = rnorm(12))
  d$y <- sin(1:12) + d$z
  exact <- galvi_family("gaussian", variance = fixed(0))
  both <- both_ways(y ~ 0 + z + gp(t, kernel = matern32(1, 2)), d, exact, hyper = "fixed", prior = normal(0, 3))
  expect_close(coef(both$dense), coef(both$chain), 1e-6)
  expect_close(vcov(both$dense), vcov(both$chain), 1e-6)
  # the first case had a coefficient that was not a number
  few <- data.frame(x = c(0.1, 0.5, 0.9, 1.3), y = c(1, 2, 0.5, 1.7))
  fit <- galvi(y ~ gp(x), few, exact)
  expect_equal(unname(coef(fit)), mean(few$y))
  expect_close(fitted(fit), few$y, 1e-6)
})

test_that("joint draws have the posterior's covariance", {
  d <- series(30)
  fit <- galvi(count ~ z + gp(t, kernel = matern32(1, 1)), d, poisson(), hyper = "fixed", verbose = FALSE)
  new <- data.frame(t = c(1, 1.1, 1.1, 5, 12), z = c(0, 0, 1, 0, 0))
  set.seed(1)
  draws <- posterior_linpred.galvi(fit, newdata = new, ndraws = 4000)
  at <- predict(fit, new, type = "link", se.fit = TRUE, covariance = TRUE)
  # 4 standard errors of a covariance of 4000 draws
  limit <- 4 * max(diag(at$covariance)) * sqrt(2 / 4000)
  expect_lt(max(abs(stats::cov(draws) - at$covariance)), limit)
  expect_lt(max(abs(colMeans(draws) - at$fit) / sqrt(diag(at$covariance) / 4000)), 4)
})

test_that("a long series has an exact certificate, and two algorithms agree", {
  set.seed(2)
  n <- 20000
  d <- data.frame(t = seq_len(n) / 50)
  d$y <- rpois(n, exp(0.5 + 0.8 * sin(d$t) + 0.3 * sin(7 * d$t)))
  fits <- lapply(c("newton", "coordinate_ascent"), function(method) {
    galvi(y ~ 0 + gp(t, kernel = matern32(1, 1)), d, poisson(), method = method, hyper = "fixed", verbose = FALSE)
  })
  expect_close(fits[[1]]$elbo, fits[[2]]$elbo, 1e-9)
  expect_lt(fits[[1]]$convergence$gap, 1e-5)
})

test_that("a chain of blocks is a chain of all states", {
  # more than three states have code of their own; sizes of blocks that it knows, and one that it does not
  d <- series(40)
  for (formula in list(
    count ~ 0 + gp(t, kernel = matern52(0.8, 2) + matern12(0.3, 1)),
    count ~ 0 + gp(t, kernel = matern32(0.5, 1) + matern32(0.4, 3) + constant(0.2)),
    count ~ 0 + gp(t, kernel = matern32(0.9, 2) * cosine(6) + matern12(0.3, 1)),
    count ~ 0 + gp(t, kernel = matern52(0.8, 2) * matern32(fixed(1), 4) + cosine(3))
  )) {
    fits <- both_ways(formula, d, "poisson", hyper = "fixed", control = galvi_control(tol = 1e-11))
    expect_close(fits$chain$elbo, fits$dense$elbo, 1e-8)
    expect_close(fits$chain$posterior$mean, fits$dense$posterior$mean, 1e-6)
    expect_close(fits$chain$posterior$variance, fits$dense$posterior$variance, 1e-6)
    gaps <- vapply(fits, function(fit) fit$convergence$gap, 1)
    expect_close(gaps[["chain"]], gaps[["dense"]], 1e-7)
  }
})

test_that("what is not a chain, or has many states for its rows, is a full process", {
  d <- series(30)
  solver <- function(formula) {
    solver_name(suppressMessages(galvi(formula, d, hyper = "fixed", verbose = FALSE)))
  }
  expect_identical(solver(y ~ gp(t)), "dense_kernel")
  expect_identical(solver(y ~ gp(t, z, kernel = matern32())), "dense_kernel")
  expect_identical(solver(y ~ gp(t, kernel = matern32()) + gp(z, kernel = matern32())), "dense_kernel")
  expect_identical(solver(y ~ gp(t, kernel = matern32() + se())), "dense_kernel")
  expect_identical(solver(y ~ gp(t, kernel = matern32()) + (1 | g)), "markov")
  expect_identical(solver(y ~ gp(t, kernel = matern52() + matern32())), "dense_kernel")
  expect_identical(solver(y ~ gp(t, kernel = matern52())), "markov")
})

test_that("a chain of more than three states needs 200 rows, and 14 for each state", {
  solver <- function(formula, rows, levels = 2) {
    d <- series(rows)
    d$g <- factor(rep_len(seq_len(levels), rows))
    built <- galvi_model(galvi_design(formula, d))
    solver_name(list(model = built))
  }
  five <- y ~ gp(t, kernel = matern52() + matern32())
  expect_identical(solver(five, 199), "dense_kernel")
  expect_identical(solver(five, 200), "markov")
  sixteen <- y ~
    gp(t, kernel = matern32() + matern52() * matern32() + matern32() * matern12() * matern52() + matern32())
  expect_identical(solver(sixteen, 223), "dense_kernel")
  expect_identical(solver(sixteen, 224), "markov")
  # all levels' processes are in one state beside one that has no levels
  levels <- y ~ gp(t, kernel = matern12()) + gp(t, by = g, kernel = matern12(), by_hyper = "shared")
  expect_identical(solver(levels, 14 * 21 - 1, 20), "dense_kernel")
  expect_identical(solver(levels, 14 * 21, 20), "markov")
  # so many rows have their states at knots
  expect_identical(solver(levels, 14 * 81, 80), "sparse")
})

test_that("a search over whitened numbers stands covariances of less than full rank", {
  set.seed(5)
  d <- data.frame(t = rep(1:6, each = 5), x = rnorm(30))
  d$y <- rpois(30, exp(sin(d$t) + d$x / 3))
  fit <- function(method) galvi(y ~ x + gp(t, kernel = matern32(1, 2)), d, poisson(), method = method, hyper = "fixed")
  reference <- fit("newton")
  found <- fit("cholesky_gradient")
  expect_equal(found$solver, "markov")
  expect_true(found$convergence$converged)
  expect_equal(found$elbo, reference$elbo, tolerance = 1e-6)
})
