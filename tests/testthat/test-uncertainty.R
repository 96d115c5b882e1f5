# What must hold of the joint distribution of coefficients and parameters that a fit reports: one distribution, whichever
# way it is read, and never narrower than the factorised one. Exact values are in test-uncertainty-gold.R.

skip_on_cran()

# Reasons: sds from weighted points have an error of 1 to 1.5 %; what is a quadratic form of vcov() has rounding alone.
# hurdle: 50 counts are skew, 1.032 by importance sampling
honest <- list(least = 0.98, copies = 0.02, information = 0.03, hurdle = 0.035, algebra = 1e-6, linear = 0.005)

# Several parts, each with a predictor: their posteriors are wide, so these fits say less and take longer.
# compois() makes a table for each value of nu.
slow_cases <- c(
  "student sigma nu", "zero_inflated_negbinomial shape zi", "hurdle_negbinomial shape hu", "zero_inflated_nbinom1 phi zi",
  "hurdle_nbinom1 phi hu", "compois", "exgaussian sigma beta", "skew_normal sigma alpha", "tweedie phi"
)
with_classes <- c("categorical", "stick_breaking")
main_cases <- function() setdiff(uncertainty_cases(), slow_cases)
# a few of each kind: K > 1, parameters, both, neither
some_cases <- c(
  "gaussian", "gaussian sigma", "negbinomial", "negbinomial shape", "beta_family phi", "zero_inflated_poisson zi",
  "zero_inflated_negbinomial zi", "hurdle_poisson hu", "cumulative", "weibull", "poisson"
)

half_widths <- function(limits) (limits[, 2] - limits[, 1]) / 2

# ---- one distribution ----

test_that("the link's sd is that of w'beta, of every predictor, and of contrasts of rows", {
  for (name in setdiff(main_cases(), with_classes)) {
    case <- uncertainty_case(name)
    fit <- case_fit(name)
    V <- vcov(fit)
    expect_true(isSymmetric(V, tol = 1e-8), info = name)
    expect_gt(min(eigen(stats::cov2cor(V), TRUE, TRUE)$values), 0)
    new <- data.frame(x1 = c(-1, 0, 2), x2 = c(0.5, 0, -1))
    for (dpar in c(list(NULL), case$dpars)) {
      link <- predict(fit, new, type = "link", se.fit = TRUE, covariance = TRUE, dpar = dpar)
      W <- predictor_rows(case, fit, dpar, new)
      # of ordered classes that of the distance from the means of the columns
      if (shifts_thresholds(fit) && is.null(dpar)) {
        W <- W - rep(colMeans(predictor_rows(case, fit, dpar, fit$data)), each = nrow(W))
      }
      expect_close(link$se.fit^2, diag(W %*% V %*% t(W)), honest$algebra)
      expect_close(link$covariance, W %*% V %*% t(W), honest$algebra)
      contrast <- W[3, ] - W[1, ]
      C <- link$covariance
      expect_close(C[3, 3] + C[1, 1] - 2 * C[1, 3], drop(contrast %*% V %*% contrast), honest$algebra)
    }
    expect_close(predict(fit, new, type = "link"), predictor_rows(case, fit, NULL, new) %*% coef(fit), honest$algebra)
  }
})

test_that("draws of the coefficients have the covariances of vcov()", {
  skip_if_not_installed("posterior")
  for (name in setdiff(main_cases(), with_classes)) {
    fit <- case_fit(name)
    set.seed(2)
    draws <- unclass(posterior::as_draws_matrix(posterior::as_draws(fit, ndraws = 4000)))
    expect_draws_covariance(draws[, names(coef(fit))], coef(fit), vcov(fit))
  }
})

test_that("parameters are drawn jointly with the coefficients", {
  skip_if_not_installed("posterior")
  skip_without_uncertainty()
  for (name in c("gaussian", "negbinomial", "weibull", "cumulative", "zero_inflated_negbinomial zi")) {
    fit <- case_fit(name)
    full <- vcov(fit, full = TRUE)
    psi <- learned_parameters(fit)
    at <- c(seq_along(coef(fit)), parameter_rows(fit, psi, full))
    set.seed(3)
    draws <- unclass(posterior::as_draws_matrix(posterior::as_draws(fit, ndraws = 4000)))
    both <- cbind(draws[, names(coef(fit))], if (name == "cumulative") draws[, psi] else log(draws[, psi]))
    expect_draws_covariance(both, colMeans(both), full[at, at])
  }
})

test_that("vcov(full = TRUE) has vcov() as its block, and the parameters", {
  skip_without_uncertainty()
  for (name in main_cases()) {
    fit <- case_fit(name)
    full <- vcov(fit, full = TRUE)
    k <- nrow(vcov(fit))
    expect_equal(full[seq_len(k), seq_len(k), drop = FALSE], vcov(fit))
    expect_equal(nrow(full), k + length(learned_parameters(fit)), info = name)
    expect_identical(rownames(full), colnames(full))
    expect_false(anyDuplicated(rownames(full)) > 0)
    expect_gt(min(eigen(stats::cov2cor(full), TRUE, TRUE)$values), 0)
  }
})

test_that("intervals, tables and contrasts by other packages are of the same covariance matrix", {
  skip_if_not_installed("generics")
  for (name in c("gaussian sigma", "negbinomial", "zero_inflated_poisson zi", "weibull")) {
    fit <- case_fit(name)
    at <- names(coef(fit))
    table <- generics::tidy(fit, effects = "fixed")
    expect_identical(nrow(table), length(at))
    expect_close(table$std.error / sds(fit)[at], 1, honest$algebra)
    # quantiles need not be those of a normal distribution, but are not far from them
    expect_close(half_widths(confint(fit)) / (stats::qnorm(0.975) * sds(fit)), 1, 0.15)
    expect_true(all(confint(fit)[, 1] < coef(fit) & coef(fit) < confint(fit)[, 2]))
  }
  skip_if_not_installed("emmeans")
  fit <- case_fit("negbinomial")
  trend <- as.data.frame(emmeans::emmeans(fit, "x1", at = list(x1 = c(0, 1))))
  expect_close(as.data.frame(graphics::pairs(emmeans::emmeans(fit, "x1", at = list(x1 = c(0, 1)))))$SE, sds(fit)[["x1"]],
    honest$algebra)
  expect_close(trend$SE[1]^2, with(list(V = vcov(fit), w = c(1, 0, mean(fit$data$x2))), drop(w %*% V %*% w)),
    honest$algebra)
})

# ---- against the factorised one ----

test_that("no sd is smaller than the factorised one, over families and random designs", {
  skip_without_uncertainty()
  for (name in uncertainty_cases()) {
    for (seed in if (name %in% slow_cases) 1 else 1:3) {
      case <- uncertainty_case(name, n = c(50, 30, 80)[seed], seed = seed)
      fit_of <- function(...) if (seed == 1) case_fit(name, ...) else uncertainty_fit(case, ...)
      fit <- fit_of()
      ratio <- sds(fit) / sds(fit_of("factorised"))
      # the mean over a learned size or shape may be far from its estimate, where sds are larger
      least <- if (length(learned_parameters(fit))) 0.75 else honest$least
      expect_true(all(is.finite(ratio)) && min(ratio) >= least,
        info = paste0(name, ", seed ", seed, ": ", format(min(ratio), digits = 3)))
    }
  }
})

test_that("uncertainty = \"factorised\" treats predictors as independent and says so", {
  skip_without_uncertainty()
  for (name in c("gaussian sigma", "negbinomial shape", "zero_inflated_poisson zi")) {
    fit <- case_fit(name, "factorised")
    expect_true(all(vcov(fit)[1:3, 4:5] == 0))
    expect_identical(fit$convergence$uncertainty$method, "factorised")
    joint <- case_fit(name)
    expect_false(all(vcov(joint)[1:3, 4:5] == 0))
    expect_named(joint$convergence$uncertainty, c("method", "rounds", "efficiency", "tail", "rho"), ignore.order = TRUE)
    # the bound is the factorised posterior's in both
    expect_equal(joint$elbo, fit$elbo, tolerance = 1e-8)
  }
})

test_that("names with commas stay whole in what print() says", {
  d <- data.frame(x = ppoints(30), z = rep(1:5, 6) / 5, s = rep(c(0:4, 2), 5))
  fit <- galvi(cbind(s, 4 - s) ~ te(x, z, k = 3), d, binomial(), verbose = FALSE)
  expect_match(uncertainty_line(fit), "te(x, z).variance[1] and te(x, z).variance[2]", fixed = TRUE)
  expect_identical(and_words(c("te(x, z)", "a", "b")), "te(x, z), a and b")
  expect_identical(and_words("te(x, z)"), "te(x, z)")
})

test_that("print() says that learned hyperparameters are taken as known, unless that was asked for", {
  # more rows than states of a process are for
  d <- data.frame(x = rep(1:21, 10))
  d$y <- sin(d$x) + rep(c(-0.5, 0, 0.3, 0.1, -0.2), 42)
  printed <- function(...) paste(capture.output(print(galvi(y ~ gp(x), d, ...))), collapse = " ")
  expect_match(printed(), "gaussian.variance as known: they may be too +small[.]$")
  expect_no_match(printed(control = galvi_control(uncertainty = "factorised")), "as known")
  expect_no_match(printed(hyper = "fixed"), "as known")
  # summary() says where they come from in any case, and once
  whole <- paste(capture.output(print(summary(galvi(y ~ gp(x), d)))), collapse = " ")
  expect_length(gregexpr("as known", whole)[[1L]], 1L)
})

test_that("with 50 copies of the data nothing changes where predictors and parameters are orthogonal", {
  skip_without_uncertainty()
  # the cross block of the observed information is zero at the maximum of the likelihood
  for (name in c("gaussian", "Gamma", "inverse.gaussian", "poisson", "exponential", "hurdle_poisson hu")) {
    case <- uncertainty_case(name, n = 40)
    case$data$copies <- 50
    of_copies <- function(uncertainty) {
      sds(galvi(case$formula, case$data, case$family, weights = frequency(copies), prior = case$prior,
        control = uncertainty_control(uncertainty), verbose = FALSE))
    }
    expect_close(of_copies("auto") / of_copies("factorised"), 1, honest$copies)
  }
})

test_that("with 50 copies of the data sds are those of the inverse observed information", {
  skip_without_uncertainty()
  # the factorised ones are not, however many rows: blocks of the information are inverted one by one
  minus_log_density <- list(
    cars = function(d, X, Z, b, a) -dnorm(d$y, X %*% b, exp(Z %*% a), log = TRUE),
    petrol = function(d, X, Z, b, a) {
      mean <- plogis(X %*% b)
      -dbeta(d$y, mean * exp(Z %*% a), (1 - mean) * exp(Z %*% a), log = TRUE)
    },
    quine = function(d, X, Z, b, a) -dnbinom(d$y, size = exp(Z %*% a), mu = exp(X %*% b), log = TRUE)
  )
  for (name in names(minus_log_density)) {
    problem <- response_problems()[[name]]
    d <- transform(response_data(name), copies = 50)
    fit_copies <- function(uncertainty) {
      galvi(problem$formula, d, problem$family, prior = problem$prior, weights = frequency(copies),
        control = uncertainty_control(uncertainty), verbose = FALSE)
    }
    fit <- fit_copies("auto")
    X <- stats::model.matrix(stats::delete.response(stats::terms(problem$formula[[1]])), d)
    Z <- stats::model.matrix(stats::delete.response(stats::terms(problem$formula[[2]])), d)
    k <- ncol(X)
    target <- function(theta) {
      50 * sum(minus_log_density[[name]](d, X, Z, theta[seq_len(k)], theta[-seq_len(k)])) + sum(theta^2) / 50
    }
    mode <- stats::optim(coef(fit), target, method = "BFGS", control = list(reltol = 1e-14, maxit = 1000))$par
    V <- solve(stats::optimHess(mode, target, control = list(ndeps = rep(1e-4, length(mode)))))
    expect_close(sds(fit) / sqrt(diag(V)), 1, honest$information)
    expect_close(stats::cov2cor(vcov(fit)), stats::cov2cor(V), 0.05)
    expect_gt(max(sds(fit) / sds(fit_copies("factorised"))), 1 + honest$information)
  }
})

test_that("the two parts of a hurdle are separate models", {
  for (name in c("hurdle_poisson hu", "hurdle_binomial hu")) {
    for (seed in 1:3) {
      case <- uncertainty_case(name, seed = seed)
      expect_close(sds(uncertainty_fit(case)) / sds(uncertainty_fit(case, "factorised")), 1, honest$hurdle)
    }
  }
})

# ---- the linear model ----

test_that("a linear model has lm()'s t intervals, and lm()'s sds with the variance as known", {
  theirs <- lm(mpg ~ wt + hp, mtcars)
  df <- theirs$df.residual
  flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
  new <- data.frame(wt = c(2, 3.5), hp = c(100, 200))
  for (prior in list(NULL, flat)) {
    plain <- galvi(mpg ~ wt + hp, mtcars, prior = prior, control = uncertainty_control("factorised"))
    expect_close(sds(plain) / sqrt(diag(vcov(theirs))), 1, honest$linear)
  }
  skip_without_uncertainty()
  for (prior in list(NULL, flat)) {
    fit <- galvi(mpg ~ wt + hp, mtcars, prior = prior, control = uncertainty_control())
    # the sd of a t distribution
    expect_close(sds(fit) / sqrt(diag(vcov(theirs)) * df / (df - 2)), 1, honest$linear)
    expect_close((coef(fit) - coef(theirs)) / sqrt(diag(vcov(theirs))), 0, honest$linear)
    wanted <- confint(theirs)
    expect_close((confint(fit) - wanted) / half_widths(wanted), 0, honest$linear)
    wanted <- predict(theirs, new, interval = "confidence")[, c("lwr", "upr")]
    ours <- predict(fit, new, type = "link", interval = "credible")[, c("lwr", "upr")]
    expect_close((ours - wanted) / half_widths(wanted), 0, 2 * honest$linear)
  }
})

# ---- fits are functions of the data ----

test_that("a fit leaves the random numbers alone", {
  has_state <- exists(".Random.seed", globalenv(), inherits = FALSE)
  if (has_state) old <- get(".Random.seed", globalenv())
  on.exit(if (has_state) assign(".Random.seed", old, globalenv()) else
    suppressWarnings(rm(".Random.seed", envir = globalenv())))
  for (name in some_cases) {
    case <- uncertainty_case(name)
    before <- get(".Random.seed", globalenv())
    uncertainty_fit(case)
    expect_identical(get(".Random.seed", globalenv()), before, info = name)
  }
  case <- uncertainty_case("gaussian sigma")
  rm(".Random.seed", envir = globalenv())
  uncertainty_fit(case)
  expect_false(exists(".Random.seed", globalenv(), inherits = FALSE))
})

test_that("one thread and two give the same bits, and so does the same fit again", {
  for (name in some_cases) {
    case <- uncertainty_case(name, n = 300)
    fits <- lapply(c(1, 2, 1), function(threads) uncertainty_fit(case, threads = threads))
    for (other in fits[-1]) {
      expect_identical(coef(other), coef(fits[[1]]), info = name)
      expect_identical(vcov(other), vcov(fits[[1]]), info = name)
      expect_identical(other$hyper, fits[[1]]$hyper, info = name)
      if (has_uncertainty()) expect_identical(vcov(other, full = TRUE), vcov(fits[[1]], full = TRUE), info = name)
    }
  }
})

test_that("a saved fit is the same fit", {
  skip_if_not_installed("posterior")
  for (name in c("negbinomial shape", "cumulative")) {
    fit <- case_fit(name)
    file <- tempfile()
    saveRDS(fit, file)
    other <- readRDS(file)
    drawn <- lapply(list(fit, other), function(fit) {
      set.seed(1)
      posterior::as_draws(fit, ndraws = 50)
    })
    expect_identical(drawn[[1]], drawn[[2]])
    expect_identical(vcov(other), vcov(fit))
  }
})

test_that("the order of rows and columns changes sds by the points' noise at most", {
  for (name in c("gaussian sigma", "negbinomial", "zero_inflated_poisson zi")) {
    case <- uncertainty_case(name)
    fit <- case_fit(name)
    turned <- case
    turned$data <- case$data[rev(seq_len(nrow(case$data))), ]
    expect_close(sds(uncertainty_fit(turned)) / sds(fit), 1, 1e-3)
    if (is.list(turned$formula)) turned$formula[[1]] <- y ~ x2 + x1 else turned$formula <- y ~ x2 + x1
    expect_close(sds(uncertainty_fit(turned))[names(coef(fit))] / sds(fit), 1, 0.03)
  }
})

# ---- what is refused, and odd data ----

# Classes of the warnings of an expression, their words, and its value.
with_warnings <- function(expr) {
  classes <- words <- character()
  value <- withCallingHandlers(expr, warning = function(w) {
    classes <<- c(classes, class(w))
    words <<- c(words, conditionMessage(w))
    invokeRestart("muffleWarning")
  })
  list(value = value, classes = classes, words = words)
}

test_that("separation under flat priors gives a fit and a warning", {
  skip_without_uncertainty()
  flat <- list(intercept = normal(0, Inf), default = normal(0, Inf))
  set.seed(2)
  zip <- data.frame(x = rnorm(40), z = rep(0:1, each = 20))
  zip$y <- rpois(40, 3) + 1
  zip$y[zip$z == 1][1:8] <- 0  # zeros at z = 1 alone
  ordered_data <- data.frame(x = 1:12, y = factor(rep(1:3, each = 4), ordered = TRUE))
  cases <- list(
    `zi_` = list(list(y ~ x, zi ~ z), zip, zero_inflated(poisson()), prior = c(flat, list(zi = flat))),
    `x` = list(y ~ x, ordered_data, cumulative(), prior = flat["default"])
  )
  for (name in names(cases)) {
    case <- cases[[name]]
    fits <- lapply(c("auto", "factorised"), function(uncertainty) {
      with_warnings(do.call(galvi, c(case, list(control = uncertainty_control(uncertainty), verbose = FALSE))))
    })
    expect_true("galvi_warning_uncertainty" %in% fits[[1]]$classes)
    expect_match(fits[[1]]$words, paste0("say little about `", name), all = FALSE)
    fit <- fits[[1]]$value
    expect_true(all(is.finite(vcov(fit))))
    expect_output(print(summary(fit)))
  }
})

test_that("flat priors have the sds of very wide ones", {
  set.seed(3)
  d <- data.frame(x = rnorm(150), g = factor(rep(1:10, 15)))
  d$y <- rbinom(150, 1, plogis(d$x + rnorm(10, sd = 0.7)[d$g]))
  fit <- function(sd) {
    galvi(y ~ x + (1 | g), d, binomial(), prior = list(intercept = normal(0, sd), default = normal(0, sd)))
  }
  expect_silent(flat <- fit(Inf))
  wide <- fit(1e4)
  expect_identical(uncertainty_method(flat), uncertainty_method(wide))
  expect_true(uncertainty_method(flat) != "factorised")
  # 1e4 is not infinite
  expect_close(sqrt(diag(vcov(flat))), sqrt(diag(vcov(wide))), 1e-4)
})

test_that("a Gaussian of too many coefficients for linear response is not called one", {
  skip_without_uncertainty()
  set.seed(1)
  d <- data.frame(x = rnorm(480), g = factor(rep(1:80, each = 6)))
  d$y <- rpois(480, exp(0.7 + 0.3 * d$x)) * rbinom(480, 1, 0.75)
  groups <- list(sd = fixed(0.5))
  fit <- galvi(list(y ~ x + (1 | g), zi ~ x + (1 | g)), d, zero_inflated(poisson()), verbose = FALSE,
    prior = c(groups, list(zi = groups)))
  expect_identical(fit$convergence$uncertainty$method, "response")
  expect_true(is.na(fit$convergence$uncertainty$rho))
  expect_output(print(summary(fit)), "from a joint Gaussian of all predictors", fixed = TRUE)
})

test_that("more rows than points and states are for have a joint Gaussian with hyperparameters", {
  skip_without_uncertainty()
  set.seed(1)
  n <- 30000
  d <- data.frame(h = gl(8, 1, n), f = gl(3, 8, n))
  d$y <- rbinom(n, 1, stats::plogis(rnorm(8)[d$h]))
  d$grade <- cut(0.3 * (d$f == "2") + stats::rlogis(n), c(-Inf, -1, 0.5, Inf), labels = FALSE, ordered_result = TRUE)
  expect_same <- function(many, table, tolerance) {
    expect_identical(many$convergence$uncertainty$method, "response")
    expect_true(table$convergence$uncertainty$method %in% c("points", "states"))
    expect_close(coef(many), coef(table), 0.02)
    expect_close(sqrt(diag(vcov(many))), sqrt(diag(vcov(table))), tolerance)
  }
  # the same rows as a table; eight groups leave their sd uncertain, so that a Gaussian of its log is a rough guess
  successes <- stats::aggregate(cbind(y, trials = 1) ~ h, d, sum)
  many <- galvi(y ~ (1 | h), d, binomial())
  table <- galvi(cbind(y, trials - y) ~ (1 | h), successes, binomial())
  expect_same(many, table, 0.03)
  expect_gt(sqrt(diag(vcov(many))) / sqrt(diag(vcov(at_estimates(many)))), 1.15)
  expect_output(print(summary(many)), "from a joint Gaussian of coefficients\\s+and iid.h..variance")
  grades <- as.data.frame(table(d[c("grade", "f")]))
  grades$grade <- ordered(grades$grade)
  expect_same(galvi(grade ~ f, d, cumulative()), galvi(grade ~ f, grades, cumulative(), weights = frequency(Freq)), 0.02)
  # and exactly gaussian ones
  d$x <- rnorm(8)[d$h] + rnorm(n)
  many <- galvi(x ~ (1 | h), d)
  few <- galvi(x ~ (1 | h), d[seq_len(20000), ])
  expect_identical(many$convergence$uncertainty$method, "response")
  expect_close(sqrt(vcov(many)[1, 1]), sqrt(vcov(few)[1, 1]), 0.06)
  # the noise of a linear model is known
  expect_identical(galvi(x ~ f, d)$convergence$uncertainty$method, "factorised")
})

test_that("ordinary models raise no warning", {
  skip_without_uncertainty()
  for (name in setdiff(some_cases, slow_cases)) {
    case <- uncertainty_case(name)
    found <- with_warnings(galvi(case$formula, case$data, case$family, prior = case$prior,
      control = uncertainty_control(), verbose = FALSE))
    expect_false("galvi_warning_uncertainty" %in% found$classes, info = name)
  }
})

test_that("one row has a fit with finite sds", {
  one <- data.frame(y = 3)
  fits <- list(
    with_warnings(galvi(y ~ 1, one, negbinomial(), verbose = FALSE)),
    with_warnings(galvi(y ~ 1, one, verbose = FALSE)),
    with_warnings(galvi(list(y ~ 1, sigma ~ 1), one, verbose = FALSE)),
    with_warnings(galvi(y ~ 1, one, zero_inflated(poisson()), verbose = FALSE))
  )
  for (fit in fits) expect_true(all(is.finite(sds(fit$value)) & sds(fit$value) > 0))
})

test_that("columns that depend on each other keep their prior's directions", {
  case <- uncertainty_case("gaussian sigma")
  d <- transform(case$data, x3 = 2 * x1)
  quiet_fit <- function(formula, prior, uncertainty = "auto") {
    suppressMessages(galvi(formula, d, prior = prior, control = uncertainty_control(uncertainty), verbose = FALSE))
  }
  fit <- quiet_fit(list(y ~ x1 + x2 + x3, sigma ~ x1 + x3), NULL)
  plain <- quiet_fit(list(y ~ x1 + x2 + x3, sigma ~ x1 + x3), NULL, "factorised")
  alone <- quiet_fit(list(y ~ x1 + x2, sigma ~ x1), NULL)
  expect_true(all(is.finite(vcov(fit))))
  expect_gt(min(sds(fit) / sds(plain)), honest$least)
  # the data determine x1 + 2 x3; of its sd the default prior is a per cent
  for (prefix in c("", "sigma_")) {
    at <- paste0(prefix, c("x1", "x3"))
    V <- vcov(fit)[at, at]
    expect_close(sqrt(drop(c(1, 2) %*% V %*% c(1, 2))) / sds(alone)[[at[1]]], 1, 0.05)
  }
})

test_that("rows of weight zero are not there", {
  for (name in c("gaussian sigma", "negbinomial", "cumulative", "zero_inflated_poisson zi")) {
    case <- uncertainty_case(name)
    # rows that would change everything; the classes stay the same
    extra <- case$data[c(1, 1, 1), ]
    extra$x1 <- 40
    both <- rbind(case$data, extra)
    both$w <- rep(1:0, c(nrow(case$data), 3))
    fit <- case_fit(name)
    weighted <- galvi(case$formula, both, case$family, prior = case$prior, weights = w, control = uncertainty_control(),
      verbose = FALSE)
    # parameters are learned to a gradient, from other starts
    expect_close((coef(weighted) - coef(fit)) / sds(fit), 0, tol$fuzz_learned)
    expect_close(sds(weighted) / sds(fit), 1, tol$fuzz_learned)
  }
})

test_that("the log density of a custom family may be -Inf or NaN at some points", {
  set.seed(4)
  d <- data.frame(x = rnorm(60))
  d$y <- rnbinom(60, size = 2, mu = exp(1 + 0.5 * d$x))
  log_density <- function(y, eta, size) dnbinom(y, size = size, mu = exp(eta), log = TRUE)
  # not where the search for the posterior itself goes, in which NaN is an error
  impossible <- list(
    size = function(bad) function(y, eta, size) if (size > 8) rep(bad, length(y)) else log_density(y, eta, size),
    eta = function(bad) function(y, eta, size) {
      limit <- if (is.nan(bad)) 100 else 6
      ifelse(eta > limit, bad, log_density(y, eta, size))
    }
  )
  of <- function(f, uncertainty = "auto") {
    family <- custom_family("r_negbinomial", f, parameters = list(size = 1), links = "log", support = "count")
    galvi(y ~ x, d, family, control = uncertainty_control(uncertainty), verbose = FALSE)
  }
  own <- galvi(y ~ x, d, negbinomial(), control = uncertainty_control(), verbose = FALSE)
  same <- of(log_density)
  # the start of the points differs in last digits of quadrature
  expect_close(sds(same) / sds(own), 1, 0.02)
  for (kind in names(impossible)) for (bad in c(-Inf, NaN)) {
    fit <- suppressWarnings(of(impossible[[kind]](bad)))
    expect_true(all(is.finite(vcov(fit))), info = paste(kind, bad))
    # these points have next to no posterior probability
    expect_close(sds(fit) / sds(own), 1, 0.02)
  }
})

test_that("points where the response has no distribution have no weight", {
  # counts that are all 1 push the shape of compois() to its end, 1000
  fit <- galvi(y ~ 1, data.frame(y = c(1, 1, 1)), compois(), prior = cauchy(0, 2.5))
  expect_identical(fit$convergence$uncertainty$method, "points")
  expect_true(all(is.finite(c(coef(fit), vcov(fit), fit$hyper$upr))))
})

test_that("mixtures of states have limits and covariances where coefficients or parameters are none", {
  expect_no_warning(limits <- normal_mixture_quantile(matrix(0, 0, 3), matrix(1, 0, 3), rep(1 / 3, 3), 0.9))
  expect_identical(limits, numeric())
  sets <- list(cars, transform(cars, speed = rev(speed)))
  fit <- galvi(I(dist > 40) ~ speed, sets, binomial(), hyper = "fixed")
  expect_equal(vcov(fit, full = TRUE), vcov(fit), tolerance = 1e-12)
})

# ---- skew likelihoods, long tails ----

test_that("a plain logistic regression of few rows has the moments and limits of its exact posterior", {
  fit <- galvi(am ~ wt, mtcars, family = binomial(), prior = list(default = normal(0, 10), intercept = normal(0, 100)))
  skip_without_uncertainty()
  expect_identical(fit$convergence$uncertainty$method, "points")
  grid <- list(seq(-10, 60, length.out = 700), seq(-22, 4, length.out = 700))
  at <- as.matrix(expand.grid(grid))
  eta <- cbind(1, mtcars$wt) %*% t(at)
  log_density <- colSums(mtcars$am * eta + plogis(eta, lower.tail = FALSE, log.p = TRUE)) +
    dnorm(at[, 1], 0, 100, log = TRUE) + dnorm(at[, 2], 0, 10, log = TRUE)
  weight <- exp(log_density - max(log_density))
  weight <- weight / sum(weight)
  mean <- colSums(weight * at)
  sd <- sqrt(colSums(weight * sweep(at, 2, mean)^2))
  expect_lt(max(abs(coef(fit) - mean) / sd), 0.02)
  expect_lt(max(abs(sqrt(diag(vcov(fit))) / sd - 1)), 0.015)
  # Gaussian limits are 0.2 and 0.3 of an sd away
  for (j in 1:2) {
    below <- cumsum(tapply(weight, at[, j], sum))
    exact <- grid[[j]][findInterval(c(0.025, 0.975), below) + 1L]
    expect_lt(max(abs(confint(fit)[j, ] - exact)) / sd[j], 0.06)
  }
})

test_that("where the likelihood is hardly skew a model of known parameters keeps its Gaussian", {
  set.seed(1)
  d <- data.frame(x = rnorm(400))
  d$y <- rbinom(400, 1, plogis(d$x / 2))
  d$k <- rpois(400, exp(1 + d$x / 4))
  for (fit in list(galvi(y ~ x, d, binomial()), galvi(k ~ x, d, poisson()))) {
    expect_identical(fit$convergence$uncertainty$method, "factorised")
  }
  # rare events are skew in as many rows
  d$y <- as.integer(seq_len(400) %in% order(d$x)[c(330, 380, 400)])
  expect_identical(galvi(y ~ x, d, binomial())$convergence$uncertainty$method, "points")
})

test_that("several random effects in few groups have the exact sds, whatever the coding of a factor", {
  skip_if_not_installed("nlme")
  skip_without_uncertainty()
  d <- as.data.frame(nlme::Machines)
  d$Machine <- factor(as.character(d$Machine))
  d$Worker <- factor(as.character(d$Worker))
  fit <- galvi(score ~ Machine + (0 + Machine | Worker), d)
  expect_identical(fit$hyper_posterior$design, "points")
  # by importance sampling of the seven parameters, 60,000 points of efficiency .38, the coefficients integrated out
  exact <- c(2.769, 5.017, 3.677)
  sd <- sqrt(diag(vcov(fit)))
  # 2,000 points have an error of 5 %; a composite design is 19 to 25 % too small
  expect_lt(max(abs(sd / exact - 1)), 0.06)
  stats::contrasts(d$Machine) <- stats::contr.helmert(3)
  helmert <- vcov(galvi(score ~ Machine + (0 + Machine | Worker), d))
  to <- cbind(1, stats::contr.treatment(3))
  other <- solve(to, cbind(1, stats::contr.helmert(3)))
  expect_equal(unname(sqrt(diag(other %*% helmert %*% t(other)))), unname(sd), tolerance = 0.04)
  # the mixture has limits of its own, about 1.96 sds away
  limits <- confint(fit)
  expect_true(all(limits[, 2] - limits[, 1] > 2 * 1.8 * sd))
})

test_that("the ten hyperparameters of three correlated slopes are averaged over where rows are few", {
  set.seed(1)
  d <- data.frame(g = gl(60, 12), a = rnorm(720), b = rnorm(720), c = rnorm(720))
  effects <- matrix(rnorm(240), 60) %*% chol(0.4 + 0.6 * diag(4)) * 0.6
  slopes <- rowSums(effects[d$g, ] * cbind(1, d$a, d$b, d$c))
  # the chain's data had two responses more
  others <- list(rnorm(720), rpois(720, exp(pmin(1 + 0.3 * d$a + slopes, 4))))
  d$z <- rbinom(720, 1, plogis(0.3 * d$a + slopes))
  fit <- galvi(z ~ a + b + c + (1 + a + b + c | g), d, binomial(), verbose = FALSE)
  expect_identical(uncertainty_method(fit), "states")
  # a Markov chain by Stan; .122, .128, .131, .123 with the hyperparameters known
  sd <- c(0.1277, 0.1382, 0.1350, 0.1293)
  expect_lt(max(abs(sqrt(diag(vcov(fit))) / sd - 1)), 0.04)
  expect_lt(max(abs(coef(fit) - c(0.1109, 0.3833, 0.1276, 0.1862)) / sd), 0.08)
})

test_that("predictors depend on each other, and variances are uncertain, beside many groups too", {
  set.seed(3)
  d <- data.frame(g = gl(400, 3))
  eta <- -1 + rnorm(400, 0, 1.2)[d$g]
  d$y <- rpois(1200, exp(eta)) * rbinom(1200, 1, 0.7)
  fit <- galvi(list(y ~ 1 + (1 | g), zi ~ 1), d, zero_inflated(poisson()), verbose = FALSE)
  expect_identical(uncertainty_method(fit), "response")
  # by importance sampling, the groups' effects integrated out by 60 nodes; .085 and .132 of a q that factorises
  expect_lt(max(abs(sqrt(diag(vcov(fit))) / c(0.137, 0.218) - 1)), 0.12)
  # predictions have the points' moments, as the fitted rows have
  expect_equal(predict(fit, d[1:5, ], type = "link", se.fit = TRUE)$se.fit,
    sqrt(fit$posterior$variance[1:5, 1L]), tolerance = 1e-6, ignore_attr = TRUE)
  all <- weighted_moments(fit$points$coefficients[[1L]], fit$points$weight)
  W <- fitted_points_of(fit)$W[[1L]]
  expect_equal(row_variances(W, all$covariance), diag(W %*% all$covariance %*% t(W)), tolerance = 1e-10)
})

test_that("the variance of few groups is uncertain beside many other groups, smooths and processes", {
  set.seed(2)
  d <- data.frame(id = gl(310, 3), site = rep(factor(sample(6, 310, TRUE)), each = 3), x = rnorm(930))
  d$y <- rpois(930, exp(0.5 + 0.3 * d$x + rnorm(310, 0, 0.4)[d$id] + rnorm(6, 0, 0.5)[d$site]))
  many <- galvi(y ~ x + (1 | id) + (1 | site), d, poisson())
  expect_identical(uncertainty_method(many), "states")
  # 0.147 by a Markov chain; 0.096 with the variances known
  expect_lt(abs(sqrt(vcov(many)[1L]) / 0.147 - 1), 0.03)
  # a variance of 310 groups alone is known well enough
  alone <- galvi(y ~ x + (1 | id), transform(d, y = rpois(930, exp(1 + rnorm(310)[id]))), poisson())
  expect_identical(uncertainty_method(alone), "factorised")

  set.seed(4)
  e <- data.frame(s = factor(rep(1:6, 40)), x = runif(240))
  e$y <- rpois(240, exp(0.5 + e$x + rnorm(6, 0, 0.6)[e$s]))
  e$x <- e$x - mean(e$x)
  sd_of <- function(formula, ...) sqrt(vcov(galvi(formula, e, poisson(), ...))["(Intercept)", "(Intercept)"])
  line <- sd_of(y ~ x + (1 | s))
  for (formula in list(y ~ s(x) + (1 | s), y ~ gp(x) + (1 | s))) {
    expect_lt(abs(sd_of(formula) / line - 1), 0.05)
    expect_equal(sd_of(formula), sd_of(formula, hyper = "integrate"), tolerance = 0.01)
  }
})

test_that("the variance of six sites is uncertain beside many others in many rows, too", {
  set.seed(4)
  n <- 25000
  d <- data.frame(site = factor(rep_len(1:6, n)), id = factor(sample(400, n, TRUE)))
  d$y <- rnorm(6)[d$site] + rnorm(400, 0, 0.5)[d$id] + rnorm(n)
  fit <- galvi(y ~ 1 + (1 | id) + (1 | site), d)
  expect_identical(uncertainty_method(fit), "states")
  # .292 exactly, .186 with the variances known; a composite design of three axes does not reach all of the tail
  expect_gt(sqrt(vcov(fit)[1L]), 0.25)
  expect_lt(sqrt(vcov(fit)[1L]), 0.32)
})

test_that("a smooth of rare events has the skew posterior that a line has", {
  set.seed(41)
  d <- data.frame(x = runif(60))
  d$y <- rbinom(60, 1, plogis(-2.8 + 1.6 * sin(6 * d$x)))
  expect_identical(sum(d$y), 3L)
  fit <- galvi(y ~ s(x), d, binomial(), verbose = FALSE)
  expect_identical(uncertainty_method(fit), "points")
  # by Stan, two chains of 4,500 and 6,000 steps: the lowest band from -35.7 to -3.1; by states -29.8 to -3.6
  lowest <- which.min(predict(fit, type = "link"))
  band <- predict(fit, d[lowest, ], type = "link", interval = "confidence")
  expect_lt(band[1L, "lwr"], -32.5)
  expect_gt(band[1L, "upr"], -3.4)
  # where the likelihood is hardly skew states are as good
  d <- transform(d[rep(1:60, 5), , drop = FALSE], y = rbinom(300, 1, 0.5))
  expect_identical(uncertainty_method(galvi(y ~ s(x), d, binomial(), verbose = FALSE)), "states")
})

test_that("smooths, fields and processes of few rows have the posterior of their hyperparameters", {
  set.seed(2)
  d <- mgcv::gamSim(1, 400, verbose = FALSE)
  d$y <- rpois(400, exp(d$f / 10))
  formula <- y ~ s(x1) + s(x2)
  fit <- galvi(formula, d, poisson(), verbose = FALSE)
  expect_identical(uncertainty_method(fit), "states")
  known <- update(fit, control = galvi_control(uncertainty = "factorised"), verbose = FALSE)
  expect_identical(fit$hyper$estimate, known$hyper$estimate)
  link <- function(fit) predict(fit, d[c(1, 100, 200, 300), ], type = "link", se.fit = TRUE)
  # by a Markov chain of 20,000 steps, whose two halves differ by up to one per cent
  chain <- list(fit = c(0.857, 0.799, 0.961, 0.824), se.fit = c(0.0946, 0.0898, 0.1151, 0.0975))
  expect_lt(max(abs(link(fit)$se.fit / chain$se.fit - 1)), 0.06)
  expect_lt(max(abs(link(fit)$fit - chain$fit) / chain$se.fit), 0.1)
  expect_gt(max(abs(link(known)$se.fit / chain$se.fit - 1)), 0.1)

  nile <- data.frame(year = 1871:1970, y = as.numeric(Nile))
  for (formula in list(y ~ rw1(year), y ~ gp(year))) {
    expect_identical(uncertainty_method(galvi(formula, nile, verbose = FALSE)), "states")
  }
  # each state of a process of more rows takes as long as a fit
  expect_identical(uncertainty_method(galvi(y ~ gp(x2), d, poisson(), verbose = FALSE)), "factorised")
  hurdle <- galvi(list(y ~ s(x2), hu ~ s(x1)), transform(d, y = y * (x0 > 0.3)), hurdle(poisson()), verbose = FALSE)
  expect_identical(uncertainty_method(hurdle), "states")
})

test_that("few binary rows a group: states weigh by the evidence, which the bound is further below the larger the variance", {
  set.seed(11)
  id <- rep(1:80, each = 4)
  d <- data.frame(id = factor(id), x = rep(0:3, 80), trt = rep(rbinom(80, 1, 0.5), each = 4))
  d$y <- rbinom(320, 1, plogis(-1 + 0.3 * d$x - 0.8 * d$trt + 2.5 * rnorm(80)[id]))
  # by a Markov chain, whose sds have an error of 1 to 3 %
  exact <- list(
    list(data = d[d$x < 2, ], sd = c(0.796, 1.240), at = c("(Intercept)", "trt")),
    list(data = d, sd = 0.761, at = "trt")
  )
  for (case in exact) {
    fit <- galvi(y ~ x + trt + (1 | id), case$data, binomial())
    expect_identical(uncertainty_method(fit), "states")
    # the fourth derivatives are missing
    expect_lt(max(abs(sqrt(diag(vcov(fit)))[case$at] / case$sd - 1)), 0.08)
  }
  # the group sd of the pairs: 2.04 to 6.39 by the chain, 1.66 to 4.55 by the bound
  pairs <- galvi(y ~ x + trt + (1 | id), exact[[1L]]$data, binomial())
  limits <- sqrt(unlist(pairs$hyper[pairs$hyper$status == "learned", c("lwr", "upr")]))
  expect_lt(max(abs(limits / c(2.04, 6.39) - 1)), 0.1)
})

test_that("weighted points of many unknowns have the sds of integration", {
  for (seed in 1:3) {
    set.seed(seed)
    d <- data.frame(x = rnorm(300), g = factor(rep(1:15, each = 20)))
    d$y <- rpois(300, exp(0.3 + 0.3 * d$x + rnorm(15, 0, 0.6)[d$g]))
    priors <- list(sd = half_normal(1.5), intercept = normal(0, 3), x = normal(0, 3))
    points <- galvi(y ~ x + (1 | g), d, poisson(), prior = priors)
    expect_identical(points$convergence$uncertainty$method, "points")
    states <- galvi(y ~ x + (1 | g), d, poisson(), prior = priors, hyper = "integrate")
    expect_close(sqrt(diag(vcov(points)) / diag(vcov(states))), c(1, 1), 0.02)
  }
})

test_that("correlated slopes of few groups of counts have a posterior, however near to 1 their correlation may be", {
  set.seed(1)
  d <- data.frame(g = gl(10, 10), x = rnorm(100))
  d$y <- rpois(100, exp(0.5 + 0.3 * d$x + rnorm(10, 0, 0.5)[d$g] + d$x * rnorm(10, 0, 0.3)[d$g]))
  for (family in list(poisson(), negbinomial())) {
    fit <- galvi(y ~ x + (x | g), d, family, verbose = FALSE)
    expect_true(uncertainty_method(fit) != "factorised")
    expect_close(sds(fit), sds(update(fit, hyper = "integrate")), 0.06)
  }
})
