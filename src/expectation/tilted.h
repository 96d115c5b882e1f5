// Integrals over p(y | eta)^w N(eta | mean, variance), as expectation propagation needs them.
#pragma once

#include <vector>

#include "likelihood/likelihood.h"

namespace galvi {

/// Nodes and weights for the density proportional to p(y | eta)^w N(eta | mean, variance), of a log-concave
/// likelihood with K = 1. Mass, mean and variance are right to 1e-10 relative (log p itself permitting),
/// however narrow one factor is beside the other and wherever log p has a kink.
class TiltedRule {
 public:
  void place(const Likelihood& likelihood, const Datum& datum, double weight, double mean, double variance);

  double log_mass() const { return log_mass_; }  // log int p(y | eta)^w N(eta | mean, variance) d eta
  double mean() const { return mean_; }
  double variance() const { return variance_; }
  const std::vector<double>& nodes() const { return nodes_; }
  const std::vector<double>& weights() const { return weights_; }  // they add up to 1

 private:
  double log_mass_, mean_, variance_;
  std::vector<double> nodes_, weights_;
};

}  // namespace galvi
