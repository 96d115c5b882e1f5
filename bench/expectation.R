# What does one sweep cost: the expectations of 100,000 rows with their derivatives, on one thread?
#
# Means are drawn from N(0, variance), as under a prior of that variance. Order 1 is value and gradient, order
# 2 has the second derivatives too. CPU seconds, median of five.

n <- 1e5
variances <- c(0.005, 0.5, 4, 100, 400)
sweep_seconds <- function(type, variance, order) {
  set.seed(1)
  mean <- rnorm(n, 0, sqrt(min(variance, 20)))
  y <- rbinom(n, 1, 0.5)
  one <- rep(1, n)
  hyper <- if (type == "gaussian") 0.5 else numeric()
  spec <- list(type = type, hyper = if (type == "gaussian") list(variance = 1L) else list())
  time <- function() {
    t <- system.time(
      galvi:::probe_expectation(spec, "auto", hyper, y, one, one, mean, rep(variance, n), order, 1L),
      gcFirst = FALSE
    )
    t[["user.self"]] + t[["sys.self"]]
  }
  median(replicate(5, time()))
}

for (order in 1:2) {
  cat("order", order, "\n")
  print(round(sapply(setNames(variances, paste0("v = ", variances)), function(v) {
    sapply(galvi:::likelihood_facts()$type, sweep_seconds, variance = v, order = order)
  }), 3))
}

# Measured (2 shared cores, Xeon, g++ 12 -O2, R 4.2), seconds per sweep:
#   order 1           v = 0.005    0.5      4    100    400
#   gaussian              0.005  0.003  0.003  0.003  0.003
#   binomial_logit        0.048  0.012  0.015  0.028  0.035
#   binomial_probit       0.067  0.013  0.016  0.031  0.038
#   poisson               0.003  0.003  0.003  0.003  0.003
#   order 2
#   gaussian              0.004  0.006  0.004  0.003  0.003
#   binomial_logit        0.040  0.012  0.015  0.031  0.043
#   binomial_probit       0.058  0.013  0.019  0.034  0.049
#   poisson               0.004  0.003  0.003  0.003  0.005
# Sampled link functions make a datum cost 0.1 to 0.5 microseconds at any prior variance that is used; below
# v = 0.01 seven exact evaluations take over, which cost more than the sums of the samples do.
