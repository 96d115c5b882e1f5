# How close are fits with heavy-tailed priors of coefficients to long runs of Gibbs sampling?
#
# 11 coefficients of mtcars (32 rows), 50 slopes of which three are not zero (100 rows), infert (binomial, by rstanarm);
# 2e5 draws. Means that are off, in posterior standard deviations, at most and in the median, and standard deviations over
# those of the draws:
#
#   50 slopes, sigma 1      student_t(3, 0, 0.3)         .001 (.000)   1.00 - 1.00
#                           double_exponential(0, 0.3)   .004 (.001)    .99 - 1.00
#                           cauchy(0, 0.3)               .002 (.001)   1.00 - 1.00
#                           cauchy(0, 0.1)               .03  (.01)     .94 - .99
#                           horseshoe, tau .05, c 2      .16  (.07)     .71 - .98 (median .78)
#                           horseshoe(), all learned     .33  (.05)     .99 - 1.13
#                           tau is estimated at .057 and has the posterior mean .027: a bound of many small slopes prefers
#                           wide priors, where it is tighter
#   mtcars, sigma^2 6.5     cauchy(0, 1)                 .02  (.01)     .94 - 1.00
#                           horseshoe, tau .5, c 2       .15  (.06)     .74 - 1.00 (median .88)
#   mtcars                  horseshoe(), all learned     .09  (.03)     .93 - 1.01
#   infert                  horseshoe(), all learned     .01  (.01)     .98 - .99
#
#   Rscript bench/coefficient-priors.R [draws]
#
# writes the fixture of the tests, with Monte Carlo errors.
Rcpp::sourceCpp("bench/coefficient-priors.cpp")

sparse <- local({
  set.seed(4)
  X <- matrix(rnorm(100 * 50), 100)
  list(y = drop(X %*% c(2, -1.5, 1, rep(0, 47))) + rnorm(100), X = X, flat = rep(FALSE, 50))
})
cars <- list(y = mtcars$mpg, X = cbind(1, scale(mtcars[-1])), flat = rep(c(TRUE, FALSE), c(1, 10)))

learned <- list(
  type = "horseshoe", df = 1, global = 0, slab = 0, df_global = 1, scale_global = 1, scale_slab = 2, df_slab = 4
)
held <- function(global, slab) replace(learned, c("global", "slab"), list(global, slab))
cases <- list(
  sparse_student_t = list(sparse, list(type = "student_t", df = 3, scale = 0.3), 1),
  sparse_cauchy = list(sparse, list(type = "student_t", df = 1, scale = 0.3), 1),
  sparse_cauchy_narrow = list(sparse, list(type = "student_t", df = 1, scale = 0.1), 1),
  sparse_double_exponential = list(sparse, list(type = "double_exponential", scale = 0.3), 1),
  cars_cauchy = list(cars, list(type = "student_t", df = 1, scale = 1), sqrt(6.5)),
  sparse_horseshoe = list(sparse, held(0.05, 2), 1),
  cars_horseshoe = list(cars, held(0.5, 2), sqrt(6.5)),
  sparse_horseshoe_learned = list(sparse, learned, 0),
  cars_horseshoe_learned = list(cars, learned, 0)
)

# -> mean, sd and their Monte Carlo errors for each coefficient, then means of tau, c and sigma
summarise <- function(batches, p) {
  error <- function(x) apply(x, 2, sd) / sqrt(nrow(x))
  mean <- colMeans(batches[, seq_len(p), drop = FALSE])
  second <- colMeans(batches[, p + seq_len(p), drop = FALSE])
  sd <- sqrt(second - mean^2)
  # of the variance, each batch around the common mean
  around <- batches[, p + seq_len(p)] - 2 * t(t(batches[, seq_len(p)]) * mean)
  hyper <- batches[, 2 * p + 1:3]
  data.frame(
    name = c(paste0("b", seq_len(p)), "tau", "c", "sigma"), mean = c(mean, colMeans(hyper)),
    mean_error = c(error(batches[, seq_len(p)]), error(hyper)), sd = c(sd, rep(NA, 3)),
    sd_error = c(error(around) / (2 * sd), rep(NA, 3))
  )
}

draws <- as.numeric(c(commandArgs(TRUE), 2e5)[1])
found <- lapply(names(cases), function(name) {
  case <- cases[[name]]
  set.seed(1)
  p <- ncol(case[[1]]$X)
  batches <- gibbs(case[[1]]$y, case[[1]]$X, case[[1]]$flat, case[[2]], case[[3]], draws, draws / 20, 50)
  cbind(case = name, summarise(batches, p))
})

children <- data.frame(case = infert$case, scale(infert[c("age", "parity", "induced", "spontaneous")]))
fit <- rstanarm::stan_glm(
  case ~ ., binomial(), children, prior = rstanarm::hs(1, 1, 1, 4, 2), prior_intercept = NULL, chains = 4, iter = 12000,
  warmup = 2000, adapt_delta = 0.99, refresh = 0, seed = 1
)
of <- summary(fit)[seq_len(5), ]
found$infert <- data.frame(
  case = "infert_horseshoe_learned", name = paste0("b", seq_len(5)), mean = of[, "mean"], mean_error = of[, "mcse"],
  sd = of[, "sd"], sd_error = of[, "sd"] / sqrt(2 * of[, "n_eff"])
)
out <- do.call(rbind, found)
numbers <- vapply(out, is.numeric, NA)
out[numbers] <- lapply(out[numbers], signif, 7)
utils::write.csv(out, "tests/testthat/fixtures/coefficient_priors.csv", row.names = FALSE, quote = FALSE)
