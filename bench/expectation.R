# What does one sweep cost: the expectations of 100,000 rows with their derivatives, on one thread?
#
# Means are drawn from N(0, variance), as under a prior of that variance. Order 1 is value and gradient, order 2 has
# the second derivatives too. CPU seconds, median of five.

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
