# What does a likelihood cost that is an R function? A copy of poisson() beside the built-in one.
#   Rscript bench/custom-family.R
library(galvi)
copy <- custom_family("r_poisson", function(y, eta) dpois(y, exp(eta), log = TRUE), links = "log",
                      support = "count", log_concave = TRUE)
set.seed(1)
n <- 5000
d <- data.frame(x = runif(n, 0, 6), g = factor(rep_len(1:50, n)))
d$y <- rpois(n, exp(1 + sin(d$x)))
cases <- list(
  columns = list(y ~ x, d), `random effects` = list(y ~ x + (1 | g), d),
  `inducing points` = list(y ~ gp(x, inducing = 20), d), `full process` = list(y ~ gp(x), d[1:500, ])
)
seconds <- function(case, family) {
  run <- function() system.time(galvi(case[[1]], case[[2]], family, verbose = FALSE))[["elapsed"]]
  stats::median(replicate(3, run()))
}
table <- t(vapply(cases, function(case) c(own = seconds(case, poisson()), custom = seconds(case, copy)), c(0, 0)))
print(cbind(table, ratio = table[, "custom"] / table[, "own"]), digits = 3)
