// Nodes and weights for means of a function's derivatives under a Gaussian, from its values alone.
#pragma once

#include <vector>

#include "function/smoothness.h"

namespace galvi {

/// E g^(p)(x) under x ~ N(mean, variance), p = 0..4, as a weighted sum of g(x_j) - g(x_0), plus g(x_0) for
/// p = 0: derivatives in the mean, and by E g'' / 2 in the variance. The smoothness is g's.
class DerivativeRule {
 public:
  static constexpr int orders = 5;

  void place(double mean, double variance, const Smoothness& smoothness);
  /// By a Gauss-Hermite rule of so many nodes, an odd number up to 25, that spread as those of N(., w^2), w the
  /// Gaussian's sd or `least`, with which 13 are the most: g must be nearly a polynomial across it.
  void place_few(double mean, double variance, int count, double least);
  const std::vector<double>& nodes() const { return nodes_; }
  /// The weight of node j for the p-th derivative.
  double weight(int p, std::size_t j) const { return weights_[orders * j + static_cast<std::size_t>(p)]; }

 private:
  void place_rule(double mean, double variance, const Smoothness& smoothness);
  void place_hermite(double mean, double w, int count);
  void weigh(double mean, double variance, double w, int last_degree);

  std::vector<double> nodes_, masses_, weights_;
};

}  // namespace galvi
