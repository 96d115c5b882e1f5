// The expectations of negative binomials with a predicted size or dispersion: functions of eta_1 - eta_2 and of eta_2.
#include <algorithm>
#include <cmath>

#include "expectation/plane_forms.h"
#include "expectation/quadrature.h"
#include "function/standard_function.h"
#include "quadrature/gaussian_rule.h"
#include "quadrature/shifted_means.h"

namespace galvi {
namespace {

// out[j] = E sp^(j)(x), x ~ N(mean, variance), with small absolute errors: sp(x) = -log sigmoid(-x).
void softplus_means(double mean, double variance, int order, double out[5]) {
  static const SampledMean sampled(log_sigmoid());
  PointExpectation e;
  sampled.evaluate(-1.0, mean, variance, order, e);
  const double f[] = {e.value, e.d_m, e.d_mm, 2.0 * e.d_mv, 4.0 * e.d_vv};
  for (int j = 0; j < 5; ++j) out[j] = -f[j];
}

// out[j] = E exp(eta_2) sp^(j)(eta_1 - eta_2) = factor E sp^(j)(delta), factor = exp(m_2 + v_2 / 2), delta ~ N(low,
// v_1 + v_2), low = m_1 - m_2 - v_2. A large factor needs relative accuracy: left of 0 sp is exp(delta), which moves
// the Gaussian's mean to low + v_1 + v_2, and a sum of positive terms is taken around where the product peaks.
void tilted_means(const double* mean, const double* variance, int order, double out[5]) {
  constexpr double few = 100.0, width = 2.6, reach = 7.5;
  const double spread = variance[0] + variance[1], low = mean[0] - mean[1] - variance[1];
  const double log_factor = mean[1] + 0.5 * variance[1];
  if (log_factor < std::log(few)) {
    softplus_means(low, spread, order, out);
    for (int j = 0; j < 5; ++j) out[j] *= std::exp(log_factor);
    return;
  }
  const double centre = std::clamp(0.0, low, low + spread), sd = std::sqrt(spread);
  const double step = spread > 0.0 ? trapezium_step(spread, width) : 1.0;
  const auto last = spread > 0.0 ? static_cast<Index>(std::ceil(reach * sd / step)) : Index{0};
  const double scale = spread > 0.0 ? step / (sd * std::sqrt(2.0 * pi)) : 1.0;
  std::fill(out, out + 5, 0.0);
  for (Index i = -last; i <= last; ++i) {
    const double delta = centre + static_cast<double>(i) * step, distance = delta - low;
    const double gauss = spread > 0.0 ? 0.5 * distance * distance / spread : 0.0;
    const double weight = scale * std::exp(log_factor - gauss + std::min(delta, 0.0));
    // sp and its derivatives, over exp(delta) left of 0
    const double e = std::exp(-std::fabs(delta)), near = 1.0 / (1.0 + e), far = e * near;
    const double sigma = delta > 0.0 ? near : far;
    const double bend = near * near * (delta > 0.0 ? e : 1.0);
    out[0] += weight * (delta > 0.0 ? delta + std::log1p(e) : e > 0.0 ? std::log1p(e) / e : 1.0);
    out[1] += weight * near;
    out[2] += weight * bend;
    out[3] += weight * bend * (1.0 - 2.0 * sigma);
    out[4] += weight * bend * (1.0 - 6.0 * near * far);
  }
}

constexpr double choose[5][5] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}};

}  // namespace

MeanDerivatives expect(const MeanOverSize& form, const double* mean, const double* variance, int order) {
  const int last = order > 1 ? 4 : 2;
  double size[5], tilted[5], alone[5] = {};
  tilted_means(mean, variance, order, tilted);
  MeanDerivatives out;
  if (form.count > 0.0) {
    ShiftedMeans means;
    means.place(variance[1], mean[1], mean[1], order, form.alone);
    means.means(mean[1], alone);
    softplus_means(mean[1] - mean[0], variance[0] + variance[1], order, size);
    for (int p = 0; p <= last; ++p)
      for (int q = 0; p + q <= last; ++q) out.f[p][q] -= (p % 2 == 0 ? 1.0 : -1.0) * form.count * size[p + q];
  }
  for (int p = 0; p <= last; ++p)
    for (int q = 0; p + q <= last; ++q)
      for (int k = 0; k <= q; ++k) out.f[p][q] -= (k % 2 == 0 ? 1.0 : -1.0) * choose[q][k] * tilted[p + k];
  for (int q = 0; q <= last; ++q) out.f[0][q] += alone[q];
  out.f[0][0] += form.constant;
  return out;
}

// h(x) = exp(-x) sp(x) is of the form above: exp(u_2) sp(u_1 - u_2) at u_1 = 0, u_2 = -x.
MeanDerivatives expect(const MeanOverDispersion& form, const double* mean, const double* variance, int order) {
  const int last = order > 1 ? 4 : 2;
  const double turned_mean[] = {0.0, -mean[1]}, turned_variance[] = {0.0, variance[1]};
  double tilted[5];
  tilted_means(turned_mean, turned_variance, order, tilted);
  const double rate = std::exp(mean[0] + 0.5 * variance[0]);
  MeanDerivatives out;
  for (int q = 0; q <= last; ++q) {
    double h = 0.0;
    for (int k = 0; k <= q; ++k) h += ((q - k) % 2 == 0 ? 1.0 : -1.0) * choose[q][k] * tilted[k];
    for (int p = 0; p + q <= last; ++p) out.f[p][q] -= rate * h;
  }
  if (form.count > 0.0) {
    double both[5], sigmoid[5];
    ShiftedMeans means;
    const double at = mean[0] - mean[1];
    means.place(variance[0] + variance[1], at, at, order, form.both);
    means.means(at, both);
    softplus_means(-mean[1], variance[1], order, sigmoid);
    for (int q = 0; q <= last; ++q) {
      const double sign = q % 2 == 0 ? 1.0 : -1.0;
      out.f[0][q] -= form.count * sign * sigmoid[q];
      for (int p = 0; p + q <= last; ++p) out.f[p][q] += sign * both[p + q];
    }
  }
  out.f[0][0] += form.constant;
  return out;
}

}  // namespace galvi
