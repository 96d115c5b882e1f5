#include "quadrature/integer_blocks.h"

#include <array>

#include "numeric/types.h"

namespace galvi {

struct IntegerBlocks {
  std::array<IntegerBlock, IntegerBlock::most_log2 + 1> all;
  IntegerBlocks() {
    for (int log2 = 5; log2 <= IntegerBlock::most_log2; ++log2) all[log2].make(std::ldexp(1.0, log2));
  }
};

const IntegerBlock& IntegerBlock::of(int log2) {
  static const IntegerBlocks blocks;
  return blocks.all[log2];
}

// The monic discrete Chebyshev polynomials have p_{k + 1} = (x - (N - 1) / 2) p_k - k^2 (N^2 - k^2) / (4 (4 k^2 - 1))
// p_{k - 1}: nodes are the eigenvalues of the symmetric matrix of these coefficients (Golub and Welsch, 1969).
void IntegerBlock::make(double count) {
  Matrix J = Matrix::Zero(nodes, nodes);
  for (int k = 1; k < nodes; ++k) {
    const double share = k / count;
    J(k, k - 1) = J(k - 1, k) = 0.5 * k * std::sqrt((1.0 - share * share) / (4.0 * k * k - 1.0));  // over count
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(J);
  for (int k = 0; k < nodes; ++k) {
    node[k] = 0.5 * (count - 1.0) + count * eigen.eigenvalues()[k];
    weight[k] = count * eigen.eigenvectors()(0, k) * eigen.eigenvectors()(0, k);
  }
}

}  // namespace galvi
