# Forensic glass, six classes: what do the bounds lose, and does the bound lead to good predictions?
#
# MASS::fgl (the UCI data, 214 fragments, 9 inputs), inputs standardised by the training rows; 80% of the rows
# (171) to learn from, 43 to be tested on. The prior of the papers, with mean zero and one (s, sigma) for all
# classes: covariance sigma^2 exp(-|x - x'|^2 / (2 s)), on an 11 x 11 grid. 001 figure 2(a) shows such a grid
# for the log bound, 000 figure 1(b) uses stick-breaking with piecewise bounds.
# The picture goes to a temporary file. 43 rows say little about which likelihood predicts better: the last
# table has the mean over 20 splits with (s, sigma) learned, and MASS::lda() beside it.
source("bench/_helper.R")

split <- function(seed) {
  set.seed(seed)
  data <- MASS::fgl
  rows <- sort(sample(nrow(data), round(0.8 * nrow(data))))
  inputs <- setdiff(names(data), "type")
  train <- data[rows, inputs]
  data[inputs] <- scale(data[inputs], colMeans(train), apply(train, 2, sd))
  list(train = data[rows, ], test = data[-rows, ])
}
train <- split(1)$train
test <- split(1)$test

log_s <- seq(-1, 6, by = 0.7)
log_sigma <- seq(-1, 3, by = 0.4)
models <- list(
  "stick-breaking, exact" = list(stick_breaking(), "quadrature"),
  "stick-breaking, piecewise" = list(stick_breaking(), "piecewise"),
  "categorical, exact" = list(categorical(), "quadrature"),
  "categorical, bouchard" = list(categorical(), "bouchard"),
  "categorical, bouchard_jaakkola" = list(categorical(), "bouchard_jaakkola"),
  "categorical, log" = list(categorical(), "log")
)

# -> elbo, error (share), loss (bits per fragment), converged, seconds, at one setting
evaluate <- function(model, log_s, log_sigma) {
  kernel <- se(lengthscale = fixed(exp(log_s / 2)), variance = fixed(exp(2 * log_sigma)))
  fit <- NULL
  seconds <- cpu_seconds(function() fit <<- suppressWarnings(galvi(
    type ~ 0 + gp(., kernel = kernel), train, model[[1]], expectation = model[[2]], hyper = "fixed",
    control = galvi_control(threads = 1)
  )))
  c(
    elbo = fit$elbo, error = mean(predict(fit, test, type = "class") != test$type),
    loss = -mean(predict(fit, test, type = "density")) / log(2),
    converged = fit$convergence$converged, seconds = seconds
  )
}

# log s x log sigma x what
over_grid <- function(model) {
  settings <- expand.grid(log_s = log_s, log_sigma = log_sigma)
  values <- mapply(evaluate, log_s = settings$log_s, log_sigma = settings$log_sigma,
                   MoreArgs = list(model = model))
  names <- list(log_s, log_sigma, rownames(values))
  array(t(values), lengths(names), names)
}

# The setting of the best ELBO, and what the best setting for the test rows would have given.
summarise <- function(name) {
  grid <- grids[[name]]
  best <- arrayInd(which.max(grid[, , "elbo"]), dim(grid)[1:2])
  at <- grid[best[1], best[2], ]
  data.frame(
    model = name, log_s = log_s[best[1]], log_sigma = log_sigma[best[2]], elbo = at[["elbo"]],
    error = at[["error"]], bits = at[["loss"]], least_error = min(grid[, , "error"]),
    least_bits = min(grid[, , "loss"]), settled = sum(grid[, , "converged"]),
    seconds = mean(grid[, , "seconds"]), row.names = NULL
  )
}

# Above: nats below the best ELBO. Below: the test loss. A star where the ELBO is best.
draw <- function(file, shown) {
  png(file, width = 380 * length(shown), height = 760, res = 100)
  on.exit(dev.off())
  par(mfcol = c(2, length(shown)), mar = c(4, 4, 3, 1), mgp = c(2.4, 0.7, 0), las = 1)
  panel <- function(z, levels, main, best) {
    top <- max(levels)
    colours <- hcl.colors(length(levels) - 1, "Blues 3", alpha = 0.6)
    image(log_s, log_sigma, pmin(z, top), breaks = levels, col = colours, xlab = "log s", ylab = "log sigma",
          main = main, font.main = 1, cex.main = 1)
    contour(log_s, log_sigma, z, levels = levels, add = TRUE)
    points(log_s[best[1]], log_sigma[best[2]], pch = 8, cex = 1.8, lwd = 2, col = "#D55E00")
    box()
  }
  for (name in shown) {
    elbo <- grids[[name]][, , "elbo"]
    best <- arrayInd(which.max(elbo), dim(elbo))
    panel(max(elbo) - elbo, c(0, 2, 5, 10, 20, 40, 80, 160, 320), paste0(name, "\nnats below the best"), best)
    panel(grids[[name]][, , "loss"], seq(1, 2.6, by = 0.1), "test loss, bits", best)
  }
}

# Error and loss with learned hyperparameters, and lda()'s, on one split.
learned <- function(seed) {
  rows <- split(seed)
  truth <- cbind(seq_len(nrow(rows$test)), rows$test$type)
  score <- function(prob) {
    c(error = mean(max.col(prob, "first") != truth[, 2]), bits = -mean(log2(prob[truth])))
  }
  by_galvi <- function(family) {
    score(predict(galvi(
      type ~ 0 + gp(., kernel = se(variance = 20)), rows$train, family, control = galvi_control(threads = 1)
    ), rows$test, type = "prob"))
  }
  c(
    stick_breaking = by_galvi(stick_breaking()), categorical = by_galvi(categorical()),
    lda = score(predict(MASS::lda(type ~ ., rows$train), rows$test)$posterior)
  )
}

machine()
cat(sprintf("%d rows to learn from, %d to be tested on: %s\n", nrow(train), nrow(test),
            paste(levels(test$type), table(test$type), collapse = ", ")))
grids <- lapply(models, over_grid)
table <- do.call(rbind, lapply(names(grids), summarise))
show_table(table, digits = 4)

excess <- function(above, below) grids[[above]][, , "elbo"] - grids[[below]][, , "elbo"]
pairs <- list(
  c("stick-breaking, exact", "stick-breaking, piecewise"), c("categorical, exact", "categorical, bouchard"),
  c("categorical, exact", "categorical, log"), c("categorical, exact", "categorical, bouchard_jaakkola"),
  c("categorical, bouchard", "categorical, bouchard_jaakkola")
)
for (pair in pairs) {
  lost <- excess(pair[1], pair[2])
  cat(sprintf("(%s) - (%s): %.3g to %.3g nats, median %.3g\n", pair[1], pair[2], min(lost), max(lost),
              median(lost)))
  # both optima are found to within the control's tol
  target(sprintf("(%s) - (%s)", pair[2], pair[1]), -min(lost), 1e-6, "nats")
}
chance <- table(train$type) / nrow(train)
cat(sprintf("the classes' shares in the training rows alone: error %.3f, %.3f bits\n",
            mean(names(which.max(chance)) != test$type), -mean(log2(chance[as.character(test$type)]))))

scores <- vapply(1:20, learned, numeric(6))
# standard errors of splits that share rows (Nadeau and Bengio 2003)
standard_error <- function(x) sd(x) * sqrt(1 / length(x) + nrow(test) / nrow(train))
cat("20 splits, (s, sigma) learned:\n")
show_table(data.frame(
  what = rownames(scores), mean = rowMeans(scores), se = apply(scores, 1, standard_error)
))
gain <- scores["stick_breaking.bits", ] - scores["categorical.bits", ]
cat(sprintf("categorical is better by %.3f bits (se %.3f)\n", mean(gain), standard_error(gain)))

file <- file.path(dirname(tempdir()), "galvi-glass.png")
draw(file, c("categorical, log", "categorical, exact", "stick-breaking, piecewise"))
cat("picture:", file, "\n")

# Answer (2-core x86-64 machine, R 4.2.2, OpenBLAS 0.3.21, one thread). All 6 x 121 fits settle, in 0.03 s
# (stick-breaking) to 0.15 s (categorical, exact and log) on average, 1.8 s at most.
#
#                                  best (log s, log sigma)    ELBO   error   bits   nats lost on the grid
#   stick-breaking, exact                2.5, 2.2           -181.9   0.372  1.389
#   stick-breaking, piecewise            2.5, 2.2           -181.9   0.372  1.389   0.05 to 0.08
#   categorical, exact                   1.8, 1.4           -178.6   0.326  1.202
#   categorical, log                     1.8, 0.6           -207.1   0.302  1.232   0.5 to 556, median 15
#   categorical, bouchard                1.8, 2.2           -274.9   0.302  1.500   74 to 155, median 124
#   categorical, bouchard_jaakkola       2.5, 1.0           -337.2   0.326  1.177   143 to 722, median 153
#
# At all 121 settings every bound is below its exact ELBO, and bouchard with exact sigmoids above bouchard
# with jaakkola, by 1.2 to 627 nats. Twenty pieces lose 3e-4 nats a row and nothing in predictions. The log
# bound is tight where sigma is small, which pulls its best sigma down. bouchard has most of its loss even
# where eta is near 0, from splitting a sum over six classes, and its best sigma is too large: 1.50 bits.
#
# 001 prints no numbers for figure 2(a), and counts 8 features where the data have 9. What it says of the
# picture holds here: the log bound has one optimum, inside the grid, and the test loss at the star is
# reasonable. It is least further along the valley towards large s and sigma: 1.13 bits for log at (5.3, 3)
# against 1.23 at the star, a difference well within the standard error of 43 fragments, 0.2.
#
# Over 20 splits with s and sigma learned: categorical 1.14 bits (error 0.322), stick-breaking 1.25 (0.324),
# lda 2.07 (0.398). categorical is better than stick-breaking, whose levels here are in the order of the data,
# by 0.11 bits (se 0.03).
