# Censored and truncated responses with R's own distribution functions.

survival_examples <- list(
  weibull = list(parameter = "shape", value = 1.6, times = TRUE),
  exponential = list(parameter = NULL, value = numeric(), times = TRUE),
  loglogistic = list(parameter = "shape", value = 1.6, times = TRUE),
  lognormal = list(parameter = "sigma", value = 0.7, times = TRUE),
  censored_gaussian = list(parameter = "variance", value = 0.5, times = FALSE)
)

survival_spec <- function(type, constants = list(censored = 1, bounded = 1, truncated = 1)) {
  hyper <- if (length(survival_examples[[type]]$value)) list(1L)
  names(hyper) <- survival_examples[[type]]$parameter
  list(type = type, hyper = as.list(hyper), constants = constants)
}

# A row of each kind: observed, right, left, interval (a narrow and a wide one), and with an entry.
survival_rows <- function(type) {
  if (survival_examples[[type]]$times) {
    rbind(
      observed = c(3, 3, 0), right = c(3, Inf, 0), left = c(0, 3, 0), wide = c(0.5, 40, 0),
      narrow = c(3, 3.01, 0), late = c(3, 3, 2), late_right = c(3, Inf, 2.9)
    )
  } else {
    rbind(
      observed = c(-1, -1, -Inf), right = c(1, Inf, -Inf), left = c(-Inf, 1, -Inf), wide = c(-4, 3, -Inf),
      narrow = c(1, 1.01, -Inf), late = c(1, 1, -0.5), late_right = c(1, Inf, 0.9)
    )
  }
}

# log P(Y > y) and log p(y) given eta
survival_functions <- list(
  weibull = list(
    above = function(y, eta, h, below = FALSE) pweibull(y, h, exp(eta), below, TRUE),
    density = function(y, eta, h) dweibull(y, h, exp(eta), TRUE)
  ),
  exponential = list(
    above = function(y, eta, h, below = FALSE) pexp(y, exp(-eta), below, TRUE),
    density = function(y, eta, h) dexp(y, exp(-eta), TRUE)
  ),
  loglogistic = list(
    above = function(y, eta, h, below = FALSE) plogis(log(y), eta, 1 / h, below, TRUE),
    density = function(y, eta, h) dlogis(log(y), eta, 1 / h, TRUE) - log(y)
  ),
  lognormal = list(
    above = function(y, eta, h, below = FALSE) plnorm(y, eta, h, below, TRUE),
    density = function(y, eta, h) dlnorm(y, eta, h, TRUE)
  ),
  censored_gaussian = list(
    above = function(y, eta, h, below = FALSE) pnorm(y, eta, sqrt(h), below, TRUE),
    density = function(y, eta, h) dnorm(y, eta, sqrt(h), TRUE)
  )
)

reference_survival <- function(type, row, eta, h = survival_examples[[type]]$value) {
  of <- survival_functions[[type]]
  if (row[1] == row[2]) {
    value <- of$density(row[1], eta, h)
  } else {
    # from the tail that keeps the digits
    far <- of$above(row[1], eta, h)
    near <- of$above(row[2], eta, h)
    below <- of$above(row[2], eta, h, TRUE)
    rest <- of$above(row[1], eta, h, TRUE)
    value <- ifelse(far < rest, far + log1p(-exp(near - far)), below + log1p(-exp(rest - below)))
  }
  value - of$above(row[3], eta, h)
}

survival_sweep <- function(type, row, mean, variance, h = survival_examples[[type]]$value,
                           constants = list(censored = 1, bounded = 1, truncated = 1), expectation = "auto") {
  n <- length(mean)
  one <- rep(1, n)
  range <- matrix(row, n, 3, byrow = TRUE)
  probe_expectation(survival_spec(type, constants), expectation, h, one, one, one, mean, variance, 2L, 1L,
                    censoring = range)
}

# Data of package survival, complete rows; event: 1 or 0.
lung_data <- function() {
  skip_if_not_installed("survival")
  d <- na.omit(survival::lung[c("time", "status", "age", "sex", "ph.ecog")])
  d$event <- d$status - 1
  d
}

# The rows of d, a third at a time.
rows_of_three <- function(d) {
  part <- 0
  function(reset = FALSE) {
    if (reset) return(part <<- 0)
    part <<- part + 1
    if (part > 3) return(NULL)
    d[ceiling(3 * seq_len(nrow(d)) / nrow(d)) == part, ]
  }
}
