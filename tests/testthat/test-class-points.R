# Averages over points of a softmax whose latent values depend on each other.

# Tolerances of this file.
lattice <- 1e-5     # at exponent 30: nodes end where the density is exp(-24), and the steps' error is smaller
fit_points <- 0.005 # of a mean probability, at the exponent of a fit: what is beyond the nodes weighs 0.001
even <- 0.02        # 2,000 evenly scattered points: some 1 / sqrt(2000)
differences <- 1e-4 # of second order, by steps of 0.01

fit_exponent <- 10

moments_of <- function(mean, V, classes, reference, exponent) {
  points <- probe_class_points(mean, V, classes, reference, exponent)
  p <- points$probability
  expect_equal(sum(points$weight), 1)
  expect_equal(rowSums(p), rep(1, nrow(p)))
  list(p = colSums(points$weight * p), second = crossprod(p, points$weight * p), points = nrow(p))
}

softmax <- function(eta) {
  p <- exp(eta - apply(eta, 1, max))
  p / rowSums(p)
}

# By a fine trapezium sum in the directions of a root of V.
by_sums <- function(mean, V, reference, step = 0.04, reach = 8) {
  root <- t(chol(V))
  z <- as.matrix(expand.grid(rep(list(seq(-reach, reach, by = step)), ncol(V))))
  weight <- exp(-rowSums(z^2) / 2)
  weight <- weight / sum(weight)
  eta <- z %*% t(root) + rep(mean, each = nrow(z))
  if (reference >= 0) eta <- cbind(eta[, seq_len(reference), drop = FALSE], 0, eta[, -seq_len(reference), drop = FALSE])
  p <- softmax(eta)
  list(p = colSums(weight * p), second = crossprod(p, weight * p))
}

test_that("means are those of fine sums, whatever the size of the variances", {
  set.seed(1)
  for (size in c(0.05, 0.5, 2, 8)) {
    V <- size^2 * matrix(c(1, 0.4, 0.4, 0.3), 2)
    mean <- c(0.5, -0.3)
    for (reference in c(1, 2)) {
      exact <- by_sums(mean, V, reference)
      usual <- moments_of(mean, V, 3, reference, fit_exponent)
      expect_close(usual$p, exact$p, fit_points)
      expect_close(usual$second, exact$second, fit_points)
      if (size > 2) next  # for which more accurate nodes would be too many
      fine <- moments_of(mean, V, 3, reference, 30)
      expect_close(fine$p, exact$p, lattice)
      expect_close(fine$second, exact$second, lattice)
      expect_lt(usual$points, fine$points)
    }
  }
})

test_that("what all classes share does not matter, nor does which class is the reference", {
  V <- diag(c(2, 0.5, 1)) + 0.3
  own <- moments_of(c(0, 1, -1), V, 3, -1, fit_exponent)
  expect_equal(moments_of(c(0, 1, -1) + 5, V + 7, 3, -1, fit_exponent)$p, own$p)
  # by differences to the last class
  to_last <- cbind(diag(2), -1)
  expect_equal(moments_of(c(1, 2), to_last %*% V %*% t(to_last), 3, 2, fit_exponent)$second, own$second)
})

test_that("many classes that vary much have evenly scattered points, and no variance one point of use", {
  set.seed(2)
  root <- matrix(rnorm(49, 0, 3), 7)
  V <- tcrossprod(root)
  mean <- rnorm(7)
  found <- moments_of(mean, V, 7, -1, fit_exponent)
  expect_equal(found$points, 2000)
  p <- softmax(matrix(rnorm(7e5), ncol = 7) %*% t(root) + rep(mean, each = 1e5))
  expect_close(found$p, colMeans(p), even)
  expect_equal(moments_of(mean, 0 * V, 7, -1, fit_exponent)$p, drop(softmax(rbind(mean))), ignore_attr = TRUE)
})

test_that("third and fourth derivatives are the changes of lower ones with the means", {
  h <- 0.01
  root <- matrix(c(0.8, 0.3, -0.2, 0, 0.6, 0.4, 0, 0, 0.5), 3)
  V <- tcrossprod(root)
  mean <- c(0.4, -0.6, 0.2)
  curvature <- function(m) {
    found <- moments_of(m, V, 4, 3, fit_exponent)
    -2 * (diag(found$p) - found$second)[1:3, 1:3]  # two copies
  }
  third_at <- function(m) {
    found <- probe_softmax_derivatives(rbind(m), rbind(as.vector(V)), 2, 4, 3, fit_exponent)
    list(third = array(found$third, c(3, 3, 3)), fourth = array(found$fourth, c(3, 3, 3, 3)))
  }
  found <- third_at(mean)
  for (a in 1:3) {
    up <- mean + h * (1:3 == a)
    down <- mean - h * (1:3 == a)
    expect_close(found$third[, , a], (curvature(up) - curvature(down)) / (2 * h), differences)
    expect_close(found$fourth[, , , a], (third_at(up)$third - third_at(down)$third) / (2 * h), differences)
  }
  # where every class has a latent value: by differences to the last
  all <- rbind(cbind(V, 0), 0)
  own <- probe_softmax_derivatives(rbind(c(mean, 0)), rbind(as.vector(all)), 2, 4, -1, fit_exponent)
  expect_close(as.vector(own$third), as.vector(found$third), 1e-10)
  expect_close(as.vector(own$fourth), as.vector(found$fourth), 1e-10)
})
