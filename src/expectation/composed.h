// The expectation of a composed likelihood, part by part (likelihood/composed.h).
#pragma once

#include <memory>

#include "expectation/by_row.h"
#include "expectation/function_mean.h"

namespace galvi {

/// The sum of the parts' means, for any number of latents: a FunctionMean computes or bounds the mean of the
/// likelihood's standard function; exponentials have a closed form.
class ComposedExpectation final : public ByRow {
 public:
  explicit ComposedExpectation(std::unique_ptr<FunctionMean> mean) : mean_(std::move(mean)) {}

  std::string name() const override { return mean_->name(); }
  std::string refuses(const Likelihood& likelihood) const override;
  bool exact() const override { return mean_->exact(); }
  bool is_bound() const override { return true; }
  bool one_optimum(const Likelihood& likelihood) const override {
    return mean_->concave() && likelihood.log_concave();
  }
  bool has_conjugate(const Likelihood& /*likelihood*/) const override { return mean_->has_conjugate(); }
  void dual_lines(const Likelihood& likelihood, const Datum& datum, DualLine* lines) const override;
  void conjugate_row(const Likelihood& likelihood, const Datum& datum, const double* x,
                     RowConjugate& out) const override;

 protected:
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int order, RowExpectation& out) const override;
  void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                        const double* variance, double weight, VectorRef gradient) const override;

 private:
  std::unique_ptr<FunctionMean> mean_;
};

}  // namespace galvi
