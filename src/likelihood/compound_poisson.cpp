#include "likelihood/compound_poisson.h"

#include <algorithm>
#include <cmath>

#include "function/normal.h"
#include "likelihood/counts.h"
#include "numeric/special_functions.h"
#include "numeric/types.h"

namespace galvi {
namespace {

/// The numbers J to sum over: integers, or, where the summand is smooth and vanishes before it reaches 0,
/// nodes of the trapezium rule, which is accurate to rounding for steps shorter than its standard deviation.
struct Numbers {
  Numbers(double centre, double sd) {
    constexpr double reach = 10.0, share = 0.5;
    if (centre > reach * sd && share * sd > 1.0) {
      step = share * sd;
      first = centre - reach * sd;
      last = centre + reach * sd;
    } else {
      step = 1.0;
      first = std::max(1.0, std::floor(centre - reach * (sd + 1.0)));
      last = std::ceil(centre + reach * (sd + 2.0));
    }
  }
  int count() const { return static_cast<int>((last - first) / step) + 1; }
  double step, first, last;
};

constexpr double negligible_term = 1e-18;  // as a share of the sum
constexpr double normal_rate = 1e20;  // beyond, sums are normal to 1e-10

}  // namespace

// With r = j / rate the j-th term of the density at this scale is
//   exp(-(1 + a) rate (r log r - r + 1) - S(j) - S(a j)) sqrt(a) / (2 pi y),
// S the remainder of Stirling's formula for log Gamma. The derivatives of its exponent are (1 + a) (r - 1) in the rate
// and -rate (r log r - r + 1) - j S'(a j) in a.
CompoundPoissonDensity::CompoundPoissonDensity(double y, double rate, double shape, Slopes slopes) {
  const Numbers numbers(rate, std::sqrt(rate / (1.0 + shape)));
  double sum = 0.0, moment = 0.0, bend = 0.0, highest = -infinity;
  for (int i = 0, count = numbers.count(); i < count; ++i) {
    const double j = numbers.first + i * numbers.step;
    const double d = (j - rate) / rate;
    const double away = rate * count_divergence(d);
    const double term = -(1.0 + shape) * away - stirling_error(j) - stirling_error(shape * j);
    if (term > highest) {
      const double fade = std::exp(highest - term);
      sum *= fade;
      moment *= fade;
      bend *= fade;
      highest = term;
    }
    const double weight = std::exp(term - highest);
    sum += weight;
    moment += weight * d;
    if (slopes == Slopes::both) bend -= weight * (away + j * stirling_error_slope(shape * j));
  }
  log_value = highest + std::log(numbers.step * sum) + 0.5 * std::log(shape) - std::log(2.0 * pi) - std::log(y);
  rate_slope = (1.0 + shape) * moment / sum;
  if (slopes == Slopes::both) shape_slope = bend / sum + 0.5 / shape;
}

double compound_poisson_cdf(double y, double rate, double shape) {
  const double none = std::exp(-rate);
  if (y == 0.0 || rate == 0.0) return none;
  const double sd = std::sqrt(rate);
  if (rate > normal_rate) return normal_cdf((y / shape - rate) / (sd * std::sqrt(1.0 + 1.0 / shape)));
  Numbers numbers(rate, sd);
  if (numbers.step > 1.0) numbers.step = std::max(1.0, 0.5 * std::sqrt(rate / (1.0 + shape)));
  double sum = 0.0;
  for (int i = 0, count = numbers.count(); i < count; ++i) {
    const double j = numbers.first + i * numbers.step;
    const double weight = -rate * count_divergence((j - rate) / rate) - stirling_error(j) - log_sqrt_2pi;
    const double term = std::exp(weight - 0.5 * std::log(j)) * lower_gamma(shape * j, y);
    sum += term;
    if (j > rate && term < negligible_term * sum) break;  // both factors fall from here on
  }
  return std::min(1.0, none + numbers.step * sum);
}

}  // namespace galvi
