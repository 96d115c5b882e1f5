// Responses on the real line with eta at their centre.
#pragma once

#include "likelihood/likelihood.h"

namespace galvi {

/// A likelihood whose mean is eta, a number on the whole line.
class IdentityLink : public Likelihood {
 public:
  double conditional_mean(const Datum& /*row*/, const double* eta) const override { return *eta; }
  bool discrete() const override { return false; }
  Support support(const Datum& /*row*/) const override { return {-infinity, infinity}; }
  std::optional<double> predictive_mean(const Datum& /*row*/, double mean, double /*variance*/) const override {
    return mean;
  }
  std::optional<double> predictive_mean_variance(const Datum&, double /*mean*/, double variance) const override {
    return variance;
  }
};

}  // namespace galvi
