# Is a flight late? 179,100 flights from Houston, six inputs (002 has 5.9 million flights of the USA): a sparse
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
  "y ~ gp(%s, kernel = matern32(ard = TRUE) + linear(ard = TRUE), inducing = 200)", paste(inputs, collapse = ", ")
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
longer <- galvi_control(passes = 40, step_size = 0.04)
show_table(rbind(
  run("linear", reformulate(inputs, "y")),
  run("auto, which is minibatches", process),
  run("40 passes of minibatches, larger steps", process, control = longer),
  run("full passes", process, method = "incremental")
), digits = 5)

# Answer (2-core x86-64 machine, busy, R 4.2.2, OpenBLAS 0.3.21), flights from Houston: the linear model has a
# log loss of 0.6506 (38.5% errors) after 0.4 s; "auto" 0.6303 (36.5%), bound -113,598, after 36 s; 40 passes
# 0.6281, bound -113,175, after 116 s; full passes 0.6228 (35.9%), bound -112,637, after 395 s,
# of which 60 steps reach -112,777 and 0.6244.
