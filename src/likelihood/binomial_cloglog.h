// Binomial counts, complementary log-log link.
#pragma once

#include <cmath>

#include "likelihood/composed.h"
#include "likelihood/counts.h"

namespace galvi {

/// P(success) = 1 - exp(-exp(eta)):  log p(y | eta) = log choose(size, y) + y f(eta) - (size - y) exp(eta),
/// f = log_cloglog().   y = 0..size
class BinomialCloglog final : public Composed {
 public:
  BinomialCloglog() : Composed(log_cloglog()) {}

  void compose(const Datum& datum, Composition& sum) const override {
    sum.constant = log_choose(datum.size, datum.y);
    sum.add(0, datum.y, 1.0);
    sum.add_exponential(0, datum.size - datum.y, -1.0);
  }
  Smoothness smoothness() const override { return {f_.smoothness().width, 1.0}; }
  bool log_concave() const override { return true; }
  // That of the proportion with half a success and half a failure added.
  double starting_eta(const Datum& datum) const override {
    return std::log(-std::log((datum.size - datum.y + 0.5) / (datum.size + 1.0)));
  }

  double conditional_mean(double size, const double* eta) const override {
    return size * std::exp(f_.value(*eta));
  }
  double conditional_variance(double size, const double* eta) const override {
    return size * std::exp(f_.value(*eta) + log_gumbel().value(-*eta));
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return binomial_cdf(datum.y, datum.size, std::exp(f_.value(*eta)), std::exp(log_gumbel().value(-*eta)));
  }
  // -d P(Y <= y | eta) / d eta = size p(y | eta, size - 1) exp(f)'(eta)
  std::optional<Crossing> crossing(const Datum&) const override { return Crossing{}; }
  void crossing_density(const Datum& datum, double t, double out[3]) const override {
    double l[5];
    derivatives({std::floor(datum.y), datum.size - 1.0}, t, l);
    f_.log_density(t, out);
    out[0] += std::log(datum.size);
    for (int k = 0; k < 3; ++k) out[k] += l[k];
  }
  const StandardFunction* log_inverse_link() const override { return &f_; }
  const StandardFunction* log_complement_link() const override { return &log_gumbel(); }
  bool discrete() const override { return true; }
  Support support(double size) const override { return {0.0, size}; }
};

}  // namespace galvi
