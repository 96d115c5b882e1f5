#include "prior/low_rank_term.h"

#include <algorithm>

#include "numeric/dense.h"

namespace galvi {

Vector diagonal_of(const Weights& G, Index n) {
  constexpr Index block = 64;
  Vector out(n);
  for (Index begin = 0; begin < n; begin += block) {
    Matrix tile(std::min(block, n - begin), std::min(block, n - begin));
    G.tile(begin, begin, tile);
    out.segment(begin, tile.rows()) = tile.diagonal();
  }
  return out;
}

Matrix LowRankTerm::columns_of(const TermRows& rows) const {
  Matrix W(rows.size(), columns());
  fill(rows, 0, W);
  return W;
}

void LowRankTerm::add_covariance(Context& context, const TermRows& rows, MatrixRef K) const {
  const Matrix W = columns_of(rows);
  add_crossproduct(context, 1.0, W.transpose(), 1.0, K);
  Vector c = Vector::Zero(W.rows());
  add_extra_variances(rows, 0, W, c);
  K.diagonal() += c;
}

void LowRankTerm::add_cross(Context& context, const TermRows& rows, const TermRows& others,
                            MatrixRef K) const {
  multiply(context, false, true, 1.0, columns_of(rows), columns_of(others), 1.0, K);
}

void LowRankTerm::add_covariance_gradient(Context&, const TermRows& rows, const Weights& G,
                                          VectorRef hyper) const {
  const Matrix W = columns_of(rows);
  Vector sums = Vector::Zero(gradient_size());
  add_gradient(rows, 0, W, 2 * G.multiply(W), diagonal_of(G, W.rows()), sums);
  finish_gradient(sums, hyper);
}

}  // namespace galvi
