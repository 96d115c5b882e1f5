// The order in which the columns of a sparse matrix are eliminated, and which are eliminated together.
#pragma once

#include <vector>

#include "numeric/eigen_sparse.h"
#include "numeric/types.h"

namespace galvi {

using SparseMatrix = Eigen::SparseMatrix<double>;  // by columns, int indices

struct Elimination {
  std::vector<int> order;  // the k-th index to be eliminated
  std::vector<int>
      supernodes;  // how many columns each has; children before parents, a subtree in one stretch
};

/// `full`: both triangles of a symmetric pattern.
Elimination elimination_order(const SparseMatrix& full);

}  // namespace galvi
