# Factors of an item by unit array: rr() and responses() ~ factors(). Gold values are optima of the bound found by
# another program (Python, expectations by 90 nodes or in closed form), good to 1e-8.

trichoptera <- function() as.matrix(utils::read.csv(test_path("fixtures", "trichoptera.csv")))

single <- function(...) galvi_control(threads = 1, ...)

long_of <- function(Y, ...) {
  data.frame(
    y = as.vector(Y), item = rep(colnames(Y), each = nrow(Y)), unit = rep(seq_len(nrow(Y)), ncol(Y)), ...
  )
}

singular_values <- function(fit) unname(sqrt(colSums(fit$factors$loadings^2)))

# A model list of random factors with the solver that `formula` asks for.
random_factor_model <- function(seed, formula, n = 8, p = 5, family = poisson()) {
  set.seed(seed)
  d <- expand.grid(unit = seq_len(n), item = letters[seq_len(p)])
  d$x <- stats::rnorm(nrow(d))
  d$g <- rep(1:4, length.out = nrow(d))
  d$y <- stats::rpois(nrow(d), 2)
  d <- d[sample(nrow(d), 0.8 * nrow(d)), ]
  model <- galvi_model(galvi_design(formula, d, family))
  own <- model$hyper$name %in% names(model$hyper$shape)
  model$hyper$value[own] <- stats::rnorm(sum(own), sd = 0.6)
  galvi:::core_model(model, "auto")
}

factor_formulas <- list(
  units = y ~ 0 + rr(item | unit, d = 2, columns = ~ 1 + x),
  sparse = y ~ 1 + x + rr(item | unit, d = 2, columns = ~ 0 + x) + iid(g, variance = 0.5),
  dense_kernel = y ~ 0 + rr(item | unit, d = 2, columns = ~ 1) + gp(x, kernel = se(0.5, 1))
)

# W W' within units, and what other terms add
test_that("every solver's verbs are those of the covariance", {
  for (kind in names(factor_formulas)) {
    model <- random_factor_model(1, factor_formulas[[kind]])
    expect_identical(model$predictors[[1L]]$solver, kind)
  }
  model <- random_factor_model(2, factor_formulas$units)
  rows <- model$designs[[1L]][[1L]]
  at <- model$predictors[[1L]]$terms[[1L]]$factor
  W <- matrix(model$hyper$value[at$loadings], nrow(at$loadings))[rows$item[, 1L], ]
  C <- tcrossprod(W) * outer(rows$node[, 1L], rows$node[, 1L], "==")
  n <- nrow(C)
  set.seed(3)
  lambda <- stats::rexp(n)
  b <- stats::rnorm(n)
  x <- stats::rnorm(n)
  expect_verbs(solve_by(model, lambda, b, x), dense_verbs(C, lambda, b, x))
  effects <- matrix(model$hyper$value[at$effects], nrow(at$effects))
  mean <- rowSums(rows$W * effects[rows$item[, 1L], ])
  expect_close(solve_by(model, lambda, b, x)$prior_mean, mean)
  # one site after the other
  changes <- stats::runif(n, -0.2, 1)
  swept <- solve_by(model, lambda, b, x, changes = changes)
  expect_verbs(swept, dense_verbs(C, lambda + changes, b, x))
})

test_that("the bound's gradient is that of differences, with every solver", {
  for (kind in names(factor_formulas)) {
    model <- random_factor_model(4, factor_formulas[[kind]])
    n <- length(model$y)
    value <- model$hyper$value
    at <- which(model$hyper$learned)
    for (sites in list(NULL, list(lambda = matrix(stats::rexp(n)), b = matrix(stats::rnorm(n))))) {
      found <- bound_at(model, value, sites)
      wanted <- central_gradient(function(x) bound_at(model, x, sites)$elbo, value, at)
      expect_close(found$gradient[at], wanted, 1e-6)
    }
  }
})

test_that("trichoptera: the bound reaches the gold values, and its optimum has the moments of the prior", {
  Y <- trichoptera()
  gold <- c(-1755.973952748, -1390.981150788, -1174.891065994)
  for (d in 1:3) {
    fit <- galvi(responses(Y) ~ factors(d), family = poisson(), control = single())
    expect_close(fit$elbo, gold[d], 1e-9)
    expect_true(fit$convergence$converged)
    # sum m_i = 0 and mean (S_i + m_i m_i') = I: no change of coordinates gains
    expect_close(colMeans(fit$factors$mean), 0, 1e-6)
    second <- apply(fit$factors$covariance, 1:2, mean) + crossprod(fit$factors$mean) / nrow(Y)
    expect_close(second, diag(d), 1e-6)
    # principal axes, signs fixed
    W <- fit$factors$loadings
    expect_close(crossprod(W), diag(colSums(W^2), d), 1e-8)
    expect_false(is.unsorted(-colSums(W^2)))
    expect_true(all(apply(W, 2L, function(w) w[which.max(abs(w))]) > 0))
  }
  B <- (Y > 0) + 0
  B <- B[, colSums(B) >= 5 & colSums(B) <= 44]
  others <- list(
    list(-1145.030535778, quote(galvi(responses(Y) ~ factors(2) + offset(log(rowSums(Y))), family = poisson()))),
    list(-1187.924930282, quote(galvi(responses(Y) ~ factors(1), family = galvi_family("negbinomial", size = fixed(2))))),
    list(-302.450896380, quote(galvi(responses(B) ~ factors(2), family = binomial()))),
    list(-302.620523741, quote(galvi(responses(B) ~ factors(2), family = binomial("probit"))))
  )
  for (case in others) expect_close(eval(case[[2L]])$elbo, case[[1L]], 1e-9)
})

test_that("with column effects in q the optimum is that of their priors", {
  Y <- trichoptera()
  long <- galvi(y ~ 0 + item + rr(item | unit, d = 2), long_of(Y), family = poisson(), prior = normal(0, 10))
  expect_close(long$elbo, -1459.19424, 1e-8)
  expect_close(singular_values(long), c(3.94534, 2.83659), 1e-5)
  wide <- galvi(responses(Y) ~ factors(2, columns = "random"), family = poisson(), prior = normal(0, 10))
  expect_close(wide$elbo, long$elbo, 1e-9)
  expect_close(coef(wide)[, "(Intercept)"], coef(long)[paste0("item", colnames(Y))], 1e-5)
})

test_that("gaussian responses: the closed forms of probabilistic PCA and factanal()", {
  closed <- function(Y, d) {
    n <- nrow(Y)
    eigen <- eigen(stats::cov(Y) * (n - 1) / n, symmetric = TRUE)
    noise <- mean(eigen$values[-seq_len(d)])
    p <- ncol(Y)
    list(
      logLik = -n / 2 * (p * log(2 * pi) + sum(log(eigen$values[seq_len(d)])) + (p - d) * log(noise) + p),
      noise = noise, size = sqrt(eigen$values[seq_len(d)] - noise)
    )
  }
  for (Y in list(scale(as.matrix(USArrests)), as.matrix(iris[1:4]))) {
    for (d in 1:2) {
      fit <- galvi(responses(Y) ~ factors(d), control = single())
      wanted <- closed(Y, d)
      expect_close(fit$elbo, wanted$logLik, 1e-10)
      expect_close(fit$hyper$estimate, wanted$noise, 1e-6)
      expect_close(singular_values(fit), wanted$size, 1e-6)
      expect_close(coef(fit)[, 1L], colMeans(Y), 1e-6)
    }
  }
  Y <- mtcars[c("mpg", "disp", "hp", "drat", "wt", "qsec")]
  fit <- galvi(responses(Y) ~ factors(1), family = rep(list(gaussian()), 6), control = single())
  theirs <- stats::factanal(Y, 1)
  n <- nrow(Y)
  V <- stats::var(Y) * (n - 1) / n
  logLik <- -n / 2 * (6 * log(2 * pi) + as.numeric(determinant(V)$modulus) + 6 + theirs$criteria[["objective"]])
  expect_close(fit$elbo, logLik, 1e-6) # factanal() stops there
  expect_close(fit$elbo, -536.05048084670648, 1e-9)
  expect_close(fit$hyper$estimate / diag(V), theirs$uniquenesses, 1e-3)
  # close to a variance of zero (Heywood), where EM takes thousands of passes
  slow <- galvi(responses(attitude) ~ factors(2), family = rep(list(gaussian()), 7), control = single())
  expect_close(slow$elbo, -751.02105521388546, 1e-9)
  expect_lt(nrow(slow$trace), 100)
})

test_that("the alternating scheme and L-BFGS over everything meet", {
  for (seed in c(1:3, 20)) {
    set.seed(seed)
    Y <- matrix(stats::rpois(30 * 6, exp(outer(stats::rnorm(30), stats::rnorm(6)))), 30,
      dimnames = list(NULL, letters[1:6]))
    Y[sample(length(Y), 20)] <- NA
    x <- stats::rnorm(30)
    fit <- galvi(responses(Y) ~ x + factors(1), family = poisson(), control = single())
    joint <- galvi(responses(Y) ~ x + factors(1), family = poisson(),
      control = single(joint = TRUE, hyper_iterations = 1000))
    expect_true(joint$convergence$converged)
    expect_close(joint$elbo, fit$elbo, 1e-6)
    # loadings near zero, where units of q's numbers chosen once leave a run of L-BFGS far below the bound
    expect_lt(nrow(joint$trace), 3000)
  }
})

test_that("long and wide, any order of rows, missing entries, weights and offsets are one model", {
  Y <- trichoptera()[, 1:6]
  set.seed(1)
  Y[sample(length(Y), 40)] <- NA
  x <- stats::rnorm(nrow(Y))
  wide <- galvi(responses(Y) ~ x + factors(1), family = poisson(), control = single())
  long <- long_of(Y, x = x)
  term <- y ~ 0 + rr(item | unit, d = 1, columns = ~ x)
  same <- galvi(term, long[sample(nrow(long)), ], family = poisson(), control = single())
  expect_close(same$elbo, wide$elbo, 1e-8)
  expect_close(same$factors$loadings[colnames(Y), ], wide$factors$loadings, 1e-5)
  expect_identical(nobs(wide), sum(!is.na(Y)))
  w <- sample(1:2, nrow(Y), TRUE)
  weighted <- galvi(responses(Y) ~ factors(1), weights = w, family = poisson(), control = single())
  twice <- long[rep(seq_len(nrow(long)), rep(w, ncol(Y))), ]
  doubled <- galvi(y ~ 0 + rr(item | unit, d = 1, columns = ~ 1), twice, family = poisson(), control = single())
  expect_close(weighted$elbo, doubled$elbo, 1e-8)
  o <- matrix(stats::rnorm(length(Y)), nrow(Y))
  shifted <- galvi(responses(Y) ~ factors(1) + offset(o), family = poisson(), control = single())
  as_rows <- galvi(y ~ 0 + offset(o) + rr(item | unit, d = 1, columns = ~ 1), cbind(long, o = as.vector(o)),
    family = poisson(), control = single())
  expect_close(shifted$elbo, as_rows$elbo, 1e-8)
  expect_close(predict(shifted, type = "link")[!is.na(Y)], predict(as_rows, type = "link"), 1e-5)
})

test_that("a list of families gives columns likelihoods and parameters of their own", {
  set.seed(2)
  n <- 80
  z <- stats::rnorm(n)
  d <- data.frame(
    number = z + stats::rnorm(n), count = stats::rpois(n, exp(0.5 * z)), sign = z + stats::rlogis(n) > 0,
    size = stats::rgamma(n, 3, 3 / exp(z / 2)), grade = cut(z + stats::rlogis(n), c(-Inf, -1, 1, Inf), c("a", "b", "c"),
      ordered_result = TRUE)
  )
  families <- list(number = gaussian(), count = poisson(), sign = binomial(), size = Gamma("log"), grade = cumulative())
  fit <- galvi(responses(d) ~ factors(1), family = families, control = single())
  expect_true(fit$convergence$converged)
  expect_true(all(c("number.gaussian.variance", "size.Gamma.shape", "grade.cumulative.a|b") %in% fit$hyper$name))
  expect_gt(abs(stats::cor(scores(fit)[, 1L], z)), 0.6)
  # the same numbers by the bound of each column at these hyperparameters
  mean <- predict(fit)
  expect_identical(dim(mean), dim(d))
  expect_true(all(mean[, "sign"] > 0 & mean[, "sign"] < 1) && all(mean[, "count"] > 0))
  expect_true(all(mean[, "grade"] >= 1 & mean[, "grade"] <= 3))
  expect_identical(dim(residuals(fit, "quantile")), dim(d))
  expect_identical(dim(simulate(fit, 1, seed = 1)[[1L]]), dim(d))
  expect_error(galvi(responses(d) ~ factors(1), family = families[1:2]), class = "galvi_error_family")
})

test_that("predictions have the shape of the response, for new units too", {
  Y <- trichoptera()[, 1:8]
  rownames(Y) <- paste0("site", seq_len(nrow(Y)))
  Y[2, 3] <- NA
  x <- seq(-1, 1, length.out = nrow(Y))
  fit <- galvi(responses(Y) ~ x + factors(2), data.frame(x = x), family = poisson(), control = single())
  mean <- fitted(fit)
  expect_identical(dimnames(mean), dimnames(Y))
  link <- predict(fit, type = "link", se.fit = TRUE)
  expect_close(mean, exp(link$fit + link$se.fit^2 / 2), 1e-8)
  # eta = effects'x + w'm, its variance w'S w
  eta <- cbind(1, x) %*% t(coef(fit)) + scores(fit) %*% t(fit$factors$loadings)
  expect_close(link$fit, eta, 1e-8)
  W <- fit$factors$loadings
  S <- fit$factors$covariance
  expect_close(link$se.fit[5, ], sqrt(diag(W %*% S[, , 5] %*% t(W))), 1e-8)
  expect_identical(dim(predict(fit, interval = "prediction")), c(dim(Y), 3L))
  expect_identical(is.na(residuals(fit)), is.na(Y))
  expect_close(predict(fit, entries = cbind(c(2, 4), c(3, 1))), mean[cbind(c(2, 4), c(3, 1))])
  expect_close(predict(fit, entries = cbind("site2", colnames(Y)[3])), mean[2, 3])
  # new units: prior, or the posterior given what is known of them, which for an old unit's data is its own
  new <- predict(fit, data.frame(x = x[1:2]), type = "link", se.fit = TRUE)
  expect_close(new$fit, cbind(1, x[1:2]) %*% t(coef(fit)), 1e-10)
  expect_close(new$se.fit[1, ], sqrt(rowSums(W^2)), 1e-8)
  given <- predict(fit, data.frame(x = x[1:3]), type = "link", responses = unname(Y[1:3, ]))
  expect_close(given, link$fit[1:3, ], 1e-5)
  # without random effects scores are zero
  none <- predict(fit, type = "link", re_formula = NA, se.fit = TRUE)
  expect_close(none$fit, cbind(1, x) %*% t(coef(fit)), 1e-10)
  expect_close(none$se.fit, 0)
  random <- galvi(responses(Y) ~ factors(1, columns = "random"), family = poisson(), control = single())
  partly <- predict(random, type = "link", responses = Y[4, , drop = FALSE], se.fit = TRUE)
  expect_true(all(partly$se.fit < 2) && identical(dim(partly$fit), c(1L, 8L)))
  draws <- simulate(fit, 200, seed = 1)
  expect_lt(mean(abs(log(Reduce(`+`, draws) / 200 + 1) - log(mean + 1)), na.rm = TRUE), 0.1)
})

test_that("scores, loadings, plots, update() and start = are what they say", {
  Y <- trichoptera()[, 1:8]
  fit <- galvi(responses(Y) ~ factors(2), family = poisson(), control = single())
  expect_s3_class(loadings(fit), "loadings")
  expect_identical(dim(scores(fit)), c(49L, 2L))
  expect_true(all(scores(fit, se.fit = TRUE)$se.fit < 1.01))
  again <- galvi(responses(Y) ~ factors(2), family = poisson(), start = fit, hyper = "fixed", control = single())
  expect_close(again$elbo, fit$elbo, 1e-8)
  held <- galvi(responses(Y) ~ 0 + factors(2, loadings = fixed(fit$factors$loadings)), family = poisson(),
    control = single(), hyper = "fixed")
  expect_identical(unclass(held$loadings), unclass(fit$loadings))
  expect_identical(attr(logLik(fit), "df"), 23L)
  # a prior of loadings shrinks them; the bound with it is lower
  shrunk <- galvi(responses(Y) ~ factors(2, loadings = normal(0, 0.5)), family = poisson(), control = single())
  expect_lt(sum(singular_values(shrunk)), sum(singular_values(fit)))
  expect_lt(shrunk$elbo, fit$elbo)
  expect_true(shrunk$convergence$converged)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  path <- screeplot(fit, d = 1:3)
  expect_identical(path$d, 1:3)
  expect_false(is.unsorted(path$elbo))
  expect_close(path$elbo[2], fit$elbo, 1e-8)
  expect_named(biplot(fit), c("units", "items"))
  # points alone leave the items their names
  expect_no_error(biplot(fit, labels = FALSE))
  expect_silent(plot(fit))
  expect_identical(ncol(update(fit, responses(Y) ~ factors(1))$loadings), 1L)
  expect_output(print(fit), "Singular values of the loadings")
})

test_that("bad input is named", {
  Y <- trichoptera()[, 1:4]
  long <- long_of(Y)
  long$a <- "one"
  family <- poisson()
  argument <- c(
    quote(galvi(responses(Y) ~ factors(4), family = family)), quote(galvi(responses(Y) ~ factors(0), family = family)),
    quote(galvi(y ~ rr(unit | item, d = 5), long, family = family)),
    quote(galvi(responses(Y) ~ factors(1, columns = "fixed"), family = family)),
    quote(galvi(responses(Y) ~ factors(1), family = family, weights = 1:3)),
    quote(galvi(y ~ rr(item | unit, d = 1, loadings = matrix(0, 3, 1)), long, family = family))
  )
  formula <- c(
    quote(galvi(responses(Y) ~ 1, family = family)), quote(galvi(y ~ factors(2), long, family = family)),
    quote(galvi(responses(Y) ~ factors(1) + factors(1), family = family)),
    quote(galvi(y ~ rr(item, unit), long, family = family)), quote(galvi(y ~ rr(item | item), long, family = family)),
    quote(galvi(responses(Y) ~ rr(item | unit) + factors(1), long, family = family)),
    quote(galvi(y ~ rr(item | unit, 1) + rr(item | unit, 2), long, family = family))
  )
  response <- c(
    quote(galvi(responses(y) ~ factors(1), long, family = family)), quote(galvi(responses(-Y) ~ factors(1), family = family)),
    quote(galvi(responses(Y[, c(1, 1)]) ~ factors(1), family = family))
  )
  for (call in argument) expect_error(eval(call), class = "galvi_error_argument")
  for (call in formula) expect_error(eval(call), class = "galvi_error_formula")
  for (call in response) expect_error(eval(call), class = "galvi_error_response")
  expect_error(galvi(y ~ rr(a | unit), long, family = family), class = "galvi_error_data")
  expect_error(galvi(responses(Y) ~ factors(1), family = categorical()), class = "galvi_error")
  expect_error(rr(a | b), class = "galvi_error_formula")
  long$item[1] <- "rare"
  expect_warning(galvi(y ~ 0 + rr(item | unit, 1, columns = ~ 1), long, family = family), class = "galvi_warning_data")
  fit <- galvi(responses(Y) ~ factors(1), family = family, control = single())
  expect_error(predict(fit, entries = cbind(1, 9)), class = "galvi_error_argument")
  expect_error(predict(fit, responses = Y[, 1:2]), class = "galvi_error_newdata")
  expect_error(biplot(fit), class = "galvi_error_argument")
  expect_error(scores(galvi(dist ~ speed, cars)), class = "galvi_error_argument")
  plain <- galvi(y ~ 0 + rr(item | unit, 1, columns = ~ 1), long_of(Y), family = family, control = single())
  expect_error(predict(plain, data.frame(item = "other", unit = 1)), class = "galvi_error_newdata")
})
