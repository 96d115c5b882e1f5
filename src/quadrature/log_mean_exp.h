// The mean of exp(L(eta)) for a concave L, accurate also where it is small.
#pragma once

#include <cmath>

#include "function/normal.h"
#include "quadrature/log_integral.h"

namespace galvi {

/// L(eta) - (eta - mean)^2 / (2 variance) for concave L(eta, out): value and derivatives, out[5].
template <class Function>
class TiltedFunction final : public LogIntegrand {
 public:
  TiltedFunction(Function L, double mean, double variance) : L_(L), mean_(mean), variance_(variance) {}
  double value(double eta) const override {
    double l[5];
    L_(eta, l);
    const double value = l[0] - 0.5 * (eta - mean_) * (eta - mean_) / variance_;
    return std::isnan(value) ? -infinity : value;
  }
  double slope(double eta, double& curvature) const override {
    double l[5];
    L_(eta, l);
    curvature = 1.0 / variance_ - l[2];
    return l[1] - (eta - mean_) / variance_;
  }

 private:
  Function L_;
  double mean_, variance_;
};

/// log E exp(L(eta)) under eta ~ N(mean, variance)
template <class Function>
double log_mean_exp(Function L, double mean, double variance) {
  if (variance == 0.0) {
    double l[5];
    L(mean, l);
    return l[0];
  }
  const double sd = std::sqrt(variance);
  LogIntegral integral;
  integral.concave(TiltedFunction<Function>(L, mean, variance), mean, sd);
  return integral.log_mass() - std::log(sd) - log_sqrt_2pi;
}

}  // namespace galvi
