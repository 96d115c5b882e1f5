// The loop over rows that all expectations share.
#pragma once

#include "expectation/expectation.h"

namespace galvi {

/// E log p of one row and its derivatives. Blocks of second derivatives are K x K, column-major: entry k + K
/// l of d_mv is d^2 E / dm_k dv_l. All are zero when handed to an expectation, which adds to them.
struct RowExpectation {
  double value;
  double *d_m, *d_v;           // K
  double *d_mm, *d_mv, *d_vv;  // K x K, for order = 2
};

/// An expectation that takes one row at a time.
class ByRow : public Expectation {
 public:
  void evaluate(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                const Matrix& variance, int order, Expectations& out) const final;
  void add_gradient(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                    const Matrix& variance, VectorRef gradient) const final;

 protected:
  /// Value and derivatives of one row without its weight; mean and variance: K. Second derivatives for order
  /// = 2 only. Called from threads.
  virtual void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                            const double* variance, int order, RowExpectation& out) const = 0;
  /// gradient[h] += weight d value / d hyper_h of one row.
  virtual void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                                const double* variance, double weight, VectorRef gradient) const = 0;
};

/// The same for likelihoods with one latent value per observation.
class ScalarByRow : public ByRow {
 protected:
  virtual void evaluate_point(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                              int order, PointExpectation& out) const = 0;
  /// That of the exact expectation: in closed form, else by quadrature.
  void add_row_gradient(const Likelihood& likelihood, const Datum& datum, const double* mean,
                        const double* variance, double weight, VectorRef gradient) const override;

 private:
  void evaluate_row(const Likelihood& likelihood, const Datum& datum, const double* mean,
                    const double* variance, int order, RowExpectation& out) const final;
};

}  // namespace galvi
