// The loop over rows that scalar expectations share.
#pragma once

#include "expectation/expectation.h"

namespace galvi {

/// An expectation of likelihoods with one latent value per observation (K = 1), one row at a time.
class ByRow : public Expectation {
 public:
  void evaluate(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                const Matrix& variance, int order, Expectations& out) const final;
  void add_gradient(Context& context, const Likelihood& likelihood, const Data& data, const Matrix& mean,
                    const Matrix& variance, VectorRef gradient) const final;

 protected:
  /// Value and derivatives of one row without its weight; second derivatives for order = 2 only.
  virtual void evaluate_row(const Likelihood& likelihood, const Datum& datum, double mean, double variance,
                            int order, PointExpectation& out) const = 0;
};

}  // namespace galvi
