# How near gp(neighbours = m) is to the full Gaussian process: 2,000 places of the unit square.
#
#   Rscript bench/neighbours-accuracy.R
#
# KL(full || neighbours) a row times 1,000, and the largest error of a prior variance:
#
#     kernel  m       f      y variance
#   matern12 10   1.930 0.7554  2.6e-03
#   matern12 20   0.158 0.0513  6.6e-04
#   matern12 30   0.024 0.0071  9.5e-05
#   matern32 10  40.947 2.0600  2.9e-02
#   matern32 20   5.916 0.2609  4.3e-03
#   matern32 30   1.201 0.0361  9.5e-04
#   matern52 10 232.954 2.8105  4.2e-02
#   matern52 20  55.701 0.5319  7.7e-03
#   matern52 30  21.880 0.1141  2.5e-03
#
# Learned with 20 neighbours beside the full process, matern32: poisson, variance .9965 (.9956), lengthscale .0923 (.0929),
# means apart by 0.14 standard deviations at most; gaussian .988 (1.004), .0933 (.0948), 0.39.
source("bench/_helper.R")

n <- 2000
kernels <- list(matern12 = matern12, matern32 = matern32, matern52 = matern52)

# The covariance of a process at the rows of d: the posterior's where observations say nothing.
covariance_of <- function(formula, d) {
  fit <- galvi(formula, d, galvi_family(gaussian(), variance = fixed(1e12)), hyper = "fixed")
  predict(fit, d, type = "link", covariance = TRUE)$covariance
}

half_log_det <- function(A) sum(log(diag(chol(A))))

# KL(full || neighbours) a row, times 1,000, at variance 1 and lengthscale 0.2: of f and of y = f + noise of variance
# 0.1. Of f it is half the difference of the log determinants, because tr(Q K) = n. And the largest error of a variance.
divergence <- function(name, m, d, K) {
  kernel <- kernels[[name]](1, 0.2)
  V <- covariance_of(y ~ 0 + gp(x, z, kernel = kernel, neighbours = m), d)
  with_noise <- function(A) A + diag(0.1, n)
  y <- (sum(solve(with_noise(V)) * with_noise(K)) - n) / 2 + half_log_det(with_noise(V)) - half_log_det(with_noise(K))
  data.frame(kernel = name, m = m, f = 1e3 * (half_log_det(V) - half_log_det(K)) / n, y = 1e3 * y / n,
    variance = max(abs(diag(V) - 1)))
}

set.seed(1)
d <- data.frame(x = runif(n), z = runif(n), y = 0)
cat("KL(full || neighbours) a row times 1,000, and the largest error of a prior variance:\n")
show_table(do.call(rbind, lapply(names(kernels), function(name) {
  kernel <- kernels[[name]](1, 0.2)
  r <- as.matrix(dist(d[c("x", "z")])) / 0.2
  K <- switch(name,
    matern12 = exp(-r), matern32 = (1 + sqrt(3) * r) * exp(-sqrt(3) * r),
    matern52 = (1 + sqrt(5) * r + 5 * r^2 / 3) * exp(-sqrt(5) * r)
  )
  do.call(rbind, lapply(c(10, 20, 30), function(m) divergence(name, m, d, K)))
})), 2)

# Learned, and predictions at 500 new places: the largest difference of means in posterior standard deviations, and of
# standard deviations relative to the full process's.
K <- with(list(r = as.matrix(dist(d[c("x", "z")])) / 0.1), (1 + sqrt(3) * r) * exp(-sqrt(3) * r))
f <- drop(rnorm(n) %*% chol(K + diag(1e-10, n)))
new <- data.frame(x = runif(500), z = runif(500))
cat("\nLearned, matern32, neighbours = 20 beside the full process:\n")
for (response in c("poisson", "gaussian")) {
  d$y <- if (response == "poisson") rpois(n, exp(f)) else f + rnorm(n, 0, 0.3)
  fit_with <- function(formula) {
    galvi(formula, d, if (response == "poisson") poisson() else gaussian(), control = galvi_control(threads = 1))
  }
  fits <- list(
    full = fit_with(y ~ gp(x, z, kernel = matern32(), center = FALSE)),
    near = fit_with(y ~ gp(x, z, kernel = matern32(), neighbours = 20))
  )
  cat(response, "\n")
  show_table(data.frame(
    fit = names(fits), elbo = vapply(fits, function(fit) fit$elbo, 0),
    t(vapply(fits, function(fit) stats::setNames(fit$hyper$estimate, fit$hyper$parameter), fits[[1]]$hyper$estimate)),
    t(vapply(fits, function(fit) {
      unlist(fit$hyper[fit$hyper$parameter == "lengthscale", c("lwr", "upr")])
    }, c(lwr = 0, upr = 0)))
  ), 5)
  p <- lapply(fits, predict, new, type = "link", se.fit = TRUE)
  cat(sprintf(
    "means differ by at most %.2g standard deviations, standard deviations by %.2g of themselves\n",
    max(abs(p$near$fit - p$full$fit) / p$full$se.fit), max(abs(p$near$se.fit / p$full$se.fit - 1))
  ))
}
