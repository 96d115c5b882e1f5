logistic_sweep <- function(expectation, mean, variance, y, order = 2, pieces = 20) {
  n <- max(length(mean), length(variance))
  probe_expectation(likelihood_spec("binomial_logit"), expectation, numeric(), rep_len(y, n), rep(1, n),
                    rep(1, n), rep_len(mean, n), rep_len(variance, n), order, 1, pieces)
}
# E B(eta) under eta ~ N(mean, variance), B >= llp = log(1 + exp(.)), and its derivatives: a failure has the
# log density -llp(eta). A success gives E B(-eta).
bound_at <- function(pieces, mean, variance = 0, y = 0, order = 2) {
  ours <- logistic_sweep("piecewise", mean, variance, y, order, pieces)
  lapply(ours[c("value", "d_m", "d_v", "d_mm", "d_mv", "d_vv")], `-`)
}
llp <- function(x) pmax(x, 0) + log1p(exp(-abs(x)))

# The pieces a x^2 + b x + c of B in order and the knots between them, read from B itself: each has its own
# curvature, and the middle ones meet at 0 where their number is even.
pieces_of <- function(pieces) {
  x <- c(-20, seq(-12, 12, length.out = 4801) + 1e-4, 20)
  at <- bound_at(pieces, x)
  first <- which(c(TRUE, diff(at$d_mm) != 0 | (pieces %% 2 == 0 & diff(x > 0))))
  b <- lapply(at[c("value", "d_m", "d_mm")], `[`, first)
  x <- x[first]
  table <- data.frame(a = b$d_mm / 2, b = b$d_m - b$d_mm * x, c = b$value - b$d_m * x + b$d_mm * x^2 / 2)
  # slopes are continuous, but at 0
  knots <- -diff(table$b) / (2 * diff(table$a))
  knots[diff(table$a) == 0] <- 0
  list(table = table, knots = knots)
}
piece_value <- function(b, x) {
  row <- findInterval(x, b$knots) + 1
  b$table$a[row] * x^2 + b$table$b[row] * x + b$table$c[row]
}

test_that("every number of pieces gives a continuous, convex upper bound", {
  x <- sort(c(-10^(2:4), seq(-60, 60, length.out = 40001), 10^(2:4)))
  largest <- numeric()
  for (pieces in 3:20) {
    b <- pieces_of(pieces)
    at <- bound_at(pieces, x)
    expect_identical(nrow(b$table), pieces)
    expect_close(piece_value(b, x), at$value)
    # continuous: two neighbours have the same value at their knot
    left <- b$table[-pieces, ]
    right <- b$table[-1, ]
    expect_close((left$a - right$a) * b$knots^2 + (left$b - right$b) * b$knots + left$c - right$c, 0)
    # convex, the slope rising from 0 to 1
    expect_true(all(diff(at$d_m) >= -1e-15) && all(at$d_mm >= 0))
    expect_identical(at$d_m[c(1, length(x))], c(0, 1))
    # B(x) - x / 2 is even
    expect_close(at$value - x, bound_at(pieces, -x)$value)
    # an upper bound; the rounding of values of 1e4 is 1e-12
    error <- at$value - llp(x)
    expect_true(all(error >= ifelse(abs(x) > 60, -1e-11, 0)))
    largest <- c(largest, max(error))
  }
  expect_true(all(diff(largest) < 0))
  # the best that a continuous bound of 3 pieces can do: derived in data-raw/llp_pieces.R
  expect_close(largest[c(1, 3)], c(0.0755882, 0.0141776), 1e-6)
  expect_lt(largest[18], 2.15e-4)
})

test_that("the error swings between 0 and its largest value, as often as that many pieces can", {
  x <- seq(-40, 40, length.out = 200001)
  for (pieces in 3:20) {
    error <- bound_at(pieces, x)$value - llp(x)
    most <- bound_at(pieces, -1e4)$value
    expect_lte(max(error), most + tol$identity)
    swing <- cumsum(c(1, diff(error > most / 2) != 0))
    extreme <- tapply(error / most, swing, function(e) if (e[1] > 0.5) max(e) else min(e))
    expect_length(extreme, 2 * pieces - 1)
    expect_close(extreme, rep_len(c(1, 0), length(extreme)), 1e-3)  # seen on a grid
  }
})

test_that("means equal integrate()", {
  grid <- expand.grid(mean = c(-300, -20, -5, -1, 0, 0.3, 2, 10, 50),
                      variance = c(1e-8, 1e-4, 0.01, 0.5, 1, 4, 100, 1e4))
  for (pieces in c(3, 4, 7, 20)) {
    b <- pieces_of(pieces)
    slope <- function(x) {
      row <- findInterval(x, b$knots) + 1
      2 * b$table$a[row] * x + b$table$b[row]
    }
    expected <- function(f) {
      mapply(gaussian_expectation, mean = grid$mean, variance = grid$variance,
             MoreArgs = list(f = f, kinks = b$knots))
    }
    ours <- bound_at(pieces, grid$mean, grid$variance)
    expect_close(ours$value, expected(function(x) piece_value(b, x)), tol$expectation)
    expect_close(ours$d_m, expected(slope), tol$expectation)
  }
})

test_that("derivatives are those of the value, and the mean solves the heat equation", {
  skip_if_not_installed("numDeriv")
  for (pieces in c(3, 4, 20)) {
    for (y in 0:1) {
      at <- function(x, part) bound_at(pieces, x[1], x[2], y)[[part]]
      for (variance in c(0.02, 1, 30)) {
        for (mean in c(-7, -0.4, 0, 2.5)) {
          x <- c(mean, variance)
          expect_close(c(at(x, "d_m"), at(x, "d_v")), numDeriv::grad(at, x, part = "value"), tol$gradient)
          expect_close(c(at(x, "d_mm"), at(x, "d_mv")), numDeriv::grad(at, x, part = "d_m"), tol$gradient)
          expect_close(c(at(x, "d_mv"), at(x, "d_vv")), numDeriv::grad(at, x, part = "d_v"), tol$gradient)
          expect_identical(at(x, "d_v"), at(x, "d_mm") / 2)
        }
      }
    }
  }
})

test_that("the bound is below the exact mean by no more than its largest error", {
  grid <- expand.grid(mean = c(-50, -20, -5, -1, 0, 0.3, 2, 10, 50),
                      variance = c(0, 1e-8, 1e-4, 0.01, 0.5, 1, 3.9, 4.1, 10, 100, 1e3, 1e4))
  exact <- logistic_sweep("quadrature", grid$mean, grid$variance, 0)$value
  before <- Inf
  for (pieces in 3:20) {
    loss <- bound_at(pieces, grid$mean, grid$variance)$value + exact
    largest <- bound_at(pieces, -40)$value
    expect_true(all(loss > -tol$expectation) && all(loss < largest + tol$expectation))
    expect_lt(max(loss), before)
    before <- max(loss)
  }
  expect_lt(before, 2.15e-4)
})

test_that("no variance, tiny and huge ones", {
  grid <- expand.grid(mean = c(-1e30, -1e4, -300, -38, -8.6, -1, -1e-6, 0, 1e-6, 1, 8.6, 38, 300, 1e4, 1e30),
                      variance = c(0, 1e-300, 1e-100, 1e-12, 1e-6, 1, 1e3, 1e6, 1e8))
  for (pieces in c(3, 20)) {
    for (y in 0:1) {
      ours <- bound_at(pieces, grid$mean, grid$variance, y)
      expect_true(all(is.finite(unlist(ours))))
      expect_true(all(ours$d_v >= 0))
      expect_true(all(abs(ours$d_m) <= 1))
    }
    # B(mean) grows by variance times at most max B'' / 2, and at the kink by sd times kink / 2 at most
    for (part in c("value", "d_m")) {
      tiny <- bound_at(pieces, c(-9, -1, 0, 2), 1e-12)[[part]]
      expect_close(tiny, bound_at(pieces, c(-9, -1, 0, 2), 0)[[part]], 1e-8)
    }
    # B(x) - x / 2 looks like |x| / 2 from afar
    wide <- bound_at(pieces, 3, 1e8)
    expect_close(wide$value, bound_at(pieces, -1e4)$value + 1.5 + sqrt(1e8 / (2 * pi)), 1e-7)
    expect_close(wide$d_mm * sqrt(2 * pi * 1e8), 1, 1e-6)
  }
  # B'' of a middle piece, seen from inside: no kink there
  expect_close(bound_at(3, 0)$d_mm, bound_at(3, 0, 1e-6)$d_mm)
})

test_that("orders agree, the number of pieces counts, and others are refused", {
  mean <- c(-3, 0.2, 4)
  expect_identical(bound_at(20, mean, 1, order = 1)[1:3], bound_at(20, mean, 1)[1:3])
  for (pieces in c(2, 21, -1)) expect_error(bound_at(pieces, 0), "3 to 20 pieces")
  expect_match(probe_expectation_refuses("piecewise", likelihood_spec("poisson")), "piecewise")
  ours <- logistic_sweep("piecewise", 0.5, 2, 1)
  expect_identical(ours$name, "piecewise")
  expect_close(ours$value, -bound_at(20, 0.5, 2, y = 1)$value)
  expect_true(ours$is_bound && ours$one_optimum && !ours$exact)
})
