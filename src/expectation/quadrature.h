// The exact expectation by quadrature, in the form that the likelihood offers.
#pragma once

#include "expectation/by_row.h"
#include "expectation/function_mean.h"
#include "quadrature/sampled_function.h"

namespace galvi {

/// Likelihoods with derivatives, K = 1: E l, l = log p, and its derivatives, accurate to 1e-9 (absolute or
/// relative, whichever is larger) for variances up to 1e4 and |mean| up to 50:  d_m = E l', d_v = E l'' / 2,
/// d_mm = E l'', d_mv = E l''' / 2, d_vv = E l'''' / 4.
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
  bool costly() const override { return true; }
};

/// Composed likelihoods: E f of their standard function and its derivatives as above, by samples of f that
/// are taken once. E f'' is a sum with positive weights, so that d_v <= 0 wherever f is concave, rounding
/// included.
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

/// The multinomial logit: E log p = m_y - E log sum_c exp(eta_c) with independent eta_c ~ N(m_c, v_c), by the
/// integrals of quadrature/softmax_lattice.h: accurate to 1e-10 for any number of classes, derivatives too.
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
  bool costly() const override { return true; }
};

}  // namespace galvi
