// The exact expectation of the multinomial logit.
#pragma once

#include "expectation/by_row.h"

namespace galvi {

/// E log p = m_y - E log sum_c exp(eta_c) with independent eta_c ~ N(m_c, v_c), by the integrals of
/// softmax_lattice.h: value and derivatives right to 1e-10 for any number of classes.
/// All second derivatives of E log S are integrals of products of phi' < 0,
///   E p_k p_l = int phi_k' phi_l' prod_{j != k, l} phi_j du,   E p_k (1 - p_k) = sum_{l != k} E p_k p_l,
/// so that d_v = -E p_k (1 - p_k) / 2 <= 0, rounding included.
class SoftmaxExpectation final : public ByRow {
 public:
  std::string name() const override { return "quadrature"; }
  std::string refuses(const Likelihood& likelihood) const override;
  bool exact() const override { return true; }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& /*likelihood*/) const override { return true; }

 protected:
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int order, RowExpectation& out) const override;
  void add_row_gradient(const Likelihood&, const Datum&, const double*, const double*, double,
                        VectorRef) const override {}
};

}  // namespace galvi
