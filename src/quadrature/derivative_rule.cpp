#include "quadrature/derivative_rule.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Eigenvalues>

#include "quadrature/gaussian_rule.h"

namespace galvi {
namespace {

// Where the Gaussian is narrower than this share of the width, g is a sum of Hermite polynomials up to this
// degree, with coefficients by Gauss's rule, which is exact for their products.
constexpr double narrow = 0.04;
constexpr double widest = 2.0;  // a larger width is reduced to this one
constexpr int last_degree = 12;
constexpr int most_hermite = 25;

struct HermiteRule {
  std::vector<double> z, mass;  // of N(0, 1)
};

// The Gauss-Hermite rule of an odd number of nodes, the middle one first: eigenvalues of the matrix of He's recurrence,
// and squares of their vectors' first components.
HermiteRule make_hermite(int n) {
  Matrix J = Matrix::Zero(n, n);
  for (int k = 1; k < n; ++k) J(k, k - 1) = J(k - 1, k) = std::sqrt(static_cast<double>(k));
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(J);
  HermiteRule out;
  for (int j = 0; j < n; ++j) {
    const int at = n / 2 + (j % 2 == 0 ? -j / 2 : (j + 1) / 2);
    out.z.push_back(j == 0 ? 0.0 : eigen.eigenvalues()[at]);
    out.mass.push_back(eigen.eigenvectors()(0, at) * eigen.eigenvectors()(0, at));
  }
  return out;
}

const HermiteRule& gauss_hermite(int count) {
  static const std::vector<HermiteRule> rules = [] {
    std::vector<HermiteRule> out;
    for (int n = 1; n <= most_hermite; n += 2) out.push_back(make_hermite(n));
    return out;
  }();
  return rules[static_cast<std::size_t>(count / 2)];
}

}  // namespace

// With w the spread of the nodes, z = (x - mean) / w and He_k Hermite's polynomials, g is sum_k c_k He_k(z),
// c_k = E g He_k / k! under N(mean, w^2). Under N(mean, variance), with u = variance / w^2,
//   E He_n(z) = (n - 1)!! (u - 1)^(n / 2), n even, so that
//   E g^(p) = w^-p sum_k c_k k! / (k - p)! E He_{k - p}(z).
// Where w is the Gaussian's own sd that is E g He_p / w^p. A narrower one would divide rounding errors of g by
// powers of its sd.
void DerivativeRule::place(double mean, double variance, const Smoothness& smoothness) {
  const double least = narrow * std::min(smoothness.distance(), widest);
  if (std::sqrt(variance) <= least) return place_few(mean, variance, last_degree + 1, least);
  place_rule(mean, variance, smoothness);
  weigh(mean, variance, std::sqrt(variance), orders - 1);
}

void DerivativeRule::place_few(double mean, double variance, int count, double least) {
  const double w = std::max(std::sqrt(variance), least);
  place_hermite(mean, w, count);
  weigh(mean, variance, w, std::min(count - 1, last_degree));
}

void DerivativeRule::weigh(double mean, double variance, double w, int last) {
  const double excess = variance / (w * w) - 1.0;
  double share[last_degree + 1];  // E He_n / n!, n even
  share[0] = 1.0;
  for (int n = 2; n <= last; n += 2) share[n] = share[n - 2] * excess / n;
  weights_.resize(orders * nodes_.size());
  for (std::size_t j = 0; j < nodes_.size(); ++j) {
    const double z = (nodes_[j] - mean) / w;
    double hermite[last_degree + 1];
    hermite[0] = 1.0;
    hermite[1] = z;
    for (int k = 2; k <= last; ++k) hermite[k] = z * hermite[k - 1] - (k - 1) * hermite[k - 2];
    double scale = masses_[j];
    for (int p = 0; p < orders; ++p, scale /= w) {
      double sum = 0.0;
      for (int k = p; k <= last; k += 2) sum += hermite[k] * share[k - p];
      weights_[orders * j + static_cast<std::size_t>(p)] = scale * sum;
    }
  }
}

void DerivativeRule::place_rule(double mean, double variance, const Smoothness& smoothness) {
  GaussianRule rule;
  rule.place(mean, variance, smoothness);
  nodes_.assign(rule.nodes().begin(), rule.nodes().end());
  masses_.assign(rule.weights().begin(), rule.weights().end());
}

void DerivativeRule::place_hermite(double mean, double w, int count) {
  nodes_.clear();
  const HermiteRule& rule = gauss_hermite(count);
  for (const double z : rule.z) nodes_.push_back(mean + w * z);
  masses_ = rule.mass;
}

}  // namespace galvi
