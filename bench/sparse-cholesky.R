# How long do the analysis of a sparse precision, its factorisation, the inverse on its pattern and a solution
# take on maps and lattices, and how long does CHOLMOD (in the package Matrix) take to factorise the same?

source("bench/_helper.R")
source("tools/probes.R")

# Lower triangle of I / 10 + graph Laplacian, by columns.
laplacian <- function(n, edges) {
  from <- pmax(edges[, 1], edges[, 2])
  to <- pmin(edges[, 1], edges[, 2])
  i <- c(seq_len(n), from)
  j <- c(seq_len(n), to)
  x <- c(0.1 + tabulate(c(from, to), n), rep(-1, length(from)))
  sorted <- order(j, i)
  list(n = n, i = i[sorted], j = j[sorted], x = x[sorted])
}

# m x m nodes with 4 neighbours, or 8.
lattice <- function(m, neighbours) {
  at <- matrix(seq_len(m^2), m)
  edges <- rbind(cbind(c(at[-m, ]), c(at[-1, ])), cbind(c(at[, -m]), c(at[, -1])))
  if (neighbours == 8) {
    edges <- rbind(edges, cbind(c(at[-m, -m]), c(at[-1, -1])), cbind(c(at[-1, -m]), c(at[-m, -1])))
  }
  laplacian(m^2, edges)
}

cholmod <- function(A, repeats) {
  if (!requireNamespace("Matrix", quietly = TRUE)) return(NA)
  sparse <- Matrix::sparseMatrix(A$i, A$j, x = A$x, symmetric = TRUE)
  factor <- Matrix::Cholesky(sparse, LDL = FALSE, super = NA)
  cpu_seconds(function() Matrix::update(factor, sparse), repeats)
}

report <- function(name, A) {
  repeats <- max(1, round(2e4 / A$n))
  seconds <- with(A, probe_sparse_seconds(n, i, j, x, "auto", repeats))
  milliseconds <- 1e3 * c(seconds, cholmod = cholmod(A, repeats))
  cat(sprintf("%-30s %8.3f %9.3f %8.3f %6.3f %8.3f\n", name, milliseconds[[1]], milliseconds[[2]],
              milliseconds[[3]], milliseconds[[4]], milliseconds[[5]]))
}

cat("ms                              analyse factorise  inverse  solve  CHOLMOD\n")
report("Germany's districts", laplacian(544, as.matrix(read.csv("data-raw/germany_edges.csv"))))
for (m in c(32, 100, 316)) {
  for (neighbours in c(4, 8)) {
    report(sprintf("lattice %d, %d neighbours", m^2, neighbours), lattice(m, neighbours))
  }
}

# Measured (x86-64, R 4.2.2, g++ 12 -O2, OpenBLAS 0.3.21, one thread, CPU time; other work on the machine
# moves each figure by about a tenth). CHOLMOD chooses between columns and supernodes by itself; its time
# includes a copy of the factor by R:
#
#   ms                              analyse factorise  inverse  solve  CHOLMOD
#   Germany's districts               0.448     0.059    0.053  0.030    0.216
#   lattice 1024, 4 neighbours        0.504     0.209    0.151  0.065    0.400
#   lattice 1024, 8 neighbours        0.709     0.331    0.252  0.070    0.850
#   lattice 10000, 4 neighbours       4.447     4.537    4.436  0.897    8.000
#   lattice 10000, 8 neighbours       5.616     5.990    5.982  1.094    8.000
#   lattice 99856, 4 neighbours      47.126    71.174   74.468 12.283  251.000
#   lattice 99856, 8 neighbours      58.596   108.811  124.025 16.977  156.000
#
# The largest front of the largest lattice has 691 rows, and a minimum degree order is
# good enough there.
