# What is the quickest way to learn a sparse Gaussian process? (003, section 3)
#
# Regression: "vi-means", Titsias' bound at k-means points that stay (003, section 3.2), hyperparameters by
# L-BFGS-B and by projected Newton (003, section 3.3), with everything moved together ("svi-L-BFGS-B", on the
# same bound), and with points that move. MASS::Boston, 13 inputs and 400 rows to learn from, and 2000 rows of
# a function drawn from a Gaussian process of two inputs; R^2 on the rows left out.
# Classification: the Jaakkola and Taylor methods (003, section 2.3) and KLSp (002), labels by the same
# function; log density of the rows left out.
# Then 003's alternating schedule, a few steps of q and a few of the hyperparameters with the sites fixed,
# against whole inferences and their envelope gradient.
source("bench/_helper.R")
source("tools/probes.R")

standardise <- function(train, test, inputs) {
  centre <- colMeans(train[inputs])
  sd <- apply(train[inputs], 2, sd)
  train[inputs] <- scale(train[inputs], centre, sd)
  test[inputs] <- scale(test[inputs], centre, sd)
  list(train = train, test = test)
}

boston <- function() {
  set.seed(1)
  data <- MASS::Boston
  names(data)[names(data) == "medv"] <- "y"
  rows <- sample(nrow(data), 400)
  standardise(data[rows, ], data[-rows, ], setdiff(names(data), "y"))
}

drawn <- function(n = 2000, n_test = 1000) {
  set.seed(2)
  x <- matrix(runif(2 * (n + n_test), -3, 3), ncol = 2, dimnames = list(NULL, c("x1", "x2")))
  K <- 4 * exp(-as.matrix(dist(x))^2 / 2)
  f <- drop(crossprod(chol(K + diag(1e-8, nrow(K))), rnorm(nrow(K))))
  data <- data.frame(x, y = rnorm(nrow(x), f, 0.5), label = rbinom(nrow(x), 1, pnorm(f)))
  list(train = data[seq_len(n), ], test = data[-seq_len(n), ])
}

# One row per budget of iterations: seconds, bound, score on the test rows.
progress <- function(what, formula, data, family, score, budgets, expectation = "auto", method = "auto",
                     ...) {
  rows <- lapply(budgets, function(steps) {
    set.seed(3)
    control <- galvi_control(threads = 1, hyper_iterations = steps, ...)
    fit <- NULL
    seconds <- cpu_seconds(function() {
      fit <<- suppressWarnings(galvi(formula, data$train, family, method, expectation, control = control))
    })
    data.frame(method = what, iterations = steps, seconds = seconds, elbo = fit$elbo,
               score = score(fit, data$test), converged = fit$convergence$converged)
  })
  do.call(rbind, rows)
}

r_squared <- function(fit, test) 1 - sum((test$y - predict(fit, test))^2) / sum((test$y - mean(test$y))^2)
log_density <- function(fit, test) mean(predict(fit, test, type = "density"))

regression <- function(data, formula) {
  run <- function(...) progress(formula = formula, data = data, family = gaussian(), score = r_squared, ...)
  rbind(
    run("vi-means, L-BFGS-B", budgets = c(1, 3, 10, 30, 200), move_inducing = FALSE),
    run("vi-means, Newton", budgets = c(1, 3, 10, 200), move_inducing = FALSE, hyper_method = "newton"),
    run("all together (joint)", budgets = c(1, 3, 10, 30, 200), move_inducing = FALSE, joint = TRUE),
    run("points move, L-BFGS-B", budgets = c(3, 10, 30, 200))
  )
}

classification <- function(data, formula) {
  run <- function(...) progress(formula = formula, data = data, score = log_density, budgets = c(3, 10, 200),
                                move_inducing = FALSE, ...)
  rbind(
    run("Jaakkola (logit)", family = binomial(), expectation = "jaakkola"),
    run("Taylor (logit)", family = binomial(), expectation = "taylor"),
    run("KL, in turn (logit)", family = binomial()),
    run("KL, in turn (probit)", family = binomial("probit")),
    run("KLSp, joint (probit)", family = binomial("probit"), joint = TRUE),
    run("two-stage (probit)", family = binomial("probit"), expectation = "two_stage"),
    run("mean field (probit)", family = binomial("probit"), method = "mean_field")
  )
}

# 003, section 2.3: `q_steps` of the fixed point, then `hyper_steps` of L-BFGS-B with the sites fixed.
alternating <- function(model, q_steps, hyper_steps, wanted, rounds = 300) {
  control <- unclass(galvi_control(threads = 1, max_iterations = q_steps))
  learned <- which(model$hyper$learned)
  sites <- NULL
  factorisations <- 0
  for (i in seq_len(rounds)) {
    fit <- galvi:::fit_model(model, "fixed_point", "fixed", control, sites)
    sites <- fit[c("lambda", "b")]
    factorisations <- factorisations + fit$cost$factorisations
    if (fit$elbo > wanted) break
    bound <- function(x) {
      model$hyper$value[learned] <- exp(x)
      probe_bound(model, control, "fixed_point", sites)
    }
    found <- optim(log(model$hyper$value[learned]), function(x) -bound(x)$elbo,
                   function(x) -bound(x)$unconstrained_gradient, method = "L-BFGS-B",
                   lower = log(model$hyper$lower[learned]), upper = log(model$hyper$upper[learned]),
                   control = list(maxit = hyper_steps))
    factorisations <- factorisations + found$counts[["function"]]
    model$hyper$value[learned] <- exp(found$par)
  }
  data.frame(schedule = sprintf("%d of q, %d of hyper", q_steps, hyper_steps), rounds = i,
             factorisations = factorisations, elbo = fit$elbo)
}

schedules <- function(data, formula, expectation) {
  control <- galvi_control(threads = 1, move_inducing = FALSE)
  set.seed(3)
  design <- galvi_design(formula, data$train, binomial())
  model <- galvi_model(design, expectation = expectation, control = control)
  nested <- galvi:::fit_model(model, "fixed_point", "optimise", unclass(control), NULL)
  # what is asked of the alternating schedule: to come within 0.01 nats of the nested search
  rbind(
    data.frame(schedule = "whole inferences", rounds = NA, factorisations = nested$cost$factorisations,
               elbo = nested$elbo),
    do.call(rbind, lapply(list(c(1, 1), c(5, 5), c(20, 20)), function(steps) {
      alternating(model, steps[1], steps[2], nested$elbo - 0.01)
    }))
  )
}

machine(400)
data <- boston()
cat("\nBoston, 60 points\n")
show_table(regression(data, y ~ gp(., inducing = 60)), 4)
data <- drawn()
cat("\nDrawn from a Gaussian process, 60 points\n")
show_table(regression(data, y ~ gp(x1, x2, inducing = 60)), 4)
cat("\nLabels, 30 points\n")
show_table(classification(data, label ~ gp(x1, x2, inducing = 30)), 4)
for (expectation in c("jaakkola", "auto")) {
  cat("\nAlternating, expectation =", expectation, "\n")
  show_table(schedules(data, label ~ 0 + gp(x1, x2, inducing = 30), expectation), 5)
}
