#include "likelihood/counts.h"

#include <array>
#include <cmath>

#include "numeric/special_functions.h"

namespace galvi {

double log_factorial(double y) {
  constexpr int tabulated = 256;
  static const std::array<double, tabulated> table = [] {
    std::array<double, tabulated> values;
    for (int k = 0; k < tabulated; ++k) values[k] = k < 2 ? 0.0 : log_gamma(k + 1.0);
    return values;
  }();
  if (y >= 0.0 && y < tabulated && y == std::floor(y)) return table[static_cast<int>(y)];
  return log_gamma(y + 1.0);
}

double log_choose(double size, double y) {
  if (y == 0.0 || y == size) return 0.0;
  return log_factorial(size) - log_factorial(y) - log_factorial(size - y);
}

double log_arrangements(const double* counts, int classes, double size) {
  double sum = log_factorial(size);
  for (int c = 0; c < classes; ++c) sum -= log_factorial(counts[c]);
  return sum;
}

double poisson_cdf(double y, double rate) { return y < 0.0 ? 0.0 : upper_gamma(std::floor(y) + 1.0, rate); }

double binomial_cdf(double y, double size, double p, double q) {
  const double k = std::floor(y);
  if (k < 0.0) return 0.0;
  if (k >= size) return 1.0;
  if (size == 1.0) return q;
  return incomplete_beta(size - k, k + 1.0, q, p);
}

double negbinomial_cdf(double y, double size, double p, double q) {
  const double k = std::floor(y);
  if (k < 0.0) return 0.0;
  return std::isinf(k) ? 1.0 : incomplete_beta(size, k + 1.0, p, q);
}

}  // namespace galvi
