#include "quadrature/derivative_rule.h"

#include <algorithm>
#include <cmath>

#include "likelihood/normal.h"
#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

// Where the Gaussian is narrower than this share of the width, g is a sum of Hermite polynomials up to this
// degree, with coefficients by a trapezium sum over nodes this far apart and out, in spreads.
constexpr double narrow = 0.04;
constexpr double widest = 2.0;  // a width that is larger is taken for this one
constexpr int last_degree = 12;
constexpr double narrow_step = 0.6;
constexpr int narrow_nodes = 17;  // on each side
// Two derivatives lose fewer digits to a division by the spread's square: up to this share of the width seven
// Gauss-Hermite nodes serve, no closer than for a Gaussian of that share, and polynomials up to that degree.
constexpr double widest_hermite = 1.0 / 28, narrowest_hermite = 0.01;
constexpr int hermite_degree = 6;

}  // namespace

// With w the spread of the nodes, z = (x - mean) / w and He_k Hermite's polynomials, g is sum_k c_k He_k(z),
// c_k = E g He_k / k! under N(mean, w^2). Under N(mean, variance), with u = variance / w^2,
//   E He_n(z) = (n - 1)!! (u - 1)^(n / 2), n even, so that
//   E g^(p) = w^-p sum_k c_k k! / (k - p)! E He_{k - p}(z).
// Where w is the Gaussian's own sd that is E g He_p / w^p. A narrower one would divide rounding errors of g by
// powers of its sd.
void DerivativeRule::place(double mean, double variance, const Smoothness& smoothness, int order) {
  const double width = std::min(smoothness.width, widest), sd = std::sqrt(variance);
  if (order == 1 && sd <= widest_hermite * width) {
    const double w = std::max(sd, narrowest_hermite * width);
    place_rule(mean, w * w, {infinity, 0.0});
    return set_weights(mean, variance, w, hermite_degree, 2);
  }
  const double least = narrow * width, w = std::max(sd, least);
  const bool is_narrow = w == least;
  if (is_narrow)
    place_narrow(mean, w);
  else
    place_rule(mean, variance, smoothness);
  set_weights(mean, variance, w, is_narrow ? last_degree : orders - 1, orders - 1);
}

void DerivativeRule::set_weights(double mean, double variance, double w, int last, int last_order) {
  const double excess = variance / (w * w) - 1.0;
  double share[last_degree + 1];  // E He_n / n!, n even
  share[0] = 1.0;
  for (int n = 2; n <= last_degree; n += 2) share[n] = share[n - 2] * excess / n;
  weights_.resize(orders * nodes_.size());
  for (std::size_t j = 0; j < nodes_.size(); ++j) {
    const double z = (nodes_[j] - mean) / w;
    double hermite[last_degree + 1];
    hermite[0] = 1.0;
    hermite[1] = z;
    for (int k = 2; k <= last; ++k) hermite[k] = z * hermite[k - 1] - (k - 1) * hermite[k - 2];
    double scale = masses_[j];
    for (int p = 0; p <= last_order; ++p, scale /= w) {
      double sum = 0.0;
      for (int k = p; k <= last; k += 2) sum += hermite[k] * share[k - p];
      weights_[orders * j + static_cast<std::size_t>(p)] = scale * sum;
    }
  }
}

void DerivativeRule::place_rule(double mean, double variance, const Smoothness& smoothness) {
  thread_local GaussianRule rule;
  rule.place(mean, variance, smoothness);
  nodes_ = rule.nodes();
  masses_ = rule.weights();
}

void DerivativeRule::place_narrow(double mean, double w) {
  nodes_.clear();
  masses_.clear();
  for (int j = 0; j <= 2 * narrow_nodes; ++j) {
    const double z = narrow_step * (j % 2 == 0 ? -j / 2 : (j + 1) / 2);
    nodes_.push_back(mean + w * z);
    masses_.push_back(narrow_step * normal_density(z));
  }
}

}  // namespace galvi
