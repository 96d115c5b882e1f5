test_that("weighted moments are those of repeated rows", {
  for_seeds(1:20, function(seed) {
    x <- round(rnorm(sample(2:12, 1)), sample(0:3, 1))
    w <- sample(0:3, length(x), replace = TRUE)
    w[1] <- 2
    rows <- rep(x, w)
    expect_close(weighted_mean(x, w), mean(rows))
    expect_close(weighted_variance(x, w), var(rows))
    expect_close(weighted_median(x, w), median(rows))
    expect_close(weighted_mad(x, w), mad(rows))
    X <- cbind(x, rev(x))
    repeated <- X[rep(seq_along(x), w), , drop = FALSE]
    expect_close(column_sds(X, w), ifelse(apply(repeated, 2, sd) > 1e-12, apply(repeated, 2, sd), 0))
    expect_close(column_means(X, w), colMeans(repeated))
    expect_close(median_distance(X, w), median_distance(repeated[sample(nrow(repeated)), ], rep(1, sum(w))))
    # the scale of weights that are no counts does not matter to a median
    expect_close(weighted_median(x, w / 10), median(rows))
  })
  expect_identical(row_counts(c(0.2, 0.3)), c(1, 1))
  expect_identical(row_counts(c(2, 0, 1)), c(2, 0, 1))
  expect_identical(weighted_variance(5, 1), 0)
})

test_that("a robust spread is the median absolute deviation, of what differs where that is zero", {
  y <- c(1, 2, 4, 7, 1e9)
  expect_identical(robust_spread(y), mad(y))
  expect_identical(robust_spread(rep(3, 5)), 1)
  expect_identical(robust_spread(7), 1)
  most_equal <- c(rep(2, 12), 1, 3, 2.5, 1.2, 1e9)
  expect_close(robust_spread(most_equal), 1.4826)
  # one value that differs says less than sd(y) does
  expect_close(robust_spread(c(rep(0, 19), 1000)), sd(c(rep(0, 19), 1000)))
  # a wild row of weight 0 is not there
  expect_identical(robust_spread(c(2, 2, 2, 5), c(1, 1, 1, 0)), 1)
})

test_that("distinct rows do not depend on the order of the rows", {
  set.seed(3)
  x <- cbind(sample(3, 30, TRUE), sample(2, 30, TRUE) / 3)
  w <- sample(0:2, 30, TRUE)
  one <- distinct_rows(x, w)
  turned <- sample(30)
  expect_identical(distinct_rows(x[turned, ], w[turned]), one)
  expect_identical(nrow(unique(x[w > 0, ])), nrow(one$x))
  expect_identical(sum(one$weights), sum(w))
})

test_that("quantiles of values of equal weight are those of Hazen, and do not depend on the direction of the axis", {
  set.seed(4)
  probs <- c(0.02, 0.1, 0.33, 0.5, 0.9)
  x <- rbind(rnorm(7), rexp(7))
  hazen <- t(apply(x, 1L, stats::quantile, probs, type = 5L, names = FALSE))
  expect_close(weighted_quantiles(x, rep(0.2, 7), probs), hazen)
  w <- rexp(7)
  expect_close(weighted_quantiles(-x, w, 1 - probs), -weighted_quantiles(x, w, probs))
})

test_that("the median distance of many rows is nearly that of all", {
  set.seed(5)
  for (x in list(cbind(rnorm(2000), runif(2000)), cbind(rexp(2000)))) {
    # 500 rows evenly from all: the median of 1e5 distances of independent rows is known to 1 %
    expect_equal(median_distance(x, rep(1, 2000)), median(dist(x)), tolerance = 0.02)
  }
})
