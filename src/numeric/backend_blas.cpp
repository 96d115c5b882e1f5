#include "numeric/backend_blas.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>

// Declared here because R's headers stay out of the core. gfortran passes the length of every character
// argument as a hidden std::size_t at the end.
extern "C" {
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc, std::size_t, std::size_t);
void dsyrk_(const char* uplo, const char* trans, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* beta, double* c, const int* ldc, std::size_t,
            std::size_t);
void dtrsm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,
            const int* n, const double* alpha, const double* a, const int* lda, double* b, const int* ldb,
            std::size_t, std::size_t, std::size_t, std::size_t);
void dtrmm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,
            const int* n, const double* alpha, const double* a, const int* lda, double* b, const int* ldb,
            std::size_t, std::size_t, std::size_t, std::size_t);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
void dtrtri_(const char* uplo, const char* diag, const int* n, double* a, const int* lda, int* info,
             std::size_t, std::size_t);
void dlauum_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
}

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
  dgemm_(op(transpose_a), op(transpose_b), &m, &n, &k, &alpha, A.data(), &lda, B.data(), &ldb, &beta,
         C.data(), &ldc, 1, 1);
}

void BlasBackend::rank_k(bool transpose, double alpha, const ConstMatrixRef& A, double beta,
                         MatrixRef C) const {
  const int n = blas_int(C.rows()), k = blas_int(transpose ? A.rows() : A.cols());
  const int lda = leading_dimension(A), ldc = leading_dimension(C);
  dsyrk_("L", op(transpose), &n, &k, &alpha, A.data(), &lda, &beta, C.data(), &ldc, 1, 1);
}

void BlasBackend::solve(bool left, bool transpose, const ConstMatrixRef& L, MatrixRef B) const {
  const int m = blas_int(B.rows()), n = blas_int(B.cols());
  const int ldl = leading_dimension(L), ldb = leading_dimension(B);
  const double one = 1.0;
  dtrsm_(side(left), "L", op(transpose), "N", &m, &n, &one, L.data(), &ldl, B.data(), &ldb, 1, 1, 1, 1);
}

void BlasBackend::triangular_multiply(bool left, bool transpose, double alpha, const ConstMatrixRef& L,
                                      MatrixRef B) const {
  const int m = blas_int(B.rows()), n = blas_int(B.cols());
  const int ldl = leading_dimension(L), ldb = leading_dimension(B);
  dtrmm_(side(left), "L", op(transpose), "N", &m, &n, &alpha, L.data(), &ldl, B.data(), &ldb, 1, 1, 1, 1);
}

bool BlasBackend::cholesky(MatrixRef A) const {
  const int n = blas_int(A.rows()), lda = leading_dimension(A);
  int info = 0;
  dpotrf_("L", &n, A.data(), &lda, &info, 1);
  return info == 0;
}

void BlasBackend::invert(MatrixRef L) const {
  const int n = blas_int(L.rows()), ldl = leading_dimension(L);
  int info = 0;
  dtrtri_("L", "N", &n, L.data(), &ldl, &info, 1, 1);
  if (info != 0) throw std::domain_error("a triangular matrix with a zero on its diagonal has no inverse");
}

void BlasBackend::gram(MatrixRef L) const {
  const int n = blas_int(L.rows()), ldl = leading_dimension(L);
  int info = 0;
  dlauum_("L", &n, L.data(), &ldl, &info, 1);
}

}  // namespace galvi
