// The exact expectation of a likelihood with several linear predictors that has no closed form.
#pragma once

#include "expectation/by_row.h"

namespace galvi {

/// A row that splits is the sum of its parts' expectations; a row with a form of likelihood/plane_forms.h
/// uses that form. Both are accurate to 1e-9 (absolute or relative) for variances up to 1e4 of eta_1 and 100
/// of eta_2, where the value can be represented. All others are the mean over one latent value of the exact
/// expectation over the others (likelihood/distributional.h), accurate to 1e-9 in value and first derivatives
/// for variances up to 10, or up to 1e4 for zeros of zero-inflated and hurdle models with two predictors.
class Nested final : public ByRow {
 public:
  std::string name() const override { return "quadrature"; }
  std::string refuses(const Likelihood& likelihood) const override {
    if (likelihood.distributional()) return "";
    return "Nested quadrature serves likelihoods with several linear predictors.";
  }
  bool exact() const override { return true; }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& likelihood) const override { return likelihood.log_concave(); }
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int order, RowExpectation& out) const override;
  void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                        const double* variance, double weight, VectorRef gradient) const override;

 private:
  bool costly() const override { return true; }
  /// Those of a likelihood of one latent value or several.
  void evaluate_part(const Likelihood& part, const Datum& datum, const double* mean, const double* variance, int order,
                     RowExpectation& out) const;
  void add_part_gradient(const Likelihood& part, const Datum& datum, const double* mean, const double* variance,
                         double weight, VectorRef gradient) const;
};

}  // namespace galvi
