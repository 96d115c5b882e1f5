#include "quadrature/weighted_sums_avx2.h"

#include <stdexcept>

#include "numeric/avx2.h"

namespace galvi {
namespace avx2 {

#ifdef GALVI_HAS_AVX2_CODE

namespace {

#define GALVI_AVX2 __attribute__((target("avx2,fma")))

GALVI_AVX2 inline double sum_of(__m256d x) {
  const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
  return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
}

// Two sums of every array, as an addition waits for the one before it.
template <int Orders>
GALVI_AVX2 inline void sums(const double* weights, const double* const* arrays, Index size, double* out) {
  __m256d even[Orders], odd[Orders];
  for (int q = 0; q < Orders; ++q) even[q] = odd[q] = _mm256_setzero_pd();
  Index l = 0;
  for (; l + 8 <= size; l += 8) {
    const __m256d first = _mm256_loadu_pd(weights + l), second = _mm256_loadu_pd(weights + l + 4);
    for (int q = 0; q < Orders; ++q) {
      even[q] = _mm256_fmadd_pd(first, _mm256_loadu_pd(arrays[q] + l), even[q]);
      odd[q] = _mm256_fmadd_pd(second, _mm256_loadu_pd(arrays[q] + l + 4), odd[q]);
    }
  }
  if (l < size) {
    const __m256d first = _mm256_loadu_pd(weights + l);
    for (int q = 0; q < Orders; ++q)
      even[q] = _mm256_fmadd_pd(first, _mm256_loadu_pd(arrays[q] + l), even[q]);
  }
  for (int q = 0; q < Orders; ++q) out[q] = sum_of(_mm256_add_pd(even[q], odd[q]));
}

}  // namespace

GALVI_AVX2 void weighted_sums(const double* weights, const double* const* arrays, Index size, int orders,
                              double* out) {
  orders > 2 ? sums<3>(weights, arrays, size, out) : sums<2>(weights, arrays, size, out);
}

#undef GALVI_AVX2

#else

void weighted_sums(const double*, const double* const*, Index, int, double*) {
  throw std::logic_error("built without AVX2 code");
}

#endif

}  // namespace avx2
}  // namespace galvi
