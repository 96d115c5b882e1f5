#include "function/normal.h"

#include <cmath>
#include <limits>

#include "function/legendre.h"
#include "numeric/special_functions.h"

namespace galvi {
namespace {

constexpr double sqrt_half = 0.70710678118654752440;
// Left of -tail_start the continued fraction below has converged to rounding with this term: it needs the 28th at 6,
// the 18th at 10, the 12th at 20.
constexpr double tail_start = 6.0;
int tail_terms(double t) { return 8 + static_cast<int>(120.0 / t); }

// phi(-t) / Phi(-t) = t + d,  d = 1 / (t + e),  e = 2 / (t + 3 / (t + 4 / (t + ...))), t > 0;
// `gap` = 2 d - e.
struct Hazard {
  double d, e, gap;
};
Hazard hazard_excess(double t) {
  // k / (t + (k + 1) / (t + ...)) is k / t a_(k + 2) / a_(k + 1), a_k = a_(k + 1) + k / t^2 a_(k + 2): one
  // division, not one a term.
  const double square = 1.0 / (t * t);
  double a = 1.0, after = 1.0;  // a_k, a_(k + 1)
  for (int k = tail_terms(t); k >= 5; --k) {
    const double next = a + k * square * after;
    after = a;
    a = next;
  }
  const double fourth = 4.0 / t * (after / a);  // 4 / (t + 5 / (t + ...))
  const double third = 3.0 / (t + fourth), e = 2.0 / (t + third), d = 1.0 / (t + e);
  // 2 d - e = 2 (third - e) / ((t + e) (t + third)), and so on inwards: no difference of nearly equal terms
  const double gap = d * e * (t + 3.0 * third - 2.0 * fourth) / ((t + fourth) * (t + third));
  return {d, e, gap};
}

// log Phi(x) in the tail, where Phi(-t) = phi(t) / (t + d)
double log_tail(double x, double d) { return -0.5 * x * x - log_sqrt_2pi - std::log(d - x); }

// Of two polynomials in x, the constants first.
double ratio(double x, const double (&above)[8], const double (&below)[8]) {
  double numerator = above[7], denominator = below[7];
  for (int k = 6; k >= 0; --k) {
    numerator = above[k] + x * numerator;
    denominator = below[k] + x * denominator;
  }
  return numerator / denominator;
}

}  // namespace

double normal_density(double x) { return std::exp(-0.5 * x * x - log_sqrt_2pi); }

double normal_cdf(double x) { return 0.5 * std::erfc(-x * sqrt_half); }

double log_normal_cdf(double x) {
  if (x > 0.0) return std::log1p(-0.5 * std::erfc(x * sqrt_half));
  if (!(x <= -tail_start)) return std::log(0.5 * std::erfc(-x * sqrt_half));
  return log_tail(x, hazard_excess(-x).d);
}

double log_mills_ratio(double t) {
  if (!(t >= tail_start)) return std::log(0.5 * std::erfc(t * sqrt_half)) + 0.5 * t * t + log_sqrt_2pi;
  return -std::log(t + hazard_excess(t).d);
}

// exp(-r^2 / (2 sd^2)) Phi(-t) / phi(t) phi(0), t = rate sd - r / sd, where that does not cancel
double log_normal_exponential(double r, double sd, double rate) {
  const double ratio = rate * sd, z = r / sd, t = ratio - z;
  return t > 0.0 ? -0.5 * z * z - log_sqrt_2pi + log_mills_ratio(t)
                 : 0.5 * ratio * ratio - rate * r + log_normal_cdf(-t);
}

// With x = Y / X the probability is the integral of exp(-h^2 (1 + x^2) / 2) / (2 pi (1 + x^2)) from the slope on. Where
// that falls soon it is integrated until it has fallen by exp(-40); else the integral from 0 to the slope, or from 0 to
// 1 / slope of the wedge reflected at the diagonal, is subtracted from probabilities of about its own size.
double normal_wedge(double h, double slope) {
  static const LegendreRule rule(20);
  const auto over = [](double low, double high, double from, const auto& exponent) {
    double sum = 0.0;
    for (std::size_t j = 0; j < rule.node.size(); ++j) {
      const double x = low + (high - low) * rule.node[j];
      sum += rule.weight[j] * std::exp(exponent(x)) / (1.0 + (from + x) * (from + x));
    }
    return (high - low) * sum / (2.0 * pi);
  };
  const auto triangle = [&](double side, double top) {  // 0 < Y < top X, X > side
    return over(0.0, top, 0.0, [&](double x) { return -0.5 * side * side * (1.0 + x * x); });
  };
  const double k = h * slope;
  if (std::fmax(h, k) < 1.0) {
    if (slope <= 1.0) return 0.5 * normal_cdf(-h) - triangle(h, slope);
    // Phi(h) - 1/2 by its own error function, without cancellation
    return triangle(k, 1.0 / slope) - normal_cdf(-k) * 0.5 * std::erf(h * sqrt_half);
  }
  constexpr int panels = 4;
  constexpr double fall = 40.0;
  const double reach = 2.0 * fall / (h * h), length = reach / (slope + std::sqrt(slope * slope + reach));
  double sum = 0.0;
  for (int j = 0; j < panels; ++j)
    sum += over(j * length / panels, (j + 1) * length / panels, slope,
                [&](double x) { return -0.5 * h * h * x * (2.0 * slope + x); });
  return std::exp(-0.5 * (h * h + k * k)) * sum;
}

void log_normal_cdf_derivatives(double x, double out[5]) {
  // With r = phi / Phi, d = r + x:  f' = r,  f'' = -r d,  d' = 1 - r d,
  // f''' = r (d^2 - d'),  f'''' = r (3 d d' - d^3 - f''').
  if (!(x <= -tail_start)) {
    out[0] = log_normal_cdf(x);
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
  out[0] = log_tail(x, d);
  out[1] = r;
  out[2] = -r * d;
  out[3] = r * d * hazard.gap;
  out[4] = r * d * (2.0 * d * d - 4.0 * d * hazard.gap + x * hazard.gap);
}

// Rational functions of M. J. Wichura, Algorithm AS 241, Applied Statistics 37 (1988): to 16 digits.
double normal_quantile(double probability) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!(probability >= 0.0 && probability <= 1.0)) return std::numeric_limits<double>::quiet_NaN();
  const double q = probability - 0.5;
  if (std::fabs(q) <= 0.425)
    return q * ratio(0.180625 - q * q,
                     {3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
                      45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727},
                     {1.0, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867,
                      39307.89580009271061, 28729.085735721942674, 5226.495278852545925});
  const double tail = q < 0.0 ? probability : 1.0 - probability;
  if (tail == 0.0) return std::copysign(infinity, q);
  const double r = std::sqrt(-std::log(tail));
  const double size =
      r <= 5.0
          ? ratio(r - 1.6,
                  {1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504,
                   1.27045825245236838258, 0.24178072517745061177, 0.0227238449892691845833, 7.7454501427834140764e-4},
                  {1.0, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455, 0.14810397642748007459,
                   0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9})
          : ratio(r - 5.0,
                  {6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123,
                   0.026532189526576123093, 0.0012426609473880784386, 2.71155556874348757815e-5,
                   2.01033439929228813265e-7},
                  {1.0, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525,
                   7.868691311456132591e-4, 1.8463183175100546818e-5, 1.4215117583164458887e-7,
                   2.04426310338993978564e-15});
  return std::copysign(size, q);
}

}  // namespace galvi
