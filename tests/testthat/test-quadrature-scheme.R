# Point patterns: windows, quadrature_scheme() and the Cox process.

unit_square <- list(xlim = c(0, 1), ylim = c(0, 1))

# Points of a pattern on the unit square, from a fixed lattice that is thinned.
pattern <- function(n = 60) {
  set.seed(4)
  data.frame(x = rbeta(n, 1, 2), y = runif(n))
}

test_that("exposures add up to the window's area, whatever its shape", {
  at <- data.frame(x = c(0.52, 0.6), y = c(0.2, 0.55))
  angle <- seq(0, 2 * pi, length.out = 41)[-41]
  circle <- cbind(0.5 + 0.4 * cos(angle), 0.5 + 0.4 * sin(angle))
  hole <- cbind(c(0.3, 0.5, 0.5, 0.3), c(0.3, 0.3, 0.6, 0.6))
  letter <- cbind(c(0, 1, 1, 0.5, 0.5, 0), c(0, 0, 0.7, 0.7, 1, 1))
  areas <- list(
    list(unit_square, 1), list(circle, 20 * 0.16 * sin(2 * pi / 40)),
    list(list(circle, hole), 20 * 0.16 * sin(2 * pi / 40) - 0.06),
    list(rbind(circle, NA, hole[4:1, ]), 20 * 0.16 * sin(2 * pi / 40) - 0.06), list(letter, 0.85),
    list(as.data.frame(letter), 0.85), list(letter[6:1, ], 0.85)
  )
  mesh <- square_mesh(0.13, 0.1)
  for (one in areas) {
    scheme <- quadrature_scheme(at, one[[1]], mesh)
    expect_close(sum(scheme$exposure), one[[2]], 1e-10)
    expect_true(all(scheme$exposure > 0))
    expect_close(sum(scheme$count), 2, 1e-12)
  }
  # linear functions are integrated exactly
  scheme <- quadrature_scheme(at, letter, mesh)
  expect_close(sum(scheme$exposure * scheme$x), 0.7 * 0.5 + 0.15 * 0.25, 1e-10)
  # the mesh is its own window
  own <- quadrature_scheme(at, mesh = mesh)
  expect_close(own$exposure, finite_elements(mesh$nodes, mesh$triangles)$mass, 1e-10)
})

test_that("the bound is that of the Cox process, with points folded into nodes or kept as rows", {
  at <- pattern()
  mesh <- square_mesh(0.3, 0.3)
  S <- solve(spde_precision(mesh, 0.6, 1.2))
  found <- locate_in_mesh(mesh, as.matrix(at))
  A <- matrix(0, nrow(at), nrow(S))
  for (h in 1:3) A[cbind(seq_len(nrow(at)), found$node[, h])] <- found$weight[, h]
  a <- hat_integrals(mesh$nodes, mesh$triangles, as_window(unit_square))
  # E sum_i eta(s_i) - sum_k a_k E exp(eta_k) - KL, at the best q(u) = N(m, S^-1 + D): a fixed point in D
  prior <- S + 100
  y <- colSums(A)
  best <- function() {
    P <- solve(prior)
    m <- rep(log(60), nrow(S))
    lambda <- a * 60
    for (i in 1:400) {
      V <- solve(P + diag(lambda))
      rate <- a * exp(as.vector(m) + diag(V) / 2)
      m <- m + 0.3 * V %*% (y - rate - P %*% m)
      lambda <- lambda + 0.3 * (rate - lambda)
    }
    rate <- a * exp(m + diag(V) / 2)
    kl <- 0.5 * (sum(P * V) + sum(m * (P %*% m)) - nrow(S) - determinant(V)$modulus + determinant(prior)$modulus)
    sum(y * m) - sum(rate) - kl
  }
  fitted <- function(scheme) {
    fit <- suppressWarnings(galvi(
      count ~ offset(log(exposure)) + spde(x, y, range = fixed(0.6), sd = fixed(1.2)), scheme, poisson(),
      prior = list(intercept = normal(0, 10)), hyper = "fixed", control = list(tol = 1e-10, threads = 1)
    ))
    expect_true(fit$convergence$converged)
    fit$elbo + attr(scheme, "constant")
  }
  exact <- best()
  expect_close(fitted(quadrature_scheme(at, unit_square, mesh)), exact, 1e-8)
  # points have 1e-10 of the exposure
  expect_close(fitted(quadrature_scheme(at, unit_square, mesh, collapse = FALSE)), exact, 1e-6)
})

test_that("a Cox process is learned, predicted and drawn per unit of area", {
  at <- pattern(200)
  scheme <- quadrature_scheme(at, unit_square, max_edge = 0.08)
  expect_s3_class(scheme, "galvi_scheme")
  expect_named(scheme, c("x", "y", "count", "exposure"))
  fit <- galvi(count ~ offset(log(exposure)) + spde(x, y), scheme, poisson(), control = list(threads = 1))
  expect_true(fit$convergence$converged)
  expect_identical(unclass(fit$mesh[[1]])[1:2], unclass(attr(scheme, "mesh"))[1:2])
  # as many points as there are, to what the intercept's prior takes
  rate <- predict(fit, transform(as.data.frame(scheme), exposure = 1), type = "response")
  expect_close(sum(rate * scheme$exposure), 200, 1e-3)
  # denser on the left
  ends <- predict(fit, data.frame(x = c(0.1, 0.9), y = 0.5, exposure = 1), type = "response")
  expect_gt(ends[1], 2 * ends[2])
  data <- plot_away(scheme, fit)
  expect_named(data, c("x", "y", "fit", "lwr", "upr", "far"))
  at_places <- predict(fit, transform(data[1:5, c("x", "y")], exposure = 1), type = "response")
  expect_close(data$fit[1:5], at_places, 1e-8)
  expect_identical(plot_away(scheme), scheme)
  expect_true(all(is.finite(residuals(fit))))
  # half of the rows, whole counts or not
  expect_s3_class(scheme[1:10, ]$count, "galvi_point_count")
  expect_output(print(scheme[1:2, ]), "exposure")
})

test_that("covariates at the points have their effect", {
  set.seed(5)
  # intensity 40 on the left half, 160 on the right
  at <- data.frame(x = c(runif(20, 0, 0.5), runif(80, 0.5, 1)), y = runif(100))
  scheme <- quadrature_scheme(at, unit_square, collapse = FALSE, max_edge = 0.05)
  scheme$right <- as.numeric(scheme$x > 0.5)
  fit <- galvi(count ~ right + offset(log(exposure)), scheme, poisson())
  expect_lt(abs(coef(fit)[["right"]] - log(4)), 0.1)
  expect_lt(abs(sqrt(vcov(fit)["right", "right"]) - sqrt(1 / 20 + 1 / 80)), 0.02)
})

test_that("bad points, windows and meshes are errors that say what to do", {
  refused <- function(expr, what) expect_error(expr, what, class = "galvi_error_argument")
  at <- pattern(5)
  refused(quadrature_scheme(at), "`window` is missing")
  refused(quadrature_scheme(transform(at, x = x + 0.9), unit_square), "outside the window")
  refused(quadrature_scheme(at, "square"), "must be a region")
  refused(quadrature_scheme(at, list(xlim = c(1, 0), ylim = c(0, 1))), "the smaller one first")
  refused(quadrature_scheme(at, cbind(c(0, 1), c(0, 1))), "must be a region")
  refused(quadrature_scheme(at, cbind(c(0, 1, 2), c(0, 1, 2))), "no area")
  refused(quadrature_scheme(transform(at, x = x / 0), unit_square), "must be finite")
  refused(quadrature_scheme(at, unit_square, galvi_mesh(cbind(c(0, 0.5), 0:1), 0.2, 0.1)), "covers")
  refused(quadrature_scheme(at, unit_square, 7), "must be a mesh")
  refused(quadrature_scheme(at, unit_square, galvi_mesh(unit_square$xlim + diag(2)), max_edge = 1), "leave it out")
  refused(plot(quadrature_scheme(at, unit_square), 3), "must be a fit")
  expect_error(
    galvi(y ~ 1, data.frame(y = c(0.5, 1)), poisson()), "whole numbers", class = "galvi_error_response"
  )
})

test_that("points and windows of sf are read", {
  skip_if_not_installed("sf")
  at <- pattern(10)
  points <- sf::st_as_sf(at, coords = c("x", "y"))
  ring <- rbind(c(0, 0), c(1, 0), c(1, 1), c(0, 1), c(0, 0))
  hole <- rbind(c(0.9, 0.9), c(0.95, 0.9), c(0.95, 0.95), c(0.9, 0.9))
  window <- sf::st_sfc(sf::st_polygon(list(ring)))
  plain <- quadrature_scheme(at, unit_square, max_edge = 0.2)
  expect_equal(quadrature_scheme(points, window, max_edge = 0.2)$exposure, plain$exposure)
  expect_equal(quadrature_scheme(points, sf::st_bbox(window), max_edge = 0.2)$count, plain$count)
  holed <- quadrature_scheme(points, sf::st_sf(geometry = sf::st_sfc(sf::st_polygon(list(ring, hole)))), max_edge = 0.2)
  expect_close(sum(holed$exposure), 1 - 0.05^2 / 2, 1e-10)
  expect_error(quadrature_scheme(window, unit_square), "must be points", class = "galvi_error_argument")
  expect_identical(galvi_mesh(points, 0.2), galvi_mesh(at, 0.2))
  degrees <- sf::st_set_crs(points, 4326)
  expect_message(galvi_mesh(degrees, 0.2), "is in degrees", class = "galvi_message_coordinates")
})

test_that("point patterns and windows of spatstat are read", {
  skip_if_not_installed("spatstat.geom")
  at <- pattern(10)
  square <- spatstat.geom::owin(c(0, 1), c(0, 1))
  points <- spatstat.geom::ppp(at$x, at$y, window = square)
  plain <- quadrature_scheme(at, unit_square, max_edge = 0.2)
  expect_equal(quadrature_scheme(points, max_edge = 0.2)$exposure, plain$exposure)
  disc <- spatstat.geom::disc(0.4, c(0.5, 0.5), npoly = 32)
  ring <- spatstat.geom::setminus.owin(disc, spatstat.geom::disc(0.2, c(0.5, 0.5)))
  inside <- at[spatstat.geom::inside.owin(at$x, at$y, ring), ]
  expect_close(sum(quadrature_scheme(inside, ring, max_edge = 0.1)$exposure), spatstat.geom::area(ring), 1e-8)
  mask <- spatstat.geom::as.mask(disc, dimyx = 40)
  inside <- at[spatstat.geom::inside.owin(at$x, at$y, mask), ]
  expect_close(sum(quadrature_scheme(inside, mask, max_edge = 0.1)$exposure), spatstat.geom::area(mask), 1e-8)
})
