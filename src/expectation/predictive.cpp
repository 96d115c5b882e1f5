// What is predicted for a new response: closed forms where the likelihood has them, else integrals over eta.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "expectation/expectation.h"
#include "expectation/gaussian_rule.h"

namespace galvi {
namespace {

// Steps are halved until the sum changes by less. A jump far out in the Gaussian's tail that is still missed
// changes it by little, so this is well below the 1e-9 that is promised.
constexpr double halving_change = 1e-11;
constexpr int most_halvings = 16;
constexpr double reach = 7.5;       // in sds of eta
constexpr double negligible = -45;  // log of a share that adds nothing

template <class Function>
double gaussian_mean(const Likelihood& likelihood, double mean, double variance, Function function) {
  thread_local GaussianRule rule;
  rule.place(mean, variance, likelihood.smoothness());
  return rule.mean_of(function);
}

// E g(eta) for a bounded g whose steepness is not known (the distribution function of many trials is a step):
// the trapezium sum over mean +- 7 sds, halved until it stands still.
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
    if (change < halving_change) break;
  }
  return value;
}

// The largest point of log p(y | eta) - (eta - mean)^2 / (2 variance): Newton's method, with the curvature of
// the Gaussian where log p is convex, halved while it overshoots. `scale` is the sd by the curvature there.
double peak(const Likelihood& likelihood, const Datum& datum, double mean, double variance, double* scale) {
  double l[5], x = mean;
  auto height = [&](double at) {
    return likelihood.log_density(datum, &at) - 0.5 * (at - mean) * (at - mean) / variance;
  };
  double best = height(x);
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
  *scale = 1.0 / std::sqrt(1.0 / variance + std::max(0.0, -l[2]));
  return x;
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
  // The integrand relative to its peak, from there outwards until it is negligible. Where log p is not
  // concave a second peak may lie between the first and the Gaussian's, so all of the Gaussian is covered.
  double scale;
  const double centre = peak(likelihood, datum, mean, variance, &scale);
  auto log_integrand = [&](double eta) {
    return likelihood.log_density(datum, &eta) - 0.5 * (eta - mean) * (eta - mean) / variance;
  };
  const double top = log_integrand(centre), sd = std::sqrt(variance);
  if (!std::isfinite(top)) return -infinity;
  auto one_side = [&](double first, double step) {
    double sum = 0.0;
    for (double eta = centre + first;; eta += step) {
      const double log_share = log_integrand(eta) - top;
      sum += std::exp(log_share);
      const bool beyond = likelihood.log_concave() || std::fabs(eta - mean) > reach * sd;
      if (!(log_share > negligible) && beyond) return sum;
    }
  };
  double step = scale, sum = 1.0 + one_side(step, step) + one_side(-step, -step), value = step * sum;
  for (int i = 0; i < most_halvings; ++i) {
    sum += one_side(0.5 * step, step) + one_side(-0.5 * step, -step);
    step *= 0.5;
    const double change = std::fabs(step * sum - value);
    value = step * sum;
    if (change < halving_change * value) break;
  }
  return top + std::log(value / sd) - 0.91893853320467274178;  // log sqrt(2 pi)
}

double predictive_cdf(const Likelihood& likelihood, const Datum& datum, double mean, double variance) {
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
  auto reached = [&](double y) {
    return y >= support.high || predictive_cdf(likelihood, {y, size}, mean, variance) >= probability;
  };
  // A bracket, not reached at `low` and reached at `high`, that doubles from the mean at eta = `mean` ...
  const bool discrete = likelihood.discrete();
  double low = likelihood.conditional_mean(size, &mean);
  if (!std::isfinite(low)) return low;
  double stride = std::sqrt(likelihood.conditional_variance(size, &mean)) + std::fabs(low) * 0.1;
  if (discrete) {
    low = std::floor(low);
    stride = std::max(1.0, std::floor(stride));
  }
  double high = low;
  for (double step = stride; low >= support.low && reached(low); step *= 2.0) {
    high = low;
    low -= step;
  }
  for (double step = stride; low == high && !reached(high += step); step *= 2.0) low = high;
  // ... and bisection down to neighbours.
  if (low < support.low) low = discrete ? support.low - 1.0 : support.low;
  for (;;) {
    double middle = low + 0.5 * (high - low);
    if (discrete) middle = std::floor(middle);
    if (!(middle > low && middle < high)) return high;
    (reached(middle) ? high : low) = middle;
  }
}

}  // namespace galvi
