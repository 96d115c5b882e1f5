# How many sweeps and flops does coordinate ascent take, beside newton and Opper and Archambeau's L-BFGS?
#
# The comparison of Khan, Mohamed and Murphy (2012): ionosphere (351 rows) and sonar (208 rows), inputs standardised,
# logit link, zero mean, se() kernel with log s and log sigma in {-1, 1, 3} (s = lengthscale^2, sigma^2 = variance), the
# exact expectation and the piecewise bound with 20 pieces; USPS 3 against 5 (767 rows, 256 pixels from -1 to 1)
# likewise; glass (214 rows, 6 classes, MASS::fgl, standardised) by stick-breaking at four settings. Opper and
# Archambeau's variables are run from a cold start, at most 1000 iterations (200 on USPS). "sweeps": until 1e-3 nats
# below the best bound; "rule": until two successive bounds differ by less than 1e-3, as the paper stopped; costs in
# units of one Cholesky factorisation (n^3 / 3 flops; K of them for K latents) until 1e-3 nats below the best.
source("bench/_helper.R")

fixture <- function(file) {
  data <- read.csv(file.path("tests/testthat/fixtures", file))
  transform(data, y = as.numeric(y > 0))
}
digits <- transform(read.csv("bench/data/usps767.csv.xz"), y = as.numeric(y > 0))
digits[-1] <- digits[-1] / 31.5 - 1
glass <- MASS::fgl
glass[1:9] <- scale(glass[1:9])
cases <- list(
  ionosphere = list(y ~ 0 + gp(., kernel = kernel), fixture("ionosphere351.csv.gz"), binomial()),
  sonar = list(y ~ 0 + gp(., kernel = kernel), fixture("sonar208.csv.gz"), binomial()),
  usps = list(y ~ 0 + gp(., kernel = kernel), digits, binomial()),
  glass = list(type ~ 0 + gp(., kernel = kernel), glass, stick_breaking())
)

# The trace of one method; `cold` has no place in the interface.
path <- function(case, kernel, method, expectation) {
  environment(case[[1]]) <- environment()
  cold <- method == "opper_archambeau"
  most <- if (!cold) 500 else if (nrow(case[[2]]) > 500) 200 else 1000
  control <- galvi_control(threads = 1, max_iterations = most)
  design <- galvi_design(case[[1]], case[[2]], case[[3]])
  model <- galvi_model(design, expectation = expectation, hyper = "fixed")
  control$cold <- cold
  galvi:::fit_model(model, method, "fixed", control, NULL)$trace
}

cost <- function(trace, best, unit) {
  near <- which(best - trace$elbo <= 1e-3)[1]
  data.frame(
    sweeps = near - 1, rule = c(which(diff(trace$elbo) < 1e-3), nrow(trace) - 1)[1],
    units = trace$flops[near] / unit, short = best - max(trace$elbo)
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
    data = name, expectation = expectation, log_s = log_s, log_sigma = log_sigma,
    elbo = sprintf("%.4f", best),
    sweeps = costs$ca$sweeps, rule = costs$ca$rule, ca = costs$ca$units, newton = costs$newton$units,
    oa = costs$oa$units, oa_short = costs$oa$short, Mflops = costs$ca$units * latents * n^3 / 3e6
  )
}

grid <- expand.grid(log_s = c(-1, 1, 3), log_sigma = c(-1, 1, 3))
settings <- rbind(
  cbind(name = "ionosphere", grid, expectation = "piecewise"),
  cbind(name = "ionosphere", grid, expectation = "quadrature"),
  cbind(name = "sonar", grid, expectation = "quadrature"),
  cbind(name = "usps", grid, expectation = "quadrature"),
  cbind(name = "glass", expand.grid(log_s = c(-1, 1), log_sigma = c(1, 3)), expectation = "piecewise")
)
table <- do.call(rbind, Map(compare, settings$name, settings$log_s, settings$log_sigma, settings$expectation))
machine(351, 767)
options(width = 130)
show_table(table)

# What the paper counts on ionosphere (281 rows, piecewise), in units of its own n^3 / 3, beside ours.
paper <- data.frame(
  ca = 1e6 * c(6, 26, 47, 7, 20, 81, 7, 22, 75),
  oa = c(20e9, 101e9, 38e9, 212e9, 24e12, 1e12, 6e12, 24e12, 24e12)
)
unit <- 281^3 / 3
ours <- table[table$data == "ionosphere" & table$expectation == "piecewise", ]
show_table(data.frame(
  grid, paper_ca = paper$ca / unit, paper_oa = paper$oa / unit, paper_ratio = paper$oa / paper$ca,
  ca = ours$ca, newton = ours$newton, oa = ours$oa, ratio = ours$oa / ours$ca
))
target("sweeps on ionosphere", max(table$sweeps[table$data == "ionosphere"]), 5)
target("sweeps on glass", max(table$sweeps[table$data == "glass"]), 20)

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread; chol(351) is 14.4 million flops):
#
#                            log sigma = -1          1                        3
#                            ca    newton  oa        ca    newton  oa         ca     newton  oa
#   ionosphere, sweeps       0                       1-2                      4-5
#     units, exact           7     7       13-51     16-26 11      66-1208    45-60  12-17   325-1429, -
#     units, piecewise       7     7       13-51     16-26 11      66-1468    45-60  12-21   341-1502, -
#   sonar, sweeps            0                       1                        1-4
#     units                  8     5       8         14-18 8-12    14-127     18-52  12-14   37-801
#   USPS, sweeps             0                       1-2                      1-5
#     units                  8     5-8     8-14      14-26 8-11    14-69      17-55  11-12   47-251
#   glass, sweeps                                    1-2                      6
#     units                                          32-45 30      877-4386   99-102 35-48   -
#
# (Where log sigma = -1 the start, one step of the natural gradient and m for it, is near enough.) With eq. 16
# as it stands, with the row's mean fixed, and from V = Sigma, it took 2 to 4 sweeps where log sigma <= 1 and 11 or
# 12 where the prior's variance is exp(6), as one variance and its mean waited for each other; that the mean
# follows brings these to 7, the start to 5. A dash: Opper and Archambeau's variables do not get within 1e-3
# nats in 1000 iterations at one of the settings (glass: at either). newton is as cheap or up to five times
# cheaper.
#
# The paper has, for its algorithm, 6 to 81 million flops, 0.8 to 11 Cholesky factorisations of its 281 rows:
# the low figures cannot be of whole iterations (a sweep of n rank-one updates alone is n^3 flops, three of
# them). Its ratio to the other method is 800 to 1,200,000, ours on ionosphere 2 to 90, and more at the one
# setting where the other one does not arrive: with bounds lambda >= 0, L-BFGS is not as slow as the paper's.
