// Nodes and weights for the mean of a function under N(mean, variance).
#pragma once

#include "function/smoothness.h"
#include "numeric/short_numbers.h"

namespace galvi {

struct HermiteHalf;

/// The largest step between equidistant nodes at which the trapezium sum over N(., variance) is accurate to
/// about 1e-11, for a function without a singularity within `width` of the real line that does not oscillate.
double trapezium_step(double variance, double width);

/// Chooses, by where the function's singularities are relative to the Gaussian, the cheapest of
///   five or seven Gauss-Hermite nodes, where the function is nearly a polynomial across the Gaussian;
///   the trapezium sum, whose error falls exponentially with the number of nodes;
///   the same in u, x = centre + a sinh(u), a about the width, where the Gaussian is so wide that the
///   function needs denser nodes at the centre than in its tails, which an oscillating one never does.
class GaussianRule {
 public:
  /// Whether the function is nearly a polynomial across the Gaussian, so that a few Gauss-Hermite nodes
  /// suffice.
  static bool narrow(double variance, const Smoothness& smoothness);
  void place(double mean, double variance, const Smoothness& smoothness);
  /// Nine Gauss-Hermite nodes, for a function that is known to be nearly a polynomial across the Gaussian.
  void place_few(double mean, double sd);
  const ShortNumbers& nodes() const { return nodes_; }
  const ShortNumbers& weights() const { return weights_; }

  /// Sum of weight times function(node).
  template <class Function>
  double mean_of(Function function) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < nodes_.size(); ++j) sum += weights_[j] * function(nodes_[j]);
    return sum;
  }

 private:
  void resize(int count);
  void place_hermite(double mean, double sd, const HermiteHalf& rule);
  void place_trapezium(double mean, double sd, double step, double growth);
  void place_sinh(double mean, double sd, double centre, double a, double step, double low, double high);

  ShortNumbers nodes_, weights_;
};

}  // namespace galvi
