#include "quadrature/gaussian_rule.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "function/normal.h"

namespace galvi {
namespace {

constexpr double rule_reach = 7.5;  // in sds; less than 1e-13 lies beyond
constexpr double sinh_reach = 9.0;  // further, for narrow features far from the mean, as it costs few nodes
// Errors of exp(-30) times the growth of derivatives near a pole; smaller for the rule, where the pole may be
// of high order.
constexpr double table_exponent = 30;
constexpr double rule_accuracy = 33;
constexpr double two_pi = 6.28318530717958647692;
constexpr double hermite_share = 1.0 / 28;  // Gauss-Hermite up to this sd, as a share of the width
constexpr double five_share = 1.0 / 70;     // five nodes up to this one
constexpr double least_sinh_sd = 0.3;       // the sinh rule is considered from this sd, in widths
constexpr double most_sinh_distance = 20;   // of the mean from the centre, in sds
constexpr double sinh_cost = 1.2;           // of a node, relative to one of the trapezium sum
// Real parts of singularities need not be at the centre: those of log Phi are 0.68 widths away.
constexpr double off_centre = 0.7;
constexpr double largest_shift = 0.75;  // of the sinh rule: below pi / 4, and below asinh((0.7 + i) / 1.1)
constexpr double most_nodes_per_sd = 2000;
// Features ten times finer than that are kinks for any sum, as a truncated row's where the sd of its response
// is next to nothing: the sum errs by its squared step, and more nodes would only take time.
constexpr double nodes_per_sd_at_kinks = 200;

}  // namespace

/// A Gauss-Hermite rule for N(0, 1), the right half. Its error in E g^(p), |g^(k)| <= (k - 1)! / width^k, is
/// n! (2 n + p - 1)! / (2 n)! (sd / width)^(2 n) / width^p, which for five and seven nodes is at most 1e-13 / width^p for
/// p <= 4.
struct HermiteHalf {
  int last;
  double node[5], weight[5];
};

namespace {

constexpr HermiteHalf five_nodes{2,
                                 {0.0, 1.3556261799742659, 2.8569700138728056},
                                 {0.53333333333333333, 0.22207592200561264, 0.011257411327720689}};
constexpr HermiteHalf seven_nodes{
    3,
    {0.0, 1.1544053947399681, 2.3667594107345415, 3.7504397177257425},
    {0.45714285714285714, 0.24012317860501271, 0.030757123967586497, 0.00054826885597221791}};
constexpr HermiteHalf nine_nodes{
    4,
    {0.0, 1.023255663789133, 2.0768479786778311, 3.2054290028564707, 4.5127458633997817},
    {0.40634920634920635, 0.24409750289493953, 0.049916406765217997, 0.0027891413212317657,
     2.2345844007746627e-05}};

// With the line of integration shifted by d, and a function that grows by exp(oscillation d) on the way, the
// error of the trapezium sum is
//   exp(-2 pi d / step + d^2 / (2 variance) + oscillation d),
// so that 1 / step is that of a function without oscillation plus oscillation / (2 pi), whatever the best d
// is.
double oscillating_step(double step, double oscillation) { return 1.0 / (1.0 / step + oscillation / two_pi); }

// The step without oscillation.
double shifted_step(double variance, double width, double exponent) {
  const double d = std::min(width, std::sqrt(2.0 * exponent * variance));
  return two_pi * d / (exponent + 0.5 * d * d / variance);
}

// The same for a Gaussian whose mean is `distance` from the singularities' real part: the line of
// integration may be shifted beyond them, which adds the error of their share of the Gaussian,
// exp(-2 pi width / step - (distance^2 - width^2) / (2 variance)).
double distant_step(double variance, double width, double distance) {
  const double free_step = two_pi * std::sqrt(0.5 * variance / rule_accuracy);
  const double missing = rule_accuracy - 0.5 * (distance - width) * (distance + width) / variance;
  return missing > 0.0 ? std::min(free_step, two_pi * width / missing) : free_step;
}

// The largest step in u, x = centre + a sinh(u), for a mean `distance` off the centre: with the line of
// integration shifted by d the error of the sum is
// exp(-2 pi d / step + [distance^2 / cos(2 d) + a^2] sin(d)^2 / (2 variance)).
double sinh_step(double variance, double a, double distance, double largest_shift) {
  double best = 0.0, before = -1.0;
  for (double d = largest_shift; d > 0.04 && best > before; d *= 0.7) {
    const double s2 = std::sin(d) * std::sin(d);
    const double growth = 0.5 * (distance * distance / (1.0 - 2.0 * s2) + a * a) * s2 / variance;
    before = best;
    best = std::max(best, two_pi * d / (rule_accuracy + growth));
  }
  return best;
}

// The end of the nodes in u.
double sinh_end(double distance, double sd, double a, double side) {
  return std::asinh((distance + side * sinh_reach * sd) / a);
}

}  // namespace

double trapezium_step(double variance, double width) { return shifted_step(variance, width, table_exponent); }

bool GaussianRule::narrow(double variance, const Smoothness& smoothness) {
  const double share = hermite_share * std::min(smoothness.distance(), 1e6);
  return variance == 0.0 || (smoothness.growth == 0.0 && variance <= share * share);
}

void GaussianRule::place(double mean, double variance, const Smoothness& smoothness) {
  const double sd = std::sqrt(variance), width = smoothness.width;
  if (narrow(variance, smoothness))
    return place_hermite(mean, sd, sd <= five_share * smoothness.distance() ? five_nodes : seven_nodes);
  double step = shifted_step(variance, width, rule_accuracy);
  const bool waves = smoothness.oscillation > 0.0 || std::isinf(smoothness.spread);
  if (smoothness.growth == 0.0 && std::isfinite(width) && !waves) {
    const double off = mean - smoothness.centre;
    const double distance = std::fabs(off) - smoothness.spread - off_centre * width;
    // few nodes, too, where the singularities are near the real line but far from the mean
    const double from_all = std::hypot(std::max(distance, 0.0), width);
    if (sd <= hermite_share * from_all)
      return place_hermite(mean, sd, sd <= five_share * from_all ? five_nodes : seven_nodes);
    if (distance > width) step = std::max(step, distant_step(variance, width, distance));
    if (sd > least_sinh_sd * width && std::fabs(off) < most_sinh_distance * sd) {
      const double a = std::max(1.1 * width, 0.7 * smoothness.spread);
      double shift = largest_shift;
      if (smoothness.spread > 0.0) {
        const std::complex<double> nearest(smoothness.spread + off_centre * width, width);
        shift = std::min(shift, std::asinh(nearest / a).imag());
      }
      const double u_step = sinh_step(variance, a, off, shift);
      const double low = sinh_end(off, sd, a, -1.0), high = sinh_end(off, sd, a, 1.0);
      if (sinh_cost * (high - low) / u_step < 2.0 * rule_reach * sd / step)
        return place_sinh(mean, sd, smoothness.centre, a, u_step, low, high);
    }
  }
  if (smoothness.oscillation > 0.0) step = oscillating_step(step, smoothness.oscillation);
  const bool kink = step < 0.1 * sd / most_nodes_per_sd;
  place_trapezium(mean, sd, std::max(step, sd / (kink ? nodes_per_sd_at_kinks : most_nodes_per_sd)),
                  smoothness.growth);
}

void GaussianRule::resize(int count) {
  nodes_.resize(static_cast<std::size_t>(count));
  weights_.resize(static_cast<std::size_t>(count));
}

void GaussianRule::place_few(double mean, double sd) { place_hermite(mean, sd, nine_nodes); }

void GaussianRule::place_hermite(double mean, double sd, const HermiteHalf& rule) {
  resize(2 * rule.last + 1);
  for (int j = -rule.last; j <= rule.last; ++j) {
    const auto at = static_cast<std::size_t>(j + rule.last);
    nodes_[at] = mean + std::copysign(sd * rule.node[std::abs(j)], j);
    weights_[at] = rule.weight[std::abs(j)];
  }
}

void GaussianRule::place_trapezium(double mean, double sd, double step, double growth) {
  // exp(growth |x|) times the Gaussian has its mass growth * variance further out.
  const double t_step = step / sd;
  const int last = static_cast<int>(std::ceil(std::min(rule_reach + growth * sd, 38.0) / t_step));
  // From the mean outwards each weight is the last one times a ratio that shrinks by a constant factor.
  const double shrink = std::exp(-t_step * t_step);
  double weight = t_step * normal_density(0.0), ratio = std::sqrt(shrink);
  resize(2 * last + 1);
  nodes_[0] = mean;
  weights_[0] = weight;
  for (int j = 1; j <= last; ++j) {
    weight *= ratio;
    ratio *= shrink;
    const auto at = static_cast<std::size_t>(2 * j);
    nodes_[at - 1] = mean + j * step;
    nodes_[at] = mean - j * step;
    weights_[at - 1] = weights_[at] = weight;
  }
}

void GaussianRule::place_sinh(double mean, double sd, double centre, double a, double step, double low,
                              double high) {
  const double off = mean - centre, half = 0.5 * a, scale = step / sd * normal_density(0.0);
  const double precision = 0.5 / (sd * sd), factor = std::exp(step);
  const int first = static_cast<int>(std::floor(low / step)), last = static_cast<int>(std::ceil(high / step));
  double e = half * std::exp(first * step);  // a exp(u) / 2
  resize(last - first + 1);
  for (std::size_t at = 0; at < nodes_.size(); ++at, e *= factor) {
    const double other = half * half / e, x = e - other;
    nodes_[at] = centre + x;
    weights_[at] = scale * (e + other) * std::exp(-precision * (x - off) * (x - off));
  }
}

}  // namespace galvi
