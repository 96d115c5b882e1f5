# Where does gamma = -2 dE/dv rise with v, where does it fall?
#
# Figure 1 of Sheth and Khardon (2016): their fixed point for V converges if gamma >= 0 and, for every mean,
# gamma never rises in v (2b); if it never falls (2a), to the optimum or to a cycle of two. The sign of d
# gamma / dv = -2 d^2E/dv^2 on a grid of 201 means from -10 to 10 and 121 variances from 0.01 to 100 (equal
# steps of log v), exact expectations, one response each. Shares of the grid, and whether gamma is negative
# somewhere. The pictures go to bench/output/gamma-sign.png: orange where gamma rises, blue where it falls,
# grey where its slope is below 1e-12.
source("bench/_helper.R")
source("tools/probes.R")

cases <- list(
  "logistic, y = 1" = list("binomial_logit", 1), "probit, y = 1" = list("binomial_probit", 1),
  "poisson, y = 2" = list("poisson", 2),
  "negbinomial, y = 2, size = 2" = list("negbinomial", 2, list(size = 2)),
  "gamma, y = 2, shape = 2" = list("gamma", 2, list(shape = 2)),
  "exponential, y = 2" = list("exponential", 2),
  "volatility, y = 2" = list("stochastic_volatility", 2),
  "laplace, y = 0, scale = 1" = list("laplace", 0, list(scale = 1)),
  "student, y = 0, df = 3" = list("student", 0, list(df = 3, scale = sqrt(1 / 3))),
  "beta, y = 0.7, precision = 5" = list("beta", 0.7, list(precision = 5)),
  "cumulative logit, middle of -1, 1" = list("cumulative_logit", 1, list(thresholds = c(-1, 1))),
  "cumulative probit, middle of -1, 1" = list("cumulative_probit", 1, list(thresholds = c(-1, 1)))
)
means <- seq(-10, 10, length.out = 201)
variances <- exp(seq(log(0.01), log(100), length.out = 121))
grid <- expand.grid(mean = means, variance = variances)

# gamma and its derivative in v on the grid, less than rounding of the largest taken as zero
on_grid <- function(type, y, parameters = list()) {
  hyper <- unlist(parameters)
  spec <- list(type = type, hyper = relist(seq_along(hyper), parameters))
  n <- nrow(grid)
  e <- probe_expectation(
    spec, "auto", as.numeric(hyper), rep(y, n), rep(1, n), rep(1, n), grid$mean, grid$variance, 2L, 1L
  )
  list(gamma = -2 * e$d_v, slope = -2 * e$d_vv)
}
found <- lapply(cases, function(case) do.call(on_grid, case))
sign_of <- function(slope) sign(ifelse(abs(slope) < 1e-12, 0, slope))

table <- do.call(rbind, lapply(names(found), function(name) {
  signs <- sign_of(found[[name]]$slope)
  data.frame(
    likelihood = name, rises = mean(signs > 0), falls = mean(signs < 0),
    negative = min(found[[name]]$gamma) < -1e-9
  )
}))
show_table(table, 2)

dir.create("bench/output", showWarnings = FALSE)
png("bench/output/gamma-sign.png", 1200, 900, res = 110)
par(mfrow = c(3, 4), mar = c(3, 3, 2.2, 0.5), mgp = c(1.9, 0.6, 0), cex.main = 0.95)
for (name in names(found)) {
  signs <- matrix(sign_of(found[[name]]$slope), length(means))
  image(means, log10(variances), signs, zlim = c(-1, 1), col = c("#4477AA", "grey90", "#EE7733"), xlab = "m",
        ylab = "log10 v", main = name)
}
invisible(dev.off())

# Answer (any machine): gamma rises everywhere for poisson, gamma, exponential and volatility (condition 2a).
# Logit, negative binomial, cumulative logit and laplace: it falls where sqrt(v) is large against the
# distance of m from where log p bends most (29%, 29%, 33% and 22% of the grid), rises elsewhere. Probit: it
# falls where m is on the wrong side. Neither condition holds for these, and the plain fixed point does cycle
# in wide priors: galvi shortens steps. student and beta rise in two bands only and have gamma < 0 beyond.
