#include "numeric/backend_blas.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

// Two headers of R that declare Fortran's routines and nothing else. FCONE passes the hidden length of a character
// argument, as R's compilers expect it.
#ifndef USE_FC_LEN_T
#define USE_FC_LEN_T
#endif
#include <R_ext/BLAS.h>
#include <R_ext/Lapack.h>
#ifndef FCONE
#define FCONE
#endif

namespace galvi {
namespace {

int blas_int(Index size) {
  if (size > std::numeric_limits<int>::max()) {
    throw std::invalid_argument("BLAS cannot address a matrix with more than 2^31 - 1 rows or columns");
  }
  return static_cast<int>(size);
}

// BLAS requires a leading dimension of at least max(1, rows) even where it is not used.
template <typename Dense>
int leading_dimension(const Dense& A) {
  return blas_int(std::max<Index>({A.outerStride(), A.rows(), 1}));
}

const char* op(bool transpose) { return transpose ? "T" : "N"; }
const char* side(bool left) { return left ? "L" : "R"; }

}  // namespace

void BlasBackend::multiply(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
                           const ConstMatrixRef& B, double beta, MatrixRef C) const {
  const int m = blas_int(C.rows()), n = blas_int(C.cols());
  const int k = blas_int(transpose_a ? A.rows() : A.cols());
  const int lda = leading_dimension(A), ldb = leading_dimension(B), ldc = leading_dimension(C);
  F77_CALL(dgemm)
  (op(transpose_a), op(transpose_b), &m, &n, &k, &alpha, A.data(), &lda, B.data(), &ldb, &beta, C.data(),
   &ldc FCONE FCONE);
}

void BlasBackend::rank_k(bool transpose, double alpha, const ConstMatrixRef& A, double beta,
                         MatrixRef C) const {
  const int n = blas_int(C.rows()), k = blas_int(transpose ? A.rows() : A.cols());
  const int lda = leading_dimension(A), ldc = leading_dimension(C);
  F77_CALL(dsyrk)("L", op(transpose), &n, &k, &alpha, A.data(), &lda, &beta, C.data(), &ldc FCONE FCONE);
}

void BlasBackend::solve(bool left, bool transpose, const ConstMatrixRef& L, MatrixRef B) const {
  const int m = blas_int(B.rows()), n = blas_int(B.cols());
  const int ldl = leading_dimension(L), ldb = leading_dimension(B);
  const double one = 1.0;
  F77_CALL(dtrsm)
  (side(left), "L", op(transpose), "N", &m, &n, &one, L.data(), &ldl, B.data(), &ldb FCONE FCONE FCONE FCONE);
}

void BlasBackend::triangular_multiply(bool left, bool transpose, double alpha, const ConstMatrixRef& L,
                                      MatrixRef B) const {
  const int m = blas_int(B.rows()), n = blas_int(B.cols());
  const int ldl = leading_dimension(L), ldb = leading_dimension(B);
  F77_CALL(dtrmm)
  (side(left), "L", op(transpose), "N", &m, &n, &alpha, L.data(), &ldl, B.data(),
   &ldb FCONE FCONE FCONE FCONE);
}

bool BlasBackend::cholesky(MatrixRef A) const {
  const int n = blas_int(A.rows()), lda = leading_dimension(A);
  int info = 0;
  F77_CALL(dpotrf)("L", &n, A.data(), &lda, &info FCONE);
  return info == 0;
}

void BlasBackend::invert(MatrixRef L) const {
  const int n = blas_int(L.rows()), ldl = leading_dimension(L);
  int info = 0;
  F77_CALL(dtrtri)("L", "N", &n, L.data(), &ldl, &info FCONE FCONE);
  if (info != 0) throw std::domain_error("a triangular matrix with a zero on its diagonal has no inverse");
}

void BlasBackend::gram(MatrixRef L) const {
  const int n = blas_int(L.rows()), ldl = leading_dimension(L);
  int info = 0;
  F77_CALL(dlauum)("L", &n, L.data(), &ldl, &info FCONE);
}

}  // namespace galvi
