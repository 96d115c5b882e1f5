#include "kernel/harmonics.h"

#include <cmath>

namespace galvi {

// The ratios r_j = I_j / I_(j-1) = 1 / (2 j / z + r_(j+1)) from where nothing is left downwards, a stable direction in
// which all is positive (Gautschi 1967). I_j / I_0 falls as exp(-j^2 / (2 z)) or faster.
CircleSeries::CircleSeries(double z, Index count) : value(count), slope(count) {
  const Index last = std::max(count + 1, static_cast<Index>(9 * std::sqrt(z)) + 20);
  Vector c(last + 1);
  double ratio = 0;
  for (Index j = last; j > 0; --j) {
    ratio = 1 / (2 * static_cast<double>(j) / z + ratio);
    c[j] = ratio;
  }
  c[0] = 1;
  double sum = 0;
  for (Index j = 1; j <= last; ++j) {
    c[j] = c[j] * c[j - 1];
    sum += c[j];
  }
  c.tail(last) *= 2;
  c /= 1 + 2 * sum;
  value = c.head(count);
  // I_j' = (I_(j-1) + I_(j+1)) / 2
  for (Index j = 0; j < count; ++j) {
    const double below = j == 0 ? 0.0 : j == 1 ? 2 * c[0] : c[j - 1];
    slope[j] = (below + c[j + 1]) / 2 - c[j];
  }
}

}  // namespace galvi
