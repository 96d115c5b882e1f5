# Matern fields on meshes: spde(), galvi_mesh() and as_galvi_mesh().

spde_case <- function() {
  read <- function(name) utils::read.csv(test_path("fixtures", sprintf("spde_%s.csv", name)))
  data <- cbind(read("points"), read("data"))
  list(
    mesh = as_galvi_mesh(list(nodes = as.matrix(read("nodes")), triangles = as.matrix(read("triangles")))), data = data
  )
}

small_mesh <- function() galvi_mesh(cbind(c(0, 1, 0.3), c(0, 0.4, 1)), 0.4, 0.3)

test_that("bounds and gradients are those of an independent code", {
  case <- spde_case()
  gold <- list(
    list(y_gaussian ~ spde(x, y, mesh = case$mesh, range = 0.5, sd = 1.1),
      galvi_family(gaussian(), variance = fixed(0.09)), -48.7214792771, c(14.626253728, -28.330466865)),
    list(y_poisson ~ spde(x, y, mesh = case$mesh, range = 0.5, sd = 1.1), poisson(), -154.2582490657,
      c(3.599507196, -12.127179106))
  )
  for (one in gold) {
    model <- prepare_model(one[[1]], case$data, one[[2]], prior = list(intercept = normal(0, 10)))$model
    at <- match(c("spde(x, y).range", "spde(x, y).sd"), model$hyper$name)
    got <- bound_at(model, model$hyper$value)
    expect_close(got$elbo, one[[3]], 1e-9)
    # of the logarithms
    expect_close((got$gradient * model$hyper$value)[at], one[[4]], 1e-7)
  }
})

test_that("the prior is that of a loop over triangles, in every way a term is asked for it", {
  mesh <- small_mesh()
  set.seed(1)
  d <- data.frame(x = runif(8), y = runif(8), z = rnorm(8), v = rnorm(8), f = factor(rep(c("a", "b"), 4)))
  S <- solve(spde_precision(mesh, 0.8, 1.3))
  found <- locate_in_mesh(mesh, as.matrix(d[c("x", "y")]))
  A <- matrix(0, 8, nrow(S))
  for (h in 1:3) A[cbind(1:8, found$node[, h])] <- found$weight[, h]
  expect_close(A %*% mesh$nodes, as.matrix(d[c("x", "y")]))
  C <- A %*% S %*% t(A)
  evidence <- function(C) {
    V <- C + 100 + diag(0.25, 8)
    -0.5 * (8 * log(2 * pi) + determinant(V)$modulus + sum(d$z * solve(V, d$z)))
  }
  held <- function(formula) {
    galvi(formula, d, galvi_family(gaussian(), variance = fixed(0.25)), prior = list(intercept = normal(0, 10)),
      hyper = "fixed", control = list(threads = 1))$elbo
  }
  suppressWarnings({
    expect_close(held(z ~ spde(x, y, mesh, fixed(0.8), fixed(1.3))), evidence(C), 1e-9)
    expect_close(held(z ~ spde(x, y, mesh, fixed(0.8), fixed(1.3), by = v)), evidence(C * tcrossprod(d$v)), 1e-9)
    expect_close(held(z ~ spde(x, y, mesh, fixed(0.8), fixed(1.3), by = f)), evidence(C * outer(d$f, d$f, `==`)), 1e-9)
    # beside a full process everything is dense
    both <- C + exp(-0.5 * outer(d$v, d$v, `-`)^2)
    expect_close(
      held(z ~ spde(x, y, mesh, fixed(0.8), fixed(1.3)) + gp(v, kernel = se(fixed(1), fixed(1)), center = FALSE)), evidence(both), 1e-9
    )
  })
})

test_that("the covariance on a fine mesh is Matern's", {
  mesh <- square_mesh(1 / 16, 2)
  at <- cbind(c(0.5, 0.5, 0.5), c(0.5, 0.75, 1))
  d <- data.frame(x = at[, 1], y = at[, 2], z = 0)
  fit <- galvi(z ~ 0 + spde(x, y, mesh, fixed(0.8), fixed(1)), d, galvi_family(gaussian(), variance = fixed(1e8)),
    hyper = "fixed")
  V <- predict(fit, d, type = "link", covariance = TRUE)$covariance
  h <- as.matrix(dist(at)) * sqrt(8) / 0.8
  matern <- ifelse(h == 0, 1, h * besselK(h, 1))
  # edges of a thirteenth of the range: 3% of variance, less elsewhere
  expect_lt(max(abs(V - matern)), 0.04)
})

test_that("points are found in meshes of any shape, on edges and nodes too", {
  mesh <- small_mesh()
  set.seed(2)
  t <- sample(nrow(mesh$triangles), 200, TRUE)
  w <- matrix(rexp(600), 200)
  w <- w / rowSums(w)
  at <- w[, 1] * mesh$nodes[mesh$triangles[t, 1], ] + w[, 2] * mesh$nodes[mesh$triangles[t, 2], ] +
    w[, 3] * mesh$nodes[mesh$triangles[t, 3], ]
  found <- locate_in_mesh(mesh, at)
  expect_identical(found$node, mesh$triangles[t, ])
  expect_close(found$weight, w, 1e-9)
  # nodes, and the middles of edges
  on_node <- locate_in_mesh(mesh, mesh$nodes)
  expect_identical(rowSums(on_node$weight > 0), rep(1, nrow(mesh$nodes)))
  ends <- mesh_edges(mesh)
  middle <- (mesh$nodes[ends[, 1], ] + mesh$nodes[ends[, 2], ]) / 2
  expect_identical(rowSums(locate_in_mesh(mesh, middle)$weight > 0), rep(2, nrow(ends)))
  expect_true(all(is.na(locate_in_mesh(mesh, cbind(c(-50, 1e9), c(0, 3)))$node)))
  # triangles of very different sizes
  graded <- as_galvi_mesh(list(
    nodes = rbind(c(0, 0), c(1e3, 0), c(0, 1e3), c(1, 1), c(1.001, 1), c(1, 1.001)),
    triangles = rbind(c(1, 2, 5), c(2, 3, 6), c(3, 1, 4), c(4, 5, 6), c(1, 5, 4), c(2, 6, 5), c(3, 4, 6))
  ))
  expect_identical(sort(locate_in_mesh(graded, cbind(1.0002, 1.0002))$node[1, ]), 4:6)
  expect_false(anyNA(locate_in_mesh(graded, cbind(runif(500, 0, 400), runif(500, 0, 400)))$node))
})

test_that("galvi_mesh() covers its points, extends, grows outside and leaves out what is far", {
  set.seed(3)
  at <- cbind(runif(50), runif(50, 0, 2))
  mesh <- galvi_mesh(at, 0.1, 0.5)
  expect_false(anyNA(locate_in_mesh(mesh, at)$node))
  # every place within the extension, too
  angle <- seq(0, 2 * pi, length.out = 20)
  around <- do.call(rbind, lapply(1:50, function(i) cbind(at[i, 1] + 0.49 * cos(angle), at[i, 2] + 0.49 * sin(angle))))
  expect_false(anyNA(locate_in_mesh(mesh, around)$node))
  expect_true(all(signed_areas(mesh$nodes, mesh$triangles) > 0))
  expect_gt(max(edge_lengths(mesh)), 0.15)
  inside <- locate_in_mesh(mesh, at)$node
  expect_lte(typical_edge(mesh, inside), 0.1)
  # two clusters far apart are two pieces
  apart <- rbind(at, cbind(at[, 1] + 30, at[, 2]))
  expect_lt(nrow(galvi_mesh(apart, 0.1, 0.5)$nodes), 3 * nrow(mesh$nodes))
  # on a line, and without extension
  line <- galvi_mesh(cbind(1:10, 1:10), 1, 0)
  expect_false(anyNA(locate_in_mesh(line, cbind(seq(1, 10, 0.1), seq(1, 10, 0.1)))$node))
  # data frames and matrices alike
  expect_identical(galvi_mesh(as.data.frame(at), 0.1, 0.5), mesh)
  expect_identical(as_galvi_mesh(unclass(mesh)), mesh)
  expect_output(print(mesh), "Mesh of .* nodes")
})

test_that("meshes of fmesher and INLA are read by their fields", {
  mesh <- small_mesh()
  theirs <- structure(list(
    manifold = "R2", n = nrow(mesh$nodes), loc = cbind(unname(mesh$nodes), 0), graph = list(tv = mesh$triangles)
  ), class = c("fm_mesh_2d", "inla.mesh"))
  expect_identical(as_galvi_mesh(theirs), mesh)
  refused <- function(x, what) expect_error(as_galvi_mesh(x), what, class = "galvi_error_argument")
  refused(replace(theirs, "manifold", "S2"), "sphere")
  refused(1, "must be a mesh")
  refused(list(nodes = mesh$nodes), "must be a mesh")
  own <- function(nodes = mesh$nodes, triangles = mesh$triangles) list(nodes = nodes, triangles = triangles)
  refused(own(nodes = cbind(mesh$nodes, 1)), "two columns")
  refused(own(nodes = replace(mesh$nodes, 3, NA)), "node 3 are not")
  refused(own(triangles = mesh$triangles[, 1:2]), "three columns")
  refused(own(triangles = replace(mesh$triangles, 2, 999)), "triangle 2 has 999")
  refused(own(triangles = rbind(mesh$triangles, c(1, 1, 2))), "without an area")
  refused(own(nodes = rbind(mesh$nodes, 7)), "in no triangle")
  # turned round
  expect_identical(as_galvi_mesh(own(triangles = mesh$triangles[, c(2, 1, 3)]))$nodes, mesh$nodes)
  expect_true(all(signed_areas(mesh$nodes, as_galvi_mesh(own(triangles = mesh$triangles[, 3:1]))$triangles) > 0))
})

test_that("bad coordinates are errors that say what to do", {
  refused <- function(expr, what, class = "argument") {
    expect_error(expr, what, class = paste0("galvi_error_", class))
  }
  refused(galvi_mesh(cbind(1, 1)), "all of them are the same")
  refused(galvi_mesh(cbind(c(1, NA), 1)), "row 2 is \\(NA, 1\\)")
  refused(galvi_mesh(1:3), "must be coordinates")
  refused(galvi_mesh(cbind(1:3, 1, 1)), "two columns")
  refused(galvi_mesh(cbind(0:1, 0:1), max_edge = 1e-6), "longer edges")
  refused(galvi_mesh(cbind(0:1, 0:1), max_edge = 0), "positive")
  d <- data.frame(x = c(0, 1, 0, 1), y = c(0, 0, 1, 1), z = 1:4, f = letters[1:4], s = 3)
  mesh <- galvi_mesh(d[c("x", "y")], 0.3, 0.1)
  held <- function(formula, data = d) galvi(formula, data, hyper = "fixed")
  refused(held(z ~ spde(x)), "needs `y`", "formula")
  refused(held(z ~ spde(x, f)), "must be numbers", "data")
  refused(held(z ~ spde(s, s)), "all observations at one place", "data")
  refused(held(z ~ spde(x, y, mesh = 3)), "must be a mesh")
  refused(held(z ~ spde(x, y, mesh = mesh), transform(d, x = 10 * x)), "2 of 4 places are outside the mesh", "data")
  refused(held(z ~ spde(x, y), transform(d, x = x / 0)), "finite", "data")
  refused(held(z ~ spde(x, y, range = -1)), "range")
  refused(held(z ~ spde(x, y, range = pc(1))), "not a variance")
  refused(held(z ~ spde(x, y, sd = pc_range(1))), "not a range")
  refused(held(z ~ spde(x, y, rnge = 1)), "range")
  refused(pc_range(), "needs `lower`", "prior")
  fit <- held(z ~ spde(x, y))
  refused(predict(fit, data.frame(x = 100, y = 0)), "1 of 1 places is outside", "newdata")
  refused(spde(1, 2), "is a term", "formula")
})

test_that("range and sd have priors, starts and fixed values", {
  case <- spde_case()
  d <- case$data
  row <- function(formula) {
    hyper <- prepare_model(formula, d, poisson())$model$hyper
    at <- match(c("spde(x, y).range", "spde(x, y).sd"), hyper$name)
    list(value = hyper$value[at], learned = hyper$learned[at], prior = hyper$prior[at])
  }
  diagonal <- sqrt(sum(apply(d[c("x", "y")], 2, function(x) diff(range(x)))^2))
  default <- row(y_poisson ~ spde(x, y))
  expect_equal(default$value, c(-log(0.05) * diagonal / 10, -3 / log(0.05)))
  expect_identical(vapply(default$prior, `[[`, "", "type"), c("pc_range", "pc"))
  started <- row(y_poisson ~ spde(x, y, range = 0.3, sd = fixed(2)))
  expect_equal(started$value, c(0.3, 2))
  expect_identical(started$learned, c(TRUE, FALSE))
  expect_equal(started$prior[[1]], default$prior[[1]])
  expect_null(started$prior[[2]])
  own <- row(y_poisson ~ spde(x, y, range = log_normal(0, 1), sd = half_normal(2)))
  expect_identical(vapply(own$prior, `[[`, "", "type"), c("log_normal", "half_normal"))
})

test_that("a fit learns, predicts anywhere on its mesh, survives saving and says if the mesh is coarse", {
  case <- spde_case()
  d <- case$data
  mesh <- galvi_mesh(d[c("x", "y")], 0.1, 0.4)
  fit <- galvi(y_poisson ~ spde(x, y, mesh = mesh), d, poisson(), control = list(threads = 1))
  expect_true(fit$convergence$converged)
  expect_identical(fit$mesh, list("spde(x, y)" = mesh))
  expect_close(predict(fit, d, type = "link"), predict(fit, type = "link"), 1e-8)
  new <- data.frame(x = c(-0.2, 0.5), y = c(0.5, 1.1))
  link <- predict(fit, new, type = "link", se.fit = TRUE)
  # a linear function of the nodes' effects
  found <- locate_in_mesh(mesh, as.matrix(new))
  nodes <- ranef(fit)[[1]]
  expect_identical(nrow(nodes), nrow(mesh$nodes))
  expect_close(link$fit, coef(fit)[[1]] + rowSums(found$weight * matrix(nodes$mean[found$node], 2)), 1e-8)
  expect_gt(link$se.fit[1], predict(fit, data.frame(x = 0.5, y = 0.5), type = "link", se.fit = TRUE)$se.fit)
  again <- unserialize(serialize(fit, NULL))
  expect_identical(predict(again, new), predict(fit, new))
  expect_warning(
    galvi(y_poisson ~ spde(x, y, mesh = case$mesh, range = fixed(0.3)), d, poisson(), hyper = "fixed"),
    "less than four edges", class = "galvi_warning_mesh"
  )
  degrees <- transform(d, long = 10 * x, lat = 10 * y)
  expect_message(
    galvi(y_poisson ~ spde(long, lat), degrees, poisson(), hyper = "fixed"), "look like degrees",
    class = "galvi_message_coordinates"
  )
})

test_that("by_hyper = \"each\" is a field for each level, with its own range and sd", {
  mesh <- small_mesh()
  set.seed(4)
  d <- data.frame(x = runif(30), y = runif(30, 0, 0.4), f = factor(rep(c("a", "b"), 15)))
  d$z <- rnorm(30) + 2 * d$x * (d$f == "b")
  found <- locate_in_mesh(mesh, as.matrix(d[c("x", "y")]))
  A <- matrix(0, 30, nrow(mesh$nodes))
  for (h in 1:3) A[cbind(1:30, found$node[, h])] <- found$weight[, h]
  gaussian_fixed <- galvi_family(gaussian(), variance = fixed(0.25))
  model_of <- function(formula) {
    galvi_model(galvi_design(formula, d, gaussian_fixed), prior = list(intercept = normal(0, 10)))
  }
  each <- model_of(z ~ spde(x, y, mesh = mesh, by = f, by_hyper = "each"))
  label <- "spde(x, y, by = f)"
  at <- match(sprintf("%s[%s].%s", label, c("a", "b", "a", "b"), c("range", "range", "sd", "sd")), each$hyper$name)
  expect_false(anyNA(at))
  expect_identical(each$hyper$term[at], rep(label, 4))
  # the evidence of two fields with covariances of their own
  own <- c(0.7, 1.6, 1.2, 0.5)
  values <- replace(each$hyper$value, at, own)
  V <- 100 + diag(0.25, 30)
  for (k in 1:2) {
    S <- A %*% solve(spde_precision(mesh, own[k], own[k + 2]), t(A))
    V <- V + S * tcrossprod(d$f == levels(d$f)[k])
  }
  got <- bound_at(each, values)
  expect_close(
    got$elbo, -0.5 * (30 * log(2 * pi) + as.numeric(determinant(V)$modulus) + sum(d$z * solve(V, d$z))), 1e-9
  )
  # slopes of the evidence and of the priors
  slope <- central_gradient(function(x) {
    now <- bound_at(each, replace(values, at, exp(x)))
    now$elbo
  }, log(own))
  expect_close((got$gradient * values)[at], slope, tol$gradient)
  # at the same numbers it is the field that levels share
  shared <- model_of(z ~ spde(x, y, mesh = mesh, by = f))
  expect_close(bound_at(each, each$hyper$value)$elbo, bound_at(shared, shared$hyper$value)$elbo, 1e-9)
  expect_warning(
    fit <- galvi(z ~ f + spde(x, y, mesh = mesh, range = 0.5, by = f, by_hyper = "each"), d,
      control = list(threads = 1)),
    "[.]range, .*less than four edges", class = "galvi_warning_mesh"
  )
  expect_identical(sum(fit$hyper$term == label), 4L)
  expect_true(all(is.finite(predict(fit, data.frame(x = 0.5, y = 0.2, f = c("a", "b")), se.fit = TRUE)$se.fit)))
  expect_error(galvi(z ~ spde(x, y, mesh, fixed(1e6)), d), "edges", class = "galvi_error_argument")
  expect_error(galvi(z ~ spde(x, y, mesh, by = x, by_hyper = "each"), d), class = "galvi_error_argument")
})

test_that("pictures show field, sd and mesh", {
  case <- spde_case()
  fit <- galvi(y_poisson ~ spde(x, y), case$data, poisson(), hyper = "fixed")
  panels <- plot_away(fit, terms = "spde(x, y)", n = 21)
  expect_named(panels, c("spde(x, y)", "sd of spde(x, y)"))
  shown <- panels[[1]][!panels[[1]]$far, ]
  link <- predict(fit, shown[c("x", "y")], type = "link")
  expect_close(shown$fit, link - coef(fit)[[1]], 1e-8)
  sites <- calls_of(drawn(fit, terms = "spde(x, y)"), "C_segments")
  expect_gt(length(sites), 0L)  # the mesh
  response <- plot_away(fit, terms = "spde(x, y)", n = 11, scale = "response")[[1]]
  shown <- response[!response$far, ]
  expect_close(shown$fit, predict(fit, shown[c("x", "y")]), 1e-8)
  # a window: all of it, and nothing else
  window <- list(cbind(c(0.2, 0.8, 0.8, 0.2), c(0.2, 0.2, 0.6, 0.6)))
  inside <- plot_away(fit, terms = "spde(x, y)", n = 21, map = window)[[1]]
  expect_equal(range(inside$x), c(0.2, 0.8))
  expect_false(any(inside$far))
  expect_s3_class(plot_away(fit, "relevance"), "data.frame")
  calls <- drawn(galvi_mesh(case$data[c("x", "y")], 0.3), points = case$data[c("x", "y")])
  expect_gt(length(calls_of(calls, "C_segments")), 0L)
})

test_that("larger triangles around the data hardly change the field's variance there", {
  skip_on_cran()
  set.seed(9)
  at <- cbind(runif(80), runif(80))
  h <- 0.1
  # the same lattice, with triangles of one size outside, too
  levels <- function(step) stretched_levels(0, 1, step, 0.8)
  regular <- function(step) {
    all <- levels(step)
    inside <- all[all > -1e-9 & all < 1 + 1e-9]
    # rows are shifted alternately
    beyond <- diff(inside)[1L] * seq_len(10 + sum(all < -1e-9) %% 2)
    c(-rev(beyond), inside, 1 + beyond)
  }
  variances <- function(levels) {
    mesh <- lattice_mesh(levels(h), levels(h * sqrt(3) / 2))
    found <- locate_in_mesh(mesh, at)
    A <- matrix(0, nrow(at), nrow(mesh$nodes))
    for (k in 1:3) A[cbind(seq_len(nrow(at)), found$node[, k])] <- found$weight[, k]
    rowSums((A %*% solve(spde_precision(mesh, 0.8, 1))) * A)
  }
  # the error of linear elements with edges of an eighth of the range is 6 % (?galvi_mesh)
  expect_lt(max(abs(variances(levels) / variances(regular) - 1)), 0.02)
})
