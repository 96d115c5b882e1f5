# How many sweeps and flops does coordinate ascent take, beside newton and Opper and Archambeau's L-BFGS?
#
# The comparison of Khan, Mohamed and Murphy (2012): ionosphere (351 rows, inputs standardised) and sonar (208 rows),
# logit link, zero mean, se() kernel with log s and log sigma in {-1, 1, 3} (s = lengthscale^2, sigma^2 = variance),
# the exact expectation and the piecewise bound with 20 pieces; glass (214 rows, 6 classes, MASS::fgl, standardised)
# by stick-breaking at four settings. Opper and Archambeau's variables are run as the paper ran them, from a cold
# start, at most 1000 evaluations. "sweeps": until two successive bounds differ by less than 1e-3, the paper's rule;
# units of one Cholesky factorisation (n^3 / 3 flops; K of them for K latents) until 1e-3 nats below the best.
source("bench/_helper.R")

fixture <- function(name) {
  data <- read.csv(file.path("tests/testthat/fixtures", paste0(name, ".csv.gz")))
  transform(data, y = as.numeric(y > 0))
}
glass <- MASS::fgl
glass[1:9] <- scale(glass[1:9])
cases <- list(
  ionosphere = list(y ~ 0 + gp(., kernel = kernel), fixture("ionosphere351"), binomial()),
  sonar = list(y ~ 0 + gp(., kernel = kernel), fixture("sonar208"), binomial()),
  glass = list(type ~ 0 + gp(., kernel = kernel), glass, stick_breaking())
)

# The trace of one method; `cold` has no place in the interface.
path <- function(case, kernel, method, expectation) {
  environment(case[[1]]) <- environment()
  cold <- method == "opper_archambeau"
  control <- galvi_control(threads = 1, max_iterations = if (cold) 1000 else 500)
  prepared <- galvi:::prepare_model(case[[1]], case[[2]], case[[3]], expectation = expectation, held = TRUE)
  control$cold <- cold
  galvi:::fit_model(prepared$model, method, "fixed", control, NULL)$trace
}

cost <- function(trace, best, unit) {
  near <- which(best - trace$elbo <= 1e-3)[1]
  data.frame(
    sweeps = if (is.na(near)) NA else which(diff(trace$elbo) < 1e-3)[1], units = trace$flops[near] / unit,
    short = best - max(trace$elbo)
  )
}

compare <- function(name, log_s, log_sigma, expectation) {
  case <- cases[[name]]
  kernel <- se(variance = fixed(exp(2 * log_sigma)), lengthscale = fixed(exp(log_s / 2)))
  traces <- lapply(c(ca = "coordinate_ascent", newton = "newton", oa = "opper_archambeau"), function(method) {
    path(case, kernel, method, expectation)
  })
  best <- max(vapply(traces, function(trace) max(trace$elbo), 0))
  n <- nrow(case[[2]])
  latents <- if (name == "glass") 5 else 1
  costs <- lapply(traces, cost, best, latents * n^3 / 3)
  data.frame(
    data = name, expectation = expectation, log_s = log_s, log_sigma = log_sigma, elbo = sprintf("%.4f", best),
    sweeps = costs$ca$sweeps, ca = costs$ca$units, newton = costs$newton$units, oa = costs$oa$units,
    oa_short = costs$oa$short
  )
}

grid <- expand.grid(log_s = c(-1, 1, 3), log_sigma = c(-1, 1, 3))
settings <- rbind(
  cbind(name = "ionosphere", grid, expectation = "piecewise"),
  cbind(name = "ionosphere", grid, expectation = "quadrature"),
  cbind(name = "sonar", grid, expectation = "quadrature"),
  cbind(name = "glass", expand.grid(log_s = c(-1, 1), log_sigma = c(1, 3)), expectation = "piecewise")
)
table <- do.call(rbind, Map(compare, settings$name, settings$log_s, settings$log_sigma, settings$expectation))
machine(351)
options(width = 120)
show_table(table)
target("sweeps on ionosphere", max(table$sweeps[table$data == "ionosphere"]), 5)
target("sweeps on glass", max(table$sweeps[table$data == "glass"]), 20)
target("newton's cost against coordinate ascent's", max(table$newton / table$ca), 1)

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread; chol(351) is 14.4 million flops):
#
#                            log sigma = -1          1                     3
#                            ca    newton  oa        ca    newton  oa      ca      newton  oa
#   ionosphere, sweeps       2-3                     4                     12
#     units, exact           22-31   7     26-76     36-39   11    76, -   90-106  12-17   -
#     units, piecewise       22-31   7     26-76     36-40   11    76, -   90-106  12-21   -
#   sonar, sweeps            2                       4                     11-12
#     units                  23      5      8        36-40    8-12 17-221  88-94   12-14   21, 82, -
#   glass, sweeps                                    4                     11-12
#     units                                          52      30    -       146-155 32-48   -
#
# Coordinate ascent settles in 2 to 4 sweeps where log sigma <= 1, as the paper says, and in 11 or 12 where the
# prior's variance is exp(6): there one variance after the other is slow, and the target of 5 is missed. A sweep
# with its mean is 8 to 15 units. newton needs a half to a seventh of the flops everywhere. A dash: Opper and
# Archambeau's variables do not get within 1e-3 nats in 1000 evaluations (0.6 to 250 nats short).
#
# The paper's table has 6 to 81 million flops for its algorithm and 20 giga to 24 tera for the other's. One Cholesky
# factorisation at n = 281, its training rows, is 7.4 million, so its low figures cannot be of whole iterations; in
# our count coordinate ascent takes 0.3 to 1.5 thousand million.
