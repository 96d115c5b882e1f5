# Maps of regions: which outline belongs to whom.

chain_fit <- function(names, graph = lattice_of(length(names), names), formula = y ~ gmrf(g, graph)) {
  environment(formula) <- environment()
  n <- length(names)
  galvi(formula, data.frame(g = rep(names, 3), y = sin(seq_len(3 * n))), hyper = "fixed")
}

# The polygons that were filled, by the first corner of each
filled <- function(...) {
  paths <- calls_of(drawn(...), "C_path")
  colour <- vapply(paths, function(path) as.character(path[[5]]), "")
  data.frame(x = vapply(paths, function(path) path[[1]][1], 1), colour = colour)
}

test_that("outlines are found by names, by a column, or in the order of the graph", {
  names <- c("a", "b", "c", "d")
  fit <- chain_fit(names)
  map <- squares(4)
  in_order <- filled(fit, map = map)
  expect_identical(in_order$x, as.numeric(1:4))
  expect_identical(length(unique(in_order$colour)), 4L)
  # the same colours at the same places, whatever the order of the map
  shuffled <- stats::setNames(map, names)[c(3, 1, 4, 2)]
  found <- filled(fit, map = shuffled)
  expect_identical(found[order(found$x), ], in_order, ignore_attr = TRUE)
})

test_that("germany_map is the map of germany_graph, with names of one's own too", {
  data <- transform(oral, region = paste0("D", region))
  graph <- stats::setNames(germany_graph, paste0("D", 1:544))
  fit <- galvi(Y ~ offset(log(E)) + gmrf(region, graph) + iid(region), data, poisson(), hyper = "fixed")
  calls <- calls_of(drawn(fit, terms = "gmrf(region)", map = germany_map), "C_path")
  expect_length(calls, 544L)
  expect_equal(calls[[10]][[1]], germany_map[[10]][, 1])
  # the term's levels are not on a map without names: intervals
  expect_length(calls_of(drawn(fit, terms = "iid(region)", map = germany_map), "C_path"), 0L)
  named <- stats::setNames(germany_map, names(graph))
  expect_length(calls_of(drawn(fit, terms = "iid(region)", map = named), "C_path"), 544L)
})

test_that("regions without an effect are grey, nodes without a region an error", {
  fit <- chain_fit(c("a", "b", "c"), formula = y ~ iid(g))
  map <- stats::setNames(squares(4), c("a", "b", "x", "c"))
  expect_identical(sum(filled(fit, map = map)$colour == no_effect), 1L)
  field <- chain_fit(c("a", "b", "c"))
  expect_no_error(drawn(field, map = map))
  expect_error(drawn(field, map = map[1:2]), "a", class = "galvi_error_argument")
  expect_error(drawn(field, map = "germany"), "polygons", class = "galvi_error_argument")
  expect_error(drawn(field, map = list(1:3)), "polygons", class = "galvi_error_argument")
})

test_that("polygons of sf are a map, by a column called as the variable", {
  skip_if_not_installed("sf")
  shapes <- sf::st_sfc(lapply(squares(3), function(x) sf::st_polygon(list(rbind(x, x[1, ])))))
  map <- sf::st_sf(g = c("c", "a", "b"), geometry = shapes)
  fit <- chain_fit(c("a", "b", "c"))
  expect_identical(filled(fit, map = map)$x, c(2, 3, 1))
  expect_identical(filled(fit, map = shapes)$x, c(1, 2, 3))
  points <- sf::st_sfc(sf::st_point(1:2))
  expect_error(drawn(fit, map = points), "polygons", class = "galvi_error_argument")
})
