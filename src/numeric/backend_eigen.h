// Eigen's own kernels, for an R whose BLAS is the reference one.
#pragma once

#include "numeric/backend.h"

namespace galvi {

class EigenBackend final : public Backend {
 public:
  /// `wide`: use the processor's wider registers for products.
  explicit EigenBackend(bool wide) : wide_(wide) {}

  std::string name() const override { return "eigen"; }
  Index leaf() const override { return 32; }
  void multiply(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
                const ConstMatrixRef& B, double beta, MatrixRef C) const override;
  void rank_k(bool transpose, double alpha, const ConstMatrixRef& A, double beta, MatrixRef C) const override;
  void solve(bool left, bool transpose, const ConstMatrixRef& L, MatrixRef B) const override;
  void triangular_multiply(bool left, bool transpose, double alpha, const ConstMatrixRef& L,
                           MatrixRef B) const override;
  bool cholesky(MatrixRef A) const override;
  void invert(MatrixRef L) const override;
  void gram(MatrixRef L) const override;

 private:
  void triangular_leaf(bool left, bool transpose, double alpha, const ConstMatrixRef& L, MatrixRef B) const;

  bool wide_;
};

}  // namespace galvi
