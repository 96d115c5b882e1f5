// The expectation as a formula, for likelihoods that have one.
#pragma once

#include "expectation/by_row.h"

namespace galvi {

class ClosedForm final : public ByRow {
 public:
  std::string name() const override { return "closed_form"; }
  std::string refuses(const Likelihood& likelihood) const override {
    if (likelihood.has_closed_form()) return "";
    return "This likelihood has no closed-form expectation: use expectation = \"quadrature\".";
  }
  bool exact() const override { return true; }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& likelihood) const override { return likelihood.log_concave(); }
  bool has_conjugate(const Likelihood& likelihood) const override {
    return likelihood.has_fenchel_conjugate();
  }
  void dual_lines(const Likelihood& likelihood, const Datum& datum, DualLine* lines) const override {
    *lines = likelihood.dual_line(datum);
  }
  void conjugate_row(const Likelihood& likelihood, const Datum& datum, const double* x,
                     RowConjugate& out) const override {
    const PointConjugate point = likelihood.fenchel_conjugate(datum, *x);
    out.value = point.value;
    *out.slope = point.slope;
    *out.curvature = point.curvature;
    out.rest = infinity;
  }

 protected:
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int /*order*/, RowExpectation& out) const override {
    likelihood.add_closed_form(datum, mean, variance, out);
  }
  void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                        const double* variance, double weight, VectorRef gradient) const override {
    likelihood.add_expected_gradient(datum, mean, variance, weight, gradient);
  }
};

}  // namespace galvi
