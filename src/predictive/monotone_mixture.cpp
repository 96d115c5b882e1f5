#include "predictive/monotone_mixture.h"

#include <algorithm>
#include <cmath>

#include "function/normal.h"

namespace galvi {

void MonotoneMixture::add(const Matrix& V, const Vector& shares) {
  const Index n = V.rows();
  for (Index j = 0; j < V.cols(); ++j) {
    Function f{V.col(j), 0, n - 1, shares[j], true};
    // a decreasing function of z is an increasing function of -z
    if (f.values[0] > f.values[n - 1]) f.values.reverseInPlace();
    Index known = 0;
    for (Index i = 0; i < n; ++i) {
      if (!std::isfinite(f.values[i])) continue;
      if (known++ == 0)
        f.first = i;
      else  // where it hardly rises, rounding makes it fall
        f.values[i] = std::max(f.values[i], f.values[f.last]);
      f.last = i;
      least_ = std::min(least_, f.values[i]);
      largest_ = std::max(largest_, f.values[i]);
    }
    f.step = known < 2 || f.values[f.first] == f.values[f.last];
    functions_.push_back(std::move(f));
  }
}

double MonotoneMixture::below(const Function& f, double x) const {
  const Index n = z_.size();
  if (f.step) return f.values[n / 2] <= x ? 1.0 : 0.0;
  const double* begin = f.values.data();
  const Index reached = std::upper_bound(begin, begin + n, x) - begin - 1;  // the last value up to x
  const Index k = std::max(std::min(reached, f.last - 1), f.first);
  const double low = f.values[k], high = f.values[std::min(k + 1, n - 1)];
  const double part = (x - low) / (high - low);
  const double at = z_[k] + (std::isnan(part) ? 0.0 : part) * (z_[1] - z_[0]);
  return normal_cdf(std::clamp(at, z_[f.first], z_[f.last]));
}

double MonotoneMixture::below(double x) const {
  double sum = 0;
  for (const Function& f : functions_) sum += f.share * below(f, x);
  return sum;
}

double MonotoneMixture::quantile(double probability) const {
  if (below(largest_) < probability) return infinity;
  if (below(least_) > probability) return -infinity;
  // it rises, and may have steps: halving finds where
  const double tolerance = 1e-10 * (1 + std::max(-least_, largest_));
  double low = least_, high = largest_;
  while (high - low > tolerance) {
    const double middle = 0.5 * (low + high);
    (below(middle) < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace galvi
