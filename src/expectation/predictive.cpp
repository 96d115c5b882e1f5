// What is predicted for a new response: closed forms where the likelihood has them, else integrals over eta.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "expectation/expectation.h"
#include "expectation/gaussian_rule.h"
#include "likelihood/normal.h"

namespace galvi {
namespace {

// Steps are halved until the sum changes by less. A jump far out in the Gaussian's tail that is still missed
// changes it by little, so this is well below the 1e-9 that is promised.
constexpr double halving_change = 1e-11;
constexpr int most_halvings = 16;
constexpr double reach = 10.0;         // in sds of eta, so that probabilities of 1e-10 keep their digits
constexpr double least_share = 1e-14;  // smaller probabilities are right to halving_change times this
constexpr double negligible = -45;     // log of a share that adds nothing

template <class Function>
double gaussian_mean(const Likelihood& likelihood, double mean, double variance, Function function) {
  thread_local GaussianRule rule;
  rule.place(mean, variance, likelihood.smoothness());
  return rule.mean_of(function);
}

// E g(eta) for a bounded g whose steepness is not known (the distribution function of many trials is a step):
// the trapezium sum over mean +- 10 sds, halved until it stands still.
template <class Function>
double bounded_mean(double mean, double variance, Function g) {
  const double sd = std::sqrt(variance);
  if (sd == 0.0) return g(mean);
  auto sum_over = [&](double first, double step) {
    double sum = 0.0;
    for (double t = first; t <= reach; t += step) sum += std::exp(-0.5 * t * t) * g(mean + sd * t);
    return sum * 0.39894228040143267794;  // 1 / sqrt(2 pi)
  };
  double step = 0.5, sum = sum_over(-reach, step), value = step * sum;
  for (int i = 0; i < most_halvings; ++i) {
    sum += sum_over(-reach + 0.5 * step, step);
    step *= 0.5;
    const double change = std::fabs(step * sum - value);
    value = step * sum;
    if (change < halving_change * std::max(value, least_share)) break;
  }
  return value;
}

// A local maximum of a log integrand log p(y | eta) - (eta - mean)^2 / (2 variance), and the sd by its
// curvature.
struct Peak {
  double at, height, scale;
};

// Uphill from `start`: Newton's method, with the curvature of the Gaussian where log p is convex, halved
// while it overshoots.
template <class LogIntegrand>
Peak climb(const Likelihood& likelihood, const Datum& datum, double mean, double variance, double start,
           LogIntegrand height) {
  double l[5], x = start, best = height(x);
  for (int i = 0; i < 200; ++i) {
    likelihood.derivatives(datum, x, l);
    const double slope = l[1] - (x - mean) / variance;
    const double curvature = 1.0 / variance + std::max(0.0, -l[2]);
    double step = slope / curvature;
    if (!std::isfinite(step)) break;
    double next = height(x + step);
    while (!(next >= best) && std::fabs(step) > 1e-10 * (1.0 + std::fabs(x)))
      next = height(x + (step *= 0.5));
    if (!(next >= best)) break;
    x += step;
    best = next;
    if (std::fabs(step) * std::sqrt(curvature) < 1e-3) break;
  }
  likelihood.derivatives(datum, x, l);
  return {x, best, 1.0 / std::sqrt(1.0 / variance + std::max(0.0, -l[2]))};
}

// The integral around a peak relative to exp(top), outwards until the integrand is negligible, and where that
// was.
struct Hill {
  double area, low, high;
};

template <class LogIntegrand>
Hill area_of(const Peak& peak, double top, LogIntegrand log_integrand) {
  auto one_side = [&](double first, double step, double* end) {
    double sum = 0.0;
    for (double eta = peak.at + first;; eta += step) {
      const double log_share = log_integrand(eta) - top;
      sum += std::exp(log_share);
      if (!(log_share > negligible)) {
        *end = eta;
        return sum;
      }
    }
  };
  Hill hill;
  double step = peak.scale, sum = std::exp(peak.height - top);
  sum += one_side(step, step, &hill.high) + one_side(-step, -step, &hill.low);
  hill.area = step * sum;
  for (int i = 0; i < most_halvings; ++i) {
    double end;
    sum += one_side(0.5 * step, step, &end) + one_side(-0.5 * step, -step, &end);
    step *= 0.5;
    const double change = std::fabs(step * sum - hill.area);
    hill.area = step * sum;
    if (change < halving_change * hill.area) break;
  }
  return hill;
}

// The smallest whole number whose distribution function reaches the probability.
template <class Cdf>
double discrete_quantile(Cdf cdf, const Support& support, double start, double sd, double probability) {
  auto reached = [&](double y) { return y >= support.high || cdf(y) >= probability; };
  // A bracket, not reached at `low` and reached at `high`, that doubles from the start ...
  double low = std::floor(start), high = low;
  const double stride = std::max(1.0, std::floor(sd + 0.1 * low));
  for (double step = stride; low >= support.low && reached(low); step *= 2.0) {
    high = low;
    low -= step;
  }
  for (double step = stride; low == high && !reached(high += step); step *= 2.0) low = high;
  // ... and bisection down to neighbours.
  low = std::max(low, support.low - 1.0);
  for (;;) {
    const double middle = std::floor(low + 0.5 * (high - low));
    if (!(middle > low && middle < high)) return high;
    (reached(middle) ? high : low) = middle;
  }
}

// A coordinate on the whole real line for a response between the ends of its support, and back.
class Coordinate {
 public:
  explicit Coordinate(const Support& support)
      : low_(support.low), range_(support.high - support.low), bounded_(std::isfinite(support.low)) {}
  double of(double y) const {
    if (!bounded_) return y;
    const double above = std::log(y - low_);
    return std::clamp(std::isinf(range_) ? above : above - std::log(range_ - (y - low_)), -end, end);
  }
  double response(double t) const {
    if (!bounded_) return t;
    return low_ + (std::isinf(range_) ? std::exp(t) : range_ / (1.0 + std::exp(-t)));
  }
  bool at_the_end(double t) const { return bounded_ && std::fabs(t) > end; }
  bool bounded() const { return bounded_; }

 private:
  static constexpr double end = 745.0;  // exp(-745) is the smallest double
  double low_, range_;
  bool bounded_;
};

// Where the distribution function of a continuous response is the probability: a bracket that doubles, then
// interpolation on the scale of log tail probabilities, on which tails are nearly straight.
template <class Cdf>
double continuous_quantile(Cdf cdf, const Support& support, double start, double sd, double probability) {
  const Coordinate coordinate(support);
  auto excess = [&](double t) {
    const double p = cdf(coordinate.response(t));
    return probability < 0.5 ? std::log(p) - std::log(probability)
                             : std::log1p(-probability) - std::log1p(-p);
  };
  double low = coordinate.of(start), high = low, at_low = excess(low), at_high = at_low;
  const double stride = coordinate.bounded() || !(sd > 0.0 && sd < infinity) ? 0.5 : sd;
  for (double step = stride; at_low >= 0.0; step *= 2.0) {
    high = low;
    at_high = at_low;
    low -= step;
    if (coordinate.at_the_end(low)) return support.low;
    at_low = excess(low);
  }
  for (double step = stride; !(at_high >= 0.0); step *= 2.0) {
    low = high;
    at_low = at_high;
    high += step;
    if (coordinate.at_the_end(high)) return support.high;
    at_high = excess(high);
  }
  // Regula falsi; the end that stays twice counts half (Illinois), and bisection where an end is infinite or
  // the bracket shrinks slowly.
  int side = 0;
  for (int i = 0; i < 300 && at_high != 0.0; ++i) {
    if (high - low <= 1e-15 * (std::fabs(low) + std::fabs(high))) break;
    double middle = low + (high - low) * (at_low / (at_low - at_high));
    if (!(middle > low && middle < high) || i % 4 == 3) middle = low + 0.5 * (high - low);
    if (!(middle > low && middle < high)) break;
    const double value = excess(middle);
    if (value >= 0.0) {
      high = middle;
      at_high = value;
      if (side == 1) at_low *= 0.5;
      side = 1;
    } else {
      low = middle;
      at_low = value;
      if (side == -1) at_high *= 0.5;
      side = -1;
    }
  }
  return coordinate.response(high);
}

}  // namespace

double predictive_mean(const Likelihood& likelihood, double size, double mean, double variance) {
  if (const auto value = likelihood.predictive_mean(size, mean, variance)) return *value;
  return gaussian_mean(likelihood, mean, variance,
                       [&](double eta) { return likelihood.conditional_mean(size, &eta); });
}

double predictive_mean_variance(const Likelihood& likelihood, double size, double mean, double variance) {
  if (const auto value = likelihood.predictive_mean_variance(size, mean, variance)) return *value;
  const double centre = predictive_mean(likelihood, size, mean, variance);
  return gaussian_mean(likelihood, mean, variance, [&](double eta) {
    const double difference = likelihood.conditional_mean(size, &eta) - centre;
    return difference * difference;
  });
}

double predictive_variance(const Likelihood& likelihood, double size, double mean, double variance) {
  const double explained = predictive_mean_variance(likelihood, size, mean, variance);
  if (const auto noise = likelihood.predictive_noise(size, mean, variance)) return explained + *noise;
  return explained + gaussian_mean(likelihood, mean, variance,
                                   [&](double eta) { return likelihood.conditional_variance(size, &eta); });
}

double predictive_log_density(const Likelihood& likelihood, const Datum& datum, double mean,
                              double variance) {
  if (const auto value = likelihood.predictive_log_density(datum, mean, variance)) return *value;
  if (variance == 0.0) return likelihood.log_density(datum, &mean);
  auto log_integrand = [&](double eta) {
    return likelihood.log_density(datum, &eta) - 0.5 * (eta - mean) * (eta - mean) / variance;
  };
  Peak peak = climb(likelihood, datum, mean, variance, mean, log_integrand);
  Peak other = peak;
  if (!likelihood.log_concave()) {
    // There may be two: one that is mostly the Gaussian's and one that is mostly that of log p.
    other = climb(likelihood, datum, mean, variance, likelihood.starting_eta(datum), log_integrand);
    if (!(other.height <= peak.height)) std::swap(peak, other);
    peak.scale = std::min(peak.scale, other.scale);
  }
  const double top = peak.height;
  if (!std::isfinite(top)) return -infinity;
  const Hill hill = area_of(peak, top, log_integrand);
  double area = hill.area;
  const bool apart = other.at < hill.low || other.at > hill.high;
  if (apart && other.height - top > negligible) area += area_of(other, top, log_integrand).area;
  return top + std::log(area / std::sqrt(variance)) - log_sqrt_2pi;
}

double predictive_cdf(const Likelihood& likelihood, const Datum& datum, double mean, double variance) {
  if (std::isinf(datum.y)) return datum.y > 0.0 ? 1.0 : 0.0;
  if (const auto value = likelihood.predictive_cdf(datum, mean, variance)) return *value;
  return bounded_mean(mean, variance, [&](double eta) { return likelihood.conditional_cdf(datum, &eta); });
}

double predictive_quantile(const Likelihood& likelihood, double size, double mean, double variance,
                           double probability) {
  if (!(probability >= 0.0 && probability <= 1.0)) {
    throw std::invalid_argument("`probability` must lie between 0 and 1");
  }
  if (const auto value = likelihood.predictive_quantile(size, mean, variance, probability)) return *value;
  const Support support = likelihood.support(size);
  if (probability == 0.0) return support.low;
  if (probability == 1.0) return support.high;
  auto cdf = [&](double y) { return predictive_cdf(likelihood, {y, size}, mean, variance); };
  const double start = likelihood.conditional_mean(size, &mean);
  if (!std::isfinite(start)) return start;
  const double sd = std::sqrt(likelihood.conditional_variance(size, &mean));
  return likelihood.discrete() ? discrete_quantile(cdf, support, start, sd, probability)
                               : continuous_quantile(cdf, support, start, sd, probability);
}

}  // namespace galvi
