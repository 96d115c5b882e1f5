// Dense factorisations and products, blocked over the backend, polling the monitor, counting flops.
// Symmetric matrices are read and written in their lower triangle only.
#pragma once

#include <functional>
#include <vector>

#include "numeric/context.h"

namespace galvi {

/// A (n x n) becomes its lower Cholesky factor. False, with A spoilt, if A is not positive definite.
bool cholesky(Context& context, MatrixRef A);

/// The same, adding a growing multiple of the mean diagonal (from 1e-10) until it succeeds. Returns what was
/// added (usually 0). Throws std::domain_error beyond 1e-4.
double cholesky_with_jitter(Context& context, MatrixRef A);

/// A covariance (both triangles) becomes its factor, the largest remaining variance first, until that is at
/// most `least` of the largest: A(order, order) = L L' but for what is left, with L the first order.size()
/// rows and columns of the lower triangle, below which the other rows follow; `rest`, if wanted, gives their
/// places. The first `in_order` are taken as they come, as far as they are positive.
std::vector<Index> pivoted_cholesky(Matrix& A, double least, std::vector<Index>* rest = nullptr,
                                    Monitor* monitor = nullptr, Index in_order = 0);

/// R (n x rank) with R R' = A but for rounding, A a covariance (both triangles) of any rank.
Matrix covariance_root(Context& context, Matrix A);

/// The same where the rank is small: R R' = A but for a covariance with variances of at most `left`, which is about the
/// rounding error of A. R R' interpolates A from its rows and columns `pivots`: R = A_np L^-T with A_pp = L L'.
struct LowRank {
  Matrix root;  // R.   n x rank
  double left = 0;
  std::vector<Index> pivots;  // p
  Matrix chol;                // L
};
/// No columns if the rank is more than `most`, or seems to be. `column` gives one of A's columns.   diagonal: n
LowRank low_rank_root(Context& context, const Vector& diagonal, const std::function<void(Index, VectorRef)>& column,
                      Index most);
LowRank low_rank_root(Context& context, const ConstMatrixRef& A, Index most);

/// Standard normals from the monitor, column after column.
Matrix white_noise(Context& context, Index rows, Index columns);

/// A = J + M with J = diag(+1 x `positive`, -1 x rest) and M positive semidefinite: A becomes L with A = L J
/// L', L lower triangular. False, with A spoilt, if A has another inertia than J. With no negative sites this
/// is `cholesky`.
bool signed_cholesky(Context& context, MatrixRef A, Index positive);

/// L becomes its inverse (n^3 / 3 flops).
void invert_lower(Context& context, MatrixRef L);

/// L becomes the lower triangle of (L J L')^-1 (2 n^3 / 3 flops); J as above.
void invert_from_cholesky(Context& context, MatrixRef L, Index positive);

void solve_lower(Context& context, const ConstMatrixRef& L, MatrixRef B);             // B <- L^-1 B
void solve_lower_transposed(Context& context, const ConstMatrixRef& L, MatrixRef B);  // B <- L^-T B

/// C <- beta C + op(A) op(B).
void multiply(Context& context, bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
              const ConstMatrixRef& B, double beta, MatrixRef C);

/// lower(C) <- beta C + alpha A' A.   A: n x L, C: L x L.
void add_crossproduct(Context& context, double alpha, const ConstMatrixRef& A, double beta, MatrixRef C);

/// lower(C) += W' diag(d) W, d of either sign.   W: n x L, C: L x L. May run on any thread.
void add_weighted_crossproduct(const Backend& backend, const ConstMatrixRef& W, const ConstVectorRef& d,
                               MatrixRef C);

/// A x, (A o A) x and (A o B) x for symmetric matrices, o the elementwise product.
Vector symmetric_product(Context& context, const ConstMatrixRef& A, const ConstVectorRef& x);
Vector squared_symmetric_product(Context& context, const ConstMatrixRef& A, const ConstVectorRef& x);
Vector hadamard_symmetric_product(Context& context, const ConstMatrixRef& A, const ConstMatrixRef& B,
                                  const ConstVectorRef& x);

/// The strict upper triangle becomes the mirror of the lower.
void fill_upper(MatrixRef A);

}  // namespace galvi
