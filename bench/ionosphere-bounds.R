# What does a bound on the expectation cost in the evidence bound?
#
# Ionosphere, 351 rows, inputs standardised, zero mean, se() kernel with log s and log sigma in {-1, 1, 3} (s
# = lengthscale^2, sigma^2 = variance), logit link: how far the optimum with each bound lies below the one
# with exact expectations, in nats. "taylor" is not a bound: its loss may be negative.
source("bench/_helper.R")

data <- read.csv("tests/testthat/fixtures/ionosphere351.csv.gz")
data$y <- as.numeric(data$y > 0)

infer <- function(log_s, log_sigma, expectation, pieces = 20) {
  kernel <- se(variance = fixed(exp(2 * log_sigma)), lengthscale = fixed(exp(log_s / 2)))
  galvi(y ~ 0 + gp(., kernel = kernel), data, binomial(), expectation = expectation, hyper = "fixed",
        control = galvi_control(pieces = pieces, threads = 1))
}
ways <- list(
  exact = list("auto"), piecewise3 = list("piecewise", 3), piecewise5 = list("piecewise", 5),
  piecewise10 = list("piecewise", 10), piecewise20 = list("piecewise", 20), jaakkola = list("jaakkola"),
  log = list("log"), taylor = list("taylor")
)

settings <- expand.grid(log_s = c(-1, 1, 3), log_sigma = c(-1, 1, 3))
fits <- Map(function(log_s, log_sigma) {
  lapply(ways, function(way) do.call(infer, c(log_s, log_sigma, way)))
}, settings$log_s, settings$log_sigma)
of_fits <- function(f) t(vapply(fits, function(row) vapply(row, f, 0), numeric(length(ways))))

elbo <- of_fits(function(fit) fit$elbo)
loss <- elbo[, "exact"] - elbo[, -1]
options(width = 110)
machine(nrow(data))
show_table(data.frame(settings, exact = sprintf("%.4f", elbo[, "exact"]), round(loss, 4)))
show_table(data.frame(
  way = names(ways), settled = colSums(of_fits(function(fit) fit$convergence$converged)),
  certified = colSums(of_fits(function(fit) isTRUE(fit$convergence$gap <= 1e-7))),
  factorisations = apply(of_fits(function(fit) fit$cost$factorisations), 2, max),
  units = apply(of_fits(units), 2, max)
))
bounds <- setdiff(colnames(loss), "taylor")
target("nats by which a bound lies above the exact ELBO", max(-loss[, bounds]), 1e-7)
target("loss with 20 pieces against jaakkola's", max(loss[, "piecewise20"] / loss[, "jaakkola"]), 1)

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread), nats below the exact ELBO:
#
#   log s  log sigma     exact  pieces: 3     5     10      20  jaakkola     log  taylor
#      -1         -1 -234.8898       24.4  4.09  0.453  0.0455     0.101    6.30  0.0841
#       1         -1 -201.5102       19.6  3.18  0.426  0.0423     0.328    6.67  0.0584
#       3         -1 -187.0408       15.8  2.32  0.398  0.0403     0.313    4.57  0.0292
#      -1          1 -202.9832       14.8  2.60  0.359  0.0389    37.573  166.95  8.7781
#       1          1 -138.9913       17.0  2.81  0.357  0.0387    33.554  129.09  4.8113
#       3          1 -113.9817       14.1  2.27  0.361  0.0387    18.782   48.88  1.8548
#      -1          3 -245.8130       25.6  4.72  0.632  0.0677   249.482  558.05  1.0663
#       1          3 -162.6666       25.8  4.79  0.644  0.0697   195.666  483.89 -0.9090
#       3          3 -119.7478       25.1  4.58  0.603  0.0634   123.717  235.76 -5.7259
#
# The piecewise bound alone is tight at every setting: with 20 pieces 0.04 to 0.07 nats, within 351 times its
# largest error (0.075), which falls with the cube of the number of pieces. jaakkola and log are off by tens
# and hundreds of nats where the prior is wide. Every bound settles with its certificate in at most 6
# factorisations; taylor has no certificate, and its value may lie on either side.
