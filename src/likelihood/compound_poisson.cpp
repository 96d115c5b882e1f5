#include "likelihood/compound_poisson.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "function/elementwise.h"
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
  // none where the rate overflows
  int count() const { return last < infinity ? static_cast<int>((last - first) / step) + 1 : 0; }
  double step, first, last;
};

constexpr double negligible_term = 1e-18;  // as a share of the sum
constexpr double normal_rate = 1e20;  // beyond, sums are normal to 1e-10

/// 1, 2, ..
const Eigen::ArrayXd& first_numbers() {
  constexpr Index most = 128;
  static const Eigen::ArrayXd out = Eigen::ArrayXd::LinSpaced(most, 1.0, static_cast<double>(most));
  return out;
}

/// What does not depend on the rate of the terms of the first numbers (CompoundPoissonDensity): of as many as lose no more
/// than three digits by being apart from the rest.
Eigen::ArrayXd fixed_parts(double shape) {
  constexpr double most = 1000.0;
  const Index count = std::min(first_numbers().size(), static_cast<Index>(most / (1.0 + shape)));
  const Eigen::ArrayXd j = first_numbers().head(count), log_j = j.log();
  Eigen::ArrayXd own(count), of_sizes(count);
  stirling_error_each(log_j, own);
  stirling_error_each(log_j + std::log(shape), of_sizes);
  return -(1.0 + shape) * j * (log_j - 1.0) - own - of_sizes;
}

// The series is a function of the (1 + shape)-th power of the rate whose zeros are on the negative half line, so that the
// logarithm's singularities in log rate are pi / (1 + shape) above and below the real line. Interpolants over cells half
// as wide as that distance in either direction converge as (2 + sqrt(5))^-nodes.
constexpr Index nodes = 25;

/// From values at the nodes to coefficients: entry (j, k) is T_j at the k-th node times its weight.
const Matrix& chebyshev() {
  static const Matrix out = [] {
    Matrix T(nodes, nodes);
    for (Index j = 0; j < nodes; ++j)
      for (Index k = 0; k < nodes; ++k) {
        const double angle = pi * static_cast<double>(j) * (static_cast<double>(k) + 0.5) / nodes;
        T(j, k) = (j == 0 ? 1.0 : 2.0) / nodes * std::cos(angle);
      }
    return T;
  }();
  return out;
}

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

CompoundPoissonTable::CompoundPoissonTable(double shape)
    : shape_(shape), width_(pi / (1.0 + shape)), fixed_(fixed_parts(shape)) {}

double CompoundPoissonTable::at(double log_rate) const {
  const double rate = std::exp(log_rate), power = 1.0 + shape_;
  const Numbers numbers(rate, std::sqrt(rate / power));
  if (numbers.step > 1.0 || numbers.last > static_cast<double>(fixed_.size()))
    return CompoundPoissonDensity(1.0, rate, shape_).log_value;
  const Index first = static_cast<Index>(numbers.first) - 1, count = numbers.count();
  Eigen::ArrayXd terms = fixed_.segment(first, count) + power * log_rate * first_numbers().segment(first, count);
  const double highest = terms.maxCoeff();
  terms -= highest;
  exp_each(terms);
  return highest - power * rate + std::log(terms.sum()) + 0.5 * std::log(shape_) - std::log(2.0 * pi);
}

const CompoundPoissonTable::Cell& CompoundPoissonTable::cell(long which) const {
  const std::lock_guard<std::mutex> lock(guard_);
  Cell& out = cells_[which];
  if (out.size() > 0) return out;
  Vector values(nodes);
  for (Index k = 0; k < nodes; ++k) {
    const double x = std::cos(pi * (static_cast<double>(k) + 0.5) / nodes);
    values[k] = at(width_ * (static_cast<double>(which) + 0.5 * (1.0 + x)));
  }
  out = chebyshev() * values;
  return out;
}

void CompoundPoissonTable::log_densities(const ConstArrayRef& log_rate, ArrayRef out) const {
  constexpr double farthest = 1e6;  // cells
  std::map<long, Index> rows;
  const auto place = [&](Index n) { return std::floor(log_rate[n] / width_); };
  for (Index n = 0; n < log_rate.size(); ++n)
    if (std::abs(place(n)) < farthest) ++rows[static_cast<long>(place(n))];
  std::map<long, const Cell*> cells;
  for (const auto& [which, count] : rows)
    if (count >= nodes) cells[which] = &cell(which);
  for (Index n = 0; n < log_rate.size(); ++n) {
    const double where = place(n);
    if (!(std::abs(where) < farthest)) {
      out[n] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    const auto found = cells.find(static_cast<long>(where));
    if (found == cells.end()) {
      out[n] = at(log_rate[n]);
      continue;
    }
    // Clenshaw's recursion
    const Cell& c = *found->second;
    const double x = 2.0 * (log_rate[n] / width_ - where) - 1.0;
    double b = 0.0, before = 0.0;
    for (Index j = nodes - 1; j > 0; --j) {
      const double next = 2.0 * x * b - before + c[j];
      before = b;
      b = next;
    }
    out[n] = x * b - before + c[0];
  }
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
