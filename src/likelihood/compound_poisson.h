// Sums of gamma variables whose number is Poisson.
#pragma once

#include <map>
#include <mutex>

#include "numeric/types.h"

namespace galvi {

/// log p(y) of a sum Y of J ~ Poisson(rate) gamma variables of shape a each, at the scale for which a J of
/// `rate` would give y itself, and its derivatives in the rate and the shape.   y > 0
struct CompoundPoissonDensity {
  enum class Slopes { rate, both };  // that in the shape takes as long as the value
  CompoundPoissonDensity(double y, double rate, double shape, Slopes slopes = Slopes::rate);
  double log_value, rate_slope, shape_slope = 0.0;
};

/// The logarithm of that density where y is one, as a function of log rate at a fixed shape, for many rates at a time.
/// Several rows that are near each other share a Chebyshev interpolant: sums over j take a microsecond each.
class CompoundPoissonTable {
 public:
  explicit CompoundPoissonTable(double shape);
  /// log_rate: of at most PreparedRows::most rows; others than finite ones give NaN
  void log_densities(const ConstArrayRef& log_rate, ArrayRef out) const;

 private:
  using Cell = Vector;  // coefficients of Chebyshev polynomials
  double at(double log_rate) const;
  const Cell& cell(long which) const;

  double shape_, width_;
  Eigen::ArrayXd fixed_;
  // Cells are made when they are needed. What one has does not depend on who asked first.
  mutable std::mutex guard_;
  mutable std::map<long, Cell> cells_;
};

/// P(Y <= y) where the gamma variables have scale 1.   y >= 0
double compound_poisson_cdf(double y, double rate, double shape);

}  // namespace galvi
