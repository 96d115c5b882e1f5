// Integrals over p(y | eta)^w N(eta | mean, variance), for predictive densities and expectation propagation.
#pragma once

#include <vector>

#include "likelihood/likelihood.h"
#include "quadrature/log_integral.h"

namespace galvi {

/// Nodes and weights for the density proportional to p(y | eta)^w N(eta | mean, variance), variance > 0, for
/// a likelihood with K = 1. Mass, mean and variance are accurate to 1e-10 relative (as far as log p is),
/// however narrow one factor is relative to the other and wherever log p has a kink.
class TiltedRule {
 public:
  void place(const Likelihood& likelihood, const Datum& datum, double weight, double mean, double variance);

  /// log int p(y | eta)^w N(eta | mean, variance) d eta; -infinity where that underflows everywhere.
  double log_mass() const { return log_mass_; }
  double mean() const { return mean_; }
  double variance() const { return variance_; }
  const std::vector<double>& nodes() const { return integral_.nodes(); }
  const std::vector<double>& weights() const { return integral_.weights(); }  // they add up to 1

 private:
  LogIntegral integral_;
  double log_mass_ = 0.0, mean_ = 0.0, variance_ = 0.0;
};

}  // namespace galvi
