// The bound of the probit model's two stages (002, eq. 14).
#pragma once

#include "expectation/function_mean.h"

namespace galvi {

/// log Phi bends by less than 1, d^2 log Phi / dx^2 >= -1, so E f(x) >= f(mean) - variance / 2: what remains
/// of a latent g ~ N(eta, 1), y = sign(g), after Jensen's inequality for p(g | eta).
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
