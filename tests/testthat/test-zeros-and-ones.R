# Proportions with zeros and ones: ordbeta() and zero_one_inflated_beta().

skip_on_cran()

shares_of_cases <- function() {
  d <- transform(esoph, y = ncases / (ncases + ncontrols), age = as.numeric(agegp) - 3.5, alc = as.numeric(alcgp) - 2.5)
  d[is.finite(d$y), ]
}

test_that("the log likelihood of ordbeta is glmmTMB's at its optimum", {
  skip_if_not_installed("glmmTMB")
  d <- shares_of_cases()
  theirs <- glmmTMB::glmmTMB(y ~ age + alc, d, glmmTMB::ordbeta(), start = list(psi = c(-1, 1)))
  psi <- theirs$fit$par[names(theirs$fit$par) == "psi"]
  eta <- predict(theirs, type = "link")
  log_density <- function(cuts, phi) {
    predict_response(likelihood_spec("ordbeta"), c(cuts, phi), 1, d$y, eta, 0 * eta, "log_density", 0.5)
  }
  ours <- sum(log_density(unname(psi), sigma(theirs)))
  expect_lt(abs(ours - as.numeric(logLik(theirs))), 1e-8)
  # and the estimates with wide priors are theirs, in standard errors
  fit <- galvi(y ~ age + alc, d, glmmTMB::ordbeta())
  se <- sqrt(diag(vcov(theirs)$cond))
  expect_lt(max(abs(coef(fit) - glmmTMB::fixef(theirs)$cond) / se), 0.5)
  expect_true(all(diff(family_parameter(fit, "cuts")) > 0))
})

test_that("zero_one_inflated_beta is its three parts apart", {
  d <- shares_of_cases()
  inside <- d$y > 0 & d$y < 1
  apart <- galvi_control(uncertainty = "factorised")
  fit <- galvi(list(y ~ age + alc, zoi ~ age, coi ~ alc), d, zero_one_inflated_beta(), control = apart)
  typed <- list(intercept = normal(0, 5), default = normal(0, 5))
  fit <- update(fit, prior = c(typed, list(zoi = typed, coi = typed)))
  parts <- list(
    galvi(y ~ age + alc, d[inside, ], beta_family(), prior = typed, control = apart),
    galvi(as.numeric(!inside) ~ age, d, binomial(), prior = typed, control = apart),
    galvi(y ~ alc, d[!inside, ], binomial(), prior = typed, control = apart)
  )
  expect_close(unname(coef(fit)), unname(unlist(lapply(parts, coef))), tol$optimum)
  expect_close(sqrt(diag(vcov(fit))), unlist(lapply(parts, function(part) sqrt(diag(vcov(part))))), tol$optimum)
  expect_close(family_parameter(fit, "phi"), family_parameter(parts[[1]], "precision"), tol$optimum)
  expect_close(fit$elbo, sum(vapply(parts, `[[`, 0, "elbo")), tol$optimum)
  # its mean is that of the parts, which are independent
  new <- d[c(1, 30, 70), ]
  at <- lapply(parts, predict, newdata = new)
  expect_close(predict(fit, new), (1 - at[[2]]) * at[[1]] + at[[2]] * at[[3]], tol$optimum)
  four <- galvi(list(y ~ age + alc, zoi ~ age, coi ~ alc, phi ~ age), d, zero_one_inflated_beta(), control = apart,
    prior = c(typed, list(zoi = typed, coi = typed, phi = typed)))
  expect_named(coef(four), c("(Intercept)", "age", "alc", "phi_(Intercept)", "phi_age", "zoi_(Intercept)", "zoi_age",
    "coi_(Intercept)", "coi_alc"))
  two <- galvi(list(y ~ age + alc, phi ~ age), d[inside, ], beta_family(), control = apart,
    prior = c(typed, list(phi = typed)))
  expect_close(unname(coef(four)), unname(c(coef(two), unlist(lapply(parts[2:3], coef)))), tol$optimum)
})

test_that("expectations of four predictors are sums of the parts'", {
  m <- c(0.4, 1.3, -0.2, 0.7)
  v <- c(0.3, 0.2, 0.5, 0.4)
  of <- function(type, y, at) {
    probe_expectation(likelihood_spec(type), "quadrature", numeric(), y, 1, 1, m[at], v[at], 1, 1)$value
  }
  for (y in c(0, 0.03, 0.6, 1)) {
    end <- y == 0 || y == 1
    parts <- of("binomial_logit", as.numeric(end), 3) +
      if (end) of("binomial_logit", y, 4) else of("beta_log_precision", y, 1:2)
    expect_close(of("zero_one_inflated_beta_log_phi", y, 1:4), parts, tol$identity)
  }
})

test_that("distributions have their masses at both ends, and quantiles are the smallest y that reach a probability", {
  cases <- list(
    list("ordbeta", c(-1.2, 0.9, 3.5), 0.3, 0.4),
    list("ordbeta_log_phi", c(-1.2, 0.9), c(0.3, 1.2), c(0.4, 0.1)),
    list("zero_one_inflated_beta", 3.5, c(0.3, -0.5, 0.6), c(0.4, 0.3, 0.2)),
    list("zero_one_inflated_beta_log_phi", numeric(), c(0.3, 1.2, -0.5, 0.6), c(0.4, 0.1, 0.3, 0.2))
  )
  for (case in cases) {
    at <- function(what, y = 0.5, p = 0.5) {
      n <- max(length(y), length(p))
      predict_response(likelihood_spec(case[[1]]), case[[2]], 1, y, matrix(case[[3]], n, length(case[[3]]), TRUE),
        matrix(case[[4]], n, length(case[[3]]), TRUE), what, p)
    }
    none <- exp(at("log_density", 0))
    all <- exp(at("log_density", 1))
    expect_close(at("cdf", c(-1, 0, 1, 2)), c(0, none, 1, 1), 1e-9)
    expect_close(at("cdf", 1 - 1e-15), 1 - all, 1e-5)
    # over log odds, where the density is bounded
    t <- seq(-60, 60, by = 0.1)
    inside <- 0.1 * exp(at("log_density", plogis(t))) * dlogis(t)
    inside[!is.finite(inside)] <- 0
    expect_close(sum(inside), 1 - none - all, 1e-5)
    mean <- sum(inside * plogis(t)) + all
    expect_close(at("mean"), mean, 1e-5)
    expect_close(at("variance"), sum(inside * plogis(t)^2) + all - mean^2, 1e-5)
    p <- c(none / 2, none + (1 - all - none) * c(0.01, 0.3, 0.7, 0.95), 1 - all / 2)
    q <- at("quantile", p = p)
    expect_identical(q[c(1, 6)], c(0, 1))
    expect_close(at("cdf", q[2:5]), p[2:5], 1e-8)
  }
})

test_that("residuals, draws and pictures know both masses", {
  d <- shares_of_cases()
  for (family in list(ordbeta(), zero_one_inflated_beta())) {
    fit <- galvi(y ~ age + alc, d, family)
    set.seed(1)
    expect_gt(stats::ks.test(residuals(fit, "quantile"), "pnorm")$p.value, 0.01)
    draws <- simulate(fit, 40, seed = 1)
    shares <- function(end) mean(as.matrix(draws) == end)
    expect_lt(abs(shares(0) - mean(d$y == 0)), 0.08)
    expect_lt(abs(shares(1) - mean(d$y == 1)), 0.08)
    limits <- predict(fit, interval = "prediction", level = 0.8)
    inside <- mean(d$y >= limits[, 2] & d$y <= limits[, 3])
    expect_gt(inside, 0.75)
    pdf(NULL)
    plot(fit, which = "predictive")
    dev.off()
  }
  expect_error(galvi(y ~ 1, data.frame(y = c(0.2, 1.2)), ordbeta()), "between 0 and 1", class = "galvi_error_response")
  expect_error(galvi(y ~ 1, d, ordbeta(cuts = c(1, 0))), "increase", class = "galvi_error_family")
  expect_error(galvi(y ~ 1, d, ordbeta(cuts = 1)), "must be 2 numbers", class = "galvi_error_family")
})
