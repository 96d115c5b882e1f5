# What does one sweep cost: the expectations of 100,000 rows with their derivatives, on one thread?
#
# Means are drawn from N(0, variance), as under a prior of that variance. Order 1 is value and gradient, order
# 2 has the second derivatives too. Likelihoods with parameters of their own: the gradient in those included,
# which is a second sweep. CPU seconds, median of five.

source("tools/probes.R")

n <- 1e5
variances <- c(0.005, 0.5, 4, 100, 400)
parameters <- list(
  gaussian = list(variance = 0.5), gamma = list(shape = 2), negbinomial = list(size = 2),
  laplace = list(scale = 0.5), student = list(df = 4, scale = 0.5), beta = list(precision = 10),
  cumulative_logit = list(thresholds = c(-1, 0.5, 2)), cumulative_probit = list(thresholds = c(-1, 0.5, 2))
)
spec_of <- function(type) {
  hyper <- parameters[[type]]
  list(type = type, hyper = if (length(hyper)) relist(seq_along(unlist(hyper)), hyper) else list())
}
response <- function(type, eta) {
  switch(type,
    gaussian = , laplace = , student = eta + rnorm(n, 0, 0.5),
    poisson = , negbinomial = rpois(n, exp(pmin(eta, 5))),
    gamma = , exponential = pmax(rexp(n), 1e-6) * exp(pmin(eta, 5)),
    stochastic_volatility = rnorm(n) * exp(pmin(eta, 5) / 2),
    beta = pmin(pmax(rbeta(n, 10 * plogis(eta), 10 * plogis(-eta)), 1e-6), 1 - 1e-6),
    cumulative_logit = , cumulative_probit = findInterval(eta + rlogis(n), c(-1, 0.5, 2)),
    rbinom(n, 1, plogis(eta))
  )
}
sweep_seconds <- function(type, expectation, variance, order) {
  set.seed(1)
  mean <- rnorm(n, 0, sqrt(min(variance, 20)))
  y <- response(type, mean)
  one <- rep(1, n)
  hyper <- as.numeric(unlist(parameters[[type]]))
  time <- function() {
    t <- system.time(
      probe_expectation(
        spec_of(type), expectation, hyper, y, one, one, mean, rep(variance, n), order, 1L
      ),
      gcFirst = FALSE
    )
    t[["user.self"]] + t[["sys.self"]]
  }
  median(replicate(5, time()))
}

facts <- galvi:::likelihood_facts()
cases <- expand.grid(
  expectation = c("auto", setdiff(galvi:::expectation_facts()$name, c("closed_form", "quadrature"))),
  type = facts$type[facts$latents == 1], stringsAsFactors = FALSE
)
served <- mapply(function(expectation, type) {
  probe_expectation_refuses(expectation, spec_of(type)) == ""
}, cases$expectation, cases$type)
cases <- cases[served, ]
for (order in 1:2) {
  cat("order", order, "\n")
  seconds <- sapply(setNames(variances, paste0("v = ", variances)), function(v) {
    mapply(sweep_seconds, cases$type, cases$expectation, variance = v, order = order)
  })
  rownames(seconds) <- paste(cases$type, cases$expectation)
  print(round(seconds, 3))
}

# Measured (2 shared cores, Xeon, g++ 12 -O2, R 4.2), seconds per sweep at order 2; order 1 is 0 to 20 % less:
#                                 v = 0.005     0.5     4   100   400
#   gaussian auto                    0.005   0.005 0.005   0.006   0.004
#   gaussian taylor                  0.006   0.007 0.006   0.006   0.007
#   binomial_logit auto              0.027   0.014 0.017   0.034   0.044
#   binomial_logit piecewise         0.014   0.055 0.054   0.041   0.039
#   binomial_logit log               0.011   0.011 0.010   0.008   0.009
#   binomial_logit jaakkola          0.014   0.014 0.014   0.014   0.015
#   binomial_logit taylor            0.010   0.010 0.012   0.010   0.010
#   binomial_probit auto             0.036   0.014 0.018   0.034   0.049
#   binomial_probit taylor           0.013   0.013 0.013   0.014   0.014
#   binomial_probit two_stage        0.012   0.012 0.013   0.014   0.013
#   poisson auto                     0.006   0.006 0.006   0.007   0.006
#   poisson taylor                   0.007   0.005 0.005   0.005   0.005
#   gamma auto                       0.011   0.011 0.010   0.009   0.009
#   gamma taylor                     0.019   0.019 0.020   0.021   0.020
#   exponential auto                 0.007   0.007 0.007   0.006   0.007
#   exponential taylor               0.007   0.007 0.007   0.007   0.008
#   negbinomial auto                 0.090   0.047 0.056   0.092   0.127
#   negbinomial piecewise            0.050   0.171 0.169   0.121   0.120
#   negbinomial log                  0.032   0.034 0.033   0.027   0.027
#   negbinomial jaakkola             0.042   0.047 0.047   0.045   0.045
#   negbinomial taylor               0.101   0.104 0.104   0.096   0.096
#   stochastic_volatility auto       0.005   0.005 0.004   0.005   0.005
#   stochastic_volatility taylor     0.005   0.005 0.004   0.005   0.005
#   laplace auto                     0.013   0.008 0.008   0.008   0.008
#   laplace super_gaussian           0.007   0.008 0.006   0.006   0.007
#   student auto                     0.102   0.266 0.339   0.475   0.538
#   student taylor                   0.017   0.017 0.017   0.017   0.017
#   student super_gaussian           0.014   0.013 0.012   0.013   0.012
#   beta auto                        0.200   0.714 1.661   2.362   2.712
#   beta taylor                      0.078   0.077 0.073   0.070   0.070
#   cumulative_logit auto            0.085   0.046 0.048   0.074   0.102
#   cumulative_logit piecewise       0.055   0.165 0.147   0.097   0.096
#   cumulative_logit log             0.032   0.033 0.028   0.021   0.021
#   cumulative_logit jaakkola        0.044   0.045 0.041   0.036   0.036
#   cumulative_logit taylor          0.105   0.105 0.094   0.080   0.080
#   cumulative_probit auto           0.093   0.431 0.984   1.372   1.597
#   cumulative_probit taylor         0.040   0.039 0.039   0.039   0.040
# At v <= 4 logit, poisson, laplace and gamma take at most 0.03 s, and everything made of log sigmoid or log
# Phi at most 0.17 s. Sampled link functions make a datum cost 0.1 to 0.5 microseconds at any prior variance
# that is used; below v = 0.01 seven exact evaluations take over, which cost more than the sums of the samples
# do. student, beta and cumulative_probit evaluate their density at 20 to 100 nodes a row: beta's derivatives
# need two log gamma functions, 160 ns a node; cumulative_probit takes 80 to 120 ns, student less than 30.
