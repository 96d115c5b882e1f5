#include "function/normal.h"

#include <cmath>
#include <limits>

namespace galvi {
namespace {

constexpr double sqrt_half = 0.70710678118654752440;
// Left of -tail_start the continued fraction below has converged to rounding after 12 + (40 / x)^2 terms.
constexpr double tail_start = 6.0;
int tail_terms(double t) { return 12 + static_cast<int>(1600.0 / (t * t)); }

// phi(-t) / Phi(-t) = t + d,  d = 1 / (t + e),  e = 2 / (t + 3 / (t + 4 / (t + ...))), t > 0;
// `gap` = 2 d - e.
struct Hazard {
  double d, e, gap;
};
Hazard hazard_excess(double t) {
  double fourth = 0.0;  // 4 / (t + 5 / (t + ...))
  for (int k = tail_terms(t); k >= 4; --k) fourth = k / (t + fourth);
  const double third = 3.0 / (t + fourth), e = 2.0 / (t + third), d = 1.0 / (t + e);
  // 2 d - e = 2 (third - e) / ((t + e) (t + third)), and so on inwards: no difference of nearly equal terms
  const double gap = d * e * (t + 3.0 * third - 2.0 * fourth) / ((t + fourth) * (t + third));
  return {d, e, gap};
}

}  // namespace

double normal_density(double x) { return std::exp(-0.5 * x * x - log_sqrt_2pi); }

double normal_cdf(double x) { return 0.5 * std::erfc(-x * sqrt_half); }

double log_normal_cdf(double x) {
  if (x > 0.0) return std::log1p(-0.5 * std::erfc(x * sqrt_half));
  if (!(x <= -tail_start)) return std::log(0.5 * std::erfc(-x * sqrt_half));
  // Phi(-t) = phi(t) / (t + d)
  return -0.5 * x * x - log_sqrt_2pi - std::log(-x + hazard_excess(-x).d);
}

double log_mills_ratio(double t) {
  if (!(t >= tail_start)) return std::log(0.5 * std::erfc(t * sqrt_half)) + 0.5 * t * t + log_sqrt_2pi;
  return -std::log(t + hazard_excess(t).d);
}

void log_normal_cdf_derivatives(double x, double out[5]) {
  // With r = phi / Phi, d = r + x:  f' = r,  f'' = -r d,  d' = 1 - r d,
  // f''' = r (d^2 - d'),  f'''' = r (3 d d' - d^3 - f''').
  out[0] = log_normal_cdf(x);
  if (!(x <= -tail_start)) {
    const double r = std::exp(-0.5 * x * x - log_sqrt_2pi - out[0]);
    if (r == 0.0) {
      out[1] = out[2] = out[3] = out[4] = 0.0;
      return;
    }
    const double d = r + x, slope = 1.0 - r * d;
    out[1] = r;
    out[2] = -r * d;
    out[3] = r * (d * d - slope);
    out[4] = r * (3.0 * d * slope - d * d * d - out[3]);
    return;
  }
  // d -> 1 / t: the differences are taken by hand, 1 - r d = d (e - d) and d^2 - d' = d (2 d - e).
  const Hazard hazard = hazard_excess(-x);
  const double d = hazard.d, r = d - x;
  out[1] = r;
  out[2] = -r * d;
  out[3] = r * d * hazard.gap;
  out[4] = r * d * (2.0 * d * d - 4.0 * d * hazard.gap + x * hazard.gap);
}

double normal_quantile(double probability) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!(probability >= 0.0 && probability <= 1.0)) return std::numeric_limits<double>::quiet_NaN();
  if (probability > 0.5) return -normal_quantile(1.0 - probability);
  if (probability == 0.0) return -infinity;
  // Newton's method on log Phi(x) = log p: concave and increasing, so from the left it climbs to the root.
  const double target = std::log(probability);
  double x = -std::sqrt(-2.0 * target);
  for (int i = 0; i < 100; ++i) {
    double f[5];
    log_normal_cdf_derivatives(x, f);
    const double step = (target - f[0]) / f[1];
    x += step;
    if (std::fabs(step) <= 1e-15 * (1.0 + std::fabs(x))) break;
  }
  return x;
}

}  // namespace galvi
