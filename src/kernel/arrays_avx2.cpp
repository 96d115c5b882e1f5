#include "kernel/arrays_avx2.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "numeric/avx2.h"

namespace galvi {

#ifdef GALVI_HAS_AVX2_CODE

namespace {

#define GALVI_AVX2 __attribute__((target("avx2,fma")))

GALVI_AVX2 inline __m256d all(double x) { return _mm256_set1_pd(x); }

// exp(-t) = 2^k exp(r), |r| <= log(2) / 2, and for exp(r) the rational function of S. L. Moshier's Cephes
// library: 1 + 2 p / (q - p), p = r P(r^2), q = Q(r^2); off by less than two units in the last place.
GALVI_AVX2 inline __m256d exp_minus(__m256d t) {
  // min and max return their second argument if there is a NaN.
  const __m256d x = _mm256_sub_pd(_mm256_setzero_pd(), _mm256_min_pd(all(700.0), t));
  const __m256d k = _mm256_round_pd(_mm256_mul_pd(x, all(1.4426950408889634074)),
                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // log(2) in two parts, the first exact when multiplied by k
  __m256d r = _mm256_fnmadd_pd(k, all(6.93145751953125e-1), x);
  r = _mm256_fnmadd_pd(k, all(1.42860682030941723212e-6), r);
  const __m256d r2 = _mm256_mul_pd(r, r);
  __m256d p = _mm256_fmadd_pd(all(1.26177193074810590878e-4), r2, all(3.02994407707441961300e-2));
  p = _mm256_mul_pd(r, _mm256_fmadd_pd(p, r2, all(9.99999999999999999910e-1)));
  __m256d q = _mm256_fmadd_pd(all(3.00198505138664455042e-6), r2, all(2.52448340349684104192e-3));
  q = _mm256_fmadd_pd(q, r2, all(2.27265548208155028766e-1));
  q = _mm256_fmadd_pd(q, r2, all(2.0));
  const __m256d exp_r = _mm256_fmadd_pd(all(2.0), _mm256_div_pd(p, _mm256_sub_pd(q, p)), all(1.0));
  // 2^k by its bits: k >= -1010, so the exponent 1023 + k is positive
  const __m256i exponent =
      _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(k)), _mm256_set1_epi64x(1023));
  const __m256d power = _mm256_castsi256_pd(_mm256_slli_epi64(exponent, 52));
  return _mm256_max_pd(_mm256_setzero_pd(), _mm256_fmsub_pd(exp_r, power, all(1e-300)));
}

constexpr Index panel_rows = 8;

// s0, s1 += the squares of what eight rows differ from one number.
GALVI_AVX2 inline void add_squares(__m256d x0, __m256d x1, const double* z, __m256d& s0, __m256d& s1) {
  const __m256d all_z = _mm256_broadcast_sd(z), d0 = _mm256_sub_pd(x0, all_z), d1 = _mm256_sub_pd(x1, all_z);
  s0 = _mm256_fmadd_pd(d0, d0, s0);
  s1 = _mm256_fmadd_pd(d1, d1, s1);
}

// Squared distances of the panel's rows to `points` columns of Z, one or four.   out: eight numbers a point
template <int points>
GALVI_AVX2 inline void distances(Index columns, const double* panel, const double* Z, double* out) {
  __m256d s0 = _mm256_setzero_pd(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (Index d = 0; d < columns; ++d, panel += panel_rows, ++Z) {
    const __m256d x0 = _mm256_loadu_pd(panel), x1 = _mm256_loadu_pd(panel + 4);
    add_squares(x0, x1, Z, s0, s1);
    if (points == 1) continue;
    add_squares(x0, x1, Z + columns, s2, s3);
    add_squares(x0, x1, Z + 2 * columns, s4, s5);
    add_squares(x0, x1, Z + 3 * columns, s6, s7);
  }
  _mm256_storeu_pd(out, s0);
  _mm256_storeu_pd(out + 4, s1);
  if (points == 1) return;
  _mm256_storeu_pd(out + 8, s2);
  _mm256_storeu_pd(out + 12, s3);
  _mm256_storeu_pd(out + 16, s4);
  _mm256_storeu_pd(out + 20, s5);
  _mm256_storeu_pd(out + 24, s6);
  _mm256_storeu_pd(out + 28, s7);
}

}  // namespace

GALVI_AVX2 void exp_minus_avx2(Index n, double* t) {
  Index i = 0;
  for (; i + 4 <= n; i += 4) _mm256_storeu_pd(t + i, exp_minus(_mm256_loadu_pd(t + i)));
  if (i == n) return;
  double rest[4] = {0, 0, 0, 0};
  std::copy(t + i, t + n, rest);
  _mm256_storeu_pd(rest, exp_minus(_mm256_loadu_pd(rest)));
  std::copy(rest, rest + (n - i), t + i);
}

// Eight rows at a time are put side by side, where reading them for every point is fast whatever their distance in X.
void squared_distances_avx2(Index rows, Index columns, Index points, const double* X, const double* Z, double* out,
                            Index stride) {
  std::vector<double> panel(static_cast<std::size_t>(panel_rows * columns), 0.0);
  double here[4 * panel_rows];
  for (Index i = 0; i < rows; i += panel_rows) {
    const Index count = std::min(panel_rows, rows - i);
    for (Index d = 0; d < columns; ++d) std::copy_n(X + d * rows + i, count, panel.begin() + d * panel_rows);
    for (Index j = 0; j < points;) {
      const Index number = points - j < 4 ? 1 : 4;
      if (number == 4)
        distances<4>(columns, panel.data(), Z + j * columns, here);
      else
        distances<1>(columns, panel.data(), Z + j * columns, here);
      for (Index k = 0; k < number; ++k, ++j) std::copy_n(here + k * panel_rows, count, out + j * stride + i);
    }
  }
}

#undef GALVI_AVX2

#else

void exp_minus_avx2(Index, double*) { throw std::logic_error("built without AVX2 code"); }

void squared_distances_avx2(Index, Index, Index, const double*, const double*, double*, Index) {
  throw std::logic_error("built without AVX2 code");
}

#endif

}  // namespace galvi
