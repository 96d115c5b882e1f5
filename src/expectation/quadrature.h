// The exact expectation by quadrature, for every scalar likelihood with derivatives.
#pragma once

#include "expectation/by_row.h"

namespace galvi {

/// E l, l = log p, and its derivatives, right to 1e-9 (absolute or relative, whichever is larger) for
/// variances up to 1e4 and |mean| up to 50:  d_m = E l', d_v = E l'' / 2, d_mm = E l'', d_mv = E l''' / 2,
/// d_vv = E l'''' / 4.
class Quadrature final : public ScalarByRow {
 public:
  std::string name() const override { return "quadrature"; }
  std::string refuses(const Likelihood& likelihood) const override;
  bool exact() const override { return true; }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& likelihood) const override { return likelihood.log_concave(); }

 protected:
  void evaluate_point(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                      int order, PointExpectation& out) const override;
};

}  // namespace galvi
