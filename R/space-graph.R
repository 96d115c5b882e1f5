# Graphs of gmrf(), in any of the accepted forms -> names of the nodes and a list of edges.

#' The argument `graph` -> list(names, n, i, j, weight: the edges, i > j, each once; component: of
#' every node; outlines: of polygons, NULL without them)
#' @noRd
as_graph <- function(graph) {
  parts <- if (inherits(graph, c("sf", "sfc"))) {
    graph_of_polygons(graph)
  } else if (is_sparse_matrix(graph)) {
    graph_of_sparse(graph)
  } else if (isS4(graph) && length(dim(graph)) == 2L) {
    # dense and diagonal classes of package Matrix
    graph_of_matrix(as.matrix(graph))
  } else if (is_edge_list(graph)) {
    graph_of_edges(graph)
  } else if (is.matrix(graph) && (is.numeric(graph) || is.logical(graph))) {
    graph_of_matrix(graph)
  } else if (is_neighbour_list(graph)) {
    graph_of_neighbours(graph)
  } else {
    stop_galvi("argument", sprintf(paste(
      "`graph` must be a square adjacency matrix (base or of package Matrix), a list of neighbours (as",
      "spdep's `nb`), polygons (`sf`), or an edge list (a matrix or data frame of two columns), not %s."
    ), describe(graph)))
  }
  edges <- check_edges(parts)
  names <- if (is.null(parts$names)) as.character(seq_len(parts$n)) else level_text(parts$names)
  check_node_names(names)
  c(
    list(names = names, n = parts$n), edges,
    list(component = components(edges$i, edges$j, parts$n), outlines = parts$outlines)
  )
}

check_node_names <- function(names) {
  bad <- c(which(is.na(names) | !nzchar(names)), which(duplicated(names)))
  if (!length(bad)) return(invisible())
  stop_galvi("argument", sprintf(
    "`graph`: every node needs a unique name; node %d has %s.", bad[1L],
    if (names[bad[1L]] %in% c("", NA)) "none" else paste0("\"", names[bad[1L]], "\" again")
  ))
}

# Every edge of an undirected graph must be there as (i, j) and as (j, i), with one weight. Zeros are not edges.
# -> list(i, j, weight) with i > j
check_edges <- function(parts) {
  node <- function(k) {
    if (is.null(parts$names)) format(k, scientific = FALSE) else dQuote(parts$names[k], FALSE)
  }
  refuse <- function(...) stop_galvi("argument", paste0("`graph` ", sprintf(...)))
  bad <- which(!is.finite(parts$weight))
  if (length(bad)) {
    refuse(
      "must have finite weights; that of %s and %s is %s.", node(parts$i[bad[1L]]), node(parts$j[bad[1L]]),
      format(parts$weight[bad[1L]])
    )
  }
  bad <- which(parts$weight < 0)
  if (length(bad)) {
    refuse(
      "must not have negative weights; that of %s and %s is %s.", node(parts$i[bad[1L]]),
      node(parts$j[bad[1L]]), format(parts$weight[bad[1L]])
    )
  }
  edge <- parts$weight > 0
  i <- as.integer(parts$i[edge])
  j <- as.integer(parts$j[edge])
  weight <- as.numeric(parts$weight[edge])
  bad <- which(i == j)
  if (length(bad)) {
    refuse("has a loop: node %s is its own neighbour (the diagonal must be zero).", node(i[bad[1L]]))
  }
  below <- i > j
  key <- function(a, b) as.numeric(b) * parts$n + a
  lower <- key(i[below], j[below])
  upper <- key(j[!below], i[!below])
  twin <- match(lower, upper)
  lonely <- c(which(below)[is.na(twin)], which(!below)[!upper %in% lower])
  if (length(lonely)) {
    refuse(
      "must be symmetric: %s has the neighbour %s, but not the other way round.", node(i[lonely[1L]]),
      node(j[lonely[1L]])
    )
  }
  two <- weight[!below][twin]
  differs <- which(abs(weight[below] - two) > 1e-8 * two)
  if (length(differs)) {
    at <- which(below)[differs[1L]]
    refuse(
      "must be symmetric: the weight of %s and %s is %s one way and %s the other.", node(i[at]), node(j[at]),
      format(weight[at]), format(two[differs[1L]])
    )
  }
  list(i = i[below], j = j[below], weight = weight[below])
}

# ---- one function per kind of graph -> list(n, names or NULL, i, j, weight), both directions ----

# arg, of: the argument that a matrix comes from and what its rows are, as messages name them.

check_square <- function(shape, arg, of) {
  if (shape[1L] == shape[2L]) return(invisible())
  stop_galvi("argument", sprintf(
    "`%s` must be a square matrix, a row and a column per %s, not %d x %d.", arg, of, shape[1L], shape[2L]
  ))
}

# Names of rows or, without them, of columns; both must agree.
matrix_names <- function(dimnames, arg) {
  rows <- dimnames[[1L]]
  columns <- dimnames[[2L]]
  if (!is.null(rows) && !is.null(columns) && !identical(rows, columns)) {
    stop_galvi("argument", sprintf("`%s` must have the same row names and column names, in the same order.", arg))
  }
  if (is.null(rows)) columns else rows
}

graph_of_matrix <- function(graph, arg = "graph", of = "node") {
  check_square(dim(graph), arg, of)
  edge <- which(is.na(graph) | graph != 0)
  list(
    n = nrow(graph), names = matrix_names(dimnames(graph), arg), i = row(graph)[edge], j = col(graph)[edge],
    weight = as.numeric(graph[edge])
  )
}

# Classes like dgCMatrix: their slots are attributes, so that package Matrix need not be there.
sparse_class <- "^[dln][gst][CTR]Matrix$"

is_sparse_matrix <- function(x) isS4(x) && grepl(sparse_class, class(x)[1L])

graph_of_sparse <- function(graph, arg = "graph", of = "node") {
  slot <- function(name) attr(graph, name)
  shape <- slot("Dim")
  check_square(shape, arg, of)
  # which kind: general, symmetric (one triangle is stored) or triangular; by columns, triplets or rows
  kind <- strsplit(class(graph)[1L], "")[[1L]]
  expand <- function(p) rep(seq_along(p[-1L]), diff(p))
  i <- if (kind[3L] == "R") expand(slot("p")) else slot("i") + 1L
  j <- if (kind[3L] == "C") expand(slot("p")) else slot("j") + 1L
  weight <- if (kind[1L] == "n") rep(1, length(i)) else as.numeric(slot("x"))
  if (kind[2L] == "s") {
    off <- i != j
    other <- i[off]
    i <- c(i, j[off])
    j <- c(j, other)
    weight <- c(weight, weight[off])
  }
  # triplets may name an entry twice, which means their sum
  if (kind[3L] == "T") {
    key <- as.numeric(j) * shape[1L] + i
    first <- !duplicated(key)
    sums <- rowsum(weight, match(key, key[first]))[, 1L]
    weight <- if (kind[1L] == "d") sums else as.numeric(sums > 0)
    i <- i[first]
    j <- j[first]
  }
  names <- slot("Dimnames")
  # one of a symmetric matrix is enough
  if (kind[2L] == "s" && is.null(names[[1L]])) names <- names[2L]
  list(
    n = shape[1L], names = if (kind[2L] == "s") names[[1L]] else matrix_names(names, arg), i = i, j = j,
    weight = weight
  )
}

# A matrix or data frame of two columns. A 2 x 2 matrix that can be an adjacency matrix is one.
is_edge_list <- function(x) {
  if (is.data.frame(x)) return(ncol(x) == 2L)
  if (!is.matrix(x) || !is.atomic(x) || ncol(x) != 2L) return(FALSE)
  if (nrow(x) != 2L || !(is.numeric(x) || is.logical(x)) || anyNA(x)) return(TRUE)
  # nodes that are named 0 and 1 are less likely than the matrix of two regions
  adjacency <- all(diag(x) == 0) || x[1L, 2L] == x[2L, 1L] && all(x %in% 0:1)
  !adjacency
}

graph_of_edges <- function(graph) {
  ends <- if (is.data.frame(graph)) unname(as.list(graph)) else list(graph[, 1L], graph[, 2L])
  known <- vapply(ends, function(x) is.numeric(x) || is.character(x) || is.factor(x), NA)
  if (!all(known) || anyNA(ends[[1L]]) || anyNA(ends[[2L]])) {
    stop_galvi("argument", "`graph` as an edge list must contain names or numbers of nodes, none missing.")
  }
  ends <- lapply(ends, function(x) if (is.factor(x)) as.character(x) else x)
  # numbers in their order, not that of their digits
  names <- sort(unique(c(ends[[1L]], ends[[2L]])))
  if (!length(names)) stop_galvi("argument", "`graph` is an edge list without edges.")
  i <- match(ends[[1L]], names)
  j <- match(ends[[2L]], names)
  once <- !duplicated(as.numeric(pmax(i, j)) * length(names) + pmin(i, j))
  list(
    n = length(names), names = level_text(names), i = c(i[once], j[once]), j = c(j[once], i[once]),
    weight = rep(1, 2L * sum(once))
  )
}

is_neighbour_list <- function(x) {
  is.list(x) && length(x) && (inherits(x, "nb") || is.null(attr(x, "class"))) &&
    all(vapply(x, function(v) is.numeric(v) || is.character(v) || is.null(v), NA))
}

# Regions as mgcv's `polys`: matrices of coordinates.
is_outline_list <- function(x) {
  is.list(x) && length(x) && is.null(attr(x, "class")) &&
    all(vapply(x, function(v) is.matrix(v) && is.numeric(v) && ncol(v) == 2L, NA))
}

# spdep writes 0 for "no neighbours".
graph_of_neighbours <- function(graph) {
  n <- length(graph)
  names <- attr(graph, "region.id")
  if (is.null(names)) names <- names(graph)
  i <- rep(seq_len(n), lengths(graph))
  j <- unlist(graph, use.names = FALSE)
  j <- if (is.character(j)) named_neighbours(i, j, names) else as.numeric(j)
  i <- i[is.na(j) | j != 0]
  j <- j[is.na(j) | j != 0]
  bad <- which(is.na(j) | j < 1 | j > n | j != round(j))
  if (length(bad)) {
    stop_galvi("argument", sprintf(
      "`graph` as a list of neighbours must contain whole numbers from 1 to %d; element %d has %s.", n,
      i[bad[1L]], format(j[bad[1L]])
    ))
  }
  twice <- duplicated(as.numeric(i) * n + j)
  list(n = n, names = names, i = i[!twice], j = j[!twice], weight = rep(1, sum(!twice)))
}

# Numbers of the nodes that are given by name.
named_neighbours <- function(i, j, names) {
  at <- match(j, names)
  bad <- which(is.na(at))[1L]
  if (is.na(bad)) return(at)
  stop_galvi("argument", sprintf(
    "`graph`: element %d has the neighbour \"%s\", which is not the name of an element.%s", i[bad], j[bad],
    did_you_mean(paste(j[bad]), names)
  ))
}

# Polygons that share a point are neighbours. Inaccurate borders may overlap, which counts too.
graph_of_polygons <- function(graph) {
  if (!requireNamespace("sf", quietly = TRUE)) {
    stop_galvi("argument", paste(
      "`graph` as polygons needs the package sf: install.packages(\"sf\"), or give a list of neighbours or",
      "an adjacency matrix."
    ))
  }
  shapes <- polygon_shapes(graph, "graph")
  touching <- unclass(sf::st_intersects(shapes))
  i <- rep(seq_along(touching), lengths(touching))
  j <- unlist(touching, use.names = FALSE)
  apart <- i != j
  list(
    n = length(touching), names = polygon_names(graph), i = i[apart], j = j[apart],
    weight = rep(1, sum(apart)), outlines = polygon_outlines(shapes)
  )
}

polygon_shapes <- function(x, arg) {
  shapes <- sf::st_geometry(x)
  kinds <- unique(as.character(sf::st_geometry_type(shapes)))
  if (all(kinds %in% c("POLYGON", "MULTIPOLYGON"))) return(shapes)
  stop_galvi("argument", sprintf("`%s` must be polygons, not %s.", arg, quote_names(tolower(kinds))))
}

polygon_names <- function(x) if (inherits(x, "sf")) row.names(x) else names(x)

# -> list(rings: a matrix per shape; aspect: of the two axes)
polygon_outlines <- function(shapes) {
  list(
    rings = lapply(shapes, outline),
    # a degree of longitude is shorter than one of latitude
    aspect = if (isTRUE(sf::st_is_longlat(shapes))) {
      1 / cos(mean(sf::st_bbox(shapes)[c(2, 4)]) * pi / 180)
    } else 1
  )
}

# The rings of a polygon, one below the other with a row of NA between them, as polypath() draws them.
outline <- function(shape) {
  rings <- if (inherits(shape, "MULTIPOLYGON")) unlist(unclass(shape), recursive = FALSE) else unclass(shape)
  parts <- lapply(rings, function(ring) rbind(ring[, 1:2, drop = FALSE], NA))
  all <- unname(do.call(rbind, parts))
  all[-nrow(all), , drop = FALSE]
}

# ---- components ----

#' Connected components of n nodes with edges (i, j): a number per node, in order of first appearance
#'
#' Each node keeps the smallest node number known in its component. A round hooks each root to the smallest root next
#' to it and lets all nodes jump to their roots; the number of rounds is about the logarithm of n.
#' @noRd
components <- function(i, j, n) {
  root <- seq_len(n)
  repeat {
    a <- root[i]
    b <- root[j]
    apart <- a != b
    if (!any(apart)) return(match(root, unique(root)))
    low <- pmin(a, b)[apart]
    high <- pmax(a, b)[apart]
    # of several the smallest is written last
    last <- order(low, decreasing = TRUE, method = "radix")
    root[high[last]] <- low[last]
    repeat {
      further <- root[root]
      if (identical(further, root)) break
      root <- further
    }
    # edges within a component have done their work
    i <- i[apart]
    j <- j[apart]
  }
}
