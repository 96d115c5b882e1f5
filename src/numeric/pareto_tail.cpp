#include "numeric/pareto_tail.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace galvi {

double pareto_tail(const Vector& weights) {
  const double S = static_cast<double>(weights.size());
  const auto tail = static_cast<std::size_t>(std::min(S / 5, 3 * std::sqrt(S)));
  std::vector<double> sorted(weights.data(), weights.data() + weights.size());
  if (sorted.size() <= tail) return std::numeric_limits<double>::quiet_NaN();
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(tail) + 1, sorted.end(),
                    std::greater<>());
  std::vector<double> x;  // by how much they exceed the next, the smallest first
  for (std::size_t i = tail; i-- > 0;)
    if (sorted[i] > sorted[tail]) x.push_back(sorted[i] - sorted[tail]);
  const auto n = static_cast<double>(x.size());
  if (x.size() < 20) return std::numeric_limits<double>::quiet_NaN();
  const auto mean_log = [&](double b) {
    double sum = 0;
    for (const double value : x) sum += std::log1p(-b * value);
    return sum / n;
  };
  const int count = 20 + static_cast<int>(std::floor(std::sqrt(n)));
  const double quartile = x[static_cast<std::size_t>(std::floor(n / 4 + 0.5)) - 1];
  Vector b(count), log_likelihood(count);
  for (int i = 0; i < count; ++i) {
    b[i] = 1 / x.back() + (1 - std::sqrt(count / (i + 0.5))) / (3 * quartile);
    const double k = mean_log(b[i]);
    log_likelihood[i] = n * (std::log(-b[i] / k) - k - 1);
  }
  const Vector share = (log_likelihood.array() - log_likelihood.maxCoeff()).exp();
  return mean_log(b.dot(share) / share.sum());
}

}  // namespace galvi
