# Question: factors against gllvm and PLNmodels on their own data, and a million ratings: how long, what bound, how
# much memory? The figures of the others were measured elsewhere on a shared core of the same kind (gllvm 2.0.15,
# PLNmodels 1.3.2's bound at its own optimum by our code, glmmTMB 1.1.5); where they are installed they run here too.
#
#   Rscript bench/factors.R                 all of it
#   Rscript bench/factors.R ratings.csv     real ratings: columns user, item, rating
library(galvi)

given <- commandArgs(TRUE)

# ---- trichoptera: 49 nights, 17 species ----

trichoptera <- as.matrix(read.csv("tests/testthat/fixtures/trichoptera.csv"))

theirs <- data.frame(
  d = c(1, 2, 3), gllvm = c(-1756.112, -1394.601, -1175.209), gllvm_seconds = c(11, 7.7, 3.1),
  glmmTMB_seconds = c(2.5, 4.9, NA)
)
ours <- t(vapply(theirs$d, function(d) {
  seconds <- system.time(fit <- galvi(responses(trichoptera) ~ factors(d), family = poisson(),
    control = galvi_control(threads = 1)))[["user.self"]]
  c(bound = fit$elbo, seconds = seconds, passes = nrow(fit$trace))
}, numeric(3)))
print(cbind(theirs, ours), digits = 8)

offset <- log(rowSums(trichoptera))
seconds <- system.time(fit <- galvi(responses(trichoptera) ~ factors(2) + offset(offset), family = poisson(),
  control = galvi_control(threads = 1)))[["user.self"]]
cat(sprintf("offset, d = 2: %.6f in %.2f s; PLNPCA's diagonal optimum is -1145.436357\n", fit$elbo, seconds))

if (requireNamespace("gllvm", quietly = TRUE)) {
  print(system.time(g <- gllvm::gllvm(trichoptera, family = "poisson", num.lv = 2)))
  print(logLik(g))
}

# ---- ratings: 6,000 users, 4,000 items, a million entries, d = 10 ----

ratings <- if (length(given)) {
  x <- read.csv(given[1L])
  stats::setNames(x[c("user", "item", "rating")], c("user", "item", "rating"))
} else {
  set.seed(1)
  users <- 6000L
  items <- 4000L
  rows <- 1e6
  d <- 10
  W <- matrix(rnorm(items * d, sd = 0.25), items)
  Z <- matrix(rnorm(users * d), users)
  # popular items are rated more often
  item <- sample.int(items, rows, TRUE, prob = rexp(items) + 0.05)
  user <- sample.int(users, rows, TRUE, prob = rexp(users) + 0.1)
  data.frame(user, item, rating = 3.5 + 0.3 * rnorm(items)[item] + rowSums(W[item, ] * Z[user, ]) + rnorm(rows, sd = 0.8))
}
test <- sample.int(nrow(ratings), 0.1 * nrow(ratings))
seconds <- system.time(fit <- suppressWarnings(galvi(rating ~ 0 + rr(item | user, d = 10, columns = ~ 1),
  data = ratings[-test, ], control = galvi_control(threads = 1), verbose = FALSE)))
known <- ratings$item[test] %in% as.integer(rownames(fit$factors$loadings))
error <- ratings$rating[test][known] - predict(fit, ratings[test[known], ])
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
cat(sprintf("%d ratings: %.0f s of one core, %d passes, converged %s, noise %.4f, test rmse %.4f; %s\n", fit$nobs,
  seconds[["user.self"]], nrow(fit$trace), fit$convergence$converged, sqrt(fit$hyper$estimate[1L]), sqrt(mean(error^2)),
  peak))
