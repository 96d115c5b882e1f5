# A gp() beside an intercept has mean zero over the rows.

centre_data <- function(n = 40) {
  set.seed(3)
  d <- data.frame(x = round(runif(n, 0, 5), 1), z = rnorm(n), f = factor(sample(c("a", "b", "c"), n, TRUE)))
  d$y <- c(1, 4, 2)[d$f] + sin(d$x) * (d$f != "b") + 0.3 * d$z + rnorm(n) / 4
  d$count <- rpois(n, exp(0.5 + sin(d$x) / 2 + 0.2 * d$z))
  d
}

se_matrix <- function(a, b, variance, lengthscale) variance * exp(-outer(a, b, "-")^2 / (2 * lengthscale^2))

# I - 1 1'/n within groups: the process less its means over the rows.
centring <- function(group) {
  same <- outer(group, group, "==")
  diag(length(group)) - same / rowSums(same)
}

log_normal_density <- function(y, V) {
  -0.5 * (length(y) * log(2 * pi) + as.numeric(determinant(V)$modulus) + sum(y * solve(V, y)))
}

# S - S X' C^-1 X S
prior_less <- function(X, C, variance) {
  S <- diag(variance, length(variance))
  S - S %*% t(X) %*% solve(C, X) %*% S
}

held_noise <- galvi_family("gaussian", variance = fixed(0.1))

test_that("the full process is H K H: evidence, coefficients, predictions at old and new places, with their covariance", {
  d <- centre_data()
  n <- nrow(d)
  prior <- list(intercept = normal(0.5, 3), default = normal(0, 2))
  new <- data.frame(x = c(-1, 2.35, 9), z = c(0, 1, -1), f = c("a", "b", "c"))
  at <- function(group, new_group, formula, X, new_X, variance) {
    fit <- galvi(formula, d, held_noise, hyper = "fixed", prior = prior)
    H <- centring(group)
    first <- se_matrix(d$x, d$x, 2, 0.8) * outer(group, group, "==")
    second <- se_matrix(d$z, d$z, 0.5, 1.2)
    H2 <- centring(rep(1, n))
    C <- H %*% first %*% H + H2 %*% second %*% H2 + X %*% (variance * t(X)) + diag(0.1, n)
    r <- d$y - 0.5
    expect_close(fit$elbo, log_normal_density(r, C), tol$elbo)
    S <- prior_less(X, C, variance)
    expect_close(vcov(fit), S, tol$solve)
    expect_close(coef(fit), c(0.5, 0 * variance[-1]) + drop(variance * t(X) %*% solve(C, r)), tol$solve)
    # f(x*) - its mean over the rows = row of T (f(rows), f(x*))
    with_new <- function(group, new_group, K) {
      same <- outer(new_group, group, "==")
      T <- rbind(cbind(centring(group), matrix(0, n, 3)), cbind(-same / rowSums(same), diag(3)))
      T %*% (K * outer(c(group, new_group), c(group, new_group), "==")) %*% t(T)
    }
    all_X <- rbind(X, new_X)
    joint <- with_new(group, new_group, se_matrix(c(d$x, new$x), c(d$x, new$x), 2, 0.8)) +
      with_new(rep(1, n), rep(1, 3), se_matrix(c(d$z, new$z), c(d$z, new$z), 0.5, 1.2)) +
      all_X %*% (variance * t(all_X))
    cross <- joint[n + 1:3, 1:n]
    got <- predict(fit, new, type = "link", covariance = TRUE)
    expect_close(got$fit, 0.5 + drop(cross %*% solve(C, r)), tol$solve)
    expect_close(got$covariance, joint[n + 1:3, n + 1:3] - cross %*% solve(C, t(cross)), tol$solve)
    expect_close(predict(fit, new, type = "link", se.fit = TRUE)$se.fit^2, diag(got$covariance), tol$solve)
    expect_close(predict(fit, d[1:5, ], type = "link"), fitted(fit)[1:5], tol$solve)
    terms <- predict(fit, type = "terms")
    for (level in unique(group)) expect_close(mean(terms[group == level, ncol(terms) - 1L]), 0, tol$solve)
    expect_close(mean(terms[, ncol(terms)]), 0, tol$solve)
  }
  one <- matrix(1, n)
  at(
    rep(1, n), rep(1, 3), y ~ gp(x, kernel = se(2, 0.8)) + gp(z, kernel = se(0.5, 1.2)), one, one[1:3, , drop = FALSE],
    9
  )
  at(
    as.integer(d$f), 1:3, y ~ f + gp(x, by = f, kernel = se(2, 0.8)) + gp(z, kernel = se(0.5, 1.2)),
    model.matrix(~f, d), model.matrix(~f, transform(new, f = factor(f))), c(9, 4, 4)
  )
})

test_that("with inducing points it is the mean of what the points determine", {
  d <- centre_data(80)
  Z <- cbind(x = seq(-0.5, 5.5, length.out = 5))
  n <- nrow(d)
  K <- se_matrix(Z[, 1], Z[, 1], 2, 0.8)
  Knz <- se_matrix(d$x, Z[, 1], 2, 0.8)
  for (by in c(FALSE, TRUE)) {
    group <- if (by) as.integer(d$f) else rep(1, n)
    formula <- if (by) {
      y ~ f + gp(x, by = f, inducing = Z, kernel = se(2, 0.8))
    } else {
      y ~ gp(x, inducing = Z, kernel = se(2, 0.8))
    }
    X <- if (by) model.matrix(~f, d) else matrix(1, n)
    variance <- c(9, 4, 4)[seq_len(ncol(X))]
    Q <- Knz %*% solve(K, t(Knz)) * outer(group, group, "==")
    H <- centring(group)
    C <- H %*% Q %*% H + X %*% (variance * t(X)) + diag(0.1, n)
    bound <- log_normal_density(d$y - 0.5, C) - sum(2 - diag(Q)) / 0.2
    prior <- list(intercept = normal(0.5, 3), default = normal(0, 2))
    for (method in c("auto", "newton", "natural_gradient", "incremental")) {
      fit <- galvi(formula, d, held_noise, hyper = "fixed", prior = prior, method = method,
        control = galvi_control(tol = 1e-10))
      expect_close(fit$elbo, bound, tol$elbo)
      S <- prior_less(X, C, variance)
      expect_close(vcov(fit), S, 1e-6)
      expect_close(predict(fit, d[1:5, ], type = "link"), fitted(fit)[1:5], 1e-8)
    }
  }
})

test_that("points at all inputs give the full process's answers", {
  d <- centre_data(30)
  all <- cbind(x = sort(unique(d$x)))
  full <- galvi(count ~ gp(x, kernel = se(1, 0.3)), d, poisson(), hyper = "fixed")
  sparse <- galvi(count ~ gp(x, kernel = se(1, 0.3), inducing = all), d, poisson(), hyper = "fixed")
  expect_close(sparse$elbo, full$elbo, tol$elbo)
  expect_close(coef(sparse), coef(full), 1e-5)
  expect_close(vcov(sparse), vcov(full), 1e-5)
  new <- data.frame(x = c(-1, 2.35, 7))
  expect_close(predict(sparse, new, "link"), predict(full, new, "link"), 1e-5)
})

test_that("the gradient of a centred process is that of the bound, at the optimum and elsewhere", {
  d <- centre_data(25)
  terms <- c(
    "gp(x, z, kernel = matern52(ard = TRUE))", "f + gp(x, by = f, kernel = matern32() + linear())",
    "gp(x, kernel = se() + white(0.1)) + gp(z)", "gp(x, z, inducing = 6)", "f + gp(x, by = f, inducing = 4)",
    "gp(x, inducing = 5, kernel = rational_quadratic() + linear())"
  )
  for (term in terms) {
    model <- galvi_model(galvi_design(stats::as.formula(paste("count ~", term)), d, poisson()))
    model <- core_model(model, "auto")
    value <- model$hyper$value
    at <- seq_along(value)
    for (sites in list(NULL, list(lambda = matrix(runif(25, 0.5, 3)), b = matrix(rnorm(25))))) {
      moved <- central_gradient(function(h) bound_at(model, h, sites)$elbo, value, at, h = 5e-4)
      expect_close(bound_at(model, value, sites)$gradient, moved, 1e-5)
    }
  }
})

test_that("smooth processes are fitted by a few columns of their covariance, at the same values and gradients", {
  d <- centre_data(160)
  d$w <- d$z - 0.2
  terms <- c("gp(x)", "gp(x) + gp(z)", "f + gp(x, by = f)", "0 + gp(x, by = w) + z", "gp(x, kernel = se() + linear())",
             "0 + gp(x, by = f) + (1 | f)", "gp(x, kernel = rational_quadratic(alpha = fixed(20)))")
  for (term in terms) {
    formula <- stats::as.formula(paste("count ~", term))
    model <- core_model(galvi_model(galvi_design(formula, d, poisson())), "auto")
    value <- model$hyper$value
    for (sites in list(NULL, list(lambda = matrix(runif(160, 0.5, 3)), b = matrix(rnorm(160))))) {
      moved <- central_gradient(function(h) bound_at(model, h, sites)$elbo, value, h = 5e-4)
      expect_close(bound_at(model, value, sites)$gradient, moved, 1e-5)
    }
  }
  X <- cbind(1, d$z)
  K <- se_matrix(d$x, d$x, 2, 1.3) * outer(d$f, d$f, "==")
  C <- X %*% diag(c(100, 100)) %*% t(X) + centring(d$f) %*% K %*% centring(d$f) + 0.1 * diag(160)
  fit <- galvi(y ~ z + gp(x, by = f, kernel = se(fixed(2), fixed(1.3)), center = TRUE), d, held_noise,
               prior = list(intercept = normal(0, 10), default = normal(0, 10)))
  expect_close(fit$elbo, log_normal_density(d$y, C), tol$elbo)
})

test_that("a process with a long lengthscale is a line to all digits", {
  for (n in c(12, 160)) {
    d <- centre_data(n)
    line <- scale(d$x, scale = FALSE)
    C <- 100 + line %*% t(line) + 0.1 * diag(n)
    for (length in c(1e4, 1e6)) {
      kernel <- sprintf("se(fixed(%g), fixed(%g))", length^2, length)
      formula <- stats::as.formula(sprintf("y ~ gp(x, kernel = %s)", kernel))
      fit <- galvi(formula, d, held_noise, prior = list(intercept = normal(0, 10)))
      expect_close(fit$elbo, log_normal_density(d$y, C), 1e-4 * (1e4 / length)^2 + 1e-8)
    }
  }
})

test_that("a gp() is centred where the fixed effects have the level", {
  d <- centre_data()
  d$o <- factor(cut(d$y, c(-Inf, 1, 3, Inf)), labels = 1:3, ordered = TRUE)
  is_centred <- function(formula, family = gaussian(), data = d) {
    model <- galvi_model(galvi_design(formula, data, family))
    vapply(unlist(lapply(model$predictors, `[[`, "terms"), FALSE), function(term) !is.null(term$centre), NA)
  }
  gp_of <- function(...) tail(is_centred(...), 1L)
  expect_true(gp_of(y ~ gp(x)))
  expect_true(gp_of(y ~ z + gp(x, inducing = 4)))
  expect_true(gp_of(y ~ 0 + f + gp(x)))
  expect_true(gp_of(y ~ f + gp(x, by = f)))
  expect_true(gp_of(y ~ 0 + f + gp(x, by = f)))
  expect_true(gp_of(o ~ gp(x), cumulative()))
  expect_true(gp_of(y ~ gp(x, kernel = se() * matern12() + linear() + white())))
  expect_false(gp_of(y ~ 0 + gp(x)))
  expect_false(gp_of(y ~ 0 + z + gp(x)))
  expect_false(gp_of(y ~ gp(x, center = FALSE)))
  expect_false(gp_of(y ~ gp(x, by = z)))
  expect_false(gp_of(y ~ gp(x, kernel = se() + constant())))
  expect_false(gp_of(o ~ 0 + gp(x), cumulative(thresholds = fixed(c(-1, 1)))))
  expect_identical(is_centred(list(y ~ gp(x), sigma ~ 0 + gp(x))), c(FALSE, TRUE, FALSE))
  expect_identical(is_centred(list(y ~ 0 + gp(x), sigma ~ gp(x))), c(FALSE, FALSE, TRUE))
  expect_true(all(is_centred(f ~ gp(x, kernel = per_class(se())), categorical())[c(2, 4)]))
  x <- as.matrix(d[c("x", "z")])
  centred <- galvi(x, d$y, hyper = "fixed")
  expect_close(coef(centred), mean(fitted(centred)), 1e-6)
  expect_true(gp_of(y ~ 0 + gp(x, center = TRUE)))
  expect_message(is_centred(y ~ gp(x, by = f)), "Write f \\+ gp\\(x, by = f\\)", class = "galvi_message_center")
  expect_silent(is_centred(y ~ f + gp(x, by = f)))
  refused <- function(formula, words) expect_error(galvi(formula, d), words, class = "galvi_error_argument")
  refused(y ~ gp(x, kernel = linear(), center = TRUE), "makes columns")
  refused(y ~ gp(x, kernel = se() + constant(), center = TRUE), "no constant\\(\\) part")
  refused(y ~ gp(x, by = z, center = TRUE), "`by` is a number")
})

test_that("the intercept is gam's: value and standard deviation", {
  skip_if_not_installed("mgcv")
  cases <- list(
    list(accel ~ gp(times), accel ~ s(times), MASS::mcycle, gaussian()),
    list(dist ~ gp(speed), dist ~ s(speed), cars, gaussian()),
    list(waiting ~ gp(eruptions, inducing = 15), waiting ~ s(eruptions), faithful, gaussian()),
    list(am ~ gp(wt), am ~ s(wt), mtcars, binomial()),
    list(count ~ gp(x), count ~ s(x), centre_data(100), poisson())
  )
  for (case in cases) {
    # gam() takes smoothing parameters as known
    fit <- galvi(case[[1]], case[[3]], case[[4]], control = galvi_control(uncertainty = "factorised"))
    reference <- mgcv::gam(case[[2]], case[[4]], data = case[[3]], method = "ML")
    sd <- sqrt(vcov(reference)[1, 1])
    label <- format(case[[1]])
    expect_lt(abs(coef(fit) - coef(reference)[1]) / sd, 0.3, label = label)
    ratio <- sqrt(vcov(fit)[1]) / sd
    expect_true(ratio > 0.8 && ratio < 1.2, label = paste(label, format(ratio)))
  }
})
