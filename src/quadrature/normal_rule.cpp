#include "quadrature/normal_rule.h"

#include <cmath>

#include <Eigen/Eigenvalues>

namespace galvi {

// Golub and Welsch (1969): eigenvalues of the Jacobi matrix, whose off-diagonals are sqrt(1), sqrt(2), ..
NormalRule gauss_hermite(Index nodes) {
  Matrix J = Matrix::Zero(nodes, nodes);
  for (Index i = 1; i < nodes; ++i) J(i, i - 1) = J(i - 1, i) = std::sqrt(static_cast<double>(i));
  const Eigen::SelfAdjointEigenSolver<Matrix> system(J);
  NormalRule out{system.eigenvalues(), system.eigenvectors().row(0).cwiseAbs2().transpose()};
  if (nodes % 2 == 1) out.nodes(nodes / 2, 0) = 0;  // but for rounding
  return out;
}

NormalRule product_rule(Index r, Index nodes, double least) {
  const NormalRule one = gauss_hermite(nodes);
  Index all = 1;
  for (Index i = 0; i < r; ++i) all *= nodes;
  NormalRule out{Matrix(all, r), Vector(all)};
  Index kept = 0;
  for (Index s = 0; s < all; ++s) {
    double weight = 1;
    for (Index i = 0, rest = s; i < r; ++i, rest /= nodes) {
      out.nodes(kept, i) = one.nodes(rest % nodes, 0);
      weight *= one.weight[rest % nodes];
    }
    if (weight <= least) continue;
    out.weight[kept++] = weight;
  }
  out.nodes.conservativeResize(kept, r);
  out.weight.conservativeResize(kept);
  return out;
}

}  // namespace galvi
