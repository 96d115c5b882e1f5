// Jensen's bounds on the mean of log sigmoid (001, table 2) and of log Phi (002, eq. 14).
#pragma once

#include <cmath>

#include "expectation/function_mean.h"

namespace galvi {

/// E llp(x) <= log E(1 + exp(x)) = llp(t), t = mean + variance / 2, llp(x) = log(1 + exp(x)). As in the
/// papers it is llp(x), not llp(-x), that is bounded: f(x) = x - llp(x) and f(-x) = -llp(x).
class LogBound final : public FunctionMean {
 public:
  std::string name() const override { return "log"; }
  const StandardFunction& function() const override { return log_sigmoid(); }
  bool has_conjugate() const override { return true; }
  double argument_at(double lambda) const override { return std::log(lambda / (1.0 - lambda)); }
  void evaluate(double sign, double mean, double variance, int /*order*/,
                PointExpectation& out) const override {
    double f[5];  // f(-t) = -llp(t)
    log_sigmoid().derivatives(-(mean + 0.5 * variance), f);
    // f(t) = t + f(-t) would lose f's digits for large t: mean - llp(t) = f(t) - variance / 2
    out.value = sign > 0.0 ? log_sigmoid().value(mean + 0.5 * variance) - 0.5 * variance : f[0];
    out.d_m = sign > 0.0 ? 1.0 - f[1] : -f[1];
    out.d_v = -0.5 * f[1];
    out.d_mm = f[2];
    out.d_mv = 0.5 * f[2];
    out.d_vv = 0.25 * f[2];
  }
};

/// d^2 log Phi / dx^2 >= -1, so E f(x) >= f(mean) - variance / 2. It is Jensen's inequality for p(g | eta) of
/// the latent g ~ N(eta, 1), y = sign(g).
class TwoStage final : public FunctionMean {
 public:
  std::string name() const override { return "two_stage"; }
  const StandardFunction& function() const override { return log_phi(); }
  void evaluate(double sign, double mean, double variance, int /*order*/,
                PointExpectation& out) const override {
    double f[5];
    log_phi().derivatives(sign * mean, f);
    out = {f[0] - 0.5 * variance, sign * f[1], -0.5, f[2], 0.0, 0.0};
  }
};

}  // namespace galvi
