# Fields as border lists, by hand and at random, and the textbook's dense algebra of their priors.

# A symmetric matrix's lower triangle, or a whole matrix, as triplets.
triplets_of <- function(A, lower = TRUE) {
  at <- which(A != 0 & (!lower | row(A) >= col(A)), arr.ind = TRUE)
  list(rows = nrow(A), columns = ncol(A), i = unname(at[, 1]), j = unname(at[, 2]), x = A[at])
}

from_triplets <- function(t, symmetric = TRUE) {
  A <- matrix(0, t$rows, t$columns)
  A[cbind(t$i, t$j)] <- t$x
  if (symmetric) A + t(A) - diag(diag(A), nrow(A)) else A
}

# n nodes in connected islands, a spanning tree each and some edges more; the last `isolated` have none.
random_graph <- function(n, islands = 1, isolated = 0) {
  A <- matrix(0, n, n)
  member <- rep_len(sort(rep_len(seq_len(islands), n - isolated)), n - isolated)
  for (k in seq_len(islands)) {
    nodes <- which(member == k)
    for (m in seq_along(nodes)[-1]) A[nodes[m], nodes[sample(m - 1, 1)]] <- 1
    more <- length(nodes)
    A[cbind(sample(nodes, more, TRUE), sample(nodes, more, TRUE))] <- 1
  }
  diag(A) <- 0
  list(A = pmax(A, t(A)), member = c(member, rep(0L, isolated)))
}

walk_structure <- function(n, order, cyclic = FALSE) {
  steps <- if (cyclic) rbind(diag(n), diag(n)[seq_len(order), , drop = FALSE]) else diag(n)
  crossprod(diff(steps, differences = order))
}

# A twin of every registered model of a field, all that tests know of it. One without a twin fails test-sparse-solver.R.
# parts(graph, n, cyclic): the parts of the precision of one copy, and of an intrinsic field the constraints (L x c) and
# pins; graph: as random_graph() has it, with its Laplacian R and `degree`, for those with on_graph. twice: each row
# sees two nodes. hyper(): random hyperparameters besides the variance. coefficients(h): of the parts, 1 / variance if
# it has no other.
field_twin <- function(parts, on_graph = FALSE, twice = FALSE, hyper = NULL,
                       coefficients = function(h) 1 / h$variance) {
  list(parts = parts, on_graph = on_graph, twice = twice, hyper = hyper, coefficients = coefficients)
}
unconstrained <- function(...) list(precision = list(...), constraints = NULL, pins = NULL)
level_walk <- function(graph, n, cyclic, order) {
  list(precision = list(walk_structure(n, order, cyclic)), constraints = matrix(1, n), pins = 1L)
}
field_twins <- list(
  iid = field_twin(function(graph, n, cyclic) unconstrained(diag(n))),
  besag = field_twin(on_graph = TRUE, function(graph, n, cyclic) {
    list(precision = list(graph$R), constraints = graph$constraints, pins = graph$pins)
  }),
  proper = field_twin(
    on_graph = TRUE, function(graph, n, cyclic) unconstrained(diag(graph$degree, n), -graph$A),
    hyper = function() c(dependence = runif(1, 0.2, 0.95)), coefficients = function(h) c(1, h$dependence) / h$variance
  ),
  bym2 = field_twin(
    on_graph = TRUE, twice = TRUE, function(graph, n, cyclic) {
      list(
        precision = list(diag(rep(1:0, each = n)), kronecker(diag(0:1), graph$R)),
        constraints = rbind(0 * graph$constraints, graph$constraints), pins = n + graph$pins
      )
    },
    hyper = function() c(mixing = runif(1, 0.1, 0.9)),
    coefficients = function(h) 1 / (h$variance * c(1 - h$mixing, h$mixing))
  ),
  rw1 = field_twin(function(graph, n, cyclic) level_walk(graph, n, cyclic, 1)),
  rw2 = field_twin(function(graph, n, cyclic) {
    if (cyclic) return(level_walk(graph, n, TRUE, 2))
    list(precision = list(walk_structure(n, 2)), constraints = cbind(1, seq_len(n) - (n + 1) / 2), pins = c(1L, n))
  }),
  ar1 = field_twin(
    function(graph, n, cyclic) {
      near <- abs(row(diag(n)) - col(diag(n))) == 1
      unconstrained(diag(n), diag(rowSums(near) - 1, n), -1 * near)
    },
    hyper = function() c(correlation = runif(1, 0.1, 0.9)),
    coefficients = function(h) c(1, h$correlation^2, h$correlation) / (h$variance * (1 - h$correlation^2))
  ),
  ar2 = field_twin(
    function(graph, n, cyclic) {
      apart <- function(k) 1 * (abs(row(diag(n)) - col(diag(n))) == k)
      ends <- function(k) seq_len(n) <= k
      pairs <- apart(1) * outer(!ends(1) & !rev(ends(1)), !ends(1) & !rev(ends(1)))
      unconstrained(
        diag(n), diag(1 - ends(1) - rev(ends(1)), n), diag(1 - ends(2) - rev(ends(2)), n), -apart(1), pairs, -apart(2)
      )
    },
    hyper = function() c(correlation = runif(1, 0.1, 0.9), partial = runif(1, 0.1, 0.9)),
    coefficients = function(h) {
      a <- h$correlation * (1 - h$partial)
      c(1, a^2, h$partial^2, a, a * h$partial, h$partial) /
        (h$variance * (1 - h$correlation^2) * (1 - h$partial^2))
    }
  )
)
field_models <- names(field_twins)

field_parts <- function(model, graph = NULL, n = NULL, cyclic = FALSE) {
  if (!is.null(graph)) {
    n <- nrow(graph$A)
    degree <- rowSums(graph$A)
    islands <- setdiff(unique(graph$member), 0L)
    graph$degree <- degree + (degree == 0)
    graph$R <- diag(graph$degree, n) - graph$A
    graph$constraints <- vapply(islands, function(k) as.numeric(graph$member == k), numeric(n))
    graph$pins <- match(islands, graph$member)
  }
  field_twins[[model]]$parts(graph, n, cyclic)
}

block_diagonal <- function(A, copies) if (is.null(A)) NULL else kronecker(diag(copies), A)

# hyper, basis_sd: positions, by name and of the basis' prior sd. node: rows of one copy's nodes (0: none); copy: which
# copy each row sees.
field_term <- function(model, parts, hyper, node, weight = NULL, copies = 1L, copy = 1L, basis = NULL,
                       basis_mean = 0, basis_sd = NULL, label = model) {
  L <- nrow(parts$precision[[1]])
  node <- as.matrix(node)
  shifted <- ifelse(node > 0, node + L * (copy - 1L), 0L)
  storage.mode(shifted) <- "integer"
  field <- list(
    model = model, precision = lapply(parts$precision, function(A) triplets_of(block_diagonal(A, copies))),
    constraints = if (!is.null(parts$constraints)) {
      triplets_of(block_diagonal(parts$constraints, copies), lower = FALSE)
    },
    pins = if (!is.null(parts$pins)) {
      as.integer(outer(parts$pins, L * (seq_len(copies) - 1L), `+`))
    },
    hyper = hyper
  )
  if (!is.null(basis)) field$basis <- block_diagonal(as.matrix(basis), copies)
  columns <- max(0L, ncol(field$basis))
  c(
    list(type = "field", label = label, node = shifted, weight = weight, field = field),
    if (columns) list(mean = rep_len(basis_mean, columns), factors = matrix(as.integer(basis_sd), columns, 2))
  )
}

field_hyper <- function(model) {
  own <- field_twins[[model]]$hyper
  c(variance = exp(rnorm(1, sd = 0.5)), if (!is.null(own)) own())
}

# A field with islands, isolated nodes, copies, weights and a basis at random. Every node has a row if there
# are enough rows and `all`, else some rows may see none.   first: position of its first hyperparameter.
# flat: its basis has a flat prior.
random_field <- function(model, rows, first = 1L, size = sample(6:20, 1), all = FALSE, flat = FALSE) {
  on_graph <- field_twins[[model]]$on_graph
  graph <- if (on_graph) random_graph(size, if (flat) 1 else sample(2, 1), if (flat) 0 else sample(0:1, 1))
  parts <- field_parts(model, graph, size, cyclic = !on_graph && runif(1) < 0.3)
  hyper <- field_hyper(model)
  at <- as.list(stats::setNames(first - 1L + seq_along(hyper), names(hyper)))
  copies <- if (flat) 1L else sample(c(1L, 1L, 2L), 1)
  node <- if (all) c(seq_len(size), sample(size, rows, TRUE)) else sample(0:size, rows, TRUE)
  node <- node[seq_len(rows)]
  if (field_twins[[model]]$twice) node <- cbind(node, ifelse(node > 0, size + node, 0L))
  basis <- if (!is.null(parts$constraints) && (flat || runif(1) < 0.4)) {
    parts$constraints[, ncol(parts$constraints), drop = FALSE]
  }
  list(
    term = field_term(
      model, parts, at, node,
      weight = if (runif(1) < 0.3) rnorm(rows), copies = copies, copy = sample(copies, rows, TRUE),
      basis = basis, basis_mean = rnorm(1), basis_sd = first + length(hyper)
    ),
    hyper = c(hyper, if (!is.null(basis)) c(basis_sd = if (flat) Inf else exp(rnorm(1, sd = 0.5))))
  )
}

# For random_prior(): one field; two beside columns; one with a flat basis beside a flat column.
random_field_prior <- function(kind, n, variance) {
  model <- sample(if (kind == "flat_field") c("besag", "bym2", "rw1", "rw2") else field_models, 1)  # intrinsic ones
  flat <- kind == "flat_field"
  size <- if (flat) 6L else sample(6:20, 1)
  first <- random_field(model, n, size = size, all = kind != "fields", flat = flat)
  first$hyper[["variance"]] <- variance
  if (kind == "field") return(list(terms = list(first$term), hyper = first$hyper))
  number <- length(first$hyper)
  if (flat) {
    slope <- columns_term(matrix(rnorm(n)), number + 1L)
    return(list(terms = list(slope, first$term), hyper = c(first$hyper, sd = Inf)))
  }
  second <- random_field(sample(field_models, 1), n, first = number + 1L)
  hyper <- c(first$hyper, stats::setNames(second$hyper, paste0(names(second$hyper), "2")), sd0 = 2, sd1 = 0.7)
  fixed <- columns_term(cbind(1, rnorm(n)), length(hyper) - 1:0, mean = c(0.3, -0.2))
  list(terms = list(first$term, fixed, second$term), hyper = hyper)
}

# ---- the same priors, written out ----

field_precision <- function(field, hyper) {
  coefficients <- field_twins[[field$model]]$coefficients(lapply(field$hyper, function(at) hyper[at]))
  Reduce(`+`, Map(function(a, t) a * from_triplets(t), coefficients, field$precision))
}

# H with H H' the covariance of z: an orthonormal basis of what the constraints leave, times a factor there.
field_root <- function(field, hyper) {
  Q <- field_precision(field, hyper)
  if (is.null(field$constraints)) return(backsolve(chol(Q), diag(nrow(Q))))
  B <- from_triplets(field$constraints, symmetric = FALSE)
  free <- qr.Q(qr(B), complete = TRUE)[, -seq_len(ncol(B)), drop = FALSE]
  free %*% backsolve(chol(crossprod(free, Q %*% free)), diag(ncol(free)))
}

# W of rows over nodes.
node_rows <- function(term) {
  L <- term$field$precision[[1]]$rows
  W <- matrix(0, nrow(term$node), L)
  for (h in seq_len(ncol(term$node))) {
    at <- cbind(seq_len(nrow(W)), term$node[, h])[term$node[, h] > 0, , drop = FALSE]
    W[at] <- W[at] + (if (is.null(term$weight)) 1 else term$weight[at[, 1]])
  }
  W
}

# The term as columns: those of its field have unit variances.
field_columns <- function(term, hyper) {
  W <- node_rows(term)
  root <- field_root(term$field, hyper)
  list(
    W = cbind(W %*% root, if (!is.null(term$field$basis)) W %*% term$field$basis),
    variance = c(rep(1, ncol(root)), hyper[term$factors[, 1]]^2)
  )
}

field_prior_mean <- function(term) {
  if (is.null(term$field$basis)) return(numeric(nrow(term$node)))
  drop(node_rows(term) %*% term$field$basis %*% term$mean)
}
