#include "expectation/gaussian_rule.h"

#include <algorithm>
#include <cmath>

#include "likelihood/normal.h"

namespace galvi {
namespace {

constexpr double reach = 7.5;             // in sds; beyond lies less than 1e-13
constexpr double accuracy_exponent = 30;  // errors of exp(-30), times what derivatives grow by near a pole
constexpr double two_pi = 6.28318530717958647692;
constexpr double hermite_share = 1.0 / 28;  // Gauss-Hermite up to this sd, as a share of the width
constexpr double sinh_sd = 30.0;            // the sinh rule from this sd, in widths
constexpr double most_nodes_per_sd = 2000;

// The seven-point Gauss-Hermite rule for N(0, 1).
constexpr double hermite_node[4] = {0.0, 1.1544053947399681, 2.3667594107345415, 3.7504397177257425};
constexpr double hermite_weight[4] = {0.45714285714285714, 0.24012317860501271, 0.030757123967586497,
                                      0.00054826885597221791};

}  // namespace

double trapezium_step(double variance, double width) {
  // With the line of integration shifted by d the sum's error is exp(-2 pi d / step + d^2 / (2 variance)).
  const double d = std::min(width, std::sqrt(2.0 * accuracy_exponent * variance));
  return two_pi * d / (accuracy_exponent + 0.5 * d * d / variance);
}

void GaussianRule::place(double mean, double variance, const Smoothness& smoothness) {
  nodes_.clear();
  weights_.clear();
  const double sd = std::sqrt(variance), width = smoothness.width;
  if (smoothness.growth == 0.0 && sd <= hermite_share * std::min(width, 1e6)) return place_hermite(mean, sd);
  if (sd == 0.0) return place_hermite(mean, sd);
  if (smoothness.growth == 0.0 && sd >= sinh_sd * width && std::fabs(mean) <= sd) return place_sinh(mean, sd);
  const double step = std::max(trapezium_step(variance, width), sd / most_nodes_per_sd);
  place_trapezium(mean, sd, step, smoothness.growth);
}

void GaussianRule::place_hermite(double mean, double sd) {
  for (int j = -3; j <= 3; ++j) {
    nodes_.push_back(mean + std::copysign(sd * hermite_node[std::abs(j)], j));
    weights_.push_back(hermite_weight[std::abs(j)]);
  }
}

void GaussianRule::place_trapezium(double mean, double sd, double step, double growth) {
  // exp(growth |x|) times the Gaussian has its mass growth * variance further out.
  const double t_step = step / sd;
  const int last = static_cast<int>(std::ceil(std::min(reach + growth * sd, 38.0) / t_step));
  for (int j = -last; j <= last; ++j) {
    nodes_.push_back(mean + j * step);
    weights_.push_back(t_step * normal_density(j * t_step));
  }
}

void GaussianRule::place_sinh(double mean, double sd) {
  // x = a sinh(u), a = 3: the strip that may be crossed is pi / 4 wide, where (sinh u)^2 turns.
  const double a = 3.0, u_step = 0.125;
  const int first = static_cast<int>(std::floor(std::asinh((mean - reach * sd) / a) / u_step));
  const int last = static_cast<int>(std::ceil(std::asinh((mean + reach * sd) / a) / u_step));
  for (int j = first; j <= last; ++j) {
    const double u = j * u_step, x = a * std::sinh(u);
    nodes_.push_back(x);
    weights_.push_back(u_step * a * std::cosh(u) / sd * normal_density((x - mean) / sd));
  }
}

}  // namespace galvi
