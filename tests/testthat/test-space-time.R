# gp(x, y, time = t) and processes of one input at knots: states of Markov processes as a field.

space_time_rows <- function(n = 60, times = 8) {
  set.seed(5)
  d <- data.frame(
    x1 = round(runif(n), 1), x2 = round(runif(n), 1), t = sample(seq_len(times), n, replace = TRUE) / 4, u = rnorm(n),
    v = rnorm(n)
  )
  d$f <- factor(rep(c("a", "b"), length.out = n))
  d$g <- factor(rep(1:5, length.out = n))
  d$y <- rpois(n, 2)
  d
}

Z <- expand.grid(x1 = c(0.1, 0.5, 0.9), x2 = c(0.2, 0.8))

# Right-hand sides with one process in space and time.
space_time_cases <- list(
  plain = quote(0 + gp(x1, x2, kernel = se(1.3, 0.4), inducing = Z, time = t)),
  smooth = quote(0 + gp(x1, x2, kernel = matern52(1.3, 0.5) * matern32(1, 1.2, columns = "t"), inducing = Z, time = t)),
  sum = quote(0 + gp(x1, x2, kernel = se(1.3, 0.4) * (matern12(0.5, 2, columns = "t") + matern32(0.6, 1, columns = "t")),
    inducing = Z, time = t)),
  product = quote(0 + gp(x1, x2, kernel = se(1, 0.4) * matern32(1, 2, columns = "t") * cosine(1.5, columns = "t"),
    inducing = Z, time = t)),
  level = quote(0 + gp(x1, x2, kernel = se(1, 0.4) * (matern12(1, 1, columns = "t") + constant(0.5)),
    inducing = Z, time = t)),
  ard = quote(0 + gp(x1, x2, kernel = matern32(1.3, c(0.3, 0.9), ard = TRUE), inducing = Z, time = t)),
  by = quote(0 + gp(x1, x2, kernel = se(1.3, 0.4), inducing = Z, time = t, by = v)),
  group = quote(0 + gp(x1, x2, kernel = se(1.3, 0.4), inducing = Z, time = t, by = f)),
  shared = quote(0 + gp(x1, kernel = se(1.3, 0.4) * matern32(1, 1, columns = "t"), inducing = 4, time = t, by = f,
    by_hyper = "shared")),
  beside = quote(u + (1 | g) + gp(x1, x2, kernel = se(1.3, 0.4), inducing = Z, time = t)),
  two = quote(u + gp(x1, x2, kernel = se(1.3, 0.4), inducing = Z, time = t) + iid(f) + gp(v, inducing = 4))
)

# Knots at other times than the rows', which are between them, at one of them, before and after all.
with_knots <- function(model, knots) {
  change_terms(model, function(term, t) {
    if (!is.null(term$knots)) term$knots$times <- knots
    term
  })
}

space_time_model <- function(case, family = poisson(), knots = NULL, d = space_time_rows()) {
  formula <- stats::as.formula(call("~", quote(y), space_time_cases[[case]]))
  prior <- list(default = normal(0, 1), intercept = normal(0, 2))
  model <- suppressMessages(prepare_model(formula, d, family, prior = prior))
  if (is.null(knots)) model$model else with_knots(model$model, knots)
}

some_knots <- c(0.5, 0.8, 1.25, 1.9)

# C without c, and c, of a model whose other terms are finite.
plain_prior <- function(model) {
  hyper <- model$hyper$value
  parts <- Map(function(term, rows) {
    if (term$type == "knots") return(plain_knots(term, rows, hyper))
    list(K = term_covariance(c(term, rows), hyper), left = 0)
  }, prior_terms(model), term_rows(model))
  list(C = Reduce(`+`, lapply(parts, `[[`, "K")), left = Reduce(`+`, lapply(parts, `[[`, "left")))
}

test_that("verbs are those of the dense computation, at knots and between them", {
  for (case in setdiff(names(space_time_cases), "two")) {
    for (knots in list(NULL, some_knots)) {
      model <- space_time_model(case, knots = knots)
      expect_identical(solver_of(model), "sparse")
      n <- length(model$y)
      set.seed(3)
      lambda <- rexp(n)
      b <- rnorm(n)
      x <- rnorm(n)
      got <- solve_by(model, lambda, b, x)
      prior <- plain_prior(model)
      # a jitter of 1e-8 of what does not change
      accuracy <- if (case == "level") 1e-5 else 1e-7
      expect_close(got$prior_variances, diag(prior$C) + prior$left, accuracy)
      wanted <- dense_verbs(prior$C, lambda, b, x)
      wanted$variances <- wanted$variances + prior$left
      for (verb in setdiff(names(wanted), "kl")) expect_close(got[[verb]], wanted[[verb]], accuracy)
    }
  }
})

test_that("as a covariance it is the same", {
  for (case in setdiff(names(space_time_cases), "two")) {
    model <- space_time_model(case, knots = some_knots)
    n <- length(model$y)
    lambda <- rep(0.7, n)
    sparse <- solve_by(model, lambda, lambda, lambda)
    dense <- solve_by(with_solver(model, "dense_kernel"), lambda, lambda, lambda)
    expect_close(dense$prior_variances, sparse$prior_variances, 1e-8)
    expect_close(dense$apply_prior - sparse$apply_prior, 0.7 * plain_prior(model)$left, if (case == "level") 1e-5 else 1e-7)
  }
})

test_that("gradients are those of differences, at the optimum and elsewhere", {
  for (case in names(space_time_cases)) {
    model <- space_time_model(case, knots = some_knots)
    value <- model$hyper$value
    # inducing points do not move, but the gradient knows them
    # a precision of 1e8 for what hardly changes leaves bounds and gradients with fewer digits: by another BLAS, or at other
    # sites, these are off by 2e-5 to 4e-4, with differences of any step
    accuracy <- if (case == "level") 1e-3 else 2e-6
    wanted <- central_gradient(function(h) bound_at(model, h)$elbo, value)
    expect_close(bound_at(model, value)$gradient, wanted, accuracy)
    sites <- list(lambda = as.matrix(rexp(60)), b = as.matrix(rnorm(60)))
    wanted <- central_gradient(function(h) bound_at(model, h, sites)$elbo, value)
    expect_close(bound_at(model, value, sites)$gradient, wanted, accuracy)
  }
})

test_that("with all places and times it is the full separable process", {
  set.seed(8)
  places <- data.frame(x1 = runif(12), x2 = runif(12))
  d <- cbind(places[rep(1:12, 20), ], t = rep(cumsum(rexp(20, 2)), each = 12))[sample(240, 200), ]
  d$y <- rpois(200, exp(0.5 + sin(4 * d$x1 + d$t)))
  at <- places
  cases <- list(
    list(
      full = y ~ 0 + gp(x1, x2, t, kernel = matern32(1.3, 0.5, columns = c("x1", "x2")) * matern12(1, 2, columns = "t")),
      knots = y ~ 0 + gp(x1, x2, kernel = matern32(1.3, 0.5), inducing = at, time = t)
    ),
    list(
      full = y ~ 0 + gp(x1, x2, t, kernel = matern12(1.3, 0.5, columns = c("x1", "x2")) * matern32(1, 2, columns = "t")),
      knots = y ~ 0 + gp(x1, x2, kernel = matern12(1.3, 0.5) * matern32(1, 2, columns = "t"), inducing = at, time = t)
    )
  )
  for (case in cases) {
    for (family in list(poisson(), galvi_family(gaussian(), variance = 0.5))) {
      full <- prepare_model(case$full, d, family)$model
      model <- prepare_model(case$knots, d, family)$model
      # the default lengthscale in time is where learning starts
      model$hyper$value[grepl("time.lengthscale", model$hyper$name)] <- 2
      model <- with_knots(model, sort(unique(d$t)))
      expect_length(prior_terms(model)[[1]]$knots$times, 20)
      a <- bound_at(full, full$hyper$value)
      b <- bound_at(model, model$hyper$value)
      expect_close(b$elbo, a$elbo, 1e-8)
      of <- function(model, bound, what) bound$gradient[grep(what, model$hyper$name)]
      expect_close(of(model, b, "time\\)\\.lengthscale|t\\)\\.lengthscale")[1], of(full, a, "lengthscale")[1], 1e-6)
      expect_close(of(model, b, "time.lengthscale"), of(full, a, "lengthscale")[2], 1e-6)
      expect_close(of(model, b, "variance")[1], of(full, a, "variance")[1], 1e-6)
    }
  }
})

test_that("predictions between, at, before and after the times are those of the dense computation", {
  d <- space_time_rows()
  new <- data.frame(
    x1 = c(0.1, 0.33, 0.5, 0.9, 0.2), x2 = c(0.2, 0.6, 0.8, 0.1, 0.5), t = c(1, 0.6, -0.7, 2.9, 40), f = "a", v = 1
  )
  for (case in c("plain", "smooth", "sum", "by", "group")) {
    formula <- stats::as.formula(call("~", quote(y), space_time_cases[[case]]))
    fit <- galvi(formula, d, poisson(), hyper = "fixed")
    term <- prior_terms(fit$model)[[1L]]
    rows <- term_rows(fit$model)[[1L]]
    hyper <- fit$model$hyper$value
    own <- spec_rows(fit$design$specs[[1L]], new)
    own$by <- if (case == "by") new$v
    cross <- plain_knots(term, own, hyper, rows)$K
    here <- plain_knots(term, own, hyper)
    C <- plain_knots(term, rows, hyper)$K
    lambda <- fit$posterior$lambda[, 1]
    inverse <- solve(diag(60) + lambda * C, diag(lambda))
    p <- predict(fit, new, type = "link", se.fit = TRUE)
    expect_close(p$fit, cross %*% fit$posterior$alpha[, 1], 1e-6)
    expect_close(p$se.fit^2, diag(here$K) + here$left - rowSums((cross %*% inverse) * cross), 1e-6)
    joint <- predict(fit, new, type = "link", covariance = TRUE)$covariance
    expect_close(joint, here$K + diag(here$left) - cross %*% inverse %*% t(cross), 1e-6)
    # far from all times the prior is left
    expect_close(p$se.fit[5]^2, (diag(here$K) + here$left)[5], 1e-6)
    expect_close(p$fit[5], 0, 1e-6)
    set.seed(1)
    draws <- posterior_linpred.galvi(fit, newdata = new, ndraws = 4000)
    expect_lt(max(abs(cov(draws) - joint)), 5 * sqrt(2 / 4000) * max(joint)) # five standard errors
  }
})

test_that("every likelihood is learned, beside other terms, with dates, and fits are plain values", {
  set.seed(3)
  n <- 250
  d <- data.frame(x1 = runif(n), x2 = runif(n), day = as.Date("2020-01-01") + sample(40, n, replace = TRUE))
  d$g <- factor(sample(6, n, replace = TRUE))
  eta <- sin(4 * d$x1) + cos(as.numeric(d$day) / 6)
  d$y <- eta + rnorm(n, sd = 0.3)
  d$count <- rpois(n, exp(eta))
  d$yes <- rbinom(n, 1, plogis(2 * eta))
  fits <- list(
    galvi(y ~ (1 | g) + gp(x1, x2, inducing = 12, time = day), d),
    galvi(count ~ x1 + gp(x1, x2, inducing = 12, time = day), d, poisson()),
    galvi(yes ~ gp(x1, x2, inducing = 12, time = as.POSIXct(day)), d, binomial())
  )
  for (fit in fits) {
    expect_true(fit$convergence$converged)
    expect_identical(fit$solver, "sparse")
    expect_identical(attr(logLik(fit), "kind"), "bound")
  }
  fit <- fits[[1L]]
  expect_true("gp(x1, x2, time = day).time.lengthscale" %in% fit$hyper$name)
  expect_false("gp(x1, x2, time = day).time.variance" %in% fit$hyper$name[fit$hyper$learned])
  expect_lt(mean((fitted(fit) - eta)^2), 0.05)
  expect_output(print(summary(fit)), "states at 40 knots for each of 12 inducing points")
  new <- data.frame(x1 = 0.5, x2 = 0.5, day = as.Date("2020-01-01") + c(10, 45), g = "1")
  p <- predict(fit, new, interval = "prediction")
  expect_true(all(is.finite(as.matrix(p))))
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), new), predict(fit, new))
  terms <- predict(fit, new, type = "terms")
  expect_close(rowSums(terms) + attr(terms, "constant"), predict(fit, new, type = "link"), 1e-8)
  expect_s3_class(suppressMessages(update(fit, . ~ . - (1 | g))), "galvi")
  grDevices::pdf(NULL)
  expect_silent(plot(fit, which = "effects"))
  grDevices::dev.off()
  # as all fields
  expect_error(add_data(fit, d[1:5, ]), "needs all rows", class = "galvi_error_method")
})

test_that("processes of several inputs over many rows are at knots, and near the full ones", {
  set.seed(6)
  n <- 1200
  d <- data.frame(a = runif(n, 0, 3), b = runif(n, 0, 3), g = factor(sample(400, n, replace = TRUE)))
  d$y <- rpois(n, exp(sin(2 * d$a) + cos(2 * d$b)))
  formula <- y ~ 0 + gp(a, kernel = matern32(1, 0.8)) + gp(b, kernel = matern52(1, 0.8))
  model <- prepare_model(formula, d, poisson())$model
  expect_identical(solver_of(model), "sparse")
  full <- change_terms(model, function(term, t) replace(term, c("type", "knots"), list("kernel", NULL)))
  full <- with_solver(full, "dense_kernel")
  a <- bound_at(full, model$hyper$value)
  b <- bound_at(model, model$hyper$value)
  # what the knots leave of matern32 at a twentieth of its lengthscale, 1.4e-5 of the variance
  expect_lt(a$elbo - b$elbo, n * 1.4e-5 * 5 / 2)
  expect_gt(a$elbo - b$elbo, -1e-6)
  expect_close(b$gradient, a$gradient, 0.05)
  expect_message(fit <- galvi(formula, d, poisson(), hyper = "fixed"), class = "galvi_message_knots")
  expect_close(fit$elbo, b$elbo, 1e-4)
  # few rows stay full, and chains of one input chains
  few <- prepare_model(formula, d[1:500, ], poisson())$model
  expect_identical(solver_of(few), "dense_kernel")
  # beside a field of many nodes; matern12 has all its times
  beside <- prepare_model(y ~ (1 | g) + gp(a, kernel = matern12()), d, poisson())$model
  expect_identical(solver_of(beside), "sparse")
  expect_length(prior_terms(beside)[[3L]]$knots$times, n)
  # a process that is to be centred
  centred <- prepare_model(y ~ (1 | g) + gp(a, kernel = matern12(), center = TRUE), d, poisson())$model
  expect_identical(solver_of(centred), "dense_kernel")
})

test_that("knots are all times, or so many that hardly anything is left", {
  expect_identical(choose_knots(c(3, 1, 1, 2), 1, 1, FALSE, 100), c(1, 2, 3))
  expect_identical(choose_knots(7, 2, 1, FALSE, 100), 7)
  times <- seq(0, 10, length.out = 1e4)
  expect_lte(max(diff(choose_knots(times, 2, 1, FALSE, 1e4))), 0.05)
  expect_lte(max(diff(choose_knots(times, 3, 1, FALSE, 1e4))), 0.25)
  expect_length(choose_knots(times, 2, 1, FALSE, 50), 50)
  expect_identical(choose_knots(c(0, 1e-9, 1), 2, 1, FALSE, 100)[1L], 0)
})

test_that("bad input is refused by name", {
  d <- space_time_rows()
  d$text <- as.character(d$t)
  d$M <- cbind(d$t, d$t)
  refused <- function(formula, what, class = "galvi_error_argument") {
    expect_error(galvi(formula, d, poisson(), hyper = "fixed"), what, class = class)
  }
  refused(y ~ gp(x1, time = text), "`time = text` must be one column of numbers", "galvi_error_data")
  refused(y ~ gp(x1, time = M), "`time = M` must be one column of numbers", "galvi_error_data")
  refused(y ~ gp(x1, time = "t"), "`time` must be a column of times")
  refused(y ~ gp(x1, time = t, neighbours = 5), "give `inducing`")
  refused(y ~ gp(x1, time = t, inducing = 5, approximation = "fitc"), "leave `approximation` out")
  refused(y ~ gp(x1, time = t, center = TRUE), "leave `center` out")
  refused(y ~ gp(x1, t, time = t), "`t` is in space already")
  refused(y ~ gp(x1, time = t, kernel = se() * se(columns = "t")), "`matern12\\(\\)`", "galvi_error_kernel")
  refused(y ~ gp(x1, time = t, kernel = se() + matern32(columns = "t")), "must be a product", "galvi_error_kernel")
  refused(y ~ gp(x1, time = t, kernel = se(columns = c("x1", "t"))), "must be a product", "galvi_error_kernel")
  refused(y ~ gp(time = t), "has no inputs", "galvi_error_formula")
  # one row, two of them
  for (rows in list(1L, rep(c(1L, which(d$t != d$t[1L] & d$x1 != d$x1[1L])[1L]), c(8L, 1L)))) {
    expect_true(is.finite(galvi(y ~ gp(x1, x2, time = t, inducing = 3), d[rows, ], poisson(), hyper = "fixed")$elbo))
  }
})
