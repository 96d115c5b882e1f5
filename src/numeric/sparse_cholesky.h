// Positive definite matrices that are mostly zeros, such as the precision of a Gaussian Markov random field.
#pragma once

#include <Eigen/SparseCore>
#include <memory>

#include "numeric/context.h"

namespace galvi {

using SparseMatrix = Eigen::SparseMatrix<double>;  // by columns, int indices

struct SparseSymbolic;

/// A = P' L L' P (n x n), analysed once for its pattern and factorised as often as its values change. A is
/// given by its lower triangle; a copy shares the analysis.
class SparseCholesky {
 public:
  /// `lower`: the lower triangle's pattern, compressed, with all of the diagonal; its values do not matter.
  /// Throws std::invalid_argument for anything else.
  explicit SparseCholesky(const SparseMatrix& lower);

  /// `values`: one for each entry of the pattern, in the order of lower.valuePtr(). False, and nothing below
  /// may be asked, if A is not positive definite.
  bool factorise(Context& context, const ConstVectorRef& values);

  Index size() const;
  double log_det() const { return log_det_; }

  /// B <- A^-1 B, L^-1 P B and P' L^-T B, n x k. The second and the third one after the other are the first:
  /// |L^-1 P b|^2 = b' A^-1 b, and P' L^-T e has the covariance A^-1 if e is white noise. Of a column of zeros
  /// and few others, only what depends on these is computed.
  void solve(Context& context, MatrixRef B) const;
  void solve_lower(Context& context, MatrixRef B) const;
  void solve_lower_transposed(Context& context, MatrixRef B) const;

  /// A^-1 on the pattern of A: the lower triangle with the analysed matrix's entries in the same order. A
  /// column's first entry is the diagonal's.
  SparseMatrix selected_inverse(Context& context) const;

 private:
  std::shared_ptr<const SparseSymbolic> symbolic_;
  Vector panels_;  // L, see SparseSymbolic
  double log_det_ = 0.0;
};

}  // namespace galvi
