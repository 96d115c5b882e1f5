# Every tolerance has a name and a reason. A looser one in a test says why.
tol <- list(
  identity    = 1e-10,  # the same algebra in another order; n <= 200, condition number <= 1e6
  expectation = 1e-9,   # the promise for Gaussian expectations, against integrate(rel.tol = 1e-12)
  derivative  = 1e-7,   # derivatives of expectations, against numDeriv of values good to 1e-12
  gradient    = 1e-6,   # numDeriv::grad (Richardson), values of order 1
  elbo        = 1e-7,   # the promise for optima of the bound, in nats, at galvi_control(tol = 1e-9)
  solve       = 1e-6,   # posterior means in posterior sds, by two solves of one system of condition 1e12
  optimum     = 1e-4,   # parameters where the ELBO is met to 1e-8: error ~ its square root

  # the best Gaussian against long runs of sampling, 11 coefficients of 32 rows or 50 slopes of 100: what is asked of it
  tails_mean          = 0.1,   # means, in posterior sds
  tails_sd            = 0.05,  # relative, of sds
  tails_sd_cauchy     = 0.07,  # on 32 rows a Cauchy prior leaves posteriors further from a Gaussian
  horseshoe_mean      = 0.2,   # the exact posterior is a peak and a wide part
  horseshoe_least_sd  = 0.7,   # of which the Gaussian is narrower
  horseshoe_learned   = 0.35,  # the bound's estimate of tau is too large for many small slopes, so they shrink too little
  horseshoe_most_sd   = 1.15,  # and their sds are too large

  # random models of the fuzzer, of any condition
  fuzz_rounding   = 1e-8,  # of a bound or a linear predictor: sums of terms that may be 1e3 times the result
  fuzz_prediction = 1e-4,  # in posterior sds: below what anyone can see of a prediction
  fuzz_sum        = 1e-8,  # of probabilities, each right to 1e-9
  fuzz_covariance = 1e-6,  # of correlations: what is left of a prior covariance 1e8 times as large
  fuzz_bound      = 1e-6,  # two bounds, each within 1e-7 nats of one optimum, relative where they are large
  fuzz_learned    = 1e-3   # the same where hyperparameters are learned, to a gradient of hyper_tol
)

# |object - expected| <= tolerance * max(1, |expected|), element by element: relative with an absolute floor.
expect_close <- function(object, expected, tolerance = tol$identity) {
  value <- as.vector(unlist(object))
  wanted <- as.vector(unlist(expected))
  if (length(value) != length(wanted) && length(wanted) != 1L) {
    testthat::fail(paste0(deparse1(substitute(object)), " has length ", length(value), ", not ", length(wanted), "."))
    return(invisible(object))
  }
  error <- abs(value - wanted) / pmax(1, abs(wanted))
  error[value == wanted] <- 0  # infinities of the same sign
  if (isTRUE(all(error <= tolerance))) {
    testthat::expect(TRUE, "")
    return(invisible(object))
  }
  worst <- which.max(replace(error, is.na(error), Inf))
  testthat::fail(paste0(
    deparse1(substitute(object)), " is off by ", format(error[worst], digits = 3), " (allowed ",
    format(tolerance, digits = 3), "), at element ", worst, ": ", format(value[worst], digits = 12), " instead of ",
    format(rep_len(wanted, length(error))[worst], digits = 12), "."
  ))
  invisible(object)
}

# How far the posterior may be from the optimum's when the bound is within `gap` nats of it. Minus the bound
# is 1-strongly convex in the whitened mean and Cholesky factor, so with C the prior covariance
#   |dm_n| <= sqrt(2 gap C_nn)   and   |dv_n| <= 2 sqrt(v_n) sqrt(2 gap C_nn) + 2 gap C_nn.
posterior_tolerance <- function(gap, prior_variance, variance) {
  mean <- sqrt(2 * gap * prior_variance)
  list(mean = mean, variance = 2 * sqrt(variance) * mean + mean^2)
}
