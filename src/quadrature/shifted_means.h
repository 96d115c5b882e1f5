// Gaussian means of one function around many centres, from one set of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "numeric/types.h"

namespace galvi {

/// E h^(q)(x) under x ~ N(c, variance), q = 0..4, for all c between two ends: trapezium sums over a lattice on
/// which h is sampled once. Derivatives are means of h times Hermite's polynomials; where the Gaussian is
/// narrower than 0.08, by one of that sd, as in DerivativeRule. h has no singularity within 2.6 of the real
/// line and is a line left of h.line_end.
class ShiftedMeans {
 public:
  /// order 1: q <= 2, order 2: q <= 4. h: double(double), slope(), intercept(), line_end.
  template <class Function>
  void place(double variance, double lowest, double highest, int order, const Function& h) {
    set(variance, order, h.line_end, h.slope(), h.intercept());
    const double begin = std::max(lowest, line_end_ - reach_ * sd_) - reach_ * sd_;
    first_ = std::floor(begin / step_) * step_;
    const double end = std::max(highest, begin) + reach_ * sd_;
    samples_.resize(static_cast<std::size_t>(std::ceil((end - first_) / step_)) + 1);
    for (std::size_t i = 0; i < samples_.size(); ++i) samples_[i] = h(first_ + static_cast<double>(i) * step_);
  }
  void means(double c, double out[5]) const;

 private:
  static constexpr int last_degree = 12;
  void set(double variance, int order, double line_end, double slope, double intercept);
  template <int Last>
  void sum(double c, double out[5]) const;

  double sd_ = 1.0, reach_ = 0.0, step_ = 1.0, first_ = 0.0;  // reach_: in sds
  double line_end_ = 0.0, slope_ = 0.0, intercept_ = 0.0;
  int last_ = 2, orders_ = 3;     // of Hermite's polynomials, of means
  double share_[last_degree + 1];  // E He_n / n! under the narrow Gaussian, in units of sd_
  std::vector<double> samples_;
};

}  // namespace galvi
