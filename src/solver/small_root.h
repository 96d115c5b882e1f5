// Lower triangular roots L of small matrices, and matrices of low rank.
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

/// (A o B) x with A = F diag(s) F' and B = G diag(t) G'.
inline Vector low_rank_hadamard(const Matrix& F, const Vector& s, const Matrix& G, const Vector& t, const Vector& x) {
  if (s.size() == 0 || t.size() == 0) return Vector::Zero(x.size());
  const Matrix inner = s.asDiagonal() * (F.transpose() * x.asDiagonal() * G) * t.asDiagonal();
  return (F * inner).cwiseProduct(G).rowwise().sum();
}
/// x'(A o B) x
inline double low_rank_form(const Matrix& F, const Vector& s, const Matrix& G, const Vector& t, const Vector& x) {
  if (s.size() == 0 || t.size() == 0) return 0;
  return s.dot((F.transpose() * x.asDiagonal() * G).cwiseAbs2() * t);
}

}  // namespace galvi
