// Quadrature for a user's density of several linear predictors, many rows in one call.
#pragma once

#include "expectation/expectation.h"

namespace galvi {

/// E log p and its derivatives by values alone, at the product of a rule for each predictor
/// (quadrature/derivative_rule.h): few nodes of Gauss and Hermite where log p is nearly a polynomial across its
/// Gaussian, on lines beside the mean, else as many as it asks for. The rows of a block are asked for in one call.
class ProductQuadrature final : public Expectation {
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
  bool one_optimum(const Likelihood&) const override { return false; }
};

}  // namespace galvi
