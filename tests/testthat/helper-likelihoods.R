# A twin in plain R of every registered likelihood, all that tests know of it in one place. One without a twin fails the
# tests that loop over likelihood_facts().

# ---- what the densities are made of ----

# The distribution functions of links, log F and log(1 - F).
log_cdfs <- list(
  logit = function(x) plogis(x, log.p = TRUE), probit = function(x) pnorm(x, log.p = TRUE),
  cloglog = function(x) ifelse(x < 0, log(-expm1(-exp(x))), log1p(-exp(-exp(x)))), loglog = function(x) -exp(-x),
  cauchit = function(x) pcauchy(x, log.p = TRUE)
)
log_complements <- lapply(
  c(logit = "logit", probit = "probit", cloglog = "loglog", loglog = "cloglog", cauchit = "cauchit"),
  function(other) function(x) log_cdfs[[other]](-x)
)
cdf_of <- function(link) function(x) exp(log_cdfs[[link]](x))

# log P(low < X < high), from whichever tail keeps the digits
log_interval <- function(link, low, high) {
  right <- low + high > 0
  to <- ifelse(right, log_complements[[link]](low), log_cdfs[[link]](high))
  d <- ifelse(right, log_complements[[link]](high), log_cdfs[[link]](low)) - to
  to + ifelse(d > -0.7, log(-expm1(d)), log1p(-exp(d)))
}
cumulative_log_density <- function(link) {
  function(y, eta, size = 1, thresholds, scale = 1) {
    log_interval(link, scale * (c(-Inf, thresholds)[y + 1] - eta), scale * (c(thresholds, Inf)[y + 1] - eta))
  }
}
sequential_log_density <- function(link) {
  function(y, eta, size = 1, thresholds, scale = 1) {
    out <- if (y < length(thresholds)) log_cdfs[[link]](scale * (thresholds[y + 1] - eta)) else 0 * eta
    for (j in seq_len(y)) out <- out + log_complements[[link]](scale * (thresholds[j] - eta))
    out
  }
}
adjacent_log_density <- function(y, eta, size = 1, thresholds, scale = 1) {
  # relative to class y
  relative <- lapply(setdiff(seq(0, length(thresholds)), y), function(c) {
    scale * ((c - y) * eta - sum(thresholds[seq_len(c)]) + sum(thresholds[seq_len(y)]))
  })
  top <- do.call(pmax, c(relative, 0))
  -top - ifelse(top == 0, log1p(Reduce(`+`, lapply(relative, exp))),
    log(exp(-top) + Reduce(`+`, lapply(relative, function(x) exp(x - top)))))
}

# The inverse Gaussian's distribution function, with its digits where the second term's factor overflows, and
# its quantiles.
inverse_gaussian_cdf <- function(y, mean, dispersion) {
  z <- 1 / sqrt(dispersion * y)
  pnorm(z * (y / mean - 1)) + exp(2 / (dispersion * mean) + pnorm(-z * (y / mean + 1), log.p = TRUE))
}
inverse_gaussian_quantile <- function(p, mean, dispersion) {
  mapply(function(p, m, dispersion) {
    exp(uniroot(function(l) inverse_gaussian_cdf(exp(l), m, dispersion) - p, log(m) + c(-30, 30),
                tol = 1e-10)$root)
  }, p, mean, dispersion)
}

zero_inflated_reference <- function(log_f) {
  function(y, a, b, size, h) {
    rest <- plogis(-b, log.p = TRUE) + log_f(y, a, size, h)
    if (y > 0) return(rest)
    zero <- plogis(b, log.p = TRUE)
    pmax(zero, rest) + log1p(exp(-abs(zero - rest)))
  }
}
hurdle_reference <- function(log_f, discrete = TRUE) {
  function(y, a, b, size, h) {
    if (y == 0) return(plogis(b, log.p = TRUE) + 0 * a)
    none <- if (discrete) log(-expm1(log_f(0, a, size, h))) else 0
    plogis(-b, log.p = TRUE) + log_f(y, a, size, h) - none
  }
}
of_poisson <- function(y, a, size, h) dpois(y, exp(a), log = TRUE)
of_negbinomial <- function(y, a, size, h) dnbinom(y, h, mu = exp(a), log = TRUE)
of_binomial <- function(y, a, size, h) {
  lchoose(size, y) + y * plogis(a, log.p = TRUE) + (size - y) * plogis(-a, log.p = TRUE)
}

# log Gamma(y + a) / Gamma(a) for a whole number y, a = exp(x), as a sum that keeps its digits where a is large
log_rising <- function(y, x) {
  if (y == 0) return(0 * x)
  if (y == 1) return(x)
  x + (y - 1) * pmax(x - 300, 0) + rowSums(log(outer(exp(pmin(x, 300)), seq_len(y - 1), `+`)))
}
of_beta_binomial <- function(y, a, b, size, h) {
  lchoose(size, y) + log_rising(y, b + plogis(a, log.p = TRUE)) +
    log_rising(size - y, b + plogis(-a, log.p = TRUE)) - log_rising(size, b + 0 * a)
}
# dnbinom(y, exp(b), mu = exp(a), log = TRUE), at any size
of_negbinomial_size <- function(y, a, b, size, h) {
  softplus <- function(x) pmax(x, 0) + log1p(exp(-abs(x)))
  log_rising(y, b + 0 * a) - lfactorial(y) - y * softplus(b - a) - exp(b) * softplus(a - b)
}

# A negative binomial of variance exp(a) (1 + exp(b)), at any size
of_nbinom1_phi <- function(y, a, b, size, h) {
  softplus <- function(x) pmax(x, 0) + log1p(exp(-abs(x)))
  rate <- ifelse(b < -30, 1, softplus(b) * exp(-b))  # log(1 + phi) / phi
  log_rising(y, a - b) - lfactorial(y) - y * softplus(-b) - exp(a) * rate
}
of_nbinom1 <- function(y, a, size, h) of_nbinom1_phi(y, a, log(h), size)

# log lambda, log Z and probabilities of Conway and Maxwell's distribution with the mean exp(eta), by plain sums
conway_maxwell <- function(eta, nu) {
  mean <- exp(eta)
  j <- seq(0, ceiling(mean + 40 * sqrt(mean / nu) + 60 * (1 + if (nu < 1) min(mean, 1 / nu) else 0)))
  falling <- nu * lfactorial(j)
  exponent <- function(rate) j * rate - falling
  shares <- function(rate) {
    e <- exponent(rate)
    p <- exp(e - max(e))
    p / sum(p)
  }
  low <- min(nu * eta, eta) - 3
  high <- if (nu <= 1) nu * eta + 1e-9 else nu * log(mean + 2) + 1
  rate <- stats::uniroot(function(rate) log(sum(j * shares(rate))) - eta, c(low, high), tol = 1e-14, extendInt = "yes")$root
  for (i in 1:3) {
    p <- shares(rate)
    m <- sum(j * p)
    rate <- rate + (mean - m) / sum((j - m)^2 * p)
  }
  e <- exponent(rate)
  list(log_rate = rate, log_total = max(e) + log(sum(exp(e - max(e)))), y = j, p = shares(rate))
}
# With several y a row for each and a column for each eta.
of_compois <- function(y, eta, trials = 1, nu = 1) {
  # far below, Y is 0 or 1; far above, nu times the mean is large and lambda^(1 / nu) near the mean
  vapply(eta, function(e) {
    if (e < -36) return(ifelse(y == 0, -exp(e), y * e - nu * lfactorial(y)))
    if (e > 9) return(compois_series(y, e, nu))
    own <- conway_maxwell(e, nu)
    y * own$log_rate - nu * lfactorial(y) - own$log_total
  }, numeric(length(y)))
}
# The first terms in 1 / (nu mean), which is below 1e-4.
compois_series <- function(y, eta, nu) {
  M <- nu * exp(eta)
  b <- M + (nu - 1) / 2 + (nu^2 - 1) / 24 / M * (1 - (nu - 1) / 2 / M) + (nu^2 - 1) / 24 / M^2
  total <- b - (nu - 1) / 2 * log(b) + (nu - 1) / 2 * log(nu / (2 * pi)) - log(nu) / 2 + (nu^2 - 1) / 24 / b +
    (nu^2 - 1) / 48 / b^2
  y * nu * log(b / nu) - nu * lfactorial(y) - total
}

# log log(1 + exp(eta))
log_softplus <- function(eta) ifelse(eta < -37, eta, log(pmax(eta, 0) + log1p(exp(-abs(eta)))))

# The same zeros with a predicted parameter of the rest: f(y, a, b, c, size, h), c that of the zeros.
zero_inflated_of_two <- function(log_f) {
  function(y, a, b, c, size, h) {
    zero_inflated_reference(function(y, a, size, h) log_f(y, a, b, size, h))(y, a, c, size, h)
  }
}
hurdle_of_two <- function(log_f, discrete = TRUE) {
  function(y, a, b, c, size, h) {
    hurdle_reference(function(y, a, size, h) log_f(y, a, b, size, h), discrete)(y, a, c, size, h)
  }
}

# Normal noise plus an exponential delay, of mean a, with the digits of log Phi; and the skew normal of mean a and sd s.
of_exgaussian <- function(y, a, sigma, beta) {
  r <- y - a + beta
  z <- r / sigma
  u <- z - sigma / beta
  mills <- pnorm(u, log.p = TRUE) + u^2 / 2  # of u < 0 without what cancels
  -log(beta) + ifelse(u < 0, mills - z^2 / 2, sigma^2 / (2 * beta^2) - r / beta + pnorm(u, log.p = TRUE))
}
of_skew_normal <- function(y, a, sigma, alpha) {
  shift <- sqrt(2 / pi) * alpha / sqrt(1 + alpha^2)
  scale <- sqrt(1 - shift^2)
  z <- (y - a) * scale / sigma + shift
  log(2 * scale / sigma) + dnorm(z, log = TRUE) + pnorm(alpha * z, log.p = TRUE)
}

# Of y between 0 and 1, where the shapes may be tiny.
of_beta <- function(y, a, phi) {
  log_a <- log(phi) + plogis(a, log.p = TRUE)
  log_b <- log(phi) + plogis(-a, log.p = TRUE)
  lgamma(phi) - lgamma(1 + exp(log_a)) - lgamma(1 + exp(log_b)) + log_a + log_b + (exp(log_a) - 1) * log(y) +
    (exp(log_b) - 1) * log1p(-y)
}
of_ordbeta <- function(y, a, phi, cuts) {
  if (y == 0) return(plogis(cuts[1] - a, log.p = TRUE))
  if (y == 1) return(plogis(a - cuts[2], log.p = TRUE))
  plogis(a - cuts[1], log.p = TRUE) + plogis(cuts[2] - a, log.p = TRUE) + log(-expm1(cuts[1] - cuts[2])) +
    of_beta(y, a, phi)
}
of_inflated_beta <- function(y, a, phi, zoi, coi) {
  if (y > 0 && y < 1) return(plogis(-zoi, log.p = TRUE) + of_beta(y, a, phi))
  plogis(zoi, log.p = TRUE) + plogis(if (y == 1) coi else -coi, log.p = TRUE) + 0 * a
}

# ---- how responses are drawn ----

draw_beta <- function(eta, phi) pmin(pmax(rbeta(length(eta), plogis(eta) * phi, plogis(-eta) * phi), 1e-6), 1 - 1e-6)
draw_ordbeta <- function(eta, phi, cuts) {
  cell <- draw_cell(eta, cuts, cumulative_log_density("logit"))
  ifelse(cell == 0, 0, ifelse(cell == 2, 1, draw_beta(eta, phi)))
}
draw_inflated_beta <- function(eta, phi, zoi, coi) {
  end <- rbinom(length(eta), 1, plogis(zoi))
  ifelse(end == 1, rbinom(length(eta), 1, plogis(coi)), draw_beta(eta, phi))
}

draw_skew_normal <- function(mean, sigma, alpha) {
  delta <- alpha / sqrt(1 + alpha^2)
  z <- delta * abs(rnorm(length(mean))) + sqrt(1 - delta^2) * rnorm(length(mean))
  mean + sigma * (z - sqrt(2 / pi) * delta) / sqrt(1 - 2 / pi * delta^2)
}

draw_class <- function(P) apply(P, 1, function(p) sample(length(p), 1, prob = p)) - 1

softmax <- function(eta) exp(eta - apply(eta, 1, max)) / rowSums(exp(eta - apply(eta, 1, max)))

# cells of an ordered response
draw_cell <- function(eta, thresholds, log_density, scale = rep(1, length(eta))) {
  vapply(seq_along(eta), function(i) {
    p <- exp(vapply(seq(0, length(thresholds)), log_density, 0, eta[i], 1, thresholds, scale[i]))
    sample(length(p), 1, prob = p) - 1
  }, 0)
}

# ---- the twins ----

# y, size: legal responses, few, with extreme ones among them; where a dispersion is divided by `size`, sizes are
# anything. parameters, constants: by the names that C++ asks for. latents: where there are several latent values.
# response: eight responses as a user has them, of a family whose default link this is (api_response()).
# log_density: log p(y | eta) by R's own functions, f(y, eta, trials, parameters ..) with one latent value, where `trials`
# also divides the dispersion if there is one; f(y, a, b, size, h), h the parameters, with two linear predictors,
# f(y, a, b, c, size, h) with three. Those of classes have tests of their own.
# draw(eta, h): random responses given eta (a matrix with several latent values), with the parameters `drawn_with`.
# ordered: of a parameter that is a sequence, t1, t2, .. in `drawn_with`: must it increase? numbers: its name.
likelihood_twin <- function(y, size = rep(1, length(y)), parameters = list(), constants = NULL, latents = NULL,
                            response = NULL, log_density = NULL, drawn_with = NULL, ordered = NULL,
                            numbers = "thresholds", draw) {
  list(
    y = y, size = size, parameters = parameters, hyper = as.numeric(unlist(parameters)), constants = constants,
    latents = latents, response = response, log_density = log_density, drawn_with = drawn_with, ordered = ordered,
    numbers = numbers, draw = draw
  )
}

eight <- list(
  numbers = c(1.5, 2, 4, 3, 5, 6, 4.5, 3.2), binary = c(0, 1, 1, 0, 1, 0, 1, 0), counts = c(0, 1, 4, 2, 7, 3, 1, 0),
  positive = c(1, 0.3, 2, 4, 0.9, 1.6, 3, 2), zeros = c(0, 0.3, 2, 0, 0.9, 1.6, 3, 2),
  fractions = c(0.1, 0.4, 0.35, 0.8, 0.55, 0.2, 0.6, 0.7), noise = c(0.1, -0.4, 1.2, -2, 0, 0.8, 0.1, -0.6),
  angles = c(0.3, 1.2, 2.9, -2.5, 0.8, 1.6, -3, 0.1), classes = c("a", "b", "c", "b", "a", "c", "b", "a")
)

binomial_twin <- function(link) {
  likelihood_twin(
    y = c(0, 1, 3, 0, 8), size = c(1, 1, 8, 8, 8), response = eight$binary,
    log_density = function(y, eta, trials = 1) {
      # none of something of probability 0 is certain
      of <- function(count, log_p) ifelse(rep_len(count > 0, length(eta)), count * log_p, 0)
      lchoose(trials, y) + of(y, log_cdfs[[link]](eta)) + of(trials - y, log_complements[[link]](eta))
    },
    draw = function(eta, h) rbinom(length(eta), 1, cdf_of(link)(eta))
  )
}

# Ordered classes. ordered: must the thresholds be?
ordinal_twin <- function(log_density, ordered = TRUE) {
  likelihood_twin(
    y = 0:3, parameters = list(thresholds = if (ordered) c(-1, 0.5, 0.9) else c(0.4, -0.8, 1.1)),
    response = factor(eight$classes, ordered = TRUE), log_density = log_density,
    drawn_with = c(t1 = -1, t2 = if (ordered) 0.4 else -1.3, t3 = if (ordered) 1.5 else 0.6), ordered = ordered,
    draw = function(eta, h) draw_cell(eta, h, log_density)
  )
}
# With the predictor of the log discrimination.
disc_twin <- function(log_density, ordered = TRUE) {
  twin <- ordinal_twin(log_density, ordered)
  twin$latents <- 2L
  twin$log_density <- function(y, a, b, size, h) log_density(y, a + 0 * b, size, h, exp(b) + 0 * a)
  twin$draw <- function(eta, h) draw_cell(eta[, 1], h, log_density, exp(eta[, 2]))
  twin
}

likelihood_twins <- list(
  gaussian = likelihood_twin(
    y = c(-3, 0, 1.5), size = c(1, 0.3, 7), parameters = list(variance = 0.7), response = eight$numbers,
    log_density = function(y, eta, trials = 1, variance = 1) dnorm(y, eta, sqrt(variance / trials), log = TRUE),
    drawn_with = c(variance = 0.5),
    draw = function(eta, h) rnorm(length(eta), eta, sqrt(h))
  ),
  gaussian_log_sd = likelihood_twin(
    y = c(-3, 0, 1.5), size = c(1, 0.3, 7), latents = 2L,
    log_density = function(y, a, b, size, h) dnorm(y, a, exp(b) / sqrt(size), log = TRUE),
    draw = function(eta, h) rnorm(nrow(eta), eta[, 1], exp(eta[, 2]))
  ),
  student_log_scale = likelihood_twin(
    y = c(0.1, -0.35, 4), parameters = list(df = 3.5), latents = 2L,
    log_density = function(y, a, b, size, h) dt((y - a) / exp(b), h, log = TRUE) - b,
    drawn_with = c(df = 4),
    draw = function(eta, h) {
      eta[, 1] + exp(eta[, 2]) * rt(nrow(eta), h)
    }
  ),
  student_log_scale_log_df = likelihood_twin(
    y = c(0.1, -0.35, 4), latents = 3L,
    log_density = function(y, a, b, c, size, h) dt((y - a) / exp(b), exp(c), log = TRUE) - b,
    # tails that are not so heavy that the bound has several optima
    draw = function(eta, h) eta[, 1] + exp(eta[, 2]) * rt(nrow(eta), 4 + exp(eta[, 3]))
  ),
  laplace_log_scale = likelihood_twin(
    y = c(0.1, -0.35, 4), latents = 2L,
    log_density = function(y, a, b, size, h) -log(2) - b - abs(y - a) * exp(-b),
    draw = function(eta, h) {
      eta[, 1] + exp(eta[, 2]) * rexp(nrow(eta)) * sample(c(-1, 1), nrow(eta), TRUE)
    }
  ),
  exgaussian_log_sigma = likelihood_twin(
    y = c(0.1, -2.5, 4), parameters = list(beta = 1.3), latents = 2L,
    log_density = function(y, a, b, size, h) of_exgaussian(y, a, exp(b), h),
    drawn_with = c(beta = 1.3),
    draw = function(eta, h) rnorm(nrow(eta), eta[, 1] - h, exp(eta[, 2])) + rexp(nrow(eta), 1 / h)
  ),
  exgaussian_log_sigma_log_beta = likelihood_twin(
    y = c(0.1, -2.5, 4), latents = 3L,
    log_density = function(y, a, b, c, size, h) of_exgaussian(y, a, exp(b), exp(c)),
    draw = function(eta, h) {
      rnorm(nrow(eta), eta[, 1] - exp(eta[, 3]), exp(eta[, 2])) + rexp(nrow(eta), exp(-eta[, 3]))
    }
  ),
  skew_normal_log_sigma = likelihood_twin(
    y = c(0.1, -2.5, 4), parameters = list(alpha = 2.5), latents = 2L,
    log_density = function(y, a, b, size, h) of_skew_normal(y, a, exp(b), h),
    drawn_with = c(alpha = 2.5),
    draw = function(eta, h) draw_skew_normal(eta[, 1], exp(eta[, 2]), h)
  ),
  skew_normal_log_sigma_alpha = likelihood_twin(
    y = c(0.1, -2.5, 4), latents = 3L,
    log_density = function(y, a, b, c, size, h) of_skew_normal(y, a, exp(b), c),
    draw = function(eta, h) draw_skew_normal(eta[, 1], exp(eta[, 2]), 2 + eta[, 3])
  ),
  inverse_gaussian_log_shape = likelihood_twin(
    y = c(0.02, 1, 40), size = c(1, 6, 0.4), latents = 2L,
    log_density = function(y, a, b, size, h) {
      b <- b + log(size)
      b / 2 - log(2 * pi * y^3) / 2 - exp(b) * expm1(log(y) - a)^2 / (2 * y)
    },
    draw = function(eta, h) {
      inverse_gaussian_quantile(runif(nrow(eta)), exp(eta[, 1]), exp(-eta[, 2]))
    }
  ),
  tweedie_log_dispersion = likelihood_twin(
    y = c(0, 0.02, 1, 40), size = c(3, 1, 0.4, 2), parameters = list(power = 1.5), latents = 2L,
    log_density = function(y, a, b, size, h) {
      n <- max(length(a), length(b))
      mapply(function(a, b) reference_log_density$tweedie(y, a, size, exp(b), h), rep_len(a, n), rep_len(b, n))
    },
    drawn_with = c(power = 1.5),
    draw = function(eta, h) {
      number <- rpois(nrow(eta), 2 * exp(eta[, 1] / 2 - eta[, 2]))
      ifelse(number > 0, rgamma(nrow(eta), pmax(number, 1), 2 * exp(-eta[, 2] - eta[, 1] / 2)), 0)
    }
  ),
  censored_gaussian_log_sd = likelihood_twin(
    y = c(-3, 0, 1.5), latents = 2L,
    log_density = function(y, a, b, size, h) dnorm(y, a, exp(b), log = TRUE),
    draw = function(eta, h) rnorm(nrow(eta), eta[, 1], exp(eta[, 2]))
  ),
  lognormal_log_sigma = likelihood_twin(
    y = c(0.02, 1, 40), latents = 2L,
    log_density = function(y, a, b, size, h) dlnorm(y, a, exp(b), log = TRUE),
    draw = function(eta, h) rlnorm(nrow(eta), eta[, 1], exp(eta[, 2]))
  ),
  loglogistic_log_shape = likelihood_twin(
    y = c(0.02, 1, 40), latents = 2L,
    log_density = function(y, a, b, size, h) {
      x <- exp(b) * (log(y) - a)
      b - log(y) + plogis(x, log.p = TRUE) + plogis(-x, log.p = TRUE)
    },
    draw = function(eta, h) {
      exp(rlogis(nrow(eta), eta[, 1], exp(-eta[, 2])))
    }
  ),
  weibull_ph_log_shape = likelihood_twin(
    y = c(0.02, 1, 40), constants = list(reference = 50), latents = 2L,
    log_density = function(y, a, b, size, h) {
      x <- exp(b) * log(y / 50) + a
      b - log(y) + x - exp(x)
    },
    draw = function(eta, h) {
      pmin(pmax(50 * (rexp(nrow(eta)) * exp(-eta[, 1]))^exp(-eta[, 2]), 1e-6), 50)
    }
  ),
  gamma_log_shape = likelihood_twin(
    y = c(0.02, 1, 40), size = c(1, 6, 0.4), latents = 2L,
    log_density = function(y, a, b, size, h) dgamma(y, size * exp(b), size * exp(b - a), log = TRUE),
    draw = function(eta, h) {
      pmax(rgamma(nrow(eta), exp(eta[, 2]), exp(eta[, 2] - eta[, 1])), 1e-12)
    }
  ),
  negbinomial_log_size = likelihood_twin(
    y = c(0, 1, 7, 40), latents = 2L,
    log_density = of_negbinomial_size,
    draw = function(eta, h) {
      rnbinom(nrow(eta), exp(eta[, 2]), mu = exp(eta[, 1]))
    }
  ),
  gaussian_log_log_sd = likelihood_twin(
    y = c(-3, 0, 1.5), size = c(1, 0.3, 7), latents = 2L,
    log_density = function(y, a, b, size, h) dnorm(y, exp(a), exp(b) / sqrt(size), log = TRUE),
    draw = function(eta, h) rnorm(nrow(eta), exp(eta[, 1]), exp(eta[, 2]))
  ),
  negbinomial_softplus_log_size = likelihood_twin(
    y = c(0, 1, 7, 40), latents = 2L,
    log_density = function(y, a, b, size, h) of_negbinomial_size(y, log_softplus(a), b, size),
    draw = function(eta, h) rnbinom(nrow(eta), exp(eta[, 2]), mu = exp(log_softplus(eta[, 1])))
  ),
  gamma_softplus_log_shape = likelihood_twin(
    y = c(0.02, 1, 40), size = c(1, 6, 0.4), latents = 2L,
    log_density = function(y, a, b, size, h) {
      dgamma(y, size * exp(b), size * exp(b - log_softplus(a)), log = TRUE)
    },
    draw = function(eta, h) {
      pmax(rgamma(nrow(eta), exp(eta[, 2]), exp(eta[, 2] - log_softplus(eta[, 1]))), 1e-12)
    }
  ),
  nbinom1_log_phi = likelihood_twin(
    y = c(0, 1, 7, 40), latents = 2L,
    log_density = of_nbinom1_phi,
    draw = function(eta, h) {
      rnbinom(nrow(eta), exp(eta[, 1] - eta[, 2]), mu = exp(eta[, 1]))
    }
  ),
  beta_log_precision = likelihood_twin(
    y = c(0.03, 0.5, 0.999), latents = 2L,
    log_density = function(y, a, b, size, h) {
      dbeta(y, exp(b) * plogis(a), exp(b) * plogis(-a), log = TRUE)
    },
    draw = function(eta, h) draw_beta(eta[, 1], exp(eta[, 2]))
  ),
  ordbeta = likelihood_twin(
    y = c(0, 0.03, 0.6, 1), parameters = list(cuts = c(-1.2, 0.9), phi = 3.5),
    response = c(0, 0.4, 0.35, 0.8, 1, 0.2, 0.6, 0),
    log_density = function(y, eta, trials = 1, cuts = c(-1, 1), phi = 1) of_ordbeta(y, eta, phi, cuts),
    drawn_with = c(t1 = -1, t2 = 1.5, phi = 5), ordered = TRUE, numbers = "cuts",
    draw = function(eta, h) draw_ordbeta(eta, h[[3]], h[1:2])
  ),
  ordbeta_log_phi = likelihood_twin(
    y = c(0, 0.03, 0.6, 1), parameters = list(cuts = c(-1.2, 0.9)), latents = 2L,
    log_density = function(y, a, b, size, h) of_ordbeta(y, a, exp(b), h) + 0 * b,
    drawn_with = c(t1 = -1, t2 = 1.5), ordered = TRUE, numbers = "cuts",
    draw = function(eta, h) draw_ordbeta(eta[, 1], exp(eta[, 2]), h)
  ),
  zero_one_inflated_beta = likelihood_twin(
    y = c(0, 0.03, 0.6, 1), parameters = list(phi = 3.5), latents = 3L,
    response = c(0, 0.4, 0.35, 0.8, 1, 0.2, 0.6, 0),
    log_density = function(y, a, b, c, size, h) of_inflated_beta(y, a, h, b, c),
    drawn_with = c(phi = 5),
    draw = function(eta, h) draw_inflated_beta(eta[, 1], h, eta[, 2], eta[, 3])
  ),
  zero_one_inflated_beta_log_phi = likelihood_twin(
    y = c(0, 0.03, 0.6, 1), latents = 4L,
    log_density = function(y, a, b, c, d, size, h) of_inflated_beta(y, a, exp(b), c, d),
    draw = function(eta, h) draw_inflated_beta(eta[, 1], exp(eta[, 2]), eta[, 3], eta[, 4])
  ),
  beta_binomial = likelihood_twin(
    y = c(0, 1, 3, 0, 8), size = c(1, 1, 8, 8, 8), parameters = list(precision = 3.5), response = eight$binary,
    log_density = function(y, eta, trials = 1, precision = 1) {
      # lbeta(y + a, n - y + b) - lbeta(a, b), where a and b may be tiny
      rising <- function(y, log_a) if (y == 0) 0 else log_a + lgamma(y + exp(log_a)) - lgamma(1 + exp(log_a))
      lchoose(trials, y) - rising(trials, log(precision)) +
        rising(y, log(precision) + plogis(eta, log.p = TRUE)) +
        rising(trials - y, log(precision) + plogis(-eta, log.p = TRUE))
    },
    drawn_with = c(precision = 5),
    draw = function(eta, h) rbinom(length(eta), 1, plogis(eta))
  ),
  beta_binomial_log_precision = likelihood_twin(
    y = c(0, 1, 3, 0, 8), size = c(1, 1, 8, 8, 8), latents = 2L,
    log_density = of_beta_binomial,
    draw = function(eta, h) {
      rbinom(nrow(eta), 1, plogis(eta[, 1]))
    }
  ),
  zero_inflated_poisson = likelihood_twin(
    y = c(0, 1, 7), latents = 2L, response = eight$counts,
    log_density = zero_inflated_reference(of_poisson),
    draw = function(eta, h) {
      rpois(nrow(eta), exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  zero_inflated_binomial = likelihood_twin(
    y = c(0, 1, 3, 8), size = c(8, 1, 8, 8), latents = 2L, response = eight$binary,
    log_density = zero_inflated_reference(of_binomial),
    draw = function(eta, h) {
      rbinom(nrow(eta), 1, plogis(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  zero_inflated_negbinomial = likelihood_twin(
    y = c(0, 1, 7), parameters = list(size = 1.7), latents = 2L, response = eight$counts,
    log_density = zero_inflated_reference(of_negbinomial),
    drawn_with = c(size = 1.7),
    draw = function(eta, h) {
      rnbinom(nrow(eta), h, mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  zero_inflated_nbinom1 = likelihood_twin(
    y = c(0, 1, 7), parameters = list(phi = 1.7), latents = 2L, response = eight$counts,
    log_density = zero_inflated_reference(of_nbinom1),
    drawn_with = c(phi = 1.7),
    draw = function(eta, h) {
      rnbinom(nrow(eta), exp(eta[, 1]) / h, mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  hurdle_poisson = likelihood_twin(
    y = c(0, 1, 7), latents = 2L, response = eight$counts,
    log_density = hurdle_reference(of_poisson),
    draw = function(eta, h) {
      qpois(runif(nrow(eta), dpois(0, exp(eta[, 1])), 1), exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  hurdle_binomial = likelihood_twin(
    y = c(0, 1, 3, 8), size = c(8, 1, 8, 8), latents = 2L, response = eight$binary,
    log_density = hurdle_reference(of_binomial),
    draw = function(eta, h) rbinom(nrow(eta), 1, plogis(-eta[, 2]))
  ),
  hurdle_negbinomial = likelihood_twin(
    y = c(0, 1, 7), parameters = list(size = 1.7), latents = 2L, response = eight$counts,
    log_density = hurdle_reference(of_negbinomial),
    drawn_with = c(size = 1.7),
    draw = function(eta, h) {
      none <- dnbinom(0, h, mu = exp(eta[, 1]))
      qnbinom(runif(nrow(eta), none, 1), h, mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  hurdle_nbinom1 = likelihood_twin(
    y = c(0, 1, 7), parameters = list(phi = 1.7), latents = 2L, response = eight$counts,
    log_density = hurdle_reference(of_nbinom1),
    drawn_with = c(phi = 1.7),
    draw = function(eta, h) {
      size <- exp(eta[, 1]) / h
      none <- dnbinom(0, size, mu = exp(eta[, 1]))
      qnbinom(runif(nrow(eta), none, 1), size, mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  hurdle_gamma = likelihood_twin(
    y = c(0, 0.4, 7), parameters = list(shape = 2.3), latents = 2L, response = eight$zeros,
    log_density = hurdle_reference(function(y, a, size, h) dgamma(y, h, h / exp(a), log = TRUE), FALSE),
    drawn_with = c(shape = 2.3),
    draw = function(eta, h) {
      rgamma(nrow(eta), h, h / exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  hurdle_lognormal = likelihood_twin(
    y = c(0, 0.4, 7), parameters = list(sigma = 0.7), latents = 2L, response = eight$zeros,
    log_density = hurdle_reference(function(y, a, size, h) dlnorm(y, a, h, log = TRUE), FALSE),
    drawn_with = c(sigma = 0.7),
    draw = function(eta, h) {
      rlnorm(nrow(eta), eta[, 1], h) * rbinom(nrow(eta), 1, plogis(-eta[, 2]))
    }
  ),
  zero_inflated_negbinomial_log_size = likelihood_twin(
    y = c(0, 1, 7), latents = 3L, log_density = zero_inflated_of_two(of_negbinomial_size),
    draw = function(eta, h) {
      rnbinom(nrow(eta), exp(eta[, 2]), mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 3]))
    }
  ),
  zero_inflated_nbinom1_log_phi = likelihood_twin(
    y = c(0, 1, 7), latents = 3L, log_density = zero_inflated_of_two(of_nbinom1_phi),
    draw = function(eta, h) {
      rnbinom(nrow(eta), exp(eta[, 1] - eta[, 2]), mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 3]))
    }
  ),
  hurdle_negbinomial_log_size = likelihood_twin(
    y = c(0, 1, 7), latents = 3L, log_density = hurdle_of_two(of_negbinomial_size),
    draw = function(eta, h) {
      none <- dnbinom(0, exp(eta[, 2]), mu = exp(eta[, 1]))
      qnbinom(runif(nrow(eta), none, 1), exp(eta[, 2]), mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 3]))
    }
  ),
  hurdle_nbinom1_log_phi = likelihood_twin(
    y = c(0, 1, 7), latents = 3L, log_density = hurdle_of_two(of_nbinom1_phi),
    draw = function(eta, h) {
      size <- exp(eta[, 1] - eta[, 2])
      none <- dnbinom(0, size, mu = exp(eta[, 1]))
      qnbinom(runif(nrow(eta), none, 1), size, mu = exp(eta[, 1])) * rbinom(nrow(eta), 1, plogis(-eta[, 3]))
    }
  ),
  hurdle_gamma_log_shape = likelihood_twin(
    y = c(0, 0.4, 7), latents = 3L,
    log_density = hurdle_of_two(function(y, a, b, size, h) dgamma(y, exp(b), exp(b - a), log = TRUE), FALSE),
    draw = function(eta, h) {
      pmax(rgamma(nrow(eta), exp(eta[, 2]), exp(eta[, 2] - eta[, 1])), 1e-12) * rbinom(nrow(eta), 1, plogis(-eta[, 3]))
    }
  ),
  hurdle_lognormal_log_sigma = likelihood_twin(
    y = c(0, 0.4, 7), latents = 3L,
    log_density = hurdle_of_two(function(y, a, b, size, h) dlnorm(y, a, exp(b), log = TRUE), FALSE),
    draw = function(eta, h) rlnorm(nrow(eta), eta[, 1], exp(eta[, 2])) * rbinom(nrow(eta), 1, plogis(-eta[, 3]))
  ),
  binomial_logit = binomial_twin("logit"),
  binomial_probit = binomial_twin("probit"),
  binomial_cloglog = binomial_twin("cloglog"),
  binomial_loglog = binomial_twin("loglog"),
  binomial_cauchit = binomial_twin("cauchit"),
  poisson = likelihood_twin(
    y = c(0, 1, 7, 400), response = eight$counts,
    log_density = function(y, eta, trials = 1) y * eta - exp(eta) - lgamma(y + 1),
    draw = function(eta, h) rpois(length(eta), exp(eta))
  ),
  negbinomial = likelihood_twin(
    y = c(0, 1, 7, 400), parameters = list(size = 1.7), response = eight$counts,
    log_density = function(y, eta, trials = 1, size = 1) {
      lgamma(y + size) - lgamma(size) - lgamma(y + 1) + y * plogis(eta - log(size), log.p = TRUE) +
        size * plogis(log(size) - eta, log.p = TRUE)
    },
    drawn_with = c(size = 1.7),
    draw = function(eta, h) rnbinom(length(eta), h, mu = exp(eta))
  ),
  gaussian_log = likelihood_twin(
    y = c(-3, 0, 1.5), size = c(1, 0.3, 7), parameters = list(variance = 0.7), response = eight$numbers,
    log_density = function(y, eta, trials = 1, variance = 1) dnorm(y, exp(eta), sqrt(variance / trials), log = TRUE),
    drawn_with = c(variance = 0.5),
    draw = function(eta, h) rnorm(length(eta), exp(eta), sqrt(h))
  ),
  poisson_softplus = likelihood_twin(
    y = c(0, 1, 7, 400), response = eight$counts,
    log_density = function(y, eta, trials = 1) y * log_softplus(eta) - exp(log_softplus(eta)) - lgamma(y + 1),
    draw = function(eta, h) rpois(length(eta), exp(log_softplus(eta)))
  ),
  negbinomial_softplus = likelihood_twin(
    y = c(0, 1, 7, 400), parameters = list(size = 1.7), response = eight$counts,
    log_density = function(y, eta, trials = 1, size = 1) {
      reference_log_density$negbinomial(y, log_softplus(eta), trials, size)
    },
    drawn_with = c(size = 1.7),
    draw = function(eta, h) rnbinom(length(eta), h, mu = exp(log_softplus(eta)))
  ),
  gamma_softplus = likelihood_twin(
    y = c(0.002, 1, 40), size = c(1, 6, 0.4), parameters = list(shape = 2.3), response = eight$positive,
    log_density = function(y, eta, trials = 1, shape = 1) {
      reference_log_density$gamma(y, log_softplus(eta), trials, shape)
    },
    drawn_with = c(shape = 2.3),
    draw = function(eta, h) rgamma(length(eta), h, h / exp(log_softplus(eta)))
  ),
  compois = likelihood_twin(
    y = c(0, 1, 7, 40), parameters = list(nu = 0.7), response = eight$counts,
    log_density = of_compois, drawn_with = c(nu = 1.4),
    draw = function(eta, h) {
      vapply(pmin(eta, 6), function(e) with(conway_maxwell(e, h[[1]]), sample(y, 1, prob = p)), 0)
    }
  ),
  nbinom1 = likelihood_twin(
    y = c(0, 1, 7, 400), parameters = list(phi = 1.7), response = eight$counts,
    log_density = function(y, eta, trials = 1, phi = 1) of_nbinom1_phi(y, eta, log(phi), trials),
    drawn_with = c(phi = 1.7),
    draw = function(eta, h) rnbinom(length(eta), exp(eta) / h, mu = exp(eta))
  ),
  gamma = likelihood_twin(
    y = c(0.002, 1, 40), size = c(1, 6, 0.4), parameters = list(shape = 2.3), response = eight$positive,
    log_density = function(y, eta, trials = 1, shape = 1) {
      dgamma(y, trials * shape, rate = trials * shape * exp(-eta), log = TRUE)
    },
    drawn_with = c(shape = 2.3),
    draw = function(eta, h) rgamma(length(eta), h, h / exp(eta))
  ),
  inverse_gaussian = likelihood_twin(
    y = c(0.02, 1, 40), size = c(1, 6, 0.4), parameters = list(dispersion = 0.7), response = eight$positive,
    log_density = function(y, eta, trials = 1, dispersion = 1) {
      dispersion <- dispersion / trials
      -log(2 * pi * dispersion * y^3) / 2 - expm1(log(y) - eta)^2 / (2 * dispersion * y)
    },
    drawn_with = c(dispersion = 0.4),
    draw = function(eta, h) {
      inverse_gaussian_quantile(runif(length(eta)), exp(eta), h)
    }
  ),
  tweedie = likelihood_twin(
    y = c(0, 0.02, 1, 40), size = c(3, 1, 0.4, 2), parameters = list(dispersion = 0.7, power = 1.5),
    response = eight$zeros,
    log_density = function(y, eta, trials = 1, dispersion = 1, power = 1.5) {
      dispersion <- dispersion / trials
      rate <- exp((2 - power) * eta) / ((2 - power) * dispersion)
      if (y == 0) return(-rate)
      scale <- dispersion * (power - 1) * exp((power - 1) * eta)
      shape <- (2 - power) / (power - 1)
      # the number of gamma variables: terms fall on both sides of y^(2-p) / ((2-p) phi)
      j <- seq_len(ceiling(40 + 4 * y^(2 - power) / ((2 - power) * dispersion)))
      vapply(seq_along(eta), function(i) {
        terms <- -rate[i] + j * log(rate[i]) - lgamma(j + 1) + dgamma(y, j * shape, scale = scale[i], log = TRUE)
        max(terms) + log(sum(exp(terms - max(terms))))
      }, 0)
    },
    drawn_with = c(dispersion = 0.8, power = 1.5),
    draw = function(eta, h) {
      h <- h[[1]]  # the power is 1.5
      number <- rpois(length(eta), 2 * exp(eta / 2) / h)
      ifelse(number > 0, rgamma(length(eta), pmax(number, 1), 2 / (h * exp(eta / 2))), 0)
    }
  ),
  exponential = likelihood_twin(
    y = c(0.002, 1, 40), response = eight$positive,
    log_density = function(y, eta, trials = 1) dexp(y, exp(-eta), log = TRUE),
    draw = function(eta, h) rexp(length(eta), exp(-eta))
  ),
  weibull = likelihood_twin(
    y = c(0.002, 1, 40), parameters = list(shape = 1.6), response = eight$positive,
    log_density = function(y, eta, trials = 1, shape = 1) {
      x <- shape * (log(y) - eta)
      log(shape) - log(y) + x - exp(x)
    },
    drawn_with = c(shape = 1.6),
    draw = function(eta, h) rweibull(length(eta), h, exp(eta))
  ),
  weibull_ph = likelihood_twin(
    y = c(0.002, 1, 40), parameters = list(shape = 1.6), constants = list(reference = 50), response = eight$positive,
    log_density = function(y, eta, trials = 1, shape = 1, reference = 50) {
      x <- shape * log(y / reference) + eta
      log(shape) - log(y) + x - exp(x)
    },
    drawn_with = c(shape = 1.6),
    draw = function(eta, h) {
      50 * (rexp(length(eta)) * exp(-eta))^(1 / h)
    }
  ),
  loglogistic = likelihood_twin(
    y = c(0.002, 1, 40), parameters = list(shape = 1.6), response = eight$positive,
    log_density = function(y, eta, trials = 1, shape = 1) dlogis(log(y), eta, 1 / shape, log = TRUE) - log(y),
    drawn_with = c(shape = 1.6),
    draw = function(eta, h) exp(rlogis(length(eta), eta, 1 / h))
  ),
  lognormal = likelihood_twin(
    y = c(0.002, 1, 40), parameters = list(sigma = 0.7), response = eight$positive,
    log_density = function(y, eta, trials = 1, sigma = 1) dlnorm(y, eta, sigma, log = TRUE),
    drawn_with = c(sigma = 0.7),
    draw = function(eta, h) rlnorm(length(eta), eta, h)
  ),
  censored_gaussian = likelihood_twin(
    y = c(-3, 0, 1.5), parameters = list(variance = 0.7),
    log_density = function(y, eta, trials = 1, variance = 1) dnorm(y, eta, sqrt(variance), log = TRUE),
    drawn_with = c(variance = 0.5),
    draw = function(eta, h) {
      rnorm(length(eta), eta, sqrt(h))
    }
  ),
  stochastic_volatility = likelihood_twin(
    y = c(0, -0.3, 4), response = eight$noise,
    log_density = function(y, eta, trials = 1) dnorm(y, 0, exp(eta / 2), log = TRUE),
    draw = function(eta, h) rnorm(length(eta), 0, exp(eta / 2))
  ),
  laplace = likelihood_twin(
    y = c(0.1, -0.35, 4), parameters = list(scale = 0.7), response = eight$numbers,
    log_density = function(y, eta, trials = 1, scale = 1) -log(2 * scale) - abs(y - eta) / scale,
    drawn_with = c(scale = 0.6),
    draw = function(eta, h) {
      eta + h * rexp(length(eta)) * sample(c(-1, 1), length(eta), TRUE)
    }
  ),
  asymmetric_laplace = likelihood_twin(
    y = c(0.1, -0.35, 4), parameters = list(scale = 0.7), constants = list(quantile = 0.3), response = eight$numbers,
    log_density = function(y, eta, trials = 1, scale = 1, quantile = 0.3) {
      r <- (y - eta) / scale
      log(quantile * (1 - quantile) / scale) - r * (quantile - (r < 0))
    },
    drawn_with = c(scale = 0.6),
    draw = function(eta, h) {
      eta + h * (rexp(length(eta)) / 0.3 - rexp(length(eta)) / 0.7)
    }
  ),
  exgaussian = likelihood_twin(
    y = c(0.1, -2.5, 4), parameters = list(sigma = 0.7, beta = 1.3), response = eight$numbers,
    log_density = function(y, eta, trials = 1, sigma = 1, beta = 1) of_exgaussian(y, eta, sigma, beta),
    drawn_with = c(sigma = 0.6, beta = 1.2),
    draw = function(eta, h) rnorm(length(eta), eta - h[["beta"]], h[["sigma"]]) + rexp(length(eta), 1 / h[["beta"]])
  ),
  skew_normal = likelihood_twin(
    y = c(0.1, -2.5, 4), parameters = list(sigma = 0.7, alpha = -2.5), response = eight$numbers,
    log_density = function(y, eta, trials = 1, sigma = 1, alpha = 1) of_skew_normal(y, eta, sigma, alpha),
    drawn_with = c(sigma = 0.6, alpha = 3),
    draw = function(eta, h) draw_skew_normal(eta, h[["sigma"]], h[["alpha"]])
  ),
  von_mises = likelihood_twin(
    y = c(-3, 0.4, 2), parameters = list(kappa = 2.3), response = eight$angles,
    log_density = function(y, eta, trials = 1, kappa = 1) {
      kappa * (cos(y - eta) - 1) - log(2 * pi * besselI(kappa, 0, expon.scaled = TRUE))
    },
    drawn_with = c(kappa = 3),
    draw = function(eta, h) {
      # Best and Fisher's wrapped Cauchy envelope is longer: a fine grid of the distribution function does
      grid <- seq(-pi, pi, length.out = 2001)
      share <- cumsum(exp(h * (cos(grid) - 1)))
      drawn <- eta + stats::approx(share / max(share), grid, runif(length(eta)), rule = 2)$y
      atan2(sin(drawn), cos(drawn))
    }
  ),
  student = likelihood_twin(
    y = c(0.1, -0.35, 4), parameters = list(df = 3.5, scale = 0.7), response = eight$numbers,
    log_density = function(y, eta, trials = 1, df = 4, scale = 1) {
      dt((y - eta) / scale, df, log = TRUE) - log(scale)
    },
    drawn_with = c(df = 4, scale = 0.7),
    draw = function(eta, h) {
      eta + h[["scale"]] * rt(length(eta), h[["df"]])
    }
  ),
  beta = likelihood_twin(
    y = c(0.03, 0.5, 0.999), parameters = list(precision = 3.5), response = eight$fractions,
    log_density = function(y, eta, trials = 1, precision = 1) of_beta(y, eta, precision),
    drawn_with = c(precision = 5), draw = draw_beta
  ),
  cumulative_logit = ordinal_twin(cumulative_log_density("logit")),
  cumulative_probit = ordinal_twin(cumulative_log_density("probit")),
  cumulative_cloglog = ordinal_twin(cumulative_log_density("cloglog")),
  cumulative_loglog = ordinal_twin(cumulative_log_density("loglog")),
  cumulative_cauchit = ordinal_twin(cumulative_log_density("cauchit")),
  sequential_logit = ordinal_twin(sequential_log_density("logit"), FALSE),
  sequential_probit = ordinal_twin(sequential_log_density("probit"), FALSE),
  sequential_cloglog = ordinal_twin(sequential_log_density("cloglog"), FALSE),
  sequential_loglog = ordinal_twin(sequential_log_density("loglog"), FALSE),
  sequential_cauchit = ordinal_twin(sequential_log_density("cauchit"), FALSE),
  adjacent_category = ordinal_twin(adjacent_log_density, FALSE),
  cumulative_logit_log_disc = disc_twin(cumulative_log_density("logit")),
  cumulative_probit_log_disc = disc_twin(cumulative_log_density("probit")),
  sequential_logit_log_disc = disc_twin(sequential_log_density("logit"), FALSE),
  sequential_probit_log_disc = disc_twin(sequential_log_density("probit"), FALSE),
  adjacent_category_log_disc = disc_twin(adjacent_log_density, FALSE),
  categorical = likelihood_twin(
    y = 0:2, constants = list(classes = 3, reference = -1), latents = 3L, response = factor(eight$classes),
    draw = function(eta, h) {
      draw_class(softmax(eta))
    }
  ),
  stick_breaking = likelihood_twin(
    y = 0:2, constants = list(classes = 3), latents = 2L, response = factor(eight$classes),
    draw = function(eta, h) {
      first <- plogis(eta[, 1])
      second <- (1 - first) * plogis(eta[, 2])
      draw_class(cbind(first, second, 1 - first - second))
    }
  )
)

likelihood_examples <- likelihood_twins
likelihood_cases <- lapply(likelihood_twins, function(twin) {
  list(hyper = twin$drawn_with, latents = twin$latents, constants = twin$constants, ordered = twin$ordered,
    numbers = twin$numbers,
       draw = twin$draw)
})
densities_of <- function(latents) {
  chosen <- Filter(function(twin) !is.null(twin$log_density) && max(1, twin$latents) == latents, likelihood_twins)
  lapply(chosen, `[[`, "log_density")
}
reference_log_density <- densities_of(1)
two_predictor_densities <- densities_of(2)
three_predictor_densities <- densities_of(3)
four_predictor_densities <- densities_of(4)
predictor_densities <- c(two_predictor_densities, three_predictor_densities, four_predictor_densities)

latents_of <- function(type) max(1, likelihood_cases[[type]]$latents)

# The border's list for a prior of helper-models.R and one of these; `expectation` as the interface names it.
likelihood_model <- function(type, kind, n, variance = exp(rnorm(1)), expectation = "auto", weights = NULL,
                             prior = random_prior(kind, n, variance)) {
  case <- likelihood_cases[[type]]
  K <- latents_of(type)
  force(prior)
  offset <- matrix(rnorm(n * K, sd = 0.3), n)
  eta <- offset + rnorm(n * K)
  y <- case$draw(if (K == 1) drop(eta) else eta, case$hyper)
  settings <- prior$settings
  if (!is.null(case$ordered)) {
    own <- grep("^t[0-9]", names(case$hyper), value = TRUE)
    free <- list(transform = "identity", lower = -1e3, upper = 1e3)
    settings <- c(stats::setNames(list(free), own[1]), lapply(stats::setNames(nm = own[-1]), function(name) {
      if (case$ordered) list(transform = "above", lower = 1e-8, upper = 1e3) else free
    }))
  }
  if ("power" %in% names(case$hyper)) {
    settings <- c(settings, list(power = list(transform = "one_to_two", lower = 1.01, upper = 1.99)))
  }
  hyper <- c(prior$hyper, case$hyper)
  model <- new_model(y, prior$terms, hyper, "poisson", offset = numeric(n), settings = settings)
  model$offset <- offset
  if (!is.null(weights)) model$weights <- weights
  at <- as.list(length(prior$hyper) + seq_along(case$hyper))
  names(at) <- names(case$hyper)
  if (!is.null(case$ordered)) {
    own <- grepl("^t[0-9]", names(at))
    at <- c(stats::setNames(list(unlist(at[own], use.names = FALSE)), case$numbers), at[!own])
  }
  constants <- if (is.null(case$constants)) list() else case$constants
  model$likelihood <- list(type = type, hyper = at, constants = constants)
  if (!is.null(prior$per_class)) {
    model$predictors <- unlist(Map(function(terms, k) {
      own <- with_terms(model, terms)$predictors
      own[[1]]$latents <- k
      own
    }, prior$per_class, seq_along(prior$per_class)), recursive = FALSE)
  } else {
    model$predictors[[1]]$latents <- seq_len(ncol(offset))
  }
  model$expectation <- expectation
  model
}

# The expectations that are possible for a likelihood.
served_expectations <- function(type) {
  set.seed(1)
  likelihood <- likelihood_model(type, "gp", 3)$likelihood
  names <- expectation_facts()$name
  names[vapply(names, function(name) probe_expectation_refuses(name, likelihood) == "", NA)]
}
