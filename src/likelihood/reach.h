// How near to the real line functions of a predicted parameter are singular, where log Phi is part of a log
// density.
#pragma once

#include <algorithm>
#include <cmath>

#include "numeric/types.h"

namespace galvi {

/// The row's residual y - eta_1 under eta_1 ~ N(mean, variance), of which a mean of log Phi is taken first.
/// That mean has no singularities, but grows where those of log Phi move by more than a few sds across the
/// real line of eta_1.
struct ResidualReach {
  double most, free;
  ResidualReach(double y, double mean, double variance) {
    constexpr double sds = 6.0, harmless = 2.0;
    const double sd = std::sqrt(variance);
    most = std::fabs(y - mean) + sds * sd;
    free = harmless * sd;
  }
};

/// The values of exp(eta), eta ~ N(mean, variance), that matter for a mean of what grows with exp(-2 eta).
struct ScaleReach {
  double low, high;
  ScaleReach(double mean, double variance) {
    constexpr double sds = 4.0, growth = 2.0;
    const double half = sds * std::sqrt(variance);
    low = std::exp(mean - half - growth * variance);
    high = std::exp(mean + half);
  }
};

/// The nearest zeros of Phi are at 1.916 +- 2.816i; those further out approach the diagonal. The angle, seen
/// from the real line, of something `height` above it at the distance `length`, at most that of zeros far
/// out.
constexpr double phi_zero_re = 1.916, phi_zero_im = 2.816;
inline double phi_zero_angle(double height, double length) {
  constexpr double of_others = 0.75, least = 0.02;
  return std::clamp(0.95 * std::atan2(height, std::max(0.0, length)), least, of_others);
}

}  // namespace galvi
