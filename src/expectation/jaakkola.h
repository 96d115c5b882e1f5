// Jaakkola and Jordan's quadratic bound on the logistic log likelihood.
#pragma once

#include <cmath>

#include "expectation/function_mean.h"

namespace galvi {

/// f(x) = log sigmoid(x) = x / 2 - log(2 cosh(x / 2)), and log cosh(sqrt(t) / 2) is concave in t = x^2. By
/// Jensen
///   E f(sign x) >= sign mean / 2 - log(2 cosh(xi / 2)),   xi^2 = t = E x^2 = mean^2 + variance,
/// which is the bound with its free xi at the optimum (003, section 2.3).
class Jaakkola final : public FunctionMean {
 public:
  std::string name() const override { return "jaakkola"; }
  const StandardFunction& function() const override { return log_sigmoid(); }
  void evaluate(double sign, double mean, double variance, int /*order*/,
                PointExpectation& out) const override {
    const double xi = std::hypot(mean, std::sqrt(variance));
    const double bend = lambda(0.5 * xi), slope = lambda_slope(0.5 * xi);
    out.value = 0.5 * (sign * mean - xi) - std::log1p(std::exp(-xi));
    out.d_m = 0.5 * sign - 2.0 * bend * mean;
    out.d_v = -bend;
    out.d_mm = -2.0 * bend - 4.0 * slope * mean * mean;
    out.d_mv = -2.0 * slope * mean;
    out.d_vv = -slope;
  }

 private:
  // lambda = -d log(2 cosh(xi / 2)) / dt = tanh(xi / 2) / (4 xi).   half: xi / 2
  static double lambda(double half) {
    return half < 1e-4 ? 0.125 * (1.0 - half * half / 3.0) : std::tanh(half) / (8.0 * half);
  }
  // d lambda / dt = (1 - tanh^2 - tanh / half) / (64 half^2)
  static double lambda_slope(double half) {
    const double square = half * half;
    if (half < 1e-2) return (-2.0 / 3.0 + square * (8.0 / 15.0 - square * 34.0 / 105.0)) / 64.0;
    const double tanh = std::tanh(half);
    return (1.0 - tanh * tanh - tanh / half) / (64.0 * square);
  }
};

}  // namespace galvi
