#include "likelihood/counts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "numeric/special_functions.h"

namespace galvi {
namespace {

// Up to these counts, and from this probability of none, sums of probabilities take less time than the incomplete beta
// function.
constexpr double few = 24.0, smallest = 1e-280;

}  // namespace

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
  if (std::isinf(k)) return 1.0;
  if (k <= few) {
    // p^size (1 + size q (1 + (size + 1) q / 2 (1 + ..)))
    const double none = std::exp(size * (q < 0.5 ? std::log1p(-q) : std::log(p)));
    if (none > smallest) {
      double term = none, sum = none;
      for (double j = 1.0; j <= k; j += 1.0) {
        term *= (size + j - 1.0) * q / j;
        sum += term;
      }
      return std::min(sum, 1.0);
    }
  }
  return incomplete_beta(size, k + 1.0, p, q);
}

}  // namespace galvi
