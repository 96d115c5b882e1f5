# Hostile models: what rounding may do is said, and nothing that only rounding allows is reported.

skip_on_cran()

outlier_data <- function(seed, n, outlier) {
  set.seed(seed)
  d <- data.frame(x = rnorm(n))
  d$y <- d$x + 0.3 * rnorm(n)
  d$y[1] <- outlier
  d
}

# No bound is above what every row would have by itself.
largest_log_density <- function(fit) {
  h <- stats::setNames(fit$hyper$estimate, fit$hyper$name)
  length(fit$model$y) * stats::dt(0, h["student.df"], log = TRUE) -
    length(fit$model$y) * log(h["student.scale"])
}

coefficient_covariances <- function(fit) {
  unlist(lapply(fit$posterior$coefficients, `[[`, "covariance"), recursive = FALSE)
}

test_that("one wild response does not move a fit of a family for outliers", {
  for (formula in list(y ~ x + gp(x), y ~ x, y ~ x + (1 | g))) {
    for (n in c(20, 50)) {
      for (seed in 1:2) {
        fits <- lapply(c(30, 1000, 1e9), function(outlier) {
          d <- outlier_data(seed, n, outlier)
          d$g <- rep(1:5, length.out = n)
          galvi(formula, d, student(), control = galvi_control(threads = 1))
        })
        sds <- lapply(fits, function(fit) sqrt(diag(vcov(fit))))
        expect_true(all(is.finite(unlist(sds))))
        for (fit in fits) {
          expect_true(fit$convergence$converged)
          expect_lt(fit$elbo, largest_log_density(fit))
        }
        # from 30 on a further outlier hardly matters
        for (i in 2:3) expect_lt(max(abs(coef(fits[[i]]) - coef(fits[[1]])) / sds[[1]]), 0.05)
      }
    }
  }
})

test_that("default priors and starts of families for outliers follow median and MAD", {
  d <- outlier_data(4, 20, 1e9)
  s <- mad(d$y)
  # of the predictor at x = 0, over that at the mean of x
  spread <- sqrt(mean((d$x - mean(d$x))^2))
  at_zero <- sqrt(1 + (mean(d$x) / spread)^2)
  for (family in list(student(), laplace())) {
    fit <- galvi(y ~ x + gp(x), d, family, hyper = "fixed")
    expect_equal(fit$prior[["(Intercept)"]]$mean, median(d$y))
    expect_equal(fit$prior[["(Intercept)"]]$sd, 10 * s * at_zero)
    expect_equal(fit$prior$x$sd, 10 * s / spread)
    expect_equal(fit$hyper$estimate[fit$hyper$name == "gp(x).variance"], s^2)
  }
  expect_equal(galvi(y ~ x, d, hyper = "fixed")$prior[["(Intercept)"]]$sd, 10 * sd(d$y) * at_zero)
})

# What the rows say over what the prior says is 1e12 here, of which a difference of covariances has no digit
# left.
test_that("coefficients beside a full gp() keep their digits under wide priors", {
  d <- outlier_data(4, 20, 0)
  held <- function(sd) {
    suppressWarnings(galvi(
      y ~ x + gp(x, kernel = se(1, 1), center = FALSE), d, galvi_family("gaussian", variance = fixed(0.3)), hyper = "fixed",
      prior = list(intercept = normal(0, sd), x = normal(0, sd))
    ))
  }
  noise <- exp(-as.matrix(dist(d$x))^2 / 2) + diag(0.3, 20)
  X <- cbind(1, d$x)
  exact <- solve(t(X) %*% solve(noise, X))
  for (sd in c(1e4, 1e6)) expect_close(vcov(held(sd)), exact, 1e-6)
  expect_close(coef(held(1e4)), exact %*% t(X) %*% solve(noise, d$y), 1e-5)
  expect_warning(
    galvi(
      y ~ x + gp(x, kernel = se(1, 1), center = FALSE), d, galvi_family("gaussian", variance = fixed(0.3)), hyper = "fixed",
      prior = list(intercept = normal(0, 1e7), x = normal(0, 1e7))
    ),
    class = "galvi_warning_numeric"
  )
})

all_methods <- c(
  "newton", "natural_gradient", "fixed_point", "fixed_point_batch", "coordinate_ascent", "opper_archambeau",
  "cholesky_gradient", "dual"
)

# A fit by every method that can.
fits_by <- function(formula, data, family, ...) {
  fits <- lapply(stats::setNames(nm = all_methods), function(method) {
    tryCatch(
      suppressWarnings(suppressMessages(galvi(
        formula, data, family, method = method, hyper = "fixed",
        control = galvi_control(threads = 1, max_iterations = 200), ...
      ))),
      galvi_error_method = function(e) NULL
    )
  })
  Filter(Negate(is.null), fits)
}

# by more than the digits that a step may lose (Posterior::slack)
largest_fall <- function(fit) {
  elbo <- fit$trace$elbo
  max((cummax(elbo) - elbo) / (1 + abs(elbo)))
}

test_that("the bound never falls, however wide the prior", {
  for (seed in 1:3) {
    set.seed(seed)
    d <- data.frame(x = rnorm(30) * 1e9, y = factor(sample(letters[1:3], 30, TRUE)))
    fits <- fits_by(y ~ x, d, categorical(), prior = normal(0, 1))
    for (fit in fits) {
      expect_lt(largest_fall(fit), 1e-8)
      # not all are certain of it, and all are there
      expect_lt(abs(fit$elbo - fits$fixed_point$elbo), 1e-3)
    }
  }
})

test_that("cholesky_gradient reports no bound above the optimum on its way", {
  for (seed in c(68, 134)) {
    set.seed(seed)
    d <- data.frame(x = rnorm(30) * 1e-3)
    d$y <- pmin(pmax(plogis(3 * rnorm(30)), 1e-6), 1 - 1e-6)
    for (precision in c(1, 1000)) {
      fits <- fits_by(y ~ gp(x, kernel = se(variance = 100)), d, beta_family(fixed(precision)))
      best <- max(vapply(fits, `[[`, 0, "elbo"))
      expect_lt(max(fits$cholesky_gradient$trace$elbo) - best, 1e-6 * (1 + abs(best)))
    }
  }
})

# Prior variances of 1e6, scales of 1e9, offsets of 200: what one method reports as the most by which its
# bound can rise is not less than what another one reaches.
test_that("the gap is above the true one, rounding included", {
  families <- list(
    binomial(), binomial("probit"), poisson(), exponential(), Gamma("log"), negbinomial(), laplace(),
    gaussian(), stochastic_volatility(), cumulative(), categorical(), stick_breaking()
  )
  checked <- 0
  for_seeds(1:96, function(seed) {
    family <- families[[seed %% length(families) + 1L]]
    n <- sample(c(5, 12, 25), 1)
    offset <- sample(c(0, 0, 5, 50, 200), 1)
    scale <- 10^sample(c(-9, -3, 0, 3, 9), 1)
    d <- data.frame(
      x = rnorm(n) * scale, z = rnorm(n), o = offset * sample(c(-1, 1), n, TRUE),
      g = rep(1:4, length.out = n), t = rep(1:5, length.out = n)
    )
    eta <- pmin(pmax(d$o, -14), 14) + rnorm(n)
    name <- if (is.list(family)) family$family else family
    d$y <- switch(name,
      binomial = rep(0:1, length.out = n), poisson = , negbinomial = rpois(n, exp(pmin(eta, 14))),
      exponential = , Gamma = exp(eta) * rexp(n), laplace = , gaussian = eta * scale,
      stochastic_volatility = rnorm(n, 0, exp(eta / 2)),
      factor(rep(letters[1:3], length.out = n), ordered = name == "cumulative")
    )
    variance <- 10^sample(-2:6, 1)
    formula <- switch(sample(5, 1),
      y ~ x + z + offset(o), y ~ x + gp(z, kernel = matern32(variance = variance)) + offset(o),
      y ~ gp(z, kernel = se(variance = variance), inducing = 4) + offset(o),
      y ~ iid(g, variance = variance) + offset(o), y ~ z + rw1(t, variance = variance) + offset(o)
    )
    environment(formula) <- environment()
    sd <- 10^sample(c(0, 1, 3, 5), 1)
    # a cold start far from the data may overflow, which is said
    fits <- tryCatch(
      fits_by(formula, d, family, prior = list(intercept = normal(0, sd), default = normal(0, sd))),
      galvi_error_numeric = function(e) list()
    )
    if (!length(fits)) return(invisible())
    elbo <- vapply(fits, `[[`, 0, "elbo")
    said <- vapply(fits, function(fit) fit$convergence$gap, 0)
    rounding <- vapply(fits, function(fit) fit$convergence$rounding, 0)
    best <- which.max(elbo)
    expect_true(all(elbo[best] - elbo <= said + rounding[best], na.rm = TRUE))
    for (fit in fits) {
      if (fit$convergence$converged) expect_lt(largest_fall(fit), 1e-8)
      for (S in coefficient_covariances(fit)) expect_true(all(diag(S) >= 0))
    }
    checked <<- checked + 1
  })
  expect_some(checked, "models that did not overflow")
})

test_that("a field with a slope of its own stays whole beside a full gp() and wide priors", {
  set.seed(8)
  d <- data.frame(t = 1:20, x = rnorm(20), z = runif(20))
  d$y <- d$x + sin(d$t / 4) + d$z + 0.1 * rnorm(20)
  terms <- y ~ x + rw2(t, variance = fixed(0.1)) + gp(z, kernel = se(fixed(1), fixed(0.5)), center = FALSE)
  priors <- list(intercept = normal(0, 1e4), x = normal(0, 1e4), "rw2(t).slope" = normal(0, 2))
  noise <- galvi_family(gaussian(), variance = fixed(0.01))
  fit <- suppressWarnings(galvi(terms, d, noise, prior = priors))
  # the coefficients by generalised least squares, where all else is noise
  field <- prior_of(y ~ rw2(t, variance = fixed(0.1)), d, prior = list("rw2(t).slope" = normal(0, 2)))
  K <- field + exp(-outer(d$z, d$z, "-")^2 / (2 * 0.5^2)) + diag(0.01, 20)
  W <- cbind(1, d$x)
  V <- solve(crossprod(W, solve(K, W)) + diag(1e-8, 2))
  expect_equal(unname(vcov(fit)), V, tolerance = tol$solve)
  expect_equal(unname(coef(fit)), drop(V %*% crossprod(W, solve(K, d$y))), tolerance = tol$solve)
})

test_that("large counts whose coefficients are glm()'s lose no digits", {
  d <- data.frame(k = c(1, 2, 1.5), x = 1:3)
  for (size in 10^c(4, 7, 9)) {
    for (method in c("fixed_point", "newton")) {
      expect_no_warning(fit <- galvi(size * k ~ x, d, poisson(), prior = normal(0, 10), method = method))
      reference <- glm(size * k ~ x, poisson(), d)
      expect_close(coef(fit), coef(reference), 0.01 * min(sqrt(diag(vcov(reference)))))
      # the last digits of terms as large as the bound
      expect_lt(fit$convergence$rounding, 1e-10 * abs(fit$elbo))
    }
  }
})

test_that("a smooth whose columns at new rows are not those of the fit says so", {
  skip_if_not_installed("mgcv")
  set.seed(4)
  d <- data.frame(x = c(runif(60), 1e6))
  d$y <- sin(6 * pmin(d$x, 2)) + rnorm(61, 0, 0.2)
  expect_warning(fit <- galvi(y ~ s(x), d), "lost their digits.*Thin plates", class = "galvi_warning_numeric")
  anew <- predict(fit, d, se.fit = TRUE)
  expect_gt(max(abs(anew$fit - fitted(fit)) / anew$se.fit), 0.01)
  expect_no_warning(galvi(y ~ s(x, bs = "cr"), d))
  expect_no_warning(galvi(y ~ s(x), d[-61L, ]))
})
