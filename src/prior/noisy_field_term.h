// Terms that are a field and noise: their covariance W Q^-1 W' + diag(c) from the sparse view.
#pragma once

#include "prior/field.h"

namespace galvi {

class NoisyFieldTerm : public Term {
 public:
  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override;
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override;
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override;

 protected:
  using Term::Term;

 private:
  /// hyper[h] += the gradient through W and c: d bound / dW = 2 GS, d bound / dc = g.   GS: n x L
  virtual void add_rows_gradient(const TermRows& rows, const Matrix& GS, const Vector& g, VectorRef hyper) const = 0;
};

}  // namespace galvi
