#include "numeric/product_avx2.h"

#include <algorithm>
#include <stdexcept>

#include "numeric/avx2.h"

namespace galvi {

#ifdef GALVI_HAS_AVX2_CODE

namespace {

// The usual scheme (Goto and van de Geijn, ACM TOMS 34, 2008): a tile of C stays in registers while a panel
// of A (second-level cache) and a sliver of B (first level) stream past it, both copied in the order of their
// use.
constexpr Index kRows = 12, kCols = 4;  // the tile: 3 x 4 registers of 4 doubles, and 4 more for A and B
constexpr Index kDepth = 256, kPanelRows = 8 * kRows, kPanelCols = 1024;

// Packs `count` vectors of length `depth` into groups of `width`, element by element side by side; what is
// missing from the last group is zero. Vector v's element p is X[v * stride + p * step].
template <Index width>
void pack(Index count, Index depth, const double* X, Index stride, Index step, double* packed) {
  for (Index from = 0; from < count; from += width) {
    const Index size = std::min(width, count - from);
    const double* x = X + from * stride;
    if (size == width) {
      for (Index p = 0; p < depth; ++p, packed += width) {
        for (Index v = 0; v < width; ++v) packed[v] = x[v * stride + p * step];
      }
    } else {
      for (Index p = 0; p < depth; ++p, packed += width) {
        for (Index v = 0; v < width; ++v) packed[v] = v < size ? x[v * stride + p * step] : 0.0;
      }
    }
  }
}

// c <- c + alpha sum, one column of a tile.
__attribute__((target("avx2,fma"))) inline void add_column(__m256d alpha, __m256d sum0, __m256d sum1,
                                                           __m256d sum2, double* c) {
  _mm256_storeu_pd(c, _mm256_fmadd_pd(alpha, sum0, _mm256_loadu_pd(c)));
  _mm256_storeu_pd(c + 4, _mm256_fmadd_pd(alpha, sum1, _mm256_loadu_pd(c + 4)));
  _mm256_storeu_pd(c + 8, _mm256_fmadd_pd(alpha, sum2, _mm256_loadu_pd(c + 8)));
}

// C (kRows x kCols) <- C + alpha a b' over `depth` packed pairs. The twelve sums have names because compilers
// keep an array of them in memory at -O2.
__attribute__((target("avx2,fma"))) void add_tile(Index depth, double alpha, const double* a, const double* b,
                                                  double* C, Index ldc) {
  __m256d c00 = _mm256_setzero_pd(), c10 = c00, c20 = c00, c01 = c00, c11 = c00, c21 = c00;
  __m256d c02 = c00, c12 = c00, c22 = c00, c03 = c00, c13 = c00, c23 = c00;
  for (Index p = 0; p < depth; ++p, a += kRows, b += kCols) {
    const __m256d a0 = _mm256_loadu_pd(a), a1 = _mm256_loadu_pd(a + 4), a2 = _mm256_loadu_pd(a + 8);
    __m256d bj = _mm256_broadcast_sd(b);
    c00 = _mm256_fmadd_pd(a0, bj, c00);
    c10 = _mm256_fmadd_pd(a1, bj, c10);
    c20 = _mm256_fmadd_pd(a2, bj, c20);
    bj = _mm256_broadcast_sd(b + 1);
    c01 = _mm256_fmadd_pd(a0, bj, c01);
    c11 = _mm256_fmadd_pd(a1, bj, c11);
    c21 = _mm256_fmadd_pd(a2, bj, c21);
    bj = _mm256_broadcast_sd(b + 2);
    c02 = _mm256_fmadd_pd(a0, bj, c02);
    c12 = _mm256_fmadd_pd(a1, bj, c12);
    c22 = _mm256_fmadd_pd(a2, bj, c22);
    bj = _mm256_broadcast_sd(b + 3);
    c03 = _mm256_fmadd_pd(a0, bj, c03);
    c13 = _mm256_fmadd_pd(a1, bj, c13);
    c23 = _mm256_fmadd_pd(a2, bj, c23);
  }
  const __m256d factor = _mm256_set1_pd(alpha);
  add_column(factor, c00, c10, c20, C);
  add_column(factor, c01, c11, c21, C + ldc);
  add_column(factor, c02, c12, c22, C + 2 * ldc);
  add_column(factor, c03, c13, c23, C + 3 * ldc);
}

// C (rows x cols) <- C + alpha times the product of a packed panel of A and one of B.
void add_panels(Index rows, Index cols, Index depth, double alpha, const double* a, const double* b,
                double* C, Index ldc) {
  for (Index j = 0; j < cols; j += kCols) {
    for (Index i = 0; i < rows; i += kRows) {
      const double *tile_a = a + i * depth, *tile_b = b + j * depth;
      double* c = C + i + j * ldc;
      const Index m = std::min(kRows, rows - i), n = std::min(kCols, cols - j);
      if (m == kRows && n == kCols) {
        add_tile(depth, alpha, tile_a, tile_b, c, ldc);
      } else {
        Eigen::Matrix<double, kRows, kCols> edge = Eigen::Matrix<double, kRows, kCols>::Zero();
        add_tile(depth, alpha, tile_a, tile_b, edge.data(), kRows);
        for (Index v = 0; v < n; ++v) {
          for (Index u = 0; u < m; ++u) c[u + v * ldc] += edge(u, v);
        }
      }
    }
  }
}

Index round_up(Index size, Index multiple) { return (size + multiple - 1) / multiple * multiple; }

}  // namespace

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

void add_product_avx2(bool transpose_a, bool transpose_b, double alpha, const ConstMatrixRef& A,
                      const ConstMatrixRef& B, MatrixRef C) {
  const Index m = C.rows(), n = C.cols(), k = transpose_a ? A.rows() : A.cols();
  const Index lda = A.outerStride(), ldb = B.outerStride(), ldc = C.outerStride();
  // Steps between neighbouring rows of op(A), between neighbouring columns of op(B), and along the sum.
  const Index row_a = transpose_a ? lda : 1, sum_a = transpose_a ? 1 : lda;
  const Index col_b = transpose_b ? 1 : ldb, sum_b = transpose_b ? ldb : 1;
  Vector panel_a(round_up(std::min(m, kPanelRows), kRows) * std::min(k, kDepth));
  Vector panel_b(round_up(std::min(n, kPanelCols), kCols) * std::min(k, kDepth));
  for (Index j = 0; j < n; j += kPanelCols) {
    const Index cols = std::min(kPanelCols, n - j);
    for (Index p = 0; p < k; p += kDepth) {
      const Index depth = std::min(kDepth, k - p);
      pack<kCols>(cols, depth, B.data() + j * col_b + p * sum_b, col_b, sum_b, panel_b.data());
      for (Index i = 0; i < m; i += kPanelRows) {
        const Index rows = std::min(kPanelRows, m - i);
        pack<kRows>(rows, depth, A.data() + i * row_a + p * sum_a, row_a, sum_a, panel_a.data());
        add_panels(rows, cols, depth, alpha, panel_a.data(), panel_b.data(), C.data() + i + j * ldc, ldc);
      }
    }
  }
}

#else

bool has_avx2() { return false; }

void add_product_avx2(bool, bool, double, const ConstMatrixRef&, const ConstMatrixRef&, MatrixRef) {
  throw std::logic_error("this build of galvi has no AVX2 code");
}

#endif

}  // namespace galvi
