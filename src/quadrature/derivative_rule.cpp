#include "quadrature/derivative_rule.h"

#include <algorithm>
#include <cmath>

namespace galvi {
namespace {

constexpr int last_degree = 12;      // of the Hermite polynomials that g is made of where the Gaussian is narrow
constexpr double least_share = 0.05;  // nodes are spread at least so many widths
constexpr double widest = 2.0;        // a width that is larger is taken for this one

}  // namespace

// With w the spread of the nodes, z = (x - mean) / w and He_k Hermite's polynomials, g is sum_k c_k He_k(z),
// c_k = E g He_k / k! under N(mean, w^2). Under N(mean, variance), with u = variance / w^2,
//   E He_n(z) = (n - 1)!! (u - 1)^(n / 2), n even, so that
//   E g^(p) = w^-p sum_k c_k k! / (k - p)! E He_{k - p}(z).
// Where w is the Gaussian's own sd that is E g He_p / w^p. A narrower one would divide rounding errors of g by
// powers of its sd.
void DerivativeRule::place(double mean, double variance, const Smoothness& smoothness) {
  const double spread = std::max(variance, std::pow(least_share * std::min(smoothness.width, widest), 2));
  rule_.place(mean, spread, smoothness);
  const double w = std::sqrt(spread), excess = variance / spread - 1.0;
  const int last = excess == 0.0 ? orders - 1 : last_degree;
  double share[last_degree + 1];  // E He_n / n!, n even
  share[0] = 1.0;
  for (int n = 2; n <= last_degree; n += 2) share[n] = share[n - 2] * excess / n;
  const std::vector<double>& x = rule_.nodes();
  weights_.resize(orders * x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double z = (x[j] - mean) / w;
    double hermite[last_degree + 1];
    hermite[0] = 1.0;
    hermite[1] = z;
    for (int k = 2; k <= last; ++k) hermite[k] = z * hermite[k - 1] - (k - 1) * hermite[k - 2];
    double scale = rule_.weights()[j];
    for (int p = 0; p < orders; ++p, scale /= w) {
      double sum = 0.0;
      for (int k = p; k <= last; k += 2) sum += hermite[k] * share[k - p];
      weights_[orders * j + static_cast<std::size_t>(p)] = scale * sum;
    }
  }
}

}  // namespace galvi
