// Responses with mean exp(eta).
#pragma once

#include <cmath>

#include "likelihood/likelihood.h"

namespace galvi {

/// A likelihood whose mean is exp(eta): under a Gaussian eta that is log-normal, whose moments are closed
/// forms.
template <class Base>
class LogLink : public Base {
 public:
  using Base::Base;

  double conditional_mean(const Datum& /*row*/, const double* eta) const override { return std::exp(*eta); }
  std::optional<double> predictive_log_mean(double mean, double variance) const override {
    return mean + 0.5 * variance;
  }
  std::optional<double> predictive_mean(const Datum& /*row*/, double mean, double variance) const override {
    return std::exp(mean + 0.5 * variance);
  }
  // Var exp(eta) = exp(2 mean + 2 variance) (1 - exp(-variance)), where neither factor meets 0 and infinity
  std::optional<double> predictive_mean_variance(const Datum& /*row*/, double mean,
                                                 double variance) const override {
    return variance > 0.0 ? std::exp(2.0 * (mean + variance)) * -std::expm1(-variance) : 0.0;
  }
};

}  // namespace galvi
