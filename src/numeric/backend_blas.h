// R's BLAS and LAPACK.
#pragma once

#include "numeric/backend.h"

namespace galvi {

class BlasBackend final : public Backend {
 public:
  std::string name() const override { return "blas"; }
  /// Small, as LAPACK's own blocking is the slower one (OpenBLAS inverts 300 x 300 at a third of the speed).
  Index leaf() const override { return 48; }
  void multiply(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
                const ConstMatrixRef& B, double beta, MatrixRef C) const override;
  void rank_k(bool transpose, double alpha, const ConstMatrixRef& A, double beta, MatrixRef C) const override;
  void solve(bool left, bool transpose, const ConstMatrixRef& L, MatrixRef B) const override;
  void triangular_multiply(bool left, bool transpose, double alpha, const ConstMatrixRef& L,
                           MatrixRef B) const override;
  bool cholesky(MatrixRef A) const override;
  void invert(MatrixRef L) const override;
  void gram(MatrixRef L) const override;
};

}  // namespace galvi
