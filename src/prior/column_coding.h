// Columns of a model matrix as a prior takes them: centred and, where their coefficients have one joint prior,
// orthonormal over the rows (R/term-fixed-coding.R).
#pragma once

#include "numeric/context.h"
#include "numeric/types.h"

namespace galvi {

/// Means and second moments of columns over rows with weights w that sum to one:
///   mean = X'w,   second = (X - 1 mean')' diag(w) (X - 1 mean').
/// They do not depend on the number of threads.   X: n x q, weights: n
struct ColumnMoments {
  Vector mean;    // q
  Matrix second;  // q x q, both triangles
};
ColumnMoments column_moments(Context& context, const ConstMatrixRef& X, const ConstVectorRef& weights);

/// out (n x L) = (X - 1 centre') B + 1 level'. Each row is computed on its own and in the same order, so that it has
/// the same bits whichever rows come with it.   X: n x q, centre: q, B: q x L, level: L
void code_columns(Context& context, const ConstMatrixRef& X, const ConstVectorRef& centre, const ConstMatrixRef& B,
                  const ConstVectorRef& level, MatrixRef out);

}  // namespace galvi
