#include "prior/columns_term.h"

#include "numeric/dense.h"

namespace galvi {

void ColumnsTerm::add_covariance(Context& context, const TermRows& rows, MatrixRef K) const {
  const Matrix scaled = rows.W * coefficients_.variance().cwiseSqrt().asDiagonal();
  add_crossproduct(context, 1.0, scaled.transpose(), 1.0, K);
}

void ColumnsTerm::add_cross(Context& context, const TermRows& rows, const TermRows& others,
                            MatrixRef K) const {
  multiply(context, false, true, 1.0, rows.W * coefficients_.variance().asDiagonal(), others.W, 1.0, K);
}

}  // namespace galvi
