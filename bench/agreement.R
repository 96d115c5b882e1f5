# Do all methods find the same optimum?
#
# 200 random models whose bound has one optimum: a likelihood and an expectation drawn from the registries, a
# prior of kernels, columns, both, a kernel per class, inducing points or Markov fields, prior variances from
# 0.01 to 3000, 8 to 60 rows, some with weights; hyperparameters fixed. Every method except ep and laplace, at
# tol = 1e-7 and its default iterations, "auto" included. Then 100 whose bound may have several optima; there the best
# of four starts is compared: three of each method, and the point where the best method ended. A method fails if it ends
# 1e-6 nats below the best.
source("bench/_helper.R")

helpers <- new.env(parent = asNamespace("galvi"))
files <- c("expectation", "models", "inference", "hyper", "likelihoods", "fields", "inducing", "random-models")
for (name in files) {
  sys.source(sprintf("tests/testthat/helper-%s.R", name), helpers)
}

agreement <- function(seeds, choices, run) {
  force(choices)
  do.call(rbind, lapply(seeds, function(seed) {
    set.seed(seed)
    model <- helpers$random_any_model(choices)
    found <- run(model)
    data.frame(seed, model = helpers$describe_model(model), found, below = max(found$elbo) - found$elbo)
  }))
}

report <- function(what, results) {
  failed <- subset(results, is.na(below) | below > 1e-6)
  cat(sprintf("\n%s: %d models, %d fits, %d failures\n", what, length(unique(results$seed)), nrow(results),
              nrow(failed)))
  if (nrow(failed)) print(failed[c("seed", "model", "method", "below", "message")], row.names = FALSE)
  rows <- split(results, factor(results$method, unique(results$method)))
  show_table(data.frame(
    method = names(rows), models = vapply(rows, nrow, 0L),
    converged = vapply(rows, function(r) sum(r$converged), 0L),
    worst = vapply(rows, function(r) max(r$below), 0),
    steps = vapply(rows, function(r) median(r$steps), 0), most = vapply(rows, function(r) max(r$steps), 0),
    factorisations = vapply(rows, function(r) median(r$factorisations), 0)
  ))
  target(paste(what, "nats below the best"), max(results$below), 1e-6, "nats")
}

report("one optimum", agreement(1:200, helpers$likelihood_choices(), helpers$methods_on))
several <- helpers$likelihood_choices(one_optimum = FALSE)
report("several optima", agreement(1:100, several, helpers$methods_from_best))

# Answer (2-core x86-64 machine, R 4.2.2, one thread, 15 s): no failure. One optimum: 1625 fits, all but one
# certified, the lowest 2.5e-7 nats below the best (auto 4.8e-8); newton takes 3 steps (at most 7) and 4
# factorisations, the natural gradient 8 steps (at most 175, under wide priors with the log bound; beyond these
# seeds about one model in 100, of that kind, leaves the two quasi-Newton methods unconverged at 500 steps, and
# they say so). Several optima: every method reaches the best that any of them found.
