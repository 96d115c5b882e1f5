// The exact expectation by quadrature, for every likelihood with derivatives.
#pragma once

#include <optional>

#include "expectation/by_row.h"
#include "expectation/sampled_function.h"

namespace galvi {

/// E l, l = log p, and its derivatives, right to 1e-9 (absolute or relative, whichever is larger) for
/// variances up to 1e4 and |mean| up to 50:  d_m = E l', d_v = E l'' / 2, d_mm = E l'', d_mv = E l''' / 2,
/// d_vv = E l'''' / 4.
/// E l'' is a sum with positive weights, so that d_v <= 0 wherever log p is concave, rounding included.
class Quadrature final : public ByRow {
 public:
  explicit Quadrature(const Likelihood& likelihood);

  std::string name() const override { return "quadrature"; }
  std::string refuses(const Likelihood& likelihood) const override;
  bool exact() const override { return true; }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& likelihood) const override { return likelihood.log_concave(); }

 protected:
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, double mean, double variance, int order,
                    PointExpectation& out) const override;

 private:
  bool from_samples(const Likelihood& likelihood, const Datum& datum, double mean, double variance, int order,
                    double l[5]) const;

  const StandardFunction* function_;  // the one that was sampled
  std::optional<SampledFunction> sampled_;
};

}  // namespace galvi
