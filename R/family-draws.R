# Entries `draw` of family_types: one response for each mean, the inverse link of the first linear predictor, where the
# quantile function has no formula and a search for it would take microseconds. p: the other parameters, numbers or, of
# predicted ones, vectors.

student_draw <- function(mean, size, p) mean + p$scale * stats::rt(length(mean), p$df)

# (delta |Z| + sqrt(1 - delta^2) Z') less its mean, over its sd.
skew_normal_draw <- function(mean, size, p) {
  other <- 1 / sqrt(1 + p$alpha^2)
  delta <- p$alpha * other
  shift <- sqrt(2 / pi) * delta
  z <- delta * abs(stats::rnorm(length(mean))) + other * stats::rnorm(length(mean))
  mean + p$sigma * (z - shift) / sqrt(1 - shift^2)
}

exgaussian_draw <- function(mean, size, p) {
  stats::rnorm(length(mean), mean - p$beta, p$sigma) + p$beta * stats::rexp(length(mean))
}

binomial_draw <- function(mean, size, p) stats::rbinom(length(mean), size, mean)

beta_binomial_draw <- function(mean, size, p) binomial_draw(beta_draw(mean, size, list(precision = p$precision)), size)

poisson_draw <- function(mean, size, p) stats::rpois(length(mean), mean)

negbinomial_draw <- function(mean, size, p) stats::rnbinom(length(mean), size = p$size, mu = mean)

nbinom1_draw <- function(mean, size, p) stats::rnbinom(length(mean), size = mean / p$phi, mu = mean)

gamma_draw <- function(mean, size, p) stats::rgamma(length(mean), p$shape, scale = mean / p$shape)

# The smaller root x of phi mean^2 z^2 = (x - mean)^2 / x, z normal, or the larger one, mean^2 / x (Michael, Schucany
# and Haas, 1976), without a difference of large numbers.
inverse_gaussian_draw <- function(mean, size, p) {
  w <- p$dispersion * mean * stats::rnorm(length(mean))^2
  x <- mean / (1 + w / 2 + sqrt(w + w^2 / 4))
  ifelse(stats::runif(length(mean)) * (mean + x) <= mean, x, mean * (mean / x))
}

# A Poisson number of gamma variables.
tweedie_draw <- function(mean, size, p) {
  count <- stats::rpois(length(mean), mean^(2 - p$power) / ((2 - p$power) * p$dispersion))
  scale <- p$dispersion * (p$power - 1) * mean^(p$power - 1)
  stats::rgamma(length(mean), count * (2 - p$power) / (p$power - 1), scale = scale)
}

beta_draw <- function(mean, size, p) stats::rbeta(length(mean), mean * p$precision, (1 - mean) * p$precision)

lognormal_draw <- function(mean, size, p) stats::rlnorm(length(mean), log(mean), p$sigma)

# Zeros of their own beside these draws; share: the parameter that is their probability.
with_zeros <- function(draw, share) {
  force(draw)
  function(mean, size, p) ifelse(stats::runif(length(mean)) < p[[share]], 0, draw(mean, size, p))
}

# Counts above 0: quantiles of the upper tail at numbers up to P(Y > 0).
# upper(u, mean, size, p): that quantile; log_none(mean, size, p): log P(Y = 0)
positive_draw <- function(upper, log_none) {
  function(mean, size, p) {
    above <- -expm1(log_none(mean, size, p))
    pmax(upper(stats::runif(length(mean)) * above, mean, size, p), 1)
  }
}

positive_poisson_draw <- positive_draw(
  function(u, mean, size, p) stats::qpois(u, mean, lower.tail = FALSE), function(mean, size, p) -mean
)

positive_binomial_draw <- positive_draw(
  function(u, mean, size, p) stats::qbinom(u, size, mean, lower.tail = FALSE),
  function(mean, size, p) size * log1p(-mean)
)

positive_negbinomial_draw <- positive_draw(
  function(u, mean, size, p) stats::qnbinom(u, size = p$size, mu = mean, lower.tail = FALSE),
  function(mean, size, p) -p$size * log1p(mean / p$size)
)

positive_nbinom1_draw <- function(mean, size, p) positive_negbinomial_draw(mean, size, list(size = mean / p$phi))

# 0 below the first cut of a logistic variable around eta, 1 above the second, else a beta variable.
ordbeta_draw <- function(mean, size, p) {
  eta <- stats::qlogis(mean)
  cut <- eta + stats::rlogis(length(mean))
  inner <- beta_draw(mean, size, list(precision = p$phi))
  ifelse(cut < p$cuts[1L], 0, ifelse(cut > p$cuts[2L], 1, inner))
}

zero_one_inflated_beta_draw <- function(mean, size, p) {
  end <- stats::rbinom(length(mean), 1L, p$coi)
  ifelse(stats::runif(length(mean)) < p$zoi, end, beta_draw(mean, size, list(precision = p$phi)))
}
