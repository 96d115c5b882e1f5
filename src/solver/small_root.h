// Lower triangular roots L of small matrices.
#pragma once

#include "numeric/types.h"

namespace galvi {

inline Matrix solve_root(const Matrix& L, const ConstMatrixRef& X) {  // L^-1 X
  return L.triangularView<Eigen::Lower>().solve(X);
}
inline Matrix solve_roots(const Matrix& L, const ConstMatrixRef& X) {  // (L L')^-1 X
  return L.transpose().triangularView<Eigen::Upper>().solve(solve_root(L, X));
}
inline Matrix times_inverse_root(const ConstMatrixRef& X, const Matrix& L) {  // X L^-T
  return solve_root(L, X.transpose()).transpose();
}

}  // namespace galvi
