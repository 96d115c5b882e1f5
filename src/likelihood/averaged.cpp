#include "likelihood/averaged.h"

#include <array>

#include "likelihood/log_mixture.h"
#include "likelihood/tilted.h"

namespace galvi {

double Averaged::log_density(const Datum& datum, const double* f) const {
  const double c = spread_of(datum);
  if (c == 0) return likelihood_->log_density(datum, f);
  TiltedRule rule;
  rule.place(*likelihood_, datum, 1.0, *f, c);
  return rule.log_mass();
}

void Averaged::derivatives(const Datum& datum, double f, double out[5]) const {
  const double c = spread_of(datum);
  if (c == 0) return likelihood_->derivatives(datum, f, out);
  TiltedRule rule;
  rule.place(*likelihood_, datum, 1.0, f, c);
  const std::vector<double>&nodes = rule.nodes(), &weights = rule.weights();
  std::vector<std::array<double, 5>> l(nodes.size());
  for (std::size_t j = 0; j < nodes.size(); ++j) likelihood_->derivatives(datum, nodes[j], l[j].data());
  out[0] = rule.log_mass();
  log_mixture_derivatives(weights, l, out);
}

void Averaged::add_gradient(const Datum& datum, const double* f, double weight, VectorRef gradient) const {
  const double c = spread_of(datum);
  if (c == 0) return likelihood_->add_gradient(datum, f, weight, gradient);
  TiltedRule rule;
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
