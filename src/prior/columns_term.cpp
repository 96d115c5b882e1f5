#include "prior/columns_term.h"

#include "numeric/dense.h"

namespace galvi {

void ColumnsTerm::add_product(Context& context, const Matrix& A, MatrixRef K) {
  add_crossproduct(context, 1.0, A.transpose(), 1.0, K);
}

void ColumnsTerm::add_cross(Context& context, const TermRows& others, MatrixRef K) const {
  multiply(context, false, true, 1.0, W_ * coefficients_.variance().asDiagonal(), others.W, 1.0, K);
}

}  // namespace galvi
