#include "function/normal_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "function/elementwise.h"
#include "function/legendre.h"
#include "function/normal.h"

namespace galvi {
namespace {

constexpr double wide = 1.0;  // an interval that is wider, and no further out than this in either tail, ..
constexpr double interval_tail_start = 5.0;   // .. has Phi at both ends
constexpr double negligible = 40.0;  // exp(-40) of the density at the end nearer to 0
// Nodes that a density needs which falls by less than exp(-3), exp(-12), exp(-40).
constexpr double short_drop = 3.0, middle_drop = 12.0;

// The interval as seen from its end nearer to 0, at distance `near`: density exp(-near e - e^2 / 2), 0 < e <
// length.
struct Tail {
  double near, length;
  const LegendreRule* rule;

  Tail(double near, double width) : near(near) {
    // where near e + e^2 / 2 = negligible
    const double reach = 2.0 * negligible / (near + std::hypot(near, std::sqrt(2.0 * negligible)));
    length = std::min(width, reach);
    static const LegendreRule few(12), more(20), many(32);
    const double drop = (near + 0.5 * length) * length;
    rule = drop < short_drop ? &few : drop < middle_drop ? &more : &many;
  }
  double density(double e) const { return std::exp(-(near + 0.5 * e) * e); }
  double log_probability(double mass) const {
    return -0.5 * near * near - log_sqrt_2pi + std::log(length) + std::log(mass);
  }
};

double log_tail(const Tail& tail) {
  double mass = 0.0;
  for (std::size_t j = 0; j < tail.rule->node.size(); ++j)
    mass += tail.rule->weight[j] * tail.density(tail.length * tail.rule->node[j]);
  return tail.log_probability(mass);
}

// Moments of e, hence those of t = side (near + e).
void tail_derivatives(const Tail& tail, double side, double out[5]) {
  const std::vector<double>&node = tail.rule->node, &weight = tail.rule->weight;
  double share[32], mass = 0.0, first = 0.0;
  for (std::size_t j = 0; j < node.size(); ++j) {
    share[j] = weight[j] * tail.density(tail.length * node[j]);
    mass += share[j];
    first += share[j] * node[j];
  }
  const double centre = first / mass;
  double m2 = 0.0, m3 = 0.0, m4 = 0.0;  // central moments in units of the length
  for (std::size_t j = 0; j < node.size(); ++j) {
    const double d = node[j] - centre, d2 = d * d;
    m2 += share[j] * d2;
    m3 += share[j] * d2 * d;
    m4 += share[j] * d2 * d2;
  }
  m2 /= mass;
  m3 /= mass;
  m4 /= mass;
  const double l2 = tail.length * tail.length;
  out[0] = tail.log_probability(mass);
  out[1] = side * (tail.near + tail.length * centre);
  out[2] = l2 * m2 - 1.0;
  out[3] = side * l2 * tail.length * m3;
  out[4] = l2 * l2 * (m4 - 3.0 * m2 * m2);
}

double log_central(double low, double high) {
  if (low < 0.0 && high > 0.0) return std::log1p(-normal_cdf(low) - normal_cdf(-high));
  // from the tail that keeps the digits
  return std::log(low > 0.0 ? normal_cdf(-low) - normal_cdf(-high) : normal_cdf(high) - normal_cdf(low));
}

// With A = phi(low) / Z and B = phi(high) / Z, Z the probability: A' = A (low - l'), l' = A - B, and the rest
// by differentiating A - B.
void central_derivatives(double low, double high, double out[5]) {
  out[0] = log_central(low, high);
  const double A = std::exp(-0.5 * low * low - log_sqrt_2pi - out[0]);
  const double B = std::exp(-0.5 * high * high - log_sqrt_2pi - out[0]);
  out[1] = A - B;
  // A' = A u: A'' = A (u^2 + u'),  A''' = A (u^3 + 3 u u' + u'')
  auto times = [](double share, double factor) { return share == 0.0 ? 0.0 : share * factor; };
  const double u = low - out[1], w = high - out[1];
  out[2] = times(A, u) - times(B, w);
  const double slope = -1.0 - out[2];
  out[3] = times(A, u * u + slope) - times(B, w * w + slope);
  out[4] = times(A, u * (u * u + 3.0 * slope) - out[3]) - times(B, w * (w * w + 3.0 * slope) - out[3]);
}

bool central(double low, double high, double width) {
  return low < interval_tail_start && high > -interval_tail_start && width > wide;
}

// From the end nearer to 0, with the width of the interval known better than high - low is. An interval
// around 0 is cut there by neither: its density rises first, which does no harm as it is narrow.
bool lower_end_nearer(double low, double high) { return low > -high; }
Tail tail_of(double low, double high, double width) {
  return Tail(lower_end_nearer(low, high) ? low : -high, width);
}

}  // namespace

double log_normal_interval(double a, double b, double eta) {
  const double low = a - eta, high = b - eta, width = b - a;
  if (central(low, high, width)) return log_central(low, high);
  return log_tail(tail_of(low, high, width));
}

void log_normal_interval_derivatives(double a, double b, double eta, double out[5]) {
  const double low = a - eta, high = b - eta, width = b - a;
  if (central(low, high, width)) return central_derivatives(low, high, out);
  tail_derivatives(tail_of(low, high, width), lower_end_nearer(low, high) ? 1.0 : -1.0, out);
}

void log_normal_share_derivatives(double a, double b, double eta, double out[5]) {
  if (b == infinity) return log_normal_cdf_derivatives(eta - a, out);
  if (a > -infinity) return log_normal_interval_derivatives(a, b, eta, out);
  log_normal_cdf_derivatives(b - eta, out);
  out[1] = -out[1];
  out[3] = -out[3];
}

// log Phi(b) + log(1 - exp(d)), d = log Phi(a) - log Phi(b), of the interval or its mirror image on the left.
void log_normal_share_each(const ConstArrayRef& a, const ConstArrayRef& b, ArrayRef out) {
  constexpr double narrow = 1e-3;
  const auto left = a + b <= 0.0;
  Eigen::ArrayXd low = left.select(a, -b);
  out = left.select(b, -a);
  log_normal_cdf_each(low);
  log_normal_cdf_each(out);
  low = out - low;
  low = (low > narrow).select(low, std::numeric_limits<double>::quiet_NaN());
  log_one_minus_exp_each(low);
  out += low;
}

}  // namespace galvi
