#include "prior/noisy_field_term.h"

#include "prior/low_rank_term.h"

namespace galvi {

void NoisyFieldTerm::add_covariance(Context& context, const TermRows& rows, MatrixRef K) const {
  const SparseRows W = field_design(rows);
  K += W * field()->covariance_times(context, Matrix(W.transpose()));
  Vector c = Vector::Zero(W.rows());
  add_extra_variances(rows, 0, Matrix(), c);
  K.diagonal() += c;
}

void NoisyFieldTerm::add_cross(Context& context, const TermRows& rows, const TermRows& others, MatrixRef K) const {
  K += field_design(rows) * field()->covariance_times(context, Matrix(field_design(others).transpose()));
}

// With S = W Q^-1: d bound / dQ = -S'G S, d bound / dW = 2 G S and d bound / dc = diag(G).
void NoisyFieldTerm::add_covariance_gradient(Context& context, const TermRows& rows, const Weights& G,
                                             VectorRef hyper) const {
  const SparseRows W = field_design(rows);
  const Matrix S = field()->covariance_times(context, Matrix(W.transpose())).transpose();
  const Matrix GS = G.multiply(S);
  const SparseMatrix& pattern = field()->pinned_precision();
  Vector d_precision(pattern.nonZeros());
  for (Index j = 0; j < pattern.cols(); ++j)
    for (int e = pattern.outerIndexPtr()[j]; e < pattern.outerIndexPtr()[j + 1]; ++e)
      d_precision[e] = -S.col(pattern.innerIndexPtr()[e]).dot(GS.col(j));
  field()->add_gradient(context, d_precision, 0, hyper);
  if (moves_field_design()) add_rows_gradient(rows, GS, diagonal_of(G, W.rows()), hyper);
}

}  // namespace galvi
