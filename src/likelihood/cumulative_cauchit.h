// Ordered classes, cauchit link: outliers in the latent response.
#pragma once

#include <algorithm>
#include <cmath>

#include "function/cauchy.h"
#include "likelihood/ordered.h"

namespace galvi {

/// P(y <= c | eta) = 1 / 2 + atan(threshold_c - eta) / pi. Not log-concave.
class CumulativeCauchit final : public CumulativeResponse<Likelihood> {
 public:
  explicit CumulativeCauchit(const LikelihoodSpec& spec) : CumulativeResponse<Likelihood>(Thresholds(spec, true), cauchy()) {}

  double log_density(const Datum& datum, const double* eta) const override {
    double l[5];
    derivatives(datum, *eta, l);
    return l[0];
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    log_cauchy_interval_derivatives(thresholds_.below(datum), thresholds_.above(datum), eta, out);
  }
  // The branch points of atan are at +-i of the thresholds. The probability has no zeros.
  Smoothness smoothness() const override {
    const std::vector<double>& at = thresholds_.values();
    return between(at.front(), at.back());
  }
  Smoothness smoothness(const Datum& datum) const override {
    const bool first = thresholds_.first(datum), last = thresholds_.last(datum);
    return between(first ? thresholds_.above(datum) : thresholds_.below(datum),
                   last ? thresholds_.below(datum) : thresholds_.above(datum));
  }
  // d log p / db = density(b - eta) / p,  d log p / da = -density(a - eta) / p
  void add_gradient(const Datum& datum, const double* eta, double weight, VectorRef gradient) const override {
    const Index c = thresholds_.class_of(datum);
    const double log_p = log_density(datum, eta);
    const auto ratio = [&](double threshold) {
      double density[3];
      log_cauchy().log_density(threshold - *eta, density);
      return std::exp(density[0] - log_p);
    };
    if (!thresholds_.last(datum)) thresholds_.add(c, weight * ratio(thresholds_.above(datum)), gradient);
    if (!thresholds_.first(datum))
      thresholds_.add(c - 1, -weight * ratio(thresholds_.below(datum)), gradient);
  }

 private:
  static Smoothness between(double low, double high) {
    return {1.0, 0.0, low + 0.5 * (high - low), 0.5 * (high - low)};
  }
};

}  // namespace galvi
