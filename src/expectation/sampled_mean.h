// The exact mean of a standard function, by quadrature.
#pragma once

#include "expectation/function_mean.h"
#include "quadrature/sampled_function.h"

namespace galvi {

/// E f and its derivatives, right to 1e-9 (absolute or relative, whichever is larger) for variances up to
/// 1e4: d_m = E f', d_v = E f'' / 2, d_mm = E f'', d_mv = E f''' / 2, d_vv = E f'''' / 4. E f'' is a sum with
/// positive weights, so that d_v <= 0 wherever f is concave, rounding included.
class SampledMean final : public FunctionMean {
 public:
  explicit SampledMean(const StandardFunction& f);
  std::string name() const override { return "quadrature"; }
  const StandardFunction& function() const override { return f_; }
  void evaluate(double sign, double mean, double variance, int order, PointExpectation& out) const override;
  bool exact() const override { return true; }

 private:
  const StandardFunction& f_;
  const SampledFunction& samples_;
};

}  // namespace galvi
