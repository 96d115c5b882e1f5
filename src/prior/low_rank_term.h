// Terms that are few columns and noise: their covariance W W' + diag(c) from the finite view.
#pragma once

#include "prior/term.h"

namespace galvi {

/// diag(G), n of them.
Vector diagonal_of(const Weights& G, Index n);

class LowRankTerm : public Term {
 public:
  void add_covariance(Context& context, const TermRows& rows, MatrixRef K) const override;
  void add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const override;
  void add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                               VectorRef hyper) const override;

 protected:
  using Term::Term;

 private:
  Matrix columns_of(const TermRows& rows) const;
};

}  // namespace galvi
