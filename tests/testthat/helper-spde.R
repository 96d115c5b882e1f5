# Fields on meshes, written out.

# The matrices of the precision by a loop over triangles.
elements_by_loop <- function(mesh) {
  n <- nrow(mesh$nodes)
  G <- matrix(0, n, n)
  C <- numeric(n)  # a diagonal
  for (t in seq_len(nrow(mesh$triangles))) {
    at <- mesh$triangles[t, ]
    # gradients of the three functions that are one at a corner
    phi <- solve(cbind(1, mesh$nodes[at, ]))
    area <- abs(det(cbind(1, mesh$nodes[at, ]))) / 2
    C[at] <- C[at] + area / 3
    G[at, at] <- G[at, at] + area * crossprod(phi[2:3, ])
  }
  list(C = diag(C), G = G)
}

spde_precision <- function(mesh, range, sd) {
  m <- elements_by_loop(mesh)
  kappa <- sqrt(8) / range
  K <- kappa^2 * m$C + m$G
  K %*% (K / diag(m$C)) / (4 * pi * kappa^2 * sd^2)
}

# Edges of about h over the unit square and a margin around it.
square_mesh <- function(h, extend) galvi_mesh(expand.grid(x = seq(0, 1, 0.1), y = seq(0, 1, 0.1)), h, extend)
