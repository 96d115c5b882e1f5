# Shared by the measurements of many rows: the papers' large data, or artificial rows of the same shape where
# they are not at hand. Not run by itself.
#
# The folder GALVI_DATA may have
#   train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, and the same with t10k: the MNIST digits
#   hflights.csv.gz   flights from Houston in 2011: write.csv(hflights::hflights, row.names = FALSE)
data_path <- function(name) {
  path <- file.path(Sys.getenv("GALVI_DATA", "."), name)
  if (all(file.exists(path))) path
}

# Numbers of a file in MNIST's format: its dimensions, the last one first, then one byte each.
read_idx <- function(path) {
  file <- gzfile(path, "rb")
  on.exit(close(file))
  size <- readBin(file, "integer", readBin(file, "integer", 4L, 1L)[4L], 4L, endian = "big")
  x <- readBin(file, "integer", prod(size), 1L, signed = FALSE)
  if (length(size) > 1L) t(matrix(x, prod(size[-1L]))) else x
}

# Strokes of ten figures in the unit square, each a run of points.
figures <- function() {
  arc <- function(from, to, x = 0.5, y = 0.5, a = 0.3, b = 0.35) {
    angle <- seq(from, to, length.out = 24) * pi / 180
    cbind(x + a * cos(angle), y + b * sin(angle))
  }
  line <- function(...) {
    ends <- matrix(c(...), ncol = 2, byrow = TRUE)
    at <- seq(1, nrow(ends), length.out = 16 * (nrow(ends) - 1))
    cbind(approx(ends[, 1], n = length(at))$y, approx(ends[, 2], n = length(at))$y)
  }
  list(
    arc(0, 350), line(0.5, 0.1, 0.5, 0.9),
    rbind(arc(150, -30, 0.5, 0.68, 0.28, 0.22), line(0.7, 0.55, 0.2, 0.12, 0.8, 0.12)),
    rbind(arc(140, -90, 0.48, 0.7, 0.25, 0.2), arc(90, -140, 0.48, 0.3, 0.28, 0.2)),
    rbind(line(0.6, 0.9, 0.2, 0.4, 0.8, 0.4), line(0.62, 0.6, 0.62, 0.1)),
    rbind(line(0.75, 0.9, 0.3, 0.9, 0.28, 0.55), arc(110, -140, 0.48, 0.35, 0.28, 0.24)),
    rbind(line(0.65, 0.9, 0.3, 0.5), arc(180, -170, 0.5, 0.32, 0.24, 0.22)),
    line(0.2, 0.88, 0.78, 0.88, 0.4, 0.1),
    rbind(arc(0, 350, 0.5, 0.7, 0.2, 0.19), arc(0, 350, 0.5, 0.29, 0.25, 0.2)),
    rbind(arc(0, 350, 0.48, 0.67, 0.22, 0.21), line(0.7, 0.7, 0.62, 0.1))
  )
}

# Figures 0 to 9 on 28 x 28 pixels in [0, 1], each turned, sheared, stretched and bent in its own way.
artificial_digits <- function(n) {
  shapes <- figures()
  digit <- sample(0:9, n, replace = TRUE)
  centre <- (1:28 - 0.5) / 28
  pixels <- matrix(0, n, 784)
  for (i in seq_len(n)) {
    at <- shapes[[digit[i] + 1L]] - 0.5
    change <- matrix(c(1, 0, 0, 1) * rnorm(1, 1, 0.1) + rnorm(4, 0, 0.14), 2)
    bend <- rnorm(4, 0, 0.05)
    at <- at %*% change + sin(3 * at[, 2:1] + bend[1:2]) * rep(bend[3:4], each = nrow(at))
    at <- 0.7 * at + rep(0.5 + rnorm(2, 0, 0.02), each = nrow(at))
    width <- exp(rnorm(1, log(0.035), 0.15))
    across <- exp(-outer(centre, at[, 1], "-")^2 / (2 * width^2))
    down <- exp(-outer(centre, at[, 2], "-")^2 / (2 * width^2))
    pixels[i, ] <- pmin(1, tcrossprod(across, down))
  }
  list(pixels = pixels, digit = digit)
}

# Odd against even digits: 60,000 rows of 784 pixels and 10,000 more.
# -> list(name, train, test) of data frames with `x` (a matrix) and `y`
digits <- function(train = 60000, test = 10000) {
  set.seed(1)
  path <- data_path(paste0(rep(c("train-", "t10k-"), each = 2), c("images-idx3", "labels-idx1"), "-ubyte.gz"))
  frame <- function(x, digit, n) {
    keep <- seq_len(min(n, length(digit)))
    data.frame(y = digit[keep] %% 2, x = I(x[keep, , drop = FALSE]))
  }
  if (!is.null(path)) {
    parts <- lapply(path, read_idx)
    return(list(name = "MNIST", train = frame(parts[[1]] / 255, parts[[2]], train),
                test = frame(parts[[3]] / 255, parts[[4]], test)))
  }
  both <- artificial_digits(train + test)
  last <- train + seq_len(test)
  list(name = "artificial digits", train = frame(both$pixels, both$digit, train),
       test = frame(both$pixels[last, ], both$digit[last], test))
}

# Is a flight late? 179,100 rows of six numbers, scaled, and a fifth as many more.
flights <- function() {
  set.seed(2)
  path <- data_path("hflights.csv.gz")
  inputs <- c("Month", "DayofMonth", "DayOfWeek", "DepTime", "AirTime", "Distance")
  if (!is.null(path)) {
    all <- read.csv(path)
    all <- all[!is.na(all$ArrDelay) & !is.na(all$AirTime), ]
    y <- as.numeric(all$ArrDelay > 0)
    x <- as.matrix(all[inputs])
    name <- "flights from Houston"
  } else {
    n <- 223874
    hour <- 14 + 4.5 * rnorm(n)
    distance <- 100 + rgamma(n, 3, 1 / 230)
    x <- cbind(sample(12, n, TRUE), sample(31, n, TRUE), sample(7, n, TRUE),
               100 * pmin(pmax(hour, 0.1), 23.9), distance / 7.5 + rnorm(n, 15, 6), distance)
    z <- scale(x)
    eta <- 0.1 + 0.5 * sin(1.3 * z[, 4]) + 0.4 * cos(2 * z[, 1]) * sin(z[, 3] + z[, 2]) +
      1.5 * tanh(z[, 5] - z[, 6]) - 0.3 * z[, 1] * z[, 4]
    y <- rbinom(n, 1, plogis(0.7 * eta))
    name <- "artificial flights"
  }
  last <- seq_along(y) %% 5 == 0
  centre <- colMeans(x[!last, ])
  x <- sweep(x, 2, centre)
  x <- sweep(x, 2, sqrt(colMeans(x[!last, ]^2)), "/")
  data <- data.frame(y, unname(x))
  names(data) <- c("y", tolower(inputs))
  list(name = name, train = data[!last, ], test = data[last, ])
}

# Two classes on a wavy surface, as in bench/sparse-gp.R.
surface <- function(train = 20000, test = 20000) {
  set.seed(3)
  sample_rows <- function(n) {
    x <- matrix(runif(2 * n, -3, 3), n)
    data.frame(x1 = x[, 1], x2 = x[, 2], y = rbinom(n, 1, plogis(wave(x[, 1], x[, 2]))))
  }
  list(name = "surface", train = sample_rows(train), test = sample_rows(test))
}
wave <- function(x1, x2) 3 * sin(1.5 * x1) * cos(x2) + 1.5 * sin(3 * x2 + x1)

# The same without chance, rows i of an endless set: fractional parts of irrational numbers' multiples.
weyl <- function(i) {
  x1 <- -3 + 6 * ((0.6180339887498949 * i) %% 1)
  x2 <- -3 + 6 * ((0.41421356237309515 * i) %% 1)
  data.frame(x1, x2, y = as.numeric((0.7320508075688772 * i) %% 1 < plogis(wave(x1, x2))))
}

# A Bayesian logistic regression of 20 inputs.
regression <- function(train = 50000, test = 20000, inputs = 20) {
  set.seed(4)
  beta <- rnorm(inputs + 1)
  mixing <- diag(inputs) + 0.3 * rnorm(inputs^2) / sqrt(inputs)
  x <- matrix(rnorm((train + test) * inputs), train + test) %*% mixing
  data <- data.frame(y = rbinom(train + test, 1, plogis(beta[1] + x %*% beta[-1])), x = x)
  list(name = "regression", train = data[seq_len(train), ], test = data[-seq_len(train), ])
}

log_loss <- function(p, y) -mean(log(ifelse(y == 1, p, 1 - p)))
errors <- function(p, y) mean((p > 0.5) != (y == 1))
