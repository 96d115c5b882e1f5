# A path of four regions and a pair, one alone: 1 - 2 - 3 - 4, 5 - 6, 7.
edges_of_seven <- cbind(c(1, 2, 3, 5), c(2, 3, 4, 6))

adjacency <- function(edges, n, names = NULL) {
  A <- matrix(0, n, n, dimnames = if (!is.null(names)) list(names, names))
  A[edges] <- A[edges[, 2:1]] <- 1
  A
}

edge_table <- function(graph) {
  table <- cbind(graph$i, graph$j, graph$weight)
  table[order(table[, 2], table[, 1]), , drop = FALSE]
}

neighbours_of <- function(A) lapply(seq_len(nrow(A)), function(k) unname(which(A[k, ] != 0)))

test_that("every kind of graph gives the same edges", {
  A <- adjacency(edges_of_seven, 7)
  want <- as_graph(A)
  expect_identical(edge_table(want), cbind(c(2, 3, 4, 6), c(1, 2, 3, 5), 1))
  expect_identical(want$names, as.character(1:7))
  expect_identical(want$component, c(1L, 1L, 1L, 1L, 2L, 2L, 3L))
  expect_identical(edge_table(as_graph(A == 1)), edge_table(want))
  expect_identical(as_graph(neighbours_of(A)), want)
  nb <- lapply(neighbours_of(A), function(v) if (length(v)) v else 0L)
  class(nb) <- "nb"
  expect_identical(as_graph(nb), want)
  six <- as_graph(A[1:6, 1:6])
  expect_identical(as_graph(edges_of_seven), six)
  expect_identical(as_graph(as.data.frame(edges_of_seven)), six)
  expect_identical(as_graph(rbind(edges_of_seven, edges_of_seven[, 2:1])), six)
})

test_that("sparse matrices of package Matrix are read, whatever their class", {
  skip_if_not_installed("Matrix")
  A <- adjacency(edges_of_seven, 7, letters[1:7])
  A[1, 2] <- A[2, 1] <- 2.5
  want <- as_graph(A)
  general <- methods::as(methods::as(A, "CsparseMatrix"), "generalMatrix")
  symmetric <- Matrix::forceSymmetric(general)
  for (M in list(general, symmetric)) {
    expect_identical(as_graph(M), want)
    expect_identical(as_graph(methods::as(M, "TsparseMatrix")), want)
    expect_identical(as_graph(methods::as(M, "RsparseMatrix")), want)
    pattern <- as_graph(methods::as(M, "nsparseMatrix"))
    expect_identical(pattern$weight, rep(1, 4))
  }
  lower <- Matrix::sparseMatrix(want$i, want$j, x = want$weight, dims = c(7, 7), symmetric = TRUE)
  expect_identical(edge_table(as_graph(lower)), edge_table(want))
  expect_identical(as_graph(Matrix::Matrix(A, sparse = FALSE)), want)
  twice <- Matrix::sparseMatrix(c(1, 1, 2, 2), c(2, 2, 1, 1), x = 1, dims = c(2, 2), repr = "T")
  expect_identical(as_graph(twice)$weight, 2)
})

test_that("names come from rows, region.id, list names and edges", {
  names <- paste0("r", 7:1)
  A <- adjacency(edges_of_seven, 7, names)
  expect_identical(as_graph(A)$names, names)
  expect_identical(as_graph(`rownames<-`(unname(A), names))$names, names)
  expect_identical(as_graph(structure(neighbours_of(A), region.id = names, class = "nb"))$names, names)
  by_number <- stats::setNames(neighbours_of(A), names)
  expect_identical(as_graph(by_number)$names, names)
  by_name <- lapply(by_number, function(v) names[v])
  expect_identical(as_graph(by_name), as_graph(A))
  expect_identical(as_graph(replace(by_name, 7L, list(NULL))), as_graph(A))
  expect_identical(as_graph(structure(unname(by_name), region.id = names, class = "nb")), as_graph(A))
  # numbers of pairs of nodes are beyond integers
  n <- 50000L
  names <- paste0("n", seq_len(n))
  path <- stats::setNames(lapply(seq_len(n), function(k) setdiff(k + c(-1L, 1L), c(0L, n + 1L))), names)
  expect_length(as_graph(path)$i, n - 1L)
  expect_identical(as_graph(lapply(path, function(v) names[v])), as_graph(path))
  # numbers in their order
  expect_identical(as_graph(cbind(c(10, 9), c(9, 2)))$names, c("2", "9", "10"))
  expect_identical(as_graph(data.frame(a = factor(c("x", "y")), b = c("y", "z")))$names, c("x", "y", "z"))
})

test_that("a graph that is none is refused by name", {
  A <- adjacency(edges_of_seven, 7)
  refused <- function(graph, message) {
    expect_error(as_graph(graph), message, class = "galvi_error_argument")
  }
  refused(A[, 1:6], "square")
  refused(replace(A, 2, 0), "symmetric: 1 has the neighbour 2, but not")
  refused(replace(A, 2, 3), "symmetric: the weight of 2 and 1 is 3")
  refused(replace(A, 3, 1), "symmetric: 3 has the neighbour 1, but not")
  refused(-A, "negative weights")
  refused(replace(A, 2, NA), "finite weights")
  refused(replace(A, 1, 1), "loop: node 1 is its own")
  refused(`dimnames<-`(A, list(letters[1:7], letters[7:1])), "same row names and column names")
  refused(`dimnames<-`(A, list(rep("a", 7), rep("a", 7))), "node 2 has \"a\" again")
  refused(list(2, c(1, 5), 2), "element 2 has 5")
  refused(list(2L, integer()), "symmetric")
  refused(list("b", "a"), "element 1 has the neighbour \"b\", which is not the name")
  refused(list(north = "south", south = "nort"), "element 2 has the neighbour \"nort\".*Did you mean `north`")
  refused(list(a = "b", b = NA_character_), "element 2 has the neighbour \"NA\"")
  refused(cbind("a", "a"), "loop")
  # of two regions, not the edges 1-0 and 0-1
  refused(diag(2), "node 1 is its own neighbour")
  expect_identical(as_graph(matrix(c(0, 1, 1, 0), 2))$n, 2L)
  expect_identical(as_graph(matrix(1:4, 2))$names, as.character(1:4))
  refused(cbind(c("a", NA), c("b", "c")), "none missing")
  refused("graph", "must be a square adjacency matrix")
  refused(NULL, "not NULL")
  refused(array(0, c(2, 2, 2)), "adjacency")
})

test_that("components are found whatever the numbering, fast", {
  set.seed(1)
  for (n in c(1, 2, 30, 200)) {
    i <- sample(n, n, replace = TRUE)
    j <- sample(n, n, replace = TRUE)
    reach <- adjacency(cbind(i, j), n) + diag(n) > 0
    for (step in 1:9) reach <- reach %*% reach > 0
    first <- apply(reach, 1, which.max)
    expect_identical(components(i, j, n), match(first, unique(first)))
  }
  n <- 1e5
  path <- sample(n)
  seconds <- system.time(found <- components(path[-1], path[-n], n))[["elapsed"]]
  expect_true(all(found == 1L))
  expect_lt(seconds, within_seconds(10))
})

test_that("polygons that share a point are neighbours, and keep their outlines", {
  skip_if_not_installed("sf")
  square <- function(x, y) sf::st_polygon(list(cbind(x + c(0, 1, 1, 0, 0), y + c(0, 0, 1, 1, 0))))
  shapes <- sf::st_sfc(square(0, 0), square(1, 0), square(2, 1), square(9, 9))
  graph <- as_graph(sf::st_sf(name = letters[1:4], geometry = shapes, row.names = letters[1:4]))
  expect_identical(graph$names, letters[1:4])
  expect_identical(edge_table(graph), cbind(c(2, 3), c(1, 2), 1))
  expect_identical(dim(graph$outlines$rings[[1]]), c(5L, 2L))
  both <- sf::st_sfc(sf::st_union(shapes[1], shapes[4])[[1]], shapes[[2]])
  expect_identical(sum(is.na(as_graph(both)$outlines$rings[[1]])), 2L)
  points <- sf::st_sfc(sf::st_point(c(0, 0)))
  expect_error(as_graph(points), "must be polygons", class = "galvi_error_argument")
})

test_that("polygons as mgcv has them are told from neighbours", {
  skip_if_not_installed("mgcv")
  utils::data("columb", "columb.polys", package = "mgcv", envir = environment())
  said <- message_of_error(galvi(crime ~ gmrf(district, graph = columb.polys), columb))
  expect_match(said, "s(district, bs = \"mrf\", xt = list(polys = columb.polys))", fixed = TRUE)
  expect_no_error(galvi(crime ~ s(district, bs = "mrf", xt = list(polys = columb.polys)), columb))
})
