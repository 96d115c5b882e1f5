// The exact expectation of likelihoods whose density is a user's function: many rows in one call.
#pragma once

#include "expectation/expectation.h"

namespace galvi {

/// E l, l = log p, and its derivatives by the trapezium sum over t = (eta - mean) / sd. For the rows that
/// need it the step is halved and the range widened until two sums agree; the error of the finer sum is then
/// about the square of their difference. Where sd is small relative to the scale of l, nine Gauss-Hermite
/// nodes are used instead. All nodes of a block of rows are evaluated in one call. If derivatives of l are
/// not given, Stein's identity gives their means from l itself,
///   E l^(k) = E[l He_k(t)] / sd^k,   He_k the Hermite polynomials,
/// or, where sd is so small that these would cancel, from differences of l around the mean.
class BatchedQuadrature final : public Expectation {
 public:
  std::string name() const override { return "quadrature"; }
  std::string refuses(const Likelihood& likelihood) const override;
  void evaluate(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                const Matrix& variance, int order, Expectations& out) const override;
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int order, RowExpectation& out) const override;
  void add_gradient(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                    const Matrix& variance, VectorRef gradient) const override;
  bool exact() const override { return true; }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& likelihood) const override { return likelihood.log_concave(); }
};

}  // namespace galvi
