// Finite elements on a triangulation of the plane, for the precision of a Matern field.
#pragma once

#include <vector>

#include "numeric/eigen_sparse.h"
#include "numeric/types.h"

namespace galvi {

/// For the piecewise linear functions phi_i that are one at node i and zero at all others: c, the diagonal of
/// the lumped mass matrix, c_i = integral of phi_i; G_ij = integral of grad phi_i . grad phi_j; and G
/// diag(c)^-1 G. Lindgren, Rue and Lindstrom (2011).   L; L x L, lower triangles
struct FiniteElements {
  Vector mass;
  Eigen::SparseMatrix<double> stiffness, squared;
};

/// nodes: L x 2, triangles: T x 3, from 0 to L - 1. Throws std::invalid_argument for a triangle without an area and
/// a node in no triangle.
FiniteElements finite_elements(const ConstMatrixRef& nodes, const Eigen::MatrixXi& triangles);

}  // namespace galvi
