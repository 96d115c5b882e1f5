// The loop over rows that all expectations share.
#pragma once

#include "expectation/expectation.h"

namespace galvi {

/// An expectation that takes one row at a time.
class ByRow : public Expectation {
 public:
  void evaluate(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                const Matrix& variance, int order, Expectations& out) const final;
  void add_gradient(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                    const Matrix& variance, VectorRef gradient) const final;
  /// gradient[h] += weight d value / d hyper_h of one row. Called from threads.
  virtual void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                const double* variance, double weight, VectorRef gradient) const = 0;

 protected:
  /// Does a row take so long that finding an earlier one like it is worth its time?
  virtual bool costly() const { return false; }
};

/// The same for likelihoods with one latent value per observation.
class ScalarByRow : public ByRow {
 public:
  /// The implementation of the exact expectation: closed form, else quadrature.
  void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                        const double* variance, double weight, VectorRef gradient) const override;

 protected:
  virtual void evaluate_point(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                              int order, PointExpectation& out) const = 0;

 private:
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int order, RowExpectation& out) const final;
};

}  // namespace galvi
