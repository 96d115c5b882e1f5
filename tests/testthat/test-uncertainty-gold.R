# Means, standard deviations and correlations of coefficients, and of mean responses, against exact posteriors that code
# which shares nothing with this package computed (fixtures/response/README.md).

skip_on_cran()

# What users may rely on, in posterior sds, as ratios of sds and in correlations. The exact values have errors below a
# tenth of these.
gold_limit <- list(mean = 0.05, sd = 0.04, correlation = 0.05, response_mean = 0.05, response_sd = 0.05)

# All values of a named vector within `limit` of zero.
expect_within <- function(error, limit, what) {
  worst <- which.max(replace(abs(error), is.na(error), Inf))
  testthat::expect(
    isTRUE(abs(error[[worst]]) <= limit),
    sprintf("%s of %s is off by %.3f, more than %.2f.", what, names(error)[worst], error[[worst]], limit)
  )
}

for (name in names(response_problems())) {
  problem <- response_problems()[[name]]
  sd_limit <- if (is.null(problem$sd_tolerance)) gold_limit$sd else problem$sd_tolerance
  psi <- problem$psi

  test_that(paste("the priors of the problem are those of the fit:", name), {
    for (package in setdiff(problem$packages, "posterior")) skip_if_not_installed(package)
    fit <- response_fit(name)
    gold <- response_gold(name)
    given <- function(x) if (startsWith(x, "zi_")) 2 else 5
    k <- length(coef(fit))
    expect_identical(sub("^(sigma|shape|phi|zi)_", "dpar_", names(coef(fit))), gold$parameters$name[seq_len(k)])
    sd <- fit$hyper$estimate[fit$hyper$parameter == "sd" & fit$hyper$status == "fixed"]
    expect_identical(sd, unname(vapply(names(coef(fit)), given, 0)))
    # log density of the logarithm of the parameters, at their estimates
    at <- function(parameter) log(fit$hyper$estimate[fit$hyper$name == parameter])
    density <- switch(name,
      ovarian = dnorm(at("weibull.shape"), 0, 1, log = TRUE),
      dyestuff = dnorm(at("gaussian.variance"), -1, 2, log = TRUE) + dnorm(at("iid(g).variance"), 0, 2, log = TRUE),
      0
    )
    expect_equal(fit$log_prior, density, tolerance = 1e-6)
  })

  test_that(paste("coefficients have their exact moments:", name), {
    for (package in setdiff(problem$packages, "posterior")) skip_if_not_installed(package)
    fit <- response_fit(name)
    gold <- response_gold(name)
    p <- gold$parameters[seq_along(coef(fit)), ]
    expect_within(stats::setNames((coef(fit) - p$mean) / p$sd, names(coef(fit))), gold_limit$mean, "the mean")
    expect_within(sds(fit) / p$sd - 1, sd_limit, "the sd")
    if (!is.null(gold$covariance)) {
      at <- seq_along(coef(fit))
      C <- stats::cov2cor(vcov(fit)) - stats::cov2cor(gold$covariance)[at, at]
      expect_lt(max(abs(C)), gold_limit$correlation)
    }
  })

  if (length(psi)) test_that(paste("parameters are in the joint posterior:", name), {
    for (package in setdiff(problem$packages, "posterior")) skip_if_not_installed(package)
    skip_without_uncertainty()
    fit <- response_fit(name)
    gold <- response_gold(name)
    full <- vcov(fit, full = TRUE)
    at <- c(seq_along(coef(fit)), parameter_rows(fit, psi, full))
    full <- full[at, at]
    expect_within(stats::setNames(sqrt(diag(full)) / gold$parameters$sd - 1, gold$parameters$name), sd_limit, "the sd")
    expect_lt(max(abs(stats::cov2cor(full) - stats::cov2cor(gold$covariance))), gold_limit$correlation)
  })

  if (!is.null(problem$response)) test_that(paste("mean responses have their exact moments:", name), {
    for (package in problem$packages) skip_if_not_installed(package)
    gold <- response_gold(name)$response
    predicted <- problem$response(response_fit(name), response_data(name)[gold$row, ])
    rows <- paste("row", gold$row)
    expect_within(stats::setNames((predicted$fit - gold$mean) / gold$sd, rows), gold_limit$response_mean, "the mean")
    expect_within(stats::setNames(predicted$se.fit / gold$sd - 1, rows), gold_limit$response_sd, "the sd")
  })
}
