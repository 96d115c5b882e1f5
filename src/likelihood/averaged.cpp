#include "likelihood/averaged.h"

#include <array>

#include "likelihood/tilted.h"

namespace galvi {

double Averaged::log_density(const Datum& datum, const double* f) const {
  const double c = spread_of(datum);
  if (c == 0) return likelihood_->log_density(datum, f);
  thread_local TiltedRule rule;
  rule.place(*likelihood_, datum, 1.0, *f, c);
  return rule.log_mass();
}

// With < > the mean under p N and a, b, c, d the derivatives of l = log p, each derivative in f of a mean is
// the mean of the derivative plus the covariance with a: <a>; <b> + var a; <c> + 3 cov(a, b) + k(a, a, a);
// <d> + 4 cov(a, c) + 3 var b + 6 k(a, a, b) + k(a, a, a, a), with k the joint cumulants.
void Averaged::derivatives(const Datum& datum, double f, double out[5]) const {
  const double c = spread_of(datum);
  if (c == 0) return likelihood_->derivatives(datum, f, out);
  thread_local TiltedRule rule;
  thread_local std::vector<std::array<double, 5>> l;
  rule.place(*likelihood_, datum, 1.0, f, c);
  const std::vector<double>&nodes = rule.nodes(), &weights = rule.weights();
  l.resize(nodes.size());
  double mean[5] = {};
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    likelihood_->derivatives(datum, nodes[j], l[j].data());
    for (int k = 1; k < 5; ++k) mean[k] += weights[j] * l[j][k];
  }
  double aa = 0, ab = 0, ac = 0, bb = 0, aaa = 0, aab = 0, aaaa = 0;
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    const double w = weights[j], a = l[j][1] - mean[1], b = l[j][2] - mean[2], c = l[j][3] - mean[3];
    aa += w * a * a;
    ab += w * a * b;
    ac += w * a * c;
    bb += w * b * b;
    aaa += w * a * a * a;
    aab += w * a * a * b;
    aaaa += w * a * a * a * a;
  }
  out[0] = rule.log_mass();
  out[1] = mean[1];
  out[2] = mean[2] + aa;
  out[3] = mean[3] + 3 * ab + aaa;
  out[4] = mean[4] + 4 * ac + 3 * bb + 6 * aab + aaaa - 3 * aa * aa;
}

void Averaged::add_gradient(const Datum& datum, const double* f, double weight, VectorRef gradient) const {
  const double c = spread_of(datum);
  if (c == 0) return likelihood_->add_gradient(datum, f, weight, gradient);
  thread_local TiltedRule rule;
  rule.place(*likelihood_, datum, 1.0, *f, c);
  for (std::size_t j = 0; j < rule.nodes().size(); ++j)
    likelihood_->add_gradient(datum, &rule.nodes()[j], weight * rule.weights()[j], gradient);
}

// Averaging over N(0, c) is a diffusion: with l the averaged log density, dl/dc = (l'' + l'^2) / 2, and
// likewise for its derivatives.
double Averaged::slope_in_spread(const Datum& datum, double f, double variance, double along) const {
  double l[5];
  derivatives(datum, f, l);
  const double value = 0.5 * (l[2] + l[1] * l[1]), first = 0.5 * (l[3] + 2 * l[1] * l[2]),
               second = 0.5 * (l[4] + 2 * l[2] * l[2] + 2 * l[1] * l[3]);
  return value + 0.5 * variance * second + along * first;
}

}  // namespace galvi
