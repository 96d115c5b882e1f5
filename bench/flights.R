# Is a flight late? 179,100 flights from Houston, six inputs (002 has 800,000 flights of the USA): a sparse
# process with a Matern and a linear kernel beside the linear model of the same inputs.
#
#   GALVI_DATA=folder Rscript bench/flights.R   (some minutes; bench/_large.R says what the folder has)
#   Rscript bench/flights.R                     (artificial flights)
source("bench/_helper.R")
source("bench/_large.R")
options(galvi.threads = 1)

data <- flights()
cat(data$name, "\n")
inputs <- setdiff(names(data$train), "y")
process <- as.formula(sprintf(
  "y ~ gp(%s, kernel = matern32() + linear(), inducing = 200)", paste(inputs, collapse = ", ")
))
run <- function(what, formula, ...) {
  fit <- NULL
  seconds <- cpu_seconds(function() fit <<- galvi(formula, data$train, binomial(), ...))
  p <- predict(fit, data$test)
  data.frame(
    what, seconds, bound = fit$elbo, loss = log_loss(p, data$test$y), errors = 100 * errors(p, data$test$y)
  )
}
set.seed(1)
show_table(rbind(
  run("linear", reformulate(inputs, "y")),
  run("minibatches, 4 passes", process, method = "stochastic", control = galvi_control(passes = 4)),
  run("minibatches, their own end", process, method = "stochastic"),
  run("full passes", process)
), digits = 5)

# Answer (2-core x86-64 machine, busy, R 4.2.2, OpenBLAS 0.3.21), flights from Houston: the linear model has a
# log loss of 0.6506 (38.5% errors) after 0.4 s; minibatches, which stop by themselves after 7 passes, 0.6324
# (36.6%) after 25 s. Full passes were not done after 140 s.
