#include "prior/finite_elements.h"

#include <cmath>
#include <stdexcept>
#include <string>

namespace galvi {

FiniteElements finite_elements(const ConstMatrixRef& nodes, const Eigen::MatrixXi& triangles) {
  const Index L = nodes.rows();
  FiniteElements out;
  out.mass = Vector::Zero(L);
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(9 * triangles.rows());
  for (Index t = 0; t < triangles.rows(); ++t) {
    const Eigen::RowVector3i corner = triangles.row(t);
    // the edge opposite to each corner
    Eigen::Matrix<double, 3, 2> edge;
    for (int k = 0; k < 3; ++k) edge.row(k) = nodes.row(corner[(k + 2) % 3]) - nodes.row(corner[(k + 1) % 3]);
    const double area = 0.5 * std::abs(edge(0, 0) * edge(1, 1) - edge(0, 1) * edge(1, 0));
    if (!(area > 0)) throw std::invalid_argument("triangle " + std::to_string(t + 1) + " has no area");
    for (int k = 0; k < 3; ++k) {
      out.mass[corner[k]] += area / 3;
      for (int l = 0; l < 3; ++l)
        entries.emplace_back(corner[k], corner[l], edge.row(k).dot(edge.row(l)) / (4 * area));
    }
  }
  for (Index i = 0; i < L; ++i)
    if (out.mass[i] == 0) throw std::invalid_argument("node " + std::to_string(i + 1) + " is in no triangle");
  Eigen::SparseMatrix<double> G(L, L);
  G.setFromTriplets(entries.begin(), entries.end());
  // C^-1 G entry by entry: the library's product with a diagonal takes time in L for every column
  Eigen::SparseMatrix<double> scaled = G;
  for (Index j = 0; j < L; ++j)
    for (Eigen::SparseMatrix<double>::InnerIterator entry(scaled, j); entry; ++entry)
      entry.valueRef() /= out.mass[entry.row()];
  const Eigen::SparseMatrix<double> squared = G * scaled;
  out.stiffness = G.triangularView<Eigen::Lower>();
  out.squared = squared.triangularView<Eigen::Lower>();
  return out;
}

}  // namespace galvi
