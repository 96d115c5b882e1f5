# From how many coordinates of inducing points on do minibatches learn faster than full passes?
#
#   Rscript bench/minibatches.R   (ten minutes)
#
# 50,000 rows, 50 to 100 points in 2 to 16 inputs, of which the first four count. Bound, log loss on 20,000 new
# rows and CPU seconds of full passes of L-BFGS ("incremental") and of minibatches, until they stop by
# themselves.
source("bench/_helper.R")
source("bench/_large.R")
options(galvi.threads = 1)

rows_of <- function(n, inputs) {
  x <- matrix(rnorm(n * inputs), n, dimnames = list(NULL, paste0("x", seq_len(inputs))))
  last <- min(4, inputs)
  eta <- 2 * sin(1.5 * x[, 1]) + x[, 2] * x[, last] + (if (inputs > 2) cos(2 * x[, 3]) else 0)
  data.frame(x, y = rbinom(n, 1, plogis(eta)))
}
set.seed(1)
settings <- data.frame(points = c(50, 100, 100, 100, 100), inputs = c(2, 2, 4, 8, 16))
rows <- lapply(seq_len(nrow(settings)), function(i) {
  points <- settings$points[i]
  inputs <- settings$inputs[i]
  train <- rows_of(50000, inputs)
  test <- rows_of(20000, inputs)
  formula <- y ~ gp(., kernel = se(ard = TRUE), inducing = points)
  do.call(rbind, lapply(c("incremental", "stochastic"), function(method) {
    fit <- NULL
    seconds <- cpu_seconds(function() fit <<- suppressWarnings(galvi(formula, train, binomial(), method = method)))
    data.frame(
      coordinates = points * inputs, method, seconds, bound = fit$elbo,
      loss = log_loss(predict(fit, test), test$y)
    )
  }))
})
show_table(do.call(rbind, rows), digits = 6)

# Answer (2-core x86-64 machine, busy, R 4.2.2, OpenBLAS 0.3.21): up to 800 coordinates full passes take 3 to 8 s
# and end 15 to 190 nats higher than minibatches, which take 1 to 6 s; with 1,600 they take 22 s and end 180
# nats higher, against 9 s. With 179,100 flights and 1,200 coordinates it is 400 s against 36 (bench/flights.R).
# So much is drawn between 8e7 and 2e8 coordinates times rows.
