// Matrix products and factorisations: R's BLAS and LAPACK or Eigen's own kernels, whichever a short trial
// finds faster.
#pragma once

#include <string>
#include <vector>

#include "numeric/types.h"

namespace galvi {

/// Level-3 primitives on blocks; dense.h builds the factorisations from them.
/// L is lower triangular and square, op(L) is L or L'; symmetric results are written in the lower triangle
/// only, and what lies above a diagonal is never read. All functions may be called on several threads at once.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;

  /// The largest triangle that the functions below (all but `multiply` and `rank_k`) handle at full speed;
  /// larger ones should be split into products first.
  virtual Index leaf() const = 0;

  /// C <- beta C + alpha op(A) op(B); beta = 0 overwrites C, whatever it contains.
  virtual void multiply(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
                        const ConstMatrixRef& B, double beta, MatrixRef C) const = 0;
  /// lower(C) <- beta C + alpha A A' (transpose false) or alpha A' A (transpose true).
  virtual void rank_k(bool transpose, double alpha, const ConstMatrixRef& A, double beta,
                      MatrixRef C) const = 0;
  /// B <- op(L)^-1 B (left) or B op(L)^-1 (right).
  virtual void solve(bool left, bool transpose, const ConstMatrixRef& L, MatrixRef B) const = 0;
  /// B <- alpha op(L) B (left) or alpha B op(L) (right).
  virtual void triangular_multiply(bool left, bool transpose, double alpha, const ConstMatrixRef& L,
                                   MatrixRef B) const = 0;
  /// A <- its lower Cholesky factor; false if there is none. A NaN may go unnoticed: the caller checks the
  /// diagonal.
  virtual bool cholesky(MatrixRef A) const = 0;
  /// L <- L^-1.
  virtual void invert(MatrixRef L) const = 0;
  /// L <- lower(L' L).
  virtual void gram(MatrixRef L) const = 0;
};

/// One of backend_names(), or "auto": what a trial of a few milliseconds at first use finds faster,
/// remembered. Throws std::invalid_argument for any other name.
Backend& backend(const std::string& name);
std::vector<std::string> backend_names();

}  // namespace galvi
