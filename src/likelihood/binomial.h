// Counts out of `size` trials with success probability g(eta), g symmetric: g(-eta) = 1 - g(eta).
#pragma once

#include <cmath>

#include "likelihood/counts.h"
#include "likelihood/likelihood.h"

namespace galvi {

/// log p(y | eta) = log choose(size, y) + y f(eta) + (size - y) f(-eta), f = log g.   y = 0..size
/// What differs between links is f. A binary response has size 1.
class Binomial : public Likelihood {
 public:
  explicit Binomial(const StandardFunction& log_inverse_link) : f_(log_inverse_link) {}

  // A count of 0 is left out, as 0 times an overflown logarithm is not a number.
  double log_density(const Datum& datum, const double* eta) const override {
    const SignedCounts count = signed_counts(datum);
    double value = count.constant;
    if (count.plus > 0.0) value += count.plus * f_.value(*eta);
    if (count.minus > 0.0) value += count.minus * f_.value(-*eta);
    return value;
  }
  void derivatives(const Datum& datum, double eta, double out[5]) const override {
    const SignedCounts count = signed_counts(datum);
    double f[5];
    out[0] = count.constant;
    out[1] = out[2] = out[3] = out[4] = 0.0;
    if (count.plus > 0.0) {
      f_.derivatives(eta, f);
      for (int k = 0; k < 5; ++k) out[k] += count.plus * f[k];
    }
    if (count.minus > 0.0) {
      f_.derivatives(-eta, f);
      for (int k = 0; k < 5; ++k) out[k] += (k % 2 == 0 ? count.minus : -count.minus) * f[k];
    }
  }
  Smoothness smoothness() const override { return f_.smoothness(); }
  const StandardFunction* standard_function() const override { return &f_; }
  SignedCounts signed_counts(const Datum& datum) const override {
    return {log_choose(datum.size, datum.y), datum.y, datum.size - datum.y};
  }
  bool log_concave() const override { return true; }

  double conditional_mean(double size, const double* eta) const override {
    return size * std::exp(f_.value(*eta));
  }
  double conditional_variance(double size, const double* eta) const override {
    return size * std::exp(f_.value(*eta) + f_.value(-*eta));
  }
  double conditional_cdf(const Datum& datum, const double* eta) const override {
    return binomial_cdf(datum.y, datum.size, std::exp(f_.value(*eta)), std::exp(f_.value(-*eta)));
  }
  bool discrete() const override { return true; }
  Support support(double size) const override { return {0.0, size}; }

 private:
  const StandardFunction& f_;
};

}  // namespace galvi
