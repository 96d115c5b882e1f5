# How far does the bound move the posterior of a variance?
#
#   Rscript bench/hyper-bias.R        (a CPU minute; a number as argument: data sets of each kind)
#
# States weigh variances by the log evidence: exp(bound), corrected by what rows have beyond a quadratic function. Here the
# exact posterior is known: y ~ 1 + iid(g) with n rows for each of L levels, the evidence at a variance by quadrature over
# the intercept and, within, over each level's effect. The prior of the log variance is N(0, 1.5^2), that of the intercept N(0, 2^2). All posteriors are
# taken on the same grid, so that nothing but the weights differs.
#
# mean: (mean under the weights - exact) / exact sd of the log variance. sd: ratio. covers: exact probability of the 95 %
# interval, in per cent. Means over the data sets; first by the bound alone, then as states weigh.
#
# Answer (four data sets each; 2026):
#   family levels rows variance  mean   sd covers  mean   sd covers
#   binary     50    1        1 -0.21 0.88   88.8  0.00 1.00   95.0
#   binary     50    1        9 -0.20 0.89   89.4  0.00 1.00   95.0
#   binary     50    2        1 -0.10 0.98   93.5 -0.01 1.00   94.9
#   binary     50    4        1 -0.05 0.99   94.6  0.00 1.00   95.0
#   binary     50    4        9 -0.36 0.95   92.0  0.00 1.00   95.0
#   binary     50   10        1 -0.05 1.00   94.8  0.00 1.00   95.0
#   binary     50   10        9 -0.33 0.96   92.7  0.00 1.00   95.0
#   counts     50    1     0.25 -0.11 0.99   94.3  0.00 1.00   95.0
#   counts     50    1        1 -0.12 0.99   94.2  0.00 1.00   95.0
#   counts     50    4        1 -0.05 1.00   94.9  0.00 1.00   95.0
#   counts     50    1        4 -0.25 0.96   93.3  0.00 1.00   95.0
source("bench/_helper.R")

# log p(y | variance) by the trapezoidal rule, with steps well below the widths of prior and likelihood; levels with
# the same counts share an integral.
exact_evidence <- function(y, n, variance, family) {
  sd <- sqrt(variance)
  b <- seq(-6, 7, by = 0.13)
  step <- min(0.25, 0.2 / sd)
  t <- seq(-7, 7, by = step)
  eta <- outer(b, sd * t, `+`)
  unit <- if (family == "binomial") n * plogis(-eta, log.p = TRUE) else -n * exp(pmin(eta, 50))
  weight <- dnorm(t) * step
  per_level <- vapply(sort(unique(y)), function(total) {
    value <- total * eta + unit
    top <- apply(value, 1, max)
    top + log(drop(exp(value - top) %*% weight))
  }, numeric(length(b)))
  value <- drop(per_level %*% tabulate(match(y, sort(unique(y))))) + dnorm(b, 0, 2, log = TRUE)
  max(value) + log(sum(exp(value - max(value))) * 0.13)
}

# By third derivatives and the rows' own gaps, as src/fit/evidence.h has it.
evidence_above <- function(fit, d, family) {
  link <- predict(fit, d, type = "link", covariance = TRUE)
  z <- seq(-12, 12, by = 0.2)
  mass <- 0.2 * dnorm(z)
  eta <- outer(sqrt(diag(link$covariance)), z) + link$fit
  f <- if (family == "binomial") plogis(-eta, log.p = TRUE) else -exp(eta)
  hermite <- f %*% (mass * cbind(1, z, z^2 - 1, z^3 - 3 * z))
  rest <- f - hermite[, 1:3] %*% rbind(1, z, (z^2 - 1) / 2)
  third <- hermite[, 4] / diag(link$covariance)^1.5
  own <- third * drop(link$covariance^3 %*% third) / 12
  alone <- hermite[, 4]^2 / 12
  like_it <- abs(own) / alone
  at_most <- -0.98 / hermite[, 3]
  like_it <- ifelse(at_most > 0, pmin(like_it, at_most), like_it)
  gap <- log(drop(exp(like_it * rest) %*% mass))
  sum(own * pmin(pmax(gap / (like_it^2 * alone), 0), 2))
}

moments <- function(log_density, x) {
  p <- exp(log_density - max(log_density))
  p <- p / sum(p)
  mean <- sum(p * x)
  list(mean = mean, sd = sqrt(sum(p * (x - mean)^2)), cdf = approxfun(x, cumsum(p) - p / 2, rule = 2),
    limits = approx(cumsum(p) - p / 2, x, c(0.025, 0.975), rule = 2, ties = "ordered")$y)
}

x <- seq(-5, 5, length.out = 21)
one_set <- function(family, levels, n, variance) {
  eta <- rnorm(1, 0.5, 0.5) + rnorm(levels, 0, sqrt(variance))
  d <- data.frame(g = rep(seq_len(levels), each = n), eta = rep(eta, each = n))
  d$y <- if (family == "binomial") rbinom(nrow(d), 1, plogis(d$eta)) else rpois(nrow(d), exp(d$eta))
  if (length(unique(d$y)) < 2) return(one_set(family, levels, n, variance))
  totals <- drop(rowsum(d$y, d$g))
  found <- vapply(exp(x), function(v) {
    fit <- galvi(y ~ iid(g, variance = fixed(v)), d, family, prior = list(intercept = normal(0, 2)), verbose = FALSE,
      control = galvi_control(uncertainty = "factorised"))
    c(fit$elbo, evidence_above(fit, d, family))
  }, numeric(2))
  exact <- vapply(exp(x), function(v) exact_evidence(totals, n, v, family), 0)
  # finer, by a spline through both
  fine <- seq(-5, 5, length.out = 401)
  posterior <- function(value) moments(spline(x, value, xout = fine)$y + dnorm(fine, 0, 1.5, log = TRUE), fine)
  p <- posterior(exact)
  unlist(lapply(list(bound = found[1, ], states = colSums(found)), function(value) {
    q <- posterior(value)
    c(mean = (q$mean - p$mean) / p$sd, sd = q$sd / p$sd, covers = 100 * diff(p$cdf(q$limits)))
  }))
}

cases <- data.frame(
  family = rep(c("binomial", "poisson"), c(7, 4)), levels = 50, rows = c(1, 1, 2, 4, 4, 10, 10, 1, 1, 4, 1),
  variance = c(1, 9, 1, 1, 9, 1, 9, 0.25, 1, 1, 4)
)
set.seed(1)
sets <- if (length(commandArgs(TRUE))) as.integer(commandArgs(TRUE)[1]) else 4L
found <- t(mapply(function(family, levels, n, variance) {
  rowMeans(replicate(sets, one_set(family, levels, n, variance)))
}, cases$family, cases$levels, cases$rows, cases$variance))
print(cbind(cases, round(found, 2)), row.names = FALSE)
