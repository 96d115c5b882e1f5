// Means of a function of several variables and of its derivatives under a dense Gaussian, from its values alone.
#pragma once

#include <vector>

#include "numeric/types.h"

namespace galvi {

/// Under x = mean + T z with C = T T' the derivatives of f have the means
///   E f = E f(x),  E df = T^-T E[f z],  E d2f = T^-T E[f (z z' - I)] T^-1,  ..
/// where every further index brings one more factor of the Hermite tensor of z, and one more T^-T. Means over z are
/// sums over the product of Gauss-Hermite rules.
class HermiteTensors {
 public:
  /// Of K variables, up to the derivatives of the fourth order. Nodes whose weight is at most 1e-14 are left out.
  HermiteTensors(Index K, Index nodes_per_axis);

  Index size() const { return nodes_.rows(); }
  const Matrix& nodes() const { return nodes_; }  // size x K, of z
  /// Sums of f with these columns are the Hermite moments of orders 0, 1, .., `order`, each with its distinct entries
  /// i <= j <= ..   size x (1 + K + K (K + 1) / 2 + ..)
  auto weights(int order) const { return weights_.leftCols(begin_[order + 1]); }
  /// E d^order f from all moments of a function: all K^order entries, first index fastest.
  /// @param inverse_root T^-1. Zero rows, where a variable is a function of those before it, give no derivative.
  void derivative(int order, const double* moments, const ConstMatrixRef& inverse_root, double* out) const;

 private:
  static constexpr int orders = 5;
  Matrix nodes_, weights_;
  Index begin_[orders + 1];          // the first of each order among the moments
  std::vector<Index> place_[orders];  // of each of the K^order entries among the moments
};

}  // namespace galvi
