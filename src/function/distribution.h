// The distribution functions of links: of a success, and of a response below a threshold.
#pragma once

#include <algorithm>

#include "function/standard_function.h"

namespace galvi {

/// F by its logarithm and that of its complement: log F(x) = lower(x), log(1 - F(x)) = upper(-x).
struct Distribution {
  const StandardFunction& lower;
  const StandardFunction& upper;
  /// The function of which compositions are made: one of these, where the other is the same or log_gumbel().
  const StandardFunction& standard() const { return &lower == &log_gumbel() ? upper : lower; }
  bool log_concave() const { return !lower.heavy_tailed(); }
  /// Of sums of these logarithms, on both sides.
  Smoothness smoothness() const {
    const Smoothness a = lower.smoothness(), b = upper.smoothness();
    return {std::min(a.width, b.width), std::max(a.growth, b.growth)};
  }
};

inline Distribution logistic() { return {log_sigmoid(), log_sigmoid()}; }
inline Distribution normal() { return {log_phi(), log_phi()}; }
/// F(x) = 1 - exp(-exp(x)), of the complementary log-log link.
inline Distribution smallest_value() { return {log_cloglog(), log_gumbel()}; }
/// F(x) = exp(-exp(-x)), of the log-log link.
inline Distribution largest_value() { return {log_gumbel(), log_cloglog()}; }
inline Distribution cauchy() { return {log_cauchy(), log_cauchy()}; }

}  // namespace galvi
