// How near to the real line functions of a predicted parameter are singular, where log Phi is part of a log density.
#pragma once

#include <algorithm>
#include <cmath>

#include "numeric/types.h"

namespace galvi {

/// The values of eta ~ N(mean, variance) that matter to 1e-9 for a mean of what grows with exp(growth |eta|).
struct Reach {
  double mean, low, high;
  Reach(double mean, double variance, double growth = 0.0) : mean(mean) {
    constexpr double sds = 6.0;
    const double half = sds * std::sqrt(variance) + growth * variance;
    low = mean - half;
    high = mean + half;
  }
  /// To the furthest of them.
  double distance(double y) const { return std::fabs(y - mean) + (high - mean); }
};

/// The angle of 1.9 + distance + 2.8i, one of 1.9 + 2.8i the nearest zero of Phi; that of zeros far out is pi / 4.
inline double phi_zero_angle(double distance) {
  constexpr double of_others = 0.75;
  return std::min(of_others, 0.95 * std::atan2(2.816, std::max(0.0, distance)));
}

}  // namespace galvi
