#include "function/elementwise_avx2.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "numeric/avx2.h"

namespace galvi {
namespace avx2 {

#ifdef GALVI_HAS_AVX2_CODE

namespace {

#define GALVI_AVX2 __attribute__((target("avx2,fma")))
#define GALVI_INLINE GALVI_AVX2 __attribute__((always_inline)) inline

GALVI_INLINE __m256d all(double x) { return _mm256_set1_pd(x); }
GALVI_INLINE __m256d magnitude(__m256d x) { return _mm256_andnot_pd(all(-0.0), x); }
GALVI_INLINE __m256d minus(__m256d x) { return _mm256_xor_pd(all(-0.0), x); }
GALVI_INLINE __m256d choose(__m256d when, __m256d yes, __m256d no) { return _mm256_blendv_pd(no, yes, when); }
GALVI_INLINE __m256d less(__m256d a, __m256d b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
GALVI_INLINE bool none(__m256d mask) { return _mm256_movemask_pd(mask) == 0; }
GALVI_INLINE bool every(__m256d mask) { return _mm256_movemask_pd(mask) == 15; }

// c_0 + c_1 x + c_2 x^2 + ...
GALVI_INLINE __m256d polynomial(__m256d /*x*/, double c) { return all(c); }
template <class... Rest>
GALVI_INLINE __m256d polynomial(__m256d x, double c, Rest... rest) {
  return _mm256_fmadd_pd(x, polynomial(x, rest...), all(c));
}

// 2^k, -1022 <= k <= 1023
GALVI_INLINE __m256d power_of_two(__m128i k) {
  return _mm256_castsi256_pd(
      _mm256_slli_epi64(_mm256_add_epi64(_mm256_cvtepi32_epi64(k), _mm256_set1_epi64x(1023)), 52));
}

// exp(x) = 2^k exp(r), |r| <= log(2) / 2, and for exp(r) the rational function of S. L. Moshier's Cephes library:
// 1 + 2 p / (q - p), p = r P(r^2), q = Q(r^2); off by less than two units in the last place.
GALVI_INLINE __m256d exponential(__m256d x) {
  // min and max return their second argument if there is a NaN.
  x = _mm256_min_pd(all(710.0), _mm256_max_pd(all(-746.0), x));
  const __m256d k = _mm256_round_pd(_mm256_mul_pd(x, all(1.4426950408889634074)),
                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // log(2) in two parts, the first exact when multiplied by k
  __m256d r = _mm256_fnmadd_pd(k, all(6.93145751953125e-1), x);
  r = _mm256_fnmadd_pd(k, all(1.42860682030941723212e-6), r);
  const __m256d r2 = _mm256_mul_pd(r, r);
  const __m256d p = _mm256_mul_pd(r, polynomial(r2, 9.99999999999999999910e-1, 3.02994407707441961300e-2,
                                                1.26177193074810590878e-4));
  const __m256d q = polynomial(r2, 2.0, 2.27265548208155028766e-1, 2.52448340349684104192e-3,
                               3.00198505138664455042e-6);
  const __m256d exp_r = _mm256_fmadd_pd(all(2.0), _mm256_div_pd(p, _mm256_sub_pd(q, p)), all(1.0));
  // 2^k in two factors, as it may overflow or be denormal
  const __m128i whole = _mm256_cvtpd_epi32(k), half = _mm_srai_epi32(whole, 1);
  return _mm256_mul_pd(_mm256_mul_pd(exp_r, power_of_two(half)), power_of_two(_mm_sub_epi32(whole, half)));
}

// log(x) + more / x for positive normal x and a `more` that is tiny beside x: the logarithm of x = 2^k m,
// sqrt(1/2) < m < sqrt(2), of Sun's fdlibm, off by less than one unit in the last place.
GALVI_INLINE __m256d logarithm(__m256d x, __m256d more) {
  const __m256i root_half = _mm256_set1_epi64x(0x3fe6a09e00000000), one = _mm256_set1_epi64x(0x3ff0000000000000);
  const __m256i bits = _mm256_add_epi64(_mm256_castpd_si256(x), _mm256_sub_epi64(one, root_half));
  // an integer below 2^52 is a double by its bits
  const __m256i magic = _mm256_set1_epi64x(0x4330000000000000);
  const __m256d k = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(_mm256_srli_epi64(bits, 52), magic)),
                                  all(4503599627370496.0 + 1023.0));
  const __m256d m = _mm256_castsi256_pd(
      _mm256_add_epi64(_mm256_and_si256(bits, _mm256_set1_epi64x(0x000fffffffffffff)), root_half));
  const __m256d f = _mm256_sub_pd(m, all(1.0)), s = _mm256_div_pd(f, _mm256_add_pd(f, all(2.0)));
  const __m256d z = _mm256_mul_pd(s, s), half_square = _mm256_mul_pd(_mm256_mul_pd(all(0.5), f), f);
  const __m256d R = _mm256_mul_pd(
      z, polynomial(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                    2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                    1.479819860511658591e-01));
  __m256d rest = _mm256_fmadd_pd(k, all(1.90821492927058770002e-10), more);
  rest = _mm256_fmadd_pd(s, _mm256_add_pd(half_square, R), rest);
  return _mm256_fmadd_pd(k, all(6.93147180369123816490e-01), _mm256_sub_pd(f, _mm256_sub_pd(half_square, rest)));
}
GALVI_INLINE __m256d logarithm(__m256d x) { return logarithm(x, _mm256_setzero_pd()); }

// log(1 + t), -0.6 < t < 1e300: what rounding takes from t is added to the logarithm of the sum
GALVI_INLINE __m256d log_one_plus(__m256d t) {
  const __m256d sum = _mm256_add_pd(t, all(1.0)), lost = _mm256_sub_pd(t, _mm256_sub_pd(sum, all(1.0)));
  return logarithm(sum, _mm256_div_pd(choose(less(t, all(1e10)), lost, _mm256_setzero_pd()), sum));
}

GALVI_INLINE __m256d log1p_exp(__m256d x) { return log_one_plus(exponential(minus(magnitude(x)))); }

// log Phi(x). With t = 1 / (1 + |x| / (2.5 sqrt 2)) the function log Phi(-|x|) + x^2 / 2 - log t is smooth for
// 0 <= t <= 1; its polynomial in 2 t - 1, from Chebyshev's by quadruple precision, is off by less than 2e-15.
GALVI_INLINE __m256d log_phi_of(__m256d x) {
  const __m256d u = _mm256_min_pd(all(1e200), magnitude(x));
  const __m256d t = _mm256_div_pd(all(1.0), _mm256_fmadd_pd(u, all(0.28284271247461900976), all(1.0)));
  const __m256d w = _mm256_fmsub_pd(all(2.0), t, all(1.0));
  const __m256d smooth = polynomial(
      w, -1.5568152727272644, 0.763403754931956, 0.1392529069645442, -0.017983809878089705, -0.023787984321988608,
      -0.0019463315849184383, 0.004720977021531552, 0.0011575351462859733, -0.0010479622955922587,
      -0.00039519644379403023, 0.0002545209631229283, 0.00011729445974107673, -6.6313809739405248e-05,
      -3.1816065521738712e-05, 1.7919019263733518e-05, 7.842195966581489e-06, -4.7715219019179132e-06,
      -1.7076522018343623e-06, 1.1718098922191139e-06, 3.1188650128438224e-07, -2.4298869393375668e-07,
      -4.2925121670514793e-08, 3.6933782124873894e-08, 3.3286241462337186e-09, -3.0063291762271916e-09);
  const __m256d left = _mm256_fnmadd_pd(_mm256_mul_pd(all(0.5), u), u, _mm256_add_pd(smooth, logarithm(t)));
  const __m256d positive = less(_mm256_setzero_pd(), x);
  if (none(positive)) return left;
  return choose(positive, log_one_plus(minus(exponential(left))), left);
}

// The sum of Stirling's series, from x = 8 on: the next term is below 1e-17.
GALVI_INLINE __m256d stirling_series(__m256d x) {
  const __m256d r = _mm256_div_pd(all(1.0), x);
  return _mm256_mul_pd(r, polynomial(_mm256_mul_pd(r, r), 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188,
                                     -691.0 / 360360, 1.0 / 156, -3617.0 / 122400, 43867.0 / 244188));
}

// (x + 1) (x + 2) .. (x + count)
template <int count>
GALVI_INLINE __m256d factors(__m256d x) {
  __m256d product = _mm256_add_pd(x, all(1.0));
  for (int k = 2; k <= count; ++k) product = _mm256_mul_pd(product, _mm256_add_pd(x, all(k)));
  return product;
}

GALVI_INLINE __m256d log_rising(__m256d y, __m256d log_a) {
  constexpr int few = 16;
  constexpr double large = 1e15;
  // not clamped, as exponential() does, where it overflows
  const __m256d a = choose(less(log_a, all(709.0)), exponential(log_a), all(std::numeric_limits<double>::infinity()));
  const __m256d one = all(1.0), zero = _mm256_setzero_pd();
  const __m256d by_product = _mm256_and_pd(_mm256_cmp_pd(y, all(few), _CMP_LE_OQ), less(a, all(large)));
  // a (a + 1) .. (a + y - 1)
  __m256d product = one;
  __m256d k = one;
  for (__m256d here = _mm256_and_pd(by_product, less(k, y)); !none(here); here = _mm256_and_pd(by_product, less(k, y))) {
    product = _mm256_mul_pd(product, choose(here, _mm256_add_pd(a, k), one));
    k = _mm256_add_pd(k, one);
  }
  __m256d head = _mm256_and_pd(less(zero, y), log_a);
  if (every(by_product)) return _mm256_add_pd(head, logarithm(product));
  // From A >= 16 on by Stirling's formula:
  // (A - 1/2) log(1 + Y / A) + Y (log(A + Y) - 1) + series(A + Y) - series(A),  A + Y = a + y
  const __m256d small = less(a, all(few));
  const __m256d A = choose(small, _mm256_add_pd(a, all(few)), a);
  const __m256d Y = choose(small, _mm256_sub_pd(y, all(few)), y);
  product = choose(_mm256_andnot_pd(by_product, small), factors<few - 1>(a), product);
  head = choose(_mm256_or_pd(by_product, small), _mm256_add_pd(head, logarithm(product)), zero);
  const __m256d end = _mm256_add_pd(A, Y);
  __m256d rest = _mm256_mul_pd(_mm256_sub_pd(A, all(0.5)), log_one_plus(_mm256_div_pd(Y, A)));
  rest = _mm256_fmadd_pd(Y, _mm256_sub_pd(logarithm(end), one), rest);
  rest = _mm256_add_pd(rest, _mm256_sub_pd(stirling_series(end), stirling_series(A)));
  return choose(by_product, head, _mm256_add_pd(head, rest));
}

// By eight steps of log Gamma(x) = log Gamma(x + 1) - log x where x < 8.
GALVI_INLINE __m256d stirling_error(__m256d log_x) {
  constexpr int steps = 8;
  const __m256d x =
      choose(less(log_x, all(709.0)), exponential(log_x), all(std::numeric_limits<double>::quiet_NaN()));
  const __m256d small = less(x, all(steps));
  const __m256d z = choose(small, _mm256_add_pd(x, all(steps)), x), series = stirling_series(z);
  if (none(small)) return series;
  // (z - 1/2) log z - z - log(x (x + 1) .. (x + 7)) - (x - 1/2) log x + x
  __m256d shift = _mm256_fmsub_pd(_mm256_sub_pd(z, all(0.5)), logarithm(z), all(steps));
  shift = _mm256_sub_pd(shift, logarithm(factors<steps - 1>(x)));
  shift = _mm256_fnmadd_pd(_mm256_add_pd(x, all(0.5)), log_x, shift);
  return _mm256_add_pd(series, _mm256_and_pd(small, shift));
}

GALVI_INLINE __m256d log_of_any(__m256d x) {
  const __m256d usual = _mm256_and_pd(_mm256_cmp_pd(x, all(std::numeric_limits<double>::min()), _CMP_GE_OQ),
                                      less(x, all(std::numeric_limits<double>::infinity())));
  if (every(usual)) return logarithm(x);
  double own[4];
  _mm256_storeu_pd(own, x);
  for (double& value : own) value = std::log(value);
  return choose(usual, logarithm(x), _mm256_loadu_pd(own));
}

GALVI_INLINE __m256d log1p_of_any(__m256d x) {
  const __m256d usual = _mm256_and_pd(_mm256_cmp_pd(x, all(-0.5), _CMP_GE_OQ), less(x, all(1e300)));
  if (every(usual)) return log_one_plus(x);
  double own[4];
  _mm256_storeu_pd(own, x);
  for (double& value : own) value = std::log1p(value);
  return choose(usual, log_one_plus(x), _mm256_loadu_pd(own));
}

// Writes a function of four elements at a time; the last ones are padded by copies of the last.
#define GALVI_IN_FOURS(function, n, x, out)                                                    \
  Index i = 0;                                                                                 \
  for (; i + 4 <= n; i += 4) _mm256_storeu_pd(out + i, function(_mm256_loadu_pd(x + i)));      \
  if (i == n) return;                                                                          \
  double rest[4];                                                                              \
  for (Index j = 0; j < 4; ++j) rest[j] = x[std::min(i + j, n - 1)];                           \
  _mm256_storeu_pd(rest, function(_mm256_loadu_pd(rest)));                                     \
  std::copy(rest, rest + (n - i), out + i);

}  // namespace

GALVI_AVX2 void exp_each(Index n, double* x) { GALVI_IN_FOURS(exponential, n, x, x) }
GALVI_AVX2 void log_each(Index n, double* x) { GALVI_IN_FOURS(log_of_any, n, x, x) }
GALVI_AVX2 void log1p_each(Index n, double* x) { GALVI_IN_FOURS(log1p_of_any, n, x, x) }
GALVI_AVX2 void log1p_exp_each(Index n, double* x) { GALVI_IN_FOURS(log1p_exp, n, x, x) }
GALVI_AVX2 void log_normal_cdf_each(Index n, double* x) { GALVI_IN_FOURS(log_phi_of, n, x, x) }
GALVI_AVX2 void stirling_error_each(Index n, const double* log_x, double* out) {
  GALVI_IN_FOURS(stirling_error, n, log_x, out)
}

GALVI_AVX2 void log_rising_each(Index n, const double* y, const double* log_a, double* out) {
  Index i = 0;
  for (; i + 4 <= n; i += 4)
    _mm256_storeu_pd(out + i, log_rising(_mm256_loadu_pd(y + i), _mm256_loadu_pd(log_a + i)));
  if (i == n) return;
  double rest_y[4], rest[4];
  for (Index j = 0; j < 4; ++j) {
    rest_y[j] = y[std::min(i + j, n - 1)];
    rest[j] = log_a[std::min(i + j, n - 1)];
  }
  _mm256_storeu_pd(rest, log_rising(_mm256_loadu_pd(rest_y), _mm256_loadu_pd(rest)));
  std::copy(rest, rest + (n - i), out + i);
}

#undef GALVI_IN_FOURS
#undef GALVI_INLINE
#undef GALVI_AVX2

#else

void exp_each(Index, double*) { throw std::logic_error("built without AVX2 code"); }
void log_each(Index, double*) { throw std::logic_error("built without AVX2 code"); }
void log1p_each(Index, double*) { throw std::logic_error("built without AVX2 code"); }
void log1p_exp_each(Index, double*) { throw std::logic_error("built without AVX2 code"); }
void log_normal_cdf_each(Index, double*) { throw std::logic_error("built without AVX2 code"); }
void log_rising_each(Index, const double*, const double*, double*) {
  throw std::logic_error("built without AVX2 code");
}
void stirling_error_each(Index, const double*, double*) { throw std::logic_error("built without AVX2 code"); }

#endif

}  // namespace avx2
}  // namespace galvi
